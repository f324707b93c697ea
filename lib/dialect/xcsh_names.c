/*
 * dialect/xcsh_names.c: ids and directories of xcsh and oh-my-pi.
 *
 *	~/.xcsh/agent/{sessions,blobs,history.db,terminal-sessions}
 *
 * PI_CONFIG_DIR replaces .xcsh, and PI_CODING_AGENT_DIR the agent directory. With the
 * default agent directory, an existing $XDG_DATA_HOME/xcsh replaces it for data and
 * $XDG_STATE_HOME/xcsh for state. oh-my-pi does the same with `omp` instead of `xcsh`; with
 * a profile (OMP_PROFILE, PI_PROFILE) it uses ~/.omp/profiles/NAME/agent and
 * $XDG_DATA_HOME/omp/profiles/NAME, whatever PI_CODING_AGENT_DIR says.
 *
 * Below sessions/, a working directory is named after its real path:
 *
 *	~               -
 *	~/a/b           -a-b
 *	/tmp/x          -tmp-x
 *	/opt/a/b        --opt-a-b--
 *
 * Several may share a name; the cwd in each header decides.
 */
#include "dialect/pi.h"
#include "dialect/xcsh.h"

#include "js/js.h"

#include <stdio.h>

static const char *variable(const struct grove__env *env, const char *name)
{
	const char *v = env->getenv(env->getenv_payload, name);

	return v && *v ? v : NULL;
}

/* Appends `path` without empty parts, "." and "..", as path.resolve() would. */
static int add_resolved(struct grove_buf *out, const char *path)
{
	size_t start = out->len;
	int rc = 0;

	while (*path && !rc) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			while (out->len > start && out->ptr[out->len - 1] != '/')
				grove__buf_cut(out, out->len - 1);
			if (out->len > start)
				grove__buf_cut(out, out->len - 1);
		} else if (n && !(n == 1 && *path == '.')) {
			rc = grove__buf_add_char(out, '/');
			if (!rc)
				rc = grove__buf_add(out, path, n);
		}
		path += n;
		path += *path == '/';
	}
	return rc || out->len > start ? rc : grove__buf_add_char(out, '/');
}

/* Resolves a relative path against the cwd. */
static int resolved(const struct grove__env *env, const char *path, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s/%s", *path == '/' ? "" : env->cwd, path);

	if (!rc)
		rc = add_resolved(out, b.ptr);
	grove__buf_release(&b);
	return rc;
}

/* Returns true for device names of Windows, with any extension: con, com1, … */
static bool is_device(struct grove_slice name)
{
	static const char *const devices[] = { "con", "prn", "aux", "nul", "com", "lpt" };
	const char *dot = memchr(name.ptr, '.', name.len);
	size_t n = dot ? (size_t)(dot - name.ptr) : name.len;

	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		size_t numbered = i > 3;

		if (n == 3 + numbered && !memcmp(name.ptr, devices[i], 3) &&
		    (!numbered || (name.ptr[3] >= '0' && name.ptr[3] <= '9')))
			return true;
	}
	return false;
}

static bool is_profile(struct grove_slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!plain && (!i || !c || !strchr("._-", c)))
			return false;
	}
	return name.len && name.len <= 64 && name.ptr[name.len - 1] != '.' && !is_device(name) &&
	       !grove__slice_eq(name, grove__slice_str("default"));
}

/* Returns oh-my-pi's profile, or an empty slice. */
static struct grove_slice profile(const struct grove__env *env, const char *agent)
{
	const struct grove_slice none = { "", 0 };
	const char *v;
	struct grove_slice name;

	if (strcmp(agent, "omp") != 0)
		return none;
	v = env->getenv(env->getenv_payload, "OMP_PROFILE");
	if (!v) /* an empty value means none */
		v = env->getenv(env->getenv_payload, "PI_PROFILE");
	name = grove__js_trim(grove__slice_str(v ? v : ""));
	return is_profile(name) ? name : none;
}

/* Appends "/profiles/NAME", or nothing. */
static int add_profile(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	struct grove_slice name = profile(env, agent);

	return name.len ? grove__buf_addf(out, "/profiles/%.*s", (int)name.len, name.ptr) : 0;
}

