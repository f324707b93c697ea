/*
 * image/cache.c: images of large logs, cached from one process to the next.
 *
 * There is a file below the cache directory for each large session file, named by the
 * file's device and inode. It has what is known about the image, then its spine, and
 * the rows for rules over the whole log, as they are in memory (tree/spine_freeze.h,
 * freeze() of a dialect's rules). They are mapped and used in place. So opening a
 * session again costs only what was appended since.
 *
 *	head | spine | headers | chain | directory | checksums
 *
 * Nothing of it is used before the checksum of each piece has been verified.
 *
 * It is trusted only if it is about this very file: the same device, inode and dialect,
 * written by this release, and by us: nobody else may tell us what is in a session. If
 * the file's length and times are unchanged, so are its bytes. Otherwise all bytes that
 * were read then are compared with their checksums (proof.c), and if they match, that
 * is recorded (struct vouched), so that it is done once. Whatever is in doubt is read
 * from the session itself, and whatever is missing costs time, never an answer.
 */
#include "image/cache.h"

#include "image/sums.h"

#include "base/crc32c.h"
#include "sys/file.h"
#include "sys/map.h"
#include "sys/state.h"
#include "sys/temp.h"
#include "tree/spine_freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC "grovspn4"
/* The version of what is found in a line; if it differs, all caches are created again. */
#define INDEX_VERSION 5
#define HEAD GROVE__ICE_PAGE
#define WORTH ((uint64_t)16 << 20)        /* size of a log from which it pays */
#define WORTH_MORE ((uint64_t)8 << 20)    /* bytes read since it was cached */
#define FILES_MAX 128

/* The part of an image that is not in its spine. */
struct state {
	uint64_t next, tail, lines, bytes, malformed, blank, bad_line, bad_pos, torn_off, values;
	uint64_t slot_pos, slot_off, slot_len, slot_line;
	uint64_t odd;
	struct grove__log_state seen;      /* which file it is, the head says; all 0: uncertain */
	uint64_t nr_headers;
	struct grove__spot header_at;
	int64_t time;                      /* of a session without a header, and its directory */
	uint64_t cwd_len;
	uint32_t slot_crc, from;
	uint8_t torn, open_tail, loose, unknown, has_slot, has_cwd;
};

struct head {
	char magic[8];
	char release[16], dialect[16];
	uint32_t index_version, endian;
	uint64_t dev, ino;
	uint64_t headers, chain, cwd, sums; /* where they are */
	uint64_t nr_sums;
	struct state state;
	struct grove__ice ice;
	uint32_t sums_crc;
	uint32_t crc;                      /* of all before it */
};

/*
 * The file has other times, or is longer, and what was read of it then has been found
 * unchanged. This is at the end of the head's page and is written in place: if it is
 * half written, its checksum does not match, and it is ignored.
 */
struct vouched {
	struct grove__log_state seen;
	uint32_t head;                     /* its crc: this head's and no other's */
	uint32_t crc;
};
#define VOUCHED_AT (HEAD - sizeof(struct vouched))

_Static_assert(sizeof(struct head) <= VOUCHED_AT, "the head has its page");

/* Finds the directory below `cache`. Returns 1 if there is none that only we can write to. */
static int find_dir(const char *cache, struct grove_buf *out)
{
	if (!grove__sys_own_dir(cache) || grove__buf_addf(out, "%s/spine", cache))
		return 1;
	return !grove__sys_own_dir(out->ptr);
}

/* Finds its path. Returns 1 if there is none, or the log is not a file. */
static int place_cache(const struct grove__image_source *src, struct grove_buf *dir,
		       struct grove_buf *path, struct grove__sys_stat *st)
{
	if (!src->cache || !src->path || grove__sys_stat(src->path, st) || st->type != SYS_FILE ||
	    st->size < WORTH || find_dir(src->cache, dir))
		return 1;
	return grove__buf_addf(path, "%s/%llx-%llx-%s", dir->ptr, (unsigned long long)st->dev,
			       (unsigned long long)st->ino, src->dialect->name);
}

/* ----------------------------------------------------------------- freezing */

struct writing {
	int fd;
	struct grove__sums sums;
};

static int write_plain(struct writing *w, uint64_t at, const void *ptr, size_t len)
{
	return grove__sys_pwrite_all(w->fd, ptr, len, at) ? GROVE_EIO : 0;
}

