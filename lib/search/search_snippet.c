/*
 * search/search_snippet.c: the part of a text around a match.
 *
 * It is the window that has the most marks, with a few words before the first of them.
 * White space is collapsed, so positions shift, and the marks with them.
 */
#include "search/search_text.h"

#include "base/array.h"
#include "base/utf8.h"
#include "js/js.h"

#include <stdlib.h>

#define WINDOW 200
#define LEAD 60                 /* at most this many of these before the first mark */
#define SLACK 24                /* how far a window may move to begin and end with a word */

static bool begins_character(const char *p)
{
	return ((unsigned char)*p & 0xc0) != 0x80;
}

/* Finds the mark from which a window has the most marks. */
static size_t best_mark(const struct grove_hit_mark *marks, size_t nr)
{
	size_t best = 0, most = 0;

	for (size_t i = 0, j = 0; i < nr; i++) {
		if (j < i)
			j = i;
		while (j < nr && marks[j].to - marks[i].from <= WINDOW - LEAD)
			j++;
		if (j - i > most) {
			most = j - i;
			best = i;
		}
	}
	return best;
}

static size_t window_begin(struct grove_slice text, size_t mark)
{
	size_t from = mark > LEAD ? mark - LEAD : 0, at;

	if (!from)
		return 0;
	for (at = from; at < mark && at < from + SLACK; at++)
		if (text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '\n')
			return at;
	while (from < mark && !begins_character(text.ptr + from))
		from++;
	return from;
}

static size_t window_end(struct grove_slice text, size_t least, size_t from)
{
	size_t to = from + WINDOW > least ? from + WINDOW : least, at;

	if (to >= text.len)
		return text.len;
	for (at = to; at > least && at + SLACK > to; at--)
		if (text.ptr[at] == ' ' || text.ptr[at] == '\n')
			return at;
	while (to > least && !begins_character(text.ptr + to))
		to--;
	return to;
}

static int add_part(struct grove__search_snippet *s, const char *p, const char *end)
{
	uint32_t cp;
	int rc = 0;

	while (p < end && !rc) {
		const char *at = p;

		p += grove__utf8_decode(p, end, &cp);
		if (!grove__js_is_space(cp))
			rc = grove__buf_add(&s->text, at, (size_t)(p - at));
		else if (s->text.len && s->text.ptr[s->text.len - 1] != ' ')
			rc = grove__buf_add_char(&s->text, ' ');
	}
	return rc;
}

/* Counts the mark after the last one, unless it is empty; adjacent words share one. */
static void take_mark(struct grove__search_snippet *s)
{
	struct grove_hit_mark *m = &s->marks[s->nr];

	if (m->to == m->from)
		return;
	if (s->nr && m->from - m[-1].to == 1 && s->text.ptr[m[-1].to] == ' ')
		m[-1].to = m->to;
	else
		s->nr++;
}

int grove__search_snippet(struct grove__search_snippet *s, struct grove_slice text,
			  const struct grove_hit_mark *marks, size_t nr)
{
	size_t first = nr ? best_mark(marks, nr) : 0, at, end;
	int rc = 0;

	grove__buf_clear(&s->text);
	s->nr = 0;
	at = nr ? window_begin(text, marks[first].from) : 0;
	/* a match may be longer than a window: its beginning is shown */
	end = nr && marks[first].to - at > 2 * WINDOW ? at + 2 * WINDOW
						      : window_end(text, nr ? marks[first].to : 0, at);
	while (end < text.len && !begins_character(text.ptr + end))
		end++;
	rc = at ? grove__buf_add_str(&s->text, "…") : 0;
	while (first && marks[first - 1].to > at)
		first--;
	for (size_t i = first; i < nr && marks[i].from < end && !rc; i++) {
		size_t from = marks[i].from > at ? marks[i].from : at;
		size_t to = marks[i].to < end ? marks[i].to : end;

		rc = add_part(s, text.ptr + at, text.ptr + from);
		rc = rc ? rc : grove__array_room(&s->marks, &s->cap, s->nr, sizeof(*s->marks));
		if (rc)
			return rc;
		s->marks[s->nr].from = s->text.len;
		rc = add_part(s, text.ptr + from, text.ptr + to);
		s->marks[s->nr].to = s->text.len;
		if (!rc)
			take_mark(s);
		at = to;
	}
	rc = rc ? rc : add_part(s, text.ptr + at, text.ptr + end);
	if (!rc && s->text.len && s->text.ptr[s->text.len - 1] == ' ' &&
	    (!s->nr || s->marks[s->nr - 1].to < s->text.len))
		grove__buf_cut(&s->text, s->text.len - 1);
	return rc || end == text.len ? rc : grove__buf_add_str(&s->text, "…");
}

void grove__search_snippet_release(struct grove__search_snippet *s)
{
	grove__buf_release(&s->text);
	free(s->marks);
}
