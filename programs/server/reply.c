/*
 * reply.c: the reply to a request.
 */
#include "recent.h"
#include "reply.h"
#include "workers.h"
#include "stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CSP_DATA "default-src 'none'; frame-ancestors 'none'"

/* ------------------------------------------------------------------- errors */

unsigned reply_status(int code)
{
	switch (code) {
	case GROVE_EINVAL:
		return 400;
	case GROVE_EACCESS:
		return 403;
	case GROVE_ENOTFOUND:
		return 404;
	case GROVE_EEXIST:
	case GROVE_ECONFLICT:
	case GROVE_ESTALE:
	case GROVE_EAMBIGUOUS:
		return 409;
	case GROVE_ETOOBIG:
		return 413;
	case GROVE_EJSON:
	case GROVE_EDAMAGED:
	case GROVE_ENOTSUP:
		return 422;
	case GROVE_EFULL:
		return 507;
	case GROVE_ECANCELLED:
	case GROVE_EAWAY:
		return 503;
	default:
		return 500;
	}
}

void reply_error(struct request *r, int code, unsigned status)
{
	const struct grove_detail *why = &r->detail;
	struct doc extra = r->out;  /* members that the handler added to the error, if any */

	memset(&r->out, 0, sizeof(r->out));
	r->status = status ? status : reply_status(code);
	r->type = "application/json";
	r->csp = r->cache = NULL;
	r->etag[0] = '\0';
	doc_puts(&r->out, "{\"error\":{");
	doc_member(&r->out, "code", r->live ? "LIVE" : grove_error_name(code));
	doc_member(&r->out, "message", *why->message ? why->message : grove_strerror(code));
	if (why->has_place && code == GROVE_EJSON)
		doc_member_number(&r->out, "offset", why->offset);
	doc_puts(&r->out, "}");
	if (r->error_members && !extra.rc && extra.buf.len) {
		doc_puts(&r->out, ",");
		doc_add(&r->out, grove_buf_slice(&extra.buf));
	}
	doc_puts(&r->out, "}");
	doc_release(&extra);
}

static int __attribute__((format(printf, 3, 0)))
fail(struct request *r, int code, const char *fmt, va_list ap)
{
	memset(&r->detail, 0, sizeof(r->detail));
	r->detail.code = code;
	vsnprintf(r->detail.message, sizeof(r->detail.message), fmt, ap);
	return code;
}

int reply_fail(struct request *r, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(r, code, fmt, ap);
	va_end(ap);
	return code;
}

int reply_fail_status(struct request *r, unsigned status, int code, const char *fmt, ...)
{
	va_list ap;

	r->status = status;
	va_start(ap, fmt);
	fail(r, code, fmt, ap);
	va_end(ap);
	return code;
}

int reply_fail_grove(struct request *r, int code)
{
	grove_error(r->g, &r->detail);
	return code;
}

int reply_fail_session(struct request *r, struct grove_session *s, int code)
{
	grove_session_error(s, &r->detail);
	return code;
}

int reply_fail_view(struct request *r, const struct grove_view *v, int code)
{
	grove_view_error(v, &r->detail);
	return code;
}

/* ------------------------------------------------------------------ headers */

void reply_header(struct request *r, const char *name, const char *fmt, ...)
{
	va_list ap;

	if (r->nr_headers == sizeof(r->header) / sizeof(r->header[0]))
		return;
	snprintf(r->header[r->nr_headers].name, sizeof(r->header[0].name), "%s", name);
	va_start(ap, fmt);
	vsnprintf(r->header[r->nr_headers++].value, sizeof(r->header[0].value), fmt, ap);
	va_end(ap);
}

static int lists_etag(const char *list, const char *etag)
{
	size_t n = strlen(etag);

	if (!strcmp(list, "*"))
		return 1;
	for (const char *p = list; (p = strstr(p, etag)); p++)
		if ((p == list || strchr(" ,/", p[-1])) && (!p[n] || strchr(" ,", p[n])))
			return 1;
	return 0;
}

int reply_has_etag(struct request *r, const char *etag)
{
	const char *known = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-None-Match");

	if (!known || !lists_etag(known, etag))
		return 0;
	snprintf(r->etag, sizeof(r->etag), "%s", etag);
	r->status = 304;
	return 1;
}

