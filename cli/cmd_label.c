/*
 * cmd_label.c: label an entry, or clear its label.
 */
#include "cli.h"

int cmd_label(struct cli *c, int argc, char **argv)
{
	struct grove_session *s;
	struct grove_append_result r = { .size = sizeof(r) };
	int err, status = EXIT_DONE;

	if (cli_begin(c, NULL, "SESSION ENTRY [TEXT]", &argc, argv))
		return c->status;
	s = cli_open(c, argv[0], GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	err = grove_session_append_label(s, argv[1], argc > 2 ? argv[2] : NULL, NULL, &r);
	if (err) {
		status = cli_fail_session(c, s, err);
	} else if (c->json) {
		out_puts(&c->out, "{\"id\":");
		out_json_string(&c->out, r.id);
		out_puts(&c->out, "}\n");
	} else {
		out_text(&c->out, out_str(r.id ? r.id : "-"));
		out_puts(&c->out, "\n");
	}
	grove_session_close(s);
	return status;
}
