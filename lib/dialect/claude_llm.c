/*
 * dialect/claude_llm.c: a conversation as the program sends it when it resumes.
 *
 * The API refuses a request with an unanswered call, so calls and results must pair. Left
 * out are replies that report an API error, replies that are nothing but thinking, thinking
 * in a reply without a model, calls without a result, and results without a call. Added are
 * error results for calls of an interrupted turn, and a reply to a final prompt that had
 * none.
 *
 * Messages are not merged, but ordered so that they can be:
 *
 *	call, text            → text, call           of one reply: calls come last
 *	note, result, result  → result, result, note after a reply: results come first
 *	prompt, queued prompt → queued prompt, prompt  up to the reply or result before it
 */
#include "dialect/claude.h"

#include "base/array.h"
#include "json/value.h"
#include "json/write.h"

#include <stdlib.h>

/* The wording is ours; the program has another. */
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

/* An added message, and the one that it follows. */
struct made {
	uint32_t after;
	size_t at, len;           /* in the cleaner's bytes */
};

/* What is sent, in this order: a message, or an added one. */
struct item {
	uint32_t message;         /* UINT32_MAX if added */
	uint32_t made;
};

struct cleaner {
	const struct grove_slice *messages;
	const uint8_t *marks;
	size_t nr;
	int (*fn)(void *payload, size_t from, struct grove_slice json);
	void *payload;
	struct block *blocks;
	size_t nr_blocks, cap_blocks;
	struct state {
		bool assistant, error, left_out, thinking_only;
		bool nameless;        /* has no model, so its thinking is not sent */
		bool calls, results;  /* has such blocks */
		bool mixed;           /* has other blocks after a call */
		uint32_t first, nr;   /* its calls and results, among the blocks */
		uint32_t total;       /* all its blocks */
		uint32_t thinking;    /* how many of them are thinking */
	} *states;
	struct grove_buf ids;     /* texts of tool ids, for the map */
	size_t *id_end;           /* where each ends */
	size_t nr_ids, cap_ids;
	struct grove__idmap map;
	struct made *made;
	size_t nr_made, cap_made;
	struct grove_buf bytes;   /* of added messages */
	struct item *items, *spare;
	size_t nr_items;
	uint32_t at;              /* the current message */
	bool interrupted;         /* calls at the very end have no result */
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

static bool is_thinking(struct grove_slice type)
{
	return grove__json_string_is(type, "thinking") || grove__json_string_is(type, "redacted_thinking");
}

static int note_block(void *payload, struct grove_slice type, struct grove_slice id,
		      struct grove_slice json)
{
	struct cleaner *c = payload;
	struct state *s = &c->states[c->at];
	bool result = grove__json_string_is(type, "tool_result");
	bool call = grove__json_string_is(type, "tool_use");
	struct block b = { .message = c->at, .result = result, .id = id };
	int rc;

