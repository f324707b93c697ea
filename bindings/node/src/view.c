/*
 * view.c: calls that read what is in a session: entries, tree, context.
 */
#include "addon.h"

/* Returns the current view of the session in argument 0; NULL if an exception is pending. */
static struct grove_view *take_view(struct call *c, struct session **s)
{
	struct grove_view *v = NULL;
	int rc;

	*s = take_session(c, 0);
	if (!*s)
		return NULL;
	rc = grove_session_view((*s)->s, &v);
	if (rc)
		throw_session(c, *s, rc);
	return v;
}

/* Ends a call that read from a view: returns `out` as a string or throws the error, and releases both. */
static napi_value answer(struct call *c, struct grove_view *v, int rc, struct grove_buf *out)
{
	struct grove_detail why;
	napi_value result;

	if (rc) {
		memset(&why, 0, sizeof(why));
		grove_view_error(v, &why);
		result = throw_error(c, rc, &why);
	} else {
		result = js_slice(c->env, grove_buf_slice(out));
	}
	grove_buf_release(out);
	grove_view_unref(v);
	return result;
}

/* Answers a call that reads one value from the view, if reading it cannot fail. */
static napi_value ask(struct call *c, napi_value (*value)(struct call *c, const struct grove_view *v))
{
	struct session *s;
	struct grove_view *v = take_view(c, &s);
	napi_value result = v ? value(c, v) : NULL;

	if (v)
		grove_view_unref(v);
	return result;
}

static napi_value count(struct call *c, const struct grove_view *v)
{
	return js_number(c, grove_view_count(v));
}

static napi_value view_count(struct call *c)
{
	return ask(c, count);
}

static napi_value name(struct call *c, const struct grove_view *v)
{
	return js_text(c, grove_view_name(v));
}

static napi_value view_name(struct call *c)
{
	return ask(c, name);
}

static napi_value view_header(struct call *c)
{
	struct session *s;
	struct grove_view *v = take_view(c, &s);
	struct grove_buf out = GROVE_BUF_INIT;

	return v ? answer(c, v, grove_view_header(v, &out), &out) : NULL;
}

/* viewFind(session, id): returns the index of the entry, or -1 if there is none. */
static napi_value view_find(struct call *c)
{
	struct session *s;
	struct grove_view *v;
	const char *id = NULL;
	uint32_t at = GROVE_NO_ENTRY;

	if (!take_text(c, 1, &id))
		return NULL;
	v = take_view(c, &s);
	if (!v)
		return NULL;
	if (id && strcmp(id, GROVE_ROOT) && grove_view_find(v, id, &at))
		at = GROVE_NO_ENTRY;
	grove_view_unref(v);
	return js_number(c, at == GROVE_NO_ENTRY ? -1 : (double)at);
}

/* viewId(session, index): returns the id of the entry, or null if it has none. */
static napi_value view_id(struct call *c)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct session *s;
	struct grove_view *v;
	napi_value result;
	uint32_t at = GROVE_NO_ENTRY;

	if (!take_u32(c, 1, &at))
		return NULL;
	v = take_view(c, &s);
	if (!v)
		return NULL;
	grove_view_entry(v, at, &e);
	result = js_text(c, e.id);
	grove_view_unref(v);
	return result;
}

/* viewLine(session, index, flags) */
static napi_value view_line(struct call *c)
{
	struct session *s;
	struct grove_view *v;
	struct grove_buf out = GROVE_BUF_INIT;
	uint32_t at = GROVE_NO_ENTRY;
	unsigned flags = 0;

	if (!take_u32(c, 1, &at) || !take_unsigned(c, 2, &flags))
		return NULL;
	v = take_view(c, &s);
	return v ? answer(c, v, grove_view_line(v, at, flags, &out), &out) : NULL;
}

