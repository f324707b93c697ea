/*
 * markdown.c: a conversation as Markdown, for a wiki.
 *
 * A heading for each speaker, their text as Markdown, calls and results in fences longer
 * than any within them. Text was written by others, so it is defused: raw HTML becomes
 * text, images become links, links to anything but a page, a file or an address become
 * text, headings stay below our own, and an open fence is closed.
 *
 * Code may contain a literal <. What counts as code depends on the whole page, so we rely
 * only on what is certain: a fence in the first column, which cannot be inside a list or
 * quotation; and a code span within a line, if every earlier one in its paragraph ended on
 * its own line, and no table cell ends within it. So fences in lists, and slightly indented
 * ones, are moved to the first column with their contents.
 */
#include "export.h"

#include <string.h>
#include <strings.h>

/* -------------------------------------------------------------------- text */

struct text {
	struct doc *d;
	char fence;              /* of the open fence; 0 if none */
	size_t fence_len, fence_indent;  /* of the original fence */
	int loose;               /* a code span may be open since an earlier line of the paragraph */
	int after_text;          /* the line before is part of a paragraph */
	int in_list;             /* what is indented may be part of an item */
};

static size_t run_of(struct grove_slice s, size_t at, char c)
{
	size_t n = 0;

	while (at + n < s.len && s.ptr[at + n] == c)
		n++;
	return n;
}

/* Returns how many blanks and tabs there are at `at`. */
static size_t indent_of(struct grove_slice line, size_t at)
{
	size_t n = 0;

	while (at + n < line.len && (line.ptr[at + n] == ' ' || line.ptr[at + n] == '\t'))
		n++;
	return n;
}

static int is_blank(struct grove_slice line, size_t from)
{
	while (from < line.len && strchr(" \t\r\v\f", line.ptr[from]) && line.ptr[from])
		from++;
	return from == line.len;
}

/* Returns where the list marker at `at`, or quotation mark if `quotes`, ends; `at` if there is none. */
static size_t marker_end(struct grove_slice line, size_t at, int quotes)
{
	size_t p = at + run_of(line, at, ' '), digits = 0;

	if (quotes && p < line.len && line.ptr[p] == '>')
		return p + 1;
	while (digits < 9 && p + digits < line.len && line.ptr[p + digits] >= '0' && line.ptr[p + digits] <= '9')
		digits++;
	p += digits;
	if (p + 1 >= line.len || !line.ptr[p] || !strchr(digits ? ".)" : "-*+", line.ptr[p]))
		return at;
	return line.ptr[p + 1] == ' ' || line.ptr[p + 1] == '\t' ? p + 2 : at;
}

/* The same for all of them at the beginning of a line. */
static size_t markers_end(struct grove_slice line, int quotes)
{
	size_t at = 0, next;

	while ((next = marker_end(line, at, quotes)) > at)
		at = next;
	return at;
}

/* Returns true for a line of a fence. `from` is where the rest of the line begins. */
static int see_fence(struct text *t, struct grove_slice line, size_t *from)
{
	size_t indent = run_of(line, 0, ' '), markers, n;
	char c = indent < line.len ? line.ptr[indent] : 0;

	if (t->fence) {
		n = c == t->fence ? run_of(line, indent, c) : 0;
		*from = indent < t->fence_indent ? indent : t->fence_indent;
		if (indent < t->fence_indent + 4 && n >= t->fence_len && is_blank(line, indent + n)) {
			t->fence = 0;
			*from = indent;
		}
		return 1;
	}
	markers = markers_end(line, 0);
	indent = markers + run_of(line, markers, ' ');
	c = indent < line.len ? line.ptr[indent] : 0;
	n = c == '`' || c == '~' ? run_of(line, indent, c) : 0;
	if (indent - markers > 3 || n < 3 || (c == '`' && memchr(line.ptr + indent + n, '`', line.len - indent - n)))
		return 0;
	t->fence = c;
	t->fence_len = n;
	t->fence_indent = *from = indent;
	return 1;
}

/* Some renderers see the head of a table in a fence that is followed by a |. */
static size_t opening_end(struct grove_slice line)
{
	const char *bar = memchr(line.ptr, '|', line.len);

	return bar ? (size_t)(bar - line.ptr) : line.len;
}

/*
 * Returns the end of the code span that begins at `at` with `n` backquotes, or 0 if it does
 * not end on this line.
 */
