/*
 * view/view_document.c: a session as JSON documents: its log, its tree.
 *
 * A linear session is as deep as it is long, so nothing here recurses.
 */
#include "json/out.h"
#include "session/blobs.h"
#include "view/view.h"

#include "base/array.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)1 << 20)

int grove__view_line(struct grove_view *v, uint32_t row, unsigned flags, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct grove_buf whole = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = grove__image_line(v->image, v->log, row, out, &value, d);

	if (!rc && flags & GROVE_LINE_BLOBS)
		rc = grove__session_resolve(v->session, &value, &whole, d);
	if (!rc && whole.len) {
		grove__buf_release(out);
		*out = whole;
		return 0;
	}
	grove__buf_release(&whole);
	return rc;
}

/* Bytes without a checksum are valid only if the log has not changed. */
static int unchanged(struct grove_view *v, struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(v->log, &st, d);

	if (rc)
		return rc;
	if (st.generation != v->generation || st.tail < v->tail)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the session was changed");
	else
		rc = grove__image_verify(v->image, v->nr, v->log, d);
	if (rc == GROVE_ESTALE)
		grove__image_spoil(v->image);
	return rc;
}

int grove__view_raw(struct grove_view *v, struct grove_sink sink, struct grove_detail *d)
{
	struct grove__runs r;
	int rc = grove__runs_init(&r, RUN_BYTES) ? grove__fail_nomem(d) : unchanged(v, d);

	r.pieces = true;
	grove__runs_begin(&r, v->log, 0, v->tail, d);
	while (!rc && !(rc = grove__runs_next(&r)))
		rc = sink.write(sink.payload, r.buf, r.run.len);
	grove__runs_release(&r);
	return rc == 1 ? unchanged(v, d) : rc;
}

/* A node whose children are being written. */
struct frame {
	uint32_t row;
	uint32_t *children;
	size_t nr, i;
};

struct drawing {
	struct grove_view *v;
	struct grove__out o;
	struct grove_buf line, whole;
	struct frame *stack;
	size_t depth, cap;
	bool flat, blobs;
	struct grove_detail *d;
};

static int push(struct drawing *t, uint32_t row)
{
	struct frame *f;

	if (grove__array_room(&t->stack, &t->cap, t->depth, sizeof(*t->stack)))
		return GROVE_ENOMEM;
	f = &t->stack[t->depth];
	f->row = row;
	f->i = 0;
	if (grove__tree_children(t->v->image->spine, t->v->nr, row, true, &f->children, &f->nr))
		return GROVE_ENOMEM;
	t->depth++;
	return 0;
}

static void put_label(struct drawing *t, uint32_t row)
{
	const struct grove__label *l = grove__labels_get(t->v->labels, row);

	int64_t time = l ? grove__spine_time(t->v->image->spine, l->set_by) : GROVE_NO_TIME;

	if (l)
		grove__out_string(&t->o, "label", l->text);
	if (time != GROVE_NO_TIME)
		grove__out_time(&t->o, "labelTimestamp", time);
}

static int open_node(struct drawing *t, uint32_t row)
{
	const struct grove__spine *s = t->v->image->spine;
	struct grove_slice value;
	int rc = grove__image_line(t->v->image, t->v->log, row, &t->line, &value, t->d);
	uint32_t up = grove__spine_parent(s, row);

	if (!rc && t->blobs)
		rc = grove__session_resolve(t->v->session, &value, &t->whole, t->d);
	if (rc)
		return rc;
	if (t->flat)
		grove__out_newline(&t->o);
	grove__out_open(&t->o, NULL, '{');
	grove__out_raw(&t->o, "entry", value);
	if (t->flat) {
		grove__out_string(&t->o, "parentId", up == GROVE_NO_ENTRY ? NULL : grove__spine_id(s, up));
		grove__out_number(&t->o, "depth", t->depth - 1);
		put_label(t, row);
		grove__out_close(&t->o, '}');
	} else {
		grove__out_open(&t->o, "children", '[');
	}
	return t->o.rc;
}

static void close_node(struct drawing *t, uint32_t row)
{
	if (t->flat)
		return;
	grove__out_close(&t->o, ']');
	put_label(t, row);
	grove__out_close(&t->o, '}');
}

int grove__view_tree(struct grove_view *v, unsigned flags, struct grove_sink sink,
		     struct grove_detail *d)
{
	struct drawing t = { .v = v, .flat = flags & GROVE_TREE_FLAT, .blobs = flags & GROVE_TREE_BLOBS,
			     .d = d };
	int rc, end;

	grove__out_init(&t.o, sink);
	grove__out_open(&t.o, NULL, '[');
	rc = push(&t, GROVE_NO_ENTRY);
	while (!rc && t.depth) {
		struct frame *f = &t.stack[t.depth - 1];

		if (f->i < f->nr) {
			uint32_t row = f->children[f->i++];

			rc = open_node(&t, row);
			if (!rc)
				rc = push(&t, row);
			continue;
		}
		free(f->children);
		t.depth--;
		if (t.depth)
			close_node(&t, f->row);
	}
	while (t.depth)
		free(t.stack[--t.depth].children);
	free(t.stack);
	grove__buf_release(&t.line);
	grove__buf_release(&t.whole);
	grove__out_close(&t.o, ']');
	grove__out_str(&t.o, "\n");
	end = grove__out_finish(&t.o);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	return rc < 0 ? rc : end;
}

/* Reports an entry of gigabytes by its length; it does not hide the others. */
static int tell_too_long(uint64_t len, grove_piece_fn *fn, void *payload)
{
	char text[64];
	struct grove_piece p = { .kind = GROVE_PIECE_NOTE, .title = grove__slice_str("too long"), .error = 1 };

	p.text = grove__slice(text, (size_t)snprintf(text, sizeof(text), "a line of %llu bytes",
						     (unsigned long long)len));
	return fn(payload, &p);
}

int grove__view_pieces(struct grove_view *v, uint32_t row, struct grove_slice value, grove_piece_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT;
	bool near = false;
	int rc = 0;

	if (value.ptr) {
		; /* at hand */
	} else if (!pthread_mutex_trylock(&v->near_lock)) {
		/* another thread, or `fn` itself, does not wait for what was read ahead: it reads a line */
		near = true;
		rc = grove__image_line_near(v->image, v->log, row, &v->near, &line, &value, d);
	} else {
		rc = grove__image_line(v->image, v->log, row, &line, &value, d);
	}
	if (!rc)
		rc = grove__image_pieces(v->image, row, value, fn, payload);
	else if (rc == GROVE_ETOOBIG)
		rc = tell_too_long(grove__spine_len(v->image->spine, row), fn, payload);
	if (near)
		pthread_mutex_unlock(&v->near_lock);
	grove__buf_release(&line);
	return rc;
}

int grove__view_label(struct grove_view *v, uint32_t row, struct grove_buf *target, struct grove_buf *text,
		      struct grove_detail *d)
{
	if (row >= v->nr || grove__spine_kind(v->image->spine, row) != GROVE_KIND_LABEL)
		return 1;
	return grove__image_label(v->image, v->log, row, target, text, d);
}
