/*
 * complete.h: what may come next on a command line.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "kit/cli.h"

/*
 * Prints what the last of these words (those after "grove") may become: one candidate per
 * line, with a tab and a description. The lines :files and :dirs ask the shell for names.
 */
int complete_print(struct cli *c, int argc, char **argv);

#endif
