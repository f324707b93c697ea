/*
 * tests/unit/test_search_part.c: several texts of a log that are indexed together, and how
 * each of them is found again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "search/search_part.h"
#include "search/search_words.h"

#define ENTRIES 200

struct texts {
	struct chance c;
	struct grove__search_doc doc[ENTRIES];
	char id[ENTRIES][40];
	char text[ENTRIES][400];
};

/* Words that are often the same, with letters of all kinds between them. */
static void random_text(struct chance *c, char *out, size_t cap)
{
	static const char *const some[] = { "alpha", "Beta", "x", "12", "解析器", "naïve", "a_b", "--", "\033[1mred" };
	size_t nr = chance_below(c, 20), at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		if (chance_below(c, 3))
			at += (size_t)snprintf(out + at, cap - at, "%s ", some[chance_below(c, 9)]);
		else
			at += (size_t)snprintf(out + at, cap - at, "w%u,", chance_below(c, 5000));
		assert_in_range(at, 0, cap - 1);
	}
}

static void random_docs(struct texts *t)
{
	uint64_t pos = 0;
	uint32_t row = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		struct grove__search_doc *d = &t->doc[i];

		random_text(&t->c, t->text[i], sizeof(t->text[i]));
		snprintf(t->id[i], sizeof(t->id[i]), "%.*s%u", (int)chance_below(&t->c, 8), "entry-id", (unsigned)i);
		pos += chance_below(&t->c, 4) ? chance_below(&t->c, 5000) : (uint64_t)chance_below(&t->c, 1u << 30) << 8;
		row += 1 + chance_below(&t->c, 3);
		*d = (struct grove__search_doc){
			.class = (uint8_t)chance_below(&t->c, SEARCH_CLASSES), .kind = (uint8_t)chance_below(&t->c, 20), .role = (uint8_t)chance_below(&t->c, 9),
			.row = row, .time = chance_below(&t->c, 5) ? (int64_t)chance_below(&t->c, 1u << 31) * 1000
								 : GROVE_NO_TIME,
			.at = { .pos = pos, .off = chance_below(&t->c, 2) ? chance_below(&t->c, 100) : 0,
				.len = chance_below(&t->c, 1u << 24), .crc = chance_below(&t->c, UINT32_MAX),
				.lines = chance_below(&t->c, 8) == 0 },
			.entry = chance_below(&t->c, 6) ? t->id[i] : NULL,
			.text = grove__slice_str(t->text[i]),
		};
		pos += d->at.len;
	}
}

/* The words of a text as the part should have them, by the slow way. */
struct once {
	struct grove_buf text;
	uint32_t words;
};

static int add_once(void *payload, const struct grove__word *w)
{
	struct once *o = payload;
	char word[GROVE__WORD_MAX + 3];

	o->words += !w->again;
	snprintf(word, sizeof(word), " %.*s ", (int)w->len, w->ptr);
	if (strstr(o->text.ptr, word))
		return 0;
	return grove__buf_add(&o->text, word + 1, w->len + 1);
}

static void assert_entry(const struct grove__search_doc *want, const struct grove__search_doc *got)
{
	assert_int_equal(got->class, want->class);
	assert_int_equal(got->row, want->row);
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->role, want->role);
	assert_int_equal(got->time, want->time);
	assert_int_equal(got->at.pos, want->at.pos);
	assert_int_equal(got->at.off, want->at.off);
	assert_int_equal(got->at.len, want->at.len);
	assert_int_equal(got->at.crc, want->at.crc);
	assert_int_equal(got->at.lines, want->at.lines);
	assert_int_equal(!got->entry, !want->entry);
	if (want->entry)
		assert_string_equal(got->entry, want->entry);
}

