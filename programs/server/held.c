/*
 * held.c: open sessions, and views of them that requests share.
 */
#include "held.h"
#include "auth.h"
#include "handlers.h"
#include "recent.h"
#include "workers.h"
#include "reply.h"
#include "route.h"
#include "kit/store_url.h"
#include "kit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of the latest lookup of an address. */
struct name {
	char *key;
	struct held *held;
	int64_t at;
};

struct helds {
	struct server *server;
	struct grove *g;             /* sessions are opened with this, because it outlives the
	                                workers */
	pthread_mutex_t lock;
	struct held *first;
	unsigned nr;
	struct name name[NAMES_MAX];
};

/* -------------------------------------------------------------------- words */

int store_is(const char *store, const char *name)
{
	size_t n;

	store += !strncmp(store, "file:", 5) ? 5 : 0;
	name += !strncmp(name, "file:", 5) ? 5 : 0;
	n = strlen(name);
	while (n > 1 && name[n - 1] == '/')
		n--;
	return !strncmp(store, name, n) && (!store[n] || !strcmp(store + n, "/"));
}

int is_archive(const struct grove_store_about *s)
{
	return s->agent && !strcmp(s->agent, "grove");
}

/* A search for one of this server's stores. */
struct store_choice {
	const struct opt_list *named;   /* from the command line; stores are reported in that
	                                   order */
	const char *wanted, *found;
	size_t at;
	int known;
};

static int match_store(void *payload, const struct grove_store_about *s)
{
	struct store_choice *c = payload;
	size_t at = c->at++;

	if (!store_is(s->url, c->wanted) || is_archive(s))
		return 0;
	c->known = 1;
	/* the reported URL has no password, so use the one we were given; a directory needs none */
	c->found = at < c->named->nr ? c->named->item[at] : s->dir ? s->url : NULL;
	return 1;
}

int store_known(struct request *r, const char *name, const char **url)
{
	struct store_choice c = { .named = &r->server->set->stores, .wanted = name };

	grove_store_each(r->g, match_store, &c);
	*url = c.found;
	return c.known;
}

const char *store_provider(const char *store)
{
	if (!strncmp(store, "sqlite:", 7))
		return "sqlite";
	if (!strncmp(store, "mysql:", 6))
		return "mysql";
	if (!strncmp(store, "memory:", 7))
		return "memory";
	return "file";
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* -------------------------------------------------------------------- table */

int helds_new(struct server *s, struct helds **out)
{
	struct helds *h = calloc(1, sizeof(*h));

	*out = h;
	if (!h)
		return GROVE_ENOMEM;
	h->server = s;
	pthread_mutex_init(&h->lock, NULL);
	return pool_open_grove(s, NULL, &h->g);
}

static void close_handles(struct held *h)
{
	grove_view_unref(h->view);
	grove_session_close(h->reader);
	grove_session_close(h->writer);
	grove_carry_close(h->carry);
	h->carry = NULL;
	h->view = NULL;
	h->reader = h->writer = NULL;
}

static void held_free(struct held *h)
{
	close_handles(h);
	grove_close(h->own);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->write_lock);
	free(h->what);
	free(h->key);
	free(h->id);
	free(h->store);
	free(h->cwd);
	free(h->agent);
	free(h->dialect);
	free(h->path);
	free(h->parent);
	free(h);
}

/* Removes it from the table and from all names. Needs the lock. */
static void forget(struct helds *all, struct held *h)
{
	for (struct held **p = &all->first; *p; p = &(*p)->next)
		if (*p == h) {
			*p = h->next;
			all->nr--;
			break;
		}
	for (unsigned i = 0; i < NAMES_MAX; i++)
		if (all->name[i].held == h)
			all->name[i].held = NULL;
	h->dropped = 1;
}

