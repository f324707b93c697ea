/*
 * store/jsonl_rewrite.c: replaces a file by a new one.
 *
 * The new lines go to a temporary file in the same directory, which is synced and
 * renamed over the old one, so a reader sees one or the other. But after the rename, a
 * program that still has the old file open appends to a file without a name. So before
 * it we check whether anybody has the file open for writing, and refuse if so; and
 * after it we check the old file once more, and carry over what was appended at the
 * last moment.
 *
 * Other grove writers wait for the lock on the old file, find that it has lost its
 * name, and switch to the new one.
 */
#include "store/jsonl.h"
#include "sys/clock.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#define CHUNK ((size_t)1 << 20)
#define SHORT_LINE 32         /* bytes: most lines are longer */
#define PATIENCE_MS 1000
#define TICK_MS 10            /* the clock of file systems is no coarser */

static int fill(int fd, grove_line_fn *next, void *payload, const char *path, struct grove_detail *d)
{
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_store_record rec;
	int rc, err = 0;

	while (!(rc = next(payload, &rec))) {
		if (grove__buf_add_slice(&out, rec.line) || grove__buf_add_char(&out, '\n')) {
			rc = grove__fail_nomem(d);
			break;
		}
		if (out.len < CHUNK)
			continue;
		err = grove__sys_write_all(fd, out.ptr, out.len);
		if (err)
			break;
		grove__buf_clear(&out);
	}
	if (rc == 1 && !err)
		err = grove__sys_write_all(fd, out.ptr, out.len);
	grove__buf_release(&out);
	if (err)
		return grove__fail_sys(d, err, path, "cannot write");
	return rc == 1 ? 0 : rc;
}

static int changed(struct jsonl_log *log, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ECONFLICT, log->path, "changed while it was being rewritten (try again)");
}

/* Checks that the old file is still what the caller read, and nobody else uses it. */
static int may_replace(struct jsonl_log *log, uint64_t expect, unsigned flags,
		       struct grove__sys_stat *st, struct grove_detail *d)
{
	int rc = grove__jsonl_look(log, st, d);

	/* a whole file is worth a check of its own */
	log->lease_looked_ns = 0;
	if (!rc)
		rc = grove__jsonl_may_write(log, d);
	if (rc)
		return rc;
	if (expect != GROVE_ANY_POS && st->size != expect)
		return changed(log, d);
	if (flags & GROVE_STORE_FORCE)
		return 0;
	rc = grove__sys_open_for_writing(log->path, log->writable ? log->fd : -1);
	if (rc > 0)
		return grove__fail(d, GROVE_ECONFLICT, log->path,
				   rc == 1 ? "another program has the file open for writing"
					   : "this program has the file open for writing elsewhere (close it there first)");
	return 0;
}

/*
 * The last check before the rename, because finding out who has the old file open takes
 * a while. An agent that changes a line in place does not change the size, but the
 * time.
 */
static int same_still(struct jsonl_log *log, const struct grove__sys_stat *before,
		      struct grove__sys_stat *st, struct grove_detail *d)
{
	int rc = grove__jsonl_look(log, st, d);

	if (!rc && (st->size != before->size || st->mtime_ns != before->mtime_ns ||
		    st->ctime_ns != before->ctime_ns))
		rc = changed(log, d);
	return rc;
}

/*
 * The rev of the new file must be higher than that of the old one, for watchers that
 * resume later. If the old file is so young that it might not be, we wait. We do not
 * know how many lines it has, but assume that they are not shorter than SHORT_LINE.
 */
static int let_time_pass(struct jsonl_log *log)
{
	struct grove__sys_stat st;
	uint64_t base;
	int64_t lacks = 0;
	bool timed;
	int err = grove__jsonl_base_of(log->fd, &st, &base, &timed);

	if (!err && timed)
		lacks = (int64_t)(base + st.size / SHORT_LINE) / 1000 + TICK_MS - grove__sys_now_ms();
	/* do not wait for a clock that was set back */
	if (lacks > 0 && lacks <= PATIENCE_MS)
		grove__sys_wait_fd(-1, lacks + 1);
	return err;
}

