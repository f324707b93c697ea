/*
 * history/history_db.c: the file of a prompt history.
 *
 * Two agents have one, and their tables differ:
 *
 *	xcsh          history(id, prompt, created_at, cwd)
 *	              a row for each time that a prompt was typed
 *	oh-my-pi      history(id, prompt UNIQUE, created_at, cwd, session_id)
 *	              a row for each prompt, with the time of its last use
 *
 * Both have a word index, history_fts, that a trigger fills. We examine the tables
 * instead of asking who made them, change nothing about them unless asked to, and
 * refuse what we do not know. A history that we create has what its agent would have
 * created, and also triggers for changed and removed prompts.
 */
#include "history/history_db.h"

#include "store/sqlite_code.h"
#include "store/sqlite_vfs.h"

#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>

/* Some agents count the layouts of their history; others leave 0. */
enum { NEWEST_LAYOUT = 1 };

#define TABLE_HEAD "CREATE TABLE history (\n" \
	"\tid INTEGER PRIMARY KEY AUTOINCREMENT,\n"
#define TABLE_TAIL "\tcreated_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),\n" \
	"\tcwd TEXT"
#define WORDS_TABLE "CREATE VIRTUAL TABLE IF NOT EXISTS history_fts " \
	"USING fts5(prompt, content='history', content_rowid='id');\n"
#define ORDER_INDEX "CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC);\n"
/* An external-content index must be given the old text to remove it. */
#define WORDS_TRIGGERS \
	"CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN\n" \
	"\tINSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);\n" \
	"END;\n" \
	"CREATE TRIGGER IF NOT EXISTS history_ad AFTER DELETE ON history BEGIN\n" \
	"\tINSERT INTO history_fts(history_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);\n" \
	"END;\n" \
	"CREATE TRIGGER IF NOT EXISTS history_au AFTER UPDATE OF id, prompt ON history BEGIN\n" \
	"\tINSERT INTO history_fts(history_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);\n" \
	"\tINSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);\n" \
	"END;\n"

/* Prompts may repeat. */
static const char create_plain[] =
	TABLE_HEAD "\tprompt TEXT NOT NULL,\n" TABLE_TAIL "\n);\n"
	ORDER_INDEX WORDS_TABLE WORDS_TRIGGERS;

/* The first numbered layout: each prompt is stored once, with its session. */
static const char create_counted[] =
	TABLE_HEAD "\tprompt TEXT NOT NULL UNIQUE,\n" TABLE_TAIL ",\n\tsession_id TEXT\n);\n"
	ORDER_INDEX WORDS_TABLE WORDS_TRIGGERS
	"PRAGMA user_version=1;\n";

int grove__history_db_fail(struct grove__history_db *h, int rc, struct grove_detail *d)
{
	int code = grove__sqlite_code(rc);
	const char *words = h->db ? sqlite3_errmsg(h->db) : sqlite3_errstr(rc);

	switch (code) {
	case GROVE_ENOMEM:
		return grove__fail_nomem(d);
	case GROVE_ECONFLICT:
		return grove__fail(d, code, h->path,
				   "another program has the history locked (try again)");
	case GROVE_EDAMAGED:
		return grove__fail(d, code, h->path, "the history is damaged: %.200s", words);
	default:
		if (strstr(words, "no such module"))
			return grove__fail(d, GROVE_ENOTSUP, h->path,
					   "this SQLite was built without FTS5");
		return grove__fail(d, code, h->path, "%.200s", words);
	}
}

int grove__history_db_exec(struct grove__history_db *h, const char *sql, struct grove_detail *d)
{
	int rc = sqlite3_exec(h->db, sql, NULL, NULL, NULL);

	return rc ? grove__history_db_fail(h, rc, d) : 0;
}

int grove__history_db_prepare(struct grove__history_db *h, sqlite3_stmt **out,
			      struct grove_detail *d, const char *sql)
{
	int rc = sqlite3_prepare_v3(h->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);

	return rc ? grove__history_db_fail(h, rc, d) : 0;
}

void grove__history_db_rollback(struct grove__history_db *h)
{
	if (h->db && !sqlite3_get_autocommit(h->db))
		sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ------------------------------------------------------------------- layout */

static int ask_number(struct grove__history_db *h, const char *sql, int *out, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__history_db_prepare(h, &st, d, sql);

	if (rc)
		return rc;
	rc = sqlite3_step(st);
	*out = rc == SQLITE_ROW ? sqlite3_column_int(st, 0) : 0;
	rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : grove__history_db_fail(h, rc, d);
	sqlite3_finalize(st);
	return rc;
}

static bool is(sqlite3_stmt *st, int column, const char *word)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text && !sqlite3_stricmp(text, word);
}

