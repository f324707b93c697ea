/*
 * grove/transfer.h: moving sessions between stores: archives, copies, whole stores.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_TRANSFER_H
#define GROVE_TRANSFER_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

enum grove_remove_flags {
	GROVE_REMOVE_NO_TRASH = 1,  /* delete, do not use the desktop's trash */
	GROVE_REMOVE_ONLY_TRASH = 2 /* move to the trash, or leave it where it is */
};
/*
 * Deletes a session: moves it to the trash if the `trash` program is installed.
 * GROVE_ENOTSUP for one that was found in the archive, or that cannot be moved to
 * the trash and may only go there.
 */
GROVE_API int grove_remove(struct grove *g, const char *what, unsigned flags);

/* ------------------------------------------------------------------ archive */

/*
 * Claude Code deletes sessions that have not been written to for a month. An
 * archive is a store that preserves them: the log, line by line, and everything
 * that belongs to it, under the same names, so that any reader of sessions can
 * read them there. Nothing in an archive is ever lost: if the source has lost or
 * changed lines, the archive's version is saved next to the new copy, and a source
 * that has been deleted changes nothing.
 */
enum grove_archive_state {
	GROVE_ARCHIVE_NEW,
	GROVE_ARCHIVE_GROWN,      /* lines or files were added */
	GROVE_ARCHIVE_UNCHANGED,
	GROVE_ARCHIVE_KEPT,       /* the source was rewritten; `older` has the old version */
	GROVE_ARCHIVE_FAILED      /* see `why`; as much as possible was archived */
};

/* One archived session; valid until the callback returns. */
struct grove_archived {
	const char *path;         /* where it came from … */
	const char *archive;      /* … and where it is archived */
	const char *session;      /* its name: the file's, in files */
	enum grove_archive_state state;
	uint64_t lines;           /* stored by this call, including those of sub-agents */
	uint64_t total_lines;     /* of the session's own log in the archive */
	uint64_t files;           /* stored by this call: attachments and blobs */
	uint64_t missing;         /* blobs that lines refer to but that were not found */
	const char *older;        /* where the replaced version is; NULL: none */
	const struct grove_detail *why;  /* NULL: success */
	uint64_t bytes;           /* of these lines and files */
};
/* A non-zero result ends the work and is returned by the call. */
typedef int grove_archive_fn(void *payload, const struct grove_archived *a);

enum grove_archive_flags {
	/* Of all sessions, only those that their agent will delete within `within` ms. */
	GROVE_ARCHIVE_EXPIRING = 1,
	/* Report what would be archived, and write nothing. */
	GROVE_ARCHIVE_DRY_RUN = 2
};
struct grove_archive_options {
	size_t size;
	/*
	 * The archive: a URL or directory. NULL: $GROVE_ARCHIVE, else grove/archive
	 * below $XDG_DATA_HOME or ~/.local/share.
	 */
	const char *to;
	unsigned flags;           /* enum grove_archive_flags */
	int64_t within;           /* with GROVE_ARCHIVE_EXPIRING: ms from now; negative: any time */
	grove_archive_fn *told;   /* called after each session; may be NULL */
	void *payload;
};

struct grove_archive_result {
	size_t size;
	uint64_t sessions;
	uint64_t added, grown, unchanged, kept, failed;  /* of these */
	uint64_t lines, files, missing;
	uint64_t bytes;           /* of these lines and files */
};

/*
 * Updates an archive with one session, or with all of them if `what` is NULL. `what` is
 * as in grove_session_open(); a path inside a session's own directory means that
 * session. A session that fails is reported and counted, the others continue, and
 * the call returns 0. GROVE_ENOTFOUND and GROVE_EAMBIGUOUS are about `what`,
 * GROVE_EINVAL and GROVE_ENOTSUP about the archive. After GROVE_ECANCELLED or a
 * crash, everything in the archive is whole, and the next call continues from there.
 */
GROVE_API int grove_archive(struct grove *g, const char *what,
			    const struct grove_archive_options *opt,
			    struct grove_archive_result *result);

/* Appends the URL of the archive that `to` names, as in struct grove_archive_options. */
GROVE_API int grove_archive_url(struct grove *g, const char *to, struct grove_buf *out);

/*
 * Copies an archived session back to where its agent has its sessions, or (`dir` other
 * than NULL) into that directory, with everything that belongs to it. Its file is new, so
 * the agent will not delete it soon. `what` is as in grove_session_open(). *out is a list
 * of one: the session as it is there.
 *
 * Returns 0; GROVE_EEXIST if the session is already there; GROVE_EINVAL if it is not in
 * an archive; GROVE_ENOTFOUND and GROVE_EAMBIGUOUS as grove_find().
 */
struct grove_list;
GROVE_API int grove_restore(struct grove *g, const char *what, const char *dir, struct grove_list **out);

/* ------------------------------------------------------------------- stores */

/*
 * Copies a session (`what` is as in grove_session_open()) into another store under the
 * same key: every line as it is stored, logs of sub-agents, attachments, and the
 * blobs it refers to. Appends its id to `id`, and its path, if it has one there, to
 * `path`. The copy is durable when this returns; after a failure there is nothing
 * new. Returns GROVE_EEXIST if the store already has that session.
 */
