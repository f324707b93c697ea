/*
 * tests/fuzz/reference.h: JSON, slowly and simply.
 *
 * A parser that shares nothing with the library, to compare it with: it takes
 * what JavaScript's JSON.parse takes and makes a tree of it. Its stack is its
 * own, so depth has no limit here either.
 */
#ifndef TESTS_FUZZ_REFERENCE_H
#define TESTS_FUZZ_REFERENCE_H

#include "fuzz.h"

#define REF_NONE SIZE_MAX

/* A value; the values of a document stand in the order in which they begin. */
struct ref_node {
	size_t parent;          /* REF_NONE: the top one */
	size_t depth;           /* 0: the top one */
	size_t off, len;        /* all of it, strings with their quotes */
	size_t key_off, key_len; /* with quotes; length 0 in arrays and at the top */
	size_t next;            /* behind all that is in it */
	char type;              /* { [ " t f n, or 0 for a number */
};

struct ref {
	const char *text;
	bool ok;
	size_t error;           /* the first byte that is wrong; the length if it is cut short */
	struct ref_node *nodes;
	size_t nr;
	size_t cap;
};

/* White space of `text` may hold line ends. Free with ref_release(), valid or not. */
void ref_parse(struct ref *r, const char *text, size_t len);
void ref_release(struct ref *r);

/*
 * The text of a string (with quotes), as Node reads it: UTF-8, where bytes that
 * are none become U+FFFD, one for each maximal part, and a lone surrogate its
 * three bytes. Free it; *out_len bytes and a NUL.
 */
char *ref_text(const char *raw, size_t len, size_t *out_len);

/* The last member of that name (UTF-8, so long) of an object, or REF_NONE. */
size_t ref_member(const struct ref *r, size_t object, const char *name, size_t len);
/* Is the key of that node this text? */
bool ref_key_is(const struct ref *r, size_t node, const char *name, size_t len);

/* Is this JSON that a program may print: valid, and UTF-8? */
bool ref_is_document(const char *text, size_t len);

#endif
