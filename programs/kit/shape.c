/*
 * shape.c: the tree of a session as it is drawn.
 */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

const char *const shape_filters[] = { "default", "no-tools", "user-only", "labeled-only", "all", NULL };

#define NONE GROVE_NO_ENTRY

struct making {
	struct shape *s;
	struct grove_view *v;
	enum shape_filter filter;
	int records;
	uint32_t *children;  /* for each record, to recognize marks that were continued from */
};

/* Settings, notes and data that are not part of the conversation. */
static int is_aside(const struct grove_columns *c, uint32_t i)
{
	switch ((enum grove_kind)c->kind[i]) {
	case GROVE_KIND_MESSAGE:
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
	case GROVE_KIND_CUSTOM_MESSAGE:
	case GROVE_KIND_SUBAGENT_BATCH:
	case GROVE_KIND_SUBAGENT_RESULT:
	case GROVE_KIND_RESET:
	case GROVE_KIND_OTHER:
		return 0;
	case GROVE_KIND_ATTACHMENT: /* a prompt typed while the agent was working */
		return c->role[i] != GROVE_ROLE_USER;
	default:
		return 1;
	}
}

static int is_user(const struct grove_columns *c, uint32_t i)
{
	return c->role[i] == GROVE_ROLE_USER;
}

static int is_labeled(const struct making *m, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };

	return !grove_view_entry(m->v, m->s->c->index[i], &e) && e.label;
}

static int is_hidden(const struct making *m, uint32_t i, enum shape_filter filter)
{
	const struct grove_columns *c = m->s->c;

	if (c->flags[i] & GROVE_ENTRY_SUPERSEDED)
		return 1;
	/* a leaf mark is not part of the conversation, unless it was continued from */
	if (c->flags[i] & GROVE_ENTRY_LEAF_MARK)
		return !m->children[i];
	if (m->records)
		return 0;
	if (c->kind[i] == GROVE_KIND_USAGE)
		return 1;
	switch (filter) {
	case SHAPE_DEFAULT:
		return is_aside(c, i);
	case SHAPE_NO_TOOLS:
		return is_aside(c, i) || c->role[i] == GROVE_ROLE_TOOL_RESULT;
	case SHAPE_USER_ONLY:
		return !is_user(c, i);
	case SHAPE_LABELED_ONLY:
		return !is_labeled(m, i);
	default:
		return 0;
	}
}

/* Returns true if a record continues the node of the record above it. */
static int continues(const struct shape *s, uint32_t i, uint32_t above, uint32_t node)
{
	const struct grove_columns *c = s->c;

	if (!s->merged || above == NONE || node == NONE || c->role[node] != GROVE_ROLE_ASSISTANT)
		return 0;
	if (c->role[i] == GROVE_ROLE_TOOL_RESULT)
		return c->role[above] == GROVE_ROLE_ASSISTANT || c->role[above] == GROVE_ROLE_TOOL_RESULT;
	return c->role[i] == GROVE_ROLE_ASSISTANT && c->role[above] == GROVE_ROLE_ASSISTANT;
}

/* Returns true if a sibling belongs before an earlier one. Without a time, it stays where it is. */
static int is_earlier(const struct shape *s, uint32_t i, uint32_t than)
{
	return s->c->time[i] != GROVE_NO_TIME && s->c->time[than] != GROVE_NO_TIME && s->c->time[i] < s->c->time[than];
}

/* Siblings are in order of time, or of the log; roots always in order of the log. */
static void add_child(struct shape *s, uint32_t i, uint32_t up)
{
	uint32_t *first = up == NONE ? &s->root : &s->first[up], last = NONE;

	/* the first child's `prev` is the last one, where new children usually go */
	if (*first == NONE) {
		*first = s->prev[i] = i;
		return;
	}
	last = s->prev[*first];
	while (up != NONE && last != *first && is_earlier(s, i, last))
		last = s->prev[last];
	if (up != NONE && is_earlier(s, i, last)) {
		s->prev[i] = s->prev[*first];
		s->prev[*first] = i;
		s->next[i] = *first;
		*first = i;
		return;
	}
	s->next[i] = s->next[last];
	s->next[last] = i;
	s->prev[i] = last;
	s->prev[s->next[i] == NONE ? *first : s->next[i]] = i;
}

