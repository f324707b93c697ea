/*
 * check/fix.h: a session as it could be, were it not damaged.
 *
 * Mending goes in steps, each of which passes the log by once and keeps nothing
 * of it but the spine and the changes:
 *
 *	plan    fix_plan.c    lines: what stays, what goes, what stands on its own
 *	        fix_take.c    values: ids that are taken
 *	        fix_header.c  the header, if there is none
 *	        fix_tree.c    parents of entries that hang nowhere
 *	show    fix_emit.c    each line that changes, and what becomes of it
 *	keep    fix_cut.c     what goes, beside the session
 *	write   fix.c         the log anew, by the store
 */
#ifndef GROVE_CHECK_FIX_H
#define GROVE_CHECK_FIX_H

#include "check/check.h"
#include "image/lines.h"

/* What a session is called where something is said about it: its path, or its key. */
static inline const char *grove__fix_name(const struct grove__where *at)
{
	return at->path && *at->path ? at->path : at->session;
}

/* A part of a line, and what stands in its place. */
struct grove__fix_edit {
	uint64_t line;             /* from 0 */
	size_t off, len;           /* what goes, within that line */
	const char *put;           /* NULL: nothing, or `change` says it */
	size_t put_len;
	size_t change;             /* SIZE_MAX: none; else its number in the plan */
	enum grove__problem why;
	bool whole;                /* the line's end goes, too */
	uint32_t order;
};

/* A value that stays, but with another id or another parent. */
struct grove__change {
	uint32_t row;
	const char *id;            /* as a name of the spine's; NULL: its own */
	const char *parent;        /* the same; NULL with `relink`: none */
	const char *kept;          /* the first entry that a compaction keeps; NULL: as it is */
	bool relink;
	bool mute;                 /* it becomes an entry that says nothing */
	enum grove__problem why;
};

/* A row that is not a line from its first byte on. */
struct grove__odd {
	uint32_t row;
	size_t off;
	bool tall;                 /* it reaches into the next one */
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
	struct grove__chain *chain;    /* the same; NULL: the dialect has none */
	struct grove_detail *d;

	uint64_t tail, generation;     /* of the log that was read, … */
	uint64_t lines, bytes;
	uint32_t crc;
	bool open;                     /* … and its last line has no line end */

	struct grove__fix_edit *edits;     /* by line and place, once the plan is made */
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

	bool in_tall;                  /* the value at hand is one */
	bool has_tree;                 /* all lines have passed by */
	uint64_t values;               /* that stay, so far */
	uint64_t first_line;           /* where the first of them is that is no slot */
	bool has_first;
	bool usable;                   /* there are entries that a header could stand before */
	bool has_header, misplaced;    /* there is one, but entries stand before it */
	struct grove_slice header;     /* that one */
	unsigned version;
	bool beyond;                   /* there is no header, and none can be made */
};

void grove__plan_init(struct grove__plan *p, struct grove *g, const struct grove__where *at,
		      const struct grove__dialect *dialect, struct grove_store_log *log,
		      struct grove_detail *d);
void grove__plan_release(struct grove__plan *p);
/* fix_plan.c: all of it. GROVE_ETOOBIG for a line of more than 1 GiB. */
int grove__plan_make(struct grove__plan *p);
int grove__plan_edit(struct grove__plan *p, const struct grove__fix_edit *e);
/* The change of a row; made if there is none. NULL: out of memory. */
struct grove__change *grove__plan_change(struct grove__plan *p, uint32_t row,
					 enum grove__problem why);
/* Where a row is in the log as it was read. */
struct grove__spot grove__plan_spot(const struct grove__plan *p, uint32_t row);
/*
 * fix_take.c: one value that is whole: `value` has it trimmed and on one line,
 * `stored` as it is. *why is told if it goes.
 */
enum grove__verdict { STAYS, GOES };
int grove__plan_take(struct grove__plan *p, const struct grove__spot *at, struct grove_slice value,
		     struct grove_slice stored, enum grove__verdict *verdict,
		     enum grove__problem *why);
/* A line with the changes made. */
int grove__fix_plan_rewrite(const struct grove__plan *p, const struct grove__change *c,
			struct grove_slice value, struct grove_buf *out);
/* fix_tree.c */
int grove__plan_tree(struct grove__plan *p);
/* fix_header.c: the line that the log should begin with. 1: none can be made. */
int grove__plan_header(struct grove__plan *p, struct grove_buf *out);

/*
 * fix_emit.c: the log, line by line, as it was and as it will be.
 */
struct grove__piece {
	size_t off, len;           /* what goes of the old line */
	size_t at, put;            /* what stands there in the new text */
	enum grove__problem why;
	bool lf;                   /* the line's end goes as well */
};

struct grove__mended {
	const struct grove__plan *plan;
	struct grove__lines lines;
	size_t edit, change;
	struct grove_slice old;
	uint64_t line;             /* its number, from 0 */
	uint64_t old_at, new_at;   /* bytes before it, before and after */
	uint64_t new_line;         /* its number then */
	bool changed;
	bool gone;                 /* nothing is left of it, not even a line end */
	enum grove__problem why;   /* of the first edit */
	uint32_t row;              /* that it is about; GROVE_NO_ENTRY */
	struct grove_buf text;     /* what becomes of it, without its line end */
	struct grove__piece *pieces;
	size_t nr_pieces, cap_pieces;
	struct grove_buf rewritten;
};

int grove__fix_mended_init(struct grove__mended *m, const struct grove__plan *p,
			   struct grove_store_log *log, struct grove_detail *d);
void grove__fix_mended_release(struct grove__mended *m);
/* The next line: 0, 1 at the end, GROVE_ECONFLICT there if it was not the log of the plan. */
int grove__fix_mended_next(struct grove__mended *m);

/* fix_cut.c: keep what goes, beside the session; `out` gets where. 1: nothing goes. */
int grove__fix_keep(const struct grove__plan *p, struct grove_store_log *log, struct grove_buf *out,
		    struct grove_key *key, struct grove_buf *name, struct grove_detail *d);

/* fix.c */
int grove__fix(struct grove *g, struct grove__where *at, const struct grove_fix_options *opt,
	       struct grove_fix_result *result, struct grove_detail *d);
/* Could a log that has no usable header get one? */
int grove__fix_can_begin(struct grove *g, const struct grove__where *at,
			 struct grove_store_log *log, bool *yes, struct grove_detail *d);

#endif
