/*
 * catalog/sweep.h: read every log there is, several at a time; but those that the
 * catalog knows need not be read.
 *
 *	grove__sweep_begin(&s, g);
 *	rc = grove__sweep_find(&s, g, d);
 *	if (!rc)
 *		rc = grove__sweep_read(&s, g, d);
 *	grove__sweep_release(&s);
 */
#ifndef GROVE_CATALOG_SWEEP_H
#define GROVE_CATALOG_SWEEP_H

#include "catalog/catalog.h"
#include "sys/pool.h"

struct grove__sweep_log {
	struct grove__root *root;
	const char *project, *session, *sub;
	/* URL of the store, names: no two have the same; a sub-agent's lies below its caller's */
	const char *path;
};

/* A log while it is read; belongs to one thread. */
struct grove__sweeping {
	uint32_t nr;                     /* place in `logs` */
	const struct grove__dialect *dialect;
	struct grove__header header;     /* of a log without one: its id and cwd, as far as read */
	bool has_header;
	uint64_t line;                   /* number of the line at hand, from 0 */
	struct grove__arena tmp;         /* good for this line */
	struct grove__arena keep;        /* good for this log */
	struct grove_store_log_stat st;	 /* of the log as it was read */
	void *own;                       /* the thread's, see `thread_new` */
};

struct grove__sweep {
	struct grove__sweep_log *logs;   /* by path */
	size_t nr, cap;
	struct grove__arena texts;

	/* Scan lines for what billed() wants, too. */
	bool bill;
	enum grove__purpose purpose;
	/* What a thread wants to have beside it; NULL: memory ran out. */
	void *(*thread_new)(void *payload);
	void (*thread_free)(void *payload, void *own);
	/*
	 * Bytes that `end` made of this log when it was as it is now. False: they are
	 * of no use, read it. By many threads at once, as those below.
	 */
	bool (*known)(void *payload, uint32_t nr, struct grove_slice bytes, int *rc);
	/* An entry. Other than 0 ends this log; GROVE_ENOMEM all. */
	int (*entry)(void *payload, struct grove__sweeping *at, const struct grove__json_line *l,
		     const char *line, const struct grove__entry *e);
	/*
	 * What can be read of a log was; what the catalog is to remember goes to
	 * `bytes`. 0, or what ends all.
	 */
	int (*end)(void *payload, struct grove__sweeping *at, struct grove_buf *bytes);
	/* One could not be read; one at a time. NULL: nobody is told. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *payload, *skipped_payload;

	struct grove *g;
	struct grove__catalog *catalog;  /* NULL: none (yet) */
	struct grove__pool loader;       /* a thread that reads it, if there is one; s is not moved then */
};

/* Let the catalog be read while logs are looked for. Who does not read them need not. */
void grove__sweep_begin(struct grove__sweep *s, struct grove *g);

/* Every log of every session, those of sub-agents too. `s` is zeroed but for the callbacks. */
int grove__sweep_find(struct grove__sweep *s, struct grove *g, struct grove_detail *d);
int grove__sweep_read(struct grove__sweep *s, struct grove *g, struct grove_detail *d);
/*
 * What the place of a log says of its dialect, should its bytes not tell; "" if
 * nobody needs to ask.
 */
const char *grove__sweep_around(struct grove *g, const struct grove__sweep_log *log);
/* Is a log that was read as `was`, while its place said `around`, still to be read so? */
bool grove__sweep_reads_as(struct grove *g, const struct grove__sweep_log *log,
			   const struct grove__dialect *was, struct grove_slice around);
void grove__sweep_release(struct grove__sweep *s);

#endif
