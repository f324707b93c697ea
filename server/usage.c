/*
 * usage.c: GET /usage: tokens and cost of all sessions, and of one over time.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "programs/dates.h"
#include "reply.h"
#include "route.h"

int read_zone(struct request *r, const char **tz)
{
	int offset;

	*tz = query_text(r, "tz");
	if (!*tz)
		*tz = "";
	return grove_zone_offset(*tz, 0, &offset) ? reply_fail(r, GROVE_EINVAL, "%.64s: unknown time zone", *tz) : 0;
}

static int read_options(struct request *r, struct grove_usage_options *o)
{
	static const char *const by[] = { "day", "model", "session", "project", "agent", "week", "month", "block", NULL };
	static const char *const stacks[] = { "model", NULL };
	int which = 0, stack = -1;
	uint64_t limit = 0;
	char why[256];
	int rc = query_choice(r, "by", by, &which);

	if (!rc)
		rc = query_choice(r, "stack", stacks, &stack);
	if (!rc)
		rc = query_number(r, "limit", &limit);
	if (!rc)
		rc = read_zone(r, &o->tz);
	if (!rc && date_period(query_text(r, "since"), query_text(r, "until"), o->tz, &o->period, why, sizeof(why)))
		rc = reply_fail(r, GROVE_EINVAL, "%s", why + 2);  /* skip the dashes */
	o->by = (enum grove_usage_by)which;
	o->flags = stack < 0 ? 0 : GROVE_USAGE_STACK;
	o->limit = limit < SIZE_MAX ? (size_t)limit : 0;
	o->project = query_text(r, "project");
	o->agent = query_text(r, "agent");
	return rc;
}

int get_usage(struct request *r)
{
	struct grove_usage_options o = { .size = sizeof(o) };
	struct grove_usage *u = NULL;
	int rc = read_options(r, &o);

	if (rc)
		return rc;
	/* the totals cover all sessions */
	if (auth_limited(&r->who))
		return reply_fail(r, GROVE_EACCESS, "this token is limited to some sessions");
	rc = grove_usage(r->g, &o, &u);
	if (rc)
		rc = reply_fail_grove(r, rc);
	else
		rc = grove_usage_json(u, &r->out.buf);
	grove_usage_free(u);
	return rc;
}

int get_session_usage(struct request *r)
{
	static const char *const by[] = { "turn", NULL };
	struct grove_view *v = NULL;
	struct held *h = NULL;
	int which = 0, rc = query_choice(r, "by", by, &which);

	if (!rc)
		rc = hold(r, 0, &h);
	if (!rc)
		rc = hold_view(r, h, &v);
	if (!rc) {
		rc = grove_view_usage(v, grove_buf_sink(&r->out.buf));
		if (rc)
			rc = reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc;
}