/* Examines the columns. Returns 1 if there is no such table. */
static int look_at_columns(struct grove__history_db *h, struct grove__history_shape *s,
			   struct grove_detail *d)
{
	static const char *const needed[] = { "id", "prompt", "created_at", "cwd" };
	sqlite3_stmt *st;
	unsigned seen = 0;
	bool any = false;
	int rc = grove__history_db_prepare(h, &st, d,
		"SELECT name, \"notnull\", dflt_value, pk FROM pragma_table_info('history')");

	if (rc)
		return rc;
	s->insertable = true;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		bool known = false;

		any = true;
		for (unsigned i = 0; i < 4; i++)
			if (is(st, 0, needed[i])) {
				seen |= 1u << i;
				known = true;
			}
		if (is(st, 0, "session_id"))
			known = s->session_id = true;
		if (is(st, 0, "use_count"))
			s->use_count = true;
		if (!known && sqlite3_column_int(st, 1) &&
		    sqlite3_column_type(st, 2) == SQLITE_NULL)
			s->insertable = false;
	}
	rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(h, rc, d);
	sqlite3_finalize(st);
	if (rc)
		return rc;
	if (!any)
		return 1;
	if (seen != 15)
		return grove__fail(d, GROVE_ENOTSUP, h->path,
				   "not a prompt history that this version of grove knows (a column is missing)");
	return 0;
}

/* Checks for words as the default tokenizer makes them, of that one column. */
static int look_at_words(struct grove__history_db *h, struct grove__history_shape *s,
			 struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__history_db_prepare(h, &st, d,
		"SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'history_fts'");

	if (rc)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(st, 0);

		s->fts = sql && !sqlite3_strlike("%using fts5%prompt%", sql, 0) &&
			 sqlite3_strlike("%tokenize%", sql, 0) && sqlite3_strlike("%detail%", sql, 0);
		rc = SQLITE_DONE;
	}
	rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(h, rc, d);
	sqlite3_finalize(st);
	return rc;
}

static int look_closely(struct grove__history_db *h, struct grove_detail *d)
{
	struct grove__history_shape s = { 0 };
	int rc, version, other = 0, unique = 0;

	/* the first query reads the file: a foreign file is detected here */
	rc = ask_number(h, "PRAGMA schema_version", &h->schema_version, d);
	if (!rc)
		rc = ask_number(h, "PRAGMA user_version", &version, d);
	if (rc)
		return rc;
	if (version < 0 || version > NEWEST_LAYOUT)
		return grove__fail(d, GROVE_ENOTSUP, h->path,
				   "the history has layout %d, newer than this version of grove knows (%d)", version,
				   NEWEST_LAYOUT);
	rc = look_at_columns(h, &s, d);
	if (rc == 1) {
		rc = ask_number(h, "SELECT count(*) FROM sqlite_master", &other, d);
		if (!rc && other)
			rc = grove__fail(d, GROVE_ENOTSUP, h->path,
					 "this database is not a prompt history");
		s.absent = true;
		s.insertable = true;
	} else if (!rc) {
		rc = look_at_words(h, &s, d);
		if (!rc)
			rc = ask_number(h,
				"SELECT count(*) FROM pragma_index_list('history') AS l "
				"WHERE l.\"unique\" AND NOT l.partial AND (SELECT group_concat(name, '/') "
				"FROM pragma_index_info(l.name)) = 'prompt'", &unique, d);
		s.unique_prompt = unique > 0;
	}
	if (!rc)
		h->shape = s;
	return rc;
}

/* All of it in one snapshot: somebody may be creating the tables right now. */
static int examine(struct grove__history_db *h, struct grove_detail *d)
{
	bool alone = sqlite3_get_autocommit(h->db) != 0;
	int rc = alone ? grove__history_db_exec(h, "BEGIN", d) : 0;

	if (!rc)
		rc = look_closely(h, d);
	if (alone)
		grove__history_db_rollback(h);
	return rc;
}

int grove__history_db_refresh(struct grove__history_db *h, struct grove_detail *d)
{
	int now, rc = ask_number(h, "PRAGMA schema_version", &now, d);

	return rc || now == h->schema_version ? rc : examine(h, d);
}

/* ------------------------------------------------------------------ opening */

static int is_there(const char *path, struct grove__sys_stat *st, struct grove_detail *d)
{
	int rc = grove__sys_stat(path, st);

	if (rc)
		return grove__fail_sys(d, rc, path, "cannot open the history");
	if (st->type != SYS_FILE)
		return grove__fail(d, GROVE_EINVAL, path, "not a file");
	return 0;
}

/* True if somebody's changes are in a log next to the file: we must not apply them. */
static bool has_wal(const char *path)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	bool has = grove__buf_addf(&b, "%s-wal", path) || (!grove__sys_stat(b.ptr, &st) && st.size);

	grove__buf_release(&b);
	return has;
}

/*
 * Switches from a rollback journal to a write-ahead log, so that readers and the writer
 * do not wait for each other. This needs the file exclusively for a moment, which
 * SQLite's busy handler does not cover.
 */
