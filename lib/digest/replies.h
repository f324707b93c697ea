/*
 * digest/replies.h: billed replies, each once.
 *
 * However many lines, copies and forks repeat a reply, the largest of their counts
 * apply, and it belongs to the log that has the original: the earliest line among those
 * that do not say that they are copies. Which of several logs was there first is known
 * only when all have been added. None of this depends on the order of the lines.
 */
#ifndef GROVE_DIGEST_REPLIES_H
#define GROVE_DIGEST_REPLIES_H

#include "base/idmap.h"
#include "dialect/dialect.h"

#define GROVE__MODELS_MAX 0x1fffffffu

/* 80 bytes. Copies are recognized by a 128-bit hash, which is the same in every run. */
struct grove__reply {
	uint64_t hash[2];
	int64_t time;                    /* of its earliest line; GROVE_NO_TIME */
	uint64_t input, output, cache_read, cache_write;
	uint64_t cache_write_long;       /* the part of cache_write that is for an hour */
	double cost;                     /* NaN: not known */
	uint32_t log;                    /* where that line is: the caller's number */
	uint32_t model : 29;
	uint32_t copied : 1;             /* that line says that it is a copy */
	uint32_t told : 1;               /* other logs report what it sums up */
	uint32_t single : 1;             /* it has no hash and is never merged */
};

/* Another log has a line of the same time. */
struct grove__reply_tie {
	int64_t time;
	uint32_t reply, log;
	bool copied;
};

struct grove__replies {
	struct grove__reply *all;            /* in the order they were added */
	size_t nr, cap;
	uint64_t merged;                     /* how often one was added again */
	struct grove__reply_tie *ties;
	size_t nr_ties, cap_ties;
	uint64_t *slots;                     /* half of the hash, and index + 1; 0: free */
	size_t nr_slots, used;
	unsigned shift;                      /* from a spread hash to its slot */
	uint64_t spread[2];                  /* odd; randomizes the slots of this run */
	const char **models;
	size_t nr_models, cap_models;
	uint32_t last_model;                 /* of the last reply: mostly that of the next one */
	struct grove__idmap model_map;
	struct grove__arena texts;
};

/* The struct must not move from now on. */
void grove__replies_init(struct grove__replies *rs);
void grove__replies_release(struct grove__replies *rs);
/* Removes all replies, keeps the memory. */
void grove__replies_clear(struct grove__replies *rs);
/*
 * Adds a line of log `log`; `subs` says whether that has sub-agents with logs of their
 * own. A line that bills nothing is left out. GROVE_ENOMEM; GROVE_ETOOBIG after 1.6
 * billion replies.
 */
int grove__replies_add(struct grove__replies *rs, const struct grove__billed *x, uint32_t log,
		       bool subs);
/* Adds a reply that was counted elsewhere; its model is one of ours. */
int grove__replies_merge(struct grove__replies *rs, const struct grove__reply *r);
/* Gives replies that several logs have to the one of them whose number in `rank` is smallest. */
void grove__replies_settle(struct grove__replies *rs, const uint32_t *rank);
/* Returns the number of a model. GROVE_ENOMEM, GROVE_ETOOBIG. */
int grove__replies_model(struct grove__replies *rs, struct grove_slice name, uint32_t *out);

#endif
