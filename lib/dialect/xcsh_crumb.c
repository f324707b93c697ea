/*
 * dialect/xcsh_crumb.c: the record of a terminal's last session.
 *
 *	~/.xcsh/agent/terminal-sessions/pts-3:
 *
 *	/home/me/project
 *	/home/me/.xcsh/agent/sessions/-project/2026-….jsonl
 *
 * oh-my-pi writes more lines below, which we ignore.
 */
#include "dialect/xcsh.h"

#include "js/js.h"

static const struct {
	const char *variable, *prefix;
} emulators[] = {
	{ "KITTY_WINDOW_ID", "kitty-" },
	{ "TMUX_PANE", "tmux-" },
	{ "TERM_SESSION_ID", "apple-" },
	{ "WT_SESSION", "wt-" },
};

int grove__xcsh_terminal(const struct grove__env *env, struct grove_buf *out)
{
	size_t start = out->len;
	const char *v;
	int rc;

	if (env->tty && !strncmp(env->tty, "/dev/", 5) && env->tty[5]) {
		rc = grove__buf_add_str(out, env->tty + 5);
		for (size_t i = start; i < out->len; i++)
			if (out->ptr[i] == '/')
				out->ptr[i] = '-';
		return rc;
	}
	for (size_t i = 0; i < sizeof(emulators) / sizeof(*emulators); i++) {
		v = env->getenv(env->getenv_payload, emulators[i].variable);
		if (!v || !*v)
			continue;
		/* it becomes a file name, which must not lead out of the directory */
		if (strchr(v, '/'))
			return 1;
		return grove__buf_addf(out, "%s%s", emulators[i].prefix, v);
	}
	return 1;
}

int grove__xcsh_crumb_path(const struct grove__env *env, const char *agent, struct grove_buf *out)
{
	struct grove_buf name = GROVE_BUF_INIT;
	int rc = grove__xcsh_terminal(env, &name);

	if (!rc)
		rc = grove__xcsh_state_dir(env, agent, out);
	if (!rc)
		rc = grove__buf_addf(out, "/terminal-sessions/%s", name.ptr);
	grove__buf_release(&name);
	return rc;
}

int grove__xcsh_crumb_compose(const char *cwd, const char *path, struct grove_buf *out)
{
	return grove__buf_addf(out, "%s\n%s\n", cwd, path);
}

/* Takes the first line off `s`. */
static struct grove_slice take_line(struct grove_slice *s)
{
	const char *lf = s->len ? memchr(s->ptr, '\n', s->len) : NULL;
	size_t n = lf ? (size_t)(lf - s->ptr) : s->len;
	struct grove_slice line = grove__slice(s->ptr, n);

	n += lf != NULL;
	*s = grove__slice(s->ptr + n, s->len - n);
	return line;
}

bool grove__xcsh_crumb_parse(struct grove_slice text, struct grove_slice *cwd,
			     struct grove_slice *path)
{
	struct grove_slice rest = grove__js_trim(text);

	*cwd = take_line(&rest);
	*path = take_line(&rest);
	return cwd->len && path->len && !memchr(text.ptr, '\0', text.len);
}
