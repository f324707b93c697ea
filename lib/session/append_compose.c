/*
 * session/append_compose.c: from inputs to lines.
 *
 * An input is JSON as a host gives it. Missing members are filled in: the id, the
 * parent (the leaf, or the previous entry of the batch), the time, and what the dialect
 * adds. Everything an input refers to is looked up among the rows of the image and
 * among the earlier entries of the batch.
 *
 * Nothing here changes the session: a batch may be composed again and again until the
 * store accepts it (append.c).
 */
#include "session/about.h"
#include "session/append.h"
#include "session/append_compose.h"
#include "session/blobs.h"
#include "session/leaf.h"

#include "js/js.h"
#include "json/value.h"
#include "sys/clock.h"

#include <stdlib.h>

#define KEEP ((size_t)1 << 20)

void grove__append_batch_free(struct grove__batch *b)
{
	if (!b)
		return;
	grove__buf_release(&b->lines);
	grove__buf_release(&b->names);
	grove__buf_release(&b->input);
	grove__buf_release(&b->prepared);
	grove__buf_release(&b->parent_buf);
	free(b->item);
	free(b->rec);
	free(b);
}

struct grove__batch *grove__append_batch_get(struct grove_session *s, size_t nr,
					     const struct grove_append_options *opt,
					     struct grove_detail *d)
{
	struct grove__batch *b = s->writing.batch;

	if (!b) {
		b = s->writing.batch = calloc(1, sizeof(*b));
		if (!b)
			goto nomem;
		b->s = s;
		b->random_at = sizeof(b->random);
	}
	if (nr > b->cap) {
		struct grove__append_item *item = realloc(b->item, nr * sizeof(*item));
		struct grove_store_record *rec;

		if (!item)
			goto nomem;
		b->item = item;
		rec = realloc(b->rec, (nr + 1) * sizeof(*rec));
		if (!rec)
			goto nomem;
		b->rec = rec;
		b->cap = nr;
	}
	b->opt = opt;
	b->d = d;
	return b;
nomem:
	grove__fail_nomem(d);
	return NULL;
}

void grove__append_batch_put(struct grove__batch *b)
{
	if (b->lines.cap > KEEP)
		grove__buf_release(&b->lines);
	if (b->input.cap > KEEP)
		grove__buf_release(&b->input);
	if (b->prepared.cap > KEEP)
		grove__buf_release(&b->prepared);
}

static int set_parent(struct grove__batch *b, struct grove_slice id)
{
	grove__buf_clear(&b->parent_buf);
	if (!id.ptr) {
		b->parent = id;
		return 0;
	}
	if (grove__buf_add_slice(&b->parent_buf, id))
		return grove__fail_nomem(b->d);
	b->parent = grove__buf_slice(&b->parent_buf);
	return 0;
}

static int cannot_branch(const struct grove__batch *b)
{
	return grove__fail(b->d, GROVE_ENOTSUP, b->s->at.path,
			   "entries of a %s session have no ids, and follow one another: the next one goes below the last",
			   b->s->at.dialect->name);
}

/* Finds the parent of the first entry: the one the caller names, or the leaf. */
static int first_parent(struct grove__batch *b)
{
	struct grove_session *s = b->s;
	const struct grove__spine *sp = s->image->spine;
	uint32_t row;
	int rc = b->opt && b->opt->parent ? grove__session_row(s, b->opt->parent, &row, b->d)
					  : grove__session_find_leaf(s, &row, b->d);

	if (rc)
		return rc;
	if (!grove__model_may_follow(s->image, row))
		return cannot_branch(b);
	/* an entry without an id cannot be named, so use its nearest ancestor that has one */
	row = grove__tree_named(sp, row);
	b->first_row = row;
	b->first_parent = row == GROVE_NO_ENTRY ? grove__slice(NULL, 0)
					    : grove__spine_name(grove__spine_id(sp, row));
	return set_parent(b, b->first_parent);
}

static bool known_id(const struct grove__batch *b, struct grove_slice id)
{
	for (size_t i = 0; i < b->nr; i++)
		if (grove__slice_eq(grove__append_id(b, i), id))
			return true;
	return grove__idmap_get(&b->s->image->spine->ids, id) != GROVE__IDMAP_NONE;
}

/* Adds an id to the batch's names and assigns it to entry `i`. */
static int keep_id(struct grove__batch *b, size_t i, struct grove_slice id)
{
	b->item[i].id_off = b->names.len;
	b->item[i].id_len = id.len;
	return grove__buf_add_slice(&b->names, id) ? grove__fail_nomem(b->d) : 0;
}

