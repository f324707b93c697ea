/*
 * dialect/xcsh_llm.c: a context as plain messages for a model.
 *
 * There are three steps: each message gets its form (or is left out), calls get their
 * results after them (xcsh_repair.c), and consecutive user messages become one, if they
 * are only text. No message is copied before its turn, and most are not copied at all.
 */
#include "dialect/xcsh.h"

#include "dialect/xcsh_llm.h"
#include "json/edit.h"
#include "json/escape.h"
#include "json/value.h"
#include "json/write.h"

/* The wording of both is ours; the program has another. */
static const char branch_intro[] =
	"What follows sums up a branch that this conversation came back from:";
static const char compaction_intro[] =
	"What follows sums up the conversation up to this point, which is not repeated here:";

static const char interrupted[] = "Tool execution was interrupted (session recovery).";

static const struct {
	const char *role;
	enum grove__xcsh_form form;
} forms[] = {
	{ "user", XCSH_FORM_USER },
	{ "assistant", XCSH_FORM_ASSISTANT },
	{ "toolResult", XCSH_FORM_RESULT },
	{ "developer", XCSH_FORM_DEVELOPER },
	{ "bashExecution", XCSH_FORM_BASH },
	{ "pythonExecution", XCSH_FORM_PYTHON },
	{ "custom", XCSH_FORM_CUSTOM },
	{ "hookMessage", XCSH_FORM_CUSTOM },
	{ "branchSummary", XCSH_FORM_BRANCH },
	{ "compactionSummary", XCSH_FORM_COMPACTION },
	{ "fileMention", XCSH_FORM_FILES },
};

enum grove__xcsh_form grove__xcsh_form_of(struct grove_slice m)
{
	enum grove__xcsh_form form = XCSH_FORM_NONE;
	struct grove_slice role = grove__json_get(m, "role");
	size_t i;

	for (i = 0; i < sizeof forms / sizeof *forms; i++)
		if (grove__json_string_is(role, forms[i].role))
			form = forms[i].form;
	if ((form == XCSH_FORM_BASH || form == XCSH_FORM_PYTHON) &&
	    grove__json_truthy(grove__json_get(m, "excludeFromContext")))
		form = XCSH_FORM_NONE;
	return form;
}

static bool given(struct grove_slice raw)
{
	return raw.len && grove__json_type_of(raw) != JSON_NULL;
}

/* --- texts --- */

static int add_fenced(struct grove_buf *t, const char *before, struct grove_slice raw,
		      const char *after)
{
	int rc = grove__buf_add_str(t, before);

	if (!rc)
		rc = grove__xcsh_add_text(t, raw);
	return rc ? rc : grove__buf_add_str(t, after);
}

/* The text around a command's output. */
struct run {
	const char *source, *before, *after, *output, *cancelled, *failed;
};

static const struct run bash = {
	"command", "Ran `", "`\n", "```\n", "\n\n(command cancelled)", "\n\nCommand exited with code "
};
static const struct run python = {
	"code", "Ran Python:\n```python\n", "\n```\n", "Output:\n```\n", "\n\n(execution cancelled)",
	"\n\nExecution failed with code "
};

static int run_text(struct grove_buf *t, struct grove_slice m, const struct run *run,
		    const struct grove__xcsh_wording *w)
{
	struct grove_slice output = grove__json_get(m, "output");
	struct grove_slice code = grove__json_get(m, "exitCode");
	int rc = add_fenced(t, run->before, grove__json_get(m, run->source), run->after);

	if (!rc)
		rc = grove__json_truthy(output) ? add_fenced(t, run->output, output, "\n```")
						: grove__buf_add_str(t, "(no output)");
	if (!rc && grove__json_truthy(grove__json_get(m, "cancelled")))
		rc = grove__buf_add_str(t, run->cancelled);
	else if (!rc && given(code) &&
		 (grove__json_type_of(code) != JSON_NUMBER || grove__json_truthy(code)))
		rc = add_fenced(t, run->failed, code, "");
	return rc ? rc : grove__xcsh_notice(grove__json_get(m, "meta"), w, t);
}

static int summary_text(struct grove_buf *t, struct grove_slice m, const char *intro,
			const struct grove__xcsh_wording *w)
{
	struct grove_slice summary = grove__json_get(m, "summary");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s\n\n<summary>\n", intro);

	if (!rc && given(summary))
		rc = grove__xcsh_add_text(&b, summary);
	if (!rc)
		rc = grove__buf_add_str(&b, "\n</summary>");
	if (!rc)
		rc = grove__xcsh_format(grove__buf_slice(&b), w->airy, t);
	grove__buf_release(&b);
	return rc;
}

