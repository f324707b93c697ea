/*
 * world/peek.c: what the beginning of a log says: its header, its dialect.
 *
 * Most logs begin with their header, in a line of a few hundred bytes; but it may be
 * long, and there may be something before it. So more is read until it is found, up to
 * a limit, because a file that is not a session may be very long.
 */
#include "world/world.h"

#include "json/value.h"
#include "sys/file.h"

#define PEEK_FIRST ((size_t)4 << 10)
#define PEEK_RUN ((size_t)64 << 10)
#define PEEK_MAX ((size_t)16 << 20)

/* Results of reading, besides 0 and errors. */
enum {
	END = 1,
	NOT_LINES,  /* the log is not one value per line, which its dialect allows */
	FOUND       /* what the caller was looking for */
};

/* A non-zero result ends the reading and is returned. */
typedef int value_fn(void *payload, const struct grove__json_line *l, const char *line);

/* The lines of a run. */
static int each_line(const struct grove__runs *r, const struct grove__json_want *want, bool lenient,
		     value_fn *fn, void *payload)
{
	struct grove__json_line l;
	int rc = 0;

	for (size_t off = r->mark; !rc && off < r->run.len; off += (size_t)l.len + 1) {
		const char *line = r->buf + off;
		enum grove__json_verdict v = grove__json_scan(want, line, r->run.len - off, true, &l);

		if (v == JSON_NOMEM)
			rc = grove__fail_nomem(r->d);
		else if (v == JSON_VALUE)
			rc = fn(payload, &l, line);
		else if (v == JSON_BAD && lenient)
			rc = NOT_LINES;
	}
	return rc;
}

/* Goes over the log from its beginning, by values that may span lines. */
static int each_value(const struct grove__runs *r, const struct grove__json_want *want, size_t mark,
		      value_fn *fn, void *payload)
{
	bool by_line = r->run.by_line;
	uint64_t until = !by_line && r->until > PEEK_MAX ? PEEK_MAX : r->until;
	struct grove__values *v = NULL;
	struct grove__value value;
	int rc = grove__values_new(&v, want, r->log, by_line ? 0 : mark, until, by_line, PEEK_MAX, r->d);

	while (!rc && !(rc = grove__values_next(v, &value)))
		rc = fn(payload, &value.l, value.ptr);
	grove__values_free(v);
	return rc == END ? 0 : rc;
}

/* Calls `fn` with each value until it returns a non-zero result. */
static int each(struct grove_store_log *log, const struct grove__json_want *want, bool lenient,
		value_fn *fn, void *payload, struct grove_detail *d)
{
	struct grove__runs r = { 0 };
	struct grove_store_log_stat st;
	size_t seen = 0, mark = 0;
	int rc = grove__log_stat(log, &st, d);

	if (rc)
		return rc;
	if (grove__runs_init(&r, PEEK_FIRST))
		return grove__fail_nomem(d);
	r.max = PEEK_MAX;
	grove__runs_begin(&r, log, 0, st.tail, d);
	while (!rc && seen < PEEK_MAX && !(rc = grove__runs_next(&r))) {
		mark |= r.mark;
		seen += r.run.len;
		rc = each_line(&r, want, lenient, fn, payload);
		/* if it is not right at the start, it may take a while */
		if (!rc && grove__runs_room(&r, PEEK_RUN))
			rc = grove__fail_nomem(d);
	}
	/* nothing was found, and nothing failed */
	if (rc == GROVE_ETOOBIG && grove__runs_skip(&r)) {
		grove__fail_clear(d);
		rc = 0;
	}
	if (rc == END)
		rc = 0;
	if (rc == NOT_LINES)
		rc = each_value(&r, want, mark, fn, payload);
	grove__runs_release(&r);
	return rc;
}

/* --- the first line --- */

