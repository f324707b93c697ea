/*
 * ingress.c: lines from other machines, and ours for them.
 *
 * Lines are sent and stored byte for byte. The library recognizes lines that are already
 * there, and leaves the leaf where it was. See docs/internals/sync.md.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "within.h"
#include "metrics.h"
#include "reply.h"
#include "route.h"
#include "workers.h"

#include "kit/carry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILES_AT 5               /* /api/v1/ingress/{id}/files/… */

static int fail_carry(struct request *r, struct grove_carry *c, int rc)
{
	if (rc && c)
		grove_carry_error(c, &r->detail);
	return rc;
}

static void state_headers(struct request *r, uint64_t seq, uint64_t generation)
{
	reply_header(r, "Grove-Seq", "%llu", (unsigned long long)seq);
	reply_header(r, "Grove-Generation", "%llu", (unsigned long long)generation);
}

/* Opens a handle for this request alone, so that a long reply does not block others. */
static int open_reader(struct request *r, struct held *h, struct grove_carry **out)
{
	struct grove_carry_options o = { .size = sizeof(o) };

	int rc = grove_carry_open(h->own ? h->own : r->g, h->what, &o, out);

	return fail_carry(r, *out, rc);
}

/* A session without a line yet counts as absent. */
static int hold_begun(struct request *r, struct held **h)
{
	int rc = hold(r, HOLD_ALONE, h);

	if (rc == GROVE_EDAMAGED && carry_is_empty(r->g, r->capture[0]))
		return reply_fail(r, GROVE_ENOTFOUND, "there is no such session");
	return rc;
}

/* -------------------------------------------------------------------- lines */

int get_ingress(struct request *r)
{
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_carry *c = NULL;
	struct held *h = NULL;
	uint64_t after = 0;
	const char *sub = query_text(r, "sub");
	int rc = query_number(r, "after", &after);

	if (!rc)
		rc = hold_begun(r, &h);
	if (!rc)
		rc = open_reader(r, h, &c);
	if (!rc)
		rc = fail_carry(r, c, grove_carry_state(c, sub, &st));
	if (!rc) {
		state_headers(r, st.seq, st.generation);
		r->type = "application/x-ndjson";
		if (after < st.seq)
			rc = fail_carry(r, c, grove_carry_read(c, sub, after, st.seq, reply_sink(r), &st));
	}
	grove_carry_close(c);
	hold_release(r, h);
	return rc;
}

struct put {
	struct grove_carry_append_options o;
	uint64_t modified;               /* ms; 0: now */
	struct grove_slice *line;
	size_t nr;
	struct grove_buf differing;      /* ids, each followed by a NUL */
	unsigned nr_differing;
};

static int note_differing(void *payload, const char *id)
{
	struct put *p = payload;

	if (p->nr_differing++ >= DIFFERING_MAX)
		return 0;
	return grove_buf_add(&p->differing, (struct grove_slice){ id, strlen(id) + 1 });
}

/* Splits the body into lines; the last need not end with LF. */
static int split_lines(struct request *r, struct put *p)
{
	const char *at = r->body.ptr, *end = at + r->body.len;
	size_t room = 1;

	for (const char *q = at; q && q < end && (q = memchr(q, '\n', (size_t)(end - q))); q++)
		room++;
	p->line = calloc(room, sizeof(*p->line));
	if (!p->line)
		return GROVE_ENOMEM;
	while (at < end) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		const char *stop = lf ? lf : end;

		p->line[p->nr++] = (struct grove_slice){ at, (size_t)(stop - at) };
		at = stop + 1;
	}
	return 0;
}

static int read_put(struct request *r, struct put *p)
{
	static const char *const syncs[] = { "none", "flush", "always", NULL };
	static const char *const leaves[] = { "keep", "follow", NULL };
	int sync = GROVE_SYNC_FLUSH, leaf = 0, rc = query_choice(r, "sync", syncs, &sync);

	p->o.size = sizeof(p->o);
	if (!rc)
		rc = query_choice(r, "leaf", leaves, &leaf);
	if (!rc)
		rc = query_number(r, "expectedSeq", &p->o.seq);
	if (!rc)
		rc = query_number(r, "modified", &p->modified);
	if (rc)
		return rc;
	p->o.sync = (enum grove_sync)sync;
	p->o.flags = (query_text(r, "expectedSeq") ? GROVE_CARRY_IF_SEQ : 0u) | (leaf ? GROVE_CARRY_FOLLOW : 0u);
	p->o.sub = query_text(r, "sub");
	p->o.differs = note_differing;
	p->o.payload = p;
	return split_lines(r, p);
}

