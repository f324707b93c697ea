/*
 * check/check_tree.c: entries with missing parents, repeated ids or cycles, or that
 * refer to entries that do not exist; and what that does to a session.
 */
#include "check/check.h"

#include "session/leaf.h"

#include <stdlib.h>

static bool is_there(const struct grove__checker *c, struct grove_slice id)
{
	const struct grove__spine *s = c->s->image->spine;

	return grove__spine_find(s, s->nr, id) != GROVE_NO_ENTRY;
}

static int missing(struct grove__checker *c, uint32_t row)
{
	return grove__check_row(c, MISSING_TARGET, row, 0, NULL);
}

/* Checks the entry that a compaction or an edit refers to. */
static int check_target(struct grove__checker *c, uint32_t row)
{
	const struct grove__image *im = c->s->image;
	enum grove_kind kind = grove__spine_kind(im->spine, row);
	struct grove_buf line = GROVE_BUF_INIT, id = GROVE_BUF_INIT;
	struct grove_slice value, content;
	bool after;
	int rc;

	if (kind != GROVE_KIND_COMPACTION && kind != GROVE_KIND_CONTEXT_EDIT)
		return 0;
	/* in dialects where an entry of that kind refers to none */
	if (kind == GROVE_KIND_COMPACTION && !im->dialect->context.first_kept)
		return 0;
	rc = grove__image_line(im, c->s->log, row, &line, &value, c->d);
	if (!rc) {
		rc = kind == GROVE_KIND_COMPACTION ? im->dialect->context.first_kept(value, &id, &after)
						   : im->dialect->context.edits->read(value, &id, &content);
		if (rc < 0)
			rc = grove__fail_nomem(c->d);
		else
			rc = id.len && !is_there(c, grove__buf_slice(&id)) ? missing(c, row) : 0;
	}
	grove__buf_release(&line);
	grove__buf_release(&id);
	return rc;
}

/* --- what can still be reached --- */

static bool counts(const struct grove__spine *s, uint32_t row, bool messages)
{
	if (grove__spine_flags(s, row) & (ROW_ASIDE | ROW_SUPERSEDED))
		return false;
	return !messages || grove__spine_kind(s, row) == GROVE_KIND_MESSAGE;
}

/*
 * Finds the first entry of the conversation, and how many it has; by rules, if there
 * are any.
 */
static int reachable(struct grove__checker *c, uint32_t leaf, uint32_t *first, uint64_t *nr)
{
	const struct grove__spine *s = c->s->image->spine;
	struct grove__chain_ask ask = { .own_file = grove__session_own_file(c->s), .prompts = true };
	struct grove__chain_walk w;
	int rc;

	*nr = 0;
	*first = GROVE_NO_ENTRY;
	if (grove__model_is_path(c->s->at.dialect)) {
		for (; leaf != GROVE_NO_ENTRY; leaf = grove__spine_parent(s, leaf)) {
			*first = leaf;
			++*nr;
		}
		return 0;
	}
	rc = grove__model_walk(c->s->image, s->nr, &ask, &w, c->d);
	if (rc)
		return rc;
	for (size_t i = 0; i < w.nr; i++)
		*nr += counts(s, w.rows[i], true);
	if (w.nr)
		*first = w.rows[0];
	grove__walk_release(&w);
	return 0;
}

/*
 * An abandoned branch is nothing unusual. But if the path up from the leaf ends because
 * of damage, the agent loses what is above it.
 */
static int check_reach(struct grove__checker *c)
{
	const struct grove__spine *s = c->s->image->spine;
	uint32_t leaf, first;
	bool messages = !grove__model_is_path(c->s->at.dialect);
	uint64_t nr, all = 0;
	int rc = grove__session_find_leaf(c->s, &leaf, c->d);

	if (!rc)
		rc = leaf == GROVE_NO_ENTRY ? 1 : reachable(c, leaf, &first, &nr);
	if (rc || first == GROVE_NO_ENTRY || !(grove__spine_flags(s, first) & (ROW_ORPHAN | ROW_CYCLE)))
		return rc < 0 ? rc : 0;
	for (uint32_t row = 0; row < s->nr; row++)
		all += counts(s, row, messages);
	if (nr >= all)
		return 0;
	return grove__check_row(c, UNREACHABLE, leaf, nr * 100 / all, NULL);
}

/* --- two writers at once --- */

/*
 * A strand is a sequence of entries each below the previous one, however many others
 * were written in between. Somebody who goes back in a conversation begins a new
 * strand, and does not continue the old one. So if a strand that began with a prompt is
 * next to another one, and that one continues with a reply, two programs were writing.
 */
struct strands {
	uint32_t *of;              /* row → its strand, named by its first row */
	uint32_t *tip;             /* … and the last row of the strand */
	uint8_t *told;
};

