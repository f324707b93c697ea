/*
 * search/search_index.c: brings the index up to date.
 *
 * Each log is examined to find those that have changed. Threads read these, and pass
 * the texts to the one that writes: see search_queue.h.
 *
 * A file counts once its row exists, which is written last, so the work may be
 * interrupted anywhere. It is committed from time to time, so that others can use it.
 *
 * Another process may be doing the same. If we cannot write within two seconds, the
 * remaining logs are scanned.
 */
#include "search/search_db.h"
#include "search/search_part.h"
#include "search/search_queue.h"

#include "base/array.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <stdlib.h>

#define READERS_MAX 4
#define COMMIT_BYTES ((uint64_t)64 << 20)
#define DEAD_MANY 50000

/* A log that has to be read. */
struct task {
	uint32_t log;
	uint32_t known;                      /* index among the known; GROVE_NO_ENTRY: it is new */
	char *path;
	int64_t mtime;
	struct grove__search_like was;
	struct grove__search_read before;
	int64_t id;                          /* of its docs; 0: none yet */
	int64_t docs;                        /* written so far */
};

struct sync {
	struct grove__search_index *ix;
	struct grove *g;
	const struct grove__logs *sweep;
	const struct grove__search_like *like;   /* of each log */
	uint8_t *look;
	bool same;                           /* these are as they were the last time */
	bool update;                         /* else only look what is missing */
	struct task *tasks;
	size_t nr, cap;
	struct grove_detail *d;

	struct grove__search_queue queue;
	size_t next, ended;                  /* tasks; the first is guarded by the queue's lock */
	uint64_t bytes;                      /* since the last commit */
};

/* -------------------------------------------------------------------- readers */

static bool read_task(struct sync *s, size_t nr, struct grove__search_forms *forms)
{
	const struct task *t = &s->tasks[nr];
	struct grove__search_feed feed = { .g = s->g, .log = &s->sweep->logs[t->log], .path = t->path,
					   .was = t->was, .before = t->before };

	return grove__search_queue_read(&s->queue, nr, &feed, forms);
}

static void work(void *payload, unsigned thread)
{
	struct sync *s = payload;
	struct grove__search_forms forms;
	bool more = true;
	size_t nr;

	(void)thread;
	/* its logs must come to an end, because the writer waits for that */
	while (grove__search_forms_init(&forms))
		;
	while (more) {
		pthread_mutex_lock(&s->queue.lock);
		more = !s->queue.stop && s->next < s->nr;
		nr = s->next;
		s->next += more;
		pthread_mutex_unlock(&s->queue.lock);
		if (more)
			more = read_task(s, nr, &forms);
	}
	grove__search_forms_release(&forms);
}

/* --------------------------------------------------------------------- writer */

static int step(struct grove__search_index *ix, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st) == SQLITE_DONE ? 0 : SQLITE_ERROR;

	if (rc)
		rc = grove__search_db_code(ix, sqlite3_extended_errcode(ix->db));
	sqlite3_reset(st);
	return rc;
}

