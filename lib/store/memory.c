/*
 * store/memory.c: logs in memory: the reference for every other store.
 *
 * All handles of a store share its logs, under one lock: this store is for correctness,
 * not for speed. It defines the numbers of a log, and every other store uses them in
 * the same sense:
 *
 *     seq         a line's place in the log, from 0; here also the position
 *     tail        the seq of the next line; compare-and-swap compares it, so of
 *                 two writers that saw the same tail one wins
 *     generation  changes when an existing line changes: replaced, updated,
 *                 truncated, rewritten. While it is the same, what was read up to
 *                 the old tail is still true, and the log has only grown
 *     base        counts the changes that are not appends: those to lines, and those
 *                 to values that are stored with the log (leaf, name, ...)
 *     rev         base + tail: one number for everything that happened so far
 *
 * A log of three lines, step by step:
 *
 *     event                     tail  generation  base  rev   recorded as
 *                                  3       0        0    3
 *     a line is appended           4       0        0    4    -
 *     the value "leaf" is put      4       0        1    5    LEAF, rev 5, 4 lines
 *     line 1 is updated            4       1        2    6    UPDATE, rev 6, 4 lines
 *     truncated to 2               2       2        5    7    RESET, rev 7, 2 lines
 *
 * The rev must never decrease, or a watcher that knows rev 6 would take 5 for old news.
 * An append increases it through the tail. The truncation makes the tail smaller by
 * two, so the base grows by three: one for the change, two to make up for the lines
 * (grove__memory_note()).
 *
 * A watcher that knows rev R asks for the last change at R or before and all after it.
 * The gaps between two changes, or after the last, are appended lines, which need no
 * record. After a RESET everything has to be read again, so the changes before it are
 * deleted.
 *
 * A change allocates its record before it touches anything, so that it happens with its
 * record or not at all. A log that is removed while a handle is open can still be read by
 * that handle, but not written to: the shelf counts its users.
 */
#include "store/memory.h"

#include "base/arena.h"

#include <stdlib.h>

static const struct grove_store_ops memory_ops;

static void free_named(struct memory_named *n)
{
	struct memory_named *next;

	for (; n; n = next) {
		next = n->next;
		free(n->name);
		grove__buf_release(&n->bytes);
		free(n);
	}
}

void grove__memory_free_line(struct memory_line *x)
{
	free(x->ptr);
}

static void free_lines(struct memory_line *lines, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		grove__memory_free_line(&lines[i]);
	free(lines);
}

static void drop(struct memory_shelf *s)
{
	if (--s->refs)
		return;
	free_lines(s->lines, s->nr);
	grove__memory_free_changes(s);
	free_named(s->meta);
	free_named(s->attached);
	free(s->project);
	free(s->session);
	free(s->subpath);
	free(s);
}

/* Where the log is linked, or where it would be: at the end of the list. */
static struct memory_shelf **find_shelf(struct memory_store *m, const struct grove_key *k)
{
	struct memory_shelf **p;

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

static int set_key(struct memory_shelf *s, const struct grove_key *k)
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

static int create(struct memory_shelf **at, const struct grove_key *key)
{
	struct memory_shelf *s = calloc(1, sizeof(*s));

	if (!s || set_key(s, key)) {
		free(s);
		return GROVE_ENOMEM;
	}
	s->refs = 1;
	s->changed = grove__sys_now_ms();
	*at = s;
	return 0;
}

static int read_only(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EACCESS, NULL, "opened read-only");
}

/* Begins a change: the lock is held, unless it fails. */
static int begin_change(struct grove_store_log *l, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	int rc;

	if (!grove__memory_log(l)->writable)
		return read_only(d);
	grove__memory_lock(m);
	rc = grove__memory_may_write(grove__memory_log(l), d);
	return rc ? grove__memory_unlock(m, rc) : 0;
}

