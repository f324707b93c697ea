/*
 * opened.h: which sessions are open in some process, as of a moment ago.
 *
 * Finding out means inspecting the open files of all the user's processes, so everyone who
 * asks within a short time gets the same answer.
 */
#ifndef SERVER_OPENED_H
#define SERVER_OPENED_H

#include "server.h"

struct opened {
	char *path, *id, *agent;   /* NULL if unknown */
	int64_t pid;
	int64_t since;             /* ms, or GROVE_NO_TIME */
};

/* Immutable once made. */
struct opened_set {
	unsigned refs;             /* under the lock of the openers */
	int64_t time;              /* ms: when it was made */
	size_t nr;
	struct opened *at;
};

int opened_new(struct openers **out);
void opened_free(struct openers *o);
/* Gets the current set, using `g`; give it back. */
int opened_now(struct openers *o, struct grove *g, struct opened_set **out);
/* Returns the latest set without looking again, or NULL if there is none. Give it back. */
/* Returns true if `set` is what opened_now() would give without looking. */
int opened_holds(struct openers *o, const struct opened_set *set);
struct opened_set *opened_last(struct openers *o);
void opened_give_back(struct openers *o, struct opened_set *set);
/* Finds who has the session with this path or id open, or NULL. `len` is the id's length. */
const struct opened *opened_find(const struct opened_set *set, const char *path, const char *id, size_t len);
/*
 * Writes the member `live`: {agent, since} or null. `agent` is the session's own, used if
 * the process's is unknown.
 */
void put_live(struct doc *d, const struct opened *x, const char *agent);

#endif
