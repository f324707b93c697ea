/*
 * store/jsonl_lease.c: leases on files.
 *
 * A lease is in a file next to the session, `.NAME.lease`, as one line:
 *
 *	{"owner":"host 42","number":3,"until":1763200000000}
 *
 * It is changed under the lock of the session's file and by rename, so nobody ever
 * finds half of it. It stays when the lease is released, because the numbers must
 * continue. If it is unreadable, which a power loss may cause, nobody holds the lease,
 * and the next number is the time in microseconds, which counting never reaches.
 *
 * Most sessions have no lease, and checking for one takes a fifth of an append. So a
 * handle that found none relies on that for a hundredth of a second. The taker of the
 * very first lease of a session announces it and waits for longer than that:
 *
 *	taker    lock, number 0, unlock  ··· wait ···  lock, number 1, unlock
 *	writers  may still rely on there being none    all check before every write
 *
 * Number 0 stops nobody. A higher one means that the wait is over. A writer reads its
 * clock and writes under one lock, so if it is delayed between the two, it delays the
 * taker too.
 */
#include "store/jsonl.h"

#include "sys/clock.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define LEASE ".lease"
#define LEASE_BYTES 1024
#define RELY_NS ((int64_t)10000000)
#define ANNOUNCE_MS 40               /* longer than that, by a clock that ticks every 10 ms */
#define UNTIL_MAX (((int64_t)1 << 53) - 1)

/* ------------------------------------------------------------------ the line */

static int compose(const struct grove_lease *x, struct grove_buf *out)
{
	int rc = grove__buf_add_str(out, "{\"owner\":\"");

	for (const char *p = x->owner; *p && !rc; p++) {
		if ((unsigned char)*p < ' ')
			rc = grove__buf_addf(out, "\\u%04x", (unsigned)*p);
		else if (*p == '"' || *p == '\\')
			rc = grove__buf_addf(out, "\\%c", *p);
		else
			rc = grove__buf_add_char(out, *p);
	}
	return rc ? rc : grove__buf_addf(out, "\",\"number\":%llu,\"until\":%lld}\n",
					 (unsigned long long)x->number, (long long)x->until);
}

static bool skip(const char **p, const char *words)
{
	size_t n = strlen(words);

	if (strncmp(*p, words, n))
		return false;
	*p += n;
	return true;
}

static bool take_number(const char **p, uint64_t *out)
{
	const char *start = *p;

	for (*out = 0; **p >= '0' && **p <= '9' && *p - start < 18; ++*p)
		*out = *out * 10 + (uint64_t)(**p - '0');
	return *p > start;
}

static bool take_owner(const char **p, char *owner)
{
	size_t n = 0;

	for (; **p && **p != '"' && n < GROVE_LEASE_OWNER_MAX; n++) {
		char *end, hex[5] = "";

		if (skip(p, "\\u")) {
			memcpy(hex, *p, strnlen(*p, 4));
			owner[n] = (char)strtoul(hex, &end, 16);
			if (end != hex + 4 || !owner[n])
				return false;
			*p += 4;
			continue;
		}
		if (**p == '\\')
			++*p;
		owner[n] = *(*p)++;
	}
	owner[n] = '\0';
	return **p == '"';
}

/* Parses exactly what compose() writes, and nothing else. */
static bool parse(const char *p, const char *end, struct grove_lease *out)
{
	uint64_t until;
	bool ok = skip(&p, "{\"owner\":\"") && take_owner(&p, out->owner) &&
		  skip(&p, "\",\"number\":") && take_number(&p, &out->number) &&
		  skip(&p, ",\"until\":") && take_number(&p, &until) && skip(&p, "}\n") && p == end;

	out->until = ok ? (int64_t)until : 0;
	return ok;
}

/* ------------------------------------------------------------------ the file */

bool grove__jsonl_is_lease(const char *name)
{
	size_t n = strlen(name), k = strlen(".jsonl" LEASE);

	return name[0] == '.' && n > k && !strcmp(name + n - k, ".jsonl" LEASE);
}

static int name_beside(const char *path, struct grove_buf *out)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return grove__buf_addf(out, "%.*s.%s" LEASE, (int)(name - path), path, name) ? -ENOMEM : 0;
}

/* A link and its target are one session: the lease belongs to the target. */
static int find_path(struct jsonl_log *log)
{
	struct grove_buf target = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int err = 0;

	if (log->lease_path)
		return 0;
	err = grove__sys_lstat(log->path, &st);
	if (!err && st.type == SYS_LINK)
		err = grove__sys_realpath(log->path, &target);
	if (!err)
		err = name_beside(target.len ? target.ptr : log->path, &path);
	grove__buf_release(&target);
	if (err)
		grove__buf_release(&path);
	else
		log->lease_path = path.ptr;
	return err;
}

