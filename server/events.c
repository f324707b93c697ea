/*
 * events.c: streams of events.
 *
 * One thread feeds all streams. It has two watch sets (<grove/live.h>): one for sessions,
 * and one for the list, which exists while some client subscribes to it.
 *
 *	stream ──< subscription >── topic ── the set
 *
 * A topic is a session in the set. Subscribers that are at the same rev share a topic, so a
 * thousand readers of a session cost no more than one; a reader that is behind gets its
 * own. Requests hand over their stream (events_join) and return.
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
#include "programs/store_url.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BEAT_MS 15000
#define UNSENT_MAX (256u << 10)
#define GOODBYE_ROOM 4096u
#define SUBSCRIPTIONS_MAX 64u
#define BURST 500u
/* How many events are taken from one set before the other gets its turn. */
#define TURN 256

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
	struct subscription *next;   /* of the same topic */
	struct client *client;
	struct topic *topic;         /* NULL if there is none (any more) */
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
	int ended;
	int64_t beat;                /* ms: when we last sent something */
	unsigned nr;
	struct subscription sub[];
};

struct events {
	struct server *server;
	struct grove *g;
	struct grove_watch *sessions, *list;
	int wake;
	pthread_t thread;
	pthread_t looker;            /* see look() */
	struct grove *looker_g;
	pthread_mutex_t lock;        /* protects the next three; paired with `ask` */
	struct client *joining;
	int stopping;
	int asked;                   /* to look for openers */
	pthread_cond_t ask;
	/* used by the thread alone: */
	struct client *clients;
	struct topic *topics;
	unsigned nr_list;            /* clients subscribed to the list */
	int64_t list_retry;          /* ms: when to try again to watch the list */
	struct opened_set *open;     /* what list subscribers were told last; NULL if nothing yet */
};

/* ------------------------------------------------------------------ sending */

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
	rc = stream_offer(c->r->stream, text, UNSENT_MAX);
	c->beat = now_ms();
	if (rc == GROVE_EFULL)
		stream_offer(c->r->stream, grove_str(bye), UNSENT_MAX + GOODBYE_ROOM);
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
	t->rev = rev;
	for (struct subscription *s = t->first; s; s = s->next) {
		s->rev = rev;
		if (!body->rc)
			tell_client(ev, s->client, kind, s->key, grove_buf_slice(&body->buf));
		else
			end_client(ev, s->client, body->rc);
	}
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
static void tell_label(struct events *ev, struct topic *t, uint32_t i)
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
		send_all(ev, t, "label", t->rev, &d);
	}
	doc_release(&d);
	grove_buf_release(&target);
	grove_buf_release(&text);
}

static void flush(struct events *ev, struct topic *t)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (t->nr) {
		put_burst(t, &d);
		send_all(ev, t, "append", t->rev, &d);
	}
	for (uint32_t i = t->from; i < t->from + t->nr; i++)
		if (!grove_view_entry(t->view, i, &e) && e.kind == GROVE_KIND_LABEL)
			tell_label(ev, t, i);
	doc_release(&d);
	drop_burst(t);
}

static void flush_all(struct events *ev)
{
	for (struct topic *t = ev->topics; t; t = t->next)
		flush(ev, t);
}

