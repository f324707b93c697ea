/*
 * transfer/stores.h: whole stores: copied, verified, counted.
 */
#ifndef GROVE_TRANSFER_STORES_H
#define GROVE_TRANSFER_STORES_H

#include "transfer/copy.h"

/* A store that was opened by its URL, and the sessions in it, by key. */
struct grove__opened_store {
	struct grove__root root;         /* its store is ours */
	struct grove__logs found;
};

/* GROVE_EINVAL for a store that would be gone before anybody could read the copy. */
int grove__stores_lasts(const char *url, struct grove_detail *d);
/* `list`: with its sessions. GROVE_ENOTFOUND for files if there is no such directory. */
int grove__stores_open(struct grove__opened_store *s, struct grove *g, const char *url, bool list,
		     struct grove_detail *d);
void grove__stores_close(struct grove__opened_store *s);
/*
 * Makes the name of a log for messages: its path, or PROJECT/SESSION/SUBPATH. `out` is
 * replaced.
 */
int grove__stores_name(struct grove__opened_store *s, const struct grove_key *key, struct grove_buf *out);
/* Returns GROVE_ECANCELLED if the caller asked to stop. */
int grove__stores_go_on(struct grove *g, uint64_t done, uint64_t total, struct grove_detail *d);

int grove__stores_copy(struct grove *g, const char *from, const char *to, grove_archive_fn *told,
		       void *payload, struct grove_archive_result *result, struct grove_detail *d);
int grove__store_verify(struct grove *g, const char *url, grove_problem_fn *fn, void *payload,
			struct grove_check_result *result, struct grove_detail *d);
/* *out is NULL after a failure. */
int grove__store_stats(struct grove *g, const char *url, struct grove_store_stats **out,
		       struct grove_detail *d);
void grove__store_stats_free(struct grove_store_stats *s);
int grove__store_stats_json(const struct grove_store_stats *s, struct grove_buf *out);

#endif
