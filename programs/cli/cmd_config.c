/*
 * cmd_config.c: reads and changes the configuration file.
 */
#include "commands.h"
#include "kit/config.h"
#include "kit/store_url.h"

#include <string.h>
#include <unistd.h>

static void print_item(struct cli *c, const char *key, const char *value)
{
	struct out *o = &c->out;

	if (c->json) {
		out_puts(o, "{\"key\":");
		out_json_string(o, key);
		out_json_member(o, "value", value);
		out_puts(o, "}");
		return;
	}
	out_line(o, out_str(key));
	out_puts(o, " = ");
	out_line(o, out_str(value));
	out_puts(o, "\n");
}

static int list(struct cli *c, const struct config *cf)
{
	struct grove_buf shown = GROVE_BUF_INIT;

	if (c->json)
		out_puts(&c->out, "[");
	for (size_t i = 0; i < cf->nr; i++) {
		if (c->json && i)
			out_puts(&c->out, ",\n");
		/*
		 * passwords are hidden here; `get` prints them, because whoever asks for
		 * one value wants to use it
		 */
		shown.len = 0;
		cli_add(&shown, cf->item[i].value, strlen(cf->item[i].value) + 1);
		store_url_hide_password(shown.ptr);
		print_item(c, cf->item[i].key, shown.ptr);
	}
	if (c->json)
		out_puts(&c->out, "]\n");
	else if (!cf->nr)
		cli_warn(c, "no settings (see 'grove config --help' for the keys)");
	grove_buf_release(&shown);
	return EXIT_DONE;
}

static int get(struct cli *c, const struct config *cf, const char *key)
{
	const char *value = config_in_file(cf, key);

	if (!value)
		return cli_error(c, GROVE_ENOTFOUND, "config: %.64s is not set", key);
	if (c->json) {
		print_item(c, key, value);
	} else {
		out_line(&c->out, out_str(value));
	}
	out_puts(&c->out, "\n");
	return EXIT_DONE;
}

/* Rejects values that the programs could not use. */
static int check(struct cli *c, const char *key, const char *value)
{
	int on;

	if (!*key || strpbrk(key, "=#\n \t\r"))
		return cli_usage(c, "'%.64s' cannot be a key", key);
	if (!value)
		return 0;
	if (strchr(value, '\n') || strlen(value) != strcspn(value, "\r"))
		return cli_usage(c, "a value is one line");
	if (value[strspn(value, " \t")] != *value || (*value && strchr(" \t", value[strlen(value) - 1])))
		return cli_usage(c, "a value must not begin or end with a space");
	if ((!strcmp(key, "utc") || !strcmp(key, "serve.read-only")) && config_flag(value, &on))
		return cli_usage(c, "%s must be true or false", key);
	return 0;
}

/* Returns where the path begins in the value of a key; NULL: it has none. */
static const char *path_in(const char *key, const char *value)
{
	static const char *const files[] = { "archive", "serve.token-file", "serve.tls-cert", "serve.tls-key" };
	static const char *const prefixes[] = { "file:", "sqlite:", "unix:" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(key, files[i]))
			return value;
	if (strcmp(key, "store") && strcmp(key, "serve.listen"))
		return NULL;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(value, prefixes[i], strlen(prefixes[i])))
			return value + strlen(prefixes[i]);
	return strcmp(key, "store") || strchr(value, ':') ? NULL : value;
}

/* The file is read in any directory, so a path in it must not depend on this one. */
static void make_absolute(struct grove_buf *out, const char *key, const char *value)
{
	const char *path = path_in(key, value);
	char here[4096];

	if (!path || !*path || *path == '/' || *path == '~' || !getcwd(here, sizeof(here))) {
		cli_add(out, value, strlen(value) + 1);
		return;
	}
	while (!strncmp(path, "./", 2))
		path += 2;
	cli_add(out, value, (size_t)(path_in(key, value) - value));
	cli_add(out, here, strlen(here));
	if (strcmp(path, ".") && *path) {
		if (strcmp(here, "/"))
			cli_add(out, "/", 1);
		cli_add(out, path, strlen(path));
	}
	cli_add(out, "", 1);
}

static int change(struct cli *c, const char *key, const char *value)
{
	struct grove_buf full = GROVE_BUF_INIT;
	char why[512];
	int rc = check(c, key, value);

	if (rc)
		return rc;
	if (value)
		make_absolute(&full, key, value);
	rc = config_change(key, value ? full.ptr : NULL, why, sizeof(why));
	grove_buf_release(&full);
	if (rc < 0)
		return cli_error(c, GROVE_EIO, "config: %s", why);
	return rc ? cli_error(c, GROVE_ENOTFOUND, "config: %.64s is not set", key) : EXIT_DONE;
}

int cmd_config(struct cli *c, int argc, char **argv)
{
	static const struct {
		const char *name;
		int operands;
	} verbs[] = { { "get", 1 }, { "set", 2 }, { "unset", 1 }, { "list", 0 } };
	struct config cf;
	char why[512];
	size_t v = 0;
	int status;

	if (cli_parse(c, NULL, "get|set|unset|list [KEY] [VALUE]", &argc, argv))
		return c->status;
	while (v < sizeof(verbs) / sizeof(*verbs) && strcmp(verbs[v].name, argv[0]))
		v++;
	if (v == sizeof(verbs) / sizeof(*verbs))
		return cli_usage(c, "'%.64s' is not one of get, set, unset, list", argv[0]);
	if (argc - 1 != verbs[v].operands)
		return cli_usage(c, "%s takes %s", argv[0],
				 (const char *[]){ "no operand", "KEY", "KEY and VALUE" }[verbs[v].operands]);
	if (argc > 1 && !config_known(argv[1]))
		cli_warn(c, "config: unknown key '%.64s'", argv[1]);
	if (v == 1 || v == 2)
		return change(c, argv[1], v == 1 ? argv[2] : NULL);
	if (config_read(&cf, why, sizeof(why)))
		return cli_error(c, GROVE_EIO, "config: %s", why);
	if (cf.bad_line)
		cli_warn(c, "config: line %u is not 'key = value'", cf.bad_line);
	status = argc > 1 ? get(c, &cf, argv[1]) : list(c, &cf);
	config_release(&cf);
	return status;
}
