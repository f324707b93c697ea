/*
 * dialect/claude_session.c: Claude Code's transcripts as sessions.
 *
 * There is no header: a session's id is its file name, and each record has the
 * directory it was written in. Records are entries, and boundaries are children of what
 * they summarize; metadata lines are outside the tree.
 */
#include "dialect/claude_session.h"
#include "dialect/claude_write.h"

#include "base/needle.h"
#include "dialect/bill.h"
#include "dialect/claude_keep.h"
#include "dialect/heads.h"
#include "dialect/pi.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* --- lines --- */

static void set_kind(const struct grove__claude_row *row, struct grove__entry *e)
{
	switch (row->class) {
	case CLAUDE_USER:
		e->kind = GROVE_KIND_MESSAGE;
		e->role = row->flags & CLAUDE_TOOL_RESULT ? GROVE_ROLE_TOOL_RESULT : GROVE_ROLE_USER;
		break;
	case CLAUDE_ASSISTANT:
		e->kind = GROVE_KIND_MESSAGE;
		e->role = GROVE_ROLE_ASSISTANT;
		break;
	case CLAUDE_ATTACHMENT:
		/* what a person said is a message, wherever the program stores it */
		e->kind = row->flags & CLAUDE_QUEUED ? GROVE_KIND_MESSAGE : GROVE_KIND_ATTACHMENT;
		e->role = row->flags & CLAUDE_QUEUED ? GROVE_ROLE_USER : GROVE_ROLE_NONE;
		break;
	case CLAUDE_SYSTEM:
		e->kind = row->flags & CLAUDE_BOUNDARY ? GROVE_KIND_COMPACTION : GROVE_KIND_SYSTEM;
		break;
	case CLAUDE_PROGRESS:
		e->kind = GROVE_KIND_PROGRESS;
		break;
	default:
		e->kind = GROVE_KIND_META;
		e->aside = true;
	}
}

static enum grove__line_class claude_index(const struct grove__json_line *l, const char *line,
					   struct grove__arena *tmp, struct grove__entry *e)
{
	struct grove__claude_row *row = grove__arena_alloc(tmp, sizeof(*row), _Alignof(struct grove__claude_row));

	memset(e, 0, sizeof(*e));
	e->time = GROVE_NO_TIME;
	e->parent_is = PARENT_ABSENT;
	e->kind = GROVE_KIND_META;
	e->aside = true;
	e->more = row;
	/* out of memory: chain_add() will report that */
	if (!row)
		return LINE_ENTRY;
	grove__claude_row(l, line, tmp, row);
	if (l->type != JSON_OBJECT)
		return LINE_SKIP;
	e->aside = false;
	set_kind(row, e);
	/* what was typed meanwhile is in the attachment */
	e->hollow = e->kind == GROVE_KIND_MESSAGE && row->class != CLAUDE_ATTACHMENT &&
		    !grove__pi_has_message(l, line, CLAUDE_M_MESSAGE);
	e->says_leaf = row->class == CLAUDE_LAST_PROMPT;
	e->time = row->time;
	e->has_id = row->uuid.len > 0;
	e->id = row->uuid;
	if (!e->aside) {
		e->parent_is = (uint8_t)row->parent_is;
		e->parent = row->parent;
	}
	/* in the tree, a boundary continues from what it summarizes */
	if (row->flags & CLAUDE_BOUNDARY && row->parent_is != PARENT_NAMED && row->logical.len) {
		e->parent_is = PARENT_NAMED;
		e->parent = row->logical;
	}
	if (row->class == CLAUDE_CUSTOM_TITLE || row->class == CLAUDE_AI_TITLE) {
		struct grove_slice title;

		e->weak = row->class == CLAUDE_AI_TITLE;
		title = grove__json_span_of(l, line, e->weak ? CLAUDE_M_AI_TITLE : CLAUDE_M_CUSTOM_TITLE);
		e->text = grove__pi_text(tmp, title);
		/* an empty text takes a title away, anything else says nothing */
		e->names = grove__json_type_of(title) == JSON_STRING;
	} else if (row->class == CLAUDE_RELOCATED) {
		e->cwd = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_RELOCATED));
		e->moves = true;
	} else if (grove__claude_is_chain(row->class)) {
		e->cwd = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_CWD));
	}
	return LINE_ENTRY;
}