static size_t span_end(struct grove_slice line, size_t at, size_t n)
{
	for (size_t i = at + n; i < line.len;) {
		size_t m = run_of(line, i, '`');

		if (m == n)
			return i + n;
		i += m ? m : 1;
	}
	return 0;
}

static void put_bytes(struct text *t, struct grove_slice line, size_t from, size_t to)
{
	doc_add(t->d, (struct grove_slice){ line.ptr + from, to - from });
}

/* Returns true within a bare address, of which some renderers make a link, backquotes and all. */
static int in_address(struct grove_slice line, size_t at)
{
	size_t from = at;

	while (from && !strchr(" \t", line.ptr[from - 1]))
		from--;
	return memmem(line.ptr + from, at - from, "://", 3) || memmem(line.ptr + from, at - from, "www.", 4);
}

/*
 * Writes a code span, or backquotes that begin none. Returns where it ends. After one that
 * is not certain, what looks like the beginning of the next may be the end of this one.
 */
static size_t put_span(struct text *t, struct grove_slice line, size_t at)
{
	size_t n = run_of(line, at, '`'), end = span_end(line, at, n);

	if (!end || memchr(line.ptr + at, '|', end - at) || in_address(line, at))
		t->loose = 1;
	if (t->loose)
		end = at + n;
	put_bytes(t, line, at, end);
	return end;
}

/*
 * Returns true if the target of a link that begins at `at` is a page, an e-mail address or
 * a file. In any other, a renderer might find a script. Entities and escapes could spell a
 * scheme, and a target may be on the next line.
 */
static int is_harmless(struct grove_slice line, size_t at)
{
	static const char *const schemes[] = { "http:", "https:", "mailto:" };

	while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
		at++;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (line.len - at >= strlen(schemes[i]) && !strncasecmp(line.ptr + at, schemes[i], strlen(schemes[i])))
			return 1;
	if (at == line.len)
		return 0;
	for (; at < line.len; at++) {
		unsigned char c = (unsigned char)line.ptr[at];

		if (c < ' ' || strchr(":&\\<", c))
			return c == '\t';
		if (strchr("/?#) ", c))
			return 1;
	}
	return 1;
}

/* Writes a bracket. What follows it is escaped if that would make a link of another kind. */
static void put_bracket(struct text *t, struct grove_slice line, size_t at)
{
	char next = at + 1 < line.len ? line.ptr[at + 1] : 0;

	doc_puts(t->d, (next == '(' || next == ':') && !is_harmless(line, at + 2) ? "]\\" : "]");
}

static void put_inline(struct text *t, struct grove_slice line, size_t at)
{
	while (at < line.len && !t->d->rc) {
		char c = line.ptr[at];

		if (c == '`') {
			at = put_span(t, line, at);
			continue;
		}
		if (c == '<')
			doc_puts(t->d, "&lt;");
		else if (c == '!' && at + 1 < line.len && line.ptr[at + 1] == '[')
			doc_puts(t->d, "\\!");
		else if (c == '[' && at + 1 < line.len && line.ptr[at + 1] == '^')
			doc_puts(t->d, "\\[");  /* a footnote, which could contain a heading */
		else if (c == ']')
			put_bracket(t, line, at);
		else
			put_bytes(t, line, at, at + 1);
		/* an escape and the character it escapes, which may be a backquote */
		if (c == '\\' && at + 1 < line.len && strchr("`\\!", line.ptr[at + 1])) {
			put_bytes(t, line, at + 1, at + 2);
			at++;
		}
		at++;
	}
}

/*
 * Headings of the first two levels are ours, even in a list or quotation. Returns how much
 * of the line was written.
 */
static size_t put_heading(struct text *t, struct grove_slice line)
{
	size_t markers = markers_end(line, 1), indent = indent_of(line, markers), n = run_of(line, markers + indent, '#');
	size_t end = markers + indent + n;

	if ((indent > 3 && !t->in_list) || !n || n > 6 || (end < line.len && !strchr(" \t", line.ptr[end])))
		return 0;
	put_bytes(t, line, 0, markers || t->in_list ? markers + indent : 0);
	doc_puts(t->d, n < 5 ? "##" : n == 5 ? "#" : "");
	return markers + indent;
}

/*
 * Returns where a line of = or - begins that turns the line above into a heading, or the
 * length of the line if it does not. A dash and a blank could be a marker as well.
 */
