/*
 * tests/unit/test_messages.c: a context that is read message by message equals
 * the context as one document.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "json/value.h"
#include "json/write.h"
#include "lib/world.h"

#define PI_HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"cwd\":\"/w\"}\n"
#define PI(id, parent, message) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent \
	",\"timestamp\":\"2026-01-02T03:04:06.000Z\",\"message\":" message "}\n"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\",\"timestamp\":1}"

static const char pi[] = PI_HEADER
	PI("aaaaaaaa", "null", USER("one"))
	PI("bbbbbbbb", "\"aaaaaaaa\"",
	   "{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"t\",\"name\":\"ls\",\"arguments\":{}}],"
	   "\"provider\":\"p\",\"model\":\"m\",\"stopReason\":\"toolUse\",\"timestamp\":2}")
	PI("cccccccc", "\"bbbbbbbb\"",
	   "{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"toolName\":\"ls\",\"content\":[{\"type\":\"text\",\"text\":\"\"},"
	   "{\"type\":\"text\",\"text\":\"half \\ud800 a pair\"}],\"isError\":false,\"timestamp\":3}")
	"{\"type\":\"compaction\",\"id\":\"dddddddd\",\"parentId\":\"cccccccc\",\"timestamp\":\"2026-01-02T03:04:07.000Z\","
	"\"summary\":\"so far\",\"firstKeptEntryId\":\"bbbbbbbb\",\"tokensBefore\":9}\n"
	PI("eeeeeeee", "\"dddddddd\"", USER("two"));

struct told {
	struct grove_buf messages, ids, texts, roles, pieces;
	size_t nr, reasons, included, about;
	struct grove_context_about last;
	char model[64];
	size_t stop_after;
	int stop_with;
};

static int on_piece(void *payload, const struct grove_piece *p)
{
	struct told *t = payload;

	return grove__buf_addf(&t->pieces, "%d:%.*s;", (int)p->kind, (int)p->title.len, p->title.ptr);
}

static int on_message(void *payload, const struct grove_message *m)
{
	struct told *t = payload;
	const char *comma = t->nr++ ? "," : "";

	if (t->stop_after && t->nr > t->stop_after)
		return t->stop_with;
	assert_int_equal(grove__buf_addf(&t->messages, "%s%.*s", comma, (int)m->json.len, m->json.ptr), 0);
	assert_int_equal(grove__buf_addf(&t->ids, m->id ? "%s\"%s\"" : "%snull", comma, m->id), 0);
	assert_int_equal(grove__buf_addf(&t->texts, "%.*s|", (int)m->text.len, m->text.ptr), 0);
	assert_int_equal(grove__buf_addf(&t->roles, "%.*s|", (int)m->role.len, m->role.ptr), 0);
	return grove_message_pieces(m, on_piece, t);
}

static int on_reason(void *payload, const struct grove_context_reason *r)
{
	struct told *t = payload;

	assert_non_null(r->reason);
	t->reasons++;
	t->included += r->included != 0;
	return 0;
}

static int on_about(void *payload, const struct grove_context_about *a)
{
	struct told *t = payload;

	t->about++;
	t->last = *a;
	snprintf(t->model, sizeof(t->model), "%s", a->model ? a->model : "-");
	return 0;
}

static void told_release(struct told *t)
{
	grove_buf_release(&t->messages);
	grove_buf_release(&t->ids);
	grove_buf_release(&t->texts);
	grove_buf_release(&t->roles);
	grove_buf_release(&t->pieces);
}

static struct grove_view *file_view(const struct world *w, const char *name, const char *bytes,
				  struct grove_session **s)
{
	FILE *f = fopen(in_world(w, name), "w");
	struct grove_view *v;

	assert_non_null(f);
	fputs(bytes, f);
	fclose(f);
	assert_int_equal(grove_session_open(w->g, in_world(w, name), GROVE_OPEN_READ, s), 0);
	assert_int_equal(grove_session_view(*s, &v), 0);
	return v;
}

/* What is told adds up to the document. */
static void compare(struct grove_view *v, const struct grove_context_options *opt, struct told *t)
{
	struct grove_context_reader reader = { sizeof(reader), t, on_message, on_reason, on_about };
	struct grove_buf doc = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
	struct grove_slice part;

	assert_int_equal(grove_view_context(v, opt, grove_buf_sink(&doc)), 0);
	assert_int_equal(grove_view_messages(v, opt, &reader), 0);
	part = grove__json_get(grove__buf_slice(&doc), "messages");
	assert_int_equal(grove__buf_addf(&want, "[%s]", t->messages.ptr ? t->messages.ptr : ""), 0);
	assert_int_equal(part.len, want.len);
	assert_memory_equal(part.ptr, want.ptr, want.len);
	grove_buf_release(&want);
	part = grove__json_get(grove__buf_slice(&doc), "entryIds");
	assert_int_equal(grove__buf_addf(&want, "[%s]", t->ids.ptr ? t->ids.ptr : ""), 0);
	assert_int_equal(part.len, want.len);
	assert_memory_equal(part.ptr, want.ptr, want.len);
	grove_buf_release(&want);
	grove_buf_release(&doc);
	assert_int_equal(t->about, 1);
}

