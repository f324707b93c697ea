/*
 * session/open.c: opening, creating, refreshing and closing sessions.
 *
 * A session that a live agent starts has no file until it is worth one. Until then its
 * lines are in a memory store of its own, so that everything else works the same way.
 */
#include "session/append.h"
#include "session/blobs.h"
#include "session/change.h"
#include "session/leaf.h"

#include "sys/clock.h"

#include <stdlib.h>

struct grove_session *grove__session_alloc(struct grove *g)
{
	struct grove_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	s->g = grove__world_ref(g);
	s->leaf.row = GROVE_NO_ENTRY;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->blobs.lock, NULL);
	return s;
}

/* Identifies the calling thread by the address of a thread-local variable. */
static uintptr_t this_thread(void)
{
	static _Thread_local char self;

	return (uintptr_t)&self;
}

/* Only this thread writes its own identity there, so reading it is not a race. */
bool grove__session_inside(const struct grove_session *s)
{
	return __atomic_load_n(&s->inside, __ATOMIC_RELAXED) == this_thread();
}

void grove__session_lock(struct grove_session *s)
{
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->inside, this_thread(), __ATOMIC_RELAXED);
}

void grove__session_unlock(struct grove_session *s)
{
	__atomic_store_n(&s->inside, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
}

int grove__session_enter(struct grove_session *s, struct grove_detail *d)
{
	int rc = grove__session_enter_at_once(s, d);

	if (rc || !s->writing.queue)
		return rc;
	rc = grove__submit_drain(s, d);
	if (rc)
		grove__session_unlock(s);
	return rc;
}

int grove__session_enter_at_once(struct grove_session *s, struct grove_detail *d)
{
	if (grove__session_inside(s))
		return grove__fail(d, GROVE_EINVAL, s->at.path,
				   "a callback must not use the session that called it");
	grove__session_lock(s);
	if (s->log && s->at.dialect)
		return 0;
	grove__session_unlock(s);
	return grove__fail(d, GROVE_EINVAL, s->at.path, "the session is not open");
}

void grove__session_unref(struct grove_session *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	grove__submit_close(s);
	grove__log_close(s->log);
	grove__image_unref(s->image);
	for (size_t i = 0; i < s->nr_past; i++) {
		grove__image_unref(s->past[i].image);
		grove__log_close(s->past[i].log);
		grove__store_close(s->past[i].store);
	}
	free(s->past);
	grove__labels_unref(s->labels);
	grove__append_batch_free(s->writing.batch);
	grove__store_close(s->deferral.store);
	grove__where_release(&s->at);
	grove__session_close_blobs(s);
	free(s->writing.latch);
	free(s->writing.cause);
	free(s->owner);
	free(s->stamp.program);
	free(s->command);
	free(s->stamp.branch);
	free(s->id);
	free(s->cwd);
	free(s->dir);
	pthread_mutex_destroy(&s->blobs.lock);
	pthread_mutex_destroy(&s->lock);
	grove__world_unref(s->g);
	free(s);
}

/*
 * Puts an image, and with it perhaps a log, aside until the session is freed: views may
 * still use them, and ids that callers hold are bytes in the image.
 */
static int retire(struct grove_session *s, struct grove__retired what)
{
	struct grove__retired *p = realloc(s->past, (s->nr_past + 1) * sizeof(*p));

	if (!p)
		return GROVE_ENOMEM;
	s->past = p;
	s->past[s->nr_past++] = what;
	/* row numbers belong to an image, ids stay valid */
	s->leaf.id = s->image && s->leaf.apart && s->leaf.row != GROVE_NO_ENTRY
			     ? grove__spine_id(s->image->spine, s->leaf.row)
			     : NULL;
	s->image = NULL;
	grove__labels_unref(s->labels);
	s->labels = NULL;
	return 0;
}

int grove__session_retire(struct grove_session *s)
{
	return s->image ? retire(s, (struct grove__retired){ .image = s->image }) : 0;
}

int grove__session_change_log(struct grove_session *s, struct grove_store_log *log)
{
	int rc = retire(s, (struct grove__retired){ s->image, s->log, s->deferral.store });

	if (rc)
		return rc;
	s->log = log;
	s->deferral.store = NULL;
	return 0;
}

void grove__session_close_old(struct grove_session *s)
{
	/* one reference is the handle's own: otherwise there are views */
	if (__atomic_load_n(&s->refs, __ATOMIC_ACQUIRE) > 1)
		return;
	for (size_t i = 0; i < s->nr_past; i++) {
		grove__log_close(s->past[i].log);
		s->past[i].log = NULL;
	}
}

static int set_str(char **where, const char *value)
{
	char *copy;

	/* strings that were returned to the caller do not move */
	if (*where && !strcmp(*where, value))
		return 0;
	copy = strdup(value);
	if (!copy)
		return GROVE_ENOMEM;
	free(*where);
	*where = copy;
	return 0;
}

/* Without a header, the session's id is the name of its log without the suffix. */
static int name_of_log(struct grove_session *s)
{
	const char *name = grove__where_name(&s->at), *slash = strrchr(name, '/');
	struct grove_slice id;
	int64_t time;

	name = slash ? slash + 1 : name;
	if (!grove__dialect_id_is_name(s->at.dialect) &&
	    s->at.dialect->paths.parse_file_name(grove__slice_str(name), &time, &id)) {
		s->id = strndup(id.ptr, id.len);
		return s->id ? 0 : GROVE_ENOMEM;
	}
	id = grove__slice_str(name);
	grove__slice_cut_end(&id, ".jsonl");
	s->id = strndup(id.ptr, id.len);
	return s->id ? 0 : GROVE_ENOMEM;
}

/*
 * Finds the directory of a session that was recorded but has no entries yet. Returns 1
 * if there is none.
 */
static int noted_cwd(struct grove_session *s)
{
	struct grove_buf cwd = GROVE_BUF_INIT;
	int rc = grove__log_meta_get(s->log, GROVE__META_CWD, &cwd, NULL);

	if (rc != GROVE_ENOMEM)
		rc = !rc && cwd.len ? set_str(&s->cwd, cwd.ptr) : 1;
	grove__buf_release(&cwd);
	return rc;
}

int grove__session_take_cwd(struct grove_session *s)
{
	const struct grove__header *h = &s->image->header;

	/* a new session has no other record of its directory */
	if (!h->cwd && s->cwd && !s->cwd_in_log && grove__dialect_cwd_in_entries(s->at.dialect))
		return 0;
	s->cwd_in_log = h->cwd;
	if (!h->cwd && grove__dialect_cwd_in_entries(s->at.dialect) && !s->deferral.store && !s->at.path) {
		int rc = noted_cwd(s);

		if (rc <= 0)
			return rc;
	}
	return set_str(&s->cwd, h->cwd ? h->cwd : s->g->cwd);
}

/* Takes over what the header says about the session as a whole. */
static int take_header(struct grove_session *s, struct grove_detail *d)
{
	const struct grove__header *h = &s->image->header;
	const char *slash = s->at.path ? strrchr(s->at.path, '/') : NULL;
	int rc;

	if (grove__dialect_id_is_name(s->at.dialect))
		rc = s->id ? 0 : name_of_log(s);
	else
		rc = set_str(&s->id, h->id);
	if (!rc)
		rc = grove__session_take_cwd(s);
	if (!rc && slash) {
		free(s->dir);
		s->dir = strndup(s->at.path, slash > s->at.path ? (size_t)(slash - s->at.path) : 1);
		rc = s->dir ? 0 : GROVE_ENOMEM;
	}
	return rc ? grove__fail_nomem(d) : 0;
}

/* Finds the row of a moved leaf in a new image. */
static void carry_leaf(struct grove_session *s)
{
	const struct grove__spine *sp = s->image->spine;

	if (!s->leaf.apart || s->leaf.row == GROVE_NO_ENTRY)
		return;
	s->leaf.row = s->leaf.id ? grove__spine_find(sp, sp->nr, grove__spine_name(s->leaf.id))
			     : GROVE_NO_ENTRY;
	s->leaf.apart = s->leaf.row != GROVE_NO_ENTRY;
	s->leaf.id = NULL;
}

void grove__session_note_last(struct grove_session *s)
{
	if (!s->deferral.for_good && s->at.path && s->cwd)
		(void)grove__last_session_write(s->g, s->at.dialect, s->cwd, s->at.path, NULL);
}

int grove__session_load(struct grove_session *s, struct grove_detail *d)
{
	struct grove__image_source src = {
		.log = s->log, .dialect = s->at.dialect, .path = s->at.path,
		.cache = s->deferral.store ? NULL : s->g->cache, .progress = &s->g->progress,
		/*
		 * without a header, an empty file may be a session that has not begun,
		 * or no session
		 */
		.may_be_empty = grove__dialect_may_be_empty(s->at.dialect) &&
				(s->deferral.store || !s->at.path || s->flags & GROVE_OPEN_WRITE),
	};
	int rc;

	if (s->image)
		return 0;
	rc = grove__submit_drain(s, d);
	if (rc)
		return rc;
	if (!s->log)
		return grove__fail(d, GROVE_EINVAL, s->at.path, "the session is not open");
	rc = grove__image_open(&src, &s->image, d);
	if (rc)
		return rc;
	carry_leaf(s);
	rc = take_header(s, d);
	if (!rc)
		rc = grove__kept_leaf(s, d);
	return rc < 0 ? rc : 0;
}

int grove__session_refresh(struct grove_session *s, struct grove_detail *d)
{
	struct grove__image *old;
	uint64_t lines;
	int rc = grove__submit_drain(s, d);

	if (rc)
		return rc;
	old = s->image;
	if (!old)
		return grove__session_load(s, d);
	lines = old->lines;
	rc = grove__image_load(old, s->log, s->at.path, NULL, d);
	if (!rc && old->lines != lines) {
		grove__labels_unref(s->labels);
		s->labels = NULL;
		s->leaf.append = NULL;
	}
	if (!rc && grove__session_take_cwd(s))
		return grove__fail_nomem(d);
	if (!rc) {
		rc = grove__kept_leaf(s, d);
		return rc ? rc : old->lines != lines;
	}
	/* a failure that left the image whole: it can be tried again */
	if (rc != GROVE_ESTALE && !grove__image_spoilt(old))
		return rc;
	/* the log did more than grow, which the image cannot express, or growing it failed half way */
	if (grove__session_retire(s))
		return grove__fail_nomem(d);
	if (rc == GROVE_ESTALE) {
		rc = grove__session_load(s, d);
		if (!rc)
			return 1;
	}
	/* the old image is good enough to continue with, unless it is incomplete */
	if (old->spine->linked == old->spine->nr)
		s->image = s->past[--s->nr_past].image;
	return rc;
}

/* Computes the leaf by rules over the whole log, once for each state of it. */
static int leaf_by_rules(struct grove_session *s, uint32_t *row, struct grove_detail *d)
{
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(s) };
	struct grove__chain_walk w;
	uint32_t nr = s->image->spine->nr;
	int rc;

	if (s->leaf.rules != s->image || s->leaf.rules_rows != nr) {
		s->leaf.rules = NULL;
		rc = grove__model_walk(s->image, nr, &ask, &w, d);
		if (rc)
			return rc;
		s->leaf.rules = s->image;
		s->leaf.rules_rows = nr;
		s->leaf.rules_end = w.leaf;
		grove__walk_release(&w);
	}
	*row = s->leaf.rules_end;
	return 0;
}

