/* view/weight.c: how much of a context each kind of text takes. */
#include "view/weight.h"

#include "json/value.h"

/* The estimate for an image, whatever its size. */
#define IMAGE_TOKENS 1500
#define TOKEN_BYTES 4

void grove__weight_init(struct grove__weight *w)
{
	memset(w, 0, sizeof(*w));
	w->summary = GROVE_NO_ENTRY;
	for (unsigned i = 0; i < GROVE__PARTS; i++)
		w->part[i].part = (enum grove_part)i;
}

void grove__weight_release(struct grove__weight *w)
{
	grove__buf_release(&w->model);
}

static uint64_t count_bytes(struct grove__weight *w, enum grove_part part, size_t bytes)
{
	uint64_t tokens = part == GROVE_PART_IMAGES ? IMAGE_TOKENS : (bytes + TOKEN_BYTES - 1) / TOKEN_BYTES;

	w->part[part].bytes += bytes;
	w->part[part].tokens += tokens;
	w->part[part].count++;
	return tokens;
}

/* Returns the bytes of a value without JSON's quotes and brackets. */
static size_t length(struct grove_slice raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"' ? raw.len - 2 : raw.len;
}

enum { TYPE, CONTENT, TEXT, THINKING, DATA, INPUT, ARGUMENTS, MEMBERS };
static const char *const members[MEMBERS] = { "type", "content", "text", "thinking", "data", "input", "arguments" };

static const struct {
	const char *type;
	enum grove_part part;
	int member;              /* the member that the model reads; TYPE for the whole block */
} blocks[] = {
	{ "text", GROVE_PART_OTHER, TEXT },  /* the same part as its message */
	{ "thinking", GROVE_PART_THINKING, THINKING },
	{ "redacted_thinking", GROVE_PART_THINKING, DATA },
	{ "tool_use", GROVE_PART_TOOL_CALLS, INPUT },
	{ "server_tool_use", GROVE_PART_TOOL_CALLS, INPUT },
	{ "toolCall", GROVE_PART_TOOL_CALLS, ARGUMENTS },
	{ "tool_result", GROVE_PART_TOOL_RESULTS, CONTENT },
	{ "image", GROVE_PART_IMAGES, TYPE },
	{ "document", GROVE_PART_IMAGES, TYPE },
};
#define NR_BLOCKS (sizeof(blocks) / sizeof(blocks[0]))

static size_t block_kind(struct grove_slice type)
{
	size_t i = 0;

	while (i < NR_BLOCKS && !grove__json_string_is(type, blocks[i].type))
		i++;
	return i;
}

static uint64_t add_content(struct grove__weight *w, struct grove_slice content, enum grove_part part, int depth,
			    struct grove_slice *text);

static uint64_t add_block(struct grove__weight *w, struct grove_slice block, struct grove_slice of[MEMBERS],
			  enum grove_part part, int depth)
{
	size_t i;

	/* the type usually comes first, and a text is nearly the whole block */
	if (block.len > 16 && !memcmp(block.ptr, "{\"type\":\"text\",", 15))
		return count_bytes(w, part, block.len > 25 ? block.len - 25 : 0);
	i = block_kind(of[TYPE]);
	if (i == NR_BLOCKS)
		return count_bytes(w, part, block.len);
	if (blocks[i].part == GROVE_PART_TOOL_RESULTS && !depth)
		return add_content(w, of[CONTENT], GROVE_PART_TOOL_RESULTS, 1, NULL);
	of[TYPE] = block;
	return count_bytes(w, blocks[i].part == GROVE_PART_OTHER ? part : blocks[i].part, length(of[blocks[i].member]));
}

/* *text (if not NULL) becomes the first text among blocks. */
static uint64_t add_content(struct grove__weight *w, struct grove_slice content, enum grove_part part, int depth,
			    struct grove_slice *text)
{
	struct grove_slice of[MEMBERS];
	struct grove__json_iter it;
	uint64_t tokens = 0;

	if (!content.ptr)
		return 0;
	if (grove__json_type_of(content) != JSON_ARRAY)
		return count_bytes(w, part, length(content));
	grove__json_iter_init(&it, content);
	while (grove__json_next_members(&it, members, MEMBERS, of)) {
		if (text && !text->ptr && grove__json_type_of(of[TEXT]) == JSON_STRING && length(of[TEXT]))
			*text = of[TEXT];
		tokens += add_block(w, it.value, of, part, depth);
	}
	return tokens;
}

/* Returns the part of a message that says nothing else about itself. */
static enum grove_part part_of(enum grove_role role)
{
	switch (role) {
	case GROVE_ROLE_SYSTEM:
	case GROVE_ROLE_DEVELOPER:
		return GROVE_PART_SYSTEM;
	case GROVE_ROLE_BRANCH_SUMMARY:
	case GROVE_ROLE_COMPACTION_SUMMARY:
		return GROVE_PART_SUMMARY;
	case GROVE_ROLE_USER:
		return GROVE_PART_PROMPTS;
	case GROVE_ROLE_ASSISTANT:
		return GROVE_PART_REPLIES;
	case GROVE_ROLE_TOOL_RESULT:
	case GROVE_ROLE_BASH:
	case GROVE_ROLE_PYTHON:
		return GROVE_PART_TOOL_RESULTS;
	default:
		return GROVE_PART_OTHER;
	}
}

