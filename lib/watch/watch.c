/*
 * watch/watch.c: watching many sessions through one descriptor.
 *
 * No thread waits for changes. Three sources say what may have changed, and all of them end
 * in one epoll descriptor that the caller can poll:
 *
 *	inotify   the directories of files, and of SQLite's files: one instance for all
 *	a timer   databases, and what the system does not report, are polled in intervals
 *	bells     one is the caller's (wake), one says that events are waiting
 *
 * Sessions that may have changed are queued to be looked at (watched.c). Those with events
 * are in a second queue, which is served round-robin, one event each, so that a busy
 * session does not keep the others waiting:
 *
 *	may have changed ──→ to_look ──→ look ──→ to_tell ──→ event
 *	      ↑                                     │  └─ more events: to the end
 *	      └─── changed while being reported ────┘
 *
 * A database is queried once for all of its sessions (survey): soon after something
 * happened, then less and less often, and never so often that polling takes more than a
 * tenth of the time. The system reports the write to an SQLite file before the transaction
 * is visible, so after a report we poll soon and repeatedly, not just once.
 *
 * Only some sessions, those that were looked at last, keep their image and an open log. The
 * others are parked, and cost a few hundred bytes.
 */
#include "watch/watch.h"

#include "base/array.h"
#include "base/idmap.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/watch.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS INT64_C(1000000)
#define FOREVER_MS (INT64_C(3600) * 1000)
/* How long to wait before polling again: at first, during activity, when it is quiet. */
#define ASK_FIRST_MS 5
#define ASK_BUSY_MS 200
#define ASK_QUIET_MS 500
#define BUSY_MS 60000
/* The system reports changes, but perhaps not those of another machine. */
#define REPORTED_MS 2000
/* Polling takes at most this fraction of the time, but the pause is never longer than that. */
#define SHARE 10
#define ASK_LAST_MS 10000
/* A caller that drains the queue polls the databases this often. */
#define DRAIN_MS 20
/* Up to this many sessions of a store are queried one by one. */
#define FEW 8
/* The maximum number of images that are kept, and of their rows. */
#define WARM_MAX 32
#define WARM_ROWS (UINT64_C(1) << 19)
/* Look for new events after this many, even if there are more to report. */
#define TURNS 32
#define RETRY_FIRST_MS 100
#define RETRY_LAST_MS 30000

/* -------------------------------------------------------------------- lines */

static void line_init(struct grove__watch_line *l)
{
	l->first = NULL;
	l->last = &l->first;
}

static void line_add(struct grove__watch_line *l, struct grove__watched *m)
{
	m->waiting = true;
	m->next_in_line = NULL;
	*l->last = m;
	l->last = &m->next_in_line;
}

static struct grove__watched *line_take(struct grove__watch_line *l)
{
	struct grove__watched *m = l->first;

	if (!m)
		return NULL;
	l->first = m->next_in_line;
	if (!l->first)
		l->last = &l->first;
	m->waiting = false;
	return m;
}

static void line_drop(struct grove__watch_line *l, const struct grove__watched *m)
{
	for (struct grove__watched **p = &l->first; *p; p = &(*p)->next_in_line)
		if (*p == m) {
			*p = m->next_in_line;
			if (!*p)
				l->last = p;
			return;
		}
}

/* It may have changed. If it has events to report, it is looked at after them. */
static void mark_dirty(struct grove_watch *w, struct grove__watched *m)
{
	if (m->dirty || m->gone)
		return;
	m->dirty = true;
	if (!m->waiting)
		line_add(&w->to_look, m);
}

static bool has_events(const struct grove__watched *m)
{
	return m->next < m->nr;
}

/* ----------------------------------------------------------------- the warm */

static void cool(struct grove_watch *w, struct grove__watched *m)
{
	if (!m->warm)
		return;
	*(m->colder ? &m->colder->warmer : &w->warm_first) = m->warmer;
	*(m->warmer ? &m->warmer->colder : &w->warm_last) = m->colder;
	m->warmer = m->colder = NULL;
	m->warm = false;
	w->nr_warm--;
	w->warm_rows -= m->rows;
}

/* It was just used; others make room for it. */
static void warm_up(struct grove_watch *w, struct grove__watched *m)
{
	cool(w, m);
	if (!m->s || !m->s->image)
		return;
	m->colder = w->warm_last;
	*(m->colder ? &m->colder->warmer : &w->warm_first) = m;
	w->warm_last = m;
	m->warm = true;
	m->rows = m->s->image->spine->nr;
	w->nr_warm++;
	w->warm_rows += m->rows;
	while (w->nr_warm > 1 && (w->nr_warm > WARM_MAX || w->warm_rows > WARM_ROWS)) {
		struct grove__watched *cold = w->warm_first;

		cool(w, cold);
		grove__watched_park(cold);
	}
}

