/*
 * values.c: arguments into C, values and errors into JavaScript.
 */
#include "addon.h"

#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- arguments */

static napi_valuetype type_of(struct call *c, size_t i)
{
	napi_valuetype type = napi_undefined;

	if (i < c->nr)
		napi_typeof(c->env, c->arg[i], &type);
	return type;
}

bool is_absent(struct call *c, size_t i)
{
	napi_valuetype type = type_of(c, i);

	return type == napi_undefined || type == napi_null;
}

static bool wrong(struct call *c, size_t i, const char *wanted)
{
	char message[96];

	snprintf(message, sizeof(message), "argument %zu must be %s", i + 1, wanted);
	throw_type(c, message);
	return false;
}

char *copy_text(struct call *c, napi_value v, size_t *len)
{
	size_t need = 0;
	char *text = NULL;

	if (napi_get_value_string_utf8(c->env, v, NULL, 0, &need) != napi_ok) {
		throw_type(c, "a string is expected");
		return NULL;
	}
	text = malloc(need + 1);
	if (!text || napi_get_value_string_utf8(c->env, v, text, need + 1, &need) != napi_ok) {
		free(text);
		throw_error(c, GROVE_ENOMEM, NULL);
		return NULL;
	}
	*len = need;
	return text;
}

/* Reads a text that does not fit into the rest of c->room; enter() frees the copy. */
static bool take_long(struct call *c, size_t i, struct grove_slice *out)
{
	char *text = copy_text(c, c->arg[i], &out->len);

	if (!text)
		return false;
	c->long_text[c->nr_long++] = text;
	out->ptr = text;
	return true;
}

bool take_slice(struct call *c, size_t i, struct grove_slice *out)
{
	char *room = c->room + c->used;
	size_t left = sizeof(c->room) - c->used, len = 0;

	if (is_absent(c, i))
		return true;
	if (left <= 4)
		return take_long(c, i, out);
	if (napi_get_value_string_utf8(c->env, c->arg[i], room, left, &len) != napi_ok)
		return wrong(c, i, "a string");
	/*
	 * Node-API never cuts a character in two, so a text that was cut may end up to three
	 * bytes before the end of the room.
	 */
	if (len + 4 >= left)
		return take_long(c, i, out);
	c->used += len + 1;
	out->ptr = room;
	out->len = len;
	return true;
}

bool take_text(struct call *c, size_t i, const char **out)
{
	struct grove_slice s = { NULL, 0 };

	if (is_absent(c, i))
		return true;
	if (!take_slice(c, i, &s))
		return false;
	if (strlen(s.ptr) != s.len)
		return wrong(c, i, "a string without U+0000");
	*out = s.ptr;
	return true;
}

/* Reads a whole number in [from, to], a range in which a double holds every whole number exactly. */
static bool take_number(struct call *c, size_t i, double from, double to, double *out)
{
	double value;

	if (napi_get_value_double(c->env, c->arg[i], &value) != napi_ok || !(value >= from) || !(value <= to) ||
	    value != (double)(int64_t)value)
		return wrong(c, i, from < 0 ? "a whole number" : "a whole number, 0 or more");
	*out = value;
	return true;
}

#define LARGEST 9007199254740991.0

bool take_u64(struct call *c, size_t i, uint64_t *out)
{
	double value;

	if (is_absent(c, i))
		return true;
	if (!take_number(c, i, 0, LARGEST, &value))
		return false;
	*out = (uint64_t)value;
	return true;
}

bool take_i64(struct call *c, size_t i, int64_t *out)
{
	double value;

	if (is_absent(c, i))
		return true;
	if (!take_number(c, i, -LARGEST, LARGEST, &value))
		return false;
	*out = (int64_t)value;
	return true;
}

bool take_u32(struct call *c, size_t i, uint32_t *out)
{
	double value;

	if (is_absent(c, i))
		return true;
	if (!take_number(c, i, 0, UINT32_MAX, &value))
		return false;
	*out = (uint32_t)value;
	return true;
}

bool take_unsigned(struct call *c, size_t i, unsigned *out)
{
	uint32_t value = *out;

	if (!take_u32(c, i, &value))
		return false;
	*out = value;
	return true;
}

