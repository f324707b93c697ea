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
 * summaries, tool calls and their arguments, results, titles and labels.
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
	/* Scan all logs instead of using the index. Finds the same, and patterns, but takes longer. */
	GROVE_SEARCH_NO_INDEX = 1,
	/*
	 * Use the index as it is, and scan the logs that it lacks, instead of waiting while
	 * it is brought up to date. grove_hits_about() says how many logs that is; another
	 * handle, without this flag, updates the index.
	 */
	GROVE_SEARCH_NO_UPDATE = 2,
	/*
	 * For a handle that is refreshed again and again: let the system report changes
	 * (inotify), so that a refresh only examines the logs that were written to. Where it
	 * does not report them, and for stores that are not directories, all are examined.
	 */
	GROVE_SEARCH_WATCH = 4
};

GROVE_API int grove_search_open(struct grove *g, unsigned flags, struct grove_search **out);
/* Finds what was written since, and brings the index up to date with it. */
GROVE_API int grove_search_refresh(struct grove_search *s);
GROVE_API void grove_search_error(struct grove_search *s, struct grove_detail *out);
GROVE_API void grove_search_close(struct grove_search *s);

/* Which texts to search; bits. */
enum grove_search_in {
	GROVE_SEARCH_IN_TEXT = 1,       /* messages, and summaries of them */
	GROVE_SEARCH_IN_CALLS = 2,      /* names and arguments of tool calls, commands */
	GROVE_SEARCH_IN_RESULTS = 4,    /* the results of those */
	GROVE_SEARCH_IN_NAMES = 8       /* titles of sessions, labels of entries */
};

struct grove_search_options {
	size_t size;
	unsigned in;                 /* 0: all */
	const char *role;            /* "user", "assistant", "tool", …; "call"; NULL: any */
	const char *cwd;             /* only sessions of this directory or below; NULL: any */
	const char *agent;           /* as in struct grove_list_item; NULL: any */
	int64_t since, until;        /* ms; `until` is exclusive; 0: no limit */
	size_t limit;                /* 0: 20; at most 10,000 */
	/*
	 * 0: `limit` counts hits. Otherwise it counts sessions, and each has at most
	 * this many hits.
	 */
	size_t per_session;
	/* Count at least this many hits, if there are; 0: a few hundred; at most 20,000. */
	size_t compare;
	/*
	 * Only this session, named as for grove_find(); its hits come in the order of
	 * its log, titles and labels first. NULL: all sessions, best hits first.
	 */
	const char *what;
	const char *cursor;          /* continue after a result that had this cursor; NULL: from the start */
	/* Only sessions for which this returns non-zero; any thread may call it. NULL: all. */
	int (*wants)(void *payload, const char *store, const char *cwd);
	void *wants_payload;
	int strict;                  /* only texts that have all words */
};

/* Where the words are. */
enum grove_search_match {
	GROVE_MATCH_MESSAGE,         /* this text has all of them */
	GROVE_MATCH_SESSION,         /* the session has all of them, in several texts */
	GROVE_MATCH_SOME             /* the session has some of them */
};
/* "message", "session", "some". */
GROVE_API const char *grove_search_match_name(enum grove_search_match match);

struct grove_hit_mark {
	size_t from, to;             /* bytes */
};

struct grove_hit_session;

struct grove_hit {
	const struct grove_hit_session *session;
	const char *entry_id;        /* NULL: none, as for the title of a session */
	enum grove_kind kind;        /* GROVE_KIND_NAME is the title, GROVE_KIND_LABEL a label */
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
	/*
	 * Higher is better, among those with the same `match`. That of a message does not depend
	 * on other texts.
	 */
	double score;
	int on_active_path;          /* it is on the path to the leaf … */
	int in_context;              /* … and the model still sees it: it was not compacted */
	uint64_t copies;             /* how many other sessions have the same passage, as forks do */
	enum grove_search_match match;
	const char *const *missing;  /* words of the query that the session does not have */
	size_t nr_missing;
};

/* A session, or a sub-agent's transcript, and its hits. */
struct grove_hit_session {
	const char *id;
	const char *path;            /* "" in a database, which has none */
	const char *name;            /* NULL: none */
	const char *cwd;             /* "" if unknown */
	const char *agent;
	const char *store;           /* URL, without password */
	int64_t modified;            /* ms, or GROVE_NO_TIME */
	const struct grove_hit *const *hits;   /* best first */
	size_t nr;
	uint64_t more;               /* hits in it that the limits left out */
	/*
	 * The length of the shortest prefix of the id, at least 8 characters, that no other
	 * log known to the search has in its name; all of it if its own log has another name.
	 */
	unsigned id_len;
};

/* The result of a search; valid until it is freed, whatever becomes of the search. */
struct grove_hits;

/*
 * Finds the texts that match all words of `query`. If they do not fill the page, sessions
 * follow in which the words are spread over several texts, and then those that have some of
 * them, unless the options are strict: the best first, up to three texts of each, and the
 * newer of two that are about as good. There words such as "what" and "the" decide nothing,
 * and names like refreshToken are found by their parts, too. A query with a phrase, with a
 * word that must not occur, or in one session only, finds texts with all words only.
 *
 * A query consists of
 *
 *	word          any form of an English word: parse, parsed, parsing
 *	=word         only this form
 *	pre*          words that begin like this
 *	"two words"   exactly these, adjacent
 *	-word         must not occur
 *
 * The last word also matches as a prefix, unless it is quoted or a space comes after it.
 * In scripts without spaces, any part of a text matches. With GROVE_SEARCH_NO_INDEX it
 * may be re:PATTERN, a Perl-compatible regular expression.
 *
 * A passage that several sessions have, because one was forked from the other, is
 * found once. `opt` may be NULL. Returns GROVE_EINVAL if the query has no words, its pattern is invalid, or the
 * cursor is not one; GROVE_ENOTFOUND or GROVE_EAMBIGUOUS for `opt->what`.
 */
GROVE_API int grove_search_run(struct grove_search *s, const char *query,
			       const struct grove_search_options *opt, struct grove_hits **out);
/* All hits, best first. */
GROVE_API size_t grove_hits_count(const struct grove_hits *h);
GROVE_API const struct grove_hit *grove_hits_at(const struct grove_hits *h, size_t i);
/* The sessions that have them, the one with the best hit first. */
GROVE_API size_t grove_hits_sessions(const struct grove_hits *h);
GROVE_API const struct grove_hit_session *grove_hits_session_at(const struct grove_hits *h, size_t i);
GROVE_API void grove_hits_free(struct grove_hits *h);

struct grove_hits_about {
	size_t size;
	uint64_t total;              /* hits, including those that the limits left out */
	uint64_t sessions;           /* sessions that have them */
	int more;                    /* there may be more: only the best were counted */
	uint64_t logs;               /* logs that were searched … */
	uint64_t behind;             /* … and how many of them the index does not have (yet) */
	const char *cursor;          /* to continue after these hits; NULL: there are no more */
	/* If nothing was found: a similar query that finds something with these options, or NULL. */
	const char *suggest;
};
GROVE_API int grove_hits_about(const struct grove_hits *h, struct grove_hits_about *out);
/* Appends a hit as `search --json` prints it, with each match between ** and **. */
GROVE_API int grove_hit_json(const struct grove_hit *hit, struct grove_buf *out);
/* Appends the `session` member of that: id, name if it has one, cwd, agent, modified. */
GROVE_API int grove_hit_session_json(const struct grove_hit_session *s, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
