/*
 * dialect/claude_reply.c: what belongs to a reply but is not on the chain.
 *
 * A reply is written as one record per block, and parallel calls make it a tree:
 *
 *	prompt ─ text ─ call A ─ call B ─ result B ─ next reply
 *	                  └ result A
 *
 * The chain does not include result A, although that is not an abandoned branch. So for
 * each reply on the chain we add its other records and the results of all its calls: first
 * those whose parent is one of its records, then those that name one of its calls, wherever
 * they are.
 *
 * Mode cli:  first record on the chain, the others as in the file, all results. Records of
 *            the same reply with a prompt between them are parts that stay apart.
 * Mode sdk:  the chain as it is; after the last record of the reply what is
 *            missing, by time.
 */
#include "dialect/claude_chain.h"

#include "base/array.h"

#include <stdlib.h>

/* A record that belongs to a reply. */
struct piece {
	int64_t time;
	uint32_t reply;        /* index of the reply, in the order of the chain */
	uint32_t rank;         /* among pieces of the same kind */
	uint32_t row, place;   /* its position in the map */
	uint8_t kind;
};
enum { PIECE_RECORD, PIECE_RESULT, PIECE_NAMED };

/* A part of a reply, without a prompt in it. Nearly all replies have one part. */
struct part {
	uint32_t prompts;      /* how many prompts are above it on the chain */
	uint32_t from;         /* the place of the prompt that begins it */
	uint32_t next;         /* the next part of this reply, or NONE */
	uint32_t now;          /* in the first part: the one that is being filled */
};

struct replies {
	struct grove__claude_work *w;
	uint32_t *of_id;       /* by the name of message.id: the index of the reply, its first part */
	struct part *parts;    /* by index */
	size_t cap_parts;
	uint32_t *part;        /* by row: the part, if it is not the first; NULL if all are */
	uint32_t *of_tool;     /* by the name of a tool id: the record with the call */
	bool *answered;        /* by the name of a tool id */
	bool *leads;           /* by row: not a message, but has one below it; NULL if not
	                          computed yet */
	struct piece *pieces;
	size_t nr, cap;
	uint32_t count;
};

static const struct grove__claude_packed *at(const struct replies *p, uint32_t row)
{
	return &p->w->r->rows[row];
}

static uint32_t reply_of(const struct replies *p, uint32_t row)
{
	const struct grove__claude_packed *a;

	if (row >= CLAUDE_MISSING)
		return CLAUDE_NONE;
	a = at(p, row);
	if (a->class != CLAUDE_ASSISTANT || a->reply == CLAUDE_NONE)
		return CLAUDE_NONE;
	return p->part && p->part[row] != CLAUDE_NONE ? p->part[row] : p->of_id[a->reply];
}

static int piece_add(struct replies *p, uint32_t reply, uint32_t row, int kind, uint32_t rank)
{
	int rc;

	/* the SDK leaves the chain as it is, so what is on it is not missing */
	if (p->w->mode == CLAUDE_MODE_SDK && p->w->bits[row] & (CHAIN_ON | CHAIN_PLACED))
		return 0;
	rc = grove__array_room(&p->pieces, &p->cap, p->nr, sizeof(*p->pieces));
	if (!rc)
		p->pieces[p->nr++] = (struct piece){ at(p, row)->time, reply, rank, row,
						     grove__claude_map_place(p->w, row), (uint8_t)kind };
	return rc;
}

static uint32_t map_place(const struct replies *p, uint32_t row)
{
	return grove__claude_map_place(p->w, row);
}

/* --- replies on the chain, and their parts --- */

static int part_add(struct replies *p, uint32_t prompts, uint32_t from)
{
	int rc = grove__array_room(&p->parts, &p->cap_parts, p->count, sizeof(*p->parts));

	if (!rc) {
		p->parts[p->count] = (struct part){ prompts, from, CLAUDE_NONE, p->count };
		p->count++;
	}
	return rc;
}

/* Makes a record on the chain the first one of a further part. */
static int part_begin(struct replies *p, uint32_t first, uint32_t row, uint32_t prompts,
		      uint32_t from)
{
	size_t nr = p->w->r->nr;
	int rc;

	if (!p->part) {
		p->part = malloc((nr + 1) * sizeof(*p->part));
		if (!p->part)
			return GROVE_ENOMEM;
		memset(p->part, 0xff, nr * sizeof(*p->part));
	}
	rc = part_add(p, prompts, from);
	if (rc)
		return rc;
	p->parts[p->parts[first].now].next = p->count - 1;
	p->parts[first].now = p->count - 1;
	p->part[row] = p->count - 1;
	return 0;
}

