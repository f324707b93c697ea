/*
 * tests/unit/test_base.c: the basic types that the rest of the library uses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/fail.h"
#include "base/idmap.h"

#include "../lib/chance.h"

#include <errno.h>

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

/* Running out of memory must be an error here, not end the program; the sanitizers call these. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* -------------------------------------------------------------------- buf */

static void a_buffer_starts_with_nothing(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__buf_slice(&b).len, 0);
	assert_non_null(grove__buf_slice(&b).ptr);
	grove__buf_clear(&b);
	grove__buf_cut(&b, 0);
	assert_null(b.ptr);
	grove__buf_release(&b);
	grove__buf_release(&b);
}

static void a_buffer_is_a_string_as_soon_as_it_has_memory(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__buf_add(&b, NULL, 0), 0);
	assert_string_equal(b.ptr, "");
	assert_int_equal(grove__buf_add_str(&b, "abc"), 0);
	assert_int_equal(grove__buf_add_char(&b, 'd'), 0);
	assert_int_equal(grove__buf_add_slice(&b, grove__slice("efg", 2)), 0);
	assert_int_equal(grove__buf_addf(&b, "-%d-%s", 42, "x"), 0);
	assert_string_equal(b.ptr, "abcdef-42-x");
	assert_int_equal(b.len, 11);
	grove__buf_cut(&b, 3);
	assert_string_equal(b.ptr, "abc");
	grove__buf_clear(&b);
	assert_string_equal(b.ptr, "");
	assert_true(b.cap >= 11);
	grove__buf_release(&b);
	assert_null(b.ptr);
	assert_int_equal(b.len + b.cap, 0);
}

static void a_buffer_keeps_its_bytes_while_it_grows(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		char c = (char)(i * 31 % 251);

		assert_int_equal(grove__buf_add(&b, &c, 1), 0);
		assert_true(b.cap >= b.len);
		if (b.ptr[b.len] != '\0')
			fail();
	}
	for (unsigned i = 0; i < 100000; i++)
		if (b.ptr[i] != (char)(i * 31 % 251))
			fail();
	grove__buf_release(&b);
	/* every length by format, around the limits of the capacity */
	for (int n = 0; n < 300; n++) {
		assert_int_equal(grove__buf_addf(&b, "%*s", n, ""), 0);
		assert_int_equal(b.len, n);
		assert_int_equal(strlen(b.ptr), n);
		grove__buf_release(&b);
	}
}

static void reserved_room_can_be_written_to(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__buf_add_str(&b, "ab"), 0);
	assert_int_equal(grove__buf_reserve(&b, 1000), 0);
	assert_true(b.cap >= 1002);
	assert_int_equal(b.len, 2);
	memset(b.ptr + 2, 'x', 1000);
	grove__buf_cut(&b, 1002);
	assert_int_equal(strlen(b.ptr), 1002);
	/* space that is there already is not allocated again */
	{
		char *before = b.ptr;

		assert_int_equal(grove__buf_reserve(&b, 0), 0);
		assert_ptr_equal(b.ptr, before);
	}
	grove__buf_release(&b);
}

static void a_buffer_that_cannot_grow_stays_as_it_was(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	volatile size_t most = SIZE_MAX; /* volatile, or the compiler would warn */

	(void)state;
	assert_int_equal(grove__buf_add_str(&b, "abc"), 0);
	assert_int_equal(grove__buf_reserve(&b, SIZE_MAX), GROVE_ENOMEM);
	assert_int_equal(grove__buf_reserve(&b, GROVE__BUF_MAX), GROVE_ENOMEM);
	assert_int_equal(grove__buf_reserve(&b, GROVE__BUF_MAX + 1), GROVE_ENOMEM);
	assert_int_equal(grove__buf_add(&b, "x", most - 2), GROVE_ENOMEM);
	assert_string_equal(b.ptr, "abc");
	assert_int_equal(b.len, 3);
	grove__buf_release(&b);
}

/* ------------------------------------------------------------------ slice */

