/*
 * image/load.c: from a log to its image.
 *
 * The log is read in runs of whole lines. Threads take turns: one reads a run while
 * another scans the previous one, and the results are merged in the order of the runs,
 * so that the spine grows as if one thread had done it all.
 *
 *	thread A   read 1 | scan 1 ........ | merge 1 | read 3 | scan 3 …
 *	thread B            read 2 | scan 2 ........ | merge 2 | read 4 …
 *
 * A line that does not fit into the buffer goes through the streaming scanner instead,
 * in pieces, by the thread that found it, while the others wait.
 *
 * In a lenient dialect this is done until the first line that is not exactly one value.
 * From there on, one thread reads value by value (image/values.c); up to there both
 * ways of reading find the same.
 */
#include "image/image.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "sys/clock.h"
#include "sys/pool.h"
#include "sys/file.h"
#include "sys/map.h"
#include "sys/state.h"

#include <pthread.h>
#include <stdlib.h>

#define RUN_BYTES ((size_t)1 << 20)
#define TORN_BYTES ((size_t)256 << 10)
#define THREADS_MAX 2
#define THREADS_FROM ((uint64_t)2 << 20)  /* size from which a second thread pays */
#define BATCH 4096                        /* lines that wait to be merged */
#define HINT_AHEAD 12                     /* lines: about the latency of memory */
#define EXPECT_FROM ((uint64_t)8 << 20)   /* size from which memory is allocated at once */
#define EXPECT_AT 32                      /* after this fraction has been read */
#define SPAN_MAX ((uint64_t)1 << 20)      /* longer members are not examined */
#define PROVE_MAX ((uint64_t)256 << 10)   /* compared as a whole whenever a log has grown */
#define TEXT_MAX ((uint64_t)32 << 20)     /* size of a remote log that is kept in memory */

/* A line that counts, waiting to be merged. */
struct found {
	struct grove__entry e;
	enum grove__line_class class;
	uint64_t off, len;       /* of the line in the run, as stored */
	uint64_t line;           /* number within the run */
	uint32_t crc;
};

struct loader {
	struct grove__image *im;
	struct grove_store_log *log;
	const char *path;
	const struct grove_progress *progress;
	struct grove_detail *d;

	pthread_mutex_t lock;
	pthread_cond_t turn_cond;
	uint64_t pos, until, begin;
	uint64_t bytes;          /* estimate of what there is to read */
	bool keep;               /* keep what is read with the image */
	uint64_t issued, merged; /* runs handed out, and merged */
	bool end;                /* nothing left to hand out */
	int rc;                  /* or LOOSE */
	uint64_t loose_pos;      /* where reading by value begins */
	bool expected;           /* memory for the ids has been allocated; of the worker whose turn it is, not the lock's */
};

/* A line that is not exactly one value ends the reading by lines: not an error. */
enum { LOOSE = 1 };

struct worker {
	struct loader *ld;
	struct grove__runs in;   /* the position is the loader's */
	struct grove__arena tmp;
	struct found *found;
	size_t nr;
	uint64_t lines, malformed, blank, bad_line, bad_off;
	uint64_t odd;            /* see proof.c */
	bool unknown;
	bool loose;              /* the line after the last one counted is not exactly one value */
	uint64_t loose_off;
	bool my_turn;
	uint64_t ticket;
	struct grove__json_stream *stream;
	struct grove_detail d;   /* of this thread's failure */
};

/* Adds a row for an entry, and what the model notes about it. The model is locked. */
static int add_row(struct grove__image *im, const struct grove__entry *e,
		   const struct grove__spot *at)
{
	uint32_t row = im->spine->nr;
	struct grove__entry own;
	char id[40];
	int rc = 0;

	if (grove__dialect_lacks_ids(im->dialect, im->from) && !e->no_object) {
		own = *e;
		e = &own;
		rc = grove__model_place(im, &own, at->line, id);
	}
	rc = rc ? rc : grove__spine_add(im->spine, e, at->pos, at->len, at->line, at->crc);
	return rc ? rc : grove__model_add(&im->model, e, grove__spine_id(im->spine, row));
}

/* Without a header, the entries provide what it would have said. */
static int take_facts(struct grove__image *im, const struct grove__entry *e)
{
	struct grove__header *h = &im->header;

	if (!im->has_header) {
		im->has_header = h->usable = true;
		h->version = im->dialect->version;
		h->time = GROVE_NO_TIME;
	}
	if (h->time == GROVE_NO_TIME)
		h->time = e->time;
	if (!e->cwd.len || (h->cwd && !e->moves))
		return 0;
	h->cwd = grove__arena_dup(&im->keep, e->cwd);
	return h->cwd ? 0 : GROVE_ENOMEM;
}

