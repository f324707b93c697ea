/*
 * store/memory.c: logs in memory: the reference for every other store.
 *
 * A log is an array of lines; a position is a line's place in it. All handles
 * of a store share its logs, under one lock: this store is for truth, not for
 * speed. A log that is removed while a handle is open lives on for that handle
 * alone.
 */
#include "base/arena.h"
#include "store/store.h"

#include <pthread.h>
#include <stdlib.h>

struct line {
	char *ptr;
	size_t len;
};

struct named {
	struct named *next;
	char *name;
	struct grove_buf bytes;
};

struct shelf {
	struct shelf *next;
	char *project, *session, *subpath;
	struct line *lines;
	uint64_t nr, cap, bytes, generation;
	struct named *meta, *attached;
	unsigned refs;   /* the store's own, and one a handle */
};

struct memory_store {
	struct grove_store base;
	pthread_mutex_t lock;
	struct shelf *shelves;
};

struct memory_log {
	struct grove_log base;
	struct shelf *shelf;
	bool writable;
};

static const struct grove_store_ops memory_ops;

static struct memory_store *store_of(struct grove_store *st)
{
	return (struct memory_store *)st;
}

static struct memory_log *log_of(struct grove_log *log)
{
	return (struct memory_log *)log;
}

static void lock(struct memory_store *m)
{
	pthread_mutex_lock(&m->lock);
}

static int unlock(struct memory_store *m, int rc)
{
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static void free_named(struct named *n)
{
	struct named *next;

	for (; n; n = next) {
		next = n->next;
		free(n->name);
		grove__buf_release(&n->bytes);
		free(n);
	}
}

static void free_lines(struct line *lines, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		free(lines[i].ptr);
	free(lines);
}

static void drop(struct shelf *s)
{
	if (--s->refs)
		return;
	free_lines(s->lines, s->nr);
	free_named(s->meta);
	free_named(s->attached);
	free(s->project);
	free(s->session);
	free(s->subpath);
	free(s);
}

static struct shelf **place(struct memory_store *m, const struct grove_key *k)
{
	struct shelf **p;

	for (p = &m->shelves; *p; p = &(*p)->next)
		if (!strcmp((*p)->project, k->project) && !strcmp((*p)->session, k->session) &&
		    !strcmp((*p)->subpath, k->subpath))
			break;
	return p;
}

static int no_log(struct grove_detail *d, const struct grove_key *k)
{
	return grove__fail(d, GROVE_ENOTFOUND, NULL, "no session %.200s", k->session);
}

static int set_key(struct shelf *s, const struct grove_key *k)
{
	char *a = strdup(k->project), *b = strdup(k->session), *c = strdup(k->subpath);

	if (!a || !b || !c) {
		free(a);
		free(b);
		free(c);
		return GROVE_ENOMEM;
	}
	free(s->project);
	free(s->session);
	free(s->subpath);
	s->project = a;
	s->session = b;
	s->subpath = c;
	return 0;
}

static int create(struct shelf **at, const struct grove_key *key)
{
	struct shelf *s = calloc(1, sizeof(*s));

	if (!s || set_key(s, key)) {
		free(s);
		return GROVE_ENOMEM;
	}
	s->refs = 1;
	*at = s;
	return 0;
}

static int read_only(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EACCESS, NULL, "opened for reading only");
}

static int memory_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		       struct grove_log **out, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct memory_log *log = calloc(1, sizeof(*log));
	struct shelf **at;
	int rc = 0;

	if (!log)
		return grove__fail_nomem(d);
	lock(m);
	at = place(m, key);
	if (*at && flags & GROVE_LOG_CREATE)
		rc = grove__fail(d, GROVE_EEXIST, NULL, "there is a session %.200s already",
				 key->session);
	else if (!*at && !(flags & GROVE_LOG_CREATE))
		rc = no_log(d, key);
	else if (!*at && create(at, key))
		rc = grove__fail_nomem(d);
	if (rc) {
		free(log);
		return unlock(m, rc);
	}
	log->base.ops = &memory_ops;
	log->base.store = st;
	log->shelf = *at;
	log->shelf->refs++;
	log->writable = flags & (GROVE_LOG_WRITE | GROVE_LOG_CREATE);
	*out = &log->base;
	return unlock(m, 0);
}

static void memory_close_log(struct grove_log *l)
{
	struct memory_store *m = store_of(l->store);

	lock(m);
	drop(log_of(l)->shelf);
	unlock(m, 0);
	free(l);
}

