/*
 * recent.c: a cache of recent replies.
 */
#include "recent.h"
#include "auth.h"
#include "opened.h"
#include "reply.h"
#include "tokens.h"
#include "kit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A file modified this recently may change again without getting a new time, so what was
 * read from it is not cached.
 */
#define SETTLED_MS 50

struct kept {
	unsigned refs;           /* protected by the lock; the table holds one */
	char *target;
	char who[TOKEN_NAME_MAX];   /* replies depend on the client: what is writable, which ids
	                               are unique */
	enum scope scope;
	struct shown *of;
	int64_t made;            /* ms */
	char etag[64];
	uint64_t bytes;
	struct MHD_Response *response;
};

struct recent {
	pthread_mutex_t lock;
	struct kept *slot[RECENT_SLOTS];
	uint64_t bytes;
	atomic_ulong era;        /* counts our own changes */
};

/* --------------------------------------------------------------- what is shown */

struct shown *shown_new(struct recent *all, const char *path, const char *store, const char *cwd)
{
	struct shown *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->era = atomic_load(&all->era);
	s->path = strdup(path);
	s->store = strdup(store);
	s->cwd = strdup(cwd);
	if (s->path && s->store && s->cwd && !stat(path, &s->file))
		return s;
	shown_free(s);
	return NULL;
}

struct shown *shown_new_list(struct recent *all, struct grove_list *l, struct openers *openers, struct opened_set *open)
{
	struct shown *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct shown){ .list = l, .openers = openers, .open = open, .era = atomic_load(&all->era) };
	return s;
}

void shown_free(struct shown *s)
{
	if (!s)
		return;
	grove_list_free(s->list);
	if (s->open)
		opened_give_back(s->openers, s->open);
	free(s->path);
	free(s->store);
	free(s->cwd);
	free(s);
}

static int is_settled(const struct stat *file)
{
	return wall_ms() - ((int64_t)file->st_mtim.tv_sec * 1000 + file->st_mtim.tv_nsec / 1000000) > SETTLED_MS;
}

/* Returns true if nothing has changed. */
static int still_holds(const struct shown *s)
{
	struct stat now;

	if (s->list)
		return opened_holds(s->openers, s->open) && grove_list_holds(s->list);
	return !stat(s->path, &now) && now.st_ino == s->file.st_ino && now.st_dev == s->file.st_dev &&
	       now.st_size == s->file.st_size && now.st_mtim.tv_sec == s->file.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == s->file.st_mtim.tv_nsec;
}

/* ------------------------------------------------------------------- the table */

int recent_new(struct recent **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return GROVE_ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

/* Needs the lock, here and below. */
static void unref(struct kept *k)
{
	if (!k || --k->refs)
		return;
	MHD_destroy_response(k->response);
	shown_free(k->of);
	free(k->target);
	free(k);
}

static void drop(struct recent *all, struct kept **slot)
{
	if (!*slot)
		return;
	all->bytes -= (*slot)->bytes;
	unref(*slot);
	*slot = NULL;
}

void recent_free(struct recent *all)
{
	if (!all)
		return;
	for (unsigned i = 0; i < RECENT_SLOTS; i++)
		drop(all, &all->slot[i]);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

void recent_tidy(struct recent *all)
{
	int64_t now = now_ms();

	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < RECENT_SLOTS; i++)
		if (all->slot[i] && now - all->slot[i]->made >= RECENT_FRESH_MS)
			drop(all, &all->slot[i]);
	pthread_mutex_unlock(&all->lock);
}

void recent_forget(struct recent *all, const char *path)
{
	if (!path)
		return;
	atomic_fetch_add(&all->era, 1);
	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < RECENT_SLOTS; i++)
		if (all->slot[i] && all->slot[i]->of->path && !strcmp(all->slot[i]->of->path, path))
			drop(all, &all->slot[i]);
	pthread_mutex_unlock(&all->lock);
}

static struct kept **slot_of(struct recent *all, const char *target, const char *who)
{
	uint32_t h = text_hash(text_hash(TEXT_HASH_BEGIN, target), who);

	return &all->slot[(h ^ h >> 16) & (RECENT_SLOTS - 1)];
}

/* ------------------------------------------------------------------ keep, answer */

/*
 * Replies to other machines may be compressed, depending on what they accept, so they are
 * not cached.
 */
int recent_wants(const struct request *r)
{
	return r->shown && r->raw && r->status == 200 && (*r->etag || r->shown->list) && !r->stream && r->file < 0 && !r->nr_headers &&
	       !r->close && r->peer->loopback && (r->shown->list || is_settled(&r->shown->file));
}

void recent_keep(struct recent *all, struct request *r, struct MHD_Response *response)
{
	struct kept *k = calloc(1, sizeof(*k)), **slot;

	if (!k) {
		MHD_destroy_response(response);
		return;
	}
	*k = (struct kept){ .refs = 1, .target = r->raw, .of = r->shown, .made = r->started / 1000,
			    .scope = r->who.scope, .bytes = r->out.buf.len, .response = response };
	snprintf(k->who, sizeof(k->who), "%s", r->who.name);
	memcpy(k->etag, r->etag, sizeof(k->etag));
	r->raw = NULL;
	r->shown = NULL;
	pthread_mutex_lock(&all->lock);
	slot = slot_of(all, k->target, k->who);
	drop(all, slot);
	/* a change during the write may be missing from the reply */
	if (k->of->era == atomic_load(&all->era) && all->bytes + k->bytes <= RECENT_BYTES) {
		*slot = k;
		all->bytes += k->bytes;
	} else {
		unref(k);
	}
	pthread_mutex_unlock(&all->lock);
}

static struct kept *find(struct recent *all, const struct request *r)
{
	struct kept *k;

	pthread_mutex_lock(&all->lock);
	k = *slot_of(all, r->raw, r->who.name);
	if (k && !strcmp(k->target, r->raw) && !strcmp(k->who, r->who.name) && k->scope == r->who.scope && now_ms() - k->made < RECENT_FRESH_MS)
		k->refs++;
	else
		k = NULL;
	pthread_mutex_unlock(&all->lock);
	return k;
}

int recent_answer(struct recent *all, struct request *r, enum MHD_Result *out)
{
	struct kept *k = r->raw && r->peer->loopback ? find(all, r) : NULL;
	int good;

	if (!k)
		return 0;
	good = (k->of->list ? !auth_limited(&r->who) : auth_allows(&r->who, k->of->store, k->of->cwd)) && still_holds(k->of);
	if (good && *k->etag && reply_has_etag(r, k->etag)) {
		*out = reply_queue(r);
	} else if (good) {
		r->status = 200;
		r->sent = k->bytes;
		*out = MHD_queue_response(r->connection, 200, k->response);
	}
	pthread_mutex_lock(&all->lock);
	unref(k);
	pthread_mutex_unlock(&all->lock);
	return good;
}
