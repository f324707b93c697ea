/*
 * tests/unit/walk.h: runs acts, and lets each step of an act fail once.
 *
 * Sessions of each agent are prepared, in files and in SQLite. An act is then done
 * once for every place in it where something can fail (tests/lib/places.h), and
 * fails at that place: memory runs out, a system call fails, or a callback returns
 * an error. Code that runs a thousand times in a row fails only once.
 *
 * Every failure must be reported with the right code, and the session must be
 * readable and sound afterwards. Normally a random selection of all places is
 * tried; with GROVE_TEST_LONG or GROVE_WALK_ALL all of them are.
 *
 * Include it once in a program, after cmocka.h. The program has a table of acts
 * and calls walk_main().
 */
#ifndef TESTS_UNIT_WALK_H
#define TESTS_UNIT_WALK_H

#include "../lib/places.h"
#include "../lib/transcript.h"

#include "sys/stamp.h"

/* What a callback returns to end the call. */
#define ENOUGH 77

static int enough(void)
{
	return due(CALLER, "callback") ? ENOUGH : 0;
}

/* -------------------------------------------------------------------- stage */

struct stage {
	char dir[200], first[240], run[240], home[260], cwd[260], db[280], other[280];
	const char *dialect, *session, *id;    /* the file, below home, and an entry in it */
	bool sqlite;
};

static int copied_from;
static char copied_to[300];

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char to[1024], bytes[65536];
	ssize_t n;
	int in, out;

	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copied_to, path + copied_from);
	if (type == FTW_D)
		return mkdir(to, st->st_mode & 0777);
	in = open(path, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st->st_mode & 0777);
	if (in < 0 || out < 0)
		return -1;
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			return -1;
	/* keeps the old time: files that are too new are not cached */
	futimens(out, (const struct timespec[]){ st->st_mtim, st->st_mtim });
	close(in);
	close(out);
	return 0;
}

static void copy_tree(const char *from, const char *to)
{
	own++;
	scratch_remove(to);
	copied_from = (int)strlen(from);
	snprintf(copied_to, sizeof(copied_to), "%s", to);
	assert_int_equal(nftw(from, copy_one, 16, FTW_PHYS), 0);
	own--;
}

static void on_trace(void *payload, const char *line)
{
	(void)payload;
	(void)line;
}

/* Opens the environment, with a cache and a trace or without them. */
static int open_world(const struct stage *st, bool more, struct grove **out)
{
	const char *store = st->db;
	struct grove_options o = { .size = sizeof(o), .home = st->home, .cwd = "/w",
				   .getenv = no_variables, .cache = more ? NULL : "",
				   .stores = st->sqlite ? &store : NULL, .nr_stores = st->sqlite,
				   .trace = more ? on_trace : NULL };

	return grove_open(&o, out);
}

static struct grove *world_of(const struct stage *st, int *rc)
{
	struct grove *g = NULL;
	int got = open_world(st, false, &g);

	if (rc)
		*rc = got;
	else
		assert_int_equal(got, 0);
	return g;
}

/* Returns the name by which the session is opened. */
static const char *name_of(const struct stage *st)
{
	static char path[600];

	if (st->sqlite)
		return strcmp(st->dialect, "claude") ? "s1" : SID;
	snprintf(path, sizeof(path), "%s/%s", st->home, st->session);
	return path;
}

static void lay(const struct stage *st, const char *name, const char *bytes)
{
	char path[700], *slash;

	snprintf(path, sizeof(path), "%s/%s", st->home, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	*slash = '/';
	file_make(path, bytes);
	assert_int_equal(grove__sys_set_mtime(path, 1700000000000000000), 0);
}

/* The result of an act, as a number. */
static uint64_t answer;

static void answered(const char *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		answer = (answer ^ (unsigned char)ptr[i]) * 0x100000001b3u;
}

static void answered_all(const struct grove_buf *b)
{
	answered(b->ptr, b->len);
}

static int sink_write(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	answered(ptr, len);
	return -enough();
}

static const struct grove_sink sink = { sink_write, NULL };

static int on_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return enough();
}

static int on_progress(void *payload, uint64_t done, uint64_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return enough();
}

/* Some agents do not support an act: that counts as success. */
static int or_notsup(int rc)
{
	return rc == GROVE_ENOTSUP ? 0 : rc;
}

