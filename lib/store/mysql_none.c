/*
 * store/mysql_none.c: a build without MySQL.
 */
#include "store/store.h"

static int absent(struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL, "mysql: stores are not built into this grove");
}

int grove__store_mysql_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	(void)rest;
	*out = NULL;
	return absent(d);
}

int grove__store_mysql_init(const char *rest, struct grove_detail *d)
{
	(void)rest;
	return absent(d);
}

int grove__store_mysql_upgrade(const char *rest, unsigned *from, unsigned *to,
			       struct grove_detail *d)
{
	(void)rest;
	*from = *to = 0;
	return absent(d);
}
