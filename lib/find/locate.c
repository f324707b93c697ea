/*
 * find/locate.c: finds a session by what a user types: a path, an id, a prefix of an
 * id, or "last".
 */
#include "find/find.h"

#include "base/array.h"
#include "sys/file.h"

#include <stdlib.h>
#include <strings.h>

#define PREFIX_MIN 4

/* True if `path` is DIR/name or DIR/project/name of a known root. */
static struct grove__root *root_of(struct grove *g, const char *path, struct grove_key *key,
				   char *project, size_t size)
{
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < g->nr_roots; i++) {
		struct grove__root *r = &g->roots[i];
		size_t n = r->dir ? strlen(r->dir) : 0, k;

		if (!n || strncmp(path, r->dir, n) || path[n] != '/')
			continue;
		k = (size_t)(name - path) - n - 1; /* what is in between, with its slash */
		if (k >= size || (k && memchr(path + n + 1, '/', k - 1)))
			continue;
		memcpy(project, path + n + 1, k);
		project[k ? k - 1 : 0] = '\0';
		*key = (struct grove_key){ project, name, "" };
		return r;
	}
	return NULL;
}

/*
 * Finds the root that contains a deeper path: a sub-agent's session, in the directory
 * of another one.
 */
static struct grove__root *root_above(struct grove *g, const char *path)
{
	for (size_t i = 0; i < g->nr_roots; i++) {
		size_t n = g->roots[i].dir ? strlen(g->roots[i].dir) : 0;

		if (n && !strncmp(path, g->roots[i].dir, n) && path[n] == '/')
			return &g->roots[i];
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

	if (grove__world_resolve(g, path, &full))
		return grove__fail_nomem(d);
	root = full.len > 1 ? root_of(g, full.ptr, &key, project, sizeof(project)) : NULL;
	if (root) {
		rc = grove__where_fill(out, root, &key, d);
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
		root = root_above(g, full.ptr);
		own.agent = root ? root->agent : "grove";
		own.dialect = root ? root->dialect : NULL;
		rc = grove__where_fill(out, &own, &(struct grove_key){ "", slash + 1, "" }, d);
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

/* How well a session matches; the best matches are meant. */
enum rank { RANK_NONE, RANK_PREFIX, RANK_NAME, RANK_ID };

struct hit {
	struct grove__where at;
	char *id;
	enum rank rank;
	bool archived;
};

struct search {
	struct grove *g;
	struct grove__root *root;
	const char *want;
	bool by_header;                  /* what a header says counts, not a name */
	bool exactly;                    /* no prefix will do */
	bool thoroughly;                 /* others may have it, too, though it was found here */
	struct grove_detail *d;
	struct hit *hits;
	size_t nr, cap;
	grove__candidate_fn *fn;         /* gets those that match, if several do; NULL: nobody does */
	void *payload;
};

/* Reads the id from a session's header, for files whose name does not have it. */
static int id_of(struct grove *g, struct grove__root *root, const struct grove_key *key,
		 struct grove_buf *out)
{
	const struct grove__dialect *dialect;
	struct grove__arena keep;
	struct grove__header h;
	struct grove_detail why;
	struct grove_store_log *log;
	struct grove_slice name;
	int64_t time;
	int rc = grove__peek_root_dialect(g, root, key, &dialect, &why);

	if (!rc)
		rc = grove__log_open(&log, root->store, key, GROVE_STORE_READ, &why);
	/* one that exists but cannot be opened may be the one that is meant */
	if (rc == GROVE_EAWAY)
		grove__hidden_store(g, root, rc, &why);
	else if (rc == GROVE_EACCESS || rc == GROVE_EIO)
		grove__hidden_add(g, &why);
	if (rc)
		return rc == GROVE_ENOMEM ? rc : 0;
	grove__arena_init(&keep);
	rc = grove__peek_header(log, dialect, &keep, &h, NULL);
	/* without a header, the dialect derives the id from the name */
	if (!rc && h.usable && h.id)
		rc = grove__buf_add_str(out, h.id);
	else if (!rc && (h.usable || grove__dialect_id_is_name(dialect)) &&
		 dialect->paths.parse_file_name(grove__slice_str(key->session), &time, &name))
		rc = grove__buf_add_slice(out, name);
	grove__log_close(log);
	grove__arena_release(&keep);
	return rc == GROVE_ENOMEM ? rc : 0;
}

int grove__locate_id(struct grove *g, struct grove__root *root, const struct grove_key *key,
		     struct grove_buf *out)
{
	const struct grove__dialect *dialect;
	struct grove_slice name;
	int64_t time;
	int rc = id_of(g, root, key, out);

	for (unsigned i = 0; !rc && !out->len && (dialect = grove__dialect_at(i)); i++)
		if ((!root->dialect || root->dialect == dialect) &&
		    dialect->paths.parse_file_name(grove__slice_str(key->session), &time, &name))
			rc = grove__buf_add_slice(out, name);
	return rc;
}

int grove__locate_log(struct grove *g, struct grove__root *root, const struct grove_key *key,
		      struct grove__where *out, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc;

	/* for files, a sub-agent's log is a file in a directory like any other */
	if (!*key->subpath || !root->dir)
		return grove__where_fill(out, root, key, d);
	memset(out, 0, sizeof(*out));
	rc = grove__store_describe(root->store, key, &path);
	rc = rc ? grove__fail_nomem(d) : grove__locate_path(g, path.ptr, out, d);
	grove__buf_release(&path);
	return rc;
}

static int hit(struct search *s, const struct grove_key *key, struct grove_slice id, enum rank rank)
{
	struct hit *h;
	int rc;

	if (grove__array_room(&s->hits, &s->cap, s->nr, sizeof(*s->hits)))
		return grove__fail_nomem(s->d);
	h = &s->hits[s->nr];
	rc = grove__locate_log(s->g, s->root, key, &h->at, s->d);
	if (rc)
		return rc;
	h->id = strndup(id.ptr, id.len);
	h->rank = rank;
	h->archived = s->root->archive;
	s->nr++;
	return h->id ? 0 : grove__fail_nomem(s->d);
}

/* Compares `want` with the name, or a prefix of it, ignoring case. */
static enum rank loosely(const char *want, struct grove_slice name)
{
	size_t n = strlen(want);

	if (name.len < n || strncasecmp(name.ptr, want, n))
		return RANK_NONE;
	return name.len == n ? RANK_NAME : RANK_PREFIX;
}

static enum rank precisely(const struct search *s, struct grove_slice id)
{
	size_t n = strlen(s->want);

	if (id.len < n || memcmp(id.ptr, s->want, n))
		return RANK_NONE;
	return id.len == n ? RANK_ID : s->exactly ? RANK_NONE : RANK_PREFIX;
}

static enum rank rank_of(const struct search *s, const struct grove__dialect *dialect,
			 struct grove_slice id, const char *file)
{
	struct grove_slice name = grove__slice_str(file), tail;
	const char *want = s->want, *bar;
	enum rank best = precisely(s, id), other;

	if (best || s->exactly)
		return best;
	grove__slice_cut_end(&name, ".jsonl");
	/* without paths, a session without an id has only its name */
	if (!s->root->dir && grove__slice_is(name, want))
		return RANK_NAME;
	if (!dialect->paths.loose_names)
		return RANK_NONE;
	bar = name.len ? memrchr(name.ptr, '_', name.len) : NULL;
	tail = bar ? grove__slice(bar + 1, (size_t)(name.ptr + name.len - bar) - 1) : name;
	best = loosely(want, id);
	other = loosely(want, name);
	best = other > best ? other : best;
	other = loosely(want, tail);
	return other > best ? other : best;
}

static const struct grove__dialect *next_with_agents(const struct search *s, unsigned *i)
{
	const struct grove__dialect *only = s->g->forced ? s->g->forced : s->root->dialect, *d;

	while ((d = grove__dialect_at((*i)++)))
		if (d->agents && (!only || only == d))
			return d;
	return NULL;
}

/*
 * A sub-agent is known by its id and by the name of its log. The name says whose it is,
 * so nothing has to be opened. Returns 1 if it is not a sub-agent's log.
 */
static int try_agent(struct search *s, const struct grove_key *key, const char *file)
{
	const struct grove__dialect *dialect;
	struct grove_slice name = grove__slice_str(file);
	struct grove__own_file own;
	enum rank rank = RANK_NONE;
	unsigned i = 0;

	grove__slice_cut_end(&name, ".jsonl");
	while ((dialect = next_with_agents(s, &i)))
		if (grove__dialect_own_file(dialect, file, NULL, &own) && own.agent.len) {
			rank = precisely(s, name);
			if (!rank)
				rank = precisely(s, own.agent);
			return rank ? hit(s, key, name, rank) : 0;
		}
	return 1;
}

/*
 * Takes the id from the name of a log. A store that was named may have the sessions of any
 * agent, and to open each of its logs takes long, in a database a round trip or more: there
 * the name that any agent gives will do. Returns false if the name has no id.
 */
static bool id_in_name(const struct search *s, const char *file, const struct grove__dialect *likely,
		       struct grove_slice *id)
{
	bool any = !s->g->forced && !s->root->dialect;
	int64_t time;

	for (unsigned i = 0; likely; likely = any ? grove__dialect_at(i++) : NULL)
		if (likely->paths.parse_file_name(grove__slice_str(file), &time, id))
			return true;
	return false;
}

static int try_key(void *payload, struct grove__root *root, const struct grove_key *key,
		   const struct grove_store_log_stat *st)
{
	struct search *s = payload;
	const struct grove__dialect *dialect = s->g->forced ? s->g->forced : s->root->dialect;
	const char *slash = strrchr(key->subpath, '/');
	const char *file = slash ? slash + 1 : *key->subpath ? key->subpath : key->session;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice id;
	enum rank rank;
	int rc = try_agent(s, key, file);

	(void)root;
	(void)st;
	if (rc <= 0)
		return rc;
	rc = 0;
	if (!dialect && grove__peek_root_likely(s->g, s->root, key->project, &dialect))
		return grove__fail_nomem(s->d);
	if (s->by_header || !id_in_name(s, file, dialect, &id)) {
		rc = id_of(s->g, s->root, key, &b);
		id = grove__buf_slice(&b);
	}
	if (rc) {
		rc = grove__fail_nomem(s->d);
	} else {
		rank = rank_of(s, dialect, id, file);
		if (rank)
			rc = hit(s, key, id.len ? id : grove__slice_str(file), rank);
	}
	grove__buf_release(&b);
	return rc;
}

static int hit_order(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	int c = (int)y->rank - (int)x->rank;

	if (!c)
		c = strcmp(x->id, y->id);
	return c || !x->at.path || !y->at.path ? c : strcmp(x->at.path, y->at.path);
}

/* Drops copies in an archive whose original was found, too, but in another project. */
static void drop_copies(struct search *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		bool copy = false;

		for (size_t k = 0; k < s->nr && s->hits[i].archived && !copy; k++)
			copy = s->hits[k].id && !s->hits[k].archived && !strcmp(s->hits[k].id, s->hits[i].id);
		if (copy) {
			grove__where_release(&s->hits[i].at);
			free(s->hits[i].id);
			s->hits[i].id = NULL;
			s->hits[i].archived = false;
		}
	}
	for (size_t i = 0; i < s->nr; i++)
		if (s->hits[i].id)
			s->hits[nr++] = s->hits[i];
	s->nr = nr;
}

/* True if both are the same log, which two stores or a link show twice. */
static bool same_log(const struct grove__where *a, const struct grove__where *b)
{
	struct grove__sys_stat x, y;

	return a->path && b->path &&
	       (!strcmp(a->path, b->path) || (!grove__sys_stat(a->path, &x) && !grove__sys_stat(b->path, &y) &&
					      x.dev == y.dev && x.ino == y.ino));
}

/*
 * Of the first `nr` hits, which are sorted by id, drops those that show a log again.
 * Returns how many are left.
 */
static size_t drop_same(struct search *s, size_t nr)
{
	size_t left = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t k = left;

		while (k && !strcmp(s->hits[k - 1].id, s->hits[i].id) &&
		       !same_log(&s->hits[k - 1].at, &s->hits[i].at))
			k--;
		if (k && !strcmp(s->hits[k - 1].id, s->hits[i].id)) {
			grove__where_release(&s->hits[i].at);
			free(s->hits[i].id);
		} else {
			s->hits[left++] = s->hits[i];
		}
	}
	memmove(&s->hits[left], &s->hits[nr], (s->nr - nr) * sizeof(*s->hits));
	s->nr -= nr - left;
	return left;
}

/* Writes what names each of the first `nr` hits, in one line. */
static int names(const struct search *s, size_t nr, bool whole, struct grove_buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < nr && i < 8 && !rc; i++) {
		rc = i ? grove__buf_add_str(out, ", ") : 0;
		if (!rc)
			rc = whole ? grove__where_word(&s->hits[i].at, s->hits[i].id, out)
				   : grove__buf_add_str(out, s->hits[i].id);
	}
	if (!rc && nr > 8)
		rc = grove__buf_add_str(out, ", …");
	return rc;
}

