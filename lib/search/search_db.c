/*
 * search/search_db.c: the database of the index.
 *
 *	files   indexed logs: state, how far it was read, session
 *	parts   consecutive texts of a log: the file, times, sizes
 *	texts   where the texts of a part are
 *	words   FTS5, without the texts; a row has the number of its part, the position of a word
 *	        is the number of the text, times the number of lanes, plus its lane
 *	vocab   the words of ASCII letters, by stem
 *	meta    numbers: the next file, the next part, how many parts are dead
 *
 * Texts are not stored: a hit is shown from its log. So nothing can be deleted from
 * `words`, and nothing is: a file that is read again gets a new number, and parts whose
 * number is not in `files` are dead. When most are, everything is built again.
 */
#include "search/search_db.h"

#include "base/array.h"
#include "search/search_sums.h"
#include "search/search_words.h"
#include "store/sqlite_cache.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/remote.h"

#include <fcntl.h>
#include <stdlib.h>

#define VERSION "7"
#define BUSY_MS 2000
#define MAKE_TRIES 50
/* Numbers that no index reaches. */
#define FILES_MOST (INT64_C(1) << 28)
#define PARTS_MOST (INT64_C(1) << 48)

/* -------------------------------------------------------------------- words */

static int create(void *context, const char **args, int nr, Fts5Tokenizer **out)
{
	(void)args;
	(void)nr;
	*out = context;
	return SQLITE_OK;
}

static void delete(Fts5Tokenizer *t)
{
	(void)t;
}

/*
 * The words of a part are already split: each ends in a space, those of a position in a line
 * feed. A position without words needs one that nobody can search for. A query has single words.
 */
static int tokenize(Fts5Tokenizer *t, void *payload, int flags, const char *text, int len,
		    int (*token)(void *, int, const char *, int, int, int))
{
	const char *at = text, *end = text + (text ? len : 0), *word;
	bool first = true;
	int rc = 0;

	(void)t;
	(void)flags;
	for (; at < end && !rc; at++) {
		for (word = at; at < end && *at != ' ' && *at != '\n';)
			at++;
		if (at > word)
			rc = token(payload, first ? 0 : FTS5_TOKEN_COLOCATED, word, (int)(at - word), (int)(word - text),
				   (int)(at - text));
		else if (at < end && *at == '\n' && first)
			rc = token(payload, 0, "\1", 1, (int)(at - text), (int)(at - text));
		first = at < end && *at == '\n';
	}
	return rc;
}

static int add_functions(struct grove__search_index *ix)
{
	fts5_tokenizer cut = { create, delete, tokenize };
	fts5_api *api = NULL;
	sqlite3_stmt *st = NULL;

	/* SQLite returns FTS5's table of functions through a statement */
	if (!sqlite3_prepare_v2(ix->db, "SELECT fts5(?1)", -1, &st, NULL) &&
	    !sqlite3_bind_pointer(st, 1, &api, "fts5_api_ptr", NULL))
		sqlite3_step(st);
	sqlite3_finalize(st);
	if (!api)
		return GROVE_ENOTSUP;
	return api->xCreateTokenizer(api, "grove", ix, &cut, NULL) ? GROVE_ENOMEM : grove__search_find_function(ix, api);
}

/* ---------------------------------------------------------------- statements */

int grove__search_db_code(const struct grove__search_index *ix, int rc)
{
	(void)ix;
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return GROVE_ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return GROVE_ECONFLICT;
	case SQLITE_IOERR:
		/* a checksum does not match */
		return rc == SQLITE_IOERR_DATA ? GROVE_EDAMAGED : GROVE_EIO;
	case SQLITE_FULL:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
	case SQLITE_PROTOCOL:
		return GROVE_EIO;
	default:
		return GROVE_EDAMAGED;
	}
}

int grove__search_db_run(struct grove__search_index *ix, const char *sql)
{
	int rc = sqlite3_exec(ix->db, sql, NULL, NULL, NULL);

	return rc ? grove__search_db_code(ix, sqlite3_extended_errcode(ix->db)) : 0;
}

int grove__search_db_prepare(struct grove__search_index *ix, const char *sql, sqlite3_stmt **out)
{
	if (*out)
		return 0;
	return sqlite3_prepare_v3(ix->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL)
		       ? grove__search_db_code(ix, sqlite3_extended_errcode(ix->db))
		       : 0;
}

