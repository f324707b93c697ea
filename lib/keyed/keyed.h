/*
 * keyed/keyed.h: lines under a key, for hosts with their own session code.
 *
 *     key.c      the text of a key, and its name in a store
 *     ids.c      which lines a log has: how many, and their ids
 *     open.c     one open log: taking turns, opening it again when it was replaced
 *     append.c   append and replace
 *     read.c     read, values
 *     ends.c     the first and the last bytes, the title in the first line
 *     lock.c     keeping others from writing
 *     each.c     listing, removing, moving
 *
 * <grove/log.h> is the contract; docs/internals/log.md describes the implementation.
 */
#ifndef GROVE_KEYED_KEYED_H
#define GROVE_KEYED_KEYED_H

#include "base/arena.h"
#include "base/idmap.h"
#include "grove/log.h"
#include "grove/storage.h"
#include "image/lines.h"
#include "world/world.h"

/* ------------------------------------------------------------------- key.c */

/* A key as a store has it. Initialize to zero, and end with grove__keyed_name_release(). */
struct grove__keyed_name {
	struct grove_buf project, session, subpath;
	/*
	 * A part was too long for a name and was cut. The whole key is then stored with the
	 * log as the value GROVE__META_KEY: the texts, each followed by a NUL.
	 */
	bool cut;
	struct grove_buf text;
};

/* GROVE_EINVAL for a key without a session, GROVE_ENOMEM. */
int grove__keyed_name_of(const struct grove_key *key, struct grove__keyed_name *out,
			 struct grove_detail *d);
void grove__keyed_name_release(struct grove__keyed_name *n);
/* Returns the name, for calls of the store. */
struct grove_key grove__keyed_name_key(const struct grove__keyed_name *n);

/* The texts of a name. Initialize to zero; release the three. */
struct grove__keyed_text {
	struct grove_buf project, session, subpath;
	bool has_project;
	struct grove_key key;            /* the three, for a caller */
};

/*
 * Finds the key with this name in a store. `value` is the log's GROVE__META_KEY, or NULL.
 * Returns 0, one of these, or GROVE_ENOMEM.
 */
enum {
	GROVE__KEYED_NO_KEY = 1,         /* no key has that name */
	GROVE__KEYED_NEEDS_VALUE         /* the value is needed to tell */
};
int grove__keyed_text_of(const struct grove_key *name, const struct grove_buf *value,
			 struct grove__keyed_text *out);
void grove__keyed_text_release(struct grove__keyed_text *t);
/* Appends the stored name of a host's value to `out`. GROVE_EINVAL, GROVE_ENOMEM. */
int grove__keyed_value_name(const char *name, struct grove_buf *out, struct grove_detail *d);

/* ------------------------------------------------------------------- ids.c */

/*
 * What is known about the lines of a log up to a position. An id is recorded once, however
 * many lines have it.
 */
struct grove__keyed_ids {
	bool valid;                      /* everything below is true for the log as it was at
	                                    `tail` … */
	uint64_t tail, base, generation; /* … with this base, which values may change, and in this
	                                    generation */
	uint64_t pos;                    /* complete lines were read up to here */
	uint64_t lines;                  /* before `pos` */
	bool open;                       /* a line without LF follows `pos` */
	char *member;                    /* the member with the ids; NULL to only count lines */
	struct grove__json_member names[1];
	struct grove__json_want want;
	struct grove__idmap map;
	struct grove__arena texts;
	struct grove_slice *list;
	size_t nr, cap;
};

void grove__keyed_ids_init(struct grove__keyed_ids *k);
void grove__keyed_ids_release(struct grove__keyed_ids *k);
/* Forgets everything. From now on, ids are the texts of `member` (NULL for none). GROVE_ENOMEM. */
int grove__keyed_ids_reset(struct grove__keyed_ids *k, const char *member);
/*
 * Reads all lines up to the end of the log, whose state is `st`. `dialect` (may be NULL) is
 * the one whose ids the store has.
 */
