/*
 * digest/read.h: what one reading of a log finds, or an earlier one found.
 *
 *	grove__digest_reader_init(&r, g, catalog, 1 << CHAPTER_LIST);
 *	grove__logs_look(&task, NULL);
 *	rc = grove__digest_read(&r, &task, &x, &why);
 *	… x.l, x.replies …
 *	grove__digest_read_release(&r, &x);
 */
#ifndef GROVE_DIGEST_READ_H
#define GROVE_DIGEST_READ_H

#include "digest/billed.h"
#include "digest/catalog.h"
#include "digest/digest.h"
#include "digest/outline.h"
#include "digest/scan.h"
#include "logs/logs.h"

#define GROVE__ENDS_FROM ((uint64_t)256 << 10)  /* a shorter log is read as a whole */
/* What a list that is bounded reads of one log. */
#define GROVE__DIGEST_MOST ((uint64_t)128 << 20)

/* Belongs to one thread, and reads one log after the other. It must not move. */
struct grove__digest_reader {
	struct grove *g;
	struct grove__catalog *catalog;      /* NULL: none */
	unsigned chapters;                   /* what is asked for: bits of CHAPTER_LIST and CHAPTER_REPLIES */
	struct grove__scan scan;
	const struct grove__dialect *dialect;
	struct grove__json_member members[GROVE__JSON_WANT_MAX];   /* its, of lines and of bills */
	struct grove__replies own;           /* of this log */
	struct grove__outline outline;       /* of this log */
	struct grove__arena tmp;             /* good for this log */
	struct grove__arena line;            /* good for one line */
	bool any;                            /* named by the caller: lists may leave it out */
	/* Of a log of this size or more the two ends suffice: messages are not counted; 0: of none. */
	uint64_t ends_from;
	bool recalls;                        /* what is known counts unchecked; the others were not looked at */
	const char *cwd;                     /* the directory whose sessions are listed; NULL: all */
	/* The last directory that a session named, and whether it was the one asked for. */
	struct grove_buf named;
	const struct grove__dialect *named_by;
	bool belonged;
	/* The last location that was asked for its dialect, and the answer. */
	const struct grove__root *likely_root;
	const char *likely_project;
	const struct grove__dialect *likely;
};

/* One log while it is read, and the result. */
struct grove__digest_one {
	struct grove__digest l;              /* if CHAPTER_LIST was asked for, or it was read */
	struct grove__billed_log billed;     /* if CHAPTER_REPLIES was asked for … */
	struct grove_slice replies;          /* … the same, packed */
	bool shaped;                         /* it was read, and the reader's outline is its shape */
	struct grove__log_state st;          /* of its file, as it was read */
	bool known;                          /* by the catalog, which owns the texts */

	const struct grove__log_at *task;
	struct grove__digest_reader *reader;
	struct grove__header header;
	struct grove__summary sum;
	struct grove_store_log_stat log;
	struct grove_buf slot;               /* a title before the header */
	struct grove_buf asked;              /* other files that it depends on */
	uint64_t from, lines;                /* where reading began, and how many lines are before that */
	bool bills;                          /* what was billed is noted, too: */
	const char *billed_to, *origin;      /* what its first replies say; NULL: nothing */
	struct grove_buf packed;
	bool has_header, has_slot, loose, unsettled;
	const char *other;                   /* the kind of log it is instead, if that is known */
	bool hidden;                         /* lists leave it out */
	bool alone;                          /* what is beside it was not asked for */
	bool part;                           /* not all of it was read */
	uint64_t head;                       /* bytes of its beginning that were read */
	bool too_long;                       /* a line was skipped; the detail says which */
	uint32_t crc;                        /* of all bytes … */
	bool summed;                         /* … where they may become a mark */
};

int grove__digest_reader_init(struct grove__digest_reader *r, struct grove *g, struct grove__catalog *c,
			      unsigned chapters);
void grove__digest_reader_release(struct grove__digest_reader *r);
/* Sets the dialect of the next log. */
void grove__digest_reader_speak(struct grove__digest_reader *r, const struct grove__dialect *dialect);

/*
 * Reads all chapters if one that is asked for is not known. Its file comes examined (grove__logs_look()),
 * unless the reader recalls. Returns 0; 1 if it is not for
 * a list; or an error, with its detail in `why` if there is one. Release `x` in any case,
 * before the next one.
 */
int grove__digest_read(struct grove__digest_reader *r, struct grove__log_at *t,
		     struct grove__digest_one *x, struct grove_detail *why);
/*
 * As grove__root_belongs(), for what was read. The sessions of a directory mostly come
 * together, and comparing paths takes longer than all else; so the last answer is kept.
 * `cwd` is always the same for a reader.
 */
int grove__digest_belongs(struct grove__digest_reader *r, const struct grove__log_at *t,
			const struct grove__digest *l, const char *cwd);
/* Returns a file's time in ms as the dialect's agent shows it. */
int64_t grove__digest_file_time(const struct grove__dialect *dialect, int64_t ns);
void grove__digest_read_release(struct grove__digest_reader *r, struct grove__digest_one *x);

#endif
