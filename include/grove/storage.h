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
 * Threads. All calls block: what a host does not want to wait for, a thread of its own does.
 * Many threads may use a storage and its writers at once, but they share the last error.
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
};

/* Opens the file system as a storage. `opt` may be NULL. Returns 0 or GROVE_ENOMEM. */
GROVE_API int grove_storage_files(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/* Opens a storage in memory that belongs to this handle alone. */
GROVE_API int grove_storage_memory(const struct grove_storage_options *opt,
				  struct grove_storage **out);
/* Writers that are still open remain usable. */
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

#ifdef __cplusplus
}
#endif
#endif