int grove__search_db_step(struct grove__search_index *ix, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st) == SQLITE_DONE ? 0 : SQLITE_ERROR;

	if (rc)
		rc = grove__search_db_code(ix, sqlite3_extended_errcode(ix->db));
	sqlite3_reset(st);
	return rc;
}

static void finalize(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
	*st = NULL;
}

/* Finalizes the statements for writing, so that the tables can be created again. */
static void unprepare(struct grove__search_index *ix)
{
	sqlite3_stmt **all[] = { &ix->add_words, &ix->add_part, &ix->add_texts, &ix->add_word, &ix->drop_file,
				 &ix->put_file, &ix->one_file, &ix->of_stem, &ix->find, &ix->one_part };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		finalize(all[i]);
}

static int number(struct grove__search_index *ix, const char *sql, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = grove__search_db_prepare(ix, sql, &st);

	*out = 0;
	if (!rc && sqlite3_step(st) == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	else if (!rc)
		rc = grove__search_db_code(ix, sqlite3_extended_errcode(ix->db));
	sqlite3_finalize(st);
	return rc;
}

/* ------------------------------------------------------------------- opening */

int grove__search_db_make(struct grove__search_index *ix)
{
	unprepare(ix);
	return grove__search_db_run(ix,
		"DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS parts; DROP TABLE IF EXISTS texts;"
		"DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS vocab; DROP TABLE IF EXISTS meta;"
		"CREATE TABLE files (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, store TEXT, "
		"dev INTEGER, ino INTEGER, size INTEGER, mtime INTEGER, ctime INTEGER, "
		"crc INTEGER, rows INTEGER, pos INTEGER, off INTEGER, len INTEGER, sum INTEGER, "
		"lines INTEGER, parts INTEGER, dialect TEXT, session TEXT, cwd TEXT, name TEXT, "
		"modified INTEGER, labels BLOB, places BLOB);"
		"CREATE TABLE parts (id INTEGER PRIMARY KEY, file INTEGER, since INTEGER, until INTEGER, sizes BLOB);"
		"CREATE TABLE texts (id INTEGER PRIMARY KEY, texts BLOB);"
		"CREATE TABLE vocab (stem TEXT, word TEXT, PRIMARY KEY (stem, word)) WITHOUT ROWID;"
		"CREATE TABLE meta (next_file INTEGER, next_part INTEGER, dead INTEGER);"
		"INSERT INTO meta VALUES (1, 1, 0);"
		"CREATE VIRTUAL TABLE words USING fts5(lanes, content='', columnsize=0, tokenize='grove');"
		/* fewer and larger segments, which are merged and queried less often */
		"INSERT INTO words (words, rank) VALUES ('hashsize', 16777216), ('automerge', 8);"
		"PRAGMA user_version = " VERSION);
}

static int is_current(struct grove__search_index *ix, bool *yes)
{
	int64_t version;
	int rc = number(ix, "PRAGMA user_version", &version);

	*yes = version == atoi(VERSION);
	return rc;
}

static int make_tables(struct grove__search_index *ix)
{
	bool yes;
	int rc = grove__search_db_run(ix, "BEGIN IMMEDIATE");

	if (rc)
		return rc;
	/* another process may have been faster */
	rc = is_current(ix, &yes);
	if (!rc && !yes)
		rc = grove__search_db_make(ix);
	if (!rc)
		rc = grove__search_db_run(ix, "COMMIT");
	if (rc)
		sqlite3_exec(ix->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static struct grove_slice key_of(const void *owner, uint32_t i)
{
	const struct grove__search_index *ix = owner;

	return grove__slice_str(ix->known[i].key);
}

static int open_db(struct grove__search_index *ix, const char *path)
{
	bool yes = false;
	int rc = grove__sqlite_cache_open(path, grove__search_sums(), BUSY_MS, &ix->db);

	if (rc)
		return grove__search_db_code(ix, rc);
	rc = grove__search_sums_begin(ix->db) ? GROVE_EIO : add_functions(ix);
	rc = rc ? rc : grove__search_db_run(ix, "PRAGMA page_size = 4096; PRAGMA cache_size = -32768");
	rc = rc ? rc : is_current(ix, &yes);
	/* several may begin at once, and SQLite does not wait everywhere */
	for (int i = 0; i < MAKE_TRIES && !rc && !yes; i++) {
		rc = make_tables(ix);
		if (rc != GROVE_ECONFLICT)
			break;
		sqlite3_sleep(20);
		rc = is_current(ix, &yes);
	}
	return rc;
}

/*
 * search.db, search.1.db, …: the last one is used. A damaged one is removed, and the
 * next has another name, because processes that still have the old one open would open
 * the new one's journal by its name.
 */
static int db_path(struct grove *g, unsigned nr, struct grove_buf *out)
{
	grove__buf_clear(out);
	return nr ? grove__buf_addf(out, "%s/search.%u.db", g->cache, nr) : grove__buf_addf(out, "%s/search.db", g->cache);
}

static int newer_number(void *payload, const char *name)
{
	unsigned *nr = payload, n;
	char *end;

	if (strncmp(name, "search.", 7) || name[7] < '1' || name[7] > '9')
		return 0;
	n = (unsigned)strtoul(name + 7, &end, 10);
	if (!strcmp(end, ".db") && n > *nr && n < 1000000)
		*nr = n;
	return 0;
}

static unsigned db_number(struct grove *g)
{
	unsigned nr = 0;
	int ended;

	grove__sys_list(g->cache, newer_number, &nr, &ended);
	return nr;
}

int grove__search_index_open(struct grove *g, struct grove__search_index **out,
			     struct grove_detail *why)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__search_index *ix;
	uint64_t seed;
	int rc;

	*out = NULL;
	if (!g->cache)
		return 0;
	ix = calloc(1, sizeof(*ix));
	if (!ix || db_path(g, db_number(g), &path)) {
		free(ix);
		return grove__fail_nomem(why);
	}
	grove__arena_init(&ix->texts);
	grove__sys_random(&seed, sizeof(seed));
	grove__idmap_init(&ix->by_key, seed, key_of, ix);
	ix->version = -1;
	if (grove__sys_mkdirs(g->cache, 0700))
		rc = grove__fail(why, GROVE_EACCESS, g->cache,
				 "cannot create the cache directory; reading all sessions instead");
	else if (!grove__world_cache_dir(g))
		rc = grove__fail(why, GROVE_EACCESS, g->cache,
				 "not used for an index, since others can write to it; reading all sessions "
				 "instead");
	else if (grove__sys_is_remote(g->cache))
		rc = grove__fail(why, GROVE_ENOTSUP, g->cache,
				 "cannot hold an index, since it is on a network file system; reading all "
				 "sessions instead");
	else
		rc = open_db(ix, path.ptr);
	if (rc && rc != GROVE_EDAMAGED && rc != GROVE_ENOMEM) {
		if (!why->code)
			grove__fail(why, GROVE_EIO, path.ptr,
				    "cannot use the index (%s); reading all sessions instead",
				    ix->db ? sqlite3_errmsg(ix->db) : "no database");
		rc = 0;
	} else if (!rc) {
		*out = ix;
	}
	if (!*out)
		grove__search_index_close(ix);
	grove__buf_release(&path);
	return rc;
}

void grove__search_index_close(struct grove__search_index *ix)
{
	if (!ix)
		return;
	unprepare(ix);
	sqlite3_close(ix->db);
	grove__idmap_release(&ix->by_key);
	grove__arena_release(&ix->texts);
	grove__buf_release(&ix->session);
	grove__buf_release(&ix->cwd);
	grove__buf_release(&ix->name);
	grove__search_fts_release(&ix->fts);
	free(ix->at);
	free(ix->found);
	free(ix->known);
	free(ix->log_of);
	free(ix);
}

void grove__search_index_remove(struct grove *g)
{
	struct grove_buf path = GROVE_BUF_INIT;
	unsigned nr;
	int fd;

	if (!g->cache)
		return;
	/* create the next one before removing this one, so that its name is not used again */
	nr = db_number(g);
	if (!db_path(g, nr + 1, &path) &&
	    !grove__sys_open(path.ptr, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &fd))
		grove__sys_close(fd);
	if (!db_path(g, nr, &path))
		grove__sqlite_cache_remove(path.ptr);
	grove__buf_release(&path);
}

/* ------------------------------------------------------------------- reading */

static int take_names(struct grove__search_index *ix, sqlite3_stmt *st, struct grove__search_names *n)
{
	const char *title = (const char *)sqlite3_column_text(st, 10);
	const void *labels = sqlite3_column_blob(st, 12);
	char *own;

	n->modified = sqlite3_column_int64(st, 11);
	n->labels.len = (size_t)sqlite3_column_bytes(st, 12);
	if (title && !(n->title = grove__arena_dup(&ix->texts, grove__slice_str(title))))
		return GROVE_ENOMEM;
	if (!n->labels.len)
		return 0;
	n->labels.ptr = own = grove__arena_alloc(&ix->texts, n->labels.len, 1);
	if (!own)
		return GROVE_ENOMEM;
	memcpy(own, labels, n->labels.len);
	return 0;
}

static int take_known(struct grove__search_index *ix, sqlite3_stmt *st)
{
	const char *key = (const char *)sqlite3_column_text(st, 1);
	const char *store = (const char *)sqlite3_column_text(st, 2);
	const char *dialect = (const char *)sqlite3_column_text(st, 8);
	struct grove__search_known k = {
		.id = sqlite3_column_int64(st, 0),
		.st = { (uint64_t)sqlite3_column_int64(st, 3), (uint64_t)sqlite3_column_int64(st, 4),
			(uint64_t)sqlite3_column_int64(st, 5), sqlite3_column_int64(st, 6), sqlite3_column_int64(st, 7) },
		.parts = sqlite3_column_int64(st, 9),
		.dialect = dialect ? grove__dialect_find(dialect) : NULL,
	};

	if (!key || !store || (dialect && !k.dialect) || k.id <= 0 || k.id >= ix->next_file)
		return GROVE_EDAMAGED;
	k.key = grove__arena_dup(&ix->texts, grove__slice_str(key));
	/* most have the same store as the previous one */
	k.store = ix->nr && !strcmp(ix->known[ix->nr - 1].store, store)
			  ? ix->known[ix->nr - 1].store
			  : grove__arena_dup(&ix->texts, grove__slice_str(store));
	if (!k.key || !k.store || take_names(ix, st, &k.names) || grove__array_room(&ix->known, &ix->cap, ix->nr, sizeof(k)))
		return GROVE_ENOMEM;
	ix->known[ix->nr++] = k;
	return 0;
}

static void forget(struct grove__search_index *ix)
{
	uint64_t seed = ix->by_key.seed;

	grove__idmap_release(&ix->by_key);
	grove__idmap_init(&ix->by_key, seed, key_of, ix);
	grove__arena_release(&ix->texts);
	grove__arena_init(&ix->texts);
	ix->nr = 0;
	ix->version = -1;
}

static int read_files(struct grove__search_index *ix)
{
	sqlite3_stmt *st = NULL;
	uint32_t old;
	int step = SQLITE_DONE;
	int rc = grove__search_db_prepare(ix, "SELECT id, key, store, dev, ino, size, mtime, ctime, dialect, "
					      "parts, name, modified, labels FROM files", &st);

	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = take_known(ix, st);
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_finalize(st);
	for (uint32_t i = 0; i < ix->nr && !rc; i++)
		rc = grove__idmap_put(&ix->by_key, key_of(ix, i), i, &old);
	return rc;
}

bool grove__search_index_is_gone(const struct grove__search_index *ix)
{
	int gone = 0;

	return ix && (sqlite3_file_control(ix->db, "main", SQLITE_FCNTL_HAS_MOVED, &gone) || gone);
}

int grove__search_db_load(struct grove__search_index *ix, bool *changed)
{
	int64_t version = 0;
	int rc = number(ix, "PRAGMA data_version", &version);

	*changed = version != ix->version;
	/* if another has its name, SQLite may just have taken that one's journal for ours */
	if (!rc && grove__search_index_is_gone(ix))
		return GROVE_EDAMAGED;
	if (rc || !*changed)
		return rc;
	forget(ix);
	rc = number(ix, "SELECT next_file FROM meta", &ix->next_file);
	rc = rc ? rc : number(ix, "SELECT next_part FROM meta", &ix->next_part);
	rc = rc ? rc : number(ix, "SELECT dead FROM meta", &ix->dead);
	/* memory is allocated for this many files, so the number must be plausible */
	if (!rc && (ix->next_file <= 0 || ix->next_file > FILES_MOST || ix->next_part < 0 ||
		    ix->next_part > PARTS_MOST || ix->dead < 0 || ix->dead > PARTS_MOST))
		rc = GROVE_EDAMAGED;
	rc = rc ? rc : read_files(ix);
	if (!rc)
		ix->version = version;
	return rc;
}
