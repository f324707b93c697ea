/*
 * tests/unit/test_xcsh_change.c: names, entries that are changed after they were
 * stored, and artifacts, in sessions of xcsh and oh-my-pi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/attach.h"
#include "../lib/xcsh_world.h"
#include "../lib/calls.h"

/* --------------------------------------------------------------------- names */

static void a_name_goes_into_the_header_and_every_other_line_stays(void **state)
{
	static const char rest[] = TALK "not json\n\n" ENTRY("u2", "\"a1\"", "user", "two \\u00e9") "  \t\n";
	static const char named[] =
		"{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"zzz\":[1, 2],\"title\":\"Caf\xc3\xa9 1\",\"titleSource\":\"user\"}\n";
	struct world *w = *state;
	struct grove_buf want = GROVE_BUF_INIT, from = GROVE_BUF_INIT;
	struct grove_session *s;
	const char *path;

	assert_int_equal(grove__buf_add_str(&from, HEADER), 0);
	grove__buf_cut(&from, from.len - 2);
	assert_int_equal(grove__buf_addf(&from, ",\"zzz\":[1, 2]}\n%s", rest), 0);
	assert_int_equal(grove__buf_addf(&want, "%s%s", named, rest), 0);
	path = put_file(w, "xcsh", from.ptr);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	OK(w, grove_session_set_name(s, " Caf\xc3\xa9\t \x1b 1 ", GROVE_NAME_BY_USER, NULL));
	assert_file(path, want.ptr);
	assert_name(w, s, "Caf\xc3\xa9 1");
	assert_name_on_disk(w, path, "Caf\xc3\xa9 1");
	/* another one keeps its place */
	OK(w, grove_session_set_name(s, "B", GROVE_NAME_BY_USER, NULL));
	assert_true(says(line_of(path, 0), "\"zzz\":[1, 2],\"title\":\"B\",\"titleSource\":\"user\"}"));
	user(w, s, "on");
	assert_int_equal(counts_of(w, s).malformed, 1);
	grove_session_close(s);
	grove__buf_release(&from);
	grove__buf_release(&want);
}

static void an_automatic_name_does_not_replace_the_users(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_session *s = start(w, both[i], GROVE_CREATE_NOW);
		char path[8192];
		struct grove_buf before;
		int applied = 5;

		snprintf(path, sizeof(path), "%s", grove_session_path(s));
		OK(w, name_session(s, "by itself", GROVE_NAME_BY_AGENT, &applied));
		assert_int_equal(applied, 1);
		OK(w, name_session(s, "by itself again", GROVE_NAME_BY_AGENT, &applied));
		assert_int_equal(applied, 1);
		assert_name_on_disk(w, path, "by itself again");
		OK(w, name_session(s, "mine", GROVE_NAME_BY_USER, &applied));
		assert_int_equal(applied, 1);
		before = file_bytes(path);
		OK(w, name_session(s, "by itself", GROVE_NAME_BY_AGENT, &applied));
		assert_int_equal(applied, 0);
		assert_file(path, before.ptr);
		assert_name(w, s, "mine");
		grove_session_close(s);
		/* nor when somebody else has the session */
		s = session_at(w, path, GROVE_OPEN_WRITE);
		OK(w, name_session(s, "by itself", GROVE_NAME_BY_AGENT, &applied));
		assert_int_equal(applied, 0);
		assert_file(path, before.ptr);
		OK(w, name_session(s, "mine again", GROVE_NAME_BY_USER, &applied));
		assert_int_equal(applied, 1);
		assert_name_on_disk(w, path, "mine again");
		GOT(w, name_session(s, "x", (enum grove_name_source)9, NULL), GROVE_EINVAL);
		grove__buf_release(&before);
		grove_session_close(s);
	}
}

static void a_name_given_before_there_is_a_file_is_in_it_later(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		bool slot = i == 1;
		struct grove_session *s = start(w, both[i], 0);
		const char *path = path_of(s);

		user(w, s, "one");
		OK(w, name_session(s, "early", GROVE_NAME_BY_AGENT, NULL));
		assert_false(is_there(path));
		assert_name(w, s, "early");
		say(w, s, REPLY);
		assert_name_on_disk(w, path, "early");
		if (slot)
			assert_true(says(line_of(path, 0), SLOT_HEAD "\"early\",\"source\":\"auto\","));
		else
			assert_true(says(line_of(path, 0), "\"title\":\"early\",\"titleSource\":\"auto\"}"));
		grove_session_close(s);
	}
}

