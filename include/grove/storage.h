/*
 * grove/storage.h: files under paths, on disk or in memory.
 *
 * For hosts whose session code is built on a `SessionStorage`, as xcsh's is: it has
 * the same operations, so such a host can be ported call by call. It knows nothing
 * about sessions except their names. A host without such code should use <grove.h>,
 * which handles sessions as a whole.
 *
 *	struct grove_storage *st;
 *	struct grove_writer *w;
 *
 *	if (grove_storage_files(NULL, &st))
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
 * There are two kinds with the same behavior: everything here applies to both, and
 * a program can tell them apart only by looking at the disk. In memory, a path that
 * does not begin with `/` is relative to the root, `.` and `..` are resolved as
 * text, and everything is lost when the storage is closed.
 *
 * Errors. Functions return 0 or a negative enum grove_error. The handle has the
 * detail of its last failure, see grove_storage_error(), and a writer has its own. A
 * path that is NULL or empty is GROVE_EINVAL, and nothing is done. Besides the codes
 * that a function names, each may return GROVE_EACCESS, GROVE_EIO or GROVE_ENOMEM;
 * those that create a file may return GROVE_EFULL, or GROVE_ENOTFOUND if the path
 * leads through a file.
 *
 * Threads. Many threads may use a storage and its writers at once, but they share
 * the last error.
 *
 * Bytes. Text is UTF-8 by convention; nothing is decoded, repaired or refused.
 * Sizes are in bytes. Files are created with mode 0600 and directories with 0700;
 * missing directories are created with a new file.
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
	 * write_text and rename do not wait for the disk. Readers always see a whole
	 * file, but after a power loss it may be the old one, or empty.
	 */
	GROVE_STORAGE_NO_SYNC = 1
};

struct grove_storage_options {
	size_t size;
	unsigned flags;       /* enum grove_storage_flags */
	/*
	 * The maximum number of bytes in submitted calls that wait to be run; beyond
	 * that, submitting returns GROVE_EFULL. 0: 512 MiB.
	 */
	size_t queue_max;
};