static int memory_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;

	(void)d;
	lock(m);
	out->tail = s->nr;
	out->bytes = s->bytes;
	out->generation = s->generation;
	return unlock(m, 0);
}

static int memory_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		       struct grove_run *run, struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;

	lock(m);
	run->by_line = 1;
	run->pos = run->next = pos;
	if (until > s->nr)
		return unlock(m, grove__fail(d, GROVE_ESTALE, NULL, "the session became shorter"));
	while (run->next < until && s->lines[run->next].len < cap - run->len) {
		const struct line *x = &s->lines[run->next++];

		if (x->len)
			memcpy(buf + run->len, x->ptr, x->len);
		run->len += x->len;
		buf[run->len++] = '\n';
	}
	/* a line longer than the buffer: its reader fetches it piece by piece */
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return unlock(m, 0);
}

static int memory_fetch(struct grove_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
			struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;
	int rc = 0;

	lock(m);
	if (pos >= s->nr || off > s->lines[pos].len || len > s->lines[pos].len - off)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the line is not there any more");
	else if (len)
		memcpy(buf, s->lines[pos].ptr + off, len);
	return unlock(m, rc);
}

static int push(struct line **lines, uint64_t *nr, uint64_t *cap, struct grove_slice line)
{
	char *copy = malloc(line.len + 1);

	if (*nr == *cap) {
		uint64_t more = *cap ? *cap * 2 : 16;
		struct line *p = realloc(*lines, more * sizeof(*p));

		if (p) {
			*lines = p;
			*cap = more;
		}
	}
	if (!copy || *nr == *cap) {
		free(copy);
		return GROVE_ENOMEM;
	}
	if (line.len)
		memcpy(copy, line.ptr, line.len);
	(*lines)[(*nr)++] = (struct line){ copy, line.len };
	return 0;
}

static int memory_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			 uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			 struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;
	uint64_t before, bytes;

	(void)sync;
	if (!log_of(l)->writable)
		return read_only(d);
	lock(m);
	if (expect != GROVE_ANY_POS && expect != s->nr)
		return unlock(m, grove__fail(d, GROVE_ECONFLICT, NULL,
					     "another writer has appended"));
	before = s->nr;
	bytes = s->bytes;
	for (size_t i = 0; i < nr; i++) {
		if (push(&s->lines, &s->nr, &s->cap, rec[i].line)) {
			while (s->nr > before)
				free(s->lines[--s->nr].ptr);
			s->bytes = bytes;
			return unlock(m, grove__fail_nomem(d));
		}
		s->bytes += rec[i].line.len + 1;
	}
	out->pos = before;
	out->tail = s->nr;
	return unlock(m, 0);
}

static int memory_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;
	int rc = 0;

	(void)sync;
	if (!log_of(l)->writable)
		return read_only(d);
	lock(m);
	if (pos >= s->nr)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the line is not there any more");
	else if (s->lines[pos].len != line.len)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "a line of another length");
	else if (line.len)
		memcpy(s->lines[pos].ptr, line.ptr, line.len);
	return unlock(m, rc);
}

static int memory_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		      struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;
	int rc = 0;

	(void)sync;
	if (!log_of(l)->writable)
		return read_only(d);
	lock(m);
	if (expect != s->nr)
		rc = grove__fail(d, GROVE_ECONFLICT, NULL, "another writer has appended");
	else if (pos > s->nr)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "no line begins there");
	while (!rc && s->nr > pos) {
		s->bytes -= s->lines[--s->nr].len + 1;
		free(s->lines[s->nr].ptr);
	}
	if (!rc)
		s->generation++;
	return unlock(m, rc);
}

static int memory_rewrite(struct grove_log *l, grove_line_fn *next, void *payload, uint64_t expect,
			  unsigned flags, struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);
	struct shelf *s = log_of(l)->shelf;
	struct line *lines = NULL;
	uint64_t nr = 0, cap = 0, bytes = 0, before;
	struct grove_slice line;
	int rc;

	(void)flags;
	if (!log_of(l)->writable)
		return read_only(d);
	lock(m);
	before = s->nr;
	unlock(m, 0);
	if (expect != GROVE_ANY_POS && expect != before)
		return grove__fail(d, GROVE_ECONFLICT, NULL, "another writer has appended");
	/* `next` may read this very log: no lock while it runs */
	while (!(rc = next(payload, &line))) {
		if (push(&lines, &nr, &cap, line)) {
			rc = grove__fail_nomem(d);
			break;
		}
		bytes += line.len + 1;
	}
	lock(m);
	if (rc == 1 && before != s->nr)
		rc = grove__fail(d, GROVE_ECONFLICT, NULL, "another writer has appended");
	if (rc != 1) {
		free_lines(lines, nr);
		return unlock(m, rc);
	}
	free_lines(s->lines, s->nr);
	s->lines = lines;
	s->nr = nr;
	s->cap = cap;
	s->bytes = bytes;
	s->generation++;
	return unlock(m, 0);
}

