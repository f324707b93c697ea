/*
 * tests/unit/test_recent.c: "last" means the first session that a list shows,
 * and the session with which the agent would continue is chosen from the same
 * sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/session.h"
#include "../lib/chance.h"
#include "../lib/world.h"

static const char *const roots[] = { ".pi/agent/sessions", ".omp/agent/sessions", ".xcsh/agent/sessions",
				     ".claude/projects" };
static const char *const agents[] = { "pi", "omp", "xcsh", "claude" };
enum { CLAUDE = 3, AGENTS = 4 };

static void make_dirs(const char *path)
{
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
}

static void set_time(const char *path, int64_t ns)
{
	struct timespec t[2];

	t[0].tv_sec = t[1].tv_sec = ns / 1000000000;
	t[0].tv_nsec = t[1].tv_nsec = ns % 1000000000;
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* Half of them at times that others have, too. */
static int64_t some_time(struct chance *c)
{
	int64_t ms = 1790000000000 + chance_below(c, 4);

	return chance_below(c, 2) ? ms * 1000000 : ms * 1000000 + chance_below(c, 1000000);
}

static void add_time(struct grove_buf *b, struct chance *c)
{
	grove__buf_addf(b, "\"timestamp\":\"2026-09-%02uT00:00:00.%03uZ\"", 1 + chance_below(c, 3),
			chance_below(c, 3));
}

