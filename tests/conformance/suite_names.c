/*
 * tests/conformance/suite_names.c: logs by name, and what is kept with them:
 * list, remove, rename, attachments, values.
 */
#include "suite_world.h"

/* ----------------------------------------------------------------- list */

struct names {
	char name[64][128];
	size_t nr;
	size_t stop_at;           /* return 42 after so many; 0: never */
	struct fixture *f;
	bool removing, renaming;
};

static int note_key(void *payload, const struct grove_key *key)
{
	struct names *n = payload;
	struct fixture *f = n->f;

	assert_in_range(n->nr, 0, ARRAY(n->name) - 1);
	snprintf(n->name[n->nr++], sizeof(n->name[0]), "%s|%s|%s", key->project, key->session,
		 key->subpath);
	if (n->removing)
		OK(grove__store_remove(f->st, key, &f->d));
	if (n->renaming && !strstr(key->session, "moved-")) {
		char moved[64];
		struct grove_key to = { key->project, moved, "" };

		snprintf(moved, sizeof(moved), "moved-%.40s", key->session);
		OK(grove__store_rename(f->st, key, &to, &f->d));
	}
	return n->stop_at && n->nr == n->stop_at ? 42 : 0;
}

static int note_name(void *payload, const char *name, uint64_t size)
{
	struct names *n = payload;

	assert_in_range(n->nr, 0, ARRAY(n->name) - 1);
	snprintf(n->name[n->nr++], sizeof(n->name[0]), "%s=%llu", name, (unsigned long long)size);
	return n->stop_at && n->nr == n->stop_at ? 42 : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void assert_names(struct names *n, const char *const *want, size_t nr)
{
	qsort(n->name, n->nr, sizeof(n->name[0]), by_text);
	for (size_t i = 0; i < nr && i < n->nr; i++)
		assert_string_equal(n->name[i], want[i]);
	assert_int_equal(n->nr, nr);
	n->nr = 0;
}

static void make_some(struct fixture *f)
{
	static const struct grove_key key[] = {
		{ "p", "a.jsonl", "" }, { "p", "b.jsonl", "" }, { "q", "a.jsonl", "" },
		{ "", "flat.jsonl", "" }, { "p", "a.jsonl", "subagents/x.jsonl" },
	};

	for (size_t i = 0; i < ARRAY(key); i++)
		grove__log_close(make_log(f, key[i], LINES("x")));
}

static void a_list_names_every_log_once(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f };

	/* nothing was ever stored: the list is empty, which is no error */
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	OK(grove__store_list(f->st, "p", note_key, &n, &f->d));
	OK(grove__store_list(f->st, "", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
	make_some(f);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|", "q|a.jsonl|", "|flat.jsonl|"));
	OK(grove__store_list(f->st, "p", note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|"));
	OK(grove__store_list(f->st, "q", note_key, &n, &f->d));
	assert_names(&n, LINES("q|a.jsonl|"));
	OK(grove__store_list(f->st, "", note_key, &n, &f->d));
	assert_names(&n, LINES("|flat.jsonl|"));
	OK(grove__store_list(f->st, "none", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
}

static void logs_that_belong_to_sessions_are_listed_apart(void **state)
{
	static const struct grove_key key[] = {
		{ "p", "a.jsonl", "y.jsonl" }, { "p", "a.jsonl", "y/z.jsonl" },
		{ "q", "gone.jsonl", "x.jsonl" },
	};
	struct fixture *f = *state;
	struct names n = { .f = f };

	OK(grove__store_list_subs(f->st, NULL, note_key, &n, &f->d));
	OK(grove__store_list_subs(f->st, "p", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
	make_some(f);
	for (size_t i = 0; i < ARRAY(key); i++)
		grove__log_close(make_log(f, key[i], LINES("x")));
	OK(grove__store_list_subs(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|subagents/x.jsonl", "p|a.jsonl|y.jsonl",
			       "p|a.jsonl|y/z.jsonl", "q|gone.jsonl|x.jsonl"));
	OK(grove__store_list_subs(f->st, "p", note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|subagents/x.jsonl", "p|a.jsonl|y.jsonl",
			       "p|a.jsonl|y/z.jsonl"));
	OK(grove__store_list_subs(f->st, "none", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
	n.stop_at = 2;
	assert_int_equal(grove__store_list_subs(f->st, NULL, note_key, &n, &f->d), 42);
	assert_int_equal(n.nr, 2);
}

static void a_list_ends_when_it_is_told_to(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .stop_at = 2 };

	make_some(f);
	assert_int_equal(grove__store_list(f->st, NULL, note_key, &n, &f->d), 42);
	assert_int_equal(n.nr, 2);
	n.nr = 0;
	assert_int_equal(grove__store_list(f->st, "p", note_key, &n, &f->d), 42);
	assert_int_equal(n.nr, 2);
}

/* Checks that a survey reports the same as the log itself, also after an append. */
static int note_surveyed(void *payload, const struct grove_key *key,
			 const struct grove_store_log_stat *st)
{
	struct names *n = payload;
	struct fixture *f = n->f;
	struct grove_store_log_stat now;
	struct grove_store_log *log;

	OK(grove__log_open(&log, f->st, key, GROVE_STORE_WRITE, &f->d));
	OK(grove__log_stat(log, &now, &f->d));
	assert_int_equal(st->tail, now.tail);
	assert_int_equal(st->generation, now.generation);
	assert_int_equal(st->base, now.base);
	assert_int_equal(st->mtime_ms, now.mtime_ms);
	assert_int_equal(st->mtime_ns, now.mtime_ns);
	grove__log_close(log);
	return note_key(payload, key);
}

static void a_survey_says_how_far_every_log_reaches(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f };

	OK(grove__store_survey(f->st, note_surveyed, &n, &f->d));
	assert_int_equal(n.nr, 0);
	make_some(f);
	for (size_t nr = 1; nr < 4; nr++) {
		struct grove_key key = { "p", "c.jsonl", "" };

		key.session = nr == 1 ? "c.jsonl" : nr == 2 ? "d.jsonl" : "e.jsonl";
		grove__log_close(make_log(f, key, (const char *const[]){ "x", "y", "z" }, nr));
	}
	OK(grove__store_survey(f->st, note_surveyed, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|a.jsonl|subagents/x.jsonl", "p|b.jsonl|", "p|c.jsonl|",
			       "p|d.jsonl|", "p|e.jsonl|", "q|a.jsonl|", "|flat.jsonl|"));
	n.stop_at = 2;
	assert_int_equal(grove__store_survey(f->st, note_surveyed, &n, &f->d), 42);
}

static void what_is_listed_may_be_removed_on_the_spot(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .removing = true };

	make_some(f);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	n.removing = false;
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|", "q|a.jsonl|", "|flat.jsonl|"));
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
}

static void what_is_listed_may_be_renamed_on_the_spot(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .renaming = true };

	make_some(f);
	/* whether the new names are found on the way is not defined */
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	n = (struct names){ .f = f };
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|moved-a.jsonl|", "p|moved-b.jsonl|", "q|moved-a.jsonl|",
			       "|moved-flat.jsonl|"));
}

/* ---------------------------------------------------------- remove, rename */

static void removing_twice_is_harmless(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_store_log *log = make_log(f, other, LINES("stays"));
	struct grove_buf got = GROVE_BUF_INIT;

	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &key, &f->d));
	grove__log_close(make_log(f, key, LINES("x")));
	OK(grove__store_attach_put(f->st, &key, "sub/note.txt", str("bytes"), &f->d));
	OK(grove__store_attach_put(f->st, &other, "sub/note.txt", str("stays too"), &f->d));
	OK(grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "sub/note.txt", &got, &f->d));
	assert_log(f, log, LINES("stays"));
	OK(grove__store_attach_get(f->st, &other, "sub/note.txt", &got, &f->d));
	assert_string_equal(got.ptr, "stays too");
	grove__buf_release(&got);
	grove__log_close(log);
	/* the name is free again, and nothing of the old log comes back */
	log = make_log(f, key, LINES("new"));
	assert_log(f, log, LINES("new"));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "sub/note.txt", &got, &f->d));
	grove__log_close(log);
	grove__buf_release(&got);
}

