/*
 * json_verdict FILE: what we say about each line of FILE, for json_node.mjs:
 *
 *     -                                blank
 *     B <error offset>                 not JSON
 *     V <offset> <len> {<member>:<offset>:<len>}
 *
 * Every kernel and the stream machine must agree; if not, exit 1.
 */
#include "json/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* json_node.mjs has the same table. */
static const struct grove__json_member members[] = {
	{ "type", -1 }, { "id", -1 }, { "parentId", -1 }, { "timestamp", -1 },
	{ "targetId", -1 }, { "label", -1 }, { "name", -1 }, { "version", -1 },
	{ "cwd", -1 }, { "message", -1 },
	{ "role", 9 }, { "timestamp", 9 }, { "content", 9 },
};

static struct grove__json_want want;

static size_t print(char *buf, size_t size, enum grove__json_verdict v,
		    const struct grove__json_line *l)
{
	size_t n;

	switch (v) {
	case JSON_BLANK:
		return (size_t)snprintf(buf, size, "-");
	case JSON_BAD:
		return (size_t)snprintf(buf, size, "B %" PRIu64, l->error_off);
	case JSON_VALUE:
		break;
	default:
		return (size_t)snprintf(buf, size, "?");
	}
	n = (size_t)snprintf(buf, size, "V %" PRIu64 " %" PRIu64, l->value.off, l->value.len);
	for (unsigned i = 0; i < want.nr; i++)
		if (grove__json_has(l, i))
			n += (size_t)snprintf(buf + n, size - n, " %u:%" PRIu64 ":%" PRIu64, i,
					      l->span[i].off, l->span[i].len);
	return n;
}

static size_t skip_blank(const char *p, size_t at, size_t len)
{
	while (at < len && (p[at] == ' ' || p[at] == '\t' || p[at] == '\r'))
		at++;
	return at;
}

/* In pieces of 1 to 7 bytes, judged as a line. */
static enum grove__json_verdict by_stream(struct grove__json_stream *s, const char *p,
					  size_t len, struct grove__json_line *out)
{
	int ret = JSON_STREAM_MORE;
	size_t at = 0, used;

	if (skip_blank(p, 0, len) == len)
		return JSON_BLANK;
	grove__json_stream_reset(s);
	for (size_t n = 1; ret == JSON_STREAM_MORE; n = n % 7 + 1) {
		if (n > len - at)
			n = len - at;
		ret = grove__json_stream_feed(s, p + at, n, at + n == len, &used);
		at += used;
	}
	*out = *grove__json_stream_line(s);
	if (ret != JSON_STREAM_DONE)
		return ret == JSON_STREAM_BAD ? JSON_BAD : JSON_NOMEM;
	out->error_off = skip_blank(p, at, len);
	return out->error_off == len ? JSON_VALUE : JSON_BAD;
}

static void agree(const char *who, size_t line, const char *a, const char *b)
{
	if (!strcmp(a, b))
		return;
	fprintf(stderr, "line %zu: scalar says %s, %s says %s\n", line, a, who, b);
	exit(1);
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct grove__json_stream *s;
	char first[1024], other[1024];
	size_t len, nr = 0;
	char *p;

	if (!f) {
		fprintf(stderr, "usage: json_verdict FILE\n");
		return 2;
	}
	fseek(f, 0, SEEK_END);
	len = (size_t)ftell(f);
	rewind(f);
	p = calloc(1, len + GROVE__JSON_PAD);
	grove__json_want_init(&want, members, sizeof(members) / sizeof(members[0]));
	s = grove__json_stream_new(&want);
	if (!p || !s || fread(p, 1, len, f) != len)
		return 1;
	fclose(f);

	for (size_t at = 0; at < len; nr++) {
		const struct grove__json_kernel *k = grove__json_kernel(0);
		struct grove__json_line l, m;
		enum grove__json_verdict v = k->scan(&want, p + at, len - at, true, &l);

		print(first, sizeof(first), v, &l);
		for (unsigned i = 1; (k = grove__json_kernel(i)); i++) {
			v = k->scan(&want, p + at, len - at, true, &m);
			print(other, sizeof(other), v, &m);
			agree(k->name, nr + 1, first, other);
			if (m.len != l.len)
				agree(k->name, nr + 1, "another length", "this one");
		}
		v = by_stream(s, p + at, (size_t)l.len, &m);
		print(other, sizeof(other), v, &m);
		agree("stream", nr + 1, first, other);
		puts(first);
		at += (size_t)l.len + 1;
	}
	grove__json_stream_free(s);
	free(p);
	return 0;
}