int grove__image_add(struct grove__image *im, struct grove_slice line, uint64_t pos,
		     const struct grove__entry *e)
{
	struct grove__json_line l;
	struct grove__entry own;
	struct grove__arena tmp;
	uint32_t from = im->spine->nr;
	int rc = 0;

	/* after an unfinished value, a line may be part of it, or change its meaning */
	if (grove__dialect_by_value(im->dialect) && im->next != im->tail)
		return GROVE_ESTALE;
	grove__arena_init(&tmp);
	if (!e) {
		enum grove__line_class class = LINE_SKIP;

		if (grove__json_scan(&im->want, line.ptr, line.len, true, &l) == JSON_VALUE)
			class = im->dialect->read.index(&l, line.ptr, &tmp, &own);
		if (tmp.failed)
			rc = GROVE_ENOMEM;
		else if (class != LINE_ENTRY && class != LINE_SLOT)
			rc = GROVE_EJSON;
		e = &own;
	}
	if (!rc && grove__dialect_cwd_in_entries(im->dialect))
		rc = take_facts(im, e);
	if (!rc) {
		grove__model_lock(&im->model);
		rc = add_row(im, e, &(struct grove__spot){ .pos = pos, .len = line.len,
							   .line = im->lines,
							   .crc = grove__crc32c(0, line.ptr, line.len) });
		grove__model_unlock(&im->model);
	}
	if (!rc)
		rc = grove__tree_link(im->spine, from);
	grove__arena_release(&tmp);
	if (rc)
		return rc;
	im->values++;
	im->lines++;
	im->bytes += line.len + 1;
	return 0;
}

/* --- merging: in order, one thread at a time --- */

/* Records the first failure, which is the one that counts. Called with the lock held. */
static void give_up(struct worker *w, int rc)
{
	struct loader *ld = w->ld;

	if (ld->rc)
		return;
	ld->rc = rc;
	if (ld->d)
		*ld->d = w->d;
}

int grove__image_read_header(struct grove__image *im, struct grove_slice line)
{
	struct grove_slice value = grove__line_trim(line);
	struct grove__json_line l;

	if (grove__json_scan(&im->want, value.ptr, value.len, true, &l) != JSON_VALUE)
		return GROVE_EDAMAGED;
	im->keep.failed = false;
	im->dialect->header->read(&l, value.ptr, &im->keep, &im->header);
	if (im->keep.failed)
		return GROVE_ENOMEM;
	if (!im->header.usable)
		return GROVE_EDAMAGED;
	im->has_header = true;
	im->from = im->header.version < im->dialect->version ? im->header.version
							     : im->dialect->version;
	return 0;
}

static int take_header(struct grove__image *im, const struct grove__spot *at, const char *bytes,
		       size_t len)
{
	int rc;

	if (grove__array_room(&im->headers, &im->cap_headers, im->nr_headers, sizeof(*im->headers)))
		return GROVE_ENOMEM;
	im->headers[im->nr_headers++] = (struct grove__header_at){ im->values, *at };
	if (im->has_header)
		return 0;
	rc = grove__image_read_header(im, grove__slice(bytes, len));
	if (!rc)
		im->header_at = *at;
	return rc;
}

/* Reads its title. */
static int read_slot(struct grove__image *im, struct grove_slice title, struct grove_slice line)
{
	im->slot_source = im->dialect->header->slot->source(line);
	im->slot_title = title.len ? grove__arena_dup(&im->keep, title) : NULL;
	return title.len && !im->slot_title ? GROVE_ENOMEM : 0;
}

int grove__image_read_slot(struct grove__image *im, struct grove_slice line)
{
	struct grove_slice value = grove__line_trim(line);
	struct grove__json_line l;
	struct grove__entry e;

	if (grove__json_scan(&im->want, value.ptr, value.len, true, &l) != JSON_VALUE ||
	    im->dialect->read.index(&l, value.ptr, &im->keep, &e) != LINE_SLOT)
		return GROVE_EDAMAGED;
	return read_slot(im, e.text, value);
}

static int take_slot(struct grove__image *im, const struct grove__spot *at, struct grove_slice title,
		     struct grove_slice line)
{
	im->has_slot = true;
	im->slot_pos = at->pos;
	im->slot_off = at->off;
	im->slot_len = at->len;
	im->slot_line = at->line;
	im->slot_crc = at->crc;
	return read_slot(im, title, line);
}

/*
 * Handles a value that counts: a header, the slot, or an entry. `bytes` are the value's
 * or its line's, `len` of them. The model is locked.
 */
static int take_value(struct grove__image *im, enum grove__line_class class, struct grove__entry *e,
		      const struct grove__spot *at, const char *bytes, size_t len)
{
	int rc;

	if (class == LINE_HEADER) {
		rc = take_header(im, at, bytes, len);
		im->values++;
		return rc;
	}
	if (class == LINE_SLOT && !im->values) {
		im->values++;
		return take_slot(im, at, e->text, grove__line_trim(grove__slice(bytes, len)));
	}
	if (!im->has_header && grove__dialect_has_header(im->dialect))
		return GROVE_EDAMAGED;
	if (grove__dialect_cwd_in_entries(im->dialect) && (rc = take_facts(im, e)))
		return rc;
	im->values++;
	return add_row(im, e, at);
}

