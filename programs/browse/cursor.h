/*
 * cursor.h: a selected row in a list that is longer than the screen.
 */
#ifndef BROWSE_CURSOR_H
#define BROWSE_CURSOR_H

#include <stddef.h>

struct cursor {
	size_t at;        /* the selected row */
	size_t top;       /* the first row on the screen */
};

/* Moves the selection by a number of rows, within the `nr` rows. */
static inline void cursor_move(struct cursor *c, long by, size_t nr)
{
	size_t far = (size_t)(by < 0 ? -by : by);

	if (!nr)
		c->at = 0;
	else if (by < 0)
		c->at -= far < c->at ? far : c->at;
	else
		c->at = far < nr - c->at ? c->at + far : nr - 1;
}

/* Makes the selected row visible on a screen of `height` rows, and fills the screen if possible. */
static inline void cursor_fit(struct cursor *c, size_t nr, size_t height)
{
	if (c->at >= nr)
		c->at = nr ? nr - 1 : 0;
	if (c->at < c->top)
		c->top = c->at;
	if (height && c->at >= c->top + height)
		c->top = c->at - height + 1;
	if (c->top + height > nr)
		c->top = nr > height ? nr - height : 0;
}

#endif
