/*
 * tests/unit/test_heads.c: reading many entries of a view at once.
 *
 * Entries whose long values were left out are put together again, as a program in
 * another language would do it, and compared with their lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"
#include "js/js.h"

#define SESSION_LINE "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
#define LONG16 "0123456789abcdef"
#define LONG LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16
#define USAGE(n) "{\"input\":" n ",\"output\":-0,\"cost\":{\"total\":0.0293724,\"long\":1e-7}}"

/* An entry that is put together: what was taken of its numbers and texts. */
struct reading {
	const struct grove_heads *h;
	struct grove_view *v;
	const double *number;
	const uint32_t *text_at;
	struct grove_slice blocks;       /* the list of blocks as it is stored */
	struct grove_slice letters;      /* and what stands for them */
	unsigned left;                   /* values that were left out */
};

static struct grove_slice next_text(struct reading *r)
{
	const uint32_t *at = r->text_at++;

	return grove__slice(r->h->strings + at[0], at[1] - at[0]);
}

static void assert_slice(struct grove_slice got, struct grove_slice want)
{
	if (got.len != want.len || memcmp(got.ptr, want.ptr, got.len))
		fail_msg("%.*s is not %.*s", (int)got.len, got.ptr, (int)want.len, want.ptr);
}

/* The text that a raw string stands for, in both spellings. */
static void assert_json(struct grove_slice got, struct grove_slice want)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;

	for (size_t i = 0; i < got.len; i++)
		assert_true((unsigned char)got.ptr[i] < 0x80);
	if (grove__json_type_of(want) != JSON_STRING) {
		assert_slice(got, want);
		return;
	}
	assert_int_equal(grove__json_text(&a, got), 0);
	assert_int_equal(grove__json_text(&b, want), 0);
	assert_slice(grove_buf_slice(&a), grove_buf_slice(&b));
	grove_buf_release(&a);
	grove_buf_release(&b);
}

/* Its members in their order, its type, and short texts. */
static void assert_block(struct reading *r, struct grove_slice shape, struct grove_slice stored)
{
	struct grove__json_iter a, b;

	grove__json_iter_init(&a, shape);
	grove__json_iter_init(&b, stored);
	while (grove__json_next(&a)) {
		assert_true(grove__json_next(&b));
		assert_slice(a.key, b.key);
		if (grove__json_type_of(a.value) == JSON_STRING)
			assert_slice(a.value, b.value);
		else if (grove__json_string_is(grove__json_get(a.value, "$"), "text"))
			assert_slice(next_text(r), grove__slice(b.value.ptr + 1, b.value.len - 2));
		else
			assert_slice(a.value, grove_str("{\"$\":\"left\"}"));
	}
	assert_false(grove__json_next(&b));
}

/* Their texts come after all others of the entry. */
static void assert_blocks(struct reading *r)
{
	for (size_t i = 0; i < r->letters.len; i++) {
		struct grove_slice block = grove__json_at(r->blocks, i);
		unsigned at = (unsigned char)r->letters.ptr[i] - (unsigned)GROVE_BLOCK_FIRST;

		assert_non_null(block.ptr);
		if (r->letters.ptr[i] == GROVE_BLOCK_ODD)
			continue;
		assert_true(at < r->h->nr_blocks);
		assert_block(r, grove__json_at(r->h->blocks, at), block);
	}
	assert_null(grove__json_at(r->blocks, r->letters.len).ptr);
}

static void assert_hole(struct reading *r, struct grove_slice what, struct grove_slice stored)
{
	struct grove_slice text = grove__slice(stored.ptr + 1, stored.len - 2);
	struct grove_entry e = { .size = sizeof(e) };

	if (grove__json_string_is(what, "text")) {
		assert_slice(next_text(r), text);
	} else if (grove__json_string_is(what, "json")) {
		assert_json(next_text(r), stored);
	} else if (grove__json_string_is(what, "number")) {
		double d = *r->number++, want = grove__json_number(stored);

		assert_memory_equal(&d, &want, sizeof(d));
	} else if (grove__json_string_is(what, "parent")) {
		assert_int_equal(grove_view_entry(r->v, (uint32_t)*r->number++, &e), 0);
		assert_slice(grove_str(e.id), text);
	} else {
		assert_int_equal(*r->number++, stored.len);
		r->left++;
		if (grove__json_string_is(what, "blocks")) {
			r->blocks = stored;
			r->letters = next_text(r);
		} else {
			assert_true(grove__json_string_is(what, "left"));
		}
	}
}