struct act {
	const char *name;
	int (*go)(const struct stage *st, struct grove *g);
	bool changes;
	const char *only;              /* for this agent only; NULL: for all */
	bool files;                    /* in files only */
	bool ends;                     /* the session does not exist afterwards */
	/*
	 * It fails, or has the same result as always. A session that the system cannot read
	 * may be skipped.
	 */
	bool same;
	/* Checks what the act left behind: returns 0, or what is wrong. */
	int (*after)(const struct stage *st, struct grove *g);
	int also[KINDS];               /* another code with which it may fail */
};

static const struct act *acts;
static size_t nr_acts;

/* ------------------------------------------------------------------ the walk */

static int perform(struct stage *st, size_t a, struct grove_detail *d)
{
	struct grove *g;
	int rc;

	answer = 0;
	if (acts[a].changes)
		copy_tree(st->first, st->run);
	g = world_of(st, &rc);
	if (g)
		grove_set_progress(g, (struct grove_progress){ on_progress, NULL });
	if (!rc)
		rc = acts[a].go(st, g);
	own++;
	d->message[0] = '\0';
	if (g)
		grove_error(g, d);
	own--;
	grove_close(g);
	return rc;
}

/* One of so many places is tried, unless there is enough time. */
#define SHARE 16

static struct chance chance;
static uint32_t share = SHARE;
static unsigned tried, wrong;

static void print_callers(void)
{
	for (int i = 0; i < now.depth; i++)
		print_error("\t%p\n", now.by[i]);
}

static void judge(const struct stage *st, size_t a, enum kind kind, int rc, const struct grove_detail *d)
{
	static const int told[KINDS][8] = {
		[MEMORY] = { GROVE_ENOMEM },
		[SYSTEM] = { GROVE_EIO, GROVE_EACCESS, GROVE_EFULL },
		[CALLER] = { ENOUGH, -ENOUGH, GROVE_ECANCELLED },
	};

	/* after a change that could not be read again, the end of the log is unknown */
	if (!rc || (rc == GROVE_EIO && acts[a].changes) || rc == acts[a].also[kind])
		return;
	for (size_t i = 0; i < 8 && told[kind][i]; i++)
		if (told[kind][i] == rc)
			return;
	wrong++;
	print_error("%s of %s in %s: %s fails (%s): %s (%d): %s\n", acts[a].name, st->dialect,
		    st->sqlite ? "SQLite" : "files", kind_names[kind], now.call, grove_error_name(rc), rc,
		    d->message);
	print_callers();
}

/* Checks that whoever opens the session after a failure can read and check it. */
static void look_afterwards(const struct stage *st, size_t a)
{
	const char *id = strcmp(st->dialect, "claude") ? "s1" : SID;
	struct grove *g = world_of(st, NULL);
	struct grove_session *s;
	struct grove_view *v = NULL;
	int rc = grove_session_open(g, id, GROVE_OPEN_READ, &s);

	rc = rc ? rc : grove_session_view(s, &v);
	if (!rc && grove_view_count(v) < 5)
		rc = GROVE_EDAMAGED;
	grove_view_unref(v);
	grove_session_close(s);
	rc = rc ? rc : grove_check(g, NULL, on_problem, NULL, NULL);
	if (!rc && acts[a].after)
		rc = acts[a].after(st, g);
	if (rc && !acts[a].ends) {
		wrong++;
		print_error("%s of %s in %s: after %s failed: %s\n", acts[a].name, st->dialect,
			    st->sqlite ? "SQLite" : "files", now.call, grove_error_name(rc));
	}
	grove_close(g);
}

static void walk(struct stage *st, size_t a, enum kind kind)
{
	struct grove_detail d;
	size_t from = now.nr, upto;
	uint64_t whole;
	int rc;

	now.kind = kind;
	now.count = 0;
	now.noting = true;
	rc = perform(st, a, &d);
	now.noting = false;
	if (rc) {
		wrong++;
		print_error("%s of %s in %s: %s: %s\n", acts[a].name, st->dialect,
			    st->sqlite ? "SQLite" : "files", grove_error_name(rc), d.message);
		return;
	}
	upto = now.nr;
	whole = answer;
	for (size_t i = from; i < upto; i++) {
		/* there are few callbacks: all of them are tried */
		if (kind != CALLER && chance_below(&chance, share))
			continue;
		tried++;
		now.target = now.first[i];
		now.count = 0;
		now.happened = false;
		now.failing = true;
		rc = perform(st, a, &d);
		now.failing = false;
		if (now.happened && acts[a].changes)
			look_afterwards(st, a);
		if (now.happened && !rc && acts[a].same && kind != SYSTEM && answer != whole) {
			wrong++;
			print_error("%s of %s in %s: another answer when %s failed\n", acts[a].name, st->dialect,
				    st->sqlite ? "SQLite" : "files", now.call);
			print_callers();
		} else if (now.happened)
			judge(st, a, kind, rc, &d);
		else if (rc)
			print_error("%s of %s in %s: %s, and nothing failed: %s\n", acts[a].name, st->dialect,
				    st->sqlite ? "SQLite" : "files", grove_error_name(rc), d.message);
	}
}

