/*
 * dialect/omp_context.c: the messages that oh-my-pi's entries contribute.
 *
 * Like xcsh's, except that a compaction can contain more, and that failed replies and
 * unanswered calls are left out.
 */
#include "dialect/omp.h"
#include "dialect/xcsh.h"
#include "dialect/xcsh_llm.h"

#include "base/array.h"
#include "base/idmap.h"
#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

static bool has_text(struct grove_slice raw)
{
	return grove__json_type_of(raw) == JSON_STRING && raw.len > 2;
}

/* Returns a summary that the provider can read itself. */
static struct grove_slice anthropic_part(struct grove_slice line)
{
	return grove__json_get(grove__json_get(line, "preserveData"), "anthropicCompaction");
}

static bool own_summary(struct grove_slice line)
{
	struct grove_slice part = anthropic_part(line);

	return has_text(grove__json_get(part, "provider")) && has_text(grove__json_get(part, "content"));
}

/*
 * If the provider has the history, only what came after that is kept; if it wrote the
 * summary, unless the compaction itself names what it keeps.
 */
int grove__omp_first_kept(struct grove_slice line, struct grove_buf *out, bool *after)
{
	struct grove_slice through = grove__json_get(line, "providerReplayThroughEntryId");
	struct grove_slice kept = grove__json_get(line, "firstKeptEntryId"), provider, items;
	bool unnamed = grove__json_type_of(kept) == JSON_STRING && kept.len == 2;

	if (own_summary(line) ? !unnamed : !grove__xcsh_remote_history(line, &provider, &items))
		return grove__pi_first_kept(line, out, after);
	*after = true;
	return grove__json_type_of(through) == JSON_STRING ? grove__json_text(out, through) : 0;
}

