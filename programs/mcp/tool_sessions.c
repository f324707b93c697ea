/*
 * tool_sessions.c: list_sessions, get_overview and get_usage.
 */
#include "mcp.h"

#include "kit/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_DEFAULT = 20, LIST_MAX = 200, FIRST_TEXT = 200, NAME_TEXT = 200, USAGE_DEFAULT = 50, FEW = 20 };

#define ARG_SINCE { "since", VALUE_TEXT, \
	.about = "Only what is not older than this: 7d, 12h, yesterday, 2026-11-03, 2026-11-03T10:00." }
#define ARG_UNTIL { "until", VALUE_TEXT, .about = "Only what is not newer than this; a day or month is included as a whole." }

/* ------------------------------------------------------------ list_sessions */

void put_session_members(struct doc *d, const struct grove_list_item *i, size_t text)
{
	struct grove_slice first = { i->first_message, i->first_message_len };

	put_recorded_member(d, "name", i->name, NAME_TEXT);
	put_recorded_member(d, "cwd", i->cwd, PATH_TEXT);
	doc_member(d, "agent", i->agent);
	doc_member_time(d, "created", i->created);
	doc_member_time(d, "modified", i->modified);
	if (i->message_count != GROVE_NO_COUNT)
		doc_member_number(d, "messageCount", i->message_count);
	doc_member_number(d, "size", i->size);
	if (i->archived)
		doc_member_bool(d, "archived", 1);
	if (i->parent_session)
		put_recorded_member(d, "parentSession", i->parent_session, PATH_TEXT);
	doc_name(d, "firstMessage");
	put_recorded(d, first, text);
}

static void put_key(struct doc *d, const struct grove_list_item *i)
{
	struct doc key = { .rc = 0 };

	add_session_key(&key, i);
	doc_name(d, "key");
	put_recorded(d, grove_buf_slice(&key.buf), PATH_TEXT);
	doc_release(&key);
}

/* A session that some process has open. */
struct running {
	struct running *next;
	char *path, *id;              /* NULL: unknown */
	int here;                     /* by the one that asks: it started this program, or its parent did, … */
};

static int64_t parent_of(int64_t pid)
{
	char name[40], text[512];
	const char *end;
	long long parent = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%lld/stat", (long long)pid);
	f = fopen(name, "r");
	if (!f)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	/* the program's name is in brackets, and may have any character */
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %lld", &parent) == 1 ? parent : 0;
}

static int is_above(int64_t pid)
{
	int64_t at = getppid();

	for (int i = 0; i < 16 && at > 1; i++, at = parent_of(at))
		if (at == pid)
			return 1;
	return 0;
}

static int note_running(void *payload, const struct grove_opener *o)
{
	struct call *k = payload;
	struct running *r = calloc(1, sizeof(*r));

	if (!r)
		return GROVE_ENOMEM;
	*r = (struct running){ k->running, o->path ? strdup(o->path) : NULL, o->session_id ? strdup(o->session_id) : NULL,
			       is_above(o->pid) };
	k->running = r;
	return 0;
}

static void forget_running(struct call *k)
{
	struct running *next;

	for (struct running *r = k->running; r; r = next) {
		next = r->next;
		free(r->path);
		free(r->id);
		free(r);
	}
	k->running = NULL;
}

static void put_running(struct doc *d, const struct call *k, const struct grove_list_item *i)
{
	int open = 0, here = 0;

	for (const struct running *r = k->running; r; r = r->next)
		if ((r->path && i->path && !strcmp(r->path, i->path)) || (r->id && !strcmp(r->id, i->id))) {
			open = 1;
			here |= r->here;
		}
	if (open)
		doc_member_bool(d, "running", 1);
	if (here)
		doc_member_bool(d, "current", 1);
}

static int put_listed(struct call *k, const struct grove_list_item *i, size_t nr)
{
	struct doc item = { .rc = 0 };
	int fits;

	doc_open(&item, '{');
	put_recorded_member(&item, "id", i->id, ID_TEXT);
	if (k->shared)
		put_key(&item, i);
	put_running(&item, k, i);
	put_session_members(&item, i, FIRST_TEXT);
	doc_close(&item, '}');
	fits = put_item(k, &item, nr);
	doc_release(&item);
	return fits;
}

