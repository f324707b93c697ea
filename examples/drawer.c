/*
 * drawer.c: a complete store, written against <grove/sys.h> alone.
 *
 * It keeps its logs in memory: a list of drawers, each with an array of lines. A
 * position is a line's index. One lock guards everything, and a drawer that is
 * removed can be read by the handles that still have it open, but not written to.
 *
 * What it leaves out: update, changes and survey, for which grove falls
 * back to rewriting, reading and asking each log. What it must get right:
 * compare-and-swap at the tail, all or nothing, and leases.
 *
 * tests/conformance runs the suite that every store has to pass over this one.
 */
#include "drawer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A value or an attachment. */
struct named {
	struct named *next;
	char *name, *bytes;
	size_t len;
};

struct line {
	char *bytes;
	size_t len;
};

struct drawer {
	struct drawer *next;
	char *project, *session, *subpath;
	struct line *lines;
	size_t nr, cap;
	uint64_t bytes, generation, base;
	struct named *values, *files;
	struct grove_lease lease;
	int removed;
	unsigned refs;           /* the store's own, and one for each handle */
};

struct cabinet {
	struct grove_store base;
	pthread_mutex_t lock;
	struct drawer *drawers;
	char url[];
};

struct handle {
	struct grove_store_log base;
	struct drawer *drawer;
	uint64_t lease;          /* the number that this handle has; 0: none */
	int writable;
};

/* Say what went wrong, in the caller's detail if there is one. */
static int fail(struct grove_detail *d, int code, const char *format, ...)
{
	va_list ap;

	if (d) {
		memset(d, 0, sizeof(*d));
		d->code = code;
		va_start(ap, format);
		vsnprintf(d->message, sizeof(d->message), format, ap);
		va_end(ap);
	}
	return code;
}

static int no_memory(struct grove_detail *d)
{
	return fail(d, GROVE_ENOMEM, "out of memory");
}

static int no_session(struct grove_detail *d, const struct grove_key *key)
{
	return fail(d, GROVE_ENOTFOUND, "no session %.200s", key->session);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct cabinet *lock(struct grove_store *st)
{
	struct cabinet *c = (struct cabinet *)st;

	pthread_mutex_lock(&c->lock);
	return c;
}

static int unlock(struct cabinet *c, int rc)
{
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* -------------------------------------------------------------- drawers */

static void free_lines(struct line *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(lines[i].bytes);
	free(lines);
}

static void free_named(struct named *n)
{
	struct named *next;

	for (; n; n = next) {
		next = n->next;
		free(n->name);
		free(n->bytes);
		free(n);
	}
}

static void drop(struct drawer *x)
{
	if (--x->refs)
		return;
	free_lines(x->lines, x->nr);
	free_named(x->values);
	free_named(x->files);
	free(x->project);
	free(x->session);
	free(x->subpath);
	free(x);
}

static int is_under(const struct drawer *x, const struct grove_key *key)
{
	return !strcmp(x->project, key->project) && !strcmp(x->session, key->session);
}

/* Does this drawer belong to the session `key`? */
static int belongs(const struct drawer *x, const struct grove_key *key)
{
	return !*key->subpath && *x->subpath && is_under(x, key);
}

/* Where the drawer is linked, or would be added. */
static struct drawer **find(struct cabinet *c, const struct grove_key *key)
{
	struct drawer **at = &c->drawers;

	while (*at && (!is_under(*at, key) || strcmp((*at)->subpath, key->subpath)))
		at = &(*at)->next;
	return at;
}

/* Attachments belong to the session, whichever of its logs the key names. */
static struct drawer *find_session(struct cabinet *c, const struct grove_key *key)
{
	struct grove_key session = { key->project, key->session, "" };

	return *find(c, &session);
}

static int set_key(struct drawer *x, const char *project, const char *session, const char *subpath)
{
	char *a = strdup(project), *b = strdup(session), *c = strdup(subpath);

	if (!a || !b || !c) {
		free(a);
		free(b);
		free(c);
		return GROVE_ENOMEM;
	}
	free(x->project);
	free(x->session);
	free(x->subpath);
	x->project = a;
	x->session = b;
	x->subpath = c;
	return 0;
}

static int add_drawer(struct drawer **at, const struct grove_key *key)
{
	struct drawer *x = calloc(1, sizeof(*x));

	if (!x || set_key(x, key->project, key->session, key->subpath)) {
		free(x);
		return GROVE_ENOMEM;
	}
	x->refs = 1;
	*at = x;
	return 0;
}

/* ---------------------------------------------------------- open, look, read */

static int drawer_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		       struct grove_store_log **out, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer **at = find(c, key);
	struct handle *h = calloc(1, sizeof(*h));
	int rc = h ? 0 : no_memory(d);

	if (!rc && *at && flags & GROVE_STORE_CREATE)
		rc = fail(d, GROVE_EEXIST, "there is a session %.200s already", key->session);
	else if (!rc && !*at && !(flags & GROVE_STORE_CREATE))
		rc = no_session(d, key);
	else if (!rc && !*at && add_drawer(at, key))
		rc = no_memory(d);
	if (rc) {
		free(h);
		return unlock(c, rc);
	}
	h->base.ops = st->ops;
	h->base.store = st;
	h->drawer = *at;
	h->drawer->refs++;
	h->writable = (flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE)) != 0;
	*out = &h->base;
	return unlock(c, 0);
}

