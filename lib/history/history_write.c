/*
 * history/history_write.c: adding prompts.
 *
 * A caller that adds a prompt must not wait for a disk, nor for another program that
 * has the database locked. So the prompt is copied into a queue, and a thread, started
 * with the first one, takes the whole queue and commits it as one transaction: within
 * 100 ms of the oldest prompt, or at once for flush and close. What could not be
 * written stays queued and is retried.
 */
#include "history/history_impl.h"

#include "base/utf8.h"
#include "js/js.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/pool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define LONGEST_PROMPT ((size_t)64 << 20)
/* With more than this, the writer does not wait … */
#define QUEUE_MANY ((size_t)1 << 20)
/* … and more than this is refused: somebody keeps the database locked. */
#define QUEUE_MOST ((size_t)512 << 20)
/* Rows per transaction: others want to write as well. */
enum { ROWS_AT_ONCE = 16384 };

/* Its texts follow it. */
struct record {
	int64_t time;                        /* ms since 1970 */
	size_t prompt, cwd, session;         /* lengths; SIZE_MAX: none */
};

/* ------------------------------------------------------------------- writer */

struct writer {
	struct grove_history *h;
	struct grove__history_db db;
	sqlite3_stmt *insert, *newest;
	struct grove__history_shape shape;   /* that `insert` was made for */
	struct grove_buf batch, clean, last;
	size_t at;                           /* what of the batch is done */
	bool know_last;
};

static unsigned layout_of(const struct grove_history *h)
{
	return h->dialect->history ? h->dialect->history->layout : 0;
}

static void writer_close(struct writer *w)
{
	sqlite3_finalize(w->insert);
	sqlite3_finalize(w->newest);
	w->insert = w->newest = NULL;
	grove__history_db_close(&w->db);
}

static int make_parent(const char *path, struct grove_detail *d)
{
	struct grove_buf b = GROVE_BUF_INIT;
	const char *slash = strrchr(path, '/');
	int rc = 0;

	if (!slash || slash == path)
		return 0;
	if (grove__buf_add(&b, path, (size_t)(slash - path)))
		return grove__fail_nomem(d);
	rc = grove__sys_mkdirs(b.ptr, 0700);
	if (rc)
		rc = grove__fail_sys(d, rc, b.ptr, "cannot create the directory");
	grove__buf_release(&b);
	return rc;
}

static int writer_open(struct writer *w, struct grove_detail *d)
{
	struct grove_history *h = w->h;
	int rc;

	/* moved or removed meanwhile: nobody would see what we write there */
	if (w->db.db && !grove__history_db_current(&w->db))
		writer_close(w);
	if (w->db.db)
		return 0;
	rc = make_parent(h->path, d);
	return rc ? rc : grove__history_db_open(&w->db, h->path, HISTORY_WRITE, h->tuning.busy_ms, d);
}

static int writer_prepare(struct writer *w, struct grove_detail *d)
{
	const struct grove__history_shape *s = &w->db.shape;
	struct grove_buf sql = GROVE_BUF_INIT;
	int rc;

	if (w->insert && !memcmp(s, &w->shape, sizeof(*s)))
		return 0;
	sqlite3_finalize(w->insert);
	sqlite3_finalize(w->newest);
	w->insert = w->newest = NULL;
	rc = grove__buf_addf(&sql, "INSERT INTO history(prompt, created_at, cwd%s) VALUES (?1, ?2, ?3%s)%s%s%s",
			     s->session_id ? ", session_id" : "", s->session_id ? ", ?4" : "",
			     s->unique_prompt ? " ON CONFLICT(prompt) DO UPDATE SET "
						"created_at = excluded.created_at, cwd = excluded.cwd" : "",
			     s->unique_prompt && s->session_id ? ", session_id = excluded.session_id" : "",
			     s->unique_prompt && s->use_count ? ", use_count = use_count + 1" : "");
	if (rc)
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__history_db_prepare(&w->db, &w->insert, d, sql.ptr);
	if (!rc && !s->unique_prompt)
		rc = grove__history_db_prepare(&w->db, &w->newest, d,
			"SELECT prompt FROM history ORDER BY id DESC LIMIT 1");
	grove__buf_release(&sql);
	w->shape = *s;
	return rc;
}

