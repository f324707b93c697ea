/*
 * pager.h: long output goes through a pager, if a person reads it.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include "out.h"

#include <sys/types.h>

struct pager {
	pid_t pid;                /* 0: there is none */
	int terminal;             /* where output went before */
	const char *command;
};

/*
 * Sends `o` through a pager from here on, if it goes to a terminal that one can work
 * with: `command` (NULL: PAGER, or else less). An empty one, or "cat", is none. What `o`
 * knows of the terminal (its width, colour) stays as it is.
 */
void pager_begin(struct pager *p, struct out *o, const char *command);
/*
 * Waits until the reader has seen enough. Returns 0; 1 if the pager could not be started,
 * and nothing was shown. It is no failure of `o` that they did not want to see it all.
 */
int pager_end(struct pager *p, struct out *o);

#endif
