/* search/search_text.h: the texts of an entry that are searched. */
#ifndef GROVE_SEARCH_SEARCH_TEXT_H
#define GROVE_SEARCH_SEARCH_TEXT_H

#include "grove/search.h"
#include "dialect/dialect.h"

/* In the order of the bits of enum grove_search_in. */
enum grove__search_class {
	SEARCH_TEXT,
	SEARCH_CALLS,
	SEARCH_RESULTS,
	SEARCH_CLASSES,              /* of an entry's own texts */
	SEARCH_NAMES = SEARCH_CLASSES
};

/* What the index tells apart by position alone: the classes, and what people wrote themselves. */
enum grove__search_lane {
	LANE_PROMPT,
	LANE_TEXT,
	LANE_CALL,
	LANE_RESULT,
	SEARCH_LANES
};

static inline enum grove__search_lane grove__search_lane(unsigned class, unsigned role)
{
	return class == SEARCH_TEXT ? (role == GROVE_ROLE_USER ? LANE_PROMPT : LANE_TEXT)
				    : (enum grove__search_lane)(class + 1);
}

static inline enum grove__search_class grove__search_lane_class(enum grove__search_lane lane)
{
	return lane <= LANE_TEXT ? SEARCH_TEXT : (enum grove__search_class)(lane - 1);
}

struct grove__search_texts {
	struct grove_buf of[SEARCH_CLASSES];   /* empty: it has none */
};

/* Gets the texts of an entry from the value of its line. GROVE_ENOMEM. */
int grove__search_texts(struct grove__search_texts *t, const struct grove__dialect *dialect,
			struct grove_slice value, enum grove_kind kind, enum grove_role role);
void grove__search_texts_release(struct grove__search_texts *t);
/*
 * Returns who speaks: a tool's result has the role of the tool, whichever record
 * contains it.
 */
enum grove_role grove__search_role(enum grove__search_class class, enum grove_role role);

struct grove__search_snippet {
	struct grove_buf text;
	struct grove_hit_mark *marks;
	size_t nr, cap;
};
/*
 * Makes the part of a text around the match, on one line, about 200 bytes long, with
 * "…" where something is left out. GROVE_ENOMEM.
 */
int grove__search_snippet(struct grove__search_snippet *s, struct grove_slice text,
			  const struct grove_hit_mark *marks, size_t nr);
void grove__search_snippet_release(struct grove__search_snippet *s);

#endif
