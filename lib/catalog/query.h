/*
 * catalog/query.h: what a person types to find a session, in pi's language.
 *
 *	fix parser       both occur, or their letters do, in this order, in name or directory
 *	"fix the parser" occurs as it is, but for case and the kind of white space
 *	re:fix(es|ed)?   a regular expression of JavaScript, case ignored
 *
 * Pure: texts in, an answer out.
 */
#ifndef GROVE_CATALOG_QUERY_H
#define GROVE_CATALOG_QUERY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

struct grove__query;

/* What is looked at of a session; ptr may be NULL. */
struct grove__query_on {
	struct grove_slice id, name, text, cwd;
};

/* GROVE_EINVAL: a regular expression that is none; GROVE_ENOTSUP: there are none in this build. */
int grove__query_new(struct grove__query **out, struct grove_slice text, struct grove_detail *d);
void grove__query_free(struct grove__query *q);
/* Says it nothing, so that everything is found? */
bool grove__query_is_blank(const struct grove__query *q);

/*
 * 0 and how well it fits, the lower the better; 1 if it does not. GROVE_ENOMEM;
 * GROVE_ETOOBIG where an expression takes too long. Many threads may ask.
 */
int grove__query_match(const struct grove__query *q, const struct grove__query_on *on, double *score,
		       struct grove_detail *d);

/* Are the letters of `query` in `text`, in this order? Case is ignored. 0, 1, GROVE_ENOMEM. */
int grove__query_fuzzy(struct grove_slice query, struct grove_slice text, double *score);

/* query_re.c, or query_re_none.c */
struct grove__regex;
int grove__regex_new(struct grove__regex **out, struct grove_slice pattern, struct grove_detail *d);
void grove__regex_free(struct grove__regex *re);
/* 0 it matches, 1 it does not, or an error as above. */
int grove__regex_match(const struct grove__regex *re, struct grove_slice text, struct grove_detail *d);

#endif
