/*
 * tests/unit/test_writers.c: two writers on one session.
 *
 * If both are grove, they take turns, and each appends below the current leaf.
 * If one is an agent that takes no lock, it may write before any system call of
 * grove; whatever it does then, nothing that it wrote is lost, and nothing that
 * grove acknowledged before. Other tests have agents that announce that they are
 * using a session.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "../lib/transcript.h"
#include "sys/alive.h"
#include "sys/clock.h"
#include "../lib/calls.h"

#define FILE_OF(w) in_world(w, "a.jsonl")
#define TWO HEADER ENTRY("u1", "null", "user", "one") ENTRY("a1", "\"u1\"", "assistant", "two")
#define AGENTS ENTRY("x1", "\"a1\"", "user", "of the agent")
#define OURS "{\"role\":\"user\",\"content\":\"ours\"}"

/* ------------------------------------------------------------ grove and grove */

#define WRITERS 4
#define EACH 25

/* Two handles that begin one new session, each with a message, end up in one conversation. */
static void two_begin_one_session(struct world *w, const char *dialect, const char *name)
{
	struct grove_create_options opt = { .size = sizeof(opt), .dialect = dialect };
	struct grove_session *a, *b, *s;
	struct grove_view *v;
	const char *id;
	uint32_t *path;
	size_t nr;

	opt.path = in_world(w, name);
	OK(w, grove_session_create(w->g, &opt, &a));
	OK(w, grove_session_create(w->g, &opt, &b));
	if (strcmp(dialect, "claude")) {
		OK(w, grove_session_append(a, text("{\"type\":\"custom\",\"customType\":\"a\"}"), NULL, INTO(&id)));
		OK(w, grove_session_append(b, text("{\"type\":\"custom\",\"customType\":\"b\"}"), NULL, INTO(&id)));
	}
	/* some agents create the file only after a reply */
	OK(w, grove_session_append(a, text(OURS), NULL, INTO(&id)));
	OK(w, grove_session_ensure(a));
	OK(w, grove_session_append(b, text(OURS), NULL, INTO(&id)));
	OK(w, grove_session_ensure(b));
	OK(w, grove_session_append(a, text(OURS), NULL, INTO(&id)));
	s = session_at(w, opt.path, GROVE_OPEN_READ);
	v = view_of(w, s);
	OK(w, path_rows(v, find_row(v, id), &path, &nr));
	assert_int_equal(nr, strcmp(dialect, "claude") ? 5 : 3);
	free(path);
	grove_view_unref(v);
	grove_session_close(a);
	grove_session_close(b);
	grove_session_close(s);
	/* the entries from before belong to another session */
	OK(w, grove_session_create(w->g, &opt, &a));
	grove_session_append(a, text(OURS), NULL, INTO(&id));
	GOT(w, grove_session_ensure(a), GROVE_EEXIST);
	grove_session_close(a);
}

static void those_who_begin_a_session_at_once_share_it(void **state)
{
	two_begin_one_session(*state, "pi", "2026-01-01T00-00-00-000Z_p.jsonl");
	two_begin_one_session(*state, "omp", "2026-01-01T00-00-00-000Z_o.jsonl");
	two_begin_one_session(*state, "xcsh", "2026-01-01T00-00-00-000Z_x.jsonl");
	two_begin_one_session(*state, "claude", "00000001-1111-4111-8111-111111111111.jsonl");
}

/*
 * One process: writes messages, each of which is acknowledged, and counts how often others' lines
 * were reported.
 */
static void write_some(struct world *w, unsigned flags)
{
	struct grove *g = world_grove(w);
	struct grove_session *s;
	int rc = grove_session_open(g, FILE_OF(w), GROVE_OPEN_WRITE | flags, &s);

	for (int i = 0; i < EACH && !rc; i++) {
		rc = grove_session_append(s, text(OURS), NULL, NULL);
		while (rc == GROVE_ECONFLICT && flags & GROVE_OPEN_STRICT) {
			rc = grove_session_refresh(s);
			rc = rc < 0 ? rc : grove_session_append(s, text(OURS), NULL, NULL);
		}
	}
	_exit(rc ? 1 : 0);
}

