/*
 * Tests archives: an archive has everything that belongs to a session, nothing
 * that was ever archived is lost, and after any failure the next run completes
 * the archive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/world.h"

#include "blob/blob.h"
#include "dialect/claude_keep.h"
#include "dialect/dialect.h"
#include "js/js.h"
#include "sys/clock.h"
#include "sys/stamp.h"
#include "transfer/archive.h"

#define ID "8f14e45f-ceea-467f-ab3c-000000000001"
#define RECORD(n, parent, type, words) \
	"{\"parentUuid\":" parent ",\"isSidechain\":false,\"type\":\"" type "\",\"message\":{\"role\":\"" type \
	"\",\"content\":\"" words "\"},\"uuid\":\"00000000-0000-4000-8000-00000000000" n "\"," \
	"\"timestamp\":\"2026-01-01T00:00:0" n ".000Z\",\"cwd\":\"/w\",\"sessionId\":\"" ID "\",\"version\":\"2\"}\n"
#define MODE "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"" ID "\"}\n"
#define ONE RECORD("1", "null", "user", "one")
#define TWO RECORD("2", "\"00000000-0000-4000-8000-000000000001\"", "assistant", "two")
#define THREE RECORD("3", "\"00000000-0000-4000-8000-000000000002\"", "user", "three")

static const char *at(const struct world *w, const char *where, const char *name)
{
	static char path[16][8192];
	static unsigned turn;
	char *p = path[turn++ % 16], *slash;

	snprintf(p, sizeof(path[0]), "%s/%s/%s", w->dir, where, name);
	slash = strrchr(p, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(p, 0700), 0);
	*slash = '/';
	return p;
}

#define SRC(name) at(w, "home/.claude/projects/-w", name)
#define ARC(name) at(w, "archive/-w", name)

/* The last progress report, and how many there were. */
static struct {
	int calls;
	enum grove_archive_state state;
	uint64_t lines, files, missing;
	char older[8192];
	int why;
} last;

static int on_archived(void *payload, const struct grove_archived *a)
{
	(void)payload;
	last.calls++;
	last.state = a->state;
	last.lines = a->lines;
	last.files = a->files;
	last.missing = a->missing;
	last.why = a->why ? a->why->code : 0;
	snprintf(last.older, sizeof(last.older), "%s", a->older ? a->older : "");
	return 0;
}

static int run(struct world *w, const char *what)
{
	struct grove_archive_options o = { .size = sizeof(o), .told = on_archived };
	char to[8192];

	memset(&last, 0, sizeof(last));
	last.state = GROVE_ARCHIVE_FAILED;
	snprintf(to, sizeof(to), "%s/archive", w->dir);
	o.to = to;
	return grove_archive(w->g, what, &o, NULL);
}

static void archive(struct world *w, enum grove_archive_state want, uint64_t lines, uint64_t files)
{
	OK(w, run(w, NULL));
	assert_int_equal(last.calls, 1);
	assert_int_equal(last.state, want);
	assert_int_equal(last.lines, lines);
	assert_int_equal(last.files, files);
}

static void assert_same(const char *a, const char *b)
{
	struct grove_buf x = file_bytes(a);

	assert_file(b, x.ptr ? x.ptr : "");
	grove__buf_release(&x);
}

/* Sets an old time, so that a run may trust the file's times. */
static void age(const char *path)
{
	assert_int_equal(grove__sys_set_mtime(path, 1700000000123456789), 0);
}

/* ------------------------------------------------------------------ the log */

static void a_session_that_grew_is_continued(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), MODE ONE);
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	assert_file(ARC(ID ".jsonl"), MODE ONE);
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	file_add(SRC(ID ".jsonl"), TWO THREE);
	archive(w, GROVE_ARCHIVE_GROWN, 2, 0);
	assert_file(ARC(ID ".jsonl"), MODE ONE TWO THREE);
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
}

static void without_its_notes_an_archive_is_read_again(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), MODE ONE);
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	assert_int_equal(unlink(ARC(ID "/.archive.json")), 0);
	file_add(SRC(ID ".jsonl"), TWO);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	file_make(ARC(ID "/.archive.json"), "not a note");
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	file_make(ARC(ID "/.archive.json"), "{\"version\":1,\"logs\":[{\"name\":\"\",\"lines\":1,\"bytes\":7}]}");
	file_add(SRC(ID ".jsonl"), THREE);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
}

static void the_archive_has_the_time_of_the_session(void **state)
{
	struct world *w = *state;
	struct grove__sys_stat st;

	file_make(SRC(ID ".jsonl"), MODE ONE);
	age(SRC(ID ".jsonl"));
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	assert_int_equal(grove__sys_stat(ARC(ID ".jsonl"), &st), 0);
	assert_true(st.mtime_ns == 1700000000123456789);
	assert_int_equal(st.mode, 0600);
}

