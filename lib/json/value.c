/*
 * json/value.c: walk a value that is known to be valid.
 *
 * Because the grammar was checked before, finding the end of a value needs no
 * more than counting brackets outside of strings.
 */
#include "json/value.h"

#include "js/js.h"
#include "json/escape.h"

#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The next quote, or NULL. Keys and most values are so short that a call would cost more than the search. */
static inline const char *find_quote(const char *p, const char *end)
{
#ifdef __SSE2__
	if (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));

		if (quotes)
			return p + __builtin_ctz(quotes);
		p += 16;
	}
#endif
	return memchr(p, '"', (size_t)(end - p));
}

/* Returns the end of the string whose text goes on at `p`, which no backslash escapes. */
static inline const char *skip_text(const char *p, const char *end)
{
	const char *q = p;

	/* a quote ends it unless an odd number of backslashes is before it */
	for (; q < end && (q = find_quote(q, end)); q++) {
		const char *b = q;

		while (b > p && b[-1] == '\\')
			b--;
		if (!((q - b) & 1))
			return q + 1;
	}
	return end;
}

/* Returns the end of the string that starts at `p`, a quote. */
static inline const char *skip_string(const char *p, const char *end)
{
	return skip_text(p + 1, end);
}

/* From `p`, where `depth` brackets are open, to after the one that closes the first of them. */
static const char *skip_brackets(const char *p, const char *end, size_t depth)
{
	while (p < end) {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (!--depth)
				return p + 1;
			break;
		default:
			break;
		}
		p++;
	}
	return end;
}

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2,pclmul,popcnt")))
enum { BLOCK = 64 };

/* A bit for each byte of a block that is `c` once the bits of `with` are set in it; the first is the lowest. */
WIDE static inline uint64_t bytes_equal(const __m256i v[2], char with, char c)
{
	const __m256i w = _mm256_set1_epi8(with), x = _mm256_set1_epi8(c);
	uint64_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(v[0], w), x));
	uint64_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(v[1], w), x));

	return low | high << 32;
}

/* After the bracket at which the depth becomes 0, if the block has it; else NULL. */
static const char *find_close(const char *p, uint64_t opens, uint64_t closes, size_t depth)
{
	for (size_t nr = 1; closes; closes &= closes - 1, nr++) {
		uint64_t before = (closes & -closes) - 1;

		if (depth + (size_t)__builtin_popcountll(opens & before) == nr)
			return p + __builtin_ctzll(closes) + 1;
	}
	return NULL;
}

/* The same, 64 bytes at a time: only a block that has enough brackets to close all is looked at more closely. */
WIDE static const char *skip_wide(const char *p, const char *end)
{
	uint64_t carried = 0, in_string = 0;
	size_t depth = 0;

	for (; end - p >= BLOCK; p += BLOCK) {
		const __m256i v[2] = { _mm256_loadu_si256((const __m256i *)(const void *)p),
				       _mm256_loadu_si256((const __m256i *)(const void *)(p + BLOCK / 2)) };
		uint64_t escaped = grove__json_escaped(bytes_equal(v, 0, '\\'), &carried);
		uint64_t quotes = bytes_equal(v, 0, '"') & ~escaped, text, opens, closes;

		/* 1 from each opening quote up to the closing one: the parity of the quotes so far */
		text = (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quotes),
									_mm_set1_epi8(-1), 0)) ^ in_string;
		opens = bytes_equal(v, 0x20, '{') & ~text;  /* and [ */
		closes = bytes_equal(v, 0x20, '}') & ~text; /* and ] */
		if ((size_t)__builtin_popcountll(closes) >= depth) {
			const char *behind = find_close(p, opens, closes, depth);

			if (behind)
				return behind;
		}
		depth += (size_t)__builtin_popcountll(opens) - (size_t)__builtin_popcountll(closes);
		in_string = 0 - (text >> 63);
	}
	if (carried && p < end)
		p++;
	if (in_string)
		p = skip_text(p, end);
	return skip_brackets(p, end, depth);
}
#endif

