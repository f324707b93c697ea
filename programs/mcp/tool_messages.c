/*
 * tool_messages.c: get_messages and get_context.
 *
 * get_messages pages through a conversation: the path to a leaf. The cursor contains that
 * leaf, and a stamp of the path, by which it is noticed if these are other entries by now:
 *
 *	m LEAF . STAMP . PLACE . WAY      WAY 1: from PLACE on; 0: what is before PLACE
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

/* What a page has besides its messages, and a message besides its pieces. */
enum { AROUND = 1500 };
enum { LIMIT_DEFAULT = 10, LIMIT_MAX = 200, TEXT_DEFAULT = 2000, LABEL_TEXT = 200 };

#define ARG_TEXT { "maxText", VALUE_NUMBER, .least = 100, .most = ANSWER_BYTES_MAX, \
	.about = "The maximum number of bytes of one text. Default: 2000. A text that is cut says how long it is." }

/* ----------------------------------------------------------------- messages */

static const char *const piece_names[] = { "text", "thinking", "toolCall", "toolResult", "command", "output", "image",
					   "summary", "note" };

struct writing {
	struct doc *d;
	size_t text;             /* the maximum bytes of a text, as it is read */
	size_t most, size;       /* of the message: the maximum as sent_size(), and what it has */
	int tools;               /* include tool calls and results */
	int hidden;              /* and what is not shown to users */
	uint64_t left_out;
	size_t nr;
};

static int is_of_tool(const struct grove_piece *p)
{
	return p->kind == GROVE_PIECE_TOOL_CALL || p->kind == GROVE_PIECE_TOOL_RESULT || p->kind == GROVE_PIECE_COMMAND ||
	       p->kind == GROVE_PIECE_OUTPUT;
}

static int put_piece(void *payload, const struct grove_piece *p)
{
	struct writing *w = payload;
	struct doc *d = w->d;
	size_t before = d->buf.len, size;

	if ((p->hidden && !w->hidden) || (!w->tools && is_of_tool(p)))
		return 0;
	doc_open(d, '{');
	doc_member(d, "kind", piece_names[p->kind]);
	if (p->title.len) {
		doc_name(d, "title");
		put_recorded(d, p->title, GROVE_TITLE_MAX);
	}
	if (p->kind != GROVE_PIECE_IMAGE) {
		doc_name(d, "text");
		if (put_recorded_text(d, p->text, w->text, w->most))
			doc_member_number(d, "cutOf", p->text.len);
	}
	if (p->error)
		doc_member_bool(d, "error", 1);
	doc_close(d, '}');
	size = sent_size((struct grove_slice){ d->buf.ptr + before, d->buf.len - before });
	/* the first one is always included */
	if (w->nr && w->size + size > w->most) {
		d->buf.len = before;
		w->left_out++;
	} else {
		w->size += size;
		w->nr++;
	}
	return d->rc;
}

/* The members of a message before its pieces. */
static void put_entry_head(struct doc *d, const struct grove_entry *e)
{
	put_recorded_member(d, "entryId", e->id, ID_TEXT);
	doc_member(d, "role", e->role == GROVE_ROLE_NONE ? grove_kind_name(e->kind) : grove_role_name(e->role));
	doc_member_time(d, "time", e->time);
	put_recorded_member(d, "label", e->label, LABEL_TEXT);
}

static struct writing begin_message(struct call *k, struct doc *d)
{
	struct writing w = { .d = d, .text = arg_number(k, "maxText", TEXT_DEFAULT), .most = k->max / 2,
			     .tools = arg_number(k, "tools", 1) != 0 };

	d->buf.len = 0;
	doc_open(d, '{');
	return w;
}

static void begin_pieces(struct doc *d)
{
	doc_name(d, "pieces");
	doc_open(d, '[');
}

static void end_message(struct writing *w)
{
	doc_close(w->d, ']');
	if (w->left_out)
		doc_member_number(w->d, "piecesLeftOut", w->left_out);
	doc_close(w->d, '}');
}

/*
 * Returns 1 if it has readable text, 0 if not, or an error. An entry that is `wanted` is
 * written in any case, and all of it.
 */
static int write_message(struct call *k, const struct grove_view *v, uint32_t i, int wanted, struct doc *d)
{
	struct writing w = begin_message(k, d);
	struct grove_entry e = { .size = sizeof(e) };
	int rc = grove_view_entry(v, i, &e);

	if (rc || (e.flags & GROVE_ENTRY_LEAF_MARK && !wanted))
		return rc;
	if (wanted)
		w.tools = w.hidden = 1;
	/* alone in the answer, it can have what the others would */
	if (wanted && !arg_number(k, "before", 1) && !arg_number(k, "after", 1))
		w.most = k->max - AROUND;
	put_entry_head(d, &e);
	begin_pieces(d);
	rc = grove_view_piece_each(v, i, put_piece, &w);
	end_message(&w);
	return rc ? rc : wanted || w.nr > 0;
}

