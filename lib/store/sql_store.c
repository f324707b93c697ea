/*
 * store/sql_store.c: whole logs in a database: by name, with their values and
 * attachments.
 *
 * A database that does not exist, or has no tables yet, is an empty store: looking
 * creates nothing.
 *
 * Each change is one transaction that can be retried. A new session gets its id before
 * anything is sent, so that one created by an interrupted try is recognized.
 */
#include "store/sql.h"

#include "base/arena.h"
#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

static int no_log(const struct sql_store *s, int rc, const struct grove_key *k,
		  struct grove_detail *d)
{
	if (rc == GROVE__SQL_ABSENT)
		return grove__fail(d, GROVE_ENOTFOUND, s->where, "no session %.200s: %s", k->session,
				   s->driver->absent);
	return grove__fail(d, GROVE_ENOTFOUND, s->where, "no session %.200s", k->session);
}

static int exists(const struct sql_conn *c, const struct grove_key *k, struct grove_detail *d)
{
	return grove__fail(d, GROVE_EEXIST, c->where, "there is already a session %.200s", k->session);
}

static int nothing_named(const char *where, const char *name, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTFOUND, where, "nothing is named %.200s", name);
}

static int take_id(struct sql_conn *c, struct sql_row *row, uint8_t id[GROVE__SQL_ID],
		   struct grove_detail *d)
{
	if (row->len[0] != GROVE__SQL_ID)
		return grove__fail(d, GROVE_EDAMAGED, c->where, "invalid session_id");
	return grove__sql_take(c, row, 0, (char *)id, GROVE__SQL_ID, d);
}

/* GROVE__SQL_NONE: no such session. */
static int find_log(struct sql_conn *c, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
		    struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_str(key->project), grove__sql_str(key->session),
				       grove__sql_str(key->subpath) };
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_FIND, arg, 3, &row, d);

	if (rc)
		return rc;
	rc = take_id(c, &row, id, d);
	c->driver->done(&row);
	return rc;
}

/* Attachments belong to the session, whichever of its logs the key names. */
static int find_session(struct sql_conn *c, const struct grove_key *key, uint8_t id[GROVE__SQL_ID],
			struct grove_detail *d)
{
	struct grove_key session = { key->project, key->session, "" };

	return find_log(c, &session, id, d);
}

/* -------------------------------------------------------------- open, close */

struct opening {
	struct sql_work work;
	const struct grove_key *key;
	uint8_t id[GROVE__SQL_ID];
};

static int create(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct opening *o = (struct opening *)w;
	const struct sql_arg now = grove__sql_number(grove__sys_now_ms());
	const struct sql_arg arg[] = { grove__sql_id(o->id), grove__sql_str(o->key->project),
				       grove__sql_str(o->key->session),
				       grove__sql_str(o->key->subpath), now, now };
	uint8_t there[GROVE__SQL_ID];
	int rc = c->driver->run(c, SQL_CREATE, arg, 6, NULL, d);

	if (!rc || !c->driver->duplicate(c, SQL_CREATE))
		return rc;
	/*
	 * The name is taken. If the connection broke during an earlier try, that try may
	 * have been the one that took it: then the row has our id.
	 */
	rc = find_log(c, o->key, there, d);
	if (rc < 0)
		return rc;
	return !rc && w->unknown && !memcmp(there, o->id, GROVE__SQL_ID) ? 0 : exists(c, o->key, d);
}

static int look_up(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct opening *o = (struct opening *)w;

	return find_log(c, o->key, o->id, d);
}

static int sql_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		    struct grove_store_log **out, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	bool make = flags & GROVE_STORE_CREATE;
	struct opening o = { .work = { .fn = make ? create : look_up, .mode = make ? SQL_OWN : SQL_ONE,
				       .create = make, .brief_s = flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE) ? 0 : GROVE__SQL_LIST_S },
			     .key = key };
	struct sql_log *log = calloc(1, sizeof(*log));
	int rc = log ? 0 : grove__fail_nomem(d);

	if (!rc && make) {
		rc = grove__sql_check_key(key, d);
		grove__sql_new_id(o.id);
	}
	if (!rc)
		rc = s->driver->work(s, &o.work, d);
	if (rc > 0)
		rc = no_log(s, rc, key, d);
	if (rc) {
		free(log);
		return rc;
	}
	memcpy(log->id, o.id, GROVE__SQL_ID);
	pthread_mutex_init(&log->append_lock, NULL);
	pthread_mutex_init(&log->window_lock, NULL);
	log->base.ops = st->ops;
	log->base.store = st;
	log->writable = flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE);
	*out = &log->base;
	return 0;
}

