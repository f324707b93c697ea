/*
 * json/canonical.c: a value as JSON.stringify(JSON.parse()) would give it.
 *
 * Nearly every value we meet was written by JSON.stringify, so nearly all of
 * it can be copied. One walk over the tokens holds back what is canonical
 * already, copies it in runs, and puts in what is not: no white space, other
 * escapes, other numbers. Nesting needs memory for objects only; arrays are a
 * counter.
 *
 * Members are left in their written order by that walk. Where JavaScript has
 * another one (integer-like keys first, a duplicate's last value at the first
 * one's place), it notes the spans of that object's members, in the order
 * they should have:
 *
 *     {"b":1,"7":[2],"b":3}     written
 *      \____/ \_____/ \____/
 *              1       2        the first "b" has no span: it is dropped
 *
 * and a second walk, only if there is such a note, copies the result span by
 * span. Notes nest; each byte is copied once, whatever the depth.
 */
#include "json/write.h"

#include "js/js.h"
#include "json/escape.h"

#include <assert.h>
#include <stdlib.h>

/* Offsets count from where our output begins. */
struct span {
	size_t start, end;
};

/* An object whose members change places: spans [first, first + nr) replace them. */
struct note {
	size_t start; /* its opening brace */
	size_t end;   /* after the closing one */
	size_t first, nr;
};

struct member {
	size_t start; /* the key's opening quote */
	size_t key;   /* the key's length, with quotes */
};

/* An open object, and how many arrays are open within it. */
struct object {
	size_t start;
	size_t members; /* bytes of the member stack that are not ours */
	size_t arrays;
};

struct walk {
	struct grove_buf *out;
	size_t base;           /* out->len when we came */
	const char *p, *end;
	const char *held;      /* [held, p) is canonical and not copied yet */
	struct object top;
	struct grove_buf objects; /* struct object: those around `top` */
	struct grove_buf members; /* struct member: of all open objects */
	struct grove_buf notes;   /* struct note */
	struct grove_buf spans;   /* struct span */
};

/* Take the last element off a buffer used as a stack. */
static void pop(struct grove_buf *stack, void *out, size_t size)
{
	/* in this order: cutting leaves a NUL where the element began */
	memcpy(out, stack->ptr + stack->len - size, size);
	grove__buf_cut(stack, stack->len - size);
}

static int flush(struct walk *w)
{
	int rc = grove__buf_add(w->out, w->held, (size_t)(w->p - w->held));

	w->held = w->p;
	return rc;
}

/* Put `text` in place of the next `len` bytes. */
static int replace(struct walk *w, size_t len, const char *text, size_t text_len)
{
	int rc;

	if (text_len == len && !memcmp(w->p, text, len)) {
		w->p += len;
		return 0;
	}
	rc = flush(w);
	w->p += len;
	w->held = w->p;
	return rc ? rc : grove__buf_add(w->out, text, text_len);
}

/* Returns the position of `p` in the output. */
static size_t offset(const struct walk *w)
{
	return w->out->len - w->base + (size_t)(w->p - w->held);
}

static int walk_space(struct walk *w)
{
	const char *next = grove__json_skip_space(w->p, w->end);

	return replace(w, (size_t)(next - w->p), "", 0);
}

static int walk_string(struct walk *w)
{
	char text[6];
	uint32_t cp;
	size_t len;
	int rc;

	w->p++;
	for (;;) {
		w->p = grove__json_plain_end(w->p, w->end);
		if (*w->p++ == '"')
			return 0;
		if (*w->p != '/' && *w->p != 'u') {
			w->p++;
			continue;
		}
		w->p--;
		len = grove__json_unescape(w->p, w->end, &cp);
		rc = replace(w, len, text, grove__json_escape(text, cp));
		if (rc)
			return rc;
	}
}

static int walk_number(struct walk *w)
{
	const char *p = w->p, *digits = p + (*p == '-');
	char text[GROVE__JS_NUMBER_MAX];
	size_t len, text_len;

	for (p = digits; p < w->end && *p >= '0' && *p <= '9'; )
		p++;
	assert(p > digits);
	/* fifteen digits fit a double; a leading zero is a zero, whose sign goes */
	if ((p == w->end || (*p != '.' && (*p | 0x20) != 'e')) &&
	    p - digits <= 15 && (*digits != '0' || digits == w->p)) {
		w->p = p;
		return 0;
	}
	while (p < w->end && (*p == '.' || *p == '+' || *p == '-' ||
			      (*p | 0x20) == 'e' || (*p >= '0' && *p <= '9')))
		p++;
	len = (size_t)(p - w->p);
	text_len = grove__js_number_canonical(text, grove__slice(w->p, len));
	if (!text_len) {
		w->p = p;
		return 0;
	}
	return replace(w, len, text, text_len);
}

