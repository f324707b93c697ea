/*
 * reader.h: a conversation, as lines that are made when somebody looks at them.
 *
 * A model over talk.h, which knows nothing of a terminal. The conversation is cut into
 * parts, each of which begins where somebody else speaks (long ones are cut within), and
 * a part is printed as a whole: calls stand with their results. A place is a part and a
 * line in it, so that nothing before it needs to be read.
 */
#ifndef BROWSE_READER_H
#define BROWSE_READER_H

#include "needle.h"
#include "talk.h"

struct reader_place {
	size_t part, line;
};

/* The escapes that are in effect at the beginning of a line. */
struct reader_style {
	char bytes[31];
	unsigned char len;
};

struct reader_part {
	size_t part;              /* which; SIZE_MAX: none */
	uint64_t used;            /* when it was used last */
	struct out text;
	size_t *line, nr;         /* where each line begins, and one more */
	uint32_t *row;            /* of each line: its place in `rows` */
	struct reader_style *style;
	size_t cap;
};

enum reader_flags {
	READER_CONTEXT = 1,       /* only what the model sees */
	READER_FULL = 2           /* nothing is folded */
};

enum { READER_PARTS = 32 };

struct reader {
	struct cli *c;
	struct grove_view *v;     /* not ours */
	const char *cwd;
	uint32_t to;              /* where the conversation ends */
	unsigned flags;           /* enum reader_flags */
	unsigned width;           /* columns of a line */
	struct grove_rows rows;   /* its entries */
	uint32_t *place_of;       /* by entry: its place in `rows`; GROVE_NO_ENTRY: none */
	size_t *parts, nr_parts;  /* the row that each begins with, and one more: the end */
	struct talk talk;
	struct reader_part cache[READER_PARTS];
	uint64_t clock;
	struct out shown;         /* the line that was asked for last */
	struct reader_place top;  /* the first line on the screen */
	uint32_t current;         /* the row that is marked */
	/* with READER_CONTEXT: */
	uint64_t tokens, window;
	char model[128];          /* "": not known */
};

/*
 * Takes a conversation of a view: the one that ends at an entry. It begins at the top.
 * 0, or what the library returned.
 */
int reader_take(struct reader *r, struct cli *c, struct grove_view *v, const char *cwd, uint32_t to, unsigned flags);
void reader_release(struct reader *r);
/* Lines have so many columns from now on. The place stays. */
void reader_width(struct reader *r, unsigned width);

/* Is an entry part of it? */
int reader_has(const struct reader *r, uint32_t entry);
/* The entry that is marked; GROVE_NO_ENTRY: none. */
uint32_t reader_entry(const struct reader *r);
/* Goes to an entry and marks it; nothing happens if it is not there. */
void reader_show(struct reader *r, uint32_t entry, size_t height);
/* Moves by so many lines; at the end by entries, until the last one is marked. */
void reader_scroll(struct reader *r, long by, size_t height);
/* Goes to the next (1) or the previous (-1) entry that has lines. */
void reader_next(struct reader *r, int by, size_t height);
/* Goes to the beginning or to the end. */
void reader_end(struct reader *r, int last, size_t height);
/* Does the screen show the last line? */
int reader_at_end(struct reader *r, size_t height);

/*
 * The line so many lines below the top, without its line end, styled as it begins. 0 if
 * there is none. *row is the place of its entry in `rows`. It is valid until the next call.
 */
int reader_line(struct reader *r, size_t below, struct grove_slice *line, uint32_t *row);

/* Does an entry have it in its text? */
int reader_matches(struct grove_view *v, uint32_t entry, const struct needle *n);
/* Goes to the next line after (1) or before (-1) the top that has it, within the part on the screen. 0: there is none. */
int reader_find_near(struct reader *r, const struct needle *n, int by, size_t height);
/* Goes to the line of an entry that has it, else to its first line. */
void reader_find_in(struct reader *r, uint32_t entry, const struct needle *n, int by, size_t height);

#endif
