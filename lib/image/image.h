/*
 * image/image.h: a log as it was read.
 *
 * An image is the spine of a log plus what else was learned while reading: the
 * header, counts, where to continue. It grows with the log.
 */
#ifndef GROVE_IMAGE_IMAGE_H
#define GROVE_IMAGE_IMAGE_H

#include "image/base.h"
#include "image/model.h"
#include "image/runs.h"
#include "json/lenient.h"
#include "json/out.h"
#include "store/store.h"
#include "tree/tree.h"

/*
 * Where a value is. Usually it is a line; in a lenient dialect it may begin after
 * something else on its line, and end on a later line.
 */
struct grove__spot {
	uint64_t pos, off;                 /* of the line; if positions are bytes, of the value itself, and off is 0 */
	uint64_t len;                      /* including line ends inside it */
	uint64_t line;                     /* the number of the line it begins on, from 0 */
	uint32_t crc;                      /* of the stored bytes */
	bool lines;                        /* positions count lines, and it continues on the next one */
};

/* A header: its number among the values, and where it is. */
struct grove__header_at {
	uint64_t value;
	struct grove__spot at;
};

/* If positions count lines: a row that does not start at the first byte of a line, or spans lines. */
struct grove__span_at {
	uint32_t row;
	bool lines;
	uint64_t off;
};

struct grove__image {
	unsigned refs;                     /* atomic; each view holds one */
	const struct grove__dialect *dialect;
	struct grove__json_want want;
	struct grove__spine *spine;
	struct grove__arena keep;          /* the header's texts */

	uint64_t next;                     /* position to continue reading from */
	uint64_t tail;                     /* the end of the log when we looked */
	uint64_t generation;
	uint64_t base;                     /* base + lines is the log's rev */
	uint64_t kept_until;               /* how much of it is in the cache (cache.c) */
	int64_t ctime_ns;                  /* of the log when we looked; 0: compare contents instead */
	int64_t mtime_ns;
	bool settled;                      /* that time was old enough that a later change has a different one */
	char *kept_path;                   /* the cache file it was thawed from, or NULL */
	char *ice;                         /* that file, mapped, or NULL */
	size_t ice_len;
	bool spoilt;                       /* atomic: differs from the log; a refresh builds a new image */
	uint64_t lines, bytes, malformed, blank;
	uint64_t bad_line, bad_pos;        /* of the first malformed line */
	/* Files: the sum of grove__proof_odd_line() of all lines that are neither rows nor headers … */
	uint64_t odd;
	bool unknown;                      /* … unless one of them was never read as a whole */
	bool by_line;                      /* positions count lines, not bytes */
	/*
	 * The log ends inside a value. Its last line is not counted in `lines`;
	 * in lenient dialects, the lines of the value before it are malformed.
	 */
	bool torn;
	uint64_t torn_off;                 /* where that value begins in the line at `next`, if positions count lines */
	bool open_tail;                    /* the last line is complete but has no LF yet */
	bool loose;                        /* lenient dialects: some line was not exactly one value */
	/* Written only by the first load, so views need no lock to read it. */
	struct grove__span_at *spans;
	size_t nr_spans, cap_spans;

	/*
	 * The first `text_nr` lines, each with its LF, and where each begins; kept if
	 * the store is remote. Written only by the first load.
	 */
	struct grove_buf text;
	uint32_t *text_at;
	size_t text_nr, text_cap;

	/* A line before the header that is not an entry, and its title or NULL. */
	bool has_slot;
	uint64_t slot_pos, slot_off, slot_len, slot_line;
	uint32_t slot_crc;
	const char *slot_title, *slot_source;

	bool alone;                        /* what other logs have of it is left out */
	struct grove__bases bases;
	struct grove__model model;         /* how the conversation follows from the rows */

	bool may_be_empty;                 /* a log without lines is also a session */
	bool has_header;
	struct grove__header header;
	struct grove__spot header_at;
	uint64_t values;                   /* JSON values so far, including headers and the slot */
	struct grove__header_at *headers;
	size_t nr_headers, cap_headers;
	unsigned from;                     /* the version of the log; if lower than the dialect's, it is migrated */
};

/* What an image is made from. */
struct grove__image_source {
	struct grove_store_log *log;
	const struct grove__dialect *dialect;
	const char *path;                  /* of the file, or NULL */
	const char *cache;                 /* the cache directory; NULL: do not cache */
	bool read_cache_only;              /* use the cache, but do not write to it */
	bool may_be_empty;                 /* a log without lines is also a session */
	bool alone;                        /* leave out what other logs have of it (base.h) */
	const struct grove_progress *progress;  /* may be NULL */
};

/*
 * Loads the whole log, starting from what is in the cache. If the log changes while
 * it is read, it is read again, a few times. Returns what grove__image_load()
 * does; *out is NULL after a failure.
 */
int grove__image_open(const struct grove__image_source *src, struct grove__image **out,
		      struct grove_detail *d);

