/*
 * tests/unit/test_store_jsonl.c: what only file stores have to deal with: other
 * programs.
 *
 * What every store must do is tested in tests/conformance. Here agents append
 * without taking a lock and replace or delete files that grove has open, and
 * the system fails. Whatever happens, acknowledged lines stay, and refused ones
 * leave no trace.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "jsonl_world.h"

/* --------------------------------------------------------- tails of others */

static void a_torn_tail_gets_its_line_end_in_the_same_write(void **state)
{
	struct world *w = *state;

	have(w, "{\"a\":1}\n{\"b\":");
	fail_at("write", 0, 0);
	OK(add(w, "{\"c\":3}", 13));
	assert_int_equal(calm(), 1);
	assert_int_equal(w->out.pad, 1);
	assert_int_equal(w->out.pos, 14);
	assert_int_equal(w->out.tail, 22);
	assert_file(w->path, "{\"a\":1}\n{\"b\":\n{\"c\":3}\n");
	/* the incomplete line is ended only once */
	OK(add(w, "d", 22));
	assert_int_equal(w->out.pad, 0);
	assert_file(w->path, "{\"a\":1}\n{\"b\":\n{\"c\":3}\nd\n");
}

static void appending_nothing_does_not_close_a_torn_tail(void **state)
{
	struct world *w = *state;

	have(w, "a\nb");
	OK(grove__log_append(w->log, NULL, 0, 3, GROVE_SYNC_NONE, &w->out, &w->d));
	assert_int_equal(w->out.pad, 0);
	assert_int_equal(w->out.tail, 3);
	assert_file(w->path, "a\nb");
}

static void an_empty_file_is_not_torn(void **state)
{
	struct world *w = *state;

	have(w, "");
	OK(add(w, "a", 0));
	assert_int_equal(w->out.pad, 0);
	assert_file(w->path, "a\n");
}

static void a_torn_tail_reads_as_the_last_line(void **state)
{
	struct world *w = *state;
	struct grove_store_run run;
	char buf[64];

	have(w, "one\ntwo");
	OK(grove__log_read(w->log, 0, 7, buf, sizeof(buf), &run, &w->d));
	assert_int_equal(run.len, 7);
	assert_int_equal(run.end, 1);
	assert_int_equal(run.open, 0);
	/* with a buffer that ends before the incomplete line: first the whole lines */
	OK(grove__log_read(w->log, 0, 7, buf, 6, &run, &w->d));
	assert_int_equal(run.len, 4);
	assert_int_equal(run.end, 0);
	/* a part of the incomplete line is returned as a part */
	OK(grove__log_read(w->log, 4, 7, buf, 2, &run, &w->d));
	assert_int_equal(run.len, 2);
	assert_int_equal(run.open, 1);
	assert_int_equal(run.end, 0);
	OK(grove__log_read(w->log, 6, 7, buf, 2, &run, &w->d));
	assert_int_equal(run.len, 1);
	assert_int_equal(run.open, 0);
	assert_int_equal(run.end, 1);
}

static void a_torn_tail_can_be_replaced_in_its_length(void **state)
{
	struct world *w = *state;

	have(w, "one\ntwo");
	OK(grove__log_replace(w->log, 4, str("TWO"), GROVE_SYNC_NONE, &w->d));
	FAILS(GROVE_EINVAL, grove__log_replace(w->log, 4, str("TW"), GROVE_SYNC_NONE, &w->d));
	FAILS(GROVE_EINVAL, grove__log_replace(w->log, 4, str("TWOO"), GROVE_SYNC_NONE, &w->d));
	assert_file(w->path, "one\nTWO");
}

static void growth_by_others_is_a_conflict(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	OK(add(w, "b", 2));
	file_add(w->path, "foreign\n");
	FAILS(GROVE_ECONFLICT, add(w, "c", 4));
	said(w, "another writer", w->path);
	assert_file(w->path, "a\nb\nforeign\n");
	OK(look(w));
	assert_int_equal(w->stat.tail, 12);
	assert_int_equal(w->stat.generation, 0);
	OK(add(w, "c", 12));
	/* the line that they left incomplete is ended */
	file_add(w->path, "half");
	FAILS(GROVE_ECONFLICT, add(w, "d", 14));
	OK(add(w, "d", GROVE_ANY_POS));
	assert_int_equal(w->out.pad, 1);
	assert_int_equal(w->out.pos, 19);
	assert_file(w->path, "a\nb\nforeign\nc\nhalf\nd\n");
}

static void a_line_that_slips_in_before_ours_is_kept(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	fail_at("write", 1, 0);
	plan.meanwhile = add_whole;
	plan.payload = w->path;
	OK(add(w, "ours", 2));
	assert_int_equal(calm(), 1);
	assert_int_equal(w->out.pos, 8);
	assert_int_equal(w->out.tail, 13);
	assert_file(w->path, "a\nwhole\nours\n");
}

static void a_line_spoilt_by_half_a_line_is_written_again(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	fail_at("write", 1, 0);
	plan.meanwhile = add_half;
	plan.payload = w->path;
	OK(add(w, "ours", 2));
	assert_int_equal(calm(), 2);
	assert_file(w->path, "a\nhalfours\nours\n");
	assert_int_equal(w->out.pos, 11);
	assert_int_equal(w->out.tail, 16);
}

