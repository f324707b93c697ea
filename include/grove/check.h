/*
 * grove/check.h: finding damage, and repairing it.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
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
	const char *kind;        /* stable; listed in docs/cli/grove-check.1.scd */
	const char *entry_id;    /* NULL: none */
	const char *detail;
	int fixable;
};
struct grove_check_result {
	size_t size;
	uint64_t files, entries, problems;
};
/* A non-zero result ends the check and is returned by the call. */
typedef int grove_problem_fn(void *payload, const struct grove_problem *p);
/*
 * Finds damage, and changes nothing. `what` is as in grove_session_open(); NULL means
 * all sessions in all stores of `g`, including those of sub-agents that lists show.
 * `result` may be NULL.
 */
GROVE_API int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
			  struct grove_check_result *result);

/*
 * Repair changes only what is damaged; every other line keeps its bytes. Removed
 * bytes are saved next to the session in a file SESSION.jsonl.cut-TIME, or, in a
 * store without files, in an attachment cut-TIME (docs/internals/check.md describes
 * the format).
 */
struct grove_fix_change {
	const char *path;
	uint64_t line, new_line; /* before and after, from 1 */
	const char *kind;        /* of the problem that it repairs */
	const char *entry_id;    /* of the entry concerned, after the change; NULL: none */
	const char *detail;
	struct grove_slice old_text;
	struct grove_slice new_text; /* lines, separated by LF; ptr NULL: nothing is left */
};
enum grove_fix_flags {
	GROVE_FIX_DRY_RUN = 1,   /* report the changes without making them */
	GROVE_FIX_FORCE = 2      /* even while another program is using the session */
};
struct grove_fix_options {
	size_t size;
	unsigned flags;
	/*
	 * Called with each proposed change; may be NULL. A non-zero result ends
	 * everything and is returned by grove_fix().
	 */
	int (*change)(void *payload, const struct grove_fix_change *c);
	/*
	 * Called after all changes of a session were proposed. Returns 0 to make
	 * them, 1 to leave the session alone. If NULL, they are made.
	 */
	int (*confirm)(void *payload, const char *path, uint64_t changes);
	/*
	 * Called after the changes were written; may be NULL. `cut` names the file
	 * or attachment with the removed bytes, or is NULL if none were removed.
	 */
	int (*done)(void *payload, const char *path, const char *cut);
	void *payload;
};
struct grove_fix_result {
	size_t size;
	uint64_t files, mended;  /* sessions examined, and repaired */
	uint64_t changes;        /* lines changed, or to be changed */
};
/*
 * Repairs what grove_check() calls fixable. `what` is as there. If it is NULL and one
 * session cannot be repaired, the others are, and the first error is returned at
 * the end. A session is written as a whole or not at all. Returns GROVE_ECONFLICT
 * if it changed meanwhile, or if another program has it open for writing or is
 * using it (unless GROVE_FIX_FORCE). After this and every other error except
 * GROVE_EIO, the session is unchanged. `opt` and `result` may be NULL.
 */
GROVE_API int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
			struct grove_fix_result *result);

/*
 * Reads everything in a store and reports each problem: the kinds of grove_check(),
 * and "unreadable", "wrong-length", "wrong-checksum", "wrong-bytes". `result`
 * may be NULL.
 */
GROVE_API int grove_store_verify(struct grove *g, const char *store, grove_problem_fn *fn,
				 void *payload, struct grove_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
