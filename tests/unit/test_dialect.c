/*
 * tests/unit/test_dialect.c: the tables of the dialects, and the names of kinds and roles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/dialect.h"
#include "grove.h"

static void every_kind_and_role_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GROVE__KINDS; i++) {
		assert_non_null(grove_kind_name((enum grove_kind)i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(grove_kind_name((enum grove_kind)i),
						grove_kind_name((enum grove_kind)k));
	}
	for (unsigned i = 0; i < GROVE__ROLES; i++) {
		assert_non_null(grove_role_name((enum grove_role)i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(grove_role_name((enum grove_role)i),
						grove_role_name((enum grove_role)k));
	}
	assert_string_equal(grove_kind_name((enum grove_kind)GROVE__KINDS), "other");
	assert_string_equal(grove_role_name((enum grove_role)GROVE__ROLES), "other");
}

/* ------------------------------------------------------------- the tables */

static void needs(const struct grove__dialect *d, const char *what, bool has)
{
	if (!has)
		fail_msg("%s: %s", d->name ? d->name : "(no name)", what);
}

/* A slot that every dialect must have. */
#define REQUIRED(d, slot) needs(d, #slot " is missing", (d)->slot)
/* The same in a chapter that may be missing as a whole. */
#define REQUIRED_IN(d, chapter, slot) needs(d, #chapter "->" #slot " is missing", !(d)->chapter || (d)->chapter->slot)

static void check_required(const struct grove__dialect *d)
{
	REQUIRED(d, name);
	REQUIRED(d, version);
	REQUIRED(d, read.members);
	REQUIRED(d, read.nr_members);
	REQUIRED(d, read.index);
	REQUIRED(d, text.pieces);
	REQUIRED(d, list.line);
	REQUIRED(d, context.messages);
	REQUIRED(d, write.input);
	REQUIRED(d, write.kind);
	REQUIRED(d, write.compose);
	REQUIRED(d, write.starts_file);
	REQUIRED(d, write.relink);
	REQUIRED(d, write.move);
	REQUIRED(d, names.entry_id);
	REQUIRED(d, names.session_id_ok);
	REQUIRED(d, names.session_id_rule);
	REQUIRED(d, names.session_id);
	REQUIRED(d, names.clean);
	REQUIRED(d, paths.roots);
	REQUIRED(d, paths.project);
	REQUIRED(d, paths.file_name);
	REQUIRED(d, paths.parse_file_name);
}

static void check_rules(const struct grove__dialect *d)
{
	REQUIRED_IN(d, rules, new);
	REQUIRED_IN(d, rules, free);
	REQUIRED_IN(d, rules, add);
	REQUIRED_IN(d, rules, announce);
	REQUIRED_IN(d, rules, freeze);
	REQUIRED_IN(d, rules, walk);
	REQUIRED_IN(d, rules, reason);
	REQUIRED_IN(d, rules, call);
	REQUIRED_IN(d, rules, row);
	REQUIRED_IN(d, rules, may_end);
}

static void check_chapters(const struct grove__dialect *d)
{
	REQUIRED_IN(d, header, read);
	REQUIRED_IN(d, header, compose);
	if (d->header) {
		REQUIRED_IN(d, header->slot, compose);
		REQUIRED_IN(d, header->slot, source);
	}
	REQUIRED_IN(d, list.tally, new);
	REQUIRED_IN(d, list.tally, free);
	REQUIRED_IN(d, list.tally, index);
	REQUIRED_IN(d, list.tally, end);
	REQUIRED_IN(d, context.edits, read);
	REQUIRED_IN(d, context.edits, fit);
	REQUIRED_IN(d, blobs, dir);
	REQUIRED_IN(d, blobs, prepare);
	REQUIRED_IN(d, blobs, resolve);
	REQUIRED_IN(d, history, path);
	REQUIRED_IN(d, last_session, path);
	REQUIRED_IN(d, last_session, compose);
	REQUIRED_IN(d, last_session, parse);
	REQUIRED_IN(d, live, dirs);
	REQUIRED_IN(d, live, note);
	REQUIRED_IN(d, retention, expires);
	REQUIRED_IN(d, retention, settings);
	REQUIRED_IN(d, agents, file);
	REQUIRED_IN(d, agents, meta);
	REQUIRED_IN(d, delegation, batch);
	REQUIRED_IN(d, delegation, project);
	REQUIRED_IN(d, delegation, place);
	REQUIRED_IN(d, heads, inside);
	REQUIRED_IN(d, heads, words);
	REQUIRED_IN(d, heads, parent);
}

static void every_dialect_has_its_required_slots(void **state)
{
	const struct grove__dialect *d;

	(void)state;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		check_required(d);
		check_rules(d);
		check_chapters(d);
	}
}

