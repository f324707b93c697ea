/*
 * dialect/pi_names.c: ids, directories and file names of pi.
 *
 *	~/.pi/agent/sessions/--home-me-project--/2026-05-03T09-00-00-000Z_<id>.jsonl
 *
 * The directory is the working directory with slashes and colons turned into dashes.
 * That is not reversible: /a/b-c and /a/b/c have the same name; the cwd in each header
 * decides.
 */
#include "dialect/pi.h"

#include "js/js.h"

#include <openssl/evp.h>

static size_t hex(const uint8_t *bytes, size_t nr, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < nr; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * nr] = '\0';
	return 2 * nr;
}

/* Eight hex digits or, after too many collisions, a whole random UUID. */
size_t grove__pi_entry_id(const uint8_t random[16], bool again, char out[40])
{
	uint8_t b[16];
	size_t n = 0;

	if (!again)
		return hex(random, 4, out);
	memcpy(b, random, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		n += hex(b + i, 1, out + n);
	}
	return n;
}

/*
 * Old files have no ids. A line's id depends only on the session and the line number, so
 * that every process, now or later, sees the same tree.
 */
size_t grove__pi_line_id(struct grove_slice session, uint64_t line, unsigned attempt,
			     char out[40])
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned len = 0;

	if (grove__buf_add_slice(&b, session) ||
	    grove__buf_addf(&b, "\n%llu\n%u", (unsigned long long)line, attempt) ||
	    !EVP_Digest(b.ptr, b.len, digest, &len, EVP_sha256(), NULL) || len < 4) {
		grove__buf_release(&b);
		return 0;
	}
	grove__buf_release(&b);
	return hex(digest, 4, out);
}

/*
 * A UUID of version 7: milliseconds, then a sequence of 41 bits that starts at a random
 * value, then random bits.
 */
void grove__pi_session_id(int64_t time, uint64_t seq, const uint8_t random[8], char out[40])
{
	uint8_t b[16];
	size_t n = 0;

	for (unsigned i = 0; i < 6; i++)
		b[i] = (uint8_t)(time >> (40 - 8 * i));
	b[6] = (uint8_t)(0x70 | (seq >> 37 & 0x0f));
	b[7] = (uint8_t)(seq >> 29);
	b[8] = (uint8_t)(0x80 | (seq >> 23 & 0x3f));
	b[9] = (uint8_t)(seq >> 15);
	b[10] = (uint8_t)(seq >> 7);
	b[11] = (uint8_t)(seq << 1 | (random[0] & 1));
	memcpy(b + 12, random + 1, 4);
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		n += hex(b + i, 1, out + n);
	}
}

static bool alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool grove__pi_session_id_ok(struct grove_slice id)
{
	if (!id.len || !alnum(id.ptr[0]) || !alnum(id.ptr[id.len - 1]))
		return false;
	for (size_t i = 0; i < id.len; i++)
		if (!alnum(id.ptr[i]) && !strchr("._-", id.ptr[i]))
			return false;
	return true;
}

/* Turns runs of line ends into one space, and trims. */
int grove__pi_clean_name(struct grove_slice name, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < name.len && !rc; i++) {
		char c = name.ptr[i];

		if (c != '\r' && c != '\n')
			rc = grove__buf_add_char(&b, c);
		else if (!i || (name.ptr[i - 1] != '\r' && name.ptr[i - 1] != '\n'))
			rc = grove__buf_add_char(&b, ' ');
	}
	if (!rc)
		rc = grove__buf_add_slice(out, grove__js_trim(grove__buf_slice(&b)));
	grove__buf_release(&b);
	return rc;
}

int grove__pi_project(const struct grove__env *env, const char *cwd, struct grove_buf *out)
{
	size_t start;
	int rc = grove__buf_add_str(out, "--");

	(void)env;
	if (*cwd == '/' || *cwd == '\\')
		cwd++;
	start = out->len;
	if (!rc)
		rc = grove__buf_add_str(out, cwd);
	for (size_t i = start; i < out->len; i++)
		if (strchr("/\\:", out->ptr[i]))
			out->ptr[i] = '-';
	return rc ? rc : grove__buf_add_str(out, "--");
}

