/*
 * session/line.c: the bytes of a line, checked against what was indexed.
 *
 * The spine keeps a checksum of every line. What a fetch brings is compared
 * with it: a log that was changed under us gives GROVE_ESTALE, never the wrong
 * bytes. Lines of an old version are handed out as the migration would leave
 * them, so that reading and migrating show the same session.
 */
#include "session/image.h"

#include "base/crc32c.h"

struct grove_slice grove__trim_value(struct grove_slice s)
{
	if (s.len >= 3 && !memcmp(s.ptr, "\xef\xbb\xbf", 3)) {
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

static int fetch(struct grove_log *log, uint64_t pos, uint64_t len, uint32_t crc, uint64_t line,
		 struct grove_buf *out, struct grove_detail *d)
{
	int rc;

	grove__buf_clear(out);
	if (len > GROVE__LINE_MAX)
		return grove__fail_at(d, GROVE_ETOOBIG, NULL, line + 1, pos,
				      "a line of %llu bytes: too long to be held in memory",
				      (unsigned long long)len);
	if (grove__buf_reserve(out, (size_t)len + GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	rc = grove__log_fetch(log, pos, 0, out->ptr, (size_t)len, d);
	if (rc)
		return rc;
	grove__buf_cut(out, (size_t)len);
	if (grove__crc32c(0, out->ptr, out->len) != crc)
		return grove__fail_at(d, GROVE_ESTALE, NULL, line + 1, pos,
				      "the line is not what it was: the session was changed");
	while (out->len && out->ptr[out->len - 1] == '\r')
		grove__buf_cut(out, out->len - 1);
	return 0;
}

/* The line at `pos` again, piece by piece: has it changed? */
static int verify(struct grove_log *log, uint64_t pos, uint64_t len, uint32_t want,
		  struct grove_detail *d)
{
	char buf[16384];
	uint32_t crc = 0;

	for (uint64_t off = 0; off < len;) {
		size_t n = len - off < sizeof(buf) ? (size_t)(len - off) : sizeof(buf);
		int rc = grove__log_fetch(log, pos, off, buf, n, d);

		if (rc)
			return rc;
		crc = grove__crc32c(crc, buf, n);
		off += n;
	}
	return crc == want ? 0 : grove__fail_at(d, GROVE_ESTALE, NULL, 0, pos,
						"a line is not what it was: the session was changed");
}

int grove__image_verify(const struct grove__image *im, uint32_t nr, struct grove_log *log,
			struct grove_detail *d)
{
	const struct grove__spine *s = im->spine;
	int rc = verify(log, im->header_pos, im->header_len, im->header_crc, d);

	if (!rc && nr)
		rc = verify(log, grove__spine_pos(s, nr - 1), grove__spine_len(s, nr - 1),
			    grove__spine_crc(s, nr - 1), d);
	return rc;
}

struct id_at {
	const struct grove__image *im;
	struct grove_log *log;
	uint32_t row;
};

/* The id that value number `index` has when the migration has come to our row. */
static int id_at(void *payload, double index, struct grove_buf *out)
{
	const struct id_at *a = payload;
	const struct grove__image *im = a->im;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__arena tmp;
	struct grove__json_line l;
	struct grove__entry e;
	uint64_t value, row;
	int rc;

	if (!(index >= 0) || index >= (double)im->values)
		return 0;
	value = row = (uint64_t)index;
	if ((double)value != index)
		return 0;
	for (size_t i = 0; i < im->nr_headers; i++) {
		if (im->headers[i].value == value)
			return 0;
		row -= im->headers[i].value < value;
	}
	if (row <= a->row)
		return grove__buf_add_slice(out, grove__spine_name(grove__spine_id(im->spine,
										   (uint32_t)row)));
	/* a later entry still has whatever id it came with */
	grove__arena_init(&tmp);
	rc = fetch(a->log, grove__spine_pos(im->spine, (uint32_t)row),
		   grove__spine_len(im->spine, (uint32_t)row),
		   grove__spine_crc(im->spine, (uint32_t)row), 0, &line, NULL);
	if (!rc && grove__json_scan(&im->want, line.ptr, line.len, true, &l) == JSON_VALUE &&
	    im->dialect->index(&l, line.ptr, &tmp, &e) == LINE_ENTRY && e.has_id)
		rc = grove__buf_add_slice(out, e.id);
	grove__buf_release(&line);
	grove__arena_release(&tmp);
	return rc;
}

int grove__image_migrate(const struct grove__image *im, struct grove_log *log, uint32_t row,
			 struct grove_slice line, struct grove_buf *out)
{
	struct id_at at = { im, log, row };
	struct grove__migrate m = { .from = im->from, .id_at = id_at, .payload = &at };

	if (!grove__image_old(im))
		return 1;
	if (row != GROVE_NONE) {
		m.id = grove__spine_name(grove__spine_id(im->spine, row));
		if (row)
			m.parent = grove__spine_name(grove__spine_id(im->spine, row - 1));
	}
	return im->dialect->migrate(line, &m, out);
}

/* Bring `out` up to date and say where the value is in it. */
static int present(const struct grove__image *im, struct grove_log *log, uint32_t row,
		   struct grove_buf *out, struct grove_slice *value, struct grove_detail *d)
{
	struct grove_slice v = grove__trim_value(grove__buf_slice(out));
	struct grove_buf now = GROVE_BUF_INIT;
	int rc = grove__image_migrate(im, log, row, v, &now);

	if (!rc && grove__buf_reserve(&now, GROVE__JSON_PAD))
		rc = GROVE_ENOMEM;
	if (!rc) {
		grove__buf_release(out);
		*out = now;
		now = (struct grove_buf)GROVE_BUF_INIT;
		v = grove__buf_slice(out);
	}
	grove__buf_release(&now);
	if (value)
		*value = v;
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc < 0 ? rc : 0;
}

int grove__image_line(const struct grove__image *im, struct grove_log *log, uint32_t row,
		      struct grove_buf *out, struct grove_slice *value, struct grove_detail *d)
{
	int rc = fetch(log, grove__spine_pos(im->spine, row), grove__spine_len(im->spine, row),
		       grove__spine_crc(im->spine, row), grove__spine_line(im->spine, row), out, d);

	if (rc == GROVE_ESTALE)
		grove__image_spoil(im);
	return rc ? rc : present(im, log, row, out, value, d);
}

int grove__image_header_line(const struct grove__image *im, struct grove_log *log,
			     struct grove_buf *out, struct grove_slice *value,
			     struct grove_detail *d)
{
	int rc = fetch(log, im->header_pos, im->header_len, im->header_crc, im->header_line, out, d);

	if (rc == GROVE_ESTALE)
		grove__image_spoil(im);
	return rc ? rc : present(im, log, GROVE_NONE, out, value, d);
}

/* To JSON a line end between tokens is white space; to us it would end the entry. */
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
		im->dialect->input(&l, json->ptr, out);
		return 0;
	}
	if (v == JSON_BLANK && l.len == json->len)
		return grove__fail_at(d, GROVE_EJSON, NULL, 0, 0, "nothing where an entry should be");
	/* a scan that ended early met a line end within a string */
	return grove__fail_at(d, GROVE_EJSON, NULL, 0, v == JSON_BAD ? l.error_off : l.len,
			      "not valid JSON at byte %llu",
			      (unsigned long long)(v == JSON_BAD ? l.error_off : l.len));
}
