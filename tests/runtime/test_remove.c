/*
 * tests/runtime/test_remove.c: deleting a session also deletes the files that
 * belong to it, and nothing else.
 */
#include "runtime.h"

#define XCSH ".xcsh/agent"
#define OMP ".omp/agent"
#define NOTES "/terminal-sessions/"

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables };

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->home, sizeof(w->home), "%s/home", w->dir);
	snprintf(w->cwd, sizeof(w->cwd), "%s/w", w->dir);
	assert_int_equal(mkdir(w->home, 0700), 0);
	assert_int_equal(mkdir(w->cwd, 0700), 0);
	o.home = w->home;
	o.cwd = w->cwd;
	OK(NULL, grove_open(&o, &w->g));
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static struct grove_session *made(struct world *w, const char *dialect)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .dialect = dialect };
	struct grove_session *s;

	OK(w->g, grove_session_create(w->g, &o, &s));
	say(s, "{\"role\":\"user\",\"content\":\"x\"}");
	return s;
}

/* Returns a path below home and creates its directories. It stays valid for the next few calls. */
static const char *at_home(const struct world *w, const char *a, const char *b)
{
	static char path[8][1000];
	static unsigned turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s%s", w->home, a, b);
	for (char *q = p + strlen(w->home) + 1; (q = strchr(q, '/')); q++) {
		*q = '\0';
		mkdir(p, 0700);
		*q = '/';
	}
	return p;
}

static void note(const struct world *w, const char *agent, const char *terminal,
		 const char *session)
{
	char text[3000], name[100];

	snprintf(text, sizeof(text), "%s\n%s\n", w->cwd, session);
	snprintf(name, sizeof(name), NOTES "%s", terminal);
	file_make(at_home(w, agent, name), text);
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

/* Returns the path of the directory that has the session's name. */
static const char *beside(const char *path)
{
	static char dir[4200];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strlen(path) - strlen(".jsonl")), path);
	return dir;
}

static void terminals_forget_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = made(w, "xcsh"), *t = made(w, "xcsh");
	char path[4200];

	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	note(w, XCSH, "pts-1", path);
	note(w, XCSH, "kitty-7", path);
	note(w, OMP, "pts-1", path);
	note(w, XCSH, "pts-2", grove_session_path(t));
	file_make(at_home(w, XCSH, NOTES "odd"), "nothing that makes sense");
	grove_session_close(s);
	OK(w->g, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(path));
	assert_dir(at_home(w, XCSH, "/terminal-sessions"), "odd pts-2 ");
	assert_dir(at_home(w, OMP, "/terminal-sessions"), "");
	/* what could not be deleted is remembered */
	GOT(w->g, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH), GROVE_ENOTFOUND);
	assert_dir(at_home(w, XCSH, "/terminal-sessions"), "odd pts-2 ");
	grove_session_close(t);
}

static void what_is_no_session_stays_and_is_remembered(void **state)
{
	struct world *w = *state;
	const char *path = at_home(w, "", "notes.jsonl");

	file_make(path, "{\"my\":\"notes\"}\n");
	note(w, XCSH, "pts-1", path);
	GOT(w->g, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH), GROVE_EDAMAGED);
	assert_true(is_there(path));
	assert_dir(at_home(w, XCSH, "/terminal-sessions"), "pts-1 ");
}

static void put_beside(struct grove_session *s, const char *name, const char *bytes)
{
	char path[8500];
	int n = snprintf(path, sizeof(path), "%s", beside(grove_session_path(s)));

	mkdir(path, 0700);
	for (const char *p = name; (p = strchr(p + 1, '/'));) {
		snprintf(path + n, sizeof(path) - (size_t)n, "%.*s", (int)(p - name), name);
		mkdir(path, 0700);
	}
	snprintf(path + n, sizeof(path) - (size_t)n, "%s", name);
	file_make(path, bytes);
}

static void its_directory_and_its_lease_go_and_blobs_stay(void **state)
{
	struct world *w = *state;
	struct grove_session *s = made(w, "xcsh"), *t = made(w, "xcsh");
	struct grove_blobs *blobs;
	struct grove_buf bytes = GROVE_BUF_INIT;
	char path[4200], dir[4200], other[4200], ref[GROVE_BLOB_REF_MAX];

	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	snprintf(dir, sizeof(dir), "%s", beside(path));
	snprintf(other, sizeof(other), "%s", beside(grove_session_path(t)));
	put_beside(s, "/0.bash.log", "printed");
	put_beside(t, "/0.bash.log", "printed");
	OK(w->g, grove_blobs_open(w->g, NULL, &blobs));
	OK(w->g, grove_blobs_put(blobs, text("an image"), NULL, ref, NULL));
	OK(w->g, grove_session_lease_take(s, "me", 600000, NULL));
	assert_true(is_there(dir));
	grove_session_close(s);
	OK(w->g, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(path));
	assert_false(is_there(dir));
	assert_true(is_there(other));
	OK(w->g, grove_blobs_get(blobs, ref, &bytes));
	grove_buf_release(&bytes);
	grove_blobs_close(blobs);
	/* nothing else of it is left; the other session and its directory are there */
	*strrchr(path, '/') = '\0';
	{
		char names[8500];

		snprintf(names, sizeof(names), "%s %s.jsonl ", strrchr(other, '/') + 1,
			 strrchr(other, '/') + 1);
		assert_dir(path, names);
	}
	grove_session_close(t);
}

static void its_sub_agents_go_with_it(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .dialect = "claude" };
	struct grove_session *s;
	char path[4200], sub[4300];

	OK(w->g, grove_session_create(w->g, &o, &s));
	say(s, "{\"role\":\"user\",\"content\":\"x\"}");
	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	put_beside(s, "/subagents/agent-a1.meta.json", "{\"agentType\":\"scout\"}");
	snprintf(sub, sizeof(sub), "%s/subagents/agent-a1.jsonl", beside(path));
	file_make(sub, "{}\n");
	grove_session_close(s);
	OK(w->g, grove_remove(w->g, path, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(sub));
	assert_false(is_there(beside(path)));
}

/* With a `trash` program everything is moved there, and nothing is left behind. */
static void the_trash_gets_all_of_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = made(w, "xcsh");
	char path[4200], before[4000], with[5000], script[1000];
	const char *bin = at_home(w, "bin", "/trash");

	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	put_beside(s, "/0.bash.log", "printed");
	OK(w->g, grove_session_lease_take(s, "me", 600000, NULL));
	note(w, XCSH, "pts-1", path);
	grove_session_close(s);
	snprintf(script, sizeof(script), "#!/bin/sh\nmkdir -p '%s/can' && mv \"$1\" '%s/can/'\n", w->home,
		 w->home);
	file_make(bin, script);
	assert_int_equal(chmod(bin, 0700), 0);
	snprintf(before, sizeof(before), "%s", getenv("PATH"));
	snprintf(with, sizeof(with), "%s/bin:%s", w->home, before);
	setenv("PATH", with, 1);
	OK(w->g, grove_remove(w->g, path, 0));
	setenv("PATH", before, 1);
	assert_dir(at_home(w, XCSH, "/terminal-sessions"), "");
	*strrchr(path, '/') = '\0';
	assert_dir(path, "");
	assert_true(is_there(at_home(w, "can", "")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(terminals_forget_it),
		TEST(what_is_no_session_stays_and_is_remembered),
		TEST(its_directory_and_its_lease_go_and_blobs_stay),
		TEST(its_sub_agents_go_with_it),
		TEST(the_trash_gets_all_of_it),
	};

	return cmocka_run_group_tests_name("remove", tests, NULL, NULL);
}
