/*
 * resume.c: the command that resumes a session with its agent, printed or run.
 */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Prints a word so that a shell reads it back, quoted only if necessary. */
static void print_word(struct out *o, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,~";

	/* a leading tilde would be expanded */
	if (*word && *word != '~' && strspn(word, plain) == strlen(word)) {
		out_puts(o, word);
		return;
	}
	out_puts(o, "'");
	for (const char *p = word; *p;) {
		size_t len = strcspn(p, "'");

		out_text(o, (struct grove_slice){ p, len });
		p += len;
		if (*p == '\'') {
			out_puts(o, "'\\''");
			p++;
		}
	}
	out_puts(o, "'");
}

void cli_print_command(struct out *o, const struct grove_command *c)
{
	if (c->cwd) {
		out_puts(o, "cd ");
		print_word(o, c->cwd);
		out_puts(o, " && ");
	}
	for (size_t i = 0; c->argv[i]; i++) {
		out_puts(o, i ? " " : "");
		print_word(o, c->argv[i]);
	}
	out_puts(o, "\n");
}

int cli_become(struct cli *c, const struct grove_command *cmd)
{
	char *argv[16];
	size_t nr = 0;

	if (cmd->cwd && chdir(cmd->cwd))
		return cli_error(c, GROVE_EIO, "%.200s: %s", cmd->cwd, strerror(errno));
	while (cmd->argv[nr] && nr < sizeof(argv) / sizeof(*argv) - 1)
		nr++;
	/* execvp() wants them without const, but does not change them */
	memcpy(argv, cmd->argv, nr * sizeof(*argv));
	argv[nr] = NULL;
	execvp(argv[0], argv);
	return cli_error(c, errno == ENOENT ? GROVE_ENOTFOUND : GROVE_EIO, "%.200s: %s%s", cmd->argv[0],
			 strerror(errno), errno == ENOENT ? " (is the agent installed?)" : "");
}

void cli_tell_resume(struct cli *c, struct grove_session *s)
{
	const struct grove_command *cmd;

	if (c->json || grove_session_resume(s, &cmd))
		return;
	out_flush(&c->out);
	out_puts(&c->err, "resume with: ");
	cli_print_command(&c->err, cmd);
}
