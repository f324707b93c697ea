/*
 * tools.c: the table of tools, and their arguments.
 *
 * A wrong argument is reported as a failure of the tool, which the model reads and can
 * correct; only an unknown tool is a protocol error.
 */
#include "mcp.h"

#include "kit/cli.h"
#include "message.h"
#include "kit/dates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, ARGS_MAX = 16 };

const struct tool *const tools[] = {
	&tool_search_sessions, &tool_list_sessions, &tool_get_overview, &tool_get_messages,
	&tool_get_tree, &tool_get_context, &tool_get_usage, NULL,
};

/* --------------------------------------------------------------- the schema */

static void put_choices(struct doc *d, const char *choices)
{
	doc_name(d, "enum");
	doc_open(d, '[');
	for (const char *p = choices; *p; p += strcspn(p, "|"), p += *p == '|')
		doc_text(d, (struct grove_slice){ p, strcspn(p, "|") });
	doc_close(d, ']');
}

static void put_arg(struct doc *d, const struct arg *a)
{
	static const char *const types[] = { "string", "integer", "boolean", "string" };

	doc_name(d, a->name);
	doc_open(d, '{');
	doc_member(d, "type", types[a->kind]);
	doc_member(d, "description", a->about);
	if (a->kind == VALUE_NUMBER) {
		doc_member_number(d, "minimum", a->least);
		doc_member_number(d, "maximum", a->most);
	}
	if (a->choices)
		put_choices(d, a->choices);
	doc_close(d, '}');
}

static void put_schema(struct doc *d, const struct tool *t)
{
	doc_name(d, "inputSchema");
	doc_open(d, '{');
	doc_member(d, "type", "object");
	doc_name(d, "properties");
	doc_open(d, '{');
	for (const struct arg *a = t->args; a->name; a++)
		put_arg(d, a);
	doc_close(d, '}');
	doc_name(d, "required");
	doc_open(d, '[');
	for (const struct arg *a = t->args; a->name; a++)
		if (a->required)
			doc_string(d, a->name);
	doc_close(d, ']');
	doc_member_bool(d, "additionalProperties", 0);
	doc_close(d, '}');
}

void tools_list(struct doc *d)
{
	doc_name(d, "tools");
	doc_open(d, '[');
	for (size_t i = 0; tools[i]; i++) {
		doc_open(d, '{');
		doc_member(d, "name", tools[i]->name);
		doc_member(d, "title", tools[i]->title);
		doc_member(d, "description", tools[i]->about);
		put_schema(d, tools[i]);
		doc_name(d, "annotations");
		doc_open(d, '{');
		doc_member(d, "title", tools[i]->title);
		doc_member_bool(d, "readOnlyHint", 1);
		doc_member_bool(d, "destructiveHint", 0);
		doc_member_bool(d, "idempotentHint", 1);
		doc_member_bool(d, "openWorldHint", 0);
		doc_close(d, '}');
		doc_close(d, '}');
	}
	doc_close(d, ']');
}

/* ---------------------------------------------------------------- arguments */

static const struct value *find_value(const struct call *k, const char *name)
{
	size_t i = 0;

	if (!k->tool)
		return NULL;  /* reading a resource has no arguments */
	while (k->tool->args[i].name && strcmp(k->tool->args[i].name, name))
		i++;
	return k->tool->args[i].name && k->values[i].given ? &k->values[i] : NULL;
}

const char *arg_text(const struct call *k, const char *name)
{
	const struct value *v = find_value(k, name);

	return v ? v->text : NULL;
}

uint64_t arg_number(const struct call *k, const char *name, uint64_t otherwise)
{
	const struct value *v = find_value(k, name);

	return v ? v->number : otherwise;
}

int arg_scope(struct call *k, const char **cwd, const char **agent)
{
	const char *dir = arg_text(k, "cwd");
	struct grove_buf known = GROVE_BUF_INIT;
	int rc = 0;

	*agent = arg_text(k, "agent");
	if (*agent && !cli_is_agent(k->m->g, *agent, &known))
		rc = call_fail(k, GROVE_EINVAL, "agent: one of %.500s is expected", known.ptr ? known.ptr : "none");
	grove_buf_release(&known);
	if (!rc && cwd && dir && *dir != '/')
		rc = call_fail(k, GROVE_EINVAL, "cwd: an absolute path is expected");
	if (cwd)
		*cwd = dir;
	return rc;
}

int arg_period(struct call *k, struct grove_period *out)
{
	char why[256];

	if (!date_period(arg_text(k, "since"), arg_text(k, "until"), "", out, why, sizeof(why)))
		return 0;
	return call_fail(k, GROVE_EINVAL, "%s", why + 2);  /* skip the dashes */
}

static int read_text(struct call *k, const struct arg *a, struct grove_slice json, struct value *v)
{
	struct grove_slice text;

	if (json.len > TEXT_MAX)
		return call_fail(k, GROVE_EINVAL, "%s: at most %d bytes", a->name, TEXT_MAX);
	v->text = malloc(json.len + 8);
	if (!v->text)
		return call_fail(k, GROVE_ENOMEM, "out of memory");
	if (!grove_json_text(json, v->text, json.len + 4, &text) || memchr(v->text, '\0', text.len))
		return call_fail(k, GROVE_EINVAL, "%s: a string is expected", a->name);
	v->text[text.len] = '\0';
	return 0;
}

