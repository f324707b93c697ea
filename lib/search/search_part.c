/*
 * search/search_part.c: texts of a log that are indexed together.
 *
 * Where a text is, is a sequence of numbers, seven bits per byte, lowest first, mostly
 * differences from the previous text:
 *
 *	row, position, offset, length, checksum, kind, role, words, flags and class [time] [id NUL]
 */
#include "search/search_part.h"

#include "base/varint.h"
#include "search/search_stem.h"
#include "search/search_words.h"

#include <stdlib.h>

#define FULL_BYTES ((size_t)128 << 10)
#define SLOTS_MIN 4096
#define SEEN ((size_t)1 << 16)   /* words that are remembered */
#define ROOM ((size_t)2 * (GROVE__WORD_MAX + 1))

enum { HAS_TIME = 1, HAS_ID = 2, HAS_LINES = 4, TIME_BACK = 8, CLASS_SHIFT = 4 };

/* ---------------------------------------------------------------- words with stems */

int grove__search_vocab_init(struct grove__search_vocab *v)
{
	*v = (struct grove__search_vocab){ .seen = calloc(SEEN, sizeof(*v->seen)) };
	return v->seen ? 0 : GROVE_ENOMEM;
}

void grove__search_vocab_release(struct grove__search_vocab *v)
{
	free(v->seen);
	grove__buf_release(&v->found);
	*v = (struct grove__search_vocab){ 0 };
}

static int note_word(struct grove__search_vocab *v, const char *word, size_t len, uint64_t hash)
{
	uint64_t *seen = &v->seen[hash & (SEEN - 1)];
	int rc;

	if (*seen == hash || !grove__search_stem_has(word, len))
		return 0;
	*seen = hash;
	rc = grove__buf_add(&v->found, word, len);
	return rc ? rc : grove__buf_add_char(&v->found, '\0');
}

/* --------------------------------------------------------------------- words */

/* Returns the slot of a word, or the empty one where it would be. */
static struct grove__search_slot *slot_of(const struct grove__search_part *p, const char *word, size_t len,
					  uint64_t hash)
{
	size_t at = hash & (p->cap - 1);

	for (; p->slots[at].at; at = (at + 1) & (p->cap - 1)) {
		const char *there = p->words.ptr + p->slots[at].at - 1;

		/* no word contains a space */
		if (!memcmp(there, word, len) && there[len] == ' ')
			break;
	}
	return &p->slots[at];
}

static int widen(struct grove__search_part *p)
{
	struct grove__search_part wide = *p;

	wide.cap = p->cap ? p->cap * 2 : SLOTS_MIN;
	wide.slots = calloc(wide.cap, sizeof(*wide.slots));
	if (!wide.slots)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < p->cap; i++)
		if (p->slots[i].at) {
			const char *word = p->words.ptr + p->slots[i].at - 1;
			size_t len = (size_t)((const char *)memchr(word, ' ', GROVE__WORD_MAX + 1) - word);

			*slot_of(&wide, word, len, grove__search_word_hash(word, len)) = p->slots[i];
		}
	free(p->slots);
	*p = wide;
	return 0;
}

static int add_word(void *payload, const struct grove__word *w)
{
	struct grove__search_part *p = payload;
	struct grove__search_slot *slot;
	uint64_t hash = grove__search_word_hash(w->ptr, w->len);

	p->count += !w->again;
	/* padding after the last word, so that a comparison does not read beyond the end */
	if ((p->used * 2 >= p->cap && widen(p)) ||
	    (p->words.cap - p->words.len < ROOM && grove__buf_reserve(&p->words, ROOM)))
		return GROVE_ENOMEM;
	slot = slot_of(p, w->ptr, w->len, hash);
	if (slot->at && slot->text == p->nr)
		return 0;
	if (!slot->at) {
		if (p->vocab && note_word(p->vocab, w->ptr, w->len, hash))
			return GROVE_ENOMEM;
		slot->at = (uint32_t)p->words.len + 1;
		p->used++;
	}
	slot->text = p->nr;
	return grove__buf_add(&p->words, w->ptr, w->len) || grove__buf_add_char(&p->words, ' ') ? GROVE_ENOMEM : 0;
}

/* --------------------------------------------------------------------- texts */

