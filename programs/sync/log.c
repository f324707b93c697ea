/*
 * log.c: compares one log on both sides, and carries lines over.
 *
 *	here     0 ────────── L ───── end        what is new here
 *	there    0 ─────── R ────── end          what is new there
 *
 * The first L lines here and the first R lines there have the same content (struct mark),
 * so only what follows is compared: a line of one side is missing on the other if it is not
 * among the new lines there. Each side is read once to know its lines. Then what is missing
 * is stored, in batches, provided that the other log still has the length that was seen
 * (expectedSeq, GROVE_CARRY_IF_SEQ); otherwise everything is done again. So a batch that
 * was stored but not acknowledged is found among the new lines, and not sent twice.
 *
 * If a mark is no longer valid (another generation, or another last line), all lines are
 * compared. A line that was in step and is now missing on the other side was removed there:
 * this is reported, and the line is neither removed here nor restored there.
 *
 * A line that only marks the leaf belongs to the side that wrote it. It is carried over
 * only if something is below it, right before that. If a new log is copied as a whole,
 * everything is carried over, and the leaf follows.
 */
#include "sync.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_BYTES ((size_t)4 << 20)
#define BATCH_LINES 4096
#define BODY_MAX_BYTES ((size_t)60 << 20)   /* one line; the server takes 64 MiB */
#define TRIES 12
#define HELD_MAX 16
#define AGAIN 1                             /* start over: a log has changed meanwhile */
#define BLOB_REF "blob:sha256:"

/* A leaf mark that may be needed: something below it may come later. */
struct held {
	char *id;
	struct grove_buf line;
	uint64_t seq;
};

struct batch {
	struct grove_buf text;
	size_t *end;
	size_t nr, cap;
};

struct side {
	uint64_t seq, generation;
	int64_t modified;            /* ms */
	int there;
	struct mark *mark;
	uint64_t from;               /* the first line to compare */
	uint64_t known;              /* earlier lines were in step */
	uint64_t last_hash;          /* of the last line read */
	uint64_t last_seq;
	struct table lines;
	uint64_t hold;               /* the first mark that was left out; UINT64_MAX if none */
	uint64_t missing;            /* lines that the other side has and this one lacks … */
	uint64_t carried;            /* … and those of them that it got */
	uint64_t removed;            /* lines removed from this side */
};

struct work {
	struct job *j;
	const char *sub;
	struct log_mark *m;
	struct side here, there;
	struct held held[HELD_MAX];
	size_t nr_held;
	struct batch batch;
	int follow_here, follow_there;   /* that side gets a whole log, and its leaf follows */
	uint64_t differing, bad, too_long;
	char first_differing[128];
	uint64_t counted;            /* lines here at the time of the comparison */
	uint64_t pulled, pushed;
};

/* ------------------------------------------------------------------ helpers */

static int is_new(const struct side *s, const struct mark *m)
{
	return !m->seq || s->generation != m->generation || s->seq < m->seq;
}

static void clear_held(struct work *w)
{
	for (size_t i = 0; i < w->nr_held; i++) {
		free(w->held[i].id);
		grove_buf_release(&w->held[i].line);
	}
	w->nr_held = 0;
}

static void clear_batch(struct batch *b)
{
	b->text.len = 0;
	b->nr = 0;
}

static void release(struct work *w)
{
	clear_held(w);
	grove_buf_release(&w->batch.text);
	free(w->batch.end);
	table_release(&w->here.lines);
	table_release(&w->there.lines);
}

static int batch_add(struct batch *b, struct grove_slice line)
{
	if (b->nr == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 64;
		size_t *more = realloc(b->end, cap * sizeof(*more));

		if (!more)
			return GROVE_ENOMEM;
		b->end = more;
		b->cap = cap;
	}
	if (grove_buf_add(&b->text, line) || grove_buf_add(&b->text, grove_str("\n")))
		return GROVE_ENOMEM;
	b->end[b->nr++] = b->text.len;
	return 0;
}

