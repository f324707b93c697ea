/*
 * Tests what `grove browse` shows, without a terminal: the list, the tree, the
 * conversation, and the line in which the user types.
 */
#include "kit/cli.h"
#include "layout.h"
#include "outline.h"
#include "prompt.h"
#include "reader.h"
#include "screen.h"
#include "sessions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
	struct cli c;
	struct grove_session *s;
	struct grove_view *v;
	struct out line;
};

static void append(struct fixture *f, const char *json, const char *parent)
{
	struct grove_append_options ao = { .size = sizeof(ao), .parent = parent };

	assert_int_equal(grove_session_append(f->s, grove_str(json), &ao, NULL), 0);
}

static void say(struct fixture *f, const char *role, const char *id, const char *parent, const char *text)
{
	char json[8192];

	snprintf(json, sizeof(json), "{\"type\":\"message\",\"id\":\"%s\",\"message\":{\"role\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}",
		 id, role, text);
	append(f, json, parent);
}

/*
 *	a0 ── a1 ──┬─ b0 ── b1
 *	           └─ c0 ── c1
 */
static void tell(struct fixture *f)
{
	say(f, "user", "000000a0", NULL, "fix the parser");
	say(f, "assistant", "000000a1", NULL, "which one?");
	say(f, "user", "000000b0", NULL, "the old one");
	say(f, "assistant", "000000b1", NULL, "the old one is done");
	say(f, "user", "000000c0", "000000a1", "the new one");
	say(f, "assistant", "000000c1", NULL, "the new one is done");
}

static void look(struct fixture *f)
{
	grove_view_unref(f->v);
	assert_int_equal(grove_session_view(f->s, &f->v), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct grove_options go = { .size = sizeof(go), .cache = "", .home = "/nonexistent" };
	struct grove_create_options co = { .size = sizeof(co), .flags = GROVE_CREATE_MEMORY, .cwd = "/w" };

	assert_non_null(f);
	out_init(&f->c.out, -1);
	out_init(&f->c.err, -1);
	out_init(&f->line, -1);
	assert_int_equal(grove_open(&go, &f->c.g), 0);
	assert_int_equal(grove_session_create(f->c.g, &co, &f->s), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	grove_view_unref(f->v);
	grove_session_close(f->s);
	grove_close(f->c.g);
	out_release(&f->c.out);
	out_release(&f->c.err);
	out_release(&f->line);
	free(f);
	return 0;
}

static uint32_t entry(const struct fixture *f, const char *id)
{
	uint32_t i;

	assert_int_equal(grove_view_find(f->v, id, &i), 0);
	return i;
}

static const char *id_of(const struct fixture *f, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };

	return grove_view_entry(f->v, i, &e) ? "none" : e.id;
}

/* --------------------------------------------------------------------- tree */

static const char *row(struct fixture *f, struct outline *o, size_t at, unsigned width)
{
	f->line.len = 0;
	f->line.color = 0;
	assert_int_equal(outline_print(o, &f->line, at, width), 0);
	out_bytes(&f->line, "", 1);
	return f->line.ptr;
}

static void rows_are_drawn_with_their_branches(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };

	tell(f);
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	assert_int_equal(o.nr, 6);
	assert_string_equal(row(f, &o, 0, 60), "● user       fix the parser");
	assert_string_equal(row(f, &o, 2, 60), "├─○ user       the old one");
	assert_string_equal(row(f, &o, 3, 60), "│ ○ assistant  the old one is done");
	assert_string_equal(row(f, &o, 4, 60), "└─● user       the new one");
	assert_string_equal(row(f, &o, 5, 60), "  ● assistant  the new one is done ← leaf");
	assert_string_equal(row(f, &o, 5, 24), "  ● a the new on… ← leaf");
	assert_true(outline_at_leaf(&o));
	outline_release(&o);
}

static void folds_hide_what_is_below(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };

	tell(f);
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	outline_select(&o, entry(f, "000000b0"));
	assert_int_equal(outline_fold(&o, 1), 1);
	assert_int_equal(o.nr, 5);
	assert_string_equal(row(f, &o, 2, 60), "├─▸ user       the old one +1");
	outline_move(&o, 1);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000c0");
	/* it is selected, so it is shown */
	outline_select(&o, entry(f, "000000b1"));
	assert_int_equal(o.nr, 6);
	assert_int_equal(outline_fold(&o, 1), 0);
	outline_fold_others(&o);
	assert_int_equal(o.nr, 5);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000b0");
	outline_fold_others(&o);
	assert_int_equal(o.nr, 6);
	outline_end(&o, 0);
	assert_int_equal(outline_fold(&o, 1), 1);
	assert_int_equal(o.nr, 1);
	assert_string_equal(row(f, &o, 0, 60), "▸ user       fix the parser +5");
	outline_release(&o);
}

