/*
 * tests/unit/test_tree.c: building the tree from the rows of a log.
 *
 * There are small logs, written by hand, for everything that can be wrong with
 * a file; a slow and simple model that is compared with random logs; and a
 * large log whose use of memory is checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tree/tree.h"

#include "../lib/chance.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))
#define NO GROVE_NO_ENTRY

/* One line: "id<parent", "id<" (parent null), "id" (no parent member), "<x" (no id). */
static struct grove__entry entry_of(const char *text)
{
	const char *mark = strchr(text, '<');
	struct grove__entry e = { .kind = GROVE_KIND_MESSAGE, .role = GROVE_ROLE_USER, .time = 1000 };
	size_t n = mark ? (size_t)(mark - text) : strlen(text);

	e.has_id = n > 0;
	e.id = grove__slice(text, n);
	e.parent_is = !mark ? PARENT_ABSENT : mark[1] ? PARENT_NAMED : PARENT_NULL;
	if (mark)
		e.parent = str(mark + 1);
	return e;
}

static void add_entry(struct grove__spine *s, const struct grove__entry *e)
{
	uint32_t row = s->nr;

	assert_int_equal(grove__spine_add(s, e, row * 100u, row + 10u, row + 1u, row * 7u), 0);
	assert_int_equal(s->nr, row + 1);
}

static void add(struct grove__spine *s, const char *text)
{
	struct grove__entry e = entry_of(text);

	add_entry(s, &e);
}

static struct grove__spine *tree_of(const char *const *text, size_t nr)
{
	struct grove__spine *s = grove__spine_new(0x1234567);

	assert_non_null(s);
	for (size_t i = 0; i < nr; i++)
		add(s, text[i]);
	assert_int_equal(grove__tree_link(s, 0), 0);
	return s;
}

#define TREE(...) tree_of((const char *const[]){ __VA_ARGS__ }, \
			  ARRAY(((const char *const[]){ __VA_ARGS__ })))

static void check_rows(const uint32_t *rows, size_t nr, const uint32_t *want, size_t nr_want,
		       const char *what, int line)
{
	for (size_t i = 0; i < nr && i < nr_want; i++)
		if (rows[i] != want[i])
			fail_msg("line %d: %s: row %u at %zu, not %u", line, what, rows[i], i, want[i]);
	if (nr != nr_want)
		fail_msg("line %d: %s: %zu rows, not %zu", line, what, nr, nr_want);
}

static void check_children(const struct grove__spine *s, uint32_t nr, uint32_t row, bool by_time,
			   const uint32_t *want, size_t nr_want, int line)
{
	uint32_t *rows = NULL;
	size_t count = 0;

	assert_int_equal(grove__tree_children(s, nr, row, by_time, &rows, &count), 0);
	check_rows(rows, count, want, nr_want, "children", line);
	free(rows);
}

static void check_path(const struct grove__spine *s, uint32_t row, const uint32_t *want,
		       size_t nr_want, int line)
{
	uint32_t *rows = NULL;
	size_t count = 0;

	assert_int_equal(grove__tree_path(s, row, &rows, &count), 0);
	check_rows(rows, count, want, nr_want, "path", line);
	free(rows);
}

#define ROWS(...) (const uint32_t[]){ __VA_ARGS__ }, ARRAY(((const uint32_t[]){ __VA_ARGS__ }))
#define CHILDREN(row, ...) check_children(s, s->nr, row, false, ROWS(__VA_ARGS__), __LINE__)
#define CHILDLESS(row) check_children(s, s->nr, row, false, NULL, 0, __LINE__)
#define PATH(row, ...) check_path(s, row, ROWS(__VA_ARGS__), __LINE__)

/* --------------------------------------------------------------- the shapes */

static void an_empty_log_is_an_empty_tree(void **state)
{
	struct grove__spine *s = grove__spine_new(1);

	(void)state;
	assert_int_equal(grove__tree_link(s, 0), 0);
	CHILDLESS(NO);
	check_path(s, NO, NULL, 0, __LINE__);
	assert_int_equal(grove__spine_find(s, 0, str("a")), NO);
	assert_int_equal(grove__tree_leaf(s, NO), NO);
	assert_int_equal(grove__tree_named(s, NO), NO);
	grove__spine_free(s);
	grove__spine_free(NULL);
}

static void a_row_keeps_what_it_was_given(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry e = { .kind = GROVE_KIND_COMPACTION, .role = GROVE_ROLE_ASSISTANT,
				  .time = -5, .has_id = true, .id = str("an id"),
				  .parent_is = PARENT_NULL, .leaf_mark = true };

	(void)state;
	assert_int_equal(grove__spine_add(s, &e, (uint64_t)1 << 40, (uint64_t)1 << 41, 4000000000u,
					  0xdeadbeef), 0);
	assert_true(grove__spine_pos(s, 0) == (uint64_t)1 << 40);
	assert_true(grove__spine_len(s, 0) == (uint64_t)1 << 41);
	assert_int_equal(grove__spine_line(s, 0), 4000000000u);
	assert_int_equal(grove__spine_crc(s, 0), 0xdeadbeef);
	assert_int_equal(grove__spine_time(s, 0), -5);
	assert_int_equal(grove__spine_kind(s, 0), GROVE_KIND_COMPACTION);
	assert_int_equal(grove__spine_role(s, 0), GROVE_ROLE_ASSISTANT);
	assert_int_equal(grove__spine_flags(s, 0), ROW_LEAF_MARK);
	assert_string_equal(grove__spine_id(s, 0), "an id");
	/* a line number that does not fit is an answer, and nothing is added */
	assert_int_equal(grove__spine_add(s, &e, 0, 0, (uint64_t)1 << 32, 0), GROVE_ETOOBIG);
	assert_int_equal(s->nr, 1);
	grove__spine_free(s);
}

static void a_chain_hangs_row_below_row(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<b", "d<c");

	(void)state;
	CHILDREN(NO, 0);
	CHILDREN(0, 1);
	CHILDREN(1, 2);
	CHILDREN(2, 3);
	CHILDLESS(3);
	PATH(3, 0, 1, 2, 3);
	PATH(0, 0);
	assert_int_equal(grove__spine_find(s, s->nr, str("c")), 2);
	/* what came later is not there for who knows less */
	assert_int_equal(grove__spine_find(s, 2, str("c")), NO);
	check_children(s, 2, 1, false, NULL, 0, __LINE__);
	check_children(s, 3, 1, false, ROWS(2), __LINE__);
	assert_int_equal(s->nr_orphans + s->nr_cycles + s->nr_duplicates, 0);
	grove__spine_free(s);
}

