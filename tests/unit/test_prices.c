/*
 * tests/unit/test_prices.c: the prices of models, and models whose price is not
 * known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/scratch.h"
#include "json/value.h"
#include "usage/prices.h"

#include <math.h>

static int add(struct grove__prices *p, const char *text, struct grove_detail *d)
{
	struct grove_detail none;

	grove__fail_clear(d ? d : &none);
	return grove__prices_add(p, grove__slice_str(text), "F", d ? d : &none);
}

static double cost_of(const struct grove__prices *p, const char *model, const struct grove__reply *r)
{
	const struct grove__price *price = grove__prices_find(p, model);

	assert_non_null(price);
	return grove__prices_of(price, r);
}

static void each_kind_of_token_has_its_price(void **state)
{
	struct grove__reply r = { .input = 1000000, .output = 2000000, .cache_read = 3000000,
				  .cache_write = 4000000, .cache_write_long = 1000000 };
	struct grove__prices p;

	(void)state;
	grove__prices_init(&p);
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"a\",\"b\"],\"input\":1,\"output\":10,"
				 "\"cacheRead\":100,\"cacheWrite\":1000,\"cacheWriteLong\":10000}]}", NULL), 0);
	assert_true(cost_of(&p, "a", &r) == 1 + 20 + 300 + 3000 + 10000);
	assert_ptr_equal(grove__prices_find(&p, "a"), grove__prices_find(&p, "b"));
	/* more for an hour than there is at all cannot be */
	r.cache_write_long = 9000000;
	assert_true(cost_of(&p, "a", &r) == 1 + 20 + 300 + 40000);
	grove__prices_release(&p);
}

static void no_name_is_taken_for_another(void **state)
{
	struct grove__prices p;

	(void)state;
	grove__prices_init(&p);
	assert_null(grove__prices_find(&p, "a"));
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"model-4-5\"],\"input\":1}]}", NULL), 0);
	assert_non_null(grove__prices_find(&p, "model-4-5"));
	assert_null(grove__prices_find(&p, "model-4-5-20260101"));
	assert_null(grove__prices_find(&p, "model-4"));
	assert_null(grove__prices_find(&p, "Model-4-5"));
	assert_null(grove__prices_find(&p, ""));
	grove__prices_release(&p);
}

static void what_has_no_price_makes_no_cost(void **state)
{
	struct grove__reply r = { .input = 5 };
	struct grove__prices p;

	(void)state;
	grove__prices_init(&p);
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"a\"],\"input\":1},{\"models\":[\"none\"]},"
				 "{\"models\":[\"free\"],\"input\":0}]}", NULL), 0);
	assert_true(cost_of(&p, "a", &r) == 5e-6);
	assert_true(cost_of(&p, "free", &r) == 0);
	assert_true(isnan(cost_of(&p, "none", &r)));
	r.cache_read = 1;
	assert_true(isnan(cost_of(&p, "a", &r)));
	grove__prices_release(&p);
}

static void beyond_a_number_of_tokens_other_prices_hold(void **state)
{
	struct grove__reply r = { .input = 10, .cache_read = 40, .cache_write = 50, .output = 1000000 };
	struct grove__prices p;

	(void)state;
	grove__prices_init(&p);
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"a\"],\"input\":0,\"output\":1,\"cacheRead\":0,"
				 "\"cacheWrite\":0,\"above\":{\"tokens\":100,\"input\":0,\"output\":2,"
				 "\"cacheRead\":0,\"cacheWrite\":0}}]}", NULL), 0);
	/* what came back is not what was sent */
	assert_true(cost_of(&p, "a", &r) == 1);
	r.input++;
	assert_true(cost_of(&p, "a", &r) == 2);
	grove__prices_release(&p);
}

