/*
 * check/check_pairs.c: tool calls and their results.
 *
 * A call at the end of a branch was simply not waited for: the program ended. Only a
 * call after which the conversation continued is reported, because the model is then
 * shown a call without a result.
 */
#include "check/check.h"

#include "base/array.h"
#include "dialect/calls.h"
#include "json/value.h"
#include "sys/clock.h"

#include <stdlib.h>

struct call {
	const char *name;          /* NUL-terminated, in the arena */
	uint32_t len;
	uint32_t row;              /* the first that makes or answers it */
	bool made, answered;
};

struct grove__pairs {
	struct call *call;
	size_t nr, cap;
	struct grove__idmap names;
	struct grove__arena arena;
	struct grove_buf text;
	uint32_t row;              /* the one at hand */
};

static struct grove_slice name_of(const void *owner, uint32_t i)
{
	const struct grove__pairs *p = owner;

	return grove__slice(p->call[i].name, p->call[i].len);
}

struct grove__pairs *grove__pairs_new(void)
{
	struct grove__pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	grove__idmap_init(&p->names, grove__sys_seed(), name_of, p);
	grove__arena_init(&p->arena);
	return p;
}

void grove__pairs_free(struct grove__pairs *p)
{
	if (!p)
		return;
	grove__idmap_release(&p->names);
	grove__arena_release(&p->arena);
	grove__buf_release(&p->text);
	free(p->call);
	free(p);
}

static int note_call(void *payload, struct grove_slice id, bool answer)
{
	struct grove__pairs *p = payload;
	struct call *c;
	uint32_t at, old;

	grove__buf_clear(&p->text);
	if (grove__json_text(&p->text, id))
		return GROVE_ENOMEM;
	at = grove__idmap_get(&p->names, grove__buf_slice(&p->text));
	if (at == GROVE__IDMAP_NONE) {
		if (p->nr >= GROVE__IDMAP_NONE - 1 || p->text.len > UINT32_MAX ||
		    grove__array_room(&p->call, &p->cap, p->nr, sizeof(*p->call)))
			return GROVE_ENOMEM;
		at = (uint32_t)p->nr;
		c = &p->call[at];
		*c = (struct call){ grove__arena_dup(&p->arena, grove__buf_slice(&p->text)),
				    (uint32_t)p->text.len, p->row, false, false };
		if (!c->name)
			return GROVE_ENOMEM;
		p->nr++;
		if (grove__idmap_put(&p->names, grove__buf_slice(&p->text), at, &old))
			return GROVE_ENOMEM;
	}
	if (answer)
		p->call[at].answered = true;
	else
		p->call[at].made = true;
	return 0;
}

int grove__pairs_feed(struct grove__pairs *p, struct grove__checker *c, uint32_t row,
		      struct grove_slice line)
{
	int rc;

	p->row = row;
	rc = grove__dialect_calls(c->s->at.dialect, line, grove__spine_role(c->s->image->spine, row),
				  note_call, p);
	return rc ? grove__fail_nomem(c->d) : 0;
}

/* Finds the rows that have a prompt somewhere below them. */
static uint8_t *prompts_below(const struct grove__spine *s)
{
	uint8_t *below = calloc((size_t)s->nr + 1, 1);

	for (uint32_t row = s->nr; below && row-- > 0;) {
		uint32_t up = grove__spine_parent(s, row);

		if (up != GROVE_NO_ENTRY && (below[row] || grove__spine_role(s, row) == GROVE_ROLE_USER))
			below[up] = 1;
	}
	return below;
}

int grove__pairs_tell(struct grove__pairs *p, struct grove__checker *c)
{
	uint8_t *below = prompts_below(c->s->image->spine);
	int rc = below ? 0 : grove__fail_nomem(c->d);

	for (size_t i = 0; i < p->nr && !rc; i++) {
		const struct call *x = &p->call[i];

		if (!x->made)
			rc = grove__check_row(c, UNPAIRED_RESULT, x->row, 0, x->name);
		else if (!x->answered && below[x->row])
			rc = grove__check_row(c, UNPAIRED_CALL, x->row, 0, x->name);
	}
	free(below);
	return rc;
}
