/*
 * tests/unit/test_hostile.c: neither the content of a session nor a link in a
 * store may lead grove to a file outside of the store.
 *
 * The linker redirects system calls so that the tests see every path that the
 * library passes to them. Names that the test sessions contain include a word
 * by which they can be recognized in such a path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>

#include "../lib/attach.h"
#include "../lib/transcript.h"

/* ------------------------------------------------------------------- the spy */

#define EVIL "evil-name"     /* in names that must lead nowhere */
#define CWD "evil-cwd"       /* in directories, which may be looked at, not into */

static char touched[16384];  /* the first path that must not have been asked for */
static bool looking;
static unsigned seen;        /* how many were */

static void touch(const char *call, const char *path)
{
	bool resolves = !strcmp(call, "realpath");
	bool looks = resolves || !strcmp(call, "stat") || !strcmp(call, "lstat");

	if (!looking || !path)
		return;
	seen++;
	if (touched[0])
		return;
	/* where a parent is, by whatever links, is asked for threads: that opens nothing */
	if (((strstr(path, EVIL) || strstr(path, "passwd")) && !resolves) ||
	    (strstr(path, CWD) && !looks && !strstr(path, "/.git")))
		snprintf(touched, sizeof(touched), "%s %s", call, path);
}

int __real_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
	touch("open", path);
	return __real_open(path, flags, mode);
}

int __real_open64(const char *path, int flags, unsigned mode);
int __wrap_open64(const char *path, int flags, unsigned mode);
int __wrap_open64(const char *path, int flags, unsigned mode)
{
	touch("open", path);
	return __real_open64(path, flags, mode);
}

#define SPY(type, name, call, ...) \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)
#define SPY_STAT(name, call) \
	SPY(int, name, call, const char *path, struct stat *st); \
	int __wrap_##name(const char *path, struct stat *st) \
	{ \
		touch(call, path); \
		return __real_##name(path, st); \
	}
SPY_STAT(stat, "stat")
SPY_STAT(stat64, "stat")
SPY_STAT(lstat, "lstat")
SPY_STAT(lstat64, "lstat")

