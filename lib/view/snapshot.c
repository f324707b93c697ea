/*
 * view/snapshot.c: one document with all that a user interface loads on refresh.
 *
 * Entries and messages go from the log to the sink one by one. Only ids, which are in the
 * spine anyway, and what sub-agents reported are held in memory.
 */
#include "json/out.h"
#include "session/blobs.h"
#include "session/leaf.h"
#include "view/snapshot.h"

#include "view/heads.h"

#include <stdlib.h>

/* The maximum size that is allocated at once. */
#define EXPECT_MAX ((size_t)256 << 20)

struct shot {
	struct grove_view *v;
	const struct grove_snapshot_options *opt;
	const struct grove__spine *s;
	struct grove__out o;
	uint32_t leaf, *path;
	size_t nr_path;
	uint32_t *rows;                  /* entries to write; NULL: all */
	size_t nr_rows;
	struct grove__delegations delegations;
	struct grove_buf agent_id;       /* empty: none is known */
	struct grove_detail *d;
};

static bool wants(const struct shot *t, enum grove_snapshot_parts part)
{
	return !t->opt->parts || t->opt->parts & part;
}

static void put_id(struct shot *t, const char *key, uint32_t row)
{
	grove__out_string(&t->o, key, row == GROVE_NO_ENTRY ? NULL : grove__spine_id(t->s, row));
}

/* --- the session --- */

/*
 * True for a node of the tree that is neither the earlier line of a repeated id nor a
 * leaf marker.
 */
static bool counts(const struct grove__spine *s, uint32_t row)
{
	return !(grove__spine_flags(s, row) & (ROW_ASIDE | ROW_SUPERSEDED | ROW_LEAF_MARK));
}

static int64_t updated(struct shot *t)
{
	const struct grove__header *h = &t->v->image->header;
	struct grove_store_log_stat st;
	int64_t newest = h->time;

	for (uint32_t i = 0; i < t->v->nr; i++)
		if (grove__spine_time(t->s, i) > newest)
			newest = grove__spine_time(t->s, i);
	if (newest == GROVE_NO_TIME && !grove__log_stat(t->v->log, &st, NULL))
		newest = st.mtime_ms;
	return newest;
}

/* Returns the root of the active path, which may have been started below a leaf marker. */
static uint32_t root(const struct shot *t)
{
	for (size_t i = 0; i < t->nr_path; i++)
		if (!grove__tree_is_mark(t->s, t->path[i]))
			return t->path[i];
	return GROVE_NO_ENTRY;
}

static void put_session(struct shot *t)
{
	const struct grove_session *s = t->v->session;
	const struct grove__header *h = &t->v->image->header;
	bool memory = s->deferral.for_good || s->deferral.store;
	struct grove__out *o = &t->o;
	uint64_t entries = 0;

	for (uint32_t i = 0; i < t->v->nr; i++)
		entries += counts(t->s, i);
	grove__out_open(o, "session", '{');
	grove__out_string(o, "id", s->id);
	grove__out_string(o, "provider", memory || !s->at.store ? "memory" : grove__store_traits(s->at.store).kind);
	grove__out_string(o, "store", memory || !s->at.store ? "memory:" : s->at.store->url);
	grove__out_string(o, "dialect", t->v->image->dialect->name);
	grove__out_string(o, "agent", s->at.agent ? s->at.agent : t->v->image->dialect->name);
	grove__out_string(o, "agentId", t->agent_id.ptr);
	grove__out_string(o, "cwd", h->cwd ? h->cwd : s->cwd);
	grove__out_string(o, "name", t->v->name);
	put_id(t, "rootEntryId", root(t));
	put_id(t, "leafEntryId", t->leaf);
	grove__out_string(o, "parentSession", t->opt->flags & GROVE_SNAPSHOT_ALONE ? NULL : h->parent);
	grove__out_time(o, "createdAt", h->time);
	grove__out_time(o, "updatedAt", updated(t));
	grove__out_number(o, "entryCount", entries);
	grove__out_number(o, "seq", t->v->counts.lines);
	grove__out_number(o, "rev", t->v->rev);
	grove__out_number(o, "generation", t->v->generation);
	grove__out_close(o, '}');
}

