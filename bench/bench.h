/*
 * bench.h: what the parts of grove-bench share: a clock, a line of JSON, a
 * place for scratch files.
 */
#ifndef GROVE_BENCH_H
#define GROVE_BENCH_H

#include <grove.h>

#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------ the line of JSON */

void put_ms(const char *name, double ms);
void put_number(const char *name, double value);
void put_count(const char *name, uint64_t value);
void put_flag(const char *name, int value);
void put_text(const char *name, const char *value);

/* Only the first failure is told, as the member "error". Returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with the story of a handle; `code` 0: returns 0. */
int fail_world(struct grove *g, int code, const char *what);
int fail_session(struct grove_session *s, int code, const char *what);

/* -------------------------------------------------------------------- clocks */

double now_ms(void);
/* User and system time of this process so far. */
double cpu_ms(void);
/* The most memory that this process ever had. */
double peak_mb(void);

/* ------------------------------------------------------------------- scratch */

/* A directory of our own below $BENCH_TMP; gone at the end of the program. */
const char *scratch(void);

/* ---------------------------------------------------------------- operations */

/* Each returns 0, or what fail() returned. op_read.c: */
int op_open(const char *path, size_t n);
int op_forkfrom(const char *path, size_t n);
int op_list(const char *path, size_t n);
int op_list_all(const char *path, size_t n);
int op_limit(const char *path, size_t n);
/* op_append.c: */
int op_append(const char *path, size_t n);
int op_append_flush(const char *path, size_t n);
int op_append_sync(const char *path, size_t n);
int op_append_to(const char *path, size_t n);
/* op_usage.c: */
int op_usage(const char *path, size_t n);
/* op_claude.c: */
int op_messages(const char *path, size_t n);
int op_info(const char *path, size_t n);
int op_claude_fork(const char *path, size_t n);
/* These look into the library. op_scan.c: */
int op_scan(const char *path, size_t n);
/* op_blob.c: */
int op_blob(const char *path, size_t n);

#ifdef GROVE_BENCH_SQLITE
/* op_search.c: */
int op_search(const char *path, size_t n);
/* op_history.c: */
int op_history(const char *path, size_t n);
/* op_sqlite.c, which looks into the library, too: */
int op_sqlite_append(const char *path, size_t n);
int op_sqlite_context(const char *url, size_t n);
#endif

#ifdef GROVE_BENCH_MYSQL
/* op_mysql.c; the path is the URL of a database that is not there yet: */
int op_mysql_append(const char *url, size_t n);
int op_mysql_batch(const char *url, size_t n);
int op_mysql_context(const char *url, size_t n);
int op_mysql_snapshot(const char *url, size_t n);
#endif

/* verify.c: is `v` what the log at `path`, and its manifest if there is one, say? */
int verify(const char *path, struct grove_view *v);

#endif