/* The source has lost lines that the archive had. */
static void lost(struct world *w, const char *now, const char *before)
{
	struct grove_buf old = GROVE_BUF_INIT;

	file_make(SRC(ID ".jsonl"), now);
	archive(w, GROVE_ARCHIVE_KEPT, lines_in(SRC(ID ".jsonl")), 0);
	assert_file(ARC(ID ".jsonl"), now);
	assert_int_equal(grove__buf_addf(&old, "%s/" ID ".jsonl", last.older), 0);
	assert_file(old.ptr, before);
	grove__buf_release(&old);
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	assert_string_equal(last.older, "");
}

static void lines_that_are_gone_are_kept(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), MODE ONE TWO);
	archive(w, GROVE_ARCHIVE_NEW, 3, 0);
	lost(w, MODE ONE, MODE ONE TWO);                /* cut off */
	lost(w, MODE TWO, MODE ONE);                    /* another line in its place */
	lost(w, ONE MODE TWO THREE, MODE TWO);          /* and more lines behind it */
	assert_int_equal(unlink(ARC(ID "/.archive.json")), 0);
	lost(w, THREE, ONE MODE TWO THREE);             /* also without the archive's notes */
}

static void an_empty_source_changes_nothing(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), "");
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	assert_false(is_there(ARC(ID ".jsonl")));
	file_make(SRC(ID ".jsonl"), ONE);
	archive(w, GROVE_ARCHIVE_NEW, 1, 0);
	file_make(SRC(ID ".jsonl"), "");
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	assert_file(ARC(ID ".jsonl"), ONE);
}

static void a_source_that_is_gone_changes_nothing(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(SRC(ID "/tool-results/x.txt"), "big");
	archive(w, GROVE_ARCHIVE_NEW, 1, 1);
	assert_int_equal(unlink(SRC(ID "/tool-results/x.txt")), 0);
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	assert_int_equal(unlink(SRC(ID ".jsonl")), 0);
	OK(w, run(w, NULL));
	assert_int_equal(last.calls, 0);
	GOT(w, run(w, ID), GROVE_ENOTFOUND);
	assert_file(ARC(ID ".jsonl"), ONE);
	assert_file(ARC(ID "/tool-results/x.txt"), "big");
}

static void half_a_line_is_kept_and_finished(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE "{\"type\":");
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	assert_file(ARC(ID ".jsonl"), ONE "{\"type\":\n");
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	file_add(SRC(ID ".jsonl"), "\"mode\"}\n" TWO);
	archive(w, GROVE_ARCHIVE_GROWN, 2, 0);
	assert_file(ARC(ID ".jsonl"), ONE "{\"type\":\"mode\"}\n" TWO);
	assert_string_equal(last.older, "");
}

static void half_a_line_that_was_closed_stays(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE "{\"type\":");
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	file_add(SRC(ID ".jsonl"), "\n" TWO);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
}

static void half_a_line_that_was_cut_off_is_kept(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE "{\"type\":");
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	lost(w, ONE, ONE "{\"type\":\n");
}

/* The machine went down while grove appended to the archive. */
static void half_a_line_in_the_archive_is_mended(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), MODE ONE TWO);
	archive(w, GROVE_ARCHIVE_NEW, 3, 0);
	for (size_t cut = 0; cut < strlen(MODE ONE TWO); cut += 7) {
		assert_int_equal(truncate(ARC(ID ".jsonl"), (off_t)cut), 0);
		OK(w, run(w, NULL));
		assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
		assert_string_equal(last.older, "");
	}
	assert_false(is_there(ARC(ID "/.older")));
}

static void a_long_line_and_many_lines_go_through(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, MODE "{\"type\":\"x\",\"y\":\""), 0);
	for (int i = 0; i < 3 << 20; i++)
		assert_int_equal(grove__buf_add_char(&b, 'y'), 0);
	assert_int_equal(grove__buf_add_str(&b, "\"}\n"), 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(grove__buf_addf(&b, "{\"type\":\"x\",\"n\":%d}\r\n", i), 0);
	file_put(SRC(ID ".jsonl"), O_CREAT | O_TRUNC, b.ptr, b.len);
	archive(w, GROVE_ARCHIVE_NEW, 20002, 0);
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
	file_add(SRC(ID ".jsonl"), ONE);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	assert_int_equal(unlink(ARC(ID "/.archive.json")), 0);
	file_add(SRC(ID ".jsonl"), TWO);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
	grove__buf_release(&b);
}

/* ------------------------------------------------------------ what belongs to it */

