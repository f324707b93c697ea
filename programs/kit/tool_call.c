/*
 * tool_call.c: the arguments of a tool call, for people.
 *
 * Every agent has its own tools, but they all take an object, and its most telling members
 * have the same few names everywhere.
 */
#include "tool_call.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
	GIST = 4096,              /* bytes of the main argument */
	SHORT = 48                /* … and of a short one next to it */
};

static const char *const telling[] = {
	"command", "cmd", "file_path", "filePath", "pattern", "query", "url", "path", "question", "code", "task",
	"prompt", "description", "name",
};

/* Finds the most telling member, or the first text. */
static int find_gist(struct grove_slice arguments, struct grove_slice *key, struct grove_slice *value)
{
	enum { NR = sizeof(telling) / sizeof(*telling) };
	struct grove_slice k, v;
	const char *place = NULL;
	size_t best = NR, i;
	int found = 0;

	while (best && grove_json_next(arguments, &place, &k, &v)) {
		if (*v.ptr != '"')
			continue;
		for (i = 0; i < best && (strlen(telling[i]) != k.len || memcmp(telling[i], k.ptr, k.len)); i++)
			;
		if (i < best || !found) {
			*key = k;
			*value = v;
			best = i;
			found = 1;
		}
	}
	return found;
}

/* A value on one line: a text without its quotes, anything else as JSON. */
static struct grove_slice read_value(struct grove_slice value, char *bytes, size_t size)
{
	struct grove_slice text;

	return grove_json_text(value, bytes, size, &text) ? text : value;
}

static int is_short(struct grove_slice value)
{
	return value.len && value.len <= SHORT && *value.ptr != '{' && *value.ptr != '[' &&
	       !memmem(value.ptr, value.len, "\\n", 2);
}

/* Prints another short argument, if it fits. */
static unsigned put_short(struct out *o, struct grove_slice key, struct grove_slice value, unsigned width)
{
	char bytes[SHORT + 4];
	struct grove_slice text = read_value(value, bytes, sizeof(bytes));
	unsigned need = 4 + out_width(key, 32) + out_width(text, SHORT);

	if (need > width)
		return 0;
	out_puts(o, "  ");
	out_style(o, OUT_DIM);
	out_fit(o, key, 32);
	out_style(o, OUT_PLAIN);
	out_puts(o, " ");
	return 3 + out_width(key, 32) + out_fit(o, text, SHORT);
}

static struct grove_slice below(struct grove_slice path, const char *cwd)
{
	size_t n = cwd ? strlen(cwd) : 0;

	if (n > 1 && path.len > n + 1 && path.ptr[n] == '/' && !memcmp(path.ptr, cwd, n))
		return (struct grove_slice){ path.ptr + n + 1, path.len - n - 1 };
	return path;
}

unsigned tool_call_gist(struct out *o, struct grove_slice arguments, const char *cwd, unsigned width)
{
	struct grove_slice gist_key = out_str(""), gist, key, value;
	const char *place = NULL;
	char bytes[GIST];
	unsigned used = 0;

	if (!arguments.len || *arguments.ptr != '{')
		return out_fit(o, arguments, width);
	if (find_gist(arguments, &gist_key, &gist))
		used = out_fit(o, below(read_value(gist, bytes, sizeof(bytes)), cwd), width);
	while (grove_json_next(arguments, &place, &key, &value))
		if (is_short(value) && (key.len != gist_key.len || memcmp(key.ptr, gist_key.ptr, key.len)))
			used += put_short(o, key, value, width > used ? width - used : 0);
	return used;
}

void tool_call_each(struct grove_slice arguments, const struct tool_call_reader *to)
{
	struct grove_slice key, value;
	const char *place = NULL;

	if (!arguments.len || *arguments.ptr != '{') {
		to->argument(to->payload, out_str(""), arguments);
		return;
	}
	while (grove_json_next(arguments, &place, &key, &value)) {
		char *bytes = cli_realloc(NULL, value.len + 4, 1);

		to->argument(to->payload, key, read_value(value, bytes, value.len + 4));
		free(bytes);
	}
}