static void a_removed_log_is_not_revived_by_its_handle(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one")), *none;
	struct grove_store_log_stat st;
	struct grove_store_appended out;

	OK(grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_stat(log, &st, &f->d));
	FAILS(GROVE_ESTALE, add(f, log, str("two"), GROVE_ANY_POS, &out));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&none, f->st, &key, GROVE_STORE_READ, &f->d));
	grove__log_close(log);
	FAILS(GROVE_ENOTFOUND, grove__log_open(&none, f->st, &key, GROVE_STORE_READ, &f->d));
}

static void removing_a_session_takes_its_logs_along(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_key sub = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key foreign = { "p", "b.jsonl", "subagents/x.jsonl" };
	struct grove_store_log *log;

	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, sub, LINES("of a")));
	grove__log_close(make_log(f, foreign, LINES("of b")));
	OK(grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &sub, GROVE_STORE_READ, &f->d));
	log = open_log(f, foreign, GROVE_STORE_READ);
	assert_log(f, log, LINES("of b"));
	grove__log_close(log);
}

static void removing_a_log_of_a_session_leaves_the_rest(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_key x = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key y = { "p", "a.jsonl", "subagents/y.jsonl" };
	struct grove_key z = { "p", "a.jsonl", "subagents/z.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_store_log *log;

	grove__log_close(make_log(f, key, LINES("session")));
	grove__log_close(make_log(f, x, LINES("x")));
	grove__log_close(make_log(f, y, LINES("y")));
	OK(grove__store_attach_put(f->st, &key, "meta.json", str("{}"), &f->d));
	OK(grove__store_remove(f->st, &x, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &x, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &x, GROVE_STORE_READ, &f->d));
	/* the same for another name */
	OK(grove__store_rename(f->st, &y, &z, &f->d));
	log = open_log(f, z, GROVE_STORE_READ);
	assert_log(f, log, LINES("y"));
	grove__log_close(log);
	log = open_log(f, key, GROVE_STORE_READ);
	assert_log(f, log, LINES("session"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &key, "meta.json", &got, &f->d));
	assert_string_equal(got.ptr, "{}");
	grove__buf_release(&got);
}

static void a_log_moves_to_a_free_name_with_all_it_has(void **state)
{
	struct fixture *f = *state;
	struct grove_key from = key_of("p", "a.jsonl"), to = key_of("new-project", "b.jsonl");
	struct grove_key sub = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key moved = { "new-project", "b.jsonl", "subagents/x.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_store_log *log = make_log(f, from, LINES("one", "two"));

	if (f->kind->meta)
		OK(grove__log_meta_put(log, "leaf", str("abc"), &f->d));
	grove__log_close(log);
	grove__log_close(make_log(f, sub, LINES("sub")));
	OK(grove__store_attach_put(f->st, &from, "tool-results/1.txt", str("result"), &f->d));
	OK(grove__store_rename(f->st, &from, &to, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &from, GROVE_STORE_READ, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &sub, GROVE_STORE_READ, &f->d));
	log = open_log(f, to, GROVE_STORE_READ);
	assert_log(f, log, LINES("one", "two"));
	if (f->kind->meta) {
		OK(grove__log_meta_get(log, "leaf", &got, &f->d));
		assert_string_equal(got.ptr, "abc");
		grove__buf_clear(&got);
	}
	grove__log_close(log);
	log = open_log(f, moved, GROVE_STORE_READ);
	assert_log(f, log, LINES("sub"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &to, "tool-results/1.txt", &got, &f->d));
	assert_string_equal(got.ptr, "result");
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("new-project|b.jsonl|"));
	/* and back again, also within one project */
	OK(grove__store_rename(f->st, &to, &from, &f->d));
	to = key_of("p", "c.jsonl");
	OK(grove__store_rename(f->st, &from, &to, &f->d));
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|c.jsonl|"));
	grove__buf_release(&got);
}

static void a_name_that_is_taken_is_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct grove_key a = key_of("p", "a.jsonl"), b = key_of("p", "b.jsonl");
	struct grove_key c = key_of("p", "c.jsonl"), none = key_of("p", "none.jsonl");
	struct grove_key of_c = { "p", "c.jsonl", "subagents/x.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_store_log *log;

	grove__log_close(make_log(f, a, LINES("a")));
	grove__log_close(make_log(f, b, LINES("b")));
	OK(grove__store_attach_put(f->st, &a, "x", str("of a"), &f->d));
	OK(grove__store_attach_put(f->st, &b, "x", str("of b"), &f->d));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &b, &f->d));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &a, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_rename(f->st, &none, &c, &f->d));
	/* there is no log of that name, but one that would belong to it */
	grove__log_close(make_log(f, of_c, LINES("of c")));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &c, &f->d));
	log = open_log(f, a, GROVE_STORE_READ);
	assert_log(f, log, LINES("a"));
	grove__log_close(log);
	log = open_log(f, b, GROVE_STORE_READ);
	assert_log(f, log, LINES("b"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &a, "x", &got, &f->d));
	OK(grove__store_attach_get(f->st, &b, "x", &got, &f->d));
	assert_string_equal(got.ptr, "of aof b");
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|"));
	grove__buf_release(&got);
}

