/*
 * markdown.c: renders Markdown for a terminal.
 *
 * md4c calls us at the beginning and end of every block and span, and with the text in
 * between. Blocks that contain others (quotes, lists, list items) only change the prefix of
 * the lines; those with text (paragraphs, headings, code, tables) are printed when they
 * end, or word by word as the text comes.
 *
 * Blocks are separated by an empty line, which is `due` when the first has ended and is
 * written before the second. The items of a tight list have none. A bullet waits until its
 * item has a line to print it on.
 *
 * All text comes from others and goes through a wrap, which defuses everything a terminal
 * would interpret; so does what entities like &#27; stand for. HTML is shown as typed, and
 * a link's address next to its text: a model must not decide where a clickable link leads.
 */
#include "markdown.h"

#include "cells.h"
#include "cli.h"
#include "markdown_table.h"

#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONGEST = 16 << 20,       /* bytes; nobody reads more */
	DEEPEST = 32,             /* distinct levels of lists and quotes */
	LINKS = 8,                /* nested */
	CODE_STYLE = OUT_YELLOW << WRAP_COLOR,
	URL_STYLE = WRAP_DIM
};

struct level {
	struct wrap_prefix prefix;  /* outside of it */
	int is_list, is_item, tight, ordered;
	unsigned first, items;      /* the number of the first item; items so far */
	char delimiter;
};

struct markdown {
	struct out *o;
	const struct markdown_look *look;
	struct wrap w;
	struct wrap_prefix prefix;   /* of the lines of the current block */
	struct wrap_prefix bullet;   /* for its first line, if it begins an item */
	int has_bullet;
	int due;                     /* an empty line is needed */
	int in_text;                 /* inside a paragraph */
	struct level level[DEEPEST];
	size_t depth, lost;          /* levels, and those beyond the maximum */
	unsigned style, bold, italic, strike, in_code;  /* of a block; spans may nest */
	struct grove_buf words[LINKS];  /* the text of the links we are in */
	size_t links;
	struct table table;
	int in_table;
	struct grove_buf code, language;
	int in_block;                /* of code */
};

/* --------------------------------------------------------------------- lines */

static void empty_line(struct markdown *m)
{
	wrap_prefix(&m->w, &m->prefix, &m->prefix);
	wrap_line(&m->w);
}

/* Begins a block with lines; sets the prefixes of its first line and of the others. */
static void begin_lines(struct markdown *m, struct wrap_prefix *first)
{
	if (m->due)
		empty_line(m);
	m->due = 0;
	*first = m->has_bullet ? m->bullet : m->prefix;
	m->has_bullet = 0;
}

static void begin_text(struct markdown *m)
{
	struct wrap_prefix first;

	if (m->in_text)
		return;
	begin_lines(m, &first);
	m->w.width = m->look->width;
	wrap_prefix(&m->w, &first, &m->prefix);
	m->in_text = 1;
}

static void end_text(struct markdown *m)
{
	if (!m->in_text)
		return;
	wrap_end(&m->w);
	m->in_text = 0;
	m->due = 1;
}

/* -------------------------------------------------------------------- spans */

static unsigned style_of(const struct markdown *m)
{
	unsigned style = m->style;

	if (m->in_code)
		return style | CODE_STYLE;
	return style | (m->bold ? WRAP_BOLD : 0) | (m->italic ? WRAP_ITALIC : 0) |
	       (m->strike ? WRAP_STRIKE : 0) | (m->links ? WRAP_UNDERLINE : 0);
}

static void put(struct markdown *m, struct grove_slice text, unsigned style)
{
	if (m->links && m->links <= LINKS)
		cli_add(&m->words[m->links - 1], text.ptr, text.len);
	if (m->in_table) {
		table_text(&m->table, text, style);
		return;
	}
	begin_text(m);
	wrap_text(&m->w, text, style);
}

