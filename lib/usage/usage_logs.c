/*
 * usage/usage_logs.c: the billed replies of all logs.
 *
 * The replies of each log are packed (billed.h) and stored in the catalog, and those of
 * all logs go into one table (replies.h); so it does not matter which of them were read
 * and which are remembered.
 */
#include "usage/usage_logs.h"

#include "sys/clock.h"
#include "digest/billed.h"
#include "usage/origin.h"

#include <stdlib.h>

#define SUFFIX ".jsonl"

/* --- reading --- */

/* Version 1 has no ids: uses those that a migration would give. */
static int give_id(struct grove__sweeping *at, struct grove__entry *e, char out[40])
{
	const struct grove__header *h = &at->header;

	if (!h->id)
		return 0;
	e->id = grove__slice(out, at->dialect->header->migrated_id(grove__slice_str(h->id), at->line, 0, out));
	e->has_id = e->id.len > 0;
	return e->has_id ? 0 : GROVE_ENOMEM;
}

static int keep_text(struct grove__arena *a, struct grove_slice text, const char **out)
{
	if (!text.len)
		return 0;
	*out = grove__arena_dup(a, text);
	return *out ? 0 : GROVE_ENOMEM;
}

/* Adds those of the current log; `told` is set as if the sub-agents had logs. */
static int take_entry(void *payload, struct grove__sweeping *at, const struct grove__json_line *l,
		      const char *line, const struct grove__entry *e)
{
	struct grove__entry own = *e;
	struct grove__billed x;
	char id[40];
	int rc;

	(void)payload;
	if (!at->dialect->usage.billed)
		return 0;
	/* most lines bill nothing, so their ids need not be hashed */
	rc = at->dialect->usage.billed(l, line, &at->tmp, e, &x);
	if (!rc && grove__dialect_lacks_ids(at->dialect, at->header.version)) {
		rc = give_id(at, &own, id);
		rc = rc ? rc : at->dialect->usage.billed(l, line, &at->tmp, &own, &x);
	}
	if (rc)
		return rc == 1 ? 0 : rc;
	if (at->header.time == GROVE_NO_TIME)
		at->header.time = e->time;
	if ((!at->header.id && keep_text(&at->keep, x.session, &at->header.id)) ||
	    (!at->header.parent && keep_text(&at->keep, x.origin, &at->header.parent)))
		return GROVE_ENOMEM;
	return grove__replies_add(at->own, &x, 0, true);
}

static int take_log(struct grove__usage_logs *ls, uint32_t nr, const struct grove__billed_log *l,
		    struct grove_slice bytes)
{
	struct grove__usage_log *f = &ls->all[nr];
	const char *agent = ls->sweep.found.logs[nr].root->agent;
	int rc;

	if (!l->session)
		return 0;
	f->agent = strcmp(agent, "grove") ? agent : l->dialect->name;
	f->window = l->dialect->usage.window;
	f->time = l->time;
	f->billed = l->nr > 0;
	pthread_mutex_lock(&ls->lock);
	rc = keep_text(&ls->texts, l->id, &f->id);
	rc = rc ? rc : keep_text(&ls->texts, l->cwd, &f->cwd);
	rc = rc ? rc : keep_text(&ls->texts, l->parent, &f->parent);
	rc = rc ? rc : grove__billed_fold(bytes, &ls->replies, nr, f->subs);
	pthread_mutex_unlock(&ls->lock);
	return rc;
}

static bool take_known(void *payload, uint32_t nr, struct grove_slice bytes, int *rc)
{
	struct grove__usage_logs *ls = payload;
	struct grove__billed_log l;

	if (!grove__billed_unpack(bytes, &l) || !l.dialect ||
	    !grove__sweep_reads_as(ls->g, &ls->sweep.found.logs[nr], l.dialect, l.around))
		return false;
	*rc = take_log(ls, nr, &l, bytes);
	return true;
}

static int take_end(void *payload, struct grove__sweeping *at, struct grove_buf *bytes)
{
	struct grove__usage_logs *ls = payload;
	const struct grove__header *h = &at->header;
	struct grove__replies *own = at->own;
	struct grove__billed_log l = {
		.dialect = at->dialect, .session = at->has_header, .time = h->time, .nr = (uint32_t)own->nr,
		.around = grove__slice_str(grove__sweep_around(ls->g, &ls->sweep.found.logs[at->nr])),
	};
	int rc;

	if (l.session) {
		l.id = grove__slice_str(h->id ? h->id : "");
		l.cwd = grove__slice_str(h->cwd ? h->cwd : "");
		l.parent = grove__slice_str(h->parent ? h->parent : "");
	}
	rc = grove__billed_pack(&l, own, bytes);
	rc = rc ? rc : take_log(ls, at->nr, &l, grove__buf_slice(bytes));
	grove__replies_clear(own);
	return rc;
}

