/*
 * settings.c: the server's settings.
 */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int settings_default_tokens(char *path, size_t size)
{
	return config_path("tokens", path, size);
}

/* Options override the file: its lines for a key given as an option are skipped. */
struct given {
	int stores, listen, public_urls;
};

static int one(const char *value, const char **out)
{
	if (!*out)
		*out = value;
	return 0;
}

static int set(struct settings *s, const struct given *given, const char *key, const char *value)
{
	if (!strcmp(key, "store"))
		return given->stores ? 0 : opt_list_add(&s->stores, value);
	if (!strcmp(key, "serve.listen"))
		return given->listen ? 0 : opt_list_add(&s->listen, value);
	if (!strcmp(key, "serve.public-url"))
		return given->public_urls ? 0 : opt_list_add(&s->public_urls, value);
	if (!strcmp(key, "serve.token-file"))
		return one(value, &s->token_file);
	if (!strcmp(key, "serve.tls-cert"))
		return one(value, &s->tls_cert);
	if (!strcmp(key, "serve.tls-key"))
		return one(value, &s->tls_key);
	if (!strcmp(key, "serve.read-only"))
		return s->read_only ? 0 : config_flag(value, &s->read_only);
	if (!config_known(key))
		fprintf(stderr, "grove: config: unknown key '%.64s'\n", key);
	return 0;
}

/* The environment overrides the file. A list set there has one item. */
static int set_from_environment(struct settings *s, struct given *given)
{
	for (size_t i = 0; config_keys[i]; i++) {
		const char *value = strncmp(config_keys[i], "serve.", 6) ? NULL : config_get(NULL, config_keys[i]);

		if (value && set(s, given, config_keys[i], value))
			return -1;
	}
	given->listen |= s->listen.nr != 0;
	given->public_urls |= s->public_urls.nr != 0;
	return 0;
}

static int set_from_file(struct settings *s, const struct given *given, char *why, size_t size)
{
	if (config_read(&s->file, why, size))
		return -1;
	if (s->file.bad_line) {
		snprintf(why, size, "config: line %u is not 'key = value'", s->file.bad_line);
		return -1;
	}
	for (size_t i = 0; i < s->file.nr; i++) {
		const struct config_item *x = &s->file.item[i];

		if (set(s, given, x->key, x->value)) {
			snprintf(why, size, "config: line %u: '%.64s' cannot have that value", x->line, x->key);
			return -1;
		}
	}
	return 0;
}

int settings_complete(struct settings *s, char *why, size_t size)
{
	const char *env = getenv("GROVE_STORE");
	struct given given = { s->stores.nr || (env && *env), s->listen.nr != 0, s->public_urls.nr != 0 };

	if (set_from_environment(s, &given)) {
		snprintf(why, size, "GROVE_SERVE_READ_ONLY must be true or false");
		return -1;
	}
	if (set_from_file(s, &given, why, size))
		return -1;
	if (config_apply(&s->file, s->utc)) {
		snprintf(why, size, "config: utc must be true or false");
		return -1;
	}
	if (!s->listen.nr && opt_list_add(&s->listen, DEFAULT_LISTEN)) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	if (!s->tls_cert != !s->tls_key) {
		snprintf(why, size, "--tls-cert and --tls-key must be given together");
		return -1;
	}
	return 0;
}

void settings_release(struct settings *s)
{
	opt_list_release(&s->stores);
	opt_list_release(&s->listen);
	opt_list_release(&s->public_urls);
	config_release(&s->file);
}
