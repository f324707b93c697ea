/*
 * api/live.c: the public calls for watches, leases and values.
 */
#include "api/api.h"
#include "json/out.h"
#include "session/about.h"
#include "session/append.h"
#include "session/leaf.h"
#include "watch/watch.h"
#include "sys/event.h"

#include <stdlib.h>

static const char *const event_names[] = {
	[GROVE_EVENT_APPEND] = "append", [GROVE_EVENT_UPDATE] = "update", [GROVE_EVENT_LEAF] = "leaf",
	[GROVE_EVENT_RENAME] = "rename", [GROVE_EVENT_RESET] = "reset", [GROVE_EVENT_DELETE] = "delete",
	[GROVE_EVENT_CREATE] = "create", [GROVE_EVENT_CHANGE] = "change", [GROVE_EVENT_REMOVE] = "remove",
};

const char *grove_event_name(enum grove_event_kind kind)
{
	return (size_t)kind < sizeof(event_names) / sizeof(*event_names) ? event_names[kind] : "unknown";
}

int grove_event_json(const struct grove_event *event, struct grove_buf *out)
{
	struct grove_event e;
	struct grove__out o;
	int rc = grove__sized_take(&e, sizeof(e), event, NULL);

	if (rc)
		return rc;
	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_number(&o, "rev", e.rev);
	grove__out_string(&o, "kind", grove_event_name(e.kind));
	grove__out_string(&o, "sessionId", e.session_id);
	grove__out_string(&o, "entryId", e.entry_id);
	if (e.seq == GROVE_NO_SEQ)
		grove__out_string(&o, "seq", NULL);
	else
		grove__out_number(&o, "seq", e.seq);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* ------------------------------------------------------------------ watches */

static int watch_told(struct grove_watch *w, int rc, const struct grove_detail *d)
{
	return grove__api_keep(&w->detail, NULL, rc, d);
}

int grove_watch_open(struct grove *g, const struct grove_watch_options *opt, struct grove_watch **out)
{
	struct grove_watch *w = calloc(1, sizeof(*w));
	struct grove_watch_options o;
	struct grove_detail d;
	int taken, rc;

	*out = w;
	if (!w)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	/* of options without a size nothing is taken: the handle is there to be asked */
	taken = grove__sized_take(&o, sizeof(o), opt, &d);
	rc = grove__watch_open(g, &o, w, &d);
	return watch_told(w, taken ? taken : rc, &d);
}

int grove_watch_add(struct grove_watch *w, const char *what, uint64_t since, void *tag)
{
	struct grove__where at;
	struct grove_detail d;
	int rc = grove__locate(w->g, what, &at, grove__fail_clear(&d));

	if (!rc) {
		rc = grove__watch_add(w, &at, since, tag, &d);
		grove__where_release(&at);
	}
	return watch_told(w, rc, &d);
}

int grove_watch_remove(struct grove_watch *w, const void *tag)
{
	struct grove_detail d;

	return watch_told(w, grove__watch_remove(w, tag, grove__fail_clear(&d)), &d);
}

int grove_watch_fd(const struct grove_watch *w)
{
	return w->many;
}

int grove_watch_view(struct grove_watch *w, struct grove_view **out)
{
	struct grove_detail d;

	return watch_told(w, grove__watch_view(w, out, grove__fail_clear(&d)), &d);
}

int grove_watch_before(struct grove_watch *w, uint64_t *rev)
{
	struct grove_detail d;

	return watch_told(w, grove__watch_list_before(w, rev, grove__fail_clear(&d)), &d);
}

int grove_watch_cursor(struct grove_watch *w, struct grove_buf *out)
{
	struct grove_detail d;

	return watch_told(w, grove__watch_cursor(w, out, grove__fail_clear(&d)), &d);
}

int grove_watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out)
{
	struct grove_event e = { .size = sizeof(e) };
	struct grove_detail d;
	int rc = grove__sized_check(out, grove__fail_clear(&d));

	if (!rc)
		rc = grove__watch_next(w, ms, &e, &d);
	grove__sized_give(out, &e, sizeof(e));
	return watch_told(w, rc, &d);
}

void grove_watch_wake(struct grove_watch *w)
{
	grove__sys_bell_ring(w->bell);
}

void grove_watch_error(struct grove_watch *w, struct grove_detail *out)
{
	*out = w->detail;
}

void grove_watch_close(struct grove_watch *w)
{
	if (!w)
		return;
	grove__watch_release(w);
	free(w);
}

/* ---------------------------------------------------- leases, values, paths */

/* A lease is the log's, so there must be one. */
static int leasable(struct grove_session *s, const struct grove_lease *out, struct grove_detail *d)
{
	int rc = grove__sized_check(out, d);

	if (!rc && (s->deferral.store || !s->log))
		rc = grove__fail(d, GROVE_ENOTSUP, s->at.path, "nothing of the session is stored yet");
	return rc;
}

/* Takes the lease for `owner`; NULL: extends the one that this handle has. */
static int hold_lease(struct grove_session *s, const char *owner, int64_t ms, struct grove_lease *out,
		      struct grove_detail *d)
{
	struct grove_lease held = { .size = sizeof(held) };
	int rc = leasable(s, out, d);

	rc = rc ? rc : grove__session_writable(s, d);
	if (!rc && ms <= 0)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "the duration of a lease must be positive");
	if (!rc)
		rc = owner ? grove__log_lease_take(s->log, owner, ms, &held, d)
			   : grove__log_lease_renew(s->log, ms, &held, d);
	if (!rc)
		grove__sized_give(out, &held, sizeof(held));
	return rc;
}

static int release_lease(struct grove_session *s, struct grove_detail *d)
{
	int rc = leasable(s, NULL, d);

	rc = rc ? rc : grove__session_writable(s, d);
	return rc ? rc : grove__log_lease_release(s->log, d);
}

static int get_lease(struct grove_session *s, struct grove_lease *out, struct grove_detail *d)
{
	struct grove_lease held = { .size = sizeof(held) };
	int rc = leasable(s, out, d);

	rc = rc ? rc : grove__log_lease_get(s->log, &held, d);
	if (!rc)
		grove__sized_give(out, &held, sizeof(held));
	return rc;
}

int grove_session_lease_take(struct grove_session *s, const char *owner, int64_t ms,
			     struct grove_lease *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, hold_lease(s, owner ? owner : "", ms, out, &d));
}

int grove_session_lease_renew(struct grove_session *s, int64_t ms, struct grove_lease *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, hold_lease(s, NULL, ms, out, &d));
}

int grove_session_lease_release(struct grove_session *s)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, release_lease(s, &d));
}

int grove_session_lease_get(struct grove_session *s, struct grove_lease *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, get_lease(s, out, &d));
}

int grove_session_resume(struct grove_session *s, const struct grove_command **out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__session_resume(s, out, &d));
}

int grove_opener_each(struct grove *g, const char *what, grove_opener_fn *fn, void *payload)
{
	struct grove_detail d;

	return grove__api_told(g, grove__openers(g, what, fn, payload, grove__fail_clear(&d)), &d);
}

int grove_session_value_put(struct grove_session *s, const char *name, struct grove_slice value)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__kept_put_value(s, name, value, &d));
}

int grove_session_value_get(struct grove_session *s, const char *name, struct grove_buf *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__kept_value(s, name, out, &d));
}
