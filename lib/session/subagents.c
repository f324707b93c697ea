/*
 * session/subagents.c: the sub-agents of a session.
 *
 * A sub-agent has a log of its own and a small metadata file that says what kind of
 * agent it is, which is needed to resume it. Agents that run elsewhere have only such a
 * file. All of them are stored next to the session.
 *
 * Agents may be grouped: their files are then in a directory. Ids are unique in a
 * session, so the two files of an agent belong together wherever they are. For an agent
 * that has neither yet, the caller sets the group.
 */
#include "session/session.h"

#include "base/array.h"

#include <stdlib.h>

struct place {
	const struct grove__agents *rules;
	struct grove_store *store;
	struct grove_key key;
};

static int place_of(struct grove_session *s, struct place *p, struct grove_detail *d)
{
	p->rules = s->at.dialect ? s->at.dialect->agents : NULL;
	if (!p->rules)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this agent does not store sub-agents");
	if (s->held) {
		p->store = s->held;
		p->key = (struct grove_key){ "", GROVE__HELD, "" };
	} else {
		p->store = s->at.store;
		p->key = (struct grove_key){ s->at.project, s->at.session, "" };
	}
	return 0;
}

/* One sub-agent, found by its files next to the session. */
struct found {
	char *group, *id;
	char *log, *meta;                /* their names; NULL: missing */
};

struct finding {
	const struct place *at;
	struct found *all;
	size_t nr, cap;
	bool remote;
	struct grove_detail *d;
};

static bool is(const char *str, struct grove_slice s)
{
	return grove__slice_is(s, str);
}

static struct found *agent(struct finding *f, struct grove_slice group, struct grove_slice id)
{
	struct found *x;

	for (size_t i = 0; i < f->nr; i++)
		if (is(f->all[i].id, id) && is(f->all[i].group, group))
			return &f->all[i];
	if (grove__array_room(&f->all, &f->cap, f->nr, sizeof(*f->all)))
		return NULL;
	x = &f->all[f->nr];
	*x = (struct found){ .group = strndup(group.ptr, group.len), .id = strndup(id.ptr, id.len) };
	if (!x->group || !x->id) {
		free(x->group);
		free(x->id);
		return NULL;
	}
	f->nr++;
	return x;
}

static int look(void *payload, const char *name, uint64_t size, bool log)
{
	struct finding *f = payload;
	struct grove_slice id, group;
	enum grove__agent_file what = f->at->rules->file(grove__slice_str(name), &id, &group);
	struct found *x;
	char **where;

	(void)size;
	(void)log;
	if (what == AGENT_NONE || (what == AGENT_REMOTE) != f->remote)
		return 0;
	x = agent(f, group, id);
	if (!x)
		return grove__fail_nomem(f->d);
	where = what == AGENT_LOG ? &x->log : &x->meta;
	if (!*where)
		*where = strdup(name);
	return *where ? 0 : grove__fail_nomem(f->d);
}

static int by_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int c = strcmp(x->group, y->group);

	return c ? c : strcmp(x->id, y->id);
}

static void found_release(struct found *x)
{
	free(x->group);
	free(x->id);
	free(x->log);
	free(x->meta);
}

/* The metadata of an agent may be in another group than its log. */
static void join(struct finding *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		struct found *meta = &f->all[i];

		for (size_t k = 0; k < f->nr && !meta->log && meta->meta; k++) {
			struct found *x = &f->all[k];

			if (!x->log || x->meta || strcmp(x->id, meta->id))
				continue;
			x->meta = meta->meta;
			meta->meta = NULL;
		}
	}
	for (size_t i = 0; i < f->nr;) {
		if (f->all[i].log || f->all[i].meta) {
			i++;
			continue;
		}
		found_release(&f->all[i]);
		f->all[i] = f->all[--f->nr];
	}
}

static int find_all(struct finding *f)
{
	int rc = grove__beside_list(f->at->store, &f->at->key, look, f, f->d);

	if (!rc)
		join(f);
	if (!rc && f->nr)
		qsort(f->all, f->nr, sizeof(*f->all), by_name);
	return rc;
}

static void finding_release(struct finding *f)
{
	while (f->nr)
		found_release(&f->all[--f->nr]);
	free(f->all);
}

/* Reads a file that should be a JSON object. Returns 1 if it is not. */
static int read_object(const struct place *p, const char *name, struct grove_buf *out,
		       struct grove_detail *d)
{
	int rc = grove__store_attach_get(p->store, &p->key, name, out, d);

	if (rc)
		return rc;
	rc = grove__json_document(out, NULL);
	if (rc < 0)
		return grove__fail_nomem(d);
	return rc || out->ptr[0] != '{';
}

static const char *or_null(const struct grove_buf *b)
{
	return b->len ? b->ptr : NULL;
}

