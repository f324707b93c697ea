/*
 * session/image.h: what was read of a log.
 *
 * An image is the spine of a log and what else was learned on the way: the
 * header, counts, where to read on. It grows when the log grows.
 */
#ifndef GROVE_SESSION_IMAGE_H
#define GROVE_SESSION_IMAGE_H

#include "dialect/dialect.h"
#include "store/store.h"
#include "tree/tree.h"

/* A line longer than this is never held in memory as a whole. */
#define GROVE__LINE_MAX ((uint64_t)1 << 30)

/* A header line: its number among the values and among the lines, and where it is. */
struct grove__header_at {
	uint64_t value, line, pos;
};

struct grove__image {
	unsigned refs;                     /* atomic; views hold one each */
	const struct grove__dialect *dialect;
	struct grove__json_want want;
	struct grove__spine *spine;
	struct grove__arena keep;          /* the header's texts */

	uint64_t next;                     /* position to read on from */
	uint64_t tail;                     /* the log's end when we looked */
	uint64_t generation;
	int64_t ctime_ns;                  /* of the log when we looked; 0: look closer */
	bool spoilt;                       /* atomic: not what is in the log; a refresh reads it anew */
	uint64_t lines, bytes, malformed, blank;
	uint64_t bad_line, bad_pos;        /* the first malformed one */
	bool by_line;                      /* positions count lines, not bytes */
	bool torn;                         /* an unfinished last line, not counted in `lines` */
	bool open_tail;                    /* the last line is whole but has no LF yet */

	bool has_header;
	struct grove__header header;
	uint64_t header_pos, header_len, header_line;
	uint32_t header_crc;
	uint64_t values;                   /* JSON values so far, headers included */
	struct grove__header_at *headers;
	size_t nr_headers, cap_headers;
	unsigned from;                     /* the version of the log; below the dialect's: migrate */
};

/* NULL when out of memory. */
struct grove__image *grove__image_new(const struct grove__dialect *dialect);
struct grove__image *grove__image_ref(struct grove__image *im);
void grove__image_unref(struct grove__image *im);

/*
 * Read from im->next to the end of the log and link what is new. `progress`
 * may have a NULL fn. GROVE_EDAMAGED if the first value is not a usable header;
 * GROVE_ESTALE if the log changed in a way that wants a new image. After any
 * failure that came while lines were read the image is spoilt: what it has is
 * good for old views, but nothing may be added.
 */
int grove__image_load(struct grove__image *im, struct grove_log *log, const char *path,
		      const struct grove_progress *progress, struct grove_detail *d);

/* What was read is not what is there any more. */
static inline void grove__image_spoil(const struct grove__image *im)
{
	__atomic_store_n((bool *)(uintptr_t)&im->spoilt, true, __ATOMIC_RELAXED);
}

static inline bool grove__image_spoilt(const struct grove__image *im)
{
	return __atomic_load_n(&im->spoilt, __ATOMIC_RELAXED);
}

/* Does the log hold an older version, shown as if it were migrated? */
static inline bool grove__image_old(const struct grove__image *im)
{
	return im->from < im->dialect->version;
}

/*
 * The line of a row, without line end, as today's version: `out` is replaced.
 * GROVE_ESTALE if the bytes are not those that were indexed, GROVE_ETOOBIG
 * beyond GROVE__LINE_MAX. The trimmed JSON value in *value, if not NULL. There
 * are GROVE__JSON_PAD readable bytes behind it.
 */
int grove__image_line(const struct grove__image *im, struct grove_log *log, uint32_t row,
		      struct grove_buf *out, struct grove_slice *value, struct grove_detail *d);
/* Are the header and the last of `nr` rows still what was indexed? GROVE_ESTALE if not. */
int grove__image_verify(const struct grove__image *im, uint32_t nr, struct grove_log *log,
			struct grove_detail *d);
int grove__image_header_line(const struct grove__image *im, struct grove_log *log,
			     struct grove_buf *out, struct grove_slice *value,
			     struct grove_detail *d);
/* `line` (trimmed, of row `row`; GROVE_NONE: a header) in today's version. 1: as it is. */
int grove__image_migrate(const struct grove__image *im, struct grove_log *log, uint32_t row,
			 struct grove_slice line, struct grove_buf *out);

/*
 * Take in a line that was just appended at `pos`, as loading it would, and link
 * it. `e` is what it is; NULL: look.
 */
int grove__image_add(struct grove__image *im, struct grove_slice line, uint64_t pos,
		     const struct grove__entry *e);

/*
 * The parts of an entry as a caller gave it; they point into `json`, which is
 * made larger for the scanner. GROVE_EJSON, with the offset, if it is not JSON.
 */
int grove__image_input(const struct grove__image *im, struct grove_buf *json,
		       struct grove__input *out, struct grove_detail *d);

/*
 * Walk over rows in the order given, reading neighbours at one go:
 *
 *	struct grove__rows r;
 *	grove__rows_init(&r, im, log, list, nr);
 *	while (!(rc = grove__rows_next(&r, &row, &value, d)))
 *		…
 *	grove__rows_release(&r);
 *
 * `list` NULL: the first `nr` rows of all. `value` is the trimmed line in
 * today's version, good until the next call.
 */
struct grove__rows {
	const struct grove__image *im;
	struct grove_log *log;
	const uint32_t *list;
	size_t nr, i;
	struct grove_buf window, changed;
	uint64_t window_pos;
};
void grove__rows_init(struct grove__rows *r, const struct grove__image *im, struct grove_log *log,
		      const uint32_t *list, size_t nr);
void grove__rows_release(struct grove__rows *r);
int grove__rows_next(struct grove__rows *r, uint32_t *row, struct grove_slice *value,
		     struct grove_detail *d);

/* White space of JSON, and a byte-order mark, off both ends. */
struct grove_slice grove__trim_value(struct grove_slice s);

#endif
