/*
 * tests/unit/test_walk_faults.c: everything that can be asked of sessions and done
 * to them, with each of its steps failing once.
 *
 * A world is laid out for each agent, in files and in SQLite. Each act is done
 * once for every place in it where something may fail (tests/lib/places.h), which
 * fails: memory, the system, the caller. What is done a thousand times in a row is
 * tried once.
 *
 * Whatever fails is told by the right code, and the session can be read and
 * checked afterwards. A share of all places is drawn by chance; with
 * GROVE_TEST_LONG or GROVE_WALK_ALL it is all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <grove/storage.h>

#include "../lib/places.h"
#include "../lib/transcript.h"

#include "sys/stamp.h"
#include "../lib/calls.h"

/* What the caller answers when it has had enough. */
#define ENOUGH 77

static int enough(void)
{
	return due(CALLER, "callback") ? ENOUGH : 0;
}

/* -------------------------------------------------------------------- stage */

struct stage {
	char dir[200], first[240], run[240], home[260], cwd[260], db[280], other[280];
	const char *dialect, *session, *id;    /* the file, below home, and an entry in it */
	bool sqlite;
};

static int copied_from;
static char copied_to[300];

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char to[1024], bytes[65536];
	ssize_t n;
	int in, out;

	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copied_to, path + copied_from);
	if (type == FTW_D)
		return mkdir(to, st->st_mode & 0777);
	in = open(path, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st->st_mode & 0777);
	if (in < 0 || out < 0)
		return -1;
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			return -1;
	/* as old as it was: what is young is not remembered */
	futimens(out, (const struct timespec[]){ st->st_mtim, st->st_mtim });
	close(in);
	close(out);
	return 0;
}

static void copy_tree(const char *from, const char *to)
{
	own++;
	scratch_remove(to);
	copied_from = (int)strlen(from);
	snprintf(copied_to, sizeof(copied_to), "%s", to);
	assert_int_equal(nftw(from, copy_one, 16, FTW_PHYS), 0);
	own--;
}

static void on_trace(void *payload, const char *line)
{
	(void)payload;
	(void)line;
}

/* With or without a cache and a trace. */
static int open_world(const struct stage *st, bool more, struct grove **out)
{
	const char *store = st->db;
	struct grove_options o = { .size = sizeof(o), .home = st->home, .cwd = "/w",
				   .getenv = no_variables, .cache = more ? NULL : "",
				   .stores = st->sqlite ? &store : NULL, .nr_stores = st->sqlite,
				   .trace = more ? on_trace : NULL };

	return grove_open(&o, out);
}

static struct grove *world_of(const struct stage *st, int *rc)
{
	struct grove *g = NULL;
	int got = open_world(st, false, &g);

	if (rc)
		*rc = got;
	else
		assert_int_equal(got, 0);
	return g;
}

/* The session as this world names it. */
static const char *name_of(const struct stage *st)
{
	static char path[600];

	if (st->sqlite)
		return strcmp(st->dialect, "claude") ? "s1" : SID;
	snprintf(path, sizeof(path), "%s/%s", st->home, st->session);
	return path;
}

static void lay(const struct stage *st, const char *name, const char *bytes)
{
	char path[700], *slash;

	snprintf(path, sizeof(path), "%s/%s", st->home, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	*slash = '/';
	file_make(path, bytes);
	assert_int_equal(grove__sys_set_mtime(path, 1700000000000000000), 0);
}

/* --------------------------------------------------------------------- acts */

static int sink_write(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return -enough();
}

static const struct grove_sink sink = { sink_write, NULL };

static int on_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return enough();
}

static int on_progress(void *payload, uint64_t done, uint64_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return enough();
}

/* Ask for all that a list has. */
static int act_list(const struct stage *st, struct grove *g)
{
	struct grove_list_options o[] = {
		{ .size = sizeof(o[0]), .flags = GROVE_LIST_ALL | GROVE_LIST_THREADS | GROVE_LIST_SHAPE },
		{ .size = sizeof(o[0]), .flags = GROVE_LIST_ALL, .query = "one \"a branch\"", .sort = GROVE_SORT_RELEVANCE },
		{ .size = sizeof(o[0]), .flags = GROVE_LIST_ALL, .query = "re:on+e", .sort = GROVE_SORT_NAME, .limit = 1 },
		{ .size = sizeof(o[0]), .flags = GROVE_LIST_EXPIRING, .cwd = "/w", .within = -1, .sort = GROVE_SORT_SIZE },
		{ .size = sizeof(o[0]), .flags = GROVE_LIST_NAMED, .sort = GROVE_SORT_CREATED },
	};
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_list *l;
	int rc = 0;

	(void)st;
	for (size_t i = 0; i < sizeof(o) / sizeof(*o) && !rc; i++) {
		rc = grove_list(g, &o[i], &l);
		for (size_t k = 0; !rc && k < grove_list_count(l); k++)
			rc = grove_list_item_json(grove_list_at(l, k), &b);
		grove_list_free(l);
	}
	grove_buf_release(&b);
	return rc;
}

static int act_find(const struct stage *st, struct grove *g)
{
	const char *what[] = { name_of(st), strcmp(st->dialect, "claude") ? "s1" : "11111111", "last" };
	struct grove_list *l;
	int rc = 0;

	for (size_t i = 0; i < 3 && !rc; i++) {
		rc = grove_find(g, what[i], 0, &l);
		grove_list_free(l);
	}
	return rc;
}

static int act_usage(const struct stage *st, struct grove *g)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_usage *u;
	int rc = 0;

	(void)st;
	for (enum grove_usage_by by = GROVE_USAGE_DAY; by <= GROVE_USAGE_AGENT && !rc; by++) {
		struct grove_usage_options o = { .size = sizeof(o), .by = by,
						 .period = { 1577836800000, 1893456000000 } };

		rc = grove_usage(g, &o, &u);
		if (!rc)
			rc = grove_usage_json(u, &b);
		grove_usage_free(u);
	}
	grove_buf_release(&b);
	return rc;
}

