/*
 * store/jsonl_append.c: appending lines to a file.
 *
 * Whole lines are written with one write to an append-mode descriptor, under the file's
 * lock. The lock keeps other grove writers out; agents do not lock, so nothing is taken
 * for granted:
 *
 *   - the file does not end in LF: the same write begins with one;
 *   - it grew since the caller looked: GROVE_ECONFLICT, the caller reads again;
 *   - it has lost its name (replaced, deleted): GROVE_ESTALE;
 *   - the write was short: our bytes are removed again, if they are still the
 *     last ones;
 *   - another writer got in between our check and our write and left half a
 *     line: that spoils what we wrote, so it is written again.
 *
 * Syncing is a second step, after the lock is released: the first thread syncs for all
 * that have written by then, and the others wait for it.
 */
#include "store/jsonl.h"

#include <errno.h>
#include <fcntl.h>

#define KEEP_BUFFER ((size_t)1 << 20)

/* Returns 1 if a file of this size ends in LF or is empty, 0 if not, or -errno. */
static int ends_in_lf(struct jsonl_log *log, uint64_t size)
{
	size_t got;
	char c;
	int err;

	if (!size || log->lf_at == size)
		return 1;
	err = grove__sys_pread(log->fd, &c, 1, size - 1, &got);
	if (err)
		return err;
	return got == 1 && c == '\n';
}

static int compose(struct jsonl_log *log, const struct grove_store_record *rec, size_t nr)
{
	size_t len = 1;
	int rc;

	for (size_t i = 0; i < nr; i++)
		len += rec[i].line.len + 1;
	grove__buf_clear(&log->out);
	rc = grove__buf_reserve(&log->out, len);
	/* room for the LF that may have to come first */
	rc = rc ? rc : grove__buf_add_char(&log->out, '\n');
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = grove__buf_add_slice(&log->out, rec[i].line);
		if (!rc)
			rc = grove__buf_add_char(&log->out, '\n');
	}
	return rc;
}

/*
 * A write was short, or failed after its first part: removes our bytes again, but only
 * while they are the last ones. What others wrote is not ours to touch.
 */
static int roll_back(struct jsonl_log *log, uint64_t start, uint64_t written, int err,
		     struct grove_detail *d)
{
	struct grove__sys_stat st;

	if (!written || (!grove__sys_fstat(log->fd, &st) && st.size == start + written &&
			 !grove__sys_truncate(log->fd, start)))
		return grove__fail_sys(d, err, log->path, "cannot append; nothing was stored");
	return grove__fail(d, GROVE_EIO, log->path,
			   "an append was cut short and could not be undone");
}

/*
 * Writes `len` bytes at the end. *start is where they are. A signal may make a write
 * short without harm; the rest is written as long as nobody else has written in
 * between.
 */
static int append_bytes(struct jsonl_log *log, const char *ptr, size_t len, uint64_t size,
			uint64_t *start, struct grove_detail *d)
{
	size_t done = 0;
	uint64_t end = size;

	*start = size;
	while (done < len) {
		ssize_t n = grove__sys_write(log->fd, ptr + done, len - done);
		int err = n > 0 ? 0 : n < 0 ? (int)n : -ENOSPC;

		if (err)
			return roll_back(log, *start, done, err, d);
		err = grove__sys_seek_cur(log->fd, &end);
		if (err)
			return grove__fail(d, GROVE_EIO, log->path,
					   "cannot tell where an append was written");
		if (!done)
			*start = end - (uint64_t)n;
		else if (end != *start + done + (uint64_t)n)
			return grove__fail(d, GROVE_EIO, log->path,
					   "another writer interrupted an append");
		done += (size_t)n;
	}
	return 0;
}

/* Begins an append at *st's size, unless somebody else appended or holds the lease. */
static int begin_append(struct jsonl_log *log, uint64_t expect, struct grove__sys_stat *st, struct grove_detail *d)
{
	int rc = grove__jsonl_glance(log, st, d);

	if (!rc)
		rc = grove__jsonl_may_write(log, d);
	if (rc)
		return rc;
	grove__jsonl_seen(log, st);
	return expect == GROVE_ANY_POS || expect == st->size
		       ? 0
		       : grove__fail(d, GROVE_ECONFLICT, log->path, "another writer appended first");
}

static int append_locked(struct jsonl_log *log, uint64_t expect, struct grove_store_appended *out,
			 struct grove_detail *d)
{
	struct grove__sys_stat st;
	uint64_t start = 0;
	int lf, rc = begin_append(log, expect, &st, d);