/* A header, if anything is one, and messages. */
static void write_tree(struct grove_buf *b, struct chance *c, const char *id, const char *cwd)
{
	grove__buf_addf(b, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",", id);
	add_time(b, c);
	if (cwd)
		grove__buf_addf(b, ",\"cwd\":\"%s\"", cwd);
	grove__buf_add_str(b, "}\n");
	for (unsigned i = 0, n = chance_below(c, 3); i < n; i++) {
		grove__buf_addf(b, "{\"type\":\"message\",\"id\":\"0000000%u\",\"parentId\":null,", i);
		add_time(b, c);
		grove__buf_add_str(b, ",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
	}
}

static void write_record(struct grove_buf *b, struct chance *c, unsigned nr, const char *cwd, bool side)
{
	grove__buf_addf(b, "{\"type\":\"user\",\"uuid\":\"%08x-0000-4000-8000-000000000000\",\"parentUuid\":null,"
			   "\"isSidechain\":%s,", nr, side ? "true" : "false");
	add_time(b, c);
	if (cwd)
		grove__buf_addf(b, ",\"cwd\":\"%s\"", cwd);
	grove__buf_add_str(b, ",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
}

/* What the program leaves in its directory, whether it is a conversation or not. */
static void write_claude(struct grove_buf *b, struct chance *c, const char *cwd, const char *other,
			 unsigned last)
{
	static const char *const lines[] = {
		"{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n",
		"{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"x\"}\n",
		"{\"type\":\"last-prompt\",\"lastPrompt\":\"p\",\"sessionId\":\"s\"}\n",
		"{\"type\":\"custom-title\",\"customTitle\":\"t\",\"sessionId\":\"s\"}\n",
	};

	for (unsigned i = 0, n = 1 + chance_below(c, 4); i < n; i++)
		switch (chance_below(c, 6)) {
		case 0:
		case 1:
			write_record(b, c, i, cwd, false);
			break;
		case 2:
			write_record(b, c, i, cwd, true);
			break;
		case 3:
			grove__buf_addf(b, "{\"type\":\"relocated\",\"relocatedCwd\":\"%s\",\"sessionId\":\"s\"}\n", other);
			break;
		case 4:
			grove__buf_addf(b, "{\"type\":\"continued-in\",\"continuedInSessionId\":"
					   "\"%08x-0000-4000-8000-000000000000\",\"sessionId\":\"s\"}\n", last);
			break;
		default:
			grove__buf_add_str(b, lines[chance_below(c, 4)]);
		}
}

/* The name of a directory's sessions, or of none. */
static void some_project(struct world *w, struct chance *c, unsigned agent, const char *cwd,
			 struct grove_buf *out)
{
	const struct grove__dialect *dialect = grove__dialect_find(agents[agent]);

	if (!chance_below(c, 5))
		grove__buf_add_str(out, "odd");
	else
		assert_int_equal(dialect->paths.project(&w->g->env, cwd, out), 0);
}

static void some_session(struct world *w, struct chance *c, unsigned nr)
{
	unsigned agent = chance_below(c, AGENTS);
	const char *other = in_world(w, "other");
	const char *cwds[] = { w->cwd, w->cwd, w->cwd, other, NULL };
	const char *cwd = cwds[chance_below(c, 5)];
	struct grove_buf path = GROVE_BUF_INIT, bytes = GROVE_BUF_INIT;
	char id[64];

	snprintf(id, sizeof(id), "%08x-0000-4000-8000-000000000000", nr);
	grove__buf_addf(&path, "%s/%s/", w->home, roots[agent]);
	some_project(w, c, agent, chance_below(c, 4) ? w->cwd : other, &path);
	make_dirs(path.ptr);
	grove__buf_addf(&path, agent == CLAUDE ? "/%s.jsonl" : "/2026-09-01T00-00-00-000Z_%s.jsonl", id);
	if (!chance_below(c, 12))
		grove__buf_add_str(&bytes, chance_below(c, 2) ? "" : "no session\n");
	else if (agent == CLAUDE)
		write_claude(&bytes, c, cwd, chance_below(c, 2) ? w->cwd : other, nr ? nr - 1 : 0);
	else
		write_tree(&bytes, c, id, cwd);
	file_put(path.ptr, O_CREAT | O_TRUNC, bytes.ptr ? bytes.ptr : "", bytes.len);
	set_time(path.ptr, some_time(c));
	grove__buf_release(&path);
	grove__buf_release(&bytes);
}

/* The first row of a list of the current directory is the last session. */
static void assert_agree(struct grove *g)
{
	struct grove_list_options opt = { .size = sizeof(opt) };
	struct grove_session *s;
	struct grove_list *l;
	int rc;

	assert_int_equal(grove_list(g, &opt, &l), 0);
	rc = grove_session_open(g, "last", 0, &s);
	if (!grove_list_count(l)) {
		assert_int_equal(rc, GROVE_ENOTFOUND);
	} else {
		const struct grove_list_item *first = grove_list_at(l, 0);

		assert_int_equal(rc, 0);
		assert_string_equal(grove_session_id(s), first->id);
		assert_string_equal(grove_session_agent(s), first->agent);
		if (*first->path)
			assert_string_equal(grove_session_path(s), first->path);
	}
	grove_session_close(s);
	grove_list_free(l);
}

/* oh-my-pi continues no session in which nobody spoke, unless it has a name. */
static bool is_unused(const struct grove_list_item *x)
{
	return !strcmp(x->agent, "omp") && !x->message_count && !x->name;
}

/* An agent takes one of those in the list, of which no file is newer. */
static void assert_goes_on(struct grove *g)
{
	struct grove_list_options opt = { .size = sizeof(opt) };
	const struct grove_list_item *found = NULL;
	struct grove_session *s;
	struct grove_list *l;
	int64_t newest = INT64_MIN;
	const char *path;

	assert_int_equal(grove_list(g, &opt, &l), 0);
	assert_int_equal(grove_session_open_recent(g, NULL, &s), 0);
	path = grove_session_path(s);
	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *x = grove_list_at(l, i);

		if (x->file_time_ns > newest && !is_unused(x))
			newest = x->file_time_ns;
		if (path && !strcmp(x->path, path))
			found = x;
	}
	if (newest != INT64_MIN) {
		assert_non_null(found);
		assert_int_equal(found->file_time_ns, newest);
	}
	grove_session_close(s);
	grove_list_free(l);
}

static struct grove *other_grove(struct world *w, const char *store)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = "" };
	struct grove *g;

	o.stores = &store;
	o.nr_stores = store ? 1 : 0;
	assert_int_equal(grove_open(&o, &g), 0);
	g->env.tty = NULL;
	return g;
}

