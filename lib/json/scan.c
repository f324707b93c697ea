/*
 * json/scan.c: the table of kernels and the choice among them.
 */
#include "json/scan_impl.h"

#include "base/buf.h"

#include <assert.h>
#include <stdatomic.h>

void grove__json_want_init(struct grove__json_want *w,
			   const struct grove__json_member *members, unsigned nr)
{
	assert(nr <= GROVE__JSON_WANT_MAX);
	memset(w, 0, sizeof(*w));
	w->members = members;
	w->nr = nr;
	for (unsigned i = 0; i < nr; i++) {
		size_t len = strlen(members[i].name);
		size_t head = len < 8 ? len : 8;
		uint64_t bit = (uint64_t)1 << i;

		assert(len < sizeof(w->by_len) / sizeof(w->by_len[0]));
		assert(members[i].parent < (int)i);
		w->name_len[i] = (uint8_t)len;
		w->by_len[len] |= bit;
		memcpy(&w->head[i], members[i].name, head);
		memset(&w->head_mask[i], 0xff, head);
		w->children[members[i].parent + 1] |= bit;
		for (int up = members[i].parent; up >= 0; up = members[up].parent)
			w->below[up] |= bit;
	}
}

static const struct grove__json_kernel kernels[] = {
	{ "scalar", grove__json_scan_scalar },
#ifdef GROVE__JSON_X86
	{ "avx2", grove__json_scan_avx2 },
#endif
};

/* Returns how many of them, from the first, this CPU can run. */
static unsigned nr_runnable(void)
{
	unsigned nr = 1;

#ifdef GROVE__JSON_X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul"))
		nr++;
#endif
	return nr;
}

const struct grove__json_kernel *grove__json_kernel(unsigned i)
{
	return i < nr_runnable() ? &kernels[i] : NULL;
}

enum grove__json_verdict grove__json_scan(const struct grove__json_want *want,
					  const char *ptr, size_t len, bool final,
					  struct grove__json_line *out)
{
	/* Two threads may both choose; they choose the same. */
	static _Atomic(grove__json_scan_fn *) best;
	grove__json_scan_fn *scan = atomic_load_explicit(&best, memory_order_relaxed);

	if (!scan) {
		scan = kernels[nr_runnable() - 1].scan;
		atomic_store_explicit(&best, scan, memory_order_relaxed);
	}
	return scan(want, ptr, len, final, out);
}

int grove__json_document(struct grove_buf *text, uint64_t *error_off)
{
	struct grove__json_want nothing;
	struct grove__json_line l;
	enum grove__json_verdict v;

	/* the scanner reads lines; between values a line end is as good as a space, in one it is wrong */
	for (size_t i = 0; i < text->len; i++)
		if (text->ptr[i] == '\n')
			text->ptr[i] = ' ';
	if (grove__buf_reserve(text, GROVE__JSON_PAD))
		return GROVE_ENOMEM;
	grove__json_want_init(&nothing, NULL, 0);
	v = grove__json_scan(&nothing, text->ptr, text->len, true, &l);
	if (error_off)
		*error_off = v == JSON_BAD ? l.error_off : 0;
	if (v != JSON_VALUE)
		return v == JSON_NOMEM ? GROVE_ENOMEM : 1;
	memmove(text->ptr, text->ptr + l.value.off, (size_t)l.value.len);
	grove__buf_cut(text, (size_t)l.value.len);
	return 0;
}
