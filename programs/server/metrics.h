/*
 * metrics.h: the figures at /metrics, in the text format of Prometheus.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server.h"

int metrics_new(struct metrics **out);
void metrics_free(struct metrics *m);

/* Counts a finished request. */
void metrics_count(struct metrics *m, const struct request *r, int64_t us, uint64_t sent);
/* Counts appended entries and the time that took. */
void metrics_append(struct metrics *m, size_t entries, int64_t us);
/* Counts a failure of a store, as opposed to a bad request. */
void metrics_store_error(struct metrics *m);
/* Counts a message from libmicrohttpd. */
void metrics_library_message(struct metrics *m);
/* Counts open event streams; `by` is 1 or -1. */
void metrics_streams(struct metrics *m, int by);

/* GET /metrics */
int get_metrics(struct request *r);

#endif
