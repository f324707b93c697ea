/*
 * api/api.c: environments, lists and sessions of grove.h.
 *
 * The public functions check their arguments, take locks and record the detail of an
 * error; the work is done in other rooms.
 */
#include "api/api.h"
#include "base/utf8.h"
#include "catalog/list.h"

#include "js/js.h"
#include "json/out.h"
#include "json/write.h"
#include "session/append.h"
#include "session/change.h"
#include "session/leaf.h"
#include "sys/zone.h"

#include <stdio.h>
#include <stdlib.h>

const char *grove_version(void)
{
	return GROVE_VERSION;
}

/* ------------------------------------------------------------------ buffers */

int grove_buf_json_string(struct grove_buf *b, struct grove_slice text)
{
	return grove__json_put_string(b, text);
}

int grove_buf_utf8(struct grove_buf *b, struct grove_slice text)
{
	return grove__utf8_repair(b, text);
}

int grove_zone_offset(const char *tz, int64_t ms, int *seconds)
{
	struct grove__zone z;
	int rc = grove__zone_open(&z, tz);

	*seconds = rc ? 0 : grove__zone_offset(&z, ms);
	grove__zone_release(&z);
	return rc;
}

int grove_buf_time(struct grove_buf *b, int64_t ms)
{
	char iso[GROVE__JS_ISO_MAX];

	return grove__buf_add(b, iso, grove__js_iso(iso, ms));
}

/* -------------------------------------------------------------- environment */

/* Every call starts with an empty detail and leaves its own in the handle. */
int grove__api_keep(struct grove_detail *kept, pthread_mutex_t *lock, int rc, const struct grove_detail *d)
{
	if (rc >= 0)
		return rc;
	if (lock)
		pthread_mutex_lock(lock);
	*kept = *d;
	kept->code = rc;
	if (lock)
		pthread_mutex_unlock(lock);
	return rc;
}

int grove__api_told(struct grove *g, int rc, const struct grove_detail *d)
{
	return grove__api_keep(&g->detail, &g->lock, rc, d);
}

int grove_open(const struct grove_options *opt, struct grove **out)
{
	struct grove *g = calloc(1, sizeof(*g));
	struct grove_detail d;
	int rc;

	*out = g;
	if (!g)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	rc = grove__world_open(g, opt, &d);
	g->last = grove__recent_listed;
	return grove__api_told(g, rc, &d);
}

void grove_close(struct grove *g)
{
	grove__world_unref(g);
}

int grove_dup(struct grove *g, struct grove **out)
{
	return grove__world_dup(g, out);
}

void grove_error(struct grove *g, struct grove_detail *out)
{
	pthread_mutex_lock(&g->lock);
	*out = g->detail;
	pthread_mutex_unlock(&g->lock);
}

void grove_set_progress(struct grove *g, struct grove_progress progress)
{
	g->progress = progress;
}

/* ------------------------------------------------------------------ listing */

struct grove_list *grove__api_list_new(struct grove *g)
{
	struct grove_list *l = calloc(1, sizeof(*l));

	if (l) {
		l->g = grove__world_ref(g);
		grove__arena_init(&l->texts);
	}
	return l;
}

int grove_list(struct grove *g, const struct grove_list_options *opt, struct grove_list **out)
{
	struct grove_list_options o;
	struct grove_list *l = grove__api_list_new(g);
	struct grove_detail d;
	int rc;

	*out = l;
	if (!l)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (!opt)
		o.flags = GROVE_LIST_ALL;
	if (!rc)
		rc = grove__list(g, &o, l, &d);
	if (!rc && o.flags & GROVE_LIST_COST)
		rc = grove__api_list_costs(g, l, &d);
	return grove__api_told(g, rc, &d);
}

int grove_find(struct grove *g, const char *what, unsigned flags, struct grove_list **out)
{
	struct grove_list *l = grove__api_list_new(g);
	struct grove_detail d;

	*out = l;
	if (!l)
		return GROVE_ENOMEM;
	return grove__api_told(g, grove__list_of_one(g, what, flags, l, grove__fail_clear(&d)), &d);
}

size_t grove_list_count(const struct grove_list *l)
{
	return l->nr;
}

