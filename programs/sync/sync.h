/*
 * sync.h: keeps the sessions of this machine and of a server in step.
 *
 *	http.c      requests to a server
 *	answers.c   its answers, parsed and checked
 *	remote.c    its sessions
 *	spool.c     lines of an answer, until all have arrived
 *	state.c     what is remembered
 *	table.c     which lines a log has
 *	log.c       one log on both sides: compare, carry over
 *	session.c   one session: its logs and files
 *	report.c    what was done
 *	mirror.c    keeping both in step
 *	main.c      which sessions
 *
 * docs/internals/sync.md describes how it works, and why nothing is lost or duplicated.
 */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "kit/cli.h"
#include "remote.h"
#include "state.h"

enum way {
	WAY_PUSH = 1,
	WAY_PULL = 2
};

struct totals {
	uint64_t pushed, pulled, branched, unchanged, failed;  /* sessions */
	uint64_t lines_pushed, lines_pulled, files_pushed, files_pulled;
};

struct sync {
	struct cli *c;
	struct remote remote;
	struct state state;
	const char *url;
	unsigned ways;
	int dry;
	int hydrate;
	int again;                   /* forget what is remembered */
	const char *dir;             /* of whose sessions those are taken that nobody named; NULL: of
	                                all */
	int files_here;              /* new sessions are files, not rows of a database */
	struct totals totals;
	struct out list;             /* JSON: one object for each session with something to report */
	int listed;
};

/* One session. */
struct job {
	struct sync *s;
	const char *id;
	const char *key;             /* its name on the server */
	const char *what;            /* its name here; NULL if it is not here, or unknown */
	char *found;                 /* the same, if it had to be found */
	int named;                   /* the user asked for it */
	struct grove_carry *carry;
	struct remote_session there;
	struct session_mark mark;
	char *dialect, *cwd_there, *cwd_here, *file;
	/* what was done */
	uint64_t pushed, pulled, files_pushed, files_pulled;
	int branched_here, branched_there;
	int copied_here, copied_there;   /* as a whole, so that the leaf is to be the same */
	int hydrated;                /* its own log was replaced */
	int64_t was, modified;       /* of its own log, in ms: before, and to be set in the end; 0: unknown */
	char leaf_there[256];
	unsigned failed;             /* problems */
	struct out problems;         /* JSON objects with commas */
	struct out notes;            /* the same for what was not carried over without being a
	                                failure */
};

/*
 * Brings one session in step. Returns 0, or a negative code to give up altogether (no
 * server, no memory, interrupted).
 */
int sync_session(struct sync *s, const char *what, const char *id, const char *key, int named);

/* Does a session whose directory the server calls `cwd` belong to `dir`? So it does if that is unknown. */
int sync_of_dir(const struct sync *s, const char *cwd);

/*
 * Checks that the lines of a session that is new here belong to `dir`, too. Returns 1 and
 * reports it if they do not.
 */
int sync_lines_of_dir(struct job *j, struct spool *lines);

/* log.c: handles one log. As above; problems of the log are reported. */
int sync_log(struct job *j, const char *sub, const struct remote_log *there);

/* report.c */
void report_problem(struct job *j, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void report_note(struct job *j, const char *kind, uint64_t n, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void report_session(struct job *j);
void report_totals(struct sync *s);
void report_progress(struct sync *s, const char *id);

/* mirror.c */
int mirror_run(struct sync *s, int (*all)(void *payload), void *payload);
/* Does this session belong to those that are kept in step? Answered by main.c. */
int mirror_wants(void *payload, const char *id, const char *cwd);

int sync_stopped(void);

#endif
