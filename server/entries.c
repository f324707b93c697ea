/*
 * entries.c: the entries of a session: a window of them, one, a long text by range,
 * an image.
 *
 * A page ends at 1 MiB, whatever was asked for; `more` says what is left.
 */
#include "brief.h"
#include "handlers.h"
#include "held.h"
#include "media.h"
#include "reply.h"
#include "route.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 64u
#define TEXT_RANGE 65536u
#define TEXT_LEAST 8u       /* room for a character, wherever the part begins */

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
	/* an image that is kept apart is an image all the same */
	w->flags = blobs || w->ui ? GROVE_LINE_BLOBS : 0;
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

static int put_entry(struct request *r, const struct grove_view *v, const struct window *w,
		     const struct grove_entry *e)
{
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove_view_line(v, e->index, w->flags, &line);

	if (!rc) {
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "seq", e->line);
		doc_name(&r->out, "entry");
		if (w->ui)
			brief_entry(&r->out, grove_buf_slice(&line), e->id, w->max_body);
		else
			doc_json(&r->out, grove_buf_slice(&line));
		doc_close(&r->out, '}');
		rc = r->out.rc;
	}
	grove_buf_release(&line);
	return rc;
}

/* Is there no room for this entry? In brief, one is about as long as its texts may be. */
static int is_full(const struct request *r, const struct window *w, const struct grove_entry *e, uint64_t nr)
{
	uint64_t bytes = w->ui && e->bytes > w->max_body ? w->max_body : e->bytes;

	return nr == w->limit || r->out.buf.len + bytes > PAGE_BYTES;
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
			if (e.line > w->range[k].to || (nr && is_full(r, w, &e, nr)))
				break;
			rc = put_entry(r, v, w, &e);
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

/* The line of the entry that the address names, with its images. */
static int read_line(struct request *r, struct grove_buf *line)
{
	struct held *h;
	struct grove_view *v;
	uint32_t i;
	int rc = hold_state(r, &h, &v);

	if (!rc)
		rc = find_entry(r, v, r->capture[1], &i);
	if (!rc && i == GROVE_NO_ENTRY)
		rc = reply_fail(r, GROVE_ENOTFOUND, "the root is no entry");
	if (!rc) {
		rc = grove_view_line(v, i, GROVE_LINE_BLOBS, line);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc;
}

int get_text(struct request *r)
{
	const char *pointer = query_text(r, "pointer");
	struct grove_buf line = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	uint64_t from = 0, most = TEXT_RANGE, total = 0;
	int rc = query_number(r, "offset", &from);

	if (!rc)
		rc = query_number(r, "limit", &most);
	if (!rc && !pointer)
		rc = reply_fail(r, GROVE_EINVAL, "pointer is missing");
	if (!rc)
		rc = read_line(r, &line);
	if (!rc) {
		most = most < TEXT_LEAST ? TEXT_LEAST : most > TEXT_BYTES_MAX ? TEXT_BYTES_MAX : most;
		rc = brief_text(grove_buf_slice(&line), pointer, &from, most, &text, &total);
		if (rc == GROVE_ENOTFOUND)
			reply_fail(r, rc, "there is no text at that place");
	}
	if (!rc && from >= total && total) {
		reply_header(r, "Content-Range", "bytes */%llu", (unsigned long long)total);
		rc = reply_fail_status(r, 416, GROVE_EINVAL, "the text ends before that");
	} else if (!rc) {
		r->type = "text/plain; charset=utf-8";
		if (text.len) {
			r->status = 206;
			reply_header(r, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)from,
				     (unsigned long long)(from + text.len - 1), (unsigned long long)total);
		}
		/* a character whose half a writer stored is repaired here, as everywhere */
		rc = text.len ? grove_buf_add(&r->out.buf, grove_buf_slice(&text)) : 0;
	}
	grove_buf_release(&line);
	grove_buf_release(&text);
	return rc < 0 ? rc : 0;
}

int get_media(struct request *r)
{
	struct grove_buf line = GROVE_BUF_INIT;
	const char *n = r->capture[2];
	int rc = 0;

	if (!*n || n[strspn(n, "0123456789")] || strlen(n) > 9)
		rc = reply_fail(r, GROVE_EINVAL, "an image is named by a number");
	if (!rc)
		rc = read_line(r, &line);
	if (!rc) {
		rc = brief_media(grove_buf_slice(&line), strtoull(n, NULL, 10), &r->out.buf);
		if (rc == GROVE_ENOTFOUND)
			reply_fail(r, rc, "this entry has no such image");
	}
	if (!rc) {
		r->type = media_type(grove_buf_slice(&r->out.buf));
		r->csp = CSP_SANDBOX;
		r->cache = "private, max-age=31536000, immutable";
		if (!r->type) {
			doc_release(&r->out);
			rc = reply_fail_status(r, 415, GROVE_ENOTSUP, "that is no image of a kind that is shown");
		}
	}
	grove_buf_release(&line);
	return rc < 0 ? rc : 0;
}
