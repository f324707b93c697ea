/*
 * world/world.h: where sessions are.
 *
 * The environment of a caller: its stores (roots), and the files that agents leave around
 * their sessions.
 */
#ifndef GROVE_WORLD_WORLD_H
#define GROVE_WORLD_WORLD_H

#include "grove.h"
#include "image/image.h"

/* A location that holds sessions. */
struct grove__root {
	struct grove_store *store;
	const struct grove__dialect *dialect;  /* NULL: detected from the contents */
	const struct grove__dialect *likely;   /* what to assume if that fails, once looked for; NULL: pi */
	bool looked;
	const char *agent;
	char *url;                             /* as it was opened */
	char *dir;                             /* NULL if it is not a directory */
	bool flat;                             /* sessions are not grouped by working directory */
	bool archive;                          /* copies of what agents delete (transfer/archive.c) */
	bool away;                             /* it failed when it was last asked, and was left out; atomic */
	unsigned first_of;                     /* bit set of dialects whose new sessions go here */
};

/* Finds the session that a list of this directory shows first. GROVE_ENOTFOUND. */
struct grove__blobs;
struct grove__where;
typedef int grove__last_fn(struct grove *g, struct grove__where *out, struct grove_detail *d);

struct grove {
	unsigned refs;                         /* atomic: one for the handle, one for each that came from it */
	struct grove *of;                      /* it is a second handle of this one, and shares what is its; or NULL */
	struct grove__env env;
	char *home, *cwd, *tty;
	char *cache;                           /* the cache directory, or NULL */
	const struct grove__dialect *forced;
	struct grove__root *roots;
	size_t nr_roots, cap_roots;
	bool given;                            /* stores were given, so the agents' own are not used */
	struct grove__store_types store_types;  /* that the host brings */
	void (*trace)(void *payload, const char *line);
	void *trace_payload;
	void (*warn)(void *payload, enum grove_severity severity, const struct grove_detail *why);
	void *warn_payload;
	struct grove_progress progress;
	grove__last_fn *last;                  /* finds "last"; a pointer because lists are in a higher room */
	struct grove__hidden *hidden;          /* directories that could not be read, or NULL */
	struct grove__shared *shared;
	uint64_t log_moves;                    /* atomic: logs that were given another key, see keyed/open.c */
	pthread_mutex_t lock;                  /* protects detail, ids, shared, and `likely` of roots */
	struct grove_detail detail;
	int64_t last_ms;                       /* time of the last session id made here */
	uint64_t id_seq;
};

/* A store that is no root, and that stays open as long as the environment. */
struct grove__shared {
	struct grove__shared *next;
	struct grove_store *store;
	char *url;
};

/* Where a session is, or will be. */
struct grove__where {
	const struct grove__dialect *dialect;
	const char *agent;
	struct grove_store *store;
	bool own_store;
	char *project, *session;               /* the key … */
	char *sub;                             /* … with this subpath for a sub-agent's log in a database; else NULL */
	char *path;                            /* NULL in a store without paths */
};

/* world.c: the environment */
int grove__world_open(struct grove *g, const struct grove_options *opt, struct grove_detail *d);
/* Releases one that nobody has a reference to, but not its own memory. */
void grove__world_release(struct grove *g);
/* Makes a second handle on the same environment, with an error and progress of its own. GROVE_ENOMEM. */
int grove__world_dup(struct grove *g, struct grove **out);
struct grove *grove__world_ref(struct grove *g);
/* Releases the environment with its last handle, and whatever came from one. */
void grove__world_unref(struct grove *g);

/*
 * hidden.c: reports a directory that could not be read to the caller, and counts
 * it. A grove__hidden_fn; `payload` is the struct grove.
 */
bool grove__hidden_note(void *payload, bool top, const struct grove_detail *why);
/* The same for anything else that was skipped although it may be a session. */
void grove__hidden_add(struct grove *g, const struct grove_detail *why);
/* Reports, but does not count, what grove cannot read at all. */
void grove__hidden_mention(struct grove *g, const struct grove_detail *why);
/*
 * Called with the result of asking a root for its sessions. If it is a database that
 * failed, that is noted, and the result is 0, for the others to be asked; unless all have
 * failed. Any other result is returned.
 */
