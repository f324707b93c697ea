/*
 * world.c: struct grove, with a copy of the environment variables that it uses.
 *
 * process.env is copied when a world is made, for two reasons: in a worker it differs from
 * the variables of the process, and no thread may read a variable while another sets one.
 */
#include "addon.h"

#include <stdlib.h>

static const char kind[] = "a world";

static void free_texts(char **texts, size_t nr)
{
	while (nr)
		free(texts[--nr]);
	free(texts);
}

static void world_free(struct world *w)
{
	grove_close(w->g);
	free(w->cwd);
	free(w->home);
	free(w->dialect);
	free(w->cache);
	free_texts(w->variables, w->nr_variables);
	free_texts(w->stores, w->nr_stores);
	free(w);
}

struct world *world_ref(struct world *w)
{
	w->refs++;
	return w;
}

/*
 * Frees a world without references. A world that JavaScript has closed but still holds
 * closes its stores as soon as JavaScript's reference is the only one left.
 */
static void let_go(struct world *w)
{
	if (!w->refs) {
		world_free(w);
	} else if (w->closed && w->held && w->refs == 1) {
		grove_close(w->g);
		w->g = NULL;
	}
}

void world_unref(struct world *w)
{
	if (!w)
		return;
	w->refs--;
	let_go(w);
}

struct world *take_world(struct call *c, size_t i)
{
	struct world *w = take_handle(c, i, kind);

	if (w && w->closed) {
		struct grove_detail why = { .code = GROVE_EINVAL, .message = "this Grove is closed" };

		throw_error(c, GROVE_EINVAL, &why);
		return NULL;
	}
	return w;
}

static const char *variable(void *payload, const char *name)
{
	const struct world *w = payload;

	for (size_t i = 0; i + 1 < w->nr_variables; i += 2)
		if (!strcmp(w->variables[i], name))
			return w->variables[i + 1];
	return NULL;
}

static int open_world(const struct world *w, struct grove **out)
{
	struct grove_options opt = {
		.size = sizeof(opt),
		.cwd = w->cwd,
		.home = w->home,
		.getenv = variable,
		.getenv_payload = (void *)(uintptr_t)w,
		.stores = (const char *const *)w->stores,
		.nr_stores = w->nr_stores,
		.dialect = w->dialect,
		.cache = w->cache,
	};

	return grove_open(&opt, out);
}

napi_value throw_world(struct call *c, struct world *w, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	grove_error(w->g, &why);
	return throw_error(c, code, &why);
}

/* ------------------------------------------------------------------ opening */

static bool copy_array(struct call *c, size_t i, char ***out, size_t *nr)
{
	uint32_t count = 0;
	bool is_array = false;

	if (is_absent(c, i))
		return true;
	if (napi_is_array(c->env, c->arg[i], &is_array) != napi_ok || !is_array ||
	    napi_get_array_length(c->env, c->arg[i], &count) != napi_ok) {
		throw_type(c, "an array of strings is expected");
		return false;
	}
	*out = calloc(count + 1u, sizeof(**out));
	if (!*out) {
		throw_error(c, GROVE_ENOMEM, NULL);
		return false;
	}
	for (; *nr < count; ++*nr) {
		napi_value v;
		size_t len;

		if (napi_get_element(c->env, c->arg[i], (uint32_t)*nr, &v) != napi_ok)
			return false;
		(*out)[*nr] = copy_text(c, v, &len);
		if (!(*out)[*nr])
			return false;
	}
	return true;
}

static bool copy_member(struct call *c, size_t i, char **out)
{
	const char *text = NULL;

	if (!take_text(c, i, &text))
		return false;
	*out = text ? strdup(text) : NULL;
	return true;
}

static void finalise(napi_env env, void *data, void *hint)
{
	struct world *w = data;

	(void)env;
	(void)hint;
	w->held = false;
	world_unref(w);
}

/* worldOpen(cwd, home, variables, stores, dialect, cache) */
static napi_value world_open(struct call *c)
{
	struct world *w = calloc(1, sizeof(*w));
	napi_value result = NULL;
	int rc;

	if (!w)
		return throw_error(c, GROVE_ENOMEM, NULL);
	w->handle.kind = kind;
	w->refs = 1;
	if (!copy_member(c, 0, &w->cwd) || !copy_member(c, 1, &w->home) ||
	    !copy_array(c, 2, &w->variables, &w->nr_variables) || !copy_array(c, 3, &w->stores, &w->nr_stores) ||
	    !copy_member(c, 4, &w->dialect) || !copy_member(c, 5, &w->cache))
		goto fail;
	rc = open_world(w, &w->g);
	if (rc) {
		throw_world(c, w, rc);
		goto fail;
	}
	w->held = true;
	if (napi_create_external(c->env, w, finalise, NULL, &result) == napi_ok)
		return result;
fail:
	world_unref(w);
	return NULL;
}

/* worldClose(world): closes the world; does nothing if it is closed already. */
static napi_value world_close(struct call *c)
{
	struct world *w = take_handle(c, 0, kind);

	if (!w)
		return NULL;
	w->closed = true;
	let_go(w);
	return js_undefined(c);
}

const struct function world_functions[] = {
	{ "worldOpen", world_open },
	{ "worldClose", world_close },
	{ NULL, NULL }
};
