/*
 * transfer/archive.c: archives: copies of sessions that their agent does not delete.
 *
 * An archive is a store like any other: a session has the same key there, its log has
 * the same lines, and what belongs to it is next to it. So every reader of sessions can
 * read an archive.
 *
 *	PROJECT/SESSION.jsonl
 *	PROJECT/SESSION/…                the same as at the source
 *	PROJECT/SESSION/file-history/…   what its agent stores for it elsewhere
 *	PROJECT/SESSION/blobs/HASH       what its lines refer to
 *	PROJECT/SESSION/.older/TIME/…    earlier versions
 *	PROJECT/SESSION/.archive.json    the state after the last run: archive_note.c
 *
 * Nothing is ever removed. A source that is gone is ignored.
 */
#include "transfer/archive.h"

#include "base/array.h"
#include "blob/blob.h"
#include "js/js.h"
#include "store/jsonl.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "transfer/stores.h"

#include <stdlib.h>

#define NOTE_MAX ((size_t)16 << 20)

struct todo {
	struct grove__root *root;        /* NULL: outside all roots */
	struct grove_store *from;
	const char *project, *session;
	const char *to_project, *to_session;   /* its key in the archive; NULL: the same */
};

struct archiver {
	struct grove *g;
	struct grove_store *to;
	const struct grove_archive_options *opt;
	struct grove_archive_result *result;
	struct grove_detail *d;
	struct todo *todo;
	size_t nr, cap;
	struct grove__arena names;       /* in `todo` */
	const struct grove__expiry *expiry;
	int64_t before;                  /* only what expires before this time */
};

/* --- one session --- */

int grove__archive_go_on(const struct grove__archiver *k)
{
	const struct grove_progress *p = &k->g->progress;

	if (p->fn && p->fn(p->payload, k->done, k->total))
		return grove__fail(k->d, GROVE_ECANCELLED, NULL, "cancelled");
	return 0;
}

/* DIR/sessions/PROJECT/NAME.jsonl has DIR/blobs next to it. */
int grove__archive_open_blobs(struct grove__archiver *k)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	int rc = 0;

	if (!k->dialect->blobs)
		return 0;
	rc = k->dialect->blobs->dir(&k->g->env, &dir) ? grove__fail_nomem(k->d)
						     : grove__blobs_open(&k->blobs[0], dir.ptr, k->d);
	grove__buf_clear(&dir);
	if (!rc && k->root_dir) {
		rc = grove__buf_addf(&dir, "%s/../blobs", k->root_dir)
			     ? grove__fail_nomem(k->d)
			     : grove__blobs_open(&k->blobs[1], dir.ptr, k->d);
	}
	grove__buf_release(&dir);
	return rc;
}

static int describe(struct grove_store *st, const struct grove_key *key, struct grove_buf *out)
{
	return grove__store_describe(st, key, out) || grove__buf_reserve(out, 1) ? GROVE_ENOMEM : 0;
}

/* Finds where it goes. An archive must not be its own source. */
static int describe_to(struct grove__archiver *k, const char *from, struct grove_buf *to)
{
	struct grove__sys_stat a, b;

	grove__buf_clear(to);
	if (describe(k->to, &k->to_key, to))
		return grove__fail_nomem(k->d);
	if (*from && to->len && !grove__sys_stat(from, &a) && !grove__sys_stat(to->ptr, &b) &&
	    a.dev == b.dev && a.ino == b.ino)
		return grove__fail(k->d, GROVE_EINVAL, from, "is already in the archive");
	return 0;
}

static int read_note(struct grove__archiver *k)
{
	struct grove_buf *b = &k->note_text;
	int rc = grove__store_attach_get(k->to, &k->to_key, GROVE__NOTE_NAME, b, NULL);

	/* without it, everything is simply compared */
	k->no_attachments = rc == GROVE_ENOTSUP;
	rc = !rc && b->len <= NOTE_MAX ? grove__note_parse(&k->note, grove__buf_slice(b)) : 0;
	return rc ? grove__fail_nomem(k->d) : 0;
}

/*
 * True if another session has this key. Two agents, or two directories of one name, may
 * have files of the same name; each would find the other's lines and set them aside,
 * time and again.
 */
static bool is_taken(const struct grove__archiver *k, const char *source)
{
	struct grove__sys_stat a, b;

	return *source && k->note.source && strcmp(k->note.source, source) &&
	       !grove__sys_stat(k->note.source, &a) &&
	       (grove__sys_stat(source, &b) || a.dev != b.dev || a.ino != b.ino);
}

