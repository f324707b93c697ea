/*
 * wire.h: lines in, lines out.
 *
 * Each message is a line. Reading holds one line in memory, of bounded length; writing
 * may be done by several threads, a whole line at a time.
 */
#ifndef MCP_WIRE_H
#define MCP_WIRE_H

#include <grove.h>

/* Requests are short. What is longer is skipped. */
#define WIRE_LINE_MAX (4u << 20)

enum wire_result {
	WIRE_END,
	WIRE_LINE,
	WIRE_TOO_LONG,   /* a line over the limit was skipped */
	WIRE_FAILED      /* errno says why */
};

struct wire;

struct wire *wire_new(int in, int out);  /* NULL: out of memory */
void wire_free(struct wire *w);
/* The next line that is not blank, without its end; valid until the next call. */
enum wire_result wire_read(struct wire *w, struct grove_slice *line);
/* Writes a line and its end. Does nothing after a failure. */
void wire_write(struct wire *w, struct grove_slice line);
/* The errno of a failed write, or 0. EPIPE: the reader is gone. */
int wire_broken(struct wire *w);

#endif
