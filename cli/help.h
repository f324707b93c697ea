/*
 * help.h: the manual pages as `grove COMMAND --help` prints them.
 *
 * The table is made from docs/cli/ when grove is built. The page of the
 * program itself is named "grove"; a page whose name is NULL ends the table.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "out.h"

struct grove_help {
	const char *name;     /* "ls" */
	const char *summary;  /* one line without a full stop */
	const char *text;     /* the page, with its line ends */
	const char *forms;    /* its synopsis, a line for each form; NULL for a topic */
};

extern const struct grove_help grove_help[];
/* What `grove help TOPIC` tells of several commands. */
extern const struct grove_help grove_topics[];

/* The page of a command or a topic, NULL if there is none. */
const struct grove_help *help_find(const char *name);
/* Prints the page of a command or a topic; without one, that of the program. */
int help_print(struct out *o, const char *name);
/* Prints grove's version and the parts it was built with. */
int version_print(struct out *o);

#endif
