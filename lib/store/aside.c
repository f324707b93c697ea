/*
 * store/aside.c: sessions that are being made.
 *
 * A command that makes a session writes it under another name, with all that belongs to it,
 * and gives it its own when it is whole. In files that name is next to it (jsonl_aside.c);
 * in other stores it is in a project of its own, which no list shows:
 *
 *	project   .grove
 *	session   .NAME.HEX.tmp
 *
 * A process that is killed leaves it behind. The next one that makes a session, or that
 * removes or rewrites this one, and `check --fix`, remove it.
 */
#include "store/jsonl.h"
#include "sys/temp.h"

#include <stdlib.h>

#define PROJECT ".grove"

bool grove__aside_hidden(const struct grove_key *key)
{
	return !strcmp(key->project, PROJECT);
}

/* ------------------------------------------------------ what was left behind */

/* The keys are copied, since they are removed one by one. */
struct left {
	const char *of;
	struct grove_buf names;
};

static int collect(void *payload, const struct grove_key *key)
{
	struct left *l = payload;

	return grove__sys_temp_for(key->session, GROVE__TEMP_TAIL, l->of) &&
	       grove__buf_add(&l->names, key->session, strlen(key->session) + 1) ? GROVE_ENOMEM : 0;
}

static bool is_left(struct grove_store *st, const struct grove_key *key)
{
	struct grove_store_log_stat stat;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, st, key, GROVE_STORE_READ, NULL);

	if (rc)
		return false;
	rc = grove__log_stat(log, &stat, NULL);
	grove__log_close(log);
	return !rc && grove__sys_temp_gone(key->session, GROVE__TEMP_TAIL, stat.mtime_ms);
}

int grove__store_tidy(struct grove_store *st, const struct grove_key *near, bool clear, grove__left_fn *fn,
		      void *payload, struct grove_detail *d)
{
	struct left l = { .of = near && *near->session ? near->session : NULL };
	int rc;

	if (grove__store_dir(st->url)) {
		rc = grove__jsonl_tidy(grove__store_dir(st->url), near ? near->project : NULL, l.of, clear, fn, payload);
		return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
	}
	rc = st->ops->list(st, PROJECT, 0, collect, &l, d);
	for (const char *name = l.names.ptr; !rc && name && name < l.names.ptr + l.names.len; name += strlen(name) + 1) {
		const struct grove_key key = { PROJECT, name, "" };

		if (!is_left(st, &key))
			continue;
		rc = fn ? fn(payload, name) : 0;
		if (!rc && clear && st->ops->remove)
			rc = st->ops->remove(st, &key, d);
		/* it is to stay, or somebody else was faster */
		rc = rc == 1 || rc == GROVE_ENOTFOUND ? 0 : rc;
	}
	grove__buf_release(&l.names);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
}

/* ------------------------------------------------------------ one being made */

static int any(void *payload, const char *name, uint64_t size)
{
	(void)payload;
	(void)name;
	(void)size;
	return 1;
}

/* An empty session without anything: all that earlier versions may have left. */
bool grove__aside_nothing(struct grove_store *st, const struct grove_key *key)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_store_log_stat stat;
	struct grove_store_log *log;
	bool nothing;

	if (grove__log_open(&log, st, key, GROVE_STORE_READ, NULL))
		return false;
	nothing = !grove__log_stat(log, &stat, NULL) && !stat.tail &&
		  !grove__store_attach_list(st, key, any, NULL, NULL) &&
		  !grove__store_describe(st, key, &path) &&
		  (!path.len || !grove__sys_open_for_writing(path.ptr, -1));
	grove__log_close(log);
	grove__buf_release(&path);
	return nothing;
}

/* Returns false if the name is taken. */
static bool is_free(struct grove_store *st, const struct grove_key *key, bool over)
{
	struct grove_store_log *log;
	int rc = grove__log_open(&log, st, key, GROVE_STORE_READ, NULL);

	if (rc)
		return rc == GROVE_ENOTFOUND;
	grove__log_close(log);
	return over && grove__aside_nothing(st, key) && !st->ops->remove(st, key, NULL);
}

int grove__aside_open(struct grove__aside *a, struct grove_store *st, const struct grove_key *to, bool over,
		      struct grove_detail *d)
{
	const struct grove_key project = { to->project, "", "" };
	int rc;

	*a = (struct grove__aside){ .st = st, .to = *to, .key = *to };
	/* the store itself says what it has there; without these two it can only write in place */
	if (st->ops->rename && st->ops->remove && is_free(st, to, over)) {
		/* what cannot be tidied is no reason to fail */
		grove__store_tidy(st, &project, true, NULL, NULL, NULL);
		if (grove__sys_temp_name(to->session, &a->session))
			return grove__fail_nomem(d);
		a->key = (struct grove_key){ grove__store_dir(st->url) ? to->project : PROJECT, a->session.ptr, "" };
	}
	rc = grove__log_open(&a->log, st, &a->key, GROVE_STORE_CREATE, a->session.len ? NULL : d);
	/* nothing may be written there, or the name is too long: the store says it of the real one */
	if (rc && a->session.len) {
		grove__buf_clear(&a->session);
		a->key = *to;
		rc = grove__log_open(&a->log, st, to, GROVE_STORE_CREATE, d);
	}
	a->made = !rc;
	return rc;
}

int grove__aside_name(struct grove__aside *a, struct grove_detail *d)
{
	int rc = grove__log_sync(a->log, d);

	if (rc || !a->session.len)
		return rc;
	rc = grove__log_stat(a->log, &a->named, d);
	if (rc)
		return rc;
	rc = grove__store_rename(a->st, &a->key, &a->to, d);
	if (rc)
		return rc;
	grove__buf_clear(&a->session);
	a->key = a->to;
	grove__log_close(a->log);
	a->log = NULL;
	return grove__log_open(&a->log, a->st, &a->to, GROVE_STORE_WRITE, d);
}

/* Is what stands under the name the one that was being named, and not another's? */
static bool is_ours(const struct grove__aside *a)
{
	struct grove_store_log_stat st;
	struct grove_store_log *log;
	bool ours;

	if (grove__log_open(&log, a->st, &a->to, GROVE_STORE_READ, NULL))
		return false;
	ours = !grove__log_stat(log, &st, NULL) && st.tail && st.base == a->named.base && st.tail == a->named.tail &&
	       st.bytes == a->named.bytes;
	grove__log_close(log);
	return ours;
}

void grove__aside_end(struct grove__aside *a, bool keep)
{
	if (!keep)
		grove__log_close(a->log);
	/* a naming that failed may have happened all the same */
	if (a->made && !keep && grove__store_remove(a->st, &a->key, NULL) == GROVE_ENOTFOUND && a->session.len &&
	    is_ours(a))
		grove__store_remove(a->st, &a->to, NULL);
	a->log = NULL;
	grove__buf_release(&a->session);
}
