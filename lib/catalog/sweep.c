/*
 * catalog/sweep.c: reads all logs, several at a time.
 *
 * Logs are independent of each other, so threads share them; their order is random, and
 * the result must not depend on it. A log that cannot be read is reported and left out.
 */
#include "catalog/sweep.h"

#include "digest/scan.h"

#include <stdio.h>
#include <stdlib.h>

#define TMP_BYTES ((size_t)1 << 20)

/* --- which --- */

int grove__sweep_find(struct grove__sweep *s, struct grove *g, struct grove_detail *d)
{
	struct grove__logs_which all = { .subs = LOGS_ALL_SUBS, .tell = LOGS_SURVEY, .sorted = true };

	return grove__logs_find(&s->found, g, &all, d);
}

static void load(void *payload, unsigned thread)
{
	struct grove__sweep *s = payload;

	(void)thread;
	s->catalog = grove__catalog_open(s->g, s->purpose, &s->need);
}

void grove__sweep_begin(struct grove__sweep *s, struct grove *g)
{
	s->g = g;
	s->need = SIZE_MAX;
	grove__pool_begin_one(&s->loader, load, s);
}

void grove__sweep_release(struct grove__sweep *s)
{
	grove__pool_end(&s->loader);
	grove__catalog_close(s->catalog, false, NULL);
	grove__logs_release(&s->found);
}

/* --- reading one --- */

struct shared {
	struct grove__sweep *s;
	struct grove *g;
	struct grove__catalog *catalog;  /* NULL: none */
	size_t next;
	bool news;                       /* a log was read that the catalog did not have */
	pthread_mutex_t lock;
	struct grove_detail *d;
	int rc;
};

struct reader {
	struct shared *sh;
	struct grove__scan scan;
	struct grove__json_member members[GROVE__JSON_WANT_MAX];
	const struct grove__dialect *ready;   /* whose members those are */
	struct grove__sweeping at;
	struct grove__sys_dir near;           /* of the last file */
	void *own;
	bool slot;
	bool too_long;                        /* a line was skipped; the detail says which */
};

/* Without a header, the id is the name of the log, and the directory is in its lines. */
static int take_facts(struct reader *r, const struct grove__entry *e)
{
	const struct grove__log_at *log = &r->sh->s->found.logs[r->at.nr];
	struct grove__header *h = &r->at.header;
	struct grove_slice id;
	int64_t time;

	if (!r->at.has_header) {
		r->at.has_header = h->usable = true;
		h->version = r->at.dialect->version;
		h->time = e->time;
		if (r->at.dialect->paths.parse_file_name(grove__slice_str(log->session), &time, &id)) {
			h->id = grove__arena_dup(&r->at.keep, id);
			if (!h->id)
				return GROVE_ENOMEM;
		}
	}
	if (!e->cwd.len || (h->cwd && !e->moves))
		return 0;
	h->cwd = grove__arena_dup(&r->at.keep, e->cwd);
	return h->cwd ? 0 : GROVE_ENOMEM;
}

static int pass_line(struct reader *r, const struct grove__json_line *l, const char *line)
{
	const struct grove__dialect *dialect = r->at.dialect;
	struct grove__sweep *s = r->sh->s;
	struct grove__entry e;
	enum grove__line_class class;
	int rc = 0;

	if (r->at.tmp.used > TMP_BYTES)
		grove__arena_release(&r->at.tmp);
	class = dialect->read.index(l, line, &r->at.tmp, &e);
	if (class == LINE_SKIP)
		return 0;
	if (grove__dialect_cwd_in_entries(dialect))
		rc = take_facts(r, &e);
	if (!r->at.has_header) {
		if (class == LINE_SLOT && !r->slot) {
			r->slot = true;
			return 0;
		}
		/* a file that does not begin with a header is not a session */
		if (class != LINE_HEADER)
			return GROVE_EDAMAGED;
		dialect->header->read(l, line, &r->at.keep, &r->at.header);
		r->at.has_header = true;
		return 0;
	}
	if (rc || class == LINE_HEADER)
		return rc;
	return s->entry(s->payload, &r->at, l, line, &e);
}

