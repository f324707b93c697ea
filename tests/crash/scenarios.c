/*
 * tests/crash/scenarios.c: the work that is interrupted.
 *
 * Each step is noted in the ledger before it begins and after it was answered.
 * A step that fails does not end the scenario: the following steps must cope.
 */
#include "crash.h"

#include "../../lib/sys/file.h"

#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../lib/calls.h"

#define ALL "pi xcsh omp claude"
#define FORK_ID "0f0f0f0f-1111-4222-8333-444444444444"

/* ------------------------------------------------------------- the notebook */

static void note(struct run *r, enum fact_kind kind, char tag, unsigned mark, int code,
		 const char *id)
{
	struct fact f = { .kind = kind, .tag = tag, .mark = mark, .code = code, .deeds = disk_deeds() };

	snprintf(f.id, sizeof(f.id), "%s", id ? id : "");
	ledger_add(&r->ledger, f);
}

const struct fact *run_fact(const struct run *r, enum fact_kind kind, char tag, unsigned mark)
{
	for (size_t i = r->ledger.nr; i-- > 0;) {
		const struct fact *f = &r->ledger.fact[i];

		if (f->kind == kind && f->tag == tag && f->mark == mark)
			return f;
	}
	return NULL;
}

void run_wrong(struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (*r->wrong)
		return;
	va_start(ap, fmt);
	vsnprintf(r->wrong, sizeof(r->wrong), fmt, ap);
	va_end(ap);
}

/* Steps that leave no entry have numbers of their own. */
enum { STEP_RENAME = 1, STEP_UPDATE, STEP_FORK, STEP_MOVE, STEP_REMOVE, STEP_COPY, STEP_ARCHIVE,
       STEP_BLOB, STEP_ARTIFACT, STEP_CUSTOM, STEP_LEAF, STEP_FORGET, STEP_SYNC };

static void begin(struct run *r, unsigned step)
{
	note(r, FACT_TRIED, TAG_STEP, step, 0, NULL);
}

static int end(struct run *r, unsigned step, int rc)
{
	note(r, rc < 0 ? FACT_REFUSED : FACT_KEPT, TAG_STEP, step, rc, NULL);
	return rc;
}

static bool done(const struct run *r, unsigned step)
{
	return run_fact(r, FACT_KEPT, TAG_STEP, step) != NULL;
}

/* Returns true if the step was done and, if the power failed, was synced afterwards. */
static bool settled(const struct run *r, unsigned step)
{
	const struct fact *f = run_fact(r, FACT_KEPT, TAG_STEP, step);

	return f && (!r->e->power || run_fact(r, FACT_SYNCED, TAG_MAIN, 0) > f);
}

bool run_removed(const struct run *r)
{
	return run_fact(r, FACT_TRIED, TAG_STEP, STEP_REMOVE) != NULL;
}

/* Notes the failure of any other call, too: a signal must not make anything fail. */
static int also(struct run *r, int rc)
{
	if (rc < 0)
		note(r, FACT_REFUSED, TAG_STEP, 0, rc, NULL);
	return rc;
}

/* ---------------------------------------------------------------- the world */

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

struct grove *run_open(struct run *r, char tag)
{
	const char *store = tag == TAG_COPY ? r->copy : tag == TAG_ARCHIVE ? r->archive
			    : r->sqlite ? r->store : NULL;
	struct grove_options o = { .size = sizeof(o), .home = r->home, .cwd = r->cwd,
				   .getenv = no_variables, .dialect = store ? NULL : r->dialect,
				   .stores = store ? &store : NULL, .nr_stores = store ? 1 : 0 };
	struct grove *g = NULL;
	int rc = grove_open(&o, &g);

	if (rc) {
		also(r, rc);
		grove_close(g);
		return NULL;
	}
	return g;
}

static struct grove_session *open_main(struct run *r, unsigned flags)
{
	struct grove_session *s = NULL;

