/*
 * op_scan.c: how fast do we read lines?
 *
 * Every kernel and the stream machine scan all lines of a file, memory to
 * memory; the fastest of `n` rounds counts. memchr() over the same lines
 * is what finding their ends alone would cost.
 */
#include "bench.h"

#include "json/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct grove__json_member members[] = {
	{ "type", -1 }, { "id", -1 }, { "parentId", -1 }, { "timestamp", -1 },
	{ "targetId", -1 }, { "label", -1 }, { "name", -1 }, { "version", -1 },
	{ "cwd", -1 }, { "message", -1 },
	{ "role", 9 }, { "timestamp", 9 }, { "content", 9 },
};

struct tally {
	size_t values;
	size_t other;
	uint64_t spans; /* used, so that the compiler cannot drop the work */
};

static struct grove__json_want want;
static const struct grove__json_kernel *kernel;

static void count(struct tally *t, enum grove__json_verdict v, const struct grove__json_line *l)
{
	if (v != JSON_VALUE) {
		t->other++;
		return;
	}
	t->values++;
	for (uint64_t m = l->seen; m; m &= m - 1)
		t->spans += l->span[__builtin_ctzll(m)].len;
}

static void by_kernel(const char *p, size_t len, struct tally *t)
{
	struct grove__json_line l;

	for (size_t at = 0; at < len; at += (size_t)l.len + 1)
		count(t, kernel->scan(&want, p + at, len - at, true, &l), &l);
}

static void by_stream(const char *p, size_t len, struct tally *t)
{
	struct grove__json_stream *s = grove__json_stream_new(&want);
	size_t used;

	if (!s)
		exit(1);
	for (size_t at = 0; at < len; at += used) {
		grove__json_stream_reset(s);
		if (grove__json_stream_feed(s, p + at, len - at, true, &used) ==
		    JSON_STREAM_DONE)
			count(t, JSON_VALUE, grove__json_stream_line(s));
		else
			break;
	}
	grove__json_stream_free(s);
}

static void by_memchr(const char *p, size_t len, struct tally *t)
{
	for (const char *end = p + len; p < end; t->other++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		p = lf ? lf + 1 : end;
	}
}

static void measure(const char *name, void (*fn)(const char *, size_t, struct tally *),
		    const char *p, size_t len, size_t n, struct tally *t)
{
	double best = 1e12;
	char member[64];

	for (size_t i = 0; i < n; i++) {
		double start = now_ms(), took;

		memset(t, 0, sizeof(*t));
		fn(p, len, t);
		took = now_ms() - start;
		if (took < best)
			best = took;
	}
	snprintf(member, sizeof(member), "%s_gbs", name);
	put_number(member, (double)len / best * 1e-6);
}

/* Everything of a file, with room for the kernels to read past its end. */
static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;
	long end;

	if (f && !fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0) {
		*len = (size_t)end;
		rewind(f);
		p = calloc(1, *len + GROVE__JSON_PAD);
		if (p && fread(p, 1, *len, f) != *len) {
			free(p);
			p = NULL;
		}
	}
	if (f)
		fclose(f);
	return p;
}

int op_scan(const char *path, size_t n)
{
	struct tally first = { 0 }, t;
	int rc = 0;
	size_t len;
	char *p = slurp(path, &len);

	if (!p)
		return fail("cannot read %s", path);
	put_count("bytes", len);
	grove__json_want_init(&want, members, sizeof(members) / sizeof(members[0]));
	for (unsigned i = 0; (kernel = grove__json_kernel(i)); i++) {
		measure(kernel->name, by_kernel, p, len, n, &t);
		if (!i)
			first = t;
		else if (memcmp(&t, &first, sizeof(t)))
			rc = fail("kernel %s disagrees with the others", kernel->name);
	}
	put_count("values", first.values);
	put_count("other", first.other);
	measure("stream", by_stream, p, len, n, &t);
	measure("memchr", by_memchr, p, len, n, &t);
	free(p);
	return rc;
}
