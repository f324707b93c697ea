/*
 * tests/fuzz/fuzz_copy.c: a session that is copied to another store keeps its
 * bytes.
 *
 * It is copied from a file into memory, at once and continued from any partial
 * copy; and from there into another store in memory.
 */
#include "world.h"

#include "base/buf.h"
#include "store/store.h"
#include "transfer/copy.h"

static int copy(struct grove *g, struct grove_store *from, struct grove_store *to, bool go_on)
{
	struct grove__copy_job job = { .g = g, .dialect = g->forced, .from = from, .to = to,
				       .key = world_key, .go_on = go_on };
	struct grove_archived out = { 0 };
	struct grove_detail d;
	int rc;

	grove__fail_clear(&d);
	rc = grove__copy_session(&job, &out, &d);
	if (rc && rc != GROVE_EEXIST)
		fprintf(stderr, "%d: %s\n", rc, d.message);
	return rc;
}

/* Checks that the last line is complete exactly if it is in the text. */
static void same_end(struct grove_store *st, const char *text, size_t len)
{
	struct grove_buf mark = GROVE_BUF_INIT;
	struct grove_store_log *log;
	bool open = len && text[len - 1] != '\n';
	int rc;

	CHECK(!grove__log_open(&log, st, &world_key, GROVE_STORE_READ, NULL));
	rc = grove__log_meta_get(log, GROVE__META_UNFINISHED, &mark, NULL);
	CHECK(!rc || rc == GROVE_ENOTFOUND);
	CHECK((mark.len != 0) == open);
	grove__log_close(log);
	grove__buf_release(&mark);
}

static void same_log(struct grove_store *st, const char *text, size_t len)
{
	struct grove_buf have = store_bytes(st), want = GROVE_BUF_INIT;

	CHECK(!grove__buf_add(&want, text, len));
	same_bytes(&have, &want, "copy");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	const char *text = (const char *)bytes;
	struct grove_store *from = text_store_new(text, len), *to, *third;
	size_t part;

	CHECK(!grove__store_open(&to, "memory:", NULL));
	CHECK(!grove__store_open(&third, "memory:", NULL));
	CHECK(!copy(g, from, to, false));
	same_log(to, text, len);
	same_end(to, text, len);
	CHECK(copy(g, from, to, false) == GROVE_EEXIST);
	CHECK(!copy(g, from, to, true));
	same_log(to, text, len);
	CHECK(!copy(g, to, third, false));
	same_log(third, text, len);
	grove__store_close(third);
	grove__store_close(to);

	/* first a part, and the rest when it is there */
	part = fuzz_number(bytes, len) % (len + 1);
	to = text_store_new("", 0);
	text_store_show(from, part);
	CHECK(!copy(g, from, to, true));
	text_store_show(from, len);
	CHECK(!copy(g, from, to, true));
	CHECK(grove__slice_eq(text_store_text(to), grove__slice(text, len)));
	grove__store_close(to);

	CHECK(!grove__store_open(&to, "memory:", NULL));
	text_store_show(from, part);
	CHECK(!copy(g, from, to, true));
	text_store_show(from, len);
	CHECK(!copy(g, from, to, true));
	same_log(to, text, len);
	same_end(to, text, len);
	grove__store_close(to);
	grove__store_close(from);
	return 0;
}