	if (!r->g)
		return NULL;
	if (also(r, grove_session_open(r->g, r->id, flags, &s))) {
		grove_session_close(s);
		return NULL;
	}
	return s;
}

static struct grove_session *new_main(struct run *r, unsigned flags)
{
	struct grove_create_options o = { .size = sizeof(o), .dialect = r->dialect, .flags = flags };
	struct grove_session *s = NULL;

	if (!r->g)
		return NULL;
	if (also(r, grove_session_create(r->g, &o, &s))) {
		grove_session_close(s);
		return NULL;
	}
	snprintf(r->id, sizeof(r->id), "%s", grove_session_id(s));
	note(r, FACT_NAMED, TAG_MAIN, 0, 0, r->id);
	return s;
}

/* ----------------------------------------------------------------- messages */

/* Some messages are longer than a sector of the disk, one is longer than a page. */
static struct grove_slice message(unsigned mark, char *out, size_t cap)
{
	static const int length[] = { 10, 700, 40, 1300, 5000, 3 };
	static char pad[5001];
	int n;

	memset(pad, 'x', sizeof(pad) - 1);
	if (mark % 2)
		n = snprintf(out, cap, "{\"role\":\"user\",\"content\":\"[m%04u]%.*s\"}", mark,
			     length[mark % 6], pad);
	else
		n = snprintf(out, cap, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
			     "\"text\":\"[m%04u]%.*s\"}]}", mark, length[mark % 6], pad);
	return (struct grove_slice){ out, (size_t)n };
}

static void hold(struct run *r, unsigned mark, const char *id)
{
	struct fact *f = &r->held[r->nr_held++];

	f->mark = mark;
	snprintf(f->id, sizeof(f->id), "%s", id ? id : "");
}

static void keep_held(struct run *r)
{
	for (unsigned i = 0; i < r->nr_held; i++)
		note(r, FACT_KEPT, TAG_MAIN, r->held[i].mark, 0, r->held[i].id);
	r->nr_held = 0;
}

static void say_many(struct run *r, struct grove_session *s, enum grove_sync sync, size_t nr)
{
	static char text[8][6000];
	struct grove_append_options o = { .size = sizeof(o), .sync = sync };
	struct grove_slice json[8];
	const char *id[8] = { NULL };
	unsigned first = r->ledger.marks + 1;
	int rc;

	if (!s)
		return;
	for (size_t i = 0; i < nr; i++) {
		json[i] = message(++r->ledger.marks, text[i], sizeof(text[i]));
		note(r, FACT_TRIED, TAG_MAIN, r->ledger.marks, 0, NULL);
	}
	rc = nr == 1 ? grove_session_append(s, json[0], &o, INTO(id))
		     : grove_session_append_many(s, json, nr, &o, INTO(id));
	for (size_t i = 0; i < nr; i++) {
		if (rc)
			note(r, FACT_REFUSED, TAG_MAIN, first + (unsigned)i, rc, NULL);
		else
			hold(r, first + (unsigned)i, id[i]);
	}
	/*
	 * until the assistant answers, some agents keep no file; grove_session_pending() reports
	 * that
	 */
	if (!rc && !grove_session_pending(s)) {
		keep_held(r);
		if (sync == GROVE_SYNC_ALWAYS)
			note(r, FACT_SYNCED, TAG_MAIN, 0, 0, NULL);
	}
}

static void say(struct run *r, struct grove_session *s, enum grove_sync sync)
{
	say_many(r, s, sync, 1);
}

/* Begins an entry that a call of its own will write; stores its mark in `words`. */
static unsigned begin_entry(struct run *r, char words[24])
{
	unsigned mark = ++r->ledger.marks;

	snprintf(words, 24, "[m%04u]", mark);
	note(r, FACT_TRIED, TAG_MAIN, mark, 0, NULL);
	return mark;
}

