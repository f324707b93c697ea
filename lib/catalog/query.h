/*
 * catalog/query.h: queries for sessions, in pi's language.
 *
 *	fix parser       both occur in name, id, directory or messages; or their letters
 *	                 do, in this order, in name or directory
 *	"fix the parser" occurs exactly, except for case and the kind of white space
 *	re:fix(es|ed)?   a regular expression as in JavaScript, ignoring case
 *
 * Pure functions of texts.
 */
#ifndef GROVE_CATALOG_QUERY_H
#define GROVE_CATALOG_QUERY_H

#include "base/arena.h"
#include "base/fail.h"

#include <stdint.h>

struct grove__query;

/*
 * Returns GROVE_EINVAL for an invalid regular expression, GROVE_ENOTSUP if this build
 * has none.
 */
int grove__query_new(struct grove__query **out, struct grove_slice text, struct grove_detail *d);
void grove__query_free(struct grove__query *q);
/* True if the query is empty, so that everything matches. */
bool grove__query_is_blank(const struct grove__query *q);

/* What is known about a session apart from its messages; ptr may be NULL. */
struct grove__query_on {
	struct grove_slice id, name, cwd;
	struct grove_slice part;     /* of the messages, as much as is known */
};

/*
 * Matches one session after the other with a query. Belongs to one thread.
 *
 *	rc = grove__query_begin(f, &on, d);
 *	while (grove__query_is_open(f) && …)
 *		rc = grove__query_text(f, message, d);
 *	rc = grove__query_end(f, &score);
 *
 * Errors are GROVE_ENOMEM, and GROVE_ETOOBIG if an expression takes too long.
 */
struct grove__query_fit;
struct grove__query_fit *grove__query_fit_new(const struct grove__query *q);
void grove__query_fit_free(struct grove__query_fit *f);
int grove__query_begin(struct grove__query_fit *f, const struct grove__query_on *on,
		       struct grove_detail *d);
/* True if it depends on the messages. */
bool grove__query_is_open(const struct grove__query_fit *f);
/*
 * True if a match may span messages, so that they must be given at once, with spaces
 * between.
 */
bool grove__query_is_whole(const struct grove__query_fit *f);
int grove__query_text(struct grove__query_fit *f, struct grove_slice text, struct grove_detail *d);
/* Returns 0 and how well it matches, lower is better; 1 if it does not. */
int grove__query_end(const struct grove__query_fit *f, double *score);

/*
 * Examines raw lines of the log before any of it is parsed. Returns true if the rest
 * need not be examined this way. At the end, whatever cannot be in the log is no longer
 * open.
 */
bool grove__query_raw(struct grove__query_fit *f, const char *p, const char *end);
void grove__query_raw_end(struct grove__query_fit *f);
/* True if this raw line may contain something that is open. */
bool grove__query_may(const struct grove__query_fit *f, struct grove_slice line);

#endif