static int prepare_writing(struct grove__search_index *ix)
{
	static const char *const sql[SEARCH_CLASSES] = {
		"INSERT INTO words (rowid, text) VALUES (?, ?)",
		"INSERT INTO calls (rowid, words) VALUES (?, ?)",
		"INSERT INTO results (rowid, words) VALUES (?, ?)",
	};
	int rc = grove__search_db_prepare(ix, "INSERT INTO docs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", &ix->add_doc);

	rc = rc ? rc : grove__search_db_prepare(ix, "INSERT INTO parts VALUES (?,?,?,?,?,?)", &ix->add_part);
	rc = rc ? rc : grove__search_db_prepare(ix, "INSERT OR IGNORE INTO forms VALUES (?,?)", &ix->add_form);
	rc = rc ? rc : grove__search_db_prepare(ix, "INSERT OR IGNORE INTO said VALUES (?)", &ix->add_said);
	for (int i = 0; i < SEARCH_CLASSES && !rc; i++)
		rc = grove__search_db_prepare(ix, sql[i], &ix->add_words[i]);
	/*
	 * Not REPLACE: SQLite would prepare to undo that statement alone, and before
	 * that make FTS5 write out everything it has collected, for each file.
	 */
	rc = rc ? rc : grove__search_db_prepare(ix, "DELETE FROM files WHERE key = ?", &ix->drop_file);
	return rc ? rc : grove__search_db_prepare(ix,
		"INSERT INTO files (id, key, store, dev, ino, size, mtime, ctime, crc, rows, pos, off, "
		"len, sum, lines, docs, dialect, session, cwd, name, modified, labels, places) "
		"VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &ix->put_file);
}

static int write_doc(struct grove__search_index *ix, int64_t id, int64_t file,
		     const struct grove__search_doc *doc)
{
	sqlite3_stmt *st = ix->add_doc;

	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_int64(st, 2, file);
	sqlite3_bind_int(st, 3, doc->role);
	sqlite3_bind_int64(st, 4, doc->time);
	sqlite3_bind_int64(st, 5, (int64_t)ix->words);
	sqlite3_bind_int(st, 6, doc->kind);
	sqlite3_bind_int64(st, 7, doc->row);
	sqlite3_bind_int64(st, 8, (int64_t)doc->at.pos);
	sqlite3_bind_int64(st, 9, (int64_t)doc->at.off);
	sqlite3_bind_int64(st, 10, (int64_t)doc->at.len);
	sqlite3_bind_int64(st, 11, doc->at.crc);
	sqlite3_bind_int(st, 12, doc->at.lines);
	sqlite3_bind_text(st, 13, doc->entry, -1, SQLITE_STATIC);
	return step(ix, st);
}

static int write_part(struct grove__search_index *ix, int64_t id, int64_t file,
		      const struct grove__search_item *it)
{
	sqlite3_stmt *st = ix->add_part;
	struct grove_buf sizes = GROVE_BUF_INIT;
	int rc = grove__search_part_sizes(it->entries, &sizes);

	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_int64(st, 2, file);
	sqlite3_bind_int64(st, 3, it->since);
	sqlite3_bind_int64(st, 4, it->until);
	sqlite3_bind_blob(st, 5, sizes.ptr, (int)sizes.len, SQLITE_STATIC);
	sqlite3_bind_blob(st, 6, it->entries.ptr, (int)it->entries.len, SQLITE_STATIC);
	rc = rc ? rc : step(ix, st);
	grove__buf_release(&sizes);
	return rc;
}

/* Writes the forms of words that were met for the first time. */
static int write_forms(struct grove__search_index *ix, struct grove_buf *forms)
{
	const char *at = forms->ptr, *end = at + forms->len;
	int rc = 0;

	while (at < end && !rc) {
		const char *word = at + strlen(at) + 1;

		sqlite3_bind_text(ix->add_form, 1, at, -1, SQLITE_STATIC);
		sqlite3_bind_text(ix->add_form, 2, word, -1, SQLITE_STATIC);
		rc = step(ix, ix->add_form);
		at = word + strlen(word) + 1;
	}
	grove__buf_clear(forms);
	return rc;
}

/* Writes the words that were met for the first time. */
static int write_said(struct grove__search_index *ix, struct grove_buf *words)
{
	const char *at = words->ptr, *end = at + words->len;
	int rc = 0;

	for (; at < end && !rc; at += strlen(at) + 1) {
		sqlite3_bind_text(ix->add_said, 1, at, -1, SQLITE_STATIC);
		rc = step(ix, ix->add_said);
	}
	grove__buf_clear(words);
	return rc;
}

static int write_item(struct grove__search_index *ix, int64_t file, const struct grove__search_item *it)
{
	sqlite3_stmt *st = ix->add_words[it->doc.class];
	int64_t id = ix->next_doc++;
	int rc;

	ix->words = 0;
	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_text(st, 2, it->doc.text.ptr, (int)it->doc.text.len, SQLITE_STATIC);
	rc = step(ix, st);
	if (rc)
		return rc;
	return it->entries.len ? write_part(ix, id, file, it) : write_doc(ix, id, file, &it->doc);
}

static int forget_file(struct grove__search_index *ix, const struct grove__search_known *k, int64_t more)
{
	char sql[64];

	ix->dead += k->docs + more;
	sqlite3_snprintf((int)sizeof(sql), sql, "DELETE FROM files WHERE id = %lld", (long long)k->id);
	return grove__search_db_run(ix, sql);
}

/*
 * Begins the docs of a log. Until all are there, the file must not be known, because a
 * commit may come in between, and then a crash.
 */
static int begin_task(struct sync *s, struct task *t, bool grown)
{
	struct grove__search_index *ix = s->ix;
	char sql[80];

	if (t->id)
		return 0;
	if (!grown) {
		t->id = ix->next_file++;
		return 0;
	}
	t->id = ix->known[t->known].id;
	sqlite3_snprintf((int)sizeof(sql), sql, "UPDATE files SET rows = 0, mtime = -1 WHERE id = %lld",
			 (long long)t->id);
	return grove__search_db_run(ix, sql);
}

static int write_items(struct sync *s, struct grove__search_parcel *p)
{
	struct task *t = &s->tasks[p->task];
	int rc = begin_task(s, t, p->grown);

	grove__search_parcel_open(p);
	for (size_t i = 0; i < p->nr && !rc; i++) {
		rc = write_item(s->ix, t->id, &p->items[i]);
		t->docs++;
	}
	s->bytes += p->bytes.len;
	rc = rc ? rc : write_forms(s->ix, &p->forms);
	rc = rc ? rc : write_forms(s->ix, &s->ix->forms.found);
	return rc ? rc : write_said(s->ix, &s->ix->said.found);
}

static int write_file(struct sync *s, struct task *t, const struct grove__search_feed *f)
{
	struct grove__search_index *ix = s->ix;
	const struct grove__search_known *k = t->known == GROVE_NO_ENTRY ? NULL : &ix->known[t->known];
	bool same = k && t->id == k->id;
	sqlite3_stmt *st = ix->put_file;
	const struct grove__search_read *n = &f->now;
	int rc;

	if (k && !same)
		ix->dead += k->docs;
	sqlite3_bind_text(ix->drop_file, 1, f->log->name, -1, SQLITE_STATIC);
	rc = step(ix, ix->drop_file);
	if (rc)
		return rc;
	sqlite3_bind_int64(st, 1, t->id);
	sqlite3_bind_text(st, 2, f->log->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, f->log->root->store->url, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, f->like.dev);
	sqlite3_bind_int64(st, 5, f->like.ino);
	sqlite3_bind_int64(st, 6, f->like.size);
	sqlite3_bind_int64(st, 7, f->like.mtime);
	sqlite3_bind_int64(st, 8, f->like.ctime);
	sqlite3_bind_int64(st, 9, n->crc);
	sqlite3_bind_int64(st, 10, n->rows);
	sqlite3_bind_int64(st, 11, (int64_t)n->last.pos);
	sqlite3_bind_int64(st, 12, (int64_t)n->last.off);
	sqlite3_bind_int64(st, 13, (int64_t)n->last.len);
	sqlite3_bind_int64(st, 14, n->last.crc);
	sqlite3_bind_int(st, 15, n->last.lines);
	sqlite3_bind_int64(st, 16, t->docs + (same ? k->docs : 0));
	sqlite3_bind_text(st, 17, f->dialect->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 18, f->id.ptr ? f->id.ptr : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 19, f->cwd.ptr ? f->cwd.ptr : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 20, f->name.ptr, f->name.ptr ? -1 : 0, SQLITE_STATIC);
	sqlite3_bind_int64(st, 21, f->modified);
	sqlite3_bind_blob(st, 22, f->labels.ptr ? f->labels.ptr : "", (int)f->labels.len, SQLITE_STATIC);
	sqlite3_bind_blob(st, 23, f->places.ptr ? f->places.ptr : "", (int)f->places.len, SQLITE_STATIC);
	return step(ix, st);
}

static int end_task(struct sync *s, const struct grove__search_parcel *p)
{
	struct task *t = &s->tasks[p->task];
	struct grove__search_index *ix = s->ix;
	int rc;

	s->ended++;
	if (p->rc == GROVE_ENOMEM)
		return p->rc;
	if (p->rc) {
		/*
		 * it cannot be read, or keeps changing: what the index has of it is not
		 * reliable
		 */
		s->look[t->log] = 1;
		if (t->known != GROVE_NO_ENTRY)
			return forget_file(ix, &ix->known[t->known], t->docs);
		ix->dead += t->docs;
		return 0;
	}
	rc = begin_task(s, t, p->grown);
	return rc ? rc : write_file(s, t, &p->feed);
}

static int put_meta(struct grove__search_index *ix)
{
	char sql[160];

	sqlite3_snprintf((int)sizeof(sql), sql, "UPDATE meta SET next_file = %lld, next_doc = %lld, dead = %lld",
			 (long long)ix->next_file, (long long)ix->next_doc, (long long)ix->dead);
	return grove__search_db_run(ix, sql);
}

/*
 * Commits, so that others can use the result. They may write now, too; then everything
 * starts again.
 */
static int commit_some(struct sync *s)
{
	bool changed;
	int rc = put_meta(s->ix);

	s->bytes = 0;
	rc = rc ? rc : grove__search_db_run(s->ix, "COMMIT");
	rc = rc ? rc : grove__search_db_run(s->ix, "BEGIN IMMEDIATE");
	if (rc)
		return rc;
	rc = grove__search_db_load(s->ix, &changed);
	return rc ? rc : changed ? GROVE_ESTALE : 0;
}

static int write_parcel(struct sync *s, struct grove__search_parcel *p)
{
	int rc = p->end ? end_task(s, p) : write_items(s, p);

	if (!rc && s->bytes > COMMIT_BYTES)
		rc = commit_some(s);
	return rc;
}

static int tell_progress(struct sync *s)
{
	const struct grove_progress *p = &s->g->progress;

	if (p->fn && p->fn(p->payload, s->ended, s->nr))
		return grove__fail(s->d, GROVE_ECANCELLED, NULL, "cancelled");
	return 0;
}

static int write_all(struct sync *s)
{
	unsigned cpus = grove__sys_cpus();
	size_t want = cpus < READERS_MAX ? cpus : READERS_MAX;
	struct grove__pool readers;
	int rc = prepare_writing(s->ix);

	rc = rc ? rc : grove__search_forms_init(&s->ix->forms);
	if (!rc && grove__search_said_init(&s->ix->said)) {
		grove__search_forms_release(&s->ix->forms);
		rc = GROVE_ENOMEM;
	}
	if (rc)
		return rc;
	grove__pool_begin(&readers, want < s->nr ? want : s->nr, work, s);
	rc = readers.nr ? 0 : GROVE_ENOMEM;
	while (!rc && s->ended < s->nr) {
		struct grove__search_parcel *p = grove__search_queue_take(&s->queue);

		rc = write_parcel(s, p);
		grove__search_parcel_free(p);
		/* also within a log: a long one must not make a cancelled search wait */
		rc = rc ? rc : tell_progress(s);
	}
	grove__search_queue_stop(&s->queue);
	grove__pool_end(&readers);
	grove__search_forms_release(&s->ix->forms);
	grove__search_said_release(&s->ix->said);
	return rc;
}

/* ---------------------------------------------------------------- what is to do */

static bool is_kept(const struct grove__log_at *l)
{
	/* the memory of another process has the same name */
	return grove__store_traits(l->root->store).shared;
}

static int add_task(struct sync *s, uint32_t log, uint32_t known, const char *path, int64_t mtime)
{
	struct task t = { .log = log, .known = known, .mtime = mtime };

	if (grove__array_room(&s->tasks, &s->cap, s->nr, sizeof(t)))
		return GROVE_ENOMEM;
	t.path = strdup(path);
	if (!t.path)
		return GROVE_ENOMEM;
	s->tasks[s->nr++] = t;
	return 0;
}

/* Checks whether a log has changed, and makes a task to read it if so. */
static int look_at(struct sync *s, uint32_t i, struct grove_buf *path)
{
	struct grove__search_index *ix = s->ix;
	const struct grove__log_at *l = &s->sweep->logs[i];
	const struct grove__dialect *must = s->g->forced ? s->g->forced : l->root->dialect;
	const struct grove__search_like *like = &s->like[i];
	uint32_t k;

	s->look[i] = !is_kept(l);
	if (s->look[i])
		return 0;
	k = grove__idmap_get(&ix->by_key, grove__slice_str(l->name));
	if (k != GROVE__IDMAP_NONE)
		ix->log_of[ix->known[k].id] = i + 1;
	if (like->gone) {
		s->look[i] = 1;
		return 0;
	}
	if (k != GROVE__IDMAP_NONE && grove__search_is_like(like, &ix->known[k].like) &&
	    (!must || must == ix->known[k].dialect))
		return 0;
	/* it is empty: nothing to store */
	if (k == GROVE__IDMAP_NONE && !like->size)
		return 0;
	s->look[i] = 1;
	if (grove__search_log_path(l, path))
		return GROVE_ENOMEM;
	return add_task(s, i, k == GROVE__IDMAP_NONE ? GROVE_NO_ENTRY : k, path->ptr, like->mtime);
}

static int look_at_all(struct sync *s)
{
	struct grove__search_index *ix = s->ix;
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = 0;

	while (s->nr)
		free(s->tasks[--s->nr].path);
	free(ix->log_of);
	ix->nr_log_of = (size_t)ix->next_file;
	ix->log_of = calloc(ix->nr_log_of + 1, sizeof(*ix->log_of));
	if (!ix->log_of)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < s->sweep->nr && !rc; i++)
		rc = look_at(s, i, &path);
	grove__buf_release(&path);
	return rc;
}