void *take_handle(struct call *c, size_t i, const char *kind)
{
	struct handle *h = NULL;

	if (type_of(c, i) != napi_external || napi_get_value_external(c->env, c->arg[i], (void **)&h) != napi_ok ||
	    !h || h->kind != kind) {
		wrong(c, i, kind);
		return NULL;
	}
	return h;
}

/* ------------------------------------------------------------------- values */

napi_value js_undefined(struct call *c)
{
	napi_value v = NULL;

	napi_get_undefined(c->env, &v);
	return v;
}

napi_value js_bool(struct call *c, bool value)
{
	napi_value v = NULL;

	napi_get_boolean(c->env, value, &v);
	return v;
}

napi_value js_number(struct call *c, double value)
{
	napi_value v = NULL;

	napi_create_double(c->env, value, &v);
	return v;
}

static bool is_ascii(struct grove_slice s)
{
	uint64_t word, high = 0;
	size_t i = 0;

	for (; i + sizeof(word) <= s.len; i += sizeof(word)) {
		memcpy(&word, s.ptr + i, sizeof(word));
		high |= word;
	}
	for (; i < s.len; i++)
		high |= (unsigned char)s.ptr[i] & 0x80;
	return !(high & 0x8080808080808080u);
}

napi_value js_slice(napi_env env, struct grove_slice text)
{
	napi_value v = NULL;
	const char *ptr = text.len ? text.ptr : "";

	/* Most texts are plain ASCII, which is copied without decoding. */
	if (is_ascii(text))
		napi_create_string_latin1(env, ptr, text.len, &v);
	else
		napi_create_string_utf8(env, ptr, text.len, &v);
	return v;
}

napi_value js_text(struct call *c, const char *text)
{
	napi_value v = NULL;

	if (text)
		return js_slice(c->env, grove_str(text));
	napi_get_null(c->env, &v);
	return v;
}

napi_value js_buf(struct call *c, struct grove_buf *b)
{
	napi_value v = js_slice(c->env, grove_buf_slice(b));

	grove_buf_release(b);
	return v;
}

napi_value js_array(struct call *c, const napi_value *values, uint32_t nr)
{
	napi_value array = NULL;

	if (napi_create_array_with_length(c->env, nr, &array) != napi_ok)
		return NULL;
	for (uint32_t i = 0; i < nr; i++)
		if (!values[i] || napi_set_element(c->env, array, i, values[i]) != napi_ok)
			return NULL;
	return array;
}

napi_value js_cells(struct call *c, napi_typedarray_type type, const void *cells, size_t nr, size_t size)
{
	napi_value buffer, array = NULL;
	void *bytes = NULL;

	if (napi_create_arraybuffer(c->env, nr * size, &bytes, &buffer) != napi_ok)
		return NULL;
	if (nr)
		memcpy(bytes, cells, nr * size);
	napi_create_typedarray(c->env, type, nr, buffer, 0, &array);
	return array;
}

bool set_member(struct call *c, napi_value object, const char *name, napi_value value)
{
	return value && napi_set_named_property(c->env, object, name, value) == napi_ok;
}

/* ------------------------------------------------------------------- errors */

/* Calls new GroveError(message, code, path, line, offset); see lib/errors.cjs. */
napi_value js_error(struct addon *a, int code, const struct grove_detail *why)
{
	const char *message = why && *why->message ? why->message : grove_strerror(code);
	napi_value class = NULL, error = NULL, arg[5];
	napi_env env = a->env;

	napi_get_undefined(env, &arg[2]);
	arg[3] = arg[4] = arg[2];
	arg[0] = js_slice(env, grove_str(message));
	arg[1] = js_slice(env, grove_str(grove_error_name(code)));
	if (why && *why->path)
		arg[2] = js_slice(env, grove_str(why->path));
	if (why && why->has_place) {
		napi_create_double(env, (double)why->line, &arg[3]);
		napi_create_double(env, (double)why->offset, &arg[4]);
	}
	if (a->error_class && napi_get_reference_value(env, a->error_class, &class) == napi_ok)
		napi_new_instance(env, class, 5, arg, &error);
	else
		napi_create_error(env, arg[1], arg[0], &error);
	return error;
}

napi_value throw_error(struct call *c, int code, const struct grove_detail *why)
{
	napi_value error = js_error(c->addon, code, why);

	if (error)
		napi_throw(c->env, error);
	return NULL;
}

napi_value throw_type(struct call *c, const char *message)
{
	napi_throw_type_error(c->env, "INVAL", message);
	return NULL;
}