/* Keeps the newest marks; older ones are unlikely to be continued. */
static int hold_mark(struct work *w, const struct grove_carry_line *l, struct grove_slice line, uint64_t seq)
{
	struct held *h;

	if (w->nr_held == HELD_MAX) {
		free(w->held[0].id);
		grove_buf_release(&w->held[0].line);
		memmove(&w->held[0], &w->held[1], (HELD_MAX - 1) * sizeof(*h));
		w->nr_held--;
	}
	h = &w->held[w->nr_held];
	*h = (struct held){ .id = strndup(l->id.ptr, l->id.len), .seq = seq };
	if (!h->id || grove_buf_add(&h->line, line)) {
		free(h->id);
		grove_buf_release(&h->line);
		return GROVE_ENOMEM;
	}
	w->nr_held++;
	return 0;
}

static struct held *held_of(struct work *w, struct grove_slice id)
{
	for (size_t i = 0; id.len && i < w->nr_held; i++)
		if (strlen(w->held[i].id) == id.len && !memcmp(w->held[i].id, id.ptr, id.len))
			return &w->held[i];
	return NULL;
}

static uint64_t first_held(const struct work *w)
{
	return w->nr_held ? w->held[0].seq : UINT64_MAX;
}

/* -------------------------------------------------------------------- blobs */

/* The other side needs what a line refers to before the line itself. */
static int carry_blob(struct work *w, const char *name, int push)
{
	struct job *j = w->j;
	struct grove_buf bytes = GROVE_BUF_INIT;
	int rc;

	if (push) {
		rc = grove_carry_file_get(j->carry, name, &bytes);
		if (rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP)
			rc = 1;
		if (!rc && j->there.there)
			rc = remote_file_has(&j->s->remote, j->key, name);
		if (!rc && bytes.len <= BODY_MAX_BYTES)
			rc = remote_file_put(&j->s->remote, j->key, name, j->there.there ? NULL : j->dialect,
					     j->there.there ? NULL : j->cwd_there, grove_buf_slice(&bytes));
		/* the blobs may be lost everywhere; the lines are not */
		rc = rc == GROVE_ENOTSUP || rc == GROVE_ETOOBIG || rc == GROVE_EINVAL ? 0 : rc;
	} else {
		rc = grove_carry_file_get(j->carry, name, &bytes) ? 0 : 1;
		bytes.len = 0;
		if (!rc)
			rc = remote_file_get(&j->s->remote, j->key, name, &bytes);
		if (!rc)
			rc = grove_carry_file_put(j->carry, name, grove_buf_slice(&bytes));
		rc = rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP || rc == GROVE_ETOOBIG || rc == GROVE_EINVAL ? 0 : rc;
	}
	grove_buf_release(&bytes);
	return rc < 0 ? rc : 0;
}

static int carry_blobs(struct work *w, struct grove_slice text, int push)
{
	const size_t m = sizeof(BLOB_REF) - 1;
	const char *p = text.ptr, *end = text.ptr + text.len;
	char name[6 + 64 + 1] = "blobs/", last[sizeof(name)] = "";
	int rc = 0;

	/* only agents with blobs write such references */
	if (!strcmp(w->j->dialect, "claude") || !strcmp(w->j->dialect, "pi"))
		return 0;
	while (!rc && p < end && (p = memmem(p, (size_t)(end - p), BLOB_REF, m))) {
		p += m;
		if (end - p < 64)
			break;
		memcpy(name + 6, p, 64);
		name[70] = '\0';
		if (strspn(name + 6, "0123456789abcdef") == 64 && strcmp(name, last)) {
			rc = carry_blob(w, name, push);
			memcpy(last, name, sizeof(last));
		}
	}
	return rc;
}

/* ------------------------------------------------------------------ storing */

/* It has `seq` lines now, of which we stored `stored`; others may have added some. */
static void side_grew(struct side *side, uint64_t seq, uint64_t stored, uint64_t generation)
{
	if (seq > side->seq + stored && side->hold > seq - 1)
		side->hold = seq - 1;
	side->seq = seq;
	side->generation = generation;
	side->there = 1;
	side->last_seq = 0;
}

