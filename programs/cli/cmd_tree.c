/*
 * cmd_tree.c: draws the tree.
 *
 * A conversation is a long line with few branches, so only the children of a branch point
 * are indented; an only child stays in its parent's column:
 *
 *	● 12110001 user       fix the parser
 *	● 12110002 assistant  which one?
 *	├─○ 12110003 user       the old one
 *	│ ○ 12110004 assistant  done
 *	└─● 12110005 user       the new one
 *	  ● 12110006 assistant  done  ← leaf
 *
 * Unfinished branch points are kept on an explicit stack, because a session may be a
 * million entries deep. For the same reason a line shows only as many of the innermost
 * levels as fit, after a mark for those left out.
 */
#include "kit/brief.h"
#include "commands.h"
#include "kit/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct called {
	struct called *next;
	uint32_t node;       /* GROVE_NO_ENTRY if the caller is unknown */
	char *call;          /* the id of the call; NULL if not recorded */
	char *id, *type, *words;
};

/* The maximum number of levels on a line, and the bytes of the widest mark for one. */
enum { ROOM_MAX = 24, MARK_MAX = sizeof("├─") - 1 };

struct tree {
	struct out *o;
	struct grove_view *v;
	struct shape s;
	uint32_t *level;          /* the child being drawn, for each unfinished branch point */
	size_t depth, cap;
	size_t room;              /* levels shown on a line */
	struct {
		char bytes[(ROOM_MAX + 1) * MARK_MAX];
		size_t len;
		unsigned columns;
		int first;        /* the lines begin a branch */
		int stale;        /* the levels have changed */
	} lines;                  /* drawn to the left of the current entry; usually the same as
	                             for the one before */
	unsigned id_width, word_width;
	unsigned char *active;    /* for each entry: on the path to the leaf */
	int records;              /* draw every record */
	struct called *agents;    /* the sub-agents of the session */
};

static void push(struct tree *t, uint32_t child)
{
	if (t->depth == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->level = cli_realloc(t->level, t->cap, sizeof(*t->level));
	}
	t->level[t->depth++] = child;
	t->lines.stale = 1;
}

static void add_mark(struct tree *t, const char *mark)
{
	size_t len = strlen(mark);

	memcpy(t->lines.bytes + t->lines.len, mark, len);
	t->lines.len += len;
	t->lines.columns += 2;
}

static void make_lines(struct tree *t, int first_of_branch)
{
	size_t from = t->depth > t->room ? t->depth - t->room : 0;

	t->lines.len = t->lines.columns = 0;
	t->lines.first = first_of_branch;
	t->lines.stale = 0;
	if (from)
		add_mark(t, "⋯ ");
	for (size_t i = from; i < t->depth; i++) {
		int last = t->s.next[t->level[i]] == GROVE_NO_ENTRY;

		if (first_of_branch && i + 1 == t->depth)
			add_mark(t, last ? "└─" : "├─");
		else
			add_mark(t, last ? "  " : "│ ");
	}
}

/* Prints the lines to the left of an entry; returns their width. */
static unsigned print_lines(struct tree *t, int first_of_branch)
{
	if (t->lines.stale || t->lines.first != first_of_branch)
		make_lines(t, first_of_branch);
	out_bytes(t->o, t->lines.bytes, t->lines.len);
	return t->lines.columns;
}

static int is_active(const struct tree *t, uint32_t node)
{
	int on = 0;

	for (uint32_t i = node; i != GROVE_NO_ENTRY; i = t->s.more[i])
		on |= t->active[t->s.c->index[i]];
	return on;
}