static int make_id(struct grove__batch *b, size_t i)
{
	char text[40];
	struct grove_slice id = { text, grove__model_next_id(b->s->image, b->fresh, text) };

	if (id.len)
		return keep_id(b, i, id);
	for (unsigned tries = 0;; tries++) {
		/* one system call provides sixteen ids */
		if (b->random_at + 16 > sizeof(b->random)) {
			grove__sys_random(b->random, sizeof(b->random));
			b->random_at = 0;
		}
		id.len = b->s->at.dialect->names.entry_id(b->random + b->random_at, tries >= 100, text);
		b->random_at += 16;
		if (!known_id(b, id))
			return keep_id(b, i, id);
	}
}

/* Returns the entry of the batch with that id, counted from 1, or 0 if there is none. */
static size_t in_batch(const struct grove__batch *b, struct grove_slice id)
{
	for (size_t i = b->nr; i-- > 0;)
		if (b->item[i].retry == GROVE_NO_ENTRY && grove__slice_eq(grove__append_id(b, i), id))
			return i + 1;
	return 0;
}

/* Records the parent of entry `i`: another entry of the batch, or a row. */
static void hang(struct grove__batch *b, size_t i, const struct grove__input *in,
		 struct grove_slice parent)
{
	const struct grove__spine *sp = b->s->image->spine;
	struct grove__append_item *it = &b->item[i];

	it->up = i;
	it->row = b->first_row;
	if (in->parent.ptr) {
		it->up = parent.ptr ? in_batch(b, parent) : 0;
		it->row = parent.ptr ? grove__spine_find(sp, GROVE_NO_ENTRY, parent) : GROVE_NO_ENTRY;
	} else if (i && b->item[i - 1].retry != GROVE_NO_ENTRY) {
		it->up = 0;
		it->row = b->item[i - 1].retry;
	}
}

/*
 * Finds the system message that a compaction stores: that of the path to `row`, and of
 * the entries of the batch from there down to `up`.
 */
static int system_of(struct grove__batch *b, const struct grove__input *in, size_t up, uint32_t row,
		     int64_t time, struct grove_buf *out)
{
	struct grove__fresh *fresh = NULL;
	size_t nr = 0;
	int rc;

	if (!b->s->at.dialect->context.system || b->s->at.dialect->write.kind(in) != GROVE_KIND_COMPACTION)
		return 0;
	if (grove__submit_count(b->s))
		return GROVE__UNWRITTEN;
	for (size_t i = up; i; i = b->item[i - 1].up)
		nr++;
	if (nr) {
		fresh = calloc(nr, sizeof(*fresh));
		if (!fresh)
			return grove__fail_nomem(b->d);
	}
	for (size_t i = up, n = nr; i; i = b->item[i - 1].up) {
		const struct grove__append_item *it = &b->item[i - 1];
		size_t end = i < b->nr ? b->item[i].off : b->lines.len;

		fresh[--n] = (struct grove__fresh){
			.line = { b->lines.ptr + it->off, end - it->off },
			.kind = it->e.kind,
			.role = it->e.role,
		};
		row = it->row;
	}
	rc = grove__session_system(b->s, row, fresh, nr, time, out, b->d);
	free(fresh);
	return rc;
}

/*
 * Turns the line at the end of `lines`, from `off` on, into what is stored. Lines that
 * wait in memory are prepared when they are written.
 */
static int prepare(struct grove__batch *b, struct grove_buf *lines, size_t off)
{
	struct grove_slice line = { lines->ptr + off, lines->len - off };
	int rc;

	if (b->s->deferral.store)
		return 0;
	grove__buf_clear(&b->prepared);
	rc = grove__session_prepare(b->s, line, &b->prepared, b->d);
	if (rc)
		return rc < 0 ? rc : 0;
	grove__buf_cut(lines, off);
	return grove__buf_add_slice(lines, grove__buf_slice(&b->prepared)) ? grove__fail_nomem(b->d) : 0;
}

/*
 * The id of an input is already in the log. The same entry is a retry, which succeeds;
 * a different one is a conflict.
 */
static int check_retry(struct grove__batch *b, size_t i, const struct grove__input *in,
		       struct grove__place at)
{
	struct grove__image *im = b->s->image;
	uint32_t row = grove__spine_find(im->spine, im->spine->nr, at.id), up;
	struct grove_buf stored = GROVE_BUF_INIT, mine = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove_buf system = GROVE_BUF_INIT;
	struct grove_slice value;
	uint32_t above;
	int rc;

