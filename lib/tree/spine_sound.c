/*
 * tree/spine_sound.c: checks that a thawed spine can be walked.
 *
 * A checksum says that the bytes are those that were written, but not that we wrote
 * them, nor that they make sense. So every number that is used as an index, an offset
 * or a length is checked before anybody uses it; rows are in order in the log; and
 * lists and paths end. Then, whatever else the bytes say, at worst an answer is wrong,
 * as for anybody who can change the session itself.
 *
 * All rows are checked whenever a session is opened, so this is mostly a walk over
 * arrays without branches, a block at a time.
 */
#include "tree/spine_freeze.h"

#include <stdlib.h>

/* The used rows of a block, and the first of them. */
struct part {
	const struct grove__block *b;
	uint32_t first;
	size_t nr;
};

static struct part part_of(const struct grove__spine *s, unsigned block)
{
	uint32_t first = (GROVE__SPINE_FIRST << block) - GROVE__SPINE_FIRST;
	size_t rows = (size_t)GROVE__SPINE_FIRST << block;

	if (s->nr <= first)
		return (struct part){ NULL, first, 0 };
	return (struct part){ &s->block[block], first, s->nr - first < rows ? s->nr - first : rows };
}

/* NONE, or a row. */
static bool is_row(uint32_t row, uint32_t nr)
{
	return row == GROVE_NO_ENTRY || row < nr;
}

/* Rows are checked in steps of this many: compilers vectorize loops of a known length. */
#define STEP 64u

/* What the rows of a step have in common. */
struct sight {
	uint8_t kind, role;      /* the largest */
	uint16_t flags;          /* all */
	uint64_t bad;            /* highest bit set: something is out of range */
};

static void look_at_kinds(const struct grove__block *b, size_t from, size_t nr, struct sight *out)
{
	const uint8_t *kind = b->kind + from, *role = b->role + from;
	const uint16_t *flags = b->flags + from;

	for (size_t i = 0; i < nr; i++)
		out->kind = kind[i] > out->kind ? kind[i] : out->kind;
	for (size_t i = 0; i < nr; i++)
		out->role = role[i] > out->role ? role[i] : out->role;
	for (size_t i = 0; i < nr; i++)
		out->flags |= flags[i];
}

/*
 * Each line begins after the end of the previous one: a negative difference has its
 * highest bit set, and so has one that is too large. The row after the last is checked,
 * too.
 */
static void look_at_places(const struct grove__block *b, size_t from, size_t nr, struct sight *out)
{
	const uint64_t *pos = b->pos + from, *len = b->len + from;

	for (size_t i = 0; i < nr; i++)
		out->bad |= pos[i] | len[i] | (pos[i] + len[i]) | (pos[i + 1] - (pos[i] + len[i]));
}

/*
 * Checks everything but the links and the ids; *end is where the last line of the
 * previous block ended.
 */
static bool fields_fit(const struct part *p, uint64_t *end, uint64_t tail, unsigned *flags)
{
	const struct grove__block *b = p->b;
	size_t last = p->nr - 1, i = 0;
	struct sight seen = { .bad = (b->pos[0] - *end) | b->pos[last] | b->len[last] };

	for (; i + STEP <= last; i += STEP) {
		look_at_kinds(b, i, STEP, &seen);
		look_at_places(b, i, STEP, &seen);
	}
	look_at_kinds(b, i, p->nr - i, &seen);
	look_at_places(b, i, last - i, &seen);
	*end = b->pos[last] + b->len[last];
	*flags = seen.flags;
	return !((seen.bad | *end) >> 63) && *end <= tail && seen.kind < GROVE__KINDS &&
	       seen.role < GROVE__ROLES;
}

bool grove__spine_name_fits(const char *names, uint64_t len, uint64_t at)
{
	uint32_t n;

	/* the text begins at names[at - 1], with its length before it and a NUL after it */
	if (at < sizeof(n) + 1 || at > len)
		return false;
	memcpy(&n, names + at - 1 - sizeof(n), sizeof(n));
	return n <= len - at && !names[at - 1 + n];
}

static bool ids_fit(const struct part *p, const char *names, uint64_t len)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->b->id[i] && !grove__spine_name_fits(names, len, p->b->id[i]))
			return false;
	return true;
}

