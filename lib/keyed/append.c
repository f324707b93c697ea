/*
 * keyed/append.c: appends lines to a log, or replaces all of them.
 *
 * To skip lines that are already there, an append has to know the log up to its end, and
 * nobody may write between that look and the append. So it is a compare-and-append: if the
 * log still ends where our knowledge of it ends, that knowledge is complete. Otherwise we
 * read what others wrote and try again. As long as nobody else writes, no look is needed:
 * an append is a single call to the store.
 */
#include "keyed/keyed.h"

#include "sys/watch.h"

#include <stdlib.h>

#define TRIES 400
#define HURRY 8              /* tries without a pause */

/* An append and all its tries. */
struct adding {
	struct grove_log *l;
	const struct grove_slice *lines;
	size_t nr;
	const struct grove_log_options *opt;
	struct grove_buf text;           /* the lines, followed by padding for the scanner */
	struct grove_slice *own;         /* the lines in `text` */
	struct grove_slice *id;          /* for each line; empty if none */
	struct grove__arena tmp;
	struct grove__keyed_ids batch;   /* ids of this call */
	struct grove_store_record *rec;  /* what will be stored */
	size_t *from;                    /* the index of the line that each is */
	size_t nr_rec;
	size_t at;                       /* the next line to replace with */
	struct grove__records records;
	bool has_records;
	struct grove_store_log_stat seen;  /* the end of the log at the last look … */
	bool looked;                     /* … if this try was based on one */
	struct grove_store_appended done;
	struct grove_detail *d;
};

static bool compares(const struct grove_log_options *opt)
{
	return opt->flags & (GROVE_LOG_IF_SEQ | GROVE_LOG_IF_BYTES);
}

/* Returns true if the number of lines is needed, by the caller or by us. */
static bool counts(const struct grove_log_options *opt)
{
	return opt->flags & (GROVE_LOG_IF_SEQ | GROVE_LOG_COUNT);
}

static int find_ids(struct adding *a)
{
	struct grove__keyed_ids *known = &a->l->ids;
	const char *member = a->opt->id_member;
	int rc = 0;

	a->id = calloc(a->nr + 1, sizeof(*a->id));
	if (!a->id)
		return grove__fail_nomem(a->d);
	if (member && (!known->member || strcmp(known->member, member)))
		rc = grove__keyed_ids_reset(known, member);
	for (size_t i = 0; i < a->nr && member && !rc; i++)
		rc = grove__keyed_ids_of(known, a->lines[i], &a->tmp, &a->id[i]);
	return rc ? grove__fail_nomem(a->d) : 0;
}

static int init(struct adding *a)
{
	int rc = 0;

	grove__arena_init(&a->tmp);
	grove__keyed_ids_init(&a->batch);
	a->rec = calloc(a->nr + 1, sizeof(*a->rec));
	a->from = calloc(a->nr + 1, sizeof(*a->from));
	if (!a->rec || !a->from)
		return grove__fail_nomem(a->d);
	if (a->opt->id_member || a->l->columns) {
		rc = grove__records_copy(a->lines, a->nr, &a->text, &a->own);
		a->lines = a->own;
	}
	return rc ? grove__fail_nomem(a->d) : find_ids(a);
}

static void release(struct adding *a)
{
	grove__buf_release(&a->text);
	grove__arena_release(&a->tmp);
	grove__keyed_ids_release(&a->batch);
	if (a->has_records)
		grove__records_release(&a->records);
	free(a->own);
	free(a->id);
	free(a->rec);
	free(a->from);
}

/* -------------------------------------------------------- reading lines */

/*
 * Stores with columns need to know what each line is and which agent wrote the log, which
 * its first line need not show.
 */
static int find_dialect(struct adding *a)
{
	struct grove_log *l = a->l;
	bool tell = l->made;
	int rc = 0;

	l->made = false;
	if (!l->columns || l->dialect)
		return 0;
	l->dialect = l->g->forced;
	if (!l->dialect && !tell)
		rc = grove__peek_told_dialect(l->held->log, &l->dialect, a->d);
	if (!rc && !l->dialect) {
		l->dialect = grove__records_dialect(a->lines, a->nr);
		tell = true;
	}
	if (!rc && l->dialect && tell)
		grove__peek_mark_dialect(l->held->log, l->dialect);
	return rc;
}