static int store_here(struct work *w)
{
	struct grove_carry_append_options o = { .size = sizeof(o), .flags = GROVE_CARRY_IF_SEQ, .sub = w->sub,
						.sync = GROVE_SYNC_FLUSH };
	struct grove_carry_result a = { .size = sizeof(a) };
	struct batch *b = &w->batch;
	struct grove_slice *line = calloc(b->nr, sizeof(*line));
	struct grove_detail why;
	int rc = line ? carry_blobs(w, grove_buf_slice(&b->text), 0) : GROVE_ENOMEM;

	for (size_t i = 0; line && i < b->nr; i++) {
		size_t from = i ? b->end[i - 1] : 0;

		line[i] = (struct grove_slice){ b->text.ptr + from, b->end[i] - from - 1 };
	}
	o.seq = w->here.seq;
	o.flags |= w->follow_here ? GROVE_CARRY_FOLLOW : 0u;
	if (!rc)
		rc = grove_carry_append(w->j->carry, line, b->nr, &o, &a);
	free(line);
	if (rc) {
		grove_carry_error(w->j->carry, &why);
		if (rc != GROVE_ECONFLICT && rc != GROVE_ESTALE)
			report_problem(w->j, rc, "%s", *why.message ? why.message : grove_strerror(rc));
		return rc == GROVE_ECONFLICT || rc == GROVE_ESTALE ? AGAIN : rc;
	}
	side_grew(&w->here, a.seq, a.stored, a.generation);
	w->pulled += a.stored;
	w->differing += a.differing;
	w->j->branched_here |= a.branched;
	w->j->copied_here |= w->follow_here && !*w->sub;
	return 0;
}

static int store_there(struct work *w)
{
	struct job *j = w->j;
	struct remote_put p = { .sub = w->sub, .expected = w->there.seq, .follow = w->follow_there,
				.modified = w->here.modified, .body = grove_buf_slice(&w->batch.text) };
	int rc = carry_blobs(w, p.body, 1);

	if (!w->there.there && !*w->sub) {
		p.dialect = j->dialect;
		p.cwd = j->cwd_there;
		p.file = j->file;
	}
	if (!rc)
		rc = remote_put(&j->s->remote, j->key, &p);
	if (rc == GROVE_ECONFLICT || rc == GROVE_ESTALE)
		return AGAIN;
	if (rc)
		return rc;
	side_grew(&w->there, p.seq, p.stored, p.generation);
	w->pushed += p.stored;
	w->differing += p.differing;
	j->branched_there |= p.branched;
	if (w->follow_there && !*w->sub)
		snprintf(j->leaf_there, sizeof(j->leaf_there), "%s", p.leaf);
	j->copied_there |= w->follow_there && !*w->sub;
	j->there.there = 1;
	return 0;
}

static int flush(struct work *w, int push)
{
	int rc = 0;

	if (w->batch.nr && !w->j->s->dry)
		rc = push ? store_there(w) : store_here(w);
	else if (push)
		w->pushed += w->batch.nr;
	else
		w->pulled += w->batch.nr;
	clear_batch(&w->batch);
	report_progress(w->j->s, w->j->id);
	return rc;
}

static int carry_line(struct work *w, struct grove_slice line, const struct grove_carry_line *l, int push)
{
	struct side *to = push ? &w->there : &w->here;
	struct held *mark = held_of(w, l->parent);
	int rc = 0;

	if (line.len > BODY_MAX_BYTES) {
		w->too_long++;
		return 0;
	}
	if (mark && mark->line.len) {
		rc = batch_add(&w->batch, grove_buf_slice(&mark->line));
		mark->line.len = 0;
	}
	if (!rc && w->batch.nr && w->batch.text.len + line.len > BODY_MAX_BYTES)
		rc = flush(w, push);
	if (!rc)
		rc = batch_add(&w->batch, line);
	to->carried++;
	if (!rc && (w->batch.text.len >= BATCH_BYTES || w->batch.nr >= BATCH_LINES))
		rc = flush(w, push);
	return rc;
}

/* ---------------------------------------------------------------- comparing */

