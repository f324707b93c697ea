/*
 * api/check.c: looking for damage and mending it, of grove.h made real, thinly.
 */
#include "check/fix.h"

#include <stdlib.h>

static int told(struct grove *g, int rc, const struct grove_detail *d)
{
	if (rc < 0) {
		pthread_mutex_lock(&g->lock);
		g->detail = *d;
		g->detail.code = rc;
		pthread_mutex_unlock(&g->lock);
	}
	return rc;
}

/* Where a log of a root is. What has a path is found by it; the others by their key. */
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
		if (!out->project || !out->session)
			rc = grove__fail_nomem(d);
		if (!rc)
			rc = grove__peek_root_dialect(g, root, key, &out->dialect, d);
		if (rc)
			grove__where_release(out);
	}
	grove__buf_release(&path);
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
	c->name = strdup(at->session);
	rc = c->name ? grove__check(c->g, at, named, c, c->result, c->d) : grove__fail_nomem(c->d);
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

	p.path = path.len ? path.ptr : key->session;
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
	if (rc < 0 && rc != GROVE_ENOMEM && c->d->code == rc)
		rc = unreadable(c, key);
	return rc;
}

int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
		struct grove_check_result *result)
{
	struct grove_check_result unwanted = { .size = sizeof(unwanted) };
	struct grove_detail d;
	struct check_all c = { .g = g, .fn = fn, .payload = payload, .d = &d };
	struct grove__where at;
	uint64_t hidden;
	int rc = 0;

	grove__fail_clear(&d);
	if (!result)
		result = &unwanted;
	c.result = result;
	result->files = result->entries = result->problems = 0;
	if (what) {
		rc = grove__locate(g, what, &at, &d);
		return told(g, rc ? rc : check_one(&c, &at), &d);
	}
	hidden = grove__hidden_count(g);
	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		c.root = &g->roots[i];
		rc = grove__store_list(c.root->store, NULL, check_key, &c, &d);
	}
	if (!rc)
		rc = grove__hidden_check(g, hidden, &d);
	return told(g, rc, &d);
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

static int fix_key(void *payload, const struct grove_key *key)
{
	struct fix_all *f = payload;
	struct grove__where at;
	int rc;

	grove__fail_clear(f->d);
	rc = place(f->g, f->root, key, &at, f->d);
	if (!rc) {
		rc = grove__fix(f->g, &at, f->opt, f->result, f->d);
		grove__where_release(&at);
	}
	/* one that cannot be mended does not keep the others from it */
	if (rc >= 0 || rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED || f->d->code != rc)
		return rc;
	if (!f->rc) {
		f->rc = rc;
		f->first = *f->d;
	}
	return 0;
}

/* What an older caller knows of the options; the rest is as if it were not asked for. */
static struct grove_fix_options known(const struct grove_fix_options *opt)
{
	struct grove_fix_options o = { .size = sizeof(o) };

	if (opt)
		memcpy(&o, opt, opt->size < sizeof(o) ? opt->size : sizeof(o));
	return o;
}

int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
	      struct grove_fix_result *result)
{
	struct grove_fix_options o = known(opt);
	struct grove_fix_result r = { .size = sizeof(r) };
	struct fix_all f = { .g = g, .opt = &o, .result = &r };
	struct grove__where at;
	uint64_t hidden;
	struct grove_detail d;
	int rc = 0;

	grove__fail_clear(&d);
	f.d = &d;
	if (what) {
		rc = grove__locate(g, what, &at, &d);
		if (!rc) {
			rc = grove__fix(g, &at, &o, &r, &d);
			grove__where_release(&at);
		}
	}
	hidden = grove__hidden_count(g);
	for (size_t i = 0; !what && i < g->nr_roots && !rc; i++) {
		f.root = &g->roots[i];
		rc = grove__store_list(f.root->store, NULL, fix_key, &f, &d);
	}
	if (!rc && !f.rc)
		rc = grove__hidden_check(g, hidden, &d);
	if (!rc && f.rc) {
		rc = f.rc;
		d = f.first;
	}
	if (result)
		memcpy(result, &r, result->size && result->size < sizeof(r) ? result->size : sizeof(r));
	return told(g, rc, &d);
}