/* --- listing --- */

static void *list_new(uint64_t seed)
{
	struct grove__claude_summary *s = malloc(sizeof(*s));

	if (s)
		grove__claude_summary_init(s, seed);
	return s;
}

static void list_free(void *more)
{
	if (!more)
		return;
	grove__claude_summary_release(more);
	free(more);
}

static enum grove__line_class list_index(const struct grove__json_line *l, const char *line,
					 struct grove__arena *tmp, struct grove__entry *e)
{
	struct grove__claude_row *row = grove__arena_alloc(tmp, sizeof(*row),
							   _Alignof(struct grove__claude_row));

	memset(e, 0, sizeof(*e));
	e->more = row;
	if (l->type != JSON_OBJECT)
		return LINE_SKIP;
	if (row)
		grove__claude_row_brief(l, line, tmp, row);
	return LINE_ENTRY;
}

static int list_line(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__summary *sum)
{
	struct grove__claude_summary *s = sum->more;
	int rc = e->more ? grove__claude_summary_add(s, l, line, e->more, tmp) : GROVE_ENOMEM;

	sum->has_first = s->has_first;
	return rc;
}

/* Returns 1 if it was continued in a session that still exists. */
static int went_on(const struct grove__claude_summary *s,
		   int (*beside)(void *payload, const char *name, struct grove_buf *out), void *payload)
{
	struct grove_buf name = GROVE_BUF_INIT;
	int rc;

	/* the text comes from the file: it may not be an id, but a path */
	if (!grove__claude_session_id_ok(grove__buf_slice(&s->continued_in)))
		return 0;
	rc = grove__buf_addf(&name, "../%s.jsonl", s->continued_in.ptr);
	rc = rc ? 0 : !beside(payload, name.ptr, NULL);
	grove__buf_release(&name);
	return rc;
}

static int list_end(void *more, struct grove__arena *keep,
		    int (*beside)(void *payload, const char *name, struct grove_buf *out),
		    void *payload, struct grove__header *h, struct grove__summary *sum)
{
	struct grove__claude_summary *s = more;
	struct grove_slice name = grove__claude_summary_name(s), first, cwd;
	struct grove_buf file = GROVE_BUF_INIT, title = GROVE_BUF_INIT;
	/* the program skips sessions without messages when it continues the newest one */
	bool hidden = !s->messages || s->side || went_on(s, beside, payload);
	int rc;

	/* a title file takes precedence over the program's own title */
	if (!s->custom_title.len && !beside(payload, "custom-title.json", &file) &&
	    !grove__claude_title_file(grove__buf_slice(&file), &title) && title.len)
		name = grove__buf_slice(&title);
	first = grove__claude_summary_first(s);
	cwd = grove__claude_summary_cwd(s);
	rc = grove__buf_add_slice(&sum->name, name);
	rc = rc ? rc : grove__buf_add_slice(&sum->first, first);
	sum->has_first = first.len > 0;
	sum->messages = s->messages;
	sum->newest = s->newest;
	h->usable = true;
	h->time = s->created;
	h->cwd = cwd.len ? grove__arena_dup(keep, cwd) : NULL;
	if (cwd.len && !h->cwd)
		rc = GROVE_ENOMEM;
	h->parent = s->forked_from.len ? grove__arena_dup(keep, grove__buf_slice(&s->forked_from)) : NULL;
	if (s->forked_from.len && !h->parent)
		rc = GROVE_ENOMEM;
	grove__buf_release(&file);
	grove__buf_release(&title);
	return rc ? rc : hidden;
}

/* --- the conversation --- */

struct grove__chain {
	struct grove__claude_rows rows;
	bool borrowed;                   /* everything but the names belongs to another chain */
};

static void chain_free(struct grove__chain *c)
{
	if (!c)
		return;
	if (c->borrowed)
		free(c->rows.names);
	else
		grove__claude_rows_release(&c->rows);
	free(c);
}

static struct grove__chain *chain_new(uint64_t seed, const struct grove__chain_ice *ice)
{
	struct grove__chain *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	grove__claude_rows_init(&c->rows, seed);
	if (ice && (grove__claude_thaw(&c->rows, ice->bytes, ice->len, ice->at) || c->rows.nr != ice->nr)) {
		chain_free(c);
		return NULL;
	}
	return c;
}

