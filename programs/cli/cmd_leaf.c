/*
 * cmd_leaf.c: the entry where the conversation continues.
 */
#include "commands.h"

#include <stdlib.h>

static void print_leaf(struct cli *c, struct grove_session *s)
{
	const char *id = grove_session_leaf(s);

	if (c->json) {
		out_puts(&c->out, "{\"leaf\":");
		out_json_string(&c->out, id);
		out_puts(&c->out, "}\n");
	} else {
		out_line(&c->out, out_str(id ? id : GROVE_ROOT));
		out_puts(&c->out, "\n");
	}
}

int cmd_leaf(struct cli *c, int argc, char **argv)
{
	struct grove_branch_summary b = { sizeof(b) };
	struct grove_leaf_options lo = { .size = sizeof(lo), .flags = GROVE_LEAF_PERSIST };
	struct grove_session *s;
	char *to = NULL;
	int persist = 0, err = 0, status = EXIT_DONE;
	const struct opt opts[] = {
		{ "summary", .string = &b.summary },
		{ "persist", .flag = &persist }, /* accepted for compatibility; it is always
		                                    persistent */
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION [ENTRY]", &argc, argv))
		return c->status;
	if (argc < 2 && (b.summary || persist))
		return cli_usage(c, "--%s requires an ENTRY to move to", b.summary ? "summary" : "persist");
	s = cli_open(c, argv[0], argc < 2 ? GROVE_OPEN_READ : GROVE_OPEN_WRITE);
	if (!s)
		return c->status;
	cli_working(c, "writing");
	if (argc == 2) {
		lo.summary = b.summary ? &b : NULL;
		to = cli_entry(c, s, argv[1]);
		if (to)
			err = grove_session_set_leaf(s, to, &lo, NULL);
	}
	if (argc == 2 && !to)
		status = c->status;
	else if (err)
		status = cli_fail_session(c, s, err);
	else if (argc < 2 || c->json)
		print_leaf(c, s);
	free(to);
	grove_session_close(s);
	return status;
}
