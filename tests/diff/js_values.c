/*
 * tests/diff/js_values.c: our answers to questions that JavaScript can answer
 * too; js_node.mjs asks both and compares.
 *
 * A question is a line: a letter, a space, the payload in hexadecimal, since it
 * may be any bytes. The answer is a line: hexadecimal too where it is text.
 *
 *     c JSON     canonical form          s text     as a JSON string
 *     x literal  text of a JSON string   l text     length in UTF-16 units
 *     t text     trimmed                 d text     Date.parse, or NaN
 *     i ms       toISOString             n bits     a double (its bits, 16 digits,
 *     p literal  a double's bits                    as text) printed
 *     b text     base64, decoded         B bytes    encoded as base64
 *     e JSON     a change: {"object":…,"path":[…],"value":…}, value absent: remove
 */
#include "js/base64.h"
#include "js/js.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what)
{
	fprintf(stderr, "js_values: %s\n", what);
	exit(2);
}

static void check(int rc)
{
	if (rc)
		die("out of memory");
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	die("payload is not hexadecimal");
	return 0;
}

static size_t unhex(char *p, size_t len)
{
	size_t i;

	if (len % 2)
		die("odd payload");
	for (i = 0; i < len; i += 2)
		p[i / 2] = (char)(nibble(p[i]) << 4 | nibble(p[i + 1]));
	return len / 2;
}

static void print_hex(struct grove_slice s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		printf("%02x", (unsigned char)s.ptr[i]);
	putchar('\n');
}

/* A copy of exactly this size, so that a sanitizer sees a byte too many. */
static struct grove_slice exact(const char *ptr, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		die("out of memory");
	memcpy(copy, ptr, len);
	return grove__slice(copy, len);
}

/* Every kernel says the same, and writes no more than it may. */
static void answer_base64(struct grove_buf *out, struct grove_slice in, bool encode)
{
	size_t cap = encode ? GROVE__BASE64_ENCODED(in.len) : GROVE__BASE64_DECODED(in.len);
	const struct grove__base64_kernel *k;
	char *other = malloc(cap);
	size_t len;

	if (!other)
		die("out of memory");
	check(encode ? grove__js_base64(out, in) : grove__js_base64_decode(out, in));
	for (unsigned i = 0; (k = grove__base64_kernel(i)); i++) {
		len = encode ? grove__base64_encode(k, other, in.ptr, in.len)
			     : grove__base64_decode(k, other, in.ptr, in.len);
		if (len != out->len || memcmp(other, out->ptr, len))
			die("the kernels of base64 do not agree");
	}
	free(other);
}

static void answer_edit(struct grove_buf *out, struct grove_slice in)
{
	struct grove__json_change c = { .value = grove__json_get(in, "value") };
	struct grove_slice path = grove__json_get(in, "path");
	struct grove_buf names[4] = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT,
				      GROVE_BUF_INIT };
	size_t i;

	for (i = 0; i < 4 && grove__json_at(path, i).ptr; i++) {
		check(grove__json_text(&names[i], grove__json_at(path, i)));
		c.path[i] = names[i].ptr;
	}
	check(grove__json_edit(out, grove__json_get(in, "object"), &c, 1));
	for (i = 0; i < 4; i++)
		grove__buf_release(&names[i]);
}

static void answer(char letter, struct grove_slice in)
{
	struct grove_buf out = GROVE_BUF_INIT;
	char text[64], digits[32];
	uint64_t bits;
	int64_t ms;
	double d;

	switch (letter) {
	case 'c':
		check(grove__json_put_canonical(&out, in));
		print_hex(grove__buf_slice(&out));
		break;
	case 's':
		check(grove__json_put_string(&out, in));
		print_hex(grove__buf_slice(&out));
		break;
	case 'x':
		check(grove__json_text(&out, in));
		print_hex(grove__buf_slice(&out));
		break;
	case 'e':
		answer_edit(&out, in);
		print_hex(grove__buf_slice(&out));
		break;
	case 'b':
	case 'B':
		answer_base64(&out, in, letter == 'B');
		print_hex(grove__buf_slice(&out));
		break;
	case 'l':
		printf("%zu\n", grove__js_length(in));
		break;
	case 't':
		print_hex(grove__js_trim(in));
		break;
	case 'd':
		ms = grove__js_date_parse(in);
		if (ms == GROVE__JS_NAN_DATE)
			puts("NaN");
		else
			printf("%" PRId64 "\n", ms);
		break;
	case 'p':
		d = grove__js_parse_number(in);
		memcpy(&bits, &d, sizeof bits);
		printf("%016" PRIx64 "\n", bits);
		break;
	case 'i':
	case 'n':
		if (in.len >= sizeof digits)
			die("payload too long");
		memcpy(digits, in.ptr, in.len);
		digits[in.len] = '\0';
		if (letter == 'i') {
			print_hex(grove__slice(text, grove__js_iso(text, strtoll(digits, NULL, 10))));
			break;
		}
		bits = strtoull(digits, NULL, 16);
		memcpy(&d, &bits, sizeof d);
		print_hex(grove__slice(text, grove__js_number(text, d)));
		break;
	default:
		die("unknown question");
	}
	grove__buf_release(&out);
}

int main(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) > 0) {
		struct grove_slice in;

		if (line[len - 1] == '\n')
			len--;
		if (len < 2 || line[1] != ' ')
			die("not a question");
		in = exact(line + 2, unhex(line + 2, (size_t)len - 2));
		answer(line[0], in);
		free((void *)(uintptr_t)in.ptr);
	}
	free(line);
	return 0;
}
