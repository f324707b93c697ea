/*
 * grove.h: the session store for coding agents.
 *
 * Coding agents store each conversation as a log of JSON lines that form a tree:
 * entries with an id and a parent, a leaf, branches, compactions, labels. grove reads
 * and writes those logs as the agents themselves do, rebuilds the tree, and computes
 * the context that a model would be sent.
 *
 *	struct grove *g;
 *	struct grove_session *s;
 *	struct grove_view *v;
 *	struct grove_buf json = GROVE_BUF_INIT;
 *
 *	if (grove_open(NULL, &g))
 *		…
 *	if (!grove_session_open(g, "last", GROVE_OPEN_READ, &s) &&
 *	    !grove_session_view(s, &v)) {
 *		grove_view_context(v, NULL, grove_buf_sink(&json));
 *		puts(json.ptr);
 *		grove_view_unref(v);
 *	}
 *	grove_buf_release(&json);
 *	grove_session_close(s);
 *	grove_close(g);
 *
 * Errors. Functions return 0 or a negative enum grove_error. Every handle has the
 * detail of its last error: grove_error(), grove_session_error() and so on.
 * Constructors return a handle even if they fail (except when out of memory), so that
 * you can ask it for the detail; every close and free function accepts NULL.
 *
 * Threads. Handles are independent of each other. Only one thread at a time may use a
 * handle, with two exceptions: many threads may call grove_session_append*() on one
 * session, or grove_log_append() on one log, and any number of threads may read one view.
 *
 * Processes. After fork(), both the parent and the child may write to a session in a
 * file; a lease stays with the parent. A database that was open belongs to the parent
 * alone: in the child every call that needs it returns GROVE_EINVAL, closing it does
 * nothing to the parent, and an SQLite file that was open cannot be opened again before
 * exec(). As with threads, no call may be in progress in another thread when the
 * process forks.
 *
 * Callbacks (edits, paths, artifacts, filters, sinks, hits, progress, warnings) run in
 * the middle of the call they were given to. They may use other handles and any view,
 * and ask their own handle for its error and its names (id, path, dir, cwd, dialect).
 * Every other call on the session or search that is calling them does nothing and returns
 * GROVE_EINVAL, with an explanation in the detail; grove_session_leaf() returns NULL.
 * They must not close that handle.
 *
 * A handle from a failed open can be asked for its error and closed; every other call
 * on it returns GROVE_EINVAL, or NULL.
 *
 * Memory. A const pointer that grove returns belongs to the handle or view that
 * returned it, and is valid as long as that is. Anything you must release yourself is in
 * a struct grove_buf. Text is UTF-8.
 *
 * Sizes. A struct that you allocate, for options or for a result, begins with its size:
 * set that to sizeof and the rest to zero. A call reads and writes only that many bytes
 * of it, so that a program keeps working with a later library, whose structs have more
 * members. A size of 0 is GROVE_EINVAL. Structs that grove returns by pointer have no
 * size; they grow at their end, so do not copy them into arrays or structs of your own.
 * NULL options are a struct of zeros.
 */
#ifndef GROVE_H
#define GROVE_H

#include <grove/types.h>
#include <grove/words.h>
#include <grove/env.h>
#include <grove/session.h>
#include <grove/view.h>
#include <grove/list.h>
#include <grove/usage.h>
#include <grove/search.h>
#include <grove/check.h>
#include <grove/blobs.h>
#include <grove/live.h>
#include <grove/transfer.h>
#include <grove/carry.h>
#include <grove/history.h>
#include <grove/log.h>
#include <grove/json.h>

#endif
