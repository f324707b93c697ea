/*
 * events.c: streams of events.
 *
 * Several threads look for changes, each in stores of its own: one in all that are on this
 * machine, and one more for each store elsewhere, because that may not answer for a long
 * time. Such a feed has two watch sets (<grove/live.h>): one for sessions, and one for the
 * list, which exists while some client subscribes to it. Another thread keeps the clients,
 * and asks no store for anything.
 *
 *	stream ──< subscription >── topic ── the set of a feed
 *
 * A topic is a session in the set. Subscribers that are at the same rev share a topic, so a
 * thousand readers of a session cost no more than one; a reader that is behind gets its
 * own. Requests hand over their stream (events_join) and return. Topics belong to the thread
 * of their feed; what they share with others, clients and who subscribes to what, is under
 * one lock, which nobody holds while a store is asked.
 *
 * Appends that come in a burst are sent as one event, with the columns of the new entries.
 * We never wait for a client: what it does not read is queued up to a limit. Beyond that
 * its stream ends, and the client resumes from the cursor of the last event it received.
 */
#include "events.h"
#include "handlers.h"
#include "held.h"
#include "metrics.h"
#include "opened.h"
#include "workers.h"
#include "reply.h"
#include "route.h"
#include "stream.h"
#include "kit/store_url.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define GOODBYE_ROOM 4096u

struct topic {
	struct topic *next;
	char *what;
	uint64_t rev;                /* events up to here were sent */
	int lone;                    /* for one reader that was behind when it subscribed */
	int gone;                    /* its last event was sent */
	struct subscription *first;
	/* appends not sent yet */
	struct grove_view *view;     /* the view that contains them */
	uint32_t from, nr;
	uint64_t generation;
};

struct subscription {
	struct subscription *next;   /* of the same topic, or among those that its feed is to add */
	struct client *client;
	struct feed *feed;
	struct topic *topic;         /* NULL if there is none (yet, or any more) */
	int late;                    /* its store did not answer at first */
	char *key;                   /* as the client spelled it */
	char *what;                  /* NULL if there is no such session */
	uint64_t rev;                /* the last one the client saw */
	int64_t pid;                 /* of the process last reported to have the session open; 0
	                                if none */
};

/* A stream and its subscriptions. */
struct client {
	struct client *next;
	struct request *r;           /* we hold a reference */
	int list;
	int afresh;                  /* the list may have changed while the client was away */
	int single;                  /* subscribed to one session, so the id of an event is just
	                                its rev */
	int greeted;                 /* told that everything is watched */
	int ended;
	int64_t beat;                /* ms: when we last sent something */
	unsigned asked;              /* subscriptions that are to be added for the first time … */
	unsigned busy;               /* … or again: feeds know of them, so we must stay */
	unsigned nr;
	struct subscription sub[];
};

/* What looks for changes in one store, or in all that are here. */
struct feed {
	struct events *ev;
	struct grove *g;
	char *store;                 /* elsewhere; NULL: all that are here */
	struct grove_watch *sessions, *list;
	int wake;
	pthread_t thread;
	int running;
	/* used by its thread alone: */
	struct topic *topics;
	int64_t list_retry;          /* ms: when to try again to watch the list */
	/* under the lock: */
	struct subscription *asking; /* to be added */
	int listed;                  /* the list is watched, or that was tried */
};

struct events {
	struct server *server;
	int wake;
	pthread_t thread;
	int running;
	pthread_t looker;            /* see look() */
	struct grove *looker_g;
	struct opened_set *open;     /* what list subscribers were told last; the looker's; NULL if nothing yet */
	pthread_mutex_t lock;        /* protects what follows; paired with `ask` */
	struct client *joining;
	int stopping;
	int asked;                   /* to look for openers */
	pthread_cond_t ask;
	struct client *clients;
	unsigned nr_list;            /* clients subscribed to the list */
	unsigned nr_feeds;
	struct feed feed[];
};

static void ring(int wake)
{
	uint64_t one = 1;

	/* the write fails only if the counter is full, and then it wakes the thread anyway */
	if (write(wake, &one, sizeof(one)) < 0)
		return;
}

/* ------------------------------------------------------------------ sending, with the lock held */

static void end_client(struct events *ev, struct client *c, int rc)
{
	if (c->ended)
		return;
	c->ended = 1;
	stream_end(c->r->stream, rc);
	metrics_streams(ev->server->metrics, -1);
}

static void offer(struct events *ev, struct client *c, struct grove_slice text)
{
	static const char bye[] = "event: bye\ndata: {\"reason\":\"slow\"}\n\n";
	int rc;

	if (c->ended)
		return;
	rc = stream_offer(c->r->stream, text, EVENTS_UNSENT_MAX);
	c->beat = now_ms();
	if (rc == GROVE_EFULL)
		stream_offer(c->r->stream, grove_str(bye), EVENTS_UNSENT_MAX + GOODBYE_ROOM);
	if (rc)
		end_client(ev, c, rc == GROVE_EFULL ? 0 : rc);
}

