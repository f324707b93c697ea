/*
 * tests/unit/test_export_text.c: writing untrusted text as Markdown that wikis
 * accept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/export/export.h"

/* Each text ends with an empty line. */
static void check(const char *in, const char *out)
{
	struct doc d = { .rc = 0 };

	export_markdown_text(&d, grove_str(in));
	assert_int_equal(d.rc, 0);
	assert_true(d.buf.len >= 1 && d.buf.ptr[d.buf.len - 1] == '\n');
	d.buf.ptr[--d.buf.len] = '\0';
	assert_string_equal(d.buf.ptr, out);
	doc_release(&d);
}

static void markdown_stays(void **state)
{
	(void)state;
	check("One *two* `three`\nfour\n", "One *two* `three`\nfour\n");
	check("- a\n- b\n\n> c", "- a\n- b\n\n> c\n");
	check("```c\nif (a < b) {}\n```\n", "```c\nif (a < b) {}\n```\n");
	check("~~~\n<b>\n~~~", "~~~\n<b>\n~~~\n");
	check("a `vector<int>` b", "a `vector<int>` b\n");
	check("a ``x ` <b>`` b", "a ``x ` <b>`` b\n");
	check("a\r\nb\r\n", "a\nb\n");
}

static void html_becomes_text(void **state)
{
	(void)state;
	check("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>\n");
	check("a <!-- b -->", "a &lt;!-- b -->\n");
	check("\\<b>", "\\&lt;b>\n");
	check("![x](http://example.org/x.png)", "\\![x](http://example.org/x.png)\n");
	check("\\![x](y)", "\\![x](y)\n");
}

/* Wherever a reader of Markdown could see no code, there is none. */
static void what_only_looks_like_code_is_text(void **state)
{
	(void)state;
	check("> ```\n<b>", "> ```\n&lt;b>\n");
	check("    ```\n<b>", "    ```\n&lt;b>\n");
	check("``` a`b\n<b>", "``` a`b\n&lt;b>\n");                  /* no fence has a backquote in its first line */
	check("a ` b\n` <b> `", "a ` b\n` &lt;b> `\n");               /* the span ends where this line begins */
	check("| `a | <b> ` |", "| `a | &lt;b> ` |\n");               /* a cell ends within it */
	check("\\` <b> `", "\\` &lt;b> `\n");
	check("a ` b\n\n`<b>`", "a ` b\n\n`<b>`\n");                  /* another paragraph */
}

static void fences_end(void **state)
{
	(void)state;
	check("```\nopen", "```\nopen\n```\n");
	check("~~~~\n~~~\n```\n<b>", "~~~~\n~~~\n```\n<b>\n~~~~\n");
	check("````\n```\n<b>\n  `````  \n<b>", "````\n```\n<b>\n`````  \n&lt;b>\n");
	check("```\n    ```\n<b>\n```", "```\n    ```\n<b>\n```\n");
	check("```\n``` x\n<b>\n```", "```\n``` x\n<b>\n```\n");
}

/* Where one would end is not certain, so it is moved to where it is. */
static void fences_begin_in_the_first_column(void **state)
{
	(void)state;
	check("   ~~~\nopen", "~~~\nopen\n~~~\n");
	check("1. a\n   ```c\n   if (a < b)\n       c;\n   ```\n2. b", "1. a\n```c\nif (a < b)\n    c;\n```\n2. b\n");
	check("- a\n  ```\n<b>", "- a\n```\n<b>\n```\n");
	check("- ```\n  <b>\n  ```\n<b>", "```\n<b>\n```\n&lt;b>\n");
	check("  ```\n      ```\n  ```\n<b>", "```\n    ```\n```\n&lt;b>\n");
	check("a\r```\r<b>", "a\n```\n<b>\n```\n");
}

static void headings_stay_below_ours(void **state)
{
	(void)state;
	check("# User", "### User\n");
	check("## Assistant", "#### Assistant\n");
	check("##### five", "###### five\n");
	check("###### six", "###### six\n");
	check("a\n\n  # User", "a\n\n### User\n");
	check("#hash", "#hash\n");
	check("User\n===", "User\n\\===\n");
	check("User\n---", "User\n\\---\n");
	check("a\n\n---\n\nb", "a\n\n---\n\nb\n");
	check("> # User", "> ### User\n");
	check("1. - > # User", "1. - > ### User\n");
	check("> User\n> ===", "> User\n> \\===\n");
	check("a\r# User\r\n# b", "a\n### User\n### b\n");
}

/* found by rendering random text with six renderers */
static void renderers_differ(void **state)
{
	(void)state;
	/* a span that may not be one: what looks like the next may begin with its end */
	check("`{|} a `![x](y)`", "`{|} a `\\![x](y)`\n");
	check("`a | b` c `<b>`", "`a | b` c `&lt;b>`\n");
	check("http://ok>``<b>`` and `<i>`", "http://ok>``&lt;b>`` and `&lt;i>`\n");
	/* a dash and a blank: the underline of a heading, or an empty item; in a list, at any depth */
	check("a\n- \nb", "a\n\\- \nb\n");
	check("a\n> -  \nb", "a\n> \\-  \nb\n");
	check("- a\n    ===\n", "- a\n    \\===\n");
	check("- a\n\t===\n", "- a\n\t\\===\n");
	check("10) a\n\n    # b\n", "10) a\n\n    ### b\n");
	check("- a\n\n\t# b\n", "- a\n\n\t### b\n");
	check("    # b\n", "    ### b\n");   /* the text before it may end with a list */
	check("a\n\n    # a comment in code\n", "a\n\n    # a comment in code\n");
	/* a footnote may contain anything */
	check("a[^1]\n\n[^1]: # b", "a\\[^1]\n\n\\[^1]: # b\n");
	/* a table may begin with what looks like a fence */
	check("```c | d |\n|---|---|\n<b>\n```\n", "```c \n|---|---|\n<b>\n```\n");
	/* the line ends of JavaScript */
	check("```\u2028 ` <b>", "```\n ` <b>\n```\n");
	check("a\u2028# b\u2029c", "a\n### b\nc\n");
}

static void what_is_not_utf8_is_mended(void **state)
{
	(void)state;
	check("a\xff" "b", "a\xef\xbf\xbd" "b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markdown_stays),
		cmocka_unit_test(html_becomes_text),
		cmocka_unit_test(what_only_looks_like_code_is_text),
		cmocka_unit_test(fences_end),
		cmocka_unit_test(fences_begin_in_the_first_column),
		cmocka_unit_test(headings_stay_below_ours),
		cmocka_unit_test(renderers_differ),
		cmocka_unit_test(what_is_not_utf8_is_mended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