/* --- entries --- */

static int put_entries(struct shot *t)
{
	const struct grove__delegation *rules = t->v->image->dialect->delegation;
	struct grove_buf whole = GROVE_BUF_INIT, placed = GROVE_BUF_INIT, shorter = GROVE_BUF_INIT;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc = 0;

	grove__out_newline(&t->o);
	grove__out_open(&t->o, "entries", '[');
	grove__rows_init(&rows, t->v->image, t->v->log, t->rows, t->nr_rows);
	while (!t->o.rc && !(rc = grove__rows_next(&rows, &row, &value, t->d))) {
		const char *id = grove__spine_id(t->s, row);
		const struct grove__delegated *x =
			t->opt->flags & GROVE_SNAPSHOT_PROJECT ? grove__delegations_of(&t->delegations, row) : NULL;

		grove__buf_clear(&placed);
		grove__buf_clear(&shorter);
		if (t->opt->flags & GROVE_SNAPSHOT_BLOBS)
			rc = grove__session_resolve(t->v->session, &value, &whole, t->d);
		if (!rc && t->opt->max_body) {
			rc = grove__brief_value(&shorter, value, id ? grove__spine_name(id) : grove__slice(NULL, 0),
						t->opt->max_body);
			value = grove__buf_slice(&shorter);
		}
		if (!rc && x) {
			rc = rules->place(value, grove__buf_slice(&x->out.projection), &placed);
			value = grove__buf_slice(&placed);
		}
		if (rc) {
			grove__fail_nomem(t->d);
			break;
		}
		grove__out_newline(&t->o);
		grove__out_raw(&t->o, NULL, value);
	}
	grove__rows_release(&rows);
	grove__buf_release(&whole);
	grove__buf_release(&placed);
	grove__buf_release(&shorter);
	grove__out_close(&t->o, ']');
	return rc < 0 ? rc : 0;
}

/* --- the tree --- */

static void put_path(struct shot *t)
{
	grove__out_newline(&t->o);
	grove__out_open(&t->o, "activePath", '[');
	for (size_t i = 0; i < t->nr_path; i++)
		if (grove__spine_id(t->s, t->path[i]) && !grove__tree_is_mark(t->s, t->path[i]))
			put_id(t, NULL, t->path[i]);
	grove__out_close(&t->o, ']');
}

/* `"parent":["child",…]`, or nothing. */
static int put_children(struct shot *t, uint32_t of)
{
	uint32_t *list;
	size_t nr;
	bool any = false;
	int rc;

	if (of != GROVE_NO_ENTRY && (grove__spine_child(t->s, of) == GROVE_NO_ENTRY || !grove__spine_id(t->s, of)))
		return 0;
	rc = grove__tree_unmarked(t->s, t->v->nr, of, &list, &nr);
	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++) {
		if (!counts(t->s, list[i]) || !grove__spine_id(t->s, list[i]))
			continue;
		if (!any) {
			grove__out_key(&t->o, of == GROVE_NO_ENTRY ? GROVE_ROOT : grove__spine_id(t->s, of));
			grove__out_open(&t->o, NULL, '[');
		}
		put_id(t, NULL, list[i]);
		any = true;
	}
	if (any)
		grove__out_close(&t->o, ']');
	free(list);
	return 0;
}

static int put_tree(struct shot *t)
{
	int rc;

	grove__out_newline(&t->o);
	grove__out_open(&t->o, "childrenByParentId", '{');
	rc = put_children(t, GROVE_NO_ENTRY);
	for (uint32_t i = 0; i < t->v->nr && !rc; i++)
		if (counts(t->s, i))
			rc = put_children(t, i);
	grove__out_close(&t->o, '}');
	return rc ? grove__fail_nomem(t->d) : 0;
}

static void put_labels(struct shot *t)
{
	const struct grove__labels *l = t->v->labels;

	grove__out_newline(&t->o);
	grove__out_open(&t->o, "labelsByEntryId", '{');
	for (size_t i = 0; i < l->nr; i++) {
		const struct grove__label *x = &l->label[l->by_row[i]];

		if (x->row >= t->v->nr || grove__labels_get(l, x->row) != x || !grove__spine_id(t->s, x->row) ||
		    grove__tree_is_mark(t->s, x->row))
			continue;
		grove__out_key(&t->o, grove__spine_id(t->s, x->row));
		grove__out_string(&t->o, NULL, x->text);
	}
	grove__out_close(&t->o, '}');
}

