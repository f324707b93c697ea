/*
 * context.c: GET /sessions/{id}/context: what the model would be sent, how large each part
 * is, and why it is included.
 *
 *	{"messages":[…],"entryIds":[…],"thinkingLevel":"off","model":{…},"leaf":"e79ecd82",
 *	 "parts":[…],"window":{…},
 *	 "explain":[{"from":1,"to":412,"included":false,"reason":"before …","count":380}],
 *	 "leafReason":{"rule":"marker","entryId":"5c01d2aa"},"rev":…,"generation":…}
 *
 * The library reports message by message, and we hold only what the client has not yet
 * read. In a long conversation most entries share the reason of the entry before them, so
 * `explain` consists of runs: the `count` entries on the path to the leaf with a seq
 * between `from` and `to`. Entries of other branches may lie between them.
 */
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <string.h>

enum messages { MESSAGES_ALL, MESSAGES_NONE, MESSAGES_HEAD };

struct run {
	uint64_t from, to, count;   /* count 0 if there is no run yet */
	int included;
	const char *reason;
};

struct writer {
	const struct grove_view *v;
	struct grove_sink to;
	enum messages which;
	int explain, weighed;
	struct doc d, ids, why;
	struct run run;
	struct grove_buf preview;
};

/* ----------------------------------------------------------------- messages */

/* The beginning of a text, cut at a character boundary. */
static struct grove_slice head_of(struct grove_slice text)
{
	size_t len = text.len < HEAD_MAX ? text.len : HEAD_MAX;

	while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
		len--;
	return (struct grove_slice){ text.ptr, len };
}

/* Summarizes a message: its own text, or else the first text of its entry. */
static void put_head(struct writer *w, const struct grove_message *m)
{
	struct grove_preview p = { .size = sizeof(p) };

	w->preview.len = 0;
	if (m->entry != GROVE_NO_ENTRY)
		grove_message_preview(m, HEAD_MAX, &w->preview, &p);
	doc_open(&w->d, '{');
	doc_name(&w->d, "role");
	doc_text(&w->d, m->role);
	if (p.title.len) {
		doc_name(&w->d, "title");
		doc_text(&w->d, p.title);
	}
	doc_name(&w->d, "head");
	doc_text(&w->d, m->text.len ? head_of(m->text) : p.text);
	doc_member_number(&w->d, "bytes", m->json.len);
	if (w->weighed)
		doc_member_number(&w->d, "tokens", m->tokens);
	doc_close(&w->d, '}');
}

static int on_message(void *payload, const struct grove_message *m)
{
	struct writer *w = payload;

	if (w->which == MESSAGES_HEAD)
		put_head(w, m);
	else
		doc_json(&w->d, m->json);
	doc_string(&w->ids, m->id);
	doc_flush(&w->d, w->to);
	return w->d.rc ? w->d.rc : w->ids.rc;
}

/* ------------------------------------------------------------------ reasons */

static void put_run(struct writer *w)
{
	const struct run *run = &w->run;

	if (!run->count)
		return;
	doc_open(&w->why, '{');
	doc_member_number(&w->why, "from", run->from);
	doc_member_number(&w->why, "to", run->to);
	doc_member_bool(&w->why, "included", run->included);
	doc_member(&w->why, "reason", run->reason);
	doc_member_number(&w->why, "count", run->count);
	doc_close(&w->why, '}');
}

static int on_reason(void *payload, const struct grove_context_reason *reason)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct writer *w = payload;
	struct run *run = &w->run;
	int rc = grove_view_entry(w->v, reason->entry, &e);

	if (rc)
		return rc;
	/*
	 * An entry may have a parent that comes later in the log, so start a new run rather
	 * than go back.
	 */
	if (!run->count || e.line < run->to || run->included != reason->included ||
	    strcmp(run->reason, reason->reason) != 0) {
		put_run(w);
		*run = (struct run){ e.line, e.line, 0, reason->included, reason->reason };
	}
	run->to = e.line;
	run->count++;
	return w->why.rc;
}

/* ----------------------------------------------------------------- the rest */

static void put_parts(struct doc *d, const struct grove_context_about *a)
{
	doc_name(d, "parts");
	doc_open(d, '[');
	for (size_t i = 0; i < a->nr_parts; i++) {
		doc_open(d, '{');
		doc_member(d, "part", grove_part_name(a->parts[i].part));
		doc_member_number(d, "tokens", a->parts[i].tokens);
		doc_member_number(d, "bytes", a->parts[i].bytes);
		doc_member_number(d, "count", a->parts[i].count);
		doc_close(d, '}');
	}
	doc_close(d, ']');
	doc_name(d, "window");
	doc_open(d, '{');
	doc_member_number(d, "used", a->used);
	doc_name(d, "limit");
	if (a->window)
		doc_number(d, a->window);
	else
		doc_null(d);
	doc_member(d, "source", a->estimated ? "estimate" : "usage");
	doc_close(d, '}');
}

