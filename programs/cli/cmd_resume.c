/*
 * cmd_resume.c: how to resume a session with its agent.
 */
#include "commands.h"

static void print_json(struct out *o, const struct grove_command *c)
{
	out_puts(o, "{\"cwd\":");
	out_json_string(o, c->cwd);
	out_puts(o, ",\"argv\":[");
	for (size_t i = 0; c->argv[i]; i++) {
		out_puts(o, i ? "," : "");
		out_json_string(o, c->argv[i]);
	}
	out_puts(o, "]}\n");
}

int cmd_resume(struct cli *c, int argc, char **argv)
{
	const struct grove_command *cmd;
	struct grove_session *s;
	int start = 0, err;
	const struct opt opts[] = {
		{ "run", .flag = &start },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (start && c->json)
		return cli_usage(c, "--run and --json cannot be used together");
	s = cli_open(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	err = grove_session_resume(s, &cmd);
	if (err)
		c->status = cli_fail_session(c, s, err);
	else if (start)
		c->status = cli_become(c, cmd);
	else if (c->json)
		print_json(&c->out, cmd);
	else
		cli_print_command(&c->out, cmd);
	grove_session_close(s);
	return c->status;
}