/* ------------------------------------------------------------------ a page */

/*
 * Makes the stamp of a cursor to a place on a path. It is made for every page, so of a path
 * that may have a million entries it looks at the ends and at the place.
 */
static uint64_t path_stamp(const struct grove_session *s, const struct grove_view *v, const struct grove_rows *path,
			   uint64_t place)
{
	size_t last = path->nr ? path->nr - 1 : 0;

	if (!path->nr)
		return cursor_stamp(s, v, NULL, 0);
	return cursor_stamp(s, v, (const uint32_t[]){ path->at[0], path->at[place < last ? place : last], path->at[last] }, 3) ^
	       (uint32_t)path->nr;
}

struct page {
	struct call *k;
	struct grove_session *s;
	struct grove_view *v;
	struct grove_rows path;
	uint32_t leaf;
	size_t from, to;         /* the part of the path that is in it, including entries without
	                            text */
	struct grove_buf *items; /* in the order of the path, from `from` on; empty if without
	                            text */
	size_t wanted;           /* the place of the requested entry, plus one; 0: none */
	size_t bytes, nr;
};

/*
 * Adds the entry at a place adjacent to the others. Returns 1, 0 if it does not fit, or an
 * error.
 */
static int add_message(struct page *p, size_t place)
{
	struct doc d = { .rc = 0 };
	int rc = write_message(p->k, p->v, p->path.at[place], p->wanted == place + 1, &d);
	size_t size = sent_size(grove_buf_slice(&d.buf));

	if (d.rc)
		rc = d.rc;
	if (rc > 0 && p->nr && p->bytes + size + 700 > p->k->max)
		rc = 0;
	else if (rc >= 0) {
		if (rc > 0) {
			p->bytes += size;
			p->nr++;
			p->items[place] = d.buf;
			d.buf = (struct grove_buf)GROVE_BUF_INIT;
		}
		if (place < p->from)
			p->from = place;
		else
			p->to = place + 1;
		rc = 1;
	}
	doc_release(&d);
	if (!rc || atomic_load(&p->k->m->cancelled))
		return rc < 0 ? rc : 0;
	return rc;
}

/* Adds up to `nr` messages after those in it. */
static int add_after(struct page *p, uint64_t nr)
{
	size_t had = p->nr;
	int rc = 1;

	while (rc > 0 && p->nr - had < nr && p->to < p->path.nr)
		rc = add_message(p, p->to);
	return rc < 0 ? rc : 0;
}

static int add_before(struct page *p, uint64_t nr)
{
	size_t had = p->nr;
	int rc = 1;

	while (rc > 0 && p->nr - had < nr && p->from > 0)
		rc = add_message(p, p->from - 1);
	return rc < 0 ? rc : 0;
}

static void put_way(struct page *p, const char *name, size_t place, int forward)
{
	const uint64_t at[] = { p->leaf, path_stamp(p->s, p->v, &p->path, place), place, (uint64_t)forward };

	put_cursor(&p->k->d, name, 'm', at, 4);
}

static void put_page(struct page *p)
{
	struct doc *d = &p->k->d;

	put_notice(d);
	put_recorded_member(d, "sessionId", grove_session_id(p->s), ID_TEXT);
	doc_name(d, "messages");
	doc_open(d, '[');
	for (size_t i = p->from; i < p->to; i++)
		if (p->items[i].len)
			doc_json(d, grove_buf_slice(&p->items[i]));
	doc_close(d, ']');
	if (p->from > 0)
		put_way(p, "previousCursor", p->from, 0);
	if (p->to < p->path.nr)
		put_way(p, "nextCursor", p->to, 1);
	doc_close(d, '}');
}

static void end_page(struct page *p)
{
	/* the others were never used: in a long conversation, looking at them would take memory for them */
	for (size_t i = p->from; p->items && i < p->to; i++)
		grove_buf_release(&p->items[i]);
	free(p->items);
	grove_rows_release(&p->path);
	grove_view_unref(p->v);
}

static int make_room(struct page *p)
{
	free(p->items);
	p->items = calloc(p->path.nr + 1, sizeof(*p->items));
	return p->items ? 0 : call_fail(p->k, GROVE_ENOMEM, "out of memory");
}

