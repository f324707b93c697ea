/*
 * cmd_cp.c: copy a session into another store.
 */
#include "commands.h"

int cmd_cp(struct cli *c, int argc, char **argv)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	const char *to = NULL;
	int err, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "to", .string = &to },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (!to || !*to)
		return cli_usage(c, "--to STORE is missing");
	cli_progress(c, "copying");
	err = grove_copy(c->g, argv[0], to, &id, &path);
	cli_progress_end(c);
	if (err) {
		status = cli_fail_grove(c, err);
	} else if (c->json) {
		out_puts(&c->out, "{\"id\":");
		out_json_string(&c->out, id.ptr);
		out_json_member(&c->out, "path", path.len ? path.ptr : NULL);
		out_puts(&c->out, "}\n");
	} else {
		out_line(&c->out, out_str(path.len ? path.ptr : id.ptr));
		out_puts(&c->out, "\n");
	}
	grove_buf_release(&id);
	grove_buf_release(&path);
	return status;
}
