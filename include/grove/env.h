/*
 * grove/env.h: the world that sessions live in, and how far long work is.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_ENV_H
#define GROVE_ENV_H

#include <grove/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The world as grove sees it: where home is, which stores there are. Nothing
 * here is global; two handles may see two worlds.
 */
struct grove;

/* A kind of store: <grove/sys.h>. */
struct grove_store_type;

enum grove_severity {
	/* A blob is missing or a directory cannot be read; the work goes on. */
	GROVE_SEVERITY_WARNING,
	/* A session could not be written: this call fails, and so will all later ones. Told once. */
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
	const char *dialect;         /* NULL: told by place and bytes */
	/* Every call that reaches a store, one line each. NULL: none. */
	void (*trace)(void *payload, const char *line);
	void *trace_payload;
	/*
	 * For a log of what goes wrong. Called from the thread that works. NULL:
	 * nobody is told.
	 */
	void (*warn)(void *payload, enum grove_severity severity, const struct grove_detail *why);
	void *warn_payload;
	/*
	 * The directory for what can be made again at any time. NULL: grove below
	 * $XDG_CACHE_HOME or ~/.cache; "": nothing is kept.
	 */
	const char *cache;
	/* Kinds of stores of your own: see <grove/sys.h>. The array itself is copied. */
	const struct grove_store_type *store_types;
	size_t nr_store_types;
};

/* `opt` may be NULL. GROVE_EINVAL for a store or dialect that is not known. */
GROVE_API int grove_open(const struct grove_options *opt, struct grove **out);
GROVE_API void grove_close(struct grove *g);
/* Copies the detail of the last error of `g`; its code is 0 if there was none. */
GROVE_API void grove_error(struct grove *g, struct grove_detail *out);

/*
 * Long work tells how far it is: `done` of `total` (0: not known). A non-zero
 * answer cancels it: the call returns GROVE_ECANCELLED and nothing changed.
 */
struct grove_progress {
	int (*fn)(void *payload, uint64_t done, uint64_t total);
	void *payload;
};

/*
 * Who is told while a session is opened, forked or moved, and while sessions
 * are listed. Called from the thread that called us. NULL members: nobody.
 */
GROVE_API void grove_set_progress(struct grove *g, struct grove_progress progress);

#ifdef __cplusplus
}
#endif
#endif
