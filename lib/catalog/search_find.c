/*
 * catalog/search_find.c: what the index knows.
 *
 * The newest docs have the highest numbers, and FTS5 can hand them out from there
 * on down; so a word that is everywhere costs no more than one that is somewhere:
 * after POOL hits there is an end, and the best of these are the answer.
 */
#include "catalog/search_db.h"

#include "base/array.h"
#include "session/sent.h"

#include <stdlib.h>

#define POOL 400

/* ----------------------------------------------------------------- functions */

static int count(const Fts5ExtensionApi *api, Fts5Context *c, int phrase, uint64_t *out)
{
	Fts5PhraseIter it;
	int column, off, last_column = -1, last = -1;
	int rc = api->xPhraseFirst(c, phrase, &it, &column, &off);

	*out = 0;
	for (; !rc && column >= 0; api->xPhraseNext(c, &it, &column, &off)) {
		*out += column != last_column || off != last;
		last_column = column;
		last = off;
	}
	return rc;
}

/* grove_score(words, N): how well a doc of N words fits. */
static void score(const Fts5ExtensionApi *api, Fts5Context *c, sqlite3_context *out, int nr,
		  sqlite3_value **args)
{
	uint64_t times, words = nr == 1 ? (uint64_t)sqlite3_value_int64(args[0]) : 0;
	double sum = 0;
	int rc = 0;

	for (int i = 0; i < api->xPhraseCount(c) && !rc; i++) {
		rc = count(api, c, i, &times);
		sum += grove__search_score(times, words);
	}
	if (rc)
		sqlite3_result_error_code(out, rc);
	else
		sqlite3_result_double(out, sum);
}

/* grove_file(N): is it a file whose docs count? */
static void file_counts(sqlite3_context *out, int nr, sqlite3_value **args)
{
	const struct grove__search_index *ix = sqlite3_user_data(out);
	int64_t id = sqlite3_value_int64(args[0]);

	(void)nr;
	sqlite3_result_int(out, id > 0 && (uint64_t)id < ix->nr_log_of && ix->log_of[id] &&
					ix->wanted[ix->log_of[id] - 1]);
}

/* grove_wants(CLASS, ROLE, TIME) */
static void doc_counts(sqlite3_context *out, int nr, sqlite3_value **args)
{
	const struct grove__search_index *ix = sqlite3_user_data(out);
	int class = sqlite3_value_int(args[0]), role = sqlite3_value_int(args[1]);

	(void)nr;
	sqlite3_result_int(out, class >= 0 && class < SEARCH_CLASSES && role >= 0 && role < 32 &&
					grove__search_wants(ix->ask, class, role, sqlite3_value_int64(args[2])));
}

int grove__search_find_functions(struct grove__search_index *ix, fts5_api *api)
{
	if (api->xCreateFunction(api, "grove_score", NULL, score, NULL) ||
	    sqlite3_create_function(ix->db, "grove_file", 1, SQLITE_UTF8, ix, file_counts, NULL, NULL) ||
	    sqlite3_create_function(ix->db, "grove_wants", 3, SQLITE_UTF8, ix, doc_counts, NULL, NULL))
		return GROVE_ENOMEM;
	return 0;
}

/* -------------------------------------------------------------------- asking */

