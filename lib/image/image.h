/*
 * image/image.h: what was read of a log.
 *
 * An image is the spine of a log and what else was learned on the way: the
 * header, counts, where to read on. It grows when the log grows.
 */
#ifndef GROVE_IMAGE_IMAGE_H
#define GROVE_IMAGE_IMAGE_H

#include "dialect/dialect.h"
#include "image/runs.h"
#include "json/lenient.h"
#include "json/out.h"
#include "store/store.h"
#include "tree/tree.h"

#include <pthread.h>

/*
 * Where a value is. Mostly it is a line; but a lenient dialect's may begin
 * behind something else on its line, and end on a later one.
 */
struct grove__spot {
	uint64_t pos, off;                 /* of the line, or (positions are bytes) of the value and 0 */
	uint64_t len;                      /* line ends inside it count */
	uint64_t line;                     /* the number of the line it begins in, from 0 */
	uint32_t crc;                      /* of the bytes as they are stored */
	bool lines;                        /* positions count lines, and it reaches into the next one */
};

/* A header: its number among the values, and where it is. */
struct grove__header_at {
	uint64_t value;
	struct grove__spot at;
};

/* Where positions count lines: a row that is not one line from its first byte on. */
struct grove__span_at {
	uint32_t row;
	bool lines;
	uint64_t off;
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
	uint64_t base;                     /* with the lines: the log's rev */
	uint64_t kept_until;               /* so much of it is in the cache (cache.c); 0: nothing */
	int64_t ctime_ns;                  /* of the log when we looked; 0: look closer */
	int64_t mtime_ns;
	bool settled;                      /* it had been so long enough that a change would have other times */
	char *kept_path;                   /* the file it was thawed from; NULL: none */
	char *ice;                         /* what it was thawed from, mapped; NULL: nothing */
	size_t ice_len;
	bool spoilt;                       /* atomic: not what is in the log; a refresh reads it anew */
	uint64_t lines, bytes, malformed, blank;
	uint64_t bad_line, bad_pos;        /* the first malformed one */
	/* Files: of lines that are neither rows nor headers, grove__proof_odd_line() added up … */
	uint64_t odd;
	bool unknown;                      /* … unless one of them was never seen whole */
	bool by_line;                      /* positions count lines, not bytes */
	/*
	 * The log ends inside a value. Its last line is not counted in `lines`,
	 * those before it (lenient dialects) are malformed ones.
	 */
	bool torn;
	uint64_t torn_off;                 /* of that value in the line at `next`, where that counts lines */
	bool open_tail;                    /* the last line is whole but has no LF yet */
	bool loose;                        /* lenient dialects: somewhere a line was not just a value */
	/* Written by the first load alone: views need no lock to look. */
	struct grove__span_at *spans;
	size_t nr_spans, cap_spans;

	/*
	 * The bytes of the first lines, from a store that is far: `text_nr` lines,
	 * each with its LF, and where they begin. Written by the first load alone.
	 */
	struct grove_buf text;
	uint32_t *text_at;
	size_t text_nr, text_cap;

	/* A line before the header that is no entry either; its title, NULL: none. */
	bool has_slot;
	uint64_t slot_pos, slot_off, slot_len, slot_line;
	uint32_t slot_crc;
	const char *slot_title, *slot_source;

	/* Of dialects with rules over the whole log; readers hold the lock. NULL: none. */
	struct grove__chain *chain;
	pthread_rwlock_t chain_lock;

	bool may_be_empty;                 /* a log without a line is a session, too */
	bool has_header;
	struct grove__header header;
	struct grove__spot header_at;
	uint64_t values;                   /* JSON values so far, headers and the slot included */
	struct grove__header_at *headers;
	size_t nr_headers, cap_headers;
	unsigned from;                     /* the version of the log; below the dialect's: migrate */
};

/* What an image is made from. */
struct grove__image_source {
	struct grove_log *log;
	const struct grove__dialect *dialect;
	const char *path;                  /* of the log's file; NULL: it is in none */
	const char *cache;                 /* the directory of what can be made again; NULL: keep nothing */
	bool read_cache_only;              /* use what is there, add nothing to it */
	bool may_be_empty;                 /* a log without a line is a session, too */
	const struct grove_progress *progress;  /* NULL: nobody is told */
};

/*
 * Load the whole log, beginning with what the cache has of it. A log that
 * changes while it is read is read again, a few times. Returns what
 * grove__image_load() does; *out is NULL after a failure.
 */
int grove__image_open(const struct grove__image_source *src, struct grove__image **out,
		      struct grove_detail *d);

/* NULL when out of memory. */
struct grove__image *grove__image_new(const struct grove__dialect *dialect);
struct grove__image *grove__image_ref(struct grove__image *im);
void grove__image_unref(struct grove__image *im);
/* What the session is called: by its slot, its header, its entries; NULL: nothing. */
const char *grove__image_name(const struct grove__image *im);
/* The id in the value "leaf", if that is about a log with this tail; NULL: it is about the past. */
const char *grove__image_kept_leaf(const struct grove_buf *value, uint64_t tail);

