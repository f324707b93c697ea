/*
 * jobs.c: work on libuv's threads, answered by a promise.
 *
 * Unless a job sets `on_world`, it has a struct grove of its own, so that it shares
 * nothing with what happens on the environment's thread in the meantime. A job that is
 * asked to stop does so when the library next reports progress.
 */
#include "addon.h"

#include <stdlib.h>

static const char kind[] = "a ticket";

/* ------------------------------------------------------------------ tickets */

static void finalise(napi_env env, void *data, void *hint)
{
	struct ticket *t = data;

	(void)env;
	(void)hint;
	if (t->job)
		t->job->ticket = NULL;
	free(t);
}

/* ticket(): makes a ticket. JavaScript passes it to the call that starts a job, and to cancel() to stop that job. */
static napi_value ticket_new(struct call *c)
{
	struct ticket *t = calloc(1, sizeof(*t));
	napi_value result = NULL;

	if (!t)
		return throw_error(c, GROVE_ENOMEM, NULL);
	t->handle.kind = kind;
	if (napi_create_external(c->env, t, finalise, NULL, &result) != napi_ok)
		free(t);
	return result;
}

struct ticket *take_ticket(struct call *c, size_t i, bool *ok)
{
	struct ticket *t = NULL;

	*ok = true;
	if (!is_absent(c, i)) {
		t = take_handle(c, i, kind);
		*ok = t != NULL;
	}
	return t;
}

static napi_value cancel(struct call *c)
{
	struct ticket *t = take_handle(c, 0, kind);

	if (!t)
		return NULL;
	t->cancelled = true;
	if (t->job)
		atomic_store(&t->job->cancelled, 1);
	return js_undefined(c);
}

/* ----------------------------------------------------------------- progress */

/*
 * Calls onProgress on the environment's thread, with the progress of this moment. The job
 * may have advanced since it asked for the call.
 */
static void tell(napi_env env, napi_value fn, void *context, void *data)
{
	struct job *job = context;
	napi_value arg[2], self, thrown;

	(void)data;
	if (!env || !fn || !atomic_exchange(&job->telling, 0))
		return;
	napi_get_undefined(env, &self);
	napi_create_double(env, (double)atomic_load(&job->done), &arg[0]);
	napi_create_double(env, (double)atomic_load(&job->total), &arg[1]);
	if (napi_call_function(env, self, fn, 2, arg, NULL) == napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &thrown) == napi_ok)
		napi_fatal_exception(env, thrown);
}

/* Delivers a progress report that has not arrived yet, so that none comes after the promise is settled. */
static void tell_last(struct job *job, napi_env env)
{
	napi_value fn = NULL;

	if (job->told && napi_get_reference_value(env, job->teller, &fn) == napi_ok)
		tell(env, fn, job, NULL);
}

static int progress(void *payload, uint64_t done, uint64_t total)
{
	struct job *job = payload;

	if (job->told) {
		atomic_store(&job->done, done);
		atomic_store(&job->total, total);
		if (!atomic_exchange(&job->telling, 1))
			napi_call_threadsafe_function(job->told, NULL, napi_tsfn_nonblocking);
	}
	return atomic_load(&job->cancelled);
}

/* ------------------------------------------------------------------ running */

static void execute(napi_env env, void *data)
{
	struct job *job = data;

	(void)env;
	if (atomic_load(&job->cancelled)) {
		job->rc = GROVE_ECANCELLED;
		return;
	}
	if (job->on_world) {
		job->g = job->world->g;
		job->rc = job->run(job);
		job->g = NULL;
		return;
	}
	grove_set_progress(job->g, (struct grove_progress){ progress, job });
	job->rc = job->run(job);
	if (job->rc && !job->why.code)
		grove_error(job->g, &job->why);
}

/*
 * Drops one hold on the job. The work and the function that reports its progress have one
 * each; whichever ends last frees the job.
 */
