/*
 * outline.c: the tree of a session, as rows that can be folded.
 */
#include "outline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE GROVE_NO_ENTRY

enum { BRIEFS = 512 };           /* rows kept in memory, a power of two */

enum outline_state {
	STATE_ACTIVE = 1,        /* on the path to the leaf */
	STATE_READ = 2,          /* known whether it is silent */
	STATE_SILENT = 4
};

/* ------------------------------------------------------------------- making */

/* Returns the index of an entry in the columns, or NONE. */
static uint32_t place_of(const struct outline *o, uint32_t entry)
{
	const struct grove_columns *c = o->s.c;
	uint32_t from = 0, to = c->nr;

	if (entry < c->nr && c->index[entry] == entry)
		return entry;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (c->index[mid] < entry)
			from = mid + 1;
		else
			to = mid;
	}
	return from < c->nr && c->index[from] == entry ? from : NONE;
}

static int is_folded(const struct outline *o, uint32_t node)
{
	uint32_t entry = o->s.c->index[node];

	return entry < o->nr_folded && o->folded[entry];
}

static uint32_t add_level(struct outline *o, uint32_t child, uint32_t outer)
{
	if (o->nr_levels == o->cap_levels) {
		o->cap_levels = o->cap_levels ? 2 * o->cap_levels : 64;
		o->levels = cli_realloc(o->levels, o->cap_levels, sizeof(*o->levels));
	}
	o->levels[o->nr_levels] = (struct outline_level){ child, outer };
	return (uint32_t)o->nr_levels++;
}

/* Lays out the rows from the first root on. With `whole`, ignores folds. */
static void lay_out(struct outline *o, int whole)
{
	uint32_t node = o->s.root, level = NONE;

	o->nr = o->nr_levels = 0;
	memset(o->row_of, 0xff, o->s.c->nr * sizeof(*o->row_of));
	while (node != NONE) {
		/*
		 * the first of several children opens a level; the others got theirs when
		 * the one before them ended
		 */
		if (o->s.next[node] != NONE && (level == NONE || o->levels[level].child != node))
			level = add_level(o, node, level);
		o->row_of[node] = (uint32_t)o->nr;
		o->rows[o->nr] = node;
		o->level_of[o->nr++] = level;
		node = whole || !is_folded(o, node) ? o->s.first[node] : NONE;
		while (node == NONE && level != NONE) {
			uint32_t outer = o->levels[level].outer;

			node = o->s.next[o->levels[level].child];
			level = node == NONE ? outer : add_level(o, node, outer);
		}
	}
}

static uint32_t parent_of(const struct outline *o, uint32_t node)
{
	uint32_t parent = o->s.c->parent[node];

	return parent < o->s.c->nr ? o->s.node[parent] : NONE;
}

/* Children come after their parents, so from the end each row adds itself to its parent. */
static void count_below(struct outline *o)
{
	memset(o->below, 0, o->s.c->nr * sizeof(*o->below));
	for (size_t i = o->nr; i-- > 0;) {
		uint32_t up = parent_of(o, o->rows[i]);

		if (up != NONE)
			o->below[up] += o->below[o->rows[i]] + 1;
	}
}

static int mark_active(struct outline *o)
{
	struct grove_rows path = { NULL, 0 };
	uint32_t leaf = grove_view_leaf(o->v), at = leaf == NONE ? NONE : place_of(o, leaf);
	int err = grove_view_ancestors(o->v, leaf, &path);

	o->leaf = at == NONE ? NONE : o->s.node[at];
	for (size_t i = 0; i < path.nr && !err; i++) {
		uint32_t place = place_of(o, path.at[i]);

		if (place != NONE && o->s.node[place] != NONE)
			o->state[o->s.node[place]] |= STATE_ACTIVE;
	}
	grove_rows_release(&path);
	return err;
}

static void forget_rows(struct outline *o)
{
	shape_release(&o->s);
	free(o->rows);
	free(o->level_of);
	free(o->row_of);
	free(o->below);
	free(o->state);
	memset(&o->s, 0, sizeof(o->s));
	o->rows = o->level_of = o->row_of = o->below = NULL;
	o->state = NULL;
	o->nr = 0;
}

