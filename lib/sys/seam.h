/*
 * sys/seam.h: the question that every call to the system asks first.
 */
#ifndef GROVE_SYS_SEAM_H
#define GROVE_SYS_SEAM_H

#include "sys/file.h"

#include <errno.h>

/* 0; GROVE__SYS_SHORT; or an errno, which is set. */
static inline int grove__sys_ask(const char *call)
{
	int n = grove__sys_fault ? grove__sys_fault(call) : 0;

	if (n > 0)
		errno = n;
	return n;
}

/* Returns true if the call is to fail, and sets errno. */
static inline bool grove__sys_faulty(const char *call)
{
	return grove__sys_ask(call) > 0;
}

#endif
