/*
 * logs/logs.h: which logs there are.
 *
 * Nobody else asks stores what they have. There are three ways, and each uses the one
 * before:
 *
 *	walk   hands on one log after the other, as the stores name them
 *	find   collects them, in order, with what their files look like
 *	each   lets threads share what was found
 */
#ifndef GROVE_LOGS_LOGS_H
#define GROVE_LOGS_LOGS_H

#include "sys/pool.h"
#include "sys/state.h"
#include "world/world.h"

/* Whose logs: of sessions alone, also of the sub-agents that lists show, of all sub-agents, of these alone. */
enum grove__logs_subs { LOGS_SESSIONS, LOGS_LISTED_SUBS, LOGS_ALL_SUBS, LOGS_ONLY_SUBS };
/* What a database tells: names; also states, if it does so in one answer; states in any case. */
enum grove__logs_tell { LOGS_NAMES, LOGS_SURVEY, LOGS_STATES };

/* Zeroed: the sessions of all roots, but of archives only what has no original in another root. */
struct grove__logs_which {
	struct grove__root *only;        /* of this root, which need not be one of the environment */
	enum grove__roots roots;         /* unless `only` is set; 0: all */
	const char *project;             /* NULL: all; ignored by a survey */
	bool top;                        /* of a directory, what is directly in it */
	bool no_archives;
	bool copies;                     /* archives are looked into like any other root */
	enum grove__logs_subs subs;
	enum grove__logs_tell tell;
	bool sorted;                     /* find: by name, and each name once, though stores may overlap */
	bool by_key;                     /* find: by project and session */
	bool look;                       /* find: examines files, see grove__logs_look() */
};

/* `st` is NULL unless the store told it. A non-zero result ends the walk and is returned. */
typedef int grove__logs_fn(void *payload, struct grove__root *root, const struct grove_key *key,
			   const struct grove_store_log_stat *st);
/* walk.c: asks the roots one after the other, as grove__roots_ask(); a single one is only asked. */
int grove__logs_walk(struct grove *g, const struct grove__logs_which *which, grove__logs_fn *fn, void *payload,
		     struct grove_detail *d);

/*
 * there.c: checks that the stores that were given exist, as far as they are files or
 * directories. GROVE_ENOTFOUND for one that does not, or for a directory with files but no
 * sessions. An empty one is a store.
 */
int grove__logs_there(struct grove *g, struct grove_detail *d);

/* One log. */
struct grove__log_at {
	struct grove__root *root;
	const char *project, *session, *sub;
	/* The URL of its store, and names: unique. That of a sub-agent is below its caller's. */
	const char *name;
	const char *path;                /* what its store calls it, for files their path; "": nothing */
	const char *url;                 /* the store's */
	struct grove__log_state st;      /* of its file; in a database, what the survey says */
	bool is_file, is_surveyed;       /* it has that state */
	bool is_empty;                   /* a file without a byte */
	bool linked;                     /* a link, or a file that has other names */
};

static inline struct grove_key grove__logs_key(const struct grove__log_at *at)
{
	return (struct grove_key){ at->project, at->session, at->sub };
}

struct grove__logs {
	struct grove__log_at *logs;
	size_t nr, cap;
	struct grove__arena texts;
};

/*
 * find.c: finds all that are meant. `l` is zeroed; release it in any case. If files are
 * examined, of many empty ones, which are no sessions, most are left out: there may be a
 * million.
 */
int grove__logs_find(struct grove__logs *l, struct grove *g, const struct grove__logs_which *which,
		     struct grove_detail *d);
void grove__logs_release(struct grove__logs *l);
/* Examines its file. `near`: see grove__sys_dir_stat(). */
void grove__logs_look(struct grove__log_at *at, struct grove__sys_dir *near);
/*
 * Returns the number of a log of sorted ones, or GROVE_NO_ENTRY, also if memory is short.
 * `tmp` is overwritten.
 */
uint32_t grove__logs_index(const struct grove__logs *l, const struct grove__root *root,
			   const struct grove_key *key, struct grove_buf *tmp);

/*
 * each.c: work that threads share. Each has data of its own, zeroed at first, so that
 * they need not wait for each other.
 */
struct grove__logs_work {
	struct grove *g;                 /* whose caller is told how far it is, and may cancel */
	size_t nr;                       /* of the numbers from 0 … */
	size_t at_once;                  /* … so many are taken at a time */
	size_t own;                      /* the size of a thread's data */
	/* Prepares them; `end` is called even if that fails. */
	int (*begin)(void *payload, void *own);
	/* Any other result than 0 ends the work and is returned, with the detail in `why`. */
	int (*one)(void *payload, void *own, size_t i, struct grove_detail *why);
	/* Called with the lock held. 0 or GROVE_ENOMEM. */
	int (*end)(void *payload, void *own);
	void *payload;
	pthread_mutex_t lock;            /* for what they share */
	size_t next;
	int rc;
	struct grove_detail *d;
};
int grove__logs_each(struct grove__logs_work *w);

#endif