/* Several match. */
static int report(struct search *s, size_t nr, bool whole)
{
	enum { MOST = 20 };
	struct grove_buf list = GROVE_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < nr && i < MOST && s->fn && !rc; i++)
		rc = s->fn(s->payload, &s->hits[i].at);
	if (rc || names(s, nr, whole, &list))
		rc = grove__fail_nomem(s->d);
	else if (whole)
		rc = grove__fail(s->d, GROVE_EAMBIGUOUS, NULL,
				 "%zu sessions have the id %.60s (name the one you mean: %.350s)",
				 nr, s->want, list.ptr);
	else
		rc = grove__fail(s->d, GROVE_EAMBIGUOUS, NULL, "%.60s is ambiguous; it matches %zu sessions: %.400s",
				 s->want, nr, list.ptr);
	grove__buf_release(&list);
	return rc;
}

static int pick(struct search *s, struct grove__where *out)
{
	bool whole, prefix = strlen(s->want) >= PREFIX_MIN;
	size_t best = 0;

	drop_copies(s);
	if (s->nr)
		qsort(s->hits, s->nr, sizeof(*s->hits), hit_order);
	while (best < s->nr && s->hits[best].rank == s->hits[0].rank)
		best++;
	best = best > 1 ? drop_same(s, best) : best;
	whole = s->nr && s->hits[0].rank > RANK_PREFIX;
	if (best == 1 && (whole || prefix)) {
		*out = s->hits[0].at;
		memset(&s->hits[0].at, 0, sizeof(s->hits[0].at));
		return 0;
	}
	if (!s->nr || (!whole && !prefix))
		return grove__fail(s->d, GROVE_ENOTFOUND, NULL, "no session %.200s%s", s->want,
				   s->nr ? " (a prefix needs 4 characters or more)" : "");
	return report(s, best, whole);
}

