/*
 * tests/unit/test_last_session.c: the note of the last session that was used in
 * a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialect/xcsh.h"
#include "session/session.h"
#include "../lib/scratch.h"

/* ------------------------------------------------------------------ names */

static const char *lookup(void *payload, const char *name)
{
	for (const char *const *p = payload; p && *p; p += 2)
		if (!strcmp(p[0], name))
			return p[1];
	return NULL;
}

static void assert_terminal(const char *tty, const char *const *variables, const char *want)
{
	struct grove__env env = { .home = "/h", .cwd = "/", .getenv = lookup,
				  .getenv_payload = (void *)(uintptr_t)variables, .tty = tty };
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__xcsh_terminal(&env, &b), want ? 0 : 1);
	if (want)
		assert_string_equal(b.ptr, want);
	grove__buf_release(&b);
}

static void a_terminal_has_a_name(void **state)
{
	static const char *const all[] = { "WT_SESSION", "w", "TERM_SESSION_ID", "t", "TMUX_PANE", "%3",
					   "KITTY_WINDOW_ID", "7", NULL };
	static const char *const tmux[] = { "WT_SESSION", "w", "KITTY_WINDOW_ID", "", "TMUX_PANE", "%3",
					    NULL };
	static const char *const apple[] = { "WT_SESSION", "w", "TERM_SESSION_ID", "w0:A-B", NULL };
	static const char *const wt[] = { "WT_SESSION", "guid", NULL };
	static const char *const bad[] = { "KITTY_WINDOW_ID", "../../x", NULL };

	(void)state;
	assert_terminal("/dev/pts/3", all, "pts-3");
	assert_terminal("/dev/tty1", NULL, "tty1");
	assert_terminal("/elsewhere/pts/3", all, "kitty-7");
	assert_terminal("/dev/", all, "kitty-7");
	assert_terminal(NULL, all, "kitty-7");
	assert_terminal(NULL, tmux, "tmux-%3");
	assert_terminal(NULL, apple, "apple-w0:A-B");
	assert_terminal(NULL, wt, "wt-guid");
	assert_terminal(NULL, bad, NULL);
	assert_terminal(NULL, NULL, NULL);
}

static void assert_parse(const char *text, const char *cwd, const char *path)
{
	struct grove_slice a, b;
	bool ok = grove__xcsh_crumb_parse(grove__slice_str(text), &a, &b);

	assert_int_equal(ok, cwd != NULL);
	if (!cwd)
		return;
	assert_int_equal(a.len, strlen(cwd));
	assert_memory_equal(a.ptr, cwd, a.len);
	assert_int_equal(b.len, strlen(path));
	assert_memory_equal(b.ptr, path, b.len);
}

static void a_note_is_two_lines_or_more(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__xcsh_crumb_compose("/w", "/s/x.jsonl", &b), 0);
	assert_string_equal(b.ptr, "/w\n/s/x.jsonl\n");
	grove__buf_release(&b);
	assert_parse("/w\n/s/x.jsonl\n", "/w", "/s/x.jsonl");
	assert_parse("\n /w\n/s/x.jsonl", "/w", "/s/x.jsonl");
	assert_parse("/w\n/s/x.jsonl\nfresh\ncwdstat 1 2\n", "/w", "/s/x.jsonl");
	assert_parse("/w\n\n/s/x.jsonl\n", NULL, NULL);
	assert_parse("/w\n", NULL, NULL);
	assert_parse("", NULL, NULL);
}

/* ------------------------------------------------------------ in a world */

struct world {
	char dir[4000];
	struct grove *g;
};

static const char *const kitty[] = { "KITTY_WINDOW_ID", "7", NULL };

static struct grove *open_world(struct world *w, const char *const *variables)
{
	struct grove_options o = { .size = sizeof(o), .cwd = "/w/p", .home = w->dir, .getenv = lookup,
				   .getenv_payload = (void *)(uintptr_t)variables };