static int take_line(void *payload, const struct grove__json_line *l, const char *line, uint64_t nr)
{
	struct reader *r = payload;
	int rc;

	r->at.line = nr;
	rc = pass_line(r, l, line);
	/*
	 * a dialect continues without what it had no memory for, but that must not be
	 * remembered
	 */
	return r->at.tmp.failed || r->at.keep.failed ? GROVE_ENOMEM : rc;
}

static int read_log(struct reader *r, struct grove_store_log *log, struct grove_detail *d)
{
	struct grove__scan_part p = { .lenient = grove__dialect_by_value(r->at.dialect), .value = take_line, .payload = r };
	int rc = grove__log_stat(log, &r->at.st, d);

	p.until = r->at.st.tail;
	rc = rc ? rc : grove__scan_log(&r->scan, log, &p, d);
	r->too_long = p.too_long > 0;
	return rc ? rc : r->at.has_header ? 0 : GROVE_EDAMAGED;
}

/* Sets the members to scan for: the dialect's own, followed by those for usage. */
static void want(struct reader *r, const struct grove__dialect *dialect)
{
	unsigned nr = dialect->read.nr_members;

	memcpy(r->members, dialect->read.members, nr * sizeof(*r->members));
	if (r->sh->s->bill && dialect->usage.nr_members) {
		memcpy(r->members + nr, dialect->usage.members,
		       dialect->usage.nr_members * sizeof(*r->members));
		nr += dialect->usage.nr_members;
	}
	grove__json_want_init(&r->scan.want, r->members, nr);
	r->ready = dialect;
}

static int open_log(struct reader *r, const struct grove__log_at *at,
		    struct grove_store_log **log, struct grove_detail *d)
{
	struct grove_key key = { at->project, at->session, at->sub };
	int rc = grove__log_open(log, at->root->store, &key, GROVE_STORE_READ, d);

	if (!rc)
		rc = grove__peek_log_dialect(r->sh->g, at->root, *log, &key, &r->at.dialect, d);
	if (!rc && r->ready != r->at.dialect)
		want(r, r->at.dialect);
	return rc;
}

/* Is what was read what the catalog will be asked for? */
static bool is_as_before(const struct reader *r, const struct grove__log_state *st)
{
	return grove__log_is_still(&r->at.st, st, !r->sh->s->found.logs[r->at.nr].is_surveyed);
}

/*
 * Reads it, whatever the result, and lets the catalog remember that as the state `st` of
 * `name`. Both may be NULL.
 */
static int read_anew(struct reader *r, const char *name, const struct grove__log_state *st)
{
	struct shared *sh = r->sh;
	struct grove__sweep *s = sh->s;
	struct grove_buf bytes = GROVE_BUF_INIT;
	struct grove_store_log *log = NULL;
	struct grove_detail why;
	int rc, read;

	grove__fail_clear(&why);
	read = open_log(r, &s->found.logs[r->at.nr], &log, &why);
	read = read ? read : read_log(r, log, &why);
	/* of a store that fell silent, not each log is reported */
	if (read == GROVE_EAWAY)
		grove__hidden_store(sh->g, s->found.logs[r->at.nr].root, read, &why);
	pthread_mutex_lock(&sh->lock);
	if (read != GROVE_EAWAY && (read ? read != GROVE_ENOMEM : r->too_long) && why.code && s->skipped) {
		if (!*why.path)
			snprintf(why.path, sizeof(why.path), "%s", s->found.logs[r->at.nr].path);
		s->skipped(s->skipped_payload, &why);
	}
	sh->news = true;
	pthread_mutex_unlock(&sh->lock);
	/* entries may have been reported before it failed */
	rc = read == GROVE_ENOMEM ? read : s->end(s->payload, &r->at, &bytes);
	/* a failure may be temporary, and a file that changed meanwhile is not remembered */
	if (!rc && st && !r->too_long && (!read || (read == GROVE_EDAMAGED && !why.code)) &&
	    is_as_before(r, st))
		grove__catalog_put(sh->catalog, name, st, grove__buf_slice(&bytes));
	grove__log_close(log);
	grove__buf_release(&bytes);
	return rc;
}

const char *grove__sweep_around(struct grove *g, const struct grove__log_at *log)
{
	const struct grove__dialect *likely;

	if (g->forced || log->root->dialect || grove__peek_root_likely(g, log->root, log->project, &likely))
		return "";
	return likely->name;
}