/* Every member, in the order in which it is stored. */
static void assert_object(struct reading *r, struct grove_slice shape, struct grove_slice stored)
{
	struct grove__json_iter a, b;

	grove__json_iter_init(&a, shape);
	grove__json_iter_init(&b, stored);
	while (grove__json_next(&a)) {
		struct grove_slice hole = { NULL, 0 };

		assert_true(grove__json_next(&b));
		assert_slice(a.key, b.key);
		if (grove__json_type_of(a.value) == JSON_OBJECT)
			hole = grove__json_get(a.value, "$");
		if (hole.ptr)
			assert_hole(r, hole, b.value);
		else if (grove__json_type_of(a.value) == JSON_OBJECT)
			assert_object(r, a.value, b.value);
		else
			assert_slice(a.value, b.value);
	}
	assert_false(grove__json_next(&b));
}

/* Entry `i` of the heads is row `row`; false: it was not taken apart. */
static bool assert_head(struct reading *r, uint32_t i, uint32_t row)
{
	struct grove_slice shape = grove__json_at(r->h->shapes, r->h->shape[i]), whole;
	struct grove_buf line = GROVE_BUF_INIT;

	assert_true(r->h->shape[i] < r->h->nr_shapes);
	whole = grove__json_get(shape, "$");
	if (whole.ptr) {
		assert_true(grove__json_string_is(whole, "line"));
		return false;
	}
	r->number = r->h->numbers + r->h->number[i];
	r->text_at = r->h->text_at + r->h->text[i];
	r->left = 0;
	r->letters = grove__slice(NULL, 0);
	assert_int_equal(grove_view_line(r->v, row, 0, &line), 0);
	assert_object(r, shape, grove_buf_slice(&line));
	if (r->letters.ptr)
		assert_blocks(r);
	if (i + 1 < r->h->nr) {
		assert_ptr_equal(r->number, r->h->numbers + r->h->number[i + 1]);
		assert_ptr_equal(r->text_at, r->h->text_at + r->h->text[i + 1]);
	} else {
		assert_ptr_equal(r->number, r->h->numbers + r->h->nr_numbers);
		assert_ptr_equal(r->text_at, r->h->text_at + r->h->nr_texts);
	}
	grove_buf_release(&line);
	return true;
}

/* The heads of a log, all of which can be put together again. */
static void assert_log(struct world *w, const char *bytes, const char *letters)
{
	struct grove_range part = { 1, 0 };
	struct grove_session *s;
	struct grove_heads *h;
	struct reading r = { 0 };
	uint32_t i;

	file_make(in_world(w, "s.jsonl"), bytes);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	r.v = view_of(w, s);
	assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 0 }, &h), 0);
	assert_int_equal(h->nr, grove_view_count(r.v));
	r.h = h;
	for (i = 0; i < h->nr; i++)
		assert_true(assert_head(&r, i, i));
	if (letters)
		assert_slice(r.letters, grove_str(letters));
	grove_heads_free(h);

	assert_int_equal(grove_view_heads(r.v, part, &h), 0);
	r.h = h;
	assert_int_equal(h->nr, grove_view_count(r.v) - 1);
	for (i = 0; i < h->nr; i++)
		assert_true(assert_head(&r, i, i + 1));
	grove_heads_free(h);
	grove_view_unref(r.v);
	grove_session_close(s);
}

