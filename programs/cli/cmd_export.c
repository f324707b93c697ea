/*
 * cmd_export.c: a session as one file, to share with others.
 */
#include "commands.h"

#include "kit/export/export.h"
#include "kit/export/page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ----------------------------------------------------------------- the file */

/* A file that appears complete or not at all. */
struct target {
	char path[PATH_MAX];     /* the final name */
	char temp[PATH_MAX];     /* the temporary name; "" to write in place, if it is not a
	                            regular file */
	int fd;
	int error;               /* errno */
};

static int write_target(void *payload, const char *ptr, size_t len)
{
	struct target *t = payload;

	while (len) {
		ssize_t n;

		if (cli_interrupted())
			return GROVE_ECANCELLED;
		n = write(t->fd, ptr, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			t->error = errno;
			return GROVE_EIO;
		}
		ptr += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Opens a temporary file in the same directory, to be renamed. Follows a symbolic link. */
static int open_target(struct target *t, const char *file)
{
	struct stat st = { .st_mode = 0 };
	mode_t mask;

	t->temp[0] = '\0';
	if (!realpath(file, t->path) && snprintf(t->path, sizeof(t->path), "%s", file) >= (int)sizeof(t->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (!stat(t->path, &st) && !S_ISREG(st.st_mode)) {
		t->fd = open(t->path, O_WRONLY | O_CLOEXEC);
		return t->fd < 0 ? -1 : 0;
	}
	if (snprintf(t->temp, sizeof(t->temp), "%s.XXXXXX", t->path) >= (int)sizeof(t->temp)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	t->fd = mkostemp(t->temp, O_CLOEXEC);
	if (t->fd < 0)
		return -1;
	/* the mode of the file that it replaces, or of any new file */
	mask = umask(0);
	umask(mask);
	fchmod(t->fd, st.st_mode ? st.st_mode & 0777 : 0666 & ~mask);
	return 0;
}

static int close_target(struct target *t, int rc)
{
	if (!rc && *t->temp && fsync(t->fd))
		t->error = errno;
	if (close(t->fd) && !t->error)
		t->error = errno;
	if (!rc && !t->error && *t->temp && rename(t->temp, t->path))
		t->error = errno;
	if ((rc || t->error) && *t->temp)
		unlink(t->temp);
	return t->error ? GROVE_EIO : rc;
}

/* -------------------------------------------------------------- the command */

static int fail(struct cli *c, const struct export *x, int rc)
{
	if (rc == GROVE_ENOTSUP && x->format == EXPORT_HTML)
		return cli_error(c, rc, "export: this grove was built without the viewer, which --format html needs "
				 "(use md or json)");
	if (rc == GROVE_ENOTFOUND && x->branch && !x->why.code)
		return cli_error(c, rc, "export: this leaf is not part of a conversation (choose a message)");
	return x->why.code ? cli_fail(c, rc, &x->why) : cli_error(c, rc, "export: %s", grove_strerror(rc));
}

static int fail_file(struct cli *c, const char *file, int error)
{
	int full = error == ENOSPC || error == EDQUOT || error == EFBIG;
	int denied = error == EACCES || error == EPERM || error == EROFS;

	return cli_error(c, full ? GROVE_EFULL : denied ? GROVE_EACCESS : GROVE_EIO, "%.200s: %s", file, strerror(error));
}

static int is_same_file(const char *path, const char *file)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(file, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int is_database(void *payload, const struct grove_store_about *s)
{
	static const char scheme[] = "sqlite:";
	const char *const *file = payload;

	return !strncmp(s->url, scheme, sizeof(scheme) - 1) && is_same_file(s->url + sizeof(scheme) - 1, *file);
}

/* Refuses to replace what is exported. Returns 0, or a status after reporting an error. */
static int check_file(struct cli *c, const struct export *x, const char *file)
{
	const char *path = grove_session_path(x->s);

	if (path && is_same_file(path, file))
		return cli_usage(c, "%.200s is the session itself (choose another file)", file);
	if (grove_store_each(x->g, is_database, &file) > 0)
		return cli_usage(c, "%.200s is a store (choose another file)", file);
	return EXIT_DONE;
}

static int write_file(struct cli *c, struct export *x, const char *file)
{
	struct target t = { .fd = -1 };
	int rc;

	rc = check_file(c, x, file);
	if (rc)
		return rc;
	cli_progress(c, "exporting"); /* Ctrl-C must leave no temporary file */
	if (open_target(&t, file))
		return fail_file(c, file, errno);
	rc = close_target(&t, export_write(x, (struct grove_sink){ write_target, &t }));
	if (t.error)
		return fail_file(c, file, t.error);
	return rc ? fail(c, x, rc) : EXIT_DONE;
}

static int write_stdout(struct cli *c, struct export *x)
{
	int rc;

	cli_working(c, "exporting");
	rc = export_write(x, out_raw_sink(&c->out));
	out_sink_end(&c->out);
	return rc ? fail(c, x, rc) : EXIT_DONE;
}

/* Never redact silently: say what was replaced, and that there may be more. */
static void tell_replaced(struct cli *c, const struct redactor *r)
{
	struct grove_buf words = GROVE_BUF_INIT;

	if (!redactor_tell(r, &words)) {
		/* all of it, however long */
		out_puts(&c->err, "grove: export: replaced ");
		out_text(&c->err, grove_buf_slice(&words));
		out_puts(&c->err, " (look through the result before you share it)\n");
		out_flush(&c->err);
	}
	grove_buf_release(&words);
}

static int run(struct cli *c, struct grove_session *s, struct export *x, const char *leaf, const char *file)
{
	struct grove_view *v = cli_view(c, s);
	int status;

	if (!v)
		return c->status;
	x->g = c->g;
	x->s = s;
	x->v = v;
	x->id = grove_session_id(s);
	x->agent = grove_session_agent(s);
	x->branch = leaf != NULL;
	x->page = (struct grove_slice){ export_page, export_page_len };
	if (cli_leaf(c, v, leaf, &x->leaf))
		status = c->status;
	else
		status = file && strcmp(file, "-") ? write_file(c, x, file) : write_stdout(c, x);
	if (!status && x->redactor)
		tell_replaced(c, x->redactor);
	grove_view_unref(v);
	return status;
}

int cmd_export(struct cli *c, int argc, char **argv)
{
	const char *leaf = NULL, *file = NULL;
	int format = -1, clean = 0;
	struct redactor r;
	struct export x = { .leaf = GROVE_NO_ENTRY };
	struct grove_session *s;
	const struct opt opts[] = {
		{ "format", .choice = &format, .choices = export_formats },
		{ "output", .letter = 'o', .string = &file },
		{ "leaf", .string = &leaf },
		{ "redact", .flag = &clean },
		{ "with-subagents", .flag = &x.subagents },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (format < 0)
		return cli_usage(c, "--format is missing: html, md or json");
	x.format = (enum export_format)format;
	if (clean) {
		int rc = redactor_init(&r, getenv("HOME"));

		if (rc)
			return cli_error(c, rc, rc == GROVE_ENOTSUP ? "redaction is not built in: this grove was built without PCRE2"
							      : "out of memory");
		x.redactor = &r;
	}
	s = cli_open_read(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	c->status = run(c, s, &x, leaf, file);
	grove_session_close(s);
	return c->status;
}