void outline_release(struct outline *o)
{
	forget_rows(o);
	free(o->folded);
	free(o->levels);
	free(o->briefs);
	memset(o, 0, sizeof(*o));
}

/* Folds are stored by entry, so they stay valid in a newer view. */
static void grow_folds(struct outline *o, uint32_t nr)
{
	if (nr <= o->nr_folded)
		return;
	o->folded = cli_realloc(o->folded, nr, 1);
	memset(o->folded + o->nr_folded, 0, nr - o->nr_folded);
	o->nr_folded = nr;
}

static void forget_briefs(struct outline *o)
{
	for (size_t i = 0; i < BRIEFS; i++)
		o->briefs[i].node = NONE;
}

int outline_take(struct outline *o, struct grove_view *v, enum shape_filter filter, int merged)
{
	uint32_t was = outline_first(o), nr;
	int err;

	forget_rows(o);
	o->cursor.at = 0; /* if what was selected is hidden, and so is everything above it */
	o->v = v;
	o->filter = filter;
	o->merged = merged;
	if (!o->briefs)
		o->briefs = cli_realloc(NULL, BRIEFS, sizeof(*o->briefs));
	forget_briefs(o);
	err = shape_make(&o->s, v, filter, 0, merged);
	if (err)
		return err;
	nr = o->s.c->nr;
	o->rows = cli_realloc(NULL, nr, sizeof(*o->rows));
	o->level_of = cli_realloc(NULL, nr, sizeof(*o->level_of));
	o->row_of = cli_realloc(NULL, nr, sizeof(*o->row_of));
	o->below = cli_realloc(NULL, nr, sizeof(*o->below));
	o->state = cli_realloc(NULL, nr, 1);
	memset(o->state, 0, nr);
	grow_folds(o, grove_view_count(v));
	lay_out(o, 1);
	count_below(o);
	lay_out(o, 0);
	err = mark_active(o);
	if (was != NONE)
		outline_select(o, was);
	else if (o->leaf != NONE)
		outline_select(o, o->s.c->index[o->leaf]);
	return err;
}

static void forget_states(struct outline *o)
{
	for (uint32_t i = 0; i < o->s.c->nr; i++)
		o->state[i] &= STATE_ACTIVE;
}

void outline_reread(struct outline *o)
{
	forget_briefs(o);
	forget_states(o);
}

/* --------------------------------------------------------------------- rows */

/* Returns NULL if it cannot be read. */
static const struct brief *brief_of(struct outline *o, uint32_t node)
{
	struct outline_brief *slot = &o->briefs[node & (BRIEFS - 1)];

	if (slot->node == node)
		return &slot->b;
	slot->node = NONE;
	if (!away_try(o->away) || away_read(o->away, brief_node(&slot->b, &o->s, o->v, node)))
		return NULL;
	slot->node = node;
	return &slot->b;
}

static int has_label(const struct outline *o, uint32_t node)
{
	struct grove_entry e = { .size = sizeof(e) };

	for (uint32_t i = node; i != NONE; i = o->s.more[i])
		if (!grove_view_entry(o->v, o->s.c->index[i], &e) && e.label)
			return 1;
	return 0;
}

/* A reply with only tool calls adds nothing to its results. */
static int find_silent(struct outline *o, uint32_t node)
{
	const struct brief *b;

	if (o->merged || node == o->leaf || is_folded(o, node) || o->s.c->role[node] != GROVE_ROLE_ASSISTANT)
		return 0;
	b = brief_of(o, node);
	return b && b->found && !b->error && (b->kind == GROVE_PIECE_TOOL_CALL || b->kind == GROVE_PIECE_THINKING) &&
	       !has_label(o, node);
}

static int is_silent(struct outline *o, size_t row)
{
	uint32_t node = o->rows[row];
	unsigned char *state = &o->state[node];

	if (!(*state & STATE_READ))
		*state |= (unsigned char)(STATE_READ | (find_silent(o, node) ? STATE_SILENT : 0));
	return *state & STATE_SILENT;
}

