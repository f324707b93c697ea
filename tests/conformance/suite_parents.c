/*
 * tests/conformance/suite_parents.c: from an entry up to its root, without
 * reading the log.
 */
#include "suite_world.h"

struct path {
	struct {
		uint64_t pos;
		char id[300], parent[300], line[32];
		uint64_t len;
		int64_t time;
		uint8_t kind, role;
	} at[16];
	size_t nr, stop;         /* `stop`: after so many; 0: never */
	uint64_t all;            /* also those that there is no room for */
};

static void copy_text(char *out, size_t cap, struct grove_slice text)
{
	snprintf(out, cap, "%.*s", (int)text.len, text.len ? text.ptr : "");
}

static int take_entry(void *payload, uint64_t pos, const struct grove_store_record *rec)
{
	struct path *p = payload;

	p->all++;
	if (p->nr == ARRAY(p->at))
		return 0;
	p->at[p->nr].pos = pos;
	copy_text(p->at[p->nr].id, sizeof(p->at[0].id), rec->id);
	copy_text(p->at[p->nr].parent, sizeof(p->at[0].parent), rec->parent);
	copy_text(p->at[p->nr].line, sizeof(p->at[0].line), rec->line);
	p->at[p->nr].len = rec->line.len;
	p->at[p->nr].time = rec->time;
	p->at[p->nr].kind = rec->kind;
	p->at[p->nr].role = rec->role;
	return ++p->nr == p->stop ? 1 : 0;
}

/* No parents to be found here: said, and that is all that there is to test. */
static bool finds_parents(struct fixture *f, struct grove_store_log *log)
{
	struct path p = { .nr = 0 };

	if (f->kind->feed)
		return true;
	FAILS(GROVE_ENOTSUP, grove__log_ancestors(log, str("a"), take_entry, &p, &f->d));
	FAILS(GROVE_ENOTSUP, grove__log_ancestors(log, str(""), take_entry, &p, &f->d));
	assert_int_equal(p.all, 0);
	grove__log_close(log);
	return false;
}

static void put(struct fixture *f, struct grove_store_log *log, const char *line, const char *id,
		const char *parent)
{
	struct grove_store_record rec = entry_of(line, id, parent);
	struct grove_store_appended out;

	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
}

/* The lines on the way up from `id`, with spaces between them. */
static void assert_path(struct fixture *f, struct grove_store_log *log, const char *id,
			const char *want)
{
	struct path p = { .nr = 0 };
	char got[512] = "";
	size_t len = 0;

	OK(grove__log_ancestors(log, str(id), take_entry, &p, &f->d));
	for (size_t i = 0; i < p.nr; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s", i ? " " : "",
					p.at[i].line);
	assert_int_equal(p.all, p.nr);
	assert_string_equal(got, want);
}

static void no_path(struct fixture *f, struct grove_store_log *log, const char *id, int code)
{
	struct path p = { .nr = 0 };

	FAILS(code, grove__log_ancestors(log, str(id), take_entry, &p, &f->d));
}

static struct grove_store_log *new_log(struct fixture *f)
{
	return open_log(f, key_of("p", "a.jsonl"), GROVE_STORE_CREATE);
}

static void an_entry_leads_to_its_root(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f), *reader;
	struct path p = { .nr = 0 };

	if (!finds_parents(f, log))
		return;
	put(f, log, "header", "", "");
	put(f, log, "A", "a", "");
	put(f, log, "B", "b", "a");
	put(f, log, "C", "c", "b");
	put(f, log, "D", "d", "a");
	put(f, log, "E", "e", "d");
	assert_path(f, log, "c", "C B A");
	assert_path(f, log, "a", "A");
	assert_path(f, log, "e", "E D A");
	/* the last line */
	assert_path(f, log, "", "E D A");
	put(f, log, "no node", "", "");
	assert_path(f, log, "", "no node");
	reader = open_log(f, key_of("p", "a.jsonl"), GROVE_STORE_READ);
	assert_path(f, reader, "c", "C B A");
	grove__log_close(reader);
	/* all that came with the record */
	OK(grove__log_ancestors(log, str("c"), take_entry, &p, &f->d));
	assert_int_equal(p.nr, 3);
	assert_int_equal(p.at[0].pos, 3);
	assert_int_equal(p.at[1].pos, 2);
	assert_int_equal(p.at[2].pos, 1);
	assert_string_equal(p.at[1].id, "b");
	assert_string_equal(p.at[1].parent, "a");
	assert_string_equal(p.at[2].parent, "");
	assert_int_equal(p.at[1].time, 1700000000000);
	assert_int_equal(p.at[1].kind, GROVE_KIND_MESSAGE);
	assert_int_equal(p.at[1].role, GROVE_ROLE_USER);
	/* who has seen enough */
	memset(&p, 0, sizeof(p));
	p.stop = 2;
	assert_int_equal(grove__log_ancestors(log, str("c"), take_entry, &p, &f->d), 1);
	assert_int_equal(p.nr, 2);
	grove__log_close(log);
}

