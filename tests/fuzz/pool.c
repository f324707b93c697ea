/*
 * tests/fuzz/pool.c: reuses large buffers.
 *
 * Loading a session takes buffers of megabytes, of which a small input needs only a
 * page. The address sanitizer maps and unmaps each of them, which takes ten times
 * as long as loading. So the programs that search for inputs keep theirs: the
 * linker redirects all allocations of the library to this file. Small blocks are
 * still the sanitizer's, and so are all blocks when known inputs are replayed.
 *
 * Blocks lie one behind the other in one mapping, the small ones first, so that an
 * address identifies its block. The sanitizer is told what must not be touched:
 * some space behind what was asked for, and the beginning of a block that is free.
 */
#include "fuzz.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#define LARGE ((size_t)32 << 10)
#define CLASSES 3
#define BLOCKS 64
/*
 * Only so much is protected, since protecting a whole block would take as long as mapping its
 * pages.
 */
#define BEHIND ((size_t)4 << 10)
#define BEGINNING ((size_t)16 << 10)

void *__real_malloc(size_t len);
void *__real_realloc(void *p, size_t len);
void __real_free(void *p);
void *__wrap_malloc(size_t len);
void *__wrap_realloc(void *p, size_t len);
void __wrap_free(void *p);

/* The sizes of blocks; behind each there is some space that nobody may touch. */
static const size_t room[CLASSES] = { (size_t)1 << 19, (size_t)2 << 20, (size_t)8 << 20 };
static const unsigned first[CLASSES + 1] = { 0, 32, 52, BLOCKS };

static char *blocks;
static size_t total;
static size_t used[BLOCKS];          /* bytes that were asked for; 0: the block is free */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static char *block_at(unsigned i, size_t *cap)
{
	char *p = blocks;
	unsigned c = 0;

	while (i >= first[c + 1]) {
		p += (first[c + 1] - first[c]) * (room[c] + BEHIND);
		c++;
	}
	*cap = room[c];
	return p + (i - first[c]) * (room[c] + BEHIND);
}

static bool is_ours(const void *p)
{
	return blocks && (const char *)p >= blocks && (const char *)p < blocks + total;
}

/* Returns the number of the block that begins at `p`. */
static unsigned block_of(const void *p)
{
	size_t at = (size_t)((const char *)p - blocks);
	unsigned c = 0;

	while (at >= (first[c + 1] - first[c]) * (room[c] + BEHIND)) {
		at -= (first[c + 1] - first[c]) * (room[c] + BEHIND);
		c++;
	}
	CHECK(at % (room[c] + BEHIND) == 0);
	return first[c] + (unsigned)(at / (room[c] + BEHIND));
}

static void map_all(void)
{
	for (unsigned c = 0; c < CLASSES; c++)
		total += (first[c + 1] - first[c]) * (room[c] + BEHIND);
	blocks = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(blocks != MAP_FAILED);
}

/* Returns a free block that is large enough; NULL if there is none. */
static void *take(size_t len)
{
	size_t cap;
	char *p;

	if (!blocks)
		map_all();
	for (unsigned c = 0; c < CLASSES; c++) {
		for (unsigned i = first[c]; len <= room[c] && i < first[c + 1]; i++) {
			if (used[i])
				continue;
			p = block_at(i, &cap);
			used[i] = len;
			fuzz_allow(p, len < BEGINNING ? len : BEGINNING);
			fuzz_forbid(p + len, BEHIND);
			return p;
		}
	}
	return NULL;
}

void *__wrap_malloc(size_t len)
{
	void *p = NULL;

	if (len >= LARGE && len <= room[CLASSES - 1]) {
		pthread_mutex_lock(&lock);
		p = take(len);
		pthread_mutex_unlock(&lock);
	}
	return p ? p : __real_malloc(len);
}

void *__wrap_realloc(void *p, size_t len)
{
	size_t had;
	void *q;

	if (!is_ours(p) && len < LARGE)
		return __real_realloc(p, len);
	had = !p ? 0 : is_ours(p) ? used[block_of(p)] : malloc_usable_size(p);
	q = __wrap_malloc(len ? len : 1);
	if (q && had)
		memcpy(q, p, len < had ? len : had);
	if (q)
		__wrap_free(p);
	return q;
}

void __wrap_free(void *p)
{
	size_t len;
	unsigned i;

	if (!is_ours(p)) {
		__real_free(p);
		return;
	}
	pthread_mutex_lock(&lock);
	i = block_of(p);
	len = used[i];
	CHECK(len != 0);
	used[i] = 0;
	fuzz_allow((char *)p + len, BEHIND);
	fuzz_forbid(p, len < BEGINNING ? len : BEGINNING);
	pthread_mutex_unlock(&lock);
}
