/*
 * message.c: parses a JSON-RPC 2.0 message.
 */
#include "message.h"


#include <string.h>

static void invalid(struct message *m, int error, const char *why)
{
	m->kind = MESSAGE_INVALID;
	m->error = error;
	m->why = why;
}

static int is_string(struct grove_slice v)
{
	return v.len && v.ptr[0] == '"';
}

static int is_object(struct grove_slice v)
{
	return v.len && v.ptr[0] == '{';
}

/* Reads a short text; a longer one cannot be a word we know. Returns 0 if it is not a text. */
static int read_word(struct grove_slice value, char *out, size_t size)
{
	struct grove_slice text;

	if (!grove_json_text(value, out, size - 1, &text))
		return 0;
	out[text.len] = '\0';
	return 1;
}

/* An id is a string or an integer; the protocol forbids null. */
static int is_id(struct grove_slice v)
{
	if (is_string(v))
		return 1;
	for (size_t i = 0; i < v.len; i++)
		if (!(v.ptr[i] >= '0' && v.ptr[i] <= '9') && !(i == 0 && v.ptr[i] == '-'))
			return 0;
	return v.len > 0;
}

/* Reads what every request says about itself from 2026-07-28 on. */
static void read_meta(struct message *m)
{
	static const char *const names[] = { "io.modelcontextprotocol/protocolVersion",
					     "io.modelcontextprotocol/clientCapabilities" };
	struct grove_slice meta, value[2];
	unsigned found;

	if (!m->params.len || !grove_json_member(m->params, "_meta", &meta))
		return;
	found = grove_json_members(meta, names, 2, value);
	if (found & 1 && !read_word(value[0], m->version, sizeof(m->version)))
		memcpy(m->version, "?", 2);
	m->has_capabilities = found & 2 && is_object(value[1]);
}

void message_read_item(struct grove_slice json, struct message *out)
{
	static const char *const names[] = { "jsonrpc", "id", "method", "params", "result", "error" };
	enum { JSONRPC = 1, ID = 2, METHOD = 4, PARAMS = 8, RESULT = 16, ERROR = 32 };
	struct grove_slice v[6];
	unsigned found;

	memset(out, 0, sizeof(*out));
	if (!is_object(json)) {
		invalid(out, MESSAGE_EINVALID, "a message must be a JSON object");
		return;
	}
	found = grove_json_members(json, names, 6, v);
	if (found & ID && is_id(v[1]))
		out->id = v[1];
	if (!(found & JSONRPC) || v[0].len != 5 || memcmp(v[0].ptr, "\"2.0\"", 5))
		invalid(out, MESSAGE_EINVALID, "jsonrpc must be \"2.0\"");
	else if (found & ID && !out->id.len)
		invalid(out, MESSAGE_EINVALID, "id must be a string or an integer");
	else if (!(found & METHOD) && found & (RESULT | ERROR))
		out->kind = MESSAGE_RESPONSE;
	else if (!(found & METHOD) || !read_word(v[2], out->method, sizeof(out->method)))
		invalid(out, MESSAGE_EINVALID, "method is missing, or not a string");
	else if (found & PARAMS && !is_object(v[3]))
		invalid(out, MESSAGE_EPARAMS, "params must be an object");
	else
		out->kind = found & ID ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
	if (out->kind == MESSAGE_INVALID || !(found & PARAMS))
		return;
	out->params = v[3];
	read_meta(out);
}

void message_read(struct grove_slice json, struct message *out)
{
	int rc = grove_json_check(json, &json, NULL);

	memset(out, 0, sizeof(*out));
	if (rc)
		invalid(out, MESSAGE_EPARSE, grove_strerror(rc));
	else if (json.ptr[0] == '[')
		out->kind = MESSAGE_BATCH;
	else
		message_read_item(json, out);
}
