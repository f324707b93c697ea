/*
 * config.h: the configuration file, $XDG_CONFIG_HOME/grove/config.
 *
 *	# a comment
 *	store = sqlite:/home/me/sessions.db
 *	serve.listen = 127.0.0.1:4517
 *
 * If a key occurs several times the last value counts, except for keys of which a program
 * uses all values (store, serve.listen, serve.public-url, serve.trusted-proxy).
 */
#ifndef PROGRAMS_CONFIG_H
#define PROGRAMS_CONFIG_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

struct config_item {
	const char *key, *value;
	unsigned line;             /* from 1 */
};

struct config {
	char *text;                /* the file, cut into pieces */
	struct config_item *item;  /* in the order of the file */
	size_t nr;
	unsigned bad_line;         /* the first line that is not `key = value`, which is skipped;
	                              0 if none */
};

/* All known keys, ending with NULL. */
extern const char *const config_keys[];
/* Returns true for one of them. */
int config_known(const char *key);

/* The path of a file in grove's configuration directory. Returns 0, or -1 if there is no home. */
int config_path(const char *name, char *path, size_t size);

/*
 * Locks a file that is changed by replacing it: others who want to change it wait until the
 * returned descriptor is closed. With `create` it is made if it does not exist. Returns -1 if
 * there is none, or it cannot be locked.
 */
int config_lock(const char *path, int create);

/*
 * Replaces a file: write the new one to `f`, then end it. It gets the place, owner and mode of
 * the old one; of a link, the file that it leads to is replaced. With `keep` 0 nothing
 * changes. Both return 0, or -1 with errno.
 */
struct config_replacement {
	FILE *f;
	char path[PATH_MAX], temp[PATH_MAX + 16];
};
int config_replace_begin(struct config_replacement *r, const char *path);
int config_replace_end(struct config_replacement *r, int keep);

/* Reads the file; without one, there are no items. Returns 0, or -1 and a message in `why`. */
int config_read(struct config *c, char *why, size_t size);
void config_release(struct config *c);

/*
 * Returns the value in force: from the environment (serve.tls-key is GROVE_SERVE_TLS_KEY),
 * or from the file, or NULL. `c` may be NULL to ask only the environment.
 */
const char *config_get(const struct config *c, const char *key);
/* Returns the value in the file. */
const char *config_in_file(const struct config *c, const char *key);

/* Reads "true", "yes", "1", "false", "no" or "0". Returns 0, or -1 for anything else. */
int config_flag(const char *value, int *out);

/* Makes local time UTC from now on. */
void config_live_in_utc(void);
/*
 * Puts settings that the library reads from the environment there: `archive`, and `utc`
 * unless the option --utc was given (`utc`). Call it before there are threads. Returns 0,
 * or -1 if utc is neither true nor false.
 */
int config_apply(const struct config *c, int utc);

/*
 * Changes the file: sets `key` where it is, or at the end; NULL removes it. Comments and
 * all other lines stay. The file is replaced atomically. Returns 0; 1 if there was nothing
 * to remove; or -1 and a message in `why`.
 */
int config_change(const char *key, const char *value, char *why, size_t size);

#endif
