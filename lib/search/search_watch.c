/*
 * search/search_watch.c: learning from the system which logs have changed.
 *
 * A handle that is refreshed again and again would list every directory and examine every
 * log each time. With GROVE_SEARCH_WATCH the system is asked to report what happens in these
 * directories (inotify). A report is there as soon as the write that caused it has returned,
 * so what was written before a refresh is seen by it.
 *
 *	report                                what is done
 *	a log that is known                   it is examined again
 *	another name that ends in .jsonl      all logs are listed and examined
 *	a directory; reports were lost        … and the directories are watched anew
 *	any other file                        nothing
 *
 * Not everything is reported: a directory may be reached through a link, or something may be
 * mounted on it, and a file may be written to by another name. So each refresh also makes
 * sure that the path of each directory still leads to it, which is one call for a directory
 * instead of one for a log, and examines the logs that have several names.
 *
 * A database reports nothing. It is surveyed, which is one question for all its logs.
 *
 * Where this does not work, all logs are examined each time: on file systems that other
 * machines can write to, with very many directories, or if the user's limit is reached.
 */
#include "search/search.h"

#include "base/array.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/remote.h"
#include "sys/watch.h"

#include <stdlib.h>

#define DIRS_MAX 4096           /* the system's memory for each is about 1 KB */

struct dir {
	char *path;
	int number;                  /* -1: it does not exist */
	uint32_t next;               /* another path of the same directory, plus one; 0: none */
	uint64_t dev, ino;
};

struct grove__search_watch {
	int fd;
	struct dir *dirs;
	size_t nr, cap;
	uint32_t *of_number;         /* the directory with a number, plus one; 0: none */
	size_t nr_numbers;

	/* the logs, once something was reported */
	bool known;
	const struct grove__logs *logs;
	struct grove__idmap by_path;
	uint8_t *touched;            /* for each log: it has to be examined */

	/* while reports are taken */
	enum grove__search_news news;
	struct grove_buf path;
};

/* --------------------------------------------------------------- directories */

static int note_number(struct grove__search_watch *w, int number, uint32_t dir)
{
	size_t need = (size_t)number + 1;
	uint32_t *more;

	if (need > w->nr_numbers) {
		need += need / 2 + 64;
		more = realloc(w->of_number, need * sizeof(*more));
		if (!more)
			return GROVE_ENOMEM;
		memset(more + w->nr_numbers, 0, (need - w->nr_numbers) * sizeof(*more));
		w->of_number = more;
		w->nr_numbers = need;
	}
	w->dirs[dir].next = w->of_number[number];
	w->of_number[number] = dir + 1;
	return 0;
}

/* Watches a directory. A failure means that the whole thing is given up. */
static int add_dir(void *payload, const char *path)
{
	struct grove__search_watch *w = payload;
	struct dir d = { .number = -1 };
	struct grove__sys_stat st;

	if (w->nr == DIRS_MAX || grove__array_room(&w->dirs, &w->cap, w->nr, sizeof(d)))
		return GROVE_ENOMEM;
	d.path = strdup(path);
	if (!d.path)
		return GROVE_ENOMEM;
	w->dirs[w->nr++] = d;
	if (grove__sys_stat(path, &st))
		return 0;
	w->dirs[w->nr - 1].dev = st.dev;
	w->dirs[w->nr - 1].ino = st.ino;
	if (st.type != SYS_DIR)
		return 0;
	if ((w->nr == 1 || w->dirs[w->nr - 2].dev != st.dev) && !grove__sys_reports_all(path))
		return GROVE_ENOTSUP;
	if (grove__sys_dirs_add(w->fd, path, &w->dirs[w->nr - 1].number))
		return GROVE_ENOTSUP;
	return note_number(w, w->dirs[w->nr - 1].number, (uint32_t)w->nr - 1);
}

/* The path of each directory has to lead to where it did. */
static bool dirs_are_there(const struct grove__search_watch *w)
{
	struct grove__sys_stat st;

	for (size_t i = 0; i < w->nr; i++) {
		const struct dir *d = &w->dirs[i];

		if (grove__sys_stat(d->path, &st))
			st.dev = st.ino = 0;
		if (st.dev != d->dev || st.ino != d->ino)
			return false;
	}
	return true;
}

