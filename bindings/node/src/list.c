/*
 * list.c: calls over all sessions: list, search, usage. Each is a job that answers in JSON.
 */
#include "addon.h"

#include <stdlib.h>

/* The most text arguments that a call has. They are copied, since the job outlives the call. */
enum { MAX_TEXTS = 6 };

struct query {
	struct job job;
	char *text[MAX_TEXTS];
	union {
		struct grove_list_options list;
		struct grove_usage_options usage;
		struct {
			struct grove_search_options opt;
			unsigned flags;
		} search;
	} how;
	bool some;               /* the array in `out` has an element already */
	struct grove_list *kept; /* the list, which list_and_text() may hand to JavaScript */
};

/*
 * A list that JavaScript keeps, to read the texts of its sessions later, and the struct
 * grove that made it.
 */
struct listed {
	struct handle handle;
	struct grove *g;
	struct grove_list *l;
};
static const char listed_kind[] = "a list";

static void query_release(struct job *job)
{
	struct query *q = (struct query *)job;

	for (size_t i = 0; i < MAX_TEXTS; i++)
		free(q->text[i]);
	grove_list_free(q->kept);
	free(q);
}

static struct query *query_new(struct call *c, int (*run)(struct job *job))
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q) {
		throw_error(c, GROVE_ENOMEM, NULL);
		return NULL;
	}
	q->job.run = run;
	q->job.release = query_release;
	return q;
}

/* Copies argument `i` into q->text[at], which *out then points to. */
static bool keep_text(struct call *c, struct query *q, size_t i, size_t at, const char **out)
{
	const char *text = NULL;

	if (!take_text(c, i, &text))
		return false;
	if (text && !(q->text[at] = strdup(text))) {
		throw_error(c, GROVE_ENOMEM, NULL);
		return false;
	}
	*out = q->text[at];
	return true;
}

static int between(struct query *q)
{
	int rc = grove_buf_add(&q->job.out, grove_str(q->some ? "," : "["));

	q->some = true;
	return rc;
}

static int end(struct query *q)
{
	return grove_buf_add(&q->job.out, grove_str(q->some ? "]" : "[]"));
}

/* --------------------------------------------------------------------- list */

static int run_list(struct job *job)
{
	struct query *q = (struct query *)job;
	struct grove_list *l = NULL;
	int rc = grove_list(job->g, &q->how.list, &l);

	for (size_t i = 0; !rc && i < grove_list_count(l); i++) {
		rc = between(q);
		if (!rc)
			rc = grove_list_item_json(grove_list_at(l, i), &job->out);
	}
	q->kept = l;
	return rc ? rc : end(q);
}

static void listed_finalise(napi_env env, void *data, void *hint)
{
	struct listed *listed = data;

	(void)env;
	(void)hint;
	grove_list_free(listed->l);
	grove_close(listed->g);
	free(listed);
}

/* [JSON, list] */
static napi_value list_and_text(struct job *job, napi_env env)
{
	struct query *q = (struct query *)job;
	struct listed *listed = calloc(1, sizeof(*listed));
	napi_value both, list;

	if (!listed)
		return NULL;
	*listed = (struct listed){ { listed_kind }, job->g, q->kept };
	job->g = NULL;
	q->kept = NULL;
	if (napi_create_external(env, listed, listed_finalise, NULL, &list) != napi_ok) {
		listed_finalise(env, listed, NULL);
		return NULL;
	}
	if (napi_create_array_with_length(env, 2, &both) != napi_ok ||
	    napi_set_element(env, both, 0, js_slice(env, grove_buf_slice(&job->out))) != napi_ok ||
	    napi_set_element(env, both, 1, list) != napi_ok)
		return NULL;
	return both;
}

/* listText(list, index): returns what was said in a session; null if the session is gone. */
static napi_value list_text(struct call *c)
{
	struct listed *listed = take_handle(c, 0, listed_kind);
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_detail why;
	uint64_t at = UINT64_MAX;
	int rc;

	if (!listed || !take_u64(c, 1, &at))
		return NULL;
	rc = grove_list_text(listed->l, (size_t)at, &out);
	if (!rc)
		return js_buf(c, &out);
	grove_buf_release(&out);
	if (rc == GROVE_ENOTFOUND)
		return js_text(c, NULL);
	memset(&why, 0, sizeof(why));
	grove_error(listed->g, &why);
	return throw_error(c, rc, &why);
}