/* Prints a Markdown mark where the terminal has no style for it. */
static void mark(struct markdown *m, const char *mark)
{
	if (!m->o->color)
		put(m, out_str(mark), style_of(m));
}

static void begin_link(struct markdown *m)
{
	if (m->links++ < LINKS)
		m->words[m->links - 1].len = 0;
}

/* Prints the address after the link's text, unless they are the same. */
static void end_link(struct markdown *m, const MD_ATTRIBUTE *address)
{
	struct grove_slice to = { address->text, address->size }, words;
	unsigned style = m->style | URL_STYLE;

	if (--m->links >= LINKS)
		return;
	words = grove_buf_slice(&m->words[m->links]);
	if (!to.len || (to.len == words.len && !memcmp(to.ptr, words.ptr, to.len)) ||
	    (to.len == words.len + 7 && !memcmp(to.ptr, "mailto:", 7)))
		return;
	put(m, out_str(" ("), style);
	put(m, to, style);
	put(m, out_str(")"), style);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *payload)
{
	struct markdown *m = payload;

	(void)detail;
	switch (type) {
	case MD_SPAN_EM:
		mark(m, "*");
		m->italic++;
		break;
	case MD_SPAN_STRONG:
		mark(m, "**");
		m->bold++;
		break;
	case MD_SPAN_DEL:
		mark(m, "~~");
		m->strike++;
		break;
	case MD_SPAN_CODE:
		mark(m, "`");
		m->in_code++;
		break;
	case MD_SPAN_A:
		begin_link(m);
		break;
	case MD_SPAN_IMG:
		begin_link(m);
		put(m, out_str("image: "), style_of(m));
		break;
	default:
		break;
	}
	return out_failed(m->o);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *payload)
{
	struct markdown *m = payload;

	switch (type) {
	case MD_SPAN_EM:
		m->italic--;
		mark(m, "*");
		break;
	case MD_SPAN_STRONG:
		m->bold--;
		mark(m, "**");
		break;
	case MD_SPAN_DEL:
		m->strike--;
		mark(m, "~~");
		break;
	case MD_SPAN_CODE:
		m->in_code--;
		mark(m, "`");
		break;
	case MD_SPAN_A:
		end_link(m, &((const MD_SPAN_A_DETAIL *)detail)->href);
		break;
	case MD_SPAN_IMG:
		end_link(m, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
		break;
	default:
		break;
	}
	return out_failed(m->o);
}

/* ----------------------------------------------------------------- entities */

/* Decodes an entity such as &#8212; or &amp;. Returns 0 if it is unknown. */
static size_t read_entity(struct grove_slice e, char out[4])
{
	static const struct {
		const char *name;
		uint32_t c;
	} names[] = { { "&amp;", '&' },    { "&lt;", '<' },       { "&gt;", '>' },       { "&quot;", '"' },
		      { "&apos;", '\'' },  { "&nbsp;", 0xa0 },    { "&hellip;", 0x2026 }, { "&mdash;", 0x2014 },
		      { "&ndash;", 0x2013 }, { "&rarr;", 0x2192 }, { "&larr;", 0x2190 },   { "&copy;", 0xa9 },
		      { "&times;", 0xd7 } };
	char digits[12] = "", *end;
	unsigned long c;
	int hex = e.len > 3 && (e.ptr[2] == 'x' || e.ptr[2] == 'X');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (e.len == strlen(names[i].name) && !memcmp(e.ptr, names[i].name, e.len))
			return cells_encode(names[i].c, out);
	if (e.len < 4 || e.ptr[1] != '#' || e.len - 3 - (size_t)hex >= sizeof(digits))
		return 0;
	memcpy(digits, e.ptr + 2 + hex, e.len - 3 - (size_t)hex);
	c = strtoul(digits, &end, hex ? 16 : 10);
	if (*end || !*digits || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return cells_encode((uint32_t)c, out);
}

static int text(MD_TEXTTYPE type, const MD_CHAR *ptr, MD_SIZE size, void *payload)
{
	struct markdown *m = payload;
	struct grove_slice t = { ptr, size };
	char bytes[4];
	size_t n;

	if (m->in_block) {
		cli_add(&m->code, ptr, size);
		return 0;
	}
	switch (type) {
	case MD_TEXT_NULLCHAR:
		put(m, (struct grove_slice){ "", 1 }, style_of(m));
		break;
	case MD_TEXT_BR:
	case MD_TEXT_SOFTBR:
		/* in a chat, a line end is intended */
		put(m, out_str(m->in_table ? " " : "\n"), style_of(m));
		break;
	case MD_TEXT_ENTITY:
		n = read_entity(t, bytes);
		put(m, n ? (struct grove_slice){ bytes, n } : t, style_of(m));
		break;
	default:
		put(m, t, style_of(m));
	}
	return out_failed(m->o);
}

/* --------------------------------------------------------------------- code */

static unsigned longest_line(struct grove_slice text, unsigned most)
{
	const char *p = text.ptr, *end = p + text.len;
	unsigned longest = 0;

	while (p < end && longest < most) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct grove_slice line = { p, (size_t)((nl ? nl : end) - p) };
		unsigned n = line.len > 8 * (size_t)most ? most : out_columns(line);

		if (n > longest)
			longest = n;
		p = nl ? nl + 1 : end;
	}
	return longest < most ? longest : most;
}

static void edge(struct markdown *m, const struct wrap_prefix *prefix, const char *corner, struct grove_slice words,
		 unsigned width)
{
	struct out *o = m->o;
	unsigned used = 2;

	out_bytes(o, prefix->bytes, prefix->len);
	out_style(o, OUT_DIM);
	out_puts(o, corner);
	out_puts(o, "─");
	if (words.len) {
		out_puts(o, " ");
		used += 2 + out_fit(o, words, width / 2);
		out_puts(o, " ");
	}
	for (; used < width; used++)
		out_puts(o, "─");
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static void print_code(struct markdown *m)
{
	struct grove_slice code = grove_buf_slice(&m->code);
	struct wrap_prefix first, bar = m->prefix, more = m->prefix;
	unsigned room = m->look->wide > m->prefix.width ? m->look->wide - m->prefix.width : 1;
	unsigned width;

	while (code.len && code.ptr[code.len - 1] == '\n')
		code.len--;
	begin_lines(m, &first);
	width = longest_line(code, room) + 3;
	if (width < 24)
		width = 24;
	if (width > room)
		width = room;
	edge(m, &first, "┌", grove_buf_slice(&m->language), width);
	wrap_prefix_add(&bar, m->o, "│ ", WRAP_DIM);
	wrap_prefix_add(&more, m->o, "┊ ", WRAP_DIM);  /* continues the line above */
	m->w.width = m->look->wide;
	while (code.len) {
		const char *nl = memchr(code.ptr, '\n', code.len);
		size_t n = nl ? (size_t)(nl - code.ptr) : code.len;

		wrap_prefix(&m->w, &bar, &more);
		wrap_code(&m->w, (struct grove_slice){ code.ptr, n }, m->look->style);
		wrap_line(&m->w);
		n += nl ? 1 : 0;
		code.ptr += n;
		code.len -= n;
	}
	edge(m, &m->prefix, "└", out_str(""), width);
	m->due = 1;
}

/* ------------------------------------------------------------------- levels */

static struct level *innermost(struct markdown *m)
{
	return m->depth ? &m->level[m->depth - 1] : NULL;
}

/* Begins a block that contains others. If there is no room left, it is not indented. */
static struct level *enter_level(struct markdown *m)
{
	struct level *l;

	end_text(m);
	if (m->depth == DEEPEST) {
		m->lost++;
		return NULL;
	}
	l = &m->level[m->depth++];
	memset(l, 0, sizeof(*l));
	l->prefix = m->prefix;
	return l;
}

static void leave_level(struct markdown *m)
{
	end_text(m);
	if (m->lost)
		m->lost--;
	else
		m->prefix = m->level[--m->depth].prefix;
}

static int has_room(const struct markdown *m)
{
	return m->prefix.width + 16 < m->look->width;
}

/* Even an item without any line has a bullet. */
static void put_bullet(struct markdown *m)
{
	struct wrap_prefix first;

	if (!m->has_bullet)
		return;
	begin_lines(m, &first);
	wrap_prefix(&m->w, &first, NULL);
	wrap_line(&m->w);
}

static void enter_quote(struct markdown *m)
{
	put_bullet(m);
	if (!enter_level(m))
		return;
	if (m->due)
		empty_line(m);
	m->due = 0;
	if (has_room(m))
		wrap_prefix_add(&m->prefix, m->o, "▎ ", WRAP_DIM);
}

static void enter_list(struct markdown *m, int tight, unsigned number, char delimiter)
{
	const struct level *outer;
	struct level *l;

	end_text(m);
	outer = innermost(m);
	/* a list within an item of a tight list directly follows its text */
	if (outer && outer->is_item && outer->tight)
		m->due = 0;
	l = enter_level(m);
	if (!l)
		return;
	l->is_list = 1;
	l->tight = tight;
	l->ordered = delimiter != 0;
	l->first = number;
	l->delimiter = delimiter;
}

static void enter_item(struct markdown *m, const MD_BLOCK_LI_DETAIL *item)
{
	static const char *const bullets[] = { "• ", "◦ ", "▪ " };
	struct level *list = innermost(m), *l;
	char mark[32] = "";
	size_t deep = 0;
	unsigned columns;

	put_bullet(m);
	end_text(m);
	if (list && list->items++ && list->tight)
		m->due = 0;
	l = enter_level(m);
	if (!l || !list || !list->is_list || !has_room(m))
		return;
	l->is_item = 1;
	l->tight = list->tight;
	for (size_t i = 0; i < m->depth; i++)
		deep += m->level[i].is_list && !m->level[i].ordered;
	if (item->is_task)
		snprintf(mark, sizeof(mark), "%s", item->task_mark == ' ' ? "☐ " : "☑ ");
	else if (list->ordered)
		snprintf(mark, sizeof(mark), "%u%c ", list->first + list->items - 1, list->delimiter);
	else
		snprintf(mark, sizeof(mark), "%s", bullets[(deep - 1) % 3]);
	m->bullet = m->prefix;
	wrap_prefix_add(&m->bullet, m->o, mark, WRAP_DIM);
	m->has_bullet = 1;
	for (columns = out_columns(out_str(mark)); columns; columns--)
		wrap_prefix_add(&m->prefix, m->o, " ", 0);
}

static void leave_item(struct markdown *m)
{
	const struct level *l;

	end_text(m);
	put_bullet(m);
	l = innermost(m);
	m->due = !(l && l->is_item && l->tight);
	leave_level(m);
}

/* ------------------------------------------------------------------- blocks */

static void enter_heading(struct markdown *m, unsigned level)
{
	static const unsigned styles[] = { WRAP_BOLD | WRAP_UNDERLINE, WRAP_BOLD, WRAP_BOLD | WRAP_ITALIC };
	char hashes[8] = "###### ";

	end_text(m);
	m->style |= styles[level < 3 ? level - 1 : 2];
	begin_text(m);
	if (!m->o->color)
		wrap_text(&m->w, out_str(hashes + 6 - level), 0);
}

static void put_rule(struct markdown *m)
{
	struct wrap_prefix first;
	unsigned room = m->look->width > m->prefix.width ? m->look->width - m->prefix.width : 1;

	end_text(m);
	begin_lines(m, &first);
	out_bytes(m->o, first.bytes, first.len);
	out_style(m->o, OUT_DIM);
	for (unsigned i = 0; i < room && i < 40; i++)
		out_puts(m->o, "─");
	out_style(m->o, OUT_PLAIN);
	out_puts(m->o, "\n");
	m->due = 1;
}

static void put_table(struct markdown *m)
{
	struct wrap_prefix first;

	m->in_table = 0;
	begin_lines(m, &first);
	table_print(&m->table, m->o, &first, &m->prefix, m->look->wide);
	table_release(&m->table);
	m->due = 1;
}

static enum table_align align_of(const MD_BLOCK_TD_DETAIL *cell)
{
	return cell->align == MD_ALIGN_RIGHT ? TABLE_RIGHT : cell->align == MD_ALIGN_CENTER ? TABLE_CENTER : TABLE_LEFT;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *payload)
{
	struct markdown *m = payload;
	const MD_BLOCK_OL_DETAIL *ol = detail;
	const MD_BLOCK_CODE_DETAIL *code = detail;

	switch (type) {
	case MD_BLOCK_QUOTE:
		enter_quote(m);
		break;
	case MD_BLOCK_UL:
		enter_list(m, ((const MD_BLOCK_UL_DETAIL *)detail)->is_tight, 1, 0);
		break;
	case MD_BLOCK_OL:
		enter_list(m, ol->is_tight, ol->start, ol->mark_delimiter);
		break;
	case MD_BLOCK_LI:
		enter_item(m, detail);
		break;
	case MD_BLOCK_HR:
		put_rule(m);
		break;
	case MD_BLOCK_H:
		enter_heading(m, ((const MD_BLOCK_H_DETAIL *)detail)->level);
		break;
	case MD_BLOCK_CODE:
		end_text(m);
		m->in_block = 1;
		m->code.len = m->language.len = 0;
		cli_add(&m->language, code->lang.text, code->lang.size);
		break;
	case MD_BLOCK_TABLE:
		end_text(m);
		m->in_table = 1;
		break;
	case MD_BLOCK_TR:
		table_row(&m->table);
		break;
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		table_cell(&m->table, align_of(detail));
		break;
	default:
		end_text(m);
	}
	return out_failed(m->o);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *payload)
{
	struct markdown *m = payload;

	(void)detail;
	switch (type) {
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		leave_level(m);
		m->due = 1;
		break;
	case MD_BLOCK_LI:
		leave_item(m);
		break;
	case MD_BLOCK_H:
		end_text(m);
		m->style = m->look->style;
		break;
	case MD_BLOCK_CODE:
		m->in_block = 0;
		print_code(m);
		break;
	case MD_BLOCK_TABLE:
		put_table(m);
		break;
	case MD_BLOCK_P:
		end_text(m);
		break;
	default:
		break;
	}
	return out_failed(m->o);
}

int markdown_print(struct out *o, struct grove_slice text_of, const struct markdown_look *look)
{
	const MD_PARSER parser = {
		.flags = MD_FLAG_COLLAPSEWHITESPACE | MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_TABLES |
			 MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML,
		.enter_block = enter_block,
		.leave_block = leave_block,
		.enter_span = enter_span,
		.leave_span = leave_span,
		.text = text,
	};
	struct markdown *m;

	if (text_of.len > LONGEST)
		return 1;
	m = cli_realloc(NULL, 1, sizeof(*m));
	memset(m, 0, sizeof(*m));
	m->o = o;
	m->look = look;
	m->prefix = look->prefix;
	m->style = look->style;
	wrap_init(&m->w, o, look->width);
	/* fails if out of memory, or if we abort because the output failed */
	md_parse(text_of.ptr, (MD_SIZE)text_of.len, &parser, m);
	end_text(m);
	for (size_t i = 0; i < LINKS; i++)
		grove_buf_release(&m->words[i]);
	grove_buf_release(&m->code);
	grove_buf_release(&m->language);
	table_release(&m->table);
	wrap_release(&m->w);
	free(m);
	return 0;
}
