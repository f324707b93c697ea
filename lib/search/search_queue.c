/* search/search_queue.c: passes texts from the readers to the writer of the index. */
#include "search/search_queue.h"

#include "base/array.h"
#include "search/search_part.h"

#include <stdlib.h>

#define PARCEL_BYTES ((size_t)256 << 10)
#define PARCELS_MAX 32

/* ---------------------------------------------------------------------- queue */

void grove__search_queue_init(struct grove__search_queue *b)
{
	*b = (struct grove__search_queue){ 0 };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->moved, NULL);
	b->last = &b->first;
}

void grove__search_queue_start(struct grove__search_queue *b)
{
	while (b->first) {
		struct grove__search_parcel *p = b->first;

		b->first = p->next;
		grove__search_parcel_free(p);
	}
	b->last = &b->first;
	b->waiting = 0;
	b->stop = false;
}

void grove__search_queue_release(struct grove__search_queue *b)
{
	grove__search_queue_start(b);
	pthread_cond_destroy(&b->moved);
	pthread_mutex_destroy(&b->lock);
}

void grove__search_queue_stop(struct grove__search_queue *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->moved);
	pthread_mutex_unlock(&b->lock);
}

/* Waits while too many are queued. */
static bool hand_over(struct grove__search_queue *b, struct grove__search_parcel *p)
{
	bool taken;

	pthread_mutex_lock(&b->lock);
	while (b->waiting >= PARCELS_MAX && !b->stop)
		pthread_cond_wait(&b->moved, &b->lock);
	taken = !b->stop;
	if (taken) {
		p->next = NULL;
		*b->last = p;
		b->last = &p->next;
		b->waiting++;
		pthread_cond_broadcast(&b->moved);
	}
	pthread_mutex_unlock(&b->lock);
	if (!taken)
		grove__search_parcel_free(p);
	return taken;
}

struct grove__search_parcel *grove__search_queue_take(struct grove__search_queue *b)
{
	struct grove__search_parcel *p;

	pthread_mutex_lock(&b->lock);
	while (!b->first)
		pthread_cond_wait(&b->moved, &b->lock);
	p = b->first;
	b->first = p->next;
	if (!b->first)
		b->last = &b->first;
	b->waiting--;
	pthread_cond_broadcast(&b->moved);
	pthread_mutex_unlock(&b->lock);
	return p;
}

/* ------------------------------------------------------------------- parcels */

void grove__search_parcel_free(struct grove__search_parcel *p)
{
	if (!p)
		return;
	free(p->items);
	grove__buf_release(&p->bytes);
	grove__buf_release(&p->forms);
	grove__search_feed_release(&p->feed);
	free(p);
}

static struct grove_slice take(const char **at, size_t len)
{
	struct grove_slice s = { *at, len };

	*at += len;
	return s;
}

void grove__search_parcel_open(struct grove__search_parcel *p)
{
	const char *at = p->bytes.ptr;

	/* the buffer moves while it grows, so offsets become pointers only now */
	for (size_t i = 0; i < p->nr; i++) {
		struct grove__search_item *it = &p->items[i];

		it->doc.text = take(&at, it->doc.text.len);
		it->entries = take(&at, it->entries.len);
		if (it->doc.entry)
			it->doc.entry = take(&at, strlen(at) + 1).ptr;
	}
}

static struct grove__search_parcel *parcel_new(size_t task)
{
	struct grove__search_parcel *p = calloc(1, sizeof(*p));

	if (p)
		p->task = task;
	return p;
}

/* ------------------------------------------------------------------- reading */

struct packing {
	struct grove__search_queue *queue;
	const struct grove__search_feed *feed;
	size_t task;
	struct grove__search_parcel *p;
	struct grove__search_part parts[SEARCH_CLASSES];
	struct grove__search_forms *forms;
};

/* Hands over the parcel, with the forms of words that have been found so far. */
static int send(struct packing *k)
{
	struct grove__search_parcel *p = k->p;

	k->p = NULL;
	p->forms = k->forms->found;
	k->forms->found = (struct grove_buf)GROVE_BUF_INIT;
	return hand_over(k->queue, p) ? 0 : GROVE_ECANCELLED;
}

static int pack(struct packing *k, const struct grove__search_item *it)
{
	struct grove__search_parcel *p = k->p;

	if (!p)
		p = k->p = parcel_new(k->task);
	if (!p || grove__array_room(&p->items, &p->cap, p->nr, sizeof(*p->items)))
		return GROVE_ENOMEM;
	if (grove__buf_add_slice(&p->bytes, it->doc.text) || grove__buf_add_slice(&p->bytes, it->entries) ||
	    (it->doc.entry && grove__buf_add(&p->bytes, it->doc.entry, strlen(it->doc.entry) + 1)))
		return GROVE_ENOMEM;
	p->items[p->nr++] = *it;
	p->grown = k->feed->grown;
	return p->bytes.len < PARCEL_BYTES ? 0 : send(k);
}

static int pack_part(struct packing *k, int class)
{
	struct grove__search_part *p = &k->parts[class];
	struct grove__search_item it = {
		.doc = { .class = (uint8_t)class, .text = grove__buf_slice(&p->words) },
		.entries = grove__buf_slice(&p->entries), .since = p->since, .until = p->until,
	};
	int rc = pack(k, &it);

	grove__search_part_clear(p);
	return rc;
}

static int take_doc(void *payload, const struct grove__search_doc *doc)
{
	struct packing *k = payload;
	int rc;

	/* messages are indexed text by text */
	if (doc->class == SEARCH_TEXT)
		return pack(k, &(struct grove__search_item){ .doc = *doc });
	rc = grove__search_part_add(&k->parts[doc->class], doc);
	if (!rc && grove__search_part_full(&k->parts[doc->class]))
		rc = pack_part(k, doc->class);
	return rc;
}

static int pack_rest(struct packing *k)
{
	int rc = 0;

	for (int i = 0; i < SEARCH_CLASSES && !rc; i++)
		if (k->parts[i].entries.len)
			rc = pack_part(k, i);
	return rc || !k->p ? rc : send(k);
}

bool grove__search_queue_read(struct grove__search_queue *b, size_t task, const struct grove__search_feed *feed,
			      struct grove__search_forms *forms)
{
	struct packing k = { .queue = b, .task = task, .forms = forms };
	struct grove__search_parcel *end = parcel_new(task);
	struct grove_detail why;

	/* an end must come, because the writer waits for it */
	while (!end)
		end = parcel_new(task);
	grove__fail_clear(&why);
	end->end = true;
	end->feed = *feed;
	k.feed = &end->feed;
	end->feed.doc = take_doc;
	end->feed.payload = &k;
	for (int i = 0; i < SEARCH_CLASSES; i++)
		k.parts[i].forms = forms;
	end->rc = grove__search_feed(&end->feed, &why);
	end->rc = end->rc ? end->rc : pack_rest(&k);
	end->grown = end->feed.grown;
	grove__search_parcel_free(k.p);
	/* forms that were found in it are lost */
	if (end->rc)
		grove__search_forms_clear(forms);
	for (int i = 0; i < SEARCH_CLASSES; i++)
		grove__search_part_release(&k.parts[i]);
	if (end->rc && end->rc != GROVE_ENOMEM && end->rc != GROVE_ECANCELLED && why.code)
		grove__search_note(feed->g, &why);
	return hand_over(b, end);
}
