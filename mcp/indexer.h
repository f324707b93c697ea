/*
 * indexer.h: brings the index of the search up to date while calls are answered.
 *
 * A call uses the index as it is and scans what it lacks, so that nobody waits until it
 * is built. One that had to scan starts this, so that the next one need not.
 */
#ifndef MCP_INDEXER_H
#define MCP_INDEXER_H

#include "cli/cli.h"

/* NULL: out of memory. `c` has the stores. */
struct indexer *indexer_new(struct cli *c);
/* Ends its work, wherever it is. */
void indexer_free(struct indexer *ix);
/* Starts it, unless it is at work. */
void indexer_start(struct indexer *ix);

#endif
