/*
 * store/store.h: the only way to call a store.
 *
 * grove__store_…() and grove__log_…() are the only callers of the slots in
 * <grove/sys.h>; they decide what a missing slot means.
 */
#ifndef GROVE_STORE_STORE_H
#define GROVE_STORE_STORE_H

#include "base/buf.h"
#include "base/fail.h"
#include "grove/sys.h"
#include "sys/state.h"

/*
 * Opens the store that a URL names: `file:DIR` or a plain path, `sqlite:PATH`,
 * `mysql://user[:password]@host[:port]/database`, `memory:`. GROVE_EINVAL for an
 * unknown scheme, GROVE_ENOTSUP for one that this build leaves out. A directory or a
 * database need not exist until something is stored.
 */
int grove__store_open(struct grove_store **out, const char *url, struct grove_detail *d);

/* The kinds of store that a host brings, in addition to grove's own. */
struct grove__store_types {
	struct grove_store_type *list;
	size_t nr;
};

/* Copies what a host gave. GROVE_EINVAL for a type that can never be used. */
int grove__store_types_take(struct grove__store_types *t, const struct grove_store_type *list,
			    size_t nr, struct grove_detail *d);
void grove__store_types_release(struct grove__store_types *t);
/* Like grove__store_open(), but also knows these types; NULL: none. */
int grove__store_open_of(const struct grove__store_types *types, struct grove_store **out,
			 const char *url, struct grove_detail *d);
void grove__store_close(struct grove_store *st);
/*
 * Creates what the store needs, or upgrades the tables of a database (*from and *to are
 * the versions; 0: it has none). Both do nothing if there is nothing to do.
 */
int grove__store_init(const struct grove__store_types *types, const char *url,
		      struct grove_detail *d);
int grove__store_upgrade(const struct grove__store_types *types, const char *url, unsigned *from,
			 unsigned *to, struct grove_detail *d);

/*
 * What kind of store it is, where that matters to others. What a log says of itself is
 * in its stat: whether positions count lines, and whether it is remote.
 */
struct grove__store_traits {
	const char *kind;      /* "file", "memory", "sqlite", "mysql"; of a host's store its name */
	bool paths;            /* each log is a file that agents know by its path */
	bool columns;          /* what the dialect finds in a line is stored beside the line */
	bool values;           /* facts about a log are kept in the store, not in files beside it */
	bool shared;           /* other processes see what is stored */
	bool on_disk;          /* its URL is a path of this machine */
};
struct grove__store_traits grove__store_traits(const struct grove_store *st);
/* Returns the path in a URL, NULL if it has none or is not one of our kinds. `t` may be NULL. */
const char *grove__store_path(const char *url, struct grove__store_traits *t);
/* The same, only for a store whose logs are files: its directory. */
const char *grove__store_dir(const char *url);

int grove__store_list(struct grove_store *st, const char *project, grove_key_fn *fn,
		      void *payload, struct grove_detail *d);
int grove__store_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
			   void *payload, struct grove_detail *d);
/* True if a survey takes less than asking each log. */
bool grove__store_has_survey(const struct grove_store *st);
int grove__store_survey(struct grove_store *st, grove_survey_fn *fn, void *payload,
			struct grove_detail *d);
/* False if another machine, or a host's own store, has to be asked. */
bool grove__store_is_here(const struct grove_store *st);
/* The file that everything in the store is written to, NULL if there is no such file. */
const char *grove__store_file(const struct grove_store *st);
int grove__store_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d);
int grove__store_rename(struct grove_store *st, const struct grove_key *from,
			const struct grove_key *to, struct grove_detail *d);
/*
 * What commands left unfinished because they were killed: whatever is in the store and has
 * no name yet (aside.c), and temporary files. `fn` (may be NULL) is called with the name of
 * each, and returns 1 if it is to stay; with `clear`, it is removed or, if it is whole, gets its name. Of `near`, only what
 * is of that session; without a session, what is in its project; NULL: of all.
 */
typedef int grove__left_fn(void *payload, const char *name);
int grove__store_tidy(struct grove_store *st, const struct grove_key *near, bool clear, grove__left_fn *fn,
		      void *payload, struct grove_detail *d);

/*
 * aside.c: a session that is being made. It has a name that no list shows until it is
 * whole, with all that belongs to it.
 */