/* Which logs are asked for, as far as the index has them. */
static int choose_logs(struct grove__search_index *ix, const struct grove__sweep *sweep,
		       const uint8_t *look, const struct grove__search_ask *ask, uint8_t *wanted)
{
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE;
	int rc = ask->cwd ? grove__search_db_prepare(ix, "SELECT id, cwd FROM files", &st) : 0;

	for (size_t i = 0; i < sweep->nr && !ask->cwd; i++)
		wanted[i] = !look[i];
	while (!rc && ask->cwd && (step = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		uint32_t log = id > 0 && (uint64_t)id < ix->nr_log_of ? ix->log_of[id] : 0;

		if (log && !look[log - 1])
			wanted[log - 1] = grove__search_wants_log(&(struct grove__search_ask){ .cwd = ask->cwd }, "",
								  (const char *)sqlite3_column_text(st, 1));
	}
	sqlite3_finalize(st);
	for (uint32_t i = 0; i < ix->nr && ask->agent; i++) {
		uint32_t log = ix->log_of[ix->known[i].id];

		if (log && (!ix->known[i].dialect ||
			    strcmp(ask->agent, grove__search_log_agent(&sweep->logs[log - 1], ix->known[i].dialect))))
			wanted[log - 1] = false;
	}
	return rc ? rc : grove__search_db_code(ix, step);
}

static int write_match(const struct grove__search_ask *ask, struct grove_buf *out)
{
	static const char *const columns[SEARCH_CLASSES] = { "text", "calls", "results" };
	int rc = grove__buf_add_char(out, '{');

	for (int i = 0; i < SEARCH_CLASSES && !rc; i++)
		if (ask->in >> i & 1)
			rc = grove__buf_addf(out, " %s", columns[i]);
	rc = rc ? rc : grove__buf_add_str(out, " } : (");
	rc = rc ? rc : grove__search_query_fts(ask->q, out);
	return rc ? rc : grove__buf_add_char(out, ')');
}

static int take_hit(struct grove__search_index *ix, sqlite3_stmt *st, struct grove__search_hits *out)
{
	const char *entry = (const char *)sqlite3_column_text(st, 12);
	struct grove__search_hit h = {
		.indexed = true,
		.score = sqlite3_column_double(st, 0),
		.file = (uint32_t)sqlite3_column_int64(st, 1),
		.class = (uint8_t)sqlite3_column_int(st, 2),
		.role = (uint8_t)sqlite3_column_int(st, 3),
		.time = sqlite3_column_int64(st, 4),
		.kind = (uint8_t)sqlite3_column_int(st, 5),
		.row = (uint32_t)sqlite3_column_int64(st, 6),
		.at = { .pos = (uint64_t)sqlite3_column_int64(st, 7), .off = (uint64_t)sqlite3_column_int64(st, 8),
			.len = (uint64_t)sqlite3_column_int64(st, 9), .crc = (uint32_t)sqlite3_column_int64(st, 10),
			.lines = sqlite3_column_int(st, 11) != 0 },
	};

	h.log = ix->log_of[h.file] - 1;
	if (entry && !(h.entry = grove__arena_dup(&out->texts, grove__slice_str(entry))))
		return GROVE_ENOMEM;
	if (grove__array_room(&out->list, &out->cap, out->nr, sizeof(h)))
		return GROVE_ENOMEM;
	out->list[out->nr++] = h;
	return 0;
}

static const char question[] =
	"SELECT grove_score(words, d.length), d.file, d.class, d.role, d.time, d.kind, d.row, d.pos, d.off, "
	"d.len, d.sum, d.lines, d.entry FROM words CROSS JOIN docs d ON d.id = words.rowid "
	"WHERE words MATCH ?1 AND grove_file(d.file) AND grove_wants(d.class, d.role, d.time) "
	"ORDER BY words.rowid DESC LIMIT ?2";

int grove__search_index_find(struct grove__search_index *ix, struct grove *g,
			     const struct grove__sweep *sweep, const uint8_t *look,
			     const struct grove__search_ask *ask, struct grove__search_hits *out,
			     struct grove_detail *d)
{
	uint8_t *wanted = calloc(sweep->nr + 1, 1);
	struct grove_buf match = GROVE_BUF_INIT;
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE, rc;

	(void)g;
	if (!wanted || write_match(ask, &match)) {
		free(wanted);
		grove__buf_release(&match);
		return grove__fail_nomem(d);
	}
	ix->ask = ask;
	ix->wanted = wanted;
	rc = choose_logs(ix, sweep, look, ask, wanted);
	rc = rc ? rc : grove__search_db_prepare(ix, question, &st);
	if (!rc) {
		sqlite3_bind_text(st, 1, match.ptr, (int)match.len, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, (int64_t)(ask->limit * 2 > POOL ? ask->limit * 2 : POOL));
	}
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = take_hit(ix, st, out);
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_finalize(st);
	free(wanted);
	ix->wanted = NULL;
	grove__buf_release(&match);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc ? GROVE_EDAMAGED : 0;
}

int grove__search_index_file(struct grove__search_index *ix, uint32_t file, uint32_t row,
			     struct grove__search_file *out)
{
	const char *session, *cwd;
	struct grove_slice places;
	int rc = grove__search_db_prepare(ix, "SELECT session, cwd, places FROM files WHERE id = ?",
					  &ix->one_file);

	if (rc)
		return rc;
	sqlite3_bind_int64(ix->one_file, 1, file);
	/* another process has read the log anew meanwhile: what we have is of yesterday */
	if (sqlite3_step(ix->one_file) != SQLITE_ROW) {
		rc = grove__search_db_code(ix, sqlite3_reset(ix->one_file));
		return rc ? rc : 1;
	}
	session = (const char *)sqlite3_column_text(ix->one_file, 0);
	cwd = (const char *)sqlite3_column_text(ix->one_file, 1);
	places.ptr = sqlite3_column_blob(ix->one_file, 2);
	places.len = (size_t)sqlite3_column_bytes(ix->one_file, 2);
	grove__buf_clear(&ix->session);
	grove__buf_clear(&ix->cwd);
	if (grove__buf_add_str(&ix->session, session ? session : "") ||
	    grove__buf_add_str(&ix->cwd, cwd ? cwd : ""))
		rc = GROVE_ENOMEM;
	out->session = ix->session.ptr;
	out->cwd = ix->cwd.ptr;
	out->on_path = grove__search_place(places, row, ROW_ON_PATH);
	out->sent = grove__search_place(places, row, ROW_SENT);
	sqlite3_reset(ix->one_file);
	return rc;
}
