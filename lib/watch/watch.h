/*
 * watch/watch.h: watching sessions for events.
 *
 *     watched.c      one session: what happened since the last look
 *     watch.c        a set of them: when to look at which, one event after the other
 *     watch_list.c   which sessions appear, change and disappear
 */
#ifndef GROVE_WATCH_WATCH_H
#define GROVE_WATCH_WATCH_H

#include "base/table.h"
#include "session/session.h"
#include "sys/file.h"

/* An event waiting to be reported. */
struct grove__happened {
	uint64_t rev, seq, generation;
	enum grove_event_kind kind;
	uint32_t row;                    /* the entry concerned, or GROVE_NO_ENTRY */
	char *entry_id;                  /* NULL if none */
};

/* What is remembered of a released image: see watched.c. */
struct grove__watched_mark {
	uint64_t base, generation, header_len, name;
	uint32_t rows, sum, header_crc, slot_crc;
	bool has_slot, has_name;
};

struct grove__watch_group;
struct grove__watch_dir;

/* A session in a set. */
struct grove__watched {
	struct grove *g;
	struct grove__where at;
	struct grove_session *s;         /* our own handle; NULL if parked, or if it has to be
	                                    opened again */
	char *session_id;
	struct grove_store_log_stat seen; /* from before the last look */
	uint64_t rev;                    /* reported up to here */
	uint64_t lines;                  /* the same, as lines of the image */
	uint64_t leaf;                   /* a hash of the leaf according to what was reported; 0:
	                                    unknown */
	struct grove__image *image;      /* the image they were reported from; for stores without
	                                    a record of changes */
	struct grove__happened *queue;
	size_t nr, cap, next;
	bool gone;                       /* the session no longer exists, and that was reported */
	bool parked;                     /* the image was released; `mark` describes it */
	bool moved;                      /* it was found elsewhere; the set clears this */
	bool upset;                      /* a look failed half-way, so the next one reports a
	                                    reset */
	struct grove__watched_mark mark;

	/* used by the set: */
	void *tag;
	char *key;                       /* its name; NULL until somebody asks */
	uint64_t told;                   /* the rev of the last event that was delivered */
	struct grove__table_node node;   /* by its directory and name, or by its group and key */
	struct grove__watch_group *group;
	struct grove__watch_dir *dir;    /* files: its directory; NULL if unknown */
	struct grove__log_state file;    /* files: the state before the last look */
	size_t place;                    /* index among all of the set */
	struct grove__watched *next_in_line;            /* in the queue of those to look at, or to
	                                                   report */
	struct grove__watched *warmer, *colder;         /* those with an image, in order of last
	                                                   use */
	uint64_t pass;                   /* the last survey that included it */
	int64_t retry_ns, retry_ms;      /* after a failed look: when to look again; 0 otherwise */
	uint32_t rows;                   /* of the image, while it is kept */
	bool dirty;                      /* has to be looked at */
	bool missing;                    /* nothing had its name */
	bool waiting;                    /* in one of the queues */
	bool warm;
};

/*
 * Begins to watch the session at `at`, and takes ownership of that. `since` is the last rev
 * that the caller saw. If w->session_id is set, the session was known before; it may have
 * moved or be gone, which is then reported. After a failure the caller releases it.
 */
int grove__watched_open(struct grove *g, struct grove__where *at, uint64_t since,
			struct grove__watched *w, struct grove_detail *d);
/* Looks, and queues what happened. Call it when everything queued before was reported. */
int grove__watched_look(struct grove__watched *w, struct grove_detail *d);
/* Finds out under which name it is now. It stays where it was if that is unknown. */
void grove__watched_relocate(struct grove__watched *w);
/* Releases the image until the next look. */
void grove__watched_park(struct grove__watched *w);
void grove__watched_release(struct grove__watched *w);

/* A directory, or a database's file, whose changes the system reports. */
struct grove__watch_dir {
	struct grove__watch_dir *next;
	char *path;                      /* without symbolic links */
	int number;                      /* -1 if changes are not reported, so that we have to
	                                    poll */
	size_t users;
	struct grove__watch_group *list; /* the root whose sessions are listed, or NULL */
};

/* What is polled together: all files, a store, or a root of the list. */
struct grove__watch_group {
	struct grove__watch_group *next;
	struct grove_store *store;       /* NULL for files */
	struct grove__root *root;        /* the root whose sessions are listed, or NULL */
	struct grove__watch_dir *dir;    /* of a database's file, or of the root */
	bool listed;                     /* its current contents are known, so anything else is
	                                    new */
	size_t nr;                       /* number of the set's sessions in it */
	int64_t next_ns;                 /* when to poll again */
	int64_t pause_ms;                /* the length of the last pause */
	int64_t active_ns;               /* when something was last found */
	int64_t checked_ns, took_ns;     /* when we last polled, and how long that took */
	int64_t cost_ns;                 /* what polling costs, as far as we know */
};

