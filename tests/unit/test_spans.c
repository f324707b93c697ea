/*
 * tests/unit/test_spans.c: logs of lenient dialects, where a value may be
 * longer or shorter than one line.
 *
 * Every test runs with a file, where positions are bytes, and in memory, where
 * they count lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "check/check.h"
#include "session/change.h"

#include "../lib/chance.h"
#include "../lib/world.h"

#define E(id) "{\"type\":\"custom\",\"id\":\"" id "\",\"parentId\":null,\"customType\":\"t\"}"
/* the same over three lines, and how it is shown */
#define TALL(id) "{\"type\":\"custom\",\n  \"id\":\"" id "\",\r\n\"parentId\":null}"
#define FLAT(id) "{\"type\":\"custom\",   \"id\":\"" id "\",  \"parentId\":null}"
#define HEAD "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}"

/* ------------------------------------------------------------- a log of a text */

struct place {
	bool file;
	char path[4200];
	struct grove_store *store;
	struct grove_store_log *log;
	struct grove__image *im;
	struct grove_detail d;
};

static const struct grove_key key = { "", "a.jsonl", "" };

/* Add a text: to a file as it is, to memory line by line. */
static void add_text(struct place *p, struct grove_slice text)
{
	if (p->file) {
		FILE *f = fopen(p->path, "a");

		assert_non_null(f);
		assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
		assert_int_equal(fclose(f), 0);
		return;
	}
	while (text.len) {
		const char *lf = memchr(text.ptr, '\n', text.len);
		size_t n = lf ? (size_t)(lf - text.ptr) : text.len;
		struct grove_store_record rec = { .line = { text.ptr, n } };
		struct grove_store_appended out;

		assert_int_equal(grove__log_append(p->log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE,
						   &out, &p->d), 0);
		n += lf != NULL;
		text.ptr += n;
		text.len -= n;
	}
}

static void put(struct world *w, struct place *p, bool file, struct grove_slice text)
{
	char url[4200];

	memset(p, 0, sizeof(*p));
	p->file = file;
	snprintf(p->path, sizeof(p->path), "%s/a.jsonl", w->dir);
	snprintf(url, sizeof(url), "file:%s", w->dir);
	unlink(p->path);
	if (file)
		add_text(p, text);
	assert_int_equal(grove__store_open(&p->store, file ? url : "memory:", &p->d), 0);
	assert_int_equal(grove__log_open(&p->log, p->store, &key,
					 file ? GROVE_STORE_WRITE : GROVE_STORE_CREATE, &p->d),
			 0);
	if (!file)
		add_text(p, text);
}

static void take_away(struct place *p)
{
	grove__image_unref(p->im);
	grove__log_close(p->log);
	grove__store_close(p->store);
	memset(p, 0, sizeof(*p));
}

static int load_as(struct place *p, const struct grove__dialect *dialect)
{
	grove__image_unref(p->im);
	p->im = grove__image_new(dialect);
	assert_non_null(p->im);
	return grove__image_load(p->im, p->log, p->path, NULL, &p->d);
}

static int load(struct place *p)
{
	return load_as(p, &grove__dialect_xcsh);
}

/* What was added since; a new image where the old one does not do. */
static void reload(struct place *p)
{
	int rc = grove__image_load(p->im, p->log, p->path, NULL, &p->d);

	assert_int_equal(rc == GROVE_ESTALE ? load(p) : rc, 0);
}

/* All bytes of the log, an LF behind each line. */
static struct grove_buf bytes_of(struct place *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	struct grove_store_run run;

	assert_int_equal(grove__log_stat(p->log, &st, &p->d), 0);
	assert_int_equal(grove__buf_reserve(&b, (size_t)st.bytes + 1), 0);
	assert_int_equal(grove__log_read(p->log, 0, st.tail, b.ptr, (size_t)st.bytes + 1, &run,
					 &p->d), 0);
	grove__buf_cut(&b, run.len);
	return b;
}

/* The rows, a line each: once asked for by one, once all in a row, both the same. */
static struct grove_buf rows_of(struct place *p)
{
	struct grove_buf all = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct grove_slice one, next;
	struct grove__rows rows;
	uint32_t row, n = 0;

	grove__rows_init(&rows, p->im, p->log, NULL, p->im->spine->nr);
	while (!grove__rows_next(&rows, &row, &next, &p->d)) {
		assert_int_equal(row, n++);
		assert_int_equal(grove__image_line(p->im, p->log, row, &line, &one, &p->d), 0);
		assert_int_equal(one.len, next.len);
		assert_memory_equal(one.ptr, next.ptr, one.len);
		assert_null(memchr(one.ptr, '\n', one.len));
		assert_int_equal(grove__buf_add_slice(&all, one), 0);
		assert_int_equal(grove__buf_add_char(&all, '\n'), 0);
	}
	assert_int_equal(n, p->im->spine->nr);
	grove__rows_release(&rows);
	grove__buf_release(&line);
	return all;
}

/* Behind a header, `body` is read as these rows. */
static void reads(struct world *w, const char *body, const char *want)
{
	struct grove_buf t = GROVE_BUF_INIT, got;

	assert_int_equal(grove__buf_addf(&t, "%s\n%s", HEAD, body), 0);
	for (int file = 0; file < 2; file++) {
		struct place p;

		put(w, &p, file, grove__buf_slice(&t));
		assert_int_equal(load(&p), 0);
		got = rows_of(&p);
		assert_string_equal(got.ptr ? got.ptr : "", want);
		assert_int_equal(grove__image_verify(p.im, p.im->spine->nr, p.log, &p.d), 0);
		grove__buf_release(&got);
		take_away(&p);
	}
	grove__buf_release(&t);
}

