/*
 * reader.h: a conversation, as lines that are made when somebody looks at them.
 *
 * A model over talk.h, independent of any terminal. The conversation is divided into parts,
 * each of which begins where somebody else speaks (long ones are split further), and a part
 * is printed as a whole, so that calls are together with their results. A place is a part
 * and a line in it, so nothing before it needs to be read.
 */
#ifndef BROWSE_READER_H
#define BROWSE_READER_H

#include "away.h"
#include "needle.h"
#include "kit/talk.h"

struct reader_place {
	size_t part, line;
};

/* What is on the screen, in terms that hold for another width, other flags or a newer view. */
struct reader_spot {
	uint32_t top;             /* the entry at the top, … */
	size_t line;              /* … and how many of its lines are above the screen */
	uint32_t marked;          /* the marked entry */
	int last;                 /* it is the last one, and its end is on the screen */
};

/* The escapes in effect at the beginning of a line. */
struct reader_style {
	char bytes[31];
	unsigned char len;
};

struct reader_part {
	size_t part;              /* which; SIZE_MAX if none */
	uint64_t used;            /* when it was used last */
	struct out text;
	size_t *line, nr;         /* where each line begins, and one more */
	uint32_t *row;            /* for each line: its index in `rows` */
	struct reader_style *style;
	size_t cap;
};

enum reader_flags {
	READER_CONTEXT = 1,       /* only what the model sees */
	READER_FULL = 2           /* fold nothing */
};

enum { READER_PARTS = 32 };

struct reader {
	struct cli *c;
	struct grove_view *v;     /* not owned */
	const char *cwd;
	struct away *away;        /* not owned; NULL: its store always answers */
	uint32_t to;              /* where the conversation ends */
	unsigned flags;           /* enum reader_flags */
	unsigned width;           /* columns of a line */
	size_t height;            /* lines of the screen; 0 if it was never shown */
	struct grove_rows rows;   /* its entries */
	uint32_t *place_of;       /* by entry: its index in `rows`, or GROVE_NO_ENTRY */
	unsigned char *covered;   /* by entry, with READER_CONTEXT: it leads to `to` */
	size_t *parts, nr_parts;  /* the first row of each, and one more: the end */
	struct talk talk;
	struct reader_part cache[READER_PARTS];
	uint64_t clock;
	struct out shown;         /* the line last requested */
	struct reader_place top;  /* the first line on the screen */
	uint32_t current;         /* the marked row */
	struct reader_place found, found_top;  /* the line found last, and the top at that time */
	/* with READER_CONTEXT: */
	uint64_t tokens, window;
	char model[128];          /* "" if unknown */
};

/*
 * Takes the conversation of a view that ends at an entry, and goes to the top. Returns 0 or
 * the library's error.
 */
int reader_take(struct reader *r, struct cli *c, struct grove_view *v, const char *cwd, uint32_t to, unsigned flags);
void reader_release(struct reader *r);
/* Reads all entries again. */
void reader_reread(struct reader *r);
/* Changes the size of the screen and keeps the place: the end, or the line at the top. */
void reader_size(struct reader *r, unsigned width, size_t height);

/* Returns true if an entry is part of it. */
int reader_has(const struct reader *r, uint32_t entry);
/* Returns true if an entry is part of it, or would be without READER_CONTEXT. */
int reader_covers(const struct reader *r, uint32_t entry);
/* Returns the marked entry, or GROVE_NO_ENTRY. */
uint32_t reader_entry(const struct reader *r);
/* Notes what is on the screen; what was noted stays valid after reader_take(). */
void reader_note(struct reader *r, struct reader_spot *spot, size_t height);
/* Shows that again. Returns 0, and changes nothing, if the entries are not there. */
int reader_restore(struct reader *r, const struct reader_spot *spot, size_t height);
/* Goes to an entry and marks it; does nothing if it is not there. */
void reader_show(struct reader *r, uint32_t entry, size_t height);
/* Moves by lines; at the end by entries, until the last one is marked. */
void reader_scroll(struct reader *r, long by, size_t height);
/* Goes to the next (1) or previous (-1) entry with lines. */
void reader_next(struct reader *r, int by, size_t height);
/* Goes to the beginning or to the end. */
void reader_end(struct reader *r, int last, size_t height);
/* Returns true if the last line is on the screen. */
int reader_at_end(struct reader *r, size_t height);

/*
 * Gets the line `below` lines below the top, without its line end, with the style in which
 * it begins. Returns 0 if there is none. *row is its entry's index in `rows`. Valid until
 * the next call.
 */
int reader_line(struct reader *r, size_t below, struct grove_slice *line, uint32_t *row);

/* Returns 1 if an entry's text or label matches, 0 if not, or the library's error. */
int reader_matches(struct grove_view *v, uint32_t entry, const struct needle *n);
/*
 * Goes to the next line after (1) or before (-1) the one found last that matches, or, after
 * the reader has moved, to the next one from the mark on. Searches only the part on the
 * screen; returns 0 if there is none.
 */
int reader_find_near(struct reader *r, const struct needle *n, int by, size_t height);
/* Goes to the line of an entry that matches, or else to its first line. */
void reader_find_in(struct reader *r, uint32_t entry, const struct needle *n, int by, size_t height);

#endif
