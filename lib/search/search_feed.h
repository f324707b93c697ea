/*
 * search/search_feed.h: read a log for the index: all of it, or what is new.
 */
#ifndef GROVE_SEARCH_SEARCH_FEED_H
#define GROVE_SEARCH_SEARCH_FEED_H

#include "search/search.h"

/* Its time when it may change once more without being told apart. */
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
	const char *entry;           /* NULL: it has no id */
	struct grove_slice text;
};

struct grove__search_feed {
	struct grove *g;
	const struct grove__sweep_log *log;
	const char *path;            /* of its file; "": there is none */
	/* What the index has: `before.rows` 0: nothing. */
	struct grove__search_like was;
	struct grove__search_read before;
	/* Other than 0 ends it and is handed back. */
	int (*doc)(void *payload, const struct grove__search_doc *doc);
	void *payload;

	/* afterwards */
	struct grove__search_like like;
	struct grove__search_read now;
	bool grown;                  /* it was told of what is behind `before` alone */
	bool session;                /* else there is nothing to be found in it */
	const struct grove__dialect *dialect;
	struct grove_buf id, cwd, places;
};

bool grove__search_is_like(const struct grove__search_like *a, const struct grove__search_like *b);
/* 0; GROVE_ENOMEM; what doc() answers; or the log could not be read, and *why says so. */
int grove__search_feed(struct grove__search_feed *f, struct grove_detail *why);
void grove__search_feed_release(struct grove__search_feed *f);

/* Has a row this place (enum grove__row_place), by what feed put into `places`? */
bool grove__search_place(struct grove_slice places, uint32_t row, unsigned place);

#endif