/* Sets the detail for an error of take_value(). */
static int tell_taking(struct loader *ld, struct grove_detail *d, int rc, const struct grove__spot *at,
		       struct grove_slice bytes)
{
	const struct grove__dialect *dialect = ld->im->dialect;
	const char *other = rc == GROVE_EDAMAGED && dialect->header->other ? dialect->header->other(bytes) : NULL;

	if (rc == GROVE_EDAMAGED)
		return grove__fail_at(d, rc, ld->path, at->line + 1, at->pos, "not a valid %s session: %s",
				      dialect->name, other ? other : "it does not begin with a header");
	if (rc == GROVE_ETOOBIG)
		return grove__fail(d, rc, ld->path, "too many lines");
	return grove__fail_nomem(d);
}

static int merge_one(struct worker *w, struct found *f)
{
	struct grove__image *im = w->ld->im;
	struct grove__spot at = {
		.pos = grove__runs_pos(&w->in, (size_t)f->off, f->line),
		.len = f->len,
		.line = im->lines + f->line,
		.crc = f->crc,
	};
	int rc = take_value(im, f->class, &f->e, &at, w->in.buf + f->off, (size_t)f->len);

	if (rc)
		return tell_taking(w->ld, &w->d, rc, &at, grove__slice(w->in.buf + f->off, (size_t)f->len));
	return f->class == LINE_HEADER ? grove__base_load(im, w->ld->log, &at, w->ld->path, &w->d) : 0;
}

/* Ids are looked up all over memory, so those needed next are prefetched. */
static void hint(struct grove__image *im, const struct found *f)
{
	if (f->class != LINE_ENTRY)
		return;
	if (f->e.has_id)
		grove__idmap_hint(&im->spine->ids, f->e.id);
	grove__model_announce(&im->model, &f->e, 0);
}

/* Once typical lines are known, allocates memory for all ids to come. */
static void expect_more(struct loader *ld, const struct grove_store_run *run)
{
	struct grove__image *im = ld->im;
	uint64_t all = ld->until - ld->begin, done = run->pos - ld->begin;

	/* readers that use the ids would have to wait */
	if (ld->expected || im->spine->shared || all < EXPECT_FROM || done < all / EXPECT_AT)
		return;
	ld->expected = true;
	grove__idmap_expect(&im->spine->ids, im->spine->ids.used * (all / done + 1));
	grove__model_announce(&im->model, NULL, all / done + 1);
}

/* Merges what was found so far; waits until all earlier runs are done. */
static int merge(struct worker *w)
{
	struct loader *ld = w->ld;
	int rc = 0;

	if (!w->my_turn) {
		pthread_mutex_lock(&ld->lock);
		while (ld->merged != w->ticket && !ld->rc)
			pthread_cond_wait(&ld->turn_cond, &ld->lock);
		rc = ld->rc;
		pthread_mutex_unlock(&ld->lock);
		w->my_turn = true;
	}
	if (!rc && w->tmp.failed)
		rc = grove__fail_nomem(&w->d);
	grove__model_lock(&ld->im->model);
	if (!rc)
		expect_more(ld, &w->in.run);
	for (size_t i = 0; i < w->nr && i < HINT_AHEAD && !rc; i++)
		hint(ld->im, &w->found[i]);
	for (size_t i = 0; i < w->nr && !rc; i++) {
		if (w->nr - i > HINT_AHEAD)
			hint(ld->im, &w->found[i + HINT_AHEAD]);
		rc = merge_one(w, &w->found[i]);
	}
	grove__model_unlock(&ld->im->model);
	w->nr = 0;
	grove__arena_clear(&w->tmp);
	return rc;
}

/* Ends a run: adds its counts to the image, and lets the next one merge. */
static int finish_run(struct worker *w, int rc)
{
	struct loader *ld = w->ld;
	struct grove__image *im = ld->im;

	if (!rc)
		rc = merge(w);
	pthread_mutex_lock(&ld->lock);
	if (!rc && !ld->rc) {
		if (w->malformed && !im->malformed) {
			im->bad_line = im->lines + w->bad_line;
			im->bad_pos = grove__runs_pos(&w->in, (size_t)w->bad_off, w->bad_line);
		}
		im->lines += w->lines;
		im->malformed += w->malformed;
		im->blank += w->blank;
		im->odd += w->odd;
		im->unknown = im->unknown || w->unknown;
		if (w->loose) {
			ld->loose_pos = grove__runs_pos(&w->in, (size_t)w->loose_off, w->lines);
			ld->rc = LOOSE;
		}
	}
	if (rc < 0)
		give_up(w, rc);
	ld->merged++;
	pthread_cond_broadcast(&ld->turn_cond);
	rc = ld->rc;
	pthread_mutex_unlock(&ld->lock);
	w->my_turn = false;
	w->lines = w->malformed = w->blank = w->odd = 0;
	return rc;
}

