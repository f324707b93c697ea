/*
 * check/fix.c: repairs a damaged log without losing a byte.
 *
 * The log is read and a plan is made; the plan is shown, and the caller may refuse it.
 * Then the removed bytes are saved next to the session, on disk, and only then is the
 * log rewritten, completely or not at all. If that fails, what was saved is deleted
 * again, because all of it is still in the log.
 */
#include "check/fix.h"

#include <stdio.h>

static const char *words_of(enum grove__problem why, const struct grove__change *c, bool gone)
{
	switch (why) {
	case NO_HEADER:
		return gone ? "remove the misplaced header" : "add a header before the entries";
	case BYTE_ORDER_MARK:
		return "remove the byte-order mark";
	case FUSED:
		return "put each entry on its own line";
	case NO_NEWLINE:
		return "add a line end after the last line";
	case TORN:
		return "remove the unfinished line";
	case NOT_AN_ENTRY:
		return "remove a line that is not an entry";
	case SECOND_HEADER:
		return "remove the second header";
	case NO_MESSAGE:
		return "turn the entry, which has no message, into a custom entry";
	case DUPLICATE_ID:
		return c && c->id ? "give the entry a new id, since its id was already used"
		       : c	  ? "change its parent to the parent's new id"
				  : "remove the repeated entry";
	case ORPHAN:
		return gone	       ? "it is now on the line above"
		       : c && c->parent ? "attach it to the entry before it, since its parent is missing"
					: "make it a root, since its parent is missing";
	case CYCLE:
		return gone	       ? "it is now on the line above"
		       : c && c->parent ? "attach it to the entry before it, since its parents form a cycle"
					: "make it a root, since its parents form a cycle";
	default:
		return "remove what is not valid JSON";
	}
}

static const struct grove__change *change_of(const struct grove__mended *m)
{
	const struct grove__plan *p = m->plan;

	for (size_t i = m->edit; i > 0 && p->edits[i - 1].line == m->line; i--)
		if (p->edits[i - 1].change != SIZE_MAX && p->edits[i - 1].why == m->why)
			return &p->changes[p->edits[i - 1].change];
	return NULL;
}

static int show_changes(const struct grove__plan *p, struct grove_store_log *log,
			const struct grove_fix_options *opt, uint64_t *nr, struct grove_detail *d)
{
	struct grove__mended m;
	int rc = grove__fix_mended_init(&m, p, log, d);

	while (!rc && !(rc = grove__fix_mended_next(&m))) {
		struct grove_fix_change c = { .path = grove__fix_name(p->at),
					  .line = m.line + 1,
					  .new_line = m.new_line + 1,
					  .kind = grove__check_problem_kind(m.why),
					  .old_text = m.old };
		const struct grove__change *change;

		if (!m.changed)
			continue;
		++*nr;
		if (!opt->change)
			continue;
		change = change_of(&m);
		c.detail = words_of(m.why, change, m.gone);
		if (change)
			c.entry_id = grove__spine_id(p->spine, change->row);
		if (!m.gone)
			c.new_text = grove__buf_slice(&m.text);
		rc = opt->change(opt->payload, &c);
	}
	grove__fix_mended_release(&m);
	return rc == 1 ? 0 : rc;
}

/* --- writing --- */

struct writing {
	struct grove__mended m;
	struct grove__records records;
	size_t told;
	bool more;                 /* the current line has lines left */
};

static int next_line(void *payload, struct grove_slice *line)
{
	struct writing *w = payload;
	const char *at, *lf;
	size_t left;
	int rc;

	while (!w->more) {
		rc = grove__fix_mended_next(&w->m);
		if (rc)
			return rc;
		if (!w->m.changed) {
			*line = w->m.old;
			return 0;
		}
		w->told = 0;
		w->more = !w->m.gone;
	}
	at = w->m.text.ptr + w->told;
	left = w->m.text.len - w->told;
	lf = memchr(at, '\n', left);
	*line = grove__slice(at, lf ? (size_t)(lf - at) : left);
	w->told += line->len + 1;
	w->more = lf;
	return 0;
}

/* The same, with the columns that a store may want. */
static int next_record(void *payload, struct grove_store_record *rec)
{
	struct writing *w = payload;
	struct grove_slice line;
	int rc = next_line(w, &line);

	if (rc)
		return rc;
	grove__records_clear(&w->records);
	return grove__records_fill(&w->records, line, rec) ? grove__fail_nomem(w->m.lines.runs.d) : 0;
}

