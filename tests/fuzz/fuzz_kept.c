/*
 * tests/fuzz/fuzz_kept.c: the cache file of a large log (image/cache.c).
 *
 * Whatever a log is, a session that is loaded from its cache, before or after the
 * log grew, must have the same content as the log; also with a damaged cache, which
 * is refused. A cache with wrong numbers and right checksums, which only this
 * program writes, may give any content or fail; but loading it must end, and never
 * access memory that is not there.
 *
 * There is no real file: the linker replaces the calls by the functions below.
 */
#include "ice.h"
#include "world.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "image/cache.h"
#include "image/sums.h"
#include "store/store.h"
#include "sys/file.h"
#include "sys/map.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define WORDS 5
#define DIR "/kept"
#define LOG DIR "/log"
#define FD (1 << 20)
/*
 * The names in the cache's head and those of the log: if they differ, the cache belongs to another
 * log.
 */
#define NAMES 64
/*
 * Logs of at least so many bytes are cached, and cached again when they have grown by so many more.
 */
#define WORTH ((uint64_t)16 << 20)
#define WORTH_MORE ((uint64_t)8 << 20)

static struct ice file;
static bool there;

static bool is_ours(const char *path)
{
	return !strncmp(path, DIR, strlen(DIR));
}

#define WRAPPED(type, name, args) \
	type __real_grove__sys_##name args; \
	type __wrap_grove__sys_##name args; \
	type __wrap_grove__sys_##name args

WRAPPED(int, stat, (const char *path, struct grove__sys_stat *out))
{
	if (!is_ours(path))
		return __real_grove__sys_stat(path, out);
	*out = (struct grove__sys_stat){ .dev = 1, .ino = 2, .size = WORTH, .type = SYS_FILE };
	return 0;
}

WRAPPED(int, fstat, (int fd, struct grove__sys_stat *out))
{
	if (fd != FD)
		return __real_grove__sys_fstat(fd, out);
	*out = (struct grove__sys_stat){ .size = file.len, .mode = 0600, .uid = geteuid(), .type = SYS_FILE };
	return 0;
}

WRAPPED(bool, own_dir, (const char *path))
{
	return is_ours(path) || __real_grove__sys_own_dir(path);
}

WRAPPED(int, list, (const char *path, int (*fn)(void *payload, const char *name), void *payload, int *ended))
{
	return is_ours(path) ? -ENOENT : __real_grove__sys_list(path, fn, payload, ended);
}

WRAPPED(int, open, (const char *path, int flags, unsigned mode, int *fd))
{
	if (!is_ours(path))
		return __real_grove__sys_open(path, flags, mode, fd);
	if (flags & O_CREAT)
		ice_init(&file);
	else if (!there)
		return -ENOENT;
	*fd = FD;
	return 0;
}

WRAPPED(int, pwrite_all, (int fd, const void *buf, size_t len, uint64_t off))
{
	return fd == FD ? ice_put(&file, off, buf, len) : __real_grove__sys_pwrite_all(fd, buf, len, off);
}

WRAPPED(void, close, (int fd))
{
	if (fd != FD)
		__real_grove__sys_close(fd);
}

WRAPPED(int, rename, (const char *from, const char *to))
{
	if (!is_ours(from))
		return __real_grove__sys_rename(from, to);
	there = true;
	ice_end(&file);
	return 0;
}

WRAPPED(int, unlink, (const char *path))
{
	if (!is_ours(path))
		return __real_grove__sys_unlink(path);
	there = false;
	return 0;
}

WRAPPED(int, map, (int fd, size_t len, char **out))
{
	if (fd != FD)
		return __real_grove__sys_map(fd, len, out);
	CHECK(len == file.len);
	*out = file.ptr;
	return 0;
}

WRAPPED(void, unmap, (char *ptr, size_t len))
{
	if (!ptr || ptr != file.ptr)
		__real_grove__sys_unmap(ptr, len);
}

static struct grove__image_source source_of(struct grove_session *s)
{
	return (struct grove__image_source){
		.log = s->log, .dialect = s->at.dialect, .path = LOG, .cache = DIR, .read_cache_only = true,
		.may_be_empty = grove__dialect_may_be_empty(s->at.dialect),
	};
}

/* Caches what a session knows; false if that is not possible. */
static bool keep(struct grove_session *s)
{
	struct grove__image_source src = source_of(s);

	there = false;
	/* as if enough was new to make it worthwhile */
	s->image->kept_until = 0 - WORTH_MORE;
	grove__cache_freeze(&src, s->image);
	return there;
}

/* Opens the session with its cache. NULL: that is not possible. */
static struct grove_session *open_kept(struct grove *g, struct grove_store *st, unsigned flags, int *rc)
{
	struct grove_session *s = world_open(g, st, flags, rc);
	struct grove__image_source src;
	struct grove__image *im = NULL;

