/*
 * catalog/list.c: lists all sessions.
 *
 * Files are independent of each other, so threads share them. A file that cannot be
 * read is reported and left out; it never empties the list.
 */
#include "catalog/list.h"
#include "catalog/list_text.h"
#include "digest/catalog.h"
#include "digest/shape.h"
#include "find/find.h"

#include "base/array.h"
#include "js/js.h"
#include "sys/pool.h"

#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 64   /* to take what is known takes little longer than the lock */

/* Ids of sessions, listed or not. */
struct ids {
	const char **list;
	size_t nr, cap;
};

/* One thread's: it adds to its own arrays, so that threads need not wait for each other. */
struct worker {
	struct grove__digest_reader reader;
	struct grove__list_fit fit;
	struct grove_list list;
	struct ids ids;
};

struct lister {
	struct grove *g;
	const struct grove_list_options *opt;
	struct grove_list *out;
	const char *cwd;                 /* only these; NULL: all */
	struct grove__query *query;      /* NULL: none */
	struct grove__catalog *catalog;  /* NULL: none */
	grove__catalog_need need;        /* how many logs there are, once that is known */
	struct grove__logs found;
	struct grove__logs_work work;    /* its lock protects `out`, while threads share what was found */
	struct ids ids;
};

/* --- one session --- */

struct grove_list_item grove__list_describe(const struct grove__digest_one *x)
{
	const struct grove__digest *l = &x->l;
	const struct grove__root *root = x->task->root;

	return (struct grove_list_item){
		.path = x->task->path,
		.id = l->id ? l->id : "",
		.dialect = l->dialect->name,
		.agent = !strcmp(root->agent, "grove") ? l->dialect->name : root->agent,
		.store = x->task->url,
		.cwd = l->cwd ? l->cwd : "",
		.name = l->name,
		.parent_session = l->parent,
		.first_message = l->first ? l->first : "(no messages)",
		.created = l->created,
		.modified = l->modified,
		.message_count = l->messages,
		.size = x->st.size,
		.file_time = x->st.mtime_ns / 1000000,
		.file_time_ns = x->st.mtime_ns,
		.first_message_len = l->first ? l->first_len : strlen("(no messages)"),
		.archived = root->archive,
	};
}

/* Returns 1 if it matches the options, apart from the query, 0 if not, or GROVE_ENOMEM. */
static int wanted(const struct lister *li, struct grove__digest_reader *r, const struct grove__log_at *t,
		  const struct grove__digest *l, const struct grove_list_item *info)
{
	const struct grove_list_options *o = li->opt;

	if ((o->flags & GROVE_LIST_NAMED && !l->name) || (o->agent && strcmp(o->agent, info->agent)) ||
	    (o->modified.since && info->modified < o->modified.since) ||
	    (o->modified.until && info->modified >= o->modified.until))
		return 0;
	/* the header takes precedence over the directory's name, which is ambiguous */
	return li->cwd ? grove__digest_belongs(r, t, l, li->cwd) : 1;
}

static int keep_text(struct grove__arena *a, const char **text)
{
	if (*text)
		*text = grove__arena_dup(a, grove__slice_str(*text));
	return a->failed ? GROVE_ENOMEM : 0;
}

/* The task's own texts last as long as the list. NULL if out of memory. */
static const struct grove__list_place *place_of(struct grove__arena *a, const struct grove__digest_one *x)
{
	struct grove__list_place *p = grove__arena_alloc(a, sizeof(*p), _Alignof(struct grove__list_place));

	if (p)
		*p = (struct grove__list_place){ x->task->root->store, x->l.dialect, x->task->project,
						 x->task->session, x->task->sub };
	return p;
}

