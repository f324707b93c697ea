/*
 * catalog/replies.c: replies that were paid for, each once.
 */
#include "catalog/replies.h"

#include "base/array.h"
#include "sys/clock.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_SLOTS 1024u
#define MODELS_MAX 0x7fffffffu
/* The largest whole number that all readers of our output agree on. */
#define COUNT_MAX 9007199254740991.0

static struct grove_slice model_name(const void *owner, uint32_t i)
{
	const struct grove__replies *rs = owner;

	return grove__slice_str(rs->models[i]);
}

void grove__replies_init(struct grove__replies *rs)
{
	memset(rs, 0, sizeof(*rs));
	/* keys come from files that may be hostile */
	grove__sys_random(rs->seed, sizeof(rs->seed));
	grove__idmap_init(&rs->model_map, rs->seed[0], model_name, rs);
	grove__arena_init(&rs->texts);
}

void grove__replies_release(struct grove__replies *rs)
{
	free(rs->all);
	free(rs->slots);
	free(rs->models);
	grove__idmap_release(&rs->model_map);
	grove__arena_release(&rs->texts);
}

static int place_model(struct grove__replies *rs, struct grove_slice name, uint32_t *out)
{
	uint32_t old;
	int rc;

	name.len = name.len ? strnlen(name.ptr, name.len) : 0;
	*out = grove__idmap_get(&rs->model_map, name);
	if (*out != GROVE__IDMAP_NONE)
		return 0;
	if (rs->nr_models >= MODELS_MAX)
		return GROVE_ETOOBIG;
	rc = grove__array_room(&rs->models, &rs->cap_models, rs->nr_models, sizeof(*rs->models));
	if (rc)
		return rc;
	*out = (uint32_t)rs->nr_models;
	rs->models[*out] = grove__arena_dup(&rs->texts, name);
	if (!rs->models[*out])
		return GROVE_ENOMEM;
	rc = grove__idmap_put(&rs->model_map, name, *out, &old);
	rs->nr_models += !rc;
	return rc;
}

static int grow(struct grove__replies *rs)
{
	size_t nr = rs->slots ? (rs->mask + 1) * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return GROVE_ENOMEM;
	for (size_t i = 0; rs->slots && i <= rs->mask; i++) {
		size_t at;

		if (!rs->slots[i])
			continue;
		at = rs->all[rs->slots[i] - 1].hash[0] & (nr - 1);
		while (slots[at])
			at = (at + 1) & (nr - 1);
		slots[at] = rs->slots[i];
	}
	free(rs->slots);
	rs->slots = slots;
	rs->mask = nr - 1;
	return 0;
}

/* Where a reply is, or belongs. */
static uint32_t *probe(const struct grove__replies *rs, const uint64_t hash[2])
{
	size_t at = hash[0] & rs->mask;

	for (;; at = (at + 1) & rs->mask) {
		const struct grove__reply *r;

		if (!rs->slots[at])
			return &rs->slots[at];
		r = &rs->all[rs->slots[at] - 1];
		if (r->hash[0] == hash[0] && r->hash[1] == hash[1])
			return &rs->slots[at];
	}
}

static double within(double n)
{
	return n < COUNT_MAX ? n : COUNT_MAX;
}

static uint64_t count(double n)
{
	return (uint64_t)within(n);
}

static int more(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Which of two lines tells more? */
static int compare_counts(const struct grove__reply *a, const struct grove__reply *b)
{
	int c = more(a->input + a->output + a->cache_read + a->cache_write,
		     b->input + b->output + b->cache_read + b->cache_write);

	c = c ? c : more(a->output, b->output);
	c = c ? c : more(a->input, b->input);
	c = c ? c : more(a->cache_read, b->cache_read);
	if (c)
		return c;
	if (isnan(a->cost) || isnan(b->cost))
		return (int)isnan(b->cost) - (int)isnan(a->cost);
	return a->cost < b->cost ? -1 : a->cost > b->cost;
}

/* Lines without a time come behind all others. */
static bool is_earlier(const struct grove__reply *a, const struct grove__reply *b)
{
	if (a->time != b->time)
		return b->time == GROVE_NO_TIME || (a->time != GROVE_NO_TIME && a->time < b->time);
	return a->log < b->log;
}

static void merge(struct grove__reply *old, const struct grove__reply *r)
{
	if (compare_counts(r, old) > 0) {
		old->input = r->input;
		old->output = r->output;
		old->cache_read = r->cache_read;
		old->cache_write = r->cache_write;
		old->cost = r->cost;
	}
	if (is_earlier(r, old)) {
		old->time = r->time;
		old->log = r->log;
		old->model = r->model;
	}
	old->told |= r->told;
}

int grove__replies_add(struct grove__replies *rs, const struct grove__billed *x, uint32_t log,
		       bool subs)
{
	struct grove__reply r = {
		.time = x->time, .input = count(x->input), .output = count(x->output),
		.cache_read = count(x->cache_read), .cache_write = count(x->cache_write),
		.cost = x->has_cost ? within(x->cost) : (double)NAN, .log = log,
		.told = x->of_subs && subs,
	};
	uint32_t *slot = NULL, model = 0;
	int rc;

	if (!(r.input | r.output | r.cache_read | r.cache_write) && !(r.cost > 0))
		return 0;
	rc = place_model(rs, x->model, &model);
	r.model = model & MODELS_MAX;
	if (!rc && x->key.len) {
		if (!rs->slots || rs->used >= rs->mask - rs->mask / 4)
			rc = grow(rs);
		if (rc)
			return rc;
		for (int i = 0; i < 2; i++)
			r.hash[i] = grove__hash(rs->seed[i], x->key.ptr, x->key.len);
		slot = probe(rs, r.hash);
		if (*slot) {
			merge(&rs->all[*slot - 1], &r);
			return 0;
		}
	}
	if (!rc && rs->nr >= UINT32_MAX - 1)
		rc = GROVE_ETOOBIG;
	rc = rc ? rc : grove__array_room(&rs->all, &rs->cap, rs->nr, sizeof(*rs->all));
	if (rc)
		return rc;
	rs->all[rs->nr++] = r;
	if (slot) {
		*slot = (uint32_t)rs->nr;
		rs->used++;
	}
	return 0;
}
