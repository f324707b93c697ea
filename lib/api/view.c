/*
 * api/view.c: the public calls of grove/view.h.
 */
#include "api/api.h"

#include "base/sized.h"
#include "view/heads.h"
#include "view/snapshot.h"
#include "usage/usage.h"

#include <stdio.h>
#include <stdlib.h>

int grove_session_view(struct grove_session *s, struct grove_view **out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__view_new(s, out, &d));
}

/*
 * What a view shows never changes; its error, its leaf once it is known and the
 * bytes that were read last do, under locks of their own.
 */
static struct grove_view *inside(const struct grove_view *v)
{
	return (struct grove_view *)(uintptr_t)v;
}

static int told(const struct grove_view *v, int rc, struct grove_detail *d)
{
	if (rc < 0 && !d->path[0] && v->session->at.path)
		snprintf(d->path, sizeof(d->path), "%s", v->session->at.path);
	return grove__api_keep(&inside(v)->detail, &inside(v)->lock, rc, d);
}

void grove_view_error(const struct grove_view *v, struct grove_detail *out)
{
	pthread_mutex_lock(&inside(v)->lock);
	*out = v->detail;
	pthread_mutex_unlock(&inside(v)->lock);
}

/* ----------------------------------------------------------- what is in it */

int grove_view_counts(const struct grove_view *v, struct grove_counts *out)
{
	int rc = grove__sized_check(out, NULL);

	if (!rc)
		grove__sized_give(out, &v->counts, sizeof(v->counts));
	return rc;
}

uint64_t grove_view_rev(const struct grove_view *v)
{
	return v->rev;
}

uint64_t grove_view_generation(const struct grove_view *v)
{
	return v->generation;
}

uint32_t grove_view_count(const struct grove_view *v)
{
	return v->nr;
}

const char *grove_view_name(const struct grove_view *v)
{
	return v->name;
}

uint32_t grove_view_leaf(const struct grove_view *v)
{
	uint32_t leaf;

	grove__view_leaf(inside(v), &leaf);
	return leaf;
}

int grove_view_entry(const struct grove_view *v, uint32_t i, struct grove_entry *out)
{
	const struct grove__label *l;
	struct grove_entry e;
	int rc = grove__sized_check(out, NULL);

	if (rc)
		return rc;
	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	grove__view_row(v->image->spine, i, &e);
	l = grove__labels_get(v->labels, i);
	if (l) {
		e.label = l->text;
		e.label_time = grove__spine_time(v->image->spine, l->set_by);
	}
	grove__sized_give(out, &e, sizeof(e));
	return 0;
}

int grove_view_find(const struct grove_view *v, const char *id, uint32_t *out)
{
	*out = grove__spine_find(v->image->spine, v->nr, grove__slice_str(id));
	return *out != GROVE_NO_ENTRY || !strcmp(id, GROVE_ROOT) ? 0 : GROVE_ENOTFOUND;
}

static bool is_row(const struct grove_view *v, uint32_t row)
{
	return row == GROVE_NO_ENTRY || row < v->nr;
}

void grove_rows_release(struct grove_rows *r)
{
	free(r->at);
	r->at = NULL;
	r->nr = 0;
}

int grove_view_ancestors(const struct grove_view *v, uint32_t of, struct grove_rows *out)
{
	return is_row(v, of) ? grove__tree_path(v->image->spine, of, &out->at, &out->nr)
			     : GROVE_ENOTFOUND;
}

int grove_view_conversation(const struct grove_view *v, uint32_t to, unsigned flags,
			    struct grove_rows *out)
{
	return is_row(v, to) ? grove__view_conversation(inside(v), to, flags & GROVE_CONVERSATION_WHOLE, out)
			     : GROVE_ENOTFOUND;
}

int grove_view_children(const struct grove_view *v, uint32_t of, enum grove_order order,
			struct grove_rows *out)
{
	return is_row(v, of) ? grove__tree_children(v->image->spine, v->nr, of, order == GROVE_ORDER_TIME,
						    &out->at, &out->nr)
			     : GROVE_ENOTFOUND;
}

/* A range of rows, all of which there are. */
static void within(const struct grove_view *v, struct grove_range r, uint32_t *from, uint32_t *to)
{
	*to = !r.to || r.to > v->nr ? v->nr : (uint32_t)r.to;
	*from = r.from > *to ? *to : (uint32_t)r.from;
}

int grove_view_heads(const struct grove_view *v, struct grove_range index, struct grove_heads **out)
{
	struct grove_detail d;
	uint32_t from, to;

	within(v, index, &from, &to);
	return told(v, grove__view_heads(inside(v), from, to, out, grove__fail_clear(&d)), &d);
}

void grove_heads_free(struct grove_heads *h)
{
	free(h);
}

int grove_view_columns(const struct grove_view *v, const struct grove_columns_options *opt,
		       struct grove_columns **out)
{
	struct grove_columns_options o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	*out = NULL;
	return told(v, rc ? rc : grove__view_columns(inside(v), &o, out, &d), &d);
}

void grove_columns_free(struct grove_columns *c)
{
	free(c);
}

/* ------------------------------------------------------------------- lines */

int grove_view_header(const struct grove_view *v, struct grove_buf *out)
{
	struct grove_detail d;

	return told(v, grove__image_header_line(v->image, v->log, out, NULL, grove__fail_clear(&d)), &d);
}

int grove_view_line(const struct grove_view *v, uint32_t i, unsigned flags, struct grove_buf *out)
{
	struct grove_detail d;

	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	return told(v, grove__view_line(inside(v), i, flags, out, grove__fail_clear(&d)), &d);
}