static int chain_add(struct grove__chain *c, const struct grove__entry *e, const char *id)
{
	return e->more ? grove__claude_rows_add(&c->rows, e->more, id) : GROVE_ENOMEM;
}

static void chain_announce(struct grove__chain *c, const struct grove__entry *e, uint64_t times)
{
	if (!e)
		grove__idmap_expect(&c->rows.map, c->rows.map.used * times);
	else if (e->more)
		grove__claude_rows_hint(&c->rows, e->more);
}

static int chain_freeze(const struct grove__chain *c, uint64_t at, uint64_t *end, grove__ice_fn *fn,
			void *payload)
{
	return grove__claude_freeze(&c->rows, at, end, fn, payload);
}

/* Copies the chain up to a row. Which row a name refers to has to be found again. */
static struct grove__chain *copy_until(const struct grove__chain *c, uint32_t nr)
{
	const struct grove__claude_rows *r = &c->rows;
	struct grove__chain *copy = malloc(sizeof(*copy));
	struct grove__claude_name *names = malloc((r->nr_names ? r->nr_names : 1) * sizeof(*names));

	if (!copy || !names) {
		free(copy);
		free(names);
		return NULL;
	}
	copy->rows = *r;
	copy->borrowed = true;
	copy->rows.names = names;
	copy->rows.nr = nr;
	for (size_t i = 0; i < r->nr_names; i++)
		names[i] = (struct grove__claude_name){ r->names[i].text, CLAUDE_NONE, CLAUDE_NONE };
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id = r->rows[i].id;

		if (id == CLAUDE_NONE)
			continue;
		names[id].row = i;
		if (names[id].first == CLAUDE_NONE)
			names[id].first = i;
	}
	while (copy->rows.nr_kept && r->kept[copy->rows.nr_kept - 1].row >= nr)
		copy->rows.nr_kept--;
	return copy;
}

static enum grove__chain_place place_of(uint8_t reason)
{
	if (reason >= CLAUDE_SENT && reason <= CLAUDE_SENT_BRIDGED)
		return CHAIN_SENT;
	return reason == CLAUDE_SILENT || reason == CLAUDE_HIDDEN ? CHAIN_PASSED : CHAIN_OFF;
}

/*
 * Returns true if it begins with a boundary that says it has no parent, and no boundary
 * keeps messages.
 */
static bool is_closed(const struct grove__claude_rows *r)
{
	if (!r->nr || !(r->rows[0].flags & CLAUDE_BOUNDARY) || r->rows[0].parent_is == PARENT_NAMED)
		return false;
	for (size_t i = 0; i < r->nr_kept; i++)
		if (r->kept[i].messages || r->kept[i].segment)
			return false;
	return true;
}

static int walk(const struct grove__chain *c, const struct grove__chain_ask *ask, struct grove__chain_walk *out)
{
	struct grove__claude_options opt = { .apply_snips = ask->snips, .full_history = ask->full,
					     .prompts = ask->prompts, .llm = ask->llm };
	struct grove__claude_conversation conv = { 0 };
	enum grove__claude_mode mode = CLAUDE_MODE_CLI;
	int rc;

	if (ask->mode && !strcmp(ask->mode, "sdk"))
		mode = CLAUDE_MODE_SDK;
	else if (ask->mode && strcmp(ask->mode, "cli"))
		return GROVE_EINVAL;
	if (ask->own_file) {
		opt.answered = mode == CLAUDE_MODE_SDK;
		opt.prompts |= opt.answered;
		mode = CLAUDE_MODE_AGENT;
	}
	if (ask->leaf)
		opt.leaf = grove__slice_str(strcmp(ask->leaf, GROVE_ROOT) ? ask->leaf : "");
	rc = grove__claude_chain(&c->rows, mode, &opt, &conv);
	if (rc) {
		grove__claude_conversation_release(&conv);
		return rc;
	}
	*out = (struct grove__chain_walk){ conv.rows, conv.nr, conv.leaf, conv.reasons,
					   conv.nr_reasons, conv.recorded, conv.named };
	out->closed = conv.nr_reasons && place_of(conv.reasons[0]) != CHAIN_OFF && is_closed(&c->rows);
	return 0;
}

static int chain_walk(const struct grove__chain *c, uint32_t nr, const struct grove__chain_ask *ask,
		      struct grove__chain_walk *out)
{
	struct grove__chain *then;
	int rc;

