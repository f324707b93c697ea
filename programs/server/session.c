/*
 * session.c: reading one session: its record, snapshot, path and damage.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <string.h>

int find_entry(struct request *r, const struct grove_view *v, const char *id, uint32_t *out)
{
	if (!grove_view_find(v, id, out))
		return 0;
	return reply_fail(r, GROVE_ENOTFOUND, "there is no entry '%.64s' in this session", id);
}

/* ------------------------------------------------------------------- record */

const char *entry_id(const struct grove_view *v, uint32_t i, struct grove_entry *e)
{
	e->size = sizeof(*e);
	return i == GROVE_NO_ENTRY || grove_view_entry(v, i, e) ? NULL : e->id;
}

/* Returns the root of the active path. Leaf marks are not entries of the conversation. */
static const char *root_id(const struct grove_view *v, struct grove_entry *e)
{
	struct grove_rows path = { 0 };
	const char *id = NULL;

	e->size = sizeof(*e);
	if (!grove_view_ancestors(v, grove_view_leaf(v), &path))
		for (size_t i = 0; i < path.nr && !id; i++)
			if (!grove_view_entry(v, path.at[i], e) && !(e->flags & GROVE_ENTRY_LEAF_MARK))
				id = e->id;
	grove_rows_release(&path);
	return id;
}

static int64_t newest(const struct grove_view *v, int64_t created)
{
	struct grove_entry e = { .size = sizeof(e) };
	int64_t t = created;

	for (uint32_t i = 0; i < grove_view_count(v); i++)
		if (!grove_view_entry(v, i, &e) && e.time != GROVE_NO_TIME && e.time > t)
			t = e.time;
	return t;
}

/* Counts entries as a snapshot does: nodes of the tree, without grove's own marks. */
uint64_t count_entries(const struct grove_view *v)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint64_t nr = 0;

	for (uint32_t i = 0; i < grove_view_count(v); i++)
		nr += !grove_view_entry(v, i, &e) && e.kind != GROVE_KIND_META &&
		      !(e.flags & (GROVE_ENTRY_SUPERSEDED | GROVE_ENTRY_LEAF_MARK));
	return nr;
}

void put_owner(struct doc *d, struct held *h)
{
	struct grove_buf owner = GROVE_BUF_INIT;

	hold_owner(h, &owner);
	doc_name(d, "agentId");
	if (owner.len)
		doc_text(d, grove_buf_slice(&owner));
	else
		doc_null(d);
	grove_buf_release(&owner);
}

void put_session_record(struct request *r, struct doc *d, struct held *h, const struct grove_view *v)
{
	struct grove_counts n = { .size = sizeof(n) };
	struct grove_entry e, f;

	grove_view_counts(v, &n);
	doc_member(d, "id", h->id);
	doc_member(d, "key", h->key);
	doc_member(d, "provider", store_provider(h->store));
	doc_member(d, "store", h->store);
	doc_member(d, "path", h->path);
	doc_member(d, "dialect", h->dialect);
	doc_member(d, "agent", h->agent);
	put_owner(d, h);
	doc_member(d, "cwd", h->cwd);
	doc_member(d, "name", grove_view_name(v));
	doc_member(d, "rootEntryId", root_id(v, &f));
	doc_member(d, "leafEntryId", entry_id(v, grove_view_leaf(v), &e));
	doc_member(d, "parentSession", parent_shown(r, NULL, h->parent));
	doc_member_time(d, "createdAt", h->created);
	doc_member_time(d, "updatedAt", newest(v, h->created));
	doc_member_number(d, "entryCount", count_entries(v));
	doc_member_number(d, "size", n.bytes);
	doc_member_number(d, "seq", n.lines);
	doc_member_number(d, "rev", grove_view_rev(v));
	doc_member_number(d, "generation", grove_view_generation(v));
	doc_member_bool(d, "writable", r->who.scope >= SCOPE_WRITE && !h->archived);
	if (n.malformed || n.torn) {
		doc_name(d, "damaged");
		doc_open(d, '{');
		doc_member_number(d, "malformed", n.malformed);
		doc_member_bool(d, "torn", n.torn);
		doc_close(d, '}');
	}
}

