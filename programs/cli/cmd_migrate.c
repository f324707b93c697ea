/*
 * cmd_migrate.c: rewrites an old session in the current format.
 */
#include "commands.h"

int cmd_migrate(struct cli *c, int argc, char **argv)
{
	struct grove_session *s, *now;
	unsigned from;
	uint64_t lines;

	if (cli_begin(c, NULL, "SESSION", &argc, argv))
		return c->status;
	s = cli_open(c, argv[0], GROVE_OPEN_WRITE); /* this migrates it */
	if (!s)
		return c->status;
	c->status = EXIT_DONE;
	if (c->json) {
		from = grove_session_version(s);
		lines = grove_session_migrated(s);
		/* only the dialect knows the current version, so open it again */
		now = cli_open(c, grove_session_path(s), GROVE_OPEN_READ);
		if (now)
			out_printf(&c->out, "{\"from\":%u,\"to\":%u,\"lines\":%llu}\n", from,
				   grove_session_version(now), (unsigned long long)lines);
		grove_session_close(now);
	}
	grove_session_close(s);
	return c->status;
}
