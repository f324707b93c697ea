/*
 * log.c: lines under a key. Every call is a job that runs on the world's own struct
 * grove. That is allowed because many threads may call the functions for logs at the same
 * time, and it is needed so that all jobs see the same store if that is in memory.
 *
 * The first job that needs a log opens it, so that making a handle never waits.
 * lib/logs.cjs starts only one job at a time for each log, which keeps calls in order.
 */
#include "addon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char kind[] = "a log";

struct log {
	struct handle handle;
	unsigned refs;           /* one for JavaScript, one for each job; counted on the environment's thread */
	struct world *world;
	char *project, *session, *subpath;
	struct grove_log *l;     /* NULL: not open yet */
};

enum { MAX_TEXTS = 3 };

struct log_job {
	struct job job;
	struct log *log;         /* NULL: the job concerns the store, not one log */
	char *text[MAX_TEXTS];
	size_t len[MAX_TEXTS];
	struct grove_log_options opt;
	/*
	 * all: logEach() lists the sessions of the whole store. some: the array in `out` has an
	 * element already. none: what was asked for does not exist, and the answer is null.
	 */
	bool all, some, none;
};

static struct grove_key key_of(const struct log *log)
{
	return (struct grove_key){ log->project, log->session, log->subpath };
}

static void log_unref(struct log *log)
{
	if (!log || --log->refs)
		return;
	grove_log_close(log->l);
	world_unref(log->world);
	free(log->project);
	free(log->session);
	free(log->subpath);
	free(log);
}

static void release(struct job *job)
{
	struct log_job *j = (struct log_job *)job;

	for (size_t i = 0; i < MAX_TEXTS; i++)
		free(j->text[i]);
	log_unref(j->log);
	free(j);
}

/* ------------------------------------------------------------ making a job */

/* Copies argument `i` into j->text[at], which stays NULL if the argument is absent. */
static bool keep(struct call *c, struct log_job *j, size_t i, size_t at)
{
	if (is_absent(c, i))
		return true;
	j->text[at] = copy_text(c, c->arg[i], &j->len[at]);
	return j->text[at] != NULL;
}

/* Copies a text without U+0000, such as a part of a key. *out is NULL if the argument is absent. */
static bool take_part(struct call *c, size_t i, char **out)
{
	const char *text = NULL;

	if (!take_text(c, i, &text))
		return false;
	*out = text ? strdup(text) : NULL;
	if (text && !*out)
		throw_error(c, GROVE_ENOMEM, NULL);
	return !text || *out;
}

static bool keep_part(struct call *c, struct log_job *j, size_t i, size_t at)
{
	return take_part(c, i, &j->text[at]);
}

static struct log_job *job_new(struct call *c, struct log *log, int (*run)(struct job *job),
			       napi_value (*result)(struct job *job, napi_env env))
{
	struct log_job *j = calloc(1, sizeof(*j));

	if (!j) {
		throw_error(c, GROVE_ENOMEM, NULL);
		return NULL;
	}
	j->job.run = run;
	j->job.result = result;
	j->job.release = release;
	j->job.on_world = true;
	j->opt.size = sizeof(j->opt);
	j->log = log;
	if (log)
		log->refs++;
	return j;
}

static napi_value start(struct call *c, struct log_job *j, struct world *w, const char *name, bool ok)
{
	if (!ok) {
		release(&j->job);
		return NULL;
	}
	return job_start(c, &j->job, w, name, MAX_ARGS, MAX_ARGS);
}

/* ------------------------------------------------------------------ results */

static napi_value text_or_null(struct job *job, napi_env env)
{
	napi_value v = NULL;

	if (!((struct log_job *)job)->none)
		return js_slice(env, grove_buf_slice(&job->out));
	napi_get_null(env, &v);
	return v;
}

static napi_value was_there(struct job *job, napi_env env)
{
	napi_value v = NULL;

	napi_get_boolean(env, job->rc == 0, &v);
	return v;
}

static int tell(struct job *job, const struct grove_log_result *r)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"stored\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"modified\":%" PRId64 "}",
		 r->stored, r->skipped, r->bytes, r->modified);
	return grove_buf_add(&job->out, grove_str(text));
}

