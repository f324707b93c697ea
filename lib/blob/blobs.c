/*
 * blob/blobs.c: data stored under its hash.
 *
 *	DIR/0a4d…e1            a blob
 *	DIR/0a4d…e1.png        the same file, under a name for other programs (oh-my-pi)
 *	DIR/.blob-93f0….tmp    a put in progress
 *
 * A put writes a temporary file with an unpredictable name and renames it, so under a
 * blob's name there is the whole blob or nothing. Two puts of the same bytes rename the
 * same content over each other.
 *
 * A sweep could remove a blob that somebody has just put, found to exist, and is about
 * to refer to. So a put renews the time of an old blob, and a sweep checks the time
 * before it removes one, each with the file locked: either the sweep finds a young
 * blob, or the put finds one that has lost its name, and writes it again.
 */
#include "blob/blob.h"

#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PREFIX "blob:sha256:"
#define DIGITS 64
#define TEMP_HEAD ".blob-"
#define TEMP_TAIL ".tmp"
#define TEMP_DIGITS 32
#define CHUNK ((size_t)256 << 10)
#define NOTE_MAX ((size_t)1 << 20)
#define FRESH_NS ((int64_t)600 * 1000000000)  /* a blob younger than this needs no new time */

struct grove__blobs {
	char *dir;
	EVP_MD *sha256;
	atomic_bool made;      /* we created the directory */
	/* The number of names given, and how many of them have been synced. */
	_Atomic uint64_t named, synced;
};

/*
 * From version 3 on, OpenSSL looks an algorithm up each time it is named, which
 * costs more than hashing a small blob: it is looked up once and held.
 */
static EVP_MD *hold_sha256(void)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
	return EVP_MD_fetch(NULL, "SHA256", NULL);
#else
	return EVP_MD_meth_dup(EVP_sha256());
#endif
}

static void drop_sha256(EVP_MD *sha256)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
	EVP_MD_free(sha256);
#else
	EVP_MD_meth_free(sha256);
#endif
}

int grove__blobs_open(struct grove__blobs **out, const char *dir, struct grove_detail *d)
{
	struct grove__blobs *b = calloc(1, sizeof(*b));
	size_t n = strlen(dir);

	*out = NULL;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (!n) {
		free(b);
		return grove__fail(d, GROVE_EINVAL, NULL, "no directory for blobs given");
	}
	if (!b || !(b->dir = strndup(dir, n))) {
		free(b);
		return grove__fail_nomem(d);
	}
	b->sha256 = hold_sha256();
	if (!b->sha256) {
		grove__blobs_close(b);
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this OpenSSL has no SHA-256");
	}
	*out = b;
	return 0;
}

void grove__blobs_close(struct grove__blobs *b)
{
	if (!b)
		return;
	drop_sha256(b->sha256);
	free(b->dir);
	free(b);
}

const char *grove__blobs_dir(const struct grove__blobs *b)
{
	return b->dir;
}

/* ---------------------------------------------------------------- the names */

static bool is_hex(const char *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!(p[i] >= '0' && p[i] <= '9') && !(p[i] >= 'a' && p[i] <= 'f'))
			return false;
	return true;
}

static void put_hex(char *out, const unsigned char *bytes, size_t nr)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < nr; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * nr] = '\0';
}

bool grove__blob_hash_ok(struct grove_slice hash)
{
	return hash.len == DIGITS && is_hex(hash.ptr, DIGITS);
}

bool grove__blob_parse(struct grove_slice ref, char hash[GROVE__BLOB_HASH])
{
	const size_t head = strlen(PREFIX);

	if (!grove__slice_starts(ref, PREFIX) ||
	    !grove__blob_hash_ok(grove__slice(ref.ptr + head, ref.len - head)))
		return false;
	memcpy(hash, ref.ptr + head, DIGITS);
	hash[DIGITS] = '\0';
	return true;
}

int grove__blob_ref(struct grove_buf *out, const char *hash)
{
	return grove__buf_addf(out, PREFIX "%s", hash);
}