bool grove__session_own_file(const struct grove_session *s)
{
	struct grove__own_file own;

	return grove__dialect_own_file(s->at.dialect, grove__where_name(&s->at), NULL, &own);
}

/* A leaf that was moved in this handle comes first, then the rules, then the last line. */
int grove__session_find_leaf(struct grove_session *s, uint32_t *row, struct grove_detail *d)
{
	if (!s->leaf.apart && !grove__model_is_path(s->at.dialect))
		return leaf_by_rules(s, row, d);
	*row = s->leaf.apart ? s->leaf.row : grove__tree_last(s->image->spine);
	return 0;
}

uint32_t grove__session_leaf_row(struct grove_session *s)
{
	uint32_t row;

	return grove__session_find_leaf(s, &row, NULL) ? GROVE_NO_ENTRY : row;
}

/* Writes the header, and the slot in front of it, into an empty log. */
static int put_header(struct grove_session *s, const struct grove__header_in *h,
		      struct grove_detail *d)
{
	const struct grove__dialect *dialect = s->at.dialect;
	struct grove_buf slot = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct grove_store_record rec[2] = { { .time = h->time },
					     { .kind = GROVE_KIND_HEADER, .time = h->time } };
	struct grove_store_appended out;
	bool first = grove__dialect_slot_first(dialect);
	int rc;

