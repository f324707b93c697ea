/*
 * change.c: routes that modify an existing session.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "within.h"
#include "metrics.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A session that is being written to. */
struct change {
	struct request *r;
	struct held *h;
	struct grove_session *s;
};

/* Locks out all other writers. Everything but an append does this. */
static int begin(struct request *r, struct change *c)
{
	int rc = hold(r, 0, &c->h);

	c->r = r;
	c->s = NULL;
	if (rc)
		return rc;
	pthread_mutex_lock(&c->h->write_lock);
	rc = hold_writer(r, c->h, &c->s);
	if (rc)
		pthread_mutex_unlock(&c->h->write_lock);
	return rc;
}

static void end(struct change *c)
{
	if (c->s) {
		hold_writer_end(c->r, c->h);
		pthread_mutex_unlock(&c->h->write_lock);
	}
	hold_release(c->r, c->h);
}

static int failed(struct change *c, int rc)
{
	return rc < 0 ? reply_fail_session(c->r, c->s, rc) : rc;
}

/*
 * Writes the state after the change, as members, the way the next reader of the session
 * will see it. Handles of a file count generations independently, so the writer's count is
 * used only if the session has moved away from its readers.
 */
static int put_state(struct change *c, struct doc *d)
{
	struct grove_view *v;
	int rc = hold_view(c->r, c->h, &v);

	if (rc) {
		rc = grove_session_refresh(c->s);
		rc = rc < 0 ? rc : grove_session_view(c->s, &v);
	}
	if (rc)
		return failed(c, rc);
	doc_member_number(d, "rev", grove_view_rev(v));
	doc_member_number(d, "generation", grove_view_generation(v));
	grove_view_unref(v);
	return 0;
}

/* ------------------------------------------------------------------- append */

/* Splits the body, one entry or an array of them, into slices. */
static int split_body(struct request *r, struct grove_slice **out, size_t *nr)
{
	struct grove_slice all, item;
	const char *place = NULL;
	size_t room = 0;
	int rc = body_value(r, &all);

	*out = NULL;
	*nr = 0;
	if (rc)
		return rc;
	if (*all.ptr == '{') {
		*out = malloc(sizeof(**out));
		if (!*out)
			return GROVE_ENOMEM;
		(*out)[(*nr)++] = all;
		return 0;
	}
	if (*all.ptr != '[')
		return reply_fail(r, GROVE_EJSON, "the body must be an entry or an array of entries");
	while (grove_json_next(all, &place, NULL, &item)) {
		if (*nr == room) {
			struct grove_slice *more = realloc(*out, (room = room ? 2 * room : 16) * sizeof(*more));

			if (!more)
				return GROVE_ENOMEM;
			*out = more;
		}
		(*out)[(*nr)++] = item;
	}
	return *nr ? 0 : reply_fail(r, GROVE_EINVAL, "the array is empty");
}

static int append_options(struct request *r, struct grove_append_options *o)
{
	static const char *const syncs[] = { "none", "flush", "always", NULL };
	int sync = GROVE_SYNC_FLUSH, rc = query_choice(r, "sync", syncs, &sync);

	o->sync = (enum grove_sync)sync;
	o->parent = query_text(r, "parent");
	if (query_text(r, "expectedSeq"))
		o->flags |= GROVE_APPEND_IF_SEQ;
	return rc ? rc : query_number(r, "expectedSeq", &o->seq);
}

static void put_appended(struct doc *d, const struct grove_append_result *a, const char *const *ids, size_t nr)
{
	doc_open(d, '{');
	doc_name(d, "ids");
	doc_open(d, '[');
	for (size_t i = 0; i < nr; i++)
		doc_string(d, ids[i]);
	doc_close(d, ']');
	doc_member(d, "id", a->id);
	doc_member_number(d, "seq", a->seq);
	doc_member_number(d, "rev", a->rev);
	doc_close(d, '}');
}

