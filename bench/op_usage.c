/*
 * op_usage.c: the usage of all sessions, with an empty cache and with a full one.
 */
#include "bench.h"

#include <stdio.h>

enum { ROUNDS = 5 };

struct answer {
	uint64_t sessions, tokens, skipped;
};

static void count_skipped(void *payload, const struct grove_detail *why)
{
	(void)why;
	++*(uint64_t *)payload;
}

/* Includes what a program needs to start; "" for `cache`: no cache. */
static int measure(const char *path, const char *cache, double *ms, struct answer *a)
{
	const char *const stores[] = { path };
	struct grove_options world = { .size = sizeof(world), .stores = stores, .nr_stores = 1,
				       .cache = cache };
	struct grove_usage_options opt = { .size = sizeof(opt), .by = GROVE_USAGE_SESSION,
					   .skipped = count_skipped, .skipped_payload = &a->skipped };
	struct grove_usage *u = NULL;
	struct grove *g = NULL;
	double start = now_ms();
	int rc = fail_world(g, grove_open(&world, &g), "world");

	if (!rc)
		rc = fail_world(g, grove_usage(g, &opt, &u), "usage");
	*ms = now_ms() - start;
	if (!rc) {
		a->sessions = grove_usage_count(u);
		a->tokens = grove_usage_totals(u)->total;
	}
	grove_usage_free(u);
	grove_close(g);
	return rc;
}

int op_usage(const char *path, size_t n)
{
	struct answer without = { 0 }, first = { 0 }, again = { 0 };
	double ms = 0, best = 1e12;
	char cache[4096];
	int rc;

	(void)n;
	snprintf(cache, sizeof(cache), "%s/cache", scratch());
	rc = measure(path, "", &ms, &without);
	put_ms("usage_ms", ms);
	if (!rc)
		rc = measure(path, cache, &ms, &first);
	put_ms("usage_first_ms", ms);
	for (int i = 0; i < ROUNDS && !rc; i++) {
		rc = measure(path, cache, &ms, &again);
		best = ms < best ? ms : best;
	}
	put_ms("usage_again_ms", best);
	if (rc)
		return rc;
	put_count("sessions", without.sessions);
	put_count("tokens", without.tokens);
	if (without.skipped)
		return fail("%llu sessions could not be read", (unsigned long long)without.skipped);
	if (first.tokens != without.tokens || again.tokens != without.tokens)
		return fail("what is remembered is not what is read");
	return 0;
}
