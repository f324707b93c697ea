/*
 * agents.c: the sub-agents that are included in an export.
 *
 * A branch includes those that it called: its lines have the id of the call, or that of the
 * agent, which comes with the result. Those that only other branches name are left out. A
 * sub-agent called by another one is included if its caller is; one that no line names may
 * belong to this branch, so it is included.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>

enum place { UNKNOWN, HERE, ELSEWHERE };

struct agent {
	char *id, *call, *parent;    /* NULL if unknown */
	enum place place;
};

struct agents {
	struct export *x;
	int (*fn)(struct export *x, struct export *sub, const struct grove_subagent *a);
	struct agent *at;            /* if there are none, all are wanted */
	size_t nr;
};

static void release(struct agents *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		free(l->at[i].id);
		free(l->at[i].call);
		free(l->at[i].parent);
	}
	free(l->at);
}

/* NULL stays NULL. */
static int copy(const char *text, char **out)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? GROVE_ENOMEM : 0;
}

static int note(void *payload, const struct grove_subagent *a)
{
	struct agents *l = payload;
	struct agent *more = realloc(l->at, (l->nr + 1) * sizeof(*more)), *one;
	int rc;

	if (!more)
		return GROVE_ENOMEM;
	l->at = more;
	one = &l->at[l->nr++];
	*one = (struct agent){ .place = UNKNOWN };
	rc = copy(a->id, &one->id);
	if (!rc)
		rc = copy(a->tool_use_id, &one->call);
	return rc ? rc : copy(a->parent_id, &one->parent);
}

static int has(const struct grove_buf *line, const char *id)
{
	return id && *id && memmem(line->ptr, line->len, id, strlen(id));
}

/* Assigns those that these rows name, and no earlier row did, to this place. */
static int look(struct agents *l, const struct grove_rows *rows, enum place place)
{
	int rc = 0;

	for (size_t i = 0; i < rows->nr && !rc; i++) {
		rc = export_read_line(l->x, rows->at[i]);
		for (size_t k = 0; k < l->nr && !rc; k++)
			if (!l->at[k].place && (has(&l->x->line, l->at[k].call) || has(&l->x->line, l->at[k].id)))
				l->at[k].place = place;
	}
	return rc;
}

static enum place place_of(const struct agents *l, const char *id)
{
	for (size_t i = 0; id && i < l->nr; i++)
		if (l->at[i].id && !strcmp(l->at[i].id, id))
			return l->at[i].place;
	return UNKNOWN;
}

/* What a sub-agent called is where that one is, and so on. */
static void follow_callers(struct agents *l)
{
	for (int more = 1; more;) {
		more = 0;
		for (size_t i = 0; i < l->nr; i++)
			if (!l->at[i].place && (l->at[i].place = place_of(l, l->at[i].parent)))
				more = 1;
	}
}

static int find_places(struct agents *l)
{
	struct grove_rows branch = { 0 }, all = { 0 };
	int rc = grove_session_subagent_each(l->x->s, note, l);

	if (!rc && l->nr)
		rc = export_rows(l->x, &branch);
	if (!rc)
		rc = look(l, &branch, HERE);
	if (!rc && l->nr)
		rc = export_all_rows(l->x->v, &all);
	if (!rc)
		rc = look(l, &all, ELSEWHERE);
	if (!rc)
		follow_callers(l);
	grove_rows_release(&branch);
	grove_rows_release(&all);
	return rc;
}

static int see(void *payload, const struct grove_subagent *a)
{
	struct agents *l = payload;
	struct export *x = l->x;
	struct export sub = { .g = x->g, .format = x->format, .redactor = x->redactor, .to = x->to };
	/* a database has no paths */
	const char *what = a->path ? a->path : a->session_id;
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	int rc;

	if (!what || place_of(l, a->id) == ELSEWHERE)
		return 0;
	rc = grove_session_open(x->g, what, GROVE_OPEN_READ, &s);
	if (!rc)
		rc = grove_session_view(s, &v);
	/* only its metadata is left */
	if (rc == GROVE_ENOTFOUND)
		rc = 0;
	else if (!rc) {
		sub.v = v;
		sub.id = grove_session_id(s);
		sub.agent = grove_session_agent(s);
		sub.leaf = grove_view_leaf(v);
		rc = l->fn(x, &sub, a);
	} else if (s) {
		grove_session_error(s, &x->why);
	}
	export_release(&sub);
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

int export_each_subagent(struct export *x, int (*fn)(struct export *x, struct export *sub, const struct grove_subagent *a))
{
	struct agents l = { .x = x, .fn = fn };
	int rc = 0;

	if (!x->subagents || !x->s)
		return 0;
	if (export_is_branch(x))
		rc = find_places(&l);
	if (!rc)
		rc = grove_session_subagent_each(x->s, see, &l);
	release(&l);
	if (rc == GROVE_ENOTSUP)
		return 0;
	if (rc < 0 && !x->why.code) {
		grove_session_error(x->s, &x->why);
		/* an error of the view, of which it has the detail */
		if (x->why.code != rc)
			memset(&x->why, 0, sizeof(x->why));
	}
	return rc;
}
