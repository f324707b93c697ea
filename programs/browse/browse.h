/*
 * browse.h: grove-browse, the program behind `grove browse`.
 *
 *	sessions, outline, reader     models: what is shown; no terminal
 *	screen                        the terminal: lines and keys
 *	draw, keys                    models on the screen, and what keys do to them
 *	act                           what changes sessions
 *	work, follow                  slow work in the background
 *	warnings                      what that, or anything else, could not read
 *
 * One thread does all of this except the work. It sleeps until there is a key, a change of
 * a session, or finished work.
 */
#ifndef BROWSE_BROWSE_H
#define BROWSE_BROWSE_H

#include "layout.h"
#include "outline.h"
#include "prompt.h"
#include "reader.h"
#include "screen.h"
#include "sessions.h"
#include "work.h"

enum browse_place {
	IN_LIST,
	IN_SESSION,
	IN_PICKER,               /* labels or branches of the session */
	IN_HELP
};

/* A list of entries to jump to. */
struct picker {
	const char *title, *none;
	uint32_t *entry;
	size_t nr;
	struct cursor cursor;
};

/* A search within the session, which may take several turns. */
struct hunt {
	int active;
	struct needle needle;
	int by;                  /* 1: forwards; -1: backwards */
	enum browse_pane in;
	size_t at, left;         /* the next row to search; the number of rows left */
	int wrapped;             /* it went beyond the end and continued at the beginning, or vice versa */
	size_t found;            /* the last row found, and … */
	uint32_t entry;          /* … the selection at that time: a search continues from there */
};

struct browse {
	struct cli *c;
	enum browse_place place, back;   /* `back`: where help was requested */
	char here[4096];         /* the working directory */
	struct sessions list;
	struct warnings warnings;
	struct work work;
	int has_work;
	int list_err;            /* why the list could not be read in the background, or 0 */
	struct grove_detail unsearched;  /* why messages were not searched; code 0: they were */
	int64_t list_due;        /* in ticks (see ticks.h): when to read the list again; 0 if not necessary */

	struct grove_session *s; /* the one shown; NULL if none */
	struct grove_view *v;
	char *key;
	struct away away;        /* its store */
	struct outline tree;
	struct reader talk;
	enum browse_pane focus;
	int one_pane;
	struct hunt hunt;
	struct picker picker;
	size_t help_top, help_most;      /* the first line shown, and its maximum */

	struct prompt prompt;
	char *asked_key, *asked_id;      /* the session and the entry that it is about, or NULL */
	int waiting;             /* a key that came during a search */
	char message[600];
	int bad;                 /* the message is an error */
	int quit;
};

/* draw.c */
void draw(struct browse *b);
/* The layout for the current size of the screen. */
void draw_layout(const struct browse *b, struct layout *l);

/* keys.c */
void keys_take(struct browse *b, int key);
/* Shows in the conversation what is selected in the tree. */
void keys_follow_tree(struct browse *b);
size_t keys_height(const struct browse *b, enum browse_pane pane);

/* hunt.c */
void hunt_begin(struct browse *b, const char *text, int by);
void hunt_again(struct browse *b, int by);
/* Continues in a newer view, from what is selected. */
void hunt_restart(struct browse *b);
/* Searches a little further. */
void hunt_step(struct browse *b);

/* act.c */
void act_say(struct browse *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void act_complain(struct browse *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Opens a session by its name. Returns 0, or the library's error after reporting it. */
int act_open(struct browse *b, const char *key);
void act_close(struct browse *b);
/* Reads the list, now. */
int act_list(struct browse *b, unsigned flags);
/* Reports why a handle could not read it. */
void act_list_failed(struct browse *b, struct grove *g, int err);
/* Says why messages could not be searched, if so; a prompt hides what is said while one types. */
void act_unsearched(struct browse *b);
/* Reads the list if that was skipped because a session was requested. */
void act_need_list(struct browse *b);
/* Shows what was written. */
void act_refresh(struct browse *b);
/* Reads again what could not be read because the store did not answer. */
void act_reread(struct browse *b);
/* Shows the session with another filter. */
void act_filter(struct browse *b, enum shape_filter filter);
void act_reader(struct browse *b, uint32_t to, unsigned flags);
void act_label(struct browse *b, const char *key, const char *id, const char *text);
void act_name(struct browse *b, const char *key, const char *name);
void act_leaf(struct browse *b);
void act_fork(struct browse *b);
void act_delete(struct browse *b, const char *key);
void act_resume(struct browse *b);
/* The key of the session that an action applies to, the open or the selected one, or NULL. The caller frees it. */
char *act_key(const struct browse *b);
/* The id of the selected entry; NULL, after a message, if there is none. */
const char *act_entry(struct browse *b);
/* Shows what happened to the open session: enum follow_news. */
void act_news(struct browse *b, unsigned news);

/* Returns true after a signal that ends the program. */
int browse_ended(void);
/* The time of day in ms, for ages. */
int64_t browse_now(void);

#endif