static void close_log(struct grove_store_log *l)
{
	struct sql_log *log = grove__sql_log(l);

	pthread_mutex_destroy(&log->append_lock);
	pthread_mutex_destroy(&log->window_lock);
	free(log->window);
	free(log);
}

/* ------------------------------------------------------------------ listing */

/* Copies a column into `names` as a string. Returns NULL if that failed. */
static char *text(struct sql_conn *c, struct sql_row *row, unsigned column,
		  struct grove__arena *names, struct grove_detail *d)
{
	size_t len = row->len[column];
	char *s = grove__arena_alloc(names, len + 1, 1);

	if (!s) {
		grove__fail_nomem(d);
		return NULL;
	}
	if (grove__sql_take(c, row, column, s, len, d))
		return NULL;
	s[len] = '\0';
	return s;
}

/* Rows of one statement, copied, since the callback may call the store again. */
struct copied {
	struct grove__arena names;
	void *list;
	size_t nr, cap;
};

/* Copies one row into the list, which has room for it. */
typedef int copy_fn(struct sql_conn *c, struct sql_row *row, struct copied *all,
		    struct grove_detail *d);

static int copy_rows(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		     struct copied *all, size_t size, copy_fn *fn, struct grove_detail *d)
{
	struct sql_row row;
	int rc = c->driver->ask(c, what, arg, nr, &row, d);

	if (rc)
		return rc;
	all->nr = 0;
	while (!(rc = c->driver->next(c, &row, d))) {
		rc = grove__array_room(&all->list, &all->cap, all->nr, size) ? grove__fail_nomem(d)
									     : fn(c, &row, all, d);
		if (rc)
			break;
		all->nr++;
	}
	c->driver->done(&row);
	return rc == GROVE__SQL_NONE ? 0 : rc;
}

static void free_copied(struct copied *all)
{
	grove__arena_release(&all->names);
	free(all->list);
}

struct listing {
	struct sql_work work;
	const struct grove_key *key;
	const char *project;
	bool subs;
	struct copied found;
};

static int copy_key(struct sql_conn *c, struct sql_row *row, struct copied *all,
		    struct grove_detail *d)
{
	struct grove_key *key = (struct grove_key *)all->list + all->nr;

	*key = (struct grove_key){ text(c, row, 0, &all->names, d), text(c, row, 1, &all->names, d),
				   text(c, row, 2, &all->names, d) };
	return key->project && key->session && key->subpath ? 0 : grove__fail_nomem(d);
}

static int gather_keys(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct listing *k = (struct listing *)w;
	const struct sql_arg arg = grove__sql_str(k->project ? k->project : "");

	return copy_rows(c, k->project ? (k->subs ? SQL_LIST_SUBS_OF : SQL_LIST_OF)
				       : (k->subs ? SQL_LIST_SUBS : SQL_LIST),
			 &arg, k->project ? 1 : 0, &k->found, sizeof(struct grove_key), copy_key, d);
}

static int list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn, void *payload,
		struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct listing k = { .work = { .fn = gather_keys, .brief_s = GROVE__SQL_LIST_S }, .project = project, .subs = subs };
	int rc;

	grove__arena_init(&k.found.names);
	rc = s->driver->work(s, &k.work, d);
	if (rc == GROVE__SQL_ABSENT)
		rc = 0;
	for (size_t i = 0; i < k.found.nr && !rc; i++)
		rc = fn(payload, (const struct grove_key *)k.found.list + i);
	free_copied(&k.found);
	return rc;
}

/* A log, and where it ends. */
struct surveyed {
	struct grove_key key;
	struct grove_store_log_stat st;
};

