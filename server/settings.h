/*
 * settings.h: how the server is to run: options before the environment before
 * the configuration file.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "programs/config.h"
#include "programs/opt.h"

#define DEFAULT_LISTEN "127.0.0.1:4517"

struct settings {
	struct opt_list stores;      /* empty: discovery */
	const char *dialect;
	struct opt_list listen;
	struct opt_list public_urls;
	const char *token_file;      /* NULL: none was named */
	const char *tls_cert, *tls_key;
	int read_only;
	int auth;                    /* a token is asked for on loopback, too */
	int open;                    /* show the viewer in the browser */
	const char *at;              /* and there, this page; NULL: the list */
	int quiet;                   /* no access log */
	int check_config;
	int no_cache;
	int utc;                     /* days are those of UTC where a request names no time zone */
	struct config file;          /* where the texts above lie */
};

/*
 * Fills in what the options left open from $XDG_CONFIG_HOME/grove/config. Returns
 * 0, or -1 and a sentence in `why`. An unknown key is reported on stderr.
 */
int settings_complete(struct settings *s, char *why, size_t size);
void settings_release(struct settings *s);

/* Where tokens are kept if nobody says otherwise. Returns 0, or -1 without a home. */
int settings_default_tokens(char *path, size_t size);

#endif
