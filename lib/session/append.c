/*
 * session/append.c: new entries, from the call to the log.
 *
 *     grove__session_append      takes the session's lock; an append that must be
 *       │                        durable goes through the queue of append_group.c
 *     grove__append_locked       joins a new session that another process began too
 *       │
 *     grove__append_split        append_split.c: one input may become several
 *       │                        entries; pins the leaf if it is computed by rules
 *     grove__append_all          composes (append_compose.c) and stores, until it fits
 *
 * An entry names its parent, so its bytes depend on where the leaf is, and other
 * writers may move the leaf while we compose. So we compose from what we know, and the
 * store appends only if that is still true; otherwise we read again and compose again.
 * Nothing changes in memory until the store has accepted the entries.
 */
#include "session/append.h"
#include "session/append_compose.h"
#include "session/leaf.h"

#include "sys/clock.h"
#include "sys/file.h"

#define TRIES 1000

/* Makes the records to be stored, without entries that are already in the log. */
static void make_records(struct grove__batch *b)
{
	bool linear = grove__dialect_linear(b->s->at.dialect);
	const struct grove_slice none = { NULL, 0 };
	size_t n = 0;

	if (b->guard)
		b->rec[n++] = (struct grove_store_record){ .line = { "]", 1 } };
	for (size_t i = 0; i < b->nr; i++) {
		size_t end = i + 1 < b->nr ? b->item[i + 1].off : b->lines.len;

		if (b->item[i].retry != GROVE_NO_ENTRY)
			continue;
		b->rec[n++] = (struct grove_store_record){
			.line = { b->lines.ptr + b->item[i].off, end - b->item[i].off },
			/* of a list, what is not in the line is not in its columns either */
			.id = linear ? none : grove__append_id(b, i),
			.parent = linear ? none : grove__slice(b->names.ptr + b->item[i].parent_off,
					       b->item[i].parent_len),
			.time = b->item[i].e.time,
			.kind = b->item[i].e.kind,
			.role = b->item[i].e.role,
		};
	}
}

/* Adds the rows of plain messages without parsing their lines again. */
static int add_rows(struct grove__batch *b, const struct grove_store_appended *out)
{
	struct grove__image *im = b->s->image;
	uint64_t pos = out->pos;
	size_t n = 0;
	int rc = 0;

	b->first_new = im->spine->nr;
	for (size_t i = 0; i < b->nr && !rc; i++) {
		/* without a header, one of them is the first to name the directory */
		bool facts = im->header.cwd || !grove__dialect_cwd_in_entries(im->dialect);
		struct grove__append_item *it = &b->item[i];
		struct grove_slice line;

		if (it->retry != GROVE_NO_ENTRY)
			continue;
		line = b->rec[n++].line;
		it->e.id = grove__append_id(b, i);
		/* its parent is the previous entry, unless the input names another */
		if (it->plain && it->e.parent_is == PARENT_NAMED)
			it->e.parent = i ? grove__append_id(b, i - 1) : b->first_parent;
		rc = grove__image_add(im, line, pos, it->plain && facts ? &it->e : NULL);
		pos += im->by_line ? 1 : line.len + 1;
	}
	return rc;
}

/* Brings the image up to date with what the log now has. */
static int take_in(struct grove__batch *b, const struct grove_store_appended *out)
{
	struct grove__image *im = b->s->image;
	int rc;

	if (b->guard || out->pos != im->tail + (uint64_t)out->pad) {
		/* another writer came in between: read everything from the log */
		rc = grove__session_refresh(b->s, b->d);
		return rc < 0 ? rc : 0;
	}
	if (out->pad) {
		im->bytes++;
		if (im->torn) {
			im->bad_line = im->malformed ? im->bad_line : im->lines;
			im->bad_pos = im->malformed ? im->bad_pos : im->next;
			im->malformed++;
			im->lines++;
			im->unknown = true;
		}
	}
	im->torn = im->open_tail = false;
	rc = add_rows(b, out);
	im->tail = im->next = out->tail;
	im->ctime_ns = 0;
	if (!rc && grove__session_take_cwd(b->s))
		return grove__fail_nomem(b->d);
	if (rc) {
		/* stored, but the image could not be extended: build a new one */
		b->first_new = GROVE_NO_ENTRY;
		rc = grove__session_retire(b->s) ? grove__fail_nomem(b->d) : 0;
		if (!rc)
			rc = grove__session_load(b->s, b->d);
	}
	return rc;
}