/* Takes the digits off ID~HHHH. Returns a negative number if there are none. */
static long take_store_mark(char *what)
{
	char *mark = strrchr(what, '~'), *end;
	long n;

	if (!mark || strlen(mark) != 5 || strspn(mark + 1, "0123456789abcdef") != 4)
		return -1;
	n = strtol(mark + 1, &end, 16);
	*mark = '\0';
	return n;
}

/* A search among the roots that have this mark (negative: any). */
struct pass {
	struct search *s;
	struct grove__logs_which which;
	long mark;
};

static int ask_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct pass *p = payload;
	int rc;

	if (p->mark >= 0 && grove__where_store_mark(root->store) != (unsigned)p->mark)
		return 0;
	p->s->root = p->which.only = root;
	rc = grove__logs_walk(p->s->g, &p->which, try_key, p->s, d);
	return rc == GROVE_ENOTSUP && p->which.subs ? 0 : rc;
}

/* What has exactly this id is the session that is meant, whatever has an id that begins so. */
static bool found_exactly(const struct search *s)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->hits[i].rank == RANK_ID)
			return true;
	return false;
}

/*
 * An id that is found on this machine is not looked for on others, which may take long,
 * or for ever.
 */
static int look_everywhere(struct search *s, long mark)
{
	enum { BY_NAME, BY_AGENT, BY_HEADER, WAYS };
	int rc = 0;

	for (int way = 0; way < WAYS && !rc && !s->nr; way++) {
		struct pass p = { .s = s, .mark = mark };

		/* there are many logs of sub-agents, and some have to be opened: only if necessary */
		if (way == BY_AGENT)
			p.which = (struct grove__logs_which){ .subs = LOGS_ONLY_SUBS, .no_archives = true };
		/* a renamed file is recognized only by its header, which lists show */
		s->by_header = way == BY_HEADER;
		rc = grove__roots_ask(s->g, ROOTS_HERE, ask_root, &p, s->d);
		if (!rc && (s->thoroughly || !found_exactly(s)))
			rc = grove__roots_ask(s->g, ROOTS_ELSEWHERE, ask_root, &p, s->d);
	}
	return rc;
}

