/*
 * session/locate.c: from what a person types to a place: a path, an id, the
 * beginning of an id, or "last".
 */
#include "session/session.h"

#include "base/array.h"
#include "json/value.h"
#include "sys/file.h"

#include <stdlib.h>

#define PEEK_MAX ((size_t)16 << 20)
#define PREFIX_MIN 4

void grove__where_release(struct grove__where *w)
{
	if (w->own_store)
		grove__store_close(w->store);
	free(w->project);
	free(w->session);
	free(w->path);
	memset(w, 0, sizeof(*w));
}

int grove__where_copy(struct grove__where *to, const struct grove__where *from)
{
	*to = *from;
	to->own_store = false;
	to->project = strdup(from->project);
	to->session = strdup(from->session);
	to->path = from->path ? strdup(from->path) : NULL;
	if (to->project && to->session && (to->path || !from->path))
		return 0;
	grove__where_release(to);
	return GROVE_ENOMEM;
}

static int fill_where(struct grove__where *w, struct grove__root *root, const struct grove_key *key,
		      struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;

	memset(w, 0, sizeof(*w));
	w->store = root->store;
	w->dialect = root->dialect;
	w->agent = root->agent;
	w->project = strdup(key->project);
	w->session = strdup(key->session);
	if (!w->project || !w->session || grove__store_describe(root->store, key, &path)) {
		grove__buf_release(&path);
		grove__where_release(w);
		return grove__fail_nomem(d);
	}
	w->path = path.ptr;
	return 0;
}

int grove__peek_first_line(struct grove_log *log, struct grove_buf *out, struct grove_detail *d)
{
	struct grove__json_want want;
	struct grove_log_stat st;
	size_t cap = 4096;
	int rc = grove__log_stat(log, &st, d);

	grove__json_want_init(&want, NULL, 0);
	grove__buf_clear(out);
	for (; !rc && cap <= PEEK_MAX; cap *= 4) {
		uint64_t until = st.tail;
		struct grove__json_line l;
		struct grove_run run;
		size_t off = 0;

		if (grove__buf_reserve(out, cap + GROVE__JSON_PAD))
			return grove__fail_nomem(d);
		rc = grove__log_read(log, 0, until, out->ptr, cap, &run, d);
		if (rc)
			break;
		if (run.len >= 3 && !memcmp(out->ptr, "\xef\xbb\xbf", 3))
			off = 3;
		while (off < run.len) {
			enum grove__json_verdict v = grove__json_scan(&want, out->ptr + off,
								      run.len - off, run.end, &l);

			if (v == JSON_MORE)
				break;
			if (v == JSON_VALUE) {
				memmove(out->ptr, out->ptr + off + l.value.off, (size_t)l.value.len);
				grove__buf_cut(out, (size_t)l.value.len);
				if (grove__json_truthy(grove__buf_slice(out)))
					return grove__buf_reserve(out, GROVE__JSON_PAD) ? GROVE_ENOMEM
											: 0;
				/* a value that is nothing: the bytes are spoilt, read once more */
				grove__buf_clear(out);
				rc = grove__log_read(log, 0, until, out->ptr, cap, &run, d);
				if (rc)
					return rc;
			}
			off += (size_t)l.len + 1;
		}
		if (run.end)
			break;
	}
	grove__buf_clear(out);
	return rc;
}

int grove__where_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d)
{
	struct grove_key key = { w->project, w->session, "" };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_log *log;
	const char *name = NULL;
	int rc;

	if (g->forced)
		w->dialect = g->forced;
	if (w->dialect)
		return 0;
	rc = grove__log_open(&log, w->store, &key, GROVE_LOG_READ, d);
	if (rc)
		return rc;
	rc = grove__peek_first_line(log, &line, d);
	if (!rc && line.len)
		name = grove__dialect_guess(grove__buf_slice(&line));
	grove__log_close(log);
	grove__buf_release(&line);
	if (rc)
		return rc;
	w->dialect = grove__dialect_find(name ? name : "pi");
	if (!w->dialect)
		return grove__fail(d, GROVE_ENOTSUP, w->path,
				   "a %s session, and that dialect is not built into this grove", name);
	if (!strcmp(w->agent, "grove"))
		w->agent = w->dialect->name;
	return 0;
}

