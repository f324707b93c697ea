/*
 * tests/unit/test_walk_hosts.c: the calls of servers, viewers and applications
 * with session code of their own, with each of their steps failing once (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "walk.h"
#include "../lib/keyed.h"

static void answered_text(const char *s)
{
	if (s)
		answered(s, strlen(s) + 1);
}

/* ------------------------------------------------------------------- search */

static int wants_all(void *payload, const char *store, const char *cwd)
{
	(void)payload;
	(void)store;
	(void)cwd;
	return 1;
}

/* The hits, and where to go on. */
static int ask(struct grove_search *s, const char *query, const struct grove_search_options *o, struct grove_buf *cursor)
{
	struct grove_hits_about about = { .size = sizeof(about) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_hits *h;
	int rc = grove_search_run(s, query, o, &h);

	rc = rc ? rc : grove_hits_about(h, &about);
	for (size_t i = 0; !rc && i < grove_hits_count(h); i++) {
		const struct grove_hit *hit = grove_hits_at(h, i);

		answered_text(hit->session->id);
		answered(hit->snippet.ptr, hit->snippet.len);
		rc = grove_hit_json(hit, &b);
	}
	for (size_t i = 0; !rc && i < grove_hits_sessions(h); i++)
		rc = grove_hit_session_json(grove_hits_session_at(h, i), &b);
	if (!rc) {
		answered((const char *)&about.total, sizeof(about.total));
		if (cursor && about.cursor)
			rc = grove_buf_add(cursor, text(about.cursor));
	}
	grove_hits_free(h);
	grove_buf_release(&b);
	return rc;
}

static int ask_all(const struct stage *st, struct grove_search *s)
{
	const struct grove_search_options o[] = {
		{ .size = sizeof(o[0]), .in = GROVE_SEARCH_IN_TEXT, .role = "user", .cwd = "/w" },
		{ .size = sizeof(o[0]), .agent = st->dialect, .since = 1, .until = 4102444800000, .per_session = 1 },
		{ .size = sizeof(o[0]), .what = name_of(st), .wants = wants_all },
		{ .size = sizeof(o[0]), .in = GROVE_SEARCH_IN_CALLS | GROVE_SEARCH_IN_RESULTS, .compare = 1 },
		{ .size = sizeof(o[0]), .in = GROVE_SEARCH_IN_NAMES },
	};
	struct grove_search_options page = { .size = sizeof(page), .limit = 1 };
	struct grove_buf cursor = GROVE_BUF_INIT;
	bool claude = !strcmp(st->dialect, "claude");
	int rc = ask(s, claude ? "u1" : "one", NULL, NULL);

	rc = rc ? rc : ask(s, claude ? "u1 " : "\"so far\" -again", NULL, NULL);
	rc = rc ? rc : ask(s, claude ? "=u2 -a9" : "=branch a*", NULL, NULL);
	rc = rc ? rc : ask(s, claude ? "a*" : "bran", &o[0], NULL);
	rc = rc ? rc : ask(s, claude ? "u1" : "more", &o[1], NULL);
	rc = rc ? rc : ask(s, claude ? "a2" : "again", &o[2], NULL);
	rc = rc ? rc : ask(s, claude ? "bash" : "ls", &o[3], NULL);
	rc = rc ? rc : ask(s, "name", &o[4], NULL);
	/* these words are in no one message, and one is nowhere; in the second, sessions are asked about a role */
	rc = rc ? rc : ask(s, claude ? "what of u1 and a2 and xyzzy " : "what of one branch and xyzzy ", NULL, NULL);
	rc = rc ? rc : ask(s, "oneWord more ls", &o[1], NULL);
	/* nothing has this: another word is near */
	rc = rc ? rc : ask(s, claude ? "nmae" : "brnach ", NULL, NULL);
	rc = rc ? rc : ask(s, "o", &page, &cursor);
	if (cursor.len) {
		page.cursor = cursor.ptr;
		rc = rc ? rc : ask(s, "o", &page, NULL);
	}
	grove_buf_release(&cursor);
	return rc;
}

static int add_words(const struct stage *st, struct grove *g)
{
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : grove_session_append(s, text(USER("more words of one kind")), NULL, NULL);
	grove_session_close(s);
	return rc;
}

/* With an index that is made, used again, and brought up to date. */
static int act_search(const struct stage *st, struct grove *g)
{
	struct grove *more = NULL;
	struct grove_search *s = NULL;
	int rc = open_world(st, true, &more);

	(void)g;
	if (!rc)
		grove_set_progress(more, (struct grove_progress){ on_progress, NULL });
	rc = rc ? rc : grove_search_open(more, 0, &s);
	rc = rc ? rc : ask_all(st, s);
	rc = rc ? rc : add_words(st, more);
	rc = rc ? rc : grove_search_refresh(s);
	rc = rc ? rc : ask(s, "kind", NULL, NULL);
	grove_search_close(s);
	s = NULL;
	rc = rc ? rc : grove_search_open(more, GROVE_SEARCH_NO_UPDATE, &s);
	rc = rc ? rc : ask(s, "kind", NULL, NULL);
	grove_search_close(s);
	grove_close(more);
	return rc;
}

static int act_scan(const struct stage *st, struct grove *g)
{
	struct grove_search *s;
	int rc = grove_search_open(g, GROVE_SEARCH_NO_INDEX, &s);

	rc = rc ? rc : ask_all(st, s);
	rc = rc ? rc : ask(s, "re:(on|u)[e1]", NULL, NULL);
	grove_search_close(s);
	return rc;
}

/* --------------------------------------------------------------------- logs */

#define ROW(id, words) "{\"uuid\":\"" id "\",\"text\":\"" words "\"}"

/* What the log was told to keep, and said that it does. */
static struct {
	char lines[16][80];
	size_t nr, maybe;              /* acknowledged, and those of a call whose fate is unknown */
	bool removed;
} ledger;

static int put_rows(struct grove_log *l, const struct grove_slice *rows, size_t nr, const struct grove_log_options *o)
{
	struct grove_log_result r = { .size = sizeof(r) };
	int rc;

	assert_true(ledger.nr + nr <= 16);
	for (size_t i = 0; i < nr; i++)
		snprintf(ledger.lines[ledger.nr + i], sizeof(ledger.lines[0]), "%.*s", (int)rows[i].len, rows[i].ptr);
	ledger.maybe = nr;
	rc = grove_log_append(l, rows, nr, o, &r);
	if (rc)
		return rc;
	answered((const char *)&r.seq, sizeof(r.seq));
	ledger.nr += nr;
	ledger.maybe = 0;
	return 0;
}

static const struct grove_key own_key = { "-w", "key one", NULL }, below = { "-w", "key one", "subagents/agent-x" },
			      moved_key = { "-w", "key two", NULL };

static int on_log(void *payload, const struct grove_log_item *i)
{
	(void)payload;
	(void)i;
	return enough();
}

static const char *store_of(const struct stage *st)
{
	return st->sqlite ? st->db : st->other;
}

static int use_log(const struct stage *st, struct grove *g, struct grove_log *l)
{
	struct grove_log_options by_id = { .size = sizeof(by_id), .id_member = "uuid", .sync = GROVE_SYNC_ALWAYS };
	struct grove_log_options if_seq = { .size = sizeof(if_seq), .flags = GROVE_LOG_IF_SEQ | GROVE_LOG_COUNT, .seq = 3 };
	struct grove_slice rows[] = { text(ROW("1", "one")), text(ROW("2", "two")), text(ROW("3", "three")),
				      text(ROW("4", "four")) };
	struct grove_slice again[] = { rows[1], rows[2] };
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_buf first = GROVE_BUF_INIT, last = GROVE_BUF_INIT;
	struct grove_log *sub = NULL;
	struct grove_title title = { .size = sizeof(title), .text = "t", .source = "user" };
	int rc;

	rc = put_rows(l, rows, 1, NULL);
	rc = rc ? rc : put_rows(l, rows + 1, 2, &by_id);
	/* sent again: nothing is stored twice */
	rc = rc ? rc : grove_log_append(l, again, 2, &by_id, &r);
	if (!rc)
		assert_int_equal(r.skipped, 2);
	rc = rc ? rc : put_rows(l, rows + 3, 1, &if_seq);
	rc = rc ? rc : grove_log_read(l, 1, 3, sink, &r);
	rc = rc ? rc : grove_log_read(l, 0, 0, sink, NULL);
	rc = rc ? rc : keyed_read_ends(l, 10, 20, &first, &last, &r);
	answered_all(&first);
	answered_all(&last);
	rc = rc ? rc : keyed_lock(l, 60000);
	rc = rc ? rc : keyed_unlock(l);
	rc = rc ? rc : grove_log_value_put(l, "metadata", text("{\"a\":1}"));
	rc = rc ? rc : grove_log_value_get(l, "metadata", &first);
	rc = rc ? rc : grove_log_open(g, store_of(st), &below, GROVE_LOG_CREATE, &sub);
	rc = rc ? rc : grove_log_append(sub, rows, 2, NULL, NULL);
	if (!rc) {
		rc = keyed_set_title(l, &title);
		rc = rc == 1 ? 0 : rc;     /* no line of it has room for one */
	}
	grove_log_close(sub);
	grove_buf_release(&first);
	grove_buf_release(&last);
	return rc;
}

static int act_log(const struct stage *st, struct grove *g)
{
	struct grove_log *l = NULL;
	int rc;

	memset(&ledger, 0, sizeof(ledger));
	rc = grove_log_open(g, store_of(st), &own_key, GROVE_LOG_CREATE, &l);
	rc = rc ? rc : use_log(st, g, l);
	grove_log_close(l);
	rc = rc ? rc : grove_log_each(g, store_of(st), NULL, GROVE_LOG_EACH_LINES, on_log, NULL);
	rc = rc ? rc : grove_log_each(g, store_of(st), &own_key, 0, on_log, NULL);
	return rc;
}

static int gather(void *payload, const char *ptr, size_t len)
{
	return grove_buf_add(payload, (struct grove_slice){ ptr, len });
}

/* Every line that was acknowledged is there once, in its place, and none that was not given. */
static int log_is_whole(const struct stage *st, struct grove *g)
{
	struct grove_buf b = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
	struct grove_log *l;
	size_t nr = 0;
	int rc = grove_log_open(g, store_of(st), &own_key, GROVE_LOG_READ, &l);

	if (!rc)
		rc = grove_log_read(l, 0, 0, (struct grove_sink){ gather, &b }, NULL);
	grove_log_close(l);
	if (rc == GROVE_ENOTFOUND && (!ledger.nr || ledger.removed))
		return 0;
	for (; !rc && nr < ledger.nr + ledger.maybe && want.len < b.len; nr++) {
		rc = grove_buf_add(&want, text(ledger.lines[nr]));
		rc = rc ? rc : grove_buf_add(&want, text("\n"));
	}
	if (!rc && (nr < ledger.nr || want.len != b.len || (b.len && memcmp(want.ptr, b.ptr, b.len)))) {
		print_error("%zu of %zu lines, and %zu: %s\n", nr, ledger.nr, ledger.maybe, b.ptr);
		rc = GROVE_EDAMAGED;
	}
	grove_buf_release(&b);
	grove_buf_release(&want);
	return rc;
}

/* Other lines in the place of all; another key; gone. */
static int act_log_change(const struct stage *st, struct grove *g)
{
	struct grove_slice rows[] = { text(ROW("1", "one")), text(ROW("2", "two")) }, other[] = { text(ROW("9", "nine")) };
	struct grove_log_options force = { .size = sizeof(force), .flags = GROVE__KEYED_FORCE };
	struct grove_log *l = NULL, *sub = NULL;
	int rc = grove_log_open(g, store_of(st), &own_key, GROVE_LOG_CREATE, &l);

	rc = rc ? rc : grove_log_append(l, rows, 2, NULL, NULL);
	rc = rc ? rc : grove_log_value_put(l, "metadata", text("{}"));
	rc = rc ? rc : grove_log_open(g, store_of(st), &below, GROVE_LOG_CREATE, &sub);
	rc = rc ? rc : grove_log_append(sub, rows, 1, NULL, NULL);
	grove_log_close(sub);
	rc = rc ? rc : keyed_replace(l, other, 1, &force, NULL);
	rc = rc ? rc : grove_log_read(l, 0, 0, sink, NULL);
	grove_log_close(l);
	rc = rc ? rc : keyed_move(g, store_of(st), &own_key, &moved_key);
	rc = rc ? rc : grove_log_remove(g, store_of(st), &moved_key);
	return rc;
}

/* -------------------------------------------------------------------- carry */

static int on_differ(void *payload, const char *id)
{
	(void)payload;
	(void)id;
	return enough();
}

static int on_part(void *payload, const struct grove_carry_part *p)
{
	(void)payload;
	answered_text(p->name);
	return enough();
}

#define CARRIED \
	"{\"type\":\"message\",\"id\":\"x1\",\"parentId\":\"u1\",\"timestamp\":\"2026-01-02T00:00:00.000Z\"," \
	"\"message\":{\"role\":\"user\",\"content\":\"from elsewhere\",\"timestamp\":1}}"

/* Lines that another machine has, below what is here, and a session that is not here yet. */
static int act_carry(const struct stage *st, struct grove *g)
{
	static const char *const new_id = "44444444-2222-4333-8444-555555555555";
	bool claude = !strcmp(st->dialect, "claude");
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_WRITE };
	struct grove_carry_append_options ao = { .size = sizeof(ao), .differs = on_differ, .sync = GROVE_SYNC_ALWAYS };
	struct grove_carry_about about = { .size = sizeof(about) };
	struct grove_carry_state state = { .size = sizeof(state) };
	struct grove_carry_result r = { .size = sizeof(r) };
	struct grove_carry_line line = { .size = sizeof(line) };
	struct grove_slice more = claude ? text(RECORD("user", "x1", "\"a2\"", "9", "\"from elsewhere\"")) : text(CARRIED);
	struct grove_slice two[] = { text("{\"type\":\"session\",\"version\":3,\"id\":\"44444444-2222-4333-8444-555555555555\","
					  "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}"),
				     text("{\"type\":\"message\",\"id\":\"x0\",\"parentId\":null,\"timestamp\":"
					  "\"2026-01-02T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}") };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_carry *c = NULL;
	int rc = grove_carry_open(g, name_of(st), &o, &c);

	rc = rc ? rc : grove_carry_about(c, &about);
	rc = rc ? rc : grove_carry_state(c, NULL, &state);
	rc = rc ? rc : grove_carry_read(c, NULL, 0, 0, sink, &state);
	rc = rc ? rc : grove_carry_line(c, more, state.seq, &line);
	rc = rc ? rc : grove_carry_append(c, &more, 1, &ao, &r);
	ao.flags = GROVE_CARRY_FOLLOW;
	rc = rc ? rc : grove_carry_append(c, &more, 1, &ao, &r);
	if (!rc)
		assert_int_equal(r.skipped, 1);
	rc = rc ? rc : grove_carry_each(c, on_part, NULL);
	if (claude) {
		rc = rc ? rc : grove_carry_file_get(c, "tool-results/t1.txt", &b);
		rc = rc ? rc : grove_carry_file_put(c, "tool-results/t2.txt", text("printed there"));
		ao.sub = "subagents/agent-x9";
		rc = rc ? rc : grove_carry_append(c, &more, 1, &ao, &r);
		rc = rc ? rc : grove_carry_state(c, "subagents/agent-x9", &state);
		rc = rc ? rc : grove_carry_read(c, "subagents/agent-x9", 0, 0, sink, &state);
	}
	grove_carry_close(c);
	c = NULL;
	grove_buf_release(&b);
	o = (struct grove_carry_options){ .size = sizeof(o), .flags = GROVE_CARRY_CREATE, .id = new_id,
					  .dialect = st->dialect, .cwd = st->cwd };
	ao = (struct grove_carry_append_options){ .size = sizeof(ao), .flags = GROVE_CARRY_IF_SEQ };
	rc = rc ? rc : grove_carry_open(g, NULL, &o, &c);
	rc = rc ? rc : claude ? grove_carry_append(c, &more, 1, &ao, &r) : grove_carry_append(c, two, 2, &ao, &r);
	if (!rc)
		assert_true(r.created);
	grove_carry_close(c);
	return rc;
}

