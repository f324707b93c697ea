/*
 * metrics.c: the figures at /metrics.
 */
#include "auth.h"
#include "metrics.h"
#include "peer.h"
#include "reply.h"
#include "workers.h"
#include "route.h"

#include <stdlib.h>

#define BUCKETS 10
static const int64_t bucket_us[BUCKETS] = { 500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000, 10000000 };
static const char *const bucket_name[BUCKETS] = { "0.0005", "0.001", "0.0025", "0.005", "0.01",
						  "0.025", "0.1", "0.5", "2.5", "10" };

struct histogram {
	_Atomic uint64_t bucket[BUCKETS + 1];   /* not cumulative; the last one is for anything
	                                           longer */
	_Atomic uint64_t us;
};

struct per_route {
	_Atomic uint64_t by_class[6];           /* by status: 2 for 200 … 299 */
	struct histogram time;
};

struct metrics {
	struct per_route *route;   /* the extra one is for requests without a route */
	struct histogram append;
	_Atomic uint64_t sent, entries, store_errors, library_messages;
	atomic_int streams;
};

int metrics_new(struct metrics **out)
{
	struct metrics *m = calloc(1, sizeof(*m));

	*out = m;
	if (!m)
		return -1;
	m->route = calloc(nr_routes + 1, sizeof(*m->route));
	return m->route ? 0 : -1;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	free(m->route);
	free(m);
}

static void observe(struct histogram *h, int64_t us)
{
	int i = 0;

	while (i < BUCKETS && us > bucket_us[i])
		i++;
	h->bucket[i]++;
	h->us += (uint64_t)us;
}

void metrics_count(struct metrics *m, const struct request *r, int64_t us, uint64_t sent)
{
	struct per_route *p = &m->route[route_index(r->route)];

	p->by_class[r->status / 100 < 6 ? r->status / 100 : 5]++;
	observe(&p->time, us);
	m->sent += sent;
}

void metrics_append(struct metrics *m, size_t entries, int64_t us)
{
	m->entries += entries;
	observe(&m->append, us);
}

void metrics_store_error(struct metrics *m)
{
	m->store_errors++;
}

void metrics_library_message(struct metrics *m)
{
	m->library_messages++;
}

void metrics_streams(struct metrics *m, int by)
{
	m->streams += by;
}

static void head(struct doc *d, const char *name, const char *type, const char *about)
{
	doc_printf(d, "# HELP grove_%s %s\n# TYPE grove_%s %s\n", name, about, name, type);
}

static void simple(struct doc *d, const char *name, const char *type, const char *about, uint64_t n)
{
	head(d, name, type, about);
	doc_printf(d, "grove_%s %llu\n", name, (unsigned long long)n);
}

/* `labels` is "" or ends with a comma. */
static void put_histogram(struct doc *d, const char *name, const char *labels, const struct histogram *h)
{
	uint64_t sum = 0;

	for (int i = 0; i < BUCKETS; i++) {
		sum += h->bucket[i];
		doc_printf(d, "grove_%s_bucket{%sle=\"%s\"} %llu\n", name, labels, bucket_name[i],
			   (unsigned long long)sum);
	}
	sum += h->bucket[BUCKETS];
	doc_printf(d, "grove_%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, (unsigned long long)sum);
	/* drop the trailing comma */
	doc_printf(d, "grove_%s_sum%s%.*s%s %.6f\n", name, *labels ? "{" : "", *labels ? (int)strlen(labels) - 1 : 0,
		   labels, *labels ? "}" : "", (double)h->us / 1e6);
	doc_printf(d, "grove_%s_count%s%.*s%s %llu\n", name, *labels ? "{" : "", *labels ? (int)strlen(labels) - 1 : 0,
		   labels, *labels ? "}" : "", (unsigned long long)sum);
}

static void labels_of(char *out, size_t size, size_t i)
{
	if (i < nr_routes)
		snprintf(out, size, "method=\"%s\",route=\"%s\",", routes[i].method, routes[i].path);
	else
		snprintf(out, size, "method=\"\",route=\"\",");
}

static uint64_t requests_of(const struct per_route *p)
{
	uint64_t n = 0;

	for (int c = 0; c < 6; c++)
		n += p->by_class[c];
	return n;
}

static void put_requests(struct doc *d, const struct metrics *m)
{
	char labels[256];

	head(d, "http_requests_total", "counter", "Requests by route and class of status.");
	for (size_t i = 0; i <= nr_routes; i++) {
		labels_of(labels, sizeof(labels), i);
		for (int c = 1; c < 6; c++)
			if (m->route[i].by_class[c])
				doc_printf(d, "grove_http_requests_total{%sstatus=\"%dxx\"} %llu\n", labels, c,
					   (unsigned long long)m->route[i].by_class[c]);
	}
	head(d, "http_request_seconds", "histogram", "Time from the request line to the last byte of the reply.");
	for (size_t i = 0; i <= nr_routes; i++)
		if (requests_of(&m->route[i])) {
			labels_of(labels, sizeof(labels), i);
			put_histogram(d, "http_request_seconds", labels, &m->route[i].time);
		}
}

int get_metrics(struct request *r)
{
	const struct metrics *m = r->server->metrics;
	struct doc *d = &r->out;

	/* the figures are those of all sessions */
	if (auth_limited(&r->who))
		return reply_fail(r, GROVE_EACCESS, "this token is limited to some sessions");
	r->type = "text/plain; version=0.0.4; charset=utf-8";
	put_requests(d, m);
	simple(d, "http_sent_bytes_total", "counter", "Bytes of replies, without headers.", m->sent);
	simple(d, "connections", "gauge", "Connections that are open.", peers_count(r->server->peers));
	simple(d, "event_streams", "gauge", "Event streams that are open.", (uint64_t)m->streams);
	simple(d, "jobs_waiting", "gauge", "Requests that wait for a thread.", pool_waiting(r->server->pool));
	simple(d, "entries_appended_total", "counter", "Entries that were appended.", m->entries);
	head(d, "append_seconds", "histogram", "How long an append took.");
	put_histogram(d, "append_seconds", "", &m->append);
	simple(d, "store_errors_total", "counter", "Calls that failed because of a store.", m->store_errors);
	simple(d, "http_library_messages_total", "counter", "Warnings and errors of the HTTP library.",
	       m->library_messages);
	return 0;
}
