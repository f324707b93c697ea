/*
 * history/history.h: the prompts that were typed, in an agent's own history.db.
 *
 *	add ──→ queue ──→ writer thread ──→ one transaction per batch
 *	recent, search ←── a connection of their own that only reads
 *
 * docs/internals/history.md explains why, and what it costs.
 */
#ifndef GROVE_HISTORY_HISTORY_H
#define GROVE_HISTORY_HISTORY_H

#include "dialect/dialect.h"
#include "grove/history.h"

/*
 * Makes a handle for the history at `path` (absolute), or for the agent's own (NULL).
 * `asked` is the dialect whose agent was asked for; NULL: any. Returns NULL when out of
 * memory; otherwise a handle, even if *rc says that it cannot be used.
 */
struct grove_history *grove__history_open(const struct grove__env *env, const struct grove__dialect *asked,
					  const char *path, int *rc, struct grove_detail *d);
/* Waits for a last attempt to write what is queued. */
void grove__history_close(struct grove_history *h);

const char *grove__history_path(const struct grove_history *h);
int grove__history_add(struct grove_history *h, struct grove_slice prompt, const char *cwd,
		       const char *session_id, struct grove_detail *d);
int grove__history_flush(struct grove_history *h, struct grove_detail *d);
int grove__history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
			  void *payload, struct grove_detail *d);
int grove__history_search(struct grove_history *h, const char *query, size_t limit, unsigned flags,
			  grove_history_fn *fn, void *payload, struct grove_detail *d);
int grove__history_upgrade(struct grove_history *h, struct grove_detail *d);

/* Sets the detail of the last error. */
void grove__history_keep(struct grove_history *h, int rc, const struct grove_detail *d);
void grove__history_error(struct grove_history *h, struct grove_detail *out);

/*
 * For tests: how long to wait for a locked database (5,000 ms), how long a prompt may
 * stay in the queue (100 ms), and how many prompts a search examines one by one. To be
 * set before the first call that uses them.
 */
struct grove__history_tuning {
	int busy_ms;
	int delay_ms;
	size_t scan_words;  /* newest prompts examined before the index is used */
	size_t scan_parts;  /* newest prompts examined for parts of words */
	size_t index_hits;  /* results of the index looked up before its order is trusted */
};
struct grove__history_tuning *grove__history_tuning(struct grove_history *h);

#endif