#define SPY_ONE(type, name) \
	SPY(type, name, #name, const char *path); \
	type __wrap_##name(const char *path) \
	{ \
		touch(#name, path); \
		return __real_##name(path); \
	}
SPY_ONE(int, unlink)
SPY_ONE(int, rmdir)
SPY_ONE(DIR *, opendir)

#define SPY_TWO(name, second) \
	SPY(int, name, #name, const char *path, second to); \
	int __wrap_##name(const char *path, second to) \
	{ \
		touch(#name, path); \
		return __real_##name(path, to); \
	}
SPY_TWO(rename, const char *)
SPY_TWO(link, const char *)
SPY_TWO(mkdir, unsigned)

char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out)
{
	touch("realpath", path);
	return __real_realpath(path, out);
}

/* ------------------------------------------------------------ what sessions say */

/* Everything that can be done with a session; what comes of it does not matter here. */
static int no_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static int one_agent(void *payload, const struct grove_subagent *a)
{
	(void)payload;
	(void)a;
	return 0;
}

static int one_piece(void *payload, const struct grove_piece *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static void read_all(struct world *w, const char *path)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v = NULL;

	if (!grove_session_open(w->g, path, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v)) {
		grove_view_context(v, NULL, grove_buf_sink(&b));
		grove_view_snapshot(v, NULL, grove_buf_sink(&b));
		grove_view_tree(v, 0, grove_buf_sink(&b));
		grove_session_subagent_each(s, one_agent, s);
		for (uint32_t i = 0; i < grove_view_count(v); i++)
			grove_view_piece_each(v, i, one_piece, NULL);
	}
	grove_view_unref(v);
	grove_session_close(s);
	grove__buf_release(&b);
}

static void change_all(struct world *w, const char *path)
{
	struct grove_fork_options fork = { .size = sizeof(fork) };
	struct grove_session *s, *t;

	if (!grove_session_open(w->g, path, GROVE_OPEN_WRITE | GROVE_OPEN_NOTE_LAST, &s)) {
		grove_session_append(s, text(USER("hello")), NULL, NULL);
		grove_session_set_name(s, "a name", GROVE_NAME_BY_USER, NULL);
		attach(s, "0.bash.log", "x");
		if (!grove_session_fork(s, &fork, &t))
			grove_session_close(t);
		fork.dir = in_world(w, "forks");
		if (!grove_session_fork(s, &fork, &t))
			grove_session_close(t);
		grove_session_move(s, in_world(w, "moved"));
	}
	grove_session_close(s);
}

static void look_at_all(struct world *w)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL | GROVE_LIST_THREADS | GROVE_LIST_SHAPE };
	struct grove_usage_options u = { .size = sizeof(u) };
	struct grove_list *l = NULL;
	struct grove_usage *sum = NULL;

	OK(w, grove_list(w->g, &o, &l));
	grove_list_free(l);
	OK(w, grove_usage(w->g, &u, &sum));
	grove_usage_free(sum);
	grove_check(w->g, NULL, no_problem, NULL, NULL);
}

static void copy_all(struct world *w, const char *path)
{
	struct grove_archive_options a = { .size = sizeof(a), .to = in_world(w, "archive") };
	struct grove_buf id = GROVE_BUF_INIT, to = GROVE_BUF_INIT;
	char url[8300];

	snprintf(url, sizeof(url), "file:%s", in_world(w, "copies"));
	grove_copy(w->g, path, url, &id, &to);
	grove_archive(w->g, path, &a, NULL);
	grove__buf_release(&id);
	grove__buf_release(&to);
}

/* A template of lines with ' for ", @ for the value, % for the directory. */
static void write_session(const char *path, const char *template, const char *value, const char *cwd)
{
	struct grove_buf b = GROVE_BUF_INIT;

	for (const char *p = template; *p; p++) {
		int rc = *p == '@' ? grove__buf_add_str(&b, value)
		       : *p == '%' ? grove__buf_add_str(&b, cwd)
				   : grove__buf_add_char(&b, *p == '\'' ? '"' : *p);

		assert_int_equal(rc, 0);
	}
	file_put(path, O_CREAT | O_TRUNC, b.ptr, b.len);
	grove__buf_release(&b);
}

#define AT ",'timestamp':'2026-01-01T00:00:00.000Z'"
static const struct {
	const char *dialect, *place, *name, *lines;
} hostile[] = {
	{ "pi", ".pi/agent/sessions/--w--", "2026-01-01T00-00-00-000Z_s1.jsonl",
	  "{'type':'session','version':3,'id':'s1'" AT ",'cwd':'%','parentSession':'@'}\n"
	  "{'type':'message','id':'u1','parentId':null" AT ",'message':{'role':'user','content':"
	  "[{'type':'text','text':'@'},{'type':'image','data':'blob:sha256:@','mimeType':'image/png'}]}}\n"
	  "{'type':'custom','id':'c1','parentId':'u1'" AT ",'customType':'@','data':{'path':'@',"
	  "'transcript_path':'@'}}\n"
	  "{'type':'branch_summary','id':'b1','parentId':'u1'" AT ",'fromId':'@','summary':'@'}\n" },
	{ "pi", ".pi/agent/sessions/--w--", "2026-01-01T00-00-00-000Z_s2.jsonl",
	  "{'type':'session','version':3,'id':'@'" AT ",'cwd':'%','parentSession':'@'}\n"
	  "{'type':'message','id':'@','parentId':'@'" AT ",'message':{'role':'user','content':'x'}}\n" },
	{ "xcsh", ".xcsh/agent/sessions/-w", "2026-01-01T00-00-00-000Z_s3.jsonl",
	  "{'type':'session','version':3,'id':'s3'" AT ",'cwd':'%','parentSession':'@','title':'@',"
	  "'titleSource':'user'}\n"
	  "{'type':'message','id':'u1','parentId':null" AT ",'message':{'role':'user','content':"
	  "[{'type':'image','data':'blob:sha256:@','mimeType':'image/@'},{'type':'image',"
	  "'data':'blob:sha256:../@','mimeType':'image/png'}]}}\n"
	  "{'type':'message','id':'t1','parentId':'u1'" AT ",'message':{'role':'toolResult','content':'x',"
	  "'details':{'meta':{'truncation':{'artifactId':'@'}},'fullOutputPath':'@','outputPath':'@'}}}\n"
	  "{'type':'session_init','id':'i1','parentId':'t1'" AT ",'task':'@','tools':['@']}\n" },
	{ "omp", ".omp/agent/sessions/-w", "2026-01-01T00-00-00-000Z_s4.jsonl",
	  "{'type':'session','version':3,'id':'s4'" AT ",'cwd':'%','parentSession':'@','title':'@',"
	  "'titleSource':'user'}\n"
	  "{'type':'message','id':'u1','parentId':null" AT ",'message':{'role':'user','content':"
	  "[{'type':'image','data':'blob:sha256:@','mimeType':'image/png'}]}}\n" },
	{ "claude", ".claude/projects/-w", SID ".jsonl",
	  "{'parentUuid':null,'isSidechain':false,'type':'user','message':{'role':'user','content':'@'},"
	  "'uuid':'u1'" AT ",'cwd':'%','sessionId':'@','version':'@','gitBranch':'@','slug':'@',"
	  "'agentId':'@','transcript_path':'@'}\n"
	  "{'type':'file-history-snapshot','messageId':'u1','snapshot':{'trackedFileBackups':"
	  "{'@':{'backupFileName':'@','version':1}}}}\n"
	  "{'parentUuid':'u1','isSidechain':false,'type':'user','message':{'role':'user','content':[{"
	  "'type':'tool_result','tool_use_id':'t','content':'<persisted-output>@</persisted-output>'}]},"
	  "'toolUseResult':{'persistedOutputPath':'@','agentId':'@','outputFile':'@'},'uuid':'u2'" AT
	  ",'cwd':'%','sessionId':'" SID "'}\n"
	  "{'type':'relocated','relocatedCwd':'%','sessionId':'" SID "'}\n"
	  "{'type':'continued-in','sessionId':'" SID "','continuedInSessionId':'@'}\n" },
};

static void what_a_session_says_is_no_path(void **state)
{
	struct world *w = *state;
	char longest[9000], relative[9000], cwd[8300];
	const char *values[] = { "/etc/passwd", "../../../../../etc/passwd", NULL, NULL, EVIL "\\u0000x",
				 "..", ".", EVIL "/..", "~/" EVIL, "file:///" EVIL, "/dev/" EVIL };
	const char *cwds[] = { cwd, "../" CWD, CWD "\\u0000", "/" CWD "/../.." };

	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "/" EVIL, strlen("/" EVIL));
	longest[sizeof(longest) - 1] = '\0';
	values[2] = longest;
	snprintf(relative, sizeof(relative), "%s/" EVIL, w->dir);
	values[3] = relative;
	snprintf(cwd, sizeof(cwd), "%s/" CWD, w->dir);
	assert_int_equal(mkdir(relative, 0700), 0);
	assert_int_equal(mkdir(cwd, 0700), 0);

	for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++)
		for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
			char path[16400];

			snprintf(path, sizeof(path), "%s/%s", w->home, hostile[i].place);
			assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
			snprintf(path, sizeof(path), "%s/%s/%s", w->home, hostile[i].place, hostile[i].name);
			write_session(path, hostile[i].lines, values[v], cwds[v % 4]);
			grove_close(w->g);
			w->g = world_grove(w);
			touched[0] = '\0';
			seen = 0;
			looking = true;
			read_all(w, path);
			look_at_all(w);
			copy_all(w, path);
			change_all(w, path);
			look_at_all(w);
			looking = false;
			assert_true(seen > 50);
			if (touched[0])
				fail_msg("%s, value %.60s: %.300s", hostile[i].dialect, values[v], touched);
			snprintf(path, sizeof(path), "%s/home", w->dir);
			scratch_remove(path);
			assert_int_equal(mkdir(path, 0700), 0);
			scratch_remove(in_world(w, "copies"));
			scratch_remove(in_world(w, "archive"));
			scratch_remove(in_world(w, "forks"));
		}
}

