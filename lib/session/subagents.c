/*
 * session/subagents.c: the sub-agents of a session.
 *
 * A sub-agent has a log of its own and a small metadata file that says what kind of
 * agent it is, which is needed to resume it. Both are stored next to the session.
 *
 * Agents may be grouped: their files are then in a directory. Ids are unique in a
 * session, so the two files of an agent belong together wherever they are.
 */
#include "session/about.h"

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
	if (s->deferral.store) {
		p->store = s->deferral.store;
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
	struct grove_detail *d;
};

static bool is_text(const char *str, struct grove_slice s)
{
	return grove__slice_is(s, str);
}

static struct found *agent_with(struct finding *f, struct grove_slice group, struct grove_slice id)
{
	struct found *x;

	for (size_t i = 0; i < f->nr; i++)
		if (is_text(f->all[i].id, id) && is_text(f->all[i].group, group))
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

static int note_file(void *payload, const char *name, uint64_t size, bool log)
{
	struct finding *f = payload;
	struct grove_slice id, group;
	enum grove__agent_file what = f->at->rules->file(grove__slice_str(name), &id, &group);
	struct found *x;
	char **where;

	(void)size;
	(void)log;
	if (what == AGENT_NONE)
		return 0;
	x = agent_with(f, group, id);
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
static void join_files(struct finding *f)
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
	int rc = grove__beside_list(f->at->store, &f->at->key, note_file, f, f->d);

	if (!rc)
		join_files(f);
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

static int report_agent(const struct place *p, const struct found *x, grove_subagent_fn *fn, void *payload,
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
		rc = report_agent(&p, &f.all[i], fn, payload, d);
	finding_release(&f);
	return rc;
}
