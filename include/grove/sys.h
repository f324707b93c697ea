/*
 * grove/sys.h: the interface for a store of your own.
 *
 * A store holds logs: ordered lines of bytes under a key. It knows nothing about JSON;
 * the dialect knows what a line means, and the few fields that a database may want as
 * columns come with each record.
 *
 * To add a store, fill in a struct grove_store_ops, write a function that opens your
 * store for a URL, and put both into a struct grove_store_type, which you pass to
 * grove_open() (`store_types`). From then on "yourscheme:..." is a store like any
 * other, in that environment. examples/store.c uses a complete one, and
 * tests/conformance/ has the suite that every store must pass.
 *
 * Programs that only use grove need nothing but <grove.h>.
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
 * Logs have names of three parts: struct grove_key of <grove/log.h>. A store receives
 * them ready to use: they are already encoded, those of sessions end in ".jsonl", and
 * parts that are absent are "", never NULL. `project` groups sessions (in files: a
 * directory), `session` names one (in files: the file's name), and `subpath` names a log
 * that belongs to a session, below it.
 */

/*
 * Positions. A store gives every line a 64-bit position; for everybody else it is just
 * a number that increases along the log. In files it is the byte offset of the line, in
 * databases and memory its sequence number. The position after the last line is the
 * tail, which compare-and-swap compares.
 */
#define GROVE_ANY_POS UINT64_MAX
#define GROVE_ANY_BASE UINT64_MAX

/* A line to store, without its newline, and what the dialect found in it. */
struct grove_store_record {
	struct grove_slice line;
	struct grove_slice id;      /* empty: none */
	struct grove_slice parent;  /* empty: none */
	int64_t time;               /* ms since 1970 */
	uint8_t kind;               /* enum grove_kind */
	uint8_t role;               /* enum grove_role */
};

/* A part of the log that was read: whole lines with their LF wherever possible. */
struct grove_store_run {
	uint64_t pos;     /* of the first byte or line */
	uint64_t next;    /* where to read on; after a piece of a line, zero bytes may be left out */
	size_t len;       /* bytes in the buffer; 0 at the end */
	int by_line;      /* positions count lines, not bytes */
	/*
	 * The line is longer than the buffer. By bytes: this is a piece of it, and the
	 * next run continues. By line: nothing was read; call again with a larger
	 * buffer.
	 */
	int open;
	int end;          /* nothing follows (the last line may lack its LF) */
};

struct grove_store_log_stat {
	uint64_t tail;        /* position after the last line */
	uint64_t bytes;       /* in all lines */
	int64_t mtime_ms;
	int64_t mtime_ns;     /* the same in ns, as precise as is known */
	int64_t ctime_ns;     /* 0 if unknown */
	uint64_t generation;  /* changes when lines are rewritten or removed */
	/*
	 * Counts the changes that are not appends. Base plus number of lines is the rev
	 * of the log, which never decreases.
	 */
	uint64_t base;
	int remote;           /* each read is a network round trip; callers should cache */
	int by_line;          /* positions count lines, not bytes; as in struct grove_store_run */
};

/* A change to a log that is not an append. */
enum grove_change_kind {
	GROVE_CHANGE_RESET = 1,  /* rewritten or truncated: read all of it again */
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

/*
 * Fills in the next line of a rewrite. Returns 0, 1 at the end, or an error. `rec` is
 * zeroed before.
 */
typedef int grove_line_fn(void *payload, struct grove_store_record *rec);
/* Receives one key of a listing. A non-zero result ends the listing and is returned by it. */
typedef int grove_key_fn(void *payload, const struct grove_key *key);
/* Receives one change of a log; likewise. */
typedef int grove_change_fn(void *payload, const struct grove_store_change *c);
/* Receives one log of a survey, and how far it reaches; likewise. */
typedef int grove_survey_fn(void *payload, const struct grove_key *key,
			    const struct grove_store_log_stat *st);
/* Receives one stored line, its columns and its position; likewise. */
typedef int grove_record_fn(void *payload, uint64_t pos, const struct grove_store_record *rec);
/* Receives one name of a listing; likewise. */
typedef int grove_name_fn(void *payload, const char *name, uint64_t size);

enum grove_store_log_flags {
	GROVE_STORE_READ = 0,
	GROVE_STORE_WRITE = 1,
	GROVE_STORE_CREATE = 2, /* must not exist; implies write */
	GROVE_STORE_FORCE = 4	/* rewrite: even while others have it open */
};

/* A store. Make this the first member of your own struct. */
struct grove_store {
	const struct grove_store_ops *ops;
	const char *url;       /* without a password */
};

/* An open log. Make this the first member of your own struct. */
struct grove_store_log {
	const struct grove_store_ops *ops;
	struct grove_store *store;
};

/*
 * A kind of store. `open` is called with the whole URL and creates a store object,
 * which its `close` slot frees; nothing has to exist yet. `scheme` consists of
 * lower-case letters and digits, at least two ("ring" for "ring:..."), and must not be
 * one of grove's own. The scheme and the payload must stay valid as long as the
 * environment.
 */
struct grove_store_type {
	size_t size;           /* sizeof(struct grove_store_type) */
	const char *scheme;
	int (*open)(void *payload, const char *url, struct grove_store **out, struct grove_detail *d);
	void *payload;
};

/*
 * The slots. A slot that fails returns a negative code and, if `d` is not NULL, fills
 * in d->code and d->message; what it guarantees about the data after a failure is part
 * of its contract. A log is used by one thread at a time, except for append and fetch,
 * which many may call. A store is used by many threads.
 *
 * Required: open, close_log, stat, read, fetch, append, list, close. An optional slot
 * may be NULL; its comment says what that means.
 */
struct grove_store_ops {
	unsigned version;      /* GROVE_STORE_VERSION; later versions add slots at the end */
	const char *name;      /* "jsonl", for messages and traces */

