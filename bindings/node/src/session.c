/*
 * session.c: one open session: open it, ask about it, close it.
 */
#include "addon.h"

#include <stdlib.h>

static const char kind[] = "a session";

/*
 * The garbage collector is told of these sizes in bytes. An open session holds a
 * descriptor and an index of about 60 bytes per entry, which the collector cannot see. If
 * it were not told, it might close forgotten sessions only after descriptors have run out.
 */
enum {
	SESSION_WEIGHT = 128 * 1024,
	ENTRY_WEIGHT = 64
};

static void shut(napi_env env, struct session *s)
{
	int64_t total;

	if (!s->s)
		return;
	grove_session_close(s->s);
	s->s = NULL;
	world_unref(s->world);
	s->world = NULL;
	napi_adjust_external_memory(env, -s->weight, &total);
}

static void finalise(napi_env env, void *data, void *hint)
{
	(void)hint;
	shut(env, data);
	free(data);
}

static void weigh(struct call *c, struct session *s)
{
	struct grove_view *v;
	int64_t total;

	s->weight = SESSION_WEIGHT;
	if (!grove_session_view(s->s, &v)) {
		s->weight += (int64_t)grove_view_count(v) * ENTRY_WEIGHT;
		grove_view_unref(v);
	}
	napi_adjust_external_memory(c->env, s->weight, &total);
}

napi_value session_wrap(struct call *c, struct world *w, struct grove_session *opened)
{
	struct session *s = calloc(1, sizeof(*s));
	napi_value result = NULL;

	if (!s) {
		grove_session_close(opened);
		return throw_error(c, GROVE_ENOMEM, NULL);
	}
	s->handle.kind = kind;
	s->world = world_ref(w);
	s->s = opened;
	if (napi_create_external(c->env, s, finalise, NULL, &result) != napi_ok) {
		shut(c->env, s);
		free(s);
		return NULL;
	}
	weigh(c, s);
	return result;
}

struct session *take_session(struct call *c, size_t i)
{
	struct session *s = take_handle(c, i, kind);

	if (s && !s->s) {
		/* Declared in this block because it is large, and most sessions are open. */
		struct grove_detail why = { .code = GROVE_EINVAL, .message = "this session is closed" };

		throw_error(c, GROVE_EINVAL, &why);
		return NULL;
	}
	return s;
}

napi_value throw_session(struct call *c, struct session *s, int code)
{
	struct grove_detail why;

	memset(&why, 0, sizeof(why));
	grove_session_error(s->s, &why);
	return why.code ? throw_error(c, code, &why) : throw_world(c, s->world, code);
}

/* ------------------------------------------------------------------ opening */

/* Makes the JavaScript answer of a call that opens a session: a handle for `s`, or the error. */
static napi_value opened(struct call *c, struct world *w, struct grove_session *s, int rc)
{
	struct grove_detail why;

	if (!rc)
		return session_wrap(c, w, s);
	memset(&why, 0, sizeof(why));
	if (s)
		grove_session_error(s, &why);
	if (!why.code)
		grove_error(w->g, &why);
	grove_session_close(s);
	return throw_error(c, rc, &why);
}

/* sessionOpen(world, what, flags) */
static napi_value session_open(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct grove_session *s = NULL;
	const char *what = NULL;
	unsigned flags = GROVE_OPEN_WRITE;
	int rc;

	if (!w || !take_text(c, 1, &what) || !take_unsigned(c, 2, &flags))
		return NULL;
	if (!what)
		return throw_type(c, "a path, an id, a prefix of an id or \"last\" is expected");
	rc = grove_session_open(w->g, what, flags, &s);
	return opened(c, w, s, rc);
}

/*
 * Reads the arguments of sessionCreate() and sessionRecent(): (world, flags, dialect, cwd,
 * id, dir, path, name, parentSession, lines).
 */
static struct world *take_create(struct call *c, struct grove_create_options *opt)
{
	struct world *w = take_world(c, 0);

	memset(opt, 0, sizeof(*opt));
	opt->size = sizeof(*opt);
	if (!w || !take_unsigned(c, 1, &opt->flags) || !take_text(c, 2, &opt->dialect) ||
	    !take_text(c, 3, &opt->cwd) || !take_text(c, 4, &opt->id) || !take_text(c, 5, &opt->dir) ||
	    !take_text(c, 6, &opt->path) || !take_text(c, 7, &opt->name) ||
	    !take_text(c, 8, &opt->parent_session) || !take_slice(c, 9, &opt->lines))
		return NULL;
	return w;
}

typedef int create_call(struct grove *g, const struct grove_create_options *opt, struct grove_session **out);

static napi_value created(struct call *c, create_call *create)
{
	struct grove_create_options opt;
	struct grove_session *s = NULL;
	struct world *w = take_create(c, &opt);
	int rc;

	if (!w)
		return NULL;
	rc = create(w->g, &opt, &s);
	return opened(c, w, s, rc);
}

static napi_value session_create(struct call *c)
{
	return created(c, grove_session_create);
}

static napi_value session_recent(struct call *c)
{
	return created(c, grove_session_open_recent);
}

/* sessionClose(session): closes the session; does nothing if it is closed already. */
static napi_value session_close(struct call *c)
{
	struct session *s = take_handle(c, 0, kind);

	if (!s)
		return NULL;
	shut(c->env, s);
	return js_undefined(c);
}

