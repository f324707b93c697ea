/*
 * grove/check.h: look for damage, and mend it.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_CHECK_H
#define GROVE_CHECK_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

struct grove_problem {
	const char *path;
	uint64_t line;           /* from 1 */
	uint64_t offset;
	const char *kind;        /* docs/cli/grove-check: documented and stable */
	const char *entry_id;    /* NULL: none */
	const char *detail;
	int fixable;
};
struct grove_check_result {
	size_t size;
	uint64_t files, entries, problems;
};
/* A non-zero answer ends the check and is handed back. */
typedef int grove_problem_fn(void *payload, const struct grove_problem *p);
/*
 * Look for damage; changes nothing. `what` as in grove_session_open(); NULL: all
 * sessions here. `result` may be NULL.
 */
GROVE_API int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
			  struct grove_check_result *result);

/*
 * Mending. What is damaged is changed where it has to be, every other line keeps
 * its bytes. What is taken out is kept beside the session: in a file
 * SESSION.jsonl.cut-TIME, or where there are no files as an attachment cut-TIME
 * (docs/internals/check.md says how it is written).
 */
struct grove_fix_change {
	const char *path;
	uint64_t line, new_line; /* before and after, from 1 */
	const char *kind;        /* of the problem that it mends */
	const char *entry_id;    /* of the entry it is about, afterwards; NULL: none */
	const char *detail;
	struct grove_slice old_text;
	struct grove_slice new_text; /* lines, with LF between them; ptr NULL: nothing is left */
};
enum grove_fix_flags {
	GROVE_FIX_DRY_RUN = 1,   /* show, and change nothing */
	GROVE_FIX_FORCE = 2      /* even while another program works on it */
};
struct grove_fix_options {
	size_t size;
	unsigned flags;
	/* Each change that is proposed; NULL: not told. A non-zero answer ends it all and is handed back. */
	int (*change)(void *payload, const struct grove_fix_change *c);
	/* All of a session's are told: 0 to make them, 1 to leave the session alone. NULL: they are made. */
	int (*confirm)(void *payload, const char *path, uint64_t changes);
	/* They are made; `cut` is what holds what was taken out, NULL: nothing was. */
	int (*done)(void *payload, const char *path, const char *cut);
	void *payload;
};
struct grove_fix_result {
	size_t size;
	uint64_t files, mended;  /* sessions looked at, and written */
	uint64_t changes;        /* lines that were changed, or would be */
};
/*
 * Mend what grove_check() calls fixable. `what` as there; with NULL one session
 * that cannot be mended does not keep the others from it: the first error is
 * handed back at last. A session is written in one piece or not at all.
 * GROVE_ECONFLICT if it changed meanwhile, or another program has it open for
 * writing or works on it (GROVE_FIX_FORCE: even so); then, as after every other error but GROVE_EIO, it is as it was.
 * `opt` and `result` may be NULL.
 */
GROVE_API int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
			struct grove_fix_result *result);

/*
 * Read everything in a store and tell what is wrong: the kinds of grove_check(),
 * and "unreadable", "wrong-length", "wrong-checksum", "wrong-bytes". `result`
 * may be NULL.
 */
GROVE_API int grove_store_verify(struct grove *g, const char *store, grove_problem_fn *fn,
				 void *payload, struct grove_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