static void messages_add_up_to_the_document(void **state)
{
	struct grove_context_options opt = { .size = sizeof(opt), .flags = GROVE_CONTEXT_EXPLAIN };
	struct world *w = *state;
	struct told t = { 0 };
	struct grove_session *s;
	struct grove_view *v = file_view(w, "pi.jsonl", pi, &s);

	compare(v, &opt, &t);
	assert_string_equal(t.roles.ptr, "compactionSummary|assistant|toolResult|user|");
	/* the first text that says something, and no half characters */
	assert_string_equal(t.texts.ptr, "||half \xef\xbf\xbd a pair|two|");
	assert_string_equal(t.model, "p/m");
	assert_int_equal(t.last.has_settings, 1);
	assert_int_equal(t.last.leaf, 4);
	assert_int_equal(t.reasons, 5);
	assert_int_equal(t.included, 4);
	told_release(&t);
	grove_view_unref(v);
	grove_session_close(s);
}

static void plain_messages_add_up_as_well(void **state)
{
	struct grove_context_options opt = { .size = sizeof(opt), .flags = GROVE_CONTEXT_LLM };
	struct world *w = *state;
	struct told t = { 0 };
	struct grove_session *s;
	struct grove_view *v = file_view(w, "pi.jsonl", pi, &s);

	compare(v, &opt, &t);
	assert_int_equal(t.reasons, 0);
	told_release(&t);
	grove_view_unref(v);
	grove_session_close(s);
}

static void an_entry_is_read_as_a_view_reads_it(void **state)
{
	struct grove_context_reader reader = { .size = sizeof(reader), .message = on_message };
	struct world *w = *state;
	struct told t = { 0 }, by_entry = { 0 };
	struct grove_session *s;
	struct grove_view *v = file_view(w, "pi.jsonl", pi, &s);

	reader.payload = &t;
	assert_int_equal(grove_view_messages(v, NULL, &reader), 0);
	assert_int_equal(grove_view_piece_each(v, 3, on_piece, &by_entry), 0);
	assert_int_equal(grove_view_piece_each(v, 1, on_piece, &by_entry), 0);
	assert_int_equal(grove_view_piece_each(v, 2, on_piece, &by_entry), 0);
	assert_int_equal(grove_view_piece_each(v, 4, on_piece, &by_entry), 0);
	assert_string_equal(t.pieces.ptr, by_entry.pieces.ptr);
	told_release(&t);
	told_release(&by_entry);
	grove_view_unref(v);
	grove_session_close(s);
}

static int on_call(void *payload, const struct grove_piece *p)
{
	return grove__buf_addf(payload, "%d %.*s=%.*s;", (int)p->kind, (int)p->call.len, p->call.ptr,
			       (int)p->text.len, p->text.ptr);
}

