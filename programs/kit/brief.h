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
	char bytes[GROVE_TITLE_MAX + BRIEF_TEXT];  /* holds both strings */
};

/* The beginning of an entry: its first text, or else its most telling part. */
int brief_read(struct brief *b, struct grove_view *v, uint32_t i);
/* The most telling part of a tree node: the first text of a reply, or else its first tool call. */
int brief_node(struct brief *b, const struct shape *s, struct grove_view *v, uint32_t node);
/*
 * The same for the entry that a message comes from, within the callback for that message;
 * `max` bytes of its text are enough.
 */
int brief_message(struct brief *b, const struct grove_message *m, size_t max);
/* Prints it within `width` columns; returns the columns used. */
unsigned brief_print(struct out *o, const struct brief *b, unsigned width);

/* "user", "assistant", "compaction": the role of a message, or the kind of any other entry. */
const char *brief_word(const struct grove_entry *e);
enum out_style brief_style(const struct grove_entry *e);

#endif
