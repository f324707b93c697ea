/*
 * search/search_rank.c: sessions in which the words of a query are spread over messages.
 *
 * The score is BM25 over sessions: a word counts more if few sessions have it, and the more
 * texts of a session have it the more, but less each time. What people wrote, and titles,
 * count more than what tools said. A session whose best text has many of the words is better
 * than one in which they are far apart. The length is that of the log.
 *
 * Sessions that have all the words come first. A newer session that is about as good as an
 * older one comes before it, since it may revise what that one says.
 */
#include "search/search_rank.h"

#include <stdlib.h>

#define BEST 64                 /* sessions that are shown */
#define PASSAGES 3              /* and texts of each */
#define SATURATION 1.2
#define SLOPE 0.5               /* how much length counts: logs are mostly output of tools */
#define ALIKE 0.3              /* what a word that means the same is worth */
#define NEAR 0.25               /* how much better a session is if one text has all of its words */
#define TIE 0.94                /* scores that differ by less are about the same */

/* What an occurrence counts, by lane; the last one is a title or a label. */
static const unsigned char weights[SEARCH_LANES + 1] = { 3, 2, 1, 1, 4 };

struct passage {
	uint64_t words;              /* 0: none */
	enum grove__search_lane lane;
	struct grove__search_hit hit;
};

struct document {
	uint64_t words;              /* that it has */
	struct passage passage[PASSAGES];    /* best first, of different words */
	uint32_t times[];            /* of each word, weighted */
};

struct grove__search_rank {
	const struct grove_search *s;
	size_t nr_words, nr_alike;   /* of the query; others that mean the same follow */
	uint64_t all;                /* a bit for each word of the query */
	struct document **of;        /* each log; NULL: it has none of the words, or … */
	uint8_t *skip;               /* … is left out */
};

struct grove__search_rank *grove__search_rank_new(const struct grove_search *s, const struct grove__search_query *q)
{
	struct grove__search_rank *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->s = s;
	r->nr_words = grove__search_query_words(q, &r->nr_alike);
	r->all = r->nr_words < 64 ? ((uint64_t)1 << r->nr_words) - 1 : UINT64_MAX;
	r->of = calloc(s->sweep.nr + 1, sizeof(*r->of));
	r->skip = calloc(s->sweep.nr + 1, 1);
	if (r->of && r->skip)
		return r;
	grove__search_rank_free(r);
	return NULL;
}

void grove__search_rank_free(struct grove__search_rank *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->of && i < r->s->sweep.nr; i++)
		free(r->of[i]);
	free(r->of);
	free(r->skip);
	free(r);
}

void grove__search_rank_skip(struct grove__search_rank *r, uint32_t log)
{
	r->skip[log] = 1;
}

void grove__search_rank_forget(struct grove__search_rank *r, uint32_t log)
{
	free(r->of[log]);
	r->of[log] = NULL;
}

/* ---------------------------------------------------------------------- noting */

static bool is_better(const struct passage *a, const struct passage *b)
{
	int na = __builtin_popcountll(a->words), nb = __builtin_popcountll(b->words);

	if (na != nb)
		return na > nb;
	if (a->lane != b->lane)
		return a->lane < b->lane;
	if (a->hit.at.pos != b->hit.at.pos)
		return a->hit.at.pos < b->hit.at.pos;
	if (a->hit.at.off != b->hit.at.off)
		return a->hit.at.off < b->hit.at.off;
	return a->hit.class < b->hit.class;
}

/* Keeps the best texts; of those with the same words one is enough. The order of calls does not matter. */
static void note_passage(struct document *d, const struct passage *p)
{
	size_t i, last;

	for (last = 0; last + 1 < PASSAGES && d->passage[last].words && d->passage[last].words != p->words; last++)
		;
	if (d->passage[last].words && !is_better(p, &d->passage[last]))
		return;
	for (i = last; i && is_better(p, &d->passage[i - 1]); i--)
		d->passage[i] = d->passage[i - 1];
	d->passage[i] = *p;
}

