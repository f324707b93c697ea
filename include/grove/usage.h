/*
 * grove/usage.h: tokens and cost.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_USAGE_H
#define GROVE_USAGE_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tokens and cost of all sessions, including those of sub-agents. A reply counts
 * once, however many lines, forks, copies or logs of sub-agents repeat it: its
 * largest counts apply, and it belongs to the session it was said in, not to forks and
 * copies, see grove-usage(1).
 *
 * If the agent recorded no cost, it is estimated from the list price of the model;
 * a model without a list price has no cost.
 */
enum grove_usage_by {
	GROVE_USAGE_DAY,      /* of the reply, in the time zone `tz`: "2026-05-03" */
	GROVE_USAGE_MODEL,
	GROVE_USAGE_SESSION,  /* its id; sub-agents count for the session that started them */
	GROVE_USAGE_PROJECT,  /* its working directory */
	GROVE_USAGE_AGENT,    /* "pi", "claude", "openclaw": as in struct grove_list_item */
	GROVE_USAGE_WEEK,     /* by the day it begins with, a Monday: "2026-05-04" */
	GROVE_USAGE_MONTH,    /* "2026-05" */
	/*
	 * The windows by which an agent's plans are metered. Claude Code's last five hours;
	 * the first reply outside a window starts the next one, at the full hour (UTC).
	 * The key is when it starts: "2026-05-03T09:00:00.000Z". Replies of agents without
	 * such windows are left out.
	 */
	GROVE_USAGE_BLOCK
};

enum grove_usage_flags {
	GROVE_USAGE_STACK = 1  /* each row also by model: grove_usage_stack_at() */
};

struct grove_usage_options {
	size_t size;
	enum grove_usage_by by;
	/* Called for each session file that could not be read, and then skipped. May be NULL. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	/*
	 * A file of prices, see grove-usage(1), which override grove's own. NULL:
	 * $GROVE_PRICES, or grove/prices.json in $XDG_CONFIG_HOME or ~/.config.
	 */
	const char *prices;
	/* Only replies of this time. */
	struct grove_period period;
	/* The time zone of days, as for grove_zone_offset(); NULL: UTC. */
	const char *tz;
	unsigned flags;           /* enum grove_usage_flags */
	/*
	 * Only sessions of this directory or of one below it; without a slash: of every
	 * directory of that name. NULL: all.
	 */
	const char *project;
	const char *agent;        /* only sessions of this agent; NULL: all */
	const char *session;      /* only the session with this id, and its sub-agents; NULL: all */
	/* The maximum number of rows: the largest, or the latest. Totals cover all. 0: no limit. */
	size_t limit;
};

struct grove_usage_row {
	const char *key;          /* "" if unknown; NULL in totals */
	uint64_t input, output, cache_read, cache_write;
	uint64_t total;           /* the sum of these four */
	double cost;              /* US dollars, of the replies that have a cost … */
	int has_cost;             /* … 0 if none of them has */
	double estimated;         /* the part of it that is estimated from list prices */
	uint64_t unpriced;        /* replies without a cost */
	/* With GROVE_USAGE_BLOCK: when the window begins and ends; else 0. */
	struct grove_period period;
};

/* A model whose replies have no cost: none was recorded, and its price is unknown. */
struct grove_usage_unpriced {
	const char *model;        /* "" if unknown */
	uint64_t replies, total;
};

struct grove_usage;
/*
 * Computes the usage of all sessions. `opt` may be NULL, which means by day. Returns
 * GROVE_EINVAL if the time zone or the file of prices is invalid, GROVE_ENOTFOUND if that
 * file does not exist.
 */
GROVE_API int grove_usage(struct grove *g, const struct grove_usage_options *opt,
			  struct grove_usage **out);
GROVE_API const struct grove_usage_row *grove_usage_totals(const struct grove_usage *u);
GROVE_API size_t grove_usage_count(const struct grove_usage *u);
/* Times are in order; everything else is sorted by `total`, largest first. NULL after the last. */
GROVE_API const struct grove_usage_row *grove_usage_at(const struct grove_usage *u, size_t i);
/*
 * The part of row `row` that one model used, whose name is the key, largest `total`
 * first. Returns NULL after the last, and if the usage was not asked for it.
 */
GROVE_API const struct grove_usage_row *grove_usage_stack_at(const struct grove_usage *u, size_t row,
							     size_t i);
/* Sorted by `total`, largest first. Returns NULL after the last. */
GROVE_API const struct grove_usage_unpriced *grove_usage_unpriced_at(const struct grove_usage *u,
								     size_t i);
GROVE_API void grove_usage_free(struct grove_usage *u);
/* Appends the usage as `usage --json` prints it. */
GROVE_API int grove_usage_json(const struct grove_usage *u, struct grove_buf *out);

struct grove_view;
/*
 * Writes the tokens of every reply in one session, on all branches, in the order in which
 * the replies were written, as columns in JSON: {seq, time, context, output, cost}. `seq`
 * is the line of the entry, `time` in ms since 1970 or null, `context` the tokens that
 * were sent, including cached ones, and `cost` is null if it is unknown. Sub-agents have
 * sessions of their own and are left out. Reads the session.
 */
GROVE_API int grove_view_usage(const struct grove_view *v, struct grove_sink sink);

#ifdef __cplusplus
}
#endif
#endif
