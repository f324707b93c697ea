/*
 * session/append.c: new entries.
 *
 * An entry names its parent, so its bytes depend on where the leaf is; and the
 * leaf may move while we think, because others write too. So: compose against
 * what we know, let the store append only if that is still the truth, else
 * look again and compose anew. Nothing changes in memory before the store has
 * said yes.
 */
#include "session/session.h"

#include "json/value.h"
#include "js/js.h"
#include "sys/clock.h"

#include <stdlib.h>

#define TRIES 1000

/* A batch on its way to the log. */
struct batch {
	struct grove_session *s;
	const struct grove_append_options *opt;
	struct grove_buf lines;          /* one behind the other */
	struct grove_record *rec;
	size_t *off;                     /* where each line begins in `lines` */
	char (*ids)[40];                 /* those that we made; "" where given or retried */
	struct grove_buf given;          /* ids that came with the input, one behind the other */
	uint32_t *retry;                 /* the row that is this entry already, or GROVE_NONE */
	size_t nr, fresh;
	struct grove_slice parent;       /* of the next entry; ptr NULL: none */
	struct grove_buf parent_buf;
	bool starts_file, labels;
	struct grove_detail *d;
};

static void batch_release(struct batch *b)
{
	grove__buf_release(&b->lines);
	grove__buf_release(&b->given);
	grove__buf_release(&b->parent_buf);
	free(b->rec);
	free(b->off);
	free(b->ids);
	free(b->retry);
}

static int batch_init(struct batch *b, struct grove_session *s, size_t nr,
		      const struct grove_append_options *opt, struct grove_detail *d)
{
	memset(b, 0, sizeof(*b));
	b->s = s;
	b->opt = opt;
	b->d = d;
	b->rec = calloc(nr ? nr : 1, sizeof(*b->rec));
	b->off = calloc(nr ? nr : 1, sizeof(*b->off));
	b->ids = calloc(nr ? nr : 1, sizeof(*b->ids));
	b->retry = calloc(nr ? nr : 1, sizeof(*b->retry));
	if (b->rec && b->off && b->ids && b->retry)
		return 0;
	batch_release(b);
	return grove__fail_nomem(d);
}

static int set_parent(struct batch *b, struct grove_slice id)
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

/* Where the batch begins: what the caller says, or the leaf. */
static int first_parent(struct batch *b)
{
	struct grove_session *s = b->s;
	const struct grove__spine *sp = s->image->spine;
	uint32_t row;

	if (b->opt && b->opt->parent) {
		int rc = grove__session_row(s, b->opt->parent, &row, b->d);

		if (rc)
			return rc;
	} else {
		row = grove__session_leaf_row(s);
	}
	/* an entry without an id cannot be named: its nearest ancestor that can is */
	row = grove__tree_named(sp, row);
	return set_parent(b, row == GROVE_NONE ? grove__slice(NULL, 0)
					       : grove__spine_name(grove__spine_id(sp, row)));
}

static bool known_id(const struct batch *b, struct grove_slice id)
{
	for (size_t i = 0; i < b->nr; i++)
		if (grove__slice_eq(b->rec[i].id, id))
			return true;
	return grove__idmap_get(&b->s->image->spine->ids, id) != GROVE__IDMAP_NONE;
}

static struct grove_slice make_id(struct batch *b, size_t i)
{
	const struct grove__dialect *dialect = b->s->at.dialect;
	struct grove_slice id;
	uint8_t random[16];

	for (unsigned tries = 0;; tries++) {
		grove__sys_random(random, sizeof(random));
		id.ptr = b->ids[i];
		id.len = dialect->entry_id(random, tries >= 100, b->ids[i]);
		if (!known_id(b, id))
			return id;
	}
}

/*
 * An id that came with the input and is there already: the same entry is a
 * retry that succeeds, another one is a conflict.
 */
