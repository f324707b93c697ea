/*
 * addon.h: what the files of the addon share.
 *
 * The addon is thin: it has one JavaScript function for each call of <grove.h>, with
 * positional arguments. The JavaScript in `lib/` adds classes and options on top.
 * There are no global variables: all state is in a `struct addon`, of which there is
 * one for each environment (the main thread, each worker) and each loaded copy.
 *
 *     module.c    the table of functions; life and end of an environment
 *     values.c    arguments into C, values and errors into JavaScript
 *     world.c     struct grove, and its variables
 *     jobs.c      work on libuv's threads, answered by a promise
 *     session.c   one open session;  append.c: the calls that change it
 *     view.c      entries, tree, context
 *     list.c      all sessions: list, search, usage
 *     stores.c    sessions as a whole: find, copy, remove; stores
 *     log.c       lines under a key;  storage.c: files under paths
 *     watch.c     events, from a thread that waits for them
 *
 * To add a call, write `napi_value NAME(struct call *c)` in the file of its subject
 * and add it to that file's table. It returns NULL if it has thrown an exception.
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

/* One JavaScript environment. Only its own thread uses this struct. */
struct addon {
	napi_env env;
	unsigned refs;           /* one for the environment, and one for each job and watch */
	bool ended;              /* the environment has ended: `env` must not be used any more */
	napi_ref error_class;    /* GroveError of lib/errors.cjs */
	struct job *jobs;        /* the jobs that have not been freed yet */
	struct watch *watches;   /* the watches that have not been freed yet */
};

void addon_unref(struct addon *a);

/* ------------------------------------------------------------------- values */

enum {
	MAX_ARGS = 12,
	CALL_ROOM = 4096
};

/* One call from JavaScript. Texts taken from its arguments are valid until it returns. */
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

/* The functions of each file. The last element of a table has no name. */
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

/* Adds the functions of a table to the module's exports. */
bool add_functions(napi_env env, napi_value exports, const struct function *table);

/*
 * These read argument `i` into *out. They return false if it has another type; a
 * TypeError is pending then. If the argument is absent (not given, undefined or null),
 * they return true and leave *out as it is.
 */
bool take_text(struct call *c, size_t i, const char **out);
bool take_slice(struct call *c, size_t i, struct grove_slice *out);
bool take_unsigned(struct call *c, size_t i, unsigned *out);
bool take_u32(struct call *c, size_t i, uint32_t *out);
bool take_u64(struct call *c, size_t i, uint64_t *out);
bool take_i64(struct call *c, size_t i, int64_t *out);
/* Returns a copy of a string, for free(); NULL if an exception is pending. */
char *copy_text(struct call *c, napi_value v, size_t *len);
bool is_absent(struct call *c, size_t i);

/*
 * Every external value that the addon gives to JavaScript points to a struct that begins
 * with this, so that a value of the wrong kind is refused. `kind` points to the name of
 * the kind for error messages, such as "a session"; kinds are compared by address.
 */
struct handle {
	const char *kind;
};
void *take_handle(struct call *c, size_t i, const char *kind);

napi_value js_undefined(struct call *c);
napi_value js_bool(struct call *c, bool value);
napi_value js_number(struct call *c, double value);
napi_value js_slice(napi_env env, struct grove_slice text);
/* A string, or null if `text` is NULL. */
napi_value js_text(struct call *c, const char *text);
/* Turns a buffer into a string and releases the buffer. */
napi_value js_buf(struct call *c, struct grove_buf *b);
/* Returns an array of these values, or NULL if one of the values is NULL. */
napi_value js_array(struct call *c, const napi_value *values, uint32_t nr);
/* Returns a typed array with a copy of `nr` cells of `size` bytes each. */
napi_value js_cells(struct call *c, napi_typedarray_type type, const void *cells, size_t nr, size_t size);
bool set_member(struct call *c, napi_value object, const char *name, napi_value value);

/* Makes a GroveError with this code and detail, but does not throw it. */
napi_value js_error(struct addon *a, int code, const struct grove_detail *why);
/* These throw an error and return NULL. */
napi_value throw_error(struct call *c, int code, const struct grove_detail *why);
napi_value throw_type(struct call *c, const char *message);

/* -------------------------------------------------------------------- world */

/*
 * A struct grove and the options it was opened with. JavaScript, sessions, logs, storages,
 * watches and jobs hold references to it, and it is freed with the last one. References
 * are counted only on the environment's own thread.
 */
struct world {
	struct handle handle;
	unsigned refs;
	bool held;               /* JavaScript holds one of the references */
	bool closed;             /* worldClose() was called */
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
 * Work on one of libuv's threads, whose end a promise reports. Embed this struct as the
 * first member of your own. `run` is called on libuv's thread and, unless `on_world` is
 * set, has a struct grove of its own; the other functions are called on the
 * environment's thread.
 */
struct job {
	struct addon *addon;
	struct job *next, **at;
	int holds;                      /* the job is freed when this becomes 0 */
	struct world *world;
	struct grove *g;                /* the job's own, a duplicate of the world's */
	bool on_world;                  /* `run` uses the world's struct grove, for calls that any thread may make */
	int (*run)(struct job *job);
	napi_value (*result)(struct job *job, napi_env env);  /* NULL: the answer is `out`, as a string */
	void (*release)(struct job *job);                     /* frees the job itself */
	int rc;
	struct grove_detail why;
	struct grove_buf out;
	napi_async_work work;
	napi_deferred deferred;
	struct ticket *ticket;          /* NULL: JavaScript cannot cancel the job */
	napi_threadsafe_function told;  /* reports progress; NULL: nobody asked for it */
	napi_ref teller;                /* the onProgress function that `told` calls */
	atomic_int cancelled;
	atomic_int telling;             /* a progress report has not arrived yet */
	_Atomic uint64_t done, total;
};

/* JavaScript cancels a job by its ticket, which outlives the job. */
struct ticket {
	struct handle handle;
	struct job *job;       /* NULL: the job has not begun, or has ended */
	bool cancelled;
};
/* Returns NULL if the argument is absent. *ok is false if it is something else than a ticket. */
struct ticket *take_ticket(struct call *c, size_t i, bool *ok);

/*
 * Starts a job and returns its promise. If that fails, releases the job and returns
 * NULL. `ticket` and `progress` are the indexes of arguments that may be absent.
 */
napi_value job_start(struct call *c, struct job *job, struct world *w, const char *name,
		     size_t ticket, size_t progress);
/* Asks all jobs to end, and does not wait for them. */
void jobs_cancel(struct addon *a);

/* Ends all threads that wait for events, and waits until they have ended. */
void watches_stop(struct addon *a);

/* ----------------------------------------------------------------- sessions */

struct session {
	struct handle handle;
	struct world *world;
	struct grove_session *s;   /* NULL: closed */
	int64_t weight;            /* the size in bytes that the garbage collector was told */
};
/* Returns an open session, or throws and returns NULL. */
struct session *take_session(struct call *c, size_t i);
napi_value throw_session(struct call *c, struct session *s, int code);
/* Makes a handle that owns `s` and holds a reference to `w`. On failure, closes `s` and returns NULL. */
napi_value session_wrap(struct call *c, struct world *w, struct grove_session *s);

#endif