static int fill_record(struct adding *a, size_t i, struct grove_store_record *rec)
{
	*rec = (struct grove_store_record){ .line = a->lines[i] };
	if (!a->l->columns || !a->l->dialect)
		return 0;
	if (!a->has_records)
		grove__records_init(&a->records, a->l->dialect);
	a->has_records = true;
	return grove__records_fill(&a->records, a->lines[i], rec);
}

/* Selects the lines that are not there yet. */
static int choose_lines(struct adding *a)
{
	int rc = grove__keyed_ids_reset(&a->batch, NULL);

	if (a->has_records)
		grove__records_clear(&a->records);
	/* a header, or a title before it, can only be the first line of a log */
	a->records.any = a->l->ids.valid && a->l->ids.tail;
	a->nr_rec = 0;
	for (size_t i = 0; i < a->nr && !rc; i++) {
		if (a->id[i].len && (grove__keyed_ids_has(&a->l->ids, a->id[i]) ||
				     grove__keyed_ids_has(&a->batch, a->id[i])))
			continue;
		if (a->id[i].len)
			rc = grove__keyed_ids_add(&a->batch, a->id[i]);
		if (!rc)
			rc = fill_record(a, i, &a->rec[a->nr_rec]);
		a->from[a->nr_rec++] = i;
	}
	return rc ? grove__fail_nomem(a->d) : 0;
}

/* ---------------------------------------------------------------- one try */

static int not_as_expected(struct grove_log *l, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	const struct grove_key key = grove__keyed_name_key(&l->name);

	grove__store_describe(l->store, &key, &path);
	grove__fail(d, GROVE_ECONFLICT, path.len ? path.ptr : l->store->url,
		    "the log is not what it was expected to be");
	grove__buf_release(&path);
	return GROVE_ECONFLICT;
}

/* Checks that the log is as the caller expects. Counts lines if requested. */
static int compare(struct grove_log *l, const struct grove_log_options *opt,
		   const struct grove_store_log_stat *st, uint64_t lines, struct grove_detail *d)
{
	if ((opt->flags & GROVE_LOG_IF_BYTES && st->bytes != opt->bytes) ||
	    (opt->flags & GROVE_LOG_IF_SEQ && lines != opt->seq))
		return not_as_expected(l, d);
	return 0;
}

/* Learns the log up to its end, as far as `opt` needs that. */
static int look_at_end(struct grove_log *l, const struct grove_log_options *opt,
		       struct grove_store_log_stat *st, struct grove_detail *d)
{
	int rc = grove__keyed_stat(l, st, d);

	if (!rc && ((counts(opt) && !grove__keyed_is_counted(st)) || opt->id_member))
		rc = grove__keyed_ids_extend(&l->ids, l->held->log, st, l->dialect, d);
	return rc;
}

/* Returns the number of lines right after a look; GROVE_LOG_UNCOUNTED if that did not need it. */
static uint64_t lines_of(const struct grove_log *l, const struct grove_store_log_stat *st)
{
	if (grove__keyed_is_counted(st))
		return st->tail;
	return l->ids.valid && l->ids.tail == st->tail ? l->ids.lines + l->ids.open
						       : GROVE_LOG_UNCOUNTED;
}

/* Our lines are stored, and known from now on if nothing came in between. */
static void learn(struct adding *a)
{
	struct grove__keyed_ids *k = &a->l->ids;
	int rc = 0;

	if (!k->valid)
		return;
	if (a->done.pos != k->tail || k->open) {
		/* the next look continues after the last complete line */
		k->tail = k->pos;
		k->open = true;
		return;
	}
	for (size_t i = 0; i < a->nr_rec && !rc; i++)
		if (k->member && a->id[a->from[i]].len)
			rc = grove__keyed_ids_add(k, a->id[a->from[i]]);
	k->valid = !rc;
	k->tail = k->pos = a->done.tail;
	k->lines += a->nr_rec;
}

static int store_lines(struct adding *a)
{
	struct grove_log *l = a->l;
	enum grove_sync sync = a->opt->sync == GROVE_SYNC_FLUSH ? GROVE_SYNC_FLUSH : GROVE_SYNC_NONE;
	bool knows = l->ids.valid && a->opt->id_member;
	uint64_t expect = a->looked ? a->seen.tail : knows ? l->ids.tail : GROVE_ANY_POS;
	uint64_t base = a->looked ? a->seen.base : knows ? l->ids.base : GROVE_ANY_BASE;
	/* syncing is a second step, outside our turn */
	int rc = grove__log_append_on(l->held->log, a->rec, a->nr_rec, expect, base, sync, &a->done,
				      a->d);

	if (!rc)
		learn(a);
	else if (rc != GROVE_ECONFLICT)
		l->ids.valid = false;
	return rc;
}

