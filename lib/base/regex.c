/*
 * base/regex.c: regular expressions, by PCRE2.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/regex.h"

#include <pcre2.h>
#include <stdlib.h>

#define PATTERN_MAX 10000
#define STEPS_MAX 1000000u
#define DEPTH_MAX 10000u
#define HEAP_MAX_KIB 65536u

struct grove__regex {
	pcre2_code *code;
};

struct grove__regex_matcher {
	const struct grove__regex *re;
	pcre2_match_data *found;
	pcre2_match_context *limits;
};

static uint32_t options(enum grove__regex_style style)
{
	const uint32_t all = PCRE2_UTF | PCRE2_CASELESS | PCRE2_NEVER_BACKSLASH_C | PCRE2_MATCH_INVALID_UTF;

	if (style == REGEX_LINES)
		return all | PCRE2_MULTILINE;
	return all | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |
	       PCRE2_DOLLAR_ENDONLY;
}

static pcre2_compile_context *compile_context(enum grove__regex_style style)
{
	pcre2_compile_context *how = pcre2_compile_context_create(NULL);

	if (!how)
		return NULL;
	pcre2_set_max_pattern_length(how, PATTERN_MAX);
	if (style == REGEX_JAVASCRIPT)
		pcre2_set_newline(how, PCRE2_NEWLINE_ANYCRLF);
	return how;
}

int grove__regex_new(struct grove__regex **out, struct grove_slice pattern,
		     enum grove__regex_style style, struct grove_detail *d)
{
	struct grove__regex *re = calloc(1, sizeof(*re));
	pcre2_compile_context *how = compile_context(style);
	unsigned char why[256] = "";
	PCRE2_SIZE at = 0;
	int code = 0, rc = 0;

	*out = NULL;
	if (!re || !how) {
		rc = grove__fail_nomem(d);
		goto out;
	}
	re->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options(style), &code, &at, how);
	if (!re->code) {
		pcre2_get_error_message(code, why, sizeof(why));
		rc = grove__fail(d, GROVE_EINVAL, NULL, "re: %s (at byte %zu)", (const char *)why,
				 (size_t)at + 1);
		goto out;
	}
	/* without it a pattern is slower, that is all */
	if (style == REGEX_LINES)
		pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
	*out = re;
	re = NULL;
out:
	pcre2_compile_context_free(how);
	grove__regex_free(re);
	return rc;
}

void grove__regex_free(struct grove__regex *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	free(re);
}

struct grove__regex_matcher *grove__regex_matcher_new(const struct grove__regex *re)
{
	struct grove__regex_matcher *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->re = re;
	m->found = pcre2_match_data_create_from_pattern(re->code, NULL);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->found || !m->limits) {
		grove__regex_matcher_free(m);
		return NULL;
	}
	pcre2_set_match_limit(m->limits, STEPS_MAX);
	pcre2_set_depth_limit(m->limits, DEPTH_MAX);
	pcre2_set_heap_limit(m->limits, HEAP_MAX_KIB);
	return m;
}

void grove__regex_matcher_free(struct grove__regex_matcher *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->found);
	pcre2_match_context_free(m->limits);
	free(m);
}

int grove__regex_next(struct grove__regex_matcher *m, struct grove_slice text, size_t *from, size_t *to)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->found);
	int rc;

	if (*from > text.len)
		return 0;
	rc = pcre2_match(m->re->code, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, *from, 0, m->found,
			 m->limits);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0)
		return rc == PCRE2_ERROR_NOMEMORY ? GROVE_ENOMEM : GROVE_ETOOBIG;
	*from = at[0];
	*to = at[1];
	return 1;
}
