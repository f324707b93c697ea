/*
 * tls.h: the server's certificate, which can be replaced at run time.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "server.h"

struct tls_files;

/* Reads certificate and key. Returns 0, or -1 and a message in `why`. */
int tls_open(const char *cert, const char *key, struct tls_files **out, char *why, size_t size);
/* Reads them again. Open connections keep the old ones. */
int tls_reload(struct tls_files *t, char *why, size_t size);
void tls_close(struct tls_files *t);
/* Sets libmicrohttpd's options; `out` has room for three. */
void tls_options(struct tls_files *t, struct MHD_OptionItem *out);

#endif
