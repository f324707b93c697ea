/*
 * cmd_serve.c: runs other programs: grove-serve for `grove serve` and `grove token`, and
 * those for `grove push`, `pull`, `mirror`, `mcp` and `browse`.
 *
 * Most of them need libraries that would slow down the start of every other command. The
 * arguments are passed on, including those before the command's name.
 */
#include "commands.h"
#include "kit/help.h"
#include "parts.h"
#include "kit/args.h"
#include "web.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs the program next to this one, as in a build directory, or else the installed one. */
static void run_at(const char *dir, size_t len, char **words)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, words[0]) < (int)sizeof(path))
		execv(path, words);
}

static void run_anywhere(char **words)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	const char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;

	if (slash)
		run_at(self, (size_t)(slash - self), words);
	run_at(GROVE_LIBEXECDIR, strlen(GROVE_LIBEXECDIR), words);
}

static int wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return 1;
	return 0;
}

static char *copy(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(cli_realloc(NULL, n, 1), text, n);
}

/* A part of grove with a program of its own, which --version lists by its name. */
struct part {
	const char *program;
	const char *name; /* NULL: always built */
	const char *what; /* for the error if it was not built, with the libraries it needs */
};

/* Passes the arguments to a part's program; returns if that cannot be run. */
static int hand_over(struct cli *c, const struct part *part, int argc, char **argv)
{
	int why;
	size_t nr = 0, room = 11 + (size_t)argc + 2 * c->stores.nr;
	char **words = cli_realloc(NULL, room, sizeof(*words));

	if (c->help || wants_help(argc, argv)) {
		free(words);
		return help_print(&c->out, c->command, c->wants_json);
	}
	words[nr++] = copy(part->program);
	words[nr++] = copy(c->command);
	for (size_t i = 0; i < c->stores.nr; i++) {
		words[nr++] = copy("--store");
		words[nr++] = copy(c->stores.item[i]);
	}
	if (c->dialect) {
		words[nr++] = copy("--dialect");
		words[nr++] = copy(c->dialect);
	}
	if (c->json)
		words[nr++] = copy("--json");
	if (c->no_cache)
		words[nr++] = copy("--no-cache");
	if (c->utc)
		words[nr++] = copy("--utc");
	if (c->color) {
		words[nr++] = copy("--color");
		words[nr++] = copy(out_color_names[c->color]);
	}
	for (int i = 0; i < argc; i++)
		words[nr++] = copy(argv[i]);
	words[nr] = NULL;
	out_flush(&c->out);
	if (!args_pass(words))
		run_anywhere(words);
	why = errno;
	while (nr)
		free(words[--nr]);
	free(words);
	if (part->name && !strstr(GROVE_PARTS, part->name))
		return cli_error(c, GROVE_ENOTSUP, "%s: this grove was built without %s", c->command, part->what);
	return cli_error(c, GROVE_EIO, "%s: cannot run " GROVE_LIBEXECDIR "/%s: %s (it is installed along with grove)",
			 c->command, part->program, strerror(why));
}

static int run_server(struct cli *c, int argc, char **argv)
{
	static const struct part server = {
		"grove-serve", "server", "its server (it needs libmicrohttpd, GnuTLS and zlib)",
	};

	return hand_over(c, &server, argc, argv);
}

int cli_serve_at(struct cli *c, const char *page, const char *store)
{
	char words[][16] = { "--quiet", "--listen", "127.0.0.1:0", "--open", "--at", "--store" };
	char *at = copy(page), *over = copy(store ? store : "");
	char *argv[] = { words[0], words[1], words[2], words[3], words[4], at, words[5], over };
	int status;

	c->command = "serve";
	status = run_server(c, store ? 8 : 6, argv);
	free(at);
	free(over);
	return status;
}

int cmd_serve(struct cli *c, int argc, char **argv)
{
	return run_server(c, argc, argv);
}

int cmd_token(struct cli *c, int argc, char **argv)
{
	return run_server(c, argc, argv);
}

int cmd_sync(struct cli *c, int argc, char **argv)
{
	static const struct part sync = { "grove-sync", "sync", "sync between machines (it needs libcurl)" };

	return hand_over(c, &sync, argc, argv);
}

int cmd_mcp(struct cli *c, int argc, char **argv)
{
	static const struct part mcp = { "grove-mcp", NULL, NULL };

	return hand_over(c, &mcp, argc, argv);
}

int cmd_browse(struct cli *c, int argc, char **argv)
{
	static const struct part browse = {
		"grove-browse", "browse", "its terminal interface (it needs ncursesw)",
	};

	return hand_over(c, &browse, argc, argv);
}
