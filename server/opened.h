/*
 * opened.h: which sessions processes have open, as it was a moment ago.
 *
 * To find out means looking at the files of every process of the user, so all who ask
 * within a while get the same answer.
 */
#ifndef SERVER_OPENED_H
#define SERVER_OPENED_H

#include "server.h"

struct opened {
	char *path, *id, *agent;   /* NULL: not known */
	int64_t pid;
	int64_t since;             /* ms, or GROVE_NO_TIME */
};

/* Nobody changes it any more. */
struct opened_set {
	unsigned refs;             /* under the lock of the openers */
	int64_t time;              /* ms: when it was found out */
	size_t nr;
	struct opened *at;
};

int opened_new(struct openers **out);
void opened_free(struct openers *o);
/* Asks with `g`; give the set back. */
int opened_now(struct openers *o, struct grove *g, struct opened_set **out);
/* What was found out last, without looking; NULL: nothing yet. Give it back. */
struct opened_set *opened_last(struct openers *o);
void opened_give_back(struct openers *o, struct opened_set *set);
/* Who has the session with this path, or this id, open; NULL: nobody. `len` is of the id. */
const struct opened *opened_find(const struct opened_set *set, const char *path, const char *id, size_t len);
/* As the member `live`: {agent, since}, or null. `agent` is whose session it is, if that is not known. */
void put_live(struct doc *d, const struct opened *x, const char *agent);

#endif
