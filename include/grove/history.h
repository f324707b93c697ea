/*
 * grove/history.h: the prompts that a person typed.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_HISTORY_H
#define GROVE_HISTORY_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The prompts that a person typed, as xcsh and oh-my-pi keep them: a database,
 * history.db, of which either layout can be read and added to. It may be open
 * in several programs at once. Without SQLite in this build every call answers
 * GROVE_ENOTSUP.
 *
 * A handle may be used by many threads at once; only its error is one for all.
 */
struct grove_history;

/*
 * `path` NULL: the agent's own file (that of the dialect which grove_open() was
 * told, else xcsh's or oh-my-pi's, whichever is there). A file that is not
 * there is an empty history, and is made with the first prompt. GROVE_EDAMAGED,
 * GROVE_ENOTSUP (a layout that is not known, say of a later release),
 * GROVE_ECONFLICT (locked): the file is left as it is.
 */
GROVE_API int grove_history_open(struct grove *g, const char *path, struct grove_history **out);
/* Writes what is still queued, if it can; flush first to know. */
GROVE_API void grove_history_close(struct grove_history *h);
GROVE_API void grove_history_error(struct grove_history *h, struct grove_detail *out);
GROVE_API const char *grove_history_path(const struct grove_history *h);

/*
 * Add a prompt, trimmed; an empty one, and one equal to the prompt added last,
 * is dropped (where the layout has each prompt once, its time is renewed).
 * `cwd` and `session_id` (which xcsh has no place for) may be NULL. Never waits
 * for the disk or for others: prompts are queued and written together, at the
 * latest after 100 ms. GROVE_ETOOBIG; GROVE_EFULL if too many are queued.
 */
GROVE_API int grove_history_add(struct grove_history *h, struct grove_slice prompt,
				const char *cwd, const char *session_id);
/*
 * Wait until everything added so far is written. When that fails it stays
 * queued: GROVE_ECONFLICT if another program holds the database for longer than
 * five seconds, GROVE_EACCESS, GROVE_EFULL, and what opening may answer.
 */
GROVE_API int grove_history_flush(struct grove_history *h);

struct grove_history_entry {
	int64_t id;
	struct grove_slice prompt;
	const char *cwd;             /* NULL: not known */
	const char *session_id;      /* NULL: not known */
	int64_t created;             /* ms, of whole seconds; GROVE_NO_TIME */
};
/* What it is given lives until it returns. A non-zero answer ends the list and is handed back. */
typedef int grove_history_fn(void *payload, const struct grove_history_entry *e);

/* The newest prompts that were written, newest first; never more than 1,000. */
GROVE_API int grove_history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
				   void *payload);

enum grove_history_search_flags {
	/* Also find parts of words, in all prompts, however long that takes. */
	GROVE_HISTORY_PARTS = 1
};
/*
 * The newest prompts that have all words of `query`, newest first. A word may
 * be the beginning of a longer one. If these are fewer than `limit`, prompts
 * among the newest 10,000 in which the words occur anywhere are added: in
 * oh-my-pi's layout, as it does itself; in xcsh's for scripts without spaces.
 */
GROVE_API int grove_history_search(struct grove_history *h, const char *query, size_t limit,
				   unsigned flags, grove_history_fn *fn, void *payload);

/*
 * Add what a history may lack: the index by time, the index of words, the
 * triggers that keep it right when a prompt is changed or removed; and index
 * all words again. The tables stay as they are, and their agent can go on.
 */
GROVE_API int grove_history_upgrade(struct grove_history *h);

#ifdef __cplusplus
}
#endif
#endif