/* ------------------------------------------------------------------ asking */

static napi_value session_about(struct call *c)
{
	struct session *s = take_session(c, 0);
	napi_value o;

	if (!s || napi_create_object(c->env, &o) != napi_ok)
		return NULL;
	if (set_member(c, o, "id", js_text(c, grove_session_id(s->s))) &&
	    set_member(c, o, "path", js_text(c, grove_session_path(s->s))) &&
	    set_member(c, o, "dir", js_text(c, grove_session_dir(s->s))) &&
	    set_member(c, o, "cwd", js_text(c, grove_session_cwd(s->s))) &&
	    set_member(c, o, "dialect", js_text(c, grove_session_dialect(s->s))) &&
	    set_member(c, o, "agent", js_text(c, grove_session_agent(s->s))) &&
	    set_member(c, o, "version", js_number(c, grove_session_version(s->s))) &&
	    set_member(c, o, "migrated", js_number(c, (double)grove_session_migrated(s->s))))
		return o;
	return NULL;
}

static napi_value session_leaf(struct call *c)
{
	struct session *s = take_session(c, 0);

	return s ? js_text(c, grove_session_leaf(s->s)) : NULL;
}

static napi_value session_pending(struct call *c)
{
	struct session *s = take_session(c, 0);

	return s ? js_number(c, (double)grove_session_pending(s->s)) : NULL;
}

/* -------------------------------------------------------------- its storage */

static napi_value session_ensure(struct call *c)
{
	struct session *s = take_session(c, 0);
	int rc = s ? grove_session_ensure(s->s) : 0;

	return !s ? NULL : rc ? throw_session(c, s, rc) : js_undefined(c);
}

static napi_value session_sync(struct call *c)
{
	struct session *s = take_session(c, 0);
	int rc = s ? grove_session_sync(s->s) : 0;

	return !s ? NULL : rc ? throw_session(c, s, rc) : js_undefined(c);
}

/* sessionRefresh(session): returns whether other programs had written something. */
static napi_value session_refresh(struct call *c)
{
	struct session *s = take_session(c, 0);
	int rc = s ? grove_session_refresh(s->s) : 0;

	return !s ? NULL : rc < 0 ? throw_session(c, s, rc) : js_bool(c, rc);
}

/* sessionFork(session, leaf, cwd, dir, id, flags, sync) */
static napi_value session_fork(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_fork_options opt = { .size = sizeof(opt) };
	struct grove_session *made = NULL;
	unsigned sync = GROVE_SYNC_NONE;
	int rc;

	if (!s || !take_text(c, 1, &opt.leaf) || !take_text(c, 2, &opt.cwd) || !take_text(c, 3, &opt.dir) ||
	    !take_text(c, 4, &opt.id) || !take_unsigned(c, 5, &opt.flags) || !take_unsigned(c, 6, &sync))
		return NULL;
	opt.sync = (enum grove_sync)sync;
	rc = grove_session_fork(s->s, &opt, &made);
	if (rc) {
		grove_session_close(made);
		return throw_session(c, s, rc);
	}
	return session_wrap(c, s->world, made);
}

/* sessionMove(session, cwd) */
static napi_value session_move(struct call *c)
{
	struct session *s = take_session(c, 0);
	const char *cwd = NULL;
	int rc;

	if (!s || !take_text(c, 1, &cwd))
		return NULL;
	if (!cwd)
		return throw_type(c, "a directory is expected");
	rc = grove_session_move(s->s, cwd);
	return rc ? throw_session(c, s, rc) : js_undefined(c);
}

/* sessionValueGet(session, name): returns the value, or null if there is none. */
static napi_value session_value_get(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_buf out = GROVE_BUF_INIT;
	const char *name = NULL;
	int rc;

	if (!s || !take_text(c, 1, &name))
		return NULL;
	if (!name)
		return throw_type(c, "a name is expected");
	rc = grove_session_value_get(s->s, name, &out);
	if (!rc)
		return js_buf(c, &out);
	grove_buf_release(&out);
	return rc == GROVE_ENOTFOUND ? js_text(c, NULL) : throw_session(c, s, rc);
}

/* sessionValuePut(session, name, value) */
static napi_value session_value_put(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_slice value = { NULL, 0 };
	const char *name = NULL;
	int rc;

	if (!s || !take_text(c, 1, &name) || !take_slice(c, 2, &value))
		return NULL;
	if (!name || !value.ptr)
		return throw_type(c, "a name and a text are expected");
	rc = grove_session_value_put(s->s, name, value);
	return rc ? throw_session(c, s, rc) : js_undefined(c);
}

const struct function session_functions[] = {
	{ "sessionOpen", session_open },
	{ "sessionCreate", session_create },
	{ "sessionRecent", session_recent },
	{ "sessionClose", session_close },
	{ "sessionAbout", session_about },
	{ "sessionLeaf", session_leaf },
	{ "sessionPending", session_pending },
	{ "sessionEnsure", session_ensure },
	{ "sessionSync", session_sync },
	{ "sessionRefresh", session_refresh },
	{ "sessionFork", session_fork },
	{ "sessionMove", session_move },
	{ "sessionValueGet", session_value_get },
	{ "sessionValuePut", session_value_put },
	{ NULL, NULL }
};
