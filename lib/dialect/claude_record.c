/*
 * dialect/claude_record.c: which of a host's messages are written.
 *
 * A host has a list of messages and asks for it to be recorded, again and again as it
 * grows. Most of it is already stored. What is new goes below the last stored message
 * that precedes it in the list.
 */
#include "dialect/claude_write.h"

#include "base/array.h"
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* --- a reply of several blocks --- */

enum { S_TYPE, S_ROLE, S_CONTENT, S_MESSAGE, S_MESSAGE_CONTENT, SPLIT_MEMBERS };

static const struct grove__json_member split_members[SPLIT_MEMBERS] = {
	[S_TYPE] = { "type", -1 },
	[S_ROLE] = { "role", -1 },
	[S_CONTENT] = { "content", -1 },
	[S_MESSAGE] = { "message", -1 },
	[S_MESSAGE_CONTENT] = { "content", S_MESSAGE },
};

/* Finds a reply's message and content in arbitrary input. Returns 1 if it is not a reply. */
static int find_reply(struct grove_slice json, struct grove_slice *value,
		      struct grove_slice *content, bool *bare)
{
	const struct grove__json_line *l;
	struct grove__json_want want;
	struct grove__json_stream *s;
	struct grove_slice type;
	size_t used = 0;
	int rc;

	grove__json_want_init(&want, split_members, SPLIT_MEMBERS);
	s = grove__json_stream_new(&want);
	if (!s)
		return GROVE_ENOMEM;
	rc = grove__json_stream_feed(s, json.ptr, json.len, true, &used);
	if (rc < 0)
		goto out;
	/* errors in it are reported when it is composed */
	if (rc != JSON_STREAM_DONE)
		goto none;
	for (; used < json.len; used++)
		if (!memchr(" \t\r\n", json.ptr[used], 4))
			goto none;
	l = grove__json_stream_line(s);
	if (l->type != JSON_OBJECT)
		goto none;
	*value = grove__slice(json.ptr + l->value.off, (size_t)l->value.len);
	type = grove__json_span_of(l, json.ptr, S_TYPE);
	*bare = !type.ptr || grove__json_string_is(type, "message");
	*content = grove__json_span_of(l, json.ptr, *bare ? S_CONTENT : S_MESSAGE_CONTENT);
	rc = !grove__json_string_is(*bare ? grove__json_span_of(l, json.ptr, S_ROLE) : type, "assistant") ||
	     grove__json_type_of(*content) != JSON_ARRAY || !grove__json_at(*content, 1).ptr;
	goto out;
none:
	rc = 1;
out:
	grove__json_stream_free(s);
	return rc;
}

/* Like the program's own ids, which the API assigns: letters and digits. */
static int put_message_id(struct grove_buf *out, const uint8_t random[16])
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	int rc = grove__buf_add_str(out, "\"msg_");

	for (size_t half = 0; half < 2; half++) {
		uint64_t n;

		memcpy(&n, random + 8 * half, sizeof(n));
		for (size_t i = 0; i < 11 && !rc; i++, n /= 62)
			rc = grove__buf_add_char(out, digits[n % 62]);
	}
	return rc ? rc : grove__buf_add_char(out, '"');
}

/* Writes one block of it: the content, the id, and its position among the others. */
static int put_block(struct grove_buf *out, struct grove_slice value, bool bare,
		     struct grove_slice content, struct grove_slice id, bool first, bool last)
{
	struct grove__json_change ch[4];
	size_t nr = 0;

	ch[nr++] = (struct grove__json_change){ { "message", "content" }, content };
	ch[nr++] = (struct grove__json_change){ { "message", "id" }, id };
	if (bare) {
		ch[0] = (struct grove__json_change){ { "content" }, content };
		ch[1] = (struct grove__json_change){ { "id" }, id };
	}
	/* it has one already, so keep its bytes */
	if (!id.ptr)
		nr--;
	if (!bare && !first)
		ch[nr++] = (struct grove__json_change){ { "parentUuid" }, { NULL, 0 } };
	if (!bare && !last)
		ch[nr++] = (struct grove__json_change){ { "uuid" }, { NULL, 0 } };
	return grove__json_edit(out, value, ch, nr);
}

static int split_reply(struct grove_slice value, bool bare, struct grove_slice content,
		       const uint8_t random[16], int (*fn)(void *payload, struct grove_slice json),
		       void *payload)
{
	struct grove_slice message = bare ? value : grove__json_get(value, "message");
	struct grove_buf id = GROVE_BUF_INIT, one = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove_slice raw = { NULL, 0 };
	struct grove__json_iter it;
	bool first = true, more;
	int rc = 0;

	if (grove__json_type_of(grove__json_get(message, "id")) != JSON_STRING) {
		rc = put_message_id(&id, random);
		raw = grove__buf_slice(&id);
	}
	grove__json_iter_init(&it, content);
	more = grove__json_next(&it);
	while (!rc && more) {
		grove__buf_clear(&one);
		grove__buf_clear(&out);
		rc = grove__buf_add_char(&one, '[');
		if (!rc)
			rc = grove__buf_add_slice(&one, it.value);
		if (!rc)
			rc = grove__buf_add_char(&one, ']');
		more = grove__json_next(&it);
		if (!rc)
			rc = put_block(&out, value, bare, grove__buf_slice(&one), raw, first, !more);
		if (!rc)
			rc = fn(payload, grove__buf_slice(&out));
		first = false;
	}
	grove__buf_release(&id);
	grove__buf_release(&one);
	grove__buf_release(&out);
	return rc;
}