static int list(struct grove_store *st, const char *project, bool subs, grove_key_fn *fn,
		void *payload, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct grove_key *keys;
	struct grove__arena names;
	struct shelf *s;
	size_t nr = 0, i;
	int rc = 0;

	/* `fn` may call us again, to rename or remove what it is told of: copy first */
	grove__arena_init(&names);
	lock(m);
	for (s = m->shelves; s; s = s->next)
		nr++;
	keys = calloc(nr ? nr : 1, sizeof(*keys));
	if (!keys)
		return unlock(m, grove__fail_nomem(d));
	nr = 0;
	for (s = m->shelves; s && !rc; s = s->next) {
		struct grove_key *k = &keys[nr];

		if ((project && strcmp(project, s->project)) || (*s->subpath != '\0') != subs)
			continue;
		k->project = grove__arena_dup(&names, grove__slice_str(s->project));
		k->session = grove__arena_dup(&names, grove__slice_str(s->session));
		k->subpath = grove__arena_dup(&names, grove__slice_str(s->subpath));
		if (!k->project || !k->session || !k->subpath)
			rc = grove__fail_nomem(d);
		nr++;
	}
	unlock(m, 0);
	for (i = 0; i < nr && !rc; i++)
		rc = fn(payload, &keys[i]);
	grove__arena_release(&names);
	free(keys);
	return rc;
}

static int memory_list(struct grove_store *st, const char *project, grove_key_fn *fn,
		       void *payload, struct grove_detail *d)
{
	return list(st, project, false, fn, payload, d);
}

static int memory_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
			    void *payload, struct grove_detail *d)
{
	return list(st, project, true, fn, payload, d);
}

/* Is this a log that belongs to the session `k`? */
static bool belongs(const struct shelf *s, const struct grove_key *k)
{
	return !*k->subpath && *s->subpath && !strcmp(s->project, k->project) &&
	       !strcmp(s->session, k->session);
}

static int memory_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct shelf **at, *s;

	lock(m);
	at = place(m, key);
	s = *at;
	if (!s)
		return unlock(m, no_log(d, key));
	*at = s->next;
	drop(s);
	for (at = &m->shelves; *at;) {
		s = *at;
		if (!belongs(s, key)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		drop(s);
	}
	return unlock(m, 0);
}

/* Is anything under this name, be it only what would belong to it? */
static bool taken(struct memory_store *m, const struct grove_key *k)
{
	struct shelf *s;

	for (s = m->shelves; s; s = s->next)
		if (belongs(s, k))
			return true;
	return *place(m, k) != NULL;
}

static int memory_rename(struct grove_store *st, const struct grove_key *from,
			 const struct grove_key *to, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct grove_key key = *to;
	struct shelf *s, *first;
	bool more = false;
	int rc = 0;

	lock(m);
	first = *place(m, from);
	for (s = m->shelves; s; s = s->next)
		more = more || belongs(s, from);
	if (!first)
		rc = no_log(d, from);
	else if (taken(m, to))
		rc = grove__fail(d, GROVE_EEXIST, NULL, "there is a session %.200s already",
				 to->session);
	else if (*to->subpath && (more || first->attached))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "%.200s has attachments of its own",
				 from->session);
	/* what belongs to it first: if memory ends, the session is still there */
	for (s = m->shelves; s && !rc && more; s = s->next)
		if (belongs(s, from)) {
			key.subpath = s->subpath;
			rc = set_key(s, &key) ? grove__fail_nomem(d) : 0;
		}
	if (!rc && set_key(first, to))
		rc = grove__fail_nomem(d);
	return unlock(m, rc);
}

static struct named *find_named(struct named *n, const char *name)
{
	while (n && strcmp(n->name, name))
		n = n->next;
	return n;
}

static int put_named(struct named **list, const char *name, struct grove_slice bytes,
		     struct grove_detail *d)
{
	struct named *n = find_named(*list, name);
	struct grove_buf copy = GROVE_BUF_INIT;

