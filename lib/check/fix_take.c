/*
 * check/fix_take.c: which values of a damaged log stay, and how.
 *
 * What stays gets a row. If an earlier one has the same id, it is either the same entry
 * again, which is removed, or another entry, which gets a new id; later entries that
 * name that id as their parent mean the later one.
 */
#include "check/fix.h"

#include "base/array.h"
#include "json/write.h"

/* --- repeated ids --- */

static int same_bytes(struct grove__plan *p, uint32_t row, const struct grove__spot *at,
		      struct grove_slice value, bool *same)
{
	struct grove__spot old = grove__plan_spot(p, row);
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	*same = false;
	if (old.len != at->len || old.crc != at->crc)
		return 0;
	rc = grove__line_fetch(p->log, &old, &b, p->d);
	*same = !rc && grove__slice_eq(grove__buf_slice(&b), value);
	grove__buf_release(&b);
	return rc;
}

/* Makes an unused id, which is the same every time. */
static struct grove_slice fresh_id(const struct grove__plan *p, struct grove_slice id, uint64_t line,
				   char out[40])
{
	for (unsigned attempt = 0;; attempt++) {
		uint64_t mix[2] = { grove__idmap_hash(line + 1, id.ptr, id.len), 0 };
		size_t len;

		mix[0] = grove__idmap_hash(mix[0] + attempt, &line, sizeof(line));
		mix[1] = grove__idmap_hash(mix[0], mix, sizeof(mix[0]));
		len = p->dialect->names.entry_id((const uint8_t *)mix, attempt > 100, out);
		if (grove__idmap_get(&p->spine->ids, grove__slice(out, len)) == GROVE__IDMAP_NONE)
			return grove__slice(out, len);
	}
}

static const struct grove__rename *rename_of(const struct grove__plan *p, struct grove_slice id)
{
	uint32_t i = p->nr_renames ? grove__idmap_get(&p->renamed, id) : GROVE__IDMAP_NONE;

	return i == GROVE__IDMAP_NONE ? NULL : &p->renames[i];
}

static int note_rename(struct grove__plan *p, struct grove_slice id, uint32_t row)
{
	uint32_t i = grove__idmap_get(&p->renamed, id), old;
	struct grove__rename *r;

	if (i != GROVE__IDMAP_NONE) {
		p->renames[i].row = row;
		return 0;
	}
	if (grove__array_room(&p->renames, &p->cap_renames, p->nr_renames, sizeof(*p->renames)))
		return GROVE_ENOMEM;
	r = &p->renames[p->nr_renames];
	*r = (struct grove__rename){ grove__arena_dup(&p->keep, id), (uint32_t)id.len, row };
	if (!r->from)
		return GROVE_ENOMEM;
	p->nr_renames++;
	return grove__idmap_put(&p->renamed, id, (uint32_t)p->nr_renames - 1, &old);
}

/* Its id is taken: finds out whether it is the same entry again. */
static int is_copy(struct grove__plan *p, struct grove_slice id, const struct grove__spot *at,
		   struct grove_slice value, bool *copy)
{
	uint32_t first = grove__idmap_get(&p->spine->ids, id);
	const struct grove__rename *r = rename_of(p, id);
	int rc = same_bytes(p, first, at, value, copy);

	if (!rc && !*copy && r)
		rc = same_bytes(p, r->row, at, value, copy);
	return rc;
}

/* --- values that stay --- */

static int add_row(struct grove__plan *p, const struct grove__entry *e, const struct grove__spot *at)
{
	int rc = grove__spine_add(p->spine, e, at->pos, at->len, at->line, at->crc);

	if (!rc)
		rc = grove__model_add(&p->model, e, NULL);
	if (!rc && (at->off || p->in_tall)) {
		if (grove__array_room(&p->odd, &p->cap_odd, p->nr_odd, sizeof(*p->odd)))
			rc = GROVE_ENOMEM;
		else
			p->odd[p->nr_odd++] = (struct grove__odd){ p->spine->nr - 1, (size_t)at->off,
								   p->in_tall, at->lines };
	}
	if (rc == GROVE_ETOOBIG)
		return grove__fail(p->d, rc, p->at->path, "too many lines");
	return rc ? grove__fail_nomem(p->d) : 0;
}

/*
 * A compaction names an entry that it keeps; if that one was renamed, the later one is
 * meant.
 */
