/*
 * out.c: buffered output, safe for a terminal.
 *
 * Text is walked in cells: what a terminal shows as one, a letter with its
 * marks, an emoji joined of several, or the visible form of a character that
 * it must not get. A cell has a width in columns, so cutting between cells
 * cuts where a reader would.
 */
#include "out.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

enum { BUFFER = 64 * 1024 };

const char *const out_color_names[] = { "auto", "always", "never", NULL };

/* ------------------------------------------------------------------- buffer */

static unsigned width_of(const struct out *o)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;

	if (columns && *columns) {
		char *end;
		unsigned long n = strtoul(columns, &end, 10);

		if (!*end && n >= 20 && n <= 10000)
			return (unsigned)n;
	}
	if (!o->tty)
		return OUT_WIDTH_DEFAULT;
	if (!ioctl(o->fd, TIOCGWINSZ, &ws) && ws.ws_col >= 20)
		return ws.ws_col;
	return 80;
}

void out_init(struct out *o, int fd)
{
	memset(o, 0, sizeof(*o));
	o->fd = fd;
	o->tty = fd >= 0 && isatty(fd);
	o->width = width_of(o);
	out_color(o, OUT_COLOR_AUTO);
}

void out_color(struct out *o, enum out_color when)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (when == OUT_COLOR_AUTO)
		o->color = o->tty && !(no && *no) && term && *term && strcmp(term, "dumb");
	else
		o->color = when == OUT_COLOR_ALWAYS;
}

void out_release(struct out *o)
{
	free(o->ptr);
	o->ptr = NULL;
	o->len = o->cap = 0;
}

static void write_all(struct out *o, const char *p, size_t len)
{
	while (len && !o->failed) {
		ssize_t n = write(o->fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			/* whoever shares the pipe with us made it non-blocking */
			struct pollfd wait = { .fd = o->fd, .events = POLLOUT };

			poll(&wait, 1, -1);
			continue;
		}
		if (n < 0) {
			if (errno != EINTR)
				o->failed = errno;
			continue;
		}
		o->left = 1;
		p += n;
		len -= (size_t)n;
	}
}

int out_flush(struct out *o)
{
	if (o->fd >= 0) {
		write_all(o, o->ptr, o->len);
		o->len = 0;
	}
	return out_failed(o);
}

int out_failed(const struct out *o)
{
	return o->failed ? GROVE_EIO : 0;
}

int out_discard(struct out *o)
{
	o->len = 0;
	o->carried = 0;
	return !o->left;
}

static int grow(struct out *o, size_t more)
{
	size_t cap = o->cap ? o->cap : BUFFER;
	char *p;

	if (o->fd >= 0 && o->cap && o->len + more > o->cap)
		out_flush(o);
	if (o->len + more <= o->cap)
		return 0;
	while (cap < o->len + more)
		cap *= 2;
	p = realloc(o->ptr, cap);
	if (!p) {
		o->failed = ENOMEM;
		return -1;
	}
	o->ptr = p;
	o->cap = cap;
	return 0;
}

void out_bytes(struct out *o, const char *ptr, size_t len)
{
	if (o->failed || !len)
		return;
	o->last = ptr[len - 1];
	if (o->fd >= 0 && len >= BUFFER) {
		out_flush(o);
		write_all(o, ptr, len);
		return;
	}
	if (grow(o, len))
		return;
	memcpy(o->ptr + o->len, ptr, len);
	o->len += len;
}

void out_puts(struct out *o, const char *str)
{
	out_bytes(o, str, strlen(str));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		out_bytes(o, small, (size_t)n);
	} else if (n >= 0 && !o->failed && !grow(o, (size_t)n + 1)) {
		vsnprintf(o->ptr + o->len, (size_t)n + 1, fmt, again);
		o->len += (size_t)n;
		o->last = o->ptr[o->len - 1];
	}
	va_end(again);
}

void out_end_line(struct out *o)
{
	if (o->last != '\n')
		out_bytes(o, "\n", 1);
}

void out_pad(struct out *o, unsigned columns)
{
	static const char spaces[] = "                                ";

	for (; columns >= sizeof(spaces); columns -= (unsigned)sizeof(spaces) - 1)
		out_bytes(o, spaces, sizeof(spaces) - 1);
	out_bytes(o, spaces, columns);
}

