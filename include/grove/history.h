/*
 * grove/history.h: the prompts that a person typed.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_HISTORY_H
#define GROVE_HISTORY_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The prompts that a person typed, in the database of xcsh or oh-my-pi, history.db.
 * Either layout can be read and added to. Several programs may have the file open
 * at once. In a build without SQLite every call returns GROVE_ENOTSUP.
 *
 * Many threads may use a handle at once, but they share its last error.
 */
struct grove_history;

/*
 * Opens a history. If `path` is NULL, it is the agent's own file: that of the
 * dialect given to grove_open(), else xcsh's or oh-my-pi's, whichever exists. A
 * missing file is an empty history, and is created with the first prompt. On
 * GROVE_EDAMAGED, GROVE_ENOTSUP (an unknown layout, perhaps of a later release)
 * and GROVE_ECONFLICT (locked), the file is left as it is.
 */
GROVE_API int grove_history_open(struct grove *g, const char *path, struct grove_history **out);
/*
 * Writes what is still queued, if possible. To learn whether it succeeded, call
 * grove_history_flush() first.
 */
GROVE_API void grove_history_close(struct grove_history *h);
GROVE_API void grove_history_error(struct grove_history *h, struct grove_detail *out);
GROVE_API const char *grove_history_path(const struct grove_history *h);

/*
 * Adds a prompt, trimmed. An empty prompt is dropped, and so is one equal to the
 * newest (in a layout that has each prompt once, its time is renewed). `cwd` and
 * `session_id` may be NULL; xcsh's layout has no place for the latter. This never
 * waits for the disk or for other programs: prompts are queued and written
 * together, within 100 ms. Returns GROVE_ETOOBIG, or GROVE_EFULL if too many are
 * queued.
 */
GROVE_API int grove_history_add(struct grove_history *h, struct grove_slice prompt,
				const char *cwd, const char *session_id);
/*
 * Waits until everything added so far is written. If that fails, it stays queued,
 * and this returns GROVE_ECONFLICT (another program has kept the database locked for
 * five seconds), GROVE_EACCESS, GROVE_EFULL, or an error of grove_history_open().
 */
GROVE_API int grove_history_flush(struct grove_history *h);

struct grove_history_entry {
	int64_t id;
	struct grove_slice prompt;
	const char *cwd;             /* NULL: unknown */
	const char *session_id;      /* NULL: unknown */
	int64_t created;             /* ms, in whole seconds; or GROVE_NO_TIME */
};
/* `e` is valid until the function returns. A non-zero result ends the list and is returned. */
typedef int grove_history_fn(void *payload, const struct grove_history_entry *e);

/* Reports the newest prompts in the file, newest first; at most 1,000. */
GROVE_API int grove_history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
				   void *payload);

enum grove_history_search_flags {
	/* Match parts of words too, in all prompts, however long that takes. */
	GROVE_HISTORY_PARTS = 1
};
/*
 * Reports the newest prompts that have all words of `query`, newest first. A word
 * also matches as a prefix. If there are fewer than `limit`, prompts among the
 * newest 10,000 in which the words occur anywhere are added: in oh-my-pi's layout,
 * as oh-my-pi does itself; in xcsh's, for scripts without spaces.
 */
GROVE_API int grove_history_search(struct grove_history *h, const char *query, size_t limit,
				   unsigned flags, grove_history_fn *fn, void *payload);

/*
 * Adds what a history may lack: the time index, the word index, and the triggers
 * that update it when a prompt is changed or removed. Then builds the word index
 * again. The tables do not change, so the agent can continue to use them.
 */
GROVE_API int grove_history_upgrade(struct grove_history *h);

#ifdef __cplusplus
}
#endif
#endif