int grove__hidden_store(struct grove *g, struct grove__root *root, int rc, const struct grove_detail *why);
/* The same after all of it was asked: if no other answers, its failure is that of the call, and told by it alone. */
int grove__hidden_asked(struct grove *g, struct grove__root *root, int rc, const struct grove_detail *why);
/* Returns how many so far. Called before work that must be complete. */
uint64_t grove__hidden_count(struct grove *g);
/* Returns how many of them failed with an I/O error rather than for lack of permission. */
uint64_t grove__hidden_failed(struct grove *g);
/* Called after that work. GROVE_EACCESS if there were any more. */
int grove__hidden_check(struct grove *g, uint64_t before, struct grove_detail *d);
void grove__hidden_release(struct grove *g);
/* Makes a path absolute, without ".", ".." and double slashes. Does not follow links. */
int grove__world_resolve(const struct grove *g, const char *path, struct grove_buf *out);
/*
 * Returns the cache directory, which is created if necessary. NULL if there is none, or
 * if other users can write to it, so that its contents cannot be trusted.
 */
const char *grove__world_cache_dir(const struct grove *g);
/* Makes the path in a store's URL, if it has one, absolute in the same way. GROVE_ENOMEM. */
int grove__world_store_url(const struct grove *g, const char *url, struct grove_buf *out);
/*
 * Appends a store's URL as it is opened: that of a database that names a user but no password
 * gets it from a file, if $GROVE_STORE_PASSWORD_FILE names one.
 */
int grove__world_secret(const struct grove *g, const char *url, struct grove_buf *out, struct grove_detail *d);
/*
 * Returns true if the agent whose sessions were at or below `path` keeps them in a
 * database now, and names that.
 */
bool grove__world_gave_up(const char *path, struct grove_buf *database);
/* A grove__guard_fn: GROVE_ENOTSUP for a path where that is so. */
int grove__world_may_write(void *payload, const char *path, struct grove_detail *d);
/* Opens a store, with tracing if the caller asked for it. */
int grove__world_store(struct grove *g, const char *url, struct grove_store **out,
		       struct grove_detail *d);
/*
 * The store of this URL (NULL: of the first root), which belongs to the environment:
 * a root's, or one that stays open for the next call. Many threads may ask.
 */
int grove__world_shared(struct grove *g, const char *url, struct grove_store **out,
			struct grove_detail *d);
/*
 * Appends the URL of an archive: of the one named by `to` or, if that is NULL, by
 * $GROVE_ARCHIVE, or else of the default one. GROVE_ENOMEM.
 */
int grove__world_archive_url(const struct grove *g, const char *to, struct grove_buf *out);
/* Returns the root for new sessions of a dialect. */
struct grove__root *grove__world_root(struct grove *g, const struct grove__dialect *dialect);
/* Makes a new session id, greater than all before it from this handle. */
void grove__world_session_id(struct grove *g, const struct grove__dialect *dialect, char out[40]);

/* where.c: where a session is */
/* Fills in the place of a log in a root. GROVE_ENOMEM. */
int grove__where_fill(struct grove__where *w, struct grove__root *root, const struct grove_key *key,
		      struct grove_detail *d);
void grove__where_release(struct grove__where *w);
struct grove_key grove__where_key(const struct grove__where *w);
/*
 * Appends what names the session `id`, which is there, and no other one: its path, or
 * ID~HHHH, where the digits stand for its store. GROVE_ENOMEM.
 */
int grove__where_word(const struct grove__where *w, const char *id, struct grove_buf *out);
/* Returns those digits, as a number. */
unsigned grove__where_store_mark(const struct grove_store *st);
/* Returns the file name of the log; for a sub-agent, the last part of its subpath. */
const char *grove__where_name(const struct grove__where *w);
int grove__where_copy(struct grove__where *to, const struct grove__where *from);
/* Returns GROVE_ENOTSUP for a session that discovery found in the archive: nobody writes there. */
int grove__where_writable(const struct grove *g, const struct grove__where *w, struct grove_detail *d);

/* peek.c: what the beginning of a log says */

/* An archive keeps this attachment with each of its sessions (transfer/archive_note.c). */
#define GROVE__NOTE_NAME ".archive.json"