static void drawer_close_log(struct grove_store_log *log)
{
	struct cabinet *c = lock(log->store);

	drop(((struct handle *)log)->drawer);
	unlock(c, 0);
	free(log);
}

static int drawer_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		       struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	const struct drawer *x = ((struct handle *)log)->drawer;

	if (x->removed)
		return unlock(c, fail(d, GROVE_ENOTFOUND, "the session was removed"));
	out->tail = x->nr;
	out->by_line = 1;
	out->bytes = x->bytes;
	out->generation = x->generation;
	out->base = x->base;
	return unlock(c, 0);
}

static int drawer_read(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		       size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	const struct drawer *x = ((struct handle *)log)->drawer;

	run->by_line = 1;
	run->pos = run->next = pos;
	if (until > x->nr)
		return unlock(c, fail(d, GROVE_ESTALE, "the session became shorter"));
	/* one byte more than the line, for its line end */
	while (run->next < until && x->lines[run->next].len < cap - run->len) {
		const struct line *l = &x->lines[run->next++];

		memcpy(buf + run->len, l->bytes, l->len);
		run->len += l->len;
		buf[run->len++] = '\n';
	}
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return unlock(c, 0);
}

static int drawer_fetch(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf,
			size_t len, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	const struct drawer *x = ((struct handle *)log)->drawer;
	int rc = 0;

	if (pos >= x->nr || off > x->lines[pos].len || len > x->lines[pos].len - off)
		rc = fail(d, GROVE_ESTALE, "the line is not there any more");
	else if (len)
		memcpy(buf, x->lines[pos].bytes + off, len);
	return unlock(c, rc);
}

/* ------------------------------------------------------------------- write */

/* With the lock: may this handle write? */
static int may_write(const struct handle *h, struct grove_detail *d)
{
	const struct grove_lease *held = &h->drawer->lease;

	if (!h->writable)
		return fail(d, GROVE_EACCESS, "opened for reading only");
	if (h->drawer->removed)
		return fail(d, GROVE_ESTALE, "the session was removed");
	if (h->lease ? held->number == h->lease : !*held->owner || held->until <= now_ms())
		return 0;
	return fail(d, GROVE_ECONFLICT, h->lease ? "the lease was taken over by %.100s"
						 : "%.100s has a lease to write to it", held->owner);
}

static int at_tail(const struct drawer *x, uint64_t expect, struct grove_detail *d)
{
	return expect == GROVE_ANY_POS || expect == x->nr
		       ? 0 : fail(d, GROVE_ECONFLICT, "another writer has appended");
}

static int at_base(const struct drawer *x, uint64_t base, struct grove_detail *d)
{
	return base == GROVE_ANY_BASE || base == x->base
		       ? 0 : fail(d, GROVE_ECONFLICT, "another writer has changed a line or a value");
}

