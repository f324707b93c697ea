/*
 * entry/entry.h: one line understood.
 *
 * What a dialect finds in a line: the few fields that make it part of a tree.
 * Everything else stays in the line's own bytes.
 */
#ifndef GROVE_ENTRY_ENTRY_H
#define GROVE_ENTRY_ENTRY_H

#include "base/slice.h"
#include "grove/words.h"

/* How many kinds and roles there are: tables are indexed by them. */
#define GROVE__KINDS (GROVE_KIND_SUBAGENT_RESULT + 1)
#define GROVE__ROLES (GROVE_ROLE_COMPACTION_SUMMARY + 1)

/* Why an entry has no parent, or how it names it. */
enum grove__parent {
	PARENT_NULL,     /* says so: a root */
	PARENT_ABSENT,   /* has no such member, or not a string: a root as well */
	PARENT_NAMED
};

struct grove__entry {
	uint8_t kind;               /* enum grove_kind */
	uint8_t role;               /* enum grove_role */
	uint8_t parent_is;          /* enum grove__parent */
	bool has_id;
	bool no_object;             /* a number, a text, an array: no member can be added to it */
	bool names;                 /* `text` is a name for the session … */
	bool weak;                  /* … which gives way to one that somebody chose */
	bool aside;                 /* no part of the tree: it says something about the session */
	bool hollow;                /* a message that lacks what was said */
	bool leaf_mark;             /* written to persist a leaf: stands for its parent */
	bool says_leaf;             /* only says where the leaf is, and is not in the tree */
	int64_t time;               /* ms, or GROVE_NO_TIME */
	struct grove_slice id;      /* text, unescaped */
	struct grove_slice parent;  /* text, where PARENT_NAMED */
	struct grove_slice target;  /* a label's target; ptr NULL: none */
	struct grove_slice cwd;     /* text, where a log without a header tells it; empty: not here */
	bool moves;                 /* and it is another one from here on */
	const void *more;           /* what the rules want to know; in the arena */
	struct grove_slice text;    /* a label or a session's name, trimmed; empty clears */
};

#endif
