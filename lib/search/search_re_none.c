/*
 * search/search_re_none.c: there are no regular expressions without PCRE2.
 */
#include "search/search_re.h"

int grove__search_re_new(struct grove__search_re **out, struct grove_slice pattern,
			 struct grove_detail *d)
{
	(void)pattern;
	*out = NULL;
	return grove__fail(d, GROVE_ENOTSUP, NULL, "re: is not built in (it needs PCRE2)");
}

void grove__search_re_free(struct grove__search_re *re)
{
	(void)re;
}

struct grove__search_matching *grove__search_matching_new(const struct grove__search_re *re)
{
	(void)re;
	return NULL;
}

void grove__search_matching_free(struct grove__search_matching *m)
{
	(void)m;
}

int grove__search_matching_next(struct grove__search_matching *m, struct grove_slice text,
				size_t *from, size_t *to)
{
	(void)m;
	(void)text;
	(void)from;
	(void)to;
	return GROVE_ENOTSUP;
}
