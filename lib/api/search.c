/*
 * api/search.c: the part of grove.h about searching.
 */
#include "api/api.h"
#include "search/search.h"

#include "json/out.h"

#include <stdlib.h>

static int told(struct grove_search *s, int rc, const struct grove_detail *d)
{
	if (rc < 0) {
		pthread_mutex_lock(&s->lock);
		s->detail = *d;
		s->detail.code = rc;
		pthread_mutex_unlock(&s->lock);
	}
	return rc;
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
	grove__fail_clear(&d);
	return told(s, grove__search_refresh(s, &d), &d);
}

/* A callback that searches with the handle that calls it would pull the results from under it. */
static int begin(struct grove_search *s, struct grove_detail *d)
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
	int rc = begin(s, &d);

	if (!rc) {
		rc = grove__search_refresh(s, &d);
		s->busy = false;
	}
	return told(s, rc, &d);
}

int grove_search_run(struct grove_search *s, const char *query,
		     const struct grove_search_options *opt, grove_hit_fn *fn, void *payload)
{
	struct grove_search_options o;
	struct grove_detail d;
	int rc = begin(s, &d);

	if (!rc) {
		rc = grove__sized_take(&o, sizeof(o), opt, &d);
		if (!rc)
			rc = grove__search_run(s, query, &o, fn, payload, &d);
		s->busy = false;
	}
	return told(s, rc, &d);
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

int grove_hit_json(const struct grove_hit *h, struct grove_buf *out)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_fail(&o, mark(h, &text));
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "sessionId", h->session_id);
	grove__out_string(&o, "path", h->path);
	grove__out_string(&o, "entryId", h->entry_id);
	grove__out_string(&o, "role",
			  h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role));
	grove__out_slice(&o, "snippet", grove__buf_slice(&text));
	grove__out_double(&o, "score", (double)(int64_t)(h->score * 10000 + 0.5) / 10000);
	grove__out_bool(&o, "onActivePath", h->on_active_path);
	grove__out_bool(&o, "inContext", h->in_context);
	grove__out_close(&o, '}');
	grove__buf_release(&text);
	return grove__out_finish(&o);
}