const struct grove_list_item *grove_list_at(const struct grove_list *l, size_t i)
{
	return i < l->nr ? &l->info[i] : NULL;
}

int grove_list_holds(const struct grove_list *l)
{
	return grove__list_holds(l);
}

void grove_list_free(struct grove_list *l)
{
	if (!l)
		return;
	grove__list_release(l);
	grove__world_unref(l->g);
	free(l);
}

int grove_list_text(const struct grove_list *l, size_t i, struct grove_buf *out)
{
	struct grove_detail d;
	int rc;

	grove__fail_clear(&d);
	if (i >= l->nr)
		rc = grove__fail(&d, GROVE_ENOTFOUND, NULL, "the list has %zu sessions", l->nr);
	else
		rc = grove__list_said(l->g, l->info[i].at, out, &d);
	return grove__api_told(l->g, rc, &d);
}

int grove_list_value(const struct grove_list *l, size_t i, const char *name, struct grove_buf *out)
{
	struct grove_detail d;
	int rc;

	grove__fail_clear(&d);
	if (i >= l->nr)
		rc = grove__fail(&d, GROVE_ENOTFOUND, NULL, "the list has %zu sessions", l->nr);
	else
		rc = grove__list_value(l->info[i].at, name, out, &d);
	return grove__api_told(l->g, rc, &d);
}

static void put_shape(struct grove__out *o, const struct grove_list_item *i)
{
	grove__out_string(o, "leaf", i->leaf);
	grove__out_number(o, "entries", i->entries);
	grove__out_number(o, "branches", i->branches);
	grove__out_number(o, "compactions", i->compactions);
	grove__out_number(o, "malformed", i->malformed);
	grove__out_bool(o, "torn", i->torn);
	if (!i->nr_labels)
		return;
	grove__out_open(o, "labels", '[');
	for (size_t k = 0; k < GROVE_LIST_LABELS && i->labels[k]; k++)
		grove__out_string(o, NULL, i->labels[k]);
	grove__out_close(o, ']');
}