int grove__blob_path(const struct grove__blobs *b, const char *hash, struct grove_buf *out)
{
	size_t start = out->len;
	int rc = grove__buf_add_str(out, b->dir);

	if (!rc)
		rc = grove__buf_add_char(out, '/');
	if (!rc)
		rc = grove__buf_add_str(out, hash);
	/* half a path is useless: leave an empty buffer empty */
	if (rc && !start)
		grove__buf_release(out);
	return rc;
}

static int temp_path(const struct grove__blobs *b, struct grove_buf *out)
{
	unsigned char random[TEMP_DIGITS / 2];
	char name[sizeof(TEMP_HEAD TEMP_TAIL) + TEMP_DIGITS] = TEMP_HEAD;

	grove__sys_random(random, sizeof(random));
	put_hex(name + strlen(TEMP_HEAD), random, sizeof(random));
	memcpy(name + strlen(TEMP_HEAD) + TEMP_DIGITS, TEMP_TAIL, sizeof(TEMP_TAIL));
	return grove__blob_path(b, name, out);
}

static bool is_temp(const char *name)
{
	const size_t head = strlen(TEMP_HEAD);

	return strlen(name) == head + TEMP_DIGITS + strlen(TEMP_TAIL) &&
	       !memcmp(name, TEMP_HEAD, head) && is_hex(name + head, TEMP_DIGITS) &&
	       !strcmp(name + head + TEMP_DIGITS, TEMP_TAIL);
}

/* HASH.EXT, with a short word after the dot: png, x-icon. */
static bool is_alias(const char *name)
{
	size_t len = strlen(name);

	if (len < DIGITS + 2 || len > DIGITS + 17 || !is_hex(name, DIGITS) || name[DIGITS] != '.')
		return false;
	for (const char *p = name + DIGITS + 1; *p; p++)
		if (!(*p >= '0' && *p <= '9') && !(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
		    *p != '-')
			return false;
	return true;
}

/* --------------------------------------------------------------------- hash */

int grove__blob_hash(const struct grove__blobs *b, struct grove_slice bytes,
		     char hash[GROVE__BLOB_HASH], struct grove_detail *d)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (!EVP_Digest(bytes.ptr, bytes.len, digest, &len, b->sha256, NULL) || len != DIGITS / 2)
		return grove__fail_nomem(d);
	put_hex(hash, digest, len);
	return 0;
}

/* Hashes an open file. Returns a negative errno. */
static int hash_file(const struct grove__blobs *b, int fd, char hash[GROVE__BLOB_HASH], uint64_t *size)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char *buf = malloc(CHUNK);
	unsigned len = 0;
	size_t got = 0;
	int err = ctx && buf && EVP_DigestInit_ex(ctx, b->sha256, NULL) ? 0 : -ENOMEM;

	*size = 0;
	while (!err) {
		err = grove__sys_pread(fd, buf, CHUNK, *size, &got);
		if (err || !got)
			break;
		if (!EVP_DigestUpdate(ctx, buf, got))
			err = -ENOMEM;
		*size += got;
	}
	if (!err && (!EVP_DigestFinal_ex(ctx, digest, &len) || len != DIGITS / 2))
		err = -ENOMEM;
	if (!err)
		put_hex(hash, digest, len);
	free(buf);
	EVP_MD_CTX_free(ctx);
	return err;
}

/* --------------------------------------------------------------------- read */

/* Opens a blob, if it is a file of its own. GROVE_ENOTFOUND without a detail. */
static int open_if_there(const char *path, int *fd, struct grove__sys_stat *st,
			 struct grove_detail *d)
{
	int err = grove__sys_open(path, O_RDONLY | O_NOFOLLOW, 0, fd);

	if (err == -ENOENT || err == -ENOTDIR) {
		*fd = -1;
		return GROVE_ENOTFOUND;
	}
	if (err == -ELOOP)
		return grove__fail(d, GROVE_EDAMAGED, path, "is a symbolic link, not a blob");
	if (!err) {
		err = grove__sys_fstat(*fd, st);
		if (!err && st->type == SYS_FILE)
			return 0;
		grove__sys_close(*fd);
	}
	*fd = -1;
	if (err)
		return grove__fail_sys(d, err, path, "cannot read the blob");
	return grove__fail(d, GROVE_EDAMAGED, path, "is %s, not a blob",
			   st->type == SYS_DIR ? "a directory" : "not a regular file");
}

