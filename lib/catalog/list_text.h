/*
 * catalog/list_text.h: is a session one that was looked for?
 */
#ifndef GROVE_CATALOG_LIST_TEXT_H
#define GROVE_CATALOG_LIST_TEXT_H

#include "catalog/list_read.h"
#include "catalog/query.h"

/* Belongs to one thread, as the reader does. */
struct grove__list_fit {
	struct grove__query_fit *fit;
	struct grove__list_reader *r;
	struct grove_buf text;               /* what was said in a message, or in all of them */
	struct grove__arena tmp;
	bool whole;
	int rc;                              /* of the query itself, and its story */
	struct grove_detail d;
};

/* GROVE_ENOMEM. Without a query (NULL) everything fits. */
int grove__list_fit_init(struct grove__list_fit *f, const struct grove__query *q,
			 struct grove__list_reader *r);
void grove__list_fit_release(struct grove__list_fit *f);

/*
 * Does the session fit (*hit is 0, or 1 if not), and how well? What is remembered of
 * it is asked first; only if that does not decide is it read.
 *
 * Returns 0, or why it cannot be read, with a story in `why` if there is one. Where
 * the query is at fault, *hit is negative, and the story in f->d.
 */
int grove__list_fits(struct grove__list_fit *f, const struct grove__list_one *x, double *score,
		     int *hit, struct grove_detail *why);

#endif