/* ------------------------------------------------------------ attachments */

static void attachments_come_back_as_they_were(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct hard h;

	hard_make(&h);
	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, other, LINES("y")));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "a.txt", &got, &f->d));
	OK(grove__store_attach_put(f->st, &key, "a.txt", str("line 1\nline 2\n"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "deep/er/every", grove__slice(h.every, 255), &f->d));
	OK(grove__store_attach_put(f->st, &key, "empty", grove__slice(NULL, 0), &f->d));
	OK(grove__store_attach_put(f->st, &key, "huge", h.line[HARD_HUGE], &f->d));
	/* get appends to the buffer */
	OK(grove__buf_add_str(&got, "before "));
	OK(grove__store_attach_get(f->st, &key, "a.txt", &got, &f->d));
	assert_string_equal(got.ptr, "before line 1\nline 2\n");
	grove__buf_clear(&got);
	OK(grove__store_attach_get(f->st, &key, "deep/er/every", &got, &f->d));
	assert_int_equal(got.len, 255);
	assert_memory_equal(got.ptr, h.every, 255);
	grove__buf_clear(&got);
	OK(grove__store_attach_get(f->st, &key, "empty", &got, &f->d));
	assert_int_equal(got.len, 0);
	OK(grove__store_attach_get(f->st, &key, "huge", &got, &f->d));
	assert_int_equal(got.len, h.line[HARD_HUGE].len);
	assert_memory_equal(got.ptr, h.line[HARD_HUGE].ptr, got.len);
	/* another session has attachments of its own */
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &other, "a.txt", &got, &f->d));
	grove__buf_release(&got);
	free(h.huge);
}