static int check_retry(struct batch *b, size_t i, struct grove_slice input, struct grove__place at,
		       bool parent_given, bool time_given)
{
	struct grove__image *im = b->s->image;
	uint32_t row = grove__spine_find(im->spine, im->spine->nr, at.id), up;
	struct grove_buf stored = GROVE_BUF_INIT, mine = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc;

	b->retry[i] = GROVE_NONE;
	if (row == GROVE_NONE)
		return 0;
	up = grove__spine_parent(im->spine, row);
	if (!parent_given)
		at.parent = up == GROVE_NONE ? grove__slice(NULL, 0)
					     : grove__spine_name(grove__spine_id(im->spine, up));
	if (!time_given && grove__spine_time(im->spine, row) != GROVE_NO_TIME)
		at.time = grove__spine_time(im->spine, row);
	rc = grove__image_line(im, b->s->log, row, &stored, &value, b->d);
	if (!rc)
		rc = b->s->at.dialect->compose(input, &at, grove__slice(NULL, 0), &mine, &target, b->d);
	if (!rc && grove__slice_eq(value, grove__buf_slice(&mine)))
		b->retry[i] = row;
	else if (!rc)
		rc = grove__fail(b->d, GROVE_ECONFLICT, b->s->at.path,
				 "there is another entry %.*s already", (int)(at.id.len < 60 ? at.id.len : 60),
				 at.id.ptr);
	grove__buf_release(&stored);
	grove__buf_release(&mine);
	grove__buf_release(&target);
	return rc;
}

/* The entry that a label or an edit is about must be there, and fit. */
static int check_target(struct batch *b, struct grove_slice target, enum grove_kind kind)
{
	const struct grove__spine *sp = b->s->image->spine;
	uint32_t row, r;

	if (!target.len)
		return 0;
	row = grove__spine_find(sp, sp->nr, target);
	if (row == GROVE_NONE && !known_id(b, target))
		return grove__fail(b->d, GROVE_ENOTFOUND, b->s->at.path, "Entry %.*s not found",
				   (int)(target.len < 100 ? target.len : 100), target.ptr);
	if (kind != GROVE_KIND_CONTEXT_EDIT || row == GROVE_NONE)
		return 0;
	if (!b->s->at.dialect->editable(grove__spine_kind(sp, row), grove__spine_role(sp, row)))
		return grove__fail(b->d, GROVE_EINVAL, b->s->at.path,
				   "Entry %.*s does not contribute editable model content",
				   (int)(target.len < 100 ? target.len : 100), target.ptr);
	r = b->parent.ptr ? grove__spine_find(sp, sp->nr, b->parent) : GROVE_NONE;
	while (r != GROVE_NONE && r != row)
		r = grove__spine_parent(sp, r);
	/* below entries of this very batch we cannot look; they hang below the leaf */
	if (r == GROVE_NONE && !b->nr)
		return grove__fail(b->d, GROVE_EINVAL, b->s->at.path,
				   "Entry %.*s is not on the active branch",
				   (int)(target.len < 100 ? target.len : 100), target.ptr);
	return 0;
}

/* An edit is stored in the form that its target's role wants. */
static int fit_edit(struct batch *b, struct grove_slice *input, struct grove_buf *store)
{
	const struct grove__spine *sp = b->s->image->spine;
	struct grove_buf target = GROVE_BUF_INIT;
	struct grove_slice content;
	uint32_t row = GROVE_NONE;
	int rc = b->s->at.dialect->edit(*input, &target, &content);

	if (!rc && target.len)
		row = grove__spine_find(sp, sp->nr, grove__buf_slice(&target));
	if (!rc && row != GROVE_NONE)
		rc = b->s->at.dialect->fit_edit(*input, grove__spine_role(sp, row), store);
	else
		rc = rc ? rc : 1;
	grove__buf_release(&target);
	if (!rc)
		*input = grove__buf_slice(store);
	return rc < 0 ? grove__fail_nomem(b->d) : 0;
}