static int push(struct line **lines, size_t *nr, size_t *cap, struct grove_slice text)
{
	struct line *more = *lines;
	char *copy = malloc(text.len + 1);

	if (copy && *nr == *cap)
		more = realloc(*lines, (*cap * 2 + 16) * sizeof(*more));
	if (!copy || !more) {
		free(copy);
		return GROVE_ENOMEM;
	}
	if (*nr == *cap)
		*cap = *cap * 2 + 16;
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	*lines = more;
	more[(*nr)++] = (struct line){ copy, text.len };
	return 0;
}

/* Removes every line from `pos` on. */
static void shorten(struct drawer *x, uint64_t pos)
{
	while (x->nr > pos) {
		x->bytes -= x->lines[--x->nr].len + 1;
		free(x->lines[x->nr].bytes);
	}
}

/* A change that is not an append. The rev, base plus lines, must never go back. */
static void changed(struct drawer *x, uint64_t lines_before)
{
	x->base += 1 + (x->nr < lines_before ? lines_before - x->nr : 0);
}

static int drawer_append(struct grove_store_log *log, const struct grove_store_record *rec,
			 size_t nr, uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_store_appended *out, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	struct drawer *x = ((struct handle *)log)->drawer;
	int rc = may_write((struct handle *)log, d);

	(void)sync;
	if (!rc)
		rc = at_tail(x, expect, d);
	if (!rc)
		rc = at_base(x, base, d);
	if (rc)
		return unlock(c, rc);
	out->pos = x->nr;
	for (size_t i = 0; i < nr; i++) {
		if (push(&x->lines, &x->nr, &x->cap, rec[i].line)) {
			shorten(x, out->pos);
			return unlock(c, no_memory(d));
		}
		x->bytes += rec[i].line.len + 1;
	}
	out->tail = x->nr;
	return unlock(c, 0);
}

static int drawer_replace(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	struct drawer *x = ((struct handle *)log)->drawer;
	int rc = may_write((struct handle *)log, d);

	(void)sync;
	if (!rc && pos >= x->nr)
		rc = fail(d, GROVE_ESTALE, "the line is not there any more");
	else if (!rc && x->lines[pos].len != line.len)
		rc = fail(d, GROVE_EINVAL, "a line of another length");
	if (rc)
		return unlock(c, rc);
	if (line.len)
		memcpy(x->lines[pos].bytes, line.ptr, line.len);
	x->generation++;
	changed(x, x->nr);
	return unlock(c, 0);
}

static int drawer_cut(struct grove_store_log *log, uint64_t pos, uint64_t expect,
		      enum grove_sync sync, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	struct drawer *x = ((struct handle *)log)->drawer;
	uint64_t before = x->nr;
	int rc = may_write((struct handle *)log, d);

	(void)sync;
	if (!rc)
		rc = at_tail(x, expect, d);
	if (!rc && pos > x->nr)
		rc = fail(d, GROVE_EINVAL, "no line begins there");
	if (rc)
		return unlock(c, rc);
	shorten(x, pos);
	x->generation++;
	changed(x, before);
	return unlock(c, 0);
}

/* `next` may read this very log, so there is no lock while it runs; the tail is compared twice. */
static int drawer_rewrite(struct grove_store_log *log, grove_line_fn *next, void *payload,
			  uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	struct drawer *x = ((struct handle *)log)->drawer, fresh = { .nr = 0 };
	uint64_t before = x->nr;
	struct grove_store_record rec;
	int rc = may_write((struct handle *)log, d);

	(void)flags;
	if (!rc)
		rc = at_tail(x, expect, d);
	unlock(c, rc);
	while (!rc && !(rc = next(payload, &rec))) {
		rc = push(&fresh.lines, &fresh.nr, &fresh.cap, rec.line) ? no_memory(d) : 0;
		fresh.bytes += rec.line.len + 1;
	}
	lock(log->store);
	if (rc == 1)
		rc = may_write((struct handle *)log, d);
	if (!rc)
		rc = at_tail(x, before, d);
	if (rc) {
		free_lines(fresh.lines, fresh.nr);
		return unlock(c, rc);
	}
	free_lines(x->lines, x->nr);
	x->lines = fresh.lines;
	x->nr = fresh.nr;
	x->cap = fresh.cap;
	x->bytes = fresh.bytes;
	x->generation++;
	changed(x, before);
	return unlock(c, 0);
}