static void everything_that_belongs_to_it_goes_along(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(SRC(ID "/subagents/agent-a1.jsonl"), TWO);
	file_make(SRC(ID "/subagents/agent-a1.meta.json"), "{\"agentType\":\"Explore\"}");
	file_make(SRC(ID "/subagents/workflows/r1/agent-a2.jsonl"), THREE);
	file_make(SRC(ID "/tool-results/x.txt"), "big");
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"mine\"}");
	file_make(at(w, "home/.claude/file-history/" ID, "aa@v1"), "before");
	file_make(SRC("memory/note.md"), "not of a session");
	archive(w, GROVE_ARCHIVE_NEW, 3, 4);
	assert_file(ARC(ID "/subagents/agent-a1.jsonl"), TWO);
	assert_file(ARC(ID "/subagents/agent-a1.meta.json"), "{\"agentType\":\"Explore\"}");
	assert_file(ARC(ID "/subagents/workflows/r1/agent-a2.jsonl"), THREE);
	assert_file(ARC(ID "/tool-results/x.txt"), "big");
	assert_file(ARC(ID "/file-history/aa@v1"), "before");
	assert_false(is_there(ARC("memory/note.md")));
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);

	/* a sub-agent continues, a file grows, another file is new */
	file_add(SRC(ID "/subagents/agent-a1.jsonl"), THREE);
	file_add(SRC(ID "/tool-results/x.txt"), "ger");
	file_make(at(w, "home/.claude/file-history/" ID, "aa@v2"), "later");
	archive(w, GROVE_ARCHIVE_GROWN, 1, 2);
	assert_file(ARC(ID "/subagents/agent-a1.jsonl"), TWO THREE);
	assert_file(ARC(ID "/tool-results/x.txt"), "bigger");
	assert_string_equal(last.older, "");
}

/* The disk has space for that many writes. */
#define ENOUGH_ROOM 1000000
static int writes_until;

static int no_more_room(const char *call)
{
	return !strcmp(call, "write") && writes_until-- == 0 ? ENOSPC : 0;
}

static int bring_back(struct world *w)
{
	struct grove_list *l = NULL;
	struct grove *g = world_grove(w);
	int rc;

	grove__sys_fault = no_more_room;
	rc = grove_restore(g, ID, NULL, &l);
	grove__sys_fault = NULL;
	grove_list_free(l);
	grove_close(g);
	return rc;
}

static void what_the_agent_keeps_elsewhere_comes_back_whole(void **state)
{
	struct world *w = *state;
	struct grove_archive_options to = { .size = sizeof(to) };
	const char *first = at(w, "home/.claude/file-history/" ID, "aa@v1"),
		   *second = at(w, "home/.claude/file-history/" ID, "aa@v2");
	int failed = 0, rc;

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(first, "before");
	file_make(second, "later");
	assert_int_equal(grove_archive(w->g, ID, &to, NULL), 0);
	do {
		scratch_remove(at(w, "home", ".claude"));
		assert_int_equal(grove__sys_mkdirs(at(w, "home/.claude", "projects"), 0700), 0);
		writes_until = failed;
		rc = bring_back(w);
		if (!rc)
			break;
		assert_int_equal(rc, GROVE_EFULL);
		failed++;
		/* the next run is not hindered by what was half done */
		writes_until = ENOUGH_ROOM;
		if (!is_there(SRC(ID ".jsonl")))
			assert_int_equal(bring_back(w), 0);
		if (is_there(first))
			assert_file(first, "before");
		if (is_there(second))
			assert_file(second, "later");
	} while (failed < 50);
	assert_true(failed > 1);
	assert_file(SRC(ID ".jsonl"), ONE);
	assert_file(first, "before");
	assert_file(second, "later");

	/* what is in the archive stays as it is */
	assert_int_equal(unlink(SRC(ID ".jsonl")), 0);
	file_make(first, "after");
	writes_until = ENOUGH_ROOM;
	assert_int_equal(bring_back(w), 0);
	assert_file(first, "after");
}

static void a_file_that_changed_is_kept_as_it_was(void **state)
{
	struct world *w = *state;
	struct grove_buf old = GROVE_BUF_INIT;

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(SRC(ID "/subagents/agent-a1.jsonl"), TWO);
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"mine\"}");
	archive(w, GROVE_ARCHIVE_NEW, 2, 1);
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"hers\"}");
	file_make(SRC(ID "/subagents/agent-a1.jsonl"), THREE);
	archive(w, GROVE_ARCHIVE_KEPT, 1, 1);
	assert_file(ARC(ID "/custom-title.json"), "{\"customTitle\":\"hers\"}");
	assert_file(ARC(ID "/subagents/agent-a1.jsonl"), THREE);
	assert_int_equal(grove__buf_addf(&old, "%s/custom-title.json", last.older), 0);
	assert_file(old.ptr, "{\"customTitle\":\"mine\"}");
	grove__buf_clear(&old);
	assert_int_equal(grove__buf_addf(&old, "%s/subagents/agent-a1.jsonl", last.older), 0);
	assert_file(old.ptr, TWO);
	grove__buf_release(&old);
}

