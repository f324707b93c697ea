/*
 * dialect/xcsh_llm.h: the steps from a context to what a model is told.
 */
#ifndef GROVE_DIALECT_XCSH_LLM_H
#define GROVE_DIALECT_XCSH_LLM_H

#include "base/buf.h"

#include <stdint.h>

/* What becomes of a message. */
enum grove__xcsh_form {
	XCSH_FORM_NONE,      /* nothing */
	/* as it is, or with an attribution */
	XCSH_FORM_DEVELOPER, XCSH_FORM_ASSISTANT, XCSH_FORM_RESULT, XCSH_FORM_USER,
	/* a user's */
	XCSH_FORM_BASH, XCSH_FORM_PYTHON, XCSH_FORM_CUSTOM, XCSH_FORM_BRANCH, XCSH_FORM_COMPACTION,
	XCSH_FORM_FILES
};

struct grove__xcsh_message {
	struct grove_slice json;
	size_t from;
	enum grove__xcsh_form form;
};

/* A place in the conversation: a message, or a result that nobody gave. */
struct grove__xcsh_turn {
	const struct grove__xcsh_message *message; /* NULL: made up for this call */
	struct grove_slice call_id, call_name;     /* raw; call_name may be no string */
};

/*
 * The order in which the messages are told: the results of an assistant's calls
 * directly behind it. Appends turns to `turns`.
 */
int grove__xcsh_repair(const struct grove__xcsh_message *messages, size_t nr,
		       struct grove_buf *turns);

/* What the `meta` of a run says about its output, to be put behind it. */
int grove__xcsh_notice(struct grove_slice meta, struct grove_buf *text);

/* A value as JavaScript would put it into a text. */
int grove__xcsh_add_text(struct grove_buf *text, struct grove_slice raw);

/* Append a prompt's text in the form that the program gives to all of them. */
int grove__xcsh_format(struct grove_slice text, struct grove_buf *out);

#endif