int grove_list_item_json(const struct grove_list_item *i, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string_if(&o, "path", i->path);
	grove__out_string_if(&o, "id", i->id);
	grove__out_string_if(&o, "dialect", i->dialect);
	grove__out_string_if(&o, "agent", i->agent);
	grove__out_string_if(&o, "store", i->store);
	grove__out_string_if(&o, "cwd", i->cwd);
	grove__out_string_if(&o, "name", i->name);
	grove__out_string_if(&o, "parentSession", i->parent_session);
	grove__out_time(&o, "created", i->created);
	grove__out_time(&o, "modified", i->modified);
	if (i->expires)
		grove__out_time(&o, "expires", i->expires);
	if (i->message_count != GROVE_NO_COUNT)
		grove__out_number(&o, "messageCount", i->message_count);
	grove__out_slice(&o, "firstMessage",
			 grove__slice(i->first_message ? i->first_message : "", i->first_message_len));
	grove__out_number(&o, "size", i->size);
	if (i->has_place) {
		grove__out_string_if(&o, "key", i->path && *i->path ? i->path : i->id);
		grove__out_time(&o, "fileTime", i->file_time);
	}
	if (i->archived)
		grove__out_bool(&o, "archived", true);
	if (i->has_usage) {
		grove__out_number(&o, "tokens", i->tokens);
		if (i->has_cost)
			grove__out_double(&o, "cost", i->cost);
		if (i->estimated > 0)
			grove__out_double(&o, "estimated", i->estimated);
	}
	if (i->has_shape)
		put_shape(&o, i);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove_resolve(struct grove *g, const char *what, struct grove_buf *out)
{
	struct grove__where at;
	struct grove_key key;
	struct grove_store_log *log;
	struct grove_detail d;
	int rc = grove__locate(g, what, &at, grove__fail_clear(&d));

	if (!rc) {
		key = grove__where_key(&at);
		rc = grove__log_open(&log, at.store, &key, GROVE_STORE_READ, &d);
		if (!rc)
			grove__log_close(log);
		if (!rc && grove__buf_add_str(out, at.path ? at.path : grove__where_name(&at)))
			rc = grove__fail_nomem(&d);
		grove__where_release(&at);
	}
	return grove__api_told(g, rc, &d);
}

/* ----------------------------------------------------------------- sessions */

/* The detail goes to the session and to the handle it came from. */
int grove__api_session_told(struct grove_session *s, int rc, const struct grove_detail *d)
{
	bool inside = grove__session_inside(s);

	if (rc >= 0)
		return rc;
	if (!inside)
		grove__session_lock(s);
	grove__api_keep(&s->detail, NULL, rc, d);
	if (!inside)
		grove__session_unlock(s);
	return grove__api_told(s->g, rc, d);
}

/* Begins a call that makes a session: the caller gets a handle even if the call fails. */
static int new_handle(struct grove *g, struct grove_session **out, struct grove_detail *d)
{
	grove__fail_clear(d);
	*out = grove__session_alloc(g);
	return *out ? 0 : GROVE_ENOMEM;
}

int grove_session_open(struct grove *g, const char *what, unsigned flags, struct grove_session **out)
{
	struct grove__where at;
	struct grove_detail d;
	int rc = new_handle(g, out, &d);

	if (rc)
		return rc;
	rc = grove__locate(g, what, &at, &d);
	if (!rc)
		rc = grove__session_open(g, &at, flags, *out, &d);
	return grove__api_session_told(*out, rc, &d);
}

int grove_session_create(struct grove *g, const struct grove_create_options *opt,
		      struct grove_session **out)
{
	struct grove_create_options o;
	struct grove_detail d;
	int rc = new_handle(g, out, &d);

	if (rc)
		return rc;
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (!rc)
		rc = grove__session_new(g, &o, *out, &d);
	return grove__api_session_told(*out, rc, &d);
}

int grove_session_open_recent(struct grove *g, const struct grove_create_options *opt,
			      struct grove_session **out)
{
	struct grove_create_options o;
	struct grove__where at;
	struct grove_detail d;
	int rc = new_handle(g, out, &d);

	if (rc)
		return rc;
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (rc)
		return grove__api_session_told(*out, rc, &d);
	o.flags |= GROVE_CREATE_NOTE_LAST;
	rc = grove__recent_written(g, o.cwd ? o.cwd : g->cwd, o.dir, &at, &d);
	if (!rc)
		rc = grove__session_open(g, &at, GROVE_OPEN_WRITE | GROVE_OPEN_NOTE_LAST, *out, &d);
	else if (rc == GROVE_ENOTFOUND)
		rc = grove__session_new(g, &o, *out, &d);
	return grove__api_session_told(*out, rc, &d);
}

int grove_agent_each(struct grove *g, grove_agent_fn *fn, void *payload)
{
	int rc = 0;

	(void)g;
	for (unsigned i = 0; !rc && grove__dialect_at(i); i++) {
		const struct grove__dialect *dialect = grove__dialect_at(i);

		for (const struct grove__resume *r = dialect->resume; !rc && r && r->agent; r++) {
			struct grove_agent a = { .name = r->agent, .dialect = dialect->name, .resume = r->command };

			rc = fn(payload, &a);
		}
	}
	return rc;
}

void grove_session_close(struct grove_session *s)
{
	/* views may live on, but not the thread that writes */
	if (s)
		grove__submit_close(s);
	grove__session_unref(s);
}

void grove_session_error(struct grove_session *s, struct grove_detail *out)
{
	bool inside = grove__session_inside(s);

	if (!inside)
		grove__session_lock(s);
	*out = s->detail;
	if (!inside)
		grove__session_unlock(s);
}

const char *grove_session_id(const struct grove_session *s)
{
	return s->id;
}

const char *grove_session_path(const struct grove_session *s)
{
	return s->at.path;
}

const char *grove_session_dir(const struct grove_session *s)
{
	return s->dir;
}

const char *grove_session_cwd(const struct grove_session *s)
{
	return s->cwd;
}

const char *grove_session_dialect(const struct grove_session *s)
{
	return s->at.dialect ? s->at.dialect->name : NULL;
}

const char *grove_session_agent(const struct grove_session *s)
{
	return s->at.agent;
}

unsigned grove_session_version(const struct grove_session *s)
{
	return s->version;
}

uint64_t grove_session_migrated(const struct grove_session *s)
{
	return s->migration;
}

size_t grove_session_pending(const struct grove_session *s)
{
	return s->deferral.store && !s->deferral.for_good && s->image ? s->image->spine->nr : grove__submit_count(s);
}

static int ensure(struct grove_session *s, struct grove_detail *d)
{
	int rc = grove__session_ensure(s, NULL, 0, GROVE_SYNC_NONE, d);

	return rc == GROVE_EEXIST && s->deferral.store && s->deferral.may_join ? grove__session_join(s, d) : rc;
}

int grove_session_ensure(struct grove_session *s)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, ensure(s, &d));
}