static void put_result(struct request *r, const struct put *p, const struct grove_carry_result *a)
{
	const char *id = p->differing.ptr;

	state_headers(r, a->seq, a->generation);
	doc_open(&r->out, '{');
	doc_member_number(&r->out, "stored", a->stored);
	doc_member_number(&r->out, "skipped", a->skipped);
	doc_member_number(&r->out, "seq", a->seq);
	doc_member_number(&r->out, "generation", a->generation);
	doc_member_bool(&r->out, "created", a->created);
	doc_member_bool(&r->out, "branched", a->branched);
	doc_member(&r->out, "leafEntryId", a->leaf);
	doc_member_number(&r->out, "differing", a->differing);
	doc_name(&r->out, "differingIds");
	doc_open(&r->out, '[');
	for (; id && id < p->differing.ptr + p->differing.len; id += strlen(id) + 1)
		doc_string(&r->out, id);
	doc_close(&r->out, ']');
	doc_close(&r->out, '}');
}

/* What is carried is not newer than where it comes from. That it stays new is no failure. */
static void keep_time(struct grove_carry *c, const struct put *p, int64_t before)
{
	uint64_t now = (uint64_t)time(NULL) * 1000, at = p->modified < now ? p->modified : now;

	grove_carry_set_modified(c, p->o.sub, (int64_t)at > before ? (int64_t)at : before);
}

static int append(struct request *r, struct grove_carry *c, const struct put *p)
{
	struct grove_carry_result a = { .size = sizeof(a) };
	struct grove_carry_state was = { .size = sizeof(was) };
	int64_t begun = now_us();
	int rc;

	/* it may not exist yet */
	if (p->modified)
		grove_carry_state(c, p->o.sub, &was);
	rc = fail_carry(r, c, grove_carry_append(c, p->line, p->nr, &p->o, &a));
	if (!rc && p->modified && a.stored)
		keep_time(c, p, was.modified);

	if (rc)
		return rc;
	metrics_append(r->server->metrics, a.stored, now_us() - begun);
	put_result(r, p, &a);
	r->status = a.created ? 201 : 200;
	return 0;
}

/* ------------------------------------------------- sessions that are not there */

/*
 * Chooses where a new session goes. A limited token must name a directory within its
 * limits, and cannot take an id that somebody else's session has.
 */
static int open_new(struct request *r, const struct put *p, struct grove **own, struct grove_carry **out)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_CREATE };
	const char *store;
	int rc = id_is_taken(r, r->capture[0]);

	if (rc > 0)
		rc = reply_fail(r, GROVE_EACCESS, "this token does not give access to that session");
	o.id = r->capture[0];
	o.dialect = query_text(r, "dialect");
	o.cwd = query_text(r, "cwd");
	o.file = query_text(r, "file");
	if (!rc)
		rc = choose_store(r, query_text(r, "store"), o.cwd ? o.cwd : "", &store);
	if (!rc && p)
		rc = within_carried(r, NULL, &o, p->line, p->nr);
	if (!rc && store) {
		rc = pool_open_grove(r->server, store, own);
		if (rc)
			grove_error(*own, &r->detail);
	}
	if (!rc) {
		rc = grove_carry_open(*own ? *own : r->g, NULL, &o, out);
		fail_carry(r, *out, rc);
	}
	return rc;
}

static int append_new(struct request *r, const struct put *p)
{
	struct grove_carry *c = NULL;
	struct grove *own = NULL;
	int rc = p->o.sub && *p->o.sub ? reply_fail(r, GROVE_ENOTFOUND, "there is no such session") : open_new(r, p, &own, &c);

	if (!rc)
		rc = append(r, c, p);
	grove_carry_close(c);
	grove_close(own);
	return rc;
}

/* All clients that send to a session share a handle, which knows the existing lines. */
static int with_writer(struct request *r, struct held *h,
		       int (*run)(struct request *r, struct held *h, struct grove_carry *c, const void *p),
		       const void *p)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_WRITE };
	int rc = 0;

	/* handles are not closed while a write is in progress */
	pthread_mutex_lock(&h->lock);
	h->writes++;
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_lock(&h->write_lock);
	if (!h->carry) {
		rc = grove_carry_open(h->own ? h->own : r->g, h->what, &o, &h->carry);
		fail_carry(r, h->carry, rc);
	}
	if (!rc)
		rc = run(r, h, h->carry, p);
	if (rc) {
		grove_carry_close(h->carry);
		h->carry = NULL;
	}
	pthread_mutex_unlock(&h->write_lock);
	hold_writer_end(r, h);
	return rc;
}