static void branches_keep_the_order_of_the_log(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<a", "d<b", "e<a", "f<b", "r<");

	(void)state;
	CHILDREN(NO, 0, 6);
	CHILDREN(0, 1, 2, 4);
	CHILDREN(1, 3, 5);
	PATH(5, 0, 1, 5);
	grove__spine_free(s);
}

static void without_a_parent_a_row_is_a_root(void **state)
{
	struct grove__spine *s = TREE("a", "b<", "c<b");

	(void)state;
	CHILDREN(NO, 0, 1);
	assert_int_equal(grove__spine_flags(s, 0), ROW_PARENT_ABSENT);
	assert_int_equal(grove__spine_flags(s, 1), 0);
	assert_int_equal(s->nr_orphans, 0);
	grove__spine_free(s);
}

static void rows_without_an_id_have_no_children(void **state)
{
	struct grove__spine *s = TREE("a<", "<a", "<a", "b<a", "<b", "<");

	(void)state;
	CHILDREN(NO, 0, 5);
	CHILDREN(0, 1, 2, 3);
	CHILDREN(3, 4);
	assert_int_equal(grove__spine_flags(s, 1), ROW_NO_ID);
	assert_null(grove__spine_id(s, 1));
	assert_int_equal(grove__tree_named(s, 4), 3);
	assert_int_equal(grove__tree_named(s, 3), 3);
	assert_int_equal(grove__tree_named(s, 5), NO);
	grove__spine_free(s);
}

static void an_empty_id_is_an_id(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry e = { .has_id = true, .id = grove__slice("", 0),
				  .parent_is = PARENT_NULL };
	struct grove__entry child = { .has_id = true, .id = str("b"), .parent_is = PARENT_NAMED,
				      .parent = grove__slice("", 0) };
	struct grove__entry nameless = { .parent_is = PARENT_NULL };

	(void)state;
	add_entry(s, &e);
	add_entry(s, &nameless);
	add_entry(s, &child);
	assert_int_equal(grove__tree_link(s, 0), 0);
	CHILDREN(NO, 0, 1);
	/* and having none is not the same as having that one */
	CHILDREN(0, 2);
	CHILDLESS(1);
	grove__spine_free(s);
}

static void ids_are_compared_by_all_their_bytes(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry a = { .has_id = true, .id = grove__slice("x\0y", 3),
				  .parent_is = PARENT_NULL };
	struct grove__entry b = { .has_id = true, .id = grove__slice("x\0z", 3),
				  .parent_is = PARENT_NAMED, .parent = grove__slice("x\0y", 3) };
	struct grove__entry c = { .has_id = true, .id = str("x"), .parent_is = PARENT_NAMED,
				  .parent = grove__slice("x\0z", 3) };

	(void)state;
	add_entry(s, &a);
	add_entry(s, &b);
	add_entry(s, &c);
	assert_int_equal(grove__tree_link(s, 0), 0);
	PATH(2, 0, 1, 2);
	assert_int_equal(s->nr_duplicates, 0);
	grove__spine_free(s);
}

static void a_parent_may_come_later(void **state)
{
	struct grove__spine *s = TREE("b<a", "c<b", "a<", "d<a");

	(void)state;
	CHILDREN(NO, 2);
	CHILDREN(2, 0, 3);
	CHILDREN(0, 1);
	PATH(1, 2, 0, 1);
	assert_int_equal(s->nr_orphans + s->nr_cycles, 0);
	grove__spine_free(s);
}

static void an_orphan_is_a_root_that_says_so(void **state)
{
	struct grove__spine *s = TREE("a<", "b<gone", "c<b", "d<gone");

	(void)state;
	CHILDREN(NO, 0, 1, 3);
	CHILDREN(1, 2);
	assert_int_equal(grove__spine_flags(s, 1), ROW_ORPHAN);
	assert_int_equal(grove__spine_flags(s, 2), 0);
	assert_int_equal(grove__spine_flags(s, 3), ROW_ORPHAN);
	assert_int_equal(s->nr_orphans, 2);
	grove__spine_free(s);
}

/* ------------------------------------------------------------------ circles */

static void its_own_parent_is_a_root(void **state)
{
	struct grove__spine *s = TREE("a<a", "b<a");

	(void)state;
	CHILDREN(NO, 0);
	CHILDREN(0, 1);
	assert_int_equal(grove__spine_flags(s, 0), ROW_CYCLE);
	assert_int_equal(grove__spine_flags(s, 1), 0);
	assert_int_equal(s->nr_cycles, 1);
	assert_int_equal(s->nr_orphans, 0);
	grove__spine_free(s);
}

static void of_two_in_a_circle_the_first_is_the_root(void **state)
{
	struct grove__spine *s = TREE("x<", "a<b", "b<a", "c<a", "d<b");

	(void)state;
	CHILDREN(NO, 0, 1);
	CHILDREN(1, 2, 3);
	CHILDREN(2, 4);
	assert_int_equal(grove__spine_flags(s, 1), ROW_CYCLE);
	assert_int_equal(grove__spine_flags(s, 2), 0);
	assert_int_equal(s->nr_cycles, 1);
	grove__spine_free(s);
}

static void a_circle_met_from_its_tail_is_broken_once(void **state)
{
	/* the tail stands first in the log and leads into the middle of the circle */
	struct grove__spine *s = TREE("t<c", "a<c", "b<a", "c<b", "u<b", "v<a");

	(void)state;
	CHILDREN(NO, 1);
	CHILDREN(1, 2, 5);
	CHILDREN(2, 3, 4);
	CHILDREN(3, 0);
	PATH(0, 1, 2, 3, 0);
	assert_int_equal(s->nr_cycles, 1);
	for (uint32_t row = 0; row < s->nr; row++)
		assert_int_equal(grove__spine_flags(s, row), row == 1 ? ROW_CYCLE : 0);
	grove__spine_free(s);
}