/* A slot line of so many bytes. */
static void put_slot(struct grove_buf *b, const char *title, size_t len)
{
	size_t start = b->len;

	assert_int_equal(grove__buf_addf(b, SLOT_HEAD "\"%s\",\"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"pad\":\"", title), 0);
	while (b->len - start < len - 2)
		assert_int_equal(grove__buf_add_char(b, ' '), 0);
	assert_int_equal(grove__buf_add_str(b, "\"}\n"), 0);
}

static void a_slot_is_overwritten_in_its_place(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_buf file = GROVE_BUF_INIT, now;
		struct stat a, b;
		struct grove_session *s;
		const char *path;
		size_t head;

		put_slot(&file, "", 255);
		head = file.len;
		assert_int_equal(head, 256);
		assert_int_equal(grove__buf_add_str(&file, HEADER TALK "junk\n"), 0);
		path = put_file(w, both[i], file.ptr);
		assert_int_equal(stat(path, &a), 0);
		s = session_at(w, path, GROVE_OPEN_WRITE);
		assert_name(w, s, "");
		OK(w, name_session(s, "in its place", GROVE_NAME_BY_USER, NULL));
		assert_int_equal(stat(path, &b), 0);
		assert_int_equal(a.st_ino, b.st_ino);
		now = file_bytes(path);
		/* the header and all others stand where they stood, byte for byte */
		assert_true(now.len >= file.len);
		assert_memory_equal(now.ptr + head, file.ptr + head, file.len - head);
		assert_true(says(line_of(path, 0), SLOT_HEAD "\"in its place\",\"source\":\"user\",\"updatedAt\":\"2"));
		assert_int_equal(line_of(path, 0).len, 255);
		assert_name(w, s, "in its place");
		assert_name_on_disk(w, path, "in its place");
		/* the agent whose slot it is says so in an entry, too */
		if (i == 1) {
			assert_int_equal(lines_in(path), 6);
			assert_keys(line_of(path, 5), "type,id,parentId,timestamp,title,source");
		} else {
			assert_int_equal(now.len, file.len);
		}
		user(w, s, "on");
		OK(w, name_session(s, "again", GROVE_NAME_BY_USER, NULL));
		assert_name_on_disk(w, path, "again");
		if (i == 1)
			assert_keys(line_of(path, 7), "type,id,parentId,timestamp,title,source,previousTitle");
		grove__buf_release(&file);
		grove__buf_release(&now);
		grove_session_close(s);
	}
}