static int act_check(const struct stage *st, struct grove *g)
{
	int rc = grove_check(g, name_of(st), on_problem, NULL, NULL);

	return rc ? rc : grove_check(g, NULL, on_problem, NULL, NULL);
}

static int on_change(void *payload, const struct grove_fix_change *c)
{
	(void)payload;
	(void)c;
	return enough();
}

static int on_confirm(void *payload, const char *path, uint64_t changes)
{
	(void)payload;
	(void)path;
	(void)changes;
	return enough() ? 1 : 0;
}

static int on_done(void *payload, const char *path, const char *cut)
{
	(void)payload;
	(void)path;
	(void)cut;
	return enough();
}

static int act_fix(const struct stage *st, struct grove *g)
{
	struct grove_fix_options o = { .size = sizeof(o), .change = on_change, .confirm = on_confirm,
				       .done = on_done, .flags = GROVE_FIX_DRY_RUN };
	int rc = grove_fix(g, name_of(st), &o, NULL);

	o.flags = 0;
	return rc ? rc : grove_fix(g, NULL, &o, NULL);
}

static int on_archived(void *payload, const struct grove_archived *a)
{
	int *failed = payload;

	if (a->why)
		*failed = a->why->code;
	return enough();
}

/* One more line, or another one in the place of an earlier one. */
static int grow(const struct stage *st, struct grove *g, bool change)
{
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	if (!rc)
		rc = change ? grove_session_update(s, st->id, "/message/content", "\"other words\"")
			    : grove_session_append(s, text(USER("more")), NULL, NULL);
	grove_session_close(s);
	return rc;
}

static int act_archive(const struct stage *st, struct grove *g)
{
	int failed = 0, rc;
	struct grove_archive_options o = { .size = sizeof(o), .to = st->other, .told = on_archived,
					   .payload = &failed };

	rc = grove_archive(g, name_of(st), &o, NULL);
	rc = rc ? rc : failed ? failed : grove_archive(g, NULL, &o, NULL);
	rc = rc ? rc : failed ? failed : grow(st, g, false);
	rc = rc ? rc : grove_archive(g, name_of(st), &o, NULL);
	/* lines that the archive has are not what they were: both are kept */
	rc = rc ? rc : failed ? failed : grow(st, g, true);
	rc = rc ? rc : grove_archive(g, name_of(st), &o, NULL);
	o.flags = GROVE_ARCHIVE_EXPIRING;
	o.within = -1;
	rc = rc ? rc : failed ? failed : grove_archive(g, NULL, &o, NULL);
	return rc ? rc : failed;
}

static int act_copy(const struct stage *st, struct grove *g)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	int rc = grove_copy(g, name_of(st), st->other, &id, &path);

	grove_buf_release(&id);
	grove_buf_release(&path);
	return rc;
}

/* The whole store, into another one of the other kind. */
static int count_store(struct grove *g, const char *store)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_stats *s;
	int rc = grove_store_stats(g, store, &s);

	if (!rc)
		rc = grove_store_stats_json(s, &b);
	grove_store_stats_free(s);
	grove_buf_release(&b);
	return rc;
}

static int act_store(const struct stage *st, struct grove *g)
{
	char to[300], from[600];
	int failed = 0, rc;
	unsigned a, b;

	snprintf(from, sizeof(from), "%s", st->sqlite ? st->db : name_of(st));
	if (!st->sqlite) {
		*strrchr(from, '/') = '\0';
		*strrchr(from, '/') = '\0';
		snprintf(to, sizeof(to), "sqlite:%s/copy.db", st->run);
		rc = grove_store_init(g, to);
		rc = rc ? rc : grove_store_upgrade(g, to, &a, &b);
	} else {
		snprintf(to, sizeof(to), "%s/copy", st->run);
		rc = 0;
	}
	rc = rc ? rc : grove_store_copy(g, from, to, on_archived, &failed, NULL);
	rc = rc ? rc : failed;
	rc = rc ? rc : grove_store_verify(g, to, on_problem, NULL, NULL);
	rc = rc ? rc : count_store(g, to);
	return rc ? rc : count_store(g, from);
}

static int on_blob(void *payload, const struct grove_blob_item *i)
{
	(void)payload;
	(void)i;
	return enough();
}

static int on_blob_problem(void *payload, const struct grove_blob_problem *p)
{
	(void)payload;
	(void)p;
	return enough();
}

/* A question whose answer is yes. */
static int is_so(int rc)
{
	return rc == 1 ? 0 : rc ? rc : GROVE_ENOTFOUND;
}

static int act_blobs(const struct stage *st, struct grove *g)
{
	struct grove_blobs_gc_options o = { .size = sizeof(o), .flags = GROVE_BLOBS_GC_REMOVE, .grace = -1 };
	struct grove_blobs_put_options po = { .size = sizeof(po), .sync = GROVE_SYNC_ALWAYS };
	struct grove_buf b = GROVE_BUF_INIT;
	char ref[GROVE_BLOB_REF_MAX];
	struct grove_blobs *x;
	int rc = grove_blobs_open(g, NULL, &x);

	(void)st;
	rc = rc ? rc : grove_blobs_put(x, text("some bytes"), &po, ref, NULL);
	rc = rc ? rc : grove_blobs_put(x, text("some bytes"), &po, ref, NULL);
	rc = rc ? rc : grove_blobs_get(x, ref, &b);
	rc = rc ? rc : is_so(grove_blobs_has(x, ref));
	rc = rc ? rc : grove_blobs_path(x, ref, &b);
	rc = rc ? rc : grove_blobs_sync(x);
	rc = rc ? rc : grove_blobs_verify(x, ref, on_blob_problem, NULL, NULL);
	rc = rc ? rc : grove_blobs_verify(x, NULL, on_blob_problem, NULL, NULL);
	rc = rc ? rc : grove_blobs_gc(x, NULL, on_blob, NULL, NULL);
	rc = rc ? rc : grove_blobs_gc(x, &o, on_blob, NULL, NULL);
	grove_blobs_close(x);
	grove_buf_release(&b);
	return rc;
}

