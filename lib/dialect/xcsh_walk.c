/*
 * dialect/xcsh_walk.c: walks over all members of a value and edits some.
 *
 * The walk goes from token to token with an explicit stack, so its time does not depend on
 * the depth. A member that is left out takes a comma with it:
 *
 *     {"a":1,"x":2,"b":3}        before another member: from its key to that one's
 *            ------
 *     {"a":1,"x":2,"y":3}        at the end: from the comma after the last that stays
 *           ------------
 */
#include "dialect/xcsh_walk.h"

#include "js/js.h"
#include "json/escape.h"
#include "json/value.h"

#include <stdlib.h>

static const struct {
	const char *name;
	enum grove__xcsh_key key;
} names[] = {
	{ "type", XCSH_TYPE },
	{ "data", XCSH_DATA },
	{ "mimeType", XCSH_MIME },
	{ "content", XCSH_CONTENT },
	{ "lineCount", XCSH_LINE_COUNT },
	{ "thinking", XCSH_THINKING },
	{ "thinkingSignature", XCSH_THINKING_SIGNATURE },
	{ "thoughtSignature", XCSH_THOUGHT_SIGNATURE },
	{ "textSignature", XCSH_TEXT_SIGNATURE },
	{ "encrypted_content", XCSH_ENCRYPTED },
	{ "result", XCSH_RESULT },
	{ "image_url", XCSH_IMAGE_URL },
	{ "images", XCSH_IMAGES },
	{ "frames", XCSH_FRAMES },
	{ "partialJson", XCSH_PARTIAL_JSON },
	{ "jsonlEvents", XCSH_JSONL_EVENTS },
	{ "providerPayload", XCSH_PROVIDER_PAYLOAD },
	{ "anthropicCompaction", XCSH_ANTHROPIC_COMPACTION },
};

static enum grove__xcsh_key key_of(struct grove_slice raw)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (grove__json_string_is(raw, names[i].name))
			return names[i].key;
	return XCSH_OTHER;
}

size_t grove__xcsh_units(struct grove_slice raw)
{
	const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
	size_t n = 0;
	uint32_t cp;

	for (;;) {
		const char *run = p;

		p = grove__json_plain_end(p, end);
		n += grove__js_length(grove__slice(run, (size_t)(p - run)));
		if (p == end)
			return n;
		p += grove__json_unescape(p, end, &cp);
		n += cp < 0x10000 ? 1 : 2;
	}
}

static struct grove__xcsh_frame *top(const struct grove__xcsh_walk *w)
{
	if (!w->frames.len)
		return NULL;
	return (struct grove__xcsh_frame *)(void *)(w->frames.ptr + w->frames.len) - 1;
}

const struct grove__xcsh_frame *grove__xcsh_around(const struct grove__xcsh_walk *w,
						   const struct grove__xcsh_frame *f)
{
	return (const void *)f == w->frames.ptr ? NULL : f - 1;
}

int grove__xcsh_splice(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f,
		       struct grove_slice raw, int what, struct grove_slice arg)
{
	struct grove__xcsh_splice s = { raw.ptr, raw.len, what, arg };

	if (f)
		f->changed = true;
	return grove__buf_add(&w->splices, &s, sizeof s);
}

void grove__xcsh_keep_whole(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f)
{
	if (w->splices.len > f->splices)
		grove__buf_cut(&w->splices, f->splices);
	f->gone = NULL;
	f->changed = false;
}

static int cut(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f, const char *from,
	       const char *to)
{
	return grove__xcsh_splice(w, f, grove__slice(from, (size_t)(to - from)), 0,
				  grove__slice(NULL, 0));
}

static int open_frame(struct grove__xcsh_walk *w, const char *p, enum grove__xcsh_key key)
{
	struct grove__xcsh_frame *around = top(w);
	struct grove__xcsh_frame f = {
		.start = p, .key = key, .object = *p == '{', .splices = w->splices.len,
		.sealed = key == XCSH_ENCRYPTED,
	};

	if (around) {
		f.item = !around->object;
		f.sealed |= around->sealed;
		/* the last of duplicates counts, even if it is not one we want */
		if (around->object && key < XCSH_REMEMBERED)
			around->member[key] = grove__slice(NULL, 0);
	}
	return grove__buf_add(&w->frames, &f, sizeof f);
}

