/*
 * tests/fuzz/fuzz_rows.c: the contents of a row of the catalog, or of the search index.
 *
 * The lines of the input become what a list, the usage report and a part of the index
 * keep of a session. It is unpacked as it was packed. Then some of its bytes are
 * overwritten; if it can still be unpacked, this must end and stay within the bytes.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "digest/digest.h"
#include "search/search_part.h"
#include "digest/billed.h"

#include <math.h>

#define LINES 16

struct input {
	struct grove__arena texts;
	const char *line[LINES];     /* NULL if there is none */
	size_t nr;
	uint64_t chance;
};

static uint64_t next(uint64_t *chance)
{
	*chance = *chance * 6364136223846793005u + 1442695040888963407u;
	return *chance >> 24;
}

/* Returns a number, usually small, now and then as large as possible. */
static uint64_t number(struct input *in)
{
	uint64_t n = next(&in->chance);

	return n & 7 ? n >> 3 & 0xffff : 0 - (n >> 3 & 3);
}

static void read_lines(struct input *in, const char *text, size_t len)
{
	grove__arena_init(&in->texts);
	while (len && in->nr < LINES) {
		const char *lf = memchr(text, '\n', len);
		size_t n = lf ? (size_t)(lf - text) : len;

		in->line[in->nr] = grove__arena_dup(&in->texts, grove__slice(text, strnlen(text, n)));
		CHECK(in->line[in->nr++] != NULL);
		n += lf != NULL;
		text += n;
		len -= n;
	}
}

/* Overwrites a few bytes with values that are likely to be wrong as numbers. */
static void poison(struct grove_buf *b, uint64_t *chance)
{
	static const uint32_t words[] = { 0xffffffff, 0, 0x7fffffff, 0x80, 1, 0xfffffffe };

	for (uint64_t nr = 1 + next(chance) % 4; nr; nr--) {
		uint64_t c = next(chance);
		size_t width = c & 1 ? 4 : 1;

		if (b->len >= width)
			memcpy(b->ptr + (size_t)(c >> 8) % (b->len - width + 1), &words[(c >> 4 & 15) % 6], width);
	}
}

/* Returns a copy that ends exactly where its memory ends. */
static char *exactly(struct grove_slice bytes)
{
	char *p = fuzz_alloc(bytes.len);

	if (bytes.len)
		memcpy(p, bytes.ptr, bytes.len);
	return p;
}

/* ------------------------------------------------------------------- listed */

/* Unpacks and packs again. False: these bytes cannot be unpacked. */
static bool listed_again(struct grove_slice bytes, struct grove_buf *out)
{
	char *own = exactly(bytes);
	struct grove__digest l;
	bool ok = grove__digest_unpack(grove__slice(own, bytes.len), &l);

	grove__buf_clear(out);
	if (ok)
		CHECK(l.dialect && !grove__digest_pack(&l, out));
	free(own);
	return ok;
}

static void listed(struct input *in)
{
	struct grove__digest l = {
		.dialect = grove__dialect_find(in->nr & 1 ? "pi" : "claude"), .around = in->line[0],
		.rc = (int)(number(in) & 1), .id = in->line[1], .cwd = in->line[2], .name = in->line[3],
		.parent = in->line[4], .why = in->line[5], .first = in->line[6],
		.first_len = in->line[6] ? strlen(in->line[6]) : 0, .created = (int64_t)number(in),
		.modified = (int64_t)number(in), .messages = number(in), .asked = in->line[7],
		.mark = number(in), .mark_crc = (uint32_t)number(in), .has_slot = number(in) & 1,
		.has_time = number(in) & 1, .newest = (int64_t)number(in), .slot = in->line[8],
		.title = in->line[9], .said = in->line[10],
	};
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT, c = GROVE_BUF_INIT;

	CHECK(!grove__digest_pack(&l, &a));
	CHECK(listed_again(grove__buf_slice(&a), &b));
	CHECK(grove__slice_eq(grove__buf_slice(&a), grove__buf_slice(&b)));
	poison(&a, &in->chance);
	/* whatever was unpacked, packing it gives the same again */
	if (listed_again(grove__buf_slice(&a), &b)) {
		CHECK(listed_again(grove__buf_slice(&b), &c));
		CHECK(grove__slice_eq(grove__buf_slice(&b), grove__buf_slice(&c)));
	}
	grove__buf_release(&a);
	grove__buf_release(&b);
	grove__buf_release(&c);
}

/* ------------------------------------------------------------------- billed */

