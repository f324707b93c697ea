/*
 * module.c: the table of functions, and the life of an environment.
 *
 * An environment may end while sessions are open and jobs run. Node then waits for the
 * jobs on libuv's threads before it runs cleanup hooks; process.exit(), too, first joins
 * these threads. A hook would therefore come too late to end a long job. That is why
 * shut_down(), which makes everything that runs come to an end, has two callers:
 * lib/binding.cjs when the process exits, and the cleanup hook when a worker is terminated.
 *
 * Node finalises the handles that JavaScript still holds in any order, so references to
 * worlds are counted.
 */
#include "addon.h"

#include <dlfcn.h>
#include <stdlib.h>

static void shut_down(struct addon *a)
{
	jobs_cancel(a);
	watches_stop(a);
}

static void clean_up(void *payload)
{
	struct addon *a = payload;

	shut_down(a);
	/* Node has waited for all jobs by now. Bun has not, and calls complete() for them later. */
	a->ended = true;
	addon_unref(a);
}

void addon_unref(struct addon *a)
{
	if (!--a->refs)
		free(a);
}

/* --------------------------------------------------------------- the module */

/* setUp(GroveError): sets the class that errors are made from. */
static napi_value set_up(struct call *c)
{
	napi_valuetype type = napi_undefined;

	if (c->nr)
		napi_typeof(c->env, c->arg[0], &type);
	if (type != napi_function)
		return throw_type(c, "a class is expected");
	if (c->addon->error_class)
		napi_delete_reference(c->env, c->addon->error_class);
	napi_create_reference(c->env, c->arg[0], 1, &c->addon->error_class);
	return js_undefined(c);
}

static napi_value call_shut_down(struct call *c)
{
	shut_down(c->addon);
	return js_undefined(c);
}

static napi_value version(struct call *c)
{
	return js_text(c, grove_version());
}

/*
 * environment(): returns a number that changes when the environment variables of the
 * process change. To compare them all in JavaScript would take longer than to open a
 * session.
 */
static napi_value environment(struct call *c)
{
	/*
	 * Looks up the program's own `environ`. The addon is loaded with RTLD_DEEPBIND, so a
	 * plain reference to `environ` would find a variable of libc that nobody sets.
	 */
	void *program = dlopen(NULL, RTLD_NOW);
	char ***all = program ? dlsym(program, "environ") : NULL;
	uint64_t sum = 0xcbf29ce484222325u;

	for (char **at = all ? *all : NULL; at && *at; at++) {
		for (const char *p = *at; *p; p++)
			sum = (sum ^ (unsigned char)*p) * 0x100000001b3u;
		sum = (sum ^ 0xff) * 0x100000001b3u;
	}
	return js_number(c, (double)(sum >> 11));
}

static const struct function module_functions[] = {
	{ "setUp", set_up },
	{ "shutDown", call_shut_down },
	{ "version", version },
	{ "environment", environment },
	{ NULL, NULL }
};

static napi_value enter(napi_env env, napi_callback_info how)
{
	struct call c;
	void *entry = NULL;
	napi_value result;

	c.env = env;
	c.nr = MAX_ARGS;
	c.used = c.nr_long = 0;
	c.addon = NULL;
	if (napi_get_cb_info(env, how, &c.nr, c.arg, NULL, &entry) != napi_ok ||
	    napi_get_instance_data(env, (void **)&c.addon) != napi_ok || !c.addon)
		return NULL;
	if (c.nr > MAX_ARGS)
		c.nr = MAX_ARGS;
	result = ((const struct function *)entry)->fn(&c);
	while (c.nr_long)
		free(c.long_text[--c.nr_long]);
	return result;
}

bool add_functions(napi_env env, napi_value exports, const struct function *table)
{
	for (; table->name; table++) {
		napi_value fn;
		void *data = (void *)(uintptr_t)table;

		if (napi_create_function(env, table->name, NAPI_AUTO_LENGTH, enter, data, &fn) != napi_ok ||
		    napi_set_named_property(env, exports, table->name, fn) != napi_ok)
			return false;
	}
	return true;
}

/* The runtime looks for these two functions. NAPI_MODULE_INIT would define them without prototypes. */
NAPI_MODULE_EXPORT int32_t node_api_module_get_api_version_v1(void);
NAPI_MODULE_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports);

int32_t node_api_module_get_api_version_v1(void)
{
	return NAPI_VERSION;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct function *const tables[] = {
		module_functions, job_functions, world_functions, session_functions, append_functions,
		view_functions, list_functions, store_functions, watch_functions, log_functions, storage_functions,
	};
	struct addon *a = calloc(1, sizeof(*a));

	if (!a || napi_set_instance_data(env, a, NULL, NULL) != napi_ok ||
	    napi_add_env_cleanup_hook(env, clean_up, a) != napi_ok) {
		free(a);
		napi_throw_error(env, "NOMEM", "out of memory");
		return NULL;
	}
	a->env = env;
	a->refs = 1;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!add_functions(env, exports, tables[i]))
			return NULL;
	return exports;
}