#define CLAUDE(type, uuid, parent, content) \
	"{\"type\":\"" type "\",\"uuid\":\"" uuid "\",\"parentUuid\":" parent ",\"sessionId\":\"s\"," \
	"\"timestamp\":\"2026-01-02T03:04:06.000Z\",\"message\":{\"role\":\"" type "\",\"content\":" content "}}\n"

static void a_call_and_its_result_share_an_id(void **state)
{
	static const char empty[] = PI_HEADER
		PI("aaaaaaaa", "null", "{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"toolName\":\"ls\",\"content\":[]}");
	static const char claude[] =
		CLAUDE("assistant", "00000001-0000-4000-8000-000000000000", "null",
		       "[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"ls\",\"input\":1},{\"type\":\"text\",\"text\":\"x\"}]")
		CLAUDE("user", "00000002-0000-4000-8000-000000000000", "\"00000001-0000-4000-8000-000000000000\"",
		       "[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"y\"},"
		       "{\"type\":\"image\",\"source\":{}}]},{\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":[]}]");
	struct world *w = *state;
	struct grove_session *s;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = file_view(w, "pi.jsonl", pi, &s);

	assert_int_equal(grove_view_piece_each(v, 1, on_call, &b), 0);
	assert_int_equal(grove_view_piece_each(v, 2, on_call, &b), 0);
	assert_non_null(strstr(b.ptr, "2 t={};3 t=;3 t=half "));
	grove_view_unref(v);
	grove_session_close(s);
	grove__buf_clear(&b);

	/* a tool that answered nothing did answer */
	v = file_view(w, "empty.jsonl", empty, &s);
	assert_int_equal(grove_view_piece_each(v, 0, on_call, &b), 0);
	assert_string_equal(b.ptr, "3 t=;");
	grove_view_unref(v);
	grove_session_close(s);
	grove__buf_clear(&b);

	v = file_view(w, "claude.jsonl", claude, &s);
	assert_int_equal(grove_view_piece_each(v, 0, on_call, &b), 0);
	assert_int_equal(grove_view_piece_each(v, 1, on_call, &b), 0);
	assert_string_equal(b.ptr, "2 a=1;0 =x;3 a=y;6 a=;3 b=;");
	grove_view_unref(v);
	grove_session_close(s);
	grove_buf_release(&b);
}

static void a_long_text_is_cut_between_two_characters(void **state)
{
	struct grove_context_reader reader = { .size = sizeof(reader), .message = on_message };
	struct grove_buf file = GROVE_BUF_INIT;
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v;

	for (int shift = 0; shift < 7; shift++) {
		struct told t = { 0 };

		grove_buf_release(&file);
		assert_int_equal(grove__buf_add_str(&file, PI_HEADER
						    "{\"type\":\"message\",\"id\":\"aaaaaaaa\",\"parentId\":null,\"timestamp\":"
						    "\"2026-01-02T03:04:06.000Z\",\"message\":{\"role\":\"user\",\"content\":\""), 0);
		for (int i = 0; i < shift; i++)
			assert_int_equal(grove__buf_add_char(&file, 'x'), 0);
		for (int i = 0; i < 700; i++)
			assert_int_equal(grove__buf_add_str(&file, i % 3 ? "\\u00e4" : "\xe2\x82\xac"), 0);
		assert_int_equal(grove__buf_add_str(&file, "\"}}\n"), 0);
		v = file_view(w, "long.jsonl", file.ptr, &s);
		reader.payload = &t;
		assert_int_equal(grove_view_messages(v, NULL, &reader), 0);
		assert_true(t.texts.len > 200 && t.texts.len < 1024);
		assert_null(strstr(t.texts.ptr, "\xef\xbf\xbd"));
		assert_null(strchr(t.texts.ptr, 'u'));
		told_release(&t);
		grove_view_unref(v);
		grove_session_close(s);
	}
	grove_buf_release(&file);
}

