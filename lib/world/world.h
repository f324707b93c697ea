/*
 * world/world.h: where sessions are.
 *
 * The environment of a caller: its stores (roots), how a session in one of them
 * is found by what a person types, and what agents leave around their sessions.
 */
#ifndef GROVE_WORLD_WORLD_H
#define GROVE_WORLD_WORLD_H

#include "grove.h"
#include "image/image.h"

/* A place where sessions are kept. */
struct grove__root {
	struct grove_store *store;
	const struct grove__dialect *dialect;  /* NULL: the bytes tell */
	const struct grove__dialect *likely;   /* if they do not, once looked for; NULL: pi */
	bool looked;
	const char *agent;
	char *dir;                             /* NULL where there is no directory */
	bool flat;                             /* no directory per cwd */
	unsigned first_of;                     /* dialects whose new sessions go here, a bit each */
};

/* The session that a list of this directory shows first; GROVE_ENOTFOUND. */
struct grove__where;
typedef int grove__last_fn(struct grove *g, struct grove__where *out, struct grove_detail *d);

struct grove {
	struct grove__env env;
	char *home, *cwd, *tty;
	char *cache;                           /* for what can be made again; NULL: nowhere */
	const struct grove__dialect *forced;
	struct grove__root *roots;
	size_t nr_roots, cap_roots;
	bool given;                            /* stores were named: no discovery */
	struct grove__store_types store_types;  /* that the host brings */
	void (*trace)(void *payload, const char *line);
	void *trace_payload;
	void (*warn)(void *payload, int fatal, const struct grove_detail *why);
	void *warn_payload;
	struct grove_progress progress;
	grove__last_fn *last;                  /* what "last" means: lists are a room further up */
	struct grove__hidden *hidden;          /* directories that could not be read; NULL: none yet */
	pthread_mutex_t lock;                  /* detail, ids, what roots are likely to hold */
	struct grove_detail detail;
	int64_t last_ms;                       /* of the session ids made here */
	uint64_t id_seq;
};

/* Where a session is, or is to be. */
struct grove__where {
	const struct grove__dialect *dialect;
	const char *agent;
	struct grove_store *store;
	bool own_store;
	char *project, *session;               /* the key … */
	char *sub;                             /* … of a sub-agent's log in a database; else NULL */
	char *path;                            /* NULL where there is none */
};

/* world.c: the environment */
int grove__world_open(struct grove *g, const struct grove_options *opt, struct grove_detail *d);
void grove__world_release(struct grove *g);

/*
 * hidden.c: a directory that could not be read is told to the caller and
 * counted. A grove__hidden_fn; `payload` is the struct grove.
 */
bool grove__hidden_note(void *payload, bool top, const struct grove_detail *why);
/* The same of anything else that was passed over though it may be a session. */
void grove__hidden_add(struct grove *g, const struct grove_detail *why);
/* How many so far; before work that must be complete. */
uint64_t grove__hidden_count(struct grove *g);
/* How many of them because the system failed, and not because they are not ours to read. */
uint64_t grove__hidden_failed(struct grove *g);
/* After it: GROVE_EACCESS if there were any. */
int grove__hidden_check(struct grove *g, uint64_t before, struct grove_detail *d);
void grove__hidden_release(struct grove *g);
/* Absolute, without "." and ".." and doubled slashes; links are not followed. */
int grove__world_resolve(const struct grove *g, const char *path, struct grove_buf *out);
/*
 * The directory of what can be made again, which is made if it is not there. NULL: there is
 * none, or others may write there, and what is in it may be anybody's.
 */
const char *grove__world_cache_dir(const struct grove *g);
/* A store's URL with its path, if it has one, made absolute in the same way. GROVE_ENOMEM. */
int grove__world_store_url(const struct grove *g, const char *url, struct grove_buf *out);
/* A store for a directory, traced if asked for. */
int grove__world_store(struct grove *g, const char *url, struct grove_store **out,
		       struct grove_detail *d);
/* The root for new sessions of a dialect. */
struct grove__root *grove__world_root(struct grove *g, const struct grove__dialect *dialect);
/* A new session id; one handle's only ever grow. */
void grove__world_session_id(struct grove *g, const struct grove__dialect *dialect, char out[40]);

/* locate.c: from what a person types to a place */
int grove__locate(struct grove *g, const char *what, struct grove__where *out,
		  struct grove_detail *d);
int grove__locate_path(struct grove *g, const char *path, struct grove__where *out,
		       struct grove_detail *d);
/* The place of a log of a root. GROVE_ENOMEM. */
int grove__where_fill(struct grove__where *w, struct grove__root *root, const struct grove_key *key,
		      struct grove_detail *d);
void grove__where_release(struct grove__where *w);
struct grove_key grove__where_key(const struct grove__where *w);
/* The name of the log itself, as that of a file: of a sub-agent's, the last part of its subpath. */
const char *grove__where_name(const struct grove__where *w);
int grove__where_copy(struct grove__where *to, const struct grove__where *from);

