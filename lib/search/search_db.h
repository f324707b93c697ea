/*
 * search/search_db.h: the database that the index is kept in.
 */
#ifndef GROVE_SEARCH_SEARCH_DB_H
#define GROVE_SEARCH_SEARCH_DB_H

#include "search/search_feed.h"

#include <sqlite3.h>

/* A file that the index has. */
struct grove__search_known {
	const char *key, *store;     /* the log's path in the sweep; the URL of its store */
	int64_t id;                  /* never that of another one */
	int64_t docs;
	struct grove__search_like like;
	const struct grove__dialect *dialect;
};

struct grove__search_index {
	sqlite3 *db;
	uint64_t words;              /* of the text that was cut last */
	int64_t version;             /* of what was read from it: see PRAGMA data_version */

	struct grove__search_known *known;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove__idmap by_key;
	int64_t next_file, next_doc, dead;
	/* The log of each file, by its id, plus one; 0: none that is searched. */
	uint32_t *log_of;
	size_t nr_log_of;

	sqlite3_stmt *add_words[SEARCH_CLASSES], *add_doc, *add_part, *drop_file, *put_file, *one_file;
	struct grove_buf session, cwd;
	/* while it is asked */
	const struct grove__search_ask *ask;
	const uint8_t *wanted;       /* for each log */
};

/* What a failure of SQLite means: GROVE_EDAMAGED, GROVE_ENOMEM, GROVE_ECONFLICT (locked), GROVE_EIO. */
int grove__search_db_code(const struct grove__search_index *ix, int rc);
/* Statements without answers. */
int grove__search_db_run(struct grove__search_index *ix, const char *sql);
int grove__search_db_prepare(struct grove__search_index *ix, const char *sql, sqlite3_stmt **out);
/* Statements of writing go: nothing keeps the tables from being made anew. */
void grove__search_db_unprepare(struct grove__search_index *ix);
/* Make the tables, empty; inside of a transaction. */
int grove__search_db_make(struct grove__search_index *ix);
/* Read what it has, unless that is known already. *changed: it was not. */
int grove__search_db_load(struct grove__search_index *ix, bool *changed);

/* search_find.c: the functions that questions use */
int grove__search_find_functions(struct grove__search_index *ix, fts5_api *api);

#endif
