/*
 * search/search.h: text in all sessions.
 *
 *	search.c         asks the index for what it knows, looks through the rest
 *	search_index.c   brings the index up to date
 *	search_belt.c    on which readers hand texts to the one that writes
 *	search_feed.c    reads a log for it
 *	search_part.c    texts that are indexed together
 *	search_find.c    what the index knows
 *	search_db.c      where it is kept
 *	search_scan.c    looking through logs
 *	search_log.c     one log, and a hit in it
 *	search_query.h   what is searched for
 *	search_text.h    in what
 */
#ifndef GROVE_SEARCH_SEARCH_H
#define GROVE_SEARCH_SEARCH_H

#include "catalog/sweep.h"
#include "search/search_query.h"
#include "search/search_text.h"

/* Something that was found. */
struct grove__search_hit {
	uint32_t log;                /* place in the sweep's list */
	uint8_t class, kind, role;   /* enum grove__search_class; role is that of the entry */
	bool indexed;
	int64_t time;
	double score;
	struct grove__spot at;
	uint32_t row;                /* what the index knows: of the log, … */
	uint32_t file;               /* … the log's number there, … */
	const char *entry;           /* … and the entry's id; NULL: none. In the arena of the list */
};

struct grove__search_hits {
	struct grove__search_hit *list;
	size_t nr, cap;
	struct grove__arena texts;
};

/* What a search asks for, made ready. */
struct grove__search_ask {
	const struct grove__search_query *q;
	unsigned in;                 /* a bit for each class */
	uint32_t roles;              /* a bit for each enum grove_role */
	const char *cwd, *agent;     /* NULL: any */
	int64_t since, until;
	size_t limit;
};

/* What a log was like: of a file device, inode, length and times; else what the store says. */
struct grove__search_like {
	int64_t dev, ino, size, mtime, ctime;
	bool gone;                   /* it cannot be looked at */
};

struct grove__search_index;

struct grove_search {
	struct grove *g;
	unsigned flags;
	struct grove__sweep sweep;
	struct grove__search_like *like;  /* of each log */
	uint8_t *look;               /* for each log: it is not in the index, look through it */
	struct grove__search_index *index;   /* NULL: there is none */
	bool alone;                  /* and there will be none */
	bool busy;                   /* a call is under way: what it hands out may ask nothing here */
	struct grove_detail detail;
	pthread_mutex_t lock;
};

/* search.c */
int grove__search_refresh(struct grove_search *s, struct grove_detail *d);
int grove__search_run(struct grove_search *s, const char *query,
		      const struct grove_search_options *opt, grove_hit_fn *fn, void *payload,
		      struct grove_detail *d);
void grove__search_release(struct grove_search *s);
/* Is it one that is asked for? */
bool grove__search_wants(const struct grove__search_ask *ask, enum grove__search_class class,
			 enum grove_role role, int64_t time);
/* The same of a session. */
bool grove__search_wants_log(const struct grove__search_ask *ask, const char *agent, const char *cwd);
/* Something that is worth telling, while the work goes on. Any thread. */
void grove__search_note(struct grove *g, const struct grove_detail *why);

/* search_scan.c */
/* Look through these logs; the best `ask->limit` hits are added. */
int grove__search_scan(struct grove_search *s, const struct grove__search_ask *ask,
		       const uint32_t *logs, size_t nr, struct grove__search_hits *out,
		       struct grove_detail *d);
/* The better one first; no two are equal. */
int grove__search_order(const struct grove__sweep *sweep, const struct grove__search_hit *a,
			const struct grove__search_hit *b);

/* search_log.c */
/* *dialect: which one it is, if that is known; else NULL, and it will be. */
int grove__search_log_open(struct grove *g, const struct grove__sweep_log *l,
			   struct grove_store_log **log, const struct grove__dialect **dialect,
			   struct grove_detail *d);
/* All of a log that a session can hang on. */
int grove__search_log_image(const struct grove__sweep_log *l, const char *cache,
			    struct grove_store_log *log, const struct grove__dialect *dialect,
			    struct grove__image **out, struct grove_detail *d);
/* Its file's path; empty: it is in none. GROVE_ENOMEM. */
int grove__search_log_path(const struct grove__sweep_log *l, struct grove_buf *out);
/* What it is like now. */
void grove__search_log_look(const struct grove__sweep_log *l, const char *path,
			    struct grove__search_like *out);
/* The name of its file, without directories. */
const char *grove__search_log_name(const struct grove__sweep_log *l);
/* The id of its session, which lives in the image, or in `own`. */
int grove__search_log_id(const struct grove__sweep_log *l, const struct grove__image *im,
			 struct grove_buf *own, const char **out);
/* Whose it is. */
const char *grove__search_log_agent(const struct grove__sweep_log *l,
				    const struct grove__dialect *dialect);

/*
 * The index. All of these answer GROVE_EDAMAGED where it cannot be relied on: the
 * caller makes it anew or does without.
 */
/* *out is NULL if there can be none here; `why` says so where it is worth telling. */
int grove__search_index_open(struct grove *g, struct grove__search_index **out,
			     struct grove_detail *why);
void grove__search_index_close(struct grove__search_index *ix);
/* Throw it away. */
void grove__search_index_remove(struct grove *g);
/* Bring it up to date with the logs that were found; look[] tells those that it does not have. */
int grove__search_index_sync(struct grove__search_index *ix, struct grove *g,
			     const struct grove__sweep *sweep, const struct grove__search_like *like,
			     uint8_t *look, struct grove_detail *d);
/*
 * The newest that fit, in no order; those of logs to be looked at are left out.
 * *lost becomes true if a log is not what it was.
 */
int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_hits *out,
			     bool *lost, struct grove_detail *d);
/* What it was read as; NULL: it does not know the log. */
const struct grove__dialect *grove__search_index_dialect(const struct grove__search_index *ix,
							 const struct grove__sweep_log *l);
/* What is known of a file that has a hit; good until the next call. */
struct grove__search_file {
	const char *session, *cwd;
	bool on_path, sent;          /* of the row */
};
int grove__search_index_file(struct grove__search_index *ix, uint32_t file, uint32_t row,
			     struct grove__search_file *out);

#endif