/* A parent that the input itself names. */
static int input_parent(struct batch *b, struct grove_slice raw, struct grove__place *at,
			struct grove_buf *store)
{
	struct grove_slice id;

	if (grove__json_type_of(raw) == JSON_NULL) {
		at->parent = grove__slice(NULL, 0);
		return 0;
	}
	if (grove__json_type_of(raw) != JSON_STRING)
		return grove__fail(b->d, GROVE_EINVAL, NULL, "parentId must be an entry's id or null");
	if (grove__json_text(store, raw))
		return grove__fail_nomem(b->d);
	id = grove__buf_slice(store);
	if (!known_id(b, id))
		return grove__fail(b->d, GROVE_ENOTFOUND, b->s->at.path, "Entry %.*s not found",
				   (int)(id.len < 100 ? id.len : 100), id.ptr);
	at->parent = id;
	return 0;
}

static int input_id(struct batch *b, struct grove_slice raw, struct grove__place *at)
{
	size_t start = b->given.len;

	if (grove__json_type_of(raw) != JSON_STRING || raw.len <= 2 || raw.len > 1024)
		return grove__fail(b->d, GROVE_EINVAL, NULL, "id must be a string of 1 to 1022 bytes");
	/* reserved beforehand for the whole batch: slices into it stay good */
	if (grove__json_text(&b->given, raw))
		return grove__fail_nomem(b->d);
	at->id = grove__slice(b->given.ptr + start, b->given.len - start);
	return 0;
}

static int compose_one(struct batch *b, size_t i, struct grove_slice input,
		       const struct grove__entry *seen)
{
	const struct grove__dialect *dialect = b->s->at.dialect;
	struct grove__place at = { .parent = b->parent, .time = grove__sys_now_ms() };
	struct grove_buf fitted = GROVE_BUF_INIT, system = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove_buf parent = GROVE_BUF_INIT;
	struct grove_slice id, up, time;
	size_t start = b->lines.len;
	bool retry = false;
	int rc = 0;

	dialect->input_place(input, &id, &up, &time);
	if (up.ptr)
		rc = input_parent(b, up, &at, &parent);
	if (!rc && time.ptr && grove__json_type_of(time) == JSON_STRING) {
		int64_t ms = grove__js_date_parse(grove__slice(time.ptr + 1, time.len - 2));

		if (ms == GROVE_NO_TIME)
			rc = grove__fail(b->d, GROVE_EINVAL, NULL, "timestamp is not a date");
		at.time = ms;
	}
	if (!rc && seen->kind == GROVE_KIND_CONTEXT_EDIT)
		rc = fit_edit(b, &input, &fitted);
	if (!rc && id.ptr) {
		rc = input_id(b, id, &at);
		if (!rc)
			rc = check_retry(b, i, input, at, up.ptr, time.ptr);
		retry = !rc && b->retry[i] != GROVE_NONE;
	} else if (!rc) {
		b->retry[i] = GROVE_NONE;
		at.id = make_id(b, i);
	}
	if (!rc && !retry && seen->kind == GROVE_KIND_COMPACTION) {
		uint32_t row = at.parent.ptr ? grove__spine_find(b->s->image->spine,
								 b->s->image->spine->nr, at.parent)
					     : GROVE_NONE;

		rc = grove__context_system(b->s, row, at.time, &system, b->d);
	}
	if (!rc && !retry)
		rc = dialect->compose(input, &at, grove__buf_slice(&system), &b->lines, &target, b->d);
	if (!rc && !retry)
		rc = check_target(b, grove__buf_slice(&target), seen->kind);
	if (!rc) {
		b->off[i] = start;
		b->rec[i] = (struct grove_record){
			.line = { NULL, b->lines.len - start },
			.id = at.id,
			.time = at.time,
			.kind = seen->kind,
			.role = seen->role,
		};
		b->fresh += !retry;
		b->nr = i + 1;
		rc = set_parent(b, at.id);
	}
	grove__buf_release(&fitted);
	grove__buf_release(&system);
	grove__buf_release(&target);
	grove__buf_release(&parent);
	return rc;
}

