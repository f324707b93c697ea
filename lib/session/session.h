/*
 * session/session.h: one dialect joined to one store.
 */
#ifndef GROVE_SESSION_SESSION_H
#define GROVE_SESSION_SESSION_H

#include "world/world.h"

/* What a session used before: views and ids that were handed out may point there. */
struct grove__retired {
	struct grove__image *image;            /* each of them may be NULL */
	struct grove_log *log;
	struct grove_store *store;
};

struct grove_session {
	unsigned refs;                         /* atomic: the handle's, and one a view */
	struct grove *g;
	struct grove__where at;
	unsigned flags;
	pthread_mutex_t lock;                  /* by grove__session_enter() and its kin only */
	uintptr_t inside;                      /* atomic: the thread that has the lock; 0: none */
	struct grove_detail detail;
	struct grove_log *log;
	struct grove__image *image;
	struct grove__retired *retired;
	size_t nr_retired;
	struct grove__labels *labels;          /* NULL: to be made */
	char *id, *cwd, *dir;
	uint64_t migrated;
	unsigned version;                      /* of the log as it was found */
	bool moved;                            /* the leaf was moved in memory … */
	uint32_t leaf;                         /* … to here */
	bool kept;                             /* no, the store says so */
	uint64_t kept_base, kept_tail;         /* of the log when it was last asked; see kept.c */
	const struct grove__image *follows;    /* with this image the rules end at what we wrote last */
	const struct grove__image *ruled;      /* with this image of so many rows … */
	uint32_t ruled_at, ruled_leaf;         /* … the rules end here */
	const char *leaf_id;                   /* the same between two images; in a retired one */
	/*
	 * A live session without a file: its lines are in a log of a memory
	 * store of its own until the first message that starts a file.
	 */
	struct grove_store *held;
	bool joins;                            /* if its log comes to be meanwhile, it is another's beginning of it */
	struct grove__batch *batch;            /* of append_compose.c; NULL until the first one */
	struct grove__append_group *queued;     /* of append_group.c: appends that wait; atomic */
	bool in_memory;                        /* and they stay there */
	const struct grove__about *stamp;      /* what a host wants its entries to say; NULL: nothing */
	uint64_t restated_at;                  /* bytes of the log when its tail was last seen to */
	char *owner;                           /* of a sub-agent's log; NULL: itself */
	struct grove__subagents_group *groups;     /* of sub-agents, as the caller says; see subagents.c */
	char *written_by, *branch;             /* for logs whose entries tell it; NULL: to be found */
	int64_t branch_at;                     /* when that was, ms */
	bool broken;                           /* a write ended in the unknown */
	struct grove_detail *latch;            /* the first failure to write, where it is the last */
	pthread_mutex_t blobs_lock;
	struct grove__blobs *blobs;            /* NULL: not asked for yet */
	struct grove__blobs *blobs_beside;     /* of a copied tree; NULL: none */
	bool noted;                            /* the store, beside the blobs that were put for it */
};

struct grove_view {
	unsigned refs;
	struct grove_session *session;
	struct grove__image *image;
	struct grove_log *log;                 /* the session's at that moment */
	struct grove__labels *labels;
	uint64_t tail, generation;             /* of the log, then */
	uint32_t nr;
	uint32_t leaf;                         /* once it is asked for, where rules find it */
	bool has_leaf, moved;
	uint64_t rev;
	const char *name;
	struct grove_counts counts;
	pthread_mutex_t lock;
	struct grove_detail detail;
	pthread_mutex_t near_lock;
	struct grove__near near;               /* for whoever has its lock */
};

/* subagents.c */
int grove__subagents_list(struct grove_session *s, grove_agent_fn *fn, void *payload,
		       struct grove_detail *d);
int grove__subagents_get(struct grove_session *s, const char *id, bool remote, struct grove_buf *out,
		     struct grove_detail *d);
int grove__subagents_put(struct grove_session *s, const char *id, bool remote, struct grove_slice json,
		     struct grove_detail *d);
/* Where the agent's files go if it has none yet. Empty: into no group. */
int grove__subagents_set_group(struct grove_session *s, const char *id, const char *group,
			   struct grove_detail *d);
/* Where its log is, or is to be. GROVE_ENOTSUP where there are no paths. */
int grove__subagents_path(struct grove_session *s, const char *id, struct grove_buf *out,
		      struct grove_detail *d);
int grove__subagents_remote(struct grove_session *s, grove_remote_agent_fn *fn, void *payload,
			 struct grove_detail *d);
void grove__subagents_groups_free(struct grove__subagents_group *g);


