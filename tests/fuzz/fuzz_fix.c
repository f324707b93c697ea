/*
 * tests/fuzz/fuzz_fix.c: repairing a log loses no byte.
 *
 * If what was removed is put back in its place, the log is what it was. Nothing
 * is left that could be repaired, and repairing again changes nothing.
 */
#include "reference.h"
#include "world.h"

#include "base/buf.h"
#include "check/check.h"
#include "check/fix.h"
#include "store/store.h"

static struct grove__where place_of(struct grove *g, struct grove_store *st)
{
	struct grove__where at = {
		.dialect = g->forced, .agent = g->forced->name, .store = st,
		.project = strdup(world_key.project), .session = strdup(world_key.session),
	};

	return at;
}

static int fix(struct grove *g, struct grove_store *st, unsigned flags, uint64_t *changes)
{
	struct grove__where at = place_of(g, st);
	struct grove_fix_options opt = { .size = sizeof(opt), .flags = flags };
	struct grove_fix_result result = { .size = sizeof(result) };
	struct grove_detail d;
	int rc;

	grove__fail_clear(&d);
	rc = grove__fix(g, &at, &opt, &result, &d);
	grove__where_release(&at);
	*changes = result.changes;
	if (rc && rc != GROVE_EDAMAGED)
		fprintf(stderr, "%d: %s\n", rc, d.message);
	CHECK(!rc || rc == GROVE_EDAMAGED);
	return rc;
}

static int a_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	if (p->fixable)
		fprintf(stderr, "line %llu: %s: %s\n", (unsigned long long)p->line, p->kind, p->detail);
	CHECK(!p->fixable);
	return 0;
}

static void nothing_left(struct grove *g, struct grove_store *st)
{
	struct grove__where at = place_of(g, st);
	struct grove_check_result result = { .size = sizeof(result) };
	struct grove_detail d;

	grove__fail_clear(&d);
	CHECK(!grove__check(g, &at, a_problem, NULL, &result, &d));
	grove__where_release(&at);
}

static int a_name(void *payload, const char *name, uint64_t size)
{
	struct grove_buf *out = payload;

	(void)size;
	CHECK(!out->len && !strncmp(name, "cut-", 4));
	return grove__buf_add_str(out, name);
}

/* Returns what was removed; empty if nothing was. */
static struct grove_buf cut_of(struct grove_store *st)
{
	struct grove_buf name = GROVE_BUF_INIT, b = GROVE_BUF_INIT;

	CHECK(!grove__store_attach_list(st, &world_key, a_name, &name, NULL));
	if (name.len)
		CHECK(!grove__store_attach_get(st, &world_key, name.ptr, &b, NULL));
	grove__buf_release(&name);
	return b;
}

static size_t number(const struct ref *r, const char *name)
{
	size_t at = ref_member(r, 0, name, strlen(name));

	CHECK(at != REF_NONE && !r->nodes[at].type);
	return strtoull(r->text + r->nodes[at].off, NULL, 10);
}

/* Puts back what the cut lists from `p` on, the last place first. */
static void put_back(const char *p, const char *end, struct grove_buf *log)
{
	const char *lf = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	struct grove_buf b = GROVE_BUF_INIT;
	size_t len, at, put;
	struct ref r;
	bool ends;

	if (p == end)
		return;
	CHECK(lf != NULL);
	ref_parse(&r, p, (size_t)(lf - p));
	CHECK(r.ok);
	len = number(&r, "length");
	at = number(&r, "at");
	put = number(&r, "put");
	ends = ref_member(&r, 0, "lf", 2) != REF_NONE;
	ref_release(&r);
	CHECK(len < (size_t)(end - lf) && lf[1 + len] == '\n');
	put_back(lf + 1 + len + 1, end, log);
	CHECK(at <= log->len && put <= log->len - at);
	CHECK(!grove__buf_add(&b, log->ptr, at) && !grove__buf_add(&b, lf + 1, len));
	if (ends)
		CHECK(!grove__buf_add_char(&b, '\n'));
	CHECK(!grove__buf_add(&b, log->ptr + at + put, log->len - at - put));
	grove__buf_release(log);
	*log = b;
}

/* Returns true if everything of `a` is in `b`, in the same order. */
static bool is_within(const struct grove_buf *a, const struct grove_buf *b)
{
	size_t i = 0;

	for (size_t k = 0; k < b->len && i < a->len; k++)
		i += a->ptr[i] == b->ptr[k];
	return i == a->len;
}

static void mend(struct grove *g, struct grove_store *st)
{
	struct grove_buf before = store_bytes(st), now, cut;
	uint64_t shown, made, again;
	int rc = fix(g, st, GROVE_FIX_DRY_RUN, &shown);

	now = store_bytes(st);
	CHECK(grove__slice_eq(grove__buf_slice(&before), grove__buf_slice(&now)));
	grove__buf_release(&now);
	CHECK(fix(g, st, 0, &made) == rc && made == (rc ? 0 : shown));
	now = store_bytes(st);
	cut = cut_of(st);
	if (cut.len) {
		const char *lf = memchr(cut.ptr, '\n', cut.len);

		CHECK(!rc && lf);
		put_back(lf + 1, cut.ptr + cut.len, &now);
		same_bytes(&before, &now, "put back");
	} else {
		CHECK(made || before.len == now.len);
		CHECK(is_within(&before, &now));
	}
	if (!rc) {
		nothing_left(g, st);
		CHECK(!fix(g, st, 0, &again) && !again);
	}
	grove__buf_release(&before);
	grove__buf_release(&now);
	grove__buf_release(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	struct grove_store *by_byte, *by_line;

	/* the function that puts pieces back is recursive */
	if (len > 20000)
		return 0;
	by_byte = text_store_new((const char *)bytes, len);
	by_line = line_store_new((const char *)bytes, len);
	mend(g, by_byte);
	mend(g, by_line);
	grove__store_close(by_byte);
	grove__store_close(by_line);
	return 0;
}
