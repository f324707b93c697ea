/*
 * dialect/claude_chain.c: from rows to the conversation.
 *
 * Two programs read these files, and they differ. The one that resumes a session (mode cli)
 * uses the leaf that it recorded, bridges gaps, and drops what a compaction did not keep.
 * The one that shows it (mode sdk) takes the last leaf in the file and stops at a gap. Both
 * have in common:
 *
 *	live      the last line of each uuid, of the four types
 *	parents   as stored, then relinked by what boundaries keep:
 *
 *	          1 ─ 2 ─ 3 ─ 4     B ─ S ─ 5 ─ 6       B keeps 3, 4; anchor S
 *	                            B ─ S ─ 3 ─ 4 ─ 5 ─ 6
 *
 *	leaf      chosen, then lifted to the nearest message
 *	chain     from there to a root, or to a boundary
 *	replies   claude_reply.c
 */
#include "dialect/claude_chain.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * A record whose parent is missing continues from one written at most this long before;
 * otherwise the program treats it as a beginning.
 */
#define BRIDGE_MS 5000

const char *grove__claude_reason_text(enum grove__claude_reason reason)
{
	static const char *const texts[CLAUDE_REASONS] = {
		[CLAUDE_NOT_ASKED] = "metadata",
		[CLAUDE_SENT] = "on the chain",
		[CLAUDE_SENT_KEPT] = "kept by the compaction",
		[CLAUDE_SENT_RECOVERED] = "beside the chain, of a reply that is on it",
		[CLAUDE_SENT_BRIDGED] = "on the chain; its parent is missing, so it follows an earlier record",
		[CLAUDE_SILENT] = "on the chain, but not a message",
		[CLAUDE_HIDDEN] = "on the chain, but not shown",
		[CLAUDE_REPLACED] = "replaced by a later line with the same uuid",
		[CLAUDE_PASSED] = "a progress record, passed over",
		[CLAUDE_SNIPPED] = "removed by a snip",
		[CLAUDE_DROPPED] = "before the compaction, which keeps other messages",
		[CLAUDE_BEHIND] = "before the compaction",
		[CLAUDE_SIDE] = "of a sub-agent",
		[CLAUDE_OFF_CHAIN] = "on another branch",
	};

	return texts[reason];
}

void grove__claude_conversation_release(struct grove__claude_conversation *c)
{
	free(c->rows);
	free(c->reasons);
	memset(c, 0, sizeof(*c));
}

static const struct grove__claude_packed *at(const struct grove__claude_work *w, uint32_t row)
{
	return &w->r->rows[row];
}

static bool is_row(uint32_t parent)
{
	return parent < CLAUDE_MISSING;
}

static bool is_message(const struct grove__claude_work *w, uint32_t row)
{
	return grove__claude_is_message((enum grove__claude_class)at(w, row)->class);
}

/* Returns true if there are rows that are not messages but belong in the answer. */
static bool has_spoken(const struct grove__claude_work *w)
{
	return w->mode == CLAUDE_MODE_SDK || w->opt->prompts || w->opt->llm;
}

bool grove__claude_is_spoken(const struct grove__claude_work *w, uint32_t row)
{
	uint32_t flags = at(w, row)->flags;

	if (flags & CLAUDE_QUEUED)
		return w->mode == CLAUDE_MODE_SDK ? !(flags & CLAUDE_QUEUED_META) : has_spoken(w);
	return flags & CLAUDE_COMMAND && w->opt->llm && w->mode == CLAUDE_MODE_CLI;
}

static bool is_side(const struct grove__claude_work *w, uint32_t row)
{
	return at(w, row)->flags & CLAUDE_SIDECHAIN;
}

/* --- parents --- */

static uint32_t row_of(const struct grove__claude_rows *r, uint32_t name)
{
	return name == CLAUDE_NONE || r->names[name].row == CLAUDE_NONE ? CLAUDE_MISSING
									 : r->names[name].row;
}

/* Returns true for a row that is skipped in favour of its parent. */
static bool is_passed(const struct grove__claude_work *w, uint32_t row)
{
	return w->bits[row] & CHAIN_SNIPPED ||
	       (w->mode != CLAUDE_MODE_SDK && at(w, row)->class == CLAUDE_PROGRESS);
}

static uint32_t stored_once(const struct grove__claude_work *w, uint32_t row)
{
	return at(w, row)->parent_is == PARENT_NAMED ? row_of(w->r, at(w, row)->parent)
						     : CLAUDE_ROOT;
}

uint32_t grove__claude_stored(const struct grove__claude_work *w, uint32_t row)
{
	uint32_t p = stored_once(w, row);

	if (is_row(p) && is_passed(w, p))
		p = w->parent[p];
	return is_row(p) && !grove__claude_live(w, p) ? CLAUDE_MISSING : p;
}

/* Finds where a skipped row leads; a cycle of them leads nowhere. */
static void resolve_passed(struct grove__claude_work *w, uint32_t row)
{
	uint32_t x = row, y, to;

	while (is_row(x) && is_passed(w, x) && !(w->bits[x] & CHAIN_PLACED)) {
		w->bits[x] |= CHAIN_PLACED;
		w->parent[x] = CLAUDE_MISSING;
		x = stored_once(w, x);
	}
	to = is_row(x) && is_passed(w, x) ? w->parent[x] : x;
	for (; row != x && is_row(row); row = y) {
		y = stored_once(w, row);
		w->parent[row] = to;
	}
}