	assert_int_equal(grove_open(&o, &w->g), 0);
	/* whatever terminal the tests run in */
	w->g->env.tty = NULL;
	return w->g;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	open_world(w, kitty);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void put_file(const struct world *w, const char *name, const char *text)
{
	char path[5000];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	for (char *p = path + strlen(w->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	file_make(path, text);
}

#define HEADER(id) "{\"type\":\"session\",\"version\":3,\"id\":\"" id "\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w/p\"}\n"
#define SESSIONS ".xcsh/agent/sessions/--w-p--/"
#define CRUMB ".xcsh/agent/terminal-sessions/kitty-7"

static void note(const struct world *w, const char *cwd, const char *session)
{
	char text[9000];

	snprintf(text, sizeof(text), "%s\n%s/%s\n", cwd, w->dir, session);
	put_file(w, CRUMB, text);
}

static int read_note(struct world *w, char *id, size_t size)
{
	struct grove__where at;
	struct grove_detail d;
	int64_t time;
	int rc;

	grove__fail_clear(&d);
	rc = grove__last_session_read(w->g, &grove__dialect_xcsh, "/w/p", &at, &time, &d);
	if (!rc) {
		snprintf(id, size, "%s/%s", at.agent, at.session);
		grove__where_release(&at);
	}
	return rc;
}

static void a_note_leads_to_its_session(void **state)
{
	struct world *w = *state;
	char got[300];

	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	put_file(w, SESSIONS "a.jsonl", HEADER("a"));
	note(w, "/w/p", SESSIONS "a.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 0);
	assert_string_equal(got, "xcsh/a.jsonl");
	note(w, "/w/x/../p/", SESSIONS "a.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 0);
	/* a session kept elsewhere is still the agent's that noted it */
	put_file(w, "elsewhere/b.jsonl", HEADER("b"));
	note(w, "/w/p", "elsewhere/b.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 0);
	assert_string_equal(got, "xcsh/b.jsonl");
}

static void a_stale_note_is_none(void **state)
{
	struct world *w = *state;
	char got[300], path[4200];

	put_file(w, SESSIONS "a.jsonl", HEADER("a"));
	note(w, "/w/other", SESSIONS "a.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	note(w, "/w/p", SESSIONS "gone.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	note(w, "/w/p", ".xcsh/agent/sessions/--w-p--");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	put_file(w, SESSIONS "bad.jsonl", "garbage\n");
	note(w, "/w/p", SESSIONS "bad.jsonl");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	put_file(w, CRUMB, "/w/p\na.jsonl\n");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	put_file(w, CRUMB, "");
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
	snprintf(path, sizeof(path), "%s/" CRUMB, w->dir);
	unlink(path);
	mkdir(path, 0700);
	assert_int_equal(read_note(w, got, sizeof(got)), 1);
}

static void a_note_is_written_whole(void **state)
{
	struct world *w = *state;
	struct grove_detail d;
	char path[4200];

	grove__fail_clear(&d);
	assert_int_equal(grove__last_session_write(w->g, &grove__dialect_xcsh, "/w/p", "/s/1.jsonl", &d), 0);
	assert_int_equal(grove__last_session_write(w->g, &grove__dialect_xcsh, "/w/p", "/s/2.jsonl", &d), 0);
	snprintf(path, sizeof(path), "%s/" CRUMB, w->dir);
	assert_file(path, "/w/p\n/s/2.jsonl\n");
	*strrchr(path, '/') = '\0';
	assert_dir(path, "kitty-7 ");
	/* pi leaves none */
	assert_int_equal(grove__last_session_write(w->g, &grove__dialect_pi, "/w/p", "/s/2.jsonl", &d), 1);
}

static void without_a_terminal_there_is_no_note(void **state)
{
	static const char *const none[] = { NULL };
	struct world *w = *state;
	struct grove_detail d;
	char path[4200];

	grove_close(w->g);
	open_world(w, none);
	grove__fail_clear(&d);
	assert_int_equal(grove__last_session_write(w->g, &grove__dialect_xcsh, "/w/p", "/s/1.jsonl", &d), 1);
	snprintf(path, sizeof(path), "%s/.xcsh", w->dir);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void what_cannot_be_written_is_told(void **state)
{
	struct world *w = *state;
	struct grove_detail d;

	put_file(w, ".xcsh/agent/terminal-sessions", "a file");
	grove__fail_clear(&d);
	assert_true(grove__last_session_write(w->g, &grove__dialect_xcsh, "/w/p", "/s/1.jsonl", &d) < 0);
	assert_int_not_equal(d.code, 0);
}

static void a_live_session_leaves_a_note(void **state)
{
	struct grove_create_options opt = { .size = sizeof(opt), .dialect = "xcsh", .flags = GROVE_CREATE_NOW };
	struct world *w = *state;
	struct grove_session *s;
	struct grove__where at;
	struct grove_detail d;

	assert_int_equal(grove_session_create(w->g, &opt, &s), 0);
	grove__session_note_last(s);
	/* a newer one, that another terminal has */
	put_file(w, SESSIONS "other.jsonl", HEADER("other"));
	grove__fail_clear(&d);
	assert_int_equal(grove__locate(w->g, "last", &at, &d), 0);
	assert_string_equal(at.path, grove_session_path(s));
	grove__where_release(&at);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_has_a_name),
		cmocka_unit_test(a_note_is_two_lines_or_more),
		TEST(a_note_leads_to_its_session),
		TEST(a_stale_note_is_none),
		TEST(a_note_is_written_whole),
		TEST(without_a_terminal_there_is_no_note),
		TEST(what_cannot_be_written_is_told),
		TEST(a_live_session_leaves_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