static void a_later_view_keeps_folds_and_selection(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };

	tell(f);
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	outline_select(&o, entry(f, "000000b0"));
	outline_fold(&o, 1);
	say(f, "user", "000000d0", NULL, "and this");
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000b0");
	assert_true(outline_is_folded(&o));
	assert_int_equal(o.nr, 6);
	outline_release(&o);
}

static void count_entry(void *payload, uint32_t i)
{
	(void)i;
	++*(int *)payload;
}

static void branches_and_labels_can_be_reached(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };
	int tips = 0, labels = 0;

	tell(f);
	assert_int_equal(grove_session_append_label(f->s, "000000b1", "here", NULL, NULL), 0);
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	outline_end(&o, 0);
	assert_int_equal(outline_branch(&o, 1), 1);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000b0");
	assert_string_equal(id_of(f, outline_tip(&o)), "000000b1");
	assert_int_equal(outline_branch(&o, 1), 1);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000c0");
	assert_int_equal(outline_branch(&o, 1), 0);
	assert_int_equal(outline_label(&o, -1), 1);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000b1");
	outline_tips(&o, count_entry, &tips);
	outline_labels(&o, count_entry, &labels);
	assert_int_equal(tips, 2);
	assert_int_equal(labels, 1);
	assert_int_equal(outline_take(&o, f->v, SHAPE_LABELED_ONLY, 0), 0);
	assert_int_equal(o.nr, 1);
	assert_int_equal(outline_take(&o, f->v, SHAPE_USER_ONLY, 0), 0);
	assert_int_equal(o.nr, 3);
	outline_release(&o);
}

static void replies_that_only_call_tools_are_passed_over(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };

	say(f, "user", "000000a0", NULL, "run it");
	for (int i = 0; i < 3; i++) {
		append(f, "{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}]}", NULL);
		append(f, "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}", NULL);
	}
	say(f, "assistant", "000000a9", NULL, "it ran");
	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	outline_end(&o, 0);
	outline_move(&o, 3);
	assert_int_equal(o.cursor.at, 6); /* three results, and not the calls between them */
	outline_move(&o, 100);
	assert_true(outline_at_leaf(&o));
	outline_fit(&o, 3);
	assert_int_equal(o.cursor.top, 4);
	/* a taller window shows more above, not blank lines below */
	outline_fit(&o, 4);
	assert_int_equal(o.cursor.top, 2);
	outline_fit(&o, 40);
	assert_int_equal(o.cursor.top, 0);
	assert_int_equal(outline_take(&o, f->v, SHAPE_NO_TOOLS, 0), 0);
	outline_end(&o, 0);
	outline_move(&o, 1);
	assert_string_equal(id_of(f, outline_entry(&o)), "000000a9");
	outline_release(&o);
}

static void an_empty_session_has_no_rows(void **state)
{
	struct fixture *f = *state;
	struct outline o = { .nr = 0 };
	struct reader r = { .nr_parts = 0 };
	struct grove_slice line;
	uint32_t at;

	look(f);
	assert_int_equal(outline_take(&o, f->v, SHAPE_DEFAULT, 0), 0);
	assert_int_equal(o.nr, 0);
	outline_move(&o, 1);
	outline_end(&o, 1);
	outline_fit(&o, 10);
	outline_fold_others(&o);
	assert_int_equal(outline_fold(&o, 1), 0);
	assert_int_equal(outline_branch(&o, 1), 0);
	assert_true(outline_entry(&o) == GROVE_NO_ENTRY);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	reader_end(&r, 1, 10);
	reader_scroll(&r, 5, 10);
	reader_next(&r, -1, 10);
	assert_int_equal(reader_line(&r, 0, &line, &at), 0);
	assert_true(reader_at_end(&r, 10));
	reader_release(&r);
	outline_release(&o);
}

/* ------------------------------------------------------------- conversation */

static const char *line_at(struct fixture *f, struct reader *r, size_t below)
{
	struct grove_slice line;
	uint32_t at;

	f->line.len = 0;
	if (reader_line(r, below, &line, &at))
		for (size_t i = 0; i < line.len; i++) {
			if (line.ptr[i] == '\033')
				while (line.ptr[i] != 'm')
					i++;
			else
				out_bytes(&f->line, line.ptr + i, 1);
		}
	out_bytes(&f->line, "", 1);
	return f->line.ptr;
}