/* The cursor of the whole stream: the rev of its session, or KEY:REV for each of several. */
static void put_id(struct doc *d, const struct client *c)
{
	doc_puts(d, "id: ");
	if (c->single) {
		doc_printf(d, "%llu\n", (unsigned long long)c->sub[0].rev);
		return;
	}
	for (unsigned i = 0; i < c->nr; i++)
		if (c->sub[i].what)
			doc_printf(d, "%s:%llu,", c->sub[i].key, (unsigned long long)c->sub[i].rev);
	doc_puts(d, "-\n");
}

/* `body` has the event's members after the key. */
static void tell_client(struct events *ev, struct client *c, const char *kind, const char *key,
			struct grove_slice body)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	put_id(&d, c);
	doc_printf(&d, "event: %s\ndata: {", kind);
	doc_member(&d, "key", key);
	doc_puts(&d, ",");
	doc_add(&d, body);
	doc_puts(&d, "}\n\n");
	if (!d.rc)
		offer(ev, c, grove_buf_slice(&d.buf));
	else
		end_client(ev, c, d.rc);
	doc_release(&d);
}

static void send_all(struct events *ev, struct topic *t, const char *kind, uint64_t rev, struct doc *body)
{
	pthread_mutex_lock(&ev->lock);
	t->rev = rev;
	for (struct subscription *s = t->first; s; s = s->next) {
		s->rev = rev;
		if (!body->rc)
			tell_client(ev, s->client, kind, s->key, grove_buf_slice(&body->buf));
		else
			end_client(ev, s->client, body->rc);
	}
	pthread_mutex_unlock(&ev->lock);
}

static void begin_body(struct doc *d, uint64_t rev, uint64_t generation)
{
	doc_member_number(d, "rev", rev);
	doc_member_number(d, "generation", generation);
}

/* -------------------------------------------------------------------- bursts */

static void drop_burst(struct topic *t)
{
	grove_view_unref(t->view);
	t->view = NULL;
	t->nr = 0;
}

static void put_burst(const struct topic *t, struct doc *d)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct doc columns = { GROVE_BUF_INIT, 0 };
	uint32_t leaf = grove_view_leaf(t->view);
	int rc = put_tree_columns(&columns, t->view, t->from, t->from + t->nr);

	begin_body(d, t->rev, t->generation);
	if (leaf != GROVE_NO_ENTRY)
		grove_view_entry(t->view, leaf, &e);
	doc_member(d, "leafEntryId", e.id);
	doc_puts(d, ",");
	doc_add(d, grove_buf_slice(&columns.buf));
	d->rc = d->rc ? d->rc : rc;
	doc_release(&columns);
}

/* A label is an entry, but its effect on another entry is an event of its own. */
static void tell_label(struct feed *f, struct topic *t, uint32_t i)
{
	struct grove_buf target = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (!grove_view_label(t->view, i, &target, &text)) {
		begin_body(&d, t->rev, t->generation);
		doc_name(&d, "entryId");
		doc_text(&d, grove_buf_slice(&target));
		doc_name(&d, "text");
		if (text.len)
			doc_text(&d, grove_buf_slice(&text));
		else
			doc_null(&d);
		send_all(f->ev, t, "label", t->rev, &d);
	}
	doc_release(&d);
	grove_buf_release(&target);
	grove_buf_release(&text);
}

static void flush(struct feed *f, struct topic *t)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (t->nr) {
		put_burst(t, &d);
		send_all(f->ev, t, "append", t->rev, &d);
	}
	for (uint32_t i = t->from; i < t->from + t->nr; i++)
		if (!grove_view_entry(t->view, i, &e) && e.kind == GROVE_KIND_LABEL)
			tell_label(f, t, i);
	doc_release(&d);
	drop_burst(t);
}

static void flush_all(struct feed *f)
{
	for (struct topic *t = f->topics; t; t = t->next)
		flush(f, t);
}

/* Adds an entry to the current burst, or begins a new one. */
static void append(struct feed *f, struct topic *t, const struct grove_event *e)
{
	if (t->nr && (t->from + t->nr != e->first || t->nr == EVENTS_BURST || t->generation != e->generation))
		flush(f, t);
	if (!t->view || grove_view_count(t->view) <= e->first) {
		struct grove_view *v;

		if (grove_watch_view(f->sessions, &v))
			return;
		grove_view_unref(t->view);
		t->view = v;
	}
	if (!t->nr)
		t->from = e->first;
	t->nr++;
	t->generation = e->generation;
	t->rev = e->rev;
}