/*
 * open.c: a call on a session holds its lock, and a callback runs in the middle
 * of such a call. Were it to call its own session it would wait for itself, so
 * grove__session_enter() answers GROVE_EINVAL there, as it does for a handle that
 * a failed open left behind. After 0 the caller unlocks.
 */
int grove__session_enter(struct grove_session *s, struct grove_detail *d);
void grove__session_lock(struct grove_session *s);
void grove__session_unlock(struct grove_session *s);
/* Is this thread in the middle of a call on the session already? */
bool grove__session_inside(const struct grove_session *s);
int grove__session_open(struct grove *g, struct grove__where *at, unsigned flags,
			struct grove_session *s, struct grove_detail *d);
int grove__session_new(struct grove *g, const struct grove_new_options *opt,
		       struct grove_session *s, struct grove_detail *d);
/* A name as it is kept; GROVE_EINVAL if nothing is left of it. */
int grove__session_clean_name(const struct grove__dialect *dialect, const char *name,
			      struct grove_buf *out, struct grove_detail *d);
struct grove_session *grove__session_alloc(struct grove *g);
void grove__session_unref(struct grove_session *s);
/* Make sure that the image is there. With the lock held. */
int grove__session_load(struct grove_session *s, struct grove_detail *d);
/* The terminal notes it as its last session, where its agent does so. Failures are ignored. */
void grove__session_note_last(struct grove_session *s);
/* Take in growth; a new image where the old one does not do. 1: something changed. */
int grove__session_refresh(struct grove_session *s, struct grove_detail *d);
/* The working directory as the image tells it: entries that came may have said it. GROVE_ENOMEM. */
int grove__session_take_cwd(struct grove_session *s);
/* Give up the present image; the next one is loaded when it is asked for. */
int grove__session_retire(struct grove_session *s);
/* Go over to another log; the image goes as well, and the store that held a deferred session. */
int grove__session_change_log(struct grove_session *s, struct grove_log *log);
/*
 * Close earlier logs that nobody reads any more: a file that we have open
 * twice looks as if somebody else was writing to it.
 */
void grove__session_close_old(struct grove_session *s);
/* The row that the next append goes below; GROVE_NONE: a root. */
uint32_t grove__session_leaf_row(struct grove_session *s);
/* Is it a sub-agent's own log? */
bool grove__session_own_file(const struct grove_session *s);
/* Where a new session of that cwd goes; fills everything but the dialect. */
/* Lines that wait in memory, or stay there: give the session a store and a log of its own. */
int grove__session_hold(struct grove_session *s, struct grove_detail *d);
int grove__session_place(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
			 const char *dir, int64_t time, const char *id, struct grove__where *out,
			 struct grove_detail *d);

/* about.c */
/* What the session's entries have to say about it; good until the next call. */
int grove__session_about(struct grove_session *s, struct grove__about *out, struct grove_detail *d);

/* blobs.c */
struct grove__blobs;
struct grove__blob_sinking {
	struct grove_session *session;
	struct grove_detail *d;
};
/* Where its agent keeps blobs; *out is NULL for one that has none. */
int grove__session_blobs(struct grove_session *s, struct grove__blobs **out,
			 struct grove_detail *d);
/* The same to put some there: a database is noted as one whose sessions name them. */
int grove__session_blobs_for(struct grove_session *s, struct grove__blobs **out,
			     struct grove_detail *d);
void grove__session_close_blobs(struct grove_session *s);
struct grove__blob_source grove__session_blob_source(struct grove_session *s);
/*
 * `*value` with what its references to blobs stand for: in `out` then, which is
 * replaced. GROVE_ENOMEM.
 */
int grove__session_resolve(struct grove_session *s, struct grove_slice *value,
			   struct grove_buf *out, struct grove_detail *d);
/* A line as it is stored; what goes into blobs is on the disk then. 1: as it is. */
int grove__session_prepare(struct grove_session *s, struct grove_slice line, struct grove_buf *out,
			   struct grove_detail *d);

/* name.c */
/*
 * Name the session. `source` is "user" or "auto"; a name that the user gave is
 * not replaced by an automatic one: *applied tells (may be NULL). *id is that
 * of the entry that says so, NULL where the header does.
 */
int grove__session_rename(struct grove_session *s, const char *name, const char *source,
			  bool *applied, const char **id, struct grove_detail *d);
/* artifact.c */
/* The name of the log in a session's own memory store. */
#define GROVE__HELD "held.jsonl"
int grove__artifact_save(struct grove_session *s, const char *tool, struct grove_slice bytes,
			 uint64_t *id, struct grove_buf *path, struct grove_detail *d);
