/*
 * usage.c: GET /usage: tokens and cost of all sessions, and of one over time.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "kit/dates.h"
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

/* In the order of enum grove_usage_by. */
static const char *const groups[] = { "day", "model", "session", "project", "agent", "week", "month", "block", "turn", NULL };
enum { TURN = GROVE_USAGE_BLOCK + 1 };  /* for one session only */

static int read_options(struct request *r, struct grove_usage_options *o)
{
	static const char *const stacks[] = { "model", NULL };
	int which = 0, stack = -1;
	uint64_t limit = 0;
	char why[256];
	int rc = query_choice(r, "by", groups, &which);

	if (!rc && which == TURN)
		rc = reply_fail(r, GROVE_EINVAL, "by cannot be 'turn'");
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

static int put_usage(struct request *r, const struct grove_usage_options *o)
{
	struct grove_usage *u = NULL;
	int rc = grove_usage(r->g, o, &u);

	rc = rc ? reply_fail_grove(r, rc) : grove_usage_json(u, &r->out.buf);
	grove_usage_free(u);
	return rc;
}

int get_usage(struct request *r)
{
	struct grove_usage_options o = { .size = sizeof(o) };
	int rc = read_options(r, &o);

	if (rc)
		return rc;
	/* the totals cover all sessions */
	if (auth_limited(&r->who))
		return reply_fail(r, GROVE_EACCESS, "this token is limited to some sessions");
	return put_usage(r, &o);
}

/* What a session is billed for, as in a list; that of a sub-agent is in its session's. */
static int get_billed(struct request *r, int by)
{
	struct grove_usage_options o = { .size = sizeof(o), .by = (enum grove_usage_by)by };
	struct held *h = NULL;
	int rc = read_zone(r, &o.tz);

	if (!rc)
		rc = hold(r, 0, &h);
	if (rc)
		return rc;
	o.session = h->id;
	rc = put_usage(r, &o);
	hold_release(r, h);
	return rc;
}

int get_session_usage(struct request *r)
{
	struct grove_view *v = NULL;
	struct held *h = NULL;
	int which = TURN, rc = query_choice(r, "by", groups, &which);

	if (!rc && which != TURN)
		return get_billed(r, which);

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
