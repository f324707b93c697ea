/*
 * session/upward.c: the path from a leaf to its root, reading as few lines as possible.
 *
 * A database finds an entry by its id, so the path of a long session can be read
 * without the rest. This works only if the parents alone determine the path: not with
 * rules over the whole log, not for old versions without ids, and not if a line was
 * stored without its columns. Then the session is loaded.
 */
#include "session/session.h"

#include <stdlib.h>

/* The store does not know enough. */
#define LOAD_IT 1

/*
 * An entry is reported only when the next one has been read and it is known whether its
 * parent exists; until then this is a copy of it.
 */
struct climb {
	struct grove_session *s;
	struct grove__json_want want;
	struct grove__arena tmp;
	struct grove_buf line;           /* of an entry, with padding after it */
	struct grove_buf held, id, parent;
	struct grove_ancestor entry;   /* the one that waits */
	bool waits;
	grove_ancestor_fn *fn;
	void *payload;
	bool named;                      /* the leaf was named by the caller */
	bool began, stopped;             /* an entry was found; `fn` asked to stop */
	int rc;                          /* what it said */
};

static int tell(struct climb *c, struct grove_ancestor *e)
{
	c->rc = c->fn(c->payload, e);
	c->stopped = c->rc != 0;
	return c->rc;
}

/* Reports the entry that waits; `parent` says whether its parent exists. */
static int tell_held(struct climb *c, bool parent)
{
	if (!c->waits)
		return 0;
	c->waits = false;
	c->entry.id = c->id.len ? c->id.ptr : NULL;
	c->entry.parent = parent && c->parent.len ? c->parent.ptr : NULL;
	c->entry.json = grove__line_trim(grove__buf_slice(&c->held));
	return tell(c, &c->entry);
}

static int copy(struct grove_buf *to, struct grove_slice from)
{
	grove__buf_clear(to);
	return grove__buf_add_slice(to, from);
}

