/*
 * dialect/xcsh_repair.c: puts every call's result right after it.
 *
 * A model refuses a conversation in which a call is not followed by its result. So for each
 * assistant message we look for the results of its calls further on; what is in between
 * comes after them:
 *
 *     A(1,2)  user  R1  B(3)  R2  R3        as stored
 *     A(1,2)  R1  R2  user  B(3)  R3        as sent
 *
 * A call without a result gets a copy of the last result with its id, wherever that is, or
 * else an added one.
 *
 * The search for A covers everything up to the last result it needs, or to the end if one
 * is missing. The assistants in this range (B) are displaced, and handled when all the
 * others are done. No search changes the order of what it leaves, so positions can be
 * compared by the stored order. The results of an id are a list with a cursor, so no
 * position is visited twice.
 */
#include "dialect/xcsh_llm.h"

#include "base/arena.h"
#include "json/value.h"

#include <stdlib.h>

enum how { NOT_ASKED, FOUND, COPIED, MADE };

/* A call of an assistant. */
struct call {
	struct grove_slice id, name; /* raw */
	size_t group;                /* its id */
	size_t take;                 /* the message that is its result */
	enum how how;
};

/* An assistant with calls. */
struct caller {
	size_t at;
	size_t first, nr;  /* calls */
	bool displaced;
	bool made_first;   /* added results come before those found */
};

/* An occurrence of an id, in a call or a result. */
struct spot {
	struct grove_slice id; /* text */
	size_t at;             /* message */
	size_t call;           /* SIZE_MAX for a result */
};

/* All occurrences of an id. */
struct group {
	size_t first, nr; /* positions of results */
	size_t cursor;
	size_t asked;     /* 1 + the index of the caller */
};

struct repair {
	const struct grove__xcsh_message *messages;
	size_t nr;
	struct grove__arena arena;
	struct grove_buf spots, calls, callers;
	size_t nr_callers;
	struct group *groups;
	size_t *results; /* positions, by group */
	bool *used;      /* by message: a result that was taken */
};

#define AT(buf, type, i) ((type *)(void *)(buf).ptr + (i))

static int add_spot(struct repair *r, struct grove_slice raw, size_t at, size_t call)
{
	struct spot s = { grove__slice(raw.ptr + 1, raw.len - 2), at, call };
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	if (memchr(raw.ptr, '\\', raw.len)) {
		rc = grove__json_text(&b, raw);
		s.id.ptr = rc ? NULL : grove__arena_dup(&r->arena, grove__buf_slice(&b));
		s.id.len = b.len;
		grove__buf_release(&b);
		if (!s.id.ptr)
			return GROVE_ENOMEM;
	}
	return grove__buf_add(&r->spots, &s, sizeof s);
}

static int add_caller(struct repair *r, size_t at)
{
	struct grove_slice content = grove__json_get(r->messages[at].json, "content");
	struct caller c = { .at = at, .first = r->calls.len / sizeof(struct call) };
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it)) {
		struct call call = { .id = grove__json_get(it.value, "id") };

		if (grove__json_type_of(call.id) != JSON_STRING ||
		    !grove__json_string_is(grove__json_get(it.value, "type"), "toolCall"))
			continue;
		call.name = grove__json_get(it.value, "name");
		rc = add_spot(r, call.id, at, c.first + c.nr);
		if (!rc)
			rc = grove__buf_add(&r->calls, &call, sizeof call);
		c.nr++;
	}
	if (rc || !c.nr)
		return rc;
	r->nr_callers++;
	return grove__buf_add(&r->callers, &c, sizeof c);
}

static int collect(struct repair *r)
{
	struct grove_slice id;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < r->nr; i++) {
		if (r->messages[i].form == XCSH_FORM_ASSISTANT) {
			rc = add_caller(r, i);
		} else if (r->messages[i].form == XCSH_FORM_RESULT) {
			id = grove__json_get(r->messages[i].json, "toolCallId");
			if (grove__json_type_of(id) == JSON_STRING)
				rc = add_spot(r, id, i, SIZE_MAX);
		}
	}
	return rc;
}