/* ------------------------------------------------------------------- reading */

static void a_value_over_several_lines_is_one_entry_on_one_line(void **state)
{
	reads(*state, TALL("a") "\n" E("b") "\n", FLAT("a") "\n" E("b") "\n");
	reads(*state, E("a") "\n" TALL("b"), E("a") "\n" FLAT("b") "\n");
	reads(*state, "\n \t\n  " TALL("a") "\n\n" TALL("b") "\n", FLAT("a") "\n" FLAT("b") "\n");
}

static void what_follows_a_value_on_its_line_is_left_alone(void **state)
{
	reads(*state, E("a") E("b") "\n" E("c") "\n", E("a") "\n" E("c") "\n");
	reads(*state, E("a") ",\n" TALL("b") " x\n" E("c") "\n", E("a") "\n" FLAT("b") "\n" E("c") "\n");
}

static void a_mistake_costs_one_line(void **state)
{
	reads(*state, "junk\n" E("a") "\n", E("a") "\n");
	reads(*state, "{\"c\":\n" E("a") "\n" E("b") "\n", E("a") "\n" E("b") "\n");
	reads(*state, "{\"c\":\"torn\n" E("a") "\n", E("a") "\n");
}

static void an_unfinished_end_brings_back_what_was_left_alone(void **state)
{
	reads(*state, E("a") E("b") "\n{\"c\":", E("a") "\n" E("b") "\n");
	reads(*state, TALL("a") E("b") "\n{\"c\":", FLAT("a") "\n" E("b") "\n");
	reads(*state, E("a") "\n{\"c\":\n" E("b") "\n", E("a") "\n");
}

static void what_stands_for_nothing_is_passed_over(void **state)
{
	reads(*state, "null\n" E("a") " x\nnull x\n\n0\n" E("b") "\n", E("a") "\n" E("b") "\n");
}

static void a_strict_dialect_reads_lines(void **state)
{
	struct place p;

	put(*state, &p, true, text(HEAD "\n" TALL("a") "\n" E("b") E("c") "\n" E("d") "\n"));
	assert_int_equal(load_as(&p, &grove__dialect_pi), 0);
	assert_int_equal(p.im->spine->nr, 1);
	assert_int_equal(p.im->malformed, 4);
	take_away(&p);
}

static void the_header_may_span_lines_too(void **state)
{
	const char *t = "{\"type\":\"session\",\"version\":3,\n\"id\":\n\"s9\",\"cwd\":\"/w\"} x\n" E("a") "\n";

	for (int file = 0; file < 2; file++) {
		struct grove_buf line = GROVE_BUF_INIT;
		struct grove_slice value;
		struct place p;

		put(*state, &p, file, text(t));
		assert_int_equal(load(&p), 0);
		assert_string_equal(p.im->header.id, "s9");
		assert_int_equal(p.im->spine->nr, 1);
		assert_int_equal(grove__image_header_line(p.im, p.log, &line, &value, &p.d), 0);
		assert_string_equal(line.ptr, "{\"type\":\"session\",\"version\":3, \"id\": \"s9\",\"cwd\":\"/w\"}");
		assert_int_equal(grove__image_verify(p.im, 1, p.log, &p.d), 0);
		grove__buf_release(&line);
		take_away(&p);
	}
}

static void what_does_not_begin_with_a_header_is_no_session(void **state)
{
	static const char *const texts[] = {
		E("a") "\n" HEAD "\n",
		TALL("a") "\n" HEAD "\n",
		"{\"type\":\"session\"\n}\n" E("a") "\n",
		"junk\n",
		"{\"type\":\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (int file = 0; file < 2; file++) {
			struct place p;

			put(*state, &p, file, text(texts[i]));
			assert_int_equal(load(&p), GROVE_EDAMAGED);
			assert_int_equal(p.d.code, GROVE_EDAMAGED);
			take_away(&p);
		}
}

static void a_mark_before_the_header_is_no_part_of_it(void **state)
{
	struct place p;
	struct grove_buf got;

	put(*state, &p, true, text("\xef\xbb\xbf" HEAD " x\n" TALL("a") "\n"));
	assert_int_equal(load(&p), 0);
	got = rows_of(&p);
	assert_string_equal(got.ptr, FLAT("a") "\n");
	grove__buf_release(&got);
	take_away(&p);
}

static void a_value_longer_than_any_buffer_is_an_entry(void **state)
{
	size_t n = (size_t)3 << 20;
	struct grove_buf t = GROVE_BUF_INIT;
	char *filler = malloc(n + 1);

	assert_non_null(filler);
	memset(filler, 'x', n);
	filler[n] = '\0';
	assert_int_equal(grove__buf_addf(&t, HEAD "\n{\"type\":\"custom\",\n\"id\":\"long\",\"data\":\"%s\",\n\"parentId\":null} {}\n" E("b") "\n[\n\"%s\"\n]\n", filler, filler), 0);
	for (int file = 0; file < 2; file++) {
		struct grove_buf line = GROVE_BUF_INIT;
		struct place p;

		put(*state, &p, file, grove__buf_slice(&t));
		assert_int_equal(load(&p), 0);
		assert_string_equal(grove__spine_id(p.im->spine, 0), "long");
		assert_string_equal(grove__spine_id(p.im->spine, 1), "b");
		assert_int_equal(grove__image_line(p.im, p.log, 0, &line, NULL, &p.d), 0);
		assert_null(memchr(line.ptr, '\n', line.len));
		assert_true(line.len > n);
		assert_int_equal(grove__image_verify(p.im, 1, p.log, &p.d), 0);
		grove__buf_release(&line);
		take_away(&p);
	}
	grove__buf_release(&t);
	free(filler);
}

