/*
 * append.c: the calls that change a session: entries, labels, names, the leaf.
 */
#include "addon.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- append */

/* Reads the arguments (…, flags, parent, seq, sync), of which flags is argument `at`. */
static bool take_how(struct call *c, size_t at, struct grove_append_options *opt)
{
	unsigned sync = GROVE_SYNC_NONE;

	memset(opt, 0, sizeof(*opt));
	opt->size = sizeof(*opt);
	opt->flags = GROVE_APPEND_LINES;
	if (!take_unsigned(c, at, &opt->flags) || !take_text(c, at + 1, &opt->parent) ||
	    !take_u64(c, at + 2, &opt->seq) || !take_unsigned(c, at + 3, &sync))
		return false;
	opt->sync = (enum grove_sync)sync;
	return true;
}

static napi_value js_others(struct call *c, const struct grove_append_result *r)
{
	return js_number(c, r->others == GROVE_NO_ENTRY ? -1 : (double)r->others);
}

static napi_value js_appended(struct call *c, struct grove_append_result *r)
{
	napi_value v[5];

	v[0] = js_number(c, r->first);
	v[1] = js_number(c, r->nr);
	v[2] = js_slice(c->env, grove_buf_slice(&r->lines));
	v[3] = js_text(c, r->id);
	v[4] = js_others(c, r);
	return js_array(c, v, 5);
}

/*
 * The answer of an append: [first, nr, lines, id, others], as in struct
 * grove_append_result. `others` is -1 if another program has rewritten the log.
 */
static napi_value appended(struct call *c, struct session *s, int rc, struct grove_append_result *r)
{
	napi_value result = rc ? throw_session(c, s, rc) : js_appended(c, r);

	grove_buf_release(&r->lines);
	return result;
}

/* sessionAppend(session, json, flags, parent, seq, sync) */
static napi_value session_append(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_append_options opt;
	struct grove_slice json = { NULL, 0 };

	if (!s || !take_slice(c, 1, &json) || !take_how(c, 2, &opt))
		return NULL;
	if (!json.ptr)
		return throw_type(c, "an entry is expected");
	return appended(c, s, grove_session_append(s->s, json, &opt, &r), &r);
}

/*
 * sessionPut(session, json): appends the entry below the leaf. Returns its row, or
 * [row, others] if other programs have written in the meantime. It is not always an
 * array because agents append often, and making an array costs as much as a write.
 */
static napi_value session_put(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice json = { NULL, 0 };
	napi_value v[2];
	int rc;

	if (!s || !take_slice(c, 1, &json))
		return NULL;
	if (!json.ptr)
		return throw_type(c, "an entry is expected");
	rc = grove_session_append(s->s, json, NULL, &r);
	if (rc)
		return throw_session(c, s, rc);
	v[0] = js_number(c, r.first);
	if (!r.others)
		return v[0];
	v[1] = js_others(c, &r);
	return js_array(c, v, 2);
}

struct texts {
	struct grove_slice *at;
	size_t nr;
};

static void release_texts(struct texts *t)
{
	while (t->nr)
		free((void *)(uintptr_t)t->at[--t->nr].ptr);
	free(t->at);
}

static bool take_texts(struct call *c, size_t i, struct texts *out)
{
	uint32_t count = 0;

	if (i >= c->nr || napi_get_array_length(c->env, c->arg[i], &count) != napi_ok) {
		throw_type(c, "an array of entries is expected");
		return false;
	}
	out->at = calloc(count + 1u, sizeof(*out->at));
	if (!out->at) {
		throw_error(c, GROVE_ENOMEM, NULL);
		return false;
	}
	for (; out->nr < count; out->nr++) {
		napi_value v;
		size_t len;
		char *text;

		if (napi_get_element(c->env, c->arg[i], (uint32_t)out->nr, &v) != napi_ok)
			return false;
		text = copy_text(c, v, &len);
		if (!text)
			return false;
		out->at[out->nr] = (struct grove_slice){ text, len };
	}
	return true;
}

typedef int append_call(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, struct grove_append_result *out);

static napi_value append_many(struct call *c, append_call *append)
{
	struct session *s = take_session(c, 0);
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_append_options opt;
	struct texts json = { NULL, 0 };
	napi_value result = NULL;

	if (s && take_texts(c, 1, &json) && take_how(c, 2, &opt))
		result = appended(c, s, append(s->s, json.at, json.nr, &opt, &r), &r);
	release_texts(&json);
	return result;
}

/* sessionAppendMany(session, [json, …], flags, parent, seq, sync) */
static napi_value session_append_many(struct call *c)
{
	return append_many(c, grove_session_append_many);
}

/*
 * sessionSubmit(session, [json, …], flags, parent, seq, sync): as sessionAppendMany(),
 * but a thread of the session does the writing.
 */
static napi_value session_submit(struct call *c)
{
	return append_many(c, grove_session_submit);
}

/* sessionFlush(session, sync): waits until everything that was submitted is written. */
static napi_value session_flush(struct call *c)
{
	struct session *s = take_session(c, 0);
	unsigned sync = GROVE_SYNC_NONE;
	int rc;

	if (!s || !take_unsigned(c, 1, &sync))
		return NULL;
	rc = grove_session_flush(s->s, (enum grove_sync)sync);
	return rc ? throw_session(c, s, rc) : js_undefined(c);
}

