/*
 * indexer.h: a thread that brings the index of the search up to date.
 *
 * Requests use the index as it is and scan the rest. One that had to scan wakes this
 * thread, so that the next one need not.
 */
#ifndef SERVER_INDEXER_H
#define SERVER_INDEXER_H

#include "server.h"

int indexer_new(struct server *s, struct indexer **out);
/* Ends its work, wherever it is. */
void indexer_free(struct indexer *ix);
void indexer_wake(struct indexer *ix);
/* True while it works, and until it has done so once. */
int indexer_builds(struct indexer *ix);

#endif
