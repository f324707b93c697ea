/*
 * search/search_vocab.c: the words that the index has, by their stems.
 *
 *	vocab   stem, word
 *
 * They are needed to find all forms of a word, and for what may have been meant by one that
 * nobody wrote. FTS5 could list its words, but reads through all the places where they occur
 * to do so.
 */
#include "search/search_db.h"
#include "search/search_part.h"
#include "search/search_stem.h"
#include "search/search_words.h"

#include <stdlib.h>

#define SHORTEST 3              /* words that others are suggested for */
#define LONGEST 24

int grove__search_vocab_write(struct grove__search_index *ix, struct grove__search_vocab *v)
{
	const char *at = v->found.ptr, *end = at + v->found.len;
	int rc = grove__search_db_prepare(ix, "INSERT OR IGNORE INTO vocab VALUES (?,?)", &ix->add_word);

	for (; at < end && !rc; at += strlen(at) + 1) {
		char stem[GROVE__WORD_MAX];
		size_t len = strlen(at);

		memcpy(stem, at, len);
		sqlite3_bind_text(ix->add_word, 1, stem, (int)grove__search_stem(stem, len), SQLITE_TRANSIENT);
		sqlite3_bind_text(ix->add_word, 2, at, (int)len, SQLITE_STATIC);
		rc = grove__search_db_step(ix, ix->add_word);
	}
	grove__buf_clear(&v->found);
	return rc;
}

int grove__search_vocab_forms(struct grove__search_index *ix, struct grove_slice stem, grove__search_form_fn *fn,
			      void *payload)
{
	int step = SQLITE_DONE;
	int rc = grove__search_db_prepare(ix, "SELECT word FROM vocab WHERE stem = ?", &ix->of_stem);

	if (!rc)
		sqlite3_bind_text(ix->of_stem, 1, stem.ptr, (int)stem.len, SQLITE_STATIC);
	while (!rc && (step = sqlite3_step(ix->of_stem)) == SQLITE_ROW)
		rc = fn(payload, (const char *)sqlite3_column_text(ix->of_stem, 0),
			(size_t)sqlite3_column_bytes(ix->of_stem, 0));
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_reset(ix->of_stem);
	return rc;
}

/* ------------------------------------------------------------- what was meant */

struct similar {
	struct grove__search_index *ix;
	sqlite3_stmt *words;
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

/* Writes the most similar word that begins with the same letter; nothing if the word itself is there. */
static int find_similar(void *payload, struct grove_slice word, struct grove_buf *out)
{
	struct similar *s = payload;
	char from[2] = { *word.ptr, 0 }, to[2] = { (char)(*word.ptr + 1), 0 };
	unsigned most = word.len < 5 ? 1 : 2, d;
	int step = SQLITE_DONE, rc = 0;

	if (word.len < SHORTEST || word.len > LONGEST || (unsigned char)*word.ptr >= 0x7f)
		return 0;
	sqlite3_bind_text(s->words, 1, from, 1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s->words, 2, to, 1, SQLITE_TRANSIENT);
	while (!rc && (step = sqlite3_step(s->words)) == SQLITE_ROW) {
		struct grove_slice other = { (const char *)sqlite3_column_text(s->words, 0),
					     (size_t)sqlite3_column_bytes(s->words, 0) };

		if (other.len > LONGEST || other.len + most < word.len || other.len > word.len + most)
			continue;
		d = distance(word, other);
		if (d > most || (d == most && out->len))
			continue;
		most = d;
		grove__buf_clear(out);
		if (d)
			rc = grove__buf_add_slice(out, other);
	}
	rc = rc ? rc : grove__search_db_code(s->ix, step);
	sqlite3_reset(s->words);
	return rc;
}

int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out)
{
	struct similar s = { .ix = ix };
	int rc = grove__search_db_prepare(ix, "SELECT word FROM vocab WHERE stem >= ? AND stem < ?", &s.words);

	rc = rc ? rc : grove__search_query_respell(q, find_similar, &s, out);
	sqlite3_finalize(s.words);
	return rc;
}
