/* digest/outline.c: the shape of a regular log. */
#include "digest/outline.h"

#include "base/idmap.h"
#include "image/model.h"
#include "sys/clock.h"

#include <stdlib.h>

#define CAP_MIN ((size_t)256)
#define CAP_KEPT ((size_t)1 << 14)       /* after a larger log, the next one begins anew */

void grove__outline_begin(struct grove__outline *o, const struct grove__dialect *dialect)
{
	if (o->cap > CAP_KEPT) {
		free(o->slots);
		o->slots = NULL;
		o->cap = 0;
	}
	if (o->entries)
		memset(o->slots, 0, o->cap * sizeof(*o->slots));
	if (!o->seed)
		o->seed = grove__sys_seed();
	o->entries = o->branches = o->compactions = 0;
	o->irregular = !grove__model_is_path(dialect) || grove__dialect_linear(dialect);
	grove__buf_clear(&o->last);
}

void grove__outline_release(struct grove__outline *o)
{
	free(o->slots);
	grove__buf_release(&o->last);
}

static struct grove__outline_entry *probe(const struct grove__outline *o, uint64_t hash)
{
	size_t at = (size_t)hash & (o->cap - 1);

	while (o->slots[at].hash && o->slots[at].hash != hash)
		at = (at + 1) & (o->cap - 1);
	return &o->slots[at];
}

static int grow(struct grove__outline *o)
{
	struct grove__outline_entry *old = o->slots;
	size_t nr = o->cap;

	o->cap = nr ? 2 * nr : CAP_MIN;
	o->slots = calloc(o->cap, sizeof(*o->slots));
	if (!o->slots) {
		o->slots = old;
		o->cap = nr;
		return GROVE_ENOMEM;
	}
	for (size_t i = 0; i < nr; i++)
		if (old[i].hash)
			*probe(o, old[i].hash) = old[i];
	free(old);
	return 0;
}

static uint64_t hash_of(const struct grove__outline *o, struct grove_slice id)
{
	return grove__idmap_hash(o->seed, id.ptr, id.len) | 1;
}

int grove__outline_add(struct grove__outline *o, const struct grove__entry *e)
{
	struct grove__outline_entry *parent, *own;
	uint64_t hash;
	int rc = 0;

	o->irregular |= !e->has_id || e->no_object || e->aside || e->leaf_mark || e->says_leaf ||
			e->kind == GROVE_KIND_LABEL;
	if (o->irregular)
		return 0;
	if (2 * o->entries >= o->cap)
		rc = grow(o);
	if (rc)
		return rc;
	if (e->parent_is == PARENT_NAMED) {
		parent = probe(o, hash_of(o, e->parent));
		o->irregular = !parent->hash;
		o->branches += ++parent->children == 2;
	}
	hash = hash_of(o, e->id);
	own = probe(o, hash);
	o->irregular |= own->hash;
	*own = (struct grove__outline_entry){ .hash = hash };
	o->entries++;
	o->compactions += e->kind == GROVE_KIND_COMPACTION;
	grove__buf_clear(&o->last);
	return grove__buf_add_slice(&o->last, e->id);
}