	if (rc)
		return rc;
	out->pos = out->tail = st.size;
	if (log->out.len == 1)
		return 0; /* nothing to append, not even the LF */
	lf = ends_in_lf(log, st.size);
	for (int tries = 0;; tries++) {
		if (lf < 0)
			return grove__fail_sys(d, lf, log->path, "cannot read");
		out->pad = !lf;
		rc = append_bytes(log, log->out.ptr + lf, log->out.len - (size_t)lf, st.size, &start, d);
		if (rc)
			return rc;
		out->pos = start + (uint64_t)out->pad;
		out->tail = start + log->out.len - (uint64_t)lf;
		log->size = log->lf_at = out->tail;
		if (start == st.size || out->pad)
			return 0;
		/* another writer was faster; did it finish its line? */
		log->lf_at = UINT64_MAX;
		lf = ends_in_lf(log, start);
		log->lf_at = out->tail;
		if (lf == 1)
			return 0;
		/*
		 * write it again, this time beginning with an LF in case that happens
		 * once more
		 */
		if (!lf)
			lf = !tries;
		st.size = out->tail;
	}
}

/* The bytes are in the file, and perhaps not on the disk: whatever the reason, the outcome is unknown. */
static int not_synced(const struct jsonl_log *log, int err, struct grove_detail *d)
{
	grove__fail_sys(d, err, log->path, "cannot sync");
	if (d)
		d->code = GROVE_EIO;
	return GROVE_EIO;
}

int grove__jsonl_sync(struct grove_store_log *l, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	uint64_t ticket = __atomic_load_n(&log->written, __ATOMIC_ACQUIRE);
	int rc = 0;

	pthread_mutex_lock(&log->sync_lock);
	while (!rc && log->synced < ticket) {
		if (log->sync_failed) {
			rc = grove__fail(d, GROVE_EIO, log->path,
					 "an earlier sync failed, so it is unknown what is on disk");
		} else if (log->syncing) {
			pthread_cond_wait(&log->synced_cond, &log->sync_lock);
		} else {
			uint64_t upto = __atomic_load_n(&log->written, __ATOMIC_ACQUIRE);
			bool unnamed = log->unnamed;
			int err;

			log->syncing = true;
			pthread_mutex_unlock(&log->sync_lock);
			err = grove__sys_datasync(log->fd);
			if (!err && unnamed)
				err = log->new_dirs ? grove__sys_sync_parents(log->path)
						    : grove__sys_sync_parent(log->path);
			pthread_mutex_lock(&log->sync_lock);
			log->syncing = false;
			if (err) {
				/* the system may have dropped the pages: never try again */
				log->sync_failed = true;
				rc = not_synced(log, err, d);
			} else {
				log->unnamed = false;
				log->synced = upto;
			}
			pthread_cond_broadcast(&log->synced_cond);
		}
	}
	pthread_mutex_unlock(&log->sync_lock);
	return rc;
}

/* Counts an append, for the syncs that are to cover it. */
static void wrote(struct jsonl_log *log)
{
	log->created = false;
	__atomic_add_fetch(&log->written, 1, __ATOMIC_RELEASE);
}

int grove__jsonl_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
			uint64_t expect, uint64_t base, enum grove_sync sync,
			struct grove_store_appended *out, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	int rc = grove__jsonl_begin(log, d);

	(void)base;
	if (rc)
		return rc;
	rc = compose(log, rec, nr) ? grove__fail_nomem(d) : append_locked(log, expect, out, d);
	grove__jsonl_unlock(log);
	/* a fork writes batch after batch, of that size and a line */
	if (log->out.cap > 2 * KEEP_BUFFER)
		grove__buf_release(&log->out);
	if (!rc)
		wrote(log);
	grove__jsonl_end(log);
	if (rc)
		return rc;
	if (sync == GROVE_SYNC_ALWAYS)
		return grove__jsonl_sync(l, d);
	if (sync == GROVE_SYNC_FLUSH)
		grove__sys_flush_hint(log->fd, out->pos, out->tail - out->pos);
	return 0;
}

/* Writes another piece of a line; *end is the end of what was written of it. */
static int put_piece(struct jsonl_log *log, const char *ptr, size_t len, uint64_t *end,
		     struct grove_detail *d)
{
	uint64_t at;
	int rc = append_bytes(log, ptr, len, *end, &at, d);

	if (rc)
		return rc;
	if (at != *end)
		return grove__fail(d, GROVE_EIO, log->path, "another writer interrupted an append");
	*end += len;
	return 0;
}

/* Removes the pieces from `start` to `end`, if they are the last of the file. */
static int take_back(struct jsonl_log *log, uint64_t start, uint64_t end, int rc, struct grove_detail *d)
{
	struct grove__sys_stat st;

	log->size = start;
	log->lf_at = UINT64_MAX;
	if (end == start || rc == GROVE_EIO ||
	    (!grove__sys_fstat(log->fd, &st) && st.size == end && !grove__sys_truncate(log->fd, start)))
		return rc;
	return grove__fail(d, GROVE_EIO, log->path, "an append was cut short and could not be undone");
}

static int append_long_locked(struct jsonl_log *log, struct grove_store_log *from, uint64_t pos,
			      uint64_t len, uint64_t expect, struct grove_store_appended *out,
			      struct grove_detail *d)
{
	struct grove__sys_stat st;
	uint64_t end;
	int lf, rc = begin_append(log, expect, &st, d);