/* Adds an entry to the current burst, or begins a new one. */
static void append(struct events *ev, struct topic *t, const struct grove_event *e)
{
	if (t->nr && (t->from + t->nr != e->first || t->nr == BURST || t->generation != e->generation))
		flush(ev, t);
	if (!t->view || grove_view_count(t->view) <= e->first) {
		struct grove_view *v;

		if (grove_watch_view(ev->sessions, &v))
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

static void put_name(struct events *ev, struct doc *d)
{
	struct grove_view *v;

	if (grove_watch_view(ev->sessions, &v))
		return;
	doc_name(d, "session");
	doc_open(d, '{');
	doc_member(d, "name", grove_view_name(v));
	doc_close(d, '}');
	grove_view_unref(v);
}

static void tell(struct events *ev, struct topic *t, const struct grove_event *e)
{
	static const char *const kinds[] = {
		[GROVE_EVENT_APPEND] = "append", [GROVE_EVENT_UPDATE] = "update", [GROVE_EVENT_LEAF] = "leaf",
		[GROVE_EVENT_RENAME] = "meta", [GROVE_EVENT_RESET] = "reset", [GROVE_EVENT_DELETE] = "remove",
	};
	struct doc d = { GROVE_BUF_INIT, 0 };

	if (e->kind == GROVE_EVENT_APPEND && e->nr) {
		append(ev, t, e);
		return;
	}
	flush(ev, t);
	t->gone = e->kind == GROVE_EVENT_DELETE;
	if (e->kind == GROVE_EVENT_APPEND) {
		/* not an entry; only the cursor moves */
		t->rev = e->rev;
		for (struct subscription *s = t->first; s; s = s->next)
			s->rev = e->rev;
		return;
	}
	begin_body(&d, e->rev, e->generation);
	if (e->kind == GROVE_EVENT_UPDATE || e->kind == GROVE_EVENT_LEAF)
		doc_member(&d, "entryId", e->entry_id);
	if (e->kind == GROVE_EVENT_RENAME)
		put_name(ev, &d);
	if ((size_t)e->kind < sizeof(kinds) / sizeof(*kinds))
		send_all(ev, t, kinds[e->kind], e->rev, &d);
	doc_release(&d);
}

static void free_topic(struct events *ev, struct topic *t)
{
	struct topic **p = &ev->topics;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	/* a topic whose end was sent has left the set already, or is about to */
	grove_watch_remove(ev->sessions, t);
	drop_burst(t);
	free(t->what);
	free(t);
}

static struct topic *find_topic(struct events *ev, const struct subscription *s)
{
	for (struct topic *t = ev->topics; t; t = t->next)
		if (!t->lone && !t->gone && !strcmp(t->what, s->what) && (s->rev == GROVE_REV_NOW || s->rev == t->rev))
			return t;
	return NULL;
}

static int is_shared(struct events *ev, const char *what)
{
	for (struct topic *t = ev->topics; t; t = t->next)
		if (!t->lone && !t->gone && !strcmp(t->what, what))
			return 1;
	return 0;
}

/* Returns the rev at which a new topic begins: the requested one, or the session's current one. */
static uint64_t rev_now(struct events *ev, const char *what)
{
	struct grove_session *s = NULL;
	struct grove_view *v;
	uint64_t rev = GROVE_REV_NOW;

	if (!grove_session_open(ev->g, what, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v)) {
		rev = grove_view_rev(v);
		grove_view_unref(v);
	}
	grove_session_close(s);
	return rev;
}

static struct topic *make_topic(struct events *ev, struct subscription *s)
{
	struct topic *t = calloc(1, sizeof(*t));

	if (!t || !(t->what = strdup(s->what))) {
		free(t);
		return NULL;
	}
	t->lone = is_shared(ev, s->what);
	t->rev = s->rev == GROVE_REV_NOW ? rev_now(ev, s->what) : s->rev;
	if (grove_watch_add(ev->sessions, s->what, t->rev, t)) {
		free(t->what);
		free(t);
		return NULL;
	}
	t->next = ev->topics;
	ev->topics = t;
	return t;
}

/* Leaves s->topic NULL if there is no such session. */
static void subscribe(struct events *ev, struct subscription *s)
{
	struct topic *t = NULL;

	if (s->what) {
		/* a new subscriber must not get events that were queued for earlier ones */
		flush_all(ev);
		t = find_topic(ev, s);
		t = t ? t : make_topic(ev, s);
	}
	if (!t) {
		free(s->what);
		s->what = NULL;
		return;
	}
	s->rev = t->rev;
	s->topic = t;
	s->next = t->first;
	t->first = s;
}

static void unsubscribe(struct events *ev, struct subscription *s)
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
		free_topic(ev, t);
}

/* ------------------------------------------------------------------ the list */

static void open_list(struct events *ev)
{
	struct grove_watch_options o = { .size = sizeof(o), .flags = GROVE_WATCH_LIST };

	if (ev->list || now_ms() < ev->list_retry)
		return;
	if (grove_watch_open(ev->g, &o, &ev->list)) {
		grove_watch_close(ev->list);
		ev->list = NULL;
		ev->list_retry = now_ms() + 1000;
	}
}

static void close_list(struct events *ev)
{
	grove_watch_close(ev->list);
	ev->list = NULL;
}

/* A client with a limited token learns only that something changed, not what. */
static void tell_list(struct events *ev, const char *change, const char *id)
{
	struct doc d = { GROVE_BUF_INIT, 0 };

	doc_member(&d, "change", change);
	for (struct client *c = ev->clients; c; c = c->next)
		if (c->list && !d.rc)
			tell_client(ev, c, "sessions", c->r->who.token ? NULL : id, grove_buf_slice(&d.buf));
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
	for (struct client *c = ev->clients; c && item; c = c->next)
		if (c->list)
			tell_live(ev, c, c->r->who.token ? NULL : item->id, c->r->who.token ? NULL : x,
				  item->agent);
}

/*
 * Reports what was opened or closed between two looks. The sessions are listed only if
 * something was.
 */
static void compare_openers(struct events *ev, const struct opened_set *was, const struct opened_set *now)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l = NULL;
	int differ = was->nr != now->nr;

	for (size_t i = 0; i < now->nr && !differ; i++)
		differ = !has(was, &now->at[i]);
	if (!differ || !ev->nr_list || grove_list(ev->g, &o, &l))
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
 * process, so it has its own thread and delays no event.
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
		if (!opened_now(ev->server->openers, ev->looker_g, &now))
			opened_give_back(ev->server->openers, now);
	}
	pthread_mutex_unlock(&ev->lock);
	return NULL;
}