static void the_first_word_about_a_model_holds(void **state)
{
	struct grove__reply r = { .input = 1000000 };
	struct grove__prices p;

	(void)state;
	grove__prices_init(&p);
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"a\"],\"input\":1}]}", NULL), 0);
	assert_int_equal(add(&p, "{\"prices\":[{\"models\":[\"b\",\"a\"],\"input\":2}]}", NULL), 0);
	assert_true(cost_of(&p, "a", &r) == 1);
	assert_true(cost_of(&p, "b", &r) == 2);
	grove__prices_release(&p);
}

static void what_is_no_list_is_told(void **state)
{
	static const char *const wrong[] = {
		"", "[]", "{}", "{\"prices\":{}}", "{\"prices\":[1]}", "{\"prices\":[{}]}",
		"{\"prices\":[{\"models\":\"a\"}]}", "{\"prices\":[{\"models\":[1]}]}",
		"{\"prices\":[{\"models\":[],\"input\":\"1\"}]}", "{\"prices\":[{\"models\":[],\"input\":-1}]}",
		"{\"prices\":[{\"models\":[],\"output\":1e999}]}", "{\"prices\":[{\"models\":[],\"above\":1}]}",
		"{\"prices\":[{\"models\":[],\"above\":{\"input\":1}}]}", "{\"prices\":[]} x",
	};
	struct grove_detail d;
	struct grove__prices p;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		grove__prices_init(&p);
		assert_int_equal(add(&p, wrong[i], &d), GROVE_EINVAL);
		assert_int_equal(d.code, GROVE_EINVAL);
		assert_string_equal(d.path, "F");
		grove__prices_release(&p);
	}
	grove__prices_init(&p);
	assert_int_equal(add(&p, "{\"prices\":[\n{\"models\":[\"a\"],\n\"input\":}]}\n", &d), GROVE_EINVAL);
	assert_int_equal(d.line, 3);
	assert_int_equal(add(&p, "\n{ \"prices\" : [\r\n\t{\"models\":[\"a\"]}\n]\n}\n\n", &d), 0);
	grove__prices_release(&p);
}

static void the_list_we_bring_has_a_date_and_a_source_for_each(void **state)
{
	struct grove_slice list = grove__json_get(grove__slice_str(grove__prices_built_in), "prices");
	struct grove__reply r = { .input = 1, .output = 1, .cache_read = 1 };
	struct grove__prices p;
	struct grove__json_iter it, names;
	size_t nr = 0, models = 0;

	(void)state;
	grove__prices_init(&p);
	assert_int_equal(add(&p, grove__prices_built_in, NULL), 0);
	grove__json_iter_init(&it, list);
	for (; grove__json_next(&it); nr++) {
		struct grove_slice date = grove__json_get(it.value, "date");
		struct grove_slice source = grove__json_get(it.value, "source");

		assert_true(date.len >= strlen("\"2026-01\"") && !memcmp(date.ptr, "\"20", 3));
		assert_true(source.len > 9 && !memcmp(source.ptr, "\"https://", 9));
		grove__json_iter_init(&names, grove__json_get(it.value, "models"));
		for (; grove__json_next(&names); models++)
			continue;
	}
	assert_true(nr > 0 && models == p.nr_names);   /* none stands there twice */
	for (size_t i = 0; i < p.nr_names; i++)
		assert_true(cost_of(&p, p.names[i].model, &r) > 0);
	/* 3 and 15 dollars; for an hour 6; beyond 200,000 tokens twice as much */
	r = (struct grove__reply){ .input = 100000, .output = 1000000, .cache_write = 100000,
				   .cache_write_long = 100000 };
	assert_true(fabs(cost_of(&p, "claude-sonnet-4-5-20250929", &r) - (0.3 + 15 + 0.6)) < 1e-9);
	r.input++;
	assert_true(fabs(cost_of(&p, "claude-sonnet-4-5-20250929", &r) - (0.600006 + 22.5 + 1.2)) < 1e-9);
	grove__prices_release(&p);
}

/* --- which list --- */

static const char *variables[2];     /* GROVE_PRICES, XDG_CONFIG_HOME */