/* A file of a store that was listed, but that was not found, is gone. */
static bool is_gone(const struct sync *s, const struct grove__search_known *k)
{
	if (s->ix->log_of[k->id])
		return false;
	for (size_t i = 0; i < s->g->nr_roots; i++)
		if (!strcmp(s->g->roots[i].store->url, k->store))
			return !s->g->roots[i].away;
	return false;
}

static bool any_gone(const struct sync *s)
{
	for (size_t i = 0; i < s->ix->nr; i++)
		if (is_gone(s, &s->ix->known[i]))
			return true;
	return false;
}

static int forget_gone(struct sync *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->ix->nr && !rc; i++)
		if (is_gone(s, &s->ix->known[i]))
			rc = forget_file(s->ix, &s->ix->known[i], 0);
	return rc;
}

/* Looks up how far the known logs were read. */
static int recall(struct sync *s)
{
	sqlite3_stmt *st = NULL;
	int rc = grove__search_db_prepare(s->ix, "SELECT crc, rows, pos, off, len, sum, lines FROM files "
						 "WHERE id = ?", &st);

	for (size_t i = 0; i < s->nr && !rc; i++) {
		struct task *t = &s->tasks[i];

		if (t->known == GROVE_NO_ENTRY)
			continue;
		t->was = s->ix->known[t->known].like;
		sqlite3_bind_int64(st, 1, s->ix->known[t->known].id);
		if (sqlite3_step(st) == SQLITE_ROW)
			t->before = (struct grove__search_read){
				.crc = (uint32_t)sqlite3_column_int64(st, 0),
				.rows = (uint32_t)sqlite3_column_int64(st, 1),
				.last = { .pos = (uint64_t)sqlite3_column_int64(st, 2),
					  .off = (uint64_t)sqlite3_column_int64(st, 3),
					  .len = (uint64_t)sqlite3_column_int64(st, 4),
					  .crc = (uint32_t)sqlite3_column_int64(st, 5),
					  .lines = sqlite3_column_int(st, 6) != 0 },
			};
		rc = grove__search_db_code(s->ix, sqlite3_reset(st));
	}
	sqlite3_finalize(st);
	return rc;
}

