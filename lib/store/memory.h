/*
 * store/memory.h: what the files of the memory store share.
 */
#ifndef GROVE_STORE_MEMORY_H
#define GROVE_STORE_MEMORY_H

#include "store/store.h"
#include "sys/clock.h"

#include <pthread.h>

struct memory_line {
	char *ptr;
	size_t len;
};

struct memory_named {
	struct memory_named *next;
	char *name;
	struct grove_buf bytes;
};

struct memory_change {
	uint64_t rev, lines;
	enum grove_change_kind kind;
	char *id;                /* NULL: none */
};

struct memory_shelf {
	struct memory_shelf *next;
	char *project, *session, *subpath;
	struct memory_line *lines;
	uint64_t nr, cap, bytes, generation, base;
	struct memory_change *changes;
	size_t nr_changes, cap_changes;
	struct memory_named *meta, *attached;
	bool unfinished;         /* the last line has no newline */
	bool removed;            /* from the store: only handles have it */
	int64_t changed;         /* ms: when lines were last changed */
	struct grove_lease lease;
	unsigned refs;           /* one for the store, and one per handle */
};

struct memory_store {
	struct grove_store base;
	pthread_mutex_t lock;
	struct memory_shelf *shelves;
};

struct memory_log {
	struct grove_store_log base;
	struct memory_shelf *shelf;
	uint64_t lease;          /* the number of this handle's lease; 0: none */
	bool writable;
};

static inline struct memory_store *grove__memory_store(struct grove_store *st)
{
	return (struct memory_store *)st;
}

static inline struct memory_log *grove__memory_log(struct grove_store_log *log)
{
	return (struct memory_log *)log;
}

static inline void grove__memory_lock(struct memory_store *m)
{
	pthread_mutex_lock(&m->lock);
}

static inline int grove__memory_unlock(struct memory_store *m, int rc)
{
	pthread_mutex_unlock(&m->lock);
	return rc;
}

/* Call when existing lines have changed. */
static inline void grove__memory_changed(struct memory_shelf *s)
{
	s->generation++;
	s->changed = grove__sys_now_ms();
}

/* memory.c */
/* Makes a line of its own for a record; .ptr is NULL if out of memory. */
struct memory_line grove__memory_line(const struct grove_store_record *rec);
void grove__memory_free_line(struct memory_line *x);

/* memory_feed.c. All are called with the lock held, except the slots. */
/* Checks that this handle may write. */
int grove__memory_may_write(const struct memory_log *log, struct grove_detail *d);
/* Makes room for one more change, so that recording it cannot fail. */
int grove__memory_note_room(struct memory_shelf *s, struct grove_detail *d);
/*
 * Records a change of a log that had `before` lines; takes ownership of `id`, which may
 * be NULL.
 */
void grove__memory_note(struct memory_shelf *s, uint64_t before, enum grove_change_kind kind,
			char *id);
void grove__memory_free_changes(struct memory_shelf *s);

int grove__memory_update(struct grove_store_log *l, uint64_t pos, struct grove_slice was,
			 const struct grove_store_record *rec, enum grove_change_kind kind,
			 enum grove_sync sync, struct grove_detail *d);
int grove__memory_changes(struct grove_store_log *l, uint64_t since, grove_change_fn *fn,
			  void *payload, struct grove_detail *d);
int grove__memory_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
			struct grove_detail *d);
int grove__memory_lease_get(struct grove_store_log *l, struct grove_lease *out,
			    struct grove_detail *d);

#endif
