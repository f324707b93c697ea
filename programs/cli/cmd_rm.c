/*
 * cmd_rm.c: removes sessions.
 */
#include "commands.h"

#include "kit/on_path.h"

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

/* Without files there are no paths, and nothing for the trash. */
static int is_file(const struct grove_buf *path)
{
	return path->ptr[0] == '/';
}

/*
 * Where nobody can be asked, only what can be got back is removed without --yes. Returns
 * the one that cannot, or `nr`.
 */
static int find_lost(const struct grove_buf *path, int nr)
{
	int i = 0, trash = on_path("trash");

	while (i < nr && trash && is_file(&path[i]))
		i++;
	return i;
}

int cmd_rm(struct cli *c, int argc, char **argv)
{
	struct grove_buf *path = NULL;
	int yes = 0, no_trash = 0, removed = 0, asks;
	unsigned flags = 0;
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
	asks = !yes && isatty(STDIN_FILENO) && c->err.tty;
	if (no_trash) {
		flags = GROVE_REMOVE_NO_TRASH;
	} else if (!yes && !asks) {
		int lost = find_lost(path, argc);

		if (lost < argc) {
			c->status = cli_usage(c, "%s would be deleted for good: %s (use --yes if that is what you want)", argv[lost],
				  is_file(&path[lost]) ? "there is no 'trash' program" : "a database has no trash");
			goto out;
		}
		flags = GROVE_REMOVE_ONLY_TRASH;
	}
	c->status = EXIT_DONE;
	if (c->json)
		out_puts(&c->out, "{\"removed\":[");
	for (int i = 0; i < argc && !c->status; i++) {
		int err, trash = is_file(&path[i]) && !no_trash && on_path("trash");

		if (seen_before(path, i) ||
		    (asks && !cli_confirm(c, trash ? "move %s to the trash?" : "delete %s for good?", path[i].ptr)))
			continue;
		err = grove_remove(c->g, is_file(&path[i]) ? path[i].ptr : argv[i], flags);
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