/* Gone here, and out of the archive again. */
static int act_restore(const struct stage *st, struct grove *g)
{
	struct grove_archive_options o = { .size = sizeof(o) };
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_list *l = NULL;
	struct grove *again = NULL;
	int rc = grove_archive(g, name_of(st), &o, &r);

	/* what fails of one session is counted */
	if (!rc && r.failed)
		return GROVE_EIO;
	rc = rc ? rc : grove_remove(g, name_of(st), GROVE_REMOVE_NO_TRASH);
	/* an environment has the archive if it was there before */
	rc = rc ? rc : open_world(st, false, &again);
	rc = rc ? rc : grove_restore(again, strcmp(st->dialect, "claude") ? "s1" : SID, NULL, &l);
	grove_list_free(l);
	grove_close(again);
	return rc;
}

/* ------------------------------------------------------------------- viewers */

static int on_piece(void *payload, const struct grove_piece *p)
{
	(void)payload;
	answered(p->text.ptr, p->text.len);
	return enough();
}

static int on_message(void *payload, const struct grove_message *m)
{
	struct grove_preview about = { .size = sizeof(about) };
	struct grove_buf *b = payload;
	int rc = grove_message_preview(m, 40, b, &about);

	answered(m->json.ptr, m->json.len);
	rc = rc < 0 ? rc : grove_message_pieces(m, on_piece, NULL);
	return rc ? rc : enough();
}

