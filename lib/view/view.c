/*
 * view/view.c: a session at one moment.
 *
 * A view refers to the image it was taken from and remembers how far that reached. Rows
 * are only ever added at the end, so what it shows never changes.
 */
#include "view/view.h"

#include "session/leaf.h"

#include <stdlib.h>

static void count(const struct grove__image *im, struct grove_counts *c)
{
	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	c->lines = im->lines + im->torn;
	c->bytes = im->bytes;
	c->entries = im->spine->nr;
	c->malformed = im->malformed + im->torn;
	c->blank = im->blank;
	c->orphans = im->spine->nr_orphans;
	c->cycles = im->spine->nr_cycles;
	c->duplicates = im->spine->nr_duplicates;
	c->torn = im->torn;
	c->first_malformed_line = im->malformed ? im->bad_line : im->lines;
	c->first_malformed_offset = im->malformed ? im->bad_pos : im->next;
}

int grove__view_new(struct grove_session *s, struct grove_view **out, struct grove_detail *d)
{
	struct grove_view *v;
	int rc;

	*out = NULL;
	rc = grove__session_load(s, d);
	if (rc)
		return rc;
	if (!s->labels)
		s->labels = grove__labels_new(s->image->spine);
	v = calloc(1, sizeof(*v));
	if (!v || !s->labels) {
		free(v);
		return grove__fail_nomem(d);
	}
	v->refs = 1;
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	v->session = s;
	v->image = grove__image_ref(s->image);
	v->log = s->log;
	v->tail = s->image->tail;
	v->generation = s->image->generation;
	v->rev = grove__image_rev(s->image);
	v->labels = grove__labels_ref(s->labels);
	v->nr = s->image->spine->nr;
	/* if finding the leaf takes a walk, it is found on first use */
	v->moved = s->leaf.apart;
	v->kept = s->leaf.in_store;
	v->has_leaf = s->leaf.apart || grove__model_is_path(s->at.dialect);
	if (v->has_leaf)
		v->leaf = grove__session_leaf_row(s);
	v->name = grove__image_name(s->image);
	count(s->image, &v->counts);
	pthread_mutex_init(&v->lock, NULL);
	pthread_mutex_init(&v->near_lock, NULL);
	v->near.until = v->tail;
	*out = v;
	return 0;
}

struct grove_view *grove_view_ref(struct grove_view *v)
{
	if (v)
		__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
	return v;
}

void grove_view_unref(struct grove_view *v)
{
	if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL))
		return;
	grove__labels_unref(v->labels);
	grove__image_unref(v->image);
	grove__session_unref(v->session);
	pthread_mutex_destroy(&v->lock);
	pthread_mutex_destroy(&v->near_lock);
	grove__runs_release(&v->near.runs);
	free(v);
}

void grove__view_row(const struct grove__spine *s, uint32_t i, struct grove_entry *out)
{
	*out = (struct grove_entry){
		.size = sizeof(*out),
		.index = i,
		.parent = grove__spine_parent(s, i),
		.id = grove__spine_id(s, i),
		.time = grove__spine_time(s, i),
		.label_time = GROVE_NO_TIME,
		.kind = grove__spine_kind(s, i),
		.role = grove__spine_role(s, i),
		.flags = grove__spine_flags(s, i) & (ROW_ORPHAN | ROW_CYCLE | ROW_SUPERSEDED |
						     ROW_NO_ID | ROW_LEAF_MARK),
		.line = grove__spine_line(s, i),
		.bytes = grove__spine_len(s, i),
	};
}

int grove__view_leaf(struct grove_view *v, uint32_t *leaf)
{
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(v->session) };
	struct grove__chain_walk w;
	int rc = 0;

	pthread_mutex_lock(&v->lock);
	if (!v->has_leaf) {
		v->leaf = GROVE_NO_ENTRY;
		rc = grove__model_walk(v->image, v->nr, &ask, &w, NULL);
		if (!rc) {
			v->leaf = w.leaf;
			v->has_leaf = true;
			grove__walk_release(&w);
		}
	}
	*leaf = v->leaf;
	pthread_mutex_unlock(&v->lock);
	return rc;
}

int grove__view_conversation(struct grove_view *v, uint32_t to, bool whole, struct grove_rows *out)
{
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(v->session), .full = whole,
					.prompts = true };
	struct grove__chain_walk w;
	uint32_t leaf;
	int rc;

	/* an entry without an id can only be reached through its parents */
	if (grove__model_is_path(v->image->dialect) || (to != GROVE_NO_ENTRY && !grove__spine_id(v->image->spine, to)))
		return grove__tree_path(v->image->spine, to, &out->at, &out->nr);
	rc = grove__view_leaf(v, &leaf);
	if (rc)
		return rc;
	if (to != leaf)
		ask.leaf = to == GROVE_NO_ENTRY ? GROVE_ROOT : grove__spine_id(v->image->spine, to);
	rc = grove__model_walk(v->image, v->nr, &ask, &w, NULL);
	if (rc)
		return rc;
	*out = (struct grove_rows){ w.rows, w.nr };
	free(w.reasons);
	return 0;
}