int grove_session_sync(struct grove_session *s)
{
	struct grove_detail d;

	return grove__api_session_told(s, grove__session_sync(s, grove__fail_clear(&d)), &d);
}

int grove_session_refresh(struct grove_session *s)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__session_refresh(s, &d));
}

/* ------------------------------------------------------------------- append */

int grove_session_append(struct grove_session *s, struct grove_slice json,
			 const struct grove_append_options *opt, struct grove_append_result *out)
{
	return grove_session_append_many(s, &json, 1, opt, out);
}

/* The end of every append: the result and the detail go where they are wanted. */
static int appended(struct grove_session *s, int rc, struct grove_append_result *r,
		    struct grove_append_result *out, const struct grove_detail *d)
{
	/* room that was made for lines which were there already */
	if (!r->lines.len)
		grove__buf_release(&r->lines);
	grove__sized_give(out, r, sizeof(*r));
	/* nobody else releases it */
	if (!out || out->size < offsetof(struct grove_append_result, lines) + sizeof(r->lines))
		grove__buf_release(&r->lines);
	if (r->why)
		grove__api_keep(r->why, NULL, rc, d);
	return grove__api_session_told(s, rc, d);
}

static int take_append(const struct grove_append_options *opt, struct grove_append_options *o,
		       const struct grove_append_result *out, struct grove_append_result *r,
		       struct grove_detail *d)
{
	int rc = grove__sized_take(o, sizeof(*o), opt, d);

	memset(r, 0, sizeof(*r));
	if (!rc)
		rc = grove__sized_take(r, sizeof(*r), out, d);
	/* of a result only these are the caller's */
	*r = (struct grove_append_result){ .size = sizeof(*r), .ids = r->ids, .why = r->why };
	return rc;
}

typedef int append_fn(struct grove_session *s, const struct grove_slice *json, size_t nr,
		      const struct grove_append_options *opt, struct grove_append_result *out,
		      struct grove_detail *d);

static int append_by(append_fn *append, struct grove_session *s, const struct grove_slice *json, size_t nr,
		     const struct grove_append_options *opt, struct grove_append_result *out)
{
	struct grove_append_options o;
	struct grove_append_result r;
	struct grove_detail d;
	int rc = take_append(opt, &o, out, &r, grove__fail_clear(&d));

	if (!rc)
		rc = append(s, json, nr, &o, &r, &d);
	return appended(s, rc, &r, out, &d);
}

int grove_session_append_many(struct grove_session *s, const struct grove_slice *json, size_t nr,
			      const struct grove_append_options *opt, struct grove_append_result *out)
{
	return append_by(grove__session_append, s, json, nr, opt, out);
}

int grove_session_submit(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, struct grove_append_result *out)
{
	return append_by(grove__session_submit, s, json, nr, opt, out);
}

int grove_session_flush(struct grove_session *s, enum grove_sync sync)
{
	struct grove_detail d;
	int rc = grove__session_enter(s, grove__fail_clear(&d));

	if (!rc)
		grove__session_unlock(s);
	if (!rc && sync == GROVE_SYNC_ALWAYS)
		rc = grove__session_sync(s, &d);
	return grove__api_session_told(s, rc, &d);
}

static int spell(struct grove_session *s, const struct grove__entry_spec *spec, struct grove_buf *json,
		 struct grove_detail *d)
{
	int rc = grove__session_enter(s, d);