static int find_reply(struct replies *p, uint32_t row, uint32_t prompts, uint32_t from)
{
	uint32_t name = at(p, row)->reply, first = p->of_id[name], now;
	int rc;

	if (first == CLAUDE_NONE) {
		rc = part_add(p, prompts, from);
		if (!rc)
			p->of_id[name] = p->count - 1;
		return rc;
	}
	now = p->parts[first].now;
	if (p->w->mode == CLAUDE_MODE_CLI && p->parts[now].prompts != prompts)
		return part_begin(p, first, row, prompts, from);
	if (now != first)
		p->part[row] = now;
	return 0;
}

/*
 * Finds the replies. The program joins the records of a reply across other replies and
 * results, but not across what somebody said; what was said together with a result counts
 * as a result.
 */
static int find_replies(struct replies *p)
{
	uint32_t prompts = 0, from = 0, said = CLAUDE_NONE;
	bool result = false;
	int rc = 0;

	for (size_t j = 0; j < p->w->nr_chain && !rc; j++) {
		uint32_t row = p->w->chain[j];
		const struct grove__claude_packed *a = at(p, row);

		if (a->class == CLAUDE_USER) {
			if (said == CLAUDE_NONE)
				said = row;
			result |= a->flags & CLAUDE_TOOL_RESULT;
		}
		if (a->class != CLAUDE_ASSISTANT)
			continue;
		if (said != CLAUDE_NONE && !result) {
			prompts++;
			from = map_place(p, said);
		}
		said = CLAUDE_NONE;
		result = false;
		if (a->reply != CLAUDE_NONE)
			rc = find_reply(p, row, prompts, from);
	}
	for (uint32_t i = 0; p->part && i < p->count; i++)
		p->parts[i].now = i;
	return rc;
}

/* Finds the part to which a record beside the chain belongs: the one that it is written in. */
static uint32_t part_of(struct replies *p, uint32_t reply, uint32_t row, uint32_t place)
{
	struct part *first = &p->parts[reply];

	if (!p->part || p->w->bits[row] & CHAIN_ON)
		return reply;
	while (p->parts[first->now].next != CLAUDE_NONE &&
	       p->parts[p->parts[first->now].next].from < place)
		first->now = p->parts[first->now].next;
	if (first->now != reply)
		p->part[row] = first->now;
	return first->now;
}

static int find_records(struct replies *p)
{
	const uint32_t *pool = p->w->r->pool;
	int rc = 0;

	for (uint32_t i = 0; i < p->w->r->nr && !rc; i++) {
		uint32_t row = grove__claude_map_row(p->w, i), reply = reply_of(p, row);
		const struct grove__claude_packed *a;

		if (reply == CLAUDE_NONE)
			continue;
		a = at(p, row);
		rc = piece_add(p, part_of(p, reply, row, i), row, PIECE_RECORD, i);
		for (uint32_t j = 0; j < a->nr_tools; j++)
			if (p->of_tool[pool[a->tools + j]] == CLAUDE_NONE)
				p->of_tool[pool[a->tools + j]] = row;
	}
	return rc;
}

/* Takes a result of a reply, found by its parent or by the calls that it names. */
static int take_result(struct replies *p, uint32_t row)
{
	const struct grove__claude_packed *a = at(p, row);
	uint32_t parent = grove__claude_stored(p->w, row);
	uint32_t by_parent = reply_of(p, parent), rank = 0, j;
	int rc = 0;

	if (by_parent != CLAUDE_NONE) {
		rank = map_place(p, parent);
		/* among parallel calls, the first that it answers or is below */
		for (j = 0; j < a->nr_tools; j++) {
			uint32_t call = p->of_tool[p->w->r->pool[a->tools + j]];

			if (call != CLAUDE_NONE && reply_of(p, call) == by_parent &&
			    map_place(p, call) < rank)
				rank = map_place(p, call);
		}
		rc = piece_add(p, by_parent, row, PIECE_RESULT, rank);
	}
	for (j = 0; j < a->nr_tools && !rc; j++) {
		uint32_t call = p->of_tool[p->w->r->pool[a->tools + j]];

		if (call == CLAUDE_NONE || reply_of(p, call) == by_parent)
			continue;
		/* the SDK does not look for results of a sub-agent's calls */
		if (p->w->mode == CLAUDE_MODE_SDK && at(p, call)->flags & CLAUDE_SIDECHAIN)
			continue;
		rc = piece_add(p, reply_of(p, call), row, PIECE_NAMED, map_place(p, row));
	}
	return rc;
}

