/*
 * install.c: how to configure an agent so that it starts `grove mcp`.
 *
 * Nothing is written: these files belong to the agents and their users.
 */
#include "mcp.h"

#include "kit/cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum form {
	FORM_SERVERS,   /* {"mcpServers": {...}}, which most have */
	FORM_VSCODE,
	FORM_OPENCLAW,
	FORM_TOML
};

static const struct agent {
	const char *name, *says;
	const char *command;     /* the command that adds a server, followed by ours; NULL if none */
	const char *file;        /* the file to edit by hand */
	enum form form;
} agents[] = {
	{ "claude", "Claude Code", "claude mcp add --scope user grove --", "~/.claude.json", FORM_SERVERS },
	{ "pi", "pi", "pi mcp add grove --", "~/.pi/agent/mcp.json, or .pi/mcp.json in a project", FORM_SERVERS },
	{ "omp", "oh-my-pi", NULL, "~/.omp/agent/mcp.json, or .omp/mcp.json in a project", FORM_SERVERS },
	{ "xcsh", "xcsh", NULL, ".xcsh/mcp.json in a project", FORM_SERVERS },
	{ "openclaw", "OpenClaw", "openclaw mcp set grove", "~/.openclaw/openclaw.json", FORM_OPENCLAW },
	{ "codex", "Codex", "codex mcp add grove --", "~/.codex/config.toml", FORM_TOML },
	{ "cursor", "Cursor", NULL, "~/.cursor/mcp.json", FORM_SERVERS },
	{ "gemini", "Gemini CLI", "gemini mcp add --scope user grove", "~/.gemini/settings.json", FORM_SERVERS },
	{ "vscode", "Visual Studio Code", "code --add-mcp", "mcp.json of your profile, or .vscode/mcp.json in a project", FORM_VSCODE },
};

#define NR_AGENTS (sizeof(agents) / sizeof(*agents))

/* A store, named so that it can be found from anywhere: agents run in a project's directory. */
static void put_store(const char *store, void (*put)(struct out *o, const char *word), struct out *o)
{
	size_t scheme = !strncmp(store, "sqlite:", 7) ? 7 : !strncmp(store, "file:", 5) ? 5 : 0;
	char *cwd = store[scheme] == '/' || (!scheme && strchr(store, ':')) ? NULL : getcwd(NULL, 0);
	char *whole = NULL;

	if (cwd && asprintf(&whole, "%.*s%s/%s", (int)scheme, store, strcmp(cwd, "/") ? cwd : "", store + scheme) < 0)
		whole = NULL;
	put(o, whole ? whole : store);
	free(whole);
	free(cwd);
}

/*
 * The absolute path of `grove`, since agents have a PATH of their own: next to this program, as
 * in a build directory, or else where it is installed.
 */
static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

	if (slash && slash + sizeof("/grove") <= path + sizeof(path)) {
		memcpy(slash, "/grove", sizeof("/grove"));
		if (!access(path, X_OK))
			return path;
	}
	return GROVE_BINDIR "/grove";
}

/* The arguments after `grove`: the options given to this command. */
static void each_word(const struct cli *c, void (*put)(struct out *o, const char *word), struct out *o)
{
	for (size_t i = 0; i < c->stores.nr; i++) {
		put(o, "--store");
		put_store(c->stores.item[i], put, o);
	}
	if (c->dialect) {
		put(o, "--dialect");
		put(o, c->dialect);
	}
	put(o, "mcp");
}

static void put_quoted(struct out *o, const char *word)
{
	out_puts(o, " ");
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,")]) {
		out_puts(o, word);
		return;
	}
	out_puts(o, "'");
	for (; *word; word++)
		if (*word == '\'')
			out_puts(o, "'\\''");
		else
			out_bytes(o, word, 1);
	out_puts(o, "'");
}

static void put_item_json(struct out *o, const char *word)
{
	if (o->last != '[')
		out_puts(o, ", ");
	out_json_string(o, word);
}

static void print_server(struct cli *c, struct out *o, const char *indent)
{
	out_printf(o, "%s\"grove\": {\n%s  \"command\": ", indent, indent);
	out_json_string(o, own_path());
	out_printf(o, ",\n%s  \"args\": [", indent);
	each_word(c, put_item_json, o);
	out_printf(o, "]\n%s}\n", indent);
}

/* Prints what follows the agent's own command: a command line, or JSON as one argument. */
static void print_command(struct cli *c, const struct agent *a)
{
	struct out word;

	if (a->form != FORM_OPENCLAW && a->form != FORM_VSCODE) {
		put_quoted(&c->out, own_path());
		each_word(c, put_quoted, &c->out);
		return;
	}
	out_init(&word, -1);
	out_puts(&word, a->form == FORM_VSCODE ? "{\"name\":\"grove\"," : "{");
	out_puts(&word, "\"command\":");
	out_json_string(&word, own_path());
	out_puts(&word, ",\"args\":[");
	each_word(c, put_item_json, &word);
	out_bytes(&word, "]}", 3);
	if (!word.failed)
		put_quoted(&c->out, word.ptr);
	out_release(&word);
}

static void print_file(struct cli *c, const struct agent *a)
{
	struct out *o = &c->out;

	switch (a->form) {
	case FORM_TOML:
		/* strings and arrays are the same as in JSON */
		out_puts(o, "[mcp_servers.grove]\ncommand = ");
		out_json_string(o, own_path());
		out_puts(o, "\nargs = [");
		each_word(c, put_item_json, o);
		out_puts(o, "]\n");
		return;
	case FORM_OPENCLAW:
		out_puts(o, "{\n  \"mcp\": {\n    \"servers\": {\n");
		print_server(c, o, "      ");
		out_puts(o, "    }\n  }\n}\n");
		return;
	case FORM_SERVERS:
	case FORM_VSCODE:
		out_printf(o, "{\n  \"%s\": {\n", a->form == FORM_VSCODE ? "servers" : "mcpServers");
		print_server(c, o, "    ");
		out_puts(o, "  }\n}\n");
	}
}

static void print_agent(struct cli *c, const struct agent *a)
{
	struct out *o = &c->out;

	if (a->command) {
		out_printf(o, "# %s: run this once\n%s", a->says, a->command);
		print_command(c, a);
		out_printf(o, "\n\n# or add this to %s\n", a->file);
	} else {
		out_printf(o, "# %s: add this to %s\n", a->says, a->file);
	}
	print_file(c, a);
}

static int unknown_agent(struct cli *c, const char *agent)
{
	char names[200] = "";
	size_t n = 0;

	for (size_t i = 0; i < NR_AGENTS; i++) {
		size_t len = strlen(agents[i].name);

		if (n + len + 3 > sizeof(names))
			break;
		if (n) {
			memcpy(names + n, ", ", 2);
			n += 2;
		}
		memcpy(names + n, agents[i].name, len + 1);
		n += len;
	}
	return cli_usage(c, "--install: '%.64s' is not one of %s", agent, names);
}

int install_print(struct cli *c, const char *agent)
{
	for (size_t i = 0; i < NR_AGENTS; i++)
		if (!strcmp(agents[i].name, agent)) {
			print_agent(c, &agents[i]);
			return EXIT_DONE;
		}
	return unknown_agent(c, agent);
}