/*
 * Read from im->next to the end of the log and link what is new. `progress`
 * may have a NULL fn. GROVE_EDAMAGED if the first value is not a usable header;
 * GROVE_ESTALE if the log changed in a way that wants a new image. After any
 * failure that came while lines were read the image is spoilt: what it has is
 * good for old views, but nothing may be added.
 */
int grove__image_load(struct grove__image *im, struct grove_log *log, const char *path,
		      const struct grove_progress *progress, struct grove_detail *d);

/* What the header's line, or the slot's, says. GROVE_EDAMAGED if it is none. */
int grove__image_read_header(struct grove__image *im, struct grove_slice line);
int grove__image_read_slot(struct grove__image *im, struct grove_slice line);

/*
 * Would the next line be read as part of the unfinished value at the log's end?
 * Only in lenient dialects, where a line end may stand inside a value.
 */
int grove__image_torn_swallows(const struct grove__image *im, struct grove_log *log, bool *yes,
			       struct grove_detail *d);

/* Where a row is, or (GROVE_NONE) the header. */
struct grove__spot grove__image_spot(const struct grove__image *im, uint32_t row);

/*
 * The conversation among the first `nr` rows; see dialect.h. Many threads may
 * ask. Fills *d.
 */
int grove__image_walk(struct grove__image *im, uint32_t nr, const struct grove__chain_ask *ask,
		      struct grove__chain_walk *out, struct grove_detail *d);
void grove__walk_release(struct grove__chain_walk *w);

/*
 * True if rules over the whole log choose the conversation, and with it the
 * leaf. Else the conversation is the path from the root to the leaf, and the leaf
 * is the last entry unless it was moved.
 */
static inline bool grove__image_ruled(const struct grove__image *im)
{
	return im->chain != NULL;
}

/*
 * rules.c: the questions of struct grove__dialect_rules, asked of an image.
 * grove__rules_llm() and grove__rules_closed() may only be asked where it is ruled.
 */

/* Writes the id under which a mode shows a row. */
void grove__rules_put_id(struct grove__image *im, uint32_t row, const char *mode, struct grove__out *out);
int grove__rules_llm(struct grove__image *im, const uint32_t *rows, const struct grove_slice *messages,
		     size_t nr, grove__message_fn *fn, void *payload);
/* Returns 0 if the leaf can be moved to the row (GROVE_NONE: before the first); else as may_end(). */
int grove__rules_may_end(struct grove__image *im, uint32_t row, bool own_file, const char **why);
/* Returns 1 if there is no call that the input answers. With the session's lock. */
int grove__rules_call(struct grove__image *im, struct grove_slice json, struct grove_slice *id);
/* These two, too. */
bool grove__rules_side(struct grove__image *im, uint32_t row);
int grove__rules_lacks(struct grove__image *im, int (*fn)(void *payload, uint32_t row), void *payload);
/* True if a walk that begins with the image's first row needs nothing from before it. */
bool grove__rules_closed(struct grove__image *im, const struct grove__chain_walk *w);

/* The rev of what was read: a line that is still being written is not there yet. */
static inline uint64_t grove__image_rev(const struct grove__image *im)
{
	return im->base + (im->by_line ? im->tail : im->lines);
}

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
 * Where a value spans lines, they are joined by spaces.
 * GROVE_ESTALE if the bytes are not those that were indexed, GROVE_ETOOBIG
 * beyond GROVE__LINE_MAX. The trimmed JSON value in *value, if not NULL. There
 * are GROVE__JSON_PAD readable bytes behind it.
 */
int grove__image_line(const struct grove__image *im, struct grove_log *log, uint32_t row,
		      struct grove_buf *out, struct grove_slice *value, struct grove_detail *d);
/*
 * The same for rows that are asked for mostly in the order of the log: what
 * follows a line is read with it. One thread at a time; zeroed at first but for
 * `until`.
 */
struct grove__near {
	uint64_t until;                    /* the tail of the log, as the caller knows it */
	struct grove__runs runs;           /* what was read, if anything was */
	uint64_t next;                     /* where the last line that was asked for ended */
};
int grove__image_line_near(const struct grove__image *im, struct grove_log *log, uint32_t row,
			   struct grove__near *near, struct grove_buf *out,
			   struct grove_slice *value, struct grove_detail *d);
/* Where the message of a row is known, its value need not be taken apart again. */
bool grove__image_message(struct grove__image *im, uint32_t row, struct grove_slice value,
			  struct grove_slice *out);
/* Are the header and the last of `nr` rows still what was indexed? GROVE_ESTALE if not. */
int grove__image_verify(const struct grove__image *im, uint32_t nr, struct grove_log *log,
			struct grove_detail *d);
