/*
 * transfer/archive_files.c: what belongs to a session, besides lines.
 *
 * Attachments, files that its agent stores for it in other places, and the blobs that
 * its lines refer to: all of them become attachments in the archive. One that already
 * exists is compared. If it only grew, it is replaced; otherwise the old one is first
 * copied to .older.
 */
#include "transfer/archive.h"

#include "base/array.h"
#include "blob/blob.h"
#include "store/jsonl.h"
#include "sys/file.h"

#include <errno.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)1 << 30)
#define DEPTH_MAX 32
#define BLOBS "blobs/"
#define DIGITS 64

/* --- known names --- */

/* Returns its index among those that exist, or where it would be. */
static size_t place_of_name(const struct grove__archiver *k, const char *name, bool *found)
{
	size_t lo = 0, hi = k->nr_there;

	*found = false;
	while (lo < hi && !*found) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(k->there[mid].name, name);

		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
		if (!c) {
			lo = mid;
			*found = true;
		}
	}
	return lo;
}

static int remember(struct grove__archiver *k, const char *name, uint64_t size)
{
	bool found;
	size_t at = place_of_name(k, name, &found);
	char *copy;

	if (found) {
		k->there[at].size = size;
		return 0;
	}
	copy = strdup(name);
	if (!copy ||
	    grove__array_room(&k->there, &k->cap_there, k->nr_there, sizeof(*k->there))) {
		free(copy);
		return grove__fail_nomem(k->d);
	}
	memmove(&k->there[at + 1], &k->there[at], (k->nr_there - at) * sizeof(*k->there));
	k->there[at] = (struct grove__kept_name){ copy, size };
	k->nr_there++;
	return 0;
}

static int is_there(void *payload, const char *name, uint64_t size)
{
	return remember(payload, name, size);
}

int grove__archive_look(struct grove__archiver *k)
{
	int rc = grove__store_attach_list(k->to, &k->to_key, is_there, k, k->d);

	return rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP ? 0 : rc;
}

/* --- one attachment --- */

static int put_attached(struct grove__archiver *k, const char *name, struct grove_slice bytes)
{
	int rc = k->dry ? 0 : grove__store_attach_put(k->to, &k->to_key, name, bytes, k->d);

	if (!rc) {
		k->out->files++;
		k->out->bytes += bytes.len;
		rc = remember(k, name, bytes.len);
	}
	return rc;
}

static bool is_known(const struct grove__archiver *k, const char *name)
{
	bool found;

	place_of_name(k, name, &found);
	return found;
}

static int set_aside(struct grove__archiver *k, const char *name, struct grove_slice bytes)
{
	struct grove_buf old = GROVE_BUF_INIT;
	int rc;

	if (k->dry) {
		k->kept = true;
		return 0;
	}
	rc = grove__archive_older(k, name, &old);
	while (!rc && is_known(k, old.ptr)) {
		rc = grove__archive_later(k);
		rc = rc ? rc : grove__archive_older(k, name, &old);
	}
	rc = rc ? rc : grove__store_attach_put(k->to, &k->to_key, old.ptr, bytes, k->d);
	k->kept |= !rc;
	grove__buf_release(&old);
	return rc;
}

/* Archives one attachment; an earlier version that it does not continue goes to `older`. */
static int archive_bytes(struct grove__archiver *k, const char *name, struct grove_slice bytes)
{
	struct grove_buf have = GROVE_BUF_INIT;
	int rc;

	if (!is_known(k, name))
		return put_attached(k, name, bytes);
	rc = grove__store_attach_get(k->to, &k->to_key, name, &have, k->d);
	if (rc == GROVE_ENOTFOUND)
		rc = put_attached(k, name, bytes);
	else if (!rc && !grove__slice_eq(grove__buf_slice(&have), bytes)) {
		if (have.len > bytes.len || (have.len && memcmp(have.ptr, bytes.ptr, have.len)))
			rc = set_aside(k, name, grove__buf_slice(&have));
		if (!rc)
			rc = put_attached(k, name, bytes);
	}
	grove__buf_release(&have);
	return rc;
}

/*
 * The first failure is reported at the end, for the session as a whole: one file that
 * cannot be read does not stop the others.
 */
struct walk {
	struct grove__archiver *k;
	int rc;
	struct grove_detail why;
	struct grove_buf path, name;     /* in a directory outside */
	unsigned depth;
};

static int went(struct walk *w, int rc)
{
	if (rc == GROVE_ENOMEM || rc == GROVE_ECANCELLED)
		return rc;
	/* already gone: somebody else cleans up */
	if (rc && rc != GROVE_ENOTFOUND && !w->rc) {
		w->rc = rc;
		w->why = *w->k->d;
	}
	return 0;
}

static int keep_attached(struct walk *w, const char *name)
{
	struct grove__archiver *k = w->k;
	struct grove_buf bytes = GROVE_BUF_INIT;
	int rc = grove__store_attach_get(k->from, &k->from_key, name, &bytes, k->d);

	if (!rc)
		rc = grove__archive_blobs(k, grove__buf_slice(&bytes));
	if (!rc)
		rc = archive_bytes(k, name, grove__buf_slice(&bytes));
	grove__buf_release(&bytes);
	return rc;
}

/* --- directories outside --- */

static int keep_dir(struct walk *w);