	if (!grove__dialect_has_header(dialect)) {
		rc = set_str(&s->id, h->id);
		rc = rc ? rc : set_str(&s->cwd, h->cwd);
		return rc ? grove__fail_nomem(d) : 0;
	}
	rc = first ? dialect->header->slot->compose(h->title, h->title_source, h->time, &slot) : 0;

	if (!rc)
		rc = dialect->header->compose(h, &line);
	rec[0].line = grove__buf_slice(&slot);
	rec[1].line = grove__buf_slice(&line);
	rc = rc ? grove__fail_nomem(d)
		: grove__log_append(s->log, first ? rec : rec + 1, first ? 2 : 1, 0, GROVE_SYNC_NONE,
				    &out, d);
	grove__buf_release(&slot);
	grove__buf_release(&line);
	return rc;
}

/* An empty file is a session that is about to begin. */
static int begin_log(struct grove_session *s, struct grove_detail *d)
{
	struct grove__header_in h = { .cwd = s->g->cwd, .time = grove__sys_now_ms() };
	struct grove_slice id;
	char fresh[40], *named = NULL;
	int64_t time;
	int rc;

	if (grove__dialect_cwd_in_entries(s->at.dialect) && !s->at.path) {
		rc = noted_cwd(s);
		if (rc < 0)
			return grove__fail_nomem(d);
		h.cwd = rc ? h.cwd : s->cwd;
	}
	grove__world_session_id(s->g, s->at.dialect, fresh);
	h.id = fresh;
	if (s->at.dialect->paths.parse_file_name(grove__slice_str(s->at.session), &time, &id)) {
		named = strndup(id.ptr, id.len);
		if (named) {
			h.id = named;
			h.time = time;
		}
	}
	rc = put_header(s, &h, d);
	free(named);
	return rc;
}