static int rename_kept(struct grove__plan *p, uint32_t row, struct grove_slice value)
{
	struct grove_buf id = GROVE_BUF_INIT;
	const struct grove__rename *r;
	struct grove__change *c;
	bool after;
	int rc;

	if (!p->nr_renames || grove__spine_kind(p->spine, row) != GROVE_KIND_COMPACTION ||
	    !p->dialect->context.first_kept)
		return 0;
	rc = p->dialect->context.first_kept(value, &id, &after);
	r = rc >= 0 && id.len ? rename_of(p, grove__buf_slice(&id)) : NULL;
	grove__buf_release(&id);
	if (rc < 0)
		return grove__fail_nomem(p->d);
	if (!r)
		return 0;
	c = grove__plan_change(p, row, DUPLICATE_ID);
	if (!c)
		return grove__fail_nomem(p->d);
	c->kept = grove__spine_id(p->spine, r->row);
	/* both are written at once, so the parent must be set, too */
	if (!c->relink) {
		uint32_t up = grove__spine_parent(p->spine, row);

		c->relink = true;
		c->parent = up == GROVE_NO_ENTRY ? NULL : grove__spine_id(p->spine, up);
	}
	return 0;
}

/* If the row that was added last lacks its message, it becomes another kind of entry. */
static int mute(struct grove__plan *p, const struct grove__entry *e)
{
	struct grove__change *c;

	if (!e->hollow || !p->dialect->write.mute)
		return 0;
	c = grove__plan_change(p, p->spine->nr - 1, NO_MESSAGE);
	if (!c)
		return grove__fail_nomem(p->d);
	c->mute = true;
	return 0;
}

static int take_entry(struct grove__plan *p, struct grove__entry *e, const struct grove__spot *at,
		      struct grove_slice value, bool renamable, enum grove__verdict *verdict,
		      enum grove__problem *why)
{
	const struct grove__rename *r = NULL;
	struct grove_slice old = e->id;
	struct grove__change *c;
	uint32_t below;
	bool taken, copy = false;
	char id[40];
	int rc = 0;

	/* if ids are not stored, they cannot collide */
	if (grove__dialect_lacks_ids(p->dialect, p->version)) {
		rc = add_row(p, e, at);
		return rc ? rc : mute(p, e);
	}
	if (e->parent_is == PARENT_NAMED)
		r = rename_of(p, e->parent);
	/*
	 * the row, because the parent of an entry that names its own id is the next one
	 * with that id
	 */
	below = r ? r->row : GROVE_NO_ENTRY;
	taken = e->has_id && !e->aside && grove__idmap_get(&p->spine->ids, e->id) != GROVE__IDMAP_NONE;
	if (taken)
		rc = is_copy(p, e->id, at, value, &copy);
	if (rc)
		return rc;
	/* … nor can an id in an unknown form be replaced */
	if (copy || (taken && !renamable)) {
		*verdict = GOES;
		*why = DUPLICATE_ID;
		return 0;
	}
	if (taken)
		e->id = fresh_id(p, e->id, at->line, id);
	if (below != GROVE_NO_ENTRY)
		e->parent = grove__spine_name(grove__spine_id(p->spine, below));
	rc = add_row(p, e, at);
	if (!rc && taken && note_rename(p, old, p->spine->nr - 1))
		rc = grove__fail_nomem(p->d);
	if (!rc && (taken || below != GROVE_NO_ENTRY)) {
		c = grove__plan_change(p, p->spine->nr - 1, DUPLICATE_ID);
		if (!c)
			return grove__fail_nomem(p->d);
		c->id = taken ? grove__spine_id(p->spine, p->spine->nr - 1) : NULL;
		if (below != GROVE_NO_ENTRY) {
			c->relink = true;
			c->parent = grove__spine_id(p->spine, below);
		}
	}
	if (!rc && e->has_id && e->parent_is != PARENT_ABSENT && !e->aside)
		p->usable = true;
	if (!rc)
		rc = mute(p, e);
	return rc ? rc : rename_kept(p, p->spine->nr - 1, value);
}

static int take_header(struct grove__plan *p, const struct grove__json_line *l,
		       struct grove_slice value, enum grove__verdict *verdict, enum grove__problem *why)
{
	struct grove__arena tmp;
	struct grove__header h;
	bool failed;