static int store_batch(struct grove__batch *b)
{
	struct grove_session *s = b->s;
	bool later = b->later && !s->deferral.store && !s->image->torn && !s->image->open_tail;
	/* ALWAYS comes later, after the session's lock is released */
	enum grove_sync sync = b->opt && b->opt->sync == GROVE_SYNC_FLUSH ? GROVE_SYNC_FLUSH
									  : GROVE_SYNC_NONE;
	struct grove_store_appended out;
	uint32_t held_rows = s->image->spine->nr;
	int rc;

	b->first_new = GROVE_NO_ENTRY;
	b->began = false;
	/* nothing is sent to the store, so it cannot report the conflict */
	if (!b->fresh)
		return b->later ? 0 : grove__log_same_base(s->log, b->base, b->d);
	b->guard = false;
	if (s->image->torn && grove__dialect_by_value(s->at.dialect)) {
		rc = grove__image_torn_swallows(s->image, s->log, &b->guard, b->d);
		if (rc)
			return rc;
	}
	make_records(b);
	/* allocate now: nothing may fail once the entries are stored */
	if (b->gives && grove__buf_reserve(b->gives, b->lines.len + b->fresh + 1))
		return grove__fail_nomem(b->d);
	if (s->deferral.store && !s->deferral.for_good && b->starts_file) {
		rc = grove__session_ensure(s, b->rec, b->fresh, sync, b->d);
		b->began = true;
		b->first_new = held_rows;
	} else if (later) {
		rc = grove__submit_put(s, b->rec, b->fresh, b->opt->sync, &out, b->d);
		if (!rc && take_in(b, &out))
			return grove__session_lost_sight(s, b->d);
	} else {
		rc = grove__log_append_on(s->log, b->rec, b->fresh + b->guard, s->image->tail, b->base,
					  sync, &out, b->d);
		if (!rc && take_in(b, &out))
			return grove__session_lost_sight(s, b->d);
	}
	/* the first failure of what is written later is kept there */
	if (rc == GROVE_EIO && !later)
		grove__session_break(s, b->d);
	return rc;
}

/* Returns the rows of the batch, if its lines were read as they were stored. */
static void give_place(const struct grove__batch *b, struct grove_append_result *out)
{
	const struct grove__spine *sp = b->s->image->spine;

	out->first = sp->nr;
	out->nr = 0;
	if (b->fresh && b->first_new != GROVE_NO_ENTRY) {
		out->first = b->first_new;
		out->nr = sp->nr - b->first_new;
		return;
	}
	/* other writers' lines came too, but ours are adjacent: they were one write */
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t row = !b->item[i].id_len || b->item[i].retry != GROVE_NO_ENTRY
				       ? GROVE_NO_ENTRY
				       : grove__spine_find(sp, sp->nr, grove__append_id(b, i));

		if (row == GROVE_NO_ENTRY)
			continue;
		out->first = out->nr ? out->first : row;
		out->nr = row - out->first + 1;
	}
}

/*
 * Lines that waited in memory, and those stored with them, were prepared when they were
 * written.
 */
static int give_stored(struct grove__batch *b, struct grove_append_result *out)
{
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = 0;

	for (uint32_t row = out->first; row < out->first + out->nr && !rc; row++) {
		rc = grove__image_line(b->s->image, b->s->log, row, &line, &value, b->d);
		if (!rc && (grove__buf_add_slice(&out->lines, value) || grove__buf_add_char(&out->lines, '\n')))
			rc = grove__fail_nomem(b->d);
	}
	grove__buf_release(&line);
	return rc;
}

static int give_lines(struct grove__batch *b, struct grove_append_result *out)
{
	int rc = 0;

	if (b->began && b->s->at.dialect->blobs)
		return give_stored(b, out);
	for (size_t i = b->guard; i < b->fresh + b->guard && !rc; i++) {
		rc = grove__buf_add_slice(&out->lines, b->rec[i].line);
		rc = rc ? rc : grove__buf_add_char(&out->lines, '\n');
	}
	return rc ? grove__fail_nomem(b->d) : 0;
}

