/*
 * config.c: the configuration file.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_MAX (1u << 20)

const char *const config_keys[] = {
	"store",
	"archive",
	"pager",
	"utc",
	"agent",
	"serve.listen",
	"serve.token-file",
	"serve.public-url",
	"serve.tls-cert",
	"serve.tls-key",
	"serve.read-only",
	"serve.trusted-proxy",
	NULL,
};

int config_known(const char *key)
{
	for (size_t i = 0; config_keys[i]; i++)
		if (!strcmp(key, config_keys[i]))
			return 1;
	return 0;
}

int config_path(const char *name, char *path, size_t size)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (base && *base == '/')
		n = snprintf(path, size, "%s/grove/%s", base, name);
	else if (home && *home)
		n = snprintf(path, size, "%s/.config/grove/%s", home, name);
	else
		return -1;
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

int config_flag(const char *value, int *out)
{
	if (!strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1"))
		*out = 1;
	else if (!strcmp(value, "false") || !strcmp(value, "no") || !strcmp(value, "0"))
		*out = 0;
	else
		return -1;
	return 0;
}

void config_live_in_utc(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
}

int config_apply(const struct config *c, int utc)
{
	const char *archive = config_get(c, "archive"), *value = config_get(c, "utc");
	int rc = 0;

	if (archive)
		setenv("GROVE_ARCHIVE", archive, 1);
	if (!utc && value)
		rc = config_flag(value, &utc);
	if (!rc && utc)
		config_live_in_utc();
	return rc;
}

/* ------------------------------------------------------------------ reading */

static int failed(const char *path, char *why, size_t size)
{
	snprintf(why, size, "%s: %s", path, strerror(errno));
	return -1;
}

/*
 * Reads the whole file, followed by a NUL. Returns NULL if there is none, or if `why` says
 * what is wrong.
 */
static char *read_file(const char *path, char *why, size_t size)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f) {
		if (errno != ENOENT && errno != ENOTDIR)
			failed(path, why, size);
		return NULL;
	}
	text = malloc(CONFIG_MAX + 1);
	n = text ? fread(text, 1, CONFIG_MAX, f) : 0;
	if (!text || ferror(f)) {
		failed(path, why, size);
		free(text);
		text = NULL;
	} else if (n == CONFIG_MAX || memchr(text, '\0', n)) {
		/* what follows a NUL would be lost when a setting changes */
		snprintf(why, size, "%s: %s", path, n == CONFIG_MAX ? "the file is too long" : "not a text file");
		free(text);
		text = NULL;
	}
	fclose(f);
	if (text)
		text[n] = '\0';
	return text;
}

/* Editors on Windows put a byte order mark in front of the first line. */
static size_t mark_length(const char *text)
{
	return text && !strncmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return text;
}

/* Splits a line into key and value. Returns 0; 1 for a comment or an empty line; -1 otherwise. */
static int parse_line(char *line, char **key, char **value)
{
	char *equals;

	line = trim(line);
	if (!*line || *line == '#')
		return 1;
	equals = strchr(line, '=');
	if (!equals)
		return -1;
	*equals = '\0';
	*key = trim(line);
	*value = trim(equals + 1);
	return **key ? 0 : -1;
}

static int add_item(struct config *c, const char *key, const char *value, unsigned line)
{
	struct config_item *item = realloc(c->item, (c->nr + 1) * sizeof(*item));

	if (!item)
		return -1;
	c->item = item;
	item[c->nr++] = (struct config_item){ key, value, line };
	return 0;
}

int config_read(struct config *c, char *why, size_t size)
{
	char path[PATH_MAX], *key, *value;
	unsigned line = 0;
	int rc;

	*why = '\0';
	memset(c, 0, sizeof(*c));
	if (config_path("config", path, sizeof(path)))
		return 0;
	c->text = read_file(path, why, size);
	for (char *p = c->text ? c->text + mark_length(c->text) : NULL, *next; p; p = next) {
		line++;
		next = strchr(p, '\n');
		if (next)
			*next++ = '\0';
		rc = parse_line(p, &key, &value);
		if (rc < 0 && !c->bad_line)
			c->bad_line = line;
		if (!rc && add_item(c, key, value, line)) {
			snprintf(why, size, "out of memory");
			break;
		}
	}
	if (!*why)
		return 0;
	config_release(c);
	return -1;
}

void config_release(struct config *c)
{
	free(c->item);
	free(c->text);
	memset(c, 0, sizeof(*c));
}