/*
 * list(world, flags, cwd, query, sort, limit, ticket, onProgress, keep): answers with
 * JSON; with `keep`, answers with [JSON, list], where the list is for listText().
 */
static napi_value list(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct query *q = w ? query_new(c, run_list) : NULL;
	struct grove_list_options *opt;
	unsigned sort = GROVE_SORT_MODIFIED, keep = 0;
	uint64_t limit = 0;

	if (!q)
		return NULL;
	opt = &q->how.list;
	opt->size = sizeof(*opt);
	if (!take_unsigned(c, 1, &opt->flags) || !keep_text(c, q, 2, 0, &opt->cwd) ||
	    !keep_text(c, q, 3, 1, &opt->query) || !take_unsigned(c, 4, &sort) || !take_u64(c, 5, &limit) ||
	    !take_unsigned(c, 8, &keep)) {
		query_release(&q->job);
		return NULL;
	}
	q->job.result = keep ? list_and_text : NULL;
	opt->sort = (enum grove_sort)sort;
	opt->limit = (size_t)limit;
	return job_start(c, &q->job, w, "grove:list", 6, 7);
}

/* -------------------------------------------------------------------- usage */

static int run_usage(struct job *job)
{
	struct query *q = (struct query *)job;
	struct grove_usage *u = NULL;
	int rc = grove_usage(job->g, &q->how.usage, &u);

	if (!rc)
		rc = grove_usage_json(u, &job->out);
	grove_usage_free(u);
	return rc;
}

/* usage(world, by, since, until, prices, ticket, onProgress) */
static napi_value usage(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct query *q = w ? query_new(c, run_usage) : NULL;
	struct grove_usage_options *opt;
	unsigned by = GROVE_USAGE_DAY;

	if (!q)
		return NULL;
	opt = &q->how.usage;
	opt->size = sizeof(*opt);
	if (!take_unsigned(c, 1, &by) || !take_i64(c, 2, &opt->period.since) ||
	    !take_i64(c, 3, &opt->period.until) || !keep_text(c, q, 4, 0, &opt->prices)) {
		query_release(&q->job);
		return NULL;
	}
	opt->by = (enum grove_usage_by)by;
	return job_start(c, &q->job, w, "grove:usage", 5, 6);
}

/* ------------------------------------------------------------------- search */

static int run_search(struct job *job)
{
	struct query *q = (struct query *)job;
	struct grove_search *s = NULL;
	struct grove_hits *hits = NULL;
	int rc = grove_search_open(job->g, q->how.search.flags, &s);

	if (!rc)
		rc = grove_search_run(s, q->text[0], &q->how.search.opt, &hits);
	if (rc && s)
		grove_search_error(s, &job->why);
	for (size_t i = 0; !rc && i < grove_hits_count(hits); i++) {
		rc = between(q);
		rc = rc ? rc : grove_hit_json(grove_hits_at(hits, i), &q->job.out);
	}
	grove_hits_free(hits);
	grove_search_close(s);
	return rc ? rc : end(q);
}

/* search(world, query, flags, in, role, cwd, agent, since, until, limit, ticket, onProgress) */
static napi_value search(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct query *q = w ? query_new(c, run_search) : NULL;
	struct grove_search_options *opt;
	const char *query;
	uint64_t limit = 0;

	if (!q)
		return NULL;
	opt = &q->how.search.opt;
	opt->size = sizeof(*opt);
	if (!keep_text(c, q, 1, 0, &query) || !take_unsigned(c, 2, &q->how.search.flags) ||
	    !take_unsigned(c, 3, &opt->in) || !keep_text(c, q, 4, 1, &opt->role) ||
	    !keep_text(c, q, 5, 2, &opt->cwd) || !keep_text(c, q, 6, 3, &opt->agent) ||
	    !take_i64(c, 7, &opt->since) || !take_i64(c, 8, &opt->until) || !take_u64(c, 9, &limit)) {
		query_release(&q->job);
		return NULL;
	}
	if (!query) {
		query_release(&q->job);
		return throw_type(c, "a query is expected");
	}
	opt->limit = (size_t)limit;
	return job_start(c, &q->job, w, "grove:search", 10, 11);
}

const struct function list_functions[] = {
	{ "list", list },
	{ "listText", list_text },
	{ "usage", usage },
	{ "search", search },
	{ NULL, NULL }
};