static void assert_part(const struct texts *t, const struct grove__search_part *p)
{
	struct grove_slice rest = grove__buf_slice(&p->texts);
	struct grove__search_doc e = { 0 };
	const char *at = p->words.ptr;
	size_t nr = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		struct once o = { GROVE_BUF_INIT, 0 };

		assert_int_equal(grove__buf_add_char(&o.text, ' '), 0);
		assert_int_equal(grove__words_cut(t->doc[i].text, false, add_once, &o), 0);
		if (o.words) {
			enum grove__search_lane lane = grove__search_lane(t->doc[i].class, t->doc[i].role);

			assert_int_equal(grove__search_part_next(&rest, &e), 0);
			assert_entry(&t->doc[i], &e);
			assert_int_equal(e.words, o.words);
			assert_int_equal((unsigned char)p->sizes.ptr[nr++], o.words < 255 ? o.words : 255);
			/* its words are in the line of its lane */
			for (enum grove__search_lane l = 0; l < SEARCH_LANES; l++) {
				const char *end = strchr(at, '\n');

				assert_non_null(end);
				assert_int_equal(end - at, l == lane ? o.text.len - 1 : 0);
				assert_memory_equal(at, o.text.ptr + 1, (size_t)(end - at));
				at = end + 1;
			}
		}
		grove__buf_release(&o.text);
	}
	assert_int_equal(grove__search_part_next(&rest, &e), 1);
	assert_string_equal(at, "");
	assert_int_equal(p->sizes.len, nr);
}

static void fill(struct texts *t, struct grove__search_part *p)
{
	random_docs(t);
	for (size_t i = 0; i < ENTRIES; i++)
		assert_int_equal(grove__search_part_add(p, &t->doc[i]), 0);
}

static void entries_come_back_as_they_were(void **state)
{
	static struct texts t;
	struct grove__search_part p = { 0 };

	(void)state;
	t.c = chance_begin("parts");
	/* the same one again and again: nothing of what it had stays */
	for (int i = 0; i < 40; i++) {
		fill(&t, &p);
		assert_part(&t, &p);
		grove__search_part_clear(&p);
	}
	grove__search_part_release(&p);
}

static void a_part_that_is_cut_off_is_damaged(void **state)
{
	static struct texts t;
	struct grove__search_part p = { 0 };

	(void)state;
	t.c = chance_begin("cut off");
	fill(&t, &p);
	for (size_t len = 0; len < p.texts.len; len++) {
		char *bytes = malloc(len + 1);
		struct grove_slice rest = { bytes, len };
		struct grove__search_doc e = { 0 };
		int rc;

		assert_non_null(bytes);
		memcpy(bytes, p.texts.ptr, len);
		while (!(rc = grove__search_part_next(&rest, &e)))
			;
		/* between two texts it looks whole */
		assert_true(rc == 1 ? !rest.len : rc == GROVE_EDAMAGED);
		free(bytes);
	}
	grove__search_part_release(&p);
}

static void a_part_tells_its_times_and_when_it_is_full(void **state)
{
	struct grove__search_part p = { 0 };
	struct grove__search_doc d = { .class = 2, .time = GROVE_NO_TIME, .text = { "one two", 7 } };
	size_t nr = 1;

	(void)state;
	assert_int_equal(grove__search_part_add(&p, &d), 0);
	assert_true(p.since > p.until);
	d.time = 700;
	assert_int_equal(grove__search_part_add(&p, &d), 0);
	d.time = 300;
	assert_int_equal(grove__search_part_add(&p, &d), 0);
	assert_int_equal(p.since, 300);
	assert_int_equal(p.until, 700);
	/* nothing to be found in it: no entry */
	d.text = grove__slice_str("-- // --");
	assert_int_equal(grove__search_part_add(&p, &d), 0);
	assert_int_equal(p.nr, 3);
	for (d.text = grove__slice_str("some more text"); !grove__search_part_full(&p); nr++)
		assert_int_equal(grove__search_part_add(&p, &d), 0);
	assert_in_range(nr, 100, 100000);
	grove__search_part_clear(&p);
	assert_false(grove__search_part_full(&p));
	grove__search_part_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_back_as_they_were),
		cmocka_unit_test(a_part_that_is_cut_off_is_damaged),
		cmocka_unit_test(a_part_tells_its_times_and_when_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
