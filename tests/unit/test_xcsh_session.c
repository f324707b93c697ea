/*
 * tests/unit/test_xcsh_session.c: sessions of xcsh and oh-my-pi on a disk.
 *
 * The tests check when a file is created, in which order things are written to
 * the disk, what is left when the disk fails, and how a copy begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/xcsh_world.h"
#include "../lib/calls.h"

/* ------------------------------------------------------------------ beginning */

static void a_live_session_has_no_file_before_the_first_reply(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		bool slot = i == 1;
		struct grove_session *s = start(w, both[i], 0);
		const char *path = path_of(s);

		user(w, s, "hello");
		say(w, s, "{\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"\",\"exitCode\":0,\"cancelled\":false,\"truncated\":false}");
		say(w, s, "{\"type\":\"model_change\",\"model\":\"p/m\"}");
		say(w, s, "{\"type\":\"custom_message\",\"customType\":\"x\",\"content\":\"c\",\"display\":true}");
		OK(w, grove_session_sync(s));
		assert_false(is_there(path));
		assert_int_equal(grove_session_pending(s), 4);
		assert_one_line(w, s);
		say(w, s, REPLY);
		assert_int_equal(grove_session_pending(s), 0);
		assert_int_equal(lines_in(path), 6 + slot);
		assert_one_line(w, s);
		if (slot)
			assert_int_equal(line_of(path, 0).len, 255);
		assert_true(says(line_of(path, slot), "{\"type\":\"session\",\"version\":3,"));
		user(w, s, "at once");
		assert_int_equal(lines_in(path), 7 + slot);
		assert_true(says(line_of(path, 6 + slot), "at once"));
		grove_session_close(s);
		s = session_at(w, path, GROVE_OPEN_READ);
		assert_one_line(w, s);
		assert_int_equal(counts_of(w, s).entries, 6);
		grove_session_close(s);
	}
}

static void a_reply_that_failed_begins_the_file_too(void **state)
{
	struct world *w = *state;
	struct grove_session *s = start(w, "xcsh", 0);

	say(w, s, "{\"role\":\"assistant\",\"content\":[],\"stopReason\":\"error\",\"errorMessage\":\"no\",\"provider\":\"p\",\"model\":\"m\"}");
	assert_int_equal(lines_in(grove_session_path(s)), 2);
	grove_session_close(s);
}

static void a_session_that_was_never_answered_leaves_nothing(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_session *s = start(w, both[i], 0);
		const char *path = path_of(s);

		user(w, s, "hello?");
		grove_session_close(s);
		assert_false(is_there(path));
	}
	assert_int_equal(told.calls, 0);
}

static void ensured_it_is_there_and_every_entry_at_once(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		bool slot = i == 1;
		struct grove_session *s = start(w, both[i], 0);
		const char *path = path_of(s);

		user(w, s, "one");
		OK(w, grove_session_ensure(s));
		assert_int_equal(lines_in(path), 2 + slot);
		OK(w, grove_session_ensure(s));
		assert_int_equal(lines_in(path), 2 + slot);
		user(w, s, "two");
		assert_int_equal(lines_in(path), 3 + slot);
		grove_session_close(s);
	}
}

static void an_opened_file_takes_every_entry_at_once(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

	assert_string_equal(grove_session_dialect(s), "xcsh");
	user(w, s, "no reply yet");
	assert_int_equal(lines_in(path), 2);
	grove_session_close(s);
}

static void in_memory_nothing_touches_the_disk(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_session *s = start(w, both[i], GROVE_CREATE_MEMORY);
		char *image = image_message("user", 2048, 'A');
		const char *id;

		assert_null(grove_session_path(s));
		id = say(w, s, image);
		say(w, s, REPLY);
		OK(w, name_session(s, "a name", GROVE_NAME_BY_USER, NULL));
		assert_name(w, s, "a name");
		OK(w, grove_session_append_label(s, id, "here", NULL, NULL));
		OK(w, grove_session_update(s, id, "/message/role", "\"developer\""));
		OK(w, grove_session_sync(s));
		OK(w, grove_session_ensure(s));
		assert_context(w, s, NULL, "AAAAAAAA");
		free(image);
		grove_session_close(s);
	}
	assert_dir(w->home, "");
	assert_dir(w->cwd, "");
}

