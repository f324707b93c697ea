/*
 * dialect/omp_llm.c: a context of oh-my-pi as plain messages for a model.
 *
 * Like xcsh_llm.c with other roles, one message at a time: missing or misplaced
 * messages were put right when the context was made (settle).
 */
#include "dialect/omp.h"
#include "dialect/xcsh.h"
#include "dialect/xcsh_llm.h"

#include "json/edit.h"
#include "json/value.h"

struct telling {
	int (*fn)(void *payload, size_t from, struct grove_slice json);
	void *payload;
	struct grove_buf text, json, reply;
};

/* {"role":ROLE,"content":[ */
static int begin_message(struct telling *t, const char *role)
{
	grove__buf_clear(&t->text);
	grove__buf_clear(&t->json);
	return grove__buf_addf(&t->json, "{\"role\":\"%s\",\"content\":[", role);
}

/* Writes the rest, after the last block. */
static int end(struct telling *t, const struct grove__xcsh_message *m, struct grove_slice attribution)
{
	bool summary = m->form == XCSH_FORM_BRANCH || m->form == XCSH_FORM_COMPACTION;
	struct grove_slice time = grove__json_get(m->json, "timestamp");
	struct grove_slice rewrite = grove__json_get(m->json, "historyRewriteAt");
	int rc = grove__buf_add_char(&t->json, ']');

	rc = rc ? rc : grove__xcsh_put_member(&t->json, "attribution", attribution);
	if (summary)
		rc = rc ? rc : grove__xcsh_put_member(&t->json, "historyRewriteAt",
						      rewrite.len ? rewrite : time);
	if (m->form == XCSH_FORM_COMPACTION)
		rc = rc ? rc : grove__xcsh_put_member(&t->json, "providerPayload",
						      grove__json_get(m->json, "providerPayload"));
	rc = rc ? rc : grove__xcsh_put_member(&t->json, "timestamp", time);
	rc = rc ? rc : grove__buf_add_char(&t->json, '}');
	return rc ? rc : t->fn(t->payload, m->from, grove__buf_slice(&t->json));
}

static bool is_image(struct grove_slice block)
{
	return grove__json_string_is(grove__json_get(block, "type"), "image");
}

enum which { ALL, IMAGES, OTHERS };

/* Appends all blocks, or some. */
static int put_blocks(struct grove_buf *out, struct grove_slice blocks, enum which which)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(blocks) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, blocks);
	while (!rc && grove__json_next(&it)) {
		if (which != ALL && is_image(it.value) != (which == IMAGES))
			continue;
		if (out->ptr[out->len - 1] != '[')
			rc = grove__buf_add_char(out, ',');
		rc = rc ? rc : grove__buf_add_slice(out, it.value);
	}
	return rc;
}

/* A developer message cannot contain images, so they follow in a user message. */
static int tell_parted(struct telling *t, const struct grove__xcsh_message *m,
		       struct grove_slice content, struct grove_slice attribution)
{
	int rc = begin_message(t, "developer");

	rc = rc ? rc : put_blocks(&t->json, content, OTHERS);
	if (!rc && t->json.ptr[t->json.len - 1] != '[')
		rc = end(t, m, attribution);
	rc = rc ? rc : begin_message(t, "user");
	rc = rc ? rc : grove__xcsh_add_member(&t->text, "Images attached to ", m->json, "customType", ".");
	rc = rc ? rc : grove__xcsh_put_text(&t->json, grove__buf_slice(&t->text));
	rc = rc ? rc : put_blocks(&t->json, content, IMAGES);
	return rc ? rc : end(t, m, attribution);
}

static bool has_image(struct grove_slice content)
{
	struct grove__json_iter it;

	grove__json_iter_init(&it, content);
	while (grove__json_next(&it))
		if (is_image(it.value))
			return true;
	return false;
}

/* An extension's text counts as the program's, unless the user invoked it by name. */
static int tell_custom(struct telling *t, const struct grove__xcsh_message *m)
{
	struct grove_slice content = grove__json_get(m->json, "content");
	struct grove_slice attribution = grove__json_get(m->json, "attribution");
	bool users = grove__json_string_is(grove__json_get(m->json, "role"), "custom") &&
		     grove__json_string_is(grove__json_get(m->json, "customType"), "skill-prompt") &&
		     grove__json_string_is(attribution, "user");
	int rc;

	if (grove__json_type_of(content) == JSON_ARRAY) {
		if (!users && has_image(content))
			return tell_parted(t, m, content, attribution);
		rc = begin_message(t, users ? "user" : "developer");
		rc = rc ? rc : put_blocks(&t->json, content, ALL);
	} else if (grove__json_type_of(content) == JSON_STRING) {
		rc = begin_message(t, users ? "user" : "developer");
		rc = rc ? rc : grove__json_text(&t->text, content);
		rc = rc ? rc : grove__xcsh_put_text(&t->json, grove__buf_slice(&t->text));
	} else {
		return 0;
	}
	return rc ? rc : end(t, m, attribution);
}