static int copy_surveyed(struct sql_conn *c, struct sql_row *row, struct copied *all,
			 struct grove_detail *d)
{
	struct surveyed *x = (struct surveyed *)all->list + all->nr;

	x->st = (struct grove_store_log_stat){ .generation = (uint64_t)row->number[3],
					       .base = (uint64_t)row->number[4],
					       .mtime_ms = row->number[5] };
	if (!row->null[6]) {
		x->st.tail = (uint64_t)row->number[6] + 1;
		if (row->number[7] > x->st.mtime_ms)
			x->st.mtime_ms = row->number[7];
	}
	x->st.mtime_ns = x->st.mtime_ms * 1000000;
	x->key = (struct grove_key){ text(c, row, 0, &all->names, d), text(c, row, 1, &all->names, d),
				     text(c, row, 2, &all->names, d) };
	return x->key.project && x->key.session && x->key.subpath ? 0 : grove__fail_nomem(d);
}

static int gather_survey(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct listing *k = (struct listing *)w;

	return copy_rows(c, SQL_SURVEY, NULL, 0, &k->found, sizeof(struct surveyed), copy_surveyed, d);
}

static int survey(struct grove_store *st, grove_survey_fn *fn, void *payload, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct listing k = { .work = { .fn = gather_survey, .brief_s = GROVE__SQL_LIST_S } };
	const struct surveyed *x;
	int rc;

	grove__arena_init(&k.found.names);
	rc = s->driver->work(s, &k.work, d);
	if (rc == GROVE__SQL_ABSENT)
		rc = 0;
	x = k.found.list;
	for (size_t i = 0; i < k.found.nr && !rc; i++)
		rc = fn(payload, &x[i].key, &x[i].st);
	free_copied(&k.found);
	return rc;
}

/* ----------------------------------------------------------- remove, rename */

/* A log that belongs to a session. */
struct sub {
	uint8_t id[GROVE__SQL_ID];
	char *subpath;
};

static int copy_sub(struct sql_conn *c, struct sql_row *row, struct copied *all,
		    struct grove_detail *d)
{
	struct sub *sub = (struct sub *)all->list + all->nr;
	int rc = take_id(c, row, sub->id, d);

	if (rc)
		return rc;
	sub->subpath = text(c, row, 1, &all->names, d);
	return sub->subpath ? 0 : grove__fail_nomem(d);
}

/* Finds those of the session `key`; a log that belongs to one has none itself. */
static int find_subs(struct sql_conn *c, const struct grove_key *key, struct copied *subs,
		     struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_str(key->project), grove__sql_str(key->session) };

	memset(subs, 0, sizeof(*subs));
	grove__arena_init(&subs->names);
	return *key->subpath ? 0 : copy_rows(c, SQL_SUBS, arg, 2, subs, sizeof(struct sub), copy_sub, d);
}

/* Deletes all rows of a log. GROVE__SQL_NONE: it is already gone. */
static int drop(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	static const enum grove__sql all[] = { SQL_DROP_ENTRIES, SQL_DROP_ATTACHMENTS, SQL_DROP_VALUES,
					       SQL_DROP_CHANGES, SQL_DROP_SESSION };
	const struct sql_arg arg = grove__sql_id(id);
	struct sql_end e;
	int rc = grove__sql_hold(c, id, &e, d);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !rc; i++)
		rc = c->driver->run(c, all[i], &arg, 1, NULL, d);
	return rc;
}

struct naming {
	struct sql_work work;
	const struct grove_key *from, *to;
	uint8_t id[GROVE__SQL_ID];   /* of the last try */
	bool tried;
};

static int remove_log(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct naming *n = (struct naming *)w;
	struct copied subs;
	int rc = find_log(c, n->from, n->id, d);

	/* an earlier try found it, and its end is unknown: it did remove it */
	if (rc == GROVE__SQL_NONE && w->unknown && n->tried)
		return 0;
	if (rc)
		return rc;
	n->tried = true;
	rc = find_subs(c, n->from, &subs, d);
	if (!rc)
		rc = drop(c, n->id, d);
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		rc = drop(c, ((struct sub *)subs.list)[i].id, d);
		/* somebody removed it since we listed it */
		if (rc == GROVE__SQL_NONE)
			rc = 0;
	}
	free_copied(&subs);
	return rc;
}

