/*
 * session/check.c: find damage, change nothing.
 *
 * Two passes: over the physical lines, for those that no reader understands;
 * over the tree, for entries that hang nowhere, twice, or in a circle. The
 * kinds are part of the interface: they are documented and do not change.
 */
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>

struct checker {
	struct grove_session *s;
	grove_problem_fn *fn;
	void *payload;
	struct grove_check_result *result;
	struct grove_detail *d;
	char text[256];
};

static int report(struct checker *c, const char *kind, uint64_t line, uint64_t offset,
		  const char *entry_id)
{
	struct grove_problem p = {
		.path = c->s->at.path ? c->s->at.path : "",
		.line = line,
		.offset = offset,
		.kind = kind,
		.entry_id = entry_id,
		.detail = c->text,
	};

	c->result->problems++;
	return c->fn(c->payload, &p);
}

#define TEXT(c, ...) snprintf((c)->text, sizeof((c)->text), __VA_ARGS__)

static int bad_line(struct checker *c, const struct grove__json_line *l, const char *ptr,
		    uint64_t line, uint64_t pos, bool last)
{
	size_t nul = 0;

	while (nul < l->len && !ptr[nul])
		nul++;
	if (last) {
		TEXT(c, "the last line is not finished: %llu bytes, then nothing",
		     (unsigned long long)l->len);
		return report(c, "torn-tail", line, pos, NULL);
	}
	if (l->len && nul == l->len)
		TEXT(c, "%llu NUL bytes", (unsigned long long)l->len);
	else
		TEXT(c, "not JSON from byte %llu of the line on", (unsigned long long)l->error_off);
	return report(c, "malformed-line", line, pos + l->error_off, NULL);
}

/* Every physical line, in pieces that fit; a longer one is left to the loader's verdict. */
static int check_lines(struct checker *c)
{
	const struct grove__image *im = c->s->image;
	size_t cap = (size_t)4 << 20;
	char *buf = malloc(cap + GROVE__JSON_PAD);
	struct grove_run run;
	uint64_t pos = 0, line = 0;
	bool inside = false;
	int rc = buf ? 0 : grove__fail_nomem(c->d);

	while (!rc && pos < im->tail) {
		size_t off = 0;

		rc = grove__log_read(c->s->log, pos, im->tail, buf, cap, &run, c->d);
		if (rc)
			break;
		if (run.open && run.by_line)
			break;
		if (!run.by_line && !pos && run.len >= 3 && !memcmp(buf, "\xef\xbb\xbf", 3)) {
			off = 3;
			TEXT(c, "a byte-order mark before the header: pi itself refuses the file");
			rc = report(c, "byte-order-mark", 1, 0, NULL);
		}
		/* a piece of a line too long for us: skip to where the next one begins */
		if (run.open || inside) {
			const char *lf = memchr(buf, '\n', run.len);

			inside = !lf;
			pos += lf ? (uint64_t)(lf - buf) + 1 : run.len;
			line += lf ? 1 : 0;
			continue;
		}
		while (off < run.len && !rc) {
			struct grove__json_line l;
			enum grove__json_verdict v =
				grove__json_scan(&im->want, buf + off, run.len - off, true, &l);
			bool whole = off + l.len < run.len;

			line++;
			if (v == JSON_BAD)
				rc = bad_line(c, &l, buf + off, line, run.pos + off, !whole);
			off += (size_t)l.len + 1;
		}
		pos = run.next;
	}
	free(buf);
	return rc;
}

static int check_headers(struct checker *c)
{
	const struct grove__image *im = c->s->image;
	int rc = 0;

	for (size_t i = 1; i < im->nr_headers && !rc; i++) {
		TEXT(c, "a second header: readers use the first one only");
		rc = report(c, "second-header", im->headers[i].line + 1, 0, NULL);
	}
	return rc;
}

static int check_tree(struct checker *c)
{
	const struct grove__spine *s = c->s->image->spine;
	int rc = 0;

	for (uint32_t row = 0; row < s->nr && !rc; row++) {
		unsigned flags = grove__spine_flags(s, row);
		uint64_t line = (uint64_t)grove__spine_line(s, row) + 1;
		uint64_t pos = grove__spine_pos(s, row);
		const char *id = grove__spine_id(s, row);

		if (flags & ROW_ORPHAN) {
			TEXT(c, "its parent is nowhere in the session: shown as a root");
			rc = report(c, "orphan", line, pos, id);
		}
		if (!rc && flags & ROW_CYCLE) {
			TEXT(c, "its parents lead back to itself: shown as a root");
			rc = report(c, "parent-cycle", line, pos, id);
		}
		if (!rc && flags & ROW_SUPERSEDED) {
			TEXT(c, "a later line has the same id and counts instead");
			rc = report(c, "duplicate-id", line, pos, id);
		}
		if (!rc && flags & ROW_NO_ID) {
			TEXT(c, "an entry without an id: nothing can be hung below it");
			rc = report(c, "missing-id", line, pos, NULL);
		}
	}
	return rc;
}

int grove__check(struct grove *g, struct grove__where *at, grove_problem_fn *fn, void *payload,
		 struct grove_check_result *result, struct grove_detail *d)
{
	struct checker c = { .fn = fn, .payload = payload, .result = result, .d = d };
	int rc;

	c.s = grove__session_alloc(g);
	if (!c.s)
		return grove__fail_nomem(d);
	result->files++;
	rc = grove__session_open(g, at, GROVE_READ, c.s, d);
	if (rc == GROVE_EDAMAGED) {
		TEXT(&c, "%.200s", d->message);
		rc = report(&c, "no-header", d->has_place ? d->line : 1, d->has_place ? d->offset : 0,
			    NULL);
	} else if (!rc) {
		result->entries += c.s->image->spine->nr;
		rc = check_lines(&c);
		if (!rc)
			rc = check_headers(&c);
		if (!rc)
			rc = check_tree(&c);
	}
	grove__session_unref(c.s);
	return rc;
}