/* Returns -ENOENT if there is none. */
static int read_lease(const char *path, struct grove_lease *out)
{
	char buf[LEASE_BYTES + 1];
	size_t got = 0;
	int fd = -1, err = grove__sys_open(path, O_RDONLY | O_NOFOLLOW, 0, &fd);

	memset(out, 0, sizeof(*out));
	/* a name that is too long for a lease file cannot have one */
	if (err == -ENAMETOOLONG)
		return -ENOENT;
	if (err && err != -ELOOP)
		return err;
	err = err ? 0 : grove__sys_pread(fd, buf, LEASE_BYTES, 0, &got);
	grove__sys_close(fd);
	if (err && err != -EISDIR)
		return err;
	buf[got] = '\0';
	if (!parse(buf, buf + got, out))
		*out = (struct grove_lease){ .number = (uint64_t)grove__sys_now_ms() * 1000 };
	return 0;
}

/*
 * `st` is the session's: everyone who may write to it must be able to read and replace
 * this file.
 */
static int write_lease(const char *path, const struct grove_lease *x, bool synced,
		       const struct grove__sys_stat *st)
{
	struct grove_buf temp = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	int fd = -1, err = compose(x, &line) ? -ENOMEM : 0;

	if (!err)
		err = grove__sys_temp_open(path, O_WRONLY, &temp, &fd);
	if (!err) {
		err = grove__sys_write_all(fd, line.ptr, line.len);
		if (!err)
			err = grove__sys_owner(fd, 0600 | (st->mode & 022) * 3, st->uid, st->gid);
		if (!err && synced)
			err = grove__sys_sync(fd);
		if (!err)
			err = grove__sys_rename(temp.ptr, path);
		if (err)
			grove__sys_unlink(temp.ptr);
		grove__sys_close(fd);
	}
	grove__buf_release(&temp);
	grove__buf_release(&line);
	return err;
}

void grove__jsonl_lease_remove(const char *path)
{
	struct grove_buf lease = GROVE_BUF_INIT;

	if (!name_beside(path, &lease))
		grove__sys_unlink(lease.ptr);
	grove__buf_release(&lease);
}

/*
 * Opens the file that has this name now, and locks it, if the file system has locks.
 * While we waited for the lock, somebody may have replaced the file.
 */
static int lock_file(const char *path, int *fd, struct grove__sys_stat *st)
{
	struct grove__sys_stat named;
	int err;

	for (;;) {
		err = grove__sys_open(path, O_RDWR, 0, fd);
		if (err)
			return err;
		/* left open for the caller, who reports the holder */
		err = grove__sys_lock(*fd);
		if (err == -ETIMEDOUT)
			return err;
		err = grove__sys_fstat(*fd, st);
		if (!err)
			err = grove__sys_stat(path, &named);
		if (!err && named.ino == st->ino && named.dev == st->dev)
			return 0;
		grove__sys_close(*fd);
		*fd = -1;
		if (err)
			return err;
	}
}

/* ---------------------------------------------------------------- for writers */

static bool has(const struct jsonl_log *log, const struct grove_lease *held)
{
	/* a session that was created again starts counting again */
	return log->lease.number && held->number == log->lease.number &&
	       !strcmp(held->owner, log->lease.owner);
}

static struct grove__lease_claim claim_of(const struct jsonl_log *log, const struct grove_lease *held)
{
	return (struct grove__lease_claim){ log->lease.number, has(log, held), grove__sys_now_ms() };
}

int grove__jsonl_may_write(struct jsonl_log *log, struct grove_detail *d)
{
	struct grove__sys_stat st;
	struct grove__lease_claim by;
	struct grove_lease held;
	int64_t now = grove__sys_ticks_coarse_ns();
	int err, rc;

	if (!log->leased && !log->lease.number && now - log->lease_looked_ns <= RELY_NS)
		return 0;
	err = find_path(log);
	if (!err)
		err = read_lease(log->lease_path, &held);
	if (err && err != -ENOENT)
		return grove__fail_sys(d, err, log->lease_path ? log->lease_path : log->path,
				       "cannot determine who holds the lease");
	log->leased = !err;
	log->lease_looked_ns = now;
	by = claim_of(log, &held);
	rc = grove__lease_may_write(&held, &by, log->path, d);
	/* perhaps it was renamed together with the session */
	return !rc && err ? grove__jsonl_look(log, &st, d) : rc;
}

/* ----------------------------------------------------------------- for takers */

enum { STEP_DONE, STEP_WAIT };

/*
 * One step under the locks: takes the lease (owner), renews it (NULL) or, for no time,
 * releases it. STEP_WAIT: the caller waits and tries again.
 */
static int step(struct jsonl_log *log, const char *owner, int64_t ms, bool waited,
		struct grove_lease *held, const struct grove__sys_stat *st, struct grove_detail *d)
{
	int err = read_lease(log->lease_path, held), none = err == -ENOENT, rc;
	struct grove_lease next = { .number = held->number };
	struct grove__lease_claim by = claim_of(log, held);