static void a_compaction_and_a_model_have_all_their_members(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_session *s = start(w, both[i], GROVE_CREATE_MEMORY);
		struct grove_compaction c = { .size = sizeof(c), .summary = "all of it", .tokens_before = 7,
					      .usage_json = "{\"input\":1}", .short_summary = "in short",
					      .preserve_json = "{\"todo\":[1]}" };
		struct grove_buf b = GROVE_BUF_INIT;
		struct grove_view *v;
		const char *id;

		OK(w, grove_session_append_model(s, "p", "m", "plan", NULL, INTO(&id)));
		OK(w, grove_session_append_model(s, "p", "m", NULL, NULL, INTO(&id)));
		OK(w, grove_session_append_compaction(s, &c, NULL, INTO(&id)));
		/* a caller that knows a shorter struct */
		c.size = offsetof(struct grove_compaction, short_summary);
		OK(w, grove_session_append_compaction(s, &c, NULL, INTO(&id)));
		v = view_of(w, s);
		assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), 0);
		grove_view_unref(v);
		assert_non_null(strstr(b.ptr, "\"model\":\"p/m\",\"role\":\"plan\""));
		assert_non_null(strstr(b.ptr, "\"shortSummary\":\"in short\""));
		assert_non_null(strstr(b.ptr, "\"preserveData\":{\"todo\":[1]}}"));
		assert_null(strstr(strstr(b.ptr, "preserveData") + 1, "preserveData"));
		assert_null(strstr(strstr(b.ptr, "shortSummary") + 1, "shortSummary"));
		assert_null(strstr(b.ptr, "\"input\""));
		assert_name(w, s, "in short");
		grove_buf_release(&b);
		grove_session_close(s);
	}
}

/* ------------------------------------------------------- blobs before lines */

static struct {
	const char *blobs, *line; /* where they are to be */
	int writes;
	bool blob_first;          /* when the line was about to be written the blob had its name … */
	int syncs;                /* … and this many syncs had been */
	int at_line;
} order;

static int watch(const char *call)
{
	if (!strcmp(call, "fsync") || !strcmp(call, "fdatasync"))
		order.syncs++;
	if (!strcmp(call, "write") && ++order.writes == 2) {
		order.blob_first = blobs_in(order.blobs) == 1;
		order.at_line = order.syncs;
	}
	return 0;
}

static void a_blob_is_on_the_disk_before_the_line_that_names_it(void **state)
{
	struct world *w = *state;
	char *image = image_message("user", 1024, 'A');

	for (size_t i = 0; i < 2; i++) {
		const char *path = put_file(w, both[i], HEADER);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
		struct grove_buf names;

		memset(&order, 0, sizeof(order));
		order.blobs = in_home(w, both[i], "blobs");
		grove__sys_fault = watch;
		say(w, s, image);
		grove__sys_fault = NULL;
		assert_int_equal(order.writes, 2);
		assert_true(order.blob_first);
		/* its bytes, and the directory that has its name */
		assert_true(order.at_line >= 2);
		names = dir_names(order.blobs);
		assert_true(names.len >= 65);
		grove__buf_cut(&names, 64);
		assert_true(says(line_of(path, 1), names.ptr));
		assert_true(says(line_of(path, 1), "\"data\":\"blob:sha256:"));
		/* the same picture again: known, but the line is no less careful */
		say(w, s, image);
		assert_int_equal(blobs_in(order.blobs), 1);
		assert_context(w, s, NULL, "AAAAAAAA");
		grove__buf_release(&names);
		grove_session_close(s);
	}
	assert_int_equal(told.calls, 0);
	free(image);
}

static void what_waited_is_prepared_when_it_is_written(void **state)
{
	struct world *w = *state;
	struct grove_session *s = start(w, "xcsh", 0);
	char *image = image_message("user", 1024, 'A');

	say(w, s, image);
	assert_int_equal(blobs_in(in_home(w, "xcsh", "blobs")), 0);
	assert_context(w, s, NULL, "\"data\":\"AAAAAAAA");
	memset(&order, 0, sizeof(order));
	order.blobs = in_home(w, "xcsh", "blobs");
	grove__sys_fault = watch;
	say(w, s, REPLY);
	grove__sys_fault = NULL;
	assert_int_equal(order.writes, 2);
	assert_true(order.blob_first);
	assert_true(says(line_of(grove_session_path(s), 1), "blob:sha256:"));
	assert_context(w, s, NULL, "\"data\":\"AAAAAAAA");
	free(image);
	grove_session_close(s);
}

