/*
 * search/search_scan.c: scanning logs.
 *
 * The raw bytes are searched first; only lines that may match are parsed. Threads share
 * the logs, and each keeps its best hits, so the result does not depend on which is
 * faster.
 */
#include "search/search.h"

#include "base/crc32c.h"
#include "search/search_names.h"
#include "search/search_rank.h"
#include "sys/pool.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)512 << 10)
#define TMP_BYTES ((size_t)1 << 20)

struct shared {
	struct grove_search *s;
	const struct grove__search_ask *ask;
	struct grove__search_rank *rank;     /* NULL: texts must have all the words */
	const uint32_t *logs;
	size_t nr, next;
	struct grove__search_hits *out;
	pthread_mutex_t lock;
	struct grove_detail *d;
	int rc;
};

struct reader {
	struct shared *sh;
	struct grove__runs runs;
	struct grove__search_matcher *m;
	struct grove__search_texts texts;
	struct grove__search_hits hits;      /* of this log */
	struct grove__arena tmp;
	struct grove__json_want want;
	const struct grove__dialect *ready, *dialect;
	struct grove_store_log *log;
	uint32_t nr;                         /* of the log */
	bool known, wanted;                  /* whether the options ask for this session */
	bool names;                          /* a line that matches may set a title or a label */
	struct grove_detail why;
};

/* ------------------------------------------------------------------- one log */

/* Finds out whether this is a session, and one that the options ask for. */
static int know_session(struct reader *r)
{
	const struct grove__log_at *l = &r->sh->s->sweep.logs[r->nr];
	struct grove__header h = { 0 };
	struct grove__arena keep;
	struct grove__image *im = NULL;
	int rc = 0;

	if (r->known)
		return 0;
	grove__arena_init(&keep);
	if (grove__dialect_cwd_in_entries(r->dialect) && grove__search_wants_cwd(r->sh->ask)) {
		rc = grove__search_log_image(&r->sh->s->sweep.logs[r->nr], r->sh->s->g->cache, r->log, r->dialect, &im, &r->why);
		h.cwd = im ? im->header.cwd : NULL;
	} else if (grove__dialect_has_header(r->dialect)) {
		rc = grove__peek_header(r->log, r->dialect, &keep, &h, &r->why);
		rc = rc || h.usable ? rc : GROVE_EDAMAGED;
	}
	r->known = true;
	r->wanted = !rc && grove__search_wants_log(r->sh->ask, l, grove__search_log_agent(l, r->dialect), h.cwd);
	grove__image_unref(im);
	grove__arena_release(&keep);
	return rc == GROVE_ENOMEM ? rc : 0;
}

/* Adds or notes a text, if it matches. */
static int take_text(struct reader *r, struct grove__search_hit *h, struct grove_slice text)
{
	uint64_t words = 0;
	int rc = r->sh->rank ? grove__search_match_some(r->m, text, &words) : grove__search_match(r->m, text, &h->score);

	if (rc < 0 || (!rc && !words))
		return rc;
	rc = know_session(r);
	if (rc || !r->wanted)
		return rc;
	return r->sh->rank ? grove__search_rank_note(r->sh->rank, words, h) : grove__search_add(&r->hits, h);
}

static int take_value(struct reader *r, struct grove_slice value, enum grove_kind kind,
		      enum grove_role role, int64_t time, const struct grove__spot *at)
{
	struct grove__search_hit h = { .log = r->nr, .kind = (uint8_t)kind, .role = (uint8_t)role,
				       .time = time, .at = *at };
	int rc = grove__search_texts(&r->texts, r->dialect, value, kind, role);

	for (int i = 0; i < SEARCH_CLASSES && !rc; i++) {
		if (!r->texts.of[i].len || !grove__search_wants(r->sh->ask, i, role, time))
			continue;
		h.class = (uint8_t)i;
		rc = take_text(r, &h, grove__buf_slice(&r->texts.of[i]));
	}
	return rc;
}

/* Reads every entry as the loader does, for logs whose values are not lines. */
static int read_rows(struct reader *r)
{
	struct grove__image *im;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t row;
	int rc = grove__search_log_image(&r->sh->s->sweep.logs[r->nr], r->sh->s->g->cache, r->log, r->dialect, &im, &r->why);

	if (rc)
		return rc;
	r->hits.nr = 0;
	if (r->sh->rank)
		grove__search_rank_forget(r->sh->rank, r->nr);
	r->names = true;
	grove__rows_init(&rows, im, r->log, NULL, im->spine->nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, &r->why))) {
		struct grove__spot at = grove__image_spot(im, row);

		rc = take_value(r, value, grove__spine_kind(im->spine, row),
				grove__spine_role(im->spine, row), grove__spine_time(im->spine, row), &at);
		if (rc)
			break;
	}
	grove__rows_release(&rows);
	grove__image_unref(im);
	return rc == 1 ? 0 : rc;
}

