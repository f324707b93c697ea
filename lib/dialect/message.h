/*
 * dialect/message.h: what all agents spell alike in a message that a model is
 * sent, and in the settings beside it.
 */
#ifndef GROVE_DIALECT_MESSAGE_H
#define GROVE_DIALECT_MESSAGE_H

#include "base/buf.h"

/*
 * Fill `role` with a message's role and `text` with its first text, at most `max`
 * bytes of it, as UTF-8. Each stays empty if there is none. Returns 0 or GROVE_ENOMEM.
 */
int grove__message_head(struct grove_slice message, size_t max, struct grove_buf *role,
			struct grove_buf *text);

/* Model and thinking level of a context. Release the buffers. */
struct grove__settings {
	bool any;                /* the agent keeps settings with the session */
	bool has_model, has_thinking;
	struct grove_buf model;  /* PROVIDER/ID, or the one name that it has */
	struct grove_buf thinking;
};
/* Read them from `members`, as a dialect's context.settings() writes them, but without the first comma. Returns 0 or GROVE_ENOMEM. */
int grove__settings_read(struct grove_slice members, struct grove__settings *out);

#endif