int grove__keyed_ids_extend(struct grove__keyed_ids *k, struct grove_store_log *log,
			    const struct grove_store_log_stat *st,
			    const struct grove__dialect *dialect, struct grove_detail *d);
/*
 * Gets the id of a line, which is followed by GROVE__JSON_PAD readable bytes; empty if it
 * has none. `tmp` holds texts that had to be unescaped. GROVE_ENOMEM.
 */
int grove__keyed_ids_of(const struct grove__keyed_ids *k, struct grove_slice line,
			struct grove__arena *tmp, struct grove_slice *out);
bool grove__keyed_ids_has(const struct grove__keyed_ids *k, struct grove_slice id);
/* GROVE_ENOMEM. */
int grove__keyed_ids_add(struct grove__keyed_ids *k, struct grove_slice id);

/* ------------------------------------------------------------------ open.c */

/* A log of the store with its users: a thread may be syncing it while another opens it again. */
struct grove__keyed_held {
	struct grove_store_log *log;
	unsigned refs;                   /* protected by the lock of the grove_log */
};

struct grove_log {
	struct grove *g;
	struct grove_store *store;       /* belongs to the environment */
	struct grove__keyed_name name;
	unsigned flags;                  /* enum grove_log_open_flags */
	bool failed;                     /* could not be opened, and cannot be used */
	bool columns;                    /* the store wants to know what lines are */

	/* Calls take turns, in the order in which they arrive. */
	pthread_mutex_t lock;
	pthread_cond_t turn;
	uint64_t next, serving;
	struct grove_detail detail;

	/* The lease taken by lock(). */
	char owner[40];                  /* "" if never */
	int64_t lock_ms;                 /* 0 if not locked */

	/* used by the call whose turn it is: */
	struct grove__keyed_held *held;  /* NULL if not open, or if the log does not exist yet */
	uint64_t moves;                  /* the number of moves when it was opened */
	bool made;                       /* it was just created */
	const struct grove__dialect *dialect;  /* the agent that wrote the lines; NULL if unknown */
	struct grove__keyed_ids ids;
};

/* Prepares a handle, which the first call that needs it opens. End with grove__keyed_close(). */
int grove__keyed_init(struct grove *g, const char *store, const struct grove_key *key,
		      unsigned flags, struct grove_log *l, struct grove_detail *d);
/* The same, and opens it. */
int grove__keyed_open(struct grove *g, const char *store, const struct grove_key *key,
		      unsigned flags, struct grove_log *l, struct grove_detail *d);
void grove__keyed_close(struct grove_log *l);
/* Wait for a turn, and end it. */
void grove__keyed_enter(struct grove_log *l);
void grove__keyed_leave(struct grove_log *l);
/*
 * Within a turn: opens the log of the store. GROVE_ENOTFOUND if it does not exist and
 * `make` is false.
 */
int grove__keyed_have(struct grove_log *l, bool make, struct grove_detail *d);
/* Within a turn: it is no longer the log under our key. */
void grove__keyed_drop(struct grove_log *l);
/* Outside a turn: releases what grove__keyed_have() opened and the turn kept. */
void grove__keyed_held_release(struct grove_log *l, struct grove__keyed_held *h);
/* Within a turn: gets the state of the log. Opens it again if it was replaced, like have(). */
int grove__keyed_stat(struct grove_log *l, struct grove_store_log_stat *st, struct grove_detail *d);

/* ---------------------------------------------------------------- append.c */

int grove__keyed_append(struct grove_log *l, const struct grove_slice *lines, size_t nr,
			const struct grove_log_options *opt, bool tell,
			struct grove_log_result *out, struct grove_detail *d);