/* --- scanning: all threads at once --- */

/* Handles a line that is neither an entry nor a header. */
static void note_odd(struct worker *w, uint64_t off, const char *line, size_t len)
{
	if (len && !w->in.run.by_line)
		w->odd += grove__proof_odd_line(w->in.run.pos + off, len, grove__crc32c(0, line, len));
}

static int note(struct worker *w, const struct grove__json_line *l, const char *at, uint64_t off,
		uint64_t len, uint32_t crc)
{
	struct found *f;

	if (w->nr == BATCH) {
		int rc = merge(w);

		if (rc)
			return rc;
	}
	f = &w->found[w->nr];
	f->class = w->ld->im->dialect->read.index(l, at, &w->tmp, &f->e);
	if (f->class == LINE_SKIP) {
		w->blank++;
		w->odd += grove__proof_odd_line(w->in.run.pos + off, len, crc);
		return 0;
	}
	f->off = off;
	f->len = len;
	f->line = w->lines;
	f->crc = crc;
	w->nr++;
	return 0;
}

static void note_bad(struct worker *w, uint64_t off)
{
	if (grove__dialect_by_value(w->ld->im->dialect)) {
		w->loose = true;
		w->loose_off = off;
		return;
	}
	if (!w->malformed++) {
		w->bad_line = w->lines;
		w->bad_off = off;
	}
}

/* Handles the last line of the log, without its newline. */
static void note_tail(struct worker *w, enum grove__json_verdict v, uint64_t off)
{
	struct grove__image *im = w->ld->im;

	if (v == JSON_BAD && grove__dialect_by_value(im->dialect)) {
		note_bad(w, off);
		return;
	}
	/* only the last run gets here, and everything before it is merged or waits */
	if (v == JSON_BAD) {
		/* an unfinished write: the next reload starts here */
		im->torn = true;
		im->next = grove__runs_pos(&w->in, (size_t)off, w->lines);
	} else {
		/* if positions count lines, no LF follows it before the next one */
		im->open_tail = !w->in.run.by_line;
	}
}

static int scan_run(struct worker *w)
{
	const struct grove__json_want *want = &w->ld->im->want;
	const struct grove_store_run *run = &w->in.run;
	struct grove__json_line l;
	/* if positions count lines, a mark at the start is part of the first one */
	size_t off = run->by_line ? 0 : w->in.mark;
	int rc = 0;

	while (off < run->len && !rc && !w->loose) {
		const char *line = w->in.buf + off;
		size_t mark = run->by_line && !off ? w->in.mark : 0;
		const char *at = line + mark;
		enum grove__json_verdict v = grove__json_scan(want, at, run->len - off - mark, true, &l);
		size_t len = (size_t)l.len + mark;
		bool whole = off + len < run->len;

		if (v == JSON_NOMEM)
			return grove__fail_nomem(&w->d);
		if (!whole)
			note_tail(w, v, off);
		if (v == JSON_VALUE)
			rc = note(w, &l, at, off, len, grove__crc32c(0, line, len));
		else if (v == JSON_BLANK)
			w->blank++;
		else if (whole)
			note_bad(w, off);
		if (v == JSON_BLANK || (v == JSON_BAD && whole))
			note_odd(w, off, line, len);
		if (v != JSON_BAD || (whole && !w->loose))
			w->lines++;
		off += len + 1;
	}
	return rc;
}

/* --- one long line --- */

/*
 * The members of a long line are no longer in memory: fetches the short ones, puts them
 * one after the other, and lets their spans point there.
 */
static int gather(struct worker *w, struct grove__json_line *l, uint64_t pos, struct grove_buf *out)
{
	for (unsigned i = 0; i < w->ld->im->want.nr; i++) {
		struct grove__json_span *s = &l->span[i];
		int rc;

		if (!grove__json_has(l, i))
			continue;
		if (s->len > SPAN_MAX) {
			l->seen &= ~(1u << i);
			continue;
		}
		if (grove__buf_reserve(out, (size_t)s->len + GROVE__JSON_PAD))
			return grove__fail_nomem(&w->d);
		rc = grove__log_fetch(w->ld->log, pos, s->off, out->ptr + out->len, (size_t)s->len,
				      &w->d);
		if (rc)
			return rc;
		s->off = out->len;
		grove__buf_cut(out, out->len + (size_t)s->len);
	}
	return 0;
}

/* The same for a value among much white space: null, 0 and "" do not count. */
static int gather_value(struct worker *w, struct grove__json_line *l, uint64_t pos,
			struct grove_buf *out)
{
	size_t len = (size_t)l->value.len;
	int rc;

	if (grove__buf_reserve(out, len + GROVE__JSON_PAD))
		return grove__fail_nomem(&w->d);
	rc = grove__log_fetch(w->ld->log, pos, l->value.off, out->ptr, len, &w->d);
	l->value.off = 0;
	return rc;
}