	(void)json;
	s->total++;
	s->thinking += is_thinking(type);
	s->mixed |= s->calls && !call;
	s->calls |= call;
	s->results |= result;
	if (!result && !call)
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

static bool has_model(struct grove_slice message)
{
	return grove__json_truthy(grove__json_get(message, "model"));
}

static int note_messages(struct cleaner *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr && !rc; i++) {
		struct state *s = &c->states[i];

		s->assistant = grove__json_string_is(grove__json_get(c->messages[i], "role"), "assistant");
		s->first = (uint32_t)c->nr_blocks;
		/*
		 * a message from the program itself; a model's reply is sent, whatever the
		 * flag says
		 */
		s->left_out = s->error =
			s->assistant && c->marks && c->marks[i] & CLAUDE_MARK_ERROR &&
			grove__json_string_is(grove__json_get(c->messages[i], "model"), "<synthetic>");
		if (s->left_out)
			continue;
		c->at = (uint32_t)i;
		rc = grove__claude_blocks(grove__json_get(c->messages[i], "content"), note_block, c);
		s->thinking_only = s->assistant && s->total && s->thinking == s->total;
		s->nameless = s->assistant && s->thinking && !has_model(c->messages[i]);
		s->left_out = s->nameless && s->thinking_only;
	}
	return rc;
}

/* Returns true for a queued prompt or a local command, which are outside the turns. */
static bool is_aside(const struct cleaner *c, size_t i)
{
	return c->marks && c->marks[i] & (CLAUDE_MARK_QUEUED | CLAUDE_MARK_COMMAND);
}

/* Returns the last message of the reply that begins, or continues, at `i`. */
static size_t reply_end(const struct cleaner *c, size_t i)
{
	struct grove_slice id = grove__json_get(c->messages[i], "id");

	while (id.len && i + 1 < c->nr && c->states[i + 1].assistant &&
	       grove__slice_eq(grove__json_get(c->messages[i + 1], "id"), id))
		i++;
	return i;
}

/*
 * A reply of several lines is one message: thinking is left out only if the whole reply is
 * nothing else.
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

/* Pairs each call with the first result after it. */
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

/* Returns the last message that is sent or was a reply, other than asides; nr if there is none. */
static size_t last_one(const struct cleaner *c)
{
	size_t i = c->nr;

	while (i && (is_aside(c, i - 1) || (c->states[i - 1].left_out && !c->states[i - 1].error)))
		i--;
	return i ? i - 1 : c->nr;
}

/* Returns the first message of the reply at the very end; nr if it does not end with one. */
static size_t last_reply(const struct cleaner *c)
{
	size_t i = c->nr;
	struct grove_slice id;

	while (i && (c->states[i - 1].left_out || is_aside(c, i - 1)))
		i--;
	/* results of some of its calls may follow it */
	while (i && !c->states[i - 1].assistant &&
	       (is_aside(c, i - 1) || (c->states[i - 1].nr && c->states[i - 1].nr == c->states[i - 1].total)))
		i--;
	if (!i || !c->states[i - 1].assistant)
		return c->nr;
	id = grove__json_get(c->messages[i - 1], "id");
	while (i > 1 && id.len && c->states[i - 2].assistant &&
	       grove__slice_eq(grove__json_get(c->messages[i - 2], "id"), id))
		i--;
	return i - 1;
}

/* --- what is made up --- */

static int make_up(struct cleaner *c, size_t after, size_t at)
{
	if (grove__array_room(&c->made, &c->cap_made, c->nr_made, sizeof(*c->made)))
		return GROVE_ENOMEM;
	c->made[c->nr_made++] = (struct made){ (uint32_t)after, at, c->bytes.len - at };
	return 0;
}

static int add_error(struct grove_buf *out, struct grove_slice id)
{
	int rc = grove__buf_add_str(out, "{\"type\":\"tool_result\",\"content\":");

	if (!rc)
		rc = grove__json_put_str(out, interrupted);
	if (!rc)
		rc = grove__buf_add_str(out, ",\"is_error\":true,\"tool_use_id\":");
	if (!rc)
		rc = grove__buf_add_slice(out, id);
	return rc ? rc : grove__buf_add_char(out, '}');
}

/* Adds an error for each unanswered call in the messages from..to; they then count as answered. */
static int answer_calls(struct cleaner *c, size_t from, size_t to, size_t after)
{
	size_t at = c->bytes.len;
	int rc = 0;

	for (size_t i = c->states[from].first; i < c->nr_blocks && c->blocks[i].message <= to && !rc; i++) {
		struct block *b = &c->blocks[i];

		if (b->result || b->paired || b->name == GROVE__IDMAP_NONE || c->states[b->message].left_out)
			continue;
		b->paired = true;
		rc = grove__buf_add_str(&c->bytes,
					c->bytes.len > at ? "," : "{\"role\":\"user\",\"content\":[");
		rc = rc ? rc : add_error(&c->bytes, b->id);
	}
	if (rc || c->bytes.len == at)
		return rc;
	rc = grove__buf_add_str(&c->bytes, "]}");
	return rc ? rc : make_up(c, after, at);
}

/*
 * Calls of the reply at the very end were interrupted. If the conversation ends with
 * results, its whole turn was, and every other unanswered call in it gets a result, too.
 */
static int answer_turn(struct cleaner *c)
{
	size_t last = last_one(c), reply = last_reply(c), from = reply, end, before;
	int rc = 0;

	if (reply == c->nr)
		return 0;
	while (c->states[last].results && from &&
	       (c->states[from - 1].assistant || c->states[from - 1].results || is_aside(c, from - 1)))
		from--;
	for (size_t i = from; i < reply && !rc; i = end + 1) {
		end = reply_end(c, i);
		if (c->states[i].assistant)
			rc = answer_calls(c, i, end, end);
	}
	before = c->nr_made;
	rc = rc ? rc : answer_calls(c, reply, c->nr, last);
	c->interrupted = c->nr_made > before;
	return rc;
}

/* A record whose calls are all unanswered is dropped, including its text. */
static void drop_unanswered(struct cleaner *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		struct state *s = &c->states[i];
		uint32_t lost = 0;

		for (uint32_t j = 0; j < s->nr; j++)
			lost += !c->blocks[s->first + j].paired;
		if (lost && (lost == s->total || (s->assistant && lost == s->nr)))
			s->left_out = true;
	}
}

