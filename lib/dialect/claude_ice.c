/*
 * dialect/claude_ice.c: the rows of a transcript as one block of bytes.
 *
 *	head | rows | names | what is kept | pool | slots of the map | texts
 *
 * Arrays are laid out as in memory, followed by room that is never written. A transcript
 * that is opened again and grows a little grows into that room, and only the pages that it
 * writes to are copied. Texts come last, in the order of their names.
 */
#include "dialect/claude.h"

#include "base/buf.h"
#include "js/calendar.h"

#include <stdlib.h>

#define ROOM 65536u              /* items after the rows, the names and the pool */
#define ROOM_KEPT 256u
#define BATCH 16384u             /* names written at once */

struct place {
	uint64_t at, nr, cap;
};

struct head {
	struct place rows, names, kept, pool, slots, texts;
	uint64_t seed, end;
	uint32_t mask, used, last_id, last_reply;
};

struct freezing {
	uint64_t at;
	grove__ice_fn *fn;
	void *payload;
};

static struct place reserve(struct freezing *f, size_t nr, size_t room, size_t item)
{
	struct place p = { f->at, nr, nr + room };

	f->at = grove__ice_page_up(f->at + p.cap * item);
	return p;
}

static int write_ice(struct freezing *f, uint64_t at, const void *ptr, size_t len)
{
	return len ? f->fn(f->payload, at, ptr, len) : 0;
}

/* Writes some names with their texts; *len is the length of all texts so far. */
static int put_names(struct freezing *f, const struct grove__claude_rows *r, const struct head *h,
		     size_t from, size_t nr, struct grove__claude_name *names, struct grove_buf *texts,
		     uint64_t *len)
{
	int rc = 0;

	grove__buf_clear(texts);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_slice text = grove__claude_name(r, (uint32_t)(from + i));
		uint32_t n = (uint32_t)text.len;

		names[i] = r->names[from + i];
		rc = grove__buf_add(texts, (const char *)&n, sizeof(n));
		/* relative to one byte before the first text, so that 0 means none */
		names[i].text = *len + texts->len + 1;
		rc = rc ? rc : grove__buf_add_slice(texts, text);
	}
	rc = rc ? rc : write_ice(f, h->names.at + from * sizeof(*names), names, nr * sizeof(*names));
	rc = rc ? rc : write_ice(f, h->texts.at + *len, texts->ptr, texts->len);
	*len += texts->len;
	return rc;
}

static int put_all_names(struct freezing *f, const struct grove__claude_rows *r, struct head *h)
{
	struct grove__claude_name *names = malloc(BATCH * sizeof(*names));
	struct grove_buf texts = GROVE_BUF_INIT;
	int rc = names ? 0 : GROVE_ENOMEM;

	for (size_t from = 0; from < r->nr_names && !rc; from += BATCH)
		rc = put_names(f, r, h, from, r->nr_names - from < BATCH ? r->nr_names - from : BATCH, names,
			       &texts, &h->texts.nr);
	free(names);
	grove__buf_release(&texts);
	return rc;
}

int grove__claude_freeze(const struct grove__claude_rows *r, uint64_t at, uint64_t *end,
			 grove__ice_fn *fn, void *payload)
{
	struct freezing f = { grove__ice_page_up(at + sizeof(struct head)), fn, payload };
	size_t slots = r->map.slots ? (size_t)r->map.mask + 1 : 0;
	struct head h = { .seed = r->map.seed, .mask = r->map.mask, .used = r->map.used,
			  .last_id = r->last_id, .last_reply = r->last_reply };
	int rc;

	h.rows = reserve(&f, r->nr, ROOM, sizeof(*r->rows));
	h.names = reserve(&f, r->nr_names, ROOM, sizeof(*r->names));
	h.kept = reserve(&f, r->nr_kept, ROOM_KEPT, sizeof(*r->kept));
	h.pool = reserve(&f, r->nr_pool, ROOM, sizeof(*r->pool));
	h.slots = reserve(&f, slots, 0, sizeof(*r->map.slots));
	h.texts.at = f.at;
	rc = write_ice(&f, h.rows.at, r->rows, r->nr * sizeof(*r->rows));
	rc = rc ? rc : put_all_names(&f, r, &h);
	rc = rc ? rc : write_ice(&f, h.kept.at, r->kept, r->nr_kept * sizeof(*r->kept));
	rc = rc ? rc : write_ice(&f, h.pool.at, r->pool, r->nr_pool * sizeof(*r->pool));
	rc = rc ? rc : write_ice(&f, h.slots.at, r->map.slots, slots * sizeof(*r->map.slots));
	h.texts.cap = h.texts.nr;
	*end = h.end = h.texts.at + h.texts.nr;
	return rc ? rc : write_ice(&f, at, &h, sizeof(h));
}

/* ------------------------------------------------------------------ thawing */

/* Returns true if the next array is where it was written, with the same room. */
static bool lies(const struct place *p, struct freezing *f, size_t room, size_t item, size_t len)
{
	if (p->nr > len / item)
		return false;
	return !memcmp(p, &(struct place[]){ reserve(f, (size_t)p->nr, room, item) }, sizeof(*p)) && f->at <= len;
}

