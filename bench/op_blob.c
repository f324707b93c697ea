/*
 * op_blob.c: from base64 to a blob on the disk.
 *
 * Decoding and hashing, memory to memory; then blobs of 8 KiB put into a new
 * store, beside the same bytes written to files and renamed; then the same puts
 * again, when there is nothing left to write. The fastest round counts.
 */
#include "bench.h"

#include "blob/blob.h"
#include "js/base64.h"
#include "js/js.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5, BLOB = 8192, IMAGE = 1 << 20, SLICE = 100 };

static void fill(char *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		memcpy(p + i, &z, 8);
	}
}

static void keep(double *least, double ms)
{
	if (*least <= 0 || ms < *least)
		*least = ms;
}

/* ------------------------------------------------------------ memory to memory */

struct memory {
	struct grove__blobs *b;
	struct grove_buf text, bytes;
	char *room;                                  /* for the kernels */
	const struct grove__base64_kernel *kernel;
	char hash[GROVE__BLOB_HASH];
};

static void do_encode(struct memory *m)
{
	grove__base64_encode(m->kernel, m->room, m->bytes.ptr, IMAGE);
}

static void do_decode(struct memory *m)
{
	grove__base64_decode(m->kernel, m->room, m->text.ptr, m->text.len);
}

static void do_hash(struct memory *m)
{
	grove__blob_hash(m->b, (struct grove_slice){ m->bytes.ptr, IMAGE }, m->hash, NULL);
}

/* As a session does it. */
static void do_both(struct memory *m)
{
	grove__buf_clear(&m->bytes);
	grove__js_base64_decode(&m->bytes, grove__buf_slice(&m->text));
	do_hash(m);
}

/* GB of decoded bytes, not of base64 characters, per second. */
static void measure(const char *kernel, const char *name, void (*fn)(struct memory *),
		    struct memory *m)
{
	double least = 0;
	char member[64];

	for (int i = 0; i < 8 * ROUNDS; i++) {
		double start = now_ms();

		for (int k = 0; k < 8; k++)
			fn(m);
		keep(&least, now_ms() - start);
	}
	snprintf(member, sizeof(member), "%s%s_gbs", name, kernel);
	put_number(member, 8.0 * IMAGE / least * 1e-6);
}

static int in_memory(struct grove__blobs *b)
{
	struct memory m = { .b = b, .text = GROVE_BUF_INIT, .bytes = GROVE_BUF_INIT };
	char before[GROVE__BLOB_HASH], name[32];
	int rc = 0;

	m.room = malloc(GROVE__BASE64_ENCODED(IMAGE));
	if (!m.room || grove__buf_reserve(&m.bytes, IMAGE)) {
		free(m.room);
		return fail("out of memory");
	}
	fill(m.bytes.ptr, IMAGE, 1);
	m.bytes.len = IMAGE;
	if (grove__js_base64(&m.text, grove__buf_slice(&m.bytes)))
		rc = fail("out of memory");
	for (unsigned i = 0; !rc && (m.kernel = grove__base64_kernel(i)); i++) {
		snprintf(name, sizeof(name), "_%s", m.kernel->name);
		measure(name, "encode", do_encode, &m);
		measure(name, "decode", do_decode, &m);
	}
	if (!rc) {
		measure("", "sha256", do_hash, &m);
		memcpy(before, m.hash, sizeof(before));
		measure("", "decode_sha256", do_both, &m);
		if (m.bytes.len != IMAGE || strcmp(before, m.hash))
			rc = fail("the decoded bytes are not those that were encoded");
	}
	grove__buf_release(&m.text);
	grove__buf_release(&m.bytes);
	free(m.room);
	return rc;
}

/* -------------------------------------------------------------------- puts */

struct puts {
	size_t n;
	char *bytes;                   /* n blobs, one after the other */
	char (*name)[GROVE__BLOB_HASH];
	char dir[4096];                /* blobs, and bare files among them */
	struct grove__blobs *b;
	enum grove_sync sync;
};

static struct grove_slice blob(const struct puts *p, size_t i)
{
	return (struct grove_slice){ p->bytes + i * BLOB, BLOB };
}

/* What a program without a store would do: it computes no hash and checks nothing. */
static int write_some(const struct puts *p, size_t from, size_t to)
{
	char temp[4200], path[4200];
	bool sync = p->sync == GROVE_SYNC_ALWAYS;

	for (size_t i = from; i < to; i++) {
		int fd;

		snprintf(temp, sizeof(temp), "%s/.bare-%s.tmp", p->dir, p->name[i]);
		snprintf(path, sizeof(path), "%s/bare-%s", p->dir, p->name[i]);
		fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, p->bytes + i * BLOB, BLOB) != BLOB || (sync && fsync(fd)) ||
		    close(fd) || rename(temp, path))
			return fail("cannot write %s", path);
	}
	return 0;
}

static int write_end(const struct puts *p)
{
	int fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? fail("cannot sync %s", p->dir) : 0;

	close(fd);
	return rc;
}

static int put_some(struct puts *p, size_t from, size_t to, unsigned flags, bool want_known)
{
	char hash[GROVE__BLOB_HASH];
	struct grove_detail d = { 0 };
	bool known;

	for (size_t i = from; i < to; i++) {
		if (grove__blob_put(p->b, blob(p, i), p->sync, flags, hash, &known, &d))
			return fail("put: %s", d.message);
		if (known != want_known || memcmp(hash, p->name[i], sizeof(hash)))
			return fail("a put answered wrongly");
	}
	return 0;
}

