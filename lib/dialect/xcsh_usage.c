/*
 * dialect/xcsh_usage.c: what xcsh and oh-my-pi say they were billed for.
 *
 * The result of a task has the total usage of its sub-agents, each of which also has its
 * own log in the session's directory.
 */
#include "dialect/bill.h"

#include "json/value.h"

int grove__xcsh_billed(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		       const struct grove__entry *e, struct grove__billed *out)
{
	int rc;

	if (e->kind != GROVE_KIND_MESSAGE)
		return 1;
	if (e->role == GROVE_ROLE_ASSISTANT)
		return grove__pi_bill(l, line, tmp, e, PI_BILL_MESSAGE_USAGE,
				      grove__pi_bill_member(l, line, PI_BILL_MESSAGE_MODEL), out);
	if (e->role != GROVE_ROLE_TOOL_RESULT ||
	    !grove__json_string_is(grove__pi_bill_member(l, line, PI_BILL_TOOL), "task"))
		return 1;
	rc = grove__pi_bill(l, line, tmp, e, PI_BILL_DETAILS_USAGE, grove__slice(NULL, 0), out);
	out->of_subs = true;
	return rc;
}
