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

enum grove__xcsh_form grove__xcsh_form_of(struct grove_slice m);

/* A place in the conversation: a message, or a result that nobody gave. */
struct grove__xcsh_turn {
	const struct grove__xcsh_message *message; /* NULL: made up for this call */
	struct grove_slice call_id, call_name;     /* raw; call_name may be no string */
};

/*
 * The order in which the messages are told: the results of an assistant's calls
 * right after it. Appends turns to `turns`.
 */
int grove__xcsh_repair(const struct grove__xcsh_message *messages, size_t nr,
		       struct grove_buf *turns);

/*
 * A message that has its role already, with what it lacks; `content`, if not
 * empty, is put in place of its own. A result that was pruned keeps blocks
 * that are no texts if `others`. *json is the result, in `out` if need be.
 */
int grove__xcsh_complete(const struct grove__xcsh_message *m, struct grove_slice content, bool others,
			 struct grove_buf *out, struct grove_slice *json);

/* {"type":"text","text":…} */
int grove__xcsh_put_text(struct grove_buf *out, struct grove_slice text);
/* The text of a run or of a summary, which are told in our words. */
struct grove__xcsh_wording;
int grove__xcsh_told_text(struct grove_buf *t, const struct grove__xcsh_message *m,
			  const struct grove__xcsh_wording *w);
/* A file that is mentioned. */
int grove__xcsh_file_text(struct grove_buf *t, struct grove_slice file);

/* --- what the `meta` of a run says about its output --- */

/* PATH:LINE:COL REST, as a language server found it. */
struct grove__xcsh_finding {
	struct grove_slice path;
	struct grove_slice rest;  /* from LINE on */
};

/* How an agent puts it. */
struct grove__xcsh_wording {
	/* What of a text that was cut is there; *go_on false: not how to see more of it. */
	int (*shown)(struct grove_buf *text, struct grove_slice truncation, bool *go_on);
	const char *go_on;
	/* In groups; at least one. */
	int (*findings)(struct grove_buf *text, const struct grove__xcsh_finding *f, size_t nr);
	/* And of a summary: are blank lines that stand alone left where they are? */
	bool airy;
};

extern const struct grove__xcsh_wording grove__xcsh_wording;

int grove__xcsh_notice(struct grove_slice meta, const struct grove__xcsh_wording *w,
		       struct grove_buf *text);
int grove__xcsh_add_shown(struct grove_buf *text, struct grove_slice truncation, bool *go_on);
/* 512B, 50.0KB, 1.5MB, 2.0GB: one decimal, a half goes up. */
int grove__xcsh_add_size(struct grove_buf *text, double n);

/* A value as JavaScript would put it into a text. */
int grove__xcsh_add_text(struct grove_buf *text, struct grove_slice raw);
/* before, the member as such a text, after */
int grove__xcsh_add_member(struct grove_buf *text, const char *before, struct grove_slice object,
			   const char *name, const char *after);

/* Append a prompt's text in the form that the program gives to all of them. */
int grove__xcsh_format(struct grove_slice text, bool airy, struct grove_buf *out);

#endif
