/*
 * talk.h: prints a conversation for reading.
 */
#ifndef CLI_TALK_H
#define CLI_TALK_H

#include "cli.h"
#include "results.h"
#include "short_ids.h"

enum talk_flags {
	TALK_FULL = 1,        /* fold nothing */
	TALK_ALL = 2,         /* every entry, including those not meant for people */
	TALK_USER = 4,        /* only what the user said */
	TALK_NO_TOOLS = 8,    /* without tools */
	TALK_PLAIN = 16       /* text as written, neither wrapped nor styled */
};

struct talk {
	struct cli *c;
	struct out *o;
	struct grove_view *v;
	const char *cwd;      /* of the session; NULL: unknown */
	unsigned flags;
	const uint32_t *rows; /* of the view; NULL for 0, 1, 2, … */
	size_t nr;
	struct results results;
	struct short_ids ids;
	unsigned char *on_path;   /* for each entry, if there are rows */
	const char *unfold;   /* how to see folded lines: "--full" */

	/* the entry being printed */
	const struct grove_entry *e;
	size_t at;
	int before;           /* the kind of the piece before, or NOTHING_YET */
	int hidden;           /* a piece was left out */
	int id_due;           /* has no heading, so its id goes next to its first call */

	/* what was printed last */
	int notes;            /* a note; they are grouped */
	int speaking;         /* a reply, which the next entry may continue */
	int worked;           /* … with tool calls */
	int output;           /* tool output, so leave an empty line */
};

/* `rows` must stay valid. End with talk_release(). */
void talk_init(struct talk *t, struct cli *c, struct grove_view *v, unsigned flags, const uint32_t *rows, size_t nr);
/*
 * Finds where the last `nr` messages begin. A message is what a user or an agent says,
 * including tool results. *earlier is the number of messages before.
 */
int talk_last(struct talk *t, uint64_t nr, size_t *from, uint64_t *earlier);
/* Returns true if talk_last() counts the entry as a message. */
int talk_counts(const struct talk *t, const struct grove_entry *e);
/* Prints the entries from an index on. */
int talk_print(struct talk *t, size_t from);
/* Prints the entry at an index, which follows the one printed before. */
int talk_entry(struct talk *t, size_t at);
/* Forgets what was printed before, so that any entry can come next. */
void talk_restart(struct talk *t);
void talk_release(struct talk *t);

#endif
