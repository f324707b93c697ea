/*
 * store/mysql_none.c: a build without MySQL.
 */
#include "store/store.h"

int grove__store_mysql_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	(void)rest;
	*out = NULL;
	return grove__fail(d, GROVE_ENOTSUP, NULL,
			   "this build of grove has no support for mysql: stores (it was built without libmariadb)");
}