/* -------------------------------------------------------------------- topics */

static void put_name(struct feed *f, struct doc *d)
{
	struct grove_view *v;

	if (grove_watch_view(f->sessions, &v))
		return;
	doc_name(d, "session");
	doc_open(d, '{');
	doc_member(d, "name", grove_view_name(v));
	doc_close(d, '}');
	grove_view_unref(v);
}

/* Not an entry; only the cursor moves. */
static void move_cursors(struct events *ev, struct topic *t, uint64_t rev)
{
	pthread_mutex_lock(&ev->lock);
	t->rev = rev;
	for (struct subscription *s = t->first; s; s = s->next)
		s->rev = rev;
	pthread_mutex_unlock(&ev->lock);
}

static void tell(struct feed *f, struct topic *t, const struct grove_event *e)
{
	static const char *const kinds[] = {
		[GROVE_EVENT_APPEND] = "append", [GROVE_EVENT_UPDATE] = "update", [GROVE_EVENT_LEAF] = "leaf",
		[GROVE_EVENT_RENAME] = "meta", [GROVE_EVENT_RESET] = "reset", [GROVE_EVENT_DELETE] = "remove",
	};
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (e->kind == GROVE_EVENT_APPEND && e->nr) {
		append(f, t, e);
		return;
	}
	flush(f, t);
	t->gone = e->kind == GROVE_EVENT_DELETE;
	if (e->kind == GROVE_EVENT_APPEND) {
		move_cursors(f->ev, t, e->rev);
		return;
	}
	begin_body(&d, e->rev, e->generation);
	if (e->kind == GROVE_EVENT_UPDATE || e->kind == GROVE_EVENT_LEAF)
		doc_member(&d, "entryId", e->entry_id);
	if (e->kind == GROVE_EVENT_RENAME)
		put_name(f, &d);
	if ((size_t)e->kind < sizeof(kinds) / sizeof(*kinds))
		send_all(f->ev, t, kinds[e->kind], e->rev, &d);
	doc_release(&d);
}

/* Frees the topics that nobody subscribes to any more. */
static void free_topics(struct feed *f, int all)
{
	struct topic **p = &f->topics, *t;
	int unused;

	while ((t = *p)) {
		pthread_mutex_lock(&f->ev->lock);
		unused = !t->first;
		pthread_mutex_unlock(&f->ev->lock);
		if (!unused && !all) {
			p = &t->next;
			continue;
		}
		*p = t->next;
		/* a topic whose end was sent has left the set already, or is about to */
		grove_watch_remove(f->sessions, t);
		drop_burst(t);
		free(t->what);
		free(t);
	}
}

static struct topic *find_topic(struct feed *f, const struct subscription *s)
{
	for (struct topic *t = f->topics; t; t = t->next)
		if (!t->lone && !t->gone && !strcmp(t->what, s->what) && (s->rev == GROVE_REV_NOW || s->rev == t->rev))
			return t;
	return NULL;
}

static int is_shared(struct feed *f, const char *what)
{
	for (struct topic *t = f->topics; t; t = t->next)
		if (!t->lone && !t->gone && !strcmp(t->what, what))
			return 1;
	return 0;
}

/* Returns the rev at which a new topic begins: the requested one, or the session's current one. */
static uint64_t rev_now(struct feed *f, const char *what)
{
	struct grove_session *s = NULL;
	struct grove_view *v;
	uint64_t rev = GROVE_REV_NOW;

	if (!grove_session_open(f->g, what, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v)) {
		rev = grove_view_rev(v);
		grove_view_unref(v);
	}
	grove_session_close(s);
	return rev;
}

static int make_topic(struct feed *f, struct subscription *s, struct topic **out)
{
	struct topic *t = calloc(1, sizeof(*t));
	int rc = GROVE_ENOMEM;

	if (t && (t->what = strdup(s->what))) {
		t->lone = is_shared(f, s->what);
		t->rev = s->rev == GROVE_REV_NOW ? rev_now(f, s->what) : s->rev;
		rc = grove_watch_add(f->sessions, s->what, t->rev, t);
	}
	if (rc) {
		if (t)
			free(t->what);
		free(t);
		return rc;
	}
	t->next = f->topics;
	f->topics = *out = t;
	return 0;
}

/* Says that everything is watched, once it is: from then on the client misses no change. */
static void greet(struct events *ev, struct client *c)
{
	for (unsigned i = 0; i < ev->nr_feeds && c->list; i++)
		if (!ev->feed[i].listed)
			return;
	if (c->greeted || c->asked)
		return;
	c->greeted = 1;
	offer(ev, c, grove_str(": grove\nretry: 2000\n\n"));
	for (unsigned i = 0; i < c->nr; i++)
		if (!c->sub[i].what)
			tell_client(ev, c, "remove", c->sub[i].key, grove_str("\"rev\":null"));
	if (c->afresh)
		tell_client(ev, c, "sessions", NULL, grove_str("\"change\":\"reset\""));
}

