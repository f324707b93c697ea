/*
 * json/scan_impl.h: what the scanner's files share with each other.
 *
 * The grammar is written down twice. Once as a machine that takes a byte at a
 * time (stream.c); the stream interface and the scalar kernel are thin covers
 * over it. And once as arithmetic on 64-bit masks (scan_kernel.h), which hands
 * every line it finds odd to the machine and so need not say what was wrong.
 */
#ifndef GROVE_JSON_SCAN_IMPL_H
#define GROVE_JSON_SCAN_IMPL_H

#include "json/scan.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define GROVE__JSON_X86 1
#endif

typedef enum grove__json_verdict grove__json_scan_fn(const struct grove__json_want *want,
						     const char *ptr, size_t len, bool final,
						     struct grove__json_line *out);

grove__json_scan_fn grove__json_scan_scalar;
#ifdef GROVE__JSON_X86
grove__json_scan_fn grove__json_scan_avx2;
#endif

/* White space within a line: a line end is not among it. */
static inline bool grove__json_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The same after the first 8 bytes? Names are so short that a call would cost more. */
static inline bool grove__json_same_rest(const char *a, const char *b, size_t len)
{
	uint64_t x, y;

	for (size_t i = 8; i < len; i += 8) {
		size_t at = i + 8 > len ? len - 8 : i;

		memcpy(&x, a + at, sizeof(x));
		memcpy(&y, b + at, sizeof(y));
		if (x != y)
			return false;
	}
	return true;
}

/*
 * The member of `set` with this name, or -1. Eight bytes must be readable at
 * `name` whatever its length.
 */
static inline int grove__json_find(const struct grove__json_want *w, uint64_t set,
				   const char *name, size_t len)
{
	uint64_t head;

	if (len >= sizeof(w->by_len) / sizeof(w->by_len[0]))
		return -1;
	memcpy(&head, name, sizeof(head));
	for (set &= w->by_len[len]; set; set &= set - 1) {
		int m = __builtin_ctzll(set);

		if ((head & w->head_mask[m]) == w->head[m] &&
		    grove__json_same_rest(w->members[m].name, name, len))
			return m;
	}
	return -1;
}

/*
 * Numbers, a byte at a time: the state after `c`, or NUM_END if `c` cannot
 * continue the number. It may stop in the states NUM_ZERO and above.
 */
enum grove__json_num {
	NUM_END,
	NUM_MINUS, /* -        */
	NUM_DOT,   /* 1.       */
	NUM_E,     /* 1e       */
	NUM_SIGN,  /* 1e+      */
	NUM_ZERO,  /* 0        */
	NUM_INT,   /* 12       */
	NUM_FRAC,  /* 1.5      */
	NUM_EXP    /* 1e5 1e+5 */
};

/* The state after a number's first byte; NUM_END if it cannot be one. */
static inline enum grove__json_num grove__json_num_first(char c)
{
	if (c == '-')
		return NUM_MINUS;
	if (c == '0')
		return NUM_ZERO;
	return c >= '1' && c <= '9' ? NUM_INT : NUM_END;
}

static inline enum grove__json_num grove__json_num_next(enum grove__json_num n, char c)
{
	bool digit = c >= '0' && c <= '9';

	switch (n) {
	case NUM_MINUS:
		return grove__json_num_first(c) == NUM_MINUS ? NUM_END :
							       grove__json_num_first(c);
	case NUM_INT:
		if (digit)
			return NUM_INT;
		/* fall through */
	case NUM_ZERO:
		if (c == '.')
			return NUM_DOT;
		return c == 'e' || c == 'E' ? NUM_E : NUM_END;
	case NUM_FRAC:
		if (c == 'e' || c == 'E')
			return NUM_E;
		/* fall through */
	case NUM_DOT:
		return digit ? NUM_FRAC : NUM_END;
	case NUM_E:
		if (c == '+' || c == '-')
			return NUM_SIGN;
		/* fall through */
	case NUM_SIGN:
	case NUM_EXP:
		return digit ? NUM_EXP : NUM_END;
	case NUM_END:
		break;
	}
	return NUM_END;
}

/*
 * The machine. What surrounds the byte to come is in `state`, `depth` and
 * `nest`; the wanted members are followed like this:
 *
 * `ctx` is the member whose object we search (-1: the top-level object) and
 * `ctx_depth` the depth inside of it. Wanted objects stand directly in each
 * other, so leaving one leads to its parent, one level up. Keys are looked at
 * when depth == ctx_depth and nowhere else. `cur` is the member whose value
 * comes next or is being read, -1 if nobody asked for it.
 */
#define GROVE__JSON_NEST_WORDS 16
#define GROVE__JSON_NO_DEPTH UINT64_MAX

struct grove__json_machine {
	const struct grove__json_want *want;
	struct grove__json_line *line;
	uint64_t at;             /* offset of the next byte */
	uint64_t depth;
	uint64_t ctx_depth;
	int ctx;
	int cur;
	int state;
	enum grove__json_num num;
	const char *literal;     /* what is left of true, false or null */
	unsigned hex_left;       /* digits to come in a \u escape */
	unsigned hex;
	bool in_key;             /* the string is a key */
	bool keep_key;           /* and one to be looked up */
	unsigned key_len;
	char key[32];            /* unescaped; a key that fills it is too long */
	uint64_t *nest;          /* a bit a level, set: an object */
	size_t nest_words;
	uint64_t near_nest[GROVE__JSON_NEST_WORDS];
};

void grove__json_machine_init(struct grove__json_machine *m,
			      const struct grove__json_want *want,
			      struct grove__json_line *line);
void grove__json_machine_release(struct grove__json_machine *m);
/* Begin a new value, keeping the memory. */
void grove__json_machine_reset(struct grove__json_machine *m);
/* As grove__json_stream_feed(). */
int grove__json_machine_feed(struct grove__json_machine *m, const char *ptr, size_t len,
			     bool final, size_t *used);

#endif