static void every_place_where_a_tail_may_enter_is_good(void **state)
{
	enum { RING = 7 };

	(void)state;
	/* a ring in the log's order or against it, entered at each of its rows */
	for (unsigned back = 0; back < 2; back++)
		for (unsigned at = 0; at < RING; at++) {
			struct grove__spine *s = grove__spine_new(at);
			char text[32];
			uint32_t *rows;
			size_t nr;

			snprintf(text, sizeof(text), "t0<r%u", at);
			add(s, text);
			add(s, "t1<t0");
			for (unsigned i = 0; i < RING; i++) {
				snprintf(text, sizeof(text), "r%u<r%u", i,
					 (back ? i + RING - 1 : i + 1) % RING);
				add(s, text);
			}
			assert_int_equal(grove__tree_link(s, 0), 0);
			CHILDREN(NO, 2);
			assert_int_equal(s->nr_cycles, 1);
			assert_int_equal(grove__tree_path(s, 1, &rows, &nr), 0);
			assert_int_equal(rows[0], 2);
			assert_int_equal(rows[nr - 1], 1);
			assert_int_equal(nr, 3 + (back ? at : (RING - at) % RING));
			free(rows);
			grove__spine_free(s);
		}
}

static void a_long_circle_ends(void **state)
{
	enum { RING = 100000 };
	struct grove__spine *s = grove__spine_new(3);
	uint32_t *rows;
	size_t nr;
	char text[64];

	(void)state;
	add(s, "tail<n77777");
	for (unsigned i = 0; i < RING; i++) {
		snprintf(text, sizeof(text), "n%u<n%u", i, (i + 1) % RING);
		add(s, text);
	}
	assert_int_equal(grove__tree_link(s, 0), 0);
	assert_int_equal(s->nr_cycles, 1);
	CHILDREN(NO, 1);
	assert_int_equal(grove__tree_path(s, 2, &rows, &nr), 0);
	assert_int_equal(nr, RING);
	free(rows);
	grove__spine_free(s);
}

static void circles_are_counted_each(void **state)
{
	struct grove__spine *s = TREE("a<b", "b<a", "c<c", "d<e", "e<f", "f<d", "g<e", "h<gone");

	(void)state;
	CHILDREN(NO, 0, 2, 3, 7);
	assert_int_equal(s->nr_cycles, 3);
	assert_int_equal(s->nr_orphans, 1);
	PATH(6, 3, 5, 4, 6);
	grove__spine_free(s);
}

/* --------------------------------------------------------------- duplicates */

static void of_two_lines_with_one_id_the_later_stands_at_the_place_of_the_first(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<a", "b<a", "d<b");

	(void)state;
	CHILDREN(NO, 0);
	/* the last line's entry, before c */
	CHILDREN(0, 3, 2);
	CHILDREN(3, 4);
	CHILDLESS(1);
	assert_int_equal(grove__spine_flags(s, 1), ROW_SUPERSEDED);
	assert_int_equal(grove__spine_flags(s, 3), 0);
	assert_int_equal(grove__spine_find(s, s->nr, str("b")), 3);
	assert_int_equal(s->nr_duplicates, 1);
	grove__spine_free(s);
}

static void children_of_the_earlier_line_belong_to_the_later(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<b", "x<", "b<x", "d<b", "b<a");

	(void)state;
	CHILDREN(NO, 0, 3);
	CHILDREN(0, 6);
	CHILDREN(6, 2, 5);
	CHILDLESS(3);
	PATH(2, 0, 6, 2);
	assert_int_equal(s->nr_duplicates, 2);
	grove__spine_free(s);
}

static void a_duplicate_may_be_a_root(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "r<", "a<", "c<b");

	(void)state;
	CHILDREN(NO, 3, 2);
	CHILDREN(3, 1);
	PATH(4, 3, 1, 4);
	grove__spine_free(s);
}

static void a_duplicate_below_its_own_child_is_a_circle(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<b", "a<c", "d<a");

	(void)state;
	/* b is the first in the log of those that run in a circle: b, c, and the later a */
	CHILDREN(NO, 1);
	CHILDREN(1, 2);
	CHILDREN(2, 3);
	CHILDREN(3, 4);
	assert_int_equal(grove__spine_flags(s, 0), ROW_SUPERSEDED);
	assert_int_equal(grove__spine_flags(s, 1), ROW_CYCLE);
	assert_int_equal(s->nr_cycles, 1);
	grove__spine_free(s);
}

static void a_duplicate_that_names_itself_is_a_root(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "a<a");

	(void)state;
	CHILDREN(NO, 2);
	CHILDREN(2, 1);
	assert_int_equal(grove__spine_flags(s, 2), ROW_CYCLE);
	grove__spine_free(s);
}

static void many_lines_with_one_id_are_one_entry(void **state)
{
	struct grove__spine *s = grove__spine_new(9);

	(void)state;
	add(s, "r<");
	for (int i = 0; i < 5000; i++) {
		add(s, "same<r");
		add(s, "<same");
	}
	assert_int_equal(grove__tree_link(s, 0), 0);
	CHILDREN(0, 9999);
	{
		uint32_t *rows;
		size_t nr;

		assert_int_equal(grove__tree_children(s, s->nr, 9999, false, &rows, &nr), 0);
		assert_int_equal(nr, 5000);
		for (uint32_t i = 0; i < 5000; i++)
			assert_int_equal(rows[i], 2 + 2 * i);
		free(rows);
	}
	assert_int_equal(s->nr_duplicates, 4999);
	grove__spine_free(s);
}

/* -------------------------------------------------------------------- leaf */

static void a_leaf_mark_stands_for_its_parent(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry mark = entry_of("m<a"), again = entry_of("n<m"), root = entry_of("o<");

	(void)state;
	mark.leaf_mark = again.leaf_mark = root.leaf_mark = true;
	add(s, "a<");
	add_entry(s, &mark);
	add_entry(s, &again);
	add_entry(s, &root);
	assert_int_equal(grove__tree_link(s, 0), 0);
	assert_int_equal(grove__tree_leaf(s, 0), 0);
	assert_int_equal(grove__tree_leaf(s, 1), 0);
	assert_int_equal(grove__tree_leaf(s, 2), 0);
	assert_int_equal(grove__tree_leaf(s, 3), NO);
	grove__spine_free(s);
}

/* -------------------------------------------------------------- by the clock */

#define B GROVE_NO_TIME

/* A root with one child for each time. */
static struct grove__spine *with_times(const int64_t *time, size_t nr)
{
	struct grove__spine *s = grove__spine_new(1);

