/*
 * dialect/xcsh_prepare.c: prepares a line for storage.
 *
 * Lines have to stay small enough to be read back: images go to the blob store, strings
 * beyond the limit are cut, and leftovers of streaming are dropped. The program does the
 * same, but also cuts values that are worthless unless they are complete. We keep these,
 * however long:
 *
 *     {"type":"image","data":…}  {"mimeType":…,"data":…}       an image, anywhere
 *     {"type":"thinking","thinking":…,"thinkingSignature":…}   the signature covers it
 *     {"type":"redactedThinking","data":…}  "encrypted_content":…   encrypted
 *
 * Whether a string is one of them is known only at the end of its object.
 *
 * oh-my-pi now keeps most of these, and more:
 *
 *     {"type":"text","text":…,"textSignature":…}               whatever is signed, with
 *     {"type":"toolCall","arguments":…,"thoughtSignature":…}   all that is in it
 *     {"type":"reasoning","encrypted_content":…}
 *     "anthropicCompaction":{"content":…}
 */
#include "dialect/xcsh.h"

#include "base/utf8.h"
#include "dialect/xcsh_walk.h"
#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <strings.h>

/* In UTF-16 units. */
#define LIMIT ((size_t)500000)
#define IMAGE_MIN ((size_t)1024)
#define NOTICE "\n\n[Session persistence truncated large content]"
#define KEEP (LIMIT - (sizeof NOTICE - 1))
/* Longer than any real one. */
#define EXT_MAX 32

enum { PUT_EMPTY = 1, PUT_CUT, PUT_IMAGE, PUT_URL, PUT_COUNT, PUT_COUNT_CUT };

/* Where agents differ. */
struct agent {
	bool partial_json;   /* is kept */
	bool signatures;     /* are kept, whatever their length, together with what they cover */
	bool more_images;    /* also in images and frames, not only in content; generated ones;
	                        named by type */
};

struct prepare {
	const struct agent *rules;
	const struct grove__blob_sink *sink;
	struct grove_buf text, bytes, ref;
};

static bool longer(struct grove_slice raw, size_t limit)
{
	/* a unit takes at least one byte */
	return grove__json_type_of(raw) == JSON_STRING && raw.len - 2 > limit &&
	       grove__xcsh_units(raw) > limit;
}

static bool drop(struct grove__xcsh_walk *w, const struct grove__xcsh_frame *f,
		 enum grove__xcsh_key key)
{
	const struct prepare *p = w->payload;

	(void)f;
	return key == XCSH_JSONL_EVENTS || (key == XCSH_PARTIAL_JSON && !p->rules->partial_json);
}

static int to_text(struct grove_buf *text, struct grove_slice raw)
{
	grove__buf_clear(text);
	return grove__json_text(text, raw);
}

static int is_image_url(struct prepare *p, struct grove_slice raw, bool *is)
{
	static const char mark[] = ";base64,";
	int rc = to_text(&p->text, raw);

	*is = !rc && grove__slice_starts(grove__buf_slice(&p->text), "data:image/") &&
	      memmem(p->text.ptr, p->text.len, mark, sizeof mark - 1);
	return rc;
}

static int string(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f, enum grove__xcsh_key key,
		  struct grove_slice raw)
{
	struct prepare *p = w->payload;
	bool is = false;
	int rc;

	if (key == XCSH_IMAGE_URL && p->sink) {
		rc = is_image_url(p, raw, &is);
		if (rc || is)
			return rc ? rc : grove__xcsh_splice(w, f, raw, PUT_URL, raw);
	}
	if (raw.len - 2 <= LIMIT || key == XCSH_ENCRYPTED || (f && f->sealed))
		return 0;
	if (f && f->object && (key == XCSH_DATA || key == XCSH_THINKING || key == XCSH_RESULT))
		return 0; /* at its end */
	is = key == XCSH_THINKING_SIGNATURE || key == XCSH_TEXT_SIGNATURE ||
	     key == XCSH_THOUGHT_SIGNATURE;
	if ((is && p->rules->signatures) || !longer(raw, LIMIT))
		return 0;
	return grove__xcsh_splice(w, f, raw, is ? PUT_EMPTY : PUT_CUT, raw);
}