/* viewLines(session, rows): returns the entries of the rows in a Uint32Array, as a JSON array. */
static napi_value view_lines(struct call *c)
{
	struct grove_buf out = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	napi_typedarray_type type;
	struct session *s;
	struct grove_view *v;
	size_t nr = 0;
	uint32_t *row = NULL;
	int rc;

	if (c->nr < 2 || napi_get_typedarray_info(c->env, c->arg[1], &type, &nr, (void **)&row, NULL, NULL) != napi_ok ||
	    type != napi_uint32_array)
		return throw_type(c, "a Uint32Array of rows is expected");
	v = take_view(c, &s);
	if (!v)
		return NULL;
	rc = grove_buf_add(&out, grove_str("["));
	for (size_t i = 0; i < nr && !rc; i++) {
		if (i)
			rc = grove_buf_add(&out, grove_str(","));
		if (!rc)
			rc = grove_view_line(v, row[i], 0, &line);
		if (!rc)
			rc = grove_buf_add(&out, grove_buf_slice(&line));
	}
	if (!rc)
		rc = grove_buf_add(&out, grove_str("]"));
	grove_buf_release(&line);
	return answer(c, v, rc, &out);
}

/* viewLog(session, flags): returns all entries as a JSON array. */
static napi_value view_log(struct call *c)
{
	struct session *s;
	struct grove_view *v;
	struct grove_buf out = GROVE_BUF_INIT;
	unsigned flags = 0;

	if (!take_unsigned(c, 1, &flags))
		return NULL;
	v = take_view(c, &s);
	return v ? answer(c, v, grove_view_log(v, flags, grove_buf_sink(&out)), &out) : NULL;
}

/* viewContext(session, leaf, mode, flags): returns the context as JSON. */
static napi_value view_context(struct call *c)
{
	struct grove_context_options opt = { .size = sizeof(opt) };
	struct session *s;
	struct grove_view *v;
	struct grove_buf out = GROVE_BUF_INIT;

	if (!take_text(c, 1, &opt.leaf) || !take_text(c, 2, &opt.mode) || !take_unsigned(c, 3, &opt.flags))
		return NULL;
	v = take_view(c, &s);
	return v ? answer(c, v, grove_view_context(v, &opt, grove_buf_sink(&out)), &out) : NULL;
}

/* viewSnapshot(session, entries, after, limit, maxBody, flags): returns the snapshot as JSON. */
static napi_value view_snapshot(struct call *c)
{
	struct grove_snapshot_options opt = { .size = sizeof(opt) };
	struct session *s;
	struct grove_view *v;
	struct grove_buf out = GROVE_BUF_INIT;
	unsigned entries = GROVE_SNAPSHOT_ALL;

	if (!take_unsigned(c, 1, &entries) || !take_u64(c, 2, &opt.after) || !take_u64(c, 3, &opt.limit) ||
	    !take_u64(c, 4, &opt.max_body) || !take_unsigned(c, 5, &opt.flags))
		return NULL;
	opt.entries = (enum grove_snapshot_entries)entries;
	v = take_view(c, &s);
	return v ? answer(c, v, grove_view_snapshot(v, &opt, grove_buf_sink(&out)), &out) : NULL;
}

/* Turns rows into a Uint32Array and releases them. */
static napi_value js_rows(struct call *c, struct grove_rows *rows)
{
	napi_value array = js_cells(c, napi_uint32_array, rows->at, rows->nr, sizeof(*rows->at));

	grove_rows_release(rows);
	return array;
}

/*
 * viewConversation(session, id, flags): returns the rows of the conversation that ends at
 * the entry with this id; without an id, at the leaf.
 */
static napi_value view_conversation(struct call *c)
{
	struct grove_rows rows = { NULL, 0 };
	struct session *s;
	struct grove_view *v;
	const char *id = NULL;
	unsigned flags = 0;
	uint32_t to;
	int rc = 0;

	if (!take_text(c, 1, &id) || !take_unsigned(c, 2, &flags))
		return NULL;
	v = take_view(c, &s);
	if (!v)
		return NULL;
	to = grove_view_leaf(v);
	if (id)
		rc = grove_view_find(v, id, &to);
	if (!rc)
		rc = grove_view_conversation(v, to, flags, &rows);
	if (rc)
		return answer(c, v, rc, &(struct grove_buf)GROVE_BUF_INIT);
	grove_view_unref(v);
	return js_rows(c, &rows);
}

