/* session/session.h: one open session, which combines a dialect and a store. */
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
	struct grove__retired *retired;
	size_t nr_retired;
	struct grove__labels *labels;          /* NULL: not computed yet */
	char *id, *cwd, *dir;
	bool cwd_in_log;                       /* `cwd` is from the log, so it goes if the log loses it */
	uint64_t migrated;
	unsigned version;                      /* of the log when it was opened */
	bool moved;                            /* the leaf is not where the log says (docs/internals/leaf.md) … */
	uint32_t leaf;                         /* … but here */
	bool kept;                             /* the move is a value in the store, which others see too */
	uint64_t kept_base, kept_tail;         /* the state of the log when that value was last read; see kept.c */
	const struct grove__image *follows;    /* in this image the rules end at the entry we appended last */
	const struct grove__image *ruled;      /* in this image, with ruled_at rows … */
	uint32_t ruled_at, ruled_leaf;         /* … the rules end at ruled_leaf */
	const char *leaf_id;                   /* its id while there is no image; in a retired one */
	/*
	 * The store of a deferred session: until the first message creates the
	 * file, its lines are in a memory store of its own.
	 */
	struct grove_store *held;
	bool joins;                            /* if the log appears meanwhile, another process began it */
	struct grove__batch *batch;            /* see append_compose.c; NULL until the first append */
	struct grove__append_group *queued;     /* atomic: waiting appends, see append_group.c */
	struct grove__submit_queue *submitted; /* entries that are written later, see submit.c; NULL: none yet */
	bool anew;                             /* the image was replaced since the last append; submit.c */
	bool in_memory;                        /* the session stays in memory for good */
	char *owner;                           /* the session that a sub-agent's log belongs to; NULL: this one */
	char *written_by, *branch;             /* for formats whose entries record them; NULL: not known yet */
	int64_t branch_at;                     /* when the branch was looked up, in ms */
	bool broken;                           /* a write failed, and it is unknown what was stored */
	char *cause;                           /* why it failed; NULL: not known */
	struct grove_detail *latch;            /* the first failed write, in formats that refuse all later ones */
	pthread_mutex_t blobs_lock;
	struct grove__blobs *blobs;            /* NULL: not opened yet */
	struct grove__blobs *blobs_beside;     /* the blobs next to a copied tree, or NULL */
	struct grove__command *command;        /* that continues it, see resume.c; NULL: nobody asked */
	bool noted;                            /* the store has been recorded next to its blobs */
};

/* subagents.c */
int grove__subagents_list(struct grove_session *s, grove_subagent_fn *fn, void *payload,
		       struct grove_detail *d);


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
/* Finds the row that the next append goes below, GROVE_NO_ENTRY for a root. */
int grove__session_find_leaf(struct grove_session *s, uint32_t *row, struct grove_detail *d);
/* The same for those that cannot fail: GROVE_NO_ENTRY if it cannot be found, too. */
uint32_t grove__session_leaf_row(struct grove_session *s);
/* Returns true if this is a sub-agent's own log. */
bool grove__session_own_file(const struct grove_session *s);
/* Gives a session that is deferred, or stays in memory, a store and a log of its own. */
int grove__session_hold(struct grove_session *s, struct grove_detail *d);
/* Computes where a new session of `cwd` goes. Fills in everything but the dialect. */
int grove__session_place(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
			 const char *dir, int64_t time, const char *id, struct grove__where *out,
			 struct grove_detail *d);

/* given.c: appends lines as they are, LF between them, to the log in memory. */
int grove__session_put_lines(struct grove_session *s, struct grove_slice text, struct grove_detail *d);

/* about.c */
/* Returns the facts that entries record about their session; valid until the next call. */
int grove__session_about(struct grove_session *s, struct grove__about *out, struct grove_detail *d);

/* blobs.c */
struct grove__blobs;
struct grove__blob_sinking {
	struct grove_session *session;
	struct grove_detail *d;
};
/* Returns the blobs of its agent; *out is NULL if the agent does not use any. */
int grove__session_blobs(struct grove_session *s, struct grove__blobs **out,
			 struct grove_detail *d);
/* The same, before storing some: a database is first recorded next to the blobs. */
int grove__session_blobs_for(struct grove_session *s, struct grove__blobs **out,
			     struct grove_detail *d);
void grove__session_close_blobs(struct grove_session *s);
struct grove__blob_source grove__session_blob_source(struct grove_session *s);
/*
 * Replaces references to blobs in `*value` by what they stand for; the result is
 * in `out` if there were any. GROVE_ENOMEM.
 */
