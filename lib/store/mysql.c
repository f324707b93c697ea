/*
 * store/mysql.c: sessions on a MySQL or MariaDB server.
 *
 * The tables are in sql.c, the server is handled by mysql_conn.c, lines are in
 * mysql_lines.c; here are the logs as wholes: by name, with what is kept
 * beside their lines.
 *
 * Opening connects to nobody. Tables are made when somebody asks for them
 * (`grove store init`), never by the way: a server is not ours alone. Until then
 * the store is empty, and takes nothing.
 *
 * Each change is one transaction that can be tried again: a new session has its
 * id before it is sent, so that one that was made by a try that broke off is
 * known again.
 */
#include "store/mysql.h"

#include "base/arena.h"
#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

static const struct grove_store_ops mysql_ops;

static int no_log(struct mysql_store *s, int rc, struct grove_detail *d, const struct grove_key *k)
{
	if (rc == MYSQL_ABSENT)
		return grove__fail(d, GROVE_ENOTFOUND, s->place.url,
				   "no session %.200s: the database has no tables yet (`grove store init` makes them)",
				   k->session);
	return grove__fail(d, GROVE_ENOTFOUND, s->place.url, "no session %.200s", k->session);
}

static int exists(struct mysql_conn *c, struct grove_detail *d, const struct grove_key *k)
{
	return grove__fail(d, GROVE_EEXIST, c->url, "there is a session %.200s already", k->session);
}

/* MYSQL_NONE: no such session. */
static int find(struct mysql_conn *c, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
		struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_str(key->project), grove__mysql_str(key->session),
					 grove__mysql_str(key->subpath) };
	struct mysql_row row;
	int rc = grove__mysql_first(c, SQL_FIND, arg, 3, &row, d);

	if (rc)
		return rc;
	if (row.len[0] == GROVE__SQL_ID)
		rc = grove__mysql_take(c, &row, 0, (char *)id, GROVE__SQL_ID, d);
	else
		rc = grove__fail(d, GROVE_EDAMAGED, c->url, "a session_id that is none");
	grove__mysql_done(&row);
	return rc;
}

/* Attachments belong to the session, whichever of its logs the key names. */
static int find_session(struct mysql_conn *c, const struct grove_key *key,
			uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	struct grove_key session = { key->project, key->session, "" };

	return find(c, &session, id, d);
}

/* One statement with one id. */
static int run_on(struct mysql_conn *c, unsigned what, const uint8_t id[GROVE__SQL_ID],
		  uint64_t *changed, struct grove_detail *d)
{
	const struct mysql_arg arg = grove__mysql_id(id);

	return grove__mysql_run(c, what, &arg, 1, changed, d);
}

/* -------------------------------------------------------------- open, close */

struct opening {
	struct mysql_work work;
	const struct grove_key *key;
	uint8_t id[GROVE__SQL_ID];
};

static int create(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct opening *o = (struct opening *)w;
	int64_t now = grove__sys_now_ms();
	const struct mysql_arg arg[] = {
		grove__mysql_id(o->id), grove__mysql_str(o->key->project),
		grove__mysql_str(o->key->session), grove__mysql_str(o->key->subpath),
		grove__mysql_number(now), grove__mysql_number(now),
	};
	uint8_t there[GROVE__SQL_ID];
	int rc = grove__mysql_run(c, SQL_CREATE, arg, 6, NULL, d);

	if (!rc || !grove__mysql_duplicate(c, SQL_CREATE))
		return rc;
	rc = find(c, o->key, there, d);
	if (rc < 0)
		return rc;
	return !rc && w->unknown && !memcmp(there, o->id, GROVE__SQL_ID) ? 0 : exists(c, d, o->key);
}

static int look_up(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct opening *o = (struct opening *)w;

	return find(c, o->key, o->id, d);
}

