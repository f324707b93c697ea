/*
 * store/jsonl_meta.c: the values of a session in a file.
 *
 * A file of lines can represent one value: that its last line has no newline. The
 * values of hosts ("host.agentId") are files in the directory that belongs to the
 * session:
 *
 *	NAME.jsonl
 *	NAME/.grove/host.agentId
 *	NAME/subagents/agent-1.jsonl
 *	NAME/.grove/subagents/agent-1.jsonl/host.x
 *
 * They are moved and deleted with that directory, and are not attachments. The key of
 * a log whose name does not contain it (GROVE__META_KEY) is stored there too.
 */
#include "store/jsonl.h"

#include <errno.h>

static int last_byte(struct jsonl_log *log, uint64_t size, char *out, struct grove_detail *d)
{
	size_t got = 0;
	int err = grove__sys_pread(log->fd, out, 1, size - 1, &got);

	if (err || !got)
		return grove__fail_sys(d, err ? err : -EIO, log->path, "cannot read");
	return 0;
}

int grove__jsonl_values_dir(const struct jsonl_store *st, const struct grove_key *key,
			    struct grove_buf *out)
{
	size_t stem = grove__jsonl_stem(key->session);

	if (!stem ||
	    (*key->subpath && !grove__jsonl_has_suffix(key->subpath)))
		return 0;
	/* no directory of logs ends in .jsonl, so this one is that log's alone */
	return grove__buf_addf(out, "%s/%s%s%.*s/" GROVE__JSONL_VALUES "%s%s", st->root, key->project,
			       *key->project ? "/" : "", (int)stem, key->session,
			       *key->subpath ? "/" : "", key->subpath);
}

/* Returns true if a file has a place for this value. */
static bool has_place(const char *name)
{
	return !strcmp(name, GROVE__META_KEY) ||
	       (!strncmp(name, GROVE__META_HOST, sizeof(GROVE__META_HOST) - 1) && !strchr(name, '/'));
}

/* Finds the file of a value. GROVE_ENOTSUP if there is no place for it. */
static int value_path(struct jsonl_log *log, const char *name, struct grove_buf *out,
		      struct grove_detail *d)
{
	if (!log->values || !has_place(name))
		return grove__fail(d, GROVE_ENOTSUP, log->path, "a file cannot store a value");
	if (grove__buf_addf(out, "%s/%s", log->values, name))
		return grove__fail_nomem(d);
	return grove__jsonl_inside(grove__jsonl_store(log->base.store), out->ptr, d);
}

static int get_value(struct jsonl_log *log, const char *name, struct grove_buf *out,
		     struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = value_path(log, name, &path, d);

	if (!rc)
		rc = grove__jsonl_get_small(path.ptr, out, d);
	grove__buf_release(&path);
	return rc == GROVE_ENOTSUP ? GROVE_ENOTFOUND : rc;
}

/* With the locks held. */
static int put_value(struct jsonl_log *log, const char *name, struct grove_slice value,
		     struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int rc = value_path(log, name, &path, d);

	if (!rc)
		rc = grove__jsonl_look(log, &st, d);
	if (!rc)
		rc = grove__jsonl_may_write(log, d);
	if (!rc)
		rc = grove__jsonl_put_small(path.ptr, value, d);
	grove__buf_release(&path);
	return rc;
}

int grove__jsonl_meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove__sys_stat st;
	char last = '\n';
	int rc = 0;

	if (!strcmp(name, GROVE__META_UNFINISHED)) {
		pthread_mutex_lock(&log->lock);
		rc = grove__jsonl_look(log, &st, d);
		if (!rc && st.size)
			rc = last_byte(log, st.size, &last, d);
		pthread_mutex_unlock(&log->lock);
		if (!rc && last != '\n')
			return grove__buf_add_char(out, '1') ? grove__fail_nomem(d) : 0;
	} else if (has_place(name)) {
		return get_value(log, name, out, d);
	}
	return rc ? rc : grove__fail(d, GROVE_ENOTFOUND, log->path, "no value named %.100s", name);
}

/* With the locks held. */
static int end_line(struct jsonl_log *log, bool open, struct grove_detail *d)
{
	struct grove__sys_stat st;
	char last = '\n';
	int err = 0, rc = grove__jsonl_look(log, &st, d);

	if (!rc)
		rc = grove__jsonl_may_write(log, d);
	/* a caller that sets this wants the file to stay, even if it is empty */
	if (!rc)
		log->created = false;
	if (!rc && st.size)
		rc = last_byte(log, st.size, &last, d);
	if (rc || !st.size || open == (last != '\n'))
		return rc;
	if (open)
		err = grove__sys_truncate(log->fd, st.size - 1);
	else
		err = grove__sys_write_all(log->fd, "\n", 1);
	if (!err)
		err = grove__sys_datasync(log->fd);
	log->size = open ? st.size - 1 : st.size + 1;
	log->lf_at = UINT64_MAX;
	return err ? grove__fail_sys(d, err, log->path, "cannot end the last line") : 0;
}

/* No value of a file depends on where it ends: `expect` and `base` are not compared. */
int grove__jsonl_meta_put(struct grove_store_log *l, const char *name, struct grove_slice value,
			  uint64_t expect, uint64_t base, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	int rc = grove__jsonl_begin(log, d);

	(void)expect;
	(void)base;
	if (rc)
		return rc;
	if (!strcmp(name, GROVE__META_UNFINISHED))
		rc = end_line(log, value.len > 0, d);
	else
		rc = put_value(log, name, value, d);
	grove__jsonl_end(log);
	return rc;
}