/* Is it JSON, and what is it? */
static int look_at(struct batch *b, struct grove_slice json, struct grove_buf *padded,
		   struct grove_slice *value, struct grove__entry *seen, struct grove__arena *tmp)
{
	const struct grove__image *im = b->s->image;
	struct grove__json_line l;

	/* the caller's bytes may end at the end of the world: the scanner wants room behind */
	grove__buf_clear(padded);
	if (grove__buf_reserve(padded, json.len + GROVE__JSON_PAD) ||
	    grove__buf_add_slice(padded, json))
		return grove__fail_nomem(b->d);
	for (size_t i = 0; i < padded->len; i++)
		if (padded->ptr[i] == '\n')
			padded->ptr[i] = ' ';
	switch (grove__json_scan(&im->want, padded->ptr, padded->len, true, &l)) {
	case JSON_VALUE:
		break;
	case JSON_BLANK:
		return grove__fail_at(b->d, GROVE_EJSON, NULL, 0, 0, "nothing where an entry should be");
	default:
		return grove__fail_at(b->d, GROVE_EJSON, NULL, 0, l.error_off, "not valid JSON");
	}
	*value = grove__slice(padded->ptr + l.value.off, (size_t)l.value.len);
	im->dialect->index(&l, padded->ptr, tmp, seen);
	return 0;
}

/* A bare message is of kind message; its role stands at the top. */
static void settle_kind(const struct batch *b, size_t i, struct grove_slice line,
			struct grove_record *rec)
{
	const struct grove__image *im = b->s->image;
	struct grove__json_line l;
	struct grove__arena tmp;
	struct grove__entry e;

	(void)i;
	grove__arena_init(&tmp);
	if (grove__json_scan(&im->want, line.ptr, line.len, true, &l) == JSON_VALUE) {
		im->dialect->index(&l, line.ptr, &tmp, &e);
		rec->kind = e.kind;
		rec->role = e.role;
	}
	grove__arena_release(&tmp);
}

static int compose_all(struct batch *b, const struct grove_slice *json, size_t nr)
{
	struct grove_buf padded = GROVE_BUF_INIT;
	struct grove__arena tmp;
	struct grove__entry seen;
	struct grove_slice value = { NULL, 0 };
	int rc = first_parent(b);

	b->nr = b->fresh = 0;
	b->starts_file = b->labels = false;
	grove__buf_clear(&b->lines);
	grove__buf_clear(&b->given);
	if (!rc && grove__buf_reserve(&b->given, nr * 1024))
		rc = grove__fail_nomem(b->d);
	grove__arena_init(&tmp);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = look_at(b, json[i], &padded, &value, &seen, &tmp);
		if (!rc)
			rc = compose_one(b, i, value, &seen);
		grove__arena_release(&tmp);
	}
	grove__buf_release(&padded);
	if (!rc && grove__buf_reserve(&b->lines, GROVE__JSON_PAD))
		rc = grove__fail_nomem(b->d);
	for (size_t i = 0; i < nr && !rc; i++) {
		b->rec[i].line.ptr = b->lines.ptr + b->off[i];
		if (b->retry[i] != GROVE_NONE)
			continue;
		settle_kind(b, i, b->rec[i].line, &b->rec[i]);
		b->starts_file |= b->s->at.dialect->starts_file(b->rec[i].kind, b->rec[i].role);
		b->labels |= b->rec[i].kind == GROVE_KIND_LABEL;
	}
	return rc;
}

