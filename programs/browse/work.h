/*
 * work.h: what takes longer than a person waits for a key: reading the list of sessions
 * with its costs, searching in the messages of all of them, and looking whether the list
 * or the session on the screen has changed (see follow.h).
 *
 * Each kind of work has a thread with a handle of its own. When there is something new,
 * the descriptor becomes readable, and work_done(), work_list_changed() and work_news()
 * have it.
 */
#ifndef BROWSE_WORK_H
#define BROWSE_WORK_H

#include "follow.h"
#include "sessions.h"
#include "warnings.h"

#include <pthread.h>
#include <stdatomic.h>

enum work_kind {
	WORK_LIST,
	WORK_SEARCH,
	WORK_KINDS
};

struct work_job {
	struct work *w;
	enum work_kind kind;
	struct grove *g;
	pthread_t thread;
	int running, again;      /* it is at work; it is wanted once more */
	atomic_int ended;
	char query[256], next[256];
	struct grove_list *l;
	struct sessions_found found;
	int err;
	struct grove_detail why;     /* of a search that failed; code 0: nothing to tell */
};

struct work {
	int fd[2];
	struct warnings *warnings;
	struct work_job job[WORK_KINDS];
	atomic_int stop;
	struct grove *g;             /* not owned */
	struct follower *list, *session;   /* NULL if not watched */
	struct follower **leaving;   /* stopped, but still waiting for a store */
	size_t nr_leaving;
};

/* The flags with which the list is read. */
#define WORK_LIST_FLAGS (GROVE_LIST_ALL | GROVE_LIST_THREADS | GROVE_LIST_COST)

/* Returns 0, or -1: there is no background then, and nothing else here may be called. */
int work_open(struct work *w, struct grove *g, struct warnings *warnings);
/* Starts it; if it is at work already, it starts once more when it has ended. */
void work_list(struct work *w);
void work_search(struct work *w, const char *query);
/* Watches the list from now on. */
void work_watch(struct work *w);
/* Returns true if it has changed since this was asked last. */
int work_list_changed(struct work *w);
/* Watches a session from `rev` on, instead of the one before; NULL: none. Returns 0, or -1 if it cannot. */
int work_follow(struct work *w, const char *key, uint64_t rev);
/* Returns what happened to it since this was asked last: enum follow_news. */
unsigned work_news(struct work *w);
int work_is_busy(const struct work *w, enum work_kind kind);
/* After `fd[0]` was readable: a job that has ended, whose results are yours; NULL: no other one. */
struct work_job *work_done(struct work *w);
/* Returns 0; 1 if something is still at work, and its memory must stay. */
int work_close(struct work *w);

#endif