/* Opens the file system as a storage. `opt` may be NULL. Returns 0 or GROVE_ENOMEM. */
GROVE_API int grove_storage_files(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/* Opens a storage in memory that belongs to this handle alone. */
GROVE_API int grove_storage_memory(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/*
 * Runs all submitted calls, then closes the storage. Must not be called from a
 * completion. Writers that are still open remain usable, but not for submitted calls.
 */
GROVE_API void grove_storage_close(struct grove_storage *st);
/* Copies the detail of the last error of `st`; its code is 0 if there was none. */
GROVE_API void grove_storage_error(struct grove_storage *st, struct grove_detail *out);

/* --------------------------------------------------------------- operations */

/* Creates a directory and its parents. Returns GROVE_EEXIST if there is a file. */
GROVE_API int grove_storage_ensure_dir(struct grove_storage *st, const char *dir);

/* Returns 1 if there is a file or directory, 0 if not. Links are followed. */
GROVE_API int grove_storage_exists(struct grove_storage *st, const char *path);

/*
 * Replaces the contents of a file. Readers see the old file or the new one, never a
 * mixture (xcsh truncates the file and writes into it). An existing file keeps its
 * mode and owner; a link stays, and the file it refers to is replaced. The file is
 * durable when this returns, unless GROVE_STORAGE_NO_SYNC is set. A writer that is
 * open on the old file gets GROVE_ESTALE with its next line, so close it first.
 *
 * After GROVE_EFULL and other errors the old file is still there. Only after
 * GROVE_EIO it may be the new one, which may or may not be on disk.
 */
GROVE_API int grove_storage_write_text(struct grove_storage *st, const char *path,
				       struct grove_slice text);

/*
 * The same, if the file has exactly `expect_bytes` bytes, or if there is none and that
 * is 0. Otherwise returns GROVE_ECONFLICT, and nothing is done. Other grove writers are
 * kept out meanwhile.
 */
GROVE_API int grove_storage_write_text_if(struct grove_storage *st, const char *path,
					  struct grove_slice text, uint64_t expect_bytes);

struct grove_storage_stat {
	size_t size;       /* of this struct; set it */
	uint64_t bytes;    /* of the file */
	int64_t mtime_ms;  /* modification time, ms since 1970 */
	int64_t mtime_ns;  /* the same in ns, as precise as is known */
};
/* Gets size and time of a file. Links are followed. Returns 0 or GROVE_ENOTFOUND. */
GROVE_API int grove_storage_stat(struct grove_storage *st, const char *path,
				 struct grove_storage_stat *out);

/*
 * Lists the files directly in `dir` whose name matches `pattern`: "*", "*" and a suffix
 * ("*.jsonl"), or a name. Directories, links and names that begin with a dot are left
 * out. *paths gets `dir` and the name of each, sorted by name. It is a single
 * allocation: call free() once.
 *
 * After any failure the list is empty. (xcsh reports nothing else; here the code says
 * why.) Returns GROVE_ENOTFOUND if there is no such directory, GROVE_ENOTSUP for a
 * pattern of another form.
 */
GROVE_API int grove_storage_list_files(struct grove_storage *st, const char *dir,
				       const char *pattern, char ***paths, size_t *nr);

/*
 * Appends a file's bytes to `out`. Returns GROVE_ENOTFOUND, also in memory;
 * GROVE_EINVAL if it is a directory; GROVE_ETOOBIG if it has more than 1 GiB.
 */
GROVE_API int grove_storage_read_text(struct grove_storage *st, const char *path,
				      struct grove_buf *out);
/*
 * Appends the first `max` bytes. A character that would be cut in two is left out, so
 * up to three bytes fewer are appended.
 */
GROVE_API int grove_storage_read_text_prefix(struct grove_storage *st, const char *path,
					     size_t max, struct grove_buf *out);

/*
 * Appends the first `head` bytes to `first` and the last `tail` bytes to `last`, as the
 * file was at one moment. If the file is shorter than that, each gets all of it. A
 * character that would be cut in two is left out.
 */
GROVE_API int grove_storage_read_text_slices(struct grove_storage *st, const char *path, size_t head,
					     size_t tail, struct grove_buf *first,
					     struct grove_buf *last);

/*
 * Renames a file or a directory with its contents, replacing a file that has the new
 * name. Returns 0, or 1 if there is no `from`, in which case nothing happened. xcsh
 * treats a missing `from` as success, and also a missing directory of `to`, which
 * is created here. Returns GROVE_EINVAL if one is a directory and the other is not,
 * or if `to` is inside `from`; GROVE_EEXIST if the new name belongs to a directory that
 * is not empty.
 */
GROVE_API int grove_storage_rename(struct grove_storage *st, const char *from, const char *to);

/*
 * Removes a file, or a link itself. Returns GROVE_ENOTFOUND, or GROVE_EINVAL for a
 * directory.
 */
GROVE_API int grove_storage_unlink(struct grove_storage *st, const char *path);

/*
 * Removes a session's file, then the directory of its artifacts with its contents: the
 * path without `.jsonl`. A path without that suffix has no such directory. Links in it
 * are removed, not followed. Returns GROVE_ENOTFOUND if there is no file; the
 * directory then stays. If the directory cannot be removed, the file is gone all the
 * same, and the message says so:
 * `Session file deleted but failed to remove artifacts directory DIR: WHY`.
 */
GROVE_API int grove_storage_delete_session_with_artifacts(struct grove_storage *st,
							  const char *path);

/*
 * The same, if the file has exactly `expect_bytes` bytes; otherwise returns
 * GROVE_ECONFLICT, and nothing is done.
 */
GROVE_API int grove_storage_delete_session_with_artifacts_if(struct grove_storage *st, const char *path,
							     uint64_t expect_bytes);

/*
 * Puts a title into the first line of a session's file, if that line reserves room for
 * one, as oh-my-pi's does. The line keeps its length, and nothing else is written. A
 * title that is too long is truncated. Other grove writers are kept out meanwhile.
 * Returns 1 if the file does not begin with such a line, GROVE_ENOTFOUND if there is no
 * file.
 */
GROVE_API int grove_storage_set_title(struct grove_storage *st, const char *path,
				      const struct grove_title *title);

/*
 * Keeps others out of a file while you make several calls. In other storages and other
 * grove processes, writers, write_text_if, delete_session_with_artifacts_if, set_title
 * and lock wait for it, and return GROVE_ECONFLICT after 10 s. Agents take no such lock.
 * The lock belongs to the storage, not to a thread: the storage's own calls are not held
 * up, and a file that replaces the locked one is locked as well. The lock ends with
 * unlock, when the storage is closed, or with the process.
 *
 * lock returns GROVE_ENOTFOUND if there is no file, GROVE_ECONFLICT if this storage has the
 * lock already or cannot get it. unlock returns GROVE_ENOTFOUND if it has no lock under this
 * path.
 */
GROVE_API int grove_storage_lock(struct grove_storage *st, const char *path);
GROVE_API int grove_storage_unlock(struct grove_storage *st, const char *path);

/* ------------------------------------------------------------------- writers */

enum grove_writer_flags {
	GROVE_WRITER_APPEND = 0,    /* "a": write at the end */
	GROVE_WRITER_TRUNCATE = 1   /* "w": the file is emptied first */
};

/* Called once, with a writer's first error. grove holds no lock meanwhile. */
typedef void grove_writer_error_fn(void *payload, const struct grove_detail *why);

struct grove_writer_options {
	size_t size;
	unsigned flags;                   /* enum grove_writer_flags */
	grove_writer_error_fn *on_error;  /* may be NULL */
	void *on_error_payload;
};

/*
 * Opens a file for writing lines, and creates it if it does not exist. `opt` may be
 * NULL. On failure *out is NULL, and `on_error` is not called.
 *
 * The first error of a writer is sticky: every later call returns it and does
 * nothing, except that close and free still close the file. Invalid arguments
 * (GROVE_EINVAL) are not sticky.
 */
GROVE_API int grove_storage_open_writer(struct grove_storage *st, const char *path,
					const struct grove_writer_options *opt,
					struct grove_writer **out);

/*
 * Writes a line. A newline is added if it lacks one; an empty slice writes nothing. If
 * the file ends in the middle of a line, that line is ended first. When this returns,
 * the system has the line: it survives a crash of the process, not of the machine.
 * Writers of other handles and of other grove processes do not get in between.
 *
 * A short write is completed. If that fails, the part that was written is removed again
 * (xcsh leaves it), so GROVE_EFULL and other errors mean that nothing of the line is in
 * the file; only after GROVE_EIO this is unknown. Returns GROVE_ESTALE if the file was
 * removed or replaced since it was opened, because the line would be in no file at
 * all, and GROVE_EINVAL, "Writer closed", after a close.
 */
GROVE_API int grove_writer_write_line(struct grove_writer *w, struct grove_slice line);
/* Passes all lines to the system. They already are, so this only returns an earlier error. */
GROVE_API int grove_writer_flush(struct grove_writer *w);
/* Makes all lines so far durable, and the name of the file if this writer created it. */
GROVE_API int grove_writer_fsync(struct grove_writer *w);
/* Closes the file. Returns the writer's first error, whether or not it was reported. */
GROVE_API int grove_writer_close(struct grove_writer *w);
/* Returns the code of the writer's first error, or 0, and its detail (`out` may be NULL). */
GROVE_API int grove_writer_get_error(struct grove_writer *w, struct grove_detail *out);
/* Closes the writer if it is open, and frees it. */
GROVE_API void grove_writer_free(struct grove_writer *w);

/* -------------------------------------------------------- calls as structs */

/*
 * Every operation above can also be described by a struct, which is run at once or
 * submitted to the storage's own thread.
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
	GROVE_STORAGE_CLOSE,             /* writer */
	GROVE_STORAGE_READ_TEXT_SLICES,  /* path, max: of the head, max_tail; text, text_tail */
	GROVE_STORAGE_WRITE_TEXT_IF,     /* path, bytes, expect_bytes */
	GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS_IF, /* path, expect_bytes */
	GROVE_STORAGE_SET_TITLE,         /* path, title; result 0 or 1 */
	GROVE_STORAGE_LOCK,              /* path */
	GROVE_STORAGE_UNLOCK             /* path */
};

struct grove_storage_call {
	size_t size;
	enum grove_storage_op op;

	/* input */
	const char *path;
	const char *path2;
	struct grove_slice bytes;
	size_t max;
	const struct grove_writer_options *options;

	/* input of calls on a writer; output of GROVE_STORAGE_OPEN_WRITER */
	struct grove_writer *writer;

	/* output */
	int result;                         /* what the function returns */
	const struct grove_detail *detail;  /* in the completion of a failed call; else NULL */
	uint64_t file_bytes;
	int64_t mtime_ms, mtime_ns;
	struct grove_buf text;              /* appended to */
	char **paths;
	size_t nr_paths;

	/* input */
	size_t max_tail;
	uint64_t expect_bytes;
	/* output */
	struct grove_buf text_tail;         /* appended to */

	/* input */
	const struct grove_title *title;
};

/*
 * Runs a call now, on this thread, and returns its result. The output belongs to the
 * caller, as with the functions. This does not wait for submitted calls, except for
 * those of the same writer, whose lines stay in order.
 */
GROVE_API int grove_storage_run(struct grove_storage *st, struct grove_storage_call *call);

/*
 * The completion of a call, called on the storage's thread. `call` is a copy of what
 * was submitted, with the output, and is valid until the completion returns. To keep
 * `text`, `text_tail` or `paths`, take it and leave an empty buffer or NULL in its place;
 * the rest is freed. A new `writer` belongs to the completion. The completion may submit
 * and run calls, but must not close the storage. Other calls wait until it returns.
 */
typedef void grove_storage_done_fn(void *payload, struct grove_storage_call *call);

/*
 * Submits a call to the storage's thread. Calls run one after the other in the order
 * in which they were submitted; the next begins only after the completion of the
 * previous one has returned. Strings, bytes, options and the title are copied, so the
 * caller may free them at once. `done` may be NULL, except to open a writer.
 *
 * Returns 0 if the call will be run, exactly once. Otherwise nothing happens and `done`
 * is not called: GROVE_EINVAL (no such operation, no path, no writer, or a writer of
 * another storage), GROVE_EFULL (too many bytes are waiting).
 */
GROVE_API int grove_storage_submit(struct grove_storage *st, const struct grove_storage_call *call,
				   grove_storage_done_fn *done, void *payload);

/*
 * Waits until everything submitted so far is done and its completions have returned.
 * Returns GROVE_EINVAL in a completion, which would wait for itself.
 */
GROVE_API int grove_storage_drain(struct grove_storage *st);

#ifdef __cplusplus
}
#endif
#endif
