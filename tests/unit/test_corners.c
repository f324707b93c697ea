/*
 * tests/unit/test_corners.c: rare cases: system messages of pi that build on
 * each other, changes in xcsh that applications describe by their parts, and
 * long transcripts of which reading the end is enough for an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"
#include "dialect/pi.h"

/* ---------------------------------------------------- system messages of pi */

/* The sum of these messages, with ' for ". 1: there is none. */
static int sum_of(const char *const *messages, size_t nr, struct grove_buf *out)
{
	char text[4][512];
	struct grove_slice list[4];

	assert_true(nr <= 4);
	for (size_t i = 0; i < nr; i++) {
		snprintf(text[i], sizeof(text[i]), "%s", messages[i]);
		for (char *p = text[i]; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		list[i] = grove__slice_str(text[i]);
	}
	return grove__pi_system(list, nr, 7, out);
}

static void system_messages_add_up(void **state)
{
	static const struct {
		const char *messages[4];
		const char *sum;      /* NULL: none */
	} cases[] = {
		{ { "{'role':'user','content':'x'}" }, NULL },
		{ { "{'role':'system','content':'no time'}" }, NULL },
		{ { "{'role':'system','content':'a','timestamp':1}",
		    "{'role':'system','content':[{'type':'text','text':'b'}],'timestamp':2}" },
		  "{'role':'system','content':'a\\n\\nb','timestamp':7}" },
		/* sections keep their place when they are set again, and null takes them away */
		{ { "{'role':'system','content':'','sections':{'one':'1','two':'2','three':'3'},'timestamp':1}",
		    "{'role':'system','content':'','sections':{'one':'9','t\\u0077o':null},'timestamp':2}" },
		  "{'role':'system','content':'','sections':{'one':'9','three':'3'},'timestamp':7}" },
		{ { "{'role':'system','content':'','sections':['no object'],'timestamp':1}" },
		  "{'role':'system','content':'','timestamp':7}" },
		/* a tool that was taken away and comes back stands at the end */
		{ { "{'role':'system','content':'','toolsAdded':[{'name':'a'},{'name':'b'},{'none':1}],'timestamp':1}",
		    "{'role':'system','content':'','toolsRemoved':[{'name':'a'},{'name':'zz'},{}],"
		    "'toolsAdded':[{'name':'b','v':2},{'name':'a','v':2}],'timestamp':1}" },
		  "{'role':'system','content':'','toolsAdded':[{'name':'b','v':2},{'name':'a','v':2}],"
		  "'timestamp':7}" },
		/* tools count without a time, too */
		{ { "{'role':'system','content':'t','toolsAdded':[{'name':'a'}]}" },
		  "{'role':'system','content':'t','toolsAdded':[{'name':'a'}],'timestamp':7}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_buf out = GROVE_BUF_INIT;
		size_t nr = 0;
		int rc;

		while (nr < 4 && cases[i].messages[nr])
			nr++;
		rc = sum_of(cases[i].messages, nr, &out);
		assert_int_equal(rc, cases[i].sum ? 0 : 1);
		for (size_t c = 0; c < out.len; c++)
			out.ptr[c] = out.ptr[c] == '"' ? '\'' : out.ptr[c];
		if (cases[i].sum)
			assert_string_equal(out.ptr, cases[i].sum);
		grove__buf_release(&out);
	}
}

/* ------------------------------------------------------------ what xcsh says */

static void xcsh_has_words_of_its_own_for_models_and_compactions(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .dialect = "xcsh" };
	struct grove_compaction c = { .size = sizeof(c), .summary = "short", .tokens_before = 42,
				      .details_json = "{\"d\":1}", .from_hook = 1 };
	struct grove_session *s;
	struct grove_slice l;

	OK(w, grove_session_create(w->g, &o, &s));
	c.first_kept = user(w, s, "hello");
	OK(w, grove_session_ensure(s));
	OK(w, grove_session_append_model(s, "acme", "big", NULL, NULL, NULL));
	l = line_of(grove_session_path(s), -1);
	RAW(l, "type", "\"model_change\"");
	RAW(l, "model", "\"acme/big\"");
	OK(w, grove_session_append_compaction(s, &c, NULL, NULL));
	l = line_of(grove_session_path(s), -1);
	RAW(l, "type", "\"compaction\"");
	RAW(l, "summary", "\"short\"");
	RAW(l, "tokensBefore", "42");
	RAW(l, "details", "{\"d\":1}");
	RAW(l, "fromExtension", "true");
	grove_session_close(s);
}

/* ------------------------------------------- the end of a long transcript */

static void warned(void *payload, enum grove_severity fatal, const struct grove_detail *why)
{
	(void)fatal;
	if (strstr(why->message, "after the last compaction"))
		++*(int *)payload;
}

/* Above the boundary more than a megabyte; below it `tail`. */
static const char *long_transcript(struct world *w, const char *tail)
{
	const char *path = transcript(w, FIRST);
	struct grove_buf b = GROVE_BUF_INIT;

	for (int i = 0; i < 1200; i++)
		assert_int_equal(grove__buf_addf(&b, "{\"parentUuid\":\"%s%d\",\"isSidechain\":false,\"type\":\"user\","
						 "\"message\":{\"role\":\"user\",\"content\":\"%01000d\"},\"uuid\":\"x%d\","
						 "\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"sessionId\":\"" SID "\"}\n",
						 i ? "x" : "a", i ? i - 1 : 1, i, i), 0);
	assert_int_equal(grove__buf_add_str(&b, tail), 0);
	file_put(path, O_APPEND, b.ptr, b.len);
	grove__buf_release(&b);
	return path;
}

#define BOUNDARY \
	"{\"parentUuid\":null,\"logicalParentUuid\":\"x1199\",\"isSidechain\":false,\"type\":\"system\"," \
	"\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\",\"uuid\":\"b1\"," \
	"\"timestamp\":\"2026-01-01T00:00:03.000Z\",\"sessionId\":\"" SID "\",\"compactMetadata\":{\"trigger\":\"manual\"}}\n"

static void contexts_agree(struct world *w, const char *path, int tells)
{
	struct grove_buf lazy = GROVE_BUF_INIT, whole = GROVE_BUF_INIT;
	int told = 0;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .cache = "",
				   .getenv = no_variables, .warn = warned, .warn_payload = &told };
	struct grove_session *s;

	grove_close(w->g);
	assert_int_equal(grove_open(&o, &w->g), 0);
	s = session_at(w, path, GROVE_OPEN_READ);
	grove_view_unref(view_of(w, s));
	OK(w, grove_session_context(s, NULL, grove_buf_sink(&whole)));
	grove_session_close(s);
	assert_int_equal(told, 0);
	s = session_at(w, path, GROVE_OPEN_READ | GROVE_OPEN_LAZY);
	OK(w, grove_session_context(s, NULL, grove_buf_sink(&lazy)));
	grove_session_close(s);
	assert_int_equal(told, tells);
	if (lazy.len != whole.len)
		fail_msg("%.300s, not %.300s", lazy.ptr, whole.ptr);
	assert_memory_equal(lazy.ptr, whole.ptr, whole.len);
	grove__buf_release(&lazy);
	grove__buf_release(&whole);
}

static void the_end_of_a_transcript_tells_the_same_as_all_of_it(void **state)
{
	struct world *w = *state;

	contexts_agree(w, long_transcript(w, BOUNDARY LINE("user", "u5", "\"b1\"", "5")), 0);
	/* what is not whole behind the boundary is told of */
	contexts_agree(w, long_transcript(w, BOUNDARY LINE("user", "u5", "\"b1\"", "5") "{\"half\n"), 1);
	/* the word in a message is no boundary, and without one all of it is read */
	contexts_agree(w, long_transcript(w, RECORD("user", "u5", "\"x1199\"", "5",
						    "\"\\\"compact_boundary\\\"\"") "\n"), 0);
	/* a conversation that goes on beside the boundary needs what is above it */
	contexts_agree(w, long_transcript(w, BOUNDARY LINE("user", "u5", "\"x1199\"", "5")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_messages_add_up),
		WORLD_TEST(xcsh_has_words_of_its_own_for_models_and_compactions),
		WORLD_TEST(the_end_of_a_transcript_tells_the_same_as_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