static int push_object(struct walk *w)
{
	int rc = grove__buf_add(&w->objects, &w->top, sizeof w->top);

	w->top.start = offset(w);
	w->top.members = w->members.len;
	w->top.arrays = 0;
	return rc;
}

static void pop_object(struct walk *w)
{
	grove__buf_cut(&w->members, w->top.members);
	pop(&w->objects, &w->top, sizeof w->top);
}

static int walk_key(struct walk *w)
{
	struct member m;
	int rc;

	m.start = offset(w);
	rc = walk_string(w);
	m.key = offset(w) - m.start;
	return rc ? rc : grove__buf_add(&w->members, &m, sizeof m);
}

/* A key for sorting. Equal keys stay in their written order. */
struct key {
	const char *ptr;
	size_t len;
	size_t at;
};

static int cmp_key(const void *va, const void *vb)
{
	const struct key *a = va, *b = vb;
	int cmp;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	cmp = memcmp(a->ptr, b->ptr, a->len);
	if (cmp)
		return cmp;
	return a->at < b->at ? -1 : a->at > b->at;
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

/* The sort key of a member: its index or, after all of those, its number. */
struct place {
	uint64_t rank;
	size_t at;
};

static int cmp_place(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool key_index(const struct key *k, uint32_t *index)
{
	return grove__js_is_index(grove__slice(k->ptr + 1, k->len - 2), index);
}

static struct key key_of(const struct walk *w, const struct member *m, size_t at)
{
	struct key k;

	k.ptr = w->out->ptr + w->base + m->start;
	k.len = m->key;
	k.at = at;
	return k;
}

/* Returns true if the index keys come first, in ascending order. */
static bool indexes_in_order(const struct walk *w, const struct member *m, size_t nr)
{
	bool names = false;
	int64_t last = -1;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct key k = key_of(w, &m[i], i);
		uint32_t index;

		if (!key_index(&k, &index)) {
			names = true;
			continue;
		}
		if (names || index <= last)
			return false;
		last = index;
	}
	return true;
}

/* Few enough to compare each with each. */
#define FEW 16

static bool few_distinct(const struct walk *w, const struct member *m, size_t nr)
{
	size_t i, j;

	for (i = 1; i < nr; i++) {
		struct key a = key_of(w, &m[i], i);

		for (j = 0; j < i; j++) {
			struct key b = key_of(w, &m[j], j);

			if (same_key(&a, &b))
				return false;
		}
	}
	return true;
}

/*
 * Note the order that the members m[0..nr) of the object [start, end) should
 * have; keys[0..nr) are sorted.
 */
static int note_order(struct walk *w, const struct member *m, const struct key *keys,
		      size_t nr, size_t start, size_t end)
{
	struct place *places = malloc(nr * sizeof *places);
	struct note note;
	size_t i, nr_places = 0;
	int rc = 0;

	if (!places)
		return GROVE_ENOMEM;
	for (i = 0; i < nr; nr_places++) {
		struct place *p = &places[nr_places];
		uint32_t index;

		p->rank = ((uint64_t)1 << 32) + keys[i].at;
		if (key_index(&keys[i], &index))
			p->rank = index;
		do
			p->at = keys[i].at;
		while (++i < nr && same_key(&keys[i - 1], &keys[i]));
	}
	qsort(places, nr_places, sizeof *places, cmp_place);

	note.start = start;
	note.end = end;
	note.first = w->spans.len / sizeof(struct span);
	note.nr = nr_places;
	for (i = 0; !rc && i < nr_places; i++) {
		size_t at = places[i].at;
		struct span s;

		/* up to the comma after it, or to the brace */
		s.start = m[at].start;
		s.end = (at + 1 < nr ? m[at + 1].start : end) - 1;
		rc = grove__buf_add(&w->spans, &s, sizeof s);
	}
	if (!rc)
		rc = grove__buf_add(&w->notes, &note, sizeof note);
	free(places);
	return rc;
}

/* At the closing brace, which is still to be walked over. */
static int check_order(struct walk *w)
{
	const struct member *m;
	size_t i, nr = (w->members.len - w->top.members) / sizeof *m;
	size_t end = offset(w) + 1;
	bool ordered, distinct;
	struct key *keys;
	int rc;

	if (nr < 2)
		return 0;
	rc = flush(w); /* the keys are compared in the output */
	if (rc)
		return rc;
	m = (const struct member *)(const void *)(w->members.ptr + w->top.members);
	ordered = indexes_in_order(w, m, nr);
	if (ordered && nr <= FEW && few_distinct(w, m, nr))
		return 0;

	keys = malloc(nr * sizeof *keys);
	if (!keys)
		return GROVE_ENOMEM;
	for (i = 0; i < nr; i++)
		keys[i] = key_of(w, &m[i], i);
	qsort(keys, nr, sizeof *keys, cmp_key);
	for (distinct = true, i = 1; distinct && i < nr; i++)
		distinct = !same_key(&keys[i - 1], &keys[i]);
	if (!ordered || !distinct)
		rc = note_order(w, m, keys, nr, w->top.start, end);
	free(keys);
	return rc;
}

static int walk_value(struct walk *w)
{
	bool key = false;
	int rc = 0;

	while (!rc && w->p < w->end) {
		switch (*w->p) {
		case ' ':
		case '\t':
		case '\n':
		case '\r':
			rc = walk_space(w);
			break;
		case '{':
			rc = push_object(w);
			key = true;
			w->p++;
			break;
		case '}':
			rc = check_order(w);
			pop_object(w);
			w->p++;
			break;
		case '[':
			w->top.arrays++;
			key = false;
			w->p++;
			break;
		case ']':
			w->top.arrays--;
			w->p++;
			break;
		case ',':
			key = !w->top.arrays;
			w->p++;
			break;
		case ':':
			key = false;
			w->p++;
			break;
		case '"':
			rc = key ? walk_key(w) : walk_string(w);
			break;
		case 't':
		case 'n':
			w->p += 4;
			break;
		case 'f':
			w->p += 5;
			break;
		default:
			rc = walk_number(w);
			break;
		}
	}
	return rc ? rc : flush(w);
}

static int cmp_note(const void *va, const void *vb)
{
	const struct note *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* The first note at or after `pos`. */
static const struct note *next_note(const struct walk *w, size_t pos)
{
	const struct note *notes = (const struct note *)(const void *)w->notes.ptr;
	size_t lo = 0, hi = w->notes.len / sizeof *notes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (notes[mid].start < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->notes.len / sizeof *notes ? &notes[lo] : NULL;
}

/* What is being copied: the rest of one span, then the spans [next, last). */
struct cursor {
	size_t pos, end;
	size_t next, last;
};

static int reorder(struct walk *w)
{
	const struct span *spans = (const struct span *)(const void *)w->spans.ptr;
	struct grove_buf from = GROVE_BUF_INIT, stack = GROVE_BUF_INIT;
	struct cursor c = { 0, w->out->len - w->base, 0, 0 };
	int rc;

	qsort(w->notes.ptr, w->notes.len / sizeof(struct note), sizeof(struct note), cmp_note);
	rc = grove__buf_add(&from, w->out->ptr + w->base, c.end);
	grove__buf_cut(w->out, w->base);
	while (!rc) {
		const struct note *n = next_note(w, c.pos);

		if (n && n->start < c.end) {
			rc = grove__buf_add(w->out, from.ptr + c.pos, n->start + 1 - c.pos);
			if (rc)
				break;
			c.pos = n->end - 1; /* afterwards on from the closing brace */
			rc = grove__buf_add(&stack, &c, sizeof c);
			c.next = n->first;
			c.last = n->first + n->nr;
		} else {
			rc = grove__buf_add(w->out, from.ptr + c.pos, c.end - c.pos);
			if (rc)
				break;
			if (c.next == c.last) {
				if (!stack.len)
					break;
				pop(&stack, &c, sizeof c);
				continue;
			}
			rc = grove__buf_add_char(w->out, ',');
		}
		c.pos = spans[c.next].start;
		c.end = spans[c.next].end;
		c.next++;
	}
	grove__buf_release(&from);
	grove__buf_release(&stack);
	return rc;
}

static int put_canonical(struct grove_buf *out, struct grove_slice raw)
{
	struct walk w = { .out = out, .base = out->len };
	int rc;

	w.p = w.held = raw.ptr;
	w.end = raw.ptr + raw.len;
	rc = grove__buf_reserve(out, raw.len);
	if (!rc)
		rc = walk_value(&w);
	if (!rc && w.notes.len)
		rc = reorder(&w);
	if (rc)
		grove__buf_cut(out, w.base);
	grove__buf_release(&w.objects);
	grove__buf_release(&w.members);
	grove__buf_release(&w.notes);
	grove__buf_release(&w.spans);
	return rc;
}

int grove__json_put_canonical(struct grove_buf *out, struct grove_slice raw)
{
	struct grove_buf repaired = GROVE_BUF_INIT;
	int rc;

	if (grove__json_is_canonical(raw))
		return grove__buf_add_slice(out, raw);
	if (grove__utf8_valid(raw))
		return put_canonical(out, raw);
	rc = grove__utf8_repair(&repaired, raw);
	if (!rc)
		rc = put_canonical(out, grove__buf_slice(&repaired));
	grove__buf_release(&repaired);
	return rc;
}