/* Runs the work; a change of names is always durable. */
static int change_names(struct sql_store *s, struct naming *n, struct grove_detail *d)
{
	int rc = s->driver->work(s, &n->work, d);

	if (rc)
		return rc < 0 ? rc : no_log(s, rc, n->from, d);
	return grove__sql_settle(s, GROVE_SYNC_ALWAYS, d);
}

static int sql_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct naming n = { .work = { .fn = remove_log, .mode = SQL_WRITE }, .from = key };

	return change_names(grove__sql_store(st), &n, d);
}

/* Checks whether the name is taken, even if only by a log that would belong to it. */
static int taken(struct sql_conn *c, const struct grove_key *key, bool *yes, struct grove_detail *d)
{
	struct copied subs;
	uint8_t id[GROVE__SQL_ID];
	int rc = find_log(c, key, id, d);

	*yes = !rc;
	if (rc != GROVE__SQL_NONE)
		return rc;
	rc = find_subs(c, key, &subs, d);
	*yes = subs.nr > 0;
	free_copied(&subs);
	return rc;
}

static int has_attachments(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], bool *yes,
			   struct grove_detail *d)
{
	const struct sql_arg arg = grove__sql_id(id);
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_ATTACH_LIST, &arg, 1, &row, d);

	*yes = !rc;
	if (!rc)
		c->driver->done(&row);
	return rc == GROVE__SQL_NONE ? 0 : rc;
}

/* The first name of a session is no change of it. */
static int give_key(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct grove_key *key, bool first,
		    struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_str(key->project), grove__sql_str(key->session),
				       grove__sql_str(key->subpath), grove__sql_id(id) };
	struct sql_change change = { .kind = GROVE_CHANGE_VALUE };
	struct sql_end e;
	int rc = c->driver->run(c, SQL_RENAME, arg, 4, NULL, d);

	if (rc)
		return c->driver->duplicate(c, SQL_RENAME) ? exists(c, key, d) : rc;
	rc = grove__sql_hold(c, id, &e, d);
	return rc || first ? rc : grove__sql_changed(c, id, &change, &e, &e, d);
}

/* After an interrupted try: checks whether the session has its new name. */
static int renamed(struct sql_conn *c, const struct naming *n, bool *yes, struct grove_detail *d)
{
	uint8_t id[GROVE__SQL_ID];
	int rc = n->work.unknown && n->tried ? find_log(c, n->to, id, d) : GROVE__SQL_NONE;

	*yes = !rc && !memcmp(id, n->id, GROVE__SQL_ID);
	return rc == GROVE__SQL_NONE ? 0 : rc;
}

static int rename_log(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct naming *n = (struct naming *)w;
	struct grove_key key = *n->to;
	bool is_taken = false, attached = false, done, first = grove__aside_hidden(n->from);
	struct copied subs;
	int rc = renamed(c, n, &done, d);

	if (rc || done)
		return rc;
	rc = find_log(c, n->from, n->id, d);
	if (!rc)
		rc = grove__sql_lock(c, n->id, d);
	if (!rc)
		rc = taken(c, n->to, &is_taken, d);
	if (!rc && is_taken)
		rc = exists(c, n->to, d);
	if (!rc)
		rc = has_attachments(c, n->id, &attached, d);
	if (rc)
		return rc;
	n->tried = true;
	rc = find_subs(c, n->from, &subs, d);
	if (!rc && *n->to->subpath && (subs.nr || attached))
		rc = grove__fail(d, GROVE_EINVAL, c->where, "%.200s already has attachments",
				 n->from->session);
	if (!rc)
		rc = give_key(c, n->id, n->to, first, d);
	for (size_t i = 0; i < subs.nr && !rc; i++) {
		const struct sub *sub = (const struct sub *)subs.list + i;

		key.subpath = sub->subpath;
		rc = give_key(c, sub->id, &key, first, d);
	}
	free_copied(&subs);
	return rc;
}

