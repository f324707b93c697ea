/*
 * remote.c: the sessions of a server.
 */
#include "remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_MAX 100000u

/* ---------------------------------------------------------------- questions */

static int failed(struct remote *r, struct http_call *c, int rc)
{
	if (rc) {
		r->outage = rc == GROVE_EIO && (!c->status || c->foreign || c->status == 502 || c->status == 503 ||
						c->status == 504);
		snprintf(r->why, sizeof(r->why), "%s", *c->why ? c->why : grove_strerror(rc));
	}
	http_call_release(c);
	return rc;
}

static int no_sense(struct remote *r, struct http_call *c, int rc)
{
	if (rc == GROVE_EJSON)
		snprintf(c->why, sizeof(c->why), "the server's response cannot be understood");
	return failed(r, c, rc);
}

static int put_path(struct grove_buf *b, const char *id, const char *rest)
{
	int rc = grove_buf_add(b, grove_str("/ingress/"));

	rc = rc ? rc : http_escape(b, id, "");
	return rc ? rc : grove_buf_add(b, grove_str(rest));
}

static int put_query(struct grove_buf *b, const char *name, const char *value)
{
	int rc = value ? grove_buf_add(b, grove_str(memchr(b->ptr, '?', b->len) ? "&" : "?")) : 0;

	if (!value)
		return 0;
	rc = rc ? rc : grove_buf_add(b, grove_str(name));
	rc = rc ? rc : grove_buf_add(b, grove_str("="));
	return rc ? rc : http_escape(b, value, "/");
}

static int put_number(struct grove_buf *b, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return put_query(b, name, text);
}

static int end_path(struct grove_buf *b)
{
	return grove_buf_add(b, (struct grove_slice){ "", 1 });
}

int remote_about(struct remote *r, const char *id, struct remote_session *out)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { 0 };
	int rc = put_path(&path, id, "/files");

	memset(out, 0, sizeof(*out));
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	if (!rc)
		rc = remote_parse_about(grove_buf_slice(&c.answer), out);
	grove_buf_release(&path);
	if (rc == GROVE_ENOTFOUND) {
		http_call_release(&c);
		return 0;
	}
	return no_sense(r, &c, rc);
}

int remote_list(struct remote *r, const char *cwd, remote_list_fn *fn, void *payload)
{
	char *next = NULL, *last = NULL;
	int rc = 0;

	for (unsigned page = 0; page < PAGES_MAX && !rc && (!page || next); page++) {
		struct grove_buf path = GROVE_BUF_INIT;
		struct http_call c = { 0 };

		free(last);
		last = next;
		next = NULL;
		rc = grove_buf_add(&path, grove_str("/sessions?limit=500"));
		rc = rc ? rc : put_query(&path, "cwd", cwd);
		rc = rc ? rc : put_query(&path, "cursor", last);
		rc = rc ? rc : end_path(&path);
		c.path = path.ptr;
		if (!rc)
			rc = http_ask(r->http, &c);
		if (!rc)
			rc = remote_parse_list(grove_buf_slice(&c.answer), fn, payload, &next);
		rc = no_sense(r, &c, rc);
		grove_buf_release(&path);
		/* a server that returns the same page forever */
		if (next && last && !strcmp(next, last))
			break;
	}
	free(next);
	free(last);
	return rc;
}

/* Splits pieces into lines. */
struct splitting {
	remote_line_fn *fn;
	void *payload;
	uint64_t seq;
	struct grove_buf part;
};

static int split(void *payload, const char *ptr, size_t len)
{
	struct splitting *s = payload;
	const char *end = ptr + len;
	int rc = 0;

	while (ptr < end && !rc) {
		const char *lf = memchr(ptr, '\n', (size_t)(end - ptr));
		size_t n = (size_t)((lf ? lf : end) - ptr);
		struct grove_slice line = { ptr, n };

		if (s->part.len + n > HTTP_ANSWER_MAX)
			return GROVE_ETOOBIG;
		if (!lf || s->part.len) {
			rc = grove_buf_add(&s->part, line);
			line = grove_buf_slice(&s->part);
		}
		if (!rc && lf) {
			rc = s->fn(s->payload, line, s->seq++);
			s->part.len = 0;
		}
		ptr += n + (lf ? 1 : 0);
	}
	return rc;
}

