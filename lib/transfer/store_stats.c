/* transfer/store_stats.c: statistics about a store. */
#include "image/lines.h"
#include "json/out.h"
#include "transfer/stores.h"

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
	struct grove__opened_store opened;
	struct sums all, by[DIALECTS];
	size_t nr_by;
	uint64_t subs, files, file_bytes, unreadable;
	struct large largest[LARGEST];
	size_t nr_largest;
	struct sums *now;                /* of the current session */
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
	struct grove_store_log_stat st;
	struct grove__lines r = { 0 };
	struct grove_store_record rec;
	struct grove_slice line;
	struct grove_store_log *log = NULL;
	uint64_t entries = 0;
	int rc = grove__log_open(&log, c->opened.root.store, key, GROVE_STORE_READ, NULL);

	if (!rc)
		rc = grove__log_stat(log, &st, NULL);
	if (!rc)
		rc = grove__lines_init(&r, log, st.tail, NULL);
	r.long_lines = true;
	grove__records_init(&records, c->dialect);
	while (!rc && !(rc = grove__lines_next(&r, &line))) {
		/* too long to be examined: almost certainly an entry */
		if (r.is_long) {
			entries++;
			continue;
		}
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

static int count_beside(void *payload, const char *name, uint64_t size, bool log)
{
	struct counting *c = payload;
	struct grove_key sub = { c->key.project, c->key.session, name };

	if (!log) {
		c->files++;
		c->file_bytes += size;
		return 0;
	}
	c->subs++;
	return count_log(c, &sub);
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
	struct grove_detail why;
	int rc = grove__peek_root_dialect(c->g, &c->opened.root, &c->key, &c->dialect, &why);

	if (rc) {
		c->unreadable++;
		return rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : 0;
	}
	c->now = sums_of(c, c->dialect->name);
	c->now->sessions++;
	c->own_lines = c->own_bytes = 0;
	rc = count_log(c, &c->key);
	if (!rc)
		rc = grove__beside_list(c->opened.root.store, &c->key, count_beside, c, c->d);
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

static void put_sums(struct grove__out *o, const struct sums *x)
{
	grove__out_number(o, "lines", x->lines);
	grove__out_number(o, "entries", x->entries);
	grove__out_number(o, "bytes", x->bytes);
}

static void put_dialects(struct counting *c, struct grove__out *o)
{
	grove__out_open(o, "byDialect", '[');
	for (size_t i = 0; i < c->nr_by; i++) {
		grove__out_open(o, NULL, '{');
		grove__out_string(o, "dialect", c->by[i].name);
		grove__out_number(o, "sessions", c->by[i].sessions);
		put_sums(o, &c->by[i]);
		grove__out_close(o, '}');
	}
	grove__out_close(o, ']');
}

static void put_largest(struct counting *c, struct grove__out *o)
{
	struct grove_buf name = GROVE_BUF_INIT;

	grove__out_open(o, "largest", '[');
	for (size_t i = 0; i < c->nr_largest; i++) {
		grove__out_fail(o, grove__stores_name(&c->opened, &c->largest[i].key, &name));
		grove__out_open(o, NULL, '{');
		grove__out_string(o, "path", name.ptr);
		grove__out_number(o, "lines", c->largest[i].lines);
		grove__out_number(o, "bytes", c->largest[i].bytes);
		grove__out_close(o, '}');
	}
	grove__out_close(o, ']');
	grove__buf_release(&name);
}

static int put_all(struct counting *c, struct grove_sink sink)
{
	struct grove__out o;
	int rc;

	grove__out_init(&o, sink);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "store", c->opened.root.store->url);
	grove__out_number(&o, "sessions", c->all.sessions);
	grove__out_number(&o, "subagentLogs", c->subs);
	put_sums(&o, &c->all);
	grove__out_number(&o, "attachments", c->files);
	grove__out_number(&o, "attachmentBytes", c->file_bytes);
	grove__out_number(&o, "unreadable", c->unreadable);
	put_dialects(c, &o);
	put_largest(c, &o);
	grove__out_close(&o, '}');
	grove__out_str(&o, "\n");
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
	rc = grove__stores_open(&c->opened, g, url, true, d);
	for (size_t i = 0; i < c->opened.nr && !rc; i++) {
		c->key = c->opened.keys[i];
		rc = grove__stores_go_on(g, i, c->opened.nr, d);
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
	grove__stores_close(&c->opened);
	free(c);
	return rc;
}
