/*
 * session/cache.c: images of large logs, kept from one process to the next.
 *
 * A file below the cache directory for each large session file, named by the
 * file's device and inode: what is known of the image, then its spine as it lies
 * in memory (tree/freeze.h), which is mapped and used where it is. So opening
 * a session again costs what was appended since.
 *
 * It is only believed if nothing speaks against it: the same file by device,
 * inode and dialect, made by this very release, not shorter than it was; if its
 * times or its length have changed, the header, the last line that was read and
 * some in between have the same bytes. Whatever is in doubt is read from the
 * session itself, and whatever is missing costs time, never an answer.
 */
#include "session/cache.h"

#include "base/crc32c.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/map.h"
#include "tree/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC "grovspn1"
/* Of what is found in a line: another number, and all that was kept is made anew. */
#define INDEX_VERSION 1
#define HEAD 4096u
#define WORTH ((uint64_t)16 << 20)        /* bytes of a log from which it pays */
#define WORTH_MORE ((uint64_t)8 << 20)    /* read anew since it was kept */
#define SAMPLES 64
#define TICK_MS 100
#define TICK_SECONDS_MS 2500
#define FILES_MAX 128

/* What of an image is not in its spine. */
struct state {
	uint64_t next, tail, lines, bytes, malformed, blank, bad_line, bad_pos, torn_off, values;
	uint64_t slot_pos, slot_off, slot_len, slot_line;
	int64_t ctime_ns;
	uint64_t nr_headers;
	struct grove__spot header_at;
	uint32_t slot_crc, from;
	uint8_t torn, open_tail, loose, has_slot;
};

struct head {
	char magic[8];
	char release[16], dialect[16];
	uint32_t index_version, endian;
	uint64_t dev, ino;
	uint64_t headers;                  /* where they are */
	struct state state;
	struct grove__ice ice;
	uint32_t headers_crc;
	uint32_t crc;                      /* of all before it */
};

_Static_assert(sizeof(struct head) <= HEAD, "the head has its page");

/* Where it is, or is to be. 1: there is no place, or the log is no file. */
static int place(struct grove_session *s, struct grove_buf *path, struct grove__sys_stat *st)
{
	if (!s->g->cache || !s->at.path || s->held || s->at.dialect->chain_new ||
	    grove__sys_stat(s->at.path, st) || st->type != SYS_FILE || st->size < WORTH)
		return 1;
	return grove__buf_addf(path, "%s/spine/%llx-%llx-%s", s->g->cache, (unsigned long long)st->dev,
			       (unsigned long long)st->ino, s->at.dialect->name);
}

/* ----------------------------------------------------------------- freezing */

struct writing {
	int fd, err;
};

static int write_at(void *payload, uint64_t at, const void *ptr, size_t len)
{
	struct writing *w = payload;

	w->err = grove__sys_pwrite_all(w->fd, ptr, len, at);
	return w->err ? GROVE_EIO : 0;
}

static void take_state(const struct grove__image *im, struct state *st)
{
	*st = (struct state){
		.next = im->next, .tail = im->tail, .lines = im->lines, .bytes = im->bytes,
		.malformed = im->malformed, .blank = im->blank, .bad_line = im->bad_line,
		.bad_pos = im->bad_pos, .torn_off = im->torn_off, .values = im->values,
		.slot_pos = im->slot_pos, .slot_off = im->slot_off, .slot_len = im->slot_len,
		.slot_line = im->slot_line, .slot_crc = im->slot_crc, .ctime_ns = im->ctime_ns,
		.nr_headers = im->nr_headers, .header_at = im->header_at, .from = im->from,
		.torn = im->torn, .open_tail = im->open_tail, .loose = im->loose,
		.has_slot = im->has_slot,
	};
}

static void name_it(const struct grove__image *im, struct head *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	snprintf(h->release, sizeof(h->release), "%s", GROVE_VERSION);
	snprintf(h->dialect, sizeof(h->dialect), "%s", im->dialect->name);
	h->index_version = INDEX_VERSION;
	h->endian = 0x01020304;
}

