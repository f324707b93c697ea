/*
 * storage/queue.c: calls for later.
 *
 * Each storage has one queue and one thread, which starts with the first call. A job is one
 * block of memory: the call, followed by the strings and bytes that it points to.
 *
 * Jobs are numbered. `performed` counts those whose work is done: a writer that is used
 * directly waits for its own. `finished` counts those whose completion has returned, which
 * is what drain waits for.
 */
#include "storage/storage.h"

#include "sys/pool.h"

#include <assert.h>
#include <stdlib.h>

struct grove__storage_job {
	struct grove__storage_job *next;
	struct grove_storage_call call;
	struct grove_writer_options options;
	struct grove_title title;
	struct grove_writer *held;      /* a reference, so that it outlives the job */
	grove_storage_done_fn *done;
	void *payload;
	size_t cost;
	char copies[];
};

bool grove__storage_inside(const struct grove_storage *st)
{
	return st->running && pthread_equal(st->thread, pthread_self());
}

static const char *copy(char **at, const void *ptr, size_t len)
{
	char *to = *at;

	if (len)
		memcpy(to, ptr, len);
	*at += len;
	return to;
}

static size_t room_for(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
	return text ? copy(at, text, strlen(text) + 1) : NULL;
}

static struct grove__storage_job *make_job(const struct grove_storage_call *c)
{
	struct grove_title title = { .size = sizeof(title) };
	struct grove__storage_job *j;
	size_t cost;
	char *at;

	/* one with a wrong size is refused when its turn comes */
	if (c->title && grove__sized_take(&title, sizeof(title), c->title, NULL))
		title.size = 0;
	cost = sizeof(struct grove__storage_job) + room_for(c->path) + room_for(c->path2) + c->bytes.len +
	       room_for(title.text) + room_for(title.source) + room_for(title.updated);
	j = malloc(cost);

	if (!j)
		return NULL;
	memset(j, 0, sizeof(*j));
	at = j->copies;
	j->cost = cost;
	j->call.size = sizeof(j->call);
	j->call.op = c->op;
	j->call.max = c->max;
	j->call.max_tail = c->max_tail;
	j->call.expect_bytes = c->expect_bytes;
	j->call.path = copy_text(&at, c->path);
	j->call.path2 = copy_text(&at, c->path2);
	if (c->title) {
		j->title = (struct grove_title){ title.size, copy_text(&at, title.text), copy_text(&at, title.source),
						 copy_text(&at, title.updated) };
		j->call.title = &j->title;
	}
	j->call.bytes = grove__slice(copy(&at, c->bytes.ptr, c->bytes.len), c->bytes.len);
	if (c->options) {
		grove__sized_take(&j->options, sizeof(j->options), c->options, NULL);
		j->call.options = &j->options;
	}
	/* an opened writer is a result, not an argument */
	if (c->op != GROVE_STORAGE_OPEN_WRITER && c->writer) {
		j->call.writer = j->held = c->writer;
		grove__writer_ref(j->held);
	}
	return j;
}

static void free_job(struct grove__storage_job *j)
{
	grove__buf_release(&j->call.text);
	grove__buf_release(&j->call.text_tail);
	free(j->call.paths);
	if (j->held)
		grove__writer_unref(j->held);
	free(j);
}

static void perform(struct grove_storage *st, struct grove__storage_job *j)
{
	struct grove_detail d;
	int rc;

	grove__fail_clear(&d);
	rc = grove__storage_told(st, grove__storage_perform(st, &j->call, &d), &d);
	j->call.result = rc;
	pthread_mutex_lock(&st->lock);
	st->performed++;
	pthread_cond_broadcast(&st->settled);
	pthread_mutex_unlock(&st->lock);
	if (!j->done)
		return;
	j->call.detail = rc < 0 ? &d : NULL;
	j->done(j->payload, &j->call);
}

static void *work(void *payload)
{
	struct grove_storage *st = payload;
	struct grove__storage_job *j;

	pthread_mutex_lock(&st->lock);
	for (;;) {
		while (!st->head && !st->closing)
			pthread_cond_wait(&st->wake, &st->lock);
		j = st->head;
		if (!j)
			break;
		st->head = j->next;
		if (!st->head)
			st->tail = &st->head;
		pthread_mutex_unlock(&st->lock);
		perform(st, j);
		pthread_mutex_lock(&st->lock);
		st->waiting -= j->cost;
		pthread_mutex_unlock(&st->lock);
		free_job(j);
		pthread_mutex_lock(&st->lock);
		st->finished++;
		pthread_cond_broadcast(&st->settled);
	}
	pthread_mutex_unlock(&st->lock);
	return NULL;
}

/* Needs the lock. */
static int start(struct grove_storage *st, struct grove_detail *d)
{
	int rc = st->running ? 0 : grove__pool_thread(&st->thread, work, st);

	if (rc)
		return grove__fail_sys(d, rc, NULL, "cannot start a thread");
	st->running = true;
	return 0;
}

int grove_storage_submit(struct grove_storage *st, const struct grove_storage_call *call,
			 grove_storage_done_fn *done, void *payload)
{
	struct grove__storage_job *j = NULL;
	struct grove_storage_call c;
	struct grove_detail d;
	int rc = grove__sized_begin(&c, sizeof(c), call, &d);

	if (!rc)
		rc = grove__sized_check(c.options, &d);
	if (!rc)
		rc = grove__storage_check(st, &c, &d);
	if (!rc && c.op == GROVE_STORAGE_OPEN_WRITER && !done)
		rc = grove__fail(&d, GROVE_EINVAL, c.path, "no writer to return");
	if (!rc && !(j = make_job(&c)))
		rc = grove__fail_nomem(&d);
	if (rc)
		return grove__storage_told(st, rc, &d);
	j->done = done;
	j->payload = payload;

	pthread_mutex_lock(&st->lock);
	if (st->waiting > st->queue_max || j->cost > st->queue_max - st->waiting)
		rc = grove__fail(&d, GROVE_EFULL, c.path, "too much is waiting to be written");
	if (!rc)
		rc = start(st, &d);
	if (!rc) {
		*st->tail = j;
		st->tail = &j->next;
		st->waiting += j->cost;
		st->submitted++;
		if (j->held)
			*grove__writer_last(j->held) = st->submitted;
		pthread_cond_signal(&st->wake);
	}
	pthread_mutex_unlock(&st->lock);
	if (rc)
		free_job(j);
	return grove__storage_told(st, rc, &d);
}

int grove_storage_drain(struct grove_storage *st)
{
	struct grove_detail d;
	uint64_t last;
	bool inside;

	pthread_mutex_lock(&st->lock);
	last = st->submitted;
	inside = grove__storage_inside(st);
	while (!inside && st->finished < last)
		pthread_cond_wait(&st->settled, &st->lock);
	pthread_mutex_unlock(&st->lock);
	if (!inside)
		return 0;
	return grove__storage_told(st, grove__fail(&d, GROVE_EINVAL, NULL,
						   "a completion callback must not wait for the queue"), &d);
}

void grove__storage_stop(struct grove_storage *st)
{
	bool running;

	pthread_mutex_lock(&st->lock);
	assert(!grove__storage_inside(st));
	st->closing = true;
	running = st->running;
	pthread_cond_signal(&st->wake);
	pthread_mutex_unlock(&st->lock);
	if (!running)
		return;
	pthread_join(st->thread, NULL);
	/* another thread may get this id, and must not be mistaken for ours */
	pthread_mutex_lock(&st->lock);
	st->running = false;
	pthread_mutex_unlock(&st->lock);
}
