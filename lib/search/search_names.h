/*
 * search/search_names.h: what names a session and its entries: title and labels.
 *
 * A title is replaced and a label moved or cleared by a later line, so they are known only
 * after all of a log has been read. They are few and short: they are kept as they are, and
 * compared one by one.
 */
#ifndef GROVE_SEARCH_SEARCH_NAMES_H
#define GROVE_SEARCH_SEARCH_NAMES_H

#include "search/search.h"

struct grove__search_names {
	const char *title;           /* NULL: none */
	int64_t modified;            /* when the session was; ms */
	struct grove_slice labels;   /* see grove__search_labels() */
};

/* Appends the labels of the entries of a log, packed. GROVE_ENOMEM. */
int grove__search_labels(const struct grove__image *im, struct grove_buf *out);
/* Gets when a session was modified, as a list shows it. */
int grove__search_modified(struct grove__image *im, struct grove_store_log *log, int64_t *out,
			   struct grove_detail *d);

/* `text` and `entry` of a hit are the callback's to copy. A non-zero result ends it. */
typedef int grove__search_name_fn(void *payload, const struct grove__search_hit *h, const char *text);
/*
 * Reports those that the options ask for, and completes a copy of `h` for each; its row is
 * GROVE_NO_ENTRY for the title. Returns GROVE_EDAMAGED if the labels are no such list.
 */
int grove__search_names_each(const struct grove__search_names *n, const struct grove__search_ask *ask,
			     const struct grove__search_hit *h, grove__search_name_fn *fn, void *payload);

#endif
