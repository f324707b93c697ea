/*
 * tls.c: the server's certificate, which can be replaced at run time.
 *
 * libmicrohttpd asks for it at each handshake. Replaced certificates are kept until the
 * end, because a handshake may still be using one, and there are few.
 */
#include "tls.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>

#define CHAIN_MAX 16

struct pair {
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned nr;
	gnutls_privkey_t key;
	struct pair *older;
};

struct tls_files {
	const char *cert, *key;
	_Atomic(struct pair *) now;
};

/* The callback has no context argument, so there is one certificate per process. */
static struct tls_files *in_use;

static int retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int nr,
		    const gnutls_pk_algorithm_t *algorithms, int nr_algorithms, gnutls_pcert_st **chain,
		    unsigned *length, gnutls_privkey_t *key)
{
	struct pair *p = atomic_load(&in_use->now);

	(void)session;
	(void)authorities;
	(void)nr;
	(void)algorithms;
	(void)nr_algorithms;
	*chain = p->chain;
	*length = p->nr;
	*key = p->key;
	return 0;
}

static void pair_free(struct pair *p)
{
	for (unsigned i = 0; i < p->nr; i++)
		gnutls_pcert_deinit(&p->chain[i]);
	if (p->key)
		gnutls_privkey_deinit(p->key);
	free(p);
}

static int load(struct pair *p, const char *cert, const char *key)
{
	gnutls_datum_t text = { NULL, 0 };
	int rc = gnutls_load_file(cert, &text);

	p->nr = CHAIN_MAX;
	if (!rc)
		rc = gnutls_pcert_list_import_x509_raw(p->chain, &p->nr, &text, GNUTLS_X509_FMT_PEM, 0);
	if (rc)
		p->nr = 0;
	gnutls_free(text.data);
	if (!rc)
		rc = gnutls_load_file(key, &text);
	if (!rc)
		rc = gnutls_privkey_init(&p->key);
	if (!rc) {
		rc = gnutls_privkey_import_x509_raw(p->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
		gnutls_free(text.data);
	}
	return rc;
}

int tls_reload(struct tls_files *t, char *why, size_t size)
{
	struct pair *p;
	int rc;

	if (!t)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	rc = load(p, t->cert, t->key);
	if (rc) {
		snprintf(why, size, "%.200s, %.200s: %s", t->cert, t->key, gnutls_strerror(rc));
		pair_free(p);
		return -1;
	}
	p->older = atomic_load(&t->now);
	atomic_store(&t->now, p);
	return 0;
}

int tls_open(const char *cert, const char *key, struct tls_files **out, char *why, size_t size)
{
	struct tls_files *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	t->cert = cert;
	t->key = key;
	if (tls_reload(t, why, size)) {
		free(t);
		return -1;
	}
	in_use = t;
	*out = t;
	return 0;
}

void tls_close(struct tls_files *t)
{
	struct pair *p, *older;

	if (!t)
		return;
	for (p = atomic_load(&t->now); p; p = older) {
		older = p->older;
		pair_free(p);
	}
	free(t);
}

void tls_options(struct tls_files *t, struct MHD_OptionItem *out)
{
	union { gnutls_certificate_retrieve_function2 *fn; void *ptr; } call = { retrieve };

	(void)t;
	out[0] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, call.ptr };
	out[1] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
}
