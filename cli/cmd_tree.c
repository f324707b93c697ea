/*
 * cmd_tree.c: the tree, drawn.
 *
 * A conversation is a long line with few branches, so only a branch point
 * moves its children to the right; what follows an only child stays below it:
 *
 *	● 12110001 user       fix the parser
 *	● 12110002 assistant  which one?
 *	├─○ 12110003 user       the old one
 *	│ ○ 12110004 assistant  done
 *	└─● 12110005 user       the new one
 *	  ● 12110006 assistant  done  ← leaf
 *
 * Branch points that are not finished are kept on a stack of our own: a
 * session may be a million entries deep. For the same reason a line shows only
 * the innermost levels it has room for, behind a mark for those left out.
 */
#include "brief.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct level {
	struct grove_rows child;
	size_t at;          /* child.at[at] is the one being drawn */
};

struct tree {
	struct out *o;
	struct grove_view *v;
	struct level *level;
	size_t depth, cap;
	size_t room;              /* levels that a line shows */
	unsigned id_width, word_width;
	unsigned char *active;    /* by entry: on the path to the leaf */
	uint32_t leaf;
};

/*
 * The children of an entry as they are drawn: a line that only marks the leaf
 * is not part of the conversation, unless somebody went on from there.
 */
static int children(struct tree *t, uint32_t of, struct level *out)
{
	size_t kept = 0;
	int err = grove_view_children(t->v, of, GROVE_ORDER_TIME, &out->child);

	out->at = 0;
	if (err)
		return err;
	for (size_t i = 0; i < out->child.nr && !err; i++) {
		struct grove_entry e = { .size = sizeof(e) };
		struct grove_rows below = { NULL, 1 };

		err = grove_view_entry(t->v, out->child.at[i], &e);
		if (!err && (e.flags & GROVE_ENTRY_LEAF_MARK))
			err = grove_view_children(t->v, out->child.at[i], GROVE_ORDER_APPENDED, &below);
		if (!err && below.nr && !(e.flags & GROVE_ENTRY_SUPERSEDED))
			out->child.at[kept++] = out->child.at[i];
		grove_rows_release(&below);
	}
	out->child.nr = kept;
	if (err)
		grove_rows_release(&out->child);
	return err;
}

static void push(struct tree *t, const struct level *l)
{
	if (t->depth == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->level = cli_realloc(t->level, t->cap, sizeof(*t->level));
	}
	t->level[t->depth++] = *l;
}

/* The lines to the left of an entry; returns their columns. */
static unsigned print_lines(struct tree *t, int first_of_branch)
{
	size_t from = t->depth > t->room ? t->depth - t->room : 0;
	unsigned used = 0;

	if (from) {
		out_puts(t->o, "⋯ ");
		used += 2;
	}
	for (size_t i = from; i < t->depth; i++) {
		const struct level *l = &t->level[i];
		int last = l->at + 1 == l->child.nr;

		if (first_of_branch && i + 1 == t->depth)
			out_puts(t->o, last ? "└─" : "├─");
		else
			out_puts(t->o, last ? "  " : "│ ");
		used += 2;
	}
	return used;
}

static int print_entry(struct tree *t, uint32_t i, int first_of_branch)
{
	struct out *o = t->o;
	struct grove_entry e = { .size = sizeof(e) };
	struct brief b;
	unsigned used, text;
	int err = grove_view_entry(t->v, i, &e);
	int on = t->active[i];
	const char *id;

	if (!err)
		err = brief_read(&b, t->v, i);
	if (err)
		return err;
	id = e.id ? e.id : "-";
	if (t->depth)
		out_style(o, OUT_DIM);
	used = print_lines(t, first_of_branch);
	if (t->depth)
		out_style(o, OUT_PLAIN);
	out_puts(o, on ? "● " : "○ ");
	out_style(o, on ? OUT_YELLOW : OUT_DIM);
	out_column(o, (struct grove_slice){ id, strnlen(id, t->id_width) }, t->id_width);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	if (on)
		out_style(o, OUT_BOLD);
	out_style(o, brief_style(&e));
	if (b.found || e.label || i == t->leaf || e.flags & (GROVE_ENTRY_ORPHAN | GROVE_ENTRY_CYCLE))
		out_column(o, out_str(brief_word(&e)), t->word_width);
	else
		out_fit(o, out_str(brief_word(&e)), t->word_width);
	out_style(o, OUT_PLAIN);
	used += 2 + t->id_width + 1 + t->word_width;

	if (e.flags & (GROVE_ENTRY_ORPHAN | GROVE_ENTRY_CYCLE)) {
		const char *what = e.flags & GROVE_ENTRY_CYCLE ? " (cycle)" : " (orphan)";

		out_style(o, OUT_RED);
		out_puts(o, what);
		out_style(o, OUT_PLAIN);
		used += (unsigned)strlen(what);
	}
	if (e.label) {
		out_style(o, OUT_BOLD);
		out_puts(o, " [");
		used += 3 + out_fit(o, out_str(e.label), 30);
		out_puts(o, "]");
		out_style(o, OUT_PLAIN);
	}
	text = i == t->leaf ? 10 : 2; /* for "  ← leaf" and the last column */
	text = o->width > used + text ? o->width - used - text : 0;
	if (text >= 8 && b.found) {
		out_puts(o, " ");
		brief_print(o, &b, text);
	}
	if (i == t->leaf) {
		out_style(o, OUT_BOLD);
		out_puts(o, "  ← leaf");
		out_style(o, OUT_PLAIN);
	}
	out_puts(o, "\n");
	return out_failed(o);
}

