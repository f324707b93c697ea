/*
 * tests/unit/test_xcsh_names.c: ids and directories of xcsh and oh-my-pi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/xcsh.h"
#include "session/session.h"

/* A world of names: variables, links, and what is there. */
struct world {
	const char *const *variables;    /* name, value …, NULL */
	const char *const *links;        /* path, real path …, NULL */
	const char *const *there;        /* …, NULL */
};

static const char *const nothing[] = { NULL };

static const char *lookup(const char *const *pairs, const char *name)
{
	for (; *pairs; pairs += 2)
		if (!strcmp(pairs[0], name))
			return pairs[1];
	return NULL;
}

static const char *get(void *payload, const char *name)
{
	return lookup(((struct world *)payload)->variables, name);
}

static int real(void *payload, const char *path, struct grove_buf *out)
{
	const char *to = lookup(((struct world *)payload)->links, path);

	return to ? grove__buf_add_str(out, to) : 1;
}

static bool is_there(void *payload, const char *path)
{
	for (const char *const *p = ((struct world *)payload)->there; *p; p++)
		if (!strcmp(*p, path))
			return true;
	return false;
}

static struct grove__env env_of(struct world *w, const char *home)
{
	w->variables = w->variables ? w->variables : nothing;
	w->links = w->links ? w->links : nothing;
	w->there = w->there ? w->there : nothing;
	return (struct grove__env){ .home = home, .cwd = "/here", .getenv = get, .getenv_payload = w,
				    .realpath = real, .exists = is_there, .file_payload = w };
}

static void assert_project(const struct grove__env *env, const char *cwd, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__xcsh_project(env, cwd, &b), 0);
	assert_string_equal(b.ptr, want);
	grove__buf_release(&b);
}

static void a_directory_has_the_name_that_xcsh_gives_it(void **state)
{
	static const struct {
		const char *home, *cwd, *name;
	} cases[] = {
		{ "/home/me", "/", "----" },
		{ "/home/me", "/root", "--root--" },
		{ "/home/me", "/home/me", "-" },
		{ "/home/me", "/home/me/", "-" },
		{ "/home/me", "/home/me/a/b.c:d", "-a-b.c-d" },
		{ "/home/me", "/home/me/a/./x/../b", "-a-b" },
		{ "/home/me", "/home/me/tmp", "-tmp" },
		{ "/home/me", "/home/meme", "--home-meme--" },
		{ "/home/me", "/home/me/..a", "--home-me-..a--" },
		{ "/home/me", "/home/me/x/..a", "-x-..a" },
		{ "/home/me", "/home", "--home--" },
		{ "/home/me", "/tmp", "-tmp" },
		{ "/home/me", "/tmp/x y/z", "-tmp-x y-z" },
		{ "/home/me", "/tmpx", "--tmpx--" },
		{ "/home/me", "/opt/a/b", "--opt-a-b--" },
		{ "/home/me", "/opt/a\\b", "--opt-a-b--" },
		{ "/home/me", "/opt/日本", "--opt-日本--" },
		{ "/home/me", "x", "--here-x--" },
		{ "/tmp/me", "/tmp/me/x", "-x" },
		{ "/", "/opt/a", "-opt-a" },
		{ "/", "/", "-" },
	};
	struct world w = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove__env env = env_of(&w, cases[i].home);

		assert_project(&env, cases[i].cwd, cases[i].name);
	}
}

static void links_are_followed_before_a_name_is_given(void **state)
{
	static const char *const links[] = {
		"/home/me", "/data/me", "/w/link", "/data/me/p", "/tmp", "/private/tmp",
		"/w/t", "/private/tmp/t", "/w/o", "/opt/o", NULL,
	};
	struct world w = { .links = links };
	struct grove__env env = env_of(&w, "/home/me");

	(void)state;
	assert_project(&env, "/w/link", "-p");
	assert_project(&env, "/w/t", "-tmp-t");
	assert_project(&env, "/w/o", "--opt-o--");
	assert_project(&env, "/home/me", "-");
	/* what is not there has no real path, and is not below one */
	assert_project(&env, "/home/me/gone", "--home-me-gone--");
}