static bool is_string(struct grove_slice raw)
{
	return grove__json_type_of(raw) == JSON_STRING;
}

/*
 * Gets the file extension for an image type (raw) into `ext` (may be NULL). Returns false
 * if it is not an image.
 */
static bool image_ext(struct grove_slice mime, char *ext)
{
	static const char head[] = "\"image/";
	const size_t skip = sizeof head - 1;
	size_t n = 0;

	if (!is_string(mime) || mime.len <= skip + 1 || strncasecmp(mime.ptr, head, skip))
		return false;
	for (const char *p = mime.ptr + skip; *p != ';' && *p != '"'; p++) {
		bool big = *p >= 'A' && *p <= 'Z';

		if (!big && !(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') && !strchr("+-.", *p))
			return false;
		if (ext && n < EXT_MAX - 1)
			ext[n] = (char)(big ? *p - 'A' + 'a' : *p);
		n++;
	}
	if (!ext || !n)
		return n > 0;
	ext[n < EXT_MAX ? n : EXT_MAX - 1] = '\0';
	/* use the usual short form */
	if (!strcmp(ext, "jpeg"))
		memcpy(ext, "jpg", sizeof "jpg");
	else if (!strcmp(ext, "svg+xml"))
		memcpy(ext, "svg", sizeof "svg");
	return true;
}

static bool has_type(const struct grove__xcsh_frame *f, const char *type)
{
	return grove__json_string_is(f->member[XCSH_TYPE], type);
}

/* Returns true for base64 that is long enough for a blob. */
static bool is_loose(struct grove_slice raw)
{
	return is_string(raw) &&
	       !grove__slice_starts(grove__slice(raw.ptr + 1, raw.len - 2), GROVE__XCSH_BLOB) &&
	       longer(raw, IMAGE_MIN - 1);
}

/* Returns true where readers look for images: in a content array, or where this agent puts some. */
static bool is_image(const struct prepare *p, const struct grove__xcsh_frame *f)
{
	if (f->key == XCSH_CONTENT)
		return (f->item || p->rules->more_images) && has_type(f, "image");
	if (!p->rules->more_images || (f->key != XCSH_IMAGES && f->key != XCSH_FRAMES))
		return false;
	return has_type(f, "image") || image_ext(f->member[XCSH_MIME], NULL);
}

static bool is_signature(struct grove_slice raw)
{
	return is_string(raw) && raw.len > 2;
}

/* Returns true if any change would make the object worthless. */
static bool is_signed(const struct grove__xcsh_frame *f)
{
	return (has_type(f, "redactedThinking") && is_string(f->member[XCSH_DATA])) ||
	       has_type(f, "anthropicCompaction") ||
	       (f->key == XCSH_ANTHROPIC_COMPACTION && is_string(f->member[XCSH_CONTENT])) ||
	       (has_type(f, "thinking") && is_signature(f->member[XCSH_THINKING_SIGNATURE])) ||
	       (has_type(f, "text") && is_signature(f->member[XCSH_TEXT_SIGNATURE])) ||
	       (has_type(f, "toolCall") && is_signature(f->member[XCSH_THOUGHT_SIGNATURE])) ||
	       (has_type(f, "reasoning") && is_signature(f->member[XCSH_ENCRYPTED]));
}

static bool whole_data(const struct grove__xcsh_frame *f)
{
	return f->sealed || is_string(f->member[XCSH_MIME]) || has_type(f, "image") ||
	       has_type(f, "redactedThinking");
}

static bool whole_thinking(const struct grove__xcsh_frame *f)
{
	struct grove_slice signature = f->member[XCSH_THINKING_SIGNATURE];

	return f->sealed ||
	       (has_type(f, "thinking") && is_signature(signature) && !longer(signature, LIMIT));
}

static int close_object(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f)
{
	const struct prepare *p = w->payload;
	struct grove_slice data = f->member[XCSH_DATA], thinking = f->member[XCSH_THINKING];
	struct grove_slice content = f->member[XCSH_CONTENT], count = f->member[XCSH_LINE_COUNT];
	struct grove_slice result = f->member[XCSH_RESULT];
	bool drawn = p->rules->more_images && has_type(f, "image_generation_call");
	int rc = 0;

	if (p->rules->signatures && is_signed(f)) {
		grove__xcsh_keep_whole(w, f);
		return 0;
	}
	if (p->sink && is_loose(data) && is_image(p, f)) {
		grove__xcsh_keep_whole(w, f);
		return grove__xcsh_splice(w, f, data, PUT_IMAGE, f->member[XCSH_MIME]);
	}
	if (p->sink && drawn && is_loose(result)) {
		grove__xcsh_keep_whole(w, f);
		return grove__xcsh_splice(w, f, result, PUT_IMAGE, grove__slice(NULL, 0));
	}
	if (longer(data, LIMIT) && !whole_data(f))
		rc = grove__xcsh_splice(w, f, data, PUT_CUT, data);
	if (!rc && longer(thinking, LIMIT) && !whole_thinking(f))
		rc = grove__xcsh_splice(w, f, thinking, PUT_CUT, thinking);
	if (!rc && longer(result, LIMIT) && !f->sealed && !drawn)
		rc = grove__xcsh_splice(w, f, result, PUT_CUT, result);
	if (!rc && f->changed && is_string(content) && grove__json_type_of(count) == JSON_NUMBER)
		rc = grove__xcsh_splice(w, f, count, f->sealed ? PUT_COUNT : PUT_COUNT_CUT, content);
	return rc;
}

/* --- replacements --- */

/* Cuts a text that is over the limit, never within a character. */
static int cut_text(struct grove_buf *text)
{
	const char *p = text->ptr, *end = p + text->len, *last = p;
	uint32_t cp = 0;
	size_t n = 0;

	while (n < KEEP && p < end) {
		last = p;
		p += grove__utf8_decode_wtf8(p, end, &cp);
		n += cp < 0x10000 ? 1 : 2;
	}
	/* stop before half a character, or a surrogate without its pair */
	if (n > KEEP || grove__utf8_is_high(cp))
		p = last;
	grove__buf_cut(text, (size_t)(p - text->ptr));
	return grove__buf_add_str(text, NOTICE);
}

static int put_blob(struct prepare *p, struct grove_slice bytes, const char *ext,
		    struct grove_buf *out)
{
	int rc;

	grove__buf_clear(&p->ref);
	rc = p->sink->put(p->sink->payload, bytes, ext, &p->ref);
	return rc ? rc : grove__json_put_string(out, grove__buf_slice(&p->ref));
}

/* Stores the image in the raw string `data`; `mime` is raw, too. */
static int put_image(struct prepare *p, struct grove_slice data, struct grove_slice mime,
		     struct grove_buf *out)
{
	char ext[EXT_MAX];
	bool named = p->rules->more_images && image_ext(mime, ext);
	int rc = to_text(&p->text, data);

	grove__buf_clear(&p->bytes);
	rc = rc ? rc : grove__js_base64_decode(&p->bytes, grove__buf_slice(&p->text));
	return rc ? rc : put_blob(p, grove__buf_slice(&p->bytes), named ? ext : NULL, out);
}

/* Encodes like JavaScript's Buffer: a lone surrogate becomes U+FFFD. */
static int to_utf8(struct grove_buf *bytes, struct grove_slice text)
{
	const char *p = text.ptr, *end = p + text.len;
	int rc = 0;

	grove__buf_clear(bytes);
	while (!rc && p < end) {
		size_t good = grove__utf8_prefix(p, (size_t)(end - p));
		char utf8[4];
		uint32_t cp;

		rc = grove__buf_add(bytes, p, good);
		p += good;
		if (rc || p == end)
			break;
		p += grove__utf8_decode_wtf8(p, end, &cp);
		if (grove__utf8_is_surrogate(cp))
			cp = GROVE__UTF8_BAD;
		rc = grove__buf_add(bytes, utf8, grove__utf8_encode(utf8, cp));
	}
	return rc;
}

static int put_count(struct grove_buf *text, bool may_cut, struct grove_buf *out)
{
	int64_t n = 1;
	size_t i;
	int rc;

	if (may_cut && grove__js_length(grove__buf_slice(text)) > LIMIT) {
		rc = cut_text(text);
		if (rc)
			return rc;
	}
	for (i = 0; i < text->len; i++)
		n += text->ptr[i] == '\n';
	return grove__json_put_int(out, n);
}

static int put_splice(struct grove__xcsh_walk *w, const struct grove__xcsh_splice *s,
		      struct grove_buf *out)
{
	struct prepare *p = w->payload;
	int rc;

	if (s->what == PUT_IMAGE)
		return put_image(p, grove__slice(s->at, s->cut), s->arg, out);
	rc = s->what == PUT_EMPTY ? 0 : to_text(&p->text, s->arg);
	if (rc)
		return rc;
	switch (s->what) {
	case PUT_CUT:
		rc = cut_text(&p->text);
		return rc ? rc : grove__json_put_string(out, grove__buf_slice(&p->text));
	case PUT_URL:
		rc = to_utf8(&p->bytes, grove__buf_slice(&p->text));
		return rc ? rc : put_blob(p, grove__buf_slice(&p->bytes), NULL, out);
	case PUT_COUNT:
	case PUT_COUNT_CUT:
		return put_count(&p->text, s->what == PUT_COUNT_CUT, out);
	default:
		return grove__buf_add_str(out, "\"\"");
	}
}

static bool has(struct grove_slice line, const char *str)
{
	return line.len && memmem(line.ptr, line.len, str, strlen(str));
}

static int prepare(const struct agent *how, struct grove_slice line,
		   const struct grove__blob_sink *sink, struct grove_buf *out)
{
	static const struct grove__xcsh_rules rules = { drop, string, close_object, put_splice };
	struct prepare p = { .rules = how, .sink = sink };
	int rc;

	/* fast path for most lines: nothing can be long enough, and none of the names occurs */
	if (line.len <= LIMIT && !has(line, "\"image") && !has(line, "\"jsonlEvents\"") &&
	    (how->partial_json || !has(line, "\"partialJson\"")) &&
	    (!how->more_images || !has(line, "\"frames\"")))
		return 1;
	rc = grove__xcsh_walk(&rules, &p, line, out);
	grove__buf_release(&p.text);
	grove__buf_release(&p.bytes);
	grove__buf_release(&p.ref);
	return rc;
}

int grove__xcsh_prepare(struct grove_slice line, const struct grove__blob_sink *sink,
			struct grove_buf *out)
{
	static const struct agent xcsh = { false, false, false };

	return prepare(&xcsh, line, sink, out);
}

/*
 * True if a result has a structure that is also in the text of its artifact. Such a
 * structure is for the program that runs, and not stored.
 */
static bool is_spilled(struct grove_slice line)
{
	struct grove_slice m = grove__json_get(line, "message"), d = grove__json_get(m, "details");
	struct grove_slice cut = grove__json_get(grove__json_get(d, "meta"), "truncation");

	return grove__json_string_is(grove__json_get(line, "type"), "message") &&
	       grove__json_string_is(grove__json_get(m, "role"), "toolResult") &&
	       grove__json_get(d, "structuredContent").len && is_string(grove__json_get(d, "serverName")) &&
	       is_string(grove__json_get(d, "mcpToolName")) &&
	       is_signature(grove__json_get(cut, "artifactId"));
}

int grove__omp_prepare(struct grove_slice line, const struct grove__blob_sink *sink,
		       struct grove_buf *out)
{
	static const struct grove__json_change drop = { { "message", "details", "structuredContent" }, { NULL, 0 } };
	static const struct agent omp = { true, true, true };
	struct grove_buf rest = GROVE_BUF_INIT;
	bool spilled = has(line, "\"structuredContent\"") && is_spilled(line);
	int rc = spilled ? grove__json_edit(&rest, line, &drop, 1) : 0;

	rc = rc ? rc : prepare(&omp, spilled ? grove__buf_slice(&rest) : line, sink, out);
	if (rc == 1 && spilled)
		rc = grove__buf_add_slice(out, grove__buf_slice(&rest));
	grove__buf_release(&rest);
	return rc;
}
