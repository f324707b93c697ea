/*
 * help.h: the manual pages as `grove COMMAND --help` prints them.
 *
 * The table is made from docs/cli/ when grove is built. The page of the
 * program itself is named "grove"; a page whose name is NULL ends the table.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

struct grove_help {
	const char *name;     /* "ls" */
	const char *summary;  /* one line without a full stop */
	const char *text;     /* the page, with its line ends */
	const char *forms;    /* its synopsis, a line for each form */
};

extern const struct grove_help grove_help[];
/* What `grove help TOPIC` tells of several commands. */
extern const struct grove_help grove_topics[];

#endif
