/*
 * watch.c: events, from a thread that waits for them.
 *
 * A watch waits for a descriptor. Of the runtimes, only Node lets an addon add a descriptor
 * to its event loop. Each watch therefore has a thread, which only waits for events and
 * sends them to JavaScript. It has a struct grove of its own.
 *
 * The watch's thread only calls the function `told`. The environment's thread releases
 * `told`, which closes it; the runtime then calls ended(), which waits for the watch's
 * thread and only then frees the watch. Nothing is freed while the thread runs, in
 * whatever order the parts end.
 */
#include "addon.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char kind[] = "a watch";

struct watch {
	struct addon *addon;
	struct watch *next, **at;
	struct world *world;
	struct grove *g;
	struct grove_watch *w;
	napi_threadsafe_function told;
	bool open;                      /* `told` has not been released yet */
	pthread_t thread;
	bool running;                   /* the thread was started, and not joined yet */
	atomic_int stopping;
	struct watch **holder;          /* the pointer to this watch in JavaScript's handle; NULL: none */
};

/* The handle that JavaScript holds. It may outlive the watch. */
struct watch_handle {
	struct handle handle;
	struct watch *watch;
};

/* ---------------------------------------------------------------- the thread */

/* A message to JavaScript: an event as JSON, or an error. With neither, the watch has ended. */
struct message {
	char *event;
	int rc;
	struct grove_detail why;
};

static void free_message(struct message *m)
{
	free(m->event);
	free(m);
}

/* Sends a message. Returns false if nobody listens any more. */
static bool send(struct watch *w, const struct message *what)
{
	struct message *m = malloc(sizeof(*m));

	if (!m)
		return true;
	*m = *what;
	if (napi_call_threadsafe_function(w->told, m, napi_tsfn_blocking) == napi_ok)
		return true;
	free_message(m);
	return false;
}

/* Writes an event as `grove watch --json` prints it, and adds `first`, `nr`, `key` and `cursor`. */
static int describe(struct watch *w, const struct grove_event *e, struct grove_buf *out)
{
	struct grove_buf cursor = GROVE_BUF_INIT;
	char numbers[96];
	int rc = grove_event_json(e, out);

	if (rc)
		return rc;
	out->len--; /* removes the closing brace, since more members follow */
	snprintf(numbers, sizeof(numbers), ",\"first\":%lu,\"nr\":%lu,\"key\":", (unsigned long)e->first,
		 (unsigned long)e->nr);
	rc = grove_buf_add(out, grove_str(numbers));
	if (!rc)
		rc = e->key ? grove_buf_json_string(out, grove_str(e->key)) : grove_buf_add(out, grove_str("null"));
	if (!rc)
		rc = grove_buf_add(out, grove_str(",\"cursor\":"));
	if (!rc)
		rc = grove_watch_cursor(w->w, &cursor);
	if (!rc)
		rc = grove_buf_json_string(out, grove_buf_slice(&cursor));
	grove_buf_release(&cursor);
	return rc ? rc : grove_buf_add(out, grove_str("}"));
}

static bool send_event(struct watch *w, const struct grove_event *e)
{
	struct grove_buf out = GROVE_BUF_INIT;
	struct message m = { .rc = describe(w, e, &out) };

	if (!m.rc)
		m.event = strndup(out.ptr, out.len);
	grove_buf_release(&out);
	return send(w, &m);
}

static bool send_error(struct watch *w, int rc)
{
	const struct timespec a_while = { 0, 200000000 };
	struct message m = { .rc = rc };

	grove_watch_error(w->w, &m.why);
	nanosleep(&a_while, NULL); /* work() tries again, but not at once */
	return send(w, &m);
}

static void *work(void *payload)
{
	struct watch *w = payload;
	bool more = true;

	while (more && !atomic_load(&w->stopping)) {
		struct grove_event e = { .size = sizeof(e) };
		int rc = grove_watch_next(w->w, -1, &e);

		if (rc == 0)
			more = send_event(w, &e);
		else if (rc == GROVE_ENOTFOUND)
			more = send(w, &(struct message){ .rc = 0 }) && false;
		else if (rc < 0)
			more = send_error(w, rc);
	}
	return NULL;
}

/* Starts the thread with all signals blocked, so that the program's other threads receive them. */
static bool start(struct watch *w)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->running = !rc;
	return w->running;
}

static void stop(struct watch *w)
{
	atomic_store(&w->stopping, 1);
	grove_watch_wake(w->w);
}

static void join(struct watch *w)
{
	if (w->running)
		pthread_join(w->thread, NULL);
	w->running = false;
}

/* ------------------------------------------------- on the environment's thread */

static void watch_free(struct watch *w)
{
	if (w->at) {
		*w->at = w->next;
		if (w->next)
			w->next->at = w->at;
	}
	if (w->holder)
		*w->holder = NULL;
	grove_watch_close(w->w);
	grove_close(w->g);
	world_unref(w->world);
	addon_unref(w->addon);
	free(w);
}

static void ended(napi_env env, void *data, void *hint)
{
	struct watch *w = data;

	(void)env;
	(void)hint;
	stop(w);
	join(w);
	watch_free(w);
}