/* Checks that the last line that was in step has not changed. */
static int check_last(struct work *w, struct side *s, struct grove_slice line, uint64_t seq)
{
	if (s->from && seq == s->from - 1 && s->mark->last && table_hash(line) != s->mark->last) {
		s->mark->seq = 0;
		return AGAIN;
	}
	s->last_seq = seq + 1;
	if (seq + 1 == s->seq)
		s->last_hash = table_hash(line);
	(void)w;
	return 0;
}

/*
 * Returns true for a line that is not compared: it concerns only its own side, or cannot be
 * carried.
 */
static int passed_over(struct work *w, const struct grove_carry_line *l, struct grove_slice line, uint64_t seq,
		       const struct side *s, int *rc)
{
	int whole = w->follow_here || w->follow_there;

	*rc = 0;
	if (l->kind == GROVE_CARRY_LINE_LEAF && l->id.len && (!whole || seq < s->from)) {
		*rc = hold_mark(w, l, line, seq);
		return 1;
	}
	if (seq < s->from || l->kind == GROVE_CARRY_LINE_BLANK)
		return 1;
	if (l->kind == GROVE_CARRY_LINE_BAD) {
		w->bad += 1;
		return 1;
	}
	return l->kind == GROVE_CARRY_LINE_LEAF && !whole;
}

static int line_here(void *payload, struct grove_slice line, uint64_t seq)
{
	struct work *w = payload;
	struct grove_carry_line l = { .size = sizeof(l) };
	int skip, rc = check_last(w, &w->here, line, seq);

	if (!rc)
		rc = grove_carry_line(w->j->carry, line, seq, &l);
	if (rc)
		return rc;
	skip = passed_over(w, &l, line, seq, &w->here, &rc);
	if (rc || skip || l.kind == GROVE_CARRY_LINE_HEADER)
		return rc;
	return table_add(&w->here.lines, l.id, line);
}

static void note_differing(struct work *w, struct grove_slice id)
{
	if (!w->differing++)
		snprintf(w->first_differing, sizeof(w->first_differing), "%.*s", (int)(id.len < 100 ? id.len : 100), id.ptr);
}

static int line_there(void *payload, struct grove_slice line, uint64_t seq)
{
	struct work *w = payload;
	struct grove_carry_line l = { .size = sizeof(l) };
	enum table_answer is;
	int skip, rc = check_last(w, &w->there, line, seq);

	if (!rc)
		rc = grove_carry_line(w->j->carry, line, seq, &l);
	if (rc)
		return rc;
	skip = passed_over(w, &l, line, seq, &w->there, &rc);
	if (rc || skip)
		return rc;
	/* a header belongs to its own side, but a log begins with one */
	if (l.kind == GROVE_CARRY_LINE_HEADER)
		return w->here.there || !(w->j->s->ways & WAY_PULL) ? 0 : carry_line(w, line, &l, 0);
	rc = table_add(&w->there.lines, l.id, line);
	if (rc)
		return rc;
	is = table_ask(&w->here.lines, l.id, line);
	if (is == TABLE_DIFFERS)
		note_differing(w, l.id);
	/* the server's own leaf mark, unless its whole log is wanted */
	if (is != TABLE_MISSING || (l.kind == GROVE_CARRY_LINE_LEAF && !w->follow_here))
		return 0;
	if (seq < w->there.known) {
		w->here.removed++;
		return 0;
	}
	w->here.missing++;
	return w->j->s->ways & WAY_PULL ? carry_line(w, line, &l, 0) : 0;
}

/* Goes through the lines here again, for those that the server lacks. */
static int line_to_send(void *payload, struct grove_slice line, uint64_t seq)
{
	struct work *w = payload;
	struct grove_carry_line l = { .size = sizeof(l) };
	uint64_t bad = w->bad;
	int skip, rc = grove_carry_line(w->j->carry, line, seq, &l);

	if (rc)
		return rc;
	skip = passed_over(w, &l, line, seq, &w->here, &rc);
	w->bad = bad;
	if (rc || skip)
		return rc;
	if (l.kind == GROVE_CARRY_LINE_HEADER)
		return w->there.there || !(w->j->s->ways & WAY_PUSH) ? 0 : carry_line(w, line, &l, 1);
	if (table_ask(&w->there.lines, l.id, line) != TABLE_MISSING ||
	    (l.kind == GROVE_CARRY_LINE_LEAF && !w->follow_there))
		return 0;
	if (seq < w->here.known) {
		w->there.removed++;
		return 0;
	}
	w->there.missing++;
	return w->j->s->ways & WAY_PUSH ? carry_line(w, line, &l, 1) : 0;
}

