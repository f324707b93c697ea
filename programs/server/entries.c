/*
 * entries.c: the entries of a session: a window, a single entry, part of a long text, an
 * image.
 *
 * A page ends at 1 MiB, however much was requested; `more` lists what is left.
 */
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LEAST 8u       /* room for any character, wherever the part begins */

struct window {
	struct grove_range range[RANGES_MAX];  /* of seq */
	struct grove_entries_options o;
};

/* Parses "100-180,190", both ends included. Returns NULL, or where parsing failed. */
static const char *read_ranges(const char *text, struct window *w)
{
	const char *p = text;
	char *end;

	while (*p) {
		struct grove_range *a = &w->range[w->o.nr_seq];
		uint64_t last;

		if (w->o.nr_seq == RANGES_MAX || *p < '0' || *p > '9')
			return p;
		a->from = last = strtoull(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				return p;
			last = strtoull(p, &end, 10);
		}
		if (last < a->from || (*end && *end != ','))
			return end;
		a->to = last == UINT64_MAX ? 0 : last + 1;
		w->o.nr_seq++;
		p = *end ? end + 1 : end;
	}
	return w->o.nr_seq ? NULL : p;
}

static int read_window(struct request *r, struct window *w)
{
	static const char *const views[] = { "stored", "ui", NULL };
	const char *seq = query_text(r, "seq");
	uint64_t after = 0, max_body = TEXT_BYTES;
	int blobs = 0, ui = 0, rc = query_number(r, "after", &after);

	if (!rc)
		rc = query_number(r, "limit", &w->o.limit);
	if (!rc)
		rc = query_number(r, "maxBody", &max_body);
	if (!rc)
		rc = query_flag(r, "blobs", &blobs);
	if (!rc)
		rc = query_choice(r, "view", views, &ui);
	if (rc)
		return rc;
	w->o.seq = w->range;
	w->o.max_bytes = PAGE_BYTES;
	w->o.max_text = ui ? max_body : 0;
	/* images are included even if they are stored as blobs */
	w->o.flags = GROVE_ENTRIES_SEQ | (blobs || ui ? GROVE_LINE_BLOBS : 0) | (ui ? GROVE_ENTRIES_MEDIA : 0);
	if (!seq) {
		w->range[0].from = after;
		w->o.nr_seq = 1;
		return 0;
	}
	return read_ranges(seq, w) ? reply_fail(r, GROVE_EINVAL, "seq must be a list of ranges, such as 100-180,190-220") : 0;
}

/* Lists what is left of the requested ranges: from `next` on, up to the end of the log. */
static void put_more(struct doc *d, const struct window *w, const struct grove_view *v, uint64_t next)
{
	struct grove_counts n = { .size = sizeof(n) };

	grove_view_counts(v, &n);
	doc_name(d, "more");
	doc_open(d, '[');
	for (size_t i = 0; i < w->o.nr_seq && next != GROVE_NO_SEQ; i++) {
		uint64_t from = w->range[i].from > next ? w->range[i].from : next;
		uint64_t to = w->range[i].to && w->range[i].to < n.lines ? w->range[i].to : n.lines;

		if (from >= to)
			continue;
		doc_open(d, '[');
		doc_number(d, from);
		doc_number(d, to - 1);
		doc_close(d, ']');
	}
	doc_close(d, ']');
}