struct grove__search_watch *grove__search_watch_new(struct grove *g)
{
	struct grove__search_watch *w = calloc(1, sizeof(*w));
	int rc = w ? 0 : GROVE_ENOMEM;

	if (rc)
		return NULL;
	if (grove__sys_dirs_open(&w->fd)) {
		w->fd = -1;
		rc = GROVE_ENOTSUP;
	}
	for (size_t i = 0; i < g->nr_roots && !rc; i++)
		if (g->roots[i].dir)
			rc = grove__store_jsonl_dirs(g->roots[i].dir, !g->roots[i].flat, add_dir, w);
	if (!rc)
		return w;
	grove__search_watch_free(w);
	return NULL;
}

void grove__search_watch_forget(struct grove__search_watch *w)
{
	if (w->known)
		grove__idmap_release(&w->by_path);
	free(w->touched);
	w->touched = NULL;
	w->known = false;
}

void grove__search_watch_free(struct grove__search_watch *w)
{
	if (!w)
		return;
	grove__search_watch_forget(w);
	for (size_t i = 0; i < w->nr; i++)
		free(w->dirs[i].path);
	free(w->dirs);
	free(w->of_number);
	grove__buf_release(&w->path);
	grove__sys_close(w->fd);
	free(w);
}

/* ---------------------------------------------------------------------- logs */

static struct grove_slice path_of(const void *owner, uint32_t i)
{
	const struct grove__search_watch *w = owner;

	return grove__slice_str(w->logs->logs[i].path);
}

static int know_logs(struct grove__search_watch *w, const struct grove_search *s)
{
	uint32_t old;
	int rc;

	if (w->known)
		return 0;
	grove__idmap_init(&w->by_path, (uint64_t)grove__sys_ticks_ns(), path_of, w);
	w->known = true;
	w->logs = &s->sweep;
	w->touched = calloc(s->sweep.nr + 1, 1);
	rc = w->touched ? 0 : GROVE_ENOMEM;
	for (uint32_t i = 0; i < s->sweep.nr && !rc; i++)
		if (s->sweep.logs[i].root->dir)
			rc = grove__idmap_put(&w->by_path, path_of(w, i), i, &old);
	return rc;
}

/* ------------------------------------------------------------------- reports */

struct taking {
	struct grove__search_watch *w;
	struct grove_search *s;
	bool any;                    /* some logs were touched */
};

static void more_news(struct grove__search_watch *w, enum grove__search_news news)
{
	if (w->news < news)
		w->news = news;
}

/* A name that is not that of a log we know. */
static void look_at_other(struct grove__search_watch *w, const char *name)
{
	size_t n = strlen(name);
	struct grove__sys_stat st;

	if (n > 6 && !strcmp(name + n - 6, ".jsonl"))
		more_news(w, SEARCH_NAMES_CHANGED);
	else if (!grove__sys_stat(w->path.ptr, &st) && st.type == SYS_DIR)
		more_news(w, SEARCH_DIRS_CHANGED);
}

static void reported(void *payload, int number, const char *name, bool gone)
{
	struct taking *t = payload;
	struct grove__search_watch *w = t->w;
	uint32_t dir = (size_t)number < w->nr_numbers ? w->of_number[number] : 0, log = GROVE__IDMAP_NONE;

	if (!dir || gone || know_logs(w, t->s)) {
		w->news = SEARCH_DIRS_CHANGED;
		return;
	}
	/* its own times or permissions: whether it can be read is found out by reading it */
	if (!name) {
		more_news(w, SEARCH_NAMES_CHANGED);
		return;
	}
	/* with several paths, the log is known by one of them */
	for (; dir && log == GROVE__IDMAP_NONE; dir = w->dirs[dir - 1].next) {
		grove__buf_clear(&w->path);
		if (grove__buf_addf(&w->path, "%s/%s", w->dirs[dir - 1].path, name)) {
			w->news = SEARCH_DIRS_CHANGED;
			return;
		}
		log = grove__idmap_get(&w->by_path, grove__buf_slice(&w->path));
	}
	if (log == GROVE__IDMAP_NONE) {
		look_at_other(w, name);
		return;
	}
	w->touched[log] = 1;
	t->any = true;
}