static size_t find_underline(struct grove_slice line)
{
	for (size_t at = 0, next;; at = next) {
		size_t from = at + indent_of(line, at);
		char c = from < line.len ? line.ptr[from] : 0;
		size_t n = c == '=' || c == '-' ? run_of(line, from, c) : 0;

		if (n && is_blank(line, from + n))
			return from;
		next = marker_end(line, at, 1);
		if (next == at)
			return line.len;
	}
}

static void put_text_line(struct text *t, struct grove_slice line)
{
	int inside = t->fence != 0;
	size_t from;

	if (see_fence(t, line, &from)) {
		put_bytes(t, line, from, inside ? line.len : opening_end(line));
		t->loose = t->after_text = 0;
	} else if (is_blank(line, 0)) {
		t->loose = t->after_text = 0;
	} else if (t->after_text && (from = find_underline(line)) < line.len) {
		put_bytes(t, line, 0, from);
		doc_puts(t->d, "\\");
		put_inline(t, line, from);
	} else {
		if (markers_end(line, 1) > 0)
			t->in_list = 1;
		else if (!t->after_text && !indent_of(line, 0))
			t->in_list = 0;
		put_inline(t, line, put_heading(t, line));
		t->after_text = 1;
	}
	doc_puts(t->d, "\n");
}

/* Returns the size of U+2028 or U+2029, which are line ends for some renderers, or 0. */
static size_t separator(const struct grove_buf *text, size_t at)
{
	return text->len - at >= 3 && (!memcmp(text->ptr + at, "\u2028", 3) || !memcmp(text->ptr + at, "\u2029", 3)) ? 3 : 0;
}

/* Returns where the line at `at` ends, and where the next one begins: after \n, \r, both or a separator. */
static size_t line_end(const struct grove_buf *text, size_t at, size_t *next)
{
	while (at < text->len && text->ptr[at] != '\n' && text->ptr[at] != '\r' && !separator(text, at))
		at++;
	if (separator(text, at)) {
		*next = at + 3;
		return at;
	}
	*next = at + 1 + (at + 1 < text->len && text->ptr[at] == '\r' && text->ptr[at + 1] == '\n');
	return at;
}

void export_markdown_text(struct doc *d, struct grove_slice text)
{
	/* the text before this one may have ended with a list */
	struct text t = { .d = d, .in_list = 1 };
	struct grove_buf utf8 = GROVE_BUF_INIT;

	if (!d->rc)
		d->rc = grove_buf_utf8(&utf8, text);
	for (size_t at = 0, next; at < utf8.len && !d->rc; at = next) {
		size_t end = line_end(&utf8, at, &next);

		put_text_line(&t, (struct grove_slice){ utf8.ptr + at, end - at });
	}
	for (size_t i = 0; t.fence && i < t.fence_len; i++)
		doc_add(d, (struct grove_slice){ &t.fence, 1 });
	doc_puts(d, t.fence ? "\n\n" : "\n");
	grove_buf_release(&utf8);
}

/* -------------------------------------------------------------------- pieces */

/* The longest run of backquotes in a text. */
static size_t longest_run(struct grove_slice t)
{
	size_t longest = 0;

	for (size_t i = 0; i < t.len; i++) {
		size_t n = run_of(t, i, '`');

		longest = n > longest ? n : longest;
		i += n;
	}
	return longest;
}

static void put_run(struct doc *d, size_t n)
{
	while (n--)
		doc_puts(d, "`");
}

static void put_fenced(struct doc *d, const char *word, struct grove_slice text)
{
	size_t n = longest_run(text);

	n = n < 3 ? 3 : n + 1;
	put_run(d, n);
	doc_puts(d, word);
	doc_puts(d, "\n");
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, text);
	if (text.len && text.ptr[text.len - 1] != '\n')
		doc_puts(d, "\n");
	put_run(d, n);
	doc_puts(d, "\n\n");
}

/* Some text from others, on one line. */
static struct grove_buf one_line(struct doc *d, struct grove_slice text)
{
	struct grove_buf line = GROVE_BUF_INIT;

	if (!d->rc)
		d->rc = grove_buf_utf8(&line, text);
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < ' ')
			line.ptr[i] = ' ';
		else if (separator(&line, i))
			memset(line.ptr + i, ' ', 3);
	return line;
}

