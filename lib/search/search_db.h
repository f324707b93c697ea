/* search/search_db.h: the database of the index. */
#ifndef GROVE_SEARCH_SEARCH_DB_H
#define GROVE_SEARCH_SEARCH_DB_H

#include "search/search_feed.h"
#include "search/search_names.h"
#include "search/search_part.h"

#include <sqlite3.h>

/* A file that is in the index. */
struct grove__search_known {
	const char *key, *store;     /* the log's path in the sweep; the URL of its store */
	int64_t id;                  /* never reused */
	int64_t parts;
	struct grove__log_state st;
	const struct grove__dialect *dialect;
	struct grove__search_names names;
};

/* A text of a part that has some of the words. */
struct grove__search_found {
	uint64_t words;              /* a bit for each word of the query */
	uint32_t nr;                 /* of the text, in its part */
	enum grove__search_lane lane;
};

struct grove__search_index {
	sqlite3 *db;
	int64_t version;             /* of what was read from it: see PRAGMA data_version */

	struct grove__search_known *known;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove__idmap by_key;
	int64_t next_file, next_part, dead;
	/* The log of each file, by its id, plus one; 0: none that is searched. */
	uint32_t *log_of;
	size_t nr_log_of;

	sqlite3_stmt *add_words, *add_part, *add_texts, *add_word, *drop_file, *put_file, *one_file, *of_stem;
	sqlite3_stmt *find, *one_part;
	struct grove_buf session, cwd, name;
	/* while it is asked */
	struct grove__search_fts fts;
	uint64_t *at;                /* for each position of a part: the words that are there */
	size_t cap_at;
	struct grove__search_found *found;   /* the texts of the part that was looked at last */
	size_t nr_found, cap_found;
};

/*
 * Translates an error of SQLite: GROVE_EDAMAGED, GROVE_ENOMEM, GROVE_ECONFLICT
 * (locked), GROVE_EIO.
 */
int grove__search_db_code(const struct grove__search_index *ix, int rc);
/* Runs statements without results. */
int grove__search_db_run(struct grove__search_index *ix, const char *sql);
int grove__search_db_prepare(struct grove__search_index *ix, const char *sql, sqlite3_stmt **out);
/* Runs a statement that has no result, and makes it ready again. */
int grove__search_db_step(struct grove__search_index *ix, sqlite3_stmt *st);
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

/* search_find.c: registers the SQL function that queries use */
int grove__search_find_function(struct grove__search_index *ix, fts5_api *api);

/* search_vocab.c: writes what was found */
int grove__search_vocab_write(struct grove__search_index *ix, struct grove__search_vocab *v);
/* Reports the words that have a stem. */
int grove__search_vocab_forms(struct grove__search_index *ix, struct grove_slice stem, grove__search_form_fn *fn,
			      void *payload);

#endif
