/*
 * json_mutate SEED COUNT FILE...: write COUNT damaged lines.
 *
 * The lines of the FILEs come first, as they are; then copies of them with a
 * few changes each. The same seed gives the same bytes everywhere. A line
 * never gets a line feed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BASES 1000
#define MAX_LINE 16384

struct line {
	char *ptr;
	size_t len;
};

static struct line bases[MAX_BASES];
static unsigned nr_bases;
static uint64_t state;

static size_t rnd(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state >> 20) % below;
}

static const char *const pieces[] = {
	"{", "}", "[", "]", ":", ",", "\"", "\\", " ", "\t", "\r", "\\\"", "\\\\", "\\u",
	"\\u0041", "\\ud800", "\\udc00", "\\n", "\\x", "null", "true", "false", "nul", "0",
	"-", "1e400", "1e", ".5", "1.", "01", "-0", "123456789012345678901234567890", "{}",
	"[]", "\"\"", "\"id\":1,", ",\"id\":\"2\"", "\"message\":{\"role\":1},",
	"\"message\":null,", "\"i\\u0064\":[],", "\"type\":\"x\",", ",,", "::", "[[", "]]",
	"}}", "\xef\xbb\xbf", "\xc3", "\xff", "\xe2\x80\xa8", "\x01", "\x1f", "\x7f", "//",
	"'", "NaN", "e5", "E+5", "+",
	"                                                                ",
	"\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

static void insert(char *line, size_t *len, size_t at, const char *p, size_t n)
{
	if (*len + n > MAX_LINE)
		return;
	memmove(line + at + n, line + at, *len - at);
	memcpy(line + at, p, n);
	*len += n;
}

static void cut(char *line, size_t *len, size_t at, size_t n)
{
	if (n > *len - at)
		n = *len - at;
	memmove(line + at, line + at + n, *len - at - n);
	*len -= n;
}

static void mutate(char *line, size_t *len)
{
	size_t at = rnd(*len + 1);
	const char *piece = pieces[rnd(sizeof(pieces) / sizeof(pieces[0]))];
	const struct line *other = &bases[rnd(nr_bases)];
	char copy[64];
	size_t n, from;

	switch (rnd(8)) {
	case 0:
	case 1:
		insert(line, len, at, piece, strlen(piece));
		break;
	case 2:
		cut(line, len, at, strlen(piece));
		insert(line, len, at, piece, strlen(piece));
		break;
	case 3:
		cut(line, len, at, 1 + rnd(4));
		break;
	case 4: /* one byte, anything but a line feed */
		if (at < *len) {
			line[at] = (char)rnd(256);
			if (line[at] == '\n')
				line[at] = ' ';
		}
		break;
	case 5: /* a part of another line */
		if (!other->len)
			break;
		from = rnd(other->len);
		n = 1 + rnd(other->len - from);
		insert(line, len, at, other->ptr + from, n < 200 ? n : 200);
		break;
	case 6: /* a part of itself, again */
		if (at == *len)
			break;
		n = 1 + rnd(*len - at < sizeof(copy) ? *len - at : sizeof(copy));
		memcpy(copy, line + at, n);
		insert(line, len, rnd(*len + 1), copy, n);
		break;
	default:
		if (!rnd(4))
			*len = at;
		break;
	}
}

static void read_bases(const char *path)
{
	static char buf[MAX_LINE];
	FILE *f = fopen(path, "rb");
	size_t len = 0;
	int c;

	if (!f) {
		perror(path);
		exit(1);
	}
	while ((c = getc(f)) != EOF) {
		struct line *l = &bases[nr_bases];

		if (c != '\n') {
			if (len < sizeof(buf) / 2)
				buf[len++] = (char)c;
			continue;
		}
		if (nr_bases + 1 == MAX_BASES || !(l->ptr = malloc(len + 1)))
			exit(1);
		memcpy(l->ptr, buf, len);
		l->len = len;
		nr_bases++;
		len = 0;
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	static char line[MAX_LINE];
	unsigned long count;

	if (argc < 4) {
		fprintf(stderr, "usage: json_mutate SEED COUNT FILE...\n");
		return 2;
	}
	state = strtoull(argv[1], NULL, 0) * 2 + 1;
	count = strtoul(argv[2], NULL, 0);
	fprintf(stderr, "seed %s, %lu lines\n", argv[1], count);
	for (int i = 3; i < argc; i++)
		read_bases(argv[i]);

	for (unsigned long i = 0; i < count; i++) {
		const struct line *base = &bases[i < nr_bases ? i : rnd(nr_bases)];
		size_t len = base->len;

		memcpy(line, base->ptr, len);
		if (i >= nr_bases)
			for (size_t n = 1 + rnd(3); n; n--)
				mutate(line, &len);
		fwrite(line, 1, len, stdout);
		putchar('\n');
	}
	return ferror(stdout) || fflush(stdout);
}
