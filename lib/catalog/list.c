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

#include "base/array.h"
#include "js/js.h"
#include "sys/pool.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * There may be a million empty files, which are not sessions. Whenever this many files were
 * found, those among them that are empty are dropped.
 */
#define SWEEP ((size_t)1 << 12)

/* A session that a user could name. */
struct id {
	const char *text;
	bool archived;
};

/* Ids of sessions, listed or not. */
struct ids {
	struct id *list;
	size_t nr, cap;
};

/* What one thread found: it adds to its own arrays, so that threads need not wait for each other. */
struct part {
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
	struct grove__digest_task *tasks;
	size_t nr, cap, next;
	size_t looked, seen;             /* tasks whose file is being, or has been, examined */
	struct grove__arena names;       /* of projects */
	struct grove__arena fresh;       /* texts of the tasks since empty files were dropped */
	struct grove_buf path;
	struct grove__root *root;        /* whose keys are being collected, */
	const char *url;                 /* its store's, */
	const char *project;             /* and the project of the last one */
	bool with_subs;                  /* a survey also has those of sub-agents that are listed */
	grove__catalog_need need;        /* how many tasks there are, once that is known */
	bool loaded;                     /* the catalog has been loaded, if there is one */
	bool has_archive;                /* one of the roots is */
	bool recalls;                    /* GROVE_LIST_REMEMBERED */
	struct ids ids;
	pthread_cond_t loading;
	pthread_mutex_t lock;
	struct grove_detail *d;
	int rc;
};

/* If the path ends with the name, as for files, points into it; otherwise copies the name. */
static const char *tail_of(struct grove__arena *a, const char *path, const char *name)
{
	size_t n = strlen(path), len = strlen(name);

	return n >= len && !strcmp(path + n - len, name) ? path + n - len
							 : grove__arena_dup(a, grove__slice_str(name));
}

static int name_task(struct lister *li, struct grove__digest_task *t, const char *path, const struct grove_key *key)
{
	struct grove__arena *a = &li->fresh;

	t->path = grove__arena_dup(a, grove__slice_str(path));
	if (!t->path)
		return grove__fail_nomem(li->d);
	t->session = tail_of(a, t->path, key->session);
	t->sub = tail_of(a, t->path, key->subpath);
	return t->session && t->sub ? 0 : grove__fail_nomem(li->d);
}

enum { AT_ONCE = 64 };  /* examining one file takes little longer than taking a lock */

/* Examines files until all tasks are taken, and says when the last one is done. */
static void look_at_files(struct lister *li)
{
	struct grove__sys_dir near;
	size_t from = 0, to = 0;

	grove__sys_dir_init(&near);
	do {
		pthread_mutex_lock(&li->lock);
		li->seen += to - from;
		if (li->seen == li->nr)
			pthread_cond_broadcast(&li->loading);
		from = li->looked;
		to = li->looked = li->nr - from < AT_ONCE ? li->nr : from + AT_ONCE;
		pthread_mutex_unlock(&li->lock);
		for (size_t i = from; i < to && !li->recalls; i++)
			grove__digest_look(&li->tasks[i], &near);
	} while (from < to);
	grove__sys_dir_release(&near);
}

static void look_along(void *payload, unsigned thread)
{
	(void)thread;
	look_at_files(payload);
}

static void drop_empty(struct lister *li)
{
	const size_t kept = li->seen;
	size_t nr = kept;

	grove__pool_run(li->nr - nr, look_along, li);
	for (size_t i = nr; i < li->nr; i++)
		if (!li->tasks[i].is_empty)
			li->tasks[nr++] = li->tasks[i];
	li->nr = li->looked = li->seen = nr;
	if (nr == kept)
		grove__arena_clear(&li->fresh);
	else
		grove__arena_join(&li->out->texts, &li->fresh);
}

static int add_task(struct lister *li, const struct grove_key *key, struct grove__digest_task t)
{
	int rc;

	grove__buf_clear(&li->path);
	if (grove__array_room(&li->tasks, &li->cap, li->nr, sizeof(*li->tasks)) ||
	    grove__store_describe(li->root->store, key, &li->path))
		return grove__fail_nomem(li->d);
	if (!li->project || strcmp(li->project, key->project))
		li->project = grove__arena_dup(&li->names, grove__slice_str(key->project));
	t.root = li->root;
	t.project = li->project;
	t.url = li->url;
	if (!t.project)
		return grove__fail_nomem(li->d);
	rc = name_task(li, &t, grove__buf_slice(&li->path).ptr, key);
	if (rc)
		return rc;
	li->tasks[li->nr++] = t;
	if (li->nr - li->seen >= SWEEP && !li->recalls)
		drop_empty(li);
	return 0;
}