static void every_member_comes_back_in_its_order(void **state)
{
	assert_log(*state,
		   SESSION_LINE
		   "{\"type\":\"model_change\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"yesterday\",\"provider\":\"p\",\"modelId\":\"m\"}\n"
		   "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"message\":{\"content\":[],\"role\":\"user\",\"timestamp\":1767603608908}}\n"
		   "{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"timestamp\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"short\",\"usage\":" USAGE("12345") ",\"stopReason\":\"stop\"}}\n"
		   "{ \"id\": \"d\", \"type\": \"message\", \"parentId\": \"nobody\", \"message\": {\"role\": \"assistant\", \"usage\": " USAGE("0.5") ", \"details\": {\"a\": [1]}}, \"extra\": true}\n"
		   "{\"type\":\"label\",\"id\":\"e\",\"parentId\":\"a\",\"label\":\"\xc3\xa4\xf0\x9f\x8c\xb1\\\"\\ud800\xff\",\"targetId\":\"a\",\"x\":\"" LONG "\"}\n"
		   "{\"type\":\"custom\",\"id\":\"f\",\"parentId\":\"e\",\"data\":{\"list\":[\"" LONG "\"]},\"n\":1e400,\"digits\":0.0000000000000000000000000000000000000000000000000000000000000000000001}\n"
		   "{\"type\":\"message\",\"id\":\"g\",\"parentId\":\"f\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"{[\\\"\"},"
		   "{\"text\":\"type\",\"type\":\"text\"},{\"type\":\"toolCall\",\"arguments\":{\"type\":\"text\"}},{\"type\":\"image\"},{},3,"
		   "{\"a\":1,\"a\":2},{\"\\u0061\":1},{\"type\":\"te\\u0078t\"},{\"type\":\"thinking\",\"thinking\":[]}]}}\n",
		   "!\"#$%~~~&!");
}

#define SPOKEN(id, parent, time, message) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent ",\"timestamp\":\"" time "\",\"message\":" message "}"
#define THEN "2026-02-28T23:59:59.999Z"
#define WORDS "{\"role\":\"user\",\"content\":\"x\"}"

static void a_message_comes_back_however_it_is_spelled(void **state)
{
	assert_log(*state,
		   SESSION_LINE
		   SPOKEN("a", "null", THEN, WORDS) "\n"
		   SPOKEN("c", "\"a\"", "2024-02-29T00:00:00.000Z", "{}") "\n"
		   SPOKEN("c", "\"a\"", THEN, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"}\"}]}") "\n"
		   SPOKEN("b", "\"a\"", THEN, WORDS ",\"x\":{}") "\n"
		   SPOKEN("d", "\"nobody\"", THEN, WORDS) "\n"
		   SPOKEN("e", "\"f\"", THEN, WORDS) "\n"
		   SPOKEN("f", "\"e\"", "2026-02-28T23:59:59Z", WORDS) "\n"
		   SPOKEN("g", "\"a\"", "2026-02-30T00:00:00.000Z", WORDS) "\n"
		   SPOKEN("h", "\"a\"", "2026-02-28T24:00:00.000Z", WORDS) "\n"
		   SPOKEN("\\u0069", "\"a\"", THEN, WORDS) "\n"
		   SPOKEN("j", "\"\\u0061\"", THEN, WORDS) "\n"
		   SPOKEN("k", "3", THEN, WORDS) "\n"
		   SPOKEN("l", "\"a\"", THEN, WORDS " ") "\n"
		   SPOKEN("m", "\"a\"", THEN, " " WORDS) "\n"
		   SPOKEN("n", "\"a\"", THEN, WORDS) "\r\n"
		   SPOKEN("o", "\"a\"", THEN, "\"x\"") "\n"
		   "{\"id\":\"p\",\"type\":\"message\",\"parentId\":\"a\",\"timestamp\":\"" THEN "\",\"message\":" WORDS "}\n",
		   NULL);
}

static void rows_of_one_shape_share_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_heads *h;
	struct reading r = { 0 };

	for (int i = 0; i < 100; i++) {
		user(w, s, "one");
		say(w, s, "{\"role\":\"assistant\",\"content\":[],\"usage\":" USAGE("7") "}");
	}
	r.v = view_of(w, s);
	assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 0 }, &h), 0);
	r.h = h;
	assert_int_equal(h->nr, 200);
	/* the first entry has no parent, and number 0 is kept for lines */
	assert_int_equal(h->nr_shapes, 4);
	for (uint32_t i = 0; i < h->nr; i++)
		assert_true(assert_head(&r, i, i));
	grove_heads_free(h);
	/* what lies behind the end is nothing */
	assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 500, 600 }, &h), 0);
	assert_int_equal(h->nr, 0);
	assert_int_equal(h->nr_texts, 0);
	grove_heads_free(h);
	grove_heads_free(NULL);
	grove_view_unref(r.v);
	grove_session_close(s);
}