static void a_slot_holds_as_much_of_a_name_as_fits(void **state)
{
	static const struct {
		const char *unit;
		size_t times, fits; /* with a source of four letters 158 bytes fit */
	} cases[] = {
		{ "a", 158, 158 }, { "a", 159, 158 }, { "\xe6\x97\xa5", 60, 52 },
		{ "\xf0\x9f\x98\x80", 50, 39 }, { "\"", 100, 79 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_buf file = GROVE_BUF_INIT, name = GROVE_BUF_INIT, kept = GROVE_BUF_INIT;
		struct grove_session *s;
		const char *path;

		put_slot(&file, "", 255);
		assert_int_equal(grove__buf_add_str(&file, HEADER TALK), 0);
		path = put_file(w, "omp", file.ptr);
		for (size_t n = 0; n < cases[i].times; n++) {
			assert_int_equal(grove__buf_add_str(&name, cases[i].unit), 0);
			if (n < cases[i].fits)
				assert_int_equal(grove__buf_add_str(&kept, cases[i].unit), 0);
		}
		s = session_at(w, path, GROVE_OPEN_WRITE);
		OK(w, name_session(s, name.ptr, GROVE_NAME_BY_USER, NULL));
		assert_int_equal(line_of(path, 0).len, 255);
		assert_slice(line_of(path, 1), "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}");
		assert_name_on_disk(w, path, kept.ptr);
		assert_name(w, s, kept.ptr);
		grove_session_close(s);
		grove__buf_release(&file);
		grove__buf_release(&name);
		grove__buf_release(&kept);
	}
}

static void a_slot_of_another_length_is_not_overwritten_in_place(void **state)
{
	static const size_t lengths[] = { 100, 200, 254, 256, 300, 1000 };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct grove_buf file = GROVE_BUF_INIT;
		struct grove_session *s;
		const char *path;

		put_slot(&file, "", lengths[i]);
		assert_int_equal(file.len, lengths[i] + 1);
		assert_int_equal(grove__buf_add_str(&file, HEADER TALK), 0);
		path = put_file(w, "omp", file.ptr);
		s = session_at(w, path, GROVE_OPEN_WRITE);
		OK(w, name_session(s, "other", GROVE_NAME_BY_USER, NULL));
		assert_name(w, s, "other");
		grove_session_close(s);
		s = session_at(w, path, GROVE_OPEN_WRITE);
		/* the header is still a header, and the talk is all there */
		assert_string_equal(grove_session_id(s), "s1");
		assert_name(w, s, "other");
		assert_int_equal(counts_of(w, s).malformed, 0);
		assert_context(w, s, NULL, "\"one\"");
		user(w, s, "on");
		grove_session_close(s);
		grove__buf_release(&file);
	}
}

static void the_slot_names_before_the_header_does(void **state)
{
	struct world *w = *state;
	struct grove_buf file = GROVE_BUF_INIT;
	struct grove_session *s;
	const char *path;

	put_slot(&file, "by slot", 255);
	assert_int_equal(grove__buf_add_str(&file, HEADER), 0);
	grove__buf_cut(&file, file.len - 2);
	assert_int_equal(grove__buf_add_str(&file, ",\"title\":\"by header\"}\n" TALK), 0);
	path = put_file(w, "xcsh", file.ptr);
	assert_name_on_disk(w, path, "by slot");
	grove__buf_clear(&file);
	put_slot(&file, "", 255);
	assert_int_equal(grove__buf_add_str(&file, HEADER), 0);
	grove__buf_cut(&file, file.len - 2);
	assert_int_equal(grove__buf_add_str(&file, ",\"title\":\"by header\"}\n" TALK), 0);
	path = put_file(w, "xcsh", file.ptr);
	assert_name_on_disk(w, path, "by header");
	/* where nobody named it, its last short summary does */
	path = put_file(w, "xcsh", HEADER TALK
			"{\"type\":\"compaction\",\"id\":\"c1\",\"parentId\":\"a1\"" STAMP ",\"summary\":\"long\",\"shortSummary\":\"short 1\",\"firstKeptEntryId\":\"a1\",\"tokensBefore\":1}\n"
			"{\"type\":\"compaction\",\"id\":\"c2\",\"parentId\":\"c1\"" STAMP ",\"summary\":\"long\",\"shortSummary\":\"short 2\",\"firstKeptEntryId\":\"a1\",\"tokensBefore\":1}\n");
	assert_name_on_disk(w, path, "short 2");
	s = session_at(w, path, GROVE_OPEN_WRITE);
	OK(w, name_session(s, "better", GROVE_NAME_BY_AGENT, NULL));
	assert_name_on_disk(w, path, "better");
	grove_session_close(s);
	grove__buf_release(&file);
}

static void a_name_in_a_slot_survives_a_failing_disk(void **state)
{
	struct world *w = *state;
	struct grove_buf file = GROVE_BUF_INIT;
	struct grove_session *s;
	struct before b;
	const char *path;

	put_slot(&file, "old", 255);
	assert_int_equal(grove__buf_add_str(&file, HEADER TALK), 0);
	path = put_file(w, "omp", file.ptr);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	remember(w, s, &b);
	fail_at("pwrite", EIO, 0, 1);
	GOT(w, name_session(s, "new", GROVE_NAME_BY_USER, NULL), GROVE_EIO);
	all_is_well();
	assert_name(w, s, "old");
	assert_latched(w, s, GROVE_EIO);
	assert_unchanged(w, s, &b);
	grove_session_close(s);
	assert_works_again(w, path, 4);
	assert_name_on_disk(w, path, "old");
	grove__buf_release(&file);
}