static bool is_prompt(const struct grove__spine *s, uint32_t row)
{
	return row != GROVE_NO_ENTRY && grove__spine_kind(s, row) == GROVE_KIND_MESSAGE &&
	       grove__spine_role(s, row) == GROVE_ROLE_USER;
}

/*
 * Strand `x` continues, `y` was written last: returns true if they are two prompts below
 * one entry.
 */
static bool beside(const struct grove__spine *s, const struct strands *st, uint32_t x, uint32_t y)
{
	uint32_t parent = grove__spine_parent(s, y), other = GROVE_NO_ENTRY;

	if (parent == GROVE_NO_ENTRY || !is_prompt(s, y))
		return false;
	if (grove__spine_parent(s, x) == parent)
		other = x;
	else if (st->of[parent] == x)
		other = grove__spine_child(s, parent);
	return other != y && is_prompt(s, other);
}

static int follow(struct grove__checker *c, struct strands *st)
{
	const struct grove__spine *s = c->s->image->spine;
	uint32_t last = GROVE_NO_ENTRY;
	int rc = 0;

	for (uint32_t row = 0; row < s->nr && !rc; row++) {
		uint32_t up = grove__spine_parent(s, row), strand = row;

		if (!counts(s, row, false))
			continue;
		/* a parent that comes later cannot be followed */
		if (up < row && st->tip[st->of[up]] == up)
			strand = st->of[up];
		st->of[row] = strand;
		st->tip[strand] = row;
		if (strand != row && last != GROVE_NO_ENTRY && strand != last && !is_prompt(s, row) &&
		    grove__spine_kind(s, row) == GROVE_KIND_MESSAGE && !st->told[last] &&
		    beside(s, st, strand, last)) {
			st->told[last] = 1;
			rc = grove__check_row(c, CONCURRENT, last, 0, NULL);
		}
		last = strand;
	}
	return rc;
}

static int check_writers(struct grove__checker *c)
{
	uint32_t nr = c->s->image->spine->nr;
	struct strands st = { calloc(nr + 1, sizeof(*st.of)), calloc(nr + 1, sizeof(*st.tip)),
			      calloc(nr + 1, 1) };
	int rc = st.of && st.tip && st.told ? follow(c, &st) : grove__fail_nomem(c->d);

	free(st.of);
	free(st.tip);
	free(st.told);
	return rc;
}

/* --- all of it --- */

static int check_headers(struct grove__checker *c)
{
	const struct grove__image *im = c->s->image;
	int rc = 0;

	for (size_t i = 1; i < im->nr_headers && !rc; i++)
		rc = grove__check_add(c, SECOND_HEADER, im->headers[i].at.line, im->headers[i].at.pos, 0,
				      NULL, NULL);
	return rc;
}

static int check_rows(struct grove__checker *c)
{
	static const struct {
		unsigned flag;
		enum grove__problem what;
	} flags[] = {
		{ ROW_ORPHAN, ORPHAN },
		{ ROW_CYCLE, CYCLE },
		{ ROW_SUPERSEDED, DUPLICATE_ID },
		{ ROW_NO_ID, NO_ID },
	};
	const struct grove__spine *s = c->s->image->spine;
	size_t lines = c->nr, at = 0;
	int rc = 0;

	for (uint32_t row = 0; row < s->nr && !rc; row++) {
		uint64_t line = grove__spine_line(s, row);

		/* what is not an entry has no id either: report it once */
		while (at < lines && c->found[at].line < line)
			at++;
		if (at < lines && c->found[at].line == line && c->found[at].what == NOT_AN_ENTRY)
			continue;
		for (size_t i = 0; i < sizeof(flags) / sizeof(*flags) && !rc; i++)
			if (grove__spine_flags(s, row) & flags[i].flag &&
			    (flags[i].flag != ROW_NO_ID || !(grove__spine_flags(s, row) & ROW_ASIDE)))
				rc = grove__check_row(c, flags[i].what, row, 0, NULL);
		if (!rc && grove__spine_flags(s, row) & ROW_HOLLOW)
			rc = grove__check_row(c, c->s->at.dialect->write.mute ? NO_MESSAGE : NO_MESSAGE_LEFT, row,
					      0, NULL);
		if (!rc)
			rc = check_target(c, row);
	}
	return rc;
}

int grove__check_tree(struct grove__checker *c)
{
	const struct grove__spine *s = c->s->image->spine;
	int rc = check_rows(c);

	for (size_t i = 0; i < s->nr_labels && !rc; i++)
		if (!is_there(c, grove__spine_name(s->labels[i].target)))
			rc = missing(c, s->labels[i].row);
	/* kept messages of a boundary that do not exist: then none is kept */
	for (uint32_t row = 0; row < s->nr && !rc; row++)
		if (grove__spine_kind(s, row) == GROVE_KIND_COMPACTION && grove__model_lacks(c->s->image, row))
			rc = missing(c, row);
	if (!rc)
		rc = check_headers(c);
	if (!rc)
		rc = check_reach(c);
	return rc ? rc : check_writers(c);
}