/* -------------------------------------------------------------- directories */

uint64_t grove__watch_hash(const struct grove_watch *w, const void *owner, const char *a,
			   const char *b, const char *c)
{
	uint64_t h = grove__idmap_hash(w->seed, &owner, sizeof(owner));

	/* including the terminating zero, so that "ab", "c" differs from "a", "bc" */
	h = grove__idmap_hash(h, a, strlen(a) + 1);
	h = grove__idmap_hash(h, b, strlen(b) + 1);
	return grove__idmap_hash(h, c, strlen(c) + 1);
}

static void report(struct grove_watch *w, struct grove__watch_dir *dir)
{
	if (w->dirs < 0 || grove__sys_dirs_add(w->dirs, dir->path, &dir->number))
		dir->number = -1;
}

int grove__watch_dir(struct grove_watch *w, const char *path, struct grove__watch_dir **out)
{
	struct grove__watch_dir *dir;

	for (dir = w->watched_dirs; dir; dir = dir->next)
		if (!strcmp(dir->path, path))
			break;
	if (!dir) {
		dir = calloc(1, sizeof(*dir));
		if (!dir || !(dir->path = strdup(path))) {
			free(dir);
			return GROVE_ENOMEM;
		}
		report(w, dir);
		dir->next = w->watched_dirs;
		w->watched_dirs = dir;
	}
	dir->users++;
	*out = dir;
	return 0;
}

void grove__watch_dir_unref(struct grove_watch *w, struct grove__watch_dir *dir)
{
	struct grove__watch_dir **p = &w->watched_dirs;

	if (!dir || --dir->users)
		return;
	while (*p != dir)
		p = &(*p)->next;
	*p = dir->next;
	if (dir->number >= 0)
		grove__sys_dirs_remove(w->dirs, dir->number);
	free(dir->path);
	free(dir);
}

/* The directory of a file, as the system names it; *name is the file's name in it. */
static int dir_of_file(struct grove_watch *w, const char *path, struct grove__watch_dir **out,
		       struct grove_buf *real, const char **name)
{
	char *slash;
	int rc;

	grove__buf_clear(real);
	if (grove__sys_realpath(path, real) && grove__buf_add_str(real, path))
		return GROVE_ENOMEM;
	slash = strrchr(real->ptr, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	rc = grove__watch_dir(w, slash == real->ptr ? "/" : real->ptr, out);
	*slash = '/';
	*name = slash + 1;
	return rc;
}

/* ------------------------------------------------------------------- groups */

/* Something was reported: poll soon (at once if that is cheap), and often for a while. */
static void ask_soon(struct grove__watch_group *gr)
{
	int64_t moment_ns = gr->checked_ns + (gr->cost_ns < MS ? 0 : SHARE * gr->cost_ns);

	gr->pause_ms = ASK_FIRST_MS;
	if (moment_ns < gr->next_ns)
		gr->next_ns = moment_ns;
}

static int group_for(struct grove_watch *w, struct grove_store *store, struct grove__root *root,
		     struct grove__watch_group **out)
{
	struct grove__watch_group *gr;
	struct grove_buf real = GROVE_BUF_INIT;
	const char *file = store ? grove__store_file(store) : NULL, *name;
	int rc = 0;

