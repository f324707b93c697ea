/*
 * talk.c: prints a conversation for reading.
 *
 * An entry has a heading: who speaks, when, and its id. A working agent makes many entries,
 * most of which only call a tool. These continue the reply before them without a heading,
 * and their id is next to the call. A tool's result is printed below its call, though it is
 * a later entry.
 *
 *	assistant  2026-01-02 03:04:09  00000005
 *	  I will read the file first.
 *
 *	  ● read src/parse.c  limit 200
 *	    1 int parse(void)
 *	    … 11 more lines (--full)
 *
 *	  ● bash make test  00000007
 *
 * On a terminal, text is wrapped and agents' replies are rendered as Markdown; users' text
 * is shown as typed.
 */
#include "talk.h"

#include "brief.h"
#include "markdown.h"
#include "tool_call.h"

#include <stdlib.h>
#include <string.h>

enum {
	RESULT_LINES = 5,         /* lines of a tool's or command's output, unless TALK_FULL */
	READABLE = 100,           /* columns; longer lines are hard to read */
	NOTHING_YET = -1
};

static const struct wrap_prefix *indent(struct wrap_prefix *p, const struct talk *t, const char *words, unsigned style)
{
	memset(p, 0, sizeof(*p));
	wrap_prefix_add(p, t->o, words, style);
	return p;
}

static unsigned wide(const struct talk *t)
{
	return t->o->width > 21 ? t->o->width - 1 : 20;
}

static unsigned readable(const struct talk *t)
{
	return wide(t) < READABLE ? wide(t) : READABLE;
}

static int is_plain(const struct talk *t)
{
	return t->flags & TALK_PLAIN;
}

static struct grove_slice role_name(const struct grove_entry *e)
{
	return out_str(brief_word(e));
}

/* ------------------------------------------------------------------ headings */

static void heading(struct talk *t)
{
	const struct grove_entry *e = t->e;
	struct out *o = t->o;
	struct grove_slice id = short_id(&t->ids, e->id);
	unsigned used;
	char when[32];

	t->notes = 0;
	t->output = 0;
	t->id_due = 0;
	t->speaking = e->kind == GROVE_KIND_MESSAGE && e->role == GROVE_ROLE_ASSISTANT;
	t->worked = 0;
	out_puts(o, "\n");
	out_style(o, brief_style(e));
	out_style(o, OUT_BOLD);
	used = out_fit(o, role_name(e), 24);
	out_style(o, OUT_PLAIN);
	out_style(o, OUT_DIM);
	/* drop the seconds on a narrow terminal */
	cli_time(when, sizeof(when), e->time, used + 2 + 19 + 2 + out_width(id, 36) <= o->width);
	out_printf(o, "  %s  ", when);
	used += 4 + (unsigned)strlen(when) + out_fit(o, id, 36);
	out_style(o, OUT_PLAIN);
	if (e->label) {
		out_style(o, OUT_BOLD);
		out_puts(o, used + 14 > o->width ? "\n  [" : "  [");
		out_fit(o, out_str(e->label), used + 14 > o->width ? 24 : o->width - used - 4);
		out_puts(o, "]");
		out_style(o, OUT_PLAIN);
	}
	out_puts(o, "\n");
}

static int is_prose(int kind)
{
	return kind == GROVE_PIECE_TEXT || kind == GROVE_PIECE_THINKING || kind == GROVE_PIECE_SUMMARY;
}

/* Returns true if the entry continues the previous reply: more blocks of it, or tool calls. */
static int continues(const struct talk *t, const struct grove_piece *piece)
{
	return t->speaking && !(t->flags & TALK_ALL) && t->e->kind == GROVE_KIND_MESSAGE &&
	       t->e->role == GROVE_ROLE_ASSISTANT && !t->e->label &&
	       (!t->worked || piece->kind == GROVE_PIECE_TOOL_CALL);
}

/* Prints a heading before the first piece, and an empty line between pieces if one is prose. */
static void begin_piece(struct talk *t, const struct grove_piece *piece)
{
	int first = t->before == NOTHING_YET;

	if (first && !continues(t, piece)) {
		heading(t);
		return;
	}
	if (first)
		t->id_due = 1;
	/* calls without output are not separated */
	if (first ? (t->output || is_prose(piece->kind) || !t->worked)
		  : ((t->output && piece->kind == GROVE_PIECE_TOOL_CALL) || is_prose(t->before) || is_prose(piece->kind)))
		out_puts(t->o, "\n");
	t->output = 0;
}

