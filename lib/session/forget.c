/*
 * session/forget.c: removes one entry from the log.
 *
 * The last line is truncated, which is one operation of the file system. For any other
 * line the log is rewritten, and the children of the removed entry are attached to its
 * parent.
 */
#include "session/append.h"
#include "session/change.h"
#include "session/leaf.h"

struct forgetting {
	uint32_t row, up;
	struct grove_slice id;
	uint64_t relinked;
};

static int forget_line(void *payload, struct grove_session *s, uint32_t row, bool header,
		       struct grove_slice value, struct grove_buf *out)
{
	struct forgetting *f = payload;
	const struct grove__spine *sp = s->image->spine;
	struct grove_slice parent = { NULL, 0 };

	if (header)
		return GROVE__KEEP;
	/* another line with that id would take its place */
	if (row == f->row || (grove__spine_id(sp, row) &&
			      grove__slice_eq(grove__spine_name(grove__spine_id(sp, row)), f->id)))
		return GROVE__DROP;
	if (grove__spine_parent(sp, row) != f->row)
		return GROVE__KEEP;
	if (f->up != GROVE_NO_ENTRY)
		parent = grove__spine_name(grove__spine_id(sp, f->up));
	f->relinked++;
	return s->at.dialect->write.relink(value, parent, NULL, NULL, out);
}

int grove__session_forget(struct grove_session *s, const char *id, uint64_t *relinked,
			  struct grove_detail *d)
{
	struct forgetting f = { .row = GROVE_NO_ENTRY };
	const struct grove__spine *sp;
	struct grove__spot at;
	uint64_t changed;
	int rc = grove__session_writable(s, d);

	*relinked = 0;
	if (rc)
		return rc;
	grove__session_close_old(s);
	rc = grove__session_refresh(s, d);
	rc = rc < 0 ? rc : grove__session_row(s, id, &f.row, d);
	if (!rc && f.row == GROVE_NO_ENTRY)
		rc = grove__fail(d, GROVE_ENOTFOUND, s->at.path, "Entry %.200s not found", id);
	rc = rc ? rc : grove__base_refuse(s->image, f.row, s->at.path, d);
	if (rc)
		return rc;
	sp = s->image->spine;
	f.id = grove__slice_str(id);
	f.up = grove__tree_named(sp, grove__spine_parent(sp, f.row));
	at = grove__image_spot(s->image, f.row);
	/* the last line has no children, and nothing follows it */
	if (!sp->nr_duplicates && at.line + 1 == s->image->lines && !s->image->torn && !at.off && !at.lines &&
	    grove__spine_child(sp, f.row) == GROVE_NO_ENTRY) {
		rc = s->flags & GROVE_OPEN_FORCE ? 0 : grove__live_check(s->g, &s->at, d);
		if (rc)
			return rc;
		rc = grove__log_cut(s->log, at.pos, s->image->tail, GROVE_SYNC_ALWAYS, d);
		if (!rc && (grove__session_retire(s) ? grove__fail_nomem(d) : grove__session_load(s, d)))
			rc = grove__session_lost_sight(s, d);
		if (rc != GROVE_ENOTSUP)
			return grove__session_latch(s, rc, d);
	}
	rc = grove__session_rewrite(s, forget_line, &f, &changed, d);
	if (!rc)
		*relinked = f.relinked;
	return grove__session_latch(s, rc, d);
}
