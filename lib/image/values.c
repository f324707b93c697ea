/*
 * image/values.c: the values of a log, whether or not they are lines.
 *
 * The lenient reader asks for bytes by position and may go back. If positions are
 * bytes, that is the log itself. If positions count lines, its text is the lines with
 * an LF after each; we learn where they begin in it as we read:
 *
 *	line      pos     pos + 1   pos + 2
 *	starts    0       17        40        where the known lines begin
 */
#include "image/image.h"

#include "base/array.h"
#include "base/crc32c.h"

#include <stdlib.h>

#define SPAN_MAX ((uint64_t)1 << 20)      /* longer members are not examined */
#define PIECE ((size_t)1 << 18)

struct grove__values {
	struct grove__json_lenient *lenient;
	const struct grove__json_want *want;
	struct grove_store_log *log;
	uint64_t pos, until, whole;
	bool by_line;
	uint64_t *starts;                /* of every known line, and of the one after them */
	size_t nr_starts, cap_starts;
	struct grove__runs lines;        /* by line: some that were read … */
	uint64_t lines_pos;              /* … and where they are in the text */
	struct grove_buf value;
	struct grove_detail *d;
};

/* Returns the line (from 0) that contains position `at` of the text. */
static size_t line_of(const struct grove__values *v, uint64_t at)
{
	size_t lo = 0, hi = v->nr_starts;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->starts[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint64_t grove__values_place(const struct grove__values *v, uint64_t pos, uint64_t *off)
{
	size_t line;

	*off = 0;
	if (!v->by_line)
		return pos;
	line = line_of(v, pos);
	*off = pos - v->starts[line];
	return v->pos + line;
}

static int know_start(struct grove__values *v, size_t line, uint64_t at)
{
	if (line < v->nr_starts)
		return 0;
	if (grove__array_room(&v->starts, &v->cap_starts, v->nr_starts, sizeof(*v->starts)))
		return GROVE_ENOMEM;
	v->starts[v->nr_starts++] = at;
	return 0;
}

/* Reads the line that contains position `at` of the text, and some after it. */
static int read_lines(struct grove__values *v, uint64_t at)
{
	struct grove__runs *r = &v->lines;
	size_t line = line_of(v, at);
	int rc;

	v->lines_pos = v->starts[line];
	grove__runs_begin(r, v->log, v->pos + line, v->until, v->d);
	rc = grove__runs_next(r);
	if (rc)
		r->run.len = 0;
	for (size_t i = 0; i < r->run.len && !rc; i++)
		if (r->buf[i] == '\n' && know_start(v, ++line, v->lines_pos + i + 1))
			rc = grove__fail_nomem(v->d);
	return rc < 0 ? rc : 0;
}

/* Gets some bytes of the text: a grove__json_source_fn. */
static int text(void *payload, uint64_t pos, char *buf, size_t cap, size_t *got)
{
	struct grove__values *v = payload;

	*got = 0;
	if (!v->by_line) {
		size_t n = v->until - pos < cap ? (size_t)(v->until - pos) : cap;
		int rc = n ? grove__log_fetch(v->log, pos, 0, buf, n, v->d) : 0;

		*got = rc ? 0 : n;
		return rc;
	}
	if (pos < v->lines_pos || pos >= v->lines_pos + v->lines.run.len) {
		int rc = read_lines(v, pos);

		if (rc)
			return rc;
	}
	if (pos < v->lines_pos + v->lines.run.len) {
		size_t off = (size_t)(pos - v->lines_pos), n = v->lines.run.len - off;

		*got = n < cap ? n : cap;
		memcpy(buf, v->lines.buf + off, *got);
	}
	return 0;
}

/* Appends `len` bytes of the text to `out`. */
static int add_text(struct grove__values *v, uint64_t pos, uint64_t len, struct grove_buf *out)
{
	if (grove__buf_reserve(out, (size_t)len + GROVE__JSON_PAD))
		return grove__fail_nomem(v->d);
	while (len) {
		size_t got;
		int rc = text(v, pos, out->ptr + out->len, (size_t)len, &got);

		if (!rc && !got)
			rc = grove__fail(v->d, GROVE_ESTALE, NULL, "became shorter while it was being read");
		if (rc)
			return rc;
		grove__buf_cut(out, out->len + got);
		pos += got;
		len -= got;
	}
	return 0;
}

/*
 * Finds where the text begins: after a byte order mark, which is part of the first line
 * if positions count lines.
 */
static int begin_value(struct grove__values *v, uint64_t *out)
{
	char mark[3];
	size_t got = 0;
	int rc = 0;

	*out = v->by_line ? 0 : v->pos;
	if (!v->pos)
		rc = text(v, 0, mark, sizeof(mark), &got);
	if (!rc && grove__runs_marked(mark, got))
		*out = 3;
	return rc;
}

int grove__values_new(struct grove__values **out, const struct grove__json_want *want,
		      struct grove_store_log *log, uint64_t pos, uint64_t until, bool by_line,
		      uint64_t whole, struct grove_detail *d)
{
	struct grove__values *v = *out = calloc(1, sizeof(*v));
	uint64_t start = 0;
	int rc;

	if (!v)
		return grove__fail_nomem(d);
	v->want = want;
	v->log = log;
	v->pos = pos;
	v->until = until;
	v->by_line = by_line;
	v->whole = whole;
	v->d = d;
	rc = know_start(v, 0, 0) || (by_line && grove__runs_init(&v->lines, PIECE)) ? grove__fail_nomem(d)
										    : begin_value(v, &start);
	if (!rc) {
		v->lenient = grove__json_lenient_new(want, text, v, start);
		rc = v->lenient ? 0 : grove__fail_nomem(d);
	}
	if (rc) {
		grove__values_free(v);
		*out = NULL;
	}
	return rc;
}

void grove__values_free(struct grove__values *v)
{
	if (!v)
		return;
	grove__json_lenient_free(v->lenient);
	grove__runs_release(&v->lines);
	grove__buf_release(&v->value);
	free(v->starts);
	free(v);
}

void grove__values_tell(struct grove__values *v, grove__json_lost_fn *fn, void *payload)
{
	grove__json_lenient_tell(v->lenient, fn, payload);
}

void grove__values_passed(const struct grove__values *v, struct grove__json_passed *out)
{
	grove__json_lenient_passed(v->lenient, out);
}

/* Returns the position of a value in the text. */
static uint64_t text_pos(const struct grove__values *v, const struct grove__spot *at)
{
	return v->by_line ? v->starts[at->pos - v->pos] + at->off : at->pos;
}

int grove__values_whole(struct grove__values *v, struct grove__value *value)
{
	struct grove__spot *at = &value->at;
	enum grove__json_verdict verdict;
	int rc;

	if (value->whole)
		return 0;
	if (at->len > GROVE__LINE_MAX)
		return grove__fail_at(v->d, GROVE_ETOOBIG, NULL, 0, at->pos,
				      "a value is longer than 1 GiB");
	grove__buf_clear(&v->value);
	rc = add_text(v, text_pos(v, at), at->len, &v->value);
	if (rc)
		return rc;
	at->crc = grove__crc32c(0, v->value.ptr, v->value.len);
	grove__line_join(v->value.ptr, v->value.len);
	verdict = grove__json_scan(v->want, v->value.ptr, v->value.len, true, &value->l);
	if (verdict == JSON_NOMEM)
		return grove__fail_nomem(v->d);
	if (verdict != JSON_VALUE)
		return grove__fail(v->d, GROVE_ESTALE, NULL, "was changed while it was being read");
	value->ptr = v->value.ptr;
	value->whole = true;
	return 0;
}

static int checksum(struct grove__values *v, uint64_t pos, uint64_t len, uint32_t *crc)
{
	*crc = 0;
	while (len) {
		size_t n = len < PIECE ? (size_t)len : PIECE;
		int rc;

		grove__buf_clear(&v->value);
		rc = add_text(v, pos, n, &v->value);
		if (rc)
			return rc;
		*crc = grove__crc32c(*crc, v->value.ptr, n);
		pos += n;
		len -= n;
	}
	return 0;
}

/* A value too long for memory: collects its members, one after the other. */
static int gather(struct grove__values *v, struct grove__value *value)
{
	uint64_t pos = text_pos(v, &value->at);
	struct grove__json_line *l = &value->l;
	int rc = checksum(v, pos, value->at.len, &value->at.crc);

	*l = *grove__json_lenient_line(v->lenient);
	value->whole = false;
	grove__buf_clear(&v->value);
	if (!rc && l->type != JSON_OBJECT) {
		/* all that counts is that it is not empty */
		rc = grove__buf_add_str(&v->value, "1") ? grove__fail_nomem(v->d) : 0;
		l->value = (struct grove__json_span){ 0, 1 };
	}
	for (unsigned i = 0; i < v->want->nr && !rc; i++) {
		struct grove__json_span *s = &l->span[i];
		size_t at = v->value.len;

		if (!grove__json_has(l, i))
			continue;
		if (s->len > SPAN_MAX) {
			l->seen &= ~(1u << i);
			continue;
		}
		rc = add_text(v, pos + s->off, s->len, &v->value);
		s->off = at;
	}
	if (!rc && grove__buf_reserve(&v->value, GROVE__JSON_PAD))
		rc = grove__fail_nomem(v->d);
	if (rc)
		return rc;
	grove__line_join(v->value.ptr, v->value.len);
	value->ptr = v->value.ptr;
	return 0;
}

int grove__values_next(struct grove__values *v, struct grove__value *out)
{
	struct grove__json_found f;
	int rc = grove__json_lenient_next(v->lenient, &f);

	if (rc)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(v->d) : rc;
	out->at = (struct grove__spot){ .len = f.len, .line = f.line };
	out->at.pos = grove__values_place(v, f.pos, &out->at.off);
	if (v->by_line) {
		size_t line = (size_t)(out->at.pos - v->pos);

		out->at.lines = line + 1 < v->nr_starts && f.pos + f.len > v->starts[line + 1];
	}
	out->whole = false;
	return f.len <= v->whole ? grove__values_whole(v, out) : gather(v, out);
}
