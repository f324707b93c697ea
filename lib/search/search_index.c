/*
 * search/search_index.c: brings the index up to date.
 *
 * Each log is examined to find those that have changed. Threads read these, and whoever has
 * filled a part writes it, one at a time.
 *
 * A file counts once its row exists, which is written last, so the work may be
 * interrupted anywhere. It is committed from time to time, so that others can use it.
 *
 * Another process may be doing the same. If we cannot write within two seconds, the
 * remaining logs are scanned.
 */
#include "search/search_db.h"
#include "search/search_part.h"

#include "base/array.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <stdlib.h>

#define READERS_MAX 4
#define COMMIT_BYTES ((uint64_t)64 << 20)
#define DEAD_MANY 4000

/* A log that has to be read. */
struct task {
	uint32_t log;
	uint32_t known;                      /* index among the known; GROVE_NO_ENTRY: it is new */
	int64_t mtime;
	struct grove__log_state was;
	struct grove__search_read before;
	int64_t id;                          /* of its parts; 0: none yet */
	int64_t parts;                       /* written so far */
};

struct sync {
	struct grove__search_index *ix;
	struct grove *g;
	const struct grove__logs *sweep;
	uint8_t *look;
	bool same;                           /* these are as they were the last time */
	bool update;                         /* else only look what is missing */
	struct task *tasks;
	size_t nr, cap;
	struct grove_detail *d;

	/* guarded by the lock, like the index itself while several threads write to it */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t next, ended;                  /* tasks */
	uint64_t bytes;                      /* since the last commit */
	int rc;                              /* not 0: everybody stops */
};

/* A thread that reads logs, one after the other. */
struct reader {
	struct sync *s;
	struct task *task;
	struct grove__search_feed feed;
	struct grove__search_part part;
	struct grove__search_vocab vocab;
	bool asks;                           /* it is the calling thread, which may call the caller back */
};

/* -------------------------------------------------------------------- writing */

