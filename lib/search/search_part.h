/*
 * search/search_part.h: texts of a log that are indexed together.
 *
 * Tool calls and results are most of a log, and a row in the index for each text would
 * make it large and slow. So consecutive texts of one class form a part, which is one
 * row: the position of a word in it tells which entry it belongs to.
 */
#ifndef GROVE_SEARCH_SEARCH_PART_H
#define GROVE_SEARCH_SEARCH_PART_H

#include "search/search_feed.h"
#include "search/search_forms.h"

/* A word: its first position in `words`, plus one (0: none), and the last entry that has it. */
struct grove__search_slot {
	uint32_t at, entry;
};

struct grove__search_part {
	struct grove_buf words;      /* each entry's distinct words, a space after each; then LF */
	struct grove_buf entries;
	int64_t since, until;        /* the earliest and the latest time; if none: since > until */

	/* while it is made */
	struct grove__search_forms *forms;   /* learns of its words; NULL: nobody does */
	size_t bytes;                /* of text */
	uint32_t nr;                 /* entries */
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
 * Gets the entries of a part:
 *
 *	struct grove__search_doc e = { 0 };
 *	while (!(rc = grove__search_part_next(&rest, &e)))
 *		… e (without its class and its text; the id is in `rest`)
 *
 * Returns 1 at the end; GROVE_EDAMAGED.
 */
int grove__search_part_next(struct grove_slice *rest, struct grove__search_doc *e);
/* Adds a byte for each entry: the number of its words, 255 for more. */
int grove__search_part_sizes(struct grove_slice entries, struct grove_buf *out);

#endif
