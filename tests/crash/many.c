/*
 * tests/crash/many.c: sixteen processes append to one session, and any of them may
 * be killed at any moment and started again.
 *
 *	many [--each N] [--kills N] [--seed SEED] file|agents|sqlite|mysql ...
 *
 * Each writer has a file of its own, to which it adds every entry after it was
 * acknowledged. In the end all those entries must be in the session, once, whole,
 * and with a parent; and besides them at most one entry for each writer that was
 * killed.
 *
 *	file     a file, all writers use grove
 *	agents   a file, and four of the writers are agents: they take no lock and
 *	         write whole lines to a descriptor that appends
 *	sqlite   a database
 *	mysql    a server, at $GROVE_TEST_MYSQL
 */
#include "../lib/chance.h"
#include "grove.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../lib/calls.h"

enum { WRITERS = 16, AGENTS = 4 };

static struct {
	char dir[200], home[256], cwd[256], url[400], path[700], id[80];
	bool in_file;
	int agents;                    /* this many of the writers do not use grove */
	long each, kills;
	pid_t pid[WRITERS];
	int begun[WRITERS];
	long failed;                   /* how many errors were found and printed */
} m;

static void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *fmt, ...)
{
	va_list ap;

	if (m.failed++ > 20)
		return;
	printf("FAIL ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_DP || type == FTW_D ? rmdir(path) : unlink(path);
}

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static struct grove *world(void)
{
	const char *stores[] = { m.url };
	struct grove_options o = { .size = sizeof(o), .home = m.home, .cwd = m.cwd,
				   .getenv = no_variables, .stores = m.in_file ? NULL : stores,
				   .nr_stores = m.in_file ? 0 : 1 };
	struct grove *g = NULL;

	if (grove_open(&o, &g)) {
		grove_close(g);
		return NULL;
	}
	return g;
}

/* ------------------------------------------------------------------ writers */

static int log_of(int slot)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/log%d", m.dir, slot);
	return open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
}

/*
 * Returns the number of whole lines; removes a last one that a kill has cut off, which counts as
 * not written.
 */
static long told_so_far(int fd)
{
	char part[65536];
	off_t at = 0, whole = 0;
	ssize_t n;
	long lines = 0;

	while ((n = pread(fd, part, sizeof(part), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (part[i] == '\n') {
				lines++;
				whole = at + i + 1;
			}
		at += n;
	}
	if (whole < at && ftruncate(fd, whole))
		_exit(6);
	return lines;
}

static void tell(int fd, const char *id, const char *words)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%s %s\n", id, words);

	if (write(fd, line, (size_t)n) != n)
		_exit(5);
}

static void pad_of(long i, char *out, size_t cap)
{
	size_t n = (size_t)(i * 37 % 1500);

	n = n < cap ? n : cap - 1;
	memset(out, 'x', n);
	out[n] = '\0';
}

/* Never returns. */
static void write_entries(int slot, int turn)
{
	struct grove_append_options o = { .size = sizeof(o) };
	struct grove *g = world();
	struct grove_session *s = NULL;
	struct grove_detail d;
	int fd = log_of(slot), rc;

	if (!g || (rc = grove_session_open(g, m.id, GROVE_OPEN_WRITE, &s)))
		_exit(2);
	for (long i = told_so_far(fd); i < m.each; i++) {
		char json[2048], words[64], pad[1600];
		const char *id = NULL;

		snprintf(words, sizeof(words), "[%d.%d.%ld]", slot, turn, i);
		pad_of(i, pad, sizeof(pad));
		snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":\"%s%s\"}", words, pad);
		o.sync = i % 64 ? GROVE_SYNC_NONE : GROVE_SYNC_ALWAYS;
		rc = grove_session_append(s, (struct grove_slice){ json, strlen(json) }, &o, INTO(&id));
		if (rc) {
			grove_session_error(s, &d);
			fprintf(stderr, "%s %s: %s\n", words, grove_error_name(rc), d.message);
			_exit(3);
		}
		tell(fd, id, words);
	}
	_exit(0);
}

/* An agent: it keeps the file open and writes to it. */
static void write_lines(int slot, int turn)
{
	int out = open(m.path, O_WRONLY | O_APPEND | O_CLOEXEC), fd = log_of(slot);
	char before[40] = "null";

	for (long i = told_so_far(fd); i < m.each; i++) {
		char line[2300], words[64], pad[1600], id[32];
		int n;

		snprintf(words, sizeof(words), "[%d.%d.%ld]", slot, turn, i);
		snprintf(id, sizeof(id), "agent-%d-%d-%ld", slot, turn, i);
		pad_of(i, pad, sizeof(pad));
		n = snprintf(line, sizeof(line), "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":%s,"
			     "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\","
			     "\"content\":\"%s%s\"}}\n", id, before, words, pad);
		if (write(out, line, (size_t)n) != n)
			_exit(4);
		tell(fd, id, words);
		snprintf(before, sizeof(before), "\"%s\"", id);
		/* a pause, as if the agent were thinking */
		if (i % 8 == 0)
			usleep(500);
	}
	_exit(0);
}

