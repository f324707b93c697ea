/*
 * tool_tree.c: get_tree.
 *
 * The nodes in the order in which `grove tree` draws them: a node, then what is below it.
 * `depth` counts forks, not entries; otherwise a long conversation would look like a
 * staircase. A reply of tool calls only, which `grove tree` does not draw, is a node: what
 * was called is what an agent looks for.
 *
 * A session may grow while it is read, and a new node need not be the last in this order.
 * So the cursor names the entry that comes next, not its place:
 *
 *	t STAMP . ENTRY
 */
#include "mcp.h"

#include "kit/shape.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 1000, LABEL_TEXT = 200 };

struct row {
	uint32_t node;           /* an index in the columns */
	uint32_t parent;         /* GROVE_NO_ENTRY if none */
	uint32_t depth, children;
};

struct rows {
	struct row *at;
	size_t nr;
};

static uint32_t count_children(const struct shape *s, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = s->first[node]; i != GROVE_NO_ENTRY; i = s->next[i])
		n++;
	return n;
}

/* The nodes still to visit are a stack, with the first sibling on top. */
static void push_all(struct rows *stack, const struct shape *s, uint32_t first, const struct row *parent)
{
	size_t begin = stack->nr;

	for (uint32_t i = first; i != GROVE_NO_ENTRY; i = s->next[i])
		stack->at[stack->nr++] = (struct row){
			.node = i,
			.parent = parent ? parent->node : GROVE_NO_ENTRY,
			.depth = parent ? parent->depth + (parent->children > 1) : 0,
			.children = count_children(s, i),
		};
	for (size_t i = begin, j = stack->nr; i + 1 < j; i++) {
		struct row swap = stack->at[--j];

		stack->at[j] = stack->at[i];
		stack->at[i] = swap;
	}
}

static void lay_out(const struct shape *s, struct rows *out)
{
	struct rows stack = { .at = cli_realloc(NULL, s->c->nr + 1u, sizeof(*stack.at)) };

	out->at = cli_realloc(NULL, s->c->nr + 1u, sizeof(*out->at));
	out->nr = 0;
	push_all(&stack, s, s->root, NULL);
	while (stack.nr) {
		struct row r = stack.at[--stack.nr];

		out->at[out->nr++] = r;
		push_all(&stack, s, s->first[r.node], &r);
	}
	free(stack.at);
}

struct drawing {
	struct call *k;
	struct grove_session *session;
	struct grove_view *v;
	const struct shape *s;
	unsigned char *active;   /* for each entry: on the path to the leaf */
	size_t text;
};

/* A node may be several records: takes the first text of the reply, or else its first call. */
static int preview_node(const struct drawing *w, uint32_t node, struct grove_buf *buf, struct grove_preview *p)
{
	const struct shape *s = w->s;
	int rc = grove_view_preview(w->v, s->c->index[node], w->text, buf, p);

	for (uint32_t i = s->more[node]; rc >= 0 && i != GROVE_NO_ENTRY && (rc || p->kind != GROVE_PIECE_TEXT); i = s->more[i]) {
		struct grove_buf words = GROVE_BUF_INIT, swap;
		struct grove_preview other = { .size = sizeof(other) };
		int none;

		if (s->c->role[i] != GROVE_ROLE_ASSISTANT)
			continue;
		none = grove_view_preview(w->v, s->c->index[i], w->text, &words, &other);
		if (!none && other.kind != GROVE_PIECE_THINKING &&
		    (rc || p->kind == GROVE_PIECE_THINKING || other.kind == GROVE_PIECE_TEXT)) {
			swap = *buf;
			*buf = words;
			words = swap;
			*p = other;
			rc = 0;
		}
		if (none < 0)
			rc = none;
		grove_buf_release(&words);
	}
	return rc;
}

static void put_row(struct drawing *w, const struct row *r, struct doc *d)
{
	const struct grove_columns *c = w->s->c;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_preview p = { .size = sizeof(p) };
	struct grove_buf buf = GROVE_BUF_INIT;

	d->buf.len = 0;
	if (grove_view_entry(w->v, c->index[r->node], &e))
		return;
	doc_open(d, '{');
	put_recorded_member(d, "entryId", e.id, ID_TEXT);
	if (r->parent != GROVE_NO_ENTRY && c->id[r->parent])
		put_recorded_member(d, "parentId", c->strings + c->id[r->parent], ID_TEXT);
	doc_member_number(d, "depth", r->depth);
	doc_member(d, "role", e.role == GROVE_ROLE_NONE ? grove_kind_name(e.kind) : grove_role_name(e.role));
	doc_member_time(d, "time", e.time);
	put_recorded_member(d, "label", e.label, LABEL_TEXT);
	if (r->children > 1)
		doc_member_number(d, "branches", r->children);
	doc_member_bool(d, "onActivePath", w->active[e.index]);
	if (!preview_node(w, r->node, &buf, &p)) {
		if (p.title.len) {
			doc_name(d, "title");
			put_recorded(d, p.title, GROVE_TITLE_MAX);
		}
		doc_name(d, "text");
		put_recorded(d, p.text, w->text);
	}
	doc_close(d, '}');
	grove_buf_release(&buf);
}

