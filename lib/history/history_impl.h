/* history/history_impl.h: the handle of a prompt history, for history/history*.c only. */
#ifndef GROVE_HISTORY_HISTORY_IMPL_H
#define GROVE_HISTORY_HISTORY_IMPL_H

#include "history/history_db.h"

#include <pthread.h>

/* Statements of the reading side; prepared on first use, finalized with the connection. */
struct grove__history_statements {
	sqlite3_stmt *edge, *span, *same, *row, *brief, *index, *newer;
};

struct grove_history {
	char *path;
	const struct grove__dialect *dialect; /* of a file to be created; NULL: it was not opened */
	struct grove__history_tuning tuning;

	/* reading */
	pthread_mutex_t reading;
	struct grove__history_db db;
	struct grove__history_statements st;

	/* writing: all of it is guarded by `lock`, except for what the writer has taken */
	pthread_mutex_t lock;
	pthread_cond_t wake, settled_more;
	pthread_t thread;
	bool running, closing, hurry;
	struct grove_buf queue;           /* records, one after the other */
	int64_t since;                    /* ticks of the oldest in it */
	uint64_t added, settled;          /* prompts ever queued, and done with */
	uint64_t failures;
	struct grove_detail write_detail; /* of the last failure */
	struct grove_detail detail;       /* as the caller asks for it */
};

/* history_write.c */
void grove__history_writer_stop(struct grove_history *h);
/* history_search.c: with `reading` held */
void grove__history_reader_close(struct grove_history *h);
int grove__history_reader_open(struct grove_history *h, struct grove_detail *d);

#endif