static void lines_are_the_same_from_either_end(void **state)
{
	enum { TURNS = 120, HEIGHT = 7 };
	struct fixture *f = *state;
	struct reader r = { .nr_parts = 0 };
	char id[16], text[80], *down[TURNS * 8];
	size_t nr = 0;

	for (int i = 0; i < TURNS; i++) {
		snprintf(id, sizeof(id), "%08x", i);
		snprintf(text, sizeof(text), "%d words that need two lines, or even three of them", i);
		say(f, i % 2 ? "assistant" : "user", id, NULL, text);
	}
	look(f);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	reader_size(&r, 40, HEIGHT);
	for (; !reader_at_end(&r, HEIGHT); reader_scroll(&r, 1, HEIGHT)) {
		assert_in_range(nr, 0, TURNS * 8 - 1);
		down[nr++] = strdup(line_at(f, &r, 0));
	}
	assert_true(nr > TURNS * 3);
	reader_end(&r, 1, HEIGHT);
	for (size_t i = 0; i < HEIGHT; i++)
		assert_true(strlen(line_at(f, &r, i)) <= 40);
	assert_string_equal(line_at(f, &r, HEIGHT), "");
	assert_string_equal(id_of(f, reader_entry(&r)), "00000077");
	while (nr) {
		reader_scroll(&r, -1, HEIGHT);
		assert_string_equal(line_at(f, &r, 0), down[--nr]);
		free(down[nr]);
	}
	reader_scroll(&r, -1, HEIGHT);
	assert_string_equal(id_of(f, reader_entry(&r)), "00000000");
	reader_release(&r);
}

static void a_style_lasts_over_line_ends(void **state)
{
	struct fixture *f = *state;
	struct reader r = { .nr_parts = 0 };
	struct grove_slice line;
	uint32_t at;

	say(f, "user", "000000a0", NULL, "run it");
	append(f, "{\"role\":\"bashExecution\",\"command\":\"seq 3\",\"output\":\"one\\ntwo\\nthree\",\"exitCode\":0,\"cancelled\":false,\"truncated\":false}", NULL);
	look(f);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	for (size_t i = 0; reader_line(&r, i, &line, &at); i++)
		if (memmem(line.ptr, line.len, "two", 3)) {
			assert_memory_equal(line.ptr, "\033[2m", 4);
			reader_release(&r);
			return;
		}
	fail_msg("there is no such line");
}

static void entries_can_be_gone_to(void **state)
{
	struct fixture *f = *state;
	struct reader r = { .nr_parts = 0 };
	struct needle n;

	tell(f);
	look(f);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	assert_int_equal(r.rows.nr, 4);
	assert_true(reader_has(&r, entry(f, "000000c0")));
	assert_false(reader_has(&r, entry(f, "000000b0")));
	reader_end(&r, 0, 4);
	assert_string_equal(line_at(f, &r, 1), "  fix the parser");
	reader_next(&r, 1, 4);
	assert_string_equal(id_of(f, reader_entry(&r)), "000000a1");
	reader_show(&r, entry(f, "000000c0"), 2);
	assert_string_equal(line_at(f, &r, 0), "├ 1 other branch here: 000000b0");
	needle_set(&n, "PARSER");
	assert_int_equal(reader_matches(f->v, entry(f, "000000a0"), &n), 0);
	needle_set(&n, "parser");
	assert_int_equal(reader_matches(f->v, entry(f, "000000a0"), &n), 1);
	reader_find_in(&r, entry(f, "000000a0"), &n, 1, 4);
	assert_string_equal(id_of(f, reader_entry(&r)), "000000a0");
	/* at the end, the mark moves on alone */
	reader_end(&r, 0, 100);
	reader_scroll(&r, 1, 100);
	assert_string_equal(id_of(f, reader_entry(&r)), "000000a1");
	reader_release(&r);
}

