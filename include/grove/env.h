/*
 * grove/env.h: the environment of sessions, and the progress of long operations.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_ENV_H
#define GROVE_ENV_H

#include <grove/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The environment: the home directory, the working directory, the stores. Nothing here
 * is global; two handles may have different environments.
 */
struct grove;

/* A kind of store: <grove/sys.h>. */
struct grove_store_type;

enum grove_severity {
	/* A blob is missing or a directory cannot be read; the operation continues. */
	GROVE_SEVERITY_WARNING,
	/*
	 * A session could not be written: this call fails, and so will all later ones.
	 * Reported once.
	 */
	GROVE_SEVERITY_FATAL
};

struct grove_options {
	size_t size;
	const char *cwd;             /* NULL: the process's */
	const char *home;            /* NULL: $HOME */
	/* Variables (PI_CODING_AGENT_DIR, GROVE_STORE, …). NULL: the process's. */
	const char *(*getenv)(void *payload, const char *name);
	void *getenv_payload;
	const char *const *stores;   /* URLs or directories; NULL: $GROVE_STORE, else discovery */
	size_t nr_stores;
	const char *dialect;         /* NULL: recognized by location and content */
	/* Receives one line for every call to a store. May be NULL. */
	void (*trace)(void *payload, const char *line);
	void *trace_payload;
	/* Receives warnings. Called from the thread that does the work. May be NULL. */
	void (*warn)(void *payload, enum grove_severity severity, const struct grove_detail *why);
	void *warn_payload;
	/*
	 * The directory for caches. NULL: grove below $XDG_CACHE_HOME or ~/.cache; "":
	 * no caches.
	 */
	const char *cache;
	/* Kinds of stores of your own: see <grove/sys.h>. The array itself is copied. */
	const struct grove_store_type *store_types;
	size_t nr_store_types;
};

/* Opens an environment. `opt` may be NULL. GROVE_EINVAL for an unknown store or dialect. */
GROVE_API int grove_open(const struct grove_options *opt, struct grove **out);
/*
 * Closes the handle. Whatever was made from it (sessions, lists, searches, second
 * handles) stays usable and keeps the environment alive, so the order of closing does
 * not matter. Callbacks may be called until the last of these is closed.
 */
GROVE_API void grove_close(struct grove *g);
/*
 * Makes a second handle on the same environment, for another thread. It shares the
 * stores, directories and callbacks, but has its own last error and its own progress
 * callback, initially none. Returns 0, or GROVE_ENOMEM with *out set to NULL.
 */
GROVE_API int grove_dup(struct grove *g, struct grove **out);
/* Copies the detail of the last error of `g`; its code is 0 if there was none. */
GROVE_API void grove_error(struct grove *g, struct grove_detail *out);

/* What grove knows about a program that stores sessions. */
struct grove_agent {
	const char *name;        /* as in grove_session_agent() */
	const char *dialect;
	/*
	 * The command that continues a session, to be run in the session's directory.
	 * "{id}" stands for its id, "{key}" for the agent's own name for it. See
	 * grove_session_resume().
	 */
	const char *resume;
};
/* A non-zero result ends the list and is returned. */
typedef int grove_agent_fn(void *payload, const struct grove_agent *a);
/* Reports all agents, whether they are in use here or not. */
GROVE_API int grove_agent_each(struct grove *g, grove_agent_fn *fn, void *payload);

/*
 * Long operations report their progress: `done` of `total` (0: unknown). A non-zero
 * result cancels: the call returns GROVE_ECANCELLED and nothing has changed.
 */
struct grove_progress {
	int (*fn)(void *payload, uint64_t done, uint64_t total);
	void *payload;
};

/*
 * Sets the callback for opening, forking or moving a session, and for listing sessions.
 * It is called from the calling thread. NULL members: none.
 */
GROVE_API void grove_set_progress(struct grove *g, struct grove_progress progress);

#ifdef __cplusplus
}
#endif
#endif