static void assert_store_agrees(struct world *w, const char *store)
{
	struct grove *g = other_grove(w, store);

	assert_agree(g);
	grove_close(g);
}

static void check_world(struct world *w)
{
	char store[8192], db[8192];

	w->g->env.tty = NULL;
	assert_agree(w->g);
	assert_goes_on(w->g);
	snprintf(db, sizeof(db), "sqlite:%s/all.db", w->dir);
	for (unsigned i = 0; i < AGENTS; i++) {
		snprintf(store, sizeof(store), "%s/%s", w->home, roots[i]);
		make_dirs(store);
		assert_store_agrees(w, store);
		assert_int_equal(grove_store_copy(w->g, store, db, NULL, NULL, NULL), 0);
	}
	assert_store_agrees(w, db);
}

static void last_is_the_first_row_of_a_list(void **state)
{
	struct chance c = chance_begin("worlds");

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		void *own = NULL;
		unsigned nr = chance_below(&c, 14);

		world_setup(&own);
		for (unsigned i = 0; i < nr; i++)
			some_session(own, &c, i);
		check_world(own);
		world_teardown(&own);
	}
}

static void put_omp(struct world *w, const char *id, const char *lines, int64_t ms)
{
	struct grove_buf path = GROVE_BUF_INIT, bytes = GROVE_BUF_INIT;

	grove__buf_addf(&path, "%s/.omp/agent/sessions/", w->home);
	assert_int_equal(grove__dialect_find("omp")->paths.project(&w->g->env, w->cwd, &path), 0);
	make_dirs(path.ptr);
	grove__buf_addf(&path, "/2026-09-01T00-00-00-000Z_%s.jsonl", id);
	grove__buf_addf(&bytes, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":"
				"\"2026-09-01T00:00:00.000Z\",\"cwd\":\"%s\"}\n%s", id, w->cwd, lines);
	file_put(path.ptr, O_CREAT | O_TRUNC, bytes.ptr, bytes.len);
	set_time(path.ptr, ms * 1000000);
	grove__buf_release(&path);
	grove__buf_release(&bytes);
}

static void assert_continues(struct world *w, const char *id)
{
	struct grove_session *s;
	struct grove *g = world_grove(w);

	g->env.tty = NULL;
	assert_int_equal(grove_session_open_recent(g, NULL, &s), 0);
	if (id)
		assert_string_equal(grove_session_id(s), id);
	else
		assert_true(strncmp(grove_session_id(s), "00000000", 8));
	grove_session_close(s);
	grove_close(g);
}

#define OMP_ENTRY(type, more) "{\"type\":\"" type "\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":" \
	"\"2026-09-01T00:00:00.000Z\"" more "}\n"

static void oh_my_pi_continues_what_was_used(void **state)
{
	struct world *w = *state;

	put_omp(w, "00000000-0000-7000-8000-000000000001", "", 1000);
	assert_continues(w, NULL);
	put_omp(w, "00000000-0000-7000-8000-000000000002",
		OMP_ENTRY("message", ",\"message\":{\"role\":\"user\",\"content\":\"x\"}"), 1001);
	put_omp(w, "00000000-0000-7000-8000-000000000003",
		OMP_ENTRY("thinking_level_change", ",\"thinkingLevel\":\"low\""), 1002);
	assert_continues(w, "00000000-0000-7000-8000-000000000002");
	put_omp(w, "00000000-0000-7000-8000-000000000004",
		OMP_ENTRY("compaction", ",\"summary\":\"s\",\"shortSummary\":\"named\",\"firstKeptEntryId\":\"\""), 1003);
	assert_continues(w, "00000000-0000-7000-8000-000000000004");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(oh_my_pi_continues_what_was_used),
		cmocka_unit_test(last_is_the_first_row_of_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
