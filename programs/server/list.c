/*
 * list.c: GET /sessions: the list of sessions, filtered, counted and paged.
 *
 * The library makes the list; we filter and count its items. A cursor holds the position
 * and the key of the last item on a page. If that item is gone or has moved, we go by the
 * position.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "opened.h"
#include "recent.h"
#include "reply.h"
#include "route.h"
#include "kit/indexer.h"
#include "kit/store_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SORT_COST (GROVE_SORT_RELEVANCE + 1)  /* our own sort order, after the library's */

struct wish {
	const char *store, *agent, *project;
	int branched, damaged, labelled, shape, cost, facets;
	int running;               /* only sessions that are open */
	int dearest;               /* most expensive first */
	int expiring;              /* the list has only sessions that will be deleted soon */
	const struct opened_set *open;
	const struct grove_list *list;
	uint64_t limit;
};

/* An item that passed the filters. */
struct row {
	const struct grove_list_item *item;
	size_t at;       /* its index in the list */
	int unique;      /* no other session has its id */
};

struct rows {
	struct row *row;
	size_t nr;
};

/* ------------------------------------------------------------------ choosing */

static const char *last_part(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash && slash[1] ? slash + 1 : dir;
}

static int in_project(const char *cwd, const char *project)
{
	size_t n = strlen(project);

	if (*project != '/')
		return !strcmp(last_part(cwd), project);
	return !strncmp(cwd, project, n) && (!cwd[n] || cwd[n] == '/');
}

static const struct opened *running_of(const struct wish *w, const struct grove_list_item *i)
{
	return opened_find(w->open, i->path, i->id, strlen(i->id));
}

static int is_damaged(const struct grove_list_item *i)
{
	return i->has_shape && (i->malformed || i->torn);
}

/* A name that ends with a colon means all stores of that kind. */
static int in_store(const char *store, const char *wanted)
{
	size_t len = strlen(wanted);

	return len && wanted[len - 1] == ':' ? !strncmp(store, wanted, len) : store_is(store, wanted);
}

static int chosen(const struct request *r, const struct wish *w, const struct grove_list_item *i)
{
	return auth_allows(&r->who, i->store, i->cwd) &&
	       (!w->store || in_store(i->store, w->store)) &&
	       (!w->agent || !strcmp(i->agent, w->agent)) &&
	       (!w->project || in_project(i->cwd, w->project)) &&
	       (!w->running || running_of(w, i)) && (!w->branched || (i->has_shape && i->branches)) && (!w->damaged || is_damaged(i)) &&
	       (!w->labelled || (i->has_shape && i->nr_labels));
}

static int by_id(const void *a, const void *b)
{
	const struct grove_list_item *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

/* Finds ids that several sessions share: sorted by id, they are neighbours. */
static int mark_unique(const struct grove_list *l, struct rows *rows)
{
	size_t nr = grove_list_count(l);
	const struct grove_list_item **all = malloc((nr ? nr : 1) * sizeof(*all));
	const struct grove_list_item **at;

	if (!all)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		all[i] = grove_list_at(l, i);
	qsort(all, nr, sizeof(*all), by_id);
	for (size_t i = 0; i < rows->nr; i++) {
		at = bsearch(&rows->row[i].item, all, nr, sizeof(*all), by_id);
		rows->row[i].unique = !(at > all && !strcmp(at[-1]->id, at[0]->id)) &&
				      !(at + 1 < all + nr && !strcmp(at[1]->id, at[0]->id));
	}
	free(all);
	return 0;
}

/* Sessions without a known cost come last; equal ones keep the list's order. */
static int by_cost(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double left = x->item->has_cost ? x->item->cost : -1, right = y->item->has_cost ? y->item->cost : -1;

	return left < right ? 1 : left > right ? -1 : x->at < y->at ? -1 : x->at > y->at;
}

static int choose(const struct request *r, const struct wish *w, const struct grove_list *l, struct rows *rows)
{
	size_t nr = grove_list_count(l);

	rows->row = calloc(nr ? nr : 1, sizeof(*rows->row));
	if (!rows->row)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (chosen(r, w, grove_list_at(l, i)))
			rows->row[rows->nr++] = (struct row){ grove_list_at(l, i), i, 0 };
	if (w->dearest)
		qsort(rows->row, rows->nr, sizeof(*rows->row), by_cost);
	return mark_unique(l, rows);
}

/* -------------------------------------------------------------------- items */

static void put_key(const struct row *w, char *out, size_t size)
{
	char mark[5];

	store_url_session_mark(w->item->store, w->item->path, mark);
	snprintf(out, size, "%s%s%s", w->item->id, w->unique ? "" : "~", w->unique ? "" : mark);
}

/* The session's owner, if a host has set one. */
static void put_item_owner(struct doc *d, const struct wish *w, size_t at)
{
	struct grove_buf owner = GROVE_BUF_INIT;

	doc_name(d, "agentId");
	if (grove_list_value(w->list, at, "agentId", &owner) || !owner.len)
		doc_null(d);
	else
		doc_text(d, grove_buf_slice(&owner));
	grove_buf_release(&owner);
}

int list_all(struct grove *g, struct grove_list **out)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL | GROVE_LIST_BOUNDED };

	return grove_list(g, &o, out);
}