static int sql_rename(struct grove_store *st, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d)
{
	struct naming n = { .work = { .fn = rename_log, .mode = SQL_WRITE }, .from = from, .to = to };
	int rc = grove__sql_check_key(to, d);

	return rc ? rc : change_names(grove__sql_store(st), &n, d);
}

/* ------------------------------------------------------------------- values */

struct value {
	struct sql_work work;
	struct sql_log *log;
	const struct grove_key *key;   /* of the session, for attachments */
	const char *name;
	struct grove_slice bytes;      /* put */
	struct grove_buf *out;         /* get */
	struct sql_change change;
	uint64_t expect, base;         /* put: GROVE_ANY_POS, GROVE_ANY_BASE, or how the log must be */
};

/*
 * Appends the first column of the one row that a statement finds to `out`.
 * GROVE__SQL_NONE: NULL, or no row.
 */
static int take_bytes(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		      struct grove_buf *out, struct grove_detail *d)
{
	struct sql_row row;
	int rc = grove__sql_first(c, what, arg, nr, &row, d);

	if (rc)
		return rc;
	if (row.null[0])
		rc = GROVE__SQL_NONE;
	else if (grove__buf_reserve(out, row.len[0]))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__sql_take(c, &row, 0, out->ptr + out->len, row.len[0], d);
	if (!rc) {
		out->len += row.len[0];
		out->ptr[out->len] = '\0';
	}
	c->driver->done(&row);
	return rc;
}

static int get_value(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	const struct sql_arg arg[] = { grove__sql_id(v->log->id), grove__sql_str(v->name) };
	enum grove__sql get, put;
	struct sql_end e;
	int rc;

	if (!strcmp(v->name, GROVE__META_UNFINISHED)) {
		rc = grove__sql_end(c, v->log->id, &e, d);
		if (rc || !e.unfinished)
			return rc ? rc : GROVE__SQL_NONE;
		return grove__buf_add_char(v->out, '1') ? grove__fail_nomem(d) : 0;
	}
	if (grove__sql_value_column(v->name, &get, &put))
		return take_bytes(c, get, arg, 1, v->out, d);
	return take_bytes(c, SQL_VALUE_GET, arg, 2, v->out, d);
}

static int meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
		    struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct value v = { .work = grove__sql_reading_of(get_value, SQL_ONE, l), .log = grove__sql_log(l), .name = name,
			   .out = out };
	int rc = s->driver->work(s, &v.work, d);

	return rc > 0 ? nothing_named(s->where, name, d) : rc;
}

static int put_unfinished(struct sql_conn *c, struct value *v, struct grove_detail *d)
{
	struct sql_arg arg[] = { grove__sql_null(), grove__sql_id(v->log->id) };
	struct sql_end e;
	int rc = grove__sql_lock(c, v->log->id, d);

	if (!rc)
		rc = grove__sql_end(c, v->log->id, &e, d);
	if (rc)
		return rc;
	if (v->bytes.len && !e.tail)
		return grove__fail(d, GROVE_EINVAL, c->where, "a session without lines has no last line");
	if (v->bytes.len)
		arg[0] = grove__sql_number((int64_t)e.tail - 1);
	return c->driver->run(c, SQL_UNFINISHED_PUT, arg, 2, NULL, d);
}

static int store_value(struct sql_conn *c, struct value *v, struct grove_detail *d)
{
	const struct sql_arg own[] = { grove__sql_bytes(v->bytes), grove__sql_id(v->log->id) };
	const struct sql_arg arg[] = { own[1], grove__sql_str(v->name), own[0] };
	enum grove__sql get, put;

	if (grove__sql_value_column(v->name, &get, &put))
		return c->driver->run(c, put, own, 2, NULL, d);
	return c->driver->run(c, SQL_VALUE_PUT, arg, 3, NULL, d);
}

/*
 * A fact about a log is not a change, and needs no lease. It may matter to those who
 * remember what they read, so the log gets another time, by which a survey shows it.
 */
