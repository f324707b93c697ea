/*
 * Tests how the program reads its options from the command line.
 */
#include "../../programs/kit/opt.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int all, json, help, sort, soon;
static const char *cwd;
static uint64_t limit, width, days;
static struct opt_list stores;
static char why[512];

static const char *const sorts[] = { "modified", "size", NULL };

static const struct opt own[] = {
	{ "all", .flag = &all },
	{ "cwd", .letter = 'C', .string = &cwd },
	{ "limit", .letter = 'n', .number = &limit },
	{ "width", .number = &width, .least = 2 },
	{ "soon", .flag = &soon, .number = &days },
	{ "sort", .choice = &sort, .choices = sorts },
	{ NULL },
};
static const struct opt global[] = {
	{ "json", .flag = &json },
	{ "store", .list = &stores },
	{ "help", .letter = 'h', .flag = &help },
	{ NULL },
};

static char *words[16];

/* Split a line at spaces, parse it; the operands stay in words[]. */
static int parse(const char *line, int *argc, unsigned flags)
{
	static char copy[256];
	const struct opt *const tables[] = { own, global, NULL };
	char *rest = copy, *word;

	all = json = help = sort = soon = 0;
	days = 0;
	cwd = NULL;
	limit = 0;
	opt_list_release(&stores);
	why[0] = '\0';
	*argc = 0;
	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")))
		words[(*argc)++] = word;
	return opt_parse(tables, argc, words, flags, why, sizeof(why));
}

static void a_number_may_be_missing(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--soon word", &argc, 0), 0);
	assert_int_equal(soon, 1);
	assert_int_equal(days, 0);
	assert_int_equal(argc, 1);
	assert_int_equal(parse("--soon 7 word", &argc, 0), 0);
	assert_int_equal(soon, 1);
	assert_int_equal(days, 7);
	assert_int_equal(argc, 1);
	assert_int_equal(parse("--soon=12", &argc, 0), 0);
	assert_int_equal(days, 12);
	assert_int_equal(parse("--soon 7up", &argc, 0), 0);
	assert_int_equal(days, 0);
	assert_int_equal(argc, 1);
	assert_int_equal(parse("--soon=x", &argc, 0), -1);
	assert_string_equal(why, "--soon: 'x' is not a number");
}

static void options_stand_anywhere_among_the_operands(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--all one --limit 3 two --json", &argc, 0), 0);
	assert_int_equal(argc, 2);
	assert_string_equal(words[0], "one");
	assert_string_equal(words[1], "two");
	assert_true(all && json);
	assert_int_equal(limit, 3);
}

static void a_value_follows_an_equals_sign_or_stands_alone(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--cwd=/a=b --sort size", &argc, 0), 0);
	assert_string_equal(cwd, "/a=b");
	assert_int_equal(sort, 1);
	assert_int_equal(argc, 0);
	assert_int_equal(parse("--cwd=", &argc, 0), 0);
	assert_string_equal(cwd, "");
}

static void a_value_may_look_like_an_option(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--cwd --all", &argc, 0), 0);
	assert_string_equal(cwd, "--all");
	assert_false(all);
}

static void the_last_value_counts_and_a_list_keeps_all(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--cwd a --store x --cwd b --store y", &argc, 0), 0);
	assert_string_equal(cwd, "b");
	assert_int_equal(stores.nr, 2);
	assert_string_equal(stores.item[0], "x");
	assert_string_equal(stores.item[1], "y");
	opt_list_release(&stores);
}

static void two_dashes_end_the_options(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("one -- --all -x --", &argc, 0), 0);
	assert_int_equal(argc, 4);
	assert_string_equal(words[1], "--all");
	assert_string_equal(words[2], "-x");
	assert_string_equal(words[3], "--");
	assert_false(all);
}

static void a_dash_alone_is_an_operand(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("- --all", &argc, 0), 0);
	assert_int_equal(argc, 1);
	assert_string_equal(words[0], "-");
}

static void before_the_command_parsing_stops_at_its_name(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("--json ls --nonsense", &argc, OPT_STOP_AT_OPERAND), 0);
	assert_int_equal(argc, 2);
	assert_string_equal(words[0], "ls");
	assert_string_equal(words[1], "--nonsense");
	assert_true(json);
}

static void a_letter_may_take_the_next_word(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("-C -x --all y", &argc, 0), 0);
	assert_string_equal(cwd, "-x");
	assert_true(all);
	assert_int_equal(argc, 1);
	assert_int_equal(parse("x -C", &argc, 0), -1);
	assert_string_equal(why, "-C needs a value");
}

static void a_letter_is_a_flag(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("-h", &argc, 0), 0);
	assert_true(help);
	assert_int_equal(parse("-hx", &argc, 0), -1);
	assert_string_equal(why, "unknown option -hx");
}