/* Returns the place after the last session of the previous page, or where that would be. */
static size_t place_after(const struct grove_list *l, int64_t modified, uint64_t same)
{
	size_t i = 0, n = grove_list_count(l);

	while (i < n && grove_list_at(l, i)->modified > modified)
		i++;
	while (i < n && same && grove_list_at(l, i)->modified == modified) {
		i++;
		same--;
	}
	return i;
}

/* Returns how many of the last sessions before place `end` have the same time. */
static uint64_t same_time(const struct grove_list *l, size_t end)
{
	uint64_t n = 0;

	while (n < end && grove_list_at(l, end - 1 - (size_t)n)->modified == grove_list_at(l, end - 1)->modified)
		n++;
	return n;
}

/* Returns true if others in the list have the same id. */
static int is_shared(const struct grove_list *l, size_t place)
{
	const char *id = grove_list_at(l, place)->id;
	size_t i = 0, n = grove_list_count(l);

	while (i < n && (i == place || strcmp(grove_list_at(l, i)->id, id)))
		i++;
	return i < n;
}

int list_page(struct call *k, const struct grove_list_options *o, const char *cursor, size_t limit,
	      int (*put)(struct call *k, const struct grove_list_item *i, size_t nr))
{
	struct grove_list *l = NULL;
	uint64_t at[2] = { 0, 0 };
	size_t from = 0, i, nr = 0;
	int rc = cursor ? cursor_read(k, cursor, 'l', at, 2) : 0;

	if (rc)
		return rc;
	rc = grove_list(k->m->g, o, &l);
	if (rc)
		return call_fail_grove(k, rc);
	if (cursor)
		from = place_after(l, (int64_t)at[0], at[1]);
	for (i = from; i < grove_list_count(l) && nr < limit; i++, nr++) {
		k->shared = is_shared(l, i);
		if (!put(k, grove_list_at(l, i), nr))
			break;
	}
	doc_close(&k->d, ']');
	if (i < grove_list_count(l) && nr) {
		at[0] = (uint64_t)grove_list_at(l, i - 1)->modified;
		at[1] = same_time(l, i);
		put_cursor(&k->d, "nextCursor", 'l', at, 2);
	}
	if (k->tool)
		doc_member_number(&k->d, "total", grove_list_count(l));
	doc_member_away(&k->d, k->m->g, 0);
	grove_list_free(l);
	return 0;
}

static int list_sessions(struct call *k)
{
	struct grove_list_options o = { .size = sizeof(o), .query = arg_text(k, "query"), .sort = GROVE_SORT_MODIFIED };
	int rc = arg_scope(k, &o.cwd, &o.agent);

	if (!rc)
		rc = arg_period(k, &o.modified);

	if (rc)
		return rc;
	o.flags = o.cwd ? 0 : GROVE_LIST_ALL;
	put_notice(&k->d);
	doc_name(&k->d, "sessions");
	doc_open(&k->d, '[');
	/* without it, the list is still right */
	grove_opener_each(k->m->g, NULL, note_running, k);
	rc = list_page(k, &o, arg_text(k, "cursor"), arg_number(k, "limit", LIST_DEFAULT), put_listed);
	forget_running(k);
	doc_close(&k->d, '}');
	return rc;
}

const struct tool tool_list_sessions = {
	"list_sessions", "List sessions",
	"Lists past sessions of coding agents, newest first: id, name, directory, agent, times, first message; your own is marked current.",
	(const struct arg[]){
		{ "query", VALUE_TEXT, .about = "Words and \"phrases\" that must occur in the name, directory, id or messages." },
		{ "cwd", VALUE_TEXT, .about = "Only sessions of exactly this directory (an absolute path)." },
		{ "agent", VALUE_TEXT, .about = "Only sessions of this agent: pi, omp, xcsh, openclaw or claude." },
		ARG_SINCE, ARG_UNTIL,
		{ "limit", VALUE_NUMBER, .least = 1, .most = LIST_MAX, .about = "Sessions per page. Default: 20." },
		ARG_CURSOR, ARG_BYTES, { NULL },
	},
	list_sessions,
};