static int memory_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		       struct grove_store_log **out, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct memory_log *log = calloc(1, sizeof(*log));
	struct memory_shelf **at;
	int rc = 0;

	if (!log)
		return grove__fail_nomem(d);
	grove__memory_lock(m);
	at = find_shelf(m, key);
	if (*at && flags & GROVE_STORE_CREATE)
		rc = grove__fail(d, GROVE_EEXIST, NULL, "there is already a session %.200s",
				 key->session);
	else if (!*at && !(flags & GROVE_STORE_CREATE))
		rc = no_log(d, key);
	else if (!*at && create(at, key))
		rc = grove__fail_nomem(d);
	if (rc) {
		free(log);
		return grove__memory_unlock(m, rc);
	}
	log->base.ops = &memory_ops;
	log->base.store = st;
	log->shelf = *at;
	log->shelf->refs++;
	log->writable = flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE);
	*out = &log->base;
	return grove__memory_unlock(m, 0);
}

static void memory_close_log(struct grove_store_log *l)
{
	struct memory_store *m = grove__memory_store(l->store);

	grove__memory_lock(m);
	drop(grove__memory_log(l)->shelf);
	grove__memory_unlock(m, 0);
	free(l);
}

static int memory_stat(struct grove_store_log *l, struct grove_store_log_stat *out,
		       struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;

	grove__memory_lock(m);
	if (s->removed)
		return grove__memory_unlock(m, grove__fail(d, GROVE_ENOTFOUND, NULL,
							   "the session was removed"));
	out->mtime_ms = s->changed;
	out->mtime_ns = s->changed * 1000000;
	out->tail = s->nr;
	out->by_line = 1;
	/* each line was counted with an LF, which an unfinished last one does not have */
	out->bytes = s->bytes - s->unfinished;
	out->generation = s->generation;
	out->base = s->base;
	return grove__memory_unlock(m, 0);
}

static int memory_read(struct grove_store_log *l, uint64_t pos, uint64_t until, char *buf,
		       size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;

	grove__memory_lock(m);
	run->by_line = 1;
	run->pos = run->next = pos;
	if (until > s->nr)
		return grove__memory_unlock(m, grove__fail(d, GROVE_ESTALE, NULL, "the session became shorter"));
	while (run->next < until && s->lines[run->next].len < cap - run->len) {
		const struct memory_line *x = &s->lines[run->next++];

		if (x->len)
			memcpy(buf + run->len, x->ptr, x->len);
		run->len += x->len;
		if (!s->unfinished || run->next != s->nr)
			buf[run->len++] = '\n';
	}
	/* a line longer than the buffer: the reader fetches it in pieces */
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return grove__memory_unlock(m, 0);
}

static int memory_fetch(struct grove_store_log *l, uint64_t pos, uint64_t off, char *buf,
			size_t len, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	int rc = 0;

	grove__memory_lock(m);
	if (pos >= s->nr || off > s->lines[pos].len || len > s->lines[pos].len - off)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the line no longer exists");
	else if (len)
		memcpy(buf, s->lines[pos].ptr + off, len);
	return grove__memory_unlock(m, rc);
}

struct memory_line grove__memory_line(const struct grove_store_record *rec)
{
	struct memory_line x = {
		.ptr = malloc(rec->line.len + 1), .len = rec->line.len,
	};

	if (x.ptr && x.len)
		memcpy(x.ptr, rec->line.ptr, x.len);
	return x;
}

static int push(struct memory_line **lines, uint64_t *nr, uint64_t *cap,
		const struct grove_store_record *rec)
{
	struct memory_line x = grove__memory_line(rec);

	if (!x.ptr)
		return GROVE_ENOMEM;
	if (*nr == *cap) {
		uint64_t more = *cap ? *cap * 2 : 16;
		struct memory_line *p = realloc(*lines, more * sizeof(*p));

		if (!p) {
			grove__memory_free_line(&x);
			return GROVE_ENOMEM;
		}
		*lines = p;
		*cap = more;
	}
	(*lines)[(*nr)++] = x;
	return 0;
}