static int prepare_writing(struct grove__search_index *ix)
{
	int rc = grove__search_db_prepare(ix, "INSERT INTO words (rowid, lanes) VALUES (?, ?)", &ix->add_words);

	rc = rc ? rc : grove__search_db_prepare(ix, "INSERT INTO parts VALUES (?,?,?,?,?)", &ix->add_part);
	rc = rc ? rc : grove__search_db_prepare(ix, "INSERT INTO texts VALUES (?,?)", &ix->add_texts);
	/*
	 * Not REPLACE: SQLite would prepare to undo that statement alone, and before
	 * that make FTS5 write out everything it has collected, for each file.
	 */
	rc = rc ? rc : grove__search_db_prepare(ix, "DELETE FROM files WHERE key = ?", &ix->drop_file);
	return rc ? rc : grove__search_db_prepare(ix,
		"INSERT INTO files (id, key, store, dev, ino, size, mtime, ctime, crc, rows, pos, off, "
		"len, sum, lines, parts, dialect, session, cwd, name, modified, labels, places) "
		"VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &ix->put_file);
}

static int bind_blob(sqlite3_stmt *st, int nr, const struct grove_buf *b)
{
	return sqlite3_bind_blob(st, nr, b->ptr ? b->ptr : "", (int)b->len, SQLITE_STATIC);
}

static int write_part(struct grove__search_index *ix, int64_t file, const struct grove__search_part *p)
{
	int64_t id = ix->next_part++;
	int rc;

	sqlite3_bind_int64(ix->add_words, 1, id);
	sqlite3_bind_text(ix->add_words, 2, p->words.ptr, (int)p->words.len, SQLITE_STATIC);
	rc = grove__search_db_step(ix, ix->add_words);
	sqlite3_bind_int64(ix->add_part, 1, id);
	sqlite3_bind_int64(ix->add_part, 2, file);
	sqlite3_bind_int64(ix->add_part, 3, p->since);
	sqlite3_bind_int64(ix->add_part, 4, p->until);
	bind_blob(ix->add_part, 5, &p->sizes);
	rc = rc ? rc : grove__search_db_step(ix, ix->add_part);
	sqlite3_bind_int64(ix->add_texts, 1, id);
	bind_blob(ix->add_texts, 2, &p->texts);
	return rc ? rc : grove__search_db_step(ix, ix->add_texts);
}

static int forget_file(struct grove__search_index *ix, const struct grove__search_known *k, int64_t more)
{
	char sql[64];

	ix->dead += k->parts + more;
	sqlite3_snprintf((int)sizeof(sql), sql, "DELETE FROM files WHERE id = %lld", (long long)k->id);
	return grove__search_db_run(ix, sql);
}

/*
 * Begins the parts of a log. Until all are there, the file must not be known, because a
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

static int write_file(struct sync *s, struct task *t, const struct grove__search_feed *f)
{
	struct grove__search_index *ix = s->ix;
	const struct grove__search_known *k = t->known == GROVE_NO_ENTRY ? NULL : &ix->known[t->known];
	bool same = k && t->id == k->id;
	sqlite3_stmt *st = ix->put_file;
	const struct grove__search_read *n = &f->now;
	int rc;

	if (k && !same)
		ix->dead += k->parts;
	sqlite3_bind_text(ix->drop_file, 1, f->log->name, -1, SQLITE_STATIC);
	rc = grove__search_db_step(ix, ix->drop_file);
	if (rc)
		return rc;
	sqlite3_bind_int64(st, 1, t->id);
	sqlite3_bind_text(st, 2, f->log->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, f->log->root->store->url, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, (int64_t)f->at.st.dev);
	sqlite3_bind_int64(st, 5, (int64_t)f->at.st.ino);
	sqlite3_bind_int64(st, 6, (int64_t)f->at.st.size);
	sqlite3_bind_int64(st, 7, f->at.st.mtime_ns);
	sqlite3_bind_int64(st, 8, f->at.st.ctime_ns);
	sqlite3_bind_int64(st, 9, n->crc);
	sqlite3_bind_int64(st, 10, n->rows);
	sqlite3_bind_int64(st, 11, (int64_t)n->last.pos);
	sqlite3_bind_int64(st, 12, (int64_t)n->last.off);
	sqlite3_bind_int64(st, 13, (int64_t)n->last.len);
	sqlite3_bind_int64(st, 14, n->last.crc);
	sqlite3_bind_int(st, 15, n->last.lines);
	sqlite3_bind_int64(st, 16, t->parts + (same ? k->parts : 0));
	sqlite3_bind_text(st, 17, f->dialect->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 18, f->id.ptr ? f->id.ptr : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 19, f->cwd.ptr ? f->cwd.ptr : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 20, f->name.ptr, f->name.ptr ? -1 : 0, SQLITE_STATIC);
	sqlite3_bind_int64(st, 21, f->modified);
	bind_blob(st, 22, &f->labels);
	bind_blob(st, 23, &f->places);
	return grove__search_db_step(ix, st);
}

static int put_meta(struct grove__search_index *ix)
{
	char sql[160];

	sqlite3_snprintf((int)sizeof(sql), sql, "UPDATE meta SET next_file = %lld, next_part = %lld, dead = %lld",
			 (long long)ix->next_file, (long long)ix->next_part, (long long)ix->dead);
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

/* -------------------------------------------------------------------- reading */

static int tell_progress(struct sync *s)
{
	const struct grove_progress *p = &s->g->progress;

	if (p->fn && p->fn(p->payload, s->ended, s->nr))
		return grove__fail(s->d, GROVE_ECANCELLED, NULL, "cancelled");
	return 0;
}

static void lock(struct reader *r)
{
	pthread_mutex_lock(&r->s->lock);
}

/* Whatever failed, everybody stops. Returns whether to go on. */
static bool unlock(struct reader *r, int rc)
{
	struct sync *s = r->s;

	/* also within a log: a long one must not make a cancelled search wait */
	if (!rc && !s->rc && r->asks)
		rc = tell_progress(s);
	s->rc = s->rc ? s->rc : rc;
	rc = s->rc;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	return !rc;
}

static int write_full(struct reader *r)
{
	struct sync *s = r->s;
	int rc;

	lock(r);
	rc = s->rc ? s->rc : begin_task(s, r->task, r->feed.grown);
	rc = rc ? rc : write_part(s->ix, r->task->id, &r->part);
	rc = rc ? rc : grove__search_vocab_write(s->ix, &r->vocab);
	r->task->parts++;
	s->bytes += r->part.words.len + r->part.texts.len;
	if (!rc && s->bytes > COMMIT_BYTES)
		rc = commit_some(s);
	grove__search_part_clear(&r->part);
	return unlock(r, rc) ? 0 : GROVE_ECANCELLED;
}

static int take_doc(void *payload, const struct grove__search_doc *doc)
{
	struct reader *r = payload;
	int rc = grove__search_part_add(&r->part, doc);

	return rc || !grove__search_part_full(&r->part) ? rc : write_full(r);
}

/* Called with the lock: everything of a log that could be read has been written. */
static int end_task(struct sync *s, struct task *t, const struct grove__search_feed *f, int rc)
{
	s->ended++;
	if (!rc) {
		rc = begin_task(s, t, f->grown);
		return rc ? rc : write_file(s, t, f);
	}
	if (rc == GROVE_ENOMEM)
		return rc;
	/* it cannot be read, or keeps changing: what the index has of it is not reliable */
	s->look[t->log] = 1;
	if (t->known != GROVE_NO_ENTRY)
		return forget_file(s->ix, &s->ix->known[t->known], t->parts);
	s->ix->dead += t->parts;
	return 0;
}

static bool read_task(struct reader *r)
{
	struct sync *s = r->s;
	struct task *t = r->task;
	struct grove_detail why;
	int rc;

	grove__fail_clear(&why);
	r->feed = (struct grove__search_feed){ .g = s->g, .log = &s->sweep->logs[t->log], .was = t->was,
					       .before = t->before, .doc = take_doc, .payload = r };
	rc = grove__search_feed(&r->feed, &why);
	if (!rc && r->part.nr)
		rc = write_full(r);
	grove__search_part_clear(&r->part);
	if (rc && rc != GROVE_ENOMEM && rc != GROVE_ECANCELLED && why.code)
		grove__search_note(s->g, &why);
	lock(r);
	rc = s->rc ? s->rc : end_task(s, t, &r->feed, rc);
	grove__search_feed_release(&r->feed);
	return unlock(r, rc);
}

/* Takes the next task. The calling thread stays to the end, because only it may be told to stop. */
static bool next_task(struct reader *r)
{
	struct sync *s = r->s;
	bool more, wait;

	do {
		lock(r);
		more = !s->rc && s->next < s->nr;
		wait = r->asks && !more && !s->rc && s->ended < s->nr;
		if (more)
			r->task = &s->tasks[s->next++];
		else if (wait)
			pthread_cond_wait(&s->moved, &s->lock);
	} while (unlock(r, 0) && wait);
	return more;
}

static void work(void *payload, unsigned thread)
{
	struct reader r = { .s = payload, .asks = !thread };
	int rc = grove__search_vocab_init(&r.vocab);

	r.part.vocab = &r.vocab;
	if (rc) {
		lock(&r);
		unlock(&r, rc);
	}
	while (!rc && next_task(&r) && read_task(&r))
		;
	grove__search_part_release(&r.part);
	grove__search_vocab_release(&r.vocab);
}

static int write_all(struct sync *s)
{
	int rc = prepare_writing(s->ix);

	if (rc)
		return rc;
	s->next = s->ended = 0;
	s->bytes = 0;
	s->rc = 0;
	grove__pool_run(s->nr < READERS_MAX ? s->nr : READERS_MAX, work, s);
	return s->rc;
}

/* ---------------------------------------------------------------- what is to do */

static bool is_kept(const struct grove__log_at *l)
{
	/* the memory of another process has the same name */
	return grove__store_traits(l->root->store).shared;
}

static int add_task(struct sync *s, uint32_t log, uint32_t known)
{
	if (grove__array_room(&s->tasks, &s->cap, s->nr, sizeof(*s->tasks)))
		return GROVE_ENOMEM;
	s->tasks[s->nr++] = (struct task){ .log = log, .known = known, .mtime = s->sweep->logs[log].st.mtime_ns };
	return 0;
}

/* Checks whether a log has changed, and makes a task to read it if so. */
static int look_at(struct sync *s, uint32_t i)
{
	struct grove__search_index *ix = s->ix;
	const struct grove__log_at *l = &s->sweep->logs[i];
	const struct grove__dialect *must = s->g->forced ? s->g->forced : l->root->dialect;
	uint32_t k;

	s->look[i] = !is_kept(l);
	if (s->look[i])
		return 0;
	k = grove__idmap_get(&ix->by_key, grove__slice_str(l->name));
	if (k != GROVE__IDMAP_NONE)
		ix->log_of[ix->known[k].id] = i + 1;
	if (grove__search_log_gone(l)) {
		s->look[i] = 1;
		return 0;
	}
	if (k != GROVE__IDMAP_NONE && grove__state_same(&l->st, &ix->known[k].st) &&
	    (!must || must == ix->known[k].dialect))
		return 0;
	/* it is empty: nothing to store */
	if (k == GROVE__IDMAP_NONE && !l->st.size)
		return 0;
	s->look[i] = 1;
	return add_task(s, i, k == GROVE__IDMAP_NONE ? GROVE_NO_ENTRY : k);
}

static int look_at_all(struct sync *s)
{
	struct grove__search_index *ix = s->ix;
	int rc = 0;

	s->nr = 0;
	free(ix->log_of);
	ix->nr_log_of = (size_t)ix->next_file;
	ix->log_of = calloc(ix->nr_log_of + 1, sizeof(*ix->log_of));
	if (!ix->log_of)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < s->sweep->nr && !rc; i++)
		rc = look_at(s, i);
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
		t->was = s->ix->known[t->known].st;
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

/* Oldest first, so that the newest parts have the highest numbers. */
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

	if (ix->dead < DEAD_MANY || ix->dead * 2 < ix->next_part)
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

int grove__search_index_begin(struct grove__search_index *ix, struct grove_search *of)
{
	struct sync s = { .ix = ix, .g = of->g, .sweep = &of->sweep, .look = of->look, .same = true };
	int rc = begin_reading(&s);

	free(s.tasks);
	return rc;
}

void grove__search_index_end(struct grove__search_index *ix)
{
	sqlite3_exec(ix->db, "ROLLBACK", NULL, NULL, NULL);
}

int grove__search_index_sync(struct grove__search_index *ix, struct grove *g, const struct grove__search_logs *logs,
			     bool update, struct grove_detail *d)
{
	struct sync s = { .ix = ix, .g = g, .sweep = logs->sweep, .look = logs->look,
			  .same = logs->same, .update = update, .d = d };
	struct grove_detail why;
	int rc = GROVE_ESTALE;

	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.moved, NULL);
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
	free(s.tasks);
	pthread_cond_destroy(&s.moved);
	pthread_mutex_destroy(&s.lock);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc == GROVE_EIO ? GROVE_EDAMAGED : rc;
}