static void find_live(struct grove__claude_work *w)
{
	const struct grove__claude_rows *r = w->r;

	for (uint32_t i = 0; i < r->nr; i++) {
		const struct grove__claude_packed *p = at(w, i);

		if (p->id != CLAUDE_NONE && r->names[p->id].row == i &&
		    (p->class != CLAUDE_PROGRESS || w->mode == CLAUDE_MODE_SDK))
			w->bits[i] |= CHAIN_LIVE;
	}
	for (size_t i = 0; w->opt->apply_snips && i < r->nr_kept; i++) {
		const struct grove__claude_kept *k = &r->kept[i];

		for (uint32_t j = 0; at(w, k->row)->flags & CLAUDE_SNIP && j < k->nr; j++) {
			uint32_t row = row_of(r, r->pool[k->first + j]);

			if (is_row(row))
				w->bits[row] = CHAIN_SNIPPED;
		}
	}
	for (uint32_t i = 0; i < r->nr; i++)
		if (is_passed(w, i) && !(w->bits[i] & CHAIN_PLACED))
			resolve_passed(w, i);
	for (uint32_t i = 0; i < r->nr; i++)
		if (!is_passed(w, i))
			w->parent[i] = grove__claude_live(w, i) ? grove__claude_stored(w, i) : CLAUDE_ROOT;
}

/* --- what a boundary keeps --- */

/*
 * Parents while they are being changed. A boundary moves all children of a row at once, and
 * there may be as many boundaries as children. So the rows with the same parent form a set,
 * and the set is moved. Sets are trees of nodes; a row that gets a parent of its own gets a
 * new node, and its old one stays empty.
 *
 * A parent here is a row, or `nr` and more: a name that no record has. The summary that a
 * boundary names may be lost; its children are moved all the same.
 */
struct sets {
	struct node {
		uint32_t up;                   /* itself, for the first of a set */
		uint32_t size;
		uint32_t parent;               /* of all rows in the set; valid in its first */
	} *nodes;
	size_t nr, cap;
	uint32_t *node;                        /* for each row; CLAUDE_NONE if its parent does not
	                                          change */
	uint32_t *below;                       /* for each parent, the set of its children, or
	                                          NONE */
	uint32_t nr_rows, nr_below;
};

static bool has_set(const struct sets *s, uint32_t parent)
{
	return parent < s->nr_below;
}

/* Returns a name as a parent; MISSING if there is none. */
static uint32_t parent_by_name(const struct sets *s, uint32_t name)
{
	return name < s->nr_below - s->nr_rows ? s->nr_rows + name : CLAUDE_MISSING;
}

static uint32_t first_of(const struct sets *s, uint32_t i)
{
	while (s->nodes[i].up != i) {
		s->nodes[i].up = s->nodes[s->nodes[i].up].up;
		i = s->nodes[i].up;
	}
	return i;
}

/* Gives the set with the first node `i` a new parent. */
static void join_below(struct sets *s, uint32_t i, uint32_t parent)
{
	uint32_t with = has_set(s, parent) ? s->below[parent] : CLAUDE_NONE;

	if (with != CLAUDE_NONE) {
		uint32_t small = s->nodes[i].size < s->nodes[with].size ? i : with;

		i = small == i ? with : i;
		s->nodes[small].up = i;
		s->nodes[i].size += s->nodes[small].size;
	}
	s->nodes[i].parent = parent;
	if (has_set(s, parent))
		s->below[parent] = i;
}

static int set_parent(struct sets *s, uint32_t row, uint32_t parent)
{
	uint32_t i = (uint32_t)s->nr;
	int rc = grove__array_room(&s->nodes, &s->cap, s->nr, sizeof(*s->nodes));

	if (rc)
		return rc;
	s->nodes[s->nr++] = (struct node){ .up = i, .size = 1 };
	s->node[row] = i;
	join_below(s, i, parent);
	return 0;
}

static int sets_init(struct sets *s, const struct grove__claude_work *w)
{
	size_t nr = w->r->nr, below = nr + w->r->nr_names;
	uint32_t parent;
	int rc = 0;

	if (below >= CLAUDE_MISSING)
		below = nr;
	s->nr_rows = (uint32_t)nr;
	s->nr_below = (uint32_t)below;
	s->node = malloc((nr + 1) * sizeof(*s->node));
	s->below = malloc((below + 1) * sizeof(*s->below));
	if (!s->node || !s->below)
		return GROVE_ENOMEM;
	memset(s->node, 0xff, nr * sizeof(*s->node));
	memset(s->below, 0xff, below * sizeof(*s->below));
	for (uint32_t i = 0; i < nr && !rc; i++) {
		if (!grove__claude_live(w, i))
			continue;
		parent = w->parent[i];
		if (parent == CLAUDE_MISSING && stored_once(w, i) == CLAUDE_MISSING)
			parent = parent_by_name(s, at(w, i)->parent);
		if (has_set(s, parent))
			rc = set_parent(s, i, parent);
	}
	return rc;
}

static void sets_release(struct sets *s)
{
	free(s->nodes);
	free(s->node);
	free(s->below);
}

/* Moves all children of `anchor` below `tail`. */
static void move_children(struct sets *s, uint32_t anchor, uint32_t tail)
{
	uint32_t i = has_set(s, anchor) ? s->below[anchor] : CLAUDE_NONE;

	if (i == CLAUDE_NONE)
		return;
	s->below[anchor] = CLAUDE_NONE;
	join_below(s, i, tail);
}

/* Writes the result back. */
static void settle_parents(struct grove__claude_work *w, const struct sets *s)
{
	uint32_t parent;

	for (uint32_t i = 0; i < w->r->nr; i++) {
		if (s->node[i] == CLAUDE_NONE)
			continue;
		parent = s->nodes[first_of(s, s->node[i])].parent;
		w->parent[i] = parent < s->nr_rows ? parent : CLAUDE_MISSING;
	}
}

static bool live_name(const struct grove__claude_work *w, uint32_t name, uint32_t *row)
{
	*row = row_of(w->r, name);
	return is_row(*row) && grove__claude_live(w, *row);
}

/* Returns true if the segment's tail leads up to its head, and marks its rows. */
static bool mark_segment(struct grove__claude_work *w, uint32_t head, uint32_t tail)
{
	uint32_t row = tail;
	size_t steps = 0;

	while (row != head && steps++ < w->r->nr && is_row(w->parent[row]))
		row = w->parent[row];
	if (row != head)
		return false;
	for (row = tail; row != head; row = w->parent[row])
		w->bits[row] |= CHAIN_KEPT;
	w->bits[head] |= CHAIN_KEPT;
	return true;
}

