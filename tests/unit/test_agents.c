/*
 * Tests replacing local logs by remote ones, and what grove finds out about
 * sub-agents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/world.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "8f14e45f-ceea-467f-ab3c-000000000001"
#define RECORD(n, parent, type, words) \
	"{\"parentUuid\":" parent ",\"isSidechain\":false,\"type\":\"" type "\",\"message\":{\"role\":\"" type \
	"\",\"content\":\"" words "\"},\"uuid\":\"00000000-0000-4000-8000-00000000000" n "\"," \
	"\"timestamp\":\"2026-01-01T00:00:0" n ".000Z\",\"cwd\":\"/w\",\"sessionId\":\"" ID "\",\"version\":\"2\"}"
#define ONE RECORD("1", "null", "user", "one")
#define TWO RECORD("2", "\"00000000-0000-4000-8000-000000000001\"", "assistant", "two")

static const char *claude(const struct world *w, const char *name)
{
	static char path[16][8192];
	static unsigned turn;
	char *p = path[turn++ % 16], *slash;

	snprintf(p, sizeof(path[0]), "%s/.claude/projects/-w/%s", w->home, name);
	slash = strrchr(p, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(p, 0700), 0);
	*slash = '/';
	return p;
}

/* ------------------------------------------------------------------ hydrate */

struct remote {
	const char *const *lines;
	size_t nr, next;
	int fails;             /* the error after the last line */
	int persisted;
};

static int next(void *payload, struct grove_slice *line)
{
	struct remote *r = payload;

	if (r->next == r->nr)
		return r->fails ? r->fails : 1;
	*line = text(r->lines[r->next++]);
	return 0;
}

static int persist(void *payload)
{
	((struct remote *)payload)->persisted++;
	return 0;
}

static int hydrate(struct world *w, const char *path, struct remote *r, uint64_t *lines)
{
	struct grove_hydrate_options o = { .size = sizeof(o), .path = path };
	struct grove_source src = { next, persist, r };

	return grove_hydrate(w->g, &o, &src, lines);
}

static const char *const two[] = { ONE, TWO };

static void assert_mode(const char *path, unsigned mode)
{
	struct grove__sys_stat st;

	assert_int_equal(grove__sys_stat(path, &st), 0);
	assert_int_equal(st.mode, mode);
}

static void a_remote_log_takes_the_place_of_the_local_one(void **state)
{
	struct world *w = *state;
	const char *path = claude(w, ID ".jsonl");
	struct remote r = { two, 2, 0, 0, 0 };
	uint64_t lines;

	file_make(path, "{\"type\":\"mode\"}\n");
	assert_int_equal(chmod(path, 0644), 0);
	OK(w, hydrate(w, path, &r, &lines));
	assert_int_equal(lines, 2);
	assert_int_equal(r.persisted, 1);
	assert_file(path, ONE "\n" TWO "\n");
	assert_mode(path, 0600);
}

static void a_session_that_is_not_there_yet_is_made(void **state)
{
	struct world *w = *state;
	struct grove_hydrate_options o = { .size = sizeof(o), .id = ID, .cwd = "/x/y" };
	struct remote r = { two, 2, 0, 0, 0 };
	struct grove_source src = { next, persist, &r };
	char path[9000], dir[8192];

	OK(w, grove_hydrate(w->g, &o, &src, NULL));
	snprintf(dir, sizeof(dir), "%s/.claude/projects/-x-y", w->home);
	snprintf(path, sizeof(path), "%s/" ID ".jsonl", dir);
	assert_file(path, ONE "\n" TWO "\n");
	assert_mode(path, 0600);
	assert_mode(dir, 0700);
	/* another session replaces it, unless it must be new */
	r.next = 0;
	r.lines = &two[1];
	r.nr = 1;
	o.flags = GROVE_HYDRATE_NEW;
	GOT(w, grove_hydrate(w->g, &o, &src, NULL), GROVE_EEXIST);
	assert_file(path, ONE "\n" TWO "\n");
	file_make(path, "");
	r.next = 0;
	OK(w, grove_hydrate(w->g, &o, &src, NULL));
	assert_file(path, TWO "\n");
	o.id = "../x";
	r.next = 0;
	GOT(w, grove_hydrate(w->g, &o, &src, NULL), GROVE_EINVAL);
	assert_int_equal(r.next, 0);
}