/* The logs of its sub-agents do not say where a session is. */
static int append_held(struct request *r, struct held *h, struct grove_carry *c, const void *payload)
{
	const struct put *p = payload;
	int rc = p->o.sub && *p->o.sub ? 0 : within_carried(r, h, NULL, p->line, p->nr);

	return rc ? rc : append(r, c, p);
}

/* Treats a session that this client may not see as absent. */
static int hold_or_none(struct request *r, struct held **h)
{
	int rc = hold_begun(r, h);

	if (rc != GROVE_ENOTFOUND)
		return rc;
	memset(&r->detail, 0, sizeof(r->detail));
	return 0;
}

int put_ingress(struct request *r)
{
	struct put p = { .nr = 0 };
	struct held *h = NULL;
	int rc = read_put(r, &p);

	if (!rc)
		rc = hold_or_none(r, &h);
	if (!rc)
		rc = h ? with_writer(r, h, append_held, &p) : append_new(r, &p);
	hold_release(r, h);
	grove_buf_release(&p.differing);
	free(p.line);
	return rc;
}

/* -------------------------------------------------------------------- files */

struct listing {
	struct request *r;
	struct grove_carry *c;
	int logs;                        /* which kind is listed in this pass */
};

static int put_part(void *payload, const struct grove_carry_part *p)
{
	struct listing *l = payload;
	struct grove_carry_state st = { .size = sizeof(st) };
	struct doc *d = &l->r->out;
	int rc = 0;

	if (p->is_log != l->logs)
		return 0;
	if (p->is_log) {
		rc = grove_carry_state(l->c, p->name, &st);
		/* empty, or not a readable log: skip it */
		if (rc)
			return rc == GROVE_ENOMEM ? rc : 0;
	}
	doc_open(d, '{');
	doc_member(d, p->is_log ? "sub" : "name", p->name);
	if (p->is_log) {
		doc_member_number(d, "seq", st.seq);
		doc_member_number(d, "generation", st.generation);
		doc_member_number(d, "modified", (uint64_t)st.modified);
	} else {
		doc_member_number(d, "size", p->size);
	}
	doc_close(d, '}');
	return 0;
}

static int put_parts(struct request *r, struct grove_carry *c, const char *name, int logs)
{
	struct listing l = { r, c, logs };
	int rc;

	doc_name(&r->out, name);
	doc_open(&r->out, '[');
	rc = grove_carry_each(c, put_part, &l);
	doc_close(&r->out, ']');
	return fail_carry(r, c, rc);
}

int get_ingress_files(struct request *r)
{
	struct grove_carry_about a = { .size = sizeof(a) };
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_carry *c = NULL;
	struct held *h = NULL;
	int rc = hold_begun(r, &h);

	if (!rc)
		rc = open_reader(r, h, &c);
	if (!rc)
		rc = fail_carry(r, c, grove_carry_state(c, NULL, &st));
	if (!rc)
		rc = fail_carry(r, c, grove_carry_about(c, &a));
	if (!rc) {
		state_headers(r, st.seq, st.generation);
		doc_open(&r->out, '{');
		doc_member(&r->out, "id", a.id);
		doc_member(&r->out, "key", h->key);
		doc_member(&r->out, "dialect", a.dialect);
		doc_member(&r->out, "agent", a.agent);
		doc_member(&r->out, "cwd", a.cwd);
		doc_member(&r->out, "file", a.file);
		doc_member(&r->out, "leafEntryId", a.leaf);
		doc_member_bool(&r->out, "old", a.old);
		doc_member_number(&r->out, "seq", st.seq);
		doc_member_number(&r->out, "generation", st.generation);
		doc_member_number(&r->out, "modified", (uint64_t)st.modified);
		rc = put_parts(r, c, "logs", 1);
		if (!rc)
			rc = put_parts(r, c, "files", 0);
		doc_close(&r->out, '}');
	}
	grove_carry_close(c);
	hold_release(r, h);
	return rc;
}

/* The name may span several segments of the path. */
static int file_name(struct request *r, struct grove_buf *out)
{
	int rc = 0;

	for (unsigned i = FILES_AT; i < r->target.nr_segments && !rc; i++) {
		if (i > FILES_AT)
			rc = grove_buf_add(out, grove_str("/"));
		if (!rc)
			rc = grove_buf_add(out, grove_str(r->target.segment[i]));
	}
	return rc ? rc : grove_buf_add(out, (struct grove_slice){ "", 1 });
}

static int give_file(struct request *r, const struct grove_buf *bytes, int only_size)
{
	struct grove_sink sink;

	if (bytes->len > INGRESS_MAX)
		return reply_fail(r, GROVE_ETOOBIG, "the file has more than %u bytes", INGRESS_MAX);
	if (only_size) {
		doc_open(&r->out, '{');
		doc_member_number(&r->out, "size", bytes->len);
		doc_close(&r->out, '}');
		return 0;
	}
	r->type = "application/octet-stream";
	sink = reply_sink(r);
	return bytes->len ? sink.write(sink.payload, bytes->ptr, bytes->len) : 0;
}