/* Oldest first, so that the newest docs have the highest numbers. */
static int by_time(const void *x, const void *y)
{
	const struct task *a = x, *b = y;

	if (a->mtime != b->mtime)
		return a->mtime < b->mtime ? -1 : 1;
	return a->log < b->log ? -1 : a->log > b->log;
}

/* ---------------------------------------------------------------------- sync */

static int load(struct sync *s)
{
	bool changed;
	int rc = grove__search_db_load(s->ix, &changed);

	if (rc || (s->same && !s->update && !changed))
		return rc;
	return look_at_all(s);
}

static int begin_anew_if_dead(struct sync *s)
{
	struct grove__search_index *ix = s->ix;
	int rc;

	if (ix->dead < DEAD_MANY || ix->dead * 2 < ix->next_doc)
		return 0;
	rc = grove__search_db_make(ix);
	ix->version = -1;
	return rc ? rc : load(s);
}

/* Called with the right to write. */
static int update(struct sync *s)
{
	int rc = load(s);

	rc = rc ? rc : begin_anew_if_dead(s);
	rc = rc ? rc : recall(s);
	rc = rc ? rc : forget_gone(s);
	if (!rc && s->nr) {
		qsort(s->tasks, s->nr, sizeof(*s->tasks), by_time);
		rc = write_all(s);
	}
	rc = rc ? rc : put_meta(s->ix);
	return rc ? rc : grove__search_db_run(s->ix, "COMMIT");
}

