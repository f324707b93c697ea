/*
 * search/search_part.h: texts of a log that are indexed together.
 *
 * A row in the index for each text would make it large and slow. So consecutive texts form
 * a part, which is one row: the position of a word in it tells which text has it, and in
 * which lane that is.
 */
#ifndef GROVE_SEARCH_SEARCH_PART_H
#define GROVE_SEARCH_SEARCH_PART_H

#include "search/search_feed.h"

/*
 * Words that have a stem, which are those of ASCII letters. Most have been met before, so a
 * table of hashes remembers which need not be written again. Belongs to one thread.
 */
struct grove__search_vocab {
	uint64_t *seen;              /* hashes of words */
	struct grove_buf found;      /* new words, each with a NUL */
};

int grove__search_vocab_init(struct grove__search_vocab *v);
void grove__search_vocab_release(struct grove__search_vocab *v);

/* A word: its first position in `words`, plus one (0: none), and the last text that has it. */
struct grove__search_slot {
	uint32_t at, text;
};

struct grove__search_part {
	/*
	 * What is indexed: of each text a line for each lane, with the distinct words, a space
	 * after each, in its own lane and nothing in the others.
	 */
	struct grove_buf words;
	struct grove_buf texts;      /* where they are */
	struct grove_buf sizes;      /* a byte for each: the number of its words, 255 for more */
	int64_t since, until;        /* the earliest and the latest time; if none: since > until */

	/* while it is made */
	struct grove__search_vocab *vocab;   /* learns of its words; NULL: nobody does */
	size_t bytes;                /* of text */
	uint32_t nr;                 /* texts */
	uint32_t count;              /* words of the last one */
	struct grove__search_slot *slots;
	size_t used, cap;
	struct grove__search_doc last;
};

/* Adds a text; one without words is left out. GROVE_ENOMEM. */
int grove__search_part_add(struct grove__search_part *p, const struct grove__search_doc *doc);
/* True if the part is full. */
bool grove__search_part_full(const struct grove__search_part *p);
/* Empties the part. */
void grove__search_part_clear(struct grove__search_part *p);
void grove__search_part_release(struct grove__search_part *p);

/*
 * Gets the texts of a part:
 *
 *	struct grove__search_doc e = { 0 };
 *	while (!(rc = grove__search_part_next(&rest, &e)))
 *		… e (without the text itself; the id is in `rest`)
 *
 * Returns 1 at the end; GROVE_EDAMAGED.
 */
int grove__search_part_next(struct grove_slice *rest, struct grove__search_doc *e);

#endif
