/*
 * world/hidden.c: directories that could not be read.
 *
 * A list continues without them, but its result is incomplete, so each of them is
 * reported to the caller's `warn`, once, and counted. An operation that must be
 * complete reads the count when it begins, and fails at its end if the count has grown.
 */
#include "world/world.h"

#include "base/array.h"

#include <stdlib.h>

#define TOLD_MAX 256

struct grove__hidden {
	uint64_t nr;           /* every occurrence … */
	uint64_t nr_failed;    /* … because the system failed */
	char **told;           /* paths */
	size_t nr_told, cap;
};

/* True if this is its first occurrence. Called with the lock held. */
static bool is_new(struct grove__hidden *h, const char *path)
{
	for (size_t i = 0; i < h->nr_told; i++)
		if (!strcmp(h->told[i], path))
			return false;
	if (h->nr_told == TOLD_MAX)
		return false;
	/* without memory it is reported again the next time */
	if (!grove__array_room(&h->told, &h->cap, h->nr_told, sizeof(*h->told))) {
		h->told[h->nr_told] = strdup(path);
		h->nr_told += h->told[h->nr_told] != NULL;
	}
	return true;
}

static void add(struct grove *g, const struct grove_detail *why, bool counts)
{
	bool tell = true;

	pthread_mutex_lock(&g->lock);
	if (!g->hidden)
		g->hidden = calloc(1, sizeof(*g->hidden));
	if (g->hidden) {
		g->hidden->nr += counts;
		g->hidden->nr_failed += counts && (why->code == GROVE_EIO || why->code == GROVE_EAWAY);
		tell = is_new(g->hidden, why->path);
	}
	pthread_mutex_unlock(&g->lock);
	if (tell && g->warn)
		g->warn(g->warn_payload, GROVE_SEVERITY_WARNING, why);
}

void grove__hidden_add(struct grove *g, const struct grove_detail *why)
{
	add(g, why, true);
}

void grove__hidden_mention(struct grove *g, const struct grove_detail *why)
{
	add(g, why, false);
}

bool grove__hidden_note(void *payload, bool top, const struct grove_detail *why)
{
	struct grove *g = payload;

	/* a store that was named explicitly is required */
	if (top && g->given)
		return false;
	grove__hidden_add(g, why);
	return true;
}

/* Is there a store that did not fail when it was last asked? */
static bool any_answers(const struct grove *g)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (!__atomic_load_n(&g->roots[i].away, __ATOMIC_RELAXED))
			return true;
	return false;
}

static bool note_away(struct grove__root *root, int rc)
{
	bool away = rc < 0 && !root->dir && rc != GROVE_ENOMEM && rc != GROVE_ECANCELLED;

	__atomic_store_n(&root->away, away, __ATOMIC_RELAXED);
	return away;
}

int grove__hidden_store(struct grove *g, struct grove__root *root, int rc, const struct grove_detail *why)
{
	struct grove_detail left;

	if (!note_away(root, rc))
		return rc;
	grove__fail(&left, rc, root->store->url, "its sessions are left out: %s", why->message);
	grove__hidden_add(g, &left);
	return any_answers(g) ? 0 : rc;
}

int grove__hidden_asked(struct grove *g, struct grove__root *root, int rc, const struct grove_detail *why)
{
	note_away(root, rc);
	return any_answers(g) ? grove__hidden_store(g, root, rc, why) : rc;
}

static uint64_t count(struct grove *g, bool failed)
{
	uint64_t nr = 0;

	pthread_mutex_lock(&g->lock);
	if (g->hidden)
		nr = failed ? g->hidden->nr_failed : g->hidden->nr;
	pthread_mutex_unlock(&g->lock);
	return nr;
}

uint64_t grove__hidden_count(struct grove *g)
{
	return count(g, false);
}

uint64_t grove__hidden_failed(struct grove *g)
{
	return count(g, true);
}

int grove__hidden_check(struct grove *g, uint64_t before, struct grove_detail *d)
{
	if (grove__hidden_count(g) == before)
		return 0;
	if (grove__roots_away(g))
		return grove__fail(d, GROVE_EAWAY, NULL, "incomplete: not all stores answer (see above)");
	return grove__fail(d, GROVE_EACCESS, NULL,
			   "incomplete: not all directories could be read (see above)");
}

void grove__hidden_release(struct grove *g)
{
	if (!g->hidden)
		return;
	for (size_t i = 0; i < g->hidden->nr_told; i++)
		free(g->hidden->told[i]);
	free(g->hidden->told);
	free(g->hidden);
}
