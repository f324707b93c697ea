/*
 * tests/fuzz/fuzz_context.c: the context for a model, from any bytes.
 *
 * In every form it is a document, the same from a file and from a database, for
 * any entry as leaf, and also when only the necessary part of the log is read.
 */
#include "reference.h"
#include "world.h"

#include "base/buf.h"
#include "store/store.h"

/* Asks for the context; only an entry for which Claude's rules have no conversation may fail. */
static int ask(struct grove_session *s, const struct grove_context_options *opt, struct grove_buf *out)
{
	struct grove_detail d;
	struct grove_view *v;
	int rc;

	grove__buf_clear(out);
	CHECK(!grove_session_view(s, &v));
	rc = grove_view_context(v, opt, grove_buf_sink(out));
	grove_view_error(v, &d);
	grove_view_unref(v);
	if (rc == GROVE_ENOTFOUND && opt->leaf && s->image->model.chain)
		return rc;
	if (rc)
		fprintf(stderr, "%d: %s\n", rc, d.message);
	CHECK(!rc);
	CHECK(ref_is_document(out->ptr, out->len));
	return rc;
}

static void one_form(struct grove_session *a, struct grove_session *b, struct grove_session *lazy,
		     const struct grove_context_options *opt)
{
	struct grove_buf x = GROVE_BUF_INIT, y = GROVE_BUF_INIT;

	CHECK(ask(a, opt, &x) == ask(b, opt, &y));
	same_bytes(&x, &y, "context");
	if (!lazy || opt->leaf)
		return;
	ask(a, opt, &x);
	CHECK(!grove_session_context(lazy, opt, grove_buf_sink(&y)));
	same_bytes(&x, &y, "from the end");
}

static void all_forms(struct grove *g, struct grove_session *a, struct grove_session *b,
		      struct grove_session *lazy, uint64_t chance)
{
	bool claude = g->forced->rules != NULL;
	static const char *const modes[] = { "cli", "sdk" };
	struct grove_context_options opt = { .size = sizeof(opt) };
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	for (int llm = 0; llm < 2; llm++) {
		for (int mode = 0; mode < (claude ? 2 : 1); mode++) {
			opt.flags = llm ? GROVE_CONTEXT_LLM : 0;
			opt.mode = claude ? modes[mode] : NULL;
			one_form(a, b, lazy, &opt);
		}
		if (claude) {
			opt.mode = NULL;
			opt.flags |= GROVE_CONTEXT_SNIPS | (llm ? GROVE_CONTEXT_WHOLE : 0);
			one_form(a, b, lazy, &opt);
		}
	}
	opt.flags = GROVE_CONTEXT_EXPLAIN;
	one_form(a, b, NULL, &opt);
	opt.flags = 0;
	CHECK(!grove_session_view(a, &v));
	if (grove_view_count(v)) {
		CHECK(!grove_view_entry(v, (uint32_t)(chance % grove_view_count(v)), &e));
		/* it is not possible to ask for an id that contains U+0000 */
		if (e.id && strlen(e.id) == grove__spine_name(e.id).len && strcmp(e.id, GROVE_ROOT)) {
			opt.leaf = e.id;
			opt.flags = chance >> 32 & 1 ? GROVE_CONTEXT_LLM : 0;
			one_form(a, b, NULL, &opt);
		}
	}
	grove_view_unref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	const char *text = (const char *)bytes;
	struct grove_store *by_byte = text_store_new(text, len), *by_line = line_store_new(text, len);
	struct grove_session *a, *b, *lazy;
	int ra, rb, rc;

	a = world_open(g, by_byte, GROVE_OPEN_READ, &ra);
	b = world_open(g, by_line, GROVE_OPEN_READ, &rb);
	CHECK(ra == rb);
	if (a) {
		lazy = world_open(g, by_byte, GROVE_OPEN_READ | GROVE_OPEN_LAZY, &rc);
		CHECK(lazy != NULL);
		all_forms(g, a, b, lazy, fuzz_number(bytes, len));
		grove_session_close(lazy);
	}
	grove_session_close(a);
	grove_session_close(b);
	grove__store_close(by_byte);
	grove__store_close(by_line);
	return 0;
}
