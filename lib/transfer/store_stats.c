/*
 * transfer/store_stats.c: what a store holds, counted.
 */
#include "image/lines.h"
#include "json/out.h"
#include "transfer/stores.h"

#include "base/array.h"

#include <stdlib.h>

#define LARGEST 10
#define DIALECTS 8

struct sums {
	const char *name;
	uint64_t sessions, lines, entries, bytes;
};

struct large {
	struct grove_key key;
	uint64_t bytes, lines;
};

struct counting {
	struct grove *g;
	struct grove__opened_store shop;
	struct sums all, by[DIALECTS];
	size_t nr_by;
	uint64_t subs, files, file_bytes, unreadable;
	struct large largest[LARGEST];
	size_t nr_largest;
	struct sums *now;                /* of the session at hand */
	const struct grove__dialect *dialect;
	struct grove_key key;
	uint64_t own_lines, own_bytes;
	struct grove_detail *d;
};

static struct sums *sums_of(struct counting *c, const char *name)
{
	for (size_t i = 0; i < c->nr_by; i++)
		if (!strcmp(c->by[i].name, name))
			return &c->by[i];
	if (c->nr_by == DIALECTS)
		return &c->by[DIALECTS - 1];
	c->by[c->nr_by].name = name;
	return &c->by[c->nr_by++];
}

static int count_log(struct counting *c, const struct grove_key *key)
{
	struct grove__records records;
	struct grove_log_stat st;
	struct grove__lines r = { 0 };
	struct grove_record rec;
	struct grove_slice line;
	struct grove_log *log = NULL;
	uint64_t entries = 0;
	int rc = grove__log_open(&log, c->shop.root.store, key, GROVE_LOG_READ, NULL);

	if (!rc)
		rc = grove__log_stat(log, &st, NULL);
	if (!rc)
		rc = grove__lines_init(&r, log, st.tail, NULL);
	grove__records_init(&records, c->dialect);
	while (!rc && !(rc = grove__lines_next(&r, &line))) {
		rc = grove__records_fill(&records, line, &rec);
		if (rc)
			break;
		entries += rec.kind != GROVE_KIND_HEADER && (rec.id.len || rec.kind || rec.role);
		if (!grove__lines_more(&r))
			grove__records_clear(&records);
	}
	grove__records_release(&records);
	grove__lines_release(&r);
	grove__log_close(log);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(c->d);
	if (rc != 1) {
		c->unreadable++;
		return 0;
	}
	c->now->lines += r.lines;
	c->now->bytes += st.bytes;
	c->now->entries += entries;
	c->own_lines += r.lines;
	c->own_bytes += st.bytes;
	return 0;
}

struct names {
	struct counting *c;
	char **sub;
	size_t nr, cap;
};

static int add_name(void *payload, const char *name, uint64_t size, bool log)
{
	struct names *n = payload;

	if (!log) {
		n->c->files++;
		n->c->file_bytes += size;
		return 0;
	}
	if (grove__array_room(&n->sub, &n->cap, n->nr, sizeof(*n->sub)) ||
	    !(n->sub[n->nr] = strdup(name)))
		return grove__fail_nomem(n->c->d);
	n->nr++;
	return 0;
}

static void rank(struct counting *c)
{
	struct large x = { c->key, c->own_bytes, c->own_lines };
	size_t i = c->nr_largest;

	if (i == LARGEST && c->largest[i - 1].bytes >= x.bytes)
		return;
	if (i < LARGEST)
		c->nr_largest++;
	else
		i--;
	for (; i && c->largest[i - 1].bytes < x.bytes; i--)
		c->largest[i] = c->largest[i - 1];
	c->largest[i] = x;
}