	/* --------------------------------------------------------- the store */

	/*
	 * Creates what the store needs, or upgrades the tables of a database, setting
	 * the versions before and after. Both do nothing if there is nothing to do.
	 * Optional: NULL means there never is.
	 */
	int (*init)(struct grove_store *st, struct grove_detail *d);
	int (*upgrade)(struct grove_store *st, unsigned *from, unsigned *to, struct grove_detail *d);

	/* Frees the store. None of its logs is open. Required. */
	void (*close)(struct grove_store *st);

	/*
	 * Lists the logs of a project (NULL: of all), in no order: the sessions or, with
	 * `subs`, every log with a subpath, whether or not its session still exists.
	 * `fn` may call the store, to rename or remove a log. Required.
	 */
	int (*list)(struct grove_store *st, const char *project, int subs, grove_key_fn *fn,
		    void *payload, struct grove_detail *d);

	/*
	 * Deletes the log with its attachments and the logs that belong to it.
	 * GROVE_ENOTFOUND, without effect, if it does not exist. Durable on return;
	 * GROVE_EIO: deleted, but perhaps not durably. Optional.
	 */
	int (*remove)(struct grove_store *st, const struct grove_key *key, struct grove_detail *d);

	/*
	 * Moves the log, with its attachments and the logs that belong to it, to
	 * another key. GROVE_EEXIST if that key is taken. Durable like remove.
	 * Optional.
	 */
	int (*rename)(struct grove_store *st, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d);

	/*
	 * Attachments: whole files that belong to a session, by relative name
	 * ("tool-results/x.txt"). put replaces atomically. GROVE_EINVAL for a name that
	 * would leave the session's own directory; GROVE_ENOTFOUND without the session.
	 * Optional.
	 */
	int (*attach_put)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_slice bytes, struct grove_detail *d);
	int (*attach_get)(struct grove_store *st, const struct grove_key *key, const char *name,
			  struct grove_buf *out, struct grove_detail *d);
	int (*attach_list)(struct grove_store *st, const struct grove_key *key,
			   grove_name_fn *fn, void *payload, struct grove_detail *d);

	/*
	 * Appends a path that a person could open, for messages; "" if there is none.
	 * Optional.
	 */
	int (*describe)(struct grove_store *st, const struct grove_key *key, struct grove_buf *out);

	/* ----------------------------------------------------------- one log */

	/*
	 * Opens the log under `key`. GROVE_ENOTFOUND if there is none; with
	 * GROVE_STORE_CREATE, GROVE_EEXIST if there is one. Required.
	 */
	int (*open)(struct grove_store *st, const struct grove_key *key, unsigned flags,
		    struct grove_store_log **out, struct grove_detail *d);
	/* Frees the handle. Required. */
	void (*close_log)(struct grove_store_log *log);

	/* Says where the log ends now. `out` is zeroed before. Required. */
	int (*stat)(struct grove_store_log *log, struct grove_store_log_stat *out,
		    struct grove_detail *d);

	/*
	 * Fills `buf` with whole lines from `pos` on, not past `until`; if not even one
	 * line fits, with as much of it as fits (run->open). GROVE_ESTALE if the log no
	 * longer reaches `until`. `run` is zeroed before. Required.
	 */
	int (*read)(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		    size_t cap, struct grove_store_run *run, struct grove_detail *d);

	/*
	 * Gets `len` bytes from `off` of the line at `pos`. GROVE_ESTALE if they no
	 * longer exist. Required.
	 */
	int (*fetch)(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d);