/* What the log now holds is taken into the image, line by line. */
static int take_in(struct batch *b, const struct grove_record *rec, size_t nr,
		   const struct grove_appended *out)
{
	struct grove__image *im = b->s->image;
	uint64_t pos = out->pos;
	int rc = 0;

	if (out->pos != im->tail + (uint64_t)out->pad) {
		/* somebody came in between: read it all as it stands */
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
		}
	}
	im->torn = im->open_tail = false;
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = grove__image_add(im, rec[i].line, pos);
		pos += im->by_line ? 1 : rec[i].line.len + 1;
	}
	im->tail = im->next = out->tail;
	if (rc == GROVE_ESTALE || rc == GROVE_ENOMEM) {
		/* stored, but not understood in place: build the image anew */
		rc = grove__session_retire(b->s);
		if (!rc)
			rc = grove__session_load(b->s, b->d);
	}
	return rc;
}

/* Leave out what is there already. */
static size_t only_fresh(struct batch *b, struct grove_record *out)
{
	size_t n = 0;

	for (size_t i = 0; i < b->nr; i++)
		if (b->retry[i] == GROVE_NONE)
			out[n++] = b->rec[i];
	return n;
}

static int store_batch(struct batch *b)
{
	struct grove_session *s = b->s;
	struct grove_record *fresh;
	struct grove_appended out;
	size_t n;
	int rc;

	if (!b->fresh)
		return 0;
	fresh = calloc(b->fresh, sizeof(*fresh));
	if (!fresh)
		return grove__fail_nomem(b->d);
	n = only_fresh(b, fresh);
	if (s->held && !s->in_memory && b->starts_file) {
		rc = grove__session_ensure(s, fresh, n, GROVE_SYNC_NONE, b->d);
	} else {
		rc = grove__log_append(s->log, fresh, n, s->image->tail, GROVE_SYNC_NONE, &out, b->d);
		if (!rc)
			rc = take_in(b, fresh, n, &out);
	}
	free(fresh);
	if (rc == GROVE_EIO)
		s->broken = true;
	return rc;
}

static int give_ids(struct batch *b, const char **ids)
{
	const struct grove__spine *sp = b->s->image->spine;

	for (size_t i = 0; ids && i < b->nr; i++) {
		uint32_t row = grove__spine_find(sp, sp->nr, b->rec[i].id);

		ids[i] = row == GROVE_NONE ? NULL : grove__spine_id(sp, row);
	}
	return 0;
}

/* The number of lines that there must be. */
static int check_seq(struct grove_session *s, const struct grove_append_options *opt,
		     struct grove_detail *d)
{
	uint64_t seq;
	int rc;

	if (!opt || !opt->expect_seq || opt->expect_seq == GROVE_ANY_SEQ)
		return 0;
	rc = grove__session_refresh(s, d);
	if (rc < 0)
		return rc;
	seq = s->image->lines + s->image->torn;
	if (seq == opt->expect_seq)
		return 0;
	return grove__fail(d, GROVE_ECONFLICT, s->at.path, "the session has %llu lines, not %llu",
			   (unsigned long long)seq, (unsigned long long)opt->expect_seq);
}

int grove__append_locked(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, const char **ids,
			 struct grove_detail *d)
{
	bool exact = opt && opt->expect_seq && opt->expect_seq != GROVE_ANY_SEQ;
	struct batch b;
	int rc;

	if (!(s->flags & GROVE_WRITE))
		return grove__fail(d, GROVE_EACCESS, s->at.path, "opened for reading only");
	if (s->broken)
		return grove__fail(d, GROVE_EIO, s->at.path,
				   "an earlier write failed, the tail is unknown (open the session again)");
	rc = grove__session_load(s, d);
	if (!rc)
		rc = check_seq(s, opt, d);
	if (!rc)
		rc = batch_init(&b, s, nr, opt, d);
	if (rc)
		return rc;
	for (int tries = 0; tries < TRIES; tries++) {
		rc = compose_all(&b, json, nr);
		if (!rc)
			rc = store_batch(&b);
		if (s->held || (rc != GROVE_ECONFLICT && rc != GROVE_ESTALE))
			break;
		/* a conflict of ids is the caller's affair, one of tails is ours */
		if (rc == GROVE_ECONFLICT && (exact || s->flags & GROVE_TELL || b.nr < nr))
			break;
		rc = grove__session_refresh(s, d);
		if (rc < 0)
			break;
	}
	if (!rc) {
		s->moved = false;
		if (b.labels) {
			grove__labels_unref(s->labels);
			s->labels = NULL;
		}
		give_ids(&b, ids);
		/* the last one is the leaf, even when it was there already */
		if (b.nr && b.retry[b.nr - 1] != GROVE_NONE) {
			s->moved = true;
			s->leaf = b.retry[b.nr - 1];
		}
	}
	batch_release(&b);
	return rc;
}

