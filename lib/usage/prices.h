/*
 * usage/prices.h: what models cost, for replies whose agent did not note it.
 *
 * The list is data/prices.json: the installed file, or if there is none the copy of
 * it that the library was built with. What a user says comes before it: the file
 * that is asked for, else $GROVE_PRICES, else prices.json beside grove's
 * configuration. A model that neither has gets no price, whatever its name is like.
 */
#ifndef GROVE_USAGE_PRICES_H
#define GROVE_USAGE_PRICES_H

#include "session/session.h"
#include "usage/replies.h"

enum grove__rate { RATE_INPUT, RATE_OUTPUT, RATE_CACHE_READ, RATE_CACHE_WRITE, RATE_CACHE_WRITE_LONG,
		   RATES };

struct grove__price {
	double rate[RATES];              /* US dollars for a million tokens; NaN: not known */
	/* If more than so many tokens were sent, those of the cache included, these hold. */
	double above;                    /* NaN: never */
	double rate_above[RATES];
};

struct grove__prices {
	struct grove__price *list;
	size_t nr, cap;
	struct {
		const char *model;
		uint32_t price;
	} *names;
	size_t nr_names, cap_names;
	struct grove__idmap map;
	struct grove__arena texts;
};

/* The struct must stay where it is from here on; release it also after a failure. */
void grove__prices_init(struct grove__prices *p);
void grove__prices_release(struct grove__prices *p);
/*
 * Read all that holds here; `file` NULL: none was asked for. GROVE_ENOTFOUND,
 * GROVE_EIO or GROVE_EINVAL if a file that was named cannot be used.
 */
int grove__prices_load(struct grove__prices *p, struct grove *g, const char *file,
		       struct grove_detail *d);
/*
 * Add the prices of a text; models that have one already keep it. `path` is for
 * the story. GROVE_EINVAL if it is not such a list.
 */
int grove__prices_add(struct grove__prices *p, struct grove_slice text, const char *path,
		      struct grove_detail *d);
/* NULL: there is none. */
const struct grove__price *grove__prices_find(const struct grove__prices *p, const char *model);
/* NaN: it used something that has no price. */
double grove__prices_of(const struct grove__price *price, const struct grove__reply *r);

/* The list that the library was built with (made of data/prices.json). */
extern const char grove__prices_built_in[];

#endif