/* Takes the conversation that ends at p->leaf. */
static int take_path(struct page *p)
{
	int rc;

	grove_rows_release(&p->path);
	p->path = (struct grove_rows){ 0 };
	rc = grove_view_conversation(p->v, p->leaf, GROVE_CONVERSATION_WHOLE, &p->path);
	return rc ? call_fail(p->k, rc, "%s", grove_strerror(rc)) : make_room(p);
}

/* Sets leaf and place from a cursor, and returns the direction. */
static int take_cursor(struct page *p, const char *cursor, uint64_t *way)
{
	uint64_t at[4];
	int rc = cursor_read(p->k, cursor, 'm', at, 4);

	if (rc)
		return rc;
	if (at[3] > 1 || (at[0] != GROVE_NO_ENTRY && at[0] >= grove_view_count(p->v)))
		return cursor_expired(p->k);
	p->leaf = (uint32_t)at[0];
	rc = take_path(p);
	if (!rc && at[1] != path_stamp(p->s, p->v, &p->path, at[2]))
		rc = cursor_expired(p->k);
	p->from = p->to = at[2] < p->path.nr ? (size_t)at[2] : p->path.nr;
	*way = at[3];
	return rc;
}

static size_t place_of(const struct grove_rows *rows, uint32_t entry)
{
	size_t i = 0;

	while (i < rows->nr && rows->at[i] != entry)
		i++;
	return i;
}

/* Returns the newest end below an entry. */
static uint32_t end_below(const struct grove_view *v, uint32_t entry)
{
	struct grove_rows below;

	for (uint32_t left = grove_view_count(v); left; left--) {
		uint32_t next = GROVE_NO_ENTRY;

		if (grove_view_children(v, entry, GROVE_ORDER_APPENDED, &below))
			break;
		if (below.nr)
			next = below.at[below.nr - 1];
		grove_rows_release(&below);
		if (next == GROVE_NO_ENTRY)
			break;
		entry = next;
	}
	return entry;
}

/* Takes one entry, without the conversation around it. */
static int take_alone(struct page *p, uint32_t entry)
{
	grove_rows_release(&p->path);
	p->path = (struct grove_rows){ .at = malloc(sizeof(*p->path.at)), .nr = 1 };
	if (!p->path.at)
		return call_fail(p->k, GROVE_ENOMEM, "out of memory");
	p->path.at[0] = p->leaf = entry;
	return make_room(p);
}

/*
 * Takes the path through an entry, and its place there: to the leaf or, on another branch,
 * down from it.
 */
static int take_entry(struct page *p, const char *what)
{
	uint32_t entry;
	int rc = entry_get(p->k, p->v, what, GROVE_NO_ENTRY, &entry);

	if (rc)
		return rc;
	rc = take_path(p);
	if (!rc && place_of(&p->path, entry) == p->path.nr) {
		p->leaf = end_below(p->v, entry);
		rc = take_path(p);
	}
	/* not part of any conversation */
	if (rc == GROVE_ENOTFOUND || (!rc && place_of(&p->path, entry) == p->path.nr))
		rc = take_alone(p, entry);
	p->from = p->to = rc ? 0 : place_of(&p->path, entry);
	p->wanted = p->from + 1;
	return rc;
}

/* Adds one of `left`, which becomes 0 if there is none, or no room for it. */
static int add_one(struct page *p, int (*add)(struct page *p, uint64_t nr), uint64_t *left)
{
	size_t had = p->nr;
	int rc = add(p, 1);

	*left = p->nr > had ? *left - 1 : 0;
	return rc;
}

/* In turns, so that long messages on one side do not keep out those on the other. */
static int around(struct page *p)
{
	uint64_t before = arg_number(p->k, "before", LIMIT_DEFAULT / 2), after = arg_number(p->k, "after", LIMIT_DEFAULT / 2);
	int rc = take_entry(p, arg_text(p->k, "entry"));

	if (!rc)
		rc = add_after(p, 1);
	while (!rc && (before || after)) {
		rc = before ? add_one(p, add_before, &before) : 0;
		if (!rc && after)
			rc = add_one(p, add_after, &after);
	}
	return rc;
}

static int follow(struct page *p, const char *cursor)
{
	uint64_t limit = p->k->tool ? arg_number(p->k, "limit", LIMIT_DEFAULT) : LIMIT_MAX, way = 0;
	int rc = take_cursor(p, cursor, &way);

	if (rc)
		return rc;
	return way ? add_after(p, limit) : add_before(p, limit);
}

static int newest(struct page *p)
{
	int rc = take_path(p);

	p->from = p->to = p->path.nr;
	return rc ? rc : add_before(p, arg_number(p->k, "limit", LIMIT_DEFAULT));
}