/* Replaced versions are kept in a directory named by the time, which may be that of another run. */
static void what_an_earlier_run_kept_is_not_replaced(void **state)
{
	enum { SPAN_MS = 5000 };
	struct world *w = *state;
	struct grove_buf old = GROVE_BUF_INIT;
	char iso[GROVE__JS_ISO_MAX], dir[8192], path[8400];

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"mine\"}");
	archive(w, GROVE_ARCHIVE_NEW, 1, 1);
	assert_int_equal(mkdir(ARC(ID "/.older"), 0700), 0);
	for (int64_t now = grove__sys_now_ms(), ms = now; ms < now + SPAN_MS; ms++) {
		size_t n = grove__js_iso(iso, ms), to = 0;

		for (size_t i = 0; i < n; i++)
			if (iso[i] != '-' && iso[i] != ':')
				iso[to++] = iso[i];
		snprintf(dir, sizeof(dir), "%s/%.*s", ARC(ID "/.older"), (int)to, iso);
		assert_int_equal(mkdir(dir, 0700), 0);
		snprintf(path, sizeof(path), "%s/" ID ".jsonl", dir);
		file_make(path, TWO);
		snprintf(path, sizeof(path), "%s/custom-title.json", dir);
		file_make(path, "{}");
	}
	file_make(SRC(ID ".jsonl"), THREE);
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"hers\"}");
	archive(w, GROVE_ARCHIVE_KEPT, 1, 1);
	assert_int_equal(grove__buf_addf(&old, "%s/custom-title.json", last.older), 0);
	assert_file(old.ptr, "{\"customTitle\":\"mine\"}");
	grove__buf_clear(&old);
	assert_int_equal(grove__buf_addf(&old, "%s/" ID ".jsonl", last.older), 0);
	assert_file(old.ptr, ONE);
	assert_file(path, "{}");
	grove__buf_release(&old);
}

static void the_path_of_a_sub_agent_means_its_session(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE);
	file_make(SRC(ID "/subagents/agent-a1.jsonl"), TWO);
	OK(w, run(w, SRC(ID "/subagents/agent-a1.jsonl")));
	assert_int_equal(last.state, GROVE_ARCHIVE_NEW);
	assert_file(ARC(ID ".jsonl"), ONE);
	assert_file(ARC(ID "/subagents/agent-a1.jsonl"), TWO);
}

static void a_file_anywhere_is_named_by_its_directory(void **state)
{
	struct world *w = *state;

	make(w, "a.jsonl", BRANCHES);
	OK(w, run(w, in_world(w, "a.jsonl")));
	assert_int_equal(last.state, GROVE_ARCHIVE_NEW);
	assert_file(at(w, "archive/w", "a.jsonl"), BRANCHES);
	/* the archive is not a source of itself */
	OK(w, run(w, at(w, "archive/w", "a.jsonl")));
	assert_int_equal(last.state, GROVE_ARCHIVE_FAILED);
	assert_int_equal(last.why, GROVE_EINVAL);
}

static void two_files_of_one_name_do_not_meet(void **state)
{
	struct world *w = *state;

	file_make(at(w, "a/p", "s"), BRANCHES);
	file_make(at(w, "b/p", "s"), HEADER);
	for (int i = 0; i < 3; i++) {
		OK(w, run(w, at(w, "a/p", "s")));
		assert_int_equal(last.state, i ? GROVE_ARCHIVE_UNCHANGED : GROVE_ARCHIVE_NEW);
		OK(w, run(w, at(w, "b/p", "s")));
		assert_int_equal(last.state, i ? GROVE_ARCHIVE_UNCHANGED : GROVE_ARCHIVE_NEW);
	}
	assert_file(at(w, "archive/p", "s.jsonl"), BRANCHES);
	assert_file(at(w, "archive/p~2", "s.jsonl"), HEADER);
	/* a session that was moved continues in the same place of the archive */
	assert_int_equal(rename(at(w, "a/p", "s"), at(w, "c/p", "s")), 0);
	file_add(at(w, "c/p", "s"), ENTRY("u9", "null", "user", "nine"));
	OK(w, run(w, at(w, "c/p", "s")));
	assert_int_equal(last.state, GROVE_ARCHIVE_GROWN);
	assert_int_equal(last.lines, 1);
}