/* ------------------------------------------------------------- get_overview */

static void put_entry_line(struct doc *d, const struct grove_view *v, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_preview p = { .size = sizeof(p) };
	struct grove_buf buf = GROVE_BUF_INIT;

	if (grove_view_entry(v, i, &e))
		return;
	doc_open(d, '{');
	put_recorded_member(d, "entryId", e.id, ID_TEXT);
	doc_member(d, "role", e.role == GROVE_ROLE_NONE ? grove_kind_name(e.kind) : grove_role_name(e.role));
	doc_member_time(d, "time", e.time);
	put_recorded_member(d, "label", e.label, NAME_TEXT);
	if (!grove_view_preview(v, i, FIRST_TEXT, &buf, &p)) {
		doc_name(d, "text");
		put_recorded(d, p.text, FIRST_TEXT);
	}
	doc_close(d, '}');
	grove_buf_release(&buf);
}

struct survey {
	uint64_t branches, compactions, prompts, labels;
	uint32_t labelled[FEW];
	uint32_t ends[FEW];          /* the last entries of branches */
	uint64_t nr_ends;
};

/*
 * Claude writes a reply as several records, and progress beside them: a session without
 * branches has forks. So what forks and ends are the nodes of its tree.
 */
static int survey_nodes(struct grove_view *v, struct survey *s)
{
	struct shape shape = { 0 };
	int rc = shape_make(&shape, v, SHAPE_DEFAULT, 0, 1);

	s->branches = s->nr_ends = 0;
	for (uint32_t i = 0; !rc && i < shape.c->nr; i++) {
		uint32_t first = shape.first[i];

		if (shape.node[i] != i)
			continue;
		s->branches += first != GROVE_NO_ENTRY && shape.next[first] != GROVE_NO_ENTRY;
		if (first == GROVE_NO_ENTRY && s->nr_ends++ < FEW)
			s->ends[s->nr_ends - 1] = shape.c->index[shape.last[i]];
	}
	shape_release(&shape);
	return rc;
}

static int survey(struct grove_view *v, int merged, struct survey *s)
{
	struct grove_columns_options o = { .size = sizeof(o), .level = GROVE_LEVEL_TURNS };
	struct grove_columns *c = NULL;
	struct grove_entry e = { .size = sizeof(e) };
	int rc = grove_view_columns(v, &o, &c);
	struct grove_rows below;

	for (uint32_t i = 0; !rc && i < c->nr; i++) {
		rc = grove_view_entry(v, c->index[i], &e);
		if (rc || e.flags & (GROVE_ENTRY_LEAF_MARK | GROVE_ENTRY_SUPERSEDED))
			continue;
		s->compactions += e.kind == GROVE_KIND_COMPACTION;
		s->prompts += e.role == GROVE_ROLE_USER;
		if (e.label && s->labels++ < FEW)
			s->labelled[s->labels - 1] = e.index;
		if (grove_view_children(v, e.index, GROVE_ORDER_APPENDED, &below))
			continue;
		s->branches += below.nr > 1;
		if (!below.nr && s->nr_ends++ < FEW)
			s->ends[s->nr_ends - 1] = e.index;
		grove_rows_release(&below);
	}
	grove_columns_free(c);
	return rc || !merged ? rc : survey_nodes(v, s);
}

/* Writes a few of them, while the document is shorter than `room`. */
static void put_lines(struct call *k, const char *name, const struct grove_view *v, const uint32_t *at, uint64_t nr, size_t room)
{
	struct doc *d = &k->d;

	if (!nr)
		return;
	doc_name(d, name);
	doc_open(d, '[');
	for (size_t i = 0; i < nr && i < FEW && call_size(k) < room; i++)
		put_entry_line(d, v, at[i]);
	doc_close(d, ']');
}