static void slices_compare_by_their_bytes(void **state)
{
	(void)state;
	assert_true(grove__slice_eq(str("abc"), grove__slice("abcd", 3)));
	assert_false(grove__slice_eq(str("abc"), str("abd")));
	assert_false(grove__slice_eq(str("abc"), str("ab")));
	assert_true(grove__slice_eq(grove__slice(NULL, 0), str("")));
	assert_true(grove__slice_eq(grove__slice("a\0b", 3), grove__slice("a\0b", 3)));
	assert_false(grove__slice_eq(grove__slice("a\0b", 3), grove__slice("a\0c", 3)));
	assert_true(grove__slice_is(grove__slice("abcd", 3), "abc"));
	assert_true(grove__slice_starts(str("abc"), "ab"));
	assert_true(grove__slice_starts(str("abc"), ""));
	assert_false(grove__slice_starts(str("ab"), "abc"));
}

/* ------------------------------------------------------------------ arena */

static void what_an_arena_gave_never_moves(void **state)
{
	enum { NR = 20000 };
	struct grove__arena a;
	char **kept = calloc(NR, sizeof(*kept));
	char text[64];
	size_t used = 0;

	(void)state;
	assert_non_null(kept);
	grove__arena_init(&a);
	for (int i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "%d%*s", i, i % 40, "");
		kept[i] = grove__arena_dup(&a, str(text));
		assert_non_null(kept[i]);
		used += strlen(text) + 1;
	}
	assert_int_equal(a.used, used);
	for (int i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "%d%*s", i, i % 40, "");
		assert_string_equal(kept[i], text);
	}
	grove__arena_release(&a);
	assert_int_equal(a.used, 0);
	/* as if it were new */
	assert_string_equal(grove__arena_dup(&a, grove__slice(NULL, 0)), "");
	grove__arena_release(&a);
	free(kept);
}

static void a_cleared_arena_is_used_again(void **state)
{
	struct grove__arena a;

	(void)state;
	grove__arena_init(&a);
	grove__arena_clear(&a);
	for (size_t round = 0; round < 4; round++) {
		char *first = grove__arena_dup(&a, str("first"));

		for (size_t i = 0; i < 2000 * round; i++)
			assert_non_null(grove__arena_alloc(&a, 100, 8));
		assert_string_equal(first, "first");
		assert_true(a.used >= 200000 * round);
		if (round == 3)
			assert_non_null(grove__arena_alloc(&a, (size_t)8 << 20, 8));
		grove__arena_clear(&a);
		assert_int_equal(a.used, 0);
	}
	/* a block that was larger than all others is not kept */
	assert_null(a.chunks);
	grove__arena_release(&a);
}

static void an_arena_keeps_every_alignment(void **state)
{
	struct chance c = chance_begin("arena");
	struct grove__arena a;

	(void)state;
	grove__arena_init(&a);
	for (int i = 0; i < 20000; i++) {
		size_t align = (size_t)1 << chance_below(&c, 5), len = chance_below(&c, 200);
		char *p = grove__arena_alloc(&a, len, align);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % align, 0);
		memset(p, i, len);
	}
	grove__arena_release(&a);
}

static void an_arena_takes_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 100000, (size_t)1 << 20,
					((size_t)1 << 20) + 1, (size_t)5 << 20, 3, 0, 8192 };
	volatile size_t most = SIZE_MAX;
	struct grove__arena a;

	(void)state;
	grove__arena_init(&a);
	for (size_t i = 0; i < ARRAY(sizes); i++) {
		char *p = grove__arena_alloc(&a, sizes[i], 8);

		assert_non_null(p);
		memset(p, 0x5a, sizes[i]);
	}
	/* and refuses impossible sizes, without harm */
	assert_null(grove__arena_alloc(&a, most, 1));
	assert_null(grove__arena_alloc(&a, most - 8, 16));
	assert_null(grove__arena_alloc(&a, most / 2, 1));
	assert_non_null(grove__arena_alloc(&a, 10, 1));
	grove__arena_release(&a);
}

/* ------------------------------------------------------------------ idmap */