int grove__xcsh_told_text(struct grove_buf *t, const struct grove__xcsh_message *m,
			  const struct grove__xcsh_wording *w)
{
	switch (m->form) {
	case XCSH_FORM_BASH:
		return run_text(t, m->json, &bash, w);
	case XCSH_FORM_PYTHON:
		return run_text(t, m->json, &python, w);
	case XCSH_FORM_BRANCH:
		return summary_text(t, m->json, branch_intro, w);
	default:
		return summary_text(t, m->json, compaction_intro, w);
	}
}

int grove__xcsh_file_text(struct grove_buf *t, struct grove_slice file)
{
	struct grove_slice content = grove__json_get(file, "content");
	int rc = grove__xcsh_add_member(t, "<file path=\"", file, "path", "\">\n");

	if (!rc && grove__json_truthy(content))
		rc = add_fenced(t, "", content, "\n");
	return rc ? rc : grove__buf_add_str(t, "</file>");
}

static int files_text(struct grove_buf *t, struct grove_slice m)
{
	const char *between = "";
	struct grove__json_iter it;
	int rc = grove__buf_add_str(t, "<system-reminder>\n");

	grove__json_iter_init(&it, grove__json_get(m, "files"));
	while (!rc && grove__json_next(&it)) {
		rc = grove__buf_add_str(t, between);
		between = "\n\n";
		if (!rc)
			rc = grove__xcsh_file_text(t, it.value);
	}
	return rc ? rc : grove__buf_add_str(t, "\n</system-reminder>");
}

/* --- blocks --- */

int grove__xcsh_put_text(struct grove_buf *out, struct grove_slice text)
{
	int rc = grove__buf_add_str(out, "{\"type\":\"text\",\"text\":");

	if (!rc)
		rc = grove__json_put_string(out, text);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* Writes the images among the mentioned files; `out` may be NULL. Returns whether there is any. */
static int file_images(struct grove_slice m, struct grove_buf *out, bool *any)
{
	struct grove__json_iter it;
	int rc = 0;

	*any = false;
	grove__json_iter_init(&it, grove__json_get(m, "files"));
	while (!rc && grove__json_next(&it)) {
		struct grove_slice image = grove__json_get(it.value, "image");

		if (grove__json_type_of(image) != JSON_OBJECT)
			continue;
		*any = true;
		rc = out ? grove__buf_add_char(out, ',') : 0;
		if (!rc && out)
			rc = grove__buf_add_slice(out, image);
	}
	return rc;
}

/* Returns what is between the brackets of an array. */
static struct grove_slice inside(struct grove_slice array)
{
	const char *end = array.ptr + array.len - 1;
	const char *p = grove__json_skip_space(array.ptr + 1, end);

	while (end > p && grove__json_is_space(end[-1]))
		end--;
	return grove__slice(p, (size_t)(end - p));
}

/* Writes the blocks of a user message, without brackets. */
static int put_blocks(struct grove_buf *out, const struct grove__xcsh_message *m)
{
	struct grove_slice content = grove__json_get(m->json, "content");
	struct grove_buf t = GROVE_BUF_INIT;
	bool any;
	int rc;

	if (m->form == XCSH_FORM_USER || m->form == XCSH_FORM_CUSTOM) {
		if (grove__json_type_of(content) == JSON_ARRAY)
			return grove__buf_add_slice(out, inside(content));
		rc = grove__json_text(&t, content);
	} else {
		rc = m->form == XCSH_FORM_FILES ? files_text(&t, m->json)
						: grove__xcsh_told_text(&t, m, &grove__xcsh_wording);
	}
	if (!rc)
		rc = grove__xcsh_put_text(out, grove__buf_slice(&t));
	if (!rc && m->form == XCSH_FORM_FILES)
		rc = file_images(m->json, out, &any);
	grove__buf_release(&t);
	return rc;
}

static bool is_text_only(const struct grove__xcsh_message *m)
{
	struct grove_slice content;
	struct grove__json_iter it;
	bool any;

	if (m->form < XCSH_FORM_USER)
		return false;
	if (m->form == XCSH_FORM_FILES) {
		file_images(m->json, NULL, &any);
		return !any;
	}
	if (m->form != XCSH_FORM_USER && m->form != XCSH_FORM_CUSTOM)
		return true;
	content = grove__json_get(m->json, "content");
	if (grove__json_type_of(content) != JSON_ARRAY)
		return m->form == XCSH_FORM_CUSTOM && grove__json_type_of(content) == JSON_STRING;
	grove__json_iter_init(&it, content);
	while (grove__json_next(&it))
		if (!grove__json_string_is(grove__json_get(it.value, "type"), "text"))
			return false;
	return true;
}

/* --- messages --- */

static int put_member(struct grove_buf *out, const char *name, struct grove_slice raw)
{
	int rc;

	if (!raw.len)
		return 0;
	rc = grove__buf_addf(out, ",\"%s\":", name);
	return rc ? rc : grove__buf_add_slice(out, raw);
}

/* Turns a message with a role that models do not have into a user message. */
static int put_as_user(struct grove_buf *out, const struct grove__xcsh_message *m,
		       struct grove_slice content)
{
	struct grove_slice attribution = grove__json_get(m->json, "attribution");
	int rc = grove__buf_add_str(out, "{\"role\":\"user\"");

	if (m->form == XCSH_FORM_BRANCH || m->form == XCSH_FORM_COMPACTION)
		attribution = grove__slice_str("\"agent\"");
	else if (m->form != XCSH_FORM_CUSTOM)
		attribution = grove__slice_str("\"user\"");
	if (!rc)
		rc = put_member(out, "content", content);
	if (!rc)
		rc = put_member(out, "attribution", attribution);
	if (!rc && m->form == XCSH_FORM_COMPACTION)
		rc = put_member(out, "providerPayload", grove__json_get(m->json, "providerPayload"));
	if (!rc)
		rc = put_member(out, "timestamp", grove__json_get(m->json, "timestamp"));
	return rc ? rc : grove__buf_add_char(out, '}');
}

static bool is_text(struct grove_slice block)
{
	return grove__json_string_is(grove__json_get(block, "type"), "text");
}

static int join_texts(struct grove_slice content, struct grove_buf *t)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(content) == JSON_STRING)
		rc = grove__json_text(t, content);
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it)) {
		struct grove_slice text = grove__json_get(it.value, "text");

		if (is_text(it.value) && grove__json_type_of(text) == JSON_STRING)
			rc = grove__json_text(t, text);
	}
	return rc || t->len ? rc : grove__buf_add_str(t, "[Output truncated]");
}