/* Calls told(event, error) with an event as JSON or an error; with neither if nothing is left to be watched. */
static void tell(napi_env env, napi_value fn, void *context, void *data)
{
	struct watch *w = context;
	struct message *m = data;
	napi_value arg[2], self, thrown;

	if (env && fn) {
		napi_get_undefined(env, &self);
		arg[0] = arg[1] = self;
		if (m->event)
			arg[0] = js_slice(env, grove_str(m->event));
		else if (m->rc)
			arg[1] = js_error(w->addon, m->rc, &m->why);
		if (napi_call_function(env, self, fn, 2, arg, NULL) == napi_pending_exception &&
		    napi_get_and_clear_last_exception(env, &thrown) == napi_ok)
			napi_fatal_exception(env, thrown);
	}
	free_message(m);
}

static void let_go(struct watch *w)
{
	if (!w->open)
		return;
	stop(w);
	w->open = false;
	napi_release_threadsafe_function(w->told, napi_tsfn_abort);
}

void watches_stop(struct addon *a)
{
	for (struct watch *w = a->watches; w; w = w->next)
		stop(w);
	for (struct watch *w = a->watches; w; w = w->next)
		join(w);
}

static void finalise(napi_env env, void *data, void *hint)
{
	struct watch_handle *h = data;

	(void)env;
	(void)hint;
	if (h->watch) {
		h->watch->holder = NULL;
		let_go(h->watch);
	}
	free(h);
}

static napi_value watch_close(struct call *c)
{
	struct watch_handle *h = take_handle(c, 0, kind);

	if (!h)
		return NULL;
	if (h->watch)
		let_go(h->watch);
	return js_undefined(c);
}

/* ------------------------------------------------------------------ opening */

static napi_value throw_watch(struct call *c, struct watch *w, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	if (w->w)
		grove_watch_error(w->w, &why);
	if (!why.code && w->g)
		grove_error(w->g, &why);
	return throw_error(c, code, &why);
}

/* Adds the sessions that the strings of an array name. */
static bool add_all(struct call *c, struct watch *w, size_t i, uint64_t since)
{
	uint32_t nr = 0;

	if (is_absent(c, i))
		return true;
	if (napi_get_array_length(c->env, c->arg[i], &nr) != napi_ok) {
		throw_type(c, "an array of sessions is expected");
		return false;
	}
	for (uint32_t k = 0; k < nr; k++) {
		napi_value v;
		size_t len;
		char *what = NULL;
		int rc;

		if (napi_get_element(c->env, c->arg[i], k, &v) != napi_ok || !(what = copy_text(c, v, &len)))
			return false;
		rc = grove_watch_add(w->w, what, since, NULL);
		free(what);
		if (rc) {
			throw_watch(c, w, rc);
			return false;
		}
	}
	return true;
}

static bool make_handle(struct call *c, struct watch *w, napi_value *out)
{
	struct watch_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return false;
	h->handle.kind = kind;
	if (napi_create_external(c->env, h, finalise, NULL, out) != napi_ok) {
		free(h);
		return false;
	}
	h->watch = w;
	w->holder = &h->watch;
	return true;
}

static bool listen(struct call *c, struct watch *w, size_t i)
{
	napi_value name;

	return i < c->nr && napi_create_string_utf8(c->env, "grove:watch", NAPI_AUTO_LENGTH, &name) == napi_ok &&
	       napi_create_threadsafe_function(c->env, c->arg[i], NULL, name, 0, 1, w, ended, w, tell,
					       &w->told) == napi_ok;
}

static void add_to(struct addon *a, struct watch *w)
{
	w->addon = a;
	a->refs++;
	w->next = a->watches;
	w->at = &a->watches;
	if (a->watches)
		a->watches->at = &w->next;
	a->watches = w;
}

/* watchOpen(world, [what, …], since, flags, cursor, told) */
static napi_value watch_open(struct call *c)
{
	struct world *world = take_world(c, 0);
	struct watch *w = world ? calloc(1, sizeof(*w)) : NULL;
	struct grove_watch_options opt = { .size = sizeof(opt) };
	uint64_t since = GROVE_REV_NOW;
	napi_value result = NULL;
	int rc;

	if (!w)
		return world ? throw_error(c, GROVE_ENOMEM, NULL) : NULL;
	add_to(c->addon, w);
	w->world = world_ref(world);
	if (!take_u64(c, 2, &since) || !take_unsigned(c, 3, &opt.flags) || !take_text(c, 4, &opt.cursor))
		goto fail;
	if (grove_dup(world->g, &w->g)) {
		throw_error(c, GROVE_ENOMEM, NULL);
		goto fail;
	}
	rc = grove_watch_open(w->g, &opt, &w->w);
	if (rc) {
		throw_watch(c, w, rc);
		goto fail;
	}
	if (!add_all(c, w, 1, since))
		goto fail;
	if (!listen(c, w, 5)) {
		throw_type(c, "a function is expected");
		goto fail;
	}
	/* From here on, ended() frees the watch. */
	w->open = true;
	if (make_handle(c, w, &result) && start(w))
		return result;
	let_go(w);
	return throw_error(c, GROVE_ENOMEM, NULL);
fail:
	watch_free(w);
	return NULL;
}

const struct function watch_functions[] = {
	{ "watchOpen", watch_open },
	{ "watchClose", watch_close },
	{ NULL, NULL }
};