static void end_entry(struct run *r, unsigned mark, int rc, const char *id)
{
	note(r, rc ? FACT_REFUSED : FACT_KEPT, TAG_MAIN, mark, rc, id);
}

static void sync_main(struct run *r, struct grove_session *s)
{
	if (s && !end(r, STEP_SYNC, grove_session_sync(s)) && !grove_session_pending(s))
		note(r, FACT_SYNCED, TAG_MAIN, 0, 0, NULL);
}

/* Returns the id of the nth acknowledged entry, from 0. */
static const char *nth_id(const struct run *r, size_t n)
{
	for (size_t i = 0; i < r->ledger.nr; i++) {
		const struct fact *f = &r->ledger.fact[i];

		if (f->kind == FACT_KEPT && f->tag == TAG_MAIN && !n--)
			return f->id;
	}
	return "none";
}

/* Creates a session of four entries that are synced to the disk. */
static void four(struct run *r)
{
	struct grove_session *s;

	r->g = run_open(r, TAG_MAIN);
	s = new_main(r, 0);
	say(r, s, GROVE_SYNC_NONE);
	say_many(r, s, GROVE_SYNC_NONE, 2);
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
	grove_close(r->g);
	r->g = NULL;
}

/* ------------------------------------------------------------------- append */

static void work_create(struct run *r)
{
	struct grove_session *s = new_main(r, 0);

	say(r, s, GROVE_SYNC_NONE);
	say(r, s, GROVE_SYNC_ALWAYS);
	say(r, s, GROVE_SYNC_FLUSH);
	grove_session_close(s);
}

/* The header is written at once, and the power may fail before anything follows it. */
static void work_create_now(struct run *r)
{
	struct grove_session *s = new_main(r, GROVE_CREATE_NOW);

	sync_main(r, s);
	say(r, s, GROVE_SYNC_NONE);
	sync_main(r, s);
	grove_session_close(s);
}

static void work_append(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say(r, s, GROVE_SYNC_NONE);
	say(r, s, GROVE_SYNC_NONE);
	say(r, s, GROVE_SYNC_FLUSH);
	say(r, s, GROVE_SYNC_ALWAYS);
	say(r, s, GROVE_SYNC_NONE);
	say(r, s, GROVE_SYNC_ALWAYS);
	say(r, s, GROVE_SYNC_NONE);
	sync_main(r, s);
	say(r, s, GROVE_SYNC_NONE);
	grove_session_close(s);
}

static void work_batch(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say_many(r, s, GROVE_SYNC_NONE, 4);
	say_many(r, s, GROVE_SYNC_ALWAYS, 3);
	say_many(r, s, GROVE_SYNC_FLUSH, 8);
	say(r, s, GROVE_SYNC_NONE);
	grove_session_close(s);
}

/* Two handles write in turn: each finds what the other one wrote. */
static void work_turns(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE), *t = open_main(r, GROVE_OPEN_WRITE);

	for (int i = 0; i < 3; i++) {
		say(r, s, GROVE_SYNC_NONE);
		say(r, t, GROVE_SYNC_ALWAYS);
	}
	grove_session_close(s);
	grove_session_close(t);
}

static void work_entries(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);
	struct grove_compaction c = { .size = sizeof(c), .tokens_before = 1 };
	struct grove_branch_summary b = { .size = sizeof(b) };
	const char *id = NULL;
	char words[24];
	unsigned mark;
	int rc;

	if (!s)
		return;
	mark = begin_entry(r, words);
	rc = grove_session_append_label(s, nth_id(r, 1), words, NULL, INTO(&id));
	end_entry(r, mark, rc, id);
	mark = begin_entry(r, words);
	c.summary = words;
	c.first_kept = nth_id(r, 2);
	rc = grove_session_append_compaction(s, &c, NULL, INTO(&id));
	end_entry(r, mark, rc, id);
	mark = begin_entry(r, words);
	b.summary = words;
	rc = branch_from(s, nth_id(r, 1), &b, &id);
	end_entry(r, mark, rc, id);
	say(r, s, GROVE_SYNC_NONE);
	begin(r, STEP_LEAF);
	end(r, STEP_LEAF, grove_session_set_leaf(s, nth_id(r, 0), LEAF(GROVE_LEAF_PERSIST), NULL));
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