	if (c->rows.nr == nr)
		return walk(c, ask, out);
	/* the log has grown since the caller looked at it */
	then = copy_until(c, nr);
	rc = then ? walk(then, ask, out) : GROVE_ENOMEM;
	chain_free(then);
	return rc;
}

static const char *chain_reason(uint8_t reason, enum grove__chain_place *place)
{
	*place = place_of(reason);
	return reason == CLAUDE_NOT_ASKED ? NULL : grove__claude_reason_text(reason);
}

static int chain_may_end(const struct grove__chain *c, uint32_t row, bool own_file, const char **why)
{
	return grove__claude_may_end(&c->rows, own_file ? CLAUDE_MODE_AGENT : CLAUDE_MODE_CLI, row, why);
}

static bool is_boundary(struct grove_slice line)
{
	struct grove_buf copy = GROVE_BUF_INIT;
	struct grove__json_want want;
	struct grove__json_line l;
	bool yes;

	/* the scanner needs padding after the bytes */
	if (grove__buf_add_slice(&copy, line) || grove__buf_reserve(&copy, GROVE__JSON_PAD)) {
		grove__buf_release(&copy);
		return false;
	}
	grove__json_want_init(&want, grove__claude_members, CLAUDE_MEMBERS);
	yes = grove__json_scan(&want, copy.ptr, copy.len, true, &l) == JSON_VALUE && l.type == JSON_OBJECT &&
	      grove__json_string_is(grove__json_span_of(&l, copy.ptr, CLAUDE_M_TYPE), "system") &&
	      grove__json_string_is(grove__json_span_of(&l, copy.ptr, CLAUDE_M_SUBTYPE),
				    "compact_boundary") &&
	      !grove__json_truthy(grove__json_span_of(&l, copy.ptr, CLAUDE_M_SIDECHAIN));
	grove__buf_release(&copy);
	return yes;
}

static const char *chain_boundary(const char *bytes, size_t len)
{
	const char *end = bytes + len, *p = end;
	struct grove__needle mark;

	grove__needle_init(&mark, grove__slice_str("\"compact_boundary\""));
	while (p > bytes) {
		const char *hit = NULL, *q = bytes, *start, *stop;

		while (q < p && (q = grove__needle_find(&mark, q, p)))
			hit = q++;
		if (!hit)
			return NULL;
		start = memrchr(bytes, '\n', (size_t)(hit - bytes));
		stop = memchr(hit, '\n', (size_t)(end - hit));
		if (start && stop && is_boundary(grove__slice(start + 1, (size_t)(stop - start - 1))))
			return start + 1;
		p = hit;
	}
	return NULL;
}

/* Gets the id (raw) of the first result in a message's content. */
static int first_result(void *payload, struct grove_slice type, struct grove_slice id,
			struct grove_slice block)
{
	(void)block;
	if (!grove__json_string_is(type, "tool_result"))
		return 0;
	*(struct grove_slice *)payload = id;
	return 1;
}

static int chain_call(const struct grove__chain *c, struct grove_slice json, struct grove_slice *id)
{
	const struct grove__claude_rows *r = &c->rows;
	struct grove_slice m = grove__json_get(json, "message"), raw = { NULL, 0 };
	struct grove_buf text = GROVE_BUF_INIT;
	uint32_t name;
	int rc;

	if (grove__json_type_of(m) != JSON_OBJECT)
		m = json;
	if (!grove__claude_blocks(grove__json_get(m, "content"), first_result, &raw) ||
	    grove__json_type_of(raw) != JSON_STRING)
		return 1;
	rc = grove__json_text(&text, raw);
	name = rc ? CLAUDE_NONE : grove__idmap_get(&r->map, grove__buf_slice(&text));
	grove__buf_release(&text);
	if (rc || name == GROVE__IDMAP_NONE)
		return rc ? rc : 1;
	/* usually a few records back */
	for (uint32_t row = (uint32_t)r->nr; row-- > 0;) {
		const struct grove__claude_packed *p = &r->rows[row];

		if (p->class != CLAUDE_ASSISTANT || !(p->flags & CLAUDE_TOOL_USE))
			continue;
		for (uint32_t i = 0; i < p->nr_tools; i++)
			if (r->pool[p->tools + i] == name) {
				*id = grove__claude_rows_uuid(r, row);
				return id->len ? 0 : 1;
			}
	}
	return 1;
}

