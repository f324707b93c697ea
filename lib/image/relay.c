/*
 * image/relay.c: what many rows say, composed by several threads, delivered by one.
 */
#include "image/relay.h"

#include "sys/pool.h"

#define PART_BYTES ((uint64_t)256 << 10)  /* lines of a part: they fit into a processor's own cache */
#define PARTS ((size_t)4)                 /* in memory at once: as many as wait for a slow one, … */
#define HELD_MAX (8 * PART_BYTES)         /* … but no more than one that is longer than this */

struct part {
	struct grove__relay_part p;
	uint64_t bytes;             /* length of its lines */
	bool ready;                 /* composed, with this result */
	int rc;
	struct grove_detail d;
};

struct relay {
	const struct grove__relay *r;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t next;                /* the first row that is in no part yet */
	size_t taken, delivered;    /* parts */
	uint64_t held;              /* bytes of those in between */
	struct part part[PARTS];    /* a ring */
	bool stop;
};

static bool finished(const struct relay *l)
{
	return l->stop || l->next == l->r->nr;
}

/* Returns a part to compose, or NULL if there is none now. Called with the lock held. */
static struct part *take(struct relay *l)
{
	const struct grove__relay *r = l->r;
	size_t first = l->next;
	struct part *part;

	if (finished(l) || l->taken - l->delivered == PARTS || l->held > HELD_MAX)
		return NULL;
	part = &l->part[l->taken++ % PARTS];
	for (part->bytes = 0; l->next < r->nr && part->bytes < PART_BYTES; l->next++)
		part->bytes += grove__spine_len(r->im->spine, r->rows[l->next]);
	l->held += part->bytes;
	part->p.rows = r->rows + first;
	part->p.nr = l->next - first;
	return part;
}

static void compose(struct relay *l, struct part *part)
{
	pthread_mutex_unlock(&l->lock);
	part->rc = l->r->compose(l->r->payload, &part->p, &part->d);
	pthread_mutex_lock(&l->lock);
	part->ready = true;
	pthread_cond_broadcast(&l->moved);
}

static void help(void *payload, unsigned thread)
{
	struct relay *l = payload;
	struct part *part;

	(void)thread;
	pthread_mutex_lock(&l->lock);
	while (!finished(l)) {
		part = take(l);
		if (part)
			compose(l, part);
		else
			pthread_cond_wait(&l->moved, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
}

static int deliver(struct relay *l, struct part *part, struct grove_detail *d)
{
	int rc = part->rc;

	pthread_mutex_unlock(&l->lock);
	if (rc && d)
		*d = part->d;
	if (!rc)
		rc = l->r->deliver(l->r->payload, &part->p);
	if (part->bytes > HELD_MAX)
		grove__buf_release(&part->p.text);
	grove__buf_clear(&part->p.text);
	grove__buf_clear(&part->p.more);
	pthread_mutex_lock(&l->lock);
	l->held -= part->bytes;
	part->ready = false;
	l->delivered++;
	pthread_cond_broadcast(&l->moved);
	return rc;
}

int grove__relay_run(const struct grove__relay *r, struct grove_detail *d)
{
	struct relay l = { .r = r };
	struct grove__pool pool;
	int rc = 0;

	pthread_mutex_init(&l.lock, NULL);
	pthread_cond_init(&l.moved, NULL);
	grove__pool_begin_one(&pool, help, &l);
	pthread_mutex_lock(&l.lock);
	while (!rc && (l.delivered < l.taken || l.next < r->nr)) {
		struct part *part = &l.part[l.delivered % PARTS];

		if (part->ready)
			rc = deliver(&l, part, d);
		else if ((part = take(&l)))
			compose(&l, part);
		else
			pthread_cond_wait(&l.moved, &l.lock);
	}
	l.stop = true;
	pthread_cond_broadcast(&l.moved);
	pthread_mutex_unlock(&l.lock);
	grove__pool_end(&pool);
	for (size_t i = 0; i < PARTS; i++) {
		grove__buf_release(&l.part[i].p.text);
		grove__buf_release(&l.part[i].p.more);
	}
	pthread_mutex_destroy(&l.lock);
	pthread_cond_destroy(&l.moved);
	return rc;
}
