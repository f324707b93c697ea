/*
 * tests/runtime/test_files.c: watching files that are written by programs that
 * do not use grove.
 */
#include "runtime.h"
#include "../lib/calls.h"

#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
#define ENTRY(id, parent, words) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent \
	",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"" words "\"}}\n"
#define LOG HEADER ENTRY("a", "null", "one") ENTRY("b", "\"a\"", "two")

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
	o.home = o.cwd = w->dir;
	OK(NULL, grove_open(&o, &w->g));
	snprintf(w->url, sizeof(w->url), "%s/s.jsonl", w->dir);
	file_make(w->url, LOG);
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

static struct grove_watch *watch(struct world *w, uint64_t since)
{
	struct grove_watch *x;

	OK(w->g, watch_one(w->g, w->url, since, &x));
	return x;
}

/* Asserts all events that are ready now, as "append:a leaf:b rename"; returns the last rev. */
static uint64_t assert_told(struct grove_watch *x, const char *want)
{
	char got[2048] = "";
	struct grove_event e = { .size = sizeof(e) };
	uint64_t rev = 0;
	size_t n = 0;
	int rc;

	while (!(rc = grove_watch_next(x, 0, &e))) {
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s%s%s", n ? " " : "",
				      grove_event_name(e.kind), e.entry_id ? ":" : "",
				      e.entry_id ? e.entry_id : "");
		rev = e.rev;
	}
	assert_string_equal(got, want);
	assert_true(rc == 1 || (rc == GROVE_ENOTFOUND && strstr(want, "delete")));
	return rev;
}

static void a_line_is_told_when_it_is_whole(void **state)
{
	static const char line[] = ENTRY("c", "\"b\"", "three");
	struct world *w = *state;
	struct grove_watch *x = watch(w, GROVE_REV_NOW), *y;
	uint64_t rev;

	file_put(w->url, O_APPEND, line, 20);
	assert_told(x, "");
	file_put(w->url, O_APPEND, line + 20, 20);
	assert_told(x, "");
	file_put(w->url, O_APPEND, line + 40, strlen(line) - 40);
	rev = assert_told(x, "append:c");
	/* a watch that resumes after that reports it once */
	y = watch(w, rev);
	assert_told(y, "");
	grove_watch_close(y);
	y = watch(w, rev - 1);
	assert_told(y, "append:c");
	grove_watch_close(y);
	grove_watch_close(x);
}

static void what_was_changed_in_a_new_file_is_told(void **state)
{
	struct world *w = *state;
	struct grove_watch *x = watch(w, GROVE_REV_NOW), *y;
	char temp[600];
	uint64_t rev;

	snprintf(temp, sizeof(temp), "%s/s.tmp", w->dir);
	file_make(temp, HEADER ENTRY("a", "null", "changed") ENTRY("b", "\"a\"", "two")
			ENTRY("c", "\"b\"", "three"));
	assert_int_equal(rename(temp, w->url), 0);
	rev = assert_told(x, "update:a append:c");
	y = watch(w, rev);
	assert_told(y, "");
	grove_watch_close(y);
	/* another header is another fact about the session */
	file_make(temp, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"cwd\":\"/x\"}\n"
			ENTRY("a", "null", "changed") ENTRY("b", "\"a\"", "two")
			ENTRY("c", "\"b\"", "three"));
	assert_int_equal(rename(temp, w->url), 0);
	assert_told(x, "update");
	/* entries that are gone, or others in their place: everything must be read again */
	file_make(temp, HEADER ENTRY("z", "null", "one") ENTRY("b", "\"z\"", "two"));
	assert_int_equal(rename(temp, w->url), 0);
	assert_told(x, "reset");
	file_add(w->url, ENTRY("y", "\"b\"", "three"));
	assert_told(x, "append:y");
	/* who was away cannot know what was changed */
	y = watch(w, rev);
	assert_told(y, "reset");
	grove_watch_close(y);
	grove_watch_close(x);
}

static void a_file_that_is_written_anew_in_its_place_is_a_reset(void **state)
{
	struct world *w = *state;
	struct grove_watch *x = watch(w, GROVE_REV_NOW);

	file_put(w->url, O_TRUNC, HEADER ENTRY("z", "null", "one"), strlen(HEADER ENTRY("z", "null", "one")));
	assert_told(x, "reset");
	file_add(w->url, ENTRY("y", "\"z\"", "two"));
	assert_told(x, "append:y");
	/* for a moment the file is empty */
	file_put(w->url, O_TRUNC, "", 0);
	assert_told(x, "");
	file_add(w->url, LOG);
	assert_told(x, "reset");
	file_add(w->url, ENTRY("c", "\"b\"", "three"));
	assert_told(x, "append:c");
	grove_watch_close(x);
}

static void a_file_that_is_gone_and_comes_back_is_a_reset(void **state)
{
	struct world *w = *state;
	struct grove_watch *x = watch(w, GROVE_REV_NOW);

	assert_int_equal(unlink(w->url), 0);
	file_make(w->url, HEADER ENTRY("q", "null", "one"));
	assert_told(x, "reset");
	assert_int_equal(unlink(w->url), 0);
	assert_told(x, "delete");
	grove_watch_close(x);
}

/* oh-my-pi overwrites the name of a session in place. */
static void a_name_in_a_slot_is_told(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .dialect = "omp" };
	struct grove_session *s;
	struct grove_event e = { .size = sizeof(e) };
	struct grove_watch *x;
	bool renamed = false;

	OK(w->g, grove_session_create(w->g, &o, &s));
	add(s, "a", "user");
	OK(w->g, watch_one(w->g, grove_session_path(s), GROVE_REV_NOW, &x));
	OK(w->g, grove_session_set_name(s, "a name", GROVE_NAME_BY_USER, NULL));
	while (!grove_watch_next(x, 0, &e))
		renamed |= e.kind == GROVE_EVENT_RENAME;
	assert_true(renamed);
	add(s, "b", "assistant");
	assert_told(x, "append:b");
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_file_with_a_slot_may_be_empty_for_a_moment(void **state)
{
	static const char slot[] = "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"updatedAt\":"
				   "\"2026-01-01T00:00:00.000Z\",\"pad\":\"      \"}\n";
	char whole[sizeof(slot) + sizeof(LOG)];
	struct world *w = *state;
	struct grove_watch *x;

	snprintf(whole, sizeof(whole), "%s%s", slot, LOG);
	file_put(w->url, O_TRUNC, whole, strlen(whole));
	x = watch(w, GROVE_REV_NOW);
	file_put(w->url, O_TRUNC, "", 0);
	assert_told(x, "");
	file_put(w->url, O_TRUNC, "{", 1);
	assert_told(x, "");
	file_put(w->url, O_TRUNC, whole, strlen(whole));
	assert_told(x, "");
	file_add(w->url, ENTRY("c", "\"b\"", "three"));
	assert_told(x, "append:c");
	grove_watch_close(x);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_line_is_told_when_it_is_whole),
		TEST(what_was_changed_in_a_new_file_is_told),
		TEST(a_file_that_is_written_anew_in_its_place_is_a_reset),
		TEST(a_file_that_is_gone_and_comes_back_is_a_reset),
		TEST(a_name_in_a_slot_is_told),
		TEST(a_file_with_a_slot_may_be_empty_for_a_moment),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