static struct grove__reply reply_of(struct input *in, uint32_t model)
{
	struct grove__reply r = {
		.hash = { next(&in->chance), next(&in->chance) }, .time = (int64_t)number(in),
		.input = number(in), .output = number(in), .cache_read = number(in), .cache_write = number(in),
		.cache_write_long = number(in) & 1, .cost = number(in) & 1 ? 0.25 : (double)NAN,
		.model = model & GROVE__MODELS_MAX, .told = 0, .single = number(in) & 1,
	};

	return r;
}

/* Counts the replies of a row and packs them again. False: it is not such a row. */
static bool billed_again(struct grove_slice bytes, struct grove_buf *out)
{
	char *own = exactly(bytes);
	struct grove__billed_log l;
	struct grove__replies rs;
	bool ok = grove__billed_unpack(grove__slice(own, bytes.len), &l);

	grove__buf_clear(out);
	if (ok) {
		grove__replies_init(&rs);
		CHECK(!grove__billed_fold(grove__slice(own, bytes.len), &rs, 0, true));
		CHECK(!grove__billed_pack(&l, &rs, out));
		grove__replies_release(&rs);
	}
	free(own);
	return ok;
}

static void billed(struct input *in)
{
	struct grove__billed_log l = {
		.dialect = grove__dialect_find("pi"), .around = grove__slice_str(in->line[0] ? in->line[0] : ""),
		.session = number(in) & 1, .id = grove__slice_str(in->line[1] ? in->line[1] : ""),
		.cwd = grove__slice_str(in->line[2] ? in->line[2] : ""),
	};
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove__replies rs;
	uint32_t model;

	grove__replies_init(&rs);
	for (size_t i = 3; i < in->nr; i++) {
		struct grove__reply r;

		CHECK(!grove__replies_model(&rs, grove__slice_str(in->line[i]), &model));
		r = reply_of(in, model);
		CHECK(!grove__replies_merge(&rs, &r));
	}
	CHECK(!grove__billed_pack(&l, &rs, &a));
	grove__replies_release(&rs);
	CHECK(billed_again(grove__buf_slice(&a), &b));
	CHECK(grove__slice_eq(grove__buf_slice(&a), grove__buf_slice(&b)));
	poison(&a, &in->chance);
	billed_again(grove__buf_slice(&a), &b);
	grove__buf_release(&a);
	grove__buf_release(&b);
}

/* --------------------------------------------------------- parts of the index */

/* Counts the entries; whatever the bytes are, this must end. */
static size_t count_entries(struct grove_slice bytes, const struct grove__search_doc *want, size_t nr)
{
	char *own = exactly(bytes);
	struct grove_slice rest = { own, bytes.len };
	struct grove__search_doc e = { 0 };
	size_t n = 0;
	int rc;

	while (!(rc = grove__search_part_next(&rest, &e))) {
		if (e.entry)
			CHECK(e.entry >= own && e.entry + strlen(e.entry) < own + bytes.len);
		if (n < nr)
			CHECK(e.row == want[n].row && e.at.pos == want[n].at.pos && e.at.len == want[n].at.len &&
			      e.at.crc == want[n].at.crc && e.time == want[n].time && e.kind == want[n].kind &&
			      e.role == want[n].role && !e.entry == !want[n].entry &&
			      (!e.entry || !strcmp(e.entry, want[n].entry)));
		n++;
	}
	CHECK(rc == 1 || (rc == GROVE_EDAMAGED && !want));
	free(own);
	return n;
}

static void part(struct input *in)
{
	struct grove__search_part p = { 0 };
	struct grove__search_doc doc[LINES];
	uint32_t row = 0;
	uint64_t pos = 0;
	size_t nr = 0;

	for (size_t i = 0; i < in->nr; i++) {
		uint32_t before = p.nr;

		row += (uint32_t)number(in) & 0xffff;
		pos += number(in) & 0xffffff;
		doc[nr] = (struct grove__search_doc){
			.row = row, .time = number(in) & 3 ? (int64_t)number(in) : GROVE_NO_TIME, .kind = number(in) & 15,
			.role = number(in) & 7, .at = { .pos = pos, .len = number(in), .crc = (uint32_t)number(in) },
			.entry = number(in) & 1 ? in->line[i] : NULL, .text = grove__slice_str(in->line[i]),
		};
		CHECK(!grove__search_part_add(&p, &doc[nr]));
		nr += p.nr > before;
	}
	CHECK(count_entries(grove__buf_slice(&p.texts), doc, nr) == nr);
	poison(&p.texts, &in->chance);
	count_entries(grove__buf_slice(&p.texts), NULL, 0);
	grove__search_part_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input in = { .chance = fuzz_number(bytes, len) };

	read_lines(&in, (const char *)bytes, len);
	listed(&in);
	billed(&in);
	part(&in);
	grove__arena_release(&in.texts);
	return 0;
}