static int begin_reading(struct sync *s)
{
	int rc = grove__search_db_run(s->ix, "BEGIN");

	return rc ? rc : load(s);
}

/* Reads the state, also again after others or we have written. */
static int settle(struct sync *s)
{
	int rc = begin_reading(s);

	grove__search_index_end(s->ix);
	return rc;
}

static int sync_once(struct sync *s)
{
	struct grove__search_index *ix = s->ix;
	int rc = settle(s);

	if (rc || !s->update || (!s->nr && !any_gone(s)))
		return rc;
	rc = grove__search_db_run(ix, "BEGIN IMMEDIATE");
	if (!rc) {
		s->next = s->ended = 0;
		grove__search_queue_start(&s->queue);
		s->bytes = 0;
		rc = update(s);
		if (rc)
			grove__search_index_end(ix);
		/* our own changes do not count as changes by others */
		ix->version = -1;
	}
	return rc;
}

void grove__search_index_warm(struct grove__search_index *ix)
{
	bool changed;

	/* whatever fails here will fail again when it matters */
	if (grove__search_db_run(ix, "BEGIN"))
		return;
	(void)!grove__search_db_load(ix, &changed);
	grove__search_index_end(ix);
}

static void release(struct sync *s)
{
	while (s->nr)
		free(s->tasks[--s->nr].path);
	free(s->tasks);
}

