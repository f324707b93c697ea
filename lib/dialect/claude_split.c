/*
 * dialect/claude_split.c: a reply of several blocks becomes a record for each.
 */
#include "dialect/claude_write.h"

#include "base/array.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

enum { S_TYPE, S_ROLE, S_CONTENT, S_MESSAGE, S_MESSAGE_CONTENT, SPLIT_MEMBERS };

static const struct grove__json_member split_members[SPLIT_MEMBERS] = {
	[S_TYPE] = { "type", -1 },
	[S_ROLE] = { "role", -1 },
	[S_CONTENT] = { "content", -1 },
	[S_MESSAGE] = { "message", -1 },
	[S_MESSAGE_CONTENT] = { "content", S_MESSAGE },
};

/* Finds a reply's message and content in arbitrary input. Returns 1 if it is not a reply. */
static int find_reply(struct grove_slice json, struct grove_slice *value,
		      struct grove_slice *content, bool *bare)
{
	const struct grove__json_line *l;
	struct grove__json_want want;
	struct grove__json_stream *s;
	struct grove_slice type;
	size_t used = 0;
	int rc;

	grove__json_want_init(&want, split_members, SPLIT_MEMBERS);
	s = grove__json_stream_new(&want);
	if (!s)
		return GROVE_ENOMEM;
	rc = grove__json_stream_feed(s, json.ptr, json.len, true, &used);
	if (rc < 0)
		goto out;
	/* errors in it are reported when it is composed */
	if (rc != JSON_STREAM_DONE)
		goto none;
	for (; used < json.len; used++)
		if (!memchr(" \t\r\n", json.ptr[used], 4))
			goto none;
	l = grove__json_stream_line(s);
	if (l->type != JSON_OBJECT)
		goto none;
	*value = grove__slice(json.ptr + l->value.off, (size_t)l->value.len);
	type = grove__json_span_of(l, json.ptr, S_TYPE);
	*bare = !type.ptr || grove__json_string_is(type, "message");
	*content = grove__json_span_of(l, json.ptr, *bare ? S_CONTENT : S_MESSAGE_CONTENT);
	rc = !grove__json_string_is(*bare ? grove__json_span_of(l, json.ptr, S_ROLE) : type, "assistant") ||
	     grove__json_type_of(*content) != JSON_ARRAY || !grove__json_at(*content, 1).ptr;
	goto out;
none:
	rc = 1;
out:
	grove__json_stream_free(s);
	return rc;
}

/* Like the program's own ids, which the API assigns: letters and digits. */
static int put_message_id(struct grove_buf *out, const uint8_t random[16])
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	int rc = grove__buf_add_str(out, "\"msg_");

	for (size_t half = 0; half < 2; half++) {
		uint64_t n;

		memcpy(&n, random + 8 * half, sizeof(n));
		for (size_t i = 0; i < 11 && !rc; i++, n /= 62)
			rc = grove__buf_add_char(out, digits[n % 62]);
	}
	return rc ? rc : grove__buf_add_char(out, '"');
}

/* Writes one block of it: the content, the id, and its position among the others. */
static int put_block(struct grove_buf *out, struct grove_slice value, bool bare,
		     struct grove_slice content, struct grove_slice id, bool first, bool last)
{
	struct grove__json_change ch[4];
	size_t nr = 0;

	ch[nr++] = (struct grove__json_change){ { "message", "content" }, content };
	ch[nr++] = (struct grove__json_change){ { "message", "id" }, id };
	if (bare) {
		ch[0] = (struct grove__json_change){ { "content" }, content };
		ch[1] = (struct grove__json_change){ { "id" }, id };
	}
	/* it has one already, so keep its bytes */
	if (!id.ptr)
		nr--;
	if (!bare && !first)
		ch[nr++] = (struct grove__json_change){ { "parentUuid" }, { NULL, 0 } };
	if (!bare && !last)
		ch[nr++] = (struct grove__json_change){ { "uuid" }, { NULL, 0 } };
	return grove__json_edit(out, value, ch, nr);
}

static int split_reply(struct grove_slice value, bool bare, struct grove_slice content,
		       const uint8_t random[16], int (*fn)(void *payload, struct grove_slice json),
		       void *payload)
{
	struct grove_slice message = bare ? value : grove__json_get(value, "message");
	struct grove_buf id = GROVE_BUF_INIT, one = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove_slice raw = { NULL, 0 };
	struct grove__json_iter it;
	bool first = true, more;
	int rc = 0;

	if (grove__json_type_of(grove__json_get(message, "id")) != JSON_STRING) {
		rc = put_message_id(&id, random);
		raw = grove__buf_slice(&id);
	}
	grove__json_iter_init(&it, content);
	more = grove__json_next(&it);
	while (!rc && more) {
		grove__buf_clear(&one);
		grove__buf_clear(&out);
		rc = grove__buf_add_char(&one, '[');
		if (!rc)
			rc = grove__buf_add_slice(&one, it.value);
		if (!rc)
			rc = grove__buf_add_char(&one, ']');
		more = grove__json_next(&it);
		if (!rc)
			rc = put_block(&out, value, bare, grove__buf_slice(&one), raw, first, !more);
		if (!rc)
			rc = fn(payload, grove__buf_slice(&out));
		first = false;
	}
	grove__buf_release(&id);
	grove__buf_release(&one);
	grove__buf_release(&out);
	return rc;
}

int grove__claude_split(struct grove_slice json, const uint8_t random[16],
			int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_slice value, content;
	bool bare;
	int rc = find_reply(json, &value, &content, &bare);

	if (rc)
		return rc < 0 ? rc : fn(payload, json);
	return split_reply(value, bare, content, random, fn, payload);
}