/* Several records in one call, as an application that uses Claude passes them. */
static void work_records(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);
	static char text[2][6400];
	struct grove_slice json[2];

	for (size_t turn = 0; s && turn < 2; turn++) {
		struct grove_append_options o = { .size = sizeof(o),
						  .sync = turn ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE };
		unsigned first = r->ledger.marks + 1;
		int rc;

		for (size_t i = 0; i < 2; i++) {
			char words[6000];
			unsigned mark = ++r->ledger.marks;
			struct grove_slice m = message(mark, words, sizeof(words));
			int n = snprintf(text[i], sizeof(text[i]),
					 "{\"type\":\"%s\",\"uuid\":\"00000000-0000-4000-8000-%012u\","
					 "\"message\":%.*s}", mark % 2 ? "user" : "assistant", mark,
					 (int)m.len, m.ptr);

			json[i] = (struct grove_slice){ text[i], (size_t)n };
			note(r, FACT_TRIED, TAG_MAIN, mark, 0, NULL);
		}
		rc = grove_session_append_many(s, json, 2, &o, NULL);
		for (unsigned i = 0; i < 2; i++) {
			char id[40];

			snprintf(id, sizeof(id), "00000000-0000-4000-8000-%012u", first + i);
			note(r, rc ? FACT_REFUSED : FACT_KEPT, TAG_MAIN, first + i, rc, id);
		}
		if (!rc && turn)
			note(r, FACT_SYNCED, TAG_MAIN, 0, 0, NULL);
	}
	grove_session_close(s);
}

/* ------------------------------------------------------------------- change */

