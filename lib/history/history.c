/* history/history.c: choosing a history, and its handle. */
#include "history/history_impl.h"

#include "dialect/dialect.h"
#include "sys/file.h"
#include "sys/pool.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- places */

static bool is_dir(const char *path)
{
	struct grove__sys_stat st;

	return !grove__sys_stat(path, &st) && st.type == SYS_DIR;
}

/*
 * Returns the dialects whose agents have a history, the default one first; NULL after
 * the last.
 */
static const struct grove__dialect *keeper(unsigned i)
{
	const struct grove__dialect *usual = grove__dialect_defaults.history, *d = usual;

	for (unsigned k = 0; i && (d = grove__dialect_at(k)); k++)
		i -= d->history && d != usual;
	return d;
}

static int agent_path(const struct grove__env *env, const struct grove__dialect *agent,
		      struct grove_buf *out)
{
	grove__buf_clear(out);
	return agent->history->path(env, out);
}

static bool has_parent(struct grove_buf *path)
{
	char *slash = strrchr(path->ptr, '/');
	bool has;

	*slash = '\0';
	has = is_dir(path->ptr);
	*slash = '/';
	return has;
}

/*
 * Finds the agent's own file: that of the dialect that was asked for, else the first
 * that exists, else the first that could exist, else the default one's.
 */
static int own_path(const struct grove__env *env, const struct grove__dialect *asked,
		    struct grove_buf *out, const struct grove__dialect **agent, struct grove_detail *d)
{
	struct grove__sys_stat st;

	if (asked && !asked->history)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "%s has no prompt history (give a file)",
				   asked->name);
	for (int round = 0; round < 2 && !asked; round++)
		for (unsigned i = 0; (*agent = keeper(i)); i++) {
			if (agent_path(env, *agent, out))
				return grove__fail_nomem(d);
			if (round ? has_parent(out) : !grove__sys_stat(out->ptr, &st))
				return 0;
		}
	*agent = asked ? asked : keeper(0);
	if (!*agent)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "no agent keeps a prompt history (name a file)");
	return agent_path(env, *agent, out) ? grove__fail_nomem(d) : 0;
}

/*
 * A file by name; if it is an agent's own, it belongs to that agent, even if it does
 * not exist yet.
 */
static int given_path(const struct grove__env *env, const struct grove__dialect *asked, const char *path,
		      struct grove_buf *out, const struct grove__dialect **agent, struct grove_detail *d)
{
	const struct grove__dialect *k;
	struct grove_buf own = GROVE_BUF_INIT;
	int rc = 0;

	if (!*path)
		return grove__fail(d, GROVE_EINVAL, NULL, "the file name is empty");
	if (grove__buf_add_str(out, path))
		return grove__fail_nomem(d);
	*agent = asked;
	for (unsigned i = 0; !*agent && !rc && (k = keeper(i)); i++) {
		rc = agent_path(env, k, &own);
		if (!rc && !strcmp(own.ptr, out->ptr))
			*agent = k;
	}
	/* a file of no agent has the default layout */
	if (!*agent)
		*agent = keeper(0) ? keeper(0) : grove__dialect_defaults.session;
	grove__buf_release(&own);
	return rc ? grove__fail_nomem(d) : 0;
}

static int find_place(struct grove_history *h, const struct grove__env *env,
		      const struct grove__dialect *asked, const char *path, struct grove_detail *d)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = path ? given_path(env, asked, path, &b, &h->dialect, d)
		      : own_path(env, asked, &b, &h->dialect, d);

	if (rc) {
		h->dialect = NULL;
		grove__buf_release(&b);
	} else {
		h->path = b.ptr;
	}
	return rc;
}

/* ------------------------------------------------------------------- handle */

static void init_locks(struct grove_history *h)
{
	pthread_mutex_init(&h->reading, NULL);
	pthread_mutex_init(&h->lock, NULL);
	grove__pool_cond_init(&h->wake);
	grove__pool_cond_init(&h->settled_more);
}

struct grove_history *grove__history_open(const struct grove__env *env, const struct grove__dialect *asked,
					  const char *path, int *rc, struct grove_detail *d)
{
	struct grove_history *h = calloc(1, sizeof(*h));

	if (!h) {
		*rc = grove__fail_nomem(d);
		return NULL;
	}
	init_locks(h);
	h->tuning = (struct grove__history_tuning){
		.busy_ms = 5000, .delay_ms = 100,
		.scan_words = 2048, .scan_parts = 10000, .index_hits = 1000,
	};
	*rc = find_place(h, env, asked, path, d);
	if (*rc)
		return h;
	/* an existing file must be usable; a missing one is an empty history */
	pthread_mutex_lock(&h->reading);
	*rc = grove__history_reader_open(h, d);
	pthread_mutex_unlock(&h->reading);
	if (*rc == GROVE_ENOTFOUND)
		*rc = 0;
	return h;
}

void grove__history_close(struct grove_history *h)
{
	if (!h)
		return;
	grove__history_writer_stop(h);
	grove__history_reader_close(h);
	grove__buf_release(&h->queue);
	pthread_cond_destroy(&h->settled_more);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->reading);
	free(h->path);
	free(h);
}

const char *grove__history_path(const struct grove_history *h)
{
	return h->path;
}

struct grove__history_tuning *grove__history_tuning(struct grove_history *h)
{
	return &h->tuning;
}

void grove__history_keep(struct grove_history *h, int rc, const struct grove_detail *d)
{
	pthread_mutex_lock(&h->lock);
	h->detail = *d;
	h->detail.code = rc;
	pthread_mutex_unlock(&h->lock);
}

void grove__history_error(struct grove_history *h, struct grove_detail *out)
{
	pthread_mutex_lock(&h->lock);
	*out = h->detail;
	pthread_mutex_unlock(&h->lock);
}
