/*
 * api/search.c: the public calls of grove/search.h.
 */
#include "api/api.h"
#include "search/search_hits.h"

#include "json/out.h"

#include <stdlib.h>

static int told(struct grove_search *s, int rc, const struct grove_detail *d)
{
	return grove__api_keep(&s->detail, &s->lock, rc, d);
}

int grove_search_open(struct grove *g, unsigned flags, struct grove_search **out)
{
	struct grove_search *s = calloc(1, sizeof(*s));
	struct grove_detail d;

	*out = s;
	if (!s)
		return GROVE_ENOMEM;
	s->g = grove__world_ref(g);
	s->flags = flags;
	s->alone = flags & GROVE_SEARCH_NO_INDEX;
	pthread_mutex_init(&s->lock, NULL);
	return told(s, grove__search_refresh(s, grove__fail_clear(&d)), &d);
}

/* A callback that searches with the handle that calls it would pull the results from under it. */
static int enter_search(struct grove_search *s, struct grove_detail *d)
{
	grove__fail_clear(d);
	if (s->busy)
		return grove__fail(d, GROVE_EINVAL, NULL, "a callback must not use the search that called it");
	s->busy = true;
	return 0;
}

int grove_search_refresh(struct grove_search *s)
{
	struct grove_detail d;
	int rc = enter_search(s, &d);

	if (!rc) {
		rc = grove__search_refresh_some(s, &d);
		s->busy = false;
	}
	return told(s, rc, &d);
}

int grove_search_run(struct grove_search *s, const char *query,
		     const struct grove_search_options *opt, struct grove_hits **out)
{
	struct grove_search_options o;
	struct grove_detail d;
	int rc = enter_search(s, &d);

	*out = NULL;
	if (!rc) {
		rc = grove__sized_take(&o, sizeof(o), opt, &d);
		if (!rc)
			rc = grove__search_run(s, query, &o, out, &d);
		s->busy = false;
	}
	return told(s, rc, &d);
}

size_t grove_hits_count(const struct grove_hits *h)
{
	return h->nr;
}

const struct grove_hit *grove_hits_at(const struct grove_hits *h, size_t i)
{
	return i < h->nr ? h->hits[i] : NULL;
}

size_t grove_hits_sessions(const struct grove_hits *h)
{
	return h->nr_sessions;
}

const struct grove_hit_session *grove_hits_session_at(const struct grove_hits *h, size_t i)
{
	return i < h->nr_sessions ? h->sessions[i] : NULL;
}

int grove_hits_about(const struct grove_hits *h, struct grove_hits_about *out)
{
	int rc = grove__sized_check(out, NULL);

	if (!rc)
		grove__sized_give(out, &h->about, sizeof(h->about));
	return rc;
}

void grove_hits_free(struct grove_hits *h)
{
	grove__search_hits_free(h);
}

void grove_search_error(struct grove_search *s, struct grove_detail *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->detail;
	pthread_mutex_unlock(&s->lock);
}

void grove_search_close(struct grove_search *s)
{
	if (!s)
		return;
	grove__search_release(s);
	pthread_mutex_destroy(&s->lock);
	grove__world_unref(s->g);
	free(s);
}

/* The text around a hit, with what was found between asterisks. */
static int mark(const struct grove_hit *h, struct grove_buf *text)
{
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < h->nr_marks && !rc; i++) {
		rc = grove__buf_add(text, h->snippet.ptr + at, h->marks[i].from - at);
		rc = rc ? rc : grove__buf_add_str(text, "**");
		rc = rc ? rc : grove__buf_add(text, h->snippet.ptr + h->marks[i].from,
					      h->marks[i].to - h->marks[i].from);
		rc = rc ? rc : grove__buf_add_str(text, "**");
		at = h->marks[i].to;
	}
	return rc ? rc : grove__buf_add(text, h->snippet.ptr + at, h->snippet.len - at);
}

static const char *role_of(const struct grove_hit *h)
{
	if (h->in == GROVE_SEARCH_IN_NAMES)
		return h->kind == GROVE_KIND_NAME ? "title" : "label";
	return h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role);
}

static void put_session(struct grove__out *o, const char *key, const struct grove_hit_session *s)
{
	grove__out_open(o, key, '{');
	grove__out_string(o, "id", s->id);
	if (s->name)
		grove__out_string(o, "name", s->name);
	grove__out_string(o, "cwd", s->cwd);
	grove__out_string(o, "agent", s->agent);
	grove__out_time(o, "modified", s->modified);
	grove__out_close(o, '}');
}

int grove_hit_session_json(const struct grove_hit_session *s, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	put_session(&o, NULL, s);
	return grove__out_finish(&o);
}

const char *grove_search_match_name(enum grove_search_match match)
{
	static const char *const names[] = { "message", "session", "some" };

	return (size_t)match < sizeof(names) / sizeof(*names) ? names[match] : "";
}

int grove_hit_json(const struct grove_hit *h, struct grove_buf *out)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_fail(&o, mark(h, &text));
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "sessionId", h->session->id);
	grove__out_string(&o, "path", h->session->path);
	grove__out_string(&o, "entryId", h->entry_id);
	grove__out_string(&o, "role", role_of(h));
	grove__out_slice(&o, "snippet", grove__buf_slice(&text));
	grove__out_double(&o, "score", (double)(int64_t)(h->score * 10000 + 0.5) / 10000);
	grove__out_bool(&o, "onActivePath", h->on_active_path);
	grove__out_bool(&o, "inContext", h->in_context);
	grove__out_number(&o, "copies", h->copies);
	grove__out_string(&o, "match", grove_search_match_name(h->match));
	if (h->nr_missing) {
		grove__out_open(&o, "missing", '[');
		for (size_t i = 0; i < h->nr_missing; i++)
			grove__out_string(&o, NULL, h->missing[i]);
		grove__out_close(&o, ']');
	}
	put_session(&o, "session", h->session);
	grove__out_close(&o, '}');
	grove__buf_release(&text);
	return grove__out_finish(&o);
}
