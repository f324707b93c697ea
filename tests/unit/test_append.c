/*
 * tests/unit/test_append.c: appending entries, and the leaf that an append
 * moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"
#include "../lib/calls.h"

/* ---------------------------------------------------------------- appending */

static void each_entry_hangs_below_the_one_before(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", HEADER), GROVE_OPEN_WRITE);
	const char *a = user(w, s, "a"), *b = user(w, s, "b"), *c = user(w, s, "c");
	char ids[128];

	snprintf(ids, sizeof(ids), "%s %s %s", a, b, c);
	assert_path(w, s, ids);
	assert_leaf(s, c);
	grove_session_close(s);
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_READ);
	assert_path(w, s, ids);
	grove_session_close(s);
}

static void every_kind_has_a_call(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_compaction c = { .size = sizeof(c), .summary = "sum", .tokens_before = 42,
				      .details_json = "{\"d\":1}", .usage_json = "{}", .from_hook = 1 };
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	static const enum grove_kind kinds[] = { GROVE_KIND_MESSAGE, GROVE_KIND_THINKING_LEVEL,
		GROVE_KIND_MODEL, GROVE_KIND_CUSTOM, GROVE_KIND_CUSTOM_MESSAGE, GROVE_KIND_USAGE,
		GROVE_KIND_CONTEXT_EDIT, GROVE_KIND_COMPACTION, GROVE_KIND_LABEL, GROVE_KIND_NAME,
		GROVE_KIND_BRANCH_SUMMARY };
	const char *u, *id;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	OK(w, grove_session_append(s, grove_str("{\"role\":\"user\",\"content\":\"hi\"}"), NULL, INTO(&u)));
	OK(w, grove_session_append_thinking_level(s, "low", NULL, INTO(&id)));
	OK(w, grove_session_append_model(s, "p", "m", NULL, NULL, INTO(&id)));
	OK(w, append_custom(s, "t", NULL, INTO(&id)));
	OK(w, append_custom_message(s, "t", "\"words\"", INTO(&id)));
	OK(w, append_type(s, "usage", "\"kind\":\"summary\",\"provider\":\"p\",\"model\":\"m\",\"usage\":{\"input\":1}", INTO(&id)));
	OK(w, append_edit(s, u, "{\"content\":\"ho\"}", INTO(&id)));
	c.first_kept = u;
	OK(w, grove_session_append_compaction(s, &c, NULL, INTO(&id)));
	OK(w, grove_session_append_label(s, u, "L", NULL, INTO(&id)));
	OK(w, grove_session_set_name(s, "N", GROVE_NAME_BY_USER, INTO(&id)));
	OK(w, branch_from(s, u, &b, &id));
	assert_leaf(s, id);
	v = view_of(w, s);
	assert_int_equal(grove_view_count(v), sizeof(kinds) / sizeof(*kinds));
	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(e.kind, kinds[i]);
	}
	assert_string_equal(grove_view_name(v), "N");
	assert_int_equal(grove_view_entry(v, grove_view_count(v), &e), GROVE_ENOTFOUND);
	grove_view_unref(v);
	/* JSON from a caller is checked */
	GOT(w, append_custom(s, "t", "{bad", INTO(&id)), GROVE_EJSON);
	GOT(w, append_edit(s, "nobody", NULL, INTO(&id)), GROVE_ENOTFOUND);
	GOT(w, grove_session_append_label(s, "nobody", "x", NULL, INTO(&id)), GROVE_ENOTFOUND);
	grove_session_close(s);
}