int grove__pi_file_name(int64_t time, const char *id, struct grove_buf *out)
{
	char iso[GROVE__JS_ISO_MAX];
	size_t n = grove__js_iso(iso, time);

	for (size_t i = 0; i < n; i++)
		if (iso[i] == ':' || iso[i] == '.')
			iso[i] = '-';
	return grove__buf_addf(out, "%.*s_%s.jsonl", (int)n, iso, id);
}

bool grove__pi_parse_file_name(struct grove_slice name, int64_t *time, struct grove_slice *id)
{
	/* 2026-05-03T09-00-00-000Z_ID.jsonl */
	char iso[24];
	const size_t tail = strlen(".jsonl");

	if (name.len < sizeof(iso) + 2 + tail || name.ptr[24] != '_' ||
	    memcmp(name.ptr + name.len - tail, ".jsonl", tail))
		return false;
	memcpy(iso, name.ptr, sizeof(iso));
	iso[13] = iso[16] = ':';
	iso[19] = '.';
	*time = grove__js_date_parse(grove__slice(iso, sizeof(iso)));
	*id = grove__slice(name.ptr + 25, name.len - 25 - tail);
	return *time != GROVE_NO_TIME && grove__pi_session_id_ok(*id);
}

/* Expands `~`, `~/x` and file:// as pi does; relative paths are resolved against the cwd. */
static int expand(const struct grove__env *env, const char *path, struct grove_buf *out)
{
	int rc = grove__js_file_url(path, out);

	if (rc <= 0)
		return rc;
	if (path[0] == '~' && (path[1] == '/' || !path[1]))
		return grove__buf_addf(out, "%s%s", env->home, path + 1);
	if (*path == '/')
		return grove__buf_add_str(out, path);
	return grove__buf_addf(out, "%s/%s", env->cwd, path);
}

static const char *variable(const struct grove__env *env, const char *name)
{
	const char *v = env->getenv(env->getenv_payload, name);

	return v && *v ? v : NULL;
}

/* OpenClaw, from 2026.8 on: agents/ID/agent/openclaw-agent.sqlite in place of agents/ID/sessions. */
int grove__pi_database(const char *path, struct grove_buf *out)
{
	static const char agents[] = "/agents/", logs[] = "/sessions";

	for (const char *p = path; (p = strstr(p, agents)); p++) {
		const char *end = strchr(p + sizeof(agents) - 1, '/');

		if (end && !strncmp(end, logs, sizeof(logs) - 1) && strchr("/", end[sizeof(logs) - 1]))
			return grove__buf_addf(out, "%.*s/agent/openclaw-agent.sqlite", (int)(end - path), path);
	}
	return 1;
}

int grove__pi_roots(const struct grove__env *env,
		    int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
		    void *payload)
{
	const char *flat = variable(env, "PI_CODING_AGENT_SESSION_DIR");
	const char *agent = variable(env, "PI_CODING_AGENT_DIR");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	if (flat) {
		rc = expand(env, flat, &b);
		if (!rc)
			rc = fn(payload, "pi", b.ptr, true);
	}
	grove__buf_clear(&b);
	if (!rc)
		rc = expand(env, agent ? agent : "~/.pi/agent", &b);
	if (!rc)
		rc = grove__buf_add_str(&b, "/sessions");
	if (!rc)
		rc = fn(payload, "pi", b.ptr, false);
	grove__buf_clear(&b);
	if (!rc)
		rc = grove__buf_addf(&b, "%s/.openclaw/agents/*/sessions", env->home);
	if (!rc)
		rc = fn(payload, "openclaw", b.ptr, true);
	grove__buf_release(&b);
	return rc;
}