static int default_agent_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	const char *config = variable(env, "PI_CONFIG_DIR");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s/%s%s", env->home, config ? "" : ".", config ? config : agent);

	if (!rc)
		rc = add_profile(env, agent, &b);
	if (!rc)
		rc = grove__buf_add_str(&b, "/agent");
	if (!rc)
		rc = add_resolved(out, b.ptr);
	grove__buf_release(&b);
	return rc;
}

static int agent_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	const char *dir = variable(env, "PI_CODING_AGENT_DIR");

	if (!dir || profile(env, agent).len)
		return default_agent_dir(env, agent, out);
	return resolved(env, dir, out);
}

/* Returns the XDG directory if the agent has created it; otherwise the agent's own. */
static int base_dir(const struct grove__env *env, const char *agent, const char *xdg_name,
		    struct grove_buf *out)
{
	const char *xdg = variable(env, xdg_name);
	struct grove_buf dir = GROVE_BUF_INIT, usual = GROVE_BUF_INIT, data = GROVE_BUF_INIT;
	int rc = agent_dir(env, agent, &dir);

	if (!rc)
		rc = default_agent_dir(env, agent, &usual);
	if (!rc && xdg)
		rc = grove__buf_addf(&data, "%s/%s", xdg, agent);
	if (!rc && xdg)
		rc = add_profile(env, agent, &data);
	if (!rc && xdg && !strcmp(dir.ptr, usual.ptr) && env->exists &&
	    env->exists(env->file_payload, data.ptr))
		rc = grove__buf_add_slice(out, grove__buf_slice(&data));
	else if (!rc)
		rc = grove__buf_add_slice(out, grove__buf_slice(&dir));
	grove__buf_release(&dir);
	grove__buf_release(&usual);
	grove__buf_release(&data);
	return rc;
}

int grove__xcsh_data_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	return base_dir(env, agent, "XDG_DATA_HOME", out);
}

int grove__xcsh_state_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	return base_dir(env, agent, "XDG_STATE_HOME", out);
}

int grove__xcsh_blobs_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	int rc = grove__xcsh_data_dir(env, agent, out);

	return rc ? rc : grove__buf_add_str(out, "/blobs");
}

int grove__xcsh_history_path(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	int rc = grove__xcsh_data_dir(env, agent, out);

	return rc ? rc : grove__buf_add_str(out, "/history.db");
}

/* An agent that moved to the XDG directory may have left sessions in the old one. */
int grove__xcsh_roots(const struct grove__env *env, const char *agent, grove__root_fn *fn,
		      void *payload)
{
	struct grove_buf data = GROVE_BUF_INIT, own = GROVE_BUF_INIT;
	int rc = grove__xcsh_data_dir(env, agent, &data);

	if (!rc)
		rc = grove__buf_add_str(&data, "/sessions");
	if (!rc)
		rc = agent_dir(env, agent, &own);
	if (!rc)
		rc = grove__buf_add_str(&own, "/sessions");
	if (!rc)
		rc = fn(payload, agent, data.ptr, false);
	if (!rc && strcmp(data.ptr, own.ptr) && env->exists(env->file_payload, own.ptr))
		rc = fn(payload, agent, own.ptr, false);
	grove__buf_release(&data);
	grove__buf_release(&own);
	return rc;
}

/* --- the directory of a cwd --- */