size_t outline_step(struct outline *o, size_t row, int by)
{
	for (size_t i = row; by < 0 ? i > 0 : i + 1 < o->nr;) {
		i += by < 0 ? (size_t)-1 : 1;
		if (!is_silent(o, i))
			return i;
	}
	return row;
}

void outline_move(struct outline *o, long by)
{
	for (; by; by += by < 0 ? 1 : -1) {
		size_t next = outline_step(o, o->cursor.at, by < 0 ? -1 : 1);

		if (next == o->cursor.at)
			break;
		o->cursor.at = next;
	}
}

/* Moves the selection from a hidden row to the one before, or else the one after. */
static void settle(struct outline *o)
{
	if (o->nr && is_silent(o, o->cursor.at)) {
		size_t at = outline_step(o, o->cursor.at, -1);

		o->cursor.at = at == o->cursor.at ? outline_step(o, at, 1) : at;
	}
}

void outline_end(struct outline *o, int last)
{
	o->cursor.at = last && o->nr ? o->nr - 1 : 0;
	settle(o);
}

/* Below the last row there is nothing as long as there are rows above the first one. */
static void fill(struct outline *o, size_t height)
{
	size_t row = o->cursor.top, next;

	for (; height > 1 && row < o->nr && (next = outline_step(o, row, 1)) != row; height--)
		row = next;
	for (; height > 1 && (next = outline_step(o, o->cursor.top, -1)) != o->cursor.top; height--)
		o->cursor.top = next;
}

void outline_fit(struct outline *o, size_t height)
{
	size_t top = o->cursor.at, up;

	if (o->cursor.top > top)
		o->cursor.top = top;
	for (size_t n = 1; n < height && top > o->cursor.top; n++) {
		up = outline_step(o, top, -1);
		if (up == top)
			break;
		top = up;
	}
	if (top > o->cursor.top)
		o->cursor.top = top;
	fill(o, height);
}

uint32_t outline_first(const struct outline *o)
{
	return o->cursor.at < o->nr ? o->s.c->index[o->rows[o->cursor.at]] : NONE;
}

uint32_t outline_entry(const struct outline *o)
{
	return o->cursor.at < o->nr ? o->s.c->index[o->s.last[o->rows[o->cursor.at]]] : NONE;
}

int outline_at_leaf(const struct outline *o)
{
	return o->cursor.at < o->nr && o->rows[o->cursor.at] == o->leaf;
}

int outline_has_leaf(const struct outline *o, uint32_t entry)
{
	uint32_t place = place_of(o, entry);

	return place != NONE && o->s.node[place] != NONE && o->s.node[place] == o->s.leaf;
}

void outline_select(struct outline *o, uint32_t entry)
{
	uint32_t place = entry == NONE ? NONE : place_of(o, entry), node = place == NONE ? NONE : o->s.node[place];
	int unfolded = 0;

	if (node == NONE)
		return;
	if (o->row_of[node] == NONE) {
		for (uint32_t up = parent_of(o, node); up != NONE; up = parent_of(o, up)) {
			unfolded |= is_folded(o, up);
			o->folded[o->s.c->index[up]] = 0;
		}
		if (unfolded)
			lay_out(o, 0);
	}
	if (o->row_of[node] != NONE) {
		o->cursor.at = o->row_of[node];
		settle(o);
	}
}

/* -------------------------------------------------------------------- folds */

/* Lays out again; the selected node keeps its place on the screen, if possible. */
static void folded_anew(struct outline *o)
{
	uint32_t at = o->rows[o->cursor.at], top = o->rows[o->cursor.top < o->nr ? o->cursor.top : 0];

	/* a folded row is shown even if it is silent */
	forget_states(o);
	lay_out(o, 0);
	while (o->row_of[at] == NONE)
		at = parent_of(o, at);
	o->cursor.at = o->row_of[at];
	while (top != NONE && o->row_of[top] == NONE)
		top = parent_of(o, top);
	o->cursor.top = top == NONE ? 0 : o->row_of[top];
	settle(o);
}

