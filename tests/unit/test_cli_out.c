/*
 * Tests what the program prints: it is safe for a terminal and no wider than
 * it.
 */
#include "../../programs/kit/cells.c"
#include "../../programs/kit/out.c"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct out o;

static int begin(void **state)
{
	(void)state;
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
	out_init(&o, -1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	out_release(&o);
	return 0;
}

/* What was printed since the last look. */
static const char *printed(void)
{
	out_bytes(&o, "", 1);
	o.len = 0;
	return o.ptr;
}

static struct grove_slice slice(const char *p, size_t len)
{
	return (struct grove_slice){ p, len };
}

static const char *text(const char *str)
{
	out_text(&o, out_str(str));
	return printed();
}

static const char *fitted(const char *str, unsigned width, unsigned used)
{
	assert_int_equal(out_fit(&o, out_str(str), width), used);
	return printed();
}

/* ASCII as it fits: one space for any white space, none at the ends, and a mark where it was cut. */
static void fit_slowly(const char *str, unsigned width, char *want)
{
	unsigned n = 0;

	for (; *str; str++) {
		if (!strchr(" \t\n\v\f\r", *str))
			want[n++] = *str;
		else if (n && want[n - 1] != ' ')
			want[n++] = ' ';
	}
	if (n && want[n - 1] == ' ')
		n--;
	strcpy(want + (n <= width ? n : width - 1), n <= width ? "" : "…");
}

static void words_of_all_lengths_fit_as_they_would_one_by_one(void **state)
{
	static const char letters[] = "abc~! \n\t  xyz0";
	char str[64], want[80];
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned len = round % (sizeof(str) - 1), width = 1 + round / 7 % 40;

		for (unsigned i = 0; i < len; i++) {
			seed = seed * 1103515245u + 12345u;
			/* mostly letters, so that many eights of them have none of the others */
			str[i] = seed >> 28 ? (char)('a' + (seed >> 16) % 26) : letters[(seed >> 16) % 15];
		}
		str[len] = '\0';
		fit_slowly(str, width, want);
		out_fit(&o, out_str(str), width);
		assert_string_equal(printed(), want);
	}
}

static void control_characters_become_visible(void **state)
{
	(void)state;
	assert_string_equal(text("a\033[31mb"), "a^[[31mb");
	assert_string_equal(text("\x01\x7f\b"), "^A^?^H");
	assert_string_equal(text("\xc2\x9b" "31m"), "<U+009B>31m");
	out_text(&o, slice("a\0b", 3));
	assert_string_equal(printed(), "a^@b");
}

static void line(const char *str, const char *want)
{
	out_line(&o, out_str(str));
	assert_string_equal(printed(), want);
}

static void what_belongs_on_a_line_stays_on_it(void **state)
{
	(void)state;
	line("", "");
	line("a\ngrove: b", "a^Jgrove: b");
	line("\n\r\n\xe2\x80\xa8\n", "^J^M^J<U+2028>^J");
	line("a\tb \033\xc2\x85", "a\tb ^[<U+0085>");
	out_line(&o, slice(NULL, 0));
	assert_string_equal(printed(), "");
}

static void marks_of_direction_become_visible(void **state)
{
	(void)state;
	assert_string_equal(text("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xe2\x80\x8f"),
			    "a<U+202E>b<U+2066>c<U+200F>");
	assert_string_equal(text("\xd8\x9c"), "<U+061C>");
}

static void what_cannot_be_seen_becomes_visible(void **state)
{
	(void)state;
	assert_string_equal(text("pass\u200bword\u2060\ufeff"), "pass<U+200B>word<U+2060><U+FEFF>");
	assert_string_equal(text("a\u200c\u200db\u206fc\ufffbd\u180ee"),
			    "a<U+200C><U+200D>b<U+206F>c<U+FFFB>d<U+180E>e");
	assert_string_equal(text("x\U000e0041\U000e007f"), "x<U+E0041><U+E007F>");
	assert_string_equal(text("a\u00adb\u034fc\u1160d\u3164e\uffa0f"),
			    "a<U+00AD>b<U+034F>c<U+1160>d<U+3164>e<U+FFA0>f");
	assert_string_equal(text("\U0001d173\U000e0fff"), "<U+1D173><U+E0FFF>");
	assert_string_equal(text("A\ufe0f\u200d"), "A<U+FE0F><U+200D>");
	/* a second selector varies nothing: that is how bytes are hidden behind an emoji */
	assert_string_equal(text("😀\ufe0f\ufe01\U000e0101"), "😀\ufe0f<U+FE01><U+E0101>");
	assert_string_equal(text("❤\u200d!"), "❤<U+200D>!");
	/* cells see the same */
	assert_string_equal(fitted("a\u200bb", 20, 10), "a<U+200B>b");
	assert_string_equal(fitted("x\U000e0041", 20, 10), "x<U+E0041>");
	assert_string_equal(fitted("a \ufe0f", 20, 10), "a <U+FE0F>");
}

