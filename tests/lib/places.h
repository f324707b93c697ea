/*
 * tests/lib/places.h: the places where something may fail, each of them once.
 *
 * An act is done while it is noted where memory is asked for, where the system is
 * called, and where the caller is called back (now.noting); then again for each
 * place that is new, and there it fails (now.failing, now.target). A place is a
 * call and all that called it.
 *
 * The linker leads allocations here (--wrap, see tests/meson.build), and
 * tests/crash/shim.c those of SQLite and its calls to the system. Once in a
 * program; include after cmocka.h.
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
	uint64_t place[PLACES];        /* those that were tried, and those to be tried */
	long first[PLACES];            /* which of the act's calls was there first */
	size_t nr;
	long count;                    /* calls of this act so far */
	enum kind kind;
	bool noting, failing, happened;
	long target;
	char call[32];                 /* that failed */
	void *by[8];                   /* who called it, for addr2line */
	int depth;
} now;

static pthread_mutex_t places = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile int own;          /* not the library's business */

extern char __executable_start[], etext[];

/* Who called whom, as far as it is code of ours. */
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

/* The last few of them, as addresses in the program. */
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

/* Is this the one that fails? */
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

/* What the shim of the crash tests asks, and what the library's seam does. */
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
 * Memory is tight: a buffer has room for what is in it and no more, so that
 * whatever is added to one may be what there is no memory for.
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
