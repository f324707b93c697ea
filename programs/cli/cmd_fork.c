/*
 * cmd_fork.c: copies a session, or one path of it, into a new one.
 */
#include "commands.h"

#include <stdlib.h>

int cmd_fork(struct cli *c, int argc, char **argv)
{
	struct grove_fork_options fo = { sizeof(fo) };
	struct grove_session *s, *copy = NULL;
	char *leaf = NULL;
	int sync = 0, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "leaf", .string = &fo.leaf },
		{ "cwd", .string = &fo.cwd },
		{ "sync", .flag = &sync },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (fo.cwd && !*fo.cwd)
		return cli_usage(c, "--cwd is empty");
	s = cli_open(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	if (fo.leaf) {
		leaf = cli_entry(c, s, fo.leaf);
		if (!leaf) {
			grove_session_close(s);
			return c->status;
		}
		fo.leaf = leaf;
	}
	fo.sync = sync ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE;
	cli_progress(c, "copying");
	err = grove_session_fork(s, &fo, &copy);
	cli_progress_end(c);
	if (err)
		status = cli_fail_session(c, s, err);
	else
		cli_print_session(c, copy);
	if (!err)
		cli_tell_resume(c, copy);
	free(leaf);
	grove_session_close(copy);
	grove_session_close(s);
	return status;
}
