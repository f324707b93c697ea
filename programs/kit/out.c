/*
 * out.c: buffered output, safe for a terminal.
 */
#include "cells.h"
#include "out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
	if (len && o->on_write)
		o->on_write(o->payload, o);
	while (len && !o->failed) {
		ssize_t n = write(o->fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			/* another process that shares the pipe made it non-blocking */
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

/* Makes room for more bytes, without writing anything that may have to be taken back. */
static int enlarge(struct out *o, size_t more)
{
	size_t cap = o->cap ? o->cap : BUFFER;
	char *p;

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

/* The same, but first writes what is buffered if that is a lot. */
static int grow(struct out *o, size_t more)
{
	if (o->fd >= 0 && o->cap && o->len + more > o->cap)
		out_flush(o);
	return enlarge(o, more);
}

void out_any(struct out *o, const char *ptr, size_t len)
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

/* --------------------------------------------------------------- safe text */

/* Skips plain ASCII, including line ends and tabs, which needs no closer look. */
static const char *skip_plain(const char *p, const char *end)
{
	while (p < end && (((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f) ||
			   *p == '\n' || *p == '\t'))
		p++;
	return p;
}

/* Returns true if the character at p is cut off by the end. */
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

/*
 * Returns true if bytes still to come may complete the character at p, or decide how it is
 * shown.
 */
static int unfinished(const char *p, const char *end)
{
	int32_t c;
	size_t n;

	if (*p == '\r')
		return end - p == 1; /* a LF may follow */
	n = cells_decode(p, end, &c);
	if (!n || (c != CELLS_ZWJ && c != CELLS_ZWNJ))
		return is_cut(p, end);
	return p + n == end || is_cut(p + n, end);
}

/*
 * Writes text in a safe form. Unless it is the `last` of a text, returns the position of
 * what depends on bytes still to come; otherwise `end`.
 */
static const char *write_safe(struct out *o, struct cells_before *b, const char *p, const char *end,
			      enum cells_form form, int last)
{
	while (p < end) {
		const char *plain = skip_plain(p, end);
		char seen[CELLS_VISIBLE];
		int32_t c;
		size_t n;

		out_bytes(o, p, (size_t)(plain - p));
		if (plain > p)
			cells_passed(b, plain[-1]);
		p = plain;
		if (p == end || (!last && unfinished(p, end)))
			break;
		n = cells_decode(p, end, &c);
		if (n && cells_shows(b, c, p + n, end)) {
			/* drop the CR of a CR LF */
			if (c != '\r' || end - p == 1 || p[1] != '\n')
				out_bytes(o, seen, cells_visible(seen, c, form));
		} else if (n) {
			out_bytes(o, p, n);
		} else {
			out_bytes(o, seen, cells_visible_byte(seen, (unsigned char)*p, form));
			c = 1;
			n = 1;
		}
		cells_passed(b, c);
		p += n;
	}
	return p;
}

static void write_whole(struct out *o, const char *p, const char *end, enum cells_form form)
{
	write_safe(o, &(struct cells_before){ 0 }, p, end, form, 1);
}

void out_text(struct out *o, struct grove_slice text)
{
	write_whole(o, text.ptr, text.ptr + text.len, CELLS_TEXT);
}

void out_line(struct out *o, struct grove_slice text)
{
	const char *p = text.ptr, *end = text.ptr + text.len, *lf;
	char seen[CELLS_VISIBLE];

	for (; p < end && (lf = memchr(p, '\n', (size_t)(end - p))); p = lf + 1) {
		write_whole(o, p, lf, CELLS_TEXT);
		out_bytes(o, seen, cells_visible(seen, '\n', CELLS_TEXT));
	}
	write_whole(o, p, end, CELLS_TEXT);
}

/* ----------------------------------------------------------------- fitting */

#define EACH(byte) (~(uint64_t)0 / 255 * (byte))

/* Returns true if the eight bytes in `w` are letters or single spaces. */
static int is_words(uint64_t w)
{
	uint64_t not_space = w ^ EACH(' ');
	/* the top bit of each byte that is a space */
	uint64_t spaces = ~(((not_space & EACH(0x7f)) + EACH(0x7f)) | not_space) & EACH(0x80);
	uint64_t control = (w - EACH(0x20)) & ~w, beyond = ((w & EACH(0x7f)) + EACH(1)) | w;

	return !((control | beyond) & EACH(0x80)) && !(spaces & spaces << 8);
}

/*
 * Copies such words, at most `max` bytes, but no space whose successor is unknown; returns
 * the bytes.
 */
static unsigned copy_words(char *out, const char *p, const char *end, unsigned max)
{
	enum { WORD = 8 };
	unsigned n = 0;
	uint64_t w;

	while (n + WORD <= max && (size_t)(end - p) >= n + WORD) {
		memcpy(&w, p + n, WORD);
		if (!is_words(w))
			break;
		memcpy(out + n, &w, WORD);
		n += p[n + WORD - 1] == ' ' ? WORD - 1 : WORD;
	}
	return n;
}

/*
 * Fast path for ASCII, where a byte is a column: copies the text to `out`, which has room
 * for one more than `width`. Returns the columns, or -1 if there is anything else in the
 * part that counts.
 */
static int plain_columns(struct grove_slice text, unsigned width, int collapse, char *out)
{
	const char *p = text.ptr, *end = text.ptr + text.len;
	unsigned n, copied;

	while (collapse && p < end && cells_space(*p))
		p++;
	n = copy_words(out, p, end, width + 1);
	p += n;
	while (p < end && n <= width) {
		/* a letter, or a space before one */
		if ((*p > ' ' || (*p == ' ' && p + 1 < end && p[1] > ' ')) && *p < 0x7f) {
			out[n++] = *p++;
		} else if (collapse && cells_space(*p)) {
			while (p < end && cells_space(*p))
				p++;
			if (p == end)
				break;
			out[n++] = ' ';
			copied = copy_words(out + n, p, end, width + 1 - n);
			n += copied;
			p += copied;
		} else if (*p == ' ') {
			out[n++] = *p++;
		} else {
			return -1;
		}
	}
	return (int)n;
}

/* The same for any text, cell by cell. What turns out not to fit is removed again. */
static unsigned fit_cells(struct out *o, struct grove_slice text, unsigned width, int collapse)
{
	enum { MOSTLY = 4096 };
	struct cells it;
	struct cell cell;
	size_t cut;                 /* up to here there is a column left for "…" */
	unsigned used = 0;

	if (o->failed || grow(o, MOSTLY))
		return 0;
	cut = o->len;
	cells_init(&it, text, collapse);
	while (cells_next(&it, &cell)) {
		if (it.column > width) {
			o->len = cut;
			out_puts(o, "…");
			return used + 1;
		}
		if (enlarge(o, cell.len))
			return 0;
		memcpy(o->ptr + o->len, cell.ptr, cell.len);
		o->len += cell.len;
		o->last = o->ptr[o->len - 1];
		if (it.column < width) {
			cut = o->len;
			used = it.column;
		}
	}
	return it.column;
}

/* Writes what fits in `width` columns; returns the columns used. */
static unsigned fit(struct out *o, struct grove_slice text, unsigned width, int collapse)
{
	char ascii[512];
	int plain = -1;

	if (!width)
		return 0;
	if (width < sizeof(ascii))
		plain = plain_columns(text, width, collapse, ascii);
	if (plain < 0)
		return fit_cells(o, text, width, collapse);
	if ((unsigned)plain <= width) {
		out_bytes(o, ascii, (size_t)plain);
		return (unsigned)plain;
	}
	out_bytes(o, ascii, width - 1);
	out_puts(o, "…");
	return width;
}

unsigned out_fit(struct out *o, struct grove_slice text, unsigned width)
{
	return fit(o, text, width, 1);
}

unsigned out_fit_path(struct out *o, const char *path, unsigned width)
{
	unsigned cut = width > 1 && out_width(out_str(path), width) > width;

	if (cut) {
		while (*path && out_width(out_str(path), width) > width - 1)
			do
				path++;
			while (((unsigned char)*path & 0xc0) == 0x80);
		out_puts(o, "…");
	}
	return cut + out_fit(o, out_str(path), width - cut);
}

void out_column(struct out *o, struct grove_slice text, unsigned width)
{
	unsigned used = fit(o, text, width, 1);

	out_pad(o, width - used);
}

void out_cost(char *to, size_t size, double cost, double estimated, unsigned width)
{
	const char *mark = estimated > 0 ? "~" : "";
	int n = snprintf(to, size, "%s$%.2f", mark, cost);

	if (width && n > (int)width)
		snprintf(to, size, "%s$%.0f", mark, cost);
}

struct grove_slice out_name_heading(unsigned width)
{
	struct grove_slice whole = out_str("NAME OR FIRST MESSAGE");

	return whole.len <= width ? whole : out_str("NAME");
}

static unsigned columns(struct grove_slice text, unsigned most, int collapse)
{
	struct cells it;
	struct cell cell;
	size_t n = 0;

	/* in ASCII each byte is a column */
	while (n < text.len && n <= most && text.ptr[n] > ' ' && text.ptr[n] < 0x7f)
		n++;
	if (n == text.len || n > most)
		return (unsigned)n;
	cells_init(&it, text, collapse);
	while (it.column <= most && cells_next(&it, &cell))
		;
	return it.column;
}

unsigned out_width(struct grove_slice text, unsigned most)
{
	return columns(text, most, 1);
}

unsigned out_columns(struct grove_slice text)
{
	return columns(text, UINT_MAX - 1, 0);
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
		write_whole(o, json.ptr, json.ptr + json.len, CELLS_JSON);
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

void out_json_member(struct out *o, const char *name, const char *str)
{
	out_printf(o, ",\"%s\":", name);
	out_json_string(o, str);
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
 * A long text arrives in pieces that may split a character, or CR from LF. The incomplete
 * part waits in `carry`.
 */
static void write_piece(struct out *o, const char *p, size_t len, enum cells_form form)
{
	struct cells_before b = { o->before[0], o->before[1] };
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
	struct cells_before b = { o->before[0], o->before[1] };
	unsigned n = o->carried;

	o->carried = 0;
	write_safe(o, &b, o->carry, o->carry + n, CELLS_TEXT, 1);
	o->before[0] = o->before[1] = 0;
}

static int sink_json(void *payload, const char *ptr, size_t len)
{
	struct out *o = payload;

	if (o->tty)
		write_piece(o, ptr, len, CELLS_JSON);
	else
		out_bytes(o, ptr, len);
	return out_failed(o);
}

static int sink_raw(void *payload, const char *ptr, size_t len)
{
	struct out *o = payload;

	if (o->tty)
		write_piece(o, ptr, len, CELLS_TEXT);
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