static void writers_take_turns(struct world *w, unsigned flags)
{
	struct grove_session *s;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };
	pid_t pid[WRITERS];
	int status;

	file_make(FILE_OF(w), TWO);
	for (int i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			write_some(w, flags);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	v = view_of(w, s);
	assert_int_equal(grove_view_count(v), 2 + WRITERS * EACH);
	/* each entry was written below the last line at that time */
	for (uint32_t i = 1; i < 2 + WRITERS * EACH; i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(e.parent, i - 1);
	}
	grove_view_unref(v);
	grove_session_close(s);
}

static void each_writer_goes_below_the_last_line_of_any(void **state)
{
	writers_take_turns(*state, 0);
}

static void writers_that_are_told_look_again_and_lose_nothing(void **state)
{
	writers_take_turns(*state, GROVE_OPEN_STRICT);
}

/* ------------------------------------------------------------ grove and agent */

static struct {
	void (*deed)(const char *path);
	const char *path;
	int nth, seen;
	char at[32];         /* the call before which the agent acted; "": it has not yet */
	bool wrote, renamed; /* which calls had been made by then */
} agent;

static int watch_calls(const char *call)
{
	if (++agent.seen == agent.nth) {
		snprintf(agent.at, sizeof(agent.at), "%s", call);
		agent.deed(agent.path);
	} else if (!agent.at[0]) {
		agent.wrote |= !strcmp(call, "write");
		agent.renamed |= !strcmp(call, "rename");
	}
	return 0;
}

static void agent_comes(void (*deed)(const char *), const char *path, int nth)
{
	memset(&agent, 0, sizeof(agent));
	agent.deed = deed;
	agent.path = path;
	agent.nth = nth;
	grove__sys_fault = watch_calls;
}

/* Returns false if there were not that many calls. */
static bool agent_came(void)
{
	grove__sys_fault = NULL;
	return agent.at[0];
}

static void grows(const char *path)
{
	file_add(path, AGENTS);
}

static void grows_by_half(const char *path)
{
	file_add(path, "half of a li");
}

static void truncates(const char *path)
{
	assert_int_equal(truncate(path, (off_t)strlen(HEADER ENTRY("u1", "null", "user", "one"))), 0);
}

static void replaces(const char *path)
{
	char temp[8300];

	snprintf(temp, sizeof(temp), "%s.agent", path);
	file_make(temp, TWO AGENTS);
	assert_int_equal(rename(temp, path), 0);
}

static void deletes(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

/* Changes a word in place; the length stays the same. */
static void changes_a_word(const char *path)
{
	struct grove_buf b = file_bytes(path);
	char *p = memmem(b.ptr, b.len, "\"two\"", 5);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_non_null(p);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "\"TWO\"", 5, p - b.ptr), 5);
	close(fd);
	grove__buf_release(&b);
}

/* Returns how many whole lines of the file contain these words; 0 if there is no file. */
static int whole_lines(const char *path, const char *words)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *line, *save;
	int n = 0;

	if (!is_there(path))
		return 0;
	b = file_bytes(path);
	assert_int_equal(grove__buf_add_char(&b, '\0'), 0);
	for (line = strtok_r(b.ptr, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		n += line[0] == '{' && line[strlen(line) - 1] == '}' && strstr(line, words);
	grove__buf_release(&b);
	return n;
}

static bool begins_with(const char *path, const char *words)
{
	struct grove_buf b = file_bytes(path);
	bool yes = b.len >= strlen(words) && !memcmp(b.ptr, words, strlen(words));

	grove__buf_release(&b);
	return yes;
}

/* Creates a file of two messages that was written a while ago, and a second name for it. */
static const char *prepare(struct world *w)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	const char *path = FILE_OF(w);

	unlink(path);
	unlink(in_world(w, "old"));
	file_make(path, TWO);
	assert_int_equal(link(path, in_world(w, "old")), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	return path;
}

/* Checks what must hold whoever writes when. */
static void nothing_is_spoilt(struct world *w, const char *path)
{
	DIR *d = opendir(w->cwd);
	struct dirent *e;

	/* a file without a header is not one of grove's */
	if (is_there(path))
		assert_true(begins_with(path, HEADER));
	while ((e = readdir(d)))
		assert_null(strstr(e->d_name, ".tmp"));
	closedir(d);
}

static void append_meanwhile(struct world *w, void (*deed)(const char *), unsigned flags)
{
	for (int nth = 1;; nth++) {
		const char *path = prepare(w);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE | flags);
		int rc, here, elsewhere;

		grove_view_unref(view_of(w, s));
		agent_comes(deed, path, nth);
		rc = grove_session_append(s, text(OURS), NULL, NULL);
		if (!agent_came()) {
			assert_int_equal(rc, 0);
			assert_true(nth > 4);
			grove_session_close(s);
			return;
		}
		here = whole_lines(path, "\"ours\"");
		elsewhere = deed == replaces || deed == deletes ? whole_lines(in_world(w, "old"), "\"ours\"")
								: 0;
		nothing_is_spoilt(w, path);
		if (deed == grows || deed == replaces)
			assert_int_equal(whole_lines(path, "of the agent"), 1);
		if (rc)
			assert_int_equal(here + elsewhere, 0);
		else if (deed != truncates || !agent.wrote)
			assert_int_equal(here + elsewhere, 1);
		/* what was written before the lock is taken is seen */
		if (!strcmp(agent.at, "lock")) {
			assert_int_equal(rc, deed == deletes ? GROVE_ENOTFOUND : flags ? GROVE_ECONFLICT : 0);
			assert_int_equal(elsewhere, 0);
			if (!rc && (deed == grows || deed == replaces))
				assert_int_equal(whole_lines(path, "\"parentId\":\"x1\""), 1);
			if (!rc && deed == truncates)
				assert_int_equal(whole_lines(path, "\"parentId\":\"u1\""), 1);
		}
		/* the next append succeeds, or reports why not */
		rc = grove_session_append(s, text(OURS), NULL, NULL);
		if (deed == deletes)
			assert_int_equal(rc, GROVE_ENOTFOUND);
		else
			assert_true(!rc || (flags && rc == GROVE_ECONFLICT));
		nothing_is_spoilt(w, path);
		grove_session_close(s);
	}
}