void helds_free(struct helds *all)
{
	if (!all)
		return;
	while (all->first) {
		struct held *h = all->first;

		forget(all, h);
		held_free(h);
	}
	for (unsigned i = 0; i < NAMES_MAX; i++)
		free(all->name[i].key);
	grove_close(all->g);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* Returns the least recently used session, or NULL if all are in use. Needs the lock. */
static struct held *oldest(struct helds *all)
{
	struct held *found = NULL;

	for (struct held *h = all->first; h; h = h->next)
		if (!h->refs && (!found || h->used < found->used))
			found = h;
	return found;
}

/* Needs the session's lock. */
static int has_idle_writer(const struct held *h, int64_t now)
{
	return h->writer && !h->writes && now - h->written > WRITER_IDLE_MS;
}

/* A session whose lock is taken is not idle. */
static int is_busy(struct held *h)
{
	return pthread_mutex_trylock(&h->lock) != 0;
}

/* Returns the sessions with an idle writer, each with a reference; how many is in *nr. */
static struct held **find_idle(struct helds *all, int64_t now, size_t *nr)
{
	struct held **idle;

	*nr = 0;
	pthread_mutex_lock(&all->lock);
	idle = malloc((all->nr + 1) * sizeof(*idle));
	for (struct held *h = all->first; h && idle; h = h->next) {
		if (is_busy(h))
			continue;
		if (has_idle_writer(h, now)) {
			h->refs++;
			idle[(*nr)++] = h;
		}
		pthread_mutex_unlock(&h->lock);
	}
	pthread_mutex_unlock(&all->lock);
	return idle;
}

static void release(struct helds *all, struct held *h)
{
	int last;

	pthread_mutex_lock(&all->lock);
	last = !--h->refs && h->dropped;
	pthread_mutex_unlock(&all->lock);
	if (last)
		held_free(h);
}

static void close_idle_writers(struct helds *all, int64_t now)
{
	size_t nr;
	struct held **idle = find_idle(all, now, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (!is_busy(idle[i])) {
			if (has_idle_writer(idle[i], now)) {
				grove_session_close(idle[i]->writer);
				idle[i]->writer = NULL;
			}
			pthread_mutex_unlock(&idle[i]->lock);
		}
		release(all, idle[i]);
	}
	free(idle);
}

/*
 * To close a session its store may be asked, which may not answer. So that happens without
 * the table's lock, for which all requests wait.
 */
void helds_tidy(struct helds *all)
{
	int64_t now = now_ms();
	struct held *h, *gone = NULL;

	close_idle_writers(all, now);
	pthread_mutex_lock(&all->lock);
	while ((h = oldest(all)) && (all->nr > HELD_MAX || now - h->used > HELD_IDLE_MS)) {
		forget(all, h);
		h->next = gone;
		gone = h;
	}
	pthread_mutex_unlock(&all->lock);
	while ((h = gone)) {
		gone = h->next;
		held_free(h);
	}
}

/* Needs the lock. */
static struct name *name_of(struct helds *all, const char *key)
{
	return &all->name[text_hash(TEXT_HASH_BEGIN, key) & (NAMES_MAX - 1)];
}

/* *fresh: it need not be looked up again. */
static struct held *known(struct helds *all, const char *key, int *fresh)
{
	struct held *h = NULL;
	struct name *n;

	pthread_mutex_lock(&all->lock);
	n = name_of(all, key);
	if (n->held && !strcmp(n->key, key)) {
		h = n->held;
		h->refs++;
		*fresh = now_ms() - n->at < NAME_FRESH_MS;
		h->used = *fresh ? now_ms() : h->used;
	}
	pthread_mutex_unlock(&all->lock);
	return h;
}

void hold_release(struct request *r, struct held *h)
{
	if (h)
		release(r->server->helds, h);
}

void hold_drop(struct request *r, struct held *h)
{
	struct helds *all = r->server->helds;

	pthread_mutex_lock(&all->lock);
	if (!h->dropped)
		forget(all, h);
	pthread_mutex_unlock(&all->lock);
	recent_forget(r->server->recent, h->path);
	pthread_mutex_lock(&h->lock);
	if (!h->writes)
		close_handles(h);
	pthread_mutex_unlock(&h->lock);
}

/* ------------------------------------------------------------------- finding */

/* A session in a database has a name but no path. */
static const char *path_of(const struct grove_list_item *i)
{
	return i->path && *i->path == '/' ? i->path : NULL;
}

static const char *what_of(const struct grove_list_item *i)
{
	return path_of(i) ? i->path : i->id;
}

static struct held *make(const struct grove_list_item *i, const char *key)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->write_lock, NULL);
	h->what = copy(what_of(i));
	h->key = copy(key);
	h->id = copy(i->id);
	h->store = copy(i->store);
	h->cwd = copy(i->cwd);
	h->agent = copy(i->agent);
	h->dialect = copy(i->dialect);
	h->path = copy(path_of(i));
	h->parent = copy(i->parent_session);
	h->created = i->created;
	h->archived = i->archived;
	if (!h->what || !h->key || !h->id || !h->store || !h->cwd || !h->agent || !h->dialect) {
		held_free(h);
		return NULL;
	}
	return h;
}

/* Finds the item's session in the table, or adds it. */
static struct held *take(struct helds *all, const struct grove_list_item *i, const char *key)
{
	const char *what = what_of(i);
	struct held *h;
	struct name *n;