int grove__search_rank_note(struct grove__search_rank *r, uint64_t words, const struct grove__search_hit *h)
{
	struct document *d = r->of[h->log];
	bool named = h->class == SEARCH_NAMES;
	/* a title is shown if nothing else has the words */
	struct passage p = { words, named ? SEARCH_LANES : grove__search_lane(h->class, h->role), *h };

	if (!d) {
		d = r->of[h->log] = calloc(1, sizeof(*d) + (r->nr_words + r->nr_alike) * sizeof(*d->times));
		if (!d)
			return GROVE_ENOMEM;
	}
	d->words |= words;
	for (uint64_t left = words; left; left &= left - 1)
		d->times[__builtin_ctzll(left)] += weights[p.lane];
	note_passage(d, &p);
	return 0;
}

/* --------------------------------------------------------------------- ranking */

struct ranked {
	uint32_t log;
	bool some;                   /* it does not have all the words */
	double score;
	const char *path;
	/* once it is shown: */
	int64_t time;                /* of the best text */
	uint64_t copies;
	struct grove__search_hit *hit;
	size_t nr;
};

/* The length of a log, in bytes; a line of a database counts as a kilobyte. */
static double length_of(const struct grove_search *s, size_t log)
{
	const struct grove__log_at *l = &s->sweep.logs[log];

	return grove__search_log_gone(l) ? 0 : (double)l->st.size * (l->root->dir ? 1 : 1000);
}

static double score_of(const struct grove__search_rank *r, uint32_t log, const double *worth, double mean)
{
	const struct document *d = r->of[log];
	double k = SATURATION * (1 - SLOPE + SLOPE * length_of(r->s, log) / mean), sum = 0, near = 0, all = 0;

	for (size_t i = 0; i < r->nr_words + r->nr_alike; i++) {
		double times = d->times[i] / 2.0;

		all += worth[i];
		sum += worth[i] * times * (1 + SATURATION) / (times + k);
		near += d->passage[0].words >> i & 1 ? worth[i] : 0;
	}
	return sum * (1 + NEAR * near / all);
}

static int by_rank(const void *x, const void *y)
{
	const struct ranked *a = *(const struct ranked *const *)x, *b = *(const struct ranked *const *)y;

	if (a->some != b->some)
		return a->some ? 1 : -1;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Of sessions that are about as good, the newest comes first. */
static void prefer_newer(struct ranked **list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct ranked *keep;
		double score = list[i]->score;
		size_t best = i;

		for (size_t j = i + 1; j < nr && list[j]->some == list[i]->some && list[j]->score >= TIE * score; j++)
			if (list[j]->time > list[best]->time)
				best = j;
		keep = list[best];
		memmove(&list[i + 1], &list[i], (best - i) * sizeof(*list));
		list[i] = keep;
		/* scores stay in order */
		keep->score = score;
	}
}

/* The logarithm to base 2 of a number of at least 1, exact for powers of two and straight between them. */
static double log_2(double x)
{
	int n = 0;

	for (; x >= 2; x /= 2)
		n++;
	return n + x - 1;
}

/* What each word is worth: the fewer sessions have it the more. */
static void weigh(const struct grove__search_rank *r, double *worth, double *mean)
{
	size_t nr = r->s->sweep.nr;

	*mean = 1;
	for (size_t i = 0; i < nr; i++)
		*mean += length_of(r->s, i) / (double)nr;
	for (size_t w = 0; w < r->nr_words + r->nr_alike; w++) {
		size_t has = 0;

		for (size_t i = 0; i < nr; i++)
			has += r->of[i] && r->of[i]->words >> w & 1;
		worth[w] = log_2(1 + ((double)(nr - has) + 0.5) / ((double)has + 0.5)) * (w < r->nr_words ? 1 : ALIKE);
	}
}