static void whoever_reads_may_stop(void **state)
{
	static const struct {
		unsigned flags;
		int with;
	} ways[] = { { 0, 7 }, { 0, 1 }, { GROVE_CONTEXT_LLM, 7 }, { GROVE_CONTEXT_LLM, 1 } };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct grove_context_options opt = { .size = sizeof(opt), .flags = ways[i].flags };
		struct told t = { .stop_after = 2, .stop_with = ways[i].with };
		struct grove_context_reader reader = { sizeof(reader), &t, on_message, on_reason, on_about };
		struct grove_session *s;
		struct grove_view *v = file_view(w, "pi.jsonl", pi, &s);

		assert_int_equal(grove_view_messages(v, &opt, &reader), ways[i].with);
		assert_int_equal(t.nr, 3);
		assert_int_equal(t.about, 0);
		assert_int_equal(grove_view_messages(v, NULL, NULL), GROVE_EINVAL);
		told_release(&t);
		grove_view_unref(v);
		grove_session_close(s);
	}
}

/* --- parts --- */

#define WEIGHED(id, parent, message) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent ",\"timestamp\":\"2026-01-02T03:04:06.000Z\"," \
	"\"message\":" message "}\n"

static const char weighed[] = PI_HEADER
	WEIGHED("aaaaaaaa", "null", "{\"role\":\"user\",\"content\":\"12345678\"}")
	WEIGHED("bbbbbbbb", "\"aaaaaaaa\"",
	      "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"1234\",\"thinkingSignature\":\"zzzzzzzzzzzz\"},"
	      "{\"type\":\"text\",\"text\":\"1234\"},{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"ls\",\"arguments\":{\"a\":1}}],"
	      "\"model\":\"claude-opus-4-5\",\"usage\":{\"input\":100,\"output\":20,\"cacheRead\":300,\"cacheWrite\":4}}")
	WEIGHED("cccccccc", "\"bbbbbbbb\"",
	      "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"123456789\"},"
	      "{\"type\":\"image\",\"data\":\"QUJD\",\"mimeType\":\"image/png\"}]}");

static int on_parts(void *payload, const struct grove_context_about *a)
{
	struct grove_context_about *out = payload;

	*out = *a;
	assert_int_equal(a->nr_parts, 6);
	assert_int_equal(a->parts[0].part, GROVE_PART_PROMPTS);
	assert_int_equal(a->parts[0].tokens, 2);
	assert_int_equal(a->parts[0].bytes, 8);
	assert_int_equal(a->parts[1].tokens, 1);                     /* the reply's text */
	assert_int_equal(a->parts[2].part, GROVE_PART_THINKING);
	assert_int_equal(a->parts[2].bytes, 4);                      /* without its signature */
	assert_string_equal(grove_part_name(a->parts[3].part), "toolCalls");
	assert_int_equal(a->parts[4].tokens, 3);
	assert_int_equal(a->parts[5].part, GROVE_PART_IMAGES);
	assert_int_equal(a->parts[5].tokens, 1500);
	return 0;
}

static void the_parts_of_a_context_are_weighed(void **state)
{
	struct grove_context_options opt = { .size = sizeof(opt), .flags = GROVE_CONTEXT_PARTS };
	struct grove_context_about a = { 0 };
	struct grove_context_reader reader = { .size = sizeof(reader), .payload = &a, .about = on_parts };
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v = file_view(w, "weighed.jsonl", weighed, &s);

	assert_int_equal(grove_view_messages(v, &opt, &reader), 0);
	assert_false(a.estimated);
	assert_int_equal(a.used, 424 + 3 + 1500); /* what was billed, and what came after it */
	assert_int_equal(a.window, 0); /* the session does not tell it */
	opt.leaf = "aaaaaaaa";
	reader.about = NULL;
	assert_int_equal(grove_view_messages(v, &opt, &reader), 0);
	grove_view_unref(v);
	grove_session_close(s);
}

static int on_leaf(void *payload, const struct grove_context_about *a)
{
	struct grove_context_about *out = payload;

	*out = *a;
	assert_int_equal(a->settings.len, strlen("\"thinkingLevel\":\"off\",\"model\":{\"modelId\":\"claude-opus-4-5\"}"));
	assert_memory_equal(a->settings.ptr, "\"thinkingLevel\":", 16);
	return 0;
}