/* Checks that lists of children stay with one parent. *back: not always forwards. */
static bool links_fit(const struct grove__spine *s, const struct part *p, uint32_t i, bool *back)
{
	const struct grove__block *b = p->b;
	uint32_t row = p->first + i, child = b->child[i], last = b->last[i], sibling = b->sibling[i];

	if (!is_row(b->parent[i], s->nr) || !is_row(child, s->nr) || !is_row(last, s->nr) ||
	    !is_row(sibling, s->nr) || (child == GROVE_NO_ENTRY) != (last == GROVE_NO_ENTRY))
		return false;
	if (child != GROVE_NO_ENTRY &&
	    (grove__spine_parent(s, child) != row || grove__spine_parent(s, last) != row))
		return false;
	if (sibling != GROVE_NO_ENTRY && grove__spine_parent(s, sibling) != b->parent[i])
		return false;
	*back |= sibling <= row || (b->parent[i] >= row && b->parent[i] != GROVE_NO_ENTRY);
	return true;
}

/* True if each of these rows has the previous row as parent, and the next as its only child. */
static bool is_chain(const struct part *p, uint32_t from)
{
	const uint32_t *parent = p->b->parent + from, *child = p->b->child + from, *last = p->b->last + from,
		       *sibling = p->b->sibling + from;
	uint32_t row = p->first + from, other = 0;

	for (uint32_t i = 0; i < STEP; i++)
		other |= ((parent[i] + 1) ^ (row + i)) | (child[i] ^ (row + i + 1)) | (last[i] ^ (row + i + 1)) |
			 ~sibling[i];
	/* the first row has none before it */
	return !other && row;
}

static bool lists_fit(const struct grove__spine *s, const struct part *p, bool *back)
{
	for (uint32_t from = 0; from < p->nr; from += STEP) {
		uint32_t i = from, end = p->nr - from < STEP ? (uint32_t)p->nr : from + STEP;

		/* most of a session is a chain; the last row of a step is checked by itself */
		if (end - from == STEP && is_chain(p, from))
			i = end - 1;
		for (; i < end; i++)
			if (!links_fit(s, p, i, back))
				return false;
	}
	return true;
}

/* No list is longer than there are rows. */
static bool lists_end(const struct grove__spine *s)
{
	uint64_t nr = 0;

	for (uint32_t of = 0; of <= s->nr; of++) {
		uint32_t row = of == s->nr ? s->root_first : grove__spine_child(s, of);

		for (; row != GROVE_NO_ENTRY; row = grove__spine_sibling(s, row))
			if (++nr > s->nr)
				return false;
	}
	return true;
}

/* Checks that every path leads to a root. Without memory this is unknown. */
static bool parents_end(const struct grove__spine *s)
{
	uint8_t *good = calloc(s->nr ? s->nr : 1, 1);
	uint32_t r;

	for (uint32_t row = 0; good && row < s->nr; row++) {
		uint64_t steps = 0;

		for (r = row; r != GROVE_NO_ENTRY && !good[r] && steps <= s->nr; steps++)
			r = grove__spine_parent(s, r);
		if (steps > s->nr) {
			free(good);
			return false;
		}
		for (r = row; r != GROVE_NO_ENTRY && !good[r]; r = grove__spine_parent(s, r))
			good[r] = 1;
	}
	free(good);
	return good != NULL;
}

static bool root_fits(const struct grove__spine *s, uint32_t row)
{
	return row == GROVE_NO_ENTRY || (row < s->nr && grove__spine_parent(s, row) == GROVE_NO_ENTRY);
}

/* Checks that the later line of a repeated id is found by that id. */
static bool later_ones_are_there(const struct grove__spine *s, const struct part *p)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->b->flags[i] & ROW_SUPERSEDED &&
		    grove__idmap_get(&s->ids, grove__spine_name(grove__ice_pointer(s->base, p->b->id[i]))) ==
			    GROVE__IDMAP_NONE)
			return false;
	return true;
}

bool grove__spine_sound(const struct grove__spine *s, const char *names, uint64_t len, uint64_t tail)
{
	unsigned flags[GROVE__SPINE_BLOCKS] = { 0 };
	bool ok = true, back = false;
	uint64_t end = 0;

	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && ok; i++) {
		struct part p = part_of(s, i);

		if (!p.nr)
			break;
		ok = fields_fit(&p, &end, tail, &flags[i]) && ids_fit(&p, names, len) &&
		     lists_fit(s, &p, &back);
	}
	ok = ok && root_fits(s, s->root_first) && root_fits(s, s->root_last) &&
	     (s->root_first == GROVE_NO_ENTRY) == (s->root_last == GROVE_NO_ENTRY);
	/* ids are valid by now */
	for (unsigned i = 0; i < GROVE__SPINE_BLOCKS && ok; i++)
		if (flags[i] & ROW_SUPERSEDED)
			ok = later_ones_are_there(s, &(struct part[]){ part_of(s, i) }[0]);
	return ok && (!back || (lists_end(s) && parents_end(s)));
}
