/*
 * watch/watch_list.c: which sessions appear, change and disappear.
 *
 * For each session of each root we remember three numbers that describe its state, and
 * compare them with a survey of the database or, for files, with their names and sizes.
 * What is new, different or missing is queued, once per session, as the net change since it
 * was last reported.
 *
 * The system reports changes in the directories of a root, as for watched sessions. A new
 * directory is watched from then on, and then looked into once more.
 */
#include "watch/watch.h"

#include <stdlib.h>
#include <string.h>

#define LISTED(n) ((struct grove__watch_listed *)(void *)((char *)(n) - offsetof(struct grove__watch_listed, node)))

static uint64_t hash_of(const struct grove_watch *w, const struct grove__watch_group *gr,
			const struct grove_key *key)
{
	return grove__watch_hash(w, gr, key->project, key->session, "");
}

static struct grove__watch_listed *find_listed(const struct grove_watch *w, const struct grove__watch_group *gr,
						     const struct grove_key *key)
{
	struct grove__table_node *n = grove__table_first(&w->listed, hash_of(w, gr, key));

	for (; n; n = grove__table_next(n)) {
		struct grove__watch_listed *x = LISTED(n);

		if (x->group == gr && !strcmp(x->project, key->project) && !strcmp(x->session, key->session))
			return x;
	}
	return NULL;
}

static void free_listed(struct grove__watch_listed *x)
{
	free(x->project);
	free(x->session);
	free(x->id);
	free(x);
}

static struct grove__watch_listed *add_listed(struct grove_watch *w, struct grove__watch_group *gr,
						    const struct grove_key *key)
{
	struct grove__watch_listed *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->group = gr;
	x->project = strdup(key->project);
	x->session = strdup(key->session);
	x->node.hash = hash_of(w, gr, key);
	if (!x->project || !x->session || grove__table_add(&w->listed, &x->node)) {
		free_listed(x);
		return NULL;
	}
	x->next = w->all_listed;
	if (x->next)
		x->next->prev = &x->next;
	x->prev = &w->all_listed;
	w->all_listed = x;
	return x;
}

static void forget_listed(struct grove_watch *w, struct grove__watch_listed *x)
{
	if (w->list_about == x)
		w->list_about = NULL;
	grove__table_remove(&w->listed, &x->node);
	*x->prev = x->next;
	if (x->next)
		x->next->prev = x->prev;
	free_listed(x);
}

/*
 * A session whose removal was reported is forgotten in the next call, before anything else;
 * otherwise it would be found missing again.
 */
static void forget_told(struct grove_watch *w)
{
	if (w->list_told)
		forget_listed(w, w->list_told);
	w->list_told = NULL;
}

/* Combines a change with one that is not reported yet. */
static void tell_later(struct grove_watch *w, struct grove__watch_listed *x, enum grove_event_kind kind)
{
	/* created and then changed is created; removed and then created is changed */
	if (x->waiting && x->kind == GROVE_EVENT_CREATE && kind == GROVE_EVENT_CHANGE)
		kind = GROVE_EVENT_CREATE;
	else if (x->waiting && x->kind == GROVE_EVENT_REMOVE && kind == GROVE_EVENT_CREATE)
		kind = GROVE_EVENT_CHANGE;
	x->kind = kind;
	if (x->waiting)
		return;
	x->waiting = true;
	x->next_in_line = NULL;
	*w->list_last = x;
	w->list_last = &x->next_in_line;
}

int grove__watch_list_saw(struct grove_watch *w, struct grove__watch_group *gr,
			  const struct grove_key *key, const struct grove__log_state *now, bool *found,
			  struct grove_detail *d)
{
	struct grove__watch_listed *x;
	bool gone;

