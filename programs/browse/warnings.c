/*
 * warnings.c: what the library could not read, whichever thread met it.
 */
#include "warnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void warnings_init(struct warnings *w)
{
	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
}

static int is_known(const struct warnings *w, const struct grove_detail *why)
{
	for (unsigned i = 0; i < w->nr; i++)
		if (!strcmp(w->all[i]->path, why->path) && !strcmp(w->all[i]->message, why->message))
			return 1;
	return 0;
}

static void keep(struct warnings *w, const struct grove_detail *why)
{
	/* doubled when full */
	if (!(w->nr & (w->nr - 1)))
		w->all = cli_realloc(w->all, w->nr ? 2 * (size_t)w->nr : 1, sizeof(*w->all));
	w->all[w->nr] = cli_realloc(NULL, 1, sizeof(*why));
	*w->all[w->nr++] = *why;
}

void warnings_add(void *payload, const struct grove_detail *why)
{
	struct warnings *w = payload;

	pthread_mutex_lock(&w->lock);
	/* the list is read again and again, and each time it skips the same files */
	if (!is_known(w, why)) {
		if (w->nr < WARNINGS_MOST)
			keep(w, why);
		else
			w->more = 1;
	}
	pthread_mutex_unlock(&w->lock);
}

unsigned warnings_take(struct warnings *w, char *out, size_t size)
{
	unsigned nr;

	pthread_mutex_lock(&w->lock);
	nr = w->nr - w->shown;
	if (nr) {
		const struct grove_detail *why = w->all[w->shown];

		snprintf(out, size, "%s%s%s", why->path, *why->path ? ": " : "", why->message);
	}
	w->shown = w->nr;
	pthread_mutex_unlock(&w->lock);
	return nr;
}

void warnings_print(struct warnings *w, struct cli *c)
{
	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; i < w->nr; i++)
		cli_warn_detail(c, w->all[i]);
	if (w->more)
		cli_warn(c, "and more that could not be read (see 'grove check')");
	pthread_mutex_unlock(&w->lock);
}

void warnings_release(struct warnings *w)
{
	for (unsigned i = 0; i < w->nr; i++)
		free(w->all[i]);
	free(w->all);
	pthread_mutex_destroy(&w->lock);
}
