/*
 * transfer/carry_files.c: what belongs to a session besides its own log.
 *
 * Names come from another machine. A valid name is below the session, has no part that
 * begins with a dot, and is not that of a log, because lines are stored one by one.
 */
#include "transfer/carry.h"

#include "session/blobs.h"
#include "store/jsonl.h"

#include <stdlib.h>

#define BLOBS "blobs/"

struct listing {
	grove_carry_part_fn *fn;
	void *payload;
};

static int list_one(void *payload, const char *name, uint64_t size, bool log)
{
	struct listing *l = payload;
	struct grove_carry_part p = { .name = name, .size = size, .is_log = log };
	char *bare;
	int rc;

	if (!grove__carry_name_ok(name))
		return 0;
	if (!log)
		return l->fn(l->payload, &p);
	bare = strndup(name, strlen(name) - strlen(".jsonl"));
	p.name = bare;
	rc = bare ? l->fn(l->payload, &p) : GROVE_ENOMEM;
	free(bare);
	return rc;
}

int grove__carry_each(struct grove_carry *c, grove_carry_part_fn *fn, void *payload,
		      struct grove_detail *d)
{
	struct grove_key key = { c->at.project, c->at.session, "" };
	struct listing l = { fn, payload };

	return c->there ? grove__beside_list(c->at.store, &key, list_one, &l, d) : 0;
}

/* Returns the hash in the name of a blob; NULL if it is an attachment. */
static const char *blob_hash(const char *name)
{
	const char *hash = name + sizeof(BLOBS) - 1;

	return !strncmp(name, BLOBS, sizeof(BLOBS) - 1) && grove__blob_hash_ok(grove__slice_str(hash)) ? hash : NULL;
}

static int check_name(const char *name, struct grove_detail *d)
{
	return grove__carry_name_ok(name) && !grove__jsonl_has_suffix(name)
		       ? 0 : grove__fail(d, GROVE_EINVAL, NULL, "not the name of a file: %.100s", name);
}

/* The agent's own blobs; NULL if it has none. */
static int open_blobs(struct grove_carry *c, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	int rc = 0;

	if (c->blobs || !c->at.dialect || !c->at.dialect->blobs)
		return 0;
	rc = c->at.dialect->blobs->dir(&c->g->env, &dir) ? grove__fail_nomem(d)
							  : grove__blobs_open(&c->blobs, dir.ptr, d);
	grove__buf_release(&dir);
	return rc;
}

static int blob_get(struct grove_carry *c, const char *hash, struct grove_buf *out, struct grove_detail *d)
{
	struct grove_session *s;
	struct grove__blob_source source;
	struct grove_buf ref = GROVE_BUF_INIT;
	int rc = open_blobs(c, d);

	if (!rc && c->blobs && grove__blob_has(c->blobs, hash, d) == 1)
		return grove__blob_get(c->blobs, hash, out, d);
	/* next to a copied tree, or among the attachments */
	if (!rc && c->there && c->at.dialect->blobs && !grove__carry_reader(c, NULL, &s, d)) {
		source = grove__session_blob_source(s);
		rc = grove__blob_ref(&ref, hash) ? GROVE_ENOMEM : source.get(source.payload, grove__buf_slice(&ref), out);
		grove__buf_release(&ref);
		if (!rc)
			return 0;
	}
	return rc && rc != GROVE_ENOTFOUND ? rc : grove__fail(d, GROVE_ENOTFOUND, NULL, "no blob %.64s", hash);
}

int grove__carry_file_get(struct grove_carry *c, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	struct grove_key key = { c->at.project, c->at.session, "" };
	const char *hash = blob_hash(name);
	int rc = check_name(name, d);

	if (rc)
		return rc;
	if (hash && !blob_get(c, hash, out, d))
		return 0;
	if (!c->there)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "there is no such session yet");
	return grove__store_attach_get(c->at.store, &key, name, out, d);
}

static int blob_put(struct grove_carry *c, const char *hash, struct grove_slice bytes, struct grove_detail *d)
{
	char is[GROVE__BLOB_HASH];
	int rc = grove__blob_hash(c->blobs, bytes, is, d);

	if (!rc && strcmp(is, hash))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "these bytes are not those of blob %.64s", hash);
	if (!rc && c->there)
		rc = grove__beside_note_blobs(c->blobs, c->at.store, d);
	return rc ? rc : grove__blob_put(c->blobs, bytes, GROVE_SYNC_ALWAYS, 0, is, NULL, d);
}

int grove__carry_file_put(struct grove_carry *c, const char *name, struct grove_slice bytes,
			  struct grove_detail *d)
{
	struct grove_key key = { c->at.project, c->at.session, "" };
	const char *hash = blob_hash(name);
	int rc = c->flags & GROVE_CARRY_WRITE
			 ? check_name(name, d)
			 : grove__fail(d, GROVE_EINVAL, NULL, "the session was opened for reading");

	if (!rc && hash)
		rc = open_blobs(c, d);
	if (rc)
		return rc;
	if (hash && c->blobs)
		return blob_put(c, hash, bytes, d);
	if (!c->there)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "an attachment needs a session that exists");
	return grove__store_attach_put(c->at.store, &key, name, bytes, d);
}