static void a_parent_may_be_named_or_none(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .parent = "u2" };
	struct grove_buf before, after;
	const char *id;
	char ids[64];

	OK(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), &o, INTO(&id)));
	snprintf(ids, sizeof(ids), "u1 a1 u2 %s", id);
	assert_path(w, s, ids);
	o.parent = GROVE_ROOT;
	OK(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"y\"}"), &o, INTO(&id)));
	assert_path(w, s, id);
	before = file_bytes(in_world(w, "a.jsonl"));
	o.parent = "nobody";
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"z\"}"), &o, NULL),
	    GROVE_ENOTFOUND);
	GOT(w, grove_session_append(s, text("{\"type\":\"custom\",\"parentId\":\"nobody\"}"), NULL, NULL),
	    GROVE_ENOTFOUND);
	GOT(w, grove_session_append(s, text("{\"type\":\"custom\",\"parentId\":7}"), NULL, NULL),
	    GROVE_EINVAL);
	after = file_bytes(in_world(w, "a.jsonl"));
	assert_int_equal(before.len, after.len);
	assert_leaf(s, id);
	/* the parent is given in the entry itself */
	OK(w, grove_session_append(s, text("{\"type\":\"custom\",\"customType\":\"c\",\"parentId\":\"u1\"}"), NULL, INTO(&id)));
	snprintf(ids, sizeof(ids), "u1 %s", id);
	assert_path(w, s, ids);
	OK(w, grove_session_append(s, text("{\"type\":\"custom\",\"customType\":\"c\",\"parentId\":null}"), NULL, INTO(&id)));
	assert_path(w, s, id);
	grove__buf_release(&before);
	grove__buf_release(&after);
	grove_session_close(s);
}

/* What an append knows about the entry is what a reader of the file finds. */
static void an_append_knows_what_a_reader_finds(void **state)
{
	static const char *const given[] = {
		"{\"type\":\"message\",\"id\":\"n1\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}",
		"{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[]},\"more\":1,\"cwd\":\"/x\"}",
		"{\"message\":{\"role\":\"user\"},\"type\":\"message\",\"message\":{\"role\":\"toolResult\"}}",
		"{\"type\":\"message\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{\"role\":\"odd\"}}",
		"{\"type\":\"message\",\"parentId\":\"u1\",\"message\":{\"role\":\"user\",\"content\":\"b\"}}",
		"{\"type\":\"message\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"c\"}}",
		"{\"role\":\"user\",\"content\":\"d\"}",
	};
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_session *reader;
	struct grove_view *mine, *theirs;

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		OK(w, grove_session_append(s, text(given[i]), NULL, NULL));
	GOT(w, grove_session_append(s, text("{\"type\":\"message\",\"message\":{\"role\":7}}"), NULL, NULL),
	    GROVE_EINVAL);
	GOT(w, grove_session_append(s, text("{\"type\":\"message\",\"role\":\"user\"}"), NULL, NULL), GROVE_EINVAL);
	reader = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_READ);
	OK(w, grove_session_view(s, &mine));
	OK(w, grove_session_view(reader, &theirs));
	assert_int_equal(grove_view_count(mine), grove_view_count(theirs));
	for (uint32_t i = 0; i < grove_view_count(mine); i++) {
		struct grove_entry a = { .size = sizeof(a) }, b = { .size = sizeof(b) };

		OK(w, grove_view_entry(mine, i, &a));
		OK(w, grove_view_entry(theirs, i, &b));
		assert_string_equal(a.id, b.id);
		assert_int_equal(a.parent, b.parent);
		assert_int_equal(a.kind, b.kind);
		assert_int_equal(a.role, b.role);
		assert_int_equal(a.time, b.time);
		assert_int_equal(a.flags, b.flags);
		assert_int_equal(a.bytes, b.bytes);
	}
	grove_view_unref(mine);
	grove_view_unref(theirs);
	grove_session_close(reader);
	grove_session_close(s);
}