	add(s, "r<");
	for (size_t i = 0; i < nr; i++) {
		char id[24], text[32];
		struct grove__entry e;

		snprintf(id, sizeof(id), "c%zu", i);
		snprintf(text, sizeof(text), "%s<r", id);
		e = entry_of(text);
		e.time = time[i];
		add_entry(s, &e);
	}
	assert_int_equal(grove__tree_link(s, 0), 0);
	return s;
}

static void children_can_be_had_by_time(void **state)
{
	static const int64_t time[] = { 30, 10, 20, 10, 40, 10, 0, -5 };
	struct grove__spine *s = with_times(time, ARRAY(time));

	(void)state;
	check_children(s, s->nr, 0, true, ROWS(8, 7, 2, 4, 6, 3, 1, 5), __LINE__);
	CHILDREN(0, 1, 2, 3, 4, 5, 6, 7, 8);
	grove__spine_free(s);
}

static void roots_stay_in_the_order_of_the_log(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry late = entry_of("a<"), early = entry_of("b<");

	(void)state;
	late.time = 2000;
	early.time = 1000;
	add_entry(s, &late);
	add_entry(s, &early);
	assert_int_equal(grove__tree_link(s, 0), 0);
	check_children(s, s->nr, NO, true, ROWS(0, 1), __LINE__);
	grove__spine_free(s);
}

/*
 * A time that is no date compares as equal to all. What a sort makes of that
 * depends on the sort; these are the answers of JavaScript's, as the agents
 * use it (Node 20).
 */
