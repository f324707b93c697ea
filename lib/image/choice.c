/*
 * image/choice.c: which entries a model is sent.
 *
 * We walk from the leaf towards the root. If there is a compaction on the way, the last
 * one counts: it comes first, then the entries before it that it kept, then what came
 * after it; unless the context starts over after it. Context edits among these replace
 * or drop their targets.
 *
 *	root ─ a ─ b ─ c ─ d ─ C ─ e ─ f = leaf       C keeps from c on
 *	               `-------------´ walked          sent: C c d e f
 *
 * What is above is not visited: only a small part of a long session comes after its
 * last compaction.
 */
#include "image/choice.h"

#include "base/array.h"

#include <stdlib.h>

void grove__choice_release(struct grove__choice *c)
{
	for (size_t i = 0; i < c->nr_edits; i++)
		grove__buf_release(&c->edits[i].content);
	free(c->edits);
	free(c->path);
	if (!c->walk.rows)
		free(c->rows);
	grove__walk_release(&c->walk);
	grove__buf_release(&c->line);
}

static void init(struct grove__choice *c, struct grove__image *im, struct grove_store_log *log,
		 struct grove_detail *d)
{
	memset(c, 0, sizeof(*c));
	c->im = im;
	c->log = log;
	c->d = d;
	c->compaction = GROVE_NO_ENTRY;
}

static int read_row(struct grove__choice *c, uint32_t row, struct grove_slice *value)
{
	return grove__image_line(c->im, c->log, row, &c->line, value, c->d);
}

/*
 * Finds the first entry that the compaction keeps, or (*after) the one before it; NONE:
 * it keeps none.
 */
static int read_kept(struct grove__choice *c, uint32_t *row, bool *after)
{
	struct grove_buf id = GROVE_BUF_INIT;
	struct grove_slice value;
	int rc = read_row(c, c->compaction, &value);

	if (!rc && c->im->dialect->context.first_kept(value, &id, after))
		rc = grove__fail_nomem(c->d);
	*row = !rc && id.len ? grove__spine_find(c->im->spine, GROVE_NO_ENTRY, grove__buf_slice(&id))
			     : GROVE_NO_ENTRY;
	grove__buf_release(&id);
	return rc;
}

/* The path is walked from the leaf up; this reverses it and the positions in it. */
static void turn_round(struct grove__choice *c)
{
	size_t last = c->nr_path ? c->nr_path - 1 : 0;

	for (size_t i = 0; i < c->nr_path / 2; i++) {
		uint32_t swap = c->path[i];

		c->path[i] = c->path[last - i];
		c->path[last - i] = swap;
	}
	c->begin = last - c->begin;
	c->compaction_at = last - c->compaction_at;
	c->kept_from = last - c->kept_from;
}

/*
 * Walks up to where the context starts over, the first entry kept by the last
 * compaction, or the root.
 */
static int climb(struct grove__choice *c, uint32_t row, bool whole)
{
	const struct grove__spine *s = c->im->spine;
	uint32_t kept = GROVE_NO_ENTRY;
	bool open = true, after = false;
	int rc = 0;

	for (; row != GROVE_NO_ENTRY && !rc; row = grove__spine_parent(s, row)) {
		size_t at = c->nr_path;
		enum grove_kind kind = grove__spine_kind(s, row);

		if (grove__array_room(&c->path, &c->cap_path, at, sizeof(*c->path)))
			return grove__fail_nomem(c->d);
		c->path[c->nr_path++] = row;
		if (open && kind == GROVE_KIND_COMPACTION) {
			c->compaction = row;
			c->compaction_at = c->kept_from = at;
			rc = read_kept(c, &kept, &after);
			open = false;
		} else if (open && kind == GROVE_KIND_RESET) {
			c->begin = at;
			open = false;
		} else if (row == kept && !open) {
			c->kept_from = at - after;
			kept = GROVE_NO_ENTRY;
		} else if (open) {
			c->begin = at;
		}
		if (!open && kept == GROVE_NO_ENTRY && !whole)
			break;
	}
	turn_round(c);
	return rc;
}

bool grove__choice_kept(const struct grove__choice *c, size_t place)
{
	const struct grove__spine *s = c->im->spine;

	/* in some dialects the compaction already has the system messages */
	return place >= c->kept_from && !(c->im->dialect->context.system &&
					  grove__spine_kind(s, c->path[place]) == GROVE_KIND_MESSAGE &&
					  grove__spine_role(s, c->path[place]) == GROVE_ROLE_SYSTEM);
}

static int select_rows(struct grove__choice *c)
{
	bool compacted = c->compaction != GROVE_NO_ENTRY;

	c->rows = malloc((c->nr_path ? c->nr_path : 1) * sizeof(*c->rows));
	if (!c->rows)
		return grove__fail_nomem(c->d);
	if (compacted)
		c->rows[c->nr_rows++] = c->compaction;
	for (size_t i = compacted ? c->kept_from : c->begin; i < c->nr_path; i++)
		if (!compacted || i > c->compaction_at ||
		    (i < c->compaction_at && grove__choice_kept(c, i)))
			c->rows[c->nr_rows++] = c->path[i];
	return 0;
}