/* A summary with blocks of its own needs no text around it. */
static int tell_summary(struct telling *t, const struct grove__xcsh_message *m)
{
	struct grove_slice blocks = grove__json_get(m->json, "blocks");
	struct grove_slice summary = grove__json_get(m->json, "summary");
	bool bare = m->form == XCSH_FORM_COMPACTION && grove__json_type_of(blocks) == JSON_ARRAY;
	int rc = begin_message(t, "user");

	if (bare && grove__json_type_of(summary) == JSON_STRING)
		rc = rc ? rc : grove__json_text(&t->text, summary);
	else if (!bare)
		rc = rc ? rc : grove__xcsh_told_text(&t->text, m, &grove__omp_wording);
	rc = rc ? rc : grove__xcsh_put_text(&t->json, grove__buf_slice(&t->text));
	if (m->form == XCSH_FORM_COMPACTION)
		rc = rc ? rc : put_blocks(&t->json, bare ? blocks : grove__json_get(m->json, "images"), ALL);
	return rc ? rc : end(t, m, grove__slice_str("\"agent\""));
}

static int tell_run(struct telling *t, const struct grove__xcsh_message *m)
{
	int rc = begin_message(t, "user");

	rc = rc ? rc : grove__xcsh_told_text(&t->text, m, &grove__omp_wording);
	rc = rc ? rc : grove__xcsh_put_text(&t->json, grove__buf_slice(&t->text));
	return rc ? rc : end(t, m, grove__slice_str("\"user\""));
}

/* Writes the files that are images, or those that are not: developer messages have no images. */
static int tell_files(struct telling *t, const struct grove__xcsh_message *m, bool pictures)
{
	struct grove_slice files = grove__json_get(m->json, "files"), image;
	struct grove__json_iter it;
	int rc = begin_message(t, pictures ? "user" : "developer");

	grove__json_iter_init(&it, files);
	while (!rc && grove__json_next(&it)) {
		if (grove__json_truthy(grove__json_get(it.value, "image")) != pictures)
			continue;
		if (t->text.len)
			rc = grove__buf_add_char(&t->text, '\n');
		rc = rc ? rc : grove__xcsh_file_text(&t->text, it.value);
	}
	if (rc || !t->text.len)
		return rc;
	rc = grove__xcsh_put_text(&t->json, grove__buf_slice(&t->text));
	grove__json_iter_init(&it, files);
	while (!rc && pictures && grove__json_next(&it)) {
		image = grove__json_get(it.value, "image");
		if (!grove__json_truthy(image))
			continue;
		rc = grove__buf_add_char(&t->json, ',');
		rc = rc ? rc : grove__buf_add_slice(&t->json, image);
	}
	return rc ? rc : end(t, m, grove__slice_str("\"user\""));
}

/*
 * Leaves out the unsigned thinking at the end of a reply, and blank texts after it: the
 * note that follows has it.
 */
static int without_last_thoughts(struct telling *t, struct grove_slice *m)
{
	struct grove_slice content = grove__json_get(*m, "content");
	struct grove__json_change change = { .path = { "content" } };
	const char *last = content.ptr + 1, *cut = NULL;
	struct grove__json_iter it;
	bool blank = false;
	int rc = 0;

	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	for (; !rc && grove__json_next(&it); last = it.value.ptr + it.value.len) {
		struct grove_slice type = grove__json_get(it.value, "type");
		bool text = grove__json_string_is(type, "text");

		if (grove__json_string_is(type, "thinking") &&
		    !grove__json_truthy(grove__json_get(it.value, "thinkingSignature")) &&
		    grove__omp_has_words(grove__json_get(it.value, "thinking"), &t->text, &rc)) {
			cut = cut && !blank ? cut : last;
			blank = false;
		} else {
			blank = text && !grove__omp_has_words(grove__json_get(it.value, "text"), &t->text, &rc);
			cut = blank ? cut : NULL;
		}
	}
	if (rc || !cut)
		return rc;
	grove__buf_clear(&t->text);
	rc = grove__buf_add(&t->text, content.ptr, (size_t)(cut - content.ptr));
	rc = rc ? rc : grove__buf_add_char(&t->text, ']');
	change.value = grove__buf_slice(&t->text);
	grove__buf_clear(&t->reply);
	rc = rc ? rc : grove__json_edit(&t->reply, *m, &change, 1);
	*m = grove__buf_slice(&t->reply);
	return rc;
}

static int report_message(struct telling *t, const struct grove__xcsh_message *m)
{
	struct grove_slice json;
	int rc;

	switch (m->form) {
	case XCSH_FORM_NONE:
		return 0;
	case XCSH_FORM_BASH:
	case XCSH_FORM_PYTHON:
		return tell_run(t, m);
	case XCSH_FORM_BRANCH:
	case XCSH_FORM_COMPACTION:
		return tell_summary(t, m);
	case XCSH_FORM_CUSTOM:
		return tell_custom(t, m);
	case XCSH_FORM_FILES:
		rc = tell_files(t, m, false);
		return rc ? rc : tell_files(t, m, true);
	default:
		grove__buf_clear(&t->json);
		rc = grove__xcsh_complete(m, grove__slice(NULL, 0), true, &t->json, &json);
		return rc ? rc : t->fn(t->payload, m->from, json);
	}
}

int grove__omp_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		   int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload)
{
	struct telling t = { .fn = fn, .payload = payload };
	int rc = 0;

	(void)marks, (void)now;
	for (size_t i = 0; !rc && i < nr; i++) {
		struct grove__xcsh_message m = { messages[i], i, grove__xcsh_form_of(messages[i]) };

		if (m.form == XCSH_FORM_ASSISTANT && i + 1 < nr && grove__omp_is_note(messages[i + 1]))
			rc = without_last_thoughts(&t, &m.json);
		rc = rc ? rc : report_message(&t, &m);
	}
	grove__buf_release(&t.text);
	grove__buf_release(&t.json);
	grove__buf_release(&t.reply);
	return rc;
}