int get_entries(struct request *r)
{
	struct window w = { .o = { .size = sizeof(w.o) } };
	struct grove_buf page = GROVE_BUF_INIT;
	struct held *h;
	struct grove_view *v;
	uint64_t next;
	int rc = read_window(r, &w);

	if (rc)
		return rc;
	rc = hold_state(r, &h, &v);
	if (!rc) {
		rc = grove_view_entries(v, &w.o, grove_buf_sink(&page), &next);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	if (!rc) {
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "rev", grove_view_rev(v));
		doc_member_number(&r->out, "generation", grove_view_generation(v));
		doc_member_json(&r->out, "entries", grove_buf_slice(&page));
		put_more(&r->out, &w, v, next);
		doc_close(&r->out, '}');
	}
	grove_buf_release(&page);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

/* Finds the entry in the URL and holds a view of it; call hold_state_end() afterwards. */
static int hold_entry(struct request *r, struct held **h, struct grove_view **v, uint32_t *i)
{
	int rc = hold_state(r, h, v);

	if (!rc)
		rc = find_entry(r, *v, r->capture[1], i);
	if (!rc && *i == GROVE_NO_ENTRY)
		rc = reply_fail(r, GROVE_ENOTFOUND, "the root is not an entry");
	return rc;
}

int get_entry(struct request *r)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf line = GROVE_BUF_INIT;
	struct held *h = NULL;
	struct grove_view *v = NULL;
	uint32_t i;
	int blobs = 0, rc = query_flag(r, "blobs", &blobs);

	if (!rc)
		rc = hold_entry(r, &h, &v, &i);
	if (!rc) {
		rc = grove_view_line(v, i, blobs ? GROVE_LINE_BLOBS : 0, &line);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	if (!rc) {
		grove_view_entry(v, i, &e);
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "rev", grove_view_rev(v));
		doc_member_number(&r->out, "generation", grove_view_generation(v));
		doc_member_number(&r->out, "seq", e.line);
		if (e.label)
			doc_member(&r->out, "label", e.label);
		doc_member_json(&r->out, "entry", grove_buf_slice(&line));
		doc_close(&r->out, '}');
	}
	grove_buf_release(&line);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

/*
 * Moves `from` back to the beginning of the character that it falls into. This needs
 * reading only if the part begins within a multi-byte character.
 */
static int true_start(const struct grove_view *v, uint32_t i, const char *pointer, const struct grove_buf *part,
		      uint64_t *from)
{
	struct grove_buf before = GROVE_BUF_INIT;
	int rc = 0;

	if (*from && part->len && (unsigned char)part->ptr[0] >= 0x80) {
		rc = grove_view_text(v, i, pointer, (struct grove_range){ 0, *from }, &before, NULL);
		*from = before.len;
	}
	grove_buf_release(&before);
	return rc;
}

static int read_part(struct request *r, const struct grove_view *v, uint32_t i, const char *pointer, uint64_t from,
		     uint64_t most)
{
	struct grove_buf *part = &r->out.buf;
	uint64_t total = 0;
	int rc;

	most = most < TEXT_LEAST ? TEXT_LEAST : most > TEXT_BYTES_MAX ? TEXT_BYTES_MAX : most;
	if (from > UINT64_MAX - most)
		from = UINT64_MAX - most;
	rc = grove_view_text(v, i, pointer, (struct grove_range){ from, from + most }, part, &total);
	if (!rc)
		rc = true_start(v, i, pointer, part, &from);
	if (rc)
		return reply_fail_view(r, v, rc);
	if (from >= total && total) {
		reply_header(r, "Content-Range", "bytes */%llu", (unsigned long long)total);
		return reply_fail_status(r, 416, GROVE_EINVAL, "the text ends before that offset");
	}
	r->type = "text/plain; charset=utf-8";
	if (part->len) {
		r->status = 206;
		reply_header(r, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)from,
			     (unsigned long long)(from + part->len - 1), (unsigned long long)total);
	}
	return 0;
}

int get_text(struct request *r)
{
	const char *pointer = query_text(r, "pointer");
	uint64_t from = 0, most = TEXT_RANGE;
	struct held *h = NULL;
	struct grove_view *v = NULL;
	uint32_t i;
	int rc = query_number(r, "offset", &from);

	if (!rc)
		rc = query_number(r, "limit", &most);
	if (!rc && !pointer)
		rc = reply_fail(r, GROVE_EINVAL, "pointer is missing");
	if (!rc)
		rc = hold_entry(r, &h, &v, &i);
	if (!rc)
		rc = read_part(r, v, i, pointer, from, most);
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}

int is_shown_image(const char *type)
{
	static const char *const shown[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (!strcmp(type, shown[i]))
			return 1;
	return 0;
}

int get_media(struct request *r)
{
	const char *n = r->capture[2];
	struct held *h = NULL;
	struct grove_view *v = NULL;
	uint32_t i;
	int rc = 0;

	if (!*n || n[strspn(n, "0123456789")] || strlen(n) > 9)
		rc = reply_fail(r, GROVE_EINVAL, "an image is identified by a number");
	if (!rc)
		rc = hold_entry(r, &h, &v, &i);
	if (!rc) {
		rc = grove_view_media(v, i, (unsigned)strtoul(n, NULL, 10), &r->out.buf, &r->type);
		if (rc)
			reply_fail_view(r, v, rc);
	}
	if (!rc && !is_shown_image(r->type))
		rc = reply_fail_status(r, 415, GROVE_ENOTSUP, "this is not an image that can be shown");
	if (!rc) {
		r->csp = CSP_SANDBOX;
		r->cache = "private, max-age=31536000, immutable";
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
