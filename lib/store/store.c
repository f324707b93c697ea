/*
 * store/store.c: the only way to a store: which kinds there are, defaults, hand-over.
 */
#include "store/store.h"

#include <string.h>

static const struct {
	const char *scheme;
	int (*open)(struct grove_store **out, const char *rest, struct grove_detail *d);
} schemes[] = {
	{ "file:", grove__store_jsonl_open },
	{ "memory:", grove__store_memory_open },
	{ "sqlite:", grove__store_sqlite_open },
	{ "mysql:", grove__store_mysql_open },
};

/* "name:" at the start of a URL, as opposed to a path with a colon in it. */
static bool has_scheme(const char *url)
{
	const char *p = url;

	while ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9'))
		p++;
	return p > url + 1 && *p == ':';
}

int grove__store_open(struct grove_store **out, const char *url, struct grove_detail *d)
{
	*out = NULL;
	if (!*url)
		return grove__fail(d, GROVE_EINVAL, NULL, "empty store URL");
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t n = strlen(schemes[i].scheme);

		if (!strncmp(url, schemes[i].scheme, n))
			return schemes[i].open(out, url + n, d);
	}
	if (has_scheme(url))
		return grove__fail(d, GROVE_EINVAL, NULL,
				   "unknown kind of store (use file:DIR, sqlite:PATH, mysql://… or memory:)");
	return grove__store_jsonl_open(out, url, d);
}

int grove__store_init(const char *url, struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_open(&st, url, d);

	if (!rc && st->ops->init)
		rc = st->ops->init(st, d);
	grove__store_close(st);
	return rc;
}

int grove__store_upgrade(const char *url, unsigned *from, unsigned *to, struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_open(&st, url, d);

	*from = *to = 0;
	if (!rc && st->ops->upgrade)
		rc = st->ops->upgrade(st, from, to, d);
	grove__store_close(st);
	return rc;
}

void grove__store_close(struct grove_store *st)
{
	if (st)
		st->ops->close(st);
}

int grove__store_cannot(struct grove_detail *d, const struct grove_store_ops *ops, const char *what)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL, "a %s store cannot %s", ops->name, what);
}

int grove__store_list(struct grove_store *st, const char *project, grove_key_fn *fn,
		      void *payload, struct grove_detail *d)
{
	return st->ops->list(st, project, fn, payload, d);
}

int grove__store_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
			   void *payload, struct grove_detail *d)
{
	return st->ops->version >= 2 && st->ops->list_subs
		       ? st->ops->list_subs(st, project, fn, payload, d)
		       : 0;
}

int grove__store_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	return st->ops->remove ? st->ops->remove(st, key, d) : grove__store_cannot(d, st->ops, "remove");
}

int grove__store_rename(struct grove_store *st, const struct grove_key *from,
			const struct grove_key *to, struct grove_detail *d)
{
	return st->ops->rename ? st->ops->rename(st, from, to, d) : grove__store_cannot(d, st->ops, "rename");
}

bool grove__store_name_ok(const char *name)
{
	const char *p = name;

	if (!*p)
		return false;
	for (;;) {
		size_t n = strcspn(p, "/");

		if (!n || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (!p[n])
			return true;
		p += n + 1;
	}
}

static int bad_name(struct grove_detail *d, const char *name)
{
	return grove__fail(d, GROVE_EINVAL, NULL, "not a name for an attachment: %.200s", name);
}

int grove__store_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d)
{
	if (!grove__store_name_ok(name))
		return bad_name(d, name);
	return st->ops->attach_put ? st->ops->attach_put(st, key, name, bytes, d)
				   : grove__store_cannot(d, st->ops, "keep attachments");
}

int grove__store_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d)
{
	if (!grove__store_name_ok(name))
		return bad_name(d, name);
	return st->ops->attach_get ? st->ops->attach_get(st, key, name, out, d)
				   : grove__store_cannot(d, st->ops, "keep attachments");
}

int grove__store_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	/* a store without attachments has none: that is an answer */
	return st->ops->attach_list ? st->ops->attach_list(st, key, fn, payload, d) : 0;
}

int grove__store_describe(struct grove_store *st, const struct grove_key *key, struct grove_buf *out)
{
	return st->ops->describe ? st->ops->describe(st, key, out) : 0;
}

enum grove_change_kind grove__store_value_kind(const char *name)
{
	if (!strcmp(name, "leaf"))
		return GROVE_CHANGE_LEAF;
	if (!strcmp(name, "name"))
		return GROVE_CHANGE_NAME;
	/* how the bytes end and how they are read says nothing new about the session */
	if (!strcmp(name, GROVE__META_UNFINISHED) || !strcmp(name, "dialect") ||
	    !strcmp(name, GROVE__META_CWD) || !strcmp(name, GROVE__META_TIME))
		return (enum grove_change_kind)0;
	return GROVE_CHANGE_VALUE;
}