/* oh-my-pi's form: lines end in LF alone, without trailing white space. */
static int clean_lines(struct grove_slice text, struct grove_buf *out)
{
	const char *p = text.ptr, *end = p + text.len;
	size_t solid;  /* where trailing white space of this line begins */
	int rc = 0;

	grove__buf_clear(out);
	solid = 0;
	while (p < end && !rc) {
		const char *at = p;
		uint32_t cp;

		p += grove__utf8_decode(p, end, &cp);
		if (cp == '\r') {
			if (p < end && *p == '\n')
				p++;
			cp = '\n';
		}
		if (cp == '\n') {
			grove__buf_cut(out, solid);
			rc = grove__buf_add_char(out, '\n');
			solid = out->len;
			continue;
		}
		rc = grove__buf_add(out, at, (size_t)(p - at));
		if (!grove__js_is_space(cp))
			solid = out->len;
	}
	return rc;
}

static int bind_text(sqlite3_stmt *st, int i, const char *ptr, size_t len)
{
	return len == SIZE_MAX ? sqlite3_bind_null(st, i) :
	       sqlite3_bind_text(st, i, ptr, (int)len, SQLITE_STATIC);
}

static int write_one(struct writer *w, const struct record *r, const char *texts,
		     struct grove_detail *d)
{
	struct grove_slice prompt = grove__slice(texts, r->prompt);
	const char *cwd = texts + r->prompt;
	const char *session = cwd + (r->cwd == SIZE_MAX ? 0 : r->cwd);
	int rc;

	if (w->shape.unique_prompt) {
		if (clean_lines(prompt, &w->clean))
			return grove__fail_nomem(d);
		prompt = grove__js_trim(grove__buf_slice(&w->clean));
	} else {
		if (w->know_last && grove__slice_eq(prompt, grove__buf_slice(&w->last)))
			return 0;
		grove__buf_clear(&w->last);
		if (grove__buf_add_slice(&w->last, prompt))
			return grove__fail_nomem(d);
		w->know_last = true;
	}
	rc = bind_text(w->insert, 1, prompt.ptr, prompt.len);
	if (!rc)
		rc = sqlite3_bind_int64(w->insert, 2, r->time / 1000);
	if (!rc)
		rc = bind_text(w->insert, 3, cwd, r->cwd);
	if (!rc && w->shape.session_id)
		rc = bind_text(w->insert, 4, session, r->session);
	if (!rc) {
		rc = sqlite3_step(w->insert);
		rc = rc == SQLITE_DONE ? 0 : rc;
	}
	if (rc)
		rc = grove__history_db_fail(&w->db, rc, d);
	sqlite3_reset(w->insert);
	return rc;
}

/* Reads the prompt that was stored last, by anybody. */
static int read_last(struct writer *w, struct grove_detail *d)
{
	int rc;

	w->know_last = false;
	if (!w->newest)
		return 0;
	rc = sqlite3_step(w->newest);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(w->newest, 0);
		size_t len = (size_t)sqlite3_column_bytes(w->newest, 0);

		grove__buf_clear(&w->last);
		rc = grove__buf_add(&w->last, text ? text : "", text ? len : 0) ?
			grove__fail_nomem(d) : 0;
		w->know_last = !rc;
	} else {
		rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(&w->db, rc, d);
	}
	sqlite3_reset(w->newest);
	return rc;
}