/* Reports the latest findings, and asks for the next look. */
static void look_for_openers(struct events *ev)
{
	struct opened_set *now = opened_last(ev->server->openers), *was = ev->open;

	pthread_mutex_lock(&ev->lock);
	ev->asked = 1;
	pthread_cond_signal(&ev->ask);
	pthread_mutex_unlock(&ev->lock);
	if (!now)
		return;
	for (struct client *c = ev->clients; c; c = c->next)
		tell_live_sessions(ev, c, now);
	if (was && was != now)
		compare_openers(ev, was, now);
	opened_give_back(ev->server->openers, was);
	ev->open = now;
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

static void take_joining(struct events *ev)
{
	struct client *c, *next;

	pthread_mutex_lock(&ev->lock);
	c = ev->joining;
	ev->joining = NULL;
	pthread_mutex_unlock(&ev->lock);
	for (; c; c = next) {
		next = c->next;
		c->next = ev->clients;
		ev->clients = c;
		c->beat = now_ms();
		metrics_streams(ev->server->metrics, 1);
		/*
		 * The client must miss no change, so everything it subscribed to is watched
		 * before the stream says that it is connected.
		 */
		ev->nr_list += !!c->list;
		if (c->list)
			open_list(ev);
		for (unsigned i = 0; i < c->nr; i++)
			subscribe(ev, &c->sub[i]);
		offer(ev, c, grove_str(": grove\nretry: 2000\n\n"));
		for (unsigned i = 0; i < c->nr; i++)
			if (!c->sub[i].topic)
				tell_client(ev, c, "remove", c->sub[i].key, grove_str("\"rev\":null"));
		if (c->afresh)
			tell_client(ev, c, "sessions", NULL, grove_str("\"change\":\"reset\""));
	}
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
		if (!c->ended) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		ev->nr_list -= !!c->list;
		for (unsigned i = 0; i < c->nr; i++)
			unsubscribe(ev, &c->sub[i]);
		free_client(c);
	}
	if (!ev->nr_list && ev->list)
		close_list(ev);
}

/* ---------------------------------------------------------------- the thread */

