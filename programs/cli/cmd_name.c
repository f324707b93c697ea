/*
 * cmd_name.c: prints or changes the name of a session.
 */
#include "commands.h"

static void print_name(struct cli *c, const char *name)
{
	if (c->json) {
		out_puts(&c->out, "{\"name\":");
		out_json_string(&c->out, name);
		out_puts(&c->out, "}\n");
	} else if (name) {
		out_line(&c->out, out_str(name));
		out_puts(&c->out, "\n");
	}
}

int cmd_name(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_view *v = NULL;
	int err = 0, status = EXIT_DONE;

	if (cli_begin(c, NULL, "SESSION [NAME]", &argc, argv))
		return c->status;
	s = cli_open(c, argv[0], argc < 2 ? GROVE_OPEN_READ : GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	/* The library would remove the name where the agent can; here a blank name is a mistake. */
	if (argc == 2 && !argv[1][strspn(argv[1], " \t\r\n")]) {
		grove_session_close(s);
		return cli_error(c, GROVE_EINVAL, "the name is empty");
	}
	cli_working(c, "writing");
	if (argc == 2)
		err = grove_session_set_name(s, argv[1], GROVE_NAME_BY_USER, NULL);
	if (!err && (argc < 2 || c->json)) {
		err = grove_session_view(s, &v);
		if (!err)
			print_name(c, grove_view_name(v));
	}
	if (err)
		status = cli_fail_session(c, s, err);
	grove_view_unref(v);
	grove_session_close(s);
	return status;
}