int outline_is_folded(const struct outline *o)
{
	return o->cursor.at < o->nr && is_folded(o, o->rows[o->cursor.at]);
}

int outline_fold(struct outline *o, int fold)
{
	uint32_t node = o->cursor.at < o->nr ? o->rows[o->cursor.at] : NONE;

	if (node == NONE || o->s.first[node] == NONE)
		return 0;
	o->folded[o->s.c->index[node]] = fold != 0;
	folded_anew(o);
	return 1;
}

/* Returns true if a branch begins at a node, because it has siblings. */
static int is_branch(const struct outline *o, size_t row)
{
	uint32_t level = o->level_of[row];

	return level != NONE && o->levels[level].child == o->rows[row];
}

int outline_fold_others(struct outline *o)
{
	int any = 0, folds = 0;

	if (!o->nr)
		return 0;
	for (uint32_t i = 0; i < o->nr_folded; i++) {
		any |= o->folded[i];
		o->folded[i] = 0;
	}
	if (!any)
		for (size_t i = 0; i < o->nr; i++)
			if (is_branch(o, i) && !(o->state[o->rows[i]] & STATE_ACTIVE) && o->s.first[o->rows[i]] != NONE) {
				o->folded[o->s.c->index[o->rows[i]]] = 1;
				folds = 1;
			}
	folded_anew(o);
	return any || folds;
}

int outline_branch(struct outline *o, int by)
{
	for (size_t i = o->cursor.at; by < 0 ? i > 0 : i + 1 < o->nr;) {
		i += by < 0 ? (size_t)-1 : 1;
		if (is_branch(o, i) && !is_silent(o, i)) {
			o->cursor.at = i;
			return 1;
		}
	}
	return 0;
}

int outline_label(struct outline *o, int by)
{
	for (size_t i = o->cursor.at; by < 0 ? i > 0 : i + 1 < o->nr;) {
		i += by < 0 ? (size_t)-1 : 1;
		if (has_label(o, o->rows[i])) {
			o->cursor.at = i;
			return 1;
		}
	}
	return 0;
}

uint32_t outline_tip(const struct outline *o)
{
	uint32_t node = o->cursor.at < o->nr ? o->rows[o->cursor.at] : NONE;

	if (node == NONE)
		return NONE;
	if (o->state[node] & STATE_ACTIVE && o->leaf != NONE)
		return grove_view_leaf(o->v);
	while (o->s.first[node] != NONE)
		for (node = o->s.first[node]; o->s.next[node] != NONE;)
			node = o->s.next[node];
	return o->s.c->index[o->s.last[node]];
}

void outline_tips(const struct outline *o, outline_fn *fn, void *payload)
{
	for (uint32_t i = 0; i < o->s.c->nr; i++)
		if (o->s.node[i] == i && o->s.first[i] == NONE && !(o->s.c->flags[i] & GROVE_ENTRY_SUPERSEDED))
			fn(payload, o->s.c->index[o->s.last[i]]);
}

void outline_labels(const struct outline *o, outline_fn *fn, void *payload)
{
	struct grove_entry e = { .size = sizeof(e) };

	for (uint32_t i = 0; i < grove_view_count(o->v); i++)
		if (!grove_view_entry(o->v, i, &e) && e.label)
			fn(payload, i);
}

/* ----------------------------------------------------------------- printing */

/* Returns true if everything before it on its branch is silent, so that it gets the corner. */
static int begins_branch(struct outline *o, size_t row)
{
	uint32_t level = o->level_of[row];

	if (level == NONE)
		return 0;
	for (;; row--) {
		if (o->rows[row] == o->levels[level].child)
			return 1;
		if (!row || !is_silent(o, row - 1))
			return 0;
	}
}

