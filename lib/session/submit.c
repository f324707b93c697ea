/*
 * session/submit.c: entries that are written later (grove_session_submit()).
 *
 * A submitted entry is composed and added to the image at once, at the position that its
 * line will have if nobody else writes. The line itself waits in a queue. One thread of the
 * session writes the queue in order, with all that is waiting in one append:
 *
 *     submit a, b, c      image  … a b c        queue  a b c
 *     the thread          append a b c after what the log has
 *
 * Nothing else may look at the log in the meantime: every other call on the session waits
 * until the queue is empty (grove__session_enter()), and so does anything that must read a
 * submitted line.
 *
 * If others wrote in between, our lines come after theirs, still below the parents they
 * were given. They are then `displaced`: the image has them elsewhere, and is discarded
 * before anybody uses it.
 *
 * The first failure is permanent, because everything composed since is below lines that
 * were not stored. The thread ends after a while without work.
 */
#include "session/append.h"

#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <stdlib.h>
#include <time.h>

#define QUEUE_MAX ((size_t)64 << 20)
#define BATCH_MAX ((size_t)4 << 20)
#define LINGER_MS 200

/* One line, with its columns for the store. Its texts follow it. */
struct queued {
	struct queued *next;
	struct grove_store_record rec;
	size_t cost;
	enum grove_sync sync;
	char texts[];
};

struct grove__submit_queue {
	pthread_mutex_t lock;
	pthread_cond_t more, done;       /* there is something to write; something was written */
	struct queued *first, **last;
	size_t nr, bytes;                /* queued, and those that are being written */
	bool running, stop;
	bool joinable;                   /* a thread was started and not joined */
	pthread_t thread;
	int64_t pid;                     /* of the process whose thread it is */
	struct grove_store_log *log;     /* where it writes */
	uint64_t at;                     /* its tail, as far as we know; while there is work only the thread uses it */
	bool strict;                     /* fail if others have written */
	bool displaced;                  /* lines are not where the image has them */
	int rc;                          /* the first failure … */
	struct grove_detail why;         /* … and its detail */
	bool told;                       /* the failure was reported */
};

/* ---------------------------------------------------------------- the thread */

/* Finds the end of a log that has changed since we looked. Returns 1 if it has not changed. */
static int look_again(struct grove__submit_queue *b, bool *displaced, struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(b->log, &st, d);

	if (rc)
		return rc;
	if (st.tail == b->at)
		return 1;
	b->at = st.tail;
	*displaced = true;
	return 0;
}

/* Appends to the log, whatever it contains by now. The lock is not held. */
static int write_records(struct grove__submit_queue *b, const struct grove_store_record *rec, size_t nr,
			 enum grove_sync sync, bool *displaced, struct grove_detail *d)
{
	struct grove_store_appended out;
	unsigned same = 0;
	int rc;

	for (;;) {
		rc = grove__log_append(b->log, rec, nr, b->at, sync, &out, d);
		if (rc != GROVE_ECONFLICT || b->strict)
			break;
		rc = look_again(b, displaced, d);
		/* a conflict, although the end has not changed: somebody else holds the lease */
		if (rc < 0 || (rc && ++same == 2)) {
			rc = rc < 0 ? rc : GROVE_ECONFLICT;
			break;
		}
	}
	if (rc)
		return rc;
	*displaced |= out.pos != b->at;
	b->at = out.tail;
	return 0;
}

/* Takes the first lines off the queue, about as many bytes as one append should have. */
static struct queued *take_some(struct grove__submit_queue *b, size_t *nr, enum grove_sync *sync)
{
	struct queued *list = b->first, **end = &b->first;
	size_t bytes = 0;

	*sync = GROVE_SYNC_NONE;
	for (*nr = 0; *end && (!*nr || bytes + (*end)->cost <= BATCH_MAX); end = &(*end)->next, ++*nr) {
		bytes += (*end)->cost;
		*sync = (*end)->sync > *sync ? (*end)->sync : *sync;
	}
	b->first = *end;
	if (!b->first)
		b->last = &b->first;
	*end = NULL;
	return list;
}

static int write_list(struct grove__submit_queue *b, const struct queued *list, size_t nr, enum grove_sync sync,
		      bool *displaced, struct grove_detail *d)
{
	struct grove_store_record *rec = calloc(nr, sizeof(*rec));
	size_t i = 0;
	int rc;

	if (!rec)
		return grove__fail_nomem(d);
	for (const struct queued *q = list; q; q = q->next)
		rec[i++] = q->rec;
	rc = write_records(b, rec, nr, sync, displaced, d);
	free(rec);
	return rc;
}