	if (row == GROVE_NO_ENTRY)
		return 0;
	if (grove__submit_count(b->s))
		return GROVE__UNWRITTEN;
	/* unless the caller names a parent, it stays where it is */
	up = grove__spine_parent(im->spine, row);
	if (!in->parent.ptr && (i || !b->opt || !b->opt->parent))
		at.parent = up == GROVE_NO_ENTRY ? grove__slice(NULL, 0)
					     : grove__spine_name(grove__spine_id(im->spine, up));
	if (!in->time.ptr && grove__spine_time(im->spine, row) != GROVE_NO_TIME)
		at.time = grove__spine_time(im->spine, row);
	rc = grove__image_line(im, b->s->log, row, &stored, &value, b->d);
	above = at.parent.ptr ? grove__spine_find(im->spine, GROVE_NO_ENTRY, at.parent) : GROVE_NO_ENTRY;
	if (!rc)
		rc = system_of(b, in, 0, above, at.time, &system);
	if (!rc)
		rc = b->s->at.dialect->write.compose(in, &at, grove__buf_slice(&system), &mine, &target, b->d);
	if (!rc)
		rc = prepare(b, &mine, 0);
	if (!rc && grove__slice_eq(value, grove__buf_slice(&mine)))
		b->item[i].retry = row;
	else if (!rc)
		rc = grove__fail(b->d, GROVE_ECONFLICT, b->s->at.path,
				 "there is already another entry %.60s", grove__spine_id(im->spine, row));
	grove__buf_release(&stored);
	grove__buf_release(&mine);
	grove__buf_release(&target);
	grove__buf_release(&system);
	return rc;
}

/* The target of a label or an edit must exist, and be of a suitable kind. */
static int check_target(struct grove__batch *b, size_t i, struct grove_slice target,
			enum grove_kind kind)
{
	const struct grove__spine *sp = b->s->image->spine;
	const struct grove__append_item *it = &b->item[i];
	int len = (int)(target.len < 100 ? target.len : 100);
	uint32_t row, r = it->row;
	const struct grove_slice none = { NULL, 0 };
	size_t own;
	int fits;

	if (!target.len)
		return 0;
	own = in_batch(b, target);
	row = grove__spine_find(sp, GROVE_NO_ENTRY, target);
	if (row == GROVE_NO_ENTRY && !own)
		return grove__fail(b->d, GROVE_ENOTFOUND, b->s->at.path, "Entry %.*s not found", len,
				   target.ptr);
	if (kind != GROVE_KIND_CONTEXT_EDIT)
		return 0;
	if (own)
		fits = b->s->at.dialect->context.edits->fit(none, b->item[own - 1].e.kind, b->item[own - 1].e.role, NULL);
	else
		fits = b->s->at.dialect->context.edits->fit(none, grove__spine_kind(sp, row), grove__spine_role(sp, row), NULL);
	if (fits == GROVE_EINVAL)
		return grove__fail(b->d, GROVE_EINVAL, b->s->at.path,
				   "Entry %.*s does not contribute editable model content", len,
				   target.ptr);
	for (size_t up = it->up; up; up = b->item[up - 1].up) {
		if (up == own)
			return 0;
		r = b->item[up - 1].row;
	}
	while (r != GROVE_NO_ENTRY && r != row)
		r = grove__spine_parent(sp, r);
	if (r == GROVE_NO_ENTRY || own)
		return grove__fail(b->d, GROVE_EINVAL, b->s->at.path,
				   "Entry %.*s is not on the active branch", len, target.ptr);
	return 0;
}

/* An edit is stored in the form that suits its target's role. */
static int fit_edit(struct grove__batch *b, struct grove__input *in, struct grove_buf *store)
{
	const struct grove__spine *sp = b->s->image->spine;
	struct grove_buf target = GROVE_BUF_INIT;
	struct grove_slice content;
	enum grove_role role = GROVE_ROLE_NONE;
	enum grove_kind kind = GROVE_KIND_OTHER;
	uint32_t row;
	size_t own;
	int rc = b->s->at.dialect->context.edits->read(in->json, &target, &content);

	if (!rc && target.len) {
		own = in_batch(b, grove__buf_slice(&target));
		row = own ? GROVE_NO_ENTRY : grove__spine_find(sp, GROVE_NO_ENTRY, grove__buf_slice(&target));
		if (own) {
			kind = b->item[own - 1].e.kind;
			role = b->item[own - 1].e.role;
		} else if (row != GROVE_NO_ENTRY) {
			kind = grove__spine_kind(sp, row);
			role = grove__spine_role(sp, row);
		}
	}
	if (!rc)
		rc = b->s->at.dialect->context.edits->fit(in->json, kind, role, store);
	grove__buf_release(&target);
	if (!rc)
		return grove__image_input(b->s->image, store, in, b->d);
	/* check_target() says what is wrong with the target */
	return rc < 0 && rc != GROVE_EINVAL ? grove__fail_nomem(b->d) : 0;
}

