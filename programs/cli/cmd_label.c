/*
 * cmd_label.c: label an entry, or clear its label.
 */
#include "commands.h"

#include <stdlib.h>

int cmd_label(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_append_result r = { .size = sizeof(r) };
	char *target;
	int err, status = EXIT_DONE;

	if (cli_begin(c, NULL, "SESSION ENTRY [TEXT]", &argc, argv))
		return c->status;
	s = cli_open(c, argv[0], GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	cli_working(c, "writing");
	target = cli_entry(c, s, argv[1]);
	err = target ? grove_session_append_label(s, target, argc > 2 ? argv[2] : NULL, NULL, &r) : 0;
	if (!target) {
		status = c->status;
	} else if (err) {
		status = cli_fail_session(c, s, err);
	} else if (c->json) {
		out_puts(&c->out, "{\"id\":");
		out_json_string(&c->out, r.id);
		out_puts(&c->out, "}\n");
	} else {
		out_line(&c->out, out_str(r.id ? r.id : "-"));
		out_puts(&c->out, "\n");
	}
	free(target);
	grove_session_close(s);
	return status;
}