/* --------------------------------------------------------- the disk says no */

static void no_room_for(struct world *w, const char *dialect, int after)
{
	const char *path = put_file(w, dialect, HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	char *image = image_message("user", 1024, (char)('A' + after));
	struct before b;

	memset(&told, 0, sizeof(told));
	remember(w, s, &b);
	fail_at("write", ENOSPC, after, 1);
	GOT(w, grove_session_append(s, text(image), NULL, NULL), GROVE_EFULL);
	all_is_well();
	assert_latched(w, s, GROVE_EFULL);
	assert_unchanged(w, s, &b);
	/* a blob that no line names does no harm; half of one is none */
	assert_int_equal(blobs_in(in_home(w, dialect, "blobs")), after);
	grove_session_close(s);
	assert_works_again(w, path, 3);
	free(image);
}

static void without_room_for_the_blob_there_is_no_line(void **state)
{
	struct world *w = *state;

	no_room_for(w, "xcsh", 0);
	no_room_for(w, "omp", 0);
}

static void without_room_for_the_line_it_is_not_there(void **state)
{
	struct world *w = *state;

	no_room_for(w, "xcsh", 1);
	no_room_for(w, "omp", 1);
}

static void where_blobs_cannot_be_written_there_is_no_line(void **state)
{
	static const char *const calls[] = { "open", "fsync", "rename" };
	static const int errors[] = { EROFS, EIO, EACCES };
	struct world *w = *state;
	char *image = image_message("user", 1024, 'A');

	for (size_t i = 0; i < 3; i++) {
		const char *path = put_file(w, "xcsh", HEADER TALK);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
		struct before b;
		int rc;

		memset(&told, 0, sizeof(told));
		make_dirs(in_home(w, "xcsh", "blobs"));
		remember(w, s, &b);
		fail_at(calls[i], errors[i], 0, -1);
		rc = grove_session_append(s, text(image), NULL, NULL);
		all_is_well();
		assert_int_equal(rc, errors[i] == EIO ? GROVE_EIO : GROVE_EACCESS);
		assert_latched(w, s, rc);
		assert_unchanged(w, s, &b);
		assert_int_equal(blobs_in(in_home(w, "xcsh", "blobs")), 0);
		grove_session_close(s);
		assert_works_again(w, path, 3);
	}
	free(image);
}

/* As a user whom the system refuses, where the tests do not run as root. */
static void a_directory_of_blobs_that_is_a_file_is_an_error(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	char *image = image_message("user", 1024, 'A');
	struct before b;

	file_make(in_home(w, "xcsh", "blobs"), "in the way");
	remember(w, s, &b);
	assert_true(grove_session_append(s, text(image), NULL, NULL) < 0);
	assert_unchanged(w, s, &b);
	assert_file(in_home(w, "xcsh", "blobs"), "in the way");
	grove_session_close(s);
	free(image);
}

static void without_room_for_the_first_lines_there_is_no_file(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		for (int after = 0; after < 2; after++) {
			struct grove_session *s = start(w, both[i], 0);
			char *image = image_message("user", 1024, (char)('A' + after));
			char path[8192];

			memset(&told, 0, sizeof(told));
			snprintf(path, sizeof(path), "%s", grove_session_path(s));
			say(w, s, image);
			fail_at("write", ENOSPC, after, 1);
			GOT(w, grove_session_append(s, text(REPLY), NULL, NULL), GROVE_EFULL);
			all_is_well();
			assert_false(is_there(path));
			assert_int_equal(grove_session_pending(s), 1);
			assert_int_equal(told.fatal, 1);
			/* what it had is still to be read */
			assert_context(w, s, NULL, after ? "BBBBBBBB" : "AAAAAAAA");
			GOT(w, grove_session_append(s, text(REPLY), NULL, NULL), GROVE_EFULL);
			GOT(w, grove_session_ensure(s), GROVE_EFULL);
			assert_int_equal(told.calls, 1);
			grove_session_close(s);
			free(image);
		}
	}
}