/* A session of the list. */
struct grove__watch_listed {
	struct grove__table_node node;
	struct grove__watch_group *group;
	char *project, *session, *id;    /* id is NULL until somebody looks at it */
	struct grove__log_state state;   /* at the last look */
	struct grove__log_state before;  /* when the watch was opened, or grove_watch_before() last called */
	bool had;                        /* it existed then */
	bool cut;                        /* since then, not all of what it had has stayed */
	uint64_t pass;                   /* the last survey that included it */
	enum grove_event_kind kind;      /* what to report */
	bool waiting;
	struct grove__watch_listed *next_in_line;
	struct grove__watch_listed *next, **prev; /* in its group's list, in no particular order */
};

struct grove__watch_line {
	struct grove__watched *first, **last;
};

struct grove_watch {
	struct grove *g;
	unsigned flags;
	int many, dirs, bell, ready, alarm; /* descriptors; -1: none */
	struct grove__watched **all;
	size_t nr, cap;
	struct grove__table by_place;
	struct grove__watch_group *groups;
	struct grove__watch_dir *watched_dirs;
	struct grove__watch_line to_look, to_tell;
	struct grove__watched *warm_first, *warm_last; /* least and most recently used */
	size_t nr_warm;
	uint64_t warm_rows;
	struct grove__watched *last;     /* the session of the last event; NULL if none, or
	                                    removed */
	struct grove__watched *leaving;  /* its end was reported, so the next call frees it */
	size_t nr_failing;
	unsigned turns;                  /* events reported since we last looked for new ones */
	bool rung;                       /* `ready` is readable */
	bool idle;                       /* the last call found nothing */
	int64_t alarm_ns;
	uint64_t pass;
	uint64_t seed;

	struct grove__table listed;
	struct grove__watch_listed *all_listed;
	struct grove__watch_listed *list_first, **list_last; /* to be reported */
	struct grove__watch_listed *list_told; /* the session of the last event, if it is gone */
	struct grove__watch_listed *list_about; /* the session of the last event, if it is of the list */
	bool list_reset;                 /* report first that the list has to be loaded again */
	struct grove_buf key;            /* of the last list event */
	struct grove_detail detail;
};

/* Fills in `w`, which is zeroed. After a failure the caller releases it. */
int grove__watch_open(struct grove *g, const struct grove_watch_options *opt, struct grove_watch *w,
		      struct grove_detail *d);
int grove__watch_add(struct grove_watch *w, struct grove__where *at, uint64_t since, void *tag,
		     struct grove_detail *d);
int grove__watch_remove(struct grove_watch *w, const void *tag, struct grove_detail *d);
/* Returns 0, or 1 if nothing happened. */
int grove__watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d);
int grove__watch_view(struct grove_watch *w, struct grove_view **out, struct grove_detail *d);
int grove__watch_cursor(struct grove_watch *w, struct grove_buf *out, struct grove_detail *d);
void grove__watch_release(struct grove_watch *w);

/*
 * For the files of the set: finds the directory of a path, and has its changes reported if
 * possible.
 */
int grove__watch_dir(struct grove_watch *w, const char *path, struct grove__watch_dir **out);
void grove__watch_dir_unref(struct grove_watch *w, struct grove__watch_dir *dir);
uint64_t grove__watch_hash(const struct grove_watch *w, const void *owner, const char *a,
			   const char *b, const char *c);

/* Looks at a root of files. *found is set if something was new. */
int grove__watch_list_files(struct grove_watch *w, struct grove__watch_group *gr, bool *found,
			    struct grove_detail *d);
/* Called for each log in a survey of the group's store, and at its end. */
int grove__watch_list_saw(struct grove_watch *w, struct grove__watch_group *gr,
			  const struct grove_key *key, const struct grove__log_state *now, bool *found,
			  struct grove_detail *d);
bool grove__watch_list_missed(struct grove_watch *w, struct grove__watch_group *gr);
/* Returns true if there is an event of the list, and reports it. */
bool grove__watch_list_next(struct grove_watch *w, struct grove_event *out);
/* See grove_watch_before(). */
int grove__watch_list_before(struct grove_watch *w, uint64_t *rev, struct grove_detail *d);
void grove__watch_list_release(struct grove_watch *w);

#endif
