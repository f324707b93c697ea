/*
 * tree.c: GET /sessions/{id}/tree: the shape of a session in columns.
 *
 *	{"session":{…},"level":"all","n":4,…,"labels":{"2":"findings"},"leaf":3,"next":null}
 *
 * `parentId` has the ids of parents that lie before this window. The library makes the
 * columns; we turn them into JSON (see kit/export/columns.h), one at a time, so that only what
 * the client has not yet read is held in memory.
 */
#include "kit/export/columns.h"
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <string.h>

#define CHARACTER_MAX 4u     /* bytes */

/* ------------------------------------------------------------------ columns */

static void put_run(struct columns *s, uint32_t k)
{
	doc_number(&s->d, s->c->run[k]);
}

static void put_failed(struct columns *s, uint32_t k)
{
	doc_number(&s->d, s->c->failed[k]);
}

/* The first `most` characters of a text. */
static struct grove_slice begin_of(const char *text, size_t most)
{
	size_t end = 0;

	while (text[end] && most--)
		do
			end++;
		while (((unsigned char)text[end] & 0xc0) == 0x80);
	return (struct grove_slice){ text, end };
}

static void put_text(struct columns *s, size_t most)
{
	doc_name(&s->d, "text");
	doc_open(&s->d, '[');
	for (uint32_t k = 0; k < s->c->nr && !s->d.rc; k++) {
		doc_text(&s->d, begin_of(s->c->strings + s->c->text[k], most));
		doc_flush(&s->d, s->to);
	}
	doc_close(&s->d, ']');
}

/* Returns the id of the nearest ancestor outside the window. */
static const char *id_above(const struct columns *s, uint32_t k, struct grove_entry *e)
{
	uint32_t first = s->c->index[0];

	e->size = sizeof(*e);
	grove_view_entry(s->v, s->c->index[k], e);
	while (e->parent != GROVE_NO_ENTRY && e->parent >= first && e->parent < s->c->index[k])
		grove_view_entry(s->v, e->parent, e);
	return e->parent == GROVE_NO_ENTRY || grove_view_entry(s->v, e->parent, e) ? NULL : e->id;
}

/* Writes the ids of parents that lie before the window. */
static void put_earlier(struct columns *s)
{
	struct grove_entry e;
	char at[16];

	if (!s->c->nr || !s->c->index[0])
		return;
	doc_name(&s->d, "parentId");
	doc_open(&s->d, '{');
	for (uint32_t k = 0; k < s->c->nr; k++) {
		if (s->c->parent[k] != GROVE_EARLIER)
			continue;
		snprintf(at, sizeof(at), "%u", k);
		doc_member(&s->d, at, id_above(s, k, &e));
	}
	doc_close(&s->d, '}');
}

int put_tree_columns(struct doc *d, const struct grove_view *v, uint32_t from, uint32_t upto)
{
	struct grove_entry first = { .size = sizeof(first) }, last = { .size = sizeof(last) };
	struct grove_columns_options o = { .size = sizeof(o) };
	struct grove_columns *c = NULL;
	struct columns s = { .v = v };
	int rc = from < upto ? 0 : GROVE_ENOTFOUND;

	if (!rc)
		rc = grove_view_entry(v, from, &first);
	if (!rc)
		rc = grove_view_entry(v, upto - 1, &last);
	o.seq = (struct grove_range){ first.line, last.line + 1 };
	if (!rc)
		rc = grove_view_columns(v, &o, &c);
	if (!rc) {
		s.c = c;
		columns_put_shape(&s);
		columns_put_labels(&s);
		put_earlier(&s);
		rc = s.d.rc;
	}
	if (!rc)
		doc_add(d, grove_buf_slice(&s.d.buf));
	doc_release(&s.d);
	grove_columns_free(c);
	return rc ? rc : d->rc;
}

/* ---------------------------------------------------------------- the route */

