/*
 * cells.c: how a terminal displays text.
 */
#include "cells.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

/*
 * Returns true for characters that control the terminal or change the reading order: C0,
 * DEL, C1; marks, embeddings, overrides and isolates of direction; and the two separators
 * that some programs treat as line ends.
 */
static int steers(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

enum { EMOJI_STYLE = 0xfe0f };

static int is_variation(int32_t c)
{
	return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef);
}

/*
 * Returns true for characters that a reader cannot see: zero-width spaces and joiners,
 * soft hyphens, fillers, invisible operators, the byte order mark, annotation marks,
 * controls of musical notation and shorthand, tags, variation selectors. Text can be
 * hidden in them, and names that look the same may differ.
 */
static int invisible(int32_t c)
{
	return c == 0xad || c == 0x34f || c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
	       c == 0x180e || (c >= 0x200b && c <= CELLS_ZWJ) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0x3164 || c == 0xfeff || c == 0xffa0 || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0x1bca0 && c <= 0x1bca3) || (c >= 0x1d173 && c <= 0x1d17a) ||
	       (c >= 0xe0000 && c <= 0xe0fff) || is_variation(c);
}

size_t cells_decode(const char *p, const char *end, int32_t *c)
{
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)p, end - p, c);

	return n > 0 ? (size_t)n : 0;
}

size_t cells_encode(uint32_t c, char out[4])
{
	return (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)out);
}

static int is_emoji(int32_t c)
{
	return utf8proc_get_property(c)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

static int is_ideograph(int32_t c)
{
	return (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0x20000 && c <= 0x3ffff);
}

/* Arabic, the scripts of India, Burmese, Khmer and Mongolian need joiners for their spelling. */
static int is_joining(int32_t c)
{
	return (c >= 0x0600 && c <= 0x0dff) || (c >= 0x1000 && c <= 0x109f) ||
	       (c >= 0x1780 && c <= 0x18af);
}

/*
 * Returns true for a variation selector right after its character, or a joiner between two
 * letters.
 */
static int belongs(const struct cells_before *b, int32_t c, const char *next, const char *end)
{
	int32_t after;

	if (is_variation(c))
		return b->last == b->base &&
		       (is_emoji(b->base) || is_ideograph(b->base) ||
			(c == EMOJI_STYLE && b->base < 0x7f && b->base && strchr("0123456789#*", b->base)));
	if ((c != CELLS_ZWJ && c != CELLS_ZWNJ) || !cells_decode(next, end, &after))
		return 0;
	return (c == CELLS_ZWJ && is_emoji(b->base) && is_emoji(after)) ||
	       (is_joining(b->last) && is_joining(after));
}

int cells_shows(const struct cells_before *b, int32_t c, const char *next, const char *end)
{
	return steers(c) || (invisible(c) && !belongs(b, c, next, end));
}

void cells_passed(struct cells_before *b, int32_t c)
{
	b->last = c;
	if (!is_variation(c) && (c < 0x1f3fb || c > 0x1f3ff))
		b->base = c;
}

size_t cells_visible(char out[CELLS_VISIBLE], int32_t c, enum cells_form form)
{
	int n;

	if (form == CELLS_JSON && c > 0xffff)
		n = snprintf(out, CELLS_VISIBLE, "\\u%04x\\u%04x", 0xd800u + (unsigned)((c - 0x10000) >> 10),
			     0xdc00u + (unsigned)(c & 0x3ff));
	else if (form == CELLS_JSON)
		n = snprintf(out, CELLS_VISIBLE, "\\u%04x", (unsigned)c);
	else if (c < 0x20 || c == 0x7f)
		n = snprintf(out, CELLS_VISIBLE, "^%c", (char)(c ^ 0x40));
	else
		n = snprintf(out, CELLS_VISIBLE, "<U+%04X>", (unsigned)c);
	return (size_t)n;
}

size_t cells_visible_byte(char out[CELLS_VISIBLE], unsigned char byte, enum cells_form form)
{
	return (size_t)(form == CELLS_JSON ? snprintf(out, CELLS_VISIBLE, "\\ufffd") :
					    snprintf(out, CELLS_VISIBLE, "<%02X>", byte));
}

/* -------------------------------------------------------------------- cells */

void cells_init(struct cells *it, struct grove_slice text, int collapse)
{
	it->p = text.ptr;
	it->end = text.ptr + text.len;
	it->column = 0;
	it->collapse = collapse;
	it->before = (struct cells_before){ 0 };
	if (collapse)
		while (it->p < it->end && cells_space(*it->p))
			it->p++;
}

static unsigned char_width(int32_t c)
{
	int w = utf8proc_charwidth(c);

	return w > 0 ? (unsigned)w : 0;
}

/* A letter with its marks. Marks beyond the needs of any script are dropped. */
static void cluster(struct cells *it, struct cell *cell, int32_t c, size_t n)
{
	enum { LONGEST = 96 };
	int32_t state = 0, next;

	cell->ptr = it->p;
	cell->len = n;
	cell->first = c;
	cell->width = char_width(c);
	it->p += n;
	cells_passed(&it->before, c);
	while (it->p < it->end) {
		n = cells_decode(it->p, it->end, &next);
		if (!n || cells_shows(&it->before, next, it->p + n, it->end) || utf8proc_grapheme_break_stateful(c, next, &state))
			break;
		if (char_width(next) > cell->width)
			cell->width = char_width(next);
		if (next == EMOJI_STYLE) /* display as emoji, two columns wide */
			cell->width = 2;
		if (cell->len + n <= LONGEST)
			cell->len += n;
		it->p += n;
		c = next;
		cells_passed(&it->before, c);
	}
}

int cells_next(struct cells *it, struct cell *cell)
{
	static const char spaces[] = "        ";
	int32_t c;
	size_t n;

	cell->first = 0;
	if (it->collapse && it->p < it->end && cells_space(*it->p)) {
		while (it->p < it->end && cells_space(*it->p))
			it->p++;
		if (it->p == it->end)
			return 0;
		cell->ptr = spaces;
		cell->len = cell->width = 1;
		it->column++;
		cells_passed(&it->before, ' ');
		return 1;
	}
	if (it->p == it->end)
		return 0;
	/* fast path: an ASCII character followed by another is a cell of its own */
	if (*it->p >= ' ' && *it->p < 0x7f && (it->p + 1 == it->end || (unsigned char)it->p[1] < 0x80)) {
		cell->ptr = it->p++;
		cell->len = cell->width = 1;
		cell->first = *cell->ptr;
		it->column++;
		cells_passed(&it->before, cell->first);
		return 1;
	}
	n = cells_decode(it->p, it->end, &c);
	if (n && c == '\t') {
		cell->ptr = spaces;
		cell->len = cell->width = 8 - it->column % 8;
		it->p++;
		cells_passed(&it->before, c);
	} else if (!n || cells_shows(&it->before, c, it->p + n, it->end)) {
		cell->len = n ? cells_visible(cell->seen, c, CELLS_TEXT) :
				cells_visible_byte(cell->seen, (unsigned char)*it->p, CELLS_TEXT);
		cell->ptr = cell->seen;
		cell->width = (unsigned)cell->len;
		it->p += n ? n : 1;
		cells_passed(&it->before, n ? c : 1);
	} else {
		cluster(it, cell, c, n);
	}
	it->column += cell->width;
	return 1;
}
