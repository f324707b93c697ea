/*
 * metrics.h: what /metrics tells, in the text format of Prometheus.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server.h"

int metrics_new(struct metrics **out);
void metrics_free(struct metrics *m);

/* A request ended. */
void metrics_count(struct metrics *m, const struct request *r, int64_t us, uint64_t sent);
/* Entries were appended, in that time. */
void metrics_append(struct metrics *m, size_t entries, int64_t us);
/* A call of the library failed on a store (not for what was asked). */
void metrics_store_error(struct metrics *m);
/* libmicrohttpd had something to say. */
void metrics_library_message(struct metrics *m);
/* Event streams that are open: 1 or -1. */
void metrics_streams(struct metrics *m, int by);

/* GET /metrics */
int get_metrics(struct request *r);

#endif
