/*
 * needle.c: finds what a person typed in a text.
 */
#include "needle.h"

#include "kit/cells.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

/*
 * Returns the lower-case form of the character at p, and its length. A byte that is not
 * UTF-8 is equal only to itself.
 */
static int32_t lower_at(const char *p, const char *end, size_t *len)
{
	enum { NO_CHARACTER = 0x110000 };
	int32_t c;

	*len = 1;
	if ((unsigned char)*p < 0x80)
		return *p >= 'A' && *p <= 'Z' ? *p + 'a' - 'A' : *p;
	*len = cells_decode(p, end, &c);
	if (*len)
		return utf8proc_tolower(c);
	*len = 1;
	return NO_CHARACTER + (unsigned char)*p;
}

void needle_set(struct needle *n, const char *text)
{
	const char *p = n->text, *end;

	snprintf(n->text, sizeof(n->text), "%s", text);
	n->len = strlen(n->text);
	n->exact = 0;
	for (end = p + n->len; p < end && !n->exact;) {
		size_t len;
		int32_t c, small = lower_at(p, end, &len);

		n->exact = cells_decode(p, end, &c) && c != small;
		p += len;
	}
}

/* Returns how long the match at p is, or 0 if there is none. */
static size_t match_at(const char *p, const char *end, struct grove_slice word)
{
	const char *at = p, *w = word.ptr, *word_end = w + word.len;
	size_t n, m;

	for (; w < word_end; at += n, w += m)
		if (at == end || lower_at(at, end, &n) != lower_at(w, word_end, &m))
			return 0;
	return (size_t)(at - p);
}

/* Returns the first byte of the upper-case form of the first character of a word. */
static char first_of_upper(struct grove_slice word)
{
	char bytes[4];
	size_t len;
	int32_t c = lower_at(word.ptr, word.ptr + word.len, &len), upper = utf8proc_toupper(c);

	return utf8proc_tolower(upper) == c && cells_encode((uint32_t)upper, bytes) ? bytes[0] : word.ptr[0];
}

static const char *next(const char *p, const char *end, char c)
{
	const char *at = memchr(p, c, (size_t)(end - p));

	return at ? at : end;
}

/* Looks for both cases of the first letter with memchr(), which is fast; each byte is passed once for each. */
static const char *find_word(struct grove_slice text, struct grove_slice word, int exact, size_t *len)
{
	const char *p = text.ptr, *end = text.ptr + text.len, *a = NULL, *b = NULL;
	char small, large;

	*len = word.len;
	if (!word.len || !text.len)
		return NULL;
	if (exact)
		return memmem(text.ptr, text.len, word.ptr, word.len);
	small = word.ptr[0];
	large = first_of_upper(word);
	for (; p < end; p++) {
		if (!a || a < p)
			a = next(p, end, small);
		if (!b || b < p)
			b = small == large ? end : next(p, end, large);
		p = a < b ? a : b;
		if (p == end)
			break;
		*len = match_at(p, end, word);
		if (*len)
			return p;
	}
	return NULL;
}

size_t needle_find(const struct needle *n, struct grove_slice text, size_t from, size_t *len)
{
	struct grove_slice word = { n->text, n->len };
	const char *at;

	if (from > text.len)
		return SIZE_MAX;
	at = find_word((struct grove_slice){ text.ptr + from, text.len - from }, word, n->exact, len);
	return at ? (size_t)(at - text.ptr) : SIZE_MAX;
}

int needle_is_in(const struct needle *n, struct grove_slice text)
{
	size_t len;

	return needle_find(n, text, 0, &len) != SIZE_MAX;
}

/* Returns the word at or after *p, which is moved behind it; an empty one at the end. */
static struct grove_slice next_word(const char **p)
{
	struct grove_slice word;

	*p += strspn(*p, " ");
	word = (struct grove_slice){ *p, strcspn(*p, " ") };
	*p += word.len;
	return word;
}

size_t needle_find_word(const struct needle *n, struct grove_slice text, size_t from, size_t *len)
{
	const char *p = n->text, *first = NULL;
	struct grove_slice word;

	if (from > text.len)
		return SIZE_MAX;
	while ((word = next_word(&p)).len) {
		size_t found;
		const char *at = find_word((struct grove_slice){ text.ptr + from, text.len - from }, word,
					   n->exact, &found);

		if (at && (!first || at < first || (at == first && found > *len))) {
			first = at;
			*len = found;
		}
	}
	return first ? (size_t)(first - text.ptr) : SIZE_MAX;
}

int needle_words(const struct needle *n, const char *const *texts, size_t nr)
{
	const char *p = n->text;
	struct grove_slice word;

	while ((word = next_word(&p)).len) {
		int found = 0;
		size_t len;

		for (size_t i = 0; i < nr && !found; i++)
			found = texts[i] && find_word(grove_str(texts[i]), word, n->exact, &len);
		if (!found)
			return 0;
	}
	return 1;
}
