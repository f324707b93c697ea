/*
 * grove/list.h: listing and finding sessions.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_LIST_H
#define GROVE_LIST_H

#include <grove/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The messages were not counted. */
#define GROVE_NO_COUNT UINT64_MAX

/* The maximum number of labels in an item. */
#define GROVE_LIST_LABELS 3

/* A session in a list. For pi, the values are those of pi's own listing. */
struct grove_list_item {
	const char *path;
	const char *id;
	const char *dialect;         /* "pi" */
	const char *agent;           /* "pi", "openclaw": the agent whose directory it is in */
	const char *store;           /* URL, without password */
	const char *cwd;             /* "" if unknown */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
	const char *first_message;   /* "(no messages)" if there are none */
	int64_t created;             /* ms, or GROVE_NO_TIME */
	int64_t modified;
	uint64_t message_count;      /* or GROVE_NO_COUNT */
	uint64_t size;               /* bytes */
	int64_t file_time;           /* ms; the file's own */
	int64_t file_time_ns;
	size_t first_message_len;    /* needed because it may contain U+0000 */
	/* with GROVE_LIST_EXPIRING: when its agent will delete it, in ms; else 0 */
	int64_t expires;
	double score;                /* how well it matches the query; lower is better */
	unsigned depth;              /* number of ancestors in a list of threads */
	/* With GROVE_LIST_SHAPE; set if the session could be read. */
	int has_shape;
	const char *leaf;            /* the id of the leaf; NULL: none */
	uint64_t entries;
	/* Entries with more than one child; the records of a Claude reply count as one. */
	uint64_t branches;
	uint64_t compactions;
	uint64_t malformed;          /* lines that are not JSON */
	int torn;                    /* the last line is unfinished */
	int has_place;               /* with GROVE_LIST_PLACE: the JSON has `key` and `fileTime` */
	int archived;                /* it is in the archive, and nowhere else */
	/* With GROVE_LIST_SHORT_IDS: the length of the shortest unique prefix of the id; else 0. */
	unsigned id_len;
	/*
	 * With GROVE_LIST_COST: what it used, including its sub-agents, without what it has
	 * in copies from other sessions.
	 */
	int has_usage;               /* it has replies … */
	int has_cost;                /* … and their cost is known, in US dollars */
	double cost;
	uint64_t tokens;
	const struct grove__list_place *at;  /* for grove_list_text() and grove_list_value() */
	/* With the shape: how many entries have a label, and the latest labels; NULL after the last. */
	uint64_t nr_labels;
	const char *labels[GROVE_LIST_LABELS];
	double estimated;            /* the part of `cost` that is estimated from list prices */
};

enum grove_sort {
	GROVE_SORT_MODIFIED,  /* newest first; the others are newest or largest first too */
	GROVE_SORT_CREATED,
	GROVE_SORT_SIZE,
	GROVE_SORT_MESSAGES,
	GROVE_SORT_NAME,      /* A to Z, sessions without a name last */
	GROVE_SORT_RELEVANCE  /* best match first */
};

enum grove_list_flags {
	GROVE_LIST_ALL = 1,       /* of every directory; the default if options are NULL */
	GROVE_LIST_NAMED = 2,     /* only those with a name */
	/*
	 * List each session after the one it was forked from; `depth` is its level.
	 * Threads are sorted by the newest session in them. With a query there are no
	 * threads, and `sort` 0 means GROVE_SORT_RELEVANCE.
	 */
	GROVE_LIST_THREADS = 4,
	/*
	 * Only sessions that their agent (Claude Code) will delete within `within`
	 * ms, the soonest first, whatever `sort` says.
	 */
	GROVE_LIST_EXPIRING = 8,
	GROVE_LIST_SHAPE = 16,    /* with the shape of each tree; loads each session once */
	/* If a store is a directory, only the sessions directly in it, not those in subdirectories. */
	GROVE_LIST_FLAT = 32,
	/*
	 * Adds to the JSON of each item `key`, which identifies the session in its store
	 * as grove_resolve() does, and `fileTime`, when its file was written.
	 */
	GROVE_LIST_PLACE = 64,
	/* Sets `id_len` of each item: at least 4 characters, see grove_find(). */
	GROVE_LIST_SHORT_IDS = 128,
	GROVE_LIST_COST = 256,    /* with what each session used and cost; reads each session once */
	/*
	 * What an earlier list found in a file counts even if the file has changed since,
	 * except for sessions of grove's own directory. For hints that must come at once,
	 * and for a first screen.
	 */
	GROVE_LIST_REMEMBERED = 512,
	/*
	 * Reads at most 128 MiB of a session file that is not known from an earlier list: of a
	 * longer one the two ends, as grove_find() does. Its message_count is then
	 * GROVE_NO_COUNT, and it has no shape. For lists that must not take long, while
	 * another one counts.
	 */
	GROVE_LIST_BOUNDED = 1024,
	GROVE_LIST_NOTED = 2048   /* notes what the list is made from, for grove_list_holds() */
};