/* With the lock held. */
static void attach(struct subscription *s, struct topic *t)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	s->rev = t->rev;
	s->topic = t;
	s->next = t->first;
	t->first = s;
	/* what has happened since it was asked for is not known */
	if (s->late) {
		doc_member_number(&d, "rev", s->rev);
		doc_member_number(&d, "generation", 0);
		tell_client(s->feed->ev, s->client, "reset", s->key, grove_buf_slice(&d.buf));
		doc_release(&d);
	}
}

/*
 * Adds one subscription. If the store does not answer, that is tried again; without the
 * session, s->what is NULL from then on.
 */
static void subscribe(struct feed *f, struct subscription *s)
{
	struct events *ev = f->ev;
	struct client *c = s->client;
	struct topic *t = NULL;
	int rc = 0, first = !s->late;

	if (s->what) {
		/* a new subscriber must not get events that were queued for earlier ones */
		flush_all(f);
		t = find_topic(f, s);
		rc = t ? 0 : make_topic(f, s, &t);
	}
	pthread_mutex_lock(&ev->lock);
	c->asked -= (unsigned)first;
	if (rc == GROVE_EAWAY && !c->ended && !ev->stopping) {
		s->late = 1;
		s->next = f->asking;
		f->asking = s;
	} else {
		c->busy--;
		if (t && !c->ended)
			attach(s, t);
		else if (!t) {
			free(s->what);
			s->what = NULL;
			if (s->late && !c->ended)
				tell_client(ev, c, "remove", s->key, grove_str("\"rev\":null"));
		}
	}
	greet(ev, c);
	pthread_mutex_unlock(&ev->lock);
}

/* With the lock held. The topic's feed frees it. */
static void unsubscribe(struct subscription *s)
{
	struct topic *t = s->topic;
	struct subscription **p;

	if (!t)
		return;
	for (p = &t->first; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	s->topic = NULL;
	if (!t->first)
		ring(s->feed->wake);
}

/* ------------------------------------------------------------------ the list */

/* Watches the list while somebody wants it. */
static void tend_list(struct feed *f)
{
	struct grove_watch_options o = { .size = sizeof(o), .flags = GROVE_WATCH_LIST };
	struct events *ev = f->ev;
	int wanted;

	pthread_mutex_lock(&ev->lock);
	wanted = ev->nr_list > 0;
	f->listed &= wanted;
	pthread_mutex_unlock(&ev->lock);
	if (!wanted) {
		grove_watch_close(f->list);
		f->list = NULL;
		return;
	}
	if (!f->list && now_ms() >= f->list_retry && grove_watch_open(f->g, &o, &f->list)) {
		grove_watch_close(f->list);
		f->list = NULL;
		f->list_retry = now_ms() + 1000;
	}
	pthread_mutex_lock(&ev->lock);
	if (!f->listed) {
		f->listed = 1;
		for (struct client *c = ev->clients; c; c = c->next)
			greet(ev, c);
	}
	pthread_mutex_unlock(&ev->lock);
}

/* A client with a limited token learns only that something changed, not what. */
static void tell_list(struct events *ev, const char *change, const char *id)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	doc_member(&d, "change", change);
	pthread_mutex_lock(&ev->lock);
	for (struct client *c = ev->clients; c; c = c->next)
		if (c->list && !d.rc)
			tell_client(ev, c, "sessions", c->r->who.token ? NULL : id, grove_buf_slice(&d.buf));
	pthread_mutex_unlock(&ev->lock);
	doc_release(&d);
}

/* --------------------------------------------------- who has sessions open */

static void tell_live(struct events *ev, struct client *c, const char *key, const struct opened *x,
		      const char *agent)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	put_live(&d, x, agent);
	if (d.rc)
		end_client(ev, c, d.rc);
	else
		tell_client(ev, c, "live", key, grove_buf_slice(&d.buf));
	doc_release(&d);
}

/* Tells a stream which of its sessions were opened or closed since the last time. */
static void tell_live_sessions(struct events *ev, struct client *c, const struct opened_set *now)
{
	for (unsigned i = 0; i < c->nr; i++) {
		struct subscription *s = &c->sub[i];
		const struct opened *x = s->what ? opened_find(now, s->what, s->key, strcspn(s->key, "~")) : NULL;

		if (s->pid == (x ? x->pid : 0))
			continue;
		s->pid = x ? x->pid : 0;
		tell_live(ev, c, s->key, x, NULL);
	}
}