static void what_an_emoji_or_a_script_is_made_of_stays(void **state)
{
	static const char *const whole[] = {
		"❤\ufe0f", "❤\ufe0f\u200d🔥", "👩\u200d💻", "👩🏽\u200d🚀", "👨\u200d👩\u200d👧\u200d👦", "🏃🏻\u200d♀\ufe0f",
		"1\ufe0f\u20e3", "☎\ufe0e", "می\u200cخواهم", "क्\u200dष", "葛\U000e0101",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		assert_string_equal(text(whole[i]), whole[i]);
		out_fit(&o, out_str(whole[i]), 60);
		assert_string_equal(printed(), whole[i]);
	}
}

static void other_text_stays_as_it_is(void **state)
{
	static const char words[] = "naïve 解析器 👩‍👩‍👧 שלום\n\tnext";

	(void)state;
	assert_string_equal(text(words), words);
}

static void bytes_that_are_no_text_become_visible(void **state)
{
	(void)state;
	assert_string_equal(text("\xff" "a"), "<FF>a");
	assert_string_equal(text("a\xe2\x80"), "a<E2><80>");
	assert_string_equal(text("\xc0\x9b"), "<C0><9B>");
	assert_string_equal(text("\xe2" "AB"), "<E2>AB");
	assert_string_equal(text("\xed\xa0\x80"), "<ED><A0><80>");
}

static void line_ends_of_other_systems_are_no_news(void **state)
{
	(void)state;
	assert_string_equal(text("a\r\nb\rc\r"), "a\nb^Mc^M");
}

static void one_line_has_no_runs_of_white_space(void **state)
{
	(void)state;
	assert_string_equal(fitted(" \n a \t\r\n b  ", 20, 3), "a b");
	assert_string_equal(fitted("", 20, 0), "");
	assert_string_equal(fitted(" \n ", 20, 0), "");
}

static void text_that_fits_is_not_cut(void **state)
{
	(void)state;
	assert_string_equal(fitted("abcde", 5, 5), "abcde");
	assert_string_equal(fitted("abcde ", 5, 5), "abcde");
	assert_string_equal(fitted("解析器", 6, 6), "解析器");
}

static void text_that_does_not_fit_ends_in_an_ellipsis(void **state)
{
	(void)state;
	assert_string_equal(fitted("abcdef", 5, 5), "abcd…");
	assert_string_equal(fitted("abcdef", 1, 1), "…");
	assert_string_equal(fitted("abcdef", 0, 0), "");
	/* a wide character is not cut in two */
	assert_string_equal(fitted("解析器", 5, 5), "解析…");
	assert_string_equal(fitted("解析器", 4, 3), "解…");
}

static void marks_stay_with_their_letter(void **state)
{
	(void)state;
	assert_string_equal(fitted("e\xcc\x81" "e\xcc\x81" "e\xcc\x81", 3, 3),
			    "e\xcc\x81" "e\xcc\x81" "e\xcc\x81");
	assert_string_equal(fitted("e\xcc\x81" "e\xcc\x81" "e\xcc\x81", 2, 2), "e\xcc\x81…");
	assert_string_equal(fitted("👩‍👩‍👧x", 3, 3), "👩‍👩‍👧x");
	assert_string_equal(fitted("👩‍👩‍👧xy", 3, 3), "👩‍👩‍👧…");
}

static void a_letter_with_too_many_marks_loses_some(void **state)
{
	char many[1 + 2 * 1000 + 1];

	(void)state;
	many[0] = 'e';
	for (int i = 0; i < 1000; i++)
		memcpy(many + 1 + 2 * i, "\xcc\x81", 2);
	many[sizeof(many) - 1] = '\0';
	assert_true(strlen(fitted(many, 10, 1)) < 100);
}