struct grove__aside {
	struct grove_store *st;
	struct grove_key to, key;        /* its own key is for what belongs to it */
	struct grove_store_log *log;     /* open for writing */
	struct grove_buf session;
	bool made;
	struct grove_store_log_stat named; /* when its naming began; nothing: it did not */
};

/*
 * GROVE_EEXIST if the name is taken; with `over`, an empty session without anything is
 * replaced: a copy by an earlier version that was killed. The strings of `to` must stay
 * valid.
 */
int grove__aside_open(struct grove__aside *a, struct grove_store *st, const struct grove_key *to, bool over,
		      struct grove_detail *d);
/* It is whole: makes it durable and gives it its name. The log stays open. */
int grove__aside_name(struct grove__aside *a, struct grove_detail *d);
/* Ends it. With `keep`, the log is the caller's from then on; otherwise all of it is removed. */
void grove__aside_end(struct grove__aside *a, bool keep);
/* True for an empty session without anything, that nobody is writing to. */
bool grove__aside_nothing(struct grove_store *st, const struct grove_key *key);
/* True for the key of such a session in a store without files. */
bool grove__aside_hidden(const struct grove_key *key);

int grove__store_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d);
int grove__store_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d);
int grove__store_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d);
int grove__store_describe(struct grove_store *st, const struct grove_key *key, struct grove_buf *out);

int grove__log_open(struct grove_store_log **out, struct grove_store *st,
		    const struct grove_key *key, unsigned flags, struct grove_detail *d);
void grove__log_close(struct grove_store_log *log);
int grove__log_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		    struct grove_detail *d);
/* The state of a log that is not a file, and so has no times that tell more than this. */
struct grove__log_state grove__log_state(const struct grove_store_log_stat *st);
/* Is a log that is read now the one that had this state, of a file (`is_file`) or not? */
bool grove__log_is_still(const struct grove_store_log_stat *now, const struct grove__log_state *was,
			 bool is_file);
int grove__log_read(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		    size_t cap, struct grove_store_run *run, struct grove_detail *d);
int grove__log_fetch(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d);
int grove__log_append(struct grove_store_log *log, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, enum grove_sync sync, struct grove_store_appended *out,
		      struct grove_detail *d);
/* The same, if the base is still `base`. Ignored for a store without changes. */
int grove__log_append_on(struct grove_store_log *log, const struct grove_store_record *rec,
			 size_t nr, uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_store_appended *out, struct grove_detail *d);
/* Is it? Else GROVE_ECONFLICT. */
int grove__log_same_base(struct grove_store_log *log, uint64_t base, struct grove_detail *d);
int grove__log_sync(struct grove_store_log *log, struct grove_detail *d);
int grove__log_replace(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d);
int grove__log_cut(struct grove_store_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d);
int grove__log_update(struct grove_store_log *log, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d);
int grove__log_rewrite(struct grove_store_log *log, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d);
int grove__log_meta_get(struct grove_store_log *log, const char *name, struct grove_buf *out,
			struct grove_detail *d);
int grove__log_meta_put_on(struct grove_store_log *log, const char *name, struct grove_slice value,
			   uint64_t expect, uint64_t base, struct grove_detail *d);
int grove__log_meta_put(struct grove_store_log *log, const char *name, struct grove_slice value,
			struct grove_detail *d);
int grove__log_changes(struct grove_store_log *log, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d);
/* True if the store has a record of changes. Otherwise another base means a reset. */
bool grove__log_has_changes(const struct grove_store_log *log);
/* True if one line can be updated. Otherwise the log has to be rewritten. */
bool grove__log_has_update(const struct grove_store_log *log);
int grove__log_lease_take(struct grove_store_log *log, const char *owner, int64_t ms,
			  struct grove_lease *out, struct grove_detail *d);
int grove__log_lease_renew(struct grove_store_log *log, int64_t ms, struct grove_lease *out,
			   struct grove_detail *d);
int grove__log_lease_release(struct grove_store_log *log, struct grove_detail *d);
int grove__log_lease_get(struct grove_store_log *log, struct grove_lease *out,
			 struct grove_detail *d);
/* Returns true if the store has a list of ids; otherwise lines have to be read. */
bool grove__log_has_ids(const struct grove_store_log *log);
int grove__log_ids(struct grove_store_log *log, uint64_t pos, uint64_t until, grove_record_fn *fn,
		   void *payload, struct grove_detail *d);
/*
 * Returns the kind of change made by putting the value of this name, or 0 if it is not
 * reported.
 */