/* ------------------------------------------------------------------ the worlds */

#define TS ",\"timestamp\":\"2026-01-01T00:00:01.000Z\""
#define USAGE ",\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":0,\"cacheWrite\":0,\"cost\":{\"total\":0.5}}"
#define TURNS \
	ENTRY("u1", "null", "user", "one \\u00e9 two") \
	"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"u1\"" TS ",\"message\":{\"role\":\"assistant\",\"content\":[" \
	"{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"yes\"},{\"type\":\"toolCall\",\"id\":\"t1\"," \
	"\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}],\"provider\":\"p\",\"model\":\"m\"" USAGE ",\"timestamp\":2}}\n" \
	"{\"type\":\"message\",\"id\":\"r1\",\"parentId\":\"a1\"" TS ",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t1\"," \
	"\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"file\"}],\"isError\":false}}\n" \
	"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"r1\"" TS ",\"targetId\":\"u1\",\"label\":\"here\"}\n" \
	"{\"type\":\"thinking_level_change\",\"id\":\"h1\",\"parentId\":\"l1\"" TS ",\"thinkingLevel\":\"high\"}\n" \
	ENTRY("u2", "\"h1\"", "user", "more") \
	"{\"type\":\"compaction\",\"id\":\"k1\",\"parentId\":\"u2\"" TS ",\"summary\":\"so far\",\"firstKeptEntryId\":\"u2\"," \
	"\"tokensBefore\":9}\n" \
	ENTRY("u3", "\"k1\"", "user", "again") ENTRY("u4", "\"a1\"", "user", "a branch") \
	"{\"type\":\"branch_summary\",\"id\":\"b1\",\"parentId\":\"u4\"" TS ",\"fromId\":\"u3\",\"summary\":\"was there\"}\n"
#define TITLED "{\"type\":\"session\",\"version\":3,\"id\":\"s1\"" TS ",\"cwd\":\"/w\",\"title\":\"t\",\"titleSource\":\"user\"}\n"
#define MODEL "{\"type\":\"model_change\",\"id\":\"m1\",\"parentId\":\"b1\"" TS ",\"model\":\"p/m\"}\n"
/* Lines that check reports and fix repairs: an orphan, an id that occurs twice, half a line. */
#define DAMAGE \
	"{\"type\":\"session\",\"version\":3,\"id\":\"s2\"" TS ",\"cwd\":\"/w\",\"parentSession\":\"s1\"}\n" \
	ENTRY("u1", "null", "user", "one") "not json\n" ENTRY("u1", "\"u1\"", "user", "twice") \
	ENTRY("o1", "\"gone\"", "user", "orphan") \
	"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"u1\"" TS ",\"targetId\":\"nobody\",\"label\":\"x\"}\n" \
	"{\"type\":\"message\",\"id\":\"h"

/* Version 1, without ids. */
#define OLD \
	"{\"type\":\"session\",\"id\":\"s3\"" TS ",\"cwd\":\"/w\",\"provider\":\"p\",\"modelId\":\"m\"}\n" \
	"{\"type\":\"message\"" TS ",\"message\":{\"role\":\"user\",\"content\":\"old\"}}\n" \
	"{\"type\":\"message\"" TS ",\"message\":{\"role\":\"hookMessage\",\"content\":\"older\"}}\n" \
	"{\"type\":\"compaction\"" TS ",\"summary\":\"s\",\"firstKeptEntryIndex\":1,\"tokensBefore\":1}\n"