static void what_is_no_entry_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *json;
		int code;
		unsigned offset;
	} bad[] = {
		{ "", GROVE_EJSON, 0 },
		{ "   ", GROVE_EJSON, 0 },
		{ "{\"role\":\"user\",}", GROVE_EJSON, 15 },
		{ "{\"role\":\"us\ner\"}", GROVE_EJSON, 11 },
		{ "{\"role\":\"user\"} x", GROVE_EJSON, 16 },
		{ "null", GROVE_EINVAL, 0 },
		{ "7", GROVE_EINVAL, 0 },
		{ "[]", GROVE_EINVAL, 0 },
		{ "{}", GROVE_EINVAL, 0 },
		{ "{\"type\":7}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"session\",\"id\":\"x\"}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"message\"}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"custom\",\"id\":\"\"}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"custom\",\"id\":5}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"custom\",\"timestamp\":\"soon\"}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"custom\",\"timestamp\":12}", GROVE_EINVAL, 0 },
		{ "{\"type\":\"label\"}", GROVE_EINVAL, 0 },
	};
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_detail d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int rc = grove_session_append(s, text(bad[i].json), NULL, NULL);

		if (rc != bad[i].code)
			fail_msg("%s: %s", bad[i].json, grove_error_name(rc));
		grove_session_error(s, &d);
		assert_int_equal(d.code, rc);
		assert_true(*d.message);
		if (rc == GROVE_EJSON) {
			assert_int_equal(d.has_place, 1);
			if (d.offset != bad[i].offset)
				fail_msg("%s: at %llu", bad[i].json, (unsigned long long)d.offset);
		}
	}
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	assert_leaf(s, "u3");
	/* newlines between tokens are white space */
	say(w, s, "{\n\t\"role\" : \"user\",\r\n\"content\":\"a\\nb\" }\n");
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	grove_session_close(s);
}

static void of_many_all_are_stored_or_none(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_slice json[3] = { text("{\"role\":\"user\",\"content\":\"1\"}"),
				       text("{\"role\":\"assistant\",\"content\":\"2\"}"),
				       text("{\"role\":\"user\",\"content\":\"3\"}") };
	const char *ids[3];
	char path[128];

	json[2] = text("{\"role\":");
	GOT(w, grove_session_append_many(s, json, 3, NULL, INTO(ids)), GROVE_EJSON);
	json[2] = text("{\"type\":\"label\",\"targetId\":\"nobody\",\"label\":\"x\"}");
	GOT(w, grove_session_append_many(s, json, 3, NULL, INTO(ids)), GROVE_ENOTFOUND);
	fail_at("write", ENOSPC, 0, 1);
	json[2] = text("{\"role\":\"user\",\"content\":\"3\"}");
	GOT(w, grove_session_append_many(s, json, 3, NULL, INTO(ids)), GROVE_EFULL);
	all_is_well();
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	assert_leaf(s, "u3");
	OK(w, grove_session_append_many(s, json, 3, NULL, INTO(ids)));
	snprintf(path, sizeof(path), "u1 a1 u3 %s %s %s", ids[0], ids[1], ids[2]);
	assert_path(w, s, path);
	/* an entry may refer to another one of the same batch */
	json[0] = text("{\"type\":\"custom\",\"customType\":\"t\",\"id\":\"new1\"}");
	json[1] = text("{\"type\":\"label\",\"targetId\":\"new1\",\"label\":\"here\"}");
	json[2] = text("{\"type\":\"custom\",\"customType\":\"t\",\"parentId\":\"new1\"}");
	OK(w, grove_session_append_many(s, json, 3, NULL, INTO(ids)));
	assert_string_equal(label_of(w, s, "new1"), "here");
	snprintf(path + strlen(path), sizeof(path) - strlen(path), " new1 %s", ids[2]);
	assert_path(w, s, path);
	/* a batch of no entries succeeds */
	OK(w, grove_session_append_many(s, NULL, 0, NULL, NULL));
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 12);
	grove_session_close(s);
}

static int short_then_full(const char *call)
{
	static int nr;

	if (strcmp(call, "write"))
		return 0;
	return nr++ ? ENOSPC : GROVE__SYS_SHORT;
}

static void a_write_that_is_cut_short_is_taken_back(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);

	grove__sys_fault = short_then_full;
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"1\"}"), NULL, NULL),
	    GROVE_EFULL);
	all_is_well();
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	user(w, s, "after");
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	grove_session_close(s);
}

