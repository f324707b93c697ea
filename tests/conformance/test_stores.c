/*
 * tests/conformance/test_stores.c: runs one suite on every store.
 *
 * It also tests how a URL chooses the store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../examples/drawer.h"
#include "store/store.h"
#include "store_suite.h"

static const struct store_kind kinds[] = {
	{ .name = "memory", .url = "memory:", .by_line = true, .meta = true, .feed = true },
	{ .name = "file", .url = "file:%s/store", .sees_writers = true },
	{ .name = "traced memory", .url = "memory:", .traced = true, .by_line = true, .meta = true,
	  .feed = true },
	{ .name = "traced file", .url = "file:%s/store", .traced = true, .sees_writers = true },
	/* this store is written outside of the library, with <grove/sys.h> alone */
	{ .name = "example", .url = "drawer:", .type = &drawer_type, .by_line = true, .meta = true },
#ifdef GROVE_TEST_SQLITE
	{ .name = "sqlite", .url = "sqlite:%s/store.db", .by_line = true, .meta = true,
	  .feed = true, .open_end = true },
	{ .name = "traced sqlite", .url = "sqlite:%s/store.db", .traced = true, .by_line = true,
	  .meta = true, .feed = true, .open_end = true },
#endif
#ifdef GROVE_TEST_MYSQL
	{ .name = "mysql", .env = "GROVE_TEST_MYSQL", .by_line = true, .meta = true,
	  .feed = true, .open_end = true },
	{ .name = "traced mysql", .env = "GROVE_TEST_MYSQL", .traced = true, .by_line = true,
	  .meta = true, .feed = true, .open_end = true },
#endif
};

static void refused(const char *url, int code, const char *words)
{
	struct grove_store *st = (struct grove_store *)&st;
	struct grove_detail d;

	assert_int_equal(grove__store_open(&st, url, &d), code);
	assert_null(st);
	assert_int_equal(d.code, code);
	if (!strstr(d.message, words))
		fail_msg("\"%s\" does not say \"%s\"", d.message, words);
	/* the details of an error may be left out */
	assert_int_equal(grove__store_open(&st, url, NULL), code);
}

static void a_scheme_that_nobody_serves_is_refused(void **state)
{
	(void)state;
	refused("ftp:host/dir", GROVE_EINVAL, "unknown kind of store");
	refused("postgres://u:secret@h/db", GROVE_EINVAL, "unknown kind of store");
	refused("files:/tmp", GROVE_EINVAL, "unknown kind of store");
	refused("MySQL://u:secret@h/db", GROVE_EINVAL, "unknown kind of store");
	refused("mysql+ssl://u:secret@h/db", GROVE_EINVAL, "unknown kind of store");
}

static void a_refusal_does_not_repeat_the_password(void **state)
{
	struct grove_store *st;
	struct grove_detail d;

	(void)state;
	assert_int_equal(grove__store_open(&st, "postgres://u:secret@h/db", &d), GROVE_EINVAL);
	assert_null(strstr(d.message, "secret"));
#ifdef GROVE_TEST_MYSQL
	assert_int_equal(grove__store_open(&st, "mysql://u:secret@h:port/db", &d), GROVE_EINVAL);
	assert_null(strstr(d.message, "secret"));
	assert_int_equal(grove__store_open(&st, "mysql://u:secret@h", &d), GROVE_EINVAL);
#else
	assert_int_equal(grove__store_open(&st, "mysql://u:secret@h/db", &d), GROVE_ENOTSUP);
#endif
	assert_null(strstr(d.message, "secret"));
}

static void a_store_that_is_not_built_in_says_so(void **state)
{
	(void)state;
#ifndef GROVE_TEST_SQLITE
	refused("sqlite:/tmp/x.db", GROVE_ENOTSUP, "no support for sqlite: stores");
#endif
#ifndef GROVE_TEST_MYSQL
	refused("mysql://h/db", GROVE_ENOTSUP, "no support for mysql: stores");
#endif
}

static void an_empty_url_is_refused(void **state)
{
	(void)state;
	refused("", GROVE_EINVAL, "empty");
	refused("file:", GROVE_EINVAL, "followed by a directory");
	refused("memory:x", GROVE_EINVAL, "must not be followed");
#ifdef GROVE_TEST_SQLITE
	refused("sqlite:", GROVE_EINVAL, "followed by a path");
#endif
}

static void is_file_store(const char *url, const char *full)
{
	struct grove_store *st;
	struct grove_detail d;

	assert_int_equal(grove__store_open(&st, url, &d), 0);
	assert_string_equal(st->ops->name, "jsonl");
	assert_string_equal(st->url, full);
	grove__store_close(st);
}

static void a_path_is_a_directory_of_files(void **state)
{
	(void)state;
	is_file_store("/no/such/place", "file:/no/such/place");
	is_file_store("file:/no/such/place/", "file:/no/such/place");
	is_file_store("rel/dir", "file:rel/dir");
	is_file_store("/", "file:/");
	/* a colon does not always end a scheme */
	is_file_store("./a:b", "file:./a:b");
	is_file_store("/tmp/memory:", "file:/tmp/memory:");
	is_file_store("C:x", "file:C:x");
}

static void a_memory_store_is_named_by_its_url(void **state)
{
	struct grove_store *st;

	(void)state;
	assert_int_equal(grove__store_open(&st, "memory:", NULL), 0);
	assert_string_equal(st->url, "memory:");
	grove__store_close(st);
}

