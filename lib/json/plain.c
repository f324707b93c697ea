/*
 * json/plain.c: is a value already what JSON.stringify would write?
 *
 * Nearly always it is, because JSON.stringify wrote it. One quick walk finds that
 * out, and the value is copied unchanged. If anything is unusual (white space, an
 * escape that has a shorter form, a key that looks like an index, deep nesting), the
 * answer is no, and the value is rewritten by the thorough walk.
 */
#include "json/escape.h"
#include "json/write.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define DEPTH 16
#define KEYS 96

/* The keys of the open objects, one object's after the other's. */
struct walk {
	const char *p, *end;
	unsigned depth;
	uint32_t objects;              /* a bit a level: object, else array */
	struct {
		uint64_t seen[4];      /* a bit for the hash of each key */
		unsigned first;        /* its first key in `key` */
	} level[DEPTH];
	struct grove_slice key[KEYS];
	unsigned nr_keys;
	bool ascii;
};

/* To the next quote, backslash or byte beyond ASCII; maybe less far, near the end. */
static const char *skip_plain(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
		/* the top bits: of the hits, and of the bytes beyond ASCII */
		int marks = _mm_movemask_epi8(_mm_or_si128(hit, v));

		if (marks)
			return p + __builtin_ctz((unsigned)marks);
	}
#endif
	for (; end - p >= 8; p += 8) {
		uint64_t v = grove__json_load(p);
		uint64_t marks = grove__json_has_byte(v, '"') | grove__json_has_byte(v, '\\') |
				 (v & GROVE__JSON_BYTES(0x80));

		if (marks)
			return p + grove__json_unmarked(marks);
	}
	return p;
}

/* From after the opening quote to after the closing one; NULL if in doubt. */
static const char *string_end(struct walk *w, const char *p)
{
	for (;;) {
		p = skip_plain(p, w->end);
		if (p >= w->end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (*p == '\\') {
			if (p[1] == 'u' || p[1] == '/')
				return NULL;
			p += 2;
			continue;
		}
		if (*p & 0x80)
			w->ascii = false;
		p++;
	}
}

/* A key that was not there yet, and that no reordering concerns. */
static bool new_key(struct walk *w, struct grove_slice key)
{
	unsigned at = w->depth - 1;
	uint64_t h = key.len * 0x9e3779b97f4a7c15u, word = 0;

	if (!key.len || (key.ptr[0] >= '0' && key.ptr[0] <= '9') || w->nr_keys == KEYS)
		return false;
	memcpy(&word, key.ptr, key.len < 8 ? key.len : 8);
	h = (h ^ word) * 0xd6e8feb86659fd93u;
	h >>= 56;
	if (w->level[at].seen[h >> 6] >> (h & 63) & 1)
		for (unsigned i = w->level[at].first; i < w->nr_keys; i++)
			if (grove__slice_eq(w->key[i], key))
				return false;
	w->level[at].seen[h >> 6] |= (uint64_t)1 << (h & 63);
	w->key[w->nr_keys++] = key;
	return true;
}

static bool digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

/* A short decimal in its shortest form; NULL if in doubt. */
static const char *number_end(const char *p, const char *end)
{
	const char *start = p, *first, *point;

	p += *p == '-';
	first = p;
	while (digit(p, end))
		p++;
	/* "-0" loses its sign, and fifteen digits are what a double surely holds */
	if (p - first > 15 || (*first == '0' && first > start && (p == end || *p != '.')))
		return NULL;
	if (p == end || (*p != '.' && (*p | 0x20) != 'e'))
		return p;
	point = p;
	if (*p != '.')
		return NULL;
	for (p++; digit(p, end);)
		p++;
	if ((p < end && (*p | 0x20) == 'e') || p[-1] == '0' || p - first > 16)
		return NULL;
	/* from seven zeros on JavaScript writes an exponent */
	if (*first == '0' && p - point > 6 && !memcmp(point, ".000000", 7))
		return NULL;
	return p;
}

static bool open_level(struct walk *w, bool object)
{
	if (w->depth == DEPTH)
		return false;
	w->objects = (w->objects & ~(1u << w->depth)) | (uint32_t)object << w->depth;
	memset(w->level[w->depth].seen, 0, sizeof(w->level[0].seen));
	w->level[w->depth++].first = w->nr_keys;
	return true;
}

static bool walk_value(struct walk *w)
{
	bool key = false;
	const char *from;

	while (w->p && w->p < w->end) {
		switch (*w->p) {
		case '{':
		case '[':
			key = *w->p == '{';
			if (!open_level(w, key))
				return false;
			w->p++;
			break;
		case '}':
		case ']':
			w->nr_keys = w->level[--w->depth].first;
			w->p++;
			break;
		case ',':
			key = w->depth && w->objects >> (w->depth - 1) & 1;
			w->p++;
			break;
		case ':':
			key = false;
			w->p++;
			break;
		case '"':
			from = w->p + 1;
			w->p = string_end(w, from);
			if (w->p && key && !new_key(w, grove__slice(from, (size_t)(w->p - from) - 1)))
				return false;
			break;
		case 't':
		case 'n':
			w->p += 4;
			break;
		case 'f':
			w->p += 5;
			break;
		case ' ':
		case '\t':
		case '\r':
		case '\n':
			return false;
		default:
			w->p = number_end(w->p, w->end);
		}
	}
	return w->p != NULL;
}

bool grove__json_is_canonical(struct grove_slice raw)
{
	struct walk w;

	w.p = raw.ptr;
	w.end = raw.ptr + raw.len;
	w.depth = w.nr_keys = 0;
	w.objects = 0;
	w.ascii = true;
	return walk_value(&w) && (w.ascii || grove__utf8_valid(raw));
}