/* As code, where nothing has a special meaning. */
static void put_code(struct doc *d, struct grove_slice text)
{
	struct grove_buf line = one_line(d, text);
	size_t n = longest_run(text) + 1;

	put_run(d, n);
	doc_puts(d, n > 1 ? " " : "");
	if (line.len)
		doc_add(d, grove_buf_slice(&line));
	doc_puts(d, n > 1 ? " " : "");
	put_run(d, n);
	grove_buf_release(&line);
}

/* As text. */
static void put_words(struct doc *d, struct grove_slice words)
{
	struct grove_buf line = one_line(d, words);
	struct text t = { .d = d };

	if (line.len)
		put_inline(&t, grove_buf_slice(&line), 0);
	grove_buf_release(&line);
}

static void put_title(struct doc *d, const char *word, struct grove_slice title)
{
	doc_puts(d, "**");
	doc_puts(d, word);
	doc_puts(d, "**");
	if (title.len) {
		doc_puts(d, " ");
		put_code(d, title);
	}
	doc_puts(d, "\n\n");
}

/*
 * Returns a text without what is to be redacted, until the next call. This comes before all
 * else: afterwards, what replaces a key could begin a link, and what was replaced could have
 * been the end of a fence.
 */
static struct grove_slice shown(struct export *x, struct doc *d, struct grove_slice text)
{
	if (!x->redactor || !text.len)
		return text;
	x->clean.len = 0;
	if (!d->rc)
		d->rc = redact_text(x->redactor, text, &x->clean);
	return grove_buf_slice(&x->clean);
}

struct body {
	struct export *x;
	struct doc d;
	const char *note;        /* what a note is about */
	int other;               /* there is more than notes */
};

static int put_piece(void *payload, const struct grove_piece *p)
{
	static const struct grove_slice none = { NULL, 0 };
	struct body *b = payload;
	struct export *x = b->x;
	struct doc *d = &b->d;

	if (p->hidden)
		return 0;
	b->other |= p->kind != GROVE_PIECE_NOTE;
	switch (p->kind) {
	case GROVE_PIECE_TEXT:
	case GROVE_PIECE_SUMMARY:
		export_markdown_text(d, shown(x, d, p->text));
		break;
	case GROVE_PIECE_THINKING:
		put_title(d, "Thinking", none);
		export_markdown_text(d, shown(x, d, p->text));
		break;
	case GROVE_PIECE_TOOL_CALL:
		put_title(d, "Call", shown(x, d, p->title));
		put_fenced(d, "json", shown(x, d, p->text));
		break;
	case GROVE_PIECE_TOOL_RESULT:
		put_title(d, p->error ? "Failed" : "Result", shown(x, d, p->title));
		put_fenced(d, "", shown(x, d, p->text));
		break;
	case GROVE_PIECE_COMMAND:
		put_fenced(d, "sh", shown(x, d, p->text));
		break;
	case GROVE_PIECE_OUTPUT:
		put_fenced(d, "", shown(x, d, p->text));
		break;
	case GROVE_PIECE_IMAGE:
		put_title(d, "Image", shown(x, d, p->title));
		break;
	default:
		put_title(d, b->note, shown(x, d, p->text));
	}
	return d->rc;
}

/* ------------------------------------------------------------- conversations */

static const char *heading(const struct grove_entry *e)
{
	switch (e->role) {
	case GROVE_ROLE_USER:
		return "User";
	case GROVE_ROLE_ASSISTANT:
		return "Assistant";
	case GROVE_ROLE_TOOL_RESULT:
	case GROVE_ROLE_BASH:
	case GROVE_ROLE_PYTHON:
		return "Tool";
	case GROVE_ROLE_SYSTEM:
	case GROVE_ROLE_DEVELOPER:
		return "System";
	default:
		return grove_kind_name(e->kind);
	}
}

struct talk {
	struct export *x;
	enum grove_role role;    /* whose heading was written last */
	int any;
};

static int put_whole(struct export *x, const struct doc *d)
{
	return d->rc ? d->rc : x->to.write(x->to.payload, d->buf.ptr, d->buf.len);
}

