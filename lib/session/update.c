/*
 * session/update.c: entries that are changed after they were stored.
 *
 * The log is written anew, in one piece or not at all; lines that do not change
 * keep their bytes. What an entry is called and where it hangs cannot change:
 * others name it.
 */
#include "session/session.h"

#include "json/edit.h"
#include "json/write.h"

struct update {
	grove_edit_fn *fn;
	void *payload;
	struct grove_buf json, edited;
	struct grove_detail *d;
};

/* Roots although they do not say so. */
#define ROOT_BY_DAMAGE (ROW_ORPHAN | ROW_CYCLE | ROW_SUPERSEDED | ROW_PARENT_ABSENT)

/* Is `line` still the entry of that row? */
static int same_entry(struct grove_session *s, uint32_t row, struct grove_buf *line,
		      struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	const char *id = grove__spine_id(sp, row);
	struct grove__arena tmp;
	struct grove__json_line l;
	struct grove__entry e;
	uint32_t up = grove__spine_parent(sp, row);
	bool same;

	if (grove__buf_reserve(line, GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	if (grove__json_scan(&s->image->want, line->ptr, line->len, true, &l) != JSON_VALUE ||
	    l.len != line->len)
		return grove__fail_at(d, GROVE_EJSON, NULL, 0, l.error_off, "not valid JSON at byte %llu",
				      (unsigned long long)l.error_off);
	grove__arena_init(&tmp);
	same = s->at.dialect->index(&l, line->ptr, &tmp, &e) == LINE_ENTRY &&
	       e.has_id == (id != NULL) && (!id || grove__slice_eq(e.id, grove__spine_name(id))) &&
	       e.kind == grove__spine_kind(sp, row);
	if (same && up != GROVE_NONE)
		same = e.parent_is == PARENT_NAMED &&
		       grove__slice_eq(e.parent, grove__spine_name(grove__spine_id(sp, up)));
	else if (same && !(grove__spine_flags(sp, row) & ROOT_BY_DAMAGE))
		same = e.parent_is == PARENT_NULL;
	grove__arena_release(&tmp);
	return same ? 0 : grove__fail(d, GROVE_EINVAL, s->at.path,
				      "an entry keeps its type, its id and its parent (%.60s)",
				      id ? id : "without an id");
}

static int edit_line(void *payload, struct grove_session *s, uint32_t row, bool header,
		     struct grove_slice value, struct grove_buf *out)
{
	struct update *u = payload;
	struct grove_entry e;
	int rc;

	if (header || row == GROVE_NONE)
		return 1;
	grove__row_entry(s->image->spine, row, &e);
	grove__buf_clear(&u->json);
	rc = u->fn(u->payload, &e, value, &u->json);
	if (rc)
		return rc;
	rc = same_entry(s, row, &u->json, u->d);
	if (rc)
		return rc;
	grove__buf_clear(&u->edited);
	rc = s->held ? 1 : grove__session_prepare(s, grove__buf_slice(&u->json), &u->edited, u->d);
	if (rc < 0)
		return rc;
	return grove__buf_add_slice(out, grove__buf_slice(rc ? &u->json : &u->edited));
}

int grove__session_rewrite_entries(struct grove_session *s, grove_edit_fn *fn, void *payload,
				   uint64_t *changed, struct grove_detail *d)
{
	struct update u = { .fn = fn, .payload = payload, .d = d };
	uint64_t nr = 0;
	int rc = grove__session_writable(s, d);

	if (changed)
		*changed = 0;
	if (rc)
		return rc;
	grove__session_close_old(s);
	rc = grove__session_refresh(s, d);
	if (rc >= 0)
		rc = grove__session_rewrite(s, edit_line, &u, &nr, d);
	if (changed)
		*changed = rc ? 0 : nr;
	grove__buf_release(&u.json);
	grove__buf_release(&u.edited);
	return grove__session_latch(s, rc, d);
}

/* --- one value in one entry --- */

struct pointed {
	uint32_t row;
	const char *pointer;
	struct grove_slice value;
	struct grove_detail *d;
};

static int replace_value(void *payload, const struct grove_entry *e, struct grove_slice json,
			 struct grove_buf *out)
{
	struct pointed *p = payload;
	int rc;

	if (e->index != p->row)
		return 1;
	rc = grove__json_replace(out, json, p->pointer, p->value);
	if (rc != 1)
		return rc;
	return grove__fail(p->d, GROVE_ENOTFOUND, NULL, "there is nothing at %.200s", p->pointer);
}

int grove__session_update(struct grove_session *s, const char *id, const char *pointer,
			  struct grove_slice value, struct grove_detail *d)
{
	struct pointed p = { .pointer = pointer, .d = d };
	struct grove_buf canonical = GROVE_BUF_INIT;
	struct grove_buf input = GROVE_BUF_INIT;
	struct grove__input in;
	int rc = grove__session_writable(s, d);

	if (!rc)
		rc = grove__session_refresh(s, d);
	if (rc >= 0)
		rc = grove__session_find(s, id, &p.row, d);
	if (!rc && p.row == GROVE_NONE)
		rc = grove__fail(d, GROVE_ENOTFOUND, s->at.path, "Entry %.200s not found", id);
	if (!rc && grove__buf_add_slice(&input, value))
		rc = grove__fail_nomem(d);
	/* it must be JSON, and is stored as it would have been at first */
	if (!rc)
		rc = grove__image_input(s->image, &input, &in, d);
	if (!rc && grove__json_put_canonical(&canonical, in.json))
		rc = grove__fail_nomem(d);
	p.value = grove__buf_slice(&canonical);
	if (!rc)
		rc = grove__session_rewrite_entries(s, replace_value, &p, NULL, d);
	grove__buf_release(&canonical);
	grove__buf_release(&input);
	return rc;
}