/* Returns the reply that a call or result at `row` belongs to. */
static uint32_t reply_with(const struct replies *p, uint32_t row)
{
	const struct grove__claude_packed *a;
	uint32_t reply, call;

	if (row >= CLAUDE_MISSING)
		return CLAUDE_NONE;
	a = at(p, row);
	if (a->class == CLAUDE_ASSISTANT)
		return a->flags & CLAUDE_TOOL_USE ? reply_of(p, row) : CLAUDE_NONE;
	if (!(a->flags & CLAUDE_TOOL_RESULT))
		return CLAUDE_NONE;
	reply = reply_of(p, grove__claude_stored(p->w, row));
	for (uint32_t j = 0; j < a->nr_tools && reply == CLAUDE_NONE; j++) {
		call = p->of_tool[p->w->r->pool[a->tools + j]];
		reply = call == CLAUDE_NONE ? CLAUDE_NONE : reply_of(p, call);
	}
	return reply;
}

/* Finds the rows other than messages that lead down to one through others of their kind. */
static int find_leads(struct replies *p)
{
	const struct grove__claude_work *w = p->w;

	p->leads = calloc(w->r->nr + 1, sizeof(*p->leads));
	if (!p->leads)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < w->r->nr; i++) {
		if (!grove__claude_live(w, i) ||
		    !grove__claude_is_message((enum grove__claude_class)at(p, i)->class))
			continue;
		for (uint32_t x = w->parent[i];
		     x < CLAUDE_MISSING && !p->leads[x] &&
		     !grove__claude_is_message((enum grove__claude_class)at(p, x)->class);
		     x = w->parent[x])
			p->leads[x] = true;
	}
	return 0;
}

/* Takes what was said below a call or result, at the end of a branch without messages. */
static int take_spoken(struct replies *p, uint32_t row)
{
	uint32_t reply;
	int rc;

	if (p->w->mode != CLAUDE_MODE_CLI || p->w->bits[row] & CHAIN_ON ||
	    !grove__claude_is_spoken(p->w, row))
		return 0;
	reply = reply_with(p, grove__claude_lift(p->w, row));
	if (reply == CLAUDE_NONE)
		return 0;
	rc = p->leads ? 0 : find_leads(p);
	return rc || p->leads[row] ? rc : piece_add(p, reply, row, PIECE_RESULT, map_place(p, row));
}

static int find_results(struct replies *p)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->w->r->nr && !rc; i++) {
		uint32_t row = grove__claude_map_row(p->w, i), parent;
		const struct grove__claude_packed *a;

		if (row == CLAUDE_MISSING)
			continue;
		a = at(p, row);
		if (a->flags & (CLAUDE_QUEUED | CLAUDE_COMMAND))
			rc = take_spoken(p, row);
		if (a->class != CLAUDE_USER)
			continue;
		if (a->flags & CLAUDE_TOOL_RESULT) {
			rc = take_result(p, row);
		} else if (a->flags & CLAUDE_META && p->w->mode == CLAUDE_MODE_CLI) {
			/* a note attached to a call */
			parent = grove__claude_stored(p->w, row);
			if (reply_of(p, parent) != CLAUDE_NONE &&
			    at(p, parent)->flags & CLAUDE_TOOL_USE)
				rc = piece_add(p, reply_of(p, parent), row, PIECE_RESULT, i);
		}
	}
	return rc;
}

/* --- mode cli --- */

/* They are in this order already: records as in the file, then all results. */
static int cli_put(struct replies *p, const struct piece *first, const struct piece *end)
{
	int rc = 0;

	for (; first < end && !rc; first++)
		rc = grove__claude_place(p->w, first->row);
	return rc;
}

/* --- mode sdk --- */