static int put_payload(struct grove_buf *out, struct grove_slice line)
{
	struct grove_slice part = anthropic_part(line), provider, items;
	int rc;

	if (own_summary(line)) {
		rc = grove__buf_add_str(out, ",\"providerPayload\":{\"type\":\"anthropicCompaction\"");
		rc = rc ? rc : grove__xcsh_put_member(out, "provider", grove__json_get(part, "provider"));
		rc = rc ? rc : grove__xcsh_put_member(out, "content", grove__json_get(part, "content"));
		return rc ? rc : grove__buf_add_char(out, '}');
	}
	if (!grove__xcsh_remote_history(line, &provider, &items))
		return 0;
	rc = grove__buf_add_str(out, ",\"providerPayload\":{\"type\":\"openaiResponsesHistory\"");
	rc = rc ? rc : grove__xcsh_put_member(out, "provider", provider);
	rc = rc ? rc : grove__xcsh_put_member(out, "items", items);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* --- summaries as pictures --- */

static bool is_frame(struct grove_slice f)
{
	return has_text(grove__json_get(f, "data")) &&
	       grove__json_type_of(grove__json_get(f, "mimeType")) == JSON_STRING &&
	       grove__json_type_of(grove__json_get(f, "cols")) == JSON_NUMBER &&
	       grove__json_type_of(grove__json_get(f, "rows")) == JSON_NUMBER &&
	       grove__json_type_of(grove__json_get(f, "chars")) == JSON_NUMBER;
}

static int put_frames(struct grove_buf *out, struct grove_slice frames)
{
	struct grove__json_iter it;
	bool first = true;
	int rc = 0;

	grove__json_iter_init(&it, frames);
	while (!rc && grove__json_next(&it)) {
		if (!is_frame(it.value))
			continue;
		rc = grove__buf_addf(out, "%s{\"type\":\"image\"", first ? "" : ",");
		rc = rc ? rc : grove__xcsh_put_member(out, "data", grove__json_get(it.value, "data"));
		rc = rc ? rc : grove__xcsh_put_member(out, "mimeType", grove__json_get(it.value, "mimeType"));
		rc = rc ? rc : grove__buf_add_char(out, '}');
		first = false;
	}
	return rc;
}

/* Writes a block of text: `raw` and `more`, if they are texts, between two others. */
static int put_text(struct grove_buf *out, const char *before, struct grove_slice raw,
		    struct grove_slice more, const char *after)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_add_str(&b, before);

	if (has_text(raw))
		rc = rc ? rc : grove__json_text(&b, raw);
	if (has_text(more))
		rc = rc ? rc : grove__json_text(&b, more);
	rc = rc ? rc : grove__buf_add_str(&b, after);
	rc = rc ? rc : grove__xcsh_put_text(out, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

static int put_pictures(struct grove_buf *out, struct grove_slice line)
{
	struct grove_slice snap = grove__json_get(grove__json_get(line, "preserveData"), "snapcompact");
	struct grove_slice frames = grove__json_get(snap, "frames");
	struct grove_slice head = grove__json_get(snap, "textHead"), tail = grove__json_get(snap, "textTail");
	const struct grove_slice none = { NULL, 0 };
	struct grove_buf images = GROVE_BUF_INIT;
	int rc = 0;

	if (grove__json_type_of(frames) == JSON_ARRAY)
		rc = put_frames(&images, frames);
	if (!rc && images.len) {
		rc = grove__buf_add_str(out, ",\"blocks\":[");
		if (has_text(head)) {
			rc = rc ? rc : put_text(out, "", head, none, "\n-------------- imaged middle below\n");
			rc = rc ? rc : grove__buf_add_char(out, ',');
		}
		rc = rc ? rc : grove__buf_add_slice(out, grove__buf_slice(&images));
		if (has_text(tail)) {
			rc = rc ? rc : grove__buf_add_char(out, ',');
			rc = rc ? rc : put_text(out, "-------------- imaged middle above\n", tail, none, "");
		}
		rc = rc ? rc : grove__buf_addf(out, "],\"images\":[%s]", images.ptr);
	} else if (!rc && (has_text(head) || has_text(tail))) {
		rc = grove__buf_add_str(out, ",\"blocks\":[");
		rc = rc ? rc : put_text(out, "", head, tail, "");
		rc = rc ? rc : grove__buf_add_char(out, ']');
	}
	grove__buf_release(&images);
	return rc;
}

/* --- messages --- */

static int put_compaction(struct grove_buf *out, struct grove_slice line)
{
	static const char *const members[] = { "summary", "shortSummary", "tokensBefore", "tokensAfter",
					       "method" };
	int rc = grove__buf_add_str(out, "{\"role\":\"compactionSummary\"");

	for (size_t i = 0; i < sizeof(members) / sizeof(*members) && !rc; i++)
		rc = grove__xcsh_put_member(out, members[i], grove__json_get(line, members[i]));
	rc = rc ? rc : put_payload(out, line);
	rc = rc ? rc : put_pictures(out, line);
	return rc ? rc : grove__xcsh_put_member(out, "warning", grove__json_get(line, "warning"));
}

static int put_custom(struct grove_buf *out, struct grove_slice line)
{
	struct grove_slice type = grove__json_get(line, "customType");
	bool display = grove__json_type_of(grove__json_get(line, "display")) == JSON_TRUE;
	struct grove_slice content = grove__json_get(line, "content");
	int rc;

	if (grove__json_type_of(content) != JSON_STRING && grove__json_type_of(content) != JSON_ARRAY)
		return 1;
	/* the program says these anew each time */
	if (grove__json_string_is(type, "prewalk-plan") || grove__json_string_is(type, "vibe-mode-context"))
		return 1;
	rc = grove__buf_add_str(out, "{\"role\":\"custom\"");
	rc = rc ? rc : grove__xcsh_put_member(out, "customType", type.len ? type : grove__slice_str("\"custom-message\""));
	rc = rc ? rc : grove__xcsh_put_member(out, "content", content);
	rc = rc ? rc : grove__xcsh_put_member(out, "display", grove__slice_str(display ? "true" : "false"));
	rc = rc ? rc : grove__xcsh_put_member(out, "details", grove__json_get(line, "details"));
	return rc ? rc : grove__xcsh_put_member(out, "attribution", grove__json_get(line, "attribution"));
}

int grove__omp_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			int64_t time, const int64_t *next, const struct grove_slice *edit,
			const struct grove__blob_source *blobs,
			int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	static const struct grove__xcsh_voice voice = { put_compaction, put_custom, own_summary, false };

	(void)role;
	(void)edit;
	return grove__xcsh_messages_as(&voice, line, kind, time, next, blobs, fn, payload);
}

/* --- what is not sent again --- */

/* The texts seen so far, and where. */
struct seen {
	struct grove__idmap map;
	struct grove_slice *text;        /* unescaped, in `bytes` */
	size_t nr, cap;
	struct grove__arena bytes;
};

static struct grove_slice seen_at(const void *owner, uint32_t i)
{
	return ((const struct seen *)owner)->text[i];
}

static void seen_init(struct seen *s)
{
	memset(s, 0, sizeof(*s));
	grove__idmap_init(&s->map, 0x9e3779b97f4a7c15u, seen_at, s);
	grove__arena_init(&s->bytes);
}

static void seen_release(struct seen *s)
{
	grove__idmap_release(&s->map);
	grove__arena_release(&s->bytes);
	free(s->text);
}

/* Decodes a raw string into b. */
static struct grove_slice text_of(struct grove_buf *b, struct grove_slice raw, int *rc)
{
	grove__buf_clear(b);
	if (!*rc)
		*rc = grove__json_text(b, raw);
	return grove__buf_slice(b);
}

static int seen_add(struct seen *s, struct grove_buf *tmp, struct grove_slice raw)
{
	struct grove_slice text;
	uint32_t old;
	int rc = 0;

	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	text = text_of(tmp, raw, &rc);
	if (rc || grove__idmap_get(&s->map, text) != GROVE__IDMAP_NONE)
		return rc;
	rc = grove__array_room(&s->text, &s->cap, s->nr, sizeof(*s->text));
	if (rc)
		return rc;
	s->text[s->nr].ptr = grove__arena_dup(&s->bytes, text);
	s->text[s->nr].len = text.len;
	if (!s->text[s->nr].ptr)
		return GROVE_ENOMEM;
	s->nr++;
	return grove__idmap_put(&s->map, s->text[s->nr - 1], (uint32_t)(s->nr - 1), &old);
}

static int seen_has(struct seen *s, struct grove_buf *tmp, struct grove_slice raw, bool *yes)
{
	int rc = 0;

	*yes = false;
	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	*yes = grove__idmap_get(&s->map, text_of(tmp, raw, &rc)) != GROVE__IDMAP_NONE;
	return rc;
}

struct settling {
	struct seen answered;            /* by a result, anywhere */
	struct seen gone;                /* calls of failed replies, so far */
	struct grove_buf tmp, out;
};

static bool failed(struct grove_slice m)
{
	struct grove_slice stop = grove__json_get(m, "stopReason");

	return grove__json_string_is(stop, "error") || grove__json_string_is(stop, "aborted");
}

static bool is_call(struct grove_slice block)
{
	return grove__json_string_is(grove__json_get(block, "type"), "toolCall");
}

static int calls_gone(struct settling *s, struct grove_slice content)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it))
		if (is_call(it.value))
			rc = seen_add(&s->gone, &s->tmp, grove__json_get(it.value, "id"));
	return rc;
}