const char *parent_shown(struct request *r, const struct grove_list *l, const char *parent)
{
	struct grove_list *made = NULL;
	int seen = !parent || !auth_limited(&r->who);

	if (!seen && !l && !list_all(r->g, &made))
		l = made;
	for (size_t i = 0; !seen && l && i < grove_list_count(l); i++) {
		const struct grove_list_item *x = grove_list_at(l, i);

		seen = (!strcmp(x->id, parent) || !strcmp(x->path, parent)) && auth_allows(&r->who, x->store, x->cwd);
	}
	grove_list_free(made);
	return seen ? parent : NULL;
}

static void put_item(struct request *r, const struct wish *wish, const struct row *w)
{
	struct grove_list_item short_one = *w->item, *i = &short_one;
	struct doc *d = &r->out;
	char key[300], name[TITLE_BYTES], first[TITLE_BYTES], label[GROVE_LIST_LABELS][TITLE_BYTES];

	put_key(w, key, sizeof(key));
	i->parent_session = parent_shown(r, wish->list, i->parent_session);
	i->first_message_len = doc_cut_title((struct grove_slice){ i->first_message, i->first_message_len }, first);
	i->first_message = first;
	if (i->name) {
		doc_cut_title(grove_str(i->name), name);
		i->name = name;
	}
	for (size_t n = 0; n < GROVE_LIST_LABELS && i->labels[n]; n++) {
		doc_cut_title(grove_str(i->labels[n]), label[n]);
		i->labels[n] = label[n];
	}
	doc_open(d, '{');
	d->buf.len--;  /* the item brings its own bracket */
	if (!d->rc)
		d->rc = grove_list_item_json(i, &d->buf);
	d->buf.len--;  /* more members follow */
	doc_member(d, "key", key);
	doc_member_bool(d, "writable", r->who.scope >= SCOPE_WRITE && !i->archived);
	if (i->depth)
		doc_member_number(d, "depth", i->depth);
	put_item_owner(d, wish, w->at);
	put_live(d, running_of(wish, i), i->agent);
	if (is_damaged(i)) {
		doc_name(d, "damaged");
		doc_open(d, '{');
		doc_member_number(d, "malformed", i->malformed);
		doc_member_bool(d, "torn", i->torn);
		doc_close(d, '}');
	}
	doc_close(d, '}');
}

/* ------------------------------------------------------------------- facets */

struct facet {
	const char *name;
	uint64_t nr;
};

static void count_facet(struct facet *f, size_t *nr, const char *name)
{
	for (size_t i = 0; i < *nr; i++)
		if (!strcmp(f[i].name, name)) {
			f[i].nr++;
			return;
		}
	if (*nr < FACETS_MAX)
		f[(*nr)++] = (struct facet){ name, 1 };
}

static int by_count(const void *a, const void *b)
{
	const struct facet *x = a, *y = b;

	return x->nr < y->nr ? 1 : x->nr > y->nr ? -1 : strcmp(x->name, y->name);
}

/*
 * `w` lacks the filter that the facet counts: somebody who looks at one project wants to
 * see how many sessions the others have.
 */
static void put_facet(struct request *r, const char *name, const struct wish *w,
		      const char *(*of)(const struct grove_list_item *i))
{
	struct facet f[FACETS_MAX];
	size_t nr = 0;

	for (size_t i = 0; i < grove_list_count(w->list); i++)
		if (chosen(r, w, grove_list_at(w->list, i)))
			count_facet(f, &nr, of(grove_list_at(w->list, i)));
	qsort(f, nr, sizeof(*f), by_count);
	doc_name(&r->out, name);
	doc_open(&r->out, '{');
	for (size_t i = 0; i < nr; i++)
		doc_member_number(&r->out, f[i].name, f[i].nr);
	doc_close(&r->out, '}');
}

