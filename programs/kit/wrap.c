/*
 * wrap.c: wraps text from others.
 *
 * Only whole words are written, so a word is buffered until its end is known. Its style may
 * change within it; the escapes are buffered with its bytes. A line ends without a style,
 * because a prefix has its own, and the next line sets the style of its first word.
 */
#include "wrap.h"

#include "cells.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------- styles */

static void put_style(struct out *to, int color, unsigned style)
{
	static const char *const codes[] = { ";1", ";2", ";3", ";4", ";9" };
	unsigned hue = style >> WRAP_COLOR;

	if (!color)
		return;
	out_puts(to, "\033[0");
	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (style & 1u << i)
			out_puts(to, codes[i]);
	if (hue)
		out_printf(to, ";%u", 31 + hue - OUT_RED);
	out_puts(to, "m");
}

static void set_style(struct wrap *w, unsigned style)
{
	if (w->shown != style)
		put_style(w->o, w->o->color, style);
	w->shown = style;
}

void wrap_prefix_add(struct wrap_prefix *p, const struct out *o, const char *words, unsigned style)
{
	struct out b;
	size_t spaces = strlen(words);

	out_init(&b, -1);
	/* trailing blanks come last, so that an empty line can omit them */
	while (spaces && words[spaces - 1] == ' ')
		spaces--;
	if (style && spaces)
		put_style(&b, o->color, style);
	out_bytes(&b, words, spaces);
	if (style && spaces)
		put_style(&b, o->color, 0);
	out_puts(&b, words + spaces);
	if (p->len + b.len <= sizeof(p->bytes)) {
		memcpy(p->bytes + p->len, b.ptr, b.len);
		p->len += b.len;
		p->width += out_columns(out_str(words));
	}
	out_release(&b);
}

/* -------------------------------------------------------------------- lines */

void wrap_init(struct wrap *w, struct out *o, unsigned width)
{
	memset(w, 0, sizeof(*w));
	w->o = o;
	w->width = width;
	out_init(&w->word, -1);
}

void wrap_release(struct wrap *w)
{
	out_release(&w->word);
}

void wrap_prefix(struct wrap *w, const struct wrap_prefix *first, const struct wrap_prefix *rest)
{
	static const struct wrap_prefix none;

	w->first = first ? *first : none;
	w->rest = rest ? *rest : none;
	w->begun = 0;
}

static const struct wrap_prefix *next_prefix(const struct wrap *w)
{
	return w->begun ? &w->rest : &w->first;
}

static void open_line(struct wrap *w)
{
	const struct wrap_prefix *p = next_prefix(w);

	out_bytes(w->o, p->bytes, p->len);
	w->column = w->start = p->width;
	w->begun = w->open = 1;
	w->gap = 0;
}

static void end_line(struct wrap *w)
{
	set_style(w, 0);
	if (w->fill && w->column < w->width)
		out_pad(w->o, w->width - w->column);
	out_puts(w->o, "\n");
	w->lines++;
	w->open = 0;
	w->gap = 0;
}

/* Prints a line without words: its prefix without trailing blanks. */
static void empty_line(struct wrap *w)
{
	const struct wrap_prefix *p = next_prefix(w);
	size_t len = p->len;

	while (len && p->bytes[len - 1] == ' ')
		len--;
	out_bytes(w->o, p->bytes, len);
	w->column = p->width - (unsigned)(p->len - len);
	w->begun = 1;
	end_line(w);
}

static void put_word(struct wrap *w)
{
	if (!w->word.len)
		return;
	if (w->open && w->column + w->gap + w->word_width > w->width && w->column > w->start)
		end_line(w);
	if (!w->open)
		open_line(w);
	if (w->gap) {
		set_style(w, w->gap_style);
		out_pad(w->o, w->gap);
	}
	set_style(w, w->word_begin);
	out_bytes(w->o, w->word.ptr, w->word.len);
	w->shown = w->word_end;
	w->column += w->gap + w->word_width;
	w->gap = 0;
	w->word.len = 0;
	w->word_width = 0;
	w->last = 0;
}