static int open_blob(const char *path, int *fd, struct grove__sys_stat *st, struct grove_detail *d)
{
	int rc = open_if_there(path, fd, st, d);

	return rc == GROVE_ENOTFOUND ? grove__fail(d, rc, path, "no such blob") : rc;
}

static int wrong_bytes(struct grove_detail *d, const char *path)
{
	return grove__fail(d, GROVE_EDAMAGED, path, "contents do not match its name");
}

static int read_whole(const struct grove__blobs *b, int fd, uint64_t size, const char *hash,
		      const char *path, struct grove_buf *out, struct grove_detail *d)
{
	char found[GROVE__BLOB_HASH];
	size_t before = out->len, got = 0;
	int err, rc;

	if (size > GROVE__BLOB_MAX)
		return grove__fail(d, GROVE_ETOOBIG, path, "a blob cannot be larger than 1 GiB");
	if (grove__buf_reserve(out, (size_t)size))
		return grove__fail_nomem(d);
	err = grove__sys_pread(fd, out->ptr + before, (size_t)size, 0, &got);
	if (err)
		rc = grove__fail_sys(d, err, path, "cannot read the blob");
	else
		rc = grove__blob_hash(b, grove__slice(out->ptr + before, got), found, d);
	if (!rc && strcmp(found, hash))
		rc = wrong_bytes(d, path);
	grove__buf_cut(out, rc ? before : before + got);
	return rc;
}

int grove__blob_get(struct grove__blobs *b, const char *hash, struct grove_buf *out,
		    struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int fd = -1, rc;

	rc = grove__blob_path(b, hash, &path) ? grove__fail_nomem(d) : open_blob(path.ptr, &fd, &st, d);
	if (!rc)
		rc = read_whole(b, fd, st.size, hash, path.ptr, out, d);
	grove__sys_close(fd);
	grove__buf_release(&path);
	return rc;
}

int grove__blob_verify(struct grove__blobs *b, const char *hash, uint64_t *size,
		       struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	char found[GROVE__BLOB_HASH];
	struct grove__sys_stat st;
	uint64_t read = 0;
	int fd = -1, rc, err;

	rc = grove__blob_path(b, hash, &path) ? grove__fail_nomem(d) : open_blob(path.ptr, &fd, &st, d);
	if (!rc) {
		err = hash_file(b, fd, found, &read);
		if (err)
			rc = grove__fail_sys(d, err, path.ptr, "cannot read the blob");
		else if (strcmp(found, hash))
			rc = wrong_bytes(d, path.ptr);
	}
	if (size)
		*size = read;
	grove__sys_close(fd);
	grove__buf_release(&path);
	return rc;
}

int grove__blob_has(struct grove__blobs *b, const char *hash, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int rc = 0, err;

	if (grove__blob_path(b, hash, &path))
		return grove__fail_nomem(d);
	err = grove__sys_lstat(path.ptr, &st);
	if (!err)
		rc = st.type == SYS_FILE;
	else if (err != -ENOENT && err != -ENOTDIR)
		rc = grove__fail_sys(d, err, path.ptr, "cannot look for the blob");
	grove__buf_release(&path);
	return rc;
}

/* ---------------------------------------------------------------------- put */

/* Returns 1 if the file has these bytes, 0 if not, or a negative errno. */
static int same_bytes(int fd, struct grove_slice bytes)
{
	size_t cap = bytes.len < CHUNK ? bytes.len : CHUNK, at = 0, got;
	char *buf = malloc(cap ? cap : 1);
	int err = buf ? 0 : -ENOMEM;

	while (!err && at < bytes.len) {
		size_t want = bytes.len - at < cap ? bytes.len - at : cap;

		err = grove__sys_pread(fd, buf, want, at, &got);
		if (!err && (got < want || memcmp(buf, bytes.ptr + at, want)))
			break;
		at += want;
	}
	free(buf);
	return err ? err : at >= bytes.len;
}