static void an_attachment_is_replaced_as_a_whole(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	OK(grove__store_attach_put(f->st, &key, "t", str("a long first version"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "t", str("short"), &f->d));
	OK(grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	assert_string_equal(got.ptr, "short");
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_names(&n, LINES("t=5"));
	grove__buf_release(&got);
}

static void attachments_are_listed_by_their_whole_names(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, other, LINES("y")));
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_int_equal(n.nr, 0);
	OK(grove__store_attach_put(f->st, &key, "z.txt", str("12345"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/b/c.txt", str(""), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/b/d.txt", str("1"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/e", str("12"), &f->d));
	OK(grove__store_attach_put(f->st, &key, ".hidden.tmp", str("123"), &f->d));
	OK(grove__store_attach_put(f->st, &other, "w", str("1"), &f->d));
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_names(&n, LINES(".hidden.tmp=3", "a/b/c.txt=0", "a/b/d.txt=1", "a/e=2", "z.txt=5"));
	n.stop_at = 3;
	assert_int_equal(grove__store_attach_list(f->st, &key, note_name, &n, &f->d), 42);
	assert_int_equal(n.nr, 3);
}

static void without_a_session_nothing_can_be_attached(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	FAILS(GROVE_ENOTFOUND, grove__store_attach_put(f->st, &key, "t", str("x"), &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	grove__log_close(make_log(f, key, LINES("x")));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	grove__buf_release(&got);
}

static void a_name_that_would_leave_the_session_is_refused(void **state)
{
	static const char *const bad[] = { "", "/", "/x", "../x", "a/../../x", "a//b", "a/", ".",
					   "..", "./x", "a/./b", "a/.." };
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	for (size_t i = 0; i < ARRAY(bad); i++) {
		FAILS(GROVE_EINVAL, grove__store_attach_put(f->st, &key, bad[i], str("x"), &f->d));
		FAILS(GROVE_EINVAL, grove__store_attach_get(f->st, &key, bad[i], &got, &f->d));
	}
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_int_equal(n.nr, 0);
	assert_int_equal(got.len, 0);
	grove__buf_release(&got);
}

/* ------------------------------------------------------------------- meta */

static void values_are_kept_with_a_log_or_the_store_says_no(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("x")),
			       *second = make_log(f, other, LINES("y"));
	struct grove_buf got = GROVE_BUF_INIT;
	struct hard h;

	FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "leaf", &got, &f->d));
	if (!f->kind->meta) {
		FAILS(GROVE_ENOTSUP, grove__log_meta_put(log, "leaf", str("abc"), &f->d));
		FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "leaf", &got, &f->d));
		grove__log_close(log);
		grove__log_close(second);
		return;
	}
	hard_make(&h);
	OK(grove__log_meta_put(log, "leaf", str("abc"), &f->d));
	OK(grove__log_meta_put(log, "name", grove__slice(h.every, 255), &f->d));
	OK(grove__log_meta_put(log, "empty", grove__slice(NULL, 0), &f->d));
	OK(grove__log_meta_put(second, "leaf", str("another"), &f->d));
	OK(grove__log_meta_put(log, "leaf", str("abcd"), &f->d));
	grove__log_close(log);
	log = open_log(f, key, GROVE_STORE_READ);
	OK(grove__log_meta_get(log, "leaf", &got, &f->d));
	assert_string_equal(got.ptr, "abcd");
	OK(grove__log_meta_get(log, "empty", &got, &f->d));
	assert_int_equal(got.len, 4);
	grove__buf_clear(&got);
	OK(grove__log_meta_get(log, "name", &got, &f->d));
	assert_int_equal(got.len, 255);
	assert_memory_equal(got.ptr, h.every, 255);
	FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "lea", &got, &f->d));
	/* values are not lines */
	assert_log(f, log, LINES("x"));
	grove__log_close(log);
	grove__log_close(second);
	grove__buf_release(&got);
	free(h.huge);
}

