/*
 * view/tail.c: the conversation, from the end of the log.
 *
 * A long transcript has been compacted many times, and the conversation begins at the
 * last boundary: what is above it need not be read. So we search for the boundary from
 * the end, index the log from there on, and apply the rules. If they begin at the
 * boundary, and it keeps nothing from above, the answer is the one that the whole log
 * would give; otherwise the whole log is read.
 *
 *	…………………………………[boundary]……………………end
 *	                 `--- indexed ---´
 */
#include "view/view.h"

#include "sys/pool.h"

#include <stdlib.h>

#define CHUNK ((size_t)256 << 10)
#define OVERLAP ((size_t)64 << 10)
#define LOOK_ALONE ((uint64_t)2 << 20)   /* from the end: usually enough, and done before another thread has started */
#define LOOK_BACK ((uint64_t)16 << 20)
#define THREADS 2
#define WORTH ((uint64_t)1 << 20)        /* bytes that must be above it for this to pay */

/* A search for the last boundary, shared by threads: chunk 0 is the last, and so on. */
struct search {
	struct grove_session *s;
	uint64_t tail;
	pthread_mutex_t lock;
	uint64_t next, until;    /* chunks to be searched */
	uint64_t hit, pos;       /* the lowest chunk with a boundary, or NOWHERE, and where it is */
	int rc;
	struct grove_detail d;
};
#define NOWHERE UINT64_MAX

/* Returns a chunk to search, or NOWHERE if it cannot matter any more. */
static uint64_t next_chunk(struct search *h)
{
	uint64_t i;

	pthread_mutex_lock(&h->lock);
	i = h->next;
	if (h->rc || i > h->hit || i >= h->until || i * CHUNK >= h->tail)
		i = NOWHERE;
	else
		h->next++;
	pthread_mutex_unlock(&h->lock);
	return i;
}

static void search_chunk(struct search *h, uint64_t i, char *buf)
{
	uint64_t end = h->tail - i * CHUNK, from = end > CHUNK ? end - CHUNK : 0;
	/* chunks overlap, so that a line across two of them is found in the earlier one */
	uint64_t until = i ? end + OVERLAP : end;
	struct grove_detail d;
	int rc = grove__log_fetch(h->s->log, from, 0, buf, (size_t)(until - from), &d);
	const char *at = rc ? NULL : grove__model_boundary(h->s->at.dialect)(buf, (size_t)(until - from));

	pthread_mutex_lock(&h->lock);
	if (rc && !h->rc) {
		h->rc = rc;
		h->d = d;
	}
	if (at && i < h->hit) {
		h->hit = i;
		h->pos = from + (uint64_t)(at - buf);
	}
	pthread_mutex_unlock(&h->lock);
}

static void search(void *payload, unsigned thread)
{
	struct search *h = payload;
	char *buf = malloc(CHUNK + OVERLAP);
	uint64_t i;

	/* without memory, a helper leaves the work to the others */
	if (!buf && !thread) {
		pthread_mutex_lock(&h->lock);
		h->rc = grove__fail_nomem(&h->d);
		pthread_mutex_unlock(&h->lock);
	}
	while (buf && (i = next_chunk(h)) != NOWHERE)
		search_chunk(h, i, buf);
	free(buf);
}

/* Finds where the last boundary begins. Returns 1 if there is none near the end. */
static int find_boundary(struct grove_session *s, uint64_t tail, uint64_t *pos, struct grove_detail *d)
{
	struct search h = { .s = s, .tail = tail, .hit = NOWHERE, .until = LOOK_ALONE / CHUNK };

	pthread_mutex_init(&h.lock, NULL);
	search(&h, 0);
	h.until = LOOK_BACK / CHUNK;
	if (h.hit == NOWHERE && !h.rc)
		grove__pool_run(THREADS, search, &h);
	pthread_mutex_destroy(&h.lock);
	*pos = h.pos;
	if (h.rc && d)
		*d = h.d;
	return h.rc ? h.rc : h.hit == NOWHERE;
}

/* Reports malformed lines among those that were read. */
static void tell_malformed(struct grove_session *s, const struct grove__image *im)
{
	struct grove_detail why;

	if (!s->g->warn || !(im->malformed || im->torn))
		return;
	grove__fail_clear(&why);
	grove__fail(&why, GROVE_EDAMAGED, s->at.path,
		    "skipped %llu malformed line%s after the last compaction (run 'grove check')",
		    (unsigned long long)im->malformed + im->torn, im->malformed + im->torn == 1 ? "" : "s");
	s->g->warn(s->g->warn_payload, 0, &why);
}

/*
 * True if the parent of any record is above the boundary. Without the parent, the
 * record would seem to have lost it and be attached to what was written just before.
 */
static bool hangs_above(const struct grove__spine *sp)
{
	for (uint32_t row = 1; row < sp->nr; row++)
		if (grove__spine_flags(sp, row) & ROW_ORPHAN)
			return true;
	return false;
}

/* Gets the answer if the log from `pos` on is enough for it. Returns 1 if it is not. */
static int from_boundary(struct grove_session *s, uint64_t pos,
			 const struct grove_context_options *opt, struct grove_sink sink,
			 struct grove_detail *d)
{
	struct grove__image *im = grove__image_new(s->at.dialect);
	struct grove_view v = { .refs = 1, .session = s, .log = s->log };
	struct grove__chain_ask ask = { .mode = opt ? opt->mode : NULL,
					.own_file = grove__session_own_file(s) };
	struct grove__chain_walk w;
	bool enough;
	int rc;

	if (!im)
		return grove__fail_nomem(d);
	im->next = pos;
	rc = grove__image_load(im, s->log, s->at.path, NULL, d);
	if (!rc && (im->by_line || !im->spine->nr || hangs_above(im->spine)))
		rc = 1;
	if (!rc)
		rc = grove__model_walk(im, im->spine->nr, &ask, &w, d);
	if (!rc) {
		enough = w.closed;
		grove__walk_release(&w);
		rc = enough ? 0 : 1;
	}
	if (!rc) {
		tell_malformed(s, im);
		v.image = im;
		v.nr = im->spine->nr;
		pthread_mutex_init(&v.lock, NULL);
		rc = grove__view_context(&v, opt, 0, sink, d);
		pthread_mutex_destroy(&v.lock);
	}
	grove__image_unref(im);
	return rc;
}

int grove__tail_context(struct grove_session *s, const struct grove_context_options *opt,
			   struct grove_sink sink, struct grove_detail *d)
{
	bool whole = s->image || !s->log || !grove__model_boundary(s->at.dialect) ||
		     (opt && (opt->leaf || opt->flags & ~(GROVE_CONTEXT_LLM | GROVE_CONTEXT_PARTS)));
	struct grove_store_log_stat st;
	struct grove_view *v;
	uint64_t pos;
	int rc = 1;

	if (!whole && !grove__log_stat(s->log, &st, NULL) && !st.by_line) {
		rc = find_boundary(s, st.tail, &pos, d);
		if (!rc && pos < WORTH)
			rc = 1;
		if (!rc)
			rc = from_boundary(s, pos, opt, sink, d);
		/* nothing was written to the sink before the answer was certain */
		if (rc != 1 && rc != GROVE_ESTALE)
			return rc;
	}
	rc = grove__view_new(s, &v, d);
	if (rc)
		return rc;
	rc = grove__view_context(v, opt, 0, sink, d);
	grove_view_unref(v);
	return rc;
}