static void bad_times_fall_where_javascript_lets_them(void **state)
{
	static const struct {
		size_t nr;
		int64_t time[40];
		uint32_t order[40];
	} known[] = {
		{ 3, { B, 7, 7 },
		  { 0, 1, 2 } },
		{ 3, { 5, B, 3 },
		  { 0, 1, 2 } },
		{ 4, { 0, 8, 8, 2 },
		  { 0, 3, 1, 2 } },
		{ 5, { B, 1, 6, B, 5 },
		  { 0, 1, 2, 3, 4 } },
		{ 6, { B, 1, 6, 8, 1, B },
		  { 0, 1, 4, 2, 3, 5 } },
		{ 8, { 0, B, 8, 0, 0, 7, 8, 8 },
		  { 0, 1, 3, 4, 5, 2, 6, 7 } },
		{ 8, { B, 8, 2, 1, 5, 8, B, B },
		  { 0, 3, 2, 4, 1, 5, 6, 7 } },
		{ 12, { B, 3, 5, B, 5, 4, B, 7, B, 8, 5, B },
		  { 0, 1, 5, 2, 3, 4, 6, 7, 8, 10, 9, 11 } },
		{ 20, { B, B, 3, 5, 1, 8, B, B, 4, 0, 4, B, 2, 1, 3, B, 2, B, B, B },
		  { 0, 1, 9, 4, 13, 12, 16, 2, 14, 8, 3, 5, 6, 7, 10, 11, 15, 17, 18, 19 } },
		{ 33, { 4, 7, 6, B, 0, 4, 4, B, 7, 7, B, 1, 5, 3, 0, 1, 5, 0, B, 2, B, 6, 3, 7, 1, 7,
			8, 1, 2, 6, 2, 7, B },
		  { 4, 14, 17, 11, 15, 24, 27, 19, 28, 30, 13, 22, 0, 5, 6, 12, 2, 1, 3, 7, 16, 21,
		    29, 8, 9, 10, 18, 20, 23, 25, 31, 26, 32 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY(known); i++) {
		struct grove__spine *s = with_times(known[i].time, known[i].nr);
		uint32_t want[40];

		for (size_t k = 0; k < known[i].nr; k++)
			want[k] = known[i].order[k] + 1;
		check_children(s, s->nr, 0, true, want, known[i].nr, __LINE__);
		grove__spine_free(s);
	}
}

static void long_lists_are_sorted_and_stable(void **state)
{
	struct chance c = chance_begin("children by time");

	(void)state;
	for (int round = 0; round < 60; round++) {
		size_t nr = round < 50 ? 1 + chance_below(&c, 200) : 3000, count;
		int64_t *time = calloc(nr, sizeof(*time));
		struct grove__spine *s;
		uint32_t *rows;

		assert_non_null(time);
		for (size_t i = 0; i < nr; i++)
			time[i] = (int64_t)chance_below(&c, 50) - 25;
		s = with_times(time, nr);
		assert_int_equal(grove__tree_children(s, s->nr, 0, true, &rows, &count), 0);
		assert_int_equal(count, nr);
		for (size_t i = 1; i < nr; i++) {
			int64_t a = time[rows[i - 1] - 1], b = time[rows[i] - 1];

			if (a > b || (a == b && rows[i - 1] >= rows[i]))
				fail_msg("rows %u and %u", rows[i - 1], rows[i]);
		}
		free(rows);
		grove__spine_free(s);
		free(time);
	}
}

static void long_lists_with_bad_times_lose_nobody(void **state)
{
	struct chance c = chance_begin("bad times");

	(void)state;
	for (int round = 0; round < 50; round++) {
		size_t nr = 1 + chance_below(&c, 300), count;
		int64_t time[300];
		struct grove__spine *s;
		bool seen[301] = { false };
		uint32_t *rows;

		for (size_t i = 0; i < nr; i++)
			time[i] = chance_below(&c, 3) ? (int64_t)chance_below(&c, 20) : B;
		s = with_times(time, nr);
		assert_int_equal(grove__tree_children(s, s->nr, 0, true, &rows, &count), 0);
		assert_int_equal(count, nr);
		for (size_t i = 0; i < nr; i++) {
			assert_in_range(rows[i], 1, nr);
			assert_false(seen[rows[i]]);
			seen[rows[i]] = true;
		}
		free(rows);
		grove__spine_free(s);
	}
}

/* -------------------------------------------------------------------- labels */

static void add_label(struct grove__spine *s, const char *target, const char *text)
{
	struct grove__entry e = { .kind = GROVE_KIND_LABEL, .has_id = false,
				  .parent_is = PARENT_NULL, .time = 5,
				  .target = target ? str(target) : grove__slice(NULL, 0),
				  .text = text ? str(text) : grove__slice(NULL, 0) };

	add_entry(s, &e);
}

static void check_labels(struct grove__spine *s, const char *want, int line)
{
	struct grove__labels *l;
	char text[512] = "";
	size_t at = 0;

	assert_int_equal(grove__tree_link(s, s->linked), 0);
	l = grove__labels_new(s);
	assert_non_null(l);
	for (size_t i = 0; i < l->nr; i++) {
		const struct grove__label *x = &l->label[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s=%s@%d/%u ", x->target, x->text,
				       x->row == NO ? -1 : (int)x->row, x->set_by);
		if (x->row != NO)
			assert_ptr_equal(grove__labels_get(l, x->row), x);
	}
	if (strcmp(text, want))
		fail_msg("line %d: \"%s\", not \"%s\"", line, text, want);
	assert_ptr_equal(grove__labels_ref(l), l);
	grove__labels_unref(l);
	grove__labels_unref(l);
	grove__labels_unref(NULL);
}

static void labels_stand_in_the_order_a_map_keeps(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "c<b");
	struct grove__labels *l = grove__labels_new(s);

	(void)state;
	assert_int_equal(l->nr, 0);
	assert_null(grove__labels_get(l, 0));
	grove__labels_unref(l);
	grove__spine_free(s);

	s = grove__spine_new(1);
	add(s, "a<");
	add(s, "b<a");
	add(s, "c<b");
	add_label(s, "c", "one");     /* 3 */
	add_label(s, "a", "two");     /* 4 */
	add_label(s, "b", "three");   /* 5 */
	check_labels(s, "c=one@2/3 a=two@0/4 b=three@1/5 ", __LINE__);
	add_label(s, "c", "again");   /* 6: in its place */
	check_labels(s, "c=again@2/6 a=two@0/4 b=three@1/5 ", __LINE__);
	add_label(s, "a", NULL);      /* 7: gone */
	check_labels(s, "c=again@2/6 b=three@1/5 ", __LINE__);
	add_label(s, "a", "back");    /* 8: at the end */
	check_labels(s, "c=again@2/6 b=three@1/5 a=back@0/8 ", __LINE__);
	add_label(s, "c", NULL);      /* 9 */
	add_label(s, "c", NULL);      /* 10: twice */
	add_label(s, "never", NULL);  /* 11: one that was not there */
	add_label(s, "c", "x");       /* 12 */
	check_labels(s, "b=three@1/5 a=back@0/8 c=x@2/12 ", __LINE__);
	/* a target that is not in the log keeps its label, on no row */
	add_label(s, "gone", "y");    /* 13 */
	check_labels(s, "b=three@1/5 a=back@0/8 c=x@2/12 gone=y@-1/13 ", __LINE__);
	/* no target, no label */
	add_label(s, NULL, "z");      /* 14 */
	check_labels(s, "b=three@1/5 a=back@0/8 c=x@2/12 gone=y@-1/13 ", __LINE__);
	/* a target that comes later */
	add(s, "gone<a");             /* 15 */
	check_labels(s, "b=three@1/5 a=back@0/8 c=x@2/12 gone=y@15/13 ", __LINE__);
	grove__spine_free(s);
}

static void a_label_sits_on_the_later_of_two_lines(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__labels *l;

	(void)state;
	add(s, "a<");
	add_label(s, "a", "x");
	add(s, "a<");
	assert_int_equal(grove__tree_link(s, 0), 0);
	l = grove__labels_new(s);
	assert_null(grove__labels_get(l, 0));
	assert_non_null(grove__labels_get(l, 2));
	grove__labels_unref(l);
	grove__spine_free(s);
}

static void the_name_is_the_last_one_given(void **state)
{
	struct grove__spine *s = grove__spine_new(1);
	struct grove__entry e = { .kind = GROVE_KIND_NAME, .names = true, .parent_is = PARENT_NULL,
				  .text = str("first") };

	(void)state;
	assert_null(s->name);
	add_entry(s, &e);
	assert_string_equal(s->name, "first");
	e.text = str("second");
	add_entry(s, &e);
	assert_string_equal(s->name, "second");
	e.text = grove__slice(NULL, 0);
	add_entry(s, &e);
	assert_null(s->name);
	grove__spine_free(s);
}

/* --------------------------------------------------------------- row by row */

static void rows_that_disturb_nothing_are_linked_as_they_come(void **state)
{
	struct grove__spine *s = TREE("a<", "b<a", "orphan<gone");

	(void)state;
	add(s, "c<b");
	assert_int_equal(grove__tree_link(s, 3), 0);
	add(s, "d<b");
	add(s, "e<d");
	add(s, "<e");
	add(s, "late<missing");
	assert_int_equal(grove__tree_link(s, 4), 0);
	CHILDREN(NO, 0, 2, 7);
	CHILDREN(1, 3, 4);
	PATH(6, 0, 1, 4, 5, 6);
	assert_int_equal(grove__spine_flags(s, 7), ROW_ORPHAN);
	assert_int_equal(s->nr_orphans, 2);
	/* nothing new is fine too */
	assert_int_equal(grove__tree_link(s, s->nr), 0);
	CHILDREN(1, 3, 4);
	grove__spine_free(s);
}

static void a_log_with_old_faults_goes_on_growing(void **state)
{
	/* duplicates, circles and late parents of the past are no reason to begin anew */
	struct grove__spine *s = TREE("a<", "b<a", "b<a", "y<z", "z<y", "f<later", "later<a", "o<gone");

	(void)state;
	add(s, "c<b");
	assert_int_equal(grove__tree_link(s, 8), 0);
	add(s, "d<y");
	assert_int_equal(grove__tree_link(s, 9), 0);
	CHILDREN(2, 8);
	CHILDREN(3, 4, 9);
	CHILDREN(NO, 0, 3, 7);
	grove__spine_free(s);
}

/* What a reader of the first `nr` rows sees, as text. */
static char *picture(const struct grove__spine *s, uint32_t nr, const char *const *ids, size_t nr_ids)
{
	static char text[2][4096];
	static unsigned which;
	char *out = text[which++ % 2];
	size_t at = 0, count;
	uint32_t *rows;

	for (uint32_t row = 0; row <= nr; row++) {
		uint32_t of = row == nr ? NO : row;

		if (of != NO)
			at += (size_t)snprintf(out + at, 4096 - at, "%u^%d!%x:", row,
					       (int)grove__spine_parent(s, row), grove__spine_flags(s, row));
		assert_int_equal(grove__tree_children(s, nr, of, false, &rows, &count), 0);
		for (size_t i = 0; i < count; i++)
			at += (size_t)snprintf(out + at, 4096 - at, " %u", rows[i]);
		at += (size_t)snprintf(out + at, 4096 - at, "\n");
		free(rows);
	}
	for (size_t i = 0; i < nr_ids; i++)
		at += (size_t)snprintf(out + at, 4096 - at, "%s=%d ", ids[i],
				       (int)grove__spine_find(s, nr, str(ids[i])));
	assert_in_range(at, 1, 4095);
	return out;
}

static void what_disturbs_the_tree_wants_a_new_one(void **state)
{
	static const char *const start[] = { "a<", "b<a", "c<b", "o<gone" };
	static const char *const ids[] = { "a", "b", "c", "o", "gone", "new", "p", "q" };
	static const struct {
		const char *line[3];
	} disturbing[] = {
		{ { "b<a" } },                    /* an id that is there */
		{ { "c<a" } },
		{ { "b<b" } },
		{ { "gone<a" } },                 /* the parent of an orphan */
		{ { "new<a", "new<b" } },         /* twice among the new ones */
		{ { "p<q", "q<a" } },             /* a parent behind its child */
		{ { "p<p" } },                    /* circles */
		{ { "p<q", "q<p" } },
		{ { "new<c", "b<new" } },         /* below its own child */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY(disturbing); i++) {
		struct grove__spine *s = tree_of(start, ARRAY(start));
		char *before = picture(s, 4, ids, ARRAY(ids));

		for (size_t k = 0; k < 3 && disturbing[i].line[k]; k++)
			add(s, disturbing[i].line[k]);
		if (grove__tree_link(s, 4) != GROVE_ESTALE)
			fail_msg("case %zu was linked", i);
		/* who reads the old rows sees what was there, to the end */
		assert_string_equal(picture(s, 4, ids, ARRAY(ids)), before);
		grove__spine_free(s);
	}
}

static void who_knows_less_sees_less(void **state)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e" };
	struct grove__spine *s = TREE("a<", "b<a");
	char *before = picture(s, 2, ids, ARRAY(ids));

	(void)state;
	add(s, "c<a");
	add(s, "d<");
	add(s, "e<b");
	assert_int_equal(grove__tree_link(s, 2), 0);
	assert_string_equal(picture(s, 2, ids, ARRAY(ids)), before);
	CHILDREN(0, 1, 2);
	grove__spine_free(s);
}