static int keep_name(void *payload, const char *name)
{
	struct walk *w = payload;
	struct grove__sys_stat st;
	struct grove_buf bytes = GROVE_BUF_INIT;
	size_t path = w->path.len, len = w->name.len;
	int rc = 0, err;

	if (grove__buf_addf(&w->path, "/%s", name) || grove__buf_addf(&w->name, "/%s", name))
		return grove__fail_nomem(w->k->d);
	err = grove__sys_lstat(w->path.ptr, &st);
	if (!err && st.type == SYS_DIR && w->depth < DEPTH_MAX) {
		rc = keep_dir(w);
	} else if (!err && st.type == SYS_FILE) {
		err = grove__sys_read_small(w->path.ptr, FILE_MAX, &bytes, NULL);
		if (!err)
			rc = archive_bytes(w->k, w->name.ptr, grove__buf_slice(&bytes));
	}
	if (err)
		rc = grove__fail_sys(w->k->d, err, w->path.ptr, "cannot archive");
	grove__buf_release(&bytes);
	grove__buf_cut(&w->path, path);
	grove__buf_cut(&w->name, len);
	return went(w, rc);
}

static int keep_dir(struct walk *w)
{
	int ended = 0, err;

	w->depth++;
	err = grove__sys_list(w->path.ptr, keep_name, w, &ended);
	w->depth--;
	if (err == -ENOENT || err == -ENOTDIR)
		return 0;
	return err ? grove__fail_sys(w->k->d, err, w->path.ptr, "cannot archive") : ended;
}

static int keep_apart(void *payload, const char *dir, const char *name)
{
	struct walk *w = payload;

	grove__buf_clear(&w->path);
	grove__buf_clear(&w->name);
	if (grove__buf_add_str(&w->path, dir) || grove__buf_add_str(&w->name, name))
		return grove__fail_nomem(w->k->d);
	return went(w, keep_dir(w));
}

/* There, a session is identified by its name without the suffix. */
static int keep_outside(struct walk *w)
{
	struct grove__archiver *k = w->k;
	const char *session = k->from_key.session;
	size_t n = strlen(session);
	char *id;
	int rc;

	if (!k->dialect->paths.apart || !grove__jsonl_has_suffix(session))
		return 0;
	id = strndup(session, n - 6);
	if (!id)
		return grove__fail_nomem(k->d);
	rc = k->dialect->paths.apart(&k->g->env, k->root_dir, id, keep_apart, w);
	free(id);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(k->d) : rc;
}

static int keep_one(void *payload, const char *name, uint64_t size, bool log)
{
	struct walk *w = payload;
	int rc;

	(void)size;
	/* an archive may itself be archived, but its notes are its own */
	if (!strcmp(name, GROVE__NOTE_NAME))
		return 0;
	rc = went(w, log ? grove__archive_log(w->k, name, NULL) : keep_attached(w, name));
	return rc ? rc : grove__archive_go_on(w->k);
}

int grove__archive_beside(struct grove__archiver *k)
{
	struct walk w = { .k = k };
	int rc = grove__beside_list(k->from, &k->from_key, keep_one, &w, k->d);

	if (!rc)
		rc = keep_outside(&w);
	grove__buf_release(&w.path);
	grove__buf_release(&w.name);
	if (rc || !w.rc)
		return rc;
	*k->d = w.why;
	return w.rc;
}

/* --- blobs --- */

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* 64 digits: if a blob has that name, it belongs to the session. */
static int keep_blob(struct grove__archiver *k, const char *digits, bool named)
{
	char name[sizeof(BLOBS) + DIGITS], *hash = name + sizeof(BLOBS) - 1;
	struct grove_buf bytes = GROVE_BUF_INIT;
	struct grove_detail why;
	bool found;
	int rc = GROVE_ENOTFOUND;

	memcpy(name, BLOBS, sizeof(BLOBS) - 1);
	memcpy(hash, digits, DIGITS);
	hash[DIGITS] = '\0';
	place_of_name(k, name, &found);
	if (found)
		return 0;
	for (int i = 0; i < 2 && rc && rc != GROVE_ENOMEM; i++)
		if (k->blobs[i])
			rc = grove__blob_get(k->blobs[i], hash, &bytes, &why);
	if (!rc) {
		rc = archive_bytes(k, name, grove__buf_slice(&bytes));
	} else if (rc == GROVE_ENOMEM) {
		grove__fail_nomem(k->d);
	} else {
		/* a missing blob cannot be archived; other digits never named one */
		k->out->missing += named;
		rc = remember(k, name, UINT64_MAX);
	}
	grove__buf_release(&bytes);
	return rc;
}

/*
 * Any 64 consecutive digits cover every 64th byte, so only every 64th byte has to be
 * examined until one is a digit.
 */
int grove__archive_blobs(struct grove__archiver *k, struct grove_slice bytes)
{
	static const char mark[] = "blob:sha256:";
	const size_t m = sizeof(mark) - 1;
	int rc = 0;

	if ((!k->blobs[0] && !k->blobs[1]) || k->no_attachments)
		return 0;
	for (size_t p = DIGITS - 1; p < bytes.len && !rc; p += DIGITS) {
		size_t from = p, to = p + 1;

		if (!is_digit(bytes.ptr[p]))
			continue;
		while (from && is_digit(bytes.ptr[from - 1]))
			from--;
		while (to < bytes.len && is_digit(bytes.ptr[to]))
			to++;
		/* of more digits the last ones: an escape may end in some */
		if (to - from >= DIGITS) {
			from = to - DIGITS;
			rc = keep_blob(k, bytes.ptr + from,
				       from >= m && !memcmp(bytes.ptr + from - m, mark, m));
		}
		p = to;
	}
	return rc;
}