static int mysql_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		      struct grove_log **out, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	bool make = flags & GROVE_LOG_CREATE;
	struct opening o = { .work = { .fn = make ? create : look_up, .plain = true }, .key = key };
	struct mysql_log *log = calloc(1, sizeof(*log));
	int rc = log ? 0 : grove__fail_nomem(d);

	if (!rc && make) {
		rc = grove__sql_check_key(key, d);
		grove__sql_new_id(o.id);
	}
	if (!rc)
		rc = grove__mysql_do(s, &o.work, d);
	if (rc > 0)
		rc = no_log(s, rc, d, key);
	if (rc) {
		free(log);
		return rc;
	}
	memcpy(log->id, o.id, GROVE__SQL_ID);
	pthread_mutex_init(&log->append_lock, NULL);
	pthread_mutex_init(&log->window_lock, NULL);
	log->base.ops = &mysql_ops;
	log->base.store = st;
	log->writable = flags & (GROVE_LOG_WRITE | GROVE_LOG_CREATE);
	*out = &log->base;
	return 0;
}

static void mysql_close_log(struct grove_log *l)
{
	struct mysql_log *log = grove__mysql_log(l);

	pthread_mutex_destroy(&log->append_lock);
	pthread_mutex_destroy(&log->window_lock);
	free(log->window);
	free(log);
}

/* ------------------------------------------------------------------ listing */

/* A column as a string that lives in `names`; NULL: no memory. */
static char *text(struct mysql_conn *c, struct mysql_row *row, unsigned column,
		  struct grove__arena *names, struct grove_detail *d)
{
	size_t len = row->len[column];
	char *s = grove__arena_alloc(names, len + 1, 1);

	if (!s) {
		grove__fail_nomem(d);
		return NULL;
	}
	if (grove__mysql_take(c, row, column, s, len, d))
		return NULL;
	s[len] = '\0';
	return s;
}

struct listing {
	struct mysql_work work;
	const char *project;
	bool subs;
	struct grove__arena names;
	struct grove_key *list;
	size_t nr, cap;
};

static int gather(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct listing *k = (struct listing *)w;
	const struct mysql_arg arg = grove__mysql_str(k->project ? k->project : "");
	struct mysql_row row;
	int rc = grove__mysql_ask(c, k->project ? (k->subs ? SQL_LIST_SUBS_OF : SQL_LIST_OF)
						: (k->subs ? SQL_LIST_SUBS : SQL_LIST),
				  &arg, k->project ? 1 : 0, &row, d);

	if (rc)
		return rc;
	k->nr = 0;
	while (!(rc = grove__mysql_next(c, &row, d))) {
		struct grove_key key = { text(c, &row, 0, &k->names, d), text(c, &row, 1, &k->names, d),
					 text(c, &row, 2, &k->names, d) };

		if (!key.project || !key.session || !key.subpath ||
		    grove__array_room(&k->list, &k->cap, k->nr, sizeof(*k->list))) {
			rc = grove__fail_nomem(d);
			break;
		}
		k->list[k->nr++] = key;
	}
	grove__mysql_done(&row);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int list(struct grove_store *st, const char *project, bool subs, grove_key_fn *fn,
		void *payload, struct grove_detail *d)
{
	struct listing k = { .work = { .fn = gather, .plain = true }, .project = project, .subs = subs };
	int rc;

	/* `fn` may call us again, to rename or remove what it is told of: copy first */
	grove__arena_init(&k.names);
	rc = grove__mysql_do(grove__mysql_store(st), &k.work, d);
	if (rc == MYSQL_ABSENT)
		rc = 0;
	for (size_t i = 0; i < k.nr && !rc; i++)
		rc = fn(payload, &k.list[i]);
	grove__arena_release(&k.names);
	free(k.list);
	return rc;
}

static int mysql_list(struct grove_store *st, const char *project, grove_key_fn *fn, void *payload,
		      struct grove_detail *d)
{
	return list(st, project, false, fn, payload, d);
}

static int mysql_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
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
	struct grove__arena names;
	struct sub *list;
	size_t nr, cap;
};

static void free_subs(struct subs *b)
{
	grove__arena_release(&b->names);
	free(b->list);
}

