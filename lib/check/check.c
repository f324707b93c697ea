/*
 * check/check.c: finds damage, changes nothing.
 *
 * First come the lines, for what no reader understands; then the tree, then what
 * entries refer to. Each has a file of its own (check_*.c). Problems are reported in
 * the order of the lines. The kinds are part of the interface: they are documented and
 * do not change.
 *
 * fix.c repairs what can be repaired.
 */
#include "check/check.h"

#include "base/array.h"
#include "check/fix.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *kind;
	const char *words;         /* # stands for the number, @ for the name */
	bool fixable;
} kinds[] = {
	[NO_HEADER] = { "no-header", "", false },
	[BYTE_ORDER_MARK] = { "byte-order-mark",
			      "begins with a byte-order mark, which some readers reject", true },
	[MALFORMED] = { "malformed", "invalid JSON from byte # of the line on", true },
	[MALFORMED_SAVED] = { "malformed",
			      "invalid JSON from byte # of the line on, but it contains a complete entry", true },
	[NULS] = { "malformed", "# NUL bytes", true },
	[FUSED] = { "fused", "# entries on one line: the line ends between them are missing", true },
	[TORN] = { "torn", "the last line is unfinished: it ends after # bytes", true },
	[NO_NEWLINE] = { "no-newline",
			 "the last line has no line end: older agents would append to it and damage both",
			 true },
	[NOT_AN_ENTRY] = { "not-an-entry", "valid JSON, but not an object, so not an entry", true },
	[SECOND_HEADER] = { "second-header", "a second header; readers use only the first", true },
	[NO_ID] = { "no-id", "an entry without an id: no other entry can follow it", false },
	[NO_MESSAGE] = { "no-message", "a message entry without a message: agents stop here", true },
	[NO_MESSAGE_LEFT] = { "no-message", "a message entry without a message: agents stop here", false },
	[DUPLICATE_ID] = { "duplicate-id", "a later line has the same id and replaces it", true },
	[ORPHAN] = { "orphan", "its parent is not in the session; shown as a root", true },
	[CYCLE] = { "cycle", "its parents form a cycle; shown as a root", true },
	[UNREACHABLE] = { "unreachable", "# % of this session is reachable from its leaf", true },
	[CONCURRENT] = { "concurrent",
			 "written while another branch from the same entry was still being written", false },
	[MISSING_TARGET] = { "missing-target", "it refers to an entry that does not exist", false },
	[UNPAIRED_CALL] = { "unpaired-call", "a tool call has no result: @", false },
	[UNPAIRED_RESULT] = { "unpaired-result", "a tool result has no matching call: @", false },
	[MISSING_BLOB] = { "missing-blob", "it refers to a missing blob: @", false },
	[WRONG_BLOB] = { "wrong-blob", "the contents of a blob do not match its name: @", false },
};

const char *grove__check_problem_kind(enum grove__problem what)
{
	return kinds[what].kind;
}

int grove__check_add(struct grove__checker *c, enum grove__problem what, uint64_t line,
		     uint64_t offset, uint64_t number, const char *id, const char *name)
{
	if (grove__array_room(&c->found, &c->cap, c->nr, sizeof(*c->found)))
		return grove__fail_nomem(c->d);
	if (name) {
		name = grove__arena_dup(&c->names, grove__slice_str(name));
		if (!name)
			return grove__fail_nomem(c->d);
	}
	c->found[c->nr] = (struct grove__finding){ line, offset, number, id, name, what, (uint32_t)c->nr };
	c->nr++;
	return 0;
}

int grove__check_row(struct grove__checker *c, enum grove__problem what, uint32_t row,
		     uint64_t number, const char *name)
{
	const struct grove__spine *s = c->s->image->spine;

	return grove__check_add(c, what, grove__spine_line(s, row), grove__spine_pos(s, row), number,
				grove__spine_id(s, row), name);
}

/* --- telling --- */

static int by_line(const void *a, const void *b)
{
	const struct grove__finding *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int tell_finding(struct grove__checker *c, const struct grove__finding *f, const char *words,
			bool fixable, grove_problem_fn *fn, void *payload, struct grove_check_result *result)
{
	const char *mark = strpbrk(words, "#@");
	char text[256];
	struct grove_problem p = {
		.path = c->s->at.path ? c->s->at.path : "",
		.line = f->line + 1,
		.offset = f->offset,
		.kind = kinds[f->what].kind,
		.entry_id = f->id,
		.detail = text,
		.fixable = fixable,
	};

	if (mark && *mark == '#' && *kinds[f->what].words)
		snprintf(text, sizeof(text), "%.*s%llu%s", (int)(mark - words), words,
			 (unsigned long long)f->number, mark + 1);
	else if (mark && *kinds[f->what].words)
		snprintf(text, sizeof(text), "%.*s%.150s%s", (int)(mark - words), words,
			 f->name ? f->name : "", mark + 1);
	else
		snprintf(text, sizeof(text), "%s", words);
	result->problems++;
	return fn(payload, &p);
}

/* Fails for want of memory only: what cannot be read cannot be mended. */
static int can_begin(struct grove__checker *c, bool *yes, struct grove_detail *why)
{
	*yes = false;
	grove__fail_clear(why);
	return grove__fix_can_begin(c->s->g, &c->s->at, c->s->log, yes, why) == GROVE_ENOMEM ? GROVE_ENOMEM : 0;
}

/* As it is, this is not a session; but perhaps it could become one. */
static int tell_no_header(struct grove__checker *c, grove_problem_fn *fn, void *payload,
			 struct grove_check_result *result)
{
	struct grove__finding f = { .what = NO_HEADER };
	struct grove_detail *d = c->d, why;
	bool fixable = false;

	if (c->s->log && can_begin(c, &fixable, &why))
		return grove__fail_nomem(d);
	if (d->has_place && d->line) {
		f.line = d->line - 1;
		f.offset = d->offset;
	}
	return tell_finding(c, &f, d->message, fixable, fn, payload, result);
}

int grove__check(struct grove *g, struct grove__where *at, grove_problem_fn *fn, void *payload,
		 struct grove_check_result *result, struct grove_detail *d)
{
	struct grove__checker c = { .d = d };
	struct grove_detail why;
	bool mendable = true;
	int rc;

	c.s = grove__session_alloc(g);
	if (!c.s)
		return grove__fail_nomem(d);
	grove__arena_init(&c.names);
	rc = grove__session_open(g, at, GROVE_OPEN_READ, c.s, d);
	/* what does not exist or cannot be opened was not checked */
	result->files += !rc || rc == GROVE_EDAMAGED;
	if (rc == GROVE_EDAMAGED) {
		rc = tell_no_header(&c, fn, payload, result);
	} else if (!rc) {
		result->entries += c.s->image->spine->nr;
		rc = grove__check_lines(&c);
		if (!rc)
			rc = grove__check_tree(&c);
		if (!rc)
			rc = grove__check_content(&c);
		if (!rc && c.nr)
			qsort(c.found, c.nr, sizeof(*c.found), by_line);
		/* a first line that is damaged may be all there is of a header */
		if (!rc && c.nr && !c.found[0].line && can_begin(&c, &mendable, &why))
			rc = grove__fail_nomem(d);
		for (size_t i = 0; i < c.nr && !rc; i++)
			rc = tell_finding(&c, &c.found[i], kinds[c.found[i].what].words,
					  mendable && kinds[c.found[i].what].fixable, fn, payload, result);
	}
	free(c.found);
	grove__arena_release(&c.names);
	grove__session_unref(c.s);
	return rc;
}
