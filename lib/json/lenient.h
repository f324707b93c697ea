/*
 * json/lenient.h: the values in a stream of bytes, lines or not.
 *
 * Some agents do not read line by line. They take one value after the other:
 *
 *   - a value may span lines; a line end is white space;
 *   - what follows a value on its line is not read;
 *   - where a value goes wrong, its first line is given up and reading continues
 *     after it;
 *   - where the input ends inside a value, reading ends; but once, if a value
 *     was found since the start or the last mistake, what follows that value
 *     on its own line is looked at after all.
 *
 * Most logs are one value a line and need none of this: it is for the others.
 */
#ifndef GROVE_JSON_LENIENT_H
#define GROVE_JSON_LENIENT_H

#include "base/buf.h"
#include "json/scan.h"

/* Up to `cap` bytes from `pos` on; *got is 0 at the end. 0 or a negative error. */
typedef int grove__json_source_fn(void *payload, uint64_t pos, char *buf, size_t cap, size_t *got);

struct grove__json_lenient;

struct grove__json_found {
	uint64_t pos, len;   /* the value */
	uint64_t line;       /* the number of the line it begins in, from 0 */
};

/*
 * Something that was not read: a whole line, or what follows a value on its line.
 * White space alone is not reported.
 */
struct grove__json_lost {
	uint64_t line, line_pos;     /* its number, and where it begins */
	uint64_t pos;                /* the first byte that is wrong; the line's end if it is cut short */
	uint64_t end;                /* the line's end */
	bool rest;                   /* the line has a value that was read */
	bool nul;                    /* nothing but NUL bytes */
};
/* An error ends the reading and is handed back. */
typedef int grove__json_lost_fn(void *payload, const struct grove__json_lost *lost);

/*
 * Begins at position `pos`, the start of a line. `want`, if not NULL, are
 * members to look for. NULL when out of memory.
 */
struct grove__json_lenient *grove__json_lenient_new(const struct grove__json_want *want,
						    grove__json_source_fn *source, void *payload,
						    uint64_t pos);
void grove__json_lenient_free(struct grove__json_lenient *l);
/* Sets the callback for what is lost. */
void grove__json_lenient_tell(struct grove__json_lenient *l, grove__json_lost_fn *fn, void *payload);

/* The next value: 0, 1 at the end, GROVE_ENOMEM, or an error of the source. */
int grove__json_lenient_next(struct grove__json_lenient *l, struct grove__json_found *out);
/* The value found last: type and members, from its own first byte on. */
const struct grove__json_line *grove__json_lenient_line(const struct grove__json_lenient *l);

/* After the end: what was passed over. */
struct grove__json_passed {
	uint64_t end;                /* where the input ends */
	uint64_t lines;              /* line ends in all, and a last line without one */
	uint64_t blank;              /* lines of white space between values */
	uint64_t bad;                /* lines given up */
	uint64_t bad_line, bad_pos;  /* the first of them, where it begins */
	bool open;                   /* the last line has no line end */
	bool torn;                   /* the input ends inside a value … */
	uint64_t torn_pos, torn_line; /* … that begins here, … */
	bool torn_rest;              /* … after another value */
};
void grove__json_lenient_passed(const struct grove__json_lenient *l, struct grove__json_passed *out);

#endif
