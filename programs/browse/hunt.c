/*
 * hunt.c: search within a session.
 *
 * In the tree all rows are searched, in the conversation its entries: the whole text of
 * each, even if it is folded. That may take a while, so it is done in slices of a few
 * milliseconds, between which keys are handled.
 */
#include "browse.h"

#include <string.h>

static size_t rows_of(const struct browse *b, enum browse_pane in)
{
	return in == PANE_TREE ? b->tree.nr : b->talk.rows.nr;
}

static void next(struct hunt *h, size_t nr)
{
	size_t end = h->by < 0 ? 0 : nr - 1;

	h->wrapped |= h->at == end;
	h->at = h->at == end ? nr - 1 - end : h->at + (size_t)h->by;
}

static uint32_t selected(const struct browse *b, enum browse_pane in)
{
	return in == PANE_TREE ? outline_first(&b->tree) : reader_entry(&b->talk);
}

static void start(struct browse *b, int by)
{
	struct hunt *h = &b->hunt;
	size_t nr, from;

	h->by = by;
	h->in = b->focus;
	h->active = h->wrapped = 0;
	nr = rows_of(b, h->in);
	if (!nr || !h->needle.len)
		return;
	if (h->in == PANE_TALK && reader_find_near(&b->talk, &h->needle, by, keys_height(b, PANE_TALK)))
		return;
	from = h->in == PANE_TREE ? b->tree.cursor.at : b->talk.current;
	/*
	 * the match may be in a row that is not shown, so continue from there, not from the
	 * selection
	 */
	if (h->found < nr && h->entry == selected(b, h->in))
		from = h->found;
	h->at = from;
	next(h, nr);
	h->left = nr;
	h->active = 1;
}

void hunt_begin(struct browse *b, const char *text, int by)
{
	struct hunt *h = &b->hunt;

	if (*text)
		needle_set(&h->needle, text);
	h->found = SIZE_MAX;
	start(b, by);
}

void hunt_again(struct browse *b, int by)
{
	if (!b->hunt.needle.len)
		act_say(b, "nothing to repeat: search with / first");
	else
		start(b, by);
}

void hunt_restart(struct browse *b)
{
	/* rows have other numbers now */
	b->hunt.found = SIZE_MAX;
	if (b->hunt.active)
		start(b, b->hunt.by);
}

static int matches(struct browse *b, uint32_t entry)
{
	int found = away_try(&b->away) ? reader_matches(b->v, entry, &b->hunt.needle) : 0;

	away_read(&b->away, found < 0 ? found : 0);
	return found == 1;
}

/* Returns the entry of a row that matches, or GROVE_NO_ENTRY. A reply has several. */
static uint32_t look_at(struct browse *b, size_t row)
{
	const struct hunt *h = &b->hunt;
	const struct shape *s = &b->tree.s;

	if (h->in == PANE_TALK)
		return matches(b, b->talk.rows.at[row]) ? b->talk.rows.at[row] : GROVE_NO_ENTRY;
	for (uint32_t i = b->tree.rows[row]; i != GROVE_NO_ENTRY; i = s->more[i])
		if (matches(b, s->c->index[i]))
			return s->c->index[i];
	return GROVE_NO_ENTRY;
}

static void found(struct browse *b, uint32_t entry)
{
	struct hunt *h = &b->hunt;

	h->active = 0;
	h->found = h->at;
	if (h->in == PANE_TREE) {
		outline_select(&b->tree, entry);
		keys_follow_tree(b);
	}
	reader_find_in(&b->talk, entry, &h->needle, h->by, keys_height(b, PANE_TALK));
	if (h->in == PANE_TALK)
		outline_select(&b->tree, entry);
	h->entry = selected(b, h->in);
	if (h->wrapped)
		act_say(b, h->by < 0 ? "the search continued at the end" : "the search continued at the beginning");
}

void hunt_step(struct browse *b)
{
	enum { TURN_MS = 8 };
	struct hunt *h = &b->hunt;
	size_t nr = rows_of(b, h->in);
	int64_t end = ticks_now() + TURN_MS;

	while (h->active) {
		uint32_t entry;

		if (!h->left || h->at >= nr) {
			h->active = 0;
			act_say(b, "not found: %s", h->needle.text);
			break;
		}
		entry = look_at(b, h->at);
		/* "not found" would be wrong */
		if (b->away.is) {
			h->active = 0;
			b->away.told = 0;
			break;
		}
		if (entry != GROVE_NO_ENTRY) {
			found(b, entry);
			break;
		}
		next(h, nr);
		h->left--;
		if (ticks_now() >= end)
			break;
	}
}
