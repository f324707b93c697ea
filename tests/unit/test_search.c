/*
 * tests/unit/test_search.c: a search with the index finds the same as a search
 * without it, whatever happens to the sessions and to the index, and whatever
 * other processes do at the same time.
 */
#include "search_world.h"
#include "image/sent.h"
#include "search/search_sums.h"
#include "view/view.h"

#include <strings.h>
#include <sys/wait.h>
#include <time.h>

static void the_index_finds_what_looking_through_finds(void **state)
{
	struct place *p = *state;

	p->c = chance_begin("index");
	for (int i = 0; i < 120; i++) {
		for (uint32_t n = 1 + chance_below(&p->c, 3); n; n--)
			happen(p);
		assert_all_same(p, 3);
		assert_count(p, i & 1 ? "beta" : "delta");
	}
}

/* Finds the database with the highest number. */
static void find_db(struct place *p)
{
	struct dirent *e;
	DIR *d = opendir(p->cache);
	unsigned n, most = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (sscanf(e->d_name, "search.%u.db", &n) == 1 && n > most)
			most = n;
	closedir(d);
	if (most)
		snprintf(p->db, sizeof(p->db), "%s/search.%u.db", p->cache, most);
}

static void damage(struct place *p)
{
	struct grove_buf b;
	uint32_t what = chance_below(&p->c, 8);

	find_db(p);
	b = file_bytes(p->db);
	assert_true(b.len > 0);
	if (what == 0)
		b.len = chance_below(&p->c, (uint32_t)b.len);
	else if (what == 1)
		memset(b.ptr, 'x', b.len < 4096 ? b.len : 4096);
	else
		for (uint32_t n = 1 + chance_below(&p->c, 20); n; n--)
			b.ptr[chance_below(&p->c, (uint32_t)b.len)] ^= (char)(1 << chance_below(&p->c, 8));
	file_put(p->db, O_TRUNC, b.ptr, b.len);
	grove__buf_release(&b);
}

static void a_damaged_index_is_made_anew(void **state)
{
	struct place *p = *state;

	p->c = chance_begin("damage");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	assert_all_same(p, 1);
	for (int i = 0; i < 100; i++) {
		damage(p);
		if (chance_below(&p->c, 2))
			happen(p);
		assert_all_same(p, 2);
		assert_count(p, "beta");
	}
}

/* The sessions of p in another store, where each one has the name of the next. */
static struct place elsewhere(const struct place *p, int nr)
{
	struct place q = *p;
	char path[700];

	snprintf(q.store, sizeof(q.store), "%s/%d", p->dir, nr);
	assert_int_equal(mkdir(q.store, 0700), 0);
	for (int i = 0; i < SESSIONS && nr % 2; i++) {
		struct grove_buf b = file_bytes(p->s[i].path);

		snprintf(path, sizeof(path), "%s/s%d.jsonl", q.store, (i + nr) % SESSIONS);
		file_put(path, O_TRUNC | O_CREAT, b.ptr, b.len);
		grove__buf_release(&b);
	}
	return q;
}

/*
 * Between two searches somebody empties or removes the file, and another process creates it again.
 */
static void an_index_of_others_in_its_place_is_not_mistaken_for_it(void **state)
{
	static const char *const words[] = { "beta", "delta", "the", "retry", "running", "beta" };
	struct place *p = *state, q;
	struct stat made, kept;
	struct grove_buf got, want, other;
	struct grove_search *s;
	struct grove *g = open_world(p, true);

	p->c = chance_begin("others");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	g->warn = warned;
	/* sessions that have just changed are searched without the index */
	usleep(110000);
	assert_int_equal(grove_search_open(g, 0, &s), 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		find_db(p);
		assert_int_equal(i < 4 ? truncate(p->db, 0) : unlink(p->db), 0);
		q = elsewhere(p, (int)i);
		other = answer(&q, true, 0, words[i], NULL);
		assert_int_equal(stat(p->db, &made), 0);
		want = answer(p, false, 0, words[i], NULL);
		got = (struct grove_buf)GROVE_BUF_INIT;
		assert_int_equal(grove__buf_add(&got, "", 0), 0);
		assert_int_equal(ask(s, words[i], NULL, &got), 0);
		assert_string_equal(got.ptr, want.ptr);
		grove__buf_release(&got);
		grove__buf_release(&want);
		grove__buf_release(&other);
		assert_int_equal(grove_search_refresh(s), 0);
		/* nothing is wrong with this one */
		assert_int_equal(stat(p->db, &kept), 0);
		assert_int_equal(kept.st_ino, made.st_ino);
	}
	grove_search_close(s);
	grove_close(g);
}

static sqlite3 *open_pages(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
					 grove__search_sums()), SQLITE_OK);
	assert_int_equal(grove__search_sums_begin(db), 0);
	return db;
}

/* Reads all rows of the table. */
static int read_pages(const char *path)
{
	sqlite3 *db = open_pages(path);
	int rc = sqlite3_exec(db, "SELECT sum(length(x)) FROM t", NULL, NULL, NULL);

	sqlite3_close(db);
	return rc;
}

