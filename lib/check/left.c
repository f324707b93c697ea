/*
 * check/left.c: what commands left that were killed.
 *
 * That is no damage of a session, but a part of one that lies around: a whole copy of it
 * perhaps, which nobody sees and nobody expects there. A store says what it has of that
 * (grove__store_tidy()); and there may be empty sessions, which earlier versions left.
 */
#include "check/fix.h"

#define KIND "unfinished"
#define LEFT "left by a command that was killed"
#define EMPTY "empty: the command that was to store it did not finish"

struct leaving {
	grove_problem_fn *fn;
	void *payload;
	struct grove_check_result *found;
	const struct grove_fix_options *opt;
	struct grove_fix_result *fixed;
};

static int tell_left(void *payload, const char *path)
{
	struct leaving *l = payload;
	struct grove_problem p = { .path = path, .line = 1, .kind = KIND, .detail = LEFT, .fixable = 1 };

	l->found->problems++;
	return l->fn(l->payload, &p);
}

int grove__check_left(struct grove_store *st, const struct grove_key *near, grove_problem_fn *fn, void *payload,
		      struct grove_check_result *result, struct grove_detail *d)
{
	struct leaving l = { .fn = fn, .payload = payload, .found = result };

	return grove__store_tidy(st, near, false, tell_left, &l, d);
}

/* Returns 1 if it is to stay. */
static int propose(struct leaving *l, const char *path, const char *detail)
{
	struct grove_fix_change c = { .path = path, .line = 1, .new_line = 1, .kind = KIND, .detail = detail };
	int rc = l->opt->change ? l->opt->change(l->opt->payload, &c) : 0;

	l->fixed->changes++;
	if (!rc && l->opt->flags & GROVE_FIX_DRY_RUN)
		return 1;
	return rc || !l->opt->confirm ? rc : l->opt->confirm(l->opt->payload, path, 1);
}

static int clear(void *payload, const char *path)
{
	struct leaving *l = payload;
	int rc = propose(l, path, LEFT);

	return rc || !l->opt->done ? rc : l->opt->done(l->opt->payload, path, NULL);
}

int grove__fix_left(struct grove_store *st, const struct grove_key *near, const struct grove_fix_options *opt,
		    struct grove_fix_result *result, struct grove_detail *d)
{
	struct leaving l = { .opt = opt, .fixed = result };

	return grove__store_tidy(st, near, true, clear, &l, d);
}

/* An empty file is one without a header, or a session that has not begun. */
static bool is_empty(const struct grove__where *at)
{
	const struct grove_key key = grove__where_key(at);
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	bool empty;

	if (*key.subpath || grove__store_traits(at->store).paths ||
	    grove__log_open(&log, at->store, &key, GROVE_STORE_READ, NULL))
		return false;
	empty = !grove__log_stat(log, &st, NULL) && !st.tail && !st.bytes;
	grove__log_close(log);
	return empty;
}

int grove__check_empty(const struct grove__where *at, grove_problem_fn *fn, void *payload,
		       struct grove_check_result *result)
{
	const struct grove_key key = grove__where_key(at);
	struct grove_problem p = { .path = at->path ? at->path : "", .line = 1, .kind = KIND, .detail = EMPTY };

	if (!is_empty(at))
		return 1;
	p.fixable = grove__aside_nothing(at->store, &key);
	result->files++;
	result->problems++;
	return fn(payload, &p);
}

int grove__fix_empty(const struct grove__where *at, const struct grove_fix_options *opt,
		     struct grove_fix_result *result, struct grove_detail *d)
{
	const struct grove_key key = grove__where_key(at);
	struct leaving l = { .opt = opt, .fixed = result };
	int rc;

	if (!is_empty(at) || !grove__aside_nothing(at->store, &key))
		return 1;
	result->files++;
	rc = propose(&l, grove__fix_name(at), EMPTY);
	if (rc)
		return rc == 1 ? 0 : rc;
	rc = grove__store_remove(at->store, &key, d);
	result->mended += !rc;
	return rc || !opt->done ? rc : opt->done(opt->payload, grove__fix_name(at), NULL);
}
