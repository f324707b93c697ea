/*
 * help.c: what --help and --version print, in every program of grove.
 */
#include "help.h"

#include "cli.h"
#include "parts.h"

#include <string.h>

const struct grove_help *help_find(const char *name)
{
	const struct grove_help *const tables[] = { grove_help, grove_topics };

	for (size_t i = 0; i < 2; i++)
		for (const struct grove_help *h = tables[i]; h->name; h++)
			if (!strcmp(h->name, name))
				return h;
	return NULL;
}

int help_print(struct out *o, const char *name, int json)
{
	const struct grove_help *h = name ? help_find(name) : NULL;

	if (!h)
		h = help_find("grove");
	if (json) {
		out_puts(o, "{\"name\":");
		out_json_string(o, h ? h->name : NULL);
		out_json_member(o, "text", h ? h->text : NULL);
		out_puts(o, "}\n");
	} else {
		out_puts(o, h ? h->text : "grove: this build has no help\n");
	}
	return EXIT_DONE;
}

static void print_parts(struct out *o, const char *p)
{
	for (size_t n; *p; p += n + strspn(p + n, ", ")) {
		n = strcspn(p, ",");
		out_printf(o, "%s\"%.*s\"", o->last == '[' ? "" : ",", (int)n, p);
	}
}

int version_print(struct out *o, int json)
{
	if (json) {
		out_printf(o, "{\"version\":\"%s\",\"parts\":[", grove_version());
		print_parts(o, strcmp(GROVE_PARTS, "none") ? GROVE_PARTS : "");
		out_puts(o, "]}\n");
		return EXIT_DONE;
	}
	out_printf(o, "grove %s\n", grove_version());
	out_puts(o, "parts: " GROVE_PARTS "\n");
	return EXIT_DONE;
}
