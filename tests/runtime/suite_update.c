/*
 * tests/runtime/suite_update.c: entries that are changed after they were stored.
 */
#include "runtime.h"
#include "../lib/calls.h"

#define CONTENT "/message/content"

/* Asserts that only line `line` has changed, and now contains `part`. */
static void assert_one_line(const struct grove_buf *before, const struct grove_buf *after,
			    size_t line, const char *part)
{
	const char *a = before->ptr, *b = after->ptr;

	for (size_t i = 0; *a && *b; i++) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

		if (i == line) {
			const char *found = strstr(b, part);

			assert_true(found && found < b + m);
			assert_null(memmem(a, n, part, strlen(part)));
		} else {
			assert_int_equal(n, m);
			assert_memory_equal(a, b, n);
		}
		a += n + 1;
		b += m + 1;
	}
	assert_int_equal(*a, *b);
}

static void one_entry_changes_and_no_other(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_buf before = raw_of(s), after;
	uint64_t rev = rev_of(s);

	OK(w->g, grove_session_update(s, "b", CONTENT,
				      "[{\"type\":\"text\",\"text\":\"other words\"}]"));
	after = raw_of(s);
	assert_one_line(&before, &after, 2, "\"content\":[{\"type\":\"text\",\"text\":\"other words\"}]");
	assert_true(rev_of(s) > rev);
	assert_path(s, "a b c d");
	t = again(w, s, GROVE_OPEN_READ);
	assert_raw(t, &after);
	grove_session_close(t);
	grove_buf_release(&before);
	grove_buf_release(&after);
	/* the session goes on */
	add(s, "e", "user");
	assert_path(s, "a b c d e");
	grove_session_close(s);
}

static void what_an_entry_is_and_where_it_hangs_stays(void **state)
{
	static const char *const fixed[][2] = {
		{ "/id", "\"z\"" }, { "/parentId", "\"a\"" }, { "/parentId", "null" },
		{ "/type", "\"custom\"" }, { "/timestamp", "\"2020-01-01T00:00:00.000Z\"" },
	};
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_buf raw = raw_of(s);

	for (size_t i = 0; i < ARRAY(fixed); i++)
		GOT(w->g, grove_session_update(s, "c", fixed[i][0], fixed[i][1]), GROVE_EINVAL);
	assert_raw(s, &raw);
	grove_buf_release(&raw);
	grove_session_close(s);
}

static void what_is_not_there_cannot_be_changed(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf raw = raw_of(s);

	GOT(w->g, grove_session_update(s, "nobody", CONTENT, "1"), GROVE_ENOTFOUND);
	GOT(w->g, grove_session_update(s, GROVE_ROOT, CONTENT, "1"), GROVE_ENOTFOUND);
	GOT(w->g, grove_session_update(s, "b", "/message/nothing", "1"), GROVE_ENOTFOUND);
	GOT(w->g, grove_session_update(s, "b", CONTENT, "{no"), GROVE_EJSON);
	assert_true(grove_session_update(t, "b", CONTENT, "1") < 0);
	assert_raw(s, &raw);
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_change_is_seen_by_who_had_it_open(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_view *v;

	OK(w->g, grove_session_update(s, "d", CONTENT, "\"changed\""));
	assert_int_equal(grove_session_refresh(t), 1);
	v = view_of(t);
	OK(NULL, grove_view_line(v, find_row(v, "d"), 0, &line));
	assert_has(&line, "\"content\":\"changed\"");
	grove_view_unref(v);
	grove_buf_release(&line);
	grove_session_close(t);
	grove_session_close(s);
}

static void what_others_appended_meanwhile_stays(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);

	add(t, "e", "user");
	grove_session_close(t);
	OK(w->g, grove_session_update(s, "a", CONTENT, "\"first\""));
	assert_path(s, "a b c d e");
	/* an entry that this handle has not read yet can be changed, too */
	t = again(w, s, GROVE_OPEN_WRITE);
	add(s, "f", "assistant");
	grove_session_close(s);
	OK(w->other, grove_session_update(t, "f", CONTENT, "\"last\""));
	assert_path(t, "a b c d e f");
	assert_int_equal(lines_of(t), 7);
	grove_session_close(t);
}

static void a_change_moves_no_leaf(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;

	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	OK(w->g, grove_session_update(s, "d", CONTENT, "\"aside\""));
	assert_leaf(s, "b");
	t = again(w, s, GROVE_OPEN_READ);
	assert_leaf(t, "b");
	grove_session_close(t);
	OK(w->g, grove_session_set_leaf(s, "c", NULL, NULL));
	OK(w->g, grove_session_update(s, "a", CONTENT, "\"again\""));
	assert_leaf(s, "c");
	grove_session_close(s);
}

/* Lines become longer and shorter, the first and the last ones too. */
static void lines_may_change_their_length(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_buf before, after;
	char *value = malloc(300002);

	assert_non_null(value);
	memset(value, 'y', 300001);
	value[0] = value[300000] = '"';
	value[300001] = '\0';
	for (size_t i = 0; i < 4; i++) {
		const char id[] = { (char)('a' + i), '\0' };

		before = raw_of(s);
		OK(w->g, grove_session_update(s, id, CONTENT, value));
		after = raw_of(s);
		assert_one_line(&before, &after, i + 1, "yyyy");
		grove_buf_release(&before);
		before = after;
		OK(w->g, grove_session_update(s, id, CONTENT, "\"\""));
		after = raw_of(s);
		assert_one_line(&before, &after, i + 1, "\"content\":\"\"");
		grove_buf_release(&before);
		grove_buf_release(&after);
	}
	free(value);
	grove_session_close(s);
}

const struct CMUnitTest update_cases[] = {
	CASE(one_entry_changes_and_no_other),
	CASE(what_an_entry_is_and_where_it_hangs_stays),
	CASE(what_is_not_there_cannot_be_changed),
	CASE(a_change_is_seen_by_who_had_it_open),
	CASE(what_others_appended_meanwhile_stays),
	CASE(a_change_moves_no_leaf),
	CASE(lines_may_change_their_length),
};
const size_t nr_update_cases = ARRAY(update_cases);