/*
 * viewRows(session): returns a Uint32Array with four numbers for each entry: the row of its
 * parent, its kind, its role and its flags.
 */
static napi_value view_rows(struct call *c)
{
	struct session *s;
	struct grove_view *v = take_view(c, &s);
	napi_value buffer, array = NULL;
	uint32_t *cell = NULL, nr;

	if (!v)
		return NULL;
	nr = grove_view_count(v);
	if (napi_create_arraybuffer(c->env, nr * 4 * sizeof(*cell), (void **)&cell, &buffer) == napi_ok) {
		for (uint32_t i = 0; i < nr; i++, cell += 4) {
			struct grove_entry e = { .size = sizeof(e) };

			grove_view_entry(v, i, &e);
			cell[0] = e.parent;
			cell[1] = e.kind;
			cell[2] = e.role;
			cell[3] = e.flags;
		}
		napi_create_typedarray(c->env, napi_uint32_array, nr * 4u, buffer, 0, &array);
	}
	grove_view_unref(v);
	return array;
}

static napi_value js_heads(struct call *c, const struct grove_heads *h)
{
	struct grove_slice strings = { h->strings, h->strings_len };
	napi_value v[8];

	v[0] = js_slice(c->env, h->shapes);
	v[1] = js_cells(c, napi_uint32_array, h->shape, h->nr, sizeof(*h->shape));
	v[2] = js_cells(c, napi_uint32_array, h->number, h->nr, sizeof(*h->number));
	v[3] = js_cells(c, napi_uint32_array, h->text, h->nr, sizeof(*h->text));
	v[4] = js_cells(c, napi_float64_array, h->numbers, h->nr_numbers, sizeof(*h->numbers));
	v[5] = js_cells(c, napi_uint32_array, h->text_at, h->nr_texts + 1, sizeof(*h->text_at));
	v[6] = js_slice(c->env, strings);
	v[7] = js_slice(c->env, h->blocks);
	return js_array(c, v, 8);
}

/*
 * viewHeads(session, from, to): returns the entries of these rows without their long
 * values, as the members of a struct grove_heads:
 * [shapes, shape, number, text, numbers, textAt, strings, blocks].
 */
static napi_value view_heads(struct call *c)
{
	struct grove_range range = { 0, 0 };
	struct grove_heads *h = NULL;
	struct session *s;
	struct grove_view *v;
	napi_value result;
	int rc;

	if (!take_u64(c, 1, &range.from) || !take_u64(c, 2, &range.to))
		return NULL;
	v = take_view(c, &s);
	if (!v)
		return NULL;
	rc = grove_view_heads(v, range, &h);
	if (rc)
		return answer(c, v, rc, &(struct grove_buf)GROVE_BUF_INIT);
	result = js_heads(c, h);
	grove_heads_free(h);
	grove_view_unref(v);
	return result;
}

/* viewLabel(session, index): returns [label or null, time of the label or null]. */
static napi_value view_label(struct call *c)
{
	struct grove_entry e = { .size = sizeof(e), .label_time = GROVE_NO_TIME };
	struct session *s;
	struct grove_view *v;
	napi_value cells[2];
	uint32_t at = GROVE_NO_ENTRY;

	if (!take_u32(c, 1, &at))
		return NULL;
	v = take_view(c, &s);
	if (!v)
		return NULL;
	grove_view_entry(v, at, &e);
	cells[0] = js_text(c, e.label);
	cells[1] = e.label_time == GROVE_NO_TIME ? js_text(c, NULL) : js_number(c, (double)e.label_time);
	grove_view_unref(v);
	return js_array(c, cells, 2);
}

const struct function view_functions[] = {
	{ "viewCount", view_count },
	{ "viewName", view_name },
	{ "viewHeader", view_header },
	{ "viewFind", view_find },
	{ "viewId", view_id },
	{ "viewLine", view_line },
	{ "viewLines", view_lines },
	{ "viewLog", view_log },
	{ "viewContext", view_context },
	{ "viewSnapshot", view_snapshot },
	{ "viewConversation", view_conversation },
	{ "viewRows", view_rows },
	{ "viewHeads", view_heads },
	{ "viewLabel", view_label },
	{ NULL, NULL }
};
