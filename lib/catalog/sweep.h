/*
 * catalog/sweep.h: reads all logs, several at a time, except those the catalog knows.
 *
 *	grove__sweep_begin(&s, g);
 *	rc = grove__sweep_find(&s, g, d);
 *	if (!rc)
 *		rc = grove__sweep_read(&s, g, d);
 *	grove__sweep_release(&s);
 */
#ifndef GROVE_CATALOG_SWEEP_H
#define GROVE_CATALOG_SWEEP_H

#include "digest/catalog.h"
#include "logs/logs.h"
#include "sys/pool.h"

/* A log while it is read; belongs to one thread. */
struct grove__sweeping {
	uint32_t nr;                     /* place among those found */
	const struct grove__dialect *dialect;
	struct grove__header header;     /* if it has none: its id and cwd, as far as read */
	bool has_header;
	uint64_t line;                   /* number of the current line, from 0 */
	struct grove__arena tmp;         /* good for this line */
	struct grove__arena keep;        /* good for this log */
	struct grove_store_log_stat st;	 /* of the log as it was read */
	void *own;                       /* the thread's, see `thread_new` */
};

struct grove__sweep {
	struct grove__logs found;        /* sorted */

	/* Scan lines for the members of billed(), too. */
	bool bill;
	enum grove__purpose purpose;
	/* Makes the data of a thread. NULL: out of memory. */
	void *(*thread_new)(void *payload);
	void (*thread_free)(void *payload, void *own);
	/*
	 * Receives the bytes that `end` made of this log, which has not changed since.
	 * Returns false if they are of no use and it must be read. Called by many
	 * threads at once, like those below.
	 */
	bool (*known)(void *payload, uint32_t nr, struct grove_slice bytes, int *rc);
	/* Receives an entry. A non-zero result ends this log; GROVE_ENOMEM ends everything. */
	int (*entry)(void *payload, struct grove__sweeping *at, const struct grove__json_line *l,
		     const char *line, const struct grove__entry *e);
	/*
	 * Called after all that can be read of a log was. What the catalog should
	 * remember goes into `bytes`. Returns 0, or an error that ends everything.
	 */
	int (*end)(void *payload, struct grove__sweeping *at, struct grove_buf *bytes);
	/* Called for each log that could not be read, one at a time; may be NULL. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *payload, *skipped_payload;

	struct grove *g;                 /* for the loader */
	struct grove__catalog *catalog;  /* NULL: none (yet) */
	struct grove__pool loader;       /* a thread that reads it, if any; then `s` stays put */
	grove__catalog_need need;        /* how many logs there are, once that is known */
};

/* Lets the catalog be read while logs are being found. Not needed if they are not read. */
void grove__sweep_begin(struct grove__sweep *s, struct grove *g);

/*
 * Finds every log of every session, including those of sub-agents. `s` is zeroed except
 * for the callbacks.
 */
int grove__sweep_find(struct grove__sweep *s, struct grove *g, struct grove_detail *d);
int grove__sweep_read(struct grove__sweep *s, struct grove *g, struct grove_detail *d);
/*
 * Returns the dialect that the location of a log suggests, in case its bytes do not
 * tell; "" if that is not needed.
 */
const char *grove__sweep_around(struct grove *g, const struct grove__log_at *log);
/*
 * True if a log that was read as `was`, while its location suggested `around`, is still
 * to be read that way.
 */
bool grove__sweep_reads_as(struct grove *g, const struct grove__log_at *log,
			   const struct grove__dialect *was, struct grove_slice around);
void grove__sweep_release(struct grove__sweep *s);

#endif