static int write_image(int fd, struct grove__image *im, const struct grove__sys_stat *st)
{
	size_t headers = im->nr_headers * sizeof(*im->headers);
	struct writing w = { .fd = fd };
	struct head h;
	int rc;

	name_it(im, &h);
	h.dev = st->dev;
	h.ino = st->ino;
	take_state(im, &h.state);
	/* what changes within a tick of the clock has the same time; some file systems count seconds */
	if (grove__sys_now_ms() - im->ctime_ns / 1000000 <
	    (im->ctime_ns % 1000000000 ? TICK_MS : TICK_SECONDS_MS))
		h.state.ctime_ns = 0;
	rc = grove__spine_freeze(im->spine, HEAD, &h.ice, write_at, &w);
	h.headers = (h.ice.end + 7) & ~(uint64_t)7;
	h.headers_crc = grove__crc32c(0, im->headers, headers);
	if (!rc && headers)
		rc = write_at(&w, h.headers, im->headers, headers);
	h.crc = grove__crc32c(0, &h, offsetof(struct head, crc));
	/* the last bytes first: a head is there only if the rest is */
	if (!rc)
		rc = write_at(&w, h.headers + headers, "", 1);
	return rc ? rc : write_at(&w, 0, &h, sizeof(h));
}

/* Files that nobody asked for in a long time make room. */
struct oldest {
	const char *dir;
	struct grove_buf path, found;
	int64_t time;
	size_t nr;
};

static int look_at(void *payload, const char *name)
{
	struct oldest *o = payload;
	struct grove__sys_stat st;

	grove__buf_clear(&o->path);
	if (grove__buf_addf(&o->path, "%s/%s", o->dir, name) || grove__sys_lstat(o->path.ptr, &st))
		return 0;
	o->nr++;
	if (!o->found.len || st.mtime_ns < o->time) {
		o->time = st.mtime_ns;
		grove__buf_clear(&o->found);
		(void)!grove__buf_add_str(&o->found, o->path.ptr);
	}
	return 0;
}

static void make_room(const char *dir)
{
	struct oldest o = { .dir = dir };
	int ended;

	if (!grove__sys_list(dir, look_at, &o, &ended) && o.nr > FILES_MAX && o.found.len)
		grove__sys_unlink(o.found.ptr);
	grove__buf_release(&o.path);
	grove__buf_release(&o.found);
}

void grove__cache_freeze(struct grove_session *s, struct grove__image *im)
{
	struct grove_buf path = GROVE_BUF_INIT, temp = GROVE_BUF_INIT, dir = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	uint64_t random;
	int fd = -1, rc;

	if (im->by_line || im->kept_until + WORTH_MORE > im->tail || im->spine->linked != im->spine->nr)
		return;
	rc = place(s, &path, &st);
	grove__sys_random(&random, sizeof(random));
	if (!rc)
		rc = grove__buf_addf(&dir, "%s/spine", s->g->cache);
	if (!rc)
		rc = grove__buf_addf(&temp, "%s.%016llx.tmp", path.ptr, (unsigned long long)random);
	if (!rc)
		rc = grove__sys_mkdirs(dir.ptr, 0700);
	if (!rc)
		rc = grove__sys_open(temp.ptr, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &fd);
	if (!rc) {
		rc = write_image(fd, im, &st);
		grove__sys_close(fd);
		if (!rc)
			rc = grove__sys_rename(temp.ptr, path.ptr);
		if (rc)
			grove__sys_unlink(temp.ptr);
		else
			make_room(dir.ptr);
	}
	if (!rc)
		im->kept_until = im->tail;
	grove__buf_release(&path);
	grove__buf_release(&temp);
	grove__buf_release(&dir);
}

/* ------------------------------------------------------------------ thawing */

/* Is this ours, and about that file? */
static bool usable(const struct grove__image *im, const struct grove__sys_stat *st,
		   const struct head *h, size_t len)
{
	struct head want;

	name_it(im, &want);
	return h->crc == grove__crc32c(0, h, offsetof(struct head, crc)) &&
	       !memcmp(h, &want, offsetof(struct head, dev)) && h->dev == st->dev &&
	       h->ino == st->ino && h->state.tail <= st->size && h->ice.end <= h->headers &&
	       h->headers <= len && h->state.nr_headers <= (len - h->headers) / sizeof(*im->headers) &&
	       h->headers_crc == grove__crc32c(0, (const char *)h + h->headers,
					       (size_t)h->state.nr_headers * sizeof(*im->headers));
}

