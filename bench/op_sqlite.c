/*
 * op_sqlite.c: lines into an SQLite store, beside SQLite alone and a plain file.
 *
 * The same rows go into the same tables twice: through the store, and by one
 * prepared statement without any questions asked. One by one and durable they
 * are compared with what the file system does: write(2) and fdatasync(2) of the
 * same lines. Each is done in turn, several times; the best time counts.
 */
#include "bench.h"

#include "store/sqlite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5, DURABLE = 2000, THREADS = 32 };

struct rows {
	struct grove_record *rec;
	char (*id)[20];
	char *text;
	size_t nr;
	uint64_t bytes;
};

/* A short prompt and a longer answer, in turn, as sessions have them. */
static int make_rows(struct rows *r, size_t n)
{
	size_t off = 0;

	*r = (struct rows){ calloc(n + 1, sizeof(*r->rec)), calloc(n + 1, sizeof(*r->id)),
			    malloc(n * 3000 + 1), n, 0 };
	if (!r->rec || !r->id || !r->text)
		return fail("out of memory");
	for (size_t i = 0; i < n; i++) {
		size_t len = i % 2 ? 900 + i * 7919 % 2000 : 250 + i * 104729 % 300;
		int head;

		snprintf(r->id[i], sizeof(r->id[i]), "%08zx", i);
		head = snprintf(r->text + off, 200, "{\"type\":\"message\",\"id\":\"%08zx\",\"n\":%zu,\"x\":\"", i,
				i);
		memset(r->text + off + head, 'a' + (int)(i % 26), len - (size_t)head);
		memcpy(r->text + off + len - 2, "\"}", 2);
		r->rec[i] = (struct grove_record){
			.line = { r->text + off, len }, .id = { r->id[i], 8 },
			.parent = { i ? r->id[i - 1] : "", i ? 8 : 0 },
			.time = 1700000000000 + (int64_t)i, .kind = GROVE_KIND_MESSAGE,
			.role = i % 2 ? GROVE_ROLE_ASSISTANT : GROVE_ROLE_USER,
		};
		off += len;
		r->bytes += len + 1;
	}
	return 0;
}