/* --- the context --- */

/* A part of another document, without the final newline of a document. */
struct inner {
	struct grove__out *o;
	bool ended;
};

static int write_inner(void *payload, const char *ptr, size_t len)
{
	struct inner *in = payload;

	if (in->ended && len)
		grove__out_str(in->o, "\n");
	in->ended = len && ptr[len - 1] == '\n';
	grove__out_bytes(in->o, ptr, len - in->ended);
	return in->o->rc;
}

static int put_context(struct shot *t)
{
	struct inner in = { &t->o, false };
	int rc;

	grove__out_newline(&t->o);
	grove__out_key(&t->o, "runtimeContext");
	rc = grove__view_context(t->v, NULL, t->opt->max_body, (struct grove_sink){ write_inner, &in }, t->d);
	t->o.comma = true;
	return rc;
}

/* --- sub-agents --- */

enum map { PROJECTIONS, EVENTS, EVIDENCE, ROUTES };

static const struct grove_buf *piece(const struct grove__delegated *x, enum map what)
{
	return what == PROJECTIONS ? &x->out.projection
	       : what == EVENTS	   ? &x->out.events
	       : what == EVIDENCE  ? &x->out.evidence
				   : &x->out.routes;
}

/* Writes a map by entry, or by batch with the last entry of each. */
static void put_map(struct shot *t, const char *name, enum map what, bool by_batch)
{
	grove__out_open(&t->o, name, '{');
	for (size_t i = 0; i < t->delegations.nr; i++) {
		const struct grove__delegated *x = &t->delegations.at[i];
		const struct grove_buf *json = piece(x, what);

		if (by_batch && !x->last)
			continue;
		grove__out_key(&t->o, by_batch ? x->batch : grove__spine_id(t->s, x->row));
		grove__out_raw(&t->o, NULL, json->len ? grove__buf_slice(json) : grove__slice_str("[]"));
	}
	grove__out_close(&t->o, '}');
}

static void put_subagents(struct shot *t)
{
	grove__out_newline(&t->o);
	grove__out_open(&t->o, "subagents", '{');
	put_map(t, "projectionByEntryId", PROJECTIONS, false);
	put_map(t, "processEventsByEntryId", EVENTS, false);
	put_map(t, "evidenceSummariesByEntryId", EVIDENCE, false);
	put_map(t, "toolRuntimeRoutesByEntryId", ROUTES, false);
	put_map(t, "subagentRuntimeByBatchId", PROJECTIONS, true);
	put_map(t, "toolRuntimeRoutesByBatchId", ROUTES, true);
	grove__out_close(&t->o, '}');
}

/* --- which --- */

static int find_path(struct shot *t)
{
	struct grove_rows path = { NULL, 0 };
	uint32_t leaf;
	int rc = grove__view_leaf(t->v, &leaf);

	if (rc)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(t->d) : rc;
	t->leaf = grove__tree_leaf(t->s, leaf);
	rc = grove__view_conversation(t->v, t->leaf, true, &path);
	t->path = path.at;
	t->nr_path = path.nr;
	return rc == GROVE_ENOMEM ? grove__fail_nomem(t->d) : rc;
}

static bool has_marks(const struct shot *t)
{
	for (uint32_t i = 0; i < t->v->nr; i++)
		if (grove__tree_is_mark(t->s, i))
			return true;
	return false;
}

static int select_rows(struct shot *t)
{
	const struct grove_snapshot_options *o = t->opt;
	bool path = o->entries == GROVE_SNAPSHOT_PATH;
	size_t nr = path ? t->nr_path : t->v->nr;

	if (o->entries == GROVE_SNAPSHOT_NONE)
		return 0;
	t->nr_rows = nr;
	if (!path && !o->after && !o->limit && !has_marks(t))
		return 0;
	t->rows = malloc((nr ? nr : 1) * sizeof(*t->rows));
	if (!t->rows)
		return grove__fail_nomem(t->d);
	t->nr_rows = 0;
	for (size_t i = 0; i < nr && (!o->limit || t->nr_rows < o->limit); i++) {
		uint32_t row = path ? t->path[i] : (uint32_t)i;

		if (grove__spine_line(t->s, row) >= o->after && !grove__tree_is_mark(t->s, row))
			t->rows[t->nr_rows++] = row;
	}
	return 0;
}

