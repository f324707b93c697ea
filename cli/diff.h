/*
 * diff.h: a change of a session's lines, for people.
 */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "out.h"

struct diff {
	char path[4096];     /* that the last change was of */
};

/* What goes as `- `, what comes as `+ `, each with its number; long lines without their middle. */
void diff_print(struct diff *d, struct out *o, const struct grove_fix_change *c);

#endif