static void whoever_tears_every_line_cannot_spoil_it(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	fail_at("write", 0, 0);
	plan.meanwhile = add_half;
	plan.payload = w->path;
	OK(add(w, "ours", 2));
	assert_int_equal(calm(), 3);
	assert_file(w->path, "a\nhalfours\nhalfours\nhalf\nours\n");
	assert_int_equal(w->out.pad, 1);
	assert_int_equal(w->out.tail - w->out.pos, 5);
}

static void a_failed_write_is_no_less_clean_for_others_growth(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	fail_at("write", 1, ENOSPC);
	plan.meanwhile = add_whole;
	plan.payload = w->path;
	FAILS(GROVE_EFULL, add(w, "ours", 2));
	calm();
	assert_file(w->path, "a\nwhole\n");
}

/* --------------------------------------------------- replaced and removed */

static void a_replaced_file_is_stale_until_we_look(void **state)
{
	struct world *w = *state;
	char buf[8];

	have(w, "old 1\nold 2\n");
	OK(look(w));
	assert_int_equal(w->stat.generation, 0);
	replace_file(w, "new\n");
	FAILS(GROVE_ESTALE, add(w, "lost?", GROVE_ANY_POS));
	said(w, "replaced or removed", w->path);
	FAILS(GROVE_ESTALE, add(w, "lost?", 12));
	FAILS(GROVE_ESTALE, grove__log_replace(w->log, 0, str("OLD 1"), GROVE_SYNC_NONE, &w->d));
	FAILS(GROVE_ESTALE, grove__log_rewrite(w->log, NULL, NULL, GROVE_ANY_POS, 0, &w->d));
	assert_file(w->path, "new\n");
	/* the old bytes can still be read */
	OK(grove__log_fetch(w->log, 6, 0, buf, 5, &w->d));
	assert_memory_equal(buf, "old 2", 5);
	OK(look(w));
	assert_int_equal(w->stat.tail, 4);
	assert_int_equal(w->stat.generation, 1);
	OK(look(w));
	assert_int_equal(w->stat.generation, 1);
	OK(add(w, "more", 4));
	assert_file(w->path, "new\nmore\n");
	OK(grove__log_fetch(w->log, 0, 0, buf, 3, &w->d));
	assert_memory_equal(buf, "new", 3);
}

static void a_file_that_was_moved_away_is_not_appended_to(void **state)
{
	struct world *w = *state;
	char moved[320];

	have(w, "old\n");
	snprintf(moved, sizeof(moved), "%s.bak", w->path);
	assert_int_equal(rename(w->path, moved), 0);
	FAILS(GROVE_ESTALE, add(w, "lost?", 4));
	FAILS(GROVE_ENOTFOUND, look(w));
	file_make(w->path, "new\n");
	FAILS(GROVE_ESTALE, add(w, "lost?", 4));
	FAILS(GROVE_ESTALE, grove__log_rewrite(w->log, NULL, NULL, 4, 0, &w->d));
	assert_file(w->path, "new\n");
	assert_file(moved, "old\n");
	OK(look(w));
	assert_int_equal(w->stat.generation, 1);
	OK(add(w, "more", 4));
	assert_file(w->path, "new\nmore\n");
	assert_file(moved, "old\n");
}

static void a_replaced_file_with_another_name_is_not_appended_to(void **state)
{
	struct world *w = *state;
	char other[320];

	have(w, "old\n");
	snprintf(other, sizeof(other), "%s.link", w->path);
	assert_int_equal(link(w->path, other), 0);
	replace_file(w, "new\n");
	FAILS(GROVE_ESTALE, add(w, "lost?", GROVE_ANY_POS));
	assert_file(other, "old\n");
	assert_file(w->path, "new\n");
}

static void what_happens_right_after_an_append_is_noticed(void **state)
{
	struct world *w = *state;
	char moved[320];

	/* a file that is replaced or removed is noticed at once */
	have(w, "old\n");
	OK(add(w, "1", 4));
	replace_file(w, "new\n");
	FAILS(GROVE_ESTALE, add(w, "lost?", GROVE_ANY_POS));
	OK(look(w));
	OK(add(w, "1", 4));
	assert_file(w->path, "new\n1\n");
	assert_int_equal(unlink(w->path), 0);
	FAILS(GROVE_ESTALE, add(w, "lost?", GROVE_ANY_POS));
	/* a file that is moved away, and keeps its number of names, is noticed before long */
	have(w, "old\n");
	OK(add(w, "1", 4));
	snprintf(moved, sizeof(moved), "%s.bak", w->path);
	assert_int_equal(rename(w->path, moved), 0);
	file_make(w->path, "new\n");
	usleep(600000);
	FAILS(GROVE_ESTALE, add(w, "lost?", GROVE_ANY_POS));
	assert_file(moved, "old\n1\n");
	assert_file(w->path, "new\n");
}