struct owner {
	char (*name)[32];
	size_t *len;
};

static struct grove_slice name_of(const void *owner, uint32_t value)
{
	const struct owner *o = owner;

	return grove__slice(o->name[value], o->len[value]);
}

static void owner_make(struct owner *o, size_t nr)
{
	o->name = calloc(nr, sizeof(*o->name));
	o->len = calloc(nr, sizeof(*o->len));
	assert_non_null(o->name);
	assert_non_null(o->len);
}

static void owner_set(struct owner *o, uint32_t i, const char *text)
{
	o->len[i] = strlen(text);
	memcpy(o->name[i], text, o->len[i]);
}

static void owner_free(struct owner *o)
{
	free(o->name);
	free(o->len);
}

static void an_empty_map_knows_no_name(void **state)
{
	struct owner o = { NULL, NULL };
	struct grove__idmap m;

	(void)state;
	grove__idmap_init(&m, 1, name_of, &o);
	assert_int_equal(grove__idmap_get(&m, str("a")), GROVE__IDMAP_NONE);
	assert_int_equal(grove__idmap_get(&m, grove__slice(NULL, 0)), GROVE__IDMAP_NONE);
	grove__idmap_release(&m);
	grove__idmap_release(&m);
}

static void a_name_set_again_gets_the_later_number(void **state)
{
	struct grove__idmap m;
	struct owner o;
	uint32_t old;

	(void)state;
	owner_make(&o, 8);
	owner_set(&o, 0, "a");
	owner_set(&o, 1, "b");
	owner_set(&o, 2, "a");
	owner_set(&o, 3, "");
	grove__idmap_init(&m, 7, name_of, &o);
	assert_int_equal(grove__idmap_put(&m, str("a"), 0, &old), 0);
	assert_int_equal(old, GROVE__IDMAP_NONE);
	assert_int_equal(grove__idmap_put(&m, str("b"), 1, &old), 0);
	assert_int_equal(old, GROVE__IDMAP_NONE);
	assert_int_equal(grove__idmap_put(&m, str("a"), 2, &old), 0);
	assert_int_equal(old, 0);
	/* the empty name is a valid name */
	assert_int_equal(grove__idmap_get(&m, str("")), GROVE__IDMAP_NONE);
	assert_int_equal(grove__idmap_put(&m, grove__slice(NULL, 0), 3, &old), 0);
	assert_int_equal(old, GROVE__IDMAP_NONE);
	assert_int_equal(grove__idmap_get(&m, str("a")), 2);
	assert_int_equal(grove__idmap_get(&m, str("b")), 1);
	assert_int_equal(grove__idmap_get(&m, str("")), 3);
	assert_int_equal(grove__idmap_get(&m, str("c")), GROVE__IDMAP_NONE);
	assert_int_equal(m.used, 3);
	grove__idmap_release(&m);
	owner_free(&o);
}

static void a_map_grows_and_forgets_nothing(void **state)
{
	enum { NR = 200000 };
	static const uint64_t seeds[] = { 0, 1, UINT64_MAX, 0x9e3779b97f4a7c15u };
	struct owner o;
	char text[32];

	(void)state;
	owner_make(&o, NR);
	for (uint32_t i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "%x", i * 2654435761u);
		owner_set(&o, i, text);
	}
	for (size_t k = 0; k < ARRAY(seeds); k++) {
		struct grove__idmap m;
		uint32_t old;

		grove__idmap_init(&m, seeds[k], name_of, &o);
		for (uint32_t i = 0; i < NR; i++) {
			/* announcing more names, or one name, changes nothing */
			if (k && i == NR / 64 * k)
				grove__idmap_expect(&m, k == 1 ? 10 : NR);
			grove__idmap_hint(&m, name_of(&o, i));
			assert_int_equal(grove__idmap_put(&m, name_of(&o, i), i, &old), 0);
			assert_int_equal(old, GROVE__IDMAP_NONE);
			if (k > 1 && i > NR / 64 * k)
				assert_true((uint64_t)m.mask + 1 - (m.mask + 1) / 4 > NR);
			/* at most three quarters full */
			if ((uint64_t)m.used * 4 > ((uint64_t)m.mask + 1) * 3)
				fail();
		}
		assert_int_equal(m.used, NR);
		for (uint32_t i = 0; i < NR; i++)
			if (grove__idmap_get(&m, name_of(&o, i)) != i)
				fail();
		for (uint32_t i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "not %u", i);
			assert_int_equal(grove__idmap_get(&m, str(text)), GROVE__IDMAP_NONE);
		}
		/* all of them once more: no slot is used up */
		for (uint32_t i = 0; i < NR; i++) {
			assert_int_equal(grove__idmap_put(&m, name_of(&o, i), i, &old), 0);
			if (old != i)
				fail();
		}
		assert_int_equal(m.used, NR);
		grove__idmap_release(&m);
	}
	owner_free(&o);
}