/* Keeps together what is kept, whatever happens to its anchor's other children. */
static int stay(const struct grove__claude_work *w, struct sets *s, uint32_t head, uint32_t tail)
{
	int rc = 0;

	for (uint32_t row = tail; row != head && !rc; row = w->parent[row])
		rc = set_parent(s, row, w->parent[row]);
	return rc;
}

/*
 * Relinks for one boundary. *tail is the last row that is kept, or MISSING if it keeps
 * none. A single name that leads nowhere invalidates the whole list, and the segment is
 * then not considered either.
 */
static int relink(struct grove__claude_work *w, struct sets *s,
		  const struct grove__claude_kept *k, uint32_t *tail)
{
	const uint32_t *names = w->r->pool + k->first;
	uint32_t anchor = row_of(w->r, k->anchor), row, head, prev;
	int rc = 0;

	*tail = CLAUDE_MISSING;
	if (anchor == CLAUDE_MISSING)
		anchor = parent_by_name(s, k->anchor);
	else if (!grove__claude_live(w, anchor))
		anchor = CLAUDE_MISSING;
	if (k->messages) {
		for (uint32_t i = 0; i < k->nr; i++)
			if (!live_name(w, names[i], &row))
				return 0;
		if (!k->nr)
			return 0;
		for (uint32_t i = 0; i < k->nr; i++)
			w->bits[row_of(w->r, names[i])] |= CHAIN_KEPT;
		move_children(s, anchor, row_of(w->r, names[k->nr - 1]));
		prev = anchor;
		for (uint32_t i = 0; i < k->nr && !rc; i++) {
			row = row_of(w->r, names[i]);
			rc = set_parent(s, row, prev);
			prev = row;
		}
		*tail = prev;
	} else if (k->segment) {
		if (!live_name(w, k->head, &head) || !live_name(w, k->tail, &row))
			return 0;
		/* the SDK does not check whether the tail leads to the head */
		if (w->mode == CLAUDE_MODE_SDK)
			w->bits[head] |= CHAIN_KEPT;
		else if (!mark_segment(w, head, row))
			return 0;
		move_children(s, anchor, row);
		if (w->mode == CLAUDE_MODE_CLI)
			rc = stay(w, s, head, row);
		if (!rc)
			rc = set_parent(s, head, anchor);
		*tail = row;
	}
	return rc;
}

/* Clears the marks of a boundary before the next one sets its own. */
static void unmark(struct grove__claude_work *w, const struct grove__claude_kept *k)
{
	uint32_t row = row_of(w->r, k->head);

	for (uint32_t i = 0; i < k->nr; i++)
		if (is_row(row_of(w->r, w->r->pool[k->first + i])))
			w->bits[row_of(w->r, w->r->pool[k->first + i])] &= (uint8_t)~CHAIN_KEPT;
	if (is_row(row))
		w->bits[row] &= (uint8_t)~CHAIN_KEPT;
}

/*
 * The program that resumes drops what is above the last boundary and not kept, provided
 * that some boundary keeps something. A message below it continues after the last row that
 * is kept; an attachment or system record loses its parent.
 */
static void drop_above(struct grove__claude_work *w, uint32_t boundary, uint32_t tail)
{
	uint32_t end = grove__claude_map_place(w, boundary), row;

	for (uint32_t i = 0; i < end; i++) {
		row = grove__claude_map_row(w, i);
		if (is_row(row) && !(w->bits[row] & CHAIN_KEPT))
			w->bits[row] = (uint8_t)((w->bits[row] & ~CHAIN_LIVE) | CHAIN_DROPPED);
	}
	for (uint32_t i = 0; i < w->r->nr; i++)
		if (grove__claude_live(w, i) && is_row(w->parent[i]) &&
		    w->bits[w->parent[i]] & CHAIN_DROPPED)
			w->parent[i] = is_message(w, i) ? tail : CLAUDE_MISSING;
}

/* The boundaries that count, in the order of the map. */
struct boundaries {
	const struct grove__claude_kept **at;
	size_t nr;
};

static int map_order(const void *a, const void *b, void *work)
{
	const struct grove__claude_kept *x = *(const struct grove__claude_kept *const *)a;
	const struct grove__claude_kept *y = *(const struct grove__claude_kept *const *)b;
	uint32_t m = grove__claude_map_place(work, x->row), n = grove__claude_map_place(work, y->row);

	return m < n ? -1 : m > n;
}

/* Finds those above row `until`. */
static int find_boundaries(struct grove__claude_work *w, uint32_t until, struct boundaries *b)
{
	uint32_t end = until < w->r->nr ? grove__claude_map_place(w, until) : until;

	b->at = malloc((w->r->nr_kept + 1) * sizeof(*b->at));
	if (!b->at)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < w->r->nr_kept; i++) {
		const struct grove__claude_kept *k = &w->r->kept[i];

		if (grove__claude_live(w, k->row) && at(w, k->row)->flags & CLAUDE_BOUNDARY &&
		    grove__claude_map_place(w, k->row) < end)
			b->at[b->nr++] = k;
	}
	qsort_r(b->at, b->nr, sizeof(*b->at), map_order, w);
	return 0;
}

static int relink_some(struct grove__claude_work *w, const struct grove__claude_kept **k, size_t nr,
		       uint32_t *tail)
{
	struct sets s = { 0 };
	int rc = sets_init(&s, w);

	for (size_t i = 0; i < nr && !rc; i++) {
		if (i)
			unmark(w, k[i - 1]);
		rc = relink(w, &s, k[i], tail);
	}
	if (!rc)
		settle_parents(w, &s);
	sets_release(&s);
	return rc;
}

