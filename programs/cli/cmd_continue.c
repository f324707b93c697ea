/*
 * cmd_continue.c: continues from an entry.
 */
#include "commands.h"

#include <stdlib.h>

static const char *const words[] = { "append", "switch", "replay" };

static void print_json(struct cli *c, enum grove_outcome outcome, const char *leaf,
		       const struct grove_buf *content)
{
	struct out *o = &c->out;

	out_printf(o, "{\"outcome\":\"%s\",\"leaf\":", words[outcome]);
	out_json_string(o, leaf);
	if (outcome == GROVE_OUTCOME_REPLAY && content->len) {
		out_puts(o, ",\"content\":");
		out_json(o, (struct grove_slice){ content->ptr, content->len });
	}
	out_puts(o, "}\n");
}

static int on_piece(void *payload, const struct grove_piece *piece)
{
	struct out *o = payload;

	if (piece->kind == GROVE_PIECE_TEXT)
		out_block(o, piece->text, "", 0);
	else if (piece->kind == GROVE_PIECE_IMAGE)
		out_puts(o, "[image]\n");
	return out_failed(o);
}

static int print_words(struct cli *c, struct grove_session *s, const char *entry,
		       enum grove_outcome outcome, const char *leaf)
{
	struct grove_view *v = NULL;
	uint32_t i;
	int err;

	out_puts(&c->out, words[outcome]);
	out_puts(&c->out, outcome == GROVE_OUTCOME_APPEND ? ": the leaf is " :
							    ": the leaf is now ");
	out_line(&c->out, out_str(leaf ? leaf : GROVE_ROOT));
	if (outcome != GROVE_OUTCOME_REPLAY) {
		out_puts(&c->out, "\n");
		return 0;
	}
	out_puts(&c->out, "; edit this prompt and send it again:\n\n");
	err = grove_session_view(s, &v);
	if (err)
		return err;
	if (!grove_view_find(v, entry, &i))
		err = grove_view_piece_each(v, i, on_piece, &c->out);
	grove_view_unref(v);
	return err;
}

int cmd_continue(struct cli *c, int argc, char **argv)
{
	struct grove_leaf_options lo = { .size = sizeof(lo), .flags = GROVE_LEAF_PERSIST };
	struct grove_leaf_result r = { .size = sizeof(r) };
	struct grove_session *s;
	char *entry;
	int err = 0;

	if (cli_begin(c, NULL, "SESSION ENTRY", &argc, argv))
		return c->status;
	s = cli_open(c, argv[0], GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	entry = cli_entry(c, s, argv[1]);
	if (!entry)
		goto out;
	cli_working(c, "writing");
	err = grove_session_continue(s, entry, &lo, &r);
	if (!err && c->json)
		print_json(c, r.outcome, r.leaf, &r.content);
	else if (!err)
		err = print_words(c, s, entry, r.outcome, r.leaf);
	c->status = err ? cli_fail_session(c, s, err) : EXIT_DONE;
	if (!err)
		cli_tell_resume(c, s);
out:
	free(entry);
	grove_buf_release(&r.content);
	grove_session_close(s);
	return c->status;
}
