/*
 * tests/fuzz/pool.c: large buffers are used again.
 *
 * Loading a session takes buffers of megabytes, of which a small input needs a
 * page. The address sanitizer maps and unmaps each of them, and that takes ten
 * times as long as the load. So the programs that search keep theirs; the linker
 * leads all allocations of the library here. Small ones stay the sanitizer's,
 * and so do all when known inputs are replayed.
 */
#include "fuzz.h"

#include <pthread.h>

#define LARGE ((size_t)128 << 10)
#define KEPT ((size_t)8 << 20)
#define BLOCKS 32

void *__real_malloc(size_t len);
void *__real_realloc(void *p, size_t len);
void __real_free(void *p);
void *__wrap_malloc(size_t len);
void *__wrap_realloc(void *p, size_t len);
void __wrap_free(void *p);

static struct block {
	void *ptr;
	size_t cap;
	bool used;
} blocks[BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block *block_of(const void *p)
{
	for (size_t i = 0; p && i < BLOCKS && blocks[i].ptr; i++)
		if (blocks[i].ptr == p)
			return &blocks[i];
	return NULL;
}

/* One that is free and large enough, or a new one; NULL if there is no place for it. */
static void *take(size_t len)
{
	size_t i;

	for (i = 0; i < BLOCKS && blocks[i].ptr; i++)
		if (!blocks[i].used && blocks[i].cap >= len)
			break;
	if (i == BLOCKS)
		return NULL;
	if (!blocks[i].ptr) {
		/* as large as the next one might have to be */
		blocks[i].cap = len < KEPT / 4 ? KEPT / 4 : KEPT;
		blocks[i].ptr = __real_malloc(blocks[i].cap);
	}
	blocks[i].used = blocks[i].ptr != NULL;
	return blocks[i].ptr;
}

void *__wrap_malloc(size_t len)
{
	void *p = NULL;

	if (len >= LARGE && len <= KEPT) {
		pthread_mutex_lock(&lock);
		p = take(len);
		pthread_mutex_unlock(&lock);
	}
	return p ? p : __real_malloc(len);
}

void *__wrap_realloc(void *p, size_t len)
{
	struct block *b;
	void *q;

	pthread_mutex_lock(&lock);
	b = block_of(p);
	pthread_mutex_unlock(&lock);
	if (b && len <= b->cap && len)
		return p;
	if (!b)
		return __real_realloc(p, len);
	q = __wrap_malloc(len);
	if (q) {
		memcpy(q, p, len < b->cap ? len : b->cap);
		__wrap_free(p);
	}
	return q;
}

void __wrap_free(void *p)
{
	struct block *b;

	pthread_mutex_lock(&lock);
	b = block_of(p);
	if (b)
		b->used = false;
	pthread_mutex_unlock(&lock);
	if (!b)
		__real_free(p);
}
