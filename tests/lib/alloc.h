/*
 * tests/lib/alloc.h: makes memory allocations fail where a test wants them to.
 *
 * The linker redirects the library's allocations to the functions below (--wrap,
 * see tests/meson.build). Before including this header, in one file of the
 * program, define ALLOC_DUE as the function that is called for each allocation
 * and returns whether it is to fail.
 */
#ifndef TESTS_LIB_ALLOC_H
#define TESTS_LIB_ALLOC_H

#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
	return ALLOC_DUE() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return ALLOC_DUE() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return ALLOC_DUE() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return ALLOC_DUE() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return ALLOC_DUE() ? NULL : __real_strndup(s, n);
}

#endif
