/*
 * tree/spine_freeze.c: a spine as one piece of bytes.
 *
 *	block 0 | block 1 | … | slots of the id map | pending | labels | names
 *
 * Blocks are laid out as in memory, including room for later rows, so that they can be
 * used in place; the room is never written, and takes no space in a file. Ids are
 * offsets in memory, too: here from just before the first name, so nothing has to be
 * converted.
 */
#include "tree/spine_freeze.h"

#include "base/array.h"
#include "base/buf.h"

#include <stdlib.h>

#define BATCH 4096u                       /* ids written at once */
#define NAMES_MAX ((size_t)256 << 10)     /* bytes of names that wait to be written */

/* Pending parents and labels, with their names as offsets. */
struct named_row {
	uint64_t row, a, b;
};

/* Returns how many rows of a block are used, among the first `nr` of all. */
static size_t rows_used(unsigned block, uint32_t nr)
{
	uint64_t first = ((uint64_t)GROVE__SPINE_FIRST << block) - GROVE__SPINE_FIRST;
	uint64_t rows = (uint64_t)GROVE__SPINE_FIRST << block;

	return nr <= first ? 0 : nr - first < rows ? (size_t)(nr - first) : (size_t)rows;
}

/* The arrays of a block, except for the ids. */
#define ARRAYS 12
struct array {
	char *ptr;
	size_t width;
};

static void arrays_of(const struct grove__block *b, struct array out[ARRAYS])
{
	const struct array all[ARRAYS] = {
		{ (char *)b->pos, 8 }, { (char *)b->len, 8 }, { (char *)b->time, 8 },
		{ (char *)b->line, 4 }, { (char *)b->crc, 4 }, { (char *)b->parent, 4 },
		{ (char *)b->child, 4 }, { (char *)b->last, 4 }, { (char *)b->sibling, 4 },
		{ (char *)b->flags, 2 }, { (char *)b->kind, 1 }, { (char *)b->role, 1 },
	};

	memcpy(out, all, sizeof(all));
}

/* ----------------------------------------------------------------- freezing */

struct freezing {
	struct grove__ice *ice;
	grove__ice_fn *fn;
	void *payload;
	struct grove_buf names;   /* those that are not written yet; names_len counts the others */
	uint64_t ids[BATCH];
};

static int write_at(struct freezing *f, uint64_t at, const void *ptr, size_t len)
{
	return len ? f->fn(f->payload, at, ptr, len) : 0;
}

static int put_names(struct freezing *f)
{
	int rc = write_at(f, f->ice->names + f->ice->names_len, f->names.ptr, f->names.len);

	f->ice->names_len += f->names.len;
	grove__buf_clear(&f->names);
	return rc;
}

/* Adds a name, and returns its offset; 0 for NULL. */
static int add_name(struct freezing *f, const char *name, uint64_t *at)
{
	struct grove_slice s = grove__spine_name(name);
	uint32_t len = (uint32_t)s.len;

	*at = 0;
	if (!name)
		return 0;
	if (grove__buf_add(&f->names, (const char *)&len, sizeof(len)))
		return GROVE_ENOMEM;
	*at = f->ice->names_len + f->names.len + 1;
	if (grove__buf_add(&f->names, s.ptr, s.len + 1))
		return GROVE_ENOMEM;
	return f->names.len < NAMES_MAX ? 0 : put_names(f);
}

static int freeze_ids(struct freezing *f, const struct grove__spine *s, const uint64_t *id, size_t nr, uint64_t at)
{
	int rc = 0;

	for (size_t from = 0, n; from < nr && !rc; from += n) {
		n = nr - from < BATCH ? nr - from : BATCH;
		for (size_t i = 0; i < n && !rc; i++)
			rc = add_name(f, grove__ice_pointer(s->base, id[from + i]), &f->ids[i]);
		if (!rc)
			rc = write_at(f, at + from * sizeof(*id), f->ids, n * sizeof(*id));
	}
	return rc;
}