int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, const char **ids,
			  struct grove_detail *d)
{
	enum grove_sync sync = opt ? opt->sync : GROVE_SYNC_NONE;
	struct grove_log *log;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = grove__append_locked(s, json, nr, opt, ids, d);
	log = s->held ? NULL : s->log;
	pthread_mutex_unlock(&s->lock);
	if (rc || !log || sync != GROVE_SYNC_ALWAYS)
		return rc;
	/* outside the lock: threads that wait here share one sync */
	rc = grove__log_sync(log, d);
	if (rc) {
		pthread_mutex_lock(&s->lock);
		s->broken = true;
		pthread_mutex_unlock(&s->lock);
	}
	return rc;
}

int grove__append_wish(struct grove_session *s, const struct grove__wish *w,
		       const struct grove_append_options *opt, const char **id,
		       struct grove_detail *d)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_slice slice;
	int rc = s->at.dialect->spell(w, &json, d);

	slice = grove__buf_slice(&json);
	if (!rc)
		rc = grove__append_locked(s, &slice, 1, opt, id, d);
	grove__buf_release(&json);
	return rc;
}

/* All lines of the memory log, as records. */
static int held_lines(struct grove_session *s, struct grove_buf *bytes, struct grove_record **rec,
		      size_t *nr, size_t more, struct grove_detail *d)
{
	struct grove_log_stat st;
	struct grove_run run;
	size_t i = 0, off = 0;
	int rc = grove__log_stat(s->log, &st, d);

	if (rc)
		return rc;
	*rec = calloc((size_t)st.tail + more, sizeof(**rec));
	if (!*rec || grove__buf_reserve(bytes, (size_t)st.bytes + 1))
		return grove__fail_nomem(d);
	rc = grove__log_read(s->log, 0, st.tail, bytes->ptr, (size_t)st.bytes + 1, &run, d);
	if (rc)
		return rc;
	while (off < run.len && i < st.tail) {
		const char *lf = memchr(bytes->ptr + off, '\n', run.len - off);

		(*rec)[i++].line = grove__slice(bytes->ptr + off, (size_t)(lf - bytes->ptr) - off);
		off = (size_t)(lf - bytes->ptr) + 1;
	}
	*nr = i;
	return 0;
}

int grove__session_ensure(struct grove_session *s, const struct grove_record *more, size_t nr,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	struct grove_buf bytes = GROVE_BUF_INIT;
	struct grove_record *rec = NULL;
	struct grove_appended out;
	struct grove_log *log = NULL;
	size_t held = 0;
	int rc;

	if (!s->held || s->in_memory)
		return 0;
	rc = held_lines(s, &bytes, &rec, &held, nr, d);
	if (!rc) {
		for (size_t i = 0; i < nr; i++)
			rec[held + i] = more[i];
		rc = grove__log_open(&log, s->at.store, &key, GROVE_LOG_CREATE, d);
	}
	if (!rc)
		rc = grove__log_append(log, rec, held + nr, 0, sync, &out, d);
	if (!rc)
		rc = grove__session_retire(s) ? grove__fail_nomem(d) : 0;
	free(rec);
	grove__buf_release(&bytes);
	if (rc) {
		grove__log_close(log);
		return rc;
	}
	grove__log_close(s->log);
	grove__store_close(s->held);
	s->held = NULL;
	s->log = log;
	s->moved = false;
	return grove__session_load(s, d);
}