int grove__session_resolve(struct grove_session *s, struct grove_slice *value,
			   struct grove_buf *out, struct grove_detail *d);
/* Turns a line into its stored form. Its blobs are on disk on return. Returns 1 if nothing changes. */
int grove__session_prepare(struct grove_session *s, struct grove_slice line, struct grove_buf *out,
			   struct grove_detail *d);

/* name.c */
/*
 * Names the session. `source` is "user" or "auto". Returns 1 if the user has given it a
 * name, which an automatic one does not replace. out->id is the id of the new entry, or
 * NULL if the name is in the header.
 */
int grove__session_rename(struct grove_session *s, const char *name, const char *source,
			  struct grove_append_result *out, struct grove_detail *d);
/* The name of the log in a session's own memory store. */
#define GROVE__HELD "held.jsonl"
/* forget.c */
int grove__session_forget(struct grove_session *s, const char *id, uint64_t *relinked,
			  struct grove_detail *d);

/* update.c */
int grove__session_update(struct grove_session *s, const char *id, const char *pointer,
			  struct grove_slice value, struct grove_detail *d);

/*
 * Replaces the header, the slot (GROVE_NO_ENTRY for both) or a row by `value`. Returns
 * 1 if replacing one line is not enough and the log has to be rewritten.
 */
int grove__session_update_line(struct grove_session *s, const struct grove__spot *at, uint32_t row,
			       struct grove_slice value, enum grove_change_kind kind,
			       struct grove_detail *d);

/*
 * submit.c: entries that are written later. All of these are called with the
 * session's lock, but for count and close.
 */
/* Queue records to be written after the image's end; *out is where they will be. GROVE_EFULL. */
int grove__submit_put(struct grove_session *s, const struct grove_store_record *rec, size_t nr,
		      enum grove_sync sync, struct grove_store_appended *out, struct grove_detail *d);
/*
 * Returns once everything submitted is written, or the first failure. The image
 * may be gone then: load it.
 */
int grove__submit_drain(struct grove_session *s, struct grove_detail *d);
/* Makes sure that the image can be composed against: drains if others wrote in between. */
int grove__submit_settle(struct grove_session *s, struct grove_detail *d);
/* Returns the number of entries that wait. */
size_t grove__submit_count(const struct grove_session *s);
/* Waits for the rest and ends the thread. */
void grove__submit_close(struct grove_session *s);

/* latch.c */
/* Remembers and reports the first failed write; every later write returns the same error. */
int grove__session_latch(struct grove_session *s, int rc, struct grove_detail *d);
int grove__session_writable(struct grove_session *s, struct grove_detail *d);
/* Called when it is unknown what a failed write stored: every later write is refused and tells why. */
void grove__session_break(struct grove_session *s, const struct grove_detail *d);
/*
 * Called when lines were stored but the log could not be read afterwards: the
 * caller has to open the session again.
 */
int grove__session_lost_sight(struct grove_session *s, struct grove_detail *d);

/*
 * append.c: an append goes through these functions in this order. `json` is `nr`
 * inputs. out->ids[i] is set to the id of the last entry that input i became, or NULL
 * if it has none (`out` and its `ids` may be NULL). All inputs are stored in one write, or none.
 */
