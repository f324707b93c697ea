/*
 * tests/fuzz/fuzz_write.c: what is appended can be read back.
 *
 * The first lines of the input are the log, whatever they are. The others are
 * appended as entries, and then entries are labelled, named and removed again.
 * What was there stays, byte by byte; what is new is spelled as JSON.stringify
 * does; and the session in use has the same content as one that is opened
 * again.
 */
#include "reference.h"
#include "world.h"

#include "base/buf.h"
#include "json/scan.h"
#include "json/write.h"
#include "store/store.h"
#include "../lib/calls.h"

static bool fine(int rc)
{
	return rc == 0 || rc == GROVE_EJSON || rc == GROVE_EINVAL || rc == GROVE_ENOTFOUND ||
	       rc == GROVE_ECONFLICT || rc == GROVE_ENOTSUP;
}

/*
 * Returns true if the session has failed: images go to files, and here there is no place for them.
 */
static bool latched(const struct grove_session *s)
{
	return s->writing.latch != NULL;
}

static void as_if_opened_anew(struct grove *g, struct grove_store *st, struct grove_session *s,
			      const char *step, unsigned but)
{
	/*
	 * If an entry that was there already is the leaf, it is so for this handle
	 * alone; and Claude's rules may find another conversation than the one that is
	 * being written.
	 */
	unsigned what = s->leaf.apart || s->image->model.chain ? TELL_LINES : TELL_LINES | TELL_LEAF;
	struct grove_buf x = world_tell(s, what | but), y;
	struct grove_session *fresh;
	int rc;

	fresh = world_open(g, st, GROVE_OPEN_READ, &rc);
	CHECK(fresh != NULL);
	y = world_tell(fresh, what | but);
	grove_session_close(fresh);
	same_bytes(&x, &y, step);
}

/*
 * Checks that only canonical lines were added (and the newline that the last line may have lacked).
 */
static void only_added(struct grove_store *st, const struct grove_buf *before)
{
	struct grove_slice now = text_store_text(st);
	const char *p = now.ptr + before->len, *end = now.ptr + now.len;
	struct grove_buf b = GROVE_BUF_INIT;

	CHECK(now.len >= before->len && !memcmp(now.ptr, before->ptr, before->len));
	if (p < end && before->len && p[-1] != '\n')
		CHECK(*p++ == '\n');
	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		size_t n;

		CHECK(lf != NULL);
		n = (size_t)(lf - p);
		/* a line that completes an unfinished one is not a value by itself */
		if (ref_is_document(p, n)) {
			grove__buf_clear(&b);
			CHECK(!grove__json_put_canonical(&b, grove__slice(p, n)));
			CHECK(grove__slice_eq(grove__buf_slice(&b), grove__slice(p, n)));
		} else {
			CHECK(n < 100);
		}
		p = lf + 1;
	}
	grove__buf_release(&b);
}

static struct grove_buf bytes_of(struct grove_store *st)
{
	struct grove_buf b = GROVE_BUF_INIT;

	CHECK(!grove__buf_add_slice(&b, text_store_text(st)));
	return b;
}

static void append(struct grove_store *st, struct grove_session *s, struct grove_slice json)
{
	struct grove_buf before = bytes_of(st), line = GROVE_BUF_INIT;
	const char *id = NULL;
	uint32_t known;
	struct grove_view *v;
	int rc;

	CHECK(!grove_session_view(s, &v));
	known = grove_view_count(v);
	grove_view_unref(v);
	rc = grove_session_append(s, json, NULL, INTO(&id));
	CHECK(fine(rc) || latched(s));
	only_added(st, &before);
	if (rc) {
		CHECK(text_store_text(st).len == before.len);
	} else if (id) {
		CHECK(!grove_session_view(s, &v));
		CHECK(find_row(v, id) != GROVE_NO_ENTRY);
		CHECK(!grove_view_line(v, find_row(v, id), 0, &line));
		/* an entry that was there already may have bytes that are not UTF-8 */
		CHECK(find_row(v, id) < known || ref_is_document(line.ptr, line.len));
		grove_view_unref(v);
	}
	grove__buf_release(&before);
	grove__buf_release(&line);
}

static const char *some_id(struct grove_session *s, uint64_t chance, struct grove_buf *out)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v;

	CHECK(!grove_session_view(s, &v));
	if (grove_view_count(v))
		CHECK(!grove_view_entry(v, (uint32_t)(chance % grove_view_count(v)), &e));
	grove__buf_clear(out);
	CHECK(!grove__buf_add_str(out, e.id ? e.id : "nobody"));
	grove_view_unref(v);
	return out->ptr;
}

static void change(struct grove *g, struct grove_store *st, struct grove_session *s, uint64_t chance)
{
	struct grove_buf before = bytes_of(st), id = GROVE_BUF_INIT;

	CHECK(fine(grove_session_append_label(s, some_id(s, chance, &id), "here", NULL, NULL)) || latched(s));
	only_added(st, &before);
	as_if_opened_anew(g, st, s, "label", 0);
	grove__buf_release(&before);
	before = bytes_of(st);
	CHECK(fine(grove_session_set_leaf(s, some_id(s, chance >> 8, &id), LEAF(GROVE_LEAF_PERSIST), NULL)) || latched(s));
	only_added(st, &before);
	as_if_opened_anew(g, st, s, "leaf", 0);
	CHECK(fine(grove_session_set_name(s, "a \"name\"", GROVE_NAME_BY_USER, NULL)) || latched(s));
	as_if_opened_anew(g, st, s, "name", 0);
	CHECK(fine(grove_session_forget(s, some_id(s, chance >> 16, &id), NULL)) || latched(s));
	/* without a header, that may have been the entry that named the directory */
	as_if_opened_anew(g, st, s, "forget", !grove__dialect_has_header(s->at.dialect) ? TELL_NO_CWD : 0);
	grove__buf_release(&before);
	grove__buf_release(&id);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	const char *text = (const char *)bytes, *end = text + len, *p = text;
	uint64_t chance = fuzz_number(bytes, len);
	struct grove_session *s;
	struct grove_store *st;
	int rc;

	for (uint64_t n = chance % 4 + 1; n && p < end; n--) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		p = lf ? lf + 1 : end;
	}
	st = text_store_new(text, (size_t)(p - text) - (p > text && chance >> 40 & 1));
	s = world_open(g, st, GROVE_OPEN_WRITE, &rc);
	for (int n = 0; s && p < end && n < 12 && !latched(s); n++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		append(st, s, grove__slice(p, (size_t)((lf ? lf : end) - p)));
		p = lf ? lf + 1 : end;
		/* now and then on the way, and at the end */
		if (p == end || n == 11 || (chance >> 48) % 12 == (uint64_t)n)
			as_if_opened_anew(g, st, s, "append", 0);
	}
	if (s && !latched(s))
		change(g, st, s, chance >> 8);
	grove_session_close(s);
	grove__store_close(st);
	return 0;
}
