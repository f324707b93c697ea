/*
 * catalog/recent.c: the session to continue with in a directory.
 *
 * The candidates are the sessions that a list of the directory shows. There are two
 * orders. "last" is the first row of that list, so that users get what they see;
 * grove_session_open_recent() goes by the time of the file, as the agents do.
 *
 * If the list shows file times, candidates are sorted by them before any is opened,
 * and then read from the newest on until one is a session that the list would show.
 * pi's list shows the time of the last message instead,
 * which is inside the file: those are read, or known from the catalog.
 *
 * oh-my-pi and xcsh record the last session of each terminal. If there is a record
 * for this terminal, it stands for all sessions of its agent.
 */
#include "digest/catalog.h"
#include "catalog/list.h"
#include "digest/read.h"
#include "find/find.h"

#include "base/array.h"

#include <stdlib.h>


struct candidate {
	struct grove__log_at task;
	const struct grove__dialect *dialect;
	struct grove_list_item info;          /* modified (0: does not count) and the time of the file … */
	bool read;                       /* … and everything else that decides the order */
	bool passed;                     /* its agent recorded another session for this terminal */
	bool noted;                      /* its agent recorded it as the last one of this terminal: */
	struct grove__where at;          /* there */
};

struct recent {
	struct grove *g;
	const char *cwd;                 /* resolved */
	bool written;                    /* order by the time of the file only */
	struct candidate *all;
	size_t nr, cap;
	struct grove__logs found;
	struct grove__digest_reader reader;
	bool looked_up;                  /* its catalog is open, if there is one */
	struct grove__arena names;
	struct grove_detail *d;
};

/* --- one session --- */

static const char *keep(struct recent *r, const char *text)
{
	return grove__arena_dup(&r->names, grove__slice_str(text));
}

/* A session that cannot be opened may be the one that is wanted, so it is reported. */
static void hide(struct recent *r, int rc, const struct grove_detail *why)
{
	if (rc == GROVE_EACCESS || rc == GROVE_EIO || rc == GROVE_EAWAY)
		grove__hidden_add(r->g, why);
}

/* Finds out whether it belongs in a list of this directory. GROVE_ENOMEM. */
static int read_listed(struct recent *r, struct candidate *c, bool *fits)
{
	struct grove__digest_one x;
	struct grove_detail why;
	const grove__catalog_need few = 0;
	int rc;

	if (!r->looked_up)
		r->reader.catalog = grove__catalog_open(r->g, 1u << CHAPTER_LIST, &few);
	r->looked_up = true;
	rc = grove__digest_read(&r->reader, &c->task, &x, &why);
	if (why.code)
		hide(r, rc, &why);
	*fits = false;
	if (!rc && !(r->written && c->dialect->list.unused_below && !x.l.messages && !x.l.name)) {
		rc = grove__digest_belongs(&r->reader, &c->task, &x.l, r->cwd);
		*fits = rc > 0;
	}
	if (*fits) {
		c->info = grove__list_describe(&x);
		if (r->written)
			c->info.modified = 0;
		c->info.id = keep(r, c->info.id);
		c->info.cwd = keep(r, c->info.cwd);
		c->read = true;
		rc = r->names.failed ? GROVE_ENOMEM : 0;
	}
	grove__digest_read_release(&r->reader, &x);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(r->d) : 0;
}

/* The same for one whose header is enough to decide. */
static int peek(struct recent *r, const struct candidate *c, bool *fits)
{
	struct grove_key key = { c->task.project, c->task.session, "" };
	struct grove__arena names;
	struct grove__header h;
	struct grove_detail why;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, c->task.root->store, &key, GROVE_STORE_READ, &why);

	hide(r, rc, &why);
	if (rc)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(r->d) : 0;
	grove__arena_init(&names);
	rc = grove__peek_header(log, c->dialect, &names, &h, NULL);
	if (!rc && h.usable)
		rc = grove__root_belongs(r->g, c->task.root, c->dialect, c->task.project, h.cwd, r->cwd);
	*fits = rc > 0;
	grove__log_close(log);
	grove__arena_release(&names);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(r->d) : 0;
}

static int check(struct recent *r, struct candidate *c, bool *fits)
{
	*fits = c->noted || c->read;
	if (*fits)
		return 0;
	/* a longer session has been used */
	if (!r->written || c->dialect->list.tally || c->info.size < c->dialect->list.unused_below)
		return read_listed(r, c, fits);
	return peek(r, c, fits);
}

/* --- all of them --- */

