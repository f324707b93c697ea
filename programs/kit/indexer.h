/*
 * indexer.h: a thread that keeps the search index up to date, and counts what lists did not.
 *
 * A search uses the index as it is and scans what it lacks, so nobody waits until it is
 * built. A search that had to scan wakes this thread, so that the next one need not.
 */
#ifndef PROGRAMS_INDEXER_H
#define PROGRAMS_INDEXER_H

#include <grove.h>

struct indexer;

struct indexer_options {
	/* Opens the stores; the thread closes them. Returns 0 or an enum grove_error. */
	int (*open)(void *payload, struct grove **out);
	/* Called if the index could not be updated. May be NULL. */
	void (*failed)(void *payload, const struct grove_detail *why);
	void *payload;
};

/* Returns NULL if out of memory, or if no thread can be started. */
struct indexer *indexer_new(const struct indexer_options *o);
/* Ends its work, wherever it is. */
void indexer_free(struct indexer *ix);
void indexer_wake(struct indexer *ix);
/* A list was bounded (GROVE_LIST_BOUNDED): makes a complete one, so that the next has all counts. */
void indexer_count(struct indexer *ix);
/* True while it works, and until it has finished once. */
int indexer_builds(struct indexer *ix);

#endif