	forget_told(w);
	x = find_listed(w, gr, key);
	gone = x && x->waiting && x->kind == GROVE_EVENT_REMOVE;
	/* a log without lines is not a session yet: it cannot be opened, and no list shows it */
	if (!x && !now->size)
		return 0;
	if (!x) {
		x = add_listed(w, gr, key);
		if (!x)
			return grove__fail_nomem(d);
		x->before = *now;
		x->had = !gr->listed;
		if (gr->listed) {
			tell_later(w, x, GROVE_EVENT_CREATE);
			*found = true;
		}
	} else if (gone || !(gr->store ? grove__state_as_long(&x->state, now) : grove__state_same(&x->state, now))) {
		x->cut |= gone || (!gr->store && !grove__state_grown(&x->state, now));
		tell_later(w, x, gone ? GROVE_EVENT_CREATE : GROVE_EVENT_CHANGE);
		*found = true;
	}
	x->state = *now;
	x->pass = w->pass;
	return 0;
}

bool grove__watch_list_missed(struct grove_watch *w, struct grove__watch_group *gr)
{
	bool found = false;

	forget_told(w);
	for (struct grove__watch_listed *x = w->all_listed; x; x = x->next)
		if (x->group == gr && x->pass != w->pass && !(x->waiting && x->kind == GROVE_EVENT_REMOVE)) {
			tell_later(w, x, GROVE_EVENT_REMOVE);
			found = true;
		}
	return found;
}

/* -------------------------------------------------------------------- files */

struct listing {
	struct grove_watch *w;
	struct grove__watch_group *gr;
	struct grove_detail *d;
	struct grove_buf path;
	const struct grove__watch_dir *last; /* the one that was heard of last */
	bool found, more;
};

/* Has changes in a project's directory reported from now on. */
static int hear_of(struct listing *l, const char *dir)
{
	struct grove__watch_dir *x;

	/* a directory's files follow each other */
	if (l->last && !strcmp(l->last->path, dir))
		return 0;
	for (x = l->w->watched_dirs; x; x = x->next)
		if (x->list == l->gr && !strcmp(x->path, dir)) {
			l->last = x;
			return 0;
		}
	if (grove__watch_dir(l->w, dir, &x))
		return grove__fail_nomem(l->d);
	if (x->list) {
		/* two roots with the same directory: only the first reports it */
		grove__watch_dir_unref(l->w, x);
		return 0;
	}
	x->list = l->gr;
	/* something may have been created before the reports began */
	l->more = true;
	return 0;
}

static int saw_file(void *payload, struct grove__root *root, const struct grove_key *key,
		    const struct grove_store_log_stat *st)
{
	struct listing *l = payload;
	struct grove__log_state now;
	int rc;

	(void)st;
	grove__buf_clear(&l->path);
	rc = *key->project ? grove__buf_addf(&l->path, "%s/%s", root->dir, key->project)
			   : grove__buf_add_str(&l->path, root->dir);
	if (rc)
		return grove__fail_nomem(l->d);
	rc = hear_of(l, l->path.ptr);
	if (rc)
		return rc;
	if (grove__buf_addf(&l->path, "/%s", key->session))
		return grove__fail_nomem(l->d);
	if (grove__state_at(l->path.ptr, &now))
		return 0;
	return grove__watch_list_saw(l->w, l->gr, key, &now, &l->found, l->d);
}

int grove__watch_list_files(struct grove_watch *w, struct grove__watch_group *gr, bool *found,
			    struct grove_detail *d)
{
	struct listing l = { .w = w, .gr = gr, .d = d };
	struct grove__logs_which which = { .only = gr->root };
	int rc = hear_of(&l, gr->root->dir);

	for (int i = 0; i < 2 && !rc; i++) {
		l.more = false;
		w->pass++;
		rc = grove__logs_walk(w->g, &which, saw_file, &l, d);
		if (!l.more)
			break;
	}
	if (!rc)
		l.found |= grove__watch_list_missed(w, gr);
	*found = l.found;
	grove__buf_release(&l.path);
	return rc;
}

/* ------------------------------------------------------------------- telling */

/* Finds its id and its name; without a log, only what its name says. */
static void name_it(struct grove_watch *w, struct grove__watch_listed *x)
{
	struct grove_key key = { x->project, x->session, "" };
	struct grove_buf id = GROVE_BUF_INIT;
	struct grove__where at;

	if (!x->id && !grove__locate_id(w->g, x->group->root, &key, &id) && id.len)
		x->id = id.ptr;
	else
		grove__buf_release(&id);
	grove__buf_clear(&w->key);
	if (grove__where_fill(&at, x->group->root, &key, NULL))
		return;
	if (at.path || x->id)
		(void)grove__where_word(&at, x->id, &w->key);
	grove__where_release(&at);
}