/* Is `path` DIR/name or DIR/project/name of a root we know? */
static struct grove__root *root_of(struct grove *g, const char *path, struct grove_key *key,
				   char *project, size_t size)
{
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < g->nr_roots; i++) {
		struct grove__root *r = &g->roots[i];
		size_t n = r->dir ? strlen(r->dir) : 0, k;

		if (!n || strncmp(path, r->dir, n) || path[n] != '/')
			continue;
		k = (size_t)(name - path) - n - 1; /* what stands between, with its slash */
		if (k >= size || (k && memchr(path + n + 1, '/', k - 1)))
			continue;
		memcpy(project, path + n + 1, k);
		project[k ? k - 1 : 0] = '\0';
		*key = (struct grove_key){ project, name, "" };
		return r;
	}
	return NULL;
}

int grove__locate_path(struct grove *g, const char *path, struct grove__where *out,
		       struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT, url = GROVE_BUF_INIT;
	struct grove__root *root, own = { 0 };
	struct grove_key key;
	char project[1024], *slash;
	int rc;

	if (grove__resolve(g, path, &full))
		return grove__fail_nomem(d);
	root = full.len > 1 ? root_of(g, full.ptr, &key, project, sizeof(project)) : NULL;
	if (root) {
		rc = fill_where(out, root, &key, d);
		grove__buf_release(&full);
		return rc;
	}
	slash = strrchr(full.ptr, '/');
	if (!slash[1]) {
		rc = grove__fail(d, GROVE_EDAMAGED, path, "is a directory, not a session");
		grove__buf_release(&full);
		return rc;
	}
	rc = grove__buf_addf(&url, "file:%.*s", slash > full.ptr ? (int)(slash - full.ptr) : 1,
			     full.ptr);
	if (!rc)
		rc = grove__world_store(g, url.ptr, &own.store, d);
	if (!rc) {
		own.agent = "grove";
		rc = fill_where(out, &own, &(struct grove_key){ "", slash + 1, "" }, d);
		if (rc)
			grove__store_close(own.store);
		else
			out->own_store = true;
	}
	/* the path as it was meant, not as "//name" */
	if (!rc) {
		free(out->path);
		out->path = full.ptr;
		full = (struct grove_buf)GROVE_BUF_INIT;
	}
	grove__buf_release(&full);
	grove__buf_release(&url);
	return rc;
}

/* --- by id --- */

struct hit {
	struct grove__where at;
	char *id;
	bool exact;
};

struct search {
	struct grove *g;
	struct grove__root *root;
	const char *want;
	struct grove_detail *d;
	struct hit *hits;
	size_t nr, cap, nr_exact;
};

/* The id in a session's header, for files whose name does not tell. */
static int id_of(struct search *s, const struct grove_key *key, struct grove_buf *out)
{
	const struct grove__dialect *dialect = s->root->dialect ? s->root->dialect : s->g->forced;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_log *log;
	int rc = grove__log_open(&log, s->root->store, key, GROVE_LOG_READ, NULL);

	if (rc)
		return rc == GROVE_ENOMEM ? rc : 0;
	if (!dialect)
		dialect = grove__dialect_at(0);
	rc = grove__peek_first_line(log, &line, NULL);
	grove__log_close(log);
	if (!rc && line.len) {
		struct grove__json_want want;
		struct grove__json_line l;
		struct grove__arena keep;
		struct grove__header h;

		grove__arena_init(&keep);
		grove__json_want_init(&want, dialect->members, dialect->nr_members);
		grove__json_scan(&want, line.ptr, line.len, true, &l);
		dialect->header(&l, line.ptr, &keep, &h);
		if (h.usable)
			rc = grove__buf_add_str(out, h.id);
		grove__arena_release(&keep);
	}
	grove__buf_release(&line);
	return rc == GROVE_ENOMEM ? rc : 0;
}

static int hit(struct search *s, const struct grove_key *key, struct grove_slice id, bool exact)
{
	struct hit *h;
	int rc;

	if (grove__array_room(&s->hits, &s->cap, s->nr, sizeof(*s->hits)))
		return grove__fail_nomem(s->d);
	h = &s->hits[s->nr];
	rc = fill_where(&h->at, s->root, key, s->d);
	if (rc)
		return rc;
	h->id = strndup(id.ptr, id.len);
	h->exact = exact;
	s->nr++;
	s->nr_exact += exact;
	return h->id ? 0 : grove__fail_nomem(s->d);
}