static void an_id_of_the_callers_own_makes_a_retry_harmless(void **state)
{
	static const char one[] = "{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}";
	static const char other[] = "{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"y\"}}";
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .parent = "u1" };
	struct grove_buf b;
	const char *next;

	assert_string_equal(say(w, s, one), "mine");
	b = file_bytes(in_world(w, "a.jsonl"));
	assert_string_equal(say(w, s, one), "mine");
	assert_leaf(s, "mine");
	GOT(w, grove_session_append(s, text(other), NULL, NULL), GROVE_ECONFLICT);
	assert_story(s, GROVE_ECONFLICT, "mine");
	/* the same words elsewhere in the tree would be another entry */
	GOT(w, grove_session_append(s, text(one), &o, NULL), GROVE_ECONFLICT);
	o.parent = "u3";
	OK(w, grove_session_append(s, text(one), &o, NULL));
	assert_file(in_world(w, "a.jsonl"), b.ptr);
	grove__buf_release(&b);
	/* a late retry does not move the conversation back */
	next = user(w, s, "next");
	say(w, s, one);
	assert_leaf(s, next);
	grove_session_close(s);
	/* the same through a new handle, after the one that wrote it was closed */
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_WRITE);
	assert_string_equal(say(w, s, one), "mine");
	GOT(w, grove_session_append(s, text(other), NULL, NULL), GROVE_ECONFLICT);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
	grove_session_close(s);
}

static void a_retry_on_another_branch_goes_there(void **state)
{
	static const char one[] = "{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}";
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	const char *more[2];
	struct grove_slice json[2];

	say(w, s, one);
	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	say(w, s, one);
	assert_leaf(s, "mine");
	/* a retry after half was stored writes only what is missing */
	json[0] = text(one);
	json[1] = text("{\"type\":\"custom\",\"customType\":\"c\",\"id\":\"second\"}");
	OK(w, grove_session_append_many(s, json, 2, NULL, INTO(more)));
	assert_path(w, s, "u1 a1 u3 mine second");
	OK(w, grove_session_append_many(s, json, 2, NULL, INTO(more)));
	assert_string_equal(more[1], "second");
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
	grove_session_close(s);
}

static void every_kind_can_be_retried(void **state)
{
	static const char *const json[] = {
		"{\"type\":\"message\",\"id\":\"i0\",\"message\":{\"role\":\"system\",\"content\":\"be good\"}}",
		"{\"type\":\"message\",\"id\":\"i1\",\"message\":{\"role\":\"user\",\"content\":\"q\"}}",
		"{\"type\":\"compaction\",\"id\":\"i2\",\"summary\":\"s\",\"tokensBefore\":3}",
		"{\"type\":\"compaction\",\"id\":\"i3\",\"summary\":\"s\",\"firstKeptEntryId\":\"i1\",\"tokensBefore\":3}",
		"{\"type\":\"label\",\"id\":\"i4\",\"targetId\":\"i1\",\"label\":\"L\"}",
		"{\"type\":\"session_info\",\"id\":\"i5\",\"name\":\" spaced \"}",
		"{\"type\":\"context_edit\",\"id\":\"i6\",\"targetId\":\"i1\",\"replacement\":{\"content\":\"new\"}}",
		"{\"type\":\"something_new\",\"id\":\"i7\",\"z\":1,\"a\":[1.0,2e3]}",
		"{\"type\":\"custom_message\",\"id\":\"i8\",\"customType\":\"t\",\"content\":\"c\",\"display\":true}",
		"{\"type\":\"custom\",\"id\":\"i9\",\"customType\":\"t\",\"timestamp\":\"2026-03-04T05:06:07.000Z\"}",
	};
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", HEADER), GROVE_OPEN_WRITE);
	size_t nr = sizeof(json) / sizeof(*json);

	for (size_t i = 0; i < nr; i++)
		say(w, s, json[i]);
	for (size_t i = 0; i < nr; i++)
		say(w, s, json[i]);
	assert_leaf(s, "i9");
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), nr + 1);
	grove_session_close(s);
}

