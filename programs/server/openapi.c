/*
 * openapi.c: the tables of routes and shapes as an OpenAPI document.
 */
#include "kit/export/columns.h"
#include "reply.h"
#include "route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put_schema(struct doc *d, const struct param *p)
{
	static const char *const types[] = { "string", "integer", "boolean", NULL };

	doc_open(d, '{');
	if (types[p->type])
		doc_member(d, "type", types[p->type]);
	if (p->type == PARAM_NUMBER)
		doc_member_number(d, "minimum", 0);
	if (p->flags & PARAM_NULL)
		doc_member_bool(d, "nullable", 1);
	if (p->values) {
		char one[32];

		doc_name(d, "enum");
		doc_open(d, '[');
		for (const char *v = p->values; *v; v += strcspn(v, "|"), v += *v == '|') {
			snprintf(one, sizeof(one), "%.*s", (int)strcspn(v, "|"), v);
			doc_string(d, one);
		}
		doc_close(d, ']');
	}
	doc_close(d, '}');
}

static void put_parameter(struct doc *d, const char *name, const char *in, const struct param *p)
{
	static const struct param text = { .type = PARAM_TEXT };

	doc_open(d, '{');
	doc_member(d, "name", name);
	doc_member(d, "in", in);
	if (!p || p->flags & PARAM_REQUIRED)
		doc_member_bool(d, "required", 1);
	if (p && p->about)
		doc_member(d, "description", p->about);
	doc_name(d, "schema");
	if (p && p->flags & PARAM_MANY) {
		doc_puts(d, "{\"type\":\"array\",\"items\":");
		put_schema(d, p);
		doc_puts(d, "}");
	} else {
		put_schema(d, p ? p : &text);
	}
	doc_close(d, '}');
}

static void put_parameters(struct doc *d, const struct route *t)
{
	char name[32];

	doc_name(d, "parameters");
	doc_open(d, '[');
	for (const char *p = t->path; (p = strchr(p, '{')); p++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p + 1, "}"), p + 1);
		put_parameter(d, name, "path", NULL);
	}
	for (const struct param *p = t->query; p && p->name; p++)
		put_parameter(d, p->name, "query", p);
	if (strcmp(t->method, "GET"))
		doc_puts(d, &",{\"$ref\":\"#/components/parameters/X-Grove\"}"[d->buf.ptr[d->buf.len - 1] == '[']);
	doc_close(d, ']');
}

static void put_body(struct doc *d, const struct route *t)
{
	int any = 0;

	doc_name(d, "requestBody");
	doc_open(d, '{');
	doc_member_bool(d, "required", t->body && t->body->flags & PARAM_REQUIRED);
	doc_name(d, "content");
	doc_open(d, '{');
	doc_name(d, t->takes ? t->takes : "application/json");
	doc_puts(d, "{\"schema\":{");
	if (t->body) {
		doc_member(d, "type", "object");
		doc_name(d, "properties");
		doc_open(d, '{');
		for (const struct param *p = t->body; p->name; p++) {
			doc_name(d, p->name);
			put_schema(d, p);
			any |= p->flags & PARAM_REQUIRED;
		}
		doc_close(d, '}');
	}
	if (any) {
		doc_name(d, "required");
		doc_open(d, '[');
		for (const struct param *p = t->body; p->name; p++)
			if (p->flags & PARAM_REQUIRED)
				doc_string(d, p->name);
		doc_close(d, ']');
	}
	doc_puts(d, "}}}}");
}

static const char *type_name(char letter)
{
	static const char letters[] = "sinbo";
	static const char *const names[] = { "string", "integer", "number", "boolean", "object" };
	const char *at = strchr(letters, letter);

	return at && *at ? names[at - letters] : NULL;
}

/* Writes "all|turns" as the words that a string can be. */
static void put_words(struct doc *d, struct grove_slice words)
{
	const char *p = words.ptr, *end = words.ptr + words.len, *bar;

	doc_member(d, "type", "string");
	doc_name(d, "enum");
	doc_open(d, '[');
	for (; p < end; p = bar + 1) {
		bar = memchr(p, '|', (size_t)(end - p));
		bar = bar ? bar : end;
		doc_text(d, (struct grove_slice){ p, (size_t)(bar - p) });
	}
	doc_close(d, ']');
}

