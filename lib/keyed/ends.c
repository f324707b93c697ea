/*
 * keyed/ends.c: the first and the last bytes of a log, and the title in its first line.
 */
#include "keyed/keyed.h"

#include "base/utf8.h"
#include "dialect/xcsh.h"
#include "image/runs.h"
#include "js/js.h"
#include "sys/clock.h"

#define RUN_LEAST 4096
#define RUN_MOST ((size_t)1 << 20)
#define SLOT_MAX 4096

/* Appends what is stored from `from` up to `until`, stopping soon after there is enough. */
static int read_some(struct grove_store_log *log, uint64_t from, uint64_t until, size_t enough,
		     struct grove_buf *out, struct grove_detail *d)
{
	size_t cap = enough < RUN_LEAST ? RUN_LEAST : enough < RUN_MOST ? enough : RUN_MOST, before = out->len;
	struct grove__runs runs = { 0 };
	int rc = grove__runs_init(&runs, cap) ? grove__fail_nomem(d) : 0;

	runs.pieces = true;
	if (!rc)
		grove__runs_begin(&runs, log, from, until, d);
	while (!rc && out->len - before < enough && !(rc = grove__runs_next(&runs)))
		if (grove__buf_add(out, runs.buf, runs.run.len))
			rc = grove__fail_nomem(d);
	grove__runs_release(&runs);
	return rc == 1 ? 0 : rc;
}

static int read_head(struct grove_store_log *log, const struct grove_store_log_stat *st, size_t head,
		     struct grove_buf *out, struct grove_detail *d)
{
	size_t before = out->len;
	int rc = head ? read_some(log, 0, st->tail, head, out, d) : 0;

	if (!rc && out->len - before > head) {
		grove__buf_cut(out, before + head);
		grove__utf8_cut_end(out, before);
	}
	return rc;
}

/* Adds the LF that the last line may lack, as when all lines are read. */
static int end_line(struct grove_buf *out, size_t before, struct grove_detail *d)
{
	if (out->len == before || out->ptr[out->len - 1] == '\n')
		return 0;
	return grove__buf_add_char(out, '\n') ? grove__fail_nomem(d) : 0;
}

/*
 * If the store counts lines, we guess how many are needed for that many bytes from their
 * average length, and double that while it is not enough.
 */
static int read_last_lines(struct grove_store_log *log, const struct grove_store_log_stat *st, size_t tail,
			   struct grove_buf *out, struct grove_detail *d)
{
	uint64_t average = st->tail ? st->bytes / st->tail + 1 : 1, nr = tail / average + 4;
	size_t before = out->len;
	int rc;

	for (;;) {
		grove__buf_cut(out, before);
		if (nr > st->tail)
			nr = st->tail;
		rc = read_some(log, st->tail - nr, st->tail, SIZE_MAX, out, d);
		if (rc || nr == st->tail || out->len - before >= tail)
			return rc;
		nr *= 2;
	}
}

static int read_tail(struct grove_store_log *log, const struct grove_store_log_stat *st, size_t tail,
		     struct grove_buf *out, struct grove_detail *d)
{
	size_t before = out->len;
	uint64_t from = st->tail > tail ? st->tail - tail : 0;
	int rc;

	if (!tail)
		return 0;
	rc = grove__keyed_is_counted(st) ? read_last_lines(log, st, tail, out, d)
					 : read_some(log, from, st->tail, SIZE_MAX, out, d);
	if (!rc)
		rc = end_line(out, before, d);
	if (!rc && out->len - before > tail) {
		size_t more = out->len - before - tail;

		memmove(out->ptr + before, out->ptr + before + more, tail);
		grove__buf_cut(out, before + tail);
	}
	if (!rc && st->bytes > tail)
		grove__utf8_cut_start(out, before);
	return rc;
}

int grove__keyed_read_ends(struct grove_log *l, size_t head, size_t tail, struct grove_buf *first,
			   struct grove_buf *last, struct grove_log_result *out, struct grove_detail *d)
{
	size_t first_len = first->len, last_len = last->len;
	struct grove_store_log_stat st;
	int rc, tries = 0;

	grove__keyed_enter(l);
	do {
		grove__buf_cut(first, first_len);
		grove__buf_cut(last, last_len);
		rc = grove__keyed_stat(l, &st, d);
		if (!rc)
			rc = read_head(l->held->log, &st, head, first, d);
		/* the head of a short log contains all of it */
		if (!rc && st.bytes < head)
			rc = end_line(first, first_len, d);
		if (!rc)
			rc = read_tail(l->held->log, &st, tail, last, d);
		if (!rc)
			rc = grove__keyed_same_still(l, &st, d);
		if (rc == GROVE_ESTALE)
			grove__keyed_drop(l);
	} while (rc == GROVE_ESTALE && tries++ < 8);
	if (!rc)
		grove__keyed_tell(&st, grove__keyed_is_counted(&st) ? st.tail : GROVE_LOG_UNCOUNTED, out);
	grove__keyed_leave(l);
	return rc;
}

/* ------------------------------------------------------------------- title */

static int change_slot(struct grove_store_log *log, const struct grove_store_log_stat *st,
		       const struct grove_title *t, struct grove_detail *d)
{
	struct grove_buf head = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	int rc = read_some(log, 0, st->tail, SLOT_MAX, &head, d);
	const char *lf = !rc && head.len ? memchr(head.ptr, '\n', head.len) : NULL;

	if (!rc) {
		rc = grove__xcsh_slot_change(grove__slice(head.ptr, lf ? (size_t)(lf - head.ptr) : 0), t->text,
					     t->source, t->updated, &line);
		rc = rc < 0 ? grove__fail_nomem(d) : rc;
	}
	if (!rc)
		rc = grove__log_replace(log, 0, grove__buf_slice(&line), GROVE_SYNC_NONE, d);
	grove__buf_release(&head);
	grove__buf_release(&line);
	return rc;
}

int grove__keyed_set_title(struct grove_log *l, const struct grove_title *title, struct grove_detail *d)
{
	char now[GROVE__JS_ISO_MAX + 1];
	struct grove_title t = *title;
	struct grove_store_log_stat st;
	int rc;

	if (!t.updated) {
		now[grove__js_iso(now, grove__sys_now_ms())] = '\0';
		t.updated = now;
	}
	grove__keyed_enter(l);
	rc = grove__keyed_stat(l, &st, d);
	if (!rc)
		rc = change_slot(l->held->log, &st, &t, d);
	/* a store may count this as a change */
	if (!rc)
		l->ids.valid = false;
	grove__keyed_leave(l);
	return rc;
}