static void refused_type(struct grove_store_type type, const char *words)
{
	struct grove__store_types types;
	struct grove_options opt = { .size = sizeof(opt), .store_types = &type, .nr_store_types = 1 };
	struct grove_detail d;
	struct grove *g;

	assert_int_equal(grove__store_types_take(&types, &type, 1, &d), GROVE_EINVAL);
	grove__store_types_release(&types);
	if (!strstr(d.message, words))
		fail_msg("\"%s\" does not say \"%s\"", d.message, words);
	assert_int_equal(grove_open(&opt, &g), GROVE_EINVAL);
	grove_close(g);
}

static void a_type_that_can_never_be_used_is_refused(void **state)
{
	static const char *const bad[] = { "", "x", "Drawer", "dra-wer", "drawer:", "file", "memory", "sqlite",
					   "mysql" };
	struct grove_store_type type = drawer_type;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		type.scheme = bad[i];
		refused_type(type, "not a scheme");
	}
	type.scheme = NULL;
	refused_type(type, "not a scheme");
	type = drawer_type;
	type.open = NULL;
	refused_type(type, "needs a function that opens it");
	type = drawer_type;
	type.size = 0;
	refused_type(type, "size of a type of store is not set");
}

static int open_nothing(void *payload, const char *url, struct grove_store **out,
			struct grove_detail *d)
{
	static const struct grove_store_ops bare = { .version = GROVE_STORE_VERSION, .name = "bare" };
	static struct grove_store st = { .ops = &bare, .url = "bare:" };

	(void)d;
	assert_string_equal(url, "bare:x");
	*out = &st;
	return *(const int *)payload;
}

static void a_store_of_a_host_is_looked_over_when_it_is_opened(void **state)
{
	int answer = 0;
	struct grove_store_type type = { .size = sizeof(type), .scheme = "bare", .open = open_nothing,
					 .payload = &answer };
	struct grove__store_types types;
	struct grove_store *st;
	struct grove_detail d;

	(void)state;
	assert_int_equal(grove__store_types_take(&types, &type, 1, &d), 0);
	assert_int_equal(grove__store_open_of(&types, &st, "bare:x", &d), GROVE_EINVAL);
	assert_null(st);
	assert_non_null(strstr(d.message, "lacks slots"));
	/* an error without a message gets one */
	answer = GROVE_EACCESS;
	assert_int_equal(grove__store_open_of(&types, &st, "bare:x", &d), GROVE_EACCESS);
	assert_null(st);
	assert_int_equal(d.code, GROVE_EACCESS);
	assert_non_null(strstr(d.message, "bare"));
	assert_int_equal(grove__store_open_of(&types, &st, "bare:x", NULL), GROVE_EACCESS);
	assert_int_equal(grove__store_open_of(&types, &st, "bar:x", &d), GROVE_EINVAL);
	grove__store_types_release(&types);
}

/* An array of structs from a later header, which has one more member at the end. */
static void types_of_a_later_header_are_taken(void **state)
{
	struct {
		struct grove_store_type type;
		void *more;
	} later[2] = { { drawer_type, later }, { drawer_type, later } };
	struct grove__store_types types;
	struct grove_store *st;
	struct grove_detail d;

	(void)state;
	later[0].type.size = later[1].type.size = sizeof(later[0]);
	later[1].type.scheme = "second";
	assert_int_equal(grove__store_types_take(&types, &later[0].type, 2, &d), 0);
	assert_int_equal(grove__store_open_of(&types, &st, "second:", &d), 0);
	assert_string_equal(st->url, "second:");
	grove__store_close(st);
	grove__store_types_release(&types);
}

static void closing_nothing_is_harmless(void **state)
{
	(void)state;
	grove__store_close(NULL);
	grove__log_close(NULL);
}

static void names_that_leave_their_directory_are_told_apart(void **state)
{
	static const char *const good[] = { "a", "a/b", "a/b/c.txt", "..a", "a..", ".a", "...", "a b" };
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.",
					   "a/..", "../a", "a/../b", "a/./b", "//" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(grove__store_name_ok(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(grove__store_name_ok(bad[i]));
}

int main(void)
{
	static const struct CMUnitTest urls[] = {
		cmocka_unit_test(a_scheme_that_nobody_serves_is_refused),
		cmocka_unit_test(a_refusal_does_not_repeat_the_password),
		cmocka_unit_test(a_store_that_is_not_built_in_says_so),
		cmocka_unit_test(an_empty_url_is_refused),
		cmocka_unit_test(a_path_is_a_directory_of_files),
		cmocka_unit_test(a_memory_store_is_named_by_its_url),
		cmocka_unit_test(a_type_that_can_never_be_used_is_refused),
		cmocka_unit_test(a_store_of_a_host_is_looked_over_when_it_is_opened),
		cmocka_unit_test(types_of_a_later_header_are_taken),
		cmocka_unit_test(closing_nothing_is_harmless),
		cmocka_unit_test(names_that_leave_their_directory_are_told_apart),
	};
	static struct CMUnitTest tests[1024];
	size_t nr = 0;

	/*
	 * when a server is given, only its stores are tested; the others are tested in a run
	 * without one
	 */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].env)
			nr = store_suite_add(&kinds[i], tests, nr, sizeof(tests) / sizeof(*tests));
	if (!nr) {
		nr = sizeof(urls) / sizeof(*urls);
		memcpy(tests, urls, sizeof(urls));
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			nr = store_suite_add(&kinds[i], tests, nr, sizeof(tests) / sizeof(*tests));
	}
	return _cmocka_run_group_tests("stores", tests, nr, NULL, NULL);
}