static void put_why(struct writer *w, const struct grove_context_about *a)
{
	struct grove_entry e;

	put_run(w);
	doc_name(&w->d, "explain");
	doc_open(&w->d, '[');
	if (w->why.buf.len)
		doc_json(&w->d, grove_buf_slice(&w->why.buf));
	doc_close(&w->d, ']');
	doc_name(&w->d, "leafReason");
	doc_open(&w->d, '{');
	doc_member(&w->d, "rule", grove_leaf_rule_name(a->leaf_rule));
	doc_member(&w->d, "entryId", entry_id(w->v, a->leaf_by, &e));
	doc_close(&w->d, '}');
}

static int on_about(void *payload, const struct grove_context_about *a)
{
	struct writer *w = payload;
	struct grove_entry e;

	if (w->which != MESSAGES_NONE) {
		doc_close(&w->d, ']');
		doc_name(&w->d, "entryIds");
		doc_open(&w->d, '[');
		if (w->ids.buf.len)
			doc_json(&w->d, grove_buf_slice(&w->ids.buf));
		doc_close(&w->d, ']');
	}
	if (a->settings.len)
		doc_json(&w->d, a->settings);
	doc_member(&w->d, "leaf", entry_id(w->v, a->leaf, &e));
	if (w->weighed)
		put_parts(&w->d, a);
	if (w->explain)
		put_why(w, a);
	put_view_state(&w->d, w->v);
	return w->d.rc ? w->d.rc : w->why.rc;
}

static int write_context(struct writer *w, const struct grove_context_options *o)
{
	struct grove_context_reader to = { .size = sizeof(to), .payload = w, .about = on_about };
	int rc;

	to.message = w->which == MESSAGES_NONE ? NULL : on_message;
	to.reason = w->explain ? on_reason : NULL;
	doc_open(&w->d, '{');
	if (to.message) {
		doc_name(&w->d, "messages");
		doc_open(&w->d, '[');
	}
	rc = grove_view_messages(w->v, o, &to);
	doc_close(&w->d, '}');
	if (!rc)
		rc = w->d.rc ? w->d.rc : w->to.write(w->to.payload, w->d.buf.ptr, w->d.buf.len);
	doc_release(&w->d);
	doc_release(&w->ids);
	doc_release(&w->why);
	grove_buf_release(&w->preview);
	return rc;
}

/* ---------------------------------------------------------------- the route */

static int read_wish(struct request *r, struct writer *w, struct grove_context_options *o)
{
	static const char *const modes[] = { "cli", "sdk", NULL }, *const which[] = { "all", "none", "head", NULL };
	int mode = -1, messages = MESSAGES_ALL, llm = 0;
	int rc = query_choice(r, "mode", modes, &mode);

	if (!rc)
		rc = query_choice(r, "messages", which, &messages);
	if (!rc)
		rc = query_flag(r, "llm", &llm);
	if (!rc)
		rc = query_flag(r, "explain", &w->explain);
	if (!rc)
		rc = query_flag(r, "parts", &w->weighed);
	w->which = (enum messages)messages;
	o->mode = mode < 0 ? NULL : modes[mode];
	o->flags = (llm ? GROVE_CONTEXT_LLM : 0) | (w->explain ? GROVE_CONTEXT_EXPLAIN : 0) |
		   (w->weighed ? GROVE_CONTEXT_PARTS : 0);
	return rc;
}

/* Finds the requested leaf, given its id or a prefix of it. */
static int read_leaf(struct request *r, const struct grove_view *v, struct grove_entry *e, const char **out)
{
	const char *id = query_text(r, "leaf");
	uint32_t at;
	int rc = 0;

	*out = NULL;
	if (!id || !*id)
		return 0;
	rc = find_entry(r, v, id, &at);
	if (!rc)
		*out = at == GROVE_NO_ENTRY ? GROVE_ROOT : entry_id(v, at, e);
	return rc;
}

int get_context(struct request *r)
{
	struct grove_context_options o = { .size = sizeof(o) };
	struct writer w = { .to = reply_sink(r) };
	struct grove_entry e;
	struct held *h = NULL;
	struct grove_view *v = NULL;
	int rc = read_wish(r, &w, &o);

	if (!rc)
		rc = hold_state(r, &h, &v);
	if (!rc)
		rc = read_leaf(r, v, &e, &o.leaf);
	if (!rc) {
		w.v = v;
		rc = write_context(&w, &o);
		if (rc < 0 && !r->detail.code)
			reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
