/*
 * view/columns.c: the shape of a session, as one column per property of its entries.
 *
 * At level TURNS only the rows that give the tree its shape are reported: where somebody
 * speaks to the agent, where the context starts over, where branches diverge and end. All
 * others have one child. The rows between a reported row and the nearest one above belong
 * to it, and each is counted once:
 *
 *	rows      prompt  reply  result  reply  result  reply  prompt
 *	reported  prompt                                       prompt, run 5
 */
#include "view/heads.h"

#include <stdlib.h>

struct columns {
	struct grove_view *v;
	const struct grove__spine *s;
	const struct grove_columns_options *opt;
	uint32_t from, to;               /* the window: rows */
	uint32_t *place;                 /* for each row of the window, its index among those
	                                    reported, or GROVE_NO_ENTRY */
	uint32_t *rows, nr;              /* those rows */
	uint8_t *failed;                 /* for each row of the window; NULL if not requested */
	struct grove_buf strings;
	uint32_t *id, *text;
};

/* ----------------------------------------------------------------- which rows */

static bool begins_something(enum grove_kind kind, enum grove_role role)
{
	switch (kind) {
	case GROVE_KIND_MESSAGE:
		return role == GROVE_ROLE_USER || role == GROVE_ROLE_BRANCH_SUMMARY ||
		       role == GROVE_ROLE_COMPACTION_SUMMARY;
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
	case GROVE_KIND_RESET:
	case GROVE_KIND_SUBAGENT_BATCH:
	case GROVE_KIND_SUBAGENT_RESULT:
		return true;
	default:
		return false;
	}
}

/* Returns true if a row has no child, or several, within the view. */
static bool parts_or_ends(const struct columns *c, uint32_t row)
{
	uint32_t child = grove__spine_child(c->s, row), next;

	if (child >= c->v->nr)
		return true;
	next = grove__spine_sibling(c->s, child);
	return next < c->v->nr;
}

static bool is_told(const struct columns *c, uint32_t row)
{
	if (c->opt->level == GROVE_LEVEL_ALL)
		return true;
	if (grove__spine_flags(c->s, row) & (ROW_ASIDE | ROW_SUPERSEDED))
		return false;
	return parts_or_ends(c, row) || grove__spine_parent(c->s, row) == GROVE_NO_ENTRY ||
	       begins_something(grove__spine_kind(c->s, row), grove__spine_role(c->s, row)) ||
	       grove__labels_get(c->v->labels, row);
}

static int choose(struct columns *c)
{
	size_t room;

	c->from = grove__view_row_at(c->v, c->opt->seq.from);
	c->to = grove__view_row_at(c->v, c->opt->seq.to ? c->opt->seq.to : UINT64_MAX);
	c->to = c->to < c->from ? c->from : c->to;
	room = (size_t)(c->to - c->from) + 1;
	c->place = malloc(room * sizeof(*c->place));
	c->rows = malloc(room * sizeof(*c->rows));
	if (!c->place || !c->rows)
		return GROVE_ENOMEM;
	for (uint32_t i = c->from; i < c->to; i++) {
		bool told = is_told(c, i);

		c->place[i - c->from] = told ? c->nr : GROVE_NO_ENTRY;
		if (told)
			c->rows[c->nr++] = i;
	}
	return 0;
}

/* ------------------------------------------------------------- what lines tell */

static int see_failure(void *payload, const struct grove_piece *p)
{
	if (p->error)
		*(uint8_t *)payload = 1;
	return 0;
}

static bool can_fail(const struct columns *c, uint32_t row)
{
	switch (grove__spine_role(c->s, row)) {
	case GROVE_ROLE_TOOL_RESULT:
	case GROVE_ROLE_BASH:
	case GROVE_ROLE_PYTHON:
		return true;
	default:
		return false;
	}
}