/* Its bytes and its path; each may be NULL. */
int grove__artifact_get(struct grove_session *s, uint64_t id, struct grove_buf *bytes,
			struct grove_buf *path, struct grove_detail *d);
int grove__artifact_list(struct grove_session *s, grove_artifact_fn *fn, void *payload,
			 struct grove_detail *d);
/* record.c */
int grove__session_record(struct grove_session *s, const struct grove_slice *messages, size_t nr,
			  const struct grove_record_options *opt, const char **last,
			  struct grove_detail *d);
/* Write once more what has to stay near the end of the log; *written counts lines. */
int grove__session_restate(struct grove_session *s, size_t *written, struct grove_detail *d);

/* forget.c */
int grove__session_forget(struct grove_session *s, const char *id, uint64_t *relinked,
			  struct grove_detail *d);

/* update.c */
int grove__session_rewrite_entries(struct grove_session *s, grove_edit_fn *fn, void *payload,
				   uint64_t *changed, struct grove_detail *d);
int grove__session_update(struct grove_session *s, const char *id, const char *pointer,
			  struct grove_slice value, struct grove_detail *d);

/*
 * The header, the slot (GROVE_NONE for both) or a row, with `value` in the place
 * of what is there. 1: it cannot be done by one line, the log has to be rewritten.
 */
int grove__session_update_line(struct grove_session *s, const struct grove__spot *at, uint32_t row,
			       struct grove_slice value, enum grove_change_kind kind,
			       struct grove_detail *d);

/* latch.c */
/* The first failure to write is kept and told; every later write gets it. */
int grove__session_latch(struct grove_session *s, int rc, struct grove_detail *d);
int grove__session_writable(struct grove_session *s, struct grove_detail *d);
/*
 * The lines are in the log, but we cannot tell what it looks like now: the
 * caller has to open the session anew.
 */
int grove__session_lost_sight(struct grove_session *s, struct grove_detail *d);

/*
 * append.c: an append goes through these, the first one first. `json` are `nr`
 * inputs; ids[i] becomes the id of the last entry that input i became, or NULL if
 * it has none (`ids` may be NULL). All of them are stored in one write, or none.
 */
/* Takes the lock; on return as durable as `opt` asks. */
int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, const char **ids,
			  struct grove_detail *d);
/* append_group.c: the same for those who wait for the disk, several threads at once. */
int grove__append_grouped(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, const char **ids,
			  struct grove_detail *d);
/* With the lock held, as all that follow; no sync. */
int grove__append_locked(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, const char **ids,
			 struct grove_detail *d);
/* append_split.c: what the inputs become, where one may become several entries. */
int grove__append_split(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, const char **ids,
			struct grove_detail *d);
/* append.c: each input is one entry. */
int grove__append_all(struct grove_session *s, const struct grove_slice *json, size_t nr,
		      const struct grove_append_options *opt, const char **ids,
		      struct grove_detail *d);
/* An entry that is described by its parts, as grove__append_locked(). */
int grove__append_spec(struct grove_session *s, const struct grove__entry_spec *spec,
		       const struct grove_append_options *opt, const char **id,
		       struct grove_detail *d);
/* append_compose.h has the rest of it. */
void grove__append_batch_free(struct grove__batch *b);
/* append_group.c: what was appended is on the disk when it returns. Takes the lock. */
int grove__session_sync(struct grove_session *s, struct grove_detail *d);
/*
 * ensure.c: after GROVE_EEXIST of a session that `joins`: go on with the log that
 * another began under its name. What was held goes below that log's leaf.
 */
int grove__session_join(struct grove_session *s, struct grove_detail *d);
/* ensure.c: write a deferred session, with `more` lines behind what it holds. */
int grove__session_ensure(struct grove_session *s, const struct grove_record *more, size_t nr,
			  enum grove_sync sync, struct grove_detail *d);

/* leaf.c */
int grove__session_set_leaf(struct grove_session *s, const char *id, unsigned flags,
			    struct grove_detail *d);
int grove__session_branch(struct grove_session *s, const char *id,
			  const struct grove_branch_summary *b, const char **summary_id,
			  struct grove_detail *d);
int grove__session_continue(struct grove_session *s, const char *id, unsigned flags,
			    enum grove_outcome *outcome, struct grove_buf *content,
			    struct grove_detail *d);
/* The row of an id, or GROVE_ROOT: GROVE_NONE. GROVE_ENOTFOUND. */
int grove__session_row(struct grove_session *s, const char *id, uint32_t *row,
		       struct grove_detail *d);

