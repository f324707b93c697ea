/*
 * catalog/list_read.h: one session, read for a list or known from an earlier one.
 */
#ifndef GROVE_CATALOG_LIST_READ_H
#define GROVE_CATALOG_LIST_READ_H

#include "catalog/listed.h"
#include "catalog/scan.h"
#include "sys/file.h"

struct grove__catalog;

/* A log to be listed. */
struct grove__list_task {
	struct grove__root *root;
	const char *project, *session, *sub;
	const char *path;                    /* or what stands for one */
	const char *url;                     /* the store's */
	struct grove__sys_stat st;           /* of its file, if it is one (grove__list_look()) */
	bool is_file;
};

/* Belongs to one thread, and reads one session after the other. */
struct grove__list_reader {
	struct grove *g;
	struct grove__catalog *catalog;      /* NULL: none */
	struct grove__scan scan;
	const struct grove__dialect *dialect;
	struct grove__arena tmp;             /* good for this session */
	bool any;                            /* lists may leave it out: it is asked for by name */
	bool ends;                           /* its two ends will do: messages need not be counted */
};

/* One session while it is read, and what came of it. */
struct grove__list_one {
	struct grove__listed l;
	struct grove__sys_stat st;           /* of its file, as it was read */
	bool known;                          /* by the catalog, whose bytes the texts are */

	const struct grove__list_task *task;
	struct grove__list_reader *reader;
	struct grove__header header;
	struct grove__summary sum;
	struct grove_store_log_stat log;
	struct grove_buf slot;               /* a title before the header */
	struct grove_buf asked;              /* what it depends on besides its own file */
	uint64_t from;                       /* where reading began */
	bool has_header, has_slot, loose, unsettled;
	bool hidden;                         /* lists leave it out */
	bool part;                           /* not all of it was read */
	uint64_t head;                       /* bytes of its beginning that were looked at */
	bool too_long;                       /* a line was passed over; the detail tells */
	uint32_t crc;                        /* of all bytes … */
	bool summed;                         /* … where they may become a mark */
};

int grove__list_reader_init(struct grove__list_reader *r, struct grove *g, struct grove__catalog *c);
void grove__list_reader_release(struct grove__list_reader *r);
/* The next log is read as one of this dialect. */
void grove__list_reader_speak(struct grove__list_reader *r, const struct grove__dialect *dialect);

/* What is its file like? The first thing to know of one; needs no reader. */
void grove__list_look(struct grove__list_task *t);
/* Is it a file without a byte, and so no session? */
bool grove__list_is_empty(const struct grove__list_task *t);
/*
 * 0; 1 if it is not one for a list; or an error, whose story is in `why` if it
 * has one. Release `x` in any case, before the next one.
 */
int grove__list_read(struct grove__list_reader *r, const struct grove__list_task *t,
		     struct grove__list_one *x, struct grove_detail *why);
/* What was read, as a list shows it; good as long as `x` is. */
struct grove_list_item grove__list_describe(const struct grove__list_one *x);
/* A file's time in ms as the dialect's agent shows it. */
int64_t grove__list_file_time(const struct grove__dialect *dialect, int64_t ns);
void grove__list_one_release(struct grove__list_reader *r, struct grove__list_one *x);

#endif
