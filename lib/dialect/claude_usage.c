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

const struct grove__json_member grove__claude_bill_members[CLAUDE_BILL_MEMBERS] = {
	[CLAUDE_BILL_INPUT] = { "input_tokens", CLAUDE_M_USAGE },
	[CLAUDE_BILL_OUTPUT] = { "output_tokens", CLAUDE_M_USAGE },
	[CLAUDE_BILL_CACHE_READ] = { "cache_read_input_tokens", CLAUDE_M_USAGE },
	[CLAUDE_BILL_CACHE_WRITE] = { "cache_creation_input_tokens", CLAUDE_M_USAGE },
	[CLAUDE_BILL_CREATION] = { "cache_creation", CLAUDE_M_USAGE },
	[CLAUDE_BILL_LONG] = { "ephemeral_1h_input_tokens", CLAUDE_MEMBERS + CLAUDE_BILL_CREATION },
	[CLAUDE_BILL_COST] = { "costUSD", -1 },
	[CLAUDE_BILL_TO] = { "requestSessionId", -1 },
	[CLAUDE_BILL_FORKED] = { "forkedFrom", -1 },
};

static struct grove_slice member(const struct grove__json_line *l, const char *line, unsigned nr)
{
	return grove__json_span_of(l, line, CLAUDE_MEMBERS + nr);
}

static double number(const struct grove__json_line *l, const char *line, unsigned nr)
{
	return grove__bill_number(member(l, line, nr));
}

/* The cost counts in lines of old versions only. */
static void read_cost(const struct grove__json_line *l, const char *line, struct grove__billed *out)
{
	struct grove_slice version = grove__json_span_of(l, line, CLAUDE_M_VERSION);

	if (version.len > 3 && (memcmp(version.ptr, "\"0.", 3) && memcmp(version.ptr, "\"1.", 3)))
		return;
	out->has_cost = grove__json_type_of(member(l, line, CLAUDE_BILL_COST)) == JSON_NUMBER;
	out->cost = number(l, line, CLAUDE_BILL_COST);
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

int grove__claude_billed(const struct grove__json_line *l, const char *line,
			 struct grove__arena *tmp, const struct grove__entry *e,
			 struct grove__billed *out)
{
	const struct grove__claude_row *row = e->more;
	struct grove_slice usage = grove__json_span_of(l, line, CLAUDE_M_USAGE), request, none = { NULL, 0 };

	memset(out, 0, sizeof(*out));
	if (!row)
		return GROVE_ENOMEM;
	if (row->class != CLAUDE_ASSISTANT || grove__json_type_of(usage) != JSON_OBJECT)
		return 1;
	out->input = number(l, line, CLAUDE_BILL_INPUT);
	out->output = number(l, line, CLAUDE_BILL_OUTPUT);
	out->cache_read = number(l, line, CLAUDE_BILL_CACHE_READ);
	out->cache_write = number(l, line, CLAUDE_BILL_CACHE_WRITE);
	out->cache_write_long = number(l, line, CLAUDE_BILL_LONG);
	read_cost(l, line, out);
	out->time = row->time;
	out->model = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_MODEL));
	out->session = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_SESSION));
	/* only copies have these members */
	out->origin = grove__pi_text(tmp, grove__claude_billed_to(member(l, line, CLAUDE_BILL_TO),
								  member(l, line, CLAUDE_BILL_FORKED), none));
	if (!row->reply.len)
		return 0;
	request = grove__pi_text(tmp, grove__json_span_of(l, line, CLAUDE_M_REQUEST));
	return grove__bill_key(tmp, row->reply, request, &out->key);
}