static void what_was_asked_wrongly_is_no_failure_of_the_disk(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

	GOT(w, grove_session_append(s, text("{"), NULL, NULL), GROVE_EJSON);
	GOT(w, grove_session_append(s, text("{\"type\":\"label\",\"targetId\":\"nope\"}"), NULL, NULL),
	    GROVE_ENOTFOUND);
	GOT(w, name_session(s, " \t ", GROVE_NAME_BY_USER, NULL), GROVE_EINVAL);
	GOT(w, grove_session_update(s, "nope", "/message", "1"), GROVE_ENOTFOUND);
	GOT(w, grove_session_update(s, "u1", "/message/nope", "1"), GROVE_ENOTFOUND);
	GOT(w, grove_session_update(s, "u1", "/message", "{"), GROVE_EJSON);
	assert_int_equal(told.calls, 0);
	user(w, s, "goes on");
	grove_session_close(s);
}

static void a_reader_who_writes_is_refused_and_nobody_is_told(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);

	GOT(w, grove_session_append(s, text(REPLY), NULL, NULL), GROVE_EACCESS);
	GOT(w, name_session(s, "x", GROVE_NAME_BY_USER, NULL), GROVE_EACCESS);
	GOT(w, grove_session_update(s, "u1", "/message/content", "\"x\""), GROVE_EACCESS);
	assert_int_equal(told.calls, 0);
	assert_file(path, HEADER TALK);
	grove_session_close(s);
}

static void a_flush_fails_when_a_write_has_failed(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	int failed, later;

	fail_at("write", ENOSPC, 0, 1);
	GOT(w, grove_session_append(s, text(REPLY), NULL, NULL), GROVE_EFULL);
	all_is_well();
	later = grove_session_sync(s);
	grove_session_close(s);
	assert_int_equal(later, GROVE_EFULL);
	/* and what the disk did not take for good is no less of a failure */
	s = session_at(w, path, GROVE_OPEN_WRITE);
	say(w, s, REPLY);
	fail_at("fdatasync", EIO, 0, 1);
	failed = grove_session_sync(s);
	all_is_well();
	later = grove_session_append(s, text(REPLY), NULL, NULL);
	grove_session_close(s);
	assert_int_equal(failed, GROVE_EIO);
	assert_int_equal(later, GROVE_EIO);
}

static void a_rewrite_that_fails_leaves_the_old_file(void **state)
{
	static const char *const calls[] = { "write", "fsync", "rename" };
	static const int errors[] = { ENOSPC, EIO, EACCES };
	struct world *w = *state;

	for (size_t i = 0; i < 3; i++) {
		const char *path = put_file(w, "xcsh", HEADER TALK);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
		struct before b;
		int rc;

		memset(&told, 0, sizeof(told));
		remember(w, s, &b);
		fail_at(calls[i], errors[i], 0, 1);
		rc = name_session(s, "new", GROVE_NAME_BY_USER, NULL);
		all_is_well();
		assert_true(rc < 0);
		assert_name(w, s, "");
		assert_latched(w, s, rc);
		assert_unchanged(w, s, &b);
		assert_dir(in_home(w, "xcsh", "sessions/-p"), "a.jsonl ");
		grove_session_close(s);
		assert_works_again(w, path, 3);
	}
}

/* ------------------------------------------------------------- missing blobs */

#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define PICTURE(ref) "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"" ref "\",\"mimeType\":\"image/png\"}]}"

static void a_missing_blob_costs_a_picture_and_is_told(void **state)
{
	struct world *w = *state;
	struct grove_buf before, c;

	for (size_t i = 0; i < 2; i++) {
		const char *path = put_file(w, both[i], HEADER MESSAGE("u1", "null", PICTURE("blob:sha256:" DIGITS)));
		struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);

		memset(&told, 0, sizeof(told));
		before = file_bytes(path);
		c = context_of(w, s);
		assert_true(says(grove__buf_slice(&c), "\"data\":\"blob:sha256:" DIGITS "\""));
		assert_true(told.calls > 0);
		assert_int_equal(told.fatal, 0);
		assert_int_equal(told.last.code, GROVE_ENOTFOUND);
		assert_non_null(strstr(told.last.path, DIGITS));
		assert_file(path, before.ptr);
		grove__buf_release(&before);
		grove__buf_release(&c);
		grove_session_close(s);
	}
}