int grove__search_index_begin(struct grove__search_index *ix, struct grove_search *of)
{
	struct sync s = { .ix = ix, .g = of->g, .sweep = &of->sweep, .like = of->like, .look = of->look, .same = true };
	int rc = begin_reading(&s);

	release(&s);
	return rc;
}

void grove__search_index_end(struct grove__search_index *ix)
{
	sqlite3_exec(ix->db, "ROLLBACK", NULL, NULL, NULL);
}

int grove__search_index_sync(struct grove__search_index *ix, struct grove *g, const struct grove__search_logs *logs,
			     bool update, struct grove_detail *d)
{
	struct sync s = { .ix = ix, .g = g, .sweep = logs->sweep, .like = logs->like, .look = logs->look,
			  .same = logs->same, .update = update, .d = d };
	struct grove_detail why;
	int rc = GROVE_ESTALE;

	grove__search_queue_init(&s.queue);
	for (int i = 0; i < 8 && rc == GROVE_ESTALE; i++)
		rc = sync_once(&s);
	if (rc == GROVE_EIO) {
		grove__fail_clear(&why);
		grove__fail(&why, rc, g->cache, "cannot update the index (%s); reading the sessions it lacks",
			    sqlite3_errmsg(ix->db));
		grove__search_note(g, &why);
	}
	/* whatever the reason, what the index lacks is scanned; what that is may not be known yet */
	if (rc == GROVE_EIO || rc == GROVE_ECONFLICT || rc == GROVE_ESTALE) {
		rc = 0;
		ix->version = -1;
	}
	if (!rc && ix->version < 0)
		rc = settle(&s);
	release(&s);
	grove__search_queue_release(&s.queue);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc == GROVE_EIO ? GROVE_EDAMAGED : rc;
}