static void begin(int slot)
{
	int turn = m.begun[slot]++;

	fflush(stdout);
	m.pid[slot] = fork();
	if (m.pid[slot] < 0)
		abort();
	if (m.pid[slot])
		return;
	if (slot < m.agents)
		write_lines(slot, turn);
	else
		write_entries(slot, turn);
}

/* ------------------------------------------------------------------- killing */

static int at_work(void)
{
	int nr = 0;

	for (int i = 0; i < WRITERS; i++) {
		int status;

		if (m.pid[i] <= 0)
			continue;
		if (waitpid(m.pid[i], &status, WNOHANG) != m.pid[i]) {
			nr++;
			continue;
		}
		m.pid[i] = 0;
		if (status)
			wrong("writer %d ended with %x", i, (unsigned)status);
	}
	return nr;
}

/* Kills a random writer and starts it again. */
static long kill_one(struct chance *c)
{
	int i = m.agents + (int)chance_below(c, (uint32_t)(WRITERS - m.agents)), status;

	if (m.pid[i] <= 0)
		return 0;
	kill(m.pid[i], SIGKILL);
	if (waitpid(m.pid[i], &status, 0) != m.pid[i])
		abort();
	m.pid[i] = 0;
	/* it may have ended by itself just before */
	if (WIFEXITED(status)) {
		if (WEXITSTATUS(status))
			wrong("writer %d ended with %x", i, (unsigned)status);
		return 0;
	}
	begin(i);
	return 1;
}

static long storm(struct chance *c)
{
	long killed = 0;

	for (int i = 0; i < WRITERS; i++)
		begin(i);
	while (at_work()) {
		usleep(200 + chance_below(c, 3000));
		if (killed < m.kills)
			killed += kill_one(c);
	}
	return killed;
}

/* ------------------------------------------------------------------- looking */

struct told {
	char id[40], words[64];
};

static int by_words(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->words, ((const struct told *)b)->words);
}

static struct told *all_told(size_t *nr)
{
	struct told *t = calloc((size_t)m.each * WRITERS + WRITERS * 64 + (size_t)m.kills, sizeof(*t));

	*nr = 0;
	for (int i = 0; t && i < WRITERS; i++) {
		FILE *f = fdopen(log_of(i), "r");
		char line[200];

		while (f && fgets(line, sizeof(line), f))
			/* a line that a kill has cut off counts as not written */
			if (sscanf(line, "%39s %63s", t[*nr].id, t[*nr].words) == 2 &&
			    t[*nr].words[strlen(t[*nr].words) - 1] == ']')
				++*nr;
		if (f)
			fclose(f);
	}
	if (t)
		qsort(t, *nr, sizeof(*t), by_words);
	return t;
}

/* Finds the mark "[slot.turn.nr]" of a line. */
static bool words_in(const char *line, char out[64])
{
	const char *p = strstr(line, "\"content\":\"["), *end;

	if (!p)
		return false;
	p += strlen("\"content\":\"");
	end = strchr(p, ']');
	if (!end || end - p > 60)
		return false;
	memcpy(out, p, (size_t)(end + 1 - p));
	out[end + 1 - p] = '\0';
	return true;
}

static void look_at(struct grove_view *v, struct told *t, size_t nr, long killed)
{
	struct grove_buf line = GROVE_BUF_INIT;
	bool *seen = calloc(nr + 1, sizeof(*seen));
	size_t others = 0, found = 0;

	for (uint32_t i = 0; seen && i < grove_view_count(v); i++) {
		struct told key, *hit;

		line.len = 0;
		if (grove_view_line(v, i, 0, &line) || !words_in(line.ptr, key.words)) {
			wrong("an entry that nobody wrote: %.100s", line.ptr);
			continue;
		}
		hit = bsearch(&key, t, nr, sizeof(*t), by_words);
		if (!hit) {
			others++;
			continue;
		}
		if (seen[hit - t])
			wrong("%s is there twice", key.words);
		if (find_row(v, hit->id) != i)
			wrong("%s has not the id it was told, %s", key.words, hit->id);
		seen[hit - t] = true;
		found++;
	}
	for (size_t i = 0; seen && i < nr; i++)
		if (!seen[i])
			wrong("%s (%s) was acknowledged, and is gone", t[i].words, t[i].id);
	if (others > (size_t)killed)
		wrong("%zu entries that nobody was told of, but only %ld were killed", others, killed);
	printf("  %zu acknowledged, %zu found, %zu more of those that were killed\n", nr, found, others);
	free(seen);
	grove_buf_release(&line);
}

static int problem(void *payload, const struct grove_problem *p)
{
	uint64_t *torn = payload;

	/* a kill may cut off a long write at the end of a page */
	if (!strcmp(p->kind, "torn") || !strcmp(p->kind, "malformed"))
		++*torn;
	else
		wrong("check: line %llu: %s: %s", (unsigned long long)p->line, p->kind, p->detail);
	return 0;
}

/*
 * A kill may cut off a line at the end of a page. Before grove writes, it ends
 * such a line; an agent continues on the same line, and every reader loses what
 * the agent wrote. The bytes are in the file, and this function recovers them.
 */
