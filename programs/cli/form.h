/*
 * form.h: parses the forms of a command, as its manual page spells them.
 *
 *	grove fork SESSION [--leaf ENTRY] [--cwd DIR] [--sync] [--json]
 *
 * A word in capitals is a placeholder, one in lower case stands for itself; a|b is either.
 */
#ifndef CLI_FORM_H
#define CLI_FORM_H

#include <stddef.h>

enum {
	FORM_WORDS = 64   /* further words are ignored */
};

struct form_word {
	const char *ptr;
	size_t len;
};

struct form {
	struct form_word operand[FORM_WORDS];  /* the words after the command's name */
	size_t nr_operands;
	int more;                              /* the last one may be repeated */
	struct form_word option[FORM_WORDS];   /* "--leaf" */
	struct form_word value[FORM_WORDS];    /* "ENTRY"; len 0 if the option takes no value */
	size_t nr_options;
};

/* Parses the form that begins at `text`; returns where the next one begins, or NULL. */
const char *form_read(struct form *f, const char *text);

/* Takes the first of a|b|c from `w`. Returns 0 when there are no more. */
int form_choice(struct form_word *w, struct form_word *one);
/* Returns true for a placeholder. */
int form_is_name(struct form_word w);
int form_is(struct form_word w, const char *text);

#endif