static void an_archive_is_read_like_any_store(void **state)
{
	struct world *w = *state;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables };
	const char *store = at(w, "archive", "");
	struct grove_list *l;
	struct grove_session *s;
	struct grove *g;

	file_make(SRC(ID ".jsonl"), MODE ONE TWO);
	file_make(SRC(ID "/custom-title.json"), "{\"customTitle\":\"mine\"}");
	archive(w, GROVE_ARCHIVE_NEW, 3, 1);
	file_make(SRC(ID ".jsonl"), MODE ONE);
	archive(w, GROVE_ARCHIVE_KEPT, 2, 0);
	o.stores = &store;
	o.nr_stores = 1;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_list(g, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->dialect, "claude");
	assert_string_equal(grove_list_at(l, 0)->name, "mine");
	grove_list_free(l);
	assert_int_equal(grove_session_open(g, ID, GROVE_OPEN_READ, &s), 0);
	assert_string_equal(grove_session_dialect(s), "claude");
	grove_session_close(s);
	grove_close(g);
}

/* ------------------------------------------------------------ any kind of store */

struct gathered {
	struct grove_store *st;
	struct grove_buf text;
};

static int gather_key(void *payload, const struct grove_key *key)
{
	struct gathered *x = payload;
	struct grove_detail d;
	struct grove_store_log *log;
	struct grove_store_log_stat st;
	struct grove_store_run run;
	char buf[4096];

	assert_int_equal(grove__log_open(&log, x->st, key, GROVE_STORE_READ, &d), 0);
	assert_int_equal(grove__log_stat(log, &st, &d), 0);
	assert_int_equal(grove__log_read(log, 0, st.tail, buf, sizeof(buf), &run, &d), 0);
	assert_int_equal(grove__buf_addf(&x->text, "[%s]%.*s", key->subpath, (int)run.len, buf), 0);
	grove__log_close(log);
	return 0;
}

static void a_store_without_files_holds_the_same(void **state)
{
	struct world *w = *state;
	struct grove_archive_options o = { .size = sizeof(o), .told = on_archived };
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_key key = { "-w", ID ".jsonl", "" };
	struct gathered x = { .text = GROVE_BUF_INIT };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail d;

	assert_int_equal(grove__store_open(&x.st, "memory:", &d), 0);
	file_make(SRC(ID ".jsonl"), ONE "{\"torn");
	file_make(SRC(ID "/subagents/agent-a1.jsonl"), TWO);
	file_make(SRC(ID "/tool-results/x.txt"), "big");
	OK(w, grove__archive_into(w->g, NULL, x.st, &o, &r, &d));
	assert_int_equal(r.added, 1);
	file_add(SRC(ID ".jsonl"), "\":1}\n" TWO);
	OK(w, grove__archive_into(w->g, NULL, x.st, &o, &r, &d));
	assert_int_equal(r.grown, 1);
	OK(w, grove__archive_into(w->g, NULL, x.st, &o, &r, &d));
	assert_int_equal(r.unchanged, 1);
	file_make(SRC(ID ".jsonl"), THREE);
	OK(w, grove__archive_into(w->g, NULL, x.st, &o, &r, &d));
	assert_int_equal(r.kept, 1);
	assert_int_equal(r.failed, 0);
	assert_int_equal(grove__store_list(x.st, NULL, gather_key, &x, &d), 0);
	assert_string_equal(x.text.ptr, "[]" THREE);
	grove__buf_clear(&x.text);
	assert_int_equal(grove__store_list_subs(x.st, NULL, gather_key, &x, &d), 0);
	assert_non_null(strstr(x.text.ptr, "[subagents/agent-a1.jsonl]" TWO));
	assert_non_null(strstr(x.text.ptr, ID ".jsonl]" ONE "{\"torn\":1}\n" TWO));
	assert_int_equal(grove__store_attach_get(x.st, &key, "tool-results/x.txt", &b, &d), 0);
	assert_string_equal(b.ptr, "big");
	grove__buf_release(&b);
	grove__buf_release(&x.text);
	grove__store_close(x.st);
}

/* ------------------------------------------------------------------- blobs */

#define XCSH "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"title\":\"t\"}\n"
#define IMAGE(id, hash) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\"," \
	"\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"blob:sha256:%s\",\"mimeType\":\"image/png\"}]}}\n"

