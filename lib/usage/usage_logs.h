/*
 * usage/usage_logs.h: the billed replies of all logs.
 */
#ifndef GROVE_USAGE_USAGE_LOGS_H
#define GROVE_USAGE_USAGE_LOGS_H

#include "digest/read.h"
#include "logs/logs.h"

/* What is known about a log. */
struct grove__usage_log {
	const char *id, *cwd, *agent;    /* NULL: not known */
	const char *parent;              /* the session it was forked from, as its log says; NULL: none */
	int64_t time;                    /* when it began; GROVE_NO_TIME */
	bool billed;                     /* it has replies, even if all are copies */
	uint32_t owner;                  /* the session whose sub-agent it is, or itself */
	bool subs;                       /* sub-agents of it have logs */
	int64_t window;                  /* its agent counts in such windows; 0: it does not */
};

struct grove__usage_logs {
	struct grove *g;
	const struct grove_usage_options *opt;
	struct grove__logs logs;         /* sorted */
	struct grove__replies replies;
	struct grove__usage_log *all;    /* of each of these */
	struct grove__catalog *catalog;  /* NULL: none (yet) */
	grove__catalog_need need;        /* how many logs there are, once that is known */
	bool news;                       /* a log was read that the catalog did not have */
	struct grove__arena texts;
	pthread_mutex_t lock;            /* guards replies, texts and news while logs are read, and the one who is told */
};

/* The struct must not move from now on; release it even after a failure. */
void grove__usage_logs_init(struct grove__usage_logs *ls, struct grove *g,
			    const struct grove_usage_options *opt);
void grove__usage_logs_release(struct grove__usage_logs *ls);
int grove__usage_logs_read(struct grove__usage_logs *ls, struct grove_detail *d);
/* The id and the directory of the session that log `nr` counts for; NULL: not known. */
const char *grove__usage_logs_id(const struct grove__usage_logs *ls, uint32_t nr);
const char *grove__usage_logs_cwd(const struct grove__usage_logs *ls, uint32_t nr);

#endif
