/*
 * tests/fuzz/fuzz_thaw.c: what was kept of a session may be anything.
 *
 * The spine of any log, and the rows of dialects that have their own, are frozen and
 * thawed again: they say the same. Then words of them are overwritten, as nobody
 * does whose checksums are right, and what is thawed, if it is, is asked for all that
 * a session is asked for. It may say what it likes, or fail; it must come to an end,
 * and look at nothing that is not there.
 */
#include "world.h"

#include "base/buf.h"
#include "store/store.h"
#include "tree/spine_freeze.h"

#include <sys/mman.h>

#define ROUNDS 2
#define WORDS 6
#define ROOM ((size_t)64 << 20)
#define EXTENTS 512

/* A file as freezing leaves it: most of it was never written, and is 0. */
struct frozen {
	char *ptr;
	size_t len;
	struct grove__ice ice;
	uint64_t chain;
	bool has_chain;
	/* what was written */
	struct {
		size_t at, len;
	} extent[EXTENTS];
	size_t nr_extents, written;
};

/*
 * The same addresses for all of them: to give back the pages that were touched takes
 * a hundredth of the time that it takes to fill megabytes with zeros.
 */
static char *frozen_room(void)
{
	static char *room;

	if (!room)
		room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(room != MAP_FAILED);
	return room;
}

static void melt(struct frozen *f)
{
	CHECK(!madvise(f->ptr, (size_t)grove__ice_page_up(f->len), MADV_DONTNEED));
	fuzz_allow(f->ptr + f->len, GROVE__ICE_PAGE);
}

static int put(void *payload, uint64_t at, const void *ptr, size_t len)
{
	struct frozen *f = payload;

	CHECK(at <= ROOM / 2 && len <= ROOM / 2 - at);
	memcpy(f->ptr + at, ptr, len);
	if (at + len > f->len)
		f->len = (size_t)(at + len);
	if (len >= 4 && f->nr_extents < EXTENTS) {
		f->extent[f->nr_extents].at = (size_t)at;
		f->extent[f->nr_extents++].len = len;
		f->written += len / 4;
	}
	return 0;
}

static void freeze(const struct grove__image *im, struct frozen *f)
{
	uint64_t end = 0;

	*f = (struct frozen){ .ptr = frozen_room(), .has_chain = im->chain != NULL };
	CHECK(!grove__spine_freeze(im->spine, GROVE__ICE_PAGE, &f->ice, put, f));
	f->chain = grove__ice_page_up(f->ice.end);
	if (im->chain)
		CHECK(!im->dialect->chain_freeze(im->chain, f->chain, &end, put, f));
	/* something follows, as in a file: room that was never written may come last */
	CHECK(!put(f, f->ice.end > end ? f->ice.end : end, "", 1));
	fuzz_forbid(f->ptr + f->len, GROVE__ICE_PAGE);
}

/* Put what was frozen in the place of what the session has; false if it is refused. */
static bool thaw(struct grove__image *im, struct frozen *f)
{
	struct grove__spine *spine = grove__spine_thaw(&f->ice, f->ptr, f->len, im->tail);
	struct grove__chain *chain = spine && f->has_chain ? im->dialect->chain_thaw(f->ptr, f->len, f->chain) : NULL;

	if (!spine || (f->has_chain && (!chain || im->dialect->chain_count(chain) != spine->nr))) {
		grove__spine_unref(spine);
		if (chain)
			im->dialect->chain_free(chain);
		return false;
	}
	grove__spine_unref(im->spine);
	im->spine = spine;
	if (chain) {
		im->dialect->chain_free(im->chain);
		im->chain = chain;
	}
	return true;
}

static int nobody(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return 0;
}

static void ask_entries(struct grove_view *v, struct grove_buf *line)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t *list;
	size_t n;

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		CHECK(!grove_view_entry(v, i, &e));
		if (e.id)
			grove_view_find(v, e.id);
		grove_view_line(v, i, 0, line);
		if (!grove_view_path(v, i, &list, &n))
			free(list);
		if (!grove_view_children(v, i, 0, &list, &n))
			free(list);
	}
}

/* All that a session is asked for; what it says is not compared. */
static void ask(struct grove_session *s)
{
	static const struct grove_context_options forms[] = {
		{ .size = sizeof(*forms) },
		{ .size = sizeof(*forms), .llm = 1 },
		{ .size = sizeof(*forms), .explain = 1 },
	};
	struct grove_sink sink = { nobody, NULL };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_view *v;

	if (grove_session_view(s, &v))
		return;
	ask_entries(v, &line);
	grove_view_tree(v, 1, sink);
	grove_view_log(v, 0, sink);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		grove_view_context(v, &forms[i], sink);
	grove_view_unref(v);
	grove__buf_release(&line);
	/* and it goes on, in the room that was kept */
	grove_session_append_message(s, "{\"role\":\"user\",\"content\":\"more\"}", NULL);
	grove_session_label(s, grove_session_leaf(s) ? grove_session_leaf(s) : "x", "here", NULL);
}

/* The word with that number of all that were written. */
static char *word_at(struct frozen *f, size_t i)
{
	size_t k = 0;

	while (i >= f->extent[k].len / 4)
		i -= f->extent[k++].len / 4;
	return f->ptr + f->extent[k].at + i * 4;
}

/* One of eight words is of those that say where everything is. */
static void poison(struct frozen *f, uint64_t chance)
{
	static const uint32_t words[] = { 0xffffffff, 0xfffffff0, 0x7fffffff, 0, 1, 0x80000000, 9001, 4096, 5 };
	uint64_t nr = 1 + chance % WORDS;

	for (uint64_t i = 0; i < nr; i++) {
		bool where;
		uint32_t word;
		size_t at;

		chance = chance * 6364136223846793005u + 1442695040888963407u;
		where = chance >> 60 < 2 || !f->written;
		word = chance >> 40 & 15;
		word = word < 9 ? words[word] : (uint32_t)(chance >> 44 & 63);
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		at = (size_t)(chance >> 33);
		memcpy(where ? (char *)&f->ice + at % (sizeof(f->ice) / 4) * 4 : word_at(f, at % f->written), &word, 4);
	}
}

static void without_poison(struct grove *g, struct grove_store *st)
{
	struct grove_buf x, y;
	struct grove_session *s;
	struct frozen f;
	int rc;

	s = world_open(g, st, GROVE_READ, &rc);
	if (!s)
		return;
	x = world_tell(s, TELL_LINES | TELL_LEAF);
	grove_session_close(s);
	/* one that nobody has looked at yet */
	s = world_open(g, st, GROVE_READ, &rc);
	freeze(s->image, &f);
	CHECK(thaw(s->image, &f));
	y = world_tell(s, TELL_LINES | TELL_LEAF);
	same_bytes(&x, &y, "thawed");
	grove_session_close(s);
	melt(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct grove *g = world(FUZZ_DIALECT);
	uint64_t chance = fuzz_number(bytes, len);
	struct grove_store *st = text_store_new((const char *)bytes, len);
	struct grove_session *s;
	struct frozen f;
	int rc;

	without_poison(g, st);
	for (int i = 0; i < ROUNDS; i++) {
		s = world_open(g, st, GROVE_WRITE, &rc);
		if (!s)
			break;
		freeze(s->image, &f);
		poison(&f, chance + (uint64_t)i * 0x9e3779b97f4a7c15u);
		if (thaw(s->image, &f))
			ask(s);
		grove_session_close(s);
		melt(&f);
	}
	grove__store_close(st);
	return 0;
}