static void a_removed_file_is_not_revived(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	assert_int_equal(unlink(w->path), 0);
	FAILS(GROVE_ENOTFOUND, look(w));
	said(w, "removed", w->path);
	FAILS(GROVE_ESTALE, add(w, "b", GROVE_ANY_POS));
	FAILS(GROVE_ESTALE, add_synced(w, "b"));
	FAILS(GROVE_ESTALE, grove__log_rewrite(w->log, NULL, NULL, GROVE_ANY_POS, 0, &w->d));
	assert_dir(w->dir, "");
	/* its agent has created it again: the handle continues with the new file */
	file_make(w->path, "again\n");
	OK(look(w));
	assert_int_equal(w->stat.generation, 1);
	OK(add(w, "b", 6));
	assert_file(w->path, "again\nb\n");
}

static void a_file_replaced_by_something_else_is_damaged(void **state)
{
	struct world *w = *state;
	char buf[2];

	have(w, "a\n");
	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(mkdir(w->path, 0700), 0);
	FAILS(GROVE_EDAMAGED, look(w));
	said(w, "directory", w->path);
	/* what was there before can still be read */
	OK(grove__log_fetch(w->log, 0, 0, buf, 1, &w->d));
	assert_int_equal(buf[0], 'a');
	assert_int_equal(rmdir(w->path), 0);
	assert_int_equal(mkfifo(w->path, 0600), 0);
	FAILS(GROVE_EDAMAGED, look(w));
	said(w, "not a regular file", w->path);
}

static void a_truncated_file_is_another_generation(void **state)
{
	struct world *w = *state;
	struct grove_store_run run;
	char buf[64];

	have(w, "one\ntwo\nthree\n");
	OK(look(w));
	assert_int_equal(truncate(w->path, 4), 0);
	FAILS(GROVE_ESTALE, grove__log_read(w->log, 0, 14, buf, sizeof(buf), &run, &w->d));
	said(w, "shorter", w->path);
	assert_int_equal(w->d.has_place, 1);
	assert_int_equal(w->d.offset, 4);
	FAILS(GROVE_ESTALE, grove__log_fetch(w->log, 8, 0, buf, 5, &w->d));
	FAILS(GROVE_ECONFLICT, add(w, "x", 14));
	OK(look(w));
	assert_int_equal(w->stat.generation, 1);
	OK(add(w, "TWO", 4));
	assert_file(w->path, "one\nTWO\n");
}

static void a_truncation_is_noticed_by_an_append_too(void **state)
{
	struct world *w = *state;

	have(w, "one\ntwo\nthree\n");
	OK(look(w));
	assert_int_equal(truncate(w->path, 4), 0);
	/* it has grown beyond the old size before anybody looks */
	OK(add(w, "a line that is longer than what was cut off", GROVE_ANY_POS));
	OK(look(w));
	assert_int_equal(w->stat.generation, 1);
}

static void a_truncation_into_a_line_is_closed(void **state)
{
	struct world *w = *state;

	have(w, "one\n");
	OK(add(w, "two", 4));
	assert_int_equal(truncate(w->path, 6), 0);
	OK(add(w, "three", GROVE_ANY_POS));
	assert_int_equal(w->out.pad, 1);
	assert_file(w->path, "one\ntw\nthree\n");
}

/* ------------------------------------------------------------------ faults */

static const char *const starts[] = { "a\nb\n", "a\ntorn", "" };

static void a_short_write_is_finished(void **state)
{
	struct world *w = *state;

	have(w, "a\ntorn");
	fail_at("write", 1, GROVE__SYS_SHORT);
	OK(add(w, "0123456789", 6));
	assert_int_equal(calm(), 2);
	assert_int_equal(w->out.pos, 7);
	assert_int_equal(w->out.tail, 18);
	assert_file(w->path, "a\ntorn\n0123456789\n");
	/* all writes come up short, down to the last byte */
	fail_at("write", 0, GROVE__SYS_SHORT);
	plan.nth = 1;
	plan.err_after = GROVE__SYS_SHORT;
	FAILS(GROVE_EFULL, add(w, "0123456789", 18));
	calm();
	assert_file(w->path, "a\ntorn\n0123456789\n");
}

static void a_write_that_fails_leaves_the_file_as_it_was(void **state)
{
	static const struct {
		int err, code;
	} fault[] = {
		{ ENOSPC, GROVE_EFULL }, { EDQUOT, GROVE_EFULL }, { EIO, GROVE_EIO },
		{ EPERM, GROVE_EACCESS }, { EFBIG, GROVE_EFULL },
	};
	struct world *w = *state;
	struct grove_store_record rec[3] = { { .line = str("first") },
					     { .line = str("second") },
					     { .line = str("third") } };

	for (size_t i = 0; i < ARRAY(fault); i++)
		for (size_t k = 0; k < ARRAY(starts); k++)
			for (int after_short = 0; after_short < 2; after_short++) {
				have(w, starts[k]);
				fail_at("write", 1, after_short ? GROVE__SYS_SHORT : fault[i].err);
				plan.err_after = fault[i].err;
				FAILS(fault[i].code, grove__log_append(w->log, rec, 3, GROVE_ANY_POS,
								       GROVE_SYNC_ALWAYS, &w->out,
								       &w->d));
				assert_int_equal(calm(), 1 + after_short);
				said(w, "nothing was stored", w->path);
				assert_file(w->path, starts[k]);
				/* and the next append works as if nothing had happened */
				OK(add(w, "next", strlen(starts[k])));
				assert_int_equal(w->out.pad, k == 1);
			}
}