static void the_temporary_directory_is_the_one_of_the_environment(void **state)
{
	static const char *const first[] = { "TMPDIR", "/t/1/", "TMP", "/t/2", NULL };
	static const char *const second[] = { "TMPDIR", "", "TMP", "/t/2", "TEMP", "/t/3", NULL };
	static const char *const third[] = { "TEMP", "/t/3", NULL };
	struct world w = { .variables = first };
	struct grove__env env = env_of(&w, "/home/me");

	(void)state;
	assert_project(&env, "/t/1/x", "-tmp-x");
	assert_project(&env, "/tmp/x", "--tmp-x--");
	w.variables = second;
	assert_project(&env, "/t/2", "-tmp");
	w.variables = third;
	assert_project(&env, "/t/3/x", "-tmp-x");
}

static int join(void *payload, const char *text)
{
	return grove__buf_addf(payload, "%s\n", text);
}

static void earlier_generations_had_other_names(void **state)
{
	static const char *const links[] = { "/home/me", "/data/me", "/data/me/p", "/data/me/p",
					     "/w/link", "/data/me/p", NULL };
	struct world w = { .links = links };
	struct grove__env env = env_of(&w, "/home/me");
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__xcsh_old_projects(&env, "/w/x/../link", join, &b), 0);
	assert_string_equal(b.ptr, "--w-link--\n--w-x-..-link--\n--data-me-p--\n--home-me-p--\n");
	grove__buf_clear(&b);
	assert_int_equal(grove__xcsh_old_projects(&env, "/home/me", join, &b), 0);
	assert_string_equal(b.ptr, "--home-me--\n--home-me--\n--data-me--\n--home-me--\n");
	grove__buf_release(&b);
}

static int join_root(void *payload, const char *agent, const char *dir, bool flat)
{
	return grove__buf_addf(payload, "%s %s%s\n", agent, dir, flat ? " flat" : "");
}

static void assert_roots(struct grove__env *env, const char *xcsh, const char *omp)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__dialect_xcsh.paths.roots(env, join_root, &b), 0);
	assert_string_equal(b.ptr, xcsh);
	grove__buf_clear(&b);
	assert_int_equal(grove__dialect_omp.paths.roots(env, join_root, &b), 0);
	assert_string_equal(b.ptr, omp);
	grove__buf_release(&b);
}

static void sessions_are_where_the_environment_says(void **state)
{
	static const char *const config[] = { "PI_CONFIG_DIR", ".x", NULL };
	static const char *const agent[] = { "PI_CODING_AGENT_DIR", "../a", "XDG_DATA_HOME", "/d", NULL };
	static const char *const xdg[] = { "XDG_DATA_HOME", "/d", NULL };
	static const char *const there[] = { "/d/xcsh", NULL };
	static const char *const both[] = { "/d/xcsh", "/home/me/.xcsh/agent/sessions", NULL };
	struct world w = { 0 };
	struct grove__env env = env_of(&w, "/home/me");

	(void)state;
	assert_roots(&env, "xcsh /home/me/.xcsh/agent/sessions\n", "omp /home/me/.omp/agent/sessions\n");
	w.variables = config;
	assert_roots(&env, "xcsh /home/me/.x/agent/sessions\n", "omp /home/me/.x/agent/sessions\n");
	w.variables = xdg;
	assert_roots(&env, "xcsh /home/me/.xcsh/agent/sessions\n", "omp /home/me/.omp/agent/sessions\n");
	w.there = there;
	assert_roots(&env, "xcsh /d/xcsh/sessions\n", "omp /home/me/.omp/agent/sessions\n");
	w.there = both;
	assert_roots(&env, "xcsh /d/xcsh/sessions\nxcsh /home/me/.xcsh/agent/sessions\n",
		     "omp /home/me/.omp/agent/sessions\n");
	w.variables = agent;
	assert_roots(&env, "xcsh /a/sessions\n", "omp /a/sessions\n");
}

static void assert_omp_dirs(struct world *w, const char *const *variables, const char *data,
			    const char *state_dir)
{
	struct grove__env env;
	struct grove_buf b = GROVE_BUF_INIT;

	w->variables = variables;
	env = env_of(w, "/home/me");
	assert_int_equal(grove__xcsh_data_dir(&env, "omp", &b), 0);
	assert_string_equal(b.ptr, data);
	grove__buf_clear(&b);
	assert_int_equal(grove__xcsh_state_dir(&env, "omp", &b), 0);
	assert_string_equal(b.ptr, state_dir);
	grove__buf_release(&b);
}

#define PLAIN "/home/me/.omp/agent"
#define PROFILE "/home/me/.omp/profiles/pp/agent"