enum grove_change_kind grove__store_value_kind(const char *name);
/* A handle in view of the lease that somebody holds, or of none. */
struct grove__lease_claim {
	uint64_t number;       /* of the lease it took; 0: none */
	bool holds;            /* that is the current one */
	int64_t now;           /* by the clock of the lease */
};
/*
 * The rules of all stores: may the handle write, take the lease for `owner`, or renew it
 * (NULL)? Return 0 or GROVE_ECONFLICT.
 */
int grove__lease_may_write(const struct grove_lease *held, const struct grove__lease_claim *by, const char *path,
			   struct grove_detail *d);
int grove__lease_may_take(const struct grove_lease *held, const struct grove__lease_claim *by, const char *owner,
			  const char *path, struct grove_detail *d);
/* Sets the error for a changed base: GROVE_ECONFLICT. */
int grove__log_base_moved(const char *path, struct grove_detail *d);

/* The stores. Each takes what comes after the scheme. */
int grove__store_memory_open(struct grove_store **out, const char *rest, struct grove_detail *d);
int grove__store_jsonl_open(struct grove_store **out, const char *rest, struct grove_detail *d);
int grove__store_sqlite_open(struct grove_store **out, const char *rest, struct grove_detail *d);
int grove__store_mysql_open(struct grove_store **out, const char *rest, struct grove_detail *d);
/*
 * A listing skips directories that cannot be read, so that they hide only themselves;
 * `fn` is called for each. If `top`, it is the store itself, and the listing continues
 * (as if it were empty) only if `fn` returns true. Other stores than files do not call
 * it: there the listing fails.
 */
typedef bool grove__hidden_fn(void *payload, bool top, const struct grove_detail *why);
void grove__store_tell_hidden(struct grove_store *st, grove__hidden_fn *fn, void *payload);
/*
 * Calls `fn` before a log of a file store is opened for writing or gets another name;
 * its error, if any, is returned instead. Other stores do not call it.
 */
typedef int grove__guard_fn(void *payload, const char *path, struct grove_detail *d);
void grove__store_guard(struct grove_store *st, grove__guard_fn *fn, void *payload);
/*
 * Calls `fn` with each directory that a listing of the file store at `root` reads, before
 * it is looked into; `deep`: those of sessions as well. A non-zero result of `fn` ends it
 * and is returned. GROVE_EACCESS if one cannot be read.
 */
typedef int grove__store_dir_fn(void *payload, const char *path);
int grove__store_jsonl_dirs(const char *root, bool deep, grove__store_dir_fn *fn, void *payload);
/*
 * Appends the line of `len` bytes at `pos` of `from` to `log` in pieces, because it is
 * too long for memory. Both are logs of file stores. Otherwise like
 * grove__log_append(), except that a crash may leave a part of the line, without its
 * LF.
 */
int grove__store_jsonl_append_long(struct grove_store_log *log, struct grove_store_log *from,
				   uint64_t pos, uint64_t len, uint64_t expect,
				   struct grove_store_appended *out, struct grove_detail *d);
/*
 * The value that marks the last line of a log in a database as having no newline: "1",
 * or "" to clear it. The next append adds the newline (`pad`).
 */
#define GROVE__META_UNFINISHED "unfinished"
/* The prefix of the names of host values. */
#define GROVE__META_HOST "host."
/* The directory of a session without messages, if neither these nor a path contain it. */
#define GROVE__META_CWD "grove.cwd"
/* The key of a log whose name does not contain all of it: see keyed/key.c. */
#define GROVE__META_KEY "grove.key"
/* When the source of a copy was last written to: see image/time.c. */
#define GROVE__META_TIME "grove.modified"

/*
 * Opens a store that reports each call to `fn` and passes it on to `inner`, which it
 * owns from then on.
 */
int grove__store_trace_open(struct grove_store **out, struct grove_store *inner,
			    void (*fn)(void *payload, const char *line), void *payload,
			    struct grove_detail *d);
/* Returns the log that is traced, or the log itself. */
const struct grove_store_log *grove__store_traced(const struct grove_store_log *log);

/* Sets GROVE_ENOTSUP: "a … store cannot …". */
int grove__store_cannot(struct grove_detail *d, const struct grove_store_ops *ops, const char *what);

/* True if this name stays below its directory: relative, no "..", no empty part. */
bool grove__store_name_ok(const char *name);

#endif