/* Calls `fn` with each row of the list and its line; lines too long for memory are skipped. */
static int each_line(struct columns *c, uint32_t *list, uint32_t nr,
		     int (*fn)(struct columns *c, uint32_t row, struct grove_slice line), struct grove_detail *d)
{
	struct grove__rows rows;
	struct grove_slice line;
	uint32_t row, kept = 0;
	int rc = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (grove__spine_len(c->s, list[i]) <= GROVE__LINE_MAX)
			list[kept++] = list[i];
	grove__rows_init(&rows, c->v->image, c->v->log, list, kept);
	while (!rc && !(rc = grove__rows_next(&rows, &row, &line, d)))
		rc = fn(c, row, line);
	grove__rows_release(&rows);
	return rc == 1 ? 0 : rc;
}

static int note_failure(struct columns *c, uint32_t row, struct grove_slice line)
{
	return grove__image_pieces(c->v->image, row, line, see_failure, &c->failed[row - c->from]);
}

static int find_failures(struct columns *c, struct grove_detail *d)
{
	size_t room = (size_t)(c->to - c->from) + 1;
	uint32_t *list = malloc(room * sizeof(*list)), nr = 0;
	int rc = GROVE_ENOMEM;

	c->failed = calloc(room, 1);
	if (list && c->failed) {
		for (uint32_t i = c->from; i < c->to; i++)
			if (can_fail(c, i))
				list[nr++] = i;
		rc = each_line(c, list, nr, note_failure, d);
	}
	free(list);
	return rc;
}

/* Adds a text with its NUL to the strings; *at is its offset. */
static int add_string(struct columns *c, struct grove_slice text, uint32_t *at)
{
	int rc;

	if (c->strings.len > UINT32_MAX)
		return GROVE_ETOOBIG;
	*at = (uint32_t)c->strings.len;
	rc = grove__buf_add_slice(&c->strings, text);
	return rc ? rc : grove__buf_add_char(&c->strings, '\0');
}

static int note_text(struct columns *c, uint32_t row, struct grove_slice line)
{
	struct grove_buf words = GROVE_BUF_INIT;
	struct grove_preview p = { .size = sizeof(p) };
	int rc = grove__preview_line(c->v, row, line, c->opt->preview, &words, &p);

	if (rc == 1)
		rc = 0;
	/* a NUL would end the text early */
	for (size_t i = 0; i < p.text.len; i++)
		if (!words.ptr[i + (size_t)(p.text.ptr - words.ptr)])
			p.text.len = i;
	if (!rc && p.text.len)
		rc = add_string(c, p.text, &c->text[c->place[row - c->from]]);
	grove__buf_release(&words);
	return rc;
}

static int note_strings(struct columns *c, struct grove_detail *d)
{
	uint32_t *list, none;
	int rc;

	c->id = calloc((size_t)c->nr + 1, sizeof(*c->id));
	c->text = calloc((size_t)c->nr + 1, sizeof(*c->text));
	/* offset 0 is the empty text */
	rc = c->id && c->text ? add_string(c, grove__slice("", 0), &none) : GROVE_ENOMEM;
	for (uint32_t i = 0; !rc && i < c->nr; i++) {
		const char *id = grove__spine_id(c->s, c->rows[i]);

		if (id)
			rc = add_string(c, grove__spine_name(id), &c->id[i]);
	}
	if (rc || !c->opt->preview)
		return rc;
	list = malloc(((size_t)c->nr + 1) * sizeof(*list));
	if (!list)
		return GROVE_ENOMEM;
	memcpy(list, c->rows, (size_t)c->nr * sizeof(*list));
	rc = each_line(c, list, c->nr, note_text, d);
	free(list);
	return rc;
}

/* ---------------------------------------------------------------------- the block */


/* Reserves `bytes`, aligned to 8. */
static void *room(char **p, size_t bytes)
{
	void *at = *p;

	*p += (bytes + 7) & ~(size_t)7;
	return at;
}

