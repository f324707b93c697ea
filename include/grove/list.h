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
struct grove_list_item {
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

enum grove_list_flags {
	GROVE_LIST_ALL = 1,       /* of every directory; what NULL options mean */
	GROVE_LIST_NAMED = 2,     /* only those with a name */
	/*
	 * Each session after the one it came from; `depth` says how far below. Threads
	 * are ordered by the newest session in them. With a query there are no
	 * threads, and `sort` 0 means GROVE_SORT_RELEVANCE.
	 */
	GROVE_LIST_THREADS = 4,
	/*
	 * Only sessions that their agent will delete by itself (Claude Code) before
	 * `within` has passed, the soonest first whatever `sort` says.
	 */
	GROVE_LIST_EXPIRING = 8,
	GROVE_LIST_SHAPE = 16     /* with what the trees tell; costs loading each session once */
};

struct grove_list_options {
	size_t size;
	unsigned flags;           /* enum grove_list_flags */
	const char *cwd;          /* only sessions of this directory; NULL: of grove's own, or all (GROVE_LIST_ALL) */
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
	int64_t within;           /* with GROVE_LIST_EXPIRING: ms from now; negative: however late */
};

struct grove_list;
GROVE_API int grove_list(struct grove *g, const struct grove_list_options *opt,
			 struct grove_list **out);
GROVE_API size_t grove_list_count(const struct grove_list *l);
GROVE_API const struct grove_list_item *grove_list_at(const struct grove_list *l, size_t i);
GROVE_API void grove_list_free(struct grove_list *l);

enum grove_find_flags {
	GROVE_FIND_COUNT = 1  /* count its messages, whatever that takes */
};

/*
 * Finds one session, also one that lists leave out. `what` is a path, an id, a
 * prefix of an id (4 characters or more), or "last". *out is a list of one.
 *
 * Returns 0; GROVE_ENOTFOUND; GROVE_EAMBIGUOUS, with the sessions that it may mean
 * in the detail; GROVE_EDAMAGED for a file that is no session.
 *
 * With GROVE_FIND_COUNT the item is as in a list and costs the same: the whole
 * session is read, unless it is as it was when it was last listed. Without, only
 * its ends are read: the last 64 KiB, and up to 1 MiB of the beginning until the
 * first message is found. Then message_count is GROVE_NO_COUNT (a session of less
 * than 256 KiB is always counted), a name or a first message far from both ends is
 * not seen, and `modified` is the time of the newest message that was read.
 */
GROVE_API int grove_find(struct grove *g, const char *what, unsigned flags, struct grove_list **out);
/* Append one session as `ls --json` shows it. Messages that were not counted are left out. */
GROVE_API int grove_list_item_json(const struct grove_list_item *info, struct grove_buf *out);

/*
 * Appends what names a session in its store, and no other: its path, or its id
 * where there are no files. `what` and the errors are as for grove_find(); nothing
 * of the session is read.
 */
GROVE_API int grove_resolve(struct grove *g, const char *what, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
