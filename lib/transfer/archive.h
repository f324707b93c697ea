/*
 * transfer/archive.h: what belongs to a session, how long it lives, and how it
 * gets into an archive.
 */
#ifndef GROVE_TRANSFER_ARCHIVE_H
#define GROVE_TRANSFER_ARCHIVE_H

#include "image/lines.h"
#include "session/session.h"

/* archive_note.c: what the last run left behind */

/* A log of the archive. A hint: the log itself is the truth. */
struct grove__note_log {
	char *name;              /* "": the session's own, else a subpath */
	uint64_t lines, bytes;   /* each line counted with an LF */
	uint32_t crc;            /* of those bytes */
	bool open;               /* the last line of the source had no LF */
	/* the source as it was then; all 0: it must be read again */
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
};

struct grove__note {
	char *source;            /* the path that it came from; NULL: not known */
	struct grove__note_log *logs;
	size_t nr, cap;
};

/* The attachment that holds it. */
#define GROVE__NOTE_NAME ".archive.json"
/* Under this an archive keeps what it had before. */
#define GROVE__NOTE_OLDER ".older"

/* What is no note is an empty one. */
int grove__note_parse(struct grove__note *n, struct grove_slice json);
int grove__note_compose(const struct grove__note *n, const char *source, const char *dialect,
			struct grove_buf *out);
/* The log of that name, a new one if need be; NULL when out of memory. */
struct grove__note_log *grove__note_log(struct grove__note *n, const char *name);
void grove__note_release(struct grove__note *n);

/* archive.c, archive_log.c, archive_files.c: one session on its way into an archive */

struct grove__kept_name {
	char *name;
	uint64_t size;           /* UINT64_MAX: looked for in vain */
};

struct grove__archiver {
	struct grove *g;
	const struct grove__dialect *dialect;
	const char *root_dir;                  /* NULL: none */
	struct grove_store *from, *to;
	struct grove_key from_key, to_key;
	struct grove_buf project;              /* of to_key, where it is not that of the source */
	struct grove__note note;
	struct grove_buf note_text;            /* as it was */
	bool no_attachments;                   /* the archive has no place for them */
	struct grove_buf older;                /* where what is replaced goes: .older/TIME */
	bool kept;                             /* something went there */
	struct grove__kept_name *there;        /* attached in the archive, by name */
	size_t nr_there, cap_there;
	struct grove__blobs *blobs[2];         /* where they may be; NULL: nowhere */
	struct grove_archived *out;
	struct grove_detail *d;
	uint64_t done, total;                  /* for the progress */
};

/* Where its dialect keeps blobs, and where they lie beside a copied tree. */
int grove__archive_open_blobs(struct grove__archiver *k);
void grove__archive_release(struct grove__archiver *k);
/* Add what came of one session to what came of all. */
void grove__archive_count(struct grove_archive_result *r, const struct grove_archived *x);
/* Has somebody asked to stop? */
int grove__archive_go_on(const struct grove__archiver *k);

/*
 * Bring one log up to date, the session's own or ("subagents/…") one of those
 * that belong to it. *fresh (may be NULL): the archive had nothing of it.
 * GROVE_ENOTFOUND if the source is gone: the archive is as it was.
 */
int grove__archive_log(struct grove__archiver *k, const char *sub, bool *fresh);
/* Read `log` of either store; where both are files, lines of any length are handed out. */
int grove__archive_lines(struct grove__archiver *k, struct grove__lines *r,
			 struct grove_store_log *log, uint64_t until);
/* Append the line at hand, which is long, at *tail, which moves; first the blobs that it names. */
int grove__archive_long(struct grove__archiver *k, struct grove_store_log *log,
			const struct grove__lines *r, uint64_t *tail, bool blobs);
/* Give a file the time that its source had. */
int grove__archive_time(struct grove__archiver *k, const char *sub, int64_t mtime_ns);
/* What lies beside the session, in the archive and at its source. */
int grove__archive_look(struct grove__archiver *k);
int grove__archive_beside(struct grove__archiver *k);
/* Blobs that these bytes name. */
int grove__archive_blobs(struct grove__archiver *k, struct grove_slice bytes);
/* One attachment; what it replaces, and does not continue, goes to `older`. */
int grove__archive_bytes(struct grove__archiver *k, const char *name, struct grove_slice bytes);

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