/* ------------------------------------------------------------------- changes */

#define CALL MESSAGE("a2", "\"u1\"", "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"toolCall\",\"id\":\"t1\",\"name\":\"bash\",\"arguments\":{\"command\":\"rm -r /\", \"n\":1.0}}],\"provider\":\"p\"}")

#define RESULT MESSAGE("r1", "\"a2\"", "{\"role\":\"toolResult\",\"toolCallId\":\"t1\",\"toolName\":\"bash\",\"content\":[]}")

static void the_arguments_of_a_call_are_replaced_and_nothing_else(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		const char *path = put_file(w, both[i], HEADER "bad\n" ENTRY("u1", "null", "user", "one") CALL "  \n" RESULT);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

		OK(w, grove_session_update(s, "a2", "/message/content/1/arguments", "{ \"command\" : \"ls\\u0020-l\" }"));
		assert_file(path, HEADER "bad\n" ENTRY("u1", "null", "user", "one")
			    MESSAGE("a2", "\"u1\"", "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"toolCall\",\"id\":\"t1\",\"name\":\"bash\",\"arguments\":{\"command\":\"ls -l\"}}],\"provider\":\"p\"}")
			    "  \n" RESULT);
		assert_context(w, s, NULL, "\"arguments\":{\"command\":\"ls -l\"}");
		assert_leaf(s, "r1");
		user(w, s, "on");
		grove_session_close(s);
	}
}

static void what_others_go_by_cannot_be_changed(void **state)
{
	static const char file[] = HEADER TALK ENTRY("u2", "\"a1\"", "user", "two")
		"{\"type\":\"later\",\"id\":\"x1\",\"parentId\":\"u2\"" STAMP "}\n"
		ENTRY("o1", "\"gone\"", "user", "orphan");
	static const struct {
		const char *id, *pointer, *value;
	} cases[] = {
		{ "u2", "/id", "\"u9\"" },       { "u2", "/id", "5" },
		{ "u2", "/parentId", "\"u1\"" }, { "u2", "/parentId", "null" },
		{ "u1", "/parentId", "\"a1\"" }, { "u1", "/parentId", "\"u2\"" },
		{ "u1", "/parentId", "5" },
		{ "u2", "/type", "\"custom\"" }, { "u2", "/type", "null" },
		{ "x1", "/type", "\"message\"" }, { "o1", "/id", "\"u1\"" },
		{ "u2", "", "{\"type\":\"message\",\"id\":\"u2\",\"parentId\":\"u1\"}" },
	};
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", file);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int rc = grove_session_update(s, cases[i].id, cases[i].pointer, cases[i].value);

		if (rc != GROVE_EINVAL)
			fail_msg("%s of %s became %s: %s", cases[i].pointer, cases[i].id,
				 cases[i].value, grove_error_name(rc));
		assert_file(path, file);
	}
	assert_int_equal(told.calls, 0);
	/* to what it is already, it may */
	OK(w, grove_session_update(s, "u2", "/parentId", "\"a1\""));
	OK(w, grove_session_update(s, "o1", "/parentId", "\"gone\""));
	OK(w, grove_session_update(s, "x1", "/type", "\"later\""));
	assert_file(path, file);
	grove_session_close(s);
}

static void a_picture_that_an_update_brings_goes_to_the_blobs(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	char *image = image_message("user", 1024, 'A');

	OK(w, grove_session_update(s, "u1", "/message", image));
	assert_true(says(line_of(path, 1), "\"data\":\"blob:sha256:"));
	assert_int_equal(blobs_in(in_home(w, "xcsh", "blobs")), 1);
	assert_context(w, s, NULL, "AAAAAAAA");
	grove_session_close(s);
	free(image);
}

/* ---------------------------------------------------------------- artifacts */

static void assert_artifact(struct world *w, struct grove_session *s, const char *name, const char *bytes)
{
	struct grove_buf b = GROVE_BUF_INIT;

	OK(w, attached(s, name, &b));
	assert_string_equal(b.ptr ? b.ptr : "", bytes);
	grove__buf_release(&b);
}