/* A log that does not exist is empty; checks that the caller expects that. */
static int make_log(struct grove_log *l, const struct grove_log_options *opt, struct grove_detail *d)
{
	const struct grove_store_log_stat none = { 0 };
	int rc = compare(l, opt, &none, 0, d);

	return rc ? rc : grove__keyed_have(l, true, d);
}

/*
 * Returns true if no look is needed, because the append itself would notice that the log is
 * not what we know. A replaced file is noticed.
 */
static bool may_trust(const struct grove_log *l)
{
	return l->ids.valid && !l->ids.open && l->held &&
	       (!l->columns || grove__log_has_changes(l->held->log));
}

/* `must_look` forces a look at the end of the log. */
static int add_once(struct adding *a, bool must_look)
{
	struct grove_log *l = a->l;
	int rc = grove__keyed_have(l, false, a->d);

	if (rc == GROVE_ENOTFOUND)
		rc = make_log(l, a->opt, a->d);
	if (!rc)
		rc = find_dialect(a);
	a->looked = must_look || compares(a->opt) || (a->opt->id_member && !may_trust(l));
	if (!rc && a->looked)
		rc = look_at_end(l, a->opt, &a->seen, a->d);
	if (!rc && compares(a->opt))
		rc = compare(l, a->opt, &a->seen, lines_of(l, &a->seen), a->d);
	if (!rc)
		rc = choose_lines(a);
	if (rc || a->nr_rec)
		return rc ? rc : store_lines(a);
	/* nothing to store if our knowledge is still valid, which no append will confirm */
	return a->looked ? 0 : add_once(a, true);
}

/* ------------------------------------------------------------- try again? */

/*
 * A try was refused. Returns true if it is worth another one, because the log changed since
 * the look. Otherwise somebody holds the lease, or has the file open.
 */
static bool moved_on(struct grove_log *l, bool looked, const struct grove_store_log_stat *seen)
{
	struct grove_store_log_stat now;

	return !looked || grove__keyed_stat(l, &now, NULL) || now.tail != seen->tail ||
	       now.base != seen->base || now.generation != seen->generation;
}

/*
 * Returns true if a call that ended with `rc` should be tried again, after a pause if there
 * are many writers.
 */
static bool again(struct grove_log *l, int rc, int tries, bool moved)
{
	bool yes = (rc == GROVE_ECONFLICT && moved) || rc == GROVE_ESTALE ||
		   (rc == GROVE_ENOTFOUND && l->flags & GROVE_LOG_CREATE && tries < HURRY);

	if (!yes || tries >= TRIES)
		return false;
	if (rc != GROVE_ECONFLICT)
		grove__keyed_drop(l);
	if (tries > HURRY)
		grove__sys_wait_fd(-1, 1 + tries % 5);
	return true;
}

typedef int try_fn(struct adding *a, bool again);

/* Tries until the lines are stored, or it is useless to go on. */
static int try_all(struct adding *a, try_fn *once)
{
	int rc = init(a), tries = 0;

	if (rc)
		return rc;
	do
		rc = once(a, tries > 0);
	while (rc && again(a->l, rc, tries++, rc == GROVE_ECONFLICT && !compares(a->opt) &&
						      moved_on(a->l, a->looked, &a->seen)));
	return rc;
}

/* Fills in the result; lines are counted as far as requested. */
static int tell_result(struct grove_log *l, const struct grove_log_options *opt, bool ids,
		       struct grove_log_result *out, struct grove_detail *d)
{
	const struct grove_log_options want = { .flags = opt->flags & ~(unsigned)GROVE_LOG_IF_BYTES,
						.id_member = ids ? opt->id_member : NULL };
	struct grove_store_log_stat st = { 0 };
	int rc = look_at_end(l, &want, &st, d);

	/* nothing was stored, or it is gone again: that is not a failure of ours */
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE)
		return 0;
	if (!rc)
		grove__keyed_tell(&st, lines_of(l, &st), out);
	return rc;
}

