/*
 * usage/prices.h: the prices of models, for replies whose agent recorded no cost.
 *
 * The list is data/prices.json: the installed file, or else the copy that the library
 * was built with. A user's file overrides it: the one that was given, else
 * $GROVE_PRICES, else grove/prices.json in the configuration directory. A model that
 * neither has gets no price, whatever its name is like.
 */
#ifndef GROVE_USAGE_PRICES_H
#define GROVE_USAGE_PRICES_H

#include "session/session.h"
#include "digest/replies.h"

enum grove__rate { RATE_INPUT, RATE_OUTPUT, RATE_CACHE_READ, RATE_CACHE_WRITE, RATE_CACHE_WRITE_LONG,
		   RATES };

struct grove__price {
	double rate[RATES];              /* US dollars per million tokens; NaN: unknown */
	/*
	 * If more than this many tokens were sent, including those of the cache, these
	 * rates apply.
	 */
	double above;                    /* NaN: never */
	double rate_above[RATES];
};

struct grove__prices {
	struct grove__price *list;
	size_t nr, cap;
	struct {
		const char *model;
		uint32_t price;
		uint32_t of;             /* the name whose version of some date this is, or itself */
	} *names;
	size_t nr_names, cap_names;
	struct grove__idmap map;
	struct grove__arena texts;
};

/* The struct must not move from now on; release it even after a failure. */
void grove__prices_init(struct grove__prices *p);
void grove__prices_release(struct grove__prices *p);
/*
 * Reads all that applies; `file` NULL: none was given. GROVE_ENOTFOUND, GROVE_EIO or
 * GROVE_EINVAL if a named file cannot be used.
 */
int grove__prices_load(struct grove__prices *p, struct grove *g, const char *file,
		       struct grove_detail *d);
/*
 * Adds the prices of a text; models that already have one keep it. `path` is for
 * messages. GROVE_EINVAL if it is not such a list.
 */
int grove__prices_add(struct grove__prices *p, struct grove_slice text, const char *path,
		      struct grove_detail *d);
/* Returns NULL if there is none. */
const struct grove__price *grove__prices_find(const struct grove__prices *p, const char *model);
/*
 * Makes replies of dated versions of a model replies of that model, if both are among them.
 * GROVE_ENOMEM.
 */
int grove__prices_unite(const struct grove__prices *p, struct grove__replies *rs);
/* Returns NaN if it used something that has no price. */
double grove__prices_of(const struct grove__price *price, const struct grove__reply *r);

/* The list that the library was built with (made of data/prices.json). */
extern const char grove__prices_built_in[];

#endif