/* Returns 1 if any call in the content has no result. */
static int unanswered(struct settling *s, struct grove_slice content, bool *any)
{
	struct grove__json_iter it;
	bool has;
	int rc = 0;

	*any = false;
	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && !*any && grove__json_next(&it))
		if (is_call(it.value)) {
			rc = seen_has(&s->answered, &s->tmp, grove__json_get(it.value, "id"), &has);
			*any = !has;
		}
	return rc;
}

/*
 * Writes the content without those calls. Signatures covered them, so signatures and
 * unreadable thinking are dropped, too. *left counts blocks.
 */
static int strip(struct settling *s, struct grove_slice content, struct grove_buf *out, size_t *left)
{
	static const struct grove__json_change unsign = { { "thinkingSignature" }, { NULL, 0 } };
	struct grove__json_iter it;
	bool has;
	int rc = grove__buf_add_char(out, '[');

	*left = 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it)) {
		struct grove_slice type = grove__json_get(it.value, "type");

		if (is_call(it.value)) {
			rc = seen_has(&s->answered, &s->tmp, grove__json_get(it.value, "id"), &has);
			if (rc || !has)
				continue;
		}
		if (grove__json_string_is(type, "redactedThinking"))
			continue;
		rc = rc || !(*left)++ ? rc : grove__buf_add_char(out, ',');
		if (grove__json_string_is(type, "thinking"))
			rc = rc ? rc : grove__json_edit(out, it.value, &unsign, 1);
		else
			rc = rc ? rc : grove__json_put_raw(out, it.value);
	}
	return rc ? rc : grove__buf_add_char(out, ']');
}

