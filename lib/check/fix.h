/*
 * check/fix.h: the plan for repairing a session.
 *
 * Repairing has several steps, each of which reads the log once and holds nothing of it
 * in memory but the spine and the changes:
 *
 *	plan    fix_plan.c    lines: what stays, what is removed, what gets its own line
 *	        fix_take.c    values: repeated ids
 *	        fix_header.c  the header, if there is none
 *	        fix_tree.c    entries without a valid parent
 *	show    fix_emit.c    each line that changes, and what it becomes
 *	save    fix_cut.c     what is removed, next to the session
 *	write   fix.c         the rewritten log, by the store
 */
#ifndef GROVE_CHECK_FIX_H
#define GROVE_CHECK_FIX_H

#include "check/check.h"
#include "image/lines.h"

/* Returns the name of a session in messages: its path, or its key. */
static inline const char *grove__fix_name(const struct grove__where *at)
{
	return at->path && *at->path ? at->path : at->session;
}

/* A part of a line, and its replacement. */
struct grove__fix_edit {
	uint64_t line;             /* from 0 */
	size_t off, len;           /* what is removed, within that line */
	const char *put;           /* NULL: nothing, or see `change` */
	size_t put_len;
	size_t change;             /* SIZE_MAX: none; else its index in the plan */
	enum grove__problem why;
	bool whole;                /* the newline is removed, too */
	uint32_t order;
};

/* A value that stays, but with another id or parent. */
struct grove__change {
	uint32_t row;
	const char *id;            /* a name of the spine; NULL: unchanged */
	const char *parent;        /* the same; NULL with `relink`: none */
	const char *kept;          /* the first entry that a compaction keeps; NULL: unchanged */
	bool relink;
	bool mute;                 /* it becomes an entry without content */
	enum grove__problem why;
};

/* A row that does not begin at the first byte of a line. */
struct grove__odd {
	uint32_t row;
	size_t off;
	bool tall;                 /* it extends to the next one */
	bool lines;                /* … and positions count lines */
};

/* A value over several lines. */
struct grove__tall {
	uint64_t line, lines;      /* its first line, and how many */
	size_t off, end;           /* in the first of them, in the last */
	struct grove__spot at;
};

struct grove__rename {
	const char *from;          /* of the arena, `len` bytes */
	uint32_t len;
	uint32_t row;              /* the last that has its id from here */
};

struct grove__plan {
	struct grove *g;
	const struct grove__where *at;
	const struct grove__dialect *dialect;
	struct grove_store_log *log;
	struct grove__json_want want;
	struct grove__arena keep;
	struct grove__spine *spine;    /* of the log as it will be */
	struct grove__model model;     /* the same */
	bool failed;                   /* there was no memory for these two */
	struct grove_detail *d;

	uint64_t tail, generation;     /* of the log that was read, … */
	uint64_t lines, bytes;
	uint32_t crc;
	bool open;                     /* … whose last line has no newline */

	struct grove__fix_edit *edits;     /* sorted by line and offset once the plan is made */
	size_t nr_edits, cap_edits;
	struct grove__change *changes; /* by row */
	size_t nr_changes, cap_changes;
	size_t nr_sorted;              /* of them, in the order of their rows */
	struct grove__odd *odd;
	size_t nr_odd, cap_odd;
	struct grove__tall *tall;
	size_t nr_tall, cap_tall;
	struct grove__rename *renames;
	size_t nr_renames, cap_renames;
	struct grove__idmap renamed;

	bool in_tall;                  /* the current value is one */
	bool has_tree;                 /* all lines have been read */
	uint64_t values;               /* that stay, so far */
	uint64_t first_line;           /* where the first one is that is not a slot */
	bool has_first;
	bool usable;                   /* there are entries that a header could precede */
	bool has_header, misplaced;    /* there is one, but entries precede it */
	struct grove_slice header;     /* that one */
	unsigned version;
	bool beyond;                   /* there is no header, and none can be made */
};

void grove__plan_init(struct grove__plan *p, struct grove *g, const struct grove__where *at,
		      const struct grove__dialect *dialect, struct grove_store_log *log,
		      struct grove_detail *d);
