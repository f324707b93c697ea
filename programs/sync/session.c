/*
 * session.c: one session: its logs, its files.
 */
#include "sync.h"
#include "table.h"

#include "kit/carry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)60 << 20)

/* The names of what belongs to a session here. */
struct part {
	char *name;
	uint64_t size;
	int is_log;
};

struct parts {
	struct part *at;
	size_t nr, cap;
};

static int add_part(void *payload, const struct grove_carry_part *p)
{
	struct parts *l = payload;

	if (l->nr == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		struct part *more = realloc(l->at, cap * sizeof(*more));

		if (!more)
			return GROVE_ENOMEM;
		l->at = more;
		l->cap = cap;
	}
	l->at[l->nr] = (struct part){ strdup(p->name), p->size, p->is_log };
	return l->at[l->nr].name ? (l->nr++, 0) : GROVE_ENOMEM;
}

static void release_parts(struct parts *l)
{
	while (l->nr)
		free(l->at[--l->nr].name);
	free(l->at);
	memset(l, 0, sizeof(*l));
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->is_log != y->is_log ? x->is_log - y->is_log : strcmp(x->name, y->name);
}

/* The list is sorted. */
static const struct part *find_part(const struct parts *l, char *name, int is_log)
{
	struct part want = { .name = name, .is_log = is_log };

	return l->nr ? bsearch(&want, l->at, l->nr, sizeof(want), by_kind_and_name) : NULL;
}

static int fail_here(struct job *j, int rc)
{
	struct grove_detail why = { 0 };

	if (rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED)
		return rc;
	if (j->carry)
		grove_carry_error(j->carry, &why);
	report_problem(j, rc, "%s", *why.message ? why.message : grove_strerror(rc));
	return 1;
}

/* Handles a failure of the server: gives up if nothing else can succeed. */
static int fail_there(struct job *j, int rc)
{
	if (j->s->remote.outage || rc == GROVE_EACCESS || rc == GROVE_ECANCELLED || rc == GROVE_ENOMEM)
		return rc;
	report_problem(j, rc, "%s", j->s->remote.why);
	return 1;
}

/* ---------------------------------------------------------------- two sides */

/* Returns true if a session that one side lacks was there before. */
static int was_in_step(const struct job *j)
{
	for (size_t i = 0; i < j->mark.nr_logs; i++)
		if (!*j->mark.log[i].sub && j->mark.log[i].here.seq && !j->mark.log[i].copying)
			return 1;
	return 0;
}

/* Two spellings of a directory that exists are the same. */
static int same_dir(const char *a, const char *b)
{
	char *x = realpath(a, NULL), *y = realpath(b, NULL);
	int same = !strcmp(a, b) || (x && y && !strcmp(x, y));

	free(x);
	free(y);
	return same;
}

int sync_of_dir(const struct sync *s, const char *cwd)
{
	char *here = s->dir && *cwd ? state_here(&s->state, cwd) : NULL;
	int is = !s->dir || !*cwd || (here && same_dir(here, s->dir));

	free(here);
	return is;
}

/* The server listed it as one of this directory; says if it is not. */
static int is_elsewhere(struct job *j, const char *cwd)
{
	if (j->named || sync_of_dir(j->s, cwd))
		return 0;
	report_problem(j, GROVE_EJSON, "the server lists it here, but it belongs to %.300s", cwd);
	return 1;
}

int sync_lines_of_dir(struct job *j, struct spool *lines)
{
	struct grove_carry_line k = { .size = sizeof(k) };
	struct grove_slice line;
	char *cwd = NULL;
	uint64_t seq = 0;
	int rc, not_here;

	if (!j->s->dir || j->named || j->what)
		return 0;
	while (!(rc = spool_next(lines, &line)) && !cwd) {
		rc = grove_carry_line(j->carry, line, seq++, &k);
		cwd = !rc && k.cwd.len ? strndup(k.cwd.ptr, k.cwd.len) : NULL;
		if (rc || (k.cwd.len && !cwd))
			return rc ? rc : GROVE_ENOMEM;
	}
	not_here = cwd && is_elsewhere(j, cwd);
	free(cwd);
	return not_here ? 1 : rc < 0 ? rc : spool_rewind(lines);
}

