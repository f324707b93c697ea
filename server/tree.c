/*
 * tree.c: GET /sessions/{id}/tree: the shape of a session in columns.
 *
 *	{"session":{…},"level":"all","n":4,"seq":[1,2,3,4],"id":[…],"parent":[-1,0,1,2],
 *	 "kind":"otmm","role":"--ua","flags":[0,0,1,0],"bytes":[131,…],"time":[1784491765000,0,…],
 *	 "labels":{"2":"findings"},"leaf":3,"next":null}
 *
 * `parent` is a position in the columns: -1 for a root, -2 for one before this
 * window, whose id is in `parentId`. `time` has differences. A column is written
 * at a time, so nothing but the one at hand is held.
 */
#include "handlers.h"
#include "held.h"
#include "letters.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREVIEW_MAX 400u
#define PREVIEW_TURNS 120u
#define FLUSH 32768u

/* The entries of the window that are shown, and where each entry of the view is among them. */
struct shape {
	struct request *r;
	const struct grove_view *v;
	struct grove_sink to;     /* without a function: nowhere, it stays in `d` */
	struct doc d;             /* what is not written yet */
	uint32_t *row;            /* the entries that are shown */
	uint32_t nr;
	uint32_t from, upto;      /* the window: entries of the view */
	uint32_t *position;       /* by entry, from `from` on: among the shown, or NO_ENTRY */
	uint32_t *run;            /* level turns: entries that are left out since the parent */
	uint32_t *parent;         /* by shown entry: the shown parent's entry, NO_ENTRY, or one before the window */
	size_t preview;
	int turns;
};

static void flush(struct shape *s)
{
	int rc;

	if (s->d.rc || s->d.buf.len < FLUSH || !s->to.write)
		return;
	rc = s->to.write(s->to.payload, s->d.buf.ptr, s->d.buf.len);
	s->d.buf.len = 0;
	s->d.rc = rc;
}

static void entry(const struct shape *s, uint32_t i, struct grove_entry *e)
{
	e->size = sizeof(*e);
	grove_view_entry(s->v, i, e);
}

