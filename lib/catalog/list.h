/* catalog/list.h: lists all sessions. */
#ifndef GROVE_CATALOG_LIST_H
#define GROVE_CATALOG_LIST_H

#include "digest/read.h"

/* Where an item of a list is. */
struct grove__list_place {
	struct grove_store *store;
	const struct grove__dialect *dialect;
	const char *project, *session, *sub;
};

struct grove_list {
	struct grove *g;             /* whose stores these are */
	struct grove_list_item *info;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove__arena known;   /* texts from the catalog */
	struct grove__list_source *sources;   /* what it was made from */
	size_t nr_sources, cap_sources;
	bool noted, fragile;         /* that is asked for; it cannot be told whether it has changed */
};

int grove__list(struct grove *g, const struct grove_list_options *opt, struct grove_list *out,
		struct grove_detail *d);
/* Returns what was read, as a list shows it; valid as long as `x` is. */
struct grove_list_item grove__list_describe(const struct grove__digest_one *x);
/* Negative if `a` comes before `b` in a list, most recently modified first. */
int grove__list_newer(const struct grove_list_item *a, const struct grove_list_item *b);
/*
 * recent.c: finds the session that a list of `cwd` (NULL: grove's) shows first; for an
 * agent that records the last session of each terminal, the recorded one. Usable as a
 * grove__last_fn for the current directory. GROVE_ENOTFOUND.
 */
int grove__recent_listed(struct grove *g, struct grove__where *out, struct grove_detail *d);
/*
 * Finds the session of `cwd` that its agent would continue: of the same sessions, the
 * one whose file was written last. With `dir`, of those directly in that directory.
 */
int grove__recent_written(struct grove *g, const char *cwd, const char *dir,
			  struct grove__where *out, struct grove_detail *d);
/* Finds the session that `what` names, as for grove_find(). */
int grove__list_of_one(struct grove *g, const char *what, unsigned flags, struct grove_list *out,
		       struct grove_detail *d);
/*
 * expiring.c: leaves only what its agent will delete within so many ms (negative:
 * ever), soonest first.
 */
int grove__list_expiring(struct grove *g, int64_t within, struct grove_list *l,
			 struct grove_detail *d);
/*
 * list_tree.c: puts each session below the one it was forked from; `depth` is its
 * level. `by_time`: sorts by the latest time of anything below. GROVE_ENOMEM.
 */
int grove__list_thread(struct grove_list *l, bool by_time);
/* list_made.c: notes what a list is made from: directories before they are read … */
void grove__list_made_of(struct grove *g, struct grove_list *l);
/* … and a file, in the state that it had before that; with `asked`, files next to it instead. */
void grove__list_made_with(struct grove_list *l, const char *path, const char *asked,
			   const struct grove__log_state *was);
/* False, too, if nothing was noted or something changes without a trace. */
bool grove__list_holds(const struct grove_list *l);
/* list_text.c: what was said in a session. */
int grove__list_said(struct grove *g, const struct grove__list_place *at, struct grove_buf *out,
		     struct grove_detail *d);
/* Appends a host's value of a session; see grove_list_value(). */
int grove__list_value(const struct grove__list_place *at, const char *name, struct grove_buf *out,
		      struct grove_detail *d);
void grove__list_release(struct grove_list *l);

#endif