/* Two leaf pages of a table change places: SQLite sees rows in another order, and no error. */
static void a_page_in_the_place_of_another_is_noticed(void **state)
{
	enum { ONE = 4, OTHER = 9 };
	const size_t page = GROVE__SEARCH_PAGE;
	struct place *p = *state;
	char path[sizeof(p->db) + 8], *keep = malloc(page);
	struct grove_buf b;
	sqlite3 *db;

	assert_non_null(keep);
	snprintf(path, sizeof(path), "%s.pages", p->db);
	if (access(p->cache, F_OK))
		assert_int_equal(mkdir(p->cache, 0700), 0);
	db = open_pages(path);
	assert_int_equal(sqlite3_exec(db, "PRAGMA page_size = 4096; CREATE TABLE t (id INTEGER PRIMARY KEY, x);"
					  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
					  "WHERE i < 300) INSERT INTO t SELECT i, randomblob(300) FROM n",
				      NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(read_pages(path), SQLITE_OK);
	b = file_bytes(path);
	assert_true(b.len > (OTHER + 1) * page);
	memcpy(keep, b.ptr + ONE * page, page);
	memcpy(b.ptr + ONE * page, b.ptr + OTHER * page, page);
	memcpy(b.ptr + OTHER * page, keep, page);
	file_put(path, O_TRUNC, b.ptr, b.len);
	assert_int_equal(read_pages(path) & 0xff, SQLITE_IOERR);
	grove__buf_release(&b);
	free(keep);
}

/* Checksums show that pages are as they were written, not who wrote them. */
static void wrong_numbers_with_right_sums_are_noticed(void **state)
{
	static const char *const wrong[] = {
		"UPDATE meta SET next_file = -1",
		"DELETE FROM files; UPDATE meta SET next_file = -1",
		"UPDATE meta SET next_file = 0",
		"UPDATE meta SET next_file = 1 << 60",
		"UPDATE meta SET next_file = NULL",
		"DELETE FROM meta",
		"UPDATE meta SET next_part = -5",
		"UPDATE meta SET next_part = 9223372036854775807",
		"UPDATE meta SET dead = 9223372036854775807",
		"UPDATE files SET id = id + (1 << 40)",
		"UPDATE files SET id = -id",
		"UPDATE files SET dialect = 'none'",
		"UPDATE files SET rows = 4294967295, size = 0",
		"UPDATE files SET pos = -1, len = 1 << 60, size = 0",
		"UPDATE files SET labels = x'ff'",
		"UPDATE files SET labels = x'00000000' || zeroblob(8) || x'6161'",
		"UPDATE parts SET sizes = NULL",
		"UPDATE texts SET texts = NULL",
		"UPDATE texts SET texts = x'ffffffffffffffffffffff'",
		"UPDATE texts SET texts = substr(texts, 1, length(texts) / 2)",
		"UPDATE texts SET texts = (SELECT texts FROM texts t WHERE t.id != texts.id)",
		"DELETE FROM texts",
	};
	struct place *p = *state;
	sqlite3 *db;

	p->c = chance_begin("wrong");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		/* an index that is created again has another name */
		scratch_remove(p->cache);
		assert_all_same(p, 1);
		db = open_pages(p->db);
		if (sqlite3_exec(db, wrong[i], NULL, NULL, NULL))
			fail_msg("%s: %s", wrong[i], sqlite3_errmsg(db));
		sqlite3_close(db);
		print_message("# %s\n", wrong[i]);
		assert_all_same(p, 3);
		assert_count(p, "beta");
	}
}

static void an_index_of_another_release_is_made_anew(void **state)
{
	struct place *p = *state;

	p->c = chance_begin("release");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	assert_int_equal(mkdir(p->cache, 0700), 0);
	file_make(p->db, "");
	assert_all_same(p, 2);
	file_make(p->db, "SQLite format 3 of something else entirely");
	assert_all_same(p, 2);
}

static void where_no_index_can_be_all_is_looked_through(void **state)
{
	struct place *p = *state;

	p->c = chance_begin("no index");
	p->indexed = false;
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	/* a file where the directory should be */
	file_make(p->cache, "");
	assert_all_same(p, 4);
	unlink(p->cache);
	/* a directory where the database should be */
	assert_int_equal(mkdir(p->cache, 0700), 0);
	assert_int_equal(mkdir(p->db, 0700), 0);
	assert_all_same(p, 4);
}

static void odd_files_do_no_harm(void **state)
{
	struct place *p = *state;
	char path[700];

	p->c = chance_begin("odd");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "%s/empty%d.jsonl", p->store, i);
		file_make(path, "");
	}
	snprintf(path, sizeof(path), "%s/loop.jsonl", p->store);
	assert_int_equal(symlink("loop.jsonl", path), 0);
	snprintf(path, sizeof(path), "%s/up", p->store);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof(path), "%s/none.jsonl", p->store);
	file_make(path, "{\"type\":\"message\",\"id\":\"1\",\"message\":{\"role\":\"user\",\"content\":\"beta\"}}\nalpha\n");
	assert_all_same(p, 6);
	assert_count(p, "beta");
	assert_count(p, "beta");
}

/* Writes a session with these messages of the user, one after another. */
static void say(struct place *p, int nr, const char *const *texts)
{
	struct session *s = &p->s[nr];

	s->nr = 0;
	s->next = 0;
	for (size_t i = 0; texts[i]; i++) {
		add_entry(p, s);
		s->entry[i].kind = 0;
		snprintf(s->entry[i].text, sizeof(s->entry[i].text), "%s", texts[i]);
		if (i)
			memcpy(s->entry[i].parent, s->entry[i - 1].id, sizeof(s->entry[i].parent));
	}
	write_session(p, s);
}

/* ---------------------------------------------------------------- many of them */

enum { MANY = 8 };

/* Adds some of the words, of which the first ones are frequent. */
static void put_words(struct place *p, struct grove_buf *b)
{
	static const char *const words[] = { "alpha", "beta", "gamma_ray", "retries", "filler", "other" };
	uint32_t nr = chance_below(&p->c, 10) ? 1 + chance_below(&p->c, 9) : 40 + chance_below(&p->c, 300);

	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(grove__buf_addf(b, "%s%s", i ? " " : "",
						 words[chance_below(&p->c, 1 + chance_below(&p->c, 6))]), 0);
}

