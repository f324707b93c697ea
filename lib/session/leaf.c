/* session/leaf.c: where the conversation continues. */
#include "session/append.h"
#include "session/leaf.h"

#include "json/write.h"

int grove__session_row(struct grove_session *s, const char *id, uint32_t *row,
		       struct grove_detail *d)
{
	const struct grove__spine *sp = s->image->spine;

	*row = grove__spine_find(sp, sp->nr, grove__slice_str(id));
	if (*row != GROVE_NO_ENTRY || !strcmp(id, GROVE_ROOT))
		return 0;
	return grove__fail(d, GROVE_ENOTFOUND, s->at.path, "Entry %.200s not found", id);
}

int grove__session_find(struct grove_session *s, const char *id, uint32_t *row,
			struct grove_detail *d)
{
	int rc = grove__session_row(s, id, row, d);

	if (rc != GROVE_ENOTFOUND)
		return rc;
	rc = grove__session_refresh(s, d);
	return rc < 0 ? rc : grove__session_row(s, id, row, d);
}

static const char *name_of(const struct grove_session *s, uint32_t row)
{
	return row == GROVE_NO_ENTRY ? GROVE_ROOT : grove__spine_id(s->image->spine, row);
}

/* An append below `row` under the condition of the move. */
static struct grove_append_options append_below(const struct grove_session *s, uint32_t row,
						const struct grove_leaf_options *o)
{
	bool exact = o->flags & GROVE_LEAF_IF_REV;

	return (struct grove_append_options){ .size = sizeof(struct grove_append_options), .parent = name_of(s, row),
					      .flags = exact ? GROVE_APPEND_IF_REV : 0, .rev = exact ? o->rev : 0 };
}

/* Appends a line below `row` that makes every reader continue there. */
static int persist(struct grove_session *s, uint32_t row, const struct grove_leaf_options *o,
		   struct grove_detail *d)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_OTHER, .leaf = { name_of(s, row) } };
	struct grove_append_options opt = append_below(s, row, o);

	return grove__append_spec(s, &spec, &opt, NULL, d);
}

/*
 * Where rules determine the leaf, not every entry can be it: the move would be lost,
 * and the next append would go somewhere else.
 */
static int check_end(struct grove_session *s, uint32_t row, struct grove_detail *d)
{
	const char *why;
	int rc = grove__model_may_end(s->image, row, grove__session_own_file(s), &why);

	if (rc == 1)
		return grove__fail(d, GROVE_ENOTSUP, s->at.path, "the leaf cannot be %.60s: %s", name_of(s, row), why);
	return rc ? grove__fail_nomem(d) : 0;
}

static int move_to(struct grove_session *s, uint32_t row, const struct grove_leaf_options *o,
		   struct grove_detail *d)
{
	uint32_t at;
	int rc = grove__session_find_leaf(s, &at, d);

	row = grove__tree_leaf(s->image->spine, row);
	if (rc || row == at)
		return rc;
	rc = check_end(s, row, d);
	if (rc)
		return rc;
	if (o->flags & GROVE_LEAF_PERSIST)
		return grove__kept_has_values(s)
			       ? grove__kept_put_leaf(s, row, o->flags & GROVE_LEAF_IF_REV, d)
			       : persist(s, row, o, d);
	s->leaf.apart = true;
	s->leaf.in_store = false;
	s->leaf.row = row;
	return 0;
}

/*
 * Finds the row of the entry that is to become the leaf. A leaf for everybody depends
 * on the current log, so that is read first.
 */
static int look_for(struct grove_session *s, const char *id, const struct grove_leaf_options *o, uint32_t *row,
		    struct grove_detail *d)
{
	int rc = grove__session_load(s, d);

	if (!rc && o->flags & (GROVE_LEAF_PERSIST | GROVE_LEAF_IF_REV))
		rc = grove__session_refresh(s, d);
	if (rc < 0)
		return rc;
	if (o->flags & GROVE_LEAF_IF_REV && grove__image_rev(s->image) != o->rev)
		return grove__fail(d, GROVE_ECONFLICT, s->at.path, "the session is at revision %llu, not %llu",
				   (unsigned long long)grove__image_rev(s->image), (unsigned long long)o->rev);
	return grove__session_find(s, id, row, d);
}