/* Applies the boundaries above row `until`; *last is the last of all. */
static int relink_all(struct grove__claude_work *w, uint32_t until, uint32_t *last)
{
	const struct grove__claude_kept *k;
	struct boundaries b = { 0 };
	uint32_t tail = CLAUDE_MISSING;
	bool any = false;
	int rc = find_boundaries(w, until, &b);

	*last = !rc && b.nr ? b.at[b.nr - 1]->row : CLAUDE_MISSING;
	for (size_t i = 0; i < b.nr; i++)
		any |= b.at[i]->messages || b.at[i]->segment;
	if (rc || !any || w->opt->full_history || w->mode == CLAUDE_MODE_AGENT)
		goto out;
	k = b.at[b.nr - 1];
	rc = w->mode == CLAUDE_MODE_SDK ? relink_some(w, b.at, b.nr, &tail)
					: relink_some(w, b.at + b.nr - 1, 1, &tail);
	w->relinked = is_row(tail);
	if (!rc && w->mode == CLAUDE_MODE_CLI && (w->relinked || (!k->messages && !k->segment)))
		drop_above(w, *last, tail);
out:
	free(b.at);
	return rc;
}

/* --- the leaf --- */

uint32_t grove__claude_lift(const struct grove__claude_work *w, uint32_t row)
{
	uint32_t x = row, found;

	/* each row is visited once, and remembers the answer */
	while (is_row(x) && w->lifted[x] == CLAUDE_NONE && !is_message(w, x)) {
		w->lifted[x] = CLAUDE_MISSING;
		x = w->parent[x];
	}
	found = !is_row(x) ? CLAUDE_MISSING : is_message(w, x) ? x : w->lifted[x];
	for (; row != x && is_row(row); row = w->parent[row])
		w->lifted[row] = found;
	return found;
}

static bool is_shown(const struct grove__claude_work *w, uint32_t row)
{
	return !(at(w, row)->flags & (CLAUDE_SIDECHAIN | CLAUDE_TEAM));
}

/*
 * Finds the last record that no other refers to. With `all`, if there is none among the
 * records that are shown, one that is not shown may be it.
 */
static uint32_t last_leaf(struct grove__claude_work *w, bool all)
{
	uint32_t i, nr = (uint32_t)w->r->nr;

	for (i = 0; i < nr; i++)
		w->bits[i] &= (uint8_t)~CHAIN_REFERRED;
	for (i = 0; i < nr; i++)
		if (grove__claude_live(w, i) && is_row(w->parent[i]) &&
		    (all || (is_shown(w, i) && at(w, i)->class != CLAUDE_PROGRESS)))
			w->bits[w->parent[i]] |= CHAIN_REFERRED;
	for (i = nr; i-- > 0;)
		if ((w->bits[i] & (CHAIN_LIVE | CHAIN_REFERRED)) == CHAIN_LIVE &&
		    (all || (is_shown(w, i) && at(w, i)->class != CLAUDE_PROGRESS)) &&
		    is_row(grove__claude_lift(w, i)))
			return i;
	return all ? CLAUDE_MISSING : last_leaf(w, true);
}

/*
 * Returns the message at or above the end of a branch; MISSING if the row is not an end, or
 * there is none.
 */
static uint32_t end_at(const struct grove__claude_work *w, uint32_t row)
{
	if ((w->bits[row] & (CHAIN_LIVE | CHAIN_REFERRED)) != CHAIN_LIVE)
		return CLAUDE_MISSING;
	return grove__claude_lift(w, row);
}

/* Returns the message in which all branches end; MISSING if there are several. */
static uint32_t only_end(const struct grove__claude_work *w)
{
	uint32_t only = CLAUDE_MISSING, up;

	for (uint32_t i = 0; i < w->r->nr; i++) {
		up = end_at(w, i);
		if (is_row(up) && is_row(only) && up != only)
			return CLAUDE_MISSING;
		only = is_row(up) ? up : only;
	}
	return only;
}

/* Returns the latest message, by time, in which a branch ends. */
static uint32_t latest_end(const struct grove__claude_work *w)
{
	uint32_t best = CLAUDE_MISSING, row, up;

	for (uint32_t i = 0; i < w->r->nr; i++) {
		row = grove__claude_map_row(w, i);
		up = is_row(row) && !is_side(w, row) ? end_at(w, row) : CLAUDE_MISSING;
		if (is_row(up) && !is_side(w, up) &&
		    (!is_row(best) || at(w, up)->time > at(w, best)->time))
			best = up;
	}
	return best;
}

/*
 * Finds the last record of the file. If a boundary moved what it keeps after its summary
 * and there is only one branch, it is the end of that, wherever it is. If no message is
 * above the last record, it is the latest in which a branch ends.
 */
static uint32_t find_tail(struct grove__claude_work *w)
{
	uint32_t i, only, nr = (uint32_t)w->r->nr;

	for (i = nr; i-- > 0;)
		if (grove__claude_live(w, i) && !is_side(w, i))
			break;
	if (i == UINT32_MAX)
		return CLAUDE_MISSING;
	if (is_row(grove__claude_lift(w, i)) && !w->relinked)
		return i;
	for (uint32_t j = 0; j < nr; j++)
		if (grove__claude_live(w, j) && is_row(w->parent[j]))
			w->bits[w->parent[j]] |= CHAIN_REFERRED;
	only = w->relinked ? only_end(w) : CLAUDE_MISSING;
	if (is_row(only) && !is_side(w, only))
		return only;
	return is_row(grove__claude_lift(w, i)) ? i : latest_end(w);
}

/* The recorded leaf, if it is still valid. */
struct recorded {
	uint32_t line;            /* of the last-prompt */
	uint32_t name;
	bool any, explicit, empty;
};

static struct recorded find_recorded(const struct grove__claude_work *w, uint32_t boundary)
{
	struct recorded rec = { 0 };
	uint32_t i = is_row(boundary) ? boundary + 1 : 0;

