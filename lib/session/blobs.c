/*
 * session/blobs.c: the blobs that lines refer to.
 *
 * A session's blobs are where its agent stores them. A tree that was copied somewhere
 * else may have its own, so for reading, the directory next to its sessions is searched
 * as well.
 */
#include "session/blobs.h"

#include "blob/blob.h"

#include <stdlib.h>

static int open_at(struct grove__blobs **out, struct grove_buf *dir, struct grove_detail *d)
{
	int rc = grove__blobs_open(out, dir->ptr, d);

	grove__buf_release(dir);
	return rc;
}

/* Opens the blobs next to a tree: DIR/sessions/PROJECT/NAME.jsonl has DIR/blobs. */
static int open_beside(struct grove_session *s, struct grove__blobs **out, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	const char *up = s->dir ? strrchr(s->dir, '/') : NULL;

	if (!up || up == s->dir)
		return 0;
	if (grove__buf_add(&dir, s->dir, (size_t)(up - s->dir)) || grove__buf_add_str(&dir, "/../blobs")) {
		grove__buf_release(&dir);
		return grove__fail_nomem(d);
	}
	return open_at(out, &dir, d);
}

/* Opens both or none, so that a retry after a failure does not miss one of them. */
static int open_both(struct grove_session *s, struct grove_detail *d)
{
	struct grove__blobs *own = NULL, *beside = NULL;
	struct grove_buf dir = GROVE_BUF_INIT;
	int rc = s->at.dialect->blobs->dir(&s->g->env, &dir) ? grove__fail_nomem(d)
							    : open_at(&own, &dir, d);

	grove__buf_release(&dir);
	if (!rc)
		rc = open_beside(s, &beside, d);
	if (rc) {
		grove__blobs_close(own);
		return rc;
	}
	s->blobs.own = own;
	s->blobs.beside = beside;
	return 0;
}

int grove__session_blobs(struct grove_session *s, struct grove__blobs **out, struct grove_detail *d)
{
	int rc = 0;

	*out = NULL;
	if (!s->at.dialect)
		return grove__fail(d, GROVE_EINVAL, NULL, "the session is not open");
	pthread_mutex_lock(&s->blobs.lock);
	if (!s->blobs.own && s->at.dialect->blobs)
		rc = open_both(s, d);
	pthread_mutex_unlock(&s->blobs.lock);
	*out = s->blobs.own;
	return rc;
}

void grove__session_close_blobs(struct grove_session *s)
{
	grove__blobs_close(s->blobs.own);
	grove__blobs_close(s->blobs.beside);
}

/*
 * A session in an archive has its blobs as attachments; their bytes are verified like
 * any blob's.
 */
static int from_archive(struct grove_session *s, struct grove__blobs *b, const char *hash,
			struct grove_buf *bytes)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	struct grove_buf name = GROVE_BUF_INIT, have = GROVE_BUF_INIT;
	char is[GROVE__BLOB_HASH];
	int rc = !b || s->deferral.store ? GROVE_ENOTFOUND : grove__buf_addf(&name, "blobs/%s", hash);

	if (!rc)
		rc = grove__store_attach_get(s->at.store, &key, name.ptr, &have, NULL);
	if (!rc)
		rc = grove__blob_hash(b, grove__buf_slice(&have), is, NULL);
	if (!rc)
		rc = strcmp(is, hash) ? GROVE_EDAMAGED
				      : grove__buf_add_slice(bytes, grove__buf_slice(&have));
	grove__buf_release(&name);
	grove__buf_release(&have);
	return rc;
}

/* There, or a lack of memory, which does not say that it is missing; else another place may have it. */
static bool is_decided(int rc)
{
	return !rc || rc == GROVE_ENOMEM;
}

/* A missing blob costs a picture, not the conversation. */
static int get_blob(void *payload, struct grove_slice ref, struct grove_buf *bytes)
{
	struct grove_session *s = payload;
	struct grove_detail d, other;
	char hash[GROVE__BLOB_HASH];
	struct grove__blobs *b;
	int rc, elsewhere;

	grove__fail_clear(&d);
	if (!grove__blob_parse(ref, hash))
		return GROVE_EINVAL;
	rc = grove__session_blobs(s, &b, &d);
	if (!rc)
		rc = b ? grove__blob_get(b, hash, bytes, &d) : GROVE_ENOTFOUND;
	if (!is_decided(rc) && s->blobs.beside) {
		elsewhere = grove__blob_get(s->blobs.beside, hash, bytes, &other);
		rc = is_decided(elsewhere) ? elsewhere : rc;
	}
	if (!is_decided(rc)) {
		elsewhere = from_archive(s, b, hash, bytes);
		rc = is_decided(elsewhere) ? elsewhere : rc;
	}
	if (!is_decided(rc) && s->g->warn)
		s->g->warn(s->g->warn_payload, GROVE_SEVERITY_WARNING, &d);
	return rc;
}

struct grove__blob_source grove__session_blob_source(struct grove_session *s)
{
	return (struct grove__blob_source){ get_blob, s };
}

int grove__session_resolve(struct grove_session *s, struct grove_slice *value,
			   struct grove_buf *out, struct grove_detail *d)
{
	struct grove__blob_source source = grove__session_blob_source(s);
	int rc;

	if (!s->at.dialect->blobs)
		return 0;
	grove__buf_clear(out);
	rc = s->at.dialect->blobs->resolve(*value, &source, out);
	if (!rc)
		*value = grove__buf_slice(out);
	return rc < 0 ? grove__fail_nomem(d) : 0;
}

int grove__session_blobs_for(struct grove_session *s, struct grove__blobs **out,
			     struct grove_detail *d)
{
	int rc = grove__session_blobs(s, out, d);

	if (rc || !*out || s->blobs.note || !s->at.store || s->deferral.for_good)
		return rc;
	rc = grove__beside_note_blobs(*out, s->at.store, d);
	s->blobs.note = !rc;
	return rc;
}

static int put_blob(void *payload, struct grove_slice bytes, const char *ext, struct grove_buf *ref)
{
	struct grove__blob_sinking *w = payload;
	char hash[GROVE__BLOB_HASH];
	struct grove__blobs *b;
	int rc = grove__session_blobs_for(w->session, &b, w->d);

	/* on disk before any line refers to it */
	if (!rc)
		rc = grove__blob_put(b, bytes, GROVE_SYNC_ALWAYS, 0, hash, NULL, w->d);
	if (!rc && ext)
		rc = grove__blob_alias(b, hash, ext, w->d);
	if (!rc && grove__blob_ref(ref, hash))
		rc = grove__fail_nomem(w->d);
	return rc;
}

int grove__session_prepare(struct grove_session *s, struct grove_slice line, struct grove_buf *out,
			   struct grove_detail *d)
{
	const struct grove__dialect *dialect = s->at.dialect;
	struct grove__blob_sinking w = { s, d };
	struct grove__blob_sink sink = { put_blob, &w };
	int rc;

	if (!dialect->blobs)
		return 1;
	rc = dialect->blobs->prepare(line, &sink, out);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}
