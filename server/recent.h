/*
 * recent.h: replies that were given a moment ago, for those who ask the same.
 *
 * A reply about a session that lies in a file is kept for a second. Who asks the same
 * again meanwhile, with the same token or none, gets it on the connection's own thread, after a look at the file:
 * one stat(2). A thousand readers of a session cost one, and none waits for the pool.
 */
#ifndef SERVER_RECENT_H
#define SERVER_RECENT_H

#include "server.h"

#include <sys/stat.h>

struct recent;

/* What a reply shows: which session, and its file as it was before that was read. */
struct shown {
	char *path, *store, *cwd;
	struct stat file;
	uint64_t era;            /* how many changes of ours there had been */
};
/* NULL without memory, or if the file is not there. */
struct shown *shown_new(struct recent *all, const char *path, const char *store, const char *cwd);
void shown_free(struct shown *s);

int recent_new(struct recent **out);
void recent_free(struct recent *all);
/* Drops what is too old. Called about once a second. */
void recent_tidy(struct recent *all);

/* May the reply to `r` be kept? Then its response must own its bytes. */
int recent_wants(const struct request *r);
/* Keeps it: the response is the table's from now on. */
void recent_keep(struct recent *all, struct request *r, struct MHD_Response *response);
/* Queues the reply that is kept. Returns 0 if there is none that still holds. */
int recent_answer(struct recent *all, struct request *r, enum MHD_Result *out);
/* The session at this path was changed by us, perhaps in something that is not in its file. */
void recent_forget(struct recent *all, const char *path);

#endif
