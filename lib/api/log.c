/*
 * api/log.c: the public calls of grove/log.h.
 */
#include "api/api.h"
#include "keyed/keyed.h"

#include <stdlib.h>

#define MEMBER_MAX 31

/* The detail goes to the log and, if the caller has a place for it, there. */
static int told(struct grove_log *l, int rc, const struct grove_detail *d, struct grove_detail *why)
{
	if (why)
		grove__api_keep(why, NULL, rc, d);
	return grove__api_keep(&l->detail, &l->lock, rc, d);
}

int grove_log_open(struct grove *g, const char *store, const struct grove_key *key, unsigned flags,
		   struct grove_log **out)
{
	struct grove_log *l = calloc(1, sizeof(*l));
	struct grove_detail d;
	int rc;

	*out = l;
	if (!l)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	rc = grove__keyed_open(g, store, key, flags, l, &d);
	l->failed = rc != 0;
	grove__api_told(g, rc, &d);
	return told(l, rc, &d, NULL);
}

void grove_log_close(struct grove_log *l)
{
	if (!l)
		return;
	grove__keyed_close(l);
	free(l);
}

void grove_log_error(struct grove_log *l, struct grove_detail *out)
{
	pthread_mutex_lock(&l->lock);
	*out = l->detail;
	pthread_mutex_unlock(&l->lock);
}

/* Begins a call on a log. */
static int usable(const struct grove_log *l, struct grove_detail *d)
{
	grove__fail_clear(d);
	return l->failed ? grove__fail(d, GROVE_EINVAL, NULL, "the log could not be opened") : 0;
}

/* A call that fills in the caller's result, which says where a failure is to be reported. */
struct answer {
	struct grove_log_result r, theirs;
	struct grove_detail d;
};

static int answer_begin(struct answer *a, const struct grove_log *l, const struct grove_log_result *out)
{
	int rc = usable(l, &a->d), taken = grove__sized_take(&a->theirs, sizeof(a->theirs), out, &a->d);

	a->r = (struct grove_log_result){ .size = sizeof(a->r) };
	return taken ? taken : rc;
}

static int answer_end(struct answer *a, struct grove_log *l, int rc, struct grove_log_result *out)
{
	a->r.why = a->theirs.why;
	if (!rc)
		grove__sized_give(out, &a->r, sizeof(a->r));
	return told(l, rc, &a->d, a->theirs.why);
}

static int check_member(const char *member, struct grove_detail *d)
{
	size_t n = member ? strlen(member) : 1;

	for (const char *p = member; p && *p && n; p++)
		if (*p < ' ' || *p > '~')
			n = 0;
	return n && n <= MEMBER_MAX ? 0 : grove__fail(d, GROVE_EINVAL, NULL,
						      "the name of a member with ids has 1 to %d bytes of ASCII",
						      MEMBER_MAX);
}

int grove_log_append(struct grove_log *l, const struct grove_slice *lines, size_t nr,
		     const struct grove_log_options *opt, struct grove_log_result *out)
{
	struct grove_log_options o;
	struct answer a;
	int rc = answer_begin(&a, l, out);

	if (!rc)
		rc = grove__sized_take(&o, sizeof(o), opt, &a.d);
	if (!rc)
		rc = check_member(o.id_member, &a.d);
	if (!rc)
		rc = grove__keyed_append(l, lines, nr, &o, out != NULL, &a.r, &a.d);
	return answer_end(&a, l, rc, out);
}

int grove_log_read(struct grove_log *l, uint64_t from, uint64_t to, struct grove_sink sink,
		   struct grove_log_result *out)
{
	struct answer a;
	int rc = answer_begin(&a, l, out);

	if (!rc)
		rc = grove__keyed_read(l, from, to, sink, &a.r, &a.d);
	return answer_end(&a, l, rc, out);
}

int grove_log_value_get(struct grove_log *l, const char *name, struct grove_buf *out)
{
	struct grove_detail d;
	int rc = usable(l, &d);

	if (!rc)
		rc = grove__keyed_value_get(l, name, out, &d);
	return told(l, rc, &d, NULL);
}

int grove_log_value_put(struct grove_log *l, const char *name, struct grove_slice value)
{
	struct grove_detail d;
	int rc = usable(l, &d);

	if (!rc)
		rc = grove__keyed_value_put(l, name, value, &d);
	return told(l, rc, &d, NULL);
}

struct listing {
	grove_log_fn *fn;
	void *payload;
};

static int list_item(void *payload, const struct grove_log_item *item, struct grove_store_log *log,
		     struct grove_detail *d)
{
	const struct listing *l = payload;

	(void)log;
	(void)d;
	return l->fn(l->payload, item);
}

int grove_log_each(struct grove *g, const char *store, const struct grove_key *under, unsigned flags,
		   grove_log_fn *fn, void *payload)
{
	struct listing l = { fn, payload };
	struct grove_detail d;
	int rc = grove__keyed_each(g, store, under, flags & GROVE_LOG_EACH_LINES, list_item, &l,
				   grove__fail_clear(&d));

	/* a result of `fn` is not a failure of ours */
	return d.code == rc ? grove__api_told(g, rc, &d) : rc;
}

int grove_log_remove(struct grove *g, const char *store, const struct grove_key *key)
{
	struct grove_detail d;

	return grove__api_told(g, grove__keyed_remove(g, store, key, grove__fail_clear(&d)), &d);
}
