/*
 * json/out.c: writing a JSON document.
 *
 * Whether a comma is needed does not depend on how deep we are: one stands
 * between a value and whatever follows it but a closing bracket.
 */
#include "json/out.h"

#include "json/write.h"

#define PIECE ((size_t)1 << 16)

void grove__out_init(struct grove__out *o, struct grove_sink sink)
{
	*o = (struct grove__out){ .to = &o->piece };
	/* a buffer does not need another one before it */
	if (sink.write == grove_buf_sink(NULL).write)
		o->to = sink.payload;
	else
		o->sink = sink;
}

void grove__out_init_buf(struct grove__out *o, struct grove_buf *to)
{
	*o = (struct grove__out){ .to = to };
}

void grove__out_fail(struct grove__out *o, int rc)
{
	if (!o->rc)
		o->rc = rc;
}

static void flush(struct grove__out *o)
{
	if (!o->rc && o->piece.len)
		o->rc = o->sink.write(o->sink.payload, o->piece.ptr, o->piece.len);
	grove__buf_clear(&o->piece);
}

int grove__out_finish(struct grove__out *o)
{
	flush(o);
	grove__buf_release(&o->piece);
	return o->rc;
}

static void wrote(struct grove__out *o, int rc)
{
	grove__out_fail(o, rc);
	if (o->piece.len >= PIECE)
		flush(o);
}

void grove__out_bytes(struct grove__out *o, const char *ptr, size_t len)
{
	if (o->rc)
		return;
	if (len < PIECE / 2 || !o->sink.write) {
		wrote(o, grove__buf_add(o->to, ptr, len));
		return;
	}
	/* large enough to be written right away */
	flush(o);
	if (!o->rc)
		o->rc = o->sink.write(o->sink.payload, ptr, len);
}

void grove__out_str(struct grove__out *o, const char *text)
{
	grove__out_bytes(o, text, strlen(text));
}

void grove__out_expect(struct grove__out *o, size_t len)
{
	/* where there is no memory the buffer says so itself when it is full */
	if (!o->sink.write)
		(void)grove__buf_room(o->to, len);
}

/* Up to where a value begins; 0 if it may be written. */
static int begin_value(struct grove__out *o, const char *key)
{
	if (o->rc)
		return o->rc;
	if (o->comma)
		o->rc = grove__buf_add_char(o->to, ',');
	o->comma = true;
	if (!key || o->rc)
		return o->rc;
	if (grove__buf_add_char(o->to, '"') || grove__buf_add_str(o->to, key) ||
	    grove__buf_add(o->to, "\":", 2))
		o->rc = GROVE_ENOMEM;
	return o->rc;
}

void grove__out_open(struct grove__out *o, const char *key, char how)
{
	if (!begin_value(o, key))
		wrote(o, grove__buf_add_char(o->to, how));
	o->comma = false;
}

void grove__out_close(struct grove__out *o, char how)
{
	grove__out_bytes(o, &how, 1);
	o->comma = true;
}

void grove__out_newline(struct grove__out *o)
{
	if (o->comma)
		grove__out_bytes(o, ",\n", 2);
	o->comma = false;
}

void grove__out_key(struct grove__out *o, const char *text)
{
	grove__out_string(o, NULL, text);
	grove__out_bytes(o, ":", 1);
	o->comma = false;
}

void grove__out_string(struct grove__out *o, const char *key, const char *text)
{
	grove__out_slice(o, key, text ? grove__slice_str(text) : grove__slice(NULL, 0));
}

void grove__out_slice(struct grove__out *o, const char *key, struct grove_slice text)
{
	if (!begin_value(o, key))
		wrote(o, text.ptr ? grove__json_put_string(o->to, text)
				  : grove__buf_add(o->to, "null", 4));
}

void grove__out_string_if(struct grove__out *o, const char *key, const char *text)
{
	if (text)
		grove__out_string(o, key, text);
}

void grove__out_raw_if(struct grove__out *o, const char *key, const char *json)
{
	if (json)
		grove__out_raw(o, key, grove__slice_str(json));
}

void grove__out_number(struct grove__out *o, const char *key, uint64_t n)
{
	if (!begin_value(o, key))
		wrote(o, grove__json_put_uint(o->to, n));
}

void grove__out_double(struct grove__out *o, const char *key, double d)
{
	if (!begin_value(o, key))
		wrote(o, grove__json_put_double(o->to, d));
}

void grove__out_bool(struct grove__out *o, const char *key, bool yes)
{
	if (!begin_value(o, key))
		wrote(o, grove__buf_add_str(o->to, yes ? "true" : "false"));
}

void grove__out_time(struct grove__out *o, const char *key, int64_t ms)
{
	if (!begin_value(o, key))
		wrote(o, grove__json_put_time(o->to, ms));
}

void grove__out_raw(struct grove__out *o, const char *key, struct grove_slice json)
{
	if (!begin_value(o, key))
		wrote(o, grove__json_put_raw(o->to, json));
}
