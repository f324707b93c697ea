/*
 * addon.h: what the files of the addon share.
 *
 * The addon is thin: a function of JavaScript's for a call of <grove.h>, with
 * positional arguments, and `lib/` in JavaScript puts classes and options on top
 * of it. Nothing is global: all state hangs on a `struct addon`, one for each
 * environment (the main thread, each worker) and each copy that is loaded.
 *
 *     module.c    the table of functions; life and end of an environment
 *     values.c    arguments into C, values and errors into JavaScript
 *     world.c     struct grove, and its variables
 *     jobs.c      work on libuv's threads, as a promise
 *     session.c   one open session;  append.c, leaf.c: what changes it
 *     view.c      entries, tree, context
 *     list.c      all sessions: list, search, usage
 *     stores.c    sessions as a whole: find, copy, remove; stores
 *     log.c       lines under a key;  storage.c: files under paths
 *     watch.c     events, from a thread that waits for them
 *
 * To add a call: write `napi_value NAME(struct call *c)` in the file of its
 * subject, and add it to that file's table. It returns NULL after an exception.
 */
#ifndef GROVE_NODE_ADDON_H
#define GROVE_NODE_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>

#include <grove.h>

#include <stdatomic.h>
#include <stdbool.h>

struct job;
struct watch;

/* One environment of JavaScript. Only its own thread touches it. */
struct addon {
	napi_env env;
	unsigned refs;           /* the environment's own, and one for each job and watch */
	bool ended;              /* `env` must not be used any more */
	napi_ref error_class;    /* GroveError of lib/errors.cjs */
	struct job *jobs;        /* that have not come back yet */
	struct watch *watches;   /* that have a thread */
};

void addon_unref(struct addon *a);

/* ------------------------------------------------------------------- values */

enum {
	MAX_ARGS = 12,
	CALL_ROOM = 4096
};

/* One call from JavaScript. Texts that were taken from it live until it returns. */
struct call {
	napi_env env;
	struct addon *addon;
	size_t nr;
	napi_value arg[MAX_ARGS];
	size_t used, nr_long;
	char *long_text[MAX_ARGS];
	char room[CALL_ROOM];
};

typedef napi_value call_fn(struct call *c);
struct function {
	const char *name;
	call_fn *fn;
};

/* Each file's functions; the last has no name. */
extern const struct function world_functions[];
extern const struct function session_functions[];
extern const struct function append_functions[];
extern const struct function view_functions[];
extern const struct function list_functions[];
extern const struct function log_functions[];
extern const struct function storage_functions[];
extern const struct function job_functions[];
extern const struct function store_functions[];
extern const struct function watch_functions[];

/* Adds functions to the module's exports. */
bool add_functions(napi_env env, napi_value exports, const struct function *table);

/*
 * These read an argument. false: it is of another type, and a TypeError is
 * pending. undefined and null are absent: NULL, or what `out` was before.
 */
bool take_text(struct call *c, size_t i, const char **out);
bool take_slice(struct call *c, size_t i, struct grove_slice *out);
bool take_unsigned(struct call *c, size_t i, unsigned *out);
bool take_u32(struct call *c, size_t i, uint32_t *out);
bool take_u64(struct call *c, size_t i, uint64_t *out);
bool take_i64(struct call *c, size_t i, int64_t *out);
/* A copy of the text of any value, for free(); NULL: an exception is pending. */
char *copy_text(struct call *c, napi_value v, size_t *len);
bool is_absent(struct call *c, size_t i);

/*
 * Externals of ours point to a struct that begins with this, so that a wrong one
 * is refused. A kind is the address of a name for messages: "a session".
 */
struct handle {
	const char *kind;
};
void *take_handle(struct call *c, size_t i, const char *kind);

