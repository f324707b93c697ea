/*
 * json/edit.c: changes a member of an object and leaves every other byte alone.
 *
 * The changes become splices of the original: cut that many bytes here, insert these there.
 * Each object that a change concerns is walked once, from the top down, however many
 * changes meet in it:
 *
 *     {"a": 1, "b":2, "c":3 }       remove b, set n
 *              ------        ^      cut up to the next member; insert after the
 *                                   last member that stays
 *
 *     {"a": 1, "b":2, "c":3 }       remove b and c, set n
 *            --------------         no next member: cut from the comma after the
 *            ^                      last that stays
 *
 * So the result does not depend on the order of the changes, except for new members, which
 * are added in that order.
 */
#include "json/edit.h"

#include "json/escape.h"
#include "json/value.h"
#include "json/write.h"

#include <assert.h>
#include <stdlib.h>

/* How far a change has come on its path. */
struct step {
	struct grove_slice object; /* where we look for it now; empty: gave up */
	struct grove_slice found;  /* the last member of that name */
	bool walked;
};

struct splice {
	const char *at;
	size_t cut;
	size_t order; /* of splices at one place */
	const struct grove__json_change *put; /* NULL: nothing */
	bool name;  /* put the name too */
	bool comma; /* and a comma before it */
};

struct plan {
	const struct grove__json_change *changes;
	struct step *steps;
	size_t nr;
	unsigned depth; /* how many names of the paths led here */
	struct grove_buf splices; /* struct splice */
};

static int add_splice(struct plan *pl, struct splice s)
{
	s.order = pl->splices.len;
	return grove__buf_add(&pl->splices, &s, sizeof s);
}

static int cut(struct plan *pl, const char *from, const char *to)
{
	struct splice s = { .at = from, .cut = (size_t)(to - from) };

	return add_splice(pl, s);
}

static bool is_last_name(const struct plan *pl, size_t i)
{
	return !pl->changes[i].path[pl->depth + 1];
}

/* Returns true if change `i` goes through the object `o` at this depth. */
static bool meets(const struct plan *pl, size_t i, struct grove_slice o)
{
	return pl->steps[i].object.ptr == o.ptr;
}

/* Give every change that wants this member its value; is it to be removed? */
static bool match(struct plan *pl, struct grove_slice o, const struct grove__json_iter *it)
{
	bool removed = false;
	size_t i;

	for (i = 0; i < pl->nr; i++) {
		if (!meets(pl, i, o) ||
		    !grove__json_string_is(it->key, pl->changes[i].path[pl->depth]))
			continue;
		pl->steps[i].found = it->value;
		if (is_last_name(pl, i) && !pl->changes[i].value.ptr)
			removed = true;
	}
	return removed;
}

/* Splices for the changes that end in object `o`; the others get `found`. */
static int plan_object(struct plan *pl, struct grove_slice o)
{
	const char *kept = NULL; /* after the last member that stays */
	const char *gone = NULL; /* the first of the removed members after that */
	const char *last = NULL; /* after the last member */
	struct grove__json_iter it;
	size_t i, nr_new = 0;
	int rc = 0;

	grove__json_iter_init(&it, o);
	while (!rc && grove__json_next(&it)) {
		bool removed = match(pl, o, &it);

		last = it.value.ptr + it.value.len;
		if (removed) {
			if (!gone)
				gone = it.key.ptr;
			continue;
		}
		if (gone)
			rc = cut(pl, gone, it.key.ptr);
		gone = NULL;
		kept = last;
	}
	if (!rc && gone) {
		if (kept)
			gone = grove__json_skip_space(kept, last);
		rc = cut(pl, gone, last);
	}
	for (i = 0; !rc && i < pl->nr; i++) {
		const struct grove__json_change *c = &pl->changes[i];
		struct step *st = &pl->steps[i];
		struct splice s = { .put = c };

		if (!meets(pl, i, o) || !is_last_name(pl, i) || !c->value.ptr)
			continue;
		if (st->found.ptr) {
			s.at = st->found.ptr;
			s.cut = st->found.len;
		} else {
			s.at = kept ? kept : o.ptr + 1;
			s.name = true;
			s.comma = kept || nr_new++;
		}
		rc = add_splice(pl, s);
	}
	return rc;
}