/* Parses the line, in c->line; texts are in c->tmp. */
static int look_into(struct climb *c, struct grove_slice line, struct grove__entry *e)
{
	struct grove__json_line l;

	memset(e, 0, sizeof(*e));
	if (copy(&c->line, line) || grove__buf_reserve(&c->line, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	if (grove__json_scan(&c->want, c->line.ptr, c->line.len, true, &l) != JSON_VALUE ||
	    c->s->at.dialect->read.index(&l, c->line.ptr, &c->tmp, e) != LINE_ENTRY)
		memset(e, 0, sizeof(*e));
	return 0;
}

static int stored_line(void *payload, uint64_t pos, const struct grove_store_record *rec)
{
	struct climb *c = payload;
	struct grove_slice parent = rec->parent;
	struct grove__entry e = { .leaf_mark = false };
	int rc = tell_held(c, true);

	(void)pos;
	/* a line that is not an entry cannot be a parent */
	if (!rc && !rec->id.len)
		rc = GROVE_ENOTSUP;
	if (!rc && (rec->kind == GROVE_KIND_CUSTOM || !parent.len))
		rc = look_into(c, rec->line, &e);
	if (rc)
		return rc;
	/* a leaf marker stands for its parent */
	if (e.leaf_mark && !c->began && !c->named)
		return parent.len || e.parent_is != PARENT_NAMED ? 0 : LOAD_IT;
	c->began = true;
	if (!parent.len && e.parent_is == PARENT_NAMED)
		parent = e.parent;
	if (copy(&c->held, rec->line) || copy(&c->id, rec->id) || copy(&c->parent, parent))
		return GROVE_ENOMEM;
	c->entry = (struct grove_ancestor){ .kind = rec->kind, .role = rec->role,
					      .time = rec->time ? rec->time : GROVE_NO_TIME };
	c->waits = true;
	/* the store does not have its parent: load the session */
	return parent.len && !rec->parent.len ? LOAD_IT : 0;
}

/* Finds the leaf that the store holds, if any. */
static int find_leaf(struct grove_session *s, struct grove_buf *id, struct grove_detail *d)
{
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	const char *leaf = NULL;
	int rc = grove__log_stat(s->log, &st, d);

	if (!rc)
		rc = grove__log_meta_get(s->log, "leaf", &value, d);
	if (!rc)
		leaf = grove__image_kept_leaf(&value, st.tail);
	if (leaf)
		rc = grove__buf_add_str(id, leaf) ? grove__fail_nomem(d) : 0;
	grove__buf_release(&value);
	return rc == GROVE_ENOTFOUND ? 0 : rc;
}

static int climb_store(struct climb *c, const char *leaf, struct grove_detail *d)
{
	struct grove_buf id = GROVE_BUF_INIT;
	int rc;

	if (c->s->image || !c->s->log || c->s->at.dialect->rules || grove__dialect_by_value(c->s->at.dialect) ||
	    !grove__kept_has_values(c->s))
		return LOAD_IT;
	rc = leaf ? 0 : find_leaf(c->s, &id, d);
	if (!rc && leaf && grove__buf_add_str(&id, leaf))
		rc = grove__fail_nomem(d);
	if (!rc && id.len && !strcmp(id.ptr, GROVE_ROOT))
		goto out;
	if (!rc)
		rc = grove__log_ancestors(c->s->log, grove__buf_slice(&id), stored_line, c, d);
	if (c->stopped)
		rc = c->rc;
	else if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc == GROVE_ENOTSUP || (rc == GROVE_ENOTFOUND && !c->began))
		rc = LOAD_IT;
	/* no such entry, or only a line that was stored without its id */
	else if (!rc)
		rc = c->waits && c->parent.len ? LOAD_IT : tell_held(c, false);
out:
	grove__buf_release(&id);
	return rc;
}

/*
 * Returns the parent of the last reported entry. In a cycle the store stops where it
 * closes, and so do we.
 */
static uint32_t next_row(const struct climb *c, const struct grove__spine *sp)
{
	uint32_t row = grove__spine_find(sp, sp->nr, grove__buf_slice(&c->parent)), root = row;

	while (root != GROVE_NO_ENTRY && grove__spine_parent(sp, root) != GROVE_NO_ENTRY)
		root = grove__spine_parent(sp, root);
	return root != GROVE_NO_ENTRY && grove__spine_flags(sp, root) & ROW_CYCLE ? GROVE_NO_ENTRY : row;
}

/* Finds the row to begin with, or to continue with if the store did not know enough. */
static int first_row(struct climb *c, const char *leaf, uint32_t *row, struct grove_detail *d)
{
	struct grove_session *s = c->s;

	if (c->began) {
		*row = next_row(c, s->image->spine);
		return tell_held(c, *row != GROVE_NO_ENTRY);
	}
	return leaf ? grove__session_find(s, leaf, row, d) : grove__session_find_leaf(s, row, d);
}

static int climb_image(struct climb *c, const char *leaf, struct grove_detail *d)
{
	struct grove_session *s = c->s;
	uint32_t row = GROVE_NO_ENTRY;
	int rc = grove__session_load(s, d);

	if (!rc)
		rc = first_row(c, leaf, &row, d);
	for (; !rc && row != GROVE_NO_ENTRY; row = grove__spine_parent(s->image->spine, row)) {
		const struct grove__spine *sp = s->image->spine;
		uint32_t up = grove__spine_parent(sp, row);
		struct grove_ancestor e = {
			.id = grove__spine_id(sp, row),
			.parent = up == GROVE_NO_ENTRY ? NULL : grove__spine_id(sp, up),
			.kind = grove__spine_kind(sp, row), .role = grove__spine_role(sp, row),
			.time = grove__spine_time(sp, row),
		};

		rc = grove__image_line(s->image, s->log, row, &c->line, &e.json, d);
		if (!rc)
			rc = tell(c, &e);
	}
	return rc;
}

int grove__session_path_up(struct grove_session *s, const char *leaf, grove_ancestor_fn *fn,
			   void *payload, struct grove_detail *d)
{
	struct climb c = { .s = s, .named = leaf != NULL, .fn = fn, .payload = payload };
	int rc;

	grove__arena_init(&c.tmp);
	grove__json_want_init(&c.want, s->at.dialect->read.members, s->at.dialect->read.nr_members);
	rc = climb_store(&c, leaf, d);
	if (rc == LOAD_IT && !c.stopped)
		rc = climb_image(&c, leaf, d);
	grove__arena_release(&c.tmp);
	grove__buf_release(&c.line);
	grove__buf_release(&c.held);
	grove__buf_release(&c.id);
	grove__buf_release(&c.parent);
	return rc;
}