bool grove__watch_list_next(struct grove_watch *w, struct grove_event *out)
{
	struct grove__watch_listed *x;

	forget_told(w);
	if (w->list_reset) {
		w->list_reset = false;
		*out = (struct grove_event){ .size = sizeof(*out), .kind = GROVE_EVENT_RESET,
					     .seq = GROVE_NO_SEQ, .first = GROVE_NO_ENTRY };
		return true;
	}
	x = w->list_first;
	if (!x)
		return false;
	w->list_first = x->next_in_line;
	if (!w->list_first)
		w->list_last = &w->list_first;
	x->waiting = false;
	w->list_about = x;
	name_it(w, x);
	*out = (struct grove_event){ .size = sizeof(*out), .kind = x->kind, .seq = GROVE_NO_SEQ,
				     .first = GROVE_NO_ENTRY, .session_id = x->id, .key = w->key.ptr };
	if (x->kind == GROVE_EVENT_REMOVE)
		w->list_told = x;
	w->last = NULL;
	return true;
}

/* -------------------------------------------------------------------- before */

/* Returns how many lines the first `size` bytes of a file have, without one that is cut off. */
static uint64_t lines_in(const struct grove__image *im, uint64_t size)
{
	uint32_t lo = 0, hi = im->spine->nr;
	struct grove__spot at;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		at = grove__image_spot(im, mid);
		if (at.pos + at.len <= size)
			lo = mid + 1;
		else
			hi = mid;
	}
	at = grove__image_spot(im, lo ? lo - 1 : GROVE_NO_ENTRY);
	return at.len && at.pos + at.len <= size ? at.line + 1 : 0;
}

/* Reads the rev of a file that had `size` bytes. */
static int rev_in_file(struct grove_watch *w, const struct grove__watch_listed *x, uint64_t size, uint64_t *rev,
		       struct grove_detail *d)
{
	struct grove_key key = { x->project, x->session, "" };
	struct grove_session *s = grove__session_alloc(w->g);
	struct grove__where at = { .dialect = NULL };
	struct grove__log_state now;
	int rc = s ? grove__where_fill(&at, x->group->root, &key, d) : grove__fail_nomem(d);

	if (!rc)
		rc = grove__session_open(w->g, &at, GROVE_OPEN_READ, s, d);
	/* it may have been replaced since we saw it */
	if (!rc && !x->cut && !grove__state_at(s->at.path, &now) && grove__state_grown(&x->before, &now))
		*rev = s->image->base + lines_in(s->image, size);
	grove__where_release(&at);
	if (s)
		grove__session_unref(s);
	return rc;
}

int grove__watch_list_before(struct grove_watch *w, uint64_t *rev, struct grove_detail *d)
{
	struct grove__watch_listed *x = w->list_about;
	int rc = 0;

	*rev = GROVE_REV_NOW - 1;  /* no session has it */
	if (!x || x->kind == GROVE_EVENT_REMOVE)
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "the last event is not a change in the list");
	/* a file is opened in any case: one that is empty now will be reported again */
	if (!x->group->store)
		rc = rev_in_file(w, x, x->had ? x->before.size : 0, rev, d);
	else if (!x->cut)
		*rev = x->had ? x->before.size + x->before.dev : 0;
	if (rc)
		return rc;
	x->before = x->state;
	x->had = true;
	x->cut = false;
	return 0;
}

void grove__watch_list_release(struct grove_watch *w)
{
	for (struct grove__watch_dir *dir = w->watched_dirs, *next; dir; dir = next) {
		next = dir->next;
		if (dir->list)
			grove__watch_dir_unref(w, dir);
	}
	while (w->all_listed)
		forget_listed(w, w->all_listed);
	grove__table_release(&w->listed);
	grove__buf_release(&w->key);
}