void grove__plan_release(struct grove__plan *p);
/* fix_plan.c: makes the whole plan. GROVE_ETOOBIG for a line of more than 1 GiB. */
int grove__plan_make(struct grove__plan *p);
/* Returns the change of a row, which is created if necessary. NULL: out of memory. */
struct grove__change *grove__plan_change(struct grove__plan *p, uint32_t row,
					 enum grove__problem why);
/* Returns where a row is in the log as it was read. */
struct grove__spot grove__plan_spot(const struct grove__plan *p, uint32_t row);
/*
 * fix_take.c: judges one whole value: `value` is trimmed and on one line, `stored` is
 * as it is stored. *why is set if it is removed.
 */
enum grove__verdict { STAYS, GOES };
int grove__plan_take(struct grove__plan *p, const struct grove__spot *at, struct grove_slice value,
		     struct grove_slice stored, enum grove__verdict *verdict,
		     enum grove__problem *why);
/* Makes a line with the changes. */
int grove__fix_plan_rewrite(const struct grove__plan *p, const struct grove__change *c,
			struct grove_slice value, struct grove_buf *out);
/* fix_tree.c */
int grove__plan_tree(struct grove__plan *p);
/*
 * fix_header.c: makes the line that the log should begin with. Returns 1 if that is
 * impossible.
 */
int grove__plan_header(struct grove__plan *p, struct grove_buf *out);

/* fix_emit.c: the log, line by line, before and after. */
struct grove__piece {
	size_t off, len;           /* what is removed from the old line */
	size_t at, put;            /* its replacement in the new text */
	enum grove__problem why;
	bool lf;                   /* the newline is removed as well */
};

struct grove__mended {
	const struct grove__plan *plan;
	struct grove__lines lines;
	size_t edit, change;
	struct grove_slice old;
	uint64_t line;             /* its number, from 0 */
	uint64_t old_at, new_at;   /* bytes before it, in the old and the new log */
	uint64_t new_line;         /* its number then */
	bool changed;
	bool gone;                 /* nothing is left of it, not even a newline */
	enum grove__problem why;   /* of the first edit */
	uint32_t row;              /* concerned; or GROVE_NO_ENTRY */
	struct grove_buf text;     /* the new text, without its newline */
	struct grove__piece *pieces;
	size_t nr_pieces, cap_pieces;
	struct grove_buf rewritten;
};

int grove__fix_mended_init(struct grove__mended *m, const struct grove__plan *p,
			   struct grove_store_log *log, struct grove_detail *d);
void grove__fix_mended_release(struct grove__mended *m);
/*
 * Gets the next line. Returns 0, or at the end 1, or GROVE_ECONFLICT if it was not the
 * log of the plan.
 */
int grove__fix_mended_next(struct grove__mended *m);

/*
 * fix_cut.c: saves what is removed next to the session; `out` gets the name. Returns 1
 * if nothing is removed.
 */
int grove__fix_keep(const struct grove__plan *p, struct grove_store_log *log, struct grove_buf *out,
		    struct grove_key *key, struct grove_buf *name, struct grove_detail *d);

/* fix.c */
int grove__fix(struct grove *g, struct grove__where *at, const struct grove_fix_options *opt,
	       struct grove_fix_result *result, struct grove_detail *d);
/*
 * left.c: what killed commands left in a store, or of one session (`near`), and what they
 * left empty: these return 1 if it is not.
 */
int grove__check_left(struct grove_store *st, const struct grove_key *near, grove_problem_fn *fn, void *payload,
		      struct grove_check_result *result, struct grove_detail *d);
int grove__fix_left(struct grove_store *st, const struct grove_key *near, const struct grove_fix_options *opt,
		    struct grove_fix_result *result, struct grove_detail *d);
int grove__check_empty(const struct grove__where *at, grove_problem_fn *fn, void *payload,
		       struct grove_check_result *result);
int grove__fix_empty(const struct grove__where *at, const struct grove_fix_options *opt,
		     struct grove_fix_result *result, struct grove_detail *d);
/* True if a log without a usable header could get one. */
int grove__fix_can_begin(struct grove *g, const struct grove__where *at,
			 struct grove_store_log *log, bool *yes, struct grove_detail *d);

#endif