	for (gr = w->groups; gr; gr = gr->next)
		if (gr->store == store && (store || gr->root == root)) {
			if (root)
				gr->root = root;
			*out = gr;
			return 0;
		}
	gr = calloc(1, sizeof(*gr));
	if (!gr)
		return GROVE_ENOMEM;
	if (file)
		rc = dir_of_file(w, file, &gr->dir, &real, &name);
	grove__buf_release(&real);
	if (rc) {
		free(gr);
		return rc;
	}
	gr->store = store;
	gr->root = root;
	gr->pause_ms = ASK_FIRST_MS;
	gr->checked_ns = grove__sys_ticks_ns();
	gr->next_ns = gr->checked_ns + gr->pause_ms * MS;
	gr->next = w->groups;
	w->groups = gr;
	*out = gr;
	return 0;
}

static bool is_files(const struct grove__watch_group *gr)
{
	return !gr->store && !gr->root;
}

/* Returns true if the system reports everything that happens there. */
static bool reported(const struct grove_watch *w, const struct grove__watch_group *gr)
{
	if (!is_files(gr) && !(gr->root && gr->root->dir))
		return gr->dir && gr->dir->number >= 0;
	for (const struct grove__watch_dir *dir = w->watched_dirs; dir; dir = dir->next)
		if (dir->number < 0)
			return false;
	return true;
}

/*
 * What polling costs: our own processor time, or the time that a server or a host's store
 * needs. Time lost because the machine is busy does not count.
 */
static int64_t spent_ns(const struct grove__watch_group *gr)
{
	bool here = !gr->store || grove__store_file(gr->store);

	return here ? grove__sys_worked_ns() : grove__sys_ticks_ns();
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Sets when to poll again. A single slow answer says nothing about the next: a cluster that
 * loses a node takes some seconds to answer, once, and a pause of ten times that would miss
 * minutes. So the cost is the smaller of the last two.
 */
static void set_pause(const struct grove_watch *w, struct grove__watch_group *gr, bool found,
		      int64_t took_ns)
{
	int64_t now = grove__sys_ticks_ns(), most, least;

	gr->checked_ns = now;
	gr->cost_ns = smaller(took_ns, gr->took_ns);
	gr->took_ns = took_ns;
	if (found)
		gr->active_ns = now;
	most = reported(w, gr) ? REPORTED_MS
	     : gr->active_ns && now - gr->active_ns < BUSY_MS * MS ? ASK_BUSY_MS : ASK_QUIET_MS;
	least = smaller(gr->cost_ns * SHARE / MS, ASK_LAST_MS);
	gr->pause_ms = found ? ASK_FIRST_MS : smaller(gr->pause_ms * 3 / 2 + 1, most);
	if (gr->pause_ms < least)
		gr->pause_ms = least;
	gr->next_ns = now + gr->pause_ms * MS;
}

/* ------------------------------------------------------- what may have changed */

static bool check_files(struct grove_watch *w)
{
	bool found = false;

	for (struct grove__watch_dir *dir = w->watched_dirs; dir; dir = dir->next)
		if (dir->number < 0)
			report(w, dir);
	for (size_t i = 0; i < w->nr; i++) {
		struct grove__watched *m = w->all[i];
		struct grove__log_state now;

		if (!is_files(m->group) || m->dirty || m->gone)
			continue;
		if (grove__state_at(m->at.path, &now) || !grove__state_same(&now, &m->file)) {
			mark_dirty(w, m);
			found = true;
		}
	}
	return found;
}

static bool same_log(const struct grove_store_log_stat *a, const struct grove_store_log_stat *b)
{
	struct grove__log_state was = grove__log_state(b);

	return grove__log_is_still(a, &was, false);
}

/* One query each, while there are few. */
static bool check_one_by_one(struct grove_watch *w, struct grove__watch_group *gr)
{
	struct grove_store_log_stat st;
	bool found = false;

	for (size_t i = 0; i < w->nr; i++) {
		struct grove__watched *m = w->all[i];
		struct grove_key key = grove__where_key(&m->at);
		struct grove_store_log *log;
		int rc;

		if (m->group != gr || m->dirty || m->gone)
			continue;
		/* by its name, because the open log may have been replaced */
		rc = grove__log_open(&log, gr->store, &key, GROVE_STORE_READ, NULL);
		m->missing = rc == GROVE_ENOTFOUND;
		if (!rc) {
			rc = grove__log_stat(log, &st, NULL);
			grove__log_close(log);
			if (!rc && same_log(&st, &m->seen))
				continue;
		}
		mark_dirty(w, m);
		found = true;
	}
	return found;
}

struct survey {
	struct grove_watch *w;
	struct grove__watch_group *gr;
	struct grove_detail *d;
	bool found;
};

static bool has_key(const struct grove__watched *m, const struct grove__watch_group *gr,
		    const struct grove_key *key)
{
	return m->group == gr && !strcmp(m->at.project, key->project) &&
	       !strcmp(m->at.session, key->session) && !strcmp(m->at.sub ? m->at.sub : "", key->subpath);
}

#define WATCHED(n) ((struct grove__watched *)(void *)((char *)(n) - offsetof(struct grove__watched, node)))

static int saw(void *payload, struct grove__root *root, const struct grove_key *key,
	       const struct grove_store_log_stat *st)
{
	struct survey *s = payload;
	struct grove__log_state now = grove__log_state(st);
	uint64_t hash = grove__watch_hash(s->w, s->gr, key->project, key->session, key->subpath);

	(void)root;
	for (struct grove__table_node *n = grove__table_first(&s->w->by_place, hash); n;
	     n = grove__table_next(n)) {
		struct grove__watched *m = WATCHED(n);

		if (!has_key(m, s->gr, key))
			continue;
		m->pass = s->w->pass;
		if (!m->dirty && !same_log(st, &m->seen)) {
			mark_dirty(s->w, m);
			s->found = true;
		}
	}
	return s->gr->root && !*key->subpath
		       ? grove__watch_list_saw(s->w, s->gr, key, &now, &s->found, s->d)
		       : 0;
}

static int check_survey(struct grove_watch *w, struct grove__watch_group *gr, bool *found,
			struct grove_detail *d)
{
	struct survey s = { w, gr, d, false };
	struct grove__root root = { .store = gr->store };
	struct grove__logs_which all = { .only = &root, .copies = true, .subs = LOGS_ALL_SUBS, .tell = LOGS_STATES };
	int rc;

	w->pass++;
	rc = grove__logs_walk(w->g, &all, saw, &s, d);
	*found = s.found;
	if (rc)
		return rc;
	for (size_t i = 0; i < w->nr; i++)
		if (w->all[i]->group == gr && w->all[i]->pass != w->pass) {
			*found |= !w->all[i]->dirty;
			w->all[i]->missing = true;
			mark_dirty(w, w->all[i]);
		}
	if (gr->root)
		*found |= grove__watch_list_missed(w, gr);
	return 0;
}

static int check_group(struct grove_watch *w, struct grove__watch_group *gr, struct grove_detail *d)
{
	int64_t begun_ns = spent_ns(gr);
	bool found = false;
	int rc = 0;

	if (is_files(gr))
		found = check_files(w);
	else if (!gr->store)
		rc = grove__watch_list_files(w, gr, &found, d);
	else if (gr->root || gr->nr > FEW)
		rc = check_survey(w, gr, &found, d);
	else
		found = check_one_by_one(w, gr);
	set_pause(w, gr, found, spent_ns(gr) - begun_ns);
	gr->listed |= !rc && gr->root;
	return rc;
}

/*
 * Checks all that are due; with `age_ms`, also those without reports that were last checked
 * that long ago.
 */
static int check_groups(struct grove_watch *w, int64_t age_ms, struct grove_detail *d)
{
	int64_t now = grove__sys_ticks_ns();
	int rc = 0;

	for (struct grove__watch_group *gr = w->groups; gr && !rc; gr = gr->next) {
		if (!gr->nr && !gr->root)
			continue;
		if (gr->next_ns <= now || (age_ms >= 0 && now - gr->checked_ns >= age_ms * MS &&
					   (gr->store || !reported(w, gr))))
			rc = check_group(w, gr, d);
		/* told once, and asked again; the others are not kept waiting */
		if (rc == GROVE_EAWAY && gr->root)
			rc = grove__hidden_store(w->g, gr->root, rc, d);
	}
	for (size_t i = 0; i < w->nr && w->nr_failing; i++)
		if (w->all[i]->retry_ns && w->all[i]->retry_ns <= now)
			mark_dirty(w, w->all[i]);
	return rc;
}

/* ------------------------------------------------------------------- reports */

static bool is_name_of(const char *name, const char *file)
{
	size_t n = strlen(file);

	return !strncmp(name, file, n) &&
	       (!name[n] || !strcmp(name + n, "-wal") || !strcmp(name + n, "-journal"));
}

/* Handles reports about the files of databases, and about listed roots. */
static void tell_groups(struct grove_watch *w, const struct grove__watch_dir *dir, const char *name)
{
	for (struct grove__watch_group *gr = w->groups; gr; gr = gr->next) {
		const char *file = gr->store ? grove__store_file(gr->store) : NULL;
		const char *slash = file ? strrchr(file, '/') : NULL;

		if (file && gr->dir == dir && (!name || is_name_of(name, slash ? slash + 1 : file)))
			ask_soon(gr);
	}
	if (dir->list)
		ask_soon(dir->list);
}

static void reported_name(void *payload, int number, const char *name, bool gone)
{
	struct grove_watch *w = payload;
	struct grove__watch_dir *dir;

	for (dir = w->watched_dirs; dir; dir = dir->next)
		if (dir->number == number)
			break;
	if (!dir)
		return;
	tell_groups(w, dir, name);
	if (gone) {
		grove__sys_dirs_remove(w->dirs, number);
		dir->number = -1;
		for (size_t i = 0; i < w->nr; i++)
			if (w->all[i]->dir == dir)
				mark_dirty(w, w->all[i]);
	}
	if (!name)
		return;
	for (struct grove__table_node *n = grove__table_first(&w->by_place,
							      grove__watch_hash(w, dir, name, "", ""));
	     n; n = grove__table_next(n))
		if (WATCHED(n)->dir == dir)
			mark_dirty(w, WATCHED(n));
}

static void take_reports(struct grove_watch *w)
{
	if (w->dirs < 0 || grove__sys_dirs_take(w->dirs, reported_name, w))
		return;
	/* some reports were lost: check everything */
	for (struct grove__watch_group *gr = w->groups; gr; gr = gr->next)
		gr->next_ns = 0;
}

/* --------------------------------------------------------- members of the set */

static void unplace(struct grove_watch *w, struct grove__watched *m)
{
	if (m->group) {
		grove__table_remove(&w->by_place, &m->node);
		m->group->nr--;
	}
	grove__watch_dir_unref(w, m->dir);
	m->group = NULL;
	m->dir = NULL;
}

/* Registers where changes to it are reported. A session that has moved is registered again. */
static int place(struct grove_watch *w, struct grove__watched *m, struct grove_detail *d)
{
	struct grove_buf real = GROVE_BUF_INIT;
	struct grove__watch_group *gr;
	const char *name = "";
	int rc;

	unplace(w, m);
	rc = group_for(w, m->at.path ? NULL : m->at.store, NULL, &gr);
	if (!rc && m->at.path)
		rc = dir_of_file(w, m->at.path, &m->dir, &real, &name);
	m->node.hash = m->at.path ? grove__watch_hash(w, m->dir, name, "", "")
				  : grove__watch_hash(w, gr, m->at.project, m->at.session,
						      m->at.sub ? m->at.sub : "");
	if (!rc)
		rc = grove__table_add(&w->by_place, &m->node);
	if (!rc) {
		m->group = gr;
		gr->nr++;
	}
	grove__buf_release(&real);
	return rc ? grove__fail_nomem(d) : 0;
}

static void note_success(struct grove_watch *w, struct grove__watched *m)
{
	if (m->retry_ns)
		w->nr_failing--;
	m->retry_ns = m->retry_ms = 0;
}

static void note_failure(struct grove_watch *w, struct grove__watched *m)
{
	if (!m->retry_ns)
		w->nr_failing++;
	m->retry_ms = m->retry_ms ? m->retry_ms * 2 : RETRY_FIRST_MS;
	if (m->retry_ms > RETRY_LAST_MS)
		m->retry_ms = RETRY_LAST_MS;
	m->retry_ns = grove__sys_ticks_ns() + m->retry_ms * MS;
}

/* Records the state of the file before we look into it; a missing file equals no other. */
static void note_file(struct grove__watched *m)
{
	if (m->at.path)
		grove__state_at(m->at.path, &m->file);
}

/* It has moved: register it at its new place. */
static int follow(struct grove_watch *w, struct grove__watched *m, struct grove_detail *d)
{
	int rc;

	free(m->key);
	m->key = NULL;
	note_file(m);
	rc = place(w, m, d);
	m->moved = rc != 0;
	/* changes between the look and the first report from there */
	mark_dirty(w, m);
	return rc;
}

static int look_at(struct grove_watch *w, struct grove__watched *m, struct grove_detail *d)
{
	int rc;

	m->dirty = false;
	note_file(m);
	rc = grove__watched_look(m, d);
	/* a database's log that was open continues under its new name */
	if (!rc && m->missing && !m->gone && !m->moved)
		grove__watched_relocate(m);
	m->missing = false;
	if (has_events(m))
		line_add(&w->to_tell, m);
	if (!rc && m->moved)
		rc = follow(w, m, d);
	warm_up(w, m);
	if (rc < 0)
		note_failure(w, m);
	else
		note_success(w, m);
	return rc;
}

static void free_member(struct grove_watch *w, struct grove__watched *m)
{
	line_drop(&w->to_look, m);
	line_drop(&w->to_tell, m);
	cool(w, m);
	unplace(w, m);
	note_success(w, m);
	if (w->last == m)
		w->last = NULL;
	if (w->leaving == m)
		w->leaving = NULL;
	w->all[m->place] = w->all[--w->nr];
	w->all[m->place]->place = m->place;
	grove__watched_release(m);
	free(m);
}

/* `id` is that of a known session, which may be gone; NULL if the session exists. */
static int add(struct grove_watch *w, struct grove__where *at, uint64_t since, const char *id,
	       void *tag, struct grove_detail *d)
{
	struct grove__watched *m = calloc(1, sizeof(*m));
	struct grove__log_state now;
	int rc;

	if (!m || grove__array_room(&w->all, &w->cap, w->nr, sizeof(*w->all)) ||
	    (id && !(m->session_id = strdup(id)))) {
		free(m);
		return grove__fail_nomem(d);
	}
	m->tag = tag;
	if (at->path)
		grove__state_at(at->path, &m->file);
	rc = grove__watched_open(w->g, at, since, m, d);
	m->moved = false;
	if (rc) {
		grove__watched_release(m);
		free(m);
		return rc;
	}
	m->place = w->nr;
	w->all[w->nr++] = m;
	rc = place(w, m, d);
	if (rc) {
		free_member(w, m);
		return rc;
	}
	warm_up(w, m);
	if (has_events(m))
		line_add(&w->to_tell, m);
	/* changes between opening it and the first report */
	if (m->at.path && (grove__state_at(m->at.path, &now) || !grove__state_same(&now, &m->file)))
		mark_dirty(w, m);
	return 0;
}

/* ------------------------------------------------------------------- reporting */

/* `ready` is readable while there is something to report or to look at. */
static void set_ready(struct grove_watch *w)
{
	bool want = w->to_tell.first || w->to_look.first || w->list_first || w->list_reset;

	if (want && !w->rung)
		grove__sys_bell_ring(w->ready);
	else if (!want && w->rung)
		grove__sys_bell_rang(w->ready);
	w->rung = want;
}

/* Sets when the next look is due. */
static void set_alarm(struct grove_watch *w)
{
	int64_t first = INT64_MAX;

	for (struct grove__watch_group *gr = w->groups; gr; gr = gr->next)
		if ((gr->nr || gr->root) && gr->next_ns < first)
			first = gr->next_ns;
	for (size_t i = 0; i < w->nr && w->nr_failing; i++)
		if (w->all[i]->retry_ns && w->all[i]->retry_ns < first)
			first = w->all[i]->retry_ns;
	if (first == INT64_MAX)
		first = 0;
	else if (first < 1)
		first = 1;
	if (first != w->alarm_ns)
		grove__sys_alarm_set(w->alarm, first);
	w->alarm_ns = first;
}

/* Returns the name of the session; see grove/live.h. */
static const char *key_of(struct grove__watched *m)
{
	struct grove_buf b = GROVE_BUF_INIT;

	if (m->at.path)
		return m->at.path;
	if (!m->key && !grove__where_word(&m->at, m->session_id, &b))
		m->key = b.ptr;
	else
		grove__buf_release(&b);
	return m->key;
}

static bool tell(struct grove_watch *w, struct grove_event *out)
{
	struct grove__watched *m = line_take(&w->to_tell);
	const struct grove__happened *e;
	bool entry;

	if (!m)
		return false;
	e = &m->queue[m->next++];
	entry = e->row != GROVE_NO_ENTRY && e->kind != GROVE_EVENT_LEAF;
	*out = (struct grove_event){
		.size = sizeof(*out), .rev = e->rev, .kind = e->kind, .seq = e->seq,
		.generation = e->generation, .session_id = m->session_id, .entry_id = e->entry_id,
		.first = entry ? e->row : GROVE_NO_ENTRY, .nr = entry, .key = key_of(m), .tag = m->tag,
	};
	m->told = e->rev;
	w->last = m;
	w->list_about = NULL;
	if (has_events(m))
		line_add(&w->to_tell, m);
	else if (m->gone)
		w->leaving = m;
	else if (m->dirty)
		line_add(&w->to_look, m);
	return true;
}

/* Looks at the first of those that may have changed; there is one. */
static int look_at_next(struct grove_watch *w, struct grove_detail *d)
{
	return look_at(w, line_take(&w->to_look), d);
}

/* Looks for something new, without waiting. `age_ms` as in check_groups(). */
static int gather(struct grove_watch *w, int64_t age_ms, struct grove_detail *d)
{
	take_reports(w);
	return check_groups(w, age_ms, d);
}

static bool tell_any(struct grove_watch *w, struct grove_event *out)
{
	/* the list comes first: it has at most one event per session */
	return grove__watch_list_next(w, out) || tell(w, out);
}

static int next_event(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d)
{
	int64_t end = grove__sys_ticks_ns() + (ms < 0 ? FOREVER_MS : ms) * MS;
	bool rang = grove__sys_bell_rang(w->bell);
	/* a caller woken by a report wants only that; one that comes by itself wants everything */
	int64_t age_ms = !rang && grove__sys_many_wait(w->many, 0) ? -1 : w->idle ? 0 : DRAIN_MS;

	for (;; age_ms = -1) {
		int64_t left;
		int rc;

		if (w->to_tell.first && ++w->turns % TURNS) {
			tell(w, out);
			return 0;
		}
		rc = gather(w, age_ms, d);
		if (rc)
			return rc;
		while (!w->to_tell.first && !w->list_first && w->to_look.first)
			if ((rc = look_at_next(w, d)))
				return rc;
		if (w->to_look.first && (rc = look_at_next(w, d)))
			return rc;
		if (tell_any(w, out))
			return 0;
		if (!w->nr && !(w->flags & GROVE_WATCH_LIST))
			return grove__fail(d, GROVE_ENOTFOUND, NULL, "no session is being watched");
		if (rang || grove__sys_bell_rang(w->bell))
			return 1;
		left = (end - grove__sys_ticks_ns() + MS - 1) / MS;
		if (left <= 0 && ms >= 0)
			return 1;
		set_ready(w);
		set_alarm(w);
		grove__sys_many_wait(w->many, left > 0 ? left : FOREVER_MS);
	}
}

int grove__watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out,
		      struct grove_detail *d)
{
	int rc;