	for (; i < w->r->nr; i++) {
		const struct grove__claude_packed *p = at(w, i);

		if (p->class == CLAUDE_LAST_PROMPT && p->parent != CLAUDE_NONE) {
			rec = (struct recorded){ i, p->parent, true, p->flags & CLAUDE_EXPLICIT, false };
		} else if (p->class == CLAUDE_LAST_PROMPT && p->flags & CLAUDE_EXPLICIT &&
			   p->flags & CLAUDE_LEAF_NULL) {
			rec = (struct recorded){ i, CLAUDE_NONE, true, true, true };
		} else if (rec.explicit && grove__claude_live(w, i) && !is_side(w, i)) {
			/* a later record invalidates it */
			rec.explicit = false;
			rec.any = !rec.empty;
		}
	}
	return rec;
}

/* Returns true for a call, or a result, of the reply that the call at `row` belongs to. */
static bool same_reply(const struct grove__claude_work *w, uint32_t x, uint32_t row)
{
	return at(w, x)->class == CLAUDE_ASSISTANT && at(w, x)->flags & CLAUDE_TOOL_USE &&
	       at(w, x)->reply != CLAUDE_NONE && at(w, x)->reply == at(w, row)->reply;
}

/*
 * Returns true if `row` is above `tail`. Parallel calls of a reply and their results are on
 * different branches, so a row that joins the chain at a call of its own reply counts, too.
 */
static bool is_above(struct grove__claude_work *w, uint32_t row, uint32_t tail)
{
	uint32_t x = tail, first;
	size_t steps = 0;
	bool found;

	for (; is_row(x) && !(w->bits[x] & CHAIN_ON); x = w->parent[x])
		w->bits[x] |= CHAIN_ON;
	found = w->bits[row] & CHAIN_ON;
	first = at(w, row)->flags & CLAUDE_TOOL_RESULT ? w->parent[row] : row;
	for (x = first; !found && is_row(x) && steps++ < w->r->nr && same_reply(w, x, first);
	     x = w->parent[x])
		found = w->bits[x] & CHAIN_ON;
	for (x = tail; is_row(x) && w->bits[x] & CHAIN_ON; x = w->parent[x])
		w->bits[x] &= (uint8_t)~CHAIN_ON;
	return found;
}

/*
 * Finds the last of the attachments and system records that follow the leaf, each below the
 * previous one. Messages beside them are another branch.
 */
static int end_of_run(struct grove__claude_work *w, uint32_t *leaf)
{
	uint32_t *next, i, nr = (uint32_t)w->r->nr;

	next = malloc((nr + 1) * sizeof(*next));
	if (!next)
		return GROVE_ENOMEM;
	memset(next, 0xff, nr * sizeof(*next));
	for (i = 0; i < nr; i++)
		if (grove__claude_live(w, i) && !is_message(w, i) && is_row(w->parent[i]))
			next[w->parent[i]] = i;
	for (i = 0; i < nr && is_row(next[*leaf]); i++)
		*leaf = next[*leaf];
	free(next);
	return 0;
}

enum { IS_BELOW = CHAIN_ON, IS_NOT_BELOW = CHAIN_BRIDGED };      /* marks that are free here */

/* Marks the rows from `row` up: below another one or not, as the first that is marked. */
static void mark_below(struct grove__claude_work *w, uint32_t row)
{
	const uint8_t both = IS_BELOW | IS_NOT_BELOW;
	uint32_t x = row;
	uint8_t mark;

	for (; is_row(x) && !(w->bits[x] & both); x = w->parent[x])
		w->bits[x] |= both;
	/* a row with both marks is in a cycle */
	mark = is_row(x) && (w->bits[x] & both) == IS_BELOW ? IS_BELOW : IS_NOT_BELOW;
	for (x = row; is_row(x) && (w->bits[x] & both) == both; x = w->parent[x])
		w->bits[x] = (uint8_t)((w->bits[x] & ~both) | mark);
}

/*
 * The last record of the file may have been written after records below it. The latest of
 * those is the leaf, if it is later than the record itself.
 */
static uint32_t latest_below(struct grove__claude_work *w, uint32_t tail)
{
	uint32_t i, row, best = tail, nr = (uint32_t)w->r->nr;

	for (i = 0; i < nr; i++)
		if (w->parent[i] == tail && i != tail && grove__claude_live(w, i))
			break;
	if (i == nr || w->relinked || at(w, tail)->time == GROVE_NO_TIME)
		return tail;
	w->bits[tail] |= IS_BELOW;
	for (i = 0; i < nr; i++)
		mark_below(w, i);
	for (i = 0; i < nr; i++) {
		row = grove__claude_map_row(w, i);
		if (is_row(row) && (w->bits[row] & IS_BELOW) && is_message(w, row) && !is_side(w, row) &&
		    at(w, row)->time > at(w, tail)->time &&
		    (best == tail || at(w, row)->time >= at(w, best)->time))
			best = row;
	}
	for (i = 0; i < nr; i++)
		w->bits[i] &= (uint8_t)~(IS_BELOW | IS_NOT_BELOW);
	return best;
}

static uint32_t cli_leaf(struct grove__claude_work *w, uint32_t boundary)
{
	struct recorded rec = find_recorded(w, boundary);
	uint32_t tail = find_tail(w), row;

	if (!is_row(tail))
		return tail;
	if (!rec.any)
		return latest_below(w, tail);
	if (rec.empty) {
		w->out->recorded = true;
		return CLAUDE_MISSING;
	}
	if (!live_name(w, rec.name, &row) || is_side(w, row) || !is_row(grove__claude_lift(w, row)))
		return tail;
	if (!rec.explicit && is_above(w, row, tail))
		return tail;
	w->out->recorded = true;
	w->out->named = row;
	return row;
}

static uint32_t agent_leaf(const struct grove__claude_work *w)
{
	for (uint32_t i = (uint32_t)w->r->nr; i-- > 0;)
		if (grove__claude_live(w, i) && is_message(w, i))
			return i;
	return CLAUDE_MISSING;
}

/* --- the chain --- */

/*
 * Records by time, to bridge gaps: finds the latest record not later than a given one and,
 * among those of the same time, the first in the file. Records already on the chain are
 * skipped permanently.
 */
struct by_time {
	const struct grove__claude_work *w;
	bool ready;
	struct timed {
		int64_t time;
		uint32_t row, place;   /* its position in the map */
		uint32_t left;         /* 1 + the index where to continue; 0 if there is nothing */
	} *items[2];                   /* main, side */
	size_t nr[2];
};