static bool is_gone(const struct grove__claude_rows *r, uint32_t name)
{
	return name == CLAUDE_NONE || r->names[name].row == CLAUDE_NONE;
}

static int by_row(const void *key, const void *kept)
{
	uint32_t row = *(const uint32_t *)key, at = ((const struct grove__claude_kept *)kept)->row;

	return row < at ? -1 : row > at;
}

/* Finds out whether a boundary keeps a record that does not exist. */
static bool is_lacking(const struct grove__claude_rows *r, uint32_t row)
{
	const struct grove__claude_kept *k = bsearch(&row, r->kept, r->nr_kept, sizeof(*r->kept), by_row);

	if (!k)
		return false;
	for (uint32_t n = 0; k->messages && n < k->nr; n++)
		if (is_gone(r, r->pool[k->first + n]))
			return true;
	return !k->messages && k->segment && (is_gone(r, k->head) || is_gone(r, k->tail));
}

static void chain_row(const struct grove__chain *c, uint32_t row, const char *mode, struct grove__chain_row *out)
{
	const struct grove__claude_packed *p = &c->rows.rows[row];

	out->message_off = p->message_off;
	out->message_len = p->message_len;
	out->mark = p->flags & CLAUDE_QUEUED      ? CLAUDE_MARK_QUEUED
		    : p->flags & CLAUDE_COMMAND   ? CLAUDE_MARK_COMMAND
		    : p->flags & CLAUDE_API_ERROR ? CLAUDE_MARK_ERROR
						  : 0;
	out->side = p->flags & CLAUDE_SIDECHAIN;
	out->lacks = p->flags & CLAUDE_BOUNDARY && is_lacking(&c->rows, row);
	if (mode && !strcmp(mode, "sdk") && p->flags & CLAUDE_QUEUED && p->reply != CLAUDE_NONE)
		out->alias = grove__claude_name(&c->rows, p->reply);
}

/*
 * Returns the text of a record without a message: a queued prompt or a local command. Empty
 * if none.
 */
static struct grove_slice said_without_message(struct grove_slice line)
{
	struct grove_slice said = { NULL, 0 };

	if (grove__json_string_is(grove__json_get(line, "type"), "attachment"))
		said = grove__claude_queued(grove__json_get(line, "attachment"));
	if (said.ptr || !grove__json_string_is(grove__json_get(line, "subtype"), "local_command"))
		return said;
	said = grove__json_get(line, "content");
	/* an empty text cannot be sent */
	return grove__json_type_of(said) == JSON_STRING && said.len > 2
		       ? said
		       : grove__slice_str("\"(no content)\"");
}

static int messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		    int64_t time, const int64_t *next, const struct grove_slice *edit,
		    const struct grove__blob_source *blobs,
		    int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_slice m = grove__json_get(line, "message"), said;
	struct grove_buf made = GROVE_BUF_INIT;
	int rc;

	(void)kind;
	(void)role;
	(void)time;
	(void)next;
	(void)edit;
	(void)blobs;
	if (m.len)
		return fn(payload, m);
	said = said_without_message(line);
	if (!said.len)
		return 0;
	rc = grove__buf_add_str(&made, "{\"role\":\"user\",\"content\":");
	rc = rc ? rc : grove__buf_add_slice(&made, said);
	rc = rc ? rc : grove__buf_add_char(&made, '}');
	rc = rc ? rc : fn(payload, grove__buf_slice(&made));
	grove__buf_release(&made);
	return rc;
}

/* --- writing --- */

/* There is no header: a line says it. */
static int move(struct grove_slice header, const char *cwd, const char *from, struct grove_buf *out)
{
	(void)header, (void)from;
	return grove__claude_relocated(cwd, out);
}