/* Finds the nearest reported row above, and counts the rows in between. */
static uint32_t parent_of(const struct columns *c, uint32_t row, uint32_t *run, uint32_t *failed)
{
	uint32_t up = grove__spine_parent(c->s, row);

	*run = 0;
	*failed = c->failed ? c->failed[row - c->from] : 0;
	for (; up != GROVE_NO_ENTRY; up = grove__spine_parent(c->s, up)) {
		/* a parent may be below its child, and so after the window */
		if (up < c->from || up >= c->to)
			return GROVE_EARLIER;
		if (c->place[up - c->from] != GROVE_NO_ENTRY)
			return c->place[up - c->from];
		++*run;
		if (c->failed)
			*failed += c->failed[up - c->from];
	}
	return GROVE_NO_ENTRY;
}

/* All of it after one header; what is widest comes first. */
static int hand_out(struct columns *c, struct grove_columns **out)
{
	bool turns = c->opt->level == GROVE_LEVEL_TURNS;
	size_t n = c->nr, len = sizeof(**out) + n * (3 * 8 + 7 * 4 + 2) + 16 * 8 + c->strings.len;
	struct grove_columns *g = calloc(1, len);
	uint32_t *index, *parent, *flags, *run, *failed;
	uint64_t *seq, *bytes;
	uint8_t *kind, *role;
	int64_t *time;
	char *p = (char *)g, *block;

	if (!g)
		return GROVE_ENOMEM;
	room(&p, sizeof(*g));
	block = p;
	g->nr = c->nr;
	g->seq = seq = room(&p, n * 8);
	g->bytes = bytes = room(&p, n * 8);
	g->time = time = room(&p, n * 8);
	g->index = index = room(&p, n * 4);
	g->parent = parent = room(&p, n * 4);
	g->flags = flags = room(&p, n * 4);
	run = room(&p, turns ? n * 4 : 0);
	failed = room(&p, c->failed ? n * 4 : 0);
	g->id = memcpy(room(&p, n * 4), c->id, n * 4);
	g->text = memcpy(room(&p, n * 4), c->text, n * 4);
	g->kind = kind = room(&p, n);
	g->role = role = room(&p, n);
	g->strings = memcpy(room(&p, c->strings.len), c->strings.ptr, c->strings.len);
	g->strings_len = c->strings.len;
	g->run = turns ? run : NULL;
	g->failed = c->failed ? failed : NULL;
	for (uint32_t i = 0; i < c->nr; i++) {
		struct grove_entry e;
		uint32_t between, broken;

		grove__view_row(c->s, c->rows[i], &e);
		index[i] = e.index;
		parent[i] = parent_of(c, e.index, &between, &broken);
		flags[i] = e.flags;
		seq[i] = e.line;
		bytes[i] = e.bytes;
		time[i] = e.time;
		kind[i] = (uint8_t)e.kind;
		role[i] = (uint8_t)e.role;
		if (turns)
			run[i] = between;
		if (c->failed)
			failed[i] = broken;
	}
	g->block = block;
	g->block_len = (size_t)(p - block);
	*out = g;
	return 0;
}

int grove__view_columns(struct grove_view *v, const struct grove_columns_options *opt,
			struct grove_columns **out, struct grove_detail *d)
{
	struct columns c = { .v = v, .s = v->image->spine, .opt = opt };
	int rc = choose(&c);

	*out = NULL;
	if (!rc && opt->flags & GROVE_COLUMNS_FAILED)
		rc = find_failures(&c, d);
	rc = rc ? rc : note_strings(&c, d);
	rc = rc ? rc : hand_out(&c, out);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc == GROVE_ETOOBIG)
		grove__fail(d, rc, NULL, "the columns have over 4 GiB of text: ask for fewer entries");
	free(c.place);
	free(c.rows);
	free(c.failed);
	free(c.id);
	free(c.text);
	grove__buf_release(&c.strings);
	return rc;
}