static void drop(struct grove__submit_queue *b, struct queued *list)
{
	struct queued *next;

	for (; list; list = next) {
		next = list->next;
		b->nr--;
		b->bytes -= list->cost;
		free(list);
	}
}

static void write_some(struct grove__submit_queue *b)
{
	struct grove_detail why;
	enum grove_sync sync;
	struct queued *list;
	bool displaced = false;
	size_t nr;
	int rc;

	list = take_some(b, &nr, &sync);
	pthread_mutex_unlock(&b->lock);
	grove__fail_clear(&why);
	rc = write_list(b, list, nr, sync, &displaced, &why);
	pthread_mutex_lock(&b->lock);
	b->displaced |= displaced;
	drop(b, list);
	if (rc) {
		b->rc = rc;
		b->why = why;
		b->why.code = rc;
		/* what follows is below lines that were not stored */
		drop(b, b->first);
		b->first = NULL;
		b->last = &b->first;
	}
	pthread_cond_broadcast(&b->done);
}

/* Waits for more. Returns false if there was nothing for a while. */
static bool wait_for_more(struct grove__submit_queue *b)
{
	int64_t until = grove__sys_ticks_ns() + (int64_t)LINGER_MS * 1000000;
	struct timespec at = { .tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000) };

	while (!b->first && !b->stop)
		if (pthread_cond_timedwait(&b->more, &b->lock, &at))
			break;
	return b->first;
}

