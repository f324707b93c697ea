/*
 * store/sql.h: what the database stores share: tables, statements, how a record
 * becomes a row.
 *
 * A log is a row of `sessions` and a row of `entries` for each physical line,
 * numbered from 0. The line's own bytes are the truth; the columns beside them
 * are there to be asked, and may be NULL where nobody knew.
 */
#ifndef GROVE_STORE_SQL_H
#define GROVE_STORE_SQL_H

#include "store/store.h"

/* The longest names that the columns of every database take, in bytes. */
enum {
	GROVE__SQL_PROJECT = 1000,
	GROVE__SQL_SESSION = 500,
	GROVE__SQL_SUBPATH = 1500,
	GROVE__SQL_NAME = 1500,      /* of an attachment */
	GROVE__SQL_VALUE_NAME = 200,
	GROVE__SQL_ENTRY_ID = 255,
	GROVE__SQL_ID = 16           /* of a log */
};

/*
 * The tables, version by version: versions[0] makes version 1 from nothing,
 * versions[i] makes version i+1 from version i. Each ends with NULL.
 */
struct grove__sql_schema {
	unsigned newest;
	const char *const *const *versions;
};

extern const struct grove__sql_schema grove__sql_schema_sqlite;
extern const struct grove__sql_schema grove__sql_schema_mysql;

/* On MySQL, the comment of each table of ours. */
#define GROVE__SQL_COMMENT "grove"

/* Statements that both kinds of database understand as they are. */
enum grove__sql {
	SQL_VERSION,       /* -> value */
	SQL_SET_VERSION,   /* value */
	SQL_FIND,          /* project, session, subpath -> session_id */
	SQL_SUBS,          /* project, session -> session_id, subpath */
	SQL_CREATE,        /* session_id, project, session, subpath, created, updated */
	SQL_SESSION,       /* session_id -> generation, unfinished, updated, rev, adjust, lease_owner,
			    * lease_number, lease_until */
	SQL_LAST,          /* session_id -> seq, start, length, stored */
	SQL_INSERT,        /* session_id, seq, start, stored, time, kind, role, id, parent, line */
	SQL_LENGTH,        /* session_id, seq -> length */
	SQL_REPLACE,       /* line, session_id, seq */
	SQL_CUT,           /* session_id, seq */
	SQL_UPDATE,        /* time, kind, role, id, parent, line, session_id, seq */
	SQL_CHANGED,       /* rev, adjust, unfinished, updated, session_id: another generation */
	SQL_TOUCHED,       /* rev, session_id */
	SQL_NOTE,          /* session_id, rev, lines, kind, id, time: a change */
	SQL_CHANGES,       /* session_id, session_id, since -> rev, lines, kind, id */
	SQL_LEASE,         /* lease_owner, lease_number, lease_until, session_id */
	SQL_ENTRY,         /* session_id, id -> seq, time, kind, role, id, parent, line */
	SQL_LAST_ENTRY,    /* session_id -> the same */
	SQL_LIST,          /* -> project, session, subpath: sessions */
	SQL_LIST_OF,       /* project -> the same */
	SQL_LIST_SUBS,     /* -> the same: logs that belong to sessions */
	SQL_LIST_SUBS_OF,  /* project -> the same */
	SQL_RENAME,        /* project, session, subpath, session_id */
	SQL_DROP_SESSION,  /* session_id, as those below */
	SQL_DROP_ENTRIES,
	SQL_DROP_ATTACHMENTS,
	SQL_DROP_VALUES,
	SQL_DROP_CHANGES,
	SQL_ATTACH_PUT,    /* session_id, name, bytes */
	SQL_ATTACH_GET,    /* session_id, name -> bytes */
	SQL_ATTACH_LIST,   /* session_id -> name, length */
	SQL_VALUE_PUT,     /* session_id, name, value */
	SQL_VALUE_GET,     /* session_id, name -> value */
	SQL_LEAF_PUT,      /* value, session_id */
	SQL_LEAF_GET,      /* session_id -> value */
	SQL_NAME_PUT,
	SQL_NAME_GET,
	SQL_DIALECT_PUT,
	SQL_DIALECT_GET,
	SQL_UNFINISHED_PUT, /* seq or NULL, session_id */
	SQL_NR
};

extern const char *const grove__sql_text[SQL_NR];

/*
 * `rev` of a session's row counts what is told by SQL_NOTE; together with the
 * number of lines it is the rev that listeners know. That one never goes back:
 * a log that became shorter by n lines counts n more.
 */
static inline uint64_t grove__sql_next_base(uint64_t base, uint64_t lines_before,
					    uint64_t lines_after)
{
	return base + 1 + (lines_after < lines_before ? lines_before - lines_after : 0);
}

/* A value that has a column of its own: its statements. False: it has none. */
bool grove__sql_value_column(const char *name, enum grove__sql *get, enum grove__sql *put);

/*
 * A new session_id. It begins with the time, so that the lines of a new session
 * go to the end of the table, and 80 bits of it are random: no counter that
 * writers would queue for.
 */
void grove__sql_new_id(uint8_t out[GROVE__SQL_ID]);

/* GROVE_EINVAL for a key that does not fit into the columns. */
int grove__sql_check_key(const struct grove_key *key, struct grove_detail *d);

/* What goes into the columns beside the line; an empty id is NULL there. */
struct grove__sql_row {
	struct grove_slice id, parent;
	int64_t time;
	int kind, role;
	bool known;   /* the dialect looked at the line: time, kind and role mean something */
};

/*
 * Can an entry be looked for by this id? Others are in their lines alone, and of
 * a line that has or names such a one nothing is known.
 */
bool grove__sql_plain_id(struct grove_slice id);
void grove__sql_row(const struct grove_record *rec, struct grove__sql_row *out);

/*
 * GROVE_EINVAL if `pid` (0: nobody) opened what this process wants to use: a
 * connection to a database is not shared with a parent.
 */
int grove__sql_forked(int64_t pid, const char *where, struct grove_detail *d);

#endif