static unsigned print_marks(struct tree *t, const struct grove_entry *e)
{
	unsigned used = 0;

	if (e->flags & (GROVE_ENTRY_ORPHAN | GROVE_ENTRY_CYCLE)) {
		const char *what = e->flags & GROVE_ENTRY_CYCLE ? " (cycle)" : " (orphan)";

		out_style(t->o, OUT_RED);
		out_puts(t->o, what);
		out_style(t->o, OUT_PLAIN);
		used += (unsigned)strlen(what);
	}
	if (e->label) {
		out_style(t->o, OUT_BOLD);
		out_puts(t->o, " [");
		used += 3 + out_fit(t->o, out_str(e->label), 30);
		out_puts(t->o, "]");
		out_style(t->o, OUT_PLAIN);
	}
	return used;
}

/* Prints the sub-agents that a node called; for GROVE_NO_ENTRY, those without a known caller. */
static void print_agents(struct tree *t, uint32_t node)
{
	for (const struct called *a = t->agents; a; a = a->next) {
		unsigned used;

		if (a->node != node)
			continue;
		out_style(t->o, OUT_DIM);
		used = print_lines(t, 0);
		out_puts(t->o, "  ↳ ");
		used += 4 + out_fit(t->o, out_str(a->id), 24);
		if (a->type && *a->type) {
			out_puts(t->o, " ");
			used += 1 + out_fit(t->o, out_str(a->type), 20);
		}
		out_style(t->o, OUT_PLAIN);
		if (a->words && *a->words && t->o->width > used + 10) {
			out_puts(t->o, "  ");
			out_fit(t->o, out_str(a->words), t->o->width - used - 3);
		}
		out_puts(t->o, "\n");
	}
}

/* A reply with tool calls only adds nothing to its results; pi does not show it either. */
static int is_silent(const struct tree *t, uint32_t node, const struct brief *b, int is_leaf)
{
	return !t->records && !t->s.merged && !is_leaf && t->s.c->role[node] == GROVE_ROLE_ASSISTANT && b->found &&
	       !b->error && (b->kind == GROVE_PIECE_TOOL_CALL || b->kind == GROVE_PIECE_THINKING);
}

/* *first: the line begins a branch; cleared once a line was printed. */
static int print_node(struct tree *t, uint32_t node, int *first)
{
	struct out *o = t->o;
	struct grove_entry e = { .size = sizeof(e) };
	struct brief b;
	unsigned used, text, results = t->s.results[node];
	char calls[32] = "";
	const char *id;
	int on = is_active(t, node), is_leaf = node == t->s.leaf, err = grove_view_entry(t->v, t->s.c->index[node], &e);

	if (!err)
		err = brief_node(&b, &t->s, t->v, node);
	if (err)
		return err;
	if (!e.label && is_silent(t, node, &b, is_leaf))
		return 0;
	if (t->s.last[node] != node) {
		struct grove_entry last = { .size = sizeof(last) };

		/* to continue from a node is to continue from its last record */
		err = grove_view_entry(t->v, t->s.c->index[t->s.last[node]], &last);
		e.id = err ? e.id : last.id;
	}
	id = e.id ? e.id : "-";
	if (t->depth)
		out_style(o, OUT_DIM);
	used = print_lines(t, *first);
	*first = 0;
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
	if (b.found || e.label || is_leaf || results || e.flags & (GROVE_ENTRY_ORPHAN | GROVE_ENTRY_CYCLE))
		out_column(o, out_str(brief_word(&e)), t->word_width);
	else
		out_fit(o, out_str(brief_word(&e)), t->word_width);
	out_style(o, OUT_PLAIN);
	used += 2 + t->id_width + 1 + t->word_width;
	used += print_marks(t, &e);
	if (results > 1)
		snprintf(calls, sizeof(calls), "  (%u calls)", results);
	if (o->width < used + strlen(calls) + 24)
		*calls = '\0'; /* the text says more */
	/* for what follows, and the last column */
	text = (is_leaf ? 10 : 2) + (unsigned)strlen(calls);
	text = o->width > used + text ? o->width - used - text : 0;
	if (text >= 8 && b.found) {
		out_puts(o, " ");
		used += 1 + brief_print(o, &b, text);
	}
	if (*calls) {
		out_style(o, OUT_DIM);
		out_puts(o, calls);
		out_style(o, OUT_PLAIN);
	}
	if (is_leaf) {
		out_style(o, OUT_BOLD);
		out_puts(o, "  ← leaf");
		out_style(o, OUT_PLAIN);
	}
	out_puts(o, "\n");
	print_agents(t, node);
	return out_failed(o);
}