static void visible_forms_are_not_cut_in_two(void **state)
{
	(void)state;
	assert_string_equal(fitted("a\033b", 4, 4), "a^[b");
	assert_string_equal(fitted("a\033b", 3, 2), "a…");
	assert_string_equal(fitted("\xe2\x80\xae" "abc", 9, 9), "<U+202E>…");
}

static void a_column_is_filled_up(void **state)
{
	(void)state;
	out_column(&o, out_str("解"), 4);
	out_puts(&o, "|");
	assert_string_equal(printed(), "解  |");
	out_column(&o, out_str("too long"), 4);
	out_puts(&o, "|");
	assert_string_equal(printed(), "too…|");
}

static void width_counts_no_further_than_asked(void **state)
{
	(void)state;
	assert_int_equal(out_width(out_str("解a"), 100), 3);
	assert_true(out_width(out_str("abcdefghij"), 3) < 6);
}

static void a_block_keeps_its_lines_behind_a_prefix(void **state)
{
	(void)state;
	assert_int_equal(out_block(&o, out_str("one\r\n\n\ttwo\n\n"), "  ", 0), 0);
	assert_string_equal(printed(), "  one\n\n  \ttwo\n");
	assert_int_equal(out_block(&o, out_str("one\n\ntwo"), "│ ", 0), 0);
	assert_string_equal(printed(), "│ one\n│\n│ two\n");
	assert_int_equal(out_block(&o, out_str(""), "  ", 0), 0);
	assert_string_equal(printed(), "");
}

static void a_short_block_tells_how_much_it_hides(void **state)
{
	(void)state;
	o.width = 12;
	assert_int_equal(out_block(&o, out_str("a very long line\n\tx\nc\nd\n"), "  ", 2), 2);
	assert_string_equal(printed(), "  a very l…\n          x\n");
}

static void json_for_a_pipe_is_handed_on(void **state)
{
	(void)state;
	out_json(&o, out_str("\"\x7f\xe2\x80\xae\xff\""));
	/* but for bytes that are not UTF-8: there is no JSON with them */
	assert_string_equal(printed(), "\"\x7f\xe2\x80\xae\xef\xbf\xbd\"");
}

static void json_for_a_terminal_is_escaped(void **state)
{
	(void)state;
	o.tty = 1;
	out_json(&o, out_str("{\"a\":\"\x7f\xc2\x9b\xe2\x80\xae é\xff\"}\n"));
	assert_string_equal(printed(), "{\"a\":\"\\u007f\\u009b\\u202e é\\ufffd\"}\n");
}

static void a_sink_may_be_fed_byte_by_byte(void **state)
{
	static const char in[] = "é\xe2\x80\xae\r\n\033\xe2" "A\xf0\x9f\x98\x80\xe2\x80";
	struct grove_sink sink;

	(void)state;
	o.tty = 1;
	sink = out_raw_sink(&o);
	for (size_t i = 0; i < sizeof(in) - 1; i++)
		assert_int_equal(sink.write(sink.payload, in + i, 1), 0);
	out_sink_end(&o);
	assert_string_equal(printed(), "é<U+202E>\n^[<E2>A😀<E2><80>");
}

static void joiners_are_judged_across_the_pieces_of_a_sink(void **state)
{
	static const char in[] = "👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 a\u200db 😀\u200d";
	struct grove_sink sink;

	(void)state;
	o.tty = 1;
	sink = out_raw_sink(&o);
	for (size_t i = 0; i < sizeof(in) - 1; i++)
		assert_int_equal(sink.write(sink.payload, in + i, 1), 0);
	out_sink_end(&o);
	assert_string_equal(printed(), "👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 a<U+200D>b 😀<U+200D>");
	out_json(&o, out_str("\"\u200b\U000e0041 👩\u200d💻\""));
	assert_string_equal(printed(), "\"\\u200b\\udb40\\udc41 👩\u200d💻\"");
}