/* The same; what another writer has just appended is there, too. */
int grove__session_find(struct grove_session *s, const char *id, uint32_t *row,
			struct grove_detail *d);

/* kept.c: what a store keeps for a session besides its lines */
/* Has the store a place for values that lasts? */
bool grove__kept_has_values(const struct grove_session *s);
/* The leaf that the store keeps, after the image was loaded or refreshed. 1: it is another now. */
int grove__kept_leaf(struct grove_session *s, struct grove_detail *d);
/* Did what is kept change, and nothing else? */
bool grove__kept_moved(struct grove_session *s);
int grove__kept_put_leaf(struct grove_session *s, uint32_t row, struct grove_detail *d);
int grove__kept_put_value(struct grove_session *s, const char *name, struct grove_slice value,
		      struct grove_detail *d);
int grove__kept_value(struct grove_session *s, const char *name, struct grove_buf *out,
		      struct grove_detail *d);
/* What hosts keep in one log, in another one as well, unless that has it already. */
int grove__kept_copy(struct grove_log *from, struct grove_log *to, struct grove_detail *d);
/* What hosts may have kept, the last one NULL; stored as "host.NAME". */
#define GROVE__META_AGENT GROVE__META_HOST "agentId"
extern const char *const grove__kept_names[];

/* migrate.c, fork.c, move.c, remove.c */
int grove__session_migrate(struct grove_session *s, struct grove_detail *d);
int grove__session_fork(struct grove_session *s, const struct grove_fork_options *opt,
			struct grove_session *out, struct grove_detail *d);
int grove__session_move(struct grove_session *s, const char *cwd, struct grove_detail *d);
int grove__session_remove(struct grove *g, struct grove__where *at, unsigned flags,
			  struct grove_detail *d);
/*
 * Rewrite the log with each value passed through `fn` (row GROVE_NONE: a
 * header): 0 and what takes its place; 1: it stays; GROVE__DROP: it goes, and
 * its line with it.
 */
#define GROVE__DROP 2
typedef int grove__line_edit_fn(void *payload, struct grove_session *s, uint32_t row, bool header,
				struct grove_slice value, struct grove_buf *out);
int grove__session_rewrite(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
			   uint64_t *changed, struct grove_detail *d);
/* The same, with another line in the place of the slot's, of any length. */
int grove__session_rewrite_slot(struct grove_session *s, grove__line_edit_fn *fn, void *payload,
				struct grove_slice slot, uint64_t *changed, struct grove_detail *d);

/* view.c */
/* GROVE_ENOMEM: it is not known, which is not the same as none. */
int grove__view_leaf(struct grove_view *v, uint32_t *leaf);
/* What the spine knows of a row; no label. */
void grove__view_row(const struct grove__spine *sp, uint32_t row, struct grove_entry *out);
int grove__view_new(struct grove_session *s, struct grove_view **out, struct grove_detail *d);

/* upward.c: from a leaf to its root, as grove_session_path_up() says */
int grove__session_path_up(struct grove_session *s, const char *leaf, grove_path_fn *fn,
			   void *payload, struct grove_detail *d);
/* tail.c: the same, from as little of the log as will do */
int grove__session_context(struct grove_session *s, const struct grove_context_options *opt,
			   struct grove_sink sink, struct grove_detail *d);
/* context.c, document.c */
int grove__view_context(struct grove_view *v, const struct grove_context_options *opt,
			struct grove_sink sink, struct grove_detail *d);
/* An entry on its way to the log. */
struct grove__fresh {
	struct grove_slice line;
	enum grove_kind kind;
	enum grove_role role;
};
/* The system message in force at `leaf` with `nr` entries below it; `out` stays empty if there is none. */
int grove__context_system(struct grove_session *s, uint32_t leaf, const struct grove__fresh *fresh,
			  size_t nr, int64_t time, struct grove_buf *out, struct grove_detail *d);
/* One entry's line; `flags` as in grove_view_line(). */
int grove__view_line(struct grove_view *v, uint32_t row, unsigned flags, struct grove_buf *out,
		     struct grove_detail *d);
int grove__view_log(struct grove_view *v, bool blobs, struct grove_sink sink,
		    struct grove_detail *d);
int grove__view_raw(struct grove_view *v, struct grove_sink sink, struct grove_detail *d);
/* `flags`: enum grove_tree_flags */
int grove__view_tree(struct grove_view *v, unsigned flags, struct grove_sink sink,
		     struct grove_detail *d);

/* check.c */
int grove__check(struct grove *g, struct grove__where *at, grove_problem_fn *fn, void *payload,
		 struct grove_check_result *result, struct grove_detail *d);

#endif