/*
 * Both fill the same directory, a slice each in turn, so that they meet the same
 * disk: what a file system takes to create a file differs from place to place.
 */
static int side_by_side(struct puts *p, double *put_least, double *bare_least)
{
	double put = 0, bare = 0, start;
	struct grove_detail d = { 0 };
	int rc = 0;

	for (size_t from = 0, turn = 0; from < p->n && !rc; from += SLICE, turn++) {
		size_t to = from + SLICE < p->n ? from + SLICE : p->n;

		for (size_t k = 0; k < 2 && !rc; k++) {
			start = now_ms();
			if ((turn + k) % 2) {
				rc = put_some(p, from, to, GROVE_BLOBS_PUT_LATER, false);
				put += now_ms() - start;
			} else {
				rc = write_some(p, from, to);
				bare += now_ms() - start;
			}
		}
	}
	if (!rc && p->sync == GROVE_SYNC_ALWAYS) {
		start = now_ms();
		rc = grove__blobs_sync(p->b, &d) ? fail("sync: %s", d.message) : 0;
		put += now_ms() - start;
		start = now_ms();
		rc = rc ? rc : write_end(p);
		bare += now_ms() - start;
	}
	keep(put_least, put);
	keep(bare_least, bare);
	return rc;
}

static int put_again(struct puts *p, unsigned flags, double *least)
{
	double start = now_ms();
	int rc = put_some(p, 0, p->n, flags, true);

	keep(least, now_ms() - start);
	return rc;
}

/*
 * A new directory each time, and the old ones stay until the program ends: ext4
 * avoids inodes that were deleted a moment ago, and finding others is slow.
 * (A run soon after another one is slow for the same reason.)
 */
static int begin(struct puts *p)
{
	struct grove_detail d = { 0 };
	static unsigned nr;

	snprintf(p->dir, sizeof(p->dir), "%.4000s/blobs%u", scratch(), nr++);
	sync(); /* what other programs still have to write must not be measured */
	if (mkdir(p->dir, 0700))
		return fail("cannot make %s", p->dir);
	return grove__blobs_open(&p->b, p->dir, &d) ? fail("open: %s", d.message) : 0;
}

static void end(struct puts *p)
{
	grove__blobs_close(p->b);
	p->b = NULL;
}

/* Every blob reads back as it was put. */
static int verify_puts(struct puts *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail d = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->n && !rc; i++) {
		grove__buf_clear(&b);
		if (grove__blob_get(p->b, p->name[i], &b, &d))
			rc = fail("get: %s", d.message);
		else if (b.len != BLOB || memcmp(b.ptr, p->bytes + i * BLOB, BLOB))
			rc = fail("a blob came back with other bytes");
	}
	grove__buf_release(&b);
	return rc;
}

static int run_puts(struct puts *p)
{
	double bare = 0, put = 0, again = 0, trusted = 0;
	int rc = 0;

	for (int i = 0; i < ROUNDS && !rc; i++) {
		rc = begin(p) || side_by_side(p, &put, &bare) || put_again(p, 0, &again) ||
		     put_again(p, GROVE_BLOBS_PUT_TRUST, &trusted) || verify_puts(p);
		end(p);
	}
	put_count("n", p->n);
	put_count("bytes", (uint64_t)p->n * BLOB);
	put_ms("put_ms", put);
	put_ms("bareput_ms", bare);
	put_number("put_ratio", put / bare);
	put_ms("reput_ms", again);
	put_ms("reput_trusted_ms", trusted);
	return rc ? -1 : 0;
}

static int run_synced(struct puts *p)
{
	double bare = 0, put = 0;
	int rc = 0;

	p->n = p->n / 10 ? p->n / 10 : 1; /* waiting for a disk is much the same each time */
	p->sync = GROVE_SYNC_ALWAYS;
	for (int i = 0; i < 2 && !rc; i++) {
		rc = begin(p) || side_by_side(p, &put, &bare) || verify_puts(p);
		end(p);
	}
	put_count("n_sync", p->n);
	put_ms("putsync_ms", put);
	put_ms("bareputsync_ms", bare);
	return rc ? -1 : 0;
}

int op_blob(const char *path, size_t n)
{
	struct puts p = { .n = n };
	struct grove__blobs *b = NULL;
	int rc = grove__blobs_open(&b, scratch(), NULL) ? fail("cannot open blobs") : in_memory(b);

	(void)path;
	p.bytes = malloc(n * BLOB);
	p.name = calloc(n, sizeof(*p.name));
	if (!rc && (!p.bytes || !p.name))
		rc = fail("out of memory");
	if (!rc) {
		fill(p.bytes, n * BLOB, 2);
		for (size_t i = 0; i < n && !rc; i++)
			rc = grove__blob_hash(b, blob(&p, i), p.name[i], NULL);
		rc = rc ? fail("out of memory") : run_puts(&p);
	}
	if (!rc)
		rc = run_synced(&p);
	grove__blobs_close(b);
	free(p.bytes);
	free(p.name);
	return rc;
}