static void about_leaf(struct grove_session *s, const char *leaf, const char *rule, const char *by)
{
	struct grove_context_options opt = { .size = sizeof(opt), .leaf = leaf };
	struct grove_context_about a = { 0 };
	struct grove_context_reader reader = { .size = sizeof(reader), .payload = &a, .about = on_leaf };
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v;

	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_messages(v, &opt, &reader), 0);
	assert_string_equal(grove_leaf_rule_name(a.leaf_rule), rule);
	assert_int_equal(grove_view_entry(v, a.leaf_by, &e), 0);
	if (by)
		assert_string_equal(e.id, by);
	else
		assert_true(e.flags & GROVE_ENTRY_LEAF_MARK);
	grove_view_unref(v);
}

static void a_context_says_why_its_leaf_is_the_leaf(void **state)
{
	struct grove_leaf_options persist = { .size = sizeof(persist), .flags = GROVE_LEAF_PERSIST };
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v = file_view(w, "leaf.jsonl", weighed, &s);
	char path[600];

	grove_view_unref(v);
	about_leaf(s, NULL, "last-entry", "cccccccc");
	about_leaf(s, "bbbbbbbb", "caller", "bbbbbbbb");
	assert_int_equal(grove_session_set_leaf(s, "bbbbbbbb", NULL, NULL), 0);
	about_leaf(s, NULL, "handle", "bbbbbbbb");
	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	grove_session_close(s);
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), 0);
	assert_int_equal(grove_session_set_leaf(s, "bbbbbbbb", &persist, NULL), 0);
	about_leaf(s, NULL, "marker", NULL);
	grove_session_close(s);
}

/* What a compaction kept was billed when more was sent than now. */
static void what_was_kept_vouches_for_nothing(void **state)
{
	static const char kept[] = WEIGHED("dddddddd", "\"cccccccc\"", "{\"role\":\"user\",\"content\":\"on\"}")
		"{\"type\":\"compaction\",\"id\":\"eeeeeeee\",\"parentId\":\"dddddddd\",\"timestamp\":\"2026-01-02T03:04:07.000Z\","
		"\"summary\":\"short\",\"firstKeptEntryId\":\"bbbbbbbb\",\"tokensBefore\":424}\n";
	struct grove_context_options opt = { .size = sizeof(opt), .flags = GROVE_CONTEXT_PARTS };
	struct grove_buf doc = GROVE_BUF_INIT, file = GROVE_BUF_INIT;
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v;

	assert_int_equal(grove__buf_add_str(&file, weighed), 0);
	assert_int_equal(grove__buf_add_str(&file, kept), 0);
	v = file_view(w, "kept.jsonl", file.ptr, &s);
	assert_int_equal(grove_view_context(v, &opt, grove_buf_sink(&doc)), 0);
	assert_non_null(strstr(doc.ptr, "\"source\":\"estimate\""));
	assert_non_null(strstr(doc.ptr, "{\"part\":\"summary\",\"tokens\":"));
	grove_buf_release(&doc);
	grove_buf_release(&file);
	grove_view_unref(v);
	grove_session_close(s);
}

/* --------------------------------------------------------- by several threads */

enum { LONG = 5000 };

/* A transcript in which every line is below the one before: prompts, replies, prompts while the agent works. */
static void fill_long(struct grove_buf *out)
{
	for (int i = 0; i < LONG; i++) {
		grove__buf_addf(out, "{\"parentUuid\":");
		grove__buf_addf(out, i ? "\"r%d\"" : "null", i - 1);
		if (i % 97 == 50)
			grove__buf_addf(out, ",\"type\":\"attachment\",\"attachment\":{\"type\":\"queued_command\","
					     "\"prompt\":\"go on %d\",\"source_uuid\":\"q%d\"}", i, i);
		else
			grove__buf_addf(out, ",\"type\":\"%s\",\"message\":{\"role\":\"%s\",\"content\":\"%d%s%*s\"}",
					i % 2 ? "assistant" : "user", i % 2 ? "assistant" : "user", i,
					i % 11 ? "" : " half \xed\xa0\x80, wrong \xff", i % 701, "x");
		grove__buf_addf(out, ",\"uuid\":\"r%d\",\"timestamp\":\"2026-01-02T03:%02d:%02d.000Z\"}\n", i, i / 60 % 60,
				i % 60);
	}
}