void out_style(struct out *o, enum out_style style)
{
	static const char *const code[] = {
		"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m",
		"\033[33m", "\033[34m", "\033[35m", "\033[36m",
	};

	if (o->color)
		out_puts(o, code[style]);
}

/* --------------------------------------------------------------- characters */

/*
 * Would it steer the terminal, or the order in which a line is read? C0, DEL,
 * C1; marks, embeddings, overrides and isolates of direction; the two
 * separators that some programs take for line ends.
 */
static int steers(utf8proc_int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

enum {
	ZWNJ = 0x200c,
	ZWJ = 0x200d,
	EMOJI_STYLE = 0xfe0f
};

static int is_variation(utf8proc_int32_t c)
{
	return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef);
}

/*
 * Would a reader see nothing where it stands? Zero-width spaces and joiners,
 * invisible operators, the byte order mark, annotation marks, tags, variation
 * selectors: text can be hidden in them, and two names that look alike differ.
 */
static int invisible(utf8proc_int32_t c)
{
	return (c >= 0x200b && c <= ZWJ) || (c >= 0x2060 && c <= 0x206f) || c == 0x180e ||
	       c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f) ||
	       is_variation(c);
}

/* The bytes of the character at p, 0 if there is none in UTF-8. */
static size_t decode(const char *p, const char *end, utf8proc_int32_t *c)
{
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)p, end - p, c);

	return n > 0 ? (size_t)n : 0;
}

/* What stands before a character: some invisible ones mean something there. */
struct before {
	utf8proc_int32_t last;
	utf8proc_int32_t base;     /* the last that is not a variation selector or a skin tone */
};

