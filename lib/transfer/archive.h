/*
 * transfer/archive.h: what belongs to a session, how long it lives, and how it
 * gets into an archive.
 */
#ifndef GROVE_TRANSFER_ARCHIVE_H
#define GROVE_TRANSFER_ARCHIVE_H

#include "session/session.h"

/* beside.c: what belongs to a session */

/* Are these logs files, which have times and modes of their own? */
bool grove__store_is_files(const struct grove_store *st);

/*
 * `log`: a log of its own, under the session's key with `name` as its subpath;
 * else an attachment. Non-zero ends the list and is handed back.
 */
typedef int grove__beside_fn(void *payload, const char *name, uint64_t size, bool log);
/* Everything but the session's own log. A session without anything, or that is gone: nothing. */
int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d);

/* expiry.c: what agents delete by themselves */

struct grove__expiry {
	const struct grove__dialect *dialect;  /* whose agent does so; NULL: nobody */
	struct grove_buf settings;             /* what it was told; empty: nothing */
};
int grove__expiry_of(struct grove *g, const struct grove__root *root, struct grove__expiry *out,
		     struct grove_detail *d);
void grove__expiry_release(struct grove__expiry *e);

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

struct grove__keeper {
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
int grove__keeper_open_blobs(struct grove__keeper *k);
void grove__keeper_release(struct grove__keeper *k);
/* Has somebody asked to stop? */
int grove__keeper_go_on(const struct grove__keeper *k);

/*
 * Bring one log up to date, the session's own or ("subagents/…") one of those
 * that belong to it. *fresh (may be NULL): the archive had nothing of it.
 * GROVE_ENOTFOUND if the source is gone: the archive is as it was.
 */
int grove__keep_log(struct grove__keeper *k, const char *sub, bool *fresh);
/* Give a file the time that its source had. */
int grove__keep_time(struct grove__keeper *k, const char *sub, int64_t mtime_ns);
/* What lies beside the session, in the archive and at its source. */
int grove__keep_look(struct grove__keeper *k);
int grove__keep_beside(struct grove__keeper *k);
/* Blobs that these bytes name. */
int grove__keep_blobs(struct grove__keeper *k, struct grove_slice bytes);
/* One attachment; what it replaces, and does not continue, goes to `older`. */
int grove__keep_bytes(struct grove__keeper *k, const char *name, struct grove_slice bytes);

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

/* agents.c */
int grove__agents_list(struct grove_session *s, grove_agent_fn *fn, void *payload,
		       struct grove_detail *d);
int grove__agent_get(struct grove_session *s, const char *id, bool remote, struct grove_buf *out,
		     struct grove_detail *d);
int grove__agent_put(struct grove_session *s, const char *id, bool remote, struct grove_slice json,
		     struct grove_detail *d);
/* Where the agent's files go if it has none yet. Empty: into no group. */
int grove__agent_set_group(struct grove_session *s, const char *id, const char *group,
			   struct grove_detail *d);
/* Where its log is, or is to be. GROVE_ENOTSUP where there are no paths. */
int grove__agent_path(struct grove_session *s, const char *id, struct grove_buf *out,
		      struct grove_detail *d);
int grove__agents_remote(struct grove_session *s, grove_remote_agent_fn *fn, void *payload,
			 struct grove_detail *d);

#endif