/* ------------------------------------------------------------------- leases */

static int drawer_lease(struct grove_store_log *log, const char *owner, int64_t ms,
			struct grove_lease *out, struct grove_detail *d)
{
	struct handle *h = (struct handle *)log;
	struct cabinet *c = lock(log->store);
	struct grove_lease *held = &h->drawer->lease;
	int mine = h->lease && held->number == h->lease, rc = 0;

	if (!h->writable) {
		rc = fail(d, GROVE_EACCESS, "opened for reading only");
	} else if (!ms) {
		/* the number stays, so that the next one is higher */
		if (mine)
			held->owner[0] = '\0';
		h->lease = 0;
	} else if (!mine && (!owner || (*held->owner && held->until > now_ms() &&
					strcmp(held->owner, owner)))) {
		rc = fail(d, GROVE_ECONFLICT, "%.100s has a lease to write to it", held->owner);
	} else {
		h->lease = held->number += !mine;
		if (owner)
			snprintf(held->owner, sizeof(held->owner), "%s", owner);
		held->until = now_ms() + ms;
	}
	*out = *held;
	return unlock(c, rc);
}

static int drawer_lease_get(struct grove_store_log *log, struct grove_lease *out,
			    struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);

	(void)d;
	*out = ((struct handle *)log)->drawer->lease;
	if (!*out->owner)
		out->until = 0;
	return unlock(c, 0);
}

/* ---------------------------------------------------- values and attachments */

static int put_named(struct named **list, const char *name, struct grove_slice bytes,
		     struct grove_detail *d)
{
	struct named *n = *list;
	char *copy = malloc(bytes.len + 1);

	while (n && strcmp(n->name, name))
		n = n->next;
	if (copy && !n && (n = calloc(1, sizeof(*n)))) {
		n->name = strdup(name);
		n->next = *list;
		if (n->name)
			*list = n;
	}
	if (!copy || !n || !n->name) {
		free(copy);
		if (n && !n->name)
			free(n);
		return no_memory(d);
	}
	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	free(n->bytes);
	n->bytes = copy;
	n->len = bytes.len;
	return 0;
}

static int get_named(const struct named *n, const char *name, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct grove_sink to = grove_buf_sink(out);

	while (n && strcmp(n->name, name))
		n = n->next;
	if (!n)
		return fail(d, GROVE_ENOTFOUND, "nothing named %.200s", name);
	return to.write(to.payload, n->bytes, n->len) ? no_memory(d) : 0;
}

static int drawer_meta_get(struct grove_store_log *log, const char *name, struct grove_buf *out,
			   struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);

	return unlock(c, get_named(((struct handle *)log)->drawer->values, name, out, d));
}

static int drawer_meta_put(struct grove_store_log *log, const char *name, struct grove_slice value,
			   uint64_t expect, uint64_t base, struct grove_detail *d)
{
	struct cabinet *c = lock(log->store);
	struct drawer *x = ((struct handle *)log)->drawer;
	int rc = may_write((struct handle *)log, d);

	if (!rc)
		rc = at_tail(x, expect, d);
	if (!rc)
		rc = at_base(x, base, d);
	if (!rc)
		rc = put_named(&x->values, name, value, d);
	if (!rc)
		changed(x, x->nr);
	return unlock(c, rc);
}

static int drawer_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_slice bytes, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer *x = find_session(c, key);

	return unlock(c, x ? put_named(&x->files, name, bytes, d) : no_session(d, key));
}

static int drawer_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_buf *out, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer *x = find_session(c, key);

	return unlock(c, x ? get_named(x->files, name, out, d) : no_session(d, key));
}

/* `fn` may call the store again, so it gets a copy, and is called without the lock. */
static int drawer_attach_list(struct grove_store *st, const struct grove_key *key,
			      grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer *x = find_session(c, key);
	struct named *copy = NULL, *n;
	int rc = x ? 0 : no_session(d, key);

	for (n = x ? x->files : NULL; n && !rc; n = n->next) {
		rc = put_named(&copy, n->name, (struct grove_slice){ "", 0 }, d);
		if (!rc)
			copy->len = n->len;
	}
	unlock(c, 0);
	for (n = copy; n && !rc; n = n->next)
		rc = fn(payload, n->name, n->len);
	free_named(copy);
	return rc;
}

