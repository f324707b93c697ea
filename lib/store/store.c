/*
 * store/store.c: the only way to call a store: the kinds of stores, and defaults for
 * slots.
 *
 * Nobody else calls the slots of <grove/sys.h>: grove__store_...() is for a store,
 * grove__log_...() (log.c) for an open log. So two things are decided only here. One is
 * the meaning of a missing slot: it cannot be done (GROVE_ENOTSUP), there is nothing (a
 * listing), or it is done another way. The other is what stores need not check:
 * attachment names that leave their session, lines with a newline in them, output
 * structs that are not zeroed.
 *
 * The kind of store is looked up by the scheme of the URL in two tables: grove's own,
 * which cannot be overridden, and then the types that the host brought for this
 * environment. A URL without a scheme is a directory of files.
 *
 * A host's table of slots is checked once, when its store is opened. Its version says
 * how many slots it has: slots are only ever added at the end. All existing slots are
 * in version 1; a later one must not be called without checking the version.
 */
#include "store/store.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct scheme {
	const char *scheme;
	int (*open)(struct grove_store **out, const char *rest, struct grove_detail *d);
	struct grove__store_traits traits;
} schemes[] = {
	{ "file:", grove__store_jsonl_open, { .kind = "file", .paths = true, .shared = true, .on_disk = true } },
	{ "memory:", grove__store_memory_open, { .kind = "memory", .columns = true, .values = true } },
	{ "sqlite:", grove__store_sqlite_open,
	  { .kind = "sqlite", .columns = true, .values = true, .shared = true, .on_disk = true } },
	{ "mysql:", grove__store_mysql_open, { .kind = "mysql", .columns = true, .values = true, .shared = true } },
};
#define NR_SCHEMES (sizeof(schemes) / sizeof(*schemes))

/* Returns NULL if it is none of ours. */
static const struct scheme *scheme_of(const char *url)
{
	for (size_t i = 0; i < NR_SCHEMES; i++)
		if (!strncmp(url, schemes[i].scheme, strlen(schemes[i].scheme)))
			return &schemes[i];
	return NULL;
}

/*
 * True for "name:" at the start of a URL, as opposed to a path with a colon in it. A
 * name that no scheme of ours has, "MySQL" or "mysql+ssl", counts if "//" follows.
 */
static bool has_scheme(const char *url)
{
	const char *p = url;

	while ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9'))
		p++;
	if (p > url + 1 && *p == ':')
		return true;
	while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
	       (*p && strchr("+-.", *p)))
		p++;
	return p > url && !strncmp(p, "://", 3);
}

/* ----------------------------------------------- kinds that a host brings */

static bool scheme_ok(const char *scheme)
{
	const char *p = scheme;

	while ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9'))
		p++;
	if (p < scheme + 2 || *p)
		return false;
	for (size_t i = 0; i < NR_SCHEMES; i++)
		if (!strncmp(schemes[i].scheme, scheme, strlen(scheme)) &&
		    schemes[i].scheme[strlen(scheme)] == ':')
			return false;
	return true;
}

static int take_type(struct grove_store_type *out, const void *given, size_t size,
		     struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	memcpy(out, given, size < sizeof(*out) ? size : sizeof(*out));
	if (!out->scheme || !scheme_ok(out->scheme))
		return grove__fail(d, GROVE_EINVAL, NULL, "not a scheme for a store: %.60s",
				   out->scheme ? out->scheme : "(none)");
	return out->open ? 0 : grove__fail(d, GROVE_EINVAL, NULL, "a type of store needs a function that opens it");
}

int grove__store_types_take(struct grove__store_types *t, const struct grove_store_type *list,
			    size_t nr, struct grove_detail *d)
{
	/* the caller's struct may be of an older version, so use its size as the stride */
	size_t size = nr ? list->size : 0;
	int rc = 0;

	memset(t, 0, sizeof(*t));
	if (!nr)
		return 0;
	if (size < offsetof(struct grove_store_type, payload) + sizeof(list->payload))
		return grove__fail(d, GROVE_EINVAL, NULL, "the size of a type of store is not set");
	t->list = calloc(nr, sizeof(*t->list));
	if (!t->list)
		return grove__fail_nomem(d);
	for (; t->nr < nr && !rc; t->nr++)
		rc = take_type(&t->list[t->nr], (const char *)list + t->nr * size, size, d);
	return rc;
}

void grove__store_types_release(struct grove__store_types *t)
{
	free(t->list);
	memset(t, 0, sizeof(*t));
}

/* Checks that the library can work with that table. */
static int check_ops(const struct grove_store_ops *o, const char *scheme, struct grove_detail *d)
{
	if (o && o->version >= 1 && o->name && o->open && o->close_log && o->stat && o->read &&
	    o->fetch && o->append && o->list && o->close)
		return 0;
	return grove__fail(d, GROVE_EINVAL, NULL, "the %.60s store lacks slots that every store has",
			   scheme);
}

static int open_type(const struct grove_store_type *t, struct grove_store **out, const char *url,
		     struct grove_detail *d)
{
	int rc;

	grove__fail_clear(d);
	rc = t->open(t->payload, url, out, d);
	if (!rc)
		rc = *out && (*out)->url ? check_ops((*out)->ops, t->scheme, d)
			  : grove__fail(d, GROVE_EINVAL, NULL, "the %.60s store opened nothing", t->scheme);
	else if (d && d->code != rc)
		grove__fail(d, rc, NULL, "the %.60s store cannot be opened", t->scheme);
	if (rc)
		*out = NULL;
	return rc;
}

/* -------------------------------------------------------------- open, close */

