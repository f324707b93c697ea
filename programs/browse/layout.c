/*
 * layout.c: where the panes of a session are.
 */
#include "layout.h"

#include <string.h>

void layout_make(struct layout *l, unsigned width, unsigned height, enum browse_pane focus, int one_pane)
{
	unsigned lines = height > 2 ? height - 2 : 0;   /* a title, and the line at the bottom */
	struct pane *tree = &l->pane[PANE_TREE], *talk = &l->pane[PANE_TALK];

	memset(l, 0, sizeof(*l));
	if (one_pane || width < LAYOUT_ABOVE || (width < LAYOUT_BESIDE && lines < LAYOUT_ABOVE_LINES)) {
		l->pane[focus] = (struct pane){ 1, 0, lines, width };
	} else if (width >= LAYOUT_BESIDE) {
		l->beside = 1;
		*tree = (struct pane){ 1, 0, lines, width * 2 / 5 };
		*talk = (struct pane){ 1, tree->width + 1, lines, width - tree->width - 1 };
	} else {
		*tree = (struct pane){ 1, 0, lines / 3, width };
		*talk = (struct pane){ 1 + tree->height + 1, 0, lines - tree->height - 1, width };
	}
}