static int first_line(void *payload, const struct grove__json_line *l, const char *line)
{
	struct grove_buf *out = payload;
	struct grove_slice value = grove__slice(line + l->value.off, (size_t)l->value.len);

	/* an empty value does not count */
	if (!grove__json_truthy(value))
		return 0;
	if (grove__buf_add_slice(out, value) || grove__buf_reserve(out, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	return FOUND;
}

/* Reads the first line that is not blank; empty if there is none in the first 16 MiB. */
static int read_first_line(struct grove_store_log *log, struct grove_buf *out, struct grove_detail *d)
{
	struct grove__json_want want;
	int rc;

	grove__json_want_init(&want, NULL, 0);
	grove__buf_clear(out);
	rc = each(log, &want, false, first_line, out, d);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc == FOUND ? 0 : rc;
}

/* --- the header --- */

struct header_at {
	const struct grove__dialect *dialect;
	struct grove__arena *keep;
	struct grove__header *out;
};

/* Without a header, takes the directory from the first record that has one. */
static int take_facts(struct header_at *h, const struct grove__json_line *l, const char *line)
{
	struct grove__entry e;

	if (h->dialect->read.index(l, line, h->keep, &e) != LINE_ENTRY)
		return 0;
	if (!h->out->usable)
		h->out->time = GROVE_NO_TIME;
	h->out->usable = true;
	h->out->version = h->dialect->version;
	if (h->out->time == GROVE_NO_TIME)
		h->out->time = e.time;
	if (!e.cwd.len)
		return 0;
	h->out->cwd = grove__arena_dup(h->keep, e.cwd);
	return h->out->cwd ? FOUND : GROVE_ENOMEM;
}

static int take_header(void *payload, const struct grove__json_line *l, const char *line)
{
	struct header_at *h = payload;
	struct grove__entry e;

	if (grove__dialect_cwd_in_entries(h->dialect))
		return take_facts(h, l, line);
	switch (h->dialect->read.index(l, line, h->keep, &e)) {
	case LINE_HEADER:
		h->keep->failed = false;
		h->dialect->header->read(l, line, h->keep, h->out);
		return h->keep->failed ? GROVE_ENOMEM : FOUND;
	case LINE_ENTRY:
		return FOUND; /* a file that does not begin with a header is not a session */
	default:
		return 0;
	}
}

int grove__peek_header(struct grove_store_log *log, const struct grove__dialect *dialect,
		       struct grove__arena *keep, struct grove__header *out, struct grove_detail *d)
{
	struct header_at at = { dialect, keep, out };
	struct grove__json_want want;
	int rc;

	memset(out, 0, sizeof(*out));
	grove__json_want_init(&want, dialect->read.members, dialect->read.nr_members);
	rc = each(log, &want, grove__dialect_by_value(dialect), take_header, &at, d);
	return rc == FOUND ? 0 : rc;
}

/* --- the dialect --- */

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

/*
 * Returns the agent whose usual location this is, or the only one that names projects
 * like this.
 */
static const struct grove__dialect *by_name(const char *dir, const char *project)
{
	const struct grove__dialect *d;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (d->recognise.root && ends_in(dir, d->recognise.root))
			return d;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (d->recognise.project && d->recognise.project(project))
			return d;
	return NULL;
}

/* The only dialect that names files like this one; NULL: none does, or several do. */
static const struct grove__dialect *by_file_name(const char *path)
{
	const struct grove__dialect *d, *found = NULL;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct grove_slice id;
	int64_t time;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (d->paths.parse_file_name(grove__slice_str(name), &time, &id)) {
			if (found)
				return NULL;
			found = d;
		}
	return found;
}

struct traces {
	const struct grove__dialect *dialect;
	const char *dir;
	bool sessions;                   /* the project has some */
	struct grove_buf path;
};

/* Stops at a session that only another agent would name like this. */
static int others_file(void *payload, const char *name)
{
	struct traces *t = payload;
	const struct grove__dialect *only = by_file_name(name);

	t->sessions |= ends_in(name, ".jsonl");
	return only && only != t->dialect;
}

/* Claude's projects have names like xcsh's, but its sessions do not. */
static int own_project(void *payload, const char *name)
{
	struct traces *t = payload;
	int others = 0;

	if (!t->dialect->recognise.project(name))
		return 0;
	grove__buf_clear(&t->path);
	if (grove__buf_addf(&t->path, "%s/%s", t->dir, name))
		return GROVE_ENOMEM;
	t->sessions = false;
	grove__sys_list(t->path.ptr, others_file, t, &others);
	return t->sessions && !others;
}

/* Finds the agent that left more than sessions there, or projects with names of its own. */
static int by_traces(const struct grove *g, const char *dir, const struct grove__dialect **out)
{
	struct traces t = { .dir = dir, .path = GROVE_BUF_INIT };
	int rc = 0, found = 0;

	for (unsigned i = 0; !rc && !found && (t.dialect = grove__dialect_at(i)); i++) {
		for (const char *const *p = t.dialect->recognise.beside; p && *p && !rc && !found; p++) {
			grove__buf_clear(&t.path);
			rc = grove__buf_addf(&t.path, "%s/../%s", dir, *p);
			found = !rc && g->env.exists(g->env.file_payload, t.path.ptr);
		}
		if (!rc && !found && t.dialect->recognise.project)
			grove__sys_list(dir, own_project, &t, &found);
		if (found < 0)
			rc = found;
		else if (found)
			*out = t.dialect;
	}
	grove__buf_release(&t.path);
	return rc;
}

int grove__peek_root_likely(struct grove *g, struct grove__root *root, const char *project,
		       const struct grove__dialect **out)
{
	int rc = 0;

	*out = root->dir ? by_name(root->dir, project) : NULL;
	if (!*out && root->dir) {
		pthread_mutex_lock(&g->lock);
		if (!root->looked)
			rc = by_traces(g, root->dir, &root->likely);
		root->looked = !rc;
		*out = root->likely;
		pthread_mutex_unlock(&g->lock);
	}
	if (!*out)
		*out = grove__dialect_defaults.session;
	return rc;
}

/* The agent whose directory `path` is in, wherever that is. */
static const struct grove__dialect *by_root(const char *path)
{
	const struct grove__dialect *d;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		const char *at = d->recognise.root ? strstr(path, d->recognise.root) : NULL;

		if (at && at[strlen(d->recognise.root)] == '/')
			return d;
	}
	return NULL;
}

const struct grove__dialect *grove__peek_path_dialect(const char *path)
{
	const struct grove__dialect *d;
	const char *name, *end;
	char project[256];

	d = path ? by_root(path) : NULL;
	if (!d && path)
		d = by_file_name(path);
	if (d)
		return d;
	end = path ? strrchr(path, '/') : NULL;
	name = end && end > path ? memrchr(path, '/', (size_t)(end - path)) : NULL;
	if (name && (size_t)(end - ++name) < sizeof(project)) {
		memcpy(project, name, (size_t)(end - name));
		project[end - name] = '\0';
		for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
			if (d->recognise.project && d->recognise.project(project))
				return d;
	}
	return grove__dialect_defaults.session;
}

/* Finds the root that contains a location, and the project. */
static struct grove__root *root_around(struct grove *g, const struct grove__where *w, char *project,
				       size_t size)
{
	for (size_t i = 0; i < g->nr_roots; i++) {
		struct grove__root *r = &g->roots[i];
		size_t n = r->dir ? strlen(r->dir) : 0, k;

		*project = '\0';
		if (r->store != w->store && (!n || !w->path || strncmp(w->path, r->dir, n) ||
					     w->path[n] != '/'))
			continue;
		if (*w->project || !n || !w->path) {
			k = strlen(w->project);
			if (k < size)
				memcpy(project, w->project, k + 1);
		} else {
			k = strcspn(w->path + n + 1, "/");
			if (k < size && w->path[n + 1 + k]) {
				memcpy(project, w->path + n + 1, k);
				project[k] = '\0';
			}
		}
		return r;
	}
	return NULL;
}

#define DIALECT "dialect"

void grove__peek_mark_dialect(struct grove_store_log *log, const struct grove__dialect *dialect)
{
	grove__log_meta_put(log, DIALECT, grove__slice_str(dialect->name), NULL);
}

int grove__peek_told_dialect(struct grove_store_log *log, const struct grove__dialect **out,
			     struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int rc;

	*out = NULL;
	/* what the store says comes first */
	rc = grove__log_meta_get(log, DIALECT, &line, NULL);
	if (!rc && line.len)
		*out = grove__dialect_find(line.ptr);
	/* lines look alike: none of them is asked only because there is no memory */
	rc = rc == GROVE_ENOMEM ? grove__fail_nomem(d) : 0;
	grove__buf_clear(&line);
	if (!rc && !*out)
		rc = read_first_line(log, &line, d);
	if (!rc && !*out && line.len)
		*out = grove__dialect_recognise(grove__buf_slice(&line));
	grove__buf_release(&line);
	return rc;
}

/* What an archive has noted next to the copy (transfer/archive_note.c). A database says it with the log. */
static int by_note(struct grove_store *st, const struct grove_key *key, const struct grove__dialect **out,
		   struct grove_detail *d)
{
	struct grove_key own = { key->project, key->session, "" };
	struct grove_buf note = GROVE_BUF_INIT, name = GROVE_BUF_INIT;
	struct grove_slice said;
	int rc = grove__store_traits(st).paths ? grove__store_attach_get(st, &own, GROVE__NOTE_NAME, &note, NULL)
					    : GROVE_ENOTFOUND;

	if (!rc)
		rc = grove__json_document(&note, NULL);
	if (!rc) {
		said = grove__json_get(grove__buf_slice(&note), DIALECT);
		if (grove__json_type_of(said) == JSON_STRING)
			rc = grove__json_text(&name, said);
		if (!rc && name.len)
			*out = grove__dialect_find(name.ptr);
	}
	grove__buf_release(&name);
	grove__buf_release(&note);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : 0;
}

int grove__peek_log_dialect(struct grove *g, struct grove__root *root, struct grove_store_log *log,
			    const struct grove_key *key, const struct grove__dialect **out,
			    struct grove_detail *d)
{
	int rc;

	*out = g->forced ? g->forced : root->dialect;
	if (*out)
		return 0;
	rc = grove__peek_told_dialect(log, out, d);
	if (!rc && !*out)
		rc = by_note(root->store, key, out, d);
	if (rc || *out)
		return rc;
	return grove__peek_root_likely(g, root, key->project, out) ? grove__fail_nomem(d) : 0;
}

int grove__peek_root_dialect(struct grove *g, struct grove__root *root, const struct grove_key *key,
			const struct grove__dialect **out, struct grove_detail *d)
{
	struct grove_store_log *log;
	int rc;

	*out = g->forced ? g->forced : root->dialect;
	if (*out)
		return 0;
	rc = grove__log_open(&log, root->store, key, GROVE_STORE_READ, d);
	if (rc)
		return rc;
	rc = grove__peek_log_dialect(g, root, log, key, out, d);
	grove__log_close(log);
	return rc;
}

int grove__peek_place_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d)
{
	struct grove__root *root;
	char project[1024];

	if (g->forced)
		w->dialect = g->forced;
	/* a file's name says more than that of its directory, which several agents may share */
	if (!w->dialect && w->path)
		w->dialect = by_root(w->path);
	if (!w->dialect && w->path)
		w->dialect = by_file_name(w->path);
	if (w->dialect)
		return 0;
	root = root_around(g, w, project, sizeof(project));
	if (root && grove__peek_root_likely(g, root, project, &w->dialect))
		return grove__fail_nomem(d);
	if (!w->dialect)
		w->dialect = grove__peek_path_dialect(w->path);
	return 0;
}

int grove__peek_where_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(w);
	struct grove_store_log *log;
	int rc;

	if (g->forced)
		w->dialect = g->forced;
	if (w->dialect)
		return 0;
	rc = grove__log_open(&log, w->store, &key, GROVE_STORE_READ, d);
	if (rc)
		return rc;
	rc = grove__peek_told_dialect(log, &w->dialect, d);
	grove__log_close(log);
	if (!rc && !w->dialect)
		rc = by_note(w->store, &key, &w->dialect, d);
	if (!rc)
		rc = grove__peek_place_dialect(g, w, d);
	if (!rc && !strcmp(w->agent, "grove"))
		w->agent = w->dialect->name;
	return rc;
}
