/*
 * dialect/claude_names.c: ids, directories and file names of Claude Code.
 *
 *	~/.claude/projects/-home-me-project/<uuid>.jsonl
 *	                                    <uuid>/subagents/agent-<id>.jsonl
 *	~/.claude/file-history/<uuid>/
 *
 * A project's directory is its working directory with everything but letters and digits
 * turned into dashes. Several directories may have the same key; the cwd in the records
 * decides.
 */
#include "dialect/claude.h"

#include "base/utf8.h"
#include "js/js.h"

#include <stdlib.h>
#include <utf8proc.h>

/* Longer keys are cut, and a hash of the path is added. */
#define KEY_MAX 200

static const char *variable(const struct grove__env *env, const char *name)
{
	const char *v = env->getenv(env->getenv_payload, name);

	return v && *v ? v : NULL;
}

/* Appends a path in Unicode's composed form, or unchanged if it is not UTF-8. */
static int add_composed(struct grove_buf *out, struct grove_slice path)
{
	utf8proc_uint8_t *nfc = NULL;
	utf8proc_ssize_t len;
	int rc;

	len = utf8proc_map((const utf8proc_uint8_t *)path.ptr, (utf8proc_ssize_t)path.len, &nfc,
			   UTF8PROC_STABLE | UTF8PROC_COMPOSE);
	if (len == UTF8PROC_ERROR_NOMEM)
		return GROVE_ENOMEM;
	rc = len < 0 ? grove__utf8_repair(out, path) : grove__buf_add(out, nfc, (size_t)len);
	free(nfc);
	return rc;
}

