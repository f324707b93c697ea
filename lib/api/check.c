/*
 * api/check.c: the public calls of grove/check.h.
 */
#include "api/api.h"
#include "check/check.h"
#include "check/fix.h"

#include <stdlib.h>

/*
 * Returns 1 if a log in a session's directory is a session that lists show, 0 if it is
 * something else, or GROVE_ENOMEM. One that cannot be read may be one.
 */
static int is_listed(struct grove *g, struct grove__root *root, const struct grove_key *key)
{
	const struct grove__dialect *dialect;
	struct grove_store_log *log;
	struct grove__header h;
	struct grove__arena keep;
	int rc = grove__peek_root_dialect(g, root, key, &dialect, NULL);

	if (!rc)
		rc = grove__log_open(&log, root->store, key, GROVE_STORE_READ, NULL);
	if (rc)
		return rc == GROVE_ENOMEM ? rc : rc == GROVE_EACCESS || rc == GROVE_EIO || rc == GROVE_EAWAY;
	grove__arena_init(&keep);
	rc = grove__peek_header(log, dialect, &keep, &h, NULL);
	rc = rc == GROVE_ENOMEM ? rc : !rc && h.usable;
	grove__log_close(log);
	grove__arena_release(&keep);
	return rc;
}

/* ------------------------------------------------- the sessions that are asked for */

/* What is done with each of them, and with what killed commands left behind. */
struct visit {
	struct grove *g;
	struct grove__root *root;
	int (*one)(struct visit *v, struct grove__where *at);
	/* One that cannot be read, as v->d says, does not keep the others from it. */
	int (*failed)(struct visit *v, const struct grove_key *key);
	int (*left)(struct visit *v, struct grove_store *st, const struct grove_key *near);
	struct grove_detail *d;
	struct grove_detail first;   /* the first failure that is to be returned in the end */
	int rc;
};

static int visit_key(void *payload, struct grove__root *root, const struct grove_key *key,
		     const struct grove_store_log_stat *st)
{
	struct visit *v = payload;
	struct grove__where at;
	int rc = *key->subpath ? is_listed(v->g, root, key) : 1;

	(void)st;
	if (rc <= 0)
		return rc ? grove__fail_nomem(v->d) : 0;
	grove__fail_clear(v->d);
	rc = grove__locate_log(v->g, root, key, &at, v->d);
	if (!rc && !root->dir && (rc = grove__peek_root_dialect(v->g, root, key, &at.dialect, v->d)))
		grove__where_release(&at);
	rc = rc ? rc : v->one(v, &at);
	if (rc >= 0 || rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || v->d->code != rc)
		return rc;
	return v->failed(v, key);
}

static int visit_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct visit *v = payload;
	struct grove__logs_which all = { .only = root, .copies = true, .subs = LOGS_LISTED_SUBS };
	int rc;

	v->root = root;
	rc = grove__logs_walk(v->g, &all, visit_key, v, d);
	return rc ? rc : v->left(v, root->store, NULL);
}

static int visit_all(struct visit *v)
{
	uint64_t hidden = grove__hidden_count(v->g);
	int rc = grove__roots_ask(v->g, ROOTS_ALL, visit_root, v, v->d);

	if (!rc && v->rc) {
		*v->d = v->first;
		return v->rc;
	}
	return rc ? rc : grove__hidden_check(v->g, hidden, v->d);
}

/* `what` NULL: all. */
static int visit(struct visit *v, const char *what)
{
	struct grove__where at;
	int rc;

	if (!what)
		return visit_all(v);
	rc = grove__locate(v->g, what, &at, v->d);
	if (rc)
		return rc;
	if (!at.sub)
		rc = v->left(v, at.store, &(struct grove_key){ at.project, at.session, "" });
	if (!rc)
		return v->one(v, &at);
	grove__where_release(&at);
	return rc;
}

/* -------------------------------------------------------------------- check */

struct checking {
	struct visit base;
	grove_problem_fn *fn;
	void *payload;
	struct grove_check_result *result;
	char *name;                  /* of the session at hand, where it has no path */
};

static int named(void *payload, const struct grove_problem *p)
{
	struct checking *c = payload;
	struct grove_problem named = *p;

	if (!*named.path)
		named.path = c->name;
	return c->fn(c->payload, &named);
}

static int check_one(struct visit *v, struct grove__where *at)
{
	struct checking *c = (struct checking *)v;
	int rc;

	/* what is checked takes hold of the place */
	c->name = strdup(at->sub ? at->sub : at->session);
	rc = c->name ? grove__check_empty(at, named, c, c->result) : grove__fail_nomem(v->d);
	if (rc == 1)
		rc = grove__check(v->g, at, named, c, c->result, v->d);
	free(c->name);
	grove__where_release(at);
	return rc;
}

static int tell_unreadable(struct visit *v, const struct grove_key *key)
{
	struct checking *c = (struct checking *)v;
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_problem p = { .line = 1, .kind = "unreadable", .detail = v->d->message };
	int rc = grove__store_describe(v->root->store, key, &path);

	p.path = path.len ? path.ptr : *key->subpath ? key->subpath : key->session;
	c->result->files++;
	c->result->problems++;
	if (!rc)
		rc = c->fn(c->payload, &p);
	grove__buf_release(&path);
	return rc;
}

static int check_left(struct visit *v, struct grove_store *st, const struct grove_key *near)
{
	struct checking *c = (struct checking *)v;

	return grove__check_left(st, near, c->fn, c->payload, c->result, v->d);
}

int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
		struct grove_check_result *result)
{
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct checking c = { .base = { .g = g, .one = check_one, .failed = tell_unreadable, .left = check_left, .d = &d },
			      .fn = fn, .payload = payload, .result = &r };
	int rc = grove__sized_check(result, grove__fail_clear(&d));

	if (!rc)
		rc = visit(&c.base, what);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}

/* ---------------------------------------------------------------------- fix */

struct fixing {
	struct visit base;
	const struct grove_fix_options *opt;
	struct grove_fix_result *result;
};

static int fix_one(struct visit *v, struct grove__where *at)
{
	struct fixing *f = (struct fixing *)v;
	int rc = grove__fix_empty(at, f->opt, f->result, v->d);

	if (rc == 1)
		rc = grove__fix(v->g, at, f->opt, f->result, v->d);
	grove__where_release(at);
	return rc;
}

static int keep_first(struct visit *v, const struct grove_key *key)
{
	(void)key;
	if (!v->rc) {
		v->rc = v->d->code;
		v->first = *v->d;
	}
	return 0;
}

static int fix_left(struct visit *v, struct grove_store *st, const struct grove_key *near)
{
	struct fixing *f = (struct fixing *)v;

	return grove__fix_left(st, near, f->opt, f->result, v->d);
}

int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
	      struct grove_fix_result *result)
{
	struct grove_fix_options o;
	struct grove_fix_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct fixing f = { .base = { .g = g, .one = fix_one, .failed = keep_first, .left = fix_left, .d = &d },
			    .opt = &o, .result = &r };
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__sized_check(result, &d);
	if (!rc)
		rc = visit(&f.base, what);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}
