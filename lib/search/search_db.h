/* search/search_db.h: the database of the index. */
#ifndef GROVE_SEARCH_SEARCH_DB_H
#define GROVE_SEARCH_SEARCH_DB_H

#include "search/search_feed.h"
#include "search/search_forms.h"
#include "search/search_names.h"
#include "search/search_suggest.h"

#include <sqlite3.h>

/* A file that is in the index. */
struct grove__search_known {
	const char *key, *store;     /* the log's path in the sweep; the URL of its store */
	int64_t id;                  /* never reused */
	int64_t docs;
	struct grove__search_like like;
	const struct grove__dialect *dialect;
	struct grove__search_names names;
};

struct grove__search_index {
	sqlite3 *db;
	uint64_t words;              /* in the text that was split last */
	struct grove__search_forms forms;   /* of messages, while it is written */
	struct grove__search_said said;     /* likewise */
	int64_t version;             /* of what was read from it: see PRAGMA data_version */

	struct grove__search_known *known;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove__idmap by_key;
	int64_t next_file, next_doc, dead;
	/* The log of each file, by its id, plus one; 0: none that is searched. */
	uint32_t *log_of;
	size_t nr_log_of;

	sqlite3_stmt *add_words[SEARCH_CLASSES], *add_doc, *add_part, *add_form, *add_said, *drop_file, *put_file, *one_file, *of_stem;
	sqlite3_stmt *find[SEARCH_CLASSES];
	struct grove_buf session, cwd, name;
	/* while it is asked */
	const struct grove__search_ask *ask;
	const struct grove__search_hits *hits;
	const uint8_t *wanted;       /* for each log */
	struct grove__search_fts fts;
};

/*
 * Translates an error of SQLite: GROVE_EDAMAGED, GROVE_ENOMEM, GROVE_ECONFLICT
 * (locked), GROVE_EIO.
 */
int grove__search_db_code(const struct grove__search_index *ix, int rc);
/* Runs statements without results. */
int grove__search_db_run(struct grove__search_index *ix, const char *sql);
int grove__search_db_prepare(struct grove__search_index *ix, const char *sql, sqlite3_stmt **out);
/* Creates the tables, empty; called inside a transaction. */
int grove__search_db_make(struct grove__search_index *ix);
/* Reads what the index has, unless that is already known. Sets *changed if it was not. */
int grove__search_db_load(struct grove__search_index *ix, bool *changed);

/* search_index.c */
/*
 * Begins to read one state of it. If others have made that another one since the last
 * time, look[] marks what it lacks.
 */
int grove__search_index_begin(struct grove__search_index *ix, struct grove_search *s);
/* Also gives up what was written. */
void grove__search_index_end(struct grove__search_index *ix);

/* search_find.c: registers the SQL functions that queries use */
int grove__search_find_functions(struct grove__search_index *ix, fts5_api *api);

#endif