void wrap_line(struct wrap *w)
{
	put_word(w);
	if (w->open)
		end_line(w);
	else
		empty_line(w);
}

void wrap_end(struct wrap *w)
{
	put_word(w);
	if (w->open)
		end_line(w);
	w->gap = 0;
}

/* -------------------------------------------------------------------- words */

static int is_one_of(int32_t c, const int32_t *list)
{
	while (*list && *list != c)
		list++;
	return *list != 0;
}

/* Characters that cannot begin a line: 、。」）！ and similar; also ー and small kana. */
static int closes(int32_t c)
{
	static const int32_t list[] = {
		0x3001, 0x3002, 0x3005, 0x3009, 0x300b, 0x300d, 0x300f, 0x3011, 0x3015, 0x3041, 0x3043,
		0x3045, 0x3047, 0x3049, 0x3063, 0x3083, 0x3085, 0x3087, 0x30a1, 0x30a3, 0x30a5, 0x30a7,
		0x30a9, 0x30c3, 0x30e3, 0x30e5, 0x30e7, 0x30fb, 0x30fc, 0xff01, 0xff09, 0xff0c, 0xff0e,
		0xff1a, 0xff1b, 0xff1f, 0xff3d, 0xff5d, '.', ',', ':', ';', '!', '?', ')', ']', '}', '%', 0,
	};

	return is_one_of(c, list);
}

/* Characters that cannot end a line: 「（ and similar. */
static int opens(int32_t c)
{
	static const int32_t list[] = { 0x3008, 0x300a, 0x300c, 0x300e, 0x3010, 0x3014,
					0xff08, 0xff3b, 0xff5b, '(',    '[',    '{',    0 };

	return is_one_of(c, list);
}

/* Scripts without spaces between words, and emoji. */
static int is_wide(int32_t c)
{
	return (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff00 && c <= 0xff60) ||
	       (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3ffff);
}

/* Returns true if a line may be broken between these two. */
static int may_break(int32_t before, int32_t after)
{
	return (is_wide(before) || is_wide(after)) && !closes(after) && !opens(before);
}

static void add_cell(struct wrap *w, const struct cell *cell, unsigned style)
{
	unsigned room = w->width > w->rest.width ? w->width - w->rest.width : 1;

	if (w->word_width && (w->word_width + cell->width > room || may_break(w->last, cell->first)))
		put_word(w);
	if (!w->word.len)
		w->word_begin = style;
	else if (w->word_end != style)
		put_style(&w->word, w->o->color, style);
	w->word_end = style;
	out_bytes(&w->word, cell->ptr, cell->len);
	w->word_width += cell->width;
	w->last = cell->first;
}

static const char *line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl : end;
}