static void a_blob_with_wrong_bytes_is_not_shown(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "xcsh", HEADER MESSAGE("u1", "null", PICTURE("blob:sha256:" DIGITS)));
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	struct grove_buf c;

	make_dirs(in_home(w, "xcsh", "blobs"));
	file_make(in_home(w, "xcsh", "blobs/" DIGITS), "something else");
	c = context_of(w, s);
	assert_true(says(grove__buf_slice(&c), "\"data\":\"blob:sha256:" DIGITS "\""));
	assert_int_equal(told.fatal, 0);
	assert_int_equal(told.last.code, GROVE_EDAMAGED);
	grove__buf_release(&c);
	/* and the session is none the worse */
	user(w, s, "on");
	grove_session_close(s);
}

static void a_reference_that_leads_elsewhere_is_a_text(void **state)
{
	static const char *const refs[] = {
		"blob:sha256:../../x", "blob:sha256:/etc/passwd", "blob:sha256:",
		"blob:sha256:" DIGITS "0", "blob:sha256:" DIGITS "/../x", "blob:sha256:00112233",
	};
	struct world *w = *state;
	char line[1024], want[512];
	struct grove_buf c;

	make_dirs(in_home(w, "xcsh", "blobs"));
	file_make(in_home(w, "xcsh", "x"), "secret");
	for (size_t i = 0; i < sizeof(refs) / sizeof(*refs); i++) {
		const char *path;
		struct grove_session *s;

		snprintf(line, sizeof(line),
			 HEADER "{\"type\":\"message\",\"id\":\"u1\",\"parentId\":null" STAMP
			 ",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"%s\",\"mimeType\":\"image/png\"}],\"image_url\":\"%s\"}}\n",
			 refs[i], refs[i]);
		path = put_file(w, "xcsh", line);
		s = session_at(w, path, GROVE_OPEN_READ);
		c = context_of(w, s);
		snprintf(want, sizeof(want), "\"data\":\"%s\"", refs[i]);
		assert_true(says(grove__buf_slice(&c), want));
		snprintf(want, sizeof(want), "\"image_url\":\"%s\"", refs[i]);
		assert_true(says(grove__buf_slice(&c), want));
		assert_false(says(grove__buf_slice(&c), "secret"));
		grove__buf_release(&c);
		grove_session_close(s);
	}
}

static void a_corrupt_header_never_costs_the_file(void **state)
{
	static const char *const files[] = {
		"{\"type\":\"session\",\"version\":3,\"id\":5}\n" TALK, "null\n" TALK,
		"{\"type\":\"session\"\n" TALK, "[1]\n", TALK, "not json\n",
		SLOT_HEAD "\"x\",\"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"pad\":\"\"}\n" TALK,
	};
	struct world *w = *state;
	struct grove_session *s;

	for (size_t d = 0; d < 2; d++)
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			const char *path = put_file(w, both[d], files[i]);

			GOT(w, grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), GROVE_EDAMAGED);
			grove_session_close(s);
			GOT(w, grove_session_open(w->g, path, GROVE_OPEN_WRITE | GROVE_OPEN_INIT, &s), GROVE_EDAMAGED);
			grove_session_close(s);
			assert_file(path, files[i]);
			assert_dir(in_home(w, both[d], "sessions/-p"), "a.jsonl ");
		}
}

/* ---------------------------------------------------------- old and torn files */

