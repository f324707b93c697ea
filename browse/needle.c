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

/* Looks for the rarer case of the first letter with memchr(), which is fast. */
static const char *find_word(struct grove_slice text, struct grove_slice word, int exact)
{
	const char *p = text.ptr, *end = text.ptr + text.len;
	char small, large;

	if (!word.len || text.len < word.len)
		return NULL;
	if (exact)
		return memmem(text.ptr, text.len, word.ptr, word.len);
	small = word.ptr[0];
	large = small >= 'a' && small <= 'z' ? (char)(small - 'a' + 'A') : small;
	for (end -= word.len - 1; p < end; p++) {
		const char *a = memchr(p, small, (size_t)(end - p));
		const char *b = small == large ? NULL : memchr(p, large, (size_t)((a ? a : end) - p));

		p = b ? b : a;
		if (!p)
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

int needle_words(const struct needle *n, const char *const *texts, size_t nr)
{
	for (const char *p = n->text; *p;) {
		struct grove_slice word = { p, strcspn(p, " ") };
		int found = !word.len;

		for (size_t i = 0; i < nr && !found; i++)
			found = texts[i] && find_word(grove_str(texts[i]), word, n->exact);
		if (!found)
			return 0;
		p += word.len + (p[word.len] == ' ');
	}
	return 1;
}