static void mend(struct grove *g, long killed)
{
	struct grove_fix_result r = { .size = sizeof(r) };
	int rc = grove_fix(g, m.id, NULL, &r);

	if (rc)
		wrong("check --fix: %s", grove_error_name(rc));
	if (r.changes)
		printf("  %d lines mended\n", (int)r.changes);
	if (r.changes > 2 * (uint64_t)killed)
		wrong("%d lines had to be mended, %ld were killed", (int)r.changes, killed);
}

static void look(long killed)
{
	struct grove_counts n = { .size = sizeof(n) };
	struct grove *g = world();
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct grove_check_result checked = { .size = sizeof(checked) };
	uint64_t torn = 0;
	struct told *t;
	size_t nr;
	int rc;

	if (g && m.agents)
		mend(g, killed);
	rc = g ? grove_session_open(g, m.id, GROVE_OPEN_READ, &s) : GROVE_ENOMEM;
	rc = rc ? rc : grove_session_view(s, &v);
	if (rc) {
		wrong("the session cannot be opened: %s", grove_error_name(rc));
	} else {
		t = all_told(&nr);
		if (nr < (size_t)m.each * WRITERS)
			wrong("only %zu were acknowledged", nr);
		look_at(v, t, nr, killed);
		free(t);
		grove_view_counts(v, &n);
		if (n.orphans || n.cycles || n.duplicates)
			wrong("%d hang nowhere, %d have an id of others", (int)(n.orphans + n.cycles),
			      (int)n.duplicates);
		rc = grove_check(g, m.id, problem, &torn, &checked);
		if (rc)
			wrong("check: %s", grove_error_name(rc));
		if (torn > (uint64_t)killed || n.malformed > torn)
			wrong("%d half lines, %d told, %ld killed", (int)n.malformed, (int)torn, killed);
	}
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
}

/* ------------------------------------------------------------------- a round */

static int set_up(const char *what)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .dialect = "pi" };
	const char *tmp = getenv("TMPDIR"), *server = getenv("GROVE_TEST_MYSQL");
	struct grove_session *s = NULL;
	struct grove_detail d;
	struct grove *g;
	int rc;

	if (!tmp || !*tmp)
		tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(m.dir, sizeof(m.dir), "%s/grove-many-XXXXXX", tmp);
	if (!mkdtemp(m.dir))
		return -1;
	snprintf(m.home, sizeof(m.home), "%s/home", m.dir);
	snprintf(m.cwd, sizeof(m.cwd), "%s/cwd", m.dir);
	if (mkdir(m.home, 0700) || mkdir(m.cwd, 0700))
		return -1;
	m.in_file = !strcmp(what, "file") || !strcmp(what, "agents");
	m.agents = strcmp(what, "agents") ? 0 : AGENTS;
	memset(m.begun, 0, sizeof(m.begun));
	if (!strcmp(what, "sqlite"))
		snprintf(m.url, sizeof(m.url), "sqlite:%s/store.db", m.dir);
	else if (!m.in_file && server)
		snprintf(m.url, sizeof(m.url), "%s", server);
	else if (!m.in_file)
		return 77;
	g = world();
	rc = !g ? GROVE_EINVAL : m.in_file ? 0 : grove_store_init(g, m.url);
	if (!rc)
		rc = grove_session_create(g, &o, &s);
	if (rc && g) {
		grove_error(g, &d);
		wrong("%s: %s", grove_error_name(rc), d.message);
	} else {
		snprintf(m.id, sizeof(m.id), "%s", grove_session_id(s));
		snprintf(m.path, sizeof(m.path), "%s", m.in_file ? grove_session_path(s) : "");
	}
	grove_session_close(s);
	grove_close(g);
	return rc;
}

/* Returns 0 on success, 1 on failure, and 77 if it cannot be tried here. */
static int round_of(const char *what, struct chance *c)
{
	long killed = 0;
	int rc = set_up(what);

	if (rc == 77)
		return 77;
	m.failed = rc ? 1 : 0;
	if (!rc) {
		killed = storm(c);
		printf("%s: %d writers, %ld entries each, %ld killed\n", what, WRITERS, m.each, killed);
		look(killed);
	}
	nftw(m.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return m.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "each", 1, NULL, 'e' }, { "kills", 1, NULL, 'k' },
					       { "seed", 1, NULL, 's' }, { NULL } };
	const char *longer = getenv("GROVE_TEST_LONG");
	struct chance c = chance_begin("many");
	int passed = 0, failed = 0, skipped = 0, o;

	m.each = longer && *longer ? 10000 : 300;
	while ((o = getopt_long(argc, argv, "", longs, NULL)) >= 0)
		switch (o) {
		case 'e': m.each = strtol(optarg, NULL, 10); break;
		case 'k': m.kills = strtol(optarg, NULL, 10); break;
		case 's': c.state = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	if (!m.kills)
		m.kills = m.each / 5;
	for (int i = optind; i < argc; i++) {
		int rc = round_of(argv[i], &c);

		skipped += rc == 77;
		passed += !rc;
		failed += rc == 1;
	}
	if (!passed && !failed)
		return skipped ? 77 : 2;
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