static int on_reason(void *payload, const struct grove_context_reason *r)
{
	(void)payload;
	answered_text(r->reason);
	return enough();
}

static int on_about(void *payload, const struct grove_context_about *a)
{
	(void)payload;
	answered_text(a->model);
	return enough();
}

/* Pages of a view, as a page in a browser asks for them. */
static int ask_pages(const struct stage *st, struct grove_view *v)
{
	struct grove_entries_options eo = { .size = sizeof(eo), .flags = GROVE_ENTRIES_SEQ | GROVE_ENTRIES_MEDIA | GROVE_LINE_BLOBS,
					    .max_text = 1, .limit = 4 };
	struct grove_columns_options turns = { .size = sizeof(turns), .level = GROVE_LEVEL_TURNS, .flags = GROVE_COLUMNS_FAILED,
					       .seq = { 0, UINT64_MAX }, .preview = 20 };
	struct grove_context_options parts = { .size = sizeof(parts), .flags = GROVE_CONTEXT_PARTS | GROVE_CONTEXT_EXPLAIN };
	struct grove_context_options llm = { .size = sizeof(llm), .flags = GROVE_CONTEXT_LLM };
	struct grove_buf b = GROVE_BUF_INIT, target = GROVE_BUF_INIT;
	struct grove_context_reader to = { .size = sizeof(to), .payload = &b, .message = on_message, .reason = on_reason,
					   .about = on_about };
	struct grove_rows rows = { NULL, 0 };
	struct grove_columns *c = NULL;
	struct grove_heads *h = NULL;
	struct grove_diff *d = NULL;
	uint64_t next, total;
	uint32_t row = GROVE_NO_ENTRY;
	int rc;

	rc = grove_view_entries(v, NULL, sink, &next);
	rc = rc ? rc : grove_view_entries(v, &eo, sink, &next);
	rc = rc ? rc : grove_view_columns(v, NULL, &c);
	grove_columns_free(c);
	c = NULL;
	rc = rc ? rc : grove_view_columns(v, &turns, &c);
	if (!rc)
		answered(c->strings, c->strings_len);
	grove_columns_free(c);
	rc = rc ? rc : grove_view_heads(v, (struct grove_range){ 0, grove_view_count(v) }, &h);
	if (!rc)
		answered(h->block, h->block_len);
	grove_heads_free(h);
	rc = rc ? rc : grove_view_messages(v, &parts, &to);
	rc = rc ? rc : grove_view_messages(v, &llm, &to);
	rc = rc ? rc : grove_view_resolve(v, st->id, &row);
	rc = rc ? rc : grove_view_matches(v, "u", &rows);
	grove_rows_release(&rows);
	rc = rc ? rc : grove_view_text(v, row, "/message/content", (struct grove_range){ 0, 3 }, &b, &total);
	rc = rc ? rc : grove_view_diff(v, grove_view_leaf(v), grove_view_count(v) - 2, &d);
	grove_diff_free(d);
	for (uint32_t i = 0; i < grove_view_count(v) && !rc; i++) {
		struct grove_preview about = { .size = sizeof(about) };
		const char *type;

		rc = grove_view_preview(v, i, 30, &b, &about);
		rc = rc < 0 ? rc : grove_view_label(v, i, &target, &b);
		rc = rc < 0 ? rc : grove_view_media(v, i, 0, &b, &type);
		rc = rc == 1 || rc == GROVE_ENOTFOUND ? 0 : rc;
	}
	answered_all(&b);
	grove_buf_release(&b);
	grove_buf_release(&target);
	return rc;
}