/* The row that input `i` became, the last one of its id: mostly that is the last of all. */
static uint32_t row_of_input(const struct grove__batch *b, size_t i)
{
	const struct grove__spine *sp = b->s->image->spine;
	struct grove_slice id = grove__append_id(b, i);

	if (!id.len)
		return GROVE_NO_ENTRY;
	if (b->nr == 1 && sp->nr && grove__slice_eq(grove__spine_name(grove__spine_id(sp, sp->nr - 1)), id))
		return sp->nr - 1;
	return grove__spine_find(sp, sp->nr, id);
}

/* Fills in the result of the batch. */
static int fill_result(struct grove__batch *b, struct grove_append_result *out)
{
	const struct grove__spine *sp = b->s->image->spine;

	if (!out)
		return 0;
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t row = row_of_input(b, i);

		out->id = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(sp, row);
		if (out->ids)
			out->ids[i] = out->id;
	}
	give_place(b, out);
	return b->gives && give_lines(b, out) ? grove__session_lost_sight(b->s, b->d) : 0;
}

/*
 * The last entry becomes the leaf, even if it was already stored. But a late retry does
 * not move the leaf back if the conversation has continued below that entry.
 */
static void settle_leaf(struct grove__batch *b)
{
	struct grove_session *s = b->s;
	uint32_t retry = b->nr ? b->item[b->nr - 1].retry : GROVE_NO_ENTRY, row;

	if (b->fresh)
		s->leaf.apart = s->leaf.in_store = false;
	if (retry == GROVE_NO_ENTRY)
		return;
	for (row = grove__session_leaf_row(s); row != GROVE_NO_ENTRY && row != retry;)
		row = grove__spine_parent(s->image->spine, row);
	if (row == retry)
		return;
	s->leaf.apart = true;
	s->leaf.in_store = false;
	s->leaf.row = retry;
}

/* ----------------------------------------------------------------- attempts */

/* One append, tried until the store accepts it or the error is final. */
struct attempt {
	struct grove_session *s;
	struct grove__batch *b;
	size_t nr;                       /* inputs */
	int64_t patience_ns;             /* when to stop waiting for a lock */
	bool looked;                     /* the log was read again for a referenced entry */
	unsigned idle;                   /* refreshes in a row that found nothing new */
	struct grove_detail *d;
};

/* True if the caller requires a certain number of lines or a revision. */
static bool is_exact(const struct grove_append_options *opt)
{
	return opt && opt->flags & (GROVE_APPEND_IF_SEQ | GROVE_APPEND_IF_REV);
}

static uint64_t seq_of(const struct grove__image *im)
{
	return im->lines + im->torn;
}

/* Compares the log with the required number of lines or revision. */
static int check_exact(struct grove_session *s, const struct grove_append_options *opt,
		       struct grove_detail *d)
{
	int rc;

	if (!is_exact(opt))
		return 0;
	rc = grove__session_refresh(s, d);
	if (rc < 0)
		return rc;
	if (opt->flags & GROVE_APPEND_IF_SEQ && seq_of(s->image) != opt->seq)
		return grove__fail(d, GROVE_ECONFLICT, s->at.path, "the session has %llu lines, not %llu",
				   (unsigned long long)seq_of(s->image), (unsigned long long)opt->seq);
	if (opt->flags & GROVE_APPEND_IF_REV && grove__image_rev(s->image) != opt->rev)
		return grove__fail(d, GROVE_ECONFLICT, s->at.path, "the session is at revision %llu, not %llu",
				   (unsigned long long)grove__image_rev(s->image),
				   (unsigned long long)opt->rev);
	return 0;
}

/*
 * True if the caller wants a conflict when others have written. Not if there is nothing
 * to write.
 */
static bool wants_to_know(const struct attempt *t)
{
	bool writes = t->b->fresh || t->b->nr < t->nr;

	return writes && (is_exact(t->b->opt) || t->s->flags & GROVE_OPEN_STRICT);
}