int grove__claude_split(struct grove_slice json, const uint8_t random[16],
			int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_slice value, content;
	bool bare;
	int rc = find_reply(json, &value, &content, &bare);

	if (rc)
		return rc < 0 ? rc : fn(payload, json);
	return split_reply(value, bare, content, random, fn, payload);
}

/* --- what is new in a list --- */

/* What the plan needs to know about a message. */
struct message {
	struct grove_slice uuid, source, parent;   /* texts; empty if none */
	bool progress, boundary, side;
};

struct planning {
	const struct grove__claude_list *list;
	struct grove__claude_plan *plan;
	struct grove_slice prev;        /* the last one on the list's own chain; ptr NULL if none */
	struct grove_slice prev_side;   /* and on side chains in between */
	bool any;                       /* something new was found */
};

static struct grove_slice planned_name(const void *owner, uint32_t value)
{
	const struct grove__claude_plan *p = owner;

	return p->items[value].uuid;
}

/* Copies a text, which lives as long as the plan. GROVE_ENOMEM. */
static int keep_text(struct grove__claude_plan *p, struct grove_slice raw, struct grove_slice *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	const char *copy;
	int rc;

	*out = grove__slice(NULL, 0);
	if (grove__json_type_of(raw) != JSON_STRING || raw.len == 2)
		return 0;
	rc = grove__json_text(&b, raw);
	if (!rc) {
		copy = grove__arena_dup(&p->texts, grove__buf_slice(&b));
		rc = copy ? 0 : GROVE_ENOMEM;
		*out = grove__slice(copy, copy ? b.len : 0);
	}
	grove__buf_release(&b);
	return rc;
}

static int read_message(const struct planning *pl, struct grove_slice json, struct message *m)
{
	struct grove_slice type, uuid, source, parent, subtype, side;
	struct grove__json_iter it;
	int rc;

	memset(m, 0, sizeof(*m));
	type = uuid = source = parent = subtype = side = grove__slice(NULL, 0);
	grove__json_iter_init(&it, json);
	while (grove__json_next(&it)) {
		if (grove__json_string_is(it.key, "type"))
			type = it.value;
		else if (grove__json_string_is(it.key, "uuid"))
			uuid = it.value;
		else if (grove__json_string_is(it.key, "sourceToolAssistantUUID"))
			source = it.value;
		else if (grove__json_string_is(it.key, "parentUuid"))
			parent = it.value;
		else if (grove__json_string_is(it.key, "subtype"))
			subtype = it.value;
		else if (grove__json_string_is(it.key, "isSidechain"))
			side = it.value;
	}
	m->progress = grove__json_string_is(type, "progress");
	m->boundary = grove__json_string_is(type, "system") &&
		      grove__json_string_is(subtype, "compact_boundary");
	m->side = side.ptr ? grove__json_truthy(side) : pl->list->side;
	rc = keep_text(pl->plan, uuid, &m->uuid);
	if (!rc)
		rc = keep_text(pl->plan, source, &m->source);
	return rc ? rc : keep_text(pl->plan, parent, &m->parent);
}

static bool stored(const struct planning *pl, struct grove_slice uuid)
{
	return pl->list->stored(pl->list->payload, uuid);
}

static bool planned(const struct planning *pl, struct grove_slice uuid)
{
	return grove__idmap_get(&pl->plan->map, uuid) != GROVE__IDMAP_NONE;
}

static struct grove_slice parent_of(const struct planning *pl, const struct message *m)
{
	if (m->source.ptr && (planned(pl, m->source) || stored(pl, m->source)))
		return m->source;
	if (m->side == pl->list->side)
		return pl->prev;
	/* records of interleaved side chains name their own parents */
	if (m->parent.ptr && (planned(pl, m->parent) || stored(pl, m->parent)))
		return m->parent;
	return pl->prev_side;
}

static int add_item(struct planning *pl, size_t i, const struct message *m)
{
	struct grove__claude_plan *p = pl->plan;
	struct grove__claude_planned it = { .message = i, .uuid = m->uuid, .side = m->side };
	uint32_t old;
	int rc;

	it.parent = parent_of(pl, m);
	if (m->boundary) {
		it.logical = it.parent;
		it.parent = grove__slice(NULL, 0);
	}
	rc = p->nr >= UINT32_MAX ? GROVE_ETOOBIG
				 : grove__array_room(&p->items, &p->cap, p->nr, sizeof(*p->items));
	if (rc)
		return rc;
	p->items[p->nr] = it;
	rc = grove__idmap_put(&p->map, it.uuid, (uint32_t)p->nr, &old);
	if (rc)
		return rc;
	p->nr++;
	if (m->side == pl->list->side)
		pl->prev = m->uuid;
	else
		pl->prev_side = m->uuid;
	return 0;
}