/* Adds a line of pi or of Claude Code, whose id is its number. */
static void put_line(struct place *p, struct grove_buf *b, int session, unsigned nr, int64_t time)
{
	static const char *const say[] = {
		"{\"role\":\"user\",\"content\":\"", "\"}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"t\",\"name\":\"bash\","
		"\"arguments\":{\"command\":\"", "\"}}]}",
		"{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"toolName\":\"bash\",\"isError\":false,"
		"\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}",
	};
	bool claude = session % 3 == 2;
	unsigned what = chance_below(&p->c, claude ? 2 : 4);
	char stamp[32], id[40], parent[48] = "null";
	time_t seconds = (time_t)(time / 1000);
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	snprintf(id, sizeof(id), claude ? "%08x-0000-4000-8000-00000000000%d" : "%08x", nr, session);
	if (nr)
		snprintf(parent, sizeof(parent), claude ? "\"%08x-0000-4000-8000-00000000000%d\"" : "\"%08x\"", nr - 1, session);
	assert_int_equal(grove__buf_addf(b, claude ? "{\"type\":\"%s\",\"uuid\":\"%s\",\"parentUuid\":%s,"
						   "\"sessionId\":\"%08x-1111-4111-8111-111111111111\",\"cwd\":\"/w\",\"isSidechain\":false,\"version\":\"2.1.0\","
						 : "{\"type\":\"%s\",\"id\":\"%s\",\"parentId\":%s,",
					 !claude ? "message" : what ? "assistant" : "user", id, parent, session) ||
			 grove__buf_addf(b, "\"timestamp\":\"%s.%03dZ\",\"message\":%s", stamp, (int)(time % 1000), say[2 * what]), 0);
	put_words(p, b);
	assert_int_equal(grove__buf_addf(b, "%s}\n", say[2 * what + 1]), 0);
}

/*
 * Adds lines to a session, or writes it again; the file's time is that of its last line, as with an
 * agent.
 */
static void write_many(struct place *p, int session, unsigned nr, bool anew)
{
	struct session *s = &p->s[session % SESSIONS];
	static const int64_t steps[] = { 0, 1000, 7000, 600123 };
	int64_t step = steps[chance_below(&p->c, 4)], time = 1777800000000 + (int64_t)chance_below(&p->c, 60) * 86400000;
	struct timespec times[2] = { { 0, 0 }, { 0, 0 } };
	struct grove_buf b = GROVE_BUF_INIT;
	char path[800];

	snprintf(path, sizeof(path), "%s/%08x-1111-4111-8111-111111111111.jsonl", p->store, session);
	if (anew)
		s->next = 0;
	if (!s->next && session % 3 != 2)
		put_header(&b, &p->s[session % SESSIONS], p);
	while (nr--)
		put_line(p, &b, session, s->next++, time += chance_below(&p->c, 3) ? step : 0);
	file_put(path, anew ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND, b.ptr, b.len);
	times[0].tv_sec = times[1].tv_sec = time / 1000;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	grove__buf_release(&b);
}

static void put_about(struct grove_buf *b, const struct grove_hits *h)
{
	struct grove_hits_about about = { .size = sizeof(about) };

	assert_int_equal(grove_hits_about(h, &about), 0);
	assert_int_equal(grove__buf_addf(b, "%llu in %llu, %s:", (unsigned long long)about.total, (unsigned long long)about.sessions,
					 about.cursor ? about.cursor : "end"), 0);
	for (size_t i = 0; i < grove_hits_sessions(h); i++)
		assert_int_equal(grove__buf_addf(b, " %s %zu+%llu", grove_hits_session_at(h, i)->id, grove_hits_session_at(h, i)->nr,
						 (unsigned long long)grove_hits_session_at(h, i)->more), 0);
	assert_int_equal(grove__buf_add_char(b, '\n'), 0);
}

/* Returns where the first line that differs begins. */
static size_t first_other(const char *a, const char *b)
{
	size_t line = 0;

	for (size_t i = 0; a[i] == b[i] && a[i]; i++)
		line = a[i] == '\n' ? i + 1 : line;
	return line;
}

/* Returns the answer, the first `pages` pages of it. */
static struct grove_buf many_answers(struct grove_search *s, const char *query, struct grove_search_options opt, int pages)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_hits *h, *last = NULL;
	struct grove_hits_about about = { .size = sizeof(about) };

	while (pages--) {
		assert_int_equal(grove_search_run(s, query, &opt, &h), 0);
		for (size_t i = 0; i < grove_hits_count(h); i++)
			assert_int_equal(put_hit(&b, grove_hits_at(h, i)), 0);
		put_about(&b, h);
		assert_int_equal(grove_hits_about(h, &about), 0);
		grove_hits_free(last);
		last = h;
		if (!(opt.cursor = about.cursor))
			break;
	}
	grove_hits_free(last);
	return b;
}

/*
 * Checks that both find the same, also where only the best hits were kept; they may differ only in
 * whether there may be more hits. Returns how many there are.
 */
static size_t assert_same_many(struct grove_search *index, struct grove_search *live, const char *query,
			       struct grove_search_options opt, int pages)
{
	struct grove_buf a = many_answers(index, query, opt, pages), b = many_answers(live, query, opt, pages), all;
	size_t lines = lines_of(&a);

	if (strcmp(a.ptr, b.ptr))
		fail_msg("%s, %zu of %zu, in %u: the index finds\n%.900s\nbut there is\n%.900s", query, opt.limit, opt.per_session,
			 opt.in, a.ptr + first_other(a.ptr, b.ptr), b.ptr + first_other(a.ptr, b.ptr));
	grove__buf_release(&b);
	/* the best hits are the first of all hits */
	if (!opt.per_session && pages == 1) {
		opt.limit = 10000;
		all = many_answers(live, query, opt, 1);
		for (const char *x = a.ptr, *y = all.ptr; strchr(x, '{'); x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1)
			if (strcspn(x, "\n") != strcspn(y, "\n") || memcmp(x, y, strcspn(x, "\n")) != 0)
				fail_msg("%s: better than %.200s\nis %.200s", query, x, y);
		grove__buf_release(&all);
	}
	grove__buf_release(&a);
	return lines;
}