/*
 * Finds the session that the server names by its id. If several have that id, it cannot be
 * known which one is meant.
 */
static int find_here(struct job *j)
{
	struct grove *g = j->s->c->g;
	struct grove_list *l = NULL;
	struct grove_detail why = { 0 };
	const struct grove_list_item *it;
	int rc = grove_find(g, j->id, GROVE_FIND_ID, &l);

	if (rc == GROVE_EAMBIGUOUS || (rc == GROVE_EDAMAGED && !carry_is_empty(g, j->id))) {
		grove_error(g, &why);
		report_problem(j, rc, "%s", why.message);
		rc = 1;
	} else if (!rc && (it = grove_list_at(l, 0)) && j->s->dir && !j->named && *it->cwd && !same_dir(it->cwd, j->s->dir)) {
		report_note(j, "elsewhere", 1, "it belongs to another directory here, %.300s", it->cwd);
		rc = 1;
	} else if (!rc && (it = grove_list_at(l, 0))) {
		j->found = strdup(it->path && *it->path == '/' ? it->path : it->id);
		j->what = j->found;
		rc = j->found ? 0 : GROVE_ENOMEM;
	} else {
		rc = rc == GROVE_ENOMEM ? rc : 0;
	}
	grove_list_free(l);
	return rc;
}

/*
 * Opens a session that is here. A log without any line is what a copy that was interrupted
 * leaves: the session counts as absent, and its lines go there.
 */
static int open_existing(struct job *j)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_WRITE };
	struct grove_carry_about a = { .size = sizeof(a) };
	int rc = !j->what && j->there.there ? find_here(j) : 0;

	if (rc)
		return rc;
	rc = j->what ? grove_carry_open(j->s->c->g, j->what, &o, &j->carry) : GROVE_ENOTFOUND;
	if (rc == GROVE_ENOTFOUND) {
		grove_carry_close(j->carry);
		j->carry = NULL;
		j->what = NULL;
		return 0;
	}
	if (!rc)
		rc = grove_carry_about(j->carry, &a);
	if (rc)
		return fail_here(j, rc);
	if (strcmp(a.id, j->id)) {
		report_problem(j, GROVE_EAMBIGUOUS, "another session here, %.100s, has a similar id", a.id);
		return 1;
	}
	j->dialect = strdup(a.dialect);
	j->cwd_there = state_there(&j->s->state, a.cwd ? a.cwd : "");
	j->file = strdup(a.file ? a.file : "");
	if (a.old) {
		report_problem(j, GROVE_ENOTSUP, "its log has an earlier version (run 'grove migrate %s' first)", j->id);
		return 1;
	}
	return j->dialect && j->cwd_there && j->file ? 0 : GROVE_ENOMEM;
}

/* Opens a session that only the server has: the first lines create it. */
static int open_new(struct job *j)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_CREATE, .id = j->id,
					 .file = j->there.file };
	int rc;

	j->dialect = strdup(j->there.dialect);
	if (is_elsewhere(j, j->there.cwd ? j->there.cwd : ""))
		return 1;
	if (j->there.cwd && *j->there.cwd == '/')
		j->cwd_here = state_here(&j->s->state, j->there.cwd);
	else if (j->s->dir && !j->named)
		j->cwd_here = strdup(j->s->dir);
	o.dialect = j->dialect;
	o.cwd = j->cwd_here;
	rc = grove_carry_open(j->s->c->g, NULL, &o, &j->carry);
	return rc ? fail_here(j, rc) : 0;
}

/* Checks that both sides agree on the session's agent. */
static int agree(struct job *j)
{
	int claude = !strcmp(j->dialect, "claude");

	if (!j->there.there)
		return 0;
	if (claude != !strcmp(j->there.dialect, "claude")) {
		report_problem(j, GROVE_ECONFLICT, "it is a session of %s here and of %s on the server", j->dialect,
			       j->there.dialect);
		return 1;
	}
	return 0;
}