static int act_pages(const struct stage *st, struct grove *g)
{
	const struct grove_command *command;
	struct grove_session *s;
	struct grove_view *v = NULL;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_READ, &s);

	rc = rc ? rc : grove_session_view(s, &v);
	rc = rc ? rc : ask_pages(st, v);
	rc = rc ? rc : or_notsup(grove_session_resume(s, &command));
	grove_view_unref(v);
	grove_session_close(s);
	return rc;
}

static int on_store(void *payload, const struct grove_store_about *s)
{
	(void)payload;
	answered_text(s->url);
	return enough();
}

static int on_opener(void *payload, const struct grove_opener *o)
{
	(void)payload;
	(void)o;
	return enough();
}

/* What stands around the sessions. */
static int act_around(const struct stage *st, struct grove *g)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove *second = NULL;
	struct grove_list *l = NULL;
	int rc = grove_dup(g, &second);

	rc = rc ? rc : grove_store_each(second, on_store, NULL);
	rc = rc ? rc : grove_stores_exist(g);
	rc = rc ? rc : grove_resolve(g, name_of(st), &b);
	rc = rc ? rc : grove_list(second, &o, &l);
	for (size_t i = 0; !rc && i < grove_list_count(l); i++) {
		rc = grove_list_text(l, i, &b);
		rc = rc ? rc : grove_list_value(l, i, "metadata", &b);
		rc = rc == GROVE_ENOTFOUND || rc == GROVE_ENOTSUP ? 0 : rc;
	}
	grove_list_free(l);
	rc = rc ? rc : grove_opener_each(g, name_of(st), on_opener, NULL);
	rc = rc ? rc : grove_archive_url(g, NULL, &b);
	answered_all(&b);
	grove_buf_release(&b);
	grove_close(second);
	return rc;
}

