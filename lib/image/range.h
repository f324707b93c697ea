/*
 * image/range.h: some lines of a log, as they are stored.
 */
#ifndef GROVE_IMAGE_RANGE_H
#define GROVE_IMAGE_RANGE_H

#include "store/store.h"

/* The lines [from, to) of a log, for a sink. */
struct grove__range {
	uint64_t from, to;
	struct grove_sink sink;
	uint64_t line;           /* the one that is read next; set to that of the first byte */
	uint64_t given;          /* bytes that the sink has got */
	bool open;               /* the last of them is no LF */
};

/*
 * Reads the log from position `begin` up to `until` at most, and hands out the lines
 * of the range. A last line without an LF gets one. Returns 0, or an error of the store
 * or the sink.
 */
int grove__range_read(struct grove__range *r, struct grove_store_log *log, uint64_t begin,
		      uint64_t until, struct grove_detail *d);

#endif
