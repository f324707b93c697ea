/*
 * usage/usage_json.c: usage as `usage --json` prints it.
 */
#include "json/out.h"
#include "usage/usage.h"

static void put_sums(struct grove__out *o, const struct grove_usage_row *r)
{
	grove__out_number(o, "input", r->input);
	grove__out_number(o, "output", r->output);
	grove__out_number(o, "cacheRead", r->cache_read);
	grove__out_number(o, "cacheWrite", r->cache_write);
	grove__out_number(o, "totalTokens", r->total);
	if (r->has_cost)
		grove__out_double(o, "cost", r->cost);
	else
		grove__out_string(o, "cost", NULL);
	if (r->estimated > 0)
		grove__out_double(o, "estimated", r->estimated);
}

static void put_row(struct grove__out *o, const struct grove_usage *u, const struct grove__usage_sum *s)
{
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "key", s->row.key);
	if (s->row.period.until)
		grove__out_time(o, "until", s->row.period.until);
	put_sums(o, &s->row);
	if (u->stacked) {
		grove__out_open(o, "stack", '{');
		for (uint32_t i = 0; i < s->nr_stack; i++) {
			grove__out_key(o, u->stack[s->first + i].row.key);
			grove__out_open(o, NULL, '{');
			put_sums(o, &u->stack[s->first + i].row);
			grove__out_close(o, '}');
		}
		grove__out_close(o, '}');
	}
	grove__out_close(o, '}');
}

static void put_unpriced(struct grove__out *o, const struct grove_usage *u)
{
	grove__out_open(o, "unpriced", '[');
	for (size_t i = 0; i < u->nr_unpriced; i++) {
		const struct grove_usage_unpriced *x = &u->unpriced[i];

		grove__out_open(o, NULL, '{');
		grove__out_string(o, "model", x->model);
		grove__out_number(o, "replies", x->replies);
		grove__out_number(o, "totalTokens", x->total);
		grove__out_close(o, '}');
	}
	grove__out_close(o, ']');
}

int grove__usage_json(const struct grove_usage *u, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_open(&o, "totals", '{');
	put_sums(&o, &u->totals.row);
	grove__out_close(&o, '}');
	grove__out_open(&o, "rows", '[');
	for (size_t i = 0; i < u->nr; i++) {
		grove__out_newline(&o);
		put_row(&o, u, &u->rows[i]);
	}
	grove__out_close(&o, ']');
	if (u->stacked) {
		grove__out_number(&o, "replies", u->totals.replies);
		grove__out_number(&o, "copies", u->copies);
	}
	if (u->nr_unpriced)
		put_unpriced(&o, u);
	if (u->away) {
		grove__out_open(&o, "away", '[');
		for (const char *const *url = u->away; *url; url++)
			grove__out_string(&o, NULL, *url);
		grove__out_close(&o, ']');
	}
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}
