/*
 * results.h: finds tool results before they are printed.
 *
 * A call is part of a reply, and its result is in a later entry. To print both together we
 * look ahead from the call, as far as the reply's work goes, and keep what we see; only the
 * lines to be shown of a long result.
 */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "out.h"

struct result {
	size_t at;                /* index of its entry in the conversation */
	char *call;               /* the id of the call */
	struct grove_buf text;    /* its texts; only the first lines if they are folded */
	size_t lines, images;     /* totals */
	int error, used;
};

struct results {
	struct grove_view *v;
	const uint32_t *rows;     /* the conversation; NULL for entries in log order */
	size_t nr_rows;
	size_t keep;              /* lines to keep of a result; 0 for all */
	size_t seen;              /* how far we have looked */
	struct result *list;
	size_t first, nr, cap;    /* those before `first` were printed */
	int err;
};

void results_init(struct results *r, struct grove_view *v, const uint32_t *rows, size_t nr, size_t keep);
/*
 * Finds the result of a call in the entry at `at`, and marks it as used. NULL if there is
 * none nearby.
 */
struct result *results_find(struct results *r, size_t at, struct grove_slice call);
/* Returns true if this result in the entry at `at` was printed with its call. */
int results_used(const struct results *r, size_t at, struct grove_slice call);
/* Call when all entries before `at` were printed. */
void results_pass(struct results *r, size_t at);
void results_release(struct results *r);

#endif
