/*
 * grove/list.h: which sessions there are.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_LIST_H
#define GROVE_LIST_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nobody counted. */
#define GROVE_NO_COUNT UINT64_MAX

/* A session as a list shows it. For pi the values of pi's own listing. */
struct grove_info {
	const char *path;
	const char *id;
	const char *dialect;         /* "pi" */
	const char *agent;           /* "pi", "openclaw": who keeps its sessions there */
	const char *store;           /* URL, without password */
	const char *cwd;             /* "" if unknown */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
	const char *first_message;   /* "(no messages)" */
	int64_t created;             /* ms, or GROVE_NO_TIME */
	int64_t modified;
	uint64_t message_count;      /* or GROVE_NO_COUNT */
	uint64_t size;               /* bytes */
	int64_t file_time;           /* ms; the file's own */
	int64_t file_time_ns;
	size_t first_message_len;    /* it may hold U+0000 */
	/* ms: when its agent deletes it; 0: a list that was not asked for that */
	int64_t expires;
	double score;                /* how well it fits the query: the lower, the better */
	unsigned depth;              /* below how many others it stands in a list of threads */
	/* What the tree tells, in a list that was asked for it, where it could be read. */
	int has_shape;
	const char *leaf;            /* the id of that entry; NULL: none */
	uint64_t entries;
	uint64_t branches;           /* entries with more than one child */
	uint64_t compactions;
	uint64_t malformed;          /* lines that are no JSON */
	int torn;                    /* the last one is not finished */
};

enum grove_sort {
	GROVE_SORT_MODIFIED,  /* newest first; the others too: largest or newest first */
	GROVE_SORT_CREATED,
	GROVE_SORT_SIZE,
	GROVE_SORT_MESSAGES,
	GROVE_SORT_NAME,      /* A to Z, nameless last */
	GROVE_SORT_RELEVANCE  /* what fits the query best first */
};

struct grove_list_options {
	size_t size;
	const char *cwd;          /* only sessions of this directory; NULL: `all` decides */
	int all;                  /* every session, not only those of grove's own cwd */
	int named;                /* only those with a name */
	/*
	 * In pi's language: words and "phrases" that must all occur in id, name,
	 * cwd or what was said (of a word it is enough if name or cwd has its
	 * letters in that order), or re: and a regular expression. GROVE_EINVAL if
	 * that is none, GROVE_ENOTSUP if this build has none, GROVE_ETOOBIG if it
	 * takes too long. NULL: all.
	 */
	const char *query;
	enum grove_sort sort;
	size_t limit;             /* 0: no limit */
	/* Told of each session file that could not be read; the list goes on. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	/*
	 * Only sessions that their agent will delete by itself (Claude Code), the
	 * soonest first whatever `sort` says; those that it deletes within so
	 * many ms from now, negative: all of them.
	 */
	int expiring;
	int64_t within;
	int shape;                /* what the trees of the sessions tell, too; costs loading them once */
	/*
	 * Each session behind the one it came from, `depth` says how far below;
	 * by the latest of all that came from them, the newest first. With a query
	 * there are no threads, and `sort` 0 means GROVE_SORT_RELEVANCE.
	 */
	int threads;
};

struct grove_list;
GROVE_API int grove_list(struct grove *g, const struct grove_list_options *opt,
			 struct grove_list **out);
GROVE_API size_t grove_list_count(const struct grove_list *l);
GROVE_API const struct grove_info *grove_list_at(const struct grove_list *l, size_t i);
GROVE_API void grove_list_free(struct grove_list *l);

enum grove_info_flags {
	GROVE_INFO_COUNT = 1  /* count its messages, whatever that takes */
};

/*
 * One session, as a list shows it; also one that lists leave out. `what` is as
 * for grove_find(), and so are the errors; GROVE_EDAMAGED for what is no session.
 * *out is a list of one.
 *
 * With GROVE_INFO_COUNT all of it is as in a list, and costs the same: reading
 * the whole session, unless it is as it was when a list or this call read it.
 * Without, what is kept of it counts if there is such; else only its ends are
 * read: 64 KiB of the end, and so much of the beginning or more, up to 1 MiB,
 * until the first message is found. Then message_count is GROVE_NO_COUNT (a
 * session of less than 256 KiB is always counted), and what was written far from both
 * ends is not seen: a name, or a first message. `modified` is the time of the
 * newest message that was read.
 */
GROVE_API int grove_info(struct grove *g, const char *what, unsigned flags,
			 struct grove_list **out);
/* Append one session as `ls --json` shows it. Messages that were not counted are left out. */
GROVE_API int grove_info_json(const struct grove_info *info, struct grove_buf *out);

/*
 * The sessions that `what` may mean: a path, an id, a prefix of an id (4
 * characters or more), or "last". Exactly one: 0 and its path in `out`. None:
 * GROVE_ENOTFOUND. Several: GROVE_EAMBIGUOUS, the detail lists them.
 */
GROVE_API int grove_find(struct grove *g, const char *what, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
