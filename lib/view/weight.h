/*
 * view/weight.h: how much of a context each kind of text takes.
 *
 * Only the model's own tokenizer knows the tokens of a text; like agents, we assume four
 * bytes each. The usage of a reply says what had been sent until then, so only what follows
 * it is estimated.
 */
#ifndef GROVE_VIEW_WEIGHT_H
#define GROVE_VIEW_WEIGHT_H

#include "dialect/message.h"
#include "entry/entry.h"

#define GROVE__PARTS (GROVE_PART_OTHER + 1)

struct grove__weight {
	struct grove_context_part part[GROVE__PARTS];
	uint64_t billed;         /* tokens in use after the last reply, according to its usage; 0
	                            if no reply says so */
	uint64_t since;          /* the estimate of what follows that reply */
	uint32_t summary;        /* the row of the last summary, or GROVE_NO_ENTRY */
	struct grove_buf model;  /* of the last reply, as raw JSON */
};

void grove__weight_init(struct grove__weight *w);
void grove__weight_release(struct grove__weight *w);
/*
 * Adds a message with the members `m`; `row` is its entry and `role` the entry's. *tokens
 * is the estimate for this message alone. Returns 0 or GROVE_ENOMEM.
 */
int grove__weight_add(struct grove__weight *w, struct grove_slice message, struct grove__message_members *m,
		      uint32_t row, enum grove_role role, uint64_t *tokens);
/* Returns the tokens in use; *estimated is set if no reply's usage confirms them. */
uint64_t grove__weight_used(const struct grove__weight *w, bool *estimated);
/* Returns the size of the model's context in tokens; 0 if unknown. */
uint64_t grove__weight_limit(const struct grove__weight *w);

#endif
