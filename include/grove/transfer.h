/*
 * grove/transfer.h: sessions from one place to another: archives, copies, whole stores.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_TRANSFER_H
#define GROVE_TRANSFER_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

enum grove_remove_flags {
	GROVE_REMOVE_NO_TRASH = 1  /* do not even try the desktop's trash */
};
/* Delete a session: into the trash where the `trash` program is there. */
GROVE_API int grove_remove(struct grove *g, const char *what, unsigned flags);

/* ------------------------------------------------------------------ archive */

/*
 * Claude Code deletes sessions that have not been written to for a month. An
 * archive is a store that keeps them: the log, line by line, and all that
 * belongs to it, under the same names, so that everything that reads a session
 * reads it there. What is in an archive stays in it: where the source has lost
 * or changed lines, what the archive had is kept beside the new copy, and a
 * source that is gone changes nothing.
 */
enum grove_archive_state {
	GROVE_ARCHIVE_NEW,
	GROVE_ARCHIVE_GROWN,      /* lines or files were added */
	GROVE_ARCHIVE_UNCHANGED,
	GROVE_ARCHIVE_KEPT,       /* the source was rewritten: see `older` */
	GROVE_ARCHIVE_FAILED      /* see `why`; what could be kept was */
};

/* One session that was archived; good until the callback returns. */
struct grove_archived {
	const char *path;         /* where it came from … */
	const char *archive;      /* … and where it is kept */
	const char *session;      /* its name: the file's, in files */
	enum grove_archive_state state;
	uint64_t lines;           /* stored now, those of sub-agents included */
	uint64_t total_lines;     /* of the session's own log in the archive */
	uint64_t files;           /* stored now: attachments and blobs */
	uint64_t missing;         /* blobs that are named and could not be found */
	const char *older;        /* where what was replaced went; NULL: nothing was */
	const struct grove_detail *why;  /* NULL: it went well */
};
/* A non-zero answer ends the work and is handed back. */
typedef int grove_archive_fn(void *payload, const struct grove_archived *a);

enum grove_archive_flags {
	/* Of all sessions only those that their agent will delete before `within` has passed. */
	GROVE_ARCHIVE_EXPIRING = 1
};
struct grove_archive_options {
	size_t size;
	/*
	 * The archive: a URL or directory. NULL: $GROVE_ARCHIVE, else grove/archive
	 * below $XDG_DATA_HOME or ~/.local/share.
	 */
	const char *to;
	unsigned flags;           /* enum grove_archive_flags */
	int64_t within;           /* with GROVE_ARCHIVE_EXPIRING: ms from now; negative: however late */
	grove_archive_fn *told;   /* NULL: nobody */
	void *payload;
};

struct grove_archive_result {
	size_t size;
	uint64_t sessions;
	uint64_t added, grown, unchanged, kept, failed;  /* of these */
	uint64_t lines, files, missing;
};

/*
 * Bring an archive up to date with one session (`what` as in
 * grove_session_open(); what lies in a session's own directory means that
 * session), or with all of them (NULL). A session that fails is told of and
 * counted, and the others go on: the call returns 0. GROVE_ENOTFOUND and
 * GROVE_EAMBIGUOUS for `what`; GROVE_EINVAL, GROVE_ENOTSUP for the archive.
 * After GROVE_ECANCELLED, or a crash, everything in it is whole, and the next
 * call goes on from there.
 */
GROVE_API int grove_archive(struct grove *g, const char *what,
			    const struct grove_archive_options *opt,
			    struct grove_archive_result *result);

/* ------------------------------------------------------------------- stores */

/*
 * Copy a session (`what` as in grove_session_open()) into another store, under
 * the same key: every line as it is stored, sub-agents' logs, attachments, and
 * the blobs that it names. Its id is added to `id`, its path, if it has one
 * there, to `path`. On the disk when this returns; after a failure there is
 * nothing new. GROVE_EEXIST if the store has that session.
 */
GROVE_API int grove_copy(struct grove *g, const char *what, const char *store,
			 struct grove_buf *id, struct grove_buf *path);

/* Make what a store needs; harmless when it is there. */
GROVE_API int grove_store_init(struct grove *g, const char *store);
/*
 * Are the stores that were named to grove_open(), or by $GROVE_STORE, there to be
 * read? GROVE_ENOTFOUND for a directory that does not exist, or that has files
 * and no session; an empty one is a store. With none named there is nothing to
 * look at. (Lists take what is not there for empty: sessions may yet be made.)
 */
GROVE_API int grove_stores_exist(struct grove *g);
/* Bring its tables up to date; from and to which version (may be NULL), 0: it has none. */
GROVE_API int grove_store_upgrade(struct grove *g, const char *store, unsigned *from, unsigned *to);

/*
 * Copy all sessions of a store into another one. What is there already is
 * compared and continued; where it differs nothing is changed, and `fn` (may be
 * NULL) is told (GROVE_ECONFLICT). One that fails is counted, and the others go
 * on: the call returns 0. `result` may be NULL. After GROVE_ECANCELLED, or a
 * crash, the next call goes on from there.
 */
GROVE_API int grove_store_copy(struct grove *g, const char *from, const char *to,
			       grove_archive_fn *fn, void *payload,
			       struct grove_archive_result *result);
/* What a store holds, as `store stats --json` prints it. */
GROVE_API int grove_store_stats(struct grove *g, const char *store, struct grove_sink sink);

/* ------------------------------------------------------------------ hydrate */

/* A log that is somewhere else, line by line. */
struct grove_source {
	/*
	 * The next line, without its end: 0, 1 behind the last one, or a negative
	 * error, which ends the work. It is good until the next call.
	 */
	int (*next)(void *payload, struct grove_slice *line);
	/*
	 * Called once, when the local log is the remote one: from here on what is
	 * appended may be sent there. Not called after a failure. NULL: nobody
	 * wants to know. What it answers is handed back.
	 */
	int (*persist)(void *payload);
	void *payload;
};

enum grove_hydrate_flags {
	GROVE_HYDRATE_FORCE = 1  /* even while another process has the file open */
};
struct grove_hydrate_options {
	size_t size;
	const char *path;        /* exactly this file, or … */
	const char *id;          /* … the session of this id, … */
	const char *dialect;     /* NULL: "claude" */
	const char *cwd;         /* … of this directory; NULL: grove's */
	unsigned flags;          /* enum grove_hydrate_flags */
};

/*
 * Put a remote log in the place of the local one, atomically; in a file it is
 * nobody else's to read (0600, directories that are made 0700). *lines (may be
 * NULL) counts.
 *
 * On any failure the local log is as it was, and the detail tells why: what the
 * source answered; GROVE_ENOTFOUND if it is empty; GROVE_EJSON if one of its
 * lines is no JSON object; GROVE_ECONFLICT if the local log is being written.
 */
GROVE_API int grove_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
				    const struct grove_source *src, uint64_t *lines);

#ifdef __cplusplus
}
#endif
#endif