/* Returns 1 if there is nothing to do. */
static int meet(struct job *j)
{
	struct sync *s = j->s;
	int rc = remote_about(&s->remote, j->key, &j->there);

	if (rc)
		return fail_there(j, rc);
	if (j->there.there && strcmp(j->there.id, j->id)) {
		report_problem(j, GROVE_EJSON, "the server's response is about another session");
		return 1;
	}
	if (j->there.refused)
		report_problem(j, GROVE_EINVAL, "%zu name%s of files on the server cannot be names here", j->there.refused,
			       j->there.refused == 1 ? "" : "s");
	if (j->there.old) {
		report_problem(j, GROVE_ENOTSUP, "its log on the server has an earlier version");
		return 1;
	}
	rc = open_existing(j);
	if (rc)
		return rc;
	if (!j->what && !j->there.there) {
		if (j->named)
			report_problem(j, GROVE_ENOTFOUND, "there is no such session");
		return 1;
	}
	/* a removal is not carried over, and what was removed is not restored unasked */
	if (was_in_step(j) && !j->named && (!j->what || !j->there.there)) {
		report_note(j, j->what ? "deletedThere" : "deletedHere", 1, "it was deleted %s",
			    j->what ? "on the server and stays here" : "here and stays on the server");
		return 1;
	}
	if ((!j->what && !(s->ways & WAY_PULL)) || (!j->there.there && !(s->ways & WAY_PUSH))) {
		if (j->named)
			report_problem(j, GROVE_ENOTFOUND, "%s", j->what ? "the server has no such session" : "there is no such session here");
		return 1;
	}
	return j->what ? agree(j) : open_new(j);
}

/* ------------------------------------------------------------------ hydrate */

static int next_line(void *payload, struct grove_slice *line)
{
	return spool_next(payload, line);
}

/* Whether the log here has a line that the server lacks. */
struct lacking {
	struct table there;
	struct job *j;
	uint64_t lacks;
};

static int note_there(struct lacking *l, struct spool *lines)
{
	struct grove_carry_line k = { .size = sizeof(k) };
	struct grove_slice line;
	int rc;

	while (!(rc = spool_next(lines, &line))) {
		rc = sync_stopped() ? GROVE_ECANCELLED : grove_carry_line(l->j->carry, line, 1, &k);
		rc = rc ? rc : table_add(&l->there, k.id, line);
		if (rc)
			return rc;
	}
	return rc == 1 ? spool_rewind(lines) : rc;
}

static int count_lacking(void *payload, const char *ptr, size_t len)
{
	struct lacking *l = payload;
	struct grove_carry_line k = { .size = sizeof(k) };
	const char *end = ptr + len, *lf;

	/* the log is read in runs of complete lines; a very long line counts as lacking */
	for (; ptr < end; ptr = lf + 1) {
		struct grove_slice line;

		lf = memchr(ptr, '\n', (size_t)(end - ptr));
		if (!lf) {
			l->lacks++;
			return 0;
		}
		line = (struct grove_slice){ ptr, (size_t)(lf - ptr) };
		if (grove_carry_line(l->j->carry, line, 1, &k))
			return GROVE_ENOMEM;
		if (k.kind != GROVE_CARRY_LINE_BLANK && k.kind != GROVE_CARRY_LINE_LEAF &&
		    table_ask(&l->there, k.id, line) != TABLE_SAME)
			l->lacks++;
	}
	return 0;
}

/* Compares the log here with all lines of the other. Returns 1 if it has any that those lack. */
static int lacks(struct job *j, struct spool *lines, struct grove_carry_state *st)
{
	struct lacking l = { .j = j };
	int rc = note_there(&l, lines);

	if (!rc)
		rc = grove_carry_read(j->carry, NULL, 0, 0, (struct grove_sink){ count_lacking, &l }, st);
	table_release(&l.there);
	if (rc)
		return fail_here(j, rc);
	if (l.lacks)
		report_problem(j, GROVE_ECONFLICT, "it has %llu lines that the server lacks (push it first)",
			       (unsigned long long)l.lacks);
	return l.lacks != 0;
}

