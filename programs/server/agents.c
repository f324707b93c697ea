/*
 * agents.c: GET /sessions/{id}/agents: the sub-agents of a session.
 *
 * No agent records the outcome of its sub-agents, so we infer it from their transcripts.
 * One that ends with a reply without tool calls is done. Any other was stopped, unless a
 * process still has the session open and may be working on it.
 */
#include "handlers.h"
#include "held.h"
#include "reply.h"

struct listing {
	struct request *r;
	struct grove *g;
	int open;    /* a process has the session open */
};

static int is_call(void *payload, const struct grove_piece *piece)
{
	(void)payload;
	return piece->kind == GROVE_PIECE_TOOL_CALL;
}

static int is_done(const struct grove_view *v)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t leaf = grove_view_leaf(v);

	return leaf != GROVE_NO_ENTRY && !grove_view_entry(v, leaf, &e) && e.role == GROVE_ROLE_ASSISTANT &&
	       !grove_view_piece_each(v, leaf, is_call, NULL);
}

/* Both members are null if the transcript is missing or unreadable. */
static void put_progress(const struct listing *l, const char *path)
{
	struct doc *d = &l->r->out;
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;

	if (path && !grove_session_open(l->g, path, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v)) {
		doc_member_number(d, "entries", grove_view_count(v));
		doc_member(d, "status", is_done(v) ? "done" : l->open ? "running" : "stopped");
	} else {
		doc_member_json(d, "entries", grove_str("null"));
		doc_member(d, "status", NULL);
	}
	grove_view_unref(v);
	grove_session_close(s);
}

static int put_agent(void *payload, const struct grove_subagent *a)
{
	struct listing *l = payload;
	struct doc *d = &l->r->out;

	doc_open(d, '{');
	doc_member(d, "agentId", a->id);
	if (a->description)
		doc_member_title(d, "name", a->description);
	else
		doc_member(d, "name", a->type);
	doc_member(d, "type", a->type);
	doc_member(d, "group", a->group && *a->group ? a->group : NULL);
	doc_member(d, "toolUseId", a->tool_use_id);
	doc_member(d, "parentId", a->parent_id);
	doc_member_bool(d, "transcript", a->path != NULL);
	put_progress(l, a->path);
	doc_close(d, '}');
	return d->rc;
}

static int put_agents(struct request *r, struct held *h)
{
	struct listing l = { .r = r, .g = h->own ? h->own : r->g };
	struct in_use by;
	int rc;

	look_for_opener(r, h, &by);
	l.open = by.pid != 0;
	pthread_mutex_lock(&h->lock);
	rc = h->reader ? grove_session_subagent_each(h->reader, put_agent, &l) : GROVE_ESTALE;
	if (rc < 0 && rc != GROVE_ENOTSUP && h->reader)
		reply_fail_session(r, h->reader, rc);
	pthread_mutex_unlock(&h->lock);
	return rc == GROVE_ENOTSUP ? 0 : rc;  /* the store keeps no such records */
}

int get_agents(struct request *r)
{
	struct held *h;
	struct grove_view *v;
	int rc = hold_state(r, &h, &v);

	/* sub-agents' records are files of their own, which the ETag of the log does not cover */
	r->etag[0] = '\0';
	if (rc == 1)
		r->status = rc = 0;
	if (!rc) {
		doc_open(&r->out, '{');
		put_view_state(&r->out, v);
		doc_name(&r->out, "agents");
		doc_open(&r->out, '[');
		rc = put_agents(r, h);
		doc_puts(&r->out, "]}");
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