static int memory_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
			 uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_store_appended *out, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	uint64_t before, bytes;
	int rc;

	(void)sync;
	rc = begin_change(l, d);
	if (rc)
		return rc;
	if (expect != GROVE_ANY_POS && expect != s->nr)
		return grove__memory_unlock(m, grove__fail(d, GROVE_ECONFLICT, NULL,
					     "another writer appended first"));
	if (base != GROVE_ANY_BASE && base != s->base)
		return grove__memory_unlock(m, grove__log_base_moved(NULL, d));
	before = s->nr;
	bytes = s->bytes;
	/* all or none: a batch that runs out of memory takes its first lines back */
	for (size_t i = 0; i < nr; i++) {
		if (push(&s->lines, &s->nr, &s->cap, &rec[i])) {
			while (s->nr > before)
				grove__memory_free_line(&s->lines[--s->nr]);
			s->bytes = bytes;
			return grove__memory_unlock(m, grove__fail_nomem(d));
		}
		s->bytes += rec[i].line.len + 1;
	}
	s->changed = nr ? grove__sys_now_ms() : s->changed;
	/* the first new line ends a last line that had no LF */
	out->pad = nr && s->unfinished;
	s->unfinished = s->unfinished && !nr;
	out->pos = before;
	out->tail = s->nr;
	return grove__memory_unlock(m, 0);
}

static int memory_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	int rc;

	(void)sync;
	rc = begin_change(l, d);
	if (rc)
		return rc;
	if (pos >= s->nr)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the line no longer exists");
	else if (s->lines[pos].len != line.len)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "the new line must have the length of the old one");
	if (!rc)
		rc = grove__memory_note_room(s, d);
	if (rc)
		return grove__memory_unlock(m, rc);
	if (line.len)
		memcpy(s->lines[pos].ptr, line.ptr, line.len);
	grove__memory_changed(s);
	grove__memory_note(s, s->nr, GROVE_CHANGE_NAME, NULL);
	return grove__memory_unlock(m, 0);
}

static int memory_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect,
		      enum grove_sync sync, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	uint64_t before;
	int rc;

	(void)sync;
	rc = begin_change(l, d);
	if (rc)
		return rc;
	if (expect != s->nr)
		rc = grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	else if (pos > s->nr)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "no line begins there");
	if (!rc)
		rc = grove__memory_note_room(s, d);
	if (rc)
		return grove__memory_unlock(m, rc);
	before = s->nr;
	s->unfinished = s->unfinished && pos == before;
	while (s->nr > pos) {
		s->bytes -= s->lines[--s->nr].len + 1;
		grove__memory_free_line(&s->lines[s->nr]);
	}
	grove__memory_changed(s);
	grove__memory_note(s, before, GROVE_CHANGE_RESET, NULL);
	return grove__memory_unlock(m, 0);
}

static int memory_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
			  uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	struct memory_line *lines = NULL;
	uint64_t nr = 0, cap = 0, bytes = 0, before;
	struct grove_store_record rec;
	int rc;

	(void)flags;
	rc = begin_change(l, d);
	if (rc)
		return rc;
	before = s->nr;
	grove__memory_unlock(m, 0);
	if (expect != GROVE_ANY_POS && expect != before)
		return grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	/* `next` may read this very log: no lock while it runs */
	while (!(rc = next(payload, &rec))) {
		if (push(&lines, &nr, &cap, &rec)) {
			rc = grove__fail_nomem(d);
			break;
		}
		bytes += rec.line.len + 1;
	}
	rc = rc == 1 ? 0 : rc;
	grove__memory_lock(m);
	if (!rc && before != s->nr)
		rc = grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	if (!rc)
		rc = grove__memory_may_write(grove__memory_log(l), d);
	if (!rc)
		rc = grove__memory_note_room(s, d);
	if (rc) {
		free_lines(lines, nr);
		return grove__memory_unlock(m, rc);
	}
	free_lines(s->lines, s->nr);
	s->lines = lines;
	s->nr = nr;
	s->cap = cap;
	s->bytes = bytes;
	s->unfinished = false;
	grove__memory_changed(s);
	grove__memory_note(s, before, GROVE_CHANGE_RESET, NULL);
	return grove__memory_unlock(m, 0);
}