GROVE_API int grove_copy(struct grove *g, const char *what, const char *store,
			 struct grove_buf *id, struct grove_buf *path);

/* A store of the environment. Members are valid as long as the handle. */
struct grove_store_about {
	const char *url;     /* without a password */
	const char *agent;   /* whose sessions are there, if grove found it by itself; else NULL */
	const char *dir;     /* NULL: it is not a directory */
	/*
	 * It did not answer when a list, a search or a count of usage by this handle last
	 * asked it, so its sessions were left out.
	 */
	int away;
};
typedef int grove_store_fn(void *payload, const struct grove_store_about *s);
/*
 * Reports each store that is searched for sessions, whether it has any or not; an
 * agent's directory only if it exists. A non-zero result of `fn` ends this and is
 * returned.
 */
GROVE_API int grove_store_each(struct grove *g, grove_store_fn *fn, void *payload);
/* Creates what a store needs, such as tables; does nothing if it exists. */
GROVE_API int grove_store_init(struct grove *g, const char *store);
/*
 * Checks that the stores named to grove_open() or by $GROVE_STORE exist. Returns
 * GROVE_ENOTFOUND for a directory or a SQLite file that does not exist, or a directory
 * that has files but no session; an empty directory is a store. If no store is named,
 * returns 0. (Lists treat a missing store as empty, since sessions may yet be created
 * there.)
 */
GROVE_API int grove_stores_exist(struct grove *g);
/*
 * Upgrades the tables of a store. *from and *to are set to the versions before and
 * after, 0 if the store has none; either pointer may be NULL.
 */
GROVE_API int grove_store_upgrade(struct grove *g, const char *store, unsigned *from, unsigned *to);

/*
 * Copies all sessions of a store into another one. A session that exists there is
 * compared and continued; if it differs, it is left alone and reported to `fn` (which
 * may be NULL) as GROVE_ECONFLICT. A session that fails is counted, the others
 * continue, and the call returns 0. `result` may be NULL. After GROVE_ECANCELLED or
 * a crash, the next call continues from there.
 */
GROVE_API int grove_store_copy(struct grove *g, const char *from, const char *to,
			       grove_archive_fn *fn, void *payload,
			       struct grove_archive_result *result);

/* Totals of some sessions of a store, including the logs of their sub-agents. */
struct grove_store_row {
	const char *name;
	uint64_t sessions, lines, entries, bytes;
};

struct grove_store_stats {
	struct grove_store_row all;                /* its name is that of the store */
	uint64_t subagent_logs, attachments, attachment_bytes;
	uint64_t unreadable;                       /* logs that could not be read */
	const struct grove_store_row *dialects;    /* most bytes first */
	size_t nr_dialects;
	const struct grove_store_row *largest;     /* sessions by their path, at most ten */
	size_t nr_largest;
};
/* Reads all sessions of a store to count what it holds. */
GROVE_API int grove_store_stats(struct grove *g, const char *store, struct grove_store_stats **out);
GROVE_API void grove_store_stats_free(struct grove_store_stats *s);
/* Appends them as `store stats --json` prints them. */
GROVE_API int grove_store_stats_json(const struct grove_store_stats *s, struct grove_buf *out);

/* ------------------------------------------------------------------ hydrate */

/* A remote log, line by line. */
struct grove_source {
	/*
	 * Gets the next line, without its newline. Returns 0, 1 after the last line, or
	 * a negative error, which ends the work. The line is valid until the next call.
	 */
	int (*next)(void *payload, struct grove_slice *line);
	/*
	 * Called once, after the local log has become the remote one: from now on,
	 * appended lines may be sent there. Not called after a failure; may be NULL. Its
	 * result is returned by grove_hydrate().
	 */
	int (*persist)(void *payload);
	void *payload;
};

enum grove_hydrate_flags {
	GROVE_HYDRATE_FORCE = 1, /* even while another process has the file open */
	GROVE_HYDRATE_NEW = 2    /* only if the local log has no line yet */
};
struct grove_hydrate_options {
	size_t size;
	const char *path;        /* exactly this file, or … */
	const char *id;          /* … the session with this id … */
	const char *dialect;     /* NULL: "claude" */
	const char *cwd;         /* … in this directory; NULL: that of `g` */
	unsigned flags;          /* enum grove_hydrate_flags */
};

/*
 * Replaces the local log with a remote one, atomically. A file is private to its owner
 * (mode 0600, created directories 0700). *lines is set to the number of lines;
 * `lines` may be NULL.
 *
 * If this fails, the local log is unchanged and the detail says why. Returns the
 * source's error; GROVE_ENOTFOUND if the source is empty; GROVE_EJSON if one of its
 * lines is not a JSON object; GROVE_ECONFLICT if the local log is being written;
 * GROVE_EEXIST with GROVE_HYDRATE_NEW if it has a line.
 */
GROVE_API int grove_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
				    const struct grove_source *src, uint64_t *lines);

#ifdef __cplusplus
}
#endif
#endif
