/*
 * dialect/xcsh_llm.h: the steps from a context to what a model is sent.
 */
#ifndef GROVE_DIALECT_XCSH_LLM_H
#define GROVE_DIALECT_XCSH_LLM_H

#include "base/buf.h"

#include <stdint.h>

/* What a message becomes. */
enum grove__xcsh_form {
	XCSH_FORM_NONE,      /* nothing */
	/* unchanged, or with an attribution */
	XCSH_FORM_DEVELOPER, XCSH_FORM_ASSISTANT, XCSH_FORM_RESULT, XCSH_FORM_USER,
	/* a user message */
	XCSH_FORM_BASH, XCSH_FORM_PYTHON, XCSH_FORM_CUSTOM, XCSH_FORM_BRANCH, XCSH_FORM_COMPACTION,
	XCSH_FORM_FILES
};

struct grove__xcsh_message {
	struct grove_slice json;
	size_t from;
	enum grove__xcsh_form form;
};

enum grove__xcsh_form grove__xcsh_form_of(struct grove_slice m);

/* A position in the conversation: a message, or a missing result. */
struct grove__xcsh_turn {
	const struct grove__xcsh_message *message; /* NULL: added for this call */
	struct grove_slice call_id, call_name;     /* raw; call_name need not be a string */
};

/*
 * Orders the messages so that the results of an assistant's calls follow it directly.
 * Appends turns to `turns`.
 */
int grove__xcsh_repair(const struct grove__xcsh_message *messages, size_t nr,
		       struct grove_buf *turns);

/*
 * Completes a message that has a valid role; `content`, unless empty, replaces its own. A
 * pruned result keeps blocks other than text if `others`. *json is the result, stored in
 * `out` if necessary.
 */
int grove__xcsh_complete(const struct grove__xcsh_message *m, struct grove_slice content, bool others,
			 struct grove_buf *out, struct grove_slice *json);

/* {"type":"text","text":…} */
int grove__xcsh_put_text(struct grove_buf *out, struct grove_slice text);
/* The wording of truncation notices and summaries. */
struct grove__xcsh_wording;
int grove__xcsh_told_text(struct grove_buf *t, const struct grove__xcsh_message *m,
			  const struct grove__xcsh_wording *w);
/* Writes a mentioned file. */
int grove__xcsh_file_text(struct grove_buf *t, struct grove_slice file);

/* --- notices from the `meta` of a result --- */

/* PATH:LINE:COL REST, as reported by a language server. */
struct grove__xcsh_finding {
	struct grove_slice path;
	struct grove_slice rest;  /* from LINE on */
};

/* An agent's wording. */
struct grove__xcsh_wording {
	/* Says which part of a truncated text is shown; *go_on false to not say how to see more. */
	int (*shown)(struct grove_buf *text, struct grove_slice truncation, bool *go_on);
	const char *go_on;
	/* Writes findings, at least one, in groups. */
	int (*findings)(struct grove_buf *text, const struct grove__xcsh_finding *f, size_t nr);
	/* For summaries: keep single blank lines. */
	bool airy;
};

extern const struct grove__xcsh_wording grove__xcsh_wording;

int grove__xcsh_notice(struct grove_slice meta, const struct grove__xcsh_wording *w,
		       struct grove_buf *text);
int grove__xcsh_add_shown(struct grove_buf *text, struct grove_slice truncation, bool *go_on);
/* 512B, 50.0KB, 1.5MB, 2.0GB: one decimal, rounded half up. */
int grove__xcsh_add_size(struct grove_buf *text, double n);

/* Adds a value as JavaScript would convert it to a string. */
int grove__xcsh_add_text(struct grove_buf *text, struct grove_slice raw);
/* Adds `before`, the member as such a text, and `after`. */
int grove__xcsh_add_member(struct grove_buf *text, const char *before, struct grove_slice object,
			   const char *name, const char *after);

/* Appends a prompt's text in the format that the program gives all of them. */
int grove__xcsh_format(struct grove_slice text, bool airy, struct grove_buf *out);

#endif
