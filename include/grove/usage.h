/*
 * grove/usage.h: tokens and cost.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_USAGE_H
#define GROVE_USAGE_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tokens and cost of all sessions, those of sub-agents included. A reply counts
 * once, however many lines, forks, copies or logs of sub-agents repeat it; then
 * its largest counts hold, and it belongs to the log that has its earliest line
 * (of several the first by path).
 *
 * Where the agent noted no cost, it is estimated by the list price of the model;
 * a model that is not in the list of prices has none.
 */
enum grove_usage_by {
	GROVE_USAGE_DAY,      /* of the reply, in UTC: "2026-05-03" */
	GROVE_USAGE_MODEL,
	GROVE_USAGE_SESSION,  /* its id; sub-agents count for the session that called them */
	GROVE_USAGE_PROJECT,  /* its working directory */
	GROVE_USAGE_AGENT     /* "pi", "claude", "openclaw": as in struct grove_list_item */
};

struct grove_usage_options {
	size_t size;
	enum grove_usage_by by;
	/* Told of each session file that could not be read; the work goes on. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	/* Only replies of these days and those between, in UTC, "2026-05-03"; NULL: no limit. */
	const char *since, *until;
	/*
	 * A file of prices, see grove-usage(1), which come before those that grove
	 * has. NULL: $GROVE_PRICES, or prices.json beside grove's configuration.
	 */
	const char *prices;
};

struct grove_usage_row {
	const char *key;          /* "" where it is not known; NULL in totals */
	uint64_t input, output, cache_read, cache_write;
	uint64_t total;           /* of these four */
	double cost;              /* US dollars, of the replies that have one … */
	int has_cost;             /* … if any has */
	double estimated;         /* how much of it no agent noted: it is by list prices */
	uint64_t unpriced;        /* replies that have no cost */
};

/* A model with replies that have no cost: none was noted, and its price is not known. */
struct grove_usage_unpriced {
	const char *model;        /* "": not told */
	uint64_t replies, total;
};

struct grove_usage;
/*
 * `opt` may be NULL: by day. GROVE_EINVAL if a day or a list of prices is not one,
 * GROVE_ENOTFOUND if that list is not there.
 */
GROVE_API int grove_usage(struct grove *g, const struct grove_usage_options *opt,
			  struct grove_usage **out);
GROVE_API const struct grove_usage_row *grove_usage_totals(const struct grove_usage *u);
GROVE_API size_t grove_usage_count(const struct grove_usage *u);
/* Days in their order, everything else by `total`, the largest first. */
GROVE_API const struct grove_usage_row *grove_usage_at(const struct grove_usage *u, size_t i);
/* The one that used most first; NULL behind the last. */
GROVE_API const struct grove_usage_unpriced *grove_usage_unpriced_at(const struct grove_usage *u,
								     size_t i);
GROVE_API void grove_usage_free(struct grove_usage *u);
/* Append it as `usage --json` shows it. */
GROVE_API int grove_usage_json(const struct grove_usage *u, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