static void an_agent_may_append_at_any_call_of_an_append(void **state)
{
	append_meanwhile(*state, grows, 0);
	append_meanwhile(*state, grows, GROVE_OPEN_STRICT);
}

static void an_agent_may_leave_half_a_line_at_any_call_of_an_append(void **state)
{
	append_meanwhile(*state, grows_by_half, 0);
	append_meanwhile(*state, grows_by_half, GROVE_OPEN_STRICT);
}

static void an_agent_may_truncate_at_any_call_of_an_append(void **state)
{
	append_meanwhile(*state, truncates, 0);
	append_meanwhile(*state, truncates, GROVE_OPEN_STRICT);
}

static void an_agent_may_replace_the_file_at_any_call_of_an_append(void **state)
{
	append_meanwhile(*state, replaces, 0);
	append_meanwhile(*state, replaces, GROVE_OPEN_STRICT);
}

static void an_agent_may_delete_the_file_at_any_call_of_an_append(void **state)
{
	append_meanwhile(*state, deletes, 0);
	append_meanwhile(*state, deletes, GROVE_OPEN_STRICT);
}

/*
 * Between the last check and the renaming of the new file there is a moment that cannot be
 * protected.
 */
static void rewrite_meanwhile(struct world *w, void (*deed)(const char *))
{
	for (int nth = 1;; nth++) {
		const char *path = prepare(w);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
		bool last_moment;
		int rc;

		grove_view_unref(view_of(w, s));
		agent_comes(deed, path, nth);
		rc = grove_session_update(s, "u1", "/message/content", "\"ONE\"");
		if (!agent_came()) {
			assert_int_equal(rc, 0);
			assert_int_equal(whole_lines(path, "\"ONE\""), 1);
			assert_true(nth > 10);
			grove_session_close(s);
			return;
		}
		last_moment = !strcmp(agent.at, "rename");
		nothing_is_spoilt(w, path);
		if (deed == grows)
			assert_int_equal(whole_lines(path, "of the agent"), 1);
		if (deed == replaces && !last_moment)
			assert_int_equal(whole_lines(path, "of the agent"), 1);
		if (deed == changes_a_word && !last_moment)
			assert_int_equal(whole_lines(path, "\"TWO\""), 1);
		if (deed == truncates && !last_moment)
			assert_int_equal(whole_lines(path, "\"a1\""), 0);
		if (deed == deletes && !last_moment)
			assert_false(is_there(path));
		/* before the rename, a change is reported or taken over */
		if (deed != grows && !agent.renamed && !last_moment && !rc)
			assert_int_equal(whole_lines(path, deed == changes_a_word ? "\"TWO\"" : "\"ONE\""), 1);
		grove_session_close(s);
	}
}