/* Chooses the key in the archive: that of the source, or PROJECT~2 if it is taken. */
static int choose_key(struct grove__archiver *k, const char *source, struct grove_buf *to)
{
	const char *project = k->to_key.project;
	int rc = describe_to(k, source, to);

	if (!rc)
		rc = read_note(k);
	for (unsigned i = 2; !rc && is_taken(k, source); i++) {
		grove__note_release(&k->note);
		grove__buf_clear(&k->note_text);
		grove__buf_clear(&k->project);
		if (grove__buf_addf(&k->project, "%s~%u", project, i))
			return grove__fail_nomem(k->d);
		k->to_key.project = k->project.ptr;
		rc = describe_to(k, source, to);
		if (!rc)
			rc = read_note(k);
	}
	return rc;
}

static int write_note(struct grove__archiver *k, const char *source)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__note_compose(&k->note, source, k->dialect->name, &b);

	if (rc)
		rc = grove__fail_nomem(k->d);
	else if (!grove__slice_eq(grove__buf_slice(&b), grove__buf_slice(&k->note_text)))
		rc = grove__store_attach_put(k->to, &k->to_key, GROVE__NOTE_NAME,
					     grove__buf_slice(&b), k->d);
	grove__buf_release(&b);
	return rc;
}

/* .older/20261115T083000.123Z: for what this run replaces. */
static int name_older(struct grove__archiver *k)
{
	char iso[GROVE__JS_ISO_MAX];
	size_t n = grove__js_iso(iso, k->older_ms), at = 0;

	for (size_t i = 0; i < n; i++)
		if (iso[i] != '-' && iso[i] != ':')
			iso[at++] = iso[i];
	grove__buf_clear(&k->older);
	return grove__buf_addf(&k->older, GROVE__NOTE_OLDER "/%.*s", (int)at, iso)
		       ? grove__fail_nomem(k->d)
		       : 0;
}

int grove__archive_older(struct grove__archiver *k, const char *name, struct grove_buf *out)
{
	grove__buf_clear(out);
	return grove__buf_addf(out, "%s/%s", k->older.ptr, name) ? grove__fail_nomem(k->d) : 0;
}

int grove__archive_later(struct grove__archiver *k)
{
	k->older_ms++;
	return name_older(k);
}

static int keep_all(struct grove__archiver *k, bool *fresh, const char *source)
{
	struct grove_detail why;
	int rc, later = 0;

	k->older_ms = grove__sys_now_ms();
	rc = name_older(k);
	if (!rc)
		rc = grove__archive_look(k);
	if (!rc)
		rc = grove__archive_open_blobs(k);
	if (!rc)
		rc = grove__archive_log(k, "", fresh);
	if (rc || !k->out->total_lines || k->no_attachments)
		return rc;
	rc = grove__archive_beside(k);
	if (k->dry)
		return rc;
	/* the note is written for what was archived, even if something else failed */
	why = *k->d;
	later = write_note(k, source);
	if (rc)
		*k->d = why;
	return rc ? rc : later;
}

void grove__archive_release(struct grove__archiver *k)
{
	while (k->nr_there)
		free(k->there[--k->nr_there].name);
	free(k->there);
	grove__note_release(&k->note);
	grove__buf_release(&k->older);
	grove__buf_release(&k->note_text);
	grove__buf_release(&k->project);
	grove__blobs_close(k->blobs[0]);
	grove__blobs_close(k->blobs[1]);
}

static int dialect_of(struct archiver *a, const struct todo *t, struct grove__archiver *k)
{
	struct grove__root own = { .store = t->from };

	return grove__peek_root_dialect(a->g, t->root ? t->root : &own, &k->from_key, &k->dialect, k->d);
}

void grove__archive_count(struct grove_archive_result *r, const struct grove_archived *x)
{
	r->sessions++;
	r->lines += x->lines;
	r->bytes += x->bytes;
	r->files += x->files;
	r->missing += x->missing;
	r->added += x->state == GROVE_ARCHIVE_NEW;
	r->grown += x->state == GROVE_ARCHIVE_GROWN;
	r->unchanged += x->state == GROVE_ARCHIVE_UNCHANGED;
	r->kept += x->state == GROVE_ARCHIVE_KEPT;
	r->failed += x->state == GROVE_ARCHIVE_FAILED;
}

bool grove__archive_is_gone(struct grove_store *from, const struct grove_key *key)
{
	struct grove_store_log *log;
	int rc = grove__log_open(&log, from, key, GROVE_STORE_READ, NULL);

	if (!rc)
		grove__log_close(log);
	return rc == GROVE_ENOTFOUND;
}

/*
 * Reports what failed for this session; the others end only if memory is short, or the
 * archive is not there, or if the call is cancelled.
 */