static void assert_refused(struct world *w, struct remote *r, int code, const char *words)
{
	const char *path = claude(w, ID ".jsonl"), *fresh = claude(w, "8f14e45f-ceea-467f-ab3c-000000000002.jsonl");
	struct grove_detail d;

	file_make(path, "{\"type\":\"mode\"}\n");
	GOT(w, hydrate(w, path, r, NULL), code);
	grove_error(w->g, &d);
	if (!strstr(d.message, words))
		fail_msg("'%s' does not say '%s'", d.message, words);
	assert_file(path, "{\"type\":\"mode\"}\n");
	r->next = 0;
	GOT(w, hydrate(w, fresh, r, NULL), code);
	assert_false(is_there(fresh));
	assert_int_equal(r->persisted, 0);
	assert_dir(claude(w, ""), ID ".jsonl ");
}

static void a_source_that_fails_changes_nothing(void **state)
{
	static const char *const bad[] = { ONE, "{\"torn\":" };
	static const char *const list[] = { ONE, "[]" };
	static const char *const lf[] = { ONE "\n" TWO };
	static const char *const blank[] = { ONE, "" };
	struct world *w = *state;

	assert_refused(w, &(struct remote){ NULL, 0, 0, 0, 0 }, GROVE_ENOTFOUND, "empty");
	assert_refused(w, &(struct remote){ NULL, 0, 0, GROVE_EIO, 0 }, GROVE_EIO, "could not be read");
	assert_refused(w, &(struct remote){ two, 2, 0, GROVE_EACCESS, 0 }, GROVE_EACCESS,
		       "after 2 lines");
	assert_refused(w, &(struct remote){ bad, 2, 0, 0, 0 }, GROVE_EJSON, "line 2");
	assert_refused(w, &(struct remote){ list, 2, 0, 0, 0 }, GROVE_EJSON, "line 2");
	assert_refused(w, &(struct remote){ lf, 1, 0, 0, 0 }, GROVE_EJSON, "line 1");
	assert_refused(w, &(struct remote){ blank, 2, 0, 0, 0 }, GROVE_EJSON, "line 2");
}

static void a_disk_that_fails_changes_nothing(void **state)
{
	static const struct {
		const char *call;
		int err;
	} faults[] = { { "write", ENOSPC }, { "rename", EIO }, { "open", EMFILE } };
	struct world *w = *state;
	const char *path = claude(w, ID ".jsonl");

	file_make(path, "{\"type\":\"mode\"}\n");
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct remote r = { two, 2, 0, 0, 0 };

		fail_at(faults[i].call, faults[i].err, 0, 1);
		assert_int_not_equal(hydrate(w, path, &r, NULL), 0);
		all_is_well();
		assert_int_equal(r.persisted, 0);
		assert_file(path, "{\"type\":\"mode\"}\n");
		assert_dir(claude(w, ""), ID ".jsonl ");
	}
}

static void a_log_that_is_being_written_is_left_alone(void **state)
{
	struct world *w = *state;
	const char *path = claude(w, ID ".jsonl");
	struct grove_hydrate_options o = { .size = sizeof(o), .path = path, .flags = GROVE_HYDRATE_FORCE };
	struct remote r = { two, 2, 0, 0, 0 };
	struct grove_source src = { next, NULL, &r };
	int fd;

	file_make(path, "{\"type\":\"mode\"}\n");
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	GOT(w, hydrate(w, path, &r, NULL), GROVE_ECONFLICT);
	assert_file(path, "{\"type\":\"mode\"}\n");
	r.next = 0;
	OK(w, grove_hydrate(w->g, &o, &src, NULL));
	assert_file(path, ONE "\n" TWO "\n");
	close(fd);
}

/* --------------------------------------------------------------- sub-agents */

static int list_agent(void *payload, const struct grove_subagent *a)
{
	const char *slash = a->path ? strrchr(a->path, '/') : NULL;

	return grove__buf_addf(payload, "%s%s%s %s %s %s %s; ", a->group, *a->group ? "/" : "", a->id,
			       a->type ? a->type : "-", a->description ? a->description : "-",
			       a->tool_use_id ? a->tool_use_id : "-", slash ? slash + 1 : "-");
}