static void put_reference(struct doc *d, struct grove_slice name, int nullable)
{
	char ref[64];

	snprintf(ref, sizeof(ref), "#/components/schemas/%.*s", (int)name.len, name.ptr);
	if (!nullable) {
		doc_member(d, "$ref", ref);
		return;
	}
	/* what stands beside a reference is ignored */
	doc_name(d, "allOf");
	doc_open(d, '[');
	doc_open(d, '{');
	doc_member(d, "$ref", ref);
	doc_close(d, '}');
	doc_close(d, ']');
}

/* Writes the schema of a type (struct shape). Returns what follows it. */
static const char *put_type(struct doc *d, const char *p)
{
	struct grove_slice word = { p, strcspn(p, " ]}0") };

	doc_open(d, '{');
	if (*p == '[' || *p == '{') {
		doc_member(d, "type", *p == '[' ? "array" : "object");
		doc_name(d, *p == '[' ? "items" : "additionalProperties");
		p = put_type(d, p + 1) + 1;
	} else {
		p += word.len;
		if (memchr(word.ptr, '|', word.len))
			put_words(d, word);
		else if (isupper((unsigned char)*word.ptr))
			put_reference(d, word, *p == '0');
		else if (type_name(*word.ptr))
			doc_member(d, "type", type_name(*word.ptr));
	}
	if (*p == '0') {
		doc_member_bool(d, "nullable", 1);
		p++;
	}
	doc_close(d, '}');
	return p;
}

/* Writes one member of an object, such as "name?:s0". Returns what follows it. */
static const char *put_answer_member(struct doc *d, const char *p)
{
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, "?:"), p);
	doc_name(d, name);
	p += strcspn(p, ":") + 1;
	p = put_type(d, p);
	return p + strspn(p, " ");
}

static void put_object(struct doc *d, const char *members)
{
	doc_open(d, '{');
	doc_member(d, "type", "object");
	doc_name(d, "properties");
	doc_open(d, '{');
	for (const char *p = members; *p && *p != '*';)
		p = put_answer_member(d, p);
	doc_close(d, '}');
	if (members[strlen(members) - 1] == '*' && members[strlen(members) - 2] == ' ') {
		doc_name(d, "additionalProperties");
		doc_open(d, '{');
		doc_close(d, '}');
	}
	doc_name(d, "required");
	doc_open(d, '[');
	for (const char *p = members; *p && *p != '*'; p += strcspn(p, " "), p += strspn(p, " ")) {
		size_t n = strcspn(p, "?:");

		if (p[n] == ':')
			doc_text(d, (struct grove_slice){ p, n });
	}
	doc_close(d, ']');
	doc_close(d, '}');
}

static int has_body(const struct route *t)
{
	return t->body || t->takes || (!strcmp(t->method, "POST") && strstr(t->path, "/entries"));
}

/* The possible content types of a reply. */
static void put_content(struct doc *d, const struct route *t)
{
	const char *type = t->gives ? t->gives : "application/json", *end;

	doc_name(d, "content");
	doc_open(d, '{');
	for (; *type; type = *end ? end + 1 : end) {
		end = type + strcspn(type, "|");
		doc_text(d, (struct grove_slice){ type, (size_t)(end - type) });
		doc_puts(d, ":");
		doc_open(d, '{');
		if (t->answer) {
			doc_name(d, "schema");
			put_object(d, t->answer);
		}
		doc_close(d, '}');
	}
	doc_close(d, '}');
}