/* Draw what `l` holds and everything below. Takes over `l`. */
static int draw(struct tree *t, struct level l)
{
	int err = 0, first = l.child.nr > 1;
	uint32_t i;

	if (l.child.nr > 1)
		push(t, &l);
	for (;;) {
		if (l.child.nr) {
			i = l.child.at[l.at];
			if (l.child.nr == 1)
				grove_rows_release(&l.child);
			err = print_entry(t, i, first);
			if (!err)
				err = children(t, i, &l);
			if (err)
				return err;
			first = l.child.nr > 1;
			if (first)
				push(t, &l);
			continue;
		}
		/* the end of a branch: on to the next one of the innermost level */
		grove_rows_release(&l.child);
		while (t->depth && ++t->level[t->depth - 1].at == t->level[t->depth - 1].child.nr)
			grove_rows_release(&t->level[--t->depth].child);
		if (!t->depth)
			return 0;
		l = t->level[t->depth - 1];
		first = 1;
	}
}

static int mark_active(struct tree *t)
{
	struct grove_rows path = { NULL, 0 };
	int err;

	t->active = cli_realloc(NULL, grove_view_count(t->v), 1);
	memset(t->active, 0, grove_view_count(t->v));
	t->leaf = grove_view_leaf(t->v);
	err = grove_view_ancestors(t->v, t->leaf, &path);
	if (err)
		return err;
	for (size_t i = 0; i < path.nr; i++)
		t->active[path.at[i]] = 1;
	grove_rows_release(&path);
	return 0;
}

/* Columns for ids, and for the words that say what an entry is. */
static void measure(struct tree *t)
{
	enum { LOOK = 1000, LONGEST = 8 };
	uint32_t nr = grove_view_count(t->v);
	struct grove_entry e = { .size = sizeof(e) };

	t->id_width = 2;
	t->word_width = 9; /* "assistant" */
	for (uint32_t i = 0; i < nr && !grove_view_entry(t->v, i, &e); i++) {
		size_t id = e.id && i < LOOK ? strlen(e.id) : 0, word = strlen(brief_word(&e));

		if (id > t->id_width)
			t->id_width = (unsigned)(id < LONGEST ? id : LONGEST);
		if (word > t->word_width)
			t->word_width = (unsigned)word;
	}
}

static int print_tree(struct cli *c, struct grove_session *s, struct grove_view *v)
{
	struct tree t = { .o = &c->out, .v = v };
	const char *name = grove_view_name(v);
	struct level roots;
	int err;

	measure(&t);
	/* a quarter of the line, two columns a level */
	t.room = c->out.width < 64 ? 8 : c->out.width > 192 ? 24 : c->out.width / 8;
	err = mark_active(&t);
	if (!err)
		err = children(&t, GROVE_NO_ENTRY, &roots);
	if (!err) {
		out_style(&c->out, OUT_BOLD);
		out_fit(&c->out, out_str(name ? name : grove_session_id(s)), c->out.width - 1);
		out_style(&c->out, OUT_PLAIN);
		out_puts(&c->out, t.leaf == GROVE_NO_ENTRY && roots.child.nr ? "  ← leaf\n" : "\n");
		err = draw(&t, roots);
	}
	while (t.depth)
		grove_rows_release(&t.level[--t.depth].child);
	free(t.level);
	free(t.active);
	return err;
}

int cmd_tree(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_view *v;
	int flat = 0, blobs = 0, err;
	const struct opt opts[] = {
		{ "flat", .flag = &flat },
		{ "blobs", .flag = &blobs },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (flat && !c->json)
		return cli_usage(c, "--flat requires --json");
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	s = cli_open(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	v = cli_view(c, s);
	if (v) {
		if (c->json) {
			unsigned flags = (flat ? GROVE_TREE_FLAT : 0) | (blobs ? GROVE_TREE_BLOBS : 0);

			err = grove_view_tree(v, flags, out_json_sink(&c->out));
			if (!err)
				out_end_line(&c->out);
		} else {
			err = print_tree(c, s, v);
		}
		c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
	}
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
