/*
 * json/out.h: writing a JSON document, to a buffer or in pieces to a sink.
 *
 *	grove__out_open(&o, NULL, '{');
 *	grove__out_string(&o, "id", id);
 *	grove__out_open(&o, "rows", '[');
 *	for (…)
 *		grove__out_number(&o, NULL, n[i]);
 *	grove__out_close(&o, ']');
 *	grove__out_close(&o, '}');
 *	rc = grove__out_finish(&o);
 *
 * Commas come by themselves. Every value has a key, or NULL where it is an
 * element of an array or the document; a key is a name that needs no escapes.
 * Errors stick: after the first one nothing more is written, and the last call
 * returns it.
 */
#ifndef GROVE_JSON_OUT_H
#define GROVE_JSON_OUT_H

#include "base/buf.h"
#include "grove/words.h"

struct grove__out {
	struct grove_sink sink;          /* without a function: all goes to `to` */
	struct grove_buf *to, piece;
	int rc;
	bool comma;                      /* a value is before us */
};

void grove__out_init(struct grove__out *o, struct grove_sink sink);
/* After the bytes that `to` has. */
void grove__out_init_buf(struct grove__out *o, struct grove_buf *to);
/* Send what is left and release the memory; the first error, or 0. */
int grove__out_finish(struct grove__out *o);
/* Something else went wrong: from here on nothing is written, and rc is returned. 0 changes nothing. */
void grove__out_fail(struct grove__out *o, int rc);

/* `how` is '{' or '['; then '}' or ']'. */
void grove__out_open(struct grove__out *o, const char *key, char how);
void grove__out_close(struct grove__out *o, char how);
/* NULL: null. */
void grove__out_string(struct grove__out *o, const char *key, const char *text);
void grove__out_slice(struct grove__out *o, const char *key, struct grove_slice text);
/* A text, or a valid JSON value; nothing for NULL. */
void grove__out_string_if(struct grove__out *o, const char *key, const char *text);
void grove__out_raw_if(struct grove__out *o, const char *key, const char *json);
void grove__out_number(struct grove__out *o, const char *key, uint64_t n);
/* null for what is not finite */
void grove__out_double(struct grove__out *o, const char *key, double d);
void grove__out_bool(struct grove__out *o, const char *key, bool yes);
/* As JavaScript's toISOString; null for GROVE_NO_TIME and outside its range. */
void grove__out_time(struct grove__out *o, const char *key, int64_t ms);
/* A valid JSON value, as UTF-8. */
void grove__out_raw(struct grove__out *o, const char *key, struct grove_slice json);
/* A key that is some text. Its value follows, with NULL as key. */
void grove__out_key(struct grove__out *o, const char *text);
/* Begins a new line before the next item, after the comma if there is one. */
void grove__out_newline(struct grove__out *o);

/* Bytes that need no second look: part of a document that was made by such calls. */
void grove__out_bytes(struct grove__out *o, const char *ptr, size_t len);
void grove__out_str(struct grove__out *o, const char *text);
/*
 * So many bytes will come, more or less. A buffer that is to take them gets its
 * room at once, and does not have to move while it grows.
 */
void grove__out_expect(struct grove__out *o, size_t len);

#endif
