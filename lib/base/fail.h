/*
 * base/fail.h: what went wrong, in enough detail to act on it.
 *
 * Functions return a code and, where the caller gave them a struct
 * grove_detail, fill it in: the first failure writes it, everybody above
 * passes the code up untouched.
 */
#ifndef GROVE_BASE_FAIL_H
#define GROVE_BASE_FAIL_H

#include "grove/types.h"

/* Fill in `d` (may be NULL) and return `code`. `path` may be NULL. */
int grove__fail(struct grove_detail *d, int code, const char *path,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same, with the line (from 1) and the byte offset where it happened. */
int grove__fail_at(struct grove_detail *d, int code, const char *path,
		   uint64_t line, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Sets the code and message for a system call that returned -err (an errno). */
int grove__fail_sys(struct grove_detail *d, int err, const char *path, const char *what);
int grove__fail_nomem(struct grove_detail *d);

/* Clears *d, unless that is NULL, and returns `d`: for the first call that may fill it in. */
struct grove_detail *grove__fail_clear(struct grove_detail *d);

#endif
