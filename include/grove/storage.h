/*
 * grove/storage.h: files under paths, on disk or in memory.
 *
 * For hosts whose session code stands on a `SessionStorage`, as that of xcsh
 * does: the same operations, so that such a host can be ported call by call.
 * It knows nothing of sessions but their names; who has no such code to port
 * uses <grove.h>, which looks after sessions as a whole.
 *
 *	struct grove_storage *st;
 *	struct grove_writer *w;
 *
 *	if (grove_storage_files(&st, NULL))
 *		…
 *	if (!grove_storage_open_writer(st, path, NULL, &w)) {
 *		grove_writer_write_line(w, line);
 *		grove_writer_fsync(w);
 *		if (grove_writer_close(w))
 *			…
 *	}
 *	grove_writer_free(w);
 *	grove_storage_close(st);
 *
 * Two kinds, one behaviour: what is said here holds for both, and a program
 * cannot tell them apart but by looking at the disk. In memory a path that does
 * not begin with `/` is taken from the root, `.` and `..` are taken out of it
 * as text, and everything is gone when the storage is closed.
 *
 * Errors. Functions return 0 or a negative enum grove_error; the story of the
 * last failure is in the handle, grove_storage_error(), and a writer has its
 * own. GROVE_EINVAL: a path that is NULL or empty; nothing was looked at.
 * Beyond the codes that a function names, every one may answer GROVE_EACCESS,
 * GROVE_EIO or GROVE_ENOMEM, and what makes a file GROVE_EFULL, or
 * GROVE_ENOTFOUND where the path leads through a file.
 *
 * Threads. A storage and its writers may be used by many threads at once; only
 * the error is one for all.
 *
 * Bytes. Text is UTF-8 by custom; nothing is decoded, repaired or refused.
 * Sizes are bytes. Files are made for their owner alone (0600), directories
 * too (0700), and those that a new file needs are made with it.
 */
#ifndef GROVE_STORAGE_H
#define GROVE_STORAGE_H

#include <grove.h>