static int by_time_order(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->place > y->place ? -1 : x->place < y->place;
}

static int by_time_init(struct by_time *t)
{
	const struct grove__claude_work *w = t->w;

	for (int side = 0; side < 2; side++) {
		t->items[side] = malloc((w->r->nr + 1) * sizeof(*t->items[side]));
		if (!t->items[side])
			return GROVE_ENOMEM;
	}
	for (uint32_t i = 0; i < w->r->nr; i++)
		if (grove__claude_live(w, i) && at(w, i)->time != GROVE_NO_TIME) {
			int side = is_side(w, i);

			t->items[side][t->nr[side]++] =
				(struct timed){ at(w, i)->time, i, grove__claude_map_place(w, i), 0 };
		}
	for (int side = 0; side < 2; side++) {
		qsort(t->items[side], t->nr[side], sizeof(*t->items[side]), by_time_order);
		for (size_t i = 0; i < t->nr[side]; i++)
			t->items[side][i].left = (uint32_t)i + 1;
	}
	t->ready = true;
	return 0;
}

static void by_time_release(struct by_time *t)
{
	free(t->items[0]);
	free(t->items[1]);
}

/* Returns 1 + the index at or left of `i` whose row is not on the chain; 0 if none. */
static uint32_t free_place(struct timed *items, const uint8_t *bits, uint32_t i)
{
	uint32_t found = i, next;

	for (;;) {
		while (found && items[found - 1].left != found)
			found = items[found - 1].left;
		if (!found || !(bits[items[found - 1].row] & CHAIN_ON))
			break;
		items[found - 1].left = found - 1;
	}
	for (; i > found; i = next) {
		next = items[i - 1].left;
		items[i - 1].left = found;
	}
	return found;
}

