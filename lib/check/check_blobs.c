/*
 * check/check_blobs.c: checks that the blobs that lines refer to exist and match their
 * names.
 *
 * Each is examined once, at its first reference.
 */
#include "check/check.h"

#include "base/array.h"
#include "blob/blob.h"
#include "session/blobs.h"
#include "sys/clock.h"

#include <stdlib.h>

#define DIGITS (GROVE__BLOB_HASH - 1)

struct grove__blobs_named {
	char (*hash)[GROVE__BLOB_HASH];
	size_t nr, cap;
	struct grove__idmap known;
	struct grove_buf prefix;   /* what comes before a hash */
	struct grove_buf bytes;
};

static struct grove_slice name_of(const void *owner, uint32_t i)
{
	const struct grove__blobs_named *n = owner;

	return grove__slice(n->hash[i], DIGITS);
}

struct grove__blobs_named *grove__blobs_named_new(void)
{
	struct grove__blobs_named *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	grove__idmap_init(&n->known, grove__sys_seed(), name_of, n);
	if (grove__blob_ref(&n->prefix, "")) {
		grove__blobs_named_free(n);
		return NULL;
	}
	return n;
}

void grove__blobs_named_free(struct grove__blobs_named *n)
{
	if (!n)
		return;
	grove__idmap_release(&n->known);
	grove__buf_release(&n->prefix);
	grove__buf_release(&n->bytes);
	free(n->hash);
	free(n);
}

/* Returns 1 if this is its first reference, 0 if not, or GROVE_ENOMEM. */
static int is_new(struct grove__blobs_named *n, const char *hash)
{
	struct grove_slice name = grove__slice(hash, DIGITS);
	uint32_t old;

	if (grove__idmap_get(&n->known, name) != GROVE__IDMAP_NONE)
		return 0;
	if (grove__array_room(&n->hash, &n->cap, n->nr, sizeof(*n->hash)))
		return GROVE_ENOMEM;
	memcpy(n->hash[n->nr], hash, GROVE__BLOB_HASH);
	n->nr++;
	return grove__idmap_put(&n->known, name, (uint32_t)n->nr - 1, &old) ? GROVE_ENOMEM : 1;
}

/* In an archive, blobs are attachments of their session. */
static int attached(struct grove__checker *c, struct grove__blobs *b, struct grove__blobs_named *n,
		    const char *hash)
{
	struct grove_key key = { c->s->at.project, c->s->at.session, "" };
	char name[GROVE__BLOB_HASH + 8] = "blobs/", is[GROVE__BLOB_HASH];
	struct grove_detail why;
	int rc;

	grove__fail_clear(&why);
	memcpy(name + 6, hash, GROVE__BLOB_HASH);
	grove__buf_clear(&n->bytes);
	rc = grove__store_attach_get(c->s->at.store, &key, name, &n->bytes, &why);
	if (!rc)
		rc = grove__blob_hash(b, grove__buf_slice(&n->bytes), is, &why);
	return rc ? rc : strcmp(is, hash) ? GROVE_EDAMAGED : 0;
}

/* Returns the best result of all places: 0, GROVE_EDAMAGED, or missing. */
static int look_in_all(struct grove__checker *c, struct grove__blobs_named *n, const char *hash)
{
	struct grove__blobs *b = NULL, *place[2];
	struct grove_detail why;
	int rc = grove__session_blobs(c->s, &b, c->d), best = GROVE_ENOTFOUND;

	if (rc)
		return rc;
	place[0] = b;
	place[1] = c->s->blobs.beside;
	for (int i = 0; i < 2 && best; i++) {
		if (!place[i])
			continue;
		grove__buf_clear(&n->bytes);
		grove__fail_clear(&why);
		rc = grove__blob_get(place[i], hash, &n->bytes, &why);
		if (rc == GROVE_ENOMEM)
			return grove__fail_nomem(c->d);
		if (!rc || rc == GROVE_EDAMAGED)
			best = rc;
	}
	if (best && b) {
		rc = attached(c, b, n, hash);
		if (!rc || rc == GROVE_EDAMAGED)
			best = rc;
	}
	return best;
}

/* A reference is a whole string; inside another string it is just text. */
static bool is_reference(const struct grove__blobs_named *n, const char *begin, const char *at,
			 const char *end)
{
	size_t len = n->prefix.len + DIGITS;

	return (size_t)(end - at) > len && at[len] == '"' && at > begin && at[-1] == '"';
}

int grove__blobs_named_feed(struct grove__blobs_named *n, struct grove__checker *c, uint32_t row,
			    struct grove_slice line)
{
	const char *at = line.ptr, *end = line.ptr + line.len;
	char hash[GROVE__BLOB_HASH];
	int rc;

	while ((at = memmem(at, (size_t)(end - at), n->prefix.ptr, n->prefix.len))) {
		bool is_ref = is_reference(n, line.ptr, at, end) &&
			      grove__blob_parse(grove__slice(at, n->prefix.len + DIGITS), hash);

		at += n->prefix.len;
		if (!is_ref)
			continue;
		rc = is_new(n, hash);
		if (rc < 0)
			return grove__fail_nomem(c->d);
		if (!rc)
			continue;
		rc = look_in_all(c, n, hash);
		if (rc && rc != GROVE_ENOTFOUND && rc != GROVE_EDAMAGED)
			return rc;
		if (rc)
			rc = grove__check_row(c, rc == GROVE_EDAMAGED ? WRONG_BLOB : MISSING_BLOB, row, 0,
					      hash);
		if (rc)
			return rc;
	}
	return 0;
}