/*
 * In a lenient dialect, what follows a value on its line is read only if the log ends
 * inside a value (json/lenient.h). If the header is such a value, the first appended
 * line would hide it, and with it the session.
 */
static int header_stays(struct grove_session *s, struct grove_detail *d)
{
	const struct grove__image *im = s->image;
	const struct grove__spot *at = &im->header_at;
	uint64_t before = im->by_line ? at->off : at->pos;
	char c = ' ';
	int rc = 0;

	if (!im->loose || !im->torn)
		return 0;
	for (; before && !rc && (c == ' ' || c == '\t' || c == '\r'); before--)
		rc = grove__log_fetch(s->log, im->by_line ? at->pos : 0, before - 1, &c, 1, d);
	if (rc || c == ' ' || c == '\t' || c == '\r' || c == '\n' || (uint8_t)c == 0xbf)
		return rc;
	return grove__fail_at(d, GROVE_EDAMAGED, s->at.path, at->line + 1, at->pos,
			      "its header is not at the start of its line: with the next entry it would not "
			      "be read any more");
}

int grove__session_open(struct grove *g, struct grove__where *at, unsigned flags,
			struct grove_session *s, struct grove_detail *d)
{
	struct grove_key key;
	struct grove_store_log_stat st;
	int rc;

	s->at = *at;
	memset(at, 0, sizeof(*at));
	s->flags = flags;
	key = grove__where_key(&s->at);
	rc = flags & GROVE_OPEN_WRITE ? grove__where_writable(g, &s->at, d) : 0;
	rc = rc ? rc : grove__peek_where_dialect(g, &s->at, d);
	if (!rc)
		rc = grove__log_open(
			&s->log, s->at.store, &key,
			flags & GROVE_OPEN_WRITE ? GROVE_STORE_WRITE : GROVE_STORE_READ, d);
	if (!rc && flags & GROVE_OPEN_WRITE && flags & GROVE_OPEN_INIT) {
		rc = grove__log_stat(s->log, &st, d);
		if (!rc && !st.bytes)
			rc = begin_log(s, d);
		/* another process began it a moment ago */
		rc = rc == GROVE_ECONFLICT ? 0 : rc;
	}
	if (!rc && flags & GROVE_OPEN_LAZY && !(flags & GROVE_OPEN_WRITE) &&
	    (grove__dialect_id_is_name(s->at.dialect) || grove__kept_has_values(s)))
		return s->id ? 0 : name_of_log(s) ? grove__fail_nomem(d) : 0;
	if (!rc)
		rc = grove__session_load(s, d);
	if (!rc)
		s->version = s->image->header.version;
	if (!rc && flags & GROVE_OPEN_WRITE)
		rc = header_stays(s, d);
	if (!rc && flags & GROVE_OPEN_WRITE && grove__image_old(s->image))
		rc = grove__session_migrate(s, d);
	if (!rc && flags & GROVE_OPEN_WRITE && flags & GROVE_OPEN_NOTE_LAST)
		grove__session_note_last(s);
	return rc;
}

