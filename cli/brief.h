/*
 * brief.h: an entry in one line.
 */
#ifndef CLI_BRIEF_H
#define CLI_BRIEF_H

#include "out.h"

#define BRIEF_TEXT 1024

struct shape;

struct brief {
	enum grove_piece_kind kind;
	int found;
	int error;               /* the tool or command failed */
	struct grove_slice title;
	struct grove_slice text;
	char bytes[GROVE_TITLE_MAX + BRIEF_TEXT];  /* where the two lie */
};

/* Its beginning: the first text, or else what says most about it. */
int brief_read(struct brief *b, struct grove_view *v, uint32_t i);
/* What says most about a node of a tree: of a reply its first text, else its first call. */
int brief_node(struct brief *b, const struct shape *s, struct grove_view *v, uint32_t node);
/* The same of the entry that a message comes from, while the message is told. */
int brief_message(struct brief *b, const struct grove_message *m);
/* Print that within `width` columns; returns the columns used. */
unsigned brief_print(struct out *o, const struct brief *b, unsigned width);

/* "user", "assistant", "compaction": the role of a message, the kind of the rest. */
const char *brief_word(const struct grove_entry *e);
enum out_style brief_style(const struct grove_entry *e);

#endif
