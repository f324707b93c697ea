/*
 * screen.h: the terminal.
 *
 * The only part of the program that uses ncurses. Lines come as the models print them:
 * UTF-8 that is safe for a terminal, with the escapes of out_style() and wrap.h, which are
 * turned into attributes here.
 */
#ifndef BROWSE_SCREEN_H
#define BROWSE_SCREEN_H

#include "needle.h"

/* Keys: a character, or one of these. */
enum screen_key {
	KEY_NOTHING = 0,         /* none was pressed */
	KEY_ESCAPE = 27,
	KEY_SPECIAL = 0x200000,
	KEY_GO_UP,
	KEY_GO_DOWN,
	KEY_GO_LEFT,
	KEY_GO_RIGHT,
	KEY_GO_PAGE_UP,
	KEY_GO_PAGE_DOWN,
	KEY_GO_HOME,
	KEY_GO_END,
	KEY_ENTERED,
	KEY_ERASE,
	KEY_DELETE_CHAR,
	KEY_TAB,
	KEY_BACK_TAB,
	KEY_CLICK,               /* see screen_click() */
	KEY_DOUBLE_CLICK,
	KEY_WHEEL_UP,
	KEY_WHEEL_DOWN,
	KEY_RESIZED,
	KEY_UNKNOWN              /* one without a meaning here */
};
#define CTRL_KEY(c) ((c) & 0x1f)

enum screen_look {
	SCREEN_SELECTED = 1,     /* highlight the whole line */
	SCREEN_BAR = 2,          /* a title, or the line at the bottom */
	SCREEN_DIM = 4,
	SCREEN_BAD = 8,          /* something went wrong */
	SCREEN_WORDS = 16        /* highlight each word of the needle */
};

/* Returns 0, or -1 if the terminal cannot be used. */
int screen_start(int color);
void screen_stop(void);
/* Gives the terminal to another program, and takes it back. */
void screen_leave(void);
void screen_return(void);
unsigned screen_width(void);
unsigned screen_height(void);

void screen_clear(void);
/* Draws a line, padded to `width` columns. What matches `mark` is highlighted; NULL for nothing. */
void screen_line(unsigned y, unsigned x, unsigned width, struct grove_slice line, unsigned look,
		 const struct needle *mark);
/* Draws a vertical bar between two panes. */
void screen_divide(unsigned x, unsigned y, unsigned height);
/* Sets the cursor; it is hidden unless this was called since screen_clear(). */
void screen_cursor(unsigned y, unsigned x);
void screen_update(void);
/* Draws everything again, because something else wrote to the terminal. */
void screen_redraw(void);

/* Returns the next key, or KEY_NOTHING. */
int screen_key(void);
/* Where the last click was. */
void screen_click(unsigned *y, unsigned *x);

#endif