/* Returns 1 if the line is not exactly one value. */
static int take_line(struct reader *r, const char *line, size_t len, uint64_t pos)
{
	struct grove__json_line l;
	struct grove__entry e;
	struct grove__spot at = { .pos = pos, .len = len };
	enum grove__json_verdict v = grove__json_scan(&r->want, line, len, true, &l);
	enum grove__line_class class;

	if (v == JSON_NOMEM)
		return GROVE_ENOMEM;
	if (v != JSON_VALUE)
		return v == JSON_BAD && grove__dialect_by_value(r->dialect);
	if (r->tmp.used > TMP_BYTES)
		grove__arena_release(&r->tmp);
	r->tmp.failed = false;
	class = r->dialect->read.index(&l, line, &r->tmp, &e);
	if (r->tmp.failed)
		return GROVE_ENOMEM;
	if (class == LINE_HEADER && grove__dialect_has_title(r->dialect))
		r->names = true;
	if (class != LINE_ENTRY && class != LINE_SLOT)
		return 0;
	r->names |= class == LINE_SLOT || e.names || e.kind == GROVE_KIND_LABEL;
	at.crc = grove__crc32c(0, line, len);
	return take_value(r, grove__slice(line + l.value.off, (size_t)l.value.len), e.kind, e.role, e.time,
			  &at);
}

/* Handles the lines of a run that may match. */
static int take_run(struct reader *r)
{
	const struct grove_store_run *run = &r->runs.run;
	const char *line, *buf = r->runs.buf, *counted = buf;
	struct grove__search_lines lines = { r->sh->ask->q, buf, buf + run->len };
	uint64_t nr = 0;
	size_t len;
	int rc = 0;

	while (!rc && (line = grove__search_lines_next(&lines, &len))) {
		for (const char *lf; run->by_line && counted < line; counted = lf + 1, nr++)
			lf = memchr(counted, '\n', (size_t)(line - counted));
		rc = take_line(r, line, len, grove__runs_pos(&r->runs, (size_t)(line - buf), nr));
	}
	return rc;
}

static int take_name(void *payload, const struct grove__search_hit *h, const char *text)
{
	struct reader *r = payload;
	struct grove__search_hit own = *h;

	pthread_mutex_lock(&r->sh->lock);
	own.text = grove__arena_dup(&r->sh->out->texts, grove__slice_str(text));
	pthread_mutex_unlock(&r->sh->lock);
	/* an entry's id is in the image, which will be loaded again */
	own.entry = NULL;
	return own.text ? take_text(r, &own, grove__slice_str(text)) : GROVE_ENOMEM;
}

/* Which title and labels count is known only after reading the whole log. */
static int take_names(struct reader *r)
{
	struct grove__search_hit h = { .log = r->nr };
	struct grove__search_names n = { 0 };
	struct grove_buf labels = GROVE_BUF_INIT;
	struct grove__image *im = NULL;
	int rc;

	if (!r->names || !(r->sh->ask->in >> SEARCH_NAMES & 1))
		return 0;
	rc = grove__search_log_image(&r->sh->s->sweep.logs[r->nr], r->sh->s->g->cache, r->log, r->dialect, &im, &r->why);
	rc = rc ? rc : grove__search_labels(im, &labels);
	rc = rc ? rc : grove__search_modified(im, r->log, &n.modified, &r->why);
	if (!rc) {
		n.title = grove__image_name(im);
		n.labels = grove__buf_slice(&labels);
		rc = grove__search_names_each(&n, r->sh->ask, &h, take_name, r);
	}
	grove__buf_release(&labels);
	grove__image_unref(im);
	return rc;
}

static int read_log(struct reader *r)
{
	struct grove_store_log_stat st;
	int rc = grove__log_stat(r->log, &st, &r->why);

	if (rc)
		return rc;
	r->runs.path = r->sh->s->sweep.logs[r->nr].path;
	grove__runs_begin(&r->runs, r->log, 0, st.tail, &r->why);
	for (;;) {
		rc = grove__runs_next(&r->runs);
		/* a line that is too long is reported, and the others are searched */
		if (rc == GROVE_ETOOBIG && grove__runs_skip(&r->runs)) {
			grove__search_note(r->sh->s->g, &r->why);
			grove__fail_clear(&r->why);
			continue;
		}
		if (rc)
			return rc == 1 ? 0 : rc;
		rc = take_run(r);
		if (rc)
			return rc == 1 ? read_rows(r) : rc;
	}
}