static int collect(void *payload, const struct grove_key *key)
{
	return add_task(payload, key, (struct grove__digest_task){ .root = NULL });
}

static int collect_surveyed(void *payload, const struct grove_key *key, const struct grove_store_log_stat *st)
{
	struct lister *li = payload;
	struct grove__digest_task t = { .root = NULL };

	if (*key->subpath && !li->with_subs)
		return 0;
	grove__digest_surveyed(&t, st);
	return add_task(li, key, t);
}

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
static int wanted(const struct lister *li, struct grove__digest_reader *r, const struct grove__digest_task *t,
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
static int add_id(struct part *p, const struct grove__digest_task *t, const struct grove__digest *l, bool lasts)
{
	struct ids *ids = &p->ids;
	struct grove_slice id = grove__slice_str(l->id ? l->id : "");
	int64_t time;

	if (!id.len && l->dialect && l->dialect->paths.parse_file_name(grove__slice_str(t->session), &time, &id))
		lasts = false;
	if (!id.len)
		return 0;
	if (grove__array_room(&ids->list, &ids->cap, ids->nr, sizeof(*ids->list)))
		return GROVE_ENOMEM;
	ids->list[ids->nr] = (struct id){ lasts ? id.ptr : grove__arena_dup(&p->list.texts, id), t->root->archive };
	if (!ids->list[ids->nr].text)
		return GROVE_ENOMEM;
	ids->nr++;
	return 0;
}

/* Called with the lock held. Adds what a thread found to the list. GROVE_ENOMEM. */
static int join_part(struct lister *li, struct part *p)
{
	struct grove_list *out = li->out, *list = &p->list;
	struct ids *ids = &p->ids;
	int rc = 0;

	grove__arena_join(&out->texts, &list->texts);
	for (size_t i = 0; i < list->nr && !rc; i++) {
		rc = grove__array_room(&out->info, &out->cap, out->nr, sizeof(*out->info));
		if (!rc)
			out->info[out->nr++] = list->info[i];
	}
	for (size_t i = 0; i < ids->nr && !rc; i++) {
		rc = grove__array_room(&li->ids.list, &li->ids.cap, li->ids.nr, sizeof(*li->ids.list));
		if (!rc)
			li->ids.list[li->ids.nr++] = ids->list[i];
	}
	free(list->info);
	free(ids->list);
	return rc;
}

/*
 * Reads a session. Most sessions do not belong to the directory that is listed, so of a long
 * session that is not in the catalog the ends are read first: they contain its directory.
 */
static int read_task(struct lister *li, struct grove__digest_reader *r, struct grove__digest_task *t,
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

static void report(struct lister *li, const struct grove__digest_task *t, struct grove_detail *why)
{
	if (!why->code || !li->opt->skipped)
		return;
	if (!*why->path)
		snprintf(why->path, sizeof(why->path), "%s", t->path);
	pthread_mutex_lock(&li->lock);
	li->opt->skipped(li->opt->skipped_payload, why);
	pthread_mutex_unlock(&li->lock);
}

static void fail_list(struct lister *li, int rc, const struct grove_detail *d)
{
	pthread_mutex_lock(&li->lock);
	if (!li->rc) {
		*li->d = *d;
		li->rc = rc;
	}
	pthread_mutex_unlock(&li->lock);
}

static int list_task(struct lister *li, struct grove__digest_reader *r, struct grove__list_fit *fit,
		     struct grove__digest_task *t, struct part *out)
{
	struct grove__digest_one x;
	struct grove_detail why;
	struct grove_list_item info;
	bool shown = false, lasts;
	int rc = read_task(li, r, t, &x, &why), hit = 1;

	if (!rc) {
		info = grove__list_describe(&x);
		info.has_place = li->opt->flags & GROVE_LIST_PLACE ? 1 : 0;
		rc = wanted(li, r, t, &x.l, &info);
		if (rc > 0)
			rc = grove__list_fits(fit, &x, &info.score, &hit, &why);
	}
	if (!hit && !x.part && li->opt->flags & GROVE_LIST_SHAPE)
		rc = add_shape(li, r, &x, &info, &why);
	/* of a store that fell silent, not each session is reported */
	if (rc == GROVE_EAWAY)
		grove__hidden_store(li->g, t->root, rc, &why);
	else if ((rc < 0 && rc != GROVE_ENOMEM) || x.too_long)
		report(li, t, &why);
	if (li->out->noted && (x.part || x.unsettled || x.l.asked)) {
		pthread_mutex_lock(&li->lock);
		li->out->fragile |= x.part || x.unsettled;
		if (x.l.asked)
			grove__list_made_with(li->out, t->path, x.l.asked, &t->st);
		pthread_mutex_unlock(&li->lock);
	}
	shown = !hit && rc != GROVE_ENOMEM;
	lasts = x.known && grove__catalog_lasts(li->catalog, CHAPTER_LIST);
	if (shown)
		rc = add_info(&out->list, &x, info, lasts);
	if (li->opt->flags & GROVE_LIST_SHORT_IDS || t->root->archive || li->has_archive)
		rc = rc == GROVE_ENOMEM ? rc : add_id(out, t, &x.l, lasts) ? GROVE_ENOMEM : rc;
	/* a regular expression that takes too long here would do so elsewhere, too */
	if (hit < 0)
		fail_list(li, hit, &fit->d);
	grove__digest_read_release(r, &x);
	return rc == GROVE_ENOMEM ? rc : 0;
}

/*
 * Called with the lock held. Takes the next tasks: one if its file may have to be read, more
 * if they are likely to be known. Returns false if there is nothing more to do.
 */
static bool next_tasks(struct lister *li, unsigned thread, size_t *from, size_t *to)
{
	const struct grove_progress *p = &li->g->progress;
	size_t left = li->nr - li->next;

	if (li->rc || !left)
		return false;
	*from = li->next;
	*to = li->next += !li->recalls ? 1 : left < AT_ONCE ? left : AT_ONCE;
	if (p->fn && !thread && p->fn(p->payload, li->next, li->nr))
		li->rc = grove__fail(li->d, GROVE_ECANCELLED, NULL, "cancelled");
	return !li->rc;
}

static void work(void *payload, unsigned thread)
{
	struct lister *li = payload;
	struct grove__digest_reader r;
	struct grove__list_fit fit;
	struct part found = { .list.nr = 0 };
	size_t from = 0, to = 0;
	bool more;
	int rc;

	look_at_files(li);
	pthread_mutex_lock(&li->lock);
	while (!li->loaded || li->seen < li->nr)
		pthread_cond_wait(&li->loading, &li->lock);
	pthread_mutex_unlock(&li->lock);
	rc = grove__digest_reader_init(&r, li->g, li->catalog, 1u << CHAPTER_LIST);
	r.cwd = li->cwd;
	r.recalls = li->recalls;
	if (grove__list_fit_init(&fit, li->query, &r))
		rc = GROVE_ENOMEM;
	do {
		while (!rc && from < to)
			rc = list_task(li, &r, &fit, &li->tasks[from++], &found);
		pthread_mutex_lock(&li->lock);
		more = !rc && next_tasks(li, thread, &from, &to);
		if (!more && join_part(li, &found))
			rc = GROVE_ENOMEM;
		if (rc && !li->rc)
			li->rc = grove__fail_nomem(li->d);
		pthread_mutex_unlock(&li->lock);
	} while (more);
	grove__list_fit_release(&fit);
	grove__digest_reader_release(&r);
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

/* Only sessions directly in its directory? */
static bool is_flat(const struct lister *li, const struct grove__root *root)
{
	return li->opt->flags & GROVE_LIST_FLAT && root->dir;
}

/* A database tells in one answer which sessions it has, and whether they are as they were. */
static int gather_survey(struct lister *li)
{
	int rc = li->cwd ? 0 : grove__root_lists_subs(li->g, li->root, &li->with_subs, li->d);

	return rc ? rc : grove__store_survey(li->root->store, collect_surveyed, li, li->d);
}

static int gather_root(void *payload, struct grove__root *root, struct grove_detail *d)
{
	struct lister *li = payload;
	int rc;

	li->root = root;
	li->project = NULL;
	li->with_subs = false;
	li->url = grove__arena_dup(&li->out->texts, grove__slice_str(root->store->url));
	if (!li->url)
		return grove__fail_nomem(d);
	if (is_flat(li, root))
		return grove__store_list(root->store, "", collect, li, d);
	if (!root->dir && !root->archive && grove__store_has_survey(root->store))
		return gather_survey(li);
	rc = grove__root_list(li->g, root, collect, li, d);
	if (!rc && !li->cwd && !root->archive)
		rc = grove__root_list_subs(li->g, root, collect, li, d);
	return rc;
}

static int gather(struct lister *li)
{
	return grove__roots_ask(li->g, ROOTS_ALL, gather_root, li, li->d);
}

static void load(void *payload, unsigned thread)
{
	struct lister *li = payload;
	unsigned shapes = li->opt->flags & GROVE_LIST_SHAPE ? 1u << CHAPTER_SHAPE : 0;
	struct grove__catalog *catalog = grove__catalog_open(li->g, 1u << CHAPTER_LIST | shapes, &li->need);

	(void)thread;
	pthread_mutex_lock(&li->lock);
	li->catalog = catalog;
	li->loaded = true;
	pthread_cond_broadcast(&li->loading);
	pthread_mutex_unlock(&li->lock);
}

/* The catalog is read while directories are. */
static int gather_and_read(struct lister *li)
{
	struct grove__pool loader = { .nr = 0 };
	bool all;
	int rc;

	li->need = SIZE_MAX;
	if (li->opt->flags & GROVE_LIST_NOTED && !li->cwd &&
	    !(li->opt->flags & (GROVE_LIST_COST | GROVE_LIST_EXPIRING | GROVE_LIST_REMEMBERED)))
		grove__list_made_of(li->g, li->out);
	grove__pool_begin_one(&loader, load, li);
	rc = gather(li);
	li->need = rc ? 0 : li->nr;
	if (!rc && !loader.nr)
		load(li, 0);
	if (!rc)
		grove__pool_run(li->nr, work, li);
	grove__pool_end(&loader);
	for (size_t i = 0; i < li->nr && li->out->noted && !li->out->fragile; i++)
		grove__list_made_with(li->out, li->tasks[i].path, NULL, &li->tasks[i].st);
	/* where it is a matter of milliseconds, nothing is tidied up */
	all = !li->cwd && !(li->opt->flags & (GROVE_LIST_FLAT | GROVE_LIST_REMEMBERED)) && !rc && !li->rc &&
	      !grove__roots_away(li->g);
	grove__catalog_close(li->catalog, all, &li->out->known);
	return rc ? rc : li->rc;
}

/* --- ids --- */

static int by_id(const void *x, const void *y)
{
	const struct id *a = x, *b = y;
	int c = strcmp(a->text, b->text);

	return c ? c : (int)a->archived - (int)b->archived;
}

/* The first of those with this id; one that is not archived comes before others. */
static size_t find_id(const struct lister *li, const char *id)
{
	size_t low = 0, high = li->ids.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(li->ids.list[middle].text, id) < 0)
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

	while (next < li->ids.nr && !strcmp(li->ids.list[next].text, id))
		next++;
	if (at)
		same = in_common(li->ids.list[at - 1].text, id);
	n = next < li->ids.nr ? in_common(li->ids.list[next].text, id) : 0;
	same = n > same ? n : same;
	return same + 1 > SHORTEST ? same + 1 : SHORTEST;
}

/* Drops copies in the archive whose original is somewhere else, and measures ids. */
static void settle_ids(struct lister *li)
{
	struct grove_list *out = li->out;
	size_t nr = 0;

	if (li->ids.nr)
		qsort(li->ids.list, li->ids.nr, sizeof(*li->ids.list), by_id);
	for (size_t i = 0; i < out->nr && li->ids.nr; i++) {
		struct grove_list_item *x = &out->info[i];
		size_t at = find_id(li, x->id);

		if (x->archived && at < li->ids.nr && !strcmp(li->ids.list[at].text, x->id) && !li->ids.list[at].archived)
			continue;
		if (li->opt->flags & GROVE_LIST_SHORT_IDS)
			x->id_len = short_len(li, x->id);
		out->info[nr++] = *x;
	}
	if (li->ids.nr)
		out->nr = nr;
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
	struct lister li = { .g = g, .opt = opt, .out = out, .d = d,
			     .recalls = opt->flags & GROVE_LIST_REMEMBERED };
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
	for (size_t i = 0; i < g->nr_roots; i++)
		li.has_archive |= g->roots[i].archive;
	mention_databases(g, opt);
	pthread_mutex_init(&li.lock, NULL);
	pthread_cond_init(&li.loading, NULL);
	grove__arena_init(&li.names);
	grove__arena_init(&li.fresh);
	rc = rc ? grove__fail_nomem(d) : gather_and_read(&li);
	pthread_cond_destroy(&li.loading);
	pthread_mutex_destroy(&li.lock);
	/* items say where they are */
	grove__arena_join(&out->texts, &li.names);
	grove__arena_join(&out->texts, &li.fresh);
	grove__buf_release(&li.path);
	free(li.tasks);
	settle_ids(&li);
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

static int look_up(struct grove *g, struct grove__digest_task *t, unsigned flags,
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
	struct grove__digest_task t;
	int rc = grove__peek_where_dialect(g, at, d);

	if (!rc) {
		t = (struct grove__digest_task){ .root = root_of(g, at, &own) };
		t.project = grove__arena_dup(&out->texts, grove__slice_str(at->project));
		t.session = grove__arena_dup(&out->texts, grove__slice_str(at->session));
		t.sub = grove__arena_dup(&out->texts, grove__slice_str(at->sub ? at->sub : ""));
		t.path = grove__arena_dup(&out->texts, grove__slice_str(at->path ? at->path : ""));
		t.url = grove__arena_dup(&out->texts, grove__slice_str(at->store->url));
		rc = t.project && t.session && t.sub && t.path && t.url ? 0 : grove__fail_nomem(d);
	}
	if (!rc) {
		grove__digest_look(&t, NULL);
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