/* The list and one session, watched from where another watch was. */
static int act_watch_list(const struct stage *st, struct grove *g)
{
	struct grove_watch_options o = { .size = sizeof(o), .flags = GROVE_WATCH_LIST };
	struct grove_create_options co = { .size = sizeof(co), .dialect = st->dialect, .flags = GROVE_CREATE_NOW };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_event e = { .size = sizeof(e) };
	struct grove_session *s = NULL;
	struct grove_view *v;
	struct grove_watch *w;
	int rc = grove_watch_open(g, NULL, &w), more;

	rc = rc ? rc : grove_watch_add(w, name_of(st), GROVE_REV_NOW, NULL);
	rc = rc ? rc : grove_watch_cursor(w, &b);
	grove_watch_close(w);
	w = NULL;
	o.cursor = b.ptr;
	rc = rc ? rc : grove_watch_open(g, &o, &w);
	rc = rc ? rc : add_words(st, g);
	rc = rc ? rc : grove_session_create(g, &co, &s);
	rc = rc ? rc : grove_session_append(s, text(USER("a new one")), NULL, NULL);
	grove_session_close(s);
	do {
		more = rc ? 1 : grove_watch_next(w, 0, &e);
		if (!more && e.kind == GROVE_EVENT_APPEND) {
			v = NULL;
			rc = grove_watch_view(w, &v);
			grove_view_unref(v);
		}
	} while (!more && !rc);
	rc = rc ? rc : more < 0 ? more : 0;
	grove_watch_close(w);
	grove_buf_release(&b);
	return rc;
}

