/*
 * store/sqlite_none.c: a build without SQLite.
 */
#include "store/store.h"

int grove__store_sqlite_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	(void)rest;
	*out = NULL;
	return grove__fail(d, GROVE_ENOTSUP, NULL,
			   "this build of grove has no support for sqlite: stores (it was built without SQLite)");
}
