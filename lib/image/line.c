/*
 * image/line.c: the bytes of a line, compared with what was indexed.
 *
 * The spine has a checksum of every line, which is compared with the bytes that were
 * fetched: if the log was changed meanwhile, the result is GROVE_ESTALE, never wrong
 * bytes. Lines of an old version are returned as the migration would leave them, so
 * that reading and migrating show the same session. A value that spans lines is
 * returned as one line, because everybody else assumes that an entry is a line.
 */
#include "image/image.h"

#include "base/crc32c.h"

#include <stdlib.h>

struct grove_slice grove__line_trim(struct grove_slice s)
{
	if (grove__runs_marked(s.ptr, s.len)) {
		s.ptr += 3;
		s.len -= 3;
	}
	while (s.len && (*s.ptr == ' ' || *s.ptr == '\t' || *s.ptr == '\r')) {
		s.ptr++;
		s.len--;
	}
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' ||
			 s.ptr[s.len - 1] == '\r'))
		s.len--;
	return s;
}

void grove__line_join(char *ptr, size_t len)
{
	/* a newline inside a string would not be JSON */
	if (memchr(ptr, '\n', len))
		for (size_t i = 0; i < len; i++)
			if (ptr[i] == '\n' || ptr[i] == '\r')
				ptr[i] = ' ';
}

static int span_row(const void *key, const void *span)
{
	uint32_t row = *(const uint32_t *)key, at = ((const struct grove__span_at *)span)->row;

	return row < at ? -1 : row > at;
}

struct grove__spot grove__image_spot(const struct grove__image *im, uint32_t row)
{
	const struct grove__spine *s = im->spine;
	const struct grove__span_at *span;
	struct grove__spot at;

	if (row == GROVE_NO_ENTRY)
		return im->header_at;
	at = (struct grove__spot){
		.pos = grove__spine_pos(s, row),
		.len = grove__spine_len(s, row),
		.line = grove__spine_line(s, row),
		.crc = grove__spine_crc(s, row),
	};
	if (!im->nr_spans)
		return at;
	span = bsearch(&row, im->spans, im->nr_spans, sizeof(*im->spans), span_row);
	if (span) {
		at.off = span->off;
		at.lines = span->lines;
	}
	return at;
}

/* Fetches a value that spans lines, in a store that returns them one by one. */
static int fetch_lines(struct grove_store_log *log, const struct grove__spot *at,
		       struct grove_buf *out, struct grove_detail *d)
{
	size_t skip = (size_t)at->off;
	struct grove__runs r;
	int rc = grove__runs_init(&r, 4096) ? grove__fail_nomem(d) : 0;

	for (uint64_t pos = at->pos; out->len < at->len && !rc; pos++) {
		size_t left = (size_t)at->len - out->len, n;

		grove__runs_begin(&r, log, pos, pos + 1, d);
		rc = grove__runs_next(&r);
		if (rc == 1 || (!rc && r.run.len < skip))
			rc = grove__fail(d, GROVE_ESTALE, NULL, "the line no longer exists");
		if (rc)
			break;
		n = r.run.len - skip;
		if (grove__buf_add(out, r.buf + skip, n < left ? n : left))
			rc = grove__fail_nomem(d);
		skip = 0;
	}
	grove__runs_release(&r);
	return rc;
}

int grove__line_fetch(struct grove_store_log *log, const struct grove__spot *at,
		      struct grove_buf *out, struct grove_detail *d)
{
	int rc;