static int end_with(struct page *p, int rc)
{
	if (!rc)
		put_page(p);
	else if (!*p->k->why)
		call_fail(p->k, rc, "%s", grove_strerror(rc));
	end_page(p);
	return rc;
}

static int get_messages(struct call *k)
{
	struct page p = { .k = k };
	const char *cursor = arg_text(k, "cursor");
	int rc = session_get(k, arg_text(k, "session"), &p.s, &p.v);

	if (!rc)
		rc = entry_get(k, p.v, arg_text(k, "leaf"), grove_view_leaf(p.v), &p.leaf);
	if (!rc && cursor)
		rc = follow(&p, cursor);
	else if (!rc)
		rc = arg_text(k, "entry") ? around(&p) : newest(&p);
	return end_with(&p, rc);
}

int messages_from_start(struct call *k, const char *session, const char *cursor)
{
	struct page p = { .k = k };
	int rc = session_get(k, session, &p.s, &p.v);

	if (!rc)
		p.leaf = grove_view_leaf(p.v);
	if (!rc && cursor)
		rc = follow(&p, cursor);
	else if (!rc) {
		rc = take_path(&p);
		if (!rc)
			rc = add_after(&p, LIMIT_MAX);
	}
	return end_with(&p, rc);
}

const struct tool tool_get_messages = {
	"get_messages", "Read messages",
	"Reads messages of a session in order: those around an entry (a hit of search_sessions), or the newest ones. "
	"previousCursor and nextCursor get the pages before and after. Long texts are cut; ask for one entry with before 0, after 0 and a larger "
	"maxText and maxBytes to read all of it.",
	(const struct arg[]){
		ARG_SESSION,
		{ "entry", VALUE_TEXT, .about = "The id of an entry, or a prefix of it: get the messages around it, on its branch." },
		{ "before", VALUE_NUMBER, .most = LIMIT_MAX, .about = "With entry: the number of messages before it. Default: 5." },
		{ "after", VALUE_NUMBER, .most = LIMIT_MAX, .about = "With entry: the number of messages after it. Default: 5." },
		{ "leaf", VALUE_TEXT, .about = "Read the branch that ends at this entry. Default: the active branch." },
		{ "tools", VALUE_FLAG, .about = "false: leave out tool calls, commands and their results. Default: true." },
		{ "limit", VALUE_NUMBER, .least = 1, .most = LIMIT_MAX, .about = "Without entry: messages per page. Default: 10." },
		ARG_TEXT, ARG_CURSOR, ARG_BYTES, { NULL },
	},
	get_messages,
};

/* -------------------------------------------------------------- get_context */

struct context {
	struct call *k;
	struct doc list;         /* the messages of this page */
	size_t size;             /* its size as sent_size() */
	uint64_t from, limit, at, nr;
	uint64_t stamp;          /* of the path to the leaf */
	int full;
	struct doc about;
};

static int see_message(void *payload, const struct grove_message *m)
{
	struct context *c = payload;
	struct doc d = { .rc = 0 };
	struct writing w;
	uint64_t place = c->at++;
	size_t size;
	int rc = 0;

	if (atomic_load(&c->k->m->cancelled))
		return GROVE_ECANCELLED;
	if (place < c->from || c->full)
		return 0;
	w = begin_message(c->k, &d);
	put_recorded_member(&d, "entryId", m->id, ID_TEXT);
	doc_name(&d, "role");
	put_recorded(&d, m->role, LABEL_TEXT);
	doc_member_number(&d, "tokens", m->tokens);
	begin_pieces(&d);
	rc = m->entry == GROVE_NO_ENTRY ? 0 : grove_message_pieces(m, put_piece, &w);
	if (!rc && !w.nr && m->text.len) {
		struct grove_piece all = { .kind = GROVE_PIECE_TEXT, .text = m->text };

		rc = put_piece(&w, &all);
	}
	end_message(&w);
	size = sent_size(grove_buf_slice(&d.buf)) + 1;
	c->full = c->nr == c->limit || (c->nr && c->size + size + AROUND > c->k->max);
	if (!c->full) {
		doc_json(&c->list, grove_buf_slice(&d.buf));
		c->size += size;
		c->nr++;
	}
	rc = rc ? rc : d.rc;
	doc_release(&d);
	return rc;
}

