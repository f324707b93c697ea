/*
 * pager.h: sends long output through a pager, if a person is reading.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include "out.h"

#include <sys/types.h>

struct pager {
	pid_t pid;                /* 0 if there is none */
	int terminal;             /* where output went before */
	const char *command;
};

/*
 * Sends `o` through a pager from here on, if it goes to a capable terminal: `command`, or
 * PAGER if that is NULL, or less. An empty command, or "cat", means no pager. `o` keeps the
 * terminal's width and colour.
 */
void pager_begin(struct pager *p, struct out *o, const char *command);
/*
 * Waits until the reader quits. Returns 0, or 1 if the pager could not be started and
 * nothing was shown. That the reader did not want to see everything is not a failure of
 * `o`.
 */
int pager_end(struct pager *p, struct out *o);

#endif
