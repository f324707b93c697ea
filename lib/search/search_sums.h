/*
 * search/search_sums.h: a database whose pages have checksums.
 */
#ifndef GROVE_SEARCH_SEARCH_SUMS_H
#define GROVE_SEARCH_SEARCH_SUMS_H

#include <sqlite3.h>

/* The size of its pages. */
#define GROVE__SEARCH_PAGE 4096

/* Returns the name of the VFS to open it with; NULL: there is none, and nothing is verified. */
const char *grove__search_sums(void);
/* Called before anything else is done with the database. */
int grove__search_sums_begin(sqlite3 *db);

#endif
