/* tree/labels.c: the current labels, after all lines that set or clear one. */
#include "tree/tree.h"

#include <stdlib.h>

static int cmp_row(const void *a, const void *b, void *labels)
{
	const struct grove__label *l = labels;
	uint32_t x = l[*(const uint32_t *)a].row, y = l[*(const uint32_t *)b].row;

	return x < y ? -1 : x > y;
}

static struct grove_slice target_name(const void *owner, uint32_t i)
{
	const struct grove__label *l = owner;

	return grove__spine_name(l[i].target);
}

struct grove__labels *grove__labels_new(const struct grove__spine *s)
{
	struct grove__labels *l;
	struct grove__idmap places;
	size_t nr = 0;

	l = calloc(1, sizeof(*l) + s->nr_labels * sizeof(l->label[0]));
	if (!l)
		return NULL;
	l->refs = 1;
	/* by target: the index of its label; a cleared one leaves a gap */
	grove__idmap_init(&places, s->ids.seed, target_name, l->label);
	for (size_t i = 0; i < s->nr_labels; i++) {
		const struct grove__label_event *ev = &s->labels[i];
		struct grove_slice target = grove__spine_name(ev->target);
		uint32_t at = grove__idmap_get(&places, target), old;

		if (at != GROVE__IDMAP_NONE && l->label[at].text && ev->text) {
			l->label[at].text = ev->text;
			l->label[at].set_by = ev->row;
			continue;
		}
		if (at != GROVE__IDMAP_NONE)
			l->label[at].text = NULL;
		if (!ev->text)
			continue;
		l->label[nr] = (struct grove__label){ ev->target, ev->text, GROVE_NO_ENTRY, ev->row };
		if (grove__idmap_put(&places, target, (uint32_t)nr, &old))
			goto fail;
		nr++;
	}
	grove__idmap_release(&places);
	for (size_t i = 0; i < nr; i++)
		if (l->label[i].text)
			l->label[l->nr++] = l->label[i];
	l->by_row = malloc((l->nr ? l->nr : 1) * sizeof(*l->by_row));
	if (!l->by_row) {
		free(l);
		return NULL;
	}
	for (uint32_t i = 0; i < l->nr; i++) {
		l->label[i].row = grove__spine_find(s, s->nr, grove__spine_name(l->label[i].target));
		l->by_row[i] = i;
	}
	qsort_r(l->by_row, l->nr, sizeof(*l->by_row), cmp_row, l->label);
	return l;
fail:
	grove__idmap_release(&places);
	free(l);
	return NULL;
}

struct grove__labels *grove__labels_ref(struct grove__labels *l)
{
	__atomic_fetch_add(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void grove__labels_unref(struct grove__labels *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(l->by_row);
	free(l);
}

bool grove__labels_wait(const struct grove__labels *l)
{
	return l->nr && l->label[l->by_row[l->nr - 1]].row == GROVE_NO_ENTRY;
}

const struct grove__label *grove__labels_get(const struct grove__labels *l, uint32_t row)
{
	size_t lo = 0, hi = l->nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct grove__label *x = &l->label[l->by_row[mid]];

		if (x->row == row)
			return x;
		if (x->row < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