static int sdk_order(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static int sdk_time_order(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;
	bool ra = a->kind != PIECE_RECORD, rb = b->kind != PIECE_RECORD;

	if (ra != rb)
		return ra ? 1 : -1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void answer(struct replies *p, uint32_t row)
{
	const struct grove__claude_packed *a = at(p, row);

	if (a->class == CLAUDE_USER)
		for (uint32_t j = 0; j < a->nr_tools; j++)
			p->answered[p->w->r->pool[a->tools + j]] = true;
}

/* Returns true if this result answers a call of reply `reply` that has no answer yet. */
static bool is_wanted(const struct replies *p, uint32_t row, uint32_t reply)
{
	const struct grove__claude_packed *a = at(p, row);

	for (uint32_t j = 0; j < a->nr_tools; j++) {
		uint32_t name = p->w->r->pool[a->tools + j];

		if (!p->answered[name] && p->of_tool[name] != CLAUDE_NONE &&
		    reply_of(p, p->of_tool[name]) == reply)
			return true;
	}
	return false;
}

/* Selects the missing ones among the pieces of a reply, which are in order. */
static size_t sdk_missing(struct replies *p, struct piece *first, struct piece *end)
{
	struct piece *to = first;

	for (struct piece *x = first; x < end; x++) {
		if (p->w->bits[x->row] & (CHAIN_ON | CHAIN_PLACED))
			continue;
		if (x->kind == PIECE_NAMED && !is_wanted(p, x->row, x->reply))
			continue;
		/* a result for several calls may occur more than once */
		if (to > first && to[-1].row == x->row)
			continue;
		answer(p, x->row);
		*to = *x;
		to->rank = (uint32_t)(to - first);
		to++;
	}
	return (size_t)(to - first);
}

static int sdk_put(struct replies *p, struct piece *first, struct piece *end)
{
	size_t nr;
	int rc = 0;

	qsort(first, (size_t)(end - first), sizeof(*first), sdk_order);
	nr = sdk_missing(p, first, end);
	qsort(first, nr, sizeof(*first), sdk_time_order);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = grove__claude_place(p->w, first[i].row);
	return rc;
}

/* --- both --- */

/* Finds the record on the chain after which the pieces of each reply go: its first, or its last. */
static void find_anchors(struct replies *p, uint32_t *anchor)
{
	struct grove__claude_work *w = p->w;

	memset(anchor, 0xff, (size_t)p->count * sizeof(*anchor));
	for (size_t j = 0; j < w->nr_chain; j++) {
		uint32_t reply = reply_of(p, w->chain[j]);

		answer(p, w->chain[j]);
		if (reply != CLAUDE_NONE &&
		    (w->mode == CLAUDE_MODE_SDK || anchor[reply] == CLAUDE_NONE))
			anchor[reply] = w->chain[j];
	}
}

/* Groups the pieces by reply, otherwise in order; start[reply] says where they begin. */
static int group(struct replies *p, uint32_t *start)
{
	struct piece *to = malloc((p->nr ? p->nr : 1) * sizeof(*to));

	if (!to)
		return GROVE_ENOMEM;
	/* start each group at its end; filling it moves that back to its beginning */
	for (size_t j = 0; j < p->nr; j++)
		start[p->pieces[j].reply]++;
	for (uint32_t i = 0; i < p->count; i++)
		start[i + 1] += start[i];
	for (size_t j = p->nr; j-- > 0;)
		to[--start[p->pieces[j].reply]] = p->pieces[j];
	free(p->pieces);
	p->pieces = to;
	return 0;
}

static int put_chain(struct replies *p)
{
	struct grove__claude_work *w = p->w;
	uint32_t *start, *anchor;
	int rc;

	start = calloc((size_t)p->count + 1, sizeof(*start));
	anchor = malloc(((size_t)p->count + 1) * sizeof(*anchor));
	rc = start && anchor ? group(p, start) : GROVE_ENOMEM;
	if (rc)
		goto out;
	find_anchors(p, anchor);
	for (size_t j = 0; j < w->nr_chain && !rc; j++) {
		uint32_t row = w->chain[j], reply = reply_of(p, row);
		struct piece *first, *end;

		rc = grove__claude_place(w, row);
		if (rc || reply == CLAUDE_NONE || anchor[reply] != row)
			continue;
		first = p->pieces + start[reply];
		end = p->pieces + start[reply + 1];
		rc = w->mode == CLAUDE_MODE_CLI ? cli_put(p, first, end) : sdk_put(p, first, end);
	}
out:
	free(start);
	free(anchor);
	return rc;
}

int grove__claude_replies(struct grove__claude_work *w)
{
	struct replies p = { .w = w };
	size_t nr = w->r->nr_names;
	int rc = GROVE_ENOMEM;

	p.of_id = malloc((nr + 1) * sizeof(*p.of_id));
	p.of_tool = malloc((nr + 1) * sizeof(*p.of_tool));
	p.answered = calloc(nr + 1, sizeof(*p.answered));
	if (!p.of_id || !p.of_tool || !p.answered)
		goto out;
	memset(p.of_id, 0xff, nr * sizeof(*p.of_id));
	memset(p.of_tool, 0xff, nr * sizeof(*p.of_tool));
	rc = w->mode == CLAUDE_MODE_AGENT ? 0 : find_replies(&p);
	if (!rc)
		rc = find_records(&p);
	if (!rc)
		rc = find_results(&p);
	if (!rc)
		rc = put_chain(&p);
out:
	free(p.of_id);
	free(p.parts);
	free(p.part);
	free(p.of_tool);
	free(p.answered);
	free(p.leads);
	free(p.pieces);
	return rc;
}
