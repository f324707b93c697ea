/*
 * dialect/xcsh_walk.h: a value walked to its last member, and changed here and
 * there.
 *
 * One walk serves what is done to a line before it is stored, and what is
 * undone when it is read. The rules say what to change; the walk knows nesting,
 * commas, and which key a value is under (items of an array: the key of the
 * array). Nothing is written before the walk has ended, so that a rule may take
 * back what was noted inside an object once all members of it are known.
 */
#ifndef GROVE_DIALECT_XCSH_WALK_H
#define GROVE_DIALECT_XCSH_WALK_H

#include "base/buf.h"
#include "json/json.h"

enum grove__xcsh_key {
	/* those whose values are remembered until their object ends */
	XCSH_TYPE, XCSH_DATA, XCSH_MIME, XCSH_CONTENT, XCSH_LINE_COUNT, XCSH_THINKING,
	XCSH_THINKING_SIGNATURE, XCSH_TEXT_SIGNATURE, XCSH_THOUGHT_SIGNATURE, XCSH_ENCRYPTED,
	XCSH_RESULT,
	XCSH_REMEMBERED,
	/* and others that matter */
	XCSH_IMAGE_URL = XCSH_REMEMBERED, XCSH_IMAGES, XCSH_FRAMES, XCSH_PARTIAL_JSON,
	XCSH_JSONL_EVENTS, XCSH_PROVIDER_PAYLOAD, XCSH_ANTHROPIC_COMPACTION,
	XCSH_OTHER
};

/* An object or an array that is being walked. */
struct grove__xcsh_frame {
	const char *start;        /* its opening bracket */
	enum grove__xcsh_key key; /* what it is under, what its items are under */
	bool object;
	bool item;                /* of an array */
	bool sealed;              /* somewhere under encrypted_content */
	bool changed;
	size_t splices;           /* bytes of them noted before it began */
	struct grove_slice member[XCSH_REMEMBERED]; /* strings and numbers, raw */
	const char *kept;         /* after the last member that stays */
	const char *gone;         /* the first left out after that */
	const char *last;         /* after the last member */
};

/* Instead of `cut` bytes at `at` comes what the rules make of `what` and `arg`; 0: nothing. */
struct grove__xcsh_splice {
	const char *at;
	size_t cut;
	int what;
	struct grove_slice arg;
};

struct grove__xcsh_walk;

struct grove__xcsh_rules {
	/* Is a member of `f` under this key to be left out, whatever it is? */
	bool (*drop)(struct grove__xcsh_walk *w, const struct grove__xcsh_frame *f,
		     enum grove__xcsh_key key);
	/* A string under `key`; `f` is what it stands in (NULL: it is all there is). */
	int (*string)(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f,
		      enum grove__xcsh_key key, struct grove_slice raw);
	/* The object `f` ends. */
	int (*close)(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f);
	/* Append what a splice puts. */
	int (*put)(struct grove__xcsh_walk *w, const struct grove__xcsh_splice *s,
		   struct grove_buf *out);
};

struct grove__xcsh_walk {
	const struct grove__xcsh_rules *rules;
	void *payload;
	const char *end;
	struct grove_buf frames;  /* struct grove__xcsh_frame */
	struct grove_buf splices; /* struct grove__xcsh_splice */
};

/* For rules: note a splice in `f` (may be NULL), or take back all those inside it. */
int grove__xcsh_splice(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f,
		       struct grove_slice raw, int what, struct grove_slice arg);
void grove__xcsh_keep_whole(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f);
/* What the frame `f` stands in, or NULL. */
const struct grove__xcsh_frame *grove__xcsh_around(const struct grove__xcsh_walk *w,
						   const struct grove__xcsh_frame *f);

/*
 * Walk the valid `value`, append it with all splices made. Returns 0; 1 if
 * there were none (nothing appended); what a rule answered. After anything
 * but 0 `out` is as it was.
 */
int grove__xcsh_walk(const struct grove__xcsh_rules *rules, void *payload, struct grove_slice value,
		     struct grove_buf *out);

/* UTF-16 units of a raw string. */
size_t grove__xcsh_units(struct grove_slice raw);

#endif
