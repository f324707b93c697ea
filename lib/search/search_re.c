/*
 * search/search_re.c: regular expressions, by PCRE2.
 *
 * Letters match in either case, as words do. A pattern can take for ever on a text
 * of a few bytes, so there is a limit to what it may try.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "search/search_re.h"

#include <pcre2.h>
#include <stdlib.h>

#define STEPS_MAX 1000000
#define DEPTH_MAX 10000
#define HEAP_MAX_KIB 16384

struct grove__search_re {
	pcre2_code *code;
};

struct grove__search_matching {
	const struct grove__search_re *re;
	pcre2_match_data *found;
	pcre2_match_context *limits;
};

int grove__search_re_new(struct grove__search_re **out, struct grove_slice pattern,
			 struct grove_detail *d)
{
	const uint32_t options = PCRE2_UTF | PCRE2_CASELESS | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
				 PCRE2_MATCH_INVALID_UTF;
	struct grove__search_re *re = calloc(1, sizeof(*re));
	unsigned char why[128];
	PCRE2_SIZE at;
	int code;

	*out = NULL;
	if (!re)
		return grove__fail_nomem(d);
	re->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &code, &at, NULL);
	if (!re->code) {
		free(re);
		pcre2_get_error_message(code, why, sizeof(why));
		return grove__fail(d, GROVE_EINVAL, NULL, "re: %s (at byte %zu)", (const char *)why, at + 1);
	}
	/* without it a pattern is slower, that is all */
	pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
	*out = re;
	return 0;
}

void grove__search_re_free(struct grove__search_re *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	free(re);
}

struct grove__search_matching *grove__search_matching_new(const struct grove__search_re *re)
{
	struct grove__search_matching *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->re = re;
	m->found = pcre2_match_data_create_from_pattern(re->code, NULL);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->found || !m->limits) {
		grove__search_matching_free(m);
		return NULL;
	}
	pcre2_set_match_limit(m->limits, STEPS_MAX);
	pcre2_set_depth_limit(m->limits, DEPTH_MAX);
	pcre2_set_heap_limit(m->limits, HEAP_MAX_KIB);
	return m;
}

void grove__search_matching_free(struct grove__search_matching *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->found);
	pcre2_match_context_free(m->limits);
	free(m);
}

int grove__search_matching_next(struct grove__search_matching *m, struct grove_slice text,
				size_t *from, size_t *to)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->found);
	int rc;

	if (*from > text.len)
		return 0;
	rc = pcre2_match(m->re->code, (PCRE2_SPTR)text.ptr, text.len, *from, 0, m->found, m->limits);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0)
		return rc == PCRE2_ERROR_NOMEMORY ? GROVE_ENOMEM : GROVE_ETOOBIG;
	*from = at[0];
	*to = at[1];
	return 1;
}
