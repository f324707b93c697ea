/*
 * grove/search.h: text in all sessions.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_SEARCH_H
#define GROVE_SEARCH_H

#include <grove/env.h>
#include <grove/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Text in all sessions, those of sub-agents included: what was said and summed
 * up, which tools were called with what, what they answered.
 *
 * An index is kept in the cache directory. It is brought up to date by open and
 * refresh; what another process is just adding to it, and everything where there
 * can be none, is looked through instead. What is handed out is what the logs say
 * at that moment.
 *
 * A handle is for one thread at a time.
 */
struct grove_search;

enum grove_search_flags {
	/*
	 * No index: look through all logs, for parts of words as well; a query
	 * `re:PATTERN` is a regular expression (as Perl has them).
	 */
	GROVE_SEARCH_NO_INDEX = 1
};

GROVE_API int grove_search_open(struct grove *g, unsigned flags, struct grove_search **out);
/* Take in what happened since. */
GROVE_API int grove_search_refresh(struct grove_search *s);
GROVE_API void grove_search_error(struct grove_search *s, struct grove_detail *out);
GROVE_API void grove_search_close(struct grove_search *s);

/* Where it stands; bits. */
enum grove_search_in {
	GROVE_SEARCH_IN_TEXT = 1,       /* messages, and summaries of them */
	GROVE_SEARCH_IN_CALLS = 2,      /* names and arguments of tools, commands */
	GROVE_SEARCH_IN_RESULTS = 4     /* what these answered */
};

struct grove_search_options {
	size_t size;
	unsigned in;                 /* 0: all */
	const char *role;            /* "user", "assistant", "tool", …; "call"; NULL: any */
	const char *cwd;             /* only sessions of this directory, and of those below it */
	const char *agent;           /* as in struct grove_list_item */
	int64_t since, until;        /* ms; `until` is not included; 0: any */
	size_t limit;                /* 0: 20; never more than 10,000 */
};

struct grove_hit_mark {
	size_t from, to;             /* bytes */
};

struct grove_hit {
	const char *session_id;
	const char *path;            /* "" where there is none, in a database */
	const char *entry_id;        /* NULL: it has none */
	const char *cwd;             /* "" if unknown */
	const char *agent;
	const char *store;           /* URL, without password */
	enum grove_kind kind;
	enum grove_role role;
	unsigned in;                 /* one of enum grove_search_in */
	int64_t time;                /* ms, or GROVE_NO_TIME */
	/*
	 * What was found, with a few words around it, on one line; and where in
	 * there, in order.
	 */
	struct grove_slice snippet;
	const struct grove_hit_mark *marks;
	size_t nr_marks;
	double score;                /* the higher the better; does not depend on other texts */
	int on_active_path;          /* it is part of the conversation that ends at the leaf … */
	int in_context;              /* … and the model still sees it: it was not compacted away */
};
/* What it is given lives until it returns. A non-zero answer ends the list and is handed back. */
typedef int grove_hit_fn(void *payload, const struct grove_hit *hit);

/*
 * The texts that have all words of `query`, the best first: words, "words side by
 * side", beginnings*, -words that must not occur. In scripts without spaces every
 * part of a text is found. Of very frequent words, the best among the newest few
 * hundred. `opt` may be NULL. GROVE_EINVAL: the query says nothing, or its pattern
 * is none.
 */
GROVE_API int grove_search_run(struct grove_search *s, const char *query,
			       const struct grove_search_options *opt, grove_hit_fn *fn,
			       void *payload);
/* Append a hit as `search --json` shows it, what was found between ** and **. */
GROVE_API int grove_hit_json(const struct grove_hit *hit, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
