/*
 * transfer/archive_log.c: updates one log in an archive.
 *
 * The archive's lines are compared with those of the source. There are five cases:
 *
 *     archive   source
 *     a b c     a b c        the same: nothing to do
 *     a b       a b c d      it grew: c and d are appended
 *     a b c     a b cd e     c was half a line: the log is rewritten
 *     a b c     a x c        lines are gone: the old log goes to .older, as a
 *     a b c     a b          whole, and the new one replaces it
 *
 * A line that was archived stays in the archive. An interrupted append leaves a prefix,
 * which the next run continues; a log that is rewritten is replaced atomically.
 *
 * The note of the last run saves most of the reading: all of it if the source has not
 * changed since; that of the archive if the archive has not, since the checksum of its
 * lines is known.
 */
#include "transfer/archive.h"

#include "session/leaf.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/stamp.h"
#include "sys/state.h"

#include <stdlib.h>

#define BATCH_LINES 256
#define PIECE ((size_t)1 << 20)
#define CARRY ((size_t)1 << 10)      /* longer than the name of a blob */
#define TRIES 4

/* --- comparing --- */

int grove__archive_compare(struct grove__lines *src, struct grove__lines *copy, bool open,
			   enum grove__compared *out, struct grove_slice *line)
{
	struct grove_slice have;
	int a, b;

	for (;;) {
		b = grove__lines_next(copy, &have);
		if (b < 0)
			return b;
		a = grove__lines_next(src, line);
		if (a < 0)
			return a;
		if (a || b) {
			*out = a && b ? GROVE__COMPARED_SAME : b ? GROVE__COMPARED_GROWN : GROVE__COMPARED_SHORTER;
			return 0;
		}
		a = grove__lines_begins(src, *line, copy, have);
		if (a < 0)
			return a;
		if (!a || src->len != copy->len)
			break;
	}
	*out = GROVE__COMPARED_CHANGED;
	b = src->open ? grove__lines_begins(copy, have, src, *line) : 0;
	if (b == 1)
		*out = GROVE__COMPARED_SHORTER;
	if (b || !a || (!open && !copy->open))
		return b < 0 ? b : 0;
	b = grove__lines_next(copy, &have);
	if (b == 1)
		*out = GROVE__COMPARED_COMPLETED;
	return b < 0 ? b : 0;
}

/* Compares with what the note says about the archive's lines. */
static int compare_note(struct grove__lines *src, const struct grove__note_log *note, enum grove__compared *out,
			struct grove_slice *line)
{
	int rc = 0;

	while (!rc && src->lines < note->lines)
		rc = grove__lines_next(src, line);
	if (rc < 0)
		return rc;
	if (rc || src->bytes != note->bytes || src->crc != note->crc) {
		*out = GROVE__COMPARED_CHANGED;
		return 0;
	}
	rc = grove__lines_next(src, line);
	if (rc < 0)
		return rc;
	*out = rc ? GROVE__COMPARED_SAME : GROVE__COMPARED_GROWN;
	return 0;
}

/* --- storing --- */

int grove__archive_lines(struct grove__archiver *k, struct grove__lines *r,
			 struct grove_store_log *log, uint64_t until)
{
	int rc = grove__lines_init(r, log, until, k->d);

	r->long_lines = grove__store_traits(k->from).paths && grove__store_traits(k->to).paths;
	return rc;
}

/* Archives the blobs that a long line refers to; a name may span two pieces. */
static int long_blobs(struct grove__archiver *k, const struct grove__lines *r)
{
	char *piece = malloc(PIECE + CARRY);
	size_t carry = 0;
	int rc = piece ? 0 : grove__fail_nomem(k->d);

	for (uint64_t off = 0; off < r->len && !rc;) {
		size_t n = r->len - off < PIECE ? (size_t)(r->len - off) : PIECE, all = carry + n;

		rc = grove__log_fetch(r->runs.log, r->at, off, piece + carry, n, k->d);
		if (!rc)
			rc = grove__archive_blobs(k, grove__slice(piece, all));
		carry = all < CARRY ? all : CARRY;
		memmove(piece, piece + all - carry, carry);
		off += n;
	}
	free(piece);
	return rc;
}