/* ------------------------------------------------------------------ one log */

static int open_log(struct log_job *j)
{
	struct log *log = j->log;
	struct grove_key key = key_of(log);
	int rc = log->l ? 0 : grove_log_open(j->job.g, NULL, &key, GROVE_LOG_CREATE, &log->l);

	if (rc && log->l)
		grove_log_error(log->l, &j->job.why);
	if (rc) {
		grove_log_close(log->l);
		log->l = NULL;
	}
	return rc;
}

static int told(struct log_job *j, int rc)
{
	if (rc < 0)
		grove_log_error(j->log->l, &j->job.why);
	return rc;
}

/* Splits text 0 of the job into its lines, which have an LF between them. */
static struct grove_slice *split(const struct log_job *j, size_t *nr)
{
	const char *p = j->text[0], *end = p + j->len[0], *lf;
	struct grove_slice *lines;
	size_t count = 1, i = 0;

	for (lf = p; lf && (lf = memchr(lf, '\n', (size_t)(end - lf))); lf++)
		count++;
	lines = calloc(count, sizeof(*lines));
	for (; lines && p; p = lf ? lf + 1 : NULL, i++) {
		lf = memchr(p, '\n', (size_t)(end - p));
		lines[i] = (struct grove_slice){ p, (size_t)((lf ? lf : end) - p) };
	}
	*nr = j->text[0] ? count : 0;
	return lines;
}

static int run_append(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_slice *lines;
	size_t nr;
	int rc = open_log(j);

	if (rc)
		return rc;
	lines = split(j, &nr);
	rc = lines ? told(j, grove_log_append(j->log->l, lines, nr, &j->opt, &r)) : GROVE_ENOMEM;
	free(lines);
	return rc ? rc : tell(job, &r);
}

static int run_read(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	int rc = open_log(j), tries = 0;

	while (!rc) {
		rc = told(j, grove_log_read(j->log->l, j->opt.seq, j->opt.bytes, grove_buf_sink(&job->out), NULL));
		/* The log was replaced while it was being read: read it again. */
		if (rc != GROVE_ESTALE || tries++ > 8)
			break;
		job->out.len = 0;
		rc = 0;
	}
	j->none = rc == GROVE_ENOTFOUND;
	return j->none ? 0 : rc;
}

static int run_value_get(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	int rc = open_log(j);

	if (!rc)
		rc = told(j, grove_log_value_get(j->log->l, j->text[0], &job->out));
	j->none = rc == GROVE_ENOTFOUND;
	return j->none ? 0 : rc;
}

static int run_value_put(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	struct grove_slice value = { j->text[1], j->len[1] };
	int rc = open_log(j);

	return rc ? rc : told(j, grove_log_value_put(j->log->l, j->text[0], value));
}

static void finalise(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	log_unref(data);
}

/* logNew(world, project, session, subpath) */
static napi_value log_new(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct log *log = w ? calloc(1, sizeof(*log)) : NULL;
	napi_value result = NULL;

	if (!log)
		return w ? throw_error(c, GROVE_ENOMEM, NULL) : NULL;
	log->handle.kind = kind;
	log->refs = 1;
	log->world = world_ref(w);
	if (!take_part(c, 1, &log->project) || !take_part(c, 2, &log->session) || !take_part(c, 3, &log->subpath) ||
	    napi_create_external(c->env, log, finalise, NULL, &result) != napi_ok) {
		log_unref(log);
		return NULL;
	}
	return result;
}

/* logAppend(log, lines, idMember, sync) */
static napi_value log_append(struct call *c)
{
	struct log *log = take_handle(c, 0, kind);
	struct log_job *j = log ? job_new(c, log, run_append, NULL) : NULL;
	unsigned sync = GROVE_SYNC_NONE;
	bool ok;

	if (!j)
		return NULL;
	ok = keep(c, j, 1, 0) && keep_part(c, j, 2, 1) && take_unsigned(c, 3, &sync);
	j->opt.id_member = j->text[1];
	j->opt.sync = (enum grove_sync)sync;
	return start(c, j, log->world, "grove:append", ok);
}