static const char *skip_container(const char *p, const char *end)
{
#ifdef __x86_64__
	if (end - p >= BLOCK && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul"))
		return skip_wide(p, end);
#endif
	return skip_brackets(p, end, 0);
}

static const char *skip_scalar(const char *p, const char *end)
{
	while (p < end && ((unsigned char)(*p - '0') < 10 ||
			   (*p != ',' && *p != '}' && *p != ']' && !grove__json_is_space(*p))))
		p++;
	return p;
}

/* Returns the end of the value that starts at `p`. */
static inline const char *skip_value(const char *p, const char *end)
{
	if (p == end)
		return end;
	if (*p == '"')
		return skip_string(p, end);
	return *p == '{' || *p == '[' ? skip_container(p, end) : skip_scalar(p, end);
}

size_t grove__json_skip(const char *p, const char *end)
{
	return (size_t)(skip_value(p, end) - p);
}

void grove__json_iter_init(struct grove__json_iter *it, struct grove_slice value)
{
	enum grove__json_type type = grove__json_type_of(value);

	it->p = it->end = value.ptr;
	it->key = it->value = grove__slice(NULL, 0);
	it->object = type == JSON_OBJECT;
	if (it->object || type == JSON_ARRAY) {
		it->p++;
		it->end += value.len - 1; /* the closing bracket ends the walk */
	}
}

/* To the next member or element, or the end. */
static inline const char *skip_between(const char *p, const char *end)
{
	while (p < end && (*p == ',' || grove__json_is_space(*p)))
		p++;
	return p;
}

bool grove__json_next(struct grove__json_iter *it)
{
	const char *p = skip_between(it->p, it->end), *end = it->end;
	size_t len;

	if (p >= end)
		return false;
	if (it->object) {
		len = grove__json_skip(p, end);
		it->key = grove__slice(p, len);
		p = grove__json_skip_space(p + len, end);
		p = grove__json_skip_space(p + (p < end), end); /* the colon */
	}
	len = grove__json_skip(p, end);
	it->value = grove__slice(p, len);
	it->p = p + len;
	return true;
}

static void clear(struct grove_slice *out, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		out[i] = grove__slice(NULL, 0);
}

/* Behind the object that starts at `p`, with those of its members that have a name. */
static const char *walk_object(const char *p, const char *end, const char *const *names, size_t nr,
			       struct grove_slice *out)
{
	while ((p = skip_between(p + 1, end)) < end && *p != '}') {
		struct grove_slice key = grove__slice(p, (size_t)(skip_string(p, end) - p));
		char first = key.len > 2 ? key.ptr[1] : '\0', second = key.len > 3 ? key.ptr[2] : '\0';
		bool plain = first != '\\' && second != '\\' && !((first | second) & 0x80);
		size_t len;

		p = grove__json_skip_space(p + key.len, end);
		p = grove__json_skip_space(p + (p < end), end); /* the colon */
		len = (size_t)(skip_value(p, end) - p);
		/* most differ in their first two bytes, if it has two */
		for (size_t i = 0; i < nr; i++)
			if (((*names[i] == first && (!first || names[i][1] == second)) || !plain) &&
			    grove__json_string_is(key, names[i]))
				out[i] = grove__slice(p, len);
		p = grove__json_skip_space(p + len, end);
		if (p >= end || *p != ',')
			break;
	}
	return p < end ? p + 1 : end;
}

bool grove__json_next_members(struct grove__json_iter *it, const char *const *names, size_t nr,
			      struct grove_slice *out)
{
	const char *p = skip_between(it->p, it->end);

	clear(out, nr);
	it->p = p;
	if (it->object || p >= it->end || *p != '{')
		return grove__json_next(it);
	it->p = walk_object(p, it->end, names, nr, out);
	it->value = grove__slice(p, (size_t)(it->p - p));
	return true;
}

void grove__json_get_all(struct grove_slice object, const char *const *names, size_t nr,
			 struct grove_slice *out)
{
	clear(out, nr);
	if (grove__json_type_of(object) == JSON_OBJECT)
		walk_object(object.ptr, object.ptr + object.len, names, nr, out);
}

struct grove_slice grove__json_get(struct grove_slice object, const char *name)
{
	struct grove_slice found;

	grove__json_get_all(object, &name, 1, &found);
	return found;
}

struct grove_slice grove__json_at(struct grove_slice array, size_t i)
{
	struct grove__json_iter it;

	if (grove__json_type_of(array) == JSON_ARRAY) {
		grove__json_iter_init(&it, array);
		while (grove__json_next(&it))
			if (!i--)
				return it.value;
	}
	return grove__slice(NULL, 0);
}

/* One name of a JSON pointer, unescaped; returns what follows it. */
static const char *next_name(const char *p, struct grove_buf *out, int *rc)
{
	grove__buf_clear(out);
	for (p++; *p && *p != '/' && !*rc; p++) {
		char c = *p;

		if (c == '~' && (p[1] == '0' || p[1] == '1'))
			c = *++p == '0' ? '~' : '/';
		*rc = grove__buf_add_char(out, c);
	}
	return p;
}

static struct grove_slice element(struct grove_slice list, const char *digits)
{
	uint32_t i;

	return grove__js_is_index(grove__slice_str(digits), &i) ? grove__json_at(list, i)
								 : grove__slice(NULL, 0);
}

int grove__json_pointed(struct grove_slice value, const char *pointer, struct grove_slice *out)
{
	struct grove_buf name = GROVE_BUF_INIT;
	int rc = 0;

	while (!rc && value.ptr && *pointer == '/') {
		pointer = next_name(pointer, &name, &rc);
		if (grove__json_type_of(value) == JSON_ARRAY)
			value = element(value, name.ptr ? name.ptr : "");
		else
			value = grove__json_get(value, name.ptr ? name.ptr : "");
	}
	*out = *pointer ? grove__slice(NULL, 0) : value;
	grove__buf_release(&name);
	return rc;
}

bool grove__json_string_equals(struct grove_slice raw, const char *str)
{
	const char *p, *end;
	uint32_t cp;

	if (grove__json_type_of(raw) != JSON_STRING)
		return false;
	p = raw.ptr + 1;
	end = raw.ptr + raw.len - 1;
	while (p < end) {
		unsigned char c = (unsigned char)*p;
		char utf8[4];
		size_t len;

		if (c < 0x80 && c != '\\') {
			if (*str++ != *p++)
				return false;
			continue;
		}
		if (c == '\\')
			p += grove__json_unescape(p, end, &cp);
		else
			p += grove__utf8_decode(p, end, &cp);
		len = grove__utf8_encode(utf8, cp);
		/* U+0000 would match the end of `str`, and lead us past it */
		if (!cp || strncmp(str, utf8, len))
			return false;
		str += len;
	}
	return !*str;
}

/*
 * Append ASCII and escapes of two characters, which most texts are made of, and stop at
 * anything else, or near the end. `out` has room for as much as there is.
 */
static const char *copy_simple(struct grove_buf *out, const char *p, const char *end)
{
	char *to = out->ptr + out->len;
	uint32_t cp;

	while (end - p >= 8) {
		uint64_t w = grove__json_load(p);
		uint64_t marks = grove__json_has_byte(w, '\\') | (w & GROVE__JSON_BYTES(0x80));
		size_t n = marks ? grove__json_unmarked(marks) : 8;

		memcpy(to, p, 8);
		to += n;
		p += n;
		if (!marks)
			continue;
		if (*p != '\\' || p[1] == 'u')
			break;
		p += grove__json_unescape(p, end, &cp);
		*to++ = (char)cp;
	}
	out->len = (size_t)(to - out->ptr);
	out->ptr[out->len] = '\0';
	return p;
}

int grove__json_text(struct grove_buf *out, struct grove_slice raw)
{
	const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
	size_t start = out->len;
	uint32_t cp;
	char utf8[4];
	int rc = grove__buf_reserve(out, raw.len);

	while (!rc && p < end) {
		const char *run;

		rc = grove__buf_reserve(out, (size_t)(end - p));
		if (rc)
			break;
		run = p = copy_simple(out, p, end);
		p = grove__json_plain_end(p, end);
		rc = grove__utf8_repair(out, grove__slice(run, (size_t)(p - run)));
		if (rc || p == end)
			break;
		p += grove__json_unescape(p, end, &cp);
		rc = grove__buf_add(out, utf8, grove__utf8_encode(utf8, cp));
	}
	if (rc)
		grove__buf_cut(out, start);
	return rc;
}

int grove__json_words(struct grove_slice raw, struct grove_buf *room, struct grove_slice *words)
{
	bool string = grove__json_type_of(raw) == JSON_STRING;
	int rc;

	*words = string ? grove__slice(raw.ptr + 1, raw.len - 2) : raw;
	if (!(string && memchr(words->ptr, '\\', words->len)) && grove__utf8_valid(*words))
		return 0;
	grove__buf_clear(room);
	rc = string ? grove__json_text(room, raw) : grove__utf8_repair(room, raw);
	*words = grove__buf_slice(room);
	return rc;
}

/* Before the escape or character that a cut at `p` would divide; `begin` begins one. */
static const char *cut_before(const char *begin, const char *p)
{
	enum { PAIR = 12 }; /* the longest escape: two surrogates */
	const char *from = p - begin > PAIR ? p - PAIR : begin, *slash = memchr(from, '\\', (size_t)(p - from));

	/* a backslash may belong to the one before it */
	while (slash && slash > begin && slash[-1] == '\\')
		slash--;
	p = slash ? slash : p;
	while (p > begin && ((unsigned char)*p & 0xc0) == 0x80)
		p--;
	return p;
}

static size_t leading_space(struct grove_slice text)
{
	size_t n = 0;

	while (n < text.len && grove__json_is_space(text.ptr[n]))
		n++;
	return n;
}

int grove__json_words_start(struct grove_slice raw, size_t max, struct grove_buf *room, struct grove_slice *words)
{
	enum { MORE = 8 };   /* the end may have half of a surrogate pair, which does not count */
	struct grove_slice start;
	int rc;

	/* with few escapes, twice as much is enough */
	if (max > SIZE_MAX / 2 || raw.len / 4 <= max + MORE || grove__json_type_of(raw) != JSON_STRING)
		return grove__json_words(raw, room, words);
	start = grove__slice(raw.ptr + 1, 2 * (max + MORE));
	start.len = (size_t)(cut_before(start.ptr, start.ptr + start.len) - start.ptr);
	if (!memchr(start.ptr, '\\', start.len) && grove__utf8_valid(start)) {
		*words = start;
		rc = 0;
	} else {
		grove__buf_clear(room);
		/* with a byte in the place of each quote */
		rc = grove__json_text(room, grove__slice(start.ptr - 1, start.len + 2));
		*words = grove__buf_slice(room);
	}
	if (rc || words->len > leading_space(*words) + max + MORE)
		return rc;
	return grove__json_words(raw, room, words);
}

double grove__json_number(struct grove_slice raw)
{
	enum { EXACT = 15 }; /* this many digits survive in every double */
	uint64_t n = 0;
	size_t i = 0;

	while (i < raw.len && i < EXACT && raw.ptr[i] >= '0' && raw.ptr[i] <= '9')
		n = n * 10 + (unsigned)(raw.ptr[i++] - '0');
	return i && i == raw.len ? (double)n : grove__js_parse_number(raw);
}

bool grove__json_truthy(struct grove_slice raw)
{
	double d;

	switch (grove__json_type_of(raw)) {
	case JSON_NONE:
	case JSON_NULL:
	case JSON_FALSE:
		return false;
	case JSON_STRING:
		return raw.len > 2;
	case JSON_NUMBER:
		d = grove__json_number(raw);
		return d < 0 || d > 0; /* 1e-400 is a zero too */
	default:
		return true;
	}
}
