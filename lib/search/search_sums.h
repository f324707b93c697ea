/*
 * search/search_sums.h: a database whose pages have checksums.
 */
#ifndef GROVE_SEARCH_SEARCH_SUMS_H
#define GROVE_SEARCH_SEARCH_SUMS_H

#include <sqlite3.h>

/* Its pages have this size. */
#define GROVE__SEARCH_PAGE 4096

/* The name of the VFS to open it with; NULL: there is none, and nothing is checked. */
const char *grove__search_sums(void);
/* Before anything else is done with it. */
int grove__search_sums_begin(sqlite3 *db);

#endif
