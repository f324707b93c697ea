/*
 * settings.h: the server's settings: options override the environment, which overrides the
 * configuration file.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "kit/config.h"
#include "kit/opt.h"

#define DEFAULT_LISTEN "127.0.0.1:4517"

struct settings {
	struct opt_list stores;      /* empty: use discovery */
	const char *dialect;
	struct opt_list listen;
	struct opt_list public_urls;
	struct opt_list proxies;     /* addresses whose X-Forwarded-For is believed, or "unix" */
	const char *token_file;      /* NULL if none was given */
	const char *tls_cert, *tls_key;
	int read_only;
	int auth;                    /* require a token on loopback, too */
	int open;                    /* open the viewer in the browser */
	const char *at;              /* the page to open; NULL for the list */
	int quiet;                   /* no access log */
	int check_config;
	int no_cache;
	int utc;                     /* use UTC days if a request names no time zone */
	struct config file;          /* owns the strings above */
	struct opt_list owned;       /* and these are its paths in full */
};

/*
 * Fills in what the options left open from $XDG_CONFIG_HOME/grove/config. Returns 0, or -1
 * and a message in `why`. Unknown keys are reported on stderr.
 */
int settings_complete(struct settings *s, char *why, size_t size);
void settings_release(struct settings *s);
/* Returns true if a proxy at this address is believed; "" is the other end of a unix socket. */
int settings_trust(const struct settings *s, const char *address);

/* The default token file. Returns 0, or -1 if there is no home directory. */
int settings_default_tokens(char *path, size_t size);

#endif