static void a_time_that_is_none_stays_none(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	struct grove_store_record rec = entry_of("A", "a", "");
	struct grove_store_appended out;
	struct path p = { .nr = 0 };

	if (!finds_parents(f, log))
		return;
	rec.time = GROVE_NO_TIME;
	rec.kind = GROVE_KIND_OTHER;
	rec.role = 0;
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	OK(grove__log_ancestors(log, str("a"), take_entry, &p, &f->d));
	assert_int_equal(p.nr, 1);
	assert_true(p.at[0].time == GROVE_NO_TIME);
	assert_int_equal(p.at[0].kind, GROVE_KIND_OTHER);
	assert_int_equal(p.at[0].role, 0);
	grove__log_close(log);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);

	if (!finds_parents(f, log))
		return;
	no_path(f, log, "", GROVE_ENOTFOUND);
	no_path(f, log, "a", GROVE_ENOTFOUND);
	put(f, log, "B", "b", "a");
	no_path(f, log, "a", GROVE_ENOTFOUND);
	no_path(f, log, "B", GROVE_ENOTFOUND);
	/* a parent that is missing ends the way */
	assert_path(f, log, "b", "B");
	put(f, log, "C", "c", "b");
	assert_path(f, log, "", "C B");
	/* one that comes later is as good */
	put(f, log, "A", "a", "");
	assert_path(f, log, "c", "C B A");
	OK(grove__log_cut(log, 1, 3, GROVE_SYNC_NONE, &f->d));
	no_path(f, log, "c", GROVE_ENOTFOUND);
	assert_path(f, log, "b", "B");
	grove__log_close(log);
}

static void a_circle_ends_where_it_closes(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);

	if (!finds_parents(f, log))
		return;
	put(f, log, "S", "s", "s");
	assert_path(f, log, "s", "S");
	put(f, log, "A", "a", "c");
	put(f, log, "B", "b", "a");
	put(f, log, "C", "c", "b");
	put(f, log, "T", "t", "b");
	assert_path(f, log, "a", "A C B");
	assert_path(f, log, "c", "C B A");
	/* a way into the circle from outside */
	assert_path(f, log, "t", "T B A C");
	grove__log_close(log);
}

static void of_two_with_the_same_id_the_later_counts(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);

	if (!finds_parents(f, log))
		return;
	put(f, log, "A1", "a", "");
	put(f, log, "B", "b", "a");
	put(f, log, "C", "c", "b");
	put(f, log, "A2", "a", "");
	assert_path(f, log, "c", "C B A2");
	assert_path(f, log, "a", "A2");
	put(f, log, "B2", "b", "");
	assert_path(f, log, "c", "C B2");
	/* and a circle that only the later one closes */
	put(f, log, "A3", "a", "c");
	put(f, log, "B3", "b", "a");
	assert_path(f, log, "c", "C B3 A3");
	grove__log_close(log);
}

static void a_line_that_nobody_looked_at_is_told(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("unknown"));

	if (!finds_parents(f, log))
		return;
	no_path(f, log, "", GROVE_ENOTSUP);
	put(f, log, "A", "a", "");
	put(f, log, "B", "b", "a");
	assert_path(f, log, "", "B A");
	grove__log_close(log);
}

static void ids_are_compared_byte_by_byte(void **state)
{
	static const char *const id[] = {
		"a", "A", "a'", "o'x\"`;--", "%", "_", "\\", "NULL", "0", "00", "a b", "a  b", "?",
	};
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	char line[16];

	if (!finds_parents(f, log))
		return;
	for (size_t i = 0; i < ARRAY(id); i++) {
		snprintf(line, sizeof(line), "L%zu", i);
		put(f, log, line, id[i], "");
	}
	for (size_t i = 0; i < ARRAY(id); i++) {
		snprintf(line, sizeof(line), "L%zu", i);
		assert_path(f, log, id[i], line);
		put(f, log, "child", "child", id[i]);
		snprintf(line, sizeof(line), "child L%zu", i);
		assert_path(f, log, "", line);
	}
	grove__log_close(log);
}

