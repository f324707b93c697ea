/*
 * tests/fuzz/ice.c: a file in memory that is written once and then damaged.
 */
#include "ice.h"

#include <sys/mman.h>

#define ROOM ((size_t)64 << 20)
#define PAGE 4096u

void ice_init(struct ice *f)
{
	static char *room;

	if (!room)
		room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(room != MAP_FAILED);
	f->ptr = room;
	f->len = f->nr = 0;
}

int ice_put(struct ice *f, uint64_t at, const void *ptr, size_t len)
{
	CHECK(at <= ROOM / 2 && len <= ROOM / 2 - at);
	if (len)
		memcpy(f->ptr + at, ptr, len);
	if (at + len > f->len)
		f->len = (size_t)at + len;
	if (f->nr < ICE_PIECES) {
		f->piece[f->nr].at = (size_t)at;
		f->piece[f->nr++].len = len;
	}
	return 0;
}

void ice_end(struct ice *f)
{
	fuzz_forbid(f->ptr + f->len, PAGE);
}

void ice_melt(struct ice *f)
{
	fuzz_allow(f->ptr + f->len, PAGE);
	CHECK(!madvise(f->ptr, (f->len + PAGE - 1) / PAGE * PAGE, MADV_DONTNEED));
	f->len = f->nr = 0;
}

uint32_t ice_word(uint64_t *chance, size_t near)
{
	static const uint32_t words[] = { 0xffffffff, 0xfffffff0, 0x7fffffff, 0, 1, 0x80000000, 9001, 4096, 5 };
	uint64_t c = ice_chance(chance);

	switch (c & 3) {
	case 0:
		return (uint32_t)(c >> 8 & 63);
	case 1:
		return (uint32_t)(near + (c >> 8 & 3) - 1);
	default:
		return words[(c >> 8) % (sizeof(words) / sizeof(*words))];
	}
}

bool ice_poison(struct ice *f, uint64_t *chance, size_t from, size_t until, size_t near)
{
	size_t all = 0, at;
	uint32_t word;

	for (size_t i = from; i < until && i < f->nr; i++)
		all += f->piece[i].len / 4;
	if (!all)
		return false;
	at = (size_t)(ice_chance(chance) % all);
	while (at >= f->piece[from].len / 4)
		at -= f->piece[from++].len / 4;
	word = ice_word(chance, near);
	memcpy(f->ptr + f->piece[from].at + at * 4, &word, 4);
	return true;
}