static void put_operation(struct doc *d, const struct route *t)
{
	static const char *const scopes[] = { NULL, "read", "write" };
	char method[8] = "", status[16];

	for (size_t i = 0; t->method[i] && i < sizeof(method) - 1; i++)
		method[i] = (char)tolower((unsigned char)t->method[i]);
	doc_name(d, method);
	doc_open(d, '{');
	doc_member(d, "summary", t->about);
	put_parameters(d, t);
	if (has_body(t))
		put_body(d, t);
	snprintf(status, sizeof(status), "%u", t->status ? t->status : 200);
	doc_name(d, "responses");
	doc_open(d, '{');
	doc_name(d, status);
	doc_puts(d, "{\"description\":\"done\"");
	if (t->status != 204)
		put_content(d, t);
	doc_puts(d, "},\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
	doc_name(d, "security");
	doc_puts(d, t->scope ? "[{\"token\":[]},{\"cookie\":[]},{}]" : "[]");
	if (scopes[t->scope])
		doc_member(d, "x-scope", scopes[t->scope]);
	doc_close(d, '}');
}

static void put_paths(struct doc *d)
{
	doc_name(d, "paths");
	doc_open(d, '{');
	for (size_t i = 0; i < nr_routes; i++) {
		/* group the rows of each path, wherever they are in the table */
		size_t j = 0;

		while (strcmp(routes[j].path, routes[i].path))
			j++;
		if (j < i)
			continue;
		doc_name(d, routes[i].path);
		doc_open(d, '{');
		for (; j < nr_routes; j++)
			if (!strcmp(routes[j].path, routes[i].path))
				put_operation(d, &routes[j]);
		doc_close(d, '}');
	}
	doc_close(d, '}');
}

static void put_letters(struct doc *d)
{
	char letter[2] = "";

	doc_name(d, "x-kinds");
	doc_open(d, '{');
	for (int k = GROVE_KIND_MESSAGE; kind_letter((enum grove_kind)k) != '?'; k++) {
		letter[0] = kind_letter((enum grove_kind)k);
		doc_member(d, letter, grove_kind_name((enum grove_kind)k));
	}
	doc_close(d, '}');
	doc_name(d, "x-roles");
	doc_puts(d, "{\"m\":\"summary\"");
	for (int k = 0; role_letter((enum grove_role)k) != 'm'; k++) {
		letter[0] = role_letter((enum grove_role)k);
		doc_member(d, letter, k ? grove_role_name((enum grove_role)k) : "none");
	}
	doc_close(d, '}');
}

/* Follows the schema of errors. */
static void put_shapes(struct doc *d)
{
	for (size_t i = 0; i < nr_shapes; i++) {
		doc_name(d, shapes[i].name);
		put_object(d, shapes[i].members);
	}
}

/* What each event in a stream carries. */
static void put_events(struct doc *d)
{
	doc_name(d, "x-events");
	doc_open(d, '{');
	for (size_t i = 0; i < nr_event_shapes; i++) {
		doc_name(d, event_shapes[i].name);
		put_type(d, event_shapes[i].members);
	}
	doc_close(d, '}');
}

int get_openapi(struct request *r)
{
	struct doc *d = &r->out;

	doc_open(d, '{');
	doc_member(d, "openapi", "3.0.3");
	doc_name(d, "info");
	doc_open(d, '{');
	doc_member(d, "title", "grove");
	doc_member(d, "description", "Sessions of coding agents: their trees, entries and contexts.");
	doc_member(d, "version", grove_version());
	doc_close(d, '}');
	put_paths(d);
	doc_puts(d, ",\"components\":{\"parameters\":{\"X-Grove\":{\"name\":\"X-Grove\",\"in\":\"header\",\"required\":true,"
		    "\"schema\":{\"type\":\"string\",\"enum\":[\"1\"]}}},"
		    "\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
		    "\"cookie\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"grove_4517\"}},"
		    "\"responses\":{\"Error\":{\"description\":\"what went wrong\",\"content\":{\"application/json\":{\"schema\":"
		    "{\"$ref\":\"#/components/schemas/Error\"}}}}},"
		    "\"schemas\":{");
	put_shapes(d);
	doc_puts(d, "}}");
	put_letters(d);
	put_events(d);
	doc_close(d, '}');
	reply_etag(r, "openapi-%s", grove_version());
	if (r->status == 304)
		doc_release(d);
	return 0;
}
