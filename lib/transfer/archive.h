/* transfer/archive.h: what belongs to a session, and how it is archived. */
#ifndef GROVE_TRANSFER_ARCHIVE_H
#define GROVE_TRANSFER_ARCHIVE_H

#include "image/lines.h"
#include "session/session.h"

/* archive_note.c: the state after the last run */

/* A log of the archive. Only a hint: the log itself is authoritative. */
struct grove__note_log {
	char *name;              /* "": the session's own, else a subpath */
	uint64_t lines, bytes;   /* each line counted with an LF */
	uint32_t crc;            /* of those bytes */
	bool open;               /* the last line of the source had no LF */
	/* the state of the source then; all 0: it must be read again */
	struct grove__log_state seen;
};

struct grove__note {
	char *source;            /* the path that it came from; NULL: unknown */
	struct grove__note_log *logs;
	size_t nr, cap;
};

/* Where an archive puts earlier versions. */
#define GROVE__NOTE_OLDER ".older"

/* What is not a note counts as an empty one. */
int grove__note_parse(struct grove__note *n, struct grove_slice json);
int grove__note_compose(const struct grove__note *n, const char *source, const char *dialect,
			struct grove_buf *out);
/* Returns the log of that name, created if necessary; NULL when out of memory. */
struct grove__note_log *grove__note_log(struct grove__note *n, const char *name);
void grove__note_release(struct grove__note *n);

/* archive.c, archive_log.c, archive_files.c: one session being archived */

struct grove__kept_name {
	char *name;
	uint64_t size;           /* UINT64_MAX: known to be missing */
};

struct grove__archiver {
	struct grove *g;
	const struct grove__dialect *dialect;
	const char *root_dir;                  /* NULL: none */
	struct grove_store *from, *to;
	struct grove_key from_key, to_key;
	struct grove_buf project;              /* of to_key, if not that of the source */
	struct grove__note note;
	struct grove_buf note_text;            /* as it was */
	bool no_attachments;                   /* the archive cannot store them */
	bool dry;                              /* compare and count, but write nothing */
	struct grove_buf older;                /* where replaced versions go: .older/TIME, … */
	int64_t older_ms;                      /* … and that time */
	bool kept;                             /* something went there */
	struct grove__kept_name *there;        /* attachments in the archive, by name */
	size_t nr_there, cap_there;
	struct grove__blobs *blobs[2];         /* where they may be; NULL: nowhere */
	struct grove_archived *out;
	struct grove_detail *d;
	uint64_t done, total;                  /* for the progress */
};

/* Opens its dialect's blobs, and those next to a copied tree. */
int grove__archive_open_blobs(struct grove__archiver *k);
void grove__archive_release(struct grove__archiver *k);
/*
 * True if a log that was listed is gone: a copy that found something missing may also have
 * missed the store to copy to.
 */
bool grove__archive_is_gone(struct grove_store *from, const struct grove_key *key);
/* Adds the result of one session to the totals. */
void grove__archive_count(struct grove_archive_result *r, const struct grove_archived *x);
/* Returns GROVE_ECANCELLED if the caller asked to stop. */
int grove__archive_go_on(const struct grove__archiver *k);

/*
 * Updates one log, the session's own or ("subagents/…") one of those that belong to it.
 * Sets *fresh (may be NULL) if the archive had nothing of it. GROVE_ENOTFOUND if the
 * source is gone: the archive is unchanged.
 */
int grove__archive_log(struct grove__archiver *k, const char *sub, bool *fresh);
/* Reads `log` of either store; if both are files, returns lines of any length. */
int grove__archive_lines(struct grove__archiver *k, struct grove__lines *r,
			 struct grove_store_log *log, uint64_t until);
/* A log beside the one that it was copied from, or is to be. */
enum grove__compared {
	GROVE__COMPARED_SAME,
	GROVE__COMPARED_GROWN,     /* the source continues */
	GROVE__COMPARED_COMPLETED, /* the last line of the copy was half of one */
	GROVE__COMPARED_SHORTER,   /* the source ends earlier, or with half of a line that the copy has */
	GROVE__COMPARED_CHANGED
};

/*
 * Compares line by line. If the source continues, `line` is the first one that the copy lacks.
 * `open`: the last line of the copy may be half of one.
 */
int grove__archive_compare(struct grove__lines *src, struct grove__lines *copy, bool open,
			   enum grove__compared *out, struct grove_slice *line);

/* Lines on their way to a log. */
struct grove__archive_lines_to {
	struct grove_store_log *log;
	uint64_t tail;                   /* where they are appended */
	struct grove__records *records;  /* for stores with columns; NULL: there are none */
	bool blobs;                      /* what a line refers to is stored before it */
	uint64_t stored;                 /* lines so far, also after a failure */
};
/* Appends `line` and all that follow it in `r`. */
int grove__archive_append(struct grove__archiver *k, struct grove__archive_lines_to *to,
			  struct grove__lines *r, struct grove_slice line);
/* Gives a file the time of its source. */
int grove__archive_time(struct grove__archiver *k, const char *sub, int64_t mtime_ns);
/* Lists what belongs to the session, in the archive and at its source. */
int grove__archive_look(struct grove__archiver *k);
int grove__archive_beside(struct grove__archiver *k);
/* Archives the blobs that these bytes refer to. */
int grove__archive_blobs(struct grove__archiver *k, struct grove_slice bytes);
/* Makes the name that a log or an attachment gets when it is replaced. */
int grove__archive_older(struct grove__archiver *k, const char *name, struct grove_buf *out);
/* Names another place for replaced versions, because the archive has something there. */
int grove__archive_later(struct grove__archiver *k);

int grove__archive(struct grove *g, const char *what, const struct grove_archive_options *opt,
		   struct grove_archive_result *result, struct grove_detail *d);
/* The same into a store that is open. */
int grove__archive_into(struct grove *g, const char *what, struct grove_store *to,
			const struct grove_archive_options *opt,
			struct grove_archive_result *result, struct grove_detail *d);

/* hydrate.c */
int grove__session_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
			   const struct grove_source *src, uint64_t *lines,
			   struct grove_detail *d);

#endif
