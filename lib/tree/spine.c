/*
 * tree/spine.c: the index of a log.
 *
 * One writer adds rows in the order of the log, while readers use the rows that were
 * there when they took their count. No lock protects a row, so these rules do:
 *
 *     blocks    never move: each is one allocation, twice as large as the one before,
 *               so the highest bit of a row's number tells its block
 *     a row     is complete before `nr` counts it. After that only its flags and its
 *               links to children change, and these are stored atomically
 *     links     are made by grove__tree_link(), for rows from `linked` on. A reader that
 *               follows one to a row beyond its count stops there: children are only
 *               added at the end, so all further ones are beyond it, too
 *     the map   from ids to rows grows by moving, so it has a lock, once there are readers
 *
 * If memory runs out half way, traces of the row remain (an id in the map, a parent to
 * look for), though `nr` does not count it. The image is then spoilt, and nothing is
 * added to it any more.
 */
#include "tree/spine.h"

#include "base/array.h"

#include <stdlib.h>

static struct grove_slice name_of_row(const void *owner, uint32_t row)
{
	return grove__spine_name(grove__spine_id(owner, row));
}

struct grove__spine *grove__spine_new(uint64_t seed)
{
	struct grove__spine *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (pthread_rwlock_init(&s->ids_lock, NULL)) {
		free(s);
		return NULL;
	}
	s->root_first = s->root_last = GROVE_NO_ENTRY;
	grove__arena_init(&s->names);
	grove__idmap_init(&s->ids, seed, name_of_row, s);
	return s;
}

void grove__spine_free(struct grove__spine *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS; i++) {
		char *mem = (char *)s->block[i].pos; /* the block's one allocation */

		/* the first blocks may be in a cache file that is mapped, which is not ours to free */
		if (!s->ice || mem < s->ice || mem >= s->ice + s->ice_len)
			free(mem);
	}
	grove__idmap_release(&s->ids);
	grove__arena_release(&s->names);
	pthread_rwlock_destroy(&s->ids_lock);
	free(s->pending);
	free(s->labels);
	free(s);
}

struct grove_slice grove__spine_name(const char *id)
{
	uint32_t len;

	if (!id)
		return grove__slice(NULL, 0);
	memcpy(&len, id - sizeof(len), sizeof(len));
	return grove__slice(id, len);
}

/* Stores a name: its length, its bytes, a NUL. */
static const char *keep(struct grove__spine *s, struct grove_slice name)
{
	uint32_t len = (uint32_t)name.len;
	char *p;

	if (name.len >= UINT32_MAX)
		return NULL;
	p = grove__arena_alloc(&s->names, sizeof(len) + name.len + 1, 1);
	if (!p)
		return NULL;
	memcpy(p, &len, sizeof(len));
	p += sizeof(len);
	if (name.len)
		memcpy(p, name.ptr, name.len);
	p[name.len] = '\0';
	return p;
}

size_t grove__spine_block_size(size_t rows)
{
	return rows * (4 * sizeof(uint64_t) + 6 * sizeof(uint32_t) + sizeof(uint16_t) + 2);
}

/* Widest fields first, so that all stay aligned. */
void grove__spine_lay_block(struct grove__block *b, char *mem, size_t rows)
{
	b->pos = (void *)mem;
	b->len = b->pos + rows;
	b->time = (int64_t *)(b->len + rows);
	b->id = (uint64_t *)(b->time + rows);
	b->line = (uint32_t *)(b->id + rows);
	b->crc = b->line + rows;
	b->parent = b->crc + rows;
	b->child = b->parent + rows;
	b->last = b->child + rows;
	b->sibling = b->last + rows;
	b->flags = (uint16_t *)(b->sibling + rows);
	b->kind = (uint8_t *)(b->flags + rows);
	b->role = b->kind + rows;
}

static int open_block(struct grove__block *b, size_t rows)
{
	char *p = malloc(grove__spine_block_size(rows));

	if (!p)
		return GROVE_ENOMEM;
	grove__spine_lay_block(b, p, rows);
	return 0;
}

static int add_label(struct grove__spine *s, const struct grove__entry *e, uint32_t row)
{
	struct grove__label_event *ev;

	if (grove__array_room(&s->labels, &s->cap_labels, s->nr_labels, sizeof(*s->labels)))
		return GROVE_ENOMEM;
	ev = &s->labels[s->nr_labels];
	ev->row = row;
	ev->target = keep(s, e->target);
	ev->text = e->text.len ? keep(s, e->text) : NULL;
	if (!ev->target || (e->text.len && !ev->text))
		return GROVE_ENOMEM;
	s->nr_labels++;
	return 0;
}

/*
 * Finds the row that `e` names as its parent; if it does not exist yet, remembers to
 * look again.
 */
static int find_parent(struct grove__spine *s, const struct grove__entry *e, uint32_t row,
		       uint32_t *parent)
{
	struct grove__pending *p;

	*parent = GROVE_NO_ENTRY;
	if (e->parent_is != PARENT_NAMED)
		return 0;
	/* nearly always the previous line */
	if (row && grove__slice_eq(grove__spine_name(grove__spine_id(s, row - 1)), e->parent) &&
	    grove__spine_id(s, row - 1)) {
		*parent = row - 1;
		return 0;
	}
	*parent = grove__idmap_get(&s->ids, e->parent);
	if (*parent != GROVE__IDMAP_NONE)
		return 0;
	*parent = GROVE_NO_ENTRY;
	if (grove__array_room(&s->pending, &s->cap_pending, s->nr_pending, sizeof(*s->pending)))
		return GROVE_ENOMEM;
	p = &s->pending[s->nr_pending];
	p->row = row;
	p->parent = keep(s, e->parent);
	if (!p->parent)
		return GROVE_ENOMEM;
	s->nr_pending++;
	return 0;
}