	if (!s)
		return NULL;
	src = source_of(s);
	*rc = grove__image_open(&src, &im, NULL);
	if (*rc) {
		grove_session_close(s);
		return NULL;
	}
	grove__image_unref(s->image);
	s->image = im;
	return s;
}

static void melt(void)
{
	there = false;
	ice_melt(&file);
}

static uint32_t *word_of_head(size_t from_end)
{
	return (uint32_t *)(void *)(file.ptr + file.piece[file.nr - 1].len - from_end);
}

/*
 * Computes the checksums anew. The sums are the last but one part that is written, the head the
 * last.
 */
static void sum_up(void)
{
	size_t head = file.piece[file.nr - 1].len;

	if (file.nr > 1) {
		char *at = file.ptr + file.piece[file.nr - 2].at;
		size_t len = file.piece[file.nr - 2].len;
		struct grove__sum sum;

		for (size_t i = 0; i + sizeof(sum) <= len; i += sizeof(sum)) {
			memcpy(&sum, at + i, sizeof(sum));
			sum.crc = grove__crc32c(0, file.ptr + sum.at, sum.len);
			memcpy(at + i, &sum, sizeof(sum));
		}
		*word_of_head(8) = grove__crc32c(0, at, len);
	}
	*word_of_head(4) = grove__crc32c(0, file.ptr, head - 4);
}

/* Writes wrong numbers, three of four in the head, with right checksums. */
static void forge(uint64_t chance, size_t tail)
{
	uint32_t before = *word_of_head(4), word;

	sum_up();
	CHECK(before == *word_of_head(4));
	for (uint64_t nr = 1 + chance % WORDS; nr; nr--) {
		size_t words = (file.piece[file.nr - 1].len - NAMES - 8) / 4;

		if (!(ice_chance(&chance) & 3) && ice_poison(&file, &chance, 0, file.nr - 2, tail))
			continue;
		word = ice_word(&chance, tail);
		memcpy(file.ptr + NAMES + ice_chance(&chance) % words * 4, &word, 4);
	}
	sum_up();
}

/*
 * Checks that the session has the log's content, with a good cache or a damaged one. `kept` is the
 * session that was cached, perhaps when the log was shorter.
 */
static void right(struct grove *g, struct grove_store *st, struct grove_session *kept, uint64_t chance,
		  size_t tail, const struct grove_buf *want)
{
	bool damaged = chance & 1;
	struct grove_buf x = GROVE_BUF_INIT, y;
	struct grove_session *s;
	int rc;

	if (!keep(kept))
		return;
	chance >>= 1;
	if (damaged)
		for (uint64_t nr = 1 + chance % WORDS; nr; nr--)
			CHECK(ice_poison(&file, &chance, 0, file.nr, tail));
	s = open_kept(g, st, GROVE_OPEN_READ, &rc);
	CHECK(s != NULL);
	/* if a line was incomplete, or values span lines, everything may be read again */
	if (!damaged && kept->image->tail == tail && !kept->image->torn && !kept->image->loose && !kept->image->unknown)
		CHECK(s->image->kept_path != NULL);
	y = world_tell(s, TELL_LINES | TELL_LEAF);
	CHECK(!grove__buf_add_slice(&x, grove__buf_slice(want)));
	same_bytes(&x, &y, damaged ? "damaged" : "kept");
	grove_session_close(s);
	melt();
}

static void forged(struct grove *g, struct grove_store *st, struct grove_session *kept, uint64_t chance,
		   size_t tail)
{
	struct grove_session *s;
	int rc;

	if (!keep(kept))
		return;
	forge(chance, tail);
	s = open_kept(g, st, GROVE_OPEN_WRITE, &rc);
	if (s)
		world_ask(s);
	grove_session_close(s);
	melt();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	uint64_t chance = fuzz_number(bytes, len);
	struct grove_store *st = text_store_new((const char *)bytes, len);
	struct grove_session *s, *part;
	struct grove_buf all;
	int rc;

	/* whether the log is the same is decided by its times, or by its bytes */
	text_store_time(st, chance & 1 ? 1700000000123456789 : 0);
	s = world_open(g, st, GROVE_OPEN_READ, &rc);
	if (s) {
		all = world_tell(s, TELL_LINES | TELL_LEAF);
		text_store_show(st, chance & 2 ? (size_t)(chance >> 8) % (len + 1) : len);
		part = world_open(g, st, GROVE_OPEN_READ, &rc);
		if (chance & 2 && chance & 1)
			text_store_time(st, 1700000005123456789);
		text_store_show(st, len);
		right(g, st, part ? part : s, chance >> 16, len, &all);
		forged(g, st, part ? part : s, chance >> 24, len);
		grove_session_close(part);
		grove__buf_release(&all);
	}
	grove_session_close(s);
	grove__store_close(st);
	return 0;
}