int remote_lines(struct remote *r, const char *id, const char *sub, uint64_t after, remote_line_fn *fn,
		 void *payload, struct remote_state *out)
{
	struct splitting s = { .fn = fn, .payload = payload, .seq = after };
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .sink = split, .payload = &s };
	int rc = put_path(&path, id, "");

	rc = rc ? rc : put_number(&path, "after", after);
	rc = rc ? rc : put_query(&path, "sub", sub && *sub ? sub : NULL);
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	out->seq = c.seq;
	out->generation = c.generation;
	/* exactly the number of lines that it announced */
	if (!rc && (!c.has_state || s.part.len || (s.seq != c.seq && after < c.seq)))
		rc = GROVE_EJSON;
	grove_buf_release(&s.part);
	grove_buf_release(&path);
	return no_sense(r, &c, rc);
}

int remote_put(struct remote *r, const char *id, struct remote_put *p)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .method = "PUT", .type = "application/x-ndjson", .body = p->body };
	int rc = put_path(&path, id, "");

	rc = rc ? rc : put_number(&path, "expectedSeq", p->expected);
	rc = rc ? rc : put_query(&path, "sub", p->sub && *p->sub ? p->sub : NULL);
	rc = rc ? rc : put_query(&path, "leaf", p->follow ? "follow" : NULL);
	rc = rc ? rc : put_query(&path, "dialect", p->dialect);
	rc = rc ? rc : put_query(&path, "cwd", p->cwd);
	rc = rc ? rc : put_query(&path, "file", p->file);
	rc = rc ? rc : put_query(&path, "store", p->dialect ? r->store : NULL);
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	if (!rc)
		rc = remote_parse_put(grove_buf_slice(&c.answer), p);
	grove_buf_release(&path);
	return no_sense(r, &c, rc);
}

int remote_leaf(struct remote *r, const char *id, const char *leaf)
{
	struct grove_buf path = GROVE_BUF_INIT, body = GROVE_BUF_INIT;
	struct http_call c = { .method = "PUT", .type = "application/json" };
	int rc = grove_buf_add(&path, grove_str("/sessions/"));

	rc = rc ? rc : http_escape(&path, id, "");
	rc = rc ? rc : grove_buf_add(&path, (struct grove_slice){ "/leaf", 6 });
	rc = rc ? rc : grove_buf_add(&body, grove_str("{\"entryId\":"));
	rc = rc ? rc : grove_buf_json_string(&body, grove_str(leaf));
	rc = rc ? rc : grove_buf_add(&body, grove_str("}"));
	c.path = path.ptr;
	c.body = grove_buf_slice(&body);
	if (!rc)
		rc = http_ask(r->http, &c);
	grove_buf_release(&path);
	grove_buf_release(&body);
	return failed(r, &c, rc);
}

static int file_path(struct grove_buf *path, const char *id, const char *name)
{
	int rc = put_path(path, id, "/files/");

	return rc ? rc : http_escape(path, name, "/");
}

static int add_bytes(void *payload, const char *ptr, size_t len)
{
	struct grove_buf *b = payload;

	return b->len + len > HTTP_ANSWER_MAX ? GROVE_ETOOBIG : grove_buf_add(b, (struct grove_slice){ ptr, len });
}

int remote_file_get(struct remote *r, const char *id, const char *name, struct grove_buf *out)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .sink = add_bytes, .payload = out };
	int rc = file_path(&path, id, name);

	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	grove_buf_release(&path);
	return failed(r, &c, rc);
}

int remote_file_put(struct remote *r, const char *id, const char *name, const char *dialect, const char *cwd,
		    struct grove_slice bytes)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .method = "PUT", .type = "application/octet-stream", .body = bytes };
	int rc = file_path(&path, id, name);

	rc = rc ? rc : put_query(&path, "dialect", dialect);
	rc = rc ? rc : put_query(&path, "cwd", cwd);
	rc = rc ? rc : put_query(&path, "store", dialect ? r->store : NULL);
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	grove_buf_release(&path);
	return failed(r, &c, rc);
}

int remote_file_has(struct remote *r, const char *id, const char *name)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { 0 };
	int rc = file_path(&path, id, name);

	rc = rc ? rc : put_query(&path, "stat", "1");
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	grove_buf_release(&path);
	if (rc == GROVE_ENOTFOUND) {
		http_call_release(&c);
		return 0;
	}
	rc = failed(r, &c, rc);
	return rc ? rc : 1;
}
