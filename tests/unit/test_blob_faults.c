/*
 * tests/unit/test_blob_faults.c: hashing that fails, blobs that are too large,
 * and files among the blobs that are not blobs.
 *
 * The linker replaces calls of OpenSSL (--wrap, see tests/meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include "../lib/world.h"
#include "blob/blob.h"

static const char *broken;

static bool fails(const char *call)
{
	return broken && !strcmp(broken, call);
}

#define BROKEN(type, name, params, args, answer) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		return fails(#name) ? (answer) : __real_##name args; \
	}

BROKEN(EVP_MD *, EVP_MD_fetch, (OSSL_LIB_CTX *c, const char *name, const char *how), (c, name, how), NULL)
BROKEN(EVP_MD_CTX *, EVP_MD_CTX_new, (void), (), NULL)
BROKEN(int, EVP_Digest,
       (const void *p, size_t n, unsigned char *out, unsigned *len, const EVP_MD *type, ENGINE *e),
       (p, n, out, len, type, e), 0)
BROKEN(int, EVP_DigestInit_ex, (EVP_MD_CTX *c, const EVP_MD *type, ENGINE *e), (c, type, e), 0)
BROKEN(int, EVP_DigestUpdate, (EVP_MD_CTX *c, const void *p, size_t n), (c, p, n), 0)
BROKEN(int, EVP_DigestFinal_ex, (EVP_MD_CTX *c, unsigned char *out, unsigned *len), (c, out, len), 0)

#define BYTES "some bytes"
#define NO_HASH "00000000000000000000000000000000000000000000000000000000000000"  /* 62 of 64 */

static struct grove__blobs *blobs(struct world *w)
{
	struct grove__blobs *b;

	broken = NULL;
	assert_int_equal(grove__blobs_open(&b, w->cwd, NULL), 0);
	return b;
}

static void without_sha_256_there_are_no_blobs(void **state)
{
	struct world *w = *state;
	struct grove__blobs *b;
	struct grove_detail d;

	broken = "EVP_MD_fetch";
	assert_int_equal(grove__blobs_open(&b, w->cwd, &d), GROVE_ENOTSUP);
	assert_null(b);
	broken = NULL;
	assert_int_equal(grove__blobs_open(&b, "", &d), GROVE_EINVAL);
}

static void a_hash_that_cannot_be_made_is_told(void **state)
{
	static const char *const calls[] = { "EVP_MD_CTX_new", "EVP_DigestInit_ex", "EVP_DigestUpdate",
					     "EVP_DigestFinal_ex" };
	struct world *w = *state;
	struct grove__blobs *b = blobs(w);
	char hash[GROVE__BLOB_HASH];
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_detail d;
	uint64_t size;

	broken = "EVP_Digest";
	assert_int_equal(grove__blob_put(b, text(BYTES), GROVE_SYNC_NONE, 0, hash, NULL, &d), GROVE_ENOMEM);
	assert_dir(w->cwd, "");
	broken = NULL;
	assert_int_equal(grove__blob_put(b, text(BYTES), GROVE_SYNC_NONE, 0, hash, NULL, &d), 0);
	broken = "EVP_Digest";
	assert_int_equal(grove__blob_get(b, hash, &out, &d), GROVE_ENOMEM);
	assert_int_equal(out.len, 0);
	for (size_t i = 0; i < 4; i++) {
		broken = calls[i];
		assert_int_equal(grove__blob_verify(b, hash, &size, &d), GROVE_ENOMEM);
	}
	broken = NULL;
	assert_int_equal(grove__blob_verify(b, hash, &size, &d), 0);
	assert_int_equal(size, strlen(BYTES));
	grove_buf_release(&out);
	grove__blobs_close(b);
}