static int put_fact(struct sql_conn *c, struct value *v, struct grove_detail *d)
{
	struct grove_buf was = GROVE_BUF_INIT;
	struct value old = *v;
	struct sql_arg arg[] = { grove__sql_null(), grove__sql_id(v->log->id) };
	struct sql_end e;
	bool same;
	int rc = grove__sql_lock(c, v->log->id, d);

	if (rc)
		return rc;
	old.out = &was;
	rc = get_value(c, &old.work, d);
	same = !rc && grove__slice_eq(grove__buf_slice(&was), v->bytes);
	grove__buf_release(&was);
	if (rc < 0 || same)
		return rc;
	rc = grove__sql_end(c, v->log->id, &e, d);
	if (!rc)
		rc = store_value(c, v, d);
	arg[0] = grove__sql_number(e.changed < grove__sys_now_ms() ? grove__sys_now_ms() : e.changed + 1);
	return rc ? rc : c->driver->run(c, SQL_UPDATED_PUT, arg, 2, NULL, d);
}

static int put_value(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	struct sql_end e;
	int rc;

	if (!strcmp(v->name, GROVE__META_UNFINISHED))
		return put_unfinished(c, v, d);
	if (!v->change.kind)
		return put_fact(c, v, d);
	rc = grove__sql_change(c, w, v->log, &v->change, &e, d);
	if (!rc && ((v->expect != GROVE_ANY_POS && v->expect != e.tail) ||
		    (v->base != GROVE_ANY_BASE && v->base != e.base)))
		rc = grove__log_base_moved(c->where, d);
	if (!rc)
		rc = store_value(c, v, d);
	if (rc)
		return rc;
	w->ended = v->log;
	w->end = e;
	return grove__sql_changed(c, v->log->id, &v->change, &e, &w->end, d);
}

static int meta_put(struct grove_store_log *l, const char *name, struct grove_slice value, uint64_t expect,
		    uint64_t base, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct value v = { .work = { .fn = put_value, .mode = SQL_WRITE }, .log = grove__sql_log(l),
			   .name = name, .bytes = value, .change.kind = grove__store_value_kind(name),
			   .expect = expect, .base = base };
	int rc;

	if (!v.log->writable)
		return grove__sql_read_only(d);
	if (strlen(name) > GROVE__SQL_VALUE_NAME)
		return grove__fail(d, GROVE_EINVAL, s->where, "the name of a value is limited to %d bytes",
				   GROVE__SQL_VALUE_NAME);
	rc = s->driver->work(s, &v.work, d);
	return rc == GROVE__SQL_SETTLED ? 0 : grove__sql_gone(s, rc, d);
}

/* -------------------------------------------------------------- attachments */

static int put_attachment(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct sql_arg arg[] = { grove__sql_id(id), grove__sql_str(v->name),
				       grove__sql_bytes(v->bytes) };
	struct sql_end e;
	int rc = c->driver->fits ? c->driver->fits(c, v->bytes.len + strlen(v->name), d) : 0;

	if (!rc)
		rc = find_session(c, v->key, id, d);
	/* not reported as a change, but a removal on another node must see it */
	if (!rc)
		rc = grove__sql_hold(c, id, &e, d);
	return rc ? rc : c->driver->run(c, SQL_ATTACH_PUT, arg, 3, NULL, d);
}

static int attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
		      struct grove_slice bytes, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct value v = { .work = { .fn = put_attachment, .mode = SQL_WRITE }, .key = key, .name = name,
			   .bytes = bytes };
	int rc;

	if (strlen(name) > GROVE__SQL_NAME)
		return grove__fail(d, GROVE_EINVAL, s->where,
				   "the name of an attachment is limited to %d bytes", GROVE__SQL_NAME);
	rc = s->driver->work(s, &v.work, d);
	if (rc)
		return rc < 0 ? rc : no_log(s, rc, key, d);
	return grove__sql_settle(s, GROVE_SYNC_ALWAYS, d);
}