	grove__arena_init(&tmp);
	p->dialect->header->read(l, value.ptr, &tmp, &h);
	failed = tmp.failed;
	grove__arena_release(&tmp);
	if (failed)
		return grove__fail_nomem(p->d);
	*verdict = GOES;
	*why = p->has_header ? SECOND_HEADER : NO_HEADER;
	if (!p->has_header && h.usable) {
		p->has_header = true;
		p->version = h.version;
		p->misplaced = p->has_first;
		if (!p->misplaced)
			*verdict = STAYS;
		else if (!(p->header.ptr = grove__arena_dup(&p->keep, value)))
			return grove__fail_nomem(p->d);
		p->header.len = value.len;
	}
	return 0;
}

static bool has_plain_id(const struct grove__plan *p, const struct grove__json_line *l,
			 struct grove_slice value)
{
	struct grove__input in;

	p->dialect->write.input(l, value.ptr, &in);
	return in.id.ptr;
}

int grove__plan_take(struct grove__plan *p, const struct grove__spot *at, struct grove_slice value,
		     struct grove_slice stored, enum grove__verdict *verdict, enum grove__problem *why)
{
	struct grove__json_line l;
	struct grove__arena tmp;
	struct grove__entry e;
	enum grove__line_class class;
	int rc = 0;

	*verdict = STAYS;
	switch (grove__json_scan(&p->want, value.ptr, value.len, true, &l)) {
	case JSON_VALUE:
		break;
	case JSON_NOMEM:
		return grove__fail_nomem(p->d);
	default:
		return grove__fail(p->d, GROVE_ESTALE, p->at->path, "was changed");
	}
	if (l.type != JSON_OBJECT) {
		*verdict = GOES;
		*why = NOT_AN_ENTRY;
		return 0;
	}
	grove__arena_init(&tmp);
	class = p->dialect->read.index(&l, value.ptr, &tmp, &e);
	if (class == LINE_HEADER)
		rc = take_header(p, &l, value, verdict, why);
	else if (class == LINE_ENTRY || (class == LINE_SLOT && p->values))
		rc = take_entry(p, &e, at, stored, has_plain_id(p, &l, value), verdict, why);
	if (!rc && *verdict == STAYS && !p->has_first && class != LINE_SLOT) {
		p->has_first = true;
		p->first_line = at->line;
	}
	if (!rc && *verdict == STAYS)
		p->values++;
	grove__arena_release(&tmp);
	return rc;
}

/* --- values with another id or parent --- */

static int put_id(const struct grove__plan *p, struct grove_buf *line, const char *id,
		  struct grove_buf *out)
{
	struct grove__json_line l;
	struct grove__input in;
	struct grove_slice value;
	size_t off;
	int rc;

	if (grove__buf_reserve(line, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	value = grove__buf_slice(line);
	if (grove__json_scan(&p->want, value.ptr, value.len, true, &l) != JSON_VALUE)
		return GROVE_ENOMEM;
	p->dialect->write.input(&l, value.ptr, &in);
	off = (size_t)(in.id.ptr - value.ptr);
	rc = grove__buf_add(out, value.ptr, off);
	rc = rc ? rc : grove__json_put_string(out, grove__spine_name(id));
	return rc ? rc : grove__buf_add(out, in.id.ptr + in.id.len, value.len - off - in.id.len);
}

int grove__fix_plan_rewrite(const struct grove__plan *p, const struct grove__change *c,
			struct grove_slice value, struct grove_buf *out)
{
	struct grove_buf line = GROVE_BUF_INIT, muted = GROVE_BUF_INIT;
	struct grove_slice kept = grove__spine_name(c->kept);
	int rc = c->mute ? p->dialect->write.mute(value, &muted) : 0;

	if (c->mute)
		value = grove__buf_slice(&muted);
	if (!rc && !c->relink)
		rc = grove__buf_add_slice(&line, value);
	else if (!rc)
		rc = p->dialect->write.relink(value, c->parent ? grove__spine_name(c->parent)
							 : grove__slice(NULL, 0),
					c->kept ? &kept : NULL, NULL, &line);
	if (!rc)
		rc = c->id ? put_id(p, &line, c->id, out)
			   : grove__buf_add_slice(out, grove__buf_slice(&line));
	grove__buf_release(&line);
	grove__buf_release(&muted);
	return rc;
}
