/*
 * sys/state.h: what a log looked like, and what can be said of it now.
 *
 * Whoever remembers something about a log (a cache, an index, an archive, a watch) keeps the
 * state that it had then, and compares. Equal states mean equal bytes only if the time was
 * settled when the log was read: a change within one tick of the file system's clock leaves
 * the times as they are.
 */
#ifndef GROVE_SYS_STATE_H
#define GROVE_SYS_STATE_H

#include "sys/file.h"

#include <stdbool.h>
#include <stdint.h>

struct grove__log_state {
	uint64_t dev, ino;            /* which one; in a database, its base and generation */
	uint64_t size;                /* its length; in a database, its tail */
	int64_t mtime_ns, ctime_ns;   /* 0: unknown */
};

struct grove__log_state grove__state_of(const struct grove__sys_stat *st);
/* Examines a file; links are followed. 0 or a negative errno, and a state that no file has. */
int grove__state_at(const char *path, struct grove__log_state *out);
/* Nothing was done to it, if the time was settled. */
bool grove__state_same(const struct grove__log_state *a, const struct grove__log_state *b);
/* The same but for the times: enough where each change has a number, as in a database. */
bool grove__state_as_long(const struct grove__log_state *a, const struct grove__log_state *b);
/* It is the same log and not shorter, so it may have only grown. */
bool grove__state_grown(const struct grove__log_state *was, const struct grove__log_state *now);

/*
 * Returns true if whatever changes from now on will have another time than `ctime_ns`, that
 * of the last change. Ask before reading the file: it may change while it is read. A time of
 * 0, which is unknown, or in the future is not settled.
 */
bool grove__sys_settled(int64_t ctime_ns);

#endif
