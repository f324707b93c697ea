/*
 * session/session.h: one open session, which combines a dialect and a store.
 *
 *     append.h    adding entries
 *     leaf.h      where the next one goes, and other values beside the lines
 *     change.h    names, updates, rewriting, forks, moves
 *     blobs.h     what lines refer to
 *     about.h     facts, sub-agents, the command that continues it
 */
#ifndef GROVE_SESSION_SESSION_H
#define GROVE_SESSION_SESSION_H

#include "find/find.h"
#include "logs/beside.h"

/*
 * What a session used earlier. Views, and ids that were returned, may point into
 * it; see docs/internals/lifetimes.md.
 */
struct grove__retired {
	struct grove__image *image;            /* any of these may be NULL */
	struct grove_store_log *log;
	struct grove_store *store;
};

/* Where the next append goes; see leaf.c and kept.c. */
struct grove__session_leaf {
	bool apart;                            /* it is not where the log says (docs/internals/leaf.md) … */
	uint32_t row;                          /* … but here */
	bool in_store;                         /* the move is a value in the store, which others see too */
	uint64_t value_base, value_tail;       /* the state of the log when that value was last read */
	const struct grove__image *append;     /* in this image the rules end at the entry we appended last */
	const struct grove__image *rules;      /* in this image, with rules_rows rows … */
	uint32_t rules_rows, rules_end;        /* … the rules end at rules_end */
	const char *id;                        /* its id while there is no image; in a retired one */
};

/* Lines that are not in the log yet. */
struct grove__session_deferral {
	/*
	 * Until the first message creates the file, the lines of a deferred session
	 * are in a memory store of its own.
	 */
	struct grove_store *store;
	bool may_join;                         /* if the log appears meanwhile, another process began it */
	bool for_good;                         /* the session stays in memory */
};

/* Appends that are under way, and what became of earlier ones. */
struct grove__session_writing {
	struct grove__batch *batch;            /* see append_compose.c; NULL until the first append */
	struct grove__append_group *group;     /* atomic: waiting appends, see append_group.c */
	struct grove__submit_queue *queue;     /* entries that are written later, see submit.c; NULL: none yet */
	bool new_image;                        /* the image was replaced since the last append; submit.c */
	bool unknown;                          /* a write failed, and it is unknown what was stored */
	char *cause;                           /* why it failed; NULL: not known */
	struct grove_detail *latch;            /* the first failed write, in formats that refuse all later ones */
};

struct grove__session_blobs {
	pthread_mutex_t lock;
	struct grove__blobs *own;              /* NULL: not opened yet */
	struct grove__blobs *beside;           /* those next to a copied tree, or NULL */
	bool note;                             /* the store has been recorded next to them */
};

/* What entries record, in formats that want it; NULL: not known yet. */
struct grove__session_stamp {
	char *program, *branch;
	int64_t branch_ms;                     /* when the branch was looked up */
};

struct grove_session {
	unsigned refs;                         /* atomic: one for the handle, one for each view */
	struct grove *g;
	struct grove__where at;
	unsigned flags;
	pthread_mutex_t lock;                  /* taken by grove__session_enter() and its relatives only */
	uintptr_t inside;                      /* atomic: the thread that holds the lock, or 0 */
	struct grove_detail detail;
	struct grove_store_log *log;
	struct grove__image *image;
	struct grove__retired *past;
	size_t nr_past;
	struct grove__labels *labels;          /* NULL: not computed yet */
	char *id, *cwd, *dir;
	bool cwd_in_log;                       /* `cwd` is from the log, so it goes if the log loses it */
	uint64_t migration;                    /* lines that migrating the log has changed */
	unsigned version;                      /* of the log when it was opened */
	struct grove__session_leaf leaf;
	struct grove__session_deferral deferral;
	struct grove__session_writing writing;
	struct grove__session_blobs blobs;
	struct grove__session_stamp stamp;
	char *owner;                           /* the session that a sub-agent's log belongs to; NULL: this one */
	struct grove__command *command;        /* that continues it, see resume.c; NULL: nobody asked */
};

/*
 * open.c: a call on a session holds its lock, and callbacks run inside such a
 * call. A callback that used its own session would wait for itself, so
 * grove__session_enter() returns GROVE_EINVAL in that case, and also for a handle
 * whose open failed. If it returns 0, the caller must unlock.
 */
int grove__session_enter(struct grove_session *s, struct grove_detail *d);
/* The same without waiting for what was submitted. */
int grove__session_enter_at_once(struct grove_session *s, struct grove_detail *d);
void grove__session_lock(struct grove_session *s);
void grove__session_unlock(struct grove_session *s);
/* Returns true if this thread is already inside a call on the session. */
bool grove__session_inside(const struct grove_session *s);
int grove__session_open(struct grove *g, struct grove__where *at, unsigned flags,
			struct grove_session *s, struct grove_detail *d);
int grove__session_new(struct grove *g, const struct grove_create_options *opt,
		       struct grove_session *s, struct grove_detail *d);
/* Turns a name into the form that is stored. GROVE_EINVAL if nothing is left of it. */
int grove__session_clean_name(const struct grove__dialect *dialect, const char *name,
			      struct grove_buf *out, struct grove_detail *d);
struct grove_session *grove__session_alloc(struct grove *g);
void grove__session_unref(struct grove_session *s);
/* Loads the image unless it is loaded. The lock is held. */
int grove__session_load(struct grove_session *s, struct grove_detail *d);
/* Records it as the last session of this terminal if its agent does that. Ignores failures. */
void grove__session_note_last(struct grove_session *s);
/* Reads what is new, into a new image if necessary. Returns 1 if something changed. */
int grove__session_refresh(struct grove_session *s, struct grove_detail *d);
/* Updates the working directory from the image, since new entries may name it. GROVE_ENOMEM. */
int grove__session_take_cwd(struct grove_session *s);
/* Retires the image; the next one is loaded when it is needed. */
int grove__session_retire(struct grove_session *s);
/* Switches to another log, and retires the old one with its image and the store of a deferred session. */
int grove__session_change_log(struct grove_session *s, struct grove_store_log *log);
/*
 * Closes retired logs once there are no views. A file that we have open twice
 * looks as if another program were writing to it.
 */
void grove__session_close_old(struct grove_session *s);
/* Returns true if this is a sub-agent's own log. */
bool grove__session_own_file(const struct grove_session *s);
/* The name of the log in a session's own memory store. */
#define GROVE__HELD "held.jsonl"
/* Gives a session that is deferred, or stays in memory, a store and a log of its own. */
int grove__session_hold(struct grove_session *s, struct grove_detail *d);
/* Computes where a new session of `cwd` goes. Fills in everything but the dialect. */
int grove__session_place(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
			 const char *dir, int64_t time, const char *id, struct grove__where *out,
			 struct grove_detail *d);

#endif
