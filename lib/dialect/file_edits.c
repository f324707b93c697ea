/* dialect/file_edits.c: what a tool call changes in files, by its arguments. */
#include "dialect/file_edits.h"

#include "json/value.h"

#include <string.h>
#include <strings.h>

enum tool { TOOL_OTHER, TOOL_EDIT, TOOL_WRITE, TOOL_PATCH };

static enum tool tool_of(struct grove_slice name)
{
	static const struct {
		const char *name;
		enum tool tool;
	} tools[] = {
		{ "edit", TOOL_EDIT }, { "multiedit", TOOL_EDIT }, { "notebookedit", TOOL_WRITE },
		{ "write", TOOL_WRITE }, { "apply_patch", TOOL_PATCH },
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (name.len == strlen(tools[i].name) && !strncasecmp(name.ptr, tools[i].name, name.len))
			return tools[i].tool;
	return TOOL_OTHER;
}

/* Gets the first of the members that is a string; `out` is empty if none is. */
static int text_of(struct grove_slice object, const char *const *names, struct grove_buf *out, bool *has)
{
	*has = false;
	grove__buf_clear(out);
	for (; *names; names++) {
		struct grove_slice raw = grove__json_get(object, *names);

		if (!raw.ptr || grove__json_type_of(raw) != JSON_STRING)
			continue;
		*has = true;
		return grove__json_text(out, raw);
	}
	return 0;
}

/* ------------------------------------------------------------------- lines */

/* Without the line feed that ends the last line. */
static struct grove_slice without_end(struct grove_slice text)
{
	if (text.len && text.ptr[text.len - 1] == '\n')
		text.len--;
	return text;
}

static uint64_t count_lines(struct grove_slice text)
{
	uint64_t nr = text.len != 0;

	for (size_t i = 0; i < text.len; i++)
		nr += text.ptr[i] == '\n';
	return nr;
}

static struct grove_slice take_first(struct grove_slice *text)
{
	const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
	size_t len = end ? (size_t)(end - text->ptr) : text->len;
	struct grove_slice line = grove__slice(text->ptr, len);

	*text = grove__slice(text->ptr + len + (end != NULL), text->len - len - (end != NULL));
	return line;
}

static struct grove_slice take_last(struct grove_slice *text)
{
	const char *end = text->len ? memrchr(text->ptr, '\n', text->len) : NULL;
	size_t from = end ? (size_t)(end - text->ptr) + 1 : 0;
	struct grove_slice line = grove__slice(text->ptr + from, text->len - from);

	text->len = end ? from - 1 : 0;
	return line;
}

static bool same(struct grove_slice a, struct grove_slice b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

/* Counts the lines that differ: those between what both begin with and what both end with. */
static void compare(struct grove_slice was, struct grove_slice is, struct grove__file_edit *e)
{
	uint64_t removed, added;
	struct grove_slice a, b;

	was = without_end(was);
	is = without_end(is);
	removed = count_lines(was);
	added = count_lines(is);
	for (a = was, b = is; removed && added && same(take_first(&a), take_first(&b)); removed--, added--) {
		was = a;
		is = b;
	}
	for (a = was, b = is; removed && added && same(take_last(&a), take_last(&b)); removed--)
		added--;
	e->removed += removed;
	e->added += added;
}

/* ------------------------------------------------------------------- tools */

/* Adds one replacement; an object without one changes nothing that we could count. */
static int add_replacement(struct grove_slice object, struct grove__file_edit *e)
{
	static const char *const was_names[] = { "old_string", "oldText", NULL };
	static const char *const is_names[] = { "new_string", "newText", NULL };
	struct grove_buf was = GROVE_BUF_INIT, is = GROVE_BUF_INIT;
	bool has_was, has_is;
	int rc = text_of(object, was_names, &was, &has_was);

	if (!rc)
		rc = text_of(object, is_names, &is, &has_is);
	if (!rc && has_was && has_is)
		compare(grove__buf_slice(&was), grove__buf_slice(&is), e);
	grove__buf_release(&was);
	grove__buf_release(&is);
	return rc;
}

static int read_edit(struct grove_slice args, struct grove__file_edit *e)
{
	struct grove_slice edits = grove__json_get(args, "edits");
	struct grove__json_iter it;
	int rc = 0;

	if (!edits.ptr || grove__json_type_of(edits) != JSON_ARRAY)
		return add_replacement(args, e);
	grove__json_iter_init(&it, edits);
	while (!rc && grove__json_next(&it))
		if (grove__json_type_of(it.value) == JSON_OBJECT)
			rc = add_replacement(it.value, e);
	return rc;
}

static int read_write(struct grove_slice args, struct grove__file_edit *e)
{
	static const char *const names[] = { "content", "new_source", NULL };
	struct grove_buf text = GROVE_BUF_INIT;
	bool has;
	int rc = text_of(args, names, &text, &has);

	if (!rc)
		e->added = count_lines(without_end(grove__buf_slice(&text)));
	grove__buf_release(&text);
	return rc;
}

/* "*** Update File: src/a.c" begins a file, also with Add and Delete. */
static bool begins_file(struct grove_slice line, struct grove_slice *path)
{
	static const char *const heads[] = { "*** Update File: ", "*** Add File: ", "*** Delete File: " };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		size_t len = strlen(heads[i]);

		if (line.len > len && !memcmp(line.ptr, heads[i], len)) {
			*path = grove__slice(line.ptr + len, line.len - len);
			return true;
		}
	}
	return false;
}

static int tell_patch(struct grove_slice patch, grove__file_edit_fn *fn, void *payload)
{
	struct grove__file_edit e = { .path = { NULL, 0 } };
	struct grove_slice path;
	int rc = 0;

	while (patch.len && !rc) {
		struct grove_slice line = take_first(&patch);

		if (begins_file(line, &path)) {
			if (e.path.len)
				rc = fn(payload, &e);
			e = (struct grove__file_edit){ .path = path };
		} else if (line.len) {
			e.added += *line.ptr == '+';
			e.removed += *line.ptr == '-';
		}
	}
	return rc || !e.path.len ? rc : fn(payload, &e);
}

static int read_patch(struct grove_slice args, grove__file_edit_fn *fn, void *payload)
{
	static const char *const names[] = { "input", "patch", NULL };
	struct grove_buf text = GROVE_BUF_INIT;
	bool has = false;
	int rc = text_of(args, names, &text, &has);

	if (!rc && has)
		rc = tell_patch(grove__buf_slice(&text), fn, payload);
	grove__buf_release(&text);
	return rc;
}

int grove__file_edits(struct grove_slice tool, struct grove_slice args, grove__file_edit_fn *fn, void *payload)
{
	static const char *const paths[] = { "file_path", "path", "filePath", "notebook_path", NULL };
	struct grove__file_edit e = { .path = { NULL, 0 } };
	struct grove_buf path = GROVE_BUF_INIT;
	enum tool which = tool_of(tool);
	bool has;
	int rc;

	if (which == TOOL_OTHER || !args.len || grove__json_type_of(args) != JSON_OBJECT)
		return 0;
	if (which == TOOL_PATCH)
		return read_patch(args, fn, payload);
	rc = text_of(args, paths, &path, &has);
	e.path = grove__buf_slice(&path);
	if (!rc && e.path.len) {
		rc = which == TOOL_EDIT ? read_edit(args, &e) : read_write(args, &e);
		rc = rc ? rc : fn(payload, &e);
	}
	grove__buf_release(&path);
	return rc;
}