/* Protects it from being swept; false if that came too late. */
static bool renew(const char *path, const struct grove__sys_stat *st)
{
	struct grove__sys_stat now = { .nlink = 0 };
	int fd, err;

	if (grove__sys_now_ms() * 1000000 - st->mtime_ns < FRESH_NS)
		return true;
	err = grove__sys_open(path, O_RDWR | O_NOFOLLOW, 0, &fd);
	if (err == -ENOENT)
		return false;
	/* not ours, or a read-only file system: nobody like us sweeps there */
	if (err)
		return true;
	err = grove__sys_lock(fd);
	if (err == -ETIMEDOUT) {
		/* the holder of the lock may be about to remove it: put it again */
		grove__sys_close(fd);
		return false;
	}
	grove__sys_touch(fd);
	err = grove__sys_fstat(fd, &now);
	grove__sys_close(fd);
	return !err && now.nlink && now.ino == st->ino && now.dev == st->dev;
}

static int is_known(struct grove__blobs *b, const char *path, struct grove_slice bytes,
		    enum grove_sync sync, unsigned flags, bool *known, struct grove_detail *d)
{
	struct grove__sys_stat st;
	int fd = -1, err = 0, rc = open_if_there(path, &fd, &st, d);

	*known = false;
	if (rc)
		return rc == GROVE_ENOTFOUND ? 0 : rc;
	if (st.size == bytes.len) {
		err = flags & GROVE_BLOBS_PUT_TRUST ? 1 : same_bytes(fd, bytes);
		*known = err == 1 && renew(path, &st);
		err = err < 0 ? err : 0;
	}
	if (err)
		rc = grove__fail_sys(d, err, path, "cannot read the blob");
	/* the process that put it may not have synced it */
	if (*known && sync == GROVE_SYNC_ALWAYS) {
		err = grove__sys_sync(fd);
		b->named++;
		if (err)
			rc = grove__fail_sys(d, err, path, "cannot sync the blob");
	}
	grove__sys_close(fd);
	return rc;
}

static int make_temp(struct grove__blobs *b, const char *temp, int *fd)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	int err = grove__sys_open(temp, flags, 0600, fd);

	if (err != -ENOENT)
		return err;
	err = grove__sys_mkdirs(b->dir, 0700);
	if (err)
		return err;
	b->made = true;
	return grove__sys_open(temp, flags, 0600, fd);
}

/* Writes a blob and gives it its name. Returns a negative errno, and leaves no trace. */
static int write_blob(struct grove__blobs *b, const char *temp, const char *path,
		      struct grove_slice bytes, enum grove_sync sync)
{
	int fd, err = make_temp(b, temp, &fd);

	if (err)
		return err;
	err = grove__sys_write_all(fd, bytes.ptr, bytes.len);
	if (!err && sync == GROVE_SYNC_ALWAYS)
		err = grove__sys_sync(fd);
	else if (!err && sync == GROVE_SYNC_FLUSH)
		grove__sys_flush_hint(fd, 0, bytes.len);
	grove__sys_close(fd);
	if (!err)
		err = grove__sys_rename(temp, path);
	if (err)
		grove__sys_unlink(temp);
	else
		b->named++;
	return err;
}

static int store(struct grove__blobs *b, const char *path, struct grove_slice bytes,
		 enum grove_sync sync, struct grove_detail *d)
{
	struct grove_buf temp = GROVE_BUF_INIT;
	int rc = 0, err;

	if (temp_path(b, &temp))
		return grove__fail_nomem(d);
	err = write_blob(b, temp.ptr, path, bytes, sync);
	if (err == -ENOTDIR)
		rc = grove__fail(d, GROVE_EINVAL, b->dir, "is not a directory of blobs");
	else if (err)
		rc = grove__fail_sys(d, err, b->dir, "cannot store a blob");
	grove__buf_release(&temp);
	return rc;
}

int grove__blob_put(struct grove__blobs *b, struct grove_slice bytes, enum grove_sync sync,
		    unsigned flags, char hash[GROVE__BLOB_HASH], bool *known,
		    struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	bool there = false;
	int rc;

	if (bytes.len > GROVE__BLOB_MAX)
		return grove__fail(d, GROVE_ETOOBIG, NULL, "a blob cannot be larger than 1 GiB");
	rc = grove__blob_hash(b, bytes, hash, d);
	if (!rc && grove__blob_path(b, hash, &path))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = is_known(b, path.ptr, bytes, sync, flags, &there, d);
	if (!rc && !there)
		rc = store(b, path.ptr, bytes, sync, d);
	if (!rc && sync == GROVE_SYNC_ALWAYS && !(flags & GROVE_BLOBS_PUT_LATER))
		rc = grove__blobs_sync(b, d);
	if (known)
		*known = there;
	grove__buf_release(&path);
	return rc;
}