static void work_rename(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say(r, s, GROVE_SYNC_NONE);
	if (s) {
		begin(r, STEP_RENAME);
		end(r, STEP_RENAME, grove_session_set_name(s, "another name", GROVE_NAME_BY_USER, NULL));
	}
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

static void after_rename(struct run *r)
{
	struct grove *g = run_open(r, TAG_MAIN);
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	const char *name = NULL;

	if (g && !grove_session_open(g, r->id, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v))
		name = grove_view_name(v);
	if (settled(r, STEP_RENAME) && v && (!name || strcmp(name, "another name")))
		run_wrong(r, "the name is %s", name ? name : "gone");
	if (name && !run_fact(r, FACT_TRIED, TAG_STEP, STEP_RENAME))
		run_wrong(r, "it has a name that nobody gave: %s", name);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
}

#define CHANGED "[m0002] changed"

static void work_update(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say(r, s, GROVE_SYNC_NONE);
	if (s) {
		begin(r, STEP_UPDATE);
		end(r, STEP_UPDATE, grove_session_update(s, nth_id(r, 1), "/message/content/0/text",
							 "\"" CHANGED "\""));
	}
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

static void after_update(struct run *r)
{
	struct grove *g = run_open(r, TAG_MAIN);
	struct grove_session *s = NULL;
	struct grove_view *v = NULL;
	struct grove_buf line = GROVE_BUF_INIT;
	bool changed, padded;

	if (g && !grove_session_open(g, r->id, GROVE_OPEN_READ, &s) && !grove_session_view(s, &v) &&
	    find_row(v, nth_id(r, 1)) != GROVE_NO_ENTRY &&
	    !grove_view_line(v, find_row(v, nth_id(r, 1)), 0, &line)) {
		changed = strstr(line.ptr, CHANGED "\"") != NULL;
		padded = strstr(line.ptr, "[m0002]xxxx") != NULL;
		if (changed == padded)
			run_wrong(r, "an entry is neither what it was nor what it became");
		if (done(r, STEP_UPDATE) && !changed)
			run_wrong(r, "a change that was acknowledged is gone");
		if (changed && !run_fact(r, FACT_TRIED, TAG_STEP, STEP_UPDATE))
			run_wrong(r, "a change that nobody made");
	} else {
		run_wrong(r, "the entry that was changed is not there");
	}
	grove_buf_release(&line);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
}

/* The first version of the format had neither ids nor parents. */
static void before_migrate(struct run *r)
{
	char dir[512], path[700], line[6400];
	FILE *f;

	snprintf(r->id, sizeof(r->id), "00000000-aaaa-4bbb-8ccc-000000000001");
	snprintf(dir, sizeof(dir), "%s/.pi/agent/sessions/--w--", r->home);
	if (grove__sys_mkdirs(dir, 0700))
		abort();
	snprintf(path, sizeof(path), "%s/2026-01-01T00-00-00-000Z_%s.jsonl", dir, r->id);
	f = fopen(path, "w");
	if (!f)
		abort();
	fprintf(f, "{\"type\":\"session\",\"id\":\"%s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\","
		"\"cwd\":\"%s\",\"provider\":\"p\",\"modelId\":\"m\",\"thinkingLevel\":\"off\"}\n",
		r->id, r->cwd);
	note(r, FACT_NAMED, TAG_MAIN, 0, 0, r->id);
	for (int i = 0; i < 5; i++) {
		struct grove_slice m = message(++r->ledger.marks, line, sizeof(line));

		fprintf(f, "{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:0%d.000Z\","
			"\"message\":%.*s}\n", i, (int)m.len, m.ptr);
		note(r, FACT_TRIED, TAG_MAIN, r->ledger.marks, 0, NULL);
		note(r, FACT_KEPT, TAG_MAIN, r->ledger.marks, 0, NULL);
	}
	note(r, FACT_SYNCED, TAG_MAIN, 0, 0, NULL);
	fclose(f);
}

static void work_migrate(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say(r, s, GROVE_SYNC_NONE);
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

/* Cuts off the last line, and removes another one from the middle. */
static void work_forget(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);
	char words[24];
	const char *id = NULL;
	unsigned mark;

	if (!s)
		return;
	end(r, STEP_CUSTOM, append_custom(s, "last", "{}", INTO(&id)));
	if (id)
		end(r, STEP_FORGET, grove_session_forget(s, id, NULL));
	id = NULL;
	end(r, STEP_CUSTOM, append_custom(s, "middle", "{}", INTO(&id)));
	mark = begin_entry(r, words);
	end_entry(r, mark, grove_session_append_label(s, nth_id(r, 1), words, NULL, NULL), NULL);
	if (id)
		end(r, STEP_FORGET, grove_session_forget(s, id, NULL));
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

/* ----------------------------------------------------------- whole sessions */

/* Notes that a copy must have what the original has. Its ids may differ. */
static void note_copy(struct run *r, char tag, bool same_ids)
{
	size_t nr = r->ledger.nr;

	for (size_t i = 0; i < nr; i++) {
		struct fact f = r->ledger.fact[i];

		/* after a power failure only what was synced is there to be copied */
		if (f.kind == FACT_KEPT && f.tag == TAG_MAIN &&
		    (!r->e || !r->e->power || run_fact(r, FACT_SYNCED, TAG_MAIN, 0) > &r->ledger.fact[i]))
			note(r, FACT_KEPT, tag, f.mark, 0, same_ids ? f.id : NULL);
	}
	note(r, FACT_SYNCED, tag, 0, 0, NULL);
}

static void note_copy_tried(struct run *r, char tag)
{
	size_t nr = r->ledger.nr;

	for (size_t i = 0; i < nr; i++) {
		struct fact f = r->ledger.fact[i];

		if (f.kind == FACT_TRIED && f.tag == TAG_MAIN)
			note(r, FACT_TRIED, tag, f.mark, 0, NULL);
	}
}

static void work_fork(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE), *t = NULL;
	struct grove_fork_options o = { .size = sizeof(o), .id = FORK_ID, .sync = GROVE_SYNC_ALWAYS };

	if (!s)
		return;
	note(r, FACT_NAMED, TAG_FORK, 0, 0, FORK_ID);
	note_copy_tried(r, TAG_FORK);
	begin(r, STEP_FORK);
	if (!end(r, STEP_FORK, grove_session_fork(s, &o, &t)))
		note_copy(r, TAG_FORK, strcmp(r->dialect, "claude") != 0);
	grove_session_close(t);
	say(r, s, GROVE_SYNC_NONE);
	grove_session_close(s);
}

static void work_branch(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE), *t = NULL;
	struct grove_fork_options o = { .size = sizeof(o), .id = FORK_ID, .leaf = nth_id(r, 3),
					.cwd = r->other_cwd, .sync = GROVE_SYNC_ALWAYS };

	if (!s)
		return;
	note(r, FACT_NAMED, TAG_FORK, 0, 0, FORK_ID);
	note_copy_tried(r, TAG_FORK);
	begin(r, STEP_FORK);
	if (!end(r, STEP_FORK, grove_session_fork(s, &o, &t)))
		note_copy(r, TAG_FORK, strcmp(r->dialect, "claude") != 0);
	grove_session_close(t);
	grove_session_close(s);
}

static void work_move(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);

	say(r, s, GROVE_SYNC_NONE);
	if (s) {
		begin(r, STEP_MOVE);
		end(r, STEP_MOVE, grove_session_move(s, r->other_cwd));
	}
	say(r, s, GROVE_SYNC_ALWAYS);
	grove_session_close(s);
}

