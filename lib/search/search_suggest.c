/*
 * search/search_suggest.c: what to search for instead, if nothing was found.
 *
 * A word that no message has is compared with those that begin with the same letter: the
 * most similar one, and of several the most common, is suggested.
 */
#include "search/search_db.h"
#include "search/search_words.h"

#define SHORTEST 3
#define LONGEST 24

struct similar {
	struct grove__search_index *ix;
	sqlite3_stmt *st;
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters must be added, removed, replaced, or exchanged with the next
 * one, to make one word from another. Both have at most LONGEST letters.
 */
static unsigned distance(struct grove_slice a, struct grove_slice b)
{
	unsigned row[3][LONGEST + 1];

	for (size_t j = 0; j <= b.len; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a.len; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b.len; j++) {
			now[j] = least(last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]), least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return row[a.len % 3][b.len];
}

static int choose(struct similar *s, struct grove_slice word, struct grove_buf *out)
{
	unsigned most = word.len < 5 ? 1 : 2, d;
	int64_t docs = 0;
	int step, rc = 0;

	while ((step = sqlite3_step(s->st)) == SQLITE_ROW && !rc) {
		struct grove_slice other = { (const char *)sqlite3_column_text(s->st, 0),
					     (size_t)sqlite3_column_bytes(s->st, 0) };
		int64_t nr = sqlite3_column_int64(s->st, 1);

		if (other.len > LONGEST || other.len + most < word.len || other.len > word.len + most)
			continue;
		d = distance(word, other);
		if (d > most || (d == most && out->len && nr <= docs))
			continue;
		/* it is there: something else is the reason */
		if (!d) {
			grove__buf_clear(out);
			break;
		}
		most = d;
		docs = nr;
		grove__buf_clear(out);
		rc = grove__buf_add_slice(out, other);
	}
	return rc ? rc : step == SQLITE_ROW ? 0 : grove__search_db_code(s->ix, step);
}

static int find_similar(void *payload, struct grove_slice word, struct grove_buf *out)
{
	struct similar *s = payload;
	char from[2] = { word.ptr[0], 0 }, to[2] = { (char)(word.ptr[0] + 1), 0 };
	int rc;

	if (word.len < SHORTEST || word.len > LONGEST || (unsigned char)*word.ptr >= 0x7f)
		return 0;
	sqlite3_bind_text(s->st, 1, from, 1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s->st, 2, to, 1, SQLITE_TRANSIENT);
	rc = choose(s, word, out);
	sqlite3_reset(s->st);
	return rc;
}

int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out)
{
	struct similar s = { .ix = ix };
	int rc = grove__search_db_run(ix, "CREATE VIRTUAL TABLE IF NOT EXISTS temp.grove_said "
					  "USING fts5vocab(main, words, row)");

	rc = rc ? rc : grove__search_db_prepare(ix, "SELECT term, doc FROM temp.grove_said "
						    "WHERE term >= ? AND term < ?", &s.st);
	rc = rc ? rc : grove__search_query_respell(q, find_similar, &s, out);
	sqlite3_finalize(s.st);
	return rc;
}
