/*
 * watch/watched.c: what happened to one session since the last look.
 *
 * The rev of a session is its number of lines plus a base that counts all other changes, so
 * each line and each change has its own rev:
 *
 *	lines      0   1   2       3   4
 *	changes              leaf         update
 *	rev        1   2   3   4   5   6   7
 *
 * If a store has a record of changes, we query it, and the lines in between are those of
 * the image; a watcher that was away continues from the last rev it saw. Files have no such
 * record. Their base is the age of the file, so one that was rewritten while nobody watched
 * has another base, and is reported as a reset. While we watch, we compare the images
 * before and after a change.
 *
 * A session may be watched for days and change once, so its image is released when others
 * need the room: it is parked. A mark remains, which is enough to find out later whether
 * the reported lines are still the same, but not which of them have changed; that is then
 * reported as a reset.
 */
#include "watch/watch.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "base/idmap.h"
#include "session/leaf.h"

#include <stdlib.h>

/* Replaced images stay with their session, so a handle is not used forever. */
#define RETIRED_MAX 8

/* ---------------------------------------------------------------- the queue */

static uint64_t hash_of(const char *text)
{
	return grove__idmap_hash(1, text, strlen(text));
}

static uint64_t leaf_hash(const struct grove__watched *w, uint32_t row)
{
	const char *id = row == GROVE_NO_ENTRY ? "" : grove__spine_id(w->s->image->spine, row);

	return id ? hash_of(id) : 0;
}

/* What a reader takes for the leaf after this event. */
static void note_leaf(struct grove__watched *w, enum grove_event_kind kind, uint32_t row)
{
	if (kind == GROVE_EVENT_LEAF)
		w->leaf = leaf_hash(w, row);
	else if (kind == GROVE_EVENT_RESET)
		w->leaf = w->s && w->s->image ? leaf_hash(w, grove__session_leaf_row(w->s)) : 0;
	else if ((kind == GROVE_EVENT_APPEND || kind == GROVE_EVENT_RENAME) && row != GROVE_NO_ENTRY &&
		 !(grove__spine_flags(w->s->image->spine, row) & ROW_ASIDE))
		w->leaf = leaf_hash(w, row);
}

/* `row` is the entry concerned, or GROVE_NO_ENTRY. */
static int push(struct grove__watched *w, enum grove_event_kind kind, uint64_t rev, uint64_t seq,
		uint32_t row, struct grove_detail *d)
{
	const char *id = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(w->s->image->spine, row);
	char *copy = id ? strdup(id) : NULL;

	if ((id && !copy) || grove__array_room(&w->queue, &w->cap, w->nr, sizeof(*w->queue))) {
		free(copy);
		return grove__fail_nomem(d);
	}
	w->queue[w->nr++] = (struct grove__happened){
		.rev = rev, .seq = seq, .kind = kind, .row = row, .entry_id = copy,
		.generation = w->s && w->s->image ? w->s->image->generation : 0,
	};
	note_leaf(w, kind, row);
	return 0;
}

static void clear_queue(struct grove__watched *w)
{
	for (size_t i = 0; i < w->nr; i++)
		free(w->queue[i].entry_id);
	w->nr = w->next = 0;
}