int get_session(struct request *r)
{
	struct held *h;
	struct grove_view *v;
	int rc = hold_state(r, &h, &v);

	if (!rc) {
		doc_open(&r->out, '{');
		put_session_record(r, &r->out, h, v);
		doc_close(&r->out, '}');
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------------------- snapshot */

static const struct {
	const char *word;
	enum grove_snapshot_parts part;
} parts[] = {
	{ "session", GROVE_SNAPSHOT_SESSION }, { "entries", GROVE_SNAPSHOT_ENTRIES }, { "path", GROVE_SNAPSHOT_ACTIVE_PATH },
	{ "children", GROVE_SNAPSHOT_CHILDREN }, { "labels", GROVE_SNAPSHOT_LABELS },
	{ "context", GROVE_SNAPSHOT_CONTEXT }, { "subagents", GROVE_SNAPSHOT_SUBAGENTS },
};

static int snapshot_options(struct request *r, struct grove_snapshot_options *o)
{
	static const char *const which[] = { "all", "path", "none", NULL };
	const char *words[sizeof(parts) / sizeof(parts[0]) + 1] = { NULL };
	int entries = 0, blobs = 0, project = 0;
	int rc = query_choice(r, "entries", which, &entries);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		words[i] = parts[i].word;
	if (!rc)
		rc = query_words(r, "parts", words);
	for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
		o->parts |= query_lists(r, "parts", parts[i].word) ? parts[i].part : 0;
	if (!rc)
		rc = query_number(r, "after", &o->after);
	if (!rc)
		rc = query_number(r, "limit", &o->limit);
	if (!rc)
		rc = query_number(r, "maxBody", &o->max_body);
	if (!rc)
		rc = query_flag(r, "blobs", &blobs);
	if (!rc)
		rc = query_flag(r, "project", &project);
	o->entries = (enum grove_snapshot_entries)entries;
	o->flags = (blobs ? GROVE_SNAPSHOT_BLOBS : 0) | (project ? GROVE_SNAPSHOT_PROJECT : 0);
	return rc;
}

int get_snapshot(struct request *r)
{
	struct grove_snapshot_options o = { .size = sizeof(o) };
	struct held *h;
	struct grove_view *v;
	int rc = snapshot_options(r, &o);

	if (rc)
		return rc;
	rc = hold_state(r, &h, &v);
	if (!rc) {
		if (h->parent && !parent_shown(r, NULL, h->parent))
			o.flags |= GROVE_SNAPSHOT_ALONE;
		rc = grove_view_snapshot(v, &o, reply_sink(r));
		if (rc < 0 && !r->detail.code)
			reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

/* -------------------------------------------------------------------- path */

static int leaf_of(struct request *r, const struct grove_view *v, uint32_t *out)
{
	const char *id = query_text(r, "leaf");

	if (id && *id)
		return find_entry(r, v, id, out);
	*out = grove_view_leaf(v);
	return 0;
}

void put_view_state(struct doc *d, const struct grove_view *v)
{
	doc_member_number(d, "rev", grove_view_rev(v));
	doc_member_number(d, "generation", grove_view_generation(v));
}

int get_path(struct request *r)
{
	struct grove_rows path = { 0 };
	struct grove_entry e = { .size = sizeof(e) };
	struct held *h;
	struct grove_view *v;
	uint32_t leaf;
	int rc = hold_state(r, &h, &v);

	if (!rc)
		rc = leaf_of(r, v, &leaf);
	if (!rc) {
		rc = grove_view_ancestors(v, leaf, &path);
		doc_open(&r->out, '{');
		put_view_state(&r->out, v);
		doc_member(&r->out, "leaf", entry_id(v, leaf, &e));
		doc_name(&r->out, "activePath");
		doc_open(&r->out, '[');
		for (size_t i = 0; i < path.nr && !rc; i++) {
			e.size = sizeof(e);
			if (!grove_view_entry(v, path.at[i], &e) && e.id && !(e.flags & GROVE_ENTRY_LEAF_MARK))
				doc_string(&r->out, e.id);
		}
		doc_puts(&r->out, "]}");
	}
	grove_rows_release(&path);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------------- damage */

static int put_problem(void *payload, const struct grove_problem *p)
{
	struct doc *d = payload;

	doc_open(d, '{');
	doc_member(d, "path", p->path);
	doc_member_number(d, "line", p->line);
	doc_member_number(d, "offset", p->offset);
	doc_member(d, "kind", p->kind);
	if (p->entry_id)
		doc_member(d, "entryId", p->entry_id);
	doc_member(d, "detail", p->detail);
	doc_member_bool(d, "fixable", p->fixable);
	doc_close(d, '}');
	return d->rc ? d->rc : d->buf.len > PAGE_BYTES;
}

int get_check(struct request *r)
{
	struct grove_check_result n = { .size = sizeof(n) };
	struct doc problems = { GROVE_BUF_INIT, 0 };
	struct held *h;
	int rc = hold(r, 0, &h);

	if (!rc) {
		doc_open(&problems, '[');
		rc = grove_check(h->own ? h->own : r->g, h->what, put_problem, &problems, &n);
		if (rc < 0)
			grove_error(h->own ? h->own : r->g, &r->detail);
		doc_close(&problems, ']');
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "files", n.files);
		doc_member_number(&r->out, "entries", n.entries);
		doc_name(&r->out, "problems");
		doc_json(&r->out, grove_buf_slice(&problems.buf));
		if (rc == 1)
			doc_member_bool(&r->out, "more", 1);
		doc_close(&r->out, '}');
	}
	doc_release(&problems);
	hold_release(r, h);
	return rc < 0 ? rc : 0;
}
