/*
 * dialect/claude_llm.c: a conversation as the program sends it when it resumes.
 *
 * A request with a call that nothing answers is refused, so calls and results
 * must pair. Left out: replies that tell of an error of the API, replies of
 * nothing but thinking, calls without a result, results without a call. Made
 * up: an error result for calls at the very end, which were interrupted, and an
 * answer to a prompt at the end, which had none. Messages are not merged.
 */
#include "dialect/claude.h"

#include "base/array.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* The sentence is ours; the program has another. */
static const char interrupted[] =
	"The call was interrupted: the session ended before its result was recorded.";
static const char no_response[] =
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"No response requested.\"}]}";

/* A block that matters here. */
struct block {
	uint32_t message;
	uint32_t name;            /* of its tool id */
	bool result, paired;
	struct grove_slice id;    /* raw */
};

struct cleaner {
	const struct grove_slice *messages;
	size_t nr;
	int (*fn)(void *payload, size_t from, struct grove_slice json);
	void *payload;
	struct block *blocks;
	size_t nr_blocks, cap_blocks;
	struct state {
		bool assistant, error, left_out, thinking_only;
		uint32_t first, nr;   /* its calls and results among the blocks */
		uint32_t total;       /* all its blocks */
	} *states;
	struct grove_buf ids;     /* texts of tool ids, for the map */
	size_t *id_end;           /* where each ends */
	size_t nr_ids, cap_ids;
	struct grove__idmap map;
	uint32_t at;              /* the message at hand */
	bool other;
	struct grove_buf out;
};

static struct grove_slice id_text(const void *owner, uint32_t i)
{
	const struct cleaner *c = owner;
	size_t start = i ? c->id_end[i - 1] : 0;

	return grove__slice(c->ids.ptr + start, c->id_end[i] - start);
}

static int name_id(struct cleaner *c, struct grove_slice raw, uint32_t *name)
{
	size_t start = c->ids.len;
	struct grove_slice text;
	uint32_t old;
	int rc = 0;

	*name = GROVE__IDMAP_NONE;
	if (grove__json_type_of(raw) != JSON_STRING)
		return 0;
	rc = grove__json_text(&c->ids, raw);
	if (!rc)
		rc = grove__array_room(&c->id_end, &c->cap_ids, c->nr_ids, sizeof(*c->id_end));
	if (rc)
		return rc;
	text = grove__slice(c->ids.ptr + start, c->ids.len - start);
	*name = grove__idmap_get(&c->map, text);
	if (*name != GROVE__IDMAP_NONE) {
		grove__buf_cut(&c->ids, start);
		return 0;
	}
	*name = (uint32_t)c->nr_ids;
	c->id_end[c->nr_ids++] = c->ids.len;
	return grove__idmap_put(&c->map, text, *name, &old);
}

static int note_block(void *payload, struct grove_slice type, struct grove_slice id,
		      struct grove_slice json)
{
	struct cleaner *c = payload;
	struct state *s = &c->states[c->at];
	bool result = grove__json_string_is(type, "tool_result");
	struct block b = { .message = c->at, .result = result, .id = id };
	int rc;

	(void)json;
	s->total++;
	if (!grove__json_string_is(type, "thinking") &&
	    !grove__json_string_is(type, "redacted_thinking"))
		c->other = true;
	if (!result && !grove__json_string_is(type, "tool_use"))
		return 0;
	rc = name_id(c, id, &b.name);
	if (!rc)
		rc = grove__array_room(&c->blocks, &c->cap_blocks, c->nr_blocks, sizeof(*c->blocks));
	if (!rc) {
		c->blocks[c->nr_blocks++] = b;
		s->nr++;
	}
	return rc;
}

static int note_messages(struct cleaner *c, const bool *errors)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr && !rc; i++) {
		struct state *s = &c->states[i];

		s->assistant = grove__json_string_is(grove__json_get(c->messages[i], "role"), "assistant");
		s->first = (uint32_t)c->nr_blocks;
		/* what the program itself said; a model's words are sent, whatever the flag */
		s->left_out = s->error =
			s->assistant && errors && errors[i] &&
			grove__json_string_is(grove__json_get(c->messages[i], "model"), "<synthetic>");
		if (s->left_out)
			continue;
		c->at = (uint32_t)i;
		c->other = false;
		rc = grove__claude_blocks(grove__json_get(c->messages[i], "content"), note_block, c);
		s->thinking_only = s->assistant && s->total && !c->other;
	}
	return rc;
}

/*
 * A reply of several lines is one message: thinking is left out only where the
 * whole reply is nothing else.
 */
static void drop_thinking(struct cleaner *c)
{
	for (size_t i = 0, j; i < c->nr; i = j) {
		struct grove_slice id = grove__json_get(c->messages[i], "id");
		bool only = true;

		for (j = i; j < c->nr && c->states[j].assistant &&
			    (j == i || (id.len && grove__slice_eq(grove__json_get(c->messages[j], "id"), id)));
		     j++)
			only &= c->states[j].left_out || c->states[j].thinking_only;
		for (size_t k = i; only && k < j; k++)
			c->states[k].left_out = true;
		j += j == i;
	}
}

/* Each call with the first result behind it. */
static int pair(struct cleaner *c)
{
	uint32_t *open = malloc((c->nr_ids + 1) * sizeof(*open));

	if (!open)
		return GROVE_ENOMEM;
	memset(open, 0xff, (c->nr_ids + 1) * sizeof(*open));
	for (uint32_t i = 0; i < c->nr_blocks; i++) {
		struct block *b = &c->blocks[i];

		if (b->name == GROVE__IDMAP_NONE || c->states[b->message].left_out)
			continue;
		if (!b->result) {
			open[b->name] = i;
		} else if (open[b->name] != UINT32_MAX) {
			c->blocks[open[b->name]].paired = b->paired = true;
			open[b->name] = UINT32_MAX;
		}
	}
	free(open);
	return 0;
}

