/*
 * digest/scan.h: every value of a log, in one pass, for lists and totals.
 *
 *	rc = grove__scan_init(&s);
 *	grove__json_want_init(&s.want, …);
 *	rc = grove__scan_log(&s, log, &part, d);
 *	grove__scan_release(&s);
 */
#ifndef GROVE_DIGEST_SCAN_H
#define GROVE_DIGEST_SCAN_H

#include "world/world.h"

/* Belongs to one thread, and reads one log after the other. */
struct grove__scan {
	struct grove__runs runs;
	struct grove__json_want want;
};

/* What to read of a log, and who receives it. */
struct grove__scan_part {
	uint64_t from, until;
	bool lenient;                /* the dialect's word */
	/*
	 * Receives a value; `line` says where it is, counted from `from`, and is valid
	 * for this call. A non-zero result ends the reading.
	 */
	int (*value)(void *payload, const struct grove__json_line *l, const char *text, uint64_t line);
	void *payload;
	uint64_t too_long;           /* set: skipped lines beyond GROVE__LINE_MAX; see the detail */
	uint64_t first_long;         /* set: the number of the first of them, from 1 */
	bool sum;                    /* also compute the checksum of the bytes read … */
	uint32_t crc;                /* … continuing from that of the bytes before */
	bool loose;                  /* set: from some line on, values were not lines */
	bool bad;                    /* set: some lines were not JSON */
	uint64_t lines;              /* set: how many there are, unless `loose` */
};

int grove__scan_init(struct grove__scan *s);
void grove__scan_release(struct grove__scan *s);
/* Returns 0, the result of `value`, or an error if it cannot be read. */
int grove__scan_log(struct grove__scan *s, struct grove_store_log *log, struct grove__scan_part *p,
		    struct grove_detail *d);

#endif
