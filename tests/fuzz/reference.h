/*
 * tests/fuzz/reference.h: a slow and simple JSON parser.
 *
 * It shares no code with the library, which is compared with it. It accepts
 * what JavaScript's JSON.parse accepts and makes a tree of it. It has a stack
 * of its own, so the depth is not limited here either.
 */
#ifndef TESTS_FUZZ_REFERENCE_H
#define TESTS_FUZZ_REFERENCE_H

#include "fuzz.h"

#define REF_NONE SIZE_MAX

/* A value; the values of a document are in the order in which they begin. */
struct ref_node {
	size_t parent;          /* REF_NONE: the top value */
	size_t depth;           /* 0: the top value */
	size_t off, len;        /* all of it, strings with their quotes */
	size_t key_off, key_len; /* with quotes; length 0 in arrays and at the top */
	size_t next;            /* the first node behind everything in it */
	char type;              /* { [ " t f n, or 0 for a number */
};

struct ref {
	const char *text;
	bool ok;
	size_t error;           /* the first byte that is wrong; the length if it is cut off */
	struct ref_node *nodes;
	size_t nr;
	size_t cap;
};

/* White space in `text` may contain newlines. Free with ref_release(), valid or not. */
void ref_parse(struct ref *r, const char *text, size_t len);
void ref_release(struct ref *r);

/*
 * Returns the text of a string (given with quotes) as Node reads it: UTF-8, in
 * which each maximal invalid part becomes U+FFFD, and a lone surrogate its
 * three bytes. The caller frees it; it has *out_len bytes and a NUL.
 */
char *ref_text(const char *raw, size_t len, size_t *out_len);

/* Returns the last member of that name (UTF-8, `len` bytes) of an object, or REF_NONE. */
size_t ref_member(const struct ref *r, size_t object, const char *name, size_t len);
/* Returns true if the key of that node is this text. */
bool ref_key_is(const struct ref *r, size_t node, const char *name, size_t len);

/* Returns true if this is JSON that a program may print: valid, and UTF-8. */
bool ref_is_document(const char *text, size_t len);

#endif
