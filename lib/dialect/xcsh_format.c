/*
 * dialect/xcsh_format.c: the format that the program gives its prompts.
 *
 * Line by line: no trailing white space, tables without padding, and no blank line that a
 * list, a tag or another blank line makes superfluous. Code between fences is not changed.
 * oh-my-pi keeps single blank lines, except before a closing tag, and drops all others.
 */
#include "dialect/xcsh_llm.h"

#include "base/utf8.h"
#include "js/js.h"

struct format {
	struct grove_buf *out;
	bool any;             /* a line was written */
	size_t blanks;        /* blank lines since then, not written yet */
	bool after_tag;       /* the last line is an opening tag */
};

/* Trims the right end only. */
static struct grove_slice trim_end(struct grove_slice line)
{
	struct grove_slice t = grove__js_trim(line);

	return grove__slice(line.ptr, t.len ? (size_t)(t.ptr + t.len - line.ptr) : 0);
}

static const char *tag_name_end(const char *p, const char *end)
{
	while (p < end && ((*p >= 'a' && *p <= 'z') || *p == '_' || *p == '-'))
		p++;
	return p;
}

/* <name> or <name …>, alone on its line */
static bool is_opening_tag(struct grove_slice t)
{
	const char *end = t.ptr + t.len, *p;
	uint32_t cp;

	if (t.len < 3 || *t.ptr != '<' || end[-1] != '>')
		return false;
	p = tag_name_end(t.ptr + 1, end);
	if (p == t.ptr + 1 || memchr(p, '>', (size_t)(end - 1 - p)))
		return false;
	if (p == end - 1)
		return true;
	grove__utf8_decode(p, end, &cp);
	return grove__js_is_space(cp);
}

static bool is_closing_tag(struct grove_slice t)
{
	const char *end = t.ptr + t.len;

	return t.len > 3 && grove__slice_starts(t, "</") && end[-1] == '>' &&
	       tag_name_end(t.ptr + 2, end) == end - 1;
}

static bool is_list_item(struct grove_slice t)
{
	size_t i = 0;
	uint32_t cp;

	if (t.len && (*t.ptr == '-' || *t.ptr == '*')) {
		i = 1;
	} else {
		while (i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9')
			i++;
		if (!i || i == t.len || t.ptr[i++] != '.')
			return false;
	}
	if (i == t.len)
		return false;
	grove__utf8_decode(t.ptr + i, t.ptr + t.len, &cp);
	return grove__js_is_space(cp);
}

static bool is_fence(struct grove_slice t)
{
	return grove__slice_starts(t, "```") || grove__slice_starts(t, "~~~");
}

static bool is_row(struct grove_slice t)
{
	return t.len > 1 && *t.ptr == '|' && t.ptr[t.len - 1] == '|';
}

static bool is_separator(struct grove_slice row)
{
	size_t i;

	for (i = 1; i < row.len; i++)
		if (!row.ptr[i] || !strchr("|:- \t", row.ptr[i]))
			return false;
	return row.len > 2;
}

static int put_cell(struct grove_buf *out, struct grove_slice cell, bool separator)
{
	bool left = cell.len && *cell.ptr == ':', right = cell.len && cell.ptr[cell.len - 1] == ':';
	int rc;

	if (separator)
		rc = grove__buf_addf(out, "%s---%s", left ? ":" : "", right ? ":" : "");
	else
		rc = grove__buf_add_slice(out, cell);
	return rc ? rc : grove__buf_add_char(out, '|');
}

/* A separator loses its empty cells, and becomes "||" if none is left. */
static int put_row(struct grove_buf *out, struct grove_slice row)
{
	const char *p = row.ptr + 1, *end = row.ptr + row.len;
	bool separator = is_separator(row);
	size_t start = out->len + 1;
	int rc = grove__buf_add_char(out, '|');

	while (!rc && p < end) {
		const char *q = memchr(p, '|', (size_t)(end - p));
		struct grove_slice cell = grove__js_trim(grove__slice(p, (size_t)(q - p)));

		if (cell.len || !separator)
			rc = put_cell(out, cell, separator);
		p = q + 1;
	}
	return rc || out->len > start ? rc : grove__buf_add_char(out, '|');
}

/* Begins a new line, after the pending blank ones. */
static int begin_format(struct format *f)
{
	int rc = 0;

	if (f->any)
		f->blanks++;
	f->any = true;
	for (; !rc && f->blanks; f->blanks--)
		rc = grove__buf_add_char(f->out, '\n');
	return rc;
}

static int put_line(struct format *f, struct grove_slice line, struct grove_slice trimmed,
		    bool fenced)
{
	int rc;

	if (!trimmed.len) {
		f->blanks += f->any; /* none at the beginning */
		return 0;
	}
	rc = begin_format(f);
	f->after_tag = is_opening_tag(trimmed);
	if (rc || fenced || !is_row(trimmed))
		return rc ? rc : grove__buf_add_slice(f->out, line);
	rc = grove__buf_add(f->out, line.ptr, (size_t)(trimmed.ptr - line.ptr));
	return rc ? rc : put_row(f->out, trimmed);
}

static struct grove_slice next_line(const char **p, const char *end)
{
	const char *from = *p, *lf;

	if (from == end)
		return grove__slice(from, 0);
	lf = memchr(from, '\n', (size_t)(end - from));
	*p = lf ? lf + 1 : end;
	return grove__slice(from, (size_t)((lf ? lf : end) - from));
}

int grove__xcsh_format(struct grove_slice text, bool airy, struct grove_buf *out)
{
	const char *p = text.ptr, *end = p + text.len, *ahead;
	struct format f = { .out = out };
	bool fenced = false;
	int rc = 0;

	while (!rc && p < end) {
		struct grove_slice line = trim_end(next_line(&p, end));
		struct grove_slice trimmed = grove__js_trim(line), next;

		if (airy && !fenced && trimmed.len && f.blanks > 1)
			f.blanks = 0;
		if (is_fence(trimmed)) {
			fenced = !fenced;
			rc = put_line(&f, line, trimmed, true);
			continue;
		}
		if (!airy && !fenced && !trimmed.len) {
			ahead = p;
			next = grove__js_trim(next_line(&ahead, end));
			if (f.blanks || f.after_tag || is_list_item(next) || is_closing_tag(next))
				continue;
		}
		if (!fenced && is_closing_tag(trimmed))
			f.blanks = 0;
		rc = put_line(&f, line, trimmed, fenced);
	}
	return rc;
}
