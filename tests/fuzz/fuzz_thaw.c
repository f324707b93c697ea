/*
 * tests/fuzz/fuzz_thaw.c: a stored session (frozen, to be thawed) that may contain
 * anything.
 *
 * The spine of any log, and the rows of dialects that have their own, are frozen and
 * thawed again: they must be the same. Then some words of them are overwritten while
 * the checksums stay right, which nobody else would do. If this can still be thawed,
 * everything that can be asked about a session is asked. The answers may be anything,
 * or errors; but getting them must end, and never access memory that is not there.
 */
#include "ice.h"
#include "world.h"

#include "base/buf.h"
#include "store/store.h"
#include "tree/spine_freeze.h"

#define ROUNDS 2
#define WORDS 6

struct frozen {
	struct ice file;
	struct grove__ice ice;
	uint64_t chain;
};

static int put(void *payload, uint64_t at, const void *ptr, size_t len)
{
	return ice_put(&((struct frozen *)payload)->file, at, ptr, len);
}

static void freeze(const struct grove__image *im, struct frozen *f)
{
	uint64_t end = 0;

	ice_init(&f->file);
	CHECK(!grove__spine_freeze(im->spine, GROVE__ICE_PAGE, &f->ice, put, f));
	f->chain = grove__ice_page_up(f->ice.end);
	CHECK(!grove__model_freeze(&im->model, f->chain, &end, put, f));
	/* something follows, as in a file: space that was never written may come last */
	CHECK(!put(f, f->ice.end > end ? f->ice.end : end, "", 1));
	ice_end(&f->file);
}

/* Replaces what the session has by what was frozen; false if it is refused. */
static bool thaw(struct grove__image *im, struct frozen *f)
{
	struct grove__spine *spine = grove__spine_thaw(&f->ice, f->file.ptr, f->file.len, im->tail);

	if (!spine || grove__model_thaw(&im->model, f->file.ptr, f->file.len, f->chain, spine->nr)) {
		grove__spine_free(spine);
		return false;
	}
	grove__spine_free(im->spine);
	im->spine = spine;
	return true;
}

/* Overwrites some words; one of eight is a word that says where everything is. */
static void poison(struct frozen *f, uint64_t chance, size_t tail)
{
	for (uint64_t nr = 1 + chance % WORDS; nr; nr--) {
		bool where = !(ice_chance(&chance) & 7);
		uint32_t word;

		if (!where && ice_poison(&f->file, &chance, 0, ICE_PIECES, tail))
			continue;
		word = ice_word(&chance, tail);
		memcpy((char *)&f->ice + ice_chance(&chance) % (sizeof(f->ice) / 4) * 4, &word, 4);
	}
}

static void without_poison(struct grove *g, struct grove_store *st)
{
	struct grove_buf x, y;
	struct grove_session *s;
	struct frozen f;
	int rc;

	s = world_open(g, st, GROVE_OPEN_READ, &rc);
	if (!s)
		return;
	x = world_tell(s, TELL_LINES | TELL_LEAF);
	grove_session_close(s);
	/* a session that nobody has asked anything yet */
	s = world_open(g, st, GROVE_OPEN_READ, &rc);
	freeze(s->image, &f);
	CHECK(thaw(s->image, &f));
	y = world_tell(s, TELL_LINES | TELL_LEAF);
	same_bytes(&x, &y, "thawed");
	grove_session_close(s);
	ice_melt(&f.file);
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
		s = world_open(g, st, GROVE_OPEN_WRITE, &rc);
		if (!s)
			break;
		freeze(s->image, &f);
		poison(&f, chance + (uint64_t)i * 0x9e3779b97f4a7c15u, len);
		if (thaw(s->image, &f))
			world_ask(s);
		grove_session_close(s);
		ice_melt(&f.file);
	}
	grove__store_close(st);
	return 0;
}