static void an_agent_may_append_at_any_call_of_a_rewrite(void **state)
{
	rewrite_meanwhile(*state, grows);
}

static void an_agent_may_change_a_line_at_any_call_of_a_rewrite(void **state)
{
	rewrite_meanwhile(*state, changes_a_word);
}

static void an_agent_may_truncate_at_any_call_of_a_rewrite(void **state)
{
	rewrite_meanwhile(*state, truncates);
}

static void an_agent_may_replace_the_file_at_any_call_of_a_rewrite(void **state)
{
	rewrite_meanwhile(*state, replaces);
}

static void an_agent_may_delete_the_file_at_any_call_of_a_rewrite(void **state)
{
	rewrite_meanwhile(*state, deletes);
}

/* ------------------------------------------------------------ agents at work */

/* Starts a process that does nothing until it is ended. */
static pid_t a_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static const char *note_path(struct world *w, long pid)
{
	static char path[8192];

	snprintf(path, sizeof(path), "%s/.claude/sessions", w->home);
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.claude/sessions/%ld.json", w->home, pid);
	return path;
}

/* Writes the note as Claude Code does. */
static void leave_note(struct world *w, long pid, const char *session, int64_t since)
{
	char json[512];

	snprintf(json, sizeof(json),
		 "{\"pid\":%ld,\"sessionId\":\"%s\",\"cwd\":\"/w\",\"startedAt\":%lld,\"kind\":\"interactive\"}",
		 pid, session, (long long)since);
	file_make(note_path(w, pid), json);
}

static void a_session_that_claude_works_on_is_appended_to_but_not_rewritten(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS), *forced;
	struct grove_detail d;
	pid_t pid = a_process();
	uint64_t n;
	char words[64];

	leave_note(w, pid, SID, grove__sys_now_ms());
	snprintf(words, sizeof(words), "(process %ld)", (long)pid);
	/*
	 * removing an entry from the middle, which is a rewrite; the last line, which is cut off;
	 * moving
	 */
	GOT(w, grove_session_forget(s, "a1", &n), GROVE_ECONFLICT);
	grove_session_error(s, &d);
	assert_non_null(strstr(d.message, words));
	assert_string_equal(d.path, grove_session_path(s));
	GOT(w, grove_session_forget(s, "a3", &n), GROVE_ECONFLICT);
	GOT(w, grove_session_update(s, "u1", "/message/content", "\"ONE\""), GROVE_ECONFLICT);
	GOT(w, grove_session_move(s, w->home), GROVE_ECONFLICT);
	assert_file(grove_session_path(s), TWO_WAYS);

	user(w, s, "appending is safe");
	assert_int_equal(lines_in(grove_session_path(s)), 7);

	forced = session_at(w, grove_session_path(s), GROVE_OPEN_WRITE | GROVE_OPEN_FORCE);
	OK(w, grove_session_forget(forced, "a2", &n));
	grove_session_close(forced);

	end(pid);
	/* the note of a killed process stays, but counts for nothing */
	assert_true(is_there(note_path(w, pid)));
	assert_int_equal(grove_session_refresh(s), 1);
	OK(w, grove_session_forget(s, "u2", &n));
	grove_session_close(s);
}

static void what_is_no_trace_of_this_session_stops_nobody(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	int64_t now = grove__sys_now_ms();
	long me = (long)getpid();
	uint64_t n;

	leave_note(w, me, "11111111-2222-4333-8444-666666666666", now);
	OK(w, grove_session_forget(s, "a2", &n));
	/* much later, its process number was given to another process */
	leave_note(w, me, SID, 1000000000000);
	OK(w, grove_session_forget(s, "u2", &n));
	unlink(note_path(w, me));
	/* files that are not notes */
	file_make(note_path(w, 1), "{\"sessionId\":");
	file_make(note_path(w, 2), "");
	file_make(note_path(w, me), "{\"pid\":1,\"sessionId\":17}");
	assert_int_equal(symlink("/dev/zero", note_path(w, 3)), 0);
	assert_int_equal(mkdir(note_path(w, 4), 0700), 0);
	assert_int_equal(mkfifo(note_path(w, 5), 0600), 0);
	OK(w, grove_session_forget(s, "a3", &n));
	grove_session_close(s);
}