int grove__session_place(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
			 const char *dir, int64_t time, const char *id, struct grove__where *out,
			 struct grove_detail *d)
{
	struct grove__root *root = grove__world_root(g, dialect);
	struct grove_buf project = GROVE_BUF_INIT, name = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_key key;
	int rc = dialect->paths.file_name(time, id, &name);

	memset(out, 0, sizeof(*out));
	if (!rc && dir) {
		rc = grove__world_resolve(g, dir, &path);
		if (!rc)
			rc = grove__buf_addf(&path, "/%s", name.ptr);
		if (!rc)
			rc = grove__locate_path(g, path.ptr, out, d);
	} else if (!root) {
		rc = grove__fail(d, GROVE_EINVAL, NULL, "no store for the session");
	} else if (!rc) {
		/* a store that the user named is laid out like the agent's own */
		if (!root->flat)
			rc = dialect->paths.project(&g->env, cwd, &project);
		key = (struct grove_key){ project.ptr ? project.ptr : "", name.ptr, "" };
		out->store = root->store;
		out->agent = root->agent;
		out->project = strdup(key.project);
		out->session = strdup(key.session);
		if (!rc && (!out->project || !out->session))
			rc = GROVE_ENOMEM;
		if (!rc)
			rc = grove__store_describe(root->store, &key, &path);
		if (!rc && path.len) {
			out->path = path.ptr;
			path = (struct grove_buf)GROVE_BUF_INIT;
		}
	}
	if (!rc && out->path)
		rc = grove__world_may_write(g, out->path, d);
	out->dialect = dialect;
	if (!strcmp(out->agent ? out->agent : "", "grove"))
		out->agent = dialect->name;
	grove__buf_release(&project);
	grove__buf_release(&name);
	grove__buf_release(&path);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}

