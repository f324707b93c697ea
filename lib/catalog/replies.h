/*
 * catalog/replies.h: replies that were paid for, each once.
 *
 * However many lines, copies and forks repeat a reply: of their counts the
 * largest hold, and it belongs to the log that has its earliest line. None of
 * this depends on the order in which lines come in.
 */
#ifndef GROVE_CATALOG_REPLIES_H
#define GROVE_CATALOG_REPLIES_H

#include "base/idmap.h"
#include "dialect/dialect.h"

/* 72 bytes; what tells a repetition is 128 bits of hash. */
struct grove__reply {
	uint64_t hash[2];
	int64_t time;                    /* of its earliest line; GROVE_NO_TIME */
	uint64_t input, output, cache_read, cache_write;
	double cost;                     /* NaN: not known */
	uint32_t log;                    /* where that line is: the caller's number */
	uint32_t model : 31;
	uint32_t told : 1;               /* other logs tell what it sums up */
};

struct grove__replies {
	struct grove__reply *all;   /* in no order */
	size_t nr, cap;
	uint32_t *slots;                     /* place + 1; 0: free */
	size_t mask;                         /* number of slots - 1; 0 while there are none */
	size_t used;
	uint64_t seed[2];
	const char **models;
	size_t nr_models, cap_models;
	struct grove__idmap model_map;
	struct grove__arena texts;
};

/* The struct must stay where it is from here on. */
void grove__replies_init(struct grove__replies *rs);
void grove__replies_release(struct grove__replies *rs);
/*
 * Count a line of log `log` in, which has sub-agents with logs of their own
 * (`subs`) or not. What bills nothing is left out. GROVE_ENOMEM; GROVE_ETOOBIG
 * after 2^32 - 2 replies.
 */
int grove__replies_add(struct grove__replies *rs, const struct grove__billed *x, uint32_t log,
		       bool subs);

#endif
