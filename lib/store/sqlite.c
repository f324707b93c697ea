/*
 * store/sqlite.c: sessions in one SQLite database: `sqlite:PATH`.
 *
 * The tables are in sql.c, the file is handled by sqlite_db.c, lines are in
 * sqlite_lines.c; here are the logs as wholes: by name, with what is kept
 * beside their lines.
 *
 * A database that is not there is an empty store, as a directory that is not
 * there is one of files: looking makes nothing, and the first session that is
 * created makes the file, for its owner alone. `grove store init` makes it
 * ahead of that. What is there and is no store of ours, or one of another
 * version, is refused and stays as it is.
 */
#include "store/sqlite.h"

#include "base/arena.h"
#include "base/array.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <stdlib.h>

static const struct grove_store_ops sqlite_ops;

static int no_log(struct sqlite_store *s, int rc, struct grove_detail *d, const struct grove_key *k)
{
	if (rc == SQLITE_ABSENT)
		return grove__fail(d, GROVE_ENOTFOUND, s->path,
				   "no session %.200s: there is no such database yet (`grove store init` makes one)",
				   k->session);
	return grove__fail(d, GROVE_ENOTFOUND, s->path, "no session %.200s", k->session);
}

static int removed(struct sqlite_store *s, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, s->path, "the session was removed");
}

/* Answers of find() and of those who look for rows: 1 is "none". */
#define NONE 1

static int find(struct sqlite_conn *c, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
		struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_FIND, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_str(st, 1, key->project);
	grove__sqlite_bind_str(st, 2, key->session);
	grove__sqlite_bind_str(st, 3, key->subpath);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc;
	if (sqlite3_column_bytes(st, 0) == GROVE__SQL_ID)
		memcpy(id, sqlite3_column_blob(st, 0), GROVE__SQL_ID);
	else
		rc = grove__fail(d, GROVE_EDAMAGED, c->path, "a session_id that is none");
	sqlite3_reset(st);
	return rc;
}

/* Attachments belong to the session, whichever of its logs the key names. */
static int find_session(struct sqlite_conn *c, const struct grove_key *key,
			uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	struct grove_key session = { key->project, key->session, "" };

	return find(c, &session, id, d);
}

/* One statement with one id. */
static int run_on(struct sqlite_conn *c, enum grove__sql what, const uint8_t id[GROVE__SQL_ID],
		  struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, what, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	return grove__sqlite_run(c, st, d);
}

/* -------------------------------------------------------------- open, close */

static int create(struct sqlite_store *s, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
		  struct grove_detail *d)
{
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	int64_t now = grove__sys_now_ms();
	int rc = grove__sql_check_key(key, d);

	if (!rc)
		rc = grove__sqlite_write(s, true, &c, d);
	if (rc)
		return rc;
	rc = find(c, key, id, d);
	if (!rc) {
		rc = grove__fail(d, GROVE_EEXIST, s->path, "there is a session %.200s already",
				 key->session);
	} else if (rc == NONE) {
		rc = grove__sqlite_prepare(c, SQL_CREATE, &st, d);
		if (!rc) {
			grove__sql_new_id(id);
			grove__sqlite_bind_id(st, 1, id);
			grove__sqlite_bind_str(st, 2, key->project);
			grove__sqlite_bind_str(st, 3, key->session);
			grove__sqlite_bind_str(st, 4, key->subpath);
			sqlite3_bind_int64(st, 5, now);
			sqlite3_bind_int64(st, 6, now);
			rc = grove__sqlite_run(c, st, d);
		}
	}
	return grove__sqlite_write_done(s, c, rc, d);
}

static int look_up(struct sqlite_store *s, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
		   struct grove_detail *d)
{
	struct sqlite_conn *c;
	int rc = grove__sqlite_reader(s, &c, d);

	if (rc)
		return rc < 0 ? rc : no_log(s, SQLITE_ABSENT, d, key);
	rc = find(c, key, id, d);
	grove__sqlite_reader_done(s, c);
	return rc == NONE ? no_log(s, 0, d, key) : rc;
}

