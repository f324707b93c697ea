/*
 * prompt.h: a line of input at the bottom of the screen.
 */
#ifndef BROWSE_PROMPT_H
#define BROWSE_PROMPT_H

#include <stddef.h>

struct out;

enum prompt_kind {
	PROMPT_NONE,
	PROMPT_FILTER,           /* sessions with these words */
	PROMPT_SEARCH,           /* … in this session */
	PROMPT_LABEL,
	PROMPT_NAME,
	PROMPT_DELETE            /* a question: y, or anything else */
};

struct prompt {
	enum prompt_kind kind;
	char title[256];         /* our own text, and a name that is safe to print */
	char text[1024];         /* UTF-8 */
	size_t len, at;          /* bytes, and where the cursor is */
};

enum prompt_answer {
	PROMPT_TYPED,            /* the key was for the line */
	PROMPT_ENTERED,
	PROMPT_LEFT,             /* by Escape, or by erasing beyond the beginning */
	PROMPT_OTHER             /* the key was not for the line */
};

void prompt_begin(struct prompt *p, enum prompt_kind kind, const char *title, const char *text);
enum prompt_answer prompt_key(struct prompt *p, int key);
/* Prints it within `width` columns, the end of the text if it is long; returns the column of the cursor. */
unsigned prompt_print(const struct prompt *p, struct out *o, unsigned width);

#endif
