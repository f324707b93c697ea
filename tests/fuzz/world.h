/*
 * tests/fuzz/world.h: a world in memory, for targets that open sessions.
 *
 * Its stores hold one session, under world_key. FUZZ_DIALECT is the name of the
 * dialect that the target was built for.
 */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include "fuzz.h"

#include "session/session.h"

extern const struct grove_key world_key;

/* There is one, made when it is first asked for. Its store is empty. */
struct grove *world(const char *dialect);

/* The input as a log: by bytes as in a file, or by lines as in a database. */
struct grove_store *text_store_new(const char *text, size_t len);
struct grove_store *line_store_new(const char *text, size_t len);

/* As if so much of the text was written yet. */
void text_store_show(struct grove_store *st, size_t len);
/* The log's times; 0, as it is at first: there is no such thing. */
void text_store_time(struct grove_store *st, int64_t ns);
/* Read so many bytes at once, as if lines were long; 0: as many as there is room for. */
void text_store_window(struct grove_store *st, size_t len);
struct grove_slice text_store_text(struct grove_store *st);
/* What a store holds, an LF behind each line that has one. */
struct grove_buf store_bytes(struct grove_store *st);

/* Open the session; NULL and *rc when that fails as it may. */
struct grove_session *world_open(struct grove *g, struct grove_store *st, unsigned flags, int *rc);

enum {
	TELL_LINES = 1,         /* the bytes of entries */
	TELL_LEAF = 2,          /* the leaf, and the path to it */
	TELL_NO_CWD = 4         /* all but the directory */
};
/*
 * All that a view tells about its entries, in words: the tree, names, labels.
 * Complains about what cannot be.
 */
struct grove_buf world_tell(struct grove_session *s, unsigned what);

/* All that a session is asked for, and entries more; whatever it says, and if it fails. */
void world_ask(struct grove_session *s);

/* Are both the same? Releases both. */
void same_bytes(struct grove_buf *a, struct grove_buf *b, const char *what);

#endif
