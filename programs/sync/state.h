/*
 * state.h: what is remembered about a server between runs.
 *
 * For each session, how far its logs were in step: `here` lines on this machine and `there`
 * lines on the server have the same content. This only saves work, and distinguishes what
 * was removed from what is new: if it is lost, everything is compared. Its files are
 * replaced atomically, after the lines that they describe were stored.
 *
 *	$XDG_STATE_HOME/grove/sync/SERVER/server      its address, and the map of directories
 *	$XDG_STATE_HOME/grove/sync/SERVER/SESSION     one session
 */
#ifndef SYNC_STATE_H
#define SYNC_STATE_H

#include <grove.h>

struct mark {
	uint64_t seq;                /* lines in step; 0 if unknown */
	uint64_t generation;
	uint64_t last;               /* hash of the last of them; 0 if unknown */
	uint64_t hold;               /* lines from here on may be needed: leaf marks that were
	                                left out */
};

struct log_mark {
	char *sub;                   /* "" for the session's own log */
	struct mark here, there;
	uint64_t differing;          /* entries with different contents on both sides */
	int copying;                 /* a new log is being copied, and may be incomplete */
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
	char dir[4096];              /* "" if nothing can be remembered */
	struct grove_buf scope;      /* the stores of this machine that it concerns; empty for the
	                                agents' own */
	struct map *map;
	size_t nr_maps;
};

/* Reads the map of a server. Returns -1 and a message if that fails. */
int state_open(struct state *s, const char *url, char *why, size_t size);
void state_close(struct state *s);
/* Adds a pair, replacing one with the same `here` or `there`. Returns -1 if out of memory. */
int state_map(struct state *s, const char *here, const char *there);
/* Stores the map. */
int state_save(const struct state *s, const char *url, char *why, size_t size);

/* Translates a directory to the other side, by the longest match; free() it. */
char *state_there(const struct state *s, const char *cwd);
char *state_here(const struct state *s, const char *cwd);

/*
 * Loads what is known about a session; nothing is not a failure. Release it. Returns -1 if
 * out of memory.
 */
int state_load(const struct state *s, const char *id, struct session_mark *out);
void state_release(struct session_mark *m);
/* Returns -1 with errno. */
int state_store(const struct state *s, const struct session_mark *m);
struct log_mark *state_log(struct session_mark *m, const char *sub);      /* created if necessary;
                                                                             NULL if out of memory */
struct file_mark *state_file(struct session_mark *m, const char *name);   /* the same */

#endif