/* ------------------------------------------------------------------ property */

/* A log of chance, and what the tree of it is, by the plainest means. */
struct model {
	uint32_t nr;
	struct {
		int id, parent;      /* -1: none; parents may name ids that nobody has */
		bool absent;
	} *line;
	/* the answers */
	uint32_t *up;
	unsigned *flags;
	uint64_t orphans, cycles, duplicates;
};

static uint32_t last_with(const struct model *m, int id)
{
	for (uint32_t i = m->nr; i-- > 0;)
		if (m->line[i].id == id)
			return i;
	return NO;
}

static uint32_t first_with(const struct model *m, int id)
{
	for (uint32_t i = 0; i < m->nr; i++)
		if (m->line[i].id == id)
			return i;
	return NO;
}

static bool is_entry(const struct model *m, uint32_t row)
{
	return m->line[row].id < 0 || last_with(m, m->line[row].id) == row;
}

/* Does the way up from `row` come back to it? */
static bool on_circle(const struct model *m, uint32_t row)
{
	uint32_t r = m->up[row];

	for (uint32_t steps = 0; r != NO && steps <= m->nr; steps++, r = m->up[r])
		if (r == row)
			return true;
	return false;
}

static void model_solve(struct model *m)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		m->up[i] = NO;
		m->flags[i] = (m->line[i].id < 0 ? ROW_NO_ID : 0) |
			      (m->line[i].absent ? ROW_PARENT_ABSENT : 0);
		if (!is_entry(m, i)) {
			m->flags[i] |= ROW_SUPERSEDED;
			m->duplicates++;
		}
		if (m->line[i].parent < 0)
			continue;
		m->up[i] = last_with(m, m->line[i].parent);
		if (m->up[i] == NO) {
			m->flags[i] |= ROW_ORPHAN;
			m->orphans++;
		}
	}
	/* in the order of the log: the first of a circle is met first */
	for (uint32_t i = 0; i < m->nr; i++)
		if (on_circle(m, i)) {
			m->up[i] = NO;
			m->flags[i] |= ROW_CYCLE;
			m->cycles++;
		}
}

/* Children in the order of the first line with their id. */
static size_t model_children(const struct model *m, uint32_t of, uint32_t *out)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < m->nr; i++) {
		uint32_t row = i;

		if (m->line[i].id >= 0) {
			if (first_with(m, m->line[i].id) != i)
				continue;
			row = last_with(m, m->line[i].id);
		}
		if (m->up[row] == of)
			out[nr++] = row;
	}
	return nr;
}

static void model_make(struct model *m, struct chance *c)
{
	uint32_t nr = 1 + chance_below(c, chance_below(c, 8) ? 40 : 250);
	uint32_t ids = 1 + chance_below(c, nr * 2);
	uint32_t wild = chance_below(c, 3);  /* 0: tame, as we write; 2: anything */

	memset(m, 0, sizeof(*m));
	m->nr = nr;
	m->line = calloc(nr, sizeof(*m->line));
	m->up = calloc(nr, sizeof(*m->up));
	m->flags = calloc(nr, sizeof(*m->flags));
	assert_true(m->line && m->up && m->flags);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t dice = chance_below(c, 100);

		m->line[i].id = (int)i;
		m->line[i].parent = i ? (int)i - 1 : -1;
		if (dice < 20 && i)
			m->line[i].parent = (int)chance_below(c, i);
		if (dice == 99)
			m->line[i].parent = -1;
		if (!wild)
			continue;
		if (dice < 8)
			m->line[i].parent = (int)chance_below(c, nr);           /* maybe later */
		if (dice >= 90 && dice < 93)
			m->line[i].parent = (int)(nr + chance_below(c, 9));     /* missing */
		if (dice == 93)
			m->line[i].id = -1;
		if (dice == 94)
			m->line[i].absent = true, m->line[i].parent = -1;
		if (dice == 95)
			m->line[i].parent = m->line[i].id;                      /* itself */
		if (dice >= 96 && dice < 98 && i)
			m->line[i].id = (int)chance_below(c, i);                /* a duplicate */
		if (wild == 2) {
			m->line[i].id = (int)chance_below(c, ids + 1) - 1;
			m->line[i].parent = m->line[i].absent ? -1
							      : (int)chance_below(c, ids + 3) - 1;
		}
	}
	model_solve(m);
}