/* A header is needed as a whole, however long it is. */
static int fetch_whole(struct worker *w, uint64_t len)
{
	if (len > GROVE__LINE_MAX)
		return grove__fail_at(&w->d, GROVE_ETOOBIG, w->ld->path, 0, w->in.run.pos,
				      "the header is longer than 1 GiB");
	if (grove__runs_room(&w->in, (size_t)len))
		return grove__fail_nomem(&w->d);
	return grove__log_fetch(w->ld->log, w->in.run.pos, 0, w->in.buf, (size_t)len, &w->d);
}

/* Called with the loader's lock held: nobody continues before we know where. */
static int long_line(struct worker *w, struct found *f, struct grove_buf *members,
		     enum grove__json_verdict *v, bool *closed)
{
	struct grove__image *im = w->ld->im;
	struct grove__json_line l;
	struct grove__runs_long line;
	uint64_t len;
	bool whole;
	int rc;

	if (!w->stream)
		w->stream = grove__json_stream_new(&im->want);
	if (!w->stream)
		return grove__fail_nomem(&w->d);
	grove__json_stream_reset(w->stream);
	rc = grove__runs_stream(&w->in, w->stream, &line);
	if (rc)
		return rc;
	*v = line.verdict;
	*closed = line.closed;
	len = line.len;
	if (*v != JSON_VALUE)
		return 0;
	l = *grove__json_stream_line(w->stream);
	/* rules over the whole log need more of a line than its few short members */
	whole = !grove__model_is_path(im->dialect) && len <= GROVE__LINE_MAX;
	if (whole) {
		rc = fetch_whole(w, len);
		if (!rc && grove__json_scan(&im->want, w->in.buf, (size_t)len, true, &l) != JSON_VALUE)
			rc = grove__fail(&w->d, GROVE_ESTALE, w->ld->path, "was changed");
		if (!rc)
			f->class = im->dialect->read.index(&l, w->in.buf, &w->tmp, &f->e);
	} else {
		rc = gather(w, &l, w->in.run.pos, members);
	}
	if (rc)
		return rc;
	if (whole) {
		; /* understood already */
	} else if (l.type == JSON_OBJECT) {
		f->class = im->dialect->read.index(&l, members->ptr, &w->tmp, &f->e);
	} else if (l.value.len <= SPAN_MAX) {
		rc = gather_value(w, &l, w->in.run.pos, members);
		if (!rc)
			f->class = im->dialect->read.index(&l, members->ptr, &w->tmp, &f->e);
	} else {
		/* the value itself is not in memory; all that counts is that it is not empty */
		static const char something[GROVE__JSON_PAD + 1] = "1";

		l.value = (struct grove__json_span){ 0, 1 };
		f->class = im->dialect->read.index(&l, something, &w->tmp, &f->e);
	}
	f->off = 0;
	f->len = len;
	f->line = 0;
	f->crc = line.crc;
	return !rc && f->class == LINE_HEADER ? fetch_whole(w, len) : rc;
}

/* --- the conveyor --- */

/* Keeps these lines in memory. If there is no memory, they are read again when needed. */
static void keep_text(struct loader *ld, const struct grove_store_run *run, const char *buf)
{
	struct grove__image *im = ld->im;
	const char *p = buf, *end = buf + run->len;

	if (!ld->keep || !run->by_line || im->text.len + run->len > UINT32_MAX)
		return;
	for (; p < end && ld->keep; im->text_nr++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		ld->keep = !grove__array_room(&im->text_at, &im->text_cap, im->text_nr, sizeof(*im->text_at));
		if (!ld->keep)
			break;
		im->text_at[im->text_nr] = (uint32_t)(im->text.len + (size_t)(p - buf));
		p = lf ? lf + 1 : end;
	}
	if (ld->keep && (grove__buf_add(&im->text, buf, run->len) ||
			 grove__buf_reserve(&im->text, GROVE__JSON_PAD)))
		ld->keep = false;
	if (!ld->keep)
		im->text_nr = 0;
}

/* Gets the next run. Returns 1 if there is none. */
static int take_run(struct worker *w, struct found *longest, struct grove_buf *members, bool *is_long)
{
	struct loader *ld = w->ld;
	enum grove__json_verdict v = JSON_BAD;
	bool closed = true;
	int rc = 0;

	*is_long = false;
	pthread_mutex_lock(&ld->lock);
	if (ld->end || ld->rc) {
		rc = ld->rc ? ld->rc : 1;
		goto out;
	}
	w->in.pos = ld->pos;
	rc = grove__runs_next(&w->in);
	if (rc)
		goto out;
	keep_text(ld, &w->in.run, w->in.buf);
	w->ticket = ld->issued++;
	/* views read this: it is written once, before there are any */
	if (ld->im->by_line != (bool)w->in.run.by_line)
		ld->im->by_line = w->in.run.by_line;
	/* agents differ about a mark; we accept it */
	if (w->in.mark && !w->in.run.by_line)
		ld->im->odd += grove__proof_odd_line(0, w->in.mark, grove__crc32c(0, w->in.buf, w->in.mark));
	if (w->in.run.open) {
		*is_long = true;
		rc = long_line(w, longest, members, &v, &closed);
		if (!closed)
			note_tail(w, v, 0);
		if (!rc && v == JSON_VALUE && longest->class != LINE_SKIP) {
			w->found[w->nr++] = *longest;
		} else if (!rc && v == JSON_BAD && closed) {
			note_bad(w, 0);
			w->unknown = true;
		} else if (!rc && v != JSON_BAD) {
			w->blank++;
			w->unknown = true;
		}
		if (v != JSON_BAD || (closed && !w->loose))
			w->lines++;
	}
	ld->pos = w->in.pos;
	ld->end = ld->pos >= ld->until;
out:
	if (rc < 0)
		give_up(w, rc);
	pthread_mutex_unlock(&ld->lock);
	return rc;
}