static void mending_waits_for_claude_to_end(void **state)
{
	struct world *w = *state;
	const char *path = transcript(w, FIRST "{\"torn\n" LINE("user", "u2", "\"a1\"", "3"));
	struct grove_fix_options o = { .size = sizeof(o) };
	struct grove_fix_result r = { .size = sizeof(r) };

	leave_note(w, (long)getpid(), SID, grove__sys_now_ms());
	GOT(w, grove_fix(w->g, path, &o, &r), GROVE_ECONFLICT);
	assert_int_equal(lines_in(path), 4);
	o.flags = GROVE_FIX_FORCE;
	OK(w, grove_fix(w->g, path, &o, &r));
	assert_int_equal(r.mended, 1);
	assert_int_equal(lines_in(path), 3);
}

static void a_sub_agents_log_belongs_to_the_session_that_claude_works_on(void **state)
{
	struct world *w = *state;
	const char *path;
	struct grove_session *s;
	uint64_t n;

	transcript(w, FIRST);
	path = beside(w, SID "/subagents/agent-a1.jsonl", TWO_WAYS);
	leave_note(w, (long)getpid(), SID, grove__sys_now_ms());
	s = session_at(w, path, GROVE_OPEN_WRITE);
	GOT(w, grove_session_forget(s, "a1", &n), GROVE_ECONFLICT);
	grove_session_close(s);
}

static void a_tree_that_was_copied_has_notes_of_its_own(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	char path[8300];
	uint64_t n;

	snprintf(path, sizeof(path), "%s/copy/projects/p", w->dir);
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	strcat(path, "/" SID ".jsonl");
	file_make(path, TWO_WAYS);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	assert_string_equal(grove_session_dialect(s), "claude");
	OK(w, grove_session_forget(s, "a2", &n));
	snprintf(path, sizeof(path), "%s/copy/sessions", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/copy/sessions/%ld.json", w->dir, (long)getpid());
	file_make(path, "{\"sessionId\":\"" SID "\"}");
	GOT(w, grove_session_forget(s, "u2", &n), GROVE_ECONFLICT);
	grove_session_close(s);
}

static void the_system_knows_who_is_alive(void **state)
{
	int64_t began = -1, now = grove__sys_now_ms();
	pid_t pid = a_process();

	(void)state;
	assert_true(grove__sys_alive(pid, &began));
	/*
	 * a system that cannot tell returns 0; clocks may be set, but not by an hour during this
	 * test
	 */
	assert_true(!began || (began > now - 3600000 && began < now + 3600000));
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* it has ended, though its parent has not asked for its status yet */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_false(grove__sys_alive(pid, NULL));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(grove__sys_alive(pid, NULL));
	assert_false(grove__sys_alive(0, NULL));
	assert_false(grove__sys_alive(-1, NULL));
	assert_false(grove__sys_alive((int64_t)1 << 40, NULL));
	/* a process of another user counts as alive, too */
	assert_true(grove__sys_alive(1, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(those_who_begin_a_session_at_once_share_it),
		WORLD_TEST(each_writer_goes_below_the_last_line_of_any),
		WORLD_TEST(writers_that_are_told_look_again_and_lose_nothing),
		WORLD_TEST(an_agent_may_append_at_any_call_of_an_append),
		WORLD_TEST(an_agent_may_leave_half_a_line_at_any_call_of_an_append),
		WORLD_TEST(an_agent_may_truncate_at_any_call_of_an_append),
		WORLD_TEST(an_agent_may_replace_the_file_at_any_call_of_an_append),
		WORLD_TEST(an_agent_may_delete_the_file_at_any_call_of_an_append),
		WORLD_TEST(an_agent_may_append_at_any_call_of_a_rewrite),
		WORLD_TEST(an_agent_may_change_a_line_at_any_call_of_a_rewrite),
		WORLD_TEST(an_agent_may_truncate_at_any_call_of_a_rewrite),
		WORLD_TEST(an_agent_may_replace_the_file_at_any_call_of_a_rewrite),
		WORLD_TEST(an_agent_may_delete_the_file_at_any_call_of_a_rewrite),
		WORLD_TEST(a_session_that_claude_works_on_is_appended_to_but_not_rewritten),
		WORLD_TEST(what_is_no_trace_of_this_session_stops_nobody),
		WORLD_TEST(mending_waits_for_claude_to_end),
		WORLD_TEST(a_sub_agents_log_belongs_to_the_session_that_claude_works_on),
		WORLD_TEST(a_tree_that_was_copied_has_notes_of_its_own),
		cmocka_unit_test(the_system_knows_who_is_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