/* Gets its dialect and the time of its last change. Returns 1 if it cannot be read. */
static int get_time(struct recent *r, struct candidate *c, int64_t *ns)
{
	struct grove_key key = grove__logs_key(&c->task);
	struct grove__root *root = c->task.root;
	struct grove_store_log_stat st;
	struct grove_detail why;
	struct grove_store_log *log;
	int rc;

	c->dialect = r->g->forced ? r->g->forced : root->dialect;
	*ns = c->task.st.mtime_ns;
	if (c->task.is_file && c->dialect)
		return 0;
	rc = grove__log_open(&log, root->store, &key, GROVE_STORE_READ, &why);
	hide(r, rc, &why);
	if (rc)
		return rc == GROVE_ENOMEM ? rc : 1;
	rc = grove__peek_log_dialect(r->g, root, log, &key, &c->dialect, NULL);
	if (!rc)
		rc = grove__time_stat(log, &st, NULL);
	*ns = rc ? 0 : st.mtime_ns;
	grove__log_close(log);
	return rc && rc != GROVE_ENOMEM ? 1 : rc;
}

static int add_log(struct recent *r, const struct grove__log_at *at)
{
	struct candidate c = { .task = *at };
	bool fits = true;
	int64_t ns;
	int rc = get_time(r, &c, &ns);

	if (rc || grove__array_room(&r->all, &r->cap, r->nr, sizeof(*r->all)))
		return rc > 0 ? 0 : grove__fail_nomem(r->d);
	c.info = (struct grove_list_item){ .path = c.task.path, .id = "", .store = c.task.url, .cwd = "",
				      .size = c.task.st.size, .file_time_ns = ns };
	if (!r->written && c.dialect->list.modified_by_file)
		c.info.modified = grove__digest_file_time(c.dialect, ns);
	else if (!r->written)
		rc = read_listed(r, &c, &fits);
	if (!rc && fits)
		r->all[r->nr++] = c;
	return rc;
}

/* Copies in an archive are no sessions to continue with, unless it is named. */
static int add_logs(struct recent *r, const struct grove__logs_which *which)
{
	int rc = grove__logs_find(&r->found, r->g, which, r->d);

	for (size_t i = 0; i < r->found.nr && !rc; i++)
		rc = add_log(r, &r->found.logs[i]);
	return rc;
}

static const char *agent_of(const struct candidate *c)
{
	return strcmp(c->task.root->agent, "grove") ? c->task.root->agent : c->dialect->name;
}

/*
 * An agent that leaves records continues the session that this terminal had, even if
 * another one was written to since: the record stands for all of that agent's sessions.
 * Compared with those of other agents, its time counts.
 */
static void pass_by(struct recent *r, struct candidate *note)
{
	for (size_t i = 0; i < r->nr; i++) {
		struct candidate *c = &r->all[i];

		if (c->noted || strcmp(agent_of(c), note->at.agent))
			continue;
		c->passed = true;
		if (!note->at.path || strcmp(c->task.path, note->at.path))
			continue;
		if (c->info.modified > note->info.modified)
			note->info.modified = c->info.modified;
		if (c->info.file_time_ns > note->info.file_time_ns)
			note->info.file_time_ns = c->info.file_time_ns;
	}
}

static int follow_notes(struct recent *r)
{
	const struct grove__dialect *dialect;
	int rc = 0;

	for (unsigned i = 0; rc >= 0 && (dialect = grove__dialect_at(i)); i++) {
		struct candidate note = { .noted = true };
		int64_t ns;

		if (!dialect->last_session || (r->g->forced && r->g->forced != dialect))
			continue;
		rc = grove__last_session_read(r->g, dialect, r->cwd, &note.at, &ns, r->d);
		if (rc)
			continue;
		if (grove__array_room(&r->all, &r->cap, r->nr, sizeof(*r->all))) {
			grove__where_release(&note.at);
			return grove__fail_nomem(r->d);
		}
		note.info = (struct grove_list_item){ .path = "", .id = "", .store = "", .cwd = "",
						 .modified = r->written ? 0 : ns / 1000000,
						 .file_time_ns = ns };
		pass_by(r, &note);
		r->all[r->nr++] = note;
	}
	return rc < 0 ? rc : 0;
}

/* --- the first one --- */

static int by_time(const void *x, const void *y)
{
	const struct grove_list_item *a = &((const struct candidate *)x)->info;
	const struct grove_list_item *b = &((const struct candidate *)y)->info;

	if (a->modified != b->modified)
		return a->modified > b->modified ? -1 : 1;
	return a->file_time_ns > b->file_time_ns ? -1 : a->file_time_ns < b->file_time_ns;
}

/* If times are equal, takes the one that a list shows first, which requires reading them. */
static int choose(struct recent *r, struct candidate **best)
{
	bool fits;
	int rc = 0;

	*best = NULL;
	if (r->nr)
		qsort(r->all, r->nr, sizeof(*r->all), by_time);
	for (size_t i = 0; i < r->nr && !rc; i++) {
		struct candidate *c = &r->all[i];

		if (*best && by_time(*best, c))
			break;
		if (c->passed)
			continue;
		rc = check(r, c, &fits);
		if (!rc && fits && (!*best || grove__list_newer(&c->info, &(*best)->info) < 0))
			*best = c;
	}
	return rc;
}