static const char *project_of(const struct grove_list_item *i)
{
	return last_part(i->cwd);
}

static const char *agent_of(const struct grove_list_item *i)
{
	return i->agent;
}

static const char *store_of(const struct grove_list_item *i)
{
	return i->store;
}

/* Counts the sessions of every view, whichever is shown. */
static void put_views(struct request *r, struct wish w)
{
	uint64_t all = 0, named = 0, running = 0, branched = 0, damaged = 0, labelled = 0;

	w.running = w.branched = w.damaged = w.labelled = 0;
	for (size_t i = 0; i < grove_list_count(w.list); i++) {
		const struct grove_list_item *item = grove_list_at(w.list, i);

		if (!chosen(r, &w, item))
			continue;
		all++;
		named += item->name != NULL;
		running += running_of(&w, item) != NULL;
		branched += item->has_shape && item->branches;
		damaged += is_damaged(item);
		labelled += item->has_shape && item->nr_labels;
	}
	doc_name(&r->out, "view");
	doc_open(&r->out, '{');
	if (!w.expiring)
		doc_member_number(&r->out, "all", all);
	doc_member_number(&r->out, "named", named);
	doc_member_number(&r->out, "running", running);
	if (w.shape) {
		doc_member_number(&r->out, "branched", branched);
		doc_member_number(&r->out, "damaged", damaged);
		doc_member_number(&r->out, "labelled", labelled);
	}
	doc_close(&r->out, '}');
}

static void put_facets(struct request *r, const struct wish *w)
{
	struct wish project = *w, agent = *w, store = *w;

	project.project = NULL;
	agent.agent = NULL;
	store.store = NULL;
	doc_name(&r->out, "facets");
	doc_open(&r->out, '{');
	put_facet(r, "project", &project, project_of);
	put_facet(r, "agent", &agent, agent_of);
	put_facet(r, "store", &store, store_of);
	put_views(r, *w);
	doc_close(&r->out, '}');
}

/* ------------------------------------------------------------------- paging */

static int good_cursor(struct request *r, const char *cursor)
{
	size_t n = cursor ? strspn(cursor, "0123456789") : 0;

	if (cursor && (!n || n > 18 || cursor[n] != '.'))
		return reply_fail(r, GROVE_EINVAL, "not a cursor of a list: %.64s", cursor);
	return 0;
}

/*
 * Returns the position after the item that the cursor names or, if that is gone, after its
 * old position.
 */
static size_t after_cursor(const struct rows *rows, const char *cursor)
{
	char key[300];
	char *end;
	size_t at;

	if (!cursor)
		return 0;
	at = strtoul(cursor, &end, 10);
	for (size_t i = 0; i < rows->nr; i++) {
		put_key(&rows->row[i], key, sizeof(key));
		if (!strcmp(key, end + 1))
			return i + 1;
	}
	return at < rows->nr ? at : rows->nr;
}

static void put_page(struct request *r, const struct wish *w, const struct rows *rows)
{
	size_t i = after_cursor(rows, query_text(r, "cursor")), nr = 0;
	char key[300];

	doc_name(&r->out, "sessions");
	doc_open(&r->out, '[');
	for (; i < rows->nr && nr < w->limit && r->out.buf.len < PAGE_BYTES && !r->out.rc; i++, nr++)
		put_item(r, w, &rows->row[i]);
	doc_close(&r->out, ']');
	doc_name(&r->out, "next");
	if (i < rows->nr && nr) {
		put_key(&rows->row[i - 1], key, sizeof(key));
		doc_printf(&r->out, "\"%zu.%s\"", i, key);
	} else {
		doc_null(&r->out);
	}
}

/* ---------------------------------------------------------------- the route */

