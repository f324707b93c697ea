/*
 * markdown.h: renders Markdown for a terminal.
 */
#ifndef CLI_MARKDOWN_H
#define CLI_MARKDOWN_H

#include "wrap.h"

struct markdown_look {
	unsigned width;       /* of paragraphs */
	unsigned wide;        /* for code and tables, which may need more */
	unsigned style;       /* of all text (enum wrap_style) */
	struct wrap_prefix prefix;  /* of every line */
};

/*
 * Prints a text. If the terminal has no styles, the Markdown marks remain. Returns 0, or 1
 * if nothing was printed because this build cannot, or because the text is too long.
 */
int markdown_print(struct out *o, struct grove_slice text, const struct markdown_look *look);

#endif
