/*
 * dialect/xcsh.h: what the files of the xcsh dialect share.
 */
#ifndef GROVE_DIALECT_XCSH_H
#define GROVE_DIALECT_XCSH_H

#include "dialect/dialect.h"

/* Is there anything at this path? Asked by rules that depend on it. */
typedef bool grove__exists_fn(void *payload, const char *path);

/* Where its sessions, blobs and history are: ~/.xcsh/agent, what the environment says, or the XDG place. */
int grove__xcsh_data_dir(const struct grove__env *env, grove__exists_fn *exists, void *payload,
			 struct grove_buf *out);
int grove__xcsh_blobs_dir(const struct grove__env *env, grove__exists_fn *exists, void *payload,
			  struct grove_buf *out);
/* The file of its prompt history; `agent` is "xcsh" or "omp". */
int grove__xcsh_history_path(const struct grove__env *env, const char *agent,
			     grove__exists_fn *exists, void *payload, struct grove_buf *out);

/* --- xcsh_prepare.c, xcsh_restore.c: lines and blobs --- */

/* How a reference begins; 64 lower-case hex digits follow. */
#define GROVE__XCSH_BLOB "blob:sha256:"

/* Keep bytes as a blob and append the text of its reference to `ref`. */
struct grove__blob_sink {
	int (*put)(void *payload, struct grove_slice bytes, struct grove_buf *ref);
	void *payload;
};

/*
 * A line as it is stored: blobs out, over-long strings cut, what must not be
 * kept removed. `line` is as JSON.stringify spells it, and so is the result.
 * `put` is called before any line that names the blob exists; without a sink
 * images stay where they are.
 *
 * Returns 0; 1 if the line needs no change (nothing in `out`); GROVE_ENOMEM, or
 * what `put` answered (nothing in `out`).
 */
int grove__xcsh_prepare(struct grove_slice line, const struct grove__blob_sink *sink,
			struct grove_buf *out);

/* Append a blob's bytes. GROVE_ENOTFOUND and the like: the reference is kept. */
struct grove__blob_source {
	int (*get)(void *payload, struct grove_slice ref, struct grove_buf *bytes);
	void *payload;
};

/*
 * A message or an entry as readers see it: references resolved wherever they
 * stand, stale replay metadata left out. What is no reference to its last digit
 * is left alone, and `get` never sees it; without a source all are.
 *
 * Returns 0; 1 if it is to be seen as it is (nothing in `out`); GROVE_ENOMEM.
 */
int grove__xcsh_restore(struct grove_slice value, bool is_message,
			const struct grove__blob_source *source, struct grove_buf *out);

/* --- xcsh_llm.c: what a model is told --- */

/*
 * The messages of a context as plain LLM messages. `fn` gets each, and the
 * number of the message it came from (the first, if several were merged;
 * SIZE_MAX: it was made up). Most are handed on in their own bytes, whatever
 * these are. `now` is for the time of made-up ones.
 *
 * Returns 0, GROVE_ENOMEM, or what fn answered.
 */
int grove__xcsh_llm(const struct grove_slice *messages, size_t nr, int64_t now,
		    int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

#endif