/* Runs one transaction. *nr: how many prompts it handled. */
static int write_some(struct writer *w, uint64_t *nr, struct grove_detail *d)
{
	size_t at = w->at;
	int rc = writer_open(w, d);

	*nr = 0;
	if (rc)
		return rc;
	rc = grove__history_db_exec(&w->db, "BEGIN IMMEDIATE", d);
	if (!rc)
		rc = grove__history_db_refresh(&w->db, d);
	if (!rc && w->db.shape.absent)
		rc = grove__history_db_create(&w->db, layout_of(w->h), d);
	if (!rc && !w->db.shape.insertable)
		rc = grove__fail(d, GROVE_ENOTSUP, w->h->path,
				 "the history has a column that this version of grove cannot fill");
	if (!rc)
		rc = writer_prepare(w, d);
	if (!rc)
		rc = read_last(w, d);
	while (!rc && at < w->batch.len && *nr < ROWS_AT_ONCE) {
		struct record r;

		memcpy(&r, w->batch.ptr + at, sizeof(r));
		at += sizeof(r);
		rc = write_one(w, &r, w->batch.ptr + at, d);
		at += r.prompt + (r.cwd == SIZE_MAX ? 0 : r.cwd) + (r.session == SIZE_MAX ? 0 : r.session);
		++*nr;
	}
	if (!rc)
		rc = grove__history_db_exec(&w->db, "COMMIT", d);
	if (rc) {
		grove__history_db_rollback(&w->db);
		/* open again next time: somebody may have repaired or replaced it */
		if (rc != GROVE_ECONFLICT)
			writer_close(w);
		*nr = 0;
		return rc;
	}
	w->at = at;
	return 0;
}

static int64_t until(struct timespec *ts, int64_t ticks)
{
	ts->tv_sec = (time_t)(ticks / 1000000000);
	ts->tv_nsec = (long)(ticks % 1000000000);
	return ticks;
}

/*
 * Waits until there is something to do. Returns false if no more will come. Called with
 * the lock held.
 */
static bool wait_for_work(struct grove_history *h, const struct writer *w, int64_t not_before)
{
	for (;;) {
		bool work = h->queue.len || w->at < w->batch.len;
		int64_t due = h->since + (int64_t)h->tuning.delay_ms * 1000000;
		struct timespec ts;

		if (!work && h->closing)
			return false;
		if (!work) {
			pthread_cond_wait(&h->wake, &h->lock);
			continue;
		}
		if (h->closing || h->hurry)
			return true;
		if (not_before)
			due = not_before;
		else if (h->queue.len >= QUEUE_MANY || w->at < w->batch.len)
			return true;
		if (grove__sys_ticks_ns() >= until(&ts, due))
			return true;
		pthread_cond_timedwait(&h->wake, &h->lock, &ts);
	}
}

static void *writer_main(void *payload)
{
	struct grove_history *h = payload;
	struct writer w = { .h = h };
	struct grove_detail d;
	int64_t not_before = 0, pause = 0, failed = 0;
	uint64_t tried = 0;

	pthread_mutex_lock(&h->lock);
	while (wait_for_work(h, &w, not_before)) {
		bool last = h->closing;
		uint64_t nr;
		int rc;

		/* a caller that closes after a failed flush already knows */
		if (last && failed && tried == h->added && grove__sys_ticks_ns() - failed < 1000000000)
			break;
		tried = h->added;

		h->hurry = false;
		if (w.at == w.batch.len) {
			struct grove_buf empty = w.batch;

			w.batch = h->queue;
			h->queue = empty;
			grove__buf_clear(&h->queue);
			w.at = 0;
		}
		pthread_mutex_unlock(&h->lock);
		grove__fail_clear(&d);
		rc = write_some(&w, &nr, &d);
		pthread_mutex_lock(&h->lock);
		h->settled += nr;
		if (!rc) {
			not_before = pause = failed = 0;
		} else {
			h->failures++;
			h->write_detail = d;
			h->write_detail.code = rc;
			if (last)
				break;
			pause = pause ? pause * 2 : (int64_t)h->tuning.delay_ms * 1000000;
			if (pause > 5000000000)
				pause = 5000000000;
			failed = grove__sys_ticks_ns();
			not_before = failed + pause;
		}
		pthread_cond_broadcast(&h->settled_more);
	}
	pthread_mutex_unlock(&h->lock);
	writer_close(&w);
	grove__buf_release(&w.batch);
	grove__buf_release(&w.clean);
	grove__buf_release(&w.last);
	return NULL;
}

/* With the lock held. */
static int writer_start(struct grove_history *h, struct grove_detail *d)
{
	int rc = h->running ? 0 : grove__pool_thread(&h->thread, writer_main, h);

	if (rc)
		return grove__fail_sys(d, rc, h->path, "cannot start a thread");
	h->running = true;
	return 0;
}

void grove__history_writer_stop(struct grove_history *h)
{
	bool running;

	pthread_mutex_lock(&h->lock);
	h->closing = true;
	running = h->running;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	if (running)
		pthread_join(h->thread, NULL);
}