static void oh_my_pi_has_profiles(void **state)
{
	static const char *const there[] = { "/d/omp", "/s/omp/profiles/pp", "/e/omp/profiles/pp", NULL };
	static const struct {
		const char *variables[9];
		const char *data, *state;
	} cases[] = {
		{ { "OMP_PROFILE", "pp" }, PROFILE, PROFILE },
		{ { "PI_PROFILE", " pp\n" }, PROFILE, PROFILE },
		{ { "OMP_PROFILE", "pp", "PI_PROFILE", "q" }, PROFILE, PROFILE },
		{ { "OMP_PROFILE", "", "PI_PROFILE", "q" }, PLAIN, PLAIN },
		{ { "OMP_PROFILE", "default", "PI_PROFILE", "q" }, PLAIN, PLAIN },
		{ { "OMP_PROFILE", "A b", "PI_PROFILE", "q" }, PLAIN, PLAIN },
		{ { "OMP_PROFILE", "pp", "PI_CONFIG_DIR", ".zz" }, "/home/me/.zz/profiles/pp/agent",
		  "/home/me/.zz/profiles/pp/agent" },
		{ { "OMP_PROFILE", "pp", "PI_CODING_AGENT_DIR", "/x" }, PROFILE, PROFILE },
		{ { "OMP_PROFILE", "default", "PI_CODING_AGENT_DIR", "/x" }, "/x", "/x" },
		{ { "OMP_PROFILE", "pp", "XDG_DATA_HOME", "/d", "XDG_STATE_HOME", "/s" }, PROFILE,
		  "/s/omp/profiles/pp" },
		{ { "OMP_PROFILE", "pp", "XDG_DATA_HOME", "/e", "PI_CODING_AGENT_DIR", "/x" },
		  "/e/omp/profiles/pp", PROFILE },
		{ { "XDG_DATA_HOME", "/d" }, "/d/omp", PLAIN },
	};
	struct world w = { .there = there };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_omp_dirs(&w, cases[i].variables, cases[i].data, cases[i].state);
}

static void a_profile_has_a_plain_name(void **state)
{
	static const char *const good[] = { "pp", "1", "a.b", "a_b-c", "a..b", "a-", "com10", "conx", "default.x" };
	static const char *const bad[] = { "PP", "-a", ".a", "_a", "a.", "a b", "..", "../x", "a/b", "é", "con",
					   "con.x", "com0", "lpt9", "nul", "Default" };
	char name[80], want[160];
	const char *variables[] = { "OMP_PROFILE", name, NULL };
	struct world w = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(name, sizeof(name), "%s", good[i]);
		snprintf(want, sizeof(want), "/home/me/.omp/profiles/%s/agent", name);
		assert_omp_dirs(&w, variables, want, want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(name, sizeof(name), "%s", bad[i]);
		assert_omp_dirs(&w, variables, PLAIN, PLAIN);
	}
	memset(name, 'a', 65);
	name[65] = '\0';
	assert_omp_dirs(&w, variables, PLAIN, PLAIN);
	name[64] = '\0';
	snprintf(want, sizeof(want), "/home/me/.omp/profiles/%s/agent", name);
	assert_omp_dirs(&w, variables, want, want);
}

static void xcsh_has_no_profiles(void **state)
{
	static const char *const variables[] = { "OMP_PROFILE", "pp", "PI_PROFILE", "pp", NULL };
	struct world w = { .variables = variables };
	struct grove__env env = env_of(&w, "/home/me");

	(void)state;
	assert_roots(&env, "xcsh /home/me/.xcsh/agent/sessions\n", "omp " PROFILE "/sessions\n");
}

static void a_session_id_is_a_snowflake(void **state)
{
	const uint8_t random[8] = { 0 };
	char id[40], later[40];

	(void)state;
	/* 2026-11-15T02:23:46.857Z, from a file that xcsh wrote */
	grove__xcsh_session_id(1794709426857, 0x3cde10, random, id);
	assert_int_equal(strlen(id), 16);
	assert_int_equal(grove__xcsh_session_id_time(grove__slice_str(id)), 1794709426857);
	assert_string_equal(id + 11, "cde10");
	grove__xcsh_session_id(1794709426857, 0x3cde11, random, later);
	assert_true(strcmp(id, later) < 0);
	grove__xcsh_session_id(1794709426858, 0, random, later);
	assert_true(strcmp(id, later) < 0);
	grove__xcsh_session_id(1420070400000, UINT64_MAX, random, id);
	assert_string_equal(id, "00000000003fffff");
	assert_int_equal(grove__xcsh_session_id_time(grove__slice_str("0123")), GROVE_NO_TIME);
	assert_int_equal(grove__xcsh_session_id_time(grove__slice_str("0123456789abcdeF")), GROVE_NO_TIME);
	assert_int_equal(grove__xcsh_session_id_time(grove__slice_str("0123456789abcdeg")), GROVE_NO_TIME);
}