struct subagents {
	struct doc list;
	size_t room;
	uint64_t nr, left_out;
};

static int put_subagent(void *payload, const struct grove_subagent *a)
{
	struct subagents *l = payload;
	struct doc *d = &l->list;

	l->nr++;
	if (sent_size(grove_buf_slice(&d->buf)) > l->room) {
		l->left_out++;
		return 0;
	}
	doc_open(d, '{');
	put_recorded_member(d, "id", a->id, ID_TEXT);
	put_recorded_member(d, "type", a->type, NAME_TEXT);
	put_recorded_member(d, "description", a->description, NAME_TEXT);
	/* a database has no paths */
	put_recorded_member(d, "session", a->path ? a->path : a->session_id, 0);
	doc_close(d, '}');
	return d->rc;
}

static void put_subagents(struct doc *d, struct grove_session *s, size_t room)
{
	struct subagents l = { .room = room };

	doc_open(&l.list, '[');
	grove_session_subagent_each(s, put_subagent, &l);
	doc_close(&l.list, ']');
	if (l.nr)
		doc_member_json(d, "subagents", grove_buf_slice(&l.list.buf));
	if (l.left_out)
		doc_member_number(d, "subagentsLeftOut", l.left_out);
	doc_release(&l.list);
}

static void put_state(struct call *k, struct grove_session *s, const struct grove_view *v, const struct survey *about)
{
	struct doc *d = &k->d;
	struct grove_counts n = { .size = sizeof(n) };
	const struct grove_command *cmd;
	uint32_t leaf = grove_view_leaf(v);

	grove_view_counts(v, &n);
	doc_member_number(d, "entries", n.entries);
	doc_member_number(d, "prompts", about->prompts);
	doc_member_number(d, "branches", about->branches);
	doc_member_number(d, "compactions", about->compactions);
	doc_member_number(d, "labels", about->labels);
	if (n.malformed)
		doc_member_number(d, "malformed", n.malformed);
	if (leaf != GROVE_NO_ENTRY) {
		doc_name(d, "leaf");
		put_entry_line(d, v, leaf);
	}
	if (about->nr_ends > 1)
		put_lines(k, "branchEnds", v, about->ends, about->nr_ends, k->max * 4 / 10);
	put_lines(k, "labelled", v, about->labelled, about->labels, k->max * 5 / 10);
	put_subagents(d, s, k->max / 5);
	if (!grove_session_resume(s, &cmd)) {
		doc_name(d, "resume");
		doc_open(d, '[');
		for (size_t i = 0; cmd->argv[i]; i++)
			put_recorded(d, grove_str(cmd->argv[i]), PATH_TEXT);
		doc_close(d, ']');
	}
}

static int get_overview(struct call *k)
{
	struct grove_session *s;
	struct grove_view *v;
	struct grove_list *l = NULL;
	struct survey about = { 0 };
	int rc = session_get(k, arg_text(k, "session"), &s, &v);

	if (!rc) {
		rc = survey(v, !strcmp(grove_session_dialect(s), "claude"), &about);
		if (!rc)
			rc = grove_find(k->m->g, k->m->session_word.ptr, GROVE_FIND_COUNT, &l);
		if (rc)
			rc = call_fail_grove(k, rc);
	}
	if (!rc) {
		put_notice(&k->d);
		put_recorded_member(&k->d, "id", grove_session_id(s), ID_TEXT);
		put_session_members(&k->d, grove_list_at(l, 0), 1000);
		put_state(k, s, v, &about);
		doc_close(&k->d, '}');
	}
	grove_list_free(l);
	grove_view_unref(v);
	return rc;
}

const struct tool tool_get_overview = {
	"get_overview", "Overview of a session",
	"Summarizes a session: name, directory, times, counts, where it ended, its branches, labels and "
	"sub-agents, and the command that resumes it.",
	(const struct arg[]){ ARG_SESSION, ARG_BYTES, { NULL } },
	get_overview,
};

/* ---------------------------------------------------------------- get_usage */

