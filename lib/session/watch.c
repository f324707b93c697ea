/*
 * session/watch.c: what happens to a session, as it happens.
 *
 * The rev of a session is its number of lines and a base that counts all other
 * changes, so each line has a rev of its own and so has each change:
 *
 *	lines      0   1   2       3   4
 *	changes              leaf         update
 *	rev        1   2   3   4   5   6   7
 *
 * Stores that keep a record of changes are asked for it, and the lines between
 * are those of the image; who was away goes on from the last rev he saw. Files
 * keep no such record. Their base is the age of the file, so that one that was
 * written anew while nobody looked is known by its base, and told as a reset;
 * while we look on, the image before and the one after tell what was changed.
 */
#include "session/watch.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/file.h"
#include "sys/watch.h"

#include <stdlib.h>

#define FOREVER ((int64_t)3600 * 1000)
/* How often to look where nobody would wake us. */
#define PAUSE_MS 100
/* Images that were replaced stay with their session: a handle is not used for ever. */
#define RETIRED_MAX 8

/* ---------------------------------------------------------------- the queue */

static int push(struct grove_watch *w, enum grove_event_kind kind, uint64_t rev, uint64_t seq,
		const char *id, struct grove_detail *d)
{
	char *copy = id ? strdup(id) : NULL;

	if ((id && !copy) || grove__array_room(&w->queue, &w->cap, w->nr, sizeof(*w->queue))) {
		free(copy);
		return grove__fail_nomem(d);
	}
	w->queue[w->nr++] = (struct grove__happened){ rev, seq, kind, copy };
	return 0;
}

static void clear_queue(struct grove_watch *w)
{
	for (size_t i = 0; i < w->nr; i++)
		free(w->queue[i].entry_id);
	w->nr = w->next = 0;
}

static const char *row_id(const struct grove__image *im, uint32_t row)
{
	return row == GROVE_NO_ENTRY ? NULL : grove__spine_id(im->spine, row);
}

