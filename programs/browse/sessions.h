/*
 * sessions.h: the list of sessions, as it is shown.
 *
 * A model: which sessions there are, which of them match the query, in which order, and
 * which one is selected. It is independent of any terminal; rows are printed into an `out`.
 */
#ifndef BROWSE_SESSIONS_H
#define BROWSE_SESSIONS_H

#include "kit/cli.h"
#include "cursor.h"
#include "needle.h"

enum sessions_order {
	SESSIONS_THREADS,        /* each after the one it was forked from */
	SESSIONS_RECENT,
	SESSIONS_COST,
	SESSIONS_SIZE,
	SESSIONS_NAME
};
extern const char *const sessions_orders[];

/* Sessions whose messages contain the words of the query. */
struct sessions_found {
	char **id;               /* sorted */
	size_t nr;
};

struct sessions {
	struct grove_list *l;    /* all sessions; NULL until read */
	uint32_t *shown;         /* indexes in the list */
	size_t nr;
	struct cursor cursor;    /* over `shown` */
	struct needle query;
	struct sessions_found found;  /* of this query */
	const char *here;        /* only those of this directory; NULL: all */
	enum sessions_order order;
	int costs;               /* the list has costs */
	int64_t now;             /* ms; ages are counted from here */
	unsigned agent;          /* columns of the longest agent's name; 0: all have the same */
};

/* Takes a list over. The selected session stays selected, if it is there. */
void sessions_take(struct sessions *m, struct grove_list *l, int costs);
/* Shows only what has these words, in its name, first message, directory, agent or id. */
void sessions_filter(struct sessions *m, const char *query);
/* Those that have them in their messages, too. Takes the ids over; `query` must still be what is looked for. */
void sessions_add_found(struct sessions *m, const char *query, struct sessions_found *found);
void sessions_found_release(struct sessions_found *f);
void sessions_sort(struct sessions *m, enum sessions_order order);
void sessions_here(struct sessions *m, const char *cwd);
/* The selected one; NULL: none. */
const struct grove_list_item *sessions_selected(const struct sessions *m);
/*
 * Returns what names a session for the library, and no other one, even if several stores
 * have its id. The caller frees it.
 */
char *sessions_key(const struct grove_list_item *s);
/* Selects the session that has this key; nothing happens if it is not shown. */
void sessions_select(struct sessions *m, const char *key);
void sessions_release(struct sessions *m);

/* The heads of the columns, and a row, in exactly `width` columns at most. */
void sessions_print_heads(const struct sessions *m, struct out *o, unsigned width);
void sessions_print_row(const struct sessions *m, struct out *o, size_t row, unsigned width);

/* "5m", "3h", "2d", "6w", "4y": how long ago. */
void sessions_age(char *out, size_t size, int64_t then, int64_t now);
/* "99999", then "100k"; "-" if it is not known. */
void sessions_count(char *out, size_t size, uint64_t nr);

#endif