static int put_text(struct grove__search_part *p, const struct grove__search_doc *e)
{
	const struct grove__search_doc *last = &p->last;
	bool timed = e->time != GROVE_NO_TIME;
	bool back = timed && e->time < last->time;
	unsigned flags = (timed ? HAS_TIME : 0u) | (e->entry ? HAS_ID : 0u) | (e->at.lines ? HAS_LINES : 0u) |
			 (back ? TIME_BACK : 0u) | (unsigned)e->class << CLASS_SHIFT;
	uint64_t numbers[] = { e->row - last->row, e->at.pos - last->at.pos, e->at.off, e->at.len, e->at.crc,
			       e->kind, e->role, p->count, flags };
	char bytes[GROVE__VARINT_MAX * (sizeof(numbers) / sizeof(*numbers) + 1)];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		len += grove__varint_put(bytes + len, numbers[i]);
	if (timed)
		len += grove__varint_put(bytes + len, back ? (uint64_t)last->time - (uint64_t)e->time
						    : (uint64_t)e->time - (uint64_t)last->time);
	if (grove__buf_add(&p->texts, bytes, len) ||
	    (e->entry && grove__buf_add(&p->texts, e->entry, strlen(e->entry) + 1)) ||
	    grove__buf_add_char(&p->sizes, (char)(p->count < UINT8_MAX ? p->count : UINT8_MAX)))
		return GROVE_ENOMEM;
	p->last = *e;
	if (!timed)
		p->last.time = 0;
	return 0;
}

static int end_lanes(struct grove__search_part *p, unsigned nr)
{
	int rc = 0;

	for (; nr && !rc; nr--)
		rc = grove__buf_add_char(&p->words, '\n');
	return rc;
}

int grove__search_part_add(struct grove__search_part *p, const struct grove__search_doc *doc)
{
	enum grove__search_lane lane = grove__search_lane(doc->class, doc->role);
	size_t before = p->words.len;
	int rc;

	if (!p->nr) {
		p->last = (struct grove__search_doc){ 0 };
		p->since = INT64_MAX;
		p->until = INT64_MIN;
	}
	p->count = 0;
	rc = end_lanes(p, lane);
	rc = rc ? rc : grove__words_cut(doc->text, false, add_word, p);
	if (!rc && !p->count)
		grove__buf_cut(&p->words, before);
	if (rc || !p->count)
		return rc;
	rc = end_lanes(p, SEARCH_LANES - lane);
	rc = rc ? rc : put_text(p, doc);
	p->nr++;
	p->bytes += doc->text.len;
	if (doc->time != GROVE_NO_TIME) {
		p->since = doc->time < p->since ? doc->time : p->since;
		p->until = doc->time > p->until ? doc->time : p->until;
	}
	return rc;
}

bool grove__search_part_full(const struct grove__search_part *p)
{
	return p->bytes >= FULL_BYTES;
}

void grove__search_part_clear(struct grove__search_part *p)
{
	grove__buf_clear(&p->words);
	grove__buf_clear(&p->texts);
	grove__buf_clear(&p->sizes);
	if (p->used)
		memset(p->slots, 0, p->cap * sizeof(*p->slots));
	p->used = 0;
	p->nr = 0;
	p->bytes = 0;
}

void grove__search_part_release(struct grove__search_part *p)
{
	grove__buf_release(&p->words);
	grove__buf_release(&p->texts);
	grove__buf_release(&p->sizes);
	free(p->slots);
	*p = (struct grove__search_part){ 0 };
}

static bool take_id(struct grove_slice *s, const char **out)
{
	const char *end = memchr(s->ptr, '\0', s->len);

	*out = s->ptr;
	if (!end)
		return false;
	s->len -= (size_t)(end + 1 - s->ptr);
	s->ptr = end + 1;
	return true;
}

int grove__search_part_next(struct grove_slice *rest, struct grove__search_doc *e)
{
	uint64_t n[9], time = 0;
	/* a text without a time counts as 0 for the next difference */
	int64_t last = e->time == GROVE_NO_TIME ? 0 : e->time;

	if (!rest->len)
		return 1;
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
		if (!grove__varint_take(rest, &n[i]))
			return GROVE_EDAMAGED;
	if (n[8] >> CLASS_SHIFT >= SEARCH_CLASSES || n[6] >= 32)
		return GROVE_EDAMAGED;
	if (n[8] & HAS_TIME && !grove__varint_take(rest, &time))
		return GROVE_EDAMAGED;
	e->entry = NULL;
	if (n[8] & HAS_ID && !take_id(rest, &e->entry))
		return GROVE_EDAMAGED;
	e->class = (uint8_t)(n[8] >> CLASS_SHIFT);
	e->row += (uint32_t)n[0];
	e->at.pos += n[1];
	e->at.off = n[2];
	e->at.len = n[3];
	e->at.crc = (uint32_t)n[4];
	e->at.lines = (n[8] & HAS_LINES) != 0;
	e->kind = (uint8_t)n[5];
	e->role = (uint8_t)n[6];
	e->words = (uint32_t)n[7];
	e->time = GROVE_NO_TIME;
	if (n[8] & HAS_TIME)
		e->time = (int64_t)(n[8] & TIME_BACK ? (uint64_t)last - time : (uint64_t)last + time);
	return 0;
}