	if (rc)
		return rc;
	lf = ends_in_lf(log, st.size);
	if (lf < 0)
		return grove__fail_sys(d, lf, log->path, "cannot read");
	end = st.size;
	out->pad = !lf;
	if (out->pad)
		rc = put_piece(log, "\n", 1, &end, d);
	out->pos = end;
	for (uint64_t off = 0; off < len && !rc;) {
		size_t n = len - off < KEEP_BUFFER ? (size_t)(len - off) : KEEP_BUFFER;

		rc = grove__log_fetch(from, pos, off, log->out.ptr, n, d);
		if (!rc)
			rc = put_piece(log, log->out.ptr, n, &end, d);
		off += n;
	}
	if (!rc)
		rc = put_piece(log, "\n", 1, &end, d);
	if (rc)
		return take_back(log, st.size, end, rc, d);
	out->tail = log->size = log->lf_at = end;
	return 0;
}

int grove__store_jsonl_append_long(struct grove_store_log *log, struct grove_store_log *from,
				   uint64_t pos, uint64_t len, uint64_t expect,
				   struct grove_store_appended *out, struct grove_detail *d)
{
	struct jsonl_log *l =
		grove__jsonl_log((struct grove_store_log *)(uintptr_t)grove__store_traced(log));
	int rc = grove__jsonl_begin(l, d);

	if (rc)
		return rc;
	rc = grove__buf_reserve(&l->out, KEEP_BUFFER)
		     ? grove__fail_nomem(d)
		     : append_long_locked(l, from, pos, len, expect, out, d);
	if (!rc)
		wrote(l);
	grove__jsonl_end(l);
	return rc;
}

int grove__jsonl_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove__sys_stat st, mine;
	struct grove_buf old = GROVE_BUF_INIT;
	size_t got = 0, before;
	int fd = -1, err = 0, rc = grove__jsonl_begin(log, d);

	if (rc)
		return rc;
	if (grove__buf_reserve(&old, line.len + 2)) {
		rc = grove__fail_nomem(d);
		goto out;
	}
	/* an append-mode descriptor cannot write in the middle, so a second one does */
	err = grove__sys_open(log->path, O_RDWR, 0, &fd);
	if (!err)
		err = grove__sys_fstat(fd, &st);
	if (!err)
		err = grove__sys_fstat(log->fd, &mine);
	if (!err && (st.ino != mine.ino || st.dev != mine.dev))
		err = -ESTALE;
	if (!err && pos >= st.size)
		err = -ESTALE;
	if (!err)
		rc = grove__jsonl_may_write(log, d);
	/* including the LFs around it: a line that begins or ends elsewhere is another line */
	before = pos ? 1 : 0;
	if (!err && !rc)
		err = grove__sys_pread(fd, old.ptr, before + line.len + 1, pos - before, &got);
	if (!err && !rc &&
	    ((before && old.ptr[0] != '\n') || got < before + line.len ||
	     memchr(old.ptr + before, '\n', line.len) ||
	     (got > before + line.len && old.ptr[before + line.len] != '\n')))
		rc = grove__fail(d, GROVE_EINVAL, log->path, "the new line must have the length of the old one");
	if (!err && !rc && line.len)
		err = grove__sys_pwrite_all(fd, line.ptr, line.len, pos);
	if (err)
		rc = grove__fail_sys(d, err, log->path, "cannot replace a line");
	else if (!rc && sync == GROVE_SYNC_ALWAYS && (err = grove__sys_datasync(fd)))
		rc = not_synced(log, err, d);
out:
	grove__sys_close(fd);
	grove__jsonl_end(log);
	grove__buf_release(&old);
	return rc;
}

/* With the lock held. */
static int cut_locked(struct jsonl_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		      struct grove_detail *d)
{
	struct grove__sys_stat st;
	size_t got = 0;
	char before = '\n';
	int err, rc = grove__jsonl_glance(log, &st, d);

	if (!rc)
		rc = grove__jsonl_may_write(log, d);
	if (rc)
		return rc;
	if (expect != st.size)
		return grove__fail(d, GROVE_ECONFLICT, log->path, "another writer appended first");
	err = pos ? grove__sys_pread(log->fd, &before, 1, pos - 1, &got) : 0;
	if (err)
		return grove__fail_sys(d, err, log->path, "cannot read");
	if (pos > st.size || before != '\n')
		return grove__fail(d, GROVE_EINVAL, log->path, "no line begins there");
	err = grove__sys_truncate(log->fd, pos);
	if (err)
		return grove__fail_sys(d, err, log->path, "cannot truncate the file");
	log->size = pos;
	log->lf_at = UINT64_MAX;
	err = sync == GROVE_SYNC_ALWAYS ? grove__sys_datasync(log->fd) : 0;
	return err ? not_synced(log, err, d) : 0;
}

int grove__jsonl_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	int rc = grove__jsonl_begin(log, d);

	if (rc)
		return rc;
	rc = cut_locked(log, pos, expect, sync, d);
	grove__jsonl_end(log);
	return rc;
}
