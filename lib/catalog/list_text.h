/* catalog/list_text.h: whether a session matches a query. */
#ifndef GROVE_CATALOG_LIST_TEXT_H
#define GROVE_CATALOG_LIST_TEXT_H

#include "digest/read.h"
#include "catalog/query.h"

/* Belongs to one thread, like the reader. */
struct grove__list_fit {
	struct grove__query_fit *fit;
	struct grove__digest_reader *r;
	struct grove_buf text;               /* the text of a message, or of all of them */
	struct grove__arena tmp;
	bool whole;
	int rc;                              /* error of the query itself, and its detail */
	struct grove_detail d;
};

/* Returns 0 or GROVE_ENOMEM. Without a query (NULL) everything matches. */
int grove__list_fit_init(struct grove__list_fit *f, const struct grove__query *q,
			 struct grove__digest_reader *r);
void grove__list_fit_release(struct grove__list_fit *f);

/*
 * Finds out whether the session matches (*hit is 0, or 1 if not), and how well. What
 * the catalog remembers is tried first; the session is read only if that does not
 * decide.
 *
 * Returns 0, or an error if it cannot be read, with a detail in `why` if there is one.
 * If the query is at fault, *hit is negative, and the detail is in f->d.
 */
int grove__list_fits(struct grove__list_fit *f, const struct grove__digest_one *x, double *score,
		     int *hit, struct grove_detail *why);

#endif