/* Returns 0 if the current conversation goes through this entry. */
static int on_conversation(struct grove_session *s, uint32_t row, struct grove_detail *d)
{
	bool path = grove__model_is_path(s->at.dialect);
	uint32_t at = grove__session_leaf_row(s);
	uint8_t *marks;
	bool found;
	int rc;

	if (at == row)
		return 0;
	rc = grove__model_mark(s->image, path ? at : GROVE_NO_ENTRY, grove__session_own_file(s), &marks, d);
	if (rc)
		return rc;
	found = marks[row];
	free(marks);
	return found ? 0 : grove__fail(d, GROVE_ENOTFOUND, s->at.path,
				       "Entry %.60s is not part of the conversation",
				       grove__spine_id(s->image->spine, row));
}

int grove__session_set_leaf(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    struct grove_detail *d)
{
	uint32_t row;
	int rc = look_for(s, id, opt, &row, d);

	if (!rc && opt->flags & GROVE_LEAF_IN_CONVERSATION && row != GROVE_NO_ENTRY)
		rc = on_conversation(s, row, d);
	return rc ? rc : move_to(s, row, opt, d);
}

int grove__session_branch(struct grove_session *s, const char *id, const struct grove_leaf_options *o,
			  struct grove_append_result *out, struct grove_detail *d)
{
	const struct grove_branch_summary *b = o->summary;
	struct grove_leaf_options only_rev = { .flags = o->flags & GROVE_LEAF_IF_REV, .rev = o->rev };
	struct grove_append_options opt;
	struct grove__entry_spec spec = {
		.kind = GROVE_KIND_BRANCH_SUMMARY,
		.branch_summary = {
			.summary = b->summary,
			.details_json = b->details_json,
			.usage_json = b->usage_json,
			.from_hook = b->from_hook,
		},
	};
	uint32_t row, from;
	int rc = look_for(s, id, &only_rev, &row, d);

	if (!rc)
		rc = grove__session_find_leaf(s, &from, d);
	if (rc)
		return rc;
	row = grove__tree_leaf(s->image->spine, row);
	/* the summary names the leaf that was left, or the start of the branch */
	if (s->at.dialect->write.branch_names_target)
		from = row;
	spec.branch_summary.from = name_of(s, grove__tree_named(s->image->spine, from));
	opt = append_below(s, row, o);
	return grove__append_spec(s, &spec, &opt, out, d);
}

int grove__session_continue(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			    enum grove_outcome *outcome, struct grove_buf *content,
			    struct grove_detail *d)
{
	const struct grove__spine *sp;
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_slice value, text;
	enum grove_kind kind;
	bool at_leaf;
	uint32_t row;
	int rc = look_for(s, id, opt, &row, d);

	if (rc)
		return rc;
	if (row == GROVE_NO_ENTRY)
		return grove__fail(d, GROVE_ENOTFOUND, s->at.path, "no such entry to continue from: %s", id);
	sp = s->image->spine;
	kind = grove__spine_kind(sp, row);
	at_leaf = grove__session_leaf_row(s) == grove__tree_leaf(sp, row);
	/*
	 * an extension's message counts as a prompt only if the conversation has
	 * continued below it
	 */
	if ((kind == GROVE_KIND_CUSTOM_MESSAGE && !at_leaf) ||
	    (kind == GROVE_KIND_MESSAGE && grove__spine_role(sp, row) == GROVE_ROLE_USER)) {
		rc = grove__image_line(s->image, s->log, row, &line, &value, d);
		if (!rc && s->at.dialect->text.prompt) {
			text = s->at.dialect->text.prompt(value, kind);
			rc = grove__json_put_raw(content, text) ? grove__fail_nomem(d) : 0;
		}
		grove__buf_release(&line);
		*outcome = GROVE_OUTCOME_REPLAY;
		return rc ? rc : move_to(s, grove__spine_parent(sp, row), opt, d);
	}
	*outcome = at_leaf ? GROVE_OUTCOME_APPEND : GROVE_OUTCOME_SWITCH;
	return move_to(s, row, opt, d);
}