/* The first entry of a seq, or after it. */
static uint32_t entry_at(const struct grove_view *v, uint64_t seq)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t low = 0, high = grove_view_count(v);

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		grove_view_entry(v, mid, &e);
		if (e.line < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ------------------------------------------------------------ what is shown */

/* Children of each entry of the window, as far as it matters: none, one, more. */
static unsigned char *count_children(const struct shape *s)
{
	unsigned char *nr = calloc(s->upto - s->from + 1, 1);
	struct grove_entry e;

	for (uint32_t i = s->from; nr && i < s->upto; i++) {
		entry(s, i, &e);
		if (e.parent != GROVE_NO_ENTRY && e.parent >= s->from && nr[e.parent - s->from] < 2)
			nr[e.parent - s->from]++;
	}
	return nr;
}

static int gives_shape(const struct grove_entry *e, unsigned children)
{
	switch (e->kind) {
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
	case GROVE_KIND_RESET:
	case GROVE_KIND_SUBAGENT_BATCH:
	case GROVE_KIND_SUBAGENT_RESULT:
	case GROVE_KIND_CUSTOM_MESSAGE:
		return 1;
	default:
		return e->role == GROVE_ROLE_USER || e->label || children != 1 || e->parent == GROVE_NO_ENTRY;
	}
}

/* The nearest shown entry above, and how many were passed over on the way. */
static uint32_t shown_above(const struct shape *s, uint32_t i, uint32_t *run)
{
	struct grove_entry e;

	*run = 0;
	entry(s, i, &e);
	while (e.parent != GROVE_NO_ENTRY && e.parent >= s->from && s->position[e.parent - s->from] == GROVE_NO_ENTRY) {
		++*run;
		entry(s, e.parent, &e);
	}
	return e.parent;
}

static int choose(struct shape *s)
{
	size_t n = s->upto - s->from + 1;
	unsigned char *children = count_children(s);
	struct grove_entry e;

	s->row = malloc(n * sizeof(*s->row));
	s->position = malloc(n * sizeof(*s->position));
	s->run = calloc(n, sizeof(*s->run));
	s->parent = malloc(n * sizeof(*s->parent));
	if (!children || !s->row || !s->position || !s->run || !s->parent) {
		free(children);
		return GROVE_ENOMEM;
	}
	for (uint32_t i = s->from; i < s->upto; i++) {
		s->position[i - s->from] = GROVE_NO_ENTRY;
		entry(s, i, &e);
		if (s->turns && !gives_shape(&e, children[i - s->from]))
			continue;
		s->position[i - s->from] = s->nr;
		s->row[s->nr++] = i;
	}
	for (uint32_t k = 0; k < s->nr; k++)
		s->parent[k] = shown_above(s, s->row[k], &s->run[k]);
	free(children);
	return 0;
}

/* ------------------------------------------------------------------ columns */

typedef void put_fn(struct shape *s, const struct grove_entry *e, uint32_t k);

static void put_seq(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	(void)k;
	doc_number(&s->d, e->line);
}

static void put_id(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	(void)k;
	doc_string(&s->d, e->id);
}

static void put_parent(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	uint32_t p = s->parent[k];

	(void)e;
	if (p == GROVE_NO_ENTRY)
		doc_signed(&s->d, -1);
	else if (p < s->from)
		doc_signed(&s->d, -2);
	else
		doc_number(&s->d, s->position[p - s->from]);
}

static void put_flags(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	(void)k;
	doc_number(&s->d, e->flags);
}

static void put_bytes(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	(void)k;
	doc_number(&s->d, e->bytes);
}

static void put_run(struct shape *s, const struct grove_entry *e, uint32_t k)
{
	(void)e;
	doc_number(&s->d, s->run[k]);
}

static void put_column(struct shape *s, const char *name, put_fn *fn)
{
	struct grove_entry e;

	doc_name(&s->d, name);
	doc_open(&s->d, '[');
	for (uint32_t k = 0; k < s->nr && !s->d.rc; k++) {
		/* a flushed buffer has forgotten that a comma is due */
		if (k && !s->d.buf.len)
			doc_puts(&s->d, ",");
		entry(s, s->row[k], &e);
		fn(s, &e, k);
		flush(s);
	}
	doc_close(&s->d, ']');
}

/* Differences; an entry without a time has that of the one before it. */
static void put_times(struct shape *s)
{
	int64_t before = 0, t;
	struct grove_entry e;

	doc_name(&s->d, "time");
	doc_open(&s->d, '[');
	for (uint32_t k = 0; k < s->nr && !s->d.rc; k++) {
		if (k && !s->d.buf.len)
			doc_puts(&s->d, ",");
		entry(s, s->row[k], &e);
		t = e.time == GROVE_NO_TIME ? before : e.time;
		doc_signed(&s->d, t - before);
		before = t;
		flush(s);
	}
	doc_close(&s->d, ']');
}

static void put_letters(struct shape *s, const char *name, int roles)
{
	struct grove_entry e;
	char c;

	doc_name(&s->d, name);
	doc_puts(&s->d, "\"");
	for (uint32_t k = 0; k < s->nr && !s->d.rc; k++) {
		entry(s, s->row[k], &e);
		c = roles ? role_letter(e.role) : kind_letter(e.kind);
		doc_add(&s->d, (struct grove_slice){ &c, 1 });
		flush(s);
	}
	doc_puts(&s->d, "\"");
}

static void put_labels(struct shape *s)
{
	struct grove_entry e;
	char at[16];

	doc_name(&s->d, "labels");
	doc_open(&s->d, '{');
	for (uint32_t k = 0; k < s->nr; k++) {
		entry(s, s->row[k], &e);
		if (!e.label)
			continue;
		snprintf(at, sizeof(at), "%u", k);
		doc_member(&s->d, at, e.label);
	}
	doc_close(&s->d, '}');
}

/* Ids of parents that lie before the window. */
static void put_earlier(struct shape *s)
{
	struct grove_entry e;
	char at[16];

	if (!s->from)
		return;
	doc_name(&s->d, "parentId");
	doc_open(&s->d, '{');
	for (uint32_t k = 0; k < s->nr; k++) {
		if (s->parent[k] == GROVE_NO_ENTRY || s->parent[k] >= s->from)
			continue;
		entry(s, s->parent[k], &e);
		snprintf(at, sizeof(at), "%u", k);
		doc_member(&s->d, at, e.id);
	}
	doc_close(&s->d, '}');
}

/* ---------------------------------------------------------------- previews */

struct preview {
	struct grove_buf text;
	size_t characters, most;
	int failed, rc;
};

/* The first characters, on one line. */
static int take_piece(void *payload, const struct grove_piece *piece)
{
	struct preview *p = payload;
	struct grove_slice t = piece->text.len ? piece->text : piece->title;
	size_t end = 0;

	p->failed |= piece->error;
	if (piece->hidden || p->text.len)
		return p->rc;
	while (end < t.len && p->characters < p->most) {
		end++;
		while (end < t.len && ((unsigned char)t.ptr[end] & 0xc0) == 0x80)
			end++;
		p->characters++;
	}
	p->rc = grove_buf_utf8(&p->text, (struct grove_slice){ t.ptr, end });
	return p->rc;
}

static int put_previews(struct shape *s)
{
	struct doc failed = { GROVE_BUF_INIT, 0 };
	struct preview p = { .most = s->preview };
	int rc = 0;

	doc_name(&s->d, "text");
	doc_open(&s->d, '[');
	doc_open(&failed, '[');
	for (uint32_t k = 0; k < s->nr && !rc && !s->d.rc; k++) {
		if (k && !s->d.buf.len)
			doc_puts(&s->d, ",");
		p.text.len = p.characters = 0;
		p.failed = 0;
		rc = grove_view_piece_each(s->v, s->row[k], take_piece, &p);
		for (size_t i = 0; i < p.text.len; i++)
			if ((unsigned char)p.text.ptr[i] < 0x20)
				p.text.ptr[i] = ' ';
		doc_text(&s->d, grove_buf_slice(&p.text));
		doc_number(&failed, (uint64_t)p.failed);
		flush(s);
	}
	doc_close(&s->d, ']');
	doc_close(&failed, ']');
	doc_name(&s->d, "failed");
	doc_json(&s->d, grove_buf_slice(&failed.buf));
	doc_release(&failed);
	grove_buf_release(&p.text);
	return rc;
}

/* ---------------------------------------------------------------- the route */

static void put_leaf_position(struct shape *s)
{
	uint32_t leaf = grove_view_leaf(s->v);

	doc_name(&s->d, "leaf");
	if (leaf != GROVE_NO_ENTRY && leaf >= s->from && leaf < s->upto &&
	    s->position[leaf - s->from] != GROVE_NO_ENTRY)
		doc_number(&s->d, s->position[leaf - s->from]);
	else
		doc_null(&s->d);
}

static void put_next(struct shape *s)
{
	struct grove_entry e;

	doc_name(&s->d, "next");
	if (s->upto < grove_view_count(s->v)) {
		entry(s, s->upto, &e);
		doc_number(&s->d, e.line);
	} else {
		doc_null(&s->d);
	}
}

static void put_columns(struct shape *s)
{
	doc_member_number(&s->d, "n", s->nr);
	put_column(s, "seq", put_seq);
	put_column(s, "id", put_id);
	put_column(s, "parent", put_parent);
	put_letters(s, "kind", 0);
	put_letters(s, "role", 1);
	put_column(s, "flags", put_flags);
	put_column(s, "bytes", put_bytes);
	put_times(s);
}

static int write_all(struct shape *s, struct held *h)
{
	int rc = 0;

	doc_open(&s->d, '{');
	doc_name(&s->d, "session");
	doc_open(&s->d, '{');
	put_session_record(s->r, &s->d, h, s->v);
	doc_close(&s->d, '}');
	doc_member(&s->d, "level", s->turns ? "turns" : "all");
	put_columns(s);
	if (s->turns)
		put_column(s, "run", put_run);
	if (s->preview)
		rc = put_previews(s);
	put_labels(s);
	put_earlier(s);
	put_leaf_position(s);
	put_next(s);
	doc_close(&s->d, '}');
	if (!rc)
		rc = s->d.rc;
	return rc ? rc : s->to.write(s->to.payload, s->d.buf.ptr, s->d.buf.len);
}

static int read_window(struct request *r, struct shape *s)
{
	static const char *const levels[] = { "all", "turns", NULL };
	uint64_t after = 0, limit = UINT32_MAX, preview = 0;
	uint32_t count = grove_view_count(s->v);
	int rc = query_choice(r, "level", levels, &s->turns);

	if (!rc)
		rc = query_number(r, "after", &after);
	if (!rc)
		rc = query_number(r, "limit", &limit);
	if (!rc)
		rc = query_number(r, "preview", &preview);
	s->preview = preview < PREVIEW_MAX ? preview : PREVIEW_MAX;
	if (s->turns && !query_text(r, "preview"))
		s->preview = PREVIEW_TURNS;
	s->from = entry_at(s->v, after);
	s->upto = limit < count - s->from ? s->from + (uint32_t)limit : count;
	return rc;
}

static void release(struct shape *s)
{
	free(s->row);
	free(s->position);
	free(s->run);
	free(s->parent);
	doc_release(&s->d);
}

int put_tree_columns(struct doc *d, const struct grove_view *v, uint32_t from, uint32_t upto)
{
	struct shape s = { .v = v, .from = from, .upto = upto };
	int rc = choose(&s);

	if (!rc) {
		put_columns(&s);
		put_labels(&s);
		put_earlier(&s);
		rc = s.d.rc;
	}
	if (!rc)
		doc_add(d, grove_buf_slice(&s.d.buf));
	release(&s);
	return rc ? rc : d->rc;
}

int get_tree(struct request *r)
{
	struct shape s = { .r = r, .to = reply_sink(r) };
	struct held *h;
	struct grove_view *v;
	int rc = hold_state(r, &h, &v);

	if (!rc) {
		s.v = v;
		rc = read_window(r, &s);
		if (!rc)
			rc = choose(&s);
		if (!rc)
			rc = write_all(&s, h);
		if (rc < 0 && !r->detail.code)
			reply_fail(r, rc, "%s", grove_strerror(rc));
	}
	release(&s);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
