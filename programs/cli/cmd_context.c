/*
 * cmd_context.c: what the model would be sent.
 *
 * For people: a list with one line per message, then what the tokens are spent on. The
 * width of the role column is known only after the last message, but the first ones are a
 * good guide. So we hold back the first rows, and print the rest as they come.
 */
#include "kit/brief.h"
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROLE_MIN 9               /* "assistant" */
#define ROLE_MAX 20
#define ROLE_NARROW 11
#define ID_COLUMNS 8
#define ROWS_KEPT 1000
#define NARROW 64                /* columns; below it lines have neither ids nor bytes */

/* What a line shows about a message. */
struct row {
	size_t at;               /* offset of its texts in the listing's bytes, in this order: */
	uint32_t role, id, title, text;
	uint64_t size, tokens;
	enum grove_piece_kind kind;
	int has_text;            /* from the message itself, rather than from its entry */
	int found, error;
};

struct listing {
	struct cli *c;
	struct grove_view *v;
	char *bytes;
	size_t len, cap_bytes;
	struct row *row;
	size_t nr, cap;          /* rows held back */
	size_t before;           /* rows already printed */
	size_t text_max;         /* enough bytes to fill a line */
	unsigned role_columns;
	uint64_t total;
	int explain, listed;
};

static uint32_t keep(struct listing *l, struct grove_slice text, size_t max)
{
	size_t n = text.len < max ? text.len : max;

	/* not in the middle of a character */
	while (n && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
		n--;
	if (l->len + n > l->cap_bytes) {
		l->cap_bytes = 2 * (l->len + n) + 4096;
		l->bytes = cli_realloc(l->bytes, l->cap_bytes, 1);
	}
	if (n)
		memcpy(l->bytes + l->len, text.ptr, n);
	l->len += n;
	return (uint32_t)n;
}

static void print_right(struct out *o, const char *ascii, unsigned width)
{
	size_t len = strlen(ascii);

	out_pad(o, len < width ? width - (unsigned)len : 0);
	out_bytes(o, ascii, len);
}

/* Tokens for people: 812, 12.3k, 1.2M. */
static const char *tokens_of(char out[CLI_NUMBER], uint64_t n)
{
	if (n < 1000)
		return cli_number(out, n);
	if (n < 999950)
		snprintf(out, CLI_NUMBER, "%.1fk", (double)n / 1000);
	else
		snprintf(out, CLI_NUMBER, "%.1fM", (double)n / 1000000);
	return out;
}

static int is_narrow(const struct listing *l)
{
	return l->c->out.width < NARROW;
}

static void print_row(const struct listing *l, size_t i)
{
	const struct row *r = &l->row[i];
	const char *at = l->bytes + r->at;
	struct out *o = &l->c->out;
	unsigned head = 6 + 1 + l->role_columns + 1 + 7 + 2 + (is_narrow(l) ? 0 : ID_COLUMNS + 1 + 7);
	unsigned width = o->width > head + 10 ? o->width - head - 1 : 10;
	struct grove_slice role = { at, r->role }, id = { at + r->role, r->id };
	struct brief b = { .found = r->found, .kind = r->kind, .error = r->error };
	char number[CLI_NUMBER], size[16], tokens[CLI_NUMBER];

	b.title = (struct grove_slice){ id.ptr + id.len, r->title };
	b.text = (struct grove_slice){ b.title.ptr + r->title, r->text };
	cli_size(size, sizeof(size), r->size);
	print_right(o, cli_number(number, l->before + i + 1), 6);
	out_puts(o, " ");
	out_style(o, OUT_BOLD);
	out_column(o, role, l->role_columns);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	if (!is_narrow(l)) {
		out_style(o, OUT_YELLOW);
		out_column(o, id, ID_COLUMNS);
		out_style(o, OUT_PLAIN);
		out_puts(o, " ");
		print_right(o, size, 6);
		out_puts(o, " ");
	}
	print_right(o, tokens_of(tokens, r->tokens), 7);
	out_puts(o, "  ");
	if (r->has_text)
		out_fit(o, b.text, width);
	else
		brief_print(o, &b, width);
	out_puts(o, "\n");
}

static void print_head(const struct listing *l)
{
	struct out *o = &l->c->out;

	out_style(o, OUT_DIM);
	out_puts(o, "     # ");
	out_column(o, out_str("ROLE"), l->role_columns);
	if (!is_narrow(l))
		out_printf(o, " %-*s %6s", ID_COLUMNS, "ENTRY", "BYTES");
	out_puts(o, "  TOKENS\n");
	out_style(o, OUT_PLAIN);
}

/* Prints the rows held back. */
static void print_rows(struct listing *l)
{
	if (!l->before) {
		cli_pager(l->c);
		if (l->nr)
			print_head(l);
	}
	for (size_t i = 0; i < l->nr && !out_failed(&l->c->out); i++)
		print_row(l, i);
	l->before += l->nr;
	l->nr = l->len = 0;
}

/* All messages were read. Reasons form a separate paragraph. */
static void end_rows(struct listing *l, int reasons)
{
	if (l->listed)
		return;
	l->listed = 1;
	print_rows(l);
	if (reasons)
		out_puts(&l->c->out, "\n");
}

static int on_message(void *payload, const struct grove_message *m)
{
	struct listing *l = payload;
	struct row r = { .at = l->len, .size = m->json.len, .tokens = m->tokens, .has_text = m->text.len > 0 };
	struct grove_slice role = m->role.len ? m->role : out_str("-");
	unsigned columns = out_width(role, is_narrow(l) ? ROLE_NARROW : ROLE_MAX);
	struct brief b = { .found = 0 };
	int err = r.has_text ? 0 : brief_message(&b, m, l->text_max);

	if (err)
		return err;
	if (columns > l->role_columns)
		l->role_columns = columns;
	r.role = keep(l, role, 4 * ROLE_MAX);
	r.id = keep(l, out_str(m->id ? m->id : "-"), ID_COLUMNS);
	r.title = keep(l, b.title, l->text_max);
	r.text = keep(l, r.has_text ? m->text : b.text, l->text_max);
	r.found = b.found;
	r.kind = b.kind;
	r.error = b.error;
	if (l->nr == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 256;
		l->row = cli_realloc(l->row, l->cap, sizeof(*l->row));
	}
	l->row[l->nr++] = r;
	l->total += r.size;
	if (l->before || l->nr == ROWS_KEPT)
		print_rows(l);
	return out_failed(&l->c->out);
}

/* Says why an entry is included or left out. */
static int on_reason(void *payload, const struct grove_context_reason *r)
{
	struct listing *l = payload;
	struct out *o = &l->c->out;
	struct grove_entry e = { .size = sizeof(e) };
	unsigned kind = is_narrow(l) ? 10 : 14, head = 4 + ID_COLUMNS + 1 + kind + 1;
	struct grove_slice id;
	int err = grove_view_entry(l->v, r->entry, &e);

	if (err)
		return err;
	end_rows(l, 1);
	id = out_str(e.id ? e.id : "-");
	out_puts(o, r->included ? "  + " : "  - ");
	out_style(o, r->included ? OUT_YELLOW : OUT_DIM);
	out_column(o, (struct grove_slice){ id.ptr, id.len < ID_COLUMNS ? id.len : ID_COLUMNS }, ID_COLUMNS);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	out_column(o, out_str(grove_kind_name(e.kind)), kind);
	out_puts(o, " ");
	out_fit(o, out_str(r->reason), o->width > head + 14 ? o->width - head : 14);
	out_puts(o, "\n");
	return 0;
}

/*
 * "41.2k of 200.0k tokens in use": what the last reply was billed for, or an estimate
 * marked as such.
 */
static void print_used(struct out *o, const struct grove_context_about *a)
{
	char used[CLI_NUMBER], window[CLI_NUMBER];

	out_printf(o, "%s%s", a->estimated ? "about " : "", tokens_of(used, a->used));
	if (a->window)
		out_printf(o, " of %s", tokens_of(window, a->window));
	if (a->estimated)
		out_printf(o, " tokens%s(estimated: 4 bytes each)", o->width < NARROW ? "\n" : " ");
	else
		out_printf(o, " tokens in use%s%s", a->window ? "" : o->width < NARROW ? "\n" : " ",
			   a->window ? "" : "(the model's limit is unknown)");
}

/* "toolCalls", in words. */
static void print_part(struct out *o, const char *name)
{
	char words[32];
	size_t n = 0;

	for (; *name && n + 2 < sizeof(words); name++) {
		if (*name >= 'A' && *name <= 'Z')
			words[n++] = ' ';
		words[n++] = (char)(*name >= 'A' && *name <= 'Z' ? *name + 'a' - 'A' : *name);
	}
	words[n] = '\0';
	out_printf(o, "  %-12s ", words);
}

/* All tokens here are estimates, which "~" marks as in `grove usage`. */
static void print_parts(struct out *o, const struct grove_context_about *a)
{
	if (a->nr_parts) {
		out_style(o, OUT_DIM);
		out_printf(o, "  %-12s COUNT  ", "KIND");
		if (o->width >= NARROW)
			out_puts(o, " BYTES  ");
		out_puts(o, "TOKENS\n");
		out_style(o, OUT_PLAIN);
	}
	for (size_t i = 0; i < a->nr_parts; i++) {
		const struct grove_context_part *p = &a->parts[i];
		char tokens[CLI_NUMBER], about[CLI_NUMBER + 1], size[16];

		cli_size(size, sizeof(size), p->bytes);
		snprintf(about, sizeof(about), "~%s", tokens_of(tokens, p->tokens));
		print_part(o, grove_part_name(p->part));
		out_printf(o, "%5llu  ", (unsigned long long)p->count);
		if (o->width >= NARROW)
			out_printf(o, "%6s  ", size);
		out_printf(o, "%6s\n", about);
	}
}

/* Model and thinking level, if the agent records them, and the size. */
static int on_about(void *payload, const struct grove_context_about *a)
{
	struct listing *l = payload;
	struct out *o = &l->c->out;
	char size[CLI_BYTES];

	end_rows(l, l->explain);
	if (l->before)
		out_puts(o, "\n");
	print_parts(o, a);
	if (a->has_settings) {
		const char *model = a->model ? a->model : "none", *thinking = a->thinking ? a->thinking : "none";
		unsigned width = out_width(out_str(model), 160) + out_width(out_str(thinking), 80) + 17;

		out_puts(o, "model ");
		out_fit(o, out_str(model), 160);
		out_puts(o, width > o->width ? ",\nthinking " : ", thinking ");
		out_fit(o, out_str(thinking), 80);
		out_puts(o, "\n");
	}
	cli_bytes(size, l->total);
	out_printf(o, "%zu message%s, %s,%s", l->before, l->before == 1 ? "" : "s", size, o->width < NARROW ? "\n" : " ");
	print_used(o, a);
	out_puts(o, "\n");
	return 0;
}

static int print_context(struct cli *c, struct grove_view *v, const struct grove_context_options *opt)
{
	struct listing l = { .c = c, .v = v, .role_columns = ROLE_MIN, .explain = opt->flags & GROVE_CONTEXT_EXPLAIN,
			     .text_max = 4 * (size_t)c->out.width };
	struct grove_context_reader reader = { .size = sizeof(reader), .payload = &l, .message = on_message,
					       .reason = on_reason, .about = on_about };
	int err;

	err = grove_view_messages(v, opt, &reader);
	free(l.bytes);
	free(l.row);
	return err;
}

int cmd_context(struct cli *c, int argc, char **argv)
{
	struct grove_context_options co = { sizeof(co) };
	struct grove_session *s;
	struct grove_view *v = NULL;
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t leaf;
	int err, lazy, llm = 0, explain = 0, mode = -1;
	static const char *const modes[] = { "cli", "sdk", NULL };
	const struct opt opts[] = {
		{ "leaf", .string = &co.leaf },
		{ "llm", .flag = &llm },
		{ "explain", .flag = &explain },
		{ "mode", .choice = &mode, .choices = modes },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (mode >= 0)
		co.mode = modes[mode];
	/* ask only for what is printed, which may allow reading less */
	co.flags = GROVE_CONTEXT_PARTS | (llm ? GROVE_CONTEXT_LLM : 0) | (explain ? GROVE_CONTEXT_EXPLAIN : 0);
	lazy = c->json && !co.leaf && !explain;
	s = cli_open_read(c, argv[0], lazy ? GROVE_OPEN_LAZY : GROVE_OPEN_READ);
	if (!s)
		return c->status;
	cli_working(c, "reading");
	/* nothing was read yet, and perhaps not everything has to be */
	if (lazy && !grove_session_cwd(s)) {
		err = grove_session_context(s, &co, out_json_sink(&c->out));
		if (!err)
			out_end_line(&c->out);
		c->status = err ? cli_fail_session(c, s, err) : EXIT_DONE;
		/* the whole log was read after all, so report what was skipped */
		if (!err && grove_session_cwd(s))
			v = cli_view(c, s);
		goto out;
	}
	v = cli_view(c, s);
	if (!v || cli_leaf(c, v, co.leaf, &leaf))
		goto out;
	if (co.leaf && leaf != GROVE_NO_ENTRY && !grove_view_entry(v, leaf, &e))
		co.leaf = e.id;
	if (c->json) {
		err = grove_view_context(v, &co, out_json_sink(&c->out));
		if (!err)
			out_end_line(&c->out);
	} else {
		err = print_context(c, v, &co);
	}
	c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
out:
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
