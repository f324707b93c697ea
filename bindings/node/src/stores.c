/*
 * stores.c: calls that find, copy or remove a session as a whole, and one that sets up a
 * store.
 */
#include "addon.h"

/*
 * Reads the arguments (world, what). Returns NULL, with an exception pending, if one of them
 * is missing or of the wrong type.
 */
static struct world *take_what(struct call *c, const char **what, const char *wanted)
{
	struct world *w = take_world(c, 0);

	if (!w || !take_text(c, 1, what))
		return NULL;
	if (!*what) {
		throw_type(c, wanted);
		return NULL;
	}
	return w;
}

static const char session_wanted[] = "a path, an id, the beginning of an id or \"last\" is expected";

/* find(world, what): returns the session in the form that list() has, as JSON. */
static napi_value find(struct call *c)
{
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_list *l = NULL;
	const char *what = NULL;
	struct world *w = take_what(c, &what, session_wanted);
	int rc;

	if (!w)
		return NULL;
	rc = grove_find(w->g, what, GROVE_FIND_COUNT, &l);
	if (!rc)
		rc = grove_list_item_json(grove_list_at(l, 0), &out);
	grove_list_free(l);
	if (!rc)
		return js_buf(c, &out);
	grove_buf_release(&out);
	return throw_world(c, w, rc);
}

/* remove(world, what, flags) */
static napi_value remove_session(struct call *c)
{
	const char *what = NULL;
	struct world *w = take_what(c, &what, session_wanted);
	unsigned flags = 0;
	int rc;

	if (!w || !take_unsigned(c, 2, &flags))
		return NULL;
	rc = grove_remove(w->g, what, flags);
	return rc ? throw_world(c, w, rc) : js_undefined(c);
}

/* copy(world, what, store): returns [id, path] of the copy; the path is "" if it has no file. */
static napi_value copy(struct call *c)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	const char *what = NULL, *store = NULL;
	struct world *w = take_what(c, &what, session_wanted);
	napi_value v[2];
	int rc;

	if (!w || !take_text(c, 2, &store))
		return NULL;
	if (!store)
		return throw_type(c, "the URL of a store is expected");
	rc = grove_copy(w->g, what, store, &id, &path);
	v[0] = js_buf(c, &id);
	v[1] = js_buf(c, &path);
	return rc ? throw_world(c, w, rc) : js_array(c, v, 2);
}

/* storeInit(world, store) */
static napi_value store_init(struct call *c)
{
	const char *store = NULL;
	struct world *w = take_what(c, &store, "the URL of a store is expected");
	int rc = w ? grove_store_init(w->g, store) : 0;

	return !w ? NULL : rc ? throw_world(c, w, rc) : js_undefined(c);
}

const struct function store_functions[] = {
	{ "find", find },
	{ "remove", remove_session },
	{ "copy", copy },
	{ "storeInit", store_init },
	{ NULL, NULL }
};
