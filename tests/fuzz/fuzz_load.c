/*
 * tests/fuzz/fuzz_load.c: any bytes as a session.
 *
 * However the log is read, by lines or by bytes, at once, in small pieces or
 * while it grows, the tree is the same; and all functions that show the session
 * succeed.
 */
#include "reference.h"
#include "world.h"

#include "base/buf.h"
#include "check/check.h"
#include "store/store.h"

static struct grove_sink to(struct grove_buf *b)
{
	grove__buf_clear(b);
	return grove_buf_sink(b);
}

static int a_piece(void *payload, const struct grove_piece *p)
{
	size_t *sum = payload;

	for (size_t i = 0; i < p->text.len; i++)
		*sum += (unsigned char)p->text.ptr[i];
	*sum += p->title.len;
	return 0;
}

static void documents(struct grove_session *s)
{
	struct grove_snapshot_options opt = { .size = sizeof(opt), .flags = GROVE_SNAPSHOT_PROJECT, .max_body = 128 };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v;
	size_t sum = 0;

	CHECK(!grove_session_view(s, &v));
	CHECK(!grove_view_tree(v, 0, to(&b)) && ref_is_document(b.ptr, b.len));
	CHECK(!grove_view_tree(v, 1, to(&b)) && ref_is_document(b.ptr, b.len));
	CHECK(!grove_view_log(v, 0, to(&b)) && ref_is_document(b.ptr, b.len));
	CHECK(!grove_view_snapshot(v, NULL, to(&b)) && ref_is_document(b.ptr, b.len));
	CHECK(!grove_view_snapshot(v, &opt, to(&b)) && ref_is_document(b.ptr, b.len));
	for (uint32_t i = 0; i < grove_view_count(v); i++)
		CHECK(!grove_view_piece_each(v, i, a_piece, &sum));
	grove__buf_release(&b);
	grove_view_unref(v);
}

/* Checks that the log consists of exactly these bytes. */
static void raw(struct grove_session *s, const char *text, size_t len)
{
	struct grove_buf b = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
	struct grove_view *v;

	CHECK(!grove_session_view(s, &v));
	CHECK(!grove_view_raw(v, grove_buf_sink(&b)));
	grove_view_unref(v);
	CHECK(!grove__buf_add(&want, text, len));
	same_bytes(&b, &want, "raw");
}

static int a_problem(void *payload, const struct grove_problem *p)
{
	CHECK(p->line && p->kind && p->detail);
	++*(uint64_t *)payload;
	return 0;
}

static void check(struct grove *g, struct grove_store *st)
{
	struct grove__where at = {
		.dialect = g->forced, .agent = g->forced->name, .store = st,
		.project = strdup(world_key.project), .session = strdup(world_key.session),
	};
	struct grove_check_result result = { .size = sizeof(result) };
	struct grove_detail d;
	uint64_t told = 0;

	grove__fail_clear(&d);
	CHECK(!grove__check(g, &at, a_problem, &told, &result, &d));
	CHECK(told == result.problems && result.files == 1);
	grove__where_release(&at);
}

/* Loads a first part, then the rest. */
static struct grove_buf grown(struct grove *g, const char *text, size_t len, size_t first, int *rc)
{
	struct grove_store *st = text_store_new(text, len);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;

	text_store_show(st, first);
	s = world_open(g, st, GROVE_OPEN_READ, rc);
	text_store_show(st, len);
	if (s) {
		*rc = grove_session_refresh(s);
		CHECK(*rc >= 0 || *rc == GROVE_EDAMAGED);
		if (*rc >= 0) {
			*rc = 0;
			b = world_tell(s, TELL_LINES | TELL_LEAF);
		}
	}
	grove_session_close(s);
	grove__store_close(st);
	return b;
}

/* Checks that a session that was read in another way has the same content. */
static void same_words(struct grove_slice want, struct grove_buf *have, const char *how)
{
	struct grove_buf copy = GROVE_BUF_INIT;

	CHECK(!grove__buf_add_slice(&copy, want));
	same_bytes(&copy, have, how);
}

static void compare(struct grove *g, struct grove_session *a, struct grove_session *by_line,
		    struct grove_session *in_pieces, const char *text, size_t len, size_t first)
{
	struct grove_buf all = world_tell(a, TELL_LINES | TELL_LEAF), x, y;
	int rc;

	y = world_tell(in_pieces, TELL_LINES | TELL_LEAF);
	same_words(grove__buf_slice(&all), &y, "in pieces");
	y = grown(g, text, len, first, &rc);
	if (!rc)
		same_words(grove__buf_slice(&all), &y, "grown");
	x = world_tell(a, TELL_LEAF);
	y = world_tell(by_line, TELL_LEAF);
	same_bytes(&x, &y, "by lines");
	grove__buf_release(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	const char *text = (const char *)bytes;
	uint64_t chance = fuzz_number(bytes, len);
	struct grove_store *by_byte = text_store_new(text, len), *by_line = line_store_new(text, len);
	struct grove_session *a, *b, *c;
	int ra, rb, rc;

	a = world_open(g, by_byte, GROVE_OPEN_READ, &ra);
	b = world_open(g, by_line, GROVE_OPEN_READ, &rb);
	/* no reader has a buffer that is too small for a byte-order mark */
	text_store_window(by_byte, 3 + chance % 298);
	c = world_open(g, by_byte, GROVE_OPEN_READ, &rc);
	text_store_window(by_byte, 0);
	if (ra != rb || ra != rc)
		fprintf(stderr, "by bytes %d, by lines %d, in pieces %d\n", ra, rb, rc);
	CHECK(ra == rb && ra == rc);
	if (a) {
		compare(g, a, b, c, text, len, (size_t)(chance % (len + 1)));
		raw(a, text, len);
		raw(b, text, len);
		documents(a);
	}
	check(g, by_byte);
	check(g, by_line);
	grove_session_close(a);
	grove_session_close(b);
	grove_session_close(c);
	grove__store_close(by_byte);
	grove__store_close(by_line);
	return 0;
}