/* The first row that begins on line `line` or behind it. */
static uint32_t row_from(const struct grove__spine *sp, uint64_t line)
{
	uint32_t lo = 0, hi = sp->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (grove__spine_line(sp, mid) < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Does a line about the session give it a name? */
static int gives_name(struct grove_watch *w, const struct grove__image *im, uint32_t row, bool *yes,
		      struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_slice value;
	struct grove__json_line l;
	struct grove__arena tmp;
	struct grove__entry e;
	int rc;

	*yes = grove__spine_kind(im->spine, row) == GROVE_KIND_NAME;
	if (*yes || !(grove__spine_flags(im->spine, row) & ROW_ASIDE))
		return 0;
	rc = grove__image_line(im, w->s->log, row, &line, &value, d);
	grove__arena_init(&tmp);
	*yes = !rc && grove__json_scan(&im->want, value.ptr, value.len, true, &l) == JSON_VALUE &&
	       im->dialect->read.index(&l, value.ptr, &tmp, &e) == LINE_ENTRY && e.names;
	grove__arena_release(&tmp);
	grove__buf_release(&line);
	return rc;
}

static int tell_row(struct grove_watch *w, const struct grove__image *im, uint32_t row, uint64_t rev,
		    struct grove_detail *d)
{
	const struct grove__spine *sp = im->spine;
	uint64_t seq = grove__spine_line(sp, row);
	bool name;
	int rc;

	if (grove__spine_flags(sp, row) & ROW_LEAF_MARK)
		return push(w, GROVE_EVENT_LEAF, rev, seq, row_id(im, grove__tree_leaf(sp, row)), d);
	rc = gives_name(w, im, row, &name, d);
	return rc ? rc : push(w, name ? GROVE_EVENT_RENAME : GROVE_EVENT_APPEND, rev, seq,
			      row_id(im, row), d);
}

/* Lines from `from` to `until`, which the changes so far have made `base` later. */
static int tell_lines(struct grove_watch *w, uint64_t from, uint64_t until, uint64_t base,
		      struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint32_t row = row_from(im->spine, from);
	int rc = 0;

	for (uint64_t line = from; line < until && !rc; line++) {
		bool any = false;

		/* of several on one line the last one closes it: who stops before gets them again */
		for (; row < im->spine->nr && grove__spine_line(im->spine, row) == line && !rc; row++) {
			bool last = row + 1 == im->spine->nr || grove__spine_line(im->spine, row + 1) != line;

			rc = tell_row(w, im, row, base + line + last, d);
			any = true;
		}
		if (!any && !rc)
			rc = push(w, GROVE_EVENT_APPEND, base + line + 1, line, NULL, d);
	}
	return rc;
}

/*
 * A line about the session from `from` on may have moved the leaf, by rules over
 * the whole log. Who stops before this gets the line before it again.
 */
static int tell_leaf(struct grove_watch *w, uint64_t from, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint64_t rev = grove__image_rev(im);
	uint32_t row, leaf;

	if (!grove__image_ruled(im))
		return 0;
	for (row = row_from(im->spine, from); row < im->spine->nr; row++)
		if (grove__spine_flags(im->spine, row) & ROW_ASIDE)
			break;
	if (row == im->spine->nr)
		return 0;
	leaf = grove__session_leaf_row(w->s);
	if (leaf != GROVE_NO_ENTRY && grove__spine_line(im->spine, leaf) >= from)
		return 0;
	if (w->nr > w->next && w->queue[w->nr - 1].rev == rev)
		w->queue[w->nr - 1].rev--;
	return push(w, GROVE_EVENT_LEAF, rev, GROVE_NO_SEQ, row_id(im, leaf), d);
}

/* -------------------------------------------------- with a record of changes */

struct changes {
	struct grove_store_change *list;
	size_t nr, cap;
	struct grove__arena ids;
};

static int add_change(void *payload, const struct grove_store_change *c)
{
	struct changes *l = payload;
	const char *id = grove__arena_dup(&l->ids, c->id);

	if (!id || grove__array_room(&l->list, &l->cap, l->nr, sizeof(*l->list)))
		return GROVE_ENOMEM;
	l->list[l->nr] = *c;
	l->list[l->nr++].id = grove__slice(id, c->id.len);
	return 0;
}

static uint64_t base_after(const struct grove_store_change *c)
{
	return c->rev - c->lines;
}

static int tell_change(struct grove_watch *w, const struct grove_store_change *c,
		       struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint32_t row;

	switch (c->kind) {
	case GROVE_CHANGE_LEAF:
		return push(w, GROVE_EVENT_LEAF, c->rev, GROVE_NO_SEQ,
			    row_id(im, grove__session_leaf_row(w->s)), d);
	case GROVE_CHANGE_NAME:
		return push(w, GROVE_EVENT_RENAME, c->rev, GROVE_NO_SEQ, NULL, d);
	case GROVE_CHANGE_RESET:
		return push(w, GROVE_EVENT_RESET, c->rev, GROVE_NO_SEQ, NULL, d);
	default:
		row = c->id.len ? grove__spine_find(im->spine, im->spine->nr, c->id) : GROVE_NO_ENTRY;
		return push(w, GROVE_EVENT_UPDATE, c->rev,
			    row == GROVE_NO_ENTRY ? GROVE_NO_SEQ : grove__spine_line(im->spine, row),
			    row_id(im, row), d);
	}
}

/* All is to be read again, and then it goes on from now. */
static int tell_reset(struct grove_watch *w, struct grove_detail *d)
{
	w->rev = grove__image_rev(w->s->image);
	w->lines = w->s->image->lines;
	return push(w, GROVE_EVENT_RESET, w->rev, GROVE_NO_SEQ, NULL, d);
}

/* `l` is what is known from w->rev on, as far as the image reaches. */
static int tell_changes(struct grove_watch *w, const struct changes *l, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint64_t base = im->base, line, from;
	size_t i = 0;
	int rc = 0;

	if (l->nr && l->list[0].rev <= w->rev)
		base = base_after(&l->list[i++]);
	else if (l->nr)
		base = base_after(&l->list[0]) - 1;
	for (size_t j = l->nr; j > i; j--)
		if (l->list[j - 1].kind == GROVE_CHANGE_RESET) {
			/* what was before it is gone */
			rc = tell_change(w, &l->list[j - 1], d);
			w->rev = l->list[j - 1].rev;
			base = base_after(&l->list[j - 1]);
			i = j;
			break;
		}
	if (!rc && (w->rev < base || w->rev > grove__image_rev(im)))
		return tell_reset(w, d);
	line = from = w->rev - base;
	for (; i < l->nr && !rc; i++) {
		const struct grove_store_change *c = &l->list[i];

		if (line > c->lines)
			return tell_reset(w, d);
		rc = tell_lines(w, line, c->lines, base, d);
		if (!rc)
			rc = tell_change(w, c, d);
		line = c->lines;
		base = base_after(c);
	}
	if (!rc)
		rc = tell_lines(w, line, im->tail, base, d);
	if (!rc)
		rc = tell_leaf(w, from, d);
	w->rev = grove__image_rev(im);
	return rc;
}

static int look_by_record(struct grove_watch *w, struct grove_detail *d)
{
	struct changes l = { .list = NULL };
	bool reset = false;
	int rc = grove__session_refresh(w->s, d);

	if (rc < 0)
		return rc;
	if (grove__image_rev(w->s->image) == w->rev)
		return 0;
	grove__arena_init(&l.ids);
	rc = grove__log_changes(w->s->log, w->rev, add_change, &l, d);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	/* what came after we looked waits for the next look, unless it took the record along */
	while (l.nr && base_after(&l.list[l.nr - 1]) > w->s->image->base)
		reset |= l.list[--l.nr].kind == GROVE_CHANGE_RESET;
	if (!rc && !reset)
		rc = tell_changes(w, &l, d);
	grove__arena_release(&l.ids);
	free(l.list);
	return rc;
}

/* --------------------------------------------------------------------- files */

/* Is it the same entry, whatever it says now? */
static bool same_row(const struct grove__image *a, const struct grove__image *b, uint32_t row)
{
	const char *x = grove__spine_id(a->spine, row), *y = grove__spine_id(b->spine, row);

	return !x == !y && (!x || !strcmp(x, y)) &&
	       grove__spine_kind(a->spine, row) == grove__spine_kind(b->spine, row) &&
	       grove__spine_parent(a->spine, row) == grove__spine_parent(b->spine, row);
}

static bool same_text(const char *a, const char *b)
{
	return !a == !b && (!a || !strcmp(a, b));
}

/* Is all that is no entry the same, and the file, too? */
static bool same_around(const struct grove__image *a, const struct grove__image *b)
{
	return a->base == b->base && a->has_slot == b->has_slot &&
	       (!a->has_slot || a->slot_crc == b->slot_crc) &&
	       a->header_at.len == b->header_at.len && a->header_at.crc == b->header_at.crc;
}

/* The log was written anew: what is different in it? */
static int tell_difference(struct grove_watch *w, const struct grove__image *old,
			   struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint64_t before = w->rev;
	int rc = 0;

	if (im->spine->nr < old->spine->nr || im->lines < w->lines)
		return tell_reset(w, d);
	for (uint32_t i = 0; i < old->spine->nr; i++)
		if (!same_row(old, im, i))
			return tell_reset(w, d);
	/* who stops between two of them finds another file when he comes back, and reads it again */
	for (uint32_t i = 0; i < old->spine->nr && !rc; i++)
		if (grove__spine_crc(old->spine, i) != grove__spine_crc(im->spine, i) ||
		    grove__spine_len(old->spine, i) != grove__spine_len(im->spine, i))
			rc = push(w, GROVE_EVENT_UPDATE, before, grove__spine_line(im->spine, i),
				  row_id(im, i), d);
	if (!rc && !same_text(grove__image_name(old), grove__image_name(im)))
		rc = push(w, GROVE_EVENT_RENAME, before, GROVE_NO_SEQ, NULL, d);
	else if (!rc && w->next == w->nr && im->lines == w->lines && !same_around(old, im))
		rc = push(w, GROVE_EVENT_UPDATE, before, GROVE_NO_SEQ, NULL, d);
	if (w->nr > w->next)
		w->queue[w->nr - 1].rev = im->base + w->lines;
	return rc;
}

/* The line in front of the header is overwritten in its place. 1: it was. */
static int slot_changed(struct grove_watch *w, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	struct grove__spot at = { .pos = im->slot_pos, .off = im->slot_off, .len = im->slot_len,
				  .line = im->slot_line, .crc = im->slot_crc };
	struct grove_buf line = GROVE_BUF_INIT;
	int rc;

	if (!im->has_slot || im->ctime_ns == w->seen.ctime_ns)
		return 0;
	rc = grove__line_fetch(w->s->log, &at, &line, d);
	grove__buf_release(&line);
	return rc == GROVE_ESTALE ? 1 : rc;
}

static int look_by_image(struct grove_watch *w, struct grove_detail *d)
{
	struct grove__image *old = grove__image_ref(w->image);
	int rc = slot_changed(w, d);

	if (rc == 1 && grove__session_retire(w->s))
		rc = grove__fail_nomem(d);
	if (rc >= 0)
		rc = grove__session_refresh(w->s, d);
	if (rc >= 0) {
		uint64_t from = w->lines;

		rc = w->s->image == old ? 0 : tell_difference(w, old, d);
		if (!rc && w->lines == from) {
			rc = tell_lines(w, from, w->s->image->lines, w->s->image->base, d);
			if (!rc)
				rc = tell_leaf(w, from, d);
		}
		w->lines = w->s->image->lines;
		w->rev = grove__image_rev(w->s->image);
		grove__image_unref(w->image);
		w->image = grove__image_ref(w->s->image);
	}
	grove__image_unref(old);
	return rc;
}

/* ------------------------------------------------------------------- looking */

static void close_session(struct grove_watch *w)
{
	if (w->s)
		grove__session_unref(w->s);
	w->s = NULL;
}

static int open_session(struct grove_watch *w, struct grove_detail *d)
{
	struct grove__where at;
	int rc = grove__where_copy(&at, &w->at);

	if (rc)
		return grove__fail_nomem(d);
	w->s = grove__session_alloc(w->g);
	if (!w->s) {
		grove__where_release(&at);
		return grove__fail_nomem(d);
	}
	rc = grove__session_open(w->g, &at, GROVE_OPEN_READ, w->s, d);
	grove__where_release(&at);
	if (!rc)
		rc = grove__log_stat(w->s->log, &w->seen, d);
	if (rc)
		close_session(w);
	return rc;
}

static void take_image(struct grove_watch *w)
{
	grove__image_unref(w->image);
	w->image = grove__log_has_changes(w->s->log) ? NULL : grove__image_ref(w->s->image);
}

/* A session that moved has another place, and the same id. */
static int find_by_id(struct grove_watch *w, struct grove_detail *d)
{
	struct grove__where at;
	int rc = grove__locate(w->g, w->session_id, &at, d);

	if (rc)
		return rc == GROVE_EAMBIGUOUS ? GROVE_ENOTFOUND : rc;
	grove__where_release(&w->at);
	w->at = at;
	return 0;
}

/* Where it was, or where it is now. */
static int open_again(struct grove_watch *w, struct grove_detail *d)
{
	int rc;

	close_session(w);
	rc = open_session(w, d);
	if (rc != GROVE_ENOTFOUND)
		return rc;
	rc = find_by_id(w, d);
	if (!rc)
		rc = open_session(w, d);
	/* the beginning of another one's id */
	if (!rc && strcmp(w->s->id, w->session_id)) {
		close_session(w);
		rc = GROVE_ENOTFOUND;
	}
	return rc;
}

/* What we had open is not there any more: something else may be, under the same name. */
static int lost(struct grove_watch *w, struct grove_detail *d)
{
	int rc = open_again(w, d);

	if (rc == GROVE_ENOTFOUND) {
		w->gone = true;
		return push(w, GROVE_EVENT_DELETE, w->rev + 1, GROVE_NO_SEQ, NULL, d);
	}
	if (rc)
		return rc;
	rc = tell_reset(w, d);
	take_image(w);
	return rc;
}

/* A log in memory lives on for who has it open; and nothing tells of it. */
static bool in_memory(const struct grove_watch *w)
{
	return w->s && !strcmp(w->s->at.store->url, "memory:");
}

static bool between(uint64_t a, uint64_t x, uint64_t b)
{
	return a <= x && x <= b;
}

/* Is what we have open still what is there? GROVE_ENOTFOUND, GROVE_ESTALE. */
static int still_there(struct grove_watch *w, struct grove_detail *d)
{
	struct grove_key key = grove__where_key(&w->at);
	struct grove_store_log_stat there, now;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, w->at.store, &key, GROVE_STORE_READ, d);

	if (rc == GROVE_ENOTFOUND && !(rc = find_by_id(w, d))) {
		key = grove__where_key(&w->at);
		rc = grove__log_open(&log, w->at.store, &key, GROVE_STORE_READ, d);
	}
	if (rc)
		return rc;
	rc = grove__log_stat(log, &there, d);
	grove__log_close(log);
	if (!rc)
		rc = grove__log_stat(w->s->log, &now, d);
	/* it may be written to right now */
	if (!rc && !(between(w->seen.base + w->seen.tail, there.base + there.tail, now.base + now.tail) &&
		     between(w->seen.generation, there.generation, now.generation) &&
		     (w->seen.bytes != now.bytes || there.bytes == now.bytes)))
		rc = GROVE_ESTALE;
	return rc;
}

static int look(struct grove_watch *w, struct grove_detail *d)
{
	int rc = w->s ? grove__log_stat(w->s->log, &w->seen, d) : GROVE_ESTALE;

	clear_queue(w);
	if (!rc && in_memory(w))
		rc = still_there(w, d);
	if (!rc)
		rc = grove__log_has_changes(w->s->log) ? look_by_record(w, d) : look_by_image(w, d);
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE)
		rc = lost(w, d);
	/* in the middle of being written anew, in its own place: more will come */
	if (rc == GROVE_EDAMAGED)
		rc = 0;
	return rc;
}

