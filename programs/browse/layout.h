/*
 * layout.h: where the panes of a session are.
 */
#ifndef BROWSE_LAYOUT_H
#define BROWSE_LAYOUT_H

enum browse_pane {
	PANE_TREE,
	PANE_TALK
};

enum {
	LAYOUT_BESIDE = 100,       /* columns from which the panes are side by side */
	LAYOUT_ABOVE = 60,         /* … and from which they are one above the other, if there are
	                              … */
	LAYOUT_ABOVE_LINES = 16    /* … this many lines for them */
};

/* A hidden pane has no height. */
struct layout {
	struct pane {
		unsigned y, x, height, width;
	} pane[2];                 /* by enum browse_pane */
	int beside;                /* side by side, with a line between them */
};

/* Makes the layout for a screen of this size; `one_pane` shows only the pane with the focus. */
void layout_make(struct layout *l, unsigned width, unsigned height, enum browse_pane focus, int one_pane);

#endif