static void assert_same_any(struct place *p, struct grove_search *index, struct grove_search *live)
{
	static const char *const queries[] = { "alpha", "alpha ", "=alpha", "al", "alpha beta", "beta -other", "\"alpha beta\"", "gamma_ray",
					       "gamma", "retry", "other filler ", "alpha beta gamma_ray retries filler other" };
	static const size_t limits[] = { 1, 7, 50, 400, 1000, 3000, 10000 };
	struct grove_search_options opt = { .size = sizeof(opt), .limit = limits[chance_below(&p->c, 7)],
					    .strict = !chance_below(&p->c, 3) };
	const char *query = queries[chance_below(&p->c, sizeof(queries) / sizeof(*queries))];
	int pages = 1 + (int)chance_below(&p->c, 4);

	opt.per_session = chance_below(&p->c, 3) ? 0 : chance_below(&p->c, 40);
	opt.in = chance_below(&p->c, 3) ? 0 : 1 + chance_below(&p->c, 15);
	opt.since = chance_below(&p->c, 4) ? 0 : 1777800000000 + (int64_t)chance_below(&p->c, 60) * 86400000;
	assert_same_many(index, live, query, opt, pages);
}

/* However many hits there are, and in whatever order they were indexed, the best are found. */
static void many_hits_are_ranked_as_they_are_without_an_index(void **state)
{
	struct place *p = *state;
	struct grove *g = open_world(p, true);
	struct grove_search *index, *live;

	p->c = chance_begin("many");
	g->warn = warned;
	for (int i = 0; i < MANY; i++)
		write_many(p, i, i ? 20 + chance_below(&p->c, 400) : 1500, true);
	assert_int_equal(grove_search_open(g, 0, &index), 0);
	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_INDEX, &live), 0);
	assert_true(assert_same_many(index, live, "alpha", (struct grove_search_options){ .size = sizeof(struct grove_search_options),
										   .limit = 10000 }, 1) > 1000);
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 4; i++)
			assert_same_any(p, index, live);
		write_many(p, (int)chance_below(&p->c, MANY), 1 + chance_below(&p->c, 60), !chance_below(&p->c, 4));
		assert_int_equal(grove_search_refresh(index), 0);
		assert_int_equal(grove_search_refresh(live), 0);
		assert_true(index->index && !index->alone);
	}
	grove_search_close(index);
	grove_search_close(live);
	grove_close(g);
}

/*
 * Texts with the words of a phrase in another order rank higher, and are more than are kept at
 * first.
 */
static void what_has_the_words_takes_no_place_of_a_phrase(void **state)
{
	struct place *p = *state;
	struct grove *g = open_world(p, true);
	struct grove_search *index, *live;

	for (int nr = 6; nr <= 6000; nr *= 10) {
		struct grove_buf b = GROVE_BUF_INIT;

		say(p, 0, (const char *[]){ "alpha beta", NULL });
		put_header(&b, &p->s[1], p);
		for (int i = 0; i < nr; i++)
			assert_int_equal(grove__buf_addf(&b, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":null,\"timestamp\":"
							 "\"2026-05-03T09:00:00.000Z\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t\","
							 "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}\n", i, i % 20 ? "beta alpha" :
							 i % 40 ? "alpha beta" : "other alpha beta"), 0);
		file_put(p->s[1].path, O_CREAT | O_TRUNC, b.ptr, b.len);
		grove__buf_release(&b);
		assert_int_equal(grove_search_open(g, 0, &index), 0);
		assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_INDEX, &live), 0);
		/* what was written a moment ago is not trusted at once */
		for (int i = 0; i < 500 && (index->look[0] || index->look[1]); i++) {
			usleep(10000);
			assert_int_equal(grove_search_refresh(index), 0);
		}
		for (size_t limit = 1; limit <= 1000; limit *= 10)
			for (unsigned per = 0; per <= 300; per = per * 10 + 3)
				assert_same_many(index, live, "\"alpha beta\"", (struct grove_search_options){
						 .size = sizeof(struct grove_search_options), .limit = limit, .per_session = per }, 3);
		assert_true(index->index && !index->alone);
		grove_search_close(index);
		grove_search_close(live);
	}
	grove_close(g);
}

/* Returns how many bytes this process has read. */
static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "rchar: %llu", &n), 1);
	fclose(f);
	return n;
}

/* The hits alternate between two sessions; each session is loaded only once. */
static void a_session_is_loaded_once_for_all_its_hits(void **state)
{
	enum { LINES = 300, LINE = 1000 };
	struct place *p = *state;
	struct grove_search_options opt = { .size = sizeof(opt), .limit = 2 * LINES };
	uint64_t before;
	struct grove_buf b;

	for (int i = 0; i < 2; i++) {
		b = (struct grove_buf)GROVE_BUF_INIT;
		put_header(&b, &p->s[i], p);
		for (int j = 0; j < LINES; j++)
			assert_int_equal(grove__buf_addf(&b, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":null,\"timestamp\":"
							 "\"2026-05-01T00:%02d:%02d.%d00Z\",\"message\":{\"role\":\"user\",\"content\":\"alpha %0*d\"}}\n",
							 j + 1, j / 60, j % 60, i, LINE, i), 0);
		file_put(p->s[i].path, O_CREAT, b.ptr, b.len);
		grove__buf_release(&b);
	}
	before = bytes_read();
	b = answer(p, false, 0, "alpha", &opt);
	assert_int_equal(lines_of(&b), 2 * LINES);
	assert_in_range(bytes_read() - before, 2 * LINES * LINE, 20 * 2 * LINES * LINE);
	grove__buf_release(&b);
}

