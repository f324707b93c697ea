/*
 * base/banned.h: functions that this project does without.
 *
 * The build includes this file before every source of the library and of the
 * program, so a use is a compile error that names its replacement. The system
 * headers come first: they declare what we ban.
 */
#ifndef GROVE_BASE_BANNED_H
#define GROVE_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No bound on what they write. */
#undef strcpy
#define strcpy(...) banned_strcpy__use_a_buf
#undef strcat
#define strcat(...) banned_strcat__use_a_buf
#undef stpcpy
#define stpcpy(...) banned_stpcpy__use_a_buf
#undef sprintf
#define sprintf(...) banned_sprintf__use_snprintf_or_a_buf
#undef vsprintf
#define vsprintf(...) banned_vsprintf__use_vsnprintf_or_a_buf
#undef gets
#define gets(...) banned_gets__read_the_file

/* A bound that does not mean what it seems to. */
#undef strncpy
#define strncpy(...) banned_strncpy__use_memcpy_or_a_buf
#undef strncat
#define strncat(...) banned_strncat__use_a_buf

/* State hidden in the C library. */
#undef strtok
#define strtok(...) banned_strtok__walk_a_slice
#undef gmtime
#define gmtime(...) banned_gmtime__use_gmtime_r
#undef localtime
#define localtime(...) banned_localtime__use_localtime_r
#undef ctime
#define ctime(...) banned_ctime__use_strftime
#undef asctime
#define asctime(...) banned_asctime__use_strftime

/* Stack sized by input. */
#undef alloca
#define alloca(...) banned_alloca__use_the_heap

#endif
