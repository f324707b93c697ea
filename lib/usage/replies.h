/*
 * usage/replies.h: replies that were paid for, each once.
 *
 * However many lines, copies and forks repeat a reply: of their counts the
 * largest hold, and it belongs to the log that has its earliest line. None of
 * this depends on the order in which lines come in.
 */
#ifndef GROVE_USAGE_REPLIES_H
#define GROVE_USAGE_REPLIES_H

#include "base/idmap.h"
#include "dialect/dialect.h"

#define GROVE__MODELS_MAX 0x3fffffffu

/* 80 bytes; what tells a repetition is 128 bits of hash, the same in every run. */
struct grove__reply {
	uint64_t hash[2];
	int64_t time;                    /* of its earliest line; GROVE_NO_TIME */
	uint64_t input, output, cache_read, cache_write;
	uint64_t cache_write_long;       /* what of cache_write is kept for an hour */
	double cost;                     /* NaN: not known */
	uint32_t log;                    /* where that line is: the caller's number */
	uint32_t model : 30;
	uint32_t told : 1;               /* other logs tell what it sums up */
	uint32_t single : 1;             /* there is no hash: it is never merged */
};

struct grove__replies {
	struct grove__reply *all;            /* in the order they came in */
	size_t nr, cap;
	uint64_t *slots;                     /* half of the spread hash, place + 1; 0: free */
	size_t nr_slots, used;
	unsigned shift;                      /* from a spread hash to its slot */
	uint64_t spread[2];                  /* odd; which slot a hash has is this run's */
	const char **models;
	size_t nr_models, cap_models;
	struct grove__idmap model_map;
	struct grove__arena texts;
};

/* The struct must stay where it is from here on. */
void grove__replies_init(struct grove__replies *rs);
void grove__replies_release(struct grove__replies *rs);
/* Forget them all, keep the memory. */
void grove__replies_clear(struct grove__replies *rs);
/*
 * Count a line of log `log` in, which has sub-agents with logs of their own
 * (`subs`) or not. What bills nothing is left out. GROVE_ENOMEM; GROVE_ETOOBIG
 * after 1.6 billion replies.
 */
int grove__replies_add(struct grove__replies *rs, const struct grove__billed *x, uint32_t log,
		       bool subs);
/* Count one in that was counted elsewhere; its model is one of ours. */
int grove__replies_merge(struct grove__replies *rs, const struct grove__reply *r);
/* The number of a model. GROVE_ENOMEM, GROVE_ETOOBIG. */
int grove__replies_model(struct grove__replies *rs, struct grove_slice name, uint32_t *out);

#endif