static int write_at(void *payload, uint64_t at, const void *ptr, size_t len)
{
	struct writing *w = payload;
	int rc = grove__sums_add(&w->sums, at, ptr, len);

	return rc || !len ? rc : write_plain(w, at, ptr, len);
}

static void take_state(const struct grove__image *im, struct state *st)
{
	*st = (struct state){
		.next = im->next, .tail = im->tail, .lines = im->lines, .bytes = im->bytes,
		.malformed = im->malformed, .blank = im->blank, .bad_line = im->bad_line,
		.bad_pos = im->bad_pos, .torn_off = im->torn_off, .values = im->values,
		.slot_pos = im->slot_pos, .slot_off = im->slot_off, .slot_len = im->slot_len,
		.slot_line = im->slot_line, .slot_crc = im->slot_crc, .odd = im->odd, .unknown = im->unknown,
		.nr_headers = im->nr_headers, .header_at = im->header_at, .from = im->from,
		.torn = im->torn, .open_tail = im->open_tail, .loose = im->loose,
		.has_slot = im->has_slot, .time = im->header.time,
	};
	if (im->settled)
		st->seen = (struct grove__log_state){ .size = im->tail, .mtime_ns = im->mtime_ns, .ctime_ns = im->ctime_ns };
	if (grove__dialect_cwd_in_entries(im->dialect) && im->header.cwd) {
		st->has_cwd = true;
		st->cwd_len = strlen(im->header.cwd);
	}
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

static uint64_t align(uint64_t at)
{
	return (at + 7) & ~(uint64_t)7;
}

/* Writes everything but the head, which says where it is. */
static int write_parts(struct writing *w, const struct grove__image *im, struct head *h)
{
	size_t headers = im->nr_headers * sizeof(*im->headers);
	uint64_t end;
	int rc = grove__spine_freeze(im->spine, HEAD, &h->ice, write_at, w);

	h->headers = align(h->ice.end);
	end = h->headers + headers;
	if (!rc)
		rc = write_at(w, h->headers, im->headers, headers);
	h->chain = grove__ice_page_up(end);
	if (!rc)
		rc = grove__model_freeze(&im->model, h->chain, &end, write_at, w);
	h->cwd = end;
	if (!rc && h->state.has_cwd)
		rc = write_at(w, h->cwd, im->header.cwd, (size_t)h->state.cwd_len);
	h->sums = align(h->cwd + h->state.cwd_len);
	h->nr_sums = w->sums.nr;
	h->sums_crc = grove__crc32c(0, w->sums.list, w->sums.nr * sizeof(*w->sums.list));
	if (!rc && w->sums.nr)
		rc = write_plain(w, h->sums, w->sums.list, w->sums.nr * sizeof(*w->sums.list));
	return rc;
}

static int write_image(int fd, struct grove__image *im, const struct grove__sys_stat *st)
{
	struct writing w = { .fd = fd };
	struct head h;
	int rc;

	name_it(im, &h);
	h.dev = st->dev;
	h.ino = st->ino;
	take_state(im, &h.state);
	rc = write_parts(&w, im, &h);
	h.crc = grove__crc32c(0, &h, offsetof(struct head, crc));
	/* the head is written only after the rest */
	if (!rc)
		rc = write_plain(&w, 0, &h, sizeof(h));
	grove__sums_release(&w.sums);
	return rc;
}

/* Files that were not used for a long time are deleted. */
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
	if (strstr(name, GROVE__TEMP_TAIL)) {
		if (grove__sys_temp_left(o->path.ptr, GROVE__TEMP_TAIL))
			grove__sys_unlink(o->path.ptr);
		return 0;
	}
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

void grove__cache_freeze(const struct grove__image_source *src, struct grove__image *im)
{
	struct grove_buf path = GROVE_BUF_INIT, temp = GROVE_BUF_INIT, dir = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int fd = -1, rc;

	if (im->by_line || im->kept_until + WORTH_MORE > im->tail || im->spine->linked != im->spine->nr)
		return;
	/* another log may change, too */
	if (im->header.base)
		return;
	rc = place_cache(src, &dir, &path, &st);
	if (!rc)
		rc = grove__sys_temp_open(path.ptr, O_RDWR, &temp, &fd);
	if (!rc) {
		rc = write_image(fd, im, &st);
		if (!rc)
			rc = grove__sys_rename(temp.ptr, path.ptr);
		grove__sys_close(fd);
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

static bool within(uint64_t at, uint64_t nr, size_t item, size_t len)
{
	return at <= len && nr <= (len - at) / item;
}

/* True if this is a possible place in the log of a file. */
static bool is_spot(const struct grove__spot *at, uint64_t tail)
{
	uint8_t lines;

	memcpy(&lines, &at->lines, 1);
	return at->pos <= tail && at->len <= tail - at->pos && !at->off && !lines;
}

/* True if everything it says about the log is inside the log. */
static bool is_sane(const struct head *h, const struct grove__dialect *dialect)
{
	const struct state *st = &h->state;
	const struct grove__header_at *headers = (const void *)((const char *)h + h->headers);
	struct grove__spot slot = { .pos = st->slot_pos, .off = st->slot_off, .len = st->slot_len };

	if (st->next > st->tail || (st->has_slot && !is_spot(&slot, st->tail)) ||
	    st->from > dialect->version ||
	    (st->from < dialect->version && !grove__dialect_migrates(dialect)) ||
	    (grove__dialect_has_header(dialect) && !is_spot(&st->header_at, st->tail)))
		return false;
	for (uint64_t i = 0; i < st->nr_headers; i++)
		if (!is_spot(&headers[i].at, st->tail))
			return false;
	return true;
}

/* True if it is ours, and about that file. */
static bool is_about(const struct grove__image *im, const struct grove__sys_stat *st,
		     const struct head *h, size_t len)
{
	struct head want;

	name_it(im, &want);
	return h->crc == grove__crc32c(0, h, offsetof(struct head, crc)) &&
	       !memcmp(h, &want, offsetof(struct head, dev)) && h->dev == st->dev &&
	       h->ino == st->ino && h->state.tail <= st->size && h->ice.end <= len &&
	       within(h->sums, h->nr_sums, sizeof(struct grove__sum), len) &&
	       h->sums % sizeof(uint64_t) == 0 && h->headers == align(h->ice.end) &&
	       within(h->headers, h->state.nr_headers, sizeof(*im->headers), len) &&
	       h->chain == grove__ice_page_up(h->headers + h->state.nr_headers * sizeof(*im->headers)) &&
	       within(h->cwd, h->state.cwd_len, 1, len);
}

/* For a session without a header: sets what its entries said. */
static int give_facts(struct grove__image *im, const struct head *h)
{
	struct grove__header *to = &im->header;

	im->has_header = to->usable = im->spine->nr > 0;
	to->version = im->dialect->version;
	to->time = h->state.time;
	if (!h->state.has_cwd)
		return 0;
	to->cwd = grove__arena_dup(&im->keep, grove__slice((const char *)h + h->cwd,
							   (size_t)h->state.cwd_len));
	return to->cwd ? 0 : GROVE_ENOMEM;
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
	im->odd = st->odd;
	im->unknown = st->unknown;
	im->header_at = st->header_at;
	im->from = st->from;
	im->torn = st->torn;
	im->open_tail = st->open_tail;
	im->loose = st->loose;
	im->has_slot = st->has_slot;
	return grove__dialect_cwd_in_entries(im->dialect) ? give_facts(im, h) : 0;
}

/* The texts of the header and the slot are in the log and are read there. */
static int read_texts(struct grove_store_log *log, struct grove__image *im)
{
	struct grove__spot slot = { .pos = im->slot_pos, .off = im->slot_off, .len = im->slot_len,
				    .line = im->slot_line, .crc = im->slot_crc };
	struct grove_buf line = GROVE_BUF_INIT;
	int rc;

	if (!grove__dialect_has_header(im->dialect))
		return 0;
	rc = grove__line_fetch(log, &im->header_at, &line, NULL);
	if (!rc)
		rc = grove__image_read_header(im, grove__buf_slice(&line));
	if (!rc && im->has_slot)
		rc = grove__line_fetch(log, &slot, &line, NULL);
	if (!rc && im->has_slot)
		rc = grove__image_read_slot(im, grove__buf_slice(&line));
	grove__buf_release(&line);
	return rc;
}

static struct grove__log_state seen_now(const struct grove_store_log_stat *log)
{
	return (struct grove__log_state){ .size = log->tail, .mtime_ns = log->mtime_ns, .ctime_ns = log->ctime_ns };
}

/* True if one of the states says that the log is unchanged. */
static bool is_stamped(const struct head *h, const struct grove_store_log_stat *log)
{
	struct grove__log_state now = seen_now(log);
	struct vouched v;

	if (!now.ctime_ns)
		return false;
	memcpy(&v, (const char *)h + VOUCHED_AT, sizeof(v));
	return grove__state_same(&now, &h->state.seen) ||
	       (grove__state_same(&now, &v.seen) && v.head == h->crc &&
		v.crc == grove__crc32c(0, &v, offsetof(struct vouched, crc)));
}

/* Records that the log, in its current state, has the bytes that were read. */
static void vouch(const char *path, const struct head *h, const struct grove_store_log_stat *log)
{
	struct vouched v = { .seen = seen_now(log), .head = h->crc };
	int fd;

	v.crc = grove__crc32c(0, &v, offsetof(struct vouched, crc));
	if (grove__sys_open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0, &fd))
		return;
	(void)!grove__sys_pwrite_all(fd, &v, sizeof(v), VOUCHED_AT);
	grove__sys_close(fd);
}

/* True if the log has the bytes of the image, according to its times or by comparison. */
static bool is_current(struct grove_store_log *l, struct grove__image *im, const char *path,
		       const struct head *h)
{
	struct grove_store_log_stat log;
	bool settled;

	if (grove__log_stat(l, &log, NULL) || log.tail < im->tail)
		return false;
	settled = grove__sys_settled(log.ctime_ns);
	if (!is_stamped(h, &log)) {
		if (grove__image_prove(im, l))
			return false;
		if (settled)
			vouch(path, h, &log);
	}
	im->ctime_ns = log.ctime_ns;
	im->mtime_ns = log.mtime_ns;
	im->generation = log.generation;
	return true;
}

/* Maps the cache file, which then belongs to the image. Returns 1 if there is none. */
static int map_kept(const char *path, struct grove__image *im)
{
	struct grove__sys_stat st;
	int fd = -1, rc = grove__sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0, &fd);

	if (!rc)
		rc = grove__sys_fstat(fd, &st);
	if (!rc && (st.size < HEAD || !grove__sys_is_ours(&st)))
		rc = 1;
	if (!rc) {
		im->ice_len = (size_t)st.size;
		rc = grove__sys_map(fd, im->ice_len, &im->ice);
	}
	if (fd >= 0)
		grove__sys_close(fd);
	return rc ? 1 : 0;
}

/* Sets up spine and model over the mapped bytes. Returns 1 if they are not usable. */
static int thaw_parts(struct grove__image *im, const struct head *h)
{
	struct grove__spine *spine = grove__spine_thaw(&h->ice, im->ice, im->ice_len, h->state.tail);

	if (!spine)
		return 1;
	grove__spine_free(im->spine);
	im->spine = spine;
	return grove__model_thaw(&im->model, im->ice, im->ice_len, h->chain, spine->nr);
}

/* Uses all of it, if it is intact and plausible. Returns 1 if it is not. */
static int thaw(struct grove__image *im, const struct head *h)
{
	const struct grove__sum *sums = (const void *)(im->ice + h->sums);
	struct grove__sums_check check;
	int rc;

	if (h->sums_crc != grove__crc32c(0, sums, (size_t)h->nr_sums * sizeof(*sums)) ||
	    !is_sane(h, im->dialect))
		return 1;
	/*
	 * mostly waiting for pages: one thread for the checksums and one for the
	 * plausibility checks
	 */
	grove__sums_begin(&check, sums, (size_t)h->nr_sums, im->ice, im->ice_len);
	rc = thaw_parts(im, h);
	if (!grove__sums_end(&check))
		rc = 1;
	return rc ? rc : give_state(im, h);
}

int grove__cache_thaw(const struct grove__image_source *src, struct grove__image *im)
{
	struct grove_buf dir = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	const struct head *h;
	int rc = place_cache(src, &dir, &path, &st);

	if (!rc)
		rc = map_kept(path.ptr, im);
	if (rc)
		goto out;
	h = (const struct head *)im->ice;
	rc = is_about(im, &st, h, im->ice_len) ? thaw(im, h) : 1;
	if (!rc)
		rc = read_texts(src->log, im);
	if (!rc && !is_current(src->log, im, path.ptr, h))
		rc = 1;
	if (!rc) {
		im->kept_path = strdup(path.ptr);
		rc = im->kept_path ? 0 : GROVE_ENOMEM;
	}
	/* it is of no use to anybody */
	if (rc && rc != GROVE_ENOMEM)
		grove__sys_unlink(path.ptr);
out:
	grove__buf_release(&dir);
	grove__buf_release(&path);
	return rc ? 1 : 0;
}
