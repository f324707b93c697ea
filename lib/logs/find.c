/*
 * logs/find.c: all logs, in order.
 */
#include "logs/logs.h"

#include "base/array.h"
#include "sys/file.h"

#include <stdlib.h>

/*
 * There may be a million empty files, which are not sessions. Whenever this many files were
 * found, those among them that are empty are dropped.
 */
#define BATCH ((size_t)1 << 12)
/* Examining one file takes little longer than to be told which. */
#define AT_ONCE ((size_t)64)

struct finding {
	struct grove__logs *l;
	bool look;
	struct grove__root *root;        /* whose logs are being collected */
	const char *project, *url;       /* of the last one */
	size_t path_in;                  /* path_in_names() of the root */
	size_t kept;                     /* those before are examined … */
	struct grove__arena fresh;       /* … and this has the texts of the others */
	size_t next;                     /* to be examined; atomic */
	struct grove_buf name, path;
	struct grove_detail *d;
};

/* ------------------------------------------------------------------- names */

/* Where the paths of files begin in their names; 0: in this root, they are not in them. */
static size_t path_in_names(const struct grove__root *root)
{
	size_t len = strlen(root->store->url), dir = root->dir ? strlen(root->dir) : len;

	return dir < len && !strcmp(root->store->url + len - dir, root->dir) ? len - dir : 0;
}

static int write_name(struct grove_buf *b, const struct grove__root *root, const struct grove_key *key, size_t path)
{
	const char *url = root->store->url;
	struct grove_slice session = grove__slice_str(key->session);
	int rc;

	grove__buf_clear(b);
	if (path) {
		rc = grove__buf_add(b, url, path);
		return rc ? rc : grove__store_describe(root->store, key, b);
	}
	rc = grove__buf_addf(b, "%s/%s%s", url, key->project, *key->project ? "/" : "");
	/* what belongs to a session is in the directory with its name */
	if (*key->subpath)
		grove__slice_cut_end(&session, ".jsonl");
	rc = rc ? rc : grove__buf_add_slice(b, session);
	return rc || !*key->subpath ? rc : grove__buf_addf(b, "/%s", key->subpath);
}

/* If the name ends with a text, points into it; otherwise copies the text. */
static const char *tail_of(struct grove__arena *a, const char *name, size_t n, const char *text)
{
	size_t len = strlen(text);

	return n >= len && !memcmp(name + n - len, text, len) ? name + n - len
							       : grove__arena_dup(a, grove__slice(text, len));
}

static int name_log(struct finding *f, struct grove__log_at *at, const struct grove_key *key)
{
	struct grove__arena *a = &f->fresh;
	int rc = write_name(&f->name, f->root, key, f->path_in);

	grove__buf_clear(&f->path);
	if (!rc && !f->path_in)
		rc = grove__store_describe(f->root->store, key, &f->path);
	at->name = rc ? NULL : grove__arena_dup(a, grove__buf_slice(&f->name));
	if (!at->name)
		return GROVE_ENOMEM;
	at->path = f->path_in ? at->name + f->path_in : f->path.len ? grove__arena_dup(a, grove__buf_slice(&f->path)) : "";
	at->session = tail_of(a, at->name, f->name.len, key->session);
	at->sub = tail_of(a, at->name, f->name.len, key->subpath);
	return at->path && at->session && at->sub ? 0 : GROVE_ENOMEM;
}

/* -------------------------------------------------------------- their files */

void grove__logs_look(struct grove__log_at *at, struct grove__sys_dir *near)
{
	struct grove__sys_stat st;
	bool link;

	if (at->is_surveyed)
		return;
	at->is_file = false;
	if (!*at->path || grove__sys_dir_lstat(near, at->path, &st))
		return;
	link = st.type == SYS_LINK;
	if (link && grove__sys_stat(at->path, &st))
		return;
	at->is_file = true;
	at->st = grove__state_of(&st);
	at->is_empty = st.type == SYS_FILE && !st.size;
	at->linked = link || st.nlink > 1;
}

static void look_along(void *payload, unsigned thread)
{
	struct finding *f = payload;
	struct grove__sys_dir near;
	size_t from, to;

	(void)thread;
	grove__sys_dir_init(&near);
	while ((from = __atomic_fetch_add(&f->next, AT_ONCE, __ATOMIC_RELAXED)) < f->l->nr) {
		to = f->l->nr - from < AT_ONCE ? f->l->nr : from + AT_ONCE;
		for (size_t i = from; i < to; i++)
			grove__logs_look(&f->l->logs[i], &near);
	}
	grove__sys_dir_release(&near);
}

static void look_at_new(struct finding *f)
{
	f->next = f->kept;
	grove__pool_run((f->l->nr - f->kept + AT_ONCE - 1) / AT_ONCE, look_along, f);
}

static void drop_empty(struct finding *f)
{
	struct grove__logs *l = f->l;
	size_t nr = f->kept;

	look_at_new(f);
	for (size_t i = nr; i < l->nr; i++)
		if (!l->logs[i].is_empty)
			l->logs[nr++] = l->logs[i];
	l->nr = nr;
	if (nr == f->kept)
		grove__arena_clear(&f->fresh);
	else
		grove__arena_join(&l->texts, &f->fresh);
	f->kept = nr;
}