static void a_map_is_what_a_list_would_be(void **state)
{
	enum { NR = 3000, NAMES = 700 };
	struct chance c = chance_begin("idmap");
	uint32_t last[NAMES];
	struct grove__idmap m;
	struct owner o;

	(void)state;
	owner_make(&o, NR);
	memset(last, 0xff, sizeof(last));
	grove__idmap_init(&m, chance_next(&c), name_of, &o);
	for (uint32_t i = 0; i < NR; i++) {
		uint32_t which = chance_below(&c, NAMES), old;
		char text[32];

		/* names of all lengths up to 30 */
		snprintf(text, sizeof(text), "%u%.*s", which, (int)(which % 27), "abcdefghijklmnopqrstuvwxyz+");
		owner_set(&o, i, text);
		assert_int_equal(grove__idmap_get(&m, str(text)), last[which]);
		assert_int_equal(grove__idmap_put(&m, str(text), i, &old), 0);
		assert_int_equal(old, last[which]);
		last[which] = i;
	}
	grove__idmap_release(&m);
	owner_free(&o);
}

static void a_hash_depends_on_every_byte_and_the_seed(void **state)
{
	unsigned char text[40] = { 0 };

	(void)state;
	for (size_t len = 0; len <= sizeof(text); len++) {
		uint64_t h;

		for (size_t i = 0; i < len; i++)
			text[i] = (unsigned char)(i * 37 + 1);
		h = grove__idmap_hash(1, text, len);
		assert_true(h == grove__idmap_hash(1, text, len));
		assert_true(h != grove__idmap_hash(2, text, len));
		for (size_t i = 0; i < len * 8; i++) {
			text[i / 8] ^= (unsigned char)(1u << i % 8);
			assert_true(h != grove__idmap_hash(1, text, len));
			text[i / 8] ^= (unsigned char)(1u << i % 8);
		}
		if (len) {
			assert_true(h != grove__idmap_hash(1, text, len - 1));
			/* with a NUL at the end it is another name */
			text[len - 1] = 0;
			assert_true(grove__idmap_hash(1, text, len) != grove__idmap_hash(1, text, len - 1));
		}
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Whoever knows the constants of the hash but not the seed must not be able to
 * make many names collide. Eight bytes that turn a factor into zero could once
 * do that.
 */
static void hostile_names_do_not_collide(void **state)
{
	static const uint64_t known[] = { 0xd6e8feb86659fd93u, 0x9e3779b97f4a7c15u, 0, UINT64_MAX };
	enum { NR = 4096 };
	struct chance c = chance_begin("hostile names");
	static uint64_t h[NR];

	(void)state;
	for (size_t k = 0; k < ARRAY(known); k++)
		for (int place = 0; place < 2; place++)
			for (int round = 0; round < 3; round++) {
				uint64_t seed = chance_next(&c);
				size_t same = 0;

				for (uint64_t i = 0; i < NR; i++) {
					unsigned char text[24] = { 0 };
					uint64_t other = i * 0x100000001b3u;

					memcpy(text + 8 * place, &known[k], 8);
					memcpy(text + 8 * !place, &other, 8);
					h[i] = grove__idmap_hash(seed, text, sizeof(text)) & 0xffffffff;
				}
				qsort(h, NR, sizeof(*h), by_value);
				for (int i = 1; i < NR; i++)
					same += h[i] == h[i - 1];
				/* 32 bits for 4096 names: hardly ever even one equal pair */
				assert_in_range(same, 0, 3);
			}
}

/* ----------------------------------------------------------------- crc32c */

/* Computes the checksum by its definition, one bit at a time. */
static uint32_t slow_crc(uint32_t crc, const unsigned char *p, size_t n)
{
	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

static void the_checksum_is_that_of_the_standards(void **state)
{
	unsigned char b[48];

	(void)state;
	/* RFC 3720, appendix B.4 */
	memset(b, 0, 32);
	assert_int_equal(grove__crc32c(0, b, 32), 0x8a9136aau);
	memset(b, 0xff, 32);
	assert_int_equal(grove__crc32c(0, b, 32), 0x62a8ab43u);
	for (int i = 0; i < 32; i++)
		b[i] = (unsigned char)i;
	assert_int_equal(grove__crc32c(0, b, 32), 0x46dd794eu);
	for (int i = 0; i < 32; i++)
		b[i] = (unsigned char)(31 - i);
	assert_int_equal(grove__crc32c(0, b, 32), 0x113fdb5cu);
	/*
	 * the check value of the catalogue of checksums, and values from the tests of other
	 * programs
	 */
	assert_int_equal(grove__crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(grove__crc32c(0, "a", 1), 0xc1d04330u);
	assert_int_equal(grove__crc32c(0, "The quick brown fox jumps over the lazy dog", 43),
			 0x22620404u);
	assert_int_equal(grove__crc32c(0, "", 0), 0);
	assert_int_equal(grove__crc32c(0, NULL, 0), 0);
}

static void the_quick_checksum_is_the_slow_one(void **state)
{
	enum { MOST = 3000 };
	struct chance c = chance_begin("crc32c");
	unsigned char *b = malloc(MOST + 16);

	(void)state;
	assert_non_null(b);
	for (size_t i = 0; i < MOST + 16; i++)
		b[i] = (unsigned char)chance_next(&c);
	/* every length at one alignment each, every alignment around each edge of the runs */
	for (size_t len = 0; len <= MOST; len++)
		assert_int_equal(grove__crc32c(0, b + len % 16, len), slow_crc(0, b + len % 16, len));
	for (size_t align = 0; align < 16; align++)
		for (size_t k = 1; k <= 3; k++)
			for (size_t len = 768 * k - 20; len < 768 * k + 20; len++)
				assert_int_equal(grove__crc32c(1234, b + align, len),
						 slow_crc(1234, b + align, len));
	free(b);
}

static void a_checksum_can_be_continued(void **state)
{
	struct chance c = chance_begin("crc32c in parts");
	unsigned char b[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (unsigned char)chance_next(&c);
	for (int i = 0; i < 500; i++) {
		uint32_t crc = 0;
		size_t at = 0;

		while (at < sizeof(b)) {
			size_t n = chance_below(&c, 1200);

			n = n < sizeof(b) - at ? n : sizeof(b) - at;
			crc = grove__crc32c(crc, b + at, n);
			at += n;
		}
		assert_int_equal(crc, grove__crc32c(0, b, sizeof(b)));
	}
}

/* -------------------------------------------------------------------- err */

static void an_error_of_the_system_gets_its_code_and_words(void **state)
{
	static const struct {
		int err, code;
	} known[] = {
		{ ENOMEM, GROVE_ENOMEM }, { ENOENT, GROVE_ENOTFOUND }, { ENOTDIR, GROVE_ENOTFOUND },
		{ EEXIST, GROVE_EEXIST }, { EACCES, GROVE_EACCESS }, { EPERM, GROVE_EACCESS },
		{ EROFS, GROVE_EACCESS }, { ENOSPC, GROVE_EFULL }, { EDQUOT, GROVE_EFULL },
		{ EBUSY, GROVE_ECONFLICT }, { ESTALE, GROVE_ESTALE }, { EFBIG, GROVE_EFULL },
		{ EISDIR, GROVE_EINVAL }, { ENAMETOOLONG, GROVE_EINVAL }, { ELOOP, GROVE_EINVAL },
		{ EIO, GROVE_EIO }, { ENXIO, GROVE_EIO }, { 99999, GROVE_EIO },
	};
	struct grove_detail d;

	(void)state;
	for (size_t i = 0; i < ARRAY(known); i++) {
		memset(&d, 0x55, sizeof(d));
		assert_int_equal(grove__fail_sys(&d, known[i].err, "/a/path", "cannot try"),
				 known[i].code);
		assert_int_equal(d.code, known[i].code);
		assert_int_equal(strncmp(d.message, "cannot try: ", 12), 0);
		assert_true(strlen(d.message) > 12);
		assert_string_equal(d.path, "/a/path");
		assert_int_equal(d.has_place, 0);
		/* negative, as calls return it; and the details may be left out */
		assert_int_equal(grove__fail_sys(NULL, -known[i].err, NULL, ""), known[i].code);
	}
}

static void a_detail_is_cut_to_its_size(void **state)
{
	static char huge[10000];
	struct grove_detail d;

	(void)state;
	memset(huge, 'x', sizeof(huge) - 1);
	assert_int_equal(grove__fail_at(&d, GROVE_EJSON, huge, 7, 1234567890123u, "%s", huge),
			 GROVE_EJSON);
	assert_int_equal(strlen(d.message), sizeof(d.message) - 1);
	assert_int_equal(strlen(d.path), sizeof(d.path) - 1);
	assert_int_equal(d.has_place, 1);
	assert_int_equal(d.line, 7);
	assert_int_equal(d.offset, 1234567890123u);
	/* the next failure overwrites all of this one */
	assert_int_equal(grove__fail(&d, GROVE_EINVAL, NULL, "short"), GROVE_EINVAL);
	assert_string_equal(d.message, "short");
	assert_string_equal(d.path, "");
	assert_int_equal(d.has_place, 0);
	assert_int_equal(grove__fail_nomem(&d), GROVE_ENOMEM);
	grove__fail_clear(&d);
	assert_int_equal(d.code, 0);
	assert_string_equal(d.message, "");
	grove__fail_clear(NULL);
	assert_int_equal(grove__fail_at(NULL, GROVE_EJSON, "p", 1, 1, "x"), GROVE_EJSON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_starts_with_nothing),
		cmocka_unit_test(a_buffer_is_a_string_as_soon_as_it_has_memory),
		cmocka_unit_test(a_buffer_keeps_its_bytes_while_it_grows),
		cmocka_unit_test(reserved_room_can_be_written_to),
		cmocka_unit_test(a_buffer_that_cannot_grow_stays_as_it_was),
		cmocka_unit_test(slices_compare_by_their_bytes),
		cmocka_unit_test(what_an_arena_gave_never_moves),
		cmocka_unit_test(an_arena_keeps_every_alignment),
		cmocka_unit_test(a_cleared_arena_is_used_again),
		cmocka_unit_test(an_arena_takes_any_size),
		cmocka_unit_test(an_empty_map_knows_no_name),
		cmocka_unit_test(a_name_set_again_gets_the_later_number),
		cmocka_unit_test(a_map_grows_and_forgets_nothing),
		cmocka_unit_test(a_map_is_what_a_list_would_be),
		cmocka_unit_test(a_hash_depends_on_every_byte_and_the_seed),
		cmocka_unit_test(hostile_names_do_not_collide),
		cmocka_unit_test(the_checksum_is_that_of_the_standards),
		cmocka_unit_test(the_quick_checksum_is_the_slow_one),
		cmocka_unit_test(a_checksum_can_be_continued),
		cmocka_unit_test(an_error_of_the_system_gets_its_code_and_words),
		cmocka_unit_test(a_detail_is_cut_to_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
