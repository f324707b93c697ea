/*
 * cmd_rm.c: removes sessions.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Finds all of them before removing the first, because each removal changes what `last` or
 * a prefix means.
 */
static int find_all(struct cli *c, struct grove_buf *path, char **what, int nr)
{
	for (int i = 0; i < nr; i++) {
		int err = grove_resolve(c->g, what[i], &path[i]);

		if (err) {
			c->status = cli_fail_grove(c, err);
			return err;
		}
	}
	return 0;
}

static int seen_before(const struct grove_buf *path, int i)
{
	for (int j = 0; j < i; j++)
		if (!strcmp(path[j].ptr, path[i].ptr))
			return 1;
	return 0;
}

int cmd_rm(struct cli *c, int argc, char **argv)
{
	struct grove_buf *path = NULL;
	int yes = 0, no_trash = 0, removed = 0;
	const struct opt opts[] = {
		{ "yes", .flag = &yes },
		{ "no-trash", .flag = &no_trash },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION...", &argc, argv))
		return c->status;
	cli_working(c, "removing");
	path = cli_realloc(NULL, (size_t)argc, sizeof(*path));
	memset(path, 0, (size_t)argc * sizeof(*path));
	if (find_all(c, path, argv, argc))
		goto out;
	if (!isatty(STDIN_FILENO) || !c->err.tty)
		yes = 1;
	c->status = EXIT_DONE;
	if (c->json)
		out_puts(&c->out, "{\"removed\":[");
	for (int i = 0; i < argc && !c->status; i++) {
		int err;

		if (seen_before(path, i) || (!yes && !cli_confirm(c, "remove %s?", path[i].ptr)))
			continue;
		/* without files there are no paths; use the given name */
		err = grove_remove(c->g, path[i].ptr[0] == '/' ? path[i].ptr : argv[i], no_trash ? GROVE_REMOVE_NO_TRASH : 0);
		if (err) {
			c->status = cli_fail_grove(c, err);
		} else if (c->json) {
			out_puts(&c->out, removed++ ? "," : "");
			out_json_string(&c->out, path[i].ptr);
		}
	}
	if (c->json && !c->status)
		out_puts(&c->out, "]}\n");
out:
	for (int i = 0; i < argc; i++)
		grove_buf_release(&path[i]);
	free(path);
	return c->status;
}
