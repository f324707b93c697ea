/*
 * op_append.c: appending.
 *
 * The messages are a short prompt and a longer answer, in turn; each is
 * composed within the timed region, as an agent would, with the time of day.
 */
#include "bench.h"

#include "store/store.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 32 };

#define PROMPT "please look at the parser and fix the failing test in session tree "
#define ANSWER "the function now returns null when the session file is missing "
#define THRICE(x) x x x
#define EIGHT_TIMES(x) x x x x x x x x

static int message(char *out, size_t cap, size_t i)
{
	struct timespec ts;
	long long ms;

	clock_gettime(CLOCK_REALTIME, &ts);
	ms = (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	if (!(i & 1))
		return snprintf(out, cap,
				"{\"role\":\"user\",\"content\":[{\"type\":\"text\","
				"\"text\":\"request %zu " THRICE(PROMPT) "\"}],"
				"\"timestamp\":%lld}",
				i, ms);
	return snprintf(out, cap,
			"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
			"\"text\":\"answer %zu " EIGHT_TIMES(ANSWER) "\"}],"
			"\"api\":\"anthropic-messages\",\"provider\":\"anthropic\","
			"\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input\":3,\"output\":200,"
			"\"cacheRead\":20000,\"cacheWrite\":900,\"totalTokens\":21103,"
			"\"cost\":{\"input\":0.000009,\"output\":0.003,\"cacheRead\":0.006,"
			"\"cacheWrite\":0.003375,\"total\":0.012384}},"
			"\"stopReason\":\"stop\",\"timestamp\":%lld}",
			i, ms);
}

static int append_some(struct grove_session *s, size_t from, size_t n, enum grove_sync sync)
{
	struct grove_append_options opt = { .size = sizeof(opt), .sync = sync };
	char json[2048];

	for (size_t i = from; i < from + n; i++) {
		int len = message(json, sizeof(json), i);
		struct grove_slice slice = { json, (size_t)len };
		int rc = grove_session_append(s, slice, &opt, NULL);

		if (rc)
			return rc;
	}
	return 0;
}

static int new_session(struct grove *g, struct grove_session **s)
{
	struct grove_create_options opt = {
		.size = sizeof(opt), .cwd = "/home/dev/project", .dir = scratch()
	};

	return fail_world(g, grove_session_create(g, &opt, s), "new");
}

/* Is the file of `s` there with all `n` messages, and one header? */
static int verify_appended(struct grove *g, struct grove_session *s, uint64_t n, uint64_t *bytes)
{
	struct grove_counts c = { .size = sizeof(c) };
	struct grove_session *again = NULL;
	struct grove_view *v = NULL;
	int rc = fail_world(g, grove_session_open(g, grove_session_path(s), GROVE_OPEN_READ, &again),
			    "reopen");

	if (!rc)
		rc = fail_session(again, grove_session_view(again, &v), "view");
	if (!rc) {
		grove_view_counts(v, &c);
		*bytes = c.bytes;
		if (c.entries != n || c.malformed || c.orphans || c.duplicates)
			rc = fail("%llu entries (%llu malformed, %llu orphans, %llu duplicates), should be %llu",
				  (unsigned long long)c.entries, (unsigned long long)c.malformed,
				  (unsigned long long)c.orphans, (unsigned long long)c.duplicates,
				  (unsigned long long)n);
	}
	grove_view_unref(v);
	grove_session_close(again);
	return rc;
}

static void put_append(double ms, size_t n)
{
	put_ms("append_ms", ms);
	put_number("ops", (double)n / (ms / 1000));
}

/* A whole file; NULL after fail(). */
static char *slurp(const char *path, size_t *len)
{
	struct stat st;
	char *all = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && !fstat(fd, &st) && (all = malloc((size_t)st.st_size + 1)) &&
	    read(fd, all, (size_t)st.st_size) != st.st_size) {
		free(all);
		all = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (!all)
		fail("cannot read %s", path);
	else
		*len = (size_t)st.st_size;
	return all;
}

static size_t line_len(const char *p, const char *end)
{
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	return lf ? (size_t)(lf - p) + 1 : (size_t)(end - p);
}

/* Writes the lines of a file again, one write(2) each: what the system alone takes. */
static int measure_bare(const char *name, const char *path, size_t skip, int sync, double *ms)
{
	char copy[4096];
	double start;
	size_t len = 0;
	char *all = slurp(path, &len), *p;
	int fd, rc = 0;

	if (!all)
		return -1;
	snprintf(copy, sizeof(copy), "%s/bare.jsonl", scratch());
	fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	start = now_ms();
	for (p = all; fd >= 0 && !rc && p < all + len;) {
		size_t n = line_len(p, all + len);

		if (write(fd, p, n) != (ssize_t)n || (sync && !skip && fdatasync(fd)))
			rc = fail("cannot write lines of %s", path);
		if (skip)
			skip--;
		p += n;
	}
	*ms = now_ms() - start;
	put_ms(name, *ms);
	if (fd >= 0)
		close(fd);
	unlink(copy);
	free(all);
	return fd < 0 ? fail("cannot write %s", copy) : rc;
}

/* The same lines through the file store: the lock, the check for other writers, the write. */
static int measure_store(const char *name, const char *path, double *ms)
{
	const struct grove_key key = { "", "stored.jsonl", "" };
	struct grove_store *st = NULL;
	struct grove_store_log *log = NULL;
	struct grove_store_appended done = { 0 };
	size_t len = 0;
	char url[4200], *all = slurp(path, &len), *p;
	double start = 0;
	int rc;

	if (!all)
		return -1;
	snprintf(url, sizeof(url), "file:%s", scratch());
	rc = grove__store_open(&st, url, NULL);
	if (!rc)
		rc = grove__log_open(&log, st, &key, GROVE_STORE_CREATE, NULL);
	start = now_ms();
	for (p = all; !rc && p < all + len;) {
		size_t n = line_len(p, all + len);
		struct grove_store_record rec = { .line = { p, n - 1 } };

		rc = grove__log_append(log, &rec, 1, done.tail, GROVE_SYNC_NONE, &done, NULL);
		p += n;
	}
	*ms = now_ms() - start;
	put_ms(name, *ms);
	if (!rc && done.tail != len)
		rc = fail("the store has %llu bytes, not %zu", (unsigned long long)done.tail, len);
	grove__log_close(log);
	if (st)
		grove__store_remove(st, &key, NULL);
	grove__store_close(st);
	free(all);
	return rc ? fail("cannot store lines of %s", path) : 0;
}

static int append_new(size_t n, enum grove_sync sync)
{
	struct grove_session *s = NULL;
	struct grove *g = NULL;
	uint64_t bytes = 0;
	double start, took = 0, cpu, bare = 0, stored = 0;
	int rc = fail_world(g, grove_open(NULL, &g), "world");

	if (!rc)
		rc = new_session(g, &s);
	if (!rc) {
		cpu = cpu_ms();
		start = now_ms();
		rc = fail_session(s, append_some(s, 0, n, sync), "append");
		took = now_ms() - start;
		put_append(took, n);
		put_ms("cpu_ms", cpu_ms() - cpu);
	}
	if (!rc)
		rc = verify_appended(g, s, n, &bytes);
	if (!rc) {
		put_count("bytes", bytes);
		rc = measure_bare("barewrite_ms", grove_session_path(s), 0, 0, &bare);
	}
	if (!rc)
		rc = measure_store("storewrite_ms", grove_session_path(s), &stored);
	if (!rc) {
		put_number("times_bare", took / bare);
		put_number("store_times_bare", stored / bare);
	}
	grove_session_close(s);
	grove_close(g);
	return rc;
}

int op_append(const char *path, size_t n)
{
	(void)path;
	return append_new(n, GROVE_SYNC_NONE);
}

int op_append_flush(const char *path, size_t n)
{
	(void)path;
	return append_new(n, GROVE_SYNC_FLUSH);
}

/* ------------------------------------------------------------------- durable */

struct share {
	struct grove_session *s;
	size_t from, n;
	int rc;
};

static void *append_share(void *payload)
{
	struct share *share = payload;

	share->rc = append_some(share->s, share->from, share->n, GROVE_SYNC_ALWAYS);
	return NULL;
}

static int append_threads(struct grove_session *s, size_t n)
{
	struct share share[THREADS];
	pthread_t thread[THREADS];
	int rc = 0, started = 0;
	size_t at = 0;

	for (size_t i = 0; i < THREADS; i++) {
		size_t to = n * (i + 1) / THREADS;

		share[i] = (struct share){ s, at, to - at, 0 };
		at = to;
		if (pthread_create(&thread[i], NULL, append_share, &share[i])) {
			rc = fail("cannot start a thread");
			break;
		}
		started++;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		if (share[i].rc)
			rc = fail_session(s, share[i].rc, "append of a thread");
	}
	return rc;
}

int op_append_sync(const char *path, size_t n)
{
	struct grove_session *one = NULL, *many = NULL;
	struct grove *g = NULL;
	uint64_t bytes = 0;
	double start, took, alone = 0, bare;
	int rc = fail_world(g, grove_open(NULL, &g), "world");

	(void)path;
	if (!rc)
		rc = new_session(g, &one);
	if (!rc) {
		start = now_ms();
		rc = fail_session(one, append_some(one, 0, n, GROVE_SYNC_ALWAYS), "append");
		alone = now_ms() - start;
		put_append(alone, n);
	}
	if (!rc)
		rc = verify_appended(g, one, n, &bytes);
	if (!rc)
		rc = new_session(g, &many);
	if (!rc) {
		start = now_ms();
		rc = append_threads(many, n);
		took = now_ms() - start;
		put_ms("append32_ms", took);
		put_number("ops32", (double)n / (took / 1000));
		put_number("speedup32", alone / took);
	}
	if (!rc)
		rc = verify_appended(g, many, n, &bytes);
	if (!rc)
		rc = measure_bare("baresync_ms", grove_session_path(one), 1, 1, &bare);
	grove_session_close(many);
	grove_session_close(one);
	grove_close(g);
	return rc;
}

/* ------------------------------------------------------------------ appendto */

static int copy_file(const char *from, const char *to)
{
	size_t cap = (size_t)1 << 20;
	char *block = malloc(cap);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t got = -1;

	while (block && in >= 0 && out >= 0 && (got = read(in, block, cap)) > 0)
		if (write(out, block, (size_t)got) != got) {
			got = -1;
			break;
		}
	free(block);
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out))
		got = -1;
	return got ? fail("cannot copy %s", from) : 0;
}

int op_append_to(const char *path, size_t n)
{
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct grove *g = NULL;
	uint64_t bytes = 0, before = 0;
	char copy[4096];
	double start;
	int rc;

	snprintf(copy, sizeof(copy), "%s/copy.jsonl", scratch());
	rc = copy_file(path, copy);
	if (rc)
		return rc;
	start = now_ms();
	rc = fail_world(g, grove_open(NULL, &g), "world");
	if (!rc)
		rc = fail_world(g, grove_session_open(g, copy, GROVE_OPEN_WRITE, &s), "open");
	if (!rc)
		rc = fail_session(s, grove_session_view(s, &v), "view");
	put_ms("open_ms", now_ms() - start);
	if (!rc) {
		before = grove_view_count(v);
		grove_view_unref(v);
		start = now_ms();
		rc = fail_session(s, append_some(s, 0, n, GROVE_SYNC_NONE), "append");
		put_append(now_ms() - start, n);
	}
	if (!rc)
		rc = verify_appended(g, s, before + n, &bytes);
	grove_session_close(s);
	grove_close(g);
	return rc;
}
