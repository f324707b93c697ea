/*
 * logs/beside.c: what belongs to a session, besides its own log.
 *
 * These are attachments, and logs: the transcripts of sub-agents. For files, both are
 * in one directory, and a list of attachments includes them all; a database
 * distinguishes them, and has a list for each.
 */
#include "logs/beside.h"
#include "logs/logs.h"

#include "base/array.h"
#include "blob/blob.h"
#include "store/jsonl.h"

#include <stdlib.h>

struct found {
	char *name;
	uint64_t size;
	bool log;
};

struct listing {
	const struct grove_key *key;
	bool files;                      /* logs are among the attachments */
	struct found *at;
	size_t nr, cap;
	struct grove_detail *d;
};

static int add(struct listing *l, const char *name, uint64_t size, bool log)
{
	if (grove__array_room(&l->at, &l->cap, l->nr, sizeof(*l->at)) ||
	    !(l->at[l->nr].name = strdup(name)))
		return grove__fail_nomem(l->d);
	l->at[l->nr].size = size;
	l->at[l->nr++].log = log;
	return 0;
}

static int attached(void *payload, const char *name, uint64_t size)
{
	struct listing *l = payload;

	return add(l, name, size, l->files && grove__jsonl_has_suffix(name));
}

static int sub(void *payload, struct grove__root *root, const struct grove_key *key,
	       const struct grove_store_log_stat *st)
{
	struct listing *l = payload;

	(void)root;
	(void)st;
	return strcmp(key->session, l->key->session) ? 0 : add(l, key->subpath, 0, true);
}

int grove__beside_note_blobs(struct grove__blobs *b, const struct grove_store *st, struct grove_detail *d)
{
	struct grove__store_traits t = grove__store_traits(st);

	return t.shared && !t.paths ? grove__blobs_note(b, st->url, d) : 0;
}

int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct listing l = { .key = key, .files = grove__store_traits(st).paths, .d = d };
	struct grove__root root = { .store = st };
	struct grove__logs_which logs = { .only = &root, .project = key->project, .copies = true, .subs = LOGS_ONLY_SUBS };
	int rc = grove__store_attach_list(st, key, attached, &l, d);

	if (!rc && !l.files)
		rc = grove__logs_walk(NULL, &logs, sub, &l, d);
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP)
		rc = 0;
	for (size_t i = 0; i < l.nr && !rc; i++)
		rc = fn(payload, l.at[i].name, l.at[i].size, l.at[i].log);
	while (l.nr)
		free(l.at[--l.nr].name);
	free(l.at);
	return rc;
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

	/* a store or a file without room for any has none */
	return rc == GROVE_ENOTSUP || rc == GROVE_ENOTFOUND ? 0 : rc;
}