static void an_append_says_what_became_of_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };
	struct grove_slice json[3] = { text("{\"role\":\"user\",\"content\":\"x\"}"),
				       text("{\"role\":\"user\",\"content\":\"y\"}"), text("{\"role\":") };
	struct grove_detail why = { .code = 0 };
	const char *ids[3] = { NULL };
	struct grove_append_result r = { .size = sizeof(r), .ids = ids, .why = &why };
	struct grove_view *v = view_of(w, s);
	uint32_t before = grove_view_count(v);
	struct grove_entry e = { .size = sizeof(e) };

	grove_view_unref(v);
	GOT(w, grove_session_append_many(s, json, 3, &o, &r), GROVE_EJSON);
	assert_int_equal(r.failed, 2);
	assert_int_equal(why.code, GROVE_EJSON);
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	OK(w, grove_session_append_many(s, json, 2, &o, &r));
	assert_int_equal(r.first, before);
	assert_int_equal(r.nr, 2);
	assert_int_equal(r.seq, 8);
	assert_string_equal(r.id, ids[1]);
	v = view_of(w, s);
	assert_int_equal(r.rev, grove_view_rev(v));
	OK(w, grove_view_entry(v, r.first, &e));
	assert_string_equal(e.id, ids[0]);
	grove_view_unref(v);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
	assert_int_equal(r.lines.ptr[r.lines.len - 1], '\n');
	assert_non_null(strstr(r.lines.ptr, ids[0]));
	assert_non_null(strstr(r.lines.ptr, ids[1]));
	grove_buf_release(&r.lines);
	grove_session_close(s);
}

static void the_expected_number_of_lines_is_compared(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_IF_SEQ, .seq = 5 };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	assert_story(s, GROVE_ECONFLICT, "6 lines, not 5");
	o.seq = 7;
	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	o.seq = 6;
	OK(w, grove_session_append(s, json, &o, NULL));
	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	/* what is in the file counts, not what this handle knows of it */
	file_add(in_world(w, "a.jsonl"), ENTRY("f1", "\"u1\"", "user", "foreign"));
	o.seq = 7;
	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	o.seq = 8;
	OK(w, grove_session_append(s, json, &o, NULL));
	/* without the flag the number is ignored */
	o.flags = 0;
	o.seq = 1;
	OK(w, grove_session_append(s, json, &o, NULL));
	grove_session_close(s);
}

static void after_an_unknown_end_the_handle_writes_no_more(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);

	fail_at("write", EIO, 0, 1);
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL), GROVE_EIO);
	all_is_well();
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL), GROVE_EIO);
	assert_story(s, GROVE_EIO, "open the session again");
	GOT(w, grove_session_set_leaf(s, "u1", LEAF(GROVE_LEAF_PERSIST), NULL), GROVE_EIO);
	assert_leaf(s, "u3");
	grove_session_close(s);
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_WRITE);
	user(w, s, "again");
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	grove_session_close(s);
}

static void a_sync_that_fails_is_told_and_latched(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	OK(w, grove_session_append(s, json, &o, NULL));
	OK(w, grove_session_sync(s));
	o.sync = GROVE_SYNC_FLUSH;
	OK(w, grove_session_append(s, json, &o, NULL));
	o.sync = GROVE_SYNC_ALWAYS;
	fail_at("fdatasync", EIO, 0, 1);
	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_EIO);
	all_is_well();
	GOT(w, grove_session_append(s, json, &o, NULL), GROVE_EIO);
	grove_session_close(s);
}

/* Another writer appends before our write, so that the file must be read again, which fails. */
static const char *meddled;

static int meddle_and_break(const char *call)
{
	static int written;

	if (!strcmp(call, "write") && !written++)
		file_add(meddled, ENTRY("f1", "null", "user", "quick"));
	return written && !strcmp(call, "fstat") ? EIO : 0;
}

static void what_cannot_be_read_back_is_not_written_twice(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", HEADER);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_WRITE);

	meddled = path;
	grove__sys_fault = meddle_and_break;
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL), GROVE_EIO);
	all_is_well();
	assert_int_equal(lines_in(path), 3);
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"y\"}"), NULL, NULL), GROVE_EIO);
	grove_session_close(s);
	assert_int_equal(lines_in(path), 3);
}

/* --------------------------------------------------------------------- leaf */