static void forget(struct job *job)
{
	struct addon *a = job->addon;

	if (--job->holds)
		return;
	if (job->ticket)
		job->ticket->job = NULL;
	if (job->at) {
		*job->at = job->next;
		if (job->next)
			job->next->at = job->at;
	}
	if (job->teller && !a->ended)
		napi_delete_reference(a->env, job->teller);
	if (job->work && !a->ended)
		napi_delete_async_work(a->env, job->work);
	grove_close(job->g);
	world_unref(job->world);
	grove_buf_release(&job->out);
	job->release(job);
	addon_unref(a);
}

static void told_ended(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	forget(data);
}

static void settle(struct job *job, napi_env env)
{
	napi_value value = NULL;

	if (job->rc < 0)
		napi_reject_deferred(env, job->deferred, js_error(job->addon, job->rc, &job->why));
	else {
		value = job->result ? job->result(job, env) : js_slice(env, grove_buf_slice(&job->out));
		if (!value)
			napi_get_undefined(env, &value);
		napi_resolve_deferred(env, job->deferred, value);
	}
}

static void complete(napi_env env, napi_status status, void *data)
{
	struct job *job = data;
	napi_handle_scope scope;

	if (status == napi_cancelled)
		job->rc = GROVE_ECANCELLED;
	/* If the environment has ended, there is no JavaScript left that could get the answer. */
	if (!job->addon->ended && napi_open_handle_scope(env, &scope) == napi_ok) {
		tell_last(job, env);
		settle(job, env);
		napi_close_handle_scope(env, scope);
	}
	if (job->told && !job->addon->ended)
		napi_release_threadsafe_function(job->told, napi_tsfn_release);
	forget(job);
}

static bool wants_progress(struct call *c, struct job *job, size_t i, napi_value name)
{
	napi_valuetype type = napi_undefined;

	if (is_absent(c, i))
		return true;
	napi_typeof(c->env, c->arg[i], &type);
	if (type != napi_function) {
		throw_type(c, "onProgress must be a function");
		return false;
	}
	if (napi_create_threadsafe_function(c->env, c->arg[i], NULL, name, 0, 1, job, told_ended, job, tell,
					    &job->told) != napi_ok ||
	    napi_create_reference(c->env, c->arg[i], 1, &job->teller) != napi_ok)
		return false;
	job->holds++;
	return true;
}

static void add_to(struct addon *a, struct job *job)
{
	job->addon = a;
	a->refs++;
	job->holds = 1;
	job->next = a->jobs;
	job->at = &a->jobs;
	if (a->jobs)
		a->jobs->at = &job->next;
	a->jobs = job;
}

napi_value job_start(struct call *c, struct job *job, struct world *w, const char *name, size_t ticket,
		     size_t progress_at)
{
	napi_value promise = NULL, label = NULL;
	bool ok;
	struct ticket *t = take_ticket(c, ticket, &ok);

	add_to(c->addon, job);
	job->world = world_ref(w);
	if (ok && !job->on_world && grove_dup(w->g, &job->g)) {
		throw_error(c, GROVE_ENOMEM, NULL);
		ok = false;
	}
	if (ok && t) {
		job->ticket = t;
		t->job = job;
		atomic_store(&job->cancelled, t->cancelled);
	}
	if (!ok || napi_create_string_utf8(c->env, name, NAPI_AUTO_LENGTH, &label) != napi_ok ||
	    !wants_progress(c, job, progress_at, label) ||
	    napi_create_async_work(c->env, NULL, label, execute, complete, job, &job->work) != napi_ok ||
	    napi_create_promise(c->env, &job->deferred, &promise) != napi_ok ||
	    napi_queue_async_work(c->env, job->work) != napi_ok) {
		if (job->told)
			napi_release_threadsafe_function(job->told, napi_tsfn_abort);
		forget(job);
		return NULL;
	}
	return promise;
}

void jobs_cancel(struct addon *a)
{
	for (struct job *job = a->jobs; job; job = job->next)
		atomic_store(&job->cancelled, 1);
}

const struct function job_functions[] = {
	{ "ticket", ticket_new },
	{ "cancel", cancel },
	{ NULL, NULL }
};
