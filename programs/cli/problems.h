/*
 * problems.h: prints what is wrong with sessions: one line each, or one document.
 */
#ifndef CLI_PROBLEMS_H
#define CLI_PROBLEMS_H

#include "kit/cli.h"

struct problems {
	struct cli *c;
	struct out json;    /* the problems; their number is printed first */
	struct out changes, mended;  /* the same for a fix */
	int fixing;         /* report changes, too */
	uint64_t nr_changes, nr_mended;
	uint64_t files, entries, problems, fixable;
	char *path;         /* of the last problem printed, on a terminal */
};

void problems_begin(struct problems *ck, struct cli *c);
/* A grove_problem_fn. */
int problems_add(void *payload, const struct grove_problem *p);
/* A change that was or would be made; a session that was written. */
void problems_change(struct problems *ck, const struct grove_fix_change *x);
void problems_mended(struct problems *ck, const char *path, const char *cut);
/*
 * Prints the findings, and then the error that ended the check early, if there is one.
 * Returns the exit status.
 */
int problems_print(struct problems *ck, int err, const struct grove_detail *why);
void problems_release(struct problems *ck);

#endif
