/*
 * tests/runtime/suite_leaf.c: the leaf, where the conversation continues, and
 * the ways to move it.
 */
#include "runtime.h"
#include "../lib/calls.h"

/*
 * Returns the lines that a stored move adds: one where the store has no other place for the leaf.
 */
static uint64_t mark(const struct world *w)
{
	return w->kind->keeps ? 0 : 1;
}

static void a_move_lives_in_its_handle(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf raw = raw_of(s);

	OK(w->g, grove_session_set_leaf(s, "b", NULL, NULL));
	assert_path(s, "a b");
	assert_leaf(t, "d");
	GOT(w->g, grove_session_set_leaf(s, "nobody", NULL, NULL), GROVE_ENOTFOUND);
	assert_leaf(s, "b");
	OK(w->g, grove_session_set_leaf(s, GROVE_ROOT, NULL, NULL));
	assert_leaf(s, NULL);
	assert_path(s, "");
	assert_raw(s, &raw);
	/* an append below it stores it, and makes it everybody's leaf */
	OK(w->g, grove_session_set_leaf(s, "b", NULL, NULL));
	add(s, "e", "user");
	assert_path(s, "a b e");
	assert_int_equal(grove_session_refresh(t), 1);
	assert_path(t, "a b e");
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_move_can_be_kept_for_everybody(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ), *x;
	uint64_t rev = rev_of(s);

	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_path(s, "a b");
	assert_int_equal(lines_of(s), 5 + mark(w));
	assert_true(rev_of(s) > rev);
	assert_int_equal(grove_session_refresh(t), 1);
	assert_path(t, "a b");
	x = again(w, s, GROVE_OPEN_READ);
	assert_path(x, "a b");
	grove_session_close(x);
	/* it is there already: nothing happens */
	rev = rev_of(s);
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_of(s), 5 + mark(w));
	assert_int_equal(rev_of(s), rev);
	GOT(w->g, grove_session_set_leaf(s, "nobody", LEAF(GROVE_LEAF_PERSIST), NULL), GROVE_ENOTFOUND);
	assert_int_equal(rev_of(s), rev);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_reset_can_be_kept_too(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;

	OK(w->g, grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_leaf(s, NULL);
	assert_int_equal(lines_of(s), 5 + mark(w));
	t = again(w, s, GROVE_OPEN_WRITE);
	assert_leaf(t, NULL);
	assert_path(t, "");
	add(t, "e", "user");
	assert_path(t, "e");
	grove_session_close(t);
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(s, "e");
	grove_session_close(s);
}

static void an_append_moves_a_kept_leaf_on(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;

	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	add(s, "e", "user");
	assert_path(s, "a b e");
	t = again(w, s, GROVE_OPEN_WRITE);
	assert_path(t, "a b e");
	add(t, "f", "assistant");
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(s, "a b e f");
	/* and back to an earlier place */
	OK(w->other, grove_session_set_leaf(t, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(s, "a b");
	OK(w->other, grove_session_set_leaf(t, "f", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(s, "a b e f");
	grove_session_close(t);
	grove_session_close(s);
}

/* The expected revision must hold against every writer, whatever kind of move it is. */
static void a_move_can_insist_on_a_revision(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "it led nowhere" };
	struct grove_leaf_options o = { .size = sizeof(o), .flags = GROVE_LEAF_PERSIST | GROVE_LEAF_IF_REV,
					.rev = rev_of(s) };

	OK(w->other, grove_session_set_leaf(t, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	GOT(w->g, grove_session_set_leaf(s, "c", &o, NULL), GROVE_ECONFLICT);
	GOT(w->g, grove_session_continue(s, "c", &o, NULL), GROVE_ECONFLICT);
	o.summary = &b;
	GOT(w->g, grove_session_set_leaf(s, "c", &o, NULL), GROVE_ECONFLICT);
	o.summary = NULL;
	assert_path(s, "a b");
	assert_int_equal(lines_of(s), 5 + mark(w));
	o.rev = rev_of(s);
	OK(w->g, grove_session_set_leaf(s, "c", &o, NULL));
	assert_path(s, "a b c");
	add(t, "e", "user");
	GOT(w->g, grove_session_continue(s, "d", &o, NULL), GROVE_ECONFLICT);
	assert_int_equal(grove_session_refresh(s), 0);
	o.rev = rev_of(s);
	OK(w->g, grove_session_continue(s, "d", &o, NULL));
	assert_path(s, "a b c d");
	o.rev = rev_of(s);
	o.summary = &b;
	OK(w->g, grove_session_set_leaf(s, "b", &o, NULL));
	assert_int_equal(lines_of(s), 7 + 3 * mark(w));
	grove_session_close(t);
	grove_session_close(s);
}

static void who_appends_later_goes_on_below_the_moved_leaf(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);

	assert_leaf(t, "d");
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	/* handle t has not read the change, and need not */
	add(t, "e", "user");
	assert_path(t, "a b e");
	OK(w->g, grove_session_set_leaf(s, "a", LEAF(GROVE_LEAF_PERSIST), NULL));
	OK(w->g, grove_session_set_leaf(s, "c", LEAF(GROVE_LEAF_PERSIST), NULL));
	add(t, "f", "user");
	assert_path(t, "a b c f");
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(s, "a b c f");
	grove_session_close(t);
	grove_session_close(s);
}

/* A moved leaf counts as lines of another writer only if the store writes a line for it. */
static void who_wants_to_be_told_of_lines_follows_a_moved_leaf(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE | GROVE_OPEN_STRICT);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	if (!w->kind->keeps) {
		GOT(w->other, grove_session_append(t, json, NULL, NULL), GROVE_ECONFLICT);
		assert_int_equal(grove_session_refresh(t), 1);
	}
	add(t, "x", "user");
	assert_path(t, "a b x");
	if (w->kind->keeps) {
		/* a moved leaf together with lines: the lines are reported */
		OK(w->g, grove_session_set_leaf(s, "a", LEAF(GROVE_LEAF_PERSIST), NULL));
		add(s, "y", "user");
		GOT(w->other, grove_session_append(t, json, NULL, NULL), GROVE_ECONFLICT);
	}
	grove_session_close(t);
	grove_session_close(s);
}

static void a_leaf_of_ones_own_stays_when_others_move_theirs(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);

	OK(w->other, grove_session_set_leaf(t, "c", NULL, NULL));
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_in_range(grove_session_refresh(t), 0, 1);
	assert_leaf(t, "c");
	add(t, "e", "assistant");
	assert_path(t, "a b c e");
	grove_session_close(t);
	grove_session_close(s);
}

static void a_branch_begins_with_a_summary(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "what was tried",
					  .details_json = "{\"files\":[]}" };
	struct grove_buf raw;
	const char *id;
	char path[64];

	GOT(w->g, branch_from(s, "nobody", &b, NULL), GROVE_ENOTFOUND);
	assert_int_equal(lines_of(s), 5);
	OK(w->g, branch_from(s, "b", &b, &id));
	snprintf(path, sizeof(path), "a b %s", id);
	assert_path(s, path);
	t = again(w, s, GROVE_OPEN_READ);
	assert_path(t, path);
	raw = raw_of(t);
	assert_has(&raw, ",\"fromId\":\"d\",\"summary\":\"what was tried\",");
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_branch_becomes_a_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *f, *t;
	struct grove_fork_options o = { .size = sizeof(o), .leaf = "b", .id = "forked" };
	struct grove_buf raw = raw_of(s), doc;
	char source[5000];

	OK(w->g, grove_session_fork(s, &o, &f));
	assert_path(f, "a b");
	add(f, "x", "user");
	t = again(w, f, GROVE_OPEN_READ);
	assert_string_equal(grove_session_id(t), "forked");
	assert_path(t, "a b x");
	doc = snapshot_of(t, NULL);
	assert_has(&doc, w->kind->name);
	/*
	 * the source is named by its path, as the agents do, or by its id if the store has no paths
	 */
	snprintf(source, sizeof(source), "\"parentSession\":\"%s\"",
		 grove_session_path(s) ? grove_session_path(s) : grove_session_id(s));
	assert_has(&doc, source);
	/* the source is unchanged */
	assert_raw(s, &raw);
	grove_session_close(t);
	grove_session_close(f);
	/* a fork of the whole session */
	o = (struct grove_fork_options){ .size = sizeof(o) };
	OK(w->g, grove_session_fork(s, &o, &f));
	assert_path(f, "a b c d");
	assert_string_not_equal(grove_session_id(f), grove_session_id(s));
	grove_buf_release(&doc);
	grove_buf_release(&raw);
	grove_session_close(f);
	grove_session_close(s);
}

static void continuing_from_a_prompt_hands_it_back(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_buf content = GROVE_BUF_INIT;
	enum grove_outcome outcome;

	OK(w->g, continue_from(s, "c", GROVE_LEAF_PERSIST, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_REPLAY);
	assert_string_equal(content.ptr, "\"says c\"");
	assert_leaf(s, "b");
	t = again(w, s, GROVE_OPEN_READ);
	assert_leaf(t, "b");
	grove_session_close(t);
	/* the parent of a root is nothing */
	content.len = 0;
	OK(w->g, continue_from(s, "a", GROVE_LEAF_PERSIST, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_REPLAY);
	assert_string_equal(content.ptr, "\"says a\"");
	assert_leaf(s, NULL);
	t = again(w, s, GROVE_OPEN_READ);
	assert_leaf(t, NULL);
	grove_session_close(t);
	/*
	 * a message of the application's own is edited like a prompt, once the conversation has
	 * continued
	 */
	OK(w->g, grove_session_set_leaf(s, "d", NULL, NULL));
	content.len = 0;
	{
		const char *id;

		OK(w->g, append_custom_message(s, "note", "\"mine\"", INTO(&id)));
		OK(w->g, continue_from(s, id, 0, &outcome, &content));
		assert_int_equal(outcome, GROVE_OUTCOME_APPEND);
		assert_int_equal(content.len, 0);
		assert_leaf(s, id);
		add(s, "x", "user");
		OK(w->g, continue_from(s, id, 0, &outcome, &content));
	}
	assert_int_equal(outcome, GROVE_OUTCOME_REPLAY);
	assert_string_equal(content.ptr, "\"mine\"");
	assert_leaf(s, "d");
	grove_buf_release(&content);
	grove_session_close(s);
}

static void continuing_from_elsewhere_goes_there(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	struct grove_compaction c = { .size = sizeof(c), .summary = "so far", .first_kept = "c" };
	struct grove_buf content = GROVE_BUF_INIT, raw;
	enum grove_outcome outcome;
	const char *summary, *compaction;
	uint64_t rev;

	OK(w->g, grove_session_append_compaction(s, &c, NULL, INTO(&compaction)));
	OK(w->g, branch_from(s, "b", &b, &summary));
	OK(w->g, continue_from(s, compaction, 0, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_SWITCH);
	assert_leaf(s, compaction);
	OK(w->g, continue_from(s, summary, 0, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_SWITCH);
	assert_leaf(s, summary);
	OK(w->g, continue_from(s, "b", GROVE_LEAF_PERSIST, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_SWITCH);
	t = again(w, s, GROVE_OPEN_READ);
	assert_leaf(t, "b");
	grove_session_close(t);
	/* this is the leaf already: nothing moves, nothing is written */
	raw = raw_of(s);
	rev = rev_of(s);
	OK(w->g, continue_from(s, "b", GROVE_LEAF_PERSIST, &outcome, &content));
	assert_int_equal(outcome, GROVE_OUTCOME_APPEND);
	assert_int_equal(rev_of(s), rev);
	/* there is no such entry: again nothing moves */
	GOT(w->g, continue_from(s, "nobody", GROVE_LEAF_PERSIST, &outcome, &content),
	    GROVE_ENOTFOUND);
	assert_leaf(s, "b");
	assert_int_equal(rev_of(s), rev);
	assert_raw(s, &raw);
	assert_int_equal(content.len, 0);
	grove_buf_release(&raw);
	grove_buf_release(&content);
	grove_session_close(s);
}

const struct CMUnitTest leaf_cases[] = {
	CASE(a_move_lives_in_its_handle),
	CASE(a_move_can_be_kept_for_everybody),
	CASE(a_reset_can_be_kept_too),
	CASE(an_append_moves_a_kept_leaf_on),
	CASE(a_move_can_insist_on_a_revision),
	CASE(who_appends_later_goes_on_below_the_moved_leaf),
	CASE(who_wants_to_be_told_of_lines_follows_a_moved_leaf),
	CASE(a_leaf_of_ones_own_stays_when_others_move_theirs),
	CASE(a_branch_begins_with_a_summary),
	CASE(a_branch_becomes_a_session),
	CASE(continuing_from_a_prompt_hands_it_back),
	CASE(continuing_from_elsewhere_goes_there),
};
const size_t nr_leaf_cases = ARRAY(leaf_cases);