napi_value js_undefined(struct call *c);
napi_value js_bool(struct call *c, bool value);
napi_value js_number(struct call *c, double value);
napi_value js_slice(napi_env env, struct grove_slice text);
/* null for NULL */
napi_value js_text(struct call *c, const char *text);
/* Turns a buffer into a string and releases it. */
napi_value js_buf(struct call *c, struct grove_buf *b);
/* An array of these; NULL if one of them is. */
napi_value js_array(struct call *c, const napi_value *values, uint32_t nr);
/* A typed array with a copy of `nr` cells of `size` bytes. */
napi_value js_cells(struct call *c, napi_typedarray_type type, const void *cells, size_t nr, size_t size);
bool set_member(struct call *c, napi_value object, const char *name, napi_value value);

/* An error as JavaScript has it, not thrown yet: a GroveError with code and detail. */
napi_value js_error(struct addon *a, int code, const struct grove_detail *why);
/* Throw, and return NULL. */
napi_value throw_error(struct call *c, int code, const struct grove_detail *why);
napi_value throw_type(struct call *c, const char *message);

/* -------------------------------------------------------------------- world */

/*
 * A struct grove and what it was made of. Sessions and jobs hold it: it goes with
 * the last of them. Counted on the environment's own thread alone.
 */
struct world {
	struct handle handle;
	unsigned refs;
	bool held;               /* one of these is JavaScript's */
	bool closed;
	struct grove *g;
	char *cwd, *home, *dialect, *cache;
	char **variables;        /* NAME, value, NAME, value, … */
	size_t nr_variables;
	char **stores;
	size_t nr_stores;
};
struct world *take_world(struct call *c, size_t i);
struct world *world_ref(struct world *w);
void world_unref(struct world *w);
napi_value throw_world(struct call *c, struct world *w, int code);

/* --------------------------------------------------------------------- jobs */

/*
 * Work on a thread of libuv's, told by a promise. Embed it first. `run` is on
 * that thread and has a struct grove of its own; the others are on the
 * environment's.
 */
struct job {
	struct addon *addon;
	struct job *next, **at;
	int holds;
	struct world *world;
	struct grove *g;                /* its own, on the same environment */
	bool on_world;                  /* it runs on the world's own: a call that many threads may make */
	int (*run)(struct job *job);
	napi_value (*result)(struct job *job, napi_env env);  /* NULL: `out` as a string */
	void (*release)(struct job *job);                     /* frees the job itself */
	int rc;
	struct grove_detail why;
	struct grove_buf out;
	napi_async_work work;
	napi_deferred deferred;
	struct ticket *ticket;          /* NULL: it cannot be cancelled */
	napi_threadsafe_function told;  /* NULL: nobody asks how far it is */
	napi_ref teller;                /* the function itself */
	atomic_int cancelled;
	atomic_int telling;             /* a message is on its way */
	_Atomic uint64_t done, total;
};

/* For cancelling, from JavaScript: it outlives its job. */
struct ticket {
	struct handle handle;
	struct job *job;       /* NULL: not begun, or ended */
	bool cancelled;
};
struct ticket *take_ticket(struct call *c, size_t i, bool *ok);

/*
 * Starts a job and returns its promise, or releases it. `ticket` and `progress`
 * are the indexes of arguments that may be absent.
 */
napi_value job_start(struct call *c, struct job *job, struct world *w, const char *name,
		     size_t ticket, size_t progress);
/* All jobs are asked to end; they come back by themselves. */
void jobs_cancel(struct addon *a);

/* All threads that wait for events have ended on return. */
void watches_stop(struct addon *a);

/* ----------------------------------------------------------------- sessions */

struct session {
	struct handle handle;
	struct world *world;
	struct grove_session *s;   /* NULL: closed */
	int64_t weight;            /* what the garbage collector was told */
};
/* An open one, or NULL and an exception. */
struct session *take_session(struct call *c, size_t i);
napi_value throw_session(struct call *c, struct session *s, int code);
/* Takes over `s`, and `w` for it. */
napi_value session_wrap(struct call *c, struct world *w, struct grove_session *s);

#endif