/* What is written by a thread of the session. */
static int act_submit(const struct stage *st, struct grove *g)
{
	struct grove_slice json[] = { text(USER("1")), text(USER("2")) };
	struct grove_session *s;
	int rc = grove_session_open(g, name_of(st), GROVE_OPEN_WRITE, &s);

	rc = rc ? rc : grove_session_submit(s, json, 2, NULL, NULL);
	rc = rc ? rc : grove_session_submit(s, json, 1, NULL, NULL);
	rc = rc ? rc : grove_session_flush(s, GROVE_SYNC_ALWAYS);
	rc = rc ? rc : or_notsup(append_type(s, "usage", "\"kind\":\"k\",\"usage\":{\"input\":1}", NULL));
	rc = rc ? rc : or_notsup(append_edit(s, st->id, NULL, NULL));
	grove_session_close(s);
	return rc;
}

static const struct act all_acts[] = {
	/* a session that is named cannot be found where a directory cannot be read */
	{ .name = "search", .go = act_search, .changes = true, .same = true, .also[SYSTEM] = GROVE_ENOTFOUND },
	{ .name = "scan", .go = act_scan, .same = true, .also[SYSTEM] = GROVE_ENOTFOUND },
	{ .name = "log", .go = act_log, .changes = true, .same = true, .only = "claude", .after = log_is_whole },
	{ .name = "log change", .go = act_log_change, .changes = true, .only = "claude" },
	{ .name = "carry", .go = act_carry, .changes = true },
	{ .name = "restore", .go = act_restore, .changes = true, .files = true,
	  .also[SYSTEM] = GROVE_ENOTFOUND },
	{ .name = "pages", .go = act_pages, .same = true },
	{ .name = "around", .go = act_around, .same = true },
	{ .name = "watch list", .go = act_watch_list, .changes = true },
	{ .name = "submit", .go = act_submit, .changes = true },
};

int main(void)
{
	return walk_main("walk_hosts", all_acts, sizeof(all_acts) / sizeof(*all_acts));
}