/* Returns NULL if out of memory. */
struct grove__image *grove__image_new(const struct grove__dialect *dialect);
struct grove__image *grove__image_ref(struct grove__image *im);
void grove__image_unref(struct grove__image *im);
/* Returns the name of the session from its slot, its header or its entries, or NULL. */
const char *grove__image_name(const struct grove__image *im);
#define GROVE__KEPT_LEAF "leaf"
/* Returns the id in the value of this name if it was stored for a log with this tail, else NULL. */
const char *grove__image_kept_leaf(const struct grove_buf *value, uint64_t tail);

/*
 * Reads from im->next to the end of the log and links what is new. `progress`
 * may have a NULL fn. GROVE_EDAMAGED if the first value is not a usable header;
 * GROVE_ESTALE if the log changed in a way that needs a new image. If reading
 * lines fails, the image is spoilt: old views may use it, but nothing may be added.
 */
int grove__image_load(struct grove__image *im, struct grove_store_log *log, const char *path,
		      const struct grove_progress *progress, struct grove_detail *d);

/* Parses the line of the header, or of the slot. GROVE_EDAMAGED if it is not one. */
int grove__image_read_header(struct grove__image *im, struct grove_slice line);
int grove__image_read_slot(struct grove__image *im, struct grove_slice line);

/*
 * Sets *yes if the next line would be read as part of the unfinished value at the
 * end of the log; only in lenient dialects, where a value may contain line ends.
 */
int grove__image_torn_swallows(const struct grove__image *im, struct grove_store_log *log,
			       bool *yes, struct grove_detail *d);

/* Returns where a row is, or the header (GROVE_NO_ENTRY). */
struct grove__spot grove__image_spot(const struct grove__image *im, uint32_t row);

/* Returns the rev of what was read; a line that is still being written does not count. */
static inline uint64_t grove__image_rev(const struct grove__image *im)
{
	return im->base + (im->by_line ? im->tail : im->lines);
}

/* Marks the image as different from the log. */
static inline void grove__image_spoil(const struct grove__image *im)
{
	__atomic_store_n((bool *)(uintptr_t)&im->spoilt, true, __ATOMIC_RELAXED);
}

static inline bool grove__image_spoilt(const struct grove__image *im)
{
	return __atomic_load_n(&im->spoilt, __ATOMIC_RELAXED);
}

/* Returns true if the log has an older version and is shown as migrated. */
static inline bool grove__image_old(const struct grove__image *im)
{
	return im->from < im->dialect->version;
}

/*
 * Reads the line of a row into `out`, without line end, in the current version.
 * Lines of a value that spans several are joined by spaces. *value (may be NULL)
 * is the trimmed JSON value, followed by GROVE__JSON_PAD readable bytes.
 * GROVE_ESTALE if the bytes are not those that were indexed, GROVE_ETOOBIG
 * beyond GROVE__LINE_MAX.
 */
int grove__image_line(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
		      struct grove_buf *out, struct grove_slice *value, struct grove_detail *d);
/*
 * The same for rows that are mostly read in the order of the log: reads ahead. The value
 * is in `out` or, as is usual, in what was read ahead, until the next call. For one thread
 * at a time. Initialize to zero except for `until`.
 */
struct grove__near {
	uint64_t until;                    /* the tail of the log, as the caller knows it */
	struct grove__runs runs;           /* what was read, if anything was */
	uint64_t next;                     /* where the last line that was returned ended */
	uint64_t line;                     /* if positions count lines: one of those that were read, */
	size_t off;                        /* and where it begins */
};
int grove__image_line_near(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
			   struct grove__near *near, struct grove_buf *out,
			   struct grove_slice *value, struct grove_detail *d);
/* Calls `fn` with each piece of text in the value of a row that a person would read. */
int grove__image_pieces(const struct grove__image *im, uint32_t row, struct grove_slice value, grove_piece_fn *fn,
			void *payload);
/* Checks that the header and the last of `nr` rows are what was indexed. GROVE_ESTALE if not. */
int grove__image_verify(const struct grove__image *im, uint32_t nr, struct grove_store_log *log,
			struct grove_detail *d);
int grove__image_header_line(const struct grove__image *im, struct grove_store_log *log,
			     struct grove_buf *out, struct grove_slice *value,
			     struct grove_detail *d);
/*
 * Checks that every byte before im->next is what it was when it was read, by reading
 * all of them again. GROVE_ESTALE if not, or if it cannot be decided; GROVE_ENOMEM.
 */
int grove__image_prove(const struct grove__image *im, struct grove_store_log *log);
/* Returns a number for a line that is neither a row nor a header, from its place and bytes. */
uint64_t grove__proof_odd_line(uint64_t pos, uint64_t len, uint32_t crc);
/* Migrates `line` (trimmed, of row `row`; GROVE_NO_ENTRY: a header). Returns 1 if nothing changes. */
int grove__image_migrate(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
			 struct grove_slice line, struct grove_buf *out);

/*
 * Adds a line that was just appended at `pos`, as loading it would, and links it.
 * `e` is the parsed line, or NULL to parse it. GROVE_ESTALE if only reading the log
 * again can tell what the line is.
 */
int grove__image_add(struct grove__image *im, struct grove_slice line, uint64_t pos,
		     const struct grove__entry *e);