static void model_free(struct model *m)
{
	free(m->line);
	free(m->up);
	free(m->flags);
}

static void add_from(struct grove__spine *s, const struct model *m, uint32_t row)
{
	char id[16], parent[16];
	struct grove__entry e = { .kind = GROVE_KIND_MESSAGE, .time = row };

	snprintf(id, sizeof(id), "%x", (unsigned)m->line[row].id);
	snprintf(parent, sizeof(parent), "%x", (unsigned)m->line[row].parent);
	e.has_id = m->line[row].id >= 0;
	e.id = str(id);
	e.parent_is = m->line[row].absent ? PARENT_ABSENT
					  : m->line[row].parent < 0 ? PARENT_NULL : PARENT_NAMED;
	e.parent = str(parent);
	add_entry(s, &e);
}

static void compare(const struct grove__spine *s, const struct model *m)
{
	uint32_t *want = calloc(m->nr, sizeof(*want)), *rows;
	size_t nr, count;

	assert_non_null(want);
	assert_int_equal(s->nr, m->nr);
	for (uint32_t i = 0; i < m->nr; i++) {
		assert_int_equal(grove__spine_flags(s, i), m->flags[i]);
		assert_int_equal(grove__spine_parent(s, i), m->up[i]);
	}
	for (uint32_t i = 0; i <= m->nr; i++) {
		uint32_t of = i == m->nr ? NO : i;

		nr = model_children(m, of, want);
		assert_int_equal(grove__tree_children(s, s->nr, of, false, &rows, &count), 0);
		check_rows(rows, count, want, nr, "children", __LINE__);
		free(rows);
		/* and the way up ends */
		assert_int_equal(grove__tree_path(s, of, &rows, &count), 0);
		for (uint32_t r = of, k = 0; r != NO; r = m->up[r], k++)
			assert_int_equal(rows[count - 1 - k], r);
		free(rows);
	}
	assert_int_equal(s->nr_orphans, m->orphans);
	assert_int_equal(s->nr_cycles, m->cycles);
	assert_int_equal(s->nr_duplicates, m->duplicates);
	free(want);
}

static unsigned rounds(unsigned few)
{
	return getenv("GROVE_TEST_LONG") ? few * 20 : few;
}

static void any_log_gives_the_tree_of_the_model(void **state)
{
	struct chance c = chance_begin("tree");

	(void)state;
	for (unsigned round = 0; round < rounds(1000); round++) {
		struct grove__spine *s = grove__spine_new(chance_next(&c));
		struct model m;

		model_make(&m, &c);
		for (uint32_t i = 0; i < m.nr; i++)
			add_from(s, &m, i);
		assert_int_equal(grove__tree_link(s, 0), 0);
		compare(s, &m);
		grove__spine_free(s);
		model_free(&m);
	}
}

static void any_log_read_in_pieces_gives_the_same_tree(void **state)
{
	struct chance c = chance_begin("tree in pieces");
	unsigned stale = 0, linked = 0;

	(void)state;
	for (unsigned round = 0; round < rounds(600); round++) {
		struct grove__spine *s = grove__spine_new(chance_next(&c));
		struct model m;
		uint32_t at = 0;

		model_make(&m, &c);
		while (at < m.nr) {
			uint32_t from = at, most = 1 + chance_below(&c, 30);
			int rc;

			while (at < m.nr && most--)
				add_from(s, &m, at++);
			rc = grove__tree_link(s, from);
			if (rc) {
				/* begin anew, as a reader would */
				assert_int_equal(rc, GROVE_ESTALE);
				assert_true(from > 0);
				grove__spine_free(s);
				s = grove__spine_new(chance_next(&c));
				for (uint32_t i = 0; i < at; i++)
					add_from(s, &m, i);
				assert_int_equal(grove__tree_link(s, 0), 0);
				stale++;
			} else {
				linked++;
			}
		}
		compare(s, &m);
		grove__spine_free(s);
		model_free(&m);
	}
	/* both ways were gone */
	assert_true(stale > 100);
	assert_true(linked > 100);
}

/* --------------------------------------------------------------------- large */

static void a_million_rows_take_64_bytes_each_at_most(void **state)
{
	enum { NR = 1000000 };
	const struct grove__block *b = NULL;
	/* one of each array of a block */
	const size_t row = sizeof(*b->pos) + sizeof(*b->len) + sizeof(*b->time) + sizeof(*b->id) +
			   sizeof(*b->line) + sizeof(*b->crc) + sizeof(*b->parent) +
			   sizeof(*b->child) + sizeof(*b->last) + sizeof(*b->sibling) +
			   sizeof(*b->flags) + sizeof(*b->kind) + sizeof(*b->role);
	struct grove__spine *s = grove__spine_new(5);
	uint32_t *rows, made = 0;
	char text[48];
	size_t nr;

	(void)state;
	assert_in_range(row, 1, 64);
	/* as many arrays as pointers: none is forgotten above */
	assert_int_equal(sizeof(struct grove__block), 13 * sizeof(void *));
	for (uint32_t i = 0; i < NR; i++) {
		if (i)
			snprintf(text, sizeof(text), "%08x<%08x", i, i % 10 ? i - 1 : i / 10 * 5);
		else
			snprintf(text, sizeof(text), "%08x<", 0);
		add(s, text);
	}
	assert_int_equal(grove__tree_link(s, 0), 0);
	/* blocks are at most twice what is used */
	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS; i++)
		if (s->block[i].pos)
			made += GROVE__SPINE_FIRST << i;
	assert_in_range(made, NR, 2 * NR);
	assert_int_equal(s->nr_orphans + s->nr_cycles + s->nr_duplicates, 0);
	for (uint32_t i = 0; i < NR; i += 4099) {
		snprintf(text, sizeof(text), "%08x", i);
		assert_int_equal(grove__spine_find(s, NR, str(text)), i);
		assert_string_equal(grove__spine_id(s, i), text);
		assert_int_equal(grove__spine_line(s, i), i + 1);
	}
	assert_int_equal(grove__tree_path(s, NR - 1, &rows, &nr), 0);
	assert_int_equal(rows[0], 0);
	assert_int_equal(rows[nr - 1], NR - 1);
	free(rows);
	grove__spine_free(s);
}