static int give_state(struct grove__image *im, const struct head *h)
{
	const struct state *st = &h->state;
	size_t headers = (size_t)st->nr_headers * sizeof(*im->headers);

	im->headers = malloc(headers ? headers : 1);
	if (!im->headers)
		return GROVE_ENOMEM;
	if (headers)
		memcpy(im->headers, (const char *)h + h->headers, headers);
	im->nr_headers = im->cap_headers = (size_t)st->nr_headers;
	im->next = st->next;
	im->tail = im->kept_until = st->tail;
	im->lines = st->lines;
	im->bytes = st->bytes;
	im->malformed = st->malformed;
	im->blank = st->blank;
	im->bad_line = st->bad_line;
	im->bad_pos = st->bad_pos;
	im->torn_off = st->torn_off;
	im->values = st->values;
	im->slot_pos = st->slot_pos;
	im->slot_off = st->slot_off;
	im->slot_len = st->slot_len;
	im->slot_line = st->slot_line;
	im->slot_crc = st->slot_crc;
	im->ctime_ns = st->ctime_ns;
	im->header_at = st->header_at;
	im->from = st->from;
	im->torn = st->torn;
	im->open_tail = st->open_tail;
	im->loose = st->loose;
	im->has_slot = st->has_slot;
	return 0;
}

/* Texts are in the log: the header's and the slot's are read there, by those who read them first. */
static int read_texts(struct grove_session *s, struct grove__image *im)
{
	struct grove__spot slot = { .pos = im->slot_pos, .off = im->slot_off, .len = im->slot_len,
				    .line = im->slot_line, .crc = im->slot_crc };
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove__spot_fetch(s->log, &im->header_at, &line, NULL);

	if (!rc)
		rc = grove__image_read_header(im, grove__buf_slice(&line));
	if (!rc && im->has_slot)
		rc = grove__spot_fetch(s->log, &slot, &line, NULL);
	if (!rc && im->has_slot)
		rc = grove__image_read_slot(im, grove__buf_slice(&line));
	grove__buf_release(&line);
	return rc;
}

/* The file is not as it was left: some of its lines, here and there, must be. */
static bool samples_hold(struct grove_session *s, const struct grove__image *im)
{
	struct grove_buf line = GROVE_BUF_INIT;
	uint32_t nr = im->spine->nr;
	int rc = 0;

	for (unsigned i = 0; i < SAMPLES && nr && !rc; i++) {
		uint64_t random;
		struct grove__spot at;

		grove__sys_random(&random, sizeof(random));
		at = grove__image_spot(im, (uint32_t)(random % nr));
		if (at.len < HEAD * 16)
			rc = grove__spot_fetch(s->log, &at, &line, NULL);
	}
	grove__buf_release(&line);
	return !rc;
}

int grove__cache_thaw(struct grove_session *s, struct grove__image *im)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st, own;
	struct grove__spine *spine;
	struct grove_log_stat log;
	struct head *h;
	char *bytes = NULL;
	size_t len = 0;
	int fd = -1, rc = place(s, &path, &st);

	if (!rc)
		rc = grove__sys_open(path.ptr, O_RDONLY | O_CLOEXEC, 0, &fd);
	if (!rc)
		rc = grove__sys_fstat(fd, &own);
	if (!rc && own.size < sizeof(*h))
		rc = 1;
	if (!rc) {
		len = (size_t)own.size;
		rc = grove__sys_map(fd, len, &bytes);
	}
	grove__buf_release(&path);
	if (fd >= 0)
		grove__sys_close(fd);
	if (rc)
		return 1;
	h = (struct head *)bytes;
	spine = usable(im, &st, h, len) ? grove__spine_thaw(&h->ice, bytes, len, grove__sys_unmap) : NULL;
	if (!spine) {
		grove__sys_unmap(bytes, len);
		return 1;
	}
	grove__spine_unref(im->spine);
	im->spine = spine;
	rc = give_state(im, h);
	if (!rc)
		rc = grove__log_stat(s->log, &log, NULL);
	if (!rc)
		rc = read_texts(s, im);
	if (!rc && (log.ctime_ns != im->ctime_ns || log.tail != im->tail) && !samples_hold(s, im))
		rc = 1;
	im->generation = log.generation;
	return rc ? 1 : 0;
}
