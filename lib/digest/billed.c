/*
 * digest/billed.c: the replies of one log, as bytes for the catalog.
 *
 *	head | time | dialect | around | id | cwd | parent | models … | replies …
 *
 * Numbers are written with seven bits per byte, lowest first, a text as its length and
 * its bytes. Most counts are small and a reply comes soon after the previous one, so a
 * reply needs about forty bytes, sixteen of them its hash. The catalog's checksum covers
 * all of it, and the version of these bytes.
 */
#include "digest/billed.h"

#include "base/varint.h"

#include <math.h>
#include <stdlib.h>

struct head {
	uint32_t flags, nr, nr_models;
};

enum { SESSION = 1 };
enum { HAS_TIME = 1, HAS_COST = 2, HAS_LONG = 4, TOLD = 8, SINGLE = 16, COPIED = 32 };

/* ------------------------------------------------------------------ packing */

static int put_number(struct grove_buf *out, uint64_t n)
{
	char bytes[GROVE__VARINT_MAX];

	return grove__buf_add(out, bytes, grove__varint_put(bytes, n));
}

static int put_text(struct grove_buf *out, struct grove_slice text)
{
	int rc = put_number(out, text.len);

	return rc ? rc : grove__buf_add_slice(out, text);
}

static int put_reply(struct grove_buf *out, const struct grove__reply *r, int64_t *before)
{
	bool time = r->time != GROVE_NO_TIME, cost = !isnan(r->cost);
	char flags = (char)((time ? HAS_TIME : 0) | (cost ? HAS_COST : 0) |
			    (r->cache_write_long ? HAS_LONG : 0) | (r->told ? TOLD : 0) |
			    (r->single ? SINGLE : 0) | (r->copied ? COPIED : 0));
	const uint64_t numbers[] = { r->model, r->input, r->output, r->cache_read, r->cache_write };
	char bytes[1 + sizeof(r->hash) + 7 * GROVE__VARINT_MAX + sizeof(r->cost)], *p = bytes;

	*p++ = flags;
	if (!r->single) {
		memcpy(p, r->hash, sizeof(r->hash));
		p += sizeof(r->hash);
	}
	if (time) {
		/* 0, -1, 1, -2, … as 0, 1, 2, 3, … */
		uint64_t step = (uint64_t)r->time - (uint64_t)*before;

		p += grove__varint_put(p, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
		*before = r->time;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		p += grove__varint_put(p, numbers[i]);
	if (r->cache_write_long)
		p += grove__varint_put(p, r->cache_write_long);
	if (cost) {
		memcpy(p, &r->cost, sizeof(r->cost));
		p += sizeof(r->cost);
	}
	return grove__buf_add(out, bytes, (size_t)(p - bytes));
}

int grove__billed_pack(const struct grove__billed_log *l, const struct grove__replies *rs,
		       struct grove_buf *out)
{
	struct head h = { .nr = (uint32_t)rs->nr, .flags = l->session ? SESSION : 0,
			  .nr_models = (uint32_t)rs->nr_models };
	int64_t before = 0;
	int rc = grove__buf_add(out, &h, sizeof(h));

	rc = rc ? rc : grove__buf_add(out, &l->time, sizeof(l->time));
	rc = rc ? rc : put_text(out, grove__slice_str(l->dialect ? l->dialect->name : ""));
	rc = rc ? rc : put_text(out, l->around);
	rc = rc ? rc : put_text(out, l->id);
	rc = rc ? rc : put_text(out, l->cwd);
	rc = rc ? rc : put_text(out, l->parent);
	for (size_t i = 0; i < rs->nr_models && !rc; i++)
		rc = put_text(out, grove__slice_str(rs->models[i]));
	for (size_t i = 0; i < rs->nr && !rc; i++)
		rc = put_reply(out, &rs->all[i], &before);
	return rc;
}

/* ---------------------------------------------------------------- unpacking */

/* A reader that runs over the end stops there and reports it. */
struct reader {
	struct grove_slice rest;
	bool bad;
};

static uint64_t take_number(struct reader *r)
{
	uint64_t n;

	if (grove__varint_take(&r->rest, &n))
		return n;
	r->bad = true;
	return 0;
}

/* Empty if there are fewer. */
static struct grove_slice take(struct reader *r, uint64_t len)
{
	struct grove_slice bytes = { r->rest.ptr, 0 };

	if (len > r->rest.len) {
		r->bad = true;
		return bytes;
	}
	bytes.len = (size_t)len;
	r->rest.ptr += len;
	r->rest.len -= bytes.len;
	return bytes;
}

static bool take_bytes(struct reader *r, void *out, size_t len)
{
	struct grove_slice bytes = take(r, len);

	if (bytes.len < len)
		return false;
	memcpy(out, bytes.ptr, len);
	return true;
}

static struct grove_slice take_text(struct reader *r)
{
	return take(r, take_number(r));
}

static bool begin(struct grove_slice bytes, struct reader *r, struct head *h,
		  struct grove__billed_log *l)
{
	struct grove_slice name;
	char text[32];

	*r = (struct reader){ .rest = bytes };
	if (!take_bytes(r, h, sizeof(*h)) || !take_bytes(r, &l->time, sizeof(l->time)))
		return false;
	name = take_text(r);
	l->around = take_text(r);
	l->id = take_text(r);
	l->cwd = take_text(r);
	l->parent = take_text(r);
	l->nr = h->nr;
	l->dialect = NULL;
	l->session = h->flags & SESSION;
	/* each model and each reply has at least a byte */
	if (r->bad || name.len >= sizeof(text) || (uint64_t)h->nr_models + h->nr > r->rest.len)
		return false;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	if (name.len)
		l->dialect = grove__dialect_find(text);
	return !name.len || l->dialect;
}

bool grove__billed_unpack(struct grove_slice bytes, struct grove__billed_log *l)
{
	struct reader r;
	struct head h;

	return begin(bytes, &r, &h, l);
}

static void take_reply(struct reader *in, struct grove__reply *r, int64_t *before, uint64_t *model)
{
	unsigned char flags = 0;

	memset(r, 0, sizeof(*r));
	take_bytes(in, &flags, 1);
	r->told = !!(flags & TOLD);
	r->single = !!(flags & SINGLE);
	r->copied = !!(flags & COPIED);
	r->time = GROVE_NO_TIME;
	r->cost = (double)NAN;
	if (!r->single)
		take_bytes(in, r->hash, sizeof(r->hash));
	if (flags & HAS_TIME) {
		uint64_t n = take_number(in);

		*before = (int64_t)((uint64_t)*before + (n >> 1 ^ (n & 1 ? UINT64_MAX : 0)));
		r->time = *before;
	}
	*model = take_number(in);
	r->input = take_number(in);
	r->output = take_number(in);
	r->cache_read = take_number(in);
	r->cache_write = take_number(in);
	if (flags & HAS_LONG)
		r->cache_write_long = take_number(in);
	if (flags & HAS_COST)
		take_bytes(in, &r->cost, sizeof(r->cost));
}

int grove__billed_fold(struct grove_slice bytes, struct grove__replies *rs, uint32_t log, bool subs)
{
	struct grove__billed_log l;
	struct grove__reply r;
	struct reader in;
	struct head h;
	uint32_t *models;
	uint64_t model;
	int64_t before = 0;
	int rc = 0;

	if (!begin(bytes, &in, &h, &l) || !h.nr)
		return 0;
	models = calloc(h.nr_models ? h.nr_models : 1, sizeof(*models));
	if (!models)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < h.nr_models && !rc; i++)
		rc = grove__replies_model(rs, take_text(&in), &models[i]);
	for (uint32_t i = 0; i < h.nr && !rc; i++) {
		take_reply(&in, &r, &before, &model);
		if (in.bad || model >= h.nr_models)
			break;
		r.model = models[model] & GROVE__MODELS_MAX;
		r.log = log;
		r.told = r.told && subs;
		rc = grove__replies_merge(rs, &r);
	}
	free(models);
	return rc;
}