int grove__session_hold(struct grove_session *s, struct grove_detail *d)
{
	static const struct grove_key key = { "", GROVE__HELD, "" };
	int rc = grove__store_open(&s->deferral.store, "memory:", d);

	return rc ? rc : grove__log_open(&s->log, s->deferral.store, &key, GROVE_STORE_CREATE, d);
}

int grove__session_clean_name(const struct grove__dialect *dialect, const char *name,
			      struct grove_buf *out, struct grove_detail *d)
{
	if (dialect->names.clean(grove__slice_str(name), out) < 0)
		return grove__fail_nomem(d);
	if (out->len)
		return 0;
	grove__buf_release(out);
	return grove__fail(d, GROVE_EINVAL, NULL, "the name is empty");
}

/* The lines that the caller gives: they have a header, or get ours. */
static int begin_with(struct grove_session *s, struct grove_slice lines, const struct grove__header_in *h,
		      struct grove_detail *d)
{
	int rc = grove__dialect_has_header(s->at.dialect) ? 0 : put_header(s, h, d);

	if (!rc)
		rc = grove__session_put_lines(s, lines, d);
	if (!rc)
		rc = grove__session_load(s, d);
	if (rc != GROVE_EDAMAGED)
		return rc;
	grove__log_close(s->log);
	s->log = NULL;
	grove__store_close(s->deferral.store);
	s->deferral.store = NULL;
	rc = grove__session_hold(s, d);
	if (!rc)
		rc = put_header(s, h, d);
	return rc ? rc : grove__session_put_lines(s, lines, d);
}

/*
 * True if others may have begun it already. Only a log that begins after us is the same
 * session.
 */
static bool is_there(const struct grove_session *s)
{
	struct grove_key key = grove__where_key(&s->at);
	struct grove_store_log *log;
	int rc = grove__log_open(&log, s->at.store, &key, GROVE_STORE_READ, NULL);

	if (!rc)
		grove__log_close(log);
	return rc != GROVE_ENOTFOUND;
}

/* The dialect that the caller names; else the one of the place; else the default. */
static int dialect_of_new(struct grove *g, const struct grove_create_options *opt,
			  const struct grove__dialect **out, struct grove_detail *d)
{
	const struct grove__dialect *dialect = g->forced;
	struct grove__where at;
	int rc;

	if (opt->dialect) {
		dialect = grove__dialect_find(opt->dialect);
	} else if (!dialect && opt->path && !(opt->flags & GROVE_CREATE_MEMORY)) {
		rc = grove__locate_path(g, opt->path, &at, d);
		if (rc)
			return rc;
		rc = grove__peek_place_dialect(g, &at, d);
		dialect = at.dialect;
		grove__where_release(&at);
		if (rc)
			return rc;
	}
	if (!opt->dialect && !dialect)
		dialect = grove__dialect_defaults.session;
	*out = dialect;
	return dialect ? 0 : grove__fail(d, GROVE_EINVAL, NULL, "this build of grove has no dialect named %.100s",
					 opt->dialect);
}

/*
 * Decides where the session goes. The name of a file that was given may hold the id and
 * the time: *from_name is then the id, to be freed after `h`.
 */
static int place_new(struct grove *g, const struct grove_create_options *opt, struct grove_session *s,
		     const struct grove__dialect *dialect, struct grove__header_in *h, char **from_name,
		     struct grove_detail *d)
{
	struct grove_slice named = { NULL, 0 };
	int rc;

	if (s->deferral.for_good) {
		s->at.agent = dialect->name;
		return 0;
	}
	if (!opt->path)
		return grove__session_place(g, dialect, h->cwd, opt->dir, h->time, h->id, &s->at, d);
	rc = grove__locate_path(g, opt->path, &s->at, d);
	if (rc)
		return rc;
	if (!opt->id && dialect->paths.parse_file_name(grove__slice_str(s->at.session), &h->time, &named)) {
		*from_name = strndup(named.ptr, named.len);
		h->id = *from_name ? *from_name : h->id;
	} else {
		h->time = grove__sys_now_ms();
	}
	return 0;
}

