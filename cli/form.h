/*
 * form.h: the forms of a command, as its page spells them, taken apart.
 *
 *	grove fork SESSION [--leaf ENTRY] [--cwd DIR] [--sync] [--json]
 *
 * A word in capitals stands for something, and a small one for itself; a|b is either.
 */
#ifndef CLI_FORM_H
#define CLI_FORM_H

#include <stddef.h>

enum {
	FORM_WORDS = 64   /* more of them are not looked at */
};

struct form_word {
	const char *ptr;
	size_t len;
};

struct form {
	struct form_word operand[FORM_WORDS];  /* those after the command's name */
	size_t nr_operands;
	int more;                              /* the last one may come again and again */
	struct form_word option[FORM_WORDS];   /* "--leaf" */
	struct form_word value[FORM_WORDS];    /* "ENTRY"; len 0: it takes none */
	size_t nr_options;
};

/* Takes apart the form that begins at `text`; returns where the next one begins, or NULL. */
const char *form_read(struct form *f, const char *text);

/* One of a|b|c: the first at `w->ptr`. Returns 0 when there are no more. */
int form_choice(struct form_word *w, struct form_word *one);
/* True if it stands for something else. */
int form_is_name(struct form_word w);
int form_is(struct form_word w, const char *text);

#endif