/* peek.c: what the beginning of a log tells */
/* The first line that says something; empty if there is none in the first 16 MiB. */
int grove__peek_first_line(struct grove_log *log, struct grove_buf *out, struct grove_detail *d);
/*
 * The header, read as the dialect reads; not usable if there is none in the
 * first 16 MiB. Its texts live in `keep`.
 */
int grove__peek_header(struct grove_log *log, const struct grove__dialect *dialect,
		       struct grove__arena *keep, struct grove__header *out, struct grove_detail *d);
/* Keep the dialect with a new log, where the store has room for it: there is no place to tell it. */
void grove__peek_mark_dialect(struct grove_log *log, const struct grove__dialect *dialect);
/* The dialect of a place: forced, by its root, by its first line, by what lies around it, pi. */
int grove__peek_where_dialect(struct grove *g, struct grove__where *w, struct grove_detail *d);
/* The same for a log of a root. */
int grove__peek_root_dialect(struct grove *g, struct grove__root *root, const struct grove_key *key,
			const struct grove__dialect **out, struct grove_detail *d);
/* The same for one that is open. */
int grove__peek_log_dialect(struct grove *g, struct grove__root *root, struct grove_log *log,
		       const char *project, const struct grove__dialect **out, struct grove_detail *d);
/* The dialect of a place outside of all roots, where only the path can tell. */
const struct grove__dialect *grove__peek_path_dialect(const char *path);
/* The dialect of what does not tell its own, by its place. GROVE_ENOMEM. */
int grove__peek_root_likely(struct grove *g, struct grove__root *root, const char *project,
		       const struct grove__dialect **out);

/* root.c: the sessions of a root */
/* Those that may be those of a cwd (NULL: all of them), each once. */
int grove__root_list(struct grove *g, struct grove__root *root, const char *cwd, grove_key_fn *fn,
		     void *payload, struct grove_detail *d);
/*
 * Those of sub-agents, where the agent's own list of all sessions has them: keys
 * with a subpath.
 */
int grove__root_list_subs(struct grove *g, struct grove__root *root, grove_key_fn *fn,
			  void *payload, struct grove_detail *d);
/*
 * Are the stores that were named there, and stores? GROVE_ENOTFOUND for one that
 * does not exist, or a directory with files and no session; one that is empty
 * is a store.
 */
int grove__root_all_there(struct grove *g, struct grove_detail *d);
/* Does a header's cwd (NULL or "": it has none) name the directory `cwd`, which is resolved? */
bool grove__root_same_cwd(const struct grove *g, const struct grove__dialect *dialect, const char *named,
		     const char *cwd);
/*
 * Does a session of the root belong to the directory `cwd`, which is resolved?
 * It does if its header names that directory (`named`); if it names none, if it
 * lies where the agent keeps the sessions of that directory.
 */
bool grove__root_belongs(struct grove *g, const struct grove__root *root,
			 const struct grove__dialect *dialect, const char *project,
			 const char *named, const char *cwd);

/* crumb.c: what this terminal remembers of its last session */
/*
 * The session that the dialect's agent had last here, for this (resolved) cwd,
 * and when it was noted. 1 if there is none any more.
 */
int grove__last_session_read(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		      struct grove__where *out, int64_t *time_ns, struct grove_detail *d);
/* Note it. Nobody should fail because of it. 1: this terminal has no name. */
int grove__last_session_write(const struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		       const char *path, struct grove_detail *d);
/* Every terminal whose note names the session at this path forgets it. Failures are ignored. */
void grove__last_session_forget(struct grove *g, const char *path);

/*
 * live.c: GROVE_ECONFLICT while a process of the session's own agent is at work
 * on it, as far as it leaves a trace; asked before lines that are there change.
 */
int grove__live_check(struct grove *g, const struct grove__where *at, struct grove_detail *d);

/* beside.c: what belongs to a session */

/* Are these logs files, which have times and modes of their own? */
bool grove__beside_is_files(const struct grove_store *st);

/*
 * `log`: a log of its own, under the session's key with `name` as its subpath;
 * else an attachment. Non-zero ends the list and is handed back.
 */
typedef int grove__beside_fn(void *payload, const char *name, uint64_t size, bool log);
/*
 * Everything but the session's own log. A session without anything, or that is
 * gone: nothing. The names are collected first, so `fn` may change the store.
 */
int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d);

/* All that is attached to one log, to another one as well. */
int grove__beside_copy(struct grove_store *from, const struct grove_key *from_key,
			    struct grove_store *to, const struct grove_key *to_key,
			    struct grove_detail *d);

/* expiry.c: what agents delete by themselves */

struct grove__expiry {
	const struct grove__dialect *dialect;  /* whose agent does so; NULL: nobody */
	struct grove_buf settings;             /* what it was told; empty: nothing */
};
int grove__expiry_of(struct grove *g, const struct grove__root *root, struct grove__expiry *out,
		     struct grove_detail *d);
void grove__expiry_release(struct grove__expiry *e);

#endif