static void a_file_of_version_1_is_migrated_when_it_is_opened_for_writing(void **state)
{
	static const char v1[] =
		"{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"provider\":\"p\",\"modelId\":\"m\"}\n"
		"{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n"
		"{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"hookMessage\",\"customType\":\"h\",\"content\":\"two\",\"display\":true}}\n"
		"{\"type\":\"compaction\"" STAMP ",\"summary\":\"s\",\"firstKeptEntryIndex\":1,\"tokensBefore\":5}\n";
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		const char *path = put_file(w, both[i], v1);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);
		struct grove_buf ids = GROVE_BUF_INIT;
		struct grove_view *v = view_of(w, s);
		struct grove_entry e = { .size = sizeof(e) };

		assert_int_equal(grove_session_version(s), 1);
		for (uint32_t n = 0; n < 3; n++) {
			assert_int_equal(grove_view_entry(v, n, &e), 0);
			assert_int_equal(grove__buf_addf(&ids, "%s%s", n ? " " : "", e.id), 0);
		}
		grove_view_unref(v);
		grove_session_close(s);
		assert_file(path, v1);
		s = session_at(w, path, GROVE_OPEN_WRITE);
		assert_int_equal(grove_session_migrated(s), 4);
		/* a reader before and a writer after agree on who is who */
		assert_path(w, s, ids.ptr);
		assert_keys(line_of(path, 0), "type,id,timestamp,cwd,provider,modelId,version");
		assert_keys(line_of(path, 1), "type,timestamp,message,id,parentId");
		assert_true(says(line_of(path, 2), "\"role\":\"custom\""));
		assert_keys(line_of(path, 3), "type,timestamp,summary,tokensBefore,id,parentId,firstKeptEntryId");
		user(w, s, "on");
		grove_session_close(s);
		assert_int_equal(lines_in(path), 5);
		grove__buf_release(&ids);
	}
}

static void behind_an_unfinished_value_an_entry_is_still_read(void **state)
{
	static const char *const tails[] = {
		"{\"c\":", "{\"c\":\n", "[", "{", "{\"c\":[1,\n", "\"", "{\"type\":\"message\",\"id\":\"half",
		"{\"a\":1}{\"b\":2}\n{\"c\":", "{\"c\":{\"d\":", "tru", "[[[[", "{\"x\":\"\\", "-",
	};
	struct world *w = *state;
	char file[4096];

	for (size_t d = 0; d < 2; d++)
		for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
			const char *path, *first, *second;
			struct grove_session *s;
			struct grove_view *v;
			char a[64], b[64];

			snprintf(file, sizeof(file), "%s%s", HEADER TALK, tails[i]);
			path = put_file(w, both[d], file);
			s = session_at(w, path, GROVE_OPEN_WRITE);
			first = user(w, s, "first");
			snprintf(a, sizeof(a), "%s", first);
			assert_leaf(s, a);
			grove_session_close(s);
			s = session_at(w, path, GROVE_OPEN_WRITE);
			assert_leaf(s, a);
			second = user(w, s, "second");
			snprintf(b, sizeof(b), "%s", second);
			user(w, s, "third");
			grove_session_close(s);
			s = session_at(w, path, GROVE_OPEN_READ);
			v = view_of(w, s);
			if (find_row(v, a) == GROVE_NO_ENTRY || find_row(v, b) == GROVE_NO_ENTRY)
				fail_msg("lost behind %s", tails[i]);
			assert_int_not_equal(find_row(v, "a1"), GROVE_NO_ENTRY);
			grove_view_unref(v);
			grove_session_close(s);
		}
}

static void a_retry_with_the_same_id_is_the_same_entry(void **state)
{
	struct world *w = *state;

	for (size_t d = 0; d < 2; d++) {
		struct grove_session *s = session_at(w, put_file(w, both[d], HEADER TALK), GROVE_OPEN_WRITE);
		const char *path = path_of(s), *id;
		char *image = image_message("user", 1024, 'A');
		struct grove_buf json = GROVE_BUF_INIT;

		assert_int_equal(grove__buf_addf(&json, "{\"type\":\"message\",\"id\":\"mine\",\"message\":%s}", image), 0);
		OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, INTO(&id)));
		assert_string_equal(id, "mine");
		assert_int_equal(lines_in(path), 4);
		OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, INTO(&id)));
		assert_string_equal(id, "mine");
		assert_int_equal(lines_in(path), 4);
		grove_session_close(s);
		/* nor from another process, with the blobs gone meanwhile */
		s = session_at(w, path, GROVE_OPEN_WRITE);
		scratch_remove(in_home(w, both[d], "blobs"));
		OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, INTO(&id)));
		assert_int_equal(lines_in(path), 4);
		assert_int_equal(blobs_in(in_home(w, both[d], "blobs")), 1);
		json.ptr[strlen("{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"")] = 'B';
		GOT(w, grove_session_append(s, grove__buf_slice(&json), NULL, INTO(&id)), GROVE_ECONFLICT);
		assert_int_equal(lines_in(path), 4);
		assert_int_equal(told.calls, 0);
		grove__buf_release(&json);
		grove_session_close(s);
		free(image);
	}
}