/* Those of the session `key`; a log that belongs to one has none itself. */
static int find_subs(struct mysql_conn *c, const struct grove_key *key, struct subs *b,
		     struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_str(key->project), grove__mysql_str(key->session) };
	struct mysql_row row;
	int rc;

	memset(b, 0, sizeof(*b));
	grove__arena_init(&b->names);
	if (*key->subpath)
		return 0;
	rc = grove__mysql_ask(c, SQL_SUBS, arg, 2, &row, d);
	if (rc)
		return rc;
	while (!(rc = grove__mysql_next(c, &row, d))) {
		char *path = text(c, &row, 1, &b->names, d);

		if (row.len[0] != GROVE__SQL_ID)
			rc = grove__fail(d, GROVE_EDAMAGED, c->url, "a session_id that is none");
		else if (!path || grove__array_room(&b->list, &b->cap, b->nr, sizeof(*b->list)))
			rc = grove__fail_nomem(d);
		else
			rc = grove__mysql_take(c, &row, 0, (char *)b->list[b->nr].id, GROVE__SQL_ID, d);
		if (rc)
			break;
		b->list[b->nr++].subpath = path;
	}
	grove__mysql_done(&row);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int drop(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	static const enum grove__sql all[] = { SQL_DROP_ENTRIES, SQL_DROP_ATTACHMENTS, SQL_DROP_VALUES,
					       SQL_DROP_CHANGES, SQL_DROP_SESSION };
	struct mysql_end e;
	int rc = grove__mysql_lock(c, id, d);

	if (!rc)
		rc = grove__mysql_end(c, id, &e, d);
	if (rc)
		return rc;
	/* after the lock nobody of this node appends; but our view may be older: then once more */
	rc = grove__mysql_fence(c, id, &e, d);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !rc; i++)
		rc = run_on(c, all[i], id, NULL, d);
	return rc;
}

struct naming {
	struct mysql_work work;
	const struct grove_key *from, *to;
	uint8_t id[GROVE__SQL_ID];   /* of the last try */
	bool tried;
};

static int remove_log(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct naming *n = (struct naming *)w;
	struct subs subs;
	int rc = find(c, n->from, n->id, d);

	if (rc == MYSQL_NONE && w->unknown && n->tried)
		return 0;
	if (rc)
		return rc;
	n->tried = true;
	rc = find_subs(c, n->from, &subs, d);
	if (!rc)
		rc = drop(c, n->id, d);
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		rc = drop(c, subs.list[i].id, d);
		if (rc == MYSQL_NONE)
			rc = 0;
	}
	free_subs(&subs);
	return rc;
}

static int mysql_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct naming n = { .work = { .fn = remove_log }, .from = key };
	int rc = grove__mysql_do(s, &n.work, d);

	return rc > 0 ? no_log(s, rc, d, key) : rc;
}

/* Is anything under this name, be it only what would belong to it? */
static int taken(struct mysql_conn *c, const struct grove_key *key, bool *yes,
		 struct grove_detail *d)
{
	struct subs subs;
	uint8_t id[GROVE__SQL_ID];
	int rc = find(c, key, id, d);

	*yes = !rc;
	if (rc != MYSQL_NONE)
		return rc;
	rc = find_subs(c, key, &subs, d);
	*yes = subs.nr > 0;
	free_subs(&subs);
	return rc;
}

static int has_attachments(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], bool *yes,
			   struct grove_detail *d)
{
	const struct mysql_arg arg = grove__mysql_id(id);
	struct mysql_row row;
	int rc = grove__mysql_first(c, SQL_ATTACH_LIST, &arg, 1, &row, d);

	*yes = !rc;
	if (!rc)
		grove__mysql_done(&row);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int give_key(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
		    const struct grove_key *key, struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_str(key->project), grove__mysql_str(key->session),
					 grove__mysql_str(key->subpath), grove__mysql_id(id) };
	struct mysql_change change = { .kind = GROVE_CHANGE_VALUE };
	struct mysql_end e;
	int rc = grove__mysql_run(c, SQL_RENAME, arg, 4, NULL, d);

	if (rc)
		return grove__mysql_duplicate(c, SQL_RENAME) ? exists(c, d, key) : rc;
	rc = grove__mysql_end(c, id, &e, d);
	if (!rc)
		rc = grove__mysql_fence(c, id, &e, d);
	return rc ? rc : grove__mysql_changed(c, id, &change, &e, &e, d);
}