/* Draws the nodes from a root on, with everything below. */
static int draw(struct tree *t, uint32_t node)
{
	int err = 0, first = 0;

	while (node != GROVE_NO_ENTRY && !err) {
		/*
		 * the first of several children opens a level; an only child stays below
		 * its parent
		 */
		if (!first && t->s.next[node] != GROVE_NO_ENTRY && (!t->depth || t->level[t->depth - 1] != node)) {
			push(t, node);
			first = 1;
		}
		err = print_node(t, node, &first);
		node = t->s.first[node];
		if (node != GROVE_NO_ENTRY && t->s.next[node] != GROVE_NO_ENTRY) {
			push(t, node);
			first = 1;
		}
		while (node == GROVE_NO_ENTRY && t->depth) {
			/*
			 * at the end of a branch, continue with the next child of the
			 * innermost branch point
			 */
			node = t->level[t->depth - 1] = t->s.next[t->level[t->depth - 1]];
			first = t->lines.stale = 1;
			if (node == GROVE_NO_ENTRY)
				t->depth--;
		}
	}
	return err;
}

static int mark_active(struct tree *t)
{
	struct grove_rows path = { NULL, 0 };
	int err;

	t->active = cli_realloc(NULL, grove_view_count(t->v), 1);
	memset(t->active, 0, grove_view_count(t->v));
	err = grove_view_ancestors(t->v, grove_view_leaf(t->v), &path);
	if (err)
		return err;
	for (size_t i = 0; i < path.nr; i++)
		t->active[path.at[i]] = 1;
	grove_rows_release(&path);
	return 0;
}

/* Finds the widths for ids and for the words that say what an entry is. */
static void measure(struct tree *t)
{
	enum { LOOK = 1000, LONGEST = 8, KINDS = 256 };
	const struct grove_columns *c = t->s.c;
	unsigned char seen[KINDS] = { 0 };

	t->id_width = 2;
	t->word_width = 9; /* "assistant" */
	for (uint32_t i = 0; i < c->nr; i++) {
		size_t id = c->id[i] && i < LOOK ? strlen(c->strings + c->id[i]) : 0;
		struct grove_entry e = { .kind = (enum grove_kind)c->kind[i], .role = (enum grove_role)c->role[i] };
		unsigned pair = (unsigned)(c->kind[i] * 13 + c->role[i]) % KINDS;

		if (id > t->id_width)
			t->id_width = (unsigned)(id < LONGEST ? id : LONGEST);
		if (t->s.node[i] != i || seen[pair] == c->role[i] + 1)
			continue;
		seen[pair] = (unsigned char)(c->role[i] + 1);
		if (strlen(brief_word(&e)) > t->word_width)
			t->word_width = (unsigned)strlen(brief_word(&e));
	}
}

/* --- sub-agents --- */

static char *copied(const char *str)
{
	size_t size = str ? strlen(str) + 1 : 0;

	return str ? memcpy(cli_realloc(NULL, size, 1), str, size) : NULL;
}

static int on_agent(void *payload, const struct grove_subagent *a)
{
	struct tree *t = payload;
	struct called *c = cli_realloc(NULL, 1, sizeof(*c)), **end = &t->agents;

	*c = (struct called){ .node = GROVE_NO_ENTRY, .call = copied(a->tool_use_id), .id = copied(a->session_id ? a->session_id : a->id),
			      .type = copied(a->type), .words = copied(a->description) };
	while (*end)
		end = &(*end)->next;
	*end = c;
	return 0;
}