static int sqlite_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		       struct grove_log **out, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(st);
	struct sqlite_log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log)
		return grove__fail_nomem(d);
	rc = flags & GROVE_LOG_CREATE ? create(s, key, log->id, d) : look_up(s, key, log->id, d);
	if (!rc && pthread_mutex_init(&log->window_lock, NULL))
		rc = grove__fail_nomem(d);
	if (rc) {
		free(log);
		return rc;
	}
	log->base.ops = &sqlite_ops;
	log->base.store = st;
	log->writable = flags & (GROVE_LOG_WRITE | GROVE_LOG_CREATE);
	*out = &log->base;
	return 0;
}

static void sqlite_close_log(struct grove_log *l)
{
	struct sqlite_log *log = grove__sqlite_log(l);

	pthread_mutex_destroy(&log->window_lock);
	free(log->window);
	free(log);
}

static int sqlite_sync(struct grove_log *l, struct grove_detail *d)
{
	return grove__sqlite_sync(grove__sqlite_store(l->store), d);
}

/* ------------------------------------------------------------------ listing */

struct keys {
	struct grove__arena names;
	struct grove_key *list;
	size_t nr, cap;
};

static const char *text(struct keys *k, sqlite3_stmt *st, int column)
{
	const char *s = (const char *)sqlite3_column_text(st, column);

	return s ? grove__arena_dup(&k->names, grove__slice_str(s)) : NULL;
}

static int gather(struct sqlite_conn *c, sqlite3_stmt *st, struct keys *k, struct grove_detail *d)
{
	int rc;

	while (!(rc = grove__sqlite_row(c, st, d))) {
		struct grove_key key = { text(k, st, 0), text(k, st, 1), text(k, st, 2) };

		if (!key.project || !key.session || !key.subpath ||
		    grove__array_room(&k->list, &k->cap, k->nr, sizeof(*k->list))) {
			sqlite3_reset(st);
			return grove__fail_nomem(d);
		}
		k->list[k->nr++] = key;
	}
	return rc == NONE ? 0 : rc;
}

static int list(struct grove_store *base, const char *project, bool subs, grove_key_fn *fn,
		void *payload, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(base);
	struct keys k = { .list = NULL };
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	int rc = grove__sqlite_reader(s, &c, d);

	if (rc)
		return rc < 0 ? rc : 0;
	/* `fn` may call us again, to rename or remove what it is told of: copy first */
	grove__arena_init(&k.names);
	rc = grove__sqlite_prepare(c, project ? (subs ? SQL_LIST_SUBS_OF : SQL_LIST_OF)
					      : (subs ? SQL_LIST_SUBS : SQL_LIST), &st, d);
	if (!rc && project)
		grove__sqlite_bind_str(st, 1, project);
	if (!rc)
		rc = gather(c, st, &k, d);
	grove__sqlite_reader_done(s, c);
	for (size_t i = 0; i < k.nr && !rc; i++)
		rc = fn(payload, &k.list[i]);
	grove__arena_release(&k.names);
	free(k.list);
	return rc;
}

static int sqlite_list(struct grove_store *st, const char *project, grove_key_fn *fn, void *payload,
		       struct grove_detail *d)
{
	return list(st, project, false, fn, payload, d);
}

static int sqlite_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
			    void *payload, struct grove_detail *d)
{
	return list(st, project, true, fn, payload, d);
}

/* ----------------------------------------------------------- remove, rename */

/* A log that belongs to a session. */
struct sub {
	uint8_t id[GROVE__SQL_ID];
	char *subpath;
};

struct subs {
	struct sub *list;
	size_t nr, cap;
};

static void free_subs(struct subs *b)
{
	for (size_t i = 0; i < b->nr; i++)
		free(b->list[i].subpath);
	free(b->list);
}

/* Those of the session `key`; a log that belongs to one has none itself. */
static int find_subs(struct sqlite_conn *c, const struct grove_key *key, struct subs *b,
		     struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc;

	memset(b, 0, sizeof(*b));
	if (*key->subpath)
		return 0;
	rc = grove__sqlite_prepare(c, SQL_SUBS, &st, d);
	if (rc)
		return rc;
	grove__sqlite_bind_str(st, 1, key->project);
	grove__sqlite_bind_str(st, 2, key->session);
	while (!(rc = grove__sqlite_row(c, st, d))) {
		const char *path = (const char *)sqlite3_column_text(st, 1);

		if (sqlite3_column_bytes(st, 0) != GROVE__SQL_ID)
			rc = grove__fail(d, GROVE_EDAMAGED, c->path, "a session_id that is none");
		else if (!path || grove__array_room(&b->list, &b->cap, b->nr, sizeof(*b->list)) ||
			 !(b->list[b->nr].subpath = strdup(path)))
			rc = grove__fail_nomem(d);
		if (rc) {
			sqlite3_reset(st);
			return rc;
		}
		memcpy(b->list[b->nr++].id, sqlite3_column_blob(st, 0), GROVE__SQL_ID);
	}
	return rc == NONE ? 0 : rc;
}