static int close_frame(struct grove__xcsh_walk *w)
{
	struct grove__xcsh_frame *f = top(w), *around;
	bool changed;
	int rc = 0;

	if (f->object)
		rc = w->rules->close(w, f);
	if (!rc && f->gone)
		rc = cut(w, f, f->kept ? grove__json_skip_space(f->kept, f->last) : f->gone, f->last);
	changed = f->changed;
	grove__buf_cut(&w->frames, w->frames.len - sizeof *f);
	around = top(w);
	if (around)
		around->changed |= changed;
	return rc;
}

static int scalar(struct grove__xcsh_walk *w, enum grove__xcsh_key key, struct grove_slice raw)
{
	struct grove__xcsh_frame *f = top(w);

	if (f && f->object && key < XCSH_REMEMBERED)
		f->member[key] = raw;
	return *raw.ptr == '"' ? w->rules->string(w, f, key, raw) : 0;
}

/*
 * Goes from a bracket or a value to the next value: *p is left there, *key is its key.
 * Returns 1 if there is none.
 */
static int next(struct grove__xcsh_walk *w, const char **pos, enum grove__xcsh_key *key)
{
	const char *p = *pos, *begin;
	struct grove__xcsh_frame *f;
	size_t len;
	int rc;

	while ((f = top(w))) {
		p = grove__json_skip_space(p, w->end);
		if (p == w->end)
			break; /* cut off: not valid JSON, but no reason to crash */
		if (*p == ',') {
			p++;
			continue;
		}
		if (*p == '}' || *p == ']') {
			rc = close_frame(w);
			if (rc)
				return rc;
			p++;
			f = top(w);
			if (f)
				f->kept = f->last = p;
			continue;
		}
		*key = f->key;
		if (f->object) {
			begin = p;
			len = grove__json_skip(p, w->end);
			*key = key_of(grove__slice(p, len));
			p = grove__json_skip_space(p + len, w->end);
			if (w->end - p < 2)
				break;
			p = grove__json_skip_space(p + 1, w->end); /* the colon */
			if (p == w->end)
				break;
			if (w->rules->drop(w, f, *key)) {
				p += grove__json_skip(p, w->end);
				if (!f->gone)
					f->gone = begin;
				f->last = p;
				f->changed = true;
				continue;
			}
			rc = f->gone ? cut(w, f, f->gone, begin) : 0;
			if (rc)
				return rc;
			f->gone = NULL;
		}
		*pos = p;
		return 0;
	}
	return 1;
}

static int walk(struct grove__xcsh_walk *w, const char *p)
{
	enum grove__xcsh_key key = XCSH_OTHER;
	struct grove__xcsh_frame *f;
	int rc;

	do {
		if (*p == '{' || *p == '[') {
			rc = open_frame(w, p++, key);
		} else {
			size_t len = grove__json_skip(p, w->end);

			rc = scalar(w, key, grove__slice(p, len));
			p += len;
			f = top(w);
			if (f)
				f->kept = f->last = p;
		}
		if (!rc)
			rc = next(w, &p, &key);
	} while (!rc);
	return rc == 1 ? 0 : rc;
}

static int cmp_splice(const void *va, const void *vb)
{
	const struct grove__xcsh_splice *a = va, *b = vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static int apply(struct grove__xcsh_walk *w, struct grove_slice value, struct grove_buf *out)
{
	struct grove__xcsh_splice *s = (struct grove__xcsh_splice *)(void *)w->splices.ptr;
	size_t i, nr = w->splices.len / sizeof *s;
	const char *p = value.ptr;
	int rc = 0;

	qsort(s, nr, sizeof *s, cmp_splice);
	for (i = 0; !rc && i < nr; i++) {
		rc = grove__buf_add(out, p, (size_t)(s[i].at - p));
		if (!rc && s[i].what)
			rc = w->rules->put(w, &s[i], out);
		p = s[i].at + s[i].cut;
	}
	return rc ? rc : grove__buf_add(out, p, (size_t)(w->end - p));
}

int grove__xcsh_walk(const struct grove__xcsh_rules *rules, void *payload, struct grove_slice value,
		     struct grove_buf *out)
{
	struct grove__xcsh_walk w = {
		.rules = rules, .payload = payload, .end = value.ptr + value.len,
	};
	const char *p = grove__json_skip_space(value.ptr, w.end);
	size_t start = out->len;
	int rc = p == w.end ? 0 : walk(&w, p);

	if (!rc)
		rc = w.splices.len ? apply(&w, value, out) : 1;
	if (rc && out->len > start)
		grove__buf_cut(out, start);
	grove__buf_release(&w.frames);
	grove__buf_release(&w.splices);
	return rc;
}
