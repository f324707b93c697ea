/*
 * grove/sys.h: for those who bring a store of their own.
 *
 * A store keeps logs: ordered lines of bytes under a key. It knows nothing of
 * JSON; what a line means is the dialect's business, and the few fields that a
 * database may want as columns come with each record.
 *
 * To bring one, fill in a struct grove_store_ops, write a function that opens
 * your store for a URL, and name both in a struct grove_store_type, which you
 * pass to grove_open() (`store_types`). From then on "yourscheme:..." is a store
 * like any other, in that environment. examples/store.c is a complete one, and
 * tests/conformance/ has the suite that every store must pass.
 *
 * Users of grove need <grove.h> alone.
 */
#ifndef GROVE_SYS_H
#define GROVE_SYS_H

#include <grove.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of struct grove_store_ops that this header describes. */
#define GROVE_STORE_VERSION 1

/*
 * The name of a log. `project` groups sessions (in files: a directory),
 * `session` names one (in files: the file's name), `subpath` names a log that
 * belongs to a session (a sub-agent's transcript). Unused parts are "".
 */
struct grove_key {
	const char *project;
	const char *session;
	const char *subpath;
};

/*
 * Positions. A store gives every line a 64-bit position; to everybody else it is
 * a number that grows along the log. In files it is the byte offset of the line,
 * in databases and memory its sequence number. The position after the last line
 * is the tail, which is what compare-and-swap compares.
 */
#define GROVE_ANY_POS UINT64_MAX
#define GROVE_ANY_BASE UINT64_MAX

/* A line to store, without its line end, and what the dialect found in it. */
struct grove_store_record {
	struct grove_slice line;
	struct grove_slice id;      /* empty: none */
	struct grove_slice parent;  /* empty: none */
	int64_t time;               /* ms since 1970 */
	uint8_t kind;               /* enum grove_kind */
	uint8_t role;               /* enum grove_role */
};

/* A piece of the log as it was read: whole lines with their LF wherever possible. */
struct grove_store_run {
	uint64_t pos;     /* of the first byte or line */
	uint64_t next;    /* where to read on */
	size_t len;       /* bytes in the buffer; 0 at the end */
	int by_line;      /* positions count lines, not bytes */
	/*
	 * The line is longer than the buffer. By bytes: this is a piece of it, and
	 * the next run goes on. By line: nothing was read, come with a larger buffer.
	 */
	int open;
	int end;          /* nothing follows (the last line may lack its LF) */
};

struct grove_store_log_stat {
	uint64_t tail;        /* position after the last line */
	uint64_t bytes;       /* in all lines */
	int64_t mtime_ms;
	int64_t mtime_ns;     /* the same, as finely as it is known */
	int64_t ctime_ns;     /* 0 where there is no such thing */
	uint64_t generation;  /* changes when lines were rewritten or removed */
	/*
	 * Counts the changes that are not appends. Base and number of lines together
	 * are the rev of the log, which only grows.
	 */
	uint64_t base;
	int remote;           /* each read is a network round trip; callers should cache */
};

/* A change to a log that is not an append. */
enum grove_change_kind {
	GROVE_CHANGE_RESET = 1,  /* rewritten or cut off: read all of it again */
	GROVE_CHANGE_UPDATE,     /* a line was replaced */
	GROVE_CHANGE_LEAF,       /* the value "leaf" */
	GROVE_CHANGE_NAME,       /* the value "name", or the line that has the name */
	GROVE_CHANGE_VALUE       /* another value, or its key */
};

struct grove_store_change {
	uint64_t rev;            /* of the log, just after the change */
	uint64_t lines;          /* in the log, just after the change */
	enum grove_change_kind kind;
	struct grove_slice id;   /* of the entry that changed; empty: none */
};

/* What append did. */
struct grove_store_appended {
	uint64_t pos;   /* of the first record */
	uint64_t tail;  /* after the last one */
	int pad;        /* 1: an unfinished last line was closed with an LF first */
};