static int count_session(struct counting *c)
{
	struct names n = { .c = c };
	struct grove_detail why;
	int rc = grove__peek_root_dialect(c->g, &c->shop.root, &c->key, &c->dialect, &why);

	if (rc) {
		c->unreadable++;
		return rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : 0;
	}
	c->now = sums_of(c, c->dialect->name);
	c->now->sessions++;
	c->own_lines = c->own_bytes = 0;
	rc = count_log(c, &c->key);
	if (!rc)
		rc = grove__beside_list(c->shop.root.store, &c->key, add_name, &n, c->d);
	for (size_t i = 0; i < n.nr && !rc; i++) {
		struct grove_key sub = { c->key.project, c->key.session, n.sub[i] };

		c->subs++;
		rc = count_log(c, &sub);
	}
	while (n.nr)
		free(n.sub[--n.nr]);
	free(n.sub);
	rank(c);
	return rc;
}

static int by_bytes(const void *x, const void *y)
{
	const struct sums *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void put_number(struct grove__out *o, const char *name, uint64_t n)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (grove__buf_addf(&b, "%s%llu", name, (unsigned long long)n))
		o->rc = o->rc ? o->rc : GROVE_ENOMEM;
	else
		grove__out_str(o, b.ptr);
	grove__buf_release(&b);
}

static int put_all(struct counting *c, struct grove_sink sink)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove__out o;
	int rc;

	grove__out_init(&o, sink);
	grove__out_str(&o, "{\"store\":");
	grove__out_string(&o, c->shop.root.store->url);
	put_number(&o, ",\"sessions\":", c->all.sessions);
	put_number(&o, ",\"subagentLogs\":", c->subs);
	put_number(&o, ",\"lines\":", c->all.lines);
	put_number(&o, ",\"entries\":", c->all.entries);
	put_number(&o, ",\"bytes\":", c->all.bytes);
	put_number(&o, ",\"attachments\":", c->files);
	put_number(&o, ",\"attachmentBytes\":", c->file_bytes);
	put_number(&o, ",\"unreadable\":", c->unreadable);
	grove__out_str(&o, ",\"byDialect\":[");
	for (size_t i = 0; i < c->nr_by; i++) {
		grove__out_str(&o, i ? ",{\"dialect\":" : "{\"dialect\":");
		grove__out_string(&o, c->by[i].name);
		put_number(&o, ",\"sessions\":", c->by[i].sessions);
		put_number(&o, ",\"lines\":", c->by[i].lines);
		put_number(&o, ",\"entries\":", c->by[i].entries);
		put_number(&o, ",\"bytes\":", c->by[i].bytes);
		grove__out_str(&o, "}");
	}
	grove__out_str(&o, "],\"largest\":[");
	for (size_t i = 0; i < c->nr_largest; i++) {
		struct grove_key key = c->largest[i].key;

		if (grove__stores_name(&c->shop, &key, &name))
			o.rc = o.rc ? o.rc : GROVE_ENOMEM;
		grove__out_str(&o, i ? ",{\"path\":" : "{\"path\":");
		grove__out_string(&o, name.ptr);
		put_number(&o, ",\"lines\":", c->largest[i].lines);
		put_number(&o, ",\"bytes\":", c->largest[i].bytes);
		grove__out_str(&o, "}");
	}
	grove__out_str(&o, "]}\n");
	grove__buf_release(&name);
	rc = grove__out_finish(&o);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : rc;
}

int grove__store_stats(struct grove *g, const char *url, struct grove_sink sink,
		       struct grove_detail *d)
{
	struct counting *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return grove__fail_nomem(d);
	c->g = g;
	c->d = d;
	rc = grove__stores_open(&c->shop, g, url, true, d);
	for (size_t i = 0; i < c->shop.nr && !rc; i++) {
		c->key = c->shop.keys[i];
		rc = grove__stores_go_on(g, i, c->shop.nr, d);
		if (!rc)
			rc = count_session(c);
	}
	for (size_t i = 0; i < c->nr_by; i++) {
		c->all.sessions += c->by[i].sessions;
		c->all.lines += c->by[i].lines;
		c->all.entries += c->by[i].entries;
		c->all.bytes += c->by[i].bytes;
	}
	if (c->nr_by)
		qsort(c->by, c->nr_by, sizeof(*c->by), by_bytes);
	if (!rc)
		rc = put_all(c, sink);
	grove__stores_close(&c->shop);
	free(c);
	return rc;
}