static int freeze_blocks(struct freezing *f, const struct grove__spine *s)
{
	int rc = 0;

	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && !rc; i++) {
		size_t used = rows_used(i, s->nr);
		const struct grove__block *b = &s->block[i];
		uint64_t at = f->ice->block[i];
		struct array all[ARRAYS];

		if (!used)
			break;
		rc = freeze_ids(f, s, b->id, used, at + (uint64_t)((char *)b->id - (char *)b->pos));
		arrays_of(b, all);
		for (size_t k = 0; k < ARRAYS && !rc; k++)
			rc = write_at(f, at + (uint64_t)(all[k].ptr - (char *)b->pos), all[k].ptr, used * all[k].width);
	}
	return rc;
}

static int freeze_lists(struct freezing *f, const struct grove__spine *s)
{
	struct named_row row;
	int rc = 0;

	for (size_t i = 0; i < s->nr_pending && !rc; i++) {
		row = (struct named_row){ .row = s->pending[i].row };
		rc = add_name(f, s->pending[i].parent, &row.a);
		rc = rc ? rc : write_at(f, f->ice->pending + i * sizeof(row), &row, sizeof(row));
	}
	for (size_t i = 0; i < s->nr_labels && !rc; i++) {
		row = (struct named_row){ .row = s->labels[i].row };
		rc = add_name(f, s->labels[i].target, &row.a);
		rc = rc ? rc : add_name(f, s->labels[i].text, &row.b);
		rc = rc ? rc : write_at(f, f->ice->labels + i * sizeof(row), &row, sizeof(row));
	}
	return rc;
}

/* Decides where everything goes. The names come last, so they can be written as they are collected. */
static void lay_out(struct grove__ice *ice, const struct grove__spine *s, size_t slots, uint64_t at)
{
	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && rows_used(i, s->nr); i++) {
		ice->block[i] = at;
		at = grove__ice_page_up(at + grove__spine_block_size((size_t)GROVE__SPINE_FIRST << i));
	}
	ice->slots = at;
	ice->pending = grove__ice_page_up(at + slots * sizeof(*s->ids.slots));
	ice->labels = ice->pending + s->nr_pending * sizeof(struct named_row);
	ice->names = grove__ice_page_up(ice->labels + s->nr_labels * sizeof(struct named_row));
}

int grove__spine_freeze(const struct grove__spine *s, uint64_t at, struct grove__ice *ice,
			grove__ice_fn *fn, void *payload)
{
	struct freezing *f = calloc(1, sizeof(*f));
	size_t slots = s->ids.slots ? (size_t)s->ids.mask + 1 : 0;
	int rc;

	memset(ice, 0, sizeof(*ice));
	if (!f)
		return GROVE_ENOMEM;
	f->ice = ice;
	f->fn = fn;
	f->payload = payload;
	ice->nr = s->nr;
	ice->linked = s->linked;
	ice->root_first = s->root_first;
	ice->root_last = s->root_last;
	ice->mask = s->ids.mask;
	ice->used = s->ids.used;
	ice->seed = s->ids.seed;
	ice->nr_pending = s->nr_pending;
	ice->nr_labels = s->nr_labels;
	ice->nr_orphans = s->nr_orphans;
	ice->nr_cycles = s->nr_cycles;
	ice->nr_duplicates = s->nr_duplicates;
	lay_out(ice, s, slots, at);
	rc = freeze_blocks(f, s);
	rc = rc ? rc : write_at(f, ice->slots, s->ids.slots, slots * sizeof(*s->ids.slots));
	rc = rc ? rc : freeze_lists(f, s);
	rc = rc ? rc : add_name(f, s->name, &ice->name);
	rc = rc ? rc : add_name(f, s->weak_name, &ice->weak_name);
	rc = rc ? rc : put_names(f);
	ice->end = ice->names + ice->names_len;
	grove__buf_release(&f->names);
	free(f);
	return rc;
}

/* ------------------------------------------------------------------ thawing */

struct thawing {
	const struct grove__ice *ice;
	char *bytes;
	struct grove__spine *s;
	bool bad;                 /* an invalid name, or row */
};

static const char *name_at(struct thawing *t, uint64_t at)
{
	const char *names = t->bytes + t->ice->names;

	t->bad |= at && !grove__spine_name_fits(names, t->ice->names_len, at);
	return t->bad ? NULL : grove__ice_pointer(t->s->base, at);
}