/* Prints the lines to the left of a row; returns their width. */
static unsigned print_lines(struct outline *o, struct out *to, size_t row, unsigned room)
{
	enum { DEEPEST = 32 };
	uint32_t inner[DEEPEST];
	unsigned nr = 0, used = 0, most = room / 2 < DEEPEST ? room / 2 : DEEPEST;
	uint32_t level = o->level_of[row];
	int first = begins_branch(o, row);

	for (; level != NONE && nr < most; level = o->levels[level].outer)
		inner[nr++] = level;
	if (level != NONE) {
		out_puts(to, "⋯ ");
		used += 2;
	}
	while (nr--) {
		int last = o->s.next[o->levels[inner[nr]].child] == NONE;

		if (!nr && first)
			out_puts(to, last ? "└─" : "├─");
		else
			out_puts(to, last ? "  " : "│ ");
		used += 2;
	}
	return used;
}

static unsigned print_label(const struct outline *o, struct out *to, uint32_t node, unsigned width)
{
	struct grove_entry e = { .size = sizeof(e) };
	unsigned used = 0;

	for (uint32_t i = node; i != NONE; i = o->s.more[i]) {
		if (grove_view_entry(o->v, o->s.c->index[i], &e) || !e.label || used + 4 >= width)
			continue;
		out_style(to, OUT_YELLOW);
		out_style(to, OUT_BOLD);
		out_puts(to, "[");
		used += 3 + out_fit(to, out_str(e.label), (width - used) / 2);
		out_puts(to, "] ");
		out_style(to, OUT_PLAIN);
	}
	return used;
}

unsigned outline_print_word(struct out *to, const struct grove_entry *e, unsigned width)
{
	unsigned used;

	out_style(to, brief_style(e));
	if (width >= 44) {
		out_column(to, out_str(brief_word(e)), 10);
		used = 11;
	} else {
		char letter[2] = { brief_word(e)[0], '\0' };

		out_puts(to, e->role == GROVE_ROLE_TOOL_RESULT ? "←" : letter);
		used = 2;
	}
	out_style(to, OUT_PLAIN);
	out_puts(to, " ");
	return used;
}

static unsigned print_flags(struct out *to, const struct grove_entry *e)
{
	const char *what = e->flags & GROVE_ENTRY_CYCLE ? "(cycle) " : e->flags & GROVE_ENTRY_ORPHAN ? "(orphan) " : "";

	if (!*what)
		return 0;
	out_style(to, OUT_RED);
	out_puts(to, what);
	out_style(to, OUT_PLAIN);
	return (unsigned)strlen(what);
}

int outline_print(struct outline *o, struct out *to, size_t row, unsigned width)
{
	uint32_t node = o->rows[row];
	struct grove_entry e = { .size = sizeof(e) };
	const struct brief *b = brief_of(o, node);
	int active = o->state[node] & STATE_ACTIVE, leaf = node == o->s.leaf;
	unsigned used, after;
	char more[32] = "";
	int err = grove_view_entry(o->v, o->s.c->index[node], &e);

	if (err)
		return err;
	if (is_folded(o, node) && o->below[node])
		snprintf(more, sizeof(more), " +%u", o->below[node]);
	else if (o->s.results[node] > 1 && width >= 40)
		snprintf(more, sizeof(more), " (%u calls)", o->s.results[node]);
	after = (unsigned)strlen(more) + (leaf ? 7 : 0);
	out_style(to, OUT_DIM);
	used = print_lines(o, to, row, width / 3);
	out_style(to, OUT_PLAIN);
	out_puts(to, is_folded(o, node) ? "▸ " : active ? "● " : "○ ");
	used += 2;
	used += outline_print_word(to, &e, width);
	used += print_flags(to, &e);
	if (width > used + after)
		used += print_label(o, to, node, width - used - after);
	if (b && width > used + after)
		brief_print(to, b, width - used - after);
	if (*more) {
		out_style(to, OUT_DIM);
		out_puts(to, more);
		out_style(to, OUT_PLAIN);
	}
	if (leaf) {
		out_style(to, OUT_BOLD);
		out_puts(to, " ← leaf");
		out_style(to, OUT_PLAIN);
	}
	return 0;
}