static void rows_are_found_across_the_edges_of_blocks(void **state)
{
	static const uint32_t edges[] = { 0, 1, 255, 256, 257, 767, 768, 769, 1791, 1792, 3839, 3840 };

	(void)state;
	for (size_t i = 0; i < ARRAY(edges); i++) {
		uint32_t at, before_at;
		struct grove__spine *s = grove__spine_new(1);
		struct grove__block *b = grove__spine_at(s, edges[i], &at), *before;

		if (edges[i]) {
			before = grove__spine_at(s, edges[i] - 1, &before_at);
			assert_true(b == before ? at == before_at + 1 : b == before + 1 && !at);
		} else {
			assert_ptr_equal(b, &s->block[0]);
			assert_int_equal(at, 0);
		}
		grove__spine_free(s);
	}
	/* the last row there can be */
	{
		struct grove__spine *s = grove__spine_new(1);
		uint32_t at;

		assert_ptr_equal(grove__spine_at(s, GROVE_NO_ENTRY - GROVE__SPINE_FIRST, &at),
				 &s->block[GROVE__SPINE_BLOCKS - 1]);
		grove__spine_free(s);
	}
}

/* ------------------------------------------------------------------- threads */

struct reader {
	struct grove__spine *s;
	uint32_t nr;           /* rows it knows of */
	bool stop;             /* atomic */
	bool bad;
};

static void *read_on(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE) && !r->bad) {
		for (uint32_t i = 0; i < r->nr && !r->bad; i += 97) {
			uint32_t *rows;
			char text[16];
			size_t nr;

			snprintf(text, sizeof(text), "%x", i);
			r->bad = grove__spine_find(r->s, r->nr, str(text)) != i;
			if (!grove__tree_children(r->s, r->nr, i, true, &rows, &nr)) {
				for (size_t k = 0; k < nr; k++)
					r->bad = r->bad || rows[k] >= r->nr;
				free(rows);
			}
			if (!grove__tree_path(r->s, i, &rows, &nr))
				free(rows);
		}
	}
	return NULL;
}

static void readers_go_on_while_rows_are_added(void **state)
{
	enum { START = 2000, MORE = 40000 };
	struct grove__spine *s = grove__spine_new(11);
	struct reader r[3];
	pthread_t thread[ARRAY(r)];
	char text[48];

	(void)state;
	for (uint32_t i = 0; i < START + MORE; i++) {
		if (i)
			snprintf(text, sizeof(text), "%x<%x", i, i / 3);
		else
			snprintf(text, sizeof(text), "0<");
		add(s, text);
		if (i == START - 1) {
			assert_int_equal(grove__tree_link(s, 0), 0);
			for (size_t k = 0; k < ARRAY(r); k++) {
				r[k] = (struct reader){ s, START, false, false };
				assert_int_equal(pthread_create(&thread[k], NULL, read_on, &r[k]), 0);
			}
		} else if (i >= START) {
			assert_int_equal(grove__tree_link(s, i), 0);
		}
	}
	for (size_t k = 0; k < ARRAY(r); k++) {
		__atomic_store_n(&r[k].stop, true, __ATOMIC_RELEASE);
		pthread_join(thread[k], NULL);
		assert_false(r[k].bad);
	}
	grove__spine_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_log_is_an_empty_tree),
		cmocka_unit_test(a_row_keeps_what_it_was_given),
		cmocka_unit_test(a_chain_hangs_row_below_row),
		cmocka_unit_test(branches_keep_the_order_of_the_log),
		cmocka_unit_test(without_a_parent_a_row_is_a_root),
		cmocka_unit_test(rows_without_an_id_have_no_children),
		cmocka_unit_test(an_empty_id_is_an_id),
		cmocka_unit_test(ids_are_compared_by_all_their_bytes),
		cmocka_unit_test(a_parent_may_come_later),
		cmocka_unit_test(an_orphan_is_a_root_that_says_so),
		cmocka_unit_test(its_own_parent_is_a_root),
		cmocka_unit_test(of_two_in_a_circle_the_first_is_the_root),
		cmocka_unit_test(a_circle_met_from_its_tail_is_broken_once),
		cmocka_unit_test(every_place_where_a_tail_may_enter_is_good),
		cmocka_unit_test(a_long_circle_ends),
		cmocka_unit_test(circles_are_counted_each),
		cmocka_unit_test(of_two_lines_with_one_id_the_later_stands_at_the_place_of_the_first),
		cmocka_unit_test(children_of_the_earlier_line_belong_to_the_later),
		cmocka_unit_test(a_duplicate_may_be_a_root),
		cmocka_unit_test(a_duplicate_below_its_own_child_is_a_circle),
		cmocka_unit_test(a_duplicate_that_names_itself_is_a_root),
		cmocka_unit_test(many_lines_with_one_id_are_one_entry),
		cmocka_unit_test(a_leaf_mark_stands_for_its_parent),
		cmocka_unit_test(children_can_be_had_by_time),
		cmocka_unit_test(roots_stay_in_the_order_of_the_log),
		cmocka_unit_test(bad_times_fall_where_javascript_lets_them),
		cmocka_unit_test(long_lists_are_sorted_and_stable),
		cmocka_unit_test(long_lists_with_bad_times_lose_nobody),
		cmocka_unit_test(labels_stand_in_the_order_a_map_keeps),
		cmocka_unit_test(a_label_sits_on_the_later_of_two_lines),
		cmocka_unit_test(the_name_is_the_last_one_given),
		cmocka_unit_test(rows_that_disturb_nothing_are_linked_as_they_come),
		cmocka_unit_test(a_log_with_old_faults_goes_on_growing),
		cmocka_unit_test(what_disturbs_the_tree_wants_a_new_one),
		cmocka_unit_test(who_knows_less_sees_less),
		cmocka_unit_test(any_log_gives_the_tree_of_the_model),
		cmocka_unit_test(any_log_read_in_pieces_gives_the_same_tree),
		cmocka_unit_test(a_million_rows_take_64_bytes_each_at_most),
		cmocka_unit_test(rows_are_found_across_the_edges_of_blocks),
		cmocka_unit_test(readers_go_on_while_rows_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