/* Ids that not every store can look for: found, or said so, never another's or none. */
static void ids_that_are_hard_to_keep_mislead_nobody(void **state)
{
	static char many[301];
	const char *const id[] = { "\xc3\xa9", "a ", " ", "a\t", "\xff", "\x01", many };
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	char line[16];

	memset(many, 'm', sizeof(many) - 1);
	if (!finds_parents(f, log))
		return;
	put(f, log, "A", "a", "");
	for (size_t i = 0; i < ARRAY(id); i++) {
		snprintf(line, sizeof(line), "L%zu", i);
		put(f, log, line, id[i], "a");
	}
	for (size_t i = 0; i < ARRAY(id); i++) {
		struct path p = { .nr = 0 };
		int rc = grove__log_ancestors(log, str(id[i]), take_entry, &p, &f->d);

		snprintf(line, sizeof(line), "L%zu", i);
		assert_true(rc == GROVE_ENOTSUP || (!rc && p.nr == 2 && !strcmp(p.at[0].line, line)));
		put(f, log, "child", "child", id[i]);
		memset(&p, 0, sizeof(p));
		rc = grove__log_ancestors(log, str("child"), take_entry, &p, &f->d);
		assert_true(rc == GROVE_ENOTSUP || (!rc && p.nr == 3 && !strcmp(p.at[1].line, line)));
	}
	assert_path(f, log, "a", "A");
	grove__log_close(log);
}

static void long_lines_are_on_the_way_too(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	struct grove_store_record rec = entry_of("", "b", "a");
	struct grove_store_appended out;
	struct path p = { .nr = 0 };
	struct hard h;

	if (!finds_parents(f, log))
		return;
	hard_make(&h);
	rec.line = h.line[HARD_HUGE];
	put(f, log, "A", "a", "");
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	put(f, log, "", "c", "b");
	OK(grove__log_ancestors(log, str(""), take_entry, &p, &f->d));
	assert_int_equal(p.nr, 3);
	assert_int_equal(p.at[0].len, 0);
	assert_int_equal(p.at[1].len, rec.line.len);
	assert_memory_equal(p.at[1].line, rec.line.ptr, sizeof(p.at[1].line) - 1);
	assert_string_equal(p.at[2].line, "A");
	free(h.huge);
	grove__log_close(log);
}

static void a_long_way_is_no_trouble(void **state)
{
	enum { NR = 3000 };
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	struct grove_store_record *rec;
	struct grove_store_appended out;
	struct path p = { .nr = 0 };
	char (*id)[16];

	if (!finds_parents(f, log))
		return;
	rec = calloc(NR, sizeof(*rec));
	id = calloc(NR, sizeof(*id));
	assert_true(rec && id);
	for (int i = 0; i < NR; i++) {
		snprintf(id[i], sizeof(id[i]), "id-%d", i);
		rec[i] = entry_of(id[i], id[i], i ? id[i - 1] : "");
	}
	OK(grove__log_append(log, rec, NR, 0, GROVE_SYNC_NONE, &out, &f->d));
	OK(grove__log_ancestors(log, str(""), take_entry, &p, &f->d));
	assert_int_equal(p.all, NR);
	assert_string_equal(p.at[1].line, "id-2998");
	free(rec);
	free(id);
	grove__log_close(log);
}

static void what_is_written_anew_is_found_as_it_is_now(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = new_log(f);
	struct grove_store_record rec[3] = { entry_of("X", "x", ""), entry_of("Y", "y", "x"),
					     entry_of("Z", "z", "y") };
	struct grove_store_record other = entry_of("Y2", "y2", "");
	struct rewriting r = { rec, 3, 0 };

	if (!finds_parents(f, log))
		return;
	put(f, log, "A", "a", "");
	put(f, log, "B", "b", "a");
	OK(grove__log_rewrite(log, next_rewritten, &r, 2, 0, &f->d));
	assert_path(f, log, "z", "Z Y X");
	no_path(f, log, "b", GROVE_ENOTFOUND);
	OK(grove__log_update(log, 1, str("Y"), &other, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d));
	assert_path(f, log, "z", "Z");
	assert_path(f, log, "y2", "Y2");
	no_path(f, log, "y", GROVE_ENOTFOUND);
	other = entry_of("Z2", "z", "y2");
	OK(grove__log_update(log, 2, str("Z"), &other, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d));
	assert_path(f, log, "", "Z2 Y2");
	grove__log_close(log);
}

const struct CMUnitTest parent_cases[] = {
	CASE(an_entry_leads_to_its_root),
	CASE(a_time_that_is_none_stays_none),
	CASE(what_is_not_there_is_not_found),
	CASE(a_circle_ends_where_it_closes),
	CASE(of_two_with_the_same_id_the_later_counts),
	CASE(a_line_that_nobody_looked_at_is_told),
	CASE(ids_are_compared_byte_by_byte),
	CASE(ids_that_are_hard_to_keep_mislead_nobody),
	CASE(long_lines_are_on_the_way_too),
	CASE(a_long_way_is_no_trouble),
	CASE(what_is_written_anew_is_found_as_it_is_now),
};
const size_t nr_parent_cases = ARRAY(parent_cases);