static int append(struct request *r, struct grove_session *s, const struct grove_slice *entry, size_t nr,
		  const struct grove_append_options *o)
{
	struct grove_append_result a = { .size = sizeof(a), .why = &r->detail };
	const char **ids = calloc(nr, sizeof(*ids));
	int64_t begun = now_us();
	int rc;

	if (!ids)
		return GROVE_ENOMEM;
	a.ids = ids;
	rc = grove_session_append_many(s, entry, nr, o, &a);
	if (!rc) {
		metrics_append(r->server->metrics, nr, now_us() - begun);
		put_appended(&r->out, &a, ids, nr);
	} else if (nr > 1 && a.failed < nr) {
		doc_member_number(&r->out, "failed", a.failed);
		r->error_members = 1;
	}
	grove_buf_release(&a.lines);
	free(ids);
	return rc;
}

int post_entries(struct request *r)
{
	struct grove_append_options o = { .size = sizeof(o) };
	struct grove_slice *entry = NULL;
	struct grove_session *s = NULL;
	struct held *h = NULL;
	size_t nr = 0;
	int rc = append_options(r, &o);

	if (!rc)
		rc = split_body(r, &entry, &nr);
	if (!rc)
		rc = hold(r, 0, &h);
	if (!rc)
		rc = within_appended(r, h, entry, nr);
	if (!rc)
		rc = hold_writer(r, h, &s);
	if (!rc) {
		rc = append(r, s, entry, nr, &o);
		hold_writer_end(r, h);
		r->status = rc ? r->status : 201;
	}
	hold_release(r, h);
	free(entry);
	return rc;
}

int patch_entry(struct request *r)
{
	struct grove_slice object, value = { NULL, 0 };
	struct change c = { 0 };
	char *pointer = NULL, *json = NULL;
	int rc = body_object(r, &object);

	if (!rc)
		rc = body_text(r, object, "pointer", &pointer);
	if (!rc && (!pointer || !grove_json_member(object, "value", &value)))
		rc = reply_fail(r, GROVE_EINVAL, "pointer and value are required");
	if (!rc) {
		json = strndup(value.ptr, value.len);
		rc = json ? begin(r, &c) : GROVE_ENOMEM;
	}
	if (!rc)
		rc = within_updated(r, c.h, r->capture[1], pointer, json);
	if (!rc)
		rc = failed(&c, grove_session_update(c.s, r->capture[1], pointer, json));
	if (!rc) {
		doc_open(&r->out, '{');
		doc_member(&r->out, "entryId", r->capture[1]);
		rc = put_state(&c, &r->out);
		doc_close(&r->out, '}');
	}
	end(&c);
	free(pointer);
	free(json);
	return rc;
}

/* --------------------------------------------------------------------- leaf */

/* Includes the newest entries, so that a client that lost a race sees what came before it. */
static void put_newest(struct doc *d, const struct grove_view *v)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t nr = grove_view_count(v), from = nr > 5 ? nr - 5 : 0;

	doc_name(d, "entries");
	doc_open(d, '[');
	for (uint32_t i = from; i < nr; i++) {
		grove_view_entry(v, i, &e);
		doc_open(d, '{');
		doc_member(d, "id", e.id);
		doc_member_number(d, "seq", e.line);
		doc_member(d, "kind", grove_kind_name(e.kind));
		doc_member(d, "role", e.role == GROVE_ROLE_NONE ? NULL : grove_role_name(e.role));
		doc_member_time(d, "time", e.time);
		doc_close(d, '}');
	}
	doc_close(d, ']');
}

/* Reads what the client expects; the library compares it atomically with the write. */
static int read_expected(struct request *r, struct grove_slice object, struct grove_leaf_options *o)
{
	int given, rc = body_number(r, object, "expectedRev", &o->rev, &given);

	if (!rc && given)
		o->flags |= GROVE_LEAF_IF_REV;
	return rc;
}

/* The session is not in the state that the client saw. Reports its current state with the error. */
static int overtaken(struct change *c)
{
	struct request *r = c->r;
	struct grove_view *v;
	int rc = grove_session_refresh(c->s);

	rc = rc < 0 ? rc : grove_session_view(c->s, &v);
	if (rc)
		return failed(c, rc);
	doc_release(&r->out);
	doc_member_number(&r->out, "rev", grove_view_rev(v));
	put_newest(&r->out, v);
	grove_view_unref(v);
	r->error_members = 1;
	return reply_fail(r, GROVE_ECONFLICT, "the session has changed since");
}

