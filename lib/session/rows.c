/*
 * session/rows.c: walk over many lines, reading neighbours at one go.
 */
#include "session/image.h"

#include "base/crc32c.h"

#define WINDOW ((uint64_t)1 << 20)
#define GAP ((uint64_t)4096)        /* reading over a gap is cheaper than asking twice */

void grove__rows_init(struct grove__rows *r, const struct grove__image *im, struct grove_log *log,
		      const uint32_t *list, size_t nr)
{
	memset(r, 0, sizeof(*r));
	r->im = im;
	r->log = log;
	r->list = list;
	r->nr = nr;
}

void grove__rows_release(struct grove__rows *r)
{
	grove__buf_release(&r->window);
	grove__buf_release(&r->joined);
	grove__buf_release(&r->changed);
}

static uint32_t row_at(const struct grove__rows *r, size_t i)
{
	return r->list ? r->list[i] : (uint32_t)i;
}

/* Read the line at hand, and with it the lines that lie right behind it. */
static int open_window(struct grove__rows *r, uint64_t pos, uint64_t len, struct grove_detail *d)
{
	const struct grove__spine *s = r->im->spine;
	uint64_t end = pos + len;
	int rc;

	for (size_t i = r->i + 1; i < r->nr; i++) {
		uint64_t p = grove__spine_pos(s, row_at(r, i)), n = grove__spine_len(s, row_at(r, i));

		if (p < end || p - end > GAP || p + n - pos > WINDOW)
			break;
		end = p + n;
	}
	if (end - pos > GROVE__LINE_MAX)
		return grove__fail_at(d, GROVE_ETOOBIG, NULL,
				      (uint64_t)grove__spine_line(s, row_at(r, r->i)) + 1, pos,
				      "a line of %llu bytes: too long to be held in memory",
				      (unsigned long long)len);
	grove__buf_clear(&r->window);
	if (grove__buf_reserve(&r->window, (size_t)(end - pos) + GROVE__JSON_PAD))
		return grove__fail_nomem(d);
	rc = grove__log_fetch(r->log, pos, 0, r->window.ptr, (size_t)(end - pos), d);
	if (rc)
		return rc;
	grove__buf_cut(&r->window, (size_t)(end - pos));
	r->window_pos = pos;
	return 0;
}

/* Where positions count lines, each row is a fetch of its own. */
static int fetch_row(struct grove__rows *r, uint32_t row, struct grove_slice *line,
		     struct grove_detail *d)
{
	struct grove__spot at = grove__image_spot(r->im, row);
	int rc = grove__spot_fetch(r->log, &at, &r->window, d);

	*line = grove__buf_slice(&r->window);
	return rc;
}

/* The row's bytes as they are stored; its neighbours' are read with them. */
static int look_row(struct grove__rows *r, uint32_t row, struct grove_slice *line,
		    struct grove_detail *d)
{
	const struct grove__spine *s = r->im->spine;
	uint64_t pos = grove__spine_pos(s, row), len = grove__spine_len(s, row);

	if (!r->window.ptr || pos < r->window_pos || pos + len > r->window_pos + r->window.len) {
		int rc = open_window(r, pos, len, d);

		if (rc)
			return rc;
	}
	*line = grove__slice(r->window.ptr + (pos - r->window_pos), (size_t)len);
	if (grove__crc32c(0, line->ptr, line->len) == grove__spine_crc(s, row))
		return 0;
	return grove__fail_at(d, GROVE_ESTALE, NULL, (uint64_t)grove__spine_line(s, row) + 1, pos,
			      "the line is not what it was: the session was changed");
}

int grove__rows_next(struct grove__rows *r, uint32_t *row, struct grove_slice *value,
		     struct grove_detail *d)
{
	struct grove_slice line;
	int rc;

	if (r->i >= r->nr)
		return 1;
	*row = row_at(r, r->i);
	rc = r->im->by_line ? fetch_row(r, *row, &line, d) : look_row(r, *row, &line, d);
	if (rc == GROVE_ESTALE)
		grove__image_spoil(r->im);
	if (rc)
		return rc;
	r->i++;
	/* the window keeps what is stored: a row may be asked for twice */
	if (r->im->dialect->lenient && memchr(line.ptr, '\n', line.len)) {
		grove__buf_clear(&r->joined);
		if (grove__buf_add_slice(&r->joined, line) ||
		    grove__buf_reserve(&r->joined, GROVE__JSON_PAD))
			return grove__fail_nomem(d);
		grove__join_lines(r->joined.ptr, r->joined.len);
		line = grove__buf_slice(&r->joined);
	}
	*value = grove__trim_value(line);
	if (!grove__image_old(r->im))
		return 0;
	grove__buf_clear(&r->changed);
	rc = grove__image_migrate(r->im, r->log, *row, *value, &r->changed);
	if (rc < 0)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
	if (!rc)
		*value = grove__buf_slice(&r->changed);
	return 0;
}
