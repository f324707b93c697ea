/*
 * serve.c: two threads, one that reads and one that answers.
 *
 * Requests are answered one after the other, in order. The reader stays free, so that a
 * ping is answered and a request can be cancelled while another is being worked on. A
 * cancelled request is not answered, whether it had begun or not. After the end of the
 * input, the requests that came before it are still answered.
 */
#include "mcp.h"

#include "kit/cli.h"
#include "message.h"
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Further requests wait in the pipe. */
enum { QUEUE_MAX = 256 };

struct job {
	struct job *next;
	int cancelled;
	size_t id_at, id_len;      /* the position of its id in `text`; 0 if it has none, or is a
	                              batch */
	size_t len;
	char text[];
};

struct queue {
	struct mcp *m;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first, **last;
	size_t nr;
	struct job *running;
	int ended;
};

/* ---------------------------------------------------------------- answering */

static struct job *next_job(struct queue *q)
{
	struct job *j;

	pthread_mutex_lock(&q->lock);
	while (!q->first && !q->ended)
		pthread_cond_wait(&q->changed, &q->lock);
	j = q->first;
	if (j) {
		q->first = j->next;
		if (!q->first)
			q->last = &q->first;
		q->nr--;
		q->running = j;
		atomic_store(&q->m->cancelled, j->cancelled);
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return j;
}

/* Returns true if the reply is still wanted. */
static int end_job(struct queue *q)
{
	int wanted;

	pthread_mutex_lock(&q->lock);
	wanted = !q->running->cancelled;
	q->running = NULL;
	pthread_mutex_unlock(&q->lock);
	return wanted;
}

static void *answer_all(void *payload)
{
	struct queue *q = payload;
	struct grove_buf out = GROVE_BUF_INIT;
	struct job *j;

	while ((j = next_job(q))) {
		out.len = 0;
		if (!j->cancelled && !wire_broken(q->m->wire))
			answer_message(q->m, (struct grove_slice){ j->text, j->len }, &out);
		if (end_job(q) && out.len)
			wire_write(q->m->wire, grove_buf_slice(&out));
		free(j);
	}
	grove_buf_release(&out);
	return NULL;
}

/* ------------------------------------------------------------------ reading */

static void add_job(struct queue *q, struct grove_slice line, const struct message *msg)
{
	struct job *j = cli_realloc(NULL, sizeof(*j) + line.len, 1);

	memset(j, 0, sizeof(*j));
	memcpy(j->text, line.ptr, line.len);
	j->len = line.len;
	if (msg->kind == MESSAGE_REQUEST) {
		j->id_at = (size_t)(msg->id.ptr - line.ptr);
		j->id_len = msg->id.len;
	}
	pthread_mutex_lock(&q->lock);
	while (q->nr >= QUEUE_MAX)
		pthread_cond_wait(&q->changed, &q->lock);
	*q->last = j;
	q->last = &j->next;
	q->nr++;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static int has_id(const struct job *j, struct grove_slice id)
{
	return j && j->id_len && j->id_len == id.len && !memcmp(j->text + j->id_at, id.ptr, id.len);
}

/* An unknown id belongs to a request that was already answered. */
static void cancel(struct queue *q, const struct message *msg)
{
	struct grove_slice id;

	if (!msg->params.len || !grove_json_member(msg->params, "requestId", &id))
		return;
	pthread_mutex_lock(&q->lock);
	for (struct job *j = q->first; j; j = j->next)
		if (has_id(j, id))
			j->cancelled = 1;
	if (has_id(q->running, id)) {
		q->running->cancelled = 1;
		atomic_store(&q->m->cancelled, 1);
	}
	pthread_mutex_unlock(&q->lock);
}

static void pong(struct mcp *m, const struct message *msg)
{
	struct doc d = { .rc = 0 };

	doc_puts(&d, "{\"jsonrpc\":\"2.0\",\"id\":");
	doc_add(&d, msg->id);
	doc_puts(&d, ",\"result\":{}}");
	if (!d.rc)
		wire_write(m->wire, grove_buf_slice(&d.buf));
	doc_release(&d);
}

static void take_line(struct queue *q, struct grove_slice line)
{
	struct message msg;

	message_read(line, &msg);
	if (msg.kind == MESSAGE_NOTIFICATION && !strcmp(msg.method, "notifications/cancelled"))
		cancel(q, &msg);
	else if (msg.kind == MESSAGE_REQUEST && !*msg.version && !strcmp(msg.method, "ping"))
		pong(q->m, &msg);
	else if (msg.kind != MESSAGE_NOTIFICATION && msg.kind != MESSAGE_RESPONSE)
		add_job(q, line, &msg);
}

static void tell_too_long(struct mcp *m)
{
	struct doc d = { .rc = 0 };

	answer_error(&d, (struct grove_slice){ NULL, 0 }, MESSAGE_EINVALID, "a message of more than 4 MiB was skipped");
	if (!d.rc)
		wire_write(m->wire, grove_buf_slice(&d.buf));
	doc_release(&d);
}

static int read_all(struct queue *q)
{
	struct mcp *m = q->m;
	struct grove_slice line;

	while (!wire_broken(m->wire))
		switch (wire_read(m->wire, &line)) {
		case WIRE_LINE:
			take_line(q, line);
			break;
		case WIRE_TOO_LONG:
			tell_too_long(m);
			break;
		case WIRE_FAILED:
			return cli_error(m->c, GROVE_EIO, "standard input: %s", strerror(errno));
		case WIRE_END:
			return EXIT_DONE;
		}
	return EXIT_DONE;
}

int serve(struct mcp *m)
{
	struct queue q = { .m = m, .last = &q.first };
	pthread_t thread;
	int status, why;

	pthread_mutex_init(&q.lock, NULL);
	pthread_cond_init(&q.changed, NULL);
	if (pthread_create(&thread, NULL, answer_all, &q))
		return cli_error(m->c, GROVE_ENOMEM, "out of memory");
	status = read_all(&q);
	pthread_mutex_lock(&q.lock);
	q.ended = 1;
	pthread_cond_broadcast(&q.changed);
	pthread_mutex_unlock(&q.lock);
	pthread_join(thread, NULL);
	why = wire_broken(m->wire);
	/* a client that has left needs nothing more */
	if (why && why != EPIPE && !status)
		status = cli_error(m->c, GROVE_EIO, "standard output: %s", strerror(why));
	pthread_cond_destroy(&q.changed);
	pthread_mutex_destroy(&q.lock);
	return status;
}