int grove__claude_config_dir(const struct grove__env *env, struct grove_buf *out)
{
	const char *dir = variable(env, "CLAUDE_CONFIG_DIR");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	if (!dir)
		rc = grove__buf_addf(&b, "%s/.claude", env->home);
	else
		rc = grove__buf_addf(&b, "%s%s%s", *dir == '/' ? "" : env->cwd,
				     *dir == '/' ? "" : "/", dir);
	while (!rc && b.len > 1 && b.ptr[b.len - 1] == '/')
		grove__buf_cut(&b, b.len - 1);
	if (!rc && dir)
		rc = add_composed(out, grove__buf_slice(&b));
	else if (!rc)
		rc = grove__buf_add_slice(out, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

int grove__claude_roots(const struct grove__env *env,
			int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
			void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__claude_config_dir(env, &b);

	if (!rc)
		rc = grove__buf_add_str(&b, "/projects");
	if (!rc)
		rc = fn(payload, "claude", b.ptr, false);
	grove__buf_release(&b);
	return rc;
}

int grove__claude_file_history(const struct grove__env *env, const char *session,
			       struct grove_buf *out)
{
	int rc = grove__claude_config_dir(env, out);

	return rc ? rc : grove__buf_addf(out, "/file-history/%s", session);
}

/* --- projects --- */

static bool alnum(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * The name that the user chose for the project's directory; it counts only if the config
 * directory was chosen, too.
 */
static const char *chosen_name(const struct grove__env *env)
{
	const char *name = variable(env, "CLAUDE_CODE_PROJECT_DIR_NAME");
	size_t i;

	if (!name || !variable(env, "CLAUDE_CONFIG_DIR"))
		return NULL;
	for (i = 0; name[i]; i++)
		if (!alnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return NULL;
	return i <= 64 ? name : NULL;
}

/* Gets the path from which keys are made. */
static int real_path(const struct grove__env *env, const char *cwd, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = env->realpath ? env->realpath(env->file_payload, cwd, &b) : 1;

	/* a directory that does not exist has no other name */
	if (rc == 1)
		rc = grove__buf_add_str(&b, cwd);
	if (!rc)
		rc = add_composed(out, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

static int add_base36(struct grove_buf *out, uint32_t n)
{
	char digits[8];
	size_t i = sizeof(digits);

	do
		digits[--i] = "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36];
	while (n /= 36);
	return grove__buf_add(out, digits + i, sizeof(digits) - i);
}

/*
 * Appends the letters of a path, one per UTF-16 unit, at most KEY_MAX. *hash gets the
 * program's hash of all units, *cut whether there were more.
 */
static int add_letters(struct grove_buf *out, struct grove_slice path, uint32_t *hash, bool *cut)
{
	const char *p = path.ptr, *end = p + path.len;
	size_t nr = 0;
	int rc = 0;

	*hash = 0;
	while (p < end && !rc) {
		uint32_t cp, units[2];
		int nr_units = 1;

		p += grove__utf8_decode_wtf8(p, end, &cp);
		units[0] = cp;
		if (cp >= 0x10000) {
			units[0] = 0xd800 + ((cp - 0x10000) >> 10);
			units[1] = 0xdc00 + ((cp - 0x10000) & 0x3ff);
			nr_units = 2;
		}
		for (int i = 0; i < nr_units && !rc; i++) {
			*hash = *hash * 31 + units[i];
			if (nr++ < KEY_MAX)
				rc = grove__buf_add_char(out, alnum(units[i]) ? (char)units[i] : '-');
		}
	}
	*cut = nr > KEY_MAX;
	return rc;
}

int grove__claude_project(const struct grove__env *env, const char *cwd, struct grove_buf *out)
{
	const char *name = chosen_name(env);
	struct grove_buf path = GROVE_BUF_INIT;
	uint32_t hash;
	bool cut;
	int rc;

	if (name)
		return grove__buf_add_str(out, name);
	rc = real_path(env, cwd, &path);
	if (!rc)
		rc = add_letters(out, grove__buf_slice(&path), &hash, &cut);
	if (!rc && cut) {
		rc = grove__buf_add_char(out, '-');
		/* the absolute value */
		if (!rc)
			rc = add_base36(out, hash > INT32_MAX ? 0 - hash : hash);
	}
	grove__buf_release(&path);
	return rc;
}

/* --- sessions --- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool grove__claude_session_id_ok(struct grove_slice id)
{
	if (id.len != 36)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? id.ptr[i] != '-' : !is_hex(id.ptr[i]))
			return false;
	}
	return true;
}

int grove__claude_file_name(int64_t time, const char *id, struct grove_buf *out)
{
	(void)time;
	return grove__buf_addf(out, "%s.jsonl", id);
}

static bool strip(struct grove_slice *name, const char *tail)
{
	size_t n = strlen(tail);

	if (name->len < n || memcmp(name->ptr + name->len - n, tail, n))
		return false;
	name->len -= n;
	return true;
}

bool grove__claude_parse_file_name(struct grove_slice name, int64_t *time, struct grove_slice *id)
{
	if (!strip(&name, ".jsonl") || !grove__claude_session_id_ok(name))
		return false;
	*time = GROVE_NO_TIME;
	*id = name;
	return true;
}

/* Makes a random UUID; `again` makes no difference. */
size_t grove__claude_entry_id(const uint8_t random[16], bool again, char out[40])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	(void)again;
	for (size_t i = 0; i < 16; i++) {
		uint8_t b = random[i];

		if (i == 6)
			b = (uint8_t)((b & 0x0f) | 0x40);
		else if (i == 8)
			b = (uint8_t)((b & 0x3f) | 0x80);
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		out[n++] = digits[b >> 4];
		out[n++] = digits[b & 15];
	}
	out[n] = '\0';
	return n;
}

int grove__claude_clean_name(struct grove_slice name, struct grove_buf *out)
{
	return grove__buf_add_slice(out, grove__js_trim(name));
}

/* --- beside a session --- */

/* Returns the first part of a path; the rest continues after its slash. */
static struct grove_slice next_part(struct grove_slice *path)
{
	const char *slash = memchr(path->ptr, '/', path->len);
	struct grove_slice part = *path;

	if (!slash)
		return grove__slice(path->ptr, 0);
	part.len = (size_t)(slash - path->ptr);
	path->ptr += part.len + 1;
	path->len -= part.len + 1;
	return part;
}

static enum grove__claude_sidecar agent_file(struct grove_slice path, struct grove_slice *id,
					     struct grove_slice *group)
{
	struct grove_slice name = path;
	size_t i = path.len;

	while (i && path.ptr[i - 1] != '/')
		i--;
	name = grove__slice(path.ptr + i, path.len - i);
	*group = grove__slice(path.ptr, i ? i - 1 : 0);
	if (grove__slice_is(name, "journal.jsonl") && grove__slice_starts(*group, "workflows/"))
		return CLAUDE_SIDE_JOURNAL;
	if (!grove__slice_starts(name, "agent-"))
		return CLAUDE_SIDE_OTHER;
	name.ptr += strlen("agent-");
	name.len -= strlen("agent-");
	*id = name;
	if (strip(id, ".meta.json"))
		return id->len ? CLAUDE_SIDE_AGENT_META : CLAUDE_SIDE_OTHER;
	if (strip(id, ".jsonl"))
		return id->len ? CLAUDE_SIDE_AGENT : CLAUDE_SIDE_OTHER;
	return CLAUDE_SIDE_OTHER;
}

enum grove__claude_sidecar grove__claude_sidecar(struct grove_slice path, struct grove_slice *id,
						 struct grove_slice *group)
{
	enum grove__claude_sidecar what = CLAUDE_SIDE_OTHER;
	struct grove_slice rest = path, dir = next_part(&rest);

	*id = *group = grove__slice(path.ptr, 0);
	if (grove__slice_is(path, "custom-title.json"))
		what = CLAUDE_SIDE_TITLE;
	else if (grove__slice_is(path, "archived.json"))
		what = CLAUDE_SIDE_ARCHIVED;
	else if (grove__slice_is(dir, "remote-agents"))
		what = CLAUDE_SIDE_REMOTE;
	else if (grove__slice_is(dir, "subagents"))
		what = agent_file(rest, id, group);
	else if (grove__slice_is(dir, "tool-results") && !memchr(rest.ptr, '/', rest.len)) {
		*id = rest;
		what = strip(id, ".txt") && id->len ? CLAUDE_SIDE_RESULT : CLAUDE_SIDE_OTHER;
	}
	if (what != CLAUDE_SIDE_AGENT && what != CLAUDE_SIDE_AGENT_META && what != CLAUDE_SIDE_RESULT)
		*id = grove__slice(path.ptr, 0);
	if (what == CLAUDE_SIDE_OTHER)
		*group = grove__slice(path.ptr, 0);
	return what;
}
