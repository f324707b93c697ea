/*
 * wrap.h: wraps text from others.
 *
 * A wrap fills lines with words. Each line begins with a prefix (an indent, a bar, a
 * bullet). A word that does not fit moves to the next line; a word longer than a line is
 * split; and scripts without spaces (Chinese, Japanese) are broken between characters, but
 * not before a full stop or after an opening bracket.
 *
 *	wrap_init(&w, o, 80);
 *	wrap_prefix(&w, &bullet, &indent);
 *	wrap_text(&w, text, WRAP_BOLD);
 *	wrap_text(&w, more, 0);
 *	wrap_end(&w);
 *
 * The text is made safe for a terminal, as by out_text().
 */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include "out.h"

/* The style of a text: any of these, and a colour (enum out_style) shifted by WRAP_COLOR. */
enum wrap_style {
	WRAP_BOLD = 1,
	WRAP_DIM = 2,
	WRAP_ITALIC = 4,
	WRAP_UNDERLINE = 8,
	WRAP_STRIKE = 16,
	WRAP_COLOR = 8
};

/* The beginning of a line: our own text, including escapes. */
struct wrap_prefix {
	char bytes[256];
	size_t len;
	unsigned width;
};

/* Adds styled text to a prefix, if there is room; unstyled if `o->color` is not set. */
void wrap_prefix_add(struct wrap_prefix *p, const struct out *o, const char *words, unsigned style);

struct wrap {
	struct out *o;
	unsigned width;             /* of a line, prefix included */
	int fill;                   /* pad lines with spaces */
	size_t lines;               /* finished lines */
	struct wrap_prefix first, rest;
	int begun, open;            /* `first` was used; a line was begun */
	unsigned column, start;     /* after the text written so far, and after the prefix */
	unsigned shown;             /* the current style on the line */
	unsigned gap, gap_style;    /* spaces before the next word */
	struct out word;            /* the next word, with its first and last style */
	unsigned word_width, word_begin, word_end;
	int32_t last;               /* its last character */
};

void wrap_init(struct wrap *w, struct out *o, unsigned width);
void wrap_release(struct wrap *w);
/* Sets the prefixes of the next line and of those after it; NULL for none. */
void wrap_prefix(struct wrap *w, const struct wrap_prefix *first, const struct wrap_prefix *rest);
/* Adds text. A line end in it ends the line. */
void wrap_text(struct wrap *w, struct grove_slice text, unsigned style);
/* The same, broken wherever the line is full, because spaces matter. */
void wrap_code(struct wrap *w, struct grove_slice text, unsigned style);
/* Ends the line, even an empty one. */
void wrap_line(struct wrap *w);
/* Ends the line if there is one. */
void wrap_end(struct wrap *w);

/*
 * Adds text with its own line ends and indents: continuation lines keep the indent, also
 * that of a list item. Trailing empty lines are left out.
 */
void wrap_lines(struct wrap *w, struct grove_slice text, const struct wrap_prefix *prefix, unsigned style);

#endif