const char *config_in_file(const struct config *c, const char *key)
{
	for (size_t i = c ? c->nr : 0; i--;)
		if (!strcmp(c->item[i].key, key))
			return c->item[i].value;
	return NULL;
}

const char *config_get(const struct config *c, const char *key)
{
	char name[64] = "GROVE_";
	size_t n = strlen(name);
	const char *value;

	for (; *key && n < sizeof(name) - 1; n++, key++)
		name[n] = isalnum((unsigned char)*key) ? (char)toupper((unsigned char)*key) : '_';
	name[n] = '\0';
	key -= n - strlen("GROVE_");
	value = getenv(name);
	return value && *value ? value : config_in_file(c, key);
}

/* ------------------------------------------------------------------ changes */

/* Creates every directory above `path`. */
static int make_dirs(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		int rc;

		*p = '\0';
		rc = mkdir(path, 0700);
		*p = '/';
		if (rc && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* Writes the lines of `text`, with the change, to `f`. Returns how often the key occurred. */
static unsigned write_changed(FILE *f, const char *text, const char *key, const char *value)
{
	size_t mark = mark_length(text);
	const char *end = "\n";
	unsigned found = 0;

	fprintf(f, "%.*s", (int)mark, text ? text : "");
	text = text ? text + mark : NULL;
	while (text && *text) {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n), *k, *v;
		int ours = line && !parse_line(line, &k, &v) && !strcmp(k, key);

		end = n && text[n - 1] == '\r' ? "\r\n" : "\n";
		if (!ours)
			fprintf(f, "%.*s\n", (int)n, text);
		else if (value && !found)
			fprintf(f, "%s = %s%s", key, value, end);
		found += ours;
		free(line);
		text += n + (text[n] == '\n');
	}
	if (value && !found)
		fprintf(f, "%s = %s%s", key, value, end);
	return found;
}

int config_replace_begin(struct config_replacement *r, const char *path)
{
	struct stat old;
	int fd;

	/* a link stays a link */
	if (!realpath(path, r->path))
		snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->temp, sizeof(r->temp), "%s.XXXXXX", r->path);
	fd = mkostemp(r->temp, O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!stat(r->path, &old) && (fchmod(fd, old.st_mode & 07777) || fchown(fd, old.st_uid, old.st_gid)))
		errno = 0;   /* somebody who may write there need not be the owner */
	r->f = fdopen(fd, "w");
	if (!r->f) {
		close(fd);
		unlink(r->temp);
		return -1;
	}
	return 0;
}

int config_replace_end(struct config_replacement *r, int keep)
{
	int bad = ferror(r->f) || fflush(r->f) || fsync(fileno(r->f));

	if (fclose(r->f) || bad || !keep || rename(r->temp, r->path)) {
		bad = errno;
		unlink(r->temp);
		errno = bad;
		return keep ? -1 : 0;
	}
	return 0;
}

/* Returns 0, 1 if nothing was to be removed, or -1. */
static int rewrite(const char *path, const char *text, const char *key, const char *value)
{
	struct config_replacement r;
	unsigned found;

	if (config_replace_begin(&r, path))
		return -1;
	found = write_changed(r.f, text, key, value);
	if (config_replace_end(&r, found || value))
		return -1;
	return found || value ? 0 : 1;
}

/* Those who wait replace the file, so the locked one may no longer be the current one. */
int config_lock(const char *path, int create)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat ours, now;

	for (;;) {
		int fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600), rc;

		if (fd < 0)
			return -1;
		do
			rc = fcntl(fd, F_OFD_SETLKW, &all);
		while (rc && errno == EINTR);
		if (rc || (!fstat(fd, &ours) && !stat(path, &now) && ours.st_dev == now.st_dev && ours.st_ino == now.st_ino))
			return fd;
		close(fd);
	}
}

/* A link to /dev/null, by which some switch a file off, must not replace that. */
static int is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int config_change(const char *key, const char *value, char *why, size_t size)
{
	char path[PATH_MAX], *text;
	int lock, rc;

	*why = '\0';
	if (config_path("config", path, sizeof(path))) {
		snprintf(why, size, "there is no home directory");
		return -1;
	}
	if (is_special(path)) {
		snprintf(why, size, "%s: not a regular file", path);
		return -1;
	}
	if (value && make_dirs(path))
		return failed(path, why, size);
	lock = config_lock(path, value != NULL);
	text = read_file(path, why, size);
	if (*why)
		rc = -1;
	else if (!text && !value)
		rc = 1;
	else if ((rc = rewrite(path, text, key, value)) < 0)
		failed(path, why, size);
	free(text);
	if (lock >= 0)
		close(lock);
	return rc;
}