/*
 * Appends what the label entry at `row` says, as grove_view_label() does. The spine has
 * labels as C strings; this one keeps a NUL. Returns 1 if the line labels nothing.
 */
int grove__image_label(const struct grove__image *im, struct grove_store_log *log, uint32_t row,
		       struct grove_buf *target, struct grove_buf *text, struct grove_detail *d);

/*
 * Finds the parts of an entry that a caller passed. They point into `json`, which
 * is enlarged for the scanner. GROVE_EJSON, with the offset, if it is not JSON.
 */
int grove__image_input(const struct grove__image *im, struct grove_buf *json,
		       struct grove__input *out, struct grove_detail *d);

/*
 * Walks over rows in the given order, reading neighbours together:
 *
 *	struct grove__rows r;
 *	grove__rows_init(&r, im, log, list, nr);
 *	while (!(rc = grove__rows_next(&r, &row, &value, d)))
 *		…
 *	grove__rows_release(&r);
 *
 * If `list` is NULL, walks over the first `nr` rows. `value` is the trimmed line in
 * the current version, valid until the next call.
 */
struct grove__rows {
	const struct grove__image *im;
	struct grove_store_log *log;
	const uint32_t *list;
	size_t nr, i;
	struct grove__rows_window *at, *own;           /* the current lines; those that we read ourselves */
	struct grove__ahead *ahead;        /* the thread that reads ahead, or NULL */
	size_t ahead_from;
	bool alone;                        /* do not start one */
	struct grove_buf window, joined, changed;
};
void grove__rows_init(struct grove__rows *r, const struct grove__image *im,
		      struct grove_store_log *log, const uint32_t *list, size_t nr);
void grove__rows_release(struct grove__rows *r);
int grove__rows_next(struct grove__rows *r, uint32_t *row, struct grove_slice *value,
		     struct grove_detail *d);

/* Returns the line of a row if it is in memory, followed by GROVE__JSON_PAD readable bytes. */
static inline bool grove__image_at_hand(const struct grove__image *im, uint32_t row,
					struct grove_slice *line)
{
	uint64_t pos = grove__spine_pos(im->spine, row);

	if (pos >= im->text_nr || im->nr_spans)
		return false;
	*line = grove__slice(im->text.ptr + im->text_at[pos], (size_t)grove__spine_len(im->spine, row));
	return true;
}

/* Reads the stored bytes of a value into `out` and checks them; GROVE__JSON_PAD more are readable. */
int grove__line_fetch(struct grove_store_log *log, const struct grove__spot *at,
		      struct grove_buf *out, struct grove_detail *d);
/* Turns line ends in a value into spaces; its strings contain none. */
void grove__line_join(char *ptr, size_t len);

/*
 * Reads the values of a log as a lenient dialect does (json/lenient.h), starting at
 * a line:
 *
 *	rc = grove__values_new(&v, &im->want, log, pos, until, by_line, whole, d);
 *	while (!rc && !(rc = grove__values_next(v, &value)))
 *		…
 *	grove__values_free(v);
 *
 * A value longer than `whole` is not kept in memory as a whole; its members are, one
 * after the other, except those longer than 1 MiB.
 */
struct grove__values;
struct grove__value {
	struct grove__spot at;             /* lines are counted from the start of reading */
	struct grove__json_line l;         /* the members that were asked for … */
	const char *ptr;                   /* … in these bytes, valid until the next call */
	bool whole;                        /* the bytes are the complete value, on one line */
};
int grove__values_new(struct grove__values **out, const struct grove__json_want *want,
		      struct grove_store_log *log, uint64_t pos, uint64_t until, bool by_line,
		      uint64_t whole, struct grove_detail *d);
void grove__values_free(struct grove__values *v);
/* Reports what is skipped; positions are those of the text, see grove__values_place(). */
void grove__values_tell(struct grove__values *v, grove__json_lost_fn *fn, void *payload);
/* Returns 0, 1 at the end, or an error. */
int grove__values_next(struct grove__values *v, struct grove__value *out);
/* Reads the rest of a value that is not complete. GROVE_ETOOBIG beyond GROVE__LINE_MAX. */
int grove__values_whole(struct grove__values *v, struct grove__value *value);
/* Call after the end. */
void grove__values_passed(const struct grove__values *v, struct grove__json_passed *out);
/* Converts a position in the text to one in the log and, by line, the offset in that line. */
uint64_t grove__values_place(const struct grove__values *v, uint64_t pos, uint64_t *off);

/* Trims JSON white space and a byte-order mark from both ends. */
struct grove_slice grove__line_trim(struct grove_slice s);

/* time.c: the modification time of a copy */
/* Makes lists show `ns` as the modification time of the log, until it is written to again. */
void grove__time_keep(struct grove_store_log *log, int64_t ns);
/* The same for a log by its name, in files as well. */
int grove__time_set(struct grove_store *st, const struct grove_key *key, int64_t ns, struct grove_detail *d);
/* grove__log_stat(), with that time if there is one. */
int grove__time_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		     struct grove_detail *d);

#endif