/* Where the artifacts of a session are: its path without .jsonl. */
static const char *beside(struct grove_session *s, const char *name)
{
	static char path[4][8192];
	static unsigned turn;
	char *p = path[turn++ % 4];
	int n = (int)strlen(grove_session_path(s)) - 6;

	snprintf(p, sizeof(path[0]), "%.*s%s", n, grove_session_path(s), name);
	return p;
}

static void artifacts_fork_move_and_go_with_their_session(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_fork_options o = { .size = sizeof(o) }, path = { .size = sizeof(o), .leaf = "u1" };
		struct grove_fork_options there = { .size = sizeof(o), .cwd = "/else/where" };
		const struct grove_fork_options *how[] = { &o, &path, &there };
		struct grove_session *s = session_at(w, put_file(w, both[i], HEADER TALK), GROVE_OPEN_WRITE), *t;
		struct grove_buf b = GROVE_BUF_INIT;
		char old[8192];

		OK(w, attach(s, "0.bash.log", "out"));
		make_dirs(beside(s, "/deep"));
		file_make(beside(s, "/deep/task.jsonl"), HEADER);
		for (size_t n = 0; n < 3; n++) {
			OK(w, grove_session_fork(s, how[n], &t));
			assert_string_not_equal(grove_session_path(s), grove_session_path(t));
			assert_artifact(w, t, "0.bash.log", "out");
			assert_file(beside(t, "/deep/task.jsonl"), HEADER);
			/* each has its own from now on */
			OK(w, attach(t, "1.bash.log", "of the copy"));
			GOT(w, attached(s, "1.bash.log", &b), GROVE_ENOTFOUND);
			snprintf(old, sizeof(old), "%s", grove_session_path(t));
			grove_session_close(t);
			OK(w, grove_remove(w->g, old, GROVE_REMOVE_NO_TRASH));
			assert_false(is_there(old));
			old[strlen(old) - 6] = '\0';
			assert_false(is_there(old));
		}
		assert_artifact(w, s, "0.bash.log", "out");
		snprintf(old, sizeof(old), "%s", beside(s, ""));
		OK(w, grove_session_move(s, "/new/place"));
		assert_string_not_equal(old, beside(s, ""));
		assert_false(is_there(old));
		assert_artifact(w, s, "0.bash.log", "out");
		assert_file(beside(s, "/deep/task.jsonl"), HEADER);
		assert_string_equal(grove_session_cwd(s), "/new/place");
		user(w, s, "on");
		grove_session_close(s);
	}
}

static void an_artifact_that_does_not_fit_is_not_there(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, put_file(w, "xcsh", HEADER TALK), GROVE_OPEN_WRITE);

	fail_at("write", ENOSPC, 0, 1);
	GOT(w, attach(s, "0.bash.log", "out"), GROVE_EFULL);
	all_is_well();
	assert_int_equal(attachments(s), 0);
	assert_int_equal(files_in(beside(s, "")), 0);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XCSH_TEST(a_name_goes_into_the_header_and_every_other_line_stays),
		XCSH_TEST(an_automatic_name_does_not_replace_the_users),
		XCSH_TEST(a_name_given_before_there_is_a_file_is_in_it_later),
		XCSH_TEST(a_slot_is_overwritten_in_its_place),
		XCSH_TEST(a_slot_holds_as_much_of_a_name_as_fits),
		XCSH_TEST(a_slot_of_another_length_is_not_overwritten_in_place),
		XCSH_TEST(the_slot_names_before_the_header_does),
		XCSH_TEST(a_name_in_a_slot_survives_a_failing_disk),
		XCSH_TEST(the_arguments_of_a_call_are_replaced_and_nothing_else),
		XCSH_TEST(what_others_go_by_cannot_be_changed),
		XCSH_TEST(a_picture_that_an_update_brings_goes_to_the_blobs),
		XCSH_TEST(artifacts_fork_move_and_go_with_their_session),
		XCSH_TEST(an_artifact_that_does_not_fit_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