static struct grove_session *with_agents(struct world *w, unsigned flags)
{
	file_make(claude(w, ID ".jsonl"), ONE "\n" TWO "\n");
	file_make(claude(w, ID "/subagents/agent-a1.jsonl"), ONE "\n");
	file_make(claude(w, ID "/subagents/agent-a1.meta.json"),
		  "{\"agentType\":\"Explore\",\n \"description\":\"look around\",\"toolUseId\":\"t1\"}\n");
	file_make(claude(w, ID "/subagents/workflows/r1/agent-a2.jsonl"), ONE "\n");
	file_make(claude(w, ID "/subagents/workflows/r1/journal.jsonl"), "{}\n");
	file_make(claude(w, ID "/subagents/agent-a3.meta.json"), "{ broken");
	file_make(claude(w, ID "/remote-agents/r7.json"), "{\"taskId\":\"r7\"}");
	return session_at(w, claude(w, ID ".jsonl"), flags);
}

static void agents_are_listed_with_what_is_known(void **state)
{
	struct world *w = *state;
	struct grove_session *s = with_agents(w, GROVE_OPEN_READ);
	struct grove_buf b = GROVE_BUF_INIT;

	OK(w, grove_session_subagent_each(s, list_agent, &b));
	assert_string_equal(b.ptr, "a1 Explore look around t1 agent-a1.jsonl; a3 - - - -; "
				   "workflows/r1/a2 - - - agent-a2.jsonl; ");
	grove__buf_release(&b);
	grove_session_close(s);
}

static int open_agent(void *payload, const struct grove_subagent *a)
{
	struct world *w = payload;
	struct grove_session *s = session_at(w, a->path, GROVE_OPEN_READ);

	assert_string_equal(grove_session_dialect(s), "claude");
	assert_int_equal(counts_of(w, s).entries, 1);
	grove_session_close(s);
	return 7;
}

static void the_transcript_of_an_agent_is_a_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = with_agents(w, GROVE_OPEN_READ);

	assert_int_equal(grove_session_subagent_each(s, open_agent, w), 7);
	grove_session_close(s);
}

/* The metadata of an agent in one group and its transcript in another belong to one agent. */
static void the_two_files_of_an_agent_find_each_other(void **state)
{
	struct world *w = *state;
	struct grove_session *s = with_agents(w, GROVE_OPEN_READ);
	struct grove_buf b = GROVE_BUF_INIT;

	file_make(claude(w, ID "/subagents/agent-a2.meta.json"), "{\"agentType\":\"Explore\"}");
	file_make(claude(w, ID "/subagents/workflows/r2/agent-a9.meta.json"), "{\"agentType\":\"Plan\"}");
	OK(w, grove_session_subagent_each(s, list_agent, &b));
	assert_string_equal(b.ptr, "a1 Explore look around t1 agent-a1.jsonl; a3 - - - -; "
				   "workflows/r1/a2 Explore - - agent-a2.jsonl; workflows/r2/a9 Plan - - -; ");
	grove_buf_release(&b);
	grove_session_close(s);
}

static void other_agents_have_no_such_thing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_READ);

	GOT(w, grove_session_subagent_each(s, list_agent, NULL), GROVE_ENOTSUP);
	grove_session_close(s);
}

/* ------------------------------------------------------- who has it open, and how to go on */

struct openers {
	unsigned nr, writing;
	int64_t pid;
	char id[64];
};

static int on_opener(void *payload, const struct grove_opener *o)
{
	struct openers *got = payload;

	if (o->pid != got->pid)
		return 0; /* other processes of this machine may have files open, too */
	got->nr++;
	got->writing += o->writing != 0;
	if (o->session_id)
		snprintf(got->id, sizeof(got->id), "%s", o->session_id);
	assert_true(*o->program != '\0');
	return 0;
}

