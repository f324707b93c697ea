/*
 * help.c: what --help and --version print, in every program of grove.
 */
#include "help.h"

#include "cli.h"

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

int help_print(struct out *o, const char *name)
{
	const struct grove_help *h = name ? help_find(name) : NULL;

	if (!h)
		h = help_find("grove");
	out_puts(o, h ? h->text : "grove: this build has no help\n");
	return EXIT_DONE;
}

int version_print(struct out *o)
{
	out_printf(o, "grove %s\n", grove_version());
	out_puts(o, "parts: " GROVE_PARTS "\n");
	return EXIT_DONE;
}