int grove__jsonl_carry_over(int from, int to, uint64_t since)
{
	struct grove__sys_stat st;
	char buf[65536];
	bool some = false;
	int err = grove__sys_fstat(from, &st);

	while (!err && since < st.size) {
		size_t want = st.size - since < sizeof(buf) ? (size_t)(st.size - since) : sizeof(buf);
		size_t got;

		err = grove__sys_pread(from, buf, want, since, &got);
		if (!err && !got)
			break;
		if (!err)
			err = grove__sys_write_all(to, buf, got);
		since += got;
		some = true;
	}
	return err || !some ? err : grove__sys_sync(to);
}

/*
 * The new file has the name, so it is the session from now on, whatever else happens.
 * Everything is tried, and the first failure is reported.
 */
static int settle(struct jsonl_log *log, const char *target, int fd, uint64_t old_size,
		  struct grove_detail *d)
{
	struct grove__sys_stat st;
	int named = grove__sys_sync_parent(target);
	/* as late as possible, to catch more of what is still written to the old file */
	int carried = grove__jsonl_carry_over(log->fd, fd, old_size);
	int seen = grove__sys_fstat(fd, &st);

	if (!seen) {
		log->size = UINT64_MAX; /* a new generation, whatever its size */
		grove__jsonl_seen(log, &st);
	}
	log->created = false;
	if (!named) {
		pthread_mutex_lock(&log->sync_lock);
		log->unnamed = false;
		pthread_mutex_unlock(&log->sync_lock);
	}
	if (!carried && !named && !seen)
		return 0;
	grove__fail_sys(d, carried ? carried : named ? named : seen, target,
			"the new file is in place, but");
	if (d)
		d->code = GROVE_EIO;
	return GROVE_EIO;
}

int grove__jsonl_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
			 uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove_buf temp = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove__sys_stat st, before;
	int fd = -1, again = -1, err, rc = grove__jsonl_begin(log, d);

	if (rc)
		return rc;
	rc = may_replace(log, expect, flags, &before, d);
	if (rc)
		goto out;
	/* a link stays a link: its target is replaced */
	err = grove__sys_realpath(log->path, &target);
	if (!err)
		err = let_time_pass(log);
	if (!err)
		grove__jsonl_tidy_beside(target.ptr);
	if (!err)
		err = grove__sys_temp_open(target.ptr, O_RDWR | O_APPEND, &temp, &fd);
	if (err) {
		rc = grove__fail_sys(d, err, log->path, "cannot create a temporary file next to it");
		goto out;
	}
	rc = fill(fd, next, payload, temp.ptr, d);
	if (!rc) {
		err = grove__sys_owner(fd, before.mode, before.uid, before.gid);
		if (!err)
			err = grove__sys_sync(fd);
		if (err)
			rc = grove__fail_sys(d, err, temp.ptr, "cannot finish");
	}
	if (!rc)
		rc = may_replace(log, before.size, flags, &st, d);
	if (!rc)
		rc = same_still(log, &before, &st, d);
	if (!rc) {
		err = grove__sys_rename(temp.ptr, target.ptr);
		if (err)
			rc = grove__fail_sys(d, err, target.ptr, "cannot put the new file in place");
	}
	if (rc) {
		grove__sys_unlink(temp.ptr);
		goto out;
	}
	rc = settle(log, target.ptr, fd, st.size, d);
	/* the lock went with the old file; this handle switches to the new one */
	again = fd;
	fd = -1;
out:
	grove__jsonl_unlock(log);
	if (again >= 0 && grove__sys_replace_fd(log->fd, again) && !rc)
		rc = grove__fail(d, GROVE_EIO, log->path, "cannot switch to the new file");
	grove__sys_close(fd);
	grove__jsonl_end(log);
	grove__buf_release(&temp);
	grove__buf_release(&target);
	return rc;
}
