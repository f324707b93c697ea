/*
 * logs/walk.c: what stores have.
 */
#include "logs/logs.h"

struct walk {
	struct grove *g;
	const struct grove__logs_which *which;
	struct grove__root *root;
	enum grove__logs_subs subs;      /* of this root */
	grove__logs_fn *fn;
	void *payload;
};

static int pass_on(struct walk *w, const struct grove_key *key, const struct grove_store_log_stat *st)
{
	/* a survey has them all */
	if (*key->subpath ? w->subs == LOGS_SESSIONS : w->subs == LOGS_ONLY_SUBS)
		return 0;
	if (!w->which->copies && grove__root_is_copy(w->g, w->root, key))
		return 0;
	return w->fn(w->payload, w->root, key, st);
}

static int named(void *payload, const struct grove_key *key)
{
	return pass_on(payload, key, NULL);
}

static int surveyed(void *payload, const struct grove_key *key, const struct grove_store_log_stat *st)
{
	return pass_on(payload, key, st);
}

static int choose_subs(struct walk *w, struct grove_detail *d)
{
	const struct grove__root *root = w->root;
	bool yes = false;
	int rc;

	w->subs = w->which->subs;
	if (w->subs == LOGS_ALL_SUBS && root->flat)
		w->subs = LOGS_SESSIONS;
	if (w->subs != LOGS_LISTED_SUBS)
		return 0;
	w->subs = LOGS_SESSIONS;
	if (root->archive && !w->which->copies)
		return 0;
	rc = grove__root_lists_subs(w->g, w->root, &yes, d);
	w->subs = yes ? LOGS_ALL_SUBS : LOGS_SESSIONS;
	return rc;
}

static int walk_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct walk *w = payload;
	const struct grove__logs_which *which = w->which;
	bool top = which->top && root->dir;
	const char *project = top ? "" : which->project;
	int rc;

	w->root = root;
	if (root->archive && which->no_archives)
		return 0;
	rc = choose_subs(w, d);
	if (rc)
		return rc;
	if (which->tell == LOGS_STATES ||
	    (which->tell == LOGS_SURVEY && !root->dir && grove__store_has_survey(root->store)))
		return grove__store_survey(root->store, surveyed, w, d);
	if (w->subs != LOGS_ONLY_SUBS)
		rc = grove__store_list(root->store, project, named, w, d);
	if (rc || w->subs == LOGS_SESSIONS || root->flat || top)
		return rc;
	return grove__store_list_subs(root->store, project, named, w, d);
}

int grove__logs_walk(struct grove *g, const struct grove__logs_which *which, grove__logs_fn *fn, void *payload,
		     struct grove_detail *d)
{
	struct walk w = { .g = g, .which = which, .fn = fn, .payload = payload };

	return which->only ? walk_root(&w, which->only, d)
			   : grove__roots_ask(g, which->roots ? which->roots : ROOTS_ALL, walk_root, &w, d);
}
