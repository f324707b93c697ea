/*
 * cmd_show.c: a conversation for reading.
 */
#include "brief.h"
#include "cli.h"
#include "web.h"

#include <stdlib.h>
#include <string.h>

enum {
	RESULT_LINES = 10,  /* of a tool's result, unless --full */
	NOTHING_YET = -1
};

struct show {
	struct out *o;
	int full, all;
	const struct grove_entry *e;
	int before;       /* kind of the piece before this one */
	int hidden;       /* a piece was left out: its agent does not show it */
	int notes;        /* the entry before this one was a note: they stand together */
};

static void heading(struct show *sh)
{
	const struct grove_entry *e = sh->e;
	struct out *o = sh->o;
	char when[32];

	sh->notes = 0;
	out_puts(o, "\n");
	out_style(o, brief_style(e));
	out_style(o, OUT_BOLD);
	out_puts(o, brief_word(e));
	out_style(o, OUT_PLAIN);
	out_style(o, OUT_DIM);
	cli_time(when, sizeof(when), e->time, 1);
	out_printf(o, "  %s  ", when);
	out_fit(o, out_str(e->id ? e->id : "-"), 36);
	out_style(o, OUT_PLAIN);
	if (e->label) {
		out_style(o, OUT_BOLD);
		out_puts(o, "  [");
		out_fit(o, out_str(e->label), 60);
		out_puts(o, "]");
		out_style(o, OUT_PLAIN);
	}
	out_puts(o, "\n");
}

static void styled_block(struct show *sh, enum out_style style, struct grove_slice text,
			 const char *prefix, size_t max_lines)
{
	struct out *o = sh->o;
	size_t hidden;

	if (style != OUT_PLAIN)
		out_style(o, style);
	hidden = out_block(o, text, prefix, sh->full ? 0 : max_lines);
	if (style != OUT_PLAIN)
		out_style(o, OUT_PLAIN);
	if (hidden) {
		out_style(o, OUT_DIM);
		out_printf(o, "%s… %zu more line%s (use --full to see %s)\n", prefix, hidden,
			   hidden == 1 ? "" : "s", hidden == 1 ? "it" : "them");
		out_style(o, OUT_PLAIN);
	}
}

static void tool_call(struct show *sh, const struct grove_piece *piece)
{
	struct out *o = sh->o;
	unsigned used = 4;

	out_puts(o, "  → ");
	out_style(o, OUT_BOLD);
	used += out_fit(o, piece->title, o->width / 2);
	out_style(o, OUT_PLAIN);
	if (sh->full) {
		out_puts(o, "\n");
		out_block(o, piece->text, "    ", 0);
		return;
	}
	if (piece->text.len && used + 12 < o->width) {
		out_puts(o, " ");
		out_fit(o, piece->text, o->width - used - 2);
	}
	out_puts(o, "\n");
}

/* A change of the model, a label, a name: a line beside the conversation. */
static void note(struct show *sh, const struct grove_piece *piece)
{
	struct out *o = sh->o;
	unsigned used;

	if (!sh->notes)
		out_puts(o, "\n");
	sh->notes = 1;
	out_style(o, OUT_DIM);
	out_puts(o, "· ");
	used = 2 + out_fit(o, out_str(brief_word(sh->e)), 20);
	out_puts(o, " ");
	out_fit(o, piece->text.len ? piece->text : piece->title,
		o->width > used + 12 ? o->width - used - 2 : 10);
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static int is_prose(int kind)
{
	return kind == GROVE_PIECE_TEXT || kind == GROVE_PIECE_THINKING;
}

static int on_piece(void *payload, const struct grove_piece *piece)
{
	struct show *sh = payload;
	struct out *o = sh->o;
	int aside = piece->kind == GROVE_PIECE_NOTE && sh->e->kind != GROVE_KIND_MESSAGE;

	if (piece->hidden && !sh->all) {
		sh->hidden = 1;
		return 0;
	}
	if (!aside && sh->before == NOTHING_YET)
		heading(sh);
	else if (is_prose(sh->before) || (is_prose(piece->kind) && sh->before != NOTHING_YET))
		out_puts(o, "\n");

	switch (piece->kind) {
	case GROVE_PIECE_TEXT:
		styled_block(sh, OUT_PLAIN, piece->text, "  ", 0);
		break;
	case GROVE_PIECE_THINKING:
		styled_block(sh, OUT_DIM, piece->text, "  ", 0);
		break;
	case GROVE_PIECE_TOOL_CALL:
		tool_call(sh, piece);
		break;
	case GROVE_PIECE_TOOL_RESULT:
		if (piece->title.len) {
			out_style(o, piece->error ? OUT_RED : OUT_DIM);
			out_puts(o, piece->error ? "  ✗ " : "  ← ");
			out_fit(o, piece->title, o->width / 2);
			out_puts(o, piece->error ? " failed\n" : "\n");
			out_style(o, OUT_PLAIN);
		}
		styled_block(sh, piece->error ? OUT_RED : OUT_PLAIN, piece->text, "    ",
			     RESULT_LINES);
		break;
	case GROVE_PIECE_COMMAND:
		styled_block(sh, OUT_BOLD, piece->text, "  $ ", 0);
		break;
	case GROVE_PIECE_OUTPUT:
		styled_block(sh, piece->error ? OUT_RED : OUT_PLAIN, piece->text, "    ",
			     RESULT_LINES);
		break;
	case GROVE_PIECE_IMAGE:
		out_style(o, OUT_DIM);
		out_puts(o, "  [image");
		if (piece->title.len) {
			out_puts(o, " ");
			out_fit(o, piece->title, 40);
		}
		out_puts(o, "]\n");
		out_style(o, OUT_PLAIN);
		break;
	case GROVE_PIECE_SUMMARY:
		styled_block(sh, OUT_MAGENTA, piece->text, "  │ ", 0);
		break;
	case GROVE_PIECE_NOTE:
		if (aside)
			note(sh, piece);
		else
			styled_block(sh, OUT_DIM, piece->text, "  ", 0);
		break;
	}
	sh->before = piece->kind;
	return out_failed(o);
}

static int show_entry(struct show *sh, struct grove_view *v, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };
	int err = grove_view_entry(v, i, &e);

	if (err || ((e.flags & GROVE_ENTRY_LEAF_MARK) && !sh->all))
		return err;
	sh->e = &e;
	sh->before = NOTHING_YET;
	sh->hidden = 0;
	err = grove_view_piece_each(v, i, on_piece, sh);
	/* an empty reply is a part of the conversation, too */
	if (!err && sh->before == NOTHING_YET &&
	    (sh->all || (e.kind == GROVE_KIND_MESSAGE && !sh->hidden)))
		heading(sh);
	return err;
}