/* Appends the current line, which is long. */
static int append_long(struct grove__archiver *k, struct grove__archive_lines_to *to, const struct grove__lines *r)
{
	struct grove_store_appended done;
	int rc = to->blobs ? long_blobs(k, r) : 0;

	if (!rc)
		rc = grove__store_jsonl_append_long(to->log, r->runs.log, r->at, r->len, to->tail, &done, k->d);
	if (rc)
		return rc;
	to->tail = done.tail;
	to->stored++;
	return grove__archive_go_on(k);
}

struct batch {
	struct grove_store_record rec[BATCH_LINES];
	size_t nr;
};

static int flush(struct grove__archiver *k, struct grove__archive_lines_to *to, struct batch *b)
{
	struct grove_store_appended done;
	int rc;

	if (!b->nr)
		return 0;
	rc = grove__log_append(to->log, b->rec, b->nr, to->tail, GROVE_SYNC_NONE, &done, k->d);
	if (!rc) {
		to->tail = done.tail;
		to->stored += b->nr;
	}
	b->nr = 0;
	if (to->records)
		grove__records_clear(to->records);
	return rc ? rc : grove__archive_go_on(k);
}

static int add_line(struct grove__archiver *k, struct grove__archive_lines_to *to, struct batch *b,
		    struct grove_slice line)
{
	struct grove_store_record *rec = &b->rec[b->nr];
	int rc = to->blobs ? grove__archive_blobs(k, line) : 0;

	*rec = (struct grove_store_record){ .line = line };
	if (!rc && to->records && grove__records_fill(to->records, line, rec))
		rc = grove__fail_nomem(k->d);
	b->nr += !rc;
	return rc;
}

int grove__archive_append(struct grove__archiver *k, struct grove__archive_lines_to *to,
			  struct grove__lines *r, struct grove_slice line)
{
	struct batch *b = calloc(1, sizeof(*b));
	int rc = b ? 0 : grove__fail_nomem(k->d);

	while (!rc) {
		if (r->is_long) {
			rc = flush(k, to, b);
			rc = rc ? rc : append_long(k, to, r);
		} else {
			rc = add_line(k, to, b, line);
			/* the buffer of these lines is about to be reused */
			if (!rc && (b->nr == BATCH_LINES || !grove__lines_more(r)))
				rc = flush(k, to, b);
		}
		rc = rc ? rc : grove__lines_next(r, &line);
	}
	if (rc == 1)
		rc = flush(k, to, b);
	free(b);
	return rc;
}

/* The same for a log of the archive, which is on disk then. */
static int append_rest(struct grove__archiver *k, struct grove_store_log *log, uint64_t tail,
		       struct grove__lines *r, struct grove_slice line, bool blobs)
{
	struct grove__archive_lines_to to = { .log = log, .tail = tail, .blobs = blobs };
	int rc = grove__archive_append(k, &to, r, line);

	return rc ? rc : grove__log_sync(log, k->d);
}

/* Copies the whole log of the archive to that name. */
static int set_aside(struct grove__archiver *k, struct grove_store_log *log, uint64_t until,
		     const char *name)
{
	struct grove_key key = k->to_key;
	struct grove_store_log *copy = NULL;
	struct grove__lines r;
	struct grove_slice line;
	bool made = false;
	int rc = grove__archive_lines(k, &r, log, until);

	key.subpath = name;
	if (!rc)
		rc = grove__lines_next(&r, &line);
	if (!rc) {
		rc = grove__log_open(&copy, k->to, &key, GROVE_STORE_CREATE, k->d);
		made = !rc;
	}
	if (!rc)
		rc = append_rest(k, copy, 0, &r, line, false);
	grove__log_close(copy);
	/* half a copy is useless: the log itself is still there */
	if (rc && made)
		grove__store_remove(k->to, &key, NULL);
	grove__lines_release(&r);
	return rc == 1 ? 0 : rc;
}

struct rewriting {
	struct grove__archiver *k;
	struct grove__lines *r;
};

static int rewrite_next(void *payload, struct grove_store_record *rec)
{
	struct rewriting *w = payload;
	int rc = grove__lines_next(w->r, &rec->line);

	if (!rc && w->r->is_long)
		rc = grove__fail_at(w->k->d, GROVE_ETOOBIG, NULL, w->r->lines, w->r->at,
				    "line %llu is longer than 1 GiB, in a log that was rewritten",
				    (unsigned long long)w->r->lines);
	if (!rc && w->r->lines % BATCH_LINES == 0)
		rc = grove__archive_go_on(w->k);
	return rc ? rc : grove__archive_blobs(w->k, rec->line);
}

