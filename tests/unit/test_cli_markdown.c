/*
 * Tests the display of Markdown from untrusted sources on a terminal: whatever the text
 * is, its lines fit, and none of its control characters reach the terminal.
 */
#include "../../programs/kit/cells.c"
#include "../../programs/kit/markdown.c"
#include "../../programs/kit/out.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void *cli_realloc(void *p, size_t nr, size_t size)
{
	p = realloc(p, nr * size);
	assert_non_null(p);
	return p;
}

void cli_add(struct grove_buf *b, const char *ptr, size_t len)
{
	assert_int_equal(grove_buf_add(b, (struct grove_slice){ ptr, len }), 0);
}

static const char *const bits[] = {
	"# ", "## ", "- ", "  - ", "1. ", "> ", "```c\n", "```\n", "| a | b |\n|--|:-:|\n", "| x | y |\n", "**", "*", "_",
	"`", "[l](http://x)", "![i](u)", "\n", "\n\n", "    code", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x91\x8d",
	"e\xcc\x81", "\xff", "\033[31m", "\033]8;;http://x\007", "\xe2\x80\x8b", "&#27;", "&amp;", "&#x1F600;", "<b>", "~~",
	"word ", "averyveryverylongwordthatdoesnotfit", "\t", "- [x] ", "---\n", "(", ")", "\xe3\x80\x8c", "\xe3\x80\x82",
	">>>>>> ", "        - ", "|", "\r\n", "\xc3", "https://e.org/a ", "\\",
};

static size_t make_text(char *text, size_t size)
{
	size_t len = 0;

	for (int n = rand() % 120; n; n--) {
		const char *b = bits[(size_t)rand() % (sizeof(bits) / sizeof(*bits))];
		size_t l = strlen(b);

		if (len + l > size)
			break;
		memcpy(text + len, b, l);
		len += l;
	}
	return len;
}

/* Only line ends and the codes of our own styles. */
static void check_safe(const struct out *o, unsigned seed)
{
	for (size_t i = 0; i < o->len; i++) {
		if (o->ptr[i] == '\033') {
			assert_true(o->color && o->ptr[i + 1] == '[');
			for (i += 2; strchr("0123456789;", o->ptr[i]); i++)
				;
			assert_int_equal(o->ptr[i], 'm');
		} else if ((unsigned char)o->ptr[i] < 0x20 && o->ptr[i] != '\n') {
			fail_msg("seed %u: a control character", seed);
		}
	}
}

static void check_width(const struct out *o, unsigned most, unsigned seed)
{
	for (const char *p = o->ptr, *end = p + o->len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		assert_non_null(nl);
		if (out_columns((struct grove_slice){ p, (size_t)(nl - p) }) > most)
			fail_msg("seed %u: wider than %u: %.*s", seed, most, (int)(nl - p), p);
		p = nl + 1;
	}
}

static void whatever_it_is_lines_fit_and_are_safe(void **state)
{
	static char text[4096];

	(void)state;
	for (unsigned seed = 1; seed <= 3000; seed++) {
		struct markdown_look look = { .style = 0 };
		struct grove_slice t = { text, 0 };
		struct wrap w;
		struct out o;

		srand(seed);
		t.len = make_text(text, sizeof(text));
		out_init(&o, -1);
		o.color = (int)(seed & 1);
		look.width = 24 + (unsigned)rand() % 100;
		look.wide = look.width + (unsigned)rand() % 50;
		wrap_prefix_add(&look.prefix, &o, "  ", 0);
		assert_int_equal(markdown_print(&o, t, &look), 0);
		check_safe(&o, seed);
		if (!o.color)
			check_width(&o, look.wide, seed);
		o.len = 0;
		wrap_init(&w, &o, look.width);
		wrap_lines(&w, t, &look.prefix, WRAP_BOLD);
		wrap_release(&w);
		check_safe(&o, seed);
		if (!o.color)
			check_width(&o, look.width, seed);
		out_release(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_it_is_lines_fit_and_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