static void lines_are_counted_as_they_are_lost(void **state)
{
	static const struct {
		const char *body;
		uint64_t lines, malformed, blank, bad_line;
		bool torn;
	} cases[] = {
		{ TALL("a") "\n" E("b") "\n", 5, 0, 0, 0, false },
		{ TALL("a") "\njunk\n" E("b") "\n", 6, 1, 0, 4, false },
		{ "junk\n\n \n" TALL("a") "\nnull\n", 8, 1, 3, 1, false },
		{ E("a") " x\n", 2, 0, 0, 0, false },
		{ E("a") "\n{\"c\":", 2, 0, 0, 0, true },
		{ E("a") " x\n{\"c\":", 2, 0, 0, 0, true },
		{ E("a") "\n{\"c\":\n{\"d\":\n", 3, 1, 0, 2, true },
		{ "{\"c\":\n" E("a") "\n" E("b") "\n", 4, 1, 0, 1, false },
		{ E("a") E("b") "\n\n{\"c\":", 3, 0, 1, 0, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int file = 0; file < 2; file++) {
			struct grove_buf t = GROVE_BUF_INIT;
			struct place p;

			assert_int_equal(grove__buf_addf(&t, "%s\n%s", HEAD, cases[i].body), 0);
			put(*state, &p, file, grove__buf_slice(&t));
			assert_int_equal(load(&p), 0);
			if (p.im->lines != cases[i].lines || p.im->malformed != cases[i].malformed ||
			    p.im->blank != cases[i].blank || p.im->torn != cases[i].torn ||
			    (p.im->malformed && p.im->bad_line != cases[i].bad_line))
				fail_msg("%s: %llu lines, %llu malformed from %llu, %llu blank, torn %d",
					 t.ptr, (unsigned long long)p.im->lines,
					 (unsigned long long)p.im->malformed,
					 (unsigned long long)p.im->bad_line,
					 (unsigned long long)p.im->blank, p.im->torn);
			grove__buf_release(&t);
			take_away(&p);
		}
}

static void a_value_that_was_changed_under_us_is_stale(void **state)
{
	struct grove_buf line = GROVE_BUF_INIT, t;
	struct grove_slice value;
	struct grove__rows rows;
	struct place p;
	uint32_t row;

	put(*state, &p, true, text(HEAD "\n" TALL("a") "\n"));
	assert_int_equal(load(&p), 0);
	t = file_bytes(p.path);
	memcpy(strstr(t.ptr, "\"a\""), "\"b\"", 3);
	file_make(p.path, t.ptr);
	grove__buf_release(&t);
	assert_int_equal(grove__image_line(p.im, p.log, 0, &line, NULL, &p.d), GROVE_ESTALE);
	grove__rows_init(&rows, p.im, p.log, NULL, 1);
	assert_int_equal(grove__rows_next(&rows, &row, &value, &p.d), GROVE_ESTALE);
	grove__rows_release(&rows);
	grove__buf_release(&line);
	take_away(&p);
}

/* ------------------------------------------------------------------- growing */

static void a_log_that_grows_is_read_as_if_at_once(void **state)
{
	static const char *const parts[][3] = {
		{ TALL("a") "\n", E("b") "\n", TALL("c") "\n" },
		{ E("a") "\n", TALL("b"), "\n" E("c") "\n" },
		{ E("a") "\n", "{\"type\":\"custom\",\n", "\"id\":\"b\"}\n" },
		{ E("a") E("b") "\n", "{\"c\":", "1}\n" },
		{ E("a") E("b") "\n", "{\"c\":\n", E("d") "\n" E("e") "\n" },
		{ E("a") "\n{\"type\":\"custom\",\"id\":\"b\"", "}", "\n" E("c") "\n" },
		{ E("a") " x", "y\n", E("b") "\n" },
		{ "junk", " and more\n" E("a"), "\n" },
		{ "\n", " ", "\n" E("a") },
		{ E("a") "\n{\"x\":", "\"y", "\n" E("b") "\n" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (int file = 0; file < 2; file++) {
			struct grove_buf t = GROVE_BUF_INIT, got, want;
			struct place p, fresh;

			put(*state, &p, file, text(HEAD "\n"));
			assert_int_equal(load(&p), 0);
			for (int k = 0; k < 3; k++) {
				add_text(&p, text(parts[i][k]));
				reload(&p);
				reload(&p);
			}
			got = rows_of(&p);
			t = bytes_of(&p);
			put(*state, &fresh, false, grove__buf_slice(&t));
			assert_int_equal(load(&fresh), 0);
			want = rows_of(&fresh);
			assert_string_equal(got.ptr ? got.ptr : "", want.ptr ? want.ptr : "");
			assert_int_equal(p.im->lines, fresh.im->lines);
			assert_int_equal(p.im->malformed, fresh.im->malformed);
			assert_int_equal(p.im->blank, fresh.im->blank);
			grove__buf_release(&got);
			grove__buf_release(&want);
			grove__buf_release(&t);
			take_away(&fresh);
			take_away(&p);
		}
}

static void clean_growth_behind_a_span_needs_no_new_image(void **state)
{
	for (int file = 0; file < 2; file++) {
		struct place p;

		put(*state, &p, file, text(HEAD "\n" TALL("a") "\njunk\n"));
		assert_int_equal(load(&p), 0);
		add_text(&p, text(E("b") "\n"));
		assert_int_equal(grove__image_load(p.im, p.log, p.path, NULL, &p.d), 0);
		assert_int_equal(p.im->spine->nr, 2);
		assert_int_equal(grove__spine_line(p.im->spine, 1), 5);
		take_away(&p);
	}
}

static void a_torn_end_that_is_finished_needs_no_new_image(void **state)
{
	struct place p;

	put(*state, &p, true, text(HEAD "\n" E("a") "\n{\"type\":\"custom\",\"id\""));
	assert_int_equal(load(&p), 0);
	assert_true(p.im->torn);
	add_text(&p, text(":\"b\"}\n"));
	assert_int_equal(grove__image_load(p.im, p.log, p.path, NULL, &p.d), 0);
	assert_false(p.im->torn);
	assert_int_equal(p.im->spine->nr, 2);
	assert_int_equal(p.im->lines, 3);
	take_away(&p);
}

static void an_entry_behind_an_unfinished_value_is_for_the_reader_to_find(void **state)
{
	for (int file = 0; file < 2; file++) {
		struct place p;

		put(*state, &p, file, text(HEAD "\n" E("a") "\n{\"x\":"));
		assert_int_equal(load(&p), 0);
		assert_int_equal(grove__image_add(p.im, text(E("b")), p.im->tail + 1, NULL), GROVE_ESTALE);
		assert_int_equal(p.im->spine->nr, 1);
		take_away(&p);
	}
}

static void an_open_value_swallows_the_next_line(void **state)
{
	static const struct {
		const char *body;
		bool yes;
	} cases[] = {
		{ "{\"c\":", true },
		{ "{\"c\":\n", true },
		{ "[", true },
		{ "[1,\n2,", true },
		{ E("a") "\n{\"c\":[1,", true },
		{ E("a") E("b") "\n{\"c\":[1,", true },
		{ E("a") " {\"b\":\n{\"c\":", true },
		{ "{\"c\"", false },
		{ "{\"c\":\"", false },
		{ "{\"c\":1", false },
		{ "{\"c\":tr", false },
		{ "{\"c\":{\"d\":1}", false },
		{ "{", false },
		{ "-", false },
		{ E("a") "\n", false },
		{ "junk", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int file = 0; file < 2; file++) {
			struct grove_buf t = GROVE_BUF_INIT;
			struct place p;
			bool yes = !cases[i].yes;

			assert_int_equal(grove__buf_addf(&t, "%s\n%s", HEAD, cases[i].body), 0);
			put(*state, &p, file, grove__buf_slice(&t));
			assert_int_equal(load(&p), 0);
			assert_int_equal(grove__image_torn_swallows(p.im, p.log, &yes, &p.d), 0);
			if (yes != cases[i].yes)
				fail_msg("%s: %d", t.ptr, yes);
			/* and it tells the truth */
			add_text(&p, text("\n" E("new") "\n"));
			assert_int_equal(load(&p), 0);
			assert_int_equal(grove__spine_find(p.im->spine, p.im->spine->nr, text("new")) ==
					 GROVE_NO_ENTRY, yes);
			grove__buf_release(&t);
			take_away(&p);
		}
}

/* ------------------------------------------------------------------ rewriting */

/* A session on that place, as opening one would make it. */
static struct grove_session *session_on(struct world *w, struct place *p)
{
	struct grove_session *s = grove__session_alloc(w->g);

	assert_non_null(s);
	s->log = p->log;
	s->at.store = p->store;
	s->at.dialect = &grove__dialect_xcsh;
	s->flags = GROVE_OPEN_WRITE | GROVE_OPEN_FORCE;
	assert_int_equal(grove__session_load(s, &p->d), 0);
	p->log = NULL;
	return s;
}

/* Entries whose id has an x in it change, and so does the header. */
static int change(void *payload, struct grove_session *s, uint32_t row, bool header,
		  struct grove_slice value, struct grove_buf *out)
{
	const char *id = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, row);

	assert_int_equal(row == GROVE_NO_ENTRY, header);
	assert_null(memchr(value.ptr, '\n', value.len));
	assert_int_equal(*value.ptr, '{');
	assert_int_equal(value.ptr[value.len - 1], '}');
	*(int *)payload += 1;
	if (!header && (!id || !strchr(id, 'x')))
		return 1;
	/* the value again, with one member more */
	if (grove__buf_add(out, value.ptr, value.len - 1) || grove__buf_add_str(out, ",\"new\":1}"))
		return GROVE_ENOMEM;
	return 0;
}

static void rewritten(struct world *w, const char *before, const char *after, int values)
{
	for (int file = 0; file < 2; file++) {
		struct grove_session *s;
		struct grove_buf got;
		uint64_t changed;
		struct place p;
		int seen = 0;

		put(w, &p, file, text(before));
		s = session_on(w, &p);
		assert_int_equal(grove__session_rewrite(s, change, &seen, &changed, &p.d), 0);
		assert_int_equal(seen, values);
		p.log = s->log;
		got = bytes_of(&p);
		p.log = NULL;
		assert_string_equal(got.ptr, after);
		grove__buf_release(&got);
		/* the store is ours */
		s->at.store = NULL;
		grove__session_unref(s);
		take_away(&p);
	}
}

#define NEW_HEAD "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"new\":1}"
#define NEW_E(id) "{\"type\":\"custom\",\"id\":\"" id "\",\"parentId\":null,\"customType\":\"t\",\"new\":1}"
#define NEW_FLAT(id) "{\"type\":\"custom\",   \"id\":\"" id "\",  \"parentId\":null,\"new\":1}"

static void only_a_value_is_rewritten_not_its_lines(void **state)
{
	/* lines that nothing changes keep their bytes */
	rewritten(*state, HEAD "\n" TALL("a") " rest\njunk\n\n" E("b") "\r\n" E("x") " \r\n",
		  NEW_HEAD "\n" TALL("a") " rest\njunk\n\n" E("b") "\r\n" NEW_E("x") " \r\n", 4);
	/* what stands before and behind a value stays */
	rewritten(*state, HEAD " y\n  " TALL("x") " rest " E("no") "\n" E("b") "\n",
		  NEW_HEAD " y\n  " NEW_FLAT("x") " rest " E("no") "\n" E("b") "\n", 3);
	rewritten(*state, HEAD "\njunk\n" TALL("a") "\n" TALL("x") "\n" TALL("b") "\n",
		  NEW_HEAD "\njunk\n" TALL("a") "\n" NEW_FLAT("x") "\n" TALL("b") "\n", 4);
}

static void two_values_on_a_line_are_rewritten_each(void **state)
{
	rewritten(*state, HEAD "\n" E("x1") " " E("x2") " z\n{\"c\":\n",
		  NEW_HEAD "\n" NEW_E("x1") " " NEW_E("x2") " z\n{\"c\":\n", 3);
	/* the second begins where the first one ends, lines later */
	rewritten(*state, HEAD "\n" TALL("a") "," "\n" TALL("x1") " " E("x2") " z\n{\"c\":\n",
		  NEW_HEAD "\n" TALL("a") ",\n" NEW_FLAT("x1") " " NEW_E("x2") " z\n{\"c\":\n", 4);
	rewritten(*state, HEAD "\n" TALL("a") " " E("x2") "\n{\"c\":\n",
		  NEW_HEAD "\n" TALL("a") " " NEW_E("x2") "\n{\"c\":\n", 3);
	rewritten(*state, HEAD "\n" TALL("x1") " " E("b") "\n{\"c\":\n",
		  NEW_HEAD "\n" NEW_FLAT("x1") " " E("b") "\n{\"c\":\n", 3);
}

static void an_old_version_is_migrated_as_it_was_shown(void **state)
{
	static const char old[] =
		"{\"type\":\"session\",\n\"id\":\"s1\"}\n"
		"{\"type\":\"message\",\n\"message\":{\"role\":\"user\",\n\"content\":\"a\"}} rest\njunk\n"
		"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"b\"}} {\"no\":1}\n"
		"{\"type\":\"compaction\",\n\"summary\":\"s\",\"firstKeptEntryIndex\":2}\n";

	for (int file = 0; file < 2; file++) {
		struct grove_buf shown, stored, bytes;
		struct grove_session *s;
		struct place p, q = { .im = NULL };

		put(*state, &p, file, text(old));
		assert_int_equal(load(&p), 0);
		assert_int_equal(p.im->spine->nr, 3);
		shown = rows_of(&p);
		assert_non_null(strstr(shown.ptr, grove__spine_id(p.im->spine, 1)));
		s = session_on(*state, &p);
		assert_int_equal(grove__session_migrate(s, &p.d), 0);
		q.im = s->image;
		q.log = s->log;
		stored = rows_of(&q);
		assert_string_equal(shown.ptr, stored.ptr);
		assert_false(grove__image_old(s->image));
		bytes = bytes_of(&q);
		assert_non_null(strstr(bytes.ptr, "} rest\njunk\n{"));
		assert_non_null(strstr(bytes.ptr, "} {\"no\":1}\n{"));
		grove__buf_release(&bytes);
		grove__buf_release(&shown);
		grove__buf_release(&stored);
		s->at.store = NULL;
		grove__session_unref(s);
		take_away(&p);
	}
}

/* -------------------------------------------------------------------- listing */

static void a_list_sees_the_values_that_a_session_has(void **state)
{
	struct world *w = *state;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	char path[8300];
	struct grove_list *l;
	struct grove *g;

	snprintf(path, sizeof(path), "%s/.xcsh", w->home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.xcsh/agent", w->home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.xcsh/agent/sessions", w->home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.xcsh/agent/sessions/-w-", w->home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.xcsh/agent/sessions/-w-/a.jsonl", w->home);
	file_make(path, HEADER
		  "{\"type\":\"message\",\"id\":\"u1\",\n\"parentId\":null" STAMP ",\n"
		  "\"message\":{\"role\":\"user\",\n\"content\":\"over lines\"}}\njunk\n"
		  "{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"u1\"" STAMP
		  ",\"message\":{\"role\":\"assistant\",\"content\":[]}} " E("no") "\n" E("c") "\n");
	g = world_grove(w);
	assert_int_equal(grove_list(g, &o, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->dialect, "xcsh");
	assert_string_equal(grove_list_at(l, 0)->first_message, "over lines");
	assert_int_equal(grove_list_at(l, 0)->message_count, 2);
	grove_list_free(l);
	grove_close(g);
}

/* ------------------------------------------------------------------- checking */

static int note_problem(void *payload, const struct grove_problem *p)
{
	return grove__buf_addf(payload, "%llu %llu %s: %s\n", (unsigned long long)p->line,
			       (unsigned long long)p->offset, p->kind, p->detail);
}

/* What check says about a log of that body behind a header of 91 bytes. */
static void checks(struct world *w, const char *body, const char *want)
{
	struct grove_check_result result = { 0 };
	struct grove__where at = { 0 };
	struct grove_buf got = GROVE_BUF_INIT, t = GROVE_BUF_INIT;
	const char *path;
	struct grove_detail d;

	assert_int_equal(grove__buf_addf(&t, "%s\n%s", HEAD, body), 0);
	path = make(w, "checked.jsonl", t.ptr);
	w->g->forced = &grove__dialect_xcsh;
	assert_int_equal(grove__locate_path(w->g, path, &at, &d), 0);
	assert_int_equal(grove__check(w->g, &at, note_problem, &got, &result, &d), 0);
	assert_string_equal(got.ptr ? got.ptr : "", want);
	grove__where_release(&at);
	grove__buf_release(&got);
	grove__buf_release(&t);
}

static void check_tells_what_is_lost_not_what_is_odd(void **state)
{
	assert_int_equal(strlen(HEAD "\n"), 91);
	checks(*state, TALL("a") "\n" E("b") "\n", "");
	checks(*state, "junk\n" TALL("a") "\n", "2 91 malformed: invalid JSON from byte 0 of the line on\n");
	checks(*state, "{\"c\":\n" E("a") "\n" E("b") "\n",
	       "2 96 malformed: invalid JSON from byte 5 of the line on\n");
	checks(*state, TALL("a") " [1]\n" E("b") "\n",
	       "4 139 malformed: invalid JSON from byte 17 of the line on\n");
	checks(*state, E("a") "\n{\"c\":\n{\"d\":\n",
	       "3 151 torn: the last line is unfinished: it ends after 12 bytes\n");
}

/* ----------------------------------------------------------------------- slots */

static enum grove__line_class index_slot(const struct grove__json_line *l, const char *line,
					 struct grove__arena *tmp, struct grove__entry *out)
{
	enum grove__line_class class = grove__dialect_xcsh.read.index(l, line, tmp, out);
	const char *title = memmem(line, (size_t)(l->value.off + l->value.len), "\"title\":", 8);

	if (class != LINE_ENTRY || !title)
		return class;
	out->text = grove__slice(title + 9, strcspn(title + 9, "\""));
	return LINE_SLOT;
}

static void a_slot_before_the_header_is_neither_header_nor_entry(void **state)
{
	struct grove__dialect d = grove__dialect_xcsh;
	const char *slot = "{\"type\":\"slot\",\"id\":\"t\",\"parentId\":null,\"title\":\"hi\"}\n";

	d.read.index = index_slot;
	for (int file = 0; file < 2; file++) {
		struct grove_buf t = GROVE_BUF_INIT;
		struct place p;

		assert_int_equal(grove__buf_addf(&t, "%s%s\n%s\n", slot, HEAD, E("a")), 0);
		put(*state, &p, file, grove__buf_slice(&t));
		assert_int_equal(load_as(&p, &d), 0);
		assert_true(p.im->has_slot);
		assert_string_equal(p.im->slot_title, "hi");
		assert_int_equal(p.im->slot_pos, 0);
		assert_int_equal(p.im->slot_len, strlen(slot) - 1);
		assert_int_equal(p.im->slot_crc, grove__crc32c(0, slot, strlen(slot) - 1));
		assert_int_equal(p.im->spine->nr, 1);
		assert_int_equal(p.im->values, 3);
		assert_int_equal(p.im->header_at.line, 1);
		take_away(&p);
		/* anywhere else it is an entry */
		grove__buf_clear(&t);
		assert_int_equal(grove__buf_addf(&t, "%s\n%s%s\n", HEAD, slot, TALL("a")), 0);
		put(*state, &p, file, grove__buf_slice(&t));
		assert_int_equal(load_as(&p, &d), 0);
		assert_false(p.im->has_slot);
		assert_int_equal(p.im->spine->nr, 2);
		assert_string_equal(grove__spine_id(p.im->spine, 0), "t");
		take_away(&p);
		/* two are one too many */
		grove__buf_clear(&t);
		assert_int_equal(grove__buf_addf(&t, "%s%s%s\n", slot, slot, HEAD), 0);
		put(*state, &p, file, grove__buf_slice(&t));
		assert_int_equal(load_as(&p, &d), GROVE_EDAMAGED);
		take_away(&p);
		/* one without a title, over two lines */
		grove__buf_clear(&t);
		assert_int_equal(grove__buf_addf(&t, "{\"title\":\"\"\n}\n%s\n%s\n", HEAD, E("a")), 0);
		put(*state, &p, file, grove__buf_slice(&t));
		assert_int_equal(load_as(&p, &d), 0);
		assert_true(p.im->has_slot);
		assert_null(p.im->slot_title);
		assert_int_equal(p.im->slot_len, 13);
		take_away(&p);
		grove__buf_release(&t);
	}
}

/* ------------------------------------------------------------------ by chance */

struct bytes {
	struct grove_slice all;
};

static int from_memory(void *payload, uint64_t pos, char *buf, size_t cap, size_t *got)
{
	const struct bytes *b = payload;
	size_t left = pos < b->all.len ? b->all.len - (size_t)pos : 0;

	*got = left < cap ? left : cap;
	if (*got)
		memcpy(buf, b->all.ptr + pos, *got);
	return 0;
}

/* What the lenient reader alone finds: the rows, or false if that is no session. */
static bool model(struct grove_slice all, struct grove_buf *rows)
{
	const struct grove__dialect *dialect = &grove__dialect_xcsh;
	struct bytes b = { all };
	struct grove__json_lenient *l = grove__json_lenient_new(NULL, from_memory, &b, 0);
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove__json_want want;
	struct grove__json_line line;
	struct grove__json_found f;
	struct grove__entry e;
	struct grove__arena tmp;
	bool header = false, good = true;

	grove__json_want_init(&want, dialect->read.members, dialect->read.nr_members);
	while (good && !grove__json_lenient_next(l, &f)) {
		enum grove__line_class class;

		grove__buf_clear(&value);
		assert_int_equal(grove__buf_add(&value, all.ptr + f.pos, (size_t)f.len), 0);
		assert_int_equal(grove__buf_reserve(&value, GROVE__JSON_PAD), 0);
		for (size_t i = 0; i < value.len && memchr(all.ptr + f.pos, '\n', (size_t)f.len); i++)
			if (value.ptr[i] == '\n' || value.ptr[i] == '\r')
				value.ptr[i] = ' ';
		assert_int_equal(grove__json_scan(&want, value.ptr, value.len, true, &line), JSON_VALUE);
		grove__arena_init(&tmp);
		class = dialect->read.index(&line, value.ptr, &tmp, &e);
		grove__arena_release(&tmp);
		if (class == LINE_SKIP)
			continue;
		if (class == LINE_HEADER) {
			header = true;
			continue;
		}
		good = header;
		assert_int_equal(grove__buf_addf(rows, "%s\n", value.ptr), 0);
	}
	grove__buf_release(&value);
	grove__json_lenient_free(l);
	return good && header;
}

/* A piece of a log, one of many kinds. */
static void add_piece(struct chance *c, struct grove_buf *t, int n)
{
	static const char *const odd[] = {
		"junk\n", "\n", " \t\r\n", "null\n", "12\n", "\"text\"\n", "[1,\n2]\n", "{\"c\":\n", "[\n",
		"{\"c\":\"torn\n", "}\n", "],\n", "{\"a\":1}{\"b\":\n", "x", "{\"c\":[1,", "\xff\xfe\n", ",", "-",
	};
	char id[32];

	snprintf(id, sizeof(id), "%d", n);
	switch (chance_below(c, 8)) {
	case 0:
	case 1:
		grove__buf_addf(t, "{\"type\":\"custom\",\"id\":\"%s\",\"parentId\":null}\n", id);
		break;
	case 2:
		grove__buf_addf(t, "{\n  \"type\": \"custom\",\r\n  \"id\": \"%s\",\n\n \"parentId\":\nnull\n}\n", id);
		break;
	case 3:
		grove__buf_addf(t, "{\"type\":\"custom\",\"id\":\"%s\"} {\"type\":\"custom\",\"id\":\"%s-2\"}\n", id, id);
		break;
	case 4:
		grove__buf_addf(t, "{\"type\":\"custom\",\n\"id\":\"%s\"} {\"type\":\"custom\",\n\"id\":\"%s-2\"} x\n", id, id);
		break;
	case 5:
		grove__buf_addf(t, "  {\"type\":\"session\",\n\"version\":3,\"id\":\"%s\"}\r\n", id);
		break;
	default:
		grove__buf_add_str(t, odd[chance_below(c, sizeof(odd) / sizeof(*odd))]);
	}
}

static void same_as_fresh(const struct grove__image *a, const struct grove__image *b)
{
	assert_int_equal(a->lines, b->lines);
	assert_int_equal(a->malformed, b->malformed);
	assert_int_equal(a->blank, b->blank);
	assert_int_equal(a->torn, b->torn);
	assert_int_equal(a->values, b->values);
	assert_int_equal(a->nr_headers, b->nr_headers);
	if (a->malformed)
		assert_int_equal(a->bad_line, b->bad_line);
}

/* The log is rewritten, every value changed: read again, they are all there. */
static void survives_a_rewrite(struct world *w, struct place *p, const char *rows)
{
	struct grove_session *s = session_on(w, p);
	uint32_t nr = s->image->spine->nr;
	size_t headers = s->image->nr_headers;
	struct grove_buf got;
	uint64_t changed;
	struct place q = { .im = NULL };
	int seen = 0;

	assert_int_equal(grove__session_rewrite(s, change, &seen, &changed, &p->d), 0);
	assert_int_equal(seen, nr + headers);
	assert_int_equal(s->image->spine->nr, nr);
	assert_int_equal(s->image->nr_headers, headers);
	q.im = s->image;
	q.log = s->log;
	got = rows_of(&q);
	/* there is no x in any of them */
	assert_string_equal(got.ptr ? got.ptr : "", rows);
	grove__buf_release(&got);
	s->at.store = NULL;
	grove__session_unref(s);
}

static bool objects_only(const char *rows)
{
	for (const char *p = rows; *p; p = strchr(p, '\n') + 1)
		if (*p != '{')
			return false;
	return true;
}

static void the_loader_finds_what_the_lenient_reader_finds(void **state)
{
	struct chance c = chance_begin("spans");
	int rounds = getenv("GROVE_TEST_LONG") ? 20000 : 1500;

	for (int i = 0; i < rounds; i++) {
		struct grove_buf t = GROVE_BUF_INIT, rows = GROVE_BUF_INIT, got;
		int pieces = (int)chance_below(&c, 12);
		bool file = chance_below(&c, 2), good;
		struct place p, part;
		size_t cut;
		int rc;

		if (chance_below(&c, 20))
			grove__buf_add_str(&t, chance_below(&c, 4)
						       ? HEAD "\n"
						       : "{\"type\":\"session\",\n\"version\":3,\"id\":\"s1\"} \n");
		for (int k = 0; k < pieces; k++)
			add_piece(&c, &t, k);
		if (t.len && !chance_below(&c, 3))
			grove__buf_cut(&t, chance_below(&c, (uint32_t)t.len));
		/* memory has no line without its end */
		if (!file && t.len && t.ptr[t.len - 1] != '\n')
			grove__buf_add_char(&t, '\n');
		good = model(grove__buf_slice(&t), &rows);
		put(*state, &p, file, grove__buf_slice(&t));
		rc = load(&p);
		assert_int_equal(rc, good ? 0 : GROVE_EDAMAGED);
		if (good) {
			got = rows_of(&p);
			if (strcmp(got.ptr ? got.ptr : "", rows.ptr ? rows.ptr : ""))
				fail_msg("of\n%s---\nwe have\n%s---\nnot\n%s", t.ptr, got.ptr, rows.ptr);
			grove__buf_release(&got);
			/* the same in two parts, the first one read before the second came */
			cut = chance_below(&c, (uint32_t)t.len + 1);
			while (!file && cut < t.len && cut && t.ptr[cut - 1] != '\n')
				cut++;
			put(*state, &part, file, grove__slice(t.ptr, cut));
			rc = load(&part);
			add_text(&part, grove__slice(t.ptr + cut, t.len - cut));
			if (rc)
				assert_int_equal(load(&part), 0);
			else
				reload(&part);
			got = rows_of(&part);
			assert_string_equal(got.ptr ? got.ptr : "", rows.ptr ? rows.ptr : "");
			same_as_fresh(part.im, p.im);
			grove__buf_release(&got);
			/* a rewrite closes the last line, which may decide what was open */
			if (objects_only(rows.ptr ? rows.ptr : "") &&
			    !(part.im->torn && t.ptr[t.len - 1] != '\n'))
				survives_a_rewrite(*state, &part, rows.ptr ? rows.ptr : "");
			take_away(&part);
		}
		take_away(&p);
		grove__buf_release(&t);
		grove__buf_release(&rows);
	}
}

/* Large enough for two threads, of which one may be far ahead when the other meets it. */
static void a_large_log_may_turn_odd_anywhere(void **state)
{
	struct chance c = chance_begin("large");

	for (int i = 0; i < 4; i++) {
		struct grove_buf t = GROVE_BUF_INIT, rows = GROVE_BUF_INIT, got;
		uint32_t nr = 30000, odd = chance_below(&c, nr);
		struct place p;

		grove__buf_add_str(&t, HEAD "\n");
		for (uint32_t k = 0; k < nr; k++) {
			grove__buf_addf(&t, "{\"type\":\"custom\",\"id\":\"%u\",\"parentId\":null,\"data\":\"%0*d\"}\n",
					k, (int)chance_below(&c, 300), 0);
			if (k == odd)
				grove__buf_add_str(&t, "junk\n" TALL("tall") " x\n");
		}
		assert_true(model(grove__buf_slice(&t), &rows));
		put(*state, &p, i % 2, grove__buf_slice(&t));
		assert_int_equal(load(&p), 0);
		assert_int_equal(p.im->spine->nr, nr + 1);
		assert_int_equal(p.im->malformed, 1);
		assert_int_equal(p.im->bad_line, odd + 2);
		assert_int_equal(p.im->lines, nr + 5);
		got = rows_of(&p);
		assert_true(!strcmp(got.ptr, rows.ptr));
		grove__buf_release(&got);
		grove__buf_release(&t);
		grove__buf_release(&rows);
		take_away(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_value_over_several_lines_is_one_entry_on_one_line),
		WORLD_TEST(what_follows_a_value_on_its_line_is_left_alone),
		WORLD_TEST(a_mistake_costs_one_line),
		WORLD_TEST(an_unfinished_end_brings_back_what_was_left_alone),
		WORLD_TEST(what_stands_for_nothing_is_passed_over),
		WORLD_TEST(a_strict_dialect_reads_lines),
		WORLD_TEST(the_header_may_span_lines_too),
		WORLD_TEST(what_does_not_begin_with_a_header_is_no_session),
		WORLD_TEST(a_mark_before_the_header_is_no_part_of_it),
		WORLD_TEST(a_value_longer_than_any_buffer_is_an_entry),
		WORLD_TEST(lines_are_counted_as_they_are_lost),
		WORLD_TEST(a_value_that_was_changed_under_us_is_stale),
		WORLD_TEST(a_log_that_grows_is_read_as_if_at_once),
		WORLD_TEST(clean_growth_behind_a_span_needs_no_new_image),
		WORLD_TEST(a_torn_end_that_is_finished_needs_no_new_image),
		WORLD_TEST(an_entry_behind_an_unfinished_value_is_for_the_reader_to_find),
		WORLD_TEST(an_open_value_swallows_the_next_line),
		WORLD_TEST(only_a_value_is_rewritten_not_its_lines),
		WORLD_TEST(two_values_on_a_line_are_rewritten_each),
		WORLD_TEST(an_old_version_is_migrated_as_it_was_shown),
		WORLD_TEST(a_list_sees_the_values_that_a_session_has),
		WORLD_TEST(check_tells_what_is_lost_not_what_is_odd),
		WORLD_TEST(a_slot_before_the_header_is_neither_header_nor_entry),
		WORLD_TEST(a_large_log_may_turn_odd_anywhere),
		WORLD_TEST(the_loader_finds_what_the_lenient_reader_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
