/*
 * tests/fuzz/fuzz.h: what the fuzz targets share.
 *
 * A target is a file with one LLVMFuzzerTestOneInput(). It accepts any bytes,
 * does something with them that must succeed, and ends the program with CHECK()
 * if it did not. Built with clang and -Dfuzz=enabled, it searches for inputs
 * itself; built with replay.c, it runs known inputs.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static inline void fuzz_check(bool ok, const char *file, int line, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: this is not so: %s\n", file, line, what);
	abort();
}
#define CHECK(what) fuzz_check(what, __FILE__, __LINE__, #what)

/* malloc() that does not fail; an empty block is one byte long. */
static inline void *fuzz_alloc(size_t len)
{
	void *p = malloc(len ? len : 1);

	CHECK(p != NULL);
	return p;
}

/*
 * Tell the address sanitizer, if there is one, that nobody may touch these bytes, or that everybody
 * may again.
 */
void __asan_poison_memory_region(const volatile void *p, size_t len) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *p, size_t len) __attribute__((weak));

static inline void fuzz_forbid(const void *p, size_t len)
{
	if (__asan_poison_memory_region)
		__asan_poison_memory_region(p, len);
}

static inline void fuzz_allow(const void *p, size_t len)
{
	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(p, len);
}

/* Returns a number that depends on the input, to choose where to cut it and what to do. */
static inline uint64_t fuzz_number(const uint8_t *bytes, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

#endif