int grove_view_piece_each(const struct grove_view *v, uint32_t i, grove_piece_fn *fn, void *payload)
{
	struct grove_detail d;

	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	return told(v, grove__view_pieces(inside(v), i, grove__slice(NULL, 0), fn, payload,
					  grove__fail_clear(&d)), &d);
}

int grove_view_preview(const struct grove_view *v, uint32_t i, size_t max, struct grove_buf *out,
		       struct grove_preview *about)
{
	struct grove_preview p = { .size = sizeof(p) };
	struct grove_detail d;
	int rc;

	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	rc = grove__sized_check(about, grove__fail_clear(&d));
	rc = rc ? rc : grove__view_preview(inside(v), i, max, out, &p, &d);
	if (!rc)
		grove__sized_give(about, &p, sizeof(p));
	return told(v, rc, &d);
}

int grove_view_entries(const struct grove_view *v, const struct grove_entries_options *opt,
		       struct grove_sink sink, uint64_t *next)
{
	struct grove_entries_options o;
	struct grove_detail d;
	uint64_t ignored;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	return told(v, rc ? rc : grove__view_entries(inside(v), &o, sink, next ? next : &ignored, &d), &d);
}

int grove_view_text(const struct grove_view *v, uint32_t i, const char *pointer, struct grove_range bytes,
		    struct grove_buf *out, uint64_t *total)
{
	uint64_t ignored;
	struct grove_detail d;

	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	return told(v, grove__view_text(inside(v), i, pointer, bytes, out, total ? total : &ignored,
					grove__fail_clear(&d)), &d);
}

int grove_view_media(const struct grove_view *v, uint32_t i, unsigned nth, struct grove_buf *bytes,
		     const char **type)
{
	struct grove_detail d;

	if (i >= v->nr)
		return GROVE_ENOTFOUND;
	return told(v, grove__view_media(inside(v), i, nth, bytes, type, grove__fail_clear(&d)), &d);
}

int grove_view_resolve(const struct grove_view *v, const char *what, uint32_t *out)
{
	struct grove_detail d;

	return told(v, grove__view_resolve(v, what, out, grove__fail_clear(&d)), &d);
}

const char *grove_media_type(struct grove_slice bytes)
{
	return grove__media_type(bytes);
}

int grove_view_matches(const struct grove_view *v, const char *prefix, struct grove_rows *out)
{
	return grove__view_matches(v, prefix, out);
}

int grove_view_context(const struct grove_view *v, const struct grove_context_options *opt,
		       struct grove_sink sink)
{
	struct grove_context_options o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	return told(v, rc ? rc : grove__view_context(inside(v), &o, 0, sink, &d), &d);
}

int grove_view_messages(const struct grove_view *v, const struct grove_context_options *opt,
			const struct grove_context_reader *to)
{
	struct grove_context_reader reader;
	struct grove_context_options o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = to ? grove__sized_take(&reader, sizeof(reader), to, &d)
			: grove__fail(&d, GROVE_EINVAL, NULL, "no reader was given");
	return told(v, rc ? rc : grove__context_messages(inside(v), &o, &reader, &d), &d);
}

int grove_message_pieces(const struct grove_message *m, grove_piece_fn *fn, void *payload)
{
	return grove__context_pieces(m, SIZE_MAX, fn, payload);
}

int grove_message_preview(const struct grove_message *m, size_t max, struct grove_buf *out,
			  struct grove_preview *about)
{
	struct grove_preview p = { .size = sizeof(p) };
	int rc = grove__sized_check(about, NULL);

	rc = rc ? rc : grove__message_preview(m, max, out, &p);
	if (!rc)
		grove__sized_give(about, &p, sizeof(p));
	return rc;
}

int grove_session_context(struct grove_session *s, const struct grove_context_options *opt,
			  struct grove_sink sink)
{
	struct grove_context_options o;
	struct grove_detail d;

	if (grove__sized_begin(&o, sizeof(o), opt, &d))
		return grove__api_session_told(s, d.code, &d);
	return IN_SESSION(s, &d, grove__tail_context(s, &o, sink, &d));
}

int grove_view_usage(const struct grove_view *v, struct grove_sink sink)
{
	struct grove_detail d;

	return told(v, grove__usage_turns(inside(v), sink, grove__fail_clear(&d)), &d);
}

int grove_view_label(const struct grove_view *v, uint32_t i, struct grove_buf *target, struct grove_buf *text)
{
	struct grove_detail d;

	return told(v, grove__view_label(inside(v), i, target, text, grove__fail_clear(&d)), &d);
}

int grove_view_diff(const struct grove_view *v, uint32_t a, uint32_t b, struct grove_diff **out)
{
	struct grove_detail d;

	return told(v, grove__usage_diff(inside(v), a, b, out, grove__fail_clear(&d)), &d);
}

void grove_diff_free(struct grove_diff *d)
{
	if (d)
		grove__usage_diff_free(d);
}

int grove_view_log(const struct grove_view *v, unsigned flags, struct grove_sink sink)
{
	struct grove_entries_options all = { .size = sizeof(all), .flags = flags & GROVE_LINE_BLOBS };

	return grove_view_entries(v, &all, sink, NULL);
}

int grove_view_raw(const struct grove_view *v, struct grove_sink sink)
{
	struct grove_detail d;

	return told(v, grove__view_raw(inside(v), sink, grove__fail_clear(&d)), &d);
}

int grove_view_tree(const struct grove_view *v, unsigned flags, struct grove_sink sink)
{
	struct grove_detail d;

	return told(v, grove__view_tree(inside(v), flags, sink, grove__fail_clear(&d)), &d);
}

int grove_view_snapshot(const struct grove_view *v, const struct grove_snapshot_options *opt,
			struct grove_sink sink)
{
	struct grove_snapshot_options o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	return told(v, rc ? rc : grove__view_snapshot(inside(v), &o, sink, &d), &d);
}