static int on_prompt(void *payload, const struct grove_history_entry *e)
{
	(void)payload;
	(void)e;
	return enough();
}

static int act_history(const struct stage *st, struct grove *g)
{
	struct grove_history *h;
	char path[300];
	int rc;

	snprintf(path, sizeof(path), "%s/history.db", st->run);
	rc = grove_history_open(g, path, &h);
	rc = rc ? rc : grove_history_add(h, text("a prompt of words"), "/w", "s1");
	rc = rc ? rc : grove_history_flush(h);
	rc = rc ? rc : grove_history_recent(h, 10, on_prompt, NULL);
	rc = rc ? rc : grove_history_search(h, "prompt wor", 10, 0, on_prompt, NULL);
	rc = rc ? rc : grove_history_search(h, "romp", 10, GROVE_HISTORY_PARTS, on_prompt, NULL);
	rc = rc ? rc : grove_history_upgrade(h);
	grove_history_close(h);
	return rc;
}

struct lines_of {
	unsigned next;
};

static int next_line(void *payload, struct grove_slice *line)
{
	static const char *const lines[] = {
		RECORD("user", "u1", "null", "1", "\"one\""), RECORD("assistant", "a1", "\"u1\"", "2", "\"two\""),
	};
	struct lines_of *l = payload;

	if (l->next == 2)
		return 1;
	*line = text(lines[l->next++]);
	return -enough();
}

static int act_hydrate(const struct stage *st, struct grove *g)
{
	struct grove_hydrate_options o = { .size = sizeof(o), .id = "22222222-2222-4333-8444-555555555555",
					   .cwd = st->cwd };
	struct lines_of l = { 0 };
	struct grove_source src = { next_line, NULL, &l };

	return grove_hydrate(g, &o, &src, NULL);
}

static int act_remove(const struct stage *st, struct grove *g)
{
	return grove_remove(g, name_of(st), GROVE_REMOVE_NO_TRASH);
}

static int act_watch(const struct stage *st, struct grove *g)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s = NULL;
	struct grove_watch *w;
	struct grove_event e = { .size = sizeof(e) };
	int rc = watch_one(g, name_of(st), GROVE_REV_NOW, &w), more;

	rc = rc ? rc : grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);
	rc = rc ? rc : grove_session_append(s, text(USER("watched")), NULL, NULL);
	rc = rc ? rc : grove_session_set_leaf(s, st->id, LEAF(GROVE_LEAF_PERSIST), NULL);
	do {
		more = rc ? 1 : grove_watch_next(w, 0, &e);
		if (!more)
			rc = grove_event_json(&e, &b);
	} while (!more && !rc);
	rc = rc ? rc : more < 0 ? more : 0;
	grove_watch_close(w);
	grove_session_close(s);
	grove_buf_release(&b);
	return rc;
}

static int act_recent(const struct stage *st, struct grove *g)
{
	struct grove_create_options o = { .size = sizeof(o), .dialect = st->dialect, .name = "new",
				       .flags = GROVE_CREATE_NOW | GROVE_CREATE_NOTE_LAST };
	struct grove_session *s;
	int rc = grove_session_open_recent(g, NULL, &s);

	grove_session_close(s);
	s = NULL;
	rc = rc ? rc : grove_session_create(g, &o, &s);
	rc = rc ? rc : grove_session_append(s, text(USER("hello")), NULL, NULL);
	rc = rc ? rc : grove_session_ensure(s);
	rc = rc ? rc : grove_session_sync(s);
	rc = rc ? rc : grove_session_refresh(s);
	grove_session_close(s);
	return rc < 0 ? rc : 0;
}

static int act_read(const struct stage *st, struct grove *g);

static void on_call(void *payload, struct grove_storage_call *call)
{
	(void)payload;
	grove_buf_release(&call->text);
}

