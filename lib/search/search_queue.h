/*
 * search/search_queue.h: passes texts from the readers to the writer of the index.
 *
 *	reader   log 3: texts, texts, … the rest   |  log 5 …
 *	reader   log 4: texts, … the rest          |  log 6 …
 *	writer   texts of 3, of 4, of 3, the rest of 4, …
 *
 * A parcel has some texts of a log, or the final facts about it.
 */
#ifndef GROVE_SEARCH_SEARCH_QUEUE_H
#define GROVE_SEARCH_SEARCH_QUEUE_H

#include "search/search_feed.h"
#include "search/search_forms.h"

/* A text, or a part if `entries` is not empty. */
struct grove__search_item {
	struct grove__search_doc doc;   /* its text is what is indexed */
	struct grove_slice entries;
	int64_t since, until;
};

struct grove__search_parcel {
	struct grove__search_parcel *next;
	size_t task;
	bool end;
	bool grown;                          /* its log was indexed before */
	int rc;                              /* of an end */
	struct grove__search_item *items;
	size_t nr, cap;
	struct grove_buf bytes;              /* of the items; see grove__search_parcel_open() */
	struct grove_buf forms;              /* new ones: see search_forms.h */
	struct grove__search_feed feed;      /* of an end */
};

struct grove__search_queue {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct grove__search_parcel *first, **last;
	size_t waiting;                      /* parcels */
	bool stop;                           /* nothing is accepted any more */
};

void grove__search_queue_init(struct grove__search_queue *b);
void grove__search_queue_release(struct grove__search_queue *b);
/* Empty, and going. */
void grove__search_queue_start(struct grove__search_queue *b);
/* Tells the readers to stop. */
void grove__search_queue_stop(struct grove__search_queue *b);

/*
 * Reads a log as `feed` says, with a doc() of ours, and queues its texts and, always,
 * an end. `forms` belongs to the reading thread. Returns false if the queue has been
 * stopped.
 */
bool grove__search_queue_read(struct grove__search_queue *b, size_t task, const struct grove__search_feed *feed,
			      struct grove__search_forms *forms);

/* Waits for the next one. */
struct grove__search_parcel *grove__search_queue_take(struct grove__search_queue *b);
/* Makes its items valid. */
void grove__search_parcel_open(struct grove__search_parcel *p);
void grove__search_parcel_free(struct grove__search_parcel *p);

#endif