static void letters_stand_together(void **state)
{
	int argc;

	(void)state;
	assert_int_equal(parse("-C/w word", &argc, 0), 0);
	assert_string_equal(cwd, "/w");
	assert_int_equal(argc, 1);
	assert_int_equal(parse("-hC /w", &argc, 0), 0);
	assert_int_equal(help, 1);
	assert_string_equal(cwd, "/w");
	assert_int_equal(argc, 0);
	assert_int_equal(parse("-hhCh word", &argc, 0), 0);
	assert_string_equal(cwd, "h");
	assert_int_equal(argc, 1);
	assert_int_equal(parse("-n12", &argc, 0), 0);
	assert_int_equal(limit, 12);
	assert_int_equal(parse("-nx", &argc, 0), -1);
	assert_string_equal(why, "-n: 'x' is not a number");
	assert_int_equal(parse("-hx", &argc, 0), -1);
	assert_string_equal(why, "unknown option -hx");
	assert_int_equal(parse("-hC", &argc, 0), -1);
	assert_string_equal(why, "-C needs a value");
}

static void mistakes_are_told_in_words(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "--nonsense", "unknown option --nonsense" },
		{ "--alll=3", "unknown option --alll (did you mean --all?)" },
		{ "--limti 3", "unknown option --limti (did you mean --limit?)" },
		{ "--all=yes", "--all takes no value" },
		{ "--cwd", "--cwd needs a value" },
		{ "--limit", "--limit needs a value" },
		{ "--limit many", "--limit: 'many' is not a number" },
		{ "--limit -1", "--limit: must be at least 0, not -1" },
		{ "--limit -", "--limit: '-' is not a number" },
		{ "--limit -x", "--limit: '-x' is not a number" },
		{ "--width 1", "--width: must be at least 2, not 1" },
		{ "--width=-3", "--width: must be at least 2, not -3" },
		{ "--limit=+1", "--limit: '+1' is not a number" },
		{ "--limit 1x", "--limit: '1x' is not a number" },
		{ "--limit=", "--limit: '' is not a number" },
		{ "--limit 99999999999999999999", "--limit: '99999999999999999999' is not a number" },
		{ "--sort name", "--sort: 'name' is not one of modified, size" },
	};
	int argc;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line, &argc, 0), -1);
		assert_string_equal(why, cases[i].why);
	}
}

static int operands(const char *spec, int argc)
{
	static char a[] = "a", b[] = "b", c[] = "c", d[] = "d";
	char *given[] = { a, b, c, d };

	why[0] = '\0';
	return opt_operands(spec, argc, given, why, sizeof(why));
}

static void operands_are_counted_by_their_synopsis(void **state)
{
	(void)state;
	assert_int_equal(operands("SESSION [ENTRY]", 1), 0);
	assert_int_equal(operands("SESSION [ENTRY]", 2), 0);
	assert_int_equal(operands("SESSION [ENTRY]", 0), -1);
	assert_string_equal(why, "SESSION is missing");
	assert_int_equal(operands("SESSION ENTRY [TEXT]", 1), -1);
	assert_string_equal(why, "ENTRY is missing");
	assert_int_equal(operands("SESSION [ENTRY]", 3), -1);
	assert_string_equal(why, "unexpected argument 'c'");
	assert_int_equal(operands("SESSION...", 0), -1);
	assert_string_equal(why, "SESSION is missing");
	assert_int_equal(operands("SESSION...", 4), 0);
	assert_int_equal(operands("[WORD...]", 0), 0);
	assert_int_equal(operands("[WORD...]", 4), 0);
	assert_int_equal(operands("", 0), 0);
	assert_int_equal(operands("", 1), -1);
}

static void a_slip_is_a_letter_or_two(void **state)
{
	(void)state;
	assert_int_equal(opt_slip("lst", 3, "ls"), 1);
	assert_int_equal(opt_slip("ls", 2, "ls"), 0);
	assert_int_equal(opt_slip("contxet", 7, "context"), 1);
	assert_int_equal(opt_slip("shwo", 4, "show"), 1); /* two that changed places */
	assert_int_equal(opt_slip("contect", 7, "context"), 1);
	assert_int_equal(opt_slip("cnotetx", 7, "context"), 0);
	assert_int_equal(opt_slip("zzz", 3, "ls"), 0);
	assert_int_equal(opt_slip("", 0, "l"), 0);
	assert_int_equal(opt_slip("a-word-that-is-longer-than-any-name", 35, "ls"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_may_be_missing),
		cmocka_unit_test(options_stand_anywhere_among_the_operands),
		cmocka_unit_test(a_value_follows_an_equals_sign_or_stands_alone),
		cmocka_unit_test(a_value_may_look_like_an_option),
		cmocka_unit_test(the_last_value_counts_and_a_list_keeps_all),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_dash_alone_is_an_operand),
		cmocka_unit_test(before_the_command_parsing_stops_at_its_name),
		cmocka_unit_test(a_letter_is_a_flag),
		cmocka_unit_test(a_letter_may_take_the_next_word),
		cmocka_unit_test(letters_stand_together),
		cmocka_unit_test(mistakes_are_told_in_words),
		cmocka_unit_test(operands_are_counted_by_their_synopsis),
		cmocka_unit_test(a_slip_is_a_letter_or_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
