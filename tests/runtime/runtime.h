/*
 * tests/runtime/runtime.h: what the tests of sessions on all kinds of stores
 * share.
 *
 * The cases are written once, against <grove.h> alone, and run for each kind of
 * store. Where stores differ (file stores keep no values, and store a moved
 * leaf as a line), the row of the kind says so; the cases expect exactly that
 * and skip nothing.
 */
#ifndef TESTS_RUNTIME_RUNTIME_H
#define TESTS_RUNTIME_RUNTIME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <grove.h>

#include "../lib/scratch.h"

#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

struct kind {
	const char *name;        /* the name of each case begins with it; the provider */
	const char *url;         /* %s: a fresh directory for each case */
	const char *env;         /* a variable with the URL instead; unset: skipped */
	bool keeps;              /* values, and the leaf beside the lines; lines can be updated */
	bool shared;             /* other processes can open it */
};

struct world {
	const struct kind *kind;
	char dir[256], home[300], cwd[300], url[512], beside[300];
	struct grove *g;
	struct grove *other;     /* the environment as another process has it, if there can be one */
};

/* Creates an environment with a store of that kind, and one more store, of files, in `beside`. */
int set_up(void **state);
int tear_down(void **state);
struct grove *see_world(const struct world *w);
/* Sets all paths and URLs, once w->dir is known. */
void name_world(struct world *w, const struct kind *kind);
/*
 * Runs this program again as one of the process_*() functions below: a child
 * that was only forked must not open a database that its parent has open.
 */
pid_t start_process(const struct world *w, const char *act, const char *id);
int process_writes(const struct world *w, const char *id);
int process_scribbles(const struct world *w, const char *seed);
int process_takes_lease(const struct world *w, const char *id);

#define CASE(name) { #name, name, set_up, tear_down, NULL }

/* The cases of the other files. */
extern const struct CMUnitTest session_cases[], append_cases[], submit_cases[], update_cases[], leaf_cases[],
	snapshot_cases[], watch_cases[], watch_set_cases[], lease_cases[];
extern const size_t nr_session_cases, nr_append_cases, nr_submit_cases, nr_update_cases, nr_leaf_cases,
	nr_snapshot_cases, nr_watch_cases, nr_watch_set_cases, nr_lease_cases;

/* Checks the result of a call, and prints the error message if it is another one. */
void check(struct grove *g, int got, int want, const char *what, const char *file, int line);
#define GOT(g, call, want) check(g, call, want, #call, __FILE__, __LINE__)
#define OK(g, call) GOT(g, call, 0)

struct grove_slice text(const char *s);

/* Creates a session with nothing but its header; NULL: with a new id. */
struct grove_session *create(struct world *w, const char *id);
/* Opens the same session by another handle, as another process if that is possible. */
struct grove_session *again(struct world *w, struct grove_session *s, unsigned flags);
struct grove_view *view_of(struct grove_session *s);
const char *say(struct grove_session *s, const char *json);
/* Appends a message with the given id below the leaf. */
void add(struct grove_session *s, const char *id, const char *role);
/* The same below an entry. */
void add_below(struct grove_session *s, const char *parent, const char *id, const char *role);
/*
 * Creates a session with the messages user a, assistant b, user c, assistant d, each below the
 * last.
 */
struct grove_session *four(struct world *w);

void assert_leaf(struct grove_session *s, const char *id);
/* Asserts the ids from the root to the leaf; blanks separate them. */
void assert_path(struct grove_session *s, const char *ids);
uint64_t lines_of(struct grove_session *s);
uint64_t rev_of(struct grove_session *s);
/* Returns all bytes of the log. */
struct grove_buf raw_of(struct grove_session *s);
void assert_raw(struct grove_session *s, const struct grove_buf *want);
/* Returns the whole document on one line. */
struct grove_buf snapshot_of(struct grove_session *s, const struct grove_snapshot_options *opt);
void assert_has(const struct grove_buf *doc, const char *part);
void assert_lacks(const struct grove_buf *doc, const char *part);
/* Asserts the entry's label, or (NULL) that it has none. */
void assert_label(struct grove_session *s, const char *id, const char *label);

#endif