static void work(void *payload, unsigned thread)
{
	struct worker *w = (struct worker *)payload + thread;
	struct grove_buf members = GROVE_BUF_INIT;
	struct found longest;
	bool is_long;

	while (!take_run(w, &longest, &members, &is_long)) {
		if (finish_run(w, is_long ? 0 : scan_run(w)))
			break;
		grove__buf_clear(&members);
	}
	grove__buf_release(&members);
	/* wake threads that wait for a turn that will not come */
	pthread_mutex_lock(&w->ld->lock);
	pthread_cond_broadcast(&w->ld->turn_cond);
	pthread_mutex_unlock(&w->ld->lock);
}

static int worker_init(struct worker *w, struct loader *ld)
{
	size_t cap = ld->bytes < RUN_BYTES ? (size_t)ld->bytes + 1 : RUN_BYTES;

	memset(w, 0, sizeof(*w));
	w->ld = ld;
	w->found = malloc(BATCH * sizeof(*w->found));
	grove__arena_init(&w->tmp);
	if (grove__runs_init(&w->in, cap < 4096 ? 4096 : cap) || !w->found)
		return GROVE_ENOMEM;
	w->in.pieces = true;
	w->in.path = ld->path;
	grove__runs_begin(&w->in, ld->log, ld->begin, ld->until, &w->d);
	return 0;
}

static void worker_release(struct worker *w)
{
	grove__runs_release(&w->in);
	free(w->found);
	grove__arena_release(&w->tmp);
	grove__json_stream_free(w->stream);
}

static int run_workers(struct loader *ld, unsigned nr)
{
	struct worker w[THREADS_MAX];
	unsigned made = 0;
	int rc = 0;

	for (; made < nr && !rc; made++)
		rc = worker_init(&w[made], ld);
	if (!rc) {
		/* only the caller's own thread reports progress */
		w[0].in.progress = ld->progress;
		grove__pool_run(nr, work, w);
	} else {
		grove__fail_nomem(ld->d);
	}
	while (made)
		worker_release(&w[--made]);
	return rc ? rc : ld->rc;
}

/* --- value by value --- */

/* Records a row that is not one line from its first byte on, if positions count lines. */
static int note_span(struct loader *ld, const struct grove__spot *at, bool grown)
{
	struct grove__image *im = ld->im;

	if (!at->off && !at->lines)
		return 0;
	/* views may be reading the existing spans */
	if (grown)
		return grove__fail(ld->d, GROVE_ESTALE, ld->path, "has grown by a value of several lines");
	if (grove__array_room(&im->spans, &im->cap_spans, im->nr_spans, sizeof(*im->spans)))
		return grove__fail_nomem(ld->d);
	im->spans[im->nr_spans++] = (struct grove__span_at){ im->spine->nr - 1, at->lines, at->off };
	return 0;
}

static int take_found(struct loader *ld, struct grove__values *v, struct grove__value *value,
		      struct grove__arena *tmp, bool grown)
{
	struct grove__image *im = ld->im;
	struct grove__entry e;
	enum grove__line_class class = im->dialect->read.index(&value->l, value->ptr, tmp, &e);
	uint32_t rows = im->spine->nr;
	int rc = 0;

	if (tmp->failed)
		return grove__fail_nomem(ld->d);
	value->at.line += im->lines;
	if (class == LINE_SKIP) {
		im->blank++;
		return 0;
	}
	if (class == LINE_HEADER)
		rc = grove__values_whole(v, value);
	if (rc)
		return rc;
	grove__model_lock(&im->model);
	rc = take_value(im, class, &e, &value->at, value->ptr, (size_t)value->at.len);
	if (rc)
		tell_taking(ld, ld->d, rc, &value->at, grove__slice(value->ptr, (size_t)value->at.len));
	else if (class == LINE_HEADER)
		rc = grove__base_load(im, ld->log, &value->at, ld->path, ld->d);
	grove__model_unlock(&im->model);
	if (rc)
		return rc;
	return class != LINE_HEADER && im->spine->nr > rows ? note_span(ld, &value->at, grown) : 0;
}

