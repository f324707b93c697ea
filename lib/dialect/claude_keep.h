/*
 * dialect/claude_keep.h: what Claude Code stores next to its sessions, and how long
 * it keeps them.
 */
#ifndef GROVE_DIALECT_CLAUDE_KEEP_H
#define GROVE_DIALECT_CLAUDE_KEEP_H

#include "dialect/dialect.h"

/* Where the settings are, relative to the directory of all projects. */
#define GROVE__CLAUDE_SETTINGS "../settings.json"

/*
 * Returns when a transcript last written at `mtime` (ms) will be deleted, or GROVE_NO_TIME
 * for never. `settings` is the text of settings.json: valid JSON, or empty.
 */
int64_t grove__claude_expires(struct grove_slice settings, int64_t mtime);
/* The directories outside the session's own that contain some of its files. */
int grove__claude_apart(const struct grove__env *env, const char *root, const char *session,
			int (*fn)(void *payload, const char *dir, const char *name), void *payload);

/*
 * Each running process has a file sessions/PID.json in the config directory:
 * {"pid":…,"sessionId":"…","cwd":"…","startedAt":ms, …}.
 */
int grove__claude_live_dirs(const struct grove__env *env, const char *path,
			    int (*fn)(void *payload, const char *dir), void *payload);
bool grove__claude_live_note(const char *name, struct grove_slice json, struct grove__live_check *out,
			     struct grove_buf *session);

extern const struct grove__agents grove__claude_agents;

#endif