	pthread_mutex_lock(&all->lock);
	for (h = all->first; h; h = h->next)
		if (!strcmp(h->what, what) && !strcmp(h->store, i->store))
			break;
	if (!h) {
		h = make(i, key);
		if (h) {
			h->next = all->first;
			all->first = h;
			all->nr++;
		}
	}
	if (h) {
		h->refs++;
		h->used = now_ms();
		n = name_of(all, key);
		if (!n->key || strcmp(n->key, key)) {
			free(n->key);
			n->key = strdup(key);
		}
		n->held = n->key ? h : NULL;
		n->at = now_ms();
	}
	pthread_mutex_unlock(&all->lock);
	return h;
}

/* Rejects ids that could mean something else, such as a path or the newest session. */
static int good_id(const char *id)
{
	return *id && *id != '-' && *id != '.' && strlen(id) < 256 && !strchr(id, '/') && strcmp(id, "last");
}

/* Splits "ID~abcd"; `mark` is "" if there is none. */
static void split_key(const char *key, char *id, size_t size, char mark[5])
{
	const char *tilde = strrchr(key, '~');

	mark[0] = '\0';
	snprintf(id, size, "%s", key);
	if (tilde && strlen(tilde) == 5 && strspn(tilde + 1, "0123456789abcdef") == 4) {
		memcpy(mark, tilde + 1, 5);
		if ((size_t)(tilde - key) < size)
			id[tilde - key] = '\0';
	}
}

enum fit {
	FIT_NOT,
	FIT_STORE,      /* the id fits, and so does the mark if it is that of the store */
	FIT_SESSION     /* the mark is the session's own */
};

static enum fit fits(const struct request *r, const struct grove_list_item *i, const char *id, const char *mark)
{
	char store[5], own[5];

	store_url_mark(i->store, store);
	store_url_session_mark(i->store, i->path, own);
	if (strcmp(i->id, id) || !auth_allows(&r->who, i->store, i->cwd))
		return FIT_NOT;
	return !strcmp(own, mark) ? FIT_SESSION : !*mark || !strcmp(store, mark) ? FIT_STORE : FIT_NOT;
}

/* Adds to the error the sessions that the id may mean. */
static void put_candidates(struct request *r, const struct grove_list *l, const char *id)
{
	char mark[5];

	doc_release(&r->out);
	doc_puts(&r->out, "\"candidates\":");
	doc_open(&r->out, '[');
	for (size_t n = 0; n < grove_list_count(l); n++) {
		const struct grove_list_item *i = grove_list_at(l, n);

		if (!fits(r, i, id, ""))
			continue;
		store_url_session_mark(i->store, i->path, mark);
		doc_open(&r->out, '{');
		doc_name(&r->out, "key");
		doc_printf(&r->out, "\"%.255s~%s\"", i->id, mark);
		doc_member(&r->out, "store", i->store);
		doc_member(&r->out, "path", path_of(i));
		doc_member(&r->out, "cwd", i->cwd);
		doc_member(&r->out, "agent", i->agent);
		doc_close(&r->out, '}');
	}
	doc_close(&r->out, ']');
	r->error_members = 1;
}

/* Looks in all stores, because the id is not unique or its store is named. */
static int find_among_all(struct request *r, const char *id, const char *mark, const char *key,
			  struct held **out)
{
	const struct grove_list_item *only = NULL;
	enum fit best = FIT_STORE;
	struct grove_list *l = NULL;
	const char *url;
	unsigned nr = 0;
	int rc = list_all(r->g, &l);

	if (rc)
		rc = reply_fail_grove(r, rc);
	for (size_t n = 0; !rc && n < grove_list_count(l); n++) {
		enum fit f = fits(r, grove_list_at(l, n), id, mark);

		if (f < best)
			continue;
		only = grove_list_at(l, n);
		nr = f > best ? 1 : nr + 1;
		best = f;
	}
	if (!rc && nr > 1) {
		put_candidates(r, l, id);
		rc = reply_fail(r, GROVE_EAMBIGUOUS, "several sessions have this id; use the key of one of the candidates");
	} else if (!rc && !nr) {
		rc = reply_fail(r, GROVE_ENOTFOUND, "there is no such session");
	} else if (!rc) {
		*out = take(r->server->helds, only, key);
		rc = *out ? 0 : GROVE_ENOMEM;
		/*
		 * in a database the session is known by its id alone, which another store
		 * may have, too
		 */
		if (!rc && !(*out)->path && !(*out)->own && store_known(r, only->store, &url))
			rc = pool_open_grove(r->server, url, &(*out)->own);
	}
	grove_list_free(l);
	return rc;
}

