/*
 * image/choice.h: which entries a model is sent.
 *
 * context.c writes them, sent.c only marks them.
 */
#ifndef GROVE_IMAGE_CHOICE_H
#define GROVE_IMAGE_CHOICE_H

#include "image/image.h"

/* What a context edit does to an entry. */
struct grove__choice_edit {
	uint32_t target;
	size_t order;                    /* among the edits, in the order found */
	struct grove_buf content;        /* raw; empty: without content */
	bool drop;
};

struct grove__choice {
	struct grove__image *im;
	struct grove_store_log *log;
	uint32_t *rows;                  /* what is sent, in order; edits apply */
	size_t nr_rows;

	/* By the path: the part of it that matters, or all, from the root to the leaf. */
	uint32_t *path;
	size_t nr_path, cap_path;
	size_t begin;                    /* nothing before this position is sent */
	uint32_t compaction;             /* the one that counts, or GROVE_NO_ENTRY */
	size_t compaction_at;            /* its place in the path */
	size_t kept_from;                /* of the first one kept before it */
	struct grove__choice_edit *edits;       /* by target, one each */
	size_t nr_edits;

	/* By rules over the whole log. */
	struct grove__chain_walk walk;

	struct grove_buf line;
	struct grove_detail *d;
};

/*
 * Chooses by the path to `leaf` (GROVE_NO_ENTRY: nothing). `whole`: all of the path is
 * wanted, not only what can be sent. Release `c` whatever the result.
 */
int grove__choice_by_path(struct grove__choice *c, struct grove__image *im,
			  struct grove_store_log *log, uint32_t leaf, bool whole,
			  struct grove_detail *d);
/* Chooses by the rules, among the first `nr` rows; returns the same as grove__model_walk(). */
int grove__choice_by_rules(struct grove__choice *c, struct grove__image *im,
			   struct grove_store_log *log, uint32_t nr,
			   const struct grove__chain_ask *ask, struct grove_detail *d);
void grove__choice_release(struct grove__choice *c);

/* True if the entry at this position of the path, before the compaction, is kept by it. */
bool grove__choice_kept(const struct grove__choice *c, size_t place);
/* Returns the edit of a row that is sent, or NULL. */
struct grove__choice_edit *grove__choice_edit(const struct grove__choice *c, uint32_t row);
/* Finds out whether its line says anything to a model. */
int grove__choice_speaks(struct grove__choice *c, uint32_t row, bool *yes);

#endif
