/*
 * image/messages.h: the messages of a choice, one by one or all together.
 */
#ifndef GROVE_IMAGE_MESSAGES_H
#define GROVE_IMAGE_MESSAGES_H

#include "image/choice.h"

/* What is sent, and what it is made from. */
struct grove__messages {
	struct grove__choice choice;
	struct grove__blob_source blobs;
	uint32_t row;                    /* the entry of the message being reported … */
	struct grove_slice line;         /* … and its value; empty: not available */
};

/* Calls `fn` with each message, in order. What it returns, unless 0, ends that and is returned. */
int grove__messages_each(struct grove__messages *x, int (*fn)(void *payload, struct grove_slice json), void *payload);

/* Messages collected for a conversion that needs all of them. */
struct grove__message_list {
	struct grove_buf bytes;
	struct grove_slice *list;        /* only lengths until all have been collected */
	uint32_t *row;
	size_t nr, cap, cap_rows;
};

int grove__messages_add(struct grove__message_list *k, struct grove_slice json, uint32_t row);
/* All have been collected, and the bytes no longer move. */
void grove__messages_settle(struct grove__message_list *k);
void grove__messages_release(struct grove__message_list *k);

#endif