/* If they cannot be listed, the tree itself is still worth drawing. */
static int list_agents(struct cli *c, struct grove_session *s, struct tree *t)
{
	int err = grove_session_subagent_each(s, on_agent, t);
	struct grove_detail why = { 0 };

	if (!err || err == GROVE_ENOTSUP || err == GROVE_ENOMEM)
		return err == GROVE_ENOTSUP ? 0 : err;
	grove_session_error(s, &why);
	if (!why.code)
		return err;
	cli_warn_detail(c, &why);
	return 0;
}

/* Matches sub-agents to their callers: the record that made a call has its id. */
static int find_calls(struct tree *t)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int err = 0;

	for (uint32_t i = 0; t->agents && i < t->s.c->nr && !err; i++) {
		if (t->s.c->role[i] != GROVE_ROLE_ASSISTANT)
			continue;
		line.len = 0;
		err = grove_view_line(t->v, t->s.c->index[i], 0, &line);
		for (struct called *a = t->agents; a && !err; a = a->next)
			if (a->node == GROVE_NO_ENTRY && a->call &&
			    memmem(line.ptr, line.len, a->call, strlen(a->call)))
				a->node = t->s.node[i];
	}
	grove_buf_release(&line);
	return err;
}

static void release_agents(struct tree *t)
{
	while (t->agents) {
		struct called *a = t->agents;

		t->agents = a->next;
		free(a->call);
		free(a->id);
		free(a->type);
		free(a->words);
		free(a);
	}
}

static int print_tree(struct cli *c, struct grove_session *s, struct grove_view *v, enum shape_filter filter,
		      int records)
{
	struct tree t = { .o = &c->out, .v = v, .records = records };
	const char *name = grove_view_name(v);
	/* only Claude splits a reply into several records */
	int err = shape_make(&t.s, v, filter, records, !strcmp(grove_session_dialect(s), "claude"));

	/* a quarter of the line, at two columns per level */
	t.room = c->out.width < 64 ? 8 : c->out.width > 8 * ROOM_MAX ? ROOM_MAX : c->out.width / 8;
	if (!err)
		err = mark_active(&t);
	if (!err) {
		measure(&t);
		err = list_agents(c, s, &t);
	}
	if (!err)
		err = find_calls(&t);
	if (!err) {
		out_style(&c->out, OUT_BOLD);
		out_fit(&c->out, out_str(name ? name : grove_session_id(s)), c->out.width - 1);
		out_style(&c->out, OUT_PLAIN);
		out_puts(&c->out, t.s.leaf == GROVE_NO_ENTRY && t.s.root != GROVE_NO_ENTRY ? "  ← leaf\n" : "\n");
		err = draw(&t, t.s.root);
	}
	if (!err)
		print_agents(&t, GROVE_NO_ENTRY);
	release_agents(&t);
	shape_release(&t.s);
	free(t.level);
	free(t.active);
	return err;
}

int cmd_tree(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_view *v;
	int flat = 0, blobs = 0, all = 0, filter = -1, err;
	const struct opt opts[] = {
		{ "filter", .choice = &filter, .choices = shape_filters },
		{ "all", .flag = &all },
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
	if (c->json && (all || filter >= 0))
		return cli_usage(c, "--json has all entries (use neither --filter nor --all)");
	if (all && filter >= 0)
		return cli_usage(c, "--all shows every entry (use --filter or --all)");
	s = cli_open_read(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	v = cli_view(c, s);
	if (v) {
		cli_working(c, "drawing");
		if (c->json) {
			unsigned flags = (flat ? GROVE_TREE_FLAT : 0) | (blobs ? GROVE_TREE_BLOBS : 0);

			err = grove_view_tree(v, flags, out_json_sink(&c->out));
			if (!err)
				out_end_line(&c->out);
		} else {
			err = print_tree(c, s, v, filter < 0 ? SHAPE_DEFAULT : (enum shape_filter)filter, all);
		}
		c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
	}
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
