/*
 * logs/walk.c: what stores have.
 */
#include "logs/logs.h"

#include "sys/file.h"

/* In which other root is a log with this name? */
static bool is_elsewhere(const struct grove *g, const struct grove__root *archive, const char *project, size_t len,
			 const char *session)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	bool found = false;

	for (size_t i = 0; i < g->nr_roots && !found; i++) {
		const struct grove__root *r = &g->roots[i];

		if (r == archive || r->archive || !r->dir)
			continue;
		grove__buf_clear(&path);
		found = !grove__buf_addf(&path, "%s/%.*s/%s", r->dir, (int)len, project, session) &&
			!grove__sys_stat(path.ptr, &st) && st.size;
	}
	grove__buf_release(&path);
	return found;
}

/* An archive has the keys of its sources, or PROJECT~2 where two sources have the same. */
static bool is_copy(const struct grove *g, const struct grove__root *root, const struct grove_key *key)
{
	const char *mark = strrchr(key->project, '~');

	if (!root->archive)
		return false;
	if (is_elsewhere(g, root, key->project, strlen(key->project), key->session))
		return true;
	return mark && mark[1] && mark[1 + strspn(mark + 1, "0123456789")] == '\0' &&
	       is_elsewhere(g, root, key->project, (size_t)(mark - key->project), key->session);
}

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
	if (!w->which->copies && is_copy(w->g, w->root, key))
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
	const struct grove__dialect *dialect = w->g && w->g->forced ? w->g->forced : w->root->dialect;
	bool listed = w->which->subs == LOGS_LISTED_SUBS;

	w->subs = w->which->subs;
	if (w->root->flat && w->subs != LOGS_ONLY_SUBS)
		w->subs = LOGS_SESSIONS;
	else if (listed && w->root->archive && !w->which->copies)
		w->subs = LOGS_SESSIONS;
	else if (listed && !dialect && grove__peek_root_likely(w->g, w->root, "", &dialect))
		return grove__fail_nomem(d);
	else if (listed)
		w->subs = dialect->list.with_subagents ? LOGS_ALL_SUBS : LOGS_SESSIONS;
	return 0;
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
