/*
 * session/rewrite.c: rewrites a log line by line.
 *
 * Every physical line is visited, including those that no reader understands; only what
 * has to change is changed, and the rest keeps its bytes. If a lenient dialect finds a
 * value over several lines, or several on one line, these lines are handled together:
 *
 *	stored    {"type":"a",⏎"n":1} and the rest⏎
 *	          `----- value -----´
 *	becomes   {"type":"a","n":2} and the rest⏎
 */
#include "image/lines.h"
#include "session/change.h"

#include "base/crc32c.h"

#include <stdlib.h>

struct pass {
	struct grove_session *s;
	grove__line_edit_fn *fn;
	void *payload;
	struct grove__lines lines;
	struct grove_buf out;
	struct grove_buf group;  /* the lines of the current values, separated by LF … */
	struct grove_buf whole;  /* … and what they become */
	struct grove_buf joined; /* a value of several lines, joined into one */
	size_t told;             /* of `whole`, already returned; all of it: nothing waits */
	size_t header;
	uint32_t row;
	uint64_t changed;
	struct grove_slice slot; /* the new line of the slot; empty: unchanged */
	bool dropped;            /* nothing is left of the current lines */
	struct grove__records records;
	struct grove_buf padded; /* a line, with padding after it */
	struct grove_detail *d;
};

/* Gets the next stored line, unchanged. Returns 1 at the end. */
static int stored_line(struct pass *p, struct grove_slice *line)
{
	int rc = grove__lines_next(&p->lines, line);

	if (rc == GROVE_ETOOBIG)
		grove__fail_at(p->d, rc, p->s->at.path, p->lines.lines + 1, p->lines.runs.pos,
			       "cannot rewrite a line longer than 1 GiB");
	return rc;
}

/* A value that may have to change. */
struct item {
	struct grove__spot at;
	uint32_t row;            /* GROVE_NO_ENTRY: a header */
};

static bool is_before(const struct grove__spot *a, const struct grove__spot *b)
{
	return a->pos != b->pos ? a->pos < b->pos : a->off < b->off;
}

/* Gets the next one in the log, if it begins on line `line` or before. */
static bool next_item(struct pass *p, uint64_t line, struct item *out)
{
	const struct grove__image *im = p->s->image;
	bool row = p->row < im->spine->nr;

	if (row)
		*out = (struct item){ grove__image_spot(im, p->row), p->row };
	if (p->header < im->nr_headers &&
	    (!row || is_before(&im->headers[p->header].at, &out->at)))
		*out = (struct item){ im->headers[p->header].at, GROVE_NO_ENTRY };
	else if (!row)
		return false;
	if (out->at.line > line)
		return false;
	if (out->row == GROVE_NO_ENTRY)
		p->header++;
	else
		p->row++;
	return true;
}

/* Returns the offset of line number `line` in the group. */
static size_t group_line(const struct pass *p, uint64_t line)
{
	const char *at = p->group.ptr, *end = at + p->group.len;

	while (line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at++)
			return p->group.len;
	}
	return (size_t)(at - p->group.ptr);
}

static int grow_group(struct pass *p)
{
	struct grove_slice line;
	int rc = stored_line(p, &line);

	if (rc)
		return rc < 0 ? rc : grove__fail(p->d, GROVE_ESTALE, p->s->at.path, "was changed");
	if (grove__buf_add_char(&p->group, '\n') || grove__buf_add_slice(&p->group, line))
		return grove__fail_nomem(p->d);
	return 0;
}

/*
 * Handles one value of the group: appends what comes before it, and its new text, to
 * `whole`.
 */
static int edit(struct pass *p, const struct item *it, size_t off, size_t *done)
{
	struct grove_slice stored, value;
	int rc;

	while (off + it->at.len > p->group.len) {
		rc = grow_group(p);
		if (rc)
			return rc;
	}
	if (grove__buf_reserve(&p->group, GROVE__JSON_PAD))
		return grove__fail_nomem(p->d);
	if (grove__crc32c(0, p->group.ptr + off, (size_t)it->at.len) != it->at.crc)
		return grove__fail_at(p->d, GROVE_ESTALE, p->s->at.path, it->at.line + 1, it->at.pos,
				      "the line has changed: another program changed the session");
	/* bytes around the value (a byte order mark, a CR) stay */
	stored = value = grove__line_trim(grove__slice(p->group.ptr + off, (size_t)it->at.len));
	if (memchr(value.ptr, '\n', value.len)) {
		grove__buf_clear(&p->joined);
		if (grove__buf_add_slice(&p->joined, value) ||
		    grove__buf_reserve(&p->joined, GROVE__JSON_PAD))
			return grove__fail_nomem(p->d);
		grove__line_join(p->joined.ptr, p->joined.len);
		value = grove__buf_slice(&p->joined);
	}
	grove__buf_clear(&p->out);
	rc = p->fn(p->payload, p->s, it->row, it->row == GROVE_NO_ENTRY, value, &p->out);
	if (rc < 0)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(p->d) : rc;
	off = (size_t)(stored.ptr - p->group.ptr);
	if (grove__buf_add(&p->whole, p->group.ptr + *done, off - *done) ||
	    (rc != GROVE__DROP &&
	     grove__buf_add_slice(&p->whole, rc ? stored : grove__buf_slice(&p->out))))
		return grove__fail_nomem(p->d);
	*done = off + stored.len;
	p->changed += rc != GROVE__KEEP;
	p->dropped |= rc == GROVE__DROP;
	return 0;
}