static const struct {
	const char *dialect, *dir, *id, *first, *second;
} worlds[] = {
	{ "pi", ".pi/agent/sessions/--w--/", "u1", HEADER TURNS
	  "{\"type\":\"session_info\",\"id\":\"n1\",\"parentId\":\"b1\"" TS ",\"name\":\"its name\"}\n", DAMAGE },
	{ "xcsh", ".xcsh/agent/sessions/--w--/", "u1", TITLED TURNS MODEL, DAMAGE },
	{ "omp", ".omp/agent/sessions/--w--/", "u1", TITLED TURNS MODEL, DAMAGE },
	{ "claude", ".claude/projects/-w/", "u1", TWO_WAYS
	  RECORD("assistant", "a4", "\"a3\"", "7",
		 "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}]") "\n"
	  RECORD("user", "r4", "\"a4\"", "8",
		 "[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"x\"}]") "\n"
	  NOTE("custom-title", "customTitle", "its name"),
	  FIRST "not json\n" LINE("user", "u9", "\"gone\"", "3") "{\"type\":\"us" },
};

static void begin_history(const struct stage *st)
{
	struct grove *g = world_of(st, NULL);
	struct grove_history *h;
	char path[300];

	snprintf(path, sizeof(path), "%s/history.db", st->run);
	assert_int_equal(grove_history_open(g, path, &h), 0);
	assert_int_equal(grove_history_add(h, text("an older prompt"), "/w", "s1"), 0);
	assert_int_equal(grove_history_flush(h), 0);
	grove_history_close(h);
	grove_close(g);
}

/*
 * Creates a blob that is referred to, one that is not, one with wrong content; another is missing.
 */
static void add_blobs(const struct stage *st, const char *session, const char *lines)
{
	static const char image[] = "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"u1\"" TS
		",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"%s\","
		"\"mimeType\":\"image/png\"}]}}\n";
	struct grove *g = world_of(st, NULL);
	char ref[GROVE_BLOB_REF_MAX], bytes[9000], dir[300], wrong_one[400];
	struct grove_blobs *b;
	int n;

	snprintf(dir, sizeof(dir), "%s/.%s/agent/blobs", st->home, st->dialect);
	assert_int_equal(grove_blobs_open(g, dir, &b), 0);
	assert_int_equal(grove_blobs_put(b, text("nobody names it"), NULL, ref, NULL), 0);
	assert_int_equal(grove_blobs_put(b, text("an image"), NULL, ref, NULL), 0);
	n = snprintf(bytes, sizeof(bytes), "%s", lines);
	n += snprintf(bytes + n, sizeof(bytes) - n, image, "i1", ref);
	snprintf(bytes + n, sizeof(bytes) - n, image, "i2",
		 "blob:sha256:0000000000000000000000000000000000000000000000000000000000000001");
	lay(st, session, bytes);
	snprintf(wrong_one, sizeof(wrong_one),
		 ".%s/agent/blobs/0000000000000000000000000000000000000000000000000000000000000002", st->dialect);
	lay(st, wrong_one, "other bytes");
	grove_blobs_close(b);
	grove_close(g);
}

/*
 * Creates everything that one agent has, in files; with `sqlite` all of it is in a database, too.
 */
static void furnish(struct stage *st, size_t i, bool sqlite)
{
	bool claude = !strcmp(worlds[i].dialect, "claude");
	static char session[300];
	char path[600], from[600];
	struct grove *g;

	st->dialect = worlds[i].dialect;
	st->id = worlds[i].id;
	st->sqlite = false;
	snprintf(session, sizeof(session), "%s%s", worlds[i].dir,
		 claude ? SID ".jsonl" : "2026-01-01T00-00-00-000Z_s1.jsonl");
	st->session = session;
	scratch_remove(st->run);
	assert_int_equal(mkdir(st->run, 0700), 0);
	assert_int_equal(mkdir(st->home, 0700), 0);
	assert_int_equal(mkdir(st->cwd, 0700), 0);
	lay(st, session, worlds[i].first);
	snprintf(path, sizeof(path), "%s%s", worlds[i].dir,
		 claude ? "12121212-2222-4333-8444-555555555555.jsonl" : "2026-01-01T00-00-00-000Z_s2.jsonl");
	lay(st, path, worlds[i].second);
	if (claude) {
		snprintf(path, sizeof(path), "%s" SID "/subagents/agent-x1.jsonl", worlds[i].dir);
		lay(st, path, FIRST);
		snprintf(path, sizeof(path), "%s" SID "/subagents/agent-x1.meta.json", worlds[i].dir);
		lay(st, path, "{\"agentType\":\"x\",\"description\":\"d\"}");
		snprintf(path, sizeof(path), "%s" SID "/tool-results/t1.txt", worlds[i].dir);
		lay(st, path, "printed");
		lay(st, ".claude/file-history/" SID "/aa@v1", "before");
		lay(st, ".claude/settings.json", "{\"cleanupPeriodDays\":30}");
	} else if (i) {
		snprintf(path, sizeof(path), "%.*s/0.bash.log", (int)(strlen(session) - 6), session);
		lay(st, path, "printed");
	}
	if (!claude) {
		snprintf(path, sizeof(path), "%s2025-01-01T00-00-00-000Z_s3.jsonl", worlds[i].dir);
		lay(st, path, OLD);
	}
	if (!strcmp(st->dialect, "xcsh"))
		begin_history(st);
	if (i == 1 || i == 2)
		add_blobs(st, session, worlds[i].first);
	if (sqlite) {
		g = world_of(st, NULL);
		snprintf(from, sizeof(from), "%s/%s", st->home, worlds[i].dir);
		*strrchr(from, '/') = '\0';
		*strrchr(from, '/') = '\0';
		assert_int_equal(grove_store_init(g, st->db), 0);
		assert_int_equal(grove_store_copy(g, from, st->db, NULL, NULL, NULL), 0);
		grove_close(g);
		scratch_remove(st->home);
		assert_int_equal(mkdir(st->home, 0700), 0);
	}
	copy_tree(st->run, st->first);
	st->sqlite = sqlite;
}

