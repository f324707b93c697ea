/*
 * base/idmap.c: from a name to a number: open addressing, linear probing, at
 * most three quarters full.
 */
#include "base/idmap.h"

#include <stdlib.h>

#define FIRST_SLOTS 64u

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t load8(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The same of 1 to 8 bytes. Overlapping halves are faster than a copy whose length the compiler does not know. */
static uint64_t load(const unsigned char *p, size_t n)
{
	uint32_t low, high;

	if (n == 8)
		return load8(p);
	if (n < 4)
		return p[0] | (uint64_t)p[n / 2] << n / 2 * 8 | (uint64_t)p[n - 1] << (n - 1) * 8;
	memcpy(&low, p, sizeof(low));
	memcpy(&high, p + n - 4, sizeof(high));
	return low | (uint64_t)high << (n - 4) * 8;
}

uint64_t grove__idmap_hash(uint64_t seed, const void *ptr, size_t len)
{
	static const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd6e8feb86659fd93u;
	const unsigned char *p = ptr;
	uint64_t h = seed ^ k0;
	/*
	 * Both factors depend on the seed: with a known one, bytes that make it
	 * zero would blot out the other, and all such names collide.
	 */
	const uint64_t k = mix(h, k1) ^ k1;
	size_t n = len;

	for (; n > 16; n -= 16, p += 16)
		h = mix(load8(p) ^ k, load8(p + 8) ^ h);
	if (n > 8)
		h = mix(load8(p) ^ k, load(p + 8, n - 8) ^ h);
	else if (n)
		h = mix(load(p, n) ^ k, h ^ k1);
	return mix(h ^ len, k0);
}

void grove__idmap_init(struct grove__idmap *m, uint64_t seed,
		       grove__idmap_name_fn *name, const void *owner)
{
	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->name = name;
	m->owner = owner;
}

void grove__idmap_release(struct grove__idmap *m)
{
	if (!m->borrowed)
		free(m->slots);
	m->slots = NULL;
	m->mask = m->used = m->limit = 0;
}

void grove__idmap_borrow(struct grove__idmap *m, uint64_t *slots, uint32_t mask, uint32_t used,
			 uint32_t limit)
{
	m->slots = slots;
	m->mask = mask;
	m->used = used;
	m->limit = limit;
	m->borrowed = true;
}

/* A slot is hash in the upper half, number + 1 in the lower; 0 is empty. */
static uint32_t value_of(uint64_t slot)
{
	return (uint32_t)slot - 1;
}

static int resize(struct grove__idmap *m, uint32_t nr)
{
	uint32_t i, at;
	uint64_t *slots;

	if (!nr)
		return GROVE_ENOMEM;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return GROVE_ENOMEM;
	m->used = 0;
	for (i = 0; m->slots && i <= m->mask; i++) {
		if (!m->slots[i])
			continue;
		m->used++;
		for (at = (uint32_t)(m->slots[i] >> 32) & (nr - 1); slots[at];)
			at = (at + 1) & (nr - 1);
		slots[at] = m->slots[i];
	}
	if (!m->borrowed)
		free(m->slots);
	m->borrowed = false;
	m->slots = slots;
	m->mask = nr - 1;
	return 0;
}

static int grow(struct grove__idmap *m)
{
	return resize(m, m->slots ? (m->mask + 1) * 2 : FIRST_SLOTS);
}

void grove__idmap_expect(struct grove__idmap *m, uint64_t nr)
{
	uint64_t slots = FIRST_SLOTS;

	while (slots - slots / 4 <= nr && slots <= UINT32_MAX / 2)
		slots *= 2;
	if (slots > (m->slots ? (uint64_t)m->mask + 1 : 0))
		resize(m, (uint32_t)slots);
}

/* The slot of `name`, or the empty one where it belongs; NULL: there is neither, which only others do. */
static uint64_t *probe(const struct grove__idmap *m, struct grove_slice name, uint32_t hash)
{
	uint32_t at = hash & m->mask;

	for (uint32_t left = m->mask;; left--, at = (at + 1) & m->mask) {
		uint64_t slot = m->slots[at];

		if (!slot)
			return &m->slots[at];
		if ((uint32_t)(slot >> 32) == hash && value_of(slot) < m->limit &&
		    grove__slice_eq(m->name(m->owner, value_of(slot)), name))
			return &m->slots[at];
		if (!left)
			return NULL;
	}
}

uint32_t grove__idmap_get(const struct grove__idmap *m, struct grove_slice name)
{
	uint64_t *slot;

	if (!m->slots)
		return GROVE__IDMAP_NONE;
	slot = probe(m, name, (uint32_t)grove__idmap_hash(m->seed, name.ptr, name.len));
	return slot && *slot ? value_of(*slot) : GROVE__IDMAP_NONE;
}

void grove__idmap_hint(const struct grove__idmap *m, struct grove_slice name)
{
	if (m->slots)
		__builtin_prefetch(&m->slots[(uint32_t)grove__idmap_hash(m->seed, name.ptr, name.len) & m->mask]);
}

int grove__idmap_put(struct grove__idmap *m, struct grove_slice name,
		     uint32_t value, uint32_t *old)
{
	uint32_t hash = (uint32_t)grove__idmap_hash(m->seed, name.ptr, name.len);
	uint64_t *slot;

	if (!m->slots || m->used >= m->mask - m->mask / 4) {
		int rc = grow(m);

		if (rc)
			return rc;
	}
	slot = probe(m, name, hash);
	if (!slot) {
		if (grow(m))
			return GROVE_ENOMEM;
		slot = probe(m, name, hash);
	}
	*old = *slot ? value_of(*slot) : GROVE__IDMAP_NONE;
	if (!*slot)
		m->used++;
	*slot = (uint64_t)hash << 32 | (value + 1);
	if (value >= m->limit)
		m->limit = value + 1;
	return 0;
}