/* --------------------------------------------------------- list, move, remove */

static int drawer_list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer *copy = NULL, *x, *next;
	int rc = 0;

	for (x = c->drawers; x && !rc; x = x->next) {
		struct grove_key key = { x->project, x->session, x->subpath };

		if ((project && strcmp(project, x->project)) || (*x->subpath != 0) != subs)
			continue;
		next = copy;
		rc = add_drawer(&copy, &key) ? no_memory(d) : 0;
		if (!rc)
			copy->next = next;
	}
	unlock(c, 0);
	for (x = copy; x; x = next) {
		struct grove_key key = { x->project, x->session, x->subpath };

		if (!rc)
			rc = fn(payload, &key);
		next = x->next;
		drop(x);
	}
	return rc;
}

static int drawer_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer **at = find(c, key), *x = *at;

	if (!x)
		return unlock(c, no_session(d, key));
	for (at = &c->drawers; *at;) {
		struct drawer *y = *at;

		if (y != x && !belongs(y, key)) {
			at = &y->next;
			continue;
		}
		*at = y->next;
		y->removed = 1;
		drop(y);
	}
	return unlock(c, 0);
}

static int drawer_rename(struct grove_store *st, const struct grove_key *from,
			 const struct grove_key *to, struct grove_detail *d)
{
	struct cabinet *c = lock(st);
	struct drawer *x = *find(c, from), *y;
	int taken = *find(c, to) != NULL, subs = 0, rc = 0;

	for (y = c->drawers; y; y = y->next) {
		taken = taken || belongs(y, to);
		subs = subs || belongs(y, from);
	}
	if (!x)
		rc = no_session(d, from);
	else if (taken)
		rc = fail(d, GROVE_EEXIST, "there is a session %.200s already", to->session);
	else if (*to->subpath && (subs || x->files))
		rc = fail(d, GROVE_EINVAL, "%.200s has attachments of its own", from->session);
	/* the session itself comes last: if memory ends, it is still there */
	for (y = c->drawers; y && !rc; y = y->next)
		if (belongs(y, from) && set_key(y, to->project, to->session, y->subpath))
			rc = no_memory(d);
	if (!rc && set_key(x, to->project, to->session, to->subpath))
		rc = no_memory(d);
	if (!rc)
		changed(x, x->nr);
	return unlock(c, rc);
}

/* ---------------------------------------------------------------- the store */

static void drawer_close(struct grove_store *st)
{
	struct cabinet *c = (struct cabinet *)st;
	struct drawer *next;

	for (struct drawer *x = c->drawers; x; x = next) {
		next = x->next;
		drop(x);
	}
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static const struct grove_store_ops drawer_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "drawer",
	.close = drawer_close,
	.list = drawer_list,
	.remove = drawer_remove,
	.rename = drawer_rename,
	.attach_put = drawer_attach_put,
	.attach_get = drawer_attach_get,
	.attach_list = drawer_attach_list,
	.open = drawer_open,
	.close_log = drawer_close_log,
	.stat = drawer_stat,
	.read = drawer_read,
	.fetch = drawer_fetch,
	.append = drawer_append,
	.replace = drawer_replace,
	.cut = drawer_cut,
	.rewrite = drawer_rewrite,
	.meta_get = drawer_meta_get,
	.meta_put = drawer_meta_put,
	.lease = drawer_lease,
	.lease_get = drawer_lease_get,
};

static int open_cabinet(void *payload, const char *url, struct grove_store **out,
			struct grove_detail *d)
{
	size_t len = strlen(url) + 1;
	struct cabinet *c = calloc(1, sizeof(*c) + len);

	(void)payload;
	if (!c)
		return no_memory(d);
	pthread_mutex_init(&c->lock, NULL);
	memcpy(c->url, url, len);
	c->base.ops = &drawer_ops;
	c->base.url = c->url;
	*out = &c->base;
	return 0;
}

const struct grove_store_type drawer_type = {
	.size = sizeof(struct grove_store_type),
	.scheme = "drawer",
	.open = open_cabinet,
};