/* The id that a transcript has as a session is the name of its file. */
static int add_session_id(struct grove_buf *out, const char *log)
{
	const char *slash = strrchr(log, '/');
	struct grove_slice name = grove__slice_str(slash ? slash + 1 : log);

	grove__slice_cut_end(&name, ".jsonl");
	return grove__buf_add_slice(out, name);
}

static int tell(const struct place *p, const struct found *x, grove_subagent_fn *fn, void *payload,
		struct grove_detail *d)
{
	struct grove_buf json = GROVE_BUF_INIT, path = GROVE_BUF_INIT, id = GROVE_BUF_INIT;
	struct grove__agent_meta m = { 0 };
	struct grove_key key = p->key;
	struct grove_subagent a = { .id = x->id, .group = x->group };
	int rc = x->meta ? read_object(p, x->meta, &json, d) : 1;

	/* a file that cannot be read does not hide the other agents */
	if (rc < 0 && rc != GROVE_ENOMEM)
		rc = 1;
	if (!rc) {
		a.meta = json.ptr;
		rc = p->rules->meta(grove__buf_slice(&json), &m) ? grove__fail_nomem(d) : 0;
	}
	key.subpath = x->log ? x->log : "";
	if (rc >= 0 && x->log) {
		rc = grove__store_describe(p->store, &key, &path) || add_session_id(&id, x->log)
			     ? grove__fail_nomem(d) : 0;
		a.path = or_null(&path);
		a.session_id = or_null(&id);
	}
	if (rc >= 0) {
		a.type = or_null(&m.type);
		a.description = or_null(&m.description);
		a.tool_use_id = or_null(&m.tool_use);
		a.parent_id = or_null(&m.parent);
		a.worktree = or_null(&m.worktree);
		rc = fn(payload, &a);
	}
	grove__buf_release(&json);
	grove__buf_release(&path);
	grove__buf_release(&id);
	grove__buf_release(&m.type);
	grove__buf_release(&m.description);
	grove__buf_release(&m.tool_use);
	grove__buf_release(&m.parent);
	grove__buf_release(&m.worktree);
	return rc;
}

int grove__subagents_list(struct grove_session *s, grove_subagent_fn *fn, void *payload,
		       struct grove_detail *d)
{
	struct place p;
	struct finding f = { .at = &p, .d = d };
	int rc = place_of(s, &p, d);

	/* next to a sub-agent are those that its caller called */
	if (!rc && !(s->at.sub && *s->at.sub))
		rc = find_all(&f);
	for (size_t i = 0; i < f.nr && !rc; i++)
		rc = tell(&p, &f.all[i], fn, payload, d);
	finding_release(&f);
	return rc;
}

int grove__subagents_remote(struct grove_session *s, grove_remote_agent_fn *fn, void *payload,
			 struct grove_detail *d)
{
	struct place p;
	struct finding f = { .at = &p, .remote = true, .d = d };
	int rc = place_of(s, &p, d);

	if (!rc)
		rc = find_all(&f);
	for (size_t i = 0; i < f.nr && !rc; i++) {
		struct grove_buf json = GROVE_BUF_INIT;

		rc = read_object(&p, f.all[i].meta, &json, d);
		if (!rc)
			rc = fn(payload, f.all[i].id, json.ptr);
		else if (rc != GROVE_ENOMEM)
			rc = 0;
		grove__buf_release(&json);
	}
	finding_release(&f);
	return rc;
}

static bool id_ok(const char *id)
{
	return grove__store_name_ok(id) && !strchr(id, '/') && strlen(id) <= 200;
}

/* --- groups --- */

struct grove__subagents_group {
	struct grove__subagents_group *next;
	char *id, *group;
};

void grove__subagents_groups_free(struct grove__subagents_group *g)
{
	while (g) {
		struct grove__subagents_group *next = g->next;

		free(g->id);
		free(g->group);
		free(g);
		g = next;
	}
}

static const char *group_of(const struct grove_session *s, const char *id)
{
	for (const struct grove__subagents_group *g = s->groups; g; g = g->next)
		if (!strcmp(g->id, id))
			return g->group;
	return "";
}

int grove__subagents_set_group(struct grove_session *s, const char *id, const char *group,
			   struct grove_detail *d)
{
	struct grove__subagents_group *g;
	char *copy;

	if (!s->at.dialect || !s->at.dialect->agents)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "this agent does not store sub-agents");
	if (!id_ok(id) || (*group && !grove__store_name_ok(group)))
		return grove__fail(d, GROVE_EINVAL, NULL, "not an agent's id and group: %.100s, %.100s", id,
				   group);
	copy = strdup(group);
	for (g = s->groups; g && strcmp(g->id, id);)
		g = g->next;
	if (copy && !g) {
		g = calloc(1, sizeof(*g));
		if (g && (g->id = strdup(id))) {
			g->next = s->groups;
			s->groups = g;
		} else {
			free(g);
			g = NULL;
		}
	}
	if (!copy || !g) {
		free(copy);
		return grove__fail_nomem(d);
	}
	free(g->group);
	g->group = copy;
	return 0;
}

