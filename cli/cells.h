/*
 * cells.h: what a terminal shows of a text.
 *
 * Text is walked in cells: what a terminal shows as one, a letter with its marks, an
 * emoji joined of several, or the visible form of a character that it must not get. A
 * cell has a width in columns, so cutting between cells cuts where a reader would.
 */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <grove.h>

enum {
	CELLS_ZWNJ = 0x200c,
	CELLS_ZWJ = 0x200d,
	CELLS_VISIBLE = 16         /* room for a visible form */
};

enum cells_form {
	CELLS_TEXT,                /* ^[, <U+202E> */
	CELLS_JSON                 /* \u escapes */
};

/* What stands before a character: some invisible ones mean something there. */
struct cells_before {
	int32_t last;
	int32_t base;              /* the last that is not a variation selector or a skin tone */
};

/* The bytes of the character at p, 0 if there is none in UTF-8. */
size_t cells_decode(const char *p, const char *end, int32_t *c);
/* Writes a character as UTF-8 and returns how many bytes that takes. */
size_t cells_encode(uint32_t c, char out[4]);
/* Must the character be made visible here? `next` is the text after it. */
int cells_shows(const struct cells_before *b, int32_t c, const char *next, const char *end);
/* It was passed: what comes next stands after it. */
void cells_passed(struct cells_before *b, int32_t c);
/* The visible form of a character that must not be printed, of a byte that is no UTF-8; their length. */
size_t cells_visible(char out[CELLS_VISIBLE], int32_t c, enum cells_form form);
size_t cells_visible_byte(char out[CELLS_VISIBLE], unsigned char byte, enum cells_form form);
static inline int cells_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct cells {
	const char *p, *end;
	unsigned column;           /* after the last cell */
	int collapse;              /* white space becomes one space, none at the ends */
	struct cells_before before;
};

struct cell {
	const char *ptr;           /* safe to print; valid until the next cell */
	size_t len;
	unsigned width;
	int32_t first;             /* its first character; 0: made visible, or a tab or collapsed spaces */
	char seen[CELLS_VISIBLE];
};

void cells_init(struct cells *it, struct grove_slice text, int collapse);
/* The next cell; 0 at the end. */
int cells_next(struct cells *it, struct cell *cell);

#endif
