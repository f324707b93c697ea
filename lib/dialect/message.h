/*
 * dialect/message.h: what all agents write in the same way in a message to a model, and in
 * the settings that go with it.
 */
#ifndef GROVE_DIALECT_MESSAGE_H
#define GROVE_DIALECT_MESSAGE_H

#include "base/buf.h"

/* The members that are read from a message, raw; empty if absent. */
struct grove__message_members {
	struct grove_slice role, content, summary, output, usage, model, stop_reason;
	/* once somebody has walked over the blocks of the content: the first text among them */
	bool walked;
	struct grove_slice text;
};
void grove__message_read(struct grove_slice message, struct grove__message_members *out);

/*
 * Gets a message's role, and at most `max` bytes of its first text as UTF-8. Each stays
 * empty if there is none. Returns 0 or GROVE_ENOMEM.
 */
int grove__message_head(const struct grove__message_members *m, size_t max, struct grove_buf *role,
			struct grove_buf *text);

/* Model and thinking level of a context. Release the buffers. */
struct grove__settings {
	bool any;                /* the agent stores settings with the session */
	bool has_model, has_thinking;
	struct grove_buf model;  /* PROVIDER/ID, or its only name */
	struct grove_buf thinking;
};
/*
 * Reads them from `members`, which a dialect's context.settings() has written, without the
 * first comma. Returns 0 or GROVE_ENOMEM.
 */
int grove__settings_read(struct grove_slice members, struct grove__settings *out);

#endif