static void title(struct cli *c, struct grove_session *s, struct grove_view *v)
{
	struct out *o = &c->out;
	const char *name = grove_view_name(v);
	const char *cwd = grove_session_cwd(s);

	if (name) {
		out_style(o, OUT_BOLD);
		out_fit(o, out_str(name), o->width - 1);
		out_style(o, OUT_PLAIN);
		out_puts(o, "\n");
	}
	out_style(o, OUT_DIM);
	out_fit(o, out_str(grove_session_id(s)), o->width / 2);
	if (cwd && *cwd) {
		out_puts(o, "  ");
		out_fit(o, out_str(cwd), o->width / 2 - 3);
	}
	out_style(o, OUT_PLAIN);
	out_puts(o, "\n");
}

static int show_json(struct cli *c, struct grove_view *v, const uint32_t *path, size_t nr,
		     unsigned flags)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int err = 0;

	out_puts(&c->out, "[");
	for (size_t i = 0; i < nr && !err; i++) {
		b.len = 0;
		err = grove_view_line(v, path ? path[i] : (uint32_t)i, flags, &b);
		if (err)
			break;
		if (i)
			out_puts(&c->out, ",\n");
		out_json(&c->out, (struct grove_slice){ b.ptr, b.len });
		err = out_failed(&c->out);
	}
	out_puts(&c->out, "]\n");
	grove_buf_release(&b);
	return err;
}

int cmd_show(struct cli *c, int argc, char **argv)
{
	struct show sh = { .o = &c->out };
	struct grove_session *s;
	struct grove_view *v = NULL;
	const char *leaf = NULL;
	struct grove_rows path = { NULL, 0 };
	uint32_t to;
	int blobs = 0, web = 0, err = 0;
	const struct opt opts[] = {
		{ "leaf", .string = &leaf },
		{ "all", .flag = &sh.all },
		{ "full", .flag = &sh.full },
		{ "blobs", .flag = &blobs },
		{ "web", .flag = &web },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (sh.all && leaf)
		return cli_usage(c, "--all and --leaf cannot be used together");
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	s = cli_open(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	if (web) {
		err = cli_show_web(c, s);
		grove_session_close(s);
		return err;
	}
	v = cli_view(c, s);
	if (!v || cli_leaf(c, v, leaf, &to))
		goto out;
	if (sh.all)
		path.nr = grove_view_count(v); /* and no rows: 0, 1, 2, … */
	else
		err = grove_view_conversation(v, to, GROVE_CONVERSATION_WHOLE, &path);
	if (!err && c->json) {
		err = show_json(c, v, path.at, path.nr, blobs ? GROVE_LINE_BLOBS : 0);
	} else if (!err) {
		title(c, s, v);
		for (size_t i = 0; i < path.nr && !err; i++)
			err = show_entry(&sh, v, path.at ? path.at[i] : (uint32_t)i);
	}
	c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
out:
	grove_rows_release(&path);
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
