/*
 * create.c: routes that create, fork and remove sessions.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "within.h"
#include "workers.h"
#include "reply.h"
#include "route.h"
#include "kit/carry.h"
#include "kit/on_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_made(struct request *r, struct grove_session *s)
{
	doc_open(&r->out, '{');
	doc_member(&r->out, "id", grove_session_id(s));
	doc_member(&r->out, "key", grove_session_id(s));
	doc_member(&r->out, "path", grove_session_path(s));
	doc_member(&r->out, "cwd", grove_session_cwd(s));
	doc_member(&r->out, "dialect", grove_session_dialect(s));
	doc_close(&r->out, '}');
}

/* ------------------------------------------------------------------ created */

struct wanted {
	char *store, *dialect, *cwd, *id, *name, *owner;
};

static int read_wanted(struct request *r, struct wanted *w)
{
	struct grove_slice object;
	int rc = body_object(r, &object);

	if (!rc)
		rc = body_text(r, object, "store", &w->store);
	if (!rc)
		rc = body_text(r, object, "dialect", &w->dialect);
	if (!rc)
		rc = body_text(r, object, "cwd", &w->cwd);
	if (!rc)
		rc = body_text(r, object, "id", &w->id);
	if (!rc)
		rc = body_text(r, object, "name", &w->name);
	if (!rc)
		rc = body_text(r, object, "agentId", &w->owner);
	if (!rc && (!w->dialect || !w->cwd))
		rc = reply_fail(r, GROVE_EINVAL, "dialect and cwd are required");
	if (!rc && *w->cwd != '/')
		rc = reply_fail(r, GROVE_EINVAL, "cwd must be an absolute path");
	return rc;
}

static void release_wanted(struct wanted *w)
{
	free(w->store);
	free(w->dialect);
	free(w->cwd);
	free(w->id);
	free(w->name);
	free(w->owner);
}

/* Among the agents' own directories, the dialect determines where the session goes. */
int choose_store(struct request *r, const char *wanted, const char *cwd, const char **store)
{
	const struct opt_list *all = &r->server->set->stores;

	*store = NULL;
	if (wanted) {
		if (!store_known(r, wanted, store))
			return reply_fail(r, GROVE_ENOTFOUND, "this server has no store '%.200s'", wanted);
	} else if (all->nr > 1) {
		return reply_fail(r, GROVE_EINVAL, "several stores are writable; name one");
	} else if (all->nr == 1) {
		*store = all->item[0];
	}
	if (!auth_allows(&r->who, wanted ? wanted : *store ? *store : "", cwd))
		return reply_fail(r, GROVE_EACCESS, "this token does not give access to that store or directory");
	return 0;
}

/* A session without a line yet is not there; what cannot be read is. */
int id_is_taken(struct request *r, const char *id)
{
	struct grove_list *l = NULL;
	int rc = grove_find(r->g, id, 0, &l), taken = 0;

	/* what is found may also begin with it */
	for (size_t i = 0; (!rc || rc == GROVE_EAMBIGUOUS) && i < grove_list_count(l) && !taken; i++)
		taken = !strcmp(grove_list_at(l, i)->id, id);
	grove_list_free(l);
	if (!rc || rc == GROVE_EAMBIGUOUS || rc == GROVE_ENOTFOUND || (rc == GROVE_EDAMAGED && carry_is_empty(r->g, id)))
		return taken;
	return reply_fail_grove(r, rc);
}

static int make(struct request *r, struct grove *g, const struct wanted *w)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW };
	struct grove_session *s = NULL;
	int rc;

	o.dialect = w->dialect;
	o.cwd = w->cwd;
	o.id = w->id;
	o.name = w->name;
	rc = grove_session_create(g, &o, &s);
	if (!rc && w->owner)
		rc = grove_session_value_put(s, "agentId", grove_str(w->owner));
	if (rc)
		reply_fail_session(r, s, rc);
	else
		put_made(r, s);
	grove_session_close(s);
	return rc;
}

/*
 * An id that is given must be new, or neither session could be found by it. Whoever asks
 * first gets it: those who ask at the same time wait.
 */
static int make_known(struct request *r, struct grove *g, const struct wanted *w)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	int rc;

	/* a path is no id, which the library says */
	if (!w->id || strchr(w->id, '/'))
		return make(r, g, w);
	pthread_mutex_lock(&one);
	rc = id_is_taken(r, w->id);
	if (rc > 0)
		rc = reply_fail(r, GROVE_EEXIST, "there is already a session with this id");
	if (!rc)
		rc = make(r, g, w);
	pthread_mutex_unlock(&one);
	return rc;
}

int post_session(struct request *r)
{
	struct wanted w = { 0 };
	struct grove *own = NULL;
	const char *store;
	int rc = read_wanted(r, &w);

	if (!rc)
		rc = choose_store(r, w.store, w.cwd, &store);
	if (!rc && store) {
		rc = pool_open_grove(r->server, store, &own);
		if (rc)
			grove_error(own, &r->detail);
	}
	if (!rc)
		rc = make_known(r, own ? own : r->g, &w);
	grove_close(own);
	release_wanted(&w);
	return rc;
}

/* -------------------------------------------------------------------- forks */