static void a_query_finds_what_people_mean(void **state)
{
	struct place *p = *state;
	struct grove_search_options opt = { .size = sizeof(opt), .strict = 1 };
	static const struct { const char *query, *text; bool yes; } cases[] = {
		{ "connect ", "Connections are pooled", true }, { "connection", "we connected", true },
		{ "=connect", "Connections", false }, { "=connections", "Connections", true },
		{ "\"connection\"", "Connections", false }, { "connectio", "the connections", true },
		{ "connectio ", "the connections", false }, { "pool connec", "connections pool", true },
		{ "connec pool", "connections pool", false }, { "connec* pool", "connections pool", true },
		{ "pooling -connect", "connected pools", false }, { "pools -conn", "connected pool", true },
		{ "=pool*", "pooled", true }, { "parse_file", "parse_files", true },
		{ "parse_file ", "parse_files", false }, { "parse-files x", "parsed file x", false },
		{ "what?", "whatever", false }, { "retried", "retry, retry", true }, { "x2", "x25", true },
		{ "Äpfel", "äpfelkuchen", true }, { "Äpfel ", "äpfelkuchen", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int live = 0; live < 2; live++) {
			struct grove_buf b;

			say(p, 0, (const char *[]){ cases[i].text, NULL });
			b = answer(p, true, live ? GROVE_SEARCH_NO_INDEX : 0, cases[i].query, &opt);
			if (lines_of(&b) != cases[i].yes)
				fail_msg("%s in %s: %s", cases[i].query, cases[i].text, b.ptr);
			grove__buf_release(&b);
		}
}

static void live_finds_patterns(void **state)
{
	struct place *p = *state;
	static const struct { const char *query, *text; bool yes; } cases[] = {
		{ "re:lph", "see Alpha there", true }, { "re:lpx", "see Alpha there", false },
		{ "re:al.ha\\b", "see ALPHA there", true }, { "re:^there", "see Alpha there", false },
		{ "re:(a+)+$", "aaa", true }, { "re:e a", "see Alpha there", true }, { "re:析", "解析器", true },
		{ "re:lpha", "\\u0061\\u006c\\u0070\\u0068\\u0061", true }, { "re:a/b", "a\\/b", true },
		{ "re:k", "\u212a", true }, { "re:mark s", "MARK S", true }, { "re:bask", "ba\u017fk", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_buf b;

		say(p, 0, (const char *[]){ cases[i].text, NULL });
		b = answer(p, true, GROVE_SEARCH_NO_INDEX, cases[i].query, NULL);
		if (lines_of(&b) != cases[i].yes)
			fail_msg("%s in %s: %s", cases[i].query, cases[i].text, b.ptr);
		grove__buf_release(&b);
	}
}

/* ------------------------------------------------------------------- results */

/* Asserts the result of a search, in one line: "id: entry entry+copies …; id: …". */
static void assert_found(const struct place *p, unsigned flags, const char *query,
			 const struct grove_search_options *opt, const char *want)
{
	struct grove *g = open_world(p, true);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_search *s;
	struct grove_hits *h;

	assert_int_equal(grove__buf_add(&b, "", 0), 0);
	assert_int_equal(grove_search_open(g, flags, &s), 0);
	assert_int_equal(grove_search_run(s, query, opt, &h), 0);
	grove_search_close(s);
	/* the result outlives the search */
	for (size_t i = 0; i < grove_hits_sessions(h); i++) {
		const struct grove_hit_session *of = grove_hits_session_at(h, i);

		assert_int_equal(grove__buf_addf(&b, "%s%s:", i ? "; " : "", of->id), 0);
		for (size_t j = 0; j < of->nr; j++) {
			assert_ptr_equal(of->hits[j]->session, of);
			assert_int_equal(grove__buf_addf(&b, " %s", of->hits[j]->entry_id ? of->hits[j]->entry_id + 7 : "title"), 0);
			if (of->hits[j]->copies)
				assert_int_equal(grove__buf_addf(&b, "+%d", (int)of->hits[j]->copies), 0);
		}
		if (of->more)
			assert_int_equal(grove__buf_addf(&b, " and %d", (int)of->more), 0);
	}
	assert_string_equal(b.ptr, want);
	assert_null(grove_hits_at(h, grove_hits_count(h)));
	assert_null(grove_hits_session_at(h, grove_hits_sessions(h)));
	grove_hits_free(h);
	grove__buf_release(&b);
	grove_close(g);
}

static void copies_in_forks_are_told_once(void **state)
{
	struct place *p = *state;
	struct grove_search_options in = { .size = sizeof(in), .per_session = 1 };

	/* the ids contain the times, so the first two of each session are copies */
	say(p, 0, (const char *[]){ "see alpha", "alpha again", "something else", NULL });
	say(p, 1, (const char *[]){ "see alpha", "alpha again", "no more alpha, or", NULL });
	say(p, 2, (const char *[]){ "see alpha", "not alpha again", NULL });
	for (unsigned flags = 0; flags <= GROVE_SEARCH_NO_INDEX; flags++) {
		assert_found(p, flags, "alpha", NULL, "id-0: 2+1 1+2; id-2: 2; id-1: 3");
		assert_found(p, flags, "alpha", &in, "id-0: 2+1 and 1; id-2: 2; id-1: 3");
	}
}

/* All pages together have the same hits as one large page. */
static void pages_follow_each_other(void **state)
{
	struct place *p = *state;

	p->c = chance_begin("pages");
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	for (int round = 0; round < 40; round++) {
		struct grove_search_options opt = { .size = sizeof(opt), .limit = 10000 };
		struct grove *g = open_world(p, true);
		struct grove_buf all = GROVE_BUF_INIT, pages = GROVE_BUF_INIT;
		struct grove_hits_about about = { .size = sizeof(about) };
		struct grove_search *s;
		struct grove_hits *h, *last = NULL;
		char query[200];

		random_query(p, query, sizeof(query));
		opt.per_session = chance_below(&p->c, 2) ? 10000 : 0;
		if (chance_below(&p->c, 2))
			opt.what = p->s[0].path;
		assert_int_equal(grove_search_open(g, round & 1 ? GROVE_SEARCH_NO_INDEX : 0, &s), 0);
		assert_int_equal(grove__buf_add(&all, "", 0) || grove__buf_add(&pages, "", 0), 0);
		assert_int_equal(grove_search_run(s, query, &opt, &h), 0);
		for (size_t i = 0; i < grove_hits_sessions(h); i++)
			for (size_t j = 0; j < grove_hits_session_at(h, i)->nr && opt.per_session; j++)
				assert_int_equal(put_hit(&all, grove_hits_session_at(h, i)->hits[j]), 0);
		for (size_t i = 0; i < grove_hits_count(h) && !opt.per_session; i++)
			assert_int_equal(put_hit(&all, grove_hits_at(h, i)), 0);
		assert_int_equal(grove_hits_about(h, &about), 0);
		assert_null(about.cursor);
		assert_int_equal(about.total, grove_hits_count(h));
		assert_int_equal(about.sessions, grove_hits_sessions(h));
		grove_hits_free(h);
		opt.limit = 1 + chance_below(&p->c, 3);
		opt.compare = 20000;
		do {
			assert_int_equal(grove_search_run(s, query, &opt, &h), 0);
			for (size_t i = 0; i < grove_hits_sessions(h); i++)
				for (size_t j = 0; j < grove_hits_session_at(h, i)->nr && opt.per_session; j++)
					assert_int_equal(put_hit(&pages, grove_hits_session_at(h, i)->hits[j]), 0);
			for (size_t i = 0; i < grove_hits_count(h) && !opt.per_session; i++)
				assert_int_equal(put_hit(&pages, grove_hits_at(h, i)), 0);
			grove_hits_free(last);
			last = h;
			assert_int_equal(grove_hits_about(h, &about), 0);
			opt.cursor = about.cursor;
		} while (opt.cursor);
		grove_hits_free(last);
		if (strcmp(all.ptr, pages.ptr))
			fail_msg("%s: all are\n%sbut the pages have\n%s", query, all.ptr, pages.ptr);
		grove__buf_release(&all);
		grove__buf_release(&pages);
		grove_search_close(s);
		grove_close(g);
	}
}

/* Different texts with the same time and the same score are not copies: each is on some page. */
static void what_only_looks_like_a_copy_has_a_page(void **state)
{
	struct place *p = *state;
	static const char *const texts[] = { "alpha one", "alpha two", "alpha six" };

	for (int i = 0; i < 3; i++)
		say(p, i, (const char *[]){ texts[i], NULL });
	for (unsigned round = 0; round < 4; round++) {
		struct grove_search_options opt = { .size = sizeof(opt), .limit = 1, .per_session = round / 2 };
		struct grove *g = open_world(p, true);
		struct grove_hits_about about = { .size = sizeof(about) };
		struct grove_search *s;
		struct grove_hits *h, *last = NULL;
		size_t pages = 0;

		assert_int_equal(grove_search_open(g, round & 1 ? GROVE_SEARCH_NO_INDEX : 0, &s), 0);
		do {
			assert_int_equal(grove_search_run(s, "alpha", &opt, &h), 0);
			assert_int_equal(grove_hits_about(h, &about), 0);
			assert_int_equal(grove_hits_count(h), 1);
			assert_int_equal(grove_hits_at(h, 0)->copies, 0);
			assert_int_equal(about.total, 3);
			assert_int_equal(about.sessions, 3);
			grove_hits_free(last);
			last = h;
			opt.cursor = about.cursor;
			pages++;
		} while (opt.cursor);
		assert_int_equal(pages, 3);
		grove_hits_free(last);
		grove_search_close(s);
		grove_close(g);
	}
}

static void one_session_is_searched_in_its_order(void **state)
{
	struct place *p = *state;
	struct grove_search_options opt = { .size = sizeof(opt), .what = p->s[0].path };
	struct grove *g;
	struct grove_search *s;
	struct grove_hits *h;

	say(p, 0, (const char *[]){ "a long text in which alpha occurs", "alpha", "none", "and alpha", "alpha", "alpha", NULL });
	say(p, 1, (const char *[]){ "alpha", NULL });
	p->s[0].entry[4].kind = 5;
	p->s[0].entry[5].kind = 6;
	write_session(p, &p->s[0]);
	for (unsigned flags = 0; flags <= GROVE_SEARCH_NO_INDEX; flags++)
		assert_found(p, flags, "alpha", &opt, "id-0: title 1 1 2 4");
	g = open_world(p, true);
	assert_int_equal(grove_search_open(g, 0, &s), 0);
	opt.what = "nowhere";
	assert_int_equal(grove_search_run(s, "alpha", &opt, &h), GROVE_ENOTFOUND);
	assert_null(h);
	opt.what = NULL;
	opt.cursor = "3";
	assert_int_equal(grove_search_run(s, "alpha", &opt, &h), GROVE_EINVAL);
	grove_search_close(s);
	grove_close(g);
}

static int not_the_first(void *payload, const char *store, const char *cwd)
{
	assert_string_equal(payload, "payload");
	assert_non_null(store);
	return strcmp(cwd, "/w/0") != 0;
}

static void a_caller_may_leave_out_sessions(void **state)
{
	struct place *p = *state;
	char payload[] = "payload";
	struct grove_search_options opt = { .size = sizeof(opt), .wants = not_the_first, .wants_payload = payload };

	say(p, 0, (const char *[]){ "alpha", NULL });
	say(p, 1, (const char *[]){ "alpha two", NULL });
	for (unsigned flags = 0; flags <= GROVE_SEARCH_NO_INDEX; flags++)
		assert_found(p, flags, "alpha", &opt, "id-1: 1");
}

/* A suggested query has hits itself, with the same options. */
static void what_was_meant_is_suggested(void **state)
{
	static const struct { const char *query, *suggest, *cwd; } cases[] = {
		{ "conection pool", "connection pool", NULL }, { "conenction", "connection", NULL }, { "pool xyzzyx", NULL, NULL },
		{ "pool nonsense", NULL, NULL }, { "=poool -x", "=pool -x", NULL }, { "zz", NULL, NULL },
		/* both words occur, but not in one text */
		{ "connectors poool", NULL, NULL }, { "poool -pool", NULL, NULL },
		{ "\"a pool\" conection", "\"a pool\" connection", NULL }, { "poool", "pool", "/w/0" }, { "poool", NULL, "/w/1" },
	};
	struct place *p = *state;
	struct grove *g;
	struct grove_search *s;

	say(p, 0, (const char *[]){ "the connection and the", "connection, and a pool", "connectors", NULL });
	say(p, 1, (const char *[]){ "nothing of this", NULL });
	g = open_world(p, true);
	assert_int_equal(grove_search_open(g, 0, &s), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_hits_about about = { .size = sizeof(about) };
		struct grove_search_options opt = { .size = sizeof(opt), .cwd = cases[i].cwd, .strict = 1 };
		struct grove_hits *h;

		assert_int_equal(grove_search_run(s, cases[i].query, &opt, &h), 0);
		assert_int_equal(grove_hits_about(h, &about), 0);
		assert_int_equal(about.total, 0);
		if ((cases[i].suggest == NULL) != (about.suggest == NULL) || (about.suggest && strcmp(about.suggest, cases[i].suggest) != 0))
			fail_msg("%s: %s", cases[i].query, about.suggest ? about.suggest : "nothing");
		grove_hits_free(h);
	}
	grove_search_close(s);
	grove_close(g);
}

static void an_index_that_is_not_updated_says_how_far_it_is(void **state)
{
	struct place *p = *state;
	struct grove_hits_about about = { .size = sizeof(about) };
	struct grove *g;
	struct grove_search *s, *other;
	struct grove_hits *h;

	say(p, 0, (const char *[]){ "alpha", NULL });
	say(p, 1, (const char *[]){ "alpha two", NULL });
	g = open_world(p, true);
	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_UPDATE, &s), 0);
	assert_int_equal(grove_search_run(s, "alpha", NULL, &h), 0);
	assert_int_equal(grove_hits_count(h), 2);
	assert_int_equal(grove_hits_about(h, &about), 0);
	assert_int_equal(about.logs, 2);
	assert_int_equal(about.behind, 2);
	grove_hits_free(h);
	/* what was written a moment ago may change again unnoticed, so it is not trusted at once */
	for (int i = 0; i < 500 && about.behind; i++) {
		usleep(10000);
		assert_int_equal(grove_search_open(g, 0, &other), 0);
		grove_search_close(other);
		assert_int_equal(grove_search_refresh(s), 0);
		assert_int_equal(grove_search_run(s, "alpha", NULL, &h), 0);
		assert_int_equal(grove_hits_count(h), 2);
		assert_int_equal(grove_hits_about(h, &about), 0);
		grove_hits_free(h);
	}
	assert_int_equal(about.behind, 0);
	grove_search_close(s);
	grove_close(g);
}

