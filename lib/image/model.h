/*
 * image/model.h: how a conversation follows from a log.
 *
 * A log is a sequence of lines, but a conversation has an order of its own. There are two
 * models, and the dialect says which one is its agent's:
 *
 *	path    An entry names its parent. The conversation is the path from the root to
 *	        the leaf; the leaf is the last entry, unless somebody moved it.
 *	        Lines of some logs have neither ids nor parents: they are a list, and each
 *	        entry is below the one before it. Its id is made from its line's number.
 *	rules   The dialect decides, from what it notes about every line (its chain). Any
 *	        line may change which entry is the leaf, and what comes before it.
 *
 * Whoever needs to know what follows asks here, and does not ask which model it is. Only
 * where a path saves work that rules would need, or rules know what a path does not, a
 * caller asks grove__model_is_path().
 */
#ifndef GROVE_IMAGE_MODEL_H
#define GROVE_IMAGE_MODEL_H

#include "dialect/dialect.h"

#include <pthread.h>

struct grove__image;

/* What a model remembers of the lines of a log; nothing, if it is a path. */
struct grove__model {
	const struct grove__dialect *dialect;
	struct grove__chain *chain;        /* NULL: a path */
	pthread_rwlock_t lock;             /* the chain grows while others read it */
};

/* Returns 0 or GROVE_ENOMEM; release it in both cases. */
int grove__model_init(struct grove__model *m, const struct grove__dialect *dialect, uint64_t seed);
void grove__model_release(struct grove__model *m);

/*
 * True if the conversation is the path from the root to the leaf, and the leaf is the last
 * entry unless it was moved. Else any line may change both.
 */
static inline bool grove__model_is_path(const struct grove__dialect *dialect)
{
	return !dialect->rules;
}

/* Returns what finds the last boundary from which a log can be read; see boundary() of the rules. NULL: none does. */
static inline const char *(*grove__model_boundary(const struct grove__dialect *dialect))(const char *bytes, size_t len)
{
	return dialect->rules ? dialect->rules->boundary : NULL;
}

/*
 * True if an entry that is written says only what the caller says, wherever the log ends.
 * Else others' lines may change its parent, its id or what follows from it, and they have
 * to be read first.
 */
static inline bool grove__model_is_free(const struct grove__dialect *dialect)
{
	return grove__model_is_path(dialect) && !grove__dialect_linear(dialect);
}

/* --- while a log is read, or written --- */

/*
 * Gives an entry of a line that has no id an id and a parent, which may be in `id`.
 * GROVE_ENOMEM.
 */
int grove__model_place(const struct grove__image *im, struct grove__entry *e, uint64_t line, char id[40]);
/*
 * The id of the entry that will be stored `ahead` lines after the end of the log; 0 if it
 * is the writer's to choose.
 */
size_t grove__model_next_id(const struct grove__image *im, uint64_t ahead, char id[40]);
/*
 * True if the next entry can be below this row (GROVE_NO_ENTRY: none). In a list, that is
 * the last one.
 */
bool grove__model_may_follow(const struct grove__image *im, uint32_t row);

/* Whoever adds rows that others may be asking about holds the lock. */
void grove__model_lock(struct grove__model *m);
void grove__model_unlock(struct grove__model *m);
/* Adds the next row; see add() of the rules. */
int grove__model_add(struct grove__model *m, const struct grove__entry *e, const char *id);
/* Announces rows that will be added soon; see announce() of the rules. */
void grove__model_announce(struct grove__model *m, const struct grove__entry *e, uint64_t times);
/* Writes what was noted as bytes, and gets it back; as freeze() and new() of the rules. */
int grove__model_freeze(const struct grove__model *m, uint64_t at, uint64_t *end, grove__ice_fn *fn,
			void *payload);
/* Returns 1 if the bytes are not those of `nr` rows. */
int grove__model_thaw(struct grove__model *m, char *bytes, size_t len, uint64_t at, uint32_t nr);
/* True for a row of a side chain, which is never a leaf of its log. Without a lock. */
bool grove__model_side(const struct grove__model *m, uint32_t row);

/* --- the conversation --- */

/*
 * Computes the conversation in the first `nr` rows; only where it is no path. May be called
 * by many threads at once. Returns what walk() of the rules does, and fills *d.
 */
int grove__model_walk(struct grove__image *im, uint32_t nr, const struct grove__chain_ask *ask,
		      struct grove__chain_walk *out, struct grove_detail *d);
void grove__walk_release(struct grove__chain_walk *w);

/*
 * Marks the rows of the conversation that ends at `leaf` (GROVE_NO_ENTRY: by the rules, if
 * there are any), sent or not. The caller frees *marks, which has a byte for each row.
 * Returns 0 or an error, and fills *d.
 */
int grove__model_mark(struct grove__image *im, uint32_t leaf, bool own_file, uint8_t **marks,
		      struct grove_detail *d);
/* Returns the text of a reason in a walk, NULL if the row was not considered; and whether it is sent. */
const char *grove__model_reason(const struct grove__image *im, uint8_t reason, bool *sent);

/* --- about a row --- */

/* Fills `out` with the id under which a mode shows a row. */
int grove__model_name(struct grove__image *im, uint32_t row, const char *mode, struct grove_buf *out);
/* Returns the message in the value of a row if its place is known, so that it need not be parsed. */
bool grove__model_message(struct grove__image *im, uint32_t row, struct grove_slice value,
			  struct grove_slice *out);
/* True if a row keeps an entry that does not exist. */
bool grove__model_lacks(struct grove__image *im, uint32_t row);
/*
 * Returns 0 if the leaf can be moved to the row (GROVE_NO_ENTRY: before the first), or 1 if
 * it would not be the leaf whatever is written, with the reason in *why; or GROVE_ENOMEM.
 */
int grove__model_may_end(struct grove__image *im, uint32_t row, bool own_file, const char **why);
/*
 * Finds the entry that an input belongs below, whatever the leaf is: the call that it
 * answers. Returns 1 if there is none. With the session's lock.
 */
int grove__model_call(struct grove__image *im, struct grove_slice json, struct grove_slice *id);

/*
 * Turns messages, which came from these rows, into what a model is sent; see context.llm().
 * Without the lock, as `fn` leads to the host, which may append to the session.
 */
int grove__model_llm(struct grove__image *im, const uint32_t *rows, const struct grove_slice *messages,
		     size_t nr, int64_t now, grove__message_fn *fn, void *payload);

#endif