/* Of a try that broke off: has the session its new name? */
static int renamed(struct mysql_conn *c, struct naming *n, bool *yes, struct grove_detail *d)
{
	uint8_t id[GROVE__SQL_ID];
	int rc = n->work.unknown && n->tried ? find(c, n->to, id, d) : MYSQL_NONE;

	*yes = !rc && !memcmp(id, n->id, GROVE__SQL_ID);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int rename_log(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct naming *n = (struct naming *)w;
	struct grove_key key = *n->to;
	bool is_taken = false, attached = false, done;
	struct subs subs;
	int rc = renamed(c, n, &done, d);

	if (rc || done)
		return rc;
	rc = find(c, n->from, n->id, d);
	if (!rc)
		rc = grove__mysql_lock(c, n->id, d);
	if (!rc)
		rc = taken(c, n->to, &is_taken, d);
	if (!rc && is_taken)
		rc = exists(c, d, n->to);
	if (!rc)
		rc = has_attachments(c, n->id, &attached, d);
	if (rc)
		return rc;
	n->tried = true;
	rc = find_subs(c, n->from, &subs, d);
	if (!rc && *n->to->subpath && (subs.nr || attached))
		rc = grove__fail(d, GROVE_EINVAL, c->url, "%.200s has attachments of its own",
				 n->from->session);
	if (!rc)
		rc = give_key(c, n->id, n->to, d);
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		key.subpath = subs.list[i].subpath;
		rc = give_key(c, subs.list[i].id, &key, d);
	}
	free_subs(&subs);
	return rc;
}

static int mysql_rename(struct grove_store *st, const struct grove_key *from,
			const struct grove_key *to, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct naming n = { .work = { .fn = rename_log }, .from = from, .to = to };
	int rc = grove__sql_check_key(to, d);

	if (!rc)
		rc = grove__mysql_do(s, &n.work, d);
	return rc > 0 ? no_log(s, rc, d, from) : rc;
}

/* ------------------------------------------------------------------- values */

struct value {
	struct mysql_work work;
	struct mysql_log *log;
	const char *name;
	struct grove_slice bytes;   /* put */
	struct grove_buf *out;      /* get */
	const struct grove_key *key;
	struct mysql_change change;
};

/* The first column of the one row that a statement finds, added to `out`. MYSQL_NONE: NULL, or no row. */
static int take_bytes(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		      struct grove_buf *out, struct grove_detail *d)
{
	struct mysql_row row;
	int rc = grove__mysql_first(c, what, arg, nr, &row, d);

	if (rc)
		return rc;
	if (row.null[0])
		rc = MYSQL_NONE;
	else if (grove__buf_reserve(out, row.len[0]))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__mysql_take(c, &row, 0, out->ptr + out->len, row.len[0], d);
	if (!rc) {
		out->len += row.len[0];
		out->ptr[out->len] = '\0';
	}
	grove__mysql_done(&row);
	return rc;
}

static int get_value(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	const struct mysql_arg arg[] = { grove__mysql_id(v->log->id), grove__mysql_str(v->name) };
	enum grove__sql get, put;
	struct mysql_end e;
	int rc;

	if (!strcmp(v->name, GROVE__META_UNFINISHED)) {
		rc = grove__mysql_end(c, v->log->id, &e, d);
		if (rc || !e.unfinished)
			return rc ? rc : MYSQL_NONE;
		return grove__buf_add_char(v->out, '1') ? grove__fail_nomem(d) : 0;
	}
	if (grove__sql_value_column(v->name, &get, &put))
		return take_bytes(c, get, arg, 1, v->out, d);
	return take_bytes(c, SQL_VALUE_GET, arg, 2, v->out, d);
}

static int mysql_meta_get(struct grove_log *l, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct value v = { .work = { .fn = get_value, .plain = true }, .log = grove__mysql_log(l),
			   .name = name, .out = out };
	int rc = grove__mysql_do(s, &v.work, d);

	return rc > 0 ? grove__fail(d, GROVE_ENOTFOUND, s->place.url, "nothing named %.200s", name) : rc;
}