	if (err && !none)
		return grove__fail_sys(d, err, log->lease_path, "cannot determine who holds the lease");
	if (!ms && !by.holds) {
		log->lease.number = 0;
		return STEP_DONE;
	}
	rc = ms ? grove__lease_may_take(held, &by, owner, log->path, d) : 0;
	if (rc)
		return rc;
	if (none || (!held->number && !waited)) {
		err = none ? write_lease(log->lease_path, &next, true, st) : 0;
		return err ? grove__fail_sys(d, err, log->lease_path, "cannot lease") : STEP_WAIT;
	}
	if (ms) {
		if (!owner)
			owner = held->owner;
		memcpy(next.owner, owner, strlen(owner) + 1);
		next.until = ms < UNTIL_MAX - by.now ? by.now + ms : UNTIL_MAX;
	}
	if (!by.holds && ms)
		next.number = (next.number > log->lease.number ? next.number : log->lease.number) + 1;
	err = write_lease(log->lease_path, &next, !by.holds, st);
	if (err)
		return grove__fail_sys(d, err, log->lease_path, "cannot lease");
	*held = next;
	log->lease = next;
	if (!ms)
		log->lease.number = 0;
	return STEP_DONE;
}

int grove__jsonl_lease_get(struct grove_store_log *l, struct grove_lease *out,
			   struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	int err;

	pthread_mutex_lock(&log->lock);
	err = find_path(log);
	if (!err)
		err = read_lease(log->lease_path, out);
	pthread_mutex_unlock(&log->lock);
	return err && err != -ENOENT ? grove__fail_sys(d, err, log->path, "cannot determine who holds the lease")
				     : 0;
}

int grove__jsonl_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		       struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove__sys_stat st;
	bool waited = false;
	int fd = -1, err, rc;

	if (!log->writable)
		return grove__fail(d, GROVE_EACCESS, log->path, "opened read-only");
	rc = grove__jsonl_inside(grove__jsonl_store(l->store), log->path, d);
	if (rc)
		return rc;
	for (;; waited = true) {
		pthread_mutex_lock(&log->lock);
		/*
		 * With a descriptor of its own: ours may be of a file that was
		 * replaced, and only a caller that reads the log again may switch to
		 * the new one.
		 */
		err = lock_file(log->path, &fd, &st);
		if (!err)
			err = find_path(log);
		rc = err == -ETIMEDOUT ? grove__sys_lock_fail(fd, log->path, d)
			 : err ? grove__fail_sys(d, err, log->path, "cannot lease")
			 : step(log, owner, ms, waited, out, &st, d);
		grove__sys_close(fd);
		pthread_mutex_unlock(&log->lock);
		if (rc != STEP_WAIT)
			return rc;
		grove__sys_wait_fd(-1, ANNOUNCE_MS);
	}
}

/* ----------------------------------------------------------------- for movers */

/* The lease is there before the session, so nobody can find the session without it. */
static int move_with_lease(const char *from, const char *to, const char *a, const char *b,
			   bool *far, struct grove_detail *d)
{
	struct grove__sys_stat st, there;
	struct grove_lease held;
	int fd = -1, err = lock_file(from, &fd, &st);

	if (err == -ETIMEDOUT) {
		err = grove__sys_lock_fail(fd, from, d);
		grove__sys_close(fd);
		return err;
	}
	/* not writable, or a dangling link: continue without its lock */
	if (err)
		err = grove__sys_lstat(from, &st);
	if (!err)
		err = read_lease(a, &held);
	if (!err && !grove__sys_lstat(to, &there))
		err = -EEXIST;
	if (!err)
		err = write_lease(b, &held, true, &st);
	if (!err) {
		err = grove__sys_rename_new(from, to);
		grove__sys_unlink(err ? b : a);
	}
	grove__sys_close(fd);
	*far = err == -EXDEV;
	return err && !*far ? grove__fail_sys(d, err, err == -EEXIST ? to : from, "cannot move") : 0;
}

int grove__jsonl_move(const char *from, const char *to, bool *far, struct grove_detail *d)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove_lease held;
	int rc = 0, err = name_beside(from, &a);

	if (!err)
		err = name_beside(to, &b);
	if (!err)
		err = read_lease(a.ptr, &held);
	if (err == -ENOENT)
		err = grove__sys_rename_new(from, to);
	else if (!err) {
		rc = move_with_lease(from, to, a.ptr, b.ptr, far, d);
		goto out;
	}
	*far = err == -EXDEV;
	if (err && !*far)
		rc = grove__fail_sys(d, err, err == -EEXIST ? to : from, "cannot move");
out:
	grove__buf_release(&a);
	grove__buf_release(&b);
	return rc;
}