static void queries_that_say_nothing_are_told_so(void **state)
{
	struct place *p = *state;
	struct grove *g = open_world(p, true);
	struct grove_search *s;
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove_search_open(g, 0, &s), 0);
	assert_int_equal(ask(s, "", NULL, &b), GROVE_EINVAL);
	assert_int_equal(ask(s, " ... ", NULL, &b), GROVE_EINVAL);
	assert_int_equal(ask(s, "-word", NULL, &b), GROVE_EINVAL);
	assert_int_equal(ask(s, "re:x", NULL, &b), GROVE_EINVAL);
	assert_int_equal(ask(s, "\"", NULL, &b), GROVE_EINVAL);
	assert_int_equal(ask(s, "word\" OR NEAR(", NULL, &b), 0);
	grove_search_close(s);
	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_INDEX, &s), 0);
	assert_int_equal(ask(s, "re:(", NULL, &b), GROVE_EINVAL);
	grove_search_close(s);
	grove_close(g);
	assert_int_equal(b.len, 0);
}

/*
 * If another process has locked the index, the search still gives its answer, and the index stays.
 */
static void an_index_that_is_locked_is_left_alone(void **state)
{
	struct place *p = *state;
	struct grove_buf found, before;
	struct stat was, is;
	sqlite3 *db;

	say(p, 0, (const char *[]){ "alpha", NULL });
	before = answer(p, true, 0, "alpha", NULL);
	assert_int_equal(stat(p->db, &was), 0);
	assert_int_equal(sqlite3_open_v2(p->db, &db, SQLITE_OPEN_READWRITE, grove__search_sums()), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	p->indexed = false;
	found = answer(p, true, 0, "alpha", NULL);
	assert_string_equal(found.ptr, before.ptr);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(stat(p->db, &is), 0);
	assert_true(is.st_ino == was.st_ino);
	grove__buf_release(&found);
	p->indexed = true;
	found = answer(p, true, 0, "alpha", NULL);
	assert_string_equal(found.ptr, before.ptr);
	grove__buf_release(&found);
	grove__buf_release(&before);
}

static void sessions_in_a_database_are_found(void **state)
{
	struct place *p = *state;
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove *g;
	char url[600], line[600];

	p->c = chance_begin("database");
	for (int i = 0; i < SESSIONS; i++) {
		replace(p, &p->s[i]);
		grow(p, &p->s[i]);
	}
	snprintf(url, sizeof(url), "sqlite:%s/sessions.db", p->dir);
	g = open_world(p, false);
	assert_int_equal(grove_store_init(g, url), 0);
	for (int i = 0; i < SESSIONS; i++)
		assert_int_equal(grove_copy(g, p->s[i].path, url, &id, &path), 0);
	grove_buf_release(&id);
	grove_buf_release(&path);
	grove_close(g);
	memcpy(p->store, url, sizeof(url));
	assert_all_same(p, 5);
	assert_count(p, "beta");
	for (int i = 0; i < 20; i++) {
		struct grove_session *s;
		struct session *own = &p->s[chance_below(&p->c, SESSIONS)];

		snprintf(line, sizeof(line), "id-%d", (int)(own - p->s));
		g = open_world(p, false);
		assert_int_equal(grove_session_open(g, line, GROVE_OPEN_WRITE, &s), 0);
		if (own->nr < ENTRIES && chance_below(&p->c, 3)) {
			struct grove_slice json;

			add_entry(p, own);
			own->entry[own->nr - 1].kind = 0;
			snprintf(line, sizeof(line), "{\"role\":\"user\",\"content\":\"%s\"}",
				 own->entry[own->nr - 1].text);
			json = grove__slice_str(line);
			assert_int_equal(grove_session_append(s, json, NULL, NULL), 0);
		} else {
			assert_int_equal(grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL), 0);
		}
		grove_session_close(s);
		grove_close(g);
		assert_all_same(p, 2);
		assert_count(p, "beta");
	}
}