static void *writer(void *payload)
{
	struct grove__submit_queue *b = payload;

	pthread_mutex_lock(&b->lock);
	while (wait_for_more(b))
		write_some(b);
	b->running = false;
	pthread_cond_broadcast(&b->done);
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* ------------------------------------------------------------------ the queue */

static struct grove__submit_queue *make(struct grove_session *s)
{
	struct grove__submit_queue *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	grove__pool_cond_init(&b->more);
	pthread_cond_init(&b->done, NULL);
	b->last = &b->first;
	b->strict = s->flags & GROVE_OPEN_STRICT;
	b->pid = grove__sys_pid();
	return b;
}

/* Only the process that submitted has the thread. */
static bool is_ours(const struct grove__submit_queue *b)
{
	return b->pid == grove__sys_pid();
}

/* The lock is held. */
static int start_writer(struct grove__submit_queue *b, struct grove_detail *d)
{
	int rc;

	if (b->running)
		return 0;
	if (b->joinable)
		pthread_join(b->thread, NULL);
	b->joinable = false;
	rc = grove__pool_thread(&b->thread, writer, b);
	if (rc)
		return grove__fail_sys(d, rc, NULL, "cannot start a thread");
	b->running = b->joinable = true;
	return 0;
}

static char *copy_text(char *at, struct grove_slice *text)
{
	if (!text->len)
		return at;
	memcpy(at, text->ptr, text->len);
	text->ptr = at;
	return at + text->len;
}

static struct queued *copy_record(const struct grove_store_record *rec, enum grove_sync sync)
{
	/* and a NUL, since stores expect texts to end in one as those of a buffer do */
	size_t cost = sizeof(struct queued) + rec->line.len + rec->id.len + rec->parent.len + 1;
	struct queued *q = malloc(cost);
	char *at;

	if (!q)
		return NULL;
	q->next = NULL;
	q->rec = *rec;
	q->cost = cost;
	q->sync = sync;
	at = copy_text(q->texts, &q->rec.line);
	at = copy_text(at, &q->rec.id);
	at = copy_text(at, &q->rec.parent);
	*at = '\0';
	return q;
}

static void free_list(struct queued *list)
{
	struct queued *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}

/* Copies records, in order. */
struct copies {
	struct queued *first, **last;
	size_t nr, bytes;
};

static int copy_all(const struct grove_store_record *rec, size_t nr, enum grove_sync sync, struct copies *c)
{
	*c = (struct copies){ .last = &c->first };
	for (; c->nr < nr; c->nr++) {
		struct queued *q = copy_record(&rec[c->nr], sync);

		if (!q) {
			free_list(c->first);
			return GROVE_ENOMEM;
		}
		*c->last = q;
		c->last = &q->next;
		c->bytes += q->cost;
	}
	return 0;
}

/* Returns the first failure. The queue's lock is held. */
static int failure(struct grove__submit_queue *b, struct grove_detail *d)
{
	if (d)
		*d = b->why;
	b->told = true;
	return b->rc;
}

static int not_ours(const struct grove_session *s, struct grove_detail *d)
{
	return grove__fail(d, GROVE_EINVAL, s->at.path,
			   "entries were submitted by the process that this one was forked from");
}

static int enqueue(struct grove__submit_queue *b, struct grove_session *s, const struct copies *c,
		   struct grove_detail *d)
{
	int rc = b->rc ? failure(b, d) : 0;

	if (!rc && b->nr && b->bytes + c->bytes > QUEUE_MAX)
		rc = grove__fail(d, GROVE_EFULL, s->at.path,
				 "%zu entries wait to be written already (wait for them, or write less)", b->nr);
	if (!rc)
		rc = start_writer(b, d);
	if (rc)
		return rc;
	/* nobody is writing: the log ends where the image does */
	if (!b->nr) {
		b->log = s->log;
		b->at = s->image->tail;
	}
	*b->last = c->first;
	b->last = c->last;
	b->nr += c->nr;
	b->bytes += c->bytes;
	pthread_cond_signal(&b->more);
	return 0;
}

int grove__submit_put(struct grove_session *s, const struct grove_store_record *rec, size_t nr,
		      enum grove_sync sync, struct grove_store_appended *out, struct grove_detail *d)
{
	struct copies c;
	int rc;

	if (!s->writing.queue)
		s->writing.queue = make(s);
	if (!s->writing.queue || copy_all(rec, nr, sync, &c))
		return grove__fail_nomem(d);
	pthread_mutex_lock(&s->writing.queue->lock);
	rc = enqueue(s->writing.queue, s, &c, d);
	pthread_mutex_unlock(&s->writing.queue->lock);
	if (rc) {
		free_list(c.first);
		return rc;
	}
	*out = (struct grove_store_appended){ .pos = s->image->tail, .tail = s->image->tail };
	for (size_t i = 0; i < nr; i++)
		out->tail += s->image->by_line ? 1 : rec[i].line.len + 1;
	return 0;
}

/* Called when lines are not where the image has them. The lock of the session is held. */
static int forget_places(struct grove_session *s, struct grove_detail *d)
{
	pthread_mutex_lock(&s->writing.queue->lock);
	s->writing.queue->displaced = false;
	pthread_mutex_unlock(&s->writing.queue->lock);
	s->writing.new_image = true;
	s->leaf.append = NULL;
	return grove__session_retire(s) ? grove__fail_nomem(d) : 0;
}

int grove__submit_drain(struct grove_session *s, struct grove_detail *d)
{
	struct grove__submit_queue *b = s->writing.queue;
	bool displaced;
	int rc;

	if (!b)
		return 0;
	if (!is_ours(b))
		return not_ours(s, d);
	pthread_mutex_lock(&b->lock);
	while (b->nr)
		pthread_cond_wait(&b->done, &b->lock);
	rc = b->rc ? failure(b, d) : 0;
	displaced = b->displaced;
	pthread_mutex_unlock(&b->lock);
	if (rc)
		return grove__session_latch(s, rc, d);
	return displaced ? forget_places(s, d) : 0;
}

int grove__submit_settle(struct grove_session *s, struct grove_detail *d)
{
	struct grove__submit_queue *b = s->writing.queue;
	bool displaced;

	if (!b)
		return 0;
	if (!is_ours(b))
		return not_ours(s, d);
	pthread_mutex_lock(&b->lock);
	displaced = b->displaced || b->rc;
	pthread_mutex_unlock(&b->lock);
	/* an entry composed against an image with wrong positions would be misplaced too */
	return displaced ? grove__submit_drain(s, d) : 0;
}

size_t grove__submit_count(const struct grove_session *s)
{
	struct grove__submit_queue *b = s->writing.queue;
	size_t nr;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	nr = b->nr;
	pthread_mutex_unlock(&b->lock);
	return nr;
}

void grove__submit_close(struct grove_session *s)
{
	struct grove__submit_queue *b = s->writing.queue;

	if (!b)
		return;
	s->writing.queue = NULL;
	/* a child process does not have the thread, and must not write what its parent submitted */
	if (is_ours(b)) {
		pthread_mutex_lock(&b->lock);
		b->stop = true;
		pthread_cond_broadcast(&b->more);
		pthread_mutex_unlock(&b->lock);
		if (b->joinable)
			pthread_join(b->thread, NULL);
		if (b->rc && !b->told && s->g->warn)
			s->g->warn(s->g->warn_payload, GROVE_SEVERITY_FATAL, &b->why);
		pthread_cond_destroy(&b->more);
		pthread_cond_destroy(&b->done);
		pthread_mutex_destroy(&b->lock);
	}
	free_list(b->first);
	free(b);
}