/* -------------------------------------------------------------------- copies */

struct kind_of_copy {
	const char *dialect;
	const char *leaf, *cwd;
	const char *keys;            /* of the header */
	bool path;                   /* its parent is the file, not the id */
	const char *title;           /* what the copy is called */
};

static void a_copy_has_the_header_of_its_kind(void **state)
{
	static const struct kind_of_copy kinds[] = {
		{ "xcsh", NULL, NULL, "type,version,id,title,titleSource,timestamp,cwd,parentSession", false, "T" },
		{ "xcsh", NULL, "/q", "type,version,id,timestamp,cwd,parentSession,title,titleSource", false, "T" },
		{ "xcsh", "a1", NULL, "type,version,id,timestamp,cwd,parentSession", true, "" },
		{ "xcsh", "a1", "/q", "type,version,id,timestamp,cwd,parentSession", true, "" },
		{ "omp", NULL, NULL, "type,version,id,title,titleSource,timestamp,cwd,additionalDirectories,parentSession,providerPromptCacheKey", false, "T" },
		{ "omp", NULL, "/q", "type,version,id,timestamp,cwd,parentSession,providerPromptCacheKey,title,titleSource,additionalDirectories", false, "T" },
		{ "omp", "a1", NULL, "type,version,id,timestamp,cwd,title,titleSource,parentSession,additionalDirectories", true, "T" },
	};
	static const char header[] =
		"{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"parentSession\":\"older\",\"title\":\"T\",\"titleSource\":\"auto\",\"zzz\":1,\"additionalDirectories\":[\"/x\"]}\n";
	struct world *w = *state;
	char file[4096], want[8300];

	snprintf(file, sizeof(file), "%s%s", header, TALK ENTRY("u2", "\"a1\"", "user", "two") "junk\n" ENTRY("u3", "\"a1\"", "user", "three"));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind_of_copy *k = &kinds[i];
		struct grove_fork_options o = { .size = sizeof(o), .leaf = k->leaf, .cwd = k->cwd };
		const char *path = put_file(w, k->dialect, file);
		struct grove_session *s = session_at(w, path, GROVE_OPEN_READ), *t;
		bool slot = !strcmp(k->dialect, "omp");
		struct grove_slice h, have;

		OK(w, grove_session_fork(s, &o, &t));
		h = line_of(grove_session_path(t), slot);
		assert_keys(h, k->keys);
		snprintf(want, sizeof(want), "\"parentSession\":\"%s\"", k->path ? path : "s1");
		assert_true(says(h, want));
		snprintf(want, sizeof(want), "\"cwd\":\"%s\"", k->cwd ? k->cwd : "/w");
		assert_true(says(h, want));
		if (slot) {
			assert_int_equal(line_of(grove_session_path(t), 0).len, 255);
			assert_true(says(line_of(grove_session_path(t), 0), SLOT_HEAD "\"T\",\"source\":\"auto\","));
		}
		if (slot && !k->leaf)
			assert_true(says(h, "\"providerPromptCacheKey\":\"s1\""));
		/* entries keep their bytes; what no reader understands stays behind */
		have = line_of(grove_session_path(t), (size_t)slot + 2);
		assert_slice(grove__slice(have.ptr, have.len + 1), MESSAGE("a1", "\"u1\"", REPLY));
		assert_int_equal(lines_in(grove_session_path(t)), (k->leaf ? 3 : 5) + slot);
		assert_name_on_disk(w, grove_session_path(t), k->title);
		user(w, t, "on");
		assert_file(path, file);
		grove_session_close(t);
		grove_session_close(s);
	}
}

static void a_new_session_says_who_its_parent_is(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .dialect = both[i],
					       .parent_session = "older", .name = "N" };
		struct grove_session *s;

		OK(w, grove_session_create(w->g, &o, &s));
		assert_keys(line_of(grove_session_path(s), i),
			    "type,version,id,timestamp,cwd,parentSession,title,titleSource");
		assert_true(says(line_of(grove_session_path(s), i), "\"titleSource\":\"user\""));
		assert_name_on_disk(w, grove_session_path(s), "N");
		grove_session_close(s);
	}
}