struct grove_list_options {
	size_t size;
	unsigned flags;           /* enum grove_list_flags */
	const char *cwd;          /* only sessions of this directory; NULL: of grove's own, or all (GROVE_LIST_ALL) */
	/*
	 * A query in pi's language; NULL: all. It has words and "phrases" that must all
	 * occur in id, name, cwd or messages (a word also matches if name or cwd
	 * has its letters in that order), or it is re: and a regular expression.
	 * GROVE_EINVAL if that is invalid, GROVE_ENOTSUP if this build has no
	 * regular expressions, GROVE_ETOOBIG if matching takes too long.
	 */
	const char *query;
	enum grove_sort sort;
	size_t limit;             /* 0: no limit */
	/* Called for each session file that could not be read, and then skipped. May be NULL. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	int64_t within;           /* with GROVE_LIST_EXPIRING: ms from now; negative: any time */
	struct grove_period modified;  /* only sessions modified then */
	const char *agent;        /* only sessions of this agent, "pi"; NULL: all */
};

struct grove_list;
GROVE_API int grove_list(struct grove *g, const struct grove_list_options *opt,
			 struct grove_list **out);
GROVE_API size_t grove_list_count(const struct grove_list *l);
GROVE_API const struct grove_list_item *grove_list_at(const struct grove_list *l, size_t i);
/*
 * Appends what user and assistant said in session `i`, on all branches: the texts
 * of all messages, separated by spaces (pi's allMessagesText). Reads the session.
 * GROVE_ENOTFOUND past the last item, or if the session is gone; the detail is in
 * the handle that made the list.
 */
GROVE_API int grove_list_text(const struct grove_list *l, size_t i, struct grove_buf *out);
/*
 * Appends a value that a host stored next to session `i`, as grove_session_value_get(),
 * without opening the session. GROVE_ENOTFOUND: there is none.
 */
GROVE_API int grove_list_value(const struct grove_list *l, size_t i, const char *name, struct grove_buf *out);
/*
 * Returns 1 if nothing has changed that the list was made from, with GROVE_LIST_NOTED, so that
 * another one would be the same. Returns 0 if something has, or if that cannot be told: always
 * with a store that is no directory, with `cwd`, GROVE_LIST_COST or GROVE_LIST_EXPIRING, for
 * more than some hundred sessions, and for a tenth of a second after each change. Takes a few
 * microseconds per session. Many threads may ask at once.
 */
GROVE_API int grove_list_holds(const struct grove_list *l);
GROVE_API void grove_list_free(struct grove_list *l);

enum grove_find_flags {
	GROVE_FIND_COUNT = 1, /* count its messages, however long that takes */
	GROVE_FIND_ID = 2     /* `what` is an id and nothing else, as others wrote it */
};

/*
 * Finds one session, even one that lists leave out. `what` is a path, an id, a
 * prefix of an id (4 characters or more), or "last". *out is a list of one.
 *
 * Returns 0; GROVE_ENOTFOUND; GROVE_EAMBIGUOUS, with the ids of the matching sessions in
 * the detail and these sessions in *out, up to 20; GROVE_EDAMAGED for a file that is not a session.
 *
 * With GROVE_FIND_COUNT, the item is the same as in a list and costs the same: the
 * whole session is read, unless it has not changed since it was last listed. Without
 * it, only the two ends are read: the last 64 KiB, and up to 1 MiB of the beginning
 * until the first message is found. Then message_count is GROVE_NO_COUNT (a session
 * of less than 256 KiB is always counted), a name or a first message far from both
 * ends is missed, and `modified` is the time of the newest message that was read.
 */
GROVE_API int grove_find(struct grove *g, const char *what, unsigned flags, struct grove_list **out);
/* Appends one session as `ls --json` prints it. A count that is not known is left out. */
GROVE_API int grove_list_item_json(const struct grove_list_item *info, struct grove_buf *out);

/*
 * Appends what identifies a session in its store: its path or, in a store without
 * files, the name of its log. That may differ from its id, and is not a name to open
 * the session by. `what` and the errors are as for grove_find(); the session itself is
 * not read.
 */
GROVE_API int grove_resolve(struct grove *g, const char *what, struct grove_buf *out);

#ifdef __cplusplus
}
#endif
#endif