	if (grove__buf_add_slice(&copy, bytes))
		return grove__fail_nomem(d);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (n)
			n->name = strdup(name);
		if (!n || !n->name) {
			free(n);
			grove__buf_release(&copy);
			return grove__fail_nomem(d);
		}
		n->next = *list;
		*list = n;
	}
	grove__buf_release(&n->bytes);
	n->bytes = copy;
	return 0;
}

static int get_named(struct named *list, const char *name, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct named *n = find_named(list, name);

	if (!n)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "nothing named %.200s", name);
	return grove__buf_add_slice(out, grove__buf_slice(&n->bytes)) ? grove__fail_nomem(d) : 0;
}

static int memory_meta_get(struct grove_log *l, const char *name, struct grove_buf *out,
			   struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);

	lock(m);
	return unlock(m, get_named(log_of(l)->shelf->meta, name, out, d));
}

static int memory_meta_put(struct grove_log *l, const char *name, struct grove_slice value,
			   struct grove_detail *d)
{
	struct memory_store *m = store_of(l->store);

	if (!log_of(l)->writable)
		return read_only(d);
	lock(m);
	return unlock(m, put_named(&log_of(l)->shelf->meta, name, value, d));
}

/* Attachments belong to the session, whichever of its logs the key names. */
static struct shelf *session_of(struct memory_store *m, const struct grove_key *key)
{
	struct grove_key session = { key->project, key->session, "" };

	return *place(m, &session);
}

static int memory_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_slice bytes, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct shelf *s;

	lock(m);
	s = session_of(m, key);
	return unlock(m, s ? put_named(&s->attached, name, bytes, d) : no_log(d, key));
}

static int memory_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_buf *out, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct shelf *s;

	lock(m);
	s = session_of(m, key);
	return unlock(m, s ? get_named(s->attached, name, out, d) : no_log(d, key));
}

static int memory_attach_list(struct grove_store *st, const struct grove_key *key,
			      grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct memory_store *m = store_of(st);
	struct {
		const char *name;
		uint64_t size;
	} *found = NULL;
	struct grove__arena names;
	struct named *n;
	struct shelf *s;
	size_t nr = 0;
	int rc = 0;

	/* `fn` may call us again: copy first */
	grove__arena_init(&names);
	lock(m);
	s = session_of(m, key);
	if (!s)
		return unlock(m, no_log(d, key));
	for (n = s->attached; n; n = n->next)
		nr++;
	found = calloc(nr ? nr : 1, sizeof(*found));
	if (!found)
		return unlock(m, grove__fail_nomem(d));
	nr = 0;
	for (n = s->attached; n && !rc; n = n->next) {
		found[nr].size = n->bytes.len;
		found[nr].name = grove__arena_dup(&names, grove__slice_str(n->name));
		if (!found[nr++].name)
			rc = grove__fail_nomem(d);
	}
	unlock(m, 0);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = fn(payload, found[i].name, found[i].size);
	grove__arena_release(&names);
	free(found);
	return rc;
}

static void memory_close(struct grove_store *st)
{
	struct memory_store *m = store_of(st);
	struct shelf *s, *next;

	for (s = m->shelves; s; s = next) {
		next = s->next;
		drop(s);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct grove_store_ops memory_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "memory",
	.open = memory_open,
	.close_log = memory_close_log,
	.stat = memory_stat,
	.read = memory_read,
	.fetch = memory_fetch,
	.append = memory_append,
	.replace = memory_replace,
	.rewrite = memory_rewrite,
	.list = memory_list,
	.list_subs = memory_list_subs,
	.cut = memory_cut,
	.remove = memory_remove,
	.rename = memory_rename,
	.meta_get = memory_meta_get,
	.meta_put = memory_meta_put,
	.attach_put = memory_attach_put,
	.attach_get = memory_attach_get,
	.attach_list = memory_attach_list,
	.close = memory_close,
};

int grove__store_memory_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	struct memory_store *m;

	*out = NULL;
	if (*rest)
		return grove__fail(d, GROVE_EINVAL, NULL, "memory: takes nothing behind it");
	m = calloc(1, sizeof(*m));
	if (!m || pthread_mutex_init(&m->lock, NULL)) {
		free(m);
		return grove__fail_nomem(d);
	}
	m->base.ops = &memory_ops;
	m->base.url = "memory:";
	*out = &m->base;
	return 0;
}