	if (w->leaving)
		free_member(w, w->leaving);
	/* forever, or practically so */
	rc = next_event(w, ms > FOREVER_MS * 24 * 365 ? -1 : ms, out, d);
	w->idle = rc == 1;
	set_ready(w);
	set_alarm(w);
	return rc;
}

/* ------------------------------------------------------------------ the view */

int grove__watch_view(struct grove_watch *w, struct grove_view **out, struct grove_detail *d)
{
	struct grove__watched *m = w->last;
	struct grove__where at;
	struct grove_session *s;
	int rc;

	*out = NULL;
	if (!m || m->gone)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "the last event has no session to view");
	if (m->s && m->s->image) {
		grove__session_lock(m->s);
		rc = grove__view_new(m->s, out, d);
		grove__session_unlock(m->s);
		return rc;
	}
	/* parked: open a separate handle, which lives as long as the view */
	if (grove__where_copy(&at, &m->at) || !(s = grove__session_alloc(w->g)))
		return grove__fail_nomem(d);
	rc = grove__session_open(w->g, &at, GROVE_OPEN_READ, s, d);
	grove__where_release(&at);
	if (!rc)
		rc = grove__view_new(s, out, d);
	grove__session_unref(s);
	return rc;
}

/* ---------------------------------------------------------------- the cursor */

