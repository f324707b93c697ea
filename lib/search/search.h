/*
 * search/search.h: searching the text of all sessions.
 *
 *	search.c         queries the index, scans logs that are not in it
 *	search_watch.c   learns from the system which logs changed
 *	search_index.c   brings the index up to date
 *	search_feed.c    reads a log for the index
 *	search_part.c    texts that are indexed together
 *	search_find.c    queries on the index
 *	search_rank.c    sessions in which the words are spread
 *	search_vocab.c   the words of the index
 *	search_db.c      its database
 *	search_scan.c    scanning logs
 *	search_log.c     one log, and a hit in it
 *	search_query.h   queries
 *	search_names.h   titles and labels
 *	search_hits.h    what was found, by session
 *	search_text.h    the texts of an entry
 */
#ifndef GROVE_SEARCH_SEARCH_H
#define GROVE_SEARCH_SEARCH_H

#include "logs/logs.h"
#include "search/search_query.h"
#include "search/search_text.h"

/* Something that was found. */
struct grove__search_hit {
	uint32_t log;                /* index in the sweep's list */
	uint8_t class, kind, role;   /* enum grove__search_class; role is that of the entry */
	bool indexed;
	bool unsure;                 /* its words may not be where the query wants them: see its text */
	uint8_t match;               /* enum grove_search_match; if not in the message: … */
	uint8_t rank;                /* … its place among those that are shown of its session … */
	uint64_t missing;            /* … and the words that the session lacks */
	uint64_t copies;             /* other sessions that are known to have the same */
	int64_t time;
	double score;
	struct grove__spot at;
	/* From the index, or once the log is loaded: */
	uint32_t row;                /* the row in the log; GROVE_NO_ENTRY: none */
	const char *entry;           /* the entry's id, in the list's arena; NULL: none */
	uint32_t file;               /* from the index: the log's number */
	uint8_t place;               /* from the log: enum grove__row_place */
	const char *text;            /* a title or a label, in the list's arena; NULL: it is an entry's text */
};


/* The options of a search, prepared. */
struct grove__search_ask {
	const struct grove__search_query *q;
	unsigned in;                 /* a bit for each class */
	uint32_t roles;              /* a bit for each enum grove_role */
	const char *cwd, *agent;     /* NULL: any */
	int64_t since, until;
	int (*wants)(void *payload, const char *store, const char *cwd);  /* NULL: any */
	void *wants_payload;
	uint32_t only;               /* this log; GROVE_NO_ENTRY: any */
	size_t limit, per_session;   /* as in the options, but never 0 / 0: `limit` counts hits */
	size_t most;                 /* how many of the best hits are kept */
};

/* The best hits so far, and for a while some others. */
struct grove__search_hits {
	const struct grove__logs *sweep;
	const struct grove__search_ask *ask;
	struct grove_search *s;      /* whose index makes sure of hits; not needed if none is unsure */
	struct grove__search_hit *list;
	size_t nr, cap;
	bool unsure;                 /* some of the list may be */
	bool lost;                   /* a log has changed since it was found */
	bool beyond;                 /* there are more sessions with some of the words */
	bool cut;                    /* some were left out … */
	struct grove__search_hit worst;   /* … and this is the worst of those that were not */
	struct grove__arena texts;
};

struct grove__search_index;
struct grove__search_rank;
struct grove__search_watch;

struct grove_search {
	struct grove *g;
	unsigned flags;
	struct grove__logs sweep;
	uint8_t *look;               /* for each log: it is not in the index, scan it */
	struct grove__search_watch *watch;   /* NULL: all logs are examined each time */
	struct grove__search_index *index;   /* NULL: there is none */
	bool alone;                  /* and none is to be opened */
	bool busy;                   /* a call is in progress: callbacks must not use this */
	struct grove_detail detail;
	pthread_mutex_t lock;
};

/* search.c */
/* Examines all logs. */
int grove__search_refresh(struct grove_search *s, struct grove_detail *d);
/* Examines those that may have changed since the last time. */
int grove__search_refresh_some(struct grove_search *s, struct grove_detail *d);
int grove__search_run(struct grove_search *s, const char *query,
		      const struct grove_search_options *opt, struct grove_hits **out,
		      struct grove_detail *d);
void grove__search_release(struct grove_search *s);
/* True if a hit may be one of the best. */
bool grove__search_may_add(const struct grove__search_hits *to, const struct grove__search_hit *h);
/* Adds a hit; only the best are kept. GROVE_ENOMEM. */
int grove__search_add(struct grove__search_hits *to, const struct grove__search_hit *h);
/* True if the options ask for it. */
bool grove__search_wants(const struct grove__search_ask *ask, enum grove__search_class class,
			 enum grove_role role, int64_t time);
/* The same for a session. */
bool grove__search_wants_log(const struct grove__search_ask *ask, const struct grove__log_at *l,
			     const char *agent, const char *cwd);
/* True if that depends on the directory. */
bool grove__search_wants_cwd(const struct grove__search_ask *ask);
/* Reports a warning while the work continues. Any thread may call it. */
void grove__search_note(struct grove *g, const struct grove_detail *why);

