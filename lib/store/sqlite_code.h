/* store/sqlite_code.h: translates SQLite's error codes. */
#ifndef GROVE_STORE_SQLITE_CODE_H
#define GROVE_STORE_SQLITE_CODE_H

#include "grove.h"

#include <sqlite3.h>

static inline int grove__sqlite_code(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return GROVE_ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return GROVE_ECONFLICT;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return GROVE_EDAMAGED;
	case SQLITE_PERM:
	case SQLITE_READONLY:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return GROVE_EACCESS;
	case SQLITE_FULL:
		return GROVE_EFULL;
	case SQLITE_TOOBIG:
		return GROVE_ETOOBIG;
	default:
		return GROVE_EIO;
	}
}

#endif
