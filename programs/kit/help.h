/*
 * help.h: the manual pages as `grove COMMAND --help` prints them.
 *
 * The table is generated from docs/cli/. The page of the program itself is named "grove"; a
 * page whose name is NULL ends the table.
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
/* Topics that concern several commands: `grove help TOPIC`. */
extern const struct grove_help grove_topics[];

/* Returns the page of a command or a topic, or NULL. */
const struct grove_help *help_find(const char *name);
/* Prints the page of a command or a topic, or the program's own; with `json`, as JSON. */
int help_print(struct out *o, const char *name, int json);
/* Prints grove's version and the optional parts in this build. */
int version_print(struct out *o, int json);

#endif
