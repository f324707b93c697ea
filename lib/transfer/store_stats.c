/* transfer/store_stats.c: statistics about a store. */
#include "image/lines.h"
#include "json/out.h"
#include "transfer/stores.h"

#include <stdlib.h>

#define LARGEST 10
#define DIALECTS 8

/* What the caller gets, with the memory of its texts. */
struct result {
	struct grove_store_stats s;
	struct grove_store_row by[DIALECTS], largest[LARGEST];
	struct grove__arena texts;
};

struct counting {
	struct grove *g;
	struct grove__opened_store opened;
	struct result *out;
	struct grove_key largest[LARGEST];      /* of the same row of the result */
	struct grove_store_row own;             /* of the current session */
	const struct grove__dialect *dialect;
	struct grove_key key;
	struct grove_detail *d;
};

static struct grove_store_row *row_of(struct result *r, const char *name)
{
	size_t nr = r->s.nr_dialects;

	for (size_t i = 0; i < nr; i++)
		if (!strcmp(r->by[i].name, name))
			return &r->by[i];
	if (nr == DIALECTS)
		return &r->by[DIALECTS - 1];
	r->by[nr].name = name;
	r->s.nr_dialects++;
	return &r->by[nr];
}

static void add_row(struct grove_store_row *to, const struct grove_store_row *x)
{
	to->sessions += x->sessions;
	to->lines += x->lines;
	to->entries += x->entries;
	to->bytes += x->bytes;
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
		c->out->s.unreadable++;
		return 0;
	}
	add_row(&c->own, &(struct grove_store_row){ .lines = r.lines, .entries = entries, .bytes = st.bytes });
	return 0;
}

static int count_beside(void *payload, const char *name, uint64_t size, bool log)
{
	struct counting *c = payload;
	struct grove_key sub = { c->key.project, c->key.session, name };

	if (!log) {
		c->out->s.attachments++;
		c->out->s.attachment_bytes += size;
		return 0;
	}
	c->out->s.subagent_logs++;
	return count_log(c, &sub);
}

static void rank(struct counting *c)
{
	struct grove_store_row *rows = c->out->largest;
	size_t i = c->out->s.nr_largest;

	if (i == LARGEST && rows[i - 1].bytes >= c->own.bytes)
		return;
	if (i < LARGEST)
		c->out->s.nr_largest++;
	else
		i--;
	for (; i && rows[i - 1].bytes < c->own.bytes; i--) {
		rows[i] = rows[i - 1];
		c->largest[i] = c->largest[i - 1];
	}
	rows[i] = c->own;
	c->largest[i] = c->key;
}

static int count_session(struct counting *c)
{
	struct grove_detail why;
	int rc = grove__peek_root_dialect(c->g, &c->opened.root, &c->key, &c->dialect, &why);

	if (rc) {
		c->out->s.unreadable++;
		return rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : 0;
	}
	c->own = (struct grove_store_row){ .sessions = 1 };
	rc = count_log(c, &c->key);
	if (!rc)
		rc = grove__beside_list(c->opened.root.store, &c->key, count_beside, c, c->d);
	add_row(row_of(c->out, c->dialect->name), &c->own);
	add_row(&c->out->s.all, &c->own);
	rank(c);
	return rc;
}

static int by_bytes(const void *x, const void *y)
{
	const struct grove_store_row *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The keys are gone when the store is closed, so rows get names of their own. */
static int name_rows(struct counting *c)
{
	struct result *r = c->out;
	struct grove_buf name = GROVE_BUF_INIT;
	int rc = 0;

	r->s.all.name = grove__arena_dup(&r->texts, grove__slice_str(c->opened.root.store->url));
	for (size_t i = 0; i < r->s.nr_largest && !rc; i++) {
		rc = grove__stores_name(&c->opened, &c->largest[i], &name);
		if (!rc)
			r->largest[i].name = grove__arena_dup(&r->texts, grove__buf_slice(&name));
	}
	grove__buf_release(&name);
	return rc || r->texts.failed ? grove__fail_nomem(c->d) : 0;
}

static struct result *result_new(void)
{
	struct result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	grove__arena_init(&r->texts);
	r->s.dialects = r->by;
	r->s.largest = r->largest;
	return r;
}

void grove__store_stats_free(struct grove_store_stats *s)
{
	struct result *r = (struct result *)s;

	if (!r)
		return;
	grove__arena_release(&r->texts);
	free(r);
}

int grove__store_stats(struct grove *g, const char *url, struct grove_store_stats **out,
		       struct grove_detail *d)
{
	struct counting c = { .g = g, .d = d, .out = result_new() };
	int rc;

	*out = NULL;
	if (!c.out)
		return grove__fail_nomem(d);
	rc = grove__stores_open(&c.opened, g, url, true, d);
	for (size_t i = 0; i < c.opened.found.nr && !rc; i++) {
		c.key = grove__logs_key(&c.opened.found.logs[i]);
		rc = grove__stores_go_on(g, i, c.opened.found.nr, d);
		if (!rc)
			rc = count_session(&c);
	}
	if (c.out->s.nr_dialects)
		qsort(c.out->by, c.out->s.nr_dialects, sizeof(*c.out->by), by_bytes);
	if (!rc)
		rc = name_rows(&c);
	grove__stores_close(&c.opened);
	if (rc)
		grove__store_stats_free(&c.out->s);
	else
		*out = &c.out->s;
	return rc;
}

static void put_sums(struct grove__out *o, const struct grove_store_row *x)
{
	grove__out_number(o, "lines", x->lines);
	grove__out_number(o, "entries", x->entries);
	grove__out_number(o, "bytes", x->bytes);
}

int grove__store_stats_json(const struct grove_store_stats *s, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "store", s->all.name);
	grove__out_number(&o, "sessions", s->all.sessions);
	grove__out_number(&o, "subagentLogs", s->subagent_logs);
	put_sums(&o, &s->all);
	grove__out_number(&o, "attachments", s->attachments);
	grove__out_number(&o, "attachmentBytes", s->attachment_bytes);
	grove__out_number(&o, "unreadable", s->unreadable);
	grove__out_open(&o, "byDialect", '[');
	for (size_t i = 0; i < s->nr_dialects; i++) {
		grove__out_open(&o, NULL, '{');
		grove__out_string(&o, "dialect", s->dialects[i].name);
		grove__out_number(&o, "sessions", s->dialects[i].sessions);
		put_sums(&o, &s->dialects[i]);
		grove__out_close(&o, '}');
	}
	grove__out_close(&o, ']');
	grove__out_open(&o, "largest", '[');
	for (size_t i = 0; i < s->nr_largest; i++) {
		grove__out_open(&o, NULL, '{');
		grove__out_string(&o, "path", s->largest[i].name);
		grove__out_number(&o, "lines", s->largest[i].lines);
		grove__out_number(&o, "bytes", s->largest[i].bytes);
		grove__out_close(&o, '}');
	}
	grove__out_close(&o, ']');
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}
