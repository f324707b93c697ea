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

#define GROVE_STORE_VERSION 2

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
};

/* What append did. */
struct grove_appended {
	uint64_t pos;   /* of the first record */
	uint64_t tail;  /* behind the last one */
	int pad;        /* 1: an unfinished last line was closed with an LF first */
};

/* Gives the next line for a rewrite: 0, 1 at the end, or an error. */
typedef int grove_line_fn(void *payload, struct grove_slice *line);
/* One key of a listing; non-zero ends it and is handed back. */
typedef int grove_key_fn(void *payload, const struct grove_key *key);
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
	 * Harmless when it is gone already (GROVE_ENOTFOUND). Optional.
	 */
	int (*remove)(struct grove_store *st, const struct grove_key *key, struct grove_detail *d);

	/*
	 * Give the log, with its attachments and the logs that belong to it,
	 * another key. GROVE_EEXIST if that is not free. Optional.
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
};

#ifdef __cplusplus
}
#endif
#endif