static int write_anew(struct grove__archiver *k, struct grove_store_log *log, uint64_t tail,
		      struct grove__lines *src)
{
	struct rewriting w = { k, src };

	grove__lines_rewind(src);
	return grove__log_rewrite(log, rewrite_next, &w, tail, 0, k->d);
}

/* Lines of the archive are gone from the source: they stay, elsewhere. */
static int take_over(struct grove__archiver *k, const char *sub, struct grove_store_log *log,
		     uint64_t tail, struct grove__lines *src)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove_key key = k->to_key;
	int rc = grove__archive_older(k, *sub ? sub : k->to_key.session, &name);

	rc = rc ? rc : set_aside(k, log, tail, name.ptr);
	while (rc == GROVE_EEXIST) {
		rc = grove__archive_later(k);
		rc = rc ? rc : grove__archive_older(k, *sub ? sub : k->to_key.session, &name);
		rc = rc ? rc : set_aside(k, log, tail, name.ptr);
	}
	if (!rc) {
		rc = write_anew(k, log, tail, src);
		key.subpath = name.ptr;
		/* after these, and only these, the log is known to be the old one */
		if (rc == GROVE_ESTALE || rc == GROVE_ECONFLICT || rc == GROVE_ECANCELLED)
			grove__store_remove(k->to, &key, NULL);
		else
			k->kept = true;
	}
	grove__buf_release(&name);
	return rc;
}

/* --- one log --- */

struct pair {
	struct grove_store_log *src, *dst;
	struct grove_store_log_stat from, to;
	bool settled;                    /* a change after `from` shows in the times */
};

static int open_pair(struct grove__archiver *k, const char *sub, struct pair *p)
{
	struct grove_key from = k->from_key, to = k->to_key;
	int rc;

	from.subpath = to.subpath = sub;
	rc = grove__log_open(&p->src, k->from, &from, GROVE_STORE_READ, k->d);
	if (!rc)
		rc = grove__time_stat(p->src, &p->from, k->d);
	p->settled = !rc && grove__sys_settled(p->from.ctime_ns);
	if (rc || !p->from.bytes)
		return rc;
	rc = grove__log_open(&p->dst, k->to, &to, k->dry ? GROVE_STORE_READ : GROVE_STORE_WRITE, k->d);
	if (rc == GROVE_ENOTFOUND && k->dry)
		return 0;
	if (rc == GROVE_ENOTFOUND)
		rc = grove__log_open(&p->dst, k->to, &to, GROVE_STORE_CREATE, k->d);
	/* of a file, the note next to it says this */
	if (!rc && !k->dry && !*sub && !grove__store_traits(k->to).paths)
		grove__peek_mark_dialect(p->dst, k->dialect);
	/* another run was faster: compare again */
	if (rc == GROVE_EEXIST)
		rc = GROVE_ECONFLICT;
	return rc ? rc : grove__log_stat(p->dst, &p->to, k->d);
}

static bool untouched(const struct pair *p, const struct grove__note_log *note)
{
	return note->seen.ctime_ns && note->bytes == p->to.bytes && grove__log_is_still(&p->from, &note->seen, true);
}

static int compare(struct grove__archiver *k, struct pair *p, struct grove__lines *src,
		   const struct grove__note_log *note, enum grove__compared *change,
		   struct grove_slice *line)
{
	struct grove__lines dst;
	int rc;

	/* there is nothing yet, and a dry run has not made it */
	if (!p->dst) {
		rc = grove__lines_next(src, line);
		*change = rc == 1 ? GROVE__COMPARED_SAME : GROVE__COMPARED_GROWN;
		return rc == 1 ? 0 : rc;
	}
	if (note->lines && !note->open && note->bytes == p->to.bytes)
		return compare_note(src, note, change, line);
	rc = grove__archive_lines(k, &dst, p->dst, p->to.tail);
	if (!rc)
		rc = grove__archive_compare(src, &dst, note->open, change, line);
	/* what the source has no longer stays elsewhere */
	if (!rc && *change == GROVE__COMPARED_SHORTER)
		*change = GROVE__COMPARED_CHANGED;
	/* half of a long line is truncated, and it is appended as a whole */
	if (!rc && *change == GROVE__COMPARED_COMPLETED && src->is_long && !k->dry) {
		rc = grove__log_cut(p->dst, dst.at, p->to.tail, GROVE_SYNC_NONE, k->d);
		p->to.tail = dst.at;
		*change = GROVE__COMPARED_GROWN;
	}
	grove__lines_release(&dst);
	return rc;
}