/*
 * One word: "1", ",list" if the list is watched, and the rev, id and location of each
 * session, in which everything except letters, digits and -._/ is escaped:
 *
 *	1,REV:ID:PATH,REV:ID:STORE:PROJECT:SESSION:SUBPATH
 */
static int add_field(struct grove_buf *out, const char *text)
{
	int rc = grove__buf_add_char(out, ':');

	for (; *text && !rc; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    strchr("-._/", c))
			rc = grove__buf_addf(out, "%c", c);
		else
			rc = grove__buf_addf(out, "%%%02X", c);
	}
	return rc;
}

static int add_place(const struct grove__watched *m, struct grove_buf *out)
{
	int rc = grove__buf_addf(out, ",%" PRIu64, m->told);

	rc = rc ? rc : add_field(out, m->session_id);
	if (m->at.path)
		return rc ? rc : add_field(out, m->at.path);
	rc = rc ? rc : add_field(out, m->at.store->url);
	rc = rc ? rc : add_field(out, m->at.project);
	rc = rc ? rc : add_field(out, m->at.session);
	return rc ? rc : add_field(out, m->at.sub ? m->at.sub : "");
}

int grove__watch_cursor(struct grove_watch *w, struct grove_buf *out, struct grove_detail *d)
{
	int rc = grove__buf_add_str(out, w->flags & GROVE_WATCH_LIST ? "1,list" : "1");

	for (size_t i = 0; i < w->nr && !rc; i++)
		if (w->all[i] != w->leaving)
			rc = add_place(w->all[i], out);
	return rc ? grove__fail_nomem(d) : 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes in place. */
static bool unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		if (hex(s[1]) < 0 || hex(s[2]) < 0 || (hex(s[1]) | hex(s[2])) == 0)
			return false;
		*to++ = (char)(hex(s[1]) * 16 + hex(s[2]));
		s += 2;
	}
	*to = '\0';
	return true;
}

