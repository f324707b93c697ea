/*
 * grove/search.h: searching the text of all sessions.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_SEARCH_H
#define GROVE_SEARCH_H

#include <grove/env.h>
#include <grove/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Searches the text of all sessions, including those of sub-agents: messages and
 * summaries, tool calls and their arguments, and results.
 *
 * The index is in the cache directory. Opening and refreshing a handle bring it up
 * to date. Logs that another process is adding to it at the moment, and all logs
 * if there can be no index, are scanned instead. Hits always show what is in the
 * logs at the time of the search.
 *
 * A handle is for one thread at a time.
 */
struct grove_search;

enum grove_search_flags {
	/*
	 * Scan all logs instead of using the index, and match parts of words too. A
	 * query `re:PATTERN` is then a Perl-compatible regular expression.
	 */
	GROVE_SEARCH_NO_INDEX = 1
};

GROVE_API int grove_search_open(struct grove *g, unsigned flags, struct grove_search **out);
/* Brings the index up to date with what was written since. */
GROVE_API int grove_search_refresh(struct grove_search *s);
GROVE_API void grove_search_error(struct grove_search *s, struct grove_detail *out);
GROVE_API void grove_search_close(struct grove_search *s);

/* Which texts to search; bits. */
enum grove_search_in {
	GROVE_SEARCH_IN_TEXT = 1,       /* messages, and summaries of them */
	GROVE_SEARCH_IN_CALLS = 2,      /* names and arguments of tool calls, commands */
	GROVE_SEARCH_IN_RESULTS = 4     /* the results of those */
};

struct grove_search_options {
	size_t size;
	unsigned in;                 /* 0: all */
	const char *role;            /* "user", "assistant", "tool", …; "call"; NULL: any */
	const char *cwd;             /* only sessions of this directory or below; NULL: any */
	const char *agent;           /* as in struct grove_list_item; NULL: any */
	int64_t since, until;        /* ms; `until` is exclusive; 0: no limit */
	size_t limit;                /* 0: 20; at most 10,000 */
};

struct grove_hit_mark {
	size_t from, to;             /* bytes */
};

struct grove_hit {
	const char *session_id;
	const char *path;            /* "" in a database, which has none */
	const char *entry_id;        /* NULL: none */
	const char *cwd;             /* "" if unknown */
	const char *agent;
	const char *store;           /* URL, without password */
	enum grove_kind kind;
	enum grove_role role;
	unsigned in;                 /* one of enum grove_search_in */
	int64_t time;                /* ms, or GROVE_NO_TIME */
	/*
	 * The match with a few words around it, on one line, and the positions of the
	 * matched words in it, in order.
	 */
	struct grove_slice snippet;
	const struct grove_hit_mark *marks;
	size_t nr_marks;
	double score;                /* higher is better; does not depend on other texts */
	int on_active_path;          /* it is on the path to the leaf … */
	int in_context;              /* … and the model still sees it: it was not compacted */
};
/*
 * `hit` is valid until the function returns. A non-zero result ends the search and
 * is returned by grove_search_run().
 */
typedef int grove_hit_fn(void *payload, const struct grove_hit *hit);

/*
 * Reports the texts that match all words of `query`, best first. A query consists of
 * words, "adjacent words", prefixes*, and -words that must not occur. In scripts
 * without spaces, any part of a text matches. For very common words, the best of
 * the newest few hundred texts are reported. `opt` may be NULL. Returns GROVE_EINVAL
 * if the query has no words, or its pattern is invalid.
 */
GROVE_API int grove_search_run(struct grove_search *s, const char *query,
			       const struct grove_search_options *opt, grove_hit_fn *fn,
			       void *payload);
/* Appends a hit as `search --json` prints it, with each match between ** and **. */
GROVE_API int grove_hit_json(const struct grove_hit *hit, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