/* `lasts`: so do its texts, except for the leaf. GROVE_ENOMEM. */
static int add_info(struct grove_list *out, const struct grove__digest_one *x, struct grove_list_item info,
		    bool lasts)
{
	struct grove__arena *a = &out->texts;
	const char **texts[] = { &info.id, &info.cwd, &info.name, &info.parent_session };
	int rc = grove__array_room(&out->info, &out->cap, out->nr, sizeof(*out->info));

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !rc && !lasts; i++)
		rc = keep_text(a, texts[i]);
	if (!rc)
		rc = keep_text(a, &info.leaf);
	for (size_t i = 0; i < GROVE_LIST_LABELS && info.labels[i] && !rc; i++)
		rc = keep_text(a, &info.labels[i]);
	if (!rc && !lasts) {
		info.first_message = grove__arena_dup(a, grove__slice(info.first_message,
								      info.first_message_len));
		rc = info.first_message ? 0 : GROVE_ENOMEM;
	}
	info.at = rc ? NULL : place_of(a, x);
	if (!rc && !info.at)
		rc = GROVE_ENOMEM;
	if (!rc)
		out->info[out->nr++] = info;
	return rc;
}

static int add_shape(struct lister *li, struct grove__digest_reader *r, const struct grove__digest_one *x,
		     struct grove_list_item *info, struct grove_detail *why)
{
	struct grove__shape s;
	int rc = grove__shape_of(li->g, li->catalog, x, &r->tmp, &s, why);

	if (rc)
		return rc;
	info->has_shape = 1;
	info->leaf = s.leaf;
	info->entries = s.entries;
	info->branches = s.branches;
	info->compactions = s.compactions;
	info->malformed = s.malformed;
	info->torn = s.torn;
	info->nr_labels = s.nr_labels;
	memcpy(info->labels, s.labels, sizeof(info->labels));
	return 0;
}

/*
 * Notes an id, also of what is not listed: that of a file that is no session for a list is
 * in its name. `lasts`: so does its text. GROVE_ENOMEM.
 */
static int add_id(struct worker *w, const struct grove__log_at *t, const struct grove__digest *l, bool lasts)
{
	struct ids *ids = &w->ids;
	struct grove_slice id = grove__slice_str(l->id ? l->id : "");
	int64_t time;

	if (!id.len && l->dialect && l->dialect->paths.parse_file_name(grove__slice_str(t->session), &time, &id))
		lasts = false;
	if (!id.len)
		return 0;
	if (grove__array_room(&ids->list, &ids->cap, ids->nr, sizeof(*ids->list)))
		return GROVE_ENOMEM;
	ids->list[ids->nr] = lasts ? id.ptr : grove__arena_dup(&w->list.texts, id);
	return ids->list[ids->nr++] ? 0 : GROVE_ENOMEM;
}

/*
 * Reads a session. Most sessions do not belong to the directory that is listed, so of a long
 * session that is not in the catalog the ends are read first: they contain its directory.
 */
static int read_log(struct lister *li, struct grove__digest_reader *r, struct grove__log_at *t,
		     struct grove__digest_one *x, struct grove_detail *why)
{
	struct grove_list_item info;
	uint64_t bounded;
	int rc;

	bounded = li->opt->flags & GROVE_LIST_BOUNDED ? GROVE__DIGEST_MOST : 0;
	r->ends_from = li->cwd && !li->g->given ? GROVE__ENDS_FROM : bounded;
	rc = grove__digest_read(r, t, x, why);
	r->ends_from = bounded;
	if (rc || !x->part || (bounded && x->log.bytes >= bounded))
		return rc;
	info = grove__list_describe(x);
	rc = wanted(li, r, t, &x->l, &info);
	if (rc <= 0)
		return rc;
	grove__digest_read_release(r, x);
	return grove__digest_read(r, t, x, why);
}

static void report(struct lister *li, const struct grove__log_at *t, struct grove_detail *why)
{
	if (!why->code || !li->opt->skipped)
		return;
	if (!*why->path)
		snprintf(why->path, sizeof(why->path), "%s", t->path);
	pthread_mutex_lock(&li->work.lock);
	li->opt->skipped(li->opt->skipped_payload, why);
	pthread_mutex_unlock(&li->work.lock);
}

