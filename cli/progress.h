/*
 * progress.h: a line on the terminal while something takes long.
 *
 * A thread draws it, so that it moves while the work is in a place that tells
 * nothing, and only if stderr is a terminal. It appears after half a second and is
 * removed before anything else is written: the outs of the program call
 * progress_hide() and progress_end() (see out.h).
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

struct progress {
	int fd;                /* of the terminal; -1: there is none, and nothing is drawn */
	unsigned width;        /* of its lines */
	int running;           /* the thread; of the program's own thread */

	pthread_t thread;
	pthread_mutex_t lock;  /* for all that follows */
	pthread_cond_t wake;
	int stop, shown;
	int64_t begin;         /* ms */
	uint64_t done, total;  /* total 0: unknown */
	char what[128];
};

/* `fd` as above. */
void progress_init(struct progress *p, int fd, unsigned width);
void progress_release(struct progress *p);

/* Long work may begin: "`what`: 40 %", or the seconds it takes. Ends what went before. */
void progress_begin(struct progress *p, const char *what);
/* How far it is. */
void progress_at(struct progress *p, uint64_t done, uint64_t total);
/* Other words, in the midst of it. */
void progress_say(struct progress *p, const char *what);
/* Something else is about to be written: the line goes, and comes back a little later. */
void progress_hide(struct progress *p);
/* It is over. */
void progress_end(struct progress *p);

#endif
