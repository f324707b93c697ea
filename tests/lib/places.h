/*
 * tests/lib/places.h: makes every place in the code where something can fail do
 * so, one at a time.
 *
 * An act is first run while the program notes each place where it allocates
 * memory, calls the system, or calls the caller back (now.noting). It is then run
 * again for each new place, and this time the call at that place fails
 * (now.failing, now.target). A place is a call together with its chain of
 * callers: the same call reached on two ways is two places.
 *
 * The linker redirects allocations to this file (--wrap, see tests/meson.build);
 * tests/crash/shim.c does the same for SQLite's allocations and system calls.
 * Include it in one file of a program, after cmocka.h.
 */
#ifndef TESTS_LIB_PLACES_H
#define TESTS_LIB_PLACES_H

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "../crash/crash.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"

enum kind { MEMORY, SYSTEM, CALLER, KINDS };
static const char *const kind_names[KINDS] = { "memory", "the system", "the caller" };

#define PLACES 65536

static struct {
	uint64_t place[PLACES];        /* places that were tried, and places still to be tried */
	long first[PLACES];            /* the number of the first call at each place */
	size_t nr;
	long count;                    /* calls in this run of the act so far */
	enum kind kind;
	bool noting, failing, happened;
	long target;
	char call[32];                 /* the call that failed */
	void *by[8];                   /* its callers, for addr2line */
	int depth;
} now;

static pthread_mutex_t places = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile int own;          /* above 0: calls of the tests, not of the library */

extern char __executable_start[], etext[];

/* Returns a hash of the chain of callers, as far as they are in this program's own code. */
static uint64_t place_here(enum kind kind)
{
	uint64_t h = 0xcbf29ce484222325u + kind;
	void *at[40];
	int nr;

	own++;
	nr = backtrace(at, 40);
	own--;
	for (int i = 1, used = 0; i < nr && used < 14; i++)
		if ((char *)at[i] >= __executable_start && (char *)at[i] < etext) {
			h = (h ^ (uint64_t)((char *)at[i] - __executable_start)) * 0x100000001b3u;
			used++;
		}
	return h;
}

/* Stores the innermost callers, as addresses in the program, and returns how many there are. */
static int callers(void *by[8])
{
	void *at[40];
	int nr = backtrace(at, 40), used = 0;

	for (int i = 0; i < nr && used < 8; i++)
		if ((char *)at[i] >= __executable_start && (char *)at[i] < etext)
			by[used++] = (void *)((char *)at[i] - __executable_start);
	return used;
}

static void note_place(uint64_t h, long nth)
{
	for (size_t i = now.nr; i-- > 0;)
		if (now.place[i] == h)
			return;
	assert_true(now.nr < PLACES);
	now.first[now.nr] = nth;
	now.place[now.nr++] = h;
}

/* Returns true if this is the call that is to fail. */
static bool due(enum kind kind, const char *call)
{
	bool is = false;
	long nth;

	if (own || now.kind != kind || !(now.noting || now.failing))
		return false;
	nth = __atomic_fetch_add(&now.count, 1, __ATOMIC_RELAXED);
	if (now.failing && nth != now.target)
		return false;
	pthread_mutex_lock(&places);
	if (now.noting) {
		note_place(place_here(kind), nth);
	} else {
		is = now.happened = true;
		now.depth = callers(now.by);
		snprintf(now.call, sizeof(now.call), "%s", call);
	}
	pthread_mutex_unlock(&places);
	return is;
}

/* Called for each system call, by the shim of the crash tests and by the library's test hook. */
int fault_ask(const char *call)
{
	return due(SYSTEM, call) ? EIO : 0;
}

bool fault_due_memory(void)
{
	if (!due(MEMORY, "alloc"))
		return false;
	errno = ENOMEM;
	return true;
}

#define ALLOC_DUE fault_due_memory
#include "../lib/alloc.h"

/*
 * Buffers get no spare room here: each holds exactly its content, so that every
 * addition to a buffer is an allocation that can fail.
 */
int __wrap_grove__buf_reserve(struct grove_buf *b, size_t more);
int __wrap_grove__buf_addf(struct grove_buf *b, const char *fmt, ...);
int __wrap_grove__array_room(void *array, size_t *cap, size_t nr, size_t item);
int __real_grove__array_room(void *array, size_t *cap, size_t nr, size_t item);
void *__wrap_grove__arena_alloc(struct grove__arena *a, size_t len, size_t align);
void *__real_grove__arena_alloc(struct grove__arena *a, size_t len, size_t align);

int __wrap_grove__buf_reserve(struct grove_buf *b, size_t more)
{
	char *ptr;

	if (b->ptr && more <= b->cap - b->len)
		return 0;
	ptr = fault_due_memory() ? NULL : __real_realloc(b->ptr, b->len + more + 1);
	if (!ptr)
		return GROVE_ENOMEM;
	b->ptr = ptr;
	b->cap = b->len + more;
	b->ptr[b->len] = '\0';
	return 0;
}

int __wrap_grove__buf_addf(struct grove_buf *b, const char *fmt, ...)
{
	va_list ap;
	int rc;

	if (fault_due_memory())
		return GROVE_ENOMEM;
	own++;
	va_start(ap, fmt);
	rc = grove__buf_vaddf(b, fmt, ap);
	va_end(ap);
	own--;
	if (!rc)
		b->cap = b->len;
	return rc;
}

int __wrap_grove__array_room(void *array, size_t *cap, size_t nr, size_t item)
{
	return fault_due_memory() ? GROVE_ENOMEM : __real_grove__array_room(array, cap, nr, item);
}

void *__wrap_grove__arena_alloc(struct grove__arena *a, size_t len, size_t align)
{
	if (!fault_due_memory())
		return __real_grove__arena_alloc(a, len, align);
	a->failed = true;
	return NULL;
}

#endif