static int fork_from(struct request *r, const char *leaf, const char *cwd)
{
	struct grove_fork_options o = { .size = sizeof(o), .leaf = leaf, .cwd = cwd };
	struct grove_session *s = NULL, *made = NULL;
	struct grove *g;
	struct held *h;
	int rc = hold(r, 0, &h);

	if (!rc && !auth_allows(&r->who, h->store, cwd ? cwd : h->cwd))
		rc = reply_fail(r, GROVE_EACCESS, "this token does not give access to that directory");
	if (!rc) {
		g = h->own ? h->own : r->g;
		rc = grove_session_open(g, h->what, GROVE_OPEN_READ, &s);
		if (!rc)
			rc = grove_session_fork(s, &o, &made);
		if (rc)
			reply_fail_session(r, s, rc);
		else
			rc = within_made(r, g, made);
		if (!rc)
			put_made(r, made);
	}
	grove_session_close(made);
	grove_session_close(s);
	hold_release(r, h);
	return rc;
}

static int read_fork(struct request *r, char **leaf, char **cwd)
{
	struct grove_slice object;
	int rc = 0;

	*leaf = *cwd = NULL;
	if (!r->body.len)
		return 0;
	rc = body_object(r, &object);
	if (!rc)
		rc = body_text(r, object, "entryId", leaf);
	if (!rc)
		rc = body_text(r, object, "cwd", cwd);
	if (!rc && *cwd && **cwd != '/')
		rc = reply_fail(r, GROVE_EINVAL, "cwd must be an absolute path");
	return rc;
}

int post_branch(struct request *r)
{
	char *leaf, *cwd;
	int rc = read_fork(r, &leaf, &cwd);

	if (!rc && !leaf)
		rc = reply_fail(r, GROVE_EINVAL, "entryId is missing");
	if (!rc)
		rc = fork_from(r, leaf, cwd);
	free(leaf);
	free(cwd);
	return rc;
}

int post_fork(struct request *r)
{
	char *leaf, *cwd;
	int rc = read_fork(r, &leaf, &cwd);

	if (!rc)
		rc = fork_from(r, NULL, cwd);
	free(leaf);
	free(cwd);
	return rc;
}

/* ------------------------------------------------------------------ removal */

static int count_one(void *payload, const struct grove_subagent *a)
{
	(void)a;
	++*(uint64_t *)payload;
	return 0;
}

/* Counts the distinct blobs that the lines refer to and a reader would find. */
static uint64_t count_blobs(const struct grove_view *v)
{
	static const char prefix[] = "blob:sha256:";
	struct grove_buf line = GROVE_BUF_INIT;
	char (*seen)[65] = NULL;
	size_t nr = 0;

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		line.len = 0;
		if (grove_view_line(v, i, 0, &line) || !line.len)
			continue;
		for (const char *p = line.ptr; (p = strstr(p, prefix)); p++) {
			const char *hash = p + sizeof(prefix) - 1;
			size_t j = 0;

			if (strspn(hash, "0123456789abcdef") < 64)
				continue;
			while (j < nr && memcmp(seen[j], hash, 64))
				j++;
			if (j == nr) {
				char (*more)[65] = realloc(seen, (nr + 1) * sizeof(*seen));

				if (!more)
					break;
				seen = more;
				memcpy(seen[nr], hash, 64);
				seen[nr++][64] = '\0';
			}
		}
	}
	free(seen);
	grove_buf_release(&line);
	return nr;
}

/* Describes what would be deleted. Where it lies decides, not the owner that the client named. */
static int put_what_goes(struct request *r, struct held *h)
{
	struct grove_view *v;
	uint64_t agents = 0;
	int rc = hold_view(r, h, &v);

	if (rc == GROVE_EDAMAGED) {
		/* A session that cannot be read can still be removed. */
		doc_member(&r->out, "store", h->store);
		return 0;
	}
	if (rc)
		return rc;
	pthread_mutex_lock(&h->lock);
	if (h->reader)
		grove_session_subagent_each(h->reader, count_one, &agents);
	pthread_mutex_unlock(&h->lock);
	doc_member(&r->out, "id", h->id);
	doc_member(&r->out, "store", h->store);
	doc_member(&r->out, "path", h->path);
	put_owner(&r->out, h);
	doc_member_number(&r->out, "entries", count_entries(v));
	doc_member_number(&r->out, "agents", agents);
	doc_member_number(&r->out, "blobs", count_blobs(v));
	doc_member_bool(&r->out, "trash", h->path && on_path("trash"));
	grove_view_unref(v);
	return 0;
}

int delete_session(struct request *r)
{
	struct held *h = NULL;
	struct in_use by;
	struct grove *g;
	int dry = 0, force = 0, rc = query_flag(r, "dryRun", &dry);

	if (!rc)
		rc = query_flag(r, "force", &force);
	if (!rc)
		rc = hold(r, HOLD_AFRESH, &h);
	if (!rc && !dry && !force)
		rc = refuse_live(r, h);
	if (!rc) {
		doc_open(&r->out, '{');
		rc = put_what_goes(r, h);
		look_for_opener(r, h, &by);
		put_opener(&r->out, &by);
		doc_member_bool(&r->out, "removed", !dry);
		doc_close(&r->out, '}');
	}
	if (!rc && !dry) {
		g = h->own ? h->own : r->g;
		hold_drop(r, h);
		rc = grove_remove(g, h->what, 0);
		if (rc)
			grove_error(g, &r->detail);
	}
	hold_release(r, h);
	return rc;
}