static void work_remove(struct run *r)
{
	if (!r->g)
		return;
	begin(r, STEP_REMOVE);
	end(r, STEP_REMOVE, grove_remove(r->g, r->id, GROVE_REMOVE_NO_TRASH));
}

/* ------------------------------------------------------------- other stores */

static void work_copy(struct run *r)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;

	if (!r->g)
		return;
	note(r, FACT_NAMED, TAG_COPY, 0, 0, r->id);
	note_copy_tried(r, TAG_COPY);
	begin(r, STEP_COPY);
	if (!end(r, STEP_COPY, grove_copy(r->g, r->id, r->copy, &id, &path)))
		note_copy(r, TAG_COPY, true);
	grove_buf_release(&id);
	grove_buf_release(&path);
}

/* An interrupted copy is completed by the next copy of the same store. */
static void after_copy(struct run *r)
{
	struct grove_archive_result n = { .size = sizeof(n) };
	bool claude = !strcmp(r->dialect, "claude");
	struct grove *g;
	char from[600];
	int rc;

	if (*r->wrong || r->sqlite)
		return;
	g = run_open(r, TAG_MAIN);
	if (!g)
		return;
	snprintf(from, sizeof(from), "%s/.%s/%s", r->home, r->dialect,
		 claude ? "projects" : "agent/sessions");
	rc = grove_store_copy(g, from, r->copy, NULL, NULL, &n);
	/*
	 * where the disk has zeros the copy is a different session: it is reported and left alone
	 */
	if (!rc && n.failed && r->e->jumbled) {
		grove_close(g);
		return;
	}
	if (rc || n.failed || n.kept)
		run_wrong(r, "the copy cannot be finished: %s, %d failed", grove_error_name(rc),
			  (int)n.failed);
	grove_close(g);
	note_copy(r, TAG_COPY, true);
}

