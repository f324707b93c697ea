/*
 * usage/usage.h: tokens and cost of all sessions.
 */
#ifndef GROVE_USAGE_USAGE_H
#define GROVE_USAGE_USAGE_H

#include "session/session.h"

/* While it grows, `rest` is what the sum has lost by rounding. */
struct grove__usage_amount {
	double sum, rest;
};

struct grove__usage_sum {
	struct grove_usage_row row;
	struct grove__usage_amount cost, estimated;
	uint64_t replies;
	/* Its parts by model: while it grows, a list in `stack`; then `nr_stack` from there. */
	uint32_t first, nr_stack;
	uint32_t model, next;        /* of a part: its model, and the next part of that row */
};

struct grove_usage {
	struct grove__usage_sum totals;
	struct grove__usage_sum *rows;
	size_t nr, cap;
	struct grove__usage_sum *stack;
	size_t nr_stack, cap_stack;
	uint64_t copies;
	bool stacked;
	bool whole;                  /* a row for each session that has replies, even if all are copies */
	struct grove_usage_unpriced *unpriced;
	size_t nr_unpriced;
	const char **away;           /* the URLs of stores that were left out, and NULL; NULL: none were */
	struct grove__arena texts;
};

int grove__usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage *out,
		 struct grove_detail *d);
void grove__usage_release(struct grove_usage *u);
int grove__usage_json(const struct grove_usage *u, struct grove_buf *out);
/* turns.c: grove_view_usage(). */
int grove__usage_turns(struct grove_view *v, struct grove_sink sink, struct grove_detail *d);
/* diff.c: grove_view_diff(). */
int grove__usage_diff(struct grove_view *v, uint32_t a, uint32_t b, struct grove_diff **out,
		      struct grove_detail *d);
void grove__usage_diff_free(struct grove_diff *d);

#endif
