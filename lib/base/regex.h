/*
 * base/regex.h: regular expressions, and where they match.
 *
 * Letters match in either case. A pattern can take for ever on a text of a few
 * bytes, so there is a limit to what a match may try. Without PCRE2 there are
 * none: grove__regex_new() answers GROVE_ENOTSUP.
 */
#ifndef GROVE_BASE_REGEX_H
#define GROVE_BASE_REGEX_H

#include "base/fail.h"
#include "base/slice.h"

enum grove__regex_style {
	/*
	 * As near to JavaScript as PCRE2 goes: what both accept means the same, but
	 * for \s, which is ASCII's here. ^ and $ are the ends of the text.
	 */
	REGEX_JAVASCRIPT,
	/* As grep has them: ^ and $ are the ends of every line. Compiled further, for long texts. */
	REGEX_LINES,
};

struct grove__regex;

/* GROVE_EINVAL with a reason that begins with "re:". */
int grove__regex_new(struct grove__regex **out, struct grove_slice pattern,
		     enum grove__regex_style style, struct grove_detail *d);
void grove__regex_free(struct grove__regex *re);

/* What one thread needs for matching. NULL if out of memory. */
struct grove__regex_matcher;
struct grove__regex_matcher *grove__regex_matcher_new(const struct grove__regex *re);
void grove__regex_matcher_free(struct grove__regex_matcher *m);

/*
 * The next match from *from on: 1, and *from … *to is it; 0: none. GROVE_ENOMEM,
 * GROVE_ETOOBIG (it takes too long).
 */
int grove__regex_next(struct grove__regex_matcher *m, struct grove_slice text, size_t *from, size_t *to);

#endif
