/*
 * catalog/scan.h: every value of a log, in one pass, as lists and sums read it.
 *
 *	rc = grove__scan_init(&s);
 *	grove__json_want_init(&s.want, …);
 *	rc = grove__scan_log(&s, log, &part, d);
 *	grove__scan_release(&s);
 */
#ifndef GROVE_CATALOG_SCAN_H
#define GROVE_CATALOG_SCAN_H

#include "session/session.h"

/* Belongs to one thread, and reads one log after the other. */
struct grove__scan {
	struct grove__runs runs;
	struct grove__json_want want;
};

/* What of a log is read, and who is told. */
struct grove__scan_part {
	uint64_t from, until;
	bool lenient;                /* the dialect's word */
	/*
	 * A value; `line` says where it is, counted from `from`, and is good for this
	 * call. Other than 0 ends it.
	 */
	int (*value)(void *payload, const struct grove__json_line *l, const char *text, uint64_t line);
	void *payload;
	uint64_t too_long;           /* set: lines beyond GROVE__LINE_MAX that were passed over; the detail tells */
	uint64_t first_long;         /* set: the number of the first of them, from 1 */
	bool sum;                    /* add up the bytes that are read, too … */
	uint32_t crc;                /* … from what it was for those before them */
	bool loose;                  /* set: a line was not just a value, and those from it on were cut otherwise */
};

int grove__scan_init(struct grove__scan *s);
void grove__scan_release(struct grove__scan *s);
/* 0, what `value` said, or why it cannot be read. */
int grove__scan_log(struct grove__scan *s, struct grove_store_log *log, struct grove__scan_part *p,
		    struct grove_detail *d);

#endif
