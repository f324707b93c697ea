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
};

struct grove_usage {
	struct grove__usage_sum totals;
	struct grove__usage_sum *rows;
	size_t nr, cap;
	struct grove_usage_unpriced *unpriced;
	size_t nr_unpriced;
	struct grove__arena texts;
};

int grove__usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage *out,
		 struct grove_detail *d);
void grove__usage_release(struct grove_usage *u);
int grove__usage_json(const struct grove_usage *u, struct grove_buf *out);

#endif