static int memory_list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct grove_key *keys;
	struct grove__arena names;
	struct memory_shelf *s;
	size_t nr = 0, i;
	int rc = 0;

	/* `fn` may call us again, to rename or remove a log: copy first */
	grove__arena_init(&names);
	grove__memory_lock(m);
	for (s = m->shelves; s; s = s->next)
		nr++;
	keys = calloc(nr ? nr : 1, sizeof(*keys));
	if (!keys)
		return grove__memory_unlock(m, grove__fail_nomem(d));
	nr = 0;
	for (s = m->shelves; s && !rc; s = s->next) {
		struct grove_key *k = &keys[nr];

		if ((project && strcmp(project, s->project)) || (*s->subpath != '\0') != !!subs)
			continue;
		k->project = grove__arena_dup(&names, grove__slice_str(s->project));
		k->session = grove__arena_dup(&names, grove__slice_str(s->session));
		k->subpath = grove__arena_dup(&names, grove__slice_str(s->subpath));
		if (!k->project || !k->session || !k->subpath)
			rc = grove__fail_nomem(d);
		nr++;
	}
	grove__memory_unlock(m, 0);
	for (i = 0; i < nr && !rc; i++)
		rc = fn(payload, &keys[i]);
	grove__arena_release(&names);
	free(keys);
	return rc;
}

/* True if this log belongs to the session `k`. */
static bool belongs(const struct memory_shelf *s, const struct grove_key *k)
{
	return !*k->subpath && *s->subpath && !strcmp(s->project, k->project) &&
	       !strcmp(s->session, k->session);
}

static int memory_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct memory_shelf **at, *s;

	grove__memory_lock(m);
	at = find_shelf(m, key);
	s = *at;
	if (!s)
		return grove__memory_unlock(m, no_log(d, key));
	*at = s->next;
	s->removed = true;
	drop(s);
	for (at = &m->shelves; *at;) {
		s = *at;
		if (!belongs(s, key)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		s->removed = true;
		drop(s);
	}
	return grove__memory_unlock(m, 0);
}

/* True if the name is taken, even if only by a log that would belong to it. */
static bool taken(struct memory_store *m, const struct grove_key *k)
{
	struct memory_shelf *s;

	for (s = m->shelves; s; s = s->next)
		if (belongs(s, k))
			return true;
	return *find_shelf(m, k) != NULL;
}

static int memory_rename(struct grove_store *st, const struct grove_key *from,
			 const struct grove_key *to, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct grove_key key = *to;
	struct memory_shelf *s, *first;
	bool more = false;
	int rc = 0;

	grove__memory_lock(m);
	first = *find_shelf(m, from);
	for (s = m->shelves; s; s = s->next)
		more = more || belongs(s, from);
	if (!first)
		rc = no_log(d, from);
	else if (taken(m, to))
		rc = grove__fail(d, GROVE_EEXIST, NULL, "there is already a session %.200s",
				 to->session);
	else if (*to->subpath && (more || first->attached))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "%.200s already has attachments",
				 from->session);
	if (!rc)
		rc = grove__memory_note_room(first, d);
	/* first what belongs to it: if memory runs out, the session is still there */
	for (s = m->shelves; s && !rc && more; s = s->next)
		if (belongs(s, from)) {
			key.subpath = s->subpath;
			rc = set_key(s, &key) ? grove__fail_nomem(d) : 0;
		}
	if (!rc && set_key(first, to))
		rc = grove__fail_nomem(d);
	/* the first name of a session is no change of it */
	if (!rc && !grove__aside_hidden(from))
		grove__memory_note(first, first->nr, GROVE_CHANGE_VALUE, NULL);
	return grove__memory_unlock(m, rc);
}

static struct memory_named *find_named(struct memory_named *n, const char *name)
{
	while (n && strcmp(n->name, name))
		n = n->next;
	return n;
}

static int put_named(struct memory_named **list, const char *name, struct grove_slice bytes,
		     struct grove_detail *d)
{
	struct memory_named *n = find_named(*list, name);
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

static int get_named(struct memory_named *list, const char *name, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct memory_named *n = find_named(list, name);

	if (!n)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "nothing is named %.200s", name);
	return grove__buf_add_slice(out, grove__buf_slice(&n->bytes)) ? grove__fail_nomem(d) : 0;
}

