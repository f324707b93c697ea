/*
 * rules.h: data/secrets.rules, compiled: what secrets look like.
 */
#ifndef EXPORT_RULES_H
#define EXPORT_RULES_H

#include <stddef.h>

/* What the match has before its beginning. */
enum rule_before { RULE_NOTHING, RULE_WORD, RULE_NAME };

/* One beginning of a row. */
struct rule {
	struct rule *next;           /* with the same first byte, in the order of the rows */
	const void *code;            /* matches what follows the beginning, or from what is before it */
	unsigned kind;               /* see rules_name() */
	enum rule_before before;
	int any_case;
	int part;                    /* what it matches is the secret, without its beginning */
	size_t len;
	char begins[48];
};

struct rules {
	unsigned char begins[256][32];   /* something may begin with these two bytes, of which the
	                                    second is a bit; by a rule or not */
	struct rule *first[256];
	unsigned char ends[26][26];  /* a name before a sign may have these last letters */
	unsigned nr_kinds;
	char name[64][32];
};

/* Returns the rules, which all threads share; NULL if out of memory or without PCRE2. */
const struct rules *rules_get(void);
/* Returns 0 if this program was built without PCRE2. */
int rules_built_in(void);
/* Returns the name of a kind, which replaces the secret. */
const char *rules_name(const struct rules *r, unsigned kind);

/* Where a rule matched. One for each thread. */
struct rule_match {
	void *state;
	size_t from, to;
};
/* Returns non-zero if out of memory. */
int rule_match_init(struct rule_match *m);
void rule_match_release(struct rule_match *m);
/* Matches a rule at `at` of a text. */
int rule_matches(struct rule_match *m, const struct rule *rule, const char *text, size_t len, size_t at);

/* The table itself. */
extern const char secrets_rules[];
extern const size_t secrets_rules_len;

static inline int rules_begin(const struct rules *r, unsigned char first, unsigned char second)
{
	return r->begins[first][second / 8] >> second % 8 & 1;
}

#endif