/* Finds the row that a cursor names. */
static int find_row(const struct drawing *w, const struct rows *rows, const char *cursor, size_t *out)
{
	uint64_t at[2];
	uint32_t entry;
	int rc = cursor_read(w->k, cursor, 't', at, 2);

	if (rc)
		return rc;
	entry = at[1] < GROVE_NO_ENTRY ? (uint32_t)at[1] : GROVE_NO_ENTRY;
	for (*out = 0; *out < rows->nr && w->s->c->index[rows->at[*out].node] != entry; ++*out)
		;
	return *out < rows->nr && at[0] == cursor_stamp(w->session, w->v, &entry, 1) ? 0 : cursor_expired(w->k);
}

static void put_rows(struct drawing *w, const struct rows *rows, size_t from, uint64_t limit)
{
	struct doc *d = &w->k->d, item = { .rc = 0 };
	size_t at = from;

	put_notice(d);
	put_recorded_member(d, "sessionId", grove_session_id(w->session), ID_TEXT);
	doc_member_number(d, "total", rows->nr);
	doc_name(d, "nodes");
	doc_open(d, '[');
	for (; at < rows->nr && at - from < limit && !atomic_load(&w->k->m->cancelled); at++) {
		put_row(w, &rows->at[at], &item);
		if (item.buf.len && !put_item(w->k, &item, at - from))
			break;
	}
	doc_close(d, ']');
	if (at < rows->nr) {
		const uint32_t entry = w->s->c->index[rows->at[at].node];
		const uint64_t next[] = { cursor_stamp(w->session, w->v, &entry, 1), entry };

		put_cursor(d, "nextCursor", 't', next, 2);
	}
	doc_close(d, '}');
	doc_release(&item);
}

static int mark_active(struct drawing *w)
{
	struct grove_rows path = { 0 };
	int rc = grove_view_ancestors(w->v, grove_view_leaf(w->v), &path);

	w->active = calloc(grove_view_count(w->v) + 1u, 1);
	if (!rc && !w->active)
		rc = GROVE_ENOMEM;
	for (size_t i = 0; !rc && i < path.nr; i++)
		w->active[path.at[i]] = 1;
	grove_rows_release(&path);
	return rc;
}

static int get_tree(struct call *k)
{
	enum shape_filter filter = (enum shape_filter)arg_number(k, "filter", SHAPE_DEFAULT);
	const char *cursor = arg_text(k, "cursor");
	struct drawing w = { .k = k, .text = arg_number(k, "maxText", 100) };
	struct shape shape = { 0 };
	struct rows rows = { 0 };
	size_t from = 0;
	int rc = session_get(k, arg_text(k, "session"), &w.session, &w.v);

	if (!rc) {
		rc = shape_make(&shape, w.v, filter, 0, !strcmp(grove_session_dialect(w.session), "claude"));
		if (!rc)
			rc = mark_active(&w);
		if (rc)
			call_fail(k, rc, "%s", grove_strerror(rc));
	}
	if (!rc) {
		w.s = &shape;
		lay_out(&shape, &rows);
		rc = cursor ? find_row(&w, &rows, cursor, &from) : 0;
	}
	if (!rc)
		put_rows(&w, &rows, from, arg_number(k, "limit", LIMIT_DEFAULT));
	free(rows.at);
	free(w.active);
	shape_release(&shape);
	grove_view_unref(w.v);
	return rc;
}

const struct tool tool_get_tree = {
	"get_tree", "Tree of a session",
	"Shows the tree of a session, one line per node, parents before children: id, role, time, label, the "
	"first words, where it forks, and which nodes are on the active path.",
	(const struct arg[]){
		ARG_SESSION,
		{ "filter", VALUE_CHOICE, .choices = "default|no-tools|user-only|labeled-only|all",
		  .about = "Which entries are nodes; user-only gives the shortest summary." },
		{ "limit", VALUE_NUMBER, .least = 1, .most = LIMIT_MAX, .about = "Nodes per page. Default: 50." },
		{ "maxText", VALUE_NUMBER, .least = 1, .most = 1000, .about = "The maximum number of bytes of each node's first words. Default: 100." },
		ARG_CURSOR, ARG_BYTES, { NULL },
	},
	get_tree,
};