enum { REV, ID, PLACE, PROJECT, SESSION, SUBPATH, PARTS };

/*
 * Splits "REV:ID:PATH" or "REV:ID:STORE:PROJECT:SESSION:SUBPATH". Returns the number of
 * parts, or 0.
 */
static unsigned split(char *word, char *part[PARTS])
{
	unsigned nr = 0;

	for (char *p = word, *end; p; p = end) {
		end = strchr(p, ':');
		if (end)
			*end++ = '\0';
		if (nr == PARTS || !unescape(p))
			return 0;
		part[nr++] = p;
	}
	return nr == PLACE + 1 || nr == PARTS ? nr : 0;
}

static int add_from_cursor(struct grove_watch *w, char *word, struct grove_detail *d)
{
	char *part[PARTS], *end;
	struct grove__where at = { .dialect = NULL };
	unsigned nr = split(word, part);
	uint64_t rev = nr ? strtoull(part[REV], &end, 10) : 0;
	int rc = GROVE_EINVAL;

	if (!nr || *end || !*part[REV] || !*part[ID] || !*part[PLACE])
		return grove__fail(d, GROVE_EINVAL, NULL, "not a cursor of a watch");
	if (nr == PLACE + 1) {
		rc = grove__locate_path(w->g, part[PLACE], &at, d);
	} else {
		struct grove_key key = { part[PROJECT], part[SESSION], part[SUBPATH] };

		rc = grove__fail(d, GROVE_ENOTFOUND, part[PLACE], "this store is not among those that are open");
		for (size_t i = 0; i < w->g->nr_roots; i++)
			if (!strcmp(w->g->roots[i].store->url, part[PLACE]))
				rc = grove__where_fill(&at, &w->g->roots[i], &key, d);
	}
	if (!rc)
		rc = add(w, &at, rev, part[ID], NULL, d);
	grove__where_release(&at);
	return rc;
}