/* Files under paths, on the disk or in memory. */
static int use_storage(struct grove_storage *x, const char *dir)
{
	struct grove_storage_stat stat = { .size = sizeof(stat) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_writer *w = NULL;
	char one[300], two[300];
	int rc;

	snprintf(one, sizeof(one), "%s/a/one.jsonl", dir);
	snprintf(two, sizeof(two), "%s/a/two.jsonl", dir);
	{
		struct grove_storage_call call = { .size = sizeof(call), .op = GROVE_STORAGE_EXISTS, .path = one };

		rc = grove_storage_ensure_dir(x, dir);
		rc = rc ? rc : grove_storage_write_text(x, one, text("a text"));
		rc = rc ? rc : grove_storage_submit(x, &call, on_call, NULL);
		rc = rc ? rc : grove_storage_drain(x);
	}
	rc = rc ? rc : grove_storage_read_text(x, one, &b);
	rc = rc ? rc : grove_storage_read_text_prefix(x, one, 3, &b);
	rc = rc ? rc : grove_storage_stat(x, one, &stat);
	rc = rc ? rc : grove_storage_open_writer(x, two, NULL, &w);
	rc = rc ? rc : grove_writer_write_line(w, text("{}\n"));
	rc = rc ? rc : grove_writer_flush(w);
	rc = rc ? rc : grove_writer_fsync(w);
	rc = rc ? rc : grove_writer_close(w);
	grove_writer_free(w);
	grove_buf_release(&b);
	rc = rc ? rc : grove_storage_rename(x, two, one);
	rc = rc ? rc : is_so(grove_storage_exists(x, one));
	return rc ? rc : grove_storage_delete_session_with_artifacts(x, one);
}

static int act_storage(const struct stage *st, struct grove *g)
{
	struct grove_storage *x;
	int rc = grove_storage_files(NULL, &x);

	(void)g;
	rc = rc ? rc : use_storage(x, st->run);
	grove_storage_close(x);
	if (!rc) {
		rc = grove_storage_memory(NULL, &x);
		rc = rc ? rc : use_storage(x, "/nowhere");
		grove_storage_close(x);
	}
	return rc;
}

/* What is kept from one question to the next. */
static int act_cached(const struct stage *st, struct grove *g)
{
	struct grove *more = NULL;
	int rc = open_world(st, true, &more);

	(void)g;
	for (int i = 0; i < 2 && !rc; i++) {
		rc = act_list(st, more);
		rc = rc ? rc : act_usage(st, more);
		rc = rc ? rc : act_read(st, more);
		rc = rc ? rc : grow(st, more, false);
	}
	grove_close(more);
	return rc;
}

/* A session that is in no file. */
static int act_memory(const struct stage *st, struct grove *g)
{
	struct grove_create_options o = { .size = sizeof(o), .dialect = st->dialect, .flags = GROVE_CREATE_MEMORY };
	struct grove_session *s;
	struct grove_view *v = NULL;
	const char *id = NULL;
	int rc = grove_session_create(g, &o, &s);

	rc = rc ? rc : grove_session_append(s, text(USER("1")), NULL, INTO(&id));
	rc = rc ? rc : grove_session_append(s, text("{\"role\":\"assistant\",\"content\":\"2\"}"), NULL, NULL);
	rc = rc ? rc : grove_session_update(s, id, "/message/content", "\"other\"");
	rc = rc ? rc : grove_session_view(s, &v);
	rc = rc ? rc : grove_view_context(v, NULL, sink);
	rc = rc ? rc : grove_view_log(v, 0, sink);
	rc = rc ? rc : grove_session_forget(s, id, NULL);
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

/* One of an older version is brought up to date. */
static int act_migrate(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	int rc = grove_session_open(g, "s3", GROVE_OPEN_READ, &s);
	struct grove_view *v = NULL;

	rc = rc ? rc : grove_session_view(s, &v);
	rc = rc ? rc : grove_view_context(v, NULL, sink);
	grove_view_unref(v);
	grove_session_close(s);
	s = NULL;
	rc = rc ? rc : grove_session_open(g, "s3", GROVE_OPEN_WRITE, &s);
	if (!rc && !st->sqlite)
		assert_true(grove_session_migrated(s) > 0);
	grove_session_close(s);
	return rc;
}

/* --------------------------------------------------------- acts on a session */

static int on_piece(void *payload, const struct grove_piece *p)
{
	(void)payload;
	(void)p;
	return enough();
}

static int on_up(void *payload, const struct grove_ancestor *e)
{
	(void)payload;
	(void)e;
	return enough();
}

static int ask_view(const struct stage *st, struct grove_view *v)
{
	struct grove_context_options llm = { .size = sizeof(llm), .flags = GROVE_CONTEXT_LLM | GROVE_CONTEXT_EXPLAIN };
	struct grove_context_options other = { .size = sizeof(other), .leaf = st->id,
					       .flags = GROVE_CONTEXT_WHOLE | GROVE_CONTEXT_SNIPS,
					       .mode = strcmp(st->dialect, "claude") ? NULL : "sdk" };
	struct grove_snapshot_options so = { .size = sizeof(so), .flags = GROVE_SNAPSHOT_PROJECT, .max_body = 128 };
	struct grove_snapshot_options path = { .size = sizeof(path), .entries = GROVE_SNAPSHOT_PATH,
					       .after = 2, .limit = 3 };
	struct grove_buf b = GROVE_BUF_INIT;
	uint32_t *rows = NULL;
	size_t nr;
	int rc;

	rc = grove_view_context(v, NULL, sink);
	rc = rc ? rc : grove_view_context(v, &llm, sink);
	rc = rc ? rc : grove_view_context(v, &other, sink);
	rc = rc ? rc : grove_view_snapshot(v, &so, sink);
	rc = rc ? rc : grove_view_snapshot(v, &path, sink);
	rc = rc ? rc : grove_view_tree(v, 0, sink);
	rc = rc ? rc : grove_view_tree(v, 1, sink);
	rc = rc ? rc : grove_view_log(v, 0, sink);
	rc = rc ? rc : grove_view_raw(v, sink);
	for (uint32_t i = 0; i < grove_view_count(v) && !rc; i++)
		rc = grove_view_piece_each(v, i, on_piece, NULL);
	rc = rc ? rc : conversation_rows(v, grove_view_leaf(v), 0, &rows, &nr);
	free(rows);
	rows = NULL;
	rc = rc ? rc : path_rows(v, grove_view_leaf(v), &rows, &nr);
	free(rows);
	rows = NULL;
	rc = rc ? rc : children_rows(v, GROVE_NO_ENTRY, 1, &rows, &nr);
	free(rows);
	rc = rc ? rc : grove_view_line(v, 0, 0, &b);
	if (strcmp(st->dialect, "claude"))
		rc = rc ? rc : grove_view_header(v, &b);
	grove_buf_release(&b);
	return rc;
}

static int act_read(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	struct grove_view *v = NULL;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_READ, &s);

	rc = rc ? rc : grove_session_view(s, &v);
	rc = rc ? rc : ask_view(st, v);
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

static int act_lazy(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_READ | GROVE_OPEN_LAZY, &s);

	rc = rc ? rc : grove_session_ancestors(s, NULL, on_up, NULL);
	rc = rc ? rc : grove_session_ancestors(s, st->id, on_up, NULL);
	rc = rc ? rc : grove_session_context(s, NULL, sink);
	grove_session_close(s);
	return rc;
}

static int or_notsup(int rc)
{
	return rc == GROVE_ENOTSUP ? 0 : rc;
}

static int act_append(const struct stage *st, struct grove *g)
{
	struct grove_append_options o = { .size = sizeof(o), .parent = st->id, .sync = GROVE_SYNC_ALWAYS };
	struct grove_compaction c = { .size = sizeof(c), .summary = "sum", .first_kept = st->id,
				      .tokens_before = 1, .details_json = "{\"a\":1}" };
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	struct grove_slice json[] = { text(USER("1")), text(USER("2")) };
	enum grove_outcome outcome;
	struct grove_buf content = GROVE_BUF_INIT;
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE | GROVE_OPEN_NOTE_LAST, &s);

	rc = rc ? rc : grove_session_append(s, json[0], &o, NULL);
	rc = rc ? rc : grove_session_append_many(s, json, 2, NULL, NULL);
	rc = rc ? rc : or_notsup(grove_session_append_thinking_level(s, "high", NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_append_model(s, "p", "m", NULL, NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_append_compaction(s, &c, NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_append_custom(s, "t", "{\"x\":1}", NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_append_custom_message(s, "t", "\"x\"", NULL, 0, NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_append_label(s, st->id, "label", NULL, NULL));
	rc = rc ? rc : or_notsup(grove_session_set_name(s, "its name", GROVE_NAME_BY_USER, NULL));
	rc = rc ? rc : or_notsup(name_session(s, "a name", GROVE_NAME_BY_AGENT, NULL));
	rc = rc ? rc : or_notsup(branch_from(s, st->id, &b, NULL));
	rc = rc ? rc : grove_session_set_leaf(s, st->id, LEAF(GROVE_LEAF_PERSIST), NULL);
	rc = rc ? rc : or_notsup(continue_from(s, st->id, 0, &outcome, &content));
	grove_session_close(s);
	grove_buf_release(&content);
	return rc;
}

static int edit(void *payload, const struct grove_entry *e, struct grove_slice json,
		struct grove_buf *out)
{
	(void)payload;
	(void)e;
	(void)json;
	(void)out;
	return enough() ? GROVE_ECANCELLED : 1;
}

static int act_change(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	uint64_t nr;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : grove_session_rewrite(s, edit, NULL, &nr);
	rc = rc ? rc : grove_session_update(s, st->id, "/message/content", "\"other words\"");
	rc = rc ? rc : grove_session_forget(s, st->id, &nr);
	grove_session_close(s);
	return rc;
}

static int act_fork(const struct stage *st, struct grove *g)
{
	struct grove_fork_options o = { .size = sizeof(o), .leaf = st->id, .cwd = st->cwd,
					.sync = GROVE_SYNC_ALWAYS };
	struct grove_session *s, *t = NULL;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : grove_session_fork(s, NULL, &t);
	grove_session_close(t);
	t = NULL;
	rc = rc ? rc : grove_session_fork(s, &o, &t);
	grove_session_close(t);
	grove_session_close(s);
	return rc;
}

static int act_move(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : or_notsup(grove_session_move(s, st->cwd));
	grove_session_close(s);
	return rc;
}

static int on_artifact(void *payload, uint64_t id, const char *name, uint64_t size)
{
	(void)payload;
	(void)id;
	(void)name;
	(void)size;
	return enough();
}

static int on_agent(void *payload, const struct grove_subagent *a)
{
	(void)payload;
	(void)a;
	return enough();
}

static int on_remote(void *payload, const char *id, const char *json)
{
	(void)payload;
	(void)id;
	(void)json;
	return enough();
}

/* What lies beside it. */
static int act_beside(const struct stage *st, struct grove *g)
{
	struct grove_slice record = text("{\"agentType\":\"x\",\"taskId\":\"r1\"}");
	struct grove_buf b = GROVE_BUF_INIT;
	char ref[GROVE_BLOB_REF_MAX];
	struct grove_session *s;
	struct grove_lease lease = { .size = sizeof(lease) };
	uint64_t id = 0;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	if (!rc && strcmp(st->dialect, "claude") && strcmp(st->dialect, "pi")) {
		rc = grove_session_artifact_save(s, "bash", text("out"), &id, &b);
		rc = rc ? rc : grove_session_artifact_new(s, "read", &id, NULL);
		rc = rc ? rc : grove_session_artifact_get(s, 0, &b);
		rc = rc ? rc : or_notsup(grove_session_artifact_path(s, 0, &b));
		rc = rc ? rc : grove_session_artifact_each(s, on_artifact, NULL);
		rc = rc ? rc : or_notsup(grove_session_blob_put(s, text("bytes"), ref));
	}
	if (!rc && !strcmp(st->dialect, "claude")) {
		rc = grove_session_subagent_meta_put(s, "x2", record);
		rc = rc ? rc : grove_session_subagent_meta_get(s, "x2", &b);
		rc = rc ? rc : grove_session_subagent_each(s, on_agent, NULL);
		rc = rc ? rc : grove_session_remote_agent_put(s, "r1", record);
		rc = rc ? rc : grove_session_remote_agent_get(s, "r1", &b);
		rc = rc ? rc : grove_session_remote_agent_each(s, on_remote, NULL);
		rc = rc ? rc : grove_session_restate(s, NULL);
	}
	rc = rc ? rc : or_notsup(grove_session_value_put(s, "metadata", text("{\"a\":1}")));
	if (!rc && st->sqlite)
		rc = grove_session_value_get(s, "metadata", &b);
	rc = rc ? rc : grove_session_lease_take(s, "me", 60000, &lease);
	rc = rc ? rc : grove_session_lease_get(s, &lease);
	rc = rc ? rc : grove_session_lease_release(s);
	grove_session_close(s);
	grove_buf_release(&b);
	return rc;
}

static int filter(void *payload, struct grove_slice json, struct grove_buf *out)
{
	(void)payload;
	(void)json;
	(void)out;
	return enough() ? GROVE_ECANCELLED : 1;
}

static int act_record(const struct stage *st, struct grove *g)
{
	struct grove_record_options o = { .size = sizeof(o), .filter = filter, .sync = GROVE_SYNC_ALWAYS };
	struct grove_slice m[] = { text(MESSAGE("user", "33333333-2222-4333-8444-555555555551")),
				   text(MESSAGE("assistant", "33333333-2222-4333-8444-555555555552")) };
	struct grove_session *s;
	const char *last;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : grove_session_record(s, m, 2, &o, &last);
	grove_session_close(s);
	return rc;
}

static const struct {
	const char *name;
	int (*go)(const struct stage *st, struct grove *g);
	bool changes;
	const char *only;              /* this agent; NULL: each */
	bool files;                    /* in files only */
} acts[] = {
	{ "list", act_list, false, NULL, false },
	{ "find", act_find, false, NULL, false },
	{ "usage", act_usage, false, NULL, false },
	{ "check", act_check, false, NULL, false },
	{ "read", act_read, false, NULL, false },
	{ "lazy", act_lazy, false, NULL, false },
	{ "append", act_append, true, NULL, false },
	{ "change", act_change, true, NULL, false },
	{ "fork", act_fork, true, NULL, false },
	{ "move", act_move, true, NULL, false },
	{ "beside", act_beside, true, NULL, false },
	{ "record", act_record, true, "claude", false },
	{ "recent", act_recent, true, NULL, false },
	{ "watch", act_watch, true, NULL, false },
	{ "fix", act_fix, true, NULL, false },
	{ "copy", act_copy, true, NULL, false },
	{ "archive", act_archive, true, NULL, false },
	{ "store", act_store, true, NULL, false },
	{ "blobs", act_blobs, true, "xcsh", true },
	{ "history", act_history, true, "xcsh", true },
	{ "cached", act_cached, true, NULL, false },
	{ "memory", act_memory, false, NULL, true },
	{ "migrate", act_migrate, true, "pi", false },
	{ "migrate", act_migrate, true, "xcsh", false },
	{ "migrate", act_migrate, true, "omp", false },
	{ "storage", act_storage, true, "pi", true },
	{ "hydrate", act_hydrate, true, "claude", true },
	{ "remove", act_remove, true, NULL, false },
};

/* ------------------------------------------------------------------ the walk */

static int perform(struct stage *st, size_t a, struct grove_detail *d)
{
	struct grove *g;
	int rc;

	if (acts[a].changes)
		copy_tree(st->first, st->run);
	g = world_of(st, &rc);
	if (g)
		grove_set_progress(g, (struct grove_progress){ on_progress, NULL });
	if (!rc)
		rc = acts[a].go(st, g);
	own++;
	d->message[0] = '\0';
	if (g)
		grove_error(g, d);
	own--;
	grove_close(g);
	return rc;
}

/* Of so many places one is tried, unless time does not matter. */
#define SHARE 16

static struct chance chance;
static uint32_t share = SHARE;
static unsigned tried, wrong;

static void judge(const struct stage *st, size_t a, enum kind kind, int rc, const struct grove_detail *d)
{
	static const int told[KINDS][8] = {
		[MEMORY] = { GROVE_ENOMEM },
		[SYSTEM] = { GROVE_EIO, GROVE_EACCESS, GROVE_EFULL },
		[CALLER] = { ENOUGH, -ENOUGH, GROVE_ECANCELLED },
	};

	/* SQLite says where FTS5 is by a statement, and not why it does not */
	if (acts[a].go == act_history && kind == MEMORY && rc == GROVE_ENOTSUP)
		return;
	/* a session that cannot be read is passed over, and one that has that id may be another */
	if (acts[a].go == act_find && kind == SYSTEM && rc == GROVE_ENOTFOUND)
		return;
	/* what could not be looked at again afterwards has an unknown tail */
	if (!rc || (rc == GROVE_EIO && acts[a].changes))
		return;
	for (size_t i = 0; i < 8 && told[kind][i]; i++)
		if (told[kind][i] == rc)
			return;
	wrong++;
	print_error("%s of %s in %s: %s fails (%s): %s (%d): %s\n", acts[a].name, st->dialect,
		    st->sqlite ? "SQLite" : "files", kind_names[kind], now.call, grove_error_name(rc), rc,
		    d->message);
	for (int i = 0; i < now.depth; i++)
		print_error("\t%p\n", now.by[i]);
}

/* Whatever failed: the session can be read and checked by whoever comes next. */
static void look_afterwards(const struct stage *st, size_t a)
{
	const char *id = strcmp(st->dialect, "claude") ? "s1" : SID;
	struct grove *g = world_of(st, NULL);
	struct grove_session *s;
	struct grove_view *v = NULL;
	int rc = grove_session_open(g, id, GROVE_OPEN_READ, &s);

	rc = rc ? rc : grove_session_view(s, &v);
	if (!rc && grove_view_count(v) < 5)
		rc = GROVE_EDAMAGED;
	grove_view_unref(v);
	grove_session_close(s);
	rc = rc ? rc : grove_check(g, NULL, on_problem, NULL, NULL);
	if (rc && acts[a].go != act_remove) {
		wrong++;
		print_error("%s of %s in %s: after %s failed: %s\n", acts[a].name, st->dialect,
			    st->sqlite ? "SQLite" : "files", now.call, grove_error_name(rc));
	}
	grove_close(g);
}

static void walk(struct stage *st, size_t a, enum kind kind)
{
	struct grove_detail d;
	size_t from = now.nr, upto;
	int rc;

	now.kind = kind;
	now.count = 0;
	now.noting = true;
	rc = perform(st, a, &d);
	now.noting = false;
	if (rc) {
		wrong++;
		print_error("%s of %s in %s: %s: %s\n", acts[a].name, st->dialect,
			    st->sqlite ? "SQLite" : "files", grove_error_name(rc), d.message);
		return;
	}
	upto = now.nr;
	for (size_t i = from; i < upto; i++) {
		/* callers are few: all of them */
		if (kind != CALLER && chance_below(&chance, share))
			continue;
		tried++;
		now.target = now.first[i];
		now.count = 0;
		now.happened = false;
		now.failing = true;
		rc = perform(st, a, &d);
		now.failing = false;
		if (now.happened && acts[a].changes)
			look_afterwards(st, a);
		if (now.happened)
			judge(st, a, kind, rc, &d);
		else if (rc)
			print_error("%s of %s in %s: %s, and nothing failed: %s\n", acts[a].name, st->dialect,
				    st->sqlite ? "SQLite" : "files", grove_error_name(rc), d.message);
	}
}

/* ------------------------------------------------------------------ the worlds */

#define TS ",\"timestamp\":\"2026-01-01T00:00:01.000Z\""
#define USAGE ",\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":0,\"cacheWrite\":0,\"cost\":{\"total\":0.5}}"
#define TURNS \
	ENTRY("u1", "null", "user", "one \\u00e9 two") \
	"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"u1\"" TS ",\"message\":{\"role\":\"assistant\",\"content\":[" \
	"{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"yes\"},{\"type\":\"toolCall\",\"id\":\"t1\"," \
	"\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}],\"provider\":\"p\",\"model\":\"m\"" USAGE ",\"timestamp\":2}}\n" \
	"{\"type\":\"message\",\"id\":\"r1\",\"parentId\":\"a1\"" TS ",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t1\"," \
	"\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"file\"}],\"isError\":false}}\n" \
	"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"r1\"" TS ",\"targetId\":\"u1\",\"label\":\"here\"}\n" \
	"{\"type\":\"thinking_level_change\",\"id\":\"h1\",\"parentId\":\"l1\"" TS ",\"thinkingLevel\":\"high\"}\n" \
	ENTRY("u2", "\"h1\"", "user", "more") \
	"{\"type\":\"compaction\",\"id\":\"k1\",\"parentId\":\"u2\"" TS ",\"summary\":\"so far\",\"firstKeptEntryId\":\"u2\"," \
	"\"tokensBefore\":9}\n" \
	ENTRY("u3", "\"k1\"", "user", "again") ENTRY("u4", "\"a1\"", "user", "a branch") \
	"{\"type\":\"branch_summary\",\"id\":\"b1\",\"parentId\":\"u4\"" TS ",\"fromId\":\"u3\",\"summary\":\"was there\"}\n"
#define TITLED "{\"type\":\"session\",\"version\":3,\"id\":\"s1\"" TS ",\"cwd\":\"/w\",\"title\":\"t\",\"titleSource\":\"user\"}\n"
#define MODEL "{\"type\":\"model_change\",\"id\":\"m1\",\"parentId\":\"b1\"" TS ",\"model\":\"p/m\"}\n"
/* Lines that check tells of and fix mends: an orphan, an id that is there twice, half a line. */
#define DAMAGE \
	"{\"type\":\"session\",\"version\":3,\"id\":\"s2\"" TS ",\"cwd\":\"/w\",\"parentSession\":\"s1\"}\n" \
	ENTRY("u1", "null", "user", "one") "not json\n" ENTRY("u1", "\"u1\"", "user", "twice") \
	ENTRY("o1", "\"gone\"", "user", "orphan") \
	"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"u1\"" TS ",\"targetId\":\"nobody\",\"label\":\"x\"}\n" \
	"{\"type\":\"message\",\"id\":\"h"

/* Without ids: version 1. */
#define OLD \
	"{\"type\":\"session\",\"id\":\"s3\"" TS ",\"cwd\":\"/w\",\"provider\":\"p\",\"modelId\":\"m\"}\n" \
	"{\"type\":\"message\"" TS ",\"message\":{\"role\":\"user\",\"content\":\"old\"}}\n" \
	"{\"type\":\"message\"" TS ",\"message\":{\"role\":\"hookMessage\",\"content\":\"older\"}}\n" \
	"{\"type\":\"compaction\"" TS ",\"summary\":\"s\",\"firstKeptEntryIndex\":1,\"tokensBefore\":1}\n"

static const struct {
	const char *dialect, *dir, *id, *first, *second;
} worlds[] = {
	{ "pi", ".pi/agent/sessions/--w--/", "u1", HEADER TURNS
	  "{\"type\":\"session_info\",\"id\":\"n1\",\"parentId\":\"b1\"" TS ",\"name\":\"its name\"}\n", DAMAGE },
	{ "xcsh", ".xcsh/agent/sessions/--w--/", "u1", TITLED TURNS MODEL, DAMAGE },
	{ "omp", ".omp/agent/sessions/--w--/", "u1", TITLED TURNS MODEL, DAMAGE },
	{ "claude", ".claude/projects/-w/", "u1", TWO_WAYS
	  RECORD("assistant", "a4", "\"a3\"", "7",
		 "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}]") "\n"
	  RECORD("user", "r4", "\"a4\"", "8",
		 "[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"x\"}]") "\n"
	  NOTE("custom-title", "customTitle", "its name"),
	  FIRST "not json\n" LINE("user", "u9", "\"gone\"", "3") "{\"type\":\"us" },
};

static void begin_history(const struct stage *st)
{
	struct grove *g = world_of(st, NULL);
	struct grove_history *h;
	char path[300];

	snprintf(path, sizeof(path), "%s/history.db", st->run);
	assert_int_equal(grove_history_open(g, path, &h), 0);
	assert_int_equal(grove_history_add(h, text("an older prompt"), "/w", "s1"), 0);
	assert_int_equal(grove_history_flush(h), 0);
	grove_history_close(h);
	grove_close(g);
}

/* A blob that is named, one that is not, one that is not what it says, and one that is not there. */
static void add_blobs(const struct stage *st, const char *session, const char *lines)
{
	static const char image[] = "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"u1\"" TS
		",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"%s\","
		"\"mimeType\":\"image/png\"}]}}\n";
	struct grove *g = world_of(st, NULL);
	char ref[GROVE_BLOB_REF_MAX], bytes[9000], dir[300], wrong_one[400];
	struct grove_blobs *b;
	int n;

	snprintf(dir, sizeof(dir), "%s/.%s/agent/blobs", st->home, st->dialect);
	assert_int_equal(grove_blobs_open(g, dir, &b), 0);
	assert_int_equal(grove_blobs_put(b, text("nobody names it"), NULL, ref, NULL), 0);
	assert_int_equal(grove_blobs_put(b, text("an image"), NULL, ref, NULL), 0);
	n = snprintf(bytes, sizeof(bytes), "%s", lines);
	n += snprintf(bytes + n, sizeof(bytes) - n, image, "i1", ref);
	snprintf(bytes + n, sizeof(bytes) - n, image, "i2",
		 "blob:sha256:0000000000000000000000000000000000000000000000000000000000000001");
	lay(st, session, bytes);
	snprintf(wrong_one, sizeof(wrong_one),
		 ".%s/agent/blobs/0000000000000000000000000000000000000000000000000000000000000002", st->dialect);
	lay(st, wrong_one, "other bytes");
	grove_blobs_close(b);
	grove_close(g);
}

/* Everything that one agent has, in files; with `sqlite` all of it is in a database, too. */
static void furnish(struct stage *st, size_t i, bool sqlite)
{
	bool claude = !strcmp(worlds[i].dialect, "claude");
	static char session[300];
	char path[600], from[600];
	struct grove *g;

	st->dialect = worlds[i].dialect;
	st->id = worlds[i].id;
	st->sqlite = false;
	snprintf(session, sizeof(session), "%s%s", worlds[i].dir,
		 claude ? SID ".jsonl" : "2026-01-01T00-00-00-000Z_s1.jsonl");
	st->session = session;
	scratch_remove(st->run);
	assert_int_equal(mkdir(st->run, 0700), 0);
	assert_int_equal(mkdir(st->home, 0700), 0);
	assert_int_equal(mkdir(st->cwd, 0700), 0);
	lay(st, session, worlds[i].first);
	snprintf(path, sizeof(path), "%s%s", worlds[i].dir,
		 claude ? "12121212-2222-4333-8444-555555555555.jsonl" : "2026-01-01T00-00-00-000Z_s2.jsonl");
	lay(st, path, worlds[i].second);
	if (claude) {
		snprintf(path, sizeof(path), "%s" SID "/subagents/agent-x1.jsonl", worlds[i].dir);
		lay(st, path, FIRST);
		snprintf(path, sizeof(path), "%s" SID "/subagents/agent-x1.meta.json", worlds[i].dir);
		lay(st, path, "{\"agentType\":\"x\",\"description\":\"d\"}");
		snprintf(path, sizeof(path), "%s" SID "/tool-results/t1.txt", worlds[i].dir);
		lay(st, path, "printed");
		lay(st, ".claude/settings.json", "{\"cleanupPeriodDays\":30}");
	} else if (i) {
		snprintf(path, sizeof(path), "%.*s/0.bash.log", (int)(strlen(session) - 6), session);
		lay(st, path, "printed");
	}
	if (!claude) {
		snprintf(path, sizeof(path), "%s2025-01-01T00-00-00-000Z_s3.jsonl", worlds[i].dir);
		lay(st, path, OLD);
	}
	if (!strcmp(st->dialect, "xcsh"))
		begin_history(st);
	if (i == 1 || i == 2)
		add_blobs(st, session, worlds[i].first);
	if (sqlite) {
		g = world_of(st, NULL);
		snprintf(from, sizeof(from), "%s/%s", st->home, worlds[i].dir);
		*strrchr(from, '/') = '\0';
		*strrchr(from, '/') = '\0';
		assert_int_equal(grove_store_init(g, st->db), 0);
		assert_int_equal(grove_store_copy(g, from, st->db, NULL, NULL, NULL), 0);
		grove_close(g);
		scratch_remove(st->home);
		assert_int_equal(mkdir(st->home, 0700), 0);
	}
	copy_tree(st->run, st->first);
	st->sqlite = sqlite;
}

static void walk_all(void **state, bool sqlite, enum kind kind)
{
	struct stage *st = *state;
	size_t before = now.nr;

	tried = wrong = 0;

	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		furnish(st, i, sqlite);
		for (size_t a = 0; a < sizeof(acts) / sizeof(*acts); a++) {
			if ((acts[a].only && strcmp(acts[a].only, worlds[i].dialect)) ||
			    (acts[a].files && sqlite))
				continue;
			copy_tree(st->first, st->run);
			walk(st, a, kind);
		}
	}
	print_message("# %u of %zu places\n", tried, now.nr - before);
	assert_true(tried > 0);
	assert_int_equal(wrong, 0);
}

static void memory_runs_out_in_files(void **state)
{
	walk_all(state, false, MEMORY);
}

static void the_system_fails_under_files(void **state)
{
	walk_all(state, false, SYSTEM);
}

static void the_caller_has_enough_of_files(void **state)
{
	walk_all(state, false, CALLER);
}

static void memory_runs_out_in_a_database(void **state)
{
	walk_all(state, true, MEMORY);
}

static void the_system_fails_under_a_database(void **state)
{
	walk_all(state, true, SYSTEM);
}

static void the_caller_has_enough_of_a_database(void **state)
{
	walk_all(state, true, CALLER);
}

static int set_up(void **state)
{
	struct stage *st = calloc(1, sizeof(*st));

	assert_non_null(st);
	scratch_prefer_memory();
	scratch_make(st->dir, sizeof(st->dir));
	snprintf(st->first, sizeof(st->first), "%s/first", st->dir);
	snprintf(st->run, sizeof(st->run), "%s/run", st->dir);
	snprintf(st->home, sizeof(st->home), "%s/home", st->run);
	snprintf(st->cwd, sizeof(st->cwd), "%s/w", st->run);
	snprintf(st->db, sizeof(st->db), "sqlite:%s/store.db", st->run);
	snprintf(st->other, sizeof(st->other), "file:%s/other", st->run);
	grove__sys_fault = fault_ask;
	*state = st;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *st = *state;

	grove__sys_fault = NULL;
	now.noting = now.failing = false;
	scratch_remove(st->dir);
	free(st);
	return 0;
}

#define STAGED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(memory_runs_out_in_files),
		STAGED(the_system_fails_under_files),
		STAGED(the_caller_has_enough_of_files),
		STAGED(memory_runs_out_in_a_database),
		STAGED(the_system_fails_under_a_database),
		STAGED(the_caller_has_enough_of_a_database),
	};
	const char *all = getenv("GROVE_TEST_LONG");

	if (!all || !*all)
		all = getenv("GROVE_WALK_ALL");
	if (all && *all)
		share = 1;
	chance = chance_begin("walk_faults");
	shim_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