/* A handle that has seen many images gives way to a fresh one, which has seen the same. */
static int renew(struct grove_watch *w, struct grove_detail *d)
{
	int rc;

	if (!w->s || w->s->nr_retired < RETIRED_MAX)
		return 0;
	rc = open_again(w, d);
	/* whatever it is, the next look will tell */
	return rc == GROVE_ENOTFOUND || rc == GROVE_EDAMAGED ? 0 : rc;
}

/* Until something may have happened, for `ms` at most; 1: somebody rang. */
static int await(struct grove_watch *w, int64_t ms, struct grove_detail *d)
{
	int rc = 0;

	if (ms > PAUSE_MS && (!w->s || in_memory(w)))
		ms = PAUSE_MS;
	if (w->s)
		rc = grove__log_wait(w->s->log, &w->seen, ms, w->bell, d);
	else
		grove__sys_wait_fd(w->bell, ms);
	return rc < 0 ? rc : grove__sys_bell_rang(w->bell);
}

int grove__watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d)
{
	int64_t end;

	/* for ever, and what is as good as that */
	if (ms > FOREVER * 24 * 365)
		ms = -1;
	end = grove__sys_ticks_ns() + (ms < 0 ? FOREVER : ms) * 1000000;
	for (;;) {
		int64_t left;
		int rc;

		if (w->next < w->nr) {
			const struct grove__happened *e = &w->queue[w->next++];

			*out = (struct grove_event){ .size = sizeof(*out), .rev = e->rev,
						     .kind = e->kind, .seq = e->seq,
						     .session_id = w->session_id,
						     .entry_id = e->entry_id };
			return 0;
		}
		if (w->gone)
			return grove__fail(d, GROVE_ENOTFOUND, w->at.path, "the session was deleted");
		rc = renew(w, d);
		if (!rc)
			rc = look(w, d);
		if (rc)
			return rc;
		if (w->next < w->nr)
			continue;
		left = (end - grove__sys_ticks_ns() + 999999) / 1000000;
		if (left <= 0 && ms >= 0)
			return 1;
		rc = await(w, left > 0 ? left : FOREVER, d);
		if (rc)
			return rc;
	}
}