static void blobs_go_along_and_are_found(void **state)
{
	struct world *w = *state;
	struct grove_blobs_put_options bo = { .size = sizeof(bo) };
	char ref[GROVE_BLOB_REF_MAX], line[2048], name[256];
	const char *hash = ref + strlen("blob:sha256:");
	struct grove_session *s;
	struct grove_blobs *b;
	struct grove_buf path = GROVE_BUF_INIT;

	OK(w, grove_blobs_open(w->g, NULL, &b));
	OK(w, grove_blobs_put(b, text("picture"), &bo, ref, NULL));
	snprintf(line, sizeof(line), XCSH IMAGE("u1", ), hash);
	file_make(at(w, "home/.xcsh/agent/sessions/-p", "a.jsonl"), line);
	archive(w, GROVE_ARCHIVE_NEW, 2, 1);
	assert_int_equal(last.missing, 0);
	snprintf(name, sizeof(name), "a/blobs/%s", hash);
	assert_file(at(w, "archive/-p", name), "picture");
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);

	/* a blob that is missing is reported, and nothing else is affected */
	snprintf(line, sizeof(line), IMAGE("u2", ), "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	file_add(at(w, "home/.xcsh/agent/sessions/-p", "a.jsonl"), line);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	assert_int_equal(last.missing, 1);

	/* the agent's own blobs are gone, but the archive can still be read */
	OK(w, grove_blobs_path(b, ref, &path));
	assert_int_equal(unlink(path.ptr), 0);
	s = session_at(w, at(w, "archive/-p", "a.jsonl"), GROVE_OPEN_READ);
	assert_context(w, s, "u1", "cGljdHVyZQ==");
	grove_session_close(s);
	/* other bytes with the blob's name are not the blob */
	file_make(at(w, "archive/-p", name), "another");
	s = session_at(w, at(w, "archive/-p", "a.jsonl"), GROVE_OPEN_READ);
	assert_context(w, s, "u1", ref);
	grove_session_close(s);
	grove_blobs_close(b);
	grove__buf_release(&path);
}

/* ------------------------------------------------------------------ failures */

static void one_bad_session_keeps_no_other_out(void **state)
{
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_archive_options o = { .size = sizeof(o) };

	assert_int_equal(mkdir(SRC("00000000-0000-0000-0000-000000000000.jsonl"), 0700), 0);
	file_make(SRC(ID ".jsonl"), ONE);
	o.to = at(w, "archive", "");
	OK(w, grove_archive(w->g, NULL, &o, &r));
	assert_int_equal(r.sessions, 2);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.added, 1);
	assert_file(ARC(ID ".jsonl"), ONE);
}

static void a_line_too_long_to_be_held_is_kept(void **state)
{
	struct world *w = *state;
	size_t len = (size_t)3 << 20, n = sizeof(ONE) - 1;
	char *text = malloc(n + len + sizeof(TWO));
	uint64_t max = grove__line_max;
	struct grove_buf got;

	assert_non_null(text);
	memcpy(text, ONE, n);
	memset(text + n, 'x', len - 1);
	text[n + len - 1] = '\n';
	memcpy(text + n + len, TWO, sizeof(TWO));
	grove__line_max = (uint64_t)3 << 19;
	/* first half of it */
	file_put(SRC(ID ".jsonl"), O_CREAT | O_TRUNC | O_WRONLY, text, n + len / 2);
	archive(w, GROVE_ARCHIVE_NEW, 2, 0);
	file_put(SRC(ID ".jsonl"), O_CREAT | O_TRUNC | O_WRONLY, text, n + len);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	archive(w, GROVE_ARCHIVE_UNCHANGED, 0, 0);
	file_make(SRC(ID ".jsonl"), text);
	archive(w, GROVE_ARCHIVE_GROWN, 1, 0);
	got = file_bytes(ARC(ID ".jsonl"));
	assert_int_equal(got.len, strlen(text));
	assert_memory_equal(got.ptr, text, got.len);
	grove__buf_release(&got);
	grove__line_max = max;
	free(text);
}

static void a_wrong_archive_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_archive_options o = { .size = sizeof(o), .to = "gopher:x" };

	GOT(w, grove_archive(w->g, NULL, &o, NULL), GROVE_EINVAL);
}

/* Asserts that every line that was ever in the source is in the archive. */
static void assert_kept(struct world *w, const char *line)
{
	struct grove_buf all = GROVE_BUF_INIT, one, names = dir_names(ARC(ID));
	char *save, *name, path[8192];

	one = file_bytes(ARC(ID ".jsonl"));
	assert_int_equal(grove__buf_add_slice(&all, grove__buf_slice(&one)), 0);
	grove__buf_release(&one);
	grove__buf_release(&names);
	if (is_there(ARC(ID "/.older"))) {
		names = dir_names(ARC(ID "/.older"));
		for (name = strtok_r(names.ptr, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
			snprintf(path, sizeof(path), "%s/%s/" ID ".jsonl", ARC(ID "/.older"), name);
			if (!is_there(path))
				continue;
			one = file_bytes(path);
			assert_int_equal(grove__buf_add_slice(&all, grove__buf_slice(&one)), 0);
			grove__buf_release(&one);
		}
		grove__buf_release(&names);
	}
	if (!strstr(all.ptr, line))
		fail_msg("lost: %s", line);
	grove__buf_release(&all);
}

/* A session grows and changes while it is archived, and one call fails. */
static bool live(struct world *w, const char *call, int err, int after)
{
	static const char *const states[] = { MODE ONE, MODE ONE TWO, MODE THREE, MODE THREE ONE };
	bool hit = false;

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		file_make(SRC(ID ".jsonl"), states[i]);
		file_make(SRC(ID "/custom-title.json"), i < 2 ? "{}" : "{\"a\":1}");
		fail_at(call, err, after, 1);
		run(w, NULL);
		hit |= !plan.times;
		after = plan.times ? plan.after : 1 << 30;
		all_is_well();
	}
	OK(w, run(w, NULL));
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
	assert_file(ARC(ID "/custom-title.json"), "{\"a\":1}");
	OK(w, run(w, NULL));
	assert_int_equal(last.state, GROVE_ARCHIVE_UNCHANGED);
	return hit;
}