	grove__buf_clear(out);
	if (at->len > GROVE__LINE_MAX)
		return grove__fail_at(d, GROVE_ETOOBIG, NULL, at->line + 1, at->pos,
				      "a line of %llu bytes is too long to be held in memory",
				      (unsigned long long)at->len);
	if (grove__buf_reserve(out, (size_t)at->len + GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	if (at->lines)
		rc = fetch_lines(log, at, out, d);
	else
		rc = grove__log_fetch(log, at->pos, at->off, out->ptr, (size_t)at->len, d);
	if (rc)
		return rc;
	grove__buf_cut(out, (size_t)at->len);
	if (grove__crc32c(0, out->ptr, out->len) != at->crc)
		return grove__fail_at(d, GROVE_ESTALE, NULL, at->line + 1, at->pos,
				      "the line has changed: another program changed the session");
	return 0;
}

static void as_one_line(struct grove_buf *out)
{
	grove__line_join(out->ptr, out->len);
	while (out->len && out->ptr[out->len - 1] == '\r')
		grove__buf_cut(out, out->len - 1);
}

/* The same as one line. */
static int fetch(struct grove_store_log *log, const struct grove__spot *at, struct grove_buf *out,
		 struct grove_detail *d)
{
	int rc = grove__line_fetch(log, at, out, d);

	if (!rc)
		as_one_line(out);
	return rc;
}

/* Reads the same bytes again, in pieces, to find out whether they have changed. */
static int verify(struct grove_store_log *log, const struct grove__spot *at, struct grove_detail *d)
{
	char buf[16384];
	uint32_t crc = 0;

	if (at->lines) {
		struct grove_buf whole = GROVE_BUF_INIT;
		int rc = grove__line_fetch(log, at, &whole, d);

		grove__buf_release(&whole);
		return rc;
	}
	for (uint64_t off = 0; off < at->len;) {
		size_t n = at->len - off < sizeof(buf) ? (size_t)(at->len - off) : sizeof(buf);
		int rc = grove__log_fetch(log, at->pos, at->off + off, buf, n, d);

		if (rc)
			return rc;
		crc = grove__crc32c(crc, buf, n);
		off += n;
	}
	return crc == at->crc ? 0 : grove__fail_at(d, GROVE_ESTALE, NULL, 0, at->pos,
						   "a line has changed: another program changed the session");
}

int grove__image_verify(const struct grove__image *im, uint32_t nr, struct grove_store_log *log,
			struct grove_detail *d)
{
	struct grove__spot last;
	int rc = verify(log, &im->header_at, d);

	if (rc || !nr)
		return rc;
	last = grove__image_spot(im, nr - 1);
	log = grove__base_log(im, log, &last.pos);
	return verify(log, &last, d);
}

struct id_at {
	const struct grove__image *im;
	struct grove_store_log *log;
	uint32_t row;
};

/* Gets the id that value number `index` has when the migration reaches our row. */
static int id_at(void *payload, double index, struct grove_buf *out)
{
	const struct id_at *a = payload;
	const struct grove__image *im = a->im;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__arena tmp;
	struct grove__json_line l;
	struct grove__entry e;
	struct grove__spot at;
	uint64_t value, row;
	int rc;

	if (!(index >= 0) || index >= (double)im->values)
		return 0;
	value = row = (uint64_t)index;
	if ((double)value != index)
		return 0;
	if (im->has_slot) {
		if (!value)
			return 0;
		row--;
	}
	for (size_t i = 0; i < im->nr_headers; i++) {
		if (im->headers[i].value == value)
			return 0;
		row -= im->headers[i].value < value;
	}
	if (row <= a->row)
		return grove__buf_add_slice(out, grove__spine_name(grove__spine_id(im->spine,
										   (uint32_t)row)));
	/* a later entry still has its original id */
	grove__arena_init(&tmp);
	at = grove__image_spot(im, (uint32_t)row);
	rc = fetch(a->log, &at, &line, NULL);
	if (!rc && grove__json_scan(&im->want, line.ptr, line.len, true, &l) == JSON_VALUE &&
	    im->dialect->read.index(&l, line.ptr, &tmp, &e) != LINE_SKIP && e.has_id)
		rc = grove__buf_add_slice(out, e.id);
	grove__buf_release(&line);
	grove__arena_release(&tmp);
	return rc;
}

int grove__image_migrate(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
			 struct grove_slice line, struct grove_buf *out)
{
	struct id_at at = { im, log, row };
	struct grove__migrate m = { .from = im->from, .id_at = id_at, .payload = &at };

	if (!grove__image_old(im))
		return 1;
	if (row != GROVE_NO_ENTRY) {
		uint32_t before = grove__tree_before(im->spine, row);

		m.id = grove__spine_name(grove__spine_id(im->spine, row));
		if (before != GROVE_NO_ENTRY)
			m.parent = grove__spine_name(grove__spine_id(im->spine, before));
	}
	return im->dialect->header->migrate(line, &m, out);
}

/* Replaces `*v`, which is in `line`; white space around it stays, as it does in the log. */
static int replace(struct grove_buf *line, struct grove_slice *v, struct grove_slice by)
{
	struct grove_slice old = grove__buf_slice(line);
	size_t before = (size_t)(v->ptr - old.ptr);
	struct grove_buf out = GROVE_BUF_INIT;

	if (grove__buf_reserve(&out, old.len - v->len + by.len + GROVE__JSON_PAD) ||
	    grove__buf_add(&out, old.ptr, before) || grove__buf_add_slice(&out, by) ||
	    grove__buf_add(&out, v->ptr + v->len, old.len - before - v->len)) {
		grove__buf_release(&out);
		return GROVE_ENOMEM;
	}
	grove__buf_release(line);
	*line = out;
	*v = grove__slice(out.ptr + before, by.len);
	return 0;
}

/* Migrates `out`, and finds the value in it. */
static int present(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
		   struct grove_buf *out, struct grove_slice *value, struct grove_detail *d)
{
	struct grove_slice v = grove__line_trim(grove__buf_slice(out));
	struct grove_buf now = GROVE_BUF_INIT;
	int rc = grove__image_migrate(im, log, row, v, &now);

	if (!rc)
		rc = replace(out, &v, grove__buf_slice(&now));
	grove__buf_release(&now);
	if (value)
		*value = v;
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc < 0 ? rc : 0;
}

int grove__image_line(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
		      struct grove_buf *out, struct grove_slice *value, struct grove_detail *d)
{
	struct grove__spot at = grove__image_spot(im, row);
	int rc;

	log = grove__base_log(im, log, &at.pos);
	rc = fetch(log, &at, out, d);
	if (rc == GROVE_ESTALE)
		grove__image_spoil(im);
	return rc ? rc : present(im, log, row, out, value, d);
}

int grove__image_pieces(const struct grove__image *im, uint32_t row, struct grove_slice value, grove_piece_fn *fn,
			void *payload)
{
	const struct grove__spine *s = im->spine;

	return im->dialect->text.pieces(value, grove__spine_kind(s, row), grove__spine_role(s, row), fn, payload);
}

/* This much is read at once, and a line must be much shorter for that to pay. */
#define NEAR ((size_t)256 << 10)
#define NEAR_LINE (NEAR / 8)
/* If positions count lines, this many may be skipped. */
#define NEAR_LINES 8

/* Goes to a line among those that were read, where positions count lines. NULL if it is not there. */
static const char *line_in(struct grove__near *n, const struct grove__spot *at)
{
	const char *end = n->runs.buf + n->runs.run.len, *p, *lf;

	if (n->line > at->pos || n->line < n->runs.run.pos) {
		n->line = n->runs.run.pos;
		n->off = 0;
	}
	for (p = n->runs.buf + n->off; n->line < at->pos; n->line++, p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (!lf)
			return NULL;
		n->off = (size_t)(lf + 1 - n->runs.buf);
	}
	return (size_t)(end - p) >= at->len ? p : NULL;
}

/* The bytes, if `n` has them; else NULL. */
static const char *bytes_in(struct grove__near *n, bool by_line, const struct grove__spot *at)
{
	const struct grove_store_run *run = &n->runs.run;

	if (!run->len || at->pos < run->pos || at->pos >= run->next)
		return NULL;
	if (by_line)
		return line_in(n, at);
	return at->pos + at->len <= run->pos + run->len ? n->runs.buf + (at->pos - run->pos) : NULL;
}

/* The same, perhaps after reading them. */
static const char *bring_near(struct grove_store_log *log, struct grove__near *n, bool by_line,
			      const struct grove__spot *at)
{
	struct grove__runs *r = &n->runs;
	uint64_t next = n->next;
	const char *bytes = bytes_in(n, by_line, at);

	n->next = at->pos + (by_line ? 1 : at->len);
	/* for random access, reading one by one is better */
	if (bytes || at->len > NEAR_LINE || at->pos < next || at->pos - next > (by_line ? NEAR_LINES : NEAR_LINE))
		return bytes;
	if (!r->buf && grove__runs_init(r, NEAR))
		return NULL;
	r->pieces = true;
	grove__runs_begin(r, log, at->pos, n->until, NULL);
	n->line = n->off = 0;
	if (grove__runs_next(r)) {
		r->run.len = 0;
		return NULL;
	}
	return bytes_in(n, by_line, at);
}

int grove__image_line_near(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
			   struct grove__near *near, struct grove_buf *out,
			   struct grove_slice *value, struct grove_detail *d)
{
	struct grove__spot at = grove__image_spot(im, row);
	bool apart = at.off || at.lines || row < im->bases.rows;
	const char *bytes = apart ? NULL : bring_near(log, near, im->by_line, &at);

	if (!bytes)
		return grove__image_line(im, log, row, out, value, d);
	/* what was read ahead may be older than a change in place: read the log */
	if (grove__crc32c(0, bytes, (size_t)at.len) != at.crc)
		return grove__image_line(im, log, row, out, value, d);
	if (!grove__image_old(im) && !memchr(bytes, '\n', (size_t)at.len)) {
		*value = grove__line_trim(grove__slice(bytes, (size_t)at.len));
		return 0;
	}
	grove__buf_clear(out);
	if (grove__buf_reserve(out, (size_t)at.len + GROVE__JSON_PAD) ||
	    grove__buf_add(out, bytes, (size_t)at.len))
		return grove__fail_nomem(d);
	as_one_line(out);
	return present(im, log, row, out, value, d);
}

int grove__image_header_line(const struct grove__image *im, struct grove_store_log *log,
			     struct grove_buf *out, struct grove_slice *value,
			     struct grove_detail *d)
{
	int rc = fetch(log, &im->header_at, out, d);

	if (rc == GROVE_ESTALE)
		grove__image_spoil(im);
	rc = rc ? rc : present(im, log, GROVE_NO_ENTRY, out, value, d);
	/* a byte order mark is not part of the header, even if it is in the line */
	if (!rc && !value && grove__runs_marked(out->ptr, out->len)) {
		memmove(out->ptr, out->ptr + 3, out->len - 3);
		grove__buf_cut(out, out->len - 3);
	}
	return rc;
}

/* In JSON a newline between tokens is white space, but here it would end the entry. */
static void join_lines(char *p, size_t len)
{
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\\' && string)
			i++;
		else if (p[i] == '"')
			string = !string;
		else if (p[i] == '\n' && !string)
			p[i] = ' ';
	}
}

int grove__image_input(const struct grove__image *im, struct grove_buf *json,
		       struct grove__input *out, struct grove_detail *d)
{
	enum grove__json_verdict v;
	struct grove__json_line l;