/* --- edits of the context: found in their order, asked for by their target --- */

struct grove__choice_edit *grove__choice_edit(const struct grove__choice *c, uint32_t row)
{
	size_t lo = 0, hi = c->nr_edits;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->edits[mid].target == row)
			return &c->edits[mid];
		if (c->edits[mid].target < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Reads an edit. */
static int take_edit(struct grove__choice *c, struct grove_slice value, struct grove_buf *target)
{
	struct grove_slice content;
	struct grove__choice_edit *e;
	uint32_t to;
	int rc;

	grove__buf_clear(target);
	rc = c->im->dialect->context.edits->read(value, target, &content);
	if (rc)
		return rc == 1 ? 0 : rc;
	to = grove__spine_find(c->im->spine, GROVE_NO_ENTRY, grove__buf_slice(target));
	if (to == GROVE_NO_ENTRY)
		return 0;
	e = &c->edits[c->nr_edits];
	e->target = to;
	e->order = c->nr_edits++;
	e->drop = !content.ptr;
	return grove__buf_add_slice(&e->content, content);
}

static int read_edits(struct grove__choice *c, const uint32_t *list, size_t nr)
{
	struct grove_buf target = GROVE_BUF_INIT;
	struct grove_slice value;
	struct grove__rows rows;
	uint32_t row;
	int rc;

	grove__rows_init(&rows, c->im, c->log, list, nr);
	while (!(rc = grove__rows_next(&rows, &row, &value, c->d))) {
		rc = take_edit(c, value, &target);
		if (rc)
			break;
	}
	grove__rows_release(&rows);
	grove__buf_release(&target);
	return rc == 1 ? 0 : rc == GROVE_ENOMEM ? grove__fail_nomem(c->d) : rc;
}

static int by_target(const void *a, const void *b)
{
	const struct grove__choice_edit *x = a, *y = b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Sorts edits by target; the last edit of a target wins. */
static void settle_edits(struct grove__choice *c)
{
	size_t nr = 0;

	qsort(c->edits, c->nr_edits, sizeof(*c->edits), by_target);
	for (size_t i = 0; i < c->nr_edits; i++) {
		if (nr && c->edits[nr - 1].target == c->edits[i].target)
			grove__buf_release(&c->edits[--nr].content);
		c->edits[nr++] = c->edits[i];
	}
	c->nr_edits = nr;
}

static int find_edits(struct grove__choice *c)
{
	const struct grove__spine *s = c->im->spine;
	uint32_t *list;
	size_t nr = 0;
	int rc;

	/* a kept index that is damaged may claim edits where the format has none */
	if (!c->im->dialect->context.edits)
		return 0;
	for (size_t i = 0; i < c->nr_rows; i++)
		nr += grove__spine_kind(s, c->rows[i]) == GROVE_KIND_CONTEXT_EDIT;
	if (!nr)
		return 0;
	c->edits = calloc(nr, sizeof(*c->edits));
	list = malloc(nr * sizeof(*list));
	nr = 0;
	for (size_t i = 0; list && i < c->nr_rows; i++)
		if (grove__spine_kind(s, c->rows[i]) == GROVE_KIND_CONTEXT_EDIT)
			list[nr++] = c->rows[i];
	rc = c->edits && list ? read_edits(c, list, nr) : grove__fail_nomem(c->d);
	free(list);
	if (c->edits)
		settle_edits(c);
	return rc;
}

int grove__choice_by_path(struct grove__choice *c, struct grove__image *im,
			  struct grove_store_log *log, uint32_t leaf, bool whole,
			  struct grove_detail *d)
{
	int rc;

	init(c, im, log, d);
	rc = climb(c, leaf, whole);
	rc = rc ? rc : select_rows(c);
	return rc ? rc : find_edits(c);
}

int grove__choice_by_rules(struct grove__choice *c, struct grove__image *im,
			   struct grove_store_log *log, uint32_t nr,
			   const struct grove__chain_ask *ask, struct grove_detail *d)
{
	int rc;

	init(c, im, log, d);
	rc = grove__model_walk(im, nr, ask, &c->walk, d);
	c->rows = c->walk.rows;
	c->nr_rows = c->walk.nr;
	return rc;
}

static int heard(void *payload, struct grove_slice json)
{
	(void)json;
	*(bool *)payload = true;
	return 0;
}

int grove__choice_speaks(struct grove__choice *c, uint32_t row, bool *yes)
{
	const struct grove__spine *s = c->im->spine;
	const int64_t never = GROVE_NO_TIME;
	struct grove_slice value;
	int rc = read_row(c, row, &value);

	*yes = false;
	return rc ? rc : c->im->dialect->context.messages(value, grove__spine_kind(s, row),
						  grove__spine_role(s, row), 0,
						  row == c->compaction ? &never : NULL,
						  NULL, NULL, heard, yes);
}