/* -------------------------------------------------------------- open, close */

int grove__watch_open(struct grove *g, struct grove__where *at, uint64_t since,
		      struct grove_watch *w, struct grove_detail *d)
{
	const struct grove__image *im;
	int err, rc;

	w->g = g;
	w->at = *at;
	memset(at, 0, sizeof(*at));
	err = grove__sys_bell_open(&w->bell);
	if (err)
		return grove__fail_sys(d, err, NULL, "cannot wait");
	rc = open_session(w, d);
	if (rc)
		return rc;
	w->session_id = strdup(w->s->id);
	if (!w->session_id)
		return grove__fail_nomem(d);
	/* from here on the lines of this image have been told, unless `since` says otherwise */
	im = w->s->image;
	w->rev = since == GROVE_REV_NOW ? grove__image_rev(im) : since;
	w->lines = im->lines;
	take_image(w);
	if (since == GROVE_REV_NOW || grove__log_has_changes(w->s->log))
		return 0;
	if (since < im->base || since > grove__image_rev(im))
		return tell_reset(w, d);
	/* a name that is overwritten in its place leaves no trace: say it to be sure */
	if (im->has_slot)
		rc = push(w, GROVE_EVENT_RENAME, since, GROVE_NO_SEQ, NULL, d);
	if (!rc)
		rc = tell_lines(w, since - im->base, im->lines, im->base, d);
	if (!rc)
		rc = tell_leaf(w, since - im->base, d);
	w->rev = grove__image_rev(im);
	return rc;
}

void grove__watch_release(struct grove_watch *w)
{
	clear_queue(w);
	free(w->queue);
	close_session(w);
	grove__image_unref(w->image);
	grove__where_release(&w->at);
	free(w->session_id);
	if (w->bell >= 0)
		grove__sys_close(w->bell);
}
