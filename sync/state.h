/*
 * state.h: what is remembered of a server between runs.
 *
 * For each session, how far its logs were in step: `here` lines of this machine and
 * `there` lines of the server have each other's. It only saves work, and tells what was
 * removed from what is new: if it is lost, everything is compared. A file of it is
 * replaced as a whole, after the lines that it speaks of were stored.
 *
 *	$XDG_STATE_HOME/grove/sync/SERVER/server      its address, and the map of directories
 *	$XDG_STATE_HOME/grove/sync/SERVER/SESSION     one session
 */
#ifndef SYNC_STATE_H
#define SYNC_STATE_H

#include <grove.h>

struct mark {
	uint64_t seq;                /* lines that are in step; 0: nothing is known */
	uint64_t generation;
	uint64_t last;               /* hash of the last of them; 0: unknown */
	uint64_t hold;               /* lines from here on may be needed: leaf marks that were left out */
};

struct log_mark {
	char *sub;                   /* "": the session's own */
	struct mark here, there;
	uint64_t differing;          /* entries that both have with other bytes */
	int copying;                 /* a new log is being copied, and may not be whole yet */
};

struct file_mark {
	char *name;
	uint64_t size, hash;
};

struct session_mark {
	char *id;
	struct log_mark *log;
	size_t nr_logs;
	struct file_mark *file;
	size_t nr_files;
};

struct map {
	char *here, *there;
};

struct state {
	char dir[4096];              /* "": nowhere to remember anything */
	struct grove_buf scope;      /* the stores of this machine that it is about; empty: the agents' own */
	struct map *map;
	size_t nr_maps;
};

/* Reads the map of a server. -1 and a sentence if it cannot be read. */
int state_open(struct state *s, const char *url, char *why, size_t size);
void state_close(struct state *s);
/* Adds a pair, in the place of one with the same `here` or `there`. -1: no memory. */
int state_map(struct state *s, const char *here, const char *there);
/* Remembers the map. */
int state_save(const struct state *s, const char *url, char *why, size_t size);

/* A directory as the other side calls it: the longest that fits; yours to free. */
char *state_there(const struct state *s, const char *cwd);
char *state_here(const struct state *s, const char *cwd);

/* What was remembered of a session; nothing is not a failure. Release it. -1: no memory. */
int state_load(const struct state *s, const char *id, struct session_mark *out);
void state_release(struct session_mark *m);
/* -1 and errno. */
int state_store(const struct state *s, const struct session_mark *m);
struct log_mark *state_log(struct session_mark *m, const char *sub);      /* made if need be; NULL: no memory */
struct file_mark *state_file(struct session_mark *m, const char *name);   /* the same */

#endif