static int by_id(struct search s, long mark, struct grove__where *out)
{
	uint64_t failed = grove__hidden_failed(s.g);
	const struct grove__root *away;
	int rc = look_everywhere(&s, mark);

	if (!rc)
		rc = pick(&s, out);
	away = grove__roots_away(s.g);
	/* it may be where we could not look */
	if (rc == GROVE_ENOTFOUND && grove__hidden_failed(s.g) != failed)
		rc = away ? grove__fail(s.d, GROVE_EAWAY, away->store->url,
					"no session %.200s was found elsewhere, and this store does not answer", s.want)
			  : grove__fail(s.d, GROVE_EIO, NULL, "no session %.200s was found, but some could not be read",
					s.want);
	while (s.nr) {
		grove__where_release(&s.hits[--s.nr].at);
		free(s.hits[s.nr].id);
	}
	free(s.hits);
	return rc;
}

/* Finds a session by its id, in a certain store if that is given as well. */
static int by_word(struct search s, struct grove__where *out)
{
	const char *what = s.want;
	int rc = by_id(s, -1, out);
	char *id;
	long mark;

	if (rc != GROVE_ENOTFOUND || !strchr(what, '~'))
		return rc;
	id = strdup(what);
	if (!id)
		return grove__fail_nomem(s.d);
	mark = take_store_mark(id);
	s.want = id;
	if (mark >= 0)
		rc = by_id(s, mark, out);
	free(id);
	return rc;
}