/* Only stores with columns need more than the line. */
static int next_bare(void *payload, struct grove_store_record *rec)
{
	return next_line(payload, &rec->line);
}

static int write_log(const struct grove__plan *p, struct grove_store_log *log, unsigned flags,
		     struct grove_detail *d)
{
	struct writing w = { .told = 0 };
	int rc = grove__fix_mended_init(&w.m, p, log, d);

	grove__records_init(&w.records, p->dialect);
	if (!rc)
		rc = grove__log_rewrite(log, grove__store_traits(log->store).columns ? next_record : next_bare, &w,
					p->tail, flags, d);
	grove__records_release(&w.records);
	grove__fix_mended_release(&w.m);
	return rc;
}

/* Checks again before anything is written: the confirmation may have taken a while. */
static int same_log(const struct grove__plan *p, struct grove_store_log *log,
		    struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(log, &st, d);

	if (!rc && st.tail != p->tail)
		rc = grove__fail(d, GROVE_ECONFLICT, p->at->path, "changed while it was being checked (try again)");
	return rc;
}

static int mend(struct grove__plan *p, const struct grove_fix_options *opt,
		struct grove_fix_result *result, uint64_t nr, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(p->at), cut = key;
	struct grove_buf where = GROVE_BUF_INIT, name = GROVE_BUF_INIT;
	struct grove_store_log *log = NULL;
	int rc = grove__log_open(&log, p->at->store, &key, GROVE_STORE_WRITE, d), kept = 1;

	if (!rc)
		rc = same_log(p, log, d);
	if (!rc && !(opt->flags & GROVE_FIX_FORCE))
		rc = grove__live_check(p->g, p->at, d);
	if (!rc) {
		kept = grove__fix_keep(p, log, &where, &cut, &name, d);
		rc = kept < 0 ? kept : 0;
	}
	if (!rc) {
		rc = write_log(p, log, opt->flags & GROVE_FIX_FORCE ? GROVE_STORE_FORCE : 0, d);
		/*
		 * after GROVE_EIO the new log may be in place: then this is all that is
		 * left of the old
		 */
		if (rc && rc != GROVE_EIO && !kept && *cut.session && strcmp(cut.session, key.session))
			grove__store_remove(p->at->store, &cut, NULL);
	}
	grove__log_close(log);
	if (!rc) {
		result->mended++;
		result->changes += nr;
		if (opt->done)
			rc = opt->done(opt->payload, grove__fix_name(p->at),
				       kept ? NULL : where.ptr);
	}
	grove__buf_release(&where);
	grove__buf_release(&name);
	return rc;
}

int grove__fix(struct grove *g, struct grove__where *at, const struct grove_fix_options *opt,
	       struct grove_fix_result *result, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(at);
	struct grove_store_log *log = NULL;
	struct grove__plan p;
	uint64_t nr = 0;
	int rc = grove__peek_where_dialect(g, at, d);

	result->files++;
	if (!rc)
		rc = grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);
	if (rc)
		return rc;
	grove__plan_init(&p, g, at, at->dialect, log, d);
	rc = grove__plan_make(&p);
	if (!rc && p.nr_edits)
		rc = show_changes(&p, log, opt, &nr, d);
	grove__log_close(log);
	p.log = NULL;
	if (!rc && nr && opt->flags & GROVE_FIX_DRY_RUN)
		result->changes += nr;
	else if (!rc && nr)
		rc = opt->confirm ? opt->confirm(opt->payload, grove__fix_name(at), nr) : 0;
	if (!rc && nr && !(opt->flags & GROVE_FIX_DRY_RUN))
		rc = mend(&p, opt, result, nr, d);
	grove__plan_release(&p);
	/* refused by the caller, which is not a failure */
	return rc == 1 ? 0 : rc;
}

int grove__fix_can_begin(struct grove *g, const struct grove__where *at,
			 struct grove_store_log *log, bool *yes, struct grove_detail *d)
{
	struct grove__plan p;
	int rc;

	grove__plan_init(&p, g, at, at->dialect, log, d);
	rc = grove__plan_make(&p);
	*yes = !rc && !p.beyond && p.nr_edits;
	grove__plan_release(&p);
	return rc;
}
