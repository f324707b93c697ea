/*
 * warnings.h: what the library could not read, whichever thread met it.
 *
 * Warnings must not be printed while we own the terminal. Each is shown once in the last line
 * of the screen, and all of them are printed when the program ends.
 */
#ifndef BROWSE_WARNINGS_H
#define BROWSE_WARNINGS_H

#include "kit/cli.h"

#include <pthread.h>

enum { WARNINGS_MOST = 1000 };   /* of more, only that there are any is kept */

struct warnings {
	pthread_mutex_t lock;
	struct grove_detail **all;
	unsigned nr, shown;      /* those before `shown` were shown */
	int more;
};

void warnings_init(struct warnings *w);
/* Adds one, unless it was added before. May be called by any thread; the payload is a struct warnings. */
void warnings_add(void *payload, const struct grove_detail *why);
/* Returns how many there are that were not shown, and puts the first of them into `out`. */
unsigned warnings_take(struct warnings *w, char *out, size_t size);
/* Prints all on standard error. */
void warnings_print(struct warnings *w, struct cli *c);
void warnings_release(struct warnings *w);

#endif