static int cmp_id(struct grove_slice a, struct grove_slice b)
{
	int c = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int cmp_spot(const void *va, const void *vb)
{
	const struct spot *a = va, *b = vb;
	int c = cmp_id(a->id, b->id);

	return c ? c : (a->at > b->at) - (a->at < b->at);
}

static int make_groups(struct repair *r)
{
	size_t i, nr = r->spots.len / sizeof(struct spot), nr_groups = 0, nr_results = 0;
	const struct spot *s = AT(r->spots, struct spot, 0);

	r->groups = calloc(nr, sizeof *r->groups);
	r->results = calloc(nr, sizeof *r->results);
	r->used = calloc(r->nr, sizeof *r->used);
	if (!r->groups || !r->results || !r->used)
		return GROVE_ENOMEM;
	qsort(r->spots.ptr, nr, sizeof *s, cmp_spot);
	for (i = 0; i < nr; i++) {
		if (!i || cmp_id(s[i].id, s[i - 1].id))
			r->groups[nr_groups++].first = nr_results;
		if (s[i].call == SIZE_MAX) {
			r->results[nr_results++] = s[i].at;
			r->groups[nr_groups - 1].nr++;
		} else {
			AT(r->calls, struct call, s[i].call)->group = nr_groups - 1;
		}
	}
	return 0;
}

/* Finds the results of caller `n`. Returns how far it had to look. */
static size_t resolve(struct repair *r, size_t n, bool *made)
{
	const struct caller *c = AT(r->callers, struct caller, n);
	struct call *call = AT(r->calls, struct call, c->first);
	size_t i, reach = c->at + 1;

	for (i = 0; i < c->nr; i++) {
		struct group *g = &r->groups[call[i].group];
		const size_t *results = r->results + g->first;

		if (g->asked == n + 1)
			continue; /* a repeated id */
		g->asked = n + 1;
		while (g->cursor < g->nr &&
		       (results[g->cursor] <= c->at || r->used[results[g->cursor]]))
			g->cursor++;
		if (g->cursor < g->nr) {
			call[i].how = FOUND;
			call[i].take = results[g->cursor];
			r->used[call[i].take] = true;
			if (reach <= call[i].take)
				reach = call[i].take + 1;
			continue;
		}
		call[i].how = g->nr ? COPIED : MADE;
		call[i].take = g->nr ? results[g->nr - 1] : 0;
		*made |= !g->nr;
		reach = r->nr;
	}
	return reach;
}

static void resolve_all(struct repair *r)
{
	size_t i, nr = r->calls.len / sizeof(struct call), reach = 0;
	bool made = false, ignored = false;

	for (i = 0; i < r->nr_callers; i++) {
		struct caller *c = AT(r->callers, struct caller, i);

		c->displaced = c->at < reach;
		if (c->displaced) {
			c->made_first = made;
			continue;
		}
		made = false;
		reach = resolve(r, i, &made);
	}
	for (i = 0; i < nr; i++)
		r->groups[AT(r->calls, struct call, i)->group].cursor = 0;
	for (i = 0; i < r->nr_callers; i++)
		if (AT(r->callers, struct caller, i)->displaced)
			resolve(r, i, &ignored);
}

/* --- the order --- */

static int add_message(const struct repair *r, struct grove_buf *turns, size_t at)
{
	struct grove__xcsh_turn t = { .message = &r->messages[at] };

	return grove__buf_add(turns, &t, sizeof t);
}

static int cmp_place(const void *va, const void *vb)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;

	return (a > b) - (a < b);
}

/* Adds those found, in stored order. */
static int add_found(const struct repair *r, struct grove_buf *turns, const struct call *call,
		     size_t nr)
{
	struct grove_buf places = GROVE_BUF_INIT;
	size_t i, nr_found = 0;
	int rc = 0;

	for (i = 0; !rc && i < nr; i++) {
		if (call[i].how != FOUND)
			continue;
		rc = grove__buf_add(&places, &call[i].take, sizeof call[i].take);
		nr_found++;
	}
	if (!rc && nr_found)
		qsort(places.ptr, nr_found, sizeof(size_t), cmp_place);
	for (i = 0; !rc && i < nr_found; i++)
		rc = add_message(r, turns, *AT(places, size_t, i));
	grove__buf_release(&places);
	return rc;
}

/* Adds the others in the order of the calls, for one of the two ways. */
static int add_others(const struct repair *r, struct grove_buf *turns, const struct call *call,
		      size_t nr, enum how how, enum how or_how)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < nr; i++) {
		struct grove__xcsh_turn t = { .call_id = call[i].id, .call_name = call[i].name };

		if (call[i].how != how && call[i].how != or_how)
			continue;
		rc = call[i].how == COPIED ? add_message(r, turns, call[i].take)
					   : grove__buf_add(turns, &t, sizeof t);
	}
	return rc;
}

static int add_results(const struct repair *r, struct grove_buf *turns, const struct caller *c)
{
	const struct call *call = AT(r->calls, const struct call, c->first);
	int rc = 0;

	if (c->made_first)
		rc = add_others(r, turns, call, c->nr, MADE, MADE);
	if (!rc)
		rc = add_found(r, turns, call, c->nr);
	if (!rc)
		rc = add_others(r, turns, call, c->nr, COPIED, c->made_first ? COPIED : MADE);
	return rc;
}

static int add_all(const struct repair *r, struct grove_buf *turns)
{
	size_t i, n = 0;
	int rc = 0;

	for (i = 0; !rc && i < r->nr; i++) {
		if (r->used && r->used[i])
			continue;
		rc = add_message(r, turns, i);
		if (!rc && n < r->nr_callers && AT(r->callers, const struct caller, n)->at == i)
			rc = add_results(r, turns, AT(r->callers, const struct caller, n++));
	}
	return rc;
}

int grove__xcsh_repair(const struct grove__xcsh_message *messages, size_t nr,
		       struct grove_buf *turns)
{
	struct repair r = { .messages = messages, .nr = nr };
	int rc;

	grove__arena_init(&r.arena);
	rc = collect(&r);
	if (!rc && r.nr_callers) {
		rc = make_groups(&r);
		if (!rc)
			resolve_all(&r);
	}
	if (!rc)
		rc = add_all(&r, turns);
	free(r.used);
	free(r.results);
	free(r.groups);
	grove__buf_release(&r.callers);
	grove__buf_release(&r.calls);
	grove__buf_release(&r.spots);
	grove__arena_release(&r.arena);
	return rc;
}