/* ------------------------------------------------------------------- pieces */

static void left_out(struct talk *t, size_t lines, const char *prefix)
{
	if (!lines)
		return;
	out_style(t->o, OUT_DIM);
	out_printf(t->o, "%s… %zu more line%s (%s)\n", prefix, lines, lines == 1 ? "" : "s", t->unfold);
	out_style(t->o, OUT_PLAIN);
}

/* Prints what somebody said. */
static void say(struct talk *t, struct grove_slice text, const char *prefix, unsigned style, int markdown)
{
	struct markdown_look look = { .width = readable(t), .wide = wide(t), .style = style };
	struct wrap w;

	if (is_plain(t)) {
		out_block(t->o, text, prefix, 0);
		return;
	}
	indent(&look.prefix, t, prefix, WRAP_DIM);
	if (markdown && !markdown_print(t->o, text, &look))
		return;
	wrap_init(&w, t->o, look.width);
	wrap_lines(&w, text, &look.prefix, style);
	wrap_release(&w);
}

/* Prints the output of a program line by line, and counts the lines left out. */
static void show_output(struct talk *t, struct grove_slice text, size_t hidden, int error)
{
	struct wrap_prefix prefix;
	struct wrap w;

	if (!(t->flags & TALK_FULL) || is_plain(t)) {
		out_style(t->o, error ? OUT_RED : OUT_DIM);
		out_block(t->o, text, "    ", t->flags & TALK_FULL ? 0 : RESULT_LINES);
		out_style(t->o, OUT_PLAIN);
	} else {
		wrap_init(&w, t->o, wide(t));
		indent(&prefix, t, "    ", 0);
		wrap_prefix(&w, &prefix, &prefix);
		wrap_code(&w, text, error ? OUT_RED << WRAP_COLOR : 0);
		wrap_end(&w);
		wrap_release(&w);
	}
	left_out(t, hidden, "    ");
	t->output = 1;
}

