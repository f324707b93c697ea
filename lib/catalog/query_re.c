/*
 * catalog/query_re.c: regular expressions of JavaScript, by PCRE2.
 *
 * The options bring PCRE2 as near to JavaScript as it goes: what both accept
 * means the same, but for \s, which is ASCII's here. Whoever types an expression
 * may type one that never ends, so a match has limits.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "catalog/query.h"

#include <pcre2.h>
#include <stdlib.h>

#define PATTERN_MAX 10000
#define STEPS_MAX 1000000u
#define DEPTH_MAX 10000u
#define HEAP_MAX_KIB 65536u

struct grove__regex {
	pcre2_code *code;
	pcre2_match_context *limits;
};

int grove__regex_new(struct grove__regex **out, struct grove_slice pattern, struct grove_detail *d)
{
	const uint32_t options = PCRE2_UTF | PCRE2_CASELESS | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
				 PCRE2_ALLOW_EMPTY_CLASS | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_NEVER_BACKSLASH_C | PCRE2_MATCH_INVALID_UTF;
	struct grove__regex *re = calloc(1, sizeof(*re));
	pcre2_compile_context *how = pcre2_compile_context_create(NULL);
	unsigned char why[256] = "";
	PCRE2_SIZE at = 0;
	int code = 0, rc = 0;

	*out = re;
	if (re)
		re->limits = pcre2_match_context_create(NULL);
	if (!re || !how || !re->limits) {
		rc = grove__fail_nomem(d);
	} else {
		pcre2_set_newline(how, PCRE2_NEWLINE_ANYCRLF);
		pcre2_set_max_pattern_length(how, PATTERN_MAX);
		pcre2_set_match_limit(re->limits, STEPS_MAX);
		pcre2_set_depth_limit(re->limits, DEPTH_MAX);
		pcre2_set_heap_limit(re->limits, HEAP_MAX_KIB);
		re->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &code, &at, how);
		pcre2_get_error_message(code, why, sizeof(why));
		if (!re->code)
			rc = grove__fail(d, GROVE_EINVAL, NULL, "re: at character %zu: %s", (size_t)at + 1,
					 (const char *)why);
	}
	pcre2_compile_context_free(how);
	if (rc) {
		grove__regex_free(re);
		*out = NULL;
	}
	return rc;
}

void grove__regex_free(struct grove__regex *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	pcre2_match_context_free(re->limits);
	free(re);
}

int grove__regex_match(const struct grove__regex *re, struct grove_slice text, struct grove_detail *d)
{
	pcre2_match_data *found = pcre2_match_data_create(1, NULL);
	int rc;

	if (!found)
		return grove__fail_nomem(d);
	rc = pcre2_match(re->code, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, 0, 0, found, re->limits);
	pcre2_match_data_free(found);
	if (rc >= 0)
		return 0;
	switch (rc) {
	case PCRE2_ERROR_NOMATCH:
		return 1;
	case PCRE2_ERROR_NOMEMORY:
		return grove__fail_nomem(d);
	default:
		return grove__fail(d, GROVE_ETOOBIG, NULL, "re: the expression takes too long");
	}
}
