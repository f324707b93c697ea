/*
 * dialect/xcsh_walk.h: walks over all members of a value and edits some.
 *
 * The same walk serves both the changes made before a line is stored and those undone when
 * it is read. Rules say what to change; the walk keeps track of nesting, commas, and the
 * key of each value (for items of an array, the array's key). Nothing is written before the
 * walk ends, so a rule may withdraw changes inside an object once all its members are
 * known.
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
	/* others that matter */
	XCSH_IMAGE_URL = XCSH_REMEMBERED, XCSH_IMAGES, XCSH_FRAMES, XCSH_PARTIAL_JSON,
	XCSH_JSONL_EVENTS, XCSH_PROVIDER_PAYLOAD, XCSH_ANTHROPIC_COMPACTION,
	XCSH_OTHER
};

/* An object or array being walked. */
struct grove__xcsh_frame {
	const char *start;        /* its opening bracket */
	enum grove__xcsh_key key; /* its own key, and that of its items */
	bool object;
	bool item;                /* an item of an array */
	bool sealed;              /* anywhere below encrypted_content */
	bool changed;
	size_t splices;           /* bytes of splices recorded before it began */
	struct grove_slice member[XCSH_REMEMBERED]; /* strings and numbers, raw */
	const char *kept;         /* after the last member that stays */
	const char *gone;         /* the first one left out after that */
	const char *last;         /* after the last member */
};

/* Replaces `cut` bytes at `at` with what the rules make of `what` and `arg`; 0 for nothing. */
struct grove__xcsh_splice {
	const char *at;
	size_t cut;
	int what;
	struct grove_slice arg;
};

struct grove__xcsh_walk;

struct grove__xcsh_rules {
	/* Returns true if the member of `f` under this key is left out, whatever its value. */
	bool (*drop)(struct grove__xcsh_walk *w, const struct grove__xcsh_frame *f,
		     enum grove__xcsh_key key);
	/* Called for a string under `key` in `f` (NULL if it is the whole value). */
	int (*string)(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f,
		      enum grove__xcsh_key key, struct grove_slice raw);
	/* Called at the end of the object `f`. */
	int (*close)(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f);
	/* Appends the replacement of a splice. */
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

/* For rules: record a splice in `f` (may be NULL), or withdraw all those inside it. */
int grove__xcsh_splice(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f,
		       struct grove_slice raw, int what, struct grove_slice arg);
void grove__xcsh_keep_whole(struct grove__xcsh_walk *w, struct grove__xcsh_frame *f);
/* Returns the frame around `f`, or NULL. */
const struct grove__xcsh_frame *grove__xcsh_around(const struct grove__xcsh_walk *w,
						   const struct grove__xcsh_frame *f);

/*
 * Walks over a valid `value`, and appends it with all splices applied. Returns 0; 1 if
 * there were none (nothing appended); or the result of a rule. Unless it returns 0, `out`
 * is unchanged.
 */
int grove__xcsh_walk(const struct grove__xcsh_rules *rules, void *payload, struct grove_slice value,
		     struct grove_buf *out);

/* Returns the UTF-16 length of a raw string. */
size_t grove__xcsh_units(struct grove_slice raw);

#endif
