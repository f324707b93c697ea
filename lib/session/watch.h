/*
 * session/watch.h: what happens to sessions, as it happens.
 *
 *     watched.c      one session: what happened since it was looked at last
 *     watch.c        a set of them: when to look at which, one event after the other
 *     watch_list.c   which sessions come, change and go
 */
#ifndef GROVE_SESSION_WATCH_H
#define GROVE_SESSION_WATCH_H

#include "base/table.h"
#include "session/session.h"
#include "sys/file.h"

/* An event that waits to be told. */
struct grove__happened {
	uint64_t rev, seq, generation;
	enum grove_event_kind kind;
	uint32_t row;                    /* of the entry that it is about, or GROVE_NO_ENTRY */
	char *entry_id;                  /* NULL: none */
};

/* What is remembered of an image that was given up: see watched.c. */
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
	struct grove_session *s;         /* a handle of our own; NULL: parked, or to be opened anew */
	char *session_id;
	struct grove_store_log_stat seen; /* taken before we looked last */
	uint64_t rev;                    /* told up to here */
	uint64_t lines;                  /* the same, in lines of the image */
	struct grove__image *image;      /* they were told from; stores without a record of changes */
	struct grove__happened *queue;
	size_t nr, cap, next;
	bool gone;                       /* the session is not there any more; that was told */
	bool parked;                     /* the image was given up, and `mark` tells what it was */
	bool moved;                      /* it was found in another place; for the set to clear */
	bool upset;                      /* a look failed half-way: the next one tells a reset */
	struct grove__watched_mark mark;

	/* the set's: */
	void *tag;
	char *key;                       /* what names it; NULL: not asked for yet */
	uint64_t told;                   /* the rev of the last event that somebody got */
	struct grove__table_node node;   /* by its directory and name, or by its group and key */
	struct grove__watch_group *group;
	struct grove__watch_dir *dir;    /* files: of the directory it is in; NULL: unknown */
	struct grove__sys_stat file;     /* files: before we looked last */
	size_t place;                    /* among all of the set */
	struct grove__watched *next_in_line;            /* of those to look at, or to tell of */
	struct grove__watched *warmer, *colder;         /* those with an image, by when they were used */
	uint64_t pass;                   /* the last survey that had it */
	int64_t retry_ns, retry_ms;      /* a look failed: when to look again; 0: it did not */
	uint32_t rows;                   /* of the image, while it is among the warm */
	bool dirty;                      /* to be looked at */
	bool missing;                    /* there was nothing under its name */
	bool waiting;                    /* in one of the lines */
	bool warm;
};

/*
 * Begin to watch what is at `at`, which is taken. `since` is the rev that was seen
 * last; w->session_id is set if the session is known, and then it may have moved or
 * be gone, which is told. After a failure the caller releases it.
 */
int grove__watched_open(struct grove *g, struct grove__where *at, uint64_t since,
			struct grove__watched *w, struct grove_detail *d);
/* Look, and queue what happened. Everything that was queued has been told. */
int grove__watched_look(struct grove__watched *w, struct grove_detail *d);
/* Find out under which name it is now. It stays where it was if that cannot be told. */
void grove__watched_relocate(struct grove__watched *w);
/* Give up the image until the next look. */
void grove__watched_park(struct grove__watched *w);
void grove__watched_release(struct grove__watched *w);

/* A directory, or a database's file, whose changes the system reports to us. */
struct grove__watch_dir {
	struct grove__watch_dir *next;
	char *path;                      /* without links */
	int number;                      /* -1: it will not be reported, we have to look */
	size_t users;
	struct grove__watch_group *list; /* a root whose sessions are listed, or NULL */
};

/* What is looked at together, in intervals: all files, a store, a root of the list. */
struct grove__watch_group {
	struct grove__watch_group *next;
	struct grove_store *store;       /* NULL: files */
	struct grove__root *root;        /* its sessions are listed; NULL: they are not */
	struct grove__watch_dir *dir;    /* of a database's file, or of the root */
	bool listed;                     /* what is there now is known, so what is new has come */
	size_t nr;                       /* sessions of the set in it */
	int64_t next_ns;                 /* when to look again */
	int64_t pause_ms;                /* how long it was the last time */
	int64_t active_ns;               /* when something was last found */
	int64_t checked_ns, took_ns;     /* when we looked last, and how long that took */
	int64_t cost_ns;                 /* what looking costs, as far as we know */
};

/* A session of the list. */
struct grove__listed {
	struct grove__table_node node;
	struct grove__watch_group *group;
	char *project, *session, *id;    /* id: NULL: not looked at yet */
	uint64_t a, b, c;                /* how far it reached */
	uint64_t pass;                   /* the last survey that had it */
	enum grove_event_kind kind;      /* what is to be told */
	bool waiting;
	struct grove__listed *next_in_line;
	struct grove__listed *next, **prev; /* of its group's, in no order */
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
	struct grove__watched *last;     /* whose event was told last; NULL: nobody's, or removed */
	struct grove__watched *leaving;  /* its end was told: to be freed by the next call */
	size_t nr_failing;
	unsigned turns;                  /* events told since we last asked what is new */
	bool rung;                       /* `ready` can be read from */
	bool idle;                       /* the last call found nothing */
	int64_t alarm_ns;
	uint64_t pass;
	uint64_t seed;

	struct grove__table listed;
	struct grove__listed *all_listed;
	struct grove__listed *list_first, **list_last; /* to be told */
	struct grove__listed *list_told; /* whose event was told last, and which is gone */
	bool list_reset;                 /* to be told first: the list is to be loaded again */
	struct grove_buf key;            /* of the last list event */
	struct grove_detail detail;
};

/* Fills in `w`, which is zero. After a failure the caller releases it. */
int grove__watch_open(struct grove *g, const struct grove_watch_options *opt, struct grove_watch *w,
		      struct grove_detail *d);
int grove__watch_add(struct grove_watch *w, struct grove__where *at, uint64_t since, void *tag,
		     struct grove_detail *d);
int grove__watch_remove(struct grove_watch *w, const void *tag, struct grove_detail *d);
/* 0, or 1: nothing happened. */
int grove__watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d);
int grove__watch_view(struct grove_watch *w, struct grove_view **out, struct grove_detail *d);
int grove__watch_cursor(struct grove_watch *w, struct grove_buf *out, struct grove_detail *d);
void grove__watch_release(struct grove_watch *w);

/* For the files of the set: the directory that a path is in, reported from now on if that can be. */
int grove__watch_dir(struct grove_watch *w, const char *path, struct grove__watch_dir **out);
void grove__watch_dir_unref(struct grove_watch *w, struct grove__watch_dir *dir);
uint64_t grove__watch_hash(const struct grove_watch *w, const void *owner, const char *a,
			   const char *b, const char *c);

/* Look at a root of files. *found: something was new. */
int grove__watch_list_files(struct grove_watch *w, struct grove__watch_group *gr, bool *found,
			    struct grove_detail *d);
/* A survey of the group's store has this log; and it is over. */
int grove__watch_list_saw(struct grove_watch *w, struct grove__watch_group *gr,
			  const struct grove_key *key, const uint64_t how[3], bool *found,
			  struct grove_detail *d);
bool grove__watch_list_missed(struct grove_watch *w, struct grove__watch_group *gr);
/* Is there an event of the list? Then it is told. */
bool grove__watch_list_next(struct grove_watch *w, struct grove_event *out);
void grove__watch_list_release(struct grove_watch *w);

#endif
