/*
 * usage/usage_logs.c: the billed replies of all logs.
 *
 * The replies of each log are packed (billed.h) and stored in the catalog, and those of
 * all logs go into one table (replies.h); so it does not matter which of them were read
 * and which are remembered.
 */
#include "usage/usage_logs.h"

#include "sys/clock.h"
#include "usage/origin.h"

#include <stdio.h>
#include <stdlib.h>

#define SUFFIX ".jsonl"

/* --- reading --- */

static int keep_text(struct grove__arena *a, struct grove_slice text, const char **out)
{
	if (!text.len)
		return 0;
	*out = grove__arena_dup(a, text);
	return *out ? 0 : GROVE_ENOMEM;
}

/* Called with the lock held. */
static int take_log(struct grove__usage_logs *ls, size_t nr, const struct grove__billed_log *l,
		    struct grove_slice bytes)
{
	struct grove__usage_log *f = &ls->all[nr];
	const char *agent = ls->logs.logs[nr].root->agent;
	int rc;

	if (!l->session)
		return 0;
	f->agent = strcmp(agent, "grove") ? agent : l->dialect->name;
	f->window = l->dialect->usage.window;
	f->time = l->time;
	f->billed = l->nr > 0;
	rc = keep_text(&ls->texts, l->id, &f->id);
	rc = rc ? rc : keep_text(&ls->texts, l->cwd, &f->cwd);
	rc = rc ? rc : keep_text(&ls->texts, l->parent, &f->parent);
	return rc ? rc : grove__billed_fold(bytes, &ls->replies, (uint32_t)nr, f->subs);
}

/* Called with the lock held. Reports a log that could not be read, or a line that was left out. */
static void report(struct grove__usage_logs *ls, const struct grove__digest_one *x, int rc, struct grove_detail *why)
{
	if (!why->code || !ls->opt->skipped || !(rc < 0 || x->too_long))
		return;
	if (!*why->path)
		snprintf(why->path, sizeof(why->path), "%s", x->task->path);
	ls->opt->skipped(ls->opt->skipped_payload, why);
}

/* What a thread reads with. */
struct reader {
	struct grove__digest_reader digest;
	struct grove__sys_dir near;      /* of the last file */
};

static int begin_reader(void *payload, void *own)
{
	struct grove__usage_logs *ls = payload;
	struct reader *r = own;

	grove__sys_dir_init(&r->near);
	return grove__digest_reader_init(&r->digest, ls->g, ls->catalog, 1u << CHAPTER_REPLIES);
}

static int end_reader(void *payload, void *own)
{
	struct reader *r = own;

	(void)payload;
	grove__digest_reader_release(&r->digest);
	grove__sys_dir_release(&r->near);
	return 0;
}

static int read_one(void *payload, void *own, size_t nr, struct grove_detail *d)
{
	struct grove__usage_logs *ls = payload;
	struct grove__log_at *at = &ls->logs.logs[nr];
	struct reader *r = own;
	struct grove__digest_one x;
	struct grove_detail why;
	int rc;

	if (ls->catalog)
		grove__logs_look(at, &r->near);
	rc = grove__digest_read(&r->digest, at, &x, &why);
	/* of a store that fell silent, not each log is reported */
	if (rc == GROVE_EAWAY) {
		grove__hidden_store(ls->g, at->root, rc, &why);
		grove__fail_clear(&why);
	}
	if (rc != GROVE_ENOMEM) {
		pthread_mutex_lock(&ls->lock);
		report(ls, &x, rc, &why);
		ls->news |= !x.known;
		/* replies may have been found before it failed */
		rc = take_log(ls, nr, &x.billed, x.replies);
		pthread_mutex_unlock(&ls->lock);
	}
	grove__digest_read_release(&r->digest, &x);
	if (rc && rc != GROVE_ENOMEM)
		grove__fail(d, rc, NULL, "too many replies to be held in memory");
	return rc;
}

static void load(void *payload, unsigned thread)
{
	struct grove__usage_logs *ls = payload;

	(void)thread;
	ls->catalog = grove__catalog_open(ls->g, 1u << CHAPTER_REPLIES, &ls->need);
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
	const struct grove__log_at *log = &ls->logs.logs[i];
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

	ls->all = calloc(ls->logs.nr ? ls->logs.nr : 1, sizeof(*ls->all));
	if (!ls->all)
		return GROVE_ENOMEM;
	grove__idmap_init(&map, grove__sys_seed(), name_of, &ls->logs);
	for (uint32_t i = 0; i < ls->logs.nr && !rc; i++)
		rc = grove__idmap_put(&map, name_of(&ls->logs, i), i, &old);
	for (uint32_t i = 0; i < ls->logs.nr && !rc; i++)
		rc = find_owner(ls, &map, i, &b);
	grove__idmap_release(&map);
	grove__buf_release(&b);
	return rc;
}

/* --- all of it --- */

void grove__usage_logs_init(struct grove__usage_logs *ls, struct grove *g,
			    const struct grove_usage_options *opt)
{
	*ls = (struct grove__usage_logs){ .g = g, .opt = opt, .need = SIZE_MAX };
	grove__replies_init(&ls->replies);
	grove__arena_init(&ls->texts);
	pthread_mutex_init(&ls->lock, NULL);
}

void grove__usage_logs_release(struct grove__usage_logs *ls)
{
	pthread_mutex_destroy(&ls->lock);
	grove__logs_release(&ls->logs);
	grove__replies_release(&ls->replies);
	grove__arena_release(&ls->texts);
	free(ls->all);
}

int grove__usage_logs_read(struct grove__usage_logs *ls, struct grove_detail *d)
{
	const struct grove__logs_which all = { .subs = LOGS_ALL_SUBS, .tell = LOGS_SURVEY, .sorted = true };
	struct grove__logs_work work = { .g = ls->g, .at_once = 1, .own = sizeof(struct reader), .begin = begin_reader,
					 .one = read_one, .end = end_reader, .payload = ls, .d = d };
	struct grove__pool loader;
	int rc;

	/* the catalog is read while logs are being found */
	grove__pool_begin_one(&loader, load, ls);
	rc = grove__logs_find(&ls->logs, ls->g, &all, d);
	if (!rc && find_owners(ls))
		rc = grove__fail_nomem(d);
	ls->need = rc ? 0 : ls->logs.nr;
	if (!rc && !loader.nr)
		load(ls, 0);
	grove__pool_end(&loader);
	work.nr = ls->logs.nr;
	rc = rc ? rc : grove__logs_each(&work);
	/* if nothing is new, it is not worth looking for what is gone */
	grove__catalog_close(ls->catalog, !rc && ls->news && !grove__roots_away(ls->g), NULL);
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