static int try_key(void *payload, const struct grove_key *key)
{
	struct search *s = payload;
	const struct grove__dialect *dialect = s->root->dialect ? s->root->dialect
								: grove__dialect_at(0);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice id;
	size_t n = strlen(s->want);
	int64_t time;
	int rc = 0;

	if (!dialect->parse_file_name(grove__slice_str(key->session), &time, &id)) {
		rc = id_of(s, key, &b);
		id = grove__buf_slice(&b);
	}
	if (!rc && id.len >= n && !memcmp(id.ptr, s->want, n))
		rc = hit(s, key, id, id.len == n);
	grove__buf_release(&b);
	return rc;
}

static int hit_order(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	int c = y->exact - x->exact;

	if (!c)
		c = strcmp(x->id, y->id);
	return c || !x->at.path || !y->at.path ? c : strcmp(x->at.path, y->at.path);
}

/* What the first `nr` hits are called, in one line. */
static int names(const struct search *s, size_t nr, bool paths, struct grove_buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < nr && i < 8 && !rc; i++)
		rc = grove__buf_addf(out, "%s%s", i ? ", " : "",
				     paths && s->hits[i].at.path ? s->hits[i].at.path : s->hits[i].id);
	if (!rc && nr > 8)
		rc = grove__buf_add_str(out, ", …");
	return rc;
}

static int pick(struct search *s, struct grove__where *out)
{
	bool prefix = strlen(s->want) >= PREFIX_MIN;
	struct grove_buf list = GROVE_BUF_INIT;
	int rc;

	if (s->nr)
		qsort(s->hits, s->nr, sizeof(*s->hits), hit_order);
	if (s->nr_exact == 1 || (!s->nr_exact && prefix && s->nr == 1)) {
		*out = s->hits[0].at;
		memset(&s->hits[0].at, 0, sizeof(s->hits[0].at));
		return 0;
	}
	if (!s->nr || (!s->nr_exact && !prefix))
		return grove__fail(s->d, GROVE_ENOTFOUND, NULL, "no session %.200s%s", s->want,
				   s->nr ? " (a prefix needs 4 characters or more)" : "");
	if (names(s, s->nr_exact ? s->nr_exact : s->nr, s->nr_exact, &list))
		rc = grove__fail_nomem(s->d);
	else if (s->nr_exact)
		rc = grove__fail(s->d, GROVE_EAMBIGUOUS, NULL,
				 "%zu sessions have the id %.60s (give the path of the one you mean: %.350s)",
				 s->nr_exact, s->want, list.ptr);
	else
		rc = grove__fail(s->d, GROVE_EAMBIGUOUS, NULL, "%.60s may mean %zu sessions: %.400s",
				 s->want, s->nr, list.ptr);
	grove__buf_release(&list);
	return rc;
}

static int by_id(struct grove *g, const char *what, struct grove__where *out, struct grove_detail *d)
{
	struct search s = { .g = g, .want = what, .d = d };
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		s.root = &g->roots[i];
		rc = grove__store_list(s.root->store, NULL, try_key, &s, d);
	}
	if (!rc)
		rc = pick(&s, out);
	while (s.nr) {
		grove__where_release(&s.hits[--s.nr].at);
		free(s.hits[s.nr].id);
	}
	free(s.hits);
	return rc;
}

int grove__locate(struct grove *g, const char *what, struct grove__where *out,
		  struct grove_detail *d)
{
	size_t n = strlen(what);
	struct grove__sys_stat st;
	struct grove_buf full = GROVE_BUF_INIT;
	bool is_path = strchr(what, '/') || (n > 6 && !strcmp(what + n - 6, ".jsonl"));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!n)
		return grove__fail(d, GROVE_EINVAL, NULL, "no session named");
	if (!strcmp(what, "last"))
		rc = grove__locate_recent(g, g->cwd, NULL, out, d);
	else if (is_path)
		rc = grove__locate_path(g, what, out, d);
	else
		rc = by_id(g, what, out, d);
	/* a plain word may still be a file right here */
	if (rc == GROVE_ENOTFOUND && !is_path && strcmp(what, "last") &&
	    !grove__resolve(g, what, &full) && !grove__sys_stat(full.ptr, &st) && st.type == SYS_FILE)
		rc = grove__locate_path(g, what, out, d);
	grove__buf_release(&full);
	return rc;
}

/* --- the most recent one --- */

struct candidate {
	struct grove__where at;
	int64_t time;
	size_t order;
};