/*
 * Reads the header as the dialect does. It is not usable if there is none in the
 * first 16 MiB. Its texts are allocated in `keep`.
 */
int grove__peek_header(struct grove_store_log *log, const struct grove__dialect *dialect,
		       struct grove__arena *keep, struct grove__header *out,
		       struct grove_detail *d);
/* Stores the dialect with a new log, if the store has room: without a path nothing else says it. */
void grove__peek_mark_dialect(struct grove_store_log *log, const struct grove__dialect *dialect);
/* Finds the dialect by the store or the first line; NULL if neither says. */
int grove__peek_told_dialect(struct grove_store_log *log, const struct grove__dialect **out,
			     struct grove_detail *d);
/* Finds the dialect: forced, or by the root, the first line, an archive's note, the files around it; else pi. */
int grove__peek_where_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d);
/* The same for a log that is not there yet: forced, or by the place; else pi. */
int grove__peek_place_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d);
/* Like the first, for a log in a root. */
int grove__peek_root_dialect(struct grove *g, struct grove__root *root, const struct grove_key *key,
			const struct grove__dialect **out, struct grove_detail *d);
/* The same for an open log. */
int grove__peek_log_dialect(struct grove *g, struct grove__root *root, struct grove_store_log *log,
			    const struct grove_key *key, const struct grove__dialect **out,
			    struct grove_detail *d);
/* Guesses the dialect of a file outside of all roots from its path. */
const struct grove__dialect *grove__peek_path_dialect(const char *path);
/* Guesses the dialect from the place, for logs that do not show it. GROVE_ENOMEM. */
int grove__peek_root_likely(struct grove *g, struct grove__root *root, const char *project,
		       const struct grove__dialect **out);

/* root.c: the sessions of a root */
/* Returns the root that has this store, or NULL. */
struct grove__root *grove__root_with(struct grove *g, const struct grove_store *st);
/*
 * Asks one root after the other, those that are here (grove__store_is_here()), or those
 * that are not, or all. A database that fails is left out: see grove__hidden_store(). Any
 * other result than 0 ends it.
 */
enum grove__roots { ROOTS_HERE = 1, ROOTS_ELSEWHERE, ROOTS_ALL };
typedef int grove__ask_fn(void *payload, struct grove__root *root, struct grove_detail *d);
int grove__roots_ask(struct grove *g, enum grove__roots which, grove__ask_fn *fn, void *payload,
		     struct grove_detail *d);
/* Returns one that was left out when it was last asked, or NULL. */
const struct grove__root *grove__roots_away(const struct grove *g);
/*
 * Returns 1 if a session of the root belongs to the directory `cwd`, which is
 * resolved: if its header names that directory (`named`) or, if it names none, if
 * it is where the agent keeps the sessions of that directory. Otherwise 0, or
 * GROVE_ENOMEM.
 */
int grove__root_belongs(struct grove *g, const struct grove__root *root,
			const struct grove__dialect *dialect, const char *project,
			const char *named, const char *cwd);

/*
 * live.c: GROVE_ECONFLICT if a process of the agent is using the session, as far
 * as it leaves a trace. Called before existing lines are changed.
 */
int grove__live_check(struct grove *g, const struct grove__where *at, struct grove_detail *d);
/*
 * Reports the processes of a dialect's agent that leave such a trace, with the id of
 * the session that each uses: of the session at `at`, or if that is NULL of any. A
 * non-zero result of `fn` ends this and is returned.
 */
typedef int grove__live_fn(void *payload, const struct grove__live_check *note, const char *session);
int grove__live_each(struct grove *g, const struct grove__dialect *dialect, const struct grove__where *at,
		     grove__live_fn *fn, void *payload);

/* expiry.c: sessions that agents delete automatically */

struct grove__expiry {
	const struct grove__dialect *dialect;  /* whose agent deletes sessions here, or NULL */
	struct grove_buf settings;             /* the agent's settings; empty if there are none */
};
int grove__expiry_of(struct grove *g, const struct grove__root *root, struct grove__expiry *out,
		     struct grove_detail *d);
void grove__expiry_release(struct grove__expiry *e);

#endif
