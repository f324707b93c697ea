/*
 * dialect/xcsh_names.c: the directories of xcsh.
 *
 *	~/.xcsh/agent/{sessions,blobs,history.db}
 *
 * PI_CONFIG_DIR is another name for .xcsh, PI_CODING_AGENT_DIR another agent
 * directory. With the usual agent directory, an existing $XDG_DATA_HOME/xcsh
 * takes its place for data. oh-my-pi does the same with `omp` for `xcsh`.
 */
#include "dialect/xcsh.h"

static const char *variable(const struct grove__env *env, const char *name)
{
	const char *v = env->getenv(env->getenv_payload, name);

	return v && *v ? v : NULL;
}

/* Append `path` without empty parts, "." and "..", as path.resolve() would. */
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

static int default_agent_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	const char *config = variable(env, "PI_CONFIG_DIR");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "%s/%s%s/agent", env->home, config ? "" : ".",
				 config ? config : agent);

	if (!rc)
		rc = add_resolved(out, b.ptr);
	grove__buf_release(&b);
	return rc;
}

static int agent_dir(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	const char *dir = variable(env, "PI_CODING_AGENT_DIR");
	struct grove_buf b = GROVE_BUF_INIT;
	int rc;

	if (!dir)
		return default_agent_dir(env, agent, out);
	rc = grove__buf_addf(&b, "%s/%s", *dir == '/' ? "" : env->cwd, dir);
	if (!rc)
		rc = add_resolved(out, b.ptr);
	grove__buf_release(&b);
	return rc;
}

static int data_dir(const struct grove__env *env, const char *agent, grove__exists_fn *exists,
		    void *payload, struct grove_buf *out)
{
	const char *xdg = variable(env, "XDG_DATA_HOME");
	struct grove_buf dir = GROVE_BUF_INIT, usual = GROVE_BUF_INIT, data = GROVE_BUF_INIT;
	int rc = agent_dir(env, agent, &dir);

	if (!rc)
		rc = default_agent_dir(env, agent, &usual);
	if (!rc && xdg)
		rc = grove__buf_addf(&data, "%s/%s", xdg, agent);
	if (!rc && xdg && !strcmp(dir.ptr, usual.ptr) && exists(payload, data.ptr))
		rc = grove__buf_add_slice(out, grove__buf_slice(&data));
	else if (!rc)
		rc = grove__buf_add_slice(out, grove__buf_slice(&dir));
	grove__buf_release(&dir);
	grove__buf_release(&usual);
	grove__buf_release(&data);
	return rc;
}

int grove__xcsh_data_dir(const struct grove__env *env, grove__exists_fn *exists, void *payload,
			 struct grove_buf *out)
{
	return data_dir(env, "xcsh", exists, payload, out);
}

int grove__xcsh_blobs_dir(const struct grove__env *env, grove__exists_fn *exists, void *payload,
			  struct grove_buf *out)
{
	int rc = grove__xcsh_data_dir(env, exists, payload, out);

	return rc ? rc : grove__buf_add_str(out, "/blobs");
}

int grove__xcsh_history_path(const struct grove__env *env, const char *agent,
			     grove__exists_fn *exists, void *payload, struct grove_buf *out)
{
	int rc = data_dir(env, agent, exists, payload, out);

	return rc ? rc : grove__buf_add_str(out, "/history.db");
}
