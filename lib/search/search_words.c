/*
 * search/search_words.c: splits a text into words.
 *
 * Most bytes are ASCII, and use a table. Bytes that are not UTF-8 separate words.
 */
#include "search/search_words.h"

#include "base/utf8.h"

#include <utf8proc.h>

/* A longer list of parts, or a list of shorter ones, is not an identifier, but a checksum or data. */
#define PARTS_MAX 6
#define PART_MEAN 3

/* Letters and digits in lower case, 0 for separators; 1: look closer. */
static const unsigned char plain[256] = {
	['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',
	['7'] = '7', ['8'] = '8', ['9'] = '9', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd',
	['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k',
	['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r',
	['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y',
	['z'] = 'z', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f',
	['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm',
	['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't',
	['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
	[0x80 ... 0xff] = 1,
};

struct cutter {
	const char *begin;
	bool asked;
	grove__word_fn *fn;
	void *payload;
	char word[GROVE__WORD_MAX + 8];
	size_t len;                  /* of the current word; 0: none */
	size_t from;
	bool capital;                /* it has one, but not only at its beginning */
	/* the current run of pairs: its last character, and how many there were */
	char last[4];
	size_t last_len, last_from, run;
};

/* Returns a character as it is compared: in lower case. A letter outside ASCII stays outside. */
static uint32_t fold(uint32_t cp)
{
	utf8proc_int32_t small;

	if (cp < 0x80)
		return plain[cp] ? plain[cp] : cp;
	small = utf8proc_tolower((utf8proc_int32_t)cp);
	/* U+212A does not become k, because raw bytes are searched for ASCII words */
	return small < 0x80 ? cp : (uint32_t)small;
}

bool grove__search_word_paired(uint32_t cp)
{
	return (cp >= 0x2e80 && cp < 0xa4d0) || (cp >= 0xac00 && cp < 0xd7a4) ||
	       (cp >= 0xf900 && cp < 0xfb00) || (cp >= 0xff66 && cp < 0xffa0) ||
	       (cp >= 0x20000 && cp < 0x40000) || (cp >= 0x0e00 && cp < 0x10a0) ||
	       (cp >= 0x1780 && cp < 0x1800);
}

/* True if a character outside ASCII is part of a word. */
static bool is_letter(uint32_t cp)
{
	switch (utf8proc_category((utf8proc_int32_t)cp)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_MN:
	case UTF8PROC_CATEGORY_MC:
	case UTF8PROC_CATEGORY_ME:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
	case UTF8PROC_CATEGORY_CO:
		return true;
	default:
		return false;
	}
}

static int tell(struct cutter *c, const char *ptr, size_t len, size_t from, size_t to, bool again)
{
	struct grove__word w = { ptr, len, from, to, again };

	return c->fn(c->payload, &w);
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_small(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Returns the end of the part of an identifier that begins at `p`: refresh in refreshToken, HTTP in HTTPServer. */
static const char *part_end(const char *p, const char *end)
{
	for (p++; p < end; p++)
		if (is_capital(*p) && (is_small(p[-1]) || (end - p > 2 && is_small(p[1]) && is_small(p[2]))))
			break;
	return p;
}

/* How many parts the word has; 0: it is none that people made. */
static size_t count_parts(const char *p, const char *end)
{
	const char *begin = p;
	size_t nr = 0;

	for (; p < end; p = part_end(p, end))
		nr++;
	for (p = begin; p < end; p++)
		if ((unsigned char)*p & 0x80)
			return 0;
	return nr > 1 && nr <= PARTS_MAX && (size_t)(end - begin) >= PART_MEAN * nr ? nr : 0;
}

static int tell_parts(struct cutter *c, const char *p, const char *end)
{
	char part[GROVE__WORD_MAX];
	int rc = 0;

	for (const char *next; p < end && !rc; p = next) {
		size_t len;

		next = part_end(p, end);
		len = next - p < GROVE__WORD_MAX ? (size_t)(next - p) : GROVE__WORD_MAX;
		for (size_t i = 0; i < len; i++)
			part[i] = (char)plain[(unsigned char)p[i]];
		if (len > 1)
			rc = tell(c, part, len, (size_t)(p - c->begin), (size_t)(next - c->begin), true);
	}
	return rc;
}

static int end_word(struct cutter *c, const char *p)
{
	const char *from = c->begin + c->from;
	size_t len = c->len;
	bool parts = c->capital && !c->asked;
	int rc;

	c->len = 0;
	c->capital = false;
	rc = len ? tell(c, c->word, len, c->from, (size_t)(p - c->begin), false) : 0;
	return rc || !parts || !count_parts(from, p) ? rc : tell_parts(c, from, p);
}

static int end_run(struct cutter *c, const char *p)
{
	size_t run = c->run;

	c->run = 0;
	if (!run || (c->asked && run > 1))
		return 0;
	return tell(c, c->last, c->last_len, c->last_from, (size_t)(p - c->begin), run > 1);
}

static int add_pair(struct cutter *c, const char *p, size_t n)
{
	char pair[8];
	int rc = 0;

	if (c->run) {
		memcpy(pair, c->last, c->last_len);
		memcpy(pair + c->last_len, p, n);
		rc = tell(c, pair, c->last_len + n, c->last_from, (size_t)(p - c->begin) + n, false);
	}
	memcpy(c->last, p, n);
	c->last_len = n;
	c->last_from = (size_t)(p - c->begin);
	c->run++;
	return rc;
}

static void add_letter(struct cutter *c, uint32_t cp, const char *p)
{
	char bytes[4];
	size_t n = grove__utf8_encode(bytes, fold(cp));

	if (!c->len)
		c->from = (size_t)(p - c->begin);
	if (c->len + n > GROVE__WORD_MAX)
		return;
	memcpy(c->word + c->len, bytes, n);
	c->len += n;
}

/* Handles a character outside ASCII at `p`. */
static int take_wide(struct cutter *c, const char **p, const char *end)
{
	const char *at = *p;
	uint32_t cp;
	size_t n = grove__utf8_decode(at, end, &cp);
	int rc;

	*p += n;
	if (cp == GROVE__UTF8_BAD || !is_letter(cp)) {
		rc = end_word(c, at);
		return rc ? rc : end_run(c, at);
	}
	if (grove__search_word_paired(cp)) {
		rc = end_word(c, at);
		return rc ? rc : add_pair(c, at, n);
	}
	rc = end_run(c, at);
	add_letter(c, cp, at);
	return rc;
}

/* Skips the separator at `p`; a terminal colour is one, not part of the next word. */
static const char *pass_sign(const char *p, const char *end)
{
	if (*p++ != '\033' || p == end || *p != '[')
		return p;
	for (p++; p < end && *p >= 0x20 && *p < 0x40;)
		p++;
	return p < end && *p >= 0x40 && *p < 0x7f ? p + 1 : p;
}

int grove__words_cut(struct grove_slice text, bool asked, grove__word_fn *fn, void *payload)
{
	struct cutter c = { .begin = text.ptr, .asked = asked, .fn = fn, .payload = payload };
	const char *p = text.ptr, *end = p + text.len;
	int rc = 0;

	while (p < end && !rc) {
		unsigned char small = plain[(unsigned char)*p];

		if (small > 1) {
			if (c.run)
				rc = end_run(&c, p);
			if (!c.len)
				c.from = (size_t)(p - c.begin);
			/* letters of one kind mostly come together */
			do {
				c.capital |= c.len && (unsigned char)*p != small;
				if (c.len < GROVE__WORD_MAX)
					c.word[c.len++] = (char)small;
				p++;
			} while (p < end && (small = plain[(unsigned char)*p]) > 1);
		} else if (small) {
			rc = take_wide(&c, &p, end);
		} else {
			if (c.len)
				rc = end_word(&c, p);
			if (c.run && !rc)
				rc = end_run(&c, p);
			p = pass_sign(p, end);
		}
	}
	rc = rc ? rc : end_word(&c, p);
	return rc ? rc : end_run(&c, p);
}