static size_t count_lines(struct grove_slice text)
{
	size_t n = 0;
	const char *p = text.ptr, *end = p + text.len;

	while (end > p && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	for (; p < end; n++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		p = nl ? nl + 1 : end;
	}
	return n;
}

static void show_printed(struct talk *t, const struct grove_piece *piece)
{
	size_t lines = t->flags & TALK_FULL ? 0 : count_lines(piece->text);

	show_output(t, piece->text, lines > RESULT_LINES ? lines - RESULT_LINES : 0, piece->error);
}

static void on_argument(void *payload, struct grove_slice name, struct grove_slice text)
{
	struct talk *t = payload;
	struct wrap_prefix prefix;
	struct wrap w;
	int block = memchr(text.ptr ? text.ptr : "", '\n', text.len) != NULL;

	out_puts(t->o, "    ");
	if (name.len) {
		out_style(t->o, OUT_DIM);
		out_text(t->o, name);
		out_puts(t->o, block ? ":\n" : ": ");
		out_style(t->o, OUT_PLAIN);
	}
	if (is_plain(t)) {
		if (block)
			out_block(t->o, text, "      ", 0);
		else
			out_text(t->o, text);
	} else {
		wrap_init(&w, t->o, wide(t));
		indent(&prefix, t, "      ", 0);
		wrap_prefix(&w, block ? &prefix : NULL, &prefix);
		if (!block)
			w.width -= out_columns(name) + 6;
		wrap_code(&w, text, 0);
		if (block)
			wrap_end(&w);
		wrap_release(&w);
	}
	out_end_line(t->o);
}

static void show_result(struct talk *t, const struct result *r)
{
	size_t keep = t->flags & TALK_FULL ? 0 : RESULT_LINES;

	if (!keep) {
		out_style(t->o, OUT_DIM);
		out_puts(t->o, r->error ? "  ✗ failed\n" : "  ← result\n");
		out_style(t->o, OUT_PLAIN);
	}
	if (r->text.len)
		show_output(t, grove_buf_slice(&r->text), keep && r->lines > keep ? r->lines - keep : 0, r->error);
	if (r->images) {
		out_style(t->o, OUT_DIM);
		out_printf(t->o, "    [%zu image%s]\n", r->images, r->images == 1 ? "" : "s");
		out_style(t->o, OUT_PLAIN);
		t->output = 1;
	}
}

static void show_call(struct talk *t, const struct grove_piece *piece)
{
	const struct tool_call_reader reader = { t, on_argument };
	/* if all entries are shown, each is in its own place */
	int apart = (t->flags & TALK_ALL) || !piece->call.len;
	struct result *r = apart ? NULL : results_find(&t->results, t->at, piece->call);
	struct grove_slice id = short_id(&t->ids, t->e->id);
	int failed = r && r->error, open = !r && !apart;
	unsigned after = (t->id_due ? 2 + out_width(id, 36) : 0) + (open ? 11 : 0);
	unsigned width = wide(t), used = 4;
	struct out *o = t->o;

	out_style(o, failed ? OUT_RED : OUT_PLAIN);
	out_puts(o, failed ? "  ✗ " : open ? "  ○ " : "  ● ");
	out_style(o, OUT_BOLD);
	used += out_fit(o, piece->title, width / 2);
	out_style(o, OUT_PLAIN);
	if (used + after + 10 < width && !(t->flags & TALK_FULL)) {
		out_puts(o, " ");
		used += 1 + tool_call_gist(o, piece->text, t->cwd, width - used - after - 1);
	}
	out_style(o, OUT_DIM);
	if (t->id_due) {
		out_puts(o, "  ");
		out_fit(o, id, 36);
	}
	if (open)
		out_puts(o, "  no result");
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
	if (t->flags & TALK_FULL)
		tool_call_each(piece->text, &reader);
	t->id_due = 0;
	t->worked = 1;
	t->output = 0;
	if (r)
		show_result(t, r);
}

/* Prints a result whose call was not printed, under a heading of its own. */
static void show_stray(struct talk *t, const struct grove_piece *piece)
{
	struct out *o = t->o;

	if (piece->title.len) {
		out_style(o, piece->error ? OUT_RED : OUT_DIM);
		out_puts(o, piece->error ? "  ✗ " : "  ← ");
		out_fit(o, piece->title, o->width / 2);
		out_puts(o, piece->error ? " failed\n" : "\n");
		out_style(o, OUT_PLAIN);
	}
	show_printed(t, piece);
}

/* Prints a change of model, a label or a name: a line beside the conversation. */
static void note(struct talk *t, const struct grove_piece *piece)
{
	struct out *o = t->o;
	unsigned used;

	if (!t->notes)
		out_puts(o, "\n");
	t->notes = 1;
	t->speaking = 0;
	out_style(o, OUT_DIM);
	out_puts(o, "· ");
	used = 2 + out_fit(o, role_name(t->e), 20);
	out_puts(o, " ");
	out_fit(o, piece->text.len ? piece->text : piece->title, wide(t) > used + 12 ? wide(t) - used - 1 : 10);
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static void show_image(struct talk *t, const struct grove_piece *piece)
{
	struct out *o = t->o;

	out_style(o, OUT_DIM);
	out_puts(o, "  [image");
	if (piece->title.len) {
		out_puts(o, " ");
		out_fit(o, piece->title, 40);
	}
	out_puts(o, "]\n");
	out_style(o, OUT_PLAIN);
}

static void show_thinking(struct talk *t, struct grove_slice text)
{
	out_style(t->o, OUT_DIM);
	out_puts(t->o, "  ┊ thinking\n");
	out_style(t->o, OUT_PLAIN);
	say(t, text, "  ┊ ", WRAP_DIM | WRAP_ITALIC, 1);
}

static int is_tool(const struct grove_piece *piece)
{
	return piece->kind == GROVE_PIECE_TOOL_CALL || piece->kind == GROVE_PIECE_TOOL_RESULT || piece->call.len;
}

/* Returns true if the piece is wanted and not printed elsewhere. */
static int is_wanted(struct talk *t, const struct grove_piece *piece)
{
	if (piece->hidden && !(t->flags & TALK_ALL))
		return 0;
	if (is_tool(piece) && (t->flags & (TALK_NO_TOOLS | TALK_USER)))
		return 0;
	return piece->kind == GROVE_PIECE_TOOL_CALL || !piece->call.len ||
	       !results_used(&t->results, t->at, piece->call);
}

static int on_piece(void *payload, const struct grove_piece *piece)
{
	struct talk *t = payload;
	int aside = piece->kind == GROVE_PIECE_NOTE && t->e->kind != GROVE_KIND_MESSAGE;

	if (!is_wanted(t, piece)) {
		t->hidden = 1;
		return 0;
	}
	if (!aside)
		begin_piece(t, piece);
	switch (piece->kind) {
	case GROVE_PIECE_TEXT:
		say(t, piece->text, "  ", 0, t->e->role != GROVE_ROLE_USER);
		break;
	case GROVE_PIECE_THINKING:
		show_thinking(t, piece->text);
		break;
	case GROVE_PIECE_TOOL_CALL:
		show_call(t, piece);
		break;
	case GROVE_PIECE_TOOL_RESULT:
		show_stray(t, piece);
		break;
	case GROVE_PIECE_COMMAND:
		out_style(t->o, OUT_BOLD);
		out_block(t->o, piece->text, "  $ ", 0);
		out_style(t->o, OUT_PLAIN);
		break;
	case GROVE_PIECE_OUTPUT:
		show_printed(t, piece);
		break;
	case GROVE_PIECE_IMAGE:
		show_image(t, piece);
		break;
	case GROVE_PIECE_SUMMARY:
		say(t, piece->text, "  │ ", 0, 1);
		break;
	case GROVE_PIECE_NOTE:
		if (aside)
			note(t, piece);
		else
			say(t, piece->text, "  ", piece->error ? OUT_RED << WRAP_COLOR : WRAP_DIM, 0);
		break;
	}
	t->before = piece->kind;
	return out_failed(t->o);
}

/* ----------------------------------------------------------------- branches */

static int is_said(const struct grove_entry *e)
{
	return e->kind == GROVE_KIND_MESSAGE && (e->role == GROVE_ROLE_USER || e->role == GROVE_ROLE_ASSISTANT);
}

/* Returns true if a branch contains a message, near its beginning. */
static int says(const struct talk *t, uint32_t i)
{
	enum { FAR = 32 };
	struct grove_entry e = { .size = sizeof(e) };

	for (int n = 0; n < FAR && !grove_view_entry(t->v, i, &e); n++) {
		struct grove_rows below = { NULL, 0 };

		if (is_said(&e))
			return 1;
		if (grove_view_children(t->v, i, GROVE_ORDER_APPENDED, &below) || !below.nr) {
			grove_rows_release(&below);
			break;
		}
		i = below.at[0];
		grove_rows_release(&below);
	}
	return 0;
}

/* Prints "2 other branches here", and where they begin. */
static int tell_branches(struct talk *t)
{
	enum { NAMED = 4 };
	struct grove_rows near = { NULL, 0 };
	uint32_t others[NAMED];
	unsigned used;
	size_t nr = 0, named = 0;
	int err = grove_view_children(t->v, t->e->parent, GROVE_ORDER_APPENDED, &near);

	for (size_t i = 0; i < near.nr; i++) {
		if (t->on_path[near.at[i]] || !says(t, near.at[i]))
			continue;
		if (nr < NAMED)
			others[nr] = near.at[i];
		nr++;
	}
	grove_rows_release(&near);
	if (!nr || err)
		return err;
	t->speaking = t->notes = 0;
	out_puts(t->o, "\n");
	out_style(t->o, OUT_MAGENTA);
	out_printf(t->o, "├ %zu other branch%s here:", nr, nr == 1 ? "" : "es");
	used = 29;
	for (size_t i = 0; i < nr; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct grove_slice id;

		if (i == NAMED || grove_view_entry(t->v, others[i], &e))
			break;
		id = short_id(&t->ids, e.id);
		used += 1 + out_width(id, 36);
		if (used > wide(t))
			break;
		out_puts(t->o, " ");
		out_fit(t->o, id, 36);
		named++;
	}
	out_puts(t->o, named < nr ? " …\n" : "\n");
	out_style(t->o, OUT_PLAIN);
	return 0;
}

/* ------------------------------------------------------------------ entries */

static uint32_t row_at(const struct talk *t, size_t at)
{
	return t->rows ? t->rows[at] : (uint32_t)at;
}

static int is_skipped(const struct talk *t, const struct grove_entry *e)
{
	if (t->flags & TALK_USER)
		return e->kind != GROVE_KIND_MESSAGE || e->role != GROVE_ROLE_USER;
	return (e->flags & GROVE_ENTRY_LEAF_MARK) && !(t->flags & TALK_ALL);
}

int talk_entry(struct talk *t, size_t at)
{
	struct grove_entry e = { .size = sizeof(e) };
	int err = grove_view_entry(t->v, row_at(t, at), &e);

	if (err || is_skipped(t, &e))
		return err;
	t->e = &e;
	t->at = at;
	t->before = NOTHING_YET;
	t->hidden = 0;
	t->id_due = 0;
	if (t->on_path && !(t->flags & TALK_USER))
		err = tell_branches(t);
	if (!err)
		err = grove_view_piece_each(t->v, e.index, on_piece, t);
	/* even an empty reply is part of the conversation */
	if (!err && t->before == NOTHING_YET &&
	    ((t->flags & TALK_ALL) || (e.kind == GROVE_KIND_MESSAGE && !t->hidden)))
		heading(t);
	results_pass(&t->results, at + 1);
	return err ? err : t->results.err;
}

int talk_counts(const struct talk *t, const struct grove_entry *e)
{
	return is_said(e) && !((t->flags & TALK_USER) && e->role != GROVE_ROLE_USER);
}

static int on_said(void *payload, const struct grove_piece *piece)
{
	int *said = payload;

	*said |= !is_tool(piece) && !piece->hidden;
	return 0;
}

/* Without tools, a reply with only tool calls does not count. */
static int says_enough(struct talk *t, const struct grove_entry *e, int *err)
{
	int said = !(t->flags & TALK_NO_TOOLS);

	if (!said)
		*err = grove_view_piece_each(t->v, e->index, on_said, &said);
	return said;
}

/*
 * Walks up from the end. A reply may span several entries and counts once, when its first
 * is reached: an entry counts if the message before it is somebody else's.
 */
int talk_last(struct talk *t, uint64_t nr, size_t *from, uint64_t *earlier)
{
	uint64_t found = 0;
	size_t begin = t->nr;    /* of the current reply */
	int in_reply = 0, err = 0;

	*from = nr ? 0 : t->nr;
	*earlier = 0;
	for (size_t i = t->nr; i-- > 0 && !err;) {
		struct grove_entry e = { .size = sizeof(e) };

		err = grove_view_entry(t->v, row_at(t, i), &e);
		if (err || e.kind != GROVE_KIND_MESSAGE)
			continue;
		if (in_reply && e.role != GROVE_ROLE_ASSISTANT) {
			in_reply = 0;
			if (++found == nr)
				*from = begin;
		}
		if (!talk_counts(t, &e) || (found < nr && !says_enough(t, &e, &err)))
			continue;
		begin = i;
		if (e.role == GROVE_ROLE_ASSISTANT)
			in_reply = 1;
		else if (++found == nr)
			*from = i;
	}
	if (in_reply && ++found == nr)
		*from = begin;
	*earlier = found > nr ? found - nr : 0;
	return err;
}

void talk_restart(struct talk *t)
{
	t->notes = t->speaking = t->worked = t->output = 0;
	results_release(&t->results);
	results_init(&t->results, t->v, t->rows, t->nr, t->flags & TALK_FULL ? 0 : RESULT_LINES);
}

void talk_init(struct talk *t, struct cli *c, struct grove_view *v, unsigned flags, const uint32_t *rows, size_t nr)
{
	memset(t, 0, sizeof(*t));
	t->c = c;
	t->o = &c->out;
	t->v = v;
	t->flags = flags;
	t->rows = rows;
	t->nr = nr;
	t->unfold = "--full";
	talk_restart(t);
	short_ids_init(&t->ids, v);
	if (!rows)
		return;
	t->on_path = cli_realloc(NULL, (size_t)grove_view_count(v) + 1, 1);
	memset(t->on_path, 0, (size_t)grove_view_count(v) + 1);
	for (size_t i = 0; i < nr; i++)
		t->on_path[rows[i]] = 1;
}

void talk_release(struct talk *t)
{
	results_release(&t->results);
	short_ids_release(&t->ids);
	free(t->on_path);
}

int talk_print(struct talk *t, size_t from)
{
	int err = 0;

	for (size_t i = from; i < t->nr && !err; i++) {
		progress_at(&t->c->progress, i - from, t->nr - from);
		err = talk_entry(t, i);
	}
	return err;
}