/* --------------------------------------------------------------- at the same time */

/* Appends a word that nobody else has and searches for it, again and again. */
static int child(const struct place *p, int nr)
{
	char path[700], line[400], word[40];

	snprintf(path, sizeof(path), "%s/child%d.jsonl", p->store, nr);
	snprintf(line, sizeof(line), "{\"type\":\"session\",\"version\":3,\"id\":\"child-%d\",\"timestamp\":"
		 "\"2026-05-03T09:00:00.000Z\",\"cwd\":\"/w\"}\n", nr);
	file_make(path, line);
	for (int i = 0; i < 25; i++) {
		struct grove_buf b;

		snprintf(word, sizeof(word), "only%dx%d", nr, i);
		snprintf(line, sizeof(line), "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":null,\"timestamp\":"
			 "\"2026-05-03T09:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"%s\"}}\n",
			 i + 1, word);
		file_add(path, line);
		b = answer(p, true, 0, word, NULL);
		if (lines_of(&b) != 1) {
			fprintf(stderr, "%s: %s\n", word, b.ptr);
			return 1;
		}
		grove__buf_release(&b);
	}
	return 0;
}

static void processes_share_the_index(void **state)
{
	struct place *p = *state;
	pid_t pid[4];

	p->c = chance_begin("processes");
	/* a process that cannot write in time searches without the index */
	p->indexed = false;
	for (int i = 0; i < SESSIONS; i++)
		replace(p, &p->s[i]);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(child(p, i));
		assert_true(pid[i] > 0);
	}
	for (int i = 0; i < 4; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_all_same(p, 4);
}