static void drain_sessions(struct events *ev)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc = 0;

	for (int i = 0; i < TURN && ev->topics && !(rc = grove_watch_next(ev->sessions, 0, &e)); i++)
		if (e.tag)
			tell(ev, e.tag, &e);
	if (rc < 0 && rc != GROVE_ENOTFOUND)
		metrics_store_error(ev->server->metrics);
	flush_all(ev);
}

static void drain_list(struct events *ev)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc = 0;

	for (int i = 0; i < TURN && !(rc = grove_watch_next(ev->list, 0, &e)); i++)
		tell_list(ev, grove_event_name(e.kind), e.session_id);
	if (rc < 0)
		metrics_store_error(ev->server->metrics);
}

static int is_stopping(struct events *ev)
{
	int yes;

	pthread_mutex_lock(&ev->lock);
	yes = ev->stopping;
	pthread_mutex_unlock(&ev->lock);
	return yes;
}

static void *run(void *arg)
{
	struct events *ev = arg;
	int64_t looked = now_ms();

	while (!is_stopping(ev)) {
		struct pollfd p[] = { { .fd = ev->wake, .events = POLLIN },
				      { .fd = ev->topics ? grove_watch_fd(ev->sessions) : -1, .events = POLLIN },
				      { .fd = ev->list ? grove_watch_fd(ev->list) : -1, .events = POLLIN } };
		uint64_t n;

		poll(p, 3, ev->clients ? 1000 : -1);
		if (p[0].revents && read(ev->wake, &n, sizeof(n)) < 0 && errno != EAGAIN)
			break;
		take_joining(ev);
		if (ev->nr_list)
			open_list(ev);
		if (p[1].revents)
			drain_sessions(ev);
		if (p[2].revents && ev->list)
			drain_list(ev);
		if (now_ms() - looked >= 1000) {
			look_after_clients(ev);
			if (ev->clients)
				look_for_openers(ev);
			looked = now_ms();
		}
	}
	take_joining(ev);
	for (struct client *c = ev->clients; c; c = c->next) {
		offer(ev, c, grove_str("event: bye\ndata: {\"reason\":\"stop\"}\n\n"));
		end_client(ev, c, 0);
	}
	look_after_clients(ev);
	return NULL;
}

static void ring(struct events *ev)
{
	uint64_t one = 1;

	/* the write fails only if the counter is full, and then it wakes the thread anyway */
	if (write(ev->wake, &one, sizeof(one)) < 0)
		return;
}

/* Safe to call with a partly set up `ev`. */
static void free_events(struct events *ev)
{
	close_list(ev);
	opened_give_back(ev->server->openers, ev->open);
	grove_watch_close(ev->sessions);
	grove_close(ev->g);
	grove_close(ev->looker_g);
	if (ev->wake >= 0)
		close(ev->wake);
	pthread_cond_destroy(&ev->ask);
	pthread_mutex_destroy(&ev->lock);
	free(ev);
}

static void end_looker(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	ev->stopping = 1;
	pthread_cond_signal(&ev->ask);
	pthread_mutex_unlock(&ev->lock);
	pthread_join(ev->looker, NULL);
}

int events_start(struct server *s)
{
	struct events *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return -1;
	ev->server = s;
	pthread_mutex_init(&ev->lock, NULL);
	pthread_cond_init(&ev->ask, NULL);
	ev->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ev->wake < 0 || pool_open_grove(s, NULL, &ev->g) || pool_open_grove(s, NULL, &ev->looker_g) ||
	    grove_watch_open(ev->g, NULL, &ev->sessions) || pthread_create(&ev->looker, NULL, look, ev)) {
		free_events(ev);
		return -1;
	}
	if (pthread_create(&ev->thread, NULL, run, ev)) {
		end_looker(ev);
		free_events(ev);
		return -1;
	}
	s->events = ev;
	return 0;
}

void events_stop(struct server *s)
{
	struct events *ev = s->events;

	if (!ev)
		return;
	end_looker(ev);
	ring(ev);
	pthread_join(ev->thread, NULL);
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
	ring(ev);
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