/* Returns a line without its line end, which may be CR LF. */
static struct grove_slice line_at(const char *p, const char *stop)
{
	struct grove_slice line = { p, (size_t)(stop - p) };

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

/*
 * Fast path for ASCII, where a byte is a column: takes part of a word, at most `most`
 * bytes. A character that may be followed by a mark is left to the cells.
 */
static int plain_part(struct cells *it, unsigned most, struct cell *cell)
{
	const char *p = it->p;

	while (p < it->end && *p > ' ' && *p < 0x7f && (unsigned)(p - it->p) < most)
		p++;
	if (p > it->p && p < it->end && (unsigned char)*p >= 0x80)
		p--;
	if (p == it->p)
		return 0;
	cell->ptr = it->p;
	cell->len = (size_t)(p - it->p);
	cell->width = (unsigned)cell->len;
	cell->first = *it->p;
	it->p = p;
	it->column += cell->width;
	cells_passed(&it->before, p[-1]);
	return 1;
}

static void add_words(struct wrap *w, struct grove_slice line, unsigned style)
{
	unsigned room = w->width > w->rest.width ? w->width - w->rest.width : 1;
	struct cells it;
	struct cell cell;

	cells_init(&it, line, 0);
	for (;;) {
		if (plain_part(&it, room, &cell)) {
			add_cell(w, &cell, style);
			w->last = it.before.last;
			continue;
		}
		if (!cells_next(&it, &cell))
			break;
		if (cell.first != ' ' && (cell.first || cell.ptr == cell.seen)) {
			add_cell(w, &cell, style);
			continue;
		}
		put_word(w);
		w->gap += cell.width;
		w->gap_style = style;
	}
}

void wrap_text(struct wrap *w, struct grove_slice text, unsigned style)
{
	const char *p = text.ptr, *end = p + text.len;

	while (p < end) {
		const char *stop = line_end(p, end);

		add_words(w, stop < end ? line_at(p, stop) : (struct grove_slice){ p, (size_t)(end - p) }, style);
		if (stop < end)
			wrap_line(w);
		p = stop + 1;
	}
}

static void add_code(struct wrap *w, struct grove_slice line, unsigned style)
{
	struct cells it;
	struct cell cell;

	cells_init(&it, line, 0);
	while (cells_next(&it, &cell)) {
		if (!w->open)
			open_line(w);
		if (w->column + cell.width > w->width && w->column > w->start) {
			end_line(w);
			open_line(w);
		}
		set_style(w, style);
		out_bytes(w->o, cell.ptr, cell.len);
		w->column += cell.width;
	}
}

void wrap_code(struct wrap *w, struct grove_slice text, unsigned style)
{
	const char *p = text.ptr, *end = p + text.len;

	put_word(w);
	while (p < end) {
		const char *stop = line_end(p, end);

		add_code(w, line_at(p, stop), style);
		if (stop < end)
			wrap_line(w);
		p = stop + 1;
	}
}

/* -------------------------------------------------------------------- texts */

/* Returns the length of a list mark at the beginning of a line, including the space after it. */
static size_t list_mark(struct grove_slice line)
{
	size_t n = 0;

	while (n < line.len && n < 3 && line.ptr[n] >= '0' && line.ptr[n] <= '9')
		n++;
	if (n && (n == line.len || (line.ptr[n] != '.' && line.ptr[n] != ')')))
		return 0;
	if (!n && (!line.len || !memchr("-*+>", line.ptr[0], 4)))
		return 0;
	return n + 1 < line.len && line.ptr[n + 1] == ' ' ? n + 2 : 0;
}

static void indent(struct wrap_prefix *p, unsigned columns)
{
	if (columns > sizeof(p->bytes) - p->len)
		columns = (unsigned)(sizeof(p->bytes) - p->len);
	memset(p->bytes + p->len, ' ', columns);
	p->len += columns;
	p->width += columns;
}

/* Prints one line; its continuation lines get the same indent. */
static void one_line(struct wrap *w, struct grove_slice line, const struct wrap_prefix *prefix, unsigned style)
{
	struct wrap_prefix first = *prefix, rest;
	unsigned columns = 0, most = w->width > prefix->width ? (w->width - prefix->width) / 2 : 0;

	while (line.len && (*line.ptr == ' ' || *line.ptr == '\t')) {
		columns += *line.ptr == ' ' ? 1 : 8 - columns % 8;
		line.ptr++;
		line.len--;
	}
	indent(&first, columns < most ? columns : most);
	rest = first;
	indent(&rest, (unsigned)list_mark(line));
	wrap_prefix(w, &first, &rest);
	wrap_text(w, line, style);
	wrap_line(w);
}

void wrap_lines(struct wrap *w, struct grove_slice text, const struct wrap_prefix *prefix, unsigned style)
{
	const char *p = text.ptr, *end = p + text.len;

	while (end > p && cells_space(end[-1]))
		end--;
	while (p < end && !out_failed(w->o)) {
		const char *stop = line_end(p, end);

		one_line(w, line_at(p, stop), prefix, style);
		p = stop + 1;
	}
}