static void more_than_a_gigabyte_is_refused(void **state)
{
	static const char hash[] = NO_HASH "ab";
	struct world *w = *state;
	struct grove__blobs *b = blobs(w);
	char got[GROVE__BLOB_HASH];
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_detail d;

	/* none of the bytes are read */
	assert_int_equal(grove__blob_put(b, grove__slice("", GROVE__BLOB_MAX + 1), GROVE_SYNC_NONE, 0, got,
					 NULL, &d), GROVE_ETOOBIG);
	assert_dir(w->cwd, "");
	/* a sparse file takes no space */
	make(w, hash, "");
	assert_int_equal(truncate(in_world(w, hash), (off_t)GROVE__BLOB_MAX + 1), 0);
	assert_int_equal(grove__blob_get(b, hash, &out, &d), GROVE_ETOOBIG);
	assert_int_equal(out.len, 0);
	grove__blobs_close(b);
}

static int name_it(void *payload, const struct grove__blob_entry *e)
{
	return grove__buf_addf(payload, "%d%s ", (int)e->kind, e->name + strlen(e->name) - 2);
}

static int vanish(const char *call)
{
	return strcmp(call, "lstat") ? 0 : ENOENT;
}

static void what_lies_among_blobs_and_is_none_is_passed_over(void **state)
{
	static const char *const names[] = {
		NO_HASH "aa", NO_HASH "ab.png", NO_HASH "ac.x-Icon9", NO_HASH "ad.p_g", NO_HASH "ae.",
		NO_HASH "af.abcdefghijklmnopq", NO_HASH "zz.png", NO_HASH "b0+png", "short", ".blob-xyz.tmp",
	};
	struct world *w = *state;
	struct grove__blobs *b = blobs(w);
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_detail d;
	bool gone;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		make(w, names[i], BYTES);
	assert_int_equal(mkdir(in_world(w, NO_HASH "b1"), 0700), 0);
	assert_int_equal(mkdir(in_world(w, NO_HASH "b2.png"), 0700), 0);
	assert_int_equal(grove__blobs_list(b, name_it, &got, &d), 0);
	assert_int_equal(got.len, strlen("0aa 1b1 2ng 2n9 "));
	assert_non_null(strstr(got.ptr, "0aa "));
	assert_non_null(strstr(got.ptr, "1b1 "));
	assert_non_null(strstr(got.ptr, "2ng "));
	assert_non_null(strstr(got.ptr, "2n9 "));
	grove_buf_release(&got);
	/* the file is removed meanwhile */
	grove__sys_fault = vanish;
	assert_int_equal(grove__blobs_list(b, name_it, &got, &d), 0);
	assert_int_equal(got.len, 0);
	grove__sys_fault = NULL;
	/* a file without permission to write is removed all the same */
	fail_at("open", EACCES, 0, 1);
	assert_int_equal(grove__blob_sweep(b, NO_HASH "aa", INT64_MAX, &gone, &d), 0);
	all_is_well();
	assert_true(gone);
	assert_false(is_there(in_world(w, NO_HASH "aa")));
	/* and a file that appeared meanwhile stays */
	assert_int_equal(grove__blob_sweep(b, NO_HASH "ab.png", 0, &gone, &d), 0);
	assert_false(gone);
	assert_int_equal(grove__blob_sweep(b, NO_HASH "aa", INT64_MAX, &gone, &d), 0);
	assert_false(gone);
	grove__blobs_close(b);
}

static void a_place_that_is_no_directory_has_no_blobs(void **state)
{
	struct world *w = *state;
	struct grove__blobs *b;
	struct grove_detail d;

	broken = NULL;
	make(w, "file", "");
	assert_int_equal(grove__blobs_open(&b, in_world(w, "file"), &d), 0);
	assert_int_equal(grove__blob_has(b, NO_HASH "aa", &d), 0);
	fail_at("lstat", EIO, 0, 1);
	assert_int_equal(grove__blob_has(b, NO_HASH "aa", &d), GROVE_EIO);
	all_is_well();
	grove__blobs_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(without_sha_256_there_are_no_blobs),
		WORLD_TEST(a_hash_that_cannot_be_made_is_told),
		WORLD_TEST(more_than_a_gigabyte_is_refused),
		WORLD_TEST(what_lies_among_blobs_and_is_none_is_passed_over),
		WORLD_TEST(a_place_that_is_no_directory_has_no_blobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