/* Finds the parent that the input itself names. */
static int input_parent(struct grove__batch *b, struct grove_slice raw, struct grove__place *at,
			struct grove_buf *store)
{
	struct grove_slice id;

	if (grove__json_type_of(raw) == JSON_NULL) {
		at->parent = grove__slice(NULL, 0);
		return 0;
	}
	if (grove__json_type_of(raw) != JSON_STRING)
		return grove__fail(b->d, GROVE_EINVAL, NULL, "a parent must be the id of an entry, or null");
	if (grove__json_text(store, raw))
		return grove__fail_nomem(b->d);
	id = grove__buf_slice(store);
	if (!known_id(b, id))
		return grove__fail(b->d, GROVE_ENOTFOUND, b->s->at.path, "Entry %.100s not found",
				   id.ptr);
	at->parent = id;
	return 0;
}

static int input_id(struct grove__batch *b, size_t i, struct grove_slice raw)
{
	struct grove_buf text = GROVE_BUF_INIT;
	int rc;

	if (grove__json_type_of(raw) != JSON_STRING || raw.len <= 2 || raw.len > 1024)
		return grove__fail(b->d, GROVE_EINVAL, NULL, "an id must be a string of 1 to 1022 bytes");
	if (grove__json_text(&text, raw))
		rc = grove__fail_nomem(b->d);
	else if (memchr(text.ptr, 0, text.len))
		rc = grove__fail(b->d, GROVE_EINVAL, NULL, "an id cannot contain a NUL character");
	else
		rc = keep_id(b, i, grove__buf_slice(&text));
	grove__buf_release(&text);
	return rc;
}

static int input_time(struct grove__batch *b, struct grove_slice raw, struct grove__place *at)
{
	struct grove_buf text = GROVE_BUF_INIT;
	int rc = grove__json_type_of(raw) == JSON_STRING ? grove__json_text(&text, raw) : 0;

	if (!rc)
		at->time = grove__js_date_parse(grove__buf_slice(&text));
	grove__buf_release(&text);
	if (rc)
		return grove__fail_nomem(b->d);
	return at->time == GROVE_NO_TIME
		       ? grove__fail(b->d, GROVE_EINVAL, NULL, "a timestamp must be a string with an ISO 8601 date")
		       : 0;
}

/* Puts a tool's result below its call, of which there may be several at once. */
static int below_call(struct grove__batch *b, const struct grove__input *in, struct grove__place *at)
{
	struct grove_slice id;
	int rc = grove__model_call(b->s->image, in->json, &id);

	if (!rc)
		at->parent = id;
	return rc < 0 ? grove__fail_nomem(b->d) : 0;
}

/* Finds the place of an entry: the parent that the caller names, or the current position. */
static int find_place(struct grove__batch *b, size_t i, const struct grove__input *in,
		      struct grove__place *at, struct grove_buf *parent)
{
	int rc = 0;

	at->about = &b->about;
	at->parent = b->parent;
	at->time = grove__sys_now_ms();
	at->stamp = grove__slice(NULL, 0);
	b->item[i].retry = GROVE_NO_ENTRY;
	/* metadata outside the tree has no id and no children */
	if (b->s->at.dialect->write.kind(in) == GROVE_KIND_META) {
		at->id = at->parent = grove__slice(NULL, 0);
		return in->time.ptr ? input_time(b, in->time, at) : 0;
	}
	if (in->parent.ptr)
		rc = input_parent(b, in->parent, at, parent);
	else if (!(b->opt && b->opt->parent))
		rc = below_call(b, in, at);
	/* a list has one place for the next entry, and its id */
	if (!rc && grove__dialect_linear(b->s->at.dialect) &&
	    (in->id.ptr || !grove__slice_eq(at->parent, b->parent)))
		rc = cannot_branch(b);
	if (!rc && in->time.ptr)
		rc = input_time(b, in->time, at);
	if (!rc)
		rc = in->id.ptr ? input_id(b, i, in->id) : make_id(b, i);
	if (rc)
		return rc;
	at->id = grove__append_id(b, i);
	return in->id.ptr ? check_retry(b, i, in, *at) : 0;
}