/* --- the order --- */

static const struct state *state_of(const struct cleaner *c, const struct item *x)
{
	return x->message == UINT32_MAX ? NULL : &c->states[x->message];
}

typedef bool item_fn(const struct cleaner *c, const struct item *x);

static bool is_queued(const struct cleaner *c, const struct item *x)
{
	return x->message != UINT32_MAX && c->marks && c->marks[x->message] & CLAUDE_MARK_QUEUED;
}

static bool is_assistant(const struct cleaner *c, const struct item *x)
{
	return state_of(c, x) && state_of(c, x)->assistant;
}

/* Messages added before the end are results. */
static bool has_results(const struct cleaner *c, const struct item *x)
{
	return !state_of(c, x) || state_of(c, x)->results;
}

static bool has_no_calls(const struct cleaner *c, const struct item *x)
{
	return !state_of(c, x) || !state_of(c, x)->calls;
}

/* Moves those for which `fn` is true to the front; otherwise keeps the order. */
static void put_first(struct cleaner *c, size_t from, size_t to, item_fn *fn)
{
	size_t nr = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = from; i < to; i++)
			if (fn(c, &c->items[i]) == !pass)
				c->spare[nr++] = c->items[i];
	memcpy(c->items + from, c->spare, nr * sizeof(*c->items));
}

/* Lists everything that is sent in the order of the conversation, with API errors in between. */
static int lay_out(struct cleaner *c)
{
	size_t made = 0;

	c->items = malloc((c->nr + c->nr_made + 1) * sizeof(*c->items));
	c->spare = malloc((c->nr + c->nr_made + 1) * sizeof(*c->spare));
	if (!c->items || !c->spare)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < c->nr; i++) {
		if (!c->states[i].left_out || c->states[i].error)
			c->items[c->nr_items++] = (struct item){ (uint32_t)i, 0 };
		for (; made < c->nr_made && c->made[made].after == i; made++)
			c->items[c->nr_items++] = (struct item){ UINT32_MAX, (uint32_t)made };
	}
	return 0;
}

/* Moves a queued prompt up, after the preceding reply or result. */
static void lift_queued(struct cleaner *c)
{
	size_t from = 0;

	for (size_t i = 0; i <= c->nr_items; i++)
		if (i == c->nr_items || is_assistant(c, &c->items[i]) || has_results(c, &c->items[i])) {
			put_first(c, from, i, is_queued);
			from = i + 1;
		}
}

static void drop_errors(struct cleaner *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_items; i++)
		if (!state_of(c, &c->items[i]) || !state_of(c, &c->items[i])->error)
			c->items[nr++] = c->items[i];
	c->nr_items = nr;
}

static void order_runs(struct cleaner *c)
{
	for (size_t i = 0, j; i < c->nr_items; i = j) {
		bool reply = is_assistant(c, &c->items[i]);
		struct grove_slice id = { NULL, 0 };

		if (reply)
			id = grove__json_get(c->messages[c->items[i].message], "id");
		for (j = i + 1; j < c->nr_items && is_assistant(c, &c->items[j]) == reply; j++)
			if (reply && (!id.len || !grove__slice_eq(grove__json_get(c->messages[c->items[j].message],
										 "id"), id)))
				break;
		put_first(c, i, j, reply ? has_no_calls : has_results);
	}
}

/* --- telling --- */

/* The message without the blocks that are not sent, with its calls at the end. */
struct keeper {
	const struct state *s;
	const struct block *next;
	struct grove_buf *out;
	bool calls;               /* this pass writes calls; the one before, all others */
	bool any;
};

