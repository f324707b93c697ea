/*
 * catalog/query.h: what a person types to find a session, in pi's language.
 *
 *	fix parser       both occur, in name, id, directory or what was said; or their letters
 *	                 do, in this order, in name or directory
 *	"fix the parser" occurs as it is, but for case and the kind of white space
 *	re:fix(es|ed)?   a regular expression of JavaScript, case ignored
 *
 * Pure: texts in, an answer out.
 */
#ifndef GROVE_CATALOG_QUERY_H
#define GROVE_CATALOG_QUERY_H

#include "base/arena.h"
#include "base/fail.h"

#include <stdint.h>

struct grove__query;

/* GROVE_EINVAL: a regular expression that is none; GROVE_ENOTSUP: there are none in this build. */
int grove__query_new(struct grove__query **out, struct grove_slice text, struct grove_detail *d);
void grove__query_free(struct grove__query *q);
/* Says it nothing, so that everything is found? */
bool grove__query_is_blank(const struct grove__query *q);

/* What is looked at of a session, besides what was said in it; ptr may be NULL. */
struct grove__query_on {
	struct grove_slice id, name, cwd;
	struct grove_slice part;     /* of what was said, as much as is known */
};

/*
 * One session and a query; then the next one. Belongs to a thread.
 *
 *	rc = grove__query_begin(f, &on, d);
 *	while (grove__query_is_open(f) && …)
 *		rc = grove__query_text(f, message, d);
 *	rc = grove__query_end(f, &score);
 *
 * Errors are GROVE_ENOMEM, and GROVE_ETOOBIG where an expression takes too long.
 */
struct grove__query_fit;
struct grove__query_fit *grove__query_fit_new(const struct grove__query *q);
void grove__query_fit_free(struct grove__query_fit *f);
int grove__query_begin(struct grove__query_fit *f, const struct grove__query_on *on,
		       struct grove_detail *d);
/* Does it depend on what was said? */
bool grove__query_is_open(const struct grove__query_fit *f);
/* Can it stand across messages, so that they have to come at once, with blanks between? */
bool grove__query_is_whole(const struct grove__query_fit *f);
int grove__query_text(struct grove__query_fit *f, struct grove_slice text, struct grove_detail *d);
/* 0 and how well it fits, the lower the better; 1 if it does not. */
int grove__query_end(const struct grove__query_fit *f, double *score);

/*
 * Raw lines of the log, before any of it is taken apart. True: the rest of it
 * need not be looked at so. At the end what cannot be in the log is no longer open.
 */
bool grove__query_raw(struct grove__query_fit *f, const char *p, const char *end);
void grove__query_raw_end(struct grove__query_fit *f);
/* May this raw line have something that is open? */
bool grove__query_may(const struct grove__query_fit *f, struct grove_slice line);

/* Are the letters of `query` in `text`, in this order? Case is ignored. 0, 1, GROVE_ENOMEM. */
int grove__query_fuzzy(struct grove_slice query, struct grove_slice text, double *score);

#endif
