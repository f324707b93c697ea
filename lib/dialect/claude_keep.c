/*
 * dialect/claude_keep.c: what Claude Code stores next to its sessions, and how long it
 * keeps them.
 *
 * When it starts, it deletes what has not been written to for a number of days:
 * transcripts, their directories, and the copies of files it made before editing them.
 * Only the prompts that a person typed, history.jsonl, stay.
 */
#include "dialect/claude_keep.h"

#include "dialect/claude.h"
#include "json/value.h"

/* How long a transcript is kept unless the settings say otherwise. */
#define DAYS 30
#define DAY_MS 86400000.0
/* The latest time that JavaScript can represent. */
#define TIME_MAX_MS 8.64e15

int64_t grove__claude_expires(struct grove_slice settings, int64_t mtime)
{
	struct grove_slice set = grove__json_get(settings, "cleanupPeriodDays");
	double days = grove__json_type_of(set) == JSON_NUMBER ? grove__json_number(set) : DAYS;
	double when;

	/* values below one day are ignored, and the default is used */
	if (!(days >= 1))
		days = DAYS;
	when = (double)mtime + days * DAY_MS;
	return when <= TIME_MAX_MS ? (int64_t)when : GROVE_NO_TIME;
}

int grove__claude_apart(const struct grove__env *env, const char *root, const char *session,
			int (*fn)(void *payload, const char *dir, const char *name), void *payload)
{
	struct grove_buf own = GROVE_BUF_INIT, beside = GROVE_BUF_INIT;
	int rc = grove__claude_file_history(env, session, &own) ? GROVE_ENOMEM : 0;

	if (!rc)
		rc = fn(payload, own.ptr, "file-history");
	/* a tree that was copied somewhere else has its own */
	if (!rc && root && grove__buf_addf(&beside, "%s/../file-history/%s", root, session))
		rc = GROVE_ENOMEM;
	if (!rc && root)
		rc = fn(payload, beside.ptr, "file-history");
	grove__buf_release(&own);
	grove__buf_release(&beside);
	return rc;
}

/* --- processes --- */

#define PROJECTS "/projects/"

int grove__claude_live_dirs(const struct grove__env *env, const char *path,
			    int (*fn)(void *payload, const char *dir), void *payload)
{
	struct grove_buf dir = GROVE_BUF_INIT;
	const char *at = NULL;
	bool ours;
	int rc = grove__claude_config_dir(env, &dir);

	if (!rc)
		rc = grove__buf_add_str(&dir, "/sessions");
	if (!rc)
		rc = fn(payload, dir.ptr);
	/* the session may belong to another config directory than ours */
	for (const char *p = path; (p = strstr(p, PROJECTS)); p++)
		at = p;
	ours = at && !rc && !strncmp(dir.ptr, path, (size_t)(at - path)) &&
	       !strcmp(dir.ptr + (at - path), "/sessions");
	if (ours)
		at = NULL;
	grove__buf_clear(&dir);
	if (!rc && at)
		rc = grove__buf_addf(&dir, "%.*s/sessions", (int)(at - path), path);
	if (!rc && at)
		rc = fn(payload, dir.ptr);
	grove__buf_release(&dir);
	return rc;
}

bool grove__claude_live_note(const char *name, struct grove_slice json, struct grove__live_check *out,
			     struct grove_buf *session)
{
	size_t digits = strspn(name, "0123456789");
	struct grove_slice id = grove__json_get(json, "sessionId");
	struct grove_slice since = grove__json_get(json, "startedAt");

	if (!digits || digits > 10 || strcmp(name + digits, ".json") ||
	    grove__json_type_of(id) != JSON_STRING)
		return false;
	out->pid = 0;
	for (size_t i = 0; i < digits; i++)
		out->pid = out->pid * 10 + (name[i] - '0');
	out->since = GROVE_NO_TIME;
	if (grove__json_type_of(since) == JSON_NUMBER && grove__json_number(since) > 0 &&
	    grove__json_number(since) <= TIME_MAX_MS)
		out->since = (int64_t)grove__json_number(since);
	return !grove__json_text(session, id);
}

/* --- sub-agents --- */

static enum grove__agent_file file(struct grove_slice path, struct grove_slice *id,
				   struct grove_slice *group)
{
	switch (grove__claude_sidecar(path, id, group)) {
	case CLAUDE_SIDE_AGENT:
		return AGENT_LOG;
	case CLAUDE_SIDE_AGENT_META:
		return AGENT_META;
	default:
		return AGENT_NONE;
	}
}

static int member(struct grove_slice json, const char *name, struct grove_buf *out)
{
	struct grove_slice raw = grove__json_get(json, name);

	return grove__json_type_of(raw) == JSON_STRING ? grove__json_text(out, raw) : 0;
}

static int meta(struct grove_slice json, struct grove__agent_meta *out)
{
	int rc = member(json, "agentType", &out->type);

	rc = rc ? rc : member(json, "description", &out->description);
	rc = rc ? rc : member(json, "toolUseId", &out->tool_use);
	rc = rc ? rc : member(json, "parentAgentId", &out->parent);
	return rc ? rc : member(json, "worktreePath", &out->worktree);
}

const struct grove__agents grove__claude_agents = { file, meta };
