/*
 * results.h: what tools answered, found before it is printed.
 *
 * A call stands in a reply, its result in one of the entries that follow. To print both
 * together we look ahead from the call, as far as the reply's work goes, and keep what we
 * see: of a long result only the lines that are shown.
 */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "out.h"

struct result {
	size_t at;                /* its entry, as a place in the conversation */
	char *call;               /* the id of the call */
	struct grove_buf text;    /* its texts; of those that are folded the first lines */
	size_t lines, images;     /* how many it has in all */
	int error, used;
};

struct results {
	struct grove_view *v;
	const uint32_t *rows;     /* the conversation; NULL: the entries as they come */
	size_t nr_rows;
	size_t keep;              /* lines of a result; 0: all */
	size_t seen;              /* we have looked this far */
	struct result *list;
	size_t first, nr, cap;    /* those before `first` are done */
	int err;
};

void results_init(struct results *r, struct grove_view *v, const uint32_t *rows, size_t nr, size_t keep);
/* The result of a call in the entry at `at`, which counts as used then; NULL if there is none near. */
struct result *results_find(struct results *r, size_t at, struct grove_slice call);
/* Was this result of the entry at `at` printed with its call? */
int results_used(const struct results *r, size_t at, struct grove_slice call);
/* All entries before `at` were printed. */
void results_pass(struct results *r, size_t at);
void results_release(struct results *r);

#endif