/* ------------------------------------------------------------------ reading */

typedef int line_fn(void *payload, struct grove_slice line, uint64_t seq);

struct splitting {
	line_fn *fn;
	void *payload;
	uint64_t seq;
	struct grove_buf part;
	int rc;
};

static int split(void *payload, const char *ptr, size_t len)
{
	struct splitting *s = payload;
	const char *end = ptr + len;

	while (ptr < end && !s->rc) {
		const char *lf = memchr(ptr, '\n', (size_t)(end - ptr));
		size_t n = (size_t)((lf ? lf : end) - ptr);
		struct grove_slice line = { ptr, n };

		if (!lf || s->part.len) {
			s->rc = grove_buf_add(&s->part, line);
			line = grove_buf_slice(&s->part);
		}
		if (!s->rc && lf) {
			s->rc = s->fn(s->payload, line, s->seq++);
			s->part.len = 0;
		}
		ptr += n + (lf ? 1 : 0);
	}
	return s->rc ? GROVE_ECANCELLED : 0;
}

/* Returns where to begin reading a side: at the last line in step, or at a mark before it. */
static uint64_t begin_at(const struct side *s)
{
	uint64_t at = s->from ? s->from - 1 : 0;

	return s->from && s->mark->hold < at ? s->mark->hold : at;
}

static int read_here(struct work *w, line_fn *fn, uint64_t to)
{
	struct splitting s = { .fn = fn, .payload = w, .seq = begin_at(&w->here) };
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_detail why;
	int rc = to > s.seq ? grove_carry_read(w->j->carry, w->sub, s.seq, to, (struct grove_sink){ split, &s }, &st) : 0;

	grove_buf_release(&s.part);
	if (s.rc)
		return s.rc;
	if (rc == GROVE_ESTALE)
		return AGAIN;
	if (rc) {
		grove_carry_error(w->j->carry, &why);
		report_problem(w->j, rc, "%s", *why.message ? why.message : grove_strerror(rc));
	}
	return rc;
}

static int read_spool(struct work *w, struct spool *lines)
{
	uint64_t seq = begin_at(&w->there);
	struct grove_slice line;
	int rc;

	while (!(rc = spool_next(lines, &line))) {
		rc = sync_stopped() ? GROVE_ECANCELLED : line_there(w, line, seq++);
		if (rc)
			return rc;
	}
	return rc == 1 ? 0 : rc;
}

static int read_there(struct work *w)
{
	struct remote_state st = { 0 };
	struct spool lines = { .file = NULL };
	int rc = remote_lines(&w->j->s->remote, w->j->key, w->sub, begin_at(&w->there), &lines, &st);

	if (rc == GROVE_ENOTFOUND || (!rc && (st.generation != w->there.generation || st.seq < w->there.seq)))
		rc = AGAIN;
	if (!rc) {
		/* it may have grown since we asked */
		w->there.seq = st.seq;
		rc = *w->sub || w->here.there ? 0 : sync_lines_of_dir(w->j, &lines);
		/* reported */
		rc = rc > 0 ? GROVE_EJSON : rc;
		rc = rc ? rc : read_spool(w, &lines);
	}
	spool_release(&lines);
	return rc;
}

/* --------------------------------------------------------------------- mark */

static int hash_one(void *payload, struct grove_slice line, uint64_t seq)
{
	(void)seq;
	*(uint64_t *)payload = table_hash(line);
	return 0;
}

static uint64_t last_hash_here(struct work *w)
{
	uint64_t hash = 0;
	struct splitting s = { .fn = hash_one, .payload = &hash, .seq = w->here.seq - 1 };
	struct grove_carry_state st = { .size = sizeof(st) };

	if (w->here.seq && grove_carry_read(w->j->carry, w->sub, w->here.seq - 1, w->here.seq,
					    (struct grove_sink){ split, &s }, &st))
		hash = 0;
	grove_buf_release(&s.part);
	return hash;
}