static int relink(struct grove_slice line, struct grove_slice parent, const struct grove_slice *first_kept,
		  const char *session, struct grove_buf *out)
{
	struct grove_buf below = GROVE_BUF_INIT, to = GROVE_BUF_INIT;
	struct grove__json_change ch[] = { { .path = { "sessionId" } }, { .path = { "requestSessionId" } } };
	bool reply = grove__json_string_is(grove__json_get(line, "type"), "assistant");
	int rc;

	if (!session)
		return grove__claude_relink(line, parent, first_kept, out);
	rc = grove__claude_relink(line, parent, first_kept, &below);
	if (!rc)
		rc = grove__json_put_str(&to, session);
	ch[0].value = grove__buf_slice(&to);
	if (reply)
		ch[1].value = grove__claude_billed_to(grove__json_get(line, "requestSessionId"),
						      grove__json_get(line, "forkedFrom"),
						      grove__json_get(line, "sessionId"));
	if (!rc)
		rc = grove__json_edit(out, grove__buf_slice(&below), ch, 2);
	grove__buf_release(&below);
	grove__buf_release(&to);
	return rc;
}

/* Announces the rows that are copied. *last is the last of them; GROVE_NO_ENTRY: none. */
static int announce_copies(struct grove__claude_fork *fork, const struct grove__copy_in *in, uint32_t *last)
{
	const struct grove__claude_rows *rows = &in->chain->rows;
	int rc = 0;

	*last = GROVE_NO_ENTRY;
	for (uint32_t i = 0; i < in->nr && rc >= 0; i++) {
		struct grove__claude_row r = { .class = rows->rows[i].class, .flags = rows->rows[i].flags,
					       .uuid = grove__claude_rows_uuid(rows, i) };

		if (in->wanted && !in->wanted[i])
			continue;
		rc = grove__claude_fork_add(fork, &r);
		if (!rc)
			*last = i;
	}
	return rc < 0 ? rc : *last == GROVE_NO_ENTRY;
}

static int add_copy(void *payload, struct grove_slice line)
{
	const struct grove__copy_in *in = payload;
	size_t begin = in->out->len;
	int rc = grove__buf_add_slice(in->out, line);

	return rc ? rc : in->added(in->payload, begin);
}

static int copy_all(struct grove__claude_fork *fork, const struct grove__copy_in *in)
{
	struct grove_slice line, message;
	const char *leaf = in->leaf;
	uint32_t row, last;
	int rc = announce_copies(fork, in, &last);

	if (rc)
		return rc;
	while (!(rc = in->next(in->payload, &row, &line, &message))) {
		size_t begin = in->out->len;

		rc = grove__claude_fork_line(fork, line, message, row == last, in->now, in->out);
		rc = rc < 0 ? rc : rc ? 0 : in->added(in->payload, begin);
		if (rc)
			return rc;
	}
	/* a line that was written twice may come after the leaf */
	if (in->leaf_row == last)
		leaf = NULL;
	return rc < 0 ? rc : grove__claude_fork_tail(fork, leaf, in->title, false, in->cwd, in->now, add_copy,
						       (void *)(uintptr_t)in);
}

static int copy(const struct grove__copy_in *in)
{
	struct grove__claude_fork fork = { .from = in->from, .to = in->to, .random = in->random,
					   .random_payload = in->payload, .parent = in->parent,
					   .parent_payload = in->payload };
	int rc;

	grove__claude_fork_init(&fork, in->seed);
	rc = copy_all(&fork, in);
	grove__claude_fork_release(&fork);
	return rc;
}

/* …/<session>/subagents/[group/…/]agent-<id>.jsonl */
static void owner(const char *path, struct grove_slice *id)
{
	const char *at = strstr(path, "/subagents/"), *from;

	if (!at)
		return;
	from = memrchr(path, '/', (size_t)(at - path));
	from = from ? from + 1 : path;
	*id = grove__slice(from, (size_t)(at - from));
}

/* A session in memory has no name. */
static bool own_file(const char *name, const char *path, struct grove__own_file *out)
{
	struct grove_slice agent = grove__slice_str(name ? name : "");

	*out = (struct grove__own_file){ .agent = { NULL, 0 } };
	if (!grove__slice_starts(agent, "agent-"))
		return false;
	grove__slice_cut_end(&agent, ".jsonl");
	out->agent = grove__slice(agent.ptr + strlen("agent-"), agent.len - strlen("agent-"));
	if (path)
		owner(path, &out->session);
	return true;
}

/*
 * Recognizes a record, or a line about the session, which often comes before the first
 * record: a title, a mode, saved files.
 */