/* True if an entry that an input refers to may have just been appended. Answers yes once. */
static bool may_have_come(struct attempt *t, int rc)
{
	bool unknown = (rc == GROVE_ENOTFOUND || rc == GROVE_EINVAL) && !t->looked;

	t->looked |= unknown;
	return unknown;
}

/* True if the error is final, whatever others have done meanwhile. */
static bool is_final(const struct attempt *t, int rc)
{
	/* nobody else writes to lines that wait in memory */
	if (t->s->deferral.store || (rc != GROVE_ECONFLICT && rc != GROVE_ESTALE))
		return true;
	if (rc == GROVE_ESTALE)
		return false;
	/* it has waited for a lock that is not released: once is enough */
	if (grove__sys_ticks_ns() >= t->patience_ns)
		return true;
	/* it was not the store that refused: another entry has that id */
	if (t->b->nr < t->nr)
		return true;
	/* a moved leaf is simply followed */
	return wants_to_know(t) && !grove__kept_moved(t->s);
}

/* Reads what others have written. Returns 0 if the append may be tried again. */
static int catch_up(struct attempt *t, int refused)
{
	struct grove_session *s = t->s;
	uint64_t tail = s->image->tail, base = s->image->base;
	int rc = grove__session_refresh(s, t->d);

	if (rc < 0)
		return rc;
	/*
	 * nothing new, twice: the conflict was not a concurrent append, so somebody
	 * else holds the lease
	 */
	t->idle = rc || s->image->tail != tail || s->image->base != base ? 0 : t->idle + 1;
	if (t->idle == 2)
		return GROVE_ECONFLICT;
	/* lines may have been appended since the store refused */
	if (rc && wants_to_know(t) && s->flags & GROVE_OPEN_STRICT &&
	    (refused == GROVE_ESTALE || s->image->tail != tail))
		return grove__fail(t->d, GROVE_ECONFLICT, s->at.path, "was changed by another writer");
	return check_exact(s, t->b->opt, t->d);
}

/* True if a changed value, such as the leaf, makes the append a conflict. */
static bool counts_values(const struct grove__batch *b)
{
	/* a caller that names the parent does not depend on the leaf */
	return grove__kept_has_values(b->s) &&
	       (!b->opt || !b->opt->parent || b->opt->flags & GROVE_APPEND_IF_REV);
}

static int try_until_final(struct attempt *t, const struct grove_slice *json)
{
	struct grove_session *s = t->s;
	struct grove__batch *b = t->b;

	for (int tries = 0; tries < TRIES; tries++) {
		int rc;

		b->base = counts_values(b) ? s->image->base : GROVE_ANY_BASE;
		rc = grove__append_compose(b, json, t->nr);
		if (rc == GROVE__UNWRITTEN) {
			rc = grove__submit_drain(s, t->d);
			rc = rc ? rc : grove__session_load(s, t->d);
			if (rc)
				return rc;
			continue;
		}
		if (may_have_come(t, rc)) {
			int more = grove__session_refresh(s, t->d);

			if (more > 0)
				continue;
			return more < 0 ? more : rc;
		}
		if (!rc)
			rc = store_batch(b);
		if (is_final(t, rc))
			return rc;
		rc = catch_up(t, rc);
		if (rc)
			return rc;
	}
	return grove__fail(t->d, GROVE_ECONFLICT, s->at.path, "other writers keep appending (try again)");
}

int grove__append_all(struct grove_session *s, const struct grove_slice *json, size_t nr,
		      const struct grove_append_options *opt, struct grove_append_result *out,
		      struct grove_detail *d)
{
	struct attempt t = { .s = s, .nr = nr, .d = d };
	bool full;
	int rc = grove__session_writable(s, d);