static int put_unfinished(struct mysql_conn *c, struct value *v, struct grove_detail *d)
{
	bool yes = v->bytes.len > 0;
	struct mysql_arg arg[2] = { grove__mysql_null(), grove__mysql_id(v->log->id) };
	struct mysql_end e;
	int rc = grove__mysql_lock(c, v->log->id, d);

	if (!rc)
		rc = grove__mysql_end(c, v->log->id, &e, d);
	if (rc)
		return rc;
	if (yes && !e.tail)
		return grove__fail(d, GROVE_EINVAL, c->url, "a session without lines has no last line");
	if (yes)
		arg[0] = grove__mysql_number((int64_t)e.tail - 1);
	return grove__mysql_run(c, SQL_UNFINISHED_PUT, arg, 2, NULL, d);
}

static int store_value(struct mysql_conn *c, struct value *v, struct grove_detail *d)
{
	const struct mysql_arg own[] = { grove__mysql_bytes(v->bytes), grove__mysql_id(v->log->id) };
	const struct mysql_arg arg[] = { own[1], grove__mysql_str(v->name), own[0] };
	enum grove__sql get, put;

	if (grove__sql_value_column(v->name, &get, &put))
		return grove__mysql_run(c, put, own, 2, NULL, d);
	return grove__mysql_run(c, SQL_VALUE_PUT, arg, 3, NULL, d);
}

static int put_value(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	struct mysql_end e;
	int rc;

	if (!strcmp(v->name, GROVE__META_UNFINISHED))
		return put_unfinished(c, v, d);
	rc = v->change.kind ? grove__mysql_change(c, w, v->log, &v->change, &e, d)
			    : grove__mysql_lock(c, v->log->id, d);
	if (!rc)
		rc = store_value(c, v, d);
	return rc || !v->change.kind ? rc
				     : grove__mysql_changed(c, v->log->id, &v->change, &e, &e, d);
}

static int mysql_meta_put(struct grove_log *l, const char *name, struct grove_slice value,
			  struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct value v = { .work = { .fn = put_value }, .log = grove__mysql_log(l), .name = name,
			   .bytes = value, .change.kind = grove__store_value_kind(name) };
	int rc;

	if (!v.log->writable)
		return grove__mysql_read_only(d);
	if (strlen(name) > GROVE__SQL_VALUE_NAME)
		return grove__fail(d, GROVE_EINVAL, s->place.url, "the name of a value may have %d bytes",
				   GROVE__SQL_VALUE_NAME);
	rc = grove__mysql_do(s, &v.work, d);
	return rc == MYSQL_SETTLED ? 0 : grove__mysql_gone(s, rc, d);
}

/* -------------------------------------------------------------- attachments */

static int put_attachment(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct mysql_arg arg[] = { grove__mysql_id(id), grove__mysql_str(v->name),
					 grove__mysql_bytes(v->bytes) };
	struct mysql_end e;
	int rc = grove__mysql_fits(c, v->bytes.len + strlen(v->name), d);

	if (!rc)
		rc = find_session(c, v->key, id, d);
	if (!rc)
		rc = grove__mysql_lock(c, id, d);
	if (!rc)
		rc = grove__mysql_end(c, id, &e, d);
	/* no change that anybody is told of; but a removal on another node has to see it */
	if (!rc)
		rc = grove__mysql_fence(c, id, &e, d);
	if (rc)
		return rc;
	return grove__mysql_run(c, SQL_ATTACH_PUT, arg, 3, NULL, d);
}

static int mysql_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct value v = { .work = { .fn = put_attachment }, .key = key, .name = name, .bytes = bytes };
	int rc;

	if (strlen(name) > GROVE__SQL_NAME)
		return grove__fail(d, GROVE_EINVAL, s->place.url,
				   "the name of an attachment may have %d bytes", GROVE__SQL_NAME);
	rc = grove__mysql_do(s, &v.work, d);
	return rc > 0 ? no_log(s, rc, d, key) : rc;
}

static int get_attachment(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct mysql_arg arg[] = { grove__mysql_id(id), grove__mysql_str(v->name) };
	int rc = find_session(c, v->key, id, d);

	if (rc)
		return rc;
	rc = take_bytes(c, SQL_ATTACH_GET, arg, 2, v->out, d);
	return rc == MYSQL_NONE ? grove__fail(d, GROVE_ENOTFOUND, c->url, "nothing named %.200s", v->name)
				: rc;
}

