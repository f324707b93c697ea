/*
 * op_list.c: a list of everything, when nothing is remembered and when all is.
 */
#include "bench.h"

#include <stdio.h>

enum { ROUNDS = 5 };

struct answer {
	uint64_t sessions, messages, skipped;
};

static void count_skipped(void *payload, const struct grove_detail *why)
{
	(void)why;
	++*(uint64_t *)payload;
}

/* With what a program needs to begin; "" for `cache`: nothing is remembered. */
static int measure(const char *path, const char *cache, double *ms, struct answer *a)
{
	const char *const stores[] = { path };
	struct grove_options world = { .size = sizeof(world), .stores = stores, .nr_stores = 1,
				       .cache = cache };
	struct grove_list_options opt = { .size = sizeof(opt), .all = 1, .skipped = count_skipped,
					  .skipped_payload = &a->skipped };
	struct grove_list *l = NULL;
	struct grove *g = NULL;
	double start = now_ms();
	int rc = fail_world(g, grove_open(&g, &world), "world");

	if (!rc)
		rc = fail_world(g, grove_list(g, &opt, &l), "list");
	*ms = now_ms() - start;
	a->messages = 0;
	a->sessions = rc ? 0 : grove_list_count(l);
	for (size_t i = 0; i < a->sessions; i++)
		a->messages += grove_list_at(l, i)->message_count;
	grove_list_free(l);
	grove_close(g);
	return rc;
}

static int differs(const struct answer *a, const struct answer *b)
{
	return a->sessions != b->sessions || a->messages != b->messages;
}

int op_list_kept(const char *path, size_t n)
{
	struct answer without = { 0 }, first = { 0 }, again = { 0 };
	double ms = 0, best = 1e12;
	char cache[4096];
	int rc;

	(void)n;
	snprintf(cache, sizeof(cache), "%s/cache", scratch());
	rc = measure(path, "", &ms, &without);
	put_ms("list_ms", ms);
	if (!rc)
		rc = measure(path, cache, &ms, &first);
	put_ms("list_first_ms", ms);
	for (int i = 0; i < ROUNDS && !rc; i++) {
		rc = measure(path, cache, &ms, &again);
		best = ms < best ? ms : best;
	}
	put_ms("list_again_ms", best);
	if (rc)
		return rc;
	put_count("sessions", without.sessions);
	put_count("messages", without.messages);
	if (without.skipped)
		return fail("%llu sessions could not be read", (unsigned long long)without.skipped);
	if (differs(&first, &without) || differs(&again, &without))
		return fail("what is remembered is not what is read");
	return 0;
}