int grove__store_open_of(const struct grove__store_types *types, struct grove_store **out,
			 const char *url, struct grove_detail *d)
{
	const struct scheme *own = scheme_of(url);

	*out = NULL;
	if (!*url)
		return grove__fail(d, GROVE_EINVAL, NULL, "empty store URL");
	if (own)
		return own->open(out, url + strlen(own->scheme), d);
	for (size_t i = 0; types && i < types->nr; i++) {
		size_t n = strlen(types->list[i].scheme);

		if (!strncmp(url, types->list[i].scheme, n) && url[n] == ':')
			return open_type(&types->list[i], out, url, d);
	}
	if (has_scheme(url))
		return grove__fail(d, GROVE_EINVAL, NULL,
				   "unknown kind of store (use file:DIR, sqlite:PATH, mysql://… or memory:)");
	return grove__store_jsonl_open(out, url, d);
}

int grove__store_open(struct grove_store **out, const char *url, struct grove_detail *d)
{
	return grove__store_open_of(NULL, out, url, d);
}

int grove__store_init(const struct grove__store_types *types, const char *url,
		      struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_open_of(types, &st, url, d);

	if (!rc && st->ops->init)
		rc = st->ops->init(st, d);
	grove__store_close(st);
	return rc;
}

int grove__store_upgrade(const struct grove__store_types *types, const char *url, unsigned *from,
			 unsigned *to, struct grove_detail *d)
{
	struct grove_store *st;
	int rc = grove__store_open_of(types, &st, url, d);

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

/* Passes on what has a name already. */
struct showing {
	grove_key_fn *key;
	grove_survey_fn *survey;
	void *payload;
};

static int show(void *payload, const struct grove_key *key)
{
	struct showing *s = payload;

	return grove__aside_hidden(key) ? 0 : s->key(s->payload, key);
}

static int show_surveyed(void *payload, const struct grove_key *key, const struct grove_store_log_stat *st)
{
	struct showing *s = payload;

	return grove__aside_hidden(key) ? 0 : s->survey(s->payload, key, st);
}

int grove__store_list(struct grove_store *st, const char *project, grove_key_fn *fn,
		      void *payload, struct grove_detail *d)
{
	struct showing s = { .key = fn, .payload = payload };

	return st->ops->list(st, project, 0, show, &s, d);
}

int grove__store_list_subs(struct grove_store *st, const char *project, grove_key_fn *fn,
			   void *payload, struct grove_detail *d)
{
	struct showing s = { .key = fn, .payload = payload };

	/* what belongs to a session that is being made is copied with it */
	return project ? st->ops->list(st, project, 1, fn, payload, d)
		       : st->ops->list(st, project, 1, show, &s, d);
}

/* For stores without a survey of their own: the logs one by one. */
struct survey {
	struct grove_store *st;
	grove_survey_fn *fn;
	void *payload;
	struct grove_detail *d;
};

static int ask_one(void *payload, const struct grove_key *key)
{
	struct survey *s = payload;
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, s->st, key, GROVE_STORE_READ, s->d);

	if (!rc) {
		rc = grove__log_stat(log, &st, s->d);
		grove__log_close(log);
	}
	/* it went while we looked */
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE)
		return 0;
	return rc ? rc : s->fn(s->payload, key, &st);
}

bool grove__store_has_survey(const struct grove_store *st)
{
	return st->ops->survey;
}

int grove__store_survey(struct grove_store *st, grove_survey_fn *fn, void *payload,
			struct grove_detail *d)
{
	struct survey s = { st, fn, payload, d };
	struct showing shown = { .survey = fn, .payload = payload };
	int rc;

	if (st->ops->survey)
		return st->ops->survey(st, show_surveyed, &shown, d);
	rc = grove__store_list(st, NULL, ask_one, &s, d);
	return rc ? rc : grove__store_list_subs(st, NULL, ask_one, &s, d);
}

struct grove__store_traits grove__store_traits(const struct grove_store *st)
{
	const struct scheme *own = scheme_of(st->url);

	return own ? own->traits
		   : (struct grove__store_traits){ .kind = st->ops->name, .columns = true, .values = true, .shared = true };
}

const char *grove__store_path(const char *url, struct grove__store_traits *t)
{
	const struct scheme *own = scheme_of(url);

	if (t)
		*t = own ? own->traits : (struct grove__store_traits){ 0 };
	return own && own->traits.on_disk ? url + strlen(own->scheme) : NULL;
}

const char *grove__store_dir(const char *url)
{
	struct grove__store_traits t;
	const char *path = grove__store_path(url, &t);

	return t.paths ? path : NULL;
}

bool grove__store_is_here(const struct grove_store *st)
{
	struct grove__store_traits t = grove__store_traits(st);

	return t.on_disk || !t.shared;
}

const char *grove__store_file(const struct grove_store *st)
{
	struct grove__store_traits t;
	const char *path = grove__store_path(st->url, &t);

	return t.paths ? NULL : path;
}

int grove__store_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	int rc = st->ops->remove ? st->ops->remove(st, key, d) : grove__store_cannot(d, st->ops, "remove");

	if (!rc && !*key->subpath)
		grove__store_tidy(st, key, true, NULL, NULL, NULL);
	return rc;
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
	/* a store without this slot has no attachments, which is a valid answer */
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
	/* how the bytes end and how they are read is not a change of the session */
	if (!strcmp(name, GROVE__META_UNFINISHED) || !strcmp(name, "dialect") ||
	    !strcmp(name, GROVE__META_CWD) || !strcmp(name, GROVE__META_TIME) ||
	    !strcmp(name, GROVE__META_KEY))
		return (enum grove_change_kind)0;
	return GROVE_CHANGE_VALUE;
}