int reply_etag(struct request *r, const char *fmt, ...)
{
	char state[56], etag[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(state, sizeof(state), fmt, ap);
	va_end(ap);
	snprintf(etag, sizeof(etag), "\"%s\"", state);
	if (reply_has_etag(r, etag))
		return 1;
	memcpy(r->etag, etag, sizeof(etag));
	return 0;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	MHD_add_response_header(response, name, value);
}

static void add_headers(struct request *r, struct MHD_Response *response)
{
	if (r->status != 204 && r->status != 304)
		add_header(response, "Content-Type", r->type ? r->type : "application/json");
	add_header(response, "X-Content-Type-Options", "nosniff");
	add_header(response, "Referrer-Policy", "no-referrer");
	add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(response, "Permissions-Policy",
		   "accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), "
		   "gyroscope=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()");
	add_header(response, "Content-Security-Policy", r->csp ? r->csp : CSP_DATA);
	if (*r->etag)
		add_header(response, "ETag", r->etag);
	add_header(response, "Cache-Control", r->cache ? r->cache : *r->etag ? "no-cache" : "no-store");
	if (r->gzip)
		add_header(response, "Content-Encoding", "gzip");
	if (!r->peer->loopback)
		add_header(response, "Vary", "Accept-Encoding");
	if (r->status == 401)
		add_header(response, "WWW-Authenticate", "Bearer realm=\"grove\"");
	if (r->status == 503 || r->status == 429)
		add_header(response, "Retry-After", r->status == 429 ? "60" : "1");
	for (unsigned i = 0; i < r->nr_headers; i++)
		add_header(response, r->header[i].name, r->header[i].value);
	if (r->close)
		add_header(response, "Connection", "close");
}

/* --------------------------------------------------------------------- gzip */

/* Returns true if "gzip" is listed, unless with weight 0, which rules it out. */
static int accepts_gzip(const char *list)
{
	const char *p = strstr(list, "gzip"), *weight;

	if (!p)
		return 0;
	weight = p + 4 + strspn(p + 4, " \t");
	if (*weight != ';')
		return 1;
	weight += 1 + strspn(weight + 1, " \t");
	if (strncasecmp(weight, "q=0", 3))
		return 1;
	weight += 3 + strspn(weight + 3, ".0");
	return *weight >= '1' && *weight <= '9';
}

/* Loopback is faster than any compression, and compressed data stays as it is. */
static int wants_gzip(const struct request *r)
{
	const char *accept = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept-Encoding");
	const char *type = r->type ? r->type : "application/json";

	return !r->peer->loopback && accept && accepts_gzip(accept) &&
	       (!strncmp(type, "text/", 5) || strstr(type, "json") || strstr(type, "javascript"));
}

static void gzip_whole(struct request *r)
{
	struct grove_buf packed = GROVE_BUF_INIT;
	z_stream z = { 0 };
	char out[16384];
	int rc = 0, state;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	z.next_in = (Bytef *)r->out.buf.ptr;
	z.avail_in = (uInt)r->out.buf.len;
	do {
		z.next_out = (Bytef *)out;
		z.avail_out = sizeof(out);
		state = deflate(&z, Z_FINISH);
		rc = grove_buf_add(&packed, (struct grove_slice){ out, sizeof(out) - z.avail_out });
	} while (!rc && state == Z_OK);
	deflateEnd(&z);
	if (rc) {
		grove_buf_release(&packed);
		return;
	}
	grove_buf_release(&r->out.buf);
	r->out.buf = packed;
	r->gzip = 1;
}

/* ------------------------------------------------------------- long replies */

static int begin_stream(struct request *r)
{
	int rc;

	if (!r->worker || pool_wait_begin(r->worker))
		return reply_fail_status(r, 503, GROVE_EIO, "too many long replies are in progress");
	r->gzip = wants_gzip(r);
	rc = stream_new(r->gzip ? STREAM_GZIP : 0, &r->stream);
	if (rc)
		return rc;
	r->status = r->status ? r->status : 200;
	rc = stream_write(r->stream, grove_buf_slice(&r->out.buf));
	doc_release(&r->out);
	http_answered(r);
	return rc;
}

static int sink_write(void *payload, const char *ptr, size_t len)
{
	struct request *r = payload;
	int rc = 0;

	if (!r->stream && r->out.buf.len + len <= PAGE_BYTES) {
		doc_add(&r->out, (struct grove_slice){ ptr, len });
		return r->out.rc;
	}
	if (!r->stream)
		rc = begin_stream(r);
	return rc ? rc : stream_write(r->stream, (struct grove_slice){ ptr, len });
}

struct grove_sink reply_sink(struct request *r)
{
	return (struct grove_sink){ sink_write, r };
}

void reply_end(struct request *r, int rc)
{
	if (r->stream) {
		if (rc != REPLY_GOES_ON)
			stream_end(r->stream, rc);
		return;
	}
	if (!rc && r->out.rc)
		rc = r->out.rc;
	if (rc < 0)
		reply_error(r, rc, r->status);
	if (!r->status)
		r->status = 200;
	if (r->out.buf.len >= GZIP_LEAST && !r->packed && wants_gzip(r))
		gzip_whole(r);
}

enum MHD_Result reply_queue(struct request *r)
{
	struct MHD_Response *response;
	enum MHD_Result rc;
	int keep = recent_wants(r);

	if (r->stream)
		response = stream_response(r->stream, r->connection);
	else if (r->file >= 0)
		response = MHD_create_response_from_fd_at_offset64(r->file_size, r->file, 0);
	else
		response = MHD_create_response_from_buffer(r->out.buf.len, r->out.buf.ptr,
							   keep ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	if (r->file >= 0 && !r->stream) {
		r->sent = r->file_size;
		r->file = -1;  /* the response closes it */
	} else if (!r->stream) {
		r->sent = r->out.buf.len;
	}
	add_headers(r, response);
	rc = MHD_queue_response(r->connection, r->status, response);
	if (keep)
		recent_keep(r->server->recent, r, response);
	else
		MHD_destroy_response(response);
	return rc;
}