/* Finds the node of a record whose parent has one. */
static void place(struct making *m, uint32_t i)
{
	struct shape *s = m->s;
	uint32_t parent = s->c->parent[i], above = NONE, up = NONE;

	if (parent != NONE && parent != GROVE_EARLIER) {
		up = s->node[parent];
		above = s->nearest[parent];
	}
	if (is_hidden(m, i, m->filter)) {
		s->node[i] = up;
		s->nearest[i] = above;
		return;
	}
	s->nearest[i] = i;
	if (!continues(s, i, above, up)) {
		s->node[i] = s->last[i] = i;
		return;
	}
	s->node[i] = up;
	s->more[s->last[up]] = i;
	s->last[up] = i;
	s->results[up] += s->c->role[i] == GROVE_ROLE_TOOL_RESULT;
}

/* Parents come first, though a file from elsewhere may have them later. */
static void place_all(struct making *m)
{
	const struct grove_columns *c = m->s->c;
	unsigned char *done = cli_realloc(NULL, c->nr, 1);
	uint32_t *stack = NULL;
	size_t nr = 0, cap = 0;

	memset(done, 0, c->nr);
	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t at = i;

		while (!done[at]) {
			uint32_t parent = c->parent[at];

			done[at] = 1;
			if (parent == NONE || parent == GROVE_EARLIER || done[parent]) {
				place(m, at);
				break;
			}
			if (nr == cap) {
				cap = cap ? cap * 2 : 64;
				stack = cli_realloc(stack, cap, sizeof(*stack));
			}
			stack[nr++] = at;
			at = parent;
		}
		while (nr)
			place(m, stack[--nr]);
	}
	free(stack);
	free(done);
}

/* If several lines have the same id, the last one counts, in the position of the first. */
static void add_node(struct making *m, uint32_t i)
{
	struct shape *s = m->s;
	const struct grove_columns *c = s->c;

	if (c->flags[i] & GROVE_ENTRY_SUPERSEDED &&
	    (!c->id[i] || grove_view_find(m->v, c->strings + c->id[i], &i) || i >= c->nr))
		return;
	if (s->node[i] == i && s->prev[i] == NONE)
		add_child(s, i, c->parent[i] < c->nr ? s->node[c->parent[i]] : NONE);
}

/*
 * Finds the node that the leaf is shown at. What is not part of the conversation stands for
 * the entry above it; an entry that is part of it is not taken for another one.
 */
static uint32_t find_leaf(const struct making *m)
{
	const struct shape *s = m->s;
	uint32_t row = grove_view_leaf(m->v), i = 0;

	while (i < s->c->nr && s->c->index[i] != row)
		i++;
	while (i < s->c->nr && s->nearest[i] != i) {
		if (!is_hidden(m, i, SHAPE_DEFAULT))
			return SHAPE_FILTERED;
		i = s->c->parent[i];
	}
	return i < s->c->nr ? s->node[i] : NONE;
}

static uint32_t *column(uint32_t nr, int byte)
{
	return memset(cli_realloc(NULL, nr, sizeof(uint32_t)), byte, nr * sizeof(uint32_t));
}

int shape_make(struct shape *s, struct grove_view *v, enum shape_filter filter, int records, int merged)
{
	struct making m = { .s = s, .v = v, .filter = filter, .records = records };
	int err;

	memset(s, 0, sizeof(*s));
	s->root = NONE;
	s->merged = merged && !records;
	err = grove_view_columns(v, NULL, &s->c);
	if (err)
		return err;
	s->node = column(s->c->nr, 0xff);
	s->nearest = column(s->c->nr, 0xff);
	s->first = column(s->c->nr, 0xff);
	s->next = column(s->c->nr, 0xff);
	s->prev = column(s->c->nr, 0xff);
	s->more = column(s->c->nr, 0xff);
	s->last = column(s->c->nr, 0xff);
	s->results = column(s->c->nr, 0);
	m.children = column(s->c->nr, 0);
	for (uint32_t i = 0; i < s->c->nr; i++)
		if (s->c->parent[i] < s->c->nr)
			m.children[s->c->parent[i]]++;
	place_all(&m);
	for (uint32_t i = 0; i < s->c->nr; i++)
		add_node(&m, i);
	s->leaf = find_leaf(&m);
	free(m.children);
	return 0;
}

void shape_release(struct shape *s)
{
	grove_columns_free(s->c);
	free(s->node);
	free(s->nearest);
	free(s->first);
	free(s->next);
	free(s->prev);
	free(s->more);
	free(s->last);
	free(s->results);
}