/* True if the next part is where it was put, and fits; *at becomes its end. */
static bool lies(uint64_t where, uint64_t *at, uint64_t nr, uint64_t item, uint64_t len)
{
	if (where != *at || where > len || nr > (len - where) / item)
		return false;
	*at = where + nr * item;
	return true;
}

static void page_up(uint64_t *at)
{
	*at = grove__ice_page_up(*at);
}

/* True if all parts are where freezing puts them, in the order of grove__spine_freeze(). */
static bool sane(const struct grove__ice *ice, size_t len)
{
	uint64_t slots = ice->mask ? (uint64_t)ice->mask + 1 : 0, at = ice->nr ? ice->block[0] : ice->slots;
	bool ok = !(slots & (slots - 1)) && ice->linked == ice->nr && ice->nr_pending <= ice->nr && ice->nr_labels <= ice->nr && at &&
		  at % GROVE__ICE_PAGE == 0;

	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && rows_used(i, ice->nr) && ok; i++) {
		ok = lies(ice->block[i], &at, 1, grove__spine_block_size((size_t)GROVE__SPINE_FIRST << i), len);
		page_up(&at);
	}
	ok = ok && lies(ice->slots, &at, slots, sizeof(uint64_t), len);
	page_up(&at);
	ok = ok && lies(ice->pending, &at, ice->nr_pending, sizeof(struct named_row), len) &&
	     lies(ice->labels, &at, ice->nr_labels, sizeof(struct named_row), len);
	page_up(&at);
	ok = ok && lies(ice->names, &at, ice->names_len, 1, len);
	return ok && ice->end == at;
}

static int thaw_lists(struct thawing *t)
{
	const struct grove__ice *ice = t->ice;
	struct grove__spine *s = t->s;
	const struct named_row *row = (const void *)(t->bytes + ice->pending);

	for (; s->nr_pending < ice->nr_pending; row++) {
		if (grove__array_room(&s->pending, &s->cap_pending, s->nr_pending, sizeof(*s->pending)))
			return GROVE_ENOMEM;
		t->bad |= row->row >= ice->nr || !row->a;
		s->pending[s->nr_pending++] =
			(struct grove__pending){ (uint32_t)row->row, name_at(t, row->a) };
	}
	row = (const void *)(t->bytes + ice->labels);
	for (; s->nr_labels < ice->nr_labels; row++) {
		if (grove__array_room(&s->labels, &s->cap_labels, s->nr_labels, sizeof(*s->labels)))
			return GROVE_ENOMEM;
		t->bad |= row->row >= ice->nr || !row->a;
		s->labels[s->nr_labels++] = (struct grove__label_event){
			(uint32_t)row->row, name_at(t, row->a), name_at(t, row->b)
		};
	}
	return 0;
}

struct grove__spine *grove__spine_thaw(const struct grove__ice *ice, char *bytes, size_t len,
				       uint64_t tail)
{
	struct thawing t = { .ice = ice, .bytes = bytes };
	struct grove__spine *s = sane(ice, len) ? grove__spine_new(ice->seed) : NULL;

	if (!s)
		return NULL;
	t.s = s;
	s->ice = bytes;
	s->ice_len = len;
	s->base = bytes + ice->names - 1;
	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && rows_used(i, ice->nr); i++)
		grove__spine_lay_block(&s->block[i], bytes + ice->block[i],
				       (size_t)GROVE__SPINE_FIRST << i);
	if (ice->mask)
		grove__idmap_borrow(&s->ids, (void *)(bytes + ice->slots), ice->mask, ice->used, ice->nr);
	s->nr = ice->nr;
	s->linked = ice->linked;
	s->shared = true;
	s->root_first = ice->root_first;
	s->root_last = ice->root_last;
	s->nr_orphans = ice->nr_orphans;
	s->nr_cycles = ice->nr_cycles;
	s->nr_duplicates = ice->nr_duplicates;
	s->name = name_at(&t, ice->name);
	s->weak_name = name_at(&t, ice->weak_name);
	if (!thaw_lists(&t) && !t.bad && grove__spine_sound(s, bytes + ice->names, ice->names_len, tail))
		return s;
	grove__spine_free(s);
	return NULL;
}