/* All objects of this depth, each once; then one name further on each path. */
static int plan_depth(struct plan *pl)
{
	size_t i, j;
	int rc = 0;

	for (i = 0; !rc && i < pl->nr; i++) {
		struct grove_slice o = pl->steps[i].object;

		if (!o.ptr || pl->steps[i].walked)
			continue;
		rc = plan_object(pl, o);
		for (j = i; j < pl->nr; j++)
			if (meets(pl, j, o))
				pl->steps[j].walked = true;
	}
	for (i = 0; i < pl->nr; i++) {
		struct step *st = &pl->steps[i];
		bool further = st->object.ptr && !is_last_name(pl, i) &&
			       grove__json_type_of(st->found) == JSON_OBJECT;

		st->object = further ? st->found : grove__slice(NULL, 0);
		st->found = grove__slice(NULL, 0);
		st->walked = false;
	}
	pl->depth++;
	return rc;
}

static int cmp_splice(const void *va, const void *vb)
{
	const struct splice *a = va, *b = vb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	/* what is put after a value comes before what is cut there */
	if (!a->cut != !b->cut)
		return a->cut ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int put_splice(struct grove_buf *out, const struct splice *s, const char *name)
{
	int rc = 0;

	if (s->comma)
		rc = grove__buf_add_char(out, ',');
	if (!rc && s->name)
		rc = grove__json_put_str(out, name);
	if (!rc && s->name)
		rc = grove__buf_add_char(out, ':');
	return rc ? rc : grove__buf_add_slice(out, s->put->value);
}

static const char *last_name(const struct grove__json_change *c)
{
	size_t n = 0;

	while (c->path[n + 1])
		n++;
	return c->path[n];
}

static int apply(struct grove_buf *out, struct plan *pl, struct grove_slice object)
{
	struct splice *splices = (struct splice *)(void *)pl->splices.ptr;
	size_t i, nr = pl->splices.len / sizeof *splices;
	const char *p = object.ptr;
	int rc = 0;

	if (nr)
		qsort(splices, nr, sizeof *splices, cmp_splice);
	for (i = 0; !rc && i < nr; i++) {
		const struct splice *s = &splices[i];

		assert(s->at >= p); /* else two changes touch each other */
		rc = grove__buf_add(out, p, (size_t)(s->at - p));
		if (!rc && s->put)
			rc = put_splice(out, s, last_name(s->put));
		p = s->at + s->cut;
	}
	return rc ? rc : grove__buf_add(out, p, (size_t)(object.ptr + object.len - p));
}

int grove__json_edit(struct grove_buf *out, struct grove_slice object,
		     const struct grove__json_change *changes, size_t nr)
{
	struct plan pl = { .changes = changes, .nr = nr };
	size_t i, start = out->len;
	bool more = nr > 0;
	int rc = 0;

	assert(grove__json_type_of(object) == JSON_OBJECT);
	pl.steps = calloc(nr ? nr : 1, sizeof *pl.steps);
	if (!pl.steps)
		return GROVE_ENOMEM;
	for (i = 0; i < nr; i++)
		pl.steps[i].object = object;
	while (!rc && more) {
		rc = plan_depth(&pl);
		for (more = false, i = 0; i < nr; i++)
			more |= pl.steps[i].object.ptr != NULL;
	}
	if (!rc)
		rc = apply(out, &pl, object);
	if (rc)
		grove__buf_cut(out, start);
	grove__buf_release(&pl.splices);
	free(pl.steps);
	return rc;
}

int grove__json_edit_text(struct grove_buf *out, struct grove_slice object, const char *member,
			  struct grove_slice text)
{
	struct grove__json_change change = { .path = { member } };
	struct grove_buf value = GROVE_BUF_INIT;
	int rc = grove__json_put_nullable(&value, text);

	change.value = grove__buf_slice(&value);
	if (!rc)
		rc = grove__json_edit(out, object, &change, 1);
	grove__buf_release(&value);
	return rc;
}

int grove__json_replace(struct grove_buf *out, struct grove_slice value, const char *pointer,
			struct grove_slice with)
{
	struct grove_slice at;
	size_t start = out->len, before;

	if (grove__json_pointed(value, pointer, &at))
		return GROVE_ENOMEM;
	if (!at.ptr)
		return 1;
	before = (size_t)(at.ptr - value.ptr);
	if (grove__buf_add(out, value.ptr, before) || grove__buf_add_slice(out, with) ||
	    grove__buf_add(out, at.ptr + at.len, value.len - before - at.len)) {
		grove__buf_cut(out, start);
		return GROVE_ENOMEM;
	}
	return 0;
}