/* Compares a log with what it was. */
static void compare(struct grove__search_watch *w, struct grove_search *s, uint32_t i, const struct grove__log_at *now)
{
	struct grove__log_at *was = &s->sweep.logs[i];
	bool gone = grove__search_log_gone(now);

	if (grove__state_same(&now->st, &was->st) && gone == grove__search_log_gone(was) && now->linked == was->linked)
		return;
	/*
	 * It may now be another name of a file that is searched already, or make an archived
	 * copy superfluous.
	 */
	more_news(w, gone || now->linked || was->linked || !was->st.size ? SEARCH_NAMES_CHANGED : SEARCH_LOGS);
	*was = *now;
}

static void examine(struct grove__search_watch *w, struct grove_search *s, uint32_t i)
{
	struct grove__log_at now = s->sweep.logs[i];

	grove__search_log_look(&now);
	compare(w, s, i, &now);
}

/* ----------------------------------------------------------------- databases */

struct surveying {
	struct grove__search_watch *w;
	struct grove_search *s;
	struct grove__root *root;
	uint32_t nr;                 /* logs that it has */
};

static int surveyed(void *payload, struct grove__root *root, const struct grove_key *key,
		    const struct grove_store_log_stat *st)
{
	struct surveying *x = payload;
	uint32_t i = grove__logs_index(&x->s->sweep, root, key, &x->w->path);
	struct grove__log_at now;

	x->nr++;
	if (i == GROVE_NO_ENTRY) {
		more_news(x->w, SEARCH_NAMES_CHANGED);
		return 0;
	}
	now = x->s->sweep.logs[i];
	now.is_surveyed = true;
	now.st = grove__log_state(st);
	compare(x->w, x->s, i, &now);
	return 0;
}

/* How many logs are known of a store, and not gone. Several roots may be in it. */
static uint32_t count_of(const struct grove_search *s, const struct grove_store *store)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->sweep.nr; i++)
		nr += !grove__search_log_gone(&s->sweep.logs[i]) && !strcmp(s->sweep.logs[i].root->store->url, store->url);
	return nr;
}

/* A store that was left out has no news while it does not answer; if it does, there are some. */
static void survey_one(struct grove__search_watch *w, struct surveying *x)
{
	bool away = __atomic_load_n(&x->root->away, __ATOMIC_RELAXED);
	struct grove__logs_which which = { .only = x->root, .subs = LOGS_ALL_SUBS, .tell = LOGS_STATES };
	int rc = grove__logs_walk(x->s->g, &which, surveyed, x, NULL);

	/* whoever lists its logs will be told what is wrong */
	if (away ? rc != GROVE_EAWAY : rc != 0)
		w->news = SEARCH_DIRS_CHANGED;
	else if (!away && x->nr != count_of(x->s, x->root->store))
		more_news(w, SEARCH_NAMES_CHANGED);
}

static void survey_all(struct grove__search_watch *w, struct grove_search *s)
{
	for (size_t i = 0; i < s->g->nr_roots && w->news < SEARCH_NAMES_CHANGED; i++) {
		struct surveying x = { .w = w, .s = s, .root = &s->g->roots[i] };

		if (!x.root->dir)
			survey_one(w, &x);
	}
}

enum grove__search_news grove__search_watch_take(struct grove__search_watch *w, struct grove_search *s)
{
	struct taking t = { w, s, false };

	w->news = SEARCH_SAME;
	if (!grove__sys_dirs_take(w->fd, reported, &t) || !dirs_are_there(w))
		w->news = SEARCH_DIRS_CHANGED;
	survey_all(w, s);
	for (uint32_t i = 0; i < s->sweep.nr && w->news < SEARCH_NAMES_CHANGED; i++)
		if (s->sweep.logs[i].linked || grove__search_log_gone(&s->sweep.logs[i]) || (t.any && w->touched[i]))
			examine(w, s, i);
	if (t.any)
		memset(w->touched, 0, s->sweep.nr);
	return w->news;
}