/* Finds the `agentId` that the host has set; an empty one is none. */
static int find_agent(struct shot *t)
{
	int rc = grove__log_meta_get(t->v->log, GROVE__META_AGENT, &t->agent_id, t->d);

	if (!t->agent_id.len)
		grove__buf_release(&t->agent_id);
	return rc == GROVE_ENOTFOUND ? 0 : rc;
}

static int find_delegations(struct shot *t)
{
	bool window = t->opt->after || t->opt->limit;

	if (!wants(t, GROVE_SNAPSHOT_SUBAGENTS) && !(t->opt->flags & GROVE_SNAPSHOT_PROJECT))
		return 0;
	/* parents may come later in the log, so the rows of a path need not ascend */
	if (!window || t->opt->entries != GROVE_SNAPSHOT_ALL)
		return grove__delegations_find(&t->delegations, t->v, NULL, t->v->nr, t->d);
	return grove__delegations_find(&t->delegations, t->v, t->rows, t->nr_rows, t->d);
}

/* Estimates the length of the document, which is mostly entries and context. */
static size_t expected(const struct shot *t)
{
	uint64_t bytes = 4096 + (uint64_t)t->v->nr * 64;

	for (size_t i = 0; i < t->nr_rows; i++)
		bytes += grove__spine_len(t->s, t->rows ? t->rows[i] : (uint32_t)i) + 2;
	for (size_t i = 0; i < t->nr_path; i++)
		bytes += grove__spine_len(t->s, t->path[i]) + 16;
	return bytes < EXPECT_MAX ? (size_t)bytes : EXPECT_MAX;
}

int grove__view_snapshot(struct grove_view *v, const struct grove_snapshot_options *opt,
			 struct grove_sink sink, struct grove_detail *d)
{
	struct shot t = { .v = v, .opt = opt, .s = v->image->spine, .d = d };
	int rc, end;

	if ((unsigned)opt->entries > GROVE_SNAPSHOT_NONE)
		return grove__fail(d, GROVE_EINVAL, NULL, "unknown choice of entries");
	grove__out_init(&t.o, sink);
	rc = find_path(&t);
	if (!rc)
		rc = select_rows(&t);
	if (!rc)
		rc = find_agent(&t);
	if (!rc)
		rc = find_delegations(&t);
	if (!rc) {
		if (!opt->max_body && !opt->parts)
			grove__out_expect(&t.o, expected(&t));
		grove__out_open(&t.o, NULL, '{');
		if (wants(&t, GROVE_SNAPSHOT_SESSION))
			put_session(&t);
		if (wants(&t, GROVE_SNAPSHOT_ENTRIES))
			rc = put_entries(&t);
	}
	/* nobody reads the rest if the receiver has stopped */
	if (!rc && !t.o.rc) {
		if (wants(&t, GROVE_SNAPSHOT_ACTIVE_PATH))
			put_path(&t);
		if (wants(&t, GROVE_SNAPSHOT_CHILDREN))
			rc = put_tree(&t);
	}
	if (!rc && !t.o.rc) {
		if (wants(&t, GROVE_SNAPSHOT_LABELS))
			put_labels(&t);
		if (wants(&t, GROVE_SNAPSHOT_CONTEXT))
			rc = put_context(&t);
	}
	if (!rc) {
		if (wants(&t, GROVE_SNAPSHOT_SUBAGENTS))
			put_subagents(&t);
		grove__out_close(&t.o, '}');
		grove__out_str(&t.o, "\n");
	}
	/* after a failure the rest is of no use */
	grove__out_fail(&t.o, rc);
	end = grove__out_finish(&t.o);
	grove__delegations_release(&t.delegations);
	grove__buf_release(&t.agent_id);
	free(t.path);
	free(t.rows);
	if (!rc && end == GROVE_ENOMEM)
		grove__fail_nomem(d);
	return end;
}
