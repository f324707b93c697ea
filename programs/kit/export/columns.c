/*
 * columns.c: the shape of a session in columns.
 */
#include "columns.h"

#include <stdio.h>

char kind_letter(enum grove_kind kind)
{
	/* in the order of enum grove_kind */
	static const char letters[] = "??mtoucbxyelnvhdirkzasfgqwW";

	return (size_t)kind < sizeof(letters) - 1 ? letters[kind] : '?';
}

char role_letter(enum grove_role role)
{
	/* in the order of enum grove_role */
	static const char letters[] = "-osuatbcdpfmm";

	return (size_t)role < sizeof(letters) - 1 ? letters[role] : '?';
}

uint32_t columns_count(const struct columns *s)
{
	return s->rows ? (uint32_t)s->rows->nr : s->c->nr;
}

/* Returns the index in `c` of a position. */
static uint32_t row(const struct columns *s, uint32_t at)
{
	return s->rows ? s->rows->at[at] : at;
}

static void put_each(struct columns *s, columns_fn *fn)
{
	for (uint32_t at = 0; at < columns_count(s) && !s->d.rc; at++) {
		fn(s, row(s, at));
		if (s->to.write)
			doc_flush(&s->d, s->to);
	}
}

void columns_put(struct columns *s, const char *name, columns_fn *fn)
{
	doc_name(&s->d, name);
	doc_open(&s->d, '[');
	put_each(s, fn);
	doc_close(&s->d, ']');
}

static void put_seq(struct columns *s, uint32_t k)
{
	doc_number(&s->d, s->c->seq[k]);
}

static void put_id(struct columns *s, uint32_t k)
{
	doc_string(&s->d, s->c->id[k] ? s->c->strings + s->c->id[k] : NULL);
}

/* Writes the nearest ancestor that is included. */
static void put_parent(struct columns *s, uint32_t k)
{
	uint32_t p = s->c->parent[k];

	while (s->place && p != GROVE_NO_ENTRY && s->place[p] == GROVE_NO_ENTRY)
		p = s->c->parent[p];
	if (p == GROVE_NO_ENTRY || p == GROVE_EARLIER)
		doc_signed(&s->d, p == GROVE_NO_ENTRY ? -1 : -2);
	else
		doc_number(&s->d, s->place ? s->place[p] : p);
}

static void put_kind(struct columns *s, uint32_t k)
{
	char c = kind_letter((enum grove_kind)s->c->kind[k]);

	doc_add(&s->d, (struct grove_slice){ &c, 1 });
}

static void put_role(struct columns *s, uint32_t k)
{
	char c = role_letter((enum grove_role)s->c->role[k]);

	doc_add(&s->d, (struct grove_slice){ &c, 1 });
}

static void put_letters(struct columns *s, const char *name, columns_fn *fn)
{
	doc_name(&s->d, name);
	doc_puts(&s->d, "\"");
	put_each(s, fn);
	doc_puts(&s->d, "\"");
}

static void put_flags(struct columns *s, uint32_t k)
{
	doc_number(&s->d, s->c->flags[k]);
}

static void put_bytes(struct columns *s, uint32_t k)
{
	doc_number(&s->d, s->c->bytes[k]);
}

/* Writes differences; an entry without a time has that of the one before it. */
static void put_times(struct columns *s)
{
	int64_t before = 0;

	doc_name(&s->d, "time");
	doc_open(&s->d, '[');
	for (uint32_t at = 0; at < columns_count(s) && !s->d.rc; at++) {
		int64_t t = s->c->time[row(s, at)];

		if (t == GROVE_NO_TIME)
			t = before;
		doc_signed(&s->d, t - before);
		before = t;
		if (s->to.write)
			doc_flush(&s->d, s->to);
	}
	doc_close(&s->d, ']');
}

void columns_put_shape(struct columns *s)
{
	doc_member_number(&s->d, "n", columns_count(s));
	columns_put(s, "seq", put_seq);
	columns_put(s, "id", put_id);
	columns_put(s, "parent", put_parent);
	put_letters(s, "kind", put_kind);
	put_letters(s, "role", put_role);
	columns_put(s, "flags", put_flags);
	columns_put(s, "bytes", put_bytes);
	put_times(s);
}

void columns_put_labels(struct columns *s)
{
	struct grove_entry e = { .size = sizeof(e) };
	char name[16];

	doc_name(&s->d, "labels");
	doc_open(&s->d, '{');
	for (uint32_t at = 0; at < columns_count(s); at++) {
		if (grove_view_entry(s->v, s->c->index[row(s, at)], &e) || !e.label)
			continue;
		snprintf(name, sizeof(name), "%u", at);
		doc_member(&s->d, name, e.label);
	}
	doc_close(&s->d, '}');
}