/* The first message of the reply at the very end; nr if it does not end with one. */
static size_t last_reply(const struct cleaner *c)
{
	size_t i = c->nr;
	struct grove_slice id;

	while (i && c->states[i - 1].left_out)
		i--;
	/* results of some of its calls may stand behind it */
	while (i && !c->states[i - 1].assistant && c->states[i - 1].nr &&
	       c->states[i - 1].nr == c->states[i - 1].total)
		i--;
	if (!i || !c->states[i - 1].assistant)
		return c->nr;
	id = grove__json_get(c->messages[i - 1], "id");
	while (i > 1 && id.len && c->states[i - 2].assistant &&
	       grove__slice_eq(grove__json_get(c->messages[i - 2], "id"), id))
		i--;
	return i - 1;
}

/* The message without the blocks that have no partner. */
struct keeper {
	struct cleaner *c;
	const struct block *next, *end;
	struct grove_buf *out;
	bool any;
};

static int keep_block(void *payload, struct grove_slice type, struct grove_slice id,
		      struct grove_slice json)
{
	struct keeper *k = payload;
	int rc = 0;

	(void)type;
	if (k->next < k->end && id.ptr == k->next->id.ptr) {
		const struct block *b = k->next++;

		if (!b->paired)
			return 0;
	}
	if (k->any)
		rc = grove__buf_add_char(k->out, ',');
	k->any = true;
	return rc ? rc : grove__buf_add_slice(k->out, json);
}

static int tell(struct cleaner *c, size_t i, bool *told)
{
	const struct state *s = &c->states[i];
	struct grove_slice m = c->messages[i], content = grove__json_get(m, "content");
	struct keeper k = { c, c->blocks + s->first, c->blocks + s->first + s->nr, &c->out, false };
	uint32_t lost = 0;
	int rc;

	for (uint32_t j = 0; j < s->nr; j++)
		lost += !k.next[j].paired;
	/* a record whose calls are all unanswered goes with its words */
	if (s->left_out || (lost && (lost == s->total || (s->assistant && lost == s->nr))))
		return 0;
	*told = true;
	if (!lost)
		return c->fn(c->payload, i, m);
	grove__buf_clear(&c->out);
	rc = grove__buf_add(&c->out, m.ptr, (size_t)(content.ptr - m.ptr) + 1);
	if (!rc)
		rc = grove__claude_blocks(content, keep_block, &k);
	if (!rc)
		rc = grove__buf_add_char(&c->out, ']');
	if (!rc)
		rc = grove__buf_add(&c->out, content.ptr + content.len,
				    (size_t)(m.ptr + m.len - content.ptr) - content.len);
	return rc ? rc : c->fn(c->payload, i, grove__buf_slice(&c->out));
}

/* Calls at the end that nothing answers: they count as answered. */
static int answer_calls(struct cleaner *c, size_t from, struct grove_buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr_blocks && !rc; i++) {
		struct block *b = &c->blocks[i];

		if (b->message < from || b->result || b->paired || b->name == GROVE__IDMAP_NONE ||
		    c->states[b->message].left_out)
			continue;
		b->paired = true;
		rc = grove__buf_add_str(out, out->len ? "," : "{\"role\":\"user\",\"content\":[");
		if (!rc)
			rc = grove__buf_add_str(out, "{\"type\":\"tool_result\",\"content\":");
		if (!rc)
			rc = grove__json_put_str(out, interrupted);
		if (!rc)
			rc = grove__buf_add_str(out, ",\"is_error\":true,\"tool_use_id\":");
		if (!rc)
			rc = grove__buf_add_slice(out, b->id);
		if (!rc)
			rc = grove__buf_add_char(out, '}');
	}
	return rc || !out->len ? rc : grove__buf_add_str(out, "]}");
}

static int clean(struct cleaner *c, const bool *errors)
{
	struct grove_buf made_up = GROVE_BUF_INIT;
	bool ends_with_user = false, told;
	int rc = note_messages(c, errors);

	if (rc)
		return rc;
	drop_thinking(c);
	rc = pair(c);
	if (!rc)
		rc = answer_calls(c, last_reply(c), &made_up);
	for (size_t i = 0; i < c->nr && !rc; i++) {
		told = false;
		rc = tell(c, i, &told);
		/* an error is an answer, too, though it is not sent */
		if (told || c->states[i].error)
			ends_with_user = !c->states[i].assistant;
	}
	if (!rc && made_up.len) {
		rc = c->fn(c->payload, SIZE_MAX, grove__buf_slice(&made_up));
		ends_with_user = true;
	}
	if (!rc && ends_with_user)
		rc = c->fn(c->payload, SIZE_MAX, grove__slice_str(no_response));
	grove__buf_release(&made_up);
	return rc;
}

int grove__claude_llm(const struct grove_slice *messages, const bool *errors, size_t nr,
		      int (*fn)(void *payload, size_t from, struct grove_slice json),
		      void *payload)
{
	struct cleaner c = { .messages = messages, .nr = nr, .fn = fn, .payload = payload };
	int rc;

	if (nr > UINT32_MAX - 1)
		return GROVE_ETOOBIG;
	grove__idmap_init(&c.map, 0, id_text, &c);
	c.states = calloc(nr + 1, sizeof(*c.states));
	rc = c.states ? clean(&c, errors) : GROVE_ENOMEM;
	free(c.states);
	free(c.blocks);
	free(c.id_end);
	grove__buf_release(&c.ids);
	grove__buf_release(&c.out);
	grove__idmap_release(&c.map);
	return rc;
}