static void what_is_on_the_screen_stays_there(void **state)
{
	enum { HEIGHT = 6 };
	struct fixture *f = *state;
	struct reader r = { .nr_parts = 0 };
	struct reader_spot spot;
	char *top;

	say(f, "user", "000000a0", NULL, "count");
	say(f, "assistant", "000000a1", NULL, "one\\n\\ntwo\\n\\nthree\\n\\nfour\\n\\nfive\\n\\nsix\\n\\nseven");
	look(f);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	reader_end(&r, 0, HEIGHT);
	reader_scroll(&r, 7, HEIGHT);
	top = strdup(line_at(f, &r, 0));
	assert_string_equal(line_at(f, &r, 1), "  three");
	reader_note(&r, &spot, HEIGHT);
	assert_false(spot.last);
	say(f, "user", "000000a2", NULL, "and now?");
	look(f);
	assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
	assert_int_equal(reader_restore(&r, &spot, HEIGHT), 1);
	assert_string_equal(line_at(f, &r, 0), top);
	assert_string_equal(line_at(f, &r, 1), "  three");
	assert_string_equal(id_of(f, reader_entry(&r)), "000000a1");
	spot.top = GROVE_NO_ENTRY;
	assert_int_equal(reader_restore(&r, &spot, HEIGHT), 0);
	/* the end of the last entry is shown, but another one is marked */
	reader_end(&r, 1, 100);
	reader_note(&r, &spot, 100);
	assert_true(spot.last);
	reader_next(&r, -1, 100);
	reader_note(&r, &spot, 100);
	assert_false(spot.last);
	free(top);
	reader_release(&r);
}

static void every_line_that_matches_is_found_once(void **state)
{
	enum { TURNS = 5 };
	struct fixture *f = *state;
	struct needle n;
	char id[16];

	for (int i = 0; i < TURNS; i++) {
		snprintf(id, sizeof(id), "%08x", i);
		say(f, i % 2 ? "assistant" : "user", id, NULL, i % 2 ? "alpha\\n\\nbeta\\n\\nalpha" : "alpha");
	}
	look(f);
	needle_set(&n, "alpha");
	/* a screen that shows everything, and one that shows little */
	for (size_t height = 4; height <= 100; height += 96) {
		struct reader r = { .nr_parts = 0 };

		assert_int_equal(reader_take(&r, &f->c, f->v, NULL, grove_view_leaf(f->v), 0), 0);
		for (size_t part = 0; part < r.nr_parts; part++) {
			size_t up = 0, down = 0, last = part + 1 == r.nr_parts;

			reader_show(&r, r.rows.at[r.parts[part]], height);
			r.current = (uint32_t)r.parts[part];
			while (reader_find_near(&r, &n, 1, height) && down < 10)
				down++;
			assert_int_equal(down, last ? 1 : 3);
			while (reader_find_near(&r, &n, -1, height) && up < 10)
				up++;
			assert_int_equal(up, down - 1);
		}
		reader_release(&r);
	}
}

/* --------------------------------------------------------------------- list */

static void a_query_needs_all_its_words(void **state)
{
	const char *const texts[] = { "Fix the Parser", NULL, "/home/ada/grove" };
	struct needle n;
	size_t len;

	(void)state;
	needle_set(&n, "parser ada");
	assert_int_equal(needle_words(&n, texts, 3), 1);
	needle_set(&n, "parser bob");
	assert_int_equal(needle_words(&n, texts, 3), 0);
	needle_set(&n, "Parser");
	assert_int_equal(needle_words(&n, texts, 3), 1);
	needle_set(&n, "pArser");
	assert_int_equal(needle_words(&n, texts, 3), 0);
	needle_set(&n, "  ");
	assert_int_equal(needle_words(&n, texts, 3), 1);
	/* the next letter in one case may be far away while the other is everywhere */
	needle_set(&n, "qx");
	assert_int_equal(needle_words(&n, (const char *const[]){ "QQQQqQQQX" }, 1), 1);
	assert_int_equal(needle_words(&n, (const char *const[]){ "QqqqQQQ" }, 1), 0);
	needle_set(&n, "aab");
	assert_int_equal(needle_find(&n, grove_str("xxAaAab"), 0, &len), 4);
	assert_int_equal(len, 3);
	assert_false(needle_is_in(&n, grove_str("aa")));
	needle_set(&n, "");
	assert_false(needle_is_in(&n, grove_str("aa")));
	assert_false(needle_is_in(&n, (struct grove_slice){ NULL, 0 }));
}

