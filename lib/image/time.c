/*
 * image/time.c: the modification time of a copy is that of its source.
 *
 * Lists go by the time a log was last written to, and copying a session must not
 * make it look new. The time of a file can simply be set. A database
 * records when it stored a line, and that cannot be changed. So the time of the
 * source is stored as a value next to the log,
 *
 *	NANOSECONDS LINES BASE
 *
 * which applies as long as the log has that many lines and that base. Any later
 * change, by whomever, makes it void without anybody having to remove it.
 */
#include "image/image.h"

#include "sys/stamp.h"

#include <inttypes.h>
#include <stdio.h>

void grove__time_keep(struct grove_store_log *log, int64_t ns)
{
	struct grove_store_log_stat st;
	char text[80];
	int n;

	if (!ns || grove__log_stat(log, &st, NULL))
		return;
	n = snprintf(text, sizeof(text), "%" PRId64 " %" PRIu64 " %" PRIu64, ns, st.tail, st.base);
	grove__log_meta_put(log, GROVE__META_TIME, grove__slice(text, (size_t)n), NULL);
}

int grove__time_set(struct grove_store *st, const struct grove_key *key, int64_t ns, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_store_log *log;
	int rc;

	if (!ns)
		return 0;
	if (!grove__store_traits(st).paths) {
		rc = grove__log_open(&log, st, key, GROVE_STORE_WRITE, d);
		if (!rc)
			grove__time_keep(log, ns);
		if (!rc)
			grove__log_close(log);
		return rc;
	}
	rc = grove__store_describe(st, key, &path);
	if (!rc && path.len)
		grove__sys_set_mtime(path.ptr, ns);
	grove__buf_release(&path);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__time_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		     struct grove_detail *d)
{
	struct grove_buf text = GROVE_BUF_INIT;
	uint64_t tail, base;
	int64_t ns;
	int rc = grove__log_stat(log, out, d), kept;

	if (rc)
		return rc;
	/* only a file has a ctime, and its own time counts */
	kept = out->ctime_ns ? 0 : grove__log_meta_get(log, GROVE__META_TIME, &text, NULL);
	if (kept == GROVE_ENOMEM)
		rc = grove__fail_nomem(d);
	if (!kept && text.len &&
	    sscanf(text.ptr, "%" SCNd64 " %" SCNu64 " %" SCNu64, &ns, &tail, &base) == 3 &&
	    tail == out->tail && base == out->base) {
		out->mtime_ns = ns;
		out->mtime_ms = (ns + (ns < 0 ? 0 : 500000)) / 1000000;
	}
	grove__buf_release(&text);
	return rc;
}