/* Handles the values that begin on this line, and on the lines they extend to. */
static int edit_group(struct pass *p, struct item *it, struct grove_slice line, uint64_t pos)
{
	const struct grove__image *im = p->s->image;
	size_t done = 0;
	int rc;

	grove__buf_clear(&p->group);
	grove__buf_clear(&p->whole);
	p->told = 0;
	p->dropped = false;
	if (grove__buf_add_slice(&p->group, line))
		return grove__fail_nomem(p->d);
	do {
		rc = edit(p, it,
			  im->by_line ? group_line(p, it->at.pos - pos) + (size_t)it->at.off
				      : (size_t)(it->at.pos - pos),
			  &done);
	} while (!rc && next_item(p, p->lines.lines - 1, it));
	if (!rc && grove__buf_add(&p->whole, p->group.ptr + done, p->group.len - done))
		rc = grove__fail_nomem(p->d);
	/* drop a line that has nothing left */
	if (!rc && p->dropped && !grove__line_trim(grove__buf_slice(&p->whole)).len)
		grove__buf_clear(&p->whole);
	else
		p->dropped = false;
	return rc;
}

static int next_line(void *payload, struct grove_slice *line)
{
	struct pass *p = payload;
	const char *at, *lf;
	struct item it;
	size_t left;
	int rc;

	while (p->told >= p->whole.len) {
		rc = stored_line(p, line);
		if (!rc && p->slot.len && p->lines.lines - 1 == p->s->image->slot_line) {
			*line = p->slot;
			p->changed++;
			return 0;
		}
		if (rc || !next_item(p, p->lines.lines - 1, &it))
			return rc;
		rc = edit_group(p, &it, *line, p->lines.at);
		if (rc)
			return rc;
		if (!p->dropped)
			break;
	}
	at = p->whole.ptr + p->told;
	left = p->whole.len - p->told;
	lf = memchr(at, '\n', left);
	*line = grove__slice(at, lf ? (size_t)(lf - at) : left);
	p->told += line->len + 1;
	return 0;
}

static int next_record(void *payload, struct grove_store_record *rec)
{
	struct pass *p = payload;
	struct grove_slice line;
	int rc = next_line(p, &line);

	if (rc)
		return rc;
	grove__buf_clear(&p->padded);
	grove__records_clear(&p->records);
	if (grove__buf_add_slice(&p->padded, line) || grove__buf_reserve(&p->padded, GROVE__JSON_PAD) ||
	    grove__records_fill(&p->records, grove__buf_slice(&p->padded), rec))
		return grove__fail_nomem(p->d);
	return 0;
}

/* Only stores with columns need more than the line. */
static int next_bare(void *payload, struct grove_store_record *rec)
{
	return next_line(payload, &rec->line);
}

int grove__session_rewrite(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
			   uint64_t *changed, struct grove_detail *d)
{
	return grove__session_rewrite_slot(s, fn, payload, grove__slice(NULL, 0), changed, d);
}

int grove__session_rewrite_slot(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
				struct grove_slice slot, uint64_t *changed, struct grove_detail *d)
{
	struct pass p = { .s = s, .fn = fn, .payload = payload, .slot = slot, .d = d };
	int rc = s->flags & GROVE_OPEN_FORCE ? 0 : grove__live_check(s->g, &s->at, d);

	*changed = 0;
	if (rc)
		return rc;
	/* those before it are in another log */
	p.row = s->image->bases.rows;
	grove__records_init(&p.records, s->at.dialect);
	rc = grove__lines_init(&p.lines, s->log, s->image->tail, d);
	if (!rc)
		rc = grove__log_rewrite(
			s->log, grove__store_traits(s->log->store).columns ? next_record : next_bare, &p,
			s->image->tail, s->flags & GROVE_OPEN_FORCE ? GROVE_STORE_FORCE : 0, d);
	grove__records_release(&p.records);
	grove__buf_release(&p.padded);
	grove__lines_release(&p.lines);
	grove__buf_release(&p.out);
	grove__buf_release(&p.group);
	grove__buf_release(&p.whole);
	grove__buf_release(&p.joined);
	*changed = p.changed;
	if (rc)
		return rc;
	rc = grove__session_retire(s) ? grove__fail_nomem(d) : 0;
	return rc ? rc : grove__session_load(s, d);
}

static int migrate_line(void *payload, struct grove_session *s, uint32_t row, bool header,
			struct grove_slice value, struct grove_buf *out)
{
	(void)payload;
	(void)header;
	return grove__image_migrate(s->image, s->log, row, value, out);
}

int grove__session_migrate(struct grove_session *s, struct grove_detail *d)
{
	int rc = GROVE_ECONFLICT;

	/* if the log grows meanwhile, start again: nothing is lost or half done */
	for (int tries = 0; tries < 8 && rc == GROVE_ECONFLICT; tries++) {
		struct grove_detail why;

		grove__fail_clear(&why);
		rc = grove__session_rewrite(s, migrate_line, NULL, &s->migration, &why);
		if (rc && d)
			*d = why;
		if (rc == GROVE_ECONFLICT) {
			int again = grove__session_refresh(s, d);

			if (again < 0)
				return again;
			if (!again) {
				/* it did not grow: another process has it open */
				if (d)
					*d = why;
				return rc;
			}
		}
	}
	return rc;
}