	if (rc)
		return rc;
	rc = grove__session_load(s, d);
	if (!rc)
		rc = grove__dialect_spell(s->at.dialect, spec, json, d);
	grove__session_unlock(s);
	return rc;
}

static int append_spec(struct grove_session *s, const struct grove__entry_spec *spec,
		       const struct grove_append_options *opt, struct grove_append_result *out)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_append_options o;
	struct grove_append_result r;
	struct grove_slice line;
	struct grove_detail d;
	int rc = take_append(opt, &o, out, &r, grove__fail_clear(&d));

	if (!rc)
		rc = spell(s, spec, &json, &d);
	line = grove__buf_slice(&json);
	if (!rc)
		rc = grove__session_append(s, &line, 1, &o, &r, &d);
	grove__buf_release(&json);
	return appended(s, rc, &r, out, &d);
}

int grove_session_append_thinking_level(struct grove_session *s, const char *level, const struct grove_append_options *opt,
	struct grove_append_result *out)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_THINKING_LEVEL, .thinking = { level } };

	return append_spec(s, &spec, opt, out);
}

int grove_session_append_model(struct grove_session *s, const char *provider, const char *model,
				    const char *role, const struct grove_append_options *opt,
	struct grove_append_result *out)
{
	struct grove__entry_spec spec = { .kind = GROVE_KIND_MODEL, .model = { provider, model, role } };

	return append_spec(s, &spec, opt, out);
}

int grove_session_append_compaction(struct grove_session *s, const struct grove_compaction *c,
				    const struct grove_append_options *opt,
	struct grove_append_result *out)
{
	struct grove_compaction o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), c, &d);

	if (!rc && !o.summary)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "a compaction must have a summary");
	if (rc)
		return grove__api_session_told(s, rc, &d);
	return append_spec(s, &(struct grove__entry_spec){
		.kind = GROVE_KIND_COMPACTION,
		.compaction = {
			.summary = o.summary,
			.short_summary = o.short_summary,
			.first_kept = o.first_kept,
			.details_json = o.details_json,
			.usage_json = o.usage_json,
			.preserve_json = o.preserve_json,
			.tokens_before = o.tokens_before,
			.from_hook = o.from_hook,
		},
	}, opt, out);
}

int grove_session_append_label(struct grove_session *s, const char *target, const char *label,
			const struct grove_append_options *opt,
	struct grove_append_result *out)
{
	struct grove__entry_spec spec = {
		.kind = GROVE_KIND_LABEL,
		.label = { target, label ? grove__slice_str(label) : grove__slice(NULL, 0) },
	};

	return append_spec(s, &spec, opt, out);
}

int grove_session_set_name(struct grove_session *s, const char *name, enum grove_name_source by,
			   struct grove_append_result *out)
{
	struct grove_append_options none;
	struct grove_append_result r;
	struct grove_detail d;
	int rc = take_append(NULL, &none, out, &r, grove__fail_clear(&d));

	if (!rc && by != GROVE_NAME_BY_USER && by != GROVE_NAME_BY_AGENT)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "a name is set by the user or by the agent: no other source is known");
	if (!rc)
		rc = grove__session_enter(s, &d);
	if (!rc) {
		rc = grove__session_rename(s, name, by == GROVE_NAME_BY_USER ? "user" : "auto", &r, &d);
		grove__session_unlock(s);
	}
	return appended(s, rc, &r, out, &d);
}

/* ------------------------------------------------------------------ changes */

int grove_session_update(struct grove_session *s, const char *id, const char *pointer,
			 const char *value_json)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__session_update(s, id, pointer, grove__slice_str(value_json), &d));
}

static int forget(struct grove_session *s, const char *id, uint64_t *relinked, struct grove_detail *d)
{
	uint64_t nr;
	int rc = grove__session_forget(s, id, &nr, d);

	if (relinked)
		*relinked = nr;
	return rc;
}

int grove_session_forget(struct grove_session *s, const char *id, uint64_t *relinked)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, forget(s, id, relinked, &d));
}

/* --------------------------------------------------------------------- leaf */

