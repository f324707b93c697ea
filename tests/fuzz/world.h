/*
 * tests/fuzz/world.h: an environment in memory, for targets that open sessions.
 *
 * Its stores have one session each, under world_key. FUZZ_DIALECT is the name
 * of the dialect for which the target was built.
 */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include "fuzz.h"

#include "session/session.h"

extern const struct grove_key world_key;

/* Returns the environment, which is created by the first call. Its store is empty. */
struct grove *world(const char *dialect);

/* Returns a store with the input as a log: by bytes as in a file, or by lines as in a database. */
struct grove_store *text_store_new(const char *text, size_t len);
struct grove_store *line_store_new(const char *text, size_t len);

/* Lets the log be only the first `len` bytes of the text, as if the rest was not written yet. */
void text_store_show(struct grove_store *st, size_t len);
/* Sets the log's times; 0, as at first: it has none. */
void text_store_time(struct grove_store *st, int64_t ns);
/* Reads at most so many bytes at once, as if lines were long; 0: as many as there is space for. */
void text_store_window(struct grove_store *st, size_t len);
struct grove_slice text_store_text(struct grove_store *st);
/* Returns what a store contains, with an LF behind each line that has one. */
struct grove_buf store_bytes(struct grove_store *st);

/* Opens the session; returns NULL and sets *rc if that fails for a good reason. */
struct grove_session *world_open(struct grove *g, struct grove_store *st, unsigned flags, int *rc);

enum {
	TELL_LINES = 1,         /* the bytes of entries */
	TELL_LEAF = 2,          /* the leaf, and the path to it */
	TELL_NO_CWD = 4         /* all but the directory */
};
/*
 * Returns all that a view reports about its entries as text: the tree, names,
 * labels. Fails if anything contradicts itself.
 */
struct grove_buf world_tell(struct grove_session *s, unsigned what);

/*
 * Asks all that a session can be asked, and appends entries; the answers do not matter, nor do
 * errors.
 */
void world_ask(struct grove_session *s);

/* Checks that both are the same, and releases both. */
void same_bytes(struct grove_buf *a, struct grove_buf *b, const char *what);

#endif
