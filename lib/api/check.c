/*
 * api/check.c: the public calls of grove/check.h.
 */
#include "api/api.h"
#include "check/check.h"
#include "check/fix.h"

#include <stdlib.h>

/* Finds a log of a root: by its path if it has one, otherwise by its key. */
static int place(struct grove *g, struct grove__root *root, const struct grove_key *key,
		 struct grove__where *out, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__store_describe(root->store, key, &path) ? grove__fail_nomem(d) : 0;

	memset(out, 0, sizeof(*out));
	if (!rc && path.len) {
		rc = grove__locate_path(g, path.ptr, out, d);
	} else if (!rc) {
		out->store = root->store;
		out->agent = root->agent;
		out->project = strdup(key->project);
		out->session = strdup(key->session);
		out->sub = *key->subpath ? strdup(key->subpath) : NULL;
		if (!out->project || !out->session || (*key->subpath && !out->sub))
			rc = grove__fail_nomem(d);
		if (!rc)
			rc = grove__peek_root_dialect(g, root, key, &out->dialect, d);
		if (rc)
			grove__where_release(out);
	}
	grove__buf_release(&path);
	return rc;
}

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

/* -------------------------------------------------------------------- check */

struct check_all {
	struct grove *g;
	struct grove__root *root;
	grove_problem_fn *fn;
	void *payload;
	struct grove_check_result *result;
	struct grove_detail *d;
	char *name;                  /* of the session at hand, where it has no path */
};

static int named(void *payload, const struct grove_problem *p)
{
	struct check_all *c = payload;
	struct grove_problem named = *p;

	if (!*named.path)
		named.path = c->name;
	return c->fn(c->payload, &named);
}

static int check_one(struct check_all *c, struct grove__where *at)
{
	int rc;

	/* what is checked takes hold of the place */
	c->name = strdup(at->sub ? at->sub : at->session);
	rc = c->name ? grove__check_empty(at, named, c, c->result) : grove__fail_nomem(c->d);
	if (rc == 1)
		rc = grove__check(c->g, at, named, c, c->result, c->d);
	free(c->name);
	grove__where_release(at);
	return rc;
}

/* A session that could not be read. */
static int unreadable(struct check_all *c, const struct grove_key *key)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_problem p = { .line = 1, .kind = "unreadable", .detail = c->d->message };
	int rc = grove__store_describe(c->root->store, key, &path);

	p.path = path.len ? path.ptr : *key->subpath ? key->subpath : key->session;
	c->result->files++;
	c->result->problems++;
	if (!rc)
		rc = c->fn(c->payload, &p);
	grove__buf_release(&path);
	return rc;
}

static int check_key(void *payload, const struct grove_key *key)
{
	struct check_all *c = payload;
	struct grove__where at;
	int rc;

	grove__fail_clear(c->d);
	rc = place(c->g, c->root, key, &at, c->d);
	if (!rc)
		rc = check_one(c, &at);
	/* one file that cannot be read does not hide the others */
	if (rc < 0 && rc != GROVE_ENOMEM && rc != GROVE_ECANCELLED && c->d->code == rc)
		rc = unreadable(c, key);
	return rc;
}

static int check_sub(void *payload, const struct grove_key *key)
{
	struct check_all *c = payload;
	int rc = is_listed(c->g, c->root, key);

	return rc < 0 ? grove__fail_nomem(c->d) : rc ? check_key(c, key) : 0;
}

static int check_what(struct check_all *c, const char *what)
{
	struct grove__where at;
	int rc = grove__locate(c->g, what, &at, c->d);

	if (rc)
		return rc;
	if (!at.sub)
		rc = grove__check_left(at.store, &(struct grove_key){ at.project, at.session, "" }, c->fn,
				       c->payload, c->result, c->d);
	if (!rc)
		return check_one(c, &at);
	grove__where_release(&at);
	return rc;
}

static int check_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct check_all *c = payload;
	int rc;

	c->root = root;
	rc = grove__store_list(root->store, NULL, check_key, c, d);
	rc = rc ? rc : grove__root_list_subs(c->g, root, check_sub, c, d);
	return rc ? rc : grove__check_left(root->store, NULL, c->fn, c->payload, c->result, d);
}

static int check_all(struct check_all *c)
{
	uint64_t hidden = grove__hidden_count(c->g);
	int rc = grove__roots_ask(c->g, ROOTS_ALL, check_root, c, c->d);

	return rc ? rc : grove__hidden_check(c->g, hidden, c->d);
}

int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
		struct grove_check_result *result)
{
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct check_all c = { .g = g, .fn = fn, .payload = payload, .result = &r, .d = &d };
	int rc = grove__sized_check(result, grove__fail_clear(&d));

	if (!rc)
		rc = what ? check_what(&c, what) : check_all(&c);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}

/* ---------------------------------------------------------------------- fix */

struct fix_all {
	struct grove *g;
	struct grove__root *root;
	const struct grove_fix_options *opt;
	struct grove_fix_result *result;
	struct grove_detail *d;
	struct grove_detail first;   /* the first failure */
	int rc;
};

static int fix_one(struct fix_all *f, struct grove__where *at)
{
	int rc = grove__fix_empty(at, f->opt, f->result, f->d);

	if (rc == 1)
		rc = grove__fix(f->g, at, f->opt, f->result, f->d);
	grove__where_release(at);
	return rc;
}

static int fix_key(void *payload, const struct grove_key *key)
{
	struct fix_all *f = payload;
	struct grove__where at;
	int rc;

	grove__fail_clear(f->d);
	rc = place(f->g, f->root, key, &at, f->d);
	if (!rc)
		rc = fix_one(f, &at);
	/* one that cannot be mended does not keep the others from it */
	if (rc >= 0 || rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || f->d->code != rc)
		return rc;
	if (!f->rc) {
		f->rc = rc;
		f->first = *f->d;
	}
	return 0;
}

static int fix_sub(void *payload, const struct grove_key *key)
{
	struct fix_all *f = payload;
	int rc = is_listed(f->g, f->root, key);

	return rc < 0 ? grove__fail_nomem(f->d) : rc ? fix_key(f, key) : 0;
}

static int fix_what(struct fix_all *f, const char *what)
{
	struct grove__where at;
	int rc = grove__locate(f->g, what, &at, f->d);

	if (rc)
		return rc;
	if (!at.sub)
		rc = grove__fix_left(at.store, &(struct grove_key){ at.project, at.session, "" }, f->opt, f->result,
				     f->d);
	if (!rc)
		return fix_one(f, &at);
	grove__where_release(&at);
	return rc;
}

static int fix_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct fix_all *f = payload;
	int rc;

	f->root = root;
	rc = grove__store_list(root->store, NULL, fix_key, f, d);
	rc = rc ? rc : grove__root_list_subs(f->g, root, fix_sub, f, d);
	return rc ? rc : grove__fix_left(root->store, NULL, f->opt, f->result, d);
}

static int fix_all(struct fix_all *f)
{
	uint64_t hidden = grove__hidden_count(f->g);
	int rc = grove__roots_ask(f->g, ROOTS_ALL, fix_root, f, f->d);

	if (!rc && f->rc) {
		*f->d = f->first;
		return f->rc;
	}
	return rc ? rc : grove__hidden_check(f->g, hidden, f->d);
}

int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
	      struct grove_fix_result *result)
{
	struct grove_fix_options o;
	struct grove_fix_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct fix_all f = { .g = g, .opt = &o, .result = &r, .d = &d };
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__sized_check(result, &d);
	if (!rc)
		rc = what ? fix_what(&f, what) : fix_all(&f);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}