/*
 * What is left of a pruned result: its texts in one block, where the first of them was, and
 * with `others` the other blocks.
 */
static int pruned_content(struct grove_slice content, bool others, struct grove_buf *out)
{
	struct grove_buf t = GROVE_BUF_INIT;
	struct grove__json_iter it;
	bool any = false, text_put;
	int rc = join_texts(content, &t);

	grove__json_iter_init(&it, content);
	while (others && !any && grove__json_next(&it))
		any = is_text(it.value);
	text_put = !any;
	if (!rc)
		rc = grove__buf_add_char(out, '[');
	if (!rc && text_put)
		rc = grove__xcsh_put_text(out, grove__buf_slice(&t));
	grove__json_iter_init(&it, content);
	while (!rc && others && grove__json_next(&it)) {
		bool text = is_text(it.value);

		if (text && text_put)
			continue;
		if (out->ptr[out->len - 1] != '[')
			rc = grove__buf_add_char(out, ',');
		if (!rc)
			rc = text ? grove__xcsh_put_text(out, grove__buf_slice(&t))
				  : grove__buf_add_slice(out, it.value);
		text_put |= text;
	}
	grove__buf_release(&t);
	return rc ? rc : grove__buf_add_char(out, ']');
}

int grove__xcsh_complete(const struct grove__xcsh_message *m, struct grove_slice content, bool others,
			 struct grove_buf *out, struct grove_slice *json)
{
	struct grove__json_change changes[2];
	struct grove_buf pruned = GROVE_BUF_INIT;
	size_t nr = 0;
	int rc = 0;

	*json = m->json;
	if (m->form == XCSH_FORM_ASSISTANT)
		return 0;
	if (m->form == XCSH_FORM_RESULT && grove__json_get(m->json, "prunedAt").len) {
		rc = pruned_content(grove__json_get(m->json, "content"), others, &pruned);
		content = grove__buf_slice(&pruned);
	}
	if (content.len)
		changes[nr++] = (struct grove__json_change){ { "content" }, content };
	if (!given(grove__json_get(m->json, "attribution")))
		changes[nr++] = (struct grove__json_change){
			{ "attribution" },
			grove__slice_str(m->form == XCSH_FORM_USER ? "\"user\"" : "\"agent\"")
		};
	if (!rc && nr) {
		rc = grove__json_edit(out, m->json, changes, nr);
		*json = grove__buf_slice(out);
	}
	grove__buf_release(&pruned);
	return rc;
}

