/*
 * world/beside.c: what belongs to a session, besides its own log.
 *
 * Attachments, and logs of their own: the transcripts of sub-agents. Among
 * files both lie in one directory, and a list of attachments has them all; a
 * database tells them apart, and has a list for each.
 */
#include "transfer/archive.h"

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

bool grove__store_is_files(const struct grove_store *st)
{
	return st->url && !strncmp(st->url, "file:", 5);
}

int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct listing l = { key, grove__store_is_files(st), fn, payload };
	int rc = grove__store_attach_list(st, key, attached, &l, d);

	if (!rc && !l.files)
		rc = grove__store_list_subs(st, key->project, sub, &l, d);
	return rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP ? 0 : rc;
}