int grove__blob_alias(struct grove__blobs *b, const char *hash, const char *ext,
		      struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT, alias = GROVE_BUF_INIT;
	int rc = grove__blob_path(b, hash, &path);

	rc = rc ? rc : grove__blob_path(b, hash, &alias);
	rc = rc ? rc : grove__buf_addf(&alias, ".%s", ext);
	if (!rc && is_alias(alias.ptr + strlen(b->dir) + 1))
		grove__sys_link(path.ptr, alias.ptr);
	grove__buf_release(&path);
	grove__buf_release(&alias);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__blobs_sync(struct grove__blobs *b, struct grove_detail *d)
{
	uint64_t named = b->named, seen = b->synced;
	struct grove_buf path = GROVE_BUF_INIT;
	bool made = b->made;
	int err;

	if (seen >= named)
		return 0;
	if (grove__blob_path(b, "x", &path))
		return grove__fail_nomem(d);
	err = made ? grove__sys_sync_parents(path.ptr) : grove__sys_sync_dir(b->dir);
	grove__buf_release(&path);
	if (err)
		return grove__fail_sys(d, err, b->dir, "cannot sync the blobs");
	if (made)
		b->made = false;
	/* names given meanwhile may have come too late for this sync */
	while (seen < named && !atomic_compare_exchange_weak(&b->synced, &seen, named))
		;
	return 0;
}

/* ---------------------------------------------------------- list and remove */

struct listing {
	struct grove__blobs *b;
	struct grove_buf path;
	size_t base;
	grove__blob_fn *fn;
	void *payload;
	int err;          /* a negative errno that ends the list */
};

static bool classify(const char *name, struct grove__blob_entry *e)
{
	e->name = name;
	e->hash[0] = '\0';
	if (is_temp(name)) {
		e->kind = BLOB_TEMP;
		return true;
	}
	if (grove__blob_hash_ok(grove__slice_str(name)))
		e->kind = BLOB_FILE;
	else if (is_alias(name))
		e->kind = BLOB_ALIAS;
	else
		return false;
	memcpy(e->hash, name, DIGITS);
	e->hash[DIGITS] = '\0';
	return true;
}

static int list_one(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove__blob_entry e;
	struct grove__sys_stat st;
	int err;

	if (!classify(name, &e))
		return 0;
	grove__buf_cut(&li->path, li->base);
	err = grove__buf_add_str(&li->path, name) ? -ENOMEM : grove__sys_lstat(li->path.ptr, &st);
	if (err == -ENOENT)
		return 0;
	if (err) {
		li->err = err;
		return 1;
	}
	if (st.type != SYS_FILE && e.kind != BLOB_FILE)
		return 0;
	if (st.type != SYS_FILE)
		e.kind = BLOB_ODD;
	e.size = st.size;
	e.nlink = st.nlink;
	e.mtime_ns = st.mtime_ns;
	return li->fn(li->payload, &e);
}

int grove__blobs_list(struct grove__blobs *b, grove__blob_fn *fn, void *payload,
		      struct grove_detail *d)
{
	struct listing li = { .b = b, .path = GROVE_BUF_INIT, .fn = fn, .payload = payload };
	int err, ended = 0, rc;

	if (grove__blob_path(b, "", &li.path))
		return grove__fail_nomem(d);
	li.base = li.path.len;
	err = grove__sys_list(b->dir, list_one, &li, &ended);
	if (!err)
		err = li.err;
	if (err == -ENOENT)
		rc = 0; /* nothing was ever put here */
	else if (err)
		rc = grove__fail_sys(d, err, b->dir, "cannot list the blobs");
	else
		rc = ended;
	grove__buf_release(&li.path);
	return rc;
}

/* ------------------------------------------------------- who else names them */

/* Reads the note, "" if there is none yet; `path` becomes its name. */
static int read_note(struct grove__blobs *b, struct grove_buf *path, struct grove_buf *text,
		     struct grove_detail *d)
{
	int err;

	if (grove__blob_path(b, GROVE__BLOBS_NOTE, path))
		return grove__fail_nomem(d);
	err = grove__sys_read_small(path->ptr, NOTE_MAX, text, NULL);
	return err && err != -ENOENT ? grove__fail_sys(d, err, path->ptr, "cannot read") : 0;
}

static int same_url(void *payload, const char *url)
{
	return !strcmp(url, payload);
}

/* Calls `fn` with each line as a string; changes `text`. */
static int each_line(struct grove_buf *text, int (*fn)(void *payload, const char *url), void *payload)
{
	char *save, *line = text->len ? strtok_r(text->ptr, "\n", &save) : NULL;
	int rc = 0;

	for (; line && !rc; line = strtok_r(NULL, "\n", &save))
		rc = fn(payload, line);
	return rc;
}

int grove__blobs_noted(struct grove__blobs *b, int (*fn)(void *payload, const char *url),
		       void *payload, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	int rc = read_note(b, &path, &text, d);

	if (!rc)
		rc = each_line(&text, fn, payload);
	grove__buf_release(&path);
	grove__buf_release(&text);
	return rc;
}

/* Two that record the same at once leave two lines, which does no harm. */
static int add_note(const char *dir, const char *path, const char *line, struct grove_detail *d)
{
	int fd = -1, err = grove__sys_mkdirs(dir, 0700);

	if (!err)
		err = grove__sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600, &fd);
	if (!err)
		err = grove__sys_write_all(fd, line, strlen(line));
	if (!err)
		err = grove__sys_sync(fd);
	grove__sys_close(fd);
	if (!err)
		err = grove__sys_sync_parents(path);
	return err ? grove__fail_sys(d, err, path, "cannot record which stores use these blobs") : 0;
}