/* logRead(log, from, to) */
static napi_value log_read(struct call *c)
{
	struct log *log = take_handle(c, 0, kind);
	struct log_job *j = log ? job_new(c, log, run_read, text_or_null) : NULL;

	return j ? start(c, j, log->world, "grove:read", take_u64(c, 1, &j->opt.seq) && take_u64(c, 2, &j->opt.bytes)) : NULL;
}

/* logValueGet(log, name), logValuePut(log, name, value) */
static napi_value log_value_get(struct call *c)
{
	struct log *log = take_handle(c, 0, kind);
	struct log_job *j = log ? job_new(c, log, run_value_get, text_or_null) : NULL;

	return j ? start(c, j, log->world, "grove:value", keep_part(c, j, 1, 0)) : NULL;
}

static napi_value log_value_put(struct call *c)
{
	struct log *log = take_handle(c, 0, kind);
	struct log_job *j = log ? job_new(c, log, run_value_put, NULL) : NULL;

	return j ? start(c, j, log->world, "grove:value", keep_part(c, j, 1, 0) && keep(c, j, 2, 1)) : NULL;
}

/* ---------------------------------------------------------------- the store */

static int member(struct grove_buf *out, const char *name, const char *text)
{
	int rc = grove_buf_add(out, grove_str(name));

	if (!rc)
		rc = text ? grove_buf_json_string(out, grove_str(text)) : grove_buf_add(out, grove_str("null"));
	return rc;
}

static int note(void *payload, const struct grove_log_item *item)
{
	struct log_job *j = payload;
	struct grove_buf *out = &j->job.out;
	char text[96];
	int rc = grove_buf_add(out, grove_str(j->some ? "," : "["));

	j->some = true;
	if (!rc)
		rc = member(out, "{\"project\":", item->key.project);
	if (!rc)
		rc = member(out, ",\"session\":", item->key.session);
	if (!rc)
		rc = member(out, ",\"subpath\":", item->key.subpath);
	snprintf(text, sizeof(text), ",\"bytes\":%" PRIu64 ",\"modified\":%" PRId64 "}", item->bytes, item->modified);
	return rc ? rc : grove_buf_add(out, grove_str(text));
}

static struct grove_key key_at(const struct log_job *j, size_t at)
{
	return (struct grove_key){ j->text[at], j->text[at + 1], j->text[at + 2] };
}

static int told_store(struct log_job *j, int rc)
{
	if (rc < 0)
		grove_error(j->job.g, &j->job.why);
	return rc;
}

static int run_each(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	struct grove_key under = key_at(j, 0);
	int rc = told_store(j, grove_log_each(job->g, NULL, j->all ? NULL : &under, 0, note, j));

	return rc ? rc : grove_buf_add(&job->out, grove_str(j->some ? "]" : "[]"));
}

static int run_remove(struct job *job)
{
	struct log_job *j = (struct log_job *)job;
	struct grove_key key = key_at(j, 0);

	return told_store(j, grove_log_remove(job->g, NULL, &key));
}

static napi_value store_job(struct call *c, int (*run)(struct job *job), const char *name, size_t nr,
			    napi_value (*result)(struct job *job, napi_env env))
{
	struct world *w = take_world(c, 0);
	struct log_job *j = w ? job_new(c, NULL, run, result) : NULL;
	bool ok = true;

	for (size_t i = 0; j && ok && i < nr; i++)
		ok = keep_part(c, j, i + 1, i);
	if (j)
		j->all = nr == 2 && is_absent(c, 1) && is_absent(c, 2);
	return j ? start(c, j, w, name, ok) : NULL;
}

/* logEach(world, project, session): lists all sessions, those of a project, or the logs of a session. */
static napi_value log_each(struct call *c)
{
	return store_job(c, run_each, "grove:each", 2, NULL);
}

/* logRemove(world, project, session, subpath) */
static napi_value log_remove(struct call *c)
{
	return store_job(c, run_remove, "grove:remove", 3, was_there);
}

const struct function log_functions[] = {
	{ "logNew", log_new },
	{ "logAppend", log_append },
	{ "logRead", log_read },
	{ "logValueGet", log_value_get },
	{ "logValuePut", log_value_put },
	{ "logEach", log_each },
	{ "logRemove", log_remove },
	{ NULL, NULL }
};
