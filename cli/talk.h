/*
 * talk.h: a conversation, printed for reading.
 */
#ifndef CLI_TALK_H
#define CLI_TALK_H

#include "cli.h"
#include "results.h"
#include "short_ids.h"

enum talk_flags {
	TALK_FULL = 1,        /* nothing is folded */
	TALK_ALL = 2,         /* every entry, also what is not for people */
	TALK_USER = 4,        /* only what the user said */
	TALK_NO_TOOLS = 8,    /* without tools */
	TALK_PLAIN = 16       /* text as it was written, neither wrapped nor styled */
};

struct talk {
	struct cli *c;
	struct out *o;
	struct grove_view *v;
	const char *cwd;      /* of the session; NULL: unknown */
	unsigned flags;
	const uint32_t *rows; /* of the view; NULL: 0, 1, 2, … */
	size_t nr;
	struct results results;
	struct short_ids ids;
	unsigned char *on_path;   /* of each entry, if there are rows */
	const char *unfold;   /* what shows folded lines: "--full" */

	/* the entry that is being printed */
	const struct grove_entry *e;
	size_t at;
	int before;           /* the kind of the piece before, or NOTHING_YET */
	int hidden;           /* a piece was left out */
	int id_due;           /* it has no heading: its id stands with its first call */

	/* what was printed last */
	int notes;            /* a note: they stand together */
	int speaking;         /* a reply, which the next entry may continue */
	int worked;           /* … with calls of tools in it */
	int output;           /* a tool's output: what follows stands apart */
};

/* `rows` must stay. End with talk_release(). */
void talk_init(struct talk *t, struct cli *c, struct grove_view *v, unsigned flags, const uint32_t *rows, size_t nr);
/*
 * The place where the last `nr` messages begin. A message is what a user or an agent
 * says; what tools answer belongs to it. *earlier is the number of messages before.
 */
int talk_last(struct talk *t, uint64_t nr, size_t *from, uint64_t *earlier);
/* Does a message of the conversation count in talk_last()? */
int talk_counts(const struct talk *t, const struct grove_entry *e);
/* Prints the entries from a place on. */
int talk_print(struct talk *t, size_t from);
/* Prints the entry at a place, which follows the one that was printed before. */
int talk_entry(struct talk *t, size_t at);
/* Forgets what was printed before: the next entry may be any. */
void talk_restart(struct talk *t);
void talk_release(struct talk *t);

#endif
