/*
 * tests/unit/test_walk_faults.c: every question that can be asked about sessions,
 * and every change that can be made to them, with each of its steps failing once
 * (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <grove/storage.h>

#include "walk.h"

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
	answered_all(&b);
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
	answered_all(&b);
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

static int note_file(void *payload, const struct grove_storage_item *item)
{
	(void)payload;
	return is_so(item->path && *item->path);
}

/* Files under paths. */
static int use_storage(struct grove_storage *x)
{
	static const char one[] = "/nowhere/a/one.jsonl", two[] = "/nowhere/a/two.jsonl", draft[] = "/nowhere/a/one/draft";
	struct grove_title title = { .size = sizeof(title), .text = "a title" };
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_storage_write_text(x, one, text("a text"), NULL);

	rc = rc ? rc : grove_storage_append_text(x, one, text("{}\n"), GROVE_SYNC_ALWAYS);
	rc = rc ? rc : grove_storage_append_text(x, draft, text("a text"), GROVE_SYNC_NONE);
	rc = rc ? rc : grove_storage_append_text(x, draft, text(" of two"), GROVE_SYNC_NONE);
	rc = rc ? rc : grove_storage_read_text(x, draft, &b);
	rc = rc ? rc : grove_storage_read_text_slices(x, one, 3, 3, &b, &b);
	grove_buf_release(&b);
	rc = rc ? rc : grove_storage_set_title(x, one, &title);
	rc = rc ? rc : grove_storage_each(x, note_file, NULL);
	rc = rc ? rc : grove_storage_lock(x, one, 10000);
	rc = rc ? rc : grove_storage_unlock(x, one);
	rc = rc ? rc : grove_storage_rename(x, one, two);
	return rc ? rc : grove_storage_remove(x, two);
}

static int act_storage(const struct stage *st, struct grove *g)
{
	struct grove_storage *x;
	int rc = grove_storage_open(g, NULL, &x);

	(void)st;
	rc = rc ? rc : use_storage(x);
	grove_storage_close(x);
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

	rc = rc ? rc : grove_session_context(s, NULL, sink);
	grove_session_close(s);
	return rc;
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
	rc = rc ? rc : or_notsup(append_custom(s, "t", "{\"x\":1}", NULL));
	rc = rc ? rc : or_notsup(append_custom_message(s, "t", "\"x\"", NULL));
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

/* Whatever was appended is below something, as all of it was meant to be. */
static int has_one_root(const struct stage *st, struct grove *g)
{
	struct grove_rows roots = { NULL, 0 };
	struct grove_session *s;
	struct grove_view *v = NULL;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_READ, &s);

	rc = rc ? rc : grove_session_view(s, &v);
	rc = rc ? rc : grove_view_children(v, GROVE_NO_ENTRY, GROVE_ORDER_APPENDED, &roots);
	if (!rc && roots.nr != 1)
		rc = GROVE_EDAMAGED;
	grove_rows_release(&roots);
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

static int act_change(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	uint64_t nr;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

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

static int on_agent(void *payload, const struct grove_subagent *a)
{
	(void)payload;
	(void)a;
	return enough();
}

/* What lies beside it. */
static int act_beside(const struct stage *st, struct grove *g)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_lease lease = { .size = sizeof(lease) };
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	if (!rc && !strcmp(st->dialect, "claude"))
		rc = grove_session_subagent_each(s, on_agent, NULL);
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

static const struct act all_acts[] = {
	{ .name = "list", .go = act_list, .same = true },
	/* a session that cannot be read is passed over, and one that has that id may be another */
	{ .name = "find", .go = act_find, .also[SYSTEM] = GROVE_ENOTFOUND },
	{ .name = "usage", .go = act_usage, .same = true },
	{ .name = "check", .go = act_check },
	{ .name = "read", .go = act_read, .same = true },
	{ .name = "lazy", .go = act_lazy, .same = true },
	{ .name = "append", .go = act_append, .changes = true, .after = has_one_root },
	{ .name = "change", .go = act_change, .changes = true },
	{ .name = "fork", .go = act_fork, .changes = true },
	{ .name = "move", .go = act_move, .changes = true },
	{ .name = "beside", .go = act_beside, .changes = true },
	{ .name = "recent", .go = act_recent, .changes = true },
	{ .name = "watch", .go = act_watch, .changes = true },
	{ .name = "fix", .go = act_fix, .changes = true },
	{ .name = "copy", .go = act_copy, .changes = true },
	{ .name = "archive", .go = act_archive, .changes = true },
	{ .name = "store", .go = act_store, .changes = true },
	{ .name = "blobs", .go = act_blobs, .changes = true, .only = "xcsh", .files = true },
	/* SQLite says where FTS5 is by a statement, and not why it does not */
	{ .name = "history", .go = act_history, .changes = true, .only = "xcsh", .files = true, .also[MEMORY] = GROVE_ENOTSUP },
	{ .name = "cached", .go = act_cached, .changes = true },
	{ .name = "memory", .go = act_memory, .files = true },
	{ .name = "migrate", .go = act_migrate, .changes = true, .only = "pi" },
	{ .name = "migrate", .go = act_migrate, .changes = true, .only = "xcsh" },
	{ .name = "migrate", .go = act_migrate, .changes = true, .only = "omp" },
	{ .name = "storage", .go = act_storage, .changes = true, .only = "pi", .files = true },
	{ .name = "hydrate", .go = act_hydrate, .changes = true, .only = "claude", .files = true },
	{ .name = "remove", .go = act_remove, .changes = true, .ends = true },
};

int main(void)
{
	return walk_main("walk_faults", all_acts, sizeof(all_acts) / sizeof(*all_acts));
}
