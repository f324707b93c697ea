/*
 * catalog/query_re_none.c: there are no regular expressions without PCRE2.
 */
#include "catalog/query.h"

int grove__regex_new(struct grove__regex **out, struct grove_slice pattern, struct grove_detail *d)
{
	(void)pattern;
	*out = NULL;
	return grove__fail(d, GROVE_ENOTSUP, NULL, "re: is not built in (it needs PCRE2)");
}

void grove__regex_free(struct grove__regex *re)
{
	(void)re;
}

int grove__regex_match(const struct grove__regex *re, struct grove_slice text, struct grove_detail *d)
{
	(void)re;
	(void)text;
	(void)d;
	return 1;
}
