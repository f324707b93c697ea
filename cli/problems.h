/*
 * problems.h: what is wrong with sessions, printed: a line for each, or one
 * document.
 */
#ifndef CLI_PROBLEMS_H
#define CLI_PROBLEMS_H

#include "cli.h"

struct problems {
	struct cli *c;
	struct out json;    /* the problems; their number stands before them */
	struct out changes, mended;  /* the same of a fix */
	int fixing;         /* say what was changed, too */
	uint64_t nr_changes, nr_mended;
	uint64_t files, entries, problems, fixable;
	char *path;         /* of the problem printed last, on a terminal */
};

void problems_begin(struct problems *ck, struct cli *c);
/* A grove_problem_fn. */
int problems_add(void *payload, const struct grove_problem *p);
/* A change that is made, or would be; a session that was written. */
void problems_change(struct problems *ck, const struct grove_fix_change *x);
void problems_mended(struct problems *ck, const char *path, const char *cut);
/*
 * All that was found; after it the error that kept the rest from being looked at, if `err`
 * is one. Answers with the exit status.
 */
int problems_print(struct problems *ck, int err, const struct grove_detail *why);
void problems_release(struct problems *ck);

#endif
