/*
 * view/view.h: a session at one moment, and what can be read of it.
 */
#ifndef GROVE_VIEW_VIEW_H
#define GROVE_VIEW_VIEW_H

#include "session/session.h"

struct grove_view {
	unsigned refs;
	struct grove_session *session;
	struct grove__image *image;
	struct grove_store_log *log; /* the session's log at that moment */
	struct grove__labels *labels;
	uint64_t tail, generation;             /* of the log at that moment */
	uint32_t nr;
	uint32_t leaf;                         /* computed on first use in formats with rules */
	bool has_leaf, moved, kept;            /* the last two as in the session */
	uint64_t rev;
	const char *name;
	struct grove_counts counts;
	pthread_mutex_t lock;
	struct grove_detail detail;
	pthread_mutex_t near_lock;
	struct grove__near near;               /* protected by near_lock */
};

/* view.c */
/* GROVE_ENOMEM means that the leaf is unknown, not that there is none. */
int grove__view_leaf(struct grove_view *v, uint32_t *leaf);
/* As grove_view_conversation(); `to` is a row of the view, or GROVE_NO_ENTRY. */
int grove__view_conversation(struct grove_view *v, uint32_t to, bool whole, struct grove_rows *out);
/* Fills in what the spine knows about a row; no label. */
void grove__view_row(const struct grove__spine *sp, uint32_t row, struct grove_entry *out);
int grove__view_new(struct grove_session *s, struct grove_view **out, struct grove_detail *d);

/* tail.c: what the model is sent, from as little of the log as possible */
int grove__tail_context(struct grove_session *s, const struct grove_context_options *opt,
			   struct grove_sink sink, struct grove_detail *d);
/*
 * context.c, document.c. With `max_body`, longer texts of messages become references to their
 * entries, as in a snapshot.
 */
int grove__view_context(struct grove_view *v, const struct grove_context_options *opt, uint64_t max_body,
			struct grove_sink sink, struct grove_detail *d);
/* The same, message by message, to a host's own functions. */
int grove__context_messages(struct grove_view *v, const struct grove_context_options *opt,
			 const struct grove_context_reader *to, struct grove_detail *d);
/* As grove_message_pieces() says; of a text only `max` bytes are needed, as a dialect's block_pieces() says. */
int grove__context_pieces(const struct grove_message *m, size_t max, grove_piece_fn *fn, void *payload);
/*
 * view_document.c: reports the text of an entry that a person would read. `line` is its
 * line, or empty to read it.
 */
int grove__view_pieces(struct grove_view *v, uint32_t row, struct grove_slice line, grove_piece_fn *fn,
		       void *payload, struct grove_detail *d);
/* What a label entry says; see grove_view_label(). */
int grove__view_label(struct grove_view *v, uint32_t row, struct grove_buf *target, struct grove_buf *text,
		      struct grove_detail *d);
/* Gets one entry's line; `flags` are as in grove_view_line(). */
int grove__view_line(struct grove_view *v, uint32_t row, unsigned flags, struct grove_buf *out,
		     struct grove_detail *d);
int grove__view_raw(struct grove_view *v, struct grove_sink sink, struct grove_detail *d);
/* `flags`: enum grove_tree_flags */
int grove__view_tree(struct grove_view *v, unsigned flags, struct grove_sink sink,
		     struct grove_detail *d);

#endif