/*
 * Progress is skipped as if it were not in the list. Because it is never stored, it would
 * otherwise end every prefix and turn each turn into a branch.
 */
static int plan_message(struct planning *pl, size_t i, struct grove_detail *d)
{
	struct message m;
	int rc = 0;

	if (read_message(pl, pl->list->messages[i], &m))
		return grove__fail_nomem(d);
	if (m.progress)
		return 0;
	if (!m.uuid.ptr)
		return grove__fail(d, GROVE_EINVAL, NULL, "message %zu of the list has no uuid", i + 1);
	if (planned(pl, m.uuid))
		return 0;
	if (stored(pl, m.uuid)) {
		if (!pl->any && m.side == pl->list->side)
			pl->prev = m.uuid;
		return 0;
	}
	if (!pl->any)
		pl->plan->start = pl->prev;
	pl->any = true;
	rc = add_item(pl, i, &m);
	if (rc == GROVE_ETOOBIG)
		return grove__fail(d, rc, NULL, "the list is too long");
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__claude_plan(const struct grove__claude_list *list, struct grove__claude_plan *out,
		       struct grove_detail *d)
{
	struct planning pl = { .list = list, .plan = out, .prev = list->hint };
	int rc = 0;

	memset(out, 0, sizeof(*out));
	grove__arena_init(&out->texts);
	grove__idmap_init(&out->map, list->seed, planned_name, out);
	for (size_t i = 0; i < list->nr && !rc; i++)
		rc = plan_message(&pl, i, d);
	if (!pl.any)
		out->start = pl.prev;
	out->last = pl.prev;
	return rc;
}

void grove__claude_plan_release(struct grove__claude_plan *p)
{
	free(p->items);
	grove__idmap_release(&p->map);
	grove__arena_release(&p->texts);
	memset(p, 0, sizeof(*p));
}

/* --- metadata within reach --- */

static const char *const tail_types[CLAUDE_TAILS] = {
	[CLAUDE_TAIL_LAST_PROMPT] = "last-prompt",
	[CLAUDE_TAIL_CUSTOM_TITLE] = "custom-title",
	[CLAUDE_TAIL_AI_TITLE] = "ai-title",
	[CLAUDE_TAIL_TAG] = "tag",
	[CLAUDE_TAIL_AGENT_NAME] = "agent-name",
	[CLAUDE_TAIL_MODE] = "mode",
	[CLAUDE_TAIL_PERMISSION_MODE] = "permission-mode",
	[CLAUDE_TAIL_LATCH] = "atis-latch",
	[CLAUDE_TAIL_PR_LINK] = "pr-link",
};

int grove__claude_tail_type(struct grove_slice raw_type)
{
	for (int i = 0; i < CLAUDE_TAILS; i++)
		if (grove__json_string_is(raw_type, tail_types[i]))
			return i;
	return -1;
}

/* A line that no longer has any effect is not repeated. */
static bool worth(unsigned i, const struct grove__claude_tail_line *t)
{
	if (!t->line.ptr)
		return false;
	if (i == CLAUDE_TAIL_TAG)
		return grove__json_truthy(grove__json_get(t->line, "tag"));
	if (i == CLAUDE_TAIL_LAST_PROMPT && t->followed)
		return grove__json_type_of(grove__json_get(t->line, "leafUuid")) != JSON_NULL;
	return true;
}

static int tell(unsigned i, const struct grove__claude_tail_line *t,
		int (*fn)(void *payload, struct grove_slice line), void *payload)
{
	struct grove__json_change ch = { .path = { "explicit" } };
	struct grove_buf plain = GROVE_BUF_INIT;
	int rc;

	if (i != CLAUDE_TAIL_LAST_PROMPT || !t->followed)
		return fn(payload, t->line);
	rc = grove__json_edit(&plain, t->line, &ch, 1);
	if (!rc)
		rc = fn(payload, grove__buf_slice(&plain));
	grove__buf_release(&plain);
	return rc;
}

int grove__claude_tail_lines(const struct grove__claude_tail_line last[CLAUDE_TAILS], uint64_t more,
			     int (*fn)(void *payload, struct grove_slice line), void *payload)
{
	bool again[CLAUDE_TAILS] = { false }, changed = true;
	int rc = 0;

	/* repeating a line moves the others further from the end */
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < CLAUDE_TAILS; i++) {
			if (again[i] || !worth(i, &last[i]) ||
			    (more <= CLAUDE_TAIL_WINDOW && last[i].distance <= CLAUDE_TAIL_WINDOW - more))
				continue;
			again[i] = changed = true;
			more += last[i].line.len + 1;
		}
	}
	for (unsigned i = 0; i < CLAUDE_TAILS && !rc; i++)
		if (again[i])
			rc = tell(i, &last[i], fn, payload);
	return rc;
}