/* sessionLabel(session, target, label) */
static napi_value session_label(struct call *c)
{
	struct session *s = take_session(c, 0);
	struct grove_append_options opt = { .size = sizeof(opt), .flags = GROVE_APPEND_LINES };
	struct grove_append_result r = { .size = sizeof(r) };
	const char *target = NULL, *label = NULL;

	if (!s || !take_text(c, 1, &target) || !take_text(c, 2, &label))
		return NULL;
	if (!target)
		return throw_type(c, "the id of an entry is expected");
	return appended(c, s, grove_session_append_label(s->s, target, label, &opt, &r), &r);
}

/* sessionRename(session, name, by): returns false if a name that the user chose is kept instead. */
static napi_value session_rename(struct call *c)
{
	struct session *s = take_session(c, 0);
	unsigned by = GROVE_NAME_BY_USER;
	const char *name = NULL;
	int rc;

	if (!s || !take_text(c, 1, &name) || !take_unsigned(c, 2, &by))
		return NULL;
	if (!name)
		return throw_type(c, "a name is expected");
	rc = grove_session_set_name(s->s, name, (enum grove_name_source)by, NULL);
	return rc < 0 ? throw_session(c, s, rc) : js_bool(c, !rc);
}

/* --------------------------------------------------------------------- leaf */

/* [outcome, leaf, summaryId, content] */
static napi_value js_leaf(struct call *c, struct grove_leaf_result *r)
{
	napi_value v[4];

	v[0] = js_number(c, r->outcome);
	v[1] = js_text(c, r->leaf);
	v[2] = js_text(c, r->summary_id);
	v[3] = r->content.ptr ? js_slice(c->env, grove_buf_slice(&r->content)) : js_undefined(c);
	return js_array(c, v, 4);
}

typedef int leaf_call(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
		      struct grove_leaf_result *out);

/* sessionSetLeaf() and sessionContinue(): (session, id, flags, summary, details, usage, fromHook) */
static napi_value move_leaf(struct call *c, leaf_call *move)
{
	struct session *s = take_session(c, 0);
	struct grove_leaf_options opt = { .size = sizeof(opt) };
	struct grove_branch_summary summary = { .size = sizeof(summary) };
	struct grove_leaf_result r = { .size = sizeof(r) };
	const char *id = GROVE_ROOT;
	unsigned from_hook = 0;
	napi_value result;
	int rc;

	if (!s || !take_text(c, 1, &id) || !take_unsigned(c, 2, &opt.flags) ||
	    !take_text(c, 3, &summary.summary) || !take_text(c, 4, &summary.details_json) ||
	    !take_text(c, 5, &summary.usage_json) || !take_unsigned(c, 6, &from_hook))
		return NULL;
	summary.from_hook = (int)from_hook;
	opt.summary = summary.summary ? &summary : NULL;
	rc = move(s->s, id, &opt, &r);
	result = rc < 0 ? throw_session(c, s, rc) : js_leaf(c, &r);
	grove_buf_release(&r.content);
	return result;
}

static napi_value session_set_leaf(struct call *c)
{
	return move_leaf(c, grove_session_set_leaf);
}

static napi_value session_continue(struct call *c)
{
	return move_leaf(c, grove_session_continue);
}

/* ------------------------------------------------------------------- change */

/* sessionUpdate(session, id, pointer, json) */
static napi_value session_update(struct call *c)
{
	struct session *s = take_session(c, 0);
	const char *id = NULL, *pointer = NULL, *json = NULL;
	int rc;

	if (!s || !take_text(c, 1, &id) || !take_text(c, 2, &pointer) || !take_text(c, 3, &json))
		return NULL;
	if (!id || !pointer || !json)
		return throw_type(c, "an id, a JSON pointer and a value are expected");
	rc = grove_session_update(s->s, id, pointer, json);
	return rc ? throw_session(c, s, rc) : js_undefined(c);
}

/* sessionForget(session, id): returns the number of entries that got another parent. */
static napi_value session_forget(struct call *c)
{
	struct session *s = take_session(c, 0);
	const char *id = NULL;
	uint64_t relinked = 0;
	int rc;

	if (!s || !take_text(c, 1, &id))
		return NULL;
	if (!id)
		return throw_type(c, "the id of an entry is expected");
	rc = grove_session_forget(s->s, id, &relinked);
	return rc ? throw_session(c, s, rc) : js_number(c, (double)relinked);
}

const struct function append_functions[] = {
	{ "sessionAppend", session_append },
	{ "sessionPut", session_put },
	{ "sessionAppendMany", session_append_many },
	{ "sessionSubmit", session_submit },
	{ "sessionFlush", session_flush },
	{ "sessionLabel", session_label },
	{ "sessionRename", session_rename },
	{ "sessionSetLeaf", session_set_leaf },
	{ "sessionContinue", session_continue },
	{ "sessionUpdate", session_update },
	{ "sessionForget", session_forget },
	{ NULL, NULL }
};