/* Counts what was skipped. */
static int count_passed(struct loader *ld, const struct grove__values *v, bool grown)
{
	struct grove__image *im = ld->im;
	struct grove__json_passed p;
	uint64_t off;

	grove__values_passed(v, &p);
	/* what an unfinished value reveals may come before what is new */
	if (p.torn && grown && im->loose)
		return grove__fail(ld->d, GROVE_ESTALE, ld->path, "ends inside a value");
	/* a torn tail and nothing else does not affect the lines before it */
	im->loose |= !p.torn || p.lines > 1 || p.torn_pos != ld->loose_pos || im->by_line;
	/* the lines of an unfinished value are malformed, the last one is torn */
	if (p.torn) {
		uint64_t first = p.torn_line + p.torn_rest, lost = p.lines - first - 1;

		if (lost && !p.bad) {
			p.bad_line = first;
			p.bad_pos = p.torn_pos;
		}
		p.bad += lost;
		p.lines--;
		im->torn = true;
		im->next = grove__values_place(v, p.torn_pos, &im->torn_off);
	}
	im->open_tail = p.open && !im->by_line && !p.torn;
	if (p.bad && !im->malformed) {
		im->bad_line = im->lines + p.bad_line;
		im->bad_pos = grove__values_place(v, p.bad_pos, &off);
	}
	im->lines += p.lines;
	im->malformed += p.bad;
	im->blank += p.blank;
	return 0;
}

static int load_values(struct loader *ld, bool grown)
{
	struct grove__image *im = ld->im;
	struct grove__values *v;
	struct grove__value value;
	struct grove__arena tmp;
	struct grove__runs told = { .progress = ld->progress, .path = ld->path, .d = ld->d, .begin = ld->begin,
				    .pos = ld->loose_pos, .until = ld->until };
	int rc = grove__values_new(&v, &im->want, ld->log, ld->loose_pos, ld->until, im->by_line,
				   RUN_BYTES, ld->d);

	grove__arena_init(&tmp);
	while (!rc && !(rc = grove__values_next(v, &value))) {
		rc = take_found(ld, v, &value, &tmp, grown);
		grove__arena_clear(&tmp);
		if (!rc && (im->by_line || value.at.pos - told.pos >= RUN_BYTES)) {
			told.pos = value.at.pos;
			rc = grove__runs_tell(&told);
		}
	}
	if (rc == 1)
		rc = count_passed(ld, v, grown);
	grove__arena_release(&tmp);
	grove__values_free(v);
	return rc;
}

/* Feeds `len` bytes. Returns false if they cannot continue an unfinished value. */
static int feed(struct grove__json_stream *s, const char *ptr, size_t len, bool *on)
{
	size_t used;
	int state = *on ? grove__json_stream_feed(s, ptr, len, false, &used) : JSON_STREAM_BAD;

	*on = state == JSON_STREAM_MORE;
	return state < 0 ? state : 0;
}

/* Feeds the bytes of the log from the unfinished value on. */
static int feed_torn(const struct grove__image *im, struct grove_store_log *log,
		     struct grove__json_stream *s, bool *on, struct grove_detail *d)
{
	size_t skip = (size_t)im->torn_off;
	struct grove__runs r;
	int rc = grove__runs_init(&r, TORN_BYTES) ? grove__fail_nomem(d) : 0;

	r.pieces = true;
	grove__runs_begin(&r, log, im->next, im->tail, d);
	while (!rc && *on && !(rc = grove__runs_next(&r))) {
		if (r.run.len < skip)
			rc = grove__fail(d, GROVE_ESTALE, NULL, "its last line was changed");
		else if (feed(s, r.buf + skip, r.run.len - skip, on))
			rc = grove__fail_nomem(d);
		skip = 0;
	}
	grove__runs_release(&r);
	return rc < 0 ? rc : 0;
}

int grove__image_torn_swallows(const struct grove__image *im, struct grove_store_log *log,
			       bool *yes, struct grove_detail *d)
{
	static const char next[] = "\n{\"a\":0}";
	struct grove__json_want nothing;
	struct grove__json_stream *s;
	bool on = true;
	int rc;

	*yes = false;
	if (!im->torn || !grove__dialect_by_value(im->dialect))
		return 0;
	grove__json_want_init(&nothing, NULL, 0);
	s = grove__json_stream_new(&nothing);
	if (!s)
		return grove__fail_nomem(d);
	rc = feed_torn(im, log, s, &on, d);
	if (!rc && feed(s, next, sizeof(next) - 1, &on))
		rc = grove__fail_nomem(d);
	grove__json_stream_free(s);
	*yes = !rc && on;
	return rc;
}

/* --- the whole --- */

/*
 * If a last line without LF was counted, the log must continue with that LF; otherwise
 * the line has changed.
 */
