/*
 * search/search_suggest.c: what to search for instead, if nothing was found.
 *
 * A word that no message has is compared with those that begin with the same letter: the
 * most similar one, and of several the most common, is suggested. FTS5 could list the words,
 * but to do so it reads through all the places where they occur. So the table `said` has the
 * words of messages, and FTS5 is only asked how common the most similar ones are.
 */
#include "search/search_suggest.h"

#include "search/search_db.h"
#include "search/search_words.h"

#include <stdlib.h>

#define SHORTEST 3
#define LONGEST 24
#define ALIKE_MAX 64            /* equally similar words that are compared */
#define SEEN ((size_t)1 << 17)

/* ------------------------------------------------------------------ the words */

int grove__search_said_init(struct grove__search_said *s)
{
	*s = (struct grove__search_said){ .seen = calloc(SEEN, sizeof(*s->seen)) };
	return s->seen ? 0 : GROVE_ENOMEM;
}

void grove__search_said_release(struct grove__search_said *s)
{
	free(s->seen);
	grove__buf_release(&s->found);
	*s = (struct grove__search_said){ 0 };
}

/* True if a word may be suggested, or replaced: not numbers and checksums, which nobody misspells. */
static bool is_spelled(const char *word, size_t len)
{
	size_t digits = 0;

	if (len + 1 < SHORTEST || len > LONGEST || (unsigned char)*word >= 0x7f)
		return false;
	for (size_t i = 0; i < len; i++)
		digits += word[i] >= '0' && word[i] <= '9';
	return 2 * digits <= len;
}

int grove__search_said_note(struct grove__search_said *s, const char *word, size_t len, uint64_t hash)
{
	uint64_t *seen = &s->seen[hash & (SEEN - 1)];
	int rc;

	if (*seen == hash || !is_spelled(word, len))
		return 0;
	*seen = hash;
	rc = grove__buf_add(&s->found, word, len);
	return rc ? rc : grove__buf_add_char(&s->found, '\0');
}

/* ------------------------------------------------------------------- similar ones */

struct similar {
	struct grove__search_index *ix;
	sqlite3_stmt *said, *docs;
	struct grove_buf alike;      /* the most similar words so far, each with a NUL, … */
	size_t nr;                   /* … how many, … */
	unsigned most;               /* … and how many letters differ */
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

static int take_alike(struct similar *s, struct grove_slice word, struct grove_slice other)
{
	unsigned d;
	int rc;

	if (other.len > LONGEST || other.len + s->most < word.len || other.len > word.len + s->most)
		return 0;
	d = distance(word, other);
	if (d > s->most || (d == s->most && s->nr == ALIKE_MAX))
		return 0;
	if (d < s->most) {
		grove__buf_clear(&s->alike);
		s->nr = 0;
	}
	s->most = d;
	s->nr++;
	rc = grove__buf_add_slice(&s->alike, other);
	return rc ? rc : grove__buf_add_char(&s->alike, '\0');
}

static int find_alike(struct similar *s, struct grove_slice word)
{
	char from[2] = { word.ptr[0], 0 }, to[2] = { (char)(word.ptr[0] + 1), 0 };
	int step = SQLITE_DONE, rc = 0;

	grove__buf_clear(&s->alike);
	s->nr = 0;
	s->most = word.len < 5 ? 1 : 2;
	sqlite3_bind_text(s->said, 1, from, 1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s->said, 2, to, 1, SQLITE_TRANSIENT);
	while (!rc && s->most && (step = sqlite3_step(s->said)) == SQLITE_ROW)
		rc = take_alike(s, word, grove__slice((const char *)sqlite3_column_text(s->said, 0),
						      (size_t)sqlite3_column_bytes(s->said, 0)));
	rc = rc ? rc : grove__search_db_code(s->ix, step);
	sqlite3_reset(s->said);
	return rc;
}

static int count_docs(struct similar *s, const char *word, int64_t *out)
{
	int step, rc;

	sqlite3_bind_text(s->docs, 1, word, -1, SQLITE_STATIC);
	step = sqlite3_step(s->docs);
	*out = step == SQLITE_ROW ? sqlite3_column_int64(s->docs, 0) : 0;
	rc = grove__search_db_code(s->ix, step);
	sqlite3_reset(s->docs);
	return rc;
}

static int find_similar(void *payload, struct grove_slice word, struct grove_buf *out)
{
	struct similar *s = payload;
	const char *at, *best = NULL;
	int64_t docs, most = 0;
	int rc;

	if (word.len < SHORTEST || !is_spelled(word.ptr, word.len))
		return 0;
	rc = find_alike(s, word);
	/* without a difference it is there: something else is the reason */
	if (rc || !s->most)
		return rc;
	at = s->alike.ptr;
	for (size_t i = 0; i < s->nr && !rc; i++, at += strlen(at) + 1) {
		rc = count_docs(s, at, &docs);
		if (docs > most) {
			most = docs;
			best = at;
		}
	}
	return rc || !best ? rc : grove__buf_add_str(out, best);
}

int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out)
{
	struct similar s = { .ix = ix, .alike = GROVE_BUF_INIT };
	int rc = grove__search_db_run(ix, "CREATE VIRTUAL TABLE IF NOT EXISTS temp.grove_said "
					  "USING fts5vocab(main, words, row)");

	rc = rc ? rc : grove__search_db_prepare(ix, "SELECT word FROM said WHERE word >= ? AND word < ?", &s.said);
	rc = rc ? rc : grove__search_db_prepare(ix, "SELECT doc FROM temp.grove_said WHERE term = ?", &s.docs);
	rc = rc ? rc : grove__search_query_respell(q, find_similar, &s, out);
	sqlite3_finalize(s.said);
	sqlite3_finalize(s.docs);
	grove__buf_release(&s.alike);
	return rc;
}
