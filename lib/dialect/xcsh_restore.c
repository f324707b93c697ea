/*
 * dialect/xcsh_restore.c: a stored value as readers see it.
 *
 * References to blobs are resolved, wherever they are. A reply with the history of a
 * provider's session loses that history and its signatures, which are useless to a new
 * session.
 */
#include "dialect/xcsh.h"

#include "dialect/xcsh_walk.h"
#include "js/js.h"
#include "json/value.h"
#include "json/write.h"

#define HASH_DIGITS 64
#define REF_LEN (sizeof GROVE__XCSH_BLOB - 1 + HASH_DIGITS)
#define HISTORY "openaiResponsesHistory"

enum { PUT_BASE64 = 1, PUT_TEXT };

struct restore {
	const struct grove__blob_source *source;
	const char *stale;   /* the message whose history is left out */
	const char *content; /* and its content */
	bool changed;
	struct grove_buf ref, bytes;
};

static bool is_ref(struct grove_slice text)
{
	size_t i;

	if (text.len != REF_LEN || !grove__slice_starts(text, GROVE__XCSH_BLOB))
		return false;
	for (i = REF_LEN - HASH_DIGITS; i < REF_LEN; i++)
		if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
		      (text.ptr[i] >= 'a' && text.ptr[i] <= 'f')))
			return false;
	return true;
}

/* Gets the reference in a raw string, in r->ref. */
static int ref_of(struct restore *r, struct grove_slice raw, bool *is)
{
	int rc;

	/* an escape turns one byte into at most six */
	*is = false;
	if (!r->source || grove__json_type_of(raw) != JSON_STRING || raw.len - 2 < REF_LEN ||
	    raw.len - 2 > 6 * REF_LEN)
		return 0;
	grove__buf_clear(&r->ref);
	rc = grove__json_text(&r->ref, raw);
	*is = !rc && is_ref(grove__buf_slice(&r->ref));
	return rc;
}

static bool drop(struct grove__xcsh_walk *w, const struct grove__xcsh_frame *f,
		 enum grove__xcsh_key key)
{
	const struct restore *r = w->payload;
	const struct grove__xcsh_frame *around;
	struct grove_slice block;

	if (!r->stale)
		return false;
	if (key == XCSH_PROVIDER_PAYLOAD)
		return f->start == r->stale;
	if (key != XCSH_THINKING_SIGNATURE)
		return false;
	around = grove__xcsh_around(w, f);
	if (!around || around->object || around->start != r->content)
		return false;
	/* the type may come later */
	block = grove__slice(f->start, grove__json_skip(f->start, w->end));
	return grove__json_string_is(grove__json_get(block, "type"), "thinking");
}

static int string(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f, enum grove__xcsh_key key,
		  struct grove_slice raw)
{
	bool is = false;
	int rc = key == XCSH_IMAGE_URL ? ref_of(w->payload, raw, &is) : 0;

	return is ? grove__xcsh_splice(w, f, raw, PUT_TEXT, raw) : rc;
}

/* Writes a raw string of base64, if it is a reference. */
static int base64(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f, struct grove_slice raw)
{
	bool is;
	int rc = ref_of(w->payload, raw, &is);

	return is ? grove__xcsh_splice(w, f, raw, PUT_BASE64, raw) : rc;
}

static int close_object(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f)
{
	struct grove_slice type = f->member[XCSH_TYPE];
	int rc = 0;

	if (grove__json_string_is(type, "image") ||
	    grove__json_type_of(f->member[XCSH_MIME]) == JSON_STRING)
		rc = base64(w, f, f->member[XCSH_DATA]);
	if (!rc && grove__json_string_is(type, "image_generation_call"))
		rc = base64(w, f, f->member[XCSH_RESULT]);
	return rc;
}

static int put_splice(struct grove__xcsh_walk *w, const struct grove__xcsh_splice *s,
		      struct grove_buf *out)
{
	struct restore *r = w->payload;
	bool is;
	int rc = ref_of(r, s->arg, &is);

	if (rc)
		return rc;
	grove__buf_clear(&r->bytes);
	rc = r->source->get(r->source->payload, grove__buf_slice(&r->ref), &r->bytes);
	if (rc)
		return rc == GROVE_ENOMEM ? rc : grove__buf_add_slice(out, s->arg);
	r->changed = true;
	if (s->what == PUT_TEXT)
		return grove__json_put_string(out, grove__buf_slice(&r->bytes));
	rc = grove__buf_add_char(out, '"');
	if (!rc)
		rc = grove__js_base64(out, grove__buf_slice(&r->bytes));
	return rc ? rc : grove__buf_add_char(out, '"');
}

static void find_stale(struct restore *r, struct grove_slice m)
{
	struct grove_slice payload = grove__json_get(m, "providerPayload");

	if (!grove__json_string_is(grove__json_get(m, "role"), "assistant") ||
	    !grove__json_string_is(grove__json_get(payload, "type"), HISTORY))
		return;
	r->stale = m.ptr;
	r->content = grove__json_get(m, "content").ptr;
	r->changed = true;
}

static bool has(struct grove_slice value, const char *str)
{
	return value.len && memmem(value.ptr, value.len, str, strlen(str));
}

static int walk(struct restore *r, struct grove_slice value, struct grove_buf *out)
{
	static const struct grove__xcsh_rules rules = { drop, string, close_object, put_splice };
	size_t start = out->len;
	int rc = grove__xcsh_walk(&rules, r, value, out);

	if (!rc && !r->changed) {
		grove__buf_cut(out, start); /* the blob does not exist */
		rc = 1;
	}
	grove__buf_release(&r->ref);
	grove__buf_release(&r->bytes);
	return rc;
}

/* Files written by other programs may spell letters as escapes. */
static bool may_refer(struct grove_slice value)
{
	return has(value, GROVE__XCSH_BLOB) || has(value, "\\u00");
}

int grove__xcsh_restore(struct grove_slice value, bool is_message,
			const struct grove__blob_source *source, struct grove_buf *out)
{
	struct restore r = { .source = source };

	if (!may_refer(value) && !has(value, HISTORY))
		return 1;
	if (is_message)
		find_stale(&r, value);
	else if (grove__json_string_is(grove__json_get(value, "type"), "message"))
		find_stale(&r, grove__json_get(value, "message"));
	return walk(&r, value, out);
}

int grove__xcsh_resolve(struct grove_slice line, const struct grove__blob_source *source,
			struct grove_buf *out)
{
	struct restore r = { .source = source };

	return may_refer(line) ? walk(&r, line, out) : 1;
}
