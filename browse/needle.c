/*
 * needle.c: finds what a person typed in a text.
 */
#include "needle.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

void needle_set(struct needle *n, const char *text)
{
	snprintf(n->text, sizeof(n->text), "%s", text);
	n->len = strlen(n->text);
	n->exact = 0;
	for (size_t i = 0; i < n->len; i++)
		n->exact |= lower(n->text[i]) != n->text[i];
}

static int is_at(const char *p, struct grove_slice word)
{
	for (size_t i = 0; i < word.len; i++)
		if (lower(p[i]) != word.ptr[i])
			return 0;
	return 1;
}

static const char *next(const char *p, const char *end, char c)
{
	const char *at = memchr(p, c, (size_t)(end - p));

	return at ? at : end;
}

/* Looks for both cases of the first letter with memchr(), which is fast; each byte is passed once for each. */
static const char *find_word(struct grove_slice text, struct grove_slice word, int exact)
{
	const char *p = text.ptr, *end = text.ptr + text.len, *a = NULL, *b = NULL;
	char small, large;

	if (!word.len || text.len < word.len)
		return NULL;
	if (exact)
		return memmem(text.ptr, text.len, word.ptr, word.len);
	small = word.ptr[0];
	large = small >= 'a' && small <= 'z' ? (char)(small - 'a' + 'A') : small;
	for (end -= word.len - 1; p < end; p++) {
		if (!a || a < p)
			a = next(p, end, small);
		if (!b || b < p)
			b = small == large ? end : next(p, end, large);
		p = a < b ? a : b;
		if (p == end)
			break;
		if (is_at(p, word))
			return p;
	}
	return NULL;
}

size_t needle_find(const struct needle *n, struct grove_slice text, size_t from)
{
	struct grove_slice word = { n->text, n->len };
	const char *at;

	if (from > text.len)
		return SIZE_MAX;
	at = find_word((struct grove_slice){ text.ptr + from, text.len - from }, word, n->exact);
	return at ? (size_t)(at - text.ptr) : SIZE_MAX;
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
		const char *at = find_word((struct grove_slice){ text.ptr + from, text.len - from }, word, n->exact);

		if (at && (!first || at < first || (at == first && word.len > *len))) {
			first = at;
			*len = word.len;
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

		for (size_t i = 0; i < nr && !found; i++)
			found = texts[i] && find_word(grove_str(texts[i]), word, n->exact);
		if (!found)
			return 0;
	}
	return 1;
}
