/*
 * settings.c: how the server is to run.
 */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MAX (1u << 20)

/* A file below grove's configuration directory. */
static int config_path(const char *name, char *path, size_t size)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (base && *base == '/')
		n = snprintf(path, size, "%s/grove/%s", base, name);
	else if (home && *home)
		n = snprintf(path, size, "%s/.config/grove/%s", home, name);
	else
		return -1;
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

int settings_default_tokens(char *path, size_t size)
{
	return config_path("tokens", path, size);
}

/* The whole file with a NUL after it; NULL if there is none. */
static char *read_config(const char *path, char *why, size_t size)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f) {
		if (errno != ENOENT && errno != ENOTDIR)
			snprintf(why, size, "%s: %s", path, strerror(errno));
		return NULL;
	}
	text = malloc(CONFIG_MAX + 1);
	n = text ? fread(text, 1, CONFIG_MAX, f) : 0;
	if (text && ferror(f)) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		free(text);
		text = NULL;
	}
	fclose(f);
	if (text)
		text[n] = '\0';
	return text;
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return text;
}

/* Adds to a list that the options left empty. */
static int add(struct opt_list *list, const char *value)
{
	const char **item = realloc(list->item, (list->nr + 1) * sizeof(*item));

	if (!item)
		return -1;
	list->item = item;
	item[list->nr++] = value;
	return 0;
}

/* What the options named comes before the file: then its lines of that key are passed over. */
struct given {
	int stores, listen, public_urls;
};

static int flag(const char *value, int *out)
{
	if (!strcmp(value, "true") || !strcmp(value, "1") || !strcmp(value, "yes"))
		*out = 1;
	else if (strcmp(value, "false") && strcmp(value, "0") && strcmp(value, "no"))
		return -1;
	return 0;
}

static int one(const char *value, const char **out)
{
	if (!*out)
		*out = value;
	return 0;
}

static int set(struct settings *s, const struct given *given, const char *key, const char *value)
{
	static const char *const others[] = { "archive", "pager", "utc", "agent", NULL };

	if (!strcmp(key, "store"))
		return given->stores ? 0 : add(&s->stores, value);
	if (!strcmp(key, "serve.listen"))
		return given->listen ? 0 : add(&s->listen, value);
	if (!strcmp(key, "serve.public-url"))
		return given->public_urls ? 0 : add(&s->public_urls, value);
	if (!strcmp(key, "serve.token-file"))
		return one(value, &s->token_file);
	if (!strcmp(key, "serve.tls-cert"))
		return one(value, &s->tls_cert);
	if (!strcmp(key, "serve.tls-key"))
		return one(value, &s->tls_key);
	if (!strcmp(key, "serve.read-only"))
		return flag(value, &s->read_only);
	for (int i = 0; others[i]; i++)
		if (!strcmp(key, others[i]))
			return 0;
	fprintf(stderr, "grove: config: unknown key '%.64s'\n", key);
	return 0;
}

static int read_lines(struct settings *s, const struct given *given, char *why, size_t size)
{
	unsigned line = 0;

	for (char *p = s->memory, *next; p; p = next) {
		char *equals, *key;

		line++;
		next = strchr(p, '\n');
		if (next)
			*next++ = '\0';
		key = trim(p);
		if (!*key || *key == '#')
			continue;
		equals = strchr(key, '=');
		if (!equals) {
			snprintf(why, size, "config: line %u is not 'key = value'", line);
			return -1;
		}
		*equals = '\0';
		key = trim(key);
		if (set(s, given, key, trim(equals + 1))) {
			snprintf(why, size, "config: line %u: '%.64s' cannot have that value", line, key);
			return -1;
		}
	}
	return 0;
}

int settings_complete(struct settings *s, char *why, size_t size)
{
	const char *env = getenv("GROVE_STORE");
	struct given given = { s->stores.nr || (env && *env), s->listen.nr != 0, s->public_urls.nr != 0 };
	char path[4096];

	*why = '\0';
	if (!config_path("config", path, sizeof(path)))
		s->memory = read_config(path, why, size);
	if (*why || (s->memory && read_lines(s, &given, why, size)))
		return -1;
	if (!s->listen.nr && add(&s->listen, DEFAULT_LISTEN)) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	if (!s->tls_cert != !s->tls_key) {
		snprintf(why, size, "--tls-cert and --tls-key go together");
		return -1;
	}
	return 0;
}

void settings_release(struct settings *s)
{
	opt_list_release(&s->stores);
	opt_list_release(&s->listen);
	opt_list_release(&s->public_urls);
	free(s->memory);
}