static int put_entry(struct talk *t, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct body body = { .x = t->x };
	struct doc d = { .rc = 0 };
	int rc = grove_view_entry(t->x->v, i, &e);

	if (!rc && !(e.flags & GROVE_ENTRY_LEAF_MARK)) {
		body.note = e.role == GROVE_ROLE_NONE ? grove_kind_name(e.kind) : "Note";
		rc = grove_view_piece_each(t->x->v, i, put_piece, &body);
	}
	if (!rc && body.d.buf.len && e.role == GROVE_ROLE_NONE && !body.other) {
		/* a change of model, a name: nobody speaks */
		rc = put_whole(t->x, &body.d);
	} else if (!rc && body.d.buf.len) {
		if (!t->any || e.role != t->role || e.role == GROVE_ROLE_NONE) {
			doc_puts(&d, "## ");
			doc_puts(&d, heading(&e));
			doc_puts(&d, "\n\n");
		}
		doc_add(&d, grove_buf_slice(&body.d.buf));
		t->any = 1;
		t->role = e.role;
		rc = put_whole(t->x, &d);
	}
	doc_release(&d);
	doc_release(&body.d);
	return rc;
}

static int put_conversation(struct export *x)
{
	struct talk t = { .x = x };
	struct grove_rows rows = { 0 };
	int rc = export_rows(x, &rows);

	for (size_t i = 0; i < rows.nr && !rc; i++)
		rc = put_entry(&t, rows.at[i]);
	grove_rows_release(&rows);
	return rc;
}

static int put_head(struct export *x, const char *word, const char *name, const char *about)
{
	struct doc d = { .rc = 0 };
	int rc;

	doc_puts(&d, "# ");
	doc_puts(&d, word);
	put_words(&d, shown(x, &d, grove_str(name)));
	doc_puts(&d, "\n\n");
	doc_puts(&d, about);
	doc_puts(&d, " session ");
	put_code(&d, shown(x, &d, grove_str(x->id)));
	doc_puts(&d, "\n\n");
	rc = put_whole(x, &d);
	doc_release(&d);
	return rc;
}

static int put_subagent(struct export *x, struct export *sub, const struct grove_subagent *a)
{
	int rc = put_head(sub, "Sub-agent ", a->description ? a->description : a->id, x->agent);

	return rc ? rc : put_conversation(sub);
}

/* The words of the first prompt, of which `most` bytes may be seen. */
struct opening {
	struct export *x;
	struct doc d;
	size_t most;
	int found;
};

static int put_opening(void *payload, const struct grove_piece *p)
{
	struct opening *o = payload;
	struct grove_slice text = p->text;
	struct grove_buf line;
	size_t len;

	if (p->hidden || p->kind != GROVE_PIECE_TEXT || o->found)
		return 0;
	for (; text.len && strchr(" \t\r\n", *text.ptr); text.len--)
		text.ptr++;
	/* cut after redacting: half a key is not recognized */
	line = one_line(&o->d, shown(o->x, &o->d, text));
	len = line.len;
	if (len > o->most)
		for (len = o->most; len && ((unsigned char)line.ptr[len] & 0xc0) == 0x80; len--)
			;
	doc_add(&o->d, (struct grove_slice){ line.ptr, len });
	doc_puts(&o->d, len < line.len ? "…" : "");
	o->found = line.len != 0;
	grove_buf_release(&line);
	return o->d.rc;
}

static int find_opening(struct opening *o)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_rows rows = { 0 };
	int rc = export_rows(o->x, &rows);

	for (size_t i = 0; i < rows.nr && !rc && !o->found; i++) {
		rc = grove_view_entry(o->x->v, rows.at[i], &e);
		if (!rc && e.kind == GROVE_KIND_MESSAGE && e.role == GROVE_ROLE_USER)
			rc = grove_view_piece_each(o->x->v, rows.at[i], put_opening, o);
	}
	grove_rows_release(&rows);
	return rc;
}

/* The name of a session, or else its first prompt, or else its id. */
static int put_session_head(struct export *x)
{
	struct opening o = { .x = x, .most = 120 };
	const char *name = grove_view_name(x->v);
	struct redactor counted = { 0 };
	int rc = 0;

	if (x->redactor)
		counted = *x->redactor;
	if (!name)
		rc = find_opening(&o);
	/* the conversation has the same words, and what they hide is counted there */
	if (x->redactor)
		*x->redactor = counted;
	if (!rc)
		rc = put_head(x, "", name ? name : o.found ? o.d.buf.ptr : x->id, x->agent);
	doc_release(&o.d);
	return rc;
}

int export_markdown(struct export *x)
{
	int rc = put_session_head(x);

	if (!rc)
		rc = put_conversation(x);
	return rc ? rc : export_each_subagent(x, put_subagent);
}