/* ------------------------------------------------------------- names of files */

/* "...jsonl" without its ending is the directory above. */
static void a_file_whose_directory_would_be_another_has_none(void **state)
{
	struct world *w = *state;
	static const char *const names[] = { "..jsonl", "...jsonl" };

	for (size_t i = 0; i < 2; i++) {
		struct grove_session *s;
		const char *path, *neighbour = in_world(w, "p/neighbour");
		char name[64];

		assert_int_equal(grove__sys_mkdirs(in_world(w, "p"), 0700), 0);
		file_make(neighbour, "x");
		snprintf(name, sizeof(name), "p/%s", names[i]);
		path = in_world(w, name);
		file_make(path, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\","
				"\"cwd\":\"/w\",\"title\":\"t\",\"titleSource\":\"user\"}\n");
		s = session_at(w, path, GROVE_OPEN_WRITE);
		assert_string_equal(grove_session_dialect(s), "xcsh");
		GOT(w, attach(s, "0.bash.log", "x"), GROVE_ENOTSUP);
		grove_session_close(s);
		OK(w, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
		assert_false(is_there(path));
		assert_true(is_there(neighbour));
		assert_true(is_there(w->cwd));
	}
}

static void names_of_attachments_stay_in_their_directory(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = { "", "..", ".", "../x", "/etc/passwd", "a/../../b", "a/../b" };
	struct grove_session *s = opened(w, FIRST);
	struct grove_buf b = GROVE_BUF_INIT;
	char longest[5000];

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		GOT(w, attach(s, bad[i], "x"), GROVE_EINVAL);
		assert_true(attached(s, bad[i], &b) < 0);
	}
	assert_false(is_there(session_file(w, SID)));
	assert_true(attach(s, longest, "x") < 0);
	grove__buf_release(&b);
	grove_session_close(s);
}