static int short_then_stuck(const char *call)
{
	static int writes;

	if (!strcmp(call, "lock"))
		writes = 0;
	if (!strcmp(call, "ftruncate"))
		return EIO;
	if (strcmp(call, "write"))
		return 0;
	return ++writes == 1 ? GROVE__SYS_SHORT : ENOSPC;
}

static void a_part_that_stays_makes_the_tail_unknown(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	grove__sys_fault = short_then_stuck;
	FAILS(GROVE_EIO, add(w, "0123456789", 2));
	grove__sys_fault = NULL;
	said(w, "could not be undone", w->path);
	assert_file(w->path, "a\n01234");
	/* the next append ends the incomplete line */
	OK(add(w, "next", GROVE_ANY_POS));
	assert_file(w->path, "a\n01234\nnext\n");
}

static char *stuck_path;

static int short_then_foreign(const char *call)
{
	static int writes;

	if (!strcmp(call, "lock"))
		writes = 0;
	if (strcmp(call, "write"))
		return 0;
	if (++writes == 1)
		return GROVE__SYS_SHORT;
	if (writes == 2)
		file_add(stuck_path, "foreign\n");
	return 0;
}

static int short_then_foreign_then_full(const char *call)
{
	int f = short_then_foreign(call);

	/* the first write comes up short; the second one fails, after the others have appended */
	return strcmp(call, "write") || f ? f : ENOSPC;
}

static void what_others_wrote_is_never_cut_off(void **state)
{
	struct world *w = *state;

	stuck_path = w->path;
	have(w, "a\n");
	grove__sys_fault = short_then_foreign;
	FAILS(GROVE_EIO, add(w, "0123456789", 2));
	grove__sys_fault = NULL;
	said(w, "interrupted an append", w->path);
	assert_file(w->path, "a\n01234foreign\n56789\n");
	have(w, "a\n");
	grove__sys_fault = short_then_foreign_then_full;
	FAILS(GROVE_EIO, add(w, "0123456789", 2));
	grove__sys_fault = NULL;
	assert_file(w->path, "a\n01234foreign\n");
}

static void an_append_fails_cleanly_at_every_call(void **state)
{
	struct world *w = *state;
	int calls;

	have(w, "a\ntorn");
	fail_at(NULL, 0, 0);
	OK(add_synced(w, "line"));
	calls = calm();
	assert_in_range(calls, 5, 20);
	for (int i = 1; i <= calls; i++) {
		int rc;

		have(w, "a\ntorn");
		fail_at(NULL, i, EIO);
		rc = add_synced(w, "line");
		calm();
		if (rc) {
			struct grove_buf b = file_bytes(w->path);

			/* the end is unknown, but none of the old lines is gone */
			assert_int_equal(rc, GROVE_EIO);
			assert_int_equal(w->d.code, rc);
			assert_true(b.len >= 6);
			assert_memory_equal(b.ptr, "a\ntorn", 6);
			grove__buf_release(&b);
		} else {
			/* the lock cannot be taken */
			assert_file(w->path, "a\ntorn\nline\n");
		}
	}
}

static void without_locks_an_append_still_works(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	fail_at("lock", 0, ENOLCK);
	OK(add(w, "b", 2));
	FAILS(GROVE_ECONFLICT, add(w, "c", 2));
	calm();
	assert_file(w->path, "a\nb\n");
}

static void after_a_failed_sync_every_sync_refuses(void **state)
{
	static const int errs[] = { EIO, ENOSPC, EDQUOT, EROFS };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(errs); i++) {
		have(w, "a\n");
		OK(add_synced(w, "b"));
		fail_at("fdatasync", 1, errs[i]);
		FAILS(GROVE_EIO, add_synced(w, "c"));
		assert_int_equal(calm(), 1);
		said(w, "cannot sync", w->path);
		/* the system may have dropped the pages: a second sync would falsely succeed */
		fail_at("fdatasync", 0, 0);
		FAILS(GROVE_EIO, grove__log_sync(w->log, &w->d));
		said(w, "an earlier sync failed", w->path);
		FAILS(GROVE_EIO, add_synced(w, "d"));
		FAILS(GROVE_EIO, grove__log_sync(w->log, &w->d));
		assert_int_equal(calm(), 0);
		/* another handle may try again */
		grove__log_close(w->log);
		OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
		OK(add_synced(w, "e"));
	}
}

static void a_sync_with_nothing_new_costs_nothing(void **state)
{
	struct world *w = *state;

	have(w, "a\n");
	OK(add_synced(w, "b"));
	fail_at("fdatasync", 0, EIO);
	OK(grove__log_sync(w->log, &w->d));
	OK(grove__log_sync(w->log, &w->d));
	assert_int_equal(calm(), 0);
}

