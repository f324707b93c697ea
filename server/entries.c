/*
 * entries.c: the entries of a session: a window of them, one, a long text by range,
 * an image.
 *
 * A page ends at 1 MiB, whatever was asked for; `more` says what is left.
 */
#include "handlers.h"
#include "held.h"
#include "media.h"
#include "reply.h"
#include "route.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 64u

struct range {
	uint64_t from, to;   /* both are part of it */
};

struct window {
	struct range range[RANGES_MAX];
	unsigned nr;
	uint64_t limit;
	unsigned flags;      /* enum grove_line_flags */
	int ui;
	uint64_t max_body;
};

/* "100-180,190": NULL, or where it cannot be read. */
static const char *read_ranges(const char *text, struct window *w)
{
	const char *p = text;
	char *end;

	while (*p) {
		struct range *a = &w->range[w->nr];

		if (w->nr == RANGES_MAX || *p < '0' || *p > '9')
			return p;
		a->from = a->to = strtoull(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				return p;
			a->to = strtoull(p, &end, 10);
		}
		if (a->to < a->from || (*end && *end != ','))
			return end;
		w->nr++;
		p = *end ? end + 1 : end;
	}
	return w->nr ? NULL : p;
}

static int read_window(struct request *r, struct window *w)
{
	static const char *const views[] = { "stored", "ui", NULL };
	const char *seq = query_text(r, "seq");
	uint64_t after = 0;
	int blobs = 0, rc = query_number(r, "after", &after);

	w->limit = UINT64_MAX;
	w->max_body = TEXT_BYTES;
	if (!rc)
		rc = query_number(r, "limit", &w->limit);
	if (!rc)
		rc = query_number(r, "maxBody", &w->max_body);
	if (!rc)
		rc = query_flag(r, "blobs", &blobs);
	if (!rc)
		rc = query_choice(r, "view", views, &w->ui);
	w->flags = blobs ? GROVE_LINE_BLOBS : 0;
	if (rc)
		return rc;
	if (!seq) {
		w->range[0] = (struct range){ after, UINT64_MAX };
		w->nr = 1;
		return 0;
	}
	return read_ranges(seq, w) ? reply_fail(r, GROVE_EINVAL, "seq has ranges: 100-180,190-220") : 0;
}

/* The first entry of a seq, or after it. */
static uint32_t entry_at(const struct grove_view *v, uint64_t seq)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t low = 0, high = grove_view_count(v);

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		grove_view_entry(v, mid, &e);
		if (e.line < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int put_entry(struct request *r, const struct grove_view *v, const struct window *w, uint32_t i,
		     uint64_t seq)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove_view_line(v, i, w->flags, &line);

	if (!rc) {
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "seq", seq);
		doc_name(&r->out, "entry");
		doc_json(&r->out, grove_buf_slice(&line));
		doc_close(&r->out, '}');
		rc = r->out.rc;
	}
	grove_buf_release(&line);
	return rc;
}

/* Entries of all ranges until the page is full; what is left goes to `more`. */
static int put_window(struct request *r, const struct grove_view *v, const struct window *w, struct doc *more)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t count = grove_view_count(v);
	uint64_t nr = 0;
	int rc = 0;

	for (unsigned k = 0; k < w->nr && !rc; k++) {
		uint32_t i = entry_at(v, w->range[k].from);

		for (; i < count && !rc; i++) {
			grove_view_entry(v, i, &e);
			/* one entry is always sent, however long it is: else nobody could go on */
			if (e.line > w->range[k].to || (nr && (nr == w->limit || r->out.buf.len + e.bytes > PAGE_BYTES)))
				break;
			rc = put_entry(r, v, w, i, e.line);
			nr++;
		}
		if (!rc && i < count && e.line <= w->range[k].to) {
			struct grove_entry last = { .size = sizeof(last) };

			grove_view_entry(v, count - 1, &last);
			doc_open(more, '[');
			doc_number(more, e.line);
			doc_number(more, w->range[k].to < last.line ? w->range[k].to : last.line);
			doc_close(more, ']');
		}
	}
	return rc;
}

int get_entries(struct request *r)
{
	struct window w = { .nr = 0 };
	struct doc more = { GROVE_BUF_INIT, 0 };
	struct held *h;
	struct grove_view *v;
	int rc = read_window(r, &w);

	if (rc)
		return rc;
	if (w.ui)
		return not_yet(r);
	rc = hold_state(r, &h, &v);
	if (!rc) {
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "rev", grove_view_rev(v));
		doc_member_number(&r->out, "generation", grove_view_generation(v));
		doc_name(&r->out, "entries");
		doc_open(&r->out, '[');
		doc_open(&more, '[');
		rc = put_window(r, v, &w, &more);
		if (rc < 0)
			reply_fail_view(r, v, rc);
		doc_close(&r->out, ']');
		doc_close(&more, ']');
		doc_name(&r->out, "more");
		doc_json(&r->out, grove_buf_slice(&more.buf));
		doc_close(&r->out, '}');
	}
	doc_release(&more);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

int get_entry(struct request *r)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf line = GROVE_BUF_INIT;
	struct held *h;
	struct grove_view *v;
	uint32_t i;
	int blobs = 0, rc = query_flag(r, "blobs", &blobs);

	if (rc)
		return rc;
	rc = hold_state(r, &h, &v);
	if (!rc)
		rc = find_entry(r, v, r->capture[1], &i);
	if (!rc && i == GROVE_NO_ENTRY)
		rc = reply_fail(r, GROVE_ENOTFOUND, "the root is no entry");
	if (!rc) {
		rc = grove_view_line(v, i, blobs ? GROVE_LINE_BLOBS : 0, &line);
		if (rc)
			reply_fail_view(r, v, rc);
		grove_view_entry(v, i, &e);
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "rev", grove_view_rev(v));
		doc_member_number(&r->out, "generation", grove_view_generation(v));
		doc_member_number(&r->out, "seq", e.line);
		if (e.label)
			doc_member(&r->out, "label", e.label);
		doc_name(&r->out, "entry");
		doc_json(&r->out, grove_buf_slice(&line));
		doc_close(&r->out, '}');
	}
	grove_buf_release(&line);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

int get_text(struct request *r)
{
	return not_yet(r);
}

int get_media(struct request *r)
{
	return not_yet(r);
}
