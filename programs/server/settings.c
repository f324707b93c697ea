/*
 * settings.c: the server's settings.
 */
#include "peer.h"
#include "settings.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int settings_default_tokens(char *path, size_t size)
{
	return config_path("tokens", path, size);
}

/* Adds a value to a list. ~/ is the home directory, as in a store. */
static int add(struct settings *s, struct opt_list *list, const char *value)
{
	const char *home = getenv("HOME"), *path = strncmp(value, "unix:", 5) ? value : value + 5;
	size_t n = (size_t)(path - value), len;
	char *full;

	if (strncmp(path, "~/", 2) || list == &s->stores || !home || !*home)
		return opt_list_add(list, value);
	len = n + strlen(home) + strlen(path + 1) + 1;
	full = malloc(len);
	if (!full || opt_list_add(&s->owned, full)) {
		free(full);
		return -1;
	}
	snprintf(full, len, "%.*s%s%s", (int)n, value, home, path + 1);
	return opt_list_add(list, full);
}

/* Sets what has one value, unless it was given. An empty value is none. */
static int set_one(struct settings *s, const char *key, const char **out)
{
	const char *value = *out ? NULL : config_get(&s->file, key);
	struct opt_list full = { NULL, 0 };

	if (!value || !*value)
		return 0;
	if (add(s, &full, value))
		return -1;
	*out = full.item[0];
	opt_list_release(&full);
	return 0;
}

/* Sets what may have several values, unless it was given. In the environment it has one. */
static int set_list(struct settings *s, const char *key, struct opt_list *list)
{
	const char *value = config_get(NULL, key);

	if (list->nr)
		return 0;
	if (value)
		return list == &s->stores ? 0 : add(s, list, value);  /* the library reads GROVE_STORE itself */
	for (size_t i = 0; i < s->file.nr; i++)
		if (!strcmp(s->file.item[i].key, key) && *s->file.item[i].value && add(s, list, s->file.item[i].value))
			return -1;
	return 0;
}

static int set_flag(const struct settings *s, const char *key, int *out)
{
	const char *value = *out ? NULL : config_get(&s->file, key);

	return value ? config_flag(value, out) : 0;
}

static int read_file(struct settings *s, char *why, size_t size)
{
	if (config_read(&s->file, why, size))
		return -1;
	if (s->file.bad_line) {
		snprintf(why, size, "config: line %u is not 'key = value'", s->file.bad_line);
		return -1;
	}
	for (size_t i = 0; i < s->file.nr; i++)
		if (!config_known(s->file.item[i].key))
			fprintf(stderr, "grove: config: unknown key '%.64s'\n", s->file.item[i].key);
	return 0;
}

int settings_complete(struct settings *s, char *why, size_t size)
{
	if (read_file(s, why, size))
		return -1;
	if (set_flag(s, "serve.read-only", &s->read_only)) {
		snprintf(why, size, "config: serve.read-only must be true or false");
		return -1;
	}
	if (set_list(s, "store", &s->stores) || set_list(s, "serve.listen", &s->listen) ||
	    set_list(s, "serve.public-url", &s->public_urls) || set_list(s, "serve.trusted-proxy", &s->proxies) ||
	    set_one(s, "serve.token-file", &s->token_file) ||
	    set_one(s, "serve.tls-cert", &s->tls_cert) || set_one(s, "serve.tls-key", &s->tls_key)) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	for (size_t i = 0; i < s->proxies.nr; i++) {
		char address[64];

		if (strcmp(s->proxies.item[i], "unix") && address_read(s->proxies.item[i], address, sizeof(address))) {
			snprintf(why, size, "--trusted-proxy %.64s: not an IP address", s->proxies.item[i]);
			return -1;
		}
	}
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

int settings_trust(const struct settings *s, const char *address)
{
	char proxy[64];

	for (size_t i = 0; i < s->proxies.nr; i++)
		if (!*address ? !strcmp(s->proxies.item[i], "unix")
			      : !address_read(s->proxies.item[i], proxy, sizeof(proxy)) && !strcmp(proxy, address))
			return 1;
	return 0;
}

void settings_release(struct settings *s)
{
	opt_list_release(&s->stores);
	opt_list_release(&s->listen);
	opt_list_release(&s->public_urls);
	opt_list_release(&s->proxies);
	for (size_t i = 0; i < s->owned.nr; i++)
		free((char *)(uintptr_t)s->owned.item[i]);
	opt_list_release(&s->owned);
	config_release(&s->file);
}