static void colour_needs_a_terminal_that_wants_it(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	out_color(&o, OUT_COLOR_AUTO);
	assert_false(o.color);
	o.tty = 1;
	out_color(&o, OUT_COLOR_AUTO);
	assert_true(o.color);
	setenv("NO_COLOR", "1", 1);
	out_color(&o, OUT_COLOR_AUTO);
	assert_false(o.color);
	out_color(&o, OUT_COLOR_ALWAYS);
	assert_true(o.color);
	setenv("NO_COLOR", "", 1);
	out_color(&o, OUT_COLOR_AUTO);
	assert_true(o.color);
	setenv("TERM", "dumb", 1);
	out_color(&o, OUT_COLOR_AUTO);
	assert_false(o.color);
	out_color(&o, OUT_COLOR_NEVER);
	assert_false(o.color);
}

static void the_width_comes_from_the_environment_first(void **state)
{
	(void)state;
	assert_int_equal(o.width, OUT_WIDTH_DEFAULT);
	setenv("COLUMNS", "72", 1);
	out_init(&o, -1);
	assert_int_equal(o.width, 72);
	setenv("COLUMNS", "many", 1);
	out_init(&o, -1);
	assert_int_equal(o.width, OUT_WIDTH_DEFAULT);
}

static void what_has_not_left_can_be_taken_back(void **state)
{
	int fds[2];
	char got[16];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	out_init(&o, fds[1]);
	out_puts(&o, "half a doc");
	assert_true(out_discard(&o));
	out_puts(&o, "whole");
	assert_int_equal(out_flush(&o), 0);
	assert_int_equal(read(fds[0], got, sizeof(got)), 5);
	out_puts(&o, "more");
	assert_false(out_discard(&o));
	close(fds[0]);
	close(fds[1]);
}

static void long_output_arrives_whole_and_in_order(void **state)
{
	enum { LEN = 3 * BUFFER + 17 };
	char name[] = "/tmp/grove-test-out-XXXXXX";
	char *sent = malloc(LEN), *got = malloc(LEN + 1);
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	for (size_t i = 0; i < LEN; i++)
		sent[i] = (char)('a' + i % 23);
	out_init(&o, fd);
	out_bytes(&o, sent, 5);
	out_bytes(&o, sent + 5, BUFFER - 1);
	out_bytes(&o, sent + 5 + BUFFER - 1, 2 * BUFFER);
	out_bytes(&o, sent + 4 + 3 * BUFFER, 13);
	assert_int_equal(out_flush(&o), 0);
	assert_int_equal(pread(fd, got, LEN + 1, 0), LEN);
	assert_memory_equal(sent, got, LEN);
	close(fd);
	free(sent);
	free(got);
}

static void a_failed_write_is_remembered(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	if (fd < 0)
		skip();
	out_init(&o, fd);
	out_puts(&o, "x");
	assert_int_equal(out_flush(&o), GROVE_EIO);
	assert_int_equal(o.failed, ENOSPC);
	out_puts(&o, "y");
	assert_int_equal(o.len, 0);
	close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(control_characters_become_visible),
		T(what_belongs_on_a_line_stays_on_it),
		T(marks_of_direction_become_visible),
		T(what_cannot_be_seen_becomes_visible),
		T(what_an_emoji_or_a_script_is_made_of_stays),
		T(other_text_stays_as_it_is),
		T(bytes_that_are_no_text_become_visible),
		T(line_ends_of_other_systems_are_no_news),
		T(one_line_has_no_runs_of_white_space),
		T(text_that_fits_is_not_cut),
		T(text_that_does_not_fit_ends_in_an_ellipsis),
		T(marks_stay_with_their_letter),
		T(a_letter_with_too_many_marks_loses_some),
		T(visible_forms_are_not_cut_in_two),
		T(a_column_is_filled_up),
		T(width_counts_no_further_than_asked),
		T(a_block_keeps_its_lines_behind_a_prefix),
		T(a_short_block_tells_how_much_it_hides),
		T(json_for_a_pipe_is_handed_on),
		T(json_for_a_terminal_is_escaped),
		T(a_sink_may_be_fed_byte_by_byte),
		T(joiners_are_judged_across_the_pieces_of_a_sink),
		T(colour_needs_a_terminal_that_wants_it),
		T(the_width_comes_from_the_environment_first),
		T(what_has_not_left_can_be_taken_back),
		T(long_output_arrives_whole_and_in_order),
		T(a_failed_write_is_remembered),
		T(words_of_all_lengths_fit_as_they_would_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