static void whatever_fails_the_next_run_makes_it_good(void **state)
{
	static const struct {
		const char *call;
		int err;
	} faults[] = {
		{ "open", EMFILE }, { "write", ENOSPC }, { "write", GROVE__SYS_SHORT },
		{ "pread", EIO }, { "fdatasync", EIO }, { "fsync", EIO }, { "rename", EIO },
		{ "mkdir", EACCES }, { "stat", EIO }, { "fstat", EIO }, { "lstat", EACCES },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		for (int n = 0; n < 400; n++) {
			bool hit = live(w, faults[i].call, faults[i].err, n);

			assert_kept(w, MODE THREE ONE);
			scratch_remove(at(w, "archive", ""));
			if (!hit)
				break;
		}
	}
}

/* If a run fails half way, what an earlier run had kept is still there. */
static void a_failure_loses_no_line(void **state)
{
	struct world *w = *state;

	for (int n = 0; n < 20; n++) {
		file_make(SRC(ID ".jsonl"), MODE ONE TWO);
		OK(w, run(w, NULL));
		file_make(SRC(ID ".jsonl"), THREE);
		fail_at("fsync", EIO, n % 20, 1);
		run(w, NULL);
		fail_at("rename", EIO, n % 7, -1);
		run(w, NULL);
		all_is_well();
		assert_kept(w, MODE ONE TWO);
		OK(w, run(w, NULL));
		assert_file(ARC(ID ".jsonl"), THREE);
		assert_kept(w, MODE ONE TWO);
		scratch_remove(at(w, "archive", ""));
	}
}

static int stop(void *payload, uint64_t done, uint64_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return 1;
}

static void it_can_be_stopped(void **state)
{
	struct world *w = *state;

	file_make(SRC(ID ".jsonl"), ONE TWO);
	grove_set_progress(w->g, (struct grove_progress){ stop, NULL });
	GOT(w, run(w, NULL), GROVE_ECANCELLED);
	grove_set_progress(w->g, (struct grove_progress){ NULL, NULL });
	OK(w, run(w, NULL));
	assert_same(SRC(ID ".jsonl"), ARC(ID ".jsonl"));
}

/* ------------------------------------------------------------------- expiry */

#define DAY ((int64_t)86400000)

static int64_t expires(const char *settings)
{
	return grove__claude_expires(grove__slice_str(settings), 0);
}

static void the_settings_say_how_long_a_session_lives(void **state)
{
	(void)state;
	assert_true(expires("") == 30 * DAY);
	assert_true(expires("{}") == 30 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":7}") == 7 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":1}") == DAY);
	assert_true(expires("{\"cleanupPeriodDays\":0}") == 30 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":-3}") == 30 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":\"7\"}") == 30 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":99999}") == 99999 * DAY);
	assert_true(expires("{\"cleanupPeriodDays\":1e300}") == GROVE_NO_TIME);
	assert_true(expires("[7]") == 30 * DAY);
}

static size_t expiring(struct grove *g, int64_t within, const char *first)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL | GROVE_LIST_EXPIRING, .within = within };
	struct grove_list *l;
	size_t nr;

	assert_int_equal(grove_list(g, &o, &l), 0);
	nr = grove_list_count(l);
	if (nr)
		assert_non_null(strstr(grove_list_at(l, 0)->path, first));
	grove_list_free(l);
	return nr;
}