/* ------------------------------------------------------------- what the model sees */

static bool is_id(const struct grove_buf *document, const char *id)
{
	const char *ids = strstr(document->ptr, "],\"entryIds\":["), *end, *at;
	char quoted[120];

	/* the last one, since texts may contain the same words */
	for (const char *next; (next = strstr(ids + 1, "],\"entryIds\":["));)
		ids = next;
	end = strchr(ids + 14, ']');
	snprintf(quoted, sizeof(quoted), "\"%s\"", id);
	at = strstr(ids, quoted);
	return at && at < end;
}

static void assert_sent(const struct place *p, const char *path)
{
	struct grove *g = open_world(p, false);
	struct grove_buf document = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	uint32_t *ancestors;
	uint8_t *places, *on_path;
	size_t nr;
	const char *slash = strrchr(path, '/');

	g->warn = warned;
	/* what is not a session has no hits */
	if (grove_session_open(g, path, GROVE_OPEN_READ, &s)) {
		grove_session_close(s);
		grove_close(g);
		return;
	}
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&document)), 0);
	assert_int_equal(grove__image_sent(v->image, v->log, slash + 1, &places, NULL), 0);
	assert_int_equal(path_rows(v, grove_view_leaf(v), &ancestors, &nr), 0);
	on_path = calloc(v->nr + 1, 1);
	for (size_t i = 0; i < nr; i++)
		on_path[ancestors[i]] = 1;
	for (uint32_t i = 0; i < v->nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };

		assert_int_equal(grove_view_entry(v, i, &e), 0);
		if (on_path[i])
			assert_true(places[i] & ROW_ON_PATH);
		if (e.kind != GROVE_KIND_MESSAGE || !e.id || (e.flags & GROVE_ENTRY_SUPERSEDED) ||
		    (e.role != GROVE_ROLE_USER && e.role != GROVE_ROLE_ASSISTANT &&
		     e.role != GROVE_ROLE_TOOL_RESULT))
			continue;
		if (((places[i] & ROW_SENT) != 0) != is_id(&document, e.id))
			fail_msg("%s: %s is %ssent", path, e.id, places[i] & ROW_SENT ? "not " : "");
	}
	free(ancestors);
	free(on_path);
	free(places);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
	grove_buf_release(&document);
}

static void what_is_sent_is_what_the_context_has(void **state)
{
	static const char *const dirs[] = { ".", "claude" };
	struct place *p = *state;
	const char *data = getenv("GROVE_TEST_DATA");
	char path[5000];
	struct dirent *e;
	size_t nr = 0;
	DIR *d;

	p->c = chance_begin("sent");
	for (int i = 0; i < 300; i++) {
		replace(p, &p->s[0]);
		grow(p, &p->s[0]);
		assert_sent(p, p->s[0].path);
	}
	for (size_t i = 0; data && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", data, dirs[i]);
		d = opendir(path);
		assert_non_null(d);
		while ((e = readdir(d))) {
			size_t n = strlen(e->d_name);

			if (n < 6 || strcmp(e->d_name + n - 6, ".jsonl"))
				continue;
			snprintf(path, sizeof(path), "%s/%s/%s", data, dirs[i], e->d_name);
			assert_sent(p, path);
			nr++;
		}
		closedir(d);
	}
	assert_true(!data || nr > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_index_finds_what_looking_through_finds, setup, teardown),
		cmocka_unit_test_setup_teardown(many_hits_are_ranked_as_they_are_without_an_index, setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_the_words_takes_no_place_of_a_phrase, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_is_loaded_once_for_all_its_hits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_index_is_made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(an_index_of_others_in_its_place_is_not_mistaken_for_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_page_in_the_place_of_another_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_numbers_with_right_sums_are_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(an_index_of_another_release_is_made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(where_no_index_can_be_all_is_looked_through, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_files_do_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(a_query_finds_what_people_mean, setup, teardown),
		cmocka_unit_test_setup_teardown(live_finds_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(copies_in_forks_are_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_follow_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(what_only_looks_like_a_copy_has_a_page, setup, teardown),
		cmocka_unit_test_setup_teardown(one_session_is_searched_in_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_caller_may_leave_out_sessions, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_meant_is_suggested, setup, teardown),
		cmocka_unit_test_setup_teardown(an_index_that_is_not_updated_says_how_far_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(queries_that_say_nothing_are_told_so, setup, teardown),
		cmocka_unit_test_setup_teardown(an_index_that_is_locked_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(sessions_in_a_database_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_share_the_index, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_sent_is_what_the_context_has, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
