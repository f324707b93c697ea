/*
 * about.c: routes about the server itself: health, identity, sign-in; and blobs.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdlib.h>
#include <string.h>

int get_health(struct request *r)
{
	doc_puts(&r->out, "{\"status\":\"ok\"}");
	return 0;
}

/* ----------------------------------------------------------------------- me */

/* How to resume a session with this agent. */
static int put_agent(void *payload, const struct grove_agent *a)
{
	struct doc *d = payload;

	doc_open(d, '{');
	doc_member(d, "agent", a->name);
	doc_member(d, "resume", a->resume);
	doc_close(d, '}');
	return 0;
}

static void put_scopes(struct doc *d, const struct identity *who)
{
	doc_name(d, "scopes");
	doc_open(d, '[');
	doc_string(d, "read");
	if (who->scope >= SCOPE_WRITE)
		doc_string(d, "write");
	doc_close(d, ']');
}

/* Lists each store once, in the order of discovery. */
struct stores {
	struct request *r;
	const char *seen[STORES_MAX];
	size_t nr;
};

static void put_store(struct stores *all, const char *store, int can_change)
{
	struct doc *d = &all->r->out;

	for (size_t i = 0; i < all->nr; i++)
		if (!strcmp(all->seen[i], store))
			return;
	if (all->nr == STORES_MAX)
		return;
	all->seen[all->nr++] = store;
	doc_open(d, '{');
	doc_member(d, "store", store);
	doc_member(d, "provider", store_provider(store));
	doc_member_bool(d, "writable", can_change && all->r->who.scope >= SCOPE_WRITE);
	doc_close(d, '}');
}

static int put_each_store(void *payload, const struct grove_store_about *s)
{
	put_store(payload, s->url, !is_archive(s));
	return 0;
}

/* A limited token sees only stores that hold a session within its limits. */
static int put_stores(struct request *r)
{
	struct stores all = { .r = r };
	struct grove_list *l = NULL;
	int rc = 0;

	doc_name(&r->out, "stores");
	doc_open(&r->out, '[');
	if (!auth_limited(&r->who)) {
		rc = grove_store_each(r->g, put_each_store, &all);
	} else {
		rc = list_all(r->g, &l);
		for (size_t i = 0; !rc && i < grove_list_count(l); i++)
			if (auth_allows(&r->who, grove_list_at(l, i)->store, grove_list_at(l, i)->cwd))
				put_store(&all, grove_list_at(l, i)->store, !grove_list_at(l, i)->archived);
	}
	doc_close(&r->out, ']');
	grove_list_free(l);
	return rc ? reply_fail_grove(r, rc) : 0;
}

int get_me(struct request *r)
{
	struct doc *d = &r->out;
	int rc;

	doc_open(d, '{');
	doc_member(d, "version", grove_version());
	doc_member(d, "name", r->who.name);
	put_scopes(d, &r->who);
	doc_member_bool(d, "readOnly", r->server->set->read_only);
	rc = put_stores(r);
	doc_name(d, "agents");
	doc_open(d, '[');
	grove_agent_each(r->g, put_agent, d);
	doc_close(d, ']');
	doc_name(d, "limits");
	doc_open(d, '{');
	doc_member_number(d, "page", PAGE_BYTES);
	doc_member_number(d, "text", TEXT_BYTES);
	doc_member_number(d, "ids", IDS_MAX);
	doc_member_number(d, "body", BODY_MAX);
	doc_puts(d, "}}");
	return rc;
}

/* --------------------------------------------------------------------- auth */

int post_exchange(struct request *r)
{
	struct grove_slice object;
	char *code = NULL, cookie[256];
	unsigned status;
	int rc = body_object(r, &object);

	if (!rc)
		rc = body_text(r, object, "code", &code);
	if (!rc && !code)
		rc = reply_fail(r, GROVE_EINVAL, "code is missing");
	if (!rc) {
		status = auth_exchange(r, code, cookie, sizeof(cookie));
		if (status)
			rc = reply_fail_status(r, status, status == 500 ? GROVE_EIO : GROVE_EACCESS,
					       status == 429 ? "too many wrong codes or tokens; wait a minute" :
					       "this code is invalid or has expired, and is no token");
		else
			reply_header(r, "Set-Cookie", "%s", cookie);
	}
	free(code);
	return rc;
}

int post_logout(struct request *r)
{
	char cookie[256];

	auth_logout(r, cookie, sizeof(cookie));
	reply_header(r, "Set-Cookie", "%s", cookie);
	return 0;
}

/* -------------------------------------------------------------------- blobs */

int get_blob(struct request *r)
{
	struct grove_blobs *b = NULL;
	const char *hash = r->capture[0];
	int rc;

	/*
	 * Blobs are shared between sessions, so there is no way to check a limited token's
	 * rights.
	 */
	if (auth_limited(&r->who))
		return reply_fail(r, GROVE_EACCESS, "this token is limited to some sessions");
	if (strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64)
		return reply_fail(r, GROVE_EINVAL, "a blob is named by 64 hexadecimal digits");
	rc = grove_blobs_open(r->g, NULL, &b);
	if (!rc && !reply_etag(r, "%s", hash))
		rc = grove_blobs_get(b, hash, &r->out.buf);
	if (rc && b)
		grove_blobs_error(b, &r->detail);
	grove_blobs_close(b);
	if (rc)
		return rc;
	r->type = grove_media_type(grove_buf_slice(&r->out.buf));
	r->type = is_shown_image(r->type) ? r->type : "application/octet-stream";
	r->csp = CSP_SANDBOX;
	r->cache = "private, max-age=31536000, immutable";
	return 0;
}