static int find(struct request *r, const char *key, struct held **out)
{
	char id[300], mark[5];
	struct grove_list *l = NULL;
	int rc;

	split_key(key, id, sizeof(id), mark);
	if (!good_id(id))
		return reply_fail(r, GROVE_ENOTFOUND, "there is no such session");
	if (*mark)
		return find_among_all(r, id, mark, key, out);
	rc = grove_find(r->g, id, 0, &l);
	if (rc == GROVE_EAMBIGUOUS) {
		grove_list_free(l);
		return find_among_all(r, id, mark, key, out);
	}
	if (rc && rc != GROVE_ENOTFOUND)
		rc = reply_fail_grove(r, rc);
	else if (rc || !grove_list_count(l) || !fits(r, grove_list_at(l, 0), id, ""))
		rc = reply_fail(r, GROVE_ENOTFOUND, "there is no such session");
	if (!rc) {
		*out = take(r->server->helds, grove_list_at(l, 0), key);
		rc = *out ? 0 : GROVE_ENOMEM;
	}
	grove_list_free(l);
	return rc;
}

/* ---------------------------------------------------------------- sub-agents */

struct wanted_agent {
	const char *id;
	char path[4096];
};

static int is_agent(void *payload, const struct grove_subagent *a)
{
	struct wanted_agent *w = payload;
	const char *id = w->id;

	/* the transcript of agent a1b2 is the session agent-a1b2 */
	if (!strncmp(id, "agent-", 6) && strncmp(a->id, "agent-", 6))
		id += 6;
	if (strcmp(a->id, id) || !a->path)
		return 0;
	snprintf(w->path, sizeof(w->path), "%s", a->path);
	return 1;
}

/* Finds the transcript of a sub-agent, a separate session in its parent's store and directory. */
static int find_sub(struct request *r, struct held *parent, const char *sub, struct held **out)
{
	struct wanted_agent w = { .id = sub };
	struct grove_view *v;
	struct grove_list_item item = { 0 };
	char key[600];
	int rc = hold_view(r, parent, &v);

	if (rc)
		return rc;
	grove_view_unref(v);
	pthread_mutex_lock(&parent->lock);
	rc = parent->reader ? grove_session_subagent_each(parent->reader, is_agent, &w) : GROVE_ESTALE;
	pthread_mutex_unlock(&parent->lock);
	if (rc == 0 || rc == GROVE_ENOTSUP)
		return reply_fail(r, GROVE_ENOTFOUND, "this session has no such sub-agent");
	if (rc < 0)
		return reply_fail(r, rc, "%s", grove_strerror(rc));
	snprintf(key, sizeof(key), "%.255s/%.255s", parent->key, sub);
	item.path = w.path;
	item.id = sub;
	item.dialect = parent->dialect;
	item.agent = parent->agent;
	item.store = parent->store;
	item.cwd = parent->cwd;
	item.parent_session = parent->id;
	item.created = GROVE_NO_TIME;
	*out = take(r->server->helds, &item, key);
	return *out ? 0 : GROVE_ENOMEM;
}

/* A thread that a store keeps waiting is one of a few. */
static int wait_for_store(struct request *r, const char *store)
{
	return r->worker && pool_wait_for_store(r->worker, store)
		? reply_fail(r, GROVE_EAWAY, "too many requests wait for this session's store; try again later") : 0;
}

int hold(struct request *r, unsigned flags, struct held **out)
{
	const char *sub = flags & HOLD_ALONE ? NULL : query_text(r, "sub");
	struct held *h, *parent;
	int rc = 0, fresh = 0;

	*out = NULL;
	/* changes apply to the session itself; to change a transcript, use its own id */
	if (sub && *sub && r->route->scope > SCOPE_READ)
		return reply_fail(r, GROVE_EINVAL, "sub can only be used in requests that read");
	h = known(r->server->helds, r->capture[0], &fresh);
	/* to look it up again, its store is asked again */
	if (h && auth_allows(&r->who, h->store, h->cwd))
		rc = wait_for_store(r, h->store);
	if (h && (rc || !fresh || flags & HOLD_AFRESH)) {
		hold_release(r, h);
		h = NULL;
	}
	if (h && !auth_allows(&r->who, h->store, h->cwd)) {
		hold_release(r, h);
		return reply_fail(r, GROVE_ENOTFOUND, "there is no such session");
	}
	if (!h && !rc)
		rc = find(r, r->capture[0], &h);
	if (!rc)
		rc = wait_for_store(r, h->store);
	if (!rc && sub && *sub) {
		parent = h;
		h = NULL;
		rc = find_sub(r, parent, sub, &h);
		hold_release(r, parent);
	}
	*out = h;
	return rc;
}