static void ids_of_one_handle_only_grow(void **state)
{
	static const struct grove__dialect *const dialects[] = { &grove__dialect_xcsh, &grove__dialect_omp,
								 &grove__dialect_pi };

	(void)state;
	for (size_t i = 0; i < sizeof(dialects) / sizeof(*dialects); i++) {
		struct grove g = { .lock = PTHREAD_MUTEX_INITIALIZER };
		char before[40] = "", id[40];

		/* the clock stands still, and the counter is about to begin anew */
		g.last_ms = (int64_t)1 << 42;
		g.id_seq = ((uint64_t)1 << 41) - 3;
		for (int k = 0; k < 8; k++) {
			grove__world_session_id(&g, dialects[i], id);
			assert_true(strcmp(before, id) < 0);
			memcpy(before, id, sizeof(id));
		}
		pthread_mutex_destroy(&g.lock);
	}
}

static void an_entry_id_is_hex(void **state)
{
	const uint8_t random[16] = { 0x01, 0xab, 0xff, 0x00, 0x10, 0x20, 0x30, 0x40 };
	char id[40];

	(void)state;
	assert_int_equal(grove__xcsh_entry_id(random, false, id), 8);
	assert_string_equal(id, "01abff00");
	assert_int_equal(grove__xcsh_entry_id(random, true, id), 16);
	assert_string_equal(id, "01abff0010203040");
}

static void assert_guess(const char *line, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;
	const struct grove__dialect *got;

	assert_int_equal(grove__buf_add_str(&b, line), 0);
	assert_int_equal(grove__buf_reserve(&b, GROVE__JSON_PAD), 0);
	got = grove__dialect_recognise(grove__buf_slice(&b));
	if (want)
		assert_string_equal(got ? got->name : "(none)", want);
	else
		assert_null(got);
	grove__buf_release(&b);
}

static void a_first_line_may_tell_the_dialect(void **state)
{
	(void)state;
	assert_guess("{\"type\":\"session\",\"version\":3,\"id\":\"abc\",\"cwd\":\"/w\"}", NULL);
	assert_guess("{\"type\":\"title\",\"v\":1,\"title\":\"\",\"pad\":\"\"}", "omp");
	assert_guess("{\"type\":\"session\",\"id\":\"x\",\"title\":\"T\",\"titleSource\":\"auto\"}", "xcsh");
	assert_guess("{\"type\":\"session\",\"id\":\"x\",\"title\":\"T\"}", "xcsh");
	assert_guess("{\"type\":\"session\",\"id\":\"x\",\"additionalDirectories\":[]}", "omp");
	assert_guess("{\"uuid\":\"u\",\"sessionId\":\"s\",\"type\":\"user\"}", "claude");
	/* an id that was made when the session was */
	assert_guess("{\"type\":\"session\",\"id\":\"15d058fd45bcde10\",\"timestamp\":\"2026-06-14T12:00:00.000Z\"}",
		     NULL);
	assert_guess("{\"type\":\"session\",\"id\":\"0000000000000001\",\"timestamp\":\"2015-01-01T00:00:00.000Z\"}",
		     "xcsh");
	assert_guess("{\"type\":\"session\",\"id\":\"0000000000000001\",\"timestamp\":\"2015-01-01T00:02:00.000Z\"}",
		     NULL);
	assert_guess("[1]", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_has_the_name_that_xcsh_gives_it),
		cmocka_unit_test(links_are_followed_before_a_name_is_given),
		cmocka_unit_test(the_temporary_directory_is_the_one_of_the_environment),
		cmocka_unit_test(earlier_generations_had_other_names),
		cmocka_unit_test(sessions_are_where_the_environment_says),
		cmocka_unit_test(oh_my_pi_has_profiles),
		cmocka_unit_test(a_profile_has_a_plain_name),
		cmocka_unit_test(xcsh_has_no_profiles),
		cmocka_unit_test(a_session_id_is_a_snowflake),
		cmocka_unit_test(ids_of_one_handle_only_grow),
		cmocka_unit_test(an_entry_id_is_hex),
		cmocka_unit_test(a_first_line_may_tell_the_dialect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