static void work_archive(struct run *r)
{
	struct grove_archive_options o = { .size = sizeof(o), .to = r->archive };
	struct grove_archive_result n = { .size = sizeof(n) };
	struct grove_session *s;
	int rc;

	if (!r->g)
		return;
	note(r, FACT_NAMED, TAG_ARCHIVE, 0, 0, r->id);
	for (int turn = 0; turn < 2; turn++) {
		note_copy_tried(r, TAG_ARCHIVE);
		begin(r, STEP_ARCHIVE);
		rc = grove_archive(r->g, r->id, &o, &n);
		if (!rc && n.failed)
			rc = GROVE_EIO;
		if (!end(r, STEP_ARCHIVE, rc))
			note_copy(r, TAG_ARCHIVE, true);
		s = turn ? NULL : open_main(r, GROVE_OPEN_WRITE);
		say(r, s, GROVE_SYNC_NONE);
		grove_session_close(s);
	}
}

static unsigned wanted;
static bool seen;

static int look_for(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char mark[16], *all;
	FILE *f;

	(void)ftw;
	if (type != FTW_F || !(f = fopen(path, "r")))
		return 0;
	snprintf(mark, sizeof(mark), "[m%04u]", wanted);
	all = calloc(1, (size_t)st->st_size + 1);
	if (all && fread(all, 1, (size_t)st->st_size, f) && memmem(all, (size_t)st->st_size, mark, 7))
		seen = true;
	free(all);
	fclose(f);
	return 0;
}

/* The source has lost what the archive had: the archive keeps its old copy beside the new one. */
static void find_older(struct run *r)
{
	for (size_t i = 0; i < r->ledger.nr; i++) {
		struct fact *f = &r->ledger.fact[i];

		if (f->kind != FACT_KEPT || f->tag != TAG_ARCHIVE)
			continue;
		wanted = f->mark;
		seen = false;
		nftw(r->archive + strlen("file:"), look_for, 16, FTW_PHYS);
		if (!seen)
			run_wrong(r, "[m%04u] was archived, and is gone", f->mark);
		f->kind = FACT_TRIED;
	}
}

/* The next run archives everything. */
static void after_archive(struct run *r)
{
	struct grove_archive_options o = { .size = sizeof(o), .to = r->archive };
	struct grove_archive_result n = { .size = sizeof(n) };
	struct grove *g;
	int rc;

	if (*r->wrong)
		return;
	g = run_open(r, TAG_MAIN);
	if (!g)
		return;
	rc = grove_archive(g, r->id, &o, &n);
	if (rc || n.failed)
		run_wrong(r, "the archive cannot be brought up to date: %s", grove_error_name(rc));
	if (r->e->power && n.kept)
		find_older(r);
	grove_close(g);
	note(r, FACT_NAMED, TAG_ARCHIVE, 0, 0, r->id);
	note_copy_tried(r, TAG_ARCHIVE);
	note_copy(r, TAG_ARCHIVE, true);
}

/* -------------------------------------------------------------------- blobs */

static const char blob_bytes[2000] = "a blob";

static struct grove_blobs *blobs(struct run *r, struct grove *g)
{
	struct grove_blobs *b = NULL;
	char dir[400];

	snprintf(dir, sizeof(dir), "%s/blobs", r->home);
	if (!g || also(r, grove_blobs_open(g, dir, &b))) {
		grove_blobs_close(b);
		return NULL;
	}
	return b;
}

static void work_blob(struct run *r)
{
	struct grove_blobs *b = blobs(r, r->g);
	struct grove_blobs_put_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	char ref[GROVE_BLOB_REF_MAX];

	if (!b)
		return;
	also(r, grove_blobs_put(b, (struct grove_slice){ "other", 5 }, NULL, ref, NULL));
	begin(r, STEP_BLOB);
	end(r, STEP_BLOB, grove_blobs_put(b, (struct grove_slice){ blob_bytes, sizeof(blob_bytes) }, &o,
					  ref, NULL));
	grove_blobs_close(b);
}