static void slots_that_need_each_other_stand_together(void **state)
{
	const struct grove__dialect *d;

	(void)state;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		const struct grove__dialect_header *h = d->header;
		const struct grove__dialect_rules *r = d->rules;
		const struct grove__dialect_context *c = &d->context;

		needs(d, "settings are told, or not", !c->sets == !c->settings);
		needs(d, "who has no header counts a list to its end", h || d->list.tally);
		needs(d, "old versions are migrated", !h || d->version < 2 || h->migrate);
		needs(d, "entries without ids get some", !d->read.ids_since == !d->read.line_id);
		needs(d, "the time that is cut is the file's", !d->list.cuts_file_time || d->list.modified_by_file);
		needs(d, "what was billed is looked for", d->usage.billed || !d->usage.nr_members);
		needs(d, "there are members where they are counted", !d->usage.nr_members == !d->usage.members);
		needs(d, "one scan finds all members",
		      d->read.nr_members + d->usage.nr_members <= GROVE__JSON_WANT_MAX);
		/* rules choose the conversation, and no slot of a path's */
		needs(d, "rules say who wrote a line", !r == !d->write.written_by);
		needs(d, "copies go by the rules' rows", !d->copy || r);
		needs(d, "a list has no rules", !grove__dialect_linear(d) || !r);
		needs(d, "rules take the place of a path", !r || (!c->sets && !c->first_kept && !c->edits &&
								   !c->settle && !c->system));
	}
}

static void no_two_dialects_are_taken_for_each_other(void **state)
{
	const struct grove__dialect *d, *e;

	(void)state;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		assert_ptr_equal(grove__dialect_find(d->name), d);
		for (unsigned k = 0; k < i; k++) {
			e = grove__dialect_at(k);
			needs(d, "another one has that name", strcmp(d->name, e->name) != 0);
			needs(d, "another one has that place",
			      !d->recognise.root || !e->recognise.root || strcmp(d->recognise.root, e->recognise.root));
		}
	}
	assert_null(grove__dialect_find("nobody"));
}

static bool is_listed(const struct grove__dialect *which)
{
	const struct grove__dialect *d;

	for (unsigned i = 0; (d = grove__dialect_at(i)); i++)
		if (d == which)
			return true;
	return false;
}

static void defaults_are_dialects_that_can_do_it(void **state)
{
	(void)state;
	assert_true(is_listed(grove__dialect_defaults.session));
	assert_true(is_listed(grove__dialect_defaults.remote));
	assert_true(is_listed(grove__dialect_defaults.blobs));
	assert_non_null(grove__dialect_defaults.blobs->blobs);
	assert_true(is_listed(grove__dialect_defaults.history));
	assert_non_null(grove__dialect_defaults.history->history);
}

static void a_new_session_can_be_found_by_its_file(void **state)
{
	static const uint8_t random[16] = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8 };
	const int64_t now = 1767225600000;
	const struct grove__dialect *d;

	(void)state;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		struct grove_buf file = GROVE_BUF_INIT;
		struct grove_slice found;
		char id[40], next[40], entry[40];
		int64_t time;

		d->names.session_id(now, 1, random, id);
		d->names.session_id(now, 2, random, next);
		needs(d, "an id is not accepted", d->names.session_id_ok(grove__slice_str(id)));
		needs(d, "ids are not in order", strcmp(id, next) < 0);
		assert_int_equal(d->paths.file_name(now, id, &file), 0);
		needs(d, "a file is not known", d->paths.parse_file_name(grove__buf_slice(&file), &time, &found));
		needs(d, "a file has another id", grove__slice_eq(found, grove__slice_str(id)));
		assert_in_range(d->names.entry_id(random, false, entry), 1, sizeof(entry) - 1);
		grove__buf_release(&file);
	}
}

static void a_kind_without_a_word_is_not_supported(void **state)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_INIT };
	struct grove__dialect mute = grove__dialect_pi;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail detail = { 0 };
	const struct grove__dialect *d;

	(void)state;
	for (unsigned i = 0; (d = grove__dialect_at(i)); i++) {
		assert_int_equal(grove__dialect_spell(d, &spec, &b, NULL), GROVE_ENOTSUP);
		grove__buf_clear(&b);
	}
	mute.write.spell = NULL;
	assert_int_equal(grove__dialect_spell(&mute, &spec, &b, &detail), GROVE_ENOTSUP);
	assert_string_equal(detail.message, "pi has no entries of that kind");
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_dialect_has_its_required_slots),
		cmocka_unit_test(slots_that_need_each_other_stand_together),
		cmocka_unit_test(no_two_dialects_are_taken_for_each_other),
		cmocka_unit_test(defaults_are_dialects_that_can_do_it),
		cmocka_unit_test(a_new_session_can_be_found_by_its_file),
		cmocka_unit_test(a_kind_without_a_word_is_not_supported),
		cmocka_unit_test(every_kind_and_role_has_a_word_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