static int is_emoji(utf8proc_int32_t c)
{
	return utf8proc_get_property(c)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

static int is_ideograph(utf8proc_int32_t c)
{
	return (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0x20000 && c <= 0x3ffff);
}

/* Arabic, the scripts of India, Burmese, Khmer, Mongolian: they are not spelled without joiners. */
static int is_joining(utf8proc_int32_t c)
{
	return (c >= 0x0600 && c <= 0x0dff) || (c >= 0x1000 && c <= 0x109f) ||
	       (c >= 0x1780 && c <= 0x18af);
}

/* A variation selector right behind what it varies, a joiner between two that it joins. */
static int belongs(const struct before *b, utf8proc_int32_t c, const char *next, const char *end)
{
	utf8proc_int32_t after;

	if (is_variation(c))
		return b->last == b->base &&
		       (is_emoji(b->base) || is_ideograph(b->base) ||
			(c == EMOJI_STYLE && b->base < 0x7f && b->base && strchr("0123456789#*", b->base)));
	if ((c != ZWJ && c != ZWNJ) || !decode(next, end, &after))
		return 0;
	return (c == ZWJ && is_emoji(b->base) && is_emoji(after)) ||
	       (is_joining(b->last) && is_joining(after));
}

/* Must the character be made visible here? `next` is the text behind it. */
static int shows(const struct before *b, utf8proc_int32_t c, const char *next, const char *end)
{
	return steers(c) || (invisible(c) && !belongs(b, c, next, end));
}

static void passed(struct before *b, utf8proc_int32_t c)
{
	b->last = c;
	if (!is_variation(c) && (c < 0x1f3fb || c > 0x1f3ff))
		b->base = c;
}

enum form {
	FORM_TEXT,
	FORM_JSON
};

enum { VISIBLE = 16 };

/* The visible form of a character that must not be printed. */
static size_t visible(char out[VISIBLE], utf8proc_int32_t c, enum form form)
{
	int n;

	if (form == FORM_JSON && c > 0xffff)
		n = snprintf(out, VISIBLE, "\\u%04x\\u%04x", 0xd800u + (unsigned)((c - 0x10000) >> 10),
			     0xdc00u + (unsigned)(c & 0x3ff));
	else if (form == FORM_JSON)
		n = snprintf(out, VISIBLE, "\\u%04x", (unsigned)c);
	else if (c < 0x20 || c == 0x7f)
		n = snprintf(out, VISIBLE, "^%c", (char)(c ^ 0x40));
	else
		n = snprintf(out, VISIBLE, "<U+%04X>", (unsigned)c);
	return (size_t)n;
}

static size_t visible_byte(char out[VISIBLE], unsigned char byte, enum form form)
{
	return (size_t)(form == FORM_JSON ? snprintf(out, VISIBLE, "\\ufffd") :
					    snprintf(out, VISIBLE, "<%02X>", byte));
}

/* Plain ASCII at p, line ends and tabs included, needs no second look. */
static const char *skip_plain(const char *p, const char *end)
{
	while (p < end && (((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f) ||
			   *p == '\n' || *p == '\t'))
		p++;
	return p;
}

/* Is the character at p cut off by the end? */
static int is_cut(const char *p, const char *end)
{
	unsigned char b = (unsigned char)*p;
	ptrdiff_t want = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;

	if (b < 0xc2 || b > 0xf4 || end - p >= want)
		return 0;
	while (++p < end)
		if (((unsigned char)*p & 0xc0) != 0x80)
			return 0;
	return 1;
}

/* May bytes that are still to come make a character of those at p, or decide how it is shown? */
static int unfinished(const char *p, const char *end)
{
	utf8proc_int32_t c;
	size_t n;

	if (*p == '\r')
		return end - p == 1; /* a LF may follow */
	n = decode(p, end, &c);
	if (!n || (c != ZWJ && c != ZWNJ))
		return is_cut(p, end);
	return p + n == end || is_cut(p + n, end);
}

/*
 * Write text in a safe form. Unless it is the `last` of a text, returns the
 * place of what depends on bytes still to come; else, or if all is written,
 * `end`.
 */
static const char *write_safe(struct out *o, struct before *b, const char *p, const char *end,
			      enum form form, int last)
{
	while (p < end) {
		const char *plain = skip_plain(p, end);
		char seen[VISIBLE];
		utf8proc_int32_t c;
		size_t n;

		out_bytes(o, p, (size_t)(plain - p));
		if (plain > p)
			passed(b, plain[-1]);
		p = plain;
		if (p == end || (!last && unfinished(p, end)))
			break;
		n = decode(p, end, &c);
		if (n && shows(b, c, p + n, end)) {
			/* the CR of a CR LF says nothing */
			if (c != '\r' || end - p == 1 || p[1] != '\n')
				out_bytes(o, seen, visible(seen, c, form));
		} else if (n) {
			out_bytes(o, p, n);
		} else {
			out_bytes(o, seen, visible_byte(seen, (unsigned char)*p, form));
			c = 1;
			n = 1;
		}
		passed(b, c);
		p += n;
	}
	return p;
}

static void write_whole(struct out *o, const char *p, const char *end, enum form form)
{
	write_safe(o, &(struct before){ 0 }, p, end, form, 1);
}

void out_text(struct out *o, struct grove_slice text)
{
	write_whole(o, text.ptr, text.ptr + text.len, FORM_TEXT);
}

/* -------------------------------------------------------------------- cells */

struct cells {
	const char *p, *end;
	unsigned column;
	int collapse;        /* white space becomes one space, none at the ends */
	struct before before;
};

struct cell {
	const char *ptr;
	size_t len;
	unsigned width;
	char seen[VISIBLE];
};

static int is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void cells_init(struct cells *it, struct grove_slice text, int collapse)
{
	it->p = text.ptr;
	it->end = text.ptr + text.len;
	it->column = 0;
	it->collapse = collapse;
	it->before = (struct before){ 0 };
	if (collapse)
		while (it->p < it->end && is_space(*it->p))
			it->p++;
}

static unsigned char_width(utf8proc_int32_t c)
{
	int w = utf8proc_charwidth(c);

	return w > 0 ? (unsigned)w : 0;
}

/* A letter and what joins it. Marks beyond any script's need are dropped. */
static void cluster(struct cells *it, struct cell *cell, utf8proc_int32_t c, size_t n)
{
	enum { LONGEST = 96 };
	utf8proc_int32_t state = 0, next;

	cell->ptr = it->p;
	cell->len = n;
	cell->width = char_width(c);
	it->p += n;
	passed(&it->before, c);
	while (it->p < it->end) {
		n = decode(it->p, it->end, &next);
		if (!n || shows(&it->before, next, it->p + n, it->end) || utf8proc_grapheme_break_stateful(c, next, &state))
			break;
		if (char_width(next) > cell->width)
			cell->width = char_width(next);
		if (next == EMOJI_STYLE) /* show as emoji, which takes two columns */
			cell->width = 2;
		if (cell->len + n <= LONGEST)
			cell->len += n;
		it->p += n;
		c = next;
		passed(&it->before, c);
	}
}

/* The next cell; 0 at the end. */
static int cells_next(struct cells *it, struct cell *cell)
{
	static const char spaces[] = "        ";
	utf8proc_int32_t c;
	size_t n;

	if (it->collapse && it->p < it->end && is_space(*it->p)) {
		while (it->p < it->end && is_space(*it->p))
			it->p++;
		if (it->p == it->end)
			return 0;
		cell->ptr = spaces;
		cell->len = cell->width = 1;
		it->column++;
		passed(&it->before, ' ');
		return 1;
	}
	if (it->p == it->end)
		return 0;
	n = decode(it->p, it->end, &c);
	if (n && c == '\t') {
		cell->ptr = spaces;
		cell->len = cell->width = 8 - it->column % 8;
		it->p++;
		passed(&it->before, c);
	} else if (!n || shows(&it->before, c, it->p + n, it->end)) {
		cell->len = n ? visible(cell->seen, c, FORM_TEXT) :
				visible_byte(cell->seen, (unsigned char)*it->p, FORM_TEXT);
		cell->ptr = cell->seen;
		cell->width = (unsigned)cell->len;
		it->p += n ? n : 1;
		passed(&it->before, n ? c : 1);
	} else {
		cluster(it, cell, c, n);
	}
	it->column += cell->width;
	return 1;
}

/*
 * Most text is ASCII, where a byte is a column: what is to be written goes into
 * `out`, which has room for one more than `width`. Returns the columns; -1 if
 * there is anything else in the part that counts.
 */
static int plain_columns(struct grove_slice text, unsigned width, int collapse, char *out)
{
	const char *p = text.ptr, *end = text.ptr + text.len;
	unsigned n = 0;

	while (collapse && p < end && is_space(*p))
		p++;
	while (p < end && n <= width) {
		if (*p > ' ' && *p < 0x7f) {
			out[n++] = *p++;
		} else if (collapse && is_space(*p)) {
			while (p < end && is_space(*p))
				p++;
			if (p < end)
				out[n++] = ' ';
		} else if (*p == ' ') {
			out[n++] = *p++;
		} else {
			return -1;
		}
	}
	return (int)n;
}

/* Write what fits in `width` columns; returns the columns used. */
static unsigned fit(struct out *o, struct grove_slice text, unsigned width, int collapse)
{
	struct cells it;
	struct cell cell;
	const char *cut = text.ptr; /* the text up to here leaves a column for "…" */
	int whole = 1, plain = -1;
	unsigned used = 0;
	char ascii[512];

	if (!width)
		return 0;
	if (width < sizeof(ascii))
		plain = plain_columns(text, width, collapse, ascii);
	if (plain >= 0) {
		whole = (unsigned)plain <= width;
		out_bytes(o, ascii, whole ? (size_t)plain : width - 1);
		if (!whole)
			out_puts(o, "…");
		return whole ? (unsigned)plain : width;
	}
	cells_init(&it, text, collapse);
	for (;;) {
		if (it.column < width)
			cut = it.p;
		if (!cells_next(&it, &cell))
			break;
		if (it.column > width) {
			whole = 0;
			break;
		}
	}
	cells_init(&it, text, collapse);
	while ((whole || it.p < cut) && cells_next(&it, &cell)) {
		out_bytes(o, cell.ptr, cell.len);
		used = it.column;
	}
	if (!whole) {
		out_puts(o, "…");
		used++;
	}
	return used;
}

unsigned out_fit(struct out *o, struct grove_slice text, unsigned width)
{
	return fit(o, text, width, 1);
}

void out_column(struct out *o, struct grove_slice text, unsigned width)
{
	unsigned used = fit(o, text, width, 1);

	out_pad(o, width - used);
}

static unsigned columns(struct grove_slice text, unsigned most, int collapse)
{
	struct cells it;
	struct cell cell;

	cells_init(&it, text, collapse);
	while (it.column <= most && cells_next(&it, &cell))
		;
	return it.column;
}

unsigned out_width(struct grove_slice text, unsigned most)
{
	return columns(text, most, 1);
}

size_t out_block(struct out *o, struct grove_slice text, const char *prefix, size_t max_lines)
{
	unsigned margin = columns(out_str(prefix), o->width, 0) + 1;
	unsigned width = o->width > margin ? o->width - margin : 1;
	const char *p = text.ptr, *end = text.ptr + text.len;
	size_t lines = 0, hidden = 0;

	while (end > p && (end[-1] == '\n' || end[-1] == '\r')) /* empty lines at the end */
		end--;
	for (; p < end && !o->failed; lines++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		struct grove_slice line = { p, (size_t)(stop - p) };

		p = nl ? nl + 1 : end;
		if (max_lines && lines >= max_lines) {
			hidden++;
			continue;
		}
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (!line.len) { /* no blanks at the end of an empty line */
			size_t n = strlen(prefix);

			while (n && prefix[n - 1] == ' ')
				n--;
			out_bytes(o, prefix, n);
		} else {
			out_puts(o, prefix);
			if (max_lines)
				fit(o, line, width, 0);
			else
				out_text(o, line);
		}
		out_bytes(o, "\n", 1);
	}
	return hidden;
}

/* --------------------------------------------------------------------- JSON */

void out_json(struct out *o, struct grove_slice json)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (o->tty) {
		write_whole(o, json.ptr, json.ptr + json.len, FORM_JSON);
	} else if (grove_buf_utf8(&b, json)) {
		o->failed = ENOMEM;
	} else {
		out_bytes(o, b.ptr, b.len);
	}
	grove_buf_release(&b);
}

void out_json_count(struct out *o, const char *name, uint64_t n)
{
	out_printf(o, ",\"%s\":%llu", name, (unsigned long long)n);
}

void out_json_string(struct out *o, const char *str)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (!str) {
		out_puts(o, "null");
		return;
	}
	if (grove_buf_json_string(&b, out_str(str)))
		o->failed = ENOMEM;
	else
		out_json(o, (struct grove_slice){ b.ptr, b.len });
	grove_buf_release(&b);
}