/* search_scan.c */
/*
 * Scans these logs, and adds their hits; if there is a `rank`, texts with some of the words
 * are reported to it instead.
 */
int grove__search_scan(struct grove_search *s, const struct grove__search_ask *ask, struct grove__search_rank *rank,
		       const uint32_t *logs, size_t nr, struct grove__search_hits *out, struct grove_detail *d);

/* search_log.c */
/* *dialect is the dialect of the log, if known; else NULL, and it is set. */
int grove__search_log_open(struct grove *g, const struct grove__log_at *l,
			   struct grove_store_log **log, const struct grove__dialect **dialect,
			   struct grove_detail *d);
/* Loads the whole log. */
int grove__search_log_image(const struct grove__log_at *l, const char *cache,
			    struct grove_store_log *log, const struct grove__dialect *dialect,
			    struct grove__image **out, struct grove_detail *d);
/* Returns the path of its file; NULL: it is in a database. */
const char *grove__search_log_path(const struct grove__log_at *l);
/* Examines it again. */
void grove__search_log_look(struct grove__log_at *l);
/* True if it cannot be examined. */
bool grove__search_log_gone(const struct grove__log_at *l);
/* Returns the name of its file, without directories. */
const char *grove__search_log_name(const struct grove__log_at *l);
/* Gets the id of its session, which is in the image or in `own`. */
int grove__search_log_id(const struct grove__log_at *l, const struct grove__image *im,
			 struct grove_buf *own, const char **out);
/* Whose it is. */
const char *grove__search_log_agent(const struct grove__log_at *l,
				    const struct grove__dialect *dialect);

/* search_watch.c */
/*
 * Begins to watch the directories that have logs, or may get some; to be called before
 * these are listed. NULL if the system does not report all changes, or no memory is left.
 */
struct grove__search_watch *grove__search_watch_new(struct grove *g);
void grove__search_watch_free(struct grove__search_watch *w);
/* What was found out. */
enum grove__search_news {
	SEARCH_SAME,                 /* nothing changed */
	SEARCH_LOGS,                 /* some logs did, and were examined */
	SEARCH_NAMES_CHANGED,        /* some may have come or gone: list them, and go on watching */
	SEARCH_DIRS_CHANGED,         /* so may directories: watch them anew */
};
enum grove__search_news grove__search_watch_take(struct grove__search_watch *w, struct grove_search *s);
/* The logs are listed again: forgets those that it knows. */
void grove__search_watch_forget(struct grove__search_watch *w);

/*
 * The index. All of these return GROVE_EDAMAGED if it cannot be relied on: the caller
 * builds it again or works without it; or GROVE_ECONFLICT if others keep it locked: the
 * caller works without it for now.
 */
/* Sets *out to NULL if there can be none here; `why` says why if that is worth a warning. */
int grove__search_index_open(struct grove *g, struct grove__search_index **out,
			     struct grove_detail *why);
void grove__search_index_close(struct grove__search_index *ix);
/* Reads which logs it has, in case there is time for that before it is asked. */
void grove__search_index_warm(struct grove__search_index *ix);
/* Whether it was removed, or another file has its name. Not so if it is NULL. */
bool grove__search_index_is_gone(const struct grove__search_index *ix);
/* Throw it away. */
void grove__search_index_remove(struct grove *g);
/*
 * Brings it up to date with the logs that were found, if `update`. Either way, look[]
 * marks those that it does not have. `same`: neither the logs nor look[] have changed since
 * the last call.
 */
struct grove__search_logs {
	const struct grove__logs *sweep;
	uint8_t *look;
	bool same;
};
int grove__search_index_sync(struct grove__search_index *ix, struct grove *g, const struct grove__search_logs *logs,
			     bool update, struct grove_detail *d);
/*
 * Adds the hits of all logs but those that are to be scanned; if there is a `rank`, texts with
 * some of the words are reported to it instead.
 */
int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d);
/* Adds what was reported. */
int grove__search_index_take(struct grove__search_index *ix, struct grove_search *s, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d);
/*
 * Reads the texts of those of the first ask->most hits that are unsure, and leaves out those
 * that are none. GROVE_ENOMEM.
 */
int grove__search_index_make_sure(struct grove__search_index *ix, struct grove_search *s,
				  struct grove__search_hits *hits);
/* Returns the dialect it was read with; NULL: the index does not know the log. */
const struct grove__dialect *grove__search_index_dialect(const struct grove__search_index *ix,
							 const struct grove__log_at *l);
/*
 * Writes the query with words that the index has instead of those that it lacks; nothing
 * if there are no similar ones.
 */
int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out);
/* What is known about a file that has a hit; valid until the next call. */
struct grove__search_file {
	const char *session, *cwd;
	const char *name;            /* NULL: none */
	int64_t modified;
	bool on_path, sent;          /* of the row; GROVE_NO_ENTRY: of the title */
};
int grove__search_index_file(struct grove__search_index *ix, const struct grove__log_at *l,
			     uint32_t file, uint32_t row, struct grove__search_file *out);

#endif