static void members_that_cannot_be_put_in_order_are_not_taken_apart(void **state)
{
	static const char *const odd[] = { "\"7\":1", "\"$\":1", "\"__proto__\":1", "\"a\":1,\"a\":2", "\"\\u0061\":1", "\"\":1" };
	struct world *w = *state;
	struct grove_session *s;
	struct grove_heads *h;
	struct reading r = { 0 };
	char line[512];

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		snprintf(line, sizeof(line),
			 SESSION_LINE "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,%s}\n"
			 "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",%s}}\n"
			 "{\"type\":\"custom\",\"id\":\"c\",\"parentId\":\"b\",\"data\":{%s}}\n", odd[i], odd[i], odd[i]);
		file_make(in_world(w, "s.jsonl"), line);
		s = session_at(w, in_world(w, "s.jsonl"), 0);
		r.v = view_of(w, s);
		assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 0 }, &h), 0);
		r.h = h;
		assert_false(assert_head(&r, 0, 0));
		assert_false(assert_head(&r, 1, 1));
		assert_true(assert_head(&r, 2, 2));
		grove_heads_free(h);
		grove_view_unref(r.v);
		grove_session_close(s);
	}
}

static void no_number_of_shapes_is_too_many(void **state)
{
	struct world *w = *state;
	struct grove_buf log = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_heads *h;
	struct reading r = { 0 };
	char line[256];

	grove_buf_add(&log, grove_str(SESSION_LINE));
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(line, sizeof(line), "{\"type\":\"custom\",\"id\":\"%d-%d\",\"parentId\":null,\"m%d\":1}\n", round, i, i);
			grove_buf_add(&log, grove_str(line));
		}
	file_make(in_world(w, "s.jsonl"), log.ptr);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	r.v = view_of(w, s);
	assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 0 }, &h), 0);
	r.h = h;
	for (uint32_t i = 0; i < h->nr; i++)
		assert_int_equal(assert_head(&r, i, i), i % 5000 < 1023);
	assert_int_equal(h->shape[0], h->shape[5000]);
	grove_heads_free(h);
	grove_view_unref(r.v);
	grove_session_close(s);
	grove_buf_release(&log);
}

static void records_of_claude_have_heads(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS RECORD("user", "u4", "\"a3\"", "7",
							    "[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]") "\n"
						     NOTE("custom-title", "customTitle", "x"));
	struct grove_heads *h;
	struct reading r = { .v = view_of(w, s) };

	assert_int_equal(grove_view_heads(r.v, (struct grove_range){ 0 }, &h), 0);
	r.h = h;
	assert_int_equal(h->nr, grove_view_count(r.v));
	for (uint32_t i = 0; i < h->nr; i++) {
		assert_true(assert_head(&r, i, i));
		if (i == 6)
			assert_int_equal(r.letters.len, 1);
	}
	grove_heads_free(h);
	grove_view_unref(r.v);
	grove_session_close(s);
}

static void a_log_that_changed_is_stale(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY);
	struct grove_view *v = view_of(w, s);
	struct grove_heads *h;

	file_make(grove_session_path(s), LINE("user", "u9", "null", "1") LINE("assistant", "a9", "\"u9\"", "2")
					 LINE("user", "u8", "\"a9\"", "3") LINE("assistant", "a8", "\"u8\"", "4"));
	assert_int_equal(grove_view_heads(v, (struct grove_range){ 0 }, &h), GROVE_ESTALE);
	assert_null(h);
	grove_view_unref(v);
	grove_session_close(s);
}

/* --------------------------------------------------------------------- columns */

