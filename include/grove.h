/*
 * grove.h: the session store for coding agents.
 *
 * Coding agents keep each conversation as a log of JSON lines that form a
 * tree: entries with an id and a parent, a leaf, branches, compactions,
 * labels. grove reads and writes those logs as the agents themselves do,
 * rebuilds the tree, and computes the context a model would be sent.
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
 * Errors. Functions return 0 or a negative enum grove_error. The detail is kept
 * in the handle: grove_error(), grove_session_error(), every handle has one. Constructors
 * yield a handle even when they fail (out of memory aside), so that there is
 * somewhere to ask; every close and free accepts NULL.
 *
 * Threads. Handles are independent of each other. One thread at a time per
 * handle, with two exceptions: grove_session_append*() may be called by many
 * threads on one session, and a view may be read by any number of threads.
 *
 * Processes. After fork() a session in a file may be written by the parent and by
 * the child; a lease stays the parent's. A database that was open is the parent's
 * alone: in the child every call that needs it returns GROVE_EINVAL, closing it
 * does nothing to the parent, and an SQLite file that was open then cannot be
 * opened again before exec(). As with threads, no call may be under way in
 * another thread when the process forks.
 *
 * Callbacks (edits, paths, artifacts, filters, sinks, hits, progress, warnings)
 * run in the middle of the call that they were given to. They may use other
 * handles and any view, and ask their own handle for its error and its names
 * (id, path, dir, cwd, dialect). Every other call on the session or search that
 * is calling them answers GROVE_EINVAL, does nothing and says so in the detail;
 * grove_session_leaf() answers NULL. They must not close that handle.
 *
 * A handle that a failed open left behind can be asked for its error and closed;
 * every other call on it answers GROVE_EINVAL, or NULL.
 *
 * Memory. What comes as a const pointer belongs to the handle or view that
 * gave it, and lives as long as that. What you must release comes in a struct
 * grove_buf. Text is UTF-8.
 *
 * Sizes. A struct that you allocate, for options or for a result, begins with its
 * size: set that to sizeof and the rest to zero. A call reads and writes so many
 * bytes of it and no more, so that a program keeps working with a later library,
 * whose structs have more members. A size of 0 is GROVE_EINVAL. Structs that grove
 * hands out by pointer have none; they grow at their end, so do not copy them into
 * arrays or structs of your own. NULL options are a struct of zeros.
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
#include <grove/history.h>

#endif