static void a_new_file_has_its_name_synced_too(void **state)
{
	struct world *w = *state;
	struct grove_key deep = { "project", "b.jsonl", "" };
	int in_place, made;

	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	OK(add(w, "a", 0));
	fail_at("fsync", 0, 0);
	OK(grove__log_sync(w->log, &w->d));
	in_place = calm();
	assert_int_equal(in_place, 1);
	/* only once */
	fail_at("fsync", 0, 0);
	OK(add_synced(w, "b"));
	assert_int_equal(calm(), 0);
	grove__log_close(w->log);
	/* a directory that was created for the log has a name to sync as well */
	OK(grove__log_open(&w->log, w->st, &deep, GROVE_STORE_CREATE, &w->d));
	fail_at("fsync", 0, 0);
	OK(add_synced(w, "a"));
	made = calm();
	assert_true(made > in_place);
	grove__log_close(w->log);
	/* and if that cannot be synced, the line is not safe */
	deep.session = "c.jsonl";
	OK(grove__log_open(&w->log, w->st, &deep, GROVE_STORE_CREATE, &w->d));
	fail_at("fsync", 1, EIO);
	FAILS(GROVE_EIO, add_synced(w, "a"));
	calm();
}

/* ------------------------------------------------------------ group commit */

enum { WRITERS = 32, EACH = 20 };

static void nap(void *payload)
{
	(void)payload;
	usleep(1000);
}

struct writer {
	struct world *w;
	unsigned number;
	int rc;
};

static void *write_synced(void *arg)
{
	struct writer *t = arg;
	struct grove_store_appended out;
	char line[64];

	for (unsigned i = 0; i < EACH && !t->rc; i++) {
		struct grove_store_record rec = { 0 };

		snprintf(line, sizeof(line), "%u %u", t->number, i);
		rec.line = str(line);
		t->rc = grove__log_append(t->w->log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out,
					  NULL);
	}
	return NULL;
}

static int synced_by_threads(struct world *w, unsigned nr, int nth, int err, unsigned *failed)
{
	struct writer t[WRITERS];
	pthread_t thread[WRITERS];

	have(w, "header\n");
	/* a slow disk: threads that come in the meantime share the next sync */
	fail_at("fdatasync", nth, err);
	if (!nth)
		plan.meanwhile = nap;
	for (unsigned i = 0; i < nr; i++) {
		t[i] = (struct writer){ w, i, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, write_synced, &t[i]), 0);
	}
	*failed = 0;
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(thread[i], NULL);
		assert_true(!t[i].rc || t[i].rc == GROVE_EIO);
		*failed += t[i].rc != 0;
	}
	return calm();
}

static void threads_that_append_at_once_share_a_sync(void **state)
{
	struct world *w = *state;
	unsigned failed, lines = 0;
	struct grove_buf b;
	int syncs = synced_by_threads(w, WRITERS, 0, 0, &failed);

	printf("# %d appends by %d threads: %d fdatasync\n", WRITERS * EACH, WRITERS, syncs);
	assert_int_equal(failed, 0);
	b = file_bytes(w->path);
	for (size_t i = 0; i < b.len; i++)
		lines += b.ptr[i] == '\n';
	grove__buf_release(&b);
	assert_int_equal(lines, 1 + WRITERS * EACH);
	/* every thread waits for its own line: at least as many syncs as one thread makes */
	assert_in_range(syncs, EACH, WRITERS * EACH / 4);
	/* with one thread, each append has a sync of its own */
	assert_int_equal(synced_by_threads(w, 1, 0, 0, &failed), EACH);
}

static void a_look_may_be_had_while_others_append(void **state)
{
	struct world *w = *state;
	struct writer t[4];
	pthread_t thread[ARRAY(t)];
	uint64_t tail = 0;

	have(w, "header\n");
	for (unsigned i = 0; i < ARRAY(t); i++) {
		t[i] = (struct writer){ w, i, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, write_synced, &t[i]), 0);
	}
	for (int i = 0; i < 200; i++) {
		OK(look(w));
		assert_true(w->stat.tail >= tail);
		assert_int_equal(w->stat.generation, 0);
		tail = w->stat.tail;
	}
	for (unsigned i = 0; i < ARRAY(t); i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(t[i].rc, 0);
	}
}

static void a_failed_sync_is_told_to_all_who_wait(void **state)
{
	struct world *w = *state;
	unsigned failed;
	int syncs = synced_by_threads(w, WRITERS, 5, EIO, &failed);

	assert_int_equal(failed, WRITERS);
	assert_int_equal(syncs, 5);
	FAILS(GROVE_EIO, grove__log_sync(w->log, &w->d));
}

/* -------------------------------------------------------------- processes */

/* In a child process, appends 200 lines with a handle of its own. Returns 0 if all went well. */
static int child_appends(struct world *w, unsigned number)
{
	struct grove_store_log *log;
	struct grove_store_appended out;
	char line[200];

	if (grove__log_open(&log, w->st, &key, GROVE_STORE_WRITE, NULL))
		return 1;
	for (unsigned i = 0; i < 200; i++) {
		struct grove_store_record rec = { 0 };
		int rc;

		snprintf(line, sizeof(line), "%u %u %*u", number, i, (int)(i * number % 100), i);
		rec.line = str(line);
		/* with and without reading first */
		do {
			struct grove_store_log_stat st;

			if (grove__log_stat(log, &st, NULL))
				return 2;
			rc = grove__log_append(log, &rec, 1, i % 2 ? st.tail : GROVE_ANY_POS,
					       GROVE_SYNC_NONE, &out, NULL);
		} while (rc == GROVE_ECONFLICT);
		if (rc)
			return 3;
	}
	grove__log_close(log);
	return 0;
}