bool grove__omp_has_words(struct grove_slice raw, struct grove_buf *tmp, int *rc)
{
	return grove__json_type_of(raw) == JSON_STRING && grove__js_trim(text_of(tmp, raw, rc)).len;
}

/* A block of a kind that is not known says something. */
static bool says_something(struct settling *s, struct grove_slice block, int *rc)
{
	static const char *const kinds[] = { "text", "thinking", "redactedThinking", "fallback" };
	static const char *const words[] = { "text", "thinking", "thinkingSignature", "data" };
	bool known = false, any = false;

	for (int i = 0; i < 4; i++) {
		known |= grove__json_string_is(grove__json_get(block, "type"), kinds[i]);
		any |= grove__omp_has_words(grove__json_get(block, words[i]), &s->tmp, rc);
	}
	return any || !known;
}

/* A reply that failed without a word is not sent, whatever follows it. */
static bool failed_silently(struct settling *s, struct grove_slice m, int *rc)
{
	bool silent = grove__json_string_is(grove__json_get(m, "stopReason"), "error");
	struct grove__json_iter it;

	grove__json_iter_init(&it, grove__json_get(m, "content"));
	while (silent && grove__json_next(&it))
		silent = !says_something(s, it.value, rc);
	return silent;
}

/*
 * Returns 1 if the reply is left out; otherwise *m is what is sent, perhaps unchanged.
 * `noted`: what it was thinking when it was stopped follows.
 */
static int settle_reply(struct settling *s, struct grove_slice *m, bool noted)
{
	struct grove_slice content = grove__json_get(*m, "content");
	struct grove__json_change change = { .path = { "content" } };
	struct grove_buf blocks = GROVE_BUF_INIT;
	size_t left;
	bool any;
	int rc = 0;

	noted = noted && !failed_silently(s, *m, &rc);
	if (rc)
		return rc;
	/* it was retried, so its results may also belong to the other attempt */
	if (grove__json_truthy(grove__json_get(*m, "retryRecovery")))
		return 1;
	if (failed(*m) && !noted) {
		rc = calls_gone(s, content);
		return rc ? rc : 1;
	}
	rc = unanswered(s, content, &any);
	if (rc || !any)
		return rc;
	rc = strip(s, content, &blocks, &left);
	if (!rc && !left)
		rc = 1;
	if (!rc) {
		change.value = grove__buf_slice(&blocks);
		grove__buf_clear(&s->out);
		rc = grove__json_edit(&s->out, *m, &change, 1);
		*m = grove__buf_slice(&s->out);
	}
	grove__buf_release(&blocks);
	return rc;
}

bool grove__omp_is_note(struct grove_slice m)
{
	return grove__json_string_is(grove__json_get(m, "role"), "custom") &&
	       grove__json_string_is(grove__json_get(m, "customType"), "interrupted-thinking");
}

static int settle_one(struct settling *s, struct grove_slice *m, bool noted)
{
	bool lost;
	int rc;

	switch (grove__pi_role(grove__json_get(*m, "role"))) {
	case GROVE_ROLE_ASSISTANT:
		return settle_reply(s, m, noted);
	case GROVE_ROLE_TOOL_RESULT:
		rc = seen_has(&s->gone, &s->tmp, grove__json_get(*m, "toolCallId"), &lost);
		return rc ? rc : lost;
	default:
		return 0;
	}
}

int grove__omp_settle(const struct grove_slice *messages, size_t nr,
		      int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload)
{
	struct settling s = { .tmp = GROVE_BUF_INIT, .out = GROVE_BUF_INIT };
	int rc = 0;

	seen_init(&s.answered);
	seen_init(&s.gone);
	for (size_t i = 0; i < nr && !rc; i++)
		if (grove__pi_role(grove__json_get(messages[i], "role")) == GROVE_ROLE_TOOL_RESULT)
			rc = seen_add(&s.answered, &s.tmp, grove__json_get(messages[i], "toolCallId"));
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_slice m = messages[i];

		rc = settle_one(&s, &m, i + 1 < nr && grove__omp_is_note(messages[i + 1]));
		if (!rc)
			rc = fn(payload, i, m);
		else if (rc == 1)
			rc = 0;
	}
	seen_release(&s.answered);
	seen_release(&s.gone);
	grove__buf_release(&s.tmp);
	grove__buf_release(&s.out);
	return rc;
}