static int has(const struct opened_set *set, const struct opened *x)
{
	const struct opened *y = opened_find(set, x->path, x->id ? x->id : "", x->id ? strlen(x->id) : 0);

	return y && y->pid == x->pid;
}

/* Finds the listed session that a process has open. Returns NULL if the file is not one of ours. */
static const struct grove_list_item *item_of(const struct grove_list *l, const struct opened *x)
{
	const struct opened_set one = { .nr = 1, .at = (struct opened[]){ *x } };

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *item = grove_list_at(l, i);

		if (opened_find(&one, item->path, item->id, strlen(item->id)))
			return item;
	}
	return NULL;
}

/* As in tell_list(), a client with a limited token does not learn which session it is. */
static void tell_live_list(struct events *ev, const struct grove_list_item *item, const struct opened *x)
{
	pthread_mutex_lock(&ev->lock);
	for (struct client *c = ev->clients; c && item; c = c->next)
		if (c->list)
			tell_live(ev, c, c->r->who.token ? NULL : item->id, c->r->who.token ? NULL : x,
				  item->agent);
	pthread_mutex_unlock(&ev->lock);
}

/*
 * Reports what was opened or closed between two looks. The sessions are listed only if
 * something was.
 */
static void compare_openers(struct events *ev, const struct opened_set *was, const struct opened_set *now)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l = NULL;
	int differ = was->nr != now->nr, listening;

	for (size_t i = 0; i < now->nr && !differ; i++)
		differ = !has(was, &now->at[i]);
	pthread_mutex_lock(&ev->lock);
	listening = ev->nr_list > 0;
	pthread_mutex_unlock(&ev->lock);
	if (!differ || !listening || grove_list(ev->looker_g, &o, &l))
		return;
	for (size_t i = 0; i < now->nr; i++)
		if (!has(was, &now->at[i]))
			tell_live_list(ev, item_of(l, &now->at[i]), &now->at[i]);
	for (size_t i = 0; i < was->nr; i++)
		if (!has(now, &was->at[i]))
			tell_live_list(ev, item_of(l, &was->at[i]), NULL);
	grove_list_free(l);
}

/*
 * Checks who has sessions open, whenever asked to. This reads the file descriptors of every
 * process, and may ask stores for their sessions, so it has its own thread and delays no
 * event.
 */
static void *look(void *arg)
{
	struct events *ev = arg;
	struct opened_set *now;

	for (;;) {
		pthread_mutex_lock(&ev->lock);
		while (!ev->asked && !ev->stopping)
			pthread_cond_wait(&ev->ask, &ev->lock);
		ev->asked = 0;
		if (ev->stopping)
			break;
		pthread_mutex_unlock(&ev->lock);
		if (opened_now(ev->server->openers, ev->looker_g, &now))
			continue;
		if (ev->open && ev->open != now)
			compare_openers(ev, ev->open, now);
		opened_give_back(ev->server->openers, ev->open);
		ev->open = now;
	}
	pthread_mutex_unlock(&ev->lock);
	return NULL;
}

/* With the lock held: reports the latest findings, and asks for the next look. */
static void look_for_openers(struct events *ev)
{
	struct opened_set *now = opened_last(ev->server->openers);

	ev->asked = 1;
	pthread_cond_signal(&ev->ask);
	for (struct client *c = ev->clients; c && now; c = c->next)
		tell_live_sessions(ev, c, now);
	opened_give_back(ev->server->openers, now);
}

/* ------------------------------------------------------------------- clients */

static void free_client(struct client *c)
{
	for (unsigned i = 0; i < c->nr; i++) {
		free(c->sub[i].key);
		free(c->sub[i].what);
	}
	request_unref(c->r);
	free(c);
}

/* With the lock held, as those below. Hands what clients subscribe to over to the feeds. */
static void take_joining(struct events *ev)
{
	struct client *c, *next;

	for (c = ev->joining; c; c = next) {
		next = c->next;
		c->next = ev->clients;
		ev->clients = c;
		c->beat = now_ms();
		metrics_streams(ev->server->metrics, 1);
		ev->nr_list += !!c->list;
		for (unsigned i = 0; i < c->nr; i++) {
			struct feed *f = c->sub[i].feed;

			if (!c->sub[i].what)
				continue;
			c->asked++;
			c->busy++;
			c->sub[i].next = f->asking;
			f->asking = &c->sub[i];
			ring(f->wake);
		}
		for (unsigned i = 0; i < ev->nr_feeds && c->list; i++)
			ring(ev->feed[i].wake);
		greet(ev, c);
	}
	ev->joining = NULL;
}

