/* digest/replies.c: billed replies, each once. */
#include "digest/replies.h"

#include "base/array.h"
#include "sys/clock.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_BITS 7
/* The largest whole number that all readers of our output represent exactly. */
#define COUNT_MAX 9007199254740991.0

/*
 * Hashes are stored, so they are the same in every run, and somebody who writes a file can
 * compute them; but to have two replies taken for one it is enough to give them the
 * same ids. What must not be predictable is their slot in the table: otherwise all
 * could be put into one place.
 */
static const uint64_t seeds[2] = { 0x67726f7665207573u, 0x6167652072657079u };

static struct grove_slice model_name(const void *owner, uint32_t i)
{
	const struct grove__replies *rs = owner;

	return grove__slice_str(rs->models[i]);
}

void grove__replies_init(struct grove__replies *rs)
{
	memset(rs, 0, sizeof(*rs));
	grove__sys_random(rs->spread, sizeof(rs->spread));
	rs->spread[0] |= 1;
	rs->spread[1] |= 1;
	grove__idmap_init(&rs->model_map, rs->spread[0], model_name, rs);
	grove__arena_init(&rs->texts);
}

void grove__replies_release(struct grove__replies *rs)
{
	free(rs->all);
	free(rs->ties);
	free(rs->slots);
	free(rs->models);
	grove__idmap_release(&rs->model_map);
	grove__arena_release(&rs->texts);
}

void grove__replies_clear(struct grove__replies *rs)
{
	/* after a large log, small ones need not clear what they do not use */
	if (rs->used < rs->nr_slots / 64) {
		free(rs->slots);
		rs->slots = NULL;
		rs->nr_slots = 0;
	}
	if (rs->slots && rs->used)
		memset(rs->slots, 0, rs->nr_slots * sizeof(*rs->slots));
	rs->nr = rs->used = rs->nr_models = rs->nr_ties = 0;
	grove__idmap_release(&rs->model_map);
	grove__idmap_init(&rs->model_map, rs->spread[0], model_name, rs);
	grove__arena_release(&rs->texts);
	grove__arena_init(&rs->texts);
}

int grove__replies_model(struct grove__replies *rs, struct grove_slice name, uint32_t *out)
{
	uint32_t old;
	int rc;

	name.len = name.len ? strnlen(name.ptr, name.len) : 0;
	*out = rs->last_model;
	if (*out < rs->nr_models && grove__slice_eq(name, grove__slice_str(rs->models[*out])))
		return 0;
	*out = grove__idmap_get(&rs->model_map, name);
	if (*out != GROVE__IDMAP_NONE) {
		rs->last_model = *out;
		return 0;
	}
	if (rs->nr_models >= GROVE__MODELS_MAX)
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
	rs->last_model = *out;
	return rc;
}

static uint64_t spread(const struct grove__replies *rs, const uint64_t hash[2])
{
	return hash[0] * rs->spread[0] + hash[1] * rs->spread[1];
}

/*
 * Finds where a reply is, or belongs. Half of the hash is stored with its index, so few
 * others are examined.
 */
static uint64_t *probe(const struct grove__replies *rs, const uint64_t hash[2], uint64_t high)
{
	size_t at = (size_t)(high >> rs->shift);

	for (;; at = (at + 1) & (rs->nr_slots - 1)) {
		const struct grove__reply *r;

		if (!rs->slots[at])
			return &rs->slots[at];
		if (rs->slots[at] >> 32 != high >> 32)
			continue;
		r = &rs->all[(uint32_t)rs->slots[at] - 1];
		if (r->hash[0] == hash[0] && r->hash[1] == hash[1])
			return &rs->slots[at];
	}
}

static int grow(struct grove__replies *rs)
{
	unsigned shift = rs->slots ? rs->shift - 1 : 64 - FIRST_BITS;
	size_t nr = (size_t)1 << (64 - shift);
	uint64_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < rs->nr_slots; i++) {
		size_t at = (size_t)((rs->slots[i] & ~(uint64_t)UINT32_MAX) >> shift);

		if (!rs->slots[i])
			continue;
		while (slots[at])
			at = (at + 1) & (nr - 1);
		slots[at] = rs->slots[i];
	}
	free(rs->slots);
	rs->slots = slots;
	rs->nr_slots = nr;
	rs->shift = shift;
	return 0;
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