int grove__image_header_line(const struct grove__image *im, struct grove_log *log,
			     struct grove_buf *out, struct grove_slice *value,
			     struct grove_detail *d);
/*
 * Is every byte before im->next what it was when it was read? All of them are read
 * again. GROVE_ESTALE if not, or if that cannot be told; GROVE_ENOMEM.
 */
int grove__image_prove(const struct grove__image *im, struct grove_log *log);
/* Is a time of change so old that another change would have another one? */
bool grove__image_settled(int64_t ctime_ns);
/* A number for a line that is nothing, as it stands there. */
uint64_t grove__proof_odd_line(uint64_t pos, uint64_t len, uint32_t crc);
/* `line` (trimmed, of row `row`; GROVE_NONE: a header) in today's version. 1: as it is. */
int grove__image_migrate(const struct grove__image *im, struct grove_log *log, uint32_t row,
			 struct grove_slice line, struct grove_buf *out);

/*
 * Take in a line that was just appended at `pos`, as loading it would, and link
 * it. `e` is what it is; NULL: look. GROVE_ESTALE where only reading the log
 * again tells what the line is.
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
	struct window *at, *own;           /* the lines at hand; those we read ourselves */
	struct grove__ahead *ahead;        /* who reads the next ones; NULL: nobody */
	size_t ahead_from;
	bool alone;                        /* and nobody will */
	struct grove_buf window, joined, changed;
};
void grove__rows_init(struct grove__rows *r, const struct grove__image *im, struct grove_log *log,
		      const uint32_t *list, size_t nr);
void grove__rows_release(struct grove__rows *r);
int grove__rows_next(struct grove__rows *r, uint32_t *row, struct grove_slice *value,
		     struct grove_detail *d);

/* The line of a row, if it is at hand; there are GROVE__JSON_PAD readable bytes behind it. */
static inline bool grove__image_at_hand(const struct grove__image *im, uint32_t row,
					struct grove_slice *line)
{
	uint64_t pos = grove__spine_pos(im->spine, row);

	if (pos >= im->text_nr || im->nr_spans)
		return false;
	*line = grove__slice(im->text.ptr + im->text_at[pos], (size_t)grove__spine_len(im->spine, row));
	return true;
}

/* The stored bytes of a value, checked: `out` is replaced, GROVE__JSON_PAD bytes behind it readable. */
int grove__line_fetch(struct grove_log *log, const struct grove__spot *at, struct grove_buf *out,
		      struct grove_detail *d);
/* Line ends in a value become spaces; there are none inside its strings. */
void grove__line_join(char *ptr, size_t len);

/*
 * The values of a log as a lenient dialect reads them (json/lenient.h), from a
 * line on:
 *
 *	rc = grove__values_new(&v, &im->want, log, pos, until, by_line, whole, d);
 *	while (!rc && !(rc = grove__values_next(v, &value)))
 *		…
 *	grove__values_free(v);
 *
 * A value longer than `whole` is not held: its members are, one behind the
 * other, those beyond 1 MiB left out.
 */
struct grove__values;
struct grove__value {
	struct grove__spot at;             /* lines are counted from where reading began */
	struct grove__json_line l;         /* scanned for the members wanted … */
	const char *ptr;                   /* … in these bytes, good until the next call */
	bool whole;                        /* which are all of it, on one line */
};
int grove__values_new(struct grove__values **out, const struct grove__json_want *want,
		      struct grove_log *log, uint64_t pos, uint64_t until, bool by_line,
		      uint64_t whole, struct grove_detail *d);
void grove__values_free(struct grove__values *v);
/* Be told of what is lost; positions are those of the text, see grove__values_place(). */
void grove__values_tell(struct grove__values *v, grove__json_lost_fn *fn, void *payload);
/* 0, 1 at the end, or an error. */
int grove__values_next(struct grove__values *v, struct grove__value *out);
/* Get all of a value that is not whole. GROVE_ETOOBIG beyond GROVE__LINE_MAX. */
int grove__values_whole(struct grove__values *v, struct grove__value *value);
/* After the end. */
void grove__values_passed(const struct grove__values *v, struct grove__json_passed *out);
/* From a position in the text to one of the log, and (by line) the offset in that line. */
uint64_t grove__values_place(const struct grove__values *v, uint64_t pos, uint64_t *off);

/* White space of JSON, and a byte-order mark, off both ends. */
struct grove_slice grove__line_trim(struct grove_slice s);

/* time.c: when a copy was written to */
/* The log was written to at `ns`, as far as lists are concerned, until it is again. */
void grove__time_keep(struct grove_log *log, int64_t ns);
/* grove__log_stat(), with the time that was kept. */
int grove__time_stat(struct grove_log *log, struct grove_log_stat *out, struct grove_detail *d);

#endif