/* ---------------------------------------------------------------------- links */

/* A directory outside with something in it, and a link to it. */
static const char *link_out(struct world *w, const char *at)
{
	static char outside[8200], inside[8300];

	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	assert_int_equal(grove__sys_mkdirs(outside, 0700), 0);
	snprintf(inside, sizeof(inside), "%s/theirs", outside);
	file_make(inside, "of somebody else");
	assert_int_equal(symlink(outside, at), 0);
	return inside;
}

static int entries_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = -2;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void nothing_is_kept_behind_a_link_out_of_the_store(void **state)
{
	struct world *w = *state;
	const char *path = transcript(w, FIRST), *dir = session_file(w, SID), *theirs = link_out(w, dir);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	struct grove_detail d;
	char outside[8300];

	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	GOT(w, attach(s, "0.bash.log", "x"), GROVE_EACCESS);
	grove_session_error(s, &d);
	assert_non_null(strstr(d.message, "a link points outside"));
	assert_int_equal(entries_in(outside), 1);
	/* nor shown, were it named like ours */
	file_make(theirs, "");
	snprintf(outside, sizeof(outside), "%s/outside/0.bash.log", w->dir);
	file_make(outside, "a secret");
	assert_int_equal(attachments(s), 0);
	/* the session itself is written as ever */
	user(w, s, "more");
	grove_session_close(s);
	/* and goes with the link, not with what it leads to */
	OK(w, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(path));
	assert_int_equal(access(dir, F_OK), -1);
	assert_file(outside, "a secret");
}

static void a_link_that_stays_in_the_store_may_be_followed(void **state)
{
	struct world *w = *state;
	const char *path = transcript(w, FIRST), *dir = session_file(w, SID);
	struct grove_session *s;

	assert_int_equal(mkdir(session_file(w, "elsewhere"), 0700), 0);
	assert_int_equal(symlink("elsewhere", dir), 0);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	OK(w, attach(s, "0.bash.log", "x"));
	assert_true(is_there(session_file(w, "elsewhere/0.bash.log")));
	assert_int_equal(attachments(s), 1);
	grove_session_close(s);
	/* but it goes with the session as a link only */
	OK(w, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(dir));
	assert_true(is_there(session_file(w, "elsewhere/0.bash.log")));
}

