/*
 * session/sent.c: which entries of a log a model would be sent, by their rows.
 *
 * The rules are those of context.c: the last compaction on the path counts unless
 * the context began anew behind it; what it kept and what follows is sent; edits
 * replace or drop. A test compares the two.
 */
#include "session/sent.h"

#include "store/store.h"
#include "tree/tree.h"

#include <stdlib.h>

struct sent {
	struct grove__image *im;
	struct grove_log *log;
	uint8_t *place;
	uint32_t *path;
	size_t nr;
	struct grove_buf line;
	struct grove_detail *d;
};

/* A leaf that a database keeps, if it is about the log as it is: see kept.c. */
static bool kept_leaf(const struct sent *s, struct grove_buf *id)
{
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove_detail own;
	char *end;
	bool yes = false;

	grove__detail_clear(&own);
	if (grove__log_has_changes(s->log) && !grove__log_meta_get(s->log, "leaf", &value, &own) &&
	    value.len && strtoull(value.ptr, &end, 10) == s->im->tail && *end == ' ')
		yes = !grove__buf_add_str(id, end + 1);
	grove__buf_release(&value);
	return yes;
}

/* --------------------------------------------------------------- by the path */

static int read_row(struct sent *s, uint32_t row, struct grove_slice *value)
{
	return grove__image_line(s->im, s->log, row, &s->line, value, s->d);
}

static void mark(struct sent *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		s->place[s->path[i]] |= ROW_SENT;
}

/* What a compaction at place `at` of the path kept before it. */
static int mark_kept(struct sent *s, size_t at)
{
	struct grove_buf id = GROVE_BUF_INIT;
	struct grove_slice value;
	bool after = false;
	uint32_t row;
	int rc = read_row(s, s->path[at], &value);

	if (!rc && s->im->dialect->first_kept(value, &id, &after))
		rc = grove__fail_nomem(s->d);
	row = !rc && id.len ? grove__spine_find(s->im->spine, GROVE_NONE, grove__buf_slice(&id))
			    : GROVE_NONE;
	for (size_t i = at; i-- > 0 && row != GROVE_NONE;)
		if (s->path[i] == row) {
			mark(s, i + after, at);
			break;
		}
	grove__buf_release(&id);
	return rc;
}

/* System messages are in the compaction already, where there are such. */
static void drop_system(struct sent *s, size_t before)
{
	const struct grove__spine *sp = s->im->spine;

	for (size_t i = 0; i < before && s->im->dialect->system; i++)
		if (grove__spine_kind(sp, s->path[i]) == GROVE_KIND_MESSAGE &&
		    grove__spine_role(sp, s->path[i]) == GROVE_ROLE_SYSTEM)
			s->place[s->path[i]] &= (uint8_t)~ROW_SENT;
}

static int mark_path(struct sent *s)
{
	size_t i = s->nr;
	int rc = 0;

	for (size_t j = 0; j < s->nr; j++)
		s->place[s->path[j]] |= ROW_ON_PATH;
	while (i-- > 0) {
		enum grove_kind kind = grove__spine_kind(s->im->spine, s->path[i]);

		if (kind == GROVE_KIND_RESET || kind == GROVE_KIND_COMPACTION) {
			mark(s, i, s->nr);
			if (kind == GROVE_KIND_COMPACTION) {
				rc = mark_kept(s, i);
				drop_system(s, i);
			}
			return rc;
		}
	}
	mark(s, 0, s->nr);
	return 0;
}

/* What an entry said is not sent where an edit says something else, or nothing. */
static int drop_edited(struct sent *s)
{
	const struct grove__spine *sp = s->im->spine;
	struct grove_buf target = GROVE_BUF_INIT;
	struct grove_slice value, content;
	uint32_t row;
	int rc = 0;

	for (size_t i = 0; i < s->nr && !rc; i++) {
		if (grove__spine_kind(sp, s->path[i]) != GROVE_KIND_CONTEXT_EDIT ||
		    !(s->place[s->path[i]] & ROW_SENT))
			continue;
		rc = read_row(s, s->path[i], &value);
		grove__buf_clear(&target);
		rc = rc ? rc : s->im->dialect->edit(value, &target, &content);
		row = rc ? GROVE_NONE : grove__spine_find(sp, GROVE_NONE, grove__buf_slice(&target));
		if (row != GROVE_NONE)
			s->place[row] &= (uint8_t)~ROW_SENT;
		rc = rc == 1 ? 0 : rc;
	}
	grove__buf_release(&target);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(s->d) : rc;
}