static int drop(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	static const enum grove__sql all[] = { SQL_DROP_ENTRIES, SQL_DROP_ATTACHMENTS, SQL_DROP_VALUES,
					       SQL_DROP_CHANGES, SQL_DROP_SESSION };
	int rc = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !rc; i++)
		rc = run_on(c, all[i], id, d);
	return rc;
}

static int sqlite_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(st);
	struct subs subs = { .list = NULL };
	uint8_t id[GROVE__SQL_ID];
	struct sqlite_conn *c;
	int rc = grove__sqlite_write(s, false, &c, d);

	if (rc)
		return rc < 0 ? rc : no_log(s, rc, d, key);
	rc = find(c, key, id, d);
	if (rc == NONE)
		rc = no_log(s, 0, d, key);
	if (!rc)
		rc = find_subs(c, key, &subs, d);
	if (!rc)
		rc = drop(c, id, d);
	for (size_t i = 0; i < subs.nr && !rc; i++)
		rc = drop(c, subs.list[i].id, d);
	free_subs(&subs);
	rc = grove__sqlite_write_done(s, c, rc, d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

/* Is anything under this name, be it only what would belong to it? */
static int taken(struct sqlite_conn *c, const struct grove_key *key, bool *yes,
		 struct grove_detail *d)
{
	struct subs subs = { .list = NULL };
	uint8_t id[GROVE__SQL_ID];
	int rc = find(c, key, id, d);

	*yes = !rc;
	if (rc != NONE)
		return rc;
	rc = find_subs(c, key, &subs, d);
	*yes = subs.nr > 0;
	free_subs(&subs);
	return rc;
}

static int has_attachments(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], bool *yes,
			   struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_ATTACH_LIST, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	rc = grove__sqlite_row(c, st, d);
	*yes = !rc;
	sqlite3_reset(st);
	return rc == NONE ? 0 : rc;
}

static int give_key(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID],
		    const struct grove_key *key, struct grove_detail *d)
{
	struct sqlite_end e;
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_RENAME, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_str(st, 1, key->project);
	grove__sqlite_bind_str(st, 2, key->session);
	grove__sqlite_bind_str(st, 3, key->subpath);
	grove__sqlite_bind_id(st, 4, id);
	rc = grove__sqlite_run(c, st, d);
	if (!rc)
		rc = grove__sqlite_end(c, id, &e, d);
	if (rc)
		return rc == NONE ? grove__fail(d, GROVE_ENOTFOUND, c->path, "no such session") : rc;
	return grove__sqlite_note(c, id, &e, e.tail, GROVE_CHANGE_VALUE, grove__slice("", 0), false, d);
}

static int rename_within(struct sqlite_store *s, struct sqlite_conn *c, const struct grove_key *from,
			 const struct grove_key *to, struct grove_detail *d)
{
	struct subs subs = { .list = NULL };
	struct grove_key key = *to;
	uint8_t id[GROVE__SQL_ID];
	bool is_taken = false, attached = false;
	int rc = find(c, from, id, d);

	if (rc)
		return rc == NONE ? no_log(s, 0, d, from) : rc;
	rc = taken(c, to, &is_taken, d);
	if (!rc && is_taken)
		rc = grove__fail(d, GROVE_EEXIST, s->path, "there is a session %.200s already",
				 to->session);
	if (!rc)
		rc = has_attachments(c, id, &attached, d);
	if (!rc)
		rc = find_subs(c, from, &subs, d);
	if (!rc && *to->subpath && (subs.nr || attached))
		rc = grove__fail(d, GROVE_EINVAL, s->path, "%.200s has attachments of its own",
				 from->session);
	if (!rc)
		rc = give_key(c, id, to, d);
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		key.subpath = subs.list[i].subpath;
		rc = give_key(c, subs.list[i].id, &key, d);
	}
	free_subs(&subs);
	return rc;
}