/* Drops clients that have left or whose stream ended, and sends a heartbeat to idle ones. */
static void look_after_clients(struct events *ev)
{
	struct client **p = &ev->clients, *c;
	int64_t now = now_ms();

	while ((c = *p)) {
		if (!c->ended && stream_gone(c->r->stream))
			end_client(ev, c, GROVE_ECANCELLED);
		if (!c->ended && now - c->beat >= BEAT_MS)
			offer(ev, c, grove_str(":\n\n"));
		if (!c->ended || c->busy) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		ev->nr_list -= !!c->list;
		for (unsigned i = 0; i < ev->nr_feeds && !ev->nr_list; i++)
			ring(ev->feed[i].wake);
		for (unsigned i = 0; i < c->nr; i++)
			unsubscribe(&c->sub[i]);
		free_client(c);
	}
}

/* --------------------------------------------------------------- the threads */

static void drain_sessions(struct feed *f)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc = 0;

	for (int i = 0; i < EVENTS_TURN && f->topics && !(rc = grove_watch_next(f->sessions, 0, &e)); i++)
		if (e.tag)
			tell(f, e.tag, &e);
	if (rc < 0 && rc != GROVE_ENOTFOUND)
		metrics_store_error(f->ev->server->metrics);
	flush_all(f);
}

static void drain_list(struct feed *f)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc = 0;

	for (int i = 0; i < EVENTS_TURN && !(rc = grove_watch_next(f->list, 0, &e)); i++)
		tell_list(f->ev, grove_event_name(e.kind), e.session_id);
	if (rc < 0)
		metrics_store_error(f->ev->server->metrics);
}

static int is_stopping(struct events *ev)
{
	int yes;

	pthread_mutex_lock(&ev->lock);
	yes = ev->stopping;
	pthread_mutex_unlock(&ev->lock);
	return yes;
}

/* Adds what was asked for until now. Returns true if something has to be tried again. */
static int take_asking(struct feed *f)
{
	struct subscription *s, *next;
	int again;

	pthread_mutex_lock(&f->ev->lock);
	s = f->asking;
	f->asking = NULL;
	pthread_mutex_unlock(&f->ev->lock);
	for (; s; s = next) {
		next = s->next;
		subscribe(f, s);
	}
	pthread_mutex_lock(&f->ev->lock);
	again = f->asking || (f->ev->nr_list && !f->list);
	pthread_mutex_unlock(&f->ev->lock);
	return again;
}

static int take_ring(int wake)
{
	uint64_t n;

	return read(wake, &n, sizeof(n)) < 0 && errno != EAGAIN;
}

static void *feed(void *arg)
{
	struct feed *f = arg;
	int again = 0;

	while (!is_stopping(f->ev)) {
		struct pollfd p[] = { { .fd = f->wake, .events = POLLIN },
				      { .fd = f->topics ? grove_watch_fd(f->sessions) : -1, .events = POLLIN },
				      { .fd = f->list ? grove_watch_fd(f->list) : -1, .events = POLLIN } };

		poll(p, 3, again ? 1000 : -1);
		if (p[0].revents && take_ring(f->wake))
			break;
		if (p[0].revents || again) {
			tend_list(f);
			again = take_asking(f);
		}
		if (p[1].revents)
			drain_sessions(f);
		if (p[2].revents && f->list)
			drain_list(f);
		free_topics(f, 0);
	}
	return NULL;
}

/* Keeps the clients. */
static void *run(void *arg)
{
	struct events *ev = arg;
	struct pollfd p = { .fd = ev->wake, .events = POLLIN };
	int64_t looked = now_ms();
	int any = 0, stop = 0;

	while (!stop) {
		poll(&p, 1, any ? 1000 : -1);
		if (p.revents && take_ring(ev->wake))
			break;
		pthread_mutex_lock(&ev->lock);
		take_joining(ev);
		if (now_ms() - looked >= 1000) {
			look_after_clients(ev);
			if (ev->clients)
				look_for_openers(ev);
			looked = now_ms();
		}
		any = ev->clients != NULL;
		stop = ev->stopping;
		pthread_mutex_unlock(&ev->lock);
	}
	pthread_mutex_lock(&ev->lock);
	take_joining(ev);
	for (struct client *c = ev->clients; c; c = c->next) {
		offer(ev, c, grove_str("event: bye\ndata: {\"reason\":\"stop\"}\n\n"));
		end_client(ev, c, 0);
	}
	pthread_mutex_unlock(&ev->lock);
	return NULL;
}

/* ------------------------------------------------------------- start and stop */

static void free_feed(struct feed *f)
{
	grove_watch_close(f->list);
	grove_watch_close(f->sessions);
	grove_close(f->g);
	if (f->wake >= 0)
		close(f->wake);
	free(f->store);
}

