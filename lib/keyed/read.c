/*
 * keyed/read.c: the lines of a log as they are stored, and its values.
 */
#include "keyed/keyed.h"

#include "image/range.h"

void grove__keyed_tell(const struct grove_store_log_stat *st, uint64_t lines,
		       struct grove_log_result *out)
{
	out->seq = lines;
	out->bytes = st->bytes;
	out->modified = st->mtime_ms;
	out->generation = st->generation;
	/* the rev of a file is known only if its lines were counted */
	out->rev = lines == GROVE_LOG_UNCOUNTED ? 0 : st->base + lines;
}

/* If the store counts lines, reading starts at the first one wanted. */
static int read_all(struct grove_store_log *log, const struct grove_store_log_stat *st,
		    struct grove__range *r, struct grove_detail *d)
{
	bool counted = grove__keyed_is_counted(st);
	uint64_t until = counted && r->to < st->tail ? r->to : st->tail;

	if (counted && r->from < until)
		r->line = r->from;
	return grove__range_read(r, log, r->line, until, d);
}

int grove__keyed_same_still(struct grove_log *l, const struct grove_store_log_stat *st,
			    struct grove_detail *d)
{
	struct grove_store_log_stat now;
	int rc = grove__log_stat(l->held->log, &now, d);

	if (!rc && (now.generation != st->generation || now.tail < st->tail))
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the log was replaced while it was being read");
	return rc == GROVE_ENOTFOUND ? grove__fail(d, GROVE_ESTALE, NULL, "the log was removed") : rc;
}

int grove__keyed_read(struct grove_log *l, uint64_t from, uint64_t to, struct grove_sink sink,
		      struct grove_log_result *out, struct grove_detail *d)
{
	struct grove__range r = { .from = from, .to = to ? to : UINT64_MAX, .sink = sink };
	struct grove_store_log_stat st;
	int rc, tries = 0;

	grove__keyed_enter(l);
	do {
		r.line = 0;
		rc = grove__keyed_stat(l, &st, d);
		if (!rc && r.from < r.to)
			rc = read_all(l->held->log, &st, &r, d);
		if (!rc)
			rc = grove__keyed_same_still(l, &st, d);
		if (rc == GROVE_ESTALE)
			grove__keyed_drop(l);
		/* what was passed on cannot be taken back */
	} while (rc == GROVE_ESTALE && !r.given && tries++ < 8);
	if (!rc) {
		out->stored = r.line > from ? r.line - from : 0;
		grove__keyed_tell(&st, grove__keyed_is_counted(&st) ? st.tail
				       : r.to == UINT64_MAX	    ? r.line
								    : GROVE_LOG_UNCOUNTED,
				  out);
	}
	grove__keyed_leave(l);
	return rc;
}

/* ------------------------------------------------------------------ values */

int grove__keyed_value_get(struct grove_log *l, const char *name, struct grove_buf *out,
			   struct grove_detail *d)
{
	struct grove_store_log_stat st;
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__keyed_value_name(name, &full, d);

	grove__keyed_enter(l);
	if (!rc)
		rc = l->columns ? grove__keyed_have(l, false, d) : grove__keyed_stat(l, &st, d);
	if (!rc)
		rc = grove__log_meta_get(l->held->log, full.ptr, out, d);
	grove__keyed_leave(l);
	grove__buf_release(&full);
	return rc;
}

int grove__keyed_value_put(struct grove_log *l, const char *name, struct grove_slice value,
			   struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__keyed_value_name(name, &full, d), tries = 0;

	grove__keyed_enter(l);
	do {
		if (rc == GROVE_ESTALE)
			grove__keyed_drop(l);
		if (!rc || rc == GROVE_ESTALE)
			rc = grove__keyed_have(l, false, d);
		if (!rc)
			rc = grove__log_meta_put(l->held->log, full.ptr, value, d);
	} while (rc == GROVE_ESTALE && tries++ < 2);
	/*
	 * the value increased the base by one; if somebody else did so, too, the next
	 * append will notice
	 */
	if (!rc && grove__log_has_changes(l->held->log))
		l->ids.base++;
	grove__keyed_leave(l);
	grove__buf_release(&full);
	return rc;
}