static int put_missing(struct grove_buf *out, const struct grove__xcsh_turn *t, int64_t now)
{
	struct grove_slice name = t->call_name;
	int rc = grove__buf_add_str(out, "{\"role\":\"toolResult\"");

	if (grove__json_type_of(name) != JSON_STRING || name.len <= 2)
		name = grove__slice_str("\"unknown\"");
	if (!rc)
		rc = put_member(out, "toolCallId", t->call_id);
	if (!rc)
		rc = put_member(out, "toolName", name);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"content\":[");
	if (!rc)
		rc = grove__xcsh_put_text(out, grove__slice_str(interrupted));
	if (!rc)
		rc = grove__buf_add_str(out, "],\"isError\":true,\"timestamp\":");
	if (!rc)
		rc = grove__json_put_int(out, now);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* Writes the content of `nr` consecutive user messages. */
static int put_contents(struct grove_buf *out, const struct grove__xcsh_turn *turns, size_t nr)
{
	size_t i, start;
	int rc = grove__buf_add_char(out, '[');

	for (start = out->len, i = 0; !rc && i < nr; i++) {
		size_t before = out->len;

		if (before > start)
			rc = grove__buf_add_char(out, ',');
		before = rc ? before : out->len;
		if (!rc)
			rc = put_blocks(out, turns[i].message);
		if (!rc && out->len == before && before > start)
			grove__buf_cut(out, before - 1); /* an empty array */
	}
	return rc ? rc : grove__buf_add_char(out, ']');
}

struct telling {
	int64_t now;
	int (*fn)(void *payload, size_t from, struct grove_slice json);
	void *payload;
	struct grove_buf content, json;
};

/* Writes one message made of `nr` turns. */
static int tell_one(struct telling *t, const struct grove__xcsh_turn *turns, size_t nr)
{
	const struct grove__xcsh_message *m = turns->message;
	struct grove_slice json, content = { NULL, 0 };
	int rc = 0;

	grove__buf_clear(&t->json);
	grove__buf_clear(&t->content);
	if (!m) {
		rc = put_missing(&t->json, turns, t->now);
		return rc ? rc : t->fn(t->payload, SIZE_MAX, grove__buf_slice(&t->json));
	}
	if (m->form == XCSH_FORM_CUSTOM && !is_text_only(m)) {
		content = grove__json_get(m->json, "content");
	} else if (nr > 1 || m->form > XCSH_FORM_USER) {
		rc = put_contents(&t->content, turns, nr);
		content = grove__buf_slice(&t->content);
	}
	if (rc)
		return rc;
	if (m->form > XCSH_FORM_USER) {
		rc = put_as_user(&t->json, m, content);
		json = grove__buf_slice(&t->json);
	} else {
		rc = grove__xcsh_complete(m, content, false, &t->json, &json);
	}
	return rc ? rc : t->fn(t->payload, m->from, json);
}

static int report_turns(struct telling *t, const struct grove__xcsh_turn *turns, size_t nr)
{
	size_t i, n;
	int rc = 0;

	for (i = 0; !rc && i < nr; i += n) {
		n = 1;
		if (turns[i].message && is_text_only(turns[i].message))
			while (i + n < nr && turns[i + n].message && is_text_only(turns[i + n].message))
				n++;
		rc = tell_one(t, turns + i, n);
	}
	return rc;
}

int grove__xcsh_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		    int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload)
{
	struct telling t = { .now = now, .fn = fn, .payload = payload };
	struct grove_buf kept = GROVE_BUF_INIT, turns = GROVE_BUF_INIT;
	size_t i;
	int rc = 0;

	(void)marks;
	for (i = 0; !rc && i < nr; i++) {
		struct grove__xcsh_message m = { messages[i], i, grove__xcsh_form_of(messages[i]) };

		if (m.form != XCSH_FORM_NONE)
			rc = grove__buf_add(&kept, &m, sizeof m);
	}
	if (!rc)
		rc = grove__xcsh_repair((const struct grove__xcsh_message *)(void *)kept.ptr,
					kept.len / sizeof(struct grove__xcsh_message), &turns);
	if (!rc)
		rc = report_turns(&t, (const struct grove__xcsh_turn *)(void *)turns.ptr,
				  turns.len / sizeof(struct grove__xcsh_turn));
	grove__buf_release(&t.content);
	grove__buf_release(&t.json);
	grove__buf_release(&turns);
	grove__buf_release(&kept);
	return rc;
}