/* As hydrate(). */
static int replace_log(struct job *j, struct spool *lines)
{
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_hydrate_options o = { .size = sizeof(o), .id = j->id, .dialect = "claude", .cwd = j->cwd_here,
					   .flags = j->what ? 0u : GROVE_HYDRATE_NEW };
	struct grove_carry_about a = { .size = sizeof(a) };
	struct grove_source src = { .next = next_line, .payload = lines };
	struct log_mark *m = state_log(&j->mark, "");
	struct grove_detail why;
	int rc = j->what ? lacks(j, lines, &st) : 0;

	if (!rc && j->what)
		rc = grove_carry_about(j->carry, &a) ? fail_here(j, GROVE_EIO) : 0;
	o.path = a.path;
	if (!rc && !j->s->dry) {
		rc = grove_hydrate(j->s->c->g, &o, &src, NULL);
		if (rc && rc != GROVE_EJSON) {
			grove_error(j->s->c->g, &why);
			report_problem(j, rc, "%s", why.message);
			rc = 1;
		}
		/* comparing shows what is in step, now and the next time */
		if (m)
			memset(&m->here, 0, sizeof(m->here));
	}
	if (!rc)
		j->pulled += j->what && st.seq < lines->lines ? lines->lines - st.seq : j->what ? 0 : lines->lines;
	/* it has lines that are not JSON: those that are can still be appended */
	return rc == GROVE_EJSON ? 0 : rc ? rc : 2;
}

/*
 * Replaces Claude's own file by the server's log at once, after all of it has arrived: a
 * program that resumes the session meanwhile finds the old one or the new one. Returns 2 if
 * it was done, 0 if the lines have to be carried over one by one.
 */
static int hydrate(struct job *j)
{
	struct spool lines = { .file = NULL };
	struct remote_state there;
	int rc = remote_lines(&j->s->remote, j->key, NULL, 0, &lines, &there);

	rc = rc ? fail_there(j, rc) : sync_lines_of_dir(j, &lines);
	rc = rc ? rc : replace_log(j, &lines);
	spool_release(&lines);
	return rc;
}

/* The session is here now; opens it as such. */
static int reopen(struct job *j)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_WRITE };
	int rc;

	grove_carry_close(j->carry);
	j->carry = NULL;
	rc = j->what ? 0 : find_here(j);
	if (rc)
		return rc;
	if (!j->what) {
		report_problem(j, GROVE_ENOTFOUND, "it cannot be found, although it was stored");
		return 1;
	}
	rc = grove_carry_open(j->s->c->g, j->what, &o, &j->carry);
	return rc ? fail_here(j, rc) : 0;
}

static int hydrate_if_asked(struct job *j)
{
	struct grove_carry_state st = { .size = sizeof(st) };
	int rc;

	if (strcmp(j->dialect, "claude") || !(j->s->ways & WAY_PULL) || !j->s->files_here || !j->there.there ||
	    (j->what && !j->s->hydrate))
		return 0;
	if (j->what && !grove_carry_state(j->carry, NULL, &st))
		j->was = st.modified;
	rc = hydrate(j);
	if (rc != 2)
		return rc;
	j->hydrated = 1;
	return j->s->dry ? 1 : reopen(j);
}

/* -------------------------------------------------------------------- files */

struct file {
	const char *name;
	int here, there;
	uint64_t size_here, size_there;
};

static int send_file(struct job *j, const char *name, struct grove_slice bytes)
{
	int rc = j->s->dry ? 0 : remote_file_put(&j->s->remote, j->key, name, NULL, NULL, bytes);

	if (rc)
		return fail_there(j, rc);
	j->files_pushed++;
	return 0;
}

static int take_file(struct job *j, const char *name, struct grove_slice bytes)
{
	int rc = j->s->dry ? 0 : grove_carry_file_put(j->carry, name, bytes);

	if (rc)
		return fail_here(j, rc);
	j->files_pulled++;
	return 0;
}

static int begins_with(const struct grove_buf *a, const struct grove_buf *b)
{
	return a->len >= b->len && (!b->len || !memcmp(a->ptr, b->ptr, b->len));
}

/*
 * Says which of two different versions is newer: WAY_PUSH for ours, WAY_PULL for theirs, 0
 * if that is unknown. Only the mark tells, which has the version that both sides had: the
 * side that still has it is older, and so is one that the other side only added to.
 */
static unsigned newer_side(const struct file_mark *m, const struct grove_buf *here, const struct grove_buf *there)
{
	if (!m->hash)
		return 0;
	if (m->hash == table_hash(grove_buf_slice(there)) || begins_with(here, there))
		return WAY_PUSH;
	if (m->hash == table_hash(grove_buf_slice(here)) || begins_with(there, here))
		return WAY_PULL;
	return 0;
}