static int check_lines(const struct grove_slice *lines, size_t nr, struct grove_detail *d)
{
	for (size_t i = 0; i < nr; i++)
		if (lines[i].len && memchr(lines[i].ptr, '\n', lines[i].len))
			return grove__fail(d, GROVE_EINVAL, NULL, "a line must not contain a line end");
	return 0;
}

static int read_only(const struct grove_log *l, struct grove_detail *d)
{
	return l->flags & GROVE_LOG_WRITE ? 0 : grove__fail(d, GROVE_EACCESS, NULL, "opened read-only");
}

int grove__keyed_append(struct grove_log *l, const struct grove_slice *lines, size_t nr,
			const struct grove_log_options *opt, bool tell,
			struct grove_log_result *out, struct grove_detail *d)
{
	struct adding a = { .l = l, .lines = lines, .nr = nr, .opt = opt, .d = d };
	struct grove__keyed_held *wait = NULL;
	int rc = read_only(l, d);

	if (!rc)
		rc = check_lines(lines, nr, d);
	if (rc)
		return rc;
	grove__keyed_enter(l);
	if (nr)
		rc = try_all(&a, add_once);
	if (!rc && nr && opt->sync == GROVE_SYNC_ALWAYS && l->held) {
		wait = l->held;
		pthread_mutex_lock(&l->lock);
		wait->refs++;
		pthread_mutex_unlock(&l->lock);
	}
	if (!rc) {
		out->stored = a.nr_rec;
		out->skipped = nr - a.nr_rec;
	}
	if (!rc && tell)
		rc = tell_result(l, opt, true, out, d);
	grove__keyed_leave(l);
	/* lines that were already there may not be on disk yet, so sync them, too */
	if (!rc && wait)
		rc = grove__log_sync(wait->log, d);
	grove__keyed_held_release(l, wait);
	if (nr)
		release(&a);
	return rc;
}

/* ---------------------------------------------------------------- replace */

static int next_line(void *payload, struct grove_store_record *rec)
{
	struct adding *a = payload;

	if (a->at == a->nr)
		return 1;
	return fill_record(a, a->at++, rec) ? grove__fail_nomem(a->d) : 0;
}

static int replace_once(struct adding *a, bool must_look)
{
	struct grove_log *l = a->l;
	unsigned flags = a->opt->flags & GROVE__KEYED_FORCE ? GROVE_STORE_FORCE : 0;
	const struct grove__dialect *was = l->dialect;
	/* only these lines were copied to where they can be scanned */
	const struct grove__dialect *now = l->columns ? grove__records_dialect(a->lines, a->nr) : NULL;
	int rc = grove__keyed_have(l, false, a->d);

	(void)must_look;
	if (rc == GROVE_ENOTFOUND)
		rc = make_log(l, a->opt, a->d);
	if (!rc)
		rc = look_at_end(l, a->opt, &a->seen, a->d);
	a->looked = !rc;
	if (!rc && compares(a->opt))
		rc = compare(l, a->opt, &a->seen, lines_of(l, &a->seen), a->d);
	if (rc)
		return rc;
	a->at = 0;
	a->records.any = false;
	l->dialect = l->g->forced ? l->g->forced : now ? now : was;
	rc = grove__log_rewrite(l->held->log, next_line, a, a->seen.tail, flags, a->d);
	l->ids.valid = false;
	if (!rc && l->columns && l->dialect && l->dialect != was)
		grove__peek_mark_dialect(l->held->log, l->dialect);
	return rc;
}

int grove__keyed_replace(struct grove_log *l, const struct grove_slice *lines, size_t nr,
			 const struct grove_log_options *opt, bool tell,
			 struct grove_log_result *out, struct grove_detail *d)
{
	struct grove_log_options own = *opt;
	struct adding a = { .l = l, .lines = lines, .nr = nr, .opt = &own, .d = d };
	int rc = read_only(l, d);

	own.id_member = NULL;
	if (!rc)
		rc = check_lines(lines, nr, d);
	if (rc)
		return rc;
	grove__keyed_enter(l);
	rc = try_all(&a, replace_once);
	/* do not leave an empty log behind that we created */
	if (rc)
		grove__keyed_drop(l);
	if (!rc)
		out->stored = nr;
	if (!rc && tell)
		rc = tell_result(l, &own, false, out, d);
	grove__keyed_leave(l);
	release(&a);
	return rc;
}