/* ---------------------------------------------------------------- the callers */

static int enqueue(struct grove_history *h, const struct record *r, struct grove_slice prompt,
		   const char *cwd, const char *session)
{
	size_t start = h->queue.len, texts = prompt.len;
	int rc;

	texts += r->cwd == SIZE_MAX ? 0 : r->cwd;
	texts += r->session == SIZE_MAX ? 0 : r->session;
	rc = grove__buf_reserve(&h->queue, sizeof(*r) + texts);
	if (rc)
		return rc;
	grove__buf_add(&h->queue, r, sizeof(*r));
	grove__buf_add_slice(&h->queue, prompt);
	if (cwd)
		grove__buf_add(&h->queue, cwd, r->cwd);
	if (session)
		grove__buf_add(&h->queue, session, r->session);
	h->added++;
	if (!start)
		h->since = grove__sys_ticks_ns();
	if (!start || (start < QUEUE_MANY && h->queue.len >= QUEUE_MANY))
		pthread_cond_signal(&h->wake);
	return 0;
}

int grove__history_add(struct grove_history *h, struct grove_slice prompt, const char *cwd,
		       const char *session_id, struct grove_detail *d)
{
	struct grove_buf repaired = GROVE_BUF_INIT;
	struct record r = { .time = grove__sys_now_ms(), .cwd = SIZE_MAX, .session = SIZE_MAX };
	int rc = 0;

	if (prompt.len > LONGEST_PROMPT)
		return grove__fail(d, GROVE_ETOOBIG, NULL, "a prompt cannot be longer than 64 MiB");
	if (!h->dialect)
		return grove__fail(d, GROVE_EINVAL, NULL, "the history could not be opened");
	if (!grove__utf8_valid(prompt)) {
		if (grove__utf8_repair(&repaired, prompt)) {
			grove__buf_release(&repaired);
			return grove__fail_nomem(d);
		}
		prompt = grove__buf_slice(&repaired);
	}
	prompt = grove__js_trim(prompt);
	r.prompt = prompt.len;
	if (cwd)
		r.cwd = strlen(cwd);
	if (session_id)
		r.session = strlen(session_id);
	if (prompt.len) {
		pthread_mutex_lock(&h->lock);
		if (h->queue.len > QUEUE_MOST)
			rc = grove__fail(d, GROVE_EFULL, h->path, "too many prompts are waiting to be written");
		if (!rc)
			rc = writer_start(h, d);
		if (!rc && enqueue(h, &r, prompt, cwd, session_id))
			rc = grove__fail_nomem(d);
		pthread_mutex_unlock(&h->lock);
	}
	grove__buf_release(&repaired);
	return rc;
}

int grove__history_flush(struct grove_history *h, struct grove_detail *d)
{
	uint64_t target, failures;
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	target = h->added;
	failures = h->failures;
	while (h->settled < target) {
		if (h->failures != failures) {
			*d = h->write_detail;
			rc = d->code;
			break;
		}
		h->hurry = true;
		pthread_cond_signal(&h->wake);
		pthread_cond_wait(&h->settled_more, &h->lock);
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int grove__history_upgrade(struct grove_history *h, struct grove_detail *d)
{
	struct grove__history_db db;
	struct grove__sys_stat st;
	int rc = grove__history_flush(h, d);

	if (rc)
		return rc;
	rc = grove__sys_stat(h->path, &st);
	if (rc)
		return grove__fail_sys(d, rc, h->path, "cannot open the history");
	rc = grove__history_db_open(&db, h->path, HISTORY_WRITE, h->tuning.busy_ms, d);
	if (rc)
		return rc;
	rc = grove__history_db_exec(&db, "BEGIN IMMEDIATE", d);
	if (!rc && db.shape.absent)
		rc = grove__history_db_create(&db, layout_of(h), d);
	if (!rc)
		rc = grove__history_db_upgrade(&db, d);
	if (!rc)
		rc = grove__history_db_exec(&db, "COMMIT", d);
	if (rc)
		grove__history_db_rollback(&db);
	grove__history_db_close(&db);
	return rc;
}
