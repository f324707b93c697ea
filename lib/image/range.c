/*
 * image/range.c: some lines of a log, as they are stored.
 */
#include "image/range.h"

#include "image/runs.h"

#define RUN_BYTES ((size_t)1 << 20)

static int give(struct grove__range *r, const char *ptr, size_t len)
{
	if (!len)
		return 0;
	r->given += len;
	r->open = ptr[len - 1] != '\n';
	return r->sink.write(r->sink.payload, ptr, len);
}

/* Bytes of a run; a line may be in several of them. */
static int take_bytes(struct grove__range *r, const char *ptr, size_t len)
{
	const char *end = ptr + len, *start = r->line >= r->from ? ptr : end, *p = ptr;

	while (p < end && r->line < r->to) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		p = lf ? lf + 1 : end;
		if (lf && ++r->line == r->from)
			start = p;
	}
	return start < p ? give(r, start, (size_t)(p - start)) : 0;
}

int grove__range_read(struct grove__range *r, struct grove_store_log *log, uint64_t begin,
		      uint64_t until, struct grove_detail *d)
{
	struct grove__runs runs = { 0 };
	int rc = grove__runs_init(&runs, RUN_BYTES) ? grove__fail_nomem(d) : 0;

	runs.pieces = true;
	if (!rc)
		grove__runs_begin(&runs, log, begin, until, d);
	while (!rc && r->line < r->to && !(rc = grove__runs_next(&runs)))
		rc = take_bytes(r, runs.buf, runs.run.len);
	grove__runs_release(&runs);
	if (rc < 0 || rc > 1)
		return rc;
	if (!r->open)
		return 0;
	r->line++;
	return give(r, "\n", 1);
}