/* For replace: even while another program has the file open. Besides enum grove_log_flags. */
#define GROVE__KEYED_FORCE 0x100u
/*
 * Replaces all lines of the log; readers see either the old lines or the new ones.
 * Durable on return, whatever `sync` says. `id_member` is ignored. A log
 * without lines is still a log; one that does not exist is created if the handle may
 * do so.
 *
 * GROVE_ECONFLICT as append, or if somebody else has the file open for writing. After
 * a failure the log is as it was.
 */
int grove__keyed_replace(struct grove_log *l, const struct grove_slice *lines, size_t nr,
			 const struct grove_log_options *opt, bool tell,
			 struct grove_log_result *out, struct grove_detail *d);

/* ------------------------------------------------------------------ read.c */

int grove__keyed_read(struct grove_log *l, uint64_t from, uint64_t to, struct grove_sink sink,
		      struct grove_log_result *out, struct grove_detail *d);
/* Fills in what a result says about the log. `lines` is GROVE_LOG_UNCOUNTED if not counted. */
void grove__keyed_tell(const struct grove_store_log_stat *st, uint64_t lines,
		       struct grove_log_result *out);
/* Within a turn: checks that everything read came from one state of the log; else GROVE_ESTALE. */
int grove__keyed_same_still(struct grove_log *l, const struct grove_store_log_stat *st,
			    struct grove_detail *d);
/* Returns true if the tail is the number of lines, and not that of bytes. */
static inline bool grove__keyed_is_counted(const struct grove_store_log_stat *st)
{
	return st->by_line || !st->tail;
}
int grove__keyed_value_get(struct grove_log *l, const char *name, struct grove_buf *out,
			   struct grove_detail *d);
int grove__keyed_value_put(struct grove_log *l, const char *name, struct grove_slice value,
			   struct grove_detail *d);

/* ------------------------------------------------------------------ ends.c */

/*
 * Appends the first `head` bytes of what grove__keyed_read() writes to `first`, and the last
 * `tail` to `last`, as the log was at one moment. Each gets all of a shorter log; a
 * character that would be cut in two is left out. However long the log is, only these
 * bytes and a few lines are read.
 */
int grove__keyed_read_ends(struct grove_log *l, size_t head, size_t tail, struct grove_buf *first,
			   struct grove_buf *last, struct grove_log_result *out, struct grove_detail *d);
/* Returns 1 if the first line has no room for it; GROVE_ENOTSUP in a store that cannot change a line. */
int grove__keyed_set_title(struct grove_log *l, const struct grove_title *title, struct grove_detail *d);

/* ------------------------------------------------------------------ lock.c */

/* See grove_storage_lock(). */
int grove__keyed_lock(struct grove_log *l, int64_t ms, struct grove_detail *d);
int grove__keyed_unlock(struct grove_log *l, struct grove_detail *d);
/* Within a turn: takes our lock again on a log that was reopened. */
int grove__keyed_lock_again(struct grove_log *l, struct grove_store_log *log, struct grove_detail *d);

/* ------------------------------------------------------------------ each.c */

/* Called for each log, which is open. */
typedef int grove__keyed_each_fn(void *payload, const struct grove_log_item *item,
				 struct grove_store_log *log, struct grove_detail *d);
/* With this flag and no `under`: the logs that belong to sessions, too. */
#define GROVE__KEYED_EACH_SUBS 0x100u
int grove__keyed_each(struct grove *g, const char *store, const struct grove_key *under,
		      unsigned flags, grove__keyed_each_fn *fn, void *payload, struct grove_detail *d);
/* Returns 1 if there was nothing. */
int grove__keyed_remove(struct grove *g, const char *store, const struct grove_key *key,
			struct grove_detail *d);
/*
 * Gives a log another key, with all that belongs to it. GROVE_ENOTFOUND,
 * GROVE_EEXIST if that key has a log. Durable on return. Open handles of this environment
 * stay with their key.
 */
int grove__keyed_move(struct grove *g, const char *store, const struct grove_key *from,
		      const struct grove_key *to, struct grove_detail *d);

#endif
