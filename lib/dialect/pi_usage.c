/*
 * dialect/pi_usage.c: what the lines of the pi family were billed for.
 *
 *	{"type":"message",…,"message":{"role":"assistant","model":…,"usage":{"input":…,"output":…,
 *	 "cacheRead":…,"cacheWrite":…,"totalTokens":…,"cost":{…,"total":…}},"timestamp":…}}
 *
 * A fork keeps the id of an entry and the time of its message: these two identify a
 * copy. A line without an id is a copy of one with the same bytes.
 */
#include "dialect/bill.h"
#include "dialect/pi.h"

#include "json/value.h"

#define USAGE(at, in) \
	[at] = { "usage", in }, \
	[(at) + 1 + PI_USED_INPUT] = { "input", PI_MEMBERS + (at) }, \
	[(at) + 1 + PI_USED_OUTPUT] = { "output", PI_MEMBERS + (at) }, \
	[(at) + 1 + PI_USED_CACHE_READ] = { "cacheRead", PI_MEMBERS + (at) }, \
	[(at) + 1 + PI_USED_CACHE_WRITE] = { "cacheWrite", PI_MEMBERS + (at) }, \
	[(at) + 1 + PI_USED_COST] = { "cost", PI_MEMBERS + (at) }, \
	[(at) + 1 + PI_USED_TOTAL] = { "total", PI_MEMBERS + (at) + 1 + PI_USED_COST }

const struct grove__json_member grove__pi_bill_members[PI_BILL_MEMBERS] = {
	USAGE(PI_BILL_USAGE, -1),
	USAGE(PI_BILL_MESSAGE_USAGE, PI_MESSAGE),
	[PI_BILL_MODEL] = { "model", -1 },
	[PI_BILL_MESSAGE_MODEL] = { "model", PI_MESSAGE },
	[PI_BILL_TOOL] = { "toolName", PI_MESSAGE },
	[PI_BILL_DETAILS] = { "details", PI_MESSAGE },
	USAGE(PI_BILL_DETAILS_USAGE, PI_MEMBERS + PI_BILL_DETAILS),
};

struct grove_slice grove__pi_bill_member(const struct grove__json_line *l, const char *line,
					 unsigned member)
{
	return grove__json_span_of(l, line, PI_MEMBERS + member);
}

static double number(const struct grove__json_line *l, const char *line, unsigned member)
{
	return grove__bill_number(grove__pi_bill_member(l, line, member));
}

static void read_usage(const struct grove__json_line *l, const char *line, unsigned usage, struct grove__billed *out)
{
	unsigned at = usage + 1;

	out->input = number(l, line, at + PI_USED_INPUT);
	out->output = number(l, line, at + PI_USED_OUTPUT);
	out->cache_read = number(l, line, at + PI_USED_CACHE_READ);
	out->cache_write = number(l, line, at + PI_USED_CACHE_WRITE);
	out->has_cost = grove__json_type_of(grove__pi_bill_member(l, line, at + PI_USED_TOTAL)) == JSON_NUMBER;
	out->cost = number(l, line, at + PI_USED_TOTAL);
}

int grove__pi_bill(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		   const struct grove__entry *e, unsigned usage, struct grove_slice model,
		   struct grove__billed *out)
{
	struct grove_slice time = grove__json_span_of(l, line, PI_MESSAGE_TIME);

	memset(out, 0, sizeof(*out));
	if (grove__json_type_of(grove__pi_bill_member(l, line, usage)) != JSON_OBJECT)
		return 1;
	read_usage(l, line, usage, out);
	out->model = grove__pi_text(tmp, model);
	out->time = e->time;
	if (out->time == GROVE_NO_TIME && time.len)
		out->time = grove__pi_date(tmp, time);
	if (!e->has_id) {
		out->key = grove__slice(line + l->value.off, (size_t)l->value.len);
		return 0;
	}
	if (!time.len)
		time = grove__json_span_of(l, line, PI_TIME);
	return grove__bill_key(tmp, e->id, time, &out->key);
}

int grove__pi_billed(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		     const struct grove__entry *e, struct grove__billed *out)
{
	switch (e->kind) {
	case GROVE_KIND_MESSAGE:
		/* a tool may use a model, too */
		if (e->role != GROVE_ROLE_ASSISTANT && e->role != GROVE_ROLE_TOOL_RESULT)
			return 1;
		return grove__pi_bill(l, line, tmp, e, PI_BILL_MESSAGE_USAGE,
				      grove__pi_bill_member(l, line, PI_BILL_MESSAGE_MODEL), out);
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
	case GROVE_KIND_USAGE:
		return grove__pi_bill(l, line, tmp, e, PI_BILL_USAGE,
				      grove__pi_bill_member(l, line, PI_BILL_MODEL), out);
	default:
		return 1;
	}
}