int grove__blobs_note(struct grove__blobs *b, const char *url, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT, text = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	int rc = read_note(b, &path, &text, d), known = 0;
	/* the end of a line that a crash cut off */
	bool torn = !rc && text.len && text.ptr[text.len - 1] != '\n';

	if (!rc)
		known = each_line(&text, same_url, (void *)(uintptr_t)url);
	if (!rc && !known) {
		rc = grove__buf_addf(&line, "%s%s\n", torn ? "\n" : "", url) ? grove__fail_nomem(d) : 0;
		rc = rc ? rc : add_note(b->dir, path.ptr, line.ptr, d);
	}
	grove__buf_release(&path);
	grove__buf_release(&text);
	grove__buf_release(&line);
	return rc;
}

/* An errno, negative. */
static int sweep(const char *path, int64_t since_ns, bool *gone)
{
	struct grove__sys_stat st, named;
	int fd, err = grove__sys_open(path, O_RDWR | O_NOFOLLOW, 0, &fd);

	/* write-protected: without a lock, then */
	if (err == -EACCES)
		err = grove__sys_open(path, O_RDONLY | O_NOFOLLOW, 0, &fd);
	if (err)
		return err;
	err = grove__sys_lock(fd);
	if (err == -ETIMEDOUT) {
		/* somebody is using it: it stays */
		grove__sys_close(fd);
		return 0;
	}
	err = grove__sys_fstat(fd, &st);
	if (!err && st.type == SYS_FILE && st.mtime_ns <= since_ns)
		err = grove__sys_lstat(path, &named);
	else
		named.ino = 0;
	/* while we waited it may have been removed and created again */
	if (!err && named.ino && named.ino == st.ino && named.dev == st.dev) {
		err = grove__sys_unlink(path);
		*gone = !err;
	}
	grove__sys_close(fd);
	return err;
}

int grove__blob_sweep(struct grove__blobs *b, const char *name, int64_t since_ns, bool *gone,
		      struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = 0, err;

	*gone = false;
	if (grove__blob_path(b, name, &path))
		return grove__fail_nomem(d);
	err = sweep(path.ptr, since_ns, gone);
	/* somebody else was faster */
	if (err && err != -ENOENT)
		rc = grove__fail_sys(d, err, path.ptr, "cannot remove the blob");
	grove__buf_release(&path);
	return rc;
}