/* Takes the lock. On return the entries are as durable as `opt` asks. */
int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* The same, but the entries may be written later (submit.c). */
int grove__session_submit(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* Among the flags of an append: it may be written later. */
#define GROVE__APPEND_LATER (1u << 31)
/* append_group.c: the same for durable appends, of several threads at once. */
int grove__append_grouped(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* This and the following are called with the lock held, and do not sync. */
int grove__append_locked(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, struct grove_append_result *out,
			 struct grove_detail *d);
/* append_split.c: for formats in which one input may become several entries. */
int grove__append_split(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, struct grove_append_result *out,
			struct grove_detail *d);
/* append.c: each input becomes one entry. */
int grove__append_all(struct grove_session *s, const struct grove_slice *json, size_t nr,
		      const struct grove_append_options *opt, struct grove_append_result *out,
		      struct grove_detail *d);
/* Like grove__append_locked(), for an entry that is described by its parts. */
int grove__append_spec(struct grove_session *s, const struct grove__entry_spec *spec,
		       const struct grove_append_options *opt, struct grove_append_result *out,
		       struct grove_detail *d);
/* system.c */
/* An entry being appended. */
struct grove__fresh {
	struct grove_slice line;
	enum grove_kind kind;
	enum grove_role role;
};
/*
 * Gets the system message in force at `leaf` with `nr` entries below it; `out` stays
 * empty if there is none.
 */
int grove__session_system(struct grove_session *s, uint32_t leaf, const struct grove__fresh *fresh,
			  size_t nr, int64_t time, struct grove_buf *out, struct grove_detail *d);
/* append_compose.h has the rest of it. */
void grove__append_batch_free(struct grove__batch *b);
/* append_group.c: returns once everything appended is on disk. Takes the lock. */
int grove__session_sync(struct grove_session *s, struct grove_detail *d);
/*
 * ensure.c: called after GROVE_EEXIST if the session `joins`: continues with the
 * log that another process created. The held lines go below the leaf of that log.
 */
int grove__session_join(struct grove_session *s, struct grove_detail *d);
/* ensure.c: writes a deferred session: the lines it holds, then `more`. */
int grove__session_ensure(struct grove_session *s, const struct grove_store_record *more, size_t nr,
			  enum grove_sync sync, struct grove_detail *d);

/* leaf.c */
int grove__session_set_leaf(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    struct grove_detail *d);
/* With o->summary. */
int grove__session_branch(struct grove_session *s, const char *id, const struct grove_leaf_options *o,
			  struct grove_append_result *out, struct grove_detail *d);
int grove__session_continue(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    enum grove_outcome *outcome, struct grove_buf *content,
			    struct grove_detail *d);
/* resume.c: as grove_session_resume() */
int grove__session_resume(struct grove_session *s, const struct grove_command **out, struct grove_detail *d);

/* Returns the row of an id; GROVE_NO_ENTRY for GROVE_ROOT. GROVE_ENOTFOUND. */
int grove__session_row(struct grove_session *s, const char *id, uint32_t *row,
		       struct grove_detail *d);

/* The same, but refreshes first if the id is unknown: another writer may have appended it. */
int grove__session_find(struct grove_session *s, const char *id, uint32_t *row,
			struct grove_detail *d);

/* kept.c: values that a store has for a session besides its lines */
/* Returns true if the store has room for such values, and the session is stored. */
bool grove__kept_has_values(const struct grove_session *s);
/* Reads the leaf from the store; called after a load or refresh. Returns 1 if it has changed. */
int grove__kept_leaf(struct grove_session *s, struct grove_detail *d);
/* Returns true if values have changed and lines have not. */
bool grove__kept_moved(struct grove_session *s);
/* `exact`: only if the session is as this handle has read it. */
int grove__kept_put_leaf(struct grove_session *s, uint32_t row, bool exact, struct grove_detail *d);
int grove__kept_put_value(struct grove_session *s, const char *name, struct grove_slice value,
		      struct grove_detail *d);
int grove__kept_value(struct grove_session *s, const char *name, struct grove_buf *out,
		      struct grove_detail *d);
/* The same for a log. */
int grove__kept_log_value(struct grove_store_log *log, const char *name, struct grove_buf *out,
			  struct grove_detail *d);
/* Copies the values of hosts from one log to another, unless it has them already. */
int grove__kept_copy(struct grove_store_log *from, struct grove_store_log *to,
		     struct grove_detail *d);
/* Copies the key of a log whose name does not contain it. */
int grove__kept_copy_key(struct grove_store_log *from, struct grove_store_log *to,
			 struct grove_detail *d);
/* The host's value "agentId" */
#define GROVE__META_AGENT GROVE__META_HOST "agentId"

/* rewrite.c, fork.c, move.c */
int grove__session_migrate(struct grove_session *s, struct grove_detail *d);
int grove__session_fork(struct grove_session *s, const struct grove_fork_options *opt,
			struct grove_session *out, struct grove_detail *d);
int grove__session_move(struct grove_session *s, const char *cwd, struct grove_detail *d);
int grove__session_remove(struct grove *g, struct grove__where *at, unsigned flags,
			  struct grove_detail *d);
/*
 * Rewrites the log, passing each value through `fn` (row GROVE_NO_ENTRY: a header),
 * which returns 0 and the new value, or one of these, or an error.
 */
enum {
	GROVE__KEEP = 1,  /* the value stays as it is */
	GROVE__DROP       /* it goes, with its line */
};
typedef int grove__line_edit_fn(void *payload, struct grove_session *s, uint32_t row, bool header,
				struct grove_slice value, struct grove_buf *out);
int grove__session_rewrite(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
			   uint64_t *changed, struct grove_detail *d);
/* The same, and replaces the line of the slot by one of any length. */
int grove__session_rewrite_slot(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
				struct grove_slice slot, uint64_t *changed, struct grove_detail *d);

#endif
