/*
 * dialect/weight.h: how much of a context each kind of text takes.
 *
 * Nobody but the model's own tokenizer knows the tokens of a text; four bytes each
 * is what agents assume as well. A reply that was billed says what had been sent
 * until then, so only what follows it is estimated.
 */
#ifndef GROVE_DIALECT_WEIGHT_H
#define GROVE_DIALECT_WEIGHT_H

#include "dialect/message.h"
#include "entry/entry.h"

#define GROVE__PARTS (GROVE_PART_OTHER + 1)

struct grove__weight {
	struct grove_context_part part[GROVE__PARTS];
	uint64_t billed;         /* tokens that the last reply says were in use after it; 0: no reply does */
	uint64_t since;          /* the estimate of what follows that reply */
	uint32_t summary;        /* the row of the last summary; GROVE_NO_ENTRY: none */
	struct grove_buf model;  /* that answered last, as raw JSON */
};

void grove__weight_init(struct grove__weight *w);
void grove__weight_release(struct grove__weight *w);
/*
 * Adds a message, whose members are `m`; `row` is the entry it comes from and `role` what that is. *tokens
 * is the estimate for it alone. Returns 0 or GROVE_ENOMEM.
 */
int grove__weight_add(struct grove__weight *w, struct grove_slice message, const struct grove__message_members *m,
		      uint32_t row, enum grove_role role, uint64_t *tokens);
/* Returns the tokens in use; *estimated says whether no reply vouches for them. */
uint64_t grove__weight_used(const struct grove__weight *w, bool *estimated);
/* Returns the tokens that the model takes at most; 0: unknown. */
uint64_t grove__weight_limit(const struct grove__weight *w);

#endif