static void a_link_deeper_down_leads_nowhere_either(void **state)
{
	struct world *w = *state;
	const char *path = transcript(w, FIRST);
	struct grove_session *s;
	char outside[8300];

	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	assert_int_equal(mkdir(session_file(w, SID), 0700), 0);
	link_out(w, session_file(w, SID "/subagents"));
	s = session_at(w, path, GROVE_OPEN_WRITE);
	GOT(w, attach(s, "subagents/agent-a1.meta.json", "{}"), GROVE_EACCESS);
	assert_int_equal(entries_in(outside), 1);
	grove_session_close(s);
}

static void a_lease_is_not_left_behind_a_link_out_of_the_store(void **state)
{
	struct world *w = *state;
	char real[8300], path[8400];
	struct grove_session *s;

	snprintf(real, sizeof(real), "%s/.pi/agent/sessions", w->home);
	assert_int_equal(grove__sys_mkdirs(real, 0700), 0);
	snprintf(path, sizeof(path), "%s/--p--", real);
	link_out(w, path);
	snprintf(path, sizeof(path), "%s/outside/s.jsonl", w->dir);
	file_make(path, BRANCHES);
	grove_close(w->g);
	w->g = world_grove(w);
	snprintf(path, sizeof(path), "%s/--p--/s.jsonl", real);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	GOT(w, grove_session_lease_take(s, "me", 1000, NULL), GROVE_EACCESS);
	/* agents follow such a link, and so do we with what is theirs */
	user(w, s, "hello");
	assert_int_equal(lines_in(path), 7);
	grove_session_close(s);
	snprintf(path, sizeof(path), "%s/outside", w->dir);
	assert_int_equal(entries_in(path), 2);
}

/* --------------------------------------------------------------- permissions */

static int check_mode(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D && (st->st_mode & 07777) != 0700)
		fail_msg("%s has mode %o", path, (unsigned)st->st_mode & 07777);
	if (type == FTW_F && (st->st_mode & 07777) != 0600)
		fail_msg("%s has mode %o", path, (unsigned)st->st_mode & 07777);
	return 0;
}

static void what_is_new_is_its_owners_alone(void **state)
{
	struct world *w = *state;
	static const char *const dialects[] = { "pi", "xcsh", "omp", "claude" };
	mode_t mask = umask(0);
	struct grove_blobs *blobs;
	char home[8300], ref[GROVE_BLOB_REF_MAX];

	OK(w, grove_blobs_open(w->g, NULL, &blobs));
	for (size_t i = 0; i < 4; i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = dialects[i] };
		struct grove_archive_options a = { .size = sizeof(a) };
		struct grove_session *s, *t;

		OK(w, grove_session_create(w->g, &o, &s));
		user(w, s, "hello");
		OK(w, grove_session_ensure(s));
		if (i)
			OK(w, attach(s, "0.bash.log", "x"));
		if (i == 1 || i == 2)
			OK(w, grove_blobs_put(blobs, text("bytes"), NULL, ref, NULL));
		OK(w, grove_session_lease_take(s, "me", 10, NULL));
		OK(w, grove_session_lease_release(s));
		OK(w, grove_session_fork(s, &(struct grove_fork_options){ .size = sizeof(struct grove_fork_options) }, &t));
		grove_session_close(t);
		OK(w, grove_archive(w->g, grove_session_path(s), &a, NULL));
		grove_session_close(s);
	}
	grove_blobs_close(blobs);
	snprintf(home, sizeof(home), "%s/home", w->dir);
	assert_int_equal(nftw(home, check_mode, 16, FTW_PHYS), 0);
	umask(mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_a_session_says_is_no_path),
		WORLD_TEST(a_file_whose_directory_would_be_another_has_none),
		WORLD_TEST(names_of_attachments_stay_in_their_directory),
		WORLD_TEST(nothing_is_kept_behind_a_link_out_of_the_store),
		WORLD_TEST(a_link_that_stays_in_the_store_may_be_followed),
		WORLD_TEST(a_link_deeper_down_leads_nowhere_either),
		WORLD_TEST(a_lease_is_not_left_behind_a_link_out_of_the_store),
		WORLD_TEST(what_is_new_is_its_owners_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
