/*
 * session/update.c: changes entries that are already stored.
 *
 * The log is rewritten as a whole or not at all; lines that do not change keep their
 * bytes. The id and the parent of an entry cannot change, because other entries refer
 * to it.
 */
#include "image/lines.h"
#include "session/append.h"
#include "session/blobs.h"
#include "session/change.h"
#include "session/leaf.h"

#include "json/edit.h"
#include "json/write.h"

/* One value in one entry. */
struct update {
	uint32_t row;
	const char *pointer;
	struct grove_slice value;
	struct grove_buf json, edited;
	struct grove_detail *d;
};

/* Roots that nevertheless name a parent. */
#define ROOT_BY_DAMAGE (ROW_ORPHAN | ROW_CYCLE | ROW_SUPERSEDED | ROW_PARENT_ABSENT)

/* Checks that `line` is still the entry of that row. The time of writing is not part of the content. */
static int same_entry(struct grove_session *s, uint32_t row, struct grove_buf *line,
		      struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;
	const char *id = grove__spine_id(sp, row);
	struct grove__arena tmp;
	struct grove__json_line l;
	struct grove__entry e;
	uint32_t up = grove__spine_parent(sp, row);
	bool same, failed, moved, list = grove__dialect_linear(s->at.dialect);

	if (grove__buf_reserve(line, GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	if (grove__json_scan(&s->image->want, line->ptr, line->len, true, &l) != JSON_VALUE ||
	    l.len != line->len)
		return grove__fail_at(d, GROVE_EJSON, NULL, 0, l.error_off, "not valid JSON at byte %llu",
				      (unsigned long long)l.error_off);
	grove__arena_init(&tmp);
	same = s->at.dialect->read.index(&l, line->ptr, &tmp, &e) == LINE_ENTRY;
	moved = same && e.time != grove__spine_time(sp, row);
	same = same && e.kind == grove__spine_kind(sp, row);
	/* in a list, id and parent come from where it is */
	if (same && !list)
		same = e.has_id == (id != NULL) && (!id || grove__slice_eq(e.id, grove__spine_name(id)));
	if (same && list)
		same = !e.has_id;
	else if (same && up != GROVE_NO_ENTRY)
		same = e.parent_is == PARENT_NAMED &&
		       grove__slice_eq(e.parent, grove__spine_name(grove__spine_id(sp, up)));
	else if (same && !(grove__spine_flags(sp, row) & ROOT_BY_DAMAGE))
		same = e.parent_is == PARENT_NULL;
	failed = tmp.failed;
	grove__arena_release(&tmp);
	if (failed)
		return grove__fail_nomem(d);
	if (moved)
		return grove__fail(d, GROVE_EINVAL, s->at.path, "the time of an entry cannot be changed");
	return same ? 0 : grove__fail(d, GROVE_EINVAL, s->at.path,
				      "the type, id and parent of an entry cannot be changed (%.60s)",
				      id ? id : "without an id");
}

static int edit_line(void *payload, struct grove_session *s, uint32_t row, bool header,
		     struct grove_slice value, struct grove_buf *out)
{
	struct update *u = payload;
	int rc;

	if (header || row != u->row)
		return GROVE__KEEP;
	grove__buf_clear(&u->json);
	rc = grove__json_replace(&u->json, value, u->pointer, u->value);
	if (rc == 1)
		return grove__fail(u->d, GROVE_ENOTFOUND, NULL, "there is nothing at %.200s", u->pointer);
	rc = rc ? rc : same_entry(s, row, &u->json, u->d);
	if (rc)
		return rc;
	grove__buf_clear(&u->edited);
	rc = s->deferral.store ? 1 : grove__session_prepare(s, grove__buf_slice(&u->json), &u->edited, u->d);
	if (rc < 0)
		return rc;
	return grove__buf_add_slice(out, grove__buf_slice(rc ? &u->json : &u->edited));
}

/* --- one line, in stores that can replace a line --- */

int grove__session_update_line(struct grove_session *s, const struct grove__spot *at, uint32_t row,
			       struct grove_slice value, enum grove_change_kind kind,
			       struct grove_detail *d)
{
	struct grove_buf was = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct grove_store_record rec = { 0 };
	struct grove__records records;
	struct grove_slice stored;
	int rc;

	/*
	 * a value that shares its line with others, or spans lines, cannot be replaced
	 * as a line
	 */
	if (!s->image->by_line || at->off || at->lines || grove__image_old(s->image) ||
	    !grove__log_has_update(s->log))
		return 1;
	grove__records_init(&records, s->at.dialect);
	records.any = row != GROVE_NO_ENTRY;
	rc = grove__line_fetch(s->log, at, &was, d);
	stored = grove__line_trim(grove__buf_slice(&was));
	/* bytes around the value (a byte order mark, a CR) stay */
	if (!rc && (grove__buf_add(&line, was.ptr, (size_t)(stored.ptr - was.ptr)) ||
		    grove__buf_add_slice(&line, value) ||
		    grove__buf_add(&line, stored.ptr + stored.len,
				   (size_t)(was.ptr + was.len - stored.ptr - stored.len)) ||
		    grove__buf_reserve(&line, GROVE__JSON_PAD) ||
		    grove__records_fill(&records, grove__buf_slice(&line), &rec)))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__log_update(s->log, at->pos, grove__buf_slice(&was), &rec, kind,
				       GROVE_SYNC_ALWAYS, d);
	if (!rc && grove__session_retire(s))
		rc = grove__fail_nomem(d);
	grove__records_release(&records);
	grove__buf_release(&was);
	grove__buf_release(&line);
	return rc ? rc : grove__session_load(s, d);
}

/* --- one value in one entry --- */

/* Changes only the entry's line. Returns 1 if the log has to be rewritten. */
static int update_row(struct grove_session *s, struct update *u, struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove__spot at = grove__image_spot(s->image, u->row);
	struct grove_slice value;
	int rc = grove__log_has_update(s->log)
			 ? grove__image_line(s->image, s->log, u->row, &line, &value, d)
			 : 1;

	if (!rc)
		rc = edit_line(u, s, u->row, false, value, &out);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	if (!rc)
		rc = grove__session_update_line(s, &at, u->row, grove__buf_slice(&out),
						GROVE_CHANGE_UPDATE, d);
	grove__buf_release(&line);
	grove__buf_release(&out);
	return rc;
}

/* Rewrites the log. */
static int rewrite(struct grove_session *s, struct update *u, struct grove_detail *d)
{
	uint64_t nr;
	int rc;

	grove__session_close_old(s);
	rc = grove__session_refresh(s, d);
	return rc < 0 ? rc : grove__session_rewrite(s, edit_line, u, &nr, d);
}

int grove__session_update(struct grove_session *s, const char *id, const char *pointer,
			  struct grove_slice value, struct grove_detail *d)
{
	struct update u = { .pointer = pointer, .d = d };
	struct grove_buf canonical = GROVE_BUF_INIT;
	struct grove_buf input = GROVE_BUF_INIT;
	struct grove__input in;
	int rc = grove__session_writable(s, d);

	if (rc)
		return rc;
	rc = grove__session_refresh(s, d);
	if (rc >= 0)
		rc = grove__session_find(s, id, &u.row, d);
	if (!rc && u.row == GROVE_NO_ENTRY)
		rc = grove__fail(d, GROVE_ENOTFOUND, s->at.path, "Entry %.200s not found", id);
	rc = rc ? rc : grove__base_refuse(s->image, u.row, s->at.path, d);
	if (!rc && grove__buf_add_slice(&input, value))
		rc = grove__fail_nomem(d);
	/* it must be JSON, and is stored like a new entry */
	if (!rc)
		rc = grove__image_input(s->image, &input, &in, d);
	if (!rc && grove__json_put_canonical(&canonical, in.json))
		rc = grove__fail_nomem(d);
	u.value = grove__buf_slice(&canonical);
	if (!rc)
		rc = update_row(s, &u, d);
	if (rc == 1)
		rc = rewrite(s, &u, d);
	rc = grove__session_latch(s, rc, d);
	grove__buf_release(&u.json);
	grove__buf_release(&u.edited);
	grove__buf_release(&canonical);
	grove__buf_release(&input);
	return rc;
}
