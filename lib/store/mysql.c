/*
 * store/mysql.c: sessions on a MySQL or MariaDB server.
 *
 * The common part of the database stores is in sql_*.c. Specific to MySQL are the URL
 * (mysql_url.c), connections and retries (mysql_conn.c), statements (mysql_stmt.c), and
 * lines (mysql_lines.c), with what a cluster needs.
 *
 * Opening a store does not connect. Tables are created only on request (`grove store
 * init`), because a server may be shared. Until then the store is empty and accepts
 * nothing.
 */
#include "store/mysql.h"

#include <stdlib.h>

static void close_store(struct grove_store *st)
{
	struct mysql_store *s = grove__mysql_store(st);

	grove__mysql_disconnect(s);
	grove__sql_store_release(&s->base);
	grove__mysql_place_release(&s->place);
	free(s);
}

/* How durable a commit is depends on the server: there is nothing to settle. */
static const struct sql_driver driver = {
	.name = "mysql",
	.absent = "the database has no tables yet (run 'grove store init')",
	.remote = true,
	.window = 8 << 20,
	.work = grove__mysql_work,
	.transaction = grove__mysql_transaction,
	.run = grove__mysql_run,
	.ask = grove__mysql_ask,
	.next = grove__mysql_next,
	.done = grove__mysql_done,
	.take = grove__mysql_take,
	.duplicate = grove__mysql_duplicate,
	.fits = grove__mysql_fits,
	.read = grove__mysql_read,
	.piece = grove__mysql_piece,
	.append = grove__mysql_append,
	.insert = grove__mysql_insert,
	.insert_rows = GROVE__MYSQL_ROWS,
	.insert_bytes = GROVE__MYSQL_BYTES,
	.fence = grove__mysql_fence,
	.announce = grove__mysql_announce,
	.init = grove__mysql_init,
	.upgrade = grove__mysql_upgrade,
	.close = close_store,
};

int grove__mysql_open(struct grove_store **out, const char *rest,
		      const struct grove__mysql_options *opt, struct grove_detail *d)
{
	struct mysql_store *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return grove__fail_nomem(d);
	rc = grove__mysql_parse(&s->place, rest, d);
	if (rc) {
		grove__mysql_place_release(&s->place);
		free(s);
		return rc;
	}
	s->opt = *opt;
	s->epoch = 1;
	grove__sql_store_init(&s->base, &driver, opt->schema, s->place.url, s->place.url);
	*out = &s->base.base;
	return 0;
}

int grove__store_mysql_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	static const struct grove__mysql_options usual = { .schema = &grove__sql_schema_mysql };

	return grove__mysql_open(out, rest, &usual, d);
}