static void put_usage_row(struct doc *d, const struct grove_usage_row *r)
{
	doc_open(d, '{');
	put_recorded_member(d, "key", r->key, NAME_TEXT);
	doc_member_number(d, "input", r->input);
	doc_member_number(d, "output", r->output);
	doc_member_number(d, "cacheRead", r->cache_read);
	doc_member_number(d, "cacheWrite", r->cache_write);
	doc_member_number(d, "totalTokens", r->total);
	if (r->has_cost) {
		doc_name(d, "cost");
		doc_real(d, r->cost);
	}
	if (r->estimated > 0) {
		doc_name(d, "estimated");
		doc_real(d, r->estimated);
	}
	doc_close(d, '}');
}

static void put_usage(struct call *k, const struct grove_usage *u, uint64_t from, uint64_t limit)
{
	const struct grove_usage_row *r;
	struct doc item = { .rc = 0 };
	uint64_t i = from;
	int fits = 1;

	put_notice(&k->d);
	doc_name(&k->d, "totals");
	put_usage_row(&k->d, grove_usage_totals(u));
	doc_name(&k->d, "rows");
	doc_open(&k->d, '[');
	for (; i - from < limit && fits && (r = grove_usage_at(u, (size_t)i)); i += (uint64_t)fits) {
		item.buf.len = 0;
		put_usage_row(&item, r);
		fits = put_item(k, &item, (size_t)(i - from));
	}
	doc_close(&k->d, ']');
	if (grove_usage_at(u, (size_t)i))
		put_cursor(&k->d, "nextCursor", 'u', &i, 1);
	doc_member_away(&k->d, k->m->g, 0);
	doc_close(&k->d, '}');
	doc_release(&item);
}

static int get_usage(struct call *k)
{
	struct grove_usage_options o = { .size = sizeof(o), .by = (enum grove_usage_by)arg_number(k, "by", GROVE_USAGE_DAY),
					 .project = arg_text(k, "project"), .tz = "" };
	const char *cursor = arg_text(k, "cursor"), *session = arg_text(k, "session");
	struct grove_usage *u = NULL;
	struct grove_list *l = NULL;
	uint64_t from = 0;
	int rc = cursor ? cursor_read(k, cursor, 'u', &from, 1) : 0;

	if (!rc)
		rc = arg_scope(k, NULL, &o.agent);
	if (!rc)
		rc = arg_period(k, &o.period);
	if (!rc && session) {
		rc = grove_find(k->m->g, session, 0, &l);
		/* copies in several stores are counted once */
		if (rc == GROVE_EAMBIGUOUS && same_ids(l))
			rc = 0;
		if (rc)
			rc = call_fail_grove(k, rc);
		else
			o.session = grove_list_at(l, 0)->id;
	}
	if (!rc) {
		rc = grove_usage(k->m->g, &o, &u);
		if (rc)
			rc = call_fail_grove(k, rc);
	}
	if (!rc)
		put_usage(k, u, from, arg_number(k, "limit", USAGE_DEFAULT));
	grove_usage_free(u);
	grove_list_free(l);
	return rc;
}

const struct tool tool_get_usage = {
	"get_usage", "Tokens and cost",
	"Reports how many tokens sessions used and what they cost in US dollars, by day, model, session, project, agent, "
	"week, month or block (the five-hour windows of Claude's plans).",
	(const struct arg[]){
		{ "by", VALUE_CHOICE, .choices = "day|model|session|project|agent|week|month|block",
		  .about = "What each row stands for. Default: day." },
		ARG_SINCE, ARG_UNTIL,
		{ "project", VALUE_TEXT, .about = "Only sessions of this directory or below it; a name without a slash: of every directory of that name." },
		{ "agent", VALUE_TEXT, .about = "Only sessions of this agent: pi, omp, xcsh, openclaw or claude." },
		{ "session", VALUE_TEXT, .about = "Only this session and its sub-agents: its id, a prefix of it, its path, or last." },
		{ "limit", VALUE_NUMBER, .least = 1, .most = 1000, .about = "Rows per page. Default: 50." },
		ARG_CURSOR, ARG_BYTES, { NULL },
	},
	get_usage,
};