/* Filters by more than the name. Some of these need the trees of all sessions. */
static int read_filters(struct request *r, struct wish *w, struct grove_list_options *o)
{
	static const char *const fields[] = { "shape", "cost", NULL };
	int named = 0, threads = 0;
	int rc = query_flag(r, "named", &named);

	if (!rc)
		rc = query_flag(r, "threads", &threads);
	if (!rc)
		rc = query_flag(r, "branched", &w->branched);
	if (!rc)
		rc = query_flag(r, "damaged", &w->damaged);
	if (!rc)
		rc = query_flag(r, "facets", &w->facets);
	if (!rc)
		rc = query_flag(r, "running", &w->running);
	if (!rc)
		rc = query_flag(r, "labelled", &w->labelled);
	if (!rc)
		rc = query_words(r, "fields", fields);
	if (!rc)
		rc = good_cursor(r, query_text(r, "cursor"));
	w->shape = query_lists(r, "fields", "shape") || w->branched || w->damaged || w->labelled;
	w->cost = query_lists(r, "fields", "cost") || w->dearest;
	o->flags |= (named ? GROVE_LIST_NAMED : 0) | (threads ? GROVE_LIST_THREADS : 0) |
		    (w->shape ? GROVE_LIST_SHAPE : 0) | (w->cost ? GROVE_LIST_COST : 0);
	return rc;
}

static int read_wish(struct request *r, struct wish *w, struct grove_list_options *o)
{
	static const char *const sorts[] = { "modified", "created", "size", "messages", "name", "relevance", "cost", NULL };
	uint64_t days = UINT64_MAX;
	int sort = 0;
	int rc = query_choice(r, "sort", sorts, &sort);

	w->store = query_text(r, "store");
	w->agent = query_text(r, "agent");
	w->project = query_text(r, "project");
	w->limit = LIST_DEFAULT;
	o->flags = GROVE_LIST_ALL | GROVE_LIST_BOUNDED | (auth_limited(&r->who) ? 0 : GROVE_LIST_NOTED);
	o->cwd = query_text(r, "cwd");
	o->query = query_text(r, "q");
	if (o->query && !*o->query)
		o->query = NULL;
	w->dearest = sort == SORT_COST;
	o->sort = w->dearest ? GROVE_SORT_MODIFIED : (enum grove_sort)sort;
	if (!rc)
		rc = query_number(r, "limit", &w->limit);
	if (!rc)
		rc = query_number(r, "expiring", &days);
	if (w->limit > LIST_MAX)
		w->limit = LIST_MAX;
	if (days != UINT64_MAX) {
		w->expiring = 1;
		o->flags |= GROVE_LIST_EXPIRING;
		o->within = (int64_t)(days < 36500 ? days : 36500) * 86400000;
	}
	return rc ? rc : read_filters(r, w, o);
}

static void have_rest_counted(struct request *r, const struct grove_list *l)
{
	size_t i = 0;

	while (i < grove_list_count(l) && grove_list_at(l, i)->message_count != GROVE_NO_COUNT)
		i++;
	if (i < grove_list_count(l))
		indexer_count(r->server->indexer);
}

/* Increases when any of the sessions is written to. */
static uint64_t rev_of(const struct grove_list *l)
{
	int64_t newest = 0;

	for (size_t i = 0; i < grove_list_count(l); i++)
		if (grove_list_at(l, i)->file_time > newest)
			newest = grove_list_at(l, i)->file_time;
	return (uint64_t)newest;
}

int get_sessions(struct request *r)
{
	struct grove_list_options o = { .size = sizeof(o) };
	struct grove_list *l = NULL;
	struct opened_set *open = NULL;
	struct rows rows = { 0 };
	struct wish w = { 0 };
	int rc = read_wish(r, &w, &o);

	if (rc)
		return rc;
	rc = grove_list(r->g, &o, &l);
	if (!rc)
		rc = opened_now(r->server->openers, r->g, &open);
	w.open = open;
	w.list = l;
	if (rc)
		rc = reply_fail_grove(r, rc);
	else
		rc = choose(r, &w, l, &rows);
	if (!rc) {
		have_rest_counted(r, l);
		doc_open(&r->out, '{');
		put_page(r, &w, &rows);
		doc_member_number(&r->out, "total", rows.nr);
		doc_member_number(&r->out, "rev", rev_of(l));
		doc_member_away(&r->out, r->g, auth_limited(&r->who));
		if (w.facets)
			put_facets(r, &w);
		doc_close(&r->out, '}');
	}
	free(rows.row);
	if (!rc && grove_list_holds(l) && (r->shown = shown_new_list(r->server->recent, l, r->server->openers, open)))
		return 0;
	opened_give_back(r->server->openers, open);
	grove_list_free(l);
	return rc;
}
