/*
 * tests/fuzz/fuzz_migrate.c: logs of old versions are converted to the present
 * one.
 *
 * Reading shows a log as writing will leave it: the same tree, the same lines.
 * Lines that are not entries stay as they are, and the conversion happens only
 * once.
 */
#include "reference.h"
#include "world.h"

#include "base/buf.h"
#include "store/store.h"

static size_t nr_lines(struct grove_slice text)
{
	size_t nr = 0;

	for (size_t i = 0; i < text.len; i++)
		nr += text.ptr[i] == '\n' || i + 1 == text.len;
	return nr;
}

/*
 * Returns true if some value is not an object, so that it cannot get the id that an old version
 * lacks.
 */
static bool has_bare_value(struct grove_slice text)
{
	bool found = false;

	for (const char *p = text.ptr, *end = p + text.len, *lf; p < end && !found; p = lf + 1) {
		struct ref r;

		lf = memchr(p, '\n', (size_t)(end - p));
		lf = lf ? lf : end;
		ref_parse(&r, p, (size_t)(lf - p));
		found = r.ok && r.nodes[0].type != '{';
		ref_release(&r);
	}
	return found;
}

static struct grove_buf header_of(struct grove_session *s)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v;

	CHECK(!grove_session_view(s, &v));
	CHECK(!grove_view_header(v, &b));
	grove_view_unref(v);
	return b;
}

static void migrate(struct grove *g, struct grove_store *st)
{
	struct grove_buf shown, head, now, bytes = store_bytes(st), after, again;
	struct grove_session *s;
	bool joined;
	int rc;

	s = world_open(g, st, GROVE_OPEN_READ, &rc);
	if (!s) {
		grove__buf_release(&bytes);
		return;
	}
	shown = world_tell(s, TELL_LINES | TELL_LEAF);
	head = header_of(s);
	/* a value that spans lines is written as one line */
	joined = s->image->loose;
	grove_session_close(s);

	s = world_open(g, st, GROVE_OPEN_WRITE, &rc);
	/* a header that can only be read because the log ends there is not written to */
	if (!s && joined) {
		after = store_bytes(st);
		same_bytes(&bytes, &after, "refused");
		grove__buf_release(&shown);
		grove__buf_release(&head);
		return;
	}
	CHECK(s != NULL);
	after = store_bytes(st);
	if (!grove_session_migrated(s)) {
		CHECK(after.len - bytes.len <= 1 && !memcmp(after.ptr, bytes.ptr, bytes.len));
	} else if (!joined) {
		CHECK(nr_lines(grove__buf_slice(&bytes)) == nr_lines(grove__buf_slice(&after)));
	}
	if (!joined && !has_bare_value(grove__buf_slice(&bytes))) {
		now = world_tell(s, TELL_LINES | TELL_LEAF);
		same_bytes(&shown, &now, "migrated");
		now = header_of(s);
		same_bytes(&head, &now, "header");
	}
	grove_session_close(s);

	s = world_open(g, st, GROVE_OPEN_WRITE, &rc);
	CHECK(s != NULL && !grove_session_migrated(s));
	grove_session_close(s);
	again = store_bytes(st);
	same_bytes(&after, &again, "once more");
	grove__buf_release(&shown);
	grove__buf_release(&head);
	grove__buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	struct grove_store *by_byte = text_store_new((const char *)bytes, len);
	struct grove_store *by_line = line_store_new((const char *)bytes, len);

	migrate(g, by_byte);
	migrate(g, by_line);
	grove__store_close(by_byte);
	grove__store_close(by_line);
	return 0;
}
