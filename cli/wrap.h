/*
 * wrap.h: text of others in lines that fit.
 *
 * A wrap fills lines with words. Each line begins with a prefix of ours (an indent, a
 * bar, a bullet), and what does not fit moves to the next one: a word as a whole, a word
 * longer than a line in parts, and where a script has no spaces (Chinese, Japanese)
 * between its characters, but not before a full stop or after an opening bracket.
 *
 *	wrap_init(&w, o, 80);
 *	wrap_prefix(&w, &bullet, &indent);
 *	wrap_text(&w, text, WRAP_BOLD);
 *	wrap_text(&w, more, 0);
 *	wrap_end(&w);
 *
 * Text is safe for a terminal, as that of out_text().
 */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include "out.h"

/* How a text looks: any of these, and a colour (an enum out_style) shifted by WRAP_COLOR. */
enum wrap_style {
	WRAP_BOLD = 1,
	WRAP_DIM = 2,
	WRAP_ITALIC = 4,
	WRAP_UNDERLINE = 8,
	WRAP_STRIKE = 16,
	WRAP_COLOR = 8
};

/* What stands at the beginning of a line: our own words, escapes included. */
struct wrap_prefix {
	char bytes[256];
	size_t len;
	unsigned width;
};

/* Adds to a prefix, in a style; nothing if there is no room left, or no `o->color` for the style. */
void wrap_prefix_add(struct wrap_prefix *p, const struct out *o, const char *words, unsigned style);

struct wrap {
	struct out *o;
	unsigned width;             /* of a line, prefix included */
	int fill;                   /* fill lines up with spaces */
	size_t lines;               /* that were ended */
	struct wrap_prefix first, rest;
	int begun, open;            /* `first` was used; a line was begun */
	unsigned column, start;     /* after what was written, and after the prefix */
	unsigned shown;             /* the style in effect on the line */
	unsigned gap, gap_style;    /* spaces before the next word */
	struct out word;            /* the next word, and how it begins and ends */
	unsigned word_width, word_begin, word_end;
	int32_t last;               /* the character that it ends in */
};

void wrap_init(struct wrap *w, struct out *o, unsigned width);
void wrap_release(struct wrap *w);
/* The prefixes of the next line and of those after it. NULL: none. */
void wrap_prefix(struct wrap *w, const struct wrap_prefix *first, const struct wrap_prefix *rest);
/* Adds text. A line end in it ends the line. */
void wrap_text(struct wrap *w, struct grove_slice text, unsigned style);
/* The same, broken wherever the line is full: spaces are as important as all else. */
void wrap_code(struct wrap *w, struct grove_slice text, unsigned style);
/* Ends the line, also an empty one. */
void wrap_line(struct wrap *w);
/* Ends the line if there is one. */
void wrap_end(struct wrap *w);

/*
 * A text with line ends and indents of its own: what moves to the next line keeps the
 * indent, and that of a list's item, too. Empty lines at its end are left out.
 */
void wrap_lines(struct wrap *w, struct grove_slice text, const struct wrap_prefix *prefix, unsigned style);

#endif