/* Reports the result of moving the leaf. */
static int moved_or_not(struct change *c, const struct grove_leaf_options *o, int rc)
{
	if (rc == GROVE_ECONFLICT && o->flags & GROVE_LEAF_IF_REV)
		return overtaken(c);
	return failed(c, rc);
}

static void put_moved(struct request *r, struct change *c, const struct grove_leaf_result *m)
{
	doc_member(&r->out, "leafEntryId", m->leaf);
	if (m->summary_id)
		doc_member(&r->out, "summaryId", m->summary_id);
	put_state(c, &r->out);
}

int put_leaf(struct request *r)
{
	struct grove_branch_summary summary = { .size = sizeof(summary) };
	struct grove_leaf_options o = { .size = sizeof(o), .flags = GROVE_LEAF_PERSIST };
	struct grove_leaf_result moved = { .size = sizeof(moved) };
	struct grove_slice object, value;
	struct change c = { 0 };
	char *id = NULL, *text = NULL;
	int rc = body_object(r, &object);

	if (!rc && !grove_json_member(object, "entryId", &value))
		rc = reply_fail(r, GROVE_EINVAL, "entryId is missing");
	if (!rc)
		rc = body_text(r, object, "entryId", &id);
	if (!rc)
		rc = body_text(r, object, "summary", &text);
	if (!rc)
		rc = read_expected(r, object, &o);
	if (!rc)
		rc = begin(r, &c);
	if (!rc) {
		summary.summary = text;
		o.summary = text && *text ? &summary : NULL;
		rc = moved_or_not(&c, &o, grove_session_set_leaf(c.s, id ? id : GROVE_ROOT, &o, &moved));
	}
	if (rc >= 0) {
		doc_open(&r->out, '{');
		put_moved(r, &c, &moved);
		doc_close(&r->out, '}');
	}
	grove_buf_release(&moved.content);
	end(&c);
	free(id);
	free(text);
	return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------------------- continue */

static const char *const outcomes[] = { "append", "switch", "replay" };

/*
 * Tries the change on a read-only handle to see what would happen. A leaf that is not
 * persisted exists only in that handle.
 */
static int rehearse(struct request *r, struct held *h, const char *id, struct grove_leaf_result *out,
		    struct grove_session **s)
{
	struct grove_leaf_options o = { .size = sizeof(o) };
	struct grove *g = h->own ? h->own : r->g;
	int rc = grove_session_open(g, h->what, GROVE_OPEN_READ, s);

	if (!rc)
		rc = grove_session_continue(*s, id, &o, out);
	return rc < 0 ? reply_fail_session(r, *s, rc) : 0;
}

/* Counts the entries that would no longer be on the active path. */
static uint64_t left_behind(const struct grove_view *v, const char *leaf_after)
{
	struct grove_rows path = { 0 };
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t leaf = GROVE_NO_ENTRY;
	uint64_t nr = 0;

	if (leaf_after && grove_view_find(v, leaf_after, &leaf))
		return 0;
	if (!grove_view_ancestors(v, grove_view_leaf(v), &path))
		for (size_t i = path.nr; i-- && path.at[i] != leaf;)
			nr += !grove_view_entry(v, path.at[i], &e) && !(e.flags & GROVE_ENTRY_LEAF_MARK);
	grove_rows_release(&path);
	return nr;
}

/* Finds the first process that may write and so could get in the way. */
static int on_opener(void *payload, const struct grove_opener *o)
{
	struct in_use *by = payload;

	if (!o->writing)
		return 0;
	by->pid = o->pid;
	snprintf(by->agent, sizeof(by->agent), "%s", o->agent ? o->agent : o->program);
	return 1;
}

/* If the system cannot tell, we assume that nobody has it open. */
void look_for_opener(struct request *r, struct held *h, struct in_use *by)
{
	memset(by, 0, sizeof(*by));
	grove_opener_each(h->own ? h->own : r->g, h->what, on_opener, by);
}

int refuse_live(struct request *r, struct held *h)
{
	struct in_use by;

	look_for_opener(r, h, &by);
	if (!by.pid)
		return 0;
	r->live = 1;
	return reply_fail(r, GROVE_ECONFLICT, "%s is using the session (process %lld)", by.agent, (long long)by.pid);
}

/* Returns 409 LIVE while an agent has the session open, unless the client insists. */
static int check_live(struct change *c, struct grove_slice object)
{
	int force = 0, rc = body_flag(c->r, object, "force", &force);

	return rc || force ? rc : refuse_live(c->r, c->h);
}

void put_opener(struct doc *d, const struct in_use *by)
{
	if (!by->pid) {
		doc_member_json(d, "openBy", grove_str("null"));
		return;
	}
	doc_name(d, "openBy");
	doc_open(d, '{');
	doc_member(d, "agent", by->agent);
	doc_member_number(d, "pid", (uint64_t)by->pid);
	doc_close(d, '}');
}

static int on_tokens(void *payload, const struct grove_context_about *a)
{
	struct doc *d = payload;

	doc_member_number(d, "contextTokens", a->used);
	doc_member(d, "model", a->model);
	return d->rc;
}

/* How large the context would be from there, and for which model. */
static int put_context_there(struct doc *d, const struct grove_view *v, const char *leaf)
{
	struct grove_context_options o = { .size = sizeof(o), .leaf = leaf ? leaf : GROVE_ROOT,
					   .flags = GROVE_CONTEXT_PARTS };
	struct grove_context_reader to = { .size = sizeof(to), .payload = d, .about = on_tokens };

	return grove_view_messages(v, &o, &to);
}

static int put_rehearsal(struct request *r, struct held *h, const char *id)
{
	struct grove_leaf_result m = { .size = sizeof(m) };
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct in_use by;
	int rc = hold_view(r, h, &v);

	if (!rc)
		rc = rehearse(r, h, id, &m, &s);
	if (!rc) {
		doc_open(&r->out, '{');
		doc_member(&r->out, "outcome", outcomes[m.outcome]);
		doc_member(&r->out, "leafAfter", m.leaf);
		doc_member_number(&r->out, "leavesBehind", left_behind(v, m.leaf));
		if (m.content.len)
			doc_member_json(&r->out, "content", grove_buf_slice(&m.content));
		rc = put_context_there(&r->out, v, m.leaf);
		if (rc)
			reply_fail_view(r, v, rc);
		put_view_state(&r->out, v);
		look_for_opener(r, h, &by);
		put_opener(&r->out, &by);
		doc_close(&r->out, '}');
	}
	grove_buf_release(&m.content);
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

static int do_continue(struct request *r, struct grove_slice object, const char *id)
{
	struct grove_leaf_options o = { .size = sizeof(o), .flags = GROVE_LEAF_PERSIST };
	struct grove_leaf_result m = { .size = sizeof(m) };
	struct change c = { 0 };
	int rc = read_expected(r, object, &o);

	if (!rc)
		rc = begin(r, &c);
	if (!rc)
		rc = check_live(&c, object);
	if (!rc)
		rc = moved_or_not(&c, &o, grove_session_continue(c.s, id, &o, &m));
	if (rc >= 0) {
		doc_open(&r->out, '{');
		doc_member(&r->out, "outcome", outcomes[m.outcome]);
		if (m.content.len)
			doc_member_json(&r->out, "content", grove_buf_slice(&m.content));
		put_moved(r, &c, &m);
		doc_close(&r->out, '}');
	}
	grove_buf_release(&m.content);
	end(&c);
	return rc < 0 ? rc : 0;
}

int post_continue(struct request *r)
{
	struct grove_slice object;
	struct held *h = NULL;
	char *id = NULL;
	int dry = 0, rc = query_flag(r, "dryRun", &dry);

	if (!rc)
		rc = body_object(r, &object);
	if (!rc)
		rc = body_text(r, object, "entryId", &id);
	if (!rc && !id)
		rc = reply_fail(r, GROVE_EINVAL, "entryId is missing");
	if (!rc && !dry)
		rc = do_continue(r, object, id);
	else if (!rc)
		rc = hold(r, 0, &h);
	if (!rc && dry)
		rc = put_rehearsal(r, h, id);
	hold_release(r, h);
	free(id);
	return rc;
}

/* ------------------------------------------------------------ labels, names */

int put_label(struct request *r)
{
	struct grove_append_result a = { .size = sizeof(a) };
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_FLUSH };
	struct grove_slice object, value;
	struct change c = { 0 };
	char *text = NULL;
	int rc = body_object(r, &object);

	if (!rc && !grove_json_member(object, "text", &value))
		rc = reply_fail(r, GROVE_EINVAL, "text is missing; null clears the label");
	if (!rc)
		rc = body_text(r, object, "text", &text);
	if (!rc)
		rc = begin(r, &c);
	if (!rc)
		rc = failed(&c, grove_session_append_label(c.s, r->capture[1], text, &o, &a));
	if (!rc) {
		doc_open(&r->out, '{');
		doc_member(&r->out, "entryId", r->capture[1]);
		doc_member(&r->out, "id", a.id);
		rc = put_state(&c, &r->out);
		doc_close(&r->out, '}');
	}
	grove_buf_release(&a.lines);
	end(&c);
	free(text);
	return rc;
}

/* Applies the changes one after the other, and stops at the first that fails. */
static int apply(struct change *c, struct grove_slice object, const char *name, const char *cwd, const char *owner)
{
	struct grove_slice value;
	int rc = 0;

	if (name)
		rc = failed(c, grove_session_set_name(c->s, name, GROVE_NAME_BY_USER, NULL));
	if (rc >= 0 && grove_json_member(object, "agentId", &value))
		rc = failed(c, grove_session_value_put(c->s, "agentId", grove_str(owner ? owner : "")));
	if (rc >= 0 && grove_json_member(object, "metadata", &value))
		rc = failed(c, grove_session_value_put(c->s, "metadata", value));
	if (rc >= 0 && cwd)
		rc = failed(c, grove_session_move(c->s, cwd));
	return rc < 0 ? rc : 0;
}

int patch_session(struct request *r)
{
	struct grove_slice object;
	struct change c = { 0 };
	char *name = NULL, *cwd = NULL, *owner = NULL;
	const char *path;
	int rc = body_object(r, &object);

	if (!rc)
		rc = body_text(r, object, "name", &name);
	if (!rc)
		rc = body_text(r, object, "cwd", &cwd);
	if (!rc)
		rc = body_text(r, object, "agentId", &owner);
	if (!rc && cwd && *cwd != '/')
		rc = reply_fail(r, GROVE_EINVAL, "cwd must be an absolute path");
	/*
	 * The library would remove the name where the agent can; over HTTP a blank name is
	 * a mistake.
	 */
	if (!rc && name && !name[strspn(name, " \t\r\n")])
		rc = reply_fail(r, GROVE_EINVAL, "the name is empty");
	if (!rc)
		rc = begin(r, &c);
	if (!rc && cwd && !auth_allows(&r->who, c.h->store, cwd))
		rc = reply_fail(r, GROVE_EACCESS, "this token does not give access to that directory");
	if (!rc)
		rc = apply(&c, object, name, cwd, owner);
	if (!rc) {
		path = grove_session_path(c.s);
		doc_open(&r->out, '{');
		doc_member(&r->out, "id", c.h->id);
		doc_member(&r->out, "key", c.h->key);
		doc_member(&r->out, "path", path);
		doc_member(&r->out, "cwd", grove_session_cwd(c.s));
		rc = put_state(&c, &r->out);
		doc_close(&r->out, '}');
	}
	if (cwd && c.s) {
		struct held *h = c.h;

		/* the session has moved */
		hold_writer_end(r, h);
		pthread_mutex_unlock(&h->write_lock);
		c.s = NULL;
		hold_drop(r, h);
	}
	end(&c);
	free(name);
	free(cwd);
	free(owner);
	return rc;
}