static int list_log(void *payload, void *own, size_t i, struct grove_detail *d)
{
	struct lister *li = payload;
	struct worker *w = own;
	struct grove__digest_reader *r = &w->reader;
	struct grove__log_at *t = &li->found.logs[i];
	struct grove__digest_one x;
	struct grove_detail why;
	struct grove_list_item info;
	bool lasts;
	int rc = read_log(li, r, t, &x, &why), hit = 1;

	if (!rc) {
		info = grove__list_describe(&x);
		info.has_place = li->opt->flags & GROVE_LIST_PLACE ? 1 : 0;
		rc = wanted(li, r, t, &x.l, &info);
		if (rc > 0)
			rc = grove__list_fits(&w->fit, &x, &info.score, &hit, &why);
	}
	if (!hit && !x.part && li->opt->flags & GROVE_LIST_SHAPE)
		rc = add_shape(li, r, &x, &info, &why);
	/* of a store that fell silent, not each session is reported */
	if (rc == GROVE_EAWAY)
		grove__hidden_store(li->g, t->root, rc, &why);
	else if ((rc < 0 && rc != GROVE_ENOMEM) || x.too_long)
		report(li, t, &why);
	if (li->out->noted && (x.part || x.unsettled || x.l.asked)) {
		pthread_mutex_lock(&li->work.lock);
		li->out->fragile |= x.part || x.unsettled;
		if (x.l.asked)
			grove__list_made_with(li->out, t->path, x.l.asked, &t->st);
		pthread_mutex_unlock(&li->work.lock);
	}
	lasts = x.known && grove__catalog_lasts(li->catalog, CHAPTER_LIST);
	if (!hit && rc != GROVE_ENOMEM)
		rc = add_info(&w->list, &x, info, lasts);
	if (li->opt->flags & GROVE_LIST_SHORT_IDS && rc != GROVE_ENOMEM && add_id(w, t, &x.l, lasts))
		rc = GROVE_ENOMEM;
	grove__digest_read_release(r, &x);
	if (rc == GROVE_ENOMEM || hit >= 0)
		return rc == GROVE_ENOMEM ? rc : 0;
	/* a regular expression that takes too long here would do so elsewhere, too */
	*d = w->fit.d;
	return hit;
}

static int begin_worker(void *payload, void *own)
{
	struct lister *li = payload;
	struct worker *w = own;
	int rc = grove__digest_reader_init(&w->reader, li->g, li->catalog, 1u << CHAPTER_LIST);

	w->reader.cwd = li->cwd;
	w->reader.recalls = li->opt->flags & GROVE_LIST_REMEMBERED;
	return grove__list_fit_init(&w->fit, li->query, &w->reader) ? GROVE_ENOMEM : rc;
}

/* Adds what a thread found to the list. */
static int end_worker(void *payload, void *own)
{
	struct lister *li = payload;
	struct worker *w = own;
	struct grove_list *out = li->out, *list = &w->list;
	int rc = 0;

	grove__arena_join(&out->texts, &list->texts);
	for (size_t i = 0; i < list->nr && !rc; i++) {
		rc = grove__array_room(&out->info, &out->cap, out->nr, sizeof(*out->info));
		if (!rc)
			out->info[out->nr++] = list->info[i];
	}
	for (size_t i = 0; i < w->ids.nr && !rc; i++) {
		rc = grove__array_room(&li->ids.list, &li->ids.cap, li->ids.nr, sizeof(*li->ids.list));
		if (!rc)
			li->ids.list[li->ids.nr++] = w->ids.list[i];
	}
	free(list->info);
	free(w->ids.list);
	grove__list_fit_release(&w->fit);
	grove__digest_reader_release(&w->reader);
	return rc;
}

/* --- order --- */

static int by_name(const struct grove_list_item *a, const struct grove_list_item *b)
{
	if (!a->name || !b->name)
		return !a->name - !b->name;
	return strcmp(a->name, b->name);
}