struct recent {
	struct grove__root *root;
	struct candidate *list;
	size_t nr, cap;
	struct grove_detail *d;
};

static int add_candidate(void *payload, const struct grove_key *key)
{
	struct recent *r = payload;
	struct candidate *c;
	struct grove_log_stat st;
	struct grove_log *log;
	int rc;

	if (grove__log_open(&log, r->root->store, key, GROVE_LOG_READ, NULL))
		return 0;
	rc = grove__log_stat(log, &st, NULL);
	grove__log_close(log);
	if (rc)
		return 0;
	if (grove__array_room(&r->list, &r->cap, r->nr, sizeof(*r->list)))
		return grove__fail_nomem(r->d);
	c = &r->list[r->nr];
	rc = fill_where(&c->at, r->root, key, r->d);
	if (rc)
		return rc;
	c->time = st.mtime_ns;
	c->order = r->nr++;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	/* equal times: the later name, which begins with the later time */
	return -strcmp(x->at.session, y->at.session);
}

/* A session with a usable header, of that working directory? */
static bool fits(struct grove *g, struct candidate *c, const char *cwd)
{
	struct grove_key key = { c->at.project, c->at.session, "" };
	struct grove_buf line = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove__arena keep;
	struct grove__header h = { 0 };
	struct grove_log *log;
	bool ok = false;

	if (grove__where_dialect(g, &c->at, NULL) ||
	    grove__log_open(&log, c->at.store, &key, GROVE_LOG_READ, NULL))
		return false;
	grove__arena_init(&keep);
	if (!grove__peek_first_line(log, &line, NULL) && line.len) {
		struct grove__json_want want;
		struct grove__json_line l;

		grove__json_want_init(&want, c->at.dialect->members, c->at.dialect->nr_members);
		grove__json_scan(&want, line.ptr, line.len, true, &l);
		c->at.dialect->header(&l, line.ptr, &keep, &h);
		/* a name may stand for several directories: the header decides */
		ok = h.usable && (!h.cwd || (!grove__resolve(g, h.cwd, &path) &&
					     !strcmp(path.ptr, cwd)));
	}
	grove__log_close(log);
	grove__arena_release(&keep);
	grove__buf_release(&line);
	grove__buf_release(&path);
	return ok;
}

static int gather(struct grove *g, struct recent *r, const char *cwd)
{
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		struct grove_buf project = GROVE_BUF_INIT;

		r->root = &g->roots[i];
		if (r->root->dialect && !r->root->flat && !g->given) {
			rc = r->root->dialect->project(&g->env, cwd, &project);
			if (!rc)
				rc = grove__store_list(r->root->store, project.ptr, add_candidate, r,
						       r->d);
		} else {
			rc = grove__store_list(r->root->store, NULL, add_candidate, r, r->d);
		}
		grove__buf_release(&project);
	}
	return rc;
}

int grove__locate_recent(struct grove *g, const char *cwd, const char *dir,
			 struct grove__where *out, struct grove_detail *d)
{
	struct recent r = { .d = d };
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__root own = { .agent = "grove", .flat = true };
	bool found = false;
	int rc;

	memset(out, 0, sizeof(*out));
	if (grove__resolve(g, cwd, &path))
		return grove__fail_nomem(d);
	if (dir) {
		struct grove_buf url = GROVE_BUF_INIT;

		rc = grove__buf_add_str(&url, "file:");
		if (!rc)
			rc = grove__resolve(g, dir, &url);
		if (!rc)
			rc = grove__world_store(g, url.ptr, &own.store, d);
		grove__buf_release(&url);
		r.root = &own;
		if (!rc)
			rc = grove__store_list(own.store, "", add_candidate, &r, d);
	} else {
		rc = gather(g, &r, path.ptr);
	}
	if (!rc && r.nr)
		qsort(r.list, r.nr, sizeof(*r.list), newest_first);
	for (size_t i = 0; i < r.nr; i++) {
		if (!rc && !found && fits(g, &r.list[i], path.ptr)) {
			found = true;
			*out = r.list[i].at;
			continue;
		}
		grove__where_release(&r.list[i].at);
	}
	free(r.list);
	if (found && dir)
		out->own_store = true;
	else if (own.store)
		grove__store_close(own.store);
	if (!rc && !found)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "no session of %.300s yet", path.ptr);
	grove__buf_release(&path);
	return rc;
}
