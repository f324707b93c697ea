/*
 * recent.h: a cache of recent replies, for clients that ask for the same thing.
 *
 * A reply about a session in a file is kept for a second, and so is a list of sessions in
 * files. Another request for the same, with the same token or none, is answered on the
 * connection's own thread after one stat(2) of the file, or of all that the list was made
 * from. So a thousand readers cost no more than one, and none of them waits for the pool.
 */
#ifndef SERVER_RECENT_H
#define SERVER_RECENT_H

#include "server.h"

#include <sys/stat.h>

struct recent;

struct grove_list;
struct opened_set;

/*
 * What a reply shows: the session, and the state of its file before it was read; or all
 * sessions, and then the list itself and who has them open.
 */
struct shown {
	char *path, *store, *cwd;    /* NULL for a list */
	struct grove_list *list;
	struct openers *openers;
	struct opened_set *open;
	struct stat file;
	uint64_t era;            /* the number of our own changes so far */
};
/* Returns NULL if out of memory or if the file does not exist. */
struct shown *shown_new(struct recent *all, const char *path, const char *store, const char *cwd);
/* Takes over a list, and who has its sessions open. */
struct shown *shown_new_list(struct recent *all, struct grove_list *l, struct openers *openers, struct opened_set *open);
void shown_free(struct shown *s);

int recent_new(struct recent **out);
void recent_free(struct recent *all);
/* Drops expired replies. Called about once a second. */
void recent_tidy(struct recent *all);

/* Returns true if the reply to `r` may be cached. Its response must then own its bytes. */
int recent_wants(const struct request *r);
/* Adds the reply; the response now belongs to the table. */
void recent_keep(struct recent *all, struct request *r, struct MHD_Response *response);
/* Queues a cached reply. Returns 0 if there is none that is still valid. */
int recent_answer(struct recent *all, struct request *r, enum MHD_Result *out);
/* Call after changing the session at this path, even in ways that its file does not show. */
void recent_forget(struct recent *all, const char *path);

#endif