static int sqlite_rename(struct grove_store *st, const struct grove_key *from,
			 const struct grove_key *to, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(st);
	struct sqlite_conn *c;
	int rc = grove__sql_check_key(to, d);

	if (!rc)
		rc = grove__sqlite_write(s, false, &c, d);
	if (rc)
		return rc < 0 ? rc : no_log(s, rc, d, from);
	rc = grove__sqlite_write_done(s, c, rename_within(s, c, from, to, d), d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

/* ------------------------------------------------------------------- values */

/* The first column of the one row that a statement finds, added to `out`. NONE: NULL, or no row. */
static int take_bytes(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_buf *out,
		      struct grove_detail *d)
{
	int rc = grove__sqlite_row(c, st, d);
	const void *bytes;

	if (rc)
		return rc;
	bytes = sqlite3_column_blob(st, 0);
	if (sqlite3_column_type(st, 0) == SQLITE_NULL)
		rc = NONE;
	else if (grove__buf_add(out, bytes, (size_t)sqlite3_column_bytes(st, 0)))
		rc = grove__fail_nomem(d);
	sqlite3_reset(st);
	return rc;
}

static int get_value(struct sqlite_conn *c, struct sqlite_log *log, const char *name,
		     struct grove_buf *out, struct grove_detail *d)
{
	enum grove__sql get, put;
	sqlite3_stmt *st;
	bool own, unfinished;
	int rc;

	if (!strcmp(name, GROVE__META_UNFINISHED)) {
		rc = grove__sqlite_unfinished(c, log, &unfinished, d);
		if (rc || !unfinished)
			return rc ? rc : NONE;
		return grove__buf_add_char(out, '1') ? grove__fail_nomem(d) : 0;
	}
	own = grove__sql_value_column(name, &get, &put);
	rc = grove__sqlite_prepare(c, own ? get : SQL_VALUE_GET, &st, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	if (!own)
		grove__sqlite_bind_str(st, 2, name);
	return take_bytes(c, st, out, d);
}

static int sqlite_meta_get(struct grove_log *l, const char *name, struct grove_buf *out,
			   struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_conn *c;
	int rc = grove__sqlite_reader(s, &c, d);

	if (!rc) {
		rc = get_value(c, grove__sqlite_log(l), name, out, d);
		grove__sqlite_reader_done(s, c);
	}
	return rc > 0 ? grove__fail(d, GROVE_ENOTFOUND, s->path, "nothing named %.200s", name) : rc;
}

static int put_value(struct sqlite_conn *c, const struct sqlite_log *log, const char *name,
		     struct grove_slice value, struct grove_detail *d)
{
	enum grove__sql get, put;
	sqlite3_stmt *st;
	bool own = grove__sql_value_column(name, &get, &put);
	int rc = grove__sqlite_prepare(c, own ? put : SQL_VALUE_PUT, &st, d);

	if (!rc)
		rc = grove__sqlite_bind(c, st, own ? 1 : 3, value, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, own ? 2 : 1, log->id);
	if (!own)
		grove__sqlite_bind_str(st, 2, name);
	return grove__sqlite_run(c, st, d);
}

/* What is found out about a log rather than done to it: no change, and nobody's leave is needed. */
static int put_finding(struct sqlite_store *s, struct sqlite_log *log, const char *name,
		       struct grove_slice value, struct grove_detail *d)
{
	struct sqlite_conn *c;
	int rc = grove__sqlite_write(s, false, &c, d);

	if (rc)
		return rc < 0 ? rc : removed(s, d);
	rc = !strcmp(name, GROVE__META_UNFINISHED)
		     ? grove__sqlite_set_unfinished(c, log, value.len > 0, d)
		     : put_value(c, log, name, value, d);
	/* the last statement was an update of the session's row: no row, no session */
	if (!rc && !sqlite3_changes(c->db))
		rc = removed(s, d);
	return grove__sqlite_write_done(s, c, rc, d);
}

static enum grove_change_kind change_of(const char *name)
{
	if (!strcmp(name, "leaf"))
		return GROVE_CHANGE_LEAF;
	return !strcmp(name, "name") ? GROVE_CHANGE_NAME : GROVE_CHANGE_VALUE;
}

static int sqlite_meta_put(struct grove_log *l, const char *name, struct grove_slice value,
			   struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc;

	if (!log->writable)
		return grove__fail(d, GROVE_EACCESS, s->path, "opened for reading only");
	if (strlen(name) > GROVE__SQL_VALUE_NAME)
		return grove__fail(d, GROVE_EINVAL, s->path, "the name of a value may have %d bytes",
				   GROVE__SQL_VALUE_NAME);
	if (!grove__store_value_kind(name))
		return put_finding(s, log, name, value, d);
	rc = grove__sqlite_begin(s, log, &c, &e, d);
	if (rc)
		return rc;
	rc = put_value(c, log, name, value, d);
	if (!rc)
		rc = grove__sqlite_note(c, log->id, &e, e.tail, change_of(name), grove__slice("", 0),
					false, d);
	return grove__sqlite_end_done(s, c, log, &e, rc, d);
}

/* -------------------------------------------------------------- attachments */

static int put_attachment(struct sqlite_store *s, struct sqlite_conn *c, const struct grove_key *key,
			  const char *name, struct grove_slice bytes, struct grove_detail *d)
{
	uint8_t id[GROVE__SQL_ID];
	sqlite3_stmt *st;
	int rc = find_session(c, key, id, d);

	if (rc)
		return rc == NONE ? no_log(s, 0, d, key) : rc;
	rc = grove__sqlite_prepare(c, SQL_ATTACH_PUT, &st, d);
	if (!rc)
		rc = grove__sqlite_bind(c, st, 3, bytes, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	grove__sqlite_bind_str(st, 2, name);
	return grove__sqlite_run(c, st, d);
}

static int sqlite_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_slice bytes, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(st);
	struct sqlite_conn *c;
	int rc;

	if (strlen(name) > GROVE__SQL_NAME)
		return grove__fail(d, GROVE_EINVAL, s->path,
				   "the name of an attachment may have %d bytes", GROVE__SQL_NAME);
	rc = grove__sqlite_write(s, false, &c, d);
	if (rc)
		return rc < 0 ? rc : no_log(s, rc, d, key);
	rc = grove__sqlite_write_done(s, c, put_attachment(s, c, key, name, bytes, d), d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

static int sqlite_attach_get(struct grove_store *base, const struct grove_key *key, const char *name,
			     struct grove_buf *out, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(base);
	uint8_t id[GROVE__SQL_ID];
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	int rc = grove__sqlite_reader(s, &c, d);

	if (rc)
		return rc < 0 ? rc : no_log(s, rc, d, key);
	rc = find_session(c, key, id, d);
	if (rc == NONE)
		rc = no_log(s, 0, d, key);
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_ATTACH_GET, &st, d);
	if (!rc) {
		grove__sqlite_bind_id(st, 1, id);
		grove__sqlite_bind_str(st, 2, name);
		rc = take_bytes(c, st, out, d);
	}
	grove__sqlite_reader_done(s, c);
	return rc == NONE ? grove__fail(d, GROVE_ENOTFOUND, s->path, "nothing named %.200s", name) : rc;
}

struct attached {
	const char *name;
	uint64_t size;
};

static int sqlite_attach_list(struct grove_store *base, const struct grove_key *key,
			      grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(base);
	struct attached *found = NULL;
	struct grove__arena names;
	uint8_t id[GROVE__SQL_ID];
	size_t nr = 0, cap = 0;
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	int rc = grove__sqlite_reader(s, &c, d);

	if (rc)
		return rc < 0 ? rc : no_log(s, rc, d, key);
	/* `fn` may call us again: copy first */
	grove__arena_init(&names);
	rc = find_session(c, key, id, d);
	if (rc == NONE)
		rc = no_log(s, 0, d, key);
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_ATTACH_LIST, &st, d);
	if (!rc)
		grove__sqlite_bind_id(st, 1, id);
	while (!rc && !(rc = grove__sqlite_row(c, st, d))) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		char *copy = name ? grove__arena_dup(&names, grove__slice_str(name)) : NULL;

		if (!copy || grove__array_room(&found, &cap, nr, sizeof(*found))) {
			sqlite3_reset(st);
			rc = grove__fail_nomem(d);
			break;
		}
		found[nr++] = (struct attached){ copy, (uint64_t)sqlite3_column_int64(st, 1) };
	}
	grove__sqlite_reader_done(s, c);
	rc = rc == NONE ? 0 : rc;
	for (size_t i = 0; i < nr && !rc; i++)
		rc = fn(payload, found[i].name, found[i].size);
	grove__arena_release(&names);
	free(found);
	return rc;
}

/* ---------------------------------------------------------------- the store */

static void sqlite_close(struct grove_store *st)
{
	struct sqlite_store *s = grove__sqlite_store(st);

	grove__sqlite_disconnect(s);
	pthread_mutex_destroy(&s->write_lock);
	pthread_mutex_destroy(&s->pool_lock);
	pthread_mutex_destroy(&s->sync_lock);
	pthread_cond_destroy(&s->synced_cond);
	free(s->path);
	free(s->url);
	free(s);
}

static const struct grove_store_ops sqlite_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "sqlite",
	.open = sqlite_open,
	.close_log = sqlite_close_log,
	.stat = grove__sqlite_stat,
	.read = grove__sqlite_read,
	.fetch = grove__sqlite_fetch,
	.append = grove__sqlite_append,
	.append_on = grove__sqlite_append_on,
	.sync = sqlite_sync,
	.replace = grove__sqlite_replace,
	.rewrite = grove__sqlite_rewrite,
	.list = sqlite_list,
	.list_subs = sqlite_list_subs,
	.cut = grove__sqlite_cut,
	.update = grove__sqlite_update,
	.changes = grove__sqlite_changes,
	.lease = grove__sqlite_lease,
	.ancestors = grove__sqlite_ancestors,
	.remove = sqlite_remove,
	.rename = sqlite_rename,
	.meta_get = sqlite_meta_get,
	.meta_put = sqlite_meta_put,
	.attach_put = sqlite_attach_put,
	.attach_get = sqlite_attach_get,
	.attach_list = sqlite_attach_list,
	.close = sqlite_close,
};

int grove__sqlite_open(struct grove_store **out, const char *path,
		       const struct grove__sqlite_options *opt, struct grove_detail *d)
{
	struct sqlite_store *s;
	struct grove_buf url = GROVE_BUF_INIT;

	*out = NULL;
	if (!*path)
		return grove__fail(d, GROVE_EINVAL, NULL, "sqlite: needs a path");
	s = calloc(1, sizeof(*s));
	if (!s)
		return grove__fail_nomem(d);
	s->path = strdup(path);
	if (!s->path || grove__buf_addf(&url, "sqlite:%s", path)) {
		free(s->path);
		free(s);
		return grove__fail_nomem(d);
	}
	s->opt = *opt;
	s->url = url.ptr;
	s->wal_fd = -1;
	pthread_mutex_init(&s->write_lock, NULL);
	pthread_mutex_init(&s->pool_lock, NULL);
	pthread_mutex_init(&s->sync_lock, NULL);
	pthread_cond_init(&s->synced_cond, NULL);
	s->base.ops = &sqlite_ops;
	s->base.url = s->url;
	*out = &s->base;
	return 0;
}

static const struct grove__sqlite_options usual = { .schema = &grove__sql_schema_sqlite };

int grove__store_sqlite_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	return grove__sqlite_open(out, rest, &usual, d);
}

int grove__sqlite_init(struct grove_store *st, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(st);
	struct sqlite_conn *c;
	int rc = grove__sqlite_write(s, true, &c, d);

	if (!rc)
		rc = grove__sqlite_write_done(s, c, 0, d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

int grove__store_sqlite_init(const char *rest, struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_sqlite_open(&st, rest, d);

	if (rc)
		return rc;
	rc = grove__sqlite_init(st, d);
	grove__store_close(st);
	return rc;
}

int grove__store_sqlite_upgrade(const char *rest, unsigned *from, unsigned *to,
				struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_sqlite_open(&st, rest, d);

	if (rc)
		return rc;
	rc = grove__sqlite_upgrade(st, from, to, d);
	grove__store_close(st);
	return rc;
}
