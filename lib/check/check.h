/* check/check.h: the problems a session can have, and the functions that find them. */
#ifndef GROVE_CHECK_CHECK_H
#define GROVE_CHECK_CHECK_H

#include "session/session.h"

/* The problems. check.c has the kinds under which they are reported. */
enum grove__problem {
	NO_HEADER,
	BYTE_ORDER_MARK,
	MALFORMED,
	MALFORMED_SAVED,    /* the same, with something whole in it */
	NULS,
	FUSED,
	TORN,
	NO_NEWLINE,
	NOT_AN_ENTRY,
	SECOND_HEADER,
	NO_ID,
	NO_MESSAGE,
	NO_MESSAGE_LEFT,    /* the same, but the agent has no other entry for its place */
	DUPLICATE_ID,
	ORPHAN,
	CYCLE,
	UNREACHABLE,
	CONCURRENT,
	MISSING_TARGET,
	UNPAIRED_CALL,
	UNPAIRED_RESULT,
	MISSING_BLOB,
	WRONG_BLOB
};

const char *grove__check_problem_kind(enum grove__problem what);

struct grove__finding {
	uint64_t line, offset;     /* line from 0 */
	uint64_t number;
	const char *id;
	const char *name;          /* of what it is about; NULL: none */
	enum grove__problem what;
	uint32_t order;            /* found as such */
};

struct grove__checker {
	struct grove_session *s;
	struct grove__finding *found;
	size_t nr, cap;
	bool open;                 /* the last line is whole, but has no newline */
	struct grove__arena names;
	struct grove_detail *d;
};

/* `name` is copied; NULL: none. */
int grove__check_add(struct grove__checker *c, enum grove__problem what, uint64_t line,
		     uint64_t offset, uint64_t number, const char *id, const char *name);
/* The same about an entry. */
int grove__check_row(struct grove__checker *c, enum grove__problem what, uint32_t row,
		     uint64_t number, const char *name);

/* check_lines.c: what no reader understands */
int grove__check_lines(struct grove__checker *c);
/* check_tree.c: missing parents, repeated ids, cycles, concurrent branches */
int grove__check_tree(struct grove__checker *c);
/* check_content.c: what entries name */
int grove__check_content(struct grove__checker *c);
/* check_pairs.c */
struct grove__pairs;
struct grove__pairs *grove__pairs_new(void);
void grove__pairs_free(struct grove__pairs *p);
int grove__pairs_feed(struct grove__pairs *p, struct grove__checker *c, uint32_t row,
		      struct grove_slice line);
int grove__pairs_tell(struct grove__pairs *p, struct grove__checker *c);
/* check_blobs.c */
struct grove__blobs_named;
struct grove__blobs_named *grove__blobs_named_new(void);
void grove__blobs_named_free(struct grove__blobs_named *n);
int grove__blobs_named_feed(struct grove__blobs_named *n, struct grove__checker *c, uint32_t row,
			    struct grove_slice line);

/*
 * check_split.c: what is whole on a line that is not JSON, in order.
 *
 *	{"a":1}{"b":2}          a and b: a newline was lost
 *	{"a":1,"t":"hel{"b":2}  b: another one was written into a torn line
 *	{"a":1} and the rest    a
 */
struct grove__part {
	size_t off, len;
};
struct grove__parts {
	struct grove__part *part;
	size_t nr, cap;
	bool rest;                 /* followed by something other than white space */
};
/*
 * `bytes` contains no newline and is followed by GROVE__JSON_PAD readable bytes. Takes
 * linear time. `out` is replaced. GROVE_ENOMEM.
 */
int grove__check_split(const struct grove__dialect *dialect, const struct grove__json_want *want,
		       struct grove_slice bytes, struct grove__parts *out);
void grove__split_parts_release(struct grove__parts *p);

/* True for white space around a value on its line; NUL bytes count unless they are damage. */
static inline bool grove__is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* check.c: all of it */
int grove__check(struct grove *g, struct grove__where *at, grove_problem_fn *fn, void *payload,
		 struct grove_check_result *result, struct grove_detail *d);

#endif