static int add_all_from_cursor(struct grove_watch *w, const char *cursor, struct grove_detail *d)
{
	char *copy = strdup(cursor), *p = copy, *end;
	int rc = copy ? 0 : grove__fail_nomem(d);

	if (!rc && (*p != '1' || (p[1] && p[1] != ',')))
		rc = grove__fail(d, GROVE_EINVAL, NULL, "not a cursor of a watch");
	for (p = !rc && p[1] ? p + 2 : NULL; p && !rc; p = end) {
		end = strchr(p, ',');
		if (end)
			*end++ = '\0';
		if (!strcmp(p, "list")) {
			w->flags |= GROVE_WATCH_LIST;
			w->list_reset = true;
			continue;
		}
		rc = add_from_cursor(w, p, d);
	}
	free(copy);
	return rc;
}

/* -------------------------------------------------------------- open, close */

static int open_descriptors(struct grove_watch *w, struct grove_detail *d)
{
	int err = grove__sys_many_open(&w->many);

	if (!err)
		err = grove__sys_bell_open(&w->bell);
	if (!err)
		err = grove__sys_bell_open(&w->ready);
	if (!err)
		err = grove__sys_alarm_open(&w->alarm);
	/* without it we poll */
	if (!err && grove__sys_dirs_open(&w->dirs))
		w->dirs = -1;
	if (!err)
		err = grove__sys_many_add(w->many, w->bell);
	if (!err)
		err = grove__sys_many_add(w->many, w->ready);
	if (!err)
		err = grove__sys_many_add(w->many, w->alarm);
	if (!err && w->dirs >= 0)
		err = grove__sys_many_add(w->many, w->dirs);
	return err ? grove__fail_sys(d, err, NULL, "cannot wait") : 0;
}