/* Gets the real path; a path that does not exist stays as it is. */
static int canonical(const struct grove__env *env, const char *path, struct grove_buf *out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = resolved(env, path, &b);

	if (!rc)
		rc = env->realpath ? env->realpath(env->file_payload, b.ptr, out) : 1;
	if (rc > 0)
		rc = grove__buf_add_slice(out, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

/* Returns the part of `path` below `root`, or NULL. */
static const char *below(const char *root, const char *path)
{
	size_t n = root[1] ? strlen(root) : 0;

	if (strncmp(root, path, n) || (path[n] && path[n] != '/'))
		return NULL;
	path += n + !!path[n];
	/* the agent, too, takes a child whose name begins with two dots for a way out */
	return strncmp(path, "..", 2) ? path : NULL;
}

static int add_dashed(struct grove_buf *out, const char *text)
{
	size_t start = out->len;
	int rc = grove__buf_add_str(out, text);

	for (size_t i = start; i < out->len; i++)
		if (strchr("/\\:", out->ptr[i]))
			out->ptr[i] = '-';
	return rc;
}

static const char *tmp_dir(const struct grove__env *env)
{
	static const char *const names[] = { "TMPDIR", "TMP", "TEMP" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (variable(env, names[i]))
			return variable(env, names[i]);
	return "/tmp";
}

int grove__xcsh_project(const struct grove__env *env, const char *cwd, struct grove_buf *out)
{
	struct grove_buf real = GROVE_BUF_INIT, home = GROVE_BUF_INIT, tmp = GROVE_BUF_INIT;
	const char *rest;
	int rc = canonical(env, cwd, &real);

	if (!rc)
		rc = canonical(env, env->home, &home);
	if (!rc)
		rc = canonical(env, tmp_dir(env), &tmp);
	if (rc)
		goto out;
	if ((rest = below(home.ptr, real.ptr))) {
		rc = grove__buf_add_char(out, '-');
		if (!rc)
			rc = add_dashed(out, rest);
	} else if ((rest = below(tmp.ptr, real.ptr))) {
		rc = grove__buf_add_str(out, *rest ? "-tmp-" : "-tmp");
		if (!rc)
			rc = add_dashed(out, rest);
	} else {
		rc = grove__pi_project(env, real.ptr, out);
	}
out:
	grove__buf_release(&real);
	grove__buf_release(&home);
	grove__buf_release(&tmp);
	return rc;
}

typedef int project_fn(void *payload, const char *project);

static int tell_absolute(const struct grove__env *env, const char *path, project_fn *fn,
			 void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__pi_project(env, path, &b);

	if (!rc)
		rc = fn(payload, b.ptr);
	grove__buf_release(&b);
	return rc;
}

/*
 * Earlier versions used only absolute names: of the path as given, as resolved, and the
 * real one; and below the home directory as it is spelled, wherever that leads.
 */
int grove__xcsh_old_projects(const struct grove__env *env, const char *cwd, project_fn *fn,
			     void *payload)
{
	struct grove_buf plain = GROVE_BUF_INIT, real = GROVE_BUF_INIT, home = GROVE_BUF_INIT;
	struct grove_buf old = GROVE_BUF_INIT;
	const char *rest;
	int rc = resolved(env, cwd, &plain);

	if (!rc)
		rc = canonical(env, cwd, &real);
	if (!rc)
		rc = canonical(env, env->home, &home);
	if (!rc)
		rc = tell_absolute(env, plain.ptr, fn, payload);
	if (!rc)
		rc = tell_absolute(env, cwd, fn, payload);
	if (!rc)
		rc = tell_absolute(env, real.ptr, fn, payload);
	if (!rc && (rest = below(home.ptr, real.ptr))) {
		rc = grove__buf_addf(&old, "%s%s%s", env->home, *rest ? "/" : "", rest);
		if (!rc)
			rc = tell_absolute(env, old.ptr, fn, payload);
	}
	grove__buf_release(&plain);
	grove__buf_release(&real);
	grove__buf_release(&home);
	grove__buf_release(&old);
	return rc;
}

const char *const grove__xcsh_beside[] = { "blobs", "terminal-sessions", NULL };

/* Names below the home directory begin with one dash, all others with two. */
bool grove__xcsh_own_project(const char *name)
{
	return name[0] == '-' && name[1] != '-';
}

/* --- ids --- */

#define EPOCH_MS ((int64_t)1420070400000)  /* 2015 */
#define SEQ_BITS 22

/* A snowflake: 42 bits of milliseconds, then a 22-bit counter that starts at a random value. */
void grove__xcsh_session_id(int64_t time, uint64_t seq, const uint8_t random[8], char out[40])
{
	uint64_t ms = time > EPOCH_MS ? (uint64_t)(time - EPOCH_MS) : 0;

	(void)random;
	snprintf(out, 40, "%016llx",
		 (unsigned long long)(ms << SEQ_BITS | (seq & (((uint64_t)1 << SEQ_BITS) - 1))));
}

int64_t grove__xcsh_session_id_time(struct grove_slice id)
{
	uint64_t v = 0;

	if (id.len != 16)
		return GROVE_NO_TIME;
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return GROVE_NO_TIME;
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return (int64_t)(v >> SEQ_BITS) + EPOCH_MS;
}

/* Eight hex digits or, after too many collisions, sixteen. */
size_t grove__xcsh_entry_id(const uint8_t random[16], bool again, char out[40])
{
	size_t nr = again ? 8 : 4;

	for (size_t i = 0; i < nr; i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
	return 2 * nr;
}