/*
 * Brings one file in step, given both versions. *both is the version that both sides have
 * then; NULL if they differ.
 */
static int settle(struct job *j, const struct file *f, const struct file_mark *m, struct grove_buf *here,
		  struct grove_buf *there, struct grove_buf **both)
{
	unsigned newer = f->here && f->there ? newer_side(m, here, there) : f->here ? WAY_PUSH : WAY_PULL;
	int rc;

	if (f->here && f->there && here->len == there->len && begins_with(here, there)) {
		*both = here;
		return 0;
	}
	if (!newer) {
		report_problem(j, GROVE_ECONFLICT, "%s differs between here and the server (remove the one that is not wanted)",
			       f->name);
		return 0;
	}
	if (!(newer & j->s->ways))
		return 0;
	*both = newer == WAY_PUSH ? here : there;
	rc = newer == WAY_PUSH ? send_file(j, f->name, grove_buf_slice(here)) : take_file(j, f->name, grove_buf_slice(there));
	return rc;
}

/* Ours is read last, right before it may be replaced. */
static int read_both(struct job *j, struct file *f, struct grove_buf *here, struct grove_buf *there)
{
	int rc = f->there ? remote_file_get(&j->s->remote, j->key, f->name, there) : 0;

	if (rc)
		return fail_there(j, rc);
	rc = grove_carry_file_get(j->carry, f->name, here);
	f->here = rc != GROVE_ENOTFOUND;
	return rc && f->here ? fail_here(j, rc) : 0;
}

static int sync_file(struct job *j, struct file f)
{
	struct grove_buf here = GROVE_BUF_INIT, there = GROVE_BUF_INIT, *both = NULL;
	struct file_mark *m = state_file(&j->mark, f.name);
	int rc = m ? 0 : GROVE_ENOMEM;

	if (!rc && f.here && f.there && m->hash && f.size_here == m->size && f.size_there == m->size)
		return 0;
	if ((f.here && f.size_here > FILE_MAX_BYTES) || (f.there && f.size_there > FILE_MAX_BYTES)) {
		report_problem(j, GROVE_ETOOBIG, "%s is too large to be transferred", f.name);
		return 0;
	}
	if ((!f.here && !(j->s->ways & WAY_PULL)) || (!f.there && !(j->s->ways & WAY_PUSH)))
		return 0;
	if (!rc)
		rc = read_both(j, &f, &here, &there);
	if (!rc && (f.here || f.there))
		rc = settle(j, &f, m, &here, &there, &both);
	if (!rc && both && !j->s->dry) {
		m->hash = table_hash(grove_buf_slice(both));
		m->size = both->len;
	}
	grove_buf_release(&here);
	grove_buf_release(&there);
	return rc < 0 ? rc : 0;
}

static int sync_files(struct job *j, const struct parts *parts)
{
	int rc = 0;

	for (size_t i = 0; i < parts->nr && !rc; i++) {
		struct file f = { .name = parts->at[i].name, .here = 1, .size_here = parts->at[i].size };
		const struct remote_file *there = remote_session_file(&j->there, f.name);

		if (parts->at[i].is_log)
			continue;
		f.there = there != NULL;
		f.size_there = there ? there->size : 0;
		rc = sync_file(j, f);
	}
	for (size_t k = 0; k < j->there.nr_files && !rc; k++) {
		struct file f = { .name = j->there.file_at[k].name, .there = 1, .size_there = j->there.file_at[k].size };

		if (!find_part(parts, j->there.file_at[k].name, 0))
			rc = sync_file(j, f);
	}
	return rc;
}

/* -------------------------------------------------------------------- whole */

static int sync_subs(struct job *j, const struct parts *parts)
{
	int rc = 0;

	for (size_t i = 0; i < parts->nr && !rc; i++) {
		const struct remote_log *there = remote_session_log(&j->there, parts->at[i].name);

		if (!parts->at[i].is_log)
			continue;
		if (there || j->s->ways & WAY_PUSH)
			rc = sync_log(j, parts->at[i].name, there);
	}
	for (size_t k = 0; k < j->there.nr_logs && !rc; k++)
		if (j->s->ways & WAY_PULL && !find_part(parts, j->there.log[k].sub, 1))
			rc = sync_log(j, j->there.log[k].sub, &j->there.log[k]);
	return rc;
}

