/* search/search_feed.h: reads a log for the index: all of it, or what is new. */
#ifndef GROVE_SEARCH_SEARCH_FEED_H
#define GROVE_SEARCH_SEARCH_FEED_H

#include "search/search.h"

/* Its time, if it may change again without that being noticed. */
#define GROVE__SEARCH_UNSURE (-1)

/* How far a log was read. */
struct grove__search_read {
	uint32_t crc;                /* of the checksums of the rows before it */
	uint32_t rows;
	struct grove__spot last;     /* of the last of these */
};

struct grove__search_doc {
	uint8_t class, kind, role;
	uint32_t row;
	uint32_t words;              /* once they are counted */
	int64_t time;
	struct grove__spot at;
	const char *entry;           /* NULL: no id */
	struct grove_slice text;
};

struct grove__search_feed {
	struct grove *g;
	const struct grove__log_at *log;
	/* What the index has; nothing if `before.rows` is 0. */
	struct grove__log_state was;
	struct grove__search_read before;
	/* A non-zero result ends the reading and is returned. */
	int (*doc)(void *payload, const struct grove__search_doc *doc);
	void *payload;

	/* afterwards */
	struct grove__log_at at;     /* as it was read */
	struct grove__search_read now;
	bool grown;                  /* only what comes after `before` was reported */
	bool session;                /* false: not a session, nothing to find */
	const struct grove__dialect *dialect;
	struct grove_buf id, cwd, name, labels, places;
	int64_t modified;
};

/*
 * Returns 0; GROVE_ENOMEM; the result of doc(); or an error if the log could not be
 * read, with *why set.
 */
int grove__search_feed(struct grove__search_feed *f, struct grove_detail *why);
void grove__search_feed_release(struct grove__search_feed *f);

/* True if the row has this status (enum grove__row_place), according to `places`. */
bool grove__search_place(struct grove_slice places, uint32_t row, unsigned place);

#endif