/* -------------------------------------------------------------------- views */

static struct grove *grove_of(const struct request *r, const struct held *h)
{
	return h->own ? h->own : r->server->helds->g;
}

static int reopen(struct request *r, struct held *h)
{
	int rc;

	grove_view_unref(h->view);
	grove_session_close(h->reader);
	h->view = NULL;
	h->reader = NULL;
	rc = grove_session_open(grove_of(r, h), h->what, GROVE_OPEN_READ, &h->reader);
	if (rc) {
		reply_fail_session(r, h->reader, rc);
		grove_session_close(h->reader);
		h->reader = NULL;
	}
	return rc;
}

static int look(struct request *r, struct held *h)
{
	struct grove_view *fresh = NULL;
	int rc = grove_session_refresh(h->reader);

	if (rc < 0 || (rc == 0 && h->view))
		return rc;
	rc = grove_session_view(h->reader, &fresh);
	if (rc) {
		reply_fail_session(r, h->reader, rc);
		grove_view_unref(fresh);
		return rc;
	}
	grove_view_unref(h->view);
	h->view = fresh;
	return 0;
}

int hold_view(struct request *r, struct held *h, struct grove_view **out)
{
	uint64_t generation;
	int had, rc = 0;

	*out = NULL;
	pthread_mutex_lock(&h->lock);
	if (!h->reader)
		rc = reopen(r, h);
	had = h->view != NULL;
	generation = had ? grove_view_generation(h->view) : 0;
	if (!rc) {
		rc = look(r, h);
		/* a rewritten log is opened again, so that nothing of the old one remains */
		if (rc < 0 || (had && grove_view_generation(h->view) != generation)) {
			rc = reopen(r, h);
			if (!rc)
				rc = look(r, h);
		}
	}
	if (!rc)
		*out = grove_view_ref(h->view);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

void hold_owner(struct held *h, struct grove_buf *out)
{
	pthread_mutex_lock(&h->lock);
	if (h->reader)
		grove_session_value_get(h->reader, "agentId", out);
	pthread_mutex_unlock(&h->lock);
}

/* The owner is stored outside the log, so changing it does not change the rev. */
static int state_etag(struct request *r, struct held *h, const struct grove_view *v)
{
	unsigned long long generation = grove_view_generation(v), rev = grove_view_rev(v);
	struct grove_buf owner = GROVE_BUF_INIT;
	int has;

	if (r->route->owner)
		hold_owner(h, &owner);
	has = owner.len ? reply_etag(r, "%llu.%llu.%08x", generation, rev, text_hash(TEXT_HASH_BEGIN, owner.ptr))
			: reply_etag(r, "%llu.%llu", generation, rev);
	grove_buf_release(&owner);
	return has;
}

int hold_state(struct request *r, struct held **h, struct grove_view **v)
{
	int rc = hold(r, 0, h);

	*v = NULL;
	/* record the file's state before reading: if it is unchanged later, so is what we read */
	if (!rc && r->route->pace == PACE_SHARED && (*h)->path && !r->shown)
		r->shown = shown_new(r->server->recent, (*h)->path, (*h)->store, (*h)->cwd);
	if (!rc)
		rc = hold_view(r, *h, v);
	if (rc) {
		hold_release(r, *h);
		*h = NULL;
		return rc;
	}
	return state_etag(r, *h, *v);
}

void hold_state_end(struct request *r, struct held *h, struct grove_view *v)
{
	grove_view_unref(v);
	hold_release(r, h);
}

/* ------------------------------------------------------------------ writing */

int hold_writer(struct request *r, struct held *h, struct grove_session **out)
{
	int rc = 0;

	*out = NULL;
	pthread_mutex_lock(&h->lock);
	if (!h->writer) {
		rc = grove_session_open(grove_of(r, h), h->what, GROVE_OPEN_WRITE, &h->writer);
		if (rc) {
			reply_fail_session(r, h->writer, rc);
			grove_session_close(h->writer);
			h->writer = NULL;
		}
	}
	if (!rc) {
		h->writes++;
		*out = h->writer;
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

void hold_writer_end(struct request *r, struct held *h)
{
	recent_forget(r->server->recent, h->path);
	pthread_mutex_lock(&h->lock);
	h->writes--;
	h->written = now_ms();
	pthread_mutex_unlock(&h->lock);
}