static void walk_all(void **state, bool sqlite, enum kind kind)
{
	struct stage *st = *state;
	size_t before = now.nr;

	tried = wrong = 0;

	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		furnish(st, i, sqlite);
		for (size_t a = 0; a < nr_acts; a++) {
			if ((acts[a].only && strcmp(acts[a].only, worlds[i].dialect)) ||
			    (acts[a].files && sqlite))
				continue;
			copy_tree(st->first, st->run);
			walk(st, a, kind);
		}
	}
	print_message("# %u of %zu places\n", tried, now.nr - before);
	/* in a database, callbacks may be called from the same places as with files */
	assert_true(tried > 0 || now.nr == before);
	assert_int_equal(wrong, 0);
}

static void memory_runs_out_in_files(void **state)
{
	walk_all(state, false, MEMORY);
}

static void the_system_fails_under_files(void **state)
{
	walk_all(state, false, SYSTEM);
}

static void the_caller_has_enough_of_files(void **state)
{
	walk_all(state, false, CALLER);
}

static void memory_runs_out_in_a_database(void **state)
{
	walk_all(state, true, MEMORY);
}

static void the_system_fails_under_a_database(void **state)
{
	walk_all(state, true, SYSTEM);
}

static void the_caller_has_enough_of_a_database(void **state)
{
	walk_all(state, true, CALLER);
}

static int set_up(void **state)
{
	struct stage *st = calloc(1, sizeof(*st));

	assert_non_null(st);
	scratch_prefer_memory();
	scratch_make(st->dir, sizeof(st->dir));
	snprintf(st->first, sizeof(st->first), "%s/first", st->dir);
	snprintf(st->run, sizeof(st->run), "%s/run", st->dir);
	snprintf(st->home, sizeof(st->home), "%s/home", st->run);
	snprintf(st->cwd, sizeof(st->cwd), "%s/w", st->run);
	snprintf(st->db, sizeof(st->db), "sqlite:%s/store.db", st->run);
	snprintf(st->other, sizeof(st->other), "file:%s/other", st->run);
	grove__sys_fault = fault_ask;
	*state = st;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *st = *state;

	grove__sys_fault = NULL;
	now.noting = now.failing = false;
	scratch_remove(st->dir);
	free(st);
	return 0;
}

#define STAGED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static int walk_main(const char *seed, const struct act *all_acts, size_t nr)
{
	const struct CMUnitTest tests[] = {
		STAGED(memory_runs_out_in_files),
		STAGED(the_system_fails_under_files),
		STAGED(the_caller_has_enough_of_files),
		STAGED(memory_runs_out_in_a_database),
		STAGED(the_system_fails_under_a_database),
		STAGED(the_caller_has_enough_of_a_database),
	};
	const char *all = getenv("GROVE_TEST_LONG");

	acts = all_acts;
	nr_acts = nr;
	if (!all || !*all)
		all = getenv("GROVE_WALK_ALL");
	if (all && *all)
		share = 1;
	chance = chance_begin(seed);
	shim_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