static int take(struct recent *r, struct candidate *best, struct grove__where *out)
{
	struct grove_key key;

	if (!best && grove__roots_away(r->g))
		return grove__fail(r->d, GROVE_EAWAY, NULL, "no session of %.300s was found, but not all stores answer", r->cwd);
	if (!best)
		return grove__fail(r->d, GROVE_ENOTFOUND, NULL, "no session of %.300s yet", r->cwd);
	if (best->noted) {
		*out = best->at;
		memset(&best->at, 0, sizeof(best->at));
		return 0;
	}
	key = (struct grove_key){ best->task.project, best->task.session, "" };
	return grove__where_fill(out, best->task.root, &key, r->d);
}

/* --- where to look --- */

static int in_roots(struct recent *r)
{
	int rc = add_logs(r, &(struct grove__logs_which){ .no_archives = true, .look = true });

	return rc || r->g->given ? rc : follow_notes(r);
}

/* Finds the root that has that directory as a project, or is that directory. */
static struct grove__root *root_of(struct grove *g, const char *dir, const char **project)
{
	const char *slash = strrchr(dir, '/');

	for (size_t i = 0; i < g->nr_roots; i++) {
		struct grove__root *root = &g->roots[i];
		size_t n = root->dir ? strlen(root->dir) : 0;

		*project = "";
		if (n && !strcmp(root->dir, dir))
			return root;
		*project = slash + 1;
		if (n && n == (size_t)(slash - dir) && !strncmp(root->dir, dir, n))
			return root;
	}
	return NULL;
}

/* Collects those directly in a directory, which may be that of a project. */
static int in_dir(struct recent *r, char *dir, struct grove__root *own)
{
	struct grove__logs_which which = { .copies = true, .look = true };
	struct grove_buf url = GROVE_BUF_INIT;
	int rc = 0;

	which.only = root_of(r->g, dir, &which.project);
	if (!which.only) {
		rc = grove__buf_addf(&url, "%s/.", dir) ? grove__fail_nomem(r->d) : 0;
		own->likely = rc ? NULL : grove__peek_path_dialect(url.ptr);
		grove__buf_clear(&url);
		if (!rc && grove__buf_addf(&url, "file:%s", dir))
			rc = grove__fail_nomem(r->d);
		if (!rc)
			rc = grove__world_store(r->g, url.ptr, &own->store, r->d);
		own->dir = dir;
		which.only = own;
		which.project = "";
	}
	if (!rc)
		rc = add_logs(r, &which);
	grove__buf_release(&url);
	return rc;
}

static int find(struct recent *r, const char *dir, struct grove__where *out)
{
	struct grove__root own = { .agent = "grove", .flat = true, .looked = true };
	struct grove_buf full = GROVE_BUF_INIT;
	struct candidate *best = NULL;
	int rc = dir && grove__world_resolve(r->g, dir, &full) ? grove__fail_nomem(r->d) : 0;

	if (!rc)
		rc = dir ? in_dir(r, full.ptr, &own) : in_roots(r);
	if (!rc)
		rc = choose(r, &best);
	if (!rc)
		rc = take(r, best, out);
	if (!rc && own.store && out->store == own.store)
		out->own_store = true;
	else if (own.store)
		grove__store_close(own.store);
	grove__buf_release(&full);
	return rc;
}

static int recent(struct grove *g, const char *cwd, const char *dir, bool written,
		  struct grove__where *out, struct grove_detail *d)
{
	struct recent r = { .g = g, .written = written, .d = d };
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__world_resolve(g, cwd, &full);

	memset(out, 0, sizeof(*out));
	grove__arena_init(&r.names);
	r.cwd = full.ptr;
	rc = grove__digest_reader_init(&r.reader, g, NULL, 1u << CHAPTER_LIST) || rc ? grove__fail_nomem(d)
								: find(&r, dir, out);
	grove__digest_reader_release(&r.reader);
	grove__catalog_close(r.reader.catalog, false, NULL);
	for (size_t i = 0; i < r.nr; i++)
		grove__where_release(&r.all[i].at);
	free(r.all);
	grove__arena_release(&r.names);
	grove__logs_release(&r.found);
	grove__buf_release(&full);
	return rc;
}

int grove__recent_listed(struct grove *g, struct grove__where *out, struct grove_detail *d)
{
	return recent(g, g->cwd, NULL, false, out, d);
}

int grove__recent_written(struct grove *g, const char *cwd, const char *dir,
			  struct grove__where *out, struct grove_detail *d)
{
	return recent(g, cwd, dir, true, out, d);
}