/*
 * Pieces of a long text arrive cut anywhere: a character in two, or CR from
 * its LF. The head waits in `carry` for the rest.
 */
static void write_piece(struct out *o, const char *p, size_t len, enum form form)
{
	struct before b = { o->before[0], o->before[1] };
	const char *end = p + len;
	const char *rest;

	while (o->carried && p < end) {
		char head[sizeof(o->carry)];
		size_t n = o->carried;

		memcpy(head, o->carry, n);
		head[n++] = *p++;
		rest = write_safe(o, &b, head, head + n, form, 0);
		o->carried = (unsigned)(head + n - rest);
		memcpy(o->carry, rest, o->carried);
	}
	rest = write_safe(o, &b, p, end, form, 0);
	if (rest < end) {
		o->carried = (unsigned)(end - rest);
		memcpy(o->carry, rest, o->carried);
	}
	o->before[0] = b.last;
	o->before[1] = b.base;
}

void out_sink_end(struct out *o)
{
	struct before b = { o->before[0], o->before[1] };
	unsigned n = o->carried;

	o->carried = 0;
	write_safe(o, &b, o->carry, o->carry + n, FORM_TEXT, 1);
	o->before[0] = o->before[1] = 0;
}

static int sink_json(void *payload, const char *ptr, size_t len)
{
	struct out *o = payload;

	if (o->tty)
		write_piece(o, ptr, len, FORM_JSON);
	else
		out_bytes(o, ptr, len);
	return out_failed(o);
}

static int sink_raw(void *payload, const char *ptr, size_t len)
{
	struct out *o = payload;

	if (o->tty)
		write_piece(o, ptr, len, FORM_TEXT);
	else
		out_bytes(o, ptr, len);
	return out_failed(o);
}

struct grove_sink out_json_sink(struct out *o)
{
	return (struct grove_sink){ sink_json, o };
}

struct grove_sink out_raw_sink(struct out *o)
{
	return (struct grove_sink){ sink_raw, o };
}