static int add_id(struct grove__spine *s, struct grove__block *b, uint32_t at, uint32_t row,
		  struct grove_slice id)
{
	uint32_t old, mine;
	int rc;

	b->id[at] = grove__ice_distance(s->base, keep(s, id));
	if (!b->id[at])
		return GROVE_ENOMEM;
	/* what is said about an entry under its id does not replace it */
	if (b->flags[at] & ROW_ASIDE && grove__idmap_get(&s->ids, id) != GROVE__IDMAP_NONE)
		return 0;
	/* before the first link nobody else uses the spine */
	if (s->shared)
		pthread_rwlock_wrlock(&s->ids_lock);
	rc = grove__idmap_put(&s->ids, id, row, &old);
	/*
	 * The last line with an id counts. But if readers already know the row of an
	 * earlier one, its id must not lead elsewhere under their feet: the map keeps that
	 * row, grove__tree_link() returns GROVE_ESTALE because of `duplicates`, and the
	 * session loads a new spine, in which the later row wins.
	 */
	if (!rc && old < s->linked)
		rc = grove__idmap_put(&s->ids, id, old, &mine);
	if (s->shared)
		pthread_rwlock_unlock(&s->ids_lock);
	if (!rc && old != GROVE__IDMAP_NONE) {
		if (old >= s->linked)
			grove__spine_set_flag(s, old, ROW_SUPERSEDED);
		s->duplicates = true;
		s->nr_duplicates++;
	}
	return rc;
}

int grove__spine_add(struct grove__spine *s, const struct grove__entry *e,
		     uint64_t pos, uint64_t len, uint64_t line, uint32_t crc)
{
	uint32_t row = s->nr, at, parent;
	struct grove__block *b = grove__spine_at(s, row, &at);
	int rc;

	if (row >= GROVE_NO_ENTRY - GROVE__SPINE_FIRST || line > UINT32_MAX)
		return GROVE_ETOOBIG;
	if (!at && !b->pos && open_block(b, (size_t)GROVE__SPINE_FIRST << (b - s->block)))
		return GROVE_ENOMEM;
	rc = find_parent(s, e, row, &parent);
	if (rc)
		return rc;
	b->pos[at] = pos;
	b->len[at] = len;
	b->time[at] = e->time;
	b->line[at] = (uint32_t)line;
	b->crc[at] = crc;
	b->parent[at] = parent;
	b->child[at] = b->last[at] = b->sibling[at] = GROVE_NO_ENTRY;
	b->flags[at] = (uint16_t)((e->has_id ? 0 : ROW_NO_ID) | (e->leaf_mark ? ROW_LEAF_MARK : 0) |
				  (e->parent_is == PARENT_ABSENT ? ROW_PARENT_ABSENT : 0) |
				  (e->aside ? ROW_ASIDE : 0) | (e->hollow ? ROW_HOLLOW : 0));
	b->kind[at] = e->kind;
	b->role[at] = e->role;
	b->id[at] = 0;
	if (e->has_id) {
		rc = add_id(s, b, at, row, e->id);
		if (rc)
			return rc;
	}
	if (e->kind == GROVE_KIND_LABEL && e->target.ptr) {
		rc = add_label(s, e, row);
		if (rc)
			return rc;
	}
	if (e->names) {
		const char *name = e->text.len ? keep(s, e->text) : NULL;

		if (e->text.len && !name)
			return GROVE_ENOMEM;
		if (e->weak)
			s->weak_name = name;
		else
			s->name = name;
	}
	s->nr = row + 1;
	return 0;
}

uint32_t grove__spine_from_line(const struct grove__spine *s, uint32_t nr, uint64_t line)
{
	uint32_t lo = 0, hi = nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (grove__spine_line(s, mid) < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t grove__spine_from_pos(const struct grove__spine *s, uint32_t from, uint64_t pos)
{
	uint32_t lo = from, hi = s->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (grove__spine_pos(s, mid) < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t grove__spine_find(const struct grove__spine *s, uint32_t nr, struct grove_slice id)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)(uintptr_t)&s->ids_lock;
	uint32_t row;

	pthread_rwlock_rdlock(lock);
	row = grove__idmap_get(&s->ids, id);
	pthread_rwlock_unlock(lock);
	return row < nr ? row : GROVE_NO_ENTRY;
}

void grove__spine_set_parent(struct grove__spine *s, uint32_t row, uint32_t parent)
{
	uint32_t at;
	struct grove__block *b = grove__spine_at(s, row, &at);

	b->parent[at] = parent;
}

void grove__spine_set_flag(struct grove__spine *s, uint32_t row, unsigned flag)
{
	uint32_t at;
	struct grove__block *b = grove__spine_at(s, row, &at);

	__atomic_fetch_or(&b->flags[at], (uint16_t)flag, __ATOMIC_RELAXED);
}

static void set(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

/*
 * Readers walk from the first child along the siblings, so the last child must lead to
 * the new one before it stops being the last. `last` is only the writer's.
 */
void grove__spine_link_child(struct grove__spine *s, uint32_t row)
{
	uint32_t parent = grove__spine_parent(s, row), at, prev;
	uint32_t *first, *last;
	struct grove__block *b;

	if (parent == GROVE_NO_ENTRY) {
		first = &s->root_first;
		last = &s->root_last;
	} else {
		b = grove__spine_at(s, parent, &at);
		first = &b->child[at];
		last = &b->last[at];
	}
	prev = *last;
	if (prev == GROVE_NO_ENTRY) {
		set(first, row);
	} else {
		b = grove__spine_at(s, prev, &at);
		set(&b->sibling[at], row);
	}
	set(last, row);
}
