/*
 * op_sqlite.c: lines into an SQLite store, beside SQLite alone and a plain file.
 *
 * The same rows go into the same tables twice: through the store, and by one
 * prepared statement without any checks. One by one and durable they
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
	struct grove_store_record *rec;
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
		r->rec[i] = (struct grove_store_record){
			.line = { r->text + off, len },
			.id = { r->id[i], 8 },
			.parent = { i ? r->id[i - 1] : "", i ? 8 : 0 },
			.time = 1700000000000 + (int64_t)i,
			.kind = GROVE_KIND_MESSAGE,
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

static int open_new(const char *path, struct grove_store **st, struct grove_store_log **log)
{
	const struct grove_key key = { "bench", "a.jsonl", "" };
	struct grove_detail d = { 0 };
	int rc;

	forget(path);
	rc = grove__store_sqlite_open(st, path, &d);
	if (!rc)
		rc = grove__log_open(log, *st, &key, GROVE_STORE_CREATE, &d);
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
		const struct grove_store_record *x = &r->rec[i];

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
	struct grove_store_log *log = NULL;
	struct grove_store_appended out;
	struct grove_detail d = { 0 };
	struct grove_store_log_stat stat;
	struct grove_store_run run = { 0 };
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
	struct grove_store_log *log = NULL;
	struct grove_store_appended out = { 0 };
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
	struct grove_store_log *log;
	const struct grove_store_record *rec;
	size_t n;
	int rc;
};

static void *append_share(void *payload)
{
	struct share *s = payload;
	struct grove_store_appended out;

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
	struct grove_store_log *log = NULL;
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

/* ------------------------------------------------------------------ contexts */

/* One conversation of n messages, each below the one before it. */
static int make_session(const char *dir, size_t n)
{
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/2026-01-01T00-00-00-000Z_bench.jsonl", dir);
	f = fopen(path, "w");
	if (!f)
		return fail("%s: cannot be made", path);
	fprintf(f, "{\"type\":\"session\",\"version\":3,\"id\":\"bench\","
		   "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n");
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "{\"type\":\"message\",\"id\":\"%08zx\",\"parentId\":", i * 2654435761u % 4294967296u);
		if (i)
			fprintf(f, "\"%08zx\"", (i - 1) * 2654435761u % 4294967296u);
		else
			fprintf(f, "null");
		fprintf(f, ",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"%s\",\"content\":"
			   "[{\"type\":\"text\",\"text\":\"message number %zu, some words to make it of a usual length\"}],"
			   "\"timestamp\":%zu}}\n", i % 2 ? "assistant" : "user", i, 1767225600000 + i);
	}
	return fclose(f) ? fail("%s: cannot be written", path) : 0;
}

static int count_bytes(void *payload, const char *ptr, size_t len)
{
	(void)ptr;
	*(uint64_t *)payload += len;
	return 0;
}

static int open_world(const char *store, struct grove **g)
{
	const struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .home = scratch(), .cache = "",
					   .stores = &store, .nr_stores = 1 };

	return fail_world(*g, grove_open(&opt, g), "grove_open");
}

/* The least CPU time of a context so far, and how many bytes it has. */
static int one_context(const char *store, double *best, uint64_t *bytes)
{
	struct grove_sink sink = { .write = count_bytes, .payload = bytes };
	struct grove_session *s = NULL;
	struct grove *g = NULL;
	double ms;
	int rc = open_world(store, &g);

	ms = cpu_ms();
	*bytes = 0;
	if (!rc)
		rc = fail_world(g, grove_session_open(g, "bench", GROVE_OPEN_READ, &s), "open");
	if (!rc)
		rc = fail_session(s, grove_session_context(s, NULL, sink), "context");
	ms = cpu_ms() - ms;
	if (*best <= 0 || ms < *best)
		*best = ms;
	grove_session_close(s);
	grove_close(g);
	return rc;
}

/* The same session as a file, in SQLite and, if `url` is one, on a server: in turn, without a cache. */
int op_sqlite_context(const char *url, size_t n)
{
	char file[4200], db[4200];
	const char *store[3] = { file, db, !strncmp(url, "mysql:", 6) ? url : NULL };
	double ms[3] = { 0 };
	uint64_t bytes[3] = { 0 };
	struct grove *g = NULL;
	int rc = make_session(scratch(), n);

	snprintf(file, sizeof(file), "file:%s", scratch());
	snprintf(db, sizeof(db), "sqlite:%s/context.db", scratch());
	if (!rc)
		rc = open_world(file, &g);
	for (int k = 1; k < 3 && store[k] && !rc; k++) {
		rc = fail_world(g, grove_store_init(g, store[k]), "init");
		if (!rc)
			rc = fail_world(g, grove_store_copy(g, file, store[k], NULL, NULL, NULL), "copy");
	}
	grove_close(g);
	for (int i = 0; i < ROUNDS && !rc; i++)
		for (int k = 0; k < 3 && store[k] && !rc; k++)
			rc = one_context(store[k], &ms[k], &bytes[k]);
	if (!rc && (bytes[0] != bytes[1] || (store[2] && bytes[0] != bytes[2])))
		rc = fail("not the same context");
	put_count("entries", n);
	put_count("bytes", bytes[0]);
	put_ms("file_cpu_ms", ms[0]);
	put_ms("sqlite_cpu_ms", ms[1]);
	put_number("sqlite_of_file", ms[0] > 0 ? ms[1] / ms[0] : 0);
	if (store[2]) {
		put_ms("mysql_cpu_ms", ms[2]);
		put_number("mysql_of_file", ms[0] > 0 ? ms[2] / ms[0] : 0);
	}
	return rc;
}