int grove__subagents_path(struct grove_session *s, const char *id, struct grove_buf *out,
		      struct grove_detail *d)
{
	struct grove_key key = { s->at.project, s->at.session, "" };
	struct grove_buf name = GROVE_BUF_INIT;
	struct place p;
	struct finding f = { .at = &p, .d = d };
	const struct found *x = NULL;
	size_t before = out->len;
	int rc = place_of(s, &p, d);

	if (!rc && !id_ok(id))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "not the id of an agent: %.100s", id);
	if (!rc && !s->at.path)
		rc = grove__fail(d, GROVE_ENOTSUP, NULL, "there are no paths in this store");
	if (!rc)
		rc = find_all(&f);
	for (size_t i = 0; i < f.nr && !rc && !(x && x->log); i++)
		if (!strcmp(f.all[i].id, id))
			x = &f.all[i];
	if (!rc && x && x->log)
		key.subpath = x->log;
	else if (!rc && p.rules->path(AGENT_LOG, grove__slice_str(x ? x->group : group_of(s, id)),
				      grove__slice_str(id), &name))
		rc = grove__fail_nomem(d);
	else if (!rc)
		key.subpath = name.ptr;
	if (!rc && (grove__store_describe(s->at.store, &key, out) || out->len == before))
		rc = grove__fail_nomem(d);
	grove__buf_release(&name);
	finding_release(&f);
	return rc;
}

/*
 * Finds the name of an agent's metadata file: the existing one, or else next to the
 * agent's log, or else in the group that was set.
 */
static int meta_name(const struct place *p, const char *id, bool remote, const char *group, struct grove_buf *out,
		     bool *there, struct grove_detail *d)
{
	struct finding f = { .at = p, .remote = remote, .d = d };
	const struct found *x = NULL;
	int rc;

	*there = false;
	if (!id_ok(id))
		return grove__fail(d, GROVE_EINVAL, NULL, "not the id of an agent: %.100s", id);
	rc = find_all(&f);
	for (size_t i = 0; i < f.nr && !rc && !*there; i++)
		if (!strcmp(f.all[i].id, id)) {
			x = &f.all[i];
			*there = x->meta != NULL;
		}
	if (!rc && *there)
		rc = grove__buf_add_str(out, x->meta) ? grove__fail_nomem(d) : 0;
	else if (!rc)
		rc = p->rules->path(remote ? AGENT_REMOTE : AGENT_META,
				    grove__slice_str(x ? x->group : group), grove__slice_str(id), out)
			     ? grove__fail_nomem(d)
			     : 0;
	finding_release(&f);
	return rc;
}

int grove__subagents_get(struct grove_session *s, const char *id, bool remote, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT, json = GROVE_BUF_INIT;
	struct place p;
	bool there = false;
	int rc = place_of(s, &p, d);

	if (!rc)
		rc = meta_name(&p, id, remote, group_of(s, id), &name, &there, d);
	if (!rc && !there)
		rc = grove__fail(d, GROVE_ENOTFOUND, NULL, "no sub-agent %.100s", id);
	if (!rc)
		rc = read_object(&p, name.ptr, &json, d);
	if (rc == 1)
		rc = grove__fail(d, GROVE_EDAMAGED, NULL, "%.200s is not a JSON object", name.ptr);
	if (!rc && grove__buf_add_slice(out, grove__buf_slice(&json)))
		rc = grove__fail_nomem(d);
	grove__buf_release(&name);
	grove__buf_release(&json);
	return rc;
}

static int check_object(struct grove_slice json, struct grove_detail *d)
{
	struct grove_buf copy = GROVE_BUF_INIT;
	uint64_t at;
	int rc = grove__buf_add_slice(&copy, json);

	if (!rc)
		rc = grove__json_document(&copy, &at);
	if (rc < 0)
		rc = grove__fail_nomem(d);
	else if (rc)
		rc = grove__fail_at(d, GROVE_EJSON, NULL, 1, at, "not JSON");
	else if (copy.ptr[0] != '{')
		rc = grove__fail(d, GROVE_EINVAL, NULL, "not a JSON object");
	grove__buf_release(&copy);
	return rc;
}

int grove__subagents_put(struct grove_session *s, const char *id, bool remote, struct grove_slice json,
		     struct grove_detail *d)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct place p;
	bool there;
	int rc = grove__session_writable(s, d);

	if (!rc)
		rc = place_of(s, &p, d);
	if (!rc)
		rc = check_object(json, d);
	if (!rc)
		rc = meta_name(&p, id, remote, group_of(s, id), &name, &there, d);
	if (!rc)
		rc = grove__store_attach_put(p.store, &p.key, name.ptr, json, d);
	grove__buf_release(&name);
	return rc;
}