/* Looks for a word in bytes that arrive in pieces. */
struct needle {
	const char *word;
	size_t len;
	char seen[2 * 128];       /* the end of what came, and room for the start of the next piece */
	size_t nr;
	int found;
};

static int needle_write(void *payload, const char *ptr, size_t len)
{
	struct needle *n = payload;
	size_t head = len < n->len ? len : n->len, keep;

	memcpy(n->seen + n->nr, ptr, head);
	n->nr += head;
	n->found |= memmem(n->seen, n->nr, n->word, n->len) != NULL || memmem(ptr, len, n->word, n->len) != NULL;
	if (len > n->len) {
		memcpy(n->seen, ptr + len - n->len, n->len);
		n->nr = n->len;
	}
	keep = n->nr < n->len - 1 ? n->nr : n->len - 1;
	memmove(n->seen, n->seen + n->nr - keep, keep);
	n->nr = keep;
	return n->found;
}

struct search_part {
	struct grove_carry *c;
	struct needle *needle;
	const char *name;
};

static int search_part(void *payload, const struct grove_carry_part *p)
{
	struct search_part *s = payload;

	s->needle->nr = 0;
	if (p->is_log)
		grove_carry_read(s->c, p->name, 0, 0, (struct grove_sink){ needle_write, s->needle }, NULL);
	else
		s->needle->found |= !strcmp(p->name, s->name);
	return s->needle->found;
}

/*
 * All sessions share the agent's blobs. A limited token gets those that the session has
 * among its files, or that a line of one of its logs names.
 */
static int may_have(struct request *r, struct grove_carry *c, const char *name)
{
	char word[128];
	struct needle n = { .word = word };
	struct search_part parts = { c, &n, name };

	if (!auth_limited(&r->who) || strncmp(name, "blobs/", 6))
		return 0;
	n.len = (size_t)snprintf(word, sizeof(word), "blob:sha256:%.64s", name + 6);
	grove_carry_read(c, NULL, 0, 0, (struct grove_sink){ needle_write, &n }, NULL);
	if (!n.found)
		grove_carry_each(c, search_part, &parts);
	return n.found ? 0 : reply_fail(r, GROVE_ENOTFOUND, "no line of this session names this blob");
}

int get_ingress_file(struct request *r)
{
	struct grove_buf name = GROVE_BUF_INIT, bytes = GROVE_BUF_INIT;
	struct grove_carry *c = NULL;
	struct held *h = NULL;
	int only_size = 0, rc = query_flag(r, "stat", &only_size);

	if (!rc)
		rc = hold_begun(r, &h);
	if (!rc)
		rc = open_reader(r, h, &c);
	if (!rc)
		rc = file_name(r, &name);
	if (!rc)
		rc = may_have(r, c, name.ptr);
	if (!rc)
		rc = fail_carry(r, c, grove_carry_file_get(c, name.ptr, &bytes));
	if (!rc)
		rc = give_file(r, &bytes, only_size);
	grove_buf_release(&name);
	grove_buf_release(&bytes);
	grove_carry_close(c);
	hold_release(r, h);
	return rc;
}

static int put_bytes(struct request *r, struct held *h, struct grove_carry *c, const void *name)
{
	int rc = fail_carry(r, c, grove_carry_file_put(c, name, grove_buf_slice(&r->body)));

	(void)h;
	if (rc)
		return rc;
	doc_open(&r->out, '{');
	doc_member(&r->out, "name", name);
	doc_member_number(&r->out, "size", r->body.len);
	doc_close(&r->out, '}');
	return 0;
}

/* A blob may arrive before the lines that refer to it, and before their session exists. */
int put_ingress_file(struct request *r)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove_carry *c = NULL;
	struct grove *own = NULL;
	struct held *h = NULL;
	int rc = hold_or_none(r, &h);

	if (!rc)
		rc = file_name(r, &name);
	if (!rc && h) {
		rc = with_writer(r, h, put_bytes, name.ptr);
	} else if (!rc) {
		rc = strncmp(name.ptr, "blobs/", 6) || !query_text(r, "dialect")
			     ? reply_fail(r, GROVE_ENOTFOUND, "there is no such session")
			     : open_new(r, NULL, &own, &c);
		if (!rc)
			rc = put_bytes(r, NULL, c, name.ptr);
	}
	grove_carry_close(c);
	grove_close(own);
	grove_buf_release(&name);
	hold_release(r, h);
	return rc;
}
