/*
 * tests/fuzz/fuzz_scan.c: all kernels and the streaming scanner give the same
 * result for every line, wherever it lies in memory and into whatever pieces it
 * is cut.
 */
#include "fuzz.h"

#include "json/scan_impl.h"

enum { TYPE, ID, MESSAGE, ROLE, CONTENT, DEEP, LEAF, LONG, EMPTY, NR };

static const struct grove__json_member members[NR] = {
	[TYPE] = { "type", -1 },
	[ID] = { "id", -1 },
	[MESSAGE] = { "message", -1 },
	[ROLE] = { "role", MESSAGE },
	[CONTENT] = { "content", MESSAGE },
	[DEEP] = { "deep", MESSAGE },
	[LEAF] = { "leaf", DEEP },
	[LONG] = { "a-name-of-31-bytes-0123456789ab", -1 },
	[EMPTY] = { "", -1 },
};

static struct grove__json_want want;

static void same(enum grove__json_verdict va, const struct grove__json_line *a,
		 enum grove__json_verdict vb, const struct grove__json_line *b)
{
	CHECK(va == vb);
	if (va != JSON_MORE)
		CHECK(a->len == b->len);
	if (va == JSON_BAD)
		CHECK(a->error_off == b->error_off);
	if (va != JSON_VALUE)
		return;
	CHECK(a->value.off == b->value.off);
	CHECK(a->value.len == b->value.len);
	CHECK(a->type == b->type);
	CHECK(a->seen == b->seen);
	for (unsigned i = 0; i < NR; i++) {
		if (!grove__json_has(a, i))
			continue;
		CHECK(a->span[i].off == b->span[i].off);
		CHECK(a->span[i].len == b->span[i].len);
	}
}

/*
 * Scans in pieces, cut at places that `chance` chooses; returns the result in the form of a
 * kernel's.
 */
static enum grove__json_verdict by_stream(const char *text, size_t len, uint64_t chance,
					  struct grove__json_line *out)
{
	struct grove__json_stream *s = grove__json_stream_new(&want);
	int ret = JSON_STREAM_MORE;
	size_t at = 0, used, blank = 0;

	CHECK(s != NULL);
	while (ret == JSON_STREAM_MORE) {
		size_t n = chance % 97;
		char *piece;

		chance = chance * 0x9e3779b97f4a7c15u + 1;
		if (n > len - at)
			n = len - at;
		piece = fuzz_alloc(n);
		memcpy(piece, text + at, n);
		ret = grove__json_stream_feed(s, piece, n, at + n == len, &used);
		free(piece);
		CHECK(ret >= 0);
		CHECK(used <= n && (ret != JSON_STREAM_MORE || used == n));
		at += used;
	}
	*out = *grove__json_stream_line(s);
	grove__json_stream_free(s);
	CHECK(out->len == at);
	out->len = len;
	while (blank < len && grove__json_is_blank(text[blank]))
		blank++;
	if (blank == len)
		return JSON_BLANK;
	if (ret == JSON_STREAM_BAD)
		return JSON_BAD;
	while (at < len && grove__json_is_blank(text[at]))
		at++;
	out->error_off = at;
	return at == len ? JSON_VALUE : JSON_BAD;
}

/* Scans the first line of `text`, in a block that ends with the padding. */
static size_t one_line(const uint8_t *text, size_t len, uint64_t chance)
{
	size_t shift = chance % 64;
	char *mem = fuzz_alloc(shift + len + GROVE__JSON_PAD), *p = mem + shift;
	struct grove__json_line a, b;
	enum grove__json_verdict va, vb;
	const struct grove__json_kernel *k;

	/* what lies behind the end must not matter */
	memset(mem, "\"}0\n"[chance >> 8 & 3], shift + len + GROVE__JSON_PAD);
	memcpy(p, text, len);
	for (int final = 0; final < 2; final++) {
		va = grove__json_scan_scalar(&want, p, len, final, &a);
		for (unsigned i = 1; (k = grove__json_kernel(i)); i++) {
			vb = k->scan(&want, p, len, final, &b);
			same(va, &a, vb, &b);
		}
	}
	CHECK(va == JSON_BLANK || va == JSON_VALUE || va == JSON_BAD);
	CHECK(a.len <= len && (a.len == len || p[a.len] == '\n'));
	vb = by_stream(p, (size_t)a.len, chance, &b);
	same(va, &a, vb, &b);
	free(mem);
	return (size_t)a.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!want.nr)
		grove__json_want_init(&want, members, NR);
	for (size_t at = 0; at <= len;) {
		const uint8_t *p = bytes + at, *lf = at < len ? memchr(p, '\n', len - at) : NULL;
		/* the line, and a little of the next one */
		size_t n = lf ? (size_t)(lf - p) + 1 : len - at, more = len - at - n;

		n += more < 80 ? more : 80;
		at += one_line(p, n, fuzz_number(p, n < 256 ? n : 256)) + 1;
	}
	return 0;
}