/* A fork has the same best text: it is counted with the session that is shown already. */
static bool is_copy(struct ranked *const *list, size_t nr, const struct ranked *of)
{
	const struct grove__search_hit *h = of->hit;

	for (size_t i = 0; i < nr; i++) {
		const struct grove__search_hit *x = list[i]->hit;

		if (!x->text && !h->text && x->time == h->time && h->time != GROVE_NO_TIME && x->at.len == h->at.len &&
		    x->at.crc == h->at.crc && x->class == h->class) {
			list[i]->copies++;
			return true;
		}
	}
	return false;
}

/* Finds out where the texts of a session are: the best one, and others if they have words that it lacks. */
static int complete(struct grove__search_rank *r, struct ranked *k, grove__search_whole_fn *whole, void *payload)
{
	const struct document *d = r->of[k->log];
	uint64_t had = 0;
	int rc = 0;

	for (size_t i = 0; i < PASSAGES && d->passage[i].words && !rc; i++) {
		struct grove__search_hit *h = &k->hit[k->nr];

		if (!(d->passage[i].words & ~had))
			continue;
		had |= d->passage[i].words;
		*h = d->passage[i].hit;
		h->rank = (uint8_t)k->nr++;
		h->match = k->some ? GROVE_MATCH_SOME : GROVE_MATCH_SESSION;
		h->missing = r->all & ~d->words;
		rc = h->indexed && h->class != SEARCH_NAMES ? whole(payload, h) : 0;
	}
	k->time = k->hit->time;
	return rc;
}

static int add_texts(const struct ranked *k, struct grove__search_hits *out)
{
	int rc = 0;

	for (size_t i = 0; i < k->nr && !rc; i++) {
		struct grove__search_hit h = k->hit[i];

		h.score = k->score;
		h.copies = i ? 0 : k->copies;
		rc = grove__search_add(out, &h);
	}
	return rc;
}

/* Scores the sessions that are not left out, best first. */
static size_t rank_all(struct grove__search_rank *r, const double *worth, double mean, struct ranked *memory,
		       struct ranked **list)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < r->s->sweep.nr; i++) {
		if (!r->of[i] || r->skip[i])
			continue;
		memory[nr] = (struct ranked){ .log = i, .some = (r->of[i]->words & r->all) != r->all, .path = r->s->sweep.logs[i].name,
					      .score = score_of(r, i, worth, mean) };
		list[nr] = &memory[nr];
		nr++;
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_rank);
	return nr;
}

int grove__search_rank_take(struct grove__search_rank *r, struct grove__search_hits *out, grove__search_whole_fn *whole,
			    void *payload)
{
	double *worth = calloc(r->nr_words + r->nr_alike + 1, sizeof(*worth)), mean;
	struct ranked *memory = malloc((r->s->sweep.nr + 1) * sizeof(*memory));
	struct ranked **list = malloc((r->s->sweep.nr + 1) * sizeof(*list));
	struct grove__search_hit *hits = malloc((size_t)BEST * PASSAGES * sizeof(*hits));
	size_t nr, kept = 0;
	int rc = worth && memory && list && hits ? 0 : GROVE_ENOMEM;

	if (rc)
		goto out;
	weigh(r, worth, &mean);
	nr = rank_all(r, worth, mean, memory, list);
	out->beyond |= nr > BEST;
	for (size_t i = 0; i < nr && i < BEST && !rc; i++) {
		list[i]->hit = hits + i * PASSAGES;
		rc = complete(r, list[i], whole, payload);
		if (!rc && !is_copy(list, kept, list[i]))
			list[kept++] = list[i];
	}
	prefer_newer(list, kept);
	for (size_t i = 0; i < kept && !rc; i++)
		rc = add_texts(list[i], out);
out:
	free(worth);
	free(memory);
	free(list);
	free(hits);
	return rc;
}