static struct grove_view *long_view(const struct world *w, struct grove_session **s)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove_view *v;

	fill_long(&text);
	v = file_view(w, "long.jsonl", text.ptr, s);
	grove_buf_release(&text);
	return v;
}

static void a_long_conversation_is_the_same_by_several_threads(void **state)
{
	struct world *w = *state;
	struct grove_context_options opt = { .size = sizeof(opt), .mode = "sdk" };
	struct grove_buf doc = GROVE_BUF_INIT, told = GROVE_BUF_INIT;
	struct told t = { 0 };
	struct grove_context_reader reader = { sizeof(reader), &t, on_message, on_reason, on_about };
	struct grove_session *s;
	struct grove_view *v = long_view(w, &s);
	struct grove_slice part;

	assert_int_equal(grove_view_context(v, &opt, grove_buf_sink(&doc)), 0);
	assert_int_equal(grove_view_messages(v, &opt, &reader), 0);
	assert_true(t.nr > LONG - LONG / 50);
	/* the document is UTF-8, the messages one by one are what the file has */
	assert_int_equal(grove__buf_addf(&told, "["), 0);
	assert_int_equal(grove__json_put_raw(&told, grove__buf_slice(&t.messages)), 0);
	assert_int_equal(grove__buf_addf(&told, "]"), 0);
	part = grove__json_get(grove__buf_slice(&doc), "messages");
	assert_int_equal(part.len, told.len);
	assert_memory_equal(part.ptr, told.ptr, told.len);
	part = grove__json_get(grove__buf_slice(&doc), "entryIds");
	assert_int_equal(part.len, t.ids.len + 2);
	assert_memory_equal(part.ptr + 1, t.ids.ptr, t.ids.len);
	grove_buf_release(&doc);
	grove_buf_release(&told);
	told_release(&t);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_line_that_changed_ends_a_long_conversation(void **state)
{
	struct world *w = *state;
	struct grove_buf doc = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v = long_view(w, &s);
	FILE *f = fopen(in_world(w, "long.jsonl"), "r+");

	assert_non_null(f);
	assert_int_equal(fseek(f, 900000, SEEK_SET), 0);
	fputs("!", f);
	fclose(f);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&doc)), GROVE_ESTALE);
	/* what comes before it was delivered */
	assert_true(doc.len > 100000);
	grove_buf_release(&doc);
	grove_view_unref(v);
	grove_session_close(s);
}

static int take_some(void *payload, const char *ptr, size_t len)
{
	size_t *left = payload;

	(void)ptr;
	if (*left < len)
		return 77;
	*left -= len;
	return 0;
}

static void who_takes_no_more_ends_a_long_conversation(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v = long_view(w, &s);

	for (size_t most = 0; most < 1500000; most += 300000) {
		size_t left = most;

		assert_int_equal(grove_view_context(v, NULL, (struct grove_sink){ take_some, &left }), 77);
	}
	grove_view_unref(v);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(messages_add_up_to_the_document),
		WORLD_TEST(plain_messages_add_up_as_well),
		WORLD_TEST(an_entry_is_read_as_a_view_reads_it),
		WORLD_TEST(a_call_and_its_result_share_an_id),
		WORLD_TEST(a_long_text_is_cut_between_two_characters),
		WORLD_TEST(whoever_reads_may_stop),
		WORLD_TEST(the_parts_of_a_context_are_weighed),
		WORLD_TEST(a_context_says_why_its_leaf_is_the_leaf),
		WORLD_TEST(what_was_kept_vouches_for_nothing),
		WORLD_TEST(a_long_conversation_is_the_same_by_several_threads),
		WORLD_TEST(a_line_that_changed_ends_a_long_conversation),
		WORLD_TEST(who_takes_no_more_ends_a_long_conversation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