	if (!rc)
		rc = grove__session_load(s, d);
	if (!rc)
		rc = check_exact(s, opt, d);
	if (rc)
		return rc;
	t.b = grove__append_batch_get(s, nr, opt, d);
	if (!t.b)
		return GROVE_ENOMEM;
	t.b->later = opt && opt->flags & GROVE__APPEND_LATER;
	t.b->gives = out && opt && opt->flags & GROVE_APPEND_LINES ? &out->lines : NULL;
	t.patience_ns = grove__sys_ticks_ns() + (int64_t)grove__sys_lock_ms * 1000000;
	rc = try_until_final(&t, json);
	if (!rc) {
		if (t.b->labels || (s->labels && grove__labels_wait(s->labels))) {
			grove__labels_unref(s->labels);
			s->labels = NULL;
		}
		settle_leaf(t.b);
		rc = fill_result(t.b, out);
	} else if (out) {
		out->failed = t.b->nr < nr ? t.b->nr : nr;
	}
	full = t.b->later && rc == GROVE_EFULL;
	grove__append_batch_put(t.b);
	/* a queue that is full is no failed write */
	return full ? rc : grove__session_latch(s, rc, d);
}

/* ---------------------------------------------------------------- the way in */

/* Fills in the state of the log after an append, and the entries of others that were found. */
static void give_state(const struct grove_session *s, const struct grove__image *before, uint32_t rows,
		       bool same, struct grove_append_result *out)
{
	const struct grove__image *im = s->image;

	out->seq = seq_of(im);
	out->rev = grove__image_rev(im);
	out->generation = im->generation;
	out->others = s->writing.new_image || (im != before && !same) ? GROVE_NO_ENTRY : out->first - rows;
}

int grove__append_locked(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, struct grove_append_result *out,
			 struct grove_detail *d)
{
	const struct grove__image *before;
	bool held = s->deferral.store, joined = false;
	uint32_t rows;
	int rc = grove__session_writable(s, d);

	if (!rc)
		rc = opt && opt->flags & GROVE__APPEND_LATER ? grove__submit_settle(s, d)
							     : grove__submit_drain(s, d);
	if (!rc)
		rc = grove__session_load(s, d);
	if (rc)
		return rc;
	before = s->image;
	rows = before->spine->nr;
	rc = grove__append_split(s, json, nr, opt, out, d);
	/* another process created the same new session first */
	if (rc == GROVE_EEXIST && s->deferral.store && s->deferral.may_join) {
		joined = true;
		rc = grove__session_join(s, d);
		rc = rc ? rc : grove__append_split(s, json, nr, opt, out, d);
	}
	/* entries that waited in memory keep their numbers when they are stored */
	if (!rc && out)
		give_state(s, before, rows, held && !joined, out);
	s->writing.new_image &= rc != 0;
	return rc;
}

int grove__append_spec(struct grove_session *s, const struct grove__entry_spec *spec,
		       const struct grove_append_options *opt, struct grove_append_result *out,
		       struct grove_detail *d)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_slice slice;
	int rc = grove__session_load(s, d);

	if (!rc)
		rc = grove__dialect_spell(s->at.dialect, spec, &json, d);
	slice = grove__buf_slice(&json);
	if (!rc)
		rc = grove__append_locked(s, &slice, 1, opt, out, d);
	grove__buf_release(&json);
	return rc;
}

int grove__session_submit(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d)
{
	struct grove_append_options later = *opt;
	int rc;

	if (is_exact(opt))
		return grove__fail(d, GROVE_EINVAL, s->at.path,
				   "what is written later cannot depend on the state of the log now");
	rc = grove__session_enter_at_once(s, d);
	if (rc)
		return rc;
	/* what is there decides about what is written: it has to be read */
	if (!grove__model_is_free(s->at.dialect))
		rc = grove__submit_drain(s, d);
	else
		later.flags |= GROVE__APPEND_LATER;
	if (!rc)
		rc = grove__append_locked(s, json, nr, &later, out, d);
	grove__session_unlock(s);
	return rc;
}

int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d)
{
	int rc;

	/*
	 * a callback of this session must not wait for others, which may be waiting for
	 * its caller
	 */
	if (opt && opt->sync == GROVE_SYNC_ALWAYS && !grove__session_inside(s))
		return grove__append_grouped(s, json, nr, opt, out, d);
	rc = grove__session_enter(s, d);
	if (rc)
		return rc;
	rc = grove__append_locked(s, json, nr, opt, out, d);
	grove__session_unlock(s);
	return rc;
}