static int get_attachment(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct value *v = (struct value *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct sql_arg arg[] = { grove__sql_id(id), grove__sql_str(v->name) };
	int rc = find_session(c, v->key, id, d);

	if (rc)
		return rc;
	rc = take_bytes(c, SQL_ATTACH_GET, arg, 2, v->out, d);
	return rc == GROVE__SQL_NONE ? nothing_named(c->where, v->name, d) : rc;
}

static int attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
		      struct grove_buf *out, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct value v = { .work = { .fn = get_attachment, .mode = SQL_READ, .brief_s = GROVE__SQL_READ_S }, .key = key, .name = name,
			   .out = out };
	int rc = s->driver->work(s, &v.work, d);

	return rc > 0 ? no_log(s, rc, key, d) : rc;
}

struct attached {
	const char *name;
	uint64_t size;
};

static int copy_attached(struct sql_conn *c, struct sql_row *row, struct copied *all,
			 struct grove_detail *d)
{
	struct attached *a = (struct attached *)all->list + all->nr;

	a->name = text(c, row, 0, &all->names, d);
	a->size = (uint64_t)row->number[1];
	return a->name ? 0 : grove__fail_nomem(d);
}

static int gather_attachments(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct listing *k = (struct listing *)w;
	uint8_t id[GROVE__SQL_ID];
	const struct sql_arg arg = grove__sql_id(id);
	int rc = find_session(c, k->key, id, d);

	return rc ? rc : copy_rows(c, SQL_ATTACH_LIST, &arg, 1, &k->found, sizeof(struct attached),
				   copy_attached, d);
}

static int attach_list(struct grove_store *st, const struct grove_key *key, grove_name_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct listing k = { .work = { .fn = gather_attachments, .mode = SQL_READ, .brief_s = GROVE__SQL_READ_S }, .key = key };
	int rc;

	grove__arena_init(&k.found.names);
	rc = s->driver->work(s, &k.work, d);
	if (rc > 0)
		rc = no_log(s, rc, key, d);
	for (size_t i = 0; i < k.found.nr && !rc; i++) {
		const struct attached *a = (const struct attached *)k.found.list + i;

		rc = fn(payload, a->name, a->size);
	}
	free_copied(&k.found);
	return rc;
}

/* ---------------------------------------------------------------- the store */

static int sync_log(struct grove_store_log *l, struct grove_detail *d)
{
	return grove__sql_settle(grove__sql_store(l->store), GROVE_SYNC_ALWAYS, d);
}

static const struct grove_store_ops sql_ops = {
	.version = GROVE_STORE_VERSION,
	.open = sql_open,
	.close_log = close_log,
	.stat = grove__sql_stat,
	.read = grove__sql_read,
	.fetch = grove__sql_fetch,
	.append = grove__sql_append,
	.replace = grove__sql_replace,
	.rewrite = grove__sql_rewrite,
	.list = list,
	.survey = survey,
	.cut = grove__sql_cut,
	.update = grove__sql_update,
	.changes = grove__sql_changes,
	.lease = grove__sql_lease,
	.lease_get = grove__sql_lease_get,
	.ids = grove__sql_ids,
	.remove = sql_remove,
	.rename = sql_rename,
	.meta_get = meta_get,
	.meta_put = meta_put,
	.attach_put = attach_put,
	.attach_get = attach_get,
	.attach_list = attach_list,
};

void grove__sql_store_init(struct sql_store *s, const struct sql_driver *driver,
			   const struct grove__sql_schema *schema, const char *where, const char *url)
{
	s->ops = sql_ops;
	s->ops.name = driver->name;
	s->ops.sync = driver->settle ? sync_log : NULL;
	s->ops.init = driver->init;
	s->ops.upgrade = driver->upgrade;
	s->ops.close = driver->close;
	s->driver = driver;
	s->schema = schema;
	s->where = where;
	s->base.ops = &s->ops;
	s->base.url = url;
	pthread_mutex_init(&s->pool_lock, NULL);
}

void grove__sql_store_release(struct sql_store *s)
{
	pthread_mutex_destroy(&s->pool_lock);
}

struct sql_conn *grove__sql_pool_take(struct sql_store *s)
{
	struct sql_conn *c;

	pthread_mutex_lock(&s->pool_lock);
	c = s->idle;
	if (c) {
		s->idle = c->next;
		s->nr_idle--;
	}
	pthread_mutex_unlock(&s->pool_lock);
	return c;
}
