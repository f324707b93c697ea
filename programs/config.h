/*
 * config.h: the configuration file, $XDG_CONFIG_HOME/grove/config.
 *
 *	# a comment
 *	store = sqlite:/home/me/sessions.db
 *	serve.listen = 127.0.0.1:4517
 *
 * Of a key that stands there several times the last value counts, except where a
 * program takes them all (store, serve.listen, serve.public-url).
 */
#ifndef PROGRAMS_CONFIG_H
#define PROGRAMS_CONFIG_H

#include <stddef.h>

struct config_item {
	const char *key, *value;
	unsigned line;             /* from 1 */
};

struct config {
	char *text;                /* the file, cut into pieces */
	struct config_item *item;  /* in the order of the file */
	size_t nr;
	unsigned bad_line;         /* the first that is not `key = value`, which is skipped; 0: none */
};

/* All keys there are, ended by NULL. */
extern const char *const config_keys[];
/* True for one of them. */
int config_known(const char *key);

/* The path of a file in grove's configuration directory. Returns 0, or -1 if there is no home. */
int config_path(const char *name, char *path, size_t size);

/* Reads the file; without one, there are no items. Returns 0, or -1 and a sentence in `why`. */
int config_read(struct config *c, char *why, size_t size);
void config_release(struct config *c);

/*
 * The value that counts: of the environment (serve.tls-key is GROVE_SERVE_TLS_KEY), or
 * of the file. NULL: there is none. `c` may be NULL, for the environment alone.
 */
const char *config_get(const struct config *c, const char *key);
/* The one in the file. */
const char *config_in_file(const struct config *c, const char *key);

/* Reads "true", "yes", "1", "false", "no" or "0". Returns 0, or -1 for anything else. */
int config_flag(const char *value, int *out);

/* From here on, local time is UTC. */
void config_live_in_utc(void);
/*
 * Makes the settings that the library takes from the environment hold there: `archive`,
 * and `utc`, unless the option --utc was given, which `utc` says. Call it before there
 * are threads. Returns 0, or -1 if utc is neither true nor false.
 */
int config_apply(const struct config *c, int utc);

/*
 * Changes the file: `key` gets this value where it stands, or at the end; NULL takes it
 * away. Comments and all other lines stay. The new file replaces the old one as a
 * whole. Returns 0; 1 if there was nothing to take away; or -1 and a sentence in `why`.
 */
int config_change(const char *key, const char *value, char *why, size_t size);

#endif