/* a prompt, a call, its result, which failed, a reply; from there two ways, one with a label */
#define TURN \
	SESSION_LINE \
	"{\"type\":\"message\",\"id\":\"u1\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\" \\u00e4bc one\"}}\n" \
	"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"u1\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"t\",\"name\":\"read\",\"arguments\":{}}]}}\n" \
	"{\"type\":\"message\",\"id\":\"r1\",\"parentId\":\"a1\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"toolName\":\"read\",\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}}\n" \
	"{\"type\":\"message\",\"id\":\"a2\",\"parentId\":\"r1\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"sorry\"}]}}\n" \
	"{\"type\":\"message\",\"id\":\"u2\",\"parentId\":\"a2\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}\n" \
	"{\"type\":\"message\",\"id\":\"a3\",\"parentId\":\"u2\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"}}\n" \
	"{\"type\":\"message\",\"id\":\"a4\",\"parentId\":\"a3\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"}}\n" \
	"{\"type\":\"message\",\"id\":\"u3\",\"parentId\":\"a2\",\"message\":{\"role\":\"user\",\"content\":\"three\"}}\n" \
	"{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"u3\",\"targetId\":\"a3\",\"label\":\"here\"}\n"

/* "id parent run failed text; …" */
static void assert_columns(struct grove_view *v, const struct grove_columns_options *opt, const char *want)
{
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_columns *c;
	char row[256];

	assert_int_equal(grove_view_columns(v, opt, &c), 0);
	for (uint32_t i = 0; i < c->nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		int n = snprintf(row, sizeof(row), "%s ", c->strings + c->id[i]);

		if (c->parent[i] == GROVE_EARLIER)
			n += snprintf(row + n, sizeof(row) - n, "^");
		else if (c->parent[i] == GROVE_NO_ENTRY)
			n += snprintf(row + n, sizeof(row) - n, "-");
		else
			n += snprintf(row + n, sizeof(row) - n, "%s", c->strings + c->id[c->parent[i]]);
		if (c->run)
			n += snprintf(row + n, sizeof(row) - n, " %u", c->run[i]);
		if (c->failed)
			n += snprintf(row + n, sizeof(row) - n, " %u", c->failed[i]);
		if (c->text[i])
			n += snprintf(row + n, sizeof(row) - n, " %s", c->strings + c->text[i]);
		snprintf(row + n, sizeof(row) - n, ";");
		grove_buf_add(&got, grove_str(row));
		assert_int_equal(grove_view_entry(v, c->index[i], &e), 0);
		assert_string_equal(e.id, c->strings + c->id[i]);
		assert_int_equal(e.line, c->seq[i]);
		assert_int_equal(e.bytes, c->bytes[i]);
		assert_int_equal(e.time, c->time[i]);
		assert_int_equal(e.flags, c->flags[i]);
		assert_int_equal(e.kind, c->kind[i]);
		assert_int_equal(e.role, c->role[i]);
	}
	assert_string_equal(got.ptr, want);
	grove_buf_release(&got);
	grove_columns_free(c);
}

static void columns_tell_the_shape(void **state)
{
	struct world *w = *state;
	struct grove_columns_options o = { .size = sizeof(o) };
	struct grove_session *s;
	struct grove_view *v;

	file_make(in_world(w, "s.jsonl"), TURN);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	v = view_of(w, s);
	assert_columns(v, NULL, "u1 -;a1 u1;r1 a1;a2 r1;u2 a2;a3 u2;a4 a3;u3 a2;l u3;");
	o.preview = 5;
	assert_columns(v, &o, "u1 - \xc3\xa4""bc ;a1 u1 {};r1 a1 no;a2 r1 sorry;u2 a2 two;a3 u2 x;a4 a3 x;u3 a2 three;l u3 a3: h;");
	o.preview = 0;
	o.level = GROVE_LEVEL_TURNS;
	assert_columns(v, &o, "u1 - 0;a2 u1 2;u2 a2 0;a3 u2 0;a4 a3 0;u3 a2 0;l u3 0;");
	o.flags = GROVE_COLUMNS_FAILED;
	o.preview = 3;
	assert_columns(v, &o, "u1 - 0 0 \xc3\xa4""b;a2 u1 2 1 sor;u2 a2 0 0 two;a3 u2 0 0 x;a4 a3 0 0 x;u3 a2 0 0 thr;l u3 0 0 a3:;");
	o = (struct grove_columns_options){ .size = sizeof(o), .seq = { 4, 7 } };
	assert_columns(v, &o, "a2 ^;u2 a2;a3 u2;");
	o.seq = (struct grove_range){ 6, 0 };
	o.level = GROVE_LEVEL_TURNS;
	assert_columns(v, &o, "a3 ^ 0;a4 a3 0;u3 ^ 0;l u3 0;");
	grove_columns_free(NULL);
	grove_view_unref(v);
	grove_session_close(s);
}

static void an_entry_in_a_few_words(void **state)
{
	struct world *w = *state;
	struct grove_buf words = GROVE_BUF_INIT;
	struct grove_preview p = { .size = sizeof(p) };
	struct grove_session *s;
	struct grove_view *v;

	file_make(in_world(w, "s.jsonl"), TURN);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	v = view_of(w, s);
	/* never half of a character */
	assert_int_equal(grove_view_preview(v, 0, 1, &words, &p), 0);
	assert_int_equal(p.text.len, 0);
	assert_int_equal(grove_view_preview(v, 0, 2, &words, &p), 0);
	assert_slice(p.text, grove_str("\xc3\xa4"));
	assert_int_equal(p.kind, GROVE_PIECE_TEXT);
	assert_int_equal(grove_view_preview(v, 1, 100, &words, &p), 0);
	assert_slice(p.title, grove_str("read"));
	assert_int_equal(p.kind, GROVE_PIECE_TOOL_CALL);
	assert_int_equal(grove_view_preview(v, 2, 100, &words, &p), 0);
	assert_slice(p.text, grove_str("no"));
	assert_true(p.error);
	assert_int_equal(grove_view_preview(v, 99, 100, &words, &p), GROVE_ENOTFOUND);
	grove_buf_release(&words);
	grove_view_unref(v);
	grove_session_close(s);
}

/* --------------------------------------------------------- pages, texts, images */

/* A page is `want`, of which line breaks do not matter, and the next begins with `next`. */
static void assert_page(struct grove_view *v, const struct grove_entries_options *o, const char *want, uint64_t next)
{
	struct grove_buf got = GROVE_BUF_INIT, ids = GROVE_BUF_INIT;
	struct grove__json_iter it;
	uint64_t after;

	assert_int_equal(grove_view_entries(v, o, grove_buf_sink(&got), &after), 0);
	grove__json_iter_init(&it, grove__slice(got.ptr, got.len - 1));
	while (grove__json_next(&it)) {
		assert_int_equal(grove__json_text(&ids, grove__json_get(it.value, "id")), 0);
		assert_int_equal(grove__buf_add_char(&ids, ' '), 0);
	}
	assert_string_equal(ids.ptr ? ids.ptr : "", want);
	assert_int_equal(after, next);
	grove_buf_release(&got);
	grove_buf_release(&ids);
}

static void entries_come_in_pages(void **state)
{
	static const struct grove_range two[] = { { 1, 3 }, { 8, 0 } };
	struct world *w = *state;
	struct grove_entries_options o = { .size = sizeof(o) };
	struct grove_buf got = GROVE_BUF_INIT, log = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;

	file_make(in_world(w, "s.jsonl"), TURN);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	v = view_of(w, s);
	assert_page(v, NULL, "u1 a1 r1 a2 u2 a3 a4 u3 l ", GROVE_NO_SEQ);
	OK(w, grove_view_entries(v, NULL, grove_buf_sink(&got), NULL));
	OK(w, grove_view_log(v, 0, grove_buf_sink(&log)));
	assert_string_equal(got.ptr, log.ptr);
	o.limit = 2;
	assert_page(v, &o, "u1 a1 ", 3);
	o.seq = &(struct grove_range){ 3, 0 };
	o.nr_seq = 1;
	assert_page(v, &o, "r1 a2 ", 5);
	o = (struct grove_entries_options){ .size = sizeof(o), .seq = two, .nr_seq = 2 };
	assert_page(v, &o, "u1 a1 u3 l ", GROVE_NO_SEQ);
	/* one entry, however long it is */
	o.max_bytes = 1;
	assert_page(v, &o, "u1 ", 2);
	o.max_bytes = 300;
	assert_page(v, &o, "u1 a1 ", 8);
	grove_buf_release(&got);
	grove_buf_release(&log);
	grove_view_unref(v);
	grove_session_close(s);
}

static void long_texts_become_references(void **state)
{
	struct world *w = *state;
	struct grove_entries_options o = { .size = sizeof(o), .max_text = 128 };
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_view *v;

	user(w, s, LONG);
	v = view_of(w, s);
	OK(w, grove_view_entries(v, &o, grove_buf_sink(&got), NULL));
	assert_null(strstr(got.ptr, LONG16));
	assert_non_null(strstr(got.ptr, "\"bytes\":144"));
	grove_buf_release(&got);
	grove_view_unref(v);
	grove_session_close(s);
}

/* References tell where the text stands, and a page which line an entry is. */
static void references_can_be_followed(void **state)
{
	struct world *w = *state;
	struct grove_entries_options o = { .size = sizeof(o), .max_text = 1,
					   .flags = GROVE_ENTRIES_SEQ | GROVE_ENTRIES_MEDIA };
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_buf got = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	struct grove_view *v;

	say(w, s, "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"R0lGODlhAwACAA==\",\"mimeType\":\"image/gif\"},"
		  "{\"type\":\"text\",\"text\":\"short\"}],\"a/~\":[{\"\\u0062\":\"" LONG "\"}]}");
	v = view_of(w, s);
	OK(w, grove_view_entries(v, &o, grove_buf_sink(&got), NULL));
	assert_non_null(strstr(got.ptr, "{\"seq\":1,\"entry\":{"));
	assert_non_null(strstr(got.ptr, "\"data\":{\"$media\":0,\"type\":\"image/gif\",\"bytes\":10,\"width\":3,\"height\":2}"));
	assert_non_null(strstr(got.ptr, "\"text\":\"short\""));
	assert_non_null(strstr(got.ptr, "\"pointer\":\"/message/a~1~0/0/b\",\"bytes\":144"));
	OK(w, grove_view_text(v, 0, "/message/a~1~0/0/b", (struct grove_range){ 0 }, &text, NULL));
	assert_string_equal(text.ptr, LONG);
	/* images alone */
	grove_buf_release(&got);
	o.max_text = 0;
	OK(w, grove_view_entries(v, &o, grove_buf_sink(&got), NULL));
	assert_non_null(strstr(got.ptr, "$media"));
	assert_non_null(strstr(got.ptr, LONG));
	grove_buf_release(&got);
	grove_buf_release(&text);
	grove_view_unref(v);
	grove_session_close(s);
}

static void media_is_known_by_its_bytes(void **state)
{
	(void)state;
	assert_string_equal(grove_media_type(grove_str("\x89PNG\r\n\x1a\n")), "image/png");
	assert_string_equal(grove_media_type(grove_str("RIFF....WEBP")), "image/webp");
	assert_string_equal(grove_media_type(grove_str("")), "application/octet-stream");
}

static void assert_text(struct grove_view *v, const char *pointer, uint64_t from, uint64_t to, const char *want)
{
	struct grove_buf got = GROVE_BUF_INIT;
	uint64_t total = 0;
	int rc = grove_view_text(v, 0, pointer, (struct grove_range){ from, to }, &got, &total);

	assert_int_equal(rc, want ? 0 : GROVE_ENOTFOUND);
	if (want)
		assert_string_equal(got.ptr ? got.ptr : "", want);
	grove_buf_release(&got);
}

static void texts_by_range(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_view *v;
	uint64_t total;
	struct grove_buf got = GROVE_BUF_INIT;

	say(w, s, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\\u00e4\\n\xf0\x9f\x8c\xb1z\"}],\"a/b\":{\"~\":[1,2]}}");
	v = view_of(w, s);
	OK(w, grove_view_text(v, 0, "/message/content/0/text", (struct grove_range){ 0 }, &got, &total));
	assert_string_equal(got.ptr, "a\xc3\xa4\n\xf0\x9f\x8c\xb1z");
	assert_int_equal(total, 9);
	/* ranges that follow each other join, wherever they are cut */
	for (uint64_t cut = 1; cut < total; cut++) {
		struct grove_buf both = GROVE_BUF_INIT;

		OK(w, grove_view_text(v, 0, "/message/content/0/text", (struct grove_range){ 0, cut }, &both, NULL));
		OK(w, grove_view_text(v, 0, "/message/content/0/text", (struct grove_range){ cut, 0 }, &both, NULL));
		assert_string_equal(both.ptr, got.ptr);
		grove_buf_release(&both);
	}
	assert_text(v, "/message/content/0/text", 2, 3, "\xc3\xa4");
	assert_text(v, "/message/content/0/text", 4, 8, "\xf0\x9f\x8c\xb1");
	assert_text(v, "/message/content/0/text", 90, 0, "");
	assert_text(v, "/message/a~1b/~0", 0, 0, "[1,2]");
	assert_text(v, "/message/a~1b/~0/1", 0, 0, "2");
	assert_text(v, "/message/a~1b/~0/2", 0, 0, NULL);
	assert_text(v, "/message/a~1b/~0/01", 0, 0, NULL);
	assert_text(v, "/nothing/there", 0, 0, NULL);
	assert_text(v, "message", 0, 0, NULL);
	grove_buf_release(&got);
	grove_view_unref(v);
	grove_session_close(s);
}

static void images_are_decoded(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *c;
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_view *v;
	const char *type;

	say(w, s, "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"R0lGODlh\",\"mimeType\":\"image/png\"},"
		  "{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}");
	v = view_of(w, s);
	OK(w, grove_view_media(v, 0, 0, &got, &type));
	assert_string_equal(got.ptr, "GIF89a");
	assert_string_equal(type, "image/gif");
	OK(w, grove_view_media(v, 0, 1, &got, &type));
	assert_int_equal(got.len, 9);
	assert_string_equal(type, "application/octet-stream");
	assert_int_equal(grove_view_media(v, 0, 2, &got, &type), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_media(v, 9, 0, &got, &type), GROVE_ENOTFOUND);
	grove_view_unref(v);
	grove_session_close(s);
	c = opened(w, RECORD("user", "u1", "null", "1",
			     "[{\"type\":\"tool_result\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"R0lGODlh\"}}]}]") "\n");
	v = view_of(w, c);
	OK(w, grove_view_media(v, 0, 0, &got, &type));
	assert_string_equal(type, "image/gif");
	grove_view_unref(v);
	grove_session_close(c);
	grove_buf_release(&got);
}

static void ids_by_their_beginning(void **state)
{
	struct world *w = *state;
	struct grove_rows rows = { NULL, 0 };
	struct grove_session *s;
	struct grove_view *v;

	file_make(in_world(w, "s.jsonl"), TURN);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	v = view_of(w, s);
	OK(w, grove_view_matches(v, "u", &rows));
	assert_int_equal(rows.nr, 3);
	assert_int_equal(rows.at[2], 7);
	grove_rows_release(&rows);
	OK(w, grove_view_matches(v, "u4", &rows));
	assert_int_equal(rows.nr, 0);
	grove_rows_release(&rows);
	grove_view_unref(v);
	grove_session_close(s);
}

static void an_entry_as_people_name_it(void **state)
{
	struct world *w = *state;
	struct grove_detail why;
	struct grove_session *s;
	struct grove_view *v;
	uint32_t i;

	s = opened(w, RECORD("user", "abcd1111-1", "null", "1", "\"one\"") "\n"
		   RECORD("user", "abcd2222-2", "\"abcd1111-1\"", "2", "\"two\"") "\n"
		   RECORD("user", "abcd", "\"abcd2222-2\"", "3", "\"three\"") "\n"
		   RECORD("user", "abcd1111-1", "null", "4", "\"one\"") "\n");
	v = view_of(w, s);
	OK(w, grove_view_resolve(v, "abcd2", &i));
	assert_int_equal(i, 1);
	OK(w, grove_view_resolve(v, "abcd", &i)); /* exact comes before prefixes */
	assert_int_equal(i, 2);
	OK(w, grove_view_resolve(v, "abcd1111-1", &i));
	OK(w, grove_view_resolve(v, "abcd1", &i)); /* the same id twice is one entry */
	OK(w, grove_view_resolve(v, GROVE_ROOT, &i));
	assert_int_equal(i, GROVE_NO_ENTRY);
	assert_int_equal(grove_view_resolve(v, "abc", &i), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_resolve(v, "abcd3", &i), GROVE_ENOTFOUND);
	assert_int_equal(i, GROVE_NO_ENTRY);
	grove_view_error(v, &why);
	assert_int_equal(why.code, GROVE_ENOTFOUND);
	assert_non_null(strstr(why.message, "Entry abcd3 not found"));
	assert_int_equal(grove_view_find(v, "abcd2", &i), GROVE_ENOTFOUND); /* for programs: exactly */
	grove_view_unref(v);
	grove_session_close(s);
	file_make(in_world(w, "s.jsonl"), TURN);
	s = session_at(w, in_world(w, "s.jsonl"), 0);
	v = view_of(w, s);
	assert_int_equal(grove_view_resolve(v, "", &i), GROVE_ENOTFOUND);
	grove_view_unref(v);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_member_comes_back_in_its_order),
		WORLD_TEST(a_message_comes_back_however_it_is_spelled),
		WORLD_TEST(rows_of_one_shape_share_it),
		WORLD_TEST(members_that_cannot_be_put_in_order_are_not_taken_apart),
		WORLD_TEST(no_number_of_shapes_is_too_many),
		WORLD_TEST(records_of_claude_have_heads),
		WORLD_TEST(a_log_that_changed_is_stale),
		WORLD_TEST(columns_tell_the_shape),
		WORLD_TEST(an_entry_in_a_few_words),
		WORLD_TEST(entries_come_in_pages),
		WORLD_TEST(long_texts_become_references),
		WORLD_TEST(references_can_be_followed),
		WORLD_TEST(media_is_known_by_its_bytes),
		WORLD_TEST(texts_by_range),
		WORLD_TEST(images_are_decoded),
		WORLD_TEST(ids_by_their_beginning),
		WORLD_TEST(an_entry_as_people_name_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