/* -------------------------------------------------------------- one by one */

static int next_root(struct finding *f, struct grove__root *root)
{
	f->root = root;
	f->project = NULL;
	f->path_in = path_in_names(root);
	f->url = grove__arena_dup(&f->l->texts, grove__slice_str(root->store->url));
	return f->url ? 0 : GROVE_ENOMEM;
}

static int add_log(void *payload, struct grove__root *root, const struct grove_key *key,
		   const struct grove_store_log_stat *st)
{
	struct finding *f = payload;
	struct grove__logs *l = f->l;
	struct grove__log_at at = { .root = root, .is_surveyed = st };
	int rc = root != f->root ? next_root(f, root) : 0;

	rc = rc ? rc : grove__array_room(&l->logs, &l->cap, l->nr, sizeof(*l->logs));
	rc = rc ? rc : name_log(f, &at, key);
	if (!rc && (!f->project || strcmp(f->project, key->project)))
		f->project = grove__arena_dup(&l->texts, grove__slice_str(key->project));
	if (rc || !f->project)
		return grove__fail_nomem(f->d);
	at.project = f->project;
	at.url = f->url;
	if (st)
		at.st = grove__log_state(st);
	l->logs[l->nr++] = at;
	if (f->look && l->nr - f->kept >= BATCH)
		drop_empty(f);
	return 0;
}

/* ----------------------------------------------------------- all of them */

static int by_name(const void *x, const void *y)
{
	const struct grove__log_at *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static int by_key(const void *x, const void *y)
{
	const struct grove__log_at *a = x, *b = y;
	int c = strcmp(a->project, b->project);

	return c ? c : strcmp(a->session, b->session);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Is there an id in this name? Any other name may be that of several sessions. */
static bool has_id(const char *session)
{
	const struct grove__dialect *dialect;
	struct grove_slice id;
	int64_t time;

	for (unsigned i = 0; (dialect = grove__dialect_at(i)); i++)
		if (dialect->paths.parse_file_name(grove__slice_str(session), &time, &id))
			return true;
	return false;
}

/*
 * Drops copies in an archive whose original has moved to another project: a walk looks
 * for it in its old one.
 */
static int drop_copies(struct grove__logs *l, struct grove_detail *d)
{
	const char **there;
	size_t nr = 0, kept = 0;

	while (nr < l->nr && !l->logs[nr].root->archive)
		nr++;
	if (nr == l->nr)
		return 0;
	there = calloc(l->nr, sizeof(*there));
	if (!there)
		return grove__fail_nomem(d);
	nr = 0;
	for (size_t i = 0; i < l->nr; i++)
		if (!l->logs[i].root->archive && !*l->logs[i].sub)
			there[nr++] = l->logs[i].session;
	qsort(there, nr, sizeof(*there), by_text);
	for (size_t i = 0; i < l->nr; i++)
		if (!l->logs[i].root->archive || !has_id(l->logs[i].session) ||
		    !bsearch(&l->logs[i].session, there, nr, sizeof(*there), by_text))
			l->logs[kept++] = l->logs[i];
	l->nr = kept;
	free(there);
	return 0;
}

static void sort(struct grove__logs *l)
{
	size_t nr = 0;

	qsort(l->logs, l->nr, sizeof(*l->logs), by_name);
	/* stores may overlap */
	for (size_t i = 1; i < l->nr; i++)
		if (strcmp(l->logs[nr].name, l->logs[i].name))
			l->logs[++nr] = l->logs[i];
	l->nr = nr + 1;
}

int grove__logs_find(struct grove__logs *l, struct grove *g, const struct grove__logs_which *which,
		     struct grove_detail *d)
{
	struct finding f = { .l = l, .look = which->look, .d = d };
	int rc;

	grove__arena_init(&l->texts);
	grove__arena_init(&f.fresh);
	rc = grove__logs_walk(g, which, add_log, &f, d);
	if (!rc && f.look)
		look_at_new(&f);
	grove__arena_join(&l->texts, &f.fresh);
	if (!rc && !which->copies)
		rc = drop_copies(l, d);
	if (!rc && l->nr >= UINT32_MAX)
		rc = grove__fail(d, GROVE_ETOOBIG, NULL, "too many sessions");
	if (!rc && l->nr && which->sorted)
		sort(l);
	if (!rc && l->nr && which->by_key)
		qsort(l->logs, l->nr, sizeof(*l->logs), by_key);
	grove__buf_release(&f.name);
	grove__buf_release(&f.path);
	return rc;
}

uint32_t grove__logs_index(const struct grove__logs *l, const struct grove__root *root,
			   const struct grove_key *key, struct grove_buf *tmp)
{
	struct grove__log_at want, *found;

	if (!l->nr || write_name(tmp, root, key, path_in_names(root)))
		return GROVE_NO_ENTRY;
	want.name = tmp->ptr;
	found = bsearch(&want, l->logs, l->nr, sizeof(want), by_name);
	return found ? (uint32_t)(found - l->logs) : GROVE_NO_ENTRY;
}

void grove__logs_release(struct grove__logs *l)
{
	free(l->logs);
	grove__arena_release(&l->texts);
}