static void a_copy_of_a_renamed_session_keeps_its_name(void **state)
{
	struct world *w = *state;
	struct grove_session *s = start(w, "omp", GROVE_CREATE_NOW), *t;
	int applied;

	user(w, s, "one");
	OK(w, name_session(s, "given", GROVE_NAME_BY_USER, NULL));
	OK(w, grove_session_fork(s, NULL, &t));
	assert_name(w, t, "given");
	/* and who gave it */
	assert_true(says(line_of(grove_session_path(t), 0), SLOT_HEAD "\"given\",\"source\":\"user\","));
	assert_true(says(line_of(grove_session_path(t), 1), "\"title\":\"given\",\"titleSource\":\"user\""));
	OK(w, name_session(t, "other", GROVE_NAME_BY_AGENT, &applied));
	assert_int_equal(applied, 0);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_moved_session_remembers_where_it_was(void **state)
{
	struct world *w = *state;
	const char *path = put_file(w, "omp", HEADER TALK);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);
	char want[8300];

	OK(w, grove_session_move(s, "/q"));
	assert_keys(line_of(grove_session_path(s), 0), "type,version,id,timestamp,cwd,previousSessionFiles");
	snprintf(want, sizeof(want), "\"cwd\":\"/q\",\"previousSessionFiles\":[\"%s\"]}", path);
	assert_true(says(line_of(grove_session_path(s), 0), want));
	assert_false(is_there(path));
	grove_session_close(s);
	path = put_file(w, "xcsh", HEADER TALK);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	OK(w, grove_session_move(s, "/q"));
	assert_keys(line_of(grove_session_path(s), 0), "type,version,id,timestamp,cwd");
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		XCSH_TEST(a_live_session_has_no_file_before_the_first_reply),
		XCSH_TEST(a_reply_that_failed_begins_the_file_too),
		XCSH_TEST(a_session_that_was_never_answered_leaves_nothing),
		XCSH_TEST(ensured_it_is_there_and_every_entry_at_once),
		XCSH_TEST(an_opened_file_takes_every_entry_at_once),
		XCSH_TEST(in_memory_nothing_touches_the_disk),
		XCSH_TEST(a_compaction_and_a_model_have_all_their_members),
		XCSH_TEST(a_blob_is_on_the_disk_before_the_line_that_names_it),
		XCSH_TEST(what_waited_is_prepared_when_it_is_written),
		XCSH_TEST(without_room_for_the_blob_there_is_no_line),
		XCSH_TEST(without_room_for_the_line_it_is_not_there),
		XCSH_TEST(where_blobs_cannot_be_written_there_is_no_line),
		XCSH_TEST(a_directory_of_blobs_that_is_a_file_is_an_error),
		XCSH_TEST(without_room_for_the_first_lines_there_is_no_file),
		XCSH_TEST(what_was_asked_wrongly_is_no_failure_of_the_disk),
		XCSH_TEST(a_reader_who_writes_is_refused_and_nobody_is_told),
		XCSH_TEST(a_flush_fails_when_a_write_has_failed),
		XCSH_TEST(a_rewrite_that_fails_leaves_the_old_file),
		XCSH_TEST(a_missing_blob_costs_a_picture_and_is_told),
		XCSH_TEST(a_blob_with_wrong_bytes_is_not_shown),
		XCSH_TEST(a_reference_that_leads_elsewhere_is_a_text),
		XCSH_TEST(a_corrupt_header_never_costs_the_file),
		XCSH_TEST(a_file_of_version_1_is_migrated_when_it_is_opened_for_writing),
		XCSH_TEST(behind_an_unfinished_value_an_entry_is_still_read),
		XCSH_TEST(a_retry_with_the_same_id_is_the_same_entry),
		XCSH_TEST(a_copy_has_the_header_of_its_kind),
		XCSH_TEST(a_new_session_says_who_its_parent_is),
		XCSH_TEST(a_copy_of_a_renamed_session_keeps_its_name),
		XCSH_TEST(a_moved_session_remembers_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