static int keep_block(void *payload, struct grove_slice type, struct grove_slice id,
		      struct grove_slice json)
{
	struct keeper *k = payload;
	bool call = grove__json_string_is(type, "tool_use");
	bool paired = true;
	int rc = 0;

	(void)id;
	if (call || grove__json_string_is(type, "tool_result"))
		paired = k->next++->paired;
	if (!paired || call != k->calls || (k->s->nameless && is_thinking(type)))
		return 0;
	if (k->any)
		rc = grove__buf_add_char(k->out, ',');
	k->any = true;
	return rc ? rc : grove__buf_add_slice(k->out, json);
}

static int report_message(struct cleaner *c, size_t i)
{
	const struct state *s = &c->states[i];
	struct grove_slice m = c->messages[i], content = grove__json_get(m, "content");
	struct keeper k = { .s = s, .out = &c->out };
	bool as_it_is = !s->mixed && !s->nameless;
	int rc;

	for (uint32_t j = 0; j < s->nr; j++)
		as_it_is &= c->blocks[s->first + j].paired;
	if (as_it_is)
		return c->fn(c->payload, i, m);
	grove__buf_clear(&c->out);
	rc = grove__buf_add(&c->out, m.ptr, (size_t)(content.ptr - m.ptr) + 1);
	for (int pass = 0; pass < 2 && !rc; pass++) {
		k.next = c->blocks + s->first;
		k.calls = pass;
		rc = grove__claude_blocks(content, keep_block, &k);
	}
	if (!rc)
		rc = grove__buf_add_char(&c->out, ']');
	if (!rc)
		rc = grove__buf_add(&c->out, content.ptr + content.len,
				    (size_t)(m.ptr + m.len - content.ptr) - content.len);
	return rc ? rc : c->fn(c->payload, i, grove__buf_slice(&c->out));
}

/* Local commands run below an open prompt do not come before its answer. */
static size_t open_end(const struct cleaner *c)
{
	size_t i = c->nr;

	while (i && c->marks && c->marks[i - 1] & CLAUDE_MARK_COMMAND)
		i--;
	return i;
}

static int tell_all(struct cleaner *c)
{
	size_t last = last_one(c), end = open_end(c);
	bool open = last < c->nr && (!c->states[last].assistant || c->interrupted), said = !open;
	int rc = 0;

	for (size_t i = 0; i < c->nr_items && !rc; i++) {
		const struct item *x = &c->items[i];

		if (!said && !c->interrupted && x->message != UINT32_MAX && x->message >= end) {
			rc = c->fn(c->payload, SIZE_MAX, grove__slice_str(no_response));
			said = true;
		}
		if (rc)
			break;
		if (x->message == UINT32_MAX)
			rc = c->fn(c->payload, SIZE_MAX,
				   grove__slice(c->bytes.ptr + c->made[x->made].at, c->made[x->made].len));
		else
			rc = report_message(c, x->message);
	}
	return rc || said ? rc : c->fn(c->payload, SIZE_MAX, grove__slice_str(no_response));
}

static int clean(struct cleaner *c)
{
	int rc = note_messages(c);

	if (rc)
		return rc;
	drop_thinking(c);
	rc = pair(c);
	if (!rc)
		rc = answer_turn(c);
	if (rc)
		return rc;
	drop_unanswered(c);
	rc = lay_out(c);
	if (rc)
		return rc;
	lift_queued(c);
	drop_errors(c);
	order_runs(c);
	return tell_all(c);
}

int grove__claude_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		      int (*fn)(void *payload, size_t from, struct grove_slice json),
		      void *payload)
{
	struct cleaner c = { .messages = messages, .marks = marks, .nr = nr, .fn = fn,
			     .payload = payload };
	int rc;

	(void)now;
	if (nr > UINT32_MAX - 1)
		return GROVE_ETOOBIG;
	grove__idmap_init(&c.map, 0, id_text, &c);
	c.states = calloc(nr + 1, sizeof(*c.states));
	rc = c.states ? clean(&c) : GROVE_ENOMEM;
	free(c.states);
	free(c.blocks);
	free(c.id_end);
	free(c.made);
	free(c.items);
	free(c.spare);
	grove__buf_release(&c.ids);
	grove__buf_release(&c.bytes);
	grove__buf_release(&c.out);
	grove__idmap_release(&c.map);
	return rc;
}