static enum grove__claim claims(struct grove_slice line)
{
	enum { TYPE, ID, UUID, SESSION_ID, PARENT_UUID, LEAF_UUID, MESSAGE_ID, MEMBERS };
	static const struct grove__json_member members[MEMBERS] = {
		[TYPE] = { "type", -1 },
		[ID] = { "id", -1 },
		[UUID] = { "uuid", -1 },
		[SESSION_ID] = { "sessionId", -1 },
		[PARENT_UUID] = { "parentUuid", -1 },
		[LEAF_UUID] = { "leafUuid", -1 },
		[MESSAGE_ID] = { "messageId", -1 },
	};
	static const char history[] = "\"file-history-";
	struct grove__json_line l;
	struct grove_slice type;
	bool sure;

	if (!grove__dialect_scan(members, MEMBERS, line, &l))
		return CLAIM_NONE;
	type = grove__json_span_of(&l, line.ptr, TYPE);
	if (grove__json_has(&l, ID) || grove__json_string_is(type, "session"))
		sure = grove__json_has(&l, UUID) && grove__json_has(&l, SESSION_ID);
	else
		sure = grove__json_has(&l, SESSION_ID) || grove__json_has(&l, PARENT_UUID) ||
		       grove__json_has(&l, LEAF_UUID) ||
		       (grove__json_has(&l, MESSAGE_ID) && type.len >= sizeof(history) &&
			!memcmp(type.ptr, history, sizeof(history) - 1));
	return sure ? CLAIM_SURE : CLAIM_NONE;
}

static const struct grove__dialect_tally tally = {
	.new = list_new,
	.free = list_free,
	.index = list_index,
	.end = list_end,
};

static const struct grove__dialect_rules rules = {
	.new = chain_new,
	.free = chain_free,
	.add = chain_add,
	.announce = chain_announce,
	.freeze = chain_freeze,
	.walk = chain_walk,
	.reason = chain_reason,
	.boundary = chain_boundary,
	.call = chain_call,
	.row = chain_row,
	.may_end = chain_may_end,
};

static const struct grove__dialect_live live = {
	.dirs = grove__claude_live_dirs,
	.note = grove__claude_live_note,
};

static const struct grove__dialect_retention retention = {
	.expires = grove__claude_expires,
	.settings = GROVE__CLAUDE_SETTINGS,
};

static const struct grove__resume resume[] = {
	{ "claude", "claude --resume {id}", false },
	{ NULL },
};

const struct grove__dialect grove__dialect_claude = {
	.name = "claude",
	.version = 2,
	.recognise = {
		.claims = claims,
		.root = "/.claude/projects",
	},
	.read = {
		.members = grove__claude_members,
		.nr_members = CLAUDE_MEMBERS,
		.id = "uuid",
		.index = claude_index,
	},
	.text = {
		.pieces = grove__claude_pieces,
		.block_pieces = grove__claude_block_pieces,
		.prompt = grove__claude_prompt,
	},
	.list = {
		.line = list_line,
		.tally = &tally,
		.modified_by_file = true,
	},
	.usage = {
		.billed = grove__claude_billed,
		.members = grove__claude_bill_members,
		.nr_members = CLAUDE_BILL_MEMBERS,
		.window = 5 * 3600 * 1000,
	},
	.context = {
		.messages = messages,
		.llm = grove__claude_llm,
	},
	.write = {
		.input = grove__claude_input,
		.kind = grove__claude_input_kind,
		.bare = grove__claude_bare,
		.compose = grove__claude_compose,
		.spell = grove__claude_spell,
		.starts_file = grove__claude_starts_file,
		.relink = relink,
		.split = grove__claude_split,
		.written_by = "version",
		.move = move,
	},
	.names = {
		.entry_id = grove__claude_entry_id,
		.session_id_ok = grove__claude_session_id_ok,
		.session_id_rule = "a Claude Code session id must be a UUID",
		.session_id = grove__pi_session_id,
		.clean = grove__claude_clean_name,
	},
	.paths = {
		.roots = grove__claude_roots,
		.project = grove__claude_project,
		.file_name = grove__claude_file_name,
		.parse_file_name = grove__claude_parse_file_name,
		.own_file = own_file,
		.apart = grove__claude_apart,
		.artifacts = true,
		.real_cwd = true,
	},
	.rules = &rules,
	.copy = copy,
	.live = &live,
	.resume = resume,
	.retention = &retention,
	.agents = &grove__claude_agents,
	.heads = &grove__heads_claude,
};
