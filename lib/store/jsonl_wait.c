/*
 * store/jsonl_wait.c: waits until a file changes.
 *
 * The system reports writes and renames (inotify). We ask for that before we look, and
 * look before we sleep, so nothing is missed:
 *
 *	watch   look   sleep   watch   look …
 *	  `- from here on everything is reported; the look shows what came before
 *
 * If the system refuses (too many watches), we poll, less often with time. And because
 * it does not report what another machine does to a file on a network, we look every
 * two seconds anyway.
 */
#include "store/jsonl.h"

#include "sys/clock.h"

#include <errno.h>

#define POLL_FIRST_MS 5
#define POLL_LAST_MS 400
#define WATCHED_MS 2000
#define LONG_MS ((int64_t)1 << 40)  /* practically for ever, and safe to multiply */

/*
 * Returns 1 if the file is unchanged, 0 if not, or an error. By name, and without
 * switching to another file: that is up to the thread that can handle it.
 */
static int unchanged(struct jsonl_log *log, const struct grove_store_log_stat *seen,
		     struct grove_detail *d)
{
	struct grove__sys_stat st;
	uint64_t base;
	int rc;

	pthread_mutex_lock(&log->lock);
	rc = grove__jsonl_look(log, &st, d);
	if (!rc)
		rc = grove__jsonl_base(log, &base, d);
	if (!rc)
		rc = st.size == seen->tail && st.ctime_ns == seen->ctime_ns && base == seen->base &&
		     log->generation == seen->generation;
	pthread_mutex_unlock(&log->lock);
	return rc == GROVE_ESTALE ? 0 : rc;
}

/*
 * Sleeps until something may have happened to the file (0), `wake` is readable (1), or
 * the time has come. Events of other files in the directory are ignored.
 */
static int sleep_until(struct jsonl_log *log, int64_t moment_ns, int wake, bool told)
{
	int64_t left;
	unsigned what;

	do {
		left = moment_ns - grove__sys_ticks_ns();
		if (left <= 0)
			return 0;
		what = grove__sys_wait_fds(wake, told ? log->watch.fd : -1, (left + 999999) / 1000000);
		if (what & 1)
			return 1;
	} while (what && !grove__sys_watch_take(&log->watch, log->path));
	return 0;
}

int grove__jsonl_wait(struct grove_store_log *l, const struct grove_store_log_stat *seen,
		      int64_t ms, int wake, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	int64_t now = grove__sys_ticks_ns(), pause = POLL_FIRST_MS, most;
	int64_t end = now + (ms < LONG_MS ? ms : LONG_MS) * 1000000;
	bool told;
	int rc;

	for (;; pause = pause * 3 / 2) {
		told = !grove__sys_watch(&log->watch, log->path);
		/* the look that follows shows what was reported until now */
		grove__sys_watch_take(&log->watch, log->path);
		rc = unchanged(log, seen, d);
		if (rc <= 0)
			return rc;
		now = grove__sys_ticks_ns();
		if (now >= end)
			return 1;
		if (pause > POLL_LAST_MS)
			pause = POLL_LAST_MS;
		most = now + (told ? WATCHED_MS : pause) * 1000000;
		if (sleep_until(log, most < end ? most : end, wake, told))
			return 1;
	}
}
