/*
 * search/search_part.h: some texts of a log that are indexed together.
 *
 * What tools are told and what they answer is most of a log, and a row in the index
 * for each text would make it large and slow. So texts of a class that follow each
 * other are a part, which is one row: where a word stands in it tells whose it is.
 */
#ifndef GROVE_SEARCH_SEARCH_PART_H
#define GROVE_SEARCH_SEARCH_PART_H

#include "search/search_feed.h"

/* A word: where it stands first in `words`, plus one (0: none), and the last entry that has it. */
struct grove__search_slot {
	uint32_t at, entry;
};

struct grove__search_part {
	struct grove_buf words;      /* of each entry, each once, a space behind it; then a line end */
	struct grove_buf entries;
	int64_t since, until;        /* the earliest and the latest time; without any: since > until */

	/* while it is made */
	size_t bytes;                /* of text */
	uint32_t nr;                 /* entries */
	uint32_t count;              /* words of the last one */
	struct grove__search_slot *slots;
	size_t used, cap;
	struct grove__search_doc last;
};

/* Add a text; one without words is left out. GROVE_ENOMEM. */
int grove__search_part_add(struct grove__search_part *p, const struct grove__search_doc *doc);
/* Has it as much as one should? */
bool grove__search_part_full(const struct grove__search_part *p);
/* Nothing is in it any more. */
void grove__search_part_clear(struct grove__search_part *p);
void grove__search_part_release(struct grove__search_part *p);

/*
 * The entries of a part:
 *
 *	struct grove__search_doc e = { 0 };
 *	while (!(rc = grove__search_part_next(&rest, &e)))
 *		… e (without its class and its text; the id lives in `rest`)
 *
 * 1 at the end; GROVE_EDAMAGED.
 */
int grove__search_part_next(struct grove_slice *rest, struct grove__search_doc *e);

#endif