static void a_moved_leaf_lives_in_its_handle(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE), *t;

	assert_leaf(s, "u3");
	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	assert_leaf(s, "a2");
	GOT(w, grove_session_set_leaf(s, "nobody", NULL, NULL), GROVE_ENOTFOUND);
	assert_leaf(s, "a2");
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	t = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_READ);
	assert_leaf(t, "u3");
	grove_session_close(t);
	/* the leaf stays when others append */
	file_add(in_world(w, "a.jsonl"), ENTRY("f1", "\"u3\"", "user", "x"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_leaf(s, "a2");
	OK(w, grove_session_set_leaf(s, GROVE_ROOT, NULL, NULL));
	assert_leaf(s, NULL);
	assert_path(w, s, "");
	assert_context(w, s, NULL, "\"messages\":[]");
	user(w, s, "a new beginning");
	grove_session_close(s);
}

static void a_persisted_leaf_is_where_every_reader_lands(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE), *t;
	const char *id;
	char ids[64];

	OK(w, grove_session_set_leaf(s, "u3", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_file(in_world(w, "a.jsonl"), BRANCHES);
	OK(w, grove_session_set_leaf(s, "a2", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	assert_leaf(s, "a2");
	t = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_WRITE);
	assert_leaf(t, "a2");
	assert_path(w, t, "u1 a1 u2 a2");
	/* the line that stores the leaf stands for its parent: moving there again writes nothing */
	OK(w, grove_session_set_leaf(t, "a2", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	/* the next entry is a child of the entry, not of the line that stores the leaf */
	id = user(w, t, "on");
	snprintf(ids, sizeof(ids), "u1 a1 u2 a2 %s", id);
	assert_path(w, t, ids);
	/* to the root, and continues there */
	OK(w, grove_session_set_leaf(t, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_leaf(t, NULL);
	grove_session_close(t);
	t = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_WRITE);
	assert_leaf(t, NULL);
	OK(w, grove_session_set_leaf(t, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 9);
	id = user(w, t, "root again");
	assert_path(w, t, id);
	grove_session_close(t);
	grove_session_close(s);
}

static void chains_of_leaf_marks_are_looked_through(void **state)
{
#define MARK(id, parent) "{\"type\":\"custom\",\"customType\":\"grove.leaf\",\"id\":\"" id \
	"\",\"parentId\":" parent STAMP "}\n"
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	s = session_at(w, make(w, "a.jsonl", BRANCHES MARK("m1", "\"u1\"") MARK("m2", "\"m1\"")
			       MARK("m3", "\"m2\"")), GROVE_OPEN_WRITE);
	assert_leaf(s, "u1");
	v = view_of(w, s);
	assert_int_equal(grove_view_entry(v, row(v, "m3"), &e), 0);
	assert_true(e.flags & GROVE_ENTRY_LEAF_MARK);
	grove_view_unref(v);
	/* moving to a line that stores a leaf moves to the entry for which it stands */
	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	OK(w, grove_session_set_leaf(s, "m2", NULL, NULL));
	assert_leaf(s, "u1");
	grove_session_close(s);
	s = session_at(w, make(w, "b.jsonl", BRANCHES MARK("m1", "null") MARK("m2", "\"m1\"")), GROVE_OPEN_READ);
	assert_leaf(s, NULL);
	grove_session_close(s);
	/* a program that does not know such lines continued below one: that is the path now */
	s = session_at(w, make(w, "c.jsonl", BRANCHES MARK("m1", "\"u1\"")
			       ENTRY("x", "\"m1\"", "user", "on")), GROVE_OPEN_READ);
	assert_leaf(s, "x");
	assert_path(w, s, "u1 m1 x");
	grove_session_close(s);
}

static void a_branch_leaves_a_summary_of_what_was_left(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "went astray",
					  .details_json = "{\"n\":1}", .from_hook = 1 };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_view *v;
	const char *id;
	char ids[64];

	OK(w, branch_from(s, "u1", &b, &id));
	snprintf(ids, sizeof(ids), "u1 %s", id);
	assert_path(w, s, ids);
	v = view_of(w, s);
	assert_int_equal(grove_view_line(v, row(v, id), 0, &line), 0);
	assert_non_null(strstr(line.ptr, "\"fromId\":\"u3\""));
	assert_non_null(strstr(line.ptr, "\"fromHook\":true"));
	grove_view_unref(v);
	OK(w, branch_from(s, GROVE_ROOT, &b, &id));
	assert_path(w, s, id);
	GOT(w, branch_from(s, "nobody", &b, &id), GROVE_ENOTFOUND);
	grove__buf_release(&line);
	grove_session_close(s);
}

static void continue_appends_switches_or_replays(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES
		"{\"type\":\"custom_message\",\"customType\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"note\"}],"
		"\"display\":true,\"id\":\"cm\",\"parentId\":\"a2\"" STAMP "}\n"), GROVE_OPEN_WRITE);
	struct grove_buf b = GROVE_BUF_INIT;
	enum grove_outcome o;

	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	OK(w, continue_from(s, "a2", 0, &o, &b));
	assert_int_equal(o, GROVE_OUTCOME_APPEND);
	assert_leaf(s, "a2");
	OK(w, continue_from(s, "a1", 0, &o, &b));
	assert_int_equal(o, GROVE_OUTCOME_SWITCH);
	assert_leaf(s, "a1");
	assert_int_equal(b.len, 0);
	OK(w, continue_from(s, "u2", 0, &o, &b));
	assert_int_equal(o, GROVE_OUTCOME_REPLAY);
	assert_string_equal(b.ptr, "\"three\"");
	assert_leaf(s, "a1");
	grove__buf_release(&b);
	OK(w, continue_from(s, "cm", 0, &o, &b));
	assert_int_equal(o, GROVE_OUTCOME_REPLAY);
	assert_string_equal(b.ptr, "[{\"type\":\"text\",\"text\":\"note\"}]");
	assert_leaf(s, "a2");
	grove__buf_release(&b);
	OK(w, continue_from(s, "u1", 0, &o, &b));
	assert_leaf(s, NULL);
	GOT(w, continue_from(s, "nobody", 0, &o, &b), GROVE_ENOTFOUND);
	GOT(w, continue_from(s, GROVE_ROOT, 0, &o, &b), GROVE_ENOTFOUND);
	assert_leaf(s, NULL);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	OK(w, continue_from(s, "a1", GROVE_LEAF_PERSIST, &o, &b));
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
	/* when everybody is to see the move, what others wrote counts */
	file_add(in_world(w, "a.jsonl"), ENTRY("f1", "\"a2\"", "assistant", "x"));
	OK(w, continue_from(s, "f1", GROVE_LEAF_PERSIST, &o, &b));
	assert_int_equal(o, GROVE_OUTCOME_APPEND);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 9);
	grove__buf_release(&b);
	grove_session_close(s);
}

static void labels_come_and_go(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_view *old;
	struct grove_entry e = { .size = sizeof(e) };
	const char *id;

	OK(w, grove_session_append_label(s, "u1", "first", NULL, INTO(&id)));
	assert_non_null(id);
	assert_leaf(s, id);
	assert_string_equal(label_of(w, s, "u1"), "first");
	old = view_of(w, s);
	OK(w, grove_session_append_label(s, "u1", "second", NULL, NULL));
	OK(w, grove_session_append_label(s, "a1", "other", NULL, NULL));
	assert_string_equal(label_of(w, s, "u1"), "second");
	OK(w, grove_session_append_label(s, "u1", NULL, NULL, NULL));
	assert_string_equal(label_of(w, s, "u1"), "-");
	OK(w, grove_session_append_label(s, "a1", "", NULL, NULL));
	assert_string_equal(label_of(w, s, "a1"), "-");
	/* a view shows the moment at which it was made */
	assert_int_equal(grove_view_entry(old, row(old, "u1"), &e), 0);
	assert_string_equal(e.label, "first");
	assert_true(e.label_time > 0);
	grove_view_unref(old);
	grove_session_close(s);
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_READ);
	assert_string_equal(label_of(w, s, "u1"), "-");
	grove_session_close(s);
}

/* ----------------------------------------------------- in a store that tells */

struct pair {
	struct grove *g;
	struct grove_session *s, *t;     /* the same session; `t` asks to be told of others' lines */
	const char *first;               /* id of the first of its two entries; the other is "mine" */
};

static const char mine[] = "{\"type\":\"message\",\"id\":\"mine\","
			   "\"message\":{\"role\":\"user\",\"content\":\"once\"}}";

static void pair_open(struct world *w, struct pair *p)
{
	const char *const stores[] = { "memory:" };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = "", .stores = stores, .nr_stores = 1 };
	struct grove_create_options new = { .size = sizeof(new), .flags = GROVE_CREATE_NOW };

	assert_int_equal(grove_open(&o, &p->g), 0);
	assert_int_equal(grove_session_create(p->g, &new, &p->s), 0);
	p->first = user(w, p->s, "first");
	assert_int_equal(grove_session_append(p->s, text(mine), NULL, NULL), 0);
	assert_int_equal(grove_session_open(p->g, grove_session_id(p->s), GROVE_OPEN_WRITE | GROVE_OPEN_STRICT, &p->t),
			 0);
	assert_leaf(p->t, "mine");
}

static void pair_close(struct pair *p)
{
	grove_session_close(p->t);
	grove_session_close(p->s);
	grove_close(p->g);
}

/* The other handle moves the leaf, and continues there. */
static void go_elsewhere(struct world *w, struct pair *p)
{
	assert_int_equal(grove_session_set_leaf(p->s, p->first, LEAF(GROVE_LEAF_PERSIST), NULL), 0);
	user(w, p->s, "elsewhere");
}

/*
 * Nothing is written for an entry that is there already, so the session must read the log itself.
 */
static void a_retry_makes_its_entry_the_leaf_wherever_that_went(void **state)
{
	struct pair p;

	pair_open(*state, &p);
	go_elsewhere(*state, &p);
	/* a handle that writes nothing has no conflict with lines of another */
	assert_int_equal(grove_session_append(p.t, text(mine), NULL, NULL), 0);
	assert_leaf(p.t, "mine");
	assert_int_equal(grove_session_refresh(p.t), 0);
	assert_leaf(p.t, "mine");
	pair_close(&p);
}

static void a_retry_is_compared_with_what_is_there_now(void **state)
{
	struct pair p;

	pair_open(*state, &p);
	assert_int_equal(grove_session_update(p.s, "mine", "/message/content", "\"twice\""), 0);
	user(*state, p.s, "more");
	assert_int_equal(grove_session_append(p.t, text(mine), NULL, NULL), GROVE_ECONFLICT);
	pair_close(&p);
}

static void who_is_told_of_lines_has_yet_to_look_at_them(void **state)
{
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct pair p;

	pair_open(*state, &p);
	go_elsewhere(*state, &p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(grove_session_append(p.t, json, NULL, NULL), GROVE_ECONFLICT);
	assert_int_equal(grove_session_refresh(p.t), 1);
	assert_int_equal(grove_session_append(p.t, json, NULL, NULL), 0);
	assert_int_equal(grove_session_refresh(p.s), 1);
	assert_int_equal(counts_of(*state, p.s).entries, 4);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(each_entry_hangs_below_the_one_before),
		WORLD_TEST(every_kind_has_a_call),
		WORLD_TEST(a_parent_may_be_named_or_none),
		WORLD_TEST(an_append_knows_what_a_reader_finds),
		WORLD_TEST(what_is_no_entry_is_refused_with_its_place),
		WORLD_TEST(of_many_all_are_stored_or_none),
		WORLD_TEST(a_write_that_is_cut_short_is_taken_back),
		WORLD_TEST(an_id_of_the_callers_own_makes_a_retry_harmless),
		WORLD_TEST(a_retry_on_another_branch_goes_there),
		WORLD_TEST(every_kind_can_be_retried),
		WORLD_TEST(an_append_says_what_became_of_it),
		WORLD_TEST(the_expected_number_of_lines_is_compared),
		WORLD_TEST(after_an_unknown_end_the_handle_writes_no_more),
		WORLD_TEST(a_sync_that_fails_is_told_and_latched),
		WORLD_TEST(what_cannot_be_read_back_is_not_written_twice),
		WORLD_TEST(a_moved_leaf_lives_in_its_handle),
		WORLD_TEST(a_persisted_leaf_is_where_every_reader_lands),
		WORLD_TEST(chains_of_leaf_marks_are_looked_through),
		WORLD_TEST(a_branch_leaves_a_summary_of_what_was_left),
		WORLD_TEST(continue_appends_switches_or_replays),
		WORLD_TEST(labels_come_and_go),
		WORLD_TEST(a_retry_makes_its_entry_the_leaf_wherever_that_went),
		WORLD_TEST(a_retry_is_compared_with_what_is_there_now),
		WORLD_TEST(who_is_told_of_lines_has_yet_to_look_at_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
