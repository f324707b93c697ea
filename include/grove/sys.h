/*
 * grove/sys.h: for those who bring a store of their own.
 *
 * A store keeps logs: ordered lines of bytes under a key. It knows nothing of
 * JSON; what a line means is the dialect's affair, and the few fields that a
 * database may want as columns come with each record.
 *
 * Users of grove need <grove.h> alone.
 */
#ifndef GROVE_SYS_H
#define GROVE_SYS_H

#include <grove.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GROVE_STORE_VERSION 4

/*
 * The name of a log. `project` groups sessions (a directory, in files),
 * `session` names one (in files: the file's name), `subpath` names a log that
 * belongs to a session (a sub-agent's transcript). Unused parts are "".
 */
struct grove_key {
	const char *project;
	const char *session;
	const char *subpath;
};

/*
 * Positions. A store hands out a 64-bit position for every line; to all but
 * the store it is a number that grows along the log. In files it is the byte
 * offset of the line, in databases and memory its seq. The position behind the
 * last line, the tail, is what compare-and-swap looks at.
 */
#define GROVE_ANY_POS UINT64_MAX
#define GROVE_ANY_BASE UINT64_MAX

/* A line to store, without its line end, and what the dialect found in it. */
struct grove_record {
	struct grove_slice line;
	struct grove_slice id;      /* empty: none */
	struct grove_slice parent;  /* empty: none */
	int64_t time;               /* ms since 1970 */
	uint8_t kind;               /* enum grove_kind */
	uint8_t role;               /* enum grove_role */
};

/* A piece of the log, as read: whole lines with their LF wherever possible. */
struct grove_run {
	uint64_t pos;     /* of the first byte or line */
	uint64_t next;    /* where to read on */
	size_t len;       /* bytes in the buffer; 0 at the end */
	int by_line;      /* positions count lines, not bytes */
	/*
	 * The line is longer than the buffer. By bytes: this is a piece of it,
	 * the next run goes on. By line: nothing was read, come with a larger one.
	 */
	int open;
	int end;          /* nothing follows (the last line may lack its LF) */
};

struct grove_log_stat {
	uint64_t tail;        /* position behind the last line */
	uint64_t bytes;       /* all of it */
	int64_t mtime_ms;
	int64_t mtime_ns;     /* the same, as finely as it is known */
	int64_t ctime_ns;     /* 0 where there is no such thing */
	uint64_t generation;  /* changes when lines were rewritten or removed */
	/*
	 * How many changes there were other than lines behind the others: base
	 * and number of lines together are the rev of the log, which only grows.
	 */
	uint64_t base;
	int far;              /* every reading is a way to a server: what was read is kept a while */
};

/* What happened to a log, other than by lines behind the others. */
enum grove_change_kind {
	GROVE_CHANGE_RESET = 1,  /* rewritten, or cut off: all of it is to be read again */
	GROVE_CHANGE_UPDATE,     /* a line was replaced */
	GROVE_CHANGE_LEAF,       /* the value "leaf" */
	GROVE_CHANGE_NAME,       /* the value "name", or the line that tells the name */
	GROVE_CHANGE_VALUE       /* another value, or its key */
};

struct grove_change {
	uint64_t rev;            /* of the log, just after it */
	uint64_t lines;          /* in the log, just after it */
	enum grove_change_kind kind;
	struct grove_slice id;   /* of the entry that it is about; empty: of none */
};

/* What append did. */
struct grove_appended {
	uint64_t pos;   /* of the first record */
	uint64_t tail;  /* behind the last one */
	int pad;        /* 1: an unfinished last line was closed with an LF first */
};

/* Gives the next line for a rewrite, in a record that is empty: 0, 1 at the end, or an error. */
typedef int grove_line_fn(void *payload, struct grove_record *rec);
/* One key of a listing; non-zero ends it and is handed back. */
typedef int grove_key_fn(void *payload, const struct grove_key *key);
/* One change of a log; the same rule. */
typedef int grove_change_fn(void *payload, const struct grove_change *c);
/* One stored line with what came with it, and its position; the same rule. */
typedef int grove_record_fn(void *payload, uint64_t pos, const struct grove_record *rec);
/* One name of a listing; the same rule. */
typedef int grove_name_fn(void *payload, const char *name, uint64_t size);

enum grove_log_flags {
	GROVE_LOG_READ = 0,
	GROVE_LOG_WRITE = 1,
	GROVE_LOG_CREATE = 2,  /* must not exist; implies write */
	GROVE_LOG_FORCE = 4    /* rewrite: even while others have it open */
};

