/*
 * diff.h: a change of a session's lines, for people.
 */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "kit/out.h"

struct diff {
	char path[4096];     /* of the last change printed */
};

/*
 * Prints removed lines as `- ` and added ones as `+ `, with their numbers; long lines are
 * shortened.
 */
void diff_print(struct diff *d, struct out *o, const struct grove_fix_change *c);

#endif