static int archive_one(struct archiver *a, const struct todo *t, size_t done)
{
	struct grove_buf from = GROVE_BUF_INIT, to = GROVE_BUF_INIT, older = GROVE_BUF_INIT;
	struct grove_archived out = { 0 };
	struct grove_detail why;
	struct grove_key sub;
	struct grove__archiver k = {
		.g = a->g, .root_dir = t->root ? t->root->dir : NULL, .from = t->from, .to = a->to,
		.from_key = { t->project, t->session, "" },
		.to_key = { t->to_project ? t->to_project : t->project,
			    t->to_session ? t->to_session : t->session, "" },
		.dry = a->opt->flags & GROVE_ARCHIVE_DRY_RUN, .out = &out, .d = &why, .done = done, .total = a->nr,
	};
	bool fresh = false, gone;
	int rc;

	grove__fail_clear(&why);
	rc = describe(t->from, &k.from_key, &from) ? grove__fail_nomem(&why) : 0;
	if (!rc)
		rc = choose_key(&k, from.ptr, &to);
	if (!rc)
		rc = dialect_of(a, t, &k);
	if (!rc)
		rc = keep_all(&k, &fresh, from.ptr);
	if (k.kept) {
		sub = k.to_key;
		sub.subpath = k.older.ptr;
		if (describe(a->to, &sub, &older) && !rc)
			rc = grove__fail_nomem(&why);
	}
	gone = rc == GROVE_ENOTFOUND && a->nr > 1 && grove__archive_is_gone(t->from, &k.from_key);
	if (rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || (rc == GROVE_ENOTFOUND && a->nr > 1 && !gone)) {
		if (a->d)
			*a->d = why;
	} else if (!gone) {
		out.path = from.len ? from.ptr : t->session;
		out.archive = to.len ? to.ptr : a->to->url;
		out.older = !k.kept || k.dry ? NULL : older.len ? older.ptr : k.older.ptr;
		out.session = t->session;
		why.code = rc;
		out.why = rc ? &why : NULL;
		out.state = rc ? GROVE_ARCHIVE_FAILED
			  : fresh ? GROVE_ARCHIVE_NEW
			  : k.kept ? GROVE_ARCHIVE_KEPT
			  : out.lines || out.files ? GROVE_ARCHIVE_GROWN
						   : GROVE_ARCHIVE_UNCHANGED;
		grove__archive_count(a->result, &out);
		rc = a->opt->told ? a->opt->told(a->opt->payload, &out) : 0;
	} else {
		rc = 0; /* it was listed, and is gone: what the archive has of it stays */
	}
	grove__archive_release(&k);
	grove__buf_release(&from);
	grove__buf_release(&to);
	grove__buf_release(&older);
	return rc;
}

/* --- which sessions --- */

static int add_todo(struct archiver *a, struct todo t)
{
	if (a->names.failed || grove__array_room(&a->todo, &a->cap, a->nr, sizeof(*a->todo)))
		return grove__fail_nomem(a->d);
	a->todo[a->nr++] = t;
	return 0;
}

/* True if its agent will delete it soon. */
static bool is_due(const struct archiver *a, struct grove_store *from, const struct grove_key *key)
{
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	int64_t when;

	if (grove__log_open(&log, from, key, GROVE_STORE_READ, NULL))
		return false;
	when = grove__log_stat(log, &st, NULL)
		       ? GROVE_NO_TIME
		       : a->expiry->dialect->retention->expires(grove__buf_slice(&a->expiry->settings),
						     st.mtime_ms);
	grove__log_close(log);
	return when != GROVE_NO_TIME && when < a->before;
}

static int add_key(void *payload, struct grove__root *root, const struct grove_key *key,
		   const struct grove_store_log_stat *st)
{
	struct archiver *a = payload;

	(void)st;
	if (a->expiry && !is_due(a, root->store, key))
		return 0;
	return add_todo(a, (struct todo){ .root = root, .from = root->store,
					  .project = grove__arena_dup(&a->names, grove__slice_str(key->project)),
					  .session = grove__arena_dup(&a->names, grove__slice_str(key->session)) });
}

static int add_root(struct archiver *a, struct grove__root *root)
{
	struct grove__logs_which which = { .only = root };
	struct grove__expiry e = { 0 };
	int rc = 0;

	a->expiry = NULL;
	if (a->opt->flags & GROVE_ARCHIVE_EXPIRING) {
		rc = grove__expiry_of(a->g, root, &e, a->d);
		if (rc || !e.dialect)
			return rc;
		a->expiry = &e;
	}
	rc = grove__logs_walk(a->g, &which, add_key, a, a->d);
	a->expiry = NULL;
	grove__expiry_release(&e);
	return rc;
}