static int mysql_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct value v = { .work = { .fn = get_attachment, .plain = true }, .key = key, .name = name,
			   .out = out };
	int rc = grove__mysql_do(s, &v.work, d);

	return rc > 0 ? no_log(s, rc, d, key) : rc;
}

struct attached {
	const char *name;
	uint64_t size;
};

struct attachments {
	struct mysql_work work;
	const struct grove_key *key;
	struct grove__arena names;
	struct attached *list;
	size_t nr, cap;
};

static int list_attachments(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct attachments *a = (struct attachments *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct mysql_arg arg = grove__mysql_id(id);
	struct mysql_row row;
	int rc = find_session(c, a->key, id, d);

	if (!rc)
		rc = grove__mysql_ask(c, SQL_ATTACH_LIST, &arg, 1, &row, d);
	if (rc)
		return rc;
	a->nr = 0;
	while (!(rc = grove__mysql_next(c, &row, d))) {
		char *name = text(c, &row, 0, &a->names, d);

		if (!name || grove__array_room(&a->list, &a->cap, a->nr, sizeof(*a->list))) {
			rc = grove__fail_nomem(d);
			break;
		}
		a->list[a->nr++] = (struct attached){ name, (uint64_t)row.number[1] };
	}
	grove__mysql_done(&row);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int mysql_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(st);
	struct attachments a = { .work = { .fn = list_attachments, .plain = true }, .key = key };
	int rc;

	/* `fn` may call us again: copy first */
	grove__arena_init(&a.names);
	rc = grove__mysql_do(s, &a.work, d);
	if (rc > 0)
		rc = no_log(s, rc, d, key);
	for (size_t i = 0; i < a.nr && !rc; i++)
		rc = fn(payload, a.list[i].name, a.list[i].size);
	grove__arena_release(&a.names);
	free(a.list);
	return rc;
}

/* ---------------------------------------------------------------- the store */

static void mysql_close_store(struct grove_store *st)
{
	struct mysql_store *s = grove__mysql_store(st);

	grove__mysql_disconnect(s);
	pthread_mutex_destroy(&s->pool_lock);
	grove__mysql_place_release(&s->place);
	free(s);
}

static const struct grove_store_ops mysql_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "mysql",
	.open = mysql_open,
	.close_log = mysql_close_log,
	.stat = grove__mysql_stat,
	.read = grove__mysql_read,
	.fetch = grove__mysql_fetch,
	.append = grove__mysql_append,
	.append_on = grove__mysql_append_on,
	.replace = grove__mysql_replace,
	.rewrite = grove__mysql_rewrite,
	.list = mysql_list,
	.list_subs = mysql_list_subs,
	.cut = grove__mysql_cut,
	.remove = mysql_remove,
	.rename = mysql_rename,
	.meta_get = mysql_meta_get,
	.meta_put = mysql_meta_put,
	.attach_put = mysql_attach_put,
	.attach_get = mysql_attach_get,
	.attach_list = mysql_attach_list,
	.close = mysql_close_store,
	.update = grove__mysql_update,
	.changes = grove__mysql_changes,
	.lease = grove__mysql_lease,
	.ancestors = grove__mysql_ancestors,
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
	pthread_mutex_init(&s->pool_lock, NULL);
	s->base.ops = &mysql_ops;
	s->base.url = s->place.url;
	*out = &s->base;
	return 0;
}

static const struct grove__mysql_options usual = { .schema = &grove__sql_schema_mysql };

int grove__store_mysql_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	return grove__mysql_open(out, rest, &usual, d);
}

int grove__store_mysql_init(const char *rest, struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_mysql_open(&st, rest, d);

	if (rc)
		return rc;
	rc = grove__mysql_init(grove__mysql_store(st), d);
	grove__store_close(st);
	return rc;
}

int grove__store_mysql_upgrade(const char *rest, unsigned *from, unsigned *to,
			       struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_mysql_open(&st, rest, d);

	if (rc)
		return rc;
	rc = grove__mysql_upgrade(grove__mysql_store(st), from, to, d);
	grove__store_close(st);
	return rc;
}
