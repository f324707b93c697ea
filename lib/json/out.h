/*
 * json/out.h: a document on its way to a sink, in pieces worth sending.
 *
 * Errors stick: after the first one nothing more is written, and the last call
 * tells.
 */
#ifndef GROVE_JSON_OUT_H
#define GROVE_JSON_OUT_H

#include "base/buf.h"
#include "grove/words.h"

struct grove__out {
	struct grove_sink sink;
	struct grove_buf buf;
	int rc;
};

void grove__out_init(struct grove__out *o, struct grove_sink sink);
void grove__out_str(struct grove__out *o, const char *text);
/* A valid JSON value, as UTF-8. */
void grove__out_raw(struct grove__out *o, struct grove_slice json);
/* Bytes that need no second look: part of a document that was made by such calls. */
void grove__out_bytes(struct grove__out *o, const char *ptr, size_t len);
/*
 * So many bytes will come, more or less. A buffer that is to take them gets its
 * room at once, and does not have to move while it grows.
 */
void grove__out_expect(struct grove__out *o, size_t len);
/* Text as a JSON string; NULL: null. */
void grove__out_string(struct grove__out *o, const char *text);
/* Send what is left and release the memory; the first error, or 0. */
int grove__out_finish(struct grove__out *o);

#endif