static int close_tail(struct loader *ld)
{
	struct grove__image *im = ld->im;
	char c;
	int rc;

	if (!im->open_tail || ld->pos >= ld->until)
		return 0;
	rc = grove__log_fetch(ld->log, ld->pos, 0, &c, 1, ld->d);
	if (rc)
		return rc;
	if (c != '\n')
		return grove__fail(ld->d, GROVE_ESTALE, ld->path, "its last line was changed");
	ld->pos++;
	im->open_tail = false;
	return 0;
}

/*
 * The log grew, or its times changed. If its length is the same, it may have been
 * changed anywhere, and all of it is compared. If it is longer, it is assumed to have
 * only grown if its ends are the same: a program that follows it cannot read all of it
 * for each new line, unless it is short. Lines that are printed are compared anyway.
 */
static int still_the_same(const struct grove__image *im, struct grove_store_log *log,
			  const struct grove_store_log_stat *st, const char *path,
			  struct grove_detail *d)
{
	bool moved = st->tail == im->tail && im->ctime_ns;
	bool provable = !im->by_line && !im->loose && !im->unknown;
	int rc;

	if (!moved && (!provable || im->tail > PROVE_MAX))
		return grove__image_verify(im, im->spine->nr, log, d);
	rc = grove__image_prove(im, log);
	return rc ? grove__fail(d, rc, path, rc == GROVE_ESTALE ? "was changed in its place" : "out of memory") : 0;
}

int grove__image_load(struct grove__image *im, struct grove_store_log *log, const char *path,
		      const struct grove_progress *progress, struct grove_detail *d)
{
	struct loader ld = { .im = im, .log = log, .path = path, .progress = progress, .d = d };
	struct grove_store_log_stat st;
	uint32_t from = im->spine->nr;
	bool grown = im->lines, settled;
	unsigned threads = 1;
	int rc = grove__log_stat(log, &st, d);

	if (rc)
		return rc;
	/* evaluated now: a change while we read must not go unnoticed */
	settled = grove__sys_settled(st.ctime_ns);
	if (grove__image_spoilt(im))
		return grove__fail(d, GROVE_ESTALE, path, "was changed");
	if (im->lines && grove__image_old(im) && st.tail > im->tail)
		return grove__fail(d, GROVE_ESTALE, path, "an old version has grown");
	if (im->lines && st.generation != im->generation)
		return grove__fail(d, GROVE_ESTALE, path, "was rewritten");
	if (st.tail < im->tail)
		return grove__fail(d, GROVE_ESTALE, path, "became shorter");
	/* a file that is rewritten in place need not be shorter */
	if (im->lines && (st.tail > im->tail || st.ctime_ns != im->ctime_ns)) {
		rc = still_the_same(im, log, &st, path, d);
		if (rc)
			return rc;
	}
	/* it may change while nothing else does */
	im->base = st.base;
	if (im->torn && im->loose) {
		if (st.tail == im->tail && st.ctime_ns == im->ctime_ns)
			return 0;
		return grove__fail(d, GROVE_ESTALE, path, "its last value goes on");
	}
	ld.pos = ld.begin = im->next;
	ld.until = st.tail;
	rc = close_tail(&ld);
	if (rc)
		return rc;
	im->torn = false;
	ld.keep = st.remote && !im->next && st.bytes <= TEXT_MAX &&
		  !grove__buf_reserve(&im->text, (size_t)(st.bytes + st.tail) + GROVE__JSON_PAD);
	im->next = UINT64_MAX;
	ld.end = ld.pos >= ld.until;
	/* positions may count lines */
	ld.bytes = st.bytes > im->bytes ? st.bytes - im->bytes : 0;
	if (ld.bytes < ld.until - ld.pos)
		ld.bytes = ld.until - ld.pos;
	if (ld.bytes >= THREADS_FROM)
		threads = grove__sys_cpus() > 1 ? THREADS_MAX : 1;
	pthread_mutex_init(&ld.lock, NULL);
	pthread_cond_init(&ld.turn_cond, NULL);
	if (!ld.end)
		rc = run_workers(&ld, threads);
	if (rc == LOOSE)
		rc = load_values(&ld, grown);
	pthread_mutex_destroy(&ld.lock);
	pthread_cond_destroy(&ld.turn_cond);
	if (rc) {
		grove__image_spoil(im);
		return rc;
	}
	/* unless a torn line said where to continue: at the end */
	if (im->next == UINT64_MAX)
		im->next = ld.until;
	im->tail = ld.until;
	im->ctime_ns = st.ctime_ns;
	im->mtime_ns = st.mtime_ns;
	im->settled = settled;
	im->bytes = st.bytes;
	im->generation = st.generation;
	if (!im->has_header && !im->may_be_empty)
		return grove__fail(d, GROVE_EDAMAGED, path,
				   st.bytes ? "not a valid %s session: it has no header"
					    : "not a %s session: the file is empty",
				   im->dialect->name);
	rc = grove__tree_link(im->spine, from);
	if (rc)
		grove__image_spoil(im);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc)
		grove__fail(d, rc, path, "new lines change what older ones mean");
	return rc;
}