static int go_wal(struct grove__history_db *h, int busy_ms, struct grove_detail *d)
{
	int64_t end = grove__sys_ticks_ns() + (int64_t)busy_ms * 1000000;
	int rc;

	for (;;) {
		rc = sqlite3_exec(h->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
		if ((rc & 0xff) != SQLITE_BUSY || grove__sys_ticks_ns() >= end)
			break;
		sqlite3_sleep(2);
	}
	return rc ? grove__history_db_fail(h, rc, d) : 0;
}

/*
 * Even to read, SQLite needs files next to the database, which it cannot create in a
 * read-only directory. If nobody can write, nothing changes, so the file alone is
 * enough, unless there are uncommitted changes next to it.
 */
static int open_still(struct grove__history_db *h, int flags)
{
	struct grove_buf uri = GROVE_BUF_INIT;
	int rc = grove__buf_add_str(&uri, "file:");

	for (const char *p = h->path; *p && !rc; p++)
		rc = strchr("%?#", *p) ? grove__buf_addf(&uri, "%%%02x", (unsigned char)*p) :
					 grove__buf_add_char(&uri, *p);
	if (!rc)
		rc = grove__buf_add_str(&uri, "?immutable=1");
	sqlite3_close_v2(h->db);
	h->db = NULL;
	rc = rc ? SQLITE_NOMEM : sqlite3_open_v2(uri.ptr, &h->db, flags | SQLITE_OPEN_URI, NULL);
	grove__buf_release(&uri);
	return rc;
}

int grove__history_db_open(struct grove__history_db *h, const char *path,
			   enum grove__history_mode mode, int busy_ms, struct grove_detail *d)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	struct grove__sys_stat st;
	int fd, rc;

	memset(h, 0, sizeof(*h));
	h->path = path;
	if (mode == HISTORY_READ || grove__sys_stat(path, &st) != -ENOENT) {
		rc = is_there(path, &st, d);
		if (rc)
			return rc;
	}
	if (mode == HISTORY_WRITE) {
		flags |= SQLITE_OPEN_CREATE;
		/* nobody else may read what was typed; SQLite would use the umask */
		if (!grove__sys_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &fd))
			grove__sys_close(fd);
	}
	rc = sqlite3_open_v2(path, &h->db, flags, grove__sqlite_vfs());
	if (rc) {
		int err = sqlite3_system_errno(h->db);

		/* what SQLite reports if it may not create the file */
		if (err == ENOENT && mode == HISTORY_WRITE)
			err = EACCES;
		rc = err ? grove__fail_sys(d, err, path, "cannot open the history") :
			   grove__history_db_fail(h, rc, d);
		goto out;
	}
	rc = is_there(path, &st, d);
	if (rc)
		goto out;
	h->dev = st.dev;
	h->ino = st.ino;
	sqlite3_extended_result_codes(h->db, 1);
	sqlite3_busy_timeout(h->db, busy_ms);
	/*
	 * The file is not ours: its schema gets no more rights than it needs. But
	 * without triggers, the index would not be updated.
	 */
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (mode == HISTORY_READ)
		sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (has_wal(path))
		sqlite3_db_config(h->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	rc = examine(h, d);
	if (rc == GROVE_EACCESS && mode == HISTORY_READ && !has_wal(path) &&
	    !open_still(h, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX))
		rc = examine(h, d);
	if (!rc && mode == HISTORY_READ)
		rc = grove__history_db_exec(h, "PRAGMA query_only=1; PRAGMA cache_size=-32768", d);
	if (!rc && mode == HISTORY_WRITE) {
		sqlite3_db_config(h->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
		rc = go_wal(h, busy_ms, d);
		if (!rc)
			rc = grove__history_db_exec(h, "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384", d);
	}
out:
	if (rc)
		grove__history_db_close(h);
	return rc;
}

void grove__history_db_close(struct grove__history_db *h)
{
	/* _v2: statements that are not finalized yet do not prevent it */
	sqlite3_close_v2(h->db);
	h->db = NULL;
}

bool grove__history_db_current(const struct grove__history_db *h)
{
	struct grove__sys_stat st;

	return h->db && !grove__sys_stat(h->path, &st) && st.dev == h->dev && st.ino == h->ino;
}

int grove__history_db_create(struct grove__history_db *h, unsigned layout, struct grove_detail *d)
{
	int rc = grove__history_db_exec(h, layout ? create_counted : create_plain, d);

	return rc ? rc : examine(h, d);
}

int grove__history_db_upgrade(struct grove__history_db *h, struct grove_detail *d)
{
	int rc = grove__history_db_exec(h, ORDER_INDEX WORDS_TABLE WORDS_TRIGGERS
					"INSERT INTO history_fts(history_fts) VALUES ('rebuild');", d);

	return rc ? rc : examine(h, d);
}