static void remember(struct work *w)
{
	struct log_mark *m = w->m;

	m->differing = w->differing;
	m->copying = 0;
	/* lines that were not carried over stay after the mark */
	if ((w->here.missing && !(w->j->s->ways & WAY_PULL)) || (w->there.missing && !(w->j->s->ways & WAY_PUSH)) ||
	    w->too_long)
		return;
	m->here = (struct mark){ w->here.seq, w->here.generation, last_hash_here(w), w->here.hold };
	m->there = (struct mark){ w->there.seq, w->there.generation,
				  w->there.last_seq == w->there.seq ? w->there.last_hash : 0, w->there.hold };
}

static void tell(struct work *w)
{
	struct job *j = w->j;
	const char *of = *w->sub ? w->sub : NULL;

	if (w->differing)
		report_problem(j, GROVE_ECONFLICT, "%llu entr%s different bytes here and on the server%s%s%s%s",
			       (unsigned long long)w->differing, w->differing == 1 ? "y has" : "ies have",
			       *w->first_differing ? ": " : "", w->first_differing, of ? ", in " : "", of ? of : "");
	if (w->here.removed)
		report_note(j, "removedHere", w->here.removed, "%llu line%s removed or changed here stay%s on the server",
			    (unsigned long long)w->here.removed, w->here.removed == 1 ? "" : "s",
			    w->here.removed == 1 ? "s" : "");
	if (w->there.removed)
		report_note(j, "removedThere", w->there.removed, "%llu line%s removed or changed on the server stay%s here",
			    (unsigned long long)w->there.removed, w->there.removed == 1 ? "" : "s",
			    w->there.removed == 1 ? "s" : "");
	if (w->bad)
		report_note(j, "malformed", w->bad, "%llu malformed line%s not transferred", (unsigned long long)w->bad,
			    w->bad == 1 ? " was" : "s were");
	if (w->too_long)
		report_problem(j, GROVE_ETOOBIG, "%llu line%s too long for the server", (unsigned long long)w->too_long,
			       w->too_long == 1 ? " is" : "s are");
}

/* ----------------------------------------------------------------- together */

static int look(struct work *w, const struct remote_log *there)
{
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_detail why;
	int rc = grove_carry_state(w->j->carry, w->sub, &st);

	if (rc && rc != GROVE_ENOTFOUND) {
		grove_carry_error(w->j->carry, &why);
		report_problem(w->j, rc, "%s", *why.message ? why.message : grove_strerror(rc));
		return rc;
	}
	w->here.there = !rc;
	w->here.seq = st.seq;
	w->here.generation = st.generation;
	w->here.modified = w->j->hydrated && !*w->sub ? w->j->was : rc ? 0 : st.modified;
	if (there) {
		w->there.there = 1;
		w->there.modified = (int64_t)there->modified;
		w->there.seq = there->seq;
		w->there.generation = there->generation;
	}
	return 0;
}

static void begin(struct work *w)
{
	int new_here, new_there, all;

	/* a log that is completely gone starts over: nothing in it counts as removed */
	if (!w->here.there || !w->there.there) {
		memset(&w->m->here, 0, sizeof(w->m->here));
		memset(&w->m->there, 0, sizeof(w->m->there));
	}
	new_here = is_new(&w->here, &w->m->here);
	new_there = is_new(&w->there, &w->m->there);
	all = new_here || new_there;
	/* what was found before the marks is still valid */
	if (!all)
		w->differing = w->m->differing;
	w->here.mark = &w->m->here;
	w->there.mark = &w->m->there;
	w->here.from = all ? 0 : w->m->here.seq;
	w->there.from = all ? 0 : w->m->there.seq;
	w->here.known = new_here ? 0 : w->m->here.seq;
	w->there.known = new_there ? 0 : w->m->there.seq;
	w->here.hold = w->there.hold = UINT64_MAX;
	/* a copy that was interrupted is continued as one, if nobody can have continued from it */
	w->follow_here = !w->here.there;
	w->follow_there = !w->there.there || w->m->copying;
}