static int bridge(struct by_time *t, uint32_t row, uint32_t *out)
{
	const struct grove__claude_work *w = t->w;
	int64_t time = at(w, row)->time;
	int side = is_side(w, row);
	size_t lo = 0, hi;
	uint32_t i;
	int rc;

	*out = CLAUDE_MISSING;
	rc = t->ready ? 0 : by_time_init(t);
	if (rc || time == GROVE_NO_TIME)
		return rc;
	for (hi = t->nr[side]; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->items[side][mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	i = free_place(t->items[side], w->bits, (uint32_t)lo);
	if (i && time - t->items[side][i - 1].time <= BRIDGE_MS)
		*out = t->items[side][i - 1].row;
	return 0;
}

static uint32_t logical_parent(const struct grove__claude_work *w, uint32_t row)
{
	uint32_t p = row_of(w->r, at(w, row)->logical);

	return is_row(p) && grove__claude_live(w, p) ? p : CLAUDE_ROOT;
}

/* Walks up from the leaf, then reverses the result. */
static int walk(struct grove__claude_work *w, uint32_t row)
{
	struct by_time t = { .w = w };
	int rc = 0;

	while (is_row(row) && !rc) {
		uint32_t p = w->parent[row];
		bool boundary = at(w, row)->flags & CLAUDE_BOUNDARY;

		w->bits[row] |= CHAIN_ON;
		w->chain[w->nr_chain++] = row;
		if (boundary && w->opt->full_history && !is_row(p))
			p = logical_parent(w, row);
		else if (boundary && w->mode == CLAUDE_MODE_CLI)
			break;
		if (w->mode == CLAUDE_MODE_CLI &&
		    (p == CLAUDE_MISSING || (is_row(p) && w->bits[p] & CHAIN_ON))) {
			rc = bridge(&t, row, &p);
			if (is_row(p))
				w->bits[row] |= CHAIN_BRIDGED;
		}
		row = is_row(p) && !(w->bits[p] & CHAIN_ON) ? p : CLAUDE_ROOT;
	}
	by_time_release(&t);
	for (size_t i = 0, j = w->nr_chain; i + 1 < j; i++) {
		uint32_t x = w->chain[i];

		w->chain[i] = w->chain[--j];
		w->chain[j] = x;
	}
	return rc;
}

/* --- the answer --- */

/*
 * The SDK shows a queued prompt under the uuid of what was queued: only once, and not if
 * there is a record with that uuid. *yes: it was shown already.
 */
static int is_repeated(struct grove__claude_work *w, uint32_t row, bool *yes)
{
	uint32_t source = at(w, row)->reply, other = row_of(w->r, source);

	*yes = false;
	if (source == CLAUDE_NONE)
		return 0;
	if (!w->sources) {
		w->sources = calloc(w->r->nr_names, sizeof(*w->sources));
		if (!w->sources)
			return GROVE_ENOMEM;
	}
	*yes = w->sources[source] ||
	       (is_row(other) && other != row && w->bits[other] & (CHAIN_ON | CHAIN_PLACED));
	w->sources[source] = true;
	return 0;
}

/* Finds out whether the SDK hides a row that is on the chain. */
static int is_hidden(struct grove__claude_work *w, uint32_t row, bool *yes)
{
	uint32_t flags = at(w, row)->flags;

	*yes = !is_shown(w, row) || (is_message(w, row) && flags & CLAUDE_META);
	return *yes || !(flags & CLAUDE_QUEUED) ? 0 : is_repeated(w, row, yes);
}

int grove__claude_place(struct grove__claude_work *w, uint32_t row)
{
	struct grove__claude_conversation *out = w->out;
	bool hidden = false;
	int rc;

	if (w->bits[row] & CHAIN_PLACED)
		return 0;
	w->bits[row] |= CHAIN_PLACED;
	if (!is_message(w, row) && !grove__claude_is_spoken(w, row))
		return 0;
	rc = w->mode == CLAUDE_MODE_SDK ? is_hidden(w, row, &hidden) : 0;
	if (rc || hidden)
		return rc;
	rc = grove__array_room(&out->rows, &out->cap, out->nr, sizeof(*out->rows));
	if (!rc)
		out->rows[out->nr++] = row;
	return rc;
}

static int give_reasons(struct grove__claude_work *w)
{
	struct grove__claude_conversation *out = w->out;
	uint32_t first = w->nr_chain ? w->chain[0] : CLAUDE_MISSING;
	uint32_t begin = is_row(first) && at(w, first)->flags & CLAUDE_BOUNDARY ? first : 0;
	uint32_t i;

	out->reasons = calloc(w->r->nr + 1, 1);
	if (!out->reasons)
		return GROVE_ENOMEM;
	out->nr_reasons = w->r->nr;
	for (i = 0; i < w->r->nr; i++) {
		enum grove__claude_reason why = CLAUDE_OFF_CHAIN;

		if (at(w, i)->id == CLAUDE_NONE)
			why = CLAUDE_NOT_ASKED;
		else if (w->bits[i] & CHAIN_SNIPPED)
			why = CLAUDE_SNIPPED;
		else if (w->bits[i] & CHAIN_DROPPED)
			why = CLAUDE_DROPPED;
		else if (at(w, i)->class == CLAUDE_PROGRESS)
			why = CLAUDE_PASSED;
		else if (!grove__claude_live(w, i))
			why = CLAUDE_REPLACED;
		else if (w->bits[i] & (CHAIN_ON | CHAIN_PLACED))
			why = is_message(w, i) ? CLAUDE_HIDDEN : CLAUDE_SILENT;
		else if (is_side(w, i))
			why = CLAUDE_SIDE;
		else if (i < begin)
			why = CLAUDE_BEHIND;
		out->reasons[i] = (uint8_t)why;
	}
	for (size_t j = 0; j < out->nr; j++) {
		uint8_t bits = w->bits[out->rows[j]];

		out->reasons[out->rows[j]] = bits & CHAIN_BRIDGED ? CLAUDE_SENT_BRIDGED
					     : !(bits & CHAIN_ON) ? CLAUDE_SENT_RECOVERED
					     : bits & CHAIN_KEPT  ? CLAUDE_SENT_KEPT
								  : CLAUDE_SENT;
	}
	return 0;
}

/* Chooses the record that the conversation ends with, or says why there is none. */
static int choose(struct grove__claude_work *w, uint32_t *leaf, bool *asked)
{
	uint32_t boundary;
	int rc;

	*asked = w->opt->leaf.ptr;
	*leaf = CLAUDE_MISSING;
	find_live(w);
	if (*asked && w->opt->leaf.len) {
		*leaf = grove__claude_rows_find(w->r, w->opt->leaf);
		if (!is_row(*leaf) || !grove__claude_live(w, *leaf) ||
		    at(w, *leaf)->class == CLAUDE_PROGRESS)
			return GROVE_ENOTFOUND;
	}
	/* ignore what came after the requested leaf */
	rc = relink_all(w, is_row(*leaf) ? *leaf : CLAUDE_NONE, &boundary);
	if (rc || *asked)
		return rc;
	*leaf = w->mode == CLAUDE_MODE_SDK   ? last_leaf(w, false)
		: w->mode == CLAUDE_MODE_CLI ? cli_leaf(w, boundary)
					     : agent_leaf(w);
	return 0;
}

/*
 * Among the queued prompts between messages, the SDK shows those that were answered. If
 * another prompt follows first, or nothing, it was not taken up in the turn in which it was
 * typed. Hidden rows and summaries do not count as either.
 */
static void pass_over_queued(struct grove__claude_work *w)
{
	bool answered = false;

	for (size_t j = w->nr_chain; j-- > 0;) {
		const struct grove__claude_packed *p = at(w, w->chain[j]);

		if (p->class == CLAUDE_ASSISTANT ||
		    (p->class == CLAUDE_USER &&
		     p->flags & (CLAUDE_TOOL_RESULT | CLAUDE_INTERRUPTED)))
			answered = true;
		else if (p->class == CLAUDE_USER &&
			 !(p->flags & (CLAUDE_META | CLAUDE_COMPACT_SUMMARY)))
			answered = false;
		else if (p->flags & CLAUDE_QUEUED && !answered)
			w->bits[w->chain[j]] |= CHAIN_PLACED;
	}
}

/*
 * Below the last message the SDK shows every queued prompt that no message follows, on
 * whatever branch: depth first, branches by time.
 *
 *	end ─┬─ Q1 ── note ── Q2        shown: Q1, Q2, Q4
 *	     └─ Q3 ─┬─ prompt           a message follows Q3
 *	            └─ Q4
 */
struct below {
	uint32_t row, parent;
	int64_t time;
};

static int below_order(const void *a, const void *b)
{
	const struct below *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Returns how many rows come before those whose parent is `parent`. */
static size_t first_below(const struct below *rows, size_t nr, uint32_t parent)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows[mid].parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Marks the rows that a message follows. */
static void mark_followed(const struct grove__claude_work *w, bool *followed)
{
	for (uint32_t i = 0; i < w->r->nr; i++) {
		uint32_t x = w->parent[i];

		if (!grove__claude_live(w, i) || !is_message(w, i) || !is_shown(w, i))
			continue;
		for (; is_row(x) && !followed[x] && !is_message(w, x); x = w->parent[x])
			followed[x] = true;
	}
}

static int place_below(struct grove__claude_work *w, const struct below *rows, size_t nr,
		       uint32_t *stack, const bool *followed, uint32_t end)
{
	size_t depth = 0, first, i;
	uint32_t row = end;
	int rc = 0;

	for (;;) {
		first = i = first_below(rows, nr, row);
		while (i < nr && rows[i].parent == row)
			i++;
		while (i-- > first)
			stack[depth++] = rows[i].row;
		if (rc || !depth)
			return rc;
		row = stack[--depth];
		if (!followed[row] && grove__claude_is_spoken(w, row)) {
			w->bits[row] |= CHAIN_ON;
			rc = grove__claude_place(w, row);
		}
	}
}

/* Returns true if there is a queued prompt below `end`. */
static bool has_queued_below(const struct grove__claude_work *w, uint32_t end)
{
	for (uint32_t i = 0; i < w->r->nr; i++)
		if (grove__claude_live(w, i) && grove__claude_is_spoken(w, i) &&
		    grove__claude_lift(w, i) == end)
			return true;
	return false;
}

static int place_queued_below(struct grove__claude_work *w, uint32_t end)
{
	size_t nr = 0, most = w->r->nr;
	struct below *rows;
	uint32_t *stack;
	bool *followed;
	int rc = GROVE_ENOMEM;

	if (!has_queued_below(w, end))
		return 0;
	rows = malloc(most * sizeof(*rows));
	stack = malloc(most * sizeof(*stack));
	followed = calloc(most, sizeof(*followed));
	if (!rows || !stack || !followed)
		goto out;
	for (uint32_t i = 0; i < most; i++)
		if (grove__claude_live(w, i) && !is_message(w, i) && grove__claude_lift(w, i) == end)
			rows[nr++] = (struct below){ i, w->parent[i], at(w, i)->time };
	qsort(rows, nr, sizeof(*rows), below_order);
	mark_followed(w, followed);
	rc = place_below(w, rows, nr, stack, followed, end);
out:
	free(rows);
	free(stack);
	free(followed);
	return rc;
}

/* Returns the last message of the answer, or MISSING. */
static uint32_t last_message(const struct grove__claude_work *w)
{
	size_t i = w->out->nr;

	while (i && !is_message(w, w->out->rows[i - 1]))
		i--;
	return i ? w->out->rows[i - 1] : CLAUDE_MISSING;
}

static int converse(struct grove__claude_work *w)
{
	struct grove__claude_conversation *out = w->out;
	uint32_t leaf, end, low, last;
	bool asked;
	int rc = choose(w, &leaf, &asked);

	if (rc)
		return rc;
	if (is_row(leaf)) {
		end = low = grove__claude_lift(w, leaf);
		if (!asked && w->mode == CLAUDE_MODE_CLI)
			rc = end_of_run(w, &leaf);
		/* rows other than messages may also belong after the last one */
		if (is_row(end) && has_spoken(w) && (asked || w->mode != CLAUDE_MODE_SDK))
			low = leaf;
		if (!asked && w->mode == CLAUDE_MODE_CLI) {
			/* the reply to an open prompt goes before the system's notes */
			while (!rc && at(w, end)->class == CLAUDE_USER && leaf != end &&
			       at(w, leaf)->class == CLAUDE_SYSTEM && is_row(w->parent[leaf]) &&
			       w->parent[leaf] < leaf)
				leaf = w->parent[leaf];
		}
		if (!rc)
			rc = walk(w, low);
		if (!rc && (w->mode == CLAUDE_MODE_SDK || w->opt->answered))
			pass_over_queued(w);
		if (!rc)
			rc = grove__claude_replies(w);
		if (!rc && !asked && w->mode == CLAUDE_MODE_SDK && is_row(end)) {
			rc = place_queued_below(w, end);
			for (uint32_t x = leaf; x != end; x = w->parent[x])
				w->bits[x] |= CHAIN_ON;
		}
		/* results that were found end the conversation in place of their call */
		last = last_message(w);
		if (!rc && !asked && is_row(end) && is_row(last) && last != end &&
		    !(w->bits[last] & CHAIN_ON))
			leaf = last;
	}
	out->leaf = is_row(leaf) ? leaf : CLAUDE_NONE;
	return rc ? rc : give_reasons(w);
}

static int work_init(struct grove__claude_work *w)
{
	size_t nr = w->r->nr;

	w->parent = malloc((nr + 1) * sizeof(*w->parent));
	w->chain = malloc((nr + 1) * sizeof(*w->chain));
	w->lifted = malloc((nr + 1) * sizeof(*w->lifted));
	w->bits = calloc(nr + 1, 1);
	if (!w->parent || !w->chain || !w->lifted || !w->bits)
		return GROVE_ENOMEM;
	memset(w->lifted, 0xff, nr * sizeof(*w->lifted));
	return 0;
}

static void work_release(struct grove__claude_work *w)
{
	free(w->parent);
	free(w->chain);
	free(w->lifted);
	free(w->bits);
	free(w->sources);
}

static const struct grove__claude_options plain;

int grove__claude_chain(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			const struct grove__claude_options *opt,
			struct grove__claude_conversation *out)
{
	struct grove__claude_work w = { .r = r, .mode = mode, .opt = opt ? opt : &plain, .out = out };
	int rc;

	grove__claude_conversation_release(out);
	out->leaf = out->named = CLAUDE_NONE;
	rc = work_init(&w);
	if (!rc)
		rc = converse(&w);
	work_release(&w);
	if (rc)
		grove__claude_conversation_release(out);
	return rc;
}

/* Returns why a last-prompt that names this row would be ignored, or NULL if it would not. */
static const char *why_not(const struct grove__claude_work *w, uint32_t row)
{
	if (w->bits[row] & CHAIN_DROPPED)
		return "it is above a compaction that keeps other messages, so the agent does not load it";
	if (!grove__claude_live(w, row))
		return "it is not part of any conversation";
	if (is_side(w, row))
		return "it belongs to a sub-agent";
	if (!is_row(grove__claude_lift(w, row)))
		return "there is no message in it or above it";
	return NULL;
}

int grove__claude_may_end(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			  uint32_t row, const char **why)
{
	struct grove__claude_work w = { .r = r, .mode = mode, .opt = &plain };
	uint32_t boundary;
	int rc = 0;

	*why = NULL;
	if (mode == CLAUDE_MODE_AGENT) {
		*why = "the transcript of a sub-agent always continues after its last message";
		return 1;
	}
	rc = work_init(&w);
	if (!rc) {
		find_live(&w);
		rc = relink_all(&w, CLAUDE_NONE, &boundary);
	}
	if (!rc)
		*why = why_not(&w, row);
	work_release(&w);
	return rc ? rc : *why != NULL;
}