/* A complete copy continues where the other side does. */
static int same_leaf(struct job *j)
{
	struct grove_carry_about a = { .size = sizeof(a) };
	struct grove_leaf_options o = { .size = sizeof(o), .flags = GROVE_LEAF_PERSIST };
	struct grove_session *s = NULL;
	int rc = grove_carry_about(j->carry, &a);

	if (rc)
		return 0;
	if (j->copied_there && a.leaf && strcmp(a.leaf, j->leaf_there))
		rc = remote_leaf(&j->s->remote, j->key, a.leaf);
	if (!rc && j->copied_here && j->there.leaf && *j->there.leaf && (!a.leaf || strcmp(a.leaf, j->there.leaf))) {
		rc = grove_session_open(j->s->c->g, a.path ? a.path : a.id, GROVE_OPEN_WRITE, &s);
		if (!rc)
			rc = grove_session_set_leaf(s, j->there.leaf, &o, NULL);
		grove_session_close(s);
	}
	/* all lines are there; that it continues elsewhere is not a failure */
	return j->s->remote.outage ? rc : 0;
}

/* Nothing belongs to a session that could not be stored. */
static int is_on_both_sides(struct job *j)
{
	struct grove_carry_about a = { .size = sizeof(a) };

	return !grove_carry_about(j->carry, &a) && a.there && j->there.there;
}

/* What cannot be listed is not carried: what is not in the list counts as absent. */
static int carry_parts(struct job *j)
{
	struct parts parts = { 0 };
	int rc = grove_carry_each(j->carry, add_part, &parts);

	if (parts.nr)
		qsort(parts.at, parts.nr, sizeof(*parts.at), by_kind_and_name);
	if (rc)
		rc = fail_here(j, rc);
	else if (parts.nr > REMOTE_NAMES_MAX || j->there.too_many)
		report_problem(j, GROVE_ETOOBIG, "it has more than %u files, which are not transferred", REMOTE_NAMES_MAX);
	else
		rc = sync_subs(j, &parts);
	if (!rc && parts.nr <= REMOTE_NAMES_MAX && !j->there.too_many && (!j->s->dry || j->there.there))
		rc = sync_files(j, &parts);
	release_parts(&parts);
	return rc < 0 ? rc : 0;
}

/*
 * A problem with one part of a session does not keep back the others: each is compared with
 * what both sides have of it.
 */
static int carry_all(struct job *j)
{
	struct remote_log own = { NULL, j->there.seq, j->there.generation, j->there.modified };
	int rc = sync_log(j, "", j->there.there ? &own : NULL);

	if (!rc && !j->failed && !j->s->dry)
		rc = same_leaf(j);
	if (j->modified)
		grove_carry_set_modified(j->carry, NULL, j->modified);
	if (!rc && (j->s->dry || is_on_both_sides(j)))
		rc = carry_parts(j);
	return rc;
}

static void release_job(struct job *j)
{
	grove_carry_close(j->carry);
	remote_session_release(&j->there);
	state_release(&j->mark);
	free(j->dialect);
	free(j->cwd_there);
	free(j->cwd_here);
	free(j->file);
	free(j->found);
	out_release(&j->problems);
	out_release(&j->notes);
}

int sync_session(struct sync *s, const char *what, const char *id, const char *key, int named)
{
	struct job j = { .s = s, .what = what, .id = id, .key = key ? key : id, .named = named };
	int rc;

	out_init(&j.problems, -1);
	out_init(&j.notes, -1);
	remote_begin(&s->remote);
	report_progress(s, id);
	rc = state_load(&s->state, id, &j.mark) ? GROVE_ENOMEM : 0;
	if (!rc && s->again)
		j.mark.nr_logs = 0;
	if (!rc)
		rc = meet(&j);
	if (!rc)
		rc = hydrate_if_asked(&j);
	if (!rc)
		rc = carry_all(&j);
	if (rc >= 0 && !s->dry && j.mark.nr_logs && state_store(&s->state, &j.mark))
		cli_warn(s->c, "%s: cannot record how far it is in sync", id);
	if (rc >= 0 || j.pushed || j.pulled)
		report_session(&j);
	release_job(&j);
	return rc < 0 ? rc : 0;
}