static void a_list_tells_what_expires(void **state)
{
	struct world *w = *state;
	struct grove_archive_options o = { .size = sizeof(o), .flags = GROVE_ARCHIVE_EXPIRING, .within = 7 * DAY };
	struct grove_archive_result r = { .size = sizeof(r) };
	int64_t now = (int64_t)time(NULL) * 1000;
	struct grove_options other = { .size = sizeof(other), .home = w->home, .cwd = w->cwd,
				       .getenv = no_variables };
	const char *store;
	struct grove *g;

	file_make(SRC(ID ".jsonl"), ONE);
	assert_int_equal(grove__sys_set_mtime(SRC(ID ".jsonl"), (now - 25 * DAY) * 1000000), 0);
	file_make(SRC("8f14e45f-ceea-467f-ab3c-000000000002.jsonl"), ONE);
	file_make(SRC("8f14e45f-ceea-467f-ab3c-000000000003.jsonl"), ONE);
	assert_int_equal(grove__sys_set_mtime(SRC("8f14e45f-ceea-467f-ab3c-000000000003.jsonl"),
					      (now - 31 * DAY) * 1000000), 0);
	file_make(at(w, "home/.pi/agent/sessions/--w--", "a.jsonl"), BRANCHES);
	assert_int_equal(expiring(w->g, -1, "000000000003"), 3);
	assert_int_equal(expiring(w->g, 7 * DAY, "000000000003"), 2);
	assert_int_equal(expiring(w->g, 1 * DAY, "000000000003"), 1);
	o.to = at(w, "archive", "");
	OK(w, grove_archive(w->g, NULL, &o, &r));
	assert_int_equal(r.added, 2);
	file_make(at(w, "home/.claude", "settings.json"), "{\n  \"cleanupPeriodDays\": 365\n}\n");
	assert_int_equal(expiring(w->g, 7 * DAY, ""), 0);
	file_make(at(w, "home/.claude", "settings.json"), "{ broken");
	assert_int_equal(expiring(w->g, 7 * DAY, "000000000003"), 2);
	/* nothing expires in the archive */
	store = o.to;
	other.stores = &store;
	other.nr_stores = 1;
	assert_int_equal(grove_open(&other, &g), 0);
	assert_int_equal(expiring(g, -1, ""), 0);
	grove_close(g);
	/* but in the agent's own directory it does, also if that was named as the store */
	store = at(w, "home/.claude", "projects");
	assert_int_equal(grove_open(&other, &g), 0);
	assert_int_equal(expiring(g, -1, "000000000003"), 3);
	grove_close(g);
}

static void lines_about_a_session_tell_the_dialect(void **state)
{
	static const char *const claude[] = {
		MODE, ONE, "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}",
		"{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}",
		"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"s\"}",
	};
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(claude) / sizeof(*claude); i++) {
		grove__buf_clear(&b);
		assert_int_equal(grove__buf_add_str(&b, claude[i]), 0);
		assert_int_equal(grove__buf_reserve(&b, 64), 0);
		assert_ptr_equal(grove__dialect_recognise(grove__buf_slice(&b)), &grove__dialect_claude);
	}
	grove__buf_clear(&b);
	assert_int_equal(grove__buf_add_str(&b, HEADER), 0);
	assert_int_equal(grove__buf_reserve(&b, 64), 0);
	assert_null(grove__dialect_recognise(grove__buf_slice(&b)));
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_session_that_grew_is_continued),
		WORLD_TEST(without_its_notes_an_archive_is_read_again),
		WORLD_TEST(the_archive_has_the_time_of_the_session),
		WORLD_TEST(lines_that_are_gone_are_kept),
		WORLD_TEST(an_empty_source_changes_nothing),
		WORLD_TEST(a_source_that_is_gone_changes_nothing),
		WORLD_TEST(half_a_line_is_kept_and_finished),
		WORLD_TEST(half_a_line_that_was_closed_stays),
		WORLD_TEST(half_a_line_that_was_cut_off_is_kept),
		WORLD_TEST(half_a_line_in_the_archive_is_mended),
		WORLD_TEST(a_long_line_and_many_lines_go_through),
		WORLD_TEST(everything_that_belongs_to_it_goes_along),
		WORLD_TEST(what_the_agent_keeps_elsewhere_comes_back_whole),
		WORLD_TEST(a_file_that_changed_is_kept_as_it_was),
		WORLD_TEST(what_an_earlier_run_kept_is_not_replaced),
		WORLD_TEST(the_path_of_a_sub_agent_means_its_session),
		WORLD_TEST(a_file_anywhere_is_named_by_its_directory),
		WORLD_TEST(two_files_of_one_name_do_not_meet),
		WORLD_TEST(an_archive_is_read_like_any_store),
		WORLD_TEST(a_store_without_files_holds_the_same),
		WORLD_TEST(blobs_go_along_and_are_found),
		WORLD_TEST(one_bad_session_keeps_no_other_out),
		WORLD_TEST(a_line_too_long_to_be_held_is_kept),
		WORLD_TEST(a_wrong_archive_is_refused),
		WORLD_TEST(whatever_fails_the_next_run_makes_it_good),
		WORLD_TEST(a_failure_loses_no_line),
		WORLD_TEST(it_can_be_stopped),
		cmocka_unit_test(the_settings_say_how_long_a_session_lives),
		WORLD_TEST(a_list_tells_what_expires),
		cmocka_unit_test(lines_about_a_session_tell_the_dialect),
	};

	scratch_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