/* Starts a process that holds a file open until `end` is closed. */
static pid_t holder(const char *path, int flags, int end[2])
{
	int ready[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(end[1]);
		if (open(path, flags) < 0 || write(ready[1], &c, 1) != 1)
			_exit(1);
		_exit(read(end[0], &c, 1) != 0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void release(pid_t pid, int end[2])
{
	close(end[0]);
	close(end[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void openers_are_found_by_their_descriptors(void **state)
{
	struct world *w = *state;
	const char *path = claude(w, ID ".jsonl");
	struct openers got = { 0 };
	int end[2], fd;

	file_make(path, ONE "\n");
	fd = open(path, O_RDWR);
	got.pid = getpid();
	OK(w, grove_opener_each(w->g, path, on_opener, &got));
	assert_int_equal(got.nr, 0); /* our own process is not reported */
	close(fd);
	got.pid = holder(path, O_WRONLY | O_APPEND, end);
	OK(w, grove_opener_each(w->g, path, on_opener, &got));
	assert_int_equal(got.nr, 1);
	assert_int_equal(got.writing, 1);
	OK(w, grove_opener_each(w->g, NULL, on_opener, &got));
	assert_int_equal(got.nr, 2);
	release((pid_t)got.pid, end);
	memset(&got, 0, sizeof(got));
	got.pid = holder(path, O_RDONLY, end);
	OK(w, grove_opener_each(w->g, path, on_opener, &got));
	assert_int_equal(got.nr, 1);
	assert_int_equal(got.writing, 0);
	release((pid_t)got.pid, end);
	assert_int_equal(grove_opener_each(w->g, "nobody", on_opener, &got), GROVE_ENOTFOUND);
}

/* Claude Code opens its file only to write a line, but leaves a record of its process. */
static void openers_are_found_by_their_records(void **state)
{
	struct world *w = *state;
	const char *path = claude(w, ID ".jsonl");
	struct openers got = { 0 };
	char note[8192], json[256];
	int end[2];

	file_make(path, ONE "\n");
	got.pid = holder("/dev/null", O_RDONLY, end);
	snprintf(note, sizeof(note), "%s/.claude/sessions", w->home);
	assert_int_equal(grove__sys_mkdirs(note, 0700), 0);
	snprintf(note + strlen(note), 64, "/%lld.json", (long long)got.pid);
	snprintf(json, sizeof(json), "{\"sessionId\":\"" ID "\"}");
	file_make(note, json);
	OK(w, grove_opener_each(w->g, path, on_opener, &got));
	assert_int_equal(got.nr, 1);
	assert_int_equal(got.writing, 1);
	OK(w, grove_opener_each(w->g, NULL, on_opener, &got));
	assert_int_equal(got.nr, 2);
	assert_string_equal(got.id, ID);
	release((pid_t)got.pid, end);
	got.nr = 0;
	OK(w, grove_opener_each(w->g, path, on_opener, &got));
	assert_int_equal(got.nr, 0);
}

static int on_agent(void *payload, const struct grove_agent *a)
{
	unsigned *seen = payload;

	assert_true(strstr(a->resume, "{id}") || strstr(a->resume, "{key}"));
	*seen += !strcmp(a->name, "claude") || !strcmp(a->name, "pi") || !strcmp(a->name, "omp") ||
		 !strcmp(a->name, "xcsh") || !strcmp(a->name, "openclaw");
	return *seen == 5 ? 7 : 0;
}

static void a_session_is_resumed_by_its_agent(void **state)
{
	struct world *w = *state;
	const struct grove_command *c;
	struct grove_session *s;
	unsigned seen = 0;

	assert_int_equal(grove_agent_each(w->g, on_agent, &seen), 7);
	file_make(claude(w, ID ".jsonl"), ONE "\n");
	s = session_at(w, claude(w, ID ".jsonl"), 0);
	OK(w, grove_session_resume(s, &c));
	assert_string_equal(c->cwd, "/w");
	assert_string_equal(c->argv[0], "claude");
	assert_string_equal(c->argv[2], ID);
	assert_null(c->argv[3]);
	OK(w, grove_session_resume(s, &c));
	grove_session_close(s);
	file_make(in_world(w, ID ".jsonl"), ONE "\n");
	s = session_at(w, in_world(w, ID ".jsonl"), 0);
	assert_int_equal(grove_session_resume(s, &c), GROVE_ENOTSUP);
	assert_null(c);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(openers_are_found_by_their_descriptors),
		WORLD_TEST(openers_are_found_by_their_records),
		WORLD_TEST(a_session_is_resumed_by_its_agent),
		WORLD_TEST(a_remote_log_takes_the_place_of_the_local_one),
		WORLD_TEST(a_session_that_is_not_there_yet_is_made),
		WORLD_TEST(a_source_that_fails_changes_nothing),
		WORLD_TEST(a_disk_that_fails_changes_nothing),
		WORLD_TEST(a_log_that_is_being_written_is_left_alone),
		WORLD_TEST(agents_are_listed_with_what_is_known),
		WORLD_TEST(the_transcript_of_an_agent_is_a_session),
		WORLD_TEST(the_two_files_of_an_agent_find_each_other),
		WORLD_TEST(other_agents_have_no_such_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