/* Opens the log: the store's own if the file is wanted at once, else one in memory until it is worth a file. */
static int open_new(struct grove_session *s, unsigned flags, struct grove_detail *d)
{
	struct grove_key key = { s->at.project, s->at.session, "" };

	if (flags & GROVE_CREATE_NOW && !s->deferral.for_good && grove__dialect_has_header(s->at.dialect))
		return grove__log_open(&s->log, s->at.store, &key, GROVE_STORE_CREATE, d);
	s->deferral.may_join = !s->deferral.for_good && !is_there(s);
	return grove__session_hold(s, d);
}

/* If the header has the name, an entry is written only if the dialect has one for it, too. */
static int name_new(struct grove_session *s, const char *name, struct grove_detail *d)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_NAME, .name = { name, "user", NULL } };
	struct grove_buf entry = GROVE_BUF_INIT;
	int rc = 0;

	if (!grove__dialect_has_title(s->at.dialect) || !grove__dialect_spell(s->at.dialect, &spec, &entry, NULL))
		rc = grove__append_spec(s, &spec, NULL, NULL, d);
	grove__buf_release(&entry);
	return rc;
}

int grove__session_new(struct grove *g, const struct grove_create_options *opt,
		       struct grove_session *s, struct grove_detail *d)
{
	const struct grove__dialect *dialect;
	struct grove__header_in h = { .parent = opt->parent_session, .time = grove__sys_now_ms() };
	struct grove_buf cwd = GROVE_BUF_INIT, name = GROVE_BUF_INIT;
	char id[40], *from_name = NULL;
	int rc = dialect_of_new(g, opt, &dialect, d);

	if (!rc && opt->lines.len && !(opt->flags & GROVE_CREATE_MEMORY))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "a session made of given lines can only be in memory");
	if (!rc && opt->id && !dialect->names.session_id_ok(grove__slice_str(opt->id)))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "%s", dialect->names.session_id_rule);
	if (!rc && opt->name)
		rc = grove__session_clean_name(dialect, opt->name, &name, d);
	if (rc)
		goto out;
	s->flags = GROVE_OPEN_WRITE;
	s->version = dialect->version;
	s->deferral.for_good = opt->flags & GROVE_CREATE_MEMORY;
	grove__world_session_id(g, dialect, id);
	h.id = opt->id ? opt->id : id;
	rc = grove__world_resolve(g, opt->cwd ? opt->cwd : g->cwd, &cwd) ? grove__fail_nomem(d) : 0;
	if (rc)
		goto out;
	h.cwd = cwd.ptr;
	rc = place_new(g, opt, s, dialect, &h, &from_name, d);
	s->at.dialect = dialect;
	if (!rc)
		rc = open_new(s, opt->flags, d);
	if (opt->name && grove__dialect_has_title(dialect)) {
		h.title = name.ptr;
		h.title_source = "user";
	}
	if (!rc)
		rc = opt->lines.len ? begin_with(s, opt->lines, &h, d) : put_header(s, &h, d);
	if (!rc && !s->deferral.store)
		grove__peek_mark_dialect(s->log, dialect);
	if (!rc)
		rc = grove__session_load(s, d);
	if (!rc && opt->lines.len) {
		s->version = s->image->header.version;
		rc = grove__image_old(s->image) ? grove__session_migrate(s, d) : 0;
	}
	if (!rc && opt->name)
		rc = name_new(s, name.ptr, d);
	if (!rc && opt->flags & GROVE_CREATE_NOTE_LAST) {
		s->flags |= GROVE_OPEN_NOTE_LAST;
		grove__session_note_last(s);
	}
out:
	free(from_name);
	grove__buf_release(&cwd);
	grove__buf_release(&name);
	return rc;
}
