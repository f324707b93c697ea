/* search/search_forms.c: which words of a text are forms of others. */
#include "search/search_forms.h"

#include "search/search_stem.h"
#include "search/search_words.h"

#include <stdlib.h>

#define SEEN ((size_t)1 << 15)

int grove__search_forms_init(struct grove__search_forms *f)
{
	*f = (struct grove__search_forms){ .seen = calloc(SEEN, sizeof(*f->seen)) };
	return f->seen ? 0 : GROVE_ENOMEM;
}

void grove__search_forms_clear(struct grove__search_forms *f)
{
	memset(f->seen, 0, SEEN * sizeof(*f->seen));
	grove__buf_clear(&f->found);
}

void grove__search_forms_release(struct grove__search_forms *f)
{
	free(f->seen);
	grove__buf_release(&f->found);
	*f = (struct grove__search_forms){ 0 };
}

int grove__search_forms_note(struct grove__search_forms *f, const char *word, size_t len, uint64_t hash)
{
	uint64_t *seen = &f->seen[hash & (SEEN - 1)];
	char stem[GROVE__WORD_MAX];
	size_t n;
	int rc;

	/* the word is in the CPU's cache, the table may not be */
	if (!grove__search_stem_differs(word, len) || !grove__search_stem_has(word, len) || *seen == hash)
		return 0;
	*seen = hash;
	memcpy(stem, word, len);
	n = grove__search_stem(stem, len);
	if (n == len && !memcmp(stem, word, len))
		return 0;
	rc = grove__buf_add(&f->found, stem, n);
	rc = rc ? rc : grove__buf_add_char(&f->found, '\0');
	rc = rc ? rc : grove__buf_add(&f->found, word, len);
	return rc ? rc : grove__buf_add_char(&f->found, '\0');
}
