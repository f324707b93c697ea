/*
 * usage/turns.c: what was sent for each reply of a session, and what came back.
 *
 * The same lines bill as in usage_logs.c, and the same table merges those of one reply.
 */
#include "usage/turns.h"

#include "json/out.h"

#include <math.h>

int grove__turns_init(struct grove__turns *t, struct grove_view *v, struct grove_detail *d)
{
	const struct grove__dialect *dialect = v->image->dialect;
	unsigned nr = dialect->read.nr_members;

	memset(t, 0, sizeof(*t));
	t->v = v;
	grove__replies_init(&t->replies);
	grove__prices_init(&t->prices);
	grove__arena_init(&t->tmp);
	memcpy(t->members, dialect->read.members, nr * sizeof(*t->members));
	if (dialect->usage.nr_members)
		memcpy(t->members + nr, dialect->usage.members, dialect->usage.nr_members * sizeof(*t->members));
	grove__json_want_init(&t->want, t->members, nr + dialect->usage.nr_members);
	return grove__prices_load(&t->prices, v->session->g, NULL, d);
}

void grove__turns_release(struct grove__turns *t)
{
	grove__arena_release(&t->tmp);
	grove__prices_release(&t->prices);
	grove__replies_release(&t->replies);
	grove__buf_release(&t->line);
}

int grove__turns_add(struct grove__turns *t, uint32_t row, struct grove_slice value)
{
	const struct grove__dialect *dialect = t->v->image->dialect;
	struct grove__json_line l;
	struct grove__billed x;
	struct grove__entry e;
	int rc;

	if (!dialect->usage.billed)
		return 0;
	grove__arena_clear(&t->tmp);
	grove__buf_clear(&t->line);
	if (grove__buf_add_slice(&t->line, value) || grove__buf_reserve(&t->line, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	if (grove__json_scan(&t->want, t->line.ptr, t->line.len, true, &l) != JSON_VALUE ||
	    dialect->read.index(&l, t->line.ptr, &t->tmp, &e) == LINE_SKIP)
		return 0;
	rc = dialect->usage.billed(&l, t->line.ptr, &t->tmp, &e, &x);
	if (rc)
		return rc < 0 ? rc : 0;
	/* sums of what sub-agents used are no reply of this session */
	return t->tmp.failed ? GROVE_ENOMEM : grove__replies_add(&t->replies, &x, row, true);
}

double grove__turns_cost(const struct grove__turns *t, const struct grove__reply *r)
{
	const struct grove__price *price;

	if (!isnan(r->cost))
		return r->cost;
	price = grove__prices_find(&t->prices, t->replies.models[r->model]);
	return price ? grove__prices_of(price, r) : (double)NAN;
}

static int read_all(struct grove__turns *t, struct grove_detail *d)
{
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc;

	if (!t->v->image->dialect->usage.billed)
		return 0;
	grove__rows_init(&rows, t->v->image, t->v->log, NULL, t->v->nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, d)))
		if (grove__turns_add(t, row, value)) {
			rc = grove__fail_nomem(d);
			break;
		}
	grove__rows_release(&rows);
	return rc < 0 ? rc : 0;
}

enum column { SEQ, TIME, CONTEXT, OUTPUT, COST, COLUMNS };

static void put_cell(struct grove__out *o, const struct grove__turns *t, enum column column, const struct grove__reply *r)
{
	switch (column) {
	case SEQ:
		grove__out_number(o, NULL, grove__spine_line(t->v->image->spine, r->log));
		break;
	case TIME:
		grove__out_double(o, NULL, r->time == GROVE_NO_TIME ? (double)NAN : (double)r->time);
		break;
	case CONTEXT:
		grove__out_number(o, NULL, r->input + r->cache_read + r->cache_write);
		break;
	case OUTPUT:
		grove__out_number(o, NULL, r->output);
		break;
	default:
		grove__out_double(o, NULL, grove__turns_cost(t, r));
	}
}

static int put_columns(const struct grove__turns *t, struct grove_sink sink)
{
	static const char *const names[COLUMNS] = { "seq", "time", "context", "output", "cost" };
	struct grove__out o;

	grove__out_init(&o, sink);
	grove__out_open(&o, NULL, '{');
	for (int column = 0; column < COLUMNS; column++) {
		grove__out_open(&o, names[column], '[');
		for (size_t i = 0; i < t->replies.nr; i++)
			if (!t->replies.all[i].told)
				put_cell(&o, t, (enum column)column, &t->replies.all[i]);
		grove__out_close(&o, ']');
	}
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove__usage_turns(struct grove_view *v, struct grove_sink sink, struct grove_detail *d)
{
	struct grove__turns t;
	int rc = grove__turns_init(&t, v, d);

	rc = rc ? rc : read_all(&t, d);
	rc = rc ? rc : put_columns(&t, sink);
	grove__turns_release(&t);
	return rc;
}