const char *grove_session_leaf(struct grove_session *s)
{
	const char *id = NULL;
	uint32_t row;

	if (grove__session_enter(s, NULL))
		return NULL;
	if (!grove__session_load(s, NULL)) {
		row = grove__session_leaf_row(s);
		id = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, row);
	}
	grove__session_unlock(s);
	return id;
}

static int take_leaf(const struct grove_leaf_options *opt, struct grove_leaf_options *o,
		     struct grove_branch_summary *summary, const struct grove_leaf_result *out,
		     struct grove_detail *d)
{
	int rc = grove__sized_take(o, sizeof(*o), opt, d);

	if (!rc)
		rc = grove__sized_check(out, d);
	if (!rc && o->summary) {
		rc = grove__sized_take(summary, sizeof(*summary), o->summary, d);
		o->summary = summary;
	}
	if (!rc && o->summary && !summary->summary)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "a branch summary must have a text");
	return rc;
}

static void give_leaf(struct grove_session *s, int rc, struct grove_leaf_result *r,
		      struct grove_leaf_result *out)
{
	uint32_t row = rc ? GROVE_NO_ENTRY : grove__session_leaf_row(s);

	r->leaf = row == GROVE_NO_ENTRY ? NULL : grove__spine_id(s->image->spine, row);
	grove__sized_give(out, r, sizeof(*r));
	/* nobody else releases it */
	if (!out || out->size < offsetof(struct grove_leaf_result, content) + sizeof(r->content))
		grove__buf_release(&r->content);
}

static int set_leaf(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
		    struct grove_leaf_result *out, struct grove_detail *d)
{
	struct grove_leaf_result r = { .size = sizeof(r), .outcome = GROVE_OUTCOME_SWITCH };
	struct grove_append_result added = { .size = sizeof(added) };
	struct grove_branch_summary summary;
	struct grove_leaf_options o;
	int rc = take_leaf(opt, &o, &summary, out, d);

	if (!rc && o.summary)
		rc = grove__session_branch(s, id, &o, &added, d);
	else if (!rc)
		rc = grove__session_set_leaf(s, id, &o, d);
	r.summary_id = added.id;
	give_leaf(s, rc, &r, out);
	return rc;
}

int grove_session_set_leaf(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			   struct grove_leaf_result *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, set_leaf(s, id, opt, out, &d));
}

static int continue_from(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			 struct grove_leaf_result *out, struct grove_detail *d)
{
	struct grove_leaf_result r = { .size = sizeof(r) };
	struct grove_branch_summary summary;
	struct grove_leaf_options o;
	int rc = take_leaf(opt, &o, &summary, out, d);

	if (!rc && o.summary)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "continuing from an entry takes no summary");
	if (!rc)
		rc = grove__session_continue(s, id, &o, &r.outcome, &r.content, d);
	give_leaf(s, rc, &r, out);
	return rc;
}

int grove_session_continue(struct grove_session *s, const char *id, const struct grove_leaf_options *opt,
			   struct grove_leaf_result *out)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, continue_from(s, id, opt, out, &d));
}

/* ---------------------------------------------------------- whole sessions */

int grove_session_fork(struct grove_session *s, const struct grove_fork_options *opt,
		       struct grove_session **out)
{
	struct grove_fork_options o;
	struct grove_detail d;
	int rc = new_handle(s->g, out, &d);

	if (rc)
		return rc;
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (!rc)
		rc = grove__session_enter(s, &d);
	if (!rc) {
		rc = grove__session_fork(s, &o, *out, &d);
		grove__session_unlock(s);
	}
	grove__api_session_told(*out, rc, &d);
	return grove__api_session_told(s, rc, &d);
}

int grove_session_move(struct grove_session *s, const char *cwd)
{
	struct grove_detail d;

	return IN_SESSION(s, &d, grove__session_move(s, cwd, &d));
}

int grove_remove(struct grove *g, const char *what, unsigned flags)
{
	struct grove__where at;
	struct grove_detail d;
	int rc = grove__locate_for_good(g, what, &at, grove__fail_clear(&d));

	if (!rc) {
		rc = grove__session_remove(g, &at, flags, &d);
		grove__where_release(&at);
	}
	return grove__api_told(g, rc, &d);
}