static int said_something(void *payload, struct grove_slice json)
{
	(void)json;
	*(bool *)payload = true;
	return 0;
}

/* What a person ran may be kept from the model; its line tells. */
static int drop_silent(struct sent *s)
{
	const struct grove__spine *sp = s->im->spine;
	struct grove_slice value;
	int rc = 0;

	for (size_t i = 0; i < s->nr && !rc; i++) {
		uint32_t row = s->path[i];
		enum grove_role role = grove__spine_role(sp, row);
		bool says = false;

		if (!(s->place[row] & ROW_SENT) || (role != GROVE_ROLE_BASH && role != GROVE_ROLE_PYTHON))
			continue;
		rc = read_row(s, row, &value);
		rc = rc ? rc : s->im->dialect->messages(value, grove__spine_kind(sp, row), role, 0, false,
							NULL, NULL, said_something, &says);
		if (!rc && !says)
			s->place[row] &= (uint8_t)~ROW_SENT;
	}
	return rc;
}

static int by_path(struct sent *s, const char *leaf)
{
	const struct grove__spine *sp = s->im->spine;
	uint32_t row = grove__tree_leaf(sp, sp->nr ? sp->nr - 1 : GROVE_NONE);
	int rc;

	if (leaf)
		row = grove__spine_find(sp, sp->nr, grove__slice_str(leaf));
	rc = grove__tree_path(sp, row, &s->path, &s->nr) ? grove__fail_nomem(s->d) : 0;
	rc = rc ? rc : mark_path(s);
	rc = rc ? rc : drop_edited(s);
	return rc ? rc : drop_silent(s);
}

/* --------------------------------------------------- by rules over the whole log */

static int by_rules(struct sent *s, const char *leaf, const char *name)
{
	const struct grove__dialect *dialect = s->im->dialect;
	struct grove__chain_ask ask = { .leaf = leaf, .own_file = dialect->own_file && dialect->own_file(name) };
	struct grove__chain_walk w;
	uint32_t nr = s->im->spine->nr, last = GROVE_NONE;
	int rc = grove__image_walk(s->im, nr, &ask, &w, s->d);

	if (!rc) {
		for (size_t i = 0; i < w.nr; i++)
			s->place[w.rows[i]] |= ROW_SENT | ROW_ON_PATH;
		last = w.leaf;
		grove__walk_release(&w);
		ask.full = true;
		rc = grove__image_walk(s->im, nr, &ask, &w, s->d);
	}
	if (!rc) {
		for (size_t i = 0; i < w.nr; i++)
			s->place[w.rows[i]] |= ROW_ON_PATH;
		grove__walk_release(&w);
		rc = grove__tree_path(s->im->spine, last, &s->path, &s->nr) ? grove__fail_nomem(s->d) : 0;
	}
	for (size_t i = 0; i < s->nr && !rc; i++)
		s->place[s->path[i]] |= ROW_ON_PATH;
	return rc;
}

int grove__image_sent(struct grove__image *im, struct grove_log *log, const char *name,
		      uint8_t **out, struct grove_detail *d)
{
	struct sent s = { .im = im, .log = log, .d = d };
	struct grove_buf leaf = GROVE_BUF_INIT;
	bool kept;
	int rc;

	*out = NULL;
	s.place = calloc((size_t)im->spine->nr + 1, 1);
	if (!s.place)
		return grove__fail_nomem(d);
	kept = kept_leaf(&s, &leaf);
	rc = im->chain ? by_rules(&s, kept ? leaf.ptr : NULL, name) : by_path(&s, kept ? leaf.ptr : NULL);
	grove__buf_release(&leaf);
	grove__buf_release(&s.line);
	free(s.path);
	if (rc)
		free(s.place);
	else
		*out = s.place;
	return rc;
}
