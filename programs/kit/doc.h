/*
 * doc.h: writes a JSON document.
 *
 * Commas are written where necessary, so that the order of members can change. The first
 * failure (out of memory) is kept in `rc`, and everything after it does nothing: check it
 * once, at the end.
 */
#ifndef PROGRAMS_DOC_H
#define PROGRAMS_DOC_H

#include <grove.h>

struct doc {
	struct grove_buf buf;
	int rc;
};

void doc_release(struct doc *d);
/* Adds bytes unchanged. */
void doc_add(struct doc *d, struct grove_slice bytes);
void doc_puts(struct doc *d, const char *text);
void doc_printf(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Passes on what was written, if that is worth the call. The last byte stays until the end:
 * it says whether a comma comes next.
 */
void doc_flush(struct doc *d, struct grove_sink to);

/*
 * The beginning of a text, of at most TITLE_MAX characters; a longer one ends with "…". Returns
 * its length, without the NUL that follows.
 */
#define TITLE_MAX 200
#define TITLE_BYTES (6 * TITLE_MAX + 4)
size_t doc_cut_title(struct grove_slice text, char out[TITLE_BYTES]);
/* A member with such a text; none if it is NULL. */
void doc_member_title(struct doc *d, const char *name, const char *text);

/* Begin an object or array ('{', '['), or end one ('}', ']'). */
void doc_open(struct doc *d, char bracket);
void doc_close(struct doc *d, char bracket);
/* The name of a member; a value must follow. */
void doc_name(struct doc *d, const char *name);
/* Values: of a member, or items of an array. */
void doc_string(struct doc *d, const char *text);  /* NULL: null */
void doc_text(struct doc *d, struct grove_slice text);
void doc_number(struct doc *d, uint64_t n);
void doc_signed(struct doc *d, int64_t n);
void doc_real(struct doc *d, double x);
void doc_bool(struct doc *d, int yes);
void doc_null(struct doc *d);
void doc_time(struct doc *d, int64_t ms);          /* GROVE_NO_TIME: null */
void doc_json(struct doc *d, struct grove_slice json);

/* A whole document: {"error":{code,message}}. */
void doc_error(struct doc *d, int code, const char *why);

/* Members with their values. */
void doc_member(struct doc *d, const char *name, const char *text);
void doc_member_number(struct doc *d, const char *name, uint64_t n);
void doc_member_bool(struct doc *d, const char *name, int yes);
void doc_member_time(struct doc *d, const char *name, int64_t ms);
void doc_member_json(struct doc *d, const char *name, struct grove_slice json);
/*
 * "away": the URLs of the stores that did not answer when `g` last asked them, for a list
 * or a search; nothing if all did. For those who may not see URLs, the kinds (`kinds`).
 */
void doc_member_away(struct doc *d, struct grove *g, int kinds);
/* Where the words of a search are: `match`, and if some are nowhere in the session, `missing`. */
void doc_member_match(struct doc *d, const struct grove_hit *h);

#endif