/* What the request asks for, and how many characters of each entry. */
struct wish {
	struct grove_columns_options o;
	size_t preview;
	uint64_t next;            /* seq; GROVE_NO_SEQ at the end of the log */
};

/* Returns the seq of the entry that completes a window of `limit` entries. */
static uint64_t end_of(const struct grove_view *v, uint64_t after, uint64_t limit)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t low = 0, high = grove_view_count(v), count = high;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		grove_view_entry(v, mid, &e);
		if (e.line < after)
			low = mid + 1;
		else
			high = mid;
	}
	return limit < count - low && !grove_view_entry(v, low + (uint32_t)limit, &e) ? e.line : GROVE_NO_SEQ;
}

static int read_wish(struct request *r, const struct grove_view *v, struct wish *w)
{
	static const char *const levels[] = { "all", "turns", NULL };
	uint64_t limit = UINT32_MAX, preview = 0;
	int turns = 0, rc = query_choice(r, "level", levels, &turns);

	if (!rc)
		rc = query_number(r, "after", &w->o.seq.from);
	if (!rc)
		rc = query_number(r, "limit", &limit);
	if (!rc)
		rc = query_number(r, "preview", &preview);
	if (!rc && !limit)
		rc = reply_fail(r, GROVE_EINVAL, "limit is at least 1");
	if (turns && !query_text(r, "preview"))
		preview = PREVIEW_TURNS;
	w->preview = preview < PREVIEW_MAX ? preview : PREVIEW_MAX;
	w->next = end_of(v, w->o.seq.from, limit);
	w->o.seq.to = w->next == GROVE_NO_SEQ ? 0 : w->next;
	w->o.level = turns ? GROVE_LEVEL_TURNS : GROVE_LEVEL_ALL;
	w->o.flags = turns ? GROVE_COLUMNS_FAILED : 0;
	w->o.preview = w->preview * CHARACTER_MAX;
	return rc;
}

static void put_leaf_position(struct columns *s)
{
	uint32_t leaf = grove_view_leaf(s->v), low = 0, high = s->c->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->c->index[mid] < leaf)
			low = mid + 1;
		else
			high = mid;
	}
	doc_name(&s->d, "leaf");
	if (low < s->c->nr && s->c->index[low] == leaf)
		doc_number(&s->d, low);
	else
		doc_null(&s->d);
}

static int write_all(struct request *r, struct columns *s, struct held *h, const struct wish *w)
{
	struct doc *d = &s->d;

	doc_open(d, '{');
	doc_name(d, "session");
	doc_open(d, '{');
	put_session_record(r, d, h, s->v);
	doc_close(d, '}');
	doc_member(d, "level", s->c->run ? "turns" : "all");
	columns_put_shape(s);
	if (s->c->run)
		columns_put(s, "run", put_run);
	if (w->preview)
		put_text(s, w->preview);
	if (s->c->failed)
		columns_put(s, "failed", put_failed);
	columns_put_labels(s);
	put_earlier(s);
	put_leaf_position(s);
	doc_name(d, "next");
	if (w->next == GROVE_NO_SEQ)
		doc_null(d);
	else
		doc_number(d, w->next);
	doc_close(d, '}');
	return d->rc ? d->rc : s->to.write(s->to.payload, d->buf.ptr, d->buf.len);
}

int get_tree(struct request *r)
{
	struct wish w = { .o = { .size = sizeof(w.o) } };
	struct columns s = { .to = reply_sink(r) };
	struct grove_columns *c = NULL;
	struct held *h;
	struct grove_view *v;
	int rc = hold_state(r, &h, &v);

	if (!rc)
		rc = read_wish(r, v, &w);
	if (!rc) {
		rc = grove_view_columns(v, &w.o, &c);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	if (!rc) {
		s.v = v;
		s.c = c;
		rc = write_all(r, &s, h, &w);
		if (rc < 0 && !r->detail.code)
			reply_fail(r, rc, "%s", grove_strerror(rc));
	}
	doc_release(&s.d);
	grove_columns_free(c);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
