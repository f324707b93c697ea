/*
 * indexer.h: a thread that brings the index of the search up to date.
 *
 * A search uses the index as it is and scans what it lacks, so that nobody waits until it
 * is built. One that had to scan wakes this thread, so that the next one need not.
 */
#ifndef PROGRAMS_INDEXER_H
#define PROGRAMS_INDEXER_H

#include <grove.h>

struct indexer;

struct indexer_options {
	/* Opens the stores; the thread closes them. Returns 0 or an enum grove_error. */
	int (*open)(void *payload, struct grove **out);
	/* The index could not be brought up to date. NULL: nobody is told. */
	void (*failed)(void *payload, const struct grove_detail *why);
	void *payload;
};

/* NULL if there is no memory or no thread. */
struct indexer *indexer_new(const struct indexer_options *o);
/* Ends its work, wherever it is. */
void indexer_free(struct indexer *ix);
void indexer_wake(struct indexer *ix);
/* True while it works, and until it has done so once. */
int indexer_builds(struct indexer *ix);

#endif