	/*
	 * Stores `nr` records after the existing ones. With `expect` other than
	 * GROVE_ANY_POS, returns GROVE_ECONFLICT if the tail is elsewhere, and writes
	 * nothing. The same if the base is not `base` (GROVE_ANY_BASE: any), because a
	 * value stored with the log, or a line, has changed; a store without changes()
	 * is never given one. Returns GROVE_ESTALE if the log was removed or replaced. On return the
	 * records are as durable as `sync` asks. A crash may leave a prefix of the records,
	 * never a gap. After GROVE_EFULL, GROVE_EACCESS and GROVE_ECONFLICT none of them is
	 * in the log; after GROVE_EIO the tail is unknown. `out` is zeroed before. Required.
	 */
	int (*append)(struct grove_store_log *log, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, uint64_t base, enum grove_sync sync,
		      struct grove_store_appended *out, struct grove_detail *d);

	/*
	 * Waits until everything appended so far is on disk. Threads that call it at
	 * the same time may share the work. After a failure the tail is unknown.
	 * Optional: NULL means that append leaves nothing to wait for.
	 */
	int (*sync)(struct grove_store_log *log, struct grove_detail *d);

	/* ----------------------------------------- changes that are not appends */

	/*
	 * Replaces the line at `pos` by one of the same length. GROVE_EINVAL if the
	 * lengths differ. Optional.
	 */
	int (*replace)(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d);

	/*
	 * Replaces the line at `pos` by a record of any length, completely or not at
	 * all. GROVE_ECONFLICT if the line is no longer `was`. `kind` is what changes()
	 * reports. Optional: NULL means that the log has to be rewritten.
	 */
	int (*update)(struct grove_store_log *log, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d);

	/*
	 * Truncates the log at `pos`, where a line begins, completely or not at all.
	 * GROVE_ECONFLICT if the tail is not `expect`, GROVE_EINVAL if no line begins
	 * there. Optional.
	 */
	int (*cut)(struct grove_store_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d);

	/*
	 * Replaces all lines by what `next` yields, or leaves the log as it was.
	 * GROVE_ECONFLICT if the tail is not `expect`, or if somebody has the log open
	 * for writing and `flags` lacks GROVE_STORE_FORCE. Durable on return. Optional.
	 */
	int (*rewrite)(struct grove_store_log *log, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d);

	/*
	 * Small values stored with a log, by name. get: GROVE_ENOTFOUND if unset. put
	 * compares `expect` and `base` as append does. Optional.
	 */
	int (*meta_get)(struct grove_store_log *log, const char *name, struct grove_buf *out,
			struct grove_detail *d);
	int (*meta_put)(struct grove_store_log *log, const char *name, struct grove_slice value,
			uint64_t expect, uint64_t base, struct grove_detail *d);

	/*
	 * Reports the changes that are not appends: the last one whose rev is `since`
	 * or less, if it is known, and all after it, in order. A reset is the first
	 * change that is known. Optional: NULL means that only the base is known, and a
	 * different base means a reset.
	 */
	int (*changes)(struct grove_store_log *log, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d);

	/* ------------------------------------------------------------- leases */

	/*
	 * The lease. `lease` takes it for `ms` from now if nobody holds it, if it has
	 * expired, or if `owner` holds it through another handle; otherwise
	 * GROVE_ECONFLICT. A handle that holds it extends it. Each time it is taken,
	 * its number increases. With `owner` NULL it only extends it: GROVE_ECONFLICT
	 * if this handle does not hold it (any more). With 0 `ms` it releases it;
	 * without a lease that does nothing. lease_get says who holds it (an empty
	 * owner: nobody). *out is the state afterwards.
	 *
	 * After a handle has taken the lease, everything it writes is refused with
	 * GROVE_ECONFLICT once another handle has taken it over; until then the lease
	 * counts even after it has expired. Handles without it cannot write while
	 * somebody holds it. Optional, both or none.
	 */
	int (*lease)(struct grove_store_log *log, const char *owner, int64_t ms,
		     struct grove_lease *out, struct grove_detail *d);
	int (*lease_get)(struct grove_store_log *log, struct grove_lease *out,
			 struct grove_detail *d);

	/* ------------------------------------------------------ all logs at once */

	/*
	 * Reports every log of the store, including those with a subpath, in no order,
	 * with `tail`, `generation`, `base` and times as stat would return them; the rest
	 * of `st` may be zero. Programs that watch many sessions call it several times a
	 * second, so its cost must not grow with the number of lines, nor, on a server,
	 * take many round trips. `fn` may call the store. Optional: NULL means that the
	 * logs are listed and stat is called for each.
	 */
	int (*survey)(struct grove_store *st, grove_survey_fn *fn, void *payload,
		      struct grove_detail *d);

	/* ---------------------------------------------------------------- ids */

	/*
	 * Reports the ids of the lines from `pos` up to `until`, in any order, and perhaps
	 * one of them twice: a record has the id and nothing else or, if no id came with the
	 * line, the line and nothing else. `fn` does not use the store. Optional: NULL means
	 * that the lines are read.
	 */
	int (*ids)(struct grove_store_log *log, uint64_t pos, uint64_t until, grove_record_fn *fn,
		   void *payload, struct grove_detail *d);
};

#ifdef __cplusplus
}
#endif
#endif
