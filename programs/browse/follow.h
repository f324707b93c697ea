/*
 * follow.h: a thread that watches one session, or the list of all.
 *
 * A watch asks its store now and then, and a database whose server is gone may take long
 * to say so. The thread that has the terminal must not wait for that.
 */
#ifndef BROWSE_FOLLOW_H
#define BROWSE_FOLLOW_H

#include "warnings.h"

struct follower;

/* What happened. */
enum follow_news {
	FOLLOW_CHANGED = 1,
	FOLLOW_DELETED = 2,
	FOLLOW_FAILED = 4        /* it cannot be watched */
};

/*
 * Watches the session `key` from `rev` on, or, if that is NULL, the list, until
 * follow_stop(). Whenever there are news, and when it has ended, a byte is written to `fd`;
 * what cannot be read of a session is added to `warnings`. Returns NULL if that fails.
 */
struct follower *follow_begin(struct grove *g, const char *key, uint64_t rev, int fd, struct warnings *warnings);
/* Returns what happened since this was asked last: enum follow_news. */
unsigned follow_news(struct follower *f);
/* Asks it to end, and returns at once. */
void follow_stop(struct follower *f);
/* Releases it if it has ended. Returns 0 if it has not: it still waits for a store. */
int follow_release(struct follower *f);

#endif