/* Safe to call with a partly set up `ev`, whose threads have ended. */
static void free_events(struct events *ev)
{
	struct client *c;

	while ((c = ev->clients)) {
		ev->clients = c->next;
		for (unsigned i = 0; i < c->nr; i++)
			unsubscribe(&c->sub[i]);
		free_client(c);
	}
	opened_give_back(ev->server->openers, ev->open);
	for (unsigned i = 0; i < ev->nr_feeds; i++) {
		if (ev->feed[i].sessions)
			free_topics(&ev->feed[i], 1);
		free_feed(&ev->feed[i]);
	}
	grove_close(ev->looker_g);
	if (ev->wake >= 0)
		close(ev->wake);
	pthread_cond_destroy(&ev->ask);
	pthread_mutex_destroy(&ev->lock);
	free(ev);
}

static void end_threads(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	ev->stopping = 1;
	pthread_cond_signal(&ev->ask);
	pthread_mutex_unlock(&ev->lock);
	ring(ev->wake);
	for (unsigned i = 0; i < ev->nr_feeds; i++)
		ring(ev->feed[i].wake);
	if (ev->running)
		pthread_join(ev->thread, NULL);
	for (unsigned i = 0; i < ev->nr_feeds; i++)
		if (ev->feed[i].running)
			pthread_join(ev->feed[i].thread, NULL);
	pthread_join(ev->looker, NULL);
}

static int start_feed(struct events *ev, const char *const *stores, size_t nr)
{
	struct feed *f = &ev->feed[ev->nr_feeds++];
	int rc;

	f->ev = ev;
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = f->wake < 0 || (nr ? pool_open_stores(ev->server, stores, nr, &f->g) : pool_open_grove(ev->server, NULL, &f->g));
	if (!rc && nr && store_url_is_elsewhere(*stores)) {
		f->store = strdup(*stores);
		rc = !f->store;
		if (!rc)
			store_url_hide_password(f->store);
	}
	return rc || grove_watch_open(f->g, NULL, &f->sessions);
}

/* One for each store elsewhere, and first the one for all others, if there are any. */
static int start_feeds(struct events *ev)
{
	const struct opt_list *all = &ev->server->set->stores;
	const char **here = calloc(all->nr + 1, sizeof(*here));
	size_t nr = 0;
	int rc = !here;

	for (size_t i = 0; i < all->nr && !rc; i++)
		if (!store_url_is_elsewhere(all->item[i]))
			here[nr++] = all->item[i];
	if (!rc && (nr || !all->nr))
		rc = start_feed(ev, here, nr == all->nr ? 0 : nr);
	for (size_t i = 0; i < all->nr && !rc; i++) {
		const char *store = all->item[i];

		if (store_url_is_elsewhere(store))
			rc = start_feed(ev, &store, 1);
	}
	free(here);
	for (unsigned i = 0; i < ev->nr_feeds && !rc; i++) {
		rc = pthread_create(&ev->feed[i].thread, NULL, feed, &ev->feed[i]);
		ev->feed[i].running = !rc;
	}
	return rc;
}

/* The feed of the store that the session is in. */
static struct feed *feed_of(struct events *ev, const struct held *h)
{
	for (unsigned i = 0; i < ev->nr_feeds; i++)
		if (ev->feed[i].store && !h->path && store_is(h->store, ev->feed[i].store))
			return &ev->feed[i];
	return &ev->feed[0];
}

int events_start(struct server *s)
{
	struct events *ev = calloc(1, sizeof(*ev) + (s->set->stores.nr + 1) * sizeof(ev->feed[0]));

	if (!ev)
		return -1;
	ev->server = s;
	pthread_mutex_init(&ev->lock, NULL);
	pthread_cond_init(&ev->ask, NULL);
	ev->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ev->wake < 0 || pool_open_grove(s, NULL, &ev->looker_g) || pthread_create(&ev->looker, NULL, look, ev)) {
		free_events(ev);
		return -1;
	}
	ev->running = !start_feeds(ev) && !pthread_create(&ev->thread, NULL, run, ev);
	if (!ev->running) {
		end_threads(ev);
		free_events(ev);
		return -1;
	}
	s->events = ev;
	return 0;
}

void events_stop(struct server *s)
{
	if (s->events)
		end_threads(s->events);
}

void events_free(struct server *s)
{
	if (s->events)
		free_events(s->events);
	s->events = NULL;
}

/* ----------------------------------------------------------------- the routes */

/* Hands the stream to the thread. The request is answered with the beginning of the stream. */
static int events_join(struct request *r, struct client *c)
{
	struct events *ev = r->server->events;
	int rc = stream_new(0, &r->stream);

	if (rc) {
		free_client(c);
		return reply_fail(r, rc, "out of memory");
	}
	r->status = 200;
	r->type = "text/event-stream";
	c->r = request_ref(r);
	pthread_mutex_lock(&ev->lock);
	rc = ev->stopping;
	if (!rc) {
		c->next = ev->joining;
		ev->joining = c;
	}
	pthread_mutex_unlock(&ev->lock);
	if (rc) {
		free_client(c);
		return 0;  /* an empty stream, which ends with the server */
	}
	ring(ev->wake);
	return REPLY_GOES_ON;
}

