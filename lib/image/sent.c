/*
 * image/sent.c: which entries of a log a model would be sent, by their rows.
 *
 * The choice is that of choice.c; here its rows are marked.
 */
#include "image/sent.h"

#include "image/choice.h"
#include "image/image.h"

#include <stdlib.h>

struct sent {
	struct grove__image *im;
	struct grove_store_log *log;
	uint8_t *place;
	struct grove_detail *d;
};

static void mark(struct sent *s, const uint32_t *rows, size_t nr, uint8_t how)
{
	for (size_t i = 0; i < nr; i++)
		s->place[rows[i]] |= how;
}

/* The text of an entry is not sent if an edit replaces or drops it. */
static void drop_edited(struct sent *s, const struct grove__choice *c)
{
	for (size_t i = 0; i < c->nr_edits; i++)
		s->place[c->edits[i].target] &= (uint8_t)~ROW_SENT;
}

/* A command that a person ran may be hidden from the model; its line says so. */
static int drop_silent(struct sent *s, struct grove__choice *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr_rows && !rc; i++) {
		uint32_t row = c->rows[i];
		enum grove_role role = grove__spine_role(s->im->spine, row);
		bool says = false;

		if (!(s->place[row] & ROW_SENT) || (role != GROVE_ROLE_BASH && role != GROVE_ROLE_PYTHON))
			continue;
		rc = grove__choice_speaks(c, row, &says);
		if (!rc && !says)
			s->place[row] &= (uint8_t)~ROW_SENT;
	}
	return rc;
}

static int by_path(struct sent *s, const char *leaf)
{
	const struct grove__spine *sp = s->im->spine;
	uint32_t row = leaf ? grove__spine_find(sp, sp->nr, grove__slice_str(leaf))
			    : grove__tree_last(sp);
	struct grove__choice c;
	int rc = grove__choice_by_path(&c, s->im, s->log, row, true, s->d);

	if (!rc) {
		mark(s, c.path, c.nr_path, ROW_ON_PATH);
		mark(s, c.rows, c.nr_rows, ROW_SENT);
		drop_edited(s, &c);
		rc = drop_silent(s, &c);
	}
	grove__choice_release(&c);
	return rc;
}

/* With rules over the whole log: marks what they choose. */
static int by_rules(struct sent *s, const struct grove__chain_ask *ask, uint8_t how, uint32_t *leaf)
{
	struct grove__choice c;
	int rc = grove__choice_by_rules(&c, s->im, s->log, s->im->spine->nr, ask, s->d);

	if (!rc) {
		mark(s, c.rows, c.nr_rows, how);
		*leaf = c.walk.leaf;
	}
	grove__choice_release(&c);
	return rc;
}

static int by_all_rules(struct sent *s, const char *leaf, const char *name)
{
	const struct grove__dialect *dialect = s->im->dialect;
	struct grove__own_file own;
	struct grove__chain_ask ask = { .leaf = leaf, .llm = true,
					.own_file = grove__dialect_own_file(dialect, name, NULL, &own) };
	uint32_t last, ignored, *path = NULL;
	size_t nr = 0;
	int rc = by_rules(s, &ask, ROW_SENT | ROW_ON_PATH, &last);

	ask.full = true;
	rc = rc ? rc : by_rules(s, &ask, ROW_ON_PATH, &ignored);
	if (!rc && grove__tree_path(s->im->spine, last, &path, &nr))
		rc = grove__fail_nomem(s->d);
	mark(s, path, nr, ROW_ON_PATH);
	free(path);
	return rc;
}

int grove__image_sent(struct grove__image *im, struct grove_store_log *log, const char *name,
		      uint8_t **out, struct grove_detail *d)
{
	struct sent s = { .im = im, .log = log, .d = d };
	struct grove_buf value = GROVE_BUF_INIT;
	const char *leaf = NULL;
	struct grove_detail own;
	int rc;

	*out = NULL;
	s.place = calloc((size_t)im->spine->nr + 1, 1);
	if (!s.place)
		return grove__fail_nomem(d);
	/* the leaf that a database holds, if it applies to the log as it is */
	grove__fail_clear(&own);
	if (grove__log_has_changes(log) && !grove__log_meta_get(log, "leaf", &value, &own))
		leaf = grove__image_kept_leaf(&value, im->tail);
	rc = grove__model_is_path(im->dialect) ? by_path(&s, leaf) : by_all_rules(&s, leaf, name);
	grove__buf_release(&value);
	if (rc)
		free(s.place);
	else
		*out = s.place;
	return rc;
}
