/*
 * cells.h: how a terminal displays text.
 *
 * Text is divided into cells, the units that a terminal displays: a letter with its marks,
 * an emoji made of several characters, or the visible form of a character that must not
 * reach the terminal. A cell has a width in columns, so text cut between cells is cut where
 * a reader would expect it.
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

/* What precedes a character: some invisible ones are meaningful there. */
struct cells_before {
	int32_t last;
	int32_t base;              /* the last one other than a variation selector or a skin tone */
};

/* Returns the length of the character at p, or 0 if it is not UTF-8. */
size_t cells_decode(const char *p, const char *end, int32_t *c);
/* Encodes a character as UTF-8 and returns its length. */
size_t cells_encode(uint32_t c, char out[4]);
/* Returns true if the character must be made visible here. `next` is the text after it. */
int cells_shows(const struct cells_before *b, int32_t c, const char *next, const char *end);
/* Notes that a character was passed. */
void cells_passed(struct cells_before *b, int32_t c);
/*
 * Writes the visible form of a character that must not be printed, or of a byte that is not
 * UTF-8; returns its length.
 */
size_t cells_visible(char out[CELLS_VISIBLE], int32_t c, enum cells_form form);
size_t cells_visible_byte(char out[CELLS_VISIBLE], unsigned char byte, enum cells_form form);
static inline int cells_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct cells {
	const char *p, *end;
	unsigned column;           /* after the last cell */
	int collapse;              /* collapse white space to single spaces, none at the ends */
	struct cells_before before;
};

struct cell {
	const char *ptr;           /* safe to print; valid until the next cell */
	size_t len;
	unsigned width;
	int32_t first;             /* its first character; 0 for a visible form, a tab or
	                              collapsed spaces */
	char seen[CELLS_VISIBLE];
};

void cells_init(struct cells *it, struct grove_slice text, int collapse);
/* Finds the next cell; returns 0 at the end. */
int cells_next(struct cells *it, struct cell *cell);

#endif
