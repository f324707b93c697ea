/*
 * grove-bench OP PATH [N]: measure one operation.
 *
 * One operation per process, one line of JSON out. The names of the members
 * are those that the drivers of other session stores use, so that one script
 * can compare them; times are milliseconds. What was done is verified outside
 * the timed region; a mismatch is a member "error" and exit status 1.
 *
 * $BENCH_TMP (else $TMPDIR, else /tmp) has room for scratch files: a copy of
 * PATH, at most.
 */
#include "bench.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct grove_buf line = GROVE_BUF_INIT;
static char error[1024];
static char scratch_dir[4096];

/* ------------------------------------------------------------ the line of JSON */

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
	struct grove_sink sink = grove_buf_sink(&line);
	char text[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text) || sink.write(sink.payload, text, (size_t)n))
		abort();
}

static void add_string(const char *text)
{
	if (grove_buf_json_string(&line, (struct grove_slice){ text, strlen(text) }))
		abort();
}

void put_ms(const char *name, double ms)
{
	add(",\"%s\":%.4f", name, ms);
}

void put_number(const char *name, double value)
{
	add(",\"%s\":%.3f", name, value);
}

void put_count(const char *name, uint64_t value)
{
	add(",\"%s\":%llu", name, (unsigned long long)value);
}

void put_flag(const char *name, int value)
{
	add(",\"%s\":%s", name, value ? "true" : "false");
}

void put_text(const char *name, const char *value)
{
	add(",\"%s\":", name);
	add_string(value);
}

int fail(const char *format, ...)
{
	va_list ap;

	if (!error[0]) {
		va_start(ap, format);
		vsnprintf(error, sizeof(error), format, ap);
		va_end(ap);
	}
	return -1;
}

int fail_world(struct grove *g, int code, const char *what)
{
	struct grove_detail d = { 0 };

	if (!code)
		return 0;
	if (g)
		grove_error(g, &d);
	return fail("%s: %s: %s", what, grove_error_name(code), d.message);
}

int fail_session(struct grove_session *s, int code, const char *what)
{
	struct grove_detail d = { 0 };

	if (!code)
		return 0;
	if (s)
		grove_session_error(s, &d);
	return fail("%s: %s: %s", what, grove_error_name(code), d.message);
}

/* -------------------------------------------------------------------- clocks */

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static double tv_ms(struct timeval tv)
{
	return (double)tv.tv_sec * 1e3 + (double)tv.tv_usec * 1e-3;
}

double cpu_ms(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return tv_ms(ru.ru_utime) + tv_ms(ru.ru_stime);
}

/*
 * Linux lets ru_maxrss start with what the parent had before exec(), which for
 * a driver in Python is more than all of ours. VmHWM is this program's own.
 */
double peak_mb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	struct rusage ru;
	char text[256];
	double kb = 0;

	while (f && fgets(text, sizeof(text), f))
		if (sscanf(text, "VmHWM: %lf", &kb) == 1)
			break;
	if (f)
		fclose(f);
	if (kb > 0)
		return kb / 1024;
	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_maxrss / 1024;
}

/* ------------------------------------------------------------------- scratch */

const char *scratch(void)
{
	const char *base = getenv("BENCH_TMP");

	if (scratch_dir[0])
		return scratch_dir;
	if (!base || !*base)
		base = getenv("TMPDIR");
	if (!base || !*base)
		base = "/tmp";
	snprintf(scratch_dir, sizeof(scratch_dir), "%s/grove-bench-XXXXXX", base);
	if (!mkdtemp(scratch_dir)) {
		fprintf(stderr, "grove-bench: cannot make a directory in %s\n", base);
		exit(1);
	}
	return scratch_dir;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/* ----------------------------------------------------------------- operations */

static const struct op {
	const char *name;
	int (*run)(const char *path, size_t n);
	size_t n;    /* where the command line does not say */
	const char *about;
} ops[] = {
	{ "open", op_open, 0, "open a session; its context, tree, path; fork at its leaf" },
	{ "forkfrom", op_forkfrom, 0, "open a session and fork the whole tree" },
	{ "append", op_append, 10000, "append to a new session (PATH is ignored)" },
	{ "appendburst", op_append, 500, "the same, a short one" },
	{ "appendflush", op_append_flush, 1000, "the same; the system begins to write each time" },
	{ "appendsync", op_append_sync, 1000, "the same, durable; with one thread, with 32" },
	{ "appendto", op_append_to, 1000, "append to a copy of PATH" },
	{ "list", op_list, 0, "list the first directory of PATH/sessions" },
	{ "listall", op_list_all, 0, "list all of PATH/sessions" },
	{ "usage", op_usage, 0, "add up what all sessions in PATH used" },
	{ "messages", op_messages, 0, "the conversation of a Claude transcript, from a closed file" },
	{ "info", op_info, 0, "name, first message and times of one session; with its messages counted" },
	{ "fork", op_claude_fork, 0, "open a Claude transcript and fork it" },
	{ "limit", op_limit, 0, "what the machine can do: read PATH, find its lines" },
#ifdef GROVE_BENCH_SQLITE
	{ "search", op_search, 0, "index all sessions in PATH, and search them" },
	{ "history", op_history, 10000, "add N prompts to a history and search them (PATH is ignored)" },
	{ "sqlite-append", op_sqlite_append, 20000,
	  "N lines into an SQLite store, beside SQLite alone (PATH is ignored)" },
	{ "sqlite-context", op_sqlite_context, 1000000,
	  "the context of N entries in SQLite, and on a server (PATH: - or its URL), beside a file" },
#endif
#ifdef GROVE_BENCH_MYSQL
	{ "mysql-append", op_mysql_append, 60,
	  "N entries to sessions of 6 and 60 MB on a server (PATH: a URL), beside one row a session" },
	{ "mysql-batch", op_mysql_batch, 100, "N batches of 100 entries, beside a plain bulk insert" },
	{ "mysql-context", op_mysql_context, 100000, "the rows read for the context of a session of N" },
	{ "mysql-snapshot", op_mysql_snapshot, 5000, "a snapshot of N entries, beside a plain SELECT" },
#endif
	{ "blob", op_blob, 10000, "base64, hashes and N blobs of 8 KiB (PATH is ignored)" },
	{ "scan", op_scan, 5, "the JSON scanner alone, GB/s of each kernel; N: rounds" },
};

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

static int usage(void)
{
	fprintf(stderr, "usage: grove-bench OP PATH [N]\n\n");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		fprintf(stderr, "  %-14s %s", ops[i].name, ops[i].about);
		if (ops[i].n)
			fprintf(stderr, " [%zu]", ops[i].n);
		fputc('\n', stderr);
	}
	return 2;
}

int main(int argc, char **argv)
{
	const struct op *op = argc > 2 && argc < 5 ? find_op(argv[1]) : NULL;
	long n = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	if (!op || n < 0)
		return usage();
	add("{\"op\":\"%s\"", op->name);
	if (op->run(argv[2], n ? (size_t)n : op->n) || error[0])
		put_text("error", error[0] ? error : "unknown");
	put_number("rss_mb", peak_mb());
	add("}\n");
	fwrite(line.ptr, 1, line.len, stdout);
	grove_buf_release(&line);
	if (scratch_dir[0])
		nftw(scratch_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return error[0] ? 1 : 0;
}