/* A plain message is known from the input; for other entries the finished line is scanned. */
static int judge(struct grove__batch *b, size_t i, const struct grove__input *in,
		 enum grove_kind kind)
{
	const struct grove__dialect *dialect = b->s->at.dialect;
	struct grove__append_item *it = &b->item[i];
	enum grove_role role = GROVE_ROLE_NONE;

	it->plain = grove__model_is_path(dialect) && dialect->write.bare && dialect->write.bare(in, &role);
	if (!it->plain) {
		struct grove__json_line l;
		struct grove__arena tmp;
		bool missed;
		int verdict;

		if (grove__buf_reserve(&b->lines, GROVE__JSON_PAD))
			return grove__fail_nomem(b->d);
		verdict = grove__json_scan(&b->s->image->want, b->lines.ptr + it->off,
					   b->lines.len - it->off, true, &l);
		grove__arena_init(&tmp);
		if (verdict == JSON_VALUE)
			dialect->read.index(&l, b->lines.ptr + it->off, &tmp, &it->e);
		role = it->e.role;
		missed = tmp.failed;
		grove__arena_release(&tmp);
		if (verdict == JSON_NOMEM || missed)
			return grove__fail_nomem(b->d);
	}
	it->e.kind = (uint8_t)kind;
	it->e.role = (uint8_t)role;
	b->labels |= kind == GROVE_KIND_LABEL;
	b->starts_file |= dialect->write.starts_file(kind, role);
	return 0;
}

static int compose_one(struct grove__batch *b, size_t i, struct grove__input *in)
{
	const struct grove__dialect *dialect = b->s->at.dialect;
	struct grove_buf fitted = GROVE_BUF_INIT, system = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove_buf parent = GROVE_BUF_INIT;
	enum grove_kind kind = dialect->write.kind(in);
	struct grove__place at;
	struct grove__append_item *it = &b->item[i];
	bool retry;
	int rc = 0;

	memset(it, 0, sizeof(*it));
	it->off = b->lines.len;
	if (kind == GROVE_KIND_CONTEXT_EDIT)
		rc = fit_edit(b, in, &fitted);
	if (!rc)
		rc = find_place(b, i, in, &at, &parent);
	retry = !rc && it->retry != GROVE_NO_ENTRY;
	if (!rc && !retry) {
		hang(b, i, in, at.parent);
		rc = system_of(b, in, it->up, it->row, at.time, &system);
	}
	if (!rc && !retry)
		rc = dialect->write.compose(in, &at, grove__buf_slice(&system), &b->lines, &target, b->d);
	if (!rc && !retry)
		rc = check_target(b, i, grove__buf_slice(&target), kind);
	if (!rc && !retry)
		rc = prepare(b, &b->lines, it->off);
	if (!rc && !retry) {
		it->parent_off = b->names.len;
		it->parent_len = at.parent.len;
		rc = grove__buf_add_slice(&b->names, at.parent) ? grove__fail_nomem(b->d) : 0;
	}
	if (!rc && !retry)
		rc = judge(b, i, in, kind);
	if (!rc && !retry) {
		it->e.time = at.time;
		it->e.has_id = at.id.len > 0;
		it->e.parent_is = at.parent.ptr ? PARENT_NAMED : PARENT_NULL;
		b->fresh++;
	}
	if (!rc) {
		b->nr = i + 1;
		if (it->id_len)
			rc = set_parent(b, grove__append_id(b, i));
	}
	grove__buf_release(&fitted);
	grove__buf_release(&system);
	grove__buf_release(&target);
	grove__buf_release(&parent);
	return rc;
}

int grove__append_compose(struct grove__batch *b, const struct grove_slice *json, size_t nr)
{
	struct grove__input in;
	int rc = grove__model_is_path(b->s->at.dialect) ? 0 : grove__session_about(b->s, &b->about, b->d);

	if (!rc)
		rc = first_parent(b);
	b->nr = b->fresh = 0;
	b->starts_file = b->labels = false;
	grove__buf_clear(&b->lines);
	grove__buf_clear(&b->names);
	for (size_t i = 0; i < nr && !rc; i++) {
		/* the scanner needs padding after the bytes, which the caller's may not have */
		grove__buf_clear(&b->input);
		if (grove__buf_add_slice(&b->input, json[i]))
			return grove__fail_nomem(b->d);
		rc = grove__image_input(b->s->image, &b->input, &in, b->d);
		if (!rc)
			rc = compose_one(b, i, &in);
	}
	if (!rc && grove__buf_reserve(&b->lines, GROVE__JSON_PAD))
		rc = grove__fail_nomem(b->d);
	return rc;
}
