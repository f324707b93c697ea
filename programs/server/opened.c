/*
 * opened.c: which sessions are open in some process, as of a moment ago.
 */
#include "opened.h"

#include <stdlib.h>
#include <string.h>

struct openers {
	pthread_mutex_t lock;
	pthread_cond_t seen;
	int looking;               /* a thread is looking, without the lock */
	struct opened_set *last;   /* NULL if nobody has asked yet */
};

static void unref(struct opened_set *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < s->nr; i++) {
		free(s->at[i].path);
		free(s->at[i].id);
		free(s->at[i].agent);
	}
	free(s->at);
	free(s);
}

int opened_new(struct openers **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return GROVE_ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	pthread_cond_init(&(*out)->seen, NULL);
	return 0;
}

void opened_free(struct openers *o)
{
	if (!o)
		return;
	unref(o->last);
	pthread_cond_destroy(&o->seen);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

static int copy(const char *text, char **out)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? GROVE_ENOMEM : 0;
}

static int add(void *payload, const struct grove_opener *o)
{
	struct opened_set *s = payload;
	struct opened *more = realloc(s->at, (s->nr + 1) * sizeof(*more)), *x;

	if (!more)
		return GROVE_ENOMEM;
	s->at = more;
	x = &more[s->nr++];
	*x = (struct opened){ .pid = o->pid, .since = o->since };
	return copy(o->path, &x->path) || copy(o->session_id, &x->id) || copy(o->agent, &x->agent) ? GROVE_ENOMEM : 0;
}

/* Looks, releasing the lock meanwhile, because this takes a while on a busy machine. */
static int look(struct openers *o, struct grove *g)
{
	struct opened_set *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return GROVE_ENOMEM;
	s->refs = 1;
	o->looking = 1;
	pthread_mutex_unlock(&o->lock);
	rc = grove_opener_each(g, NULL, add, s);
	s->time = now_ms();
	pthread_mutex_lock(&o->lock);
	o->looking = 0;
	pthread_cond_broadcast(&o->seen);
	if (rc) {
		unref(s);
		return rc;
	}
	unref(o->last);
	o->last = s;
	return 0;
}

int opened_now(struct openers *o, struct grove *g, struct opened_set **out)
{
	int rc = 0;

	*out = NULL;
	pthread_mutex_lock(&o->lock);
	while (o->looking)
		pthread_cond_wait(&o->seen, &o->lock);
	if (!o->last || now_ms() - o->last->time >= OPENED_FRESH_MS)
		rc = look(o, g);
	if (!rc) {
		*out = o->last;
		o->last->refs++;
	}
	pthread_mutex_unlock(&o->lock);
	return rc;
}

int opened_holds(struct openers *o, const struct opened_set *set)
{
	int yes;

	pthread_mutex_lock(&o->lock);
	yes = o->last == set && now_ms() - set->time < OPENED_FRESH_MS;
	pthread_mutex_unlock(&o->lock);
	return yes;
}

struct opened_set *opened_last(struct openers *o)
{
	struct opened_set *s;

	pthread_mutex_lock(&o->lock);
	s = o->last;
	if (s)
		s->refs++;
	pthread_mutex_unlock(&o->lock);
	return s;
}

void opened_give_back(struct openers *o, struct opened_set *set)
{
	pthread_mutex_lock(&o->lock);
	unref(set);
	pthread_mutex_unlock(&o->lock);
}

const struct opened *opened_find(const struct opened_set *set, const char *path, const char *id, size_t len)
{
	for (size_t i = 0; set && i < set->nr; i++) {
		const struct opened *x = &set->at[i];

		if ((x->path && path && !strcmp(x->path, path)) || (x->id && strlen(x->id) == len && !memcmp(x->id, id, len)))
			return x;
	}
	return NULL;
}

void put_live(struct doc *d, const struct opened *x, const char *agent)
{
	doc_name(d, "live");
	if (!x) {
		doc_null(d);
		return;
	}
	doc_open(d, '{');
	doc_member(d, "agent", x->agent ? x->agent : agent);
	doc_member_time(d, "since", x->since);
	doc_close(d, '}');
}