/* Fills in the next line of a rewrite: 0, 1 at the end, or an error. `rec` comes zeroed. */
typedef int grove_line_fn(void *payload, struct grove_store_record *rec);
/* One key of a listing. Anything but 0 ends the listing and is returned from it. */
typedef int grove_key_fn(void *payload, const struct grove_key *key);
/* One change of a log; the same rule. */
typedef int grove_change_fn(void *payload, const struct grove_store_change *c);
/* One log of a survey: how far it reaches; the same rule. */
typedef int grove_survey_fn(void *payload, const struct grove_key *key,
			    const struct grove_store_log_stat *st);
/* One stored line with what came with it, and its position; the same rule. */
typedef int grove_record_fn(void *payload, uint64_t pos, const struct grove_store_record *rec);
/* One name of a listing; the same rule. */
typedef int grove_name_fn(void *payload, const char *name, uint64_t size);

enum grove_store_log_flags {
	GROVE_STORE_READ = 0,
	GROVE_STORE_WRITE = 1,
	GROVE_STORE_CREATE = 2, /* must not exist; implies write */
	GROVE_STORE_FORCE = 4	/* rewrite: even while others have it open */
};

/* A place that keeps logs. Embed this first in your own struct. */
struct grove_store {
	const struct grove_store_ops *ops;
	const char *url;       /* without a password */
};

/* An open log. Embed this first in your own struct. */
struct grove_store_log {
	const struct grove_store_ops *ops;
	struct grove_store *store;
};

/*
 * A kind of store. `open` is called with the whole URL and makes a store, which
 * its `close` slot frees; nothing has to exist yet. `scheme` is lower-case letters
 * and digits, at least two ("ring" for "ring:..."); it may not be one of grove's
 * own. The scheme and the payload must live as long as the environment.
 */
struct grove_store_type {
	size_t size;           /* sizeof(struct grove_store_type) */
	const char *scheme;
	int (*open)(void *payload, const char *url, struct grove_store **out, struct grove_detail *d);
	void *payload;
};

/*
 * The slots. When a slot fails it returns a negative code and, if `d` is not
 * NULL, fills in d->code and d->message; what it promises about the data after
 * a failure is part of its contract. A log is used by one thread at a time,
 * except for append, append_on and fetch, which many may call. A store is used
 * by many threads.
 *
 * Required: open, close_log, stat, read, fetch, append, list, close. A slot that
 * is optional may be NULL; its comment says what that means.
 */
struct grove_store_ops {
	unsigned version;      /* GROVE_STORE_VERSION; later versions add slots at the end */
	const char *name;      /* "jsonl", for messages and traces */

	/* --------------------------------------------------------- the store */

	/*
	 * Make what the store needs if it is not there yet; bring the tables of a
	 * database up to date, and say from and to which version. Both are harmless
	 * when there is nothing to do. Optional: NULL means there never is.
	 */
	int (*init)(struct grove_store *st, struct grove_detail *d);
	int (*upgrade)(struct grove_store *st, unsigned *from, unsigned *to, struct grove_detail *d);

	/* Free the store. No log of it is open. Required. */
	void (*close)(struct grove_store *st);

	/*
	 * Every log of a project (NULL: of all), in no order. Logs with a subpath
	 * belong to their session and are not named. `fn` may call the store, to
	 * rename or remove what it is told of. Required.
	 */
	int (*list)(struct grove_store *st, const char *project, grove_key_fn *fn, void *payload,
		    struct grove_detail *d);

	/*
	 * Every log with a subpath, in no order, of the sessions of a project (NULL:
	 * of all), whether those sessions still exist or not. Optional: NULL means
	 * there are none.
	 */
	int (*list_subs)(struct grove_store *st, const char *project, grove_key_fn *fn,
			 void *payload, struct grove_detail *d);

	/*
	 * Delete the log with its attachments and the logs that belong to it.
	 * GROVE_ENOTFOUND, and no harm done, if it is gone already. Durable on
	 * return; GROVE_EIO: deleted, but perhaps not durably. Optional.
	 */
	int (*remove)(struct grove_store *st, const struct grove_key *key, struct grove_detail *d);

	/*
	 * Give the log, with its attachments and the logs that belong to it, another
	 * key. GROVE_EEXIST if that key is taken. Durable as remove. Optional.
	 */
	int (*rename)(struct grove_store *st, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d);