/* Returns 1 if a line about the session gives it a name. */
static int gives_name(struct grove__watched *w, const struct grove__image *im, uint32_t row, bool *yes,
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

static int tell_row(struct grove__watched *w, const struct grove__image *im, uint32_t row, uint64_t rev,
		    struct grove_detail *d)
{
	const struct grove__spine *sp = im->spine;
	uint64_t seq = grove__spine_line(sp, row);
	bool name;
	int rc;

	if (grove__spine_flags(sp, row) & ROW_LEAF_MARK)
		return push(w, GROVE_EVENT_LEAF, rev, seq, grove__tree_leaf(sp, row), d);
	rc = gives_name(w, im, row, &name, d);
	return rc ? rc : push(w, name ? GROVE_EVENT_RENAME : GROVE_EVENT_APPEND, rev, seq,
			      row, d);
}

/* Reports the lines from `from` to `until`; `base` is the number of other changes so far. */
static int tell_lines(struct grove__watched *w, uint64_t from, uint64_t until, uint64_t base,
		      struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint32_t row = grove__spine_from_line(im->spine, im->spine->nr, from);
	int rc = 0;

	for (uint64_t line = from; line < until && !rc; line++) {
		bool any = false;

		/*
		 * the last of several entries on a line completes it; a watcher that stops
		 * before gets them again
		 */
		for (; row < im->spine->nr && grove__spine_line(im->spine, row) == line && !rc; row++) {
			bool last = row + 1 == im->spine->nr || grove__spine_line(im->spine, row + 1) != line;

			rc = tell_row(w, im, row, base + line + last, d);
			any = true;
		}
		if (!any && !rc)
			rc = push(w, GROVE_EVENT_APPEND, base + line + 1, line, GROVE_NO_ENTRY, d);
	}
	return rc;
}

/*
 * A line about the session from `from` on may have moved the leaf, by rules over the whole
 * log. A watcher that stops before this gets the preceding line again.
 */
static int tell_leaf(struct grove__watched *w, uint64_t from, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint64_t rev = grove__image_rev(im);
	uint32_t row, leaf;

	if (grove__model_is_path(im->dialect))
		return 0;
	for (row = grove__spine_from_line(im->spine, im->spine->nr, from); row < im->spine->nr; row++)
		if (grove__spine_flags(im->spine, row) & ROW_ASIDE)
			break;
	if (row == im->spine->nr)
		return 0;
	leaf = grove__session_leaf_row(w->s);
	if (leaf != GROVE_NO_ENTRY && grove__spine_line(im->spine, leaf) >= from)
		return 0;
	/* most of these lines move nothing */
	if (w->leaf && w->leaf == leaf_hash(w, leaf))
		return 0;
	if (w->nr > w->next && w->queue[w->nr - 1].rev == rev)
		w->queue[w->nr - 1].rev--;
	return push(w, GROVE_EVENT_LEAF, rev, GROVE_NO_SEQ, leaf, d);
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

static int tell_change(struct grove__watched *w, const struct grove_store_change *c,
		       struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	uint32_t row;

	switch (c->kind) {
	case GROVE_CHANGE_LEAF:
		return push(w, GROVE_EVENT_LEAF, c->rev, GROVE_NO_SEQ,
			    grove__session_leaf_row(w->s), d);
	case GROVE_CHANGE_NAME:
		return push(w, GROVE_EVENT_RENAME, c->rev, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	case GROVE_CHANGE_RESET:
		return push(w, GROVE_EVENT_RESET, c->rev, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	default:
		row = c->id.len ? grove__spine_find(im->spine, im->spine->nr, c->id) : GROVE_NO_ENTRY;
		return push(w, GROVE_EVENT_UPDATE, c->rev,
			    row == GROVE_NO_ENTRY ? GROVE_NO_SEQ : grove__spine_line(im->spine, row),
			    row, d);
	}
}

/* Everything has to be read again; then it continues from now. */
static int tell_reset(struct grove__watched *w, struct grove_detail *d)
{
	w->rev = grove__image_rev(w->s->image);
	w->lines = w->s->image->lines;
	return push(w, GROVE_EVENT_RESET, w->rev, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
}

/* `l` has the changes from w->rev on, as far as the image reaches. */
static int tell_changes(struct grove__watched *w, const struct changes *l, struct grove_detail *d)
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
			/* everything before a reset is gone */
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

static int look_by_record(struct grove__watched *w, struct grove_detail *d)
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
	/*
	 * changes after our look wait for the next one, unless a reset deleted the earlier
	 * record
	 */
	while (l.nr && base_after(&l.list[l.nr - 1]) > w->s->image->base)
		reset |= l.list[--l.nr].kind == GROVE_CHANGE_RESET;
	if (!rc && !reset)
		rc = tell_changes(w, &l, d);
	grove__arena_release(&l.ids);
	free(l.list);
	return rc;
}

/* --------------------------------------------------------------------- files */

/* Returns true if it is the same entry, whatever it says now. */
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

/* Returns true if everything except the entries is the same, including the file. */
static bool same_around(const struct grove__image *a, const struct grove__image *b)
{
	return a->base == b->base && a->has_slot == b->has_slot &&
	       (!a->has_slot || a->slot_crc == b->slot_crc) &&
	       a->header_at.len == b->header_at.len && a->header_at.crc == b->header_at.crc;
}

/* The log was rewritten: reports what is different. */
static int tell_difference(struct grove__watched *w, const struct grove__image *old,
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
	/*
	 * a watcher that stops between two of these finds another file when it resumes, and
	 * reads it again
	 */
	for (uint32_t i = 0; i < old->spine->nr && !rc; i++)
		if (grove__spine_crc(old->spine, i) != grove__spine_crc(im->spine, i) ||
		    grove__spine_len(old->spine, i) != grove__spine_len(im->spine, i))
			rc = push(w, GROVE_EVENT_UPDATE, before, grove__spine_line(im->spine, i), i, d);
	if (!rc && !same_text(grove__image_name(old), grove__image_name(im)))
		rc = push(w, GROVE_EVENT_RENAME, before, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	else if (!rc && w->next == w->nr && im->lines == w->lines && !same_around(old, im))
		rc = push(w, GROVE_EVENT_UPDATE, before, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	if (w->nr > w->next)
		w->queue[w->nr - 1].rev = im->base + w->lines;
	return rc;
}

/* The line before the header is overwritten in place. Returns 1 if it was. */
static int slot_changed(struct grove__watched *w, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__spot at;
	int rc;

	/* no image: the last look found the file in the middle of a rewrite */
	if (!im || !im->has_slot || im->ctime_ns == w->seen.ctime_ns)
		return 0;
	at = (struct grove__spot){ .pos = im->slot_pos, .off = im->slot_off, .len = im->slot_len,
				   .line = im->slot_line, .crc = im->slot_crc };
	rc = grove__line_fetch(w->s->log, &at, &line, d);
	grove__buf_release(&line);
	return rc == GROVE_ESTALE ? 1 : rc;
}

static int look_by_image(struct grove__watched *w, struct grove_detail *d)
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

/* ---------------------------------------------------------------- the handle */

static void close_session(struct grove__watched *w)
{
	if (w->s)
		grove__session_unref(w->s);
	w->s = NULL;
}

static int open_session(struct grove__watched *w, struct grove_detail *d)
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

static void take_image(struct grove__watched *w)
{
	grove__image_unref(w->image);
	w->image = grove__log_has_changes(w->s->log) ? NULL : grove__image_ref(w->s->image);
}

/* A session that moved has the same id in another place. */
static int find_by_id(struct grove__watched *w, struct grove_detail *d)
{
	struct grove__where at;
	int rc = grove__locate(w->g, w->session_id, &at, d);

	if (rc)
		return rc == GROVE_EAMBIGUOUS ? GROVE_ENOTFOUND : rc;
	grove__where_release(&w->at);
	w->at = at;
	w->moved = true;
	return 0;
}

void grove__watched_relocate(struct grove__watched *w)
{
	(void)find_by_id(w, NULL);
}

/* Opens it where it was, or where it is now. */
static int open_again(struct grove__watched *w, struct grove_detail *d)
{
	int rc;

	close_session(w);
	rc = open_session(w, d);
	if (rc != GROVE_ENOTFOUND)
		return rc;
	rc = find_by_id(w, d);
	if (!rc)
		rc = open_session(w, d);
	/* the id was only a prefix of this one's */
	if (!rc && strcmp(w->s->id, w->session_id)) {
		close_session(w);
		rc = GROVE_ENOTFOUND;
	}
	return rc;
}

/* What we had open no longer exists; something else may have its name. */
static int lost(struct grove__watched *w, struct grove_detail *d)
{
	int rc = open_again(w, d);

	if (rc == GROVE_ENOTFOUND) {
		w->gone = true;
		return push(w, GROVE_EVENT_DELETE, w->rev + 1, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	}
	if (rc)
		return rc;
	rc = tell_reset(w, d);
	take_image(w);
	return rc;
}

/* A removed log in memory stays readable for those who have it open, without any sign of that. */
static bool in_memory(const struct grove__watched *w)
{
	return w->s && !grove__store_traits(w->s->at.store).shared;
}

static bool between(uint64_t a, uint64_t x, uint64_t b)
{
	return a <= x && x <= b;
}

/* Checks that what we have open still exists. GROVE_ENOTFOUND, GROVE_ESTALE. */
static int still_there(struct grove__watched *w, struct grove_detail *d)
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
	/* it may be in the middle of a write */
	if (!rc && !(between(w->seen.base + w->seen.tail, there.base + there.tail, now.base + now.tail) &&
		     between(w->seen.generation, there.generation, now.generation) &&
		     (w->seen.bytes != now.bytes || there.bytes == now.bytes)))
		rc = GROVE_ESTALE;
	return rc;
}

/* ------------------------------------------------------------------- parking */

/* A checksum of the first `nr` rows and their bytes. */
static uint32_t sum_of(const struct grove__spine *sp, uint32_t nr)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t row[] = { grove__spine_crc(sp, i), grove__spine_len(sp, i),
				   grove__spine_line(sp, i) };

		sum = grove__crc32c(sum, row, sizeof(row));
	}
	return sum;
}

static struct grove__watched_mark mark_of(const struct grove__image *im, uint32_t rows)
{
	const char *name = grove__image_name(im);

	return (struct grove__watched_mark){
		.base = im->base, .generation = im->generation, .rows = rows,
		.sum = sum_of(im->spine, rows), .has_slot = im->has_slot, .slot_crc = im->slot_crc,
		.header_len = im->header_at.len, .header_crc = im->header_at.crc,
		.has_name = name != NULL, .name = name ? hash_of(name) : 0,
	};
}

void grove__watched_park(struct grove__watched *w)
{
	if (!w->s || !w->s->image || grove__image_spoilt(w->s->image))
		return;
	w->mark = mark_of(w->s->image, w->s->image->spine->nr);
	w->parked = true;
	close_session(w);
	grove__image_unref(w->image);
	w->image = NULL;
	if (w->next == w->nr) {
		clear_queue(w);
		free(w->queue);
		w->queue = NULL;
		w->cap = 0;
	}
}

static bool same_header(const struct grove__watched_mark *a, const struct grove__watched_mark *b)
{
	return a->header_len == b->header_len && a->header_crc == b->header_crc;
}

/* For files whose reported lines are unchanged: reports what else is different. */
static int tell_around(struct grove__watched *w, const struct grove__watched_mark *now,
		       struct grove_detail *d)
{
	const struct grove__watched_mark *was = &w->mark;
	uint64_t rev = now->base + w->lines;

	bool more = w->s->image->lines > w->lines;
	bool top = was->has_slot != now->has_slot || was->slot_crc != now->slot_crc ||
		   !same_header(was, now);

	/* a name that comes with a new line is reported with that line */
	if ((top || !more) && (was->has_name != now->has_name || was->name != now->name))
		return push(w, GROVE_EVENT_RENAME, rev, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	if (!more && (top || was->base != now->base))
		return push(w, GROVE_EVENT_UPDATE, rev, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	return 0;
}

/*
 * A parked session has a new image. Returns 1 if that is the reported log, only longer, so
 * that the look continues from there; 0 if a reset was reported.
 */
static int compare_mark(struct grove__watched *w, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	bool record = grove__log_has_changes(w->s->log), same;
	struct grove__watched_mark now;
	int rc = 0;

	w->parked = false;
	same = im->spine->nr >= w->mark.rows;
	now = mark_of(im, same ? w->mark.rows : 0);
	if (record)
		/* with another generation, the record says which lines have changed */
		same = now.generation == w->mark.generation
			       ? same && now.sum == w->mark.sum
			       : w->mark.header_len && same_header(&now, &w->mark);
	else
		same = same && im->lines >= w->lines && now.sum == w->mark.sum;
	if (!same) {
		rc = tell_reset(w, d);
	} else if (!record) {
		uint64_t from = w->lines;

		rc = tell_around(w, &now, d);
		if (!rc)
			rc = tell_lines(w, from, im->lines, im->base, d);
		if (!rc)
			rc = tell_leaf(w, from, d);
		w->lines = im->lines;
		w->rev = grove__image_rev(im);
	}
	take_image(w);
	return rc ? rc : same && record;
}

static int wake_up(struct grove__watched *w, struct grove_detail *d)
{
	int rc = open_session(w, d);

	return rc ? rc : compare_mark(w, d);
}

/* ------------------------------------------------------------------- looking */

/* Handles images and handles under the session's lock, because there may be views. */
static int look(struct grove__watched *w, struct grove_detail *d)
{
	struct grove_session *s;
	int rc;

	if (w->parked) {
		rc = wake_up(w, d);
		if (rc <= 0)
			return rc;
	}
	s = w->s;
	if (!s)
		return GROVE_ESTALE;
	rc = grove__log_stat(s->log, &w->seen, d);
	if (!rc && in_memory(w))
		rc = still_there(w, d);
	if (rc)
		return rc;
	grove__session_lock(s);
	rc = grove__log_has_changes(s->log) ? look_by_record(w, d) : look_by_image(w, d);
	grove__session_unlock(s);
	return rc;
}

/* Replaces a handle that has seen many images by a new one in the same state. */
static int renew(struct grove__watched *w, struct grove_detail *d)
{
	int rc;

	if (!w->s || w->s->nr_past < RETIRED_MAX)
		return 0;
	rc = open_again(w, d);
	/* whatever it is, the look will report it */
	return rc == GROVE_ENOTFOUND || rc == GROVE_EDAMAGED ? 0 : rc;
}

int grove__watched_look(struct grove__watched *w, struct grove_detail *d)
{
	uint64_t rev = w->rev, lines = w->lines;
	int rc = renew(w, d);

	clear_queue(w);
	if (!rc)
		rc = look(w, d);
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE) {
		w->parked = false;
		rc = lost(w, d);
	}
	/* it is being rewritten in place; more will come */
	if (rc == GROVE_EDAMAGED)
		rc = 0;
	if (rc < 0) {
		w->upset |= w->nr || w->rev != rev || w->lines != lines;
		clear_queue(w);
	} else if (w->upset && !w->gone && w->s && w->s->image) {
		clear_queue(w);
		rc = tell_reset(w, d);
		w->upset = rc != 0;
	}
	return rc;
}

/* -------------------------------------------------------------- open, close */

/* From here on, the lines of this image count as reported, unless `since` says otherwise. */
static int tell_since(struct grove__watched *w, uint64_t since, struct grove_detail *d)
{
	const struct grove__image *im = w->s->image;
	int rc = 0;

	w->rev = since == GROVE_REV_NOW ? grove__image_rev(im) : since;
	w->told = w->rev;
	w->lines = im->lines;
	take_image(w);
	if (w->rev == grove__image_rev(im))
		w->leaf = leaf_hash(w, grove__session_leaf_row(w->s));
	if (since == GROVE_REV_NOW)
		return 0;
	if (grove__log_has_changes(w->s->log))
		return look_by_record(w, d);
	if (since < im->base || since > grove__image_rev(im))
		return tell_reset(w, d);
	/* a name that is overwritten in place leaves no trace, so report it in any case */
	if (im->has_slot)
		rc = push(w, GROVE_EVENT_RENAME, since, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
	if (!rc)
		rc = tell_lines(w, since - im->base, im->lines, im->base, d);
	if (!rc)
		rc = tell_leaf(w, since - im->base, d);
	w->rev = grove__image_rev(im);
	return rc;
}

int grove__watched_open(struct grove *g, struct grove__where *at, uint64_t since,
			struct grove__watched *w, struct grove_detail *d)
{
	int rc;

	w->g = g;
	w->at = *at;
	memset(at, 0, sizeof(*at));
	if (w->session_id) {
		w->rev = w->told = since;
		rc = open_again(w, d);
		if (rc == GROVE_ENOTFOUND) {
			w->gone = true;
			return push(w, GROVE_EVENT_DELETE, since + 1, GROVE_NO_SEQ, GROVE_NO_ENTRY, d);
		}
		return rc ? rc : tell_since(w, since, d);
	}
	rc = open_session(w, d);
	if (rc)
		return rc;
	w->session_id = strdup(w->s->id);
	return w->session_id ? tell_since(w, since, d) : grove__fail_nomem(d);
}

void grove__watched_release(struct grove__watched *w)
{
	clear_queue(w);
	free(w->queue);
	close_session(w);
	grove__image_unref(w->image);
	grove__where_release(&w->at);
	free(w->session_id);
	free(w->key);
}