/* Checks all of them, one after the other. */
static bool sane(const struct head *h, uint64_t at, size_t len)
{
	struct freezing f = { .at = grove__ice_page_up(at + sizeof(*h)) };

	return h->slots.nr == (h->mask ? (uint64_t)h->mask + 1 : 0) && !(h->slots.nr & (h->slots.nr - 1)) &&
	       lies(&h->rows, &f, ROOM, sizeof(struct grove__claude_packed), len) &&
	       lies(&h->names, &f, ROOM, sizeof(struct grove__claude_name), len) &&
	       lies(&h->kept, &f, ROOM_KEPT, sizeof(struct grove__claude_kept), len) &&
	       lies(&h->pool, &f, ROOM, sizeof(uint32_t), len) &&
	       lies(&h->slots, &f, 0, sizeof(uint64_t), len) && h->texts.at == f.at && h->texts.nr <= len - f.at &&
	       h->texts.nr == h->texts.cap && h->end == f.at + h->texts.nr;
}

/* Returns NONE unless it is below `nr`. */
static uint32_t beyond(uint32_t i, size_t nr)
{
	return i + 1 > nr;
}

/* Checks the rows of a name: the first and the last that have it, or none. */
static bool is_named_by(const struct grove__claude_rows *r, uint32_t name)
{
	const struct grove__claude_name *n = &r->names[name];

	if (n->row == CLAUDE_NONE || n->first == CLAUDE_NONE)
		return n->row == n->first;
	return n->row < r->nr && n->first <= n->row && r->rows[n->row].id == name && r->rows[n->first].id == name;
}

/* Checks that a row with a name is one that the name refers to. */
static bool is_known(const struct grove__claude_rows *r, size_t row)
{
	uint32_t name = r->rows[row].id;

	return name == CLAUDE_NONE || (r->names[name].row != CLAUDE_NONE && r->names[name].row >= row &&
				       r->names[name].first <= row);
}

static bool rows_fit(const struct grove__claude_rows *r)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < r->nr; i++) {
		const struct grove__claude_packed *p = &r->rows[i];

		bad |= beyond(p->id, r->nr_names) | beyond(p->parent, r->nr_names) |
		       beyond(p->logical, r->nr_names) | beyond(p->reply, r->nr_names) |
		       ((uint64_t)p->tools + p->nr_tools > r->nr_pool) | (p->class > CLAUDE_NOTE) |
		       (p->parent_is > PARENT_NAMED) |
		       (p->time != GROVE_NO_TIME && !grove__js_in_range(p->time, 0));
	}
	return !bad;
}

static bool names_fit(const struct grove__claude_rows *r, uint64_t texts)
{
	for (size_t i = 0; i < r->nr_names; i++) {
		const struct grove__claude_name *n = &r->names[i];
		uint32_t len;

		/*
		 * as in a spine: the text is at base + n->text, where the base is a byte
		 * before the first
		 */
		if (!is_named_by(r, (uint32_t)i) || n->text < sizeof(len) + 1 || n->text > texts + 1)
			return false;
		memcpy(&len, r->base + n->text - sizeof(len), sizeof(len));
		if (len > texts + 1 - n->text)
			return false;
	}
	return true;
}

/* A boolean from an untrusted file may have any value. */
static bool is_bool(const bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, 1);
	return byte <= 1;
}

static bool kept_fits(const struct grove__claude_rows *r)
{
	uint32_t before = 0;

	for (size_t i = 0; i < r->nr_kept; i++) {
		const struct grove__claude_kept *k = &r->kept[i];

		/* sorted by row, because they are searched */
		if (k->row >= r->nr || k->row < before || beyond(k->anchor, r->nr_names) ||
		    beyond(k->head, r->nr_names) || beyond(k->tail, r->nr_names) ||
		    (uint64_t)k->first + k->nr > r->nr_pool || !is_bool(&k->messages) || !is_bool(&k->segment))
			return false;
		before = k->row;
	}
	return true;
}

/* Checks that every number refers to something that exists. */
static bool fits(const struct grove__claude_rows *r, uint64_t texts)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < r->nr_pool; i++)
		bad |= r->pool[i] >= r->nr_names;
	/* without rows there is no last one */
	if (r->nr && (beyond(r->last_id, r->nr_names) || beyond(r->last_reply, r->nr_names)))
		return false;
	if (bad || !rows_fit(r) || !names_fit(r, texts))
		return false;
	for (size_t i = 0; i < r->nr && !bad; i++)
		bad = !is_known(r, i);
	return !bad && kept_fits(r);
}

int grove__claude_thaw(struct grove__claude_rows *r, char *bytes, size_t len, uint64_t at)
{
	struct head h;

	if (at > len || len - at < sizeof(h))
		return 1;
	memcpy(&h, bytes + at, sizeof(h));
	if (!sane(&h, at, len) || h.rows.nr >= UINT32_MAX || h.names.nr >= UINT32_MAX)
		return 1;
	r->rows = (void *)(bytes + h.rows.at);
	r->nr = h.rows.nr;
	r->cap = h.rows.cap;
	r->names = (void *)(bytes + h.names.at);
	r->nr_names = h.names.nr;
	r->cap_names = h.names.cap;
	r->kept = (void *)(bytes + h.kept.at);
	r->nr_kept = h.kept.nr;
	r->cap_kept = h.kept.cap;
	r->pool = (void *)(bytes + h.pool.at);
	r->nr_pool = h.pool.nr;
	r->cap_pool = h.pool.cap;
	r->map.seed = h.seed;
	if (h.slots.nr)
		grove__idmap_borrow(&r->map, (void *)(bytes + h.slots.at), h.mask, h.used, (uint32_t)h.names.nr);
	r->last_id = h.last_id;
	r->last_reply = h.last_reply;
	r->ice = bytes;
	r->ice_len = len;
	r->base = bytes + h.texts.at - 1;
	return !fits(r, h.texts.nr);
}