/* Compares which of two lines has the larger counts. */
static int compare_counts(const struct grove__reply *a, const struct grove__reply *b)
{
	int c = more(a->input + a->output + a->cache_read + a->cache_write,
		     b->input + b->output + b->cache_read + b->cache_write);

	c = c ? c : more(a->output, b->output);
	c = c ? c : more(a->input, b->input);
	c = c ? c : more(a->cache_read, b->cache_read);
	c = c ? c : more(a->cache_write_long, b->cache_write_long);
	if (c)
		return c;
	if (isnan(a->cost) || isnan(b->cost))
		return (int)isnan(b->cost) - (int)isnan(a->cost);
	return a->cost < b->cost ? -1 : a->cost > b->cost;
}

/* Copies come after originals, and lines without a time after all others. */
static int compare_lines(const struct grove__reply *a, const struct grove__reply *b)
{
	if (a->copied != b->copied)
		return (int)a->copied - (int)b->copied;
	if (a->time == b->time)
		return 0;
	return b->time == GROVE_NO_TIME || (a->time != GROVE_NO_TIME && a->time < b->time) ? -1 : 1;
}

/* The line in the log with the smaller number is kept, until it is known which was first. */
static int add_tie(struct grove__replies *rs, uint32_t at, uint32_t log)
{
	int rc = grove__array_room(&rs->ties, &rs->cap_ties, rs->nr_ties, sizeof(*rs->ties));

	if (!rc)
		rs->ties[rs->nr_ties++] = (struct grove__reply_tie){ rs->all[at].time, at, log, rs->all[at].copied };
	return rc;
}

static int merge(struct grove__replies *rs, uint32_t at, const struct grove__reply *r)
{
	struct grove__reply *old = &rs->all[at];
	int c = compare_lines(r, old), rc = 0;

	if (compare_counts(r, old) > 0) {
		old->input = r->input;
		old->output = r->output;
		old->cache_read = r->cache_read;
		old->cache_write = r->cache_write;
		old->cache_write_long = r->cache_write_long;
		old->cost = r->cost;
	}
	if (!c && r->log != old->log)
		rc = add_tie(rs, at, r->log < old->log ? old->log : r->log);
	if (c < 0 || (!c && r->log < old->log)) {
		old->time = r->time;
		old->log = r->log;
		old->model = r->model;
		old->copied = r->copied;
	}
	old->told |= r->told;
	rs->merged++;
	return rc;
}

void grove__replies_settle(struct grove__replies *rs, const uint32_t *rank)
{
	for (size_t i = 0; i < rs->nr_ties; i++) {
		const struct grove__reply_tie *t = &rs->ties[i];
		struct grove__reply *r = &rs->all[t->reply];

		/* otherwise, a better line was found after all */
		if (r->time == t->time && r->copied == t->copied && rank[t->log] < rank[r->log])
			r->log = t->log;
	}
}

int grove__replies_merge(struct grove__replies *rs, const struct grove__reply *r)
{
	uint64_t *slot = NULL, high = 0;
	int rc = 0;

	if (!r->single) {
		/* half of a hash is enough to distinguish 2^32 slots */
		if (rs->used >= rs->nr_slots / 4 * 3)
			rc = rs->nr_slots >> 31 ? GROVE_ETOOBIG : grow(rs);
		if (rc)
			return rc;
		high = spread(rs, r->hash);
		slot = probe(rs, r->hash, high);
		if (*slot)
			return merge(rs, (uint32_t)*slot - 1, r);
	}
	if (rs->nr >= UINT32_MAX - 1)
		return GROVE_ETOOBIG;
	rc = grove__array_room(&rs->all, &rs->cap, rs->nr, sizeof(*rs->all));
	if (rc)
		return rc;
	rs->all[rs->nr++] = *r;
	if (slot) {
		*slot = (high & ~(uint64_t)UINT32_MAX) | rs->nr;
		rs->used++;
	}
	return 0;
}

int grove__replies_add(struct grove__replies *rs, const struct grove__billed *x, uint32_t log,
		       bool subs)
{
	struct grove__reply r = {
		.time = x->time, .input = count(x->input), .output = count(x->output),
		.cache_read = count(x->cache_read), .cache_write = count(x->cache_write),
		.cache_write_long = count(x->cache_write_long),
		.cost = x->has_cost ? within(x->cost) : (double)NAN, .log = log,
		.told = x->of_subs && subs, .single = !x->key.len,
		.copied = x->origin.len && !grove__slice_eq(x->origin, x->session),
	};
	uint32_t model = 0;
	int rc;

	if (!(r.input | r.output | r.cache_read | r.cache_write) && !(r.cost > 0))
		return 0;
	rc = grove__replies_model(rs, x->model, &model);
	r.model = model & GROVE__MODELS_MAX;
	for (int i = 0; i < 2 && !r.single; i++)
		r.hash[i] = grove__idmap_hash(seeds[i], x->key.ptr, x->key.len);
	return rc ? rc : grove__replies_merge(rs, &r);
}
