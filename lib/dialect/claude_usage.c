/*
 * dialect/claude_usage.c: what a line of a transcript was billed for.
 *
 * A reply is written as a line for each of its blocks, all with the usage that was
 * known by then; message and request ids show that they are one. Until about 1.0 a line
 * had its cost as well.
 */
#include "dialect/bill.h"
#include "dialect/claude.h"

#include "dialect/pi.h"
#include "json/value.h"

static void read_usage(struct grove_slice usage, struct grove__billed *out)
{
	struct grove__json_iter it;

	grove__json_iter_init(&it, usage);
	while (grove__json_next(&it)) {
		if (grove__json_string_is(it.key, "input_tokens"))
			out->input = grove__bill_number(it.value);
		else if (grove__json_string_is(it.key, "output_tokens"))
			out->output = grove__bill_number(it.value);
		else if (grove__json_string_is(it.key, "cache_read_input_tokens"))
			out->cache_read = grove__bill_number(it.value);
		else if (grove__json_string_is(it.key, "cache_creation_input_tokens"))
			out->cache_write = grove__bill_number(it.value);
		else if (grove__json_string_is(it.key, "cache_creation"))
			out->cache_write_long = grove__bill_number(
				grove__json_get(it.value, "ephemeral_1h_input_tokens"));
	}
}

/*
 * The table of members is full, so this one is looked up separately, and only in lines of
 * old versions.
 */
static void read_cost(const struct grove__json_line *l, const char *line, struct grove__billed *out)
{
	struct grove_slice version = grove__json_span_of(l, line, CLAUDE_M_VERSION), cost;

	if (version.len > 3 && (memcmp(version.ptr, "\"0.", 3) && memcmp(version.ptr, "\"1.", 3)))
		return;
	cost = grove__json_get(grove__slice(line + l->value.off, (size_t)l->value.len), "costUSD");
	out->has_cost = grove__json_type_of(cost) == JSON_NUMBER;
	out->cost = grove__bill_number(cost);
}

struct grove_slice grove__claude_billed_to(struct grove_slice request, struct grove_slice origin,
					   struct grove_slice session)
{
	if (grove__json_type_of(request) == JSON_STRING)
		return request;
	request = grove__json_get(origin, "sessionId");
	if (grove__json_type_of(request) == JSON_STRING)
		return request;
	return grove__json_type_of(session) == JSON_STRING ? session : grove__slice(NULL, 0);
}

/* Is the name in these bytes? Its letter `at` is rare, so this is faster than memmem(), which prepares a table. */
static bool has_name(const char *from, const char *end, const char *name, size_t at)
{
	size_t len = strlen(name);

	for (const char *p = from; (p = memchr(p, name[at], (size_t)(end - p))); p++)
		if ((size_t)(p - from) >= at && (size_t)(end - p) >= len - at && !memcmp(p - at, name, len))
			return true;
	return false;
}

static bool has_origin(const char *from, const char *end)
{
	return has_name(from, end, "requestSessionId", strlen("re")) || has_name(from, end, "forkedFrom", strlen("forked"));
}

/* Only copies have these members, so they are not in the table either. */
static struct grove_slice billed_elsewhere(const struct grove__json_line *l, const char *line)
{
	struct grove_slice value = grove__slice(line + l->value.off, (size_t)l->value.len);
	static const char *const members[] = { "requestSessionId", "forkedFrom" };
	struct grove_slice message = grove__json_span_of(l, line, CLAUDE_M_MESSAGE), none = { NULL, 0 }, found[2];
	const char *end = value.ptr + value.len;

	/* most of the line is the message */
	if (message.ptr ? !has_origin(value.ptr, message.ptr) && !has_origin(message.ptr + message.len, end)
			: !has_origin(value.ptr, end))
		return none;
	grove__json_get_all(value, members, 2, found);
	return grove__claude_billed_to(found[0], found[1], none);
}

int grove__claude_billed(const struct grove__json_line *l, const char *line,
			 struct grove__arena *tmp, const struct grove__entry *e,
			 struct grove__billed *out)
{
	const struct grove__claude_row *row = e->more;
	struct grove_slice usage = grove__json_span_of(l, line, CLAUDE_M_USAGE), request;

	memset(out, 0, sizeof(*out));
	if (!row)
		return GROVE_ENOMEM;
	if (row->class != CLAUDE_ASSISTANT || grove__json_type_of(usage) != JSON_OBJECT)
		return 1;
	read_usage(usage, out);
	read_cost(l, line, out);
	out->time = row->time;
	out->model = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_MODEL));
	out->session = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_SESSION));
	out->origin = grove__pi_text(tmp, billed_elsewhere(l, line));
	if (!row->reply.len)
		return 0;
	request = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_REQUEST));
	return grove__bill_key(tmp, row->reply, request, &out->key);
}