static void after_blob(struct run *r)
{
	struct grove *g = run_open(r, TAG_MAIN);
	struct grove_blobs *b = blobs(r, g);
	struct grove_blobs_put_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	struct grove_buf got = GROVE_BUF_INIT;
	char ref[GROVE_BLOB_REF_MAX];
	int known = 0, rc = b ? grove_blobs_put(b, (struct grove_slice){ blob_bytes, sizeof(blob_bytes) },
						&o, ref, &known) : GROVE_EIO;

	if (rc)
		run_wrong(r, "the blob cannot be put again: %s", grove_error_name(rc));
	else if (done(r, STEP_BLOB) && !known)
		run_wrong(r, "a blob that was on the disk is gone or damaged");
	rc = rc ? rc : grove_blobs_get(b, ref, &got);
	if (!rc && (got.len != sizeof(blob_bytes) || memcmp(got.ptr, blob_bytes, got.len)))
		rc = GROVE_EDAMAGED;
	if (rc)
		run_wrong(r, "the blob cannot be read: %s", grove_error_name(rc));
	rc = b ? grove_blobs_put(b, (struct grove_slice){ "other", 5 }, &o, ref, NULL) : 0;
	if (rc)
		run_wrong(r, "the other blob cannot be put again: %s", grove_error_name(rc));
	grove_buf_release(&got);
	grove_blobs_close(b);
	grove_close(g);
}

/* An image is stored as a blob before the line that refers to it is written to the log. */
static void work_image(struct run *r)
{
	struct grove_session *s = open_main(r, GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	static char json[4200];
	const char *id = NULL;
	char words[24];
	unsigned mark;
	int n, rc;

	if (!s)
		return;
	mark = begin_entry(r, words);
	n = snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		     "\"text\":\"%s\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"", words);
	memset(json + n, 'A', 2000);
	n += 2000;
	n += snprintf(json + n, sizeof(json) - (size_t)n, "\"}]}");
	rc = grove_session_append(s, (struct grove_slice){ json, (size_t)n }, &o, INTO(&id));
	end_entry(r, mark, rc, id);
	if (!rc)
		note(r, FACT_SYNCED, TAG_MAIN, 0, 0, NULL);
	say(r, s, GROVE_SYNC_NONE);
	grove_session_close(s);
}

/* ---------------------------------------------------------------- the table */

const struct scenario scenarios[] = {
	{ "create", ALL, false, NULL, work_create, NULL, 0, 0 },
	{ "create-now", ALL, false, NULL, work_create_now, NULL, 0, 0 },
	{ "append", ALL, false, four, work_append, NULL, 0, 0 },
	{ "batch", ALL, false, four, work_batch, NULL, 0, 0 },
	{ "turns", ALL, false, four, work_turns, NULL, 0, 0 },
	{ "entries", "pi xcsh omp", false, four, work_entries, NULL, 1, 0 },
	{ "records", "claude", false, four, work_records, NULL, 0, 0 },
	{ "rename", ALL, false, four, work_rename, after_rename, 2, 0 },
	{ "update", ALL, false, four, work_update, after_update, 0, 0 },
	{ "forget", "pi xcsh omp", false, four, work_forget, NULL, 2, 0 },
	{ "migrate", "pi", true, before_migrate, work_migrate, NULL, 0, 0 },
	{ "fork", ALL, false, four, work_fork, NULL, 0, 4 },
	{ "branch", ALL, false, four, work_branch, NULL, 0, 4 },
	{ "move", ALL, false, four, work_move, NULL, 1, 0 },
	{ "remove", ALL, false, four, work_remove, NULL, 0, 0 },
	{ "copy", ALL, false, four, work_copy, after_copy, 0, 0 },
	{ "archive", ALL, false, four, work_archive, after_archive, 0, 0 },
	{ "blob", "xcsh", true, NULL, work_blob, after_blob, 0, 0 },
	{ "image", "xcsh omp", true, four, work_image, NULL, 0, 0 },
};
const size_t nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