static const struct {
	const char *name;
	enum grove_role role;
} roles[] = {
	{ "user", GROVE_ROLE_USER },
	{ "assistant", GROVE_ROLE_ASSISTANT },
	{ "toolResult", GROVE_ROLE_TOOL_RESULT },
	{ "tool", GROVE_ROLE_TOOL_RESULT },
	{ "bashExecution", GROVE_ROLE_BASH },
	{ "pythonExecution", GROVE_ROLE_PYTHON },
	{ "system", GROVE_ROLE_SYSTEM },
	{ "developer", GROVE_ROLE_DEVELOPER },
	{ "branchSummary", GROVE_ROLE_BRANCH_SUMMARY },
	{ "compactionSummary", GROVE_ROLE_COMPACTION_SUMMARY },
};

static enum grove_role role_of(struct grove_slice raw)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (grove__json_string_is(raw, roles[i].name))
			return roles[i].role;
	return GROVE_ROLE_OTHER;
}

enum { TOKEN_MEMBERS = 4 };

static uint64_t sum_of(struct grove_slice usage, const char *const names[TOKEN_MEMBERS])
{
	struct grove_slice of[TOKEN_MEMBERS];
	uint64_t sum = 0;

	grove__json_get_all(usage, names, TOKEN_MEMBERS, of);
	for (size_t i = 0; i < TOKEN_MEMBERS; i++) {
		double n = grove__json_type_of(of[i]) == JSON_NUMBER ? grove__json_number(of[i]) : 0;

		if (n > 0 && n < 1e15)
			sum += (uint64_t)n;
	}
	return sum;
}

/*
 * Returns the tokens that a reply was billed for, including everything before it: in pi's
 * members, or else in Claude's.
 */
static uint64_t billed(struct grove_slice usage)
{
	static const char *const pi[TOKEN_MEMBERS] = { "input", "output", "cacheRead", "cacheWrite" };
	static const char *const claude[TOKEN_MEMBERS] = { "input_tokens", "output_tokens", "cache_read_input_tokens",
							   "cache_creation_input_tokens" };
	/* Claude's usage usually begins with this, and has none of the others */
	uint64_t sum = grove__slice_starts(usage, "{\"input_tokens\"") ? 0 : sum_of(usage, pi);

	return sum ? sum : sum_of(usage, claude);
}

/* The usage of a reply that was broken off is unreliable. */
static bool broken_off(struct grove_slice stop)
{
	return grove__json_string_is(stop, "aborted") || grove__json_string_is(stop, "error");
}

int grove__weight_add(struct grove__weight *w, struct grove_slice message, struct grove__message_members *m,
		      uint32_t row, enum grove_role role, uint64_t *tokens)
{
	enum grove_part part;
	uint64_t in_use;

	if (role != GROVE_ROLE_COMPACTION_SUMMARY && role != GROVE_ROLE_BRANCH_SUMMARY)
		role = role_of(m->role);
	part = part_of(role);
	if (!m->content.ptr && !m->summary.ptr && !m->output.ptr)
		*tokens = count_bytes(w, part, message.len);
	else
		*tokens = add_content(w, m->content, part, 0, &m->text) + add_content(w, m->summary, part, 0, NULL) +
			  add_content(w, m->output, part, 0, NULL);
	m->walked = true;
	if (role == GROVE_ROLE_COMPACTION_SUMMARY) {
		w->summary = row;
		w->billed = 0;
	}
	w->since += *tokens;
	if (role != GROVE_ROLE_ASSISTANT)
		return 0;
	/* what a compaction keeps was billed before it */
	in_use = broken_off(m->stop_reason) || (w->summary != GROVE_NO_ENTRY && row < w->summary) ? 0 : billed(m->usage);
	if (in_use) {
		w->billed = in_use;
		w->since = 0;
	}
	grove__buf_clear(&w->model);
	return m->model.ptr ? grove__buf_add_slice(&w->model, m->model) : 0;
}

uint64_t grove__weight_used(const struct grove__weight *w, bool *estimated)
{
	uint64_t sum = 0;

	*estimated = !w->billed;
	for (unsigned i = 0; i < GROVE__PARTS; i++)
		sum += w->part[i].tokens;
	return w->billed ? w->billed + w->since : sum;
}

/*
 * No agent records the size of its model's context, and vendors change it without a trace
 * in the session. So it is unknown, except that Claude Code marks a model with a window of
 * a million tokens.
 */
uint64_t grove__weight_limit(const struct grove__weight *w)
{
	static const char mark[] = "[1m]";

	return w->model.len && memmem(w->model.ptr, w->model.len, mark, strlen(mark)) ? 1000000 : 0;
}