static void take_note(struct grove__note_log *note, const struct pair *p, const struct grove__lines *src)
{
	note->lines = src->lines;
	note->bytes = src->bytes;
	note->crc = src->crc;
	note->open = src->open;
	note->seen = (struct grove__log_state){ 0 };
	if (p->settled)
		note->seen = (struct grove__log_state){ .size = p->from.bytes, .mtime_ns = p->from.mtime_ns,
							.ctime_ns = p->from.ctime_ns };
}

/* If lists show a file's time, they should show that of the session. */
int grove__archive_time(struct grove__archiver *k, const char *sub, int64_t mtime_ns)
{
	struct grove_key key = k->to_key;

	key.subpath = sub;
	return grove__time_set(k->to, &key, mtime_ns, k->d);
}

/* Reads what would be stored, from the current line on. */
static int count_rest(struct grove__archiver *k, struct grove__lines *src, struct grove_slice line)
{
	int rc = 0;

	while (!rc) {
		rc = src->is_long ? 0 : grove__archive_blobs(k, line);
		rc = rc ? rc : grove__lines_next(src, &line);
	}
	return rc == 1 ? 0 : rc;
}

/* Makes the archived log what the source is. */
static int store_lines(struct grove__archiver *k, const char *sub, struct pair *p, struct grove__lines *src,
		       enum grove__compared change, struct grove_slice line)
{
	if (change == GROVE__COMPARED_SAME)
		return 0;
	if (k->dry) {
		k->kept |= change == GROVE__COMPARED_CHANGED;
		return count_rest(k, src, line);
	}
	if (change == GROVE__COMPARED_GROWN)
		return append_rest(k, p->dst, p->to.tail, src, line, true);
	return change == GROVE__COMPARED_CHANGED ? take_over(k, sub, p->dst, p->to.tail, src)
				 : write_anew(k, p->dst, p->to.tail, src);
}

static int keep_log(struct grove__archiver *k, const char *sub, struct pair *p,
		    struct grove__note_log *note, bool *fresh)
{
	struct grove_slice line = { NULL, 0 };
	struct grove__lines src;
	enum grove__compared change = GROVE__COMPARED_SAME;
	uint64_t before, bytes;
	int rc = grove__archive_lines(k, &src, p->src, p->from.tail);

	if (!rc)
		rc = compare(k, p, &src, note, &change, &line);
	before = change == GROVE__COMPARED_GROWN || change == GROVE__COMPARED_COMPLETED ? src.lines - 1 : 0;
	bytes = before ? src.bytes - src.len - 1 : 0;
	rc = rc ? rc : store_lines(k, sub, p, &src, change, line);
	if (!rc) {
		if (change != GROVE__COMPARED_SAME) {
			k->out->lines += src.lines - before;
			k->out->bytes += src.bytes - bytes;
		}
		if (fresh)
			*fresh = !p->to.bytes;
		take_note(note, p, &src);
		if (change != GROVE__COMPARED_SAME && !k->dry)
			rc = grove__archive_time(k, sub, p->from.mtime_ns);
	}
	grove__lines_release(&src);
	return rc;
}

int grove__archive_log(struct grove__archiver *k, const char *sub, bool *fresh)
{
	struct grove__note_log *note = grove__note_log(&k->note, sub);
	int64_t patience_ns = grove__sys_ticks_ns() + (int64_t)grove__sys_lock_ms * 1000000;
	int rc = 0;

	if (!note)
		return grove__fail_nomem(k->d);
	/* the source may change while it is read, and another run may be working */
	for (int tries = 0; tries < TRIES; tries++) {
		struct pair p = { 0 };

		rc = open_pair(k, sub, &p);
		/* an empty source has nothing to archive, and is no reason to drop anything */
		if (!rc && p.from.bytes && !untouched(&p, note))
			rc = keep_log(k, sub, &p, note, fresh);
		if (!rc && !*sub && p.from.bytes && !k->dry)
			rc = grove__kept_copy(p.src, p.dst, k->d);
		if (!rc && !*sub)
			k->out->total_lines = note->lines;
		grove__log_close(p.src);
		grove__log_close(p.dst);
		if (rc != GROVE_ESTALE && rc != GROVE_ECONFLICT)
			break;
		/* it has waited for a lock that is not released: once is enough */
		if (grove__sys_ticks_ns() >= patience_ns)
			break;
	}
	return rc;
}