static int read_one(struct reader *r, uint32_t nr)
{
	struct shared *sh = r->sh;
	const struct grove__log_at *l = &sh->s->sweep.logs[nr];
	int rc;

	r->nr = nr;
	r->known = false;
	r->names = false;
	r->hits.nr = 0;
	r->dialect = NULL;
	grove__fail_clear(&r->why);
	rc = grove__search_log_open(sh->s->g, l, &r->log, &r->dialect, &r->why);
	if (!rc && r->ready != r->dialect) {
		grove__json_want_init(&r->want, r->dialect->read.members, r->dialect->read.nr_members);
		r->ready = r->dialect;
	}
	if (!rc && (!sh->ask->agent || !strcmp(sh->ask->agent, grove__search_log_agent(l, r->dialect))))
		rc = read_log(r);
	rc = rc ? rc : take_names(r);
	grove__log_close(r->log);
	r->log = NULL;
	/* a slow pattern is the caller's error; a log that cannot be read is reported */
	if (rc == GROVE_ETOOBIG && !r->why.code)
		rc = grove__fail(&r->why, GROVE_EINVAL, NULL, "re: the pattern takes too long to match");
	else if (rc && rc != GROVE_ENOMEM && r->why.code) {
		grove__search_note(sh->s->g, &r->why);
		rc = 0;
	}
	return rc == GROVE_ENOMEM || rc == GROVE_EINVAL ? rc : 0;
}

/* --------------------------------------------------------------- all of them */

/* Called with the lock held: adds the hits of the last log, and takes the next one. */
static bool hand_in(struct reader *r, int rc, unsigned thread, uint32_t *nr)
{
	struct shared *sh = r->sh;
	const struct grove_progress *p = &sh->s->g->progress;

	for (size_t i = 0; i < r->hits.nr && !rc; i++)
		rc = grove__search_add(sh->out, &r->hits.list[i]);
	if (r->hits.cut && !sh->out->cut)
		sh->out->worst = r->hits.worst;
	sh->out->cut |= r->hits.cut;
	r->hits.nr = 0;
	r->hits.cut = false;
	if (rc && !sh->rc) {
		sh->rc = rc == GROVE_ENOMEM ? grove__fail_nomem(sh->d) : rc;
		if (rc != GROVE_ENOMEM)
			*sh->d = r->why;
	}
	if (sh->rc || sh->next == sh->nr)
		return false;
	*nr = sh->logs[sh->next++];
	if (p->fn && !thread && p->fn(p->payload, sh->next, sh->nr))
		sh->rc = grove__fail(sh->d, GROVE_ECANCELLED, NULL, "cancelled");
	return !sh->rc;
}

static void work(void *payload, unsigned thread)
{
	const struct shared *sh = payload;
	struct reader r = { .sh = payload, .hits = { .sweep = &sh->s->sweep, .ask = sh->ask } };
	int rc;
	uint32_t nr;
	bool more;

	grove__arena_init(&r.tmp);
	r.m = grove__search_matcher_new(r.sh->ask->q);
	rc = !grove__runs_init(&r.runs, RUN_BYTES) && r.m ? 0 : GROVE_ENOMEM;
	do {
		pthread_mutex_lock(&r.sh->lock);
		more = hand_in(&r, rc, thread, &nr);
		pthread_mutex_unlock(&r.sh->lock);
		rc = more ? read_one(&r, nr) : 0;
	} while (more);
	grove__runs_release(&r.runs);
	free(r.hits.list);
	grove__search_matcher_free(r.m);
	grove__search_texts_release(&r.texts);
	grove__arena_release(&r.tmp);
}

int grove__search_scan(struct grove_search *s, const struct grove__search_ask *ask, struct grove__search_rank *rank,
		       const uint32_t *logs, size_t nr, struct grove__search_hits *out, struct grove_detail *d)
{
	struct shared sh = { .s = s, .ask = ask, .rank = rank, .logs = logs, .nr = nr, .out = out, .d = d };

	pthread_mutex_init(&sh.lock, NULL);
	grove__pool_run(nr, work, &sh);
	pthread_mutex_destroy(&sh.lock);
	return sh.rc;
}
