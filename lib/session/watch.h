/*
 * session/watch.h: what happens to a session, as it happens.
 */
#ifndef GROVE_SESSION_WATCH_H
#define GROVE_SESSION_WATCH_H

#include "session/session.h"

/* An event that waits to be told. */
struct grove__happened {
	uint64_t rev, seq;
	enum grove_event_kind kind;
	char *entry_id;                  /* NULL: none */
};

struct grove_watch {
	struct grove *g;
	struct grove__where at;
	struct grove_session *s;         /* a handle of our own; NULL: to be opened anew */
	char *session_id;
	struct grove_store_log_stat seen; /* taken before we looked last */
	uint64_t rev;                    /* told up to here */
	uint64_t lines;                  /* the same, in lines of the image */
	struct grove__image *image;      /* they were told from; stores without a record of changes */
	struct grove__happened *queue;
	size_t nr, cap, next;
	bool gone;                       /* the session is not there any more; that was told */
	int bell;                        /* ends the waiting; -1: none yet */
	struct grove_detail detail;
};

int grove__watch_open(struct grove *g, struct grove__where *at, uint64_t since,
		      struct grove_watch *w, struct grove_detail *d);
/* 0, or 1: nothing happened. */
int grove__watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d);
void grove__watch_release(struct grove_watch *w);

#endif