static void letters_of_all_alphabets_have_a_case(void **state)
{
	/* the needle, a text, and where and how long the match is; -1: nowhere */
	static const struct {
		const char *needle, *text;
		int at, len;
	} cases[] = {
		{ "über", "Hinüber und Über", 3, 5 },
		{ "über", "ÜBER", 0, 5 },
		{ "Über", "hinüber", -1, 0 },
		{ "Über", "hinüber, Über", 10, 5 },
		{ "привет", "ну, ПРИВЕТ", 6, 12 },
		{ "école", "L'ÉCOLE", 2, 6 },
		{ "straße", "die STRAßE", 4, 7 },
		/* a capital letter that is shorter than its small one */
		{ "ⱥb", "xȺB", 1, 3 },
		{ "漢字", "テスト漢字", 9, 6 },
		/* bytes that are not UTF-8 are compared as they are */
		{ "\xc3", "\xc3x", 0, 1 },
		{ "a\xff", "A\xff", 0, 2 },
		{ "\xe9", "\xc9", -1, 0 },
		{ "é", "\xc3", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct needle n;
		size_t len = 0, at;

		needle_set(&n, cases[i].needle);
		at = needle_find(&n, grove_str(cases[i].text), 0, &len);
		assert_int_equal(at == SIZE_MAX ? -1 : (int)at, cases[i].at);
		assert_int_equal(at == SIZE_MAX ? 0 : len, cases[i].len);
	}
}

static void the_words_of_a_query_are_found_one_by_one(void **state)
{
	struct grove_slice text = grove_str("The old parser, theirs");
	struct needle n;
	size_t len = 0;

	(void)state;
	needle_set(&n, " parse the  their ");
	assert_int_equal(needle_find_word(&n, text, 0, &len), 0);
	assert_int_equal(len, 3);
	assert_int_equal(needle_find_word(&n, text, 3, &len), 8);
	assert_int_equal(len, 5);
	/* of two at the same place, the longer one */
	assert_int_equal(needle_find_word(&n, text, 13, &len), 16);
	assert_int_equal(len, 5);
	assert_true(needle_find_word(&n, text, 21, &len) == SIZE_MAX);
	needle_set(&n, "  ");
	assert_true(needle_find_word(&n, text, 0, &len) == SIZE_MAX);
}

static void numbers_stay_in_their_columns(void **state)
{
	char n[32];

	(void)state;
	sessions_count(n, sizeof(n), 99999);
	assert_string_equal(n, "99999");
	sessions_count(n, sizeof(n), 100000);
	assert_string_equal(n, "100k");
	sessions_count(n, sizeof(n), GROVE_NO_COUNT);
	assert_string_equal(n, "-");
	out_cost(n, sizeof(n), 9999.99, 0, 8);
	assert_string_equal(n, "$9999.99");
	out_cost(n, sizeof(n), 9999.999, 0, 8);
	assert_string_equal(n, "$10000");
	out_cost(n, sizeof(n), 9999.99, 0.01, 8);
	assert_string_equal(n, "~$10000");
	out_cost(n, sizeof(n), 9999.99, 0.01, 0);
	assert_string_equal(n, "~$9999.99");
}

static void ages_are_short(void **state)
{
	const int64_t now = 1700000000000, minute = 60000, day = 86400000;
	char age[16];

	(void)state;
	sessions_age(age, sizeof(age), now - minute + 1, now);
	assert_string_equal(age, "now");
	sessions_age(age, sizeof(age), now - 59 * minute, now);
	assert_string_equal(age, "59m");
	sessions_age(age, sizeof(age), now - day, now);
	assert_string_equal(age, "1d");
	sessions_age(age, sizeof(age), now - 20 * day, now);
	assert_string_equal(age, "2w");
	sessions_age(age, sizeof(age), now - 800 * day, now);
	assert_string_equal(age, "2y");
	sessions_age(age, sizeof(age), now + day, now);
	assert_string_equal(age, "now");
	sessions_age(age, sizeof(age), GROVE_NO_TIME, now);
	assert_string_equal(age, "-");
}

static void a_selection_stays_in_its_list(void **state)
{
	struct cursor c = { 0, 0 };

	(void)state;
	cursor_move(&c, -1, 10);
	assert_int_equal(c.at, 0);
	cursor_move(&c, 2000000000, 10);
	assert_int_equal(c.at, 9);
	cursor_fit(&c, 10, 4);
	assert_int_equal(c.top, 6);
	cursor_move(&c, -4, 10);
	cursor_fit(&c, 10, 4);
	assert_int_equal(c.top, 5);
	cursor_fit(&c, 3, 4);
	assert_int_equal(c.at, 2);
	assert_int_equal(c.top, 0);
	cursor_move(&c, 5, 0);
	assert_int_equal(c.at, 0);
}

/* ------------------------------------------------------------------- typing */

static void a_line_is_typed(void **state)
{
	struct fixture *f = *state;
	struct prompt p = { .kind = PROMPT_NONE };

	prompt_begin(&p, PROMPT_NAME, "Name:", "old");
	assert_int_equal(prompt_key(&p, CTRL_KEY('U')), PROMPT_TYPED);
	prompt_key(&p, 'a');
	prompt_key(&p, 0x6f22);
	prompt_key(&p, 0x1f44d);
	prompt_key(&p, 'c');
	assert_string_equal(p.text, "a\xe6\xbc\xa2\xf0\x9f\x91\x8d" "c");
	prompt_key(&p, KEY_GO_LEFT);
	prompt_key(&p, KEY_ERASE);
	assert_string_equal(p.text, "a\xe6\xbc\xa2" "c");
	f->line.len = 0;
	assert_int_equal(prompt_print(&p, &f->line, 40), 9);
	prompt_key(&p, CTRL_KEY('E'));
	prompt_key(&p, ' ');
	prompt_key(&p, 'x');
	prompt_key(&p, CTRL_KEY('W'));
	assert_string_equal(p.text, "a\xe6\xbc\xa2" "c ");
	assert_int_equal(prompt_key(&p, KEY_GO_DOWN), PROMPT_OTHER);
	assert_int_equal(prompt_key(&p, KEY_ENTERED), PROMPT_ENTERED);
	assert_int_equal(prompt_key(&p, KEY_ESCAPE), PROMPT_LEFT);
	for (int i = 0; i < 1000; i++)
		prompt_key(&p, 0xe9);
	assert_true(strlen(p.text) < sizeof(p.text));
	f->line.len = 0;
	assert_in_range(prompt_print(&p, &f->line, 40), 30, 39);
	/* accents and joined emoji are erased with what they belong to */
	prompt_begin(&p, PROMPT_NAME, "Name:", "ae\u0301\U0001f469\u200d\U0001f680" "c");
	f->line.len = 0;
	assert_int_equal(prompt_print(&p, &f->line, 40), 11);
	prompt_key(&p, KEY_GO_LEFT);
	prompt_key(&p, KEY_ERASE);
	assert_string_equal(p.text, "ae\u0301" "c");
	prompt_key(&p, KEY_GO_LEFT);
	f->line.len = 0;
	assert_int_equal(prompt_print(&p, &f->line, 40), 7);
	prompt_key(&p, KEY_DELETE_CHAR);
	assert_string_equal(p.text, "ac");
	prompt_key(&p, KEY_ERASE);
	prompt_key(&p, KEY_ERASE);
	assert_string_equal(p.text, "c");
	prompt_begin(&p, PROMPT_DELETE, "Delete?", NULL);
	assert_int_equal(prompt_key(&p, KEY_ENTERED), PROMPT_LEFT);
	assert_int_equal(prompt_key(&p, 'y'), PROMPT_ENTERED);
}

static void panes_fit_their_screen(void **state)
{
	(void)state;
	for (unsigned width = 1; width < 250; width += 7)
		for (unsigned height = 1; height < 60; height += 5)
			for (int focus = PANE_TREE; focus <= PANE_TALK; focus++) {
				struct layout l;

				layout_make(&l, width, height, (enum browse_pane)focus, 0);
				for (int i = 0; i < 2; i++) {
					assert_true(l.pane[i].x + l.pane[i].width <= width);
					assert_true(!l.pane[i].height || l.pane[i].y + l.pane[i].height < height);
				}
				assert_true(height < 3 || l.pane[focus].height);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_are_drawn_with_their_branches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folds_hide_what_is_below, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_later_view_keeps_folds_and_selection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(branches_and_labels_can_be_reached, set_up, tear_down),
		cmocka_unit_test_setup_teardown(replies_that_only_call_tools_are_passed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_session_has_no_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_are_the_same_from_either_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_style_lasts_over_line_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(entries_can_be_gone_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_on_the_screen_stays_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_line_that_matches_is_found_once, set_up, tear_down),
		cmocka_unit_test(a_query_needs_all_its_words),
		cmocka_unit_test(letters_of_all_alphabets_have_a_case),
		cmocka_unit_test(the_words_of_a_query_are_found_one_by_one),
		cmocka_unit_test(numbers_stay_in_their_columns),
		cmocka_unit_test(ages_are_short),
		cmocka_unit_test(a_selection_stays_in_its_list),
		cmocka_unit_test_setup_teardown(a_line_is_typed, set_up, tear_down),
		cmocka_unit_test(panes_fit_their_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
