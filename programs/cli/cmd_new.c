/*
 * cmd_new.c: starts a session.
 */
#include "commands.h"

#include <unistd.h>

int cmd_new(struct cli *c, int argc, char **argv)
{
	struct grove_create_options no = { sizeof(no) };
	struct grove_session *s = NULL;
	const char *path;
	int now = 0, err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "cwd", .string = &no.cwd },
		{ "id", .string = &no.id },
		{ "dir", .string = &no.dir },
		{ "name", .string = &no.name },
		{ "now", .flag = &now },
		{ NULL },
	};

	if (cli_begin(c, opts, "", &argc, argv))
		return c->status;
	if ((no.cwd && !*no.cwd) || (no.dir && !*no.dir))
		return cli_usage(c, "--%s is empty", no.cwd && !*no.cwd ? "cwd" : "dir");
	no.dialect = c->dialect;
	/* the name can only be stored in the file, so create it now */
	if (now || no.name)
		no.flags |= GROVE_CREATE_NOW;
	err = grove_session_create(c->g, &no, &s);
	/*
	 * Without a header, the name is an ordinary line. And a session without a path can
	 * only be found by its id once it exists.
	 */
	if (!err && ((no.name && grove_session_pending(s)) || !grove_session_path(s)))
		err = grove_session_ensure(s);
	if (err) {
		status = cli_fail_session(c, s, err);
	} else {
		path = grove_session_path(s);
		if (now && path && access(path, F_OK))
			cli_warn(c, "%s: not written yet (this format has no header; the first entry "
				    "creates the file)", path);
		cli_print_session(c, s);
	}
	grove_session_close(s);
	return status;
}