	/*
	 * Attachments: whole files that belong to a session, by relative name
	 * ("tool-results/x.txt"). put replaces atomically. GROVE_EINVAL for a name
	 * that would leave the session's own place; GROVE_ENOTFOUND without the
	 * session. Optional.
	 */
	int (*attach_put)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_slice bytes, struct grove_detail *d);
	int (*attach_get)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_buf *out, struct grove_detail *d);
	int (*attach_list)(struct grove_store *st, const struct grove_key *key,
			   grove_name_fn *fn, void *payload, struct grove_detail *d);

	/* A path that a person could open, for messages; "" where there is none. Optional. */
	int (*describe)(struct grove_store *st, const struct grove_key *key, struct grove_buf *out);

	/* ----------------------------------------------------------- one log */

	/*
	 * Open the log under `key`. GROVE_ENOTFOUND if there is none; with
	 * GROVE_STORE_CREATE, GROVE_EEXIST if there is one. Required.
	 */
	int (*open)(struct grove_store *st, const struct grove_key *key, unsigned flags,
		    struct grove_store_log **out, struct grove_detail *d);
	/* Free the handle. Required. */
	void (*close_log)(struct grove_store_log *log);

	/* How far the log reaches now. `out` comes zeroed. Required. */
	int (*stat)(struct grove_store_log *log, struct grove_store_log_stat *out,
		    struct grove_detail *d);

	/*
	 * Fill `buf` with whole lines from `pos` on, not past `until`. If not even
	 * one line fits, as much of it as does (run->open). GROVE_ESTALE if the log
	 * no longer reaches `until`. `run` comes zeroed. Required.
	 */
	int (*read)(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		    size_t cap, struct grove_store_run *run, struct grove_detail *d);

	/*
	 * `len` bytes from `off` of the line at `pos`. GROVE_ESTALE if they are not
	 * there any more. Required.
	 */
	int (*fetch)(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d);

	/*
	 * Store `nr` records after those already there. With `expect` other than
	 * GROVE_ANY_POS, GROVE_ECONFLICT if the tail is elsewhere, and nothing is
	 * written. On return as durable as `sync` asks. A crash may leave a prefix of
	 * the records, never a gap. After GROVE_EFULL, GROVE_EACCESS and
	 * GROVE_ECONFLICT nothing of it is in the log; after GROVE_EIO the tail is
	 * unknown. `out` comes zeroed. Required.
	 */
	int (*append)(struct grove_store_log *log, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, enum grove_sync sync, struct grove_store_appended *out,
		      struct grove_detail *d);

	/*
	 * append, which also answers GROVE_ECONFLICT and writes nothing if the base
	 * of the log is not `base` (GROVE_ANY_BASE: whatever it is): a value kept with
	 * it, or a line, has changed. Optional: NULL means that stat is asked before
	 * the append.
	 */
	int (*append_on)(struct grove_store_log *log, const struct grove_store_record *rec,
			 size_t nr, uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_store_appended *out, struct grove_detail *d);

	/*
	 * Wait until everything appended so far is on the disk. Threads that ask at
	 * the same time may share the work. After a failure the tail is unknown.
	 * Optional: NULL means that append leaves nothing to wait for.
	 */
	int (*sync)(struct grove_store_log *log, struct grove_detail *d);

	/*
	 * Wait until the log differs from `seen`, or is gone: 0. 1 after `ms`, or as
	 * soon as the descriptor `wake` (-1: none) is readable. What happened between
	 * `seen` and the call counts. Optional: NULL means that stat is polled.
	 */
	int (*wait)(struct grove_store_log *log, const struct grove_store_log_stat *seen,
		    int64_t ms, int wake, struct grove_detail *d);

	/* ----------------------------------------- changes that are not appends */

	/*
	 * Put a line of the same length in the place of the one at `pos`.
	 * GROVE_EINVAL if the lengths differ. Optional.
	 */
	int (*replace)(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d);

	/*
	 * Put a record in the place of the line at `pos`, of whatever length.
	 * GROVE_ECONFLICT if the line is not `was` any more. `kind` is what changes()
	 * reports. All of it happens or nothing. Optional: NULL means that the log has
	 * to be rewritten.
	 */
	int (*update)(struct grove_store_log *log, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d);

	/*
	 * Cut the log off at `pos`, where a line begins. GROVE_ECONFLICT if the tail
	 * is not `expect`, GROVE_EINVAL if no line begins there. All of it happens or
	 * nothing. Optional.
	 */
	int (*cut)(struct grove_store_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d);

	/*
	 * Replace all lines by what `next` yields, or leave the log as it was.
	 * GROVE_ECONFLICT if the tail is not `expect`, or if somebody has the log open
	 * for writing and `flags` lacks GROVE_STORE_FORCE. Durable on return. Optional.
	 */
	int (*rewrite)(struct grove_store_log *log, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d);

	/* Small values kept with a log, by name. get: GROVE_ENOTFOUND if unset. Optional. */
	int (*meta_get)(struct grove_store_log *log, const char *name, struct grove_buf *out,
			struct grove_detail *d);
	int (*meta_put)(struct grove_store_log *log, const char *name, struct grove_slice value,
			struct grove_detail *d);

	/*
	 * The changes that are not appends: the last one whose rev is `since` or less,
	 * if it is known, and all after it, in order. A reset is the first change that
	 * is known. Optional: NULL means that only the base is known, and a different
	 * base means a reset.
	 */
	int (*changes)(struct grove_store_log *log, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d);

	/* ------------------------------------------------------------- leases */

	/*
	 * The right to write. lease_take takes it for `ms` from now; it is free if
	 * nobody has it, if its time has passed, or if `owner` has it through another
	 * handle; else GROVE_ECONFLICT. A handle that has it keeps it for that long.
	 * Each taking has a higher number than the one before.
	 *
	 * lease_renew holds on to it for `ms` from now: GROVE_ECONFLICT if this handle
	 * does not have it any more, or never did. lease_release gives it back; without
	 * a lease there is nothing to do. lease_get says who has it (an empty owner:
	 * nobody). *out is how it stands then.
	 *
	 * From the taking on, everything that this handle writes is refused with
	 * GROVE_ECONFLICT once another handle has taken the lease; until then it counts
	 * even after its time. Handles without it cannot write while somebody has it.
	 * Optional, all four or none.
	 */
	int (*lease_take)(struct grove_store_log *log, const char *owner, int64_t ms,
			  struct grove_lease *out, struct grove_detail *d);
	int (*lease_renew)(struct grove_store_log *log, int64_t ms, struct grove_lease *out,
			   struct grove_detail *d);
	int (*lease_release)(struct grove_store_log *log, struct grove_detail *d);
	int (*lease_get)(struct grove_store_log *log, struct grove_lease *out,
			 struct grove_detail *d);

	/* ------------------------------------------------------------ parents */

	/*
	 * The line of the entry `id` (empty: the last line) and those of its parents,
	 * up to one that has none or whose parent is not there, by the ids that came
	 * with the records; of two with the same id the later one. GROVE_ENOTFOUND if
	 * there is no such entry, GROVE_ENOTSUP as soon as a line comes up that no
	 * dialect looked at. A circle ends where it closes. Optional: NULL means the
	 * same as GROVE_ENOTSUP.
	 */
	int (*ancestors)(struct grove_store_log *log, struct grove_slice id, grove_record_fn *fn,
			 void *payload, struct grove_detail *d);

	/* ------------------------------------------------------ all logs at once */

	/*
	 * Every log of the store, those with a subpath too, in no order, with `tail`,
	 * `generation` and `base` as stat would give them; the rest of `st` may be zero.
	 * Asked several times a second by those who listen to many sessions, so its cost
	 * must not grow with the number of lines, nor, on a server, with that of the
	 * round trips. `fn` may call the store. Optional: NULL means that the logs are
	 * listed and asked one by one.
	 */
	int (*survey)(struct grove_store *st, grove_survey_fn *fn, void *payload,
		      struct grove_detail *d);
};

#ifdef __cplusplus
}
#endif
#endif