/* A place that keeps logs. Embed this first in your own struct. */
struct grove_store {
	const struct grove_store_ops *ops;
	const char *url;       /* without a password */
};

/* An open log. Embed this first in your own struct. */
struct grove_log {
	const struct grove_store_ops *ops;
	struct grove_store *store;
};

/*
 * The slots. Each fills *d and returns a negative code when it fails; what it
 * promises about the data after a failure is part of its contract. A log is
 * used by one thread at a time, except for append and fetch, which may be
 * called by many.
 */
struct grove_store_ops {
	unsigned version;      /* GROVE_STORE_VERSION; new slots go last */
	const char *name;      /* "jsonl", as written in URLs and traces */

	/*
	 * Open the log under `key`. GROVE_ENOTFOUND if there is none;
	 * with GROVE_LOG_CREATE, GROVE_EEXIST if there is one. Required.
	 */
	int (*open)(struct grove_store *st, const struct grove_key *key, unsigned flags,
		    struct grove_log **out, struct grove_detail *d);
	void (*close_log)(struct grove_log *log);

	/* How far the log reaches now. Required. */
	int (*stat)(struct grove_log *log, struct grove_log_stat *out, struct grove_detail *d);

	/*
	 * Fill `buf` with whole lines from `pos` on, not past `until`. If not
	 * even one line fits, as much of it as does (run->open). GROVE_ESTALE if
	 * the log no longer reaches `until`. Required.
	 */
	int (*read)(struct grove_log *log, uint64_t pos, uint64_t until, char *buf, size_t cap,
		    struct grove_run *run, struct grove_detail *d);

	/* `len` bytes from `off` of the line at `pos`. GROVE_ESTALE if they are
	 * not there any more. Required. */
	int (*fetch)(struct grove_log *log, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d);

	/*
	 * Store `nr` records behind those already there. With `expect` other
	 * than GROVE_ANY_POS, GROVE_ECONFLICT if the tail is not there, and
	 * nothing is written. On return as durable as `sync` asks. A crash may
	 * leave a prefix of the records, never a gap. After GROVE_EFULL,
	 * GROVE_EACCESS and GROVE_ECONFLICT nothing of it is in the log; after
	 * GROVE_EIO the tail is unknown. Required.
	 */
	int (*append)(struct grove_log *log, const struct grove_record *rec, size_t nr,
		      uint64_t expect, enum grove_sync sync, struct grove_appended *out,
		      struct grove_detail *d);

	/*
	 * Wait until everything appended so far is on the disk. Threads that
	 * ask at the same time may share the work. After a failure the tail is
	 * unknown. Optional: NULL means that append never leaves anything open.
	 */
	int (*sync)(struct grove_log *log, struct grove_detail *d);

	/*
	 * Put a line of the same length in the place of the one at `pos`.
	 * GROVE_EINVAL if the lengths differ. Optional.
	 */
	int (*replace)(struct grove_log *log, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d);

	/*
	 * Replace all lines by what `next` yields, or leave the log as it was.
	 * GROVE_ECONFLICT if the tail is not `expect`, or if somebody has the
	 * log open for writing and `flags` lacks GROVE_LOG_FORCE. Durable on
	 * return. Optional.
	 */
	int (*rewrite)(struct grove_log *log, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d);

	/*
	 * Every log of a project (NULL: of all), in no order. Those with a
	 * subpath belong to their session and are not named. Required.
	 */
	int (*list)(struct grove_store *st, const char *project, grove_key_fn *fn, void *payload,
		    struct grove_detail *d);

	/*
	 * Delete the log with its attachments and the logs that belong to it.
	 * Harmless when it is gone already (GROVE_ENOTFOUND). Durable on return;
	 * GROVE_EIO: done, but not that. Optional.
	 */
	int (*remove)(struct grove_store *st, const struct grove_key *key, struct grove_detail *d);

	/*
	 * Give the log, with its attachments and the logs that belong to it,
	 * another key. GROVE_EEXIST if that is not free. Durable on return;
	 * GROVE_EIO: done, but not that. Optional.
	 */
	int (*rename)(struct grove_store *st, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d);

	/* Small values kept with a log, by name. get: GROVE_ENOTFOUND if unset. Optional. */
	int (*meta_get)(struct grove_log *log, const char *name, struct grove_buf *out,
			struct grove_detail *d);
	int (*meta_put)(struct grove_log *log, const char *name, struct grove_slice value,
			struct grove_detail *d);