static void many_processes_append_whole_lines(void **state)
{
	struct world *w = *state;
	unsigned next[6] = { 0 };
	struct grove_buf b;
	char *p;
	pid_t pid[6];

	file_make(w->path, "");
	for (unsigned i = 0; i < ARRAY(pid); i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			_exit(child_appends(w, i));
	}
	for (unsigned i = 0; i < ARRAY(pid); i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	b = file_bytes(w->path);
	for (p = b.ptr; *p; p = strchr(p, '\n') + 1) {
		unsigned number, i, again;

		assert_int_equal(sscanf(p, "%u %u %u", &number, &i, &again), 3);
		assert_in_range(number, 0, ARRAY(pid) - 1);
		assert_int_equal(i, next[number]);
		assert_int_equal(again, i);
		next[number]++;
	}
	for (unsigned i = 0; i < ARRAY(pid); i++)
		assert_int_equal(next[i], 200);
	grove__buf_release(&b);
}

/* ------------------------------------------------------------------ create */

static void a_file_that_never_got_a_line_is_removed(void **state)
{
	struct world *w = *state;

	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	assert_dir(w->dir, "a.jsonl ");
	/* a failed append leaves no line */
	fail_at("write", 0, ENOSPC);
	FAILS(GROVE_EFULL, add(w, "a", 0));
	calm();
	grove__log_close(w->log);
	w->log = NULL;
	assert_dir(w->dir, "");
	/* a file that was there before stays, although it is empty */
	have(w, "");
	grove__log_close(w->log);
	w->log = NULL;
	assert_dir(w->dir, "a.jsonl ");
}

static void a_new_file_that_others_filled_or_replaced_is_kept(void **state)
{
	struct world *w = *state;

	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	file_add(w->path, "foreign\n");
	grove__log_close(w->log);
	w->log = NULL;
	assert_file(w->path, "foreign\n");
	assert_int_equal(unlink(w->path), 0);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	/* another empty file is in its place, and ours has a name elsewhere */
	{
		char moved[320];

		snprintf(moved, sizeof(moved), "%s.bak", w->path);
		assert_int_equal(rename(w->path, moved), 0);
		file_make(w->path, "");
		grove__log_close(w->log);
		w->log = NULL;
		assert_dir(w->dir, "a.jsonl a.jsonl.bak ");
	}
}

static void creating_fails_cleanly_at_every_call(void **state)
{
	struct world *w = *state;
	struct grove_key deep = { "project", "b.jsonl", "" };
	char project[320];
	int calls, rc;

	snprintf(project, sizeof(project), "%s/project", w->dir);
	fail_at(NULL, 0, 0);
	OK(grove__log_open(&w->log, w->st, &deep, GROVE_STORE_CREATE, &w->d));
	calls = calm();
	for (int i = 1; i <= calls; i++) {
		grove__log_close(w->log);
		w->log = NULL;
		rmdir(project);
		fail_at(NULL, i, EIO);
		rc = grove__log_open(&w->log, w->st, &deep, GROVE_STORE_CREATE, &w->d);
		calm();
		if (rc) {
			assert_int_equal(rc, GROVE_EIO);
			assert_null(w->log);
			if (!access(project, F_OK))
				assert_dir(project, "");
		}
	}
}

static void a_new_file_is_its_owners_alone(void **state)
{
	struct world *w = *state;
	struct grove_key deep = { "project", "b.jsonl", "" };
	struct stat st;
	char path[320];

	OK(grove__log_open(&w->log, w->st, &deep, GROVE_STORE_CREATE, &w->d));
	OK(add(w, "secret", 0));
	snprintf(path, sizeof(path), "%s/project/b.jsonl", w->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s/project", w->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

/* -------------------------------------------------------------------- open */

static void refuses(struct world *w, struct grove_key k, unsigned flags, int code, const char *words,
		    const char *path)
{
	char full[512];
	int rc;

	snprintf(full, sizeof(full), "%s/%s", w->dir, path);
	rc = grove__log_open(&w->log, w->st, &k, flags, &w->d);
	be_ourselves();
	FAILS(code, rc);
	assert_null(w->log);
	said(w, words, full);
}

static void what_is_not_a_file_is_refused_with_a_reason(void **state)
{
	struct world *w = *state;
	struct grove_key dir = { "", "dir.jsonl", "" }, fifo = { "", "fifo.jsonl", "" };
	struct grove_key below = { "x.jsonl", "b.jsonl", "" }, loop = { "", "loop.jsonl", "" };
	struct grove_key missing = { "project", "b.jsonl", "" }, dangling = { "", "to.jsonl", "" };
	struct grove_key socket = { "", "socket.jsonl", "" };
	char path[320];

	snprintf(path, sizeof(path), "%s/dir.jsonl", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	refuses(w, dir, GROVE_STORE_READ, GROVE_EDAMAGED, "is a directory", "dir.jsonl");
	refuses(w, dir, GROVE_STORE_WRITE, GROVE_EDAMAGED, "is a directory", "dir.jsonl");
	refuses(w, dir, GROVE_STORE_CREATE, GROVE_EEXIST, "exists", "dir.jsonl");
	snprintf(path, sizeof(path), "%s/fifo.jsonl", w->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuses(w, fifo, GROVE_STORE_READ, GROVE_EDAMAGED, "not a regular file", "fifo.jsonl");
	refuses(w, fifo, GROVE_STORE_WRITE, GROVE_EDAMAGED, "not a regular file", "fifo.jsonl");
	refuses(w, missing, GROVE_STORE_READ, GROVE_ENOTFOUND, "No such file", "project/b.jsonl");
	refuses(w, missing, GROVE_STORE_WRITE, GROVE_ENOTFOUND, "No such file", "project/b.jsonl");
	snprintf(path, sizeof(path), "%s/x.jsonl", w->dir);
	file_make(path, "x\n");
	refuses(w, below, GROVE_STORE_READ, GROVE_ENOTFOUND, "Not a directory", "x.jsonl/b.jsonl");
	refuses(w, below, GROVE_STORE_CREATE, GROVE_ENOTFOUND, "Not a directory",
		"x.jsonl/b.jsonl");
	snprintf(path, sizeof(path), "%s/loop.jsonl", w->dir);
	assert_int_equal(symlink("loop.jsonl", path), 0);
	refuses(w, loop, GROVE_STORE_READ, GROVE_EDAMAGED, "loop of symbolic links", "loop.jsonl");
	snprintf(path, sizeof(path), "%s/socket.jsonl", w->dir);
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
	refuses(w, socket, GROVE_STORE_READ, GROVE_EDAMAGED, "not a regular file", "socket.jsonl");
	refuses(w, socket, GROVE_STORE_WRITE, GROVE_EDAMAGED, "not a regular file", "socket.jsonl");
	snprintf(path, sizeof(path), "%s/to.jsonl", w->dir);
	assert_int_equal(symlink("nowhere", path), 0);
	refuses(w, dangling, GROVE_STORE_READ, GROVE_ENOTFOUND, "No such file", "to.jsonl");
	refuses(w, dangling, GROVE_STORE_CREATE, GROVE_EEXIST, "exists", "to.jsonl");
}

static void what_we_may_not_touch_is_refused_with_a_reason(void **state)
{
	struct world *w = *state;
	struct grove_key in_project = { "project", "b.jsonl", "" };
	char path[320];

	file_make(w->path, "a\n");
	assert_int_equal(chmod(w->path, 0), 0);
	be_nobody();
	refuses(w, key, GROVE_STORE_READ, GROVE_EACCESS, "Permission denied", "a.jsonl");
	assert_int_equal(chmod(w->path, 0444), 0);
	be_nobody();
	refuses(w, key, GROVE_STORE_WRITE, GROVE_EACCESS, "Permission denied", "a.jsonl");
	/* reading it is allowed */
	be_nobody();
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_READ, &w->d));
	be_ourselves();
	grove__log_close(w->log);
	w->log = NULL;
	snprintf(path, sizeof(path), "%s/project", w->dir);
	assert_int_equal(mkdir(path, 0555), 0);
	be_nobody();
	refuses(w, in_project, GROVE_STORE_CREATE, GROVE_EACCESS, "Permission denied",
		"project/b.jsonl");
	in_project.project = "new";
	assert_int_equal(chmod(w->dir, 0555), 0);
	be_nobody();
	refuses(w, in_project, GROVE_STORE_CREATE, GROVE_EACCESS, "cannot create the directory",
		"new");
	assert_int_equal(chmod(w->dir, 0755), 0);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const struct grove_key bad[] = {
		{ "", "", "" }, { "", "..", "" }, { "", ".", "" }, { "", "../a.jsonl", "" },
		{ "", "/etc/passwd", "" }, { "", "a/b", "" }, { "..", "a.jsonl", "" },
		{ ".", "a.jsonl", "" }, { "a/b", "a.jsonl", "" }, { "/", "a.jsonl", "" },
		{ "", "a.jsonl", "../b.jsonl" }, { "", "a.jsonl", "/b.jsonl" },
		{ "", "a.jsonl", "x/../../b.jsonl" }, { "", "a.jsonl", "x//y" },
	};
	static const unsigned flags[] = { GROVE_STORE_READ, GROVE_STORE_WRITE, GROVE_STORE_CREATE };
	struct world *w = *state;
	struct grove_key to = { "", "free.jsonl", "" };

	file_make(w->path, "a\n");
	for (size_t i = 0; i < ARRAY(bad); i++) {
		for (size_t k = 0; k < ARRAY(flags); k++)
			FAILS(GROVE_EINVAL, grove__log_open(&w->log, w->st, &bad[i], flags[k], &w->d));
		FAILS(GROVE_EINVAL, grove__store_remove(w->st, &bad[i], &w->d));
		FAILS(GROVE_EINVAL, grove__store_rename(w->st, &bad[i], &to, &w->d));
		FAILS(GROVE_EINVAL, grove__store_rename(w->st, &key, &bad[i], &w->d));
	}
	assert_dir(w->dir, "a.jsonl ");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	struct world *w = *state;
	char name[400];
	struct grove_key k = { "", name, "" };

	memset(name, 'n', sizeof(name));
	memcpy(name + sizeof(name) - 7, ".jsonl", 7);
	FAILS(GROVE_EINVAL, grove__log_open(&w->log, w->st, &k, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_EINVAL, grove__log_open(&w->log, w->st, &k, GROVE_STORE_READ, &w->d));
}

/* A line of 2.5 MiB is appended from another log, piece by piece. */
static void a_long_line_is_appended_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *call;
		int nth, err, code;
	} fault[] = {
		{ "write", 1, ENOSPC, GROVE_EFULL }, { "write", 2, ENOSPC, GROVE_EFULL },
		{ "write", 4, EACCES, GROVE_EACCESS }, { "pread", 3, ESTALE, GROVE_ESTALE },
	};
	const struct grove_key other = { "", "b.jsonl", "" };
	struct world *w = *state;
	size_t len = (size_t)5 << 19;
	struct grove_buf text = GROVE_BUF_INIT, got;
	struct grove_store_log *from;
	char path[300];

	assert_int_equal(grove__buf_reserve(&text, len + 8), 0);
	memset(text.ptr, 'x', len);
	memcpy(text.ptr + len, "\nb\n", 4);
	snprintf(path, sizeof(path), "%s/b.jsonl", w->dir);
	file_make(path, text.ptr);
	OK(grove__log_open(&from, w->st, &other, GROVE_STORE_READ, &w->d));
	for (size_t i = 0; i < ARRAY(fault); i++) {
		have(w, "one");
		fail_at(fault[i].call, fault[i].nth, fault[i].err);
		FAILS(fault[i].code, grove__store_jsonl_append_long(w->log, from, 0, len, 3, &w->out, &w->d));
		calm();
		got = file_bytes(w->path);
		assert_true(grove__slice_eq(grove__buf_slice(&got), str("one")));
		grove__buf_release(&got);
	}
	FAILS(GROVE_ECONFLICT, grove__store_jsonl_append_long(w->log, from, 0, len, 2, &w->out, &w->d));
	OK(grove__store_jsonl_append_long(w->log, from, 0, len, 3, &w->out, &w->d));
	assert_int_equal(w->out.pos, 4);
	assert_int_equal(w->out.tail, 4 + len + 1);
	assert_true(w->out.pad);
	OK(add(w, "two", w->out.tail));
	got = file_bytes(w->path);
	assert_int_equal(got.len, 4 + len + 1 + 4);
	assert_memory_equal(got.ptr, "one\n", 4);
	assert_memory_equal(got.ptr + 4, text.ptr, len + 1);
	assert_memory_equal(got.ptr + 4 + len + 1, "two\n", 4);
	grove__buf_release(&got);
	grove__buf_release(&text);
	grove__log_close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_torn_tail_gets_its_line_end_in_the_same_write),
		CASE(appending_nothing_does_not_close_a_torn_tail),
		CASE(an_empty_file_is_not_torn),
		CASE(a_torn_tail_reads_as_the_last_line),
		CASE(a_torn_tail_can_be_replaced_in_its_length),
		CASE(growth_by_others_is_a_conflict),
		CASE(a_line_that_slips_in_before_ours_is_kept),
		CASE(a_line_spoilt_by_half_a_line_is_written_again),
		CASE(whoever_tears_every_line_cannot_spoil_it),
		CASE(a_failed_write_is_no_less_clean_for_others_growth),
		CASE(a_replaced_file_is_stale_until_we_look),
		CASE(a_file_that_was_moved_away_is_not_appended_to),
		CASE(a_replaced_file_with_another_name_is_not_appended_to),
		CASE(a_long_line_is_appended_whole_or_not_at_all),
		CASE(what_happens_right_after_an_append_is_noticed),
		CASE(a_removed_file_is_not_revived),
		CASE(a_file_replaced_by_something_else_is_damaged),
		CASE(a_truncated_file_is_another_generation),
		CASE(a_truncation_is_noticed_by_an_append_too),
		CASE(a_truncation_into_a_line_is_closed),
		CASE(a_short_write_is_finished),
		CASE(a_write_that_fails_leaves_the_file_as_it_was),
		CASE(a_part_that_stays_makes_the_tail_unknown),
		CASE(what_others_wrote_is_never_cut_off),
		CASE(an_append_fails_cleanly_at_every_call),
		CASE(without_locks_an_append_still_works),
		CASE(after_a_failed_sync_every_sync_refuses),
		CASE(a_sync_with_nothing_new_costs_nothing),
		CASE(a_new_file_has_its_name_synced_too),
		CASE(threads_that_append_at_once_share_a_sync),
		CASE(a_look_may_be_had_while_others_append),
		CASE(a_failed_sync_is_told_to_all_who_wait),
		CASE(many_processes_append_whole_lines),
		CASE(a_file_that_never_got_a_line_is_removed),
		CASE(a_new_file_that_others_filled_or_replaced_is_kept),
		CASE(creating_fails_cleanly_at_every_call),
		CASE(a_new_file_is_its_owners_alone),
		CASE(what_is_not_a_file_is_refused_with_a_reason),
		CASE(what_we_may_not_touch_is_refused_with_a_reason),
		CASE(names_that_lead_elsewhere_are_refused),
		CASE(a_name_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