#ifdef __cplusplus
extern "C" {
#endif

struct grove_storage;
struct grove_writer;

enum grove_storage_flags {
	/*
	 * write_text and rename do not wait for the disk: whole for every reader,
	 * but after a loss of power it may be the old file, or an empty one.
	 */
	GROVE_STORAGE_NO_SYNC = 1
};

struct grove_storage_options {
	size_t size;
	unsigned flags;       /* enum grove_storage_flags */
	/*
	 * The most bytes that calls which were submitted may hold before they are
	 * carried out; then GROVE_EFULL. 0: 512 MiB.
	 */
	size_t queue_max;
};

/* The file system. `opt` may be NULL. GROVE_ENOMEM. */
GROVE_API int grove_storage_files(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/* Files in memory, of this handle alone. */
GROVE_API int grove_storage_memory(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/*
 * Carries out what was submitted, then lets go. Not from a completion. Writers
 * that are still open can be used on, but not submitted to.
 */
GROVE_API void grove_storage_close(struct grove_storage *st);
/* Copies the detail of the last error of `st`; its code is 0 if there was none. */
GROVE_API void grove_storage_error(struct grove_storage *st, struct grove_detail *out);

/* --------------------------------------------------------------- operations */

/* Make a directory and those above it. GROVE_EEXIST: a file lies there. */
GROVE_API int grove_storage_ensure_dir(struct grove_storage *st, const char *dir);

/* 1 if there is a file or directory, 0 if not; a link counts for what it leads to. */
GROVE_API int grove_storage_exists(struct grove_storage *st, const char *path);

/*
 * Give a file these bytes and no others. Readers see the old file or the new
 * one, never a part (xcsh truncates the file and writes into it). A file that
 * was there keeps its mode and owner; a link stays, the file it leads to is
 * replaced. On return it is on the disk, unless GROVE_STORAGE_NO_SYNC. A writer
 * that is open on the old file is told GROVE_ESTALE with its next line: close
 * it first.
 *
 * GROVE_EFULL and the others: it is the old file. Only after GROVE_EIO it may
 * be the new one, of which nobody knows whether it is on the disk.
 */
GROVE_API int grove_storage_write_text(struct grove_storage *st, const char *path,
				       struct grove_slice text);

struct grove_storage_stat {
	size_t size;       /* of this struct; set it */
	uint64_t bytes;    /* of the file */
	int64_t mtime_ms;  /* of its last change, since 1970 */
	int64_t mtime_ns;  /* the same, as finely as it is known */
};
/* Links are followed. GROVE_ENOTFOUND. */
GROVE_API int grove_storage_stat(struct grove_storage *st, const char *path,
				 struct grove_storage_stat *out);

/*
 * The files right in `dir` whose name fits `pattern`: "*", "*" and an ending
 * ("*.jsonl"), or a name. Directories, links and names that begin with a dot
 * are left out. *paths gets `dir` and name of each, sorted by name; free() it,
 * once: it is one piece of memory.
 *
 * After any failure the list is empty, which is all that xcsh tells; here the
 * code says why. GROVE_ENOTFOUND: no such directory. GROVE_ENOTSUP: a pattern of
 * another form.
 */
GROVE_API int grove_storage_list_files(struct grove_storage *st, const char *dir,
				       const char *pattern, char ***paths, size_t *nr);

/*
 * Append a file's bytes to `out`. GROVE_ENOTFOUND, in memory too; GROVE_EINVAL
 * if it is a directory; GROVE_ETOOBIG over 1 GiB.
 */
GROVE_API int grove_storage_read_text(struct grove_storage *st, const char *path,
				      struct grove_buf *out);
/*
 * The same for the first `max` bytes. A character that these would cut in two
 * is left out: at most three bytes fewer are given.
 */
GROVE_API int grove_storage_read_text_prefix(struct grove_storage *st, const char *path,
					     size_t max, struct grove_buf *out);

/*
 * Give a file, or a directory with all in it, another name, replacing the file
 * that has it. Returns 0; 1 if there is no `from`, and then nothing happened:
 * xcsh takes that for success, and only for that (xcsh also when the place of
 * `to` is missing; here it is made). GROVE_EINVAL: one is a directory and the
 * other not, or `to` lies in `from`; GROVE_EEXIST: a directory that is not
 * empty has the name.
 */
GROVE_API int grove_storage_rename(struct grove_storage *st, const char *from, const char *to);

/* Remove a file; of a link, the link. GROVE_ENOTFOUND; GROVE_EINVAL for a directory. */
GROVE_API int grove_storage_unlink(struct grove_storage *st, const char *path);

/*
 * Remove a session's file, then the directory of its artifacts with all that is
 * in it: the path without its `.jsonl`. Links in it are removed, not followed;
 * a path that does not end so has no such directory. GROVE_ENOTFOUND if the
 * file is not there: the directory stays. When the directory cannot be removed
 * the file is gone all the same, and the message says so:
 * `Session file deleted but failed to remove artifacts directory DIR: WHY`.
 */
GROVE_API int grove_storage_delete_session_with_artifacts(struct grove_storage *st,
							  const char *path);

/* ------------------------------------------------------------------- writers */

enum grove_writer_flags {
	GROVE_WRITER_APPEND = 0,    /* "a": behind what is there */
	GROVE_WRITER_TRUNCATE = 1   /* "w": the file is emptied first */
};

/* Told of a writer's first error, once. No lock of ours is held. */
typedef void grove_writer_error_fn(void *payload, const struct grove_detail *why);

struct grove_writer_options {
	size_t size;
	unsigned flags;                   /* enum grove_writer_flags */
	grove_writer_error_fn *on_error;  /* NULL: nobody */
	void *on_error_payload;
};

/*
 * Open a file for writing lines, and make it if it is not there. `opt` may be
 * NULL. On failure *out is NULL, and `on_error` is not called.
 *
 * The first error of a writer stays: every later call returns it again and does
 * nothing, except that close and free still let go of the file. Arguments that
 * can never be right (GROVE_EINVAL) are not among these.
 */
GROVE_API int grove_storage_open_writer(struct grove_storage *st, const char *path,
					const struct grove_writer_options *opt,
					struct grove_writer **out);

/*
 * Write a line with its LF; one that lacks it gets one, an empty slice is
 * nothing. If the file ends in the middle of a line, that one is ended first.
 * On return the system has all of it: it survives our crash, not the machine's.
 * Writers of other handles and of other grove processes do not get in between.
 *
 * A write that comes up short is completed. If that fails, what was written of
 * the line is cut off again (xcsh leaves it): GROVE_EFULL and the others mean
 * that nothing of the line is in the file, only after GROVE_EIO nobody knows.
 * GROVE_ESTALE: the file was removed or replaced since it was opened, and the
 * line would be in no file at all. GROVE_EINVAL, "Writer closed", after a close.
 */
GROVE_API int grove_writer_write_line(struct grove_writer *w, struct grove_slice line);
/* All lines so far are given to the system. They are, so this tells the error, if any. */
GROVE_API int grove_writer_flush(struct grove_writer *w);
/* All lines so far are on the disk, and so is the name of a file that we made. */
GROVE_API int grove_writer_fsync(struct grove_writer *w);
/* Let go of the file. The writer's first error, whether it was told or not; again for each call. */
GROVE_API int grove_writer_close(struct grove_writer *w);
/* The code of the writer's first error, 0 if there was none, and its story (may be NULL). */
GROVE_API int grove_writer_get_error(struct grove_writer *w, struct grove_detail *out);
/* Closes if need be. */
GROVE_API void grove_writer_free(struct grove_writer *w);

/* -------------------------------------------------------- calls as structs */

/*
 * Every operation above is also a struct, which can be run at once, or handed
 * to the storage's own thread.
 *
 *	struct grove_storage_call c = { sizeof(c), GROVE_STORAGE_READ_TEXT };
 *
 *	c.path = path;
 *	rc = grove_storage_submit(st, &c, got_text, payload);
 */
enum grove_storage_op {
	GROVE_STORAGE_ENSURE_DIR,        /* path */
	GROVE_STORAGE_EXISTS,            /* path; result 1 or 0 */
	GROVE_STORAGE_WRITE_TEXT,        /* path, bytes */
	GROVE_STORAGE_STAT,              /* path; file_bytes, mtime_ms, mtime_ns */
	GROVE_STORAGE_LIST_FILES,        /* path, path2: the pattern; paths, nr_paths */
	GROVE_STORAGE_READ_TEXT,         /* path; text */
	GROVE_STORAGE_READ_TEXT_PREFIX,  /* path, max; text */
	GROVE_STORAGE_RENAME,            /* path, path2: the new name; result 0 or 1 */
	GROVE_STORAGE_UNLINK,            /* path */
	GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS, /* path */
	GROVE_STORAGE_OPEN_WRITER,       /* path, options; writer */
	GROVE_STORAGE_WRITE_LINE,        /* writer, bytes */
	GROVE_STORAGE_FLUSH,             /* writer */
	GROVE_STORAGE_FSYNC,             /* writer */
	GROVE_STORAGE_CLOSE              /* writer */
};

struct grove_storage_call {
	size_t size;
	enum grove_storage_op op;

	/* what is asked */
	const char *path;
	const char *path2;
	struct grove_slice bytes;
	size_t max;
	const struct grove_writer_options *options;

	/* asked by the calls of a writer, answered by GROVE_STORAGE_OPEN_WRITER */
	struct grove_writer *writer;

	/* what is answered */
	int result;                         /* as the function returns it */
	const struct grove_detail *detail;  /* of a failed call, for its completion; else NULL */
	uint64_t file_bytes;
	int64_t mtime_ms, mtime_ns;
	struct grove_buf text;              /* appended to */
	char **paths;
	size_t nr_paths;
};

/*
 * Carry out a call now, on this thread; returns its result. What is answered
 * belongs to the caller, as with the functions. Calls that were submitted are
 * not waited for, except those of the same writer: its lines keep their order.
 */
GROVE_API int grove_storage_run(struct grove_storage *st, struct grove_storage_call *call);

/*
 * The completion of a call, on the storage's thread. `call` is a copy of what
 * was submitted, with its answers, and lives until the completion returns. What
 * it wants to keep of `text` and `paths` it takes, and leaves an empty buffer
 * and NULL; the rest is released. A new `writer` is its own. It may submit, and
 * run calls; it must not close the storage. Others wait while it is at work.
 */
typedef void grove_storage_done_fn(void *payload, struct grove_storage_call *call);

/*
 * Hand a call to the storage's thread. Calls are carried out one after the
 * other in the order in which they were submitted; each is done, and its
 * completion has returned, before the next begins. Strings, bytes and options
 * are copied, the caller may forget them at once. `done` may be NULL if nobody
 * wants to know, but not to open a writer.
 *
 * Returns 0 if it will be carried out, once, whatever becomes of it. Else
 * nothing will happen and `done` is not called: GROVE_EINVAL (no such
 * operation, no path, no writer or one of another storage), GROVE_EFULL (too
 * many bytes are waiting).
 */
GROVE_API int grove_storage_submit(struct grove_storage *st, const struct grove_storage_call *call,
				   grove_storage_done_fn *done, void *payload);

/*
 * Wait until everything submitted so far is done and its completions have
 * returned. GROVE_EINVAL from within a completion, which would wait for itself.
 */
GROVE_API int grove_storage_drain(struct grove_storage *st);

#ifdef __cplusplus
}
#endif
#endif