static int read_number(struct call *k, const struct arg *a, struct grove_slice json, struct value *v)
{
	char digits[24];
	size_t n;

	/* in JSON, 10.0 is an integer */
	if (json.len > 2 && !memcmp(json.ptr + json.len - 2, ".0", 2))
		json.len -= 2;
	n = json.len < sizeof(digits) ? json.len : sizeof(digits) - 1;
	memcpy(digits, json.ptr, n);
	digits[n] = '\0';
	v->number = strtoull(digits, NULL, 10);
	if (n != json.len || digits[strspn(digits, "0123456789")] || v->number < a->least || v->number > a->most)
		return call_fail(k, GROVE_EINVAL, "%s: an integer from %llu to %llu is expected", a->name,
				 (unsigned long long)a->least, (unsigned long long)a->most);
	return 0;
}

static int read_choice(struct call *k, const struct arg *a, struct grove_slice json, struct value *v)
{
	int rc = read_text(k, a, json, v);

	if (rc)
		return rc;
	for (const char *p = a->choices; *p; p += strcspn(p, "|"), p += *p == '|', v->number++)
		if (strlen(v->text) == strcspn(p, "|") && !strncmp(v->text, p, strlen(v->text)))
			return 0;
	return call_fail(k, GROVE_EINVAL, "%s: one of %s is expected", a->name, a->choices);
}

static int read_flag(struct call *k, const struct arg *a, struct grove_slice json, struct value *v)
{
	v->number = (uint64_t)(*json.ptr == 't');
	if (!v->number && (json.len != 5 || memcmp(json.ptr, "false", 5)))
		return call_fail(k, GROVE_EINVAL, "%s: true or false is expected", a->name);
	return 0;
}

static int read_value(struct call *k, size_t i, struct grove_slice json)
{
	static int (*const readers[])(struct call *, const struct arg *, struct grove_slice, struct value *) = {
		read_text, read_number, read_flag, read_choice,
	};
	const struct arg *a = &k->tool->args[i];

	if (k->values[i].given)
		return call_fail(k, GROVE_EINVAL, "%s is given twice", a->name);
	/* models often send null or "" for an argument that they leave out */
	if ((json.len == 4 && !memcmp(json.ptr, "null", 4)) || (json.len == 2 && !memcmp(json.ptr, "\"\"", 2)))
		return 0;
	k->values[i].given = 1;
	return readers[a->kind](k, a, json, &k->values[i]);
}

static int read_args(struct call *k, struct grove_slice args)
{
	const struct arg *a = k->tool->args;
	struct grove_slice key, json;
	const char *place = NULL;
	size_t i;
	int rc = 0;

	while (!rc && args.len && grove_json_next(args, &place, &key, &json)) {
		for (i = 0; a[i].name && (strlen(a[i].name) != key.len || memcmp(a[i].name, key.ptr, key.len)); i++)
			;
		if (!a[i].name)
			return call_fail(k, GROVE_EINVAL, "%s has no argument '%.*s'", k->tool->name,
					 key.len < 64 ? (int)key.len : 64, key.ptr);
		rc = read_value(k, i, json);
	}
	for (i = 0; !rc && a[i].name; i++)
		if (a[i].required && !k->values[i].given)
			rc = call_fail(k, GROVE_EINVAL, "%s is missing", a[i].name);
	return rc;
}

/* -------------------------------------------------------------------- calls */

/* One text: the document, or the error. */
static void put_content(struct doc *d, struct call *k, int rc)
{
	doc_name(d, "content");
	doc_open(d, '[');
	doc_open(d, '{');
	doc_member(d, "type", "text");
	doc_name(d, "text");
	if (rc)
		/* an error message may contain text from a file */
		put_recorded(d, grove_str(k->why), 0);
	else
		doc_text(d, grove_buf_slice(&k->d.buf));
	doc_close(d, '}');
	doc_close(d, ']');
	doc_member_bool(d, "isError", rc != 0);
}

static const struct tool *find_tool(struct grove_slice name)
{
	char word[64];
	struct grove_slice text;

	if (!grove_json_text(name, word, sizeof(word) - 1, &text))
		return NULL;
	word[text.len] = '\0';
	for (size_t i = 0; tools[i]; i++)
		if (!strcmp(tools[i]->name, word))
			return tools[i];
	return NULL;
}

static int run_tool(struct call *k, struct grove_slice args)
{
	int rc = read_args(k, args);

	if (!rc) {
		k->max = arg_number(k, "maxBytes", ANSWER_BYTES) - ENVELOPE_BYTES;
		rc = k->tool->run(k);
	}
	if (!rc && k->d.rc)
		rc = call_fail(k, k->d.rc, "%s", grove_strerror(k->d.rc));
	return rc;
}

int tools_call(struct mcp *m, struct grove_slice params, struct doc *d, char *why, size_t size)
{
	static const char *const names[] = { "name", "arguments" };
	struct value values[ARGS_MAX] = { { 0 } };
	struct call k = { .m = m, .values = values };
	struct grove_slice v[2] = { { NULL, 0 }, { NULL, 0 } };
	unsigned found = params.len ? grove_json_members(params, names, 2, v) : 0;

	if (found & 1)
		k.tool = find_tool(v[0]);
	/* a client may have none to send */
	if (found & 2 && v[1].ptr[0] == 'n') {
		v[1] = (struct grove_slice){ NULL, 0 };
		found &= ~2u;
	}
	if (!k.tool || (found & 2 && v[1].ptr[0] != '{')) {
		snprintf(why, size, k.tool ? "arguments must be an object" : "unknown tool: %.*s",
			 v[0].len < 64 ? (int)v[0].len : 64, found & 1 ? v[0].ptr : "");
		return MESSAGE_EPARAMS;
	}
	put_content(d, &k, run_tool(&k, v[1]));
	for (size_t i = 0; i < ARGS_MAX; i++)
		free(values[i].text);
	doc_release(&k.d);
	return 0;
}
