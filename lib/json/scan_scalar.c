/*
 * json/scan_scalar.c: the kernel for every CPU, and the judge of the others.
 *
 * It finds the line, then lets the machine of stream.c read the one value in
 * it. The fast kernels come here with lines that they find wrong or strange,
 * so what this one says about an error is what they all say.
 */
#include "json/scan_impl.h"

static size_t skip_blank(const char *ptr, size_t at, size_t len)
{
	while (at < len && grove__json_is_blank(ptr[at]))
		at++;
	return at;
}

enum grove__json_verdict grove__json_scan_scalar(const struct grove__json_want *want,
						 const char *ptr, size_t len, bool final,
						 struct grove__json_line *out)
{
	const char *lf = len ? memchr(ptr, '\n', len) : NULL;
	struct grove__json_machine m;
	size_t at, used;
	int ret;

	if (!lf && !final)
		return JSON_MORE;
	if (lf)
		len = (size_t)(lf - ptr);

	grove__json_machine_init(&m, want, out);
	at = skip_blank(ptr, 0, len);
	if (at == len) {
		out->len = len;
		return JSON_BLANK;
	}
	ret = grove__json_machine_feed(&m, ptr, len, true, &used);
	grove__json_machine_release(&m);
	out->len = len;
	if (ret < 0)
		return JSON_NOMEM;
	if (ret == JSON_STREAM_BAD)
		return JSON_BAD;
	out->error_off = skip_blank(ptr, used, len);
	return out->error_off == len ? JSON_VALUE : JSON_BAD;
}