/* Returns how the library can find the session: its path, or its id and store. */
static char *what_of(const struct held *h)
{
	char mark[5], *out = NULL;
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (h->path)
		return strdup(h->path);
	store_url_mark(h->store, mark);
	doc_printf(&d, "%s~%s", h->id, mark);
	if (!d.rc)
		out = strdup(d.buf.ptr);
	doc_release(&d);
	return out;
}

/* Finds the session that r->capture[0] names. With `must`, fails if it does not exist. */
static int resolve(struct request *r, struct subscription *s, int must)
{
	struct held *h = NULL;
	int rc = hold(r, 0, &h);

	s->key = strdup(r->capture[0]);
	if (!rc) {
		s->what = what_of(h);
		s->feed = feed_of(r->server->events, h);
		hold_release(r, h);
	}
	if (!s->key || (!rc && !s->what))
		return reply_fail(r, GROVE_ENOMEM, "out of memory");
	if (rc == GROVE_ENOTFOUND && !must) {
		r->detail.code = 0;
		return 0;
	}
	return rc;
}

static const char *last_id(const struct request *r)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Last-Event-ID");
}

static int is_rev(const char *text, char end)
{
	size_t n = strspn(text, "0123456789");

	return n && n < 20 && (text[n] == end || !text[n]);
}

/*
 * Parses a decimal cursor up to `end`. A client with an unreadable cursor has seen
 * something, but we do not know what, so it starts from the beginning, which usually means
 * a reset.
 */
static uint64_t read_cursor(const char *text, char end)
{
	return is_rev(text, end) ? strtoull(text, NULL, 10) : 0;
}

int get_session_events(struct request *r)
{
	struct client *c = calloc(1, sizeof(*c) + sizeof(c->sub[0]));
	const char *last = last_id(r);
	int rc;

	if (!c)
		return reply_fail(r, GROVE_ENOMEM, "out of memory");
	c->nr = c->single = 1;
	c->sub[0].client = c;
	c->sub[0].rev = last && *last ? read_cursor(last, '\0') : GROVE_REV_NOW;
	rc = resolve(r, &c->sub[0], 1);
	if (rc) {
		free_client(c);
		return rc;
	}
	return events_join(r, c);
}

/* Returns the rev for a key from the cursor, or else from the parameter. */
static uint64_t rev_of(const char *cursor, const char *key, const char *given)
{
	size_t n = strlen(key);

	for (const char *p = cursor; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, key, n) && p[n] == ':')
			return read_cursor(p + n + 1, ',');
	return given ? read_cursor(given, '\0') : GROVE_REV_NOW;
}

static int add_wanted(struct request *r, struct client *c, const char *text)
{
	struct subscription *s = &c->sub[c->nr];
	const char *colon = strrchr(text, ':'), *before = r->capture[0];
	char key[300];
	int rc;

	if (c->nr == SUBSCRIPTIONS_MAX)
		return reply_fail(r, GROVE_EINVAL, "a stream can have at most %u sessions", SUBSCRIPTIONS_MAX);
	if (!*text || colon == text || (colon && !is_rev(colon + 1, '\0')) ||
	    (size_t)((colon ? colon : text + strlen(text)) - text) >= sizeof(key))
		return reply_fail(r, GROVE_EINVAL, "s is KEY:REV");
	memset(key, 0, sizeof(key));
	memcpy(key, text, (size_t)((colon ? colon : text + strlen(text)) - text));
	c->nr++;
	s->client = c;
	s->rev = rev_of(last_id(r), key, colon ? colon + 1 : NULL);
	r->capture[0] = key;
	rc = resolve(r, s, 0);
	r->capture[0] = before;
	return rc;
}

int get_events(struct request *r)
{
	struct client *c = calloc(1, sizeof(*c) + SUBSCRIPTIONS_MAX * sizeof(c->sub[0]));
	int rc = c ? query_flag(r, "list", &c->list) : reply_fail(r, GROVE_ENOMEM, "out of memory");

	for (unsigned i = 0; i < r->target.nr_params && !rc; i++)
		if (!strcmp(r->target.param[i].name, "s"))
			rc = add_wanted(r, c, r->target.param[i].value);
	if (!rc && !c->list && !c->nr)
		rc = reply_fail(r, GROVE_EINVAL, "ask for list=1, or for sessions: s=KEY:REV");
	if (rc) {
		if (c)
			free_client(c);
		return rc;
	}
	c->afresh = c->list && last_id(r);
	return events_join(r, c);
}
