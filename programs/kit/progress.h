/*
 * progress.h: a line on the terminal during long work.
 *
 * A thread draws it, so that it moves even while the work reports nothing, and only if
 * stderr is a terminal. It appears after half a second and is cleared before anything else
 * is written: the program's outs call progress_hide() and progress_end() (see out.h).
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

struct progress {
	int fd;                /* of the terminal; -1 to draw nothing */
	unsigned width;        /* of its lines */
	int running;           /* the thread runs; used by the program's own thread */

	pthread_t thread;
	pthread_mutex_t lock;  /* protects everything below */
	pthread_cond_t wake;
	int stop, shown;
	int64_t begin;         /* ms */
	uint64_t done, total;  /* total 0: unknown */
	char what[128];
};

/* `fd` as above. */
void progress_init(struct progress *p, int fd, unsigned width);
void progress_release(struct progress *p);

/* Begins long work: "`what`: 40 %", or the seconds so far. Ends the previous one. */
void progress_begin(struct progress *p, const char *what);
/* Reports how far it is. */
void progress_at(struct progress *p, uint64_t done, uint64_t total);
/* Changes the text. */
void progress_say(struct progress *p, const char *what);
/* Call before writing anything else: clears the line, which returns a little later. */
void progress_hide(struct progress *p);
/* Ends the work. */
void progress_end(struct progress *p);

#endif
