/*
 * tests/conformance/suite_world.h: what the cases share: a store for each case,
 * ways to fill and read a log, and lines that are hard to store correctly.
 */
#ifndef TESTS_CONFORMANCE_SUITE_WORLD_H
#define TESTS_CONFORMANCE_SUITE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"
#include "store_suite.h"

#include "../lib/scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

struct fixture {
	const struct store_kind *kind;
	char dir[256];
	struct grove_store *st;
	unsigned traced;         /* lines that the trace has reported; atomic */
	struct grove_detail d;
};

/* Checks that a call returned `code`; if that is an error, there must be a message. */
void check(struct fixture *f, int rc, int code, const char *what, const char *file, int line);

#define FAILS(code, call) check(f, call, code, #call, __FILE__, __LINE__)
#define OK(call) FAILS(0, call)

struct grove_key key_of(const char *project, const char *session);
struct grove_store_log *open_log(struct fixture *f, struct grove_key key, unsigned flags);
/* Creates a log with these lines, open for writing. */
struct grove_store_log *make_log(struct fixture *f, struct grove_key key, const char *const *line,
				 size_t nr);
int add(struct fixture *f, struct grove_store_log *log, struct grove_slice line, uint64_t expect,
	struct grove_store_appended *out);
uint64_t tail_of(struct fixture *f, struct grove_store_log *log);
uint64_t generation_of(struct fixture *f, struct grove_store_log *log);

struct read_line {
	uint64_t pos;
	struct grove_buf bytes;
};

struct read_lines {
	struct read_line *line;
	size_t nr, cap;
	bool open;        /* the last line has no LF yet */
};

/*
 * Reads from `pos` to `until` with a buffer of `cap` bytes, enlarged only where the store asks for
 * it.
 */
struct read_lines read_lines(struct fixture *f, struct grove_store_log *log, uint64_t pos,
			     uint64_t until, size_t cap);
struct read_lines read_all(struct fixture *f, struct grove_store_log *log, size_t cap);
void free_lines(struct read_lines *l);
void assert_line(const struct read_line *x, struct grove_slice want);
void assert_log(struct fixture *f, struct grove_store_log *log, const char *const *line, size_t nr);

#define LINES(...) (const char *const[]){ __VA_ARGS__ }, ARRAY(((const char *const[]){ __VA_ARGS__ }))

/* Returns a record with the members that a dialect would have filled in. */
struct grove_store_record entry_of(const char *line, const char *id, const char *parent);

/* The lines for a rewrite; start with { .rec = …, .nr = … }. */
struct rewriting {
	const struct grove_store_record *rec;
	size_t nr, at;
};

int next_rewritten(void *payload, struct grove_store_record *rec);

/* Lines that a careless store would damage. */
struct hard {
	struct grove_slice line[16];
	size_t nr;
	char every[255];
	char *huge;
};

#define HARD_HUGE 9        /* the index of the line of 3 MB */

/* The caller frees `huge`. */
void hard_make(struct hard *h);

/* The cases of the other files. */
extern const struct CMUnitTest line_cases[], name_cases[], change_cases[], lease_cases[];
extern const size_t nr_line_cases, nr_name_cases, nr_change_cases, nr_lease_cases;
int suite_set_up(void **state);
int suite_tear_down(void **state);

#define CASE(name) { #name, name, suite_set_up, suite_tear_down, NULL }

#endif
