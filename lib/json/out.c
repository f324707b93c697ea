/*
 * json/out.c: a document on its way to a sink.
 */
#include "json/out.h"

#include "json/write.h"

#define PIECE ((size_t)1 << 16)

void grove__out_init(struct grove__out *o, struct grove_sink sink)
{
	memset(o, 0, sizeof(*o));
	o->sink = sink;
}

static void flush(struct grove__out *o)
{
	if (!o->rc && o->buf.len)
		o->rc = o->sink.write(o->sink.payload, o->buf.ptr, o->buf.len);
	grove__buf_clear(&o->buf);
}

static void wrote(struct grove__out *o, int rc)
{
	if (rc && !o->rc)
		o->rc = rc;
	if (o->buf.len >= PIECE)
		flush(o);
}

void grove__out_str(struct grove__out *o, const char *text)
{
	if (!o->rc)
		wrote(o, grove__buf_add_str(&o->buf, text));
}

void grove__out_raw(struct grove__out *o, struct grove_slice json)
{
	if (!o->rc)
		wrote(o, grove__json_put_raw(&o->buf, json));
}

void grove__out_bytes(struct grove__out *o, const char *ptr, size_t len)
{
	if (o->rc)
		return;
	if (len < PIECE / 2) {
		wrote(o, grove__buf_add(&o->buf, ptr, len));
		return;
	}
	/* worth sending as it is */
	flush(o);
	if (!o->rc)
		o->rc = o->sink.write(o->sink.payload, ptr, len);
}

void grove__out_expect(struct grove__out *o, size_t len)
{
	/* where there is no memory the buffer says so itself when it is full */
	if (o->sink.write == grove_buf_sink(NULL).write)
		(void)grove__buf_room(o->sink.payload, len);
}

void grove__out_string(struct grove__out *o, const char *text)
{
	if (!o->rc)
		wrote(o, text ? grove__json_put_str(&o->buf, text)
			      : grove__buf_add_str(&o->buf, "null"));
}

int grove__out_finish(struct grove__out *o)
{
	flush(o);
	grove__buf_release(&o->buf);
	return o->rc;
}
