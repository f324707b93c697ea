/*
 * cmd_mv.c: moves a session to another working directory.
 */
#include "commands.h"

#include <sys/stat.h>

int cmd_mv(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	const char *cwd = NULL;
	struct stat st;
	int err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "cwd", .string = &cwd },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION [DIR]", &argc, argv))
		return c->status;
	if (cwd && argc == 2)
		return cli_usage(c, "DIR and --cwd cannot be used together");
	if (!cwd && argc == 1)
		return cli_usage(c, "DIR is missing (usage: grove mv SESSION DIR)");
	if (!*(cwd ? cwd : argv[1]))
		return cli_usage(c, "DIR is empty");
	s = cli_open(c, argv[0], GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	cli_progress(c, "moving");
	err = grove_session_move(s, cwd ? cwd : argv[1]);
	cli_progress_end(c);
	if (err) {
		status = cli_fail_session(c, s, err);
	} else {
		if (stat(grove_session_cwd(s), &st) || !S_ISDIR(st.st_mode))
			cli_warn(c, "%s: there is no such directory, but the session belongs to it now",
				 grove_session_cwd(s));
		cli_print_session(c, s);
	}
	grove_session_close(s);
	return status;
}