int grove__locate(struct grove *g, const char *what, struct grove__where *out,
		  struct grove_detail *d)
{
	return grove__locate_or(g, what, out, NULL, NULL, d);
}

int grove__locate_exactly(struct grove *g, const char *id, struct grove__where *out, grove__candidate_fn *fn,
			  void *payload, struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	return by_id((struct search){ .g = g, .want = id, .exactly = true, .d = d, .fn = fn, .payload = payload }, -1, out);
}

static int locate(struct search s, struct grove__where *out)
{
	struct grove *g = s.g;
	struct grove_detail *d = s.d;
	const char *what = s.want;
	size_t n = strlen(what);
	struct grove__sys_stat st;
	struct grove_buf full = GROVE_BUF_INIT;
	bool is_path = strchr(what, '/') || (n > 6 && !strcmp(what + n - 6, ".jsonl"));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!n)
		return grove__fail(d, GROVE_EINVAL, NULL, "no session given");
	if (!strcmp(what, "last"))
		rc = g->last(g, out, d);
	else if (is_path)
		rc = grove__locate_path(g, what, out, d);
	else
		rc = by_word(s, out);
	/* a plain word may still be a file in the current directory */
	if (rc == GROVE_ENOTFOUND && !is_path && strcmp(what, "last") &&
	    !grove__world_resolve(g, what, &full) && !grove__sys_stat(full.ptr, &st) && st.type == SYS_FILE)
		rc = grove__locate_path(g, what, out, d);
	grove__buf_release(&full);
	return rc;
}

int grove__locate_or(struct grove *g, const char *what, struct grove__where *out, grove__candidate_fn *fn,
		     void *payload, struct grove_detail *d)
{
	return locate((struct search){ .g = g, .want = what, .d = d, .fn = fn, .payload = payload }, out);
}

int grove__locate_for_good(struct grove *g, const char *what, struct grove__where *out, struct grove_detail *d)
{
	return locate((struct search){ .g = g, .want = what, .thoroughly = true, .d = d }, out);
}