static const char *get_variable(void *payload, const char *name)
{
	(void)payload;
	return !strcmp(name, "GROVE_PRICES") ? variables[0]
	       : !strcmp(name, "XDG_CONFIG_HOME") ? variables[1] : NULL;
}

static double input_price(const char *dir, const char *file)
{
	struct grove_options o = { .size = sizeof(o), .home = dir, .cwd = dir, .cache = "",
				   .getenv = get_variable, .nr_stores = 1,
				   .stores = (const char *const[]){ "memory:" } };
	struct grove__reply r = { .input = 1000000 };
	struct grove__prices p;
	struct grove_detail d;
	struct grove *g;
	double cost;

	assert_int_equal(grove_open(&o, &g), 0);
	grove__prices_init(&p);
	grove__fail_clear(&d);
	assert_int_equal(grove__prices_load(&p, g, file, &d), 0);
	/* what a user says nothing about is as it was */
	assert_non_null(grove__prices_find(&p, "claude-opus-4-5"));
	cost = grove__prices_find(&p, "own") ? cost_of(&p, "own", &r) : (double)NAN;
	grove__prices_release(&p);
	grove_close(g);
	return cost;
}

static void put_price(const char *dir, const char *name, int input)
{
	char path[8192], text[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(text, sizeof(text), "{\"prices\":[{\"models\":[\"own\"],\"input\":%d}]}", input);
	file_make(path, text);
}

static void a_file_that_is_named_comes_before_the_environment_and_that_before_the_configuration(
	void **state)
{
	char dir[4000], path[4096];

	(void)state;
	scratch_make(dir, sizeof(dir));
	variables[0] = variables[1] = NULL;
	assert_true(isnan(input_price(dir, NULL)));
	snprintf(path, sizeof(path), "%s/.config", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.config/grove", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put_price(path, "prices.json", 1);
	assert_true(input_price(dir, NULL) == 1);
	snprintf(path, sizeof(path), "%s/grove", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put_price(path, "prices.json", 2);
	variables[1] = dir;
	assert_true(input_price(dir, NULL) == 2);
	put_price(dir, "env.json", 3);
	variables[0] = "env.json";           /* from the working directory */
	assert_true(input_price(dir, NULL) == 3);
	put_price(dir, "named.json", 4);
	assert_true(input_price(dir, "named.json") == 4);
	variables[0] = "";
	assert_true(input_price(dir, NULL) == 2);
	scratch_remove(dir);
}

static void a_named_file_must_be_there(void **state)
{
	struct grove_options o = { .size = sizeof(o), .home = "/", .cwd = "/", .cache = "",
				   .getenv = get_variable, .nr_stores = 1,
				   .stores = (const char *const[]){ "memory:" } };
	struct grove__prices p;
	struct grove_detail d;
	struct grove *g;

	(void)state;
	variables[0] = variables[1] = NULL;
	assert_int_equal(grove_open(&o, &g), 0);
	for (int i = 0; i < 2; i++) {
		variables[0] = i ? "/nowhere/prices.json" : NULL;
		grove__prices_init(&p);
		grove__fail_clear(&d);
		assert_int_equal(grove__prices_load(&p, g, i ? NULL : "/nowhere/prices.json", &d),
				 GROVE_ENOTFOUND);
		assert_string_equal(d.path, "/nowhere/prices.json");
		grove__prices_release(&p);
	}
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_token_has_its_price),
		cmocka_unit_test(no_name_is_taken_for_another),
		cmocka_unit_test(what_has_no_price_makes_no_cost),
		cmocka_unit_test(beyond_a_number_of_tokens_other_prices_hold),
		cmocka_unit_test(the_first_word_about_a_model_holds),
		cmocka_unit_test(what_is_no_list_is_told),
		cmocka_unit_test(the_list_we_bring_has_a_date_and_a_source_for_each),
		cmocka_unit_test(
			a_file_that_is_named_comes_before_the_environment_and_that_before_the_configuration),
		cmocka_unit_test(a_named_file_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
