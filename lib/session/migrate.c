/*
 * session/migrate.c: rewrite a log line by line.
 *
 * Every physical line passes by, also those that no reader understands; only
 * what has to change changes, the rest keeps its bytes.
 */
#include "session/session.h"

#include "sys/clock.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)1 << 20)

struct pass {
	struct grove_session *s;
	grove__line_edit_fn *fn;
	void *payload;
	struct grove_buf buf, out, whole;
	struct grove_run run;
	uint64_t pos, until, line;
	size_t off, header;
	uint32_t row;
	uint64_t changed;
	bool fresh;              /* the run at hand still has lines */
	struct grove_detail *d;
};

/* The next stored line, as it is. 1 at the end. */
static int stored_line(struct pass *p, struct grove_slice *line)
{
	for (;;) {
		const char *at = p->buf.ptr + p->off, *lf;
		int rc;

		if (p->fresh && p->off < p->run.len) {
			lf = memchr(at, '\n', p->run.len - p->off);
			if (lf || p->run.end) {
				size_t n = lf ? (size_t)(lf - at) : p->run.len - p->off;

				*line = grove__slice(at, n);
				p->off += n + 1;
				return 0;
			}
		}
		if (p->fresh)
			p->pos = p->run.next;
		if (p->pos >= p->until)
			return 1;
		p->off = 0;
		p->fresh = true;
		grove__buf_clear(&p->buf);
		if (grove__buf_reserve(&p->buf, RUN_BYTES))
			return grove__fail_nomem(p->d);
		/* a line that does not fit wants a larger buffer: rewriting needs it whole */
		for (;;) {
			rc = grove__log_read(p->s->log, p->pos, p->until, p->buf.ptr, p->buf.cap,
					     &p->run, p->d);
			if (rc)
				return rc;
			if (!p->run.open)
				break;
			if (p->buf.cap >= GROVE__LINE_MAX)
				return grove__fail_at(p->d, GROVE_ETOOBIG, p->s->at.path, p->line + 1,
						      p->pos, "a line of more than 1 GiB cannot be rewritten");
			if (grove__buf_reserve(&p->buf, p->buf.cap * 2))
				return grove__fail_nomem(p->d);
		}
	}
}

/* The edited line: what stands around the value (a mark, a CR) stays. */
static int replace_value(struct pass *p, struct grove_slice *line, struct grove_slice value)
{
	size_t before = (size_t)(value.ptr - line->ptr);

	grove__buf_clear(&p->whole);
	if (grove__buf_add(&p->whole, line->ptr, before) ||
	    grove__buf_add_slice(&p->whole, grove__buf_slice(&p->out)) ||
	    grove__buf_add(&p->whole, value.ptr + value.len, line->len - before - value.len))
		return grove__fail_nomem(p->d);
	*line = grove__buf_slice(&p->whole);
	p->changed++;
	return 0;
}

static int next_line(void *payload, struct grove_slice *line)
{
	struct pass *p = payload;
	const struct grove__image *im = p->s->image;
	struct grove_slice value;
	bool header = false;
	uint32_t row = GROVE_NONE;
	int rc = stored_line(p, line);

	if (rc)
		return rc;
	if (p->header < im->nr_headers && im->headers[p->header].line == p->line) {
		header = true;
		p->header++;
	} else if (p->row < im->spine->nr && grove__spine_line(im->spine, p->row) == p->line) {
		row = p->row++;
	}
	p->line++;
	if (!header && row == GROVE_NONE)
		return 0;
	value = grove__trim_value(*line);
	grove__buf_clear(&p->out);
	rc = p->fn(p->payload, p->s, row, header, value, &p->out);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(p->d);
	if (rc < 0)
		return rc;
	return rc ? 0 : replace_value(p, line, value);
}

int grove__session_rewrite(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
			   uint64_t *changed, struct grove_detail *d)
{
	struct pass p = { .s = s, .fn = fn, .payload = payload, .until = s->image->tail, .d = d };
	int rc = grove__log_rewrite(s->log, next_line, &p, s->image->tail,
				    s->flags & GROVE_FORCE ? GROVE_LOG_FORCE : 0, d);

	grove__buf_release(&p.buf);
	grove__buf_release(&p.out);
	grove__buf_release(&p.whole);
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

	/* a log that grows meanwhile is read again: nothing is lost, nothing is half done */
	for (int tries = 0; tries < 8 && rc == GROVE_ECONFLICT; tries++) {
		struct grove_detail why;

		grove__detail_clear(&why);
		rc = grove__session_rewrite(s, migrate_line, NULL, &s->migrated, &why);
		if (rc && d)
			*d = why;
		if (rc == GROVE_ECONFLICT) {
			int again = grove__session_refresh(s, d);

			if (again < 0)
				return again;
			if (!again) {
				/* it did not grow: somebody has it open */
				if (d)
					*d = why;
				return rc;
			}
		}
	}
	return rc;
}