	/*
	 * Attachments: whole files that belong to a session, by relative name
	 * ("tool-results/x.txt"). put replaces atomically. A name that would
	 * leave the session's own place is GROVE_EINVAL; without the session
	 * GROVE_ENOTFOUND. Optional.
	 */
	int (*attach_put)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_slice bytes, struct grove_detail *d);
	int (*attach_get)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_buf *out, struct grove_detail *d);
	int (*attach_list)(struct grove_store *st, const struct grove_key *key,
			   grove_name_fn *fn, void *payload, struct grove_detail *d);

	/* A path a person could open, for messages; "" where there is none. */
	int (*describe)(struct grove_store *st, const struct grove_key *key, struct grove_buf *out);

	void (*close)(struct grove_store *st);

	/* --- since version 2 --- */

	/*
	 * Every log with a subpath, in no order, of the sessions of a project
	 * (NULL: of all), be they still there or not. Optional: NULL means that
	 * there are none.
	 */
	int (*list_subs)(struct grove_store *st, const char *project, grove_key_fn *fn,
			 void *payload, struct grove_detail *d);

	/*
	 * Cut the log off at `pos`, where a line begins. GROVE_ECONFLICT if the
	 * tail is not `expect`, GROVE_EINVAL if no line begins there. All of it
	 * happens or nothing. Optional.
	 */
	int (*cut)(struct grove_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d);

	/* --- since version 3 --- */

	/*
	 * Put a record in the place of the line at `pos`, of whatever length.
	 * GROVE_ECONFLICT if the line is not `was` any more. `kind` is what
	 * changes() tells of it. All of it happens or nothing. Optional: NULL
	 * means that the log has to be rewritten.
	 */
	int (*update)(struct grove_log *log, uint64_t pos, struct grove_slice was,
		      const struct grove_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d);

	/*
	 * The changes other than lines behind the others: the last one whose rev
	 * is `since` or less, if it is known, and all after it, in their order. A
	 * reset is the first one that is known. Optional: NULL means that nothing
	 * is known but the base; another one than before means a reset.
	 */
	int (*changes)(struct grove_log *log, uint64_t since, grove_change_fn *fn, void *payload,
		       struct grove_detail *d);

	/*
	 * Take the right to write, for `ms` from now, or hold on to it for that
	 * long (ms > 0); give it back (0); only look (negative). *out is how it
	 * stands then. Free is what nobody has, what is past its time, and what
	 * `owner` has by another handle; else GROVE_ECONFLICT. From the taking on,
	 * everything that this handle writes is refused with GROVE_ECONFLICT once
	 * another has taken it; past its time it still counts until then.
	 * Handles that have not taken it cannot write while somebody has it.
	 * Optional.
	 */
	int (*lease)(struct grove_log *log, const char *owner, int64_t ms, struct grove_lease *out,
		     struct grove_detail *d);

	/*
	 * Wait until the log is not as it was `seen`, or is gone: 0. 1 after
	 * `ms`, or as soon as `wake` (-1: none) can be read from. What happened
	 * between `seen` and the call counts. Optional: NULL means that stat is
	 * asked again and again.
	 */
	int (*wait)(struct grove_log *log, const struct grove_log_stat *seen, int64_t ms, int wake,
		    struct grove_detail *d);

	/*
	 * The line of the entry `id` (empty: the last line) and those of its
	 * parents, up to one that has none or whose parent is not there; by the
	 * ids that came with the records, of two with the same the later one.
	 * GROVE_ENOTFOUND if there is no such entry, GROVE_ENOTSUP as soon as a
	 * line comes of which the store does not know what it is. A circle ends
	 * where it closes. Optional: NULL means the same as GROVE_ENOTSUP.
	 */
	int (*ancestors)(struct grove_log *log, struct grove_slice id, grove_record_fn *fn,
			 void *payload, struct grove_detail *d);

	/* --- since version 4 --- */

	/*
	 * append, which also answers GROVE_ECONFLICT and writes nothing if the log
	 * has another base than `base` (GROVE_ANY_BASE: whatever it is): a value
	 * that is kept with it, or a line, is not what it was. By many threads, as
	 * append. Optional: NULL means that stat is asked before the append.
	 */
	int (*append_on)(struct grove_log *log, const struct grove_record *rec, size_t nr,
			 uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_appended *out, struct grove_detail *d);

	/*
	 * Make what the store needs, if it is not there yet; bring the tables of a
	 * database up to date, from and to which version. Both are harmless when there
	 * is nothing to do. Optional: NULL means that there never is.
	 */
	int (*init)(struct grove_store *st, struct grove_detail *d);
	int (*upgrade)(struct grove_store *st, unsigned *from, unsigned *to, struct grove_detail *d);
};

#ifdef __cplusplus
}
#endif
#endif