	if (grove__buf_reserve(json, GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	if (memchr(json->ptr, '\n', json->len))
		join_lines(json->ptr, json->len);
	v = grove__json_scan(&im->want, json->ptr, json->len, true, &l);
	if (v == JSON_NOMEM)
		return grove__fail_nomem(d);
	if (v == JSON_VALUE && l.len == json->len) {
		im->dialect->write.input(&l, json->ptr, out);
		return 0;
	}
	if (v == JSON_BLANK && l.len == json->len)
		return grove__fail_at(d, GROVE_EJSON, NULL, 0, 0, "an empty line where an entry was expected");
	/* a scan that ended early found a newline within a string */
	return grove__fail_at(d, GROVE_EJSON, NULL, 0, v == JSON_BAD ? l.error_off : l.len,
			      "not valid JSON at byte %llu",
			      (unsigned long long)(v == JSON_BAD ? l.error_off : l.len));
}

int grove__image_label(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
		       struct grove_buf *target, struct grove_buf *text, struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__json_line l;
	struct grove__arena tmp;
	struct grove__entry e;
	struct grove_slice value;
	int rc = grove__image_line(im, log, row, &line, &value, d);

	grove__arena_init(&tmp);
	if (rc)
		goto out;
	if (grove__json_scan(&im->want, value.ptr, value.len, true, &l) != JSON_VALUE ||
	    im->dialect->read.index(&l, value.ptr, &tmp, &e) == LINE_SKIP || !e.target.ptr)
		rc = 1;
	else if (grove__buf_add_slice(target, e.target) || grove__buf_add_slice(text, e.text))
		rc = grove__fail_nomem(d);
out:
	grove__arena_release(&tmp);
	grove__buf_release(&line);
	return rc;
}