static int see_about(void *payload, const struct grove_context_about *a)
{
	struct context *c = payload;
	struct doc *d = &c->about;

	put_recorded_member(d, "model", a->model, LABEL_TEXT);
	put_recorded_member(d, "thinkingLevel", a->thinking, LABEL_TEXT);
	doc_member_number(d, "tokens", a->used);
	if (a->window)
		doc_member_number(d, "window", a->window);
	doc_member_bool(d, "estimated", a->estimated);
	doc_name(d, "parts");
	doc_open(d, '{');
	for (size_t i = 0; i < a->nr_parts; i++)
		doc_member_number(d, grove_part_name(a->parts[i].part), a->parts[i].tokens);
	doc_close(d, '}');
	return d->rc;
}

static void put_context(struct context *c, const char *id, uint32_t leaf)
{
	struct doc *d = &c->k->d;
	const uint64_t next[] = { leaf, c->stamp, c->from + c->nr };

	put_notice(d);
	put_recorded_member(d, "sessionId", id, ID_TEXT);
	if (c->about.buf.len) {
		doc_puts(d, ",");
		doc_add(d, grove_buf_slice(&c->about.buf));
	}
	doc_member_number(d, "messageCount", c->at);
	doc_name(d, "messages");
	doc_open(d, '[');
	if (c->list.buf.len)
		doc_json(d, grove_buf_slice(&c->list.buf));
	doc_close(d, ']');
	if (next[2] < c->at)
		put_cursor(d, "nextCursor", 'c', next, 3);
	doc_close(d, '}');
}

static int stamp_path(struct context *c, const struct grove_session *s, const struct grove_view *v, uint32_t leaf)
{
	struct grove_rows path = { 0 };
	int rc = leaf == GROVE_NO_ENTRY ? 0 : grove_view_ancestors(v, leaf, &path);

	c->stamp = path_stamp(s, v, &path, 0);
	grove_rows_release(&path);
	return rc ? call_fail(c->k, rc, "%s", grove_strerror(rc)) : 0;
}

/* Takes the requested leaf, or the leaf and the place in the cursor. */
static int context_leaf(struct context *c, const struct grove_session *s, struct grove_view *v, uint32_t *leaf)
{
	const char *cursor = arg_text(c->k, "cursor");
	uint64_t at[3];
	int rc;

	if (!cursor) {
		rc = entry_get(c->k, v, arg_text(c->k, "leaf"), grove_view_leaf(v), leaf);
		return rc ? rc : stamp_path(c, s, v, *leaf);
	}
	rc = cursor_read(c->k, cursor, 'c', at, 3);
	if (rc)
		return rc;
	if (at[0] != GROVE_NO_ENTRY && at[0] >= grove_view_count(v))
		return cursor_expired(c->k);
	*leaf = (uint32_t)at[0];
	c->from = at[2];
	rc = stamp_path(c, s, v, *leaf);
	return rc ? rc : at[1] == c->stamp ? 0 : cursor_expired(c->k);
}

static int get_context(struct call *k)
{
	struct context c = { .k = k, .limit = arg_number(k, "limit", LIMIT_DEFAULT) };
	struct grove_context_options o = { .size = sizeof(o), .flags = GROVE_CONTEXT_PARTS };
	const struct grove_context_reader to = { .size = sizeof(to), .payload = &c, .message = see_message, .about = see_about };
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_session *s;
	struct grove_view *v;
	uint32_t leaf;
	int rc = session_get(k, arg_text(k, "session"), &s, &v);

	if (!rc)
		rc = context_leaf(&c, s, v, &leaf);
	if (!rc) {
		if (leaf != GROVE_NO_ENTRY && !grove_view_entry(v, leaf, &e))
			o.leaf = leaf == grove_view_leaf(v) ? NULL : e.id;
		rc = grove_view_messages(v, &o, &to);
		if (rc)
			call_fail(k, rc, "%s", grove_strerror(rc));
	}
	if (!rc)
		put_context(&c, grove_session_id(s), leaf);
	if (c.list.rc && !k->d.rc)
		k->d.rc = c.list.rc;
	doc_release(&c.list);
	doc_release(&c.about);
	grove_view_unref(v);
	return rc;
}

const struct tool tool_get_context = {
	"get_context", "What the model sees",
	"Reads what the model would be sent next if the session continued: the messages after compaction, in order, and "
	"the tokens that each part uses.",
	(const struct arg[]){
		ARG_SESSION,
		{ "leaf", VALUE_TEXT, .about = "Continue from this entry instead of from where the session ended." },
		{ "limit", VALUE_NUMBER, .least = 1, .most = LIMIT_MAX, .about = "Messages per page. Default: 10." },
		ARG_TEXT, ARG_CURSOR, ARG_BYTES, { NULL },
	},
	get_context,
};