bool grove__sweep_reads_as(struct grove *g, const struct grove__log_at *log,
			   const struct grove__dialect *was, struct grove_slice around)
{
	const struct grove__dialect *must = g->forced ? g->forced : log->root->dialect;

	if (must)
		return was == must;
	/*
	 * if the bytes do not decide, the location does, which must still give the same
	 * answer
	 */
	return around.len && grove__slice_eq(around, grove__slice_str(grove__sweep_around(g, log)));
}

static int read_one(struct reader *r, uint32_t nr)
{
	struct grove__sweep *s = r->sh->s;
	const struct grove__log_at *log = &s->found.logs[nr];
	struct grove_slice bytes;
	const char *name = log->is_surveyed ? log->name : NULL;
	struct grove__log_state st = log->st;
	struct grove__sys_stat file;
	int rc = 0;

	memset(&r->at, 0, sizeof(r->at));
	r->at.nr = nr;
	r->at.own = r->own;
	r->slot = r->too_long = false;
	grove__arena_init(&r->at.tmp);
	grove__arena_init(&r->at.keep);
	if (!name && r->sh->catalog && *log->path && !grove__sys_dir_stat(&r->near, log->path, &file)) {
		name = log->path;
		st = grove__state_of(&file);
	}
	if (!name || !grove__catalog_find(r->sh->catalog, name, &st, &r->at.tmp, &bytes) ||
	    !s->known(s->payload, nr, bytes, &rc))
		rc = read_anew(r, name, name ? &st : NULL);
	grove__arena_release(&r->at.tmp);
	grove__arena_release(&r->at.keep);
	return rc;
}

/* --- all of them --- */

/* With the lock held. */
static bool next_log(struct shared *sh, unsigned thread, uint32_t *nr)
{
	const struct grove_progress *p = &sh->g->progress;

	if (sh->rc || sh->next == sh->s->found.nr)
		return false;
	*nr = (uint32_t)sh->next++;
	if (p->fn && !thread && p->fn(p->payload, sh->next, sh->s->found.nr))
		sh->rc = grove__fail(sh->d, GROVE_ECANCELLED, NULL, "cancelled");
	return !sh->rc;
}

static void work(void *payload, unsigned thread)
{
	struct shared *sh = payload;
	struct grove__sweep *s = sh->s;
	struct reader *r = calloc(1, sizeof(*r));
	int rc = GROVE_ENOMEM;
	uint32_t nr;
	bool more;

	if (r) {
		r->sh = sh;
		grove__sys_dir_init(&r->near);
		rc = grove__scan_init(&r->scan);
		r->own = s->thread_new(s->payload);
		rc = r->own ? rc : GROVE_ENOMEM;
	}
	do {
		pthread_mutex_lock(&sh->lock);
		if (rc && !sh->rc)
			sh->rc = rc == GROVE_ENOMEM ? grove__fail_nomem(sh->d)
						    : grove__fail(sh->d, rc, NULL, "the logs say too much to be held in memory");
		more = next_log(sh, thread, &nr);
		pthread_mutex_unlock(&sh->lock);
		if (more)
			rc = read_one(r, nr);
	} while (more);
	if (r && r->own)
		s->thread_free(s->payload, r->own);
	if (r) {
		grove__sys_dir_release(&r->near);
		grove__scan_release(&r->scan);
	}
	free(r);
}

int grove__sweep_read(struct grove__sweep *s, struct grove *g, struct grove_detail *d)
{
	struct shared sh = { .s = s, .g = g, .d = d };

	s->need = s->found.nr;
	if (s->loader.nr)
		grove__pool_end(&s->loader);
	else
		load(s, 0);
	sh.catalog = s->catalog;
	pthread_mutex_init(&sh.lock, NULL);
	grove__pool_run(s->found.nr, work, &sh);
	pthread_mutex_destroy(&sh.lock);
	/* if nothing is new, it is not worth looking for what is gone */
	grove__catalog_close(s->catalog, !sh.rc && sh.news && !grove__roots_away(g), NULL);
	s->catalog = NULL;
	return sh.rc;
}