static void *thread_new(void *payload)
{
	struct grove__replies *own = malloc(sizeof(*own));

	(void)payload;
	if (own)
		grove__replies_init(own);
	return own;
}

static void thread_free(void *payload, void *own)
{
	(void)payload;
	grove__replies_release(own);
	free(own);
}

/* --- which log belongs to which --- */

static struct grove_slice name_of(const void *owner, uint32_t i)
{
	const struct grove__logs *l = owner;

	return grove__slice_str(l->logs[i].name);
}

/*
 * The files of a session are in the directory with its name: if a session has the name
 * of one of the directories above a log, it started that log, and the outermost is its
 * session.
 */
static int find_owner(struct grove__usage_logs *ls, const struct grove__idmap *map, uint32_t i,
		      struct grove_buf *b)
{
	const struct grove__log_at *log = &ls->sweep.found.logs[i];
	const char *name = log->name, *p = name + strlen(log->root->store->url);
	uint32_t above;
	int rc = 0;

	ls->all[i].owner = i;
	while (!rc && *p && (p = strchr(p + 1, '/'))) {
		grove__buf_clear(b);
		rc = grove__buf_add(b, name, (size_t)(p - name));
		rc = rc ? rc : grove__buf_add_str(b, SUFFIX);
		above = rc ? GROVE__IDMAP_NONE : grove__idmap_get(map, grove__buf_slice(b));
		if (above == GROVE__IDMAP_NONE)
			continue;
		ls->all[above].subs = true;
		if (ls->all[i].owner == i)
			ls->all[i].owner = above;
	}
	return rc;
}

static int find_owners(struct grove__usage_logs *ls)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__idmap map;
	uint32_t old;
	int rc = 0;

	ls->all = calloc(ls->sweep.found.nr ? ls->sweep.found.nr : 1, sizeof(*ls->all));
	if (!ls->all)
		return GROVE_ENOMEM;
	grove__idmap_init(&map, grove__sys_seed(), name_of, &ls->sweep.found);
	for (uint32_t i = 0; i < ls->sweep.found.nr && !rc; i++)
		rc = grove__idmap_put(&map, name_of(&ls->sweep.found, i), i, &old);
	for (uint32_t i = 0; i < ls->sweep.found.nr && !rc; i++)
		rc = find_owner(ls, &map, i, &b);
	grove__idmap_release(&map);
	grove__buf_release(&b);
	return rc;
}
/* --- all of it --- */

void grove__usage_logs_init(struct grove__usage_logs *ls, struct grove *g,
			    const struct grove_usage_options *opt)
{
	*ls = (struct grove__usage_logs){
		.g = g,
		.sweep = { .bill = true, .purpose = CATALOG_USAGE, .thread_new = thread_new,
			   .thread_free = thread_free, .known = take_known, .entry = take_entry,
			   .end = take_end, .payload = ls, .skipped = opt->skipped,
			   .skipped_payload = opt->skipped_payload },
	};
	grove__replies_init(&ls->replies);
	grove__arena_init(&ls->texts);
	pthread_mutex_init(&ls->lock, NULL);
}

void grove__usage_logs_release(struct grove__usage_logs *ls)
{
	pthread_mutex_destroy(&ls->lock);
	grove__sweep_release(&ls->sweep);
	grove__replies_release(&ls->replies);
	grove__arena_release(&ls->texts);
	free(ls->all);
}

int grove__usage_logs_read(struct grove__usage_logs *ls, struct grove_detail *d)
{
	int rc;

	grove__sweep_begin(&ls->sweep, ls->g);
	rc = grove__sweep_find(&ls->sweep, ls->g, d);
	if (!rc && find_owners(ls))
		rc = grove__fail_nomem(d);
	rc = rc ? rc : grove__sweep_read(&ls->sweep, ls->g, d);
	if (!rc && grove__origin_settle(ls))
		rc = grove__fail_nomem(d);
	return rc;
}

const char *grove__usage_logs_id(const struct grove__usage_logs *ls, uint32_t nr)
{
	const char *id = ls->all[ls->all[nr].owner].id;

	return id ? id : ls->all[nr].id;
}

const char *grove__usage_logs_cwd(const struct grove__usage_logs *ls, uint32_t nr)
{
	const char *cwd = ls->all[ls->all[nr].owner].cwd;

	return cwd ? cwd : ls->all[nr].cwd;
}
