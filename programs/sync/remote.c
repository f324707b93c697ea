/*
 * remote.c: the sessions of a server.
 */
#include "remote.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- questions */

void remote_begin(struct remote *r)
{
	r->outage = 0;
	r->received = 0;
	r->why[0] = '\0';
}

static int failed(struct remote *r, struct http_call *c, int rc)
{
	r->received += c->received;
	r->late = !rc ? 0 : c->late ? r->late + 1 : r->late;
	if (rc) {
		r->outage = rc == GROVE_EIO && (!c->status || c->foreign || c->status == 502 || c->status == 503 ||
						c->status == 504 || r->late >= REMOTE_LATE_MAX);
		snprintf(r->why, sizeof(r->why), "%s", *c->why ? c->why : grove_strerror(rc));
	}
	http_call_release(c);
	return rc;
}

/* The server contradicts itself. */
static int __attribute__((format(printf, 3, 4))) lie(struct remote *r, struct http_call *c, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(c->why, sizeof(c->why), "%.190s %s", http_name(r->http), what);
	return GROVE_EJSON;
}

/* The limit of a session has been reached. */
static int enough(struct remote *r, struct http_call *c)
{
	if (r->received < REMOTE_BYTES_MAX)
		return 0;
	lie(r, c, "has sent more than %u GiB for one session", (unsigned)(REMOTE_BYTES_MAX >> 30));
	return GROVE_ETOOBIG;
}

static int no_sense(struct remote *r, struct http_call *c, int rc)
{
	if (rc == GROVE_EJSON && !*c->why)
		lie(r, c, "sends a response that cannot be understood");
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

struct listing {
	struct remote *r;
	remote_list_fn *fn;
	void *payload;
	uint64_t nr, refused;
};

static int list_one(void *payload, const char *id, const char *key, const char *cwd)
{
	struct listing *l = payload;

	l->nr++;
	return l->fn(l->payload, id, key, cwd);
}

static int list_page(struct listing *l, const char *cwd, char **next)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_slice away;
	struct http_call c = { 0 };
	char *last = *next;
	uint64_t before = l->nr + l->refused;
	int rc = grove_buf_add(&path, grove_str("/sessions?limit=500"));

	*next = NULL;
	rc = rc ? rc : put_query(&path, "cwd", cwd);
	rc = rc ? rc : put_query(&path, "cursor", last);
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(l->r->http, &c);
	if (!rc)
		rc = remote_parse_list(grove_buf_slice(&c.answer), list_one, l, &l->refused, next);
	l->r->partial |= !rc && grove_json_member(grove_buf_slice(&c.answer), "away", &away);
	/* each page brings some, so there is an end */
	if (!rc && l->nr + l->refused > REMOTE_SESSIONS_MAX)
		rc = lie(l->r, &c, "lists more than %u sessions", REMOTE_SESSIONS_MAX);
	if (!rc && *next && (l->nr + l->refused == before || (last && !strcmp(last, *next))))
		rc = lie(l->r, &c, "sends a list without end");
	rc = no_sense(l->r, &c, rc);
	free(last);
	grove_buf_release(&path);
	return rc;
}

int remote_list(struct remote *r, const char *cwd, remote_list_fn *fn, void *payload, uint64_t *refused)
{
	struct listing l = { .r = r, .fn = fn, .payload = payload };
	int64_t begun = http_clock();
	char *next = NULL;
	int rc;

	do {
		rc = list_page(&l, cwd, &next);
		if (!rc && next && http_clock() - begun > HTTP_LONGEST * 1000) {
			snprintf(r->why, sizeof(r->why), "%.200s is too slow: the list has not ended after an hour", http_name(r->http));
			rc = GROVE_EIO;
		}
	} while (!rc && next);
	free(next);
	*refused = l.refused;
	/* nothing can be done without it */
	r->outage |= rc == GROVE_EIO;
	return rc;
}

/* An answer of lines. */
struct fetching {
	struct remote *r;
	struct http_call *call;
	struct spool *lines;
	uint64_t after;
	int begun;
};

static int fetch_begin(struct fetching *f)
{
	struct http_call *c = f->call;

	f->begun = 1;
	if (!c->has_state)
		return lie(f->r, c, "sends lines without saying how many");
	f->lines->most = c->seq > f->after ? c->seq - f->after : 0;
	if (f->lines->most <= REMOTE_LINES_MAX)
		return 0;
	lie(f->r, c, "has a log of %llu lines; at most %u are transferred", (unsigned long long)f->lines->most, REMOTE_LINES_MAX);
	return GROVE_ETOOBIG;
}

static int fetch(void *payload, const char *ptr, size_t len)
{
	struct fetching *f = payload;
	int rc = f->begun ? 0 : fetch_begin(f);

	rc = rc ? rc : spool_add(f->lines, ptr, len, HTTP_ANSWER_MAX);
	if (rc == SPOOL_TOO_MANY)
		rc = lie(f->r, f->call, "sends more than the %llu lines that it announced", (unsigned long long)f->lines->most);
	else if (rc == GROVE_ETOOBIG && !*f->call->why)
		lie(f->r, f->call, "sends a line of more than %zu MiB", HTTP_ANSWER_MAX >> 20);
	else if (rc == GROVE_EFULL || rc == GROVE_EIO)
		snprintf(f->call->why, sizeof(f->call->why), "the answer cannot be stored meanwhile: %s", grove_strerror(rc));
	return rc;
}

int remote_lines(struct remote *r, const char *id, const char *sub, uint64_t after, struct spool *lines,
		 struct remote_state *out)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .sink = fetch, .most = REMOTE_BYTES_MAX - r->received };
	struct fetching f = { .r = r, .call = &c, .lines = lines, .after = after };
	int rc = enough(r, &c);

	c.payload = &f;
	rc = rc ? rc : put_path(&path, id, "");
	rc = rc ? rc : put_number(&path, "after", after);
	rc = rc ? rc : put_query(&path, "sub", sub && *sub ? sub : NULL);
	rc = rc ? rc : end_path(&path);
	c.path = path.ptr;
	if (!rc)
		rc = http_ask(r->http, &c);
	out->seq = c.seq;
	out->generation = c.generation;
	if (!rc && !f.begun)
		rc = fetch_begin(&f);
	if (!rc && (lines->part || lines->lines != lines->most))
		rc = lie(r, &c, "sends less than the %llu lines that it announced", (unsigned long long)lines->most);
	if (!rc)
		rc = spool_rewind(lines);
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
	rc = rc ? rc : p->modified > 0 ? put_number(&path, "modified", (uint64_t)p->modified) : 0;
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
	return grove_buf_add(payload, (struct grove_slice){ ptr, len });
}

int remote_file_get(struct remote *r, const char *id, const char *name, struct grove_buf *out)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct http_call c = { .sink = add_bytes, .payload = out };
	int rc = enough(r, &c);

	rc = rc ? rc : file_path(&path, id, name);

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
