/*
 * tests/unit/claude_world.h: transcripts for the tests of the Claude dialect.
 *
 * In test code a record is written as a few words. "3<2 a @5 x" is a record
 * with the uuid 3 and the parent 2, by the assistant, with a time stamp of five
 * seconds, on a side chain. Types: u (user), a (assistant), t (attachment), s
 * (system), p (progress). Marks: x (side chain), m (isMeta), T (team). The
 * parent `-` is null. A text that begins with `{` is taken as the line itself,
 * with ' instead of ".
 */
#ifndef CLAUDE_WORLD_H
#define CLAUDE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/claude.h"
#include "json/value.h"

struct world {
	struct grove__json_want want;
	struct grove__claude_rows rows;
	struct grove__arena tmp;
	struct grove__claude_conversation said;
};

static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	grove__json_want_init(&w->want, grove__claude_members, CLAUDE_MEMBERS);
	grove__claude_rows_init(&w->rows, 42);
	grove__arena_init(&w->tmp);
}

static inline void world_release(struct world *w)
{
	grove__claude_rows_release(&w->rows);
	grove__claude_conversation_release(&w->said);
	grove__arena_release(&w->tmp);
}

/* Scans a line; the row points into a copy that is in the arena. */
static inline const char *world_scan(struct world *w, struct grove_slice line,
				     struct grove__json_line *l, struct grove__claude_row *row)
{
	char *copy = grove__arena_alloc(&w->tmp, line.len + GROVE__JSON_PAD, 1);

	assert_non_null(copy);
	memset(copy, 0, line.len + GROVE__JSON_PAD);
	memcpy(copy, line.ptr, line.len);
	assert_int_equal(grove__json_scan(&w->want, copy, line.len, true, l), JSON_VALUE);
	grove__claude_row(l, copy, &w->tmp, row);
	return copy;
}

static inline void world_line(struct world *w, struct grove_slice line)
{
	struct grove__json_line l;
	struct grove__claude_row row;

	world_scan(w, line, &l, &row);
	assert_int_equal(grove__claude_rows_add(&w->rows, &row, NULL), 0);
}

static inline char *quoted(struct world *w, const char *text)
{
	char *s = grove__arena_dup(&w->tmp, grove__slice_str(text));

	assert_non_null(s);
	for (char *p = s; *p; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

static inline void world_record(struct world *w, const char *words)
{
	static const char *const types[] = { ['u'] = "user", ['a'] = "assistant", ['t'] = "attachment",
					     ['s'] = "system", ['p'] = "progress" };
	char id[16], parent[16], type, marks[16] = "";
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned at = 0;

	assert_true(sscanf(words, "%15[^<]<%15s %c @%u %15s", id, parent, &type, &at, marks) >= 4);
	grove__buf_addf(&b, "{\"type\":\"%s\",\"uuid\":\"%s\",\"timestamp\":\"2026-01-01T00:%02u:%02u.000Z\"",
			types[(unsigned char)type], id, at / 60, at % 60);
	if (*parent == '-')
		grove__buf_add_str(&b, ",\"parentUuid\":null");
	else
		grove__buf_addf(&b, ",\"parentUuid\":\"%s\"", parent);
	if (strchr(marks, 'x'))
		grove__buf_add_str(&b, ",\"isSidechain\":true");
	if (strchr(marks, 'm'))
		grove__buf_add_str(&b, ",\"isMeta\":true");
	if (strchr(marks, 'T'))
		grove__buf_add_str(&b, ",\"teamName\":\"t\"");
	if (type == 'u' || type == 'a')
		grove__buf_addf(&b, ",\"message\":{\"role\":\"%s\",\"content\":\"%s\"}",
				types[(unsigned char)type], id);
	grove__buf_add_char(&b, '}');
	world_line(w, grove__buf_slice(&b));
	grove__buf_release(&b);
}

static inline void world_fill(struct world *w, const char *const *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (*lines[i] == '{')
			world_line(w, grove__slice_str(quoted(w, lines[i])));
		else
			world_record(w, lines[i]);
	}
}

/* Returns the conversation as "uuid uuid …". */
static inline char *world_said(struct world *w)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *s;

	for (size_t i = 0; i < w->said.nr; i++) {
		if (i)
			grove__buf_add_char(&b, ' ');
		grove__buf_add_slice(&b, grove__claude_rows_uuid(&w->rows, w->said.rows[i]));
	}
	s = grove__arena_dup(&w->tmp, grove__buf_slice(&b));
	grove__buf_release(&b);
	return s;
}

static inline char *world_leaf(struct world *w)
{
	if (w->said.leaf == CLAUDE_NONE)
		return grove__arena_dup(&w->tmp, grove__slice("-", 1));
	return grove__arena_dup(&w->tmp, grove__claude_rows_uuid(&w->rows, w->said.leaf));
}

#endif