static int newer(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int grove__list_newer(const struct grove_list_item *a, const struct grove_list_item *b)
{
	int c = newer(a->modified, b->modified);

	if (!c)
		c = newer(a->file_time_ns, b->file_time_ns);
	if (!c)
		c = -grove__js_collate(grove__slice_str(base_name(a->path)),
				       grove__slice_str(base_name(b->path)));
	if (!c)
		c = -strcmp(a->path, b->path);
	/* a database has no paths */
	if (!c)
		c = -strcmp(a->id, b->id);
	if (!c)
		c = -strcmp(a->store, b->store);
	return c ? c : -strcmp(a->cwd, b->cwd);
}

static int compare(const void *x, const void *y, void *payload)
{
	const struct grove_list_item *a = x, *b = y;
	int c = 0;

	switch (*(enum grove_sort *)payload) {
	case GROVE_SORT_CREATED:
		c = newer(a->created, b->created);
		break;
	case GROVE_SORT_SIZE:
		c = newer((int64_t)a->size, (int64_t)b->size);
		break;
	case GROVE_SORT_MESSAGES:
		c = newer((int64_t)a->message_count, (int64_t)b->message_count);
		break;
	case GROVE_SORT_NAME:
		c = by_name(a, b);
		break;
	case GROVE_SORT_RELEVANCE:
		c = (a->score > b->score) - (a->score < b->score);
		break;
	case GROVE_SORT_MODIFIED:
		break;
	}
	return c ? c : grove__list_newer(a, b);
}

/* --- the whole --- */

static void load(void *payload, unsigned thread)
{
	struct lister *li = payload;
	unsigned shapes = li->opt->flags & GROVE_LIST_SHAPE ? 1u << CHAPTER_SHAPE : 0;

	(void)thread;
	li->catalog = grove__catalog_open(li->g, 1u << CHAPTER_LIST | shapes, &li->need);
}

/* The catalog is read while directories are. */
static int find_and_read(struct lister *li, struct grove_detail *d)
{
	const unsigned flags = li->opt->flags;
	const bool recalls = flags & GROVE_LIST_REMEMBERED;
	const struct grove__logs_which which = {
		.top = flags & GROVE_LIST_FLAT, .subs = li->cwd ? LOGS_SESSIONS : LOGS_LISTED_SUBS,
		.tell = LOGS_SURVEY, .look = !recalls,
	};
	struct grove__logs *found = &li->found;
	struct grove__pool loader = { .nr = 0 };
	bool all;
	int rc;

	li->need = SIZE_MAX;
	if (flags & GROVE_LIST_NOTED && !li->cwd &&
	    !(flags & (GROVE_LIST_COST | GROVE_LIST_EXPIRING | GROVE_LIST_REMEMBERED)))
		grove__list_made_of(li->g, li->out);
	grove__pool_begin_one(&loader, load, li);
	rc = grove__logs_find(found, li->g, &which, d);
	li->need = rc ? 0 : found->nr;
	if (!rc && !loader.nr)
		load(li, 0);
	grove__pool_end(&loader);
	/* one at a time if its file may have to be read, more if they are likely to be known */
	li->work = (struct grove__logs_work){
		.g = li->g, .nr = found->nr, .at_once = recalls ? AT_ONCE : 1, .own = sizeof(struct worker),
		.begin = begin_worker, .one = list_log, .end = end_worker, .payload = li, .d = d,
	};
	rc = rc ? rc : grove__logs_each(&li->work);
	for (size_t i = 0; i < found->nr && li->out->noted && !li->out->fragile; i++)
		grove__list_made_with(li->out, found->logs[i].path, NULL, &found->logs[i].st);
	/* where it is a matter of milliseconds, nothing is tidied up */
	all = !li->cwd && !(flags & (GROVE_LIST_FLAT | GROVE_LIST_REMEMBERED)) && !rc && !grove__roots_away(li->g);
	grove__catalog_close(li->catalog, all, &li->out->known);
	/* items say where they are */
	grove__arena_join(&li->out->texts, &found->texts);
	grove__logs_release(found);
	return rc;
}

/* --- ids --- */

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The first of those with this id. */
static size_t find_id(const struct lister *li, const char *id)
{
	size_t low = 0, high = li->ids.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(li->ids.list[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static unsigned in_common(const char *a, const char *b)
{
	unsigned n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* One more than what it shares with its neighbours; other copies of it do not count. */
static unsigned short_len(const struct lister *li, const char *id)
{
	enum { SHORTEST = 4 };
	size_t at = find_id(li, id), next = at;
	unsigned same = 0, n;

	while (next < li->ids.nr && !strcmp(li->ids.list[next], id))
		next++;
	if (at)
		same = in_common(li->ids.list[at - 1], id);
	n = next < li->ids.nr ? in_common(li->ids.list[next], id) : 0;
	same = n > same ? n : same;
	return same + 1 > SHORTEST ? same + 1 : SHORTEST;
}

static void measure_ids(struct lister *li)
{
	struct grove_list *out = li->out;

	if (li->ids.nr)
		qsort(li->ids.list, li->ids.nr, sizeof(*li->ids.list), by_text);
	for (size_t i = 0; i < out->nr && li->ids.nr; i++)
		out->info[i].id_len = short_len(li, out->info[i].id);
	free(li->ids.list);
}

/* Sorts and limits the list as the options say. */
static int arrange(struct grove *g, const struct grove_list_options *opt, bool query,
		   struct grove_list *out, struct grove_detail *d)
{
	/* pi shows the results of a query without threads, best first */
	bool threads = opt->flags & GROVE_LIST_THREADS && !query && !(opt->flags & GROVE_LIST_EXPIRING);
	enum grove_sort sort = opt->flags & GROVE_LIST_THREADS && query && !opt->sort ? GROVE_SORT_RELEVANCE : opt->sort;
	int rc = 0;

	if (out->nr)
		qsort_r(out->info, out->nr, sizeof(*out->info), compare, &sort);
	if (threads && grove__list_thread(out, sort == GROVE_SORT_MODIFIED))
		return grove__fail_nomem(d);
	if (opt->flags & GROVE_LIST_EXPIRING)
		rc = grove__list_expiring(g, opt->within, out, d);
	if (!rc && opt->limit && out->nr > opt->limit)
		out->nr = opt->limit;
	return rc;
}

static void mention_databases(struct grove *g, const struct grove_list_options *opt)
{
	struct grove_buf database = GROVE_BUF_INIT;
	struct grove_detail why;

	for (size_t i = 0; i < g->nr_roots; i++) {
		const struct grove__root *r = &g->roots[i];

		if (!r->dir || (opt->agent && strcmp(opt->agent, r->agent)) ||
		    !grove__world_gave_up(r->dir, &database))
			continue;
		grove__fail(&why, GROVE_ENOTSUP, database.ptr, "%s keeps its sessions here now, where grove does not read them", r->agent);
		grove__hidden_mention(g, &why);
	}
	grove__buf_release(&database);
}

int grove__list(struct grove *g, const struct grove_list_options *opt, struct grove_list *out,
		struct grove_detail *d)
{
	struct lister li = { .g = g, .opt = opt, .out = out };
	struct grove_buf cwd = GROVE_BUF_INIT;
	int rc = 0;

	if (opt->query)
		rc = grove__query_new(&li.query, grove__slice_str(opt->query), d);
	if (rc)
		return rc;
	if (opt->cwd || !(opt->flags & GROVE_LIST_ALL)) {
		rc = grove__world_resolve(g, opt->cwd ? opt->cwd : g->cwd, &cwd);
		li.cwd = cwd.ptr;
	}
	mention_databases(g, opt);
	rc = rc ? grove__fail_nomem(d) : find_and_read(&li, d);
	measure_ids(&li);
	if (!rc)
		rc = arrange(g, opt, li.query && !grove__query_is_blank(li.query), out, d);
	grove__query_free(li.query);
	grove__buf_release(&cwd);
	return rc;
}

/* --- one by name --- */

/* Finds the root whose sessions lists find there. `own`: a location that no list looks at. */
static struct grove__root *root_of(struct grove *g, const struct grove__where *at,
				   struct grove__root *own)
{
	struct grove__root *root = grove__root_with(g, at->store);

	if (root)
		return root;
	*own = (struct grove__root){ .store = at->store, .dialect = at->dialect, .agent = at->agent };
	return own;
}

static int look_up(struct grove *g, struct grove__log_at *t, unsigned flags,
		   struct grove_list *out, struct grove_detail *d)
{
	const grove__catalog_need one = 0;
	struct grove__catalog *catalog = t->is_file ? grove__catalog_open(g, 1u << CHAPTER_LIST, &one) : NULL;
	struct grove__digest_reader r;
	struct grove__digest_one x;
	int rc = grove__digest_reader_init(&r, g, catalog, 1u << CHAPTER_LIST);

	if (rc) {
		rc = grove__fail_nomem(d);
		goto out;
	}
	r.any = true;
	r.ends_from = flags & GROVE_FIND_COUNT ? 0 : GROVE__ENDS_FROM;
	rc = grove__digest_read(&r, t, &x, d);
	if (!rc)
		rc = add_info(out, &x, grove__list_describe(&x), false);
	if (rc == GROVE_ENOMEM)
		grove__fail_nomem(d);
	else if (rc && !d->code)
		grove__fail(d, rc, *t->path ? t->path : t->session, "not a valid %s session",
			    x.l.dialect ? x.l.dialect->name : "");
	grove__digest_read_release(&r, &x);
out:
	grove__digest_reader_release(&r);
	grove__catalog_close(catalog, false, &out->known);
	return rc;
}

static int list_where(struct grove *g, struct grove__where *at, unsigned flags, struct grove_list *out,
		      struct grove_detail *d)
{
	struct grove__root own;
	struct grove__log_at t;
	int rc = grove__peek_where_dialect(g, at, d);

	if (!rc) {
		t = (struct grove__log_at){ .root = root_of(g, at, &own), .name = "" };
		t.project = grove__arena_dup(&out->texts, grove__slice_str(at->project));
		t.session = grove__arena_dup(&out->texts, grove__slice_str(at->session));
		t.sub = grove__arena_dup(&out->texts, grove__slice_str(at->sub ? at->sub : ""));
		t.path = grove__arena_dup(&out->texts, grove__slice_str(at->path ? at->path : ""));
		t.url = grove__arena_dup(&out->texts, grove__slice_str(at->store->url));
		rc = t.project && t.session && t.sub && t.path && t.url ? 0 : grove__fail_nomem(d);
	}
	if (!rc) {
		grove__logs_look(&t, NULL);
		rc = look_up(g, &t, flags, out, d);
	}
	return rc;
}

/* Called for one of several that were found; which of them can be read is shown. */
static int list_candidate(void *payload, struct grove__where *at)
{
	struct grove_list *out = payload;
	struct grove_detail why;

	grove__fail_clear(&why);
	return list_where(out->g, at, 0, out, &why) == GROVE_ENOMEM ? GROVE_ENOMEM : 0;
}

int grove__list_of_one(struct grove *g, const char *what, unsigned flags, struct grove_list *out,
		       struct grove_detail *d)
{
	struct grove__where at;
	int rc = (flags & GROVE_FIND_ID ? grove__locate_exactly : grove__locate_or)(g, what, &at, list_candidate, out, d);

	if (!rc)
		rc = list_where(g, &at, flags, out, d);
	grove__where_release(&at);
	return rc;
}

void grove__list_release(struct grove_list *l)
{
	free(l->info);
	free(l->sources);
	grove__arena_release(&l->texts);
	grove__arena_release(&l->known);
}
