/*
 * main.c: grove, the program: finds the command, runs it and exits.
 */
#include "commands.h"
#include "kit/help.h"
#include "kit/args.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name;
	int (*run)(struct cli *c, int argc, char **argv);
} commands[] = {
	{ "ls", cmd_ls },
	{ "browse", cmd_browse },
	{ "show", cmd_show },
	{ "log", cmd_log },
	{ "tree", cmd_tree },
	{ "context", cmd_context },
	{ "snapshot", cmd_snapshot },
	{ "watch", cmd_watch },
	{ "usage", cmd_usage },
	{ "search", cmd_search },
	{ "history", cmd_history },
	{ "new", cmd_new },
	{ "append", cmd_append },
	{ "leaf", cmd_leaf },
	{ "continue", cmd_continue },
	{ "resume", cmd_resume },
	{ "label", cmd_label },
	{ "name", cmd_name },
	{ "fork", cmd_fork },
	{ "migrate", cmd_migrate },
	{ "check", cmd_check },
	{ "cp", cmd_cp },
	{ "mv", cmd_mv },
	{ "rm", cmd_rm },
	{ "archive", cmd_archive },
	{ "blob", cmd_blob },
	{ "store", cmd_store },
	{ "export", cmd_export },
	{ "serve", cmd_serve },
	{ "token", cmd_token },
	{ "push", cmd_sync },
	{ "pull", cmd_sync },
	{ "mirror", cmd_sync },
	{ "mcp", cmd_mcp },
	{ "config", cmd_config },
	{ "completion", cmd_completion },
	{ "help", cmd_help },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Names that other programs use for commands. */
static const struct {
	const char *theirs, *ours;
} elsewhere[] = {
	{ "list", "ls" }, { "dir", "ls" }, { "sessions", "ls" }, { "cat", "show" }, { "view", "show" },
	{ "less", "show" }, { "print", "show" }, { "open", "show" }, { "messages", "show" }, { "rename", "name" },
	{ "title", "name" }, { "delete", "rm" }, { "remove", "rm" }, { "del", "rm" }, { "find", "search" },
	{ "grep", "search" }, { "copy", "cp" }, { "move", "mv" }, { "branch", "fork" }, { "clone", "fork" },
	{ "checkout", "leaf" }, { "switch", "leaf" }, { "goto", "leaf" }, { "tag", "label" }, { "bookmark", "label" },
	{ "cost", "usage" }, { "stats", "usage" }, { "tokens", "usage" }, { "fsck", "check" }, { "doctor", "check" },
	{ "repair", "check" }, { "create", "new" }, { "init", "new" }, { "add", "append" }, { "graph", "tree" },
	{ "prompt", "context" }, { "entries", "log" }, { "upgrade", "migrate" }, { "backup", "archive" },
	{ "server", "serve" }, { "web", "serve" }, { "ui", "serve" }, { "tui", "browse" }, { "tail", "watch" }, { "follow", "watch" },
	{ "settings", "config" }, { "completions", "completion" }, { "prompts", "history" },
};

static int unknown_command(struct cli *c, const char *name)
{
	const char *near = NULL;
	unsigned best = 0;

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (!strcmp(elsewhere[i].theirs, name) && find_command(elsewhere[i].ours))
			return cli_usage(c, "'%.64s' is not a command (did you mean '%s'?)", name, elsewhere[i].ours);
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		unsigned slip = opt_slip(name, strlen(name), commands[i].name);

		if (slip && (!best || slip < best)) {
			best = slip;
			near = commands[i].name;
		}
	}
	if (near)
		return cli_usage(c, "'%.64s' is not a command (did you mean '%s'?)", name, near);
	return cli_usage(c, "'%.64s' is not a command", name);
}

int cmd_help(struct cli *c, int argc, char **argv)
{
	if (cli_parse(c, NULL, "[COMMAND|TOPIC]", &argc, argv))
		return c->status;
	if (!argc)
		return help_print(&c->out, NULL, c->json);
	if (!find_command(argv[0]) && !help_find(argv[0])) {
		c->command = NULL; /* here the list of commands is what helps */
		return unknown_command(c, argv[0]);
	}
	return help_print(&c->out, argv[0], c->json);
}

/*
 * If descriptor 0, 1 or 2 is closed, the next file we open would get its number: a session,
 * into which we would then print. What stands in can only be used in the wrong direction, so
 * that input and output fail as if it were still closed. Nobody would read about stderr.
 */
static int have_std_descriptors(void)
{
	static const int direction[] = { O_WRONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", direction[fd]) != fd)
			return 0;
	return 1;
}

static int wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--"); argv++)
		if (!strcmp(*argv, "--json"))
			return 1;
	return 0;
}

static int run(struct cli *c, int argc, char **argv)
{
	struct opt globals[CLI_GLOBALS];
	const struct opt *const tables[] = { globals, NULL };
	const struct command *command;
	char why[512];

	cli_globals(c, globals);
	if (opt_parse(tables, &argc, argv, OPT_STOP_AT_OPERAND, why, sizeof(why)))
		return cli_usage(c, "%s", why);
	if (c->version)
		return version_print(&c->out, c->wants_json);
	if (!argc && c->wants_json && !c->help)
		return cli_usage(c, "COMMAND is missing");
	if (!argc) {
		help_print(c->help ? &c->out : &c->err, NULL, c->wants_json);
		return c->help ? EXIT_DONE : EXIT_USAGE;
	}
	command = find_command(argv[0]);
	if (!command)
		return unknown_command(c, argv[0]);
	c->command = command->name;
	return command->run(c, argc - 1, argv + 1);
}

/* Dies from the signal, as if it had never been caught: the shell wants to know. */
static void die_of(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The reader may quit before the end; that is not a failure. */
static int end_pager(struct cli *c, int status)
{
	const char *command = c->pager.command;
	int stopped;

	if (!c->pager.pid)
		return status;
	out_flush(&c->out);
	stopped = c->out.failed == EPIPE;
	if (!pager_end(&c->pager, &c->out))
		return stopped ? EXIT_DONE : status;
	cli_warn(c, "%s: the pager cannot be started (use --plain, or set GROVE_PAGER)", command);
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct cli c;
	int status;

	args_hide(argc, argv);
	if (!have_std_descriptors())
		return EXIT_FAILED;
	/* The reader of our output may leave; that must not interrupt a write to a session. */
	signal(SIGPIPE, SIG_IGN);
	/* Exceeding a file size limit becomes an ordinary error. */
	signal(SIGXFSZ, SIG_IGN);
	cli_init(&c);
	if (argc > 0) {
		argc--;
		argv++;
	}
	c.wants_json = wants_json(argv);

	status = run(&c, argc, argv);

	status = end_pager(&c, status);
	cli_progress_end(&c);
	out_flush(&c.out);
	if (out_failed(&c.out)) {
		if (c.out.failed == EPIPE)
			die_of(SIGPIPE);
		cli_warn(&c, "standard output: %s", c.out.failed == EBADF ? "it is closed" : strerror(c.out.failed));
		status = EXIT_FAILED;
	}
	out_flush(&c.err);
	cli_release(&c);
	if (cli_interrupted())
		die_of(SIGINT);
	return status;
}