static int unchanged(const struct work *w)
{
	return !is_new(&w->here, &w->m->here) && !is_new(&w->there, &w->m->there) && w->here.seq == w->m->here.seq &&
	       w->there.seq == w->m->there.seq;
}

static int attempt(struct work *w)
{
	int rc = 0;

	begin(w);
	if (unchanged(w)) {
		tell(w);
		return 0;
	}
	w->counted = w->here.seq;
	if (!w->there.there && w->j->s->ways & WAY_PUSH) {
		w->m->copying = 1;
		if (!w->j->s->dry)
			state_store(&w->j->s->state, &w->j->mark);
	}
	if (w->here.there)
		rc = read_here(w, line_here, w->counted);
	w->here.hold = first_held(w);
	clear_held(w);
	if (!rc && w->there.there)
		rc = read_there(w);
	if (!rc && w->batch.nr)
		rc = flush(w, 0);
	w->there.hold = first_held(w) < w->there.hold ? first_held(w) : w->there.hold;
	clear_held(w);
	/* the other side has its own lines, so it is no longer a copy */
	w->follow_there = w->follow_there && !w->here.missing;
	table_rewind(&w->there.lines);
	if (!rc && w->counted)
		rc = read_here(w, line_to_send, w->counted);
	if (!rc && w->batch.nr)
		rc = flush(w, 1);
	if (!rc) {
		if (!w->j->s->dry)
			remember(w);
		tell(w);
	}
	return rc;
}

/* Gets the current state of the server's log, after it turned out to have changed. */
static int look_again(struct work *w, struct remote_log *there, int *is_there)
{
	struct remote_session s;
	const struct remote_log *sub;
	int rc = remote_about(&w->j->s->remote, w->j->key, &s);

	*is_there = 0;
	if (!rc && s.there && !*w->sub) {
		*there = (struct remote_log){ NULL, s.seq, s.generation, s.modified };
		*is_there = 1;
	}
	if (!rc && s.there && (sub = remote_session_log(&s, w->sub))) {
		*there = (struct remote_log){ NULL, sub->seq, sub->generation, sub->modified };
		*is_there = 1;
	}
	w->j->there.there |= s.there;
	remote_session_release(&s);
	return rc;
}

/* What was carried here is as old as it is there; that of the session's own log is set in the end. */
static void keep_time(const struct work *w)
{
	/* nothing comes from the future */
	int64_t now = (int64_t)time(NULL) * 1000, there = w->there.modified < now ? w->there.modified : now;
	int64_t ms = w->here.modified > there ? w->here.modified : there;

	if (w->j->s->dry || there <= 0 || !(w->pulled || (w->j->hydrated && !*w->sub)))
		return;
	if (*w->sub)
		grove_carry_set_modified(w->j->carry, w->sub, ms);
	else
		w->j->modified = ms;
}

int sync_log(struct job *j, const char *sub, const struct remote_log *there)
{
	struct remote_log now = { 0 };
	unsigned told = j->failed;
	int rc = AGAIN, is_there = there != NULL;

	if (there)
		now = *there;
	for (int tries = 0; rc == AGAIN && tries < TRIES && !sync_stopped(); tries++) {
		struct work w = { .j = j, .sub = sub, .m = state_log(&j->mark, sub) };

		if (!w.m)
			return GROVE_ENOMEM;
		rc = tries ? look_again(&w, &now, &is_there) : 0;
		if (!rc)
			rc = look(&w, is_there ? &now : NULL);
		if (!rc)
			rc = attempt(&w);
		if (!rc)
			keep_time(&w);
		j->pulled += w.pulled;
		j->pushed += w.pushed;
		release(&w);
	}
	if (sync_stopped())
		return GROVE_ECANCELLED;
	if (rc == AGAIN) {
		report_problem(j, GROVE_ECONFLICT, "others keep writing (try again)");
		return 0;
	}
	if (rc < 0 && (j->s->remote.outage || rc == GROVE_ENOMEM))
		return rc;
	if (rc < 0 && j->failed == told)
		report_problem(j, rc, "%s", *j->s->remote.why ? j->s->remote.why : grove_strerror(rc));
	return 0;
}