/* Only a file with that suffix can have attachments. */
static const char *with_ending(struct archiver *a, struct grove_slice name)
{
	struct grove_buf b = GROVE_BUF_INIT;
	const char *kept = NULL;

	if (grove__buf_addf(&b, "%.*s.jsonl", (int)name.len, name.ptr))
		a->names.failed = true;
	else
		kept = grove__arena_dup(&a->names, grove__buf_slice(&b));
	grove__buf_release(&b);
	return kept;
}

/*
 * A file in the directory of a session belongs to it: that session is archived. Returns
 * 1 if it is in no known place.
 */
static int add_owner(struct archiver *a, const char *path)
{
	for (size_t i = 0; i < a->g->nr_roots; i++) {
		struct grove__root *r = &a->g->roots[i];
		size_t n = r->dir ? strlen(r->dir) : 0, first;
		const char *p;

		if (!n || strncmp(path, r->dir, n) || path[n] != '/')
			continue;
		p = path + n + 1;
		first = r->flat ? 0 : strcspn(p, "/") + 1;
		return add_todo(a, (struct todo){
			.root = r, .from = r->store,
			.project = grove__arena_dup(&a->names, grove__slice(p, first ? first - 1 : 0)),
			.session = with_ending(a, grove__slice(p + first, strcspn(p + first, "/"))),
		});
	}
	return 1;
}

/* Returns the name of the directory of a file outside all roots. */
static const char *own_project(struct archiver *a, const char *path)
{
	const char *end = strrchr(path, '/');
	const char *p = end;

	while (p && p > path && p[-1] != '/')
		p--;
	return grove__arena_dup(&a->names, grove__slice(p ? p : path, p ? (size_t)(end - p) : 0));
}

static int add_named(struct archiver *a, const char *what, struct grove__where *at)
{
	int rc = grove__locate(a->g, what, at, a->d);
	struct todo t;

	if (rc)
		return rc;
	if (at->own_store && at->path) {
		rc = add_owner(a, at->path);
		if (rc <= 0)
			return rc;
	}
	t = (struct todo){ .root = grove__root_with(a->g, at->store), .from = at->store,
			   .project = at->project, .session = at->session };
	if (at->own_store && at->path)
		t.to_project = own_project(a, at->path);
	if (!grove__jsonl_has_suffix(at->session))
		t.to_session = with_ending(a, grove__slice_str(at->session));
	return add_todo(a, t);
}

static int by_key(const void *x, const void *y)
{
	const struct todo *a = x, *b = y;
	int c = strcmp(a->project, b->project);

	return c ? c : strcmp(a->session, b->session);
}

int grove__archive_into(struct grove *g, const char *what, struct grove_store *to,
			const struct grove_archive_options *opt,
			struct grove_archive_result *result, struct grove_detail *d)
{
	struct archiver a = { .g = g, .to = to, .opt = opt, .result = result, .d = d };
	struct grove__where at = { 0 };
	int64_t now = grove__sys_now_ms();
	uint64_t hidden;
	int rc = 0;

	a.before = opt->within < 0 || opt->within > INT64_MAX - now ? INT64_MAX : now + opt->within;
	if (what)
		rc = add_named(&a, what, &at);
	hidden = grove__hidden_count(g);
	for (size_t i = 0; i < g->nr_roots && !rc && !what; i++)
		rc = g->roots[i].archive ? 0 : add_root(&a, &g->roots[i]);
	if (!rc && a.nr)
		qsort(a.todo, a.nr, sizeof(*a.todo), by_key);
	for (size_t i = 0; i < a.nr && !rc; i++)
		rc = archive_one(&a, &a.todo[i], i);
	if (!rc)
		rc = grove__hidden_check(g, hidden, d);
	free(a.todo);
	grove__arena_release(&a.names);
	grove__where_release(&at);
	return rc;
}

int grove__archive(struct grove *g, const char *what, const struct grove_archive_options *opt,
		   struct grove_archive_result *result, struct grove_detail *d)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct grove_store *to = NULL;
	int rc;

	if (grove__world_archive_url(g, opt->to, &url))
		rc = grove__fail_nomem(d);
	else
		rc = grove__stores_lasts(url.ptr, d);
	if (!rc)
		rc = grove__world_store(g, url.ptr, &to, d);
	if (!rc)
		rc = grove__archive_into(g, what, to, opt, result, d);
	if (to)
		grove__store_close(to);
	grove__buf_release(&url);
	return rc;
}
