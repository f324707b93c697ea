/*
 * base/regex_none.c: there are no regular expressions without PCRE2.
 */
#include "base/regex.h"

/* these functions only have to have the right types */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int grove__regex_new(struct grove__regex **out, struct grove_slice pattern,
		     enum grove__regex_style style, struct grove_detail *d)
{
	*out = NULL;
	return grove__fail(d, GROVE_ENOTSUP, NULL, "re: not available in this build (it needs PCRE2)");
}

void grove__regex_free(struct grove__regex *re)
{
}

struct grove__regex_matcher *grove__regex_matcher_new(const struct grove__regex *re)
{
	return NULL;
}

void grove__regex_matcher_free(struct grove__regex_matcher *m)
{
}

int grove__regex_next(struct grove__regex_matcher *m, struct grove_slice text, size_t *from, size_t *to)
{
	return GROVE_ENOTSUP;
}