/* --------------------------------------------------------------- the rest */

static void the_trace_tells_of_every_call(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_store_log *log;
	unsigned before = f->traced;

	log = make_log(f, key, LINES("x", "y"));
	tail_of(f, log);
	assert_log(f, log, LINES("x", "y"));
	grove__log_meta_get(log, "leaf", &got, NULL);
	grove__log_close(log);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	/* open, 2 append, stat, stat, read, meta_get, close, list */
	assert_int_equal(f->traced - before, f->kind->traced ? 9 : 0);
	OK(grove__store_describe(f->st, &key, &got));
	grove__buf_release(&got);
}

const struct CMUnitTest name_cases[] = {
	CASE(a_list_names_every_log_once),
	CASE(logs_that_belong_to_sessions_are_listed_apart),
	CASE(a_list_ends_when_it_is_told_to),
	CASE(a_survey_says_how_far_every_log_reaches),
	CASE(what_is_listed_may_be_removed_on_the_spot),
	CASE(what_is_listed_may_be_renamed_on_the_spot),
	CASE(removing_twice_is_harmless),
	CASE(a_removed_log_is_not_revived_by_its_handle),
	CASE(removing_a_session_takes_its_logs_along),
	CASE(removing_a_log_of_a_session_leaves_the_rest),
	CASE(a_log_moves_to_a_free_name_with_all_it_has),
	CASE(a_name_that_is_taken_is_not_overwritten),
	CASE(attachments_come_back_as_they_were),
	CASE(an_attachment_is_replaced_as_a_whole),
	CASE(attachments_are_listed_by_their_whole_names),
	CASE(without_a_session_nothing_can_be_attached),
	CASE(a_name_that_would_leave_the_session_is_refused),
	CASE(values_are_kept_with_a_log_or_the_store_says_no),
	CASE(the_trace_tells_of_every_call),
};
const size_t nr_name_cases = ARRAY(name_cases);