static void forget(const char *path)
{
	char name[4200];

	unlink(path);
	snprintf(name, sizeof(name), "%s-wal", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", path);
	unlink(name);
}

static int open_new(const char *path, struct grove_store **st, struct grove_log **log)
{
	const struct grove_key key = { "bench", "a.jsonl", "" };
	struct grove_detail d = { 0 };
	int rc;

	forget(path);
	rc = grove__store_sqlite_open(st, path, &d);
	if (!rc)
		rc = grove__log_open(log, *st, &key, GROVE_LOG_CREATE, &d);
	return rc ? fail("store: %s", d.message) : 0;
}

static void best(double *ms, double took)
{
	if (*ms <= 0 || took < *ms)
		*ms = took;
}

/* ------------------------------------------------------------------ batches */

static int plain_batch(const char *path, const struct rows *r, double *ms)
{
	static const char id[16] = "0123456789abcdef";
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int64_t start = 0;
	double t;
	int rc;

	forget(path);
	rc = sqlite3_open(path, &db);
	if (!rc)
		rc = sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	for (unsigned v = 0; v < grove__sql_schema_sqlite.newest; v++)
		for (const char *const *sql = grove__sql_schema_sqlite.versions[v]; *sql && !rc; sql++)
			rc = sqlite3_exec(db, *sql, NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(db, grove__sql_text[SQL_INSERT], -1, &st, NULL);
	t = now_ms();
	if (!rc)
		rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	for (size_t i = 0; i < r->nr && !rc; i++) {
		const struct grove_record *x = &r->rec[i];

		sqlite3_bind_blob(st, 1, id, 16, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, (int64_t)i);
		sqlite3_bind_int64(st, 3, start);
		sqlite3_bind_int64(st, 4, x->time);
		sqlite3_bind_int64(st, 5, x->time);
		sqlite3_bind_int(st, 6, x->kind);
		sqlite3_bind_int(st, 7, x->role);
		sqlite3_bind_text(st, 8, x->id.ptr, (int)x->id.len, SQLITE_STATIC);
		sqlite3_bind_text(st, 9, x->parent.ptr, (int)x->parent.len, SQLITE_STATIC);
		sqlite3_bind_blob(st, 10, x->line.ptr, (int)x->line.len, SQLITE_STATIC);
		rc = sqlite3_step(st) == SQLITE_DONE ? 0 : 1;
		sqlite3_reset(st);
		start += (int64_t)x->line.len + 1;
	}
	if (!rc)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	best(ms, now_ms() - t);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc ? fail("plain SQLite failed") : 0;
}

static int store_batch(const char *path, const struct rows *r, double *ms, double *read_ms)
{
	struct grove_store *st = NULL;
	struct grove_log *log = NULL;
	struct grove_appended out;
	struct grove_detail d = { 0 };
	struct grove_log_stat stat;
	struct grove_run run = { 0 };
	const size_t cap = (size_t)1 << 20;
	char *buf = malloc(cap);
	uint64_t bytes = 0;
	double t;
	int rc = open_new(path, &st, &log);

	if (rc || !buf)
		goto out;
	t = now_ms();
	rc = grove__log_append(log, r->rec, r->nr, 0, GROVE_SYNC_NONE, &out, &d);
	best(ms, now_ms() - t);
	t = now_ms();
	for (uint64_t pos = 0; !rc && pos < r->nr; pos = run.next) {
		rc = grove__log_read(log, pos, r->nr, buf, cap, &run, &d);
		bytes += run.len;
	}
	best(read_ms, now_ms() - t);
	if (!rc)
		rc = grove__log_stat(log, &stat, &d);
	if (rc)
		rc = fail("store: %s", d.message);
	else if (bytes != r->bytes || stat.bytes != r->bytes)
		rc = fail("%llu bytes came back, not %llu", (unsigned long long)bytes,
			  (unsigned long long)r->bytes);
out:
	free(buf);
	grove__log_close(log);
	grove__store_close(st);
	return rc;
}

/* --------------------------------------------------------------- one by one */

static int store_each(const char *path, const struct rows *r, size_t n, enum grove_sync sync,
		      double *ms)
{
	struct grove_store *st = NULL;
	struct grove_log *log = NULL;
	struct grove_appended out = { 0 };
	struct grove_detail d = { 0 };
	double t;
	int rc = open_new(path, &st, &log);

	/* the first one syncs the directory, too */
	if (!rc)
		rc = grove__log_append(log, r->rec, 1, 0, sync, &out, &d);
	t = now_ms();
	for (size_t i = 0; i < n && !rc; i++)
		rc = grove__log_append(log, &r->rec[i], 1, out.tail, sync, &out, &d);
	best(ms, now_ms() - t);
	if (rc)
		rc = fail("append: %s", d.message);
	grove__log_close(log);
	grove__store_close(st);
	return rc;
}

struct share {
	struct grove_log *log;
	const struct grove_record *rec;
	size_t n;
	int rc;
};

static void *append_share(void *payload)
{
	struct share *s = payload;
	struct grove_appended out;

	for (size_t i = 0; i < s->n && !s->rc; i++)
		s->rc = grove__log_append(s->log, &s->rec[i], 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out,
					  NULL);
	return NULL;
}

static int store_threads(const char *path, const struct rows *r, size_t n, double *ms)
{
	struct share share[THREADS];
	pthread_t thread[THREADS];
	struct grove_store *st = NULL;
	struct grove_log *log = NULL;
	double t;
	int started = 0, rc = open_new(path, &st, &log);

	t = now_ms();
	for (size_t i = 0; i < THREADS && !rc; i++, started += !rc) {
		share[i] = (struct share){ log, r->rec, n / THREADS, 0 };
		rc = pthread_create(&thread[i], NULL, append_share, &share[i]) ? fail("no thread") : 0;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		if (share[i].rc)
			rc = fail("append of a thread: %s", grove_error_name(share[i].rc));
	}
	best(ms, now_ms() - t);
	grove__log_close(log);
	grove__store_close(st);
	return rc;
}

static int file_each(const char *path, const struct rows *r, size_t n, double *ms)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	double t;
	int rc = fd < 0;

	if (!rc)
		rc = fdatasync(fd);
	t = now_ms();
	for (size_t i = 0; i < n && !rc; i++)
		rc = write(fd, r->rec[i].line.ptr, r->rec[i].line.len) != (ssize_t)r->rec[i].line.len ||
		     fdatasync(fd);
	best(ms, now_ms() - t);
	if (fd >= 0)
		close(fd);
	unlink(path);
	return rc ? fail("cannot write %s", path) : 0;
}

int op_sqlite_append(const char *path, size_t n)
{
	double plain = 0, batch = 0, reading = 0, each = 0, durable = 0, threads = 0, bare = 0;
	size_t few = n < DURABLE ? n : DURABLE;
	struct rows r;
	char db[4096], file[4096];
	int rc = make_rows(&r, n);

	(void)path;
	snprintf(db, sizeof(db), "%s/store.db", scratch());
	snprintf(file, sizeof(file), "%s/plain.jsonl", scratch());
	for (int i = 0; i < ROUNDS && !rc; i++) {
		rc = plain_batch(db, &r, &plain);
		if (!rc)
			rc = store_batch(db, &r, &batch, &reading);
		if (!rc)
			rc = file_each(file, &r, few, &bare);
		if (!rc)
			rc = store_each(db, &r, few, GROVE_SYNC_ALWAYS, &durable);
		if (!rc)
			rc = store_threads(db, &r, few, &threads);
		if (!rc)
			rc = store_each(db, &r, few, GROVE_SYNC_NONE, &each);
	}
	put_count("rows", n);
	put_count("bytes", r.bytes);
	put_ms("plain_batch_ms", plain);
	put_ms("batch_ms", batch);
	put_number("batch_of_plain", batch > 0 ? plain / batch : 0);
	put_ms("read_ms", reading);
	put_count("durable_rows", few);
	put_ms("baresync_ms", bare);
	put_ms("durable_ms", durable);
	put_number("durable_of_bare", durable > 0 ? bare / durable : 0);
	put_ms("durable32_ms", threads);
	put_ms("each_ms", each);
	free(r.rec);
	free(r.id);
	free(r.text);
	return rc;
}