/* What exists now is not reported; of a store that does not answer, what exists when it does. */
static int open_list(struct grove_watch *w, struct grove_detail *d)
{
	int rc = 0;

	for (size_t i = 0; i < w->g->nr_roots && !rc; i++) {
		struct grove__root *root = &w->g->roots[i];
		struct grove__watch_group *gr;

		if (group_for(w, root->dir ? NULL : root->store, root, &gr))
			return grove__fail_nomem(d);
		rc = grove__hidden_store(w->g, root, check_group(w, gr, d), d);
	}
	return rc;
}

int grove__watch_open(struct grove *g, const struct grove_watch_options *opt, struct grove_watch *w,
		      struct grove_detail *d)
{
	int rc;

	w->g = grove__world_ref(g);
	w->flags = opt->flags;
	w->many = w->dirs = w->bell = w->ready = w->alarm = -1;
	w->list_last = &w->list_first;
	line_init(&w->to_look);
	line_init(&w->to_tell);
	grove__sys_random(&w->seed, sizeof(w->seed));
	w->idle = true;
	if (opt->flags & ~(unsigned)GROVE_WATCH_LIST)
		return grove__fail(d, GROVE_EINVAL, NULL, "unknown flags of a watch");
	rc = open_descriptors(w, d);
	if (!rc && opt->cursor)
		rc = add_all_from_cursor(w, opt->cursor, d);
	if (!rc && w->flags & GROVE_WATCH_LIST)
		rc = open_list(w, d);
	if (!rc) {
		set_ready(w);
		set_alarm(w);
	}
	return rc;
}

int grove__watch_add(struct grove_watch *w, struct grove__where *at, uint64_t since, void *tag,
		     struct grove_detail *d)
{
	int rc = add(w, at, since, NULL, tag, d);

	set_ready(w);
	set_alarm(w);
	return rc;
}

int grove__watch_remove(struct grove_watch *w, const void *tag, struct grove_detail *d)
{
	bool any = false;

	for (size_t i = w->nr; i; i--)
		if (w->all[i - 1]->tag == tag) {
			any |= w->all[i - 1] != w->leaving;
			free_member(w, w->all[i - 1]);
		}
	/* do not wake anybody for what is no longer watched */
	set_ready(w);
	set_alarm(w);
	return any ? 0 : grove__fail(d, GROVE_ENOTFOUND, NULL, "no session was added with this tag");
}

void grove__watch_release(struct grove_watch *w)
{
	struct grove__watch_group *gr;
	const int fds[] = { w->dirs, w->bell, w->ready, w->alarm, w->many };

	while (w->nr)
		free_member(w, w->all[w->nr - 1]);
	free(w->all);
	grove__watch_list_release(w);
	while ((gr = w->groups)) {
		w->groups = gr->next;
		grove__watch_dir_unref(w, gr->dir);
		free(gr);
	}
	grove__table_release(&w->by_place);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			grove__sys_close(fds[i]);
	grove__world_unref(w->g);
}
