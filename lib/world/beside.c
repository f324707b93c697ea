/*
 * world/beside.c: what belongs to a session, besides its own log.
 *
 * Attachments, and logs of their own: the transcripts of sub-agents. Among
 * files both lie in one directory, and a list of attachments has them all; a
 * database tells them apart, and has a list for each.
 */
#include "world/world.h"

struct listing {
	const struct grove_key *key;
	bool files;                      /* logs are among the attachments */
	grove__beside_fn *fn;
	void *payload;
};

static bool is_log(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && !strcmp(name + n - 6, ".jsonl");
}

static int attached(void *payload, const char *name, uint64_t size)
{
	struct listing *l = payload;

	return l->fn(l->payload, name, size, l->files && is_log(name));
}

static int sub(void *payload, const struct grove_key *key)
{
	struct listing *l = payload;

	return strcmp(key->session, l->key->session) ? 0
						      : l->fn(l->payload, key->subpath, 0, true);
}

bool grove__beside_is_files(const struct grove_store *st)
{
	return st->url && !strncmp(st->url, "file:", 5);
}

int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct listing l = { key, grove__beside_is_files(st), fn, payload };
	int rc = grove__store_attach_list(st, key, attached, &l, d);

	if (!rc && !l.files)
		rc = grove__store_list_subs(st, key->project, sub, &l, d);
	return rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP ? 0 : rc;
}

struct copying {
	struct grove_store *from, *to;
	const struct grove_key *from_key, *to_key;
	struct grove_detail *d;
};

static int copy_one(void *payload, const char *name, uint64_t size)
{
	struct copying *c = payload;
	struct grove_buf bytes = GROVE_BUF_INIT;
	int rc = grove__store_attach_get(c->from, c->from_key, name, &bytes, c->d);

	(void)size;
	if (!rc)
		rc = grove__store_attach_put(c->to, c->to_key, name, grove__buf_slice(&bytes), c->d);
	grove__buf_release(&bytes);
	return rc;
}

int grove__beside_copy(struct grove_store *from, const struct grove_key *from_key,
			    struct grove_store *to, const struct grove_key *to_key,
			    struct grove_detail *d)
{
	struct copying c = { from, to, from_key, to_key, d };
	int rc = grove__store_attach_list(from, from_key, copy_one, &c, d);

	/* a store or a file that has no place for them has none */
	return rc == GROVE_ENOTSUP || rc == GROVE_ENOTFOUND ? 0 : rc;
}