static int get_value(const struct memory_shelf *s, const char *name, struct grove_buf *out,
		     struct grove_detail *d)
{
	if (!s->unfinished || strcmp(name, GROVE__META_UNFINISHED))
		return get_named(s->meta, name, out, d);
	return grove__buf_add_char(out, '1') ? grove__fail_nomem(d) : 0;
}

static int put_value(struct memory_shelf *s, const char *name, struct grove_slice value,
		     struct grove_detail *d)
{
	if (strcmp(name, GROVE__META_UNFINISHED))
		return put_named(&s->meta, name, value, d);
	if (value.len && !s->nr)
		return grove__fail(d, GROVE_EINVAL, NULL,
				   "a session without lines has no last line");
	s->unfinished = value.len;
	return 0;
}

static int memory_meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
			   struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);

	grove__memory_lock(m);
	return grove__memory_unlock(m, get_value(grove__memory_log(l)->shelf, name, out, d));
}

static int memory_meta_put(struct grove_store_log *l, const char *name, struct grove_slice value,
			   uint64_t expect, uint64_t base, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_shelf *s = grove__memory_log(l)->shelf;
	enum grove_change_kind kind = grove__store_value_kind(name);
	int rc;

	if (!grove__memory_log(l)->writable)
		return read_only(d);
	grove__memory_lock(m);
	rc = kind ? grove__memory_may_write(grove__memory_log(l), d) : 0;
	if (!rc && ((expect != GROVE_ANY_POS && expect != s->nr) || (base != GROVE_ANY_BASE && base != s->base)))
		rc = grove__log_base_moved(NULL, d);
	if (!rc)
		rc = grove__memory_note_room(s, d);
	if (!rc)
		rc = put_value(s, name, value, d);
	if (!rc && kind)
		grove__memory_note(s, s->nr, kind, NULL);
	return grove__memory_unlock(m, rc);
}

/* Attachments belong to the session, whichever of its logs the key names. */
static struct memory_shelf *session_of(struct memory_store *m, const struct grove_key *key)
{
	struct grove_key session = { key->project, key->session, "" };

	return *find_shelf(m, &session);
}

static int memory_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_slice bytes, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct memory_shelf *s;

	grove__memory_lock(m);
	s = session_of(m, key);
	return grove__memory_unlock(m, s ? put_named(&s->attached, name, bytes, d) : no_log(d, key));
}

static int memory_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			     struct grove_buf *out, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct memory_shelf *s;

	grove__memory_lock(m);
	s = session_of(m, key);
	return grove__memory_unlock(m, s ? get_named(s->attached, name, out, d) : no_log(d, key));
}

static int memory_attach_list(struct grove_store *st, const struct grove_key *key,
			      grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(st);
	struct {
		const char *name;
		uint64_t size;
	} *found = NULL;
	struct grove__arena names;
	struct memory_named *n;
	struct memory_shelf *s;
	size_t nr = 0;
	int rc = 0;

	/* `fn` may call us again: copy first */
	grove__arena_init(&names);
	grove__memory_lock(m);
	s = session_of(m, key);
	if (!s)
		return grove__memory_unlock(m, no_log(d, key));
	for (n = s->attached; n; n = n->next)
		nr++;
	found = calloc(nr ? nr : 1, sizeof(*found));
	if (!found)
		return grove__memory_unlock(m, grove__fail_nomem(d));
	nr = 0;
	for (n = s->attached; n && !rc; n = n->next) {
		found[nr].size = n->bytes.len;
		found[nr].name = grove__arena_dup(&names, grove__slice_str(n->name));
		if (!found[nr++].name)
			rc = grove__fail_nomem(d);
	}
	grove__memory_unlock(m, 0);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = fn(payload, found[i].name, found[i].size);
	grove__arena_release(&names);
	free(found);
	return rc;
}

static void memory_close(struct grove_store *st)
{
	struct memory_store *m = grove__memory_store(st);
	struct memory_shelf *s, *next;

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
	.cut = memory_cut,
	.update = grove__memory_update,
	.changes = grove__memory_changes,
	.lease = grove__memory_lease,
	.lease_get = grove__memory_lease_get,
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
		return grove__fail(d, GROVE_EINVAL, NULL, "memory: must not be followed by anything");
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
