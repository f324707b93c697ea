/*
 * short_ids.c: unique prefixes of entry ids.
 *
 * Eight characters are nearly always enough: a table of all longer ids counts them once.
 * The few that share a prefix are looked up.
 */
#include "short_ids.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 8 };

void short_ids_init(struct short_ids *s, struct grove_view *v)
{
	memset(s, 0, sizeof(*s));
	s->v = v;
}

void short_ids_release(struct short_ids *s)
{
	free(s->seen);
	free(s->often);
}

static uint64_t head_of(const char *id)
{
	uint64_t head;

	memcpy(&head, id, sizeof(head));
	return head;
}

/* Returns where a prefix is in the table, or would be. */
static size_t place_of(const struct short_ids *s, uint64_t head)
{
	size_t i = (size_t)((head * 0x9e3779b97f4a7c15u) >> 20) & (s->cap - 1);

	while (s->seen[i] && s->seen[i] != head)
		i = (i + 1) & (s->cap - 1);
	return i;
}

static void make_ready(struct short_ids *s)
{
	uint32_t nr = grove_view_count(s->v);
	struct grove_entry e = { .size = sizeof(e) };

	s->ready = 1;
	s->cap = 64;
	while (s->cap < 2 * (size_t)nr)
		s->cap *= 2;
	s->seen = cli_realloc(NULL, s->cap, sizeof(*s->seen));
	s->often = cli_realloc(NULL, s->cap, 1);
	memset(s->seen, 0, s->cap * sizeof(*s->seen));
	memset(s->often, 0, s->cap);
	for (uint32_t i = 0; i < nr && !grove_view_entry(s->v, i, &e); i++) {
		size_t at;

		if (!e.id || strnlen(e.id, SHORT) < SHORT)
			continue;
		at = place_of(s, head_of(e.id));
		s->often[at] = s->seen[at] != 0;
		s->seen[at] = head_of(e.id);
	}
}

/* Returns true if only one entry has an id with this prefix. */
static int is_unique(const struct short_ids *s, const char *id, size_t len)
{
	struct grove_rows rows = { NULL, 0 };
	char prefix[64];
	int unique;

	memcpy(prefix, id, len);
	prefix[len] = '\0';
	unique = !grove_view_matches(s->v, prefix, &rows) && rows.nr == 1;
	grove_rows_release(&rows);
	return unique;
}

struct grove_slice short_id(struct short_ids *s, const char *id)
{
	size_t len = id ? strlen(id) : 0, n = SHORT;

	if (len <= SHORT)
		return out_str(id ? id : "-");
	if (!s->ready)
		make_ready(s);
	if (s->often[place_of(s, head_of(id))])
		do
			n += 4;
		while (n < len && n < 64 && !is_unique(s, id, n));
	return (struct grove_slice){ id, n < len && n < 64 ? n : len };
}
